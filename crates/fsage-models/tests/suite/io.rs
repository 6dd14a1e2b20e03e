//! What the FFS model emits for a host: the requests of every operation, in the order of 4.4BSD.
//!
//! Expected lists follow from the rules of `ufs_vnops.c`, `ufs_lookup.c`, `ffs_inode.c` and `ffs_balloc.c` (which
//! writes wait: S, which do not: A, which are delayed: D); addresses are those of the worked examples of the allocator
//! on `tiny`: group 1 has its group block at fragment 1064, its inodes at 1072, and directory 1, inode 256, at 1032.

use crate::emitted;
use fsage_core::io::{BufferId, Hosted};
use fsage_core::{DirId, FileId, FileSystem, Op, Outcome};
use fsage_models::ffs::{Ffs, Params};

fn tiny(options: &[(&str, Option<&str>)]) -> Ffs {
    let mut all = vec![("preset", Some("tiny")), ("nrpos", Some("1"))];
    all.extend_from_slice(options);
    let mut fs = Ffs::new(Params::from_options(all).unwrap()).unwrap();
    apply(
        &mut fs,
        "",
        Op::Mkdir {
            dir: DirId(1),
            parent: None,
        },
    );
    fs.emit(true);
    fs
}

/// Applies an operation that must succeed, and gives what it emitted.
fn apply(fs: &mut Ffs, without: &str, op: Op) -> Vec<String> {
    assert_eq!(fs.apply(&op), Ok(Outcome::Done));
    let emitted = std::mem::take(fs.emitted());
    emitted
        .iter()
        .map(|io| emitted::line(io, 1024))
        .filter(|line| without.is_empty() || !without.split(' ').any(|w| line.starts_with(w)))
        .collect()
}

fn create(file: u64, bytes: u64) -> Op {
    Op::Create {
        file: FileId(file),
        dir: DirId(1),
        bytes,
    }
}

/// Takes the two blocks before the metadata of the group, so that the next file is contiguous.
fn past_the_gap(fs: &mut Ffs) {
    apply(fs, "", create(99, 2 * 8192));
}

/// Neither what is looked up nor the processor.
const WRITES: &str = "need Work copy";

#[test]
fn nothing_is_emitted_unless_it_is_asked_for() {
    let mut fs = tiny(&[]);
    fs.emit(false);
    assert!(apply(&mut fs, "", create(1, 100_000)).is_empty());
}

#[test]
fn an_empty_file_waits_for_its_inode_and_its_directory() {
    let mut fs = tiny(&[]);
    let emitted = apply(&mut fs, "", create(1, 0));
    let expected = [
        "Work(Create)",
        // The root, inode 2, leads to the directory, inode 256.
        "need @32+8",
        "need 2[0]@72+1",
        "need @1072+8",
        "need 256[0]@1032+1",
        "D @1064+1",
        "S @1072+8",
        "S 256[0]@1032+1",
        "D @1072+8",
        "D @1072+8",
    ];
    assert_eq!(emitted, expected);
}

#[test]
fn a_small_file_has_the_six_writes_of_1995() {
    // Seltzer et al. 1995: inode and directory block wait; directory inode, data, and both maps (one buffer here) do
    // not.
    let mut fs = tiny(&[]);
    let emitted = apply(&mut fs, WRITES, create(1, 1000));
    let expected = [
        "D @1064+1",
        "S @1072+8",
        "S 256[0]@1032+1",
        "D @1072+8",
        "D @1064+1",
        "Dnew 257[0]@1033+1",
        "D @1072+8",
    ];
    assert_eq!(emitted, expected);
}

#[test]
fn group_blocks_are_as_long_as_their_maps() {
    // 4637 bytes for the file system of 1996, 3401 for that of 1997, rounded up to fragments.
    for (preset, kb) in [("g502", 5), ("g1024", 4)] {
        let mut fs = Ffs::new(Params::preset(preset).unwrap()).unwrap();
        fs.emit(true);
        let emitted = apply(
            &mut fs,
            WRITES,
            Op::Mkdir {
                dir: DirId(1),
                parent: None,
            },
        );
        assert!(
            emitted[0].starts_with("D @") && emitted[0].ends_with(&format!("+{kb}")),
            "{emitted:?}"
        );
    }
}

