//! The part of the page map that a controller without memory for all of it holds (DFTL).

/// Pages of a segment: 4 MB of data have 4 KB of map.
const SEGMENT_PAGES: u32 = 1024;
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Segment {
    before: u32,
    behind: u32,
    held: bool,
    dirty: bool,
}

/// A segment that was not held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Miss {
    pub segment: u32,
    /// A changed segment that had to leave for it.
    pub written: Option<u32>,
}

/// Segments in the order of their use.
#[derive(Clone, Debug)]
pub(super) struct MappingCache {
    segments: Vec<Segment>,
    /// The one used last, and the one not used for longest.
    ends: [u32; 2],
    room: u32,
}

impl MappingCache {
    /// Room for so many segments of a map of so many pages, none of them held.
    pub fn new(room: u32, pages: u32) -> MappingCache {
        let empty = Segment {
            before: NONE,
            behind: NONE,
            held: false,
            dirty: false,
        };
        MappingCache {
            segments: vec![empty; pages.div_ceil(SEGMENT_PAGES) as usize],
            ends: [NONE; 2],
            room,
        }
    }

    /// Segments of a range of pages.
    pub fn segments(first: u32, last: u32) -> std::ops::RangeInclusive<u32> {
        first / SEGMENT_PAGES..=last / SEGMENT_PAGES
    }

    /// Uses a segment, and says if it was not held.
    pub fn touch(&mut self, segment: u32, change: bool) -> Option<Miss> {
        let held = self.segments[segment as usize].held;
        let mut written = None;
        if held {
            self.unlink(segment);
        } else if self.room == 0 {
            let oldest = self.ends[1];
            self.unlink(oldest);
            let left = &mut self.segments[oldest as usize];
            left.held = false;
            written = std::mem::take(&mut left.dirty).then_some(oldest);
        } else {
            self.room -= 1;
        }
        let newest = std::mem::replace(&mut self.ends[0], segment);
        if newest == NONE {
            self.ends[1] = segment;
        } else {
            self.segments[newest as usize].before = segment;
        }
        let entry = &mut self.segments[segment as usize];
        (entry.before, entry.behind) = (NONE, newest);
        entry.held = true;
        entry.dirty |= change;
        (!held).then_some(Miss { segment, written })
    }

    fn unlink(&mut self, segment: u32) {
        let Segment { before, behind, .. } = self.segments[segment as usize];
        match before {
            NONE => self.ends[0] = behind,
            _ => self.segments[before as usize].behind = behind,
        }
        match behind {
            NONE => self.ends[1] = before,
            _ => self.segments[behind as usize].before = before,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_segment_that_leaves_is_the_one_not_used_for_longest(
            room in 1_u32..6,
            touches in prop::collection::vec((0_u32..9, any::<bool>()), 1..200),
        ) {
            let mut cache = MappingCache::new(room, 9 * SEGMENT_PAGES);
            // The newest first, with whether it was changed.
            let mut held: Vec<(u32, bool)> = Vec::new();
            for (segment, change) in touches {
                let found = held.iter().position(|&(s, _)| s == segment);
                let mut entry = (segment, change);
                let expected = if let Some(at) = found {
                    entry.1 |= held.remove(at).1;
                    None
                } else {
                    let left = if held.len() == room as usize { held.pop() } else { None };
                    let written = left.filter(|&(_, dirty)| dirty).map(|(s, _)| s);
                    Some(Miss { segment, written })
                };
                held.insert(0, entry);
                prop_assert_eq!(cache.touch(segment, change), expected);
            }
        }
    }
}
