//! Series of snapshots whose rows come in any order: sorted, hard links told from contradictions, deltas taken.

use crate::kit::nights::{Night, any_nights, info};
use fsage_core::FileKind::{Directory, Regular, Symlink};
use fsage_core::snapshot::{FurtherName, Inode, SnapshotRow, SnapshotSink};
use fsage_core::{Extent, FileKind, Layout, Rng, Run};
use fsage_data::SnapshotFile;
use fsage_data::snapshot::{
    Form, InodeReader, InodeWriter, NamesReader, Repairs, SnapshotCounts, SnapshotOutput,
    read_free_map, read_snapshot_table,
};
use parquet::file::reader::{FileReader, SerializedFileReader};
use proptest::prelude::*;
use std::fs;
use std::path::Path;

fn rows(path: &Path) -> Vec<(u32, SnapshotRow)> {
    let mut reader = InodeReader::open(path).unwrap();
    let mut rows = Vec::new();
    while let Some(row) = reader.next_row().unwrap() {
        rows.push(row);
    }
    rows
}

/// Snapshot, number and path of every row of a full table.
fn paths(path: &Path) -> Vec<(u32, u64, String)> {
    let path_of = |(id, row)| match row {
        SnapshotRow::Present(inode) => (id, inode.ino, inode.path.unwrap().into_string()),
        SnapshotRow::Gone { .. } => unreachable!("a full table"),
    };
    rows(path).into_iter().map(path_of).collect()
}

/// Names of all files in a folder, those that begin with a dot included.
fn files_in(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn shuffled(night: &Night, seed: u64) -> Vec<Inode> {
    let mut rng = Rng::new(seed);
    let mut inodes: Vec<Inode> = night.values().cloned().collect();
    for last in (1..inodes.len()).rev() {
        inodes.swap(last, rng.below(last as u64 + 1) as usize);
    }
    inodes
}

/// Rows of both forms, straight from the definition: a delta has what the night before has not.
fn expected(nights: &[Night], form: Form) -> Vec<(u32, SnapshotRow)> {
    let mut rows = Vec::new();
    let nothing = Night::new();
    for (id, night) in nights.iter().enumerate() {
        let before = match (form, id) {
            (Form::Full, _) | (_, 0) => &nothing,
            _ => &nights[id - 1],
        };
        let mut changed: Vec<SnapshotRow> = night
            .iter()
            .filter(|(key, inode)| before.get(key) != Some(inode))
            .map(|(_, inode)| SnapshotRow::Present(inode.clone()))
            .collect();
        let gone = before.keys().filter(|key| !night.contains_key(key));
        changed.extend(gone.map(|(ino, generation)| SnapshotRow::Gone {
            ino: *ino,
            generation: *generation,
        }));
        changed.sort_by_key(SnapshotRow::key);
        rows.extend(changed.into_iter().map(|row| (id as u32, row)));
    }
    rows
}

fn write(path: &Path, form: Form, memory: usize, nights: &[Night], seed: u64) -> SnapshotCounts {
    let mut output = SnapshotOutput::with_memory(path, form, false, memory).unwrap();
    for (id, night) in nights.iter().enumerate() {
        output.snapshot(info(id as u32)).unwrap();
        for inode in shuffled(night, seed) {
            output.inode(inode).unwrap();
        }
    }
    output.finish().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn rows_in_any_order_give_the_same_file_with_any_memory(nights in any_nights(), seed: u64) {
        let dir = tempfile::tempdir().unwrap();
        for form in [Form::Full, Form::Delta] {
            let expected = expected(&nights, form);
            let mut files = Vec::new();
            for memory in [0, 1000, 1 << 20] {
                let path = dir.path().join(format!("{}{memory}.parquet", form.as_str()));
                let counts = write(&path, form, memory, &nights, seed ^ memory as u64);
                prop_assert_eq!(counts.repairs, Repairs::default());
                prop_assert_eq!(counts.rows, expected.len() as u64);
                prop_assert_eq!(&rows(&path), &expected);
                files.push(fs::read(&path).unwrap());
            }
            prop_assert!(files.iter().all(|file| *file == files[0]));
        }
        prop_assert!(files_in(dir.path()).iter().all(|name| !name.starts_with('.')));
    }
}

/// More runs than are merged at once: inode numbers 0 to 999 in a fixed random order, one a run.
#[test]
fn many_runs_are_merged_in_steps() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.parquet");
    let night = (0..1000).map(|ino| ((ino, None), Inode::new(ino, None, FileKind::Regular, ino)));
    let night: Night = night.collect();
    write(&path, Form::Full, 0, std::slice::from_ref(&night), 7);
    assert_eq!(rows(&path), expected(&[night], Form::Full));
}