#[test]
fn a_removed_file_waits_for_its_entry_and_its_inode() {
    let mut fs = tiny(&[]);
    apply(&mut fs, "", create(1, 30_000));
    let emitted = apply(&mut fs, WRITES, Op::Delete { file: FileId(1) });
    let expected = [
        "S 256[0]@1032+1",
        "D @1072+8",
        "D @1072+8",
        // Truncated: its inode without pointers, then the maps.
        "S @1072+8",
        "discard 257[0..]",
        "D @1064+1",
        "discard 257[0..]",
        "D @1072+8",
    ];
    assert_eq!(emitted, expected);
    // An empty one has nothing to truncate.
    apply(&mut fs, "", create(2, 0));
    let emitted = apply(&mut fs, WRITES, Op::Delete { file: FileId(2) });
    let waits: Vec<_> = emitted.iter().filter(|t| t.starts_with("S ")).collect();
    assert_eq!(waits, ["S 256[0]@1032+1"]);
}

#[test]
fn a_directory_waits_five_times_and_its_removal_twice() {
    let mut fs = tiny(&[]);
    let parent = Some(DirId(1));
    let emitted = apply(
        &mut fs,
        WRITES,
        Op::Mkdir {
            dir: DirId(2),
            parent,
        },
    );
    // Group 2, base 2048, staggered by 2 * 16: group block at 2104, inodes at 2112, first block free at 2056.
    let expected = [
        "D @2104+1",
        "S @2112+8",
        "S @1072+8",
        "D @2104+1",
        "Snew 512[0]@2056+1",
        "S @2112+8",
        "S 256[0]@1032+1",
    ];
    assert_eq!(emitted, expected);
    let emitted = apply(&mut fs, WRITES, Op::Rmdir { dir: DirId(2) });
    let expected = [
        "S 256[0]@1032+1",
        "D @1072+8",
        "S @2112+8",
        "discard 512[0..]",
        "D @2104+1",
        "discard 512[0..]",
        "D @2112+8",
    ];
    assert_eq!(emitted, expected);
}

#[test]
fn names_that_move_wait_three_times() {
    let mut fs = tiny(&[]);
    apply(&mut fs, "", create(1, 0));
    let rename = |replaced| Op::Rename {
        file: FileId(1),
        dir: DirId(1),
        replaced,
    };
    let moves = [
        "S @1072+8",
        "S 256[0]@1032+1",
        "S 256[0]@1032+1",
        "D @1072+8",
        "D @1072+8",
    ];
    assert_eq!(apply(&mut fs, WRITES, rename(None)), moves);
    // Over another file, whose inode and data go in between.
    apply(&mut fs, "", create(2, 1000));
    let emitted = apply(&mut fs, WRITES, rename(Some(FileId(2))));
    let waits: Vec<_> = emitted.iter().filter(|t| t.starts_with("S ")).collect();
    assert_eq!(
        waits,
        [
            "S @1072+8",
            "S 256[0]@1032+1",
            "S @1072+8",
            "S 256[0]@1032+1"
        ]
    );
    let link = Op::Link {
        file: FileId(3),
        existing: FileId(1),
        dir: DirId(1),
    };
    assert_eq!(
        apply(&mut fs, WRITES, link),
        ["S @1072+8", "S 256[0]@1032+1"]
    );
}

#[test]
fn a_directory_that_grows_is_written_with_its_inode_and_one_that_shrinks_too() {
    // 24 bytes are `.` and `..`; two entries of 200 fill a chunk.
    let mut fs = tiny(&[("dirent_bytes", Some("200"))]);
    apply(&mut fs, "", create(1, 0));
    apply(&mut fs, "", create(2, 0));
    let emitted = apply(&mut fs, WRITES, create(3, 0));
    // The chunk goes into the directory's one fragment, which it fills.
    let expected = [
        "D @1064+1",
        "S @1072+8",
        "Snew 256[0]@1032+1",
        "S @1072+8",
        "D @1072+8",
        "D @1072+8",
    ];
    assert_eq!(emitted, expected);
    apply(&mut fs, "", Op::Delete { file: FileId(3) });
    apply(&mut fs, "", Op::Delete { file: FileId(1) });
    // The entry goes to the first chunk; the empty second one is cut off: the block that stays, then the inode.
    let emitted = apply(&mut fs, WRITES, create(4, 0));
    let waits: Vec<_> = emitted.iter().filter(|t| t.starts_with("S ")).collect();
    assert_eq!(
        waits,
        [
            "S @1072+8",
            "S 256[0]@1032+1",
            "S 256[0]@1032+1",
            "S @1072+8"
        ]
    );
}

