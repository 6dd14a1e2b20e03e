//! One thread of a walk: visits directories, makes a row of every entry.

use super::blocks::{Blocks, Support};
use super::directory::{Descriptors, Directory, lock, open_directory, open_file};
use super::entries::{self, Piece};
use super::queue::Queue;
use crate::report::Warnings;
use fsage_core::names::escape;
use fsage_core::snapshot::{Inode, source_flags};
use fsage_core::{Extent, FileKind};
use fsage_linux::handle::{generation, generation_of_open};
use rustix::fs::{
    AtFlags, FileType, RawDir, Statx, StatxAttributes, StatxFlags, StatxTimestamp, statx,
};
use rustix::io::Errno;
use std::ffi::CStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex};

/// Rows that are handed over at once.
const BATCH_ROWS: usize = 256;

/// So many directories may wait. Beyond that, those that were found come before the rest of a directory that holds
/// millions of them.
const WAITING: usize = 1 << 12;
/// Directories that a thread may leave half read.
const HALF_READ: usize = 16;

/// What the threads of a walk share.
pub(super) struct Shared {
    pub queue: Queue,
    pub descriptors: Descriptors,
    /// `f_type` of `statfs`, which says how handles are read.
    pub magic: u64,
    /// Major and minor number of the file system.
    pub device: (u32, u32),
    /// An inode that changed later than this changed during the walk.
    pub started_ns: i64,
    /// The root of the walk, as it is shown in messages.
    pub name: String,
    pub files: Support,
    pub directories: Support,
    pub findings: Mutex<Findings>,
}

/// What no row says.
#[derive(Default)]
pub(super) struct Findings {
    pub warnings: Warnings,
    pub unreadable: u64,
    pub vanished: u64,
}

impl Shared {
    fn vanished(&self) {
        lock(&self.findings).vanished += 1;
    }

    /// Something that could not be read, or not completely.
    fn unreadable(&self, kind: &'static str, path: &str, error: impl Into<io::Error>) {
        let example = format!("{} ({})", self.shown(path), error.into());
        let mut findings = lock(&self.findings);
        findings.unreadable += 1;
        findings.warnings.add(kind, example);
    }

    fn not_entered(&self, path: &str) {
        let kind = "mount points or subvolumes were left out, with what is below them";
        lock(&self.findings).warnings.add(kind, self.shown(path));
    }

    fn shown(&self, path: &str) -> String {
        match (path, self.name.as_str()) {
            (".", name) => name.to_owned(),
            (path, "/") => format!("/{path}"),
            (path, name) => format!("{name}/{path}"),
        }
    }
}

/// Whether a walk has been stopped; then nothing more is of use.
pub(super) struct Stopped;

/// A thread of a walk.
pub(super) struct Worker<'a> {
    shared: &'a Shared,
    sender: SyncSender<Vec<Inode>>,
    rows: Vec<Inode>,
    blocks: Blocks,
    buffer: Box<[MaybeUninit<u8>]>,
    piece: Piece,
    half_read: usize,
}

