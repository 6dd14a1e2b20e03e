//! The rules one at a time, on sequences made by hand, and crashes in the middle of moves.

use super::super::map::Map;
use super::super::settings::{Migrate, Third};
use super::super::{Settings, Technique, middle_of};
use super::moves::{Move, Step};
use super::*;
use crate::ext3::{Ext3, MkfsError, Mode, Params};
use fsage_core::{FileSystem, Inconsistency};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

/// A disk of 64 MB with 4 MB in its middle, and files 30 MB away from it.
fn settings() -> Settings {
    Settings {
        reserved_ppm: 62_500,
        near_ppm: 0,
        ..Settings::new(Technique::Files)
    }
}

fn layer_over(settings: &Settings, mode: Mode) -> AdaptiveFiles<Ext3> {
    let disk_bytes = 64 << 20;
    let middle = middle_of(disk_bytes, settings.reserved_ppm);
    let make = |part, size_bytes| {
        let params = Params {
            mode,
            size_bytes,
            bytes_per_inode: 16_384,
            reserve_percent: 0,
            journal_bytes: (mode == Mode::Ext3).then_some(0),
            ..Params::default()
        };
        Ext3::new(params).map_err(|reason: MkfsError| LayerError::Part {
            part,
            bytes: size_bytes,
            reason,
        })
    };
    AdaptiveFiles::new(settings, disk_bytes, middle, make).expect("two file systems")
}

fn layer(settings: &Settings) -> AdaptiveFiles<Ext3> {
    layer_over(settings, Mode::Ext3)
}

fn run(fs: &mut AdaptiveFiles<Ext3>, op: Op) {
    assert_eq!(fs.apply(&op), Ok(Outcome::Done), "{op:?}");
    fs.check()
        .unwrap_or_else(|e| panic!("{op:?}: {:?}", e.findings));
}

fn create(fs: &mut AdaptiveFiles<Ext3>, file: u64, dir: u64, bytes: u64) {
    run(
        fs,
        Op::Create {
            file: FileId(file),
            dir: DirId(dir),
            bytes,
        },
    );
}

fn mkdir(fs: &mut AdaptiveFiles<Ext3>, dir: u64, parent: u64) {
    run(
        fs,
        Op::Mkdir {
            dir: DirId(dir),
            parent: Some(DirId(parent)),
        },
    );
}

fn read(fs: &mut AdaptiveFiles<Ext3>, file: u64, times: u32) {
    for _ in 0..times {
        let file = FileId(file);
        run(fs, Op::Read { file, range: None });
    }
}

fn rename(file: u64, dir: u64, replaced: Option<u64>) -> Op {
    Op::Rename {
        file: FileId(file),
        dir: DirId(dir),
        replaced: replaced.map(FileId),
    }
}

fn is_hot(fs: &AdaptiveFiles<Ext3>, file: u64) -> bool {
    fs.tables
        .is_hot(fs.names.find(FileId(file)).expect("a file"))
}

/// Rule of `cold_touch`: moves when the count is over the threshold. Making the file is the first access, so that the
/// ninth is the eighth read.
#[test]
fn the_ninth_access_moves_a_file_in() {
    let mut fs = layer(&settings());
    create(&mut fs, 1, 0, 10_000);
    read(&mut fs, 1, 7);
    assert!(!is_hot(&fs, 1));
    let number = fs.inode(FileId(1));
    read(&mut fs, 1, 1);
    assert!(is_hot(&fs, 1));
    assert_eq!(fs.inode(FileId(1)), number, "a file keeps its number");
    assert_eq!(fs.file_size(FileId(1)), Some(10_000));
    let counters = fs.counters;
    assert_eq!((counters.moved_in, counters.copied_bytes), (1, 10_000));
    assert_eq!((counters.accesses, counters.accessed_bytes), (9, 90_000));
    assert_eq!((counters.hot_hits, counters.center_bytes), (0, 0));
    read(&mut fs, 1, 2);
    assert_eq!(
        (fs.counters.hot_hits, fs.counters.center_bytes),
        (2, 20_000)
    );
    // All of it lies in the middle.
    let middle = fs.outside_map.middle.clone();
    for lbn in 0..3 {
        let buffer = fs.block_map(FileId(1), lbn).buffer.expect("a block");
        assert!(middle.contains(&buffer.start_bytes));
    }
}

