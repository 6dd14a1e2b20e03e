//! What the paper says of its curves.

use super::runs::{AREA, Mix, Outcome};
use super::{
    BLOCKS, MODIFIED, ORGAN_PIPE, ORIGINAL, ORIGINAL_FIRST, Results, STEF, WITHOUT_NEAR, popular,
    tables,
};
use crate::comparison::Measured;
use crate::words;

/// Every statement, with what our curves say.
pub fn measure(results: &Results<'_>) -> Measured {
    let mut measured = Measured::default();
    for (id, base, mix, cached) in [
        ("C1.5", ORIGINAL, Mix::Reads, false),
        ("C1.6", ORIGINAL, Mix::Writes, false),
        ("C1.5.cached", ORIGINAL, Mix::Reads, true),
        ("C1.6.cached", ORIGINAL, Mix::Writes, true),
        ("C1.5.first", ORIGINAL_FIRST, Mix::Reads, false),
        ("C1.6.first", ORIGINAL_FIRST, Mix::Writes, false),
        ("C1.5.first.cached", ORIGINAL_FIRST, Mix::Reads, true),
        ("C1.6.first.cached", ORIGINAL_FIRST, Mix::Writes, true),
        ("C1.10", ORIGINAL, Mix::FewWrites, false),
    ] {
        // A device without an arm has no write cache either.
        if cached && results.study.device(true) == results.study.device(false) {
            continue;
        }
        let pair =
            |percent| [base, MODIFIED].map(|name| results.of(name, mix, percent, cached).mean_s());
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
    measured.shape("C2.original", most(&hot(ORIGINAL), words::HARDLY_ANY));
    measured.shape("C2.modified", least(&hot(MODIFIED), 0.90));
    let near = |percent| {
        [WITHOUT_NEAR, MODIFIED].map(|name| results.of(name, Mix::Reads, percent, false).mean_s())
    };
    measured.shape("C3", is_better_somewhere(&by_utilization(results, near)));
    measured.shape("C4", moving_pays(results));
    measured.shape("C4.popular", popular::moving_pays(results));
    heads(results, &mut measured);
    measured
}

/// Where the head goes and what its seeks take, with 75 % reads and without a write cache.
fn heads(results: &Results<'_>, measured: &mut Measured) {
    let of = |target| move |percent| results.of(target, Mix::Reads, percent, false);
    if of(ORIGINAL)(results.study.plan.utilization[0]).cylinders == 1 {
        return;
    }
    let pairs = |of_outcome: fn(&Outcome) -> f64, base, target| {
        by_utilization(results, |percent| {
            [of(base)(percent), of(target)(percent)].map(of_outcome)
        })
    };
    let seeks: fn(&Outcome) -> f64 = |outcome| outcome.device.time.seek_ns as f64;
    for (ids, base) in [
        (["C2.distance", "C5.seek"], ORIGINAL),
        (["C2.distance.first", "C5.seek.first"], ORIGINAL_FIRST),
    ] {
        let distance = pairs(Outcome::mean_seek, base, MODIFIED);
        measured.shape(ids[0], is_less(&distance, words::DRAMATICALLY_LESS));
        let time = pairs(seeks, base, MODIFIED);
        measured.shape(ids[1], is_less(&time, words::SIGNIFICANTLY_LESS));
    }
    let all = pairs(Outcome::mean_seek, ORIGINAL, MODIFIED);
    measured.shape("C2.always", stays_within(&all, AREA));
    let hot = by_utilization(results, |percent| {
        [results
            .of(MODIFIED, Mix::HotReads, percent, false)
            .mean_seek(); 2]
    });
    measured.shape("C2.always.hot", stays_within(&hot, AREA));
    let premise = by_utilization(results, |percent| {
        let time = &of(ORIGINAL)(percent).device.time;
        [time.total_ns() as f64, time.seek_ns as f64]
    });
    measured.shape("C5.premise", is_most_of_it(&premise));
    let of_blocks = pairs(seeks, ORIGINAL, BLOCKS);
    measured.shape("C5.blocks", is_less(&of_blocks, words::SIGNIFICANTLY_LESS));
    let of_stef = pairs(Outcome::mean_s, ORIGINAL, STEF);
    measured.shape("C5.stef", is_less(&of_stef, words::SIGNIFICANTLY_LESS));
    let others = results.study.paper.run.targets.keys();
    let others = others.filter(|name| name.as_str() != ORGAN_PIPE);
    let way = |outcome: &Outcome| outcome.device.seek_cylinders as f64;
    let best = by_utilization(results, |percent| {
        let ways = others.clone().map(|name| way(of(name)(percent)));
        let best = ways.fold(f64::INFINITY, f64::min);
        [best, way(of(ORGAN_PIPE)(percent))]
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
        moves < words::SIGNIFICANTLY_LESS * never,
        format!("{moves:.1} s, and {never:.1} s where nothing moves"),
    ))
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
    let (holds, ratios) = is_less(pairs, words::SIGNIFICANTLY_LESS)?;
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

/// Whether the second is most of the first everywhere.
fn is_most_of_it(pairs: &[(u64, [f64; 2])]) -> Option<(bool, String)> {
    let holds = |[all, part]: [f64; 2]| words::is_most(part / all);
    everywhere(pairs, holds, |[all, part]| {
        format!("{:.0} %", 100.0 * part / all)
    })
}

/// Whether the second is no more than the best of the others anywhere.
fn is_the_best(pairs: &[(u64, [f64; 2])]) -> Option<(bool, String)> {
    let holds = |[best, ours]: [f64; 2]| ours <= best;
    everywhere(pairs, holds, |[best, ours]| {
        format!("{:.1} times the least", ours / best)
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

/// Whether the second is significantly less than the first on an empty disk, and nowhere more. Nothing where they are
/// the same.
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
    let is_less = *after < words::SIGNIFICANTLY_LESS * before;
    Some((is_less && nowhere_more, text))
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
        assert_eq!(holds(&[(0, [10.0, 9.6]), (60, [20.0, 20.0])]), Some(false));
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
        let half = is_most_of_it(&[(0, [10.0, 7.0]), (60, [10.0, 6.0])]);
        assert_eq!(half, Some((false, "70 % at 0 %, 60 % at 60 %".to_owned())));
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
