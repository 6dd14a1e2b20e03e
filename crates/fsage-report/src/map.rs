//! The map of a disk, day by day, as the page carries it.
//!
//! A map is JSON with two parts in zlib and base64: the frames, as [`encode`] writes them, and the last day in full,
//! as a sequence of varints (seven bits a byte, the lowest first; a signed number as 2 n, or -2 n - 1 if it is
//! negative). All addresses and lengths are in `unit_bytes`:
//!
//! ```text
//! runs of free space: how many, then of each: from the end of the one before, length
//! files: how many, then of each: inode, size in bytes, kind (0 file, 1 link, 2 directory, 3 other),
//!        path length and bytes, extents: how many, then of each:
//!        signed place on disk from the end of the one before, length, 2 x gap in the file + 1 where it holds pointers
//! ```
//!
//! A map takes no more than the bytes that it is given: every second frame goes until the frames fit into three fifths
//! of them, and the last day has as many files as fit into the rest, those first that have most bytes and most pieces.
//! What was left out is said on the page.

use crate::payload::script_safe;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use fsage_metrics::block_map::{Frame, Grid, encode, thin};
use serde::Serialize;
use serde_json::json;
use std::cmp::Reverse;
use std::io::Write as _;

/// Bytes that all maps of a page may take, if nothing else is said.
pub const PAGE_BYTES: usize = 1_400_000;

/// The disk of a target, ready for the page.
#[derive(Clone, Debug, Default, Serialize)]
pub struct BlockMap {
    /// The target, by its place in [`Report::targets`](crate::Report::targets).
    pub target: usize,
    /// JSON that may stand in a `script` element.
    json: String,
    /// Days that it shows.
    days: usize,
    /// Not all of the disk fits in.
    is_cut: bool,
}

/// The maps of a page, which take no more than about so many bytes together: each its share, and those that need more
/// what others leave.
pub fn fit(disks: Vec<Disk>, max_bytes: usize) -> Vec<BlockMap> {
    let share = max_bytes / disks.len().max(1);
    let maps = disks.into_iter().map(|disk| {
        let map = BlockMap::new(disk.clone(), share);
        let is_cut = map.is_cut;
        (map, is_cut.then_some(disk))
    });
    let maps: Vec<(BlockMap, Option<Disk>)> = maps.collect();
    let cut = maps.iter().filter(|(map, _)| map.is_cut).count();
    let whole = maps.iter().filter(|(map, _)| !map.is_cut);
    let spare: usize = whole
        .map(|(map, _)| share.saturating_sub(map.json.len()))
        .sum();
    let maps = maps.into_iter().map(|(map, disk)| match disk {
        Some(disk) if spare > 0 => BlockMap::new(disk, share + spare / cut),
        _ => map,
    });
    maps.collect()
}

/// What a map is made of.
#[derive(Clone, Debug)]
pub struct Disk {
    /// The target, by its place in [`Report::targets`](crate::Report::targets).
    pub target: usize,
    /// What a group is called: `cylinder group`.
    pub group: &'static str,
    /// It holds a log, whose groups are filled one after another.
    pub is_log: bool,
    /// How the disk is cut.
    pub grid: Grid,
    /// The frames, ascending by day.
    pub frames: Vec<Frame>,
    /// Every day of the run, from day 0, those without a frame too.
    pub days: Vec<DayFacts>,
    /// The last day in full, where it is known.
    pub last: Option<LastDay>,
}

/// What is said of a day beside its map.
#[derive(Clone, Debug, Default)]
pub struct DayFacts {
    /// Its label in the workload.
    pub label: String,
    /// Share of the data space in use.
    pub utilization: Option<f64>,
    /// Aggregate layout score.
    pub layout_score: Option<f64>,
}

/// All that lies on the disk at the end.
#[derive(Clone, Debug, Default)]
pub struct LastDay {
    /// Runs of free space as (start, length) in bytes, ascending; `None` where they are not known.
    pub free: Option<Vec<(u64, u64)>>,
    /// Files with their extents.
    pub files: Vec<File>,
}

