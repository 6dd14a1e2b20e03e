//! Numbers and times in the text of foreign formats.

use fsage_core::layout::FileKind;

const NS_PER_S: i64 = 1_000_000_000;

/// A number that is nothing but digits.
pub(super) fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |n, &c| {
        let digit = c.wrapping_sub(b'0');
        (digit < 10).then_some(())?;
        n.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// As [`decimal`], in 32 bits.
pub(super) fn decimal_u32(digits: &[u8]) -> Option<u32> {
    decimal(digits).and_then(|n| u32::try_from(n).ok())
}

/// An octal number in 32 bits.
pub(super) fn octal(digits: &[u8]) -> Option<u32> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u32, |n, &c| {
        let digit = c.wrapping_sub(b'0');
        (digit < 8).then_some(())?;
        n.checked_mul(8)?.checked_add(u32::from(digit))
    })
}

/// A whole number with a sign.
pub(super) fn signed(text: &[u8]) -> Option<i64> {
    match text.strip_prefix(b"-") {
        Some(digits) => 0_i64.checked_sub_unsigned(decimal(digits)?),
        None => i64::try_from(decimal(text)?).ok(),
    }
}

/// What the fraction of a negative time means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fraction {
    /// `-1.5` is one and a half second before 1970.
    OfTheNumber,
    /// `find` prints seconds and nanoseconds apart: `-1.5` is half a second before 1970.
    Added,
}

/// Seconds with any number of digits behind the point, of which nine count, as nanoseconds. `Ok(None)` is a
/// number that nanoseconds in 64 bits cannot say.
///
/// # Errors
/// This is no number.
pub(super) fn seconds(text: &[u8], fraction: Fraction) -> Result<Option<i64>, NoNumber> {
    let (negative, digits) = match text.strip_prefix(b"-") {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let point = digits.iter().position(|&c| c == b'.');
    let (whole, behind) = match point {
        Some(at) => (&digits[..at], &digits[at + 1..]),
        None => (digits, &b"0"[..]),
    };
    let all_digits = |s: &[u8]| !s.is_empty() && s.iter().all(u8::is_ascii_digit);
    if !all_digits(whole) || !all_digits(behind) {
        return Err(NoNumber);
    }
    let mut nanos = 0_i64;
    for place in 0..9 {
        let digit = behind.get(place).map_or(0, |c| i64::from(c - b'0'));
        nanos = nanos * 10 + digit;
    }
    if negative && fraction == Fraction::OfTheNumber {
        nanos = -nanos;
    }
    let whole = decimal(whole).and_then(|n| i64::try_from(n).ok());
    let whole = whole.map(|n| if negative { -n } else { n });
    Ok(whole.and_then(|s| s.checked_mul(NS_PER_S)?.checked_add(nanos)))
}

/// Whole seconds as nanoseconds; `None` is a time that nanoseconds in 64 bits cannot say.
pub(super) fn whole_seconds(s: i64) -> Option<i64> {
    s.checked_mul(NS_PER_S)
}

/// Text that is no number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoNumber;

/// A mode with the type bits of that kind, and whether it had others.
pub(super) fn full_mode(mode: u32, kind: FileKind) -> (u32, bool) {
    let had = mode & FileKind::MODE_BITS;
    let bits = kind.mode_bits();
    (mode & !FileKind::MODE_BITS | bits, had != 0 && had != bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_digits_behind_the_point_are_nanoseconds_and_a_zero() {
        // find-printf.ext4.tsv0 and ext4.expected.tsv, root directory: the same ctime.
        let text = b"1795222680.7881346820";
        let expected = Ok(Some(1_795_222_680_788_134_682));
        assert_eq!(seconds(text, Fraction::Added), expected);
        assert_eq!(
            seconds(b"5", Fraction::OfTheNumber),
            Ok(Some(5_000_000_000))
        );
        assert_eq!(
            seconds(b"5.25", Fraction::OfTheNumber),
            Ok(Some(5_250_000_000))
        );
    }

    #[test]
    fn find_prints_half_a_second_before_1970_as_minus_one_and_a_half() {
        // `touch -d @-0.5 f; find f -printf %T@` of findutils 4.9.0 prints -1.5000000000.
        let text = b"-1.5000000000";
        assert_eq!(seconds(text, Fraction::Added), Ok(Some(-500_000_000)));
        assert_eq!(
            seconds(text, Fraction::OfTheNumber),
            Ok(Some(-1_500_000_000))
        );
    }

    #[test]
    fn what_is_no_number_is_told_from_what_is_too_large() {
        for text in [
            &b""[..],
            b"-",
            b"5.",
            b".5",
            b"1e9",
            b"5.5.5",
            b"-1.-000000010",
            b" 5",
        ] {
            assert_eq!(seconds(text, Fraction::Added), Err(NoNumber), "{text:?}");
        }
        for text in [
            &b"9223372037"[..],
            b"99999999999999999999999",
            b"-9999999999.0",
        ] {
            assert_eq!(seconds(text, Fraction::Added), Ok(None), "{text:?}");
        }
        assert_eq!(decimal(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(decimal(b"18446744073709551616"), None);
        assert_eq!(decimal(b"+5"), None);
        assert_eq!(decimal_u32(b"4294967296"), None);
        assert_eq!(octal(b"104751"), Some(0o104_751));
        assert_eq!(octal(b"8"), None);
        assert_eq!(octal(b"77777777777"), None);
        assert_eq!(signed(b"-9223372036854775808"), Some(i64::MIN));
        assert_eq!(signed(b"9223372036854775808"), None);
    }

    #[test]
    fn a_mode_gets_the_type_bits_of_its_kind() {
        assert_eq!(full_mode(0o755, FileKind::Directory), (0o40_755, false));
        assert_eq!(full_mode(0o40_755, FileKind::Directory), (0o40_755, false));
        assert_eq!(full_mode(0o40_755, FileKind::Regular), (0o100_755, true));
        assert_eq!(FileKind::of_mode(0o120_777), Some(FileKind::Symlink));
        assert_eq!(FileKind::of_mode(0o777), None);
    }
}
