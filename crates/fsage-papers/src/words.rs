//! What the words of the papers mean here: one rule for each word, for all papers, and where the rule comes from.
//!
//! | word | rule | why |
//! |---|---|---|
//! | an order of magnitude | 7 to 20 times | "a factor of 5-7" is less, and "twentyfold" is one (Ganger and Kaashoek) |
//! | comparable | at most 15 % less, or the other way round | 15 % and 25 % are better and worse (Seltzer et al.) |
//! | nearly, just under | up to 15 % less | as comparable, from one side |
//! | nearly the same, marginal, no effect | within 5 % | a third of what is still comparable |
//! | nearly all | nine of ten | |
//! | most | two of three | |
//! | nearly perfect, near optimal | a layout score of 0.95 | 0.98 is, and 0.91 is a drop (Smith and Seltzer 1997) |

/// How far apart two figures are that agree: the widest that Seltzer et al. call agreement between a model and a
/// measurement ("within 15 %", section 4).
pub const AGREEMENT: f64 = 0.15;

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

/// Whether two figures are nearly the same, by their ratio.
pub fn nearly_the_same(ratio: f64) -> bool {
    (ratio - 1.0).abs() <= 0.05
}

/// Whether a share is nearly all of a whole.
pub fn is_nearly_all(share: f64) -> bool {
    share >= 0.9
}

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
        assert_eq!([35.0 / 39.0, 0.9].map(is_nearly_all), [false, true]);
        assert!(is_most(2.0 / 3.0) && !is_most(78.0 / 144.0));
        assert!(nearly_perfect(0.98) && !nearly_perfect(0.91));
    }
}
