//! Fidelity: in mode ext2 every extent of every file and every free run is where the Linux ext2 driver put it.
//!
//! Expected: what the driver of Linux 6.1 did, in `tests/vectors/linux` (the small scripts, part of the project) and in
//! `../shared/vectors/linux` beside the project (all of them), where that folder is present.

use flate2::read::GzDecoder;
use fsage_core::{DirId, Extent, FileId, FileKind, FileSystem, Layout, Op, Outcome};
use fsage_models::ext3::{Ext3, Mode, Params};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};

const BLOCK: u64 = 4096;
const INODES_PER_GROUP: u32 = 8192;

/// A file of the vectors: from the repository, or else from the folder beside it.
fn find(name: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    ["tests/vectors/linux", "../shared/vectors/linux"]
        .iter()
        .map(|folder| root.join(folder).join(name))
        .find(|path| path.exists())
}

fn unpack(path: &Path) -> String {
    let mut text = String::new();
    GzDecoder::new(File::open(path).expect("a vector"))
        .read_to_string(&mut text)
        .expect("gzip over text");
    text
}

/// The text of a compressed vector; says so where it is not there.
fn read(name: &str) -> Option<String> {
    let path = find(name);
    if path.is_none() {
        // Straight to stderr, which the test runner does not capture.
        let _ = writeln!(
            std::io::stderr(),
            "skipped: {name} is not beside the project; the small ones run"
        );
    }
    Some(unpack(&path?))
}

fn op(line: &str) -> Op {
    let mut words = line.split(' ');
    let verb = words.next().expect("a verb");
    let n: Vec<u64> = words.map(|word| word.parse().expect("a number")).collect();
    match (verb, n.as_slice()) {
        ("mkdir", &[dir]) => Op::Mkdir {
            dir: DirId(dir),
            parent: None,
        },
        ("create", &[file, dir, bytes]) => Op::Create {
            file: FileId(file),
            dir: DirId(dir),
            bytes,
        },
        ("append", &[file, bytes]) => Op::Append {
            file: FileId(file),
            bytes,
        },
        ("truncate", &[file, bytes]) => Op::Truncate {
            file: FileId(file),
            bytes,
        },
        ("delete", &[file]) => Op::Delete { file: FileId(file) },
        ("day", &[_]) => Op::Day,
        _ => panic!("{line}"),
    }
}

/// The file system of the vectors: 1 GB, inodes of 256 bytes, 8192 of them in a group.
fn params(mode: Mode) -> Params {
    Params {
        mode,
        inode_bytes: 256,
        bytes_per_inode: 16_384,
        ..Params::default()
    }
}

/// The parameters that the head of a vector adds: process id, groups of the directories.
fn with_head(mut params: Params, vector: &str) -> Params {
    for line in vector.lines() {
        if let Some(pid) = line.strip_prefix("#pid ") {
            params.pid = pid.parse().expect("a number");
        }
        if let Some((_, ino)) = line.strip_prefix("#dir ").and_then(|d| d.split_once(' ')) {
            let ino: u32 = ino.parse().expect("a number");
            params.dir_groups.push((ino - 1) / INODES_PER_GROUP);
        }
    }
    params
}

/// Runs a script, with a check every so many operations.
fn run(params: Params, script: &str, check_every: usize) -> Ext3 {
    let mut fs = Ext3::new(params).expect("mke2fs takes it");
    let lines = script
        .lines()
        .filter(|l| !l.is_empty() && !l.starts_with('#'));
    for (i, line) in lines.enumerate() {
        assert_eq!(fs.apply(&op(line)), Ok(Outcome::Done), "{line}");
        if i % check_every == 0 {
            assert_eq!(fs.check(), Ok(()), "after {line}");
        }
    }
    assert_eq!(fs.check(), Ok(()));
    fs
}

/// The extents of all files by inode, in the form of the vectors.
fn extents(fs: &Ext3) -> BTreeMap<u64, String> {
    let mut all = BTreeMap::new();
    fs.visit_files(&mut |file| {
        if file.kind != FileKind::Regular {
            return;
        }
        let mut line = String::new();
        let placed = file.extents.unwrap_or_default().iter();
        for extent in placed.filter(|e| e.logical_bytes != Extent::POINTERS_AT) {
            let (logical, physical) = (extent.logical_bytes / BLOCK, extent.physical_bytes / BLOCK);
            let space = if line.is_empty() { "" } else { " " };
            let length = extent.length_bytes / BLOCK;
            write!(line, "{space}{logical}:{physical}:{length}").expect("a String takes it");
        }
        all.insert(file.ino, line);
    });
    all
}

