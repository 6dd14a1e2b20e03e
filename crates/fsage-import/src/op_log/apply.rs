//! What a row does.

use super::OpLog;
use super::row::{Place, Row, Verb};
use crate::trace::{Child, DirKey, Fault, InodeKey, last_component, normalize, parent};

/// A directory, and a name in it.
type Entry = (DirKey, Box<[u8]>);

impl OpLog<'_> {
    pub(super) fn apply(&mut self, row: &Row) -> Result<(), Fault> {
        self.ns.tick(row.t_ns);
        if row.ret.is_some_and(|r| r < 0) {
            self.ns.summary.calls_failed += 1;
            return Ok(());
        }
        let inode = match row.verb {
            Verb::Sync => {
                self.ns.sync(row.t_ns)?;
                None
            }
            Verb::Close => None,
            Verb::Create => self.create(row)?,
            Verb::Symlink => self.symlink(row)?,
            Verb::Mkdir | Verb::Rmdir => {
                self.directory(row)?;
                None
            }
            Verb::Unlink => {
                self.unlink(row)?;
                None
            }
            Verb::Rename => self.rename(row)?,
            Verb::Link => self.link(row)?,
            Verb::Write
            | Verb::OpenTrunc
            | Verb::Truncate
            | Verb::Fallocate
            | Verb::Punch
            | Verb::Fsync => Some(self.data(row)?),
        };
        self.ns.summary.calls_used += 1;
        match (inode, row.size) {
            (Some(inode), Some(size)) => self.ns.size_is(inode, row.pid, size, row.t_ns),
            _ => Ok(()),
        }
    }

    fn create(&mut self, row: &Row) -> Result<Option<InodeKey>, Fault> {
        let (dir, name) = self.entry(row.place.as_ref())?;
        self.end_old(row)?;
        let src = row.source.map(|(_, ino, generation)| (ino, generation));
        let src = src.and_then(|(ino, generation)| Some((ino, generation?)));
        let inode = self.ns.create(dir, &name, src, row.pid, row.t_ns)?;
        self.bind(row, inode);
        Ok(inode)
    }

    fn symlink(&mut self, row: &Row) -> Result<Option<InodeKey>, Fault> {
        let (dir, name) = self.entry(row.place.as_ref())?;
        self.end_old(row)?;
        let target = match &row.place2 {
            Some(Place::Path(target)) => target.len() as u64,
            _ => 0,
        };
        let bytes = row.length.or(row.size).unwrap_or(target);
        let inode = self.ns.symlink(dir, &name, bytes, row.t_ns)?;
        self.bind(row, inode);
        Ok(inode)
    }

    fn directory(&mut self, row: &Row) -> Result<(), Fault> {
        let (dir, name) = self.entry(row.place.as_ref())?;
        let key = row.source.map(|(dev, ino, _)| (dev, ino));
        if row.verb == Verb::Rmdir {
            if let Some(key) = key {
                self.dirs.remove(&key);
            }
            return self.ns.rmdir(dir, &name, row.t_ns);
        }
        let made = self.ns.mkdir(dir, &name, row.t_ns)?;
        if let (Some(key), Some(made)) = (key, made) {
            self.dirs.insert(key, made);
        }
        Ok(())
    }

    fn unlink(&mut self, row: &Row) -> Result<(), Fault> {
        let known = self.known(row);
        if let (Some(inode), None) = (known, &row.place) {
            self.ns.unlink_any(inode, row.t_ns)?;
        } else {
            let (dir, name) = self.entry(row.place.as_ref())?;
            match known {
                // Paths only name what the inode number identifies.
                Some(inode) if self.ns.child(dir, &name) != Some(Child::File(inode)) => {
                    self.ns.unlink_any(inode, row.t_ns)?;
                }
                _ => self.ns.unlink(dir, &name, false, row.t_ns)?,
            }
        }
        if let (Some(source), Some(inode)) = (row.source, known)
            && !self.ns.is_alive(inode)
        {
            self.files.remove(&source);
        }
        Ok(())
    }

    fn rename(&mut self, row: &Row) -> Result<Option<InodeKey>, Fault> {
        let (to, new) = self.entry(row.place2.as_ref())?;
        let known = self.known(row);
        if let Some(inode) = known {
            let at = match &row.place {
                Some(place) => Some(self.entry(Some(place))?),
                None => None,
            };
            let named = at.and_then(|(dir, name)| self.ns.child(dir, &name));
            if named != Some(Child::File(inode)) {
                self.ns.move_file(inode, to, &new, row.t_ns)?;
                return Ok(known);
            }
        }
        let (from, old) = self.entry(row.place.as_ref())?;
        self.ns.rename((from, &old), (to, &new), false, row.t_ns)?;
        match self.ns.child(to, &new) {
            Some(Child::File(inode)) => {
                self.bind(row, Some(inode));
                Ok(Some(inode))
            }
            _ => Ok(None),
        }
    }

    fn link(&mut self, row: &Row) -> Result<Option<InodeKey>, Fault> {
        let inode = self.inode(row)?;
        let (dir, name) = self.entry(row.place2.as_ref())?;
        self.ns.link(inode, dir, &name, row.t_ns)?;
        Ok(Some(inode))
    }

    fn data(&mut self, row: &Row) -> Result<InodeKey, Fault> {
        let length = || row.length.ok_or(Fault::Bad("bytes in the column length"));
        let offset = || row.offset.ok_or(Fault::Bad("bytes in the column offset"));
        let (pid, t_ns) = (row.pid, row.t_ns);
        match row.verb {
            Verb::Write => {
                let (offset, asked) = (offset()?, length()?);
                // What the call returned counts, not what it was asked for.
                let bytes = row.ret.map_or(asked, |r| r as u64);
                let inode = self.inode(row)?;
                self.ns.write(inode, pid, offset, bytes, t_ns)?;
                Ok(inode)
            }
            Verb::OpenTrunc | Verb::Truncate => {
                let size = match row.verb {
                    Verb::Truncate => length()?,
                    _ => 0,
                };
                let inode = self.inode(row)?;
                self.ns.truncate(inode, pid, size, t_ns)?;
                Ok(inode)
            }
            Verb::Fallocate => {
                let (offset, bytes) = (offset()?, length()?);
                let inode = self.inode(row)?;
                // A size that does not reach the end says that it was kept.
                let keep = row.size.is_some_and(|s| s < offset.saturating_add(bytes));
                self.ns.fallocate(inode, offset, bytes, keep, t_ns)?;
                Ok(inode)
            }
            Verb::Punch => {
                let (offset, bytes) = (offset()?, length()?);
                let inode = self.inode(row)?;
                self.ns.punch(inode, offset, bytes, t_ns)?;
                Ok(inode)
            }
            _ => {
                let inode = self.inode(row)?;
                self.ns.fsync(inode, t_ns)?;
                Ok(inode)
            }
        }
    }

    /// The file of a row's inode number, if it is alive.
    fn known(&self, row: &Row) -> Option<InodeKey> {
        let inode = self.files.get(&row.source?).copied();
        inode.filter(|&i| self.ns.is_alive(i))
    }

    /// The file that a row is about; one that is new to us was there before.
    fn inode(&mut self, row: &Row) -> Result<InodeKey, Fault> {
        if let Some(inode) = self.known(row) {
            return Ok(inode);
        }
        let inode = match (&row.place, row.source) {
            (None, Some((dev, ino, _))) => self.ns.lost_file(format!("i{dev}-{ino}").as_bytes()),
            (place, _) => {
                let (dir, name) = self.entry(place.as_ref())?;
                self.ns
                    .see_file(dir, &name, false)
                    .ok_or(Fault::Bad("the path of a file, not of a directory"))?
            }
        };
        self.bind(row, Some(inode));
        Ok(inode)
    }

    fn bind(&mut self, row: &Row, inode: Option<InodeKey>) {
        if let (Some(source), Some(inode)) = (row.source, inode) {
            self.files.insert(source, inode);
            if let (_, ino, Some(generation)) = source {
                self.ns.set_source(inode, ino, generation);
            }
        }
    }

    /// A file is made whose inode number another one has: that one is gone, and no row said so.
    fn end_old(&mut self, row: &Row) -> Result<(), Fault> {
        while let Some(old) = self.known(row) {
            self.ns.summary.implied_deletes += 1;
            self.ns.unlink_any(old, row.t_ns)?;
        }
        Ok(())
    }

    fn entry(&mut self, place: Option<&Place>) -> Result<Entry, Fault> {
        match place {
            Some(Place::Path(path)) => {
                let mut full = Vec::new();
                if !normalize(b"/", path, &mut full) || full == b"/" {
                    return Err(Fault::Bad("a path of at most 4096 bytes, not the root"));
                }
                let dir = self
                    .ns
                    .dir_at(parent(&full))
                    .ok_or(Fault::Bad("a path whose directories are no files"))?;
                Ok((dir, last_component(&full).into()))
            }
            Some(Place::In(key, name)) => {
                let dir = self.dirs.get(key).copied();
                let dir = if let Some(dir) = dir.filter(|&d| self.ns.has_dir(d)) {
                    dir
                } else {
                    let (dev, ino) = *key;
                    let dir = self.ns.lost_dir(format!("d{dev}-{ino}").as_bytes());
                    self.dirs.insert(*key, dir);
                    dir
                };
                Ok((dir, name.clone()))
            }
            None => Err(Fault::Bad(
                "a path, or a directory's inode number and a name",
            )),
        }
    }
}
