//! Brings a tree to what should be in it, after a replay stopped at any moment.
//!
//! What the replay did beyond the count of its journal is taken back, and what a power failure took with it is made
//! again. An entry that should not be there is removed only where the replay itself may have made it: anything else
//! belongs to somebody, and the tree is left alone until it is moved away.
//!
//! On a full disk the way back may need a few blocks more than there are: a directory that grew stays large, a file
//! that is written again may need more blocks that hold its map. Files get what there is room for then, as in the
//! replay.

use super::Data;
use super::compare::{Entry, Finding, Reads, Wanted, open_directory, open_file, split};
use super::content::Content;
use super::expected::{Expected, ExpectedFile, What};
use super::fault::{Fault, Kind, Problem, Shown};
use super::file_data::{Buffer, FileData};
use super::headway::{Headway, Watch};
use super::history::History;
use super::put_back::{Found, PutBack};
use rustc_hash::{FxHashMap, FxHashSet};
use rustix::fs::{
    AtFlags, Mode, OFlags, Stat, fstat, ftruncate, linkat, mkdirat, openat, statat, symlinkat,
    unlinkat,
};
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use thiserror::Error;

/// The kernel stamps changes with a clock that is up to a tick behind.
const CLOCK_SLACK_NS: i128 = 1_000_000_000;

/// Which files of the right size have their data read.
#[derive(Clone, Debug)]
pub enum Reread {
    /// Those that changed (`ctime`) at this time or later, in nanoseconds since 1970 by the clock of the machine; and
    /// those that the replay wrote since: a power failure may take back the time of a change and leave half of it.
    Since {
        /// When the tree was last synced.
        ctime_ns: i64,
        /// Files that were written since, by what they hold.
        written: BTreeSet<Content>,
    },
    /// All of them.
    Everything,
}

/// A file that should be there, or be longer, but the file system is full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShortFile {
    /// Path from the root of the tree; where data is missing, one of its names.
    pub path: Vec<u8>,
    /// Its length now, up to which it is right; `None` where not even this name could be made.
    pub size_bytes: Option<u64>,
}

/// What repairing a tree did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repaired {
    /// Names that were removed.
    pub removed: u64,
    /// Names that were made.
    pub made: u64,
    /// Names that were moved.
    pub moved: u64,
    /// Files that were emptied and written again.
    pub rewritten: u64,
    /// Files whose end alone was cut off or written.
    pub resized: u64,
    /// Files, and further names, that there was no room for.
    pub short: Vec<ShortFile>,
}

/// A tree could not be repaired. What was done so far is no loss: repairing again goes on.
#[derive(Debug, Error)]
pub enum RepairError {
    /// Something is in the tree that no replay made.
    #[error(
        "{} is {kind} that the replay did not make{}: move it away, then resume",
        Shown(.path),
        match others { 0 => String::new(), n => format!(", and so are {n} others") }
    )]
    Foreign {
        /// Its path relative to the root of the tree.
        path: Vec<u8>,
        /// What it is.
        kind: Kind,
        /// How many others there are.
        others: u64,
    },
    /// Something in the tree cannot be read.
    #[error("{} cannot be read: see to the file system, then resume", Shown(.path))]
    Unreadable {
        /// Path relative to the root of the tree.
        path: Vec<u8>,
        /// Why.
        source: io::Error,
    },
    /// Something in the tree is not to be touched.
    #[error("{problem}: see to that, then resume")]
    Problem {
        /// What and why.
        problem: Problem,
    },
    /// The file system is too full for a directory, or to remove anything.
    #[error("no space left to make {} again: make room on the file system, then resume", Shown(.path))]
    Full {
        /// Path relative to the root of the tree.
        path: Vec<u8>,
        /// Why.
        source: io::Error,
    },
    /// A system call failed.
    #[error("cannot {doing} {}", Shown(.path))]
    Io {
        /// What was tried.
        doing: &'static str,
        /// Path relative to the root of the tree.
        path: Vec<u8>,
        /// Why it failed.
        source: io::Error,
    },
    /// The caller asked to stop.
    #[error("interrupted")]
    Interrupted,
}

