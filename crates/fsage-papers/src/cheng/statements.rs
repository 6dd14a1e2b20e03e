//! What the paper says of its curves.

use super::runs::{Mix, Outcome};
use super::{MODIFIED, ORIGINAL, Results, WHOLE_DISK, WITHOUT_NEAR, popular, tables};
use crate::comparison::Measured;
use crate::words;

/// The width of the reserved area, of the disk: key `ra` of the targets.
const AREA: f64 = 0.025;
/// Less than so much is not nearly the same.
const LESS: f64 = 0.95;

/// Every statement, with what our curves say.
pub fn measure(results: &Results<'_>) -> Measured {
    let mut measured = Measured::default();
    for (id, target, mix, cached) in [
        ("C1.5", MODIFIED, Mix::Reads, false),
        ("C1.6", MODIFIED, Mix::Writes, false),
        ("C1.5.cached", MODIFIED, Mix::Reads, true),
        ("C1.6.cached", MODIFIED, Mix::Writes, true),
        ("C1.5.whole", WHOLE_DISK, Mix::Reads, false),
        ("C1.6.whole", WHOLE_DISK, Mix::Writes, false),
        ("C1.5.whole.cached", WHOLE_DISK, Mix::Reads, true),
        ("C1.6.whole.cached", WHOLE_DISK, Mix::Writes, true),
        ("C1.10", MODIFIED, Mix::FewWrites, false),
    ] {
        // A device without an arm has no write cache either.
        if cached && results.study.device(true) == results.study.device(false) {
            continue;
        }
        let pair = |percent| {
            [ORIGINAL, target].map(|name| results.of(name, mix, percent, cached).mean_s())
        };
        measured.shape(id, is_faster(&by_utilization(results, pair)));
    }
    let hot = |target| {
        let mut shares = Vec::new();
        for mix in Mix::OF_FIGURES {
            for &percent in &results.study.plan.utilization {
                shares.extend(hot_share(results.of(target, mix, percent, false)));
            }
        }
        shares
    };
    measured.shape("C2.original", most(&hot(ORIGINAL), 0.05));
    measured.shape("C2.modified", least(&hot(MODIFIED), 0.90));
    let near = |percent| {
        [WITHOUT_NEAR, MODIFIED].map(|name| results.of(name, Mix::Reads, percent, false).mean_s())
    };
    measured.shape("C3", is_better_somewhere(&by_utilization(results, near)));
    measured.shape("C4", moving_pays(results));
    measured.shape("C4.popular", popular::moving_pays(results));
    measured.shape("C4.hints", hints_pay(results));
    heads(results, &mut measured);
    measured
}

/// Where the head goes and what its seeks take, with 75 % reads and without a write cache.
fn heads(results: &Results<'_>, measured: &mut Measured) {
    let of = |target| move |percent| results.of(target, Mix::Reads, percent, false);
    if of(ORIGINAL)(results.study.plan.utilization[0]).cylinders == 1 {
        return;
    }
    let pairs = |of_outcome: fn(&Outcome) -> f64, target| {
        by_utilization(results, |percent| {
            [of(ORIGINAL)(percent), of(target)(percent)].map(of_outcome)
        })
    };
    let seeks: fn(&Outcome) -> f64 = |outcome| outcome.device.time.seek_ns as f64;
    let distance = pairs(Outcome::mean_seek, MODIFIED);
    measured.shape("C2.always", stays_within(&distance, AREA));
    measured.shape("C2.distance", is_less(&distance, 1.0 - words::AGREEMENT));
    let whole = pairs(Outcome::mean_seek, WHOLE_DISK);
    measured.shape("C2.distance.whole", is_less(&whole, 1.0 - words::AGREEMENT));
    measured.shape("C5.seek", is_less(&pairs(seeks, MODIFIED), LESS));
    measured.shape("C5.seek.whole", is_less(&pairs(seeks, WHOLE_DISK), LESS));
    measured.shape("C5.blocks", is_less(&pairs(seeks, "blocks"), 1.0));
    let premise = by_utilization(results, |percent| {
        let time = &of(ORIGINAL)(percent).device.time;
        [time.total_ns() as f64, time.seek_ns as f64]
    });
    measured.shape("C5.premise", is_most_of_it(&premise));
    let others = results.study.paper.run.targets.keys();
    let others = others.filter(|name| name.as_str() != "organ-pipe");
    let best = by_utilization(results, |percent| {
        let seconds = others.clone().map(|name| of(name)(percent).mean_s());
        let best = seconds.fold(f64::INFINITY, f64::min);
        [best, of("organ-pipe")(percent).mean_s()]
    });
    measured.shape("C5.organ-pipe", is_the_best(&best));
}

