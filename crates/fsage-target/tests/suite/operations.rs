//! The replay on a directory does, refuses and skips what the rules of `fsage_core::operations` say, however operations
//! end and on however many threads.
//!
//! Expected values: the rules alone, with tables of names and lengths and no disk.

#[path = "../../../fsage-models/tests/suite/steps/rules.rs"]
mod rules;

use crate::any_op::any_op_of;
use crate::tree::{check, create, delete, open};
use fsage_core::{DirId, Event, FileId, Op, OpCounts, Outcome, Rng, StateError};
use fsage_real::RealError;
use fsage_real::directory::{Deviation, Directory, Options};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use rules::{End, Rules, Sound};

/// Ids that operations meet on.
const IDS: u64 = 24;

fn with_threads(threads: usize) -> Options {
    Options {
        threads,
        ..Options::default()
    }
}

/// The rules as Linux goes by them.
fn of_linux() -> Rules {
    let mut rules = Rules::new();
    rules.links_take_data = false;
    rules
}

/// The outcome of the one operation that was counted.
fn outcome(applied: Result<(), RealError>, counts: &OpCounts) -> Result<Outcome, StateError> {
    match applied {
        Ok(()) => {}
        Err(RealError::State { error, .. }) => return Err(error),
        Err(error) => panic!("{error}"),
    }
    assert_eq!(counts.operations(), 1);
    Ok(match counts {
        OpCounts { done: 1, .. } => Outcome::Done,
        OpCounts { ignored: 1, .. } => Outcome::Ignored,
        OpCounts { no_space: 1, .. } => Outcome::NoSpace,
        OpCounts { no_inode: 1, .. } => Outcome::NoInode,
        OpCounts { too_large: 1, .. } => Outcome::TooLarge,
        _ => Outcome::Absent,
    })
}

/// Applies an operation by system calls.
fn live(directory: &mut Directory, op: Op) -> Result<Outcome, StateError> {
    let mut counts = OpCounts::default();
    let applied = directory.apply(&[Event::new(op)], &mut counts, false);
    outcome(applied, &counts)
}

/// Takes over an operation that is known to have ended so.
fn known(directory: &mut Directory, op: Op, end: End) -> Result<Outcome, StateError> {
    let deviation = Deviation {
        event_index: directory.events_done(),
        outcome: end.outcome,
        size_bytes: end.bytes,
        written_bytes: 0,
        other_names: 0,
    };
    let deviation = (end.outcome != Outcome::Done).then_some(&deviation);
    let mut counts = OpCounts::default();
    let applied = directory.replay_known(&Event::new(op), deviation, &mut counts, false);
    outcome(applied, &counts)
}

/// The file whose data an operation changes, reads or flushes.
fn data_of(op: &Op) -> Option<FileId> {
    match *op {
        Op::Create { .. } => None,
        Op::Read { file, .. } | Op::Fsync { file } => Some(file),
        _ => op.written_file(),
    }
}

/// Some end of an operation, as a real file system may end it.
fn some_end(rules: &Rules, op: &Op, rng: &mut Rng) -> End {
    let size = |file| rules.file_size(file).unwrap_or(0);
    if data_of(op).is_some_and(|file| rules.is_symlink(file)) {
        return End::nothing(Outcome::Ignored);
    }
    let last = match *op {
        Op::Append { file, bytes } => size(file).saturating_add(bytes),
        Op::Write { offset, bytes, .. } | Op::Fallocate { offset, bytes, .. } => {
            offset.saturating_add(bytes)
        }
        Op::Create { bytes, .. } | Op::Rewrite { bytes, .. } | Op::Truncate { bytes, .. } => bytes,
        _ => 0,
    };
    let too_large = last > i64::MAX as u64;
    if !too_large && rng.chance(0.6) {
        return End::DONE;
    }
    let outcome = match rng.below(3) {
        _ if too_large => Outcome::TooLarge,
        0 => Outcome::NoSpace,
        1 => Outcome::NoInode,
        _ => Outcome::TooLarge,
    };
    let left = Some(rng.below(100_000));
    match *op {
        Op::Read { .. } | Op::Fsync { .. } | Op::Sync => End::DONE,
        Op::Punch { .. } | Op::Remount => End::nothing(Outcome::Ignored),
        Op::Create { .. } => End {
            outcome,
            bytes: left.filter(|_| rng.chance(0.5)),
        },
        Op::Fallocate { file, .. } if rng.chance(0.3) => End {
            outcome: Outcome::Ignored,
            bytes: Some(size(file)),
        },
        _ if op.written_file().is_some() => End {
            outcome,
            bytes: left,
        },
        _ => End::nothing(outcome),
    }
}

