//! Several truths as one answer: each life counts once, whatever was guessed within it.

use super::method::{Attempt, Life, Lost, half_interval};

/// Every way that was tried: of one life its own, of several the means over them. A life has not every way where it has
/// no short-lived files; what all have is kept.
pub(super) fn attempts_over(lives: &[Life]) -> Vec<Attempt> {
    let Some((first, others)) = lives.split_first() else {
        return Vec::new();
    };
    if others.is_empty() {
        return first.attempts.clone();
    }
    let of_all = first.attempts.iter().filter_map(|attempt| {
        let is_it = |other: &&Attempt| {
            (other.delete_times, other.short_lived) == (attempt.delete_times, attempt.short_lived)
        };
        let of_lives = lives.iter().map(|life| life.attempts.iter().find(is_it));
        of_lives.collect::<Option<Vec<&Attempt>>>()
    });
    of_all.map(|of_lives| mean_attempt(&of_lives)).collect()
}

/// What is lost by one thing alone: of one life its own, of several the means over them.
pub(super) fn losses_over(lives: &[Life]) -> Vec<Lost> {
    let Some((first, others)) = lives.split_first() else {
        return Vec::new();
    };
    if others.is_empty() {
        return first.losses.clone();
    }
    let of_all = (0..first.losses.len()).map(|at| lives.iter().map(move |life| &life.losses[at]));
    of_all
        .map(|of_lives| mean_lost(&of_lives.collect::<Vec<&Lost>>()))
        .collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn of<T>(lives: &[&T], value: impl Fn(&T) -> f64) -> Vec<f64> {
    lives.iter().map(|life| value(life)).collect()
}

fn mean_attempt(lives: &[&Attempt]) -> Attempt {
    let of = |value: fn(&Attempt) -> f64| of(lives, value);
    let ends = of(|life| life.end_difference);
    let missed: Vec<f64> = lives.iter().filter_map(|life| life.missed).collect();
    let largest = lives
        .iter()
        .max_by(|a, b| {
            a.largest_difference
                .abs()
                .total_cmp(&b.largest_difference.abs())
        })
        .expect("a life");
    Attempt {
        delete_times: largest.delete_times,
        short_lived: largest.short_lived,
        end_difference: mean(&ends),
        end_half_interval: half_interval(&ends),
        end_distance: mean(&of(|life| life.end_distance)),
        missed: (!missed.is_empty()).then(|| mean(&missed)),
        missed_half_interval: half_interval(&missed),
        nearer_by: None,
        nearer_half_interval: None,
        by_seed: Vec::new(),
        largest_difference: largest.largest_difference,
        largest_day: largest.largest_day,
        mean_distance: mean(&of(|life| life.mean_distance)),
        delete_error_hours: mean(&of(|life| life.delete_error_hours)),
        precision: mean(&of(|life| life.precision)),
        recall: mean(&of(|life| life.recall)),
        skipped: lives.iter().map(|life| life.skipped).sum(),
        scores: Vec::new(),
    }
}

fn mean_lost(lives: &[&Lost]) -> Lost {
    let ends = of(lives, |life| life.end_difference);
    let largest = of(lives, |life| life.largest_difference);
    Lost {
        loss: lives[0].loss.clone(),
        end_difference: mean(&ends),
        end_half_interval: half_interval(&ends),
        end_by_seed: Vec::new(),
        largest_difference: largest
            .into_iter()
            .max_by(|a, b| a.abs().total_cmp(&b.abs()))
            .unwrap_or_default(),
        mean_distance: mean(&of(lives, |life| life.mean_distance)),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn attempt(
        end_difference: f64,
        missed: Option<f64>,
        largest_difference: f64,
    ) -> Attempt {
        Attempt {
            delete_times: "reuse",
            short_lived: "none",
            end_difference,
            // Of the seeds of a life, which is not that of lives.
            end_half_interval: Some(9.0),
            end_distance: end_difference.abs(),
            missed,
            missed_half_interval: Some(9.0),
            nearer_by: None,
            nearer_half_interval: None,
            by_seed: Vec::new(),
            largest_difference,
            largest_day: 0,
            mean_distance: 0.0,
            delete_error_hours: 0.0,
            precision: 1.0,
            recall: 1.0,
            skipped: 2,
            scores: vec![1.0],
        }
    }

    pub(in super::super) fn life(attempts: Vec<Attempt>, lost: f64) -> Life {
        Life {
            workload: "w".to_owned(),
            days: 1,
            operations: 1,
            hidden_operations: 1,
            profiles: 0,
            profiles_a_day: None,
            most_used: None,
            truth: vec![1.0],
            decay: 0.0,
            attempts,
            losses: vec![Lost {
                loss: "all".to_owned(),
                end_difference: lost,
                end_half_interval: None,
                end_by_seed: vec![lost],
                largest_difference: -lost,
                mean_distance: lost,
            }],
        }
    }

    /// By hand: ends of 0.01, 0.02 and 0.03 have the mean 0.02, the deviation 0.01, and with Student's 4.302653 of two
    /// degrees of freedom over the root of 3 the half interval 0.0248414.
    #[test]
    fn the_interval_is_over_lives() {
        let lives = [(0.01, -0.1), (0.02, 0.4), (0.03, -0.2)];
        let lives =
            lives.map(|(end, largest)| life(vec![attempt(end, Some(10.0 * end), largest)], end));
        let [over] = &attempts_over(&lives)[..] else {
            panic!("one way");
        };
        assert!((over.end_difference - 0.02).abs() < 1e-12);
        assert!((over.end_half_interval.expect("three lives") - 0.024_841_4).abs() < 1e-6);
        assert!((over.missed.expect("a share") - 0.2).abs() < 1e-12);
        assert!((over.missed_half_interval.expect("three") - 0.248_414).abs() < 1e-5);
        assert!((over.largest_difference - 0.4).abs() < 1e-12);
        assert_eq!(over.skipped, 6);
        assert!(over.scores.is_empty());
        let [lost] = &losses_over(&lives)[..] else {
            panic!("one loss");
        };
        assert!((lost.end_half_interval.expect("three lives") - 0.024_841_4).abs() < 1e-6);
        assert!((lost.largest_difference + 0.03).abs() < 1e-12);
        // Two lives have no interval, and one keeps what its seeds say.
        assert_eq!(attempts_over(&lives[..2])[0].end_half_interval, None);
        assert_eq!(attempts_over(&lives[..1])[0].end_half_interval, Some(9.0));
    }

    #[test]
    fn a_life_that_hardly_decays_says_no_share() {
        let lives = [(0.01, Some(0.5)), (0.03, None)];
        let lives = lives.map(|(end, missed)| life(vec![attempt(end, missed, 0.0)], end));
        assert_eq!(attempts_over(&lives)[0].missed, Some(0.5));
    }

    #[test]
    fn what_one_life_has_not_is_left_out() {
        let of_profiles = Attempt {
            short_lived: "profiles",
            ..attempt(0.5, None, 0.0)
        };
        let lives = [
            life(vec![attempt(0.1, None, 0.0), of_profiles], 0.0),
            life(vec![attempt(0.3, None, 0.0)], 0.0),
        ];
        let over = attempts_over(&lives);
        assert_eq!(over.len(), 1);
        assert!((over[0].end_difference - 0.2).abs() < 1e-12);
    }
}
