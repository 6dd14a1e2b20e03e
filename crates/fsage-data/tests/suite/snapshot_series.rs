//! Snapshots as one series, from one file or many, and the two forms made from each other.

use crate::kit;
use crate::kit::nights::{Night, any_nights, info};
use fsage_core::snapshot::{FurtherName, Inode, SnapshotRow};
use fsage_core::{FileKind, snapshot::SnapshotSink};
use fsage_data::DataError;
use fsage_data::snapshot::{
    Form, InodeReader, InodeWriter, NamesReader, NamesWriter, SeriesOutput, SnapshotCounts,
    SnapshotOutput, SnapshotSeries, open_snapshots, read_snapshot_table, write_snapshot_table,
};
use proptest::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};

fn write(path: &Path, form: Form, first: u32, nights: &[Night]) {
    let mut output = SnapshotOutput::create(path, form, false).unwrap();
    for (id, night) in nights.iter().enumerate() {
        output.snapshot(info(first + id as u32)).unwrap();
        for inode in night.values() {
            output.inode(inode.clone()).unwrap();
        }
    }
    output.finish().unwrap();
}

fn convert(from: &Path, to: &Path, form: Form) -> SnapshotCounts {
    let mut series = SnapshotSeries::open(&[from]).unwrap().with_own_numbers();
    let mut output = SeriesOutput::create(to, form, false).unwrap();
    while let Some(night) = series.next_night().unwrap() {
        output.write(night, &series).unwrap();
    }
    output.finish().unwrap()
}

/// Applies the changes of a series to nothing, as their reader does.
fn replayed(paths: &[PathBuf]) -> Vec<(u32, i64, Night)> {
    let mut source = open_snapshots(paths).unwrap();
    let mut state = Night::new();
    let mut nights = Vec::new();
    while let Some(changes) = source.next_changes().unwrap() {
        for row in changes.rows {
            let key = row.key();
            match row {
                SnapshotRow::Present(inode) => {
                    let old = state.insert(key, inode.clone());
                    assert_ne!(old, Some(inode), "a row that changes nothing");
                }
                SnapshotRow::Gone { .. } => assert!(state.remove(&key).is_some()),
            }
        }
        nights.push((
            changes.info.snap_id,
            changes.info.taken_at_ns,
            state.clone(),
        ));
    }
    nights
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_series_comes_back_from_both_forms_and_from_any_split_into_files(
        nights in any_nights(),
        cut in 0..6_usize,
        forms in any::<(bool, bool)>(),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let form = |delta: bool| if delta { Form::Delta } else { Form::Full };
        let cut = cut.min(nights.len());
        let (early, late) = (dir.path().join("z.parquet"), dir.path().join("a.parquet"));
        write(&early, form(forms.0), 3, &nights[..cut]);
        write(&late, form(forms.1), 3 + cut as u32, &nights[cut..]);
        let expected: Vec<_> = nights
            .iter()
            .enumerate()
            .map(|(id, night)| (id as u32, (id as i64 + 3) * 1000, night.clone()))
            .collect();
        let files = match (cut, nights.len() - cut) {
            (0, _) => vec![late],
            (_, 0) => vec![early],
            _ => vec![late, early],
        };
        prop_assert_eq!(replayed(&files), expected);
    }

    #[test]
    fn the_forms_are_made_from_each_other_without_loss(nights in any_nights()) {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        write(&path("full.parquet"), Form::Full, 5, &nights);
        write(&path("delta.parquet"), Form::Delta, 5, &nights);
        convert(&path("full.parquet"), &path("to_delta.parquet"), Form::Delta);
        convert(&path("to_delta.parquet"), &path("to_full.parquet"), Form::Full);
        for (made, original) in [("to_delta", "delta"), ("to_full", "full")] {
            for ending in [".parquet", ".snapshots.parquet"] {
                let read = |stem: &str| fs::read(path(&format!("{stem}{ending}"))).unwrap();
                prop_assert!(read(made) == read(original), "{}{}", made, ending);
            }
        }
    }
}

/// The next row of a table with its snapshot, counted.
fn next(reader: &mut InodeReader, rows: &mut u64, gone: &mut u64) -> Option<(u32, SnapshotRow)> {
    let row = reader.next_row().unwrap()?;
    *rows += 1;
    *gone += u64::from(matches!(row.1, SnapshotRow::Gone { .. }));
    Some(row)
}

fn assert_same_rows(a: &Path, b: &Path) -> (u64, u64) {
    let (mut a, mut b) = (InodeReader::open(a).unwrap(), InodeReader::open(b).unwrap());
    let (mut rows, mut gone) = (0, 0);
    while let Some(row) = next(&mut a, &mut rows, &mut gone) {
        assert_eq!(Some(row), b.next_row().unwrap());
    }
    assert_eq!(b.next_row().unwrap(), None);
    (rows, gone)
}

/// Numbers of rows: the index of the sample series.
#[test]
fn the_sample_series_converts_both_ways() {
    let Some(full) = kit::shared("data/snapshots/redis.commit.full.parquet") else {
        return;
    };
    let delta = kit::shared("data/snapshots/redis.commit.delta.parquet").unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let counts = convert(&full, &path("d.parquet"), Form::Delta);
    assert_eq!((counts.rows, counts.tombstones), (21_215, 714));
    assert_eq!(assert_same_rows(&path("d.parquet"), &delta), (21_215, 714));
    let counts = convert(&delta, &path("f.parquet"), Form::Full);
    assert_eq!((counts.snapshots, counts.rows), (2647, 2_339_884));
    assert_eq!(assert_same_rows(&path("f.parquet"), &full), (2_339_884, 0));
    let table = kit::shared("data/snapshots/redis.commit.snapshots.parquet").unwrap();
    assert_eq!(
        read_snapshot_table(path("f.snapshots.parquet")).unwrap(),
        read_snapshot_table(table).unwrap()
    );
    // Both forms of one series lie in that folder.
    let folder = full.parent().unwrap().to_owned();
    let message = open_snapshots(&[folder]).err().unwrap().to_string();
    assert!(message.contains("give each night once"), "{message}");
}