/// What a replay does not apply, or lays out in a way of its own, is changed to what it does.
fn as_replayed(op: Op) -> Option<Op> {
    match op {
        Op::Day => None,
        _ if op.verb().is_probe() => None,
        // Linux has no empty ones.
        Op::Symlink { file, dir, bytes } => Some(Op::Symlink {
            file,
            dir,
            bytes: bytes.max(1),
        }),
        op => Some(op),
    }
}

/// Takes operations over that end anyhow, on one thread and on four; gives how many were skipped.
fn follow(ops: &[Op], seed: u64) -> Result<u64, TestCaseError> {
    let folder = tempfile::tempdir().unwrap();
    let mut skipped = 0;
    for threads in [1, 4] {
        let mut directory = open(folder.path(), with_threads(threads));
        let mut rules = of_linux();
        let mut rng = Rng::new(seed);
        for op in ops.iter().copied().filter_map(as_replayed) {
            let end = some_end(&rules, &op, &mut rng);
            let wanted = rules.apply(&op, || end);
            let found = known(&mut directory, op, end);
            prop_assert_eq!(found, wanted, "{:?}, {:?}, {} threads", op, end, threads);
            for id in (0..IDS).map(FileId) {
                prop_assert_eq!(directory.file_size(id), rules.file_size(id), "{:?}", op);
            }
            skipped += u64::from(wanted == Ok(Outcome::Absent));
        }
    }
    Ok(skipped)
}

fn bytes() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0..9_000_u64, 1 => 60_000..200_000_u64]
}

/// An operation that a disk has room for: what is long is longer than any file can be.
fn on_a_disk(op: Op) -> Op {
    let fit = |bytes: &mut u64| match *bytes {
        0..=200_000 => {}
        long if long < 1 << 62 => *bytes %= 200_000,
        _ => *bytes |= 1 << 63,
    };
    let mut op = op;
    match &mut op {
        Op::Create { bytes, .. }
        | Op::Append { bytes, .. }
        | Op::Rewrite { bytes, .. }
        | Op::Truncate { bytes, .. }
        | Op::Symlink { bytes, .. } => fit(bytes),
        Op::Write { offset, bytes, .. }
        | Op::Fallocate { offset, bytes, .. }
        | Op::Punch { offset, bytes, .. }
        | Op::Overwrite {
            range: Some((offset, bytes)),
            ..
        }
        | Op::Read {
            range: Some((offset, bytes)),
            ..
        } => {
            fit(offset);
            fit(bytes);
        }
        _ => {}
    }
    op
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 48,
        max_shrink_iters: 400,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_replay_follows_the_rules_however_operations_end(
        ops in prop::collection::vec(any_op_of(bytes()), 1..250),
        seed in any::<u64>(),
    ) {
        follow(&ops, seed)?;
    }

    #[test]
    fn a_replay_by_system_calls_follows_the_rules(
        ops in prop::collection::vec(any_op_of(bytes()).prop_map(on_a_disk), 1..80),
    ) {
        for threads in [1, 4] {
            let folder = tempfile::tempdir().unwrap();
            let mut directory = open(folder.path(), with_threads(threads));
            let mut rules = of_linux();
            for op in ops.iter().copied().filter_map(as_replayed) {
                let found = live(&mut directory, op);
                let written = op.written_file();
                let mut was_done = false;
                let wanted = rules.apply(&op, || {
                    was_done = true;
                    End {
                        outcome: found.unwrap_or(Outcome::Absent),
                        bytes: written.and_then(|file| directory.file_size(file)),
                    }
                });
                prop_assert_eq!(found, wanted, "{:?}, {} threads", op, threads);
                // What is ignored may be so by the rules or by the file system.
                if found != Ok(Outcome::Ignored) {
                    let is_skipped = matches!(found, Err(_) | Ok(Outcome::Absent));
                    prop_assert_eq!(is_skipped, !was_done, "{:?}: {:?}", op, found);
                }
                for id in (0..IDS).map(FileId) {
                    prop_assert_eq!(directory.file_size(id), rules.file_size(id), "{:?}", op);
                }
            }
            check(folder.path(), &directory.expected());
        }
    }
}

/// What fits where there is room is never refused where there is none, even by file systems on which names cannot go.
#[test]
fn a_sound_workload_is_never_refused_however_its_operations_end() {
    let mut skipped = 0;
    for seed in 0..30 {
        let mut sound = Sound::new(seed, 4 + seed % (IDS - 4));
        let ops: Vec<Op> = (0..400).map(|_| sound.next()).collect();
        skipped += follow(&ops, seed).unwrap();
    }
    assert!(skipped > 1000, "{skipped}");
    // The rules refuse nothing of it: `fsage-models`, `shortfall.rs`.
}

