//! What every policy has to keep, and what operations do that the reference does not know.
//!
//! Expected values are what the contract of `FileSystem` says, and what POSIX says of names and links.

use crate::steps;
use crate::steps::any_op;
use crate::steps::{Live, Player, Setup, cases, setup, step};
use fsage_core::{DirId, Event, FileId, FileKind, FileSystem, Layout, Op, Outcome, StateError};
use fsage_models::ffs::{self, Ffs, Params, policy};
use fsage_models::microscope::WorkloadTrace as _;
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use std::fmt::Write as _;

/// Geometry, groups, directories, files with every address.
fn print(fs: &Ffs) -> Vec<u8> {
    let mut trace = ffs::Trace::new(fs.clone());
    let mut out = Vec::new();
    for probe in [Op::Geom, Op::Cgs, Op::Dump] {
        trace
            .step(&Event::new(probe), b"", &mut out)
            .expect("a Vec takes everything");
    }
    out
}

fn sound(fs: &Ffs, after: &Op) -> Result<(), TestCaseError> {
    fs.check()
        .map_err(|e| TestCaseError::fail(format!("{after:?}: {:?}", e.findings)))
}

// ---- Every policy ----

/// One file system, watched at every operation.
struct Watched {
    fs: Ffs,
    log: Vec<(Op, Result<Outcome, StateError>)>,
}

/// Most blocks that writing the bytes of an operation may need: data, the last block made whole, pointers
/// (single, double and one level-1 block in every `nindir` blocks), a chunk of the directory.
fn most_blocks(op: &Op, bytes: u64, fs: &Ffs) -> u64 {
    let g = fs.sizes();
    let data = bytes / g.bsize + 2;
    match op {
        Op::Mkdir { .. } => 2,
        _ => data + 2 + data / g.nindir + 2 + 1,
    }
}

impl Watched {
    /// Space may only run out where there is none.
    fn judge(op: &Op, before: &Ffs, outcome: Outcome) -> Result<(), TestCaseError> {
        let (t, g) = (before.totals(), before.sizes());
        match outcome {
            Outcome::NoInode => prop_assert_eq!(t.nifree, 0, "{:?}", op),
            Outcome::NoSpace => {
                let bytes = match *op {
                    Op::Overwrite { file, .. } => before.file_size(file).unwrap_or(0),
                    _ => op.bytes_written(),
                };
                let most = most_blocks(op, bytes, before);
                let reserve = g.dsize * g.minfree / 100;
                let free = t.nbfree * g.frag + t.nffree;
                let at_reserve = !before.params().superuser && free <= reserve + most * g.frag;
                prop_assert!(
                    at_reserve || t.nbfree <= most,
                    "{:?} found no space, with {} free blocks, {} free fragments, a reserve of {}",
                    op,
                    t.nbfree,
                    t.nffree,
                    reserve
                );
            }
            _ => {}
        }
        Ok(())
    }
}

impl Player for Watched {
    fn ffs(&self) -> &Ffs {
        &self.fs
    }

    fn apply(&mut self, op: Op) -> Result<Result<Outcome, StateError>, TestCaseError> {
        let before = self.fs.clone();
        let got = self.fs.apply(&op);
        match got {
            Ok(outcome) => Watched::judge(&op, &before, outcome)?,
            Err(_) => prop_assert!(
                print(&before) == print(&self.fs),
                "{:?} failed, but not without a trace",
                op
            ),
        }
        // No used block is given out twice, or the check would find two owners.
        sound(&self.fs, &op)?;
        self.log.push((op, got));
        Ok(got)
    }
}

