//! What `debugfs` says of inodes.

use super::feed;
use fsage_core::{Extent, FileKind};
use std::collections::BTreeMap;
use std::path::Path;

/// What `stat` says of an inode.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Stat {
    pub ino: u64,
    pub kind: Option<FileKind>,
    pub permissions: u32,
    pub generation: u32,
    pub size_bytes: u64,
    pub uid: u32,
    pub gid: u32,
    pub links: u32,
    pub sectors: u64,
    pub ctime_ns: i64,
    pub mtime_ns: i64,
    pub crtime_ns: Option<i64>,
    /// Data, merged, then pointer blocks, in its order.
    pub extents: Vec<Extent>,
}

/// Says `stat` of many inodes in one run.
pub fn stat(image: &Path, inodes: &[u64], block_bytes: u64) -> Vec<Stat> {
    let commands: Vec<String> = inodes.iter().map(|ino| format!("stat <{ino}>\n")).collect();
    let text = feed(
        "debugfs",
        &["-f", "-", image.to_str().unwrap()],
        &commands.concat(),
    );
    let texts = text.split("debugfs: stat ").skip(1);
    texts.map(|text| parse(text, block_bytes)).collect()
}

/// Paths of inodes, without the leading slash, as raw text.
pub fn ncheck(image: &Path, inodes: &[u64]) -> BTreeMap<u64, Vec<String>> {
    let mut paths: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    // A line of commands has a bounded length.
    for inodes in inodes.chunks(1000) {
        let numbers: Vec<String> = inodes.iter().map(u64::to_string).collect();
        let command = format!("ncheck {}\n", numbers.join(" "));
        let text = feed("debugfs", &["-f", "-", image.to_str().unwrap()], &command);
        for line in text.lines() {
            let Some((ino, path)) = line.split_once('\t') else {
                continue;
            };
            if let Ok(ino) = ino.parse() {
                let path = path.trim_start_matches('/').to_owned();
                paths.entry(ino).or_default().push(path);
            }
        }
    }
    for paths in paths.values_mut() {
        paths.sort();
    }
    paths
}

fn parse(text: &str, block_bytes: u64) -> Stat {
    let word = |name: &str| {
        let (_, rest) = text.split_once(name)?;
        rest.split_whitespace().next()
    };
    let number = |name: &str| -> u64 { word(name).unwrap().parse().unwrap() };
    let kind = match word("Type:").unwrap() {
        "regular" => Some(FileKind::Regular),
        "directory" => Some(FileKind::Directory),
        "symlink" => Some(FileKind::Symlink),
        "FIFO" => Some(FileKind::Fifo),
        "socket" => Some(FileKind::Socket),
        "block" => Some(FileKind::BlockDevice),
        "character" => Some(FileKind::CharDevice),
        _ => None,
    };
    let time = |name: &str| {
        let mut lines = text.lines();
        let line = lines.find_map(|line| line.trim_start().strip_prefix(name))?;
        let word = line.split_whitespace().next()?;
        let (seconds, extra) = word.split_once(':').unwrap_or((word, "0"));
        let seconds = u32::from_str_radix(seconds.strip_prefix("0x")?, 16).ok()? as i32;
        let extra = u32::from_str_radix(extra, 16).ok()?;
        let seconds = i64::from(seconds) + (i64::from(extra & 3) << 32);
        Some(seconds * 1_000_000_000 + i64::from(extra >> 2))
    };
    Stat {
        ino: number("Inode: "),
        kind,
        permissions: u32::from_str_radix(word("Mode: ").unwrap(), 8).unwrap(),
        generation: number("Generation: ") as u32,
        size_bytes: number(" Size: "),
        uid: number("User: ") as u32,
        gid: number("Group: ") as u32,
        links: number("Links: ") as u32,
        sectors: number("Blockcount: "),
        ctime_ns: time("ctime: ").unwrap(),
        mtime_ns: time("mtime: ").unwrap(),
        crtime_ns: time("crtime: "),
        extents: extents(text, block_bytes),
    }
}

/// `(0-11):2079-2090, (IND):1626, (12-15[u]):2091-2094`.
fn extents(text: &str, block_bytes: u64) -> Vec<Extent> {
    let list = text
        .split_once("\nEXTENTS:\n")
        .or_else(|| text.split_once("\nBLOCKS:\n"));
    let list = list.map_or("", |(_, list)| list.lines().next().unwrap_or_default());
    let (mut data, mut pointers) = (Vec::<Extent>::new(), Vec::new());
    for item in list.split(", ").filter(|item| !item.is_empty()) {
        let (place, blocks) = item.split_once("):").unwrap();
        let place = place.strip_prefix('(').unwrap();
        let (first, last) = range(blocks);
        let physical_bytes = first * block_bytes;
        let length_bytes = (last - first + 1) * block_bytes;
        if place.starts_with(|c: char| c.is_ascii_alphabetic()) {
            pointers.push(Extent {
                logical_bytes: Extent::POINTERS_AT,
                physical_bytes,
                length_bytes,
                flags: Extent::POINTERS,
            });
            continue;
        }
        let flags = if place.ends_with("[u]") {
            Extent::UNWRITTEN
        } else {
            0
        };
        let logical_bytes = range(place.trim_end_matches("[u]")).0 * block_bytes;
        match data.last_mut() {
            Some(e)
                if e.flags == flags
                    && e.logical_bytes + e.length_bytes == logical_bytes
                    && e.physical_bytes + e.length_bytes == physical_bytes =>
            {
                e.length_bytes += length_bytes;
            }
            _ => data.push(Extent {
                logical_bytes,
                physical_bytes,
                length_bytes,
                flags,
            }),
        }
    }
    data.append(&mut pointers);
    data
}

fn range(text: &str) -> (u64, u64) {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    (first.parse().unwrap(), last.parse().unwrap())
}
