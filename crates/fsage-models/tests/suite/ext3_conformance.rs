//! What Ext3 has to keep whatever is asked of it, and what its rules say of single cases.
//!
//! Expected values are what the contract of `FileSystem` says, and hand arithmetic on the rules of docs/spec/ext3.md.

use crate::steps::any_op;
use crate::steps::cases;
use fsage_core::{DirId, FileId, FileKind, FileSystem, Layout, Op, Outcome, Rng};
use fsage_models::ext3::{Ext3, Mode, Params};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use std::fmt::Write as _;

/// Three groups of 1 KB blocks, the last of them half a group, and few inodes.
fn small() -> impl Strategy<Value = Params> {
    let mode = prop::sample::select(vec![Mode::Ext2, Mode::Ext3]);
    (mode, 0_u64..4, any::<u64>(), any::<bool>(), any::<bool>()).prop_map(
        |(mode, open_files, pid, superuser, oldalloc)| Params {
            mode,
            open_files,
            pid,
            superuser,
            oldalloc,
            size_bytes: 20 << 20,
            block_bytes: 1024,
            bytes_per_inode: 512 << 10,
            journal_bytes: (mode == Mode::Ext3).then_some(1 << 20),
            window_blocks: if pid % 5 == 0 { 0 } else { 8 },
            ..Params::default()
        },
    )
}

/// What can be seen of a state.
fn looks(fs: &Ext3) -> String {
    let mut out = format!("{:?}\n", fs.totals());
    fs.visit_files(&mut |file| {
        writeln!(out, "{file:?}").expect("a String takes everything");
    });
    fs.visit_free(&mut |run| {
        write!(out, "{run:?} ").expect("a String takes everything");
    });
    fs.visit_further_names(&mut |name| {
        write!(out, "{name:?} ").expect("a String takes everything");
    });
    out
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn every_verb_with_any_arguments_is_answered_and_an_error_changes_nothing(
        params in small(),
        ops in prop::collection::vec(any_op(), 1..120),
    ) {
        let mut fs = Ext3::new(params.clone()).expect("mke2fs takes it");
        let mut again = fs.clone();
        for op in &ops {
            let before = looks(&fs);
            let free = fs.totals().free_blocks;
            let got = fs.apply(op);
            fs.check().map_err(|e| TestCaseError::fail(format!("{op:?}: {:?}", e.findings)))?;
            prop_assert_eq!(again.apply(op), got, "the second time, {:?}", op);
            let changes_nothing = matches!(
                got,
                Err(_) | Ok(Outcome::Ignored | Outcome::Absent | Outcome::NoInode)
            ) || matches!(op, Op::Read { .. } | Op::Fsync { .. } | Op::Sync | Op::Remount);
            if changes_nothing || op.verb().is_probe() {
                prop_assert_eq!(&before, &looks(&fs), "{:?}: {:?}", op, got);
            }
            if got == Ok(Outcome::NoSpace) && params.mode == Mode::Ext2 {
                let reserve = if params.superuser { 0 } else { fs.sizes().reserve_blocks };
                // Data and three indirect blocks were asked for one block at a time.
                let left = fs.totals().free_blocks;
                prop_assert!(left <= reserve + 4, "{:?} with {} of {} free", op, left, free);
            }
        }
        prop_assert_eq!(looks(&fs), looks(&again));
        // Two file systems that look the same go on in the same way.
        let (dir, parent) = (DirId(1 << 40), None);
        prop_assert_eq!(fs.apply(&Op::Mkdir { dir, parent }), again.apply(&Op::Mkdir { dir, parent }));
        prop_assert_eq!(looks(&fs), looks(&again));
    }
}

fn params() -> Params {
    Params {
        mode: Mode::Ext2,
        ..Params::default()
    }
}

fn done(fs: &mut Ext3, op: Op) {
    assert_eq!(fs.apply(&op), Ok(Outcome::Done), "{op:?}");
    assert_eq!(fs.check(), Ok(()), "{op:?}");
}

fn mkdir(fs: &mut Ext3, dir: u64, parent: Option<u64>) -> u64 {
    let (dir, parent) = (DirId(dir), parent.map(DirId));
    done(fs, Op::Mkdir { dir, parent });
    fs.directory_inode(dir).expect("it was made")
}

fn create(fs: &mut Ext3, file: u64, dir: u64, bytes: u64) -> u64 {
    let (file, dir) = (FileId(file), DirId(dir));
    done(fs, Op::Create { file, dir, bytes });
    fs.inode(file).expect("it was made")
}