#[test]
fn writes_count_as_reads_do_and_reads_under_a_host_as_reads_of_a_workload() {
    let mut fs = layer(&settings());
    create(&mut fs, 1, 0, 100);
    for _ in 0..4 {
        let file = FileId(1);
        run(&mut fs, Op::Append { file, bytes: 10 });
        fs.was_read(file, 0, 100);
    }
    assert!(is_hot(&fs, 1));
    let file = FileId(1);
    run(&mut fs, Op::Rewrite { file, bytes: 50 });
    assert_eq!((fs.counters.accesses, fs.counters.hot_hits), (10, 1));
    assert!(is_hot(&fs, 1), "a hot file is written where it is");
}

#[test]
fn a_near_file_stays_and_is_counted() {
    // The reserved area is 4 MB wide: 8 widths reach over the 30 MB before it.
    let near = Settings {
        near_ppm: 8_000_000,
        ..settings()
    };
    let mut fs = layer(&near);
    create(&mut fs, 1, 0, 100);
    read(&mut fs, 1, 10);
    assert!(!is_hot(&fs, 1));
    // Accesses 9, 10 and 11 find it near.
    assert_eq!(fs.counters.near_not_moved, 3);
    fs.hint(DirId::ROOT);
    let file = FileId(1);
    run(&mut fs, Op::Append { file, bytes: 10 });
    assert!(!is_hot(&fs, 1), "hinted or not");
}

#[test]
fn distances_are_blocks_to_the_nearest_edge() {
    let fs = layer(&Settings {
        third: Third::Files,
        ..settings()
    });
    let middle = fs.outside_map.middle.clone();
    assert_eq!(fs.outside_map.piece(middle.start, 1).0, middle.end);
    for (at, blocks) in [
        (middle.start - 4096, 1),
        (middle.start - 8192, 2),
        (middle.end, 1),
        (middle.end + 4096, 2),
    ] {
        assert_eq!(fs.distance_blocks(at), blocks, "{at}");
    }
}

#[test]
fn hinted_files_are_made_in_the_reserved_area() {
    let mut fs = layer(&settings());
    fs.hint(DirId(2));
    mkdir(&mut fs, 1, 0);
    mkdir(&mut fs, 2, 1);
    mkdir(&mut fs, 3, 2);
    create(&mut fs, 1, 1, 100);
    create(&mut fs, 2, 2, 100);
    create(&mut fs, 3, 3, 100);
    assert_eq!([1, 2, 3].map(|file| is_hot(&fs, file)), [false, true, true]);
    assert_eq!((fs.counters.made_hot, fs.counters.moved_in), (2, 0));
    // Made there, as far as files need them.
    assert!(fs.dirs.iter().all(|dir| dir.mirrored));
    // A file that was there before moves when it is written; reading it does not do that.
    fs.hint(DirId(1));
    read(&mut fs, 1, 1);
    assert!(!is_hot(&fs, 1));
    let file = FileId(1);
    run(&mut fs, Op::Append { file, bytes: 5 });
    assert!(is_hot(&fs, 1));
    assert_eq!(
        (fs.counters.copied_bytes, fs.file_size(file)),
        (100, Some(105))
    );
}

#[test]
fn what_is_cut_to_nothing_is_not_copied() {
    let mut fs = layer(&settings());
    create(&mut fs, 1, 0, 50_000);
    fs.hint(DirId::ROOT);
    let file = FileId(1);
    run(&mut fs, Op::Rewrite { file, bytes: 70 });
    assert!(is_hot(&fs, 1));
    assert_eq!((fs.counters.moved_in, fs.counters.copied_bytes), (1, 0));
    assert_eq!(fs.counters.accesses, 2, "one for each operation");
}

/// With room for two entries the least recently used file goes out, and its count begins anew.
#[test]
fn a_full_hot_table_moves_out_what_was_used_least_recently() {
    let two = Settings {
        hot_entries: Some(2),
        threshold: 1,
        ..settings()
    };
    let mut fs = layer(&two);
    mkdir(&mut fs, 1, 0);
    for file in 1..=3 {
        create(&mut fs, file, 1, 100);
    }
    read(&mut fs, 1, 1);
    read(&mut fs, 2, 1);
    read(&mut fs, 1, 1);
    read(&mut fs, 3, 1);
    assert_eq!([1, 2, 3].map(|file| is_hot(&fs, file)), [true, false, true]);
    assert_eq!((fs.counters.moved_in, fs.counters.moved_out), (3, 1));
    let slot = fs.names.find(FileId(2)).expect("a file");
    assert_eq!(fs.tables.table_of(slot), None);
    // 2 comes back with its second access from now on, and 1 goes.
    read(&mut fs, 2, 1);
    assert!(!is_hot(&fs, 2));
    read(&mut fs, 2, 1);
    assert_eq!([1, 2, 3].map(|file| is_hot(&fs, file)), [false, true, true]);
}