/// Plays the steps, then the same operations again on a new file system, and from the middle on a clone.
fn conforms(setup: &Setup, steps: &[steps::Step]) -> Result<(), TestCaseError> {
    let new = || Ffs::new(setup.params()).expect("setups are those that newfs accepts");
    let mut first = Watched {
        fs: new(),
        log: Vec::new(),
    };
    let mut live = Live::new();
    for step in steps {
        live.play(&mut first, step)?;
    }
    let mut second = new();
    let mut clone = None;
    for (i, (op, outcome)) in first.log.iter().enumerate() {
        if i == first.log.len() / 2 {
            clone = Some(second.clone());
        }
        prop_assert_eq!(&second.apply(op), outcome, "the second time, {:?}", op);
        if let Some(clone) = &mut clone {
            prop_assert_eq!(&clone.apply(op), outcome, "on a clone, {:?}", op);
        }
    }
    let printed = print(&first.fs);
    prop_assert!(printed == print(&second), "another state the second time");
    if let Some(clone) = clone {
        prop_assert!(printed == print(&clone), "another state on a clone");
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(25))]

    #[test]
    fn every_policy_conforms(
        setup in setup(),
        steps in prop::collection::vec(step(), 1..50),
    ) {
        for policy in 0..policy::ALL.len() {
            conforms(&Setup { policy, ..setup.clone() }, &steps)
                .map_err(|e| TestCaseError::fail(format!("{}: {e}", policy::ALL[policy].name())))?;
        }
    }
}

// ---- Every verb, with any arguments ----

/// What can be seen of a state. Not a dump: that prints every hole of a file of terabytes.
fn looks(fs: &Ffs) -> String {
    let mut out = format!("{:?} {:?}\n", fs.totals(), fs.optimization());
    for c in 0..fs.sizes().ncg {
        writeln!(out, "{:?}", fs.group(c)).expect("a String takes everything");
    }
    for dir in fs.directories() {
        writeln!(out, "{dir:?}").expect("a String takes everything");
    }
    fs.visit_files(&mut |file| {
        writeln!(out, "{file:?}").expect("a String takes everything");
    });
    for id in 0..6 {
        write!(out, "{:?} ", fs.file_size(FileId(id))).expect("a String takes everything");
    }
    out
}

/// Names of all inodes as `visit_files` gives them: ascending, with their number of links.
fn links(fs: &Ffs) -> Vec<(u64, u32)> {
    let mut all = Vec::new();
    fs.visit_files(&mut |file| {
        if file.kind != FileKind::Directory {
            all.push((file.ino, file.links));
        }
    });
    all.sort_unstable();
    all
}

proptest! {
    #![proptest_config(cases(250))]

    #[test]
    fn every_verb_with_any_arguments_is_answered_and_an_error_changes_nothing(
        setup in setup(),
        ops in prop::collection::vec(any_op(), 1..120),
    ) {
        let mut fs = Ffs::new(setup.params()).expect("setups are those that newfs accepts");
        // Was never asked for what is refused: a refusal leaves nothing that would show later.
        let mut unbothered = fs.clone();
        for op in ops {
            let before = fs.clone();
            let names_before: u32 = links(&fs).iter().map(|(_, n)| n).sum();
            let got = fs.apply(&op);
            sound(&fs, &op)?;
            let mut next = unbothered.clone();
            prop_assert_eq!(next.apply(&op), got, "{:?} on a file system that never refused one", op);
            if got.is_ok() {
                unbothered = next;
            }
            let changes_nothing = matches!(
                got,
                Err(_) | Ok(Outcome::Ignored | Outcome::Absent | Outcome::NoInode)
            ) || matches!(op, Op::Read { .. } | Op::Fsync { .. } | Op::Sync | Op::Remount);
            if changes_nothing || op.verb().is_probe() {
                prop_assert_eq!(looks(&before), looks(&fs), "{:?}: {:?}", op, got);
            }
            // A file that may not be that long is made or emptied, and no more.
            let makes_or_empties =
                matches!(op, Op::Rewrite { .. } | Op::Create { .. } | Op::Symlink { .. });
            if got == Ok(Outcome::TooLarge) && !makes_or_empties {
                prop_assert_eq!(looks(&before), looks(&fs), "{:?} too large", op);
            }
            let names: u32 = links(&fs).iter().map(|(_, n)| n).sum();
            let gained = i64::from(names) - i64::from(names_before);
            let expected = match (op, got) {
                (Op::Link { .. } | Op::Create { .. } | Op::Symlink { .. }, Ok(Outcome::Done))
                | (Op::Create { .. } | Op::Symlink { .. }, Ok(Outcome::TooLarge)) => 1,
                (Op::Create { file, .. } | Op::Symlink { file, .. }, Ok(Outcome::NoSpace)) =>
                    i64::from(fs.file_size(file).is_some()),
                (Op::Delete { .. }, Ok(Outcome::Done)) => -1,
                // A name that lack of space kept from being made is not there to be replaced.
                (Op::Rename { file, replaced: Some(other), .. }, Ok(Outcome::Done)) if file != other =>
                    -i64::from(before.file_size(other).is_some()),
                _ => 0,
            };
            prop_assert_eq!(gained, expected, "names gained by {:?}: {:?}", op, got);
        }
    }
}