#[test]
fn a_second_path_is_a_hard_link_and_a_second_type_a_contradiction() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.parquet");
    let mut output = SnapshotOutput::create(&path, Form::Full, false).unwrap();
    let named = |ino: u64, kind: FileKind, path: &str, parent: Option<u64>| Inode {
        path: Some(path.into()),
        parent_ino: parent,
        links: Some(3),
        ..Inode::new(ino, Some(5), kind, 10)
    };
    output.snapshot(info(4)).unwrap();
    for inode in [
        named(9, Regular, "b/y", Some(3)),
        named(9, Regular, "\\xe9", Some(2)),
        named(9, Regular, "a", Some(2)),
        named(2, Directory, ".", None),
        named(3, Directory, "b", None),
        // Without the inode of the directory, which the rows of directories give; the second one is unknown.
        named(9, Regular, "b/x", None),
        named(9, Regular, "nowhere/x", None),
        // Twice the same.
        named(10, Regular, "twice", Some(2)),
        named(10, Regular, "twice", Some(2)),
        // Another type, and another size.
        named(11, Symlink, "c1", Some(2)),
        named(11, Regular, "c0", Some(2)),
        Inode {
            size_bytes: 99,
            ..named(11, Regular, "c2", Some(2))
        },
        // A directory has one path.
        named(12, Directory, "d2", Some(2)),
        named(12, Directory, "d1", Some(2)),
    ] {
        output.inode(inode).unwrap();
    }
    let counts = output.finish().unwrap();
    assert_eq!(
        counts,
        SnapshotCounts {
            snapshots: 1,
            rows: 6,
            tombstones: 0,
            further_names: 4,
            regular: counts.regular,
            repairs: Repairs {
                duplicates: 1,
                contradictions: 2,
                disagreements: 1,
                lost_names: 1,
                ..Repairs::default()
            },
        }
    );
    assert_eq!(
        (counts.repairs.lines().len(), counts.regular.bytes),
        (4, 30)
    );
    let of = |ino, path: &str| (4, ino, path.to_owned());
    assert_eq!(
        paths(&path),
        [
            of(2, "."),
            of(3, "b"),
            of(9, "a"),
            of(10, "twice"),
            of(11, "c0"),
            of(12, "d1")
        ]
    );
    let mut names = NamesReader::open(dir.path().join("s.names.parquet")).unwrap();
    let name = |ino: u64, parent_ino: u64, name: &str| FurtherName {
        ino,
        generation: Some(5),
        parent_ino,
        name: name.into(),
    };
    assert_eq!(names.names_of(3).unwrap(), []);
    assert_eq!(
        names.names_of(4).unwrap(),
        [
            name(9, 2, "\\xe9"),
            name(9, 3, "x"),
            name(9, 3, "y"),
            name(11, 2, "c2")
        ]
    );
    assert_eq!(names.names_of(5).unwrap(), []);

    // The same as a layout.
    let layout = SnapshotFile::open(dir.path().join("s.parquet")).unwrap();
    let mut seen = Vec::new();
    layout.visit_files(&mut |file| {
        let name = file.name().unwrap().to_owned();
        seen.push((4, file.ino, file.path.unwrap().to_owned()));
        assert!(file.path.unwrap().ends_with(&name));
    });
    assert_eq!(seen, paths(&path));
    let mut further = Vec::new();
    layout.visit_further_names(&mut |name| further.push(name.clone()));
    assert_eq!(further.len(), 4);
    assert_eq!(further[3], name(11, 2, "c2"));
}