/// Room for four cold entries: the fifth file drops the first one, whose count begins anew.
#[test]
fn a_full_cold_table_drops_what_was_used_least_recently() {
    let four = Settings {
        hot_entries: Some(1),
        cold_times: 4,
        threshold: 2,
        ..settings()
    };
    let mut fs = layer(&four);
    create(&mut fs, 1, 0, 100);
    read(&mut fs, 1, 1);
    for file in 2..=5 {
        create(&mut fs, file, 0, 100);
    }
    assert_eq!(fs.counters.dropped_cold, 1);
    read(&mut fs, 1, 2);
    assert!(!is_hot(&fs, 1));
    read(&mut fs, 1, 1);
    assert!(is_hot(&fs, 1));
}

#[test]
fn room_is_made_for_bytes_and_files_that_never_fit_stay() {
    let mut fs = layer(&settings());
    let capacity = fs.limits.capacity_bytes;
    fs.hint(DirId::ROOT);
    create(&mut fs, 1, 0, capacity / 2);
    create(&mut fs, 2, 0, capacity / 4);
    assert!(is_hot(&fs, 1) && is_hot(&fs, 2));
    create(&mut fs, 3, 0, capacity / 2);
    assert_eq!([1, 2, 3].map(|file| is_hot(&fs, file)), [false, true, true]);
    create(&mut fs, 4, 0, capacity + 1);
    assert!(
        !is_hot(&fs, 4) && is_hot(&fs, 3),
        "nobody makes room for it"
    );
    // One that grows takes the room of the others, then leaves.
    let file = FileId(2);
    let bytes = capacity / 2;
    run(&mut fs, Op::Append { file, bytes });
    assert_eq!([2, 3].map(|file| is_hot(&fs, file)), [true, false]);
    run(&mut fs, Op::Append { file, bytes });
    assert!(!is_hot(&fs, 2));
    assert_eq!(fs.file_size(file), Some(capacity / 4 + 2 * (capacity / 2)));
}

#[test]
fn idle_threads_wait_for_a_pause() {
    let idle = Settings {
        migrate: Migrate::Idle,
        threshold: 1,
        ..settings()
    };
    let mut fs = layer(&idle);
    fs.set_time(0);
    create(&mut fs, 1, 0, 100);
    create(&mut fs, 2, 0, 100);
    read(&mut fs, 1, 3);
    fs.set_time(999_999_999);
    read(&mut fs, 2, 1);
    assert!(!is_hot(&fs, 1) && !is_hot(&fs, 2));
    fs.set_time(1_999_999_999);
    read(&mut fs, 2, 1);
    assert!(is_hot(&fs, 1) && is_hot(&fs, 2));
    create(&mut fs, 3, 0, 100);
    read(&mut fs, 3, 1);
    assert!(!is_hot(&fs, 3));
    run(&mut fs, Op::Sync);
    assert!(is_hot(&fs, 3));
}

#[test]
fn a_file_with_several_names_stays_outside() {
    let mut fs = layer(&settings());
    fs.hint(DirId::ROOT);
    create(&mut fs, 1, 0, 100);
    assert!(is_hot(&fs, 1));
    let link = |file, existing| Op::Link {
        file: FileId(file),
        existing: FileId(existing),
        dir: DirId::ROOT,
    };
    run(&mut fs, link(2, 1));
    assert!(!is_hot(&fs, 1));
    read(&mut fs, 2, 20);
    assert!(!is_hot(&fs, 1));
    run(&mut fs, Op::Delete { file: FileId(1) });
    read(&mut fs, 2, 1);
    assert!(is_hot(&fs, 2), "with its last name it may move again");
}

