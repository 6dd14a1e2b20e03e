//! Workloads from snapshots: whatever happens between two snapshots, the workload leads from one to the next.

mod rules;
mod world;

use crate::replay::Replay;
use fsage_core::identity::Identity;
use fsage_core::short_lived::{Profile, ProfileOp, ProfileVerb};
use fsage_core::snapshot::SnapshotsInMemory;
use fsage_core::{Event, Op, Rng};
use fsage_workload::from_snapshots::{
    DeleteTimes, Draws, FromSnapshots, FromSnapshotsSummary, Growth, Modifications, Options,
    ShortLived,
};
use std::collections::BTreeSet;
use world::{HOUR, Recorded, Source};

const ALL: Recorded = Recorded {
    generation: true,
    birth: false,
    paths: true,
    names: true,
    times: true,
};

fn generate(
    series: &mut SnapshotsInMemory,
    options: Options,
    short_lived: Option<ShortLived<'_>>,
) -> (Vec<Event>, FromSnapshotsSummary) {
    series.rewind();
    let mut events = Vec::new();
    let generator = FromSnapshots::begin(series, options, short_lived).unwrap();
    let summary = generator
        .generate(series, &mut events, &mut |_| {})
        .unwrap();
    (events, summary)
}

/// Some files that come and go.
fn pool() -> Vec<Profile> {
    let op = |t_rel_ns, verb, local_id, bytes| ProfileOp {
        t_rel_ns,
        verb,
        local_id,
        bytes,
    };
    vec![Profile {
        source: "test".to_owned(),
        dir: "0".to_owned(),
        ops: vec![
            op(0, ProfileVerb::Create, 0, 100),
            op(HOUR, ProfileVerb::Create, 1, 200),
            op(HOUR, ProfileVerb::Append, 0, 50),
            op(2 * HOUR, ProfileVerb::Delete, 1, 0),
            op(2 * HOUR, ProfileVerb::Delete, 0, 0),
        ],
        ..Profile::default()
    }]
}

/// A random history, photographed now and then: at every snapshot the workload has the same files under the
/// same paths with the same sizes, and no operation of it is impossible.
fn leads_from_one_snapshot_to_the_next(
    seed: u64,
    recorded: Recorded,
    options: &Options,
    short: bool,
) {
    let mut rng = Rng::new(seed);
    let mut source = Source::new();
    let mut series = SnapshotsInMemory::default();
    let mut wanted = Vec::new();
    for night in 0..8 {
        for _ in 0..rng.below(40) {
            source.act(&mut rng);
        }
        let taken_at = source.now() + 1;
        source.snapshot(recorded, taken_at, &mut series, night);
        wanted.push((
            source.files_and_sizes(!recorded.names),
            source.directory_paths(),
        ));
    }
    let pool = pool();
    let short_lived = short.then_some(ShortLived {
        pool: &pool,
        draws: Draws::Profiles { a_day: Some(3) },
    });
    let (events, summary) = generate(&mut series, options.clone(), short_lived);
    assert_eq!(summary.contradictions, 0, "seed {seed}: {summary:?}");
    let mut replay = Replay::new();
    for (at, event) in events.iter().enumerate() {
        if let Err(problem) = replay.apply(event) {
            panic!("seed {seed}, event {at} {event:?}: {problem}\n{recorded:?} {options:?}");
        }
        if event.op != Op::Day {
            continue;
        }
        let (files, directories) = &wanted[replay.days as usize - 1];
        if recorded.paths {
            assert_eq!(
                &replay.files_and_sizes(),
                files,
                "seed {seed} {recorded:?} {options:?}"
            );
            assert_eq!(&replay.directory_paths(), directories, "seed {seed}");
        }
    }
    assert_eq!(replay.days, 8);
    let (again, _) = generate(&mut series, options.clone(), short_lived);
    assert!(again == events, "seed {seed}: not the same twice");
}

#[test]
fn any_history_is_rebuilt_night_by_night() {
    for seed in 0..400 {
        let rule = DeleteTimes::ALL[seed as usize % 3];
        let options = Options {
            seed,
            delete_times: rule,
            growth: if seed % 2 == 0 {
                Growth::Burst
            } else {
                Growth::Stretched {
                    threshold_bytes: 10_000,
                    window_ns: 10 * HOUR,
                }
            },
            modifications: if seed % 5 == 0 {
                Modifications::Rewrite
            } else {
                Modifications::Observed
            },
            removals_in_bursts: seed % 7 != 0,
            ..Options::default()
        };
        leads_from_one_snapshot_to_the_next(seed, ALL, &options, seed % 3 == 1);
    }
}

#[test]
fn snapshots_that_record_less_are_enough() {
    for seed in 0..400 {
        let bit = |n: u64| seed >> n & 1 == 1;
        let recorded = Recorded {
            generation: bit(0),
            birth: bit(1),
            paths: bit(2),
            // Without change times a name that moves leaves no trace in the inode.
            names: bit(3) && seed % 11 != 0,
            times: seed % 11 != 0,
        };
        let identity = [Identity::Auto, Identity::Ino, Identity::Birth][seed as usize % 3];
        let options = Options {
            seed,
            identity,
            ..Options::default()
        };
        leads_from_one_snapshot_to_the_next(1000 + seed, recorded, &options, bit(1));
    }
}

#[test]
fn without_paths_files_go_into_the_directory_of_their_group() {
    let mut rng = Rng::new(5);
    let mut source = Source::new();
    let mut series = SnapshotsInMemory::default();
    while source.inodes() < 20 {
        source.act(&mut rng);
    }
    let recorded = Recorded {
        paths: false,
        ..ALL
    };
    source.snapshot(recorded, source.now() + 1, &mut series, 0);
    let (events, _) = generate(&mut series, Options::default(), None);
    let groups: BTreeSet<u64> = events
        .iter()
        .filter_map(|event| match event.op {
            Op::Create { dir, .. } | Op::Symlink { dir, .. } => {
                // Eight inodes a group, numbers from 1.
                assert_eq!(dir.0, (event.src_ino.unwrap() - 1) / 8);
                assert_eq!(event.hint_group, Some(dir.0 as u32));
                Some(dir.0)
            }
            _ => None,
        })
        .collect();
    assert!(groups.len() > 1);
    let mkdirs = events
        .iter()
        .take_while(|e| matches!(e.op, Op::Mkdir { .. }));
    assert_eq!(mkdirs.count() as u64, *groups.last().unwrap());
}