/// The layout in the form of the vectors, in the order of the lines of one, without its head.
fn print(fs: &Ext3, vector: &str) -> Vec<String> {
    let extents = extents(fs);
    let lines = vector.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let mut fields = line.split('\t');
            let (id, dir) = (
                fields.next().expect("an id"),
                fields.next().expect("a directory"),
            );
            let file = FileId(id.parse().expect("a number"));
            let size = fs.file_size(file).expect("a live file");
            let ino = fs.inode(file).expect("a live file");
            format!("{id}\t{dir}\t{size}\t{}", extents[&ino])
        })
        .collect()
}

/// Free runs and counts of every group in the form of the vectors.
fn free(fs: &Ext3) -> Vec<String> {
    let mut runs = Vec::new();
    fs.visit_free(&mut |run| {
        let first = run.start_bytes / BLOCK;
        runs.push((first, first + run.length_bytes / BLOCK));
    });
    (0..8)
        .map(|group| {
            let (first, end) = (group * 32_768, (group + 1) * 32_768);
            let totals = fs.group_totals(group as u32);
            let inside = runs
                .iter()
                .map(|&(from, to)| (from.max(first), to.min(end)))
                .filter(|(from, to)| from < to)
                .map(|(from, to)| match to - 1 {
                    last if last == from => format!("{from}"),
                    last => format!("{from}-{last}"),
                });
            let inside: Vec<String> = inside.collect();
            let (last, inside) = (end - 1, inside.join(","));
            format!(
                "{group}\t{first}\t{last}\t{}\t{}\t{}\t{inside}",
                totals.free_blocks, totals.free_inodes, totals.directories
            )
        })
        .collect()
}

/// Free blocks of a file of the vectors: all columns but the free inodes.
fn expected_free(name: &str) -> Option<Vec<String>> {
    let text = std::fs::read_to_string(find(name)?).expect("a vector");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    Some(
        lines
            .map(|line| line.rsplit_once('\t').expect("columns").0.to_owned())
            .collect(),
    )
}

fn assert_same_lines(name: &str, got: &[String], expected: &[String]) {
    assert_eq!(got.len(), expected.len(), "{name}: lines");
    let different = got.iter().zip(expected).filter(|(g, e)| g != e).count();
    if let Some((g, e)) = got.iter().zip(expected).find(|(g, e)| g != e) {
        panic!("{name}: {different} lines differ, the first:\n got {g}\nwant {e}");
    }
}

fn same_as_the_driver(vector: &str, script: &str, check_every: usize) {
    let (Some(expected), Some(script)) = (
        read(&format!("ext2_{vector}.tsv.gz")),
        read(&format!("{script}.ops.gz")),
    ) else {
        return;
    };
    let fs = run(
        with_head(params(Mode::Ext2), &expected),
        &script,
        check_every,
    );
    let files: Vec<String> = expected
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(str::to_owned)
        .collect();
    assert_same_lines(vector, &print(&fs, &expected), &files);
    if let Some(expected) = expected_free(&format!("ext2_{vector}.free.tsv")) {
        assert_same_lines(&format!("{vector}, free"), &free(&fs), &expected);
    }
}

#[test]
fn a_fresh_file_system_is_that_of_mke2fs() {
    let fs = Ext3::new(params(Mode::Ext2)).expect("mke2fs takes it");
    let expected = expected_free("ext2_1g_fresh.tsv").expect("a vector of the repository");
    assert_same_lines("fresh", &free(&fs), &expected);
}

#[test]
fn s5_is_that_of_the_driver() {
    same_as_the_driver("s5", "s5", 1);
}

#[test]
fn s2k_is_that_of_the_driver() {
    same_as_the_driver("s2k", "s2k", 100);
}

#[test]
fn s50k_is_that_of_the_driver() {
    same_as_the_driver("s50k", "s50k", 10_000);
}