/// A file on the last day.
#[derive(Clone, Debug, Default)]
pub struct File {
    /// Inode number.
    pub ino: u64,
    /// Length.
    pub size_bytes: u64,
    /// What it is.
    pub kind: Kind,
    /// Path from the root, where it is known.
    pub path: Option<String>,
    /// Where it lies.
    pub extents: Vec<Piece>,
}

/// What an inode is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    #[default]
    Regular,
    /// A symbolic link.
    Link,
    /// A directory.
    Directory,
    /// A pipe, a socket, a device.
    Other,
}

/// A run of a file on disk. Bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Piece {
    /// Where it starts on disk.
    pub physical_bytes: u64,
    /// Its length.
    pub length_bytes: u64,
    /// Where it starts in the file; `None` for blocks of pointers.
    pub logical_bytes: Option<u64>,
}

impl BlockMap {
    /// A map that takes at most about so many bytes of the page.
    pub fn new(disk: Disk, max_bytes: usize) -> BlockMap {
        let Disk {
            target,
            group,
            is_log,
            grid,
            mut frames,
            days,
            last,
        } = disk;
        let kept = frames.len();
        let frames_base64 = fit_frames(&mut frames, max_bytes / 5 * 3);
        let rest = max_bytes.saturating_sub(frames_base64.len());
        let files = last.as_ref().map_or(0, |last| last.files.len());
        let facts = |frame: &Frame| days.get(frame.day as usize).cloned().unwrap_or_default();
        let facts: Vec<DayFacts> = frames.iter().map(facts).collect();
        let last = last.map(|last| last.json(rest / 4 * 3));
        let json = json!({
            "target": target,
            "size_bytes": grid.size_bytes,
            "block_bytes": grid.block_bytes,
            "cell_bytes": grid.cell_bytes,
            "band_bytes": grid.band_bytes,
            "groups_per_band": grid.groups_per_band,
            "cells_per_band": grid.cells_per_band,
            "cells": grid.cells,
            "group": group,
            "logs": is_log,
            "kept": kept,
            "days": frames.iter().map(|f| f.day).collect::<Vec<_>>(),
            "labels": facts.iter().map(|f| &*f.label).collect::<Vec<_>>(),
            "utilization": facts.iter().map(|f| f.utilization).collect::<Vec<_>>(),
            "layout_score": facts.iter().map(|f| f.layout_score).collect::<Vec<_>>(),
            "frames": frames_base64,
            "last": last,
        });
        let shown = &json["last"]["files"];
        BlockMap {
            target,
            days: frames.len(),
            is_cut: frames.len() < kept || shown.as_u64().unwrap_or(0) < files as u64,
            json: script_safe(&json.to_string()),
        }
    }
}

/// The frames in zlib and base64. Every second goes until they fit; the first and the last stay.
fn fit_frames(frames: &mut Vec<Frame>, max_bytes: usize) -> String {
    loop {
        let text = base64(&compressed(&encode(frames)));
        if text.len() <= max_bytes || frames.len() <= 2 {
            return text;
        }
        let last = frames.last().map(|frame| frame.day);
        let stay: Vec<u32> = frames.iter().step_by(2).map(|frame| frame.day).collect();
        thin(frames, |frame| {
            Some(frame.day) == last || stay.binary_search(&frame.day).is_ok()
        });
    }
}

impl LastDay {
    /// As much as fits into so many compressed bytes.
    fn json(mut self, max_bytes: usize) -> serde_json::Value {
        let unit_bytes = self.unit_bytes();
        let in_all = self.files.len();
        self.sort_by_weight();
        let coded = |files: usize| compressed(&self.encode(files, unit_bytes));
        let (mut fits, mut bytes) = (in_all, coded(in_all));
        if bytes.len() > max_bytes {
            // Compressed sizes grow with the files but for a few bytes, which the last step looks at.
            let (mut low, mut high) = (0, in_all);
            while low + 1 < high {
                let files = usize::midpoint(low, high);
                let trial = coded(files);
                if trial.len() <= max_bytes {
                    (low, bytes) = (files, trial);
                } else {
                    high = files;
                }
            }
            fits = low;
            if low == 0 {
                return serde_json::Value::Null;
            }
        }
        json!({
            "unit_bytes": unit_bytes,
            "free_known": self.free.is_some(),
            "files": fits,
            "files_in_all": in_all,
            "data": base64(&bytes),
        })
    }

