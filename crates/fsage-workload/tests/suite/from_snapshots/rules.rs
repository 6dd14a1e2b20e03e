//! The rules one by one, on two nights each. Expected times follow from the rules of the method, by hand.

use super::generate;
use fsage_core::snapshot::{Inode, SnapshotInfo, SnapshotsInMemory, source_flags};
use fsage_core::{Event, Extent, FileKind, Op, Origin, TQuality};
use fsage_workload::from_snapshots::{DeleteTimes, FromSnapshotsSummary, Growth, Options};

const H: i64 = 3_600_000_000_000;
const FIRST_NIGHT: i64 = 24 * H;
const SECOND_NIGHT: i64 = 48 * H;

fn file(ino: u64, generation: u32, name: &str, ctime: i64, block: u64) -> Inode {
    let extent = Extent {
        logical_bytes: 0,
        physical_bytes: block * 4096,
        length_bytes: 4096,
        flags: 0,
    };
    Inode {
        ctime_ns: Some(ctime),
        mtime_ns: Some(ctime),
        parent_ino: Some(if name.contains('/') { 3 } else { 2 }),
        path: Some(name.into()),
        extents: Some([extent].into()),
        source_flags: source_flags::GEN_VALID,
        ..Inode::new(ino, Some(generation), FileKind::Regular, 4000)
    }
}

fn dir(ino: u64, path: &str, mtime: i64) -> Inode {
    Inode {
        kind: FileKind::Directory,
        parent_ino: (ino != 2).then_some(2),
        extents: None,
        ..file(ino, 1, path, mtime, 0)
    }
}

/// What leads from one night to the next; and the counts.
fn between(
    first: Vec<Inode>,
    second: Vec<Inode>,
    options: Options,
) -> (Vec<Event>, FromSnapshotsSummary) {
    let mut series = SnapshotsInMemory::default();
    for (snap_id, (mut inodes, taken_at_ns)) in [(first, FIRST_NIGHT), (second, SECOND_NIGHT)]
        .into_iter()
        .enumerate()
    {
        inodes.sort_by_key(|inode| (inode.ino, inode.generation));
        let info = SnapshotInfo {
            snap_id: snap_id as u32,
            taken_at_ns,
            fs_type: Some("xfs".to_owned()),
            ..SnapshotInfo::default()
        };
        series.push(info, inodes, None);
    }
    let (events, summary) = generate(&mut series, options, None);
    let ends = events.iter().position(|event| event.op == Op::Day);
    let second: Vec<Event> = events.into_iter().skip(ends.unwrap() + 1).collect();
    let last = second.last().map(|event| &event.op);
    assert_eq!(last, Some(&Op::Day));
    (second[..second.len() - 1].to_vec(), summary)
}

fn the_deletion(events: &[Event]) -> &Event {
    let mut deletions = events
        .iter()
        .filter(|event| matches!(event.op, Op::Delete { .. }));
    let found = deletions.next().expect("a deletion");
    assert!(deletions.next().is_none(), "one deletion");
    found
}

#[test]
fn a_replaced_inode_is_deleted_just_before_the_create() {
    for rule in [DeleteTimes::Smith97, DeleteTimes::Reuse] {
        let first = vec![dir(2, ".", H), file(5, 7, "old", H, 1)];
        // Another change of the root hides when it lost `old`.
        let second = vec![
            dir(2, ".", 40 * H),
            file(5, 11, "new", 30 * H, 9),
            file(6, 1, "later", 40 * H, 10),
        ];
        let options = Options {
            delete_times: rule,
            ..Options::default()
        };
        let (events, summary) = between(first, second, options);
        assert!(matches!(events[0].op, Op::Delete { .. }));
        assert!(matches!(events[1].op, Op::Create { .. }));
        assert_eq!(events[0].t_ns, Some(30 * H));
        assert_eq!(events[1].t_ns, Some(30 * H));
        assert_eq!(events[0].origin, Some(Origin::SnapshotReplace));
        assert_eq!(events[0].t_quality, Some(TQuality::Inferred));
        assert_eq!(
            (summary.replaced, summary.creates, summary.deletes),
            (1, 2, 1)
        );
        // XFS counts up: 8, 9 and 10 came and went.
        assert_eq!(summary.hidden_by_generation, 3);
    }
}