fn file(ino: u64, ctime_ns: i64) -> Inode {
    Inode {
        ctime_ns: Some(ctime_ns),
        ..Inode::new(ino, None, FileKind::Regular, 1)
    }
}

fn write_table(path: &Path, form: Form, rows: &[(u32, SnapshotRow)]) {
    let mut writer = InodeWriter::create(path, form, true).unwrap();
    for (snap_id, row) in rows {
        writer.write_row(*snap_id, row).unwrap();
    }
    writer.finish().unwrap();
}

#[test]
fn without_a_snapshot_table_times_come_from_the_inodes() {
    let dir = tempfile::tempdir().unwrap();
    let row = |id, ino, ctime| (id, SnapshotRow::Present(file(ino, ctime)));
    write_table(
        &dir.path().join("b.parquet"),
        Form::Full,
        &[row(0, 1, 50), row(3, 1, 50)],
    );
    write_table(
        &dir.path().join("a.parquet"),
        Form::Full,
        &[row(7, 1, 40), row(7, 2, 90)],
    );
    fs::write(dir.path().join(".x.parquet"), "being written").unwrap();
    fs::write(dir.path().join("notes.txt"), "no table").unwrap();
    let series = SnapshotSeries::open(&[dir.path()]).unwrap();
    assert_eq!(series.notes().len(), 3, "{:?}", series.notes());
    let nights = replayed(&[dir.path().to_owned()]);
    let times: Vec<_> = nights.iter().map(|night| (night.0, night.1)).collect();
    assert_eq!(times, [(0, 50), (1, 51), (2, 90)]);
}

#[test]
fn further_names_go_with_their_snapshot() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.parquet");
    let row = |id| (id, SnapshotRow::Present(file(1, 5)));
    write_table(&path, Form::Full, &[row(2), row(4)]);
    let name = FurtherName {
        ino: 1,
        generation: None,
        parent_ino: 2,
        name: "b".into(),
    };
    let mut names = NamesWriter::create(dir.path().join("s.names.parquet"), false).unwrap();
    names.write(4, vec![name.clone()]).unwrap();
    assert!(names.write(3, vec![name.clone()]).is_err());
    names.finish().unwrap();
    let mut source = open_snapshots(std::slice::from_ref(&path)).unwrap();
    let names = |source: &mut dyn fsage_core::snapshot::SnapshotSource| {
        source.next_changes().unwrap().unwrap().names
    };
    assert_eq!(names(source.as_mut()), Some(vec![]));
    assert_eq!(names(source.as_mut()), Some(vec![name.clone()]));
    convert(&path, &dir.path().join("d.parquet"), Form::Delta);
    let mut converted = NamesReader::open(dir.path().join("d.names.parquet")).unwrap();
    assert_eq!(converted.names_of(4).unwrap(), [name]);
}

fn problem(paths: &[&Path]) -> String {
    let mut series = match SnapshotSeries::open(paths) {
        Ok(series) => series,
        Err(e) => return e.to_string(),
    };
    loop {
        match series.next_night() {
            Ok(Some(_)) => {}
            Ok(None) => return "no error".to_owned(),
            Err(e) => return e.to_string(),
        }
    }
}

#[test]
fn what_cannot_be_right_names_file_and_row() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.parquet");
    let table = dir.path().join("s.snapshots.parquet");
    let present = |id, ino| (id, SnapshotRow::Present(file(ino, 5)));
    let gone = |id, ino| {
        let row = SnapshotRow::Gone {
            ino,
            generation: None,
        };
        (id, row)
    };
    write_table(&path, Form::Delta, &[present(0, 1), gone(1, 1), gone(2, 1)]);
    let message = problem(&[&path]);
    assert!(
        message.contains("s.parquet: row 3: inode 1 is gone"),
        "{message}"
    );
    write_table(&path, Form::Delta, &[present(0, 1), gone(0, 2)]);
    let message = problem(&[&path]);
    assert!(
        message.contains("row 2: inode 2 is gone in the first"),
        "{message}"
    );

    write_table(&path, Form::Full, &[present(0, 1), present(1, 1)]);
    write_snapshot_table(&table, &[info(0), info(2)], false).unwrap();
    let message = problem(&[&path]);
    assert!(message.contains("row 2: snapshot 1 has rows"), "{message}");
    write_snapshot_table(&table, &[info(1), info(1)], true).unwrap();
    let message = problem(&[&path]);
    assert!(message.contains("s.snapshots.parquet: row 2"), "{message}");
    fs::remove_file(table).unwrap();

    assert_eq!(problem(&[&path]), "no error");
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    assert!(problem(&[&path]).contains("cut short"));
    let mut garbled = bytes.clone();
    garbled[40..60].fill(0xa5);
    fs::write(&path, garbled).unwrap();
    assert!(problem(&[&path]).contains("s.parquet"));
    assert!(matches!(
        SnapshotSeries::open(&[tempfile::tempdir().unwrap().path()]),
        Err(DataError::Unsuitable { .. })
    ));
}