/// The modified file system as printed, and the same one that moves nothing, on the emptiest disk.
fn moving_pays(results: &Results<'_>) -> Option<(bool, String)> {
    let settings = tables::settings(&results.study);
    let seconds = |setting: &tables::Setting| results.outcomes.get(&setting.run).mean_s();
    let moves = seconds(settings.first()?);
    let never = seconds(settings.iter().find(|setting| setting.moves_nothing())?);
    Some((
        moves < never,
        format!("{moves:.1} s, and {never:.1} s where nothing moves"),
    ))
}

/// The original file system, and the modified one that moves nothing, on the emptiest disk.
fn hints_pay(results: &Results<'_>) -> Option<(bool, String)> {
    let settings = tables::settings(&results.study);
    let never = settings.iter().find(|setting| setting.moves_nothing())?;
    let original = results
        .of(ORIGINAL, Mix::Reads, never.run.filled_percent, false)
        .mean_s();
    let never = results.outcomes.get(&never.run).mean_s();
    let text = format!("{never:.1} s, and {original:.1} s with the original");
    Some((never < LESS * original, text))
}

/// Two figures at every utilization.
fn by_utilization(results: &Results<'_>, pair: impl Fn(u64) -> [f64; 2]) -> Vec<(u64, [f64; 2])> {
    let filled = results.study.plan.utilization.iter();
    filled.map(|&percent| (percent, pair(percent))).collect()
}

/// The share of operations on hot boards that are on articles in the center; nine in ten operations are on hot boards.
fn hot_share(outcome: &Outcome) -> Option<f64> {
    let hot = 0.9 * outcome.operations as f64;
    (hot > 0.0).then(|| outcome.hot_center as f64 / hot)
}

/// Whether the second is less than the first everywhere, by more than what is nearly the same.
fn is_faster(pairs: &[(u64, [f64; 2])]) -> Option<(bool, String)> {
    let (holds, ratios) = is_less(pairs, LESS)?;
    Some((holds, format!("modified over {ratios}")))
}

/// Whether the second is less than so much of the first everywhere.
fn is_less(pairs: &[(u64, [f64; 2])], share: f64) -> Option<(bool, String)> {
    let holds = |[before, after]: [f64; 2]| after < share * before;
    let (holds, ratios) = everywhere(pairs, holds, |[before, after]| {
        format!("{:.2}", after / before)
    })?;
    Some((holds, format!("original: {ratios}")))
}

/// Whether the second is at most a limit everywhere; both are shares of the disk.
fn stays_within(pairs: &[(u64, [f64; 2])], limit: f64) -> Option<(bool, String)> {
    let holds = |[_, seek]: [f64; 2]| seek <= limit;
    let (holds, seeks) = everywhere(pairs, holds, |[_, seek]| format!("{:.1} %", 100.0 * seek))?;
    Some((holds, format!("mean seek of the disk: {seeks}")))
}

/// Whether the second is over half of the first everywhere.
fn is_most_of_it(pairs: &[(u64, [f64; 2])]) -> Option<(bool, String)> {
    let holds = |[all, part]: [f64; 2]| part > 0.5 * all;
    everywhere(pairs, holds, |[all, part]| {
        format!("{:.0} %", 100.0 * part / all)
    })
}

/// Whether the second is no more than the best of the others anywhere.
fn is_the_best(pairs: &[(u64, [f64; 2])]) -> Option<(bool, String)> {
    let holds = |[best, ours]: [f64; 2]| ours <= best;
    everywhere(pairs, holds, |[best, ours]| {
        format!("{ours:.0} s, best {best:.0} s")
    })
}

