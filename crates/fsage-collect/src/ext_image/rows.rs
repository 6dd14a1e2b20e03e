//! The row of an inode.

use super::inode::RawInode;
use super::mapping::Mapper;
use super::superblock::Superblock;
use crate::error::CollectError;
use crate::image::Fault;
use crate::image::rows::{Rows, set_extents};

/// Takes the next inode in use; inodes ascend.
pub fn add_inode(
    rows: &mut Rows<'_>,
    mapper: &mut Mapper<'_>,
    superblock: &Superblock,
    raw: &RawInode<'_>,
) -> Result<(), CollectError> {
    rows.see();
    let ino = raw.ino;
    if superblock.owns(ino) {
        return Ok(());
    }
    if raw.is_attribute() {
        let kind = "inodes hold extended attributes, are no files, and were left out";
        rows.warn(kind, format!("inode {ino}"));
        return Ok(());
    }
    let Some(mut inode) = raw.row() else {
        let kind = "inodes are in use, but have no type, and were left out";
        rows.left_out(kind, ino.into(), &format!("mode {:o}", raw.mode()));
        return Ok(());
    };
    let mut fault = None;
    match mapper.extents(raw) {
        Ok(extents) => set_extents(&mut inode, extents),
        Err(why) => fault = Some(why),
    }
    if !raw.extra_is_sound() {
        let what = "the length of its further fields leads out of it";
        fault = Some(Fault(what.to_owned()));
    }
    rows.add(inode, fault)
}