#[test]
fn extents_are_sorted_and_merged_and_overlapping_ones_dropped() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s");
    let mut output = SnapshotOutput::create(&path, Form::Full, false).unwrap();
    let extent = |logical_bytes: u64, physical_bytes: u64, flags: u32| Extent {
        logical_bytes,
        physical_bytes,
        length_bytes: 512,
        flags,
    };
    let pointers = extent(Extent::POINTERS_AT, 9000, Extent::POINTERS);
    let with = |ino: u64, extents: Vec<Extent>| Inode {
        extents: Some(extents.into()),
        ..Inode::new(ino, None, FileKind::Regular, 1024)
    };
    output.snapshot(info(0)).unwrap();
    for inode in [
        with(
            1,
            vec![
                pointers,
                extent(512, 1512, 0),
                extent(0, 1000, 0),
                extent(1024, 2024, 8),
            ],
        ),
        with(2, vec![extent(0, 1000, 0), extent(511, 5000, 0)]),
        with(3, vec![extent(u64::MAX - 1, 1000, 0)]),
    ] {
        output.inode(inode).unwrap();
    }
    assert_eq!(output.finish().unwrap().repairs.bad_extents, 2);
    let extents: Vec<_> = rows(&dir.path().join("s.parquet"))
        .into_iter()
        .map(|(_, row)| match row {
            SnapshotRow::Present(inode) => inode.extents.map(Vec::from),
            SnapshotRow::Gone { .. } => unreachable!("a full table"),
        })
        .collect();
    let merged = Extent {
        length_bytes: 1024,
        ..extent(0, 1000, 0)
    };
    assert_eq!(
        extents,
        [
            Some(vec![merged, extent(1024, 2024, 8), pointers]),
            None,
            None
        ]
    );
}

#[test]
fn numbers_that_go_back_are_refused_and_times_that_go_back_are_counted() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.parquet");
    let mut output = SnapshotOutput::create(&path, Form::Delta, false).unwrap();
    let early = output.inode(Inode::new(1, None, FileKind::Regular, 0));
    assert!(early.unwrap_err().to_string().contains("no snapshot"));
    output.snapshot(info(5)).unwrap();
    let message = |result: Result<(), fsage_core::SinkError>| result.unwrap_err().to_string();
    assert!(message(output.snapshot(info(5))).contains("a second time"));
    assert!(message(output.snapshot(info(4))).contains("snapshot 4 after snapshot 5"));
    let garbled = Inode {
        path: Some("a\\b".into()),
        ..Inode::new(1, None, FileKind::Regular, 0)
    };
    assert!(message(output.inode(garbled)).contains("backslash"));
    drop(output);
    assert_eq!(files_in(dir.path()), [""; 0]);

    let mut output = SnapshotOutput::create(&path, Form::Delta, false).unwrap();
    output.snapshot(info(5)).unwrap();
    let mut later = info(6);
    later.taken_at_ns = -1;
    output.snapshot(later).unwrap();
    assert_eq!(output.finish().unwrap().repairs.times_not_after, 1);
    let table = read_snapshot_table(dir.path().join("s.snapshots.parquet")).unwrap();
    assert_eq!(table.len(), 2);
}

#[test]
fn a_series_written_over_leaves_no_table_of_the_old_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.parquet");
    fs::write(dir.path().join("s.free.parquet"), "old").unwrap();
    fs::write(dir.path().join("s.names.parquet"), "old").unwrap();
    assert!(SnapshotOutput::create(&path, Form::Full, false).is_err());
    let mut output = SnapshotOutput::create(&path, Form::Full, true).unwrap();
    output.snapshot(info(1)).unwrap();
    output
        .inode(Inode::new(1, None, FileKind::Regular, 0))
        .unwrap();
    output.finish().unwrap();
    assert_eq!(files_in(dir.path()), ["s.parquet", "s.snapshots.parquet"]);
}

