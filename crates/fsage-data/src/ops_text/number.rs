//! Numbers and times of the text form, read from bytes without a detour over `str`.

use super::error::Fault;

/// An unsigned decimal integer of 64 bits.
pub(super) fn integer(text: &[u8]) -> Result<u64, Fault> {
    let (value, rest) = digits(text)?;
    if rest.is_empty() {
        Ok(value)
    } else {
        Err(Fault::NotAnInteger)
    }
}

/// Bytes: an integer with an optional suffix K, M, G or T, powers of 1024.
pub(super) fn bytes(text: &[u8]) -> Result<u64, Fault> {
    let (value, rest) = digits(text)?;
    let shift = match rest {
        [] => return Ok(value),
        b"K" => 10,
        b"M" => 20,
        b"G" => 30,
        b"T" => 40,
        [other] if other.is_ascii_alphabetic() => return Err(Fault::UnknownSuffix),
        _ => return Err(Fault::NotAnInteger),
    };
    value.checked_mul(1 << shift).ok_or(Fault::Over64Bits)
}

/// The leading digits as a number, and what follows them.
fn digits(text: &[u8]) -> Result<(u64, &[u8]), Fault> {
    let count = text.iter().take_while(|b| b.is_ascii_digit()).count();
    if count == 0 {
        return Err(Fault::NotAnInteger);
    }
    let (number, rest) = text.split_at(count);
    let mut value = 0_u64;
    for digit in number {
        value = value
            .checked_mul(10)
            .and_then(|v| v.checked_add(u64::from(digit - b'0')))
            .ok_or(Fault::Over64Bits)?;
    }
    Ok((value, rest))
}

/// An octal number of 32 bits.
pub(super) fn octal(text: &[u8]) -> Option<u32> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0_u32, |value, byte| {
        let digit = byte.wrapping_sub(b'0');
        (digit < 8 && value < 1 << 29).then(|| value * 8 + u32::from(digit))
    })
}

/// A decimal number of 32 bits.
pub(super) fn decimal_u32(text: &[u8]) -> Option<u32> {
    integer(text).ok().and_then(|n| u32::try_from(n).ok())
}

/// Seconds with up to 9 decimals as nanoseconds.
pub(super) fn seconds(text: &[u8]) -> Result<i64, Fault> {
    let (negative, text) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    let (whole, rest) = digits(text).map_err(|_| Fault::BadTime)?;
    let fraction = match rest {
        [] => 0,
        [b'.', decimals @ ..]
            if !decimals.is_empty() && decimals.iter().all(u8::is_ascii_digit) =>
        {
            if decimals.len() > 9 {
                return Err(Fault::TooManyDecimals);
            }
            let (value, _) = digits(decimals)?;
            value * 10_u64.pow(9 - decimals.len() as u32)
        }
        _ => return Err(Fault::BadTime),
    };
    let magnitude = whole
        .checked_mul(1_000_000_000)
        .and_then(|ns| ns.checked_add(fraction))
        .ok_or(Fault::BadTime)?;
    if negative {
        0_i64.checked_sub_unsigned(magnitude)
    } else {
        i64::try_from(magnitude).ok()
    }
    .ok_or(Fault::BadTime)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_end_at_64_bits() {
        assert_eq!(integer(b"18446744073709551615"), Ok(u64::MAX));
        assert_eq!(integer(b"18446744073709551616"), Err(Fault::Over64Bits));
        assert_eq!(integer(b"007"), Ok(7));
        assert_eq!(integer(b"1K"), Err(Fault::NotAnInteger));
        assert_eq!(bytes(b"16777215T"), Ok(16_777_215 << 40));
        assert_eq!(bytes(b"16777216T"), Err(Fault::Over64Bits));
    }

    #[test]
    fn times_are_exact_to_the_nanosecond() {
        assert_eq!(seconds(b"0"), Ok(0));
        assert_eq!(seconds(b"-0.5"), Ok(-500_000_000));
        assert_eq!(seconds(b"1.000000001"), Ok(1_000_000_001));
        assert_eq!(seconds(b"9223372036.854775807"), Ok(i64::MAX));
        assert_eq!(seconds(b"9223372036.854775808"), Err(Fault::BadTime));
        assert_eq!(seconds(b"-9223372036.854775808"), Ok(i64::MIN));
        assert_eq!(seconds(b"-9223372036.854775809"), Err(Fault::BadTime));
        for bad in [&b""[..], b"-", b".", b"1.", b".5", b"+1", b"1e3", b"--1"] {
            assert_eq!(seconds(bad), Err(Fault::BadTime), "{bad:?}");
        }
    }

    #[test]
    fn modes_are_octal() {
        assert_eq!(octal(b"0644"), Some(0o644));
        assert_eq!(octal(b"37777777777"), Some(u32::MAX));
        assert_eq!(octal(b"40000000000"), None);
        assert_eq!(octal(b"8"), None);
        assert_eq!(octal(b""), None);
    }
}