impl<'a> Worker<'a> {
    pub fn new(shared: &'a Shared, sender: SyncSender<Vec<Inode>>) -> Worker<'a> {
        Worker {
            shared,
            sender,
            rows: Vec::new(),
            blocks: Blocks::default(),
            buffer: entries::buffer(),
            piece: Piece::default(),
            half_read: 0,
        }
    }

    /// Visits directories until there are no more.
    pub fn run(mut self) {
        while let Some(visit) = self.shared.queue.next() {
            if self.visit(&visit.directory).is_err() {
                return;
            }
        }
        // Nobody is left to be told that the walk was stopped.
        let _ = self.sender.send(self.rows);
    }

    fn visit(&mut self, directory: &Arc<Directory>) -> Result<(), Stopped> {
        let path = path_of(directory);
        let Some((fd, ino)) = self.open(directory, &path)? else {
            return Ok(());
        };
        let mut buffer = std::mem::take(&mut self.buffer);
        if buffer.is_empty() {
            buffer = entries::buffer();
        }
        let mut piece = std::mem::take(&mut self.piece);
        let mut reader = RawDir::new(&*fd, &mut buffer);
        let mut found = Vec::new();
        let read = loop {
            match piece.read(&mut reader) {
                Ok(true) => {}
                end => break end,
            }
            for (name, file_type) in piece.iter() {
                let place = Place {
                    fd: &fd,
                    ino,
                    path: &path,
                    name,
                };
                if self.entry(&place, file_type)? {
                    found.push(directory.child(name));
                }
            }
            if self.shared.queue.is_stopped() {
                return Err(Stopped);
            }
            // The queue gives the last one first.
            found.reverse();
            self.shared.queue.add(&mut found);
            self.visit_waiting()?;
        };
        self.buffer = buffer;
        self.piece = piece;
        if let Err(e) = read {
            let kind = "directories could not be read to their end";
            self.failed(kind, &path, e);
        }
        Ok(())
    }

    /// Visits directories while too many wait.
    fn visit_waiting(&mut self) -> Result<(), Stopped> {
        let queue = &self.shared.queue;
        while self.half_read < HALF_READ
            && let Some(visit) = queue.next_beyond(WAITING)
        {
            self.half_read += 1;
            self.visit(&visit.directory)?;
            self.half_read -= 1;
        }
        Ok(())
    }

    /// Opens a directory and gives its row; `None` if it cannot be entered.
    fn open(
        &mut self,
        directory: &Arc<Directory>,
        path: &str,
    ) -> Result<Option<(Arc<OwnedFd>, u64)>, Stopped> {
        let shared = self.shared;
        let parent = directory.parent().unwrap_or(directory);
        let parent_fd = match shared.descriptors.get(parent) {
            Ok(fd) => fd,
            Err(e) => {
                self.failed("directories could not be opened", path, e);
                return Ok(None);
            }
        };
        let is_root = directory.parent().is_none();
        let name = if is_root { c"." } else { directory.name() };
        let opened = open_directory(&parent_fd, name);
        let stat = match &opened {
            Ok(fd) => look(fd, c""),
            Err(e) if is_not_here(*e) => Err(*e),
            Err(_) => look(&parent_fd, name),
        };
        let stat = match stat {
            Ok(stat) if !is_root && self.is_elsewhere(&stat) => {
                shared.not_entered(path);
                return Ok(None);
            }
            Ok(stat) => stat,
            Err(e) => {
                self.failed("files could not be looked at", path, e);
                return Ok(None);
            }
        };
        if kind_of(&stat) != Some(FileKind::Directory) {
            shared.vanished();
            return Ok(None);
        }
        let ino = stat.stx_ino;
        let mut row = self.row(&stat, FileKind::Directory);
        row.parent_ino = Some(parent.ino().unwrap_or(ino));
        row.path = Some(path.into());
        let fd = match opened {
            Ok(fd) => Some(Arc::new(fd)),
            Err(e) => {
                row.source_flags |= source_flags::UNREADABLE;
                shared.unreadable("directories could not be opened", path, e);
                None
            }
        };
        if let Some(fd) = &fd {
            shared.descriptors.visited(directory, fd, ino);
            set_generation(&mut row, generation_of_open(fd, shared.magic, ino));
            if shared.directories.is_likely() {
                match self.blocks.of_directory(fd, &shared.directories) {
                    Ok(extents) => set_extents(&mut row, extents),
                    Err(e) => {
                        row.source_flags |= source_flags::UNREADABLE;
                        shared.unreadable("block lists could not be read", path, e);
                    }
                }
            }
        } else {
            let generation = generation(&parent_fd, name, shared.magic, ino);
            set_generation(&mut row, generation);
        }
        self.push(row)?;
        Ok(fd.map(|fd| (fd, ino)))
    }

    /// Gives the row of an entry; `true` if it is a directory, which is to be visited for itself.
    fn entry(&mut self, place: &Place, listed: FileType) -> Result<bool, Stopped> {
        let is_asked = self.shared.files.is_likely();
        match listed {
            FileType::Directory => return Ok(true),
            FileType::RegularFile if is_asked => return self.file(place),
            _ => {}
        }
        let stat = look(place.fd, place.name);
        let Some(mut row) = self.row_at(place, &stat) else {
            return Ok(false);
        };
        match row.kind {
            FileKind::Directory => return Ok(true),
            // The directory did not tell its type.
            FileKind::Regular if is_asked => return self.file(place),
            FileKind::Regular if row.extents.is_none() => {
                row.source_flags |= source_flags::UNREADABLE;
            }
            _ => {}
        }
        self.add_generation(&mut row, place);
        self.push(row)?;
        Ok(false)
    }

    /// The same of a regular file. It is opened first: then its name is looked up once, and all that is asked is asked
    /// of the same file.
    fn file(&mut self, place: &Place) -> Result<bool, Stopped> {
        let shared = self.shared;
        let opened = open_file(place.fd, place.name);
        let stat = match &opened {
            Ok(file) => look(file, c""),
            Err(e) if is_not_here(*e) => Err(*e),
            Err(_) => look(place.fd, place.name),
        };
        let Some(mut row) = self.row_at(place, &stat) else {
            return Ok(false);
        };
        if row.kind == FileKind::Directory {
            return Ok(true);
        }
        let ino = row.ino;
        match &opened {
            Ok(file) => set_generation(&mut row, generation_of_open(file, shared.magic, ino)),
            Err(_) => self.add_generation(&mut row, place),
        }
        if row.kind == FileKind::Regular && row.extents.is_none() {
            let asked = match opened {
                Ok(file) => self.blocks.of_file(&file, row.size_bytes, &shared.files),
                Err(e) => Err(e.into()),
            };
            match asked {
                Ok(Some(extents)) => set_extents(&mut row, Some(extents)),
                Ok(None) => row.source_flags |= source_flags::UNREADABLE,
                Err(e) => {
                    row.source_flags |= source_flags::UNREADABLE;
                    shared.unreadable("block lists could not be read", &place.entry_path(), e);
                }
            }
        }
        self.push(row)?;
        Ok(false)
    }

    /// The row of an entry, without its generation, and without its extents unless it has none; `None` if it is not
    /// here, or nothing is known of it.
    fn row_at(&self, place: &Place, stat: &Result<Statx, Errno>) -> Option<Inode> {
        let stat = match stat {
            Ok(stat) => stat,
            Err(e) => {
                self.failed("files could not be looked at", &place.entry_path(), *e);
                return None;
            }
        };
        let kind = kind_of(stat)?;
        let mut row = self.row(stat, kind);
        if kind == FileKind::Directory {
            // It gets its row, and is checked, when it is visited.
            return Some(row);
        }
        if self.is_elsewhere(stat) {
            self.shared.not_entered(&place.entry_path());
            return None;
        }
        row.parent_ino = Some(place.ino);
        row.path = Some(place.entry_path());
        if stat.stx_blocks == 0 && (kind != FileKind::Regular || stat.stx_size == 0) {
            row.extents = Some(Box::default());
        }
        Some(row)
    }

    fn add_generation(&self, row: &mut Inode, place: &Place) {
        let generation = generation(place.fd, place.name, self.shared.magic, row.ino);
        set_generation(row, generation);
    }

    fn row(&self, stat: &Statx, kind: FileKind) -> Inode {
        let has_birth = stat.stx_mask & StatxFlags::BTIME.bits() != 0;
        let ctime_ns = time_ns(&stat.stx_ctime);
        let mut row = Inode::new(stat.stx_ino, None, kind, stat.stx_size);
        row.alloc_bytes = Some(stat.stx_blocks.saturating_mul(512));
        row.ctime_ns = Some(ctime_ns);
        row.mtime_ns = Some(time_ns(&stat.stx_mtime));
        row.btime_ns = has_birth.then(|| time_ns(&stat.stx_btime));
        row.links = Some(stat.stx_nlink);
        row.mode = Some(u32::from(stat.stx_mode));
        row.uid = Some(stat.stx_uid);
        row.gid = Some(stat.stx_gid);
        if ctime_ns > self.shared.started_ns {
            row.source_flags |= source_flags::CHANGED_DURING_WALK;
        }
        row
    }

    /// Whether something is mounted there, or another file system starts. Files of one overlay may be on several
    /// devices, its directories are not.
    fn is_elsewhere(&self, stat: &Statx) -> bool {
        let device = (stat.stx_dev_major, stat.stx_dev_minor);
        let reported = stat
            .stx_attributes_mask
            .contains(StatxAttributes::MOUNT_ROOT);
        let is_other = device != self.shared.device;
        if reported {
            let is_directory = kind_of(stat) == Some(FileKind::Directory);
            let is_mount = stat.stx_attributes.contains(StatxAttributes::MOUNT_ROOT);
            is_mount || (is_directory && is_other)
        } else {
            is_other
        }
    }

    fn failed(&self, kind: &'static str, path: &str, error: Errno) {
        if error == Errno::XDEV {
            self.shared.not_entered(path);
        } else if is_gone(error) {
            self.shared.vanished();
        } else {
            self.shared.unreadable(kind, path, error);
        }
    }

    fn push(&mut self, row: Inode) -> Result<(), Stopped> {
        self.rows.push(row);
        if self.rows.len() < BATCH_ROWS {
            return Ok(());
        }
        let rows = std::mem::replace(&mut self.rows, Vec::with_capacity(BATCH_ROWS));
        self.sender.send(rows).map_err(|_| Stopped)
    }
}

/// An entry of a directory.
struct Place<'a> {
    fd: &'a OwnedFd,
    ino: u64,
    /// Path of the directory, escaped.
    path: &'a str,
    name: &'a CStr,
}

