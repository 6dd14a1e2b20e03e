//! Names of entries: the workload's own, or made from the id when they are needed.

use fsage_core::names::{self, NAME_MAX, NameFault};

/// Room for a name that is made from an id.
pub(super) struct NameBuffer([u8; 24]);

impl NameBuffer {
    pub fn new() -> NameBuffer {
        NameBuffer([0; 24])
    }

    /// The name of an entry; without one the letter and the id.
    #[inline]
    pub fn name<'a>(&'a mut self, name: Option<&'a [u8]>, letter: u8, id: u64) -> &'a [u8] {
        if let Some(name) = name {
            return name;
        }
        let mut digits = itoa::Buffer::new();
        let digits = digits.format(id).as_bytes();
        self.0[0] = letter;
        self.0[1..=digits.len()].copy_from_slice(digits);
        &self.0[..=digits.len()]
    }
}

/// What is wrong with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BadName {
    Fault(NameFault),
    Long(usize),
}

/// Whether an event's name can be one.
pub(super) fn check(name: Option<&[u8]>) -> Result<(), BadName> {
    let Some(name) = name else {
        return Ok(());
    };
    names::check_name(name).map_err(BadName::Fault)?;
    if name.len() > NAME_MAX {
        return Err(BadName::Long(name.len()));
    }
    Ok(())
}

/// The name that an entry gets where its own is taken.
pub(super) fn other(name: &[u8], letter: u8, id: u64) -> Box<[u8]> {
    names::other_name(name, char::from(letter), id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_given_or_made() {
        let mut buffer = NameBuffer::new();
        assert_eq!(buffer.name(None, b'f', 0), b"f0");
        assert_eq!(buffer.name(None, b'd', u64::MAX), b"d18446744073709551615");
        assert_eq!(buffer.name(Some(b"x"), b'd', 7), b"x");
        assert_eq!(&*other(b"x", b'f', 7), b"x~f7");
        assert_eq!(other(&[b'x'; 255], b'f', 7).len(), NAME_MAX);
        assert_eq!(check(Some(&[b'x'; 255])), Ok(()));
        assert_eq!(check(Some(&[b'x'; 256])), Err(BadName::Long(256)));
        assert_eq!(check(Some(b"a/b")), Err(BadName::Fault(NameFault::Slash)));
        assert_eq!(check(None), Ok(()));
    }
}