#[test]
fn a_block_that_was_used_again_bounds_the_deletion() {
    let first = vec![
        dir(2, ".", H),
        file(5, 1, "old", H, 1),
        file(6, 1, "b", H, 2),
    ];
    // `new` has block 1 since 30 h at the latest; `b` was changed at 26 h, and at 40 h something new came.
    let second = vec![
        dir(2, ".", 40 * H),
        file(6, 1, "b", 26 * H, 2),
        file(7, 1, "new", 30 * H, 1),
        file(8, 1, "late", 40 * H, 4),
    ];
    for seed in 0..20 {
        let options = Options {
            seed,
            ..Options::default()
        };
        let (events, summary) = between(first.clone(), second.clone(), options);
        let deletion = the_deletion(&events);
        let t = deletion.t_ns.unwrap();
        assert!(t == 26 * H || t == 30 * H, "{}", t / H);
        assert_eq!(deletion.t_quality, Some(TQuality::Bounded));
        assert_eq!((summary.block_evidence, summary.deletes_bounded), (1, 1));
        assert!(summary.blocks_used);
    }
    let without = Options {
        block_reuse: Some(false),
        ..Options::default()
    };
    let (_, summary) = between(first, second, without);
    assert_eq!(summary.block_evidence, 0);
}

#[test]
fn the_last_removal_from_a_directory_dates_all_of_them() {
    let first = vec![
        dir(2, ".", H),
        dir(3, "d", H),
        file(5, 1, "d/x", H, 1),
        file(6, 1, "d/y", H, 2),
        file(7, 1, "z", H, 3),
    ];
    // Nothing came into `d`, and it changed at 29 h.
    let second = vec![
        dir(2, ".", H),
        dir(3, "d", 29 * H),
        file(7, 1, "z", 35 * H, 3),
    ];
    let (events, summary) = between(first.clone(), second.clone(), Options::default());
    let times: Vec<_> = events
        .iter()
        .filter(|event| matches!(event.op, Op::Delete { .. }))
        .map(|event| (event.t_ns.unwrap() / H, event.t_quality.unwrap()))
        .collect();
    assert_eq!(times, [(29, TQuality::Inferred), (29, TQuality::Inferred)]);
    assert_eq!(summary.deletes_by_last_removal, 2);
    let single = Options {
        removals_in_bursts: false,
        ..Options::default()
    };
    let (events, summary) = between(first, second, single);
    assert_eq!(summary.deletes_bounded, 2);
    assert!(
        events
            .iter()
            .all(|event| event.t_quality != Some(TQuality::Inferred))
    );
}

#[test]
fn a_name_that_was_taken_over_dates_the_deletion() {
    let first = vec![dir(2, ".", H), file(5, 1, "config", H, 1)];
    // An editor wrote a new file and renamed it over the old one; then something else came.
    let second = vec![
        dir(2, ".", 40 * H),
        file(9, 1, "config", 33 * H, 8),
        file(10, 1, "else", 40 * H, 11),
    ];
    let (events, _) = between(first, second, Options::default());
    let deletion = the_deletion(&events);
    assert_eq!(deletion.t_ns, Some(33 * H));
    assert_eq!(deletion.t_quality, Some(TQuality::Inferred));
}

#[test]
fn the_rules_of_the_papers_draw_where_they_say() {
    let first = vec![file(5, 1, "old", H, 1), file(6, 1, "b", H, 2)];
    let second = vec![file(6, 1, "b", 30 * H, 2), file(7, 1, "new", 34 * H, 4)];
    for seed in 0..50 {
        let time = |rule| {
            let options = Options {
                seed,
                delete_times: rule,
                ..Options::default()
            };
            let (events, _) = between(first.clone(), second.clone(), options);
            let deletion = the_deletion(&events);
            assert_eq!(deletion.t_quality, Some(TQuality::Random));
            deletion.t_ns.unwrap()
        };
        assert!((30 * H..=34 * H).contains(&time(DeleteTimes::Smith96)));
        assert!((FIRST_NIGHT..=SECOND_NIGHT).contains(&time(DeleteTimes::Smith97)));
    }
}