impl Place<'_> {
    /// Path of the entry, escaped.
    fn entry_path(&self) -> Box<str> {
        let name = escape(self.name.to_bytes());
        if self.path == "." {
            return name.into();
        }
        let mut path = String::with_capacity(self.path.len() + 1 + name.len());
        path.push_str(self.path);
        path.push('/');
        path.push_str(&name);
        path.into()
    }
}

/// Escaped path of a directory; `.` for the root.
fn path_of(directory: &Directory) -> String {
    let path = directory.path();
    if path.is_empty() {
        ".".to_owned()
    } else {
        escape(&path).into_owned()
    }
}

/// What `statx` says of a name, or of the directory itself where the name is empty.
fn look(dir: &OwnedFd, name: &CStr) -> Result<Statx, Errno> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT | AtFlags::EMPTY_PATH;
    statx(
        dir,
        name,
        flags,
        StatxFlags::BASIC_STATS | StatxFlags::BTIME,
    )
}

/// Whether the name is gone, or names something else by now.
fn is_gone(error: Errno) -> bool {
    matches!(
        error,
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::NXIO
    )
}

/// Whether the name leads to nothing that is to be found here.
fn is_not_here(error: Errno) -> bool {
    is_gone(error) || error == Errno::XDEV
}

fn set_generation(row: &mut Inode, generation: Option<u32>) {
    row.generation = generation;
    if generation.is_some_and(|generation| generation != 0) {
        row.source_flags |= source_flags::GEN_VALID;
    }
}

