//! A tree on disk against what should be in it: the walk that verifying and repairing share.
//!
//! Everything is opened name by name from the descriptor of the root, and no symbolic link is followed, so that
//! nothing outside the tree is looked at.

use super::expected::{Expected, What};
use super::fault::{Fault, Kind};
use super::file_data::{Buffer, FileData};
use super::headway::Watch;
use rustc_hash::FxHashMap;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, fstat, openat, readlinkat, statat};
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::slice;

/// The directory that `mkfs` puts into the root of ext2, ext3 and ext4.
const LOST_AND_FOUND: &[u8] = b"lost+found";

/// What should be in a tree, by directory.
pub struct Wanted<'a> {
    expected: &'a Expected,
    /// Entries of each directory, ascending by name.
    entries: FxHashMap<&'a [u8], Vec<(&'a [u8], Entry)>>,
    /// Names of those inodes that have several.
    names: FxHashMap<u64, u64>,
}

/// What a name should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    Directory,
    /// Its place in [`Expected::files`].
    File(usize),
}

/// Something in a tree that is not as it should be.
#[derive(Debug)]
pub struct Finding {
    pub path: Vec<u8>,
    /// What should be there.
    pub entry: Option<Entry>,
    pub fault: Fault,
}

/// Which files have their data looked at: it is given the file's place in [`Expected::files`] and what `stat` says.
pub type Reads<'a> = &'a dyn Fn(usize, &Stat) -> bool;

impl<'a> Wanted<'a> {
    pub fn new(expected: &'a Expected) -> Wanted<'a> {
        let mut entries: FxHashMap<&[u8], Vec<(&[u8], Entry)>> = FxHashMap::default();
        for path in &expected.directories {
            let (parent, name) = split(path);
            let entry = (name, Entry::Directory);
            entries.entry(parent).or_default().push(entry);
        }
        for (at, file) in expected.files.iter().enumerate() {
            let (parent, name) = split(&file.path);
            let entry = (name, Entry::File(at));
            entries.entry(parent).or_default().push(entry);
        }
        // Order does not matter here: each list is sorted for itself.
        #[allow(clippy::iter_over_hash_type)]
        for entries in entries.values_mut() {
            entries.sort_unstable_by_key(|(name, _)| *name);
        }
        let mut inodes: Vec<u64> = expected.files.iter().map(|file| file.inode).collect();
        inodes.sort_unstable();
        let several = inodes.chunk_by(|a, b| a == b).filter(|same| same.len() > 1);
        let names = several.map(|same| (same[0], same.len() as u64)).collect();
        Wanted {
            expected,
            entries,
            names,
        }
    }

    /// How many names an inode should have.
    fn names_of(&self, inode: u64) -> u64 {
        self.names.get(&inode).copied().unwrap_or(1)
    }

    fn entries_of(&self, directory: &[u8]) -> &[(&'a [u8], Entry)] {
        self.entries.get(directory).map_or(&[], Vec::as_slice)
    }

    /// What should be at a path.
    pub fn entry(&self, path: &[u8]) -> Option<Entry> {
        let (parent, name) = split(path);
        let entries = self.entries_of(parent);
        let found = entries.binary_search_by_key(&name, |(name, _)| *name);
        found.ok().map(|at| entries[at].1)
    }

    /// What an entry should be.
    pub fn kind(&self, entry: Entry) -> Kind {
        match entry {
            Entry::Directory => Kind::Directory,
            Entry::File(at) => match self.expected.files[at].what {
                What::File { .. } => Kind::File,
                What::Symlink { .. } => Kind::Symlink,
            },
        }
    }

    /// Walks the tree at `root`, and tells `found` all that is not as it should be, always in the same order. Data is
    /// compared of those files that `reads` says, and reads as zeros if `zeros`.
    pub fn compare(
        &self,
        root: BorrowedFd<'_>,
        zeros: bool,
        reads: Reads<'_>,
        watch: &mut Watch<'_>,
        found: &mut dyn FnMut(Finding),
    ) {
        let device = fstat(root).map(|stat| stat.st_dev);
        let mut walk = Walk {
            wanted: self,
            root,
            device: device.ok(),
            zeros,
            reads,
            inodes: FxHashMap::default(),
            buffer: Buffer::new(),
            pending: vec![(Vec::new(), true)],
            watch,
            found,
        };
        while let Some((path, wanted)) = walk.pending.pop() {
            let later = walk.pending.len();
            if let Err(errno) = walk.directory(&path, wanted) {
                let entry = wanted.then_some(Entry::Directory);
                walk.report(path, entry, Fault::Unreadable(errno.into()));
            }
            // So that the last one, which is next, is the first by name.
            walk.pending[later..].reverse();
            if !walk.watch.goes_on() {
                return;
            }
        }
    }
}

struct Walk<'a, 'w, 'p> {
    wanted: &'w Wanted<'a>,
    root: BorrowedFd<'w>,
    /// Of the root; another one is another file system.
    device: Option<u64>,
    zeros: bool,
    reads: Reads<'w>,
    /// Inode numbers on disk of those inodes that have several names.
    inodes: FxHashMap<u64, u64>,
    buffer: Buffer,
    /// Directories to look at, and whether they should be there.
    pending: Vec<(Vec<u8>, bool)>,
    watch: &'w mut Watch<'p>,
    found: &'w mut dyn FnMut(Finding),
}

impl Walk<'_, '_, '_> {
    fn report(&mut self, path: Vec<u8>, entry: Option<Entry>, fault: Fault) {
        (self.found)(Finding { path, entry, fault });
    }

