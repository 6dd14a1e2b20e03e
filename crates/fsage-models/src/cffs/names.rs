//! Names of files and directories: unlink, rename, links (docs/spec/cffs.md, section 4), and which writes wait
//! (section 5).

use super::directory::home_in;
use super::entries::{Node, Place};
use super::inode::{Home, Inode, NO_DIR};
use super::{Cffs, NoSpace};
use fsage_core::FileId;
use fsage_core::io::Flush;

impl Cffs {
    /// Removes a name; the file goes with its last one.
    pub(super) fn remove_name(&mut self, id: FileId, slot: u32) {
        let (dir, at) = self.names.place(id, slot);
        let home = self.names.file(slot).inode.home;
        self.emit_removed(home, dir, at);
        self.leave(dir, at);
        if let Some(file) = self.names.unlink(id, slot) {
            self.drop_file(file.inode);
        }
    }

    /// A file is in no directory any more, or in several: it leaves its group, whose size nobody could keep right.
    pub(super) fn leave_directory(&mut self, inode: &mut Inode) {
        self.change_directory(inode, NO_DIR);
    }

    /// An open file without a name whose inode stays where it is.
    pub(super) fn hold_unlinked(&mut self, inode: &Inode) {
        if let Home::Sector { dir, at } = inode.home {
            let entries = &mut self.dirs[dir as usize].entries;
            entries.put_inode(at, Node::Unlinked(inode.vnode));
        }
    }

    /// The inode of a file lies among the names of its directory, and follows its name.
    fn follows_name(&self, inode: &Inode) -> bool {
        self.params.inodes_move() && matches!(inode.home, Home::Sector { .. })
    }

    /// The inode of a file with names in two directories goes to the external inode file.
    fn externalize(&mut self, slot: u32, home: Home) {
        let mut inode = self.names.file(slot).inode;
        self.emit_home(home, self.at_once());
        self.emit_links(slot);
        self.emit_home(inode.home, self.at_once());
        self.free_home(inode.home);
        self.leave_directory(&mut inode);
        inode.home = home;
        self.placed(&inode);
        self.names.file_mut(slot).inode = inode;
    }

    /// Gives a file a further name.
    pub(super) fn add_name(&mut self, id: FileId, slot: u32, dir: u32) -> Result<(), NoSpace> {
        let inode = self.names.file(slot).inode;
        let leaves = inode.dir != dir && inode.dir != NO_DIR;
        let external = if leaves && self.follows_name(&inode) {
            Some(self.take_external()?)
        } else {
            None
        };
        let Ok(place) = self.enter(dir, false) else {
            if let Some(home) = external {
                self.free_home(home);
            }
            return Err(NoSpace);
        };
        if let Some(home) = external {
            self.externalize(slot, home);
        } else if leaves {
            // Finding the place may have moved its first block.
            let mut inode = self.names.file(slot).inode;
            self.leave_directory(&mut inode);
            self.names.file_mut(slot).inode = inode;
        }
        self.put(dir, place, Node::File(slot));
        self.names.link(id, slot, dir, place.at);
        self.settle(dir);
        let home = self.names.file(slot).inode.home;
        self.emit_linked(home, dir, place.at, external.is_some());
        Ok(())
    }

    /// Moves a name of a file into a directory, in place of one that stands there. With an embedded inode a file with
    /// one name moves as a whole.
    pub(super) fn move_name(
        &mut self,
        id: FileId,
        slot: u32,
        to: u32,
        replaced: Option<(FileId, u32)>,
    ) -> Result<(), NoSpace> {
        let (from, old) = self.names.place(id, slot);
        let inode = self.names.file(slot).inode;
        let embedded = self.follows_name(&inode);
        if from == to && (embedded || replaced.is_none()) {
            // The name is changed where it stands.
            self.emit_renamed_in_place(from, old);
            if let Some((other, gone)) = replaced {
                self.remove_name(other, gone);
            }
            return Ok(());
        }
        let single = self.names.links(slot) == 1;
        let external = if embedded && !single {
            Some(self.take_external()?)
        } else {
            None
        };
        let carried = embedded && single;
        let Ok(place) = self.place_for(to, replaced, carried) else {
            if let Some(home) = external {
                self.free_home(home);
            }
            return Err(NoSpace);
        };
        self.settle(to);
        if let Some(home) = external {
            self.externalize(slot, home);
        }
        self.put(to, place, Node::File(slot));
        let mut inode = self.names.file(slot).inode;
        if carried {
            self.emit_moved_name((to, place.at), (from, old), None);
            self.free_home(inode.home);
            inode.home = home_in(to, place);
            self.change_directory(&mut inode, to);
            self.placed(&inode);
        } else {
            self.emit_moved_name((to, place.at), (from, old), Some(inode.home));
            if !self.params.inodes_move() && (single || from != to) {
                self.change_directory(&mut inode, if single { to } else { NO_DIR });
            }
        }
        self.names.file_mut(slot).inode = inode;
        self.leave(from, old);
        self.names.set_place(id, slot, to, place.at);
        Ok(())
    }

    /// A place in a directory for a name that comes, with its inode if that is `carried`: that of the name which is
    /// replaced, as far as it fits.
    fn place_for(
        &mut self,
        to: u32,
        replaced: Option<(FileId, u32)>,
        carried: bool,
    ) -> Result<Place, NoSpace> {
        let Some((other, gone)) = replaced else {
            return self.enter(to, carried);
        };
        let (_, at) = self.names.place(other, gone);
        let mut place = Place { at, inode_at: None };
        if carried {
            let inode = self.names.file(gone).inode;
            let sector = self.dirs[to as usize].entries.sector_of(at);
            let beside = match inode.home {
                Home::Sector { dir, at } if dir == to && at / 4 == sector => Some(at),
                _ => None,
            };
            let goes = self.names.links(gone) == 1;
            place = match beside.filter(|_| goes) {
                // The sector is written once, with the one instead of the other.
                inode_at @ Some(_) => Place { at, inode_at },
                None => self.enter(to, true)?,
            };
        }
        self.remove_name(other, gone);
        Ok(place)
    }

    /// Moves a directory into another one. What lies in it keeps its place, and its numbers.
    pub(super) fn move_directory_name(&mut self, slot: u32, to: u32) -> Result<(), NoSpace> {
        let dir = &self.dirs[slot as usize];
        let (from, old) = (dir.parent, dir.at);
        if from == to {
            self.emit_renamed_in_place(from, old);
            return Ok(());
        }
        let carried = self.follows_name(&dir.inode);
        let place = self.enter(to, carried)?;
        self.settle(to);
        self.put(to, place, Node::Dir(slot));
        let home = self.dirs[slot as usize].inode.home;
        if carried {
            self.emit_moved_name((to, place.at), (from, old), None);
            self.free_home(home);
            self.dirs[slot as usize].inode.home = home_in(to, place);
            self.emit_map(slot);
        } else {
            self.emit_parent_changed(to, self.at_once());
            self.emit_moved_name((to, place.at), (from, old), Some(home));
            self.emit_parent_changed(from, Flush::Delayed);
        }
        let dir = &mut self.dirs[slot as usize];
        (dir.parent, dir.at) = (to, place.at);
        dir.inode.dir = to;
        let inode = dir.inode;
        self.placed(&inode);
        self.leave(from, old);
        self.emit_dots(slot);
        Ok(())
    }
}