// ---- Names, links, symbolic links, ranges ----

fn tiny(dirent_bytes: u64) -> Ffs {
    let params = Params {
        dirent_bytes,
        ..Params::preset("tiny").expect("a preset")
    };
    Ffs::new(params).expect("a preset is accepted")
}

fn done(fs: &mut Ffs, op: Op) {
    assert_eq!(fs.apply(&op), Ok(Outcome::Done), "{op:?}");
    assert_eq!(fs.check(), Ok(()), "{op:?}");
}

fn mkdir(fs: &mut Ffs, dir: u64) {
    let (dir, parent) = (DirId(dir), None);
    done(fs, Op::Mkdir { dir, parent });
}

fn create(fs: &mut Ffs, file: u64, dir: u64, bytes: u64) {
    let (file, dir) = (FileId(file), DirId(dir));
    done(fs, Op::Create { file, dir, bytes });
}

fn delete(fs: &mut Ffs, file: u64) {
    done(fs, Op::Delete { file: FileId(file) });
}

fn link(fs: &mut Ffs, file: u64, existing: u64, dir: u64) {
    let (file, existing, dir) = (FileId(file), FileId(existing), DirId(dir));
    done(
        fs,
        Op::Link {
            file,
            existing,
            dir,
        },
    );
}

fn rename(file: u64, dir: u64, replaced: Option<u64>) -> Op {
    Op::Rename {
        file: FileId(file),
        dir: DirId(dir),
        replaced: replaced.map(FileId),
    }
}

/// Inode and size of a file by id.
fn inode(fs: &Ffs, id: u64) -> Option<(u64, u64)> {
    let mut found = None;
    fs.visit_blocks(|file| {
        if file.id == id {
            found = Some((file.ino, file.size));
        }
    });
    found
}

#[test]
fn an_inode_lives_until_its_last_name_goes() {
    for order in [[1, 2, 3], [2, 3, 1], [3, 1, 2]] {
        let mut fs = tiny(24);
        mkdir(&mut fs, 1);
        mkdir(&mut fs, 2);
        let empty = fs.totals();
        create(&mut fs, 1, 1, 20_000);
        let with_file = fs.totals();
        link(&mut fs, 2, 1, 2);
        link(&mut fs, 3, 2, 1);
        assert_eq!(fs.totals(), with_file, "a link takes no space and no inode");
        assert_eq!((fs.file_count(), links(&fs)[0].1), (1, 3));
        let done_to_one = Op::Append {
            file: FileId(3),
            bytes: 1000,
        };
        done(&mut fs, done_to_one);
        let sizes = [1, 2, 3].map(|id| fs.file_size(FileId(id)));
        assert_eq!(sizes, [Some(21_000); 3], "all names are of one file");

        delete(&mut fs, order[0]);
        delete(&mut fs, order[1]);
        assert_eq!(fs.file_size(FileId(order[0])), None);
        assert_eq!(fs.file_size(FileId(order[2])), Some(21_000));
        assert_eq!(links(&fs)[0].1, 1);
        delete(&mut fs, order[2]);
        assert_eq!(fs.totals(), empty);
        assert_eq!(fs.file_count(), 0);
    }
}

