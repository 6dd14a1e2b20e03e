//! Calls on descriptors: opened, written, read, cut, shared.

use super::args::{self, Descriptor};
use super::process::{Description, Shared};
use super::{Call, Strace, has};
use crate::trace::{Child, Fault, InodeKey, last_component, normalize, parent};
use std::cell::RefCell;
use std::rc::Rc;

/// The argument of a positional call that says where it works.
const POSITION: usize = 3;

impl Strace<'_> {
    pub(super) fn open(&mut self, call: &Call<'_>, at: bool, creat: bool) -> Result<(), Fault> {
        let path_index = usize::from(at);
        let flags: &[u8] = if creat {
            b"O_WRONLY|O_CREAT|O_TRUNC"
        } else {
            call.args[path_index + 1]
        };
        if at {
            self.note_cwd(call, 0);
        }
        let Some(number) = call.ret.value.filter(|&v| v >= 0) else {
            if call.missing() {
                self.note_missing(call, at.then_some(0), path_index)?;
            }
            return Ok(());
        };
        let Some(opened) = call.ret.file else {
            if self.has_paths {
                return Err(Fault::Bad("the path behind the new descriptor"));
            }
            return Err(Fault::Useless(
                "no path behind a new descriptor: record again with strace -y",
            ));
        };
        self.has_paths = true;
        self.close_number(call.pid, number);
        let Some(shown) = opened.file_path() else {
            return Ok(());
        };
        let inode = if has(flags, b"O_TMPFILE") {
            Some(self.ns.nameless())
        } else if has(flags, b"O_DIRECTORY") || has(flags, b"O_PATH") || opened.deleted {
            None
        } else {
            self.open_path(call, flags, shown)?
        };
        if let Some(inode) = inode {
            let file = Description {
                inode,
                offset: 0,
                offset_known: true,
                append: has(flags, b"O_APPEND"),
                shown: shown.to_vec(),
                renames: self.renames,
            };
            self.set_file(call.pid, number, Rc::new(RefCell::new(file)));
        }
        Ok(())
    }

    /// The file that an open call found or made; `None` is a directory.
    fn open_path(
        &mut self,
        call: &Call<'_>,
        flags: &[u8],
        shown: &[u8],
    ) -> Result<Option<InodeKey>, Fault> {
        let mut path = std::mem::take(&mut self.one);
        let readable = self.shown_path(shown, &mut path);
        let result = if readable {
            self.open_known(call, flags, &path)
        } else {
            Err(Fault::Bad("a path"))
        };
        self.one = path;
        result
    }

    fn open_known(
        &mut self,
        call: &Call<'_>,
        flags: &[u8],
        path: &[u8],
    ) -> Result<Option<InodeKey>, Fault> {
        let Some(dir) = self.ns.dir_at(parent(path)) else {
            self.ns.summary.contradictions += 1;
            return Ok(None);
        };
        let name = last_component(path);
        let creates = has(flags, b"O_CREAT");
        let cuts = has(flags, b"O_TRUNC");
        let exclusive = creates && has(flags, b"O_EXCL");
        let child = self.ns.child(dir, name);
        let read_before = match child {
            Some(Child::File(inode)) => self.ns.is_only_read(inode),
            _ => false,
        };
        if exclusive || (creates && (child.is_none() || read_before)) {
            self.counts.creates_of_read += u64::from(read_before);
            if !exclusive && !cuts && !self.absent.contains(path) {
                self.counts.uncertain_creates += 1;
            }
            self.absent.remove(path);
            return self.ns.create(dir, name, None, call.pid, call.t_ns);
        }
        if let Some(Child::Dir(_)) = child {
            return Ok(None);
        }
        let appeared = child.is_none() && self.absent.contains(path);
        let inode = self.ns.see_file(dir, name, appeared);
        if let Some(inode) = inode.filter(|_| cuts) {
            self.ns.truncate(inode, call.pid, 0, call.t_ns)?;
        }
        Ok(inode)
    }

    pub(super) fn write(&mut self, call: &Call<'_>, positional: bool) -> Result<(), Fault> {
        let Some(bytes) = call.value().filter(|&n| n > 0) else {
            return Ok(());
        };
        let Some(file) = self.file(call, 0)? else {
            return Ok(());
        };
        let explicit = if positional {
            Some(call.unsigned(POSITION)?)
        } else {
            None
        };
        self.write_at(call, &file, explicit, bytes)
    }

    fn write_at(
        &mut self,
        call: &Call<'_>,
        file: &Shared,
        explicit: Option<u64>,
        bytes: u64,
    ) -> Result<(), Fault> {
        let mut file = file.borrow_mut();
        let inode = file.inode;
        let offset = match explicit {
            Some(offset) => offset,
            None if file.append => self.ns.size(inode),
            None if !file.offset_known => {
                self.counts.guessed_offsets += 1;
                self.ns.size(inode)
            }
            None => file.offset,
        };
        if explicit.is_none() {
            file.offset = offset.saturating_add(bytes);
        }
        self.ns.write(inode, call.pid, offset, bytes, call.t_ns)
    }

    pub(super) fn read(&mut self, call: &Call<'_>, positional: bool) -> Result<(), Fault> {
        let Some(bytes) = call.value().filter(|&n| n > 0) else {
            return Ok(());
        };
        let Some(file) = self.file(call, 0)? else {
            return Ok(());
        };
        let end = if positional {
            Some(call.unsigned(POSITION)?.saturating_add(bytes))
        } else {
            advance(&file, bytes)
        };
        if let Some(end) = end {
            self.ns.at_least(file.borrow().inode, end);
        }
        Ok(())
    }

    pub(super) fn seek(&mut self, call: &Call<'_>) -> Result<(), Fault> {
        self.counts.has_lseek = true;
        let Some(offset) = call.value() else {
            return Ok(());
        };
        let Some(file) = self.file(call, 0)? else {
            return Ok(());
        };
        let mut file = file.borrow_mut();
        file.offset = offset;
        file.offset_known = true;
        if call.args[2] == b"SEEK_END" && call.args[1] == b"0" {
            self.ns.at_least(file.inode, offset);
        }
        Ok(())
    }

    pub(super) fn ftruncate(&mut self, call: &Call<'_>) -> Result<(), Fault> {
        if call.ret.value != Some(0) {
            return Ok(());
        }
        let size = call.unsigned(1)?;
        match self.file(call, 0)? {
            Some(file) => {
                let inode = file.borrow().inode;
                self.ns.truncate(inode, call.pid, size, call.t_ns)
            }
            None => Ok(()),
        }
    }

    pub(super) fn fallocate(&mut self, call: &Call<'_>) -> Result<(), Fault> {
        if call.ret.value != Some(0) {
            return Ok(());
        }
        let (mode, offset, bytes) = (call.args[1], call.unsigned(2)?, call.unsigned(3)?);
        let Some(file) = self.file(call, 0)? else {
            return Ok(());
        };
        let inode = file.borrow().inode;
        if has(mode, b"PUNCH_HOLE") {
            self.ns.punch(inode, offset, bytes, call.t_ns)
        } else if has(mode, b"COLLAPSE_RANGE") {
            let size = self.ns.size(inode).saturating_sub(bytes);
            self.ns.truncate(inode, call.pid, size, call.t_ns)
        } else if has(mode, b"INSERT_RANGE") {
            let size = self.ns.size(inode).saturating_add(bytes);
            self.ns.truncate(inode, call.pid, size, call.t_ns)
        } else {
            let keep_size = has(mode, b"KEEP_SIZE");
            self.ns
                .fallocate(inode, offset, bytes, keep_size, call.t_ns)
        }
    }

    pub(super) fn copy_range(&mut self, call: &Call<'_>) -> Result<(), Fault> {
        let Some(bytes) = call.value().filter(|&n| n > 0) else {
            return Ok(());
        };
        let offset = |argument: &[u8]| match argument {
            b"NULL" => Ok(None),
            _ => args::pointed(argument)
                .map(Some)
                .ok_or(Fault::Bad("NULL or [offset]")),
        };
        if offset(call.args[1])?.is_none()
            && let Some(from) = self.file(call, 0)?
        {
            advance(&from, bytes);
        }
        let explicit = offset(call.args[3])?;
        match self.file(call, 2)? {
            Some(to) => self.write_at(call, &to, explicit, bytes),
            None => Ok(()),
        }
    }

    pub(super) fn sendfile(&mut self, call: &Call<'_>) -> Result<(), Fault> {
        let Some(bytes) = call.value().filter(|&n| n > 0) else {
            return Ok(());
        };
        if call.args[2] == b"NULL"
            && let Some(from) = self.file(call, 1)?
        {
            advance(&from, bytes);
        }
        match self.file(call, 0)? {
            Some(to) => self.write_at(call, &to, None, bytes),
            None => Ok(()),
        }
    }

    pub(super) fn dup(&mut self, call: &Call<'_>, new: bool) -> Result<(), Fault> {
        let Some(number) = call.ret.value.filter(|&v| v >= 0) else {
            return Ok(());
        };
        let old = call.descriptor(0)?;
        if new && old.number == Some(number) {
            return Ok(());
        }
        let file = self.file(call, 0)?;
        self.close_number(call.pid, number);
        if let Some(file) = file {
            self.set_file(call.pid, number, file);
        }
        Ok(())
    }

    pub(super) fn fcntl(&mut self, call: &Call<'_>) -> Result<(), Fault> {
        match call.args[1] {
            b"F_DUPFD" | b"F_DUPFD_CLOEXEC" => self.dup(call, true),
            b"F_SETFL" if call.ret.value == Some(0) => {
                if let Some(file) = self.file(call, 0)? {
                    file.borrow_mut().append = has(call.args[2], b"O_APPEND");
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    pub(super) fn close(&mut self, call: &Call<'_>) -> Result<(), Fault> {
        if call.ret.value == Some(0)
            && let Some(number) = call.descriptor(0)?.number
        {
            self.close_number(call.pid, number);
        }
        Ok(())
    }

    pub(super) fn fsync(&mut self, call: &Call<'_>) -> Result<(), Fault> {
        if call.ret.value != Some(0) {
            return Ok(());
        }
        match self.file(call, 0)? {
            Some(file) => {
                let inode = file.borrow().inode;
                self.ns.fsync(inode, call.t_ns)
            }
            None => Ok(()),
        }
    }

    pub(super) fn sync(&mut self, call: &Call<'_>) -> Result<(), Fault> {
        if call.ret.error.is_some() {
            return Ok(());
        }
        self.ns.sync(call.t_ns)
    }

    /// The open file behind an argument. Where the table lacks it, or has another file, the printed path says
    /// which it is.
    pub(super) fn file(&mut self, call: &Call<'_>, index: usize) -> Result<Option<Shared>, Fault> {
        let descriptor = call.descriptor(index)?;
        let (Some(number), Some(shown)) = (descriptor.number, descriptor.file_path()) else {
            return Ok(None);
        };
        self.has_paths = true;
        let open = self.process(call.pid).file(number);
        if let Some(file) = &open {
            let known = file.borrow();
            let same = known.shown == shown
                && known.renames == self.renames
                && self.ns.is_alive(known.inode);
            if same || descriptor.deleted {
                drop(known);
                return Ok(open);
            }
        }
        if descriptor.deleted {
            return Ok(None);
        }
        let Some(inode) = self.look_up(&descriptor)? else {
            return Ok(None);
        };
        if let Some(file) = open
            && file.borrow().inode == inode
        {
            let mut known = file.borrow_mut();
            known.shown.clear();
            known.shown.extend_from_slice(shown);
            known.renames = self.renames;
            drop(known);
            return Ok(Some(file));
        }
        if let Some(file) = self.of_a_thread(call.pid, number, inode) {
            self.set_file(call.pid, number, Rc::clone(&file));
            return Ok(Some(file));
        }
        let file = Rc::new(RefCell::new(Description {
            inode,
            offset: 0,
            // Whoever opened a file that the trace made began at its start.
            offset_known: self.ns.is_made(inode),
            append: false,
            shown: shown.to_vec(),
            renames: self.renames,
        }));
        self.set_file(call.pid, number, Rc::clone(&file));
        Ok(Some(file))
    }

    /// The same file open under the same number elsewhere, where the log lacks the calls that made the one process or
    /// the other: threads of a process share their open files, and the offset in each.
    fn of_a_thread(&self, pid: u64, number: i64, inode: InodeKey) -> Option<Shared> {
        // A file behind stdin, stdout or stderr is that of a child more often than of a thread.
        if number <= 2 {
            return None;
        }
        let is_orphan = self
            .processes
            .get(&pid)
            .is_some_and(|process| process.is_orphan);
        let others = self
            .processes
            .iter()
            .filter(|(other, process)| **other != pid && (is_orphan || process.is_orphan));
        let same = others.filter_map(|(other, process)| {
            let file = process.file(number)?;
            let is_same = file.borrow().inode == inode;
            is_same.then_some((*other, file))
        });
        // Of several any is a guess: the process with the lowest number is the one that was there first.
        same.min_by_key(|(other, _)| *other).map(|(_, file)| file)
    }

    /// The file that has the printed path now.
    fn look_up(&mut self, descriptor: &Descriptor<'_>) -> Result<Option<InodeKey>, Fault> {
        let Some(shown) = descriptor.file_path() else {
            return Ok(None);
        };
        let mut path = std::mem::take(&mut self.one);
        let readable = self.shown_path(shown, &mut path);
        let inode = match self.ns.dir_at(parent(&path)) {
            Some(dir) if readable => {
                let appeared = self.absent.contains(&path);
                self.ns.see_file(dir, last_component(&path), appeared)
            }
            _ => None,
        };
        self.one = path;
        if readable {
            Ok(inode)
        } else {
            Err(Fault::Bad("a path"))
        }
    }

    /// Decodes and normalizes a path as strace prints it behind a descriptor.
    fn shown_path(&mut self, shown: &[u8], path: &mut Vec<u8>) -> bool {
        self.decoded.clear();
        args::decode(shown, &mut self.decoded) && normalize(b"", &self.decoded, path)
    }

    fn set_file(&mut self, pid: u64, number: i64, file: Shared) {
        let old = self.process(pid).set_file(number, file);
        self.closed(old);
    }

    fn close_number(&mut self, pid: u64, number: i64) {
        let old = self.process(pid).close(number);
        self.closed(old);
    }

    /// A file without a name ends with its last descriptor.
    fn closed(&mut self, file: Option<Shared>) {
        if let Some(file) = file.filter(|f| Rc::strong_count(f) == 1) {
            self.ns.drop_nameless(file.borrow().inode);
        }
    }
}

/// Moves the offset; where it is then, if that is known.
fn advance(file: &Shared, bytes: u64) -> Option<u64> {
    let mut file = file.borrow_mut();
    file.offset = file.offset.saturating_add(bytes);
    file.offset_known.then_some(file.offset)
}