#[test]
fn renames_stay_in_one_place_and_replace_in_both() {
    let mut fs = layer(&settings());
    mkdir(&mut fs, 1, 0);
    mkdir(&mut fs, 2, 0);
    create(&mut fs, 1, 1, 100);
    create(&mut fs, 2, 2, 200);
    read(&mut fs, 1, 8);
    // Hot over cold.
    run(&mut fs, rename(1, 2, Some(2)));
    assert!(is_hot(&fs, 1) && fs.file_size(FileId(2)).is_none());
    create(&mut fs, 3, 1, 300);
    // Cold over hot.
    run(&mut fs, rename(3, 2, Some(1)));
    assert!(!is_hot(&fs, 3) && fs.file_size(FileId(1)).is_none());
    assert_eq!(fs.reserved.space().unwrap().free_blocks + 1, {
        let fresh = layer(&settings());
        // The directory that was made there stays until room is needed, or it goes itself.
        fresh.reserved.space().unwrap().free_blocks - 1
    });
    run(&mut fs, Op::Rmdir { dir: DirId(1) });
    assert!(!fs.dirs.iter().any(|dir| dir.id == 1 && dir.alive));
}

#[test]
fn a_directory_with_hot_files_is_not_empty_and_moves_in_both_places() {
    let mut fs = layer(&settings());
    mkdir(&mut fs, 1, 0);
    mkdir(&mut fs, 2, 0);
    create(&mut fs, 1, 1, 100);
    read(&mut fs, 1, 8);
    assert!(is_hot(&fs, 1));
    let refused = fs.apply(&Op::Rmdir { dir: DirId(1) });
    assert_eq!(refused, Err(fsage_core::StateError::NotEmpty(DirId(1))));
    run(
        &mut fs,
        Op::RenameDir {
            dir: DirId(1),
            parent: DirId(2),
        },
    );
    run(&mut fs, Op::Delete { file: FileId(1) });
    run(&mut fs, Op::Rmdir { dir: DirId(1) });
    run(&mut fs, Op::Rmdir { dir: DirId(2) });
}

#[test]
fn a_remount_knows_hot_files_by_where_they_are() {
    let mut fs = layer(&settings());
    create(&mut fs, 1, 0, 100);
    create(&mut fs, 2, 0, 100);
    read(&mut fs, 1, 8);
    read(&mut fs, 2, 7);
    run(&mut fs, Op::Remount);
    assert!(is_hot(&fs, 1));
    assert_eq!(fs.tables.len(Table::Cold), 0);
    read(&mut fs, 2, 8);
    assert!(!is_hot(&fs, 2), "its count was lost");
}

#[test]
fn holes_stay_holes_when_a_file_moves() {
    let mut fs = layer(&settings());
    create(&mut fs, 1, 0, 5000);
    let file = FileId(1);
    run(
        &mut fs,
        Op::Write {
            file,
            offset: 100 * 4096,
            bytes: 10,
        },
    );
    run(
        &mut fs,
        Op::Truncate {
            file,
            bytes: 500_000,
        },
    );
    let blocks = |fs: &AdaptiveFiles<Ext3>| {
        let mapped = (0..123).filter(|&lbn| fs.block_map(file, lbn).buffer.is_some());
        mapped.collect::<Vec<u32>>()
    };
    assert_eq!(blocks(&fs), [0, 1, 100]);
    read(&mut fs, 1, 8);
    assert!(is_hot(&fs, 1));
    assert_eq!(blocks(&fs), [0, 1, 100]);
    assert_eq!(fs.file_size(file), Some(500_000));
}

/// Read, write, both syncs: what a move emits for a host, in the addresses of the disk.
#[test]
fn a_move_is_emitted_as_what_it_does() {
    use fsage_core::io::{Buffer, BufferId, Io};
    let mut fs = layer(&settings());
    create(&mut fs, 1, 0, 2 * 4096);
    read(&mut fs, 1, 7);
    fs.emit(true);
    let (old, ino) = (
        fs.block_map(FileId(1), 0).buffer.expect("a block"),
        fs.buffers_of(FileId(1)),
    );
    read(&mut fs, 1, 1);
    let new = fs.block_map(FileId(1), 0).buffer.expect("a block");
    assert_ne!(fs.buffers_of(FileId(1)), ino);
    let middle = fs.outside_map.middle.clone();
    let emitted = fs.emitted().clone();
    let at = |wanted: &dyn Fn(&Io) -> bool| emitted.iter().position(wanted).expect("it is emitted");
    let read = at(&|io| *io == Io::NeedGroup(old, (old.start_bytes, 8192)));
    let written = at(&|io| matches!(io, Io::Fill(buffer, _) if *buffer == new));
    let pushed = at(&|io| matches!(io, Io::Push { ino, .. } if Some(*ino) == new.id.ino()));
    let gone = at(&|io| matches!(io, Io::Discard { ino, from: 0 } if Some(*ino) == old.id.ino()));
    assert!(read < written && written < pushed && pushed < gone);
    for io in &emitted {
        if let Io::Fill(
            Buffer {
                id, start_bytes, ..
            },
            _,
        ) = io
            && let BufferId::Data { .. } = id
        {
            assert!(middle.contains(start_bytes));
        }
    }
}

