//! What the words of the papers mean here: one rule for each word, for all papers, and where the rule comes from.
//!
//! | word | rule | why |
//! |---|---|---|
//! | an order of magnitude | 7 to 20 times | "a factor of 5-7" is less, and "twentyfold" is one (Ganger and Kaashoek) |
//! | comparable | at most 15 % less, or the other way round | 15 % and 25 % are better and worse (Seltzer et al.) |
//! | nearly, just under | up to 15 % less | as comparable, from one side |
//! | slightly more, modest | up to 15 % more | as slightly less |
//! | marginally more | up to 5 % more | as nearly the same, from one side |
//! | large, dramatic, much, precipitous | by more than 15 % | what is no longer comparable |
//! | nearly the same, marginal, no effect, low cost | within 5 %; layout scores 0.03 | a third of comparable |
//! | significant, effective, noticeable | by more than 5 % | what is no longer no effect |
//! | improves, reduces, drops | by more than the paper's runs differ, 5 % if it prints that of none | 3 % is "modest" |
//! | nearly all; hardly any, rarely | nine of ten; one of ten | |
//! | most, many | two of three | |
//! | a few | three | |
//! | a factor in round figures, "from … to …" | half a step of the last digit ([`step`]) | "twentyfold" is 15 to 25 |
//! | nearly perfect, near optimal | a layout score of 0.95 | 0.98 is, and 0.91 is a drop (Smith and Seltzer 1997) |

use std::ops::RangeInclusive;

/// How far apart two figures are that agree: the widest that Seltzer et al. call agreement between a model and a
/// measurement ("within 15 %", section 4).
pub const AGREEMENT: f64 = 0.15;

/// A step of the last digit of a round figure that is no zero, and five of it where that is a five behind another
/// digit: 20 goes by tens, 7 by ones, 25 by fives, 4.5 by halves, 1,500 by five hundreds. Of a range, the smaller step
/// of both ends.
pub fn step(value: f64, upper: Option<f64>) -> f64 {
    let of = |value: f64| {
        // The shortest digits that are this number: 2.5e1.
        let text = format!("{:e}", value.abs());
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let behind = digits.len().saturating_sub(2) as i32;
        let exponent = exponent.parse::<i32>().unwrap_or(0) - behind;
        let unit = if behind > 0 && digits.ends_with('5') {
            5
        } else {
            1
        };
        format!("{unit}e{exponent}").parse().unwrap_or(0.0)
    };
    upper.map_or(of(value), |upper| of(value).min(of(upper)))
}

/// What a range in round figures means: half a step more at both ends.
pub fn round_range(value: f64, upper: f64) -> RangeInclusive<f64> {
    let half = step(value, Some(upper)) / 2.0;
    value - half..=upper + half
}

/// Whether a gain is a marginal improvement, as a ratio: more, and nearly the same.
pub fn marginally_more(ratio: f64) -> bool {
    ratio > 1.0 && nearly_the_same(ratio)
}

/// Whether so many times are an order of magnitude.
pub fn order_of_magnitude(times: f64) -> bool {
    (7.0..=20.0).contains(&times)
}

/// Whether two figures are comparable, by their ratio.
pub fn comparable(ratio: f64) -> bool {
    (1.0 - AGREEMENT..=1.0 / (1.0 - AGREEMENT)).contains(&ratio)
}

/// Whether a figure is nearly another one, by their ratio: a little less, and not more.
pub fn nearly(ratio: f64) -> bool {
    (1.0 - AGREEMENT..=1.0).contains(&ratio)
}

/// Whether a figure is slightly more than another one, by their ratio.
pub fn slightly_more(ratio: f64) -> bool {
    ratio > 1.0 && ratio <= 1.0 + AGREEMENT
}

/// Less than so much of another figure is dramatically less.
pub const DRAMATICALLY_LESS: f64 = 1.0 - AGREEMENT;

/// Whether a figure is much more than another one, by their ratio.
pub fn much_more(ratio: f64) -> bool {
    ratio > 1.0 + AGREEMENT
}

/// How far apart two figures are that are nearly the same.
const NO_EFFECT: f64 = 0.05;

/// Less than so much of another figure is significantly less.
pub const SIGNIFICANTLY_LESS: f64 = 1.0 - NO_EFFECT;

/// Whether two figures are nearly the same, by their ratio.
pub fn nearly_the_same(ratio: f64) -> bool {
    (ratio - 1.0).abs() <= NO_EFFECT
}

/// Whether two layout scores are nearly the same: within the band of a published one.
pub fn layout_nearly_the_same(one: f64, other: f64) -> bool {
    (one - other).abs() <= 0.03
}

/// Whether a share is nearly all of a whole.
pub fn is_nearly_all(share: f64) -> bool {
    share >= 0.9
}

/// The largest share that is hardly anything of a whole.
pub const HARDLY_ANY: f64 = 0.1;

/// Whether a share is most of a whole.
pub fn is_most(share: f64) -> bool {
    share >= 2.0 / 3.0
}

/// Whether a layout score is nearly perfect.
pub fn nearly_perfect(score: f64) -> bool {
    score >= 0.95
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The papers' own uses: 5 to 7 are less than an order of magnitude, twenty are one; 15 % are comparable, 25 % are
    /// not; 0.98 is nearly perfect, 0.91 is not.
    #[test]
    fn words_mean_what_the_papers_use_them_for() {
        let orders = [6.9, 7.1, 10.0, 20.0, 20.1].map(order_of_magnitude);
        assert_eq!(orders, [false, true, true, true, false]);
        let alike = [0.75, 0.86, 1.0, 1.15, 1.25].map(comparable);
        assert_eq!(alike, [false, true, true, true, false]);
        assert_eq!([0.8, 0.9, 1.01].map(nearly), [false, true, false]);
        assert_eq!([0.94, 1.04].map(nearly_the_same), [false, true]);
        assert_eq!([1.0, 1.03, 1.16].map(slightly_more), [false, true, false]);
        assert_eq!([1.15, 1.16].map(much_more), [false, true]);
        assert!(layout_nearly_the_same(0.98, 0.955) && !layout_nearly_the_same(0.98, 0.91));
        assert_eq!([35.0 / 39.0, 0.9].map(is_nearly_all), [false, true]);
        assert!(is_most(2.0 / 3.0) && !is_most(78.0 / 144.0));
        assert_eq!(
            [0.99, 1.0, 1.03, 1.06].map(marginally_more),
            [false, false, true, false]
        );
        assert!(nearly_perfect(0.98) && !nearly_perfect(0.91));
    }

    /// Twentyfold, seven, five, 25 and 10 %, 0.66; 4.5 to 5.5, 1,500 to 2,000, 50 to 66 %, 30 to 40 %, 4 to 10.
    #[test]
    fn a_round_figure_goes_by_its_last_digit() {
        let steps =
            [20.0, 7.0, 5.0, 0.25, 0.1, 0.66, 300.0].map(|value| step(value, None).to_string());
        assert_eq!(steps, ["10", "1", "1", "0.05", "0.1", "0.01", "100"]);
        let ranges = [
            (4.5, 5.5),
            (1500.0, 2000.0),
            (0.5, 0.66),
            (0.3, 0.4),
            (4.0, 10.0),
        ];
        let steps = ranges.map(|(value, upper)| step(value, Some(upper)).to_string());
        assert_eq!(steps, ["0.5", "500", "0.01", "0.1", "1"]);
        assert_eq!(round_range(5.0, 7.0), 4.5..=7.5);
    }
}
