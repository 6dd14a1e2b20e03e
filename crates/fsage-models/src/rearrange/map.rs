//! From the addresses of a file system to those of the disk, and all that is said in addresses with them.

use fsage_core::io::{BlockMap, Buffer, BufferId, Io};
use fsage_core::{Extent, Run};
use std::ops::Range;

/// Where a file system's addresses lie on the disk.
pub(super) trait Map {
    /// The address on the disk of byte `at` of the file system, and how many of `bytes` from there on lie contiguously;
    /// at least 1. No block of the file system is cut.
    fn piece(&self, at: u64, bytes: u64) -> (u64, u64);

    /// The number that a host knows a file's buffers by.
    fn number(&self, ino: u64) -> u64 {
        ino
    }

    /// The pieces of a range: start in the range, start on the disk, length.
    fn pieces(&self, start: u64, bytes: u64) -> impl Iterator<Item = (u64, u64, u64)> {
        let mut done = 0;
        std::iter::from_fn(move || {
            let left = bytes - done;
            (left > 0).then(|| {
                let (disk, here) = self.piece(start + done, left);
                let piece = (done, disk, here);
                done += here;
                piece
            })
        })
    }

    /// A buffer on the disk. Blocks of the device keep the address in the file system as their name.
    fn buffer(&self, buffer: Buffer) -> Buffer {
        let id = match buffer.id {
            BufferId::Data { ino, lbn } => BufferId::Data {
                ino: self.number(ino),
                lbn,
            },
            BufferId::Pointers { ino, index } => BufferId::Pointers {
                ino: self.number(ino),
                index,
            },
            BufferId::Device { start_bytes } => BufferId::Device {
                start_bytes: self.device(start_bytes),
            },
        };
        let (start_bytes, _) = self.piece(buffer.start_bytes, buffer.bytes.into());
        Buffer {
            id,
            start_bytes,
            ..buffer
        }
    }

    /// What names a block of the device: its address, which differs from that of any other file system on the disk.
    fn device(&self, start_bytes: u64) -> u64 {
        start_bytes
    }

    /// All that a model emits.
    fn list(&self, io: Vec<Io>, emitted: &mut Vec<Io>) {
        for io in io {
            self.io(io, emitted);
        }
    }

    /// One thing of it.
    fn io(&self, io: Io, emitted: &mut Vec<Io>) {
        emitted.push(match io {
            Io::Need(buffer) => Io::Need(self.buffer(buffer)),
            Io::NeedGroup(buffer, group) => {
                Io::NeedGroup(self.buffer(buffer), self.group(&buffer, group))
            }
            Io::Modify(buffer, flush) => Io::Modify(self.buffer(buffer), flush),
            Io::Fill(buffer, flush) => Io::Fill(self.buffer(buffer), flush),
            Io::Place(buffer) => Io::Place(self.buffer(buffer)),
            Io::Assign(buffer) => Io::Assign(self.buffer(buffer)),
            Io::Push { ino, first, last } => Io::Push {
                ino: self.number(ino),
                first,
                last,
            },
            Io::Discard { ino, from } => Io::Discard {
                ino: self.number(ino),
                from,
            },
            Io::Forget(id) => Io::Forget(match id {
                BufferId::Data { ino, lbn } => BufferId::Data {
                    ino: self.number(ino),
                    lbn,
                },
                BufferId::Pointers { ino, index } => BufferId::Pointers {
                    ino: self.number(ino),
                    index,
                },
                BufferId::Device { start_bytes } => BufferId::Device {
                    start_bytes: self.device(start_bytes),
                },
            }),
            Io::Raw {
                write,
                start_bytes,
                bytes,
                wait,
            } => {
                let pieces = self.pieces(start_bytes, bytes);
                emitted.extend(pieces.map(|(_, start_bytes, bytes)| Io::Raw {
                    write,
                    start_bytes,
                    bytes,
                    wait,
                }));
                return;
            }
            Io::Swapped { places, bytes } => Io::Swapped { places, bytes },
            Io::Copy { bytes } => Io::Copy { bytes },
            Io::Work(work) => Io::Work(work),
            Io::Flush => Io::Flush,
        });
    }

    /// The part of a group that lies contiguously around a buffer.
    fn group(&self, buffer: &Buffer, (start, bytes): (u64, u64)) -> (u64, u64) {
        let around = self.pieces(start, bytes).find(|&(from, _, here)| {
            (start + from..start + from + here).contains(&buffer.start_bytes)
        });
        around.map_or((start, 0), |(_, disk, here)| (disk, here))
    }

    /// Where a block of a file lies.
    fn block_map(&self, map: BlockMap, block_bytes: u32) -> BlockMap {
        let block_bytes = u64::from(block_bytes);
        let following = map.buffer.map_or(0, |buffer| {
            let bytes = (u64::from(map.following) + 1) * block_bytes;
            let (_, here) = self.piece(buffer.start_bytes, bytes);
            (here.div_ceil(block_bytes) as u32).max(1) - 1
        });
        BlockMap {
            buffer: map.buffer.map(|buffer| self.buffer(buffer)),
            following: following.min(map.following),
            pointers: map.pointers.map(|p| p.map(|buffer| self.buffer(buffer))),
            group: map
                .group
                .zip(map.buffer)
                .map(|(group, buffer)| self.group(&buffer, group)),
        }
    }

