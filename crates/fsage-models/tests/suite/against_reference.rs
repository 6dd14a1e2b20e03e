//! The fast model against the naive reference: random operations, the same outcome of each, the same state.
//!
//! Expected values come from `reference`, which was written from docs/spec/ffs.md alone and gives the
//! original's output on the vectors. What the two print of a state is compared byte for byte.
//!
//! Not compared, because the reference does not know it: rename, links, symbolic links, `fallocate`, `punch`
//! (see `conformance.rs`), `mkdir 0`, and numbers of cylinders per group that a user gave.

use crate::reference;
use crate::reference::Reference;
use crate::steps::{Live, Player, Setup, Step, cases, setup, step};
use fsage_core::{Event, FileSystem, Op, Outcome, StateError};
use fsage_models::ffs::{self, Ffs, Optim, policy};
use fsage_models::microscope::WorkloadTrace as _;
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

/// The same file system for the reference.
/// `None` for a policy that the reference does not know: conformance alone tests it.
fn reference_of(setup: &Setup) -> Option<Reference> {
    let (sectors, tracks, sectors_per_track) = setup.shape;
    let (bsize, fsize) = setup.sizes;
    let plain = reference::Params::new(sectors, tracks, sectors_per_track).with_sizes(bsize, fsize);
    let params = reference::Params {
        density: setup.bytes_per_inode.unwrap_or(plain.density),
        maxcontig: setup.maxcontig,
        rotdelay: setup.rotdelay_ms,
        maxbpg: setup.maxbpg.unwrap_or(plain.maxbpg),
        nrpos: setup.nrpos,
        minfree: setup.minfree_percent,
        optim: match setup.optim {
            Optim::Time => reference::Optim::Time,
            Optim::Space => reference::Optim::Space,
        },
        interleave: setup.interleave,
        trackskew: setup.trackskew,
        physical_sectors_per_track: sectors_per_track + setup.spare_sectors,
        write_chunk: setup.write_chunk,
        dirent_bytes: setup.dirent_bytes,
        superuser: setup.superuser,
        keep_cluster_state: setup.keep_clusters,
        strict_switch: setup.strict_switch,
        direct_clusters: setup.direct_clusters,
        ..plain
    };
    let policy = match policy::ALL[setup.policy].name() {
        "orig" => reference::Policy::Orig,
        "realloc" => reference::Policy::Realloc,
        "noswitch" => reference::Policy::NoSwitch,
        "noswitch-seq" => reference::Policy::NoSwitchSeq,
        "smartfrag" => reference::Policy::SmartFrag,
        _ => return None,
    };
    Some(Reference::new(params, policy))
}

/// Model and reference side by side.
struct Pair {
    fs: Ffs,
    reference: Reference,
    ops: u64,
    /// The model checks itself after so many operations.
    check_every: u64,
    /// All that can be printed is compared after so many operations.
    print_every: u64,
}

impl Pair {
    fn new(setup: &Setup, reference: Reference) -> Pair {
        let mut fs = Ffs::new(setup.params()).expect("setups are those that newfs accepts");
        fs.apply_rmdir_as_it_stands();
        Pair {
            check_every: 1 + fs.sizes().size / 10_000,
            print_every: 50,
            fs,
            reference,
            ops: 0,
        }
    }

    /// Totals and superblock: cheap enough for every operation.
    fn compare_superblocks(&self, op: &Op) -> Result<(), TestCaseError> {
        let (t, (optim, _)) = (self.fs.totals(), self.fs.optimization());
        let kept = format!(
            " optim {} nbfree {} nffree {} nifree {} ndir {}",
            optim.as_str(),
            t.nbfree,
            t.nffree,
            t.nifree,
            t.ndir
        );
        let expected = self.reference.geom();
        prop_assert!(
            expected.trim_end().ends_with(&kept),
            "{op:?}, operation {}: the model has{kept}, the reference {expected}",
            self.ops
        );
        Ok(())
    }
}

/// Compares all that either of them can print: geometry, groups, directories, files, the day's measures.
fn same_print(fs: &Ffs, reference: &Reference, ops: u64) -> Result<(), TestCaseError> {
    let mut trace = ffs::Trace::new(fs.clone());
    let mut out = Vec::new();
    let probes = [Op::Geom, Op::Cgs, Op::Dump].map(Event::new);
    for event in probes.into_iter().chain([Event::day("0")]) {
        trace
            .step(&event, b"", &mut out)
            .expect("a Vec takes everything");
    }
    let printed = String::from_utf8(out).expect("printed lines are text");
    let expected = reference.geom() + &reference.cgs() + &reference.dump() + &reference.day("0");
    for (line, wanted) in printed.lines().zip(expected.lines()) {
        // The count of failures is the script's, not the file system's: this microscope is new.
        let (line, wanted) = (without_failures(line), without_failures(wanted));
        prop_assert_eq!(line, wanted, "after operation {}", ops);
    }
    prop_assert_eq!(printed.lines().count(), expected.lines().count());
    Ok(())
}

