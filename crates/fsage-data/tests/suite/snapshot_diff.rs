//! What happened between two snapshots: a real series whose every operation is known, and every rule of identity.

use crate::kit;
use crate::kit::nights::{Night, any_nights, info};
use fsage_core::snapshot::{Inode, SnapshotSink, source_flags};
use fsage_core::{Extent, FileKind};
use fsage_data::DataError;
use fsage_data::snapshot::diff::{
    ChangeKind, Counts, DiffReport, FoundChange, Identity, Modification, SeriesDiff, SnapshotRef,
    diff_snapshots,
};
use fsage_data::snapshot::{Form, InodeWriter, SnapshotOutput, SnapshotSeries};
use fsage_durable::FileError;
use proptest::prelude::*;
use std::fs;
use std::path::Path;

const ALL: [Identity; 4] = [
    Identity::Auto,
    Identity::Generation,
    Identity::Birth,
    Identity::Ino,
];

fn of(path: &Path, snap_id: u32) -> SnapshotRef {
    SnapshotRef {
        path: path.to_owned(),
        snap_id: Some(snap_id),
    }
}

/// A change in words.
fn line(change: &FoundChange<'_>) -> String {
    let side = |side: Option<fsage_data::snapshot::diff::Side<'_>>| {
        side.map(|s| (s.facts.ino, s.facts.generation, s.path.map(str::to_owned)))
    };
    format!(
        "{:?} {:?} {:?} {} {}",
        change.kind,
        side(change.before),
        side(change.after),
        change.renamed,
        change.guessed
    )
}

fn diff(a: &SnapshotRef, b: &SnapshotRef, identity: Identity) -> (DiffReport, Vec<String>) {
    let mut lines = Vec::new();
    let report = diff_snapshots(a, b, identity, &mut |change| {
        lines.push(line(change));
        Ok(())
    });
    (report.unwrap(), lines)
}

/// Every neighbor pair of a series.
fn series(path: &Path, identity: Identity) -> Vec<(DiffReport, Vec<String>)> {
    let mut diff = SeriesDiff::new(SnapshotSeries::open(&[path]).unwrap(), identity).unwrap();
    let mut all = Vec::new();
    loop {
        let mut lines = Vec::new();
        let report = diff.next_diff(&mut |change| {
            lines.push(line(change));
            Ok(())
        });
        match report.unwrap() {
            Some(report) => all.push((report, lines)),
            None => return all,
        }
    }
}

/// Create, delete, modify of every snapshot but the first: `redis.commit.truth.csv`.
fn truth() -> Option<Vec<[u64; 3]>> {
    let path = kit::shared("data/snapshots/redis.commit.truth.csv")?;
    let text = fs::read_to_string(path).unwrap();
    let rows = text.lines().skip(2).map(|line| {
        let numbers: Vec<u64> = line.split(',').map(|n| n.parse().unwrap()).collect();
        [numbers[3], numbers[4], numbers[5]]
    });
    Some(rows.collect())
}

fn three(counts: &Counts) -> [u64; 3] {
    [counts.create, counts.delete, counts.modify]
}

fn sum(reports: &[(DiffReport, Vec<String>)]) -> DiffReport {
    let mut total = reports[0].0;
    for (report, _) in &reports[1..] {
        total += report;
    }
    total
}

/// Numbers: section 4.3 of the snapshot format, and the truth of the series.
#[test]
fn a_real_series_gives_the_counts_of_its_history() {
    let Some(truth) = truth() else {
        return;
    };
    for form in ["full", "delta"] {
        let path = format!("data/snapshots/redis.commit.{form}.parquet");
        let path = kit::shared(&path).unwrap();
        let reports = series(&path, Identity::Auto);
        let found: Vec<_> = reports
            .iter()
            .map(|(report, _)| three(&report.regular))
            .collect();
        assert!(found == truth, "{form}");
        let total = sum(&reports);
        assert_eq!(three(&total.regular), [2227, 714, 17_405]);
        assert_eq!(
            (total.regular.replace, total.regular.maybe_replaced),
            (346, 0)
        );
        // Section 6.4 of the workload format: 11,560 share no block, 194 share some; 3,801 + 1,850 keep theirs.
        let modified = total.regular.modified;
        assert_eq!(modified.rewrite, 11_560 + 194);
        assert_eq!(
            modified.overwrite + modified.append + modified.truncate,
            3801 + 1850
        );
        assert_eq!((modified.attributes, modified.unknown), (0, 0));

        let total = sum(&series(&path, Identity::Ino));
        assert_eq!(three(&total.regular), [1881, 368, 17_751]);
        assert_eq!(
            (total.regular.replace, total.regular.maybe_replaced),
            (0, 17_751)
        );
    }
}