/// Without a move the layer is a file system on the part before the middle, block for block.
#[test]
fn what_never_gets_hot_lies_as_the_plain_model_puts_it() {
    let mut fs = layer(&settings());
    let mut plain = fs.outside.clone();
    for i in 0..200_u64 {
        let op = match i % 5 {
            4 => Op::Delete {
                file: FileId(i - 2),
            },
            3 => Op::Append {
                file: FileId(i - 1),
                bytes: 3000 * (i % 7),
            },
            _ => Op::Create {
                file: FileId(i),
                dir: DirId::ROOT,
                bytes: 700 * i,
            },
        };
        assert_eq!(fs.apply(&op), plain.apply(&op));
    }
    for file in (0..200).map(FileId) {
        for lbn in 0..40 {
            let place = |fs: &dyn Hosted| fs.block_map(file, lbn).buffer.map(|b| b.start_bytes);
            assert_eq!(place(&fs), place(&plain));
        }
    }
}

/// What a crash leaves of an unsynced copy.
#[derive(Clone, Copy, Debug)]
enum Torn {
    /// All of it.
    Whole,
    /// So many parts of 255.
    Cut(u8),
    /// Nothing.
    Lost,
}

#[derive(Clone, Debug)]
enum Act {
    Create {
        dir: u8,
        bytes: u32,
    },
    Write {
        file: u8,
        offset: u32,
        bytes: u32,
    },
    Truncate {
        file: u8,
        bytes: u32,
    },
    Read {
        file: u8,
        times: u8,
    },
    Delete {
        file: u8,
    },
    Rename {
        file: u8,
        dir: u8,
    },
    Mkdir {
        parent: u8,
    },
    /// A file begins to move to the other place, and the machine stops after so many steps.
    Crash {
        file: u8,
        steps: u8,
        torn: Torn,
    },
}

fn act() -> impl Strategy<Value = Act> {
    let any = any::<u8>;
    let bytes = || prop_oneof![6 => 0_u32..20_000, 1 => 0_u32..600_000];
    let torn = prop_oneof![
        Just(Torn::Whole),
        any().prop_map(Torn::Cut),
        Just(Torn::Lost)
    ];
    prop_oneof![
        6 => (any(), bytes()).prop_map(|(dir, bytes)| Act::Create { dir, bytes }),
        3 => (any(), bytes(), bytes())
            .prop_map(|(file, offset, bytes)| Act::Write { file, offset, bytes }),
        1 => (any(), bytes()).prop_map(|(file, bytes)| Act::Truncate { file, bytes }),
        3 => (any(), 1_u8..9).prop_map(|(file, times)| Act::Read { file, times }),
        2 => any().prop_map(|file| Act::Delete { file }),
        2 => (any(), any()).prop_map(|(file, dir)| Act::Rename { file, dir }),
        1 => any().prop_map(|parent| Act::Mkdir { parent }),
        4 => (any(), 0_u8..5, torn)
            .prop_map(|(file, steps, torn)| Act::Crash { file, steps, torn }),
    ]
}

/// The machine stops while a file moves: before its step number `steps`, with what was not synced in any state.
fn crash(fs: &mut AdaptiveFiles<Ext3>, slot: u32, steps: u8, torn: Torn) {
    if fs.is_bound(slot) {
        return;
    }
    let file = fs.id_of(slot);
    let (dir, bytes) = (fs.names.file(slot).dir, fs.file_size(file).unwrap_or(0));
    if !fs.tables.is_hot(slot) && !fs.make_room_in(dir, bytes) {
        return;
    }
    fs.begin_move(slot);
    for _ in 0..steps {
        if fs.advance().is_err() || fs.moving.is_none() {
            break;
        }
    }
    // Until it is synced the copy may be anything from nothing to whole.
    if let Some(moving @ Move { step, .. }) = fs.moving
        && step == Step::SyncCopy
    {
        let bytes = fs.part(moving.to()).file_size(file).unwrap_or(0);
        match torn {
            Torn::Whole => {}
            Torn::Cut(to) => {
                let bytes = bytes * u64::from(to) / 255;
                fs.apply_to(moving.to(), &Op::Truncate { file, bytes });
            }
            Torn::Lost => {
                fs.apply_to(moving.to(), &Op::Delete { file });
            }
        }
    }
    fs.recover();
}