    /// The extents of a file, into a list: maximal, in the order of the file.
    fn extents(&self, extents: &[Extent], list: &mut Vec<Extent>) {
        list.clear();
        for extent in extents {
            for (from, physical_bytes, length_bytes) in
                self.pieces(extent.physical_bytes, extent.length_bytes)
            {
                let logical_bytes = if extent.is_pointers() {
                    Extent::POINTERS_AT
                } else {
                    extent.logical_bytes + from
                };
                match list.last_mut() {
                    Some(last)
                        if last.flags == extent.flags
                            && last.physical_bytes + last.length_bytes == physical_bytes
                            && !extent.is_pointers()
                            && last.logical_bytes + last.length_bytes == logical_bytes =>
                    {
                        last.length_bytes += length_bytes;
                    }
                    _ => list.push(Extent {
                        logical_bytes,
                        physical_bytes,
                        length_bytes,
                        flags: extent.flags,
                    }),
                }
            }
        }
    }

    /// A run of free space, into a list of them.
    fn run(&self, run: Run, list: &mut Vec<Run>) {
        let pieces = self.pieces(run.start_bytes, run.length_bytes);
        list.extend(pieces.map(|(_, start_bytes, length_bytes)| Run {
            start_bytes,
            length_bytes,
        }));
    }
}

/// Free space in the order of the disk, runs that touch joined.
pub(super) fn in_order(runs: &mut [Run], visit: &mut dyn FnMut(Run)) {
    runs.sort_unstable_by_key(|run| run.start_bytes);
    let mut open: Option<Run> = None;
    for &run in &*runs {
        match &mut open {
            Some(last) if last.start_bytes + last.length_bytes == run.start_bytes => {
                last.length_bytes += run.length_bytes;
            }
            _ => {
                if let Some(done) = open.replace(run) {
                    visit(done);
                }
            }
        }
    }
    if let Some(last) = open {
        visit(last);
    }
}

/// The disk around a file system that has no place in the middle: what lies behind the middle follows what lies before
/// it.
#[derive(Clone, Debug)]
pub(super) struct Around {
    /// The middle.
    pub middle: Range<u64>,
}

impl Map for Around {
    fn piece(&self, at: u64, bytes: u64) -> (u64, u64) {
        let Range { start, end } = self.middle;
        if at < start {
            (at, bytes.min(start - at))
        } else {
            (at + (end - start), bytes)
        }
    }
}

/// The middle of the disk, with a file system of its own.
#[derive(Clone, Debug)]
pub(super) struct Middle {
    /// Where it starts.
    pub start_bytes: u64,
}

/// Bit of the numbers of files in the middle: no inode of another file system has it.
const IN_MIDDLE: u64 = 1 << 63;

impl Map for Middle {
    fn piece(&self, at: u64, bytes: u64) -> (u64, u64) {
        (at + self.start_bytes, bytes)
    }

    fn number(&self, ino: u64) -> u64 {
        ino | IN_MIDDLE
    }

    fn device(&self, start_bytes: u64) -> u64 {
        start_bytes | IN_MIDDLE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AROUND: Around = Around { middle: 1000..1100 };

    #[test]
    fn a_range_across_the_middle_is_two_pieces() {
        let pieces: Vec<_> = AROUND.pieces(990, 30).collect();
        assert_eq!(pieces, [(0, 990, 10), (10, 1100, 20)]);
        assert_eq!(AROUND.piece(1000, 5), (1100, 5));
    }

    #[test]
    fn extents_that_the_middle_cuts_are_two_and_runs_that_touch_are_one() {
        let extent = |logical_bytes, physical_bytes, length_bytes| Extent {
            logical_bytes,
            physical_bytes,
            length_bytes,
            flags: 0,
        };
        let mut list = Vec::new();
        AROUND.extents(&[extent(0, 960, 80), extent(80, 500, 40)], &mut list);
        let expected = [
            extent(0, 960, 40),
            extent(40, 1100, 40),
            extent(80, 500, 40),
        ];
        assert_eq!(list, expected);
        let run = |start_bytes, length_bytes| Run {
            start_bytes,
            length_bytes,
        };
        let mut seen = Vec::new();
        in_order(&mut [run(20, 5), run(0, 10), run(10, 10)], &mut |run| {
            seen.push(run);
        });
        assert_eq!(seen, [run(0, 25)]);
    }

    #[test]
    fn blocks_that_follow_end_at_the_middle() {
        let buffer = Buffer {
            id: BufferId::Data { ino: 7, lbn: 0 },
            start_bytes: 960,
            bytes: 10,
        };
        let map = BlockMap {
            buffer: Some(buffer),
            following: 9,
            ..BlockMap::default()
        };
        assert_eq!(AROUND.block_map(map, 10).following, 3);
        let middle = Middle { start_bytes: 1000 };
        let there = middle.block_map(map, 10);
        assert_eq!(there.following, 9);
        let buffer = there.buffer.unwrap();
        assert_eq!(buffer.start_bytes, 1960);
        assert_ne!(buffer.id.ino(), Some(7));
    }
}