    /// The largest power of two that divides every address and length, at most 64 KiB.
    fn unit_bytes(&self) -> u64 {
        let free = self.free.iter().flatten();
        let free = free.map(|&(start, length)| start | length);
        let pieces = self.files.iter().flat_map(|file| &file.extents);
        let pieces =
            pieces.map(|e| e.physical_bytes | e.length_bytes | e.logical_bytes.unwrap_or(0));
        let bits = free.chain(pieces).fold(1 << 16, |bits, n| bits | n);
        1 << bits.trailing_zeros()
    }

    /// Files with most bytes and most pieces first.
    fn sort_by_weight(&mut self) {
        let bytes = |file: &File| {
            let lengths = file.extents.iter().map(|e| u128::from(e.length_bytes));
            lengths.sum::<u128>()
        };
        let all_bytes: u128 = self.files.iter().map(bytes).sum();
        let all_pieces: u128 = self.files.iter().map(|f| f.extents.len() as u128).sum();
        self.files.sort_by_cached_key(|file| {
            let pieces = file.extents.len() as u128;
            let weight = (bytes(file).saturating_mul(all_pieces))
                .saturating_add(pieces.saturating_mul(all_bytes));
            (Reverse(weight), file.ino)
        });
    }

    /// The first of the files, in the order of their places on disk.
    fn encode(&self, files: usize, unit_bytes: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        let units = |n: u64| n / unit_bytes;
        let free = self.free.as_deref().unwrap_or_default();
        push(&mut bytes, free.len() as u64);
        let mut end = 0;
        for &(start, length) in free {
            push(&mut bytes, units(start).wrapping_sub(end));
            push(&mut bytes, units(length));
            end = units(start).saturating_add(units(length));
        }
        let mut files: Vec<&File> = self.files[..files].iter().collect();
        files.sort_by_key(|file| (file.extents.first().map(|e| e.physical_bytes), file.ino));
        push(&mut bytes, files.len() as u64);
        let mut end = 0;
        for file in files {
            push(&mut bytes, file.ino);
            push(&mut bytes, file.size_bytes);
            push(&mut bytes, file.kind as u64);
            let path = harmless(file.path.as_deref().unwrap_or_default());
            push(&mut bytes, path.len() as u64);
            bytes.extend(path.as_bytes());
            push(&mut bytes, file.extents.len() as u64);
            let mut logical_end = 0;
            for extent in &file.extents {
                push_signed(&mut bytes, units(extent.physical_bytes).wrapping_sub(end));
                push(&mut bytes, units(extent.length_bytes));
                end = units(extent.physical_bytes).wrapping_add(units(extent.length_bytes));
                push(
                    &mut bytes,
                    match extent.logical_bytes.map(units) {
                        Some(logical) => {
                            let gap = logical.saturating_sub(logical_end);
                            logical_end = logical.saturating_add(units(extent.length_bytes));
                            gap.wrapping_mul(2)
                        }
                        None => 1,
                    },
                );
            }
        }
        bytes
    }
}

/// A path in which nothing moves the text beside it: control characters and those that set the direction of writing
/// are shown as what they are.
fn harmless(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for c in path.chars() {
        let steers = matches!(c,
            '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{61c}');
        if c.is_control() || steers {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

fn push(bytes: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        bytes.push(n as u8 | 0x80);
        n >>= 7;
    }
    bytes.push(n as u8);
}

fn push_signed(bytes: &mut Vec<u8>, n: u64) {
    let n = n as i64;
    push(bytes, (n << 1 ^ n >> 63) as u64);
}

fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut zlib = ZlibEncoder::new(Vec::new(), Compression::best());
    zlib.write_all(bytes)
        .and_then(|()| zlib.finish())
        .expect("memory takes what is written to it")
}

/// RFC 4648, section 4.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let bits = (0..3).fold(0, |bits, i| {
            bits << 8 | u32::from(three.get(i).copied().unwrap_or(0))
        });
        for i in 0..4 {
            text.push(if i <= three.len() {
                LETTERS[(bits >> (18 - 6 * i) & 63) as usize].into()
            } else {
                '='
            });
        }
    }
    text
}

#[cfg(test)]
mod tests;