/// Brings the tree at `root` to what is expected, with data made by the same means as the replay's; the data of
/// [`Data::Fallocate`] and [`Data::Hole`] is not compared. Not synced. `progress` is told how far it has come and says
/// whether to go on.
///
/// # Errors
/// A foreign entry, before anything was done but to move files to where they belong; a failure of the file system; or
/// the caller's wish to stop. In each case the tree can be repaired again.
pub fn repair(
    root: BorrowedFd<'_>,
    expected: &Expected,
    history: &History,
    reread: &Reread,
    data: Data,
    progress: &mut dyn FnMut(Headway) -> bool,
) -> Result<Repaired, RepairError> {
    let wanted = Wanted::new(expected);
    let mut repair = Repair {
        root,
        expected,
        data,
        watch: Watch::new(progress),
        buffer: Buffer::new(),
        gone: FxHashSet::default(),
        wrong_data: FxHashMap::default(),
        done: Repaired::default(),
    };
    let guessed = repair.put_back(&wanted, history)?;
    let mut doubtful = history.doubtful(expected);
    for path in &guessed {
        doubtful.extend(expected.inodes_at(path));
    }
    let rereads = rereads(reread, expected, doubtful);
    let reads = |at: usize, stat: &Stat| data == Data::Write && rereads(at, stat);
    let findings = repair.compare(&wanted, &reads)?;
    let findings = explained(findings, &wanted, history)?;
    // What goes makes room for what comes.
    repair.remove(&findings)?;
    repair.make_directories(&findings)?;
    repair.mend_files(&findings)?;
    Ok(repair.done)
}

/// Whether a file's data is read, as [`Reads`](super::compare::Reads) has it.
fn rereads(
    reread: &Reread,
    expected: &Expected,
    mut inodes: FxHashSet<u64>,
) -> impl Fn(usize, &Stat) -> bool {
    let since_ns = match reread {
        Reread::Everything => i128::MIN,
        Reread::Since { ctime_ns, written } => {
            let files = expected.files.iter();
            let written = files.filter(|file| match &file.what {
                What::File { content, .. } => written.contains(content),
                What::Symlink { .. } => false,
            });
            inodes.extend(written.map(|file| file.inode));
            i128::from(*ctime_ns) - CLOCK_SLACK_NS
        }
    };
    move |at, stat| {
        let changed_ns = i128::from(stat.st_ctime) * 1_000_000_000 + i128::from(stat.st_ctime_nsec);
        changed_ns >= since_ns || inodes.contains(&expected.files[at].inode)
    }
}

/// The findings in order of their paths, if nothing among them is beyond repair.
fn explained(
    mut findings: Vec<Finding>,
    wanted: &Wanted<'_>,
    history: &History,
) -> Result<Vec<Finding>, RepairError> {
    findings.sort_by(|a, b| a.path.cmp(&b.path));
    // A file whose data cannot be read is one whose data is lost.
    let beyond_repair = |f: &Finding| match f.fault {
        Fault::Unreadable(_) => !matches!(f.entry, Some(Entry::File(_))),
        Fault::Mounted => true,
        _ => false,
    };
    if let Some(at) = findings.iter().position(beyond_repair) {
        let Finding { path, fault, .. } = findings.swap_remove(at);
        return Err(match fault {
            Fault::Unreadable(source) => RepairError::Unreadable { path, source },
            fault => {
                let problem = Problem { path, fault };
                RepairError::Problem { problem }
            }
        });
    }
    let mut foreign = findings.iter().filter_map(|finding| match finding.fault {
        Fault::Foreign(kind) | Fault::Kind { found: kind, .. }
            if !history.explains(wanted, &finding.path, kind) =>
        {
            Some((finding, kind))
        }
        _ => None,
    });
    match foreign.next() {
        Some((finding, kind)) => Err(RepairError::Foreign {
            path: finding.path.clone(),
            kind,
            others: foreign.count() as u64,
        }),
        None => Ok(findings),
    }
}

struct Repair<'a> {
    root: BorrowedFd<'a>,
    expected: &'a Expected,
    data: Data,
    watch: Watch<'a>,
    buffer: Buffer,
    /// Places in [`Expected::files`] of names that are not there.
    gone: FxHashSet<usize>,
    /// Inodes whose size, data or target is wrong, and whether they are too long.
    wrong_data: FxHashMap<u64, bool>,
    done: Repaired,
}

impl<'a> Repair<'a> {
    fn goes_on(&self) -> Result<(), RepairError> {
        if self.watch.goes_on() {
            return Ok(());
        }
        Err(RepairError::Interrupted)
    }

    fn compare(
        &mut self,
        wanted: &Wanted<'_>,
        reads: Reads<'_>,
    ) -> Result<Vec<Finding>, RepairError> {
        let mut findings = Vec::new();
        wanted.compare(self.root, false, reads, &mut self.watch, &mut |finding| {
            findings.push(finding);
        });
        self.goes_on()?;
        Ok(findings)
    }

    /// Moves what is elsewhere to where it belongs, if nothing in the tree is foreign. Gives the paths of what may have
    /// been taken for something else.
    fn put_back(
        &mut self,
        wanted: &Wanted<'_>,
        history: &History,
    ) -> Result<Vec<Vec<u8>>, RepairError> {
        let mut done = PutBack::default();
        let mut found = Found::look(self.root, wanted, history);
        if !found.misplaced().is_empty() {
            let findings = self.compare(wanted, &|_, _| false)?;
            explained(findings, wanted, history)?;
            found.put_back_directories(&mut done);
        }
        found.put_back_files(&mut done);
        self.done.moved += done.moved;
        self.done.made += done.made;
        self.done.removed += done.removed;
        Ok(done.guessed)
    }