fn sound(fs: &AdaptiveFiles<Ext3>, what: &dyn Debug) -> Result<(), TestCaseError> {
    fs.check()
        .map_err(|e: Inconsistency| TestCaseError::fail(format!("{what:?}: {:?}", e.findings)))
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 96,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// What is alive is kept beside the layer, with sizes; a file that was moving has its data where it had them.
    #[test]
    fn no_crash_in_a_move_loses_a_file(
        acts in prop::collection::vec(act(), 1..80),
        ext2 in any::<bool>(),
        third in any::<bool>(),
        hinted in any::<bool>(),
    ) {
        let settings = Settings {
            threshold: 3,
            third: if third { Third::Files } else { Third::Unused },
            hot_entries: Some(6),
            ..settings()
        };
        let mut fs = layer_over(&settings, if ext2 { Mode::Ext2 } else { Mode::Ext3 });
        if hinted {
            fs.hint(DirId(1));
        }
        let mut alive: Vec<(FileId, u64)> = Vec::new();
        let (mut next, mut dirs) = (1_u64, 1_u64);
        for act in &acts {
            let pick = |file: u8| (!alive.is_empty()).then(|| usize::from(file) % alive.len());
            let op = match *act {
                Act::Create { dir, bytes } => {
                    let (file, bytes) = (FileId(next), u64::from(bytes));
                    next += 1;
                    alive.push((file, bytes));
                    Op::Create { file, dir: DirId(u64::from(dir) % dirs), bytes }
                }
                Act::Write { file, offset, bytes } => {
                    let Some(at) = pick(file) else { continue };
                    let (offset, bytes) = (u64::from(offset), u64::from(bytes));
                    if bytes > 0 {
                        alive[at].1 = alive[at].1.max(offset + bytes);
                    }
                    Op::Write { file: alive[at].0, offset, bytes }
                }
                Act::Truncate { file, bytes } => {
                    let Some(at) = pick(file) else { continue };
                    alive[at].1 = bytes.into();
                    Op::Truncate { file: alive[at].0, bytes: bytes.into() }
                }
                Act::Read { file, times } => {
                    let Some(at) = pick(file) else { continue };
                    for _ in 1..times {
                        let read = Op::Read { file: alive[at].0, range: None };
                        prop_assert_eq!(fs.apply(&read), Ok(Outcome::Done));
                    }
                    Op::Read { file: alive[at].0, range: None }
                }
                Act::Delete { file } => {
                    let Some(at) = pick(file) else { continue };
                    Op::Delete { file: alive.swap_remove(at).0 }
                }
                Act::Rename { file, dir } => {
                    let Some(at) = pick(file) else { continue };
                    rename(alive[at].0.0, u64::from(dir) % dirs, None)
                }
                Act::Mkdir { parent } => {
                    let (dir, parent) = (DirId(dirs), Some(DirId(u64::from(parent) % dirs)));
                    dirs += 1;
                    Op::Mkdir { dir, parent }
                }
                Act::Crash { file, steps, torn } => {
                    let Some(at) = pick(file) else { continue };
                    let (file, bytes) = alive[at];
                    let slot = fs.names.find(file).expect("a file");
                    let data = fs.data_runs(fs.part_of(slot), file, bytes);
                    crash(&mut fs, slot, steps, torn);
                    prop_assert_eq!(fs.data_runs(fs.part_of(slot), file, bytes), data);
                    Op::Sync
                }
            };
            prop_assert_eq!(fs.apply(&op), Ok(Outcome::Done), "{:?}", op);
            sound(&fs, act)?;
            for &(file, bytes) in &alive {
                prop_assert_eq!(fs.file_size(file), Some(bytes), "{:?} after {:?}", file, act);
            }
            prop_assert_eq!(fs.names.len(), alive.len());
        }
    }
}
