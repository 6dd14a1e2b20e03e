//! How long each file of a phase took, and what that says of other files.
//!
//! Where an allocator puts a handful of files is chance: two file systems that lived the same life put them in other
//! places, and one is read faster than the other each time it is measured. Repetitions go over the same files, and know
//! nothing of that. The files do: of many that take unlike times, others would have taken another time in all.

use crate::measurement::Measurement;
use crate::statistics::median_of;

/// Fewer files say nothing of others.
const LEAST_FILES: usize = 8;
/// Fewer repetitions do not tell what differs between files from what differs between times.
const LEAST_REPETITIONS: usize = 4;

/// A call on a whole file, or on a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lap {
    /// Bytes that it read or wrote.
    pub bytes: u64,
    /// Nanoseconds that it took.
    pub ns: u64,
}

/// The standard error of the time of a phase, if its files were drawn anew, as a share of that time; `None` where
/// nobody clocked its files, or these or the repetitions are too few.
///
/// What a file takes beside others of its size is found twice, as the median of the even and of the odd repetitions:
/// what these have in common over files is the variance between files, without that of the disturbances of a machine. A
/// longer file takes longer on any file system: that is taken off by a line through all of them.
pub fn error_of_files(repetitions: &[&Measurement]) -> Option<f64> {
    let count = repetitions.first()?.laps.len();
    let are_alike = repetitions.iter().all(|of| of.laps.len() == count);
    if count < LEAST_FILES || repetitions.len() < LEAST_REPETITIONS || !are_alike {
        return None;
    }
    let halves = [0, 1].map(|odd| {
        let half: Vec<&Measurement> = repetitions.iter().skip(odd).step_by(2).copied().collect();
        let typical = |file: usize| {
            let mut times: Vec<f64> = half.iter().map(|of| of.laps[file].ns as f64).collect();
            median_of(&mut times)
        };
        let points = (0..count).map(|file| {
            let bytes = repetitions[0].laps[file].bytes;
            (bytes as f64, typical(file))
        });
        off_the_line(&points.collect::<Vec<_>>())
    });
    let [even, odd] = &halves;
    let products = even.iter().zip(odd).map(|(a, b)| a * b);
    let variance = products.sum::<f64>() / (count - 2) as f64;
    let mut all: Vec<f64> = repetitions.iter().map(|of| of.elapsed_ns as f64).collect();
    let all = median_of(&mut all);
    (all > 0.0).then(|| (count as f64 * variance.max(0.0)).sqrt() / all)
}

/// How far points lie above the line of least squares through them, or above their mean where all have one place.
fn off_the_line(points: &[(f64, f64)]) -> Vec<f64> {
    let mean =
        |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / points.len() as f64;
    let (x, y) = (mean(|of| of.0), mean(|of| of.1));
    let spread: f64 = points.iter().map(|of| (of.0 - x).powi(2)).sum();
    let slope = if spread > 0.0 {
        points.iter().map(|of| (of.0 - x) * (of.1 - y)).sum::<f64>() / spread
    } else {
        0.0
    };
    points
        .iter()
        .map(|of| of.1 - y - slope * (of.0 - x))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::Better;
    use crate::ratio::{Ratio, Repeated, Says};
    use fsage_core::rng::Rng;

    fn measured(laps: &[(u64, u64)]) -> Measurement {
        Measurement {
            elapsed_ns: laps.iter().map(|(_, ns)| ns).sum(),
            laps: laps.iter().map(|&(bytes, ns)| Lap { bytes, ns }).collect(),
            ..Measurement::default()
        }
    }

    fn error(repetitions: &[Measurement]) -> Option<f64> {
        error_of_files(&repetitions.iter().collect::<Vec<_>>())
    }

    /// By hand: half of eight files take 1, half 3: 1 above or below their mean, 8 / 6 the variance, 8 times that of
    /// all eight, and its root as a share of 16.
    #[test]
    fn files_that_take_unlike_times_say_that_others_would() {
        let files: Vec<(u64, u64)> = [1, 3].repeat(4).iter().map(|&ns| (4096, ns)).collect();
        let found = error(&vec![measured(&files); 4]).expect("an error");
        let expected = (8.0_f64 * 8.0 / 6.0).sqrt() / 16.0;
        assert!((found - expected).abs() < 1e-12, "{found}");
        let alike = [(4096, 2); 8];
        assert_eq!(error(&vec![measured(&alike); 4]), Some(0.0));
    }

    #[test]
    fn a_longer_file_that_takes_longer_is_like_others() {
        let files: Vec<(u64, u64)> = (1..=10).map(|n| (n * 4096, 5 + n * 100)).collect();
        let found = error(&vec![measured(&files); 6]).expect("an error");
        assert!(found < 1e-9, "{found}");
    }

    /// What strikes a file in one repetition is no property of it.
    #[test]
    fn a_disturbance_is_none_of_a_file() {
        let disturbed = |at: usize| {
            let mut files = [(4096, 10); 8];
            files[at].1 = 1000;
            measured(&files)
        };
        assert_eq!(error(&[0, 1, 2, 3, 4, 5].map(disturbed)), Some(0.0));
    }

    #[test]
    fn few_files_or_repetitions_say_nothing() {
        let files = [(4096, 1); 8];
        assert_eq!(error(&vec![measured(&files[..7]); 6]), None);
        assert_eq!(error(&vec![measured(&files); 3]), None);
        let other = measured(&[(4096, 1); 9]);
        let mut repetitions = vec![measured(&files); 5];
        repetitions.push(other);
        assert_eq!(error(&repetitions), None, "not the same files");
        assert_eq!(error(&[]), None);
    }

    /// Thirty-two files that lie by chance, so that each takes its own time on each of two equal file systems, and
    /// eight repetitions with little noise: by these alone the two are told apart most of the time, and with what the
    /// files say in at most 3 of 100 trials. Where files are alike, one that is a fifth slower is found in 90 of 100.
    #[test]
    fn equal_file_systems_that_put_files_elsewhere_are_seldom_told_apart() {
        let mut rng = Rng::new(11);
        let mut claims = |unlike: f64, slower: f64, with_files: bool| {
            let trials = (0..100).filter(|_| {
                let [a, b] = [1.0, slower].map(|middle| {
                    let files: Vec<f64> = (0..32)
                        .map(|_| rng.log_normal(1e6 * middle, unlike))
                        .collect();
                    let mut repetition = || {
                        let laps = files.iter().map(|&ns| rng.log_normal(ns, 0.1) as u64);
                        measured(&laps.map(|ns| (1 << 20, ns)).collect::<Vec<_>>())
                    };
                    (0..8).map(|_| repetition()).collect::<Vec<_>>()
                });
                let speeds = |of: &[Measurement]| {
                    let speeds = of.iter().map(|of| 1e9 / of.elapsed_ns as f64);
                    speeds.collect::<Vec<_>>()
                };
                let repeated = Repeated::apart(speeds(&a), speeds(&b), Better::Higher);
                let errors = [&a, &b].map(|of| error(of).filter(|_| with_files).unwrap_or(0.0));
                let repeated = repeated.with_errors_of_files(errors.into());
                let ratio = Ratio::of(&[repeated]).expect("repetitions");
                matches!(ratio.says(), Says::Faster | Says::Slower)
            });
            trials.count()
        };
        assert!(claims(0.6, 1.0, false) >= 50);
        assert!(claims(0.6, 1.0, true) <= 3);
        assert!(claims(0.02, 1.25, true) >= 90);
    }
}