/// Extents of an inode, data and indirect blocks: first block and blocks.
fn extents(fs: &Ext3, ino: u64) -> Vec<(u64, u64)> {
    let block = fs.sizes().block_bytes;
    let mut found = Vec::new();
    fs.visit_files(&mut |file| {
        if file.ino == ino {
            let extents = file.extents.expect("a model knows them").iter();
            found = extents
                .map(|e| (e.physical_bytes / block, e.length_bytes / block))
                .collect();
        }
    });
    found
}

/// By hand, of the fresh 1 GB with inodes of 256 bytes: 257701 free blocks make 32212 a group. Groups 2, 4 and 6, which
/// have no copy of the superblock, have 32254, the others fewer.
#[test]
fn orlov_spreads_the_roots_directories_over_roomy_groups_with_few_directories() {
    for seed in 0..8 {
        let mut fs = Ext3::new(Params {
            seed,
            inode_bytes: 256,
            bytes_per_inode: 16_384,
            ..params()
        })
        .expect("mke2fs takes it");
        let mut groups: Vec<u64> = (1..=3)
            .map(|dir| (mkdir(&mut fs, dir, None) - 1) / 8192)
            .collect();
        groups.sort_unstable();
        assert_eq!(groups, [2, 4, 6], "seed {seed}");
        // All three have a directory; the next one goes where there is none if that group is roomy enough, and none is.
        let fourth = (mkdir(&mut fs, 4, None) - 1) / 8192;
        assert!([2, 4, 6].contains(&fourth), "seed {seed}: {fourth}");
    }
}

#[test]
fn orlov_keeps_a_directory_below_another_in_its_group() {
    let mut fs = Ext3::new(Params {
        dir_groups: vec![5],
        ..params()
    })
    .expect("mke2fs takes it");
    let per_group = u64::from(fs.sizes().inodes_per_group);
    assert_eq!((mkdir(&mut fs, 1, None) - 1) / per_group, 5);
    for dir in 2..20 {
        assert_eq!((mkdir(&mut fs, dir, Some(1)) - 1) / per_group, 5);
    }
}

/// By hand: groups have 16 inodes. The directory is inode 33 in group 2; when that is full, (2 + 33) mod 5 = 0 and the
/// first step leads to group 1, then to group 3, and 7 mod 5 = 2.
#[test]
fn files_of_a_full_group_go_on_in_steps_that_double() {
    let mut fs = Ext3::new(Params {
        size_bytes: 40 << 20,
        block_bytes: 1024,
        bytes_per_inode: 4 << 20,
        dir_groups: vec![2],
        ..params()
    })
    .expect("mke2fs takes it");
    assert_eq!((fs.sizes().groups, fs.sizes().inodes_per_group), (5, 16));
    assert_eq!(mkdir(&mut fs, 1, None), 33);
    let inodes: Vec<u64> = (1..=48).map(|file| create(&mut fs, file, 1, 0)).collect();
    assert_eq!(inodes[..15], (34..=48).collect::<Vec<u64>>());
    assert_eq!(inodes[15..31], (17..=32).collect::<Vec<u64>>());
    assert_eq!(inodes[31..47], (49..=64).collect::<Vec<u64>>());
    // Groups 1, 2 and 3 are full: in steps 1, 2, 4 from 0 they are all there is, and the rest is searched in order.
    assert_eq!(inodes[47], 65);
}

/// docs/spec/ext3.md, section 7: a file without a break is `b0..b11 IND b12..b1035 DIND IND b1036..`.
#[test]
fn indirect_blocks_lie_between_the_data_that_they_lead_to() {
    let mut fs = Ext3::new(params()).expect("mke2fs takes it");
    mkdir(&mut fs, 1, None);
    let ino = create(&mut fs, 1, 1, 1040 * 4096);
    let found = extents(&fs, ino);
    let b0 = found[0].0;
    let data = [(b0, 12), (b0 + 13, 1024), (b0 + 1039, 4)];
    // Double first, then the leaves.
    let pointers = [(b0 + 1037, 1), (b0 + 12, 1), (b0 + 1038, 1)];
    assert_eq!(found, [data, pointers].concat());
}

/// docs/spec/ext3.md, section 11: an indirect block goes when its first block lies at or behind the new end.
#[test]
fn cutting_a_file_frees_the_indirect_blocks_behind_its_end() {
    let mut fs = Ext3::new(params()).expect("mke2fs takes it");
    mkdir(&mut fs, 1, None);
    let empty = fs.totals().free_blocks;
    create(&mut fs, 1, 1, 1040 * 4096);
    let used = |fs: &Ext3| empty - fs.totals().free_blocks;
    assert_eq!(used(&fs), 1043);
    let file = FileId(1);
    for (blocks, with_pointers) in [(1037, 1040), (1036, 1037), (13, 14), (12, 12), (0, 0)] {
        let bytes = blocks * 4096;
        done(&mut fs, Op::Truncate { file, bytes });
        assert_eq!(used(&fs), with_pointers, "{blocks} blocks");
    }
}

