//! Snapshots as files: layouts that come back as they were, and the nights of a real file system.

use crate::kit;
use fsage_core::snapshot::{Inode, SnapshotRow, source_flags};
use fsage_core::{Extent, FileKind, FileView, Geometry, Layout, Run, Space};
use fsage_data::snapshot::{
    Form, InodeReader, InodeWriter, is_snapshot, read_sizes, read_snapshot, read_snapshot_table,
};
use fsage_data::{DataError, SnapshotFile, SnapshotMeta, write_snapshot};
use fsage_durable::FileError;
use std::fs;
use std::path::Path;

/// Inode, generation, type, size, extents.
type StoredFile = (u64, Option<u32>, FileKind, u64, Option<Vec<Extent>>);

/// A layout with its inodes in any order.
#[derive(Debug, PartialEq)]
struct Stored {
    geometry: Geometry,
    space: Space,
    files: Vec<StoredFile>,
    free: Vec<Run>,
}

impl Layout for Stored {
    fn geometry(&self) -> Geometry {
        self.geometry.clone()
    }

    fn space(&self) -> Option<Space> {
        Some(self.space)
    }

    fn visit_files(&self, visit: &mut dyn FnMut(&FileView<'_>)) {
        for (ino, generation, kind, size_bytes, extents) in &self.files {
            visit(&FileView {
                generation: *generation,
                parent_ino: Some(2),
                alloc_bytes: Some(size_bytes.next_multiple_of(1024)),
                extents: extents.as_deref(),
                ..FileView::new(*ino, *kind, *size_bytes)
            });
        }
    }

    fn visit_free(&self, visit: &mut dyn FnMut(Run)) {
        self.free.iter().for_each(|run| visit(*run));
    }
}

fn copy_of(layout: &dyn Layout) -> Stored {
    let mut stored = Stored {
        geometry: layout.geometry(),
        space: layout.space().unwrap_or_default(),
        files: Vec::new(),
        free: Vec::new(),
    };
    layout.visit_files(&mut |f| {
        let extents = f.extents.map(<[Extent]>::to_vec);
        stored
            .files
            .push((f.ino, f.generation, f.kind, f.size_bytes, extents));
    });
    layout.visit_free(&mut |run| stored.free.push(run));
    stored
}

fn extent(logical: u64, physical: u64, length: u64) -> Extent {
    Extent {
        logical_bytes: logical,
        physical_bytes: physical,
        length_bytes: length,
        flags: 0,
    }
}

fn ffs_like() -> Stored {
    let pointers = Extent {
        logical_bytes: Extent::POINTERS_AT,
        flags: Extent::POINTERS,
        ..extent(0, 81_920, 8192)
    };
    Stored {
        geometry: Geometry {
            fs_type: "ffs".to_owned(),
            size_bytes: 1 << 29,
            data_bytes: Some(500 << 20),
            reserved_bytes: 50 << 20,
            block_bytes: 8192,
            frag_bytes: 1024,
            inodes_total: 262_656,
            group_count: 27,
            group_bytes: 8192 * 2596,
            inodes_per_group: 9728,
            first_ino: 0,
            inode_chunk_bytes: 0,
        },
        space: Space {
            free_blocks: 1000,
            free_frags: 77,
            free_inodes: 262_000,
        },
        files: vec![
            (
                9,
                Some(3),
                FileKind::Regular,
                5000,
                Some(vec![extent(0, 8192, 5120)]),
            ),
            (2, None, FileKind::Directory, 512, Some(vec![])),
            (9, Some(1), FileKind::Symlink, 6, None),
            (
                4,
                Some(0),
                FileKind::Fifo,
                0,
                Some(vec![extent(0, 1 << 20, 8192), pointers]),
            ),
        ],
        free: vec![
            Run {
                start_bytes: 0,
                length_bytes: 1024,
            },
            Run {
                start_bytes: 9 << 20,
                length_bytes: u64::MAX >> 1,
            },
        ],
    }
}

#[test]
fn a_layout_comes_back_sorted_by_inode() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("final.parquet");
    let mut layout = ffs_like();
    let meta = SnapshotMeta {
        snap_id: 300,
        taken_at_ns: -5,
        source: "model".to_owned(),
        // A column more, which readers do without.
        target: Some("ffs:policy=realloc".to_owned()),
        ..SnapshotMeta::default()
    };
    write_snapshot(&path, &layout, &meta, false).unwrap();
    let mut names: Vec<_> = fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(
        names,
        [
            "final.free.parquet",
            "final.parquet",
            "final.snapshots.parquet"
        ]
    );
    assert!(matches!(
        write_snapshot(&path, &layout, &meta, false),
        Err(DataError::Output(FileError::Exists { .. }))
    ));

    let read = SnapshotFile::open(&path).unwrap();
    assert_eq!(
        (read.snap_id(), read.inode_count(), read.free_known()),
        (300, 4, true)
    );
    assert_eq!(read.info().unwrap().taken_at_ns, -5);
    layout.files.sort_by_key(|file| (file.0, file.1));
    assert_eq!(copy_of(&read), layout);
    let (info, whole) = read_snapshot(&path).unwrap();
    assert_eq!((info.snap_id, copy_of(&whole)), (300, copy_of(&read)));
    let sizes = read_sizes(&path).unwrap();
    assert_eq!((sizes.geometry, sizes.free), (whole.geometry, whole.free));
    assert!(sizes.inodes.is_empty() && is_snapshot(&path).unwrap());
    let others = ["final.snapshots.parquet", "final.free.parquet"];
    assert!(
        others
            .iter()
            .all(|name| !is_snapshot(&dir.path().join(name)).unwrap())
    );