#[test]
fn a_rename_frees_what_it_replaces_unless_that_has_another_name() {
    let mut fs = tiny(24);
    mkdir(&mut fs, 1);
    create(&mut fs, 1, 0, 5000);
    let one_file = fs.totals();
    create(&mut fs, 2, 1, 90_000);
    let moved = inode(&fs, 1);
    done(&mut fs, rename(1, 1, Some(2)));
    assert_eq!(fs.totals(), one_file, "the replaced file is gone");
    assert_eq!(
        inode(&fs, 1),
        moved,
        "the file that moved is the same inode"
    );
    assert_eq!(fs.file_size(FileId(2)), None);

    create(&mut fs, 3, 1, 10_000);
    link(&mut fs, 4, 3, 0);
    let before = fs.totals();
    done(&mut fs, rename(1, 1, Some(3)));
    assert_eq!(fs.totals(), before, "the replaced inode has a name left");
    assert_eq!(fs.file_size(FileId(4)), Some(10_000));
}

#[test]
fn a_rename_over_another_name_of_the_same_file_leaves_one_name() {
    // 4.4BSD: `rename` of two names of one inode removes the first (`ufs_rename`, "delete source").
    for (moved, replaced, dir) in [(1, 2, 1), (2, 1, 0)] {
        let mut fs = tiny(24);
        mkdir(&mut fs, 1);
        create(&mut fs, 1, 0, 5000);
        link(&mut fs, 2, 1, 1);
        done(&mut fs, rename(moved, dir, Some(replaced)));
        assert_eq!(fs.file_size(FileId(moved)), Some(5000));
        assert_eq!(fs.file_size(FileId(replaced)), None);
        assert_eq!(links(&fs)[0].1, 1);
        delete(&mut fs, moved);
        assert_eq!(fs.file_count(), 0);
    }
}

#[test]
fn a_rename_moves_the_name_and_nothing_else() {
    let mut fs = tiny(100);
    mkdir(&mut fs, 1);
    create(&mut fs, 1, 0, 5000);
    let (file, totals) = (inode(&fs, 1), fs.totals());
    done(&mut fs, rename(1, 1, None));
    assert_eq!((inode(&fs, 1), fs.totals()), (file, totals));
    // The directory is not empty now, and the root is not its place any more.
    assert_eq!(
        fs.apply(&Op::Rmdir { dir: DirId(1) }),
        Err(StateError::NotEmpty(DirId(1)))
    );
    done(&mut fs, rename(1, 0, None));
    done(&mut fs, Op::Rmdir { dir: DirId(1) });
}

#[test]
fn a_rename_that_cannot_be_says_why() {
    let mut fs = tiny(24);
    mkdir(&mut fs, 1);
    create(&mut fs, 1, 0, 5000);
    create(&mut fs, 2, 0, 5000);
    let before = looks(&fs);
    assert_eq!(
        fs.apply(&rename(9, 1, None)),
        Err(StateError::NoFile(FileId(9)))
    );
    assert_eq!(
        fs.apply(&rename(1, 9, None)),
        Err(StateError::NoDirectory(DirId(9)))
    );
    assert_eq!(
        fs.apply(&rename(1, 1, Some(9))),
        Err(StateError::NothingToReplace(FileId(9)))
    );
    assert_eq!(
        fs.apply(&rename(1, 1, Some(2))),
        Err(StateError::ReplacedElsewhere(FileId(2)))
    );
    assert_eq!(looks(&fs), before);
}

#[test]
fn a_directory_moves_with_what_is_in_it_but_not_into_itself() {
    let mut fs = tiny(24);
    for (dir, parent) in [(1, 0), (2, 1), (3, 2), (4, 0)] {
        let (dir, parent) = (DirId(dir), Some(DirId(parent)));
        done(&mut fs, Op::Mkdir { dir, parent });
    }
    create(&mut fs, 1, 3, 5000);
    let move_to = |dir, parent| Op::RenameDir {
        dir: DirId(dir),
        parent: DirId(parent),
    };
    let totals = fs.totals();
    for below in [1, 2, 3] {
        let refused = Err(StateError::IntoItself(DirId(1)));
        assert_eq!(fs.apply(&move_to(1, below)), refused);
    }
    assert_eq!(fs.apply(&move_to(0, 1)), Err(StateError::Root(DirId(0))));
    done(&mut fs, move_to(2, 4));
    assert_eq!(fs.totals(), totals);
    done(&mut fs, Op::Rmdir { dir: DirId(1) });
    for dir in [4, 2, 3] {
        let refused = Err(StateError::NotEmpty(DirId(dir)));
        assert_eq!(fs.apply(&Op::Rmdir { dir: DirId(dir) }), refused);
    }
    delete(&mut fs, 1);
    for dir in [3, 2, 4] {
        done(&mut fs, Op::Rmdir { dir: DirId(dir) });
    }
}