#[test]
fn free_space_and_what_is_known_late_are_stored_with_the_snapshot() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s");
    let run = |start_bytes, length_bytes| Run {
        start_bytes,
        length_bytes,
    };
    let mut output = SnapshotOutput::create(&path, Form::Full, false).unwrap();
    for id in 0..2 {
        output.snapshot(info(id)).unwrap();
        output
            .inode(Inode::new(2, Some(1), Directory, 4096))
            .unwrap();
        let mut late = info(id);
        late.walk_ns = Some(7);
        let runs = [run(4096, 4096), run(u64::from(id) * 65536 + 65536, 8192)];
        output.complete_snapshot(late, Some(&runs)).unwrap();
    }
    // What is not so is refused, and nothing of it is written.
    assert!(output.complete_snapshot(info(0), None).is_err());
    for bad in [
        [run(4096, 4096), run(8000, 1)],
        [run(0, 1), run(u64::MAX, 2)],
    ] {
        assert!(output.complete_snapshot(info(1), Some(&bad)).is_err());
    }
    let mut late = info(1);
    late.walk_ns = Some(8);
    output.complete_snapshot(late, None).unwrap();
    output.finish().unwrap();

    assert_eq!(
        files_in(dir.path()),
        ["s.free.parquet", "s.parquet", "s.snapshots.parquet"]
    );
    let free = dir.path().join("s.free.parquet");
    assert_eq!(
        read_free_map(&free, 0).unwrap(),
        [run(4096, 4096), run(65536, 8192)]
    );
    assert_eq!(
        read_free_map(&free, 1).unwrap(),
        [run(4096, 4096), run(131_072, 8192)]
    );
    let infos = read_snapshot_table(dir.path().join("s.snapshots.parquet")).unwrap();
    let late: Vec<_> = infos.iter().map(|info| info.walk_ns).collect();
    assert_eq!(late, [Some(7), Some(8)]);

    // A series without free space takes the old free map away; one that is not finished leaves all as it was.
    let mut output = SnapshotOutput::create(&path, Form::Full, true).unwrap();
    output.snapshot(info(0)).unwrap();
    output.complete_snapshot(info(0), Some(&[])).unwrap();
    drop(output);
    assert_eq!(read_free_map(&free, 0).unwrap().len(), 2);
    let mut output = SnapshotOutput::create(&path, Form::Full, true).unwrap();
    output.snapshot(info(0)).unwrap();
    output.finish().unwrap();
    assert_eq!(files_in(dir.path()), ["s.parquet", "s.snapshots.parquet"]);
}

/// The rows of a walk, with hard links in two directories, as many runs and as one: the tables are the same bytes, and
/// nothing else is in the folder, neither meanwhile nor after that.
#[test]
fn a_night_that_is_sorted_on_disk_gives_the_same_files() {
    let extent = |at: u64, rng: &mut Rng| Extent {
        logical_bytes: at << 20,
        physical_bytes: rng.below(1 << 40) << 12,
        length_bytes: 4096 << rng.below(4),
        flags: 0,
    };
    let mut rng = Rng::new(11);
    let mut night = Vec::new();
    for ino in 0..5000 {
        let name = format!("a/directory/{}", rng.below(1 << 30));
        let inode = Inode {
            links: Some(1 + u32::from(ino % 10 == 0)),
            parent_ino: Some(2),
            path: Some(name.as_str().into()),
            extents: (ino % 7 > 0).then(|| (0..ino % 4).map(|at| extent(at, &mut rng)).collect()),
            ..Inode::new(rng.below(1 << 40), Some(ino as u32), Regular, ino)
        };
        if ino % 10 == 0 {
            night.push(Inode {
                path: Some(format!("b/{name}").into()),
                parent_ino: Some(3),
                ..inode.clone()
            });
        }
        night.push(inode);
    }
    let mut written = Vec::new();
    for memory in [20_000, 1 << 30] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.parquet");
        let mut output = SnapshotOutput::with_memory(&path, Form::Full, false, memory).unwrap();
        output.snapshot(info(0)).unwrap();
        for inode in &night {
            output.inode(inode.clone()).unwrap();
        }
        assert_eq!(files_in(dir.path()).len(), 1, "the inode table");
        let mut reported = Vec::new();
        let counts = output.finish_watched(&mut |rows| {
            reported.push(rows);
            Ok(())
        });
        let counts = counts.unwrap();
        assert_eq!((counts.rows, counts.further_names), (5000, 500));
        assert_eq!((counts.repairs.lines(), reported), (vec![], vec![4096]));
        let files = files_in(dir.path()).into_iter();
        let files = files.map(|name| (fs::read(dir.path().join(&name)).unwrap(), name));
        written.push(files.collect::<Vec<_>>());
    }
    assert_eq!(written[0].len(), 3);
    assert!(written[0] == written[1]);
}

