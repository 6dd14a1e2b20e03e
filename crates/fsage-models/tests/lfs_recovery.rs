//! Crashes of a log-structured file system at any of its writes, and what roll-forward finds again.

mod crash;
mod steps;

use crash::Run;
use crash::world::{Step, step};
use fsage_core::Rng;
use fsage_models::lfs::{Params, Variant};
use proptest::prelude::*;
use steps::cases;

/// Small disks of both variants with roll-forward: 24 or 40 segments, with and without fragments.
fn params(netbsd: bool, fragments: bool) -> Params {
    let variant = if netbsd {
        Variant::NetBsd
    } else {
        Variant::Lite2
    };
    let common = Params {
        roll_forward: true,
        segment_bytes: 256 << 10,
        frag_bytes: if fragments { 512 } else { 4096 },
        reserve_segments: 2,
        write_threshold_blocks: 40,
        ..Params::of_variant(variant)
    };
    if netbsd {
        Params {
            size_bytes: 10 << 20,
            min_clean: 14,
            segs_per_clean: 4,
            poll_operations: 7,
            ..common
        }
    } else {
        Params {
            size_bytes: (6 << 20) + 8192,
            max_active: 4,
            ..common
        }
    }
}

fn fill() -> impl Strategy<Value = u64> {
    prop_oneof![Just(5_u64), Just(45), Just(70)]
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn after_a_crash_at_any_write_everything_synced_is_there_and_nothing_is_half_done(
        netbsd in any::<bool>(),
        fragments in any::<bool>(),
        percent in fill(),
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let mut run = Run::new(&params(netbsd, fragments), percent);
        for step in &steps {
            run.step(step, &mut || true)?;
        }
    }

    #[test]
    fn after_a_crash_in_a_long_run_everything_synced_is_there_and_nothing_is_half_done(
        netbsd in any::<bool>(),
        fragments in any::<bool>(),
        percent in fill(),
        seed in any::<u64>(),
        steps in prop::collection::vec(step(), 400..600),
    ) {
        let mut run = Run::new(&params(netbsd, fragments), percent);
        let mut rng = Rng::new(seed);
        for step in &steps {
            run.step(step, &mut || rng.below(15) == 0)?;
        }
    }
}

/// The crashes above are worth something: the cleaner works, partial segments are found behind checkpoints, unfinished
/// directory operations are dropped, deletions leave inodes without names.
#[test]
fn crashes_meet_all_that_recovery_is_for() {
    for netbsd in [false, true] {
        let mut run = Run::new(&params(netbsd, true), 60);
        let mut rng = Rng::new(1).stream("crashes", u64::from(netbsd));
        let mut pick = || rng.below(256) as u8;
        for i in 0..600_u64 {
            let step = match i % 6 {
                0 => Step::Create(pick(), u64::from(pick()) * 900),
                1 => Step::Write(pick(), u64::from(pick()) * 1000, 30_000),
                2 => Step::Delete(pick()),
                3 => Step::Replace(pick(), pick()),
                4 => Step::Create(pick(), 5000),
                _ => Step::Fsync(pick()),
            };
            let mut write = i;
            let judged = run.step(&step, &mut || {
                write += 1;
                write.is_multiple_of(9)
            });
            assert!(judged.is_ok(), "{netbsd}, {i}: {judged:?}");
        }
        let seen = run.seen;
        assert!(seen.crashes > 100 && seen.adopted > 100, "{seen:?}");
        assert!(seen.dropped > 0 && seen.nameless > 0, "{seen:?}");
        assert!(seen.cleaned > 30, "{seen:?}");
    }
}