fn sound(fs: &Ffs, after: &Op) -> Result<(), TestCaseError> {
    fs.check()
        .map_err(|e| TestCaseError::fail(format!("{after:?}: {:?}", e.findings)))
}

fn without_failures(line: &str) -> String {
    match (line.starts_with("day "), line.split_once(" enospc ")) {
        (true, Some((before, after))) => {
            let rest = after.split_once(' ').map_or("", |(_, rest)| rest);
            format!("{before} {rest}")
        }
        _ => line.to_owned(),
    }
}

impl Player for Pair {
    fn ffs(&self) -> &Ffs {
        &self.fs
    }

    fn apply(&mut self, op: Op) -> Result<Result<Outcome, StateError>, TestCaseError> {
        let expected = self.reference.apply(&op);
        let mut got = self.fs.apply(&op);
        // The model excuses a workload that does not know that its file came out short; the reference judges
        // each line by itself.
        let excused =
            got == Ok(Outcome::Absent) && matches!(expected, Err(StateError::BeyondEnd(_)));
        if excused {
            got = expected;
        } else {
            prop_assert_eq!(got, expected, "{:?}, operation {}", op, self.ops);
        }
        self.compare_superblocks(&op)?;
        self.ops += 1;
        if self.ops.is_multiple_of(self.check_every) {
            sound(&self.fs, &op)?;
        }
        if self.ops.is_multiple_of(self.print_every) {
            same_print(&self.fs, &self.reference, self.ops)?;
        }
        Ok(got)
    }
}

fn compare(setup: &Setup, steps: &[Step]) -> Result<(), TestCaseError> {
    let Some(reference) = reference_of(setup) else {
        return Ok(());
    };
    let mut pair = Pair::new(setup, reference);
    let mut live = Live::new();
    same_print(&pair.fs, &pair.reference, 0)?;
    for step in steps {
        live.play(&mut pair, step)?;
    }
    sound(&pair.fs, &Op::Check)?;
    same_print(&pair.fs, &pair.reference, pair.ops)
}

proptest! {
    #![proptest_config(cases(300))]

    /// The mix of a busy file system, at any fill level.
    #[test]
    fn random_operations_give_the_state_of_the_reference(
        setup in setup(),
        steps in prop::collection::vec(step(), 1..120),
    ) {
        compare(&setup, &steps)?;
    }

    /// Full and emptied again and again, so that most operations meet a shortage of space or of inodes.
    #[test]
    fn a_file_system_that_is_full_gives_the_state_of_the_reference(
        setup in setup(),
        rounds in prop::collection::vec(
            (1_u8..60, 1_u8..8, prop::collection::vec(step(), 0..25)), 1..5
        ),
    ) {
        let mut steps = vec![Step::Mkdir { parent: 0 }];
        for (files, keep, between) in rounds {
            steps.push(Step::Fill { dir: files, files });
            steps.extend(between.iter().cloned());
            steps.push(Step::Drain { keep });
            steps.extend(between);
        }
        compare(&setup, &steps)?;
    }
}

/// Any shape of disk up to some hundred megabytes, with the sizes and choices of a setup. Not so many inodes
/// that a group has the most it may have: there the specification leaves open what `newfs` does.
fn any_shape() -> impl Strategy<Value = Setup> {
    let shape = (1000_u64..600_000, 1_u64..24, 8_u64..300);
    (setup(), shape).prop_map(|(setup, shape)| Setup {
        shape,
        bytes_per_inode: setup.bytes_per_inode.filter(|&n| n >= 16_384),
        ..setup
    })
}

proptest! {
    #![proptest_config(cases(400))]

    /// Sizes, groups, metadata, rotational tables, inodes and free space as `newfs` leaves them; and what it
    /// refuses.
    #[test]
    fn newfs_makes_the_same_file_system_or_none(setup in any_shape()) {
        let made = Ffs::new(setup.params());
        // The reference panics where newfs refuses.
        let expected = std::panic::catch_unwind(|| {
            let plain = Setup {
                policy: 0,
                ..setup.clone()
            };
            reference_of(&plain).expect("the reference knows the first policy")
        });
        match (made, expected) {
            (Ok(fs), Ok(reference)) => {
                sound(&fs, &Op::Geom)?;
                same_print(&fs, &reference, 0)?;
            }
            (Err(_), Err(_)) => {}
            (made, expected) => prop_assert!(
                false,
                "the model: {:?}, the reference: {}",
                made.map(|fs| fs.sizes().clone()),
                expected.map_or_else(|_| "refused".to_owned(), |r| r.geom())
            ),
        }
    }
}