    fn directory(&mut self, path: &[u8], wanted: bool) -> Result<(), Errno> {
        let directory = open_directory(self.root, path)?;
        if self.device != Some(fstat(&directory)?.st_dev) {
            let entry = wanted.then_some(Entry::Directory);
            self.report(path.to_vec(), entry, Fault::Mounted);
            return Ok(());
        }
        let names = list(&directory)?;
        let all = self.wanted;
        let expected = if wanted { all.entries_of(path) } else { &[] };
        let mut expected = expected.iter().peekable();
        for name in &names {
            while let Some((missing, entry)) = expected.next_if(|(next, _)| *next < &name[..]) {
                self.missing(join(path, missing), *entry);
            }
            let entry = expected.next_if(|(next, _)| *next == &name[..]);
            let entry = entry.map(|(_, entry)| *entry);
            self.entry(directory.as_fd(), path, name, entry)?;
            if !self.watch.goes_on() {
                return Ok(());
            }
        }
        for (missing, entry) in expected {
            self.missing(join(path, missing), *entry);
        }
        Ok(())
    }

    /// What should be there and is not, with all that should be below it.
    fn missing(&mut self, path: Vec<u8>, entry: Entry) {
        let mut missing = vec![(path, entry)];
        while let Some((path, entry)) = missing.pop() {
            if entry == Entry::Directory {
                self.below(&path, &mut missing);
            }
            self.report(path, Some(entry), Fault::Missing);
        }
    }

    /// What should be in a directory, with its paths, the first by name last.
    fn below(&self, directory: &[u8], to: &mut Vec<(Vec<u8>, Entry)>) {
        let entries = self.wanted.entries_of(directory).iter().rev();
        to.extend(entries.map(|(name, entry)| (join(directory, name), *entry)));
    }