#[test]
fn s50k_in_other_groups_is_that_of_the_driver() {
    same_as_the_driver("s50k_b", "s50k", 10_000);
}

/// Layout score of the regular files to five digits, and their extents.
fn score(fs: &Ext3) -> (String, usize) {
    let block = u64::from(Layout::geometry(fs).block_bytes);
    let (mut optimal, mut scored) = (0, 0);
    fs.visit_files(&mut |file| {
        if file.kind == FileKind::Regular {
            let data = file.extents.into_iter().flatten();
            let mut before = None;
            for extent in data.filter(|extent| extent.is_placed_data()) {
                let blocks = extent.length_bytes.div_ceil(block);
                let follows = before == Some(extent.physical_bytes);
                optimal += blocks - 1 + u64::from(follows);
                scored += blocks - u64::from(before.is_none());
                before = Some(extent.physical_bytes + extent.length_bytes);
            }
        }
    });
    let extents = extents(fs);
    let pieces = extents.values().map(|line| line.split(' ').count());
    let empty = extents.values().filter(|line| line.is_empty()).count();
    (
        format!("{:.5}", optimal as f64 / scored as f64),
        pieces.sum::<usize>() - empty,
    )
}

/// docs/spec/ext3.md, section 15, point 2: an independent implementation of the rules, not a kernel. The journal lies
/// on another device, so that the fresh file system is that of the vectors.
#[test]
fn ext3_differs_from_ext2_as_another_implementation_of_the_rules_does() {
    let table = [
        ("s5", "s5", (2, "0.90909", 5), ("0.93939", 4)),
        ("s2k", "s2k", (1211, "0.93396", 1777), ("0.93196", 1790)),
        (
            "s50k",
            "s50k",
            (30_550, "0.93217", 45_267),
            ("0.93044", 45_561),
        ),
        (
            "s50k_b",
            "s50k",
            (29_422, "0.93209", 45_281),
            ("0.93057", 45_539),
        ),
    ];
    for (vector, script, (same, plain, plain_extents), (daily, daily_extents)) in table {
        let (Some(head), Some(script)) = (
            read(&format!("ext2_{vector}.tsv.gz")),
            read(&format!("{script}.ops.gz")),
        ) else {
            continue;
        };
        let ext3 = |journal_rule| {
            let params = Params {
                journal_bytes: Some(0),
                journal_rule,
                ..with_head(params(Mode::Ext3), &head)
            };
            run(params, &script, 10_000)
        };
        let without = ext3(false);
        assert_eq!(
            score(&without),
            (plain.to_owned(), plain_extents),
            "{vector}, no rule"
        );
        let files = head.lines().filter(|line| !line.starts_with('#'));
        let equal = print(&without, &head)
            .iter()
            .zip(files)
            .filter(|(a, b)| a == b)
            .count();
        assert_eq!(equal, same, "{vector}: files as under ext2");
        assert_eq!(
            score(&ext3(true)),
            (daily.to_owned(), daily_extents),
            "{vector}, daily"
        );
    }
}

/// docs/spec/ext3.md, section 15, point 3: another process id moves every file, and hardly changes the score.
#[test]
fn another_process_id_moves_files_and_keeps_the_score() {
    let (Some(head), Some(script)) = (read("ext2_s50k.tsv.gz"), read("s50k.ops.gz")) else {
        return;
    };
    let params = Params {
        pid: 0,
        ..with_head(params(Mode::Ext2), &head)
    };
    assert_eq!(score(&run(params, &script, 10_000)).0, "0.93236");
}

/// docs/spec/ext3.md, section 14: without a commit the last file cannot have what the second one left.
#[test]
fn the_worked_example_under_ext3_goes_behind_what_was_freed() {
    let (Some(head), Some(script)) = (read("ext2_s5.tsv.gz"), read("s5.ops.gz")) else {
        return;
    };
    let params = Params {
        journal_bytes: Some(0),
        ..with_head(params(Mode::Ext3), &head)
    };
    let fs = run(params, &script, 1);
    let ino = fs.inode(FileId(2)).expect("a live file");
    assert_eq!(extents(&fs)[&ino], "0:66075:12 12:66088:13");
}
