//! Any operation with any arguments, on few ids that meet often.

use fsage_core::{DirId, FileId, Op};
use proptest::prelude::*;

/// Few ids that meet often, and any other.
fn id() -> impl Strategy<Value = u64> {
    prop_oneof![20 => 0_u64..6, 1 => any::<u64>()]
}

fn any_bytes(usual: BoxedStrategy<u64>) -> impl Strategy<Value = u64> {
    prop_oneof![
        8 => usual,
        1 => any::<u64>(),
        1 => (0_u32..64).prop_map(|shift| 1 << shift),
        1 => (0_u64..9000).prop_map(|n| u64::MAX - n),
    ]
}

/// Any operation, with lengths and places of this kind mostly.
pub fn any_op_of(usual: impl Strategy<Value = u64> + 'static) -> impl Strategy<Value = Op> {
    let usual = usual.boxed();
    let any_bytes = || any_bytes(usual.clone());
    let file = || id().prop_map(FileId);
    let dir = || id().prop_map(DirId);
    let range = || prop::option::of((any_bytes(), any_bytes()));
    prop_oneof![
        4 => (dir(), prop::option::of(dir())).prop_map(|(dir, parent)| Op::Mkdir { dir, parent }),
        1 => dir().prop_map(|dir| Op::Rmdir { dir }),
        2 => (dir(), dir()).prop_map(|(dir, parent)| Op::RenameDir { dir, parent }),
        8 => (file(), dir(), any_bytes())
            .prop_map(|(file, dir, bytes)| Op::Create { file, dir, bytes }),
        2 => (file(), any_bytes()).prop_map(|(file, bytes)| Op::Append { file, bytes }),
        2 => (file(), any_bytes(), any_bytes())
            .prop_map(|(file, offset, bytes)| Op::Write { file, offset, bytes }),
        2 => (file(), range()).prop_map(|(file, range)| Op::Overwrite { file, range }),
        2 => (file(), any_bytes()).prop_map(|(file, bytes)| Op::Rewrite { file, bytes }),
        2 => (file(), any_bytes()).prop_map(|(file, bytes)| Op::Truncate { file, bytes }),
        1 => (file(), any_bytes(), any_bytes())
            .prop_map(|(file, offset, bytes)| Op::Fallocate { file, offset, bytes }),
        1 => (file(), any_bytes(), any_bytes())
            .prop_map(|(file, offset, bytes)| Op::Punch { file, offset, bytes }),
        4 => file().prop_map(|file| Op::Delete { file }),
        4 => (file(), dir(), prop::option::of(file()))
            .prop_map(|(file, dir, replaced)| Op::Rename { file, dir, replaced }),
        4 => (file(), file(), dir())
            .prop_map(|(file, existing, dir)| Op::Link { file, existing, dir }),
        2 => (file(), dir(), any_bytes())
            .prop_map(|(file, dir, bytes)| Op::Symlink { file, dir, bytes }),
        1 => (file(), range()).prop_map(|(file, range)| Op::Read { file, range }),
        1 => file().prop_map(|file| Op::Fsync { file }),
        1 => (file(), file()).prop_map(|(lo, hi)| Op::Layout { lo, hi }),
        1 => prop::sample::select(vec![
            Op::Sync, Op::Remount, Op::Day, Op::Dump, Op::Cgs, Op::Geom, Op::Check
        ]),
    ]
}
