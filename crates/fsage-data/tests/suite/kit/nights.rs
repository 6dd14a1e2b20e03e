//! Random nights of a file system.

use fsage_core::snapshot::{Inode, SnapshotInfo, source_flags};
use fsage_core::{Extent, FileKind};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use std::collections::BTreeMap;

pub type Key = (u64, Option<u32>);
pub type Night = BTreeMap<Key, Inode>;

const KINDS: [FileKind; 4] = [
    FileKind::Regular,
    FileKind::Regular,
    FileKind::Directory,
    FileKind::Symlink,
];

/// The row of a snapshot table.
pub fn info(snap_id: u32) -> SnapshotInfo {
    SnapshotInfo {
        snap_id,
        taken_at_ns: i64::from(snap_id) * 1_000,
        source: "walk".to_owned(),
        ..SnapshotInfo::default()
    }
}

prop_compose! {
    /// One inode without its key, with few values a column, so that nights have much in common.
    fn any_inode()(
        kind in 0..KINDS.len(),
        numbers in vec(0..3_u64, 8),
        known in vec(any::<bool>(), 8),
        path in option::of("[a-c]{1,2}(/[a-c\u{e9}]){0,2}"),
        extents in option::of(vec(1..3_u64, 0..3)),
    ) -> Inode {
        let number = |i: usize| known[i].then_some(numbers[i]);
        let mut end = 0;
        let extents = extents.map(|gaps| gaps.iter().map(|gap| {
            let extent = Extent {
                logical_bytes: end + gap * 1024,
                physical_bytes: end + gap * 2048,
                length_bytes: 512,
                flags: 0,
            };
            end = extent.logical_bytes + 512;
            extent
        }).collect());
        Inode {
            alloc_bytes: number(0),
            ctime_ns: number(1).map(|n| n as i64 - 1),
            mtime_ns: number(2).map(|n| n as i64),
            btime_ns: number(3).map(|n| n as i64),
            links: number(4).map(|n| n as u32),
            mode: number(5).map(|n| n as u32),
            uid: number(6).map(|n| n as u32),
            gid: number(6).map(|n| n as u32 + 1),
            parent_ino: number(7),
            path: path.map(Into::into),
            extents,
            source_flags: if known[0] { source_flags::GEN_VALID } else { 0 },
            ..Inode::new(0, None, KINDS[kind], numbers[0])
        }
    }
}

/// Nights of one file system; any may be empty.
pub fn any_nights() -> impl Strategy<Value = Vec<Night>> {
    let key = (1..6_u64, option::of(1..3_u32));
    vec(btree_map(key, any_inode(), 0..8), 1..6).prop_map(|mut nights| {
        for night in &mut nights {
            for ((ino, generation), inode) in night.iter_mut() {
                (inode.ino, inode.generation) = (*ino, *generation);
            }
        }
        nights
    })
}
