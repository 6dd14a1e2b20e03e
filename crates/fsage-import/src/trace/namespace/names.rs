//! Names of files: made, linked, removed.

use super::{Born, Child, DirKey, Entry, InodeKey, NameKey, Namespace, Writer};
use crate::trace::Fault;

impl Namespace<'_> {
    /// A file was made; `src` is its inode number and generation. Whatever had the name went without the trace
    /// showing it.
    pub fn create(
        &mut self,
        dir: DirKey,
        name: &[u8],
        src: Option<(u64, u32)>,
        writer: Writer,
        t_ns: i64,
    ) -> Result<Option<InodeKey>, Fault> {
        if !self.dirs.contains_key(&dir) {
            return Ok(None);
        }
        self.clear_entry(dir, name, t_ns)?;
        let inode = self.insert_inode(Born::Made);
        if let Some(node) = self.inodes.get_mut(&inode) {
            node.src = src;
        }
        let key = self.insert_name(inode, dir, name, true);
        if self.dir_inside(dir) {
            self.summary.creates += 1;
            self.show(key, writer, t_ns)?;
        }
        Ok(Some(inode))
    }

    /// A symbolic link was made.
    pub fn symlink(
        &mut self,
        dir: DirKey,
        name: &[u8],
        target_bytes: u64,
        t_ns: i64,
    ) -> Result<Option<InodeKey>, Fault> {
        if !self.dirs.contains_key(&dir) {
            return Ok(None);
        }
        self.clear_entry(dir, name, t_ns)?;
        let inode = self.insert_inode(Born::Made);
        if let Some(node) = self.inodes.get_mut(&inode) {
            node.symlink = true;
            node.size = target_bytes;
        }
        let key = self.insert_name(inode, dir, name, true);
        if self.dir_inside(dir) {
            self.summary.creates += 1;
            self.summary.symlinks += 1;
            self.show(key, 0, t_ns)?;
        }
        Ok(Some(inode))
    }

    /// A file without a name, as `O_TMPFILE` makes it. It counts once it is linked.
    pub fn nameless(&mut self) -> InodeKey {
        self.insert_inode(Born::Made)
    }

    /// A nameless file is closed for the last time.
    pub fn drop_nameless(&mut self, inode: InodeKey) {
        if self.inodes.get(&inode).is_some_and(|i| i.names.is_empty()) {
            self.inodes.remove(&inode);
        }
    }

    /// A file of which only its handle is known; `name` stands for it.
    pub fn lost_file(&mut self, name: &[u8]) -> InodeKey {
        let inode = self.insert_inode(Born::Before);
        self.insert_name(inode, super::ROOT, name, false);
        inode
    }

    /// The trace says where a file lies that was lost; false if it was not, or cannot lie there.
    pub fn place_file(
        &mut self,
        inode: InodeKey,
        dir: DirKey,
        name: &[u8],
        t_ns: i64,
    ) -> Result<bool, Fault> {
        let Some(key) = self.lost_name(inode) else {
            return Ok(false);
        };
        let Some(d) = self.dirs.get_mut(&dir) else {
            return Ok(false);
        };
        if d.entries.contains_key(name) {
            return Ok(false);
        }
        d.entries.insert(name.into(), Entry::Name(key));
        let Some(n) = self.names.get_mut(&key) else {
            return Ok(false);
        };
        n.dir = dir;
        n.name = name.into();
        n.placed = true;
        if let Some(id) = n.id.filter(|_| !self.only_new) {
            // In both passes, so that both count ids alike.
            let dir_id = self.show_dir(dir, t_ns)?;
            if let Some(dir_id) = dir_id.filter(|_| !self.out.is_open()) {
                self.initial.place_file(id, dir_id, name);
            }
        }
        Ok(true)
    }

    /// A name of the inode of which the trace did not say where it lies.
    fn lost_name(&self, inode: InodeKey) -> Option<NameKey> {
        let lost = |n: &&NameKey| self.names.get(n).is_some_and(|n| !n.placed);
        self.inodes.get(&inode)?.names.iter().find(lost).copied()
    }

    /// A file has this name now, and lost its other one.
    pub fn move_file(
        &mut self,
        inode: InodeKey,
        dir: DirKey,
        name: &[u8],
        t_ns: i64,
    ) -> Result<(), Fault> {
        if self.place_file(inode, dir, name, t_ns)? {
            return Ok(());
        }
        let old = self.inodes.get(&inode).and_then(|i| {
            let old = i.names.iter().find_map(|n| self.names.get(n))?;
            old.placed.then(|| (old.dir, old.name.clone()))
        });
        match old {
            Some((from, old)) => self.rename((from, &old), (dir, name), false, t_ns),
            None => Ok(()),
        }
    }

    /// A line says how many names a file has: lost ones beyond are gone.
    pub fn links_are(&mut self, inode: InodeKey, links: u64, t_ns: i64) -> Result<(), Fault> {
        let names = |ns: &Self| ns.inodes.get(&inode).map_or(0, |i| i.names.len() as u64);
        while names(self) > links.max(1)
            && let Some(lost) = self.lost_name(inode)
        {
            self.summary.implied_deletes += 1;
            self.remove_name(lost, t_ns)?;
        }
        Ok(())
    }

    /// What has a name goes, though no call removed it.
    pub fn take_away(&mut self, dir: DirKey, name: &[u8], t_ns: i64) -> Result<(), Fault> {
        self.clear_entry(dir, name, t_ns)
    }

    /// A file got a second name; a nameless one its first.
    pub fn link(
        &mut self,
        inode: InodeKey,
        dir: DirKey,
        name: &[u8],
        t_ns: i64,
    ) -> Result<(), Fault> {
        if !self.inodes.contains_key(&inode) || !self.dirs.contains_key(&dir) {
            return Ok(());
        }
        if self.child(dir, name) == Some(Child::File(inode)) {
            return Ok(());
        }
        let Some(node) = self.inodes.get(&inode) else {
            return Ok(());
        };
        let first = node.names.is_empty();
        let inside = self.dir_inside(dir);
        if inside && !first {
            // Its other name must be in the workload before this one.
            self.id_of(inode, t_ns)?;
        }
        self.clear_entry(dir, name, t_ns)?;
        if !self.inodes.contains_key(&inode) {
            return Ok(());
        }
        let key = self.insert_name(inode, dir, name, true);
        if inside {
            if first {
                self.summary.creates += 1;
            } else {
                self.summary.links += 1;
            }
            self.show(key, 0, t_ns)?;
        }
        Ok(())
    }

    /// A name was removed. If it was not known, the file existed before.
    pub fn unlink(
        &mut self,
        dir: DirKey,
        name: &[u8],
        appeared: bool,
        t_ns: i64,
    ) -> Result<(), Fault> {
        if self.child(dir, name).is_none() && self.dir_inside(dir) {
            self.summary.unknown_deletes += 1;
        }
        let Some(inode) = self.see_file(dir, name, appeared) else {
            self.summary.contradictions += 1;
            return Ok(());
        };
        let Some(Entry::Name(key)) = self
            .dirs
            .get(&dir)
            .and_then(|d| d.entries.get(name))
            .copied()
        else {
            return Ok(());
        };
        if self.dir_inside(dir) {
            self.summary.unlinks += 1;
            // A file that appears only to go was never there as far as the trace shows.
            if self.inodes[&inode].born != Born::Appeared {
                self.show(key, 0, t_ns)?;
            }
        }
        self.remove_name(key, t_ns)
    }

    /// A file lost one of its names, whichever.
    pub fn unlink_any(&mut self, inode: InodeKey, t_ns: i64) -> Result<(), Fault> {
        let Some(&key) = self.inodes.get(&inode).and_then(|i| i.names.last()) else {
            return Ok(());
        };
        if self.names.get(&key).is_some_and(|n| self.dir_inside(n.dir)) {
            self.summary.unlinks += 1;
            self.show(key, 0, t_ns)?;
        }
        self.remove_name(key, t_ns)
    }

    /// Takes a name away, from the workload too.
    pub(super) fn remove_name(&mut self, key: NameKey, t_ns: i64) -> Result<(), Fault> {
        let Some(name) = self.names.get(&key) else {
            return Ok(());
        };
        let made = self
            .inodes
            .get(&name.inode)
            .is_some_and(|i| i.born == Born::Made);
        let id = name.id;
        let last = self.take_name(key);
        self.summary.deletes += u64::from(made && last && id.is_some());
        match id {
            Some(id) => self.out.delete(id, t_ns),
            None => Ok(()),
        }
    }
}