/// docs/spec/ext3.md, section 12: what is freed waits for a commit, by time, by sync, or when there is nothing else.
#[test]
fn freed_blocks_are_used_again_only_after_a_commit() {
    let ext3 = || {
        let mut fs = Ext3::new(Params::default()).expect("mke2fs takes it");
        fs.set_time(0);
        mkdir(&mut fs, 1, None);
        fs
    };
    let place = |fs: &Ext3, file| extents(fs, fs.inode(FileId(file)).expect("alive"))[0].0;
    let again = |between: fn(&mut Ext3)| {
        let mut fs = ext3();
        create(&mut fs, 1, 1, 8192);
        let first = place(&fs, 1);
        done(&mut fs, Op::Delete { file: FileId(1) });
        between(&mut fs);
        create(&mut fs, 2, 1, 8192);
        (place(&fs, 2) - first, fs.commits())
    };
    assert_eq!(again(|_| {}), (2, 0));
    assert_eq!(again(|fs| fs.set_time(4_999_999_999)), (2, 0));
    assert_eq!(again(|fs| fs.set_time(5_000_000_000)), (0, 1));
    assert_eq!(again(|fs| done(fs, Op::Sync)), (0, 1));
    assert_eq!(again(|fs| done(fs, Op::Day)), (0, 1));
}

/// The ENOSPC retry of section 10: without the commit that it forces there would be no room for the second file.
#[test]
fn a_commit_is_forced_where_only_freed_blocks_are_left() {
    let mut fs = Ext3::new(Params {
        size_bytes: 40 << 20,
        journal_bytes: Some(4 << 20),
        superuser: true,
        ..Params::default()
    })
    .expect("mke2fs takes it");
    mkdir(&mut fs, 1, None);
    let bytes = (fs.totals().free_blocks - 20) * 4096;
    create(&mut fs, 1, 1, bytes);
    done(&mut fs, Op::Delete { file: FileId(1) });
    assert_eq!(fs.commits(), 0);
    create(&mut fs, 2, 1, bytes);
    assert_eq!(fs.commits(), 1);
}

/// An open file's window keeps others away: 8 blocks each, whoever writes.
#[test]
fn files_that_are_open_side_by_side_keep_out_of_each_others_windows() {
    let mut fs = Ext3::new(Params {
        open_files: 2,
        ..params()
    })
    .expect("mke2fs takes it");
    mkdir(&mut fs, 1, None);
    let ino = [1, 2].map(|file| create(&mut fs, file, 1, 4096));
    for file in [1, 2, 1, 2, 1, 2] {
        let (file, bytes) = (FileId(file), 4096);
        done(&mut fs, Op::Append { file, bytes });
    }
    let first = extents(&fs, ino[0])[0].0;
    assert_eq!(extents(&fs, ino[0]), [(first, 4)]);
    assert_eq!(extents(&fs, ino[1]), [(first + 8, 4)]);
}

#[test]
fn a_remount_forgets_where_files_went_on() {
    let mut fs = Ext3::new(params()).expect("mke2fs takes it");
    mkdir(&mut fs, 1, None);
    create(&mut fs, 1, 1, 4096);
    done(&mut fs, Op::Remount);
    let (file, bytes) = (FileId(1), 4096);
    done(&mut fs, Op::Append { file, bytes });
    // Rule 2 of section 7: the block itself is the goal, and the one behind it is free.
    assert_eq!(extents(&fs, fs.inode(file).expect("alive")).len(), 1);
}

#[test]
fn short_links_lie_in_their_inodes_and_long_ones_cannot_be() {
    let mut fs = Ext3::new(params()).expect("mke2fs takes it");
    mkdir(&mut fs, 1, None);
    let free = fs.totals().free_blocks;
    for (id, bytes, outcome, blocks) in [
        (1, 59, Outcome::Done, 0),
        (2, 60, Outcome::Done, 1),
        (3, 4095, Outcome::Done, 2),
        (4, 4096, Outcome::TooLarge, 2),
    ] {
        let (file, dir) = (FileId(id), DirId(1));
        assert_eq!(fs.apply(&Op::Symlink { file, dir, bytes }), Ok(outcome));
        assert_eq!(free - fs.totals().free_blocks, blocks, "{bytes} bytes");
    }
    let mut links = 0;
    fs.visit_files(&mut |file| links += u32::from(file.kind == FileKind::Symlink));
    assert_eq!(links, 4);
    assert_eq!(fs.check(), Ok(()));
}