fn set_extents(row: &mut Inode, extents: Option<Box<[Extent]>>) {
    let reported = [
        (Extent::DELALLOC, source_flags::DELALLOC),
        (Extent::INLINE, source_flags::INLINE),
        (Extent::SHARED, source_flags::SHARED),
        (Extent::UNWRITTEN, source_flags::UNWRITTEN),
    ];
    for extent in extents.iter().flatten() {
        for (flag, source_flag) in reported {
            if extent.flags & flag != 0 {
                row.source_flags |= source_flag;
            }
        }
    }
    row.extents = extents;
}

fn kind_of(stat: &Statx) -> Option<FileKind> {
    Some(match FileType::from_raw_mode(stat.stx_mode.into()) {
        FileType::RegularFile => FileKind::Regular,
        FileType::Directory => FileKind::Directory,
        FileType::Symlink => FileKind::Symlink,
        FileType::Fifo => FileKind::Fifo,
        FileType::Socket => FileKind::Socket,
        FileType::BlockDevice => FileKind::BlockDevice,
        FileType::CharacterDevice => FileKind::CharDevice,
        FileType::Unknown => return None,
    })
}

fn time_ns(time: &StatxTimestamp) -> i64 {
    let nanos = i64::from(time.tv_nsec);
    time.tv_sec
        .saturating_mul(1_000_000_000)
        .saturating_add(nanos)
}