/// The columns of two snapshots give what the series gives.
#[test]
fn one_pair_of_a_real_series_is_compared_alone() {
    let (Some(truth), Some(full)) = (
        truth(),
        kit::shared("data/snapshots/redis.commit.full.parquet"),
    ) else {
        return;
    };
    let delta = full.with_file_name("redis.commit.delta.parquet");
    let nights = series(&delta, Identity::Auto);
    for id in [1, 500, 1700, 2646] {
        let (report, lines) = diff(&of(&full, id - 1), &of(&full, id), Identity::Auto);
        assert_eq!(three(&report.regular), truth[id as usize - 1]);
        assert_eq!(
            (&report, &lines),
            (&nights[id as usize - 1].0, &nights[id as usize - 1].1)
        );
        assert_eq!(
            diff(&of(&delta, id - 1), &of(&full, id), Identity::Auto),
            (report, lines)
        );
    }
    // The last one by default.
    let last = SnapshotRef {
        path: full.clone(),
        snap_id: None,
    };
    assert_eq!(
        diff(&last, &last, Identity::Auto).0.all.unchanged,
        1623 + 158 + 1
    );
    assert!(diff_snapshots(&of(&full, 2647), &last, Identity::Auto, &mut |_| Ok(())).is_err());
}

fn write(path: &Path, form: Form, nights: &[Night]) {
    let mut output = SnapshotOutput::create(path, form, true).unwrap();
    for (id, night) in nights.iter().enumerate() {
        output.snapshot(info(id as u32)).unwrap();
        for inode in night.values() {
            output.inode(inode.clone()).unwrap();
        }
    }
    output.finish().unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Three ways to the same numbers: columns, two snapshots in memory, changes of a series.
    #[test]
    fn columns_rows_and_series_agree(nights in any_nights()) {
        let dir = tempfile::tempdir().unwrap();
        let (full, delta) = (dir.path().join("f.parquet"), dir.path().join("d.parquet"));
        write(&full, Form::Full, &nights);
        write(&delta, Form::Delta, &nights);
        for identity in ALL {
            let by_series = series(&delta, identity);
            for (at, expected) in by_series.iter().enumerate() {
                let id = at as u32;
                prop_assert_eq!(&diff(&of(&full, id), &of(&full, id + 1), identity), expected);
                prop_assert_eq!(&diff(&of(&delta, id), &of(&delta, id + 1), identity), expected);
                let (report, lines) = expected;
                let all = report.all;
                prop_assert_eq!(all.before, nights[at].len() as u64);
                prop_assert_eq!(all.after, nights[at + 1].len() as u64);
                prop_assert_eq!(all.unchanged + all.modify + all.delete, all.before);
                prop_assert_eq!(all.unchanged + all.modify + all.create, all.after);
                let changes = all.create + all.delete + all.modify + all.rename;
                prop_assert_eq!(lines.is_empty(), changes == 0);
            }
        }
    }
}

/// More rows than a batch, with changes near the ends of windows, batches and tables.
#[test]
fn changes_are_found_wherever_they_lie() {
    let dir = tempfile::tempdir().unwrap();
    let inode = |ino: u64| Inode {
        ctime_ns: Some(7),
        source_flags: source_flags::GEN_VALID,
        path: Some(format!("d/{ino}").into()),
        ..Inode::new(ino, Some(1), FileKind::Regular, 10)
    };
    let key = |ino: u64| (ino, Some(1));
    let before: Night = (0..50_000).map(|ino| (key(ino), inode(ino))).collect();
    let mut after = before.clone();
    let gone = [0, 31, 32, 8191, 8192, 20_000, 49_999];
    let changed = [1, 33, 8190, 8193, 16_383, 16_384, 33_333, 49_998];
    for ino in gone {
        after.remove(&key(ino));
    }
    for ino in changed {
        after.get_mut(&key(ino)).unwrap().ctime_ns = Some(8);
    }
    for ino in [60_000, 60_001] {
        after.insert(key(ino), inode(ino));
    }
    let path = dir.path().join("s.parquet");
    write(&path, Form::Full, &[before, after]);
    let (report, lines) = diff(&of(&path, 0), &of(&path, 1), Identity::Auto);
    assert_eq!(three(&report.regular), [2, 7, 8]);
    assert_eq!(report.regular.unchanged, 50_000 - 15);
    assert_eq!(lines.len(), 17);
    assert!(
        lines[0].contains("Delete") && lines[0].contains("\"d/0\""),
        "{}",
        lines[0]
    );
    assert!(
        lines[16].contains("Create") && lines[16].contains("\"d/60001\""),
        "{}",
        lines[16]
    );
}