/// The largest file has 12 + 256 + 256^2 + 256^3 blocks of 1 KB; of 4 KB blocks the sectors must be countable.
#[test]
fn a_file_is_as_large_as_its_pointers_reach() {
    let truncated = |block_bytes, bytes| {
        let mut fs = Ext3::new(Params {
            block_bytes,
            ..params()
        })
        .expect("mke2fs takes it");
        mkdir(&mut fs, 1, None);
        create(&mut fs, 1, 1, 0);
        let file = FileId(1);
        let outcome = fs.apply(&Op::Truncate { file, bytes });
        assert_eq!(fs.check(), Ok(()));
        outcome
    };
    let most = (12 + 256 + 256 * 256 + 256 * 256 * 256) * 1024;
    assert_eq!(truncated(1024, most), Ok(Outcome::Done));
    assert_eq!(truncated(1024, most + 1), Ok(Outcome::TooLarge));
    assert_eq!(truncated(4096, 0x1ff_7fff_d000), Ok(Outcome::Done));
    assert_eq!(truncated(4096, 0x1ff_7fff_d001), Ok(Outcome::TooLarge));
}

/// A write far behind the end needs all three levels, and leaves nothing when it is cut.
#[test]
fn a_block_behind_a_hole_of_gigabytes_has_three_indirect_blocks() {
    let mut fs = Ext3::new(params()).expect("mke2fs takes it");
    mkdir(&mut fs, 1, None);
    let ino = create(&mut fs, 1, 1, 0);
    let free = fs.totals().free_blocks;
    let (file, offset, bytes) = (FileId(1), 5 << 30, 4096);
    done(
        &mut fs,
        Op::Write {
            file,
            offset,
            bytes,
        },
    );
    let found = extents(&fs, ino);
    let first = found[1].0;
    // Triple, the one below it, the leaf, then the data.
    assert_eq!(
        found,
        [(first + 3, 1), (first, 1), (first + 1, 1), (first + 2, 1)]
    );
    done(&mut fs, Op::Truncate { file, bytes: 0 });
    assert_eq!(fs.totals().free_blocks, free);
}

/// A workload that asks for more than there is goes on, and what is kept agrees with what a recount gives.
#[test]
fn a_full_disk_ends_no_workload_and_no_count_drifts() {
    for (mode, open_files) in [
        (Mode::Ext2, 0),
        (Mode::Ext2, 5),
        (Mode::Ext3, 0),
        (Mode::Ext3, 5),
    ] {
        let mut fs = Ext3::new(Params {
            mode,
            open_files,
            size_bytes: 20 << 20,
            block_bytes: 1024,
            bytes_per_inode: 16 << 10,
            journal_bytes: (mode == Mode::Ext3).then_some(2 << 20),
            ..Params::default()
        })
        .expect("mke2fs takes it");
        let mut rng = Rng::new(7);
        let mut outcomes = [0_u32; 3];
        for dir in 1..=5 {
            mkdir(&mut fs, dir, None);
        }
        // About 1100 files of 30 KB live at a time, twice what there is room for.
        for id in 1..=20_000 {
            let (file, dir) = (FileId(id), DirId(1 + rng.below(5)));
            let bytes = rng.below(60_000);
            let mut step = |op| {
                let outcome = fs.apply(&op).expect("a sound workload");
                outcomes[match outcome {
                    Outcome::Done => 0,
                    Outcome::NoSpace | Outcome::NoInode => 1,
                    _ => 2,
                }] += 1;
            };
            step(Op::Create { file, dir, bytes });
            let file = FileId(1 + rng.below(id));
            if rng.below(4) == 0 && id < 1100 {
                let bytes = rng.below(20_000);
                step(Op::Append { file, bytes });
            }
            if id > 1100 {
                step(Op::Delete {
                    file: FileId(id - 1100),
                });
            }
            if id % 997 == 0 {
                fs.set_time(i64::try_from(id).expect("small") * 1_000_000_000);
                assert_eq!(fs.check(), Ok(()), "{mode:?}, operation {id}");
            }
        }
        assert!(outcomes.iter().all(|&n| n > 100), "{mode:?}: {outcomes:?}");
        for id in 18_901..=20_000 {
            let outcome = fs.apply(&Op::Delete { file: FileId(id) });
            assert!(
                matches!(outcome, Ok(Outcome::Done | Outcome::Absent)),
                "{id}"
            );
        }
        assert_eq!(fs.check(), Ok(()));
        let mut files = 0;
        fs.visit_files(&mut |file| files += u32::from(file.kind == FileKind::Regular));
        assert_eq!(files, 0);
    }
}