#[test]
fn a_work_that_is_stopped_while_rows_are_stored_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.parquet");
    let mut output = SnapshotOutput::with_memory(&path, Form::Full, false, 1000).unwrap();
    output.snapshot(info(0)).unwrap();
    for ino in 0..10_000 {
        output.inode(Inode::new(ino, None, Regular, ino)).unwrap();
    }
    let stopped = output.finish_watched(&mut |_| Err(std::io::ErrorKind::Interrupted.into()));
    assert!(stopped.unwrap_err().to_string().contains("s.parquet"));
    assert_eq!(files_in(dir.path()), Vec::<String>::new());
}

/// Lists of extents that no encoding makes smaller, so that a group of rows would take more memory than it may.
#[test]
fn groups_of_rows_with_long_lists_of_extents_end_early() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.parquet");
    let mut rng = Rng::new(5);
    let mut fragmented = |ino| {
        let extents = (0..20_000).map(|at| Extent {
            logical_bytes: at << 32,
            physical_bytes: rng.next_u64() >> 1,
            length_bytes: rng.next_u64() >> 32,
            flags: 0,
        });
        Inode {
            extents: Some(extents.collect()),
            ..Inode::new(ino, None, Regular, ino)
        }
    };
    let inodes: Vec<Inode> = (0..300).map(&mut fragmented).collect();
    let mut writer = InodeWriter::create(&path, Form::Full, false).unwrap();
    for inode in &inodes {
        writer.write(0, inode).unwrap();
    }
    writer.finish().unwrap();
    let file = fs::File::open(&path).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let groups = reader.metadata().row_groups();
    assert!(groups.len() > 1);
    assert!(
        groups
            .iter()
            .all(|group| group.total_byte_size() < 90 << 20)
    );
    let expected = inodes
        .into_iter()
        .map(|inode| (0, SnapshotRow::Present(inode)));
    assert!(rows(&path).into_iter().eq(expected));
}

/// The second of three hard links does not say its directory, whose row comes last.
#[test]
fn a_name_that_waits_for_its_directory_holds_up_those_behind_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.parquet");
    let mut output = SnapshotOutput::create(&path, Form::Full, false).unwrap();
    output.snapshot(info(0)).unwrap();
    let named = |ino: u64, kind: FileKind, path: &str, parent: Option<u64>| Inode {
        path: Some(path.into()),
        parent_ino: parent,
        ..Inode::new(ino, None, kind, 0)
    };
    for ino in [3, 5, 7] {
        let parent = (ino != 5).then_some(20);
        output
            .inode(named(ino, Regular, &format!("d/{ino}"), parent))
            .unwrap();
        output
            .inode(named(ino, Regular, &format!("a{ino}"), Some(2)))
            .unwrap();
    }
    output.inode(named(20, Directory, "d", None)).unwrap();
    let counts = output.finish().unwrap();
    assert_eq!(
        (counts.further_names, counts.repairs),
        (3, Repairs::default())
    );
    let mut names = NamesReader::open(dir.path().join("s.names.parquet")).unwrap();
    let names = names.names_of(0).unwrap().into_iter();
    let names: Vec<_> = names
        .map(|n| (n.ino, n.parent_ino, n.name.into_string()))
        .collect();
    assert_eq!(names, [3, 5, 7].map(|ino| (ino, 20, ino.to_string())));
}
