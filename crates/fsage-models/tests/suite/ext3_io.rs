//! What the Ext3 model emits for a host.
//!
//! Expected lists follow by hand from the rules of docs/spec/ext3.md, section 12, and the layout of the fresh file
//! system of the vectors, in blocks: the root's block is 579, the journal starts at 585; group 2 has its bitmaps at
//! 65536 and 65537, its inodes from 65538 on and its first free block at 66050, which directory 1 gets.

use crate::emitted;
use crate::steps::any_op;
use crate::steps::cases;
use fsage_core::io::{BlockMap, Hosted, Io};
use fsage_core::{DirId, FileId, FileSystem, Layout, Op, Outcome};
use fsage_models::ext3::{Ext3, Mode, Params};
use proptest::prelude::*;
use std::fmt::Write as _;

fn with_directory(mode: Mode) -> Ext3 {
    let mut fs = Ext3::new(Params {
        mode,
        inode_bytes: 256,
        bytes_per_inode: 16_384,
        dir_groups: vec![2],
        ..Params::default()
    })
    .expect("mke2fs takes it");
    let (dir, parent) = (DirId(1), None);
    assert_eq!(fs.apply(&Op::Mkdir { dir, parent }), Ok(Outcome::Done));
    fs.sync();
    fs.emit(true);
    fs
}

