//! Stores any layout as a snapshot.

use super::form::Form;
use super::free::FreeMapWriter;
use super::table::complete_snapshot_table;
use super::{InodeWriter, stem, with_ending};
use crate::error::DataError;
use fsage_core::snapshot::{Inode, SnapshotInfo, source_flags};
use fsage_core::{FileView, Layout};
use std::path::Path;

/// Inodes and extents that are in memory at once when a layout has to be sorted.
const BUCKET: u64 = 4 << 20;

/// What a layout does not know about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SnapshotMeta {
    /// Number of the snapshot.
    pub snap_id: u32,
    /// Time of the layout, ns since 1970 UTC.
    pub taken_at_ns: i64,
    /// Where it comes from: `model`, `replay`, `walk`, ...
    pub source: String,
    /// The machine.
    pub host: Option<String>,
    /// UUID of the file system.
    pub fs_uuid: Option<String>,
    /// What writes it.
    pub tool_version: Option<String>,
    /// The target of a run that it is of: each row of its tables has that name then.
    pub target: Option<String>,
}

/// Writes a layout as `STEM.parquet`, `STEM.snapshots.parquet` and `STEM.free.parquet`; `path` is `STEM`, with
/// or without `.parquet`. The inode table gets its name last, so that where it is, the others are.
///
/// Memory: 24 bytes an inode for the keys. A layout that is visited in order of inodes is then written as it
/// is visited; any other is visited once for every four million inodes and extents.
///
/// # Errors
/// One of the files exists and `force` is not set; two inodes have equal numbers and generations; writing
/// fails.
pub fn write_snapshot(
    path: impl AsRef<Path>,
    layout: &dyn Layout,
    meta: &SnapshotMeta,
    force: bool,
) -> Result<(), DataError> {
    let stem = stem(path.as_ref());
    let table = with_ending(&stem, ".parquet");
    let target = meta.target.as_deref();
    let mut inodes = InodeWriter::of_target(&table, Form::Full, force, target)?;
    write_inodes(&mut inodes, layout, meta.snap_id)?;
    let free = with_ending(&stem, ".free.parquet");
    let mut free = FreeMapWriter::create(&free, force, target)?;
    free.write_layout(meta.snap_id, layout)?;
    let free = free.complete()?;
    let info = SnapshotInfo {
        snap_id: meta.snap_id,
        taken_at_ns: meta.taken_at_ns,
        host: meta.host.clone(),
        source: meta.source.clone(),
        fs_uuid: meta.fs_uuid.clone(),
        tool_version: meta.tool_version.clone(),
        ..SnapshotInfo::default()
    };
    let info = info.with_layout(&layout.geometry(), layout.space().as_ref());
    let infos = with_ending(&stem, ".snapshots.parquet");
    complete_snapshot_table(&infos, &[info], force, target)?.publish()?;
    free.publish()?;
    inodes.finish()
}

type Key = (u64, Option<u32>);

fn write_inodes(
    writer: &mut InodeWriter,
    layout: &dyn Layout,
    snap_id: u32,
) -> Result<(), DataError> {
    let (buckets, sorted) = buckets(layout, BUCKET);
    if sorted {
        let mut result = Ok(());
        layout.visit_files(&mut |file| {
            if result.is_ok() {
                result = writer.write(snap_id, &inode_of(file));
            }
        });
        return result;
    }
    for (first, last) in buckets {
        let mut inodes = Vec::new();
        layout.visit_files(&mut |file| {
            if (first..=last).contains(&(file.ino, file.generation)) {
                inodes.push(inode_of(file));
            }
        });
        inodes.sort_unstable_by_key(|inode| (inode.ino, inode.generation));
        for inode in &inodes {
            writer.write(snap_id, inode)?;
        }
    }
    Ok(())
}

/// Ranges of keys with at most `size` inodes and extents each (one inode may have more), ascending; and
/// whether the layout is visited in order.
fn buckets(layout: &dyn Layout, size: u64) -> (Vec<(Key, Key)>, bool) {
    let mut keys: Vec<(Key, u32)> = Vec::new();
    let mut sorted = true;
    layout.visit_files(&mut |file| {
        let key = (file.ino, file.generation);
        sorted &= keys.last().is_none_or(|(last, _)| *last < key);
        keys.push((key, file.extents.map_or(0, |e| e.len() as u32)));
    });
    let mut buckets: Vec<(Key, Key)> = Vec::new();
    if sorted {
        return (buckets, true);
    }
    keys.sort_unstable();
    let mut in_bucket = u64::MAX;
    for (key, extents) in keys {
        let weight = u64::from(extents) + 1;
        match buckets.last_mut() {
            Some(bucket) if in_bucket + weight <= size => {
                bucket.1 = key;
                in_bucket += weight;
            }
            _ => {
                buckets.push((key, key));
                in_bucket = weight;
            }
        }
    }
    (buckets, false)
}

fn inode_of(file: &FileView<'_>) -> Inode {
    Inode {
        alloc_bytes: file.alloc_bytes,
        links: Some(file.links),
        parent_ino: file.parent_ino,
        extents: file.extents.map(Box::from),
        source_flags: file.generation.map_or(0, |_| source_flags::GEN_VALID),
        ..Inode::new(file.ino, file.generation, file.kind, file.size_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsage_core::{FileKind, Geometry, Run, Space};

    struct Inodes(Vec<u64>);

    impl Layout for Inodes {
        fn geometry(&self) -> Geometry {
            unreachable!("sizes are not asked for")
        }
        fn space(&self) -> Option<Space> {
            unreachable!("space is not asked for")
        }
        fn visit_files(&self, visit: &mut dyn FnMut(&FileView<'_>)) {
            for ino in &self.0 {
                visit(&FileView::new(*ino, FileKind::Regular, 0));
            }
        }
        fn visit_free(&self, _: &mut dyn FnMut(Run)) {}
    }

    #[test]
    fn buckets_cover_every_inode_once() {
        assert_eq!(buckets(&Inodes(vec![2, 5, 9]), 2), (vec![], true));
        let (found, sorted) = buckets(&Inodes(vec![9, 1, 5, 7, 3]), 2);
        assert!(!sorted);
        let inos: Vec<_> = found
            .iter()
            .map(|(first, last)| (first.0, last.0))
            .collect();
        assert_eq!(inos, [(1, 3), (5, 7), (9, 9)]);
    }
}
