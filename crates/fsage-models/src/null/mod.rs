//! Takes every operation and does nothing: measures the replay itself.

use crate::registry::{AnyModel, Entry};
use fsage_core::io::{AnyHosted, Hosted};
use fsage_core::{
    DirId, FileId, FileSystem, FileView, Geometry, Inconsistency, Layout, Op, Outcome, Run, Space,
    StateError,
};

/// Its line in the list of models.
pub static ENTRY: Entry = Entry {
    keeps_files: false,
    ..Entry::new(
        "null",
        "takes every operation and does nothing: the speed of the replay itself",
        &[],
        |_| Ok(Box::new(Null)),
        |_| Ok(()),
    )
};

/// Takes every operation and does nothing.
#[derive(Clone, Copy, Debug)]
pub struct Null;

impl Layout for Null {
    fn geometry(&self) -> Geometry {
        Geometry {
            fs_type: "null".to_owned(),
            size_bytes: 0,
            data_bytes: None,
            reserved_bytes: 0,
            block_bytes: 4096,
            frag_bytes: 4096,
            inodes_total: 0,
            group_count: 0,
            group_bytes: 0,
            inodes_per_group: 0,
            first_ino: 0,
            inode_chunk_bytes: 0,
        }
    }

    /// Not known: so nothing of it is kept from day to day, and measuring the whole of it costs nothing.
    fn space(&self) -> Option<Space> {
        None
    }

    fn visit_files(&self, _visit: &mut dyn FnMut(&FileView<'_>)) {}

    fn visit_free(&self, _visit: &mut dyn FnMut(Run)) {}
}

impl FileSystem for Null {
    fn apply(&mut self, _op: &Op) -> Result<Outcome, StateError> {
        Ok(Outcome::Done)
    }

    fn file_size(&self, _file: FileId) -> Option<u64> {
        None
    }

    fn inode(&self, _file: FileId) -> Option<u64> {
        None
    }

    fn directory_inode(&self, _dir: DirId) -> Option<u64> {
        None
    }

    fn check(&self) -> Result<(), Inconsistency> {
        Ok(())
    }
}

impl AnyModel for Null {
    fn into_hosted(self: Box<Self>) -> Option<Box<dyn AnyHosted>> {
        None
    }

    fn as_hosted(&mut self) -> Option<&mut dyn Hosted> {
        None
    }
}