/// Applies an operation that must succeed, and gives what it emitted, each line once.
fn apply(fs: &mut Ext3, op: Op) -> Vec<String> {
    assert_eq!(fs.apply(&op), Ok(Outcome::Done), "{op:?}");
    let mut lines: Vec<String> = Vec::new();
    for io in std::mem::take(fs.emitted()) {
        let line = emitted::line(&io, 4096);
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

fn create(file: u64, bytes: u64) -> Op {
    Op::Create {
        file: FileId(file),
        dir: DirId(1),
        bytes,
    }
}

/// Of a file of two blocks in directory 1: what finding its name needs, and what changes, with the time of the writes.
fn lines_of_create(metadata: &str) -> Vec<String> {
    let lines = "Work(Create)|need @0+1|need 2[0]@579+1|need @65538+1|need 16385[0]@66050+1\
                 |M @65537+1|M @1+1|M @65538+1|M 16385[0]@66050+1\
                 |M @65536+1|copy 4096|Dnew 16386[0]@66051+1|copy 904|Dnew 16386[1]@66052+1";
    // The root's inode lies behind the superblock, 64 blocks of descriptors and two bitmaps.
    let lines = lines
        .replace("@0+1", "@67+1")
        .replace("M @", &format!("{metadata} @"));
    let lines = lines.replace("M 1", &format!("{metadata} 1"));
    lines.split('|').map(str::to_owned).collect()
}

#[test]
fn ext2_writes_everything_some_time_later() {
    let mut fs = with_directory(Mode::Ext2);
    assert_eq!(apply(&mut fs, create(1, 5000)), lines_of_create("D"));
    assert_eq!(apply(&mut fs, Op::Sync), [""; 0]);
}

/// Five blocks of metadata with a descriptor and a commit block make a transaction of seven blocks. It starts behind
/// the journal's superblock.
#[test]
fn ext3_holds_metadata_back_until_data_and_log_are_written() {
    let mut fs = with_directory(Mode::Ext3);
    assert_eq!(apply(&mut fs, create(1, 5000)), lines_of_create("H"));
    let changed = [
        "@65537+1",
        "@1+1",
        "@65538+1",
        "16385[0]@66050+1",
        "@65536+1",
    ];
    let mut expected = vec![
        "push 16386[0-1]".to_owned(),
        format!(
            "Raw {{ write: true, start_bytes: {}, bytes: {}, wait: true }}",
            586 * 4096,
            7 * 4096
        ),
    ];
    fs.apply(&Op::Sync).expect("sync is no error");
    let emitted = std::mem::take(fs.emitted());
    let (log, home) = emitted.split_at(2);
    let lines: Vec<String> = log.iter().map(|io| emitted::line(io, 4096)).collect();
    assert_eq!(lines, expected);
    expected.clear();
    for pair in home.chunks(2) {
        let [Io::Assign(buffer), modify] = pair else {
            panic!("{pair:?}");
        };
        assert_eq!(
            emitted::line(&Io::Need(*buffer), 4096).replace("need", "D"),
            emitted::line(modify, 4096)
        );
        expected.push(emitted::line(modify, 4096)[2..].to_owned());
    }
    assert_eq!(expected, changed);
    assert_eq!(apply(&mut fs, Op::Sync), [""; 0]);
}

/// The next transaction follows the one before it in the log, and starts over behind its end. By hand: a file that
/// comes and goes changes an inode bitmap, a descriptor, an inode and a directory, which makes six blocks of log; 3000
/// times that is twice round 8191 blocks.
#[test]
fn transactions_go_round_the_log() {
    let mut fs = with_directory(Mode::Ext3);
    let (mut at, mut starts, mut sum) = (586, 0, 0);
    for id in 0..3000 {
        apply(&mut fs, create(id, 0));
        apply(&mut fs, Op::Delete { file: FileId(id) });
        fs.apply(&Op::Sync).expect("sync is no error");
        for io in std::mem::take(fs.emitted()) {
            if let Io::Raw {
                start_bytes, bytes, ..
            } = io
            {
                let start = start_bytes / 4096;
                starts += u32::from(start == 586);
                // One or two indirect blocks of the journal may lie between.
                assert!((at..at + 3).contains(&start) || start == 586, "{start}");
                at = start + bytes / 4096;
                sum += bytes / 4096;
            }
        }
    }
    assert_eq!((starts, sum), (3, 18_000));
}

#[test]
fn what_is_gone_is_neither_logged_nor_written() {
    let mut fs = with_directory(Mode::Ext3);
    apply(&mut fs, create(1, 13 * 4096));
    let emitted = apply(&mut fs, Op::Delete { file: FileId(1) });
    assert!(
        emitted.contains(&"discard 16386[0..]".to_owned()),
        "{emitted:?}"
    );
    assert!(
        emitted
            .iter()
            .any(|line| line.starts_with("Forget(Pointers")),
        "{emitted:?}"
    );
    let emitted = apply(&mut fs, Op::Sync);
    assert!(
        !emitted.iter().any(|line| line.contains("16386p")),
        "{emitted:?}"
    );
}

#[test]
fn runs_end_with_the_block_of_pointers_that_leads_to_them() {
    let mut fs = with_directory(Mode::Ext2);
    apply(&mut fs, create(1, 40 * 4096));
    let map = |lbn| fs.block_map(FileId(1), lbn);
    assert_eq!(
        (map(0).following, map(11).following, map(12).following),
        (11, 0, 27)
    );
    assert_eq!(map(0).pointers, [None; 3]);
    // The indirect block lies between blocks 11 and 12.
    let place = |map: BlockMap| map.buffer.expect("mapped").start_bytes / 4096;
    let pointers = map(12).pointers[0].expect("an indirect block");
    assert_eq!(pointers.start_bytes / 4096, place(map(11)) + 1);
    assert_eq!(place(map(12)), place(map(11)) + 2);
    assert_eq!(
        map(40),
        BlockMap {
            pointers: map(12).pointers,
            ..BlockMap::default()
        }
    );
}

/// All free runs and extents.
fn looks(fs: &Ext3) -> String {
    let mut out = String::new();
    fs.visit_files(&mut |file| writeln!(out, "{file:?}").expect("a String takes it"));
    fs.visit_free(&mut |run| writeln!(out, "{run:?}").expect("a String takes it"));
    out
}

proptest! {
    #![proptest_config(cases(60))]

    /// A process under a host has one file open; otherwise emitting changes nothing. What is emitted lies on
    /// the device.
    #[test]
    fn telling_changes_nothing(
        ext2 in any::<bool>(),
        ops in prop::collection::vec(any_op(), 1..80),
    ) {
        let mut silent = Ext3::new(Params {
            mode: if ext2 { Mode::Ext2 } else { Mode::Ext3 },
            size_bytes: 20 << 20,
            block_bytes: 1024,
            bytes_per_inode: 512 << 10,
            journal_bytes: (!ext2).then_some(1 << 20),
            open_files: 1,
            ..Params::default()
        }).expect("mke2fs takes it");
        let mut fs = silent.clone();
        fs.emit(true);
        for op in &ops {
            prop_assert_eq!(fs.apply(op), silent.apply(op), "{:?}", op);
            for io in std::mem::take(fs.emitted()) {
                match io {
                    Io::Need(buffer) | Io::Modify(buffer, _) | Io::Fill(buffer, _) | Io::Assign(buffer) => {
                        prop_assert!(buffer.end_bytes() <= 20 << 20, "{:?}", buffer);
                        prop_assert_eq!(buffer.bytes, 1024);
                    }
                    Io::Raw { start_bytes, bytes, .. } => prop_assert!(start_bytes + bytes <= 20 << 20),
                    _ => {}
                }
            }
        }
        prop_assert_eq!(looks(&fs), looks(&silent));
    }
}