    /// Removes what should not be there, what lies in a directory before it.
    fn remove(&mut self, findings: &[Finding]) -> Result<(), RepairError> {
        for finding in findings.iter().rev() {
            let kind = match finding.fault {
                Fault::Foreign(kind) | Fault::Kind { found: kind, .. } => Some(kind),
                Fault::OtherInode => Some(Kind::File),
                Fault::Missing => None,
                Fault::Size { .. } | Fault::Data { .. } | Fault::Target | Fault::Unreadable(_) => {
                    if let Some(Entry::File(at)) = finding.entry {
                        let shrinks =
                            matches!(finding.fault, Fault::Size { found, right } if found > right);
                        let inode = self.expected.files[at].inode;
                        self.wrong_data.insert(inode, shrinks);
                    }
                    continue;
                }
                Fault::Names { .. } | Fault::Mounted => continue,
            };
            if let Some(Entry::File(at)) = finding.entry {
                self.gone.insert(at);
            }
            if let Some(kind) = kind {
                self.unlink(&finding.path, kind == Kind::Directory)?;
            }
            self.goes_on()?;
        }
        Ok(())
    }

    fn unlink(&mut self, path: &[u8], directory: bool) -> Result<(), RepairError> {
        let flags = if directory {
            AtFlags::REMOVEDIR
        } else {
            AtFlags::empty()
        };
        self.at(path, "remove", |parent, name| unlinkat(parent, name, flags))?;
        self.done.removed += 1;
        Ok(())
    }

    fn make_directories(&mut self, findings: &[Finding]) -> Result<(), RepairError> {
        for finding in findings {
            if finding.entry == Some(Entry::Directory) {
                let mode = Mode::from_raw_mode(0o755);
                self.at(&finding.path, "make", |parent, name| {
                    mkdirat(parent, name, mode)
                })?;
                self.done.made += 1;
            }
        }
        Ok(())
    }

    fn mend_files(&mut self, findings: &[Finding]) -> Result<(), RepairError> {
        let expected = self.expected;
        let inode_of = |finding: &Finding| match finding.entry {
            Some(Entry::File(at)) => Some(expected.files[at].inode),
            _ => None,
        };
        let inodes: FxHashSet<u64> = findings.iter().filter_map(inode_of).collect();
        let mut names: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (at, file) in expected.files.iter().enumerate() {
            if inodes.contains(&file.inode) {
                names.entry(file.inode).or_default().push(at);
            }
        }
        let shrinks = |repair: &Self, inode| repair.wrong_data.get(inode) == Some(&true);
        for first in [true, false] {
            for (inode, names) in &names {
                if shrinks(self, inode) == first {
                    self.mend(names)?;
                    self.goes_on()?;
                }
            }
        }
        Ok(())
    }

