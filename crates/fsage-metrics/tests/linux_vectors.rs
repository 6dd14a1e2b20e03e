//! Layout scores of the exact layouts that the Linux ext2 driver made, against the numbers recorded with them.
//!
//! Layouts: `tests/vectors/linux` (the small ones) and `../shared/vectors/linux` beside the project (all of them),
//! where that folder is present.

use flate2::read::GzDecoder;
use fsage_core::snapshot::{Inode, SnapshotInfo};
use fsage_core::{Extent, FileKind, LayoutInMemory};
use fsage_metrics::{LayoutScore, measure};
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

const BLOCK: u64 = 4096;

fn folder(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

/// The layout of a vector: `ID DIR BYTES EXTENTS`, in blocks; `#dir D INO` gives directories.
fn layout(path: &Path) -> LayoutInMemory {
    let mut text = String::new();
    let packed = File::open(path).expect("a vector");
    GzDecoder::new(packed)
        .read_to_string(&mut text)
        .expect("gzip over text");
    let mut inodes = Vec::new();
    let mut directories = Vec::new();
    for line in text.lines() {
        if let Some(directory) = line.strip_prefix("#dir ") {
            let numbers: Vec<u64> = directory.split(' ').map(number).collect();
            directories.push(numbers[1]);
            inodes.push(Inode::new(numbers[1], None, FileKind::Directory, BLOCK));
        }
        if line.starts_with('#') {
            continue;
        }
        let fields: Vec<&str> = line.split('\t').collect();
        let extents = fields[3].split_whitespace().map(|extent| {
            let blocks: Vec<u64> = extent.split(':').map(number).collect();
            Extent {
                logical_bytes: blocks[0] * BLOCK,
                physical_bytes: blocks[1] * BLOCK,
                length_bytes: blocks[2] * BLOCK,
                flags: 0,
            }
        });
        let ino = 1_000_000 + number(fields[0]);
        inodes.push(Inode {
            parent_ino: Some(directories[number(fields[1]) as usize]),
            extents: Some(extents.collect()),
            ..Inode::new(ino, None, FileKind::Regular, number(fields[2]))
        });
    }
    let info = SnapshotInfo {
        block_bytes: Some(BLOCK as u32),
        ..SnapshotInfo::default()
    };
    LayoutInMemory {
        geometry: info.geometry(),
        space: None,
        inodes,
        names: Vec::new(),
        free: None,
    }
}

fn number(word: &str) -> u64 {
    word.parse().expect("a number")
}

/// What is recorded of a vector: the score to five digits, files with a break of those with two blocks or more,
/// extents, live files and blocks.
struct Recorded {
    name: &'static str,
    score: &'static str,
    broken: u64,
    of: u64,
    extents: u64,
    files: u64,
    blocks: u64,
}

const fn recorded(
    name: &'static str,
    score: &'static str,
    [broken, of, extents, files, blocks]: [u64; 5],
) -> Recorded {
    Recorded {
        name,
        score,
        broken,
        of,
        extents,
        files,
        blocks,
    }
}

const VECTORS: [Recorded; 4] = [
    recorded("s5", "0.90909", [2, 2, 5, 2, 35]),
    recorded("s2k", "0.93396", [310, 871, 1777, 1348, 7844]),
    recorded("s50k", "0.93220", [8099, 22_167, 45_262, 33_781, 203_124]),
    recorded("s50k_b", "0.93212", [8072, 22_167, 45_276, 33_781, 203_124]),
];

fn assert_recorded(folder: &Path, recorded: &Recorded) {
    let name = recorded.name;
    let m = measure(&layout(&folder.join(format!("ext2_{name}.tsv.gz"))));
    assert_eq!(
        format!("{:.5}", m.layout().value()),
        recorded.score,
        "{name}"
    );
    let counts = [
        m.sums.pieces.fragmented_files,
        m.sums.layout_score.files,
        m.sums.pieces.pieces,
        m.sums.files.regular,
        m.sums.pieces.data_bytes / BLOCK,
    ];
    let wanted = [
        recorded.broken,
        recorded.of,
        recorded.extents,
        recorded.files,
        recorded.blocks,
    ];
    assert_eq!(counts, wanted, "{name}");
    // Every block but the first is a step of the walk; breaks within files are known.
    assert_eq!(m.order.dynamic.scored, recorded.blocks - 1, "{name}");
    assert!(m.order.dynamic.optimal >= m.layout().optimal, "{name}");
}

#[test]
fn small_vectors_have_the_recorded_scores() {
    for recorded in &VECTORS[..2] {
        assert_recorded(&folder("tests/vectors/linux"), recorded);
    }
    let s5 = measure(&layout(&folder("tests/vectors/linux/ext2_s5.tsv.gz"))).layout();
    let exact = LayoutScore {
        optimal: 30,
        scored: 33,
    };
    assert_eq!(s5, exact);
}

#[test]
fn all_vectors_have_the_recorded_scores() {
    let shared = folder("../shared/vectors/linux");
    if !shared.is_dir() {
        writeln!(
            std::io::stderr(),
            "skipped: {} is not there",
            shared.display()
        )
        .expect("stderr");
        return;
    }
    for recorded in &VECTORS {
        assert_recorded(&shared, recorded);
    }
}
