//! What an inode holds: how long it is, how long the workload wants it, and where it reads as zeros.

use std::ops::Range;

/// Length and content of a regular file; of a symbolic link the length alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Body {
    size: u64,
    /// Its length had nothing been skipped for lack of space.
    pub planned: u64,
    zeros: Option<Box<Zeros>>,
}

/// Ranges that were never written, or punched: ascending, apart, within the file. Few files have any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Zeros(Vec<Range<u64>>);

impl Body {
    /// An inode of this length, written from end to end.
    pub fn written(size: u64) -> Body {
        Body {
            size,
            planned: size,
            zeros: None,
        }
    }

    #[inline]
    pub fn size(&self) -> u64 {
        self.size
    }

    pub fn zeros(&self) -> &[Range<u64>] {
        self.zeros.as_ref().map_or(&[], |zeros| &zeros.0)
    }

    /// Takes over a write. Nothing written is nothing done, wherever it would have been.
    #[inline]
    pub fn write(&mut self, offset: u64, bytes: u64) {
        if bytes == 0 {
            return;
        }
        let end = offset + bytes;
        if offset > self.size {
            self.add(self.size..offset);
        }
        if self.zeros.is_some() {
            self.remove(&(offset..end));
        }
        self.size = self.size.max(end);
    }

    /// Sets the length, up or down.
    pub fn set_size(&mut self, size: u64) {
        if size > self.size {
            self.add(self.size..size);
        } else if self.zeros.is_some() {
            self.remove(&(size..u64::MAX));
        }
        self.size = size;
    }

    /// Makes what lies in a range read as zeros; the length stays.
    pub fn punch(&mut self, range: Range<u64>) {
        let range = range.start..range.end.min(self.size);
        if !range.is_empty() {
            self.remove(&range);
            self.add(range);
        }
    }

    /// Adds a range that overlaps none.
    fn add(&mut self, range: Range<u64>) {
        let zeros = &mut self.zeros.get_or_insert_default().0;
        let at = zeros.partition_point(|other| other.end < range.start);
        let beyond = zeros.partition_point(|other| other.start <= range.end);
        let joined = zeros[at..beyond].iter().fold(range, |all, other| {
            all.start.min(other.start)..all.end.max(other.end)
        });
        zeros.splice(at..beyond, [joined]);
    }

    fn remove(&mut self, range: &Range<u64>) {
        let Some(zeros) = &mut self.zeros else {
            return;
        };
        let zeros = &mut zeros.0;
        let at = zeros.partition_point(|other| other.end <= range.start);
        let beyond = zeros.partition_point(|other| other.start < range.end);
        if at < beyond {
            let before = zeros[at].start..range.start;
            let behind = range.end..zeros[beyond - 1].end;
            let rest = [before, behind].into_iter().filter(|r| !r.is_empty());
            zeros.splice(at..beyond, rest);
        }
        if zeros.is_empty() {
            self.zeros = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsage_core::Rng;

    /// Against a byte for every byte.
    #[test]
    fn zeros_are_what_was_never_written() {
        let mut rng = Rng::new(3);
        for _ in 0..300 {
            let mut body = Body::default();
            let mut bytes: Vec<bool> = Vec::new();
            for _ in 0..40 {
                let (from, length) = (rng.below(60) as usize, rng.below(20) as usize);
                let end = from + length;
                match rng.below(4) {
                    0 => {
                        body.set_size(from as u64);
                        bytes.resize(from, false);
                    }
                    1 => {
                        body.punch(from as u64..end as u64);
                        let size = bytes.len();
                        bytes[from.min(size)..end.min(size)].fill(false);
                    }
                    _ if length > 0 => {
                        body.write(from as u64, length as u64);
                        if bytes.len() < end {
                            bytes.resize(end, false);
                        }
                        bytes[from..end].fill(true);
                    }
                    _ => body.write(from as u64, 0),
                }
                assert_eq!(body.size(), bytes.len() as u64);
                let mut shown = vec![true; bytes.len()];
                for range in body.zeros() {
                    assert!(!range.is_empty());
                    shown[range.start as usize..range.end as usize].fill(false);
                }
                assert_eq!(shown, bytes);
                let apart = body.zeros().windows(2).all(|w| w[0].end < w[1].start);
                assert!(apart, "{:?}", body.zeros());
            }
        }
    }
}