/// Two nights, and what each identity makes of one inode in them.
fn kinds(a: &Inode, b: &Inode) -> Vec<(Option<ChangeKind>, bool, DiffReport)> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.parquet");
    let night = |inode: &Inode| Night::from([((inode.ino, inode.generation), inode.clone())]);
    write(&path, Form::Full, &[night(a), night(b)]);
    let judged = ALL.into_iter().map(|identity| {
        let mut found = (None, false);
        let report = diff_snapshots(&of(&path, 0), &of(&path, 1), identity, &mut |change| {
            found = (Some(change.kind), change.guessed);
            Ok(())
        });
        (found.0, found.1, report.unwrap())
    });
    judged.collect()
}

/// Section 4.1: generation first, birth time next, the number with heuristics last.
#[test]
fn the_best_identity_that_both_sides_have_is_used() {
    let old = Inode {
        ctime_ns: Some(10),
        btime_ns: Some(5),
        source_flags: source_flags::GEN_VALID,
        ..Inode::new(9, Some(100), FileKind::Regular, 10)
    };
    let unknown = Some(ChangeKind::Modify(Modification::Unknown));
    let replace = Some(ChangeKind::Replace);
    let what = |a: &Inode, b: &Inode| kinds(a, b).iter().map(|k| (k.0, k.1)).collect::<Vec<_>>();

    // Another generation.
    let new = Inode {
        ctime_ns: Some(20),
        generation: Some(101),
        ..old.clone()
    };
    assert_eq!(
        what(&old, &new),
        [
            (replace, false),
            (replace, false),
            (unknown, false),
            (unknown, true)
        ]
    );
    // Generation 0 does not count: birth times do.
    let [zero_old, mut zero_new] = [&old, &new].map(|inode| Inode {
        generation: Some(0),
        source_flags: 0,
        ..inode.clone()
    });
    zero_new.btime_ns = Some(15);
    assert_eq!(
        what(&zero_old, &zero_new),
        [
            (replace, false),
            (unknown, true),
            (replace, false),
            (unknown, true)
        ]
    );
    // Neither: a change may be a replacement, and is said to be a guess.
    zero_new.btime_ns = None;
    assert!(
        what(&zero_old, &zero_new)
            .iter()
            .all(|found| *found == (unknown, true))
    );
    let report = kinds(&zero_old, &zero_new)[0].2;
    assert_eq!((report.regular.maybe_replaced, report.judged.ino), (1, 1));
    // By number alone equal change time, size and blocks say the same file; another type says another one.
    zero_new.ctime_ns = zero_old.ctime_ns;
    assert_eq!(what(&zero_old, &zero_new), [(None, false); 4]);
    zero_new.size_bytes += 1;
    assert!(
        what(&zero_old, &zero_new)
            .iter()
            .all(|found| *found == (unknown, true))
    );
    zero_new.kind = FileKind::Symlink;
    let report = kinds(&zero_old, &zero_new)[0].2;
    assert_eq!(
        (
            report.regular.delete,
            report.regular.create,
            report.all.create
        ),
        (1, 0, 1)
    );
    assert_eq!(report.warnings.type_differs, 0);
}

