//! What the paper says of its curves.

use super::runs::{Mix, Outcome};
use super::{MODIFIED, ORIGINAL, Results, WITHOUT_NEAR, tables};
use crate::comparison::Measured;

/// Every statement, with what our curves say.
pub fn measure(results: &Results<'_>) -> Measured {
    let mut measured = Measured::default();
    for (id, mix, cached) in [
        ("C1.5", Mix::Reads, false),
        ("C1.6", Mix::Writes, false),
        ("C1.5.cached", Mix::Reads, true),
        ("C1.6.cached", Mix::Writes, true),
        ("C1.10", Mix::FewWrites, false),
    ] {
        // A device without an arm has no write cache either.
        if cached && results.study.device(true) == results.study.device(false) {
            continue;
        }
        let pair = |percent| {
            [ORIGINAL, MODIFIED].map(|name| results.of(name, mix, percent, cached).mean_s())
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
    measured
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

/// Whether the second is less than the first everywhere.
fn is_faster(pairs: &[(u64, [f64; 2])]) -> Option<(bool, String)> {
    let ratios: Vec<String> = pairs
        .iter()
        .map(|(percent, [before, after])| format!("{:.2} at {percent} %", after / before))
        .collect();
    let holds = pairs.iter().all(|(_, [before, after])| after < before);
    (!pairs.is_empty()).then(|| {
        (
            holds,
            format!("modified over original: {}", ratios.join(", ")),
        )
    })
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
        let equal = is_faster(&[(0, [100.0, 100.0]), (60, [200.0, 150.0])]);
        assert!(!equal.unwrap().0);
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