    // Visited in order, the same bytes are written.
    let again = dir.path().join("again");
    write_snapshot(&again, &read, &meta, false).unwrap();
    assert_eq!(
        fs::read(dir.path().join("again.parquet")).unwrap(),
        fs::read(&path).unwrap()
    );
    let message = SnapshotFile::open_snapshot(&path, 7)
        .unwrap_err()
        .to_string();
    assert!(message.contains("no snapshot 7"), "{message}");
}

#[test]
fn without_its_tables_a_snapshot_says_what_it_can() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.parquet");
    write_snapshot(&path, &ffs_like(), &SnapshotMeta::default(), false).unwrap();
    fs::remove_file(dir.path().join("s.snapshots.parquet")).unwrap();
    fs::remove_file(dir.path().join("s.free.parquet")).unwrap();
    let read = SnapshotFile::open(&path).unwrap();
    assert!(!read.free_known());
    let geometry = read.geometry();
    assert_eq!(
        (geometry.block_bytes, geometry.size_bytes),
        (1024, (1 << 20) + 8192)
    );
    assert_eq!(read.space(), None);
    let message = read_snapshot(&path).unwrap_err().to_string();
    assert!(message.contains("no snapshot table"), "{message}");
}

#[test]
fn two_inodes_of_one_key_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mut layout = ffs_like();
    layout.files.push(layout.files[0].clone());
    let path = dir.path().join("s");
    let message = write_snapshot(&path, &layout, &SnapshotMeta::default(), false).unwrap_err();
    assert!(
        message.to_string().contains("inode 9 of snapshot 0"),
        "{message}"
    );
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn every_column_of_an_inode_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.parquet");
    let inode = Inode {
        alloc_bytes: Some(512),
        ctime_ns: Some(-1),
        mtime_ns: Some(2),
        btime_ns: Some(3),
        links: Some(4),
        mode: Some(0o100_644),
        uid: Some(5),
        gid: Some(6),
        parent_ino: Some(7),
        path: Some("a/b\\x0a".into()),
        extents: Some([extent(0, 4096, 512)].into()),
        source_flags: source_flags::INLINE,
        ..Inode::new(12, Some(13), FileKind::Regular, 14)
    };
    let rows = [
        (0, SnapshotRow::Present(inode)),
        (
            0,
            SnapshotRow::Present(Inode::new(13, None, FileKind::Socket, 0)),
        ),
        (
            1,
            SnapshotRow::Gone {
                ino: 12,
                generation: Some(13),
            },
        ),
    ];
    let mut writer = InodeWriter::create(&path, Form::Delta, false).unwrap();
    for (snap_id, row) in &rows {
        writer.write_row(*snap_id, row).unwrap();
    }
    assert!(writer.write_row(0, &rows[0].1).is_err());
    writer.finish().unwrap();
    let mut reader = InodeReader::open(&path).unwrap();
    for row in rows {
        assert_eq!(reader.next_row().unwrap(), Some(row));
    }
    assert_eq!(reader.next_row().unwrap(), None);
    assert_eq!(SnapshotFile::open(&path).unwrap().inode_count(), 1);
    assert_eq!(
        SnapshotFile::open_snapshot(&path, 0).unwrap().inode_count(),
        2
    );

    let mut full = InodeWriter::create(dir.path().join("f.parquet"), Form::Full, false).unwrap();
    assert!(
        full.write_row(
            1,
            &SnapshotRow::Gone {
                ino: 1,
                generation: None
            }
        )
        .is_err()
    );
}

fn live_files(truth: &str, snap_id: u32) -> usize {
    let row = truth.lines().nth(snap_id as usize + 1).unwrap();
    row.split(',').nth(2).unwrap().parse().unwrap()
}

/// `files_live` of `redis.commit.truth.csv` counts what the history says was alive; both forms of the same
/// series must agree with it and with each other.
#[test]
fn a_night_of_a_real_series_is_the_same_in_both_forms() {
    let Some(full) = kit::shared("data/snapshots/redis.commit.full.parquet") else {
        return;
    };
    let delta = kit::shared("data/snapshots/redis.commit.delta.parquet").unwrap();
    let truth = kit::shared("data/snapshots/redis.commit.truth.csv").unwrap();
    let truth = fs::read_to_string(truth).unwrap();
    for snap_id in [None, Some(0), Some(1000), Some(2646)] {
        let open = |path: &Path| match snap_id {
            None => SnapshotFile::open(path).unwrap(),
            Some(id) => SnapshotFile::open_snapshot(path, id).unwrap(),
        };
        let (full, delta) = (open(&full), open(&delta));
        assert_eq!(copy_of(&full), copy_of(&delta));
        let mut regular = 0;
        full.visit_files(&mut |file| regular += usize::from(file.kind == FileKind::Regular));
        assert_eq!(
            regular,
            live_files(&truth, snap_id.unwrap_or(2646)),
            "{snap_id:?}"
        );
        let geometry = full.geometry();
        assert_eq!(geometry.block_bytes, 1024);
        assert_eq!((geometry.group_count, geometry.inodes_per_group), (4, 2048));
        assert_eq!(geometry.first_ino, 1);
        assert_eq!(geometry.size_bytes, 32 << 20);
        assert!(!full.free_known());
    }
    assert!(SnapshotFile::open_snapshot(&full, 2647).is_err());
    let table = kit::shared("data/snapshots/redis.commit.snapshots.parquet").unwrap();
    assert_eq!(read_snapshot_table(table).unwrap().len(), 2647);
}

#[test]
fn a_table_of_another_kind_is_refused() {
    let Some(workload) = kit::shared("data/snapshots/redis.commit.snapshots.parquet") else {
        return;
    };
    let message = SnapshotFile::open(&workload).unwrap_err().to_string();
    assert!(
        message.contains("is a table of `snapshots`, not of `snapshot`"),
        "{message}"
    );
}
