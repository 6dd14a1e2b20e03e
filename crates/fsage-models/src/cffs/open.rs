//! Open files. One whose last name goes stays until it is closed; an embedded inode moves out of the directory then,
//! into a place of the external inode file that is set aside when the file is opened.

use super::inode::{Home, Inode};
use super::{Cffs, NoSpace};
use crate::changes::touch_unnamed;
use fsage_core::FileId;
use fsage_core::io::Flush;
use std::collections::BTreeMap;

/// An open file; it is closed by [`Cffs::close`].
#[derive(Debug, PartialEq, Eq)]
pub struct OpenFile {
    vnode: u32,
}

/// A file that is open at least once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Opened {
    /// How often it is open.
    pub times: u32,
    /// Where its inode goes if its last name goes.
    pub reserved: Option<Home>,
    /// Its inode when it has no name any more.
    pub unlinked: Option<Inode>,
}

/// All open files, by their number in memory.
#[derive(Clone, Debug, Default)]
pub(super) struct OpenFiles(pub BTreeMap<u32, Opened>);

impl OpenFiles {
    /// The inode of a file without a name.
    pub fn unlinked(&mut self, vnode: u32) -> Option<&mut Inode> {
        self.0.get_mut(&vnode)?.unlinked.as_mut()
    }
}

impl Cffs {
    /// Opens a file; `None` if there is no such file, or no space to set a place aside for its inode.
    pub fn open(&mut self, file: FileId) -> Option<OpenFile> {
        let inode = self.names.file(self.names.find(file)?).inode;
        let vnode = inode.vnode;
        if let Some(opened) = self.opened.0.get_mut(&vnode) {
            opened.times += 1;
            return Some(OpenFile { vnode });
        }
        let reserved = if self.params.inodes_move() {
            let Ok(home) = self.take_external() else {
                return None;
            };
            Some(home)
        } else {
            None
        };
        let opened = Opened {
            times: 1,
            reserved,
            unlinked: None,
        };
        self.opened.0.insert(vnode, opened);
        Some(OpenFile { vnode })
    }

    /// Closes a file. One without a name goes with the last close.
    #[expect(clippy::needless_pass_by_value, reason = "it is open no longer")]
    pub fn close(&mut self, file: OpenFile) {
        let OpenFile { vnode } = file;
        let Some(opened) = self.opened.0.get_mut(&vnode) else {
            return;
        };
        opened.times -= 1;
        if opened.times > 0 {
            return;
        }
        touch_unnamed(self, vnode);
        let gone = self.opened.0.remove(&vnode);
        let Some(gone) = gone else {
            return;
        };
        if let Some(home) = gone.reserved {
            self.free_home(home);
        }
        if let Some(mut inode) = gone.unlinked {
            self.emit_home(inode.home, self.at_once());
            self.release(&mut inode);
        }
    }

    /// A file has lost its last name: it goes, or waits for the last close.
    pub(super) fn drop_file(&mut self, mut inode: Inode) {
        let Some(opened) = self.opened.0.get_mut(&inode.vnode) else {
            self.release(&mut inode);
            return;
        };
        let reserved = opened.reserved.take();
        let embedded = matches!(inode.home, Home::Sector { .. });
        self.leave_directory(&mut inode);
        if embedded && let Some(home) = reserved {
            self.free_home(inode.home);
            inode.home = home;
            self.emit_home(home, Flush::Delayed);
            self.placed(&inode);
        } else {
            if let Some(home) = reserved {
                self.free_home(home);
            }
            self.hold_unlinked(&inode);
        }
        if let Some(opened) = self.opened.0.get_mut(&inode.vnode) {
            opened.unlinked = Some(inode);
        }
        self.changes.new_unnamed(inode.vnode);
    }
}

impl From<NoSpace> for fsage_core::Outcome {
    fn from(_: NoSpace) -> fsage_core::Outcome {
        fsage_core::Outcome::NoSpace
    }
}
