//! Walks whose rows are stored, with little memory and with little room.

use crate::common::{Mounted, unsynced};
use fsage_collect::walk_path;
use fsage_core::SnapshotSink;
use fsage_core::snapshot::{Inode, SnapshotInfo};
use fsage_core::{FileKind, Rng};
use fsage_data::snapshot::{Form, SnapshotCounts, SnapshotOutput};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

fn store(tree: &Path, to: &Path, memory_bytes: usize) -> SnapshotCounts {
    let mut output = SnapshotOutput::with_memory(to, Form::Full, false, memory_bytes).unwrap();
    let report = walk_path(tree, &unsynced(), &mut output, &mut |_, _| Ok(())).unwrap();
    let info = SnapshotInfo {
        walk_ns: None,
        ..report.info
    };
    output.complete_snapshot(info, None).unwrap();
    output.finish().unwrap()
}

#[test]
fn a_walk_is_stored_as_the_same_bytes_whatever_the_memory() {
    let tree = TempDir::new().unwrap();
    for directory in 0..20 {
        let directory = tree.path().join(format!("directory {directory}"));
        fs::create_dir(&directory).unwrap();
        for file in 0..50 {
            let file = directory.join(format!("file {file}"));
            fs::write(&file, "content").unwrap();
            fs::hard_link(&file, file.with_extension("again")).unwrap();
        }
    }
    let folder = TempDir::new().unwrap();
    let stored = [2000, 1 << 30].map(|memory| {
        let to = folder.path().join(format!("{memory}.parquet"));
        let counts = store(tree.path(), &to, memory);
        assert_eq!((counts.rows, counts.further_names), (1021, 1000));
        assert_eq!(counts.regular.bytes, 7000);
        let names = to.with_extension("names.parquet");
        [to, names].map(|table| fs::read(table).unwrap())
    });
    assert!(stored[0] == stored[1]);
}

#[test]
fn a_full_disk_is_reported_with_its_folder_and_nothing_stays() {
    let Some(mounted) = Mounted::new("ext4", &[], 8, "rw") else {
        return;
    };
    let path = mounted.root().join("s.parquet");
    let mut output = SnapshotOutput::with_memory(&path, Form::Full, false, 1 << 16).unwrap();
    output.snapshot(SnapshotInfo::default()).unwrap();
    let mut rng = Rng::new(3);
    let failed = (0..1_000_000).find_map(|size_bytes| {
        let inode = Inode::new(rng.next_u64(), None, FileKind::Regular, size_bytes);
        output.inode(inode).err()
    });
    let error = failed.expect("a full disk");
    let message = format!("{error}: {}", error.source().expect("a reason"));
    let root = mounted.root().display().to_string();
    assert!(
        message.starts_with(&root) && !message.contains("s.parquet"),
        "{message}"
    );
    assert!(
        message.contains("make room") && message.contains("No space left"),
        "{message}"
    );
    drop(output);
    let left = fs::read_dir(mounted.root()).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["lost+found"]);
}
