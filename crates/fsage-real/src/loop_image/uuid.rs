//! Names of file systems: 128-bit numbers.

use std::fmt;

/// A universally unique identifier. That of a file system made here is the same in every run, so that what is derived
/// from it (the hash seed of directories) is the same too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uuid(u128);

impl Uuid {
    /// What a file system gets when nothing else is said: `fsage` in ASCII, marked as version 4.
    pub const DEFAULT: Uuid = Uuid(0x6673_6167_6500_4000_8000_0000_0000_0001);

    /// Reads the usual form, 32 hexadecimal digits in groups of 8, 4, 4, 4 and 12 with hyphens between.
    pub fn parse(text: &str) -> Option<Uuid> {
        let groups: Vec<&str> = text.split('-').collect();
        let lengths = groups.iter().map(|group| group.len());
        let is_hex = text.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit());
        if !is_hex || !lengths.eq([8, 4, 4, 4, 12]) {
            return None;
        }
        u128::from_str_radix(&groups.concat(), 16).ok().map(Uuid)
    }

    /// The next number.
    #[must_use]
    pub fn next(self) -> Uuid {
        Uuid(self.0.wrapping_add(1))
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hex = format!("{:032x}", self.0);
        let (a, b, c) = (&hex[..8], &hex[8..12], &hex[12..16]);
        write!(f, "{a}-{b}-{c}-{}-{}", &hex[16..20], &hex[20..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_form_is_read_and_written() {
        let text = "0fc63daf-8483-4772-8e79-3d69d8477de4";
        assert_eq!(Uuid::parse(text).unwrap().to_string(), text);
        let upper = Uuid::parse(&text.to_uppercase()).unwrap();
        assert_eq!(upper.to_string(), text);
        assert_eq!(
            Uuid::DEFAULT.next().to_string(),
            "66736167-6500-4000-8000-000000000002"
        );
    }

    #[test]
    fn other_forms_are_refused() {
        for text in [
            "",
            "0fc63daf84834772 8e793d69d8477de4",
            "0fc63daf84834772-8e79-3d69d847-7de4",
            "0fc63daf-8483-4772-8e79-3d69d8477de",
            "+fc63daf-8483-4772-8e79-3d69d8477de4",
        ] {
            assert_eq!(Uuid::parse(text), None, "{text}");
        }
    }
}
