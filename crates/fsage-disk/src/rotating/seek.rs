//! The time of arm moves: a curve, tabulated once for each distance.

use crate::drive::Seek;

/// Nanoseconds of a time in milliseconds.
pub fn ns(ms: f64) -> i64 {
    (ms * 1e6).round() as i64
}

/// The time of a move over each distance in cylinders, 0 for none, in nanoseconds.
pub fn table(seek: &Seek, cylinders: u32) -> Vec<u32> {
    let farthest = cylinders.saturating_sub(1);
    (0..=farthest)
        .map(|distance| ns(milliseconds(seek, distance, farthest)).max(0) as u32)
        .collect()
}

/// The curve itself. `farthest` is the longest distance on this disk.
fn milliseconds(seek: &Seek, distance: u32, farthest: u32) -> f64 {
    if distance == 0 {
        return 0.0;
    }
    match seek {
        Seek::ThreePoints {
            one_ms,
            average_ms,
            max_ms,
        } => {
            let (a, b) = three_points(*one_ms, *average_ms, *max_ms, farthest);
            let beyond_one = f64::from(distance - 1);
            one_ms + a * beyond_one.sqrt() + b * beyond_one
        }
        Seek::TwoPieces {
            first_ms,
            cut,
            p_ms,
            q_ms,
            r_ms,
            s_ms,
            ..
        } => match first_ms.get(distance as usize - 1) {
            Some(ms) => *ms,
            None if distance < *cut => p_ms + q_ms * f64::from(distance).sqrt(),
            None => r_ms + s_ms * f64::from(distance),
        },
        Seek::Table { points, .. } => between(points, distance),
    }
}

/// Lee and Katz: the coefficients of `one + a*sqrt(d-1) + b*(d-1)` for which the mean over random pairs of cylinders
/// is the average, and the longest move takes the maximum. Neither is negative if
/// `10*one + 5*max <= 15*average <= 7*one + 8*max`, which the check of a drive demands.
pub fn three_points(one: f64, average: f64, max: f64, farthest: u32) -> (f64, f64) {
    let n = f64::from(farthest.max(1));
    (
        (15.0 * average - 10.0 * one - 5.0 * max) / (3.0 * n.sqrt()),
        (7.0 * one - 15.0 * average + 8.0 * max) / (3.0 * n),
    )
}

/// Linear between points; before the first and behind the last, their times.
fn between(points: &[(u32, f64)], distance: u32) -> f64 {
    let behind = points.partition_point(|&(d, _)| d < distance);
    let (d1, t1) = points[behind.min(points.len() - 1)];
    let (d0, t0) = points[behind.saturating_sub(1)];
    if d0 >= d1 || distance > d1 {
        return t1;
    }
    t0 + (t1 - t0) * f64::from(distance - d0) / f64::from(d1 - d0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three(one_ms: f64, average_ms: f64, max_ms: f64) -> Seek {
        Seek::ThreePoints {
            one_ms,
            average_ms,
            max_ms,
        }
    }

    #[test]
    fn three_points_have_the_coefficients_of_the_published_table() {
        // docs/spec/disk.md, section 2.2: a, b of st32430n and wren4.
        let (a, b) = three_points(1.7, 11.0, 23.0, 3991);
        assert!((a - 0.174_121).abs() < 1e-6 && (b - 0.002_580_81).abs() < 1e-8);
        let (a, b) = three_points(4.0, 17.5, 35.0, 1545);
        assert!((a - 0.402_82).abs() < 1e-5 && (b - 0.009_817).abs() < 1e-6);
    }

    #[test]
    fn the_mean_over_random_pairs_is_the_average() {
        for (one, average, max, n) in [(1.7, 11.0, 23.0, 3992), (1.0, 9.5, 19.1, 2568)] {
            let table = table(&three(one, average, max), n);
            assert_eq!(i64::from(table[1]), ns(one));
            // The published form has sqrt(N-1), the longest move N-2 beyond the first.
            let longest = f64::from(table[n as usize - 1]) / 1e6;
            assert!((longest - max).abs() < 0.005, "{longest}");
            let pairs: f64 = (0..n)
                .map(|d| f64::from(table[d as usize]) * 2.0 * f64::from(n - d))
                .sum();
            let mean = pairs / f64::from(n).powi(2) / 1e6;
            assert!((mean - average).abs() < 0.02, "{mean} for {average}");
        }
    }

    #[test]
    fn a_move_of_the_worked_example_takes_as_long() {
        // 1093 cylinders on st32430n: 10.272152 ms.
        let table = table(&three(1.7, 11.0, 23.0), 3992);
        assert!(table[1093].abs_diff(10_272_152) <= 1, "{}", table[1093]);
    }

    #[test]
    fn two_pieces_and_tables_are_read_as_they_stand() {
        // HP C2247A (Ruemmler and Wilkes' form).
        let pieces = Seek::TwoPieces {
            first_ms: vec![2.89, 3.68, 3.81],
            cut: 300,
            p_ms: 3.81,
            q_ms: 0.33,
            r_ms: 7.75,
            s_ms: 0.0059,
            may_fall: true,
        };
        let table = super::table(&pieces, 2051);
        assert_eq!(&table[..4], &[0, 2_890_000, 3_680_000, 3_810_000]);
        assert_eq!(table[4], 4_470_000);
        assert_eq!(table[300], 9_520_000);
        assert_eq!(table[2050], 19_845_000);
        let points = vec![(1, 1.0), (3, 2.0), (10, 9.0)];
        let table = super::table(
            &Seek::Table {
                points,
                may_fall: false,
            },
            12,
        );
        assert_eq!(table[2], 1_500_000);
        assert_eq!(table[10], 9_000_000);
        assert_eq!(table[11], 9_000_000);
    }
}