#[test]
fn blocks_of_pointers_are_written_empty_before_anything_else() {
    let mut fs = tiny(&[]);
    past_the_gap(&mut fs);
    let emitted = apply(&mut fs, WRITES, create(1, 104 << 10));
    let pushes_and_pointers: Vec<_> = emitted
        .iter()
        .filter(|t| t.contains("258p0") || t.starts_with("push"))
        .map(|t| t.split('@').next().unwrap_or(t))
        .collect();
    // 104 KB: A[0-7] S[indirect, zeroed] D[its pointer] A[8-11]; block 12 is delayed, as it follows a break.
    assert_eq!(
        pushes_and_pointers,
        ["push 258[0-7]", "Snew 258p0", "D 258p0", "push 258[8-11]"]
    );
    let emitted = apply(&mut fs, WRITES, Op::Delete { file: FileId(1) });
    let waits: Vec<_> = emitted
        .iter()
        .filter(|t| t.starts_with("S "))
        .map(|t| t.split_once('@').map_or(&**t, |(id, _)| id))
        .collect();
    // Entry, inode, and the block of pointers without its pointers.
    assert_eq!(waits, ["S 256[0]", "S ", "S 258p0"]);
}

#[test]
fn a_cluster_goes_on_from_call_to_call() {
    // The 64 KB of the table of clusters: A[0-7], whether one call writes them or eight.
    let mut fs = tiny(&[]);
    past_the_gap(&mut fs);
    let mut emitted = apply(&mut fs, WRITES, create(1, 8192));
    for _ in 1..8 {
        let call = Op::Append {
            file: FileId(1),
            bytes: 8192,
        };
        emitted.extend(apply(&mut fs, WRITES, call));
    }
    emitted.retain(|line| line.starts_with("push"));
    assert_eq!(emitted, ["push 258[0-7]"]);
}

#[test]
fn overwriting_reads_direct_blocks_first_unless_told_otherwise() {
    let overwrite = Op::Overwrite {
        file: FileId(1),
        range: None,
    };
    let needs = |fs: &mut Ffs| -> Vec<String> {
        apply(fs, "", create(1, 17_000));
        let emitted = apply(fs, "", overwrite);
        let read = |t: &&String| t.starts_with("need 257[");
        emitted.iter().filter(read).cloned().collect()
    };
    let read = needs(&mut tiny(&[]));
    assert_eq!(read.len(), 3, "{read:?}");
    assert!(needs(&mut tiny(&[("overwrite_reads", Some("false"))])).is_empty());
    // A part of a block is read in any case.
    let mut fs = tiny(&[("overwrite_reads", Some("false"))]);
    apply(&mut fs, "", create(1, 8192));
    let part = Op::Overwrite {
        file: FileId(1),
        range: Some((100, 50)),
    };
    let emitted = apply(&mut fs, "", part);
    assert!(
        emitted.iter().any(|t| t.starts_with("need 257[0]")),
        "{emitted:?}"
    );
    assert!(
        emitted.iter().any(|t| t.starts_with("D 257[0]")),
        "{emitted:?}"
    );
}

#[test]
fn a_fragment_that_grows_is_read_placed_and_delayed_and_completed_at_once() {
    let mut fs = tiny(&[]);
    apply(&mut fs, "", create(1, 1000));
    let append = |bytes| Op::Append {
        file: FileId(1),
        bytes,
    };
    let emitted = apply(&mut fs, "Work copy D", append(1000));
    assert_eq!(
        emitted[emitted.len() - 2..],
        ["need 257[0]@1033+1", "place 257[0]@1033+2"]
    );
    // Behind its block: the fragments become a whole block first, which is written without waiting.
    let behind = Op::Write {
        file: FileId(1),
        offset: 16_384,
        bytes: 8192,
    };
    let emitted = apply(&mut fs, "Work copy D", behind);
    let place = emitted
        .iter()
        .position(|t| t.starts_with("place 257[0]"))
        .unwrap();
    assert!(emitted[place].ends_with("+8"), "{emitted:?}");
    assert!(
        emitted.iter().any(|t| t.starts_with("A 257[0]")),
        "{emitted:?}"
    );
}

#[test]
fn a_map_of_blocks_says_what_follows_and_what_points() {
    let mut fs = tiny(&[]);
    past_the_gap(&mut fs);
    apply(&mut fs, "", create(1, 14 * 8192));
    let map = |lbn| fs.block_map(FileId(1), lbn);
    let start = |lbn| map(lbn).buffer.unwrap().start_bytes;
    // The array of direct pointers ends at block 11.
    assert_eq!((map(0).following, map(11).following), (11, 0));
    assert_eq!(start(11) - start(0), 11 * 8192);
    assert_eq!((map(12).following, map(13).following), (1, 0));
    assert!(map(11).pointers[0].is_none());
    let id = map(13).pointers[0].unwrap().id;
    assert_eq!(id, BufferId::Pointers { ino: 258, index: 0 });
    assert!(map(14).buffer.is_none());
    assert!(fs.block_map(FileId(9), 0).buffer.is_none());
}