    fn entry(
        &mut self,
        directory: BorrowedFd<'_>,
        parent: &[u8],
        name: &[u8],
        entry: Option<Entry>,
    ) -> Result<(), Errno> {
        let stat = match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            // Removed since the directory was read.
            Err(Errno::NOENT) => {
                if let Some(entry) = entry {
                    self.missing(join(parent, name), entry);
                }
                return Ok(());
            }
            Err(errno) => return Err(errno),
        };
        let path = join(parent, name);
        let kind = Kind::of(FileType::from_raw_mode(stat.st_mode));
        let right = entry.map(|entry| self.wanted.kind(entry));
        match (entry, right) {
            (Some(entry), Some(right)) if right == kind => match entry {
                Entry::Directory => self.pending.push((path, true)),
                Entry::File(at) => self.file(directory, name, at, &stat),
            },
            (Some(entry), Some(right)) => {
                if kind == Kind::Directory {
                    self.pending.push((path.clone(), false));
                }
                if entry == Entry::Directory {
                    let mut below = Vec::new();
                    self.below(&path, &mut below);
                    for (path, entry) in below.into_iter().rev() {
                        self.missing(path, entry);
                    }
                }
                let fault = Fault::Kind { found: kind, right };
                self.report(path, Some(entry), fault);
            }
            _ if parent.is_empty() && name == LOST_AND_FOUND && kind == Kind::Directory => {}
            _ => {
                if kind == Kind::Directory {
                    self.pending.push((path.clone(), false));
                }
                self.report(path, None, Fault::Foreign(kind));
            }
        }
        Ok(())
    }

    /// Looks at a file or symbolic link of the right kind.
    fn file(&mut self, directory: BorrowedFd<'_>, name: &[u8], at: usize, stat: &Stat) {
        let wanted = self.wanted;
        let file = &wanted.expected.files[at];
        let report = |walk: &mut Self, fault| {
            walk.report(file.path.clone(), Some(Entry::File(at)), fault);
        };
        let names = self.wanted.names_of(file.inode);
        self.watch.file();
        if names > 1 {
            let inode = self.inodes.get(&file.inode).copied();
            if let Some(inode) = inode {
                if inode != stat.st_ino {
                    report(self, Fault::OtherInode);
                }
                return;
            }
            self.inodes.insert(file.inode, stat.st_ino);
        }
        let found = stat.st_nlink;
        if found != names {
            report(
                self,
                Fault::Names {
                    found,
                    right: names,
                },
            );
        }
        match self.content(directory, name, at, stat) {
            Ok(None) => {}
            Ok(Some(fault)) => report(self, fault),
            Err(errno) => report(self, Fault::Unreadable(errno.into())),
        }
    }

    fn content(
        &mut self,
        directory: BorrowedFd<'_>,
        name: &[u8],
        at: usize,
        stat: &Stat,
    ) -> Result<Option<Fault>, Errno> {
        match &self.wanted.expected.files[at].what {
            What::Symlink { target } => {
                let found = readlinkat(directory, name, Vec::new())?;
                Ok((found.as_bytes() != target).then_some(Fault::Target))
            }
            What::File {
                content,
                size_bytes,
                zeros,
            } => {
                let found = stat.st_size as u64;
                if found != *size_bytes {
                    let right = *size_bytes;
                    return Ok(Some(Fault::Size { found, right }));
                }
                if found == 0 || !(self.reads)(at, stat) {
                    return Ok(None);
                }
                let all = 0..found;
                let data = FileData {
                    content: *content,
                    size_bytes: found,
                    zeros: if self.zeros {
                        slice::from_ref(&all)
                    } else {
                        zeros
                    },
                };
                let file = open_file(directory, name, OFlags::RDONLY)?;
                let difference =
                    data.first_difference(file.as_fd(), found, &mut self.buffer, self.watch)?;
                Ok(difference.map(|at| Fault::Data { at }))
            }
        }
    }
}

/// Parent and name of a path; the root's path is empty.
pub fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(slash) => (&path[..slash], &path[slash + 1..]),
        None => (&[], path),
    }
}

/// Path of an entry.
pub fn join(parent: &[u8], name: &[u8]) -> Vec<u8> {
    if parent.is_empty() {
        return name.to_vec();
    }
    [parent, b"/", name].concat()
}

/// Opens a directory of the tree.
pub fn open_directory(root: BorrowedFd<'_>, path: &[u8]) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut directory = openat(root, ".", flags, Mode::empty())?;
    for name in path.split(|byte| *byte == b'/') {
        if !name.is_empty() {
            directory = openat(&directory, name, flags, Mode::empty())?;
        }
    }
    Ok(directory)
}

/// Opens a regular file, and waits for nothing if it is none.
pub fn open_file(directory: BorrowedFd<'_>, name: &[u8], access: OFlags) -> Result<OwnedFd, Errno> {
    let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    openat(directory, name, flags, Mode::empty())
}

/// Names in a directory, ascending.
pub fn list(directory: &OwnedFd) -> Result<Vec<Box<[u8]>>, Errno> {
    let mut names: Vec<Box<[u8]>> = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(name.into());
        }
    }
    names.sort_unstable();
    Ok(names)
}
