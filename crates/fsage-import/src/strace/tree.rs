//! Calls on paths: looked at, removed, renamed, linked; and current directories.

use super::args::{self, Descriptor};
use super::process::Process;
use super::{Call, Strace, has};
use crate::trace::{DirKey, Fault, last_component, normalize, parent};

/// A path's directory, and the path.
type Place = Option<(DirKey, Vec<u8>)>;

impl Strace<'_> {
    /// A file was looked at: it is missing, or has a size.
    pub(super) fn look(&mut self, call: &Call<'_>, at: bool) -> Result<(), Fault> {
        let first = call.args[0];
        // `fstat(3</x>, ..)`, and `statx(3</x>, "", ..)`, look at the descriptor itself.
        let itself = at && (!call.args[1].starts_with(b"\"") || call.args[1] == b"\"\"");
        if at {
            self.note_cwd(call, 0);
        }
        if call.missing() {
            let path_index = usize::from(at);
            return self.note_missing(call, at.then_some(0), path_index);
        }
        let Some(size) = call.args.iter().find_map(|a| size_in(a)) else {
            return Ok(());
        };
        if itself {
            if Descriptor::read(first).is_some_and(|d| d.file_path().is_some())
                && let Some(file) = self.file(call, 0)?
            {
                let inode = file.borrow().inode;
                self.ns.at_least(inode, size);
            }
            return Ok(());
        }
        if let Some((dir, path)) = self.place(call, at.then_some(0), usize::from(at))? {
            let appeared = self.absent.contains(&path);
            if let Some(inode) = self.ns.see_file(dir, last_component(&path), appeared) {
                self.ns.at_least(inode, size);
            }
        }
        Ok(())
    }

    pub(super) fn truncate(&mut self, call: &Call<'_>) -> Result<(), Fault> {
        if call.ret.value != Some(0) {
            return Ok(());
        }
        let size = call.unsigned(1)?;
        if let Some((dir, path)) = self.place(call, None, 0)? {
            let appeared = self.absent.contains(&path);
            if let Some(inode) = self.ns.see_file(dir, last_component(&path), appeared) {
                self.ns.truncate(inode, call.pid, size, call.t_ns)?;
            }
        }
        Ok(())
    }

    pub(super) fn unlink(&mut self, call: &Call<'_>, at: bool, dir: bool) -> Result<(), Fault> {
        if at {
            self.note_cwd(call, 0);
        }
        let index = usize::from(at);
        if call.missing() {
            return self.note_missing(call, at.then_some(0), index);
        }
        if call.ret.value != Some(0) {
            return Ok(());
        }
        let dir = dir || (at && has(call.args[2], b"AT_REMOVEDIR"));
        if let Some((parent, path)) = self.place(call, at.then_some(0), index)? {
            let name = last_component(&path);
            if dir {
                return self.ns.rmdir(parent, name, call.t_ns);
            }
            let appeared = self.absent.contains(&path);
            self.ns.unlink(parent, name, appeared, call.t_ns)?;
            self.absent.insert(&path);
        }
        Ok(())
    }

    pub(super) fn mkdir(&mut self, call: &Call<'_>, at: bool) -> Result<(), Fault> {
        if at {
            self.note_cwd(call, 0);
        }
        if call.ret.value != Some(0) {
            return Ok(());
        }
        if let Some((dir, path)) = self.place(call, at.then_some(0), usize::from(at))? {
            self.ns.mkdir(dir, last_component(&path), call.t_ns)?;
            self.absent.remove(&path);
        }
        Ok(())
    }

    pub(super) fn rename(&mut self, call: &Call<'_>, at: bool) -> Result<(), Fault> {
        if at {
            self.note_cwd(call, 0);
        }
        if call.ret.value != Some(0) {
            return Ok(());
        }
        let (from, to) = if at {
            (self.place(call, Some(0), 1)?, self.place(call, Some(2), 3)?)
        } else {
            (self.place(call, None, 0)?, self.place(call, None, 1)?)
        };
        let (Some((from, old)), Some((to, new))) = (from, to) else {
            return Ok(());
        };
        let one = (from, last_component(&old));
        let other = (to, last_component(&new));
        self.renames += 1;
        if at && has(call.args[4], b"RENAME_EXCHANGE") {
            return self.ns.exchange(one, other, call.t_ns);
        }
        let appeared = self.absent.contains(&old);
        self.ns.rename(one, other, appeared, call.t_ns)?;
        self.absent.remove(&new);
        self.absent.insert(&old);
        Ok(())
    }

    pub(super) fn link(&mut self, call: &Call<'_>, at: bool) -> Result<(), Fault> {
        if at {
            self.note_cwd(call, 0);
        }
        if call.ret.value != Some(0) {
            return Ok(());
        }
        let new = if at {
            self.place(call, Some(2), 3)?
        } else {
            self.place(call, None, 1)?
        };
        let Some((dir, new)) = new else {
            return Ok(());
        };
        let inode = match self.linked_descriptor(call, at)? {
            Some(inode) => Some(inode),
            None => match self.place(call, at.then_some(0), usize::from(at))? {
                Some((dir, old)) => {
                    let appeared = self.absent.contains(&old);
                    self.ns.see_file(dir, last_component(&old), appeared)
                }
                None => None,
            },
        };
        if let Some(inode) = inode {
            self.ns.link(inode, dir, last_component(&new), call.t_ns)?;
            self.absent.remove(&new);
        }
        Ok(())
    }

    /// `linkat` gives a name to an open file: by an empty path, or by its entry in `/proc`.
    fn linked_descriptor(&mut self, call: &Call<'_>, at: bool) -> Result<Option<u64>, Fault> {
        if !at {
            return Ok(None);
        }
        let number = if call.args[1] == b"\"\"" {
            call.descriptor(0)?.number
        } else {
            descriptor_in_proc(call.args[1])
        };
        let file = number.and_then(|n| self.process(call.pid).file(n));
        Ok(file.map(|f| f.borrow().inode))
    }

    pub(super) fn symlink(&mut self, call: &Call<'_>, at: bool) -> Result<(), Fault> {
        if at {
            self.note_cwd(call, 1);
        }
        if call.ret.value != Some(0) {
            return Ok(());
        }
        let place = if at {
            self.place(call, Some(1), 2)?
        } else {
            self.place(call, None, 1)?
        };
        let mut target = std::mem::take(&mut self.decoded);
        let bytes = if args::string(call.args[0], &mut target) {
            target.len() as u64
        } else {
            0
        };
        self.decoded = target;
        if let Some((dir, path)) = place {
            self.ns
                .symlink(dir, last_component(&path), bytes, call.t_ns)?;
            self.absent.remove(&path);
        }
        Ok(())
    }

    pub(super) fn chdir(&mut self, call: &Call<'_>) -> Result<(), Fault> {
        if call.ret.value == Some(0) {
            let mut path = std::mem::take(&mut self.one);
            let known = self.path(call, None, 0, &mut path)?;
            if known {
                self.process(call.pid).set_cwd(&path);
            }
            self.one = path;
        }
        Ok(())
    }

    pub(super) fn fchdir(&mut self, call: &Call<'_>) -> Result<(), Fault> {
        if call.ret.value == Some(0) {
            let shown = call.descriptor(0)?.file_path();
            self.set_cwd(call.pid, shown);
        }
        Ok(())
    }

    pub(super) fn getcwd(&mut self, call: &Call<'_>) {
        if call.value().is_some() {
            let shown = match call.args[0] {
                [b'"', inner @ .., b'"'] => Some(inner),
                _ => None,
            };
            self.set_cwd(call.pid, shown);
        }
    }

    pub(super) fn clone_process(&mut self, call: &Call<'_>) {
        let Some(child) = call.value().filter(|&pid| pid > 0) else {
            return;
        };
        let flags = call.args.join(&b' ');
        let child_process = self.process(call.pid).child(&flags);
        // It may have shown up before its parent's call returned, and was taken for its child then.
        if self.processes.get(&child).is_none_or(Process::is_blank) {
            self.processes.insert(child, child_process);
        }
    }

    /// `AT_FDCWD</path>` tells the current directory.
    pub(super) fn note_cwd(&mut self, call: &Call<'_>, index: usize) {
        if let Some(d) = Descriptor::read(call.args[index])
            && d.number.is_none()
        {
            self.set_cwd(call.pid, d.file_path());
        }
    }

    /// Sets the current directory to a path as strace prints it.
    fn set_cwd(&mut self, pid: u64, shown: Option<&[u8]>) {
        let Some(shown) = shown else { return };
        let mut path = std::mem::take(&mut self.base);
        self.decoded.clear();
        if args::decode(shown, &mut self.decoded) && normalize(b"", &self.decoded, &mut path) {
            self.process(pid).set_cwd(&path);
        }
        self.base = path;
    }

    /// The call found nothing under its path.
    pub(super) fn note_missing(
        &mut self,
        call: &Call<'_>,
        dir: Option<usize>,
        path: usize,
    ) -> Result<(), Fault> {
        let mut buffer = std::mem::take(&mut self.one);
        let known = self.path(call, dir, path, &mut buffer);
        if let Ok(true) = known
            && self.ns.known(&buffer).is_none()
        {
            self.absent.insert(&buffer);
        }
        self.one = buffer;
        known.map(drop)
    }

    /// The directory that an argument's path lies in, and the path. `None`: it cannot be known.
    fn place(&mut self, call: &Call<'_>, dir: Option<usize>, path: usize) -> Result<Place, Fault> {
        let mut buffer = Vec::new();
        if !self.path(call, dir, path, &mut buffer)? {
            return Ok(None);
        }
        if buffer == b"/" {
            return Ok(None);
        }
        let Some(dir) = self.ns.dir_at(parent(&buffer)) else {
            self.ns.summary.contradictions += 1;
            return Ok(None);
        };
        Ok(Some((dir, buffer)))
    }

    /// Puts the absolute path of an argument into `out`; false if it cannot be known.
    fn path(
        &mut self,
        call: &Call<'_>,
        dir: Option<usize>,
        path: usize,
        out: &mut Vec<u8>,
    ) -> Result<bool, Fault> {
        let mut text = std::mem::take(&mut self.other);
        let mut base = std::mem::take(&mut self.base);
        let result = if args::string(call.args[path], &mut text) {
            let absolute = text.first() == Some(&b'/');
            if absolute || self.base_of(call, dir, &mut base)? {
                Ok(normalize(&base, &text, out))
            } else {
                self.counts.unknown_directories += 1;
                Ok(false)
            }
        } else {
            Err(Fault::Bad("a path in quotes"))
        };
        self.other = text;
        self.base = base;
        result
    }

    /// Puts the directory that relative paths start from into `base`.
    fn base_of(
        &mut self,
        call: &Call<'_>,
        dir: Option<usize>,
        base: &mut Vec<u8>,
    ) -> Result<bool, Fault> {
        base.clear();
        if let Some(index) = dir {
            let descriptor = call.descriptor(index)?;
            if let Some(shown) = descriptor.file_path() {
                return Ok(args::decode(shown, base));
            }
            if descriptor.number.is_some() {
                return Ok(false);
            }
        }
        Ok(self.process(call.pid).cwd(base))
    }
}

/// The size of a regular file in what a stat call returns.
fn size_in(argument: &[u8]) -> Option<u64> {
    if !has(argument, b"S_IFREG") {
        return None;
    }
    let at = memchr::memmem::find(argument, b"st_size=").map(|at| at + 8);
    let at = at.or_else(|| memchr::memmem::find(argument, b"stx_size=").map(|at| at + 9))?;
    let digits = &argument[at..];
    let end = digits.iter().position(|b| !b.is_ascii_digit());
    args::unsigned(&digits[..end.unwrap_or(digits.len())])
}

/// `"/proc/self/fd/5"`, or with a number for `self`.
fn descriptor_in_proc(argument: &[u8]) -> Option<i64> {
    let text = argument.strip_prefix(b"\"/proc/")?.strip_suffix(b"\"")?;
    let slash = memchr::memchr(b'/', text)?;
    let number = text[slash..].strip_prefix(b"/fd/")?;
    args::unsigned(number).and_then(|n| i64::try_from(n).ok())
}
