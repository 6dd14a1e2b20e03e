//! Each way beside the default one, life by life, and whether two targets keep their order when a workload is remade.

use super::method::{Attempt, DEFAULT_WAY, Life, Verdict, half_interval};
use fsage_target::{Target, TargetSpec};
use serde::Serialize;

/// The layout scores of a target beside those of another one, in every life.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Against {
    /// The other target.
    pub target: String,
    /// Bytes of a block of this one and of the other, where they differ: then a break weighs otherwise in the layout
    /// score of each, and which is higher says nothing of their order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_bytes: Option<[u32; 2]>,
    /// Lives in which the truth ends with a higher layout score on this one.
    pub ahead: usize,
    /// Lives in which it ends with a lower one.
    pub behind: usize,
    /// As `ahead`, of the workload that is remade by default.
    pub ahead_remade: usize,
    /// As `behind`, of that workload.
    pub behind_remade: usize,
    /// Lives in which both say the same of the two.
    pub same_order: usize,
    /// All lives.
    pub lives: usize,
}

fn attempt_of<'a>(life: &'a Life, way: (&str, &str)) -> Option<&'a Attempt> {
    let is_it = |a: &&Attempt| (a.delete_times, a.short_lived) == way;
    life.attempts.iter().find(is_it)
}

/// By how much each way ends nearer to the truth than the default one, in each life by itself: the mean over the lives,
/// negative where it ends farther, with half of Student's 95 % interval. Nothing of fewer than three lives, and of the
/// default way itself.
pub(super) fn set_beside_default(attempts: &mut [Attempt], lives: &[Life]) {
    for attempt in attempts {
        let way = (attempt.delete_times, attempt.short_lived);
        let of_life = |life: &Life| {
            let by_default = attempt_of(life, DEFAULT_WAY)?;
            Some(by_default.end_difference.abs() - attempt_of(life, way)?.end_difference.abs())
        };
        let nearer: Option<Vec<f64>> = lives.iter().map(of_life).collect();
        let Some(nearer) = nearer.filter(|_| way != DEFAULT_WAY) else {
            continue;
        };
        if let Some(half) = half_interval(&nearer) {
            attempt.nearer_by = Some(nearer.iter().sum::<f64>() / nearer.len() as f64);
            attempt.nearer_half_interval = Some(half);
        }
    }
}

/// Sets each target against those after it: which one ends with the higher layout score in a life, by the truth and by
/// the workload that is remade by default. All have lived the same truths.
pub fn set_against(verdicts: &mut [Verdict]) {
    for at in 0..verdicts.len() {
        let (one, others) = verdicts[at..].split_first_mut().expect("this one");
        let against = others.iter().map(|other| {
            let mut against = Against {
                target: other.target.clone(),
                block_bytes: unlike_blocks([&one.target, &other.target]),
                ahead: 0,
                behind: 0,
                ahead_remade: 0,
                behind_remade: 0,
                same_order: 0,
                lives: one.lives.len(),
            };
            for (a, b) in one.lives.iter().zip(&other.lives) {
                let (a, b) = (ends(a), ends(b));
                let (truth, remade) = (a.0.total_cmp(&b.0), a.1.total_cmp(&b.1));
                against.ahead += usize::from(truth.is_gt());
                against.behind += usize::from(truth.is_lt());
                against.behind_remade += usize::from(remade.is_lt());
                against.ahead_remade += usize::from(remade.is_gt());
                against.same_order += usize::from(truth == remade);
            }
            against
        });
        one.against = against.collect();
    }
}

/// How large the blocks of two models are, where they differ.
fn unlike_blocks(targets: [&str; 2]) -> Option<[u32; 2]> {
    let [one, other] = targets.map(|target| {
        let made = Target::make(&TargetSpec::parse(target).ok()?).ok()?;
        Some(made.layout().geometry().block_bytes)
    });
    let both = [one?, other?];
    (both[0] != both[1]).then_some(both)
}

/// Layout scores at the end of a truth, and of the workload that is remade by default: the mean over seeds.
fn ends(life: &Life) -> (f64, f64) {
    let truth = life.truth.last().copied().unwrap_or(1.0);
    let difference = attempt_of(life, DEFAULT_WAY).map_or(0.0, |a| a.end_difference);
    (truth, truth + difference)
}

#[cfg(test)]
mod tests {
    use super::super::lives::tests::{attempt, life};
    use super::*;

    /// Lives with these ends of `smith97` and of the default rule, whose truths end at the given scores.
    fn lives(ends: [(f64, f64, f64); 3]) -> Vec<Life> {
        let of_one = ends.map(|(truth, smith97, by_default)| {
            let other = Attempt {
                delete_times: "smith97",
                ..attempt(smith97, None, 0.0)
            };
            Life {
                truth: vec![1.0, truth],
                ..life(vec![other, attempt(by_default, None, 0.0)], 0.0)
            }
        });
        of_one.to_vec()
    }

    /// By hand: the default rule is further by 0.01, 0.02 and 0.03, which is 0.02 with the half interval 0.0248 (as in
    /// the test of intervals over lives). The rules lie on both sides of the truth, so that it is distances that count.
    #[test]
    fn ways_are_set_beside_the_default_one_life_by_life() {
        let beside = |lives: &[Life]| {
            let mut attempts = lives[0].attempts.clone();
            set_beside_default(&mut attempts, lives);
            attempts
        };
        let all = lives([(0.9, 0.1, -0.11), (0.9, 0.3, 0.32), (0.9, -0.2, 0.23)]);
        let [other, by_default] = &beside(&all)[..] else {
            panic!("two ways");
        };
        assert_eq!(other.delete_times, "smith97");
        assert!((other.nearer_by.unwrap() - 0.02).abs() < 1e-12);
        assert!((other.nearer_half_interval.unwrap() - 0.024_841_4).abs() < 1e-6);
        assert_eq!(by_default.nearer_by, None);
        assert_eq!(beside(&all[..2])[0].nearer_by, None);
    }

    fn verdict(target: &str, lives: Vec<Life>) -> Verdict {
        Verdict {
            target: target.to_owned(),
            size_bytes: 1,
            has_drawn_clock: false,
            seeds: 1,
            attempts: Vec::new(),
            losses: Vec::new(),
            against: Vec::new(),
            doubts: Vec::new(),
            lives,
        }
    }

    /// The first target is ahead in two truths and as high in the third; remade, it falls behind in one.
    #[test]
    fn targets_are_set_against_each_other_life_by_life() {
        let a = lives([(0.9, 0.0, 0.01), (0.9, 0.0, 0.01), (0.8, 0.0, 0.0)]);
        let b = lives([(0.8, 0.0, 0.02), (0.8, 0.0, 0.2), (0.8, 0.0, 0.0)]);
        let mut verdicts = [verdict("a", a), verdict("b", b)];
        set_against(&mut verdicts);
        let wanted = Against {
            target: "b".to_owned(),
            block_bytes: None,
            ahead: 2,
            behind: 0,
            ahead_remade: 1,
            behind_remade: 1,
            same_order: 2,
            lives: 3,
        };
        assert_eq!(verdicts[0].against, [wanted]);
        assert_eq!(verdicts[1].against, []);
    }

    /// By mke2fs and mkfs.xfs: an ext4 below 512 MB has blocks of 1 KiB unless it is asked for others.
    #[test]
    fn targets_of_unlike_blocks_have_no_order() {
        let of = |one: &str| unlike_blocks([one, "xfs:size=320M"]);
        assert_eq!(of("ext4:size=320M"), Some([1024, 4096]));
        assert_eq!(of("ext4:size=320M,bsize=4K"), None);
    }
}