#[test]
fn what_looks_wrong_is_counted() {
    let old = Inode {
        ctime_ns: Some(10),
        mtime_ns: Some(3),
        source_flags: source_flags::GEN_VALID,
        ..Inode::new(9, Some(100), FileKind::Regular, 10)
    };
    let warnings = |new: Inode| kinds(&old, &new)[0].2.warnings;
    let none = kinds(&old, &old)[0].2.warnings;
    assert_eq!(none.lines(), [""; 0]);
    let type_differs = warnings(Inode {
        kind: FileKind::Fifo,
        ..old.clone()
    });
    assert_eq!(
        (type_differs.type_differs, type_differs.lines().len()),
        (1, 1)
    );
    let odd = warnings(Inode {
        size_bytes: 11,
        ..old.clone()
    });
    assert_eq!((odd.same_ctime_other_column, odd.lines().len()), (1, 1));
    // Snapshot 1 is taken at 1,000 ns.
    let future = warnings(Inode {
        ctime_ns: Some(1001),
        mtime_ns: Some(4),
        ..old.clone()
    });
    assert_eq!((future.ctime_in_future, future.lines().len()), (1, 1));
    let back = warnings(Inode {
        ctime_ns: Some(9),
        mtime_ns: Some(4),
        ..old.clone()
    });
    assert_eq!((back.ctime_back, back.lines().len()), (1, 1));
    let touched = warnings(Inode {
        ctime_ns: Some(11),
        ..old.clone()
    });
    assert_eq!(
        (touched.only_ctime_changed, touched.mostly_only_ctime),
        (1, 1)
    );
}

#[test]
fn paths_and_extents_of_changed_files_are_read() {
    let extent = |physical_bytes: u64, length_bytes: u64| Extent {
        logical_bytes: 0,
        physical_bytes,
        length_bytes,
        flags: 0,
    };
    let old = Inode {
        ctime_ns: Some(10),
        path: Some("d/a".into()),
        extents: Some([extent(4096, 1024)].into()),
        source_flags: source_flags::GEN_VALID,
        ..Inode::new(9, Some(100), FileKind::Regular, 1000)
    };
    let mut new = Inode {
        ctime_ns: Some(11),
        size_bytes: 2000,
        path: Some("d/b".into()),
        extents: Some([extent(4096, 2048)].into()),
        ..old.clone()
    };
    let found = &kinds(&old, &new)[0];
    assert_eq!(found.0, Some(ChangeKind::Modify(Modification::Append)));
    assert_eq!((found.2.regular.rename, found.2.regular.modify), (1, 1));
    // A rename that left the change time alone, as some file systems do.
    (new.ctime_ns, new.size_bytes) = (old.ctime_ns, old.size_bytes);
    new.parent_ino = Some(3);
    let found = &kinds(&old, &new)[0];
    assert_eq!(found.0, Some(ChangeKind::Rename));
    assert_eq!((found.2.regular.rename, found.2.regular.unchanged), (1, 1));
}

#[test]
fn what_cannot_be_compared_names_the_row() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.parquet");
    let inode = |ino| Inode::new(ino, None, FileKind::Regular, 1);
    let mut writer = InodeWriter::create(&path, Form::Full, false).unwrap();
    for ino in 0..40_000 {
        writer.write(0, &inode(ino)).unwrap();
    }
    writer.finish().unwrap();
    let problem = |path: &Path| {
        let result = diff_snapshots(&of(path, 0), &of(path, 0), Identity::Auto, &mut |_| Ok(()));
        result
            .map(|report| report.all.unchanged)
            .map_err(|e| e.to_string())
    };
    assert_eq!(problem(&path), Ok(40_000));
    let bytes = fs::read(&path).unwrap();
    for cut in [10, bytes.len() / 3, bytes.len() - 9] {
        fs::write(&path, &bytes[..cut]).unwrap();
        assert!(problem(&path).unwrap_err().contains("cut short"));
    }
    let mut garbled = bytes.clone();
    let middle = garbled.len() / 8;
    garbled[middle..middle + 200].fill(0x5a);
    fs::write(&path, garbled).unwrap();
    assert!(problem(&path).unwrap_err().contains("s.parquet"));
    // What the caller's list fails with ends the comparison.
    fs::write(&path, &bytes).unwrap();
    let other = dir.path().join("t.parquet");
    let mut writer = InodeWriter::create(&other, Form::Full, false).unwrap();
    writer.write(0, &inode(5)).unwrap();
    writer.finish().unwrap();
    let stopped = diff_snapshots(&of(&path, 0), &of(&other, 0), Identity::Auto, &mut |_| {
        Err(DataError::Output(FileError::Exists { path: path.clone() }))
    });
    assert!(matches!(
        stopped,
        Err(DataError::Output(FileError::Exists { .. }))
    ));
}