#[test]
fn times_outside_the_interval_are_moved_into_it_and_counted() {
    let second = vec![file(7, 1, "early", H, 4), file(8, 1, "late", 90 * H, 5)];
    let (events, summary) = between(vec![file(6, 1, "b", H, 2)], second, Options::default());
    let created: Vec<_> = events
        .iter()
        .filter(|event| matches!(event.op, Op::Create { .. }))
        .map(|event| event.t_ns.unwrap())
        .collect();
    assert_eq!(created, [FIRST_NIGHT + 1, SECOND_NIGHT]);
    assert_eq!(summary.clamped_times, 2);
}

#[test]
fn one_incarnation_of_two_types_is_a_contradiction_and_becomes_a_replacement() {
    let link = Inode {
        kind: FileKind::Symlink,
        ..file(5, 1, "x", 30 * H, 1)
    };
    let (events, summary) = between(vec![file(5, 1, "x", H, 1)], vec![link], Options::default());
    assert_eq!(summary.contradictions, 1);
    assert!(matches!(events[0].op, Op::Delete { .. }));
    assert!(matches!(events[1].op, Op::Symlink { .. }));
}

#[test]
fn a_file_whose_blocks_another_has_was_empty_before() {
    let first = vec![file(5, 1, "m", H, 1), file(6, 1, "b", H, 2)];
    // `m` was changed last at 40 h, but `n` has had its block since 30 h.
    let second = vec![
        file(5, 1, "m", 40 * H, 8),
        file(6, 1, "b", H, 2),
        file(7, 1, "n", 30 * H, 1),
    ];
    let (events, summary) = between(first, second, Options::default());
    let done: Vec<_> = events
        .iter()
        .map(|event| (event.op.verb().as_str(), event.t_ns.unwrap() / H))
        .collect();
    assert_eq!(done, [("truncate", 30), ("create", 30), ("rewrite", 40)]);
    assert_eq!(summary.emptied_early, 1);
}

#[test]
fn a_file_with_a_birth_time_grows_until_its_last_change() {
    let large = Inode {
        btime_ns: Some(30 * H),
        ..Inode::new(9, Some(1), FileKind::Regular, 3 << 20)
    };
    let large = Inode {
        ctime_ns: Some(36 * H),
        path: Some("large".into()),
        source_flags: source_flags::GEN_VALID,
        ..large
    };
    let second = vec![
        large,
        file(7, 1, "one", 31 * H, 4),
        file(8, 1, "two", 33 * H, 5),
    ];
    let grow = |growth| {
        let options = Options {
            growth,
            ..Options::default()
        };
        let (events, _) = between(vec![file(6, 1, "b", H, 2)], second.clone(), options);
        let of_large = events.iter().filter(|event| event.src_ino == Some(9));
        of_large
            .map(|event| (event.t_ns.unwrap() / H, event.op.bytes_written() >> 10))
            .collect::<Vec<_>>()
    };
    assert_eq!(grow(Growth::Burst), [(36, 3072)]);
    // Four times: its birth, the two others, the last change.
    let pieces = [(30, 768), (31, 768), (33, 768), (36, 768)];
    assert_eq!(grow(Growth::STRETCHED), pieces);
}

#[test]
fn another_root_is_another_directory() {
    // The root of the first night is the directory `a` of the second, with the file that was in the root.
    let first = vec![dir(2, ".", H), file(5, 1, "x", H, 1)];
    let second = vec![
        dir(9, ".", 30 * H),
        Inode {
            parent_ino: Some(9),
            ..dir(2, "a", 30 * H)
        },
        file(5, 1, "a/x", H, 1),
    ];
    let (events, summary) = between(first, second, Options::default());
    let done: Vec<_> = events
        .iter()
        .map(|event| {
            (
                event.op.verb().as_str(),
                event.name.as_deref().unwrap_or_default(),
            )
        })
        .collect();
    assert_eq!(done, [("mkdir", &b"a"[..]), ("rename", b"x")]);
    assert_eq!(summary.contradictions, 1);
}