const NO_SPACE: End = End {
    outcome: Outcome::NoSpace,
    bytes: None,
};

fn mkdir(dir: u64) -> Op {
    let (dir, parent) = (DirId(dir), None);
    Op::Mkdir { dir, parent }
}

/// What is known of a name goes with it from shard to shard.
#[test]
fn a_name_that_could_not_be_removed_may_be_made_again_wherever_it_was_moved() {
    for threads in [1, 4] {
        let folder = tempfile::tempdir().unwrap();
        let mut directory = open(folder.path(), with_threads(threads));
        for dir in 1..=4 {
            known(&mut directory, mkdir(dir), End::DONE).unwrap();
        }
        let file = FileId(1);
        let mut end = |op, end| known(&mut directory, op, end);
        let create = |dir| create(1, dir, 10).op;
        assert_eq!(end(create(1), End::DONE), Ok(Outcome::Done));
        assert_eq!(end(delete(1).op, NO_SPACE), Ok(Outcome::NoSpace));
        assert_eq!(end(create(1), End::DONE), Ok(Outcome::Absent));
        let (dir, replaced) = (DirId(2), None);
        let rename = Op::Rename {
            file,
            dir,
            replaced,
        };
        assert_eq!(end(rename, End::DONE), Ok(Outcome::Done));
        assert_eq!(end(delete(1).op, NO_SPACE), Ok(Outcome::NoSpace));
        assert_eq!(end(create(3), End::DONE), Ok(Outcome::Absent), "{threads}");
        // Another one is there as it should be: that is an error still.
        let other = |dir| crate::tree::create(2, dir, 10).op;
        assert_eq!(end(other(1), End::DONE), Ok(Outcome::Done));
        let exists = Err(StateError::FileExists(FileId(2)));
        assert_eq!(end(other(1), End::DONE), exists);
    }
}

/// It is short whatever name it is left with.
#[test]
fn a_short_file_is_known_to_be_short_by_the_name_that_is_left() {
    for threads in [1, 4] {
        let folder = tempfile::tempdir().unwrap();
        let mut directory = open(folder.path(), with_threads(threads));
        let mut end = |op, end| known(&mut directory, op, end);
        end(mkdir(1), End::DONE).unwrap();
        let short = End {
            bytes: Some(100),
            ..NO_SPACE
        };
        let (file, existing, dir) = (FileId(2), FileId(1), DirId(1));
        let link = Op::Link {
            file,
            existing,
            dir,
        };
        let range = Some((5000, 10));
        let overwrite = Op::Overwrite { file, range };
        assert_eq!(end(create(1, 0, 9000).op, short), Ok(Outcome::NoSpace));
        assert_eq!(end(link, End::DONE), Ok(Outcome::Done));
        assert_eq!(end(overwrite, End::DONE), Ok(Outcome::Absent));
        assert_eq!(end(delete(1).op, End::DONE), Ok(Outcome::Done));
        assert_eq!(end(overwrite, End::DONE), Ok(Outcome::Absent), "{threads}");
    }
}

/// What cannot be written to a symbolic link is missing nowhere else: an overwrite beyond the end of another file is an
/// error of the workload, whatever names that has.
#[test]
fn what_a_symbolic_link_cannot_take_excuses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut directory = open(folder.path(), with_threads(1));
    let mut live = |op| live(&mut directory, op);
    let (link, file, name, dir) = (FileId(1), FileId(2), FileId(3), DirId::ROOT);
    let bytes = 100;
    let overwrite = |file, end| Op::Overwrite {
        file,
        range: Some((0, end)),
    };
    let symlink = Op::Symlink {
        file: link,
        dir,
        bytes: 5,
    };
    assert_eq!(live(symlink), Ok(Outcome::Done));
    let append = Op::Append { file: link, bytes };
    assert_eq!(live(append), Ok(Outcome::Ignored));
    assert_eq!(live(overwrite(link, 105)), Ok(Outcome::Ignored));
    assert_eq!(live(create(2, 0, bytes).op), Ok(Outcome::Done));
    let second = Op::Link {
        file: name,
        existing: file,
        dir,
    };
    assert_eq!(live(second), Ok(Outcome::Done));
    let beyond = Err(StateError::BeyondEnd(bytes));
    assert_eq!(live(overwrite(name, 500)), beyond);
}