    /// Makes or mends an inode with all its names.
    fn mend(&mut self, names: &[usize]) -> Result<(), RepairError> {
        let (mut missing, mut present): (Vec<usize>, Vec<usize>) =
            names.iter().partition(|name| self.gone.contains(name));
        if let Some(&first) = present.first() {
            let file = &self.expected.files[first];
            let stat = self.at(&file.path, "look at", |parent, name| {
                statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)
            })?;
            // A name outside the tree must not see its data change; a symbolic link cannot be changed.
            let foreign_names = stat.st_nlink != present.len() as u64;
            let wrong = self.wrong_data.contains_key(&file.inode);
            if foreign_names || wrong && data_of(&file.what).is_none() {
                for &name in &present {
                    self.unlink(&self.expected.files[name].path, false)?;
                }
                missing = names.to_vec();
                present.clear();
            }
        }
        let first = if let Some(&first) = present.first() {
            let file = &self.expected.files[first];
            if self.wrong_data.contains_key(&file.inode) {
                self.rewrite(file)?;
            }
            first
        } else {
            let first = missing.remove(0);
            let made = self.make(&self.expected.files[first]);
            if !self.or_left_out(first, made)? {
                for name in missing {
                    self.leave_out(name);
                }
                return Ok(());
            }
            first
        };
        for name in missing {
            let path = &self.expected.files[name].path;
            let made = self.link(&self.expected.files[first].path, path);
            self.or_left_out(name, made)?;
        }
        Ok(())
    }

    /// Whether a name was made; it is left out where there is no room for it.
    fn or_left_out(
        &mut self,
        name: usize,
        made: Result<(), RepairError>,
    ) -> Result<bool, RepairError> {
        match made {
            Ok(()) => Ok(true),
            Err(RepairError::Full { .. }) => {
                self.leave_out(name);
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    fn leave_out(&mut self, name: usize) {
        let path = self.expected.files[name].path.clone();
        let size_bytes = None;
        self.done.short.push(ShortFile { path, size_bytes });
    }

    fn make(&mut self, file: &'a ExpectedFile) -> Result<(), RepairError> {
        let (data, watch) = (self.data, &mut self.watch);
        let short = in_parent(self.root, &file.path, "make", |parent, name| {
            match &file.what {
                What::Symlink { target } => symlinkat(&target[..], parent, name).map(|()| None),
                What::File { .. } => {
                    let flags = OFlags::WRONLY
                        | OFlags::CREATE
                        | OFlags::EXCL
                        | OFlags::NOFOLLOW
                        | OFlags::CLOEXEC;
                    let made = openat(parent, name, flags, Mode::from_raw_mode(0o644))?;
                    match data_of(&file.what) {
                        Some(content) => fill(content, made.as_fd(), 0, data, watch),
                        None => Ok(None),
                    }
                }
            }
        })?;
        self.done.made += 1;
        self.note_short(file, short);
        Ok(())
    }

    fn link(&mut self, existing: &[u8], new: &[u8]) -> Result<(), RepairError> {
        let (directory, existing) = split(existing);
        let root = self.root;
        self.at(new, "make", |parent, name| {
            let directory = open_directory(root, directory)?;
            linkat(directory, existing, parent, name, AtFlags::empty())
        })?;
        self.done.made += 1;
        Ok(())
    }

    /// Gives a file its size and data: at its end alone, if what it has is right as far as it goes.
    fn rewrite(&mut self, file: &'a ExpectedFile) -> Result<(), RepairError> {
        let Some(content) = data_of(&file.what) else {
            return Ok(());
        };
        let (data, watch, buffer) = (self.data, &mut self.watch, &mut self.buffer);
        let (resized, short) = in_parent(self.root, &file.path, "write", |parent, name| {
            let open = open_file(parent, name, OFlags::RDWR)?;
            let found = fstat(&open)?.st_size as u64;
            let kept = found.min(content.size_bytes);
            let right = found != content.size_bytes
                && (data != Data::Write
                    || content
                        .first_difference(open.as_fd(), kept, buffer, watch)
                        .is_ok_and(|difference| difference.is_none()))
                && watch.goes_on();
            let from = if right { kept } else { 0 };
            ftruncate(&open, from)?;
            let short = fill(content, open.as_fd(), from, data, watch)?;
            Ok((right, short))
        })?;
        if resized {
            self.done.resized += 1;
        } else {
            self.done.rewritten += 1;
        }
        self.note_short(file, short);
        Ok(())
    }

    /// Notes the length of a file that should be longer.
    fn note_short(&mut self, file: &ExpectedFile, size_bytes: Option<u64>) {
        if size_bytes.is_some() {
            let path = file.path.clone();
            self.done.short.push(ShortFile { path, size_bytes });
        }
    }

    fn at<T>(
        &self,
        path: &[u8],
        doing: &'static str,
        call: impl FnOnce(BorrowedFd<'_>, &[u8]) -> Result<T, Errno>,
    ) -> Result<T, RepairError> {
        in_parent(self.root, path, doing, call)
    }
}

/// Writes what belongs behind the first `from` bytes of a file that ends there. Gives its length where the file system
/// is too full for all of it.
fn fill(
    content: FileData<'_>,
    file: BorrowedFd<'_>,
    from: u64,
    data: Data,
    watch: &mut Watch<'_>,
) -> Result<Option<u64>, Errno> {
    match content.write(file, from, data, watch) {
        Ok(()) => Ok(None),
        Err(Errno::NOSPC | Errno::DQUOT) => Ok(Some(fstat(file)?.st_size as u64)),
        Err(errno) => Err(errno),
    }
}

/// Calls something with the directory that a path lies in, and its name there.
fn in_parent<T>(
    root: BorrowedFd<'_>,
    path: &[u8],
    doing: &'static str,
    call: impl FnOnce(BorrowedFd<'_>, &[u8]) -> Result<T, Errno>,
) -> Result<T, RepairError> {
    let (parent, name) = split(path);
    let result = open_directory(root, parent).and_then(|parent| call(parent.as_fd(), name));
    result.map_err(|errno| {
        let (path, source) = (path.to_vec(), io::Error::from(errno));
        match errno {
            Errno::NOSPC | Errno::DQUOT => RepairError::Full { path, source },
            _ => RepairError::Io {
                doing,
                path,
                source,
            },
        }
    })
}

fn data_of(what: &What) -> Option<FileData<'_>> {
    match what {
        What::Symlink { .. } => None,
        What::File {
            content,
            size_bytes,
            zeros,
        } => Some(FileData {
            content: *content,
            size_bytes: *size_bytes,
            zeros,
        }),
    }
}
