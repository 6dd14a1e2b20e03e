//! Sizes as people write them: `512`, `64K`, `1G`, powers of 1024.

use thiserror::Error;

/// What is wrong with a size.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SizeError {
    /// Not digits with at most one suffix.
    #[error("not an unsigned decimal integer")]
    NotANumber,
    /// Digits, then something that is no suffix.
    #[error("unknown size suffix (K, M, G, T only)")]
    Suffix,
    /// Over 2^64 - 1.
    #[error("does not fit 64 bits")]
    TooLarge,
}

/// Parses an unsigned decimal integer with an optional suffix K, M, G or T (powers of 1024).
///
/// ```
/// assert_eq!(fsage_core::size::parse("64K"), Ok(65536));
/// ```
///
/// # Errors
/// See [`SizeError`].
pub fn parse(text: &str) -> Result<u64, SizeError> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return Err(SizeError::NotANumber);
    }
    let shift = match &text[digits..] {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        rest if rest.len() == 1 && rest.as_bytes()[0].is_ascii_alphabetic() => {
            return Err(SizeError::Suffix);
        }
        _ => return Err(SizeError::NotANumber),
    };
    let value: u64 = text[..digits].parse().map_err(|_| SizeError::TooLarge)?;
    value.checked_mul(1 << shift).ok_or(SizeError::TooLarge)
}

/// A size for people: three digits at most and a binary unit, as in `48.6 GiB`.
pub fn human(bytes: u64) -> String {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 {
        format!("{bytes} B")
    } else if value < 99.95 {
        format!("{value:.1} {}", UNITS[unit])
    } else {
        format!("{value:.0} {}", UNITS[unit])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_are_powers_of_1024() {
        assert_eq!(parse("0"), Ok(0));
        assert_eq!(parse("16T"), Ok(16 << 40));
        assert_eq!(parse("18446744073709551615"), Ok(u64::MAX));
    }

    #[test]
    fn bad_sizes_say_what_is_wrong() {
        assert_eq!(parse(""), Err(SizeError::NotANumber));
        assert_eq!(parse("-5"), Err(SizeError::NotANumber));
        assert_eq!(parse("0x10"), Err(SizeError::NotANumber));
        assert_eq!(parse("5k"), Err(SizeError::Suffix));
        assert_eq!(parse("18446744073709551616"), Err(SizeError::TooLarge));
        assert_eq!(parse("16777216T"), Err(SizeError::TooLarge));
        assert_eq!(parse("5é"), Err(SizeError::NotANumber));
    }

    #[test]
    fn people_read_three_digits() {
        assert_eq!(human(512), "512 B");
        assert_eq!(human(52_183_851_827), "48.6 GiB");
        assert_eq!(human(1 << 40), "1.0 TiB");
        assert_eq!(human(1023 << 20), "1.0 GiB");
    }
}