#[test]
fn a_short_symbolic_link_lies_in_its_inode() {
    let mut fs = tiny(0);
    let before = fs.totals();
    // 4.4BSD: targets under 60 bytes (`um_maxsymlinklen`) take the place of the block pointers.
    for (file, bytes, fragments) in [(1, 59, 0), (2, 60, 1)] {
        let (file, dir) = (FileId(file), DirId::ROOT);
        done(&mut fs, Op::Symlink { file, dir, bytes });
        assert_eq!(fs.file_size(file), Some(bytes));
        let mut found = None;
        fs.visit_files(&mut |view| {
            if view.kind == FileKind::Symlink && view.size_bytes == bytes {
                found = view.alloc_bytes;
            }
        });
        assert_eq!(found, Some(fragments * 1024));
    }
    delete(&mut fs, 1);
    delete(&mut fs, 2);
    assert_eq!(fs.totals(), before);
}

#[test]
fn fallocate_fills_the_holes_of_its_range_and_punch_is_ignored() {
    let mut fs = tiny(0);
    create(&mut fs, 1, 0, 0);
    let file = FileId(1);
    done(
        &mut fs,
        Op::Truncate {
            file,
            bytes: 81_920,
        },
    );
    let blocks = |fs: &Ffs| {
        let mut data = Vec::new();
        fs.visit_blocks(|file| data.clone_from(&file.data));
        data.iter().map(|&a| u8::from(a != 0)).collect::<Vec<_>>()
    };
    // A file that is stretched has its last block only.
    assert_eq!(blocks(&fs), [0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    let (offset, bytes) = (16_384, 16_385);
    done(
        &mut fs,
        Op::Fallocate {
            file,
            offset,
            bytes,
        },
    );
    assert_eq!(blocks(&fs), [0, 0, 1, 1, 1, 0, 0, 0, 0, 1]);
    assert_eq!(fs.file_size(file), Some(81_920));
    let punch = Op::Punch {
        file,
        offset,
        bytes,
    };
    assert_eq!(fs.apply(&punch), Ok(Outcome::Ignored));
    assert_eq!(blocks(&fs), [0, 0, 1, 1, 1, 0, 0, 0, 0, 1]);
}

#[test]
fn what_was_never_made_for_lack_of_space_is_absent_until_it_is_made() {
    let mut fs = tiny(0);
    let mut file = 0;
    // 8 groups of 256 inodes.
    let outcome = loop {
        file += 1;
        let (file, dir, bytes) = (FileId(file), DirId::ROOT, 0);
        let outcome = fs.apply(&Op::Create { file, dir, bytes });
        if outcome != Ok(Outcome::Done) {
            break outcome;
        }
    };
    assert_eq!((outcome, file), (Ok(Outcome::NoInode), 2046));
    let (id, dir) = (FileId(file), DirId(5));
    let absent = Ok(Outcome::Absent);
    assert_eq!(fs.apply(&Op::Append { file: id, bytes: 1 }), absent);
    assert_eq!(
        fs.apply(&Op::Mkdir { dir, parent: None }),
        Ok(Outcome::NoInode)
    );
    let inside = Op::Create {
        file: FileId(7777),
        dir,
        bytes: 10,
    };
    assert_eq!(fs.apply(&inside), absent);
    assert_eq!(
        fs.apply(&Op::Delete { file: FileId(7777) }),
        absent,
        "the file in a directory that is absent"
    );
    assert_eq!(
        fs.apply(&Op::Delete { file: FileId(7777) }),
        Err(StateError::NoFile(FileId(7777))),
        "and then it is forgotten"
    );
    delete(&mut fs, 1);
    create(&mut fs, file, 0, 100);
    done(&mut fs, Op::Append { file: id, bytes: 1 });
    assert_eq!(fs.file_size(id), Some(101));
}
