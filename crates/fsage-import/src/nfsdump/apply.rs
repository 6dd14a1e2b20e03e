//! What an answered call does.

use super::Nfs;
use super::calls::Call;
use super::handles::{inode_of, stand_in};
use super::packet::{Attributes, Packet, Pairs, Procedure, hex, name, number, quoted, value};
use crate::trace::{Child, DirKey, Fault, InodeKey, Writer};

/// Until then a collector exchanged the words of sizes: 9 September 2003.
const SWAPS_END_NS: i64 = 1_063_065_600 * 1_000_000_000;
/// Clocks jump back by less; more is another day.
const JUMP_NS: i64 = 600 * 1_000_000_000;

const FILE: u64 = 1;
const DIRECTORY: u64 = 2;
const LINK: u64 = 5;

/// Keys of a name, in versions 3 and 2.
const NAME: &[&[u8]] = &[b"name", b"fn"];

impl Nfs<'_> {
    pub(super) fn apply(
        &mut self,
        call: &Call,
        reply: &Packet<'_>,
        writer: Writer,
    ) -> Result<(), Fault> {
        let of_directory = matches!(
            call.procedure,
            Procedure::Remove | Procedure::Rmdir | Procedure::Rename | Procedure::Readdirp
        );
        let attributes = if of_directory {
            Attributes::default()
        } else {
            Attributes::read(reply.pairs)
        };
        self.counts.garbage_attributes += u64::from(attributes.garbage);
        self.check_handle(&attributes);
        let done = Done {
            t_ns: call.t_ns,
            writer,
            call: &call.pairs,
            attributes,
        };
        match call.procedure {
            Procedure::Lookup => self.lookup(&done),
            Procedure::Create => self.create(&done),
            Procedure::Mkdir => self.mkdir(&done),
            Procedure::Symlink => self.symlink(&done),
            Procedure::Remove => self.remove(&done),
            Procedure::Rmdir => self.rmdir(&done),
            Procedure::Rename => self.rename(&done),
            Procedure::Link => self.link(&done),
            Procedure::Write => self.write(&done),
            Procedure::Setattr => self.setattr(&done),
            Procedure::Commit => self.commit(&done),
            Procedure::Readdirp => self.readdirp(&done, reply.pairs),
            Procedure::Getattr | Procedure::Access | Procedure::Read => match done.handle() {
                Some(handle) => self.attributes_of(handle, &done),
                None => Ok(()),
            },
            Procedure::Other => Ok(()),
        }
    }

    fn check_handle(&mut self, attributes: &Attributes<'_>) {
        if let (Some(handle), Some(file_id)) = (attributes.handle, attributes.file_id) {
            self.counts.handles_checked += 1;
            let agrees = inode_of(handle).is_some_and(|(ino, _)| ino == file_id);
            self.counts.handles_agree += u64::from(agrees);
        }
    }

    fn lookup(&mut self, done: &Done<'_>) -> Result<(), Fault> {
        let (Some((dir, name)), Some(handle)) = (self.entry(done), done.attributes.handle) else {
            return Ok(());
        };
        self.learn(dir, &name, handle, done)
    }

    /// A name in a directory has a handle.
    fn learn(
        &mut self,
        dir: DirKey,
        name: &[u8],
        handle: &[u8],
        done: &Done<'_>,
    ) -> Result<(), Fault> {
        match done.attributes.kind {
            Some(DIRECTORY) => self.learn_dir(dir, name, handle, done.t_ns),
            Some(FILE | LINK) => {
                self.learn_file(dir, name, handle, done)?;
                self.attributes_of(handle, done)
            }
            // Devices and the like, or nothing said.
            _ => Ok(()),
        }
    }

    fn learn_dir(
        &mut self,
        parent: DirKey,
        name: &[u8],
        handle: &[u8],
        t_ns: i64,
    ) -> Result<(), Fault> {
        let known = self.handles.get(&self.ns, handle);
        match (known, self.ns.child(parent, name)) {
            (Some(Child::Dir(dir)), None) => self.ns.place_dir(dir, parent, name, t_ns),
            (Some(_), _) => Ok(()),
            (None, _) => {
                if let Some(dir) = self.ns.sub_dir(parent, name) {
                    self.handles.bind_dir(handle, dir);
                }
                Ok(())
            }
        }
    }

    fn learn_file(
        &mut self,
        dir: DirKey,
        name: &[u8],
        handle: &[u8],
        done: &Done<'_>,
    ) -> Result<(), Fault> {
        let known = match self.handles.get(&self.ns, handle) {
            Some(Child::File(inode)) => Some(inode),
            Some(Child::Dir(_)) => return Ok(()),
            None => None,
        };
        match self.ns.child(dir, name) {
            Some(Child::File(there)) if known == Some(there) => {}
            Some(Child::File(there)) if known.is_none() && !self.handles.has(there) => {
                self.handles.bind_file(&mut self.ns, handle, there);
            }
            Some(Child::File(there)) => {
                // The name stands for another file by now, and the trace did not show how.
                self.ns.take_away(dir, name, done.t_ns)?;
                self.handles.forget_dead(&self.ns, there);
                self.name_file(dir, name, handle, known, done)?;
            }
            Some(Child::Dir(_)) => self.ns.summary.contradictions += 1,
            None => self.name_file(dir, name, handle, known, done)?,
        }
        if let Some(Child::File(inode)) = self.ns.child(dir, name) {
            self.handles.learn_name(name, inode);
        }
        Ok(())
    }

    /// Gives a free name to a file that is known by its handle, or new to us.
    fn name_file(
        &mut self,
        dir: DirKey,
        name: &[u8],
        handle: &[u8],
        known: Option<InodeKey>,
        done: &Done<'_>,
    ) -> Result<(), Fault> {
        let Some(inode) = known.filter(|&inode| self.ns.is_alive(inode)) else {
            if let Some(inode) = self.ns.see_file(dir, name, false) {
                self.handles.bind_file(&mut self.ns, handle, inode);
            }
            return Ok(());
        };
        if self.ns.place_file(inode, dir, name, done.t_ns)? {
            return Ok(());
        }
        if done.attributes.links > Some(1) {
            return self.ns.link(inode, dir, name, done.t_ns);
        }
        // It has another name only: a rename that the trace lacks.
        self.ns.move_file(inode, dir, name, done.t_ns)
    }

    fn create(&mut self, done: &Done<'_>) -> Result<(), Fault> {
        let Some((dir, name)) = self.entry(done) else {
            return Ok(());
        };
        let handle = done.attributes.handle;
        let exclusive = matches!(value(done.call, &[b"how"]), Some(b"X" | b"G"));
        let known = handle.and_then(|h| self.handles.get(&self.ns, h));
        let old = known.is_some() || done.attributes.size > Some(0);
        if let Some(handle) = handle.filter(|_| old && !exclusive) {
            // An unchecked create of a file that is there: at most its size is set.
            self.learn_file(dir, &name, handle, done)?;
            return self.set_size(handle, done);
        }
        let before = self.ns.child(dir, &name);
        let src = handle.and_then(|h| self.handles.source(h));
        let made = self.ns.create(dir, &name, src, done.writer, done.t_ns)?;
        if let Some(Child::File(inode)) = before {
            self.handles.forget_dead(&self.ns, inode);
        }
        if let Some(inode) = made {
            if let Some(handle) = handle {
                self.handles.bind_file(&mut self.ns, handle, inode);
            }
            self.handles.learn_name(&name, inode);
            self.note_time(inode, done.t_ns);
        }
        Ok(())
    }

    fn mkdir(&mut self, done: &Done<'_>) -> Result<(), Fault> {
        let Some((parent, name)) = self.entry(done) else {
            return Ok(());
        };
        if let Some(dir) = self.ns.mkdir(parent, &name, done.t_ns)?
            && let Some(handle) = done.attributes.handle
        {
            self.handles.bind_dir(handle, dir);
        }
        Ok(())
    }

    fn symlink(&mut self, done: &Done<'_>) -> Result<(), Fault> {
        let Some((dir, name)) = self.entry(done) else {
            return Ok(());
        };
        let target = value(done.call, &[b"sdata", b"fn2"]).and_then(quoted);
        let bytes = target.map_or(0, |t| t.len() as u64);
        if let Some(inode) = self.ns.symlink(dir, &name, bytes, done.t_ns)?
            && let Some(handle) = done.attributes.handle
        {
            self.handles.bind_file(&mut self.ns, handle, inode);
        }
        Ok(())
    }

    fn remove(&mut self, done: &Done<'_>) -> Result<(), Fault> {
        let Some((dir, name)) = self.entry(done) else {
            return Ok(());
        };
        match self.ns.child(dir, &name) {
            Some(Child::File(inode)) => {
                let t_ns = self.note_time(inode, done.t_ns);
                self.ns.unlink(dir, &name, false, t_ns)?;
                self.handles.forget_dead(&self.ns, inode);
            }
            Some(Child::Dir(_)) => self.ns.summary.contradictions += 1,
            None => {
                self.ns.summary.unknown_deletes += 1;
                if let Some(inode) = self.handles.guess(&self.ns, &name) {
                    self.counts.guessed_deletes += 1;
                    let t_ns = self.note_time(inode, done.t_ns);
                    self.ns.unlink_any(inode, t_ns)?;
                    self.handles.forget_dead(&self.ns, inode);
                }
            }
        }
        Ok(())
    }

    fn rmdir(&mut self, done: &Done<'_>) -> Result<(), Fault> {
        match self.entry(done) {
            Some((parent, name)) => self.ns.rmdir(parent, &name, done.t_ns),
            None => Ok(()),
        }
    }

    fn rename(&mut self, done: &Done<'_>) -> Result<(), Fault> {
        let Some((from, old)) = self.entry(done) else {
            return Ok(());
        };
        let new = value(done.call, &[b"name2", b"fn2"]).and_then(name);
        let (Some(new), Some(to)) = (new, value(done.call, &[b"fh2"])) else {
            return Ok(());
        };
        let Some(to) = self.dir(to) else {
            return Ok(());
        };
        let replaced = self.ns.child(to, &new);
        let t_ns = match self.ns.child(from, &old) {
            Some(Child::File(inode)) => {
                self.handles.learn_name(&new, inode);
                self.note_time(inode, done.t_ns)
            }
            _ => done.t_ns,
        };
        self.ns.rename((from, &old), (to, &new), false, t_ns)?;
        if let Some(Child::File(inode)) = replaced {
            self.handles.forget_dead(&self.ns, inode);
        }
        Ok(())
    }

    fn link(&mut self, done: &Done<'_>) -> Result<(), Fault> {
        let name = value(done.call, NAME).and_then(name);
        let (Some(name), Some(file), Some(dir)) =
            (name, done.handle(), value(done.call, &[b"fh2"]))
        else {
            return Ok(());
        };
        let (Some(inode), Some(dir)) = (self.file(file), self.dir(dir)) else {
            return Ok(());
        };
        let t_ns = self.note_time(inode, done.t_ns);
        self.ns.link(inode, dir, &name, t_ns)?;
        self.handles.learn_name(&name, inode);
        Ok(())
    }

    fn write(&mut self, done: &Done<'_>) -> Result<(), Fault> {
        // Version 2 has the data at `offset`; version 3 says `off`.
        let offset = number(done.call, &[b"off", b"offset"]);
        let asked = number(done.call, &[b"count", b"tcount"]);
        let (Some(handle), Some(offset), Some(asked)) = (done.handle(), offset, asked) else {
            return Ok(());
        };
        let bytes = done.attributes.count.map_or(asked, |n| n.min(asked));
        let Some(inode) = self.file(handle) else {
            return Ok(());
        };
        let t_ns = self.note_time(inode, done.t_ns);
        self.ns.write(inode, done.writer, offset, bytes, t_ns)?;
        self.attributes_of(handle, done)
    }

    fn setattr(&mut self, done: &Done<'_>) -> Result<(), Fault> {
        let Some(handle) = done.handle() else {
            return Ok(());
        };
        self.set_size(handle, done)?;
        self.attributes_of(handle, done)
    }

    /// Sets the size that a call asks for.
    fn set_size(&mut self, handle: &[u8], done: &Done<'_>) -> Result<(), Fault> {
        let Some(size) = number(done.call, &[b"size"]) else {
            return Ok(());
        };
        let size = match unswapped(size).filter(|_| done.t_ns < SWAPS_END_NS) {
            Some(size) => {
                self.counts.swapped_sizes += 1;
                size
            }
            None => size,
        };
        let Some(inode) = self.file(handle) else {
            return Ok(());
        };
        let t_ns = self.note_time(inode, done.t_ns);
        self.ns.truncate(inode, done.writer, size, t_ns)
    }

    fn commit(&mut self, done: &Done<'_>) -> Result<(), Fault> {
        let Some(handle) = value(done.call, &[b"file", b"fh"]) else {
            return Ok(());
        };
        self.attributes_of(handle, done)?;
        match self.handles.get(&self.ns, handle) {
            Some(Child::File(inode)) => self.ns.fsync(inode, done.t_ns),
            _ => Ok(()),
        }
    }

    /// Entries of a directory: `name-1`, `fh-1`, `ftype-1` and so on, those of one number together.
    fn readdirp(&mut self, done: &Done<'_>, pairs: &[u8]) -> Result<(), Fault> {
        let mut entries: Vec<(&[u8], Entry<'_>)> = Vec::new();
        for (key, text) in Pairs(pairs) {
            let Some(dash) = memchr::memrchr(b'-', key) else {
                continue;
            };
            let (key, number) = (&key[..dash], &key[dash + 1..]);
            if entries.last().is_none_or(|(n, _)| *n != number) {
                entries.push((number, Entry::default()));
            }
            let Some((_, entry)) = entries.last_mut() else {
                continue;
            };
            let a = &mut entry.attributes;
            match key {
                b"name" => entry.name = name(text),
                b"fh" => a.handle = Some(text),
                b"ftype" => a.kind = hex(text),
                b"nlink" => a.links = hex(text),
                b"size" => a.size = hex(text),
                _ => {}
            }
        }
        let Some(dir) = done.handle().and_then(|h| self.dir(h)) else {
            return Ok(());
        };
        for (_, entry) in entries {
            if let (Some(name), Some(handle)) = (entry.name, entry.attributes.handle) {
                let done = Done {
                    attributes: entry.attributes,
                    ..*done
                };
                self.learn(dir, &name, handle, &done)?;
            }
        }
        Ok(())
    }

    /// What a reply says of a file's size and links.
    fn attributes_of(&mut self, handle: &[u8], done: &Done<'_>) -> Result<(), Fault> {
        let a = &done.attributes;
        let (Some(FILE), Some(size)) = (a.kind, a.size) else {
            return Ok(());
        };
        let Some(Child::File(inode)) = self.handles.get(&self.ns, handle) else {
            return Ok(());
        };
        if let Some(facts) = self.handles.facts(inode)
            && let Some(modified) = a.modified
        {
            if modified < facts.modified {
                self.counts.stale_sizes += 1;
                return Ok(());
            }
            facts.modified = modified;
        }
        let t_ns = self.note_time(inode, done.t_ns);
        self.ns.size_is(inode, done.writer, size, t_ns)?;
        match a.links {
            Some(links) if links > 0 => self.ns.links_are(inode, links, t_ns),
            _ => Ok(()),
        }
    }

    /// The time of a file's operation: not before that of the one before, unless the clock jumped far.
    fn note_time(&mut self, inode: InodeKey, t_ns: i64) -> i64 {
        let Some(facts) = self.handles.facts(inode) else {
            return t_ns;
        };
        if t_ns < facts.last_ns && facts.last_ns.saturating_sub(t_ns) < JUMP_NS {
            self.counts.clamped_times += 1;
            return facts.last_ns;
        }
        facts.last_ns = t_ns;
        t_ns
    }

    /// The directory and the name that a call is about.
    fn entry(&mut self, done: &Done<'_>) -> Option<(DirKey, Vec<u8>)> {
        let name = value(done.call, NAME).and_then(name)?;
        Some((self.dir(done.handle()?)?, name))
    }

    /// The directory of a handle; one that is not known yet gets a stand-in for its name.
    fn dir(&mut self, handle: &[u8]) -> Option<DirKey> {
        match self.handles.get(&self.ns, handle) {
            Some(Child::Dir(dir)) => Some(dir),
            Some(Child::File(_)) => {
                self.ns.summary.contradictions += 1;
                None
            }
            None => {
                self.counts.unnamed_dirs += 1;
                let dir = self.ns.lost_dir(&stand_in(handle));
                self.handles.bind_dir(handle, dir);
                Some(dir)
            }
        }
    }

    /// The file of a handle; one that is not known yet gets a stand-in for its name.
    fn file(&mut self, handle: &[u8]) -> Option<InodeKey> {
        match self.handles.get(&self.ns, handle) {
            Some(Child::File(inode)) => Some(inode),
            Some(Child::Dir(_)) => {
                self.ns.summary.contradictions += 1;
                None
            }
            None => {
                self.counts.unnamed_files += 1;
                let inode = self.ns.lost_file(&stand_in(handle));
                self.handles.bind_file(&mut self.ns, handle, inode);
                Some(inode)
            }
        }
    }
}

/// A call that was answered.
#[derive(Clone, Copy)]
struct Done<'a> {
    t_ns: i64,
    writer: Writer,
    /// Its pairs.
    call: &'a [u8],
    /// Of the reply's object.
    attributes: Attributes<'a>,
}

impl<'a> Done<'a> {
    fn handle(&self) -> Option<&'a [u8]> {
        value(self.call, &[b"fh"])
    }
}

/// An entry of a directory.
#[derive(Default)]
struct Entry<'a> {
    name: Option<Vec<u8>>,
    attributes: Attributes<'a>,
}

/// A size whose high and low words were exchanged: huge, and seven or eight zeros at its end.
fn unswapped(size: u64) -> Option<u64> {
    if u32::try_from(size).is_ok() {
        return None;
    }
    match size.trailing_zeros() / 4 {
        0..=6 => None,
        7 => Some(size >> 28),
        _ => Some(size >> 32),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exchanged_words_are_put_right() {
        assert_eq!(unswapped(0x0001_2345_0000_0000), Some(0x12345));
        assert_eq!(unswapped(0x1234_5000_0000), Some(0x12345));
        assert_eq!(unswapped(0x8000_0000), None);
        assert_eq!(unswapped(0x1_2345_6789), None);
    }
}