/// Whether something holds of both figures at every utilization, with what is said of each. Nothing where there are
/// none.
fn everywhere(
    pairs: &[(u64, [f64; 2])],
    holds: impl Fn([f64; 2]) -> bool,
    says: impl Fn([f64; 2]) -> String,
) -> Option<(bool, String)> {
    let all = pairs.iter().all(|(_, pair)| holds(*pair));
    let texts = pairs
        .iter()
        .map(|(percent, pair)| format!("{} at {percent} %", says(*pair)));
    let texts: Vec<String> = texts.collect();
    (!pairs.is_empty()).then(|| (all, texts.join(", ")))
}

/// Whether the second is less than the first on an empty disk, and nowhere more. Nothing where they are the same.
fn is_better_somewhere(pairs: &[(u64, [f64; 2])]) -> Option<(bool, String)> {
    let (_, [before, after]) = pairs.iter().find(|(percent, _)| *percent == 0)?;
    pairs
        .iter()
        .find(|(_, [before, after])| before.total_cmp(after).is_ne())?;
    let gains = pairs
        .iter()
        .map(|(percent, [before, after])| format!("{:+.1} s at {percent} %", after - before));
    let text = gains.collect::<Vec<String>>().join(", ");
    let nowhere_more = pairs.iter().all(|(_, [before, after])| after <= before);
    Some((after < before && nowhere_more, text))
}

fn most(shares: &[f64], limit: f64) -> Option<(bool, String)> {
    let highest = shares.iter().copied().max_by(f64::total_cmp)?;
    let text = format!("at most {:.1} %", 100.0 * highest);
    Some((highest <= limit, text))
}

fn least(shares: &[f64], limit: f64) -> Option<(bool, String)> {
    let lowest = shares.iter().copied().min_by(f64::total_cmp)?;
    let text = format!("at least {:.1} %", 100.0 * lowest);
    Some((lowest >= limit, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faster_is_faster_everywhere() {
        let better = is_faster(&[(0, [100.0, 90.0]), (60, [200.0, 150.0])]);
        let text = "modified over original: 0.90 at 0 %, 0.75 at 60 %";
        assert_eq!(better, Some((true, text.to_owned())));
        let nearly = is_faster(&[(0, [100.0, 96.0]), (60, [200.0, 150.0])]);
        assert!(!nearly.unwrap().0);
        assert_eq!(is_faster(&[]), None);
    }

    #[test]
    fn a_rule_must_gain_on_an_empty_disk_and_lose_nowhere() {
        let holds = |pairs: &[(u64, [f64; 2])]| is_better_somewhere(pairs).map(|(holds, _)| holds);
        assert_eq!(holds(&[(0, [10.0, 9.0]), (60, [20.0, 20.0])]), Some(true));
        assert_eq!(holds(&[(0, [10.0, 9.0]), (60, [20.0, 20.1])]), Some(false));
        assert_eq!(holds(&[(0, [10.0, 10.0]), (60, [20.0, 19.0])]), Some(false));
        assert_eq!(holds(&[(60, [20.0, 19.0])]), None);
    }

    #[test]
    fn seeks_are_judged_at_every_utilization() {
        let seeks = [(0, [0.10, 0.02]), (60, [0.10, 0.03])];
        assert_eq!(
            stays_within(&seeks, AREA),
            Some((
                false,
                "mean seek of the disk: 2.0 % at 0 %, 3.0 % at 60 %".to_owned()
            ))
        );
        assert!(is_less(&seeks, 0.85).unwrap().0);
        assert!(!is_less(&seeks, 0.25).unwrap().0);
        let half = is_most_of_it(&[(0, [10.0, 6.0]), (60, [10.0, 5.0])]);
        assert_eq!(half, Some((false, "60 % at 0 %, 50 % at 60 %".to_owned())));
        assert!(is_the_best(&[(0, [10.0, 10.0])]).unwrap().0);
        assert!(!is_the_best(&[(0, [10.0, 10.1])]).unwrap().0);
    }

    #[test]
    fn shares_are_judged_by_the_worst() {
        assert_eq!(
            most(&[0.01, 0.06], 0.05),
            Some((false, "at most 6.0 %".to_owned()))
        );
        assert_eq!(
            least(&[0.99, 0.95], 0.90),
            Some((true, "at least 95.0 %".to_owned()))
        );
        assert_eq!(most(&[], 0.05), None);
    }
}
