//! A real file system, mounted, as the subject of a benchmark.
//!
//! **Where it runs.** In a directory that is there, or in an image: a copy of one, so that the original is never
//! altered, or a new one. Everything that the benchmark makes lies in one directory of its own, `.fsage-bench-0` or the
//! next free number, which [`clean_up`](Subject::clean_up) removes; so does dropping the subject.
//!
//! **The clock** is `CLOCK_MONOTONIC`, the processor's that of the thread that asks. Both stand still while the subject
//! does something that a benchmark does not ask for, such as looking whether a file was ever written.
//!
//! **Caches.** Data go through the page cache: `O_DIRECT` is used only where a benchmark asks for direct reads, because
//! it changes what is measured (no read-ahead, no delayed allocation). [`Real::cache_method`]
//! tells how the cache is emptied.

mod extents;
pub mod free_map;
mod place;
pub mod program;
mod scratch;
mod stand;

pub use place::RealPlace;
pub use program::Ran;
pub use scratch::{WRITTEN_BYTES, copy_image};
pub use stand::RealStand;

use crate::laps::Lap;
use crate::subject::{BenchError, DirKey, FileKey, Part, Subject};
use extents::Extents;
use free_map::Deviation;
use fsage_core::{FileKind, FileView, Geometry};
use fsage_linux::facts::facts;
use fsage_metrics::LayoutScore;
use fsage_real::directory::{CHUNK, Content, DEFAULT_RESERVE_BYTES, Volume};
use rustix::fs::{
    Advice, AtFlags, FileType, IFlags, Mode, OFlags, fadvise, fstatvfs, mkdirat, statat, syncfs,
};
use rustix::io::{Errno, pread, pwritev, retry_on_intr};
use rustix::time::{ClockId, clock_gettime};
use scratch::Scratch;
use std::fs::{self, File};
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// The longest call, whatever is asked for: 513 slices of [`Content`], under the system's limit of 1024.
const LONGEST_CALL_BYTES: u64 = 512 * CHUNK;
/// This share of the free space is left alone on a file system of one's own: metadata take some of it.
const METADATA_SHARE: u64 = 64;
/// What direct reads are multiples of, in the file and in memory.
const DIRECT_BYTES: u64 = 4096;
/// Begins the names of what the benchmark makes in directories that were there before: nothing else has such a name.
const STRANGERS: &str = "fsage-bench-";
const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";

/// Asked before every operation whether to stop.
pub type StopAsked = Arc<dyn Fn() -> bool + Send + Sync>;

/// A file that was there before the benchmark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExistingFile {
    /// Its path from the root of the tree.
    pub path: PathBuf,
    /// What it holds: it is overwritten with the same.
    pub content: Content,
}

/// How a benchmark runs on a real file system.
#[derive(Clone, Default)]
pub struct RealOptions {
    /// Files that get the keys 0, 1, 2, ...; those that the benchmark makes follow.
    pub existing: Vec<ExistingFile>,
    /// Drops the caches of the whole machine where a directory is measured: see [`may_drop_all`].
    pub drop_all: bool,
    /// When to stop; `None` for never.
    pub stop: Option<StopAsked>,
}

impl std::fmt::Debug for RealOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RealOptions")
            .field("existing", &self.existing.len())
            .field("drop_all", &self.drop_all)
            .finish_non_exhaustive()
    }
}

/// A file that has a key.
#[derive(Debug)]
struct KnownFile {
    path: PathBuf,
    bytes: u64,
    content: Content,
    /// Bytes that were allocated and never written; `None` until that was looked at.
    unwritten_bytes: Option<u64>,
}

/// A directory that has a key.
#[derive(Debug)]
struct KnownDir {
    /// From the root of the tree.
    path: PathBuf,
    /// The benchmark made it.
    is_own: bool,
}

/// Time for which the clocks stood still, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Stood {
    ns: u64,
    cpu_ns: u64,
}

/// A real file system that is measured.
pub struct Real {
    /// `None` when it was let go of. It goes before the image it is mounted from.
    volume: Option<Box<dyn Volume>>,
    scratch: Option<Scratch>,
    deviation: Option<Deviation>,
    /// What errors call the root of the tree.
    shown: PathBuf,
    options: RealOptions,
    /// The directory of the benchmark, from the root of the tree.
    own: Option<String>,
    /// Whether programs made something in that directory.
    is_strange: bool,
    dirs: Vec<KnownDir>,
    /// `None` where a file was deleted.
    files: Vec<Option<KnownFile>>,
    buffer: Vec<u8>,
    extents: Extents,
    start: Instant,
    stood: Stood,
    laps: Vec<Lap>,
}

impl std::fmt::Debug for Real {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Real")
            .field("volume", &self.volume)
            .field("options", &self.options)
            .field("cache_method", &self.cache_method())
            .finish_non_exhaustive()
    }
}

impl Real {
    /// Opens a directory, or makes and mounts an image.
    ///
    /// # Errors
    /// The place cannot be used, there is no room for the image or no right to mount it, an existing file is not there.
    pub fn new(place: &RealPlace, options: RealOptions) -> Result<Real, BenchError> {
        let opened = place.open(options.stop.as_ref())?;
        let mut real = Real {
            volume: Some(opened.volume),
            scratch: opened.scratch,
            deviation: opened.deviation,
            shown: place.path().to_owned(),
            options,
            own: None,
            is_strange: false,
            dirs: Vec::new(),
            files: Vec::new(),
            buffer: Vec::new(),
            extents: Extents::default(),
            start: Instant::now(),
            stood: Stood::default(),
            laps: Vec::new(),
        };
        real.files = real.find_existing()?;
        Ok(real)
    }

    /// How [`drop_caches`](Subject::drop_caches) empties the caches, in words for a report.
    pub fn cache_method(&self) -> &'static str {
        if self.scratch.is_some() {
            "unmounted and mounted again; pages of the image dropped"
        } else if self.options.drop_all {
            "pages of the benchmark's files dropped, then all caches of the machine"
        } else {
            "pages of the benchmark's files dropped; inodes and directories stay cached"
        }
    }

    /// How far the free space is from that of the aged image, for [`RealPlace::FreeMapOf`].
    pub fn deviation(&self) -> Option<Deviation> {
        self.deviation
    }

    /// What stands in a report about the place: kernel, type of file system, `mkfs` line, mount options, ...
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        self.volume().facts()
    }

    /// Removes what the benchmark made, unmounts the image and removes it. Dropping does the same and tells no errors.
    ///
    /// # Errors
    /// A system call failed.
    pub fn close(mut self) -> Result<(), BenchError> {
        self.let_go()
    }

    fn let_go(&mut self) -> Result<(), BenchError> {
        if self.volume.is_none() {
            return Ok(());
        }
        // Of an image nothing stays.
        let cleaned = match self.scratch {
            None => self.clean_up(),
            Some(_) => Ok(()),
        };
        let closed = match self.volume.take() {
            Some(volume) => volume.close(),
            None => Ok(()),
        };
        self.scratch = None;
        cleaned?;
        closed.map_err(io_failed(&self.shown, "unmount"))
    }

    fn volume(&self) -> &dyn Volume {
        self.volume
            .as_deref()
            .expect("it is open until it is let go of")
    }

    fn root(&self) -> BorrowedFd<'_> {
        self.volume().root()
    }

    fn find_existing(&self) -> Result<Vec<Option<KnownFile>>, BenchError> {
        let find = |existing: &ExistingFile| {
            let flags = AtFlags::SYMLINK_NOFOLLOW;
            let stat = rustix::fs::statat(self.root(), &existing.path, flags)
                .map_err(|errno| self.failed(&existing.path, "stat", errno))?;
            if !rustix::fs::FileType::from_raw_mode(stat.st_mode).is_file() {
                let why = io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file");
                return Err(io_failed(&self.shown.join(&existing.path), "stat")(why));
            }
            Ok(Some(KnownFile {
                path: existing.path.clone(),
                bytes: stat.st_size as u64,
                content: existing.content,
                unwritten_bytes: None,
            }))
        };
        self.options.existing.iter().map(find).collect()
    }

    /// What an error of a system call means to a benchmark.
    fn failed(&self, path: &Path, call: &'static str, errno: Errno) -> BenchError {
        if !matches!(errno, Errno::NOSPC | Errno::DQUOT) {
            return io_failed(&self.shown.join(path), call)(errno.into());
        }
        let makes_an_inode = matches!(call, "create" | "mkdir");
        match fstatvfs(self.root()) {
            Ok(stat) if makes_an_inode && stat.f_files > 0 && stat.f_favail == 0 => {
                BenchError::NoInode
            }
            _ => BenchError::NoSpace,
        }
    }

    /// Does what no benchmark asks for while the clocks stand still.
    fn aside<T>(&mut self, work: impl FnOnce(&mut Real) -> T) -> T {
        let (start_ns, start_cpu_ns) = (self.clock_ns(), self.thread_cpu_ns());
        let result = work(self);
        self.stood.ns += self.clock_ns() - start_ns;
        self.stood.cpu_ns += self.thread_cpu_ns() - start_cpu_ns;
        result
    }

    fn lap(&mut self, bytes: u64, start_ns: u64) {
        let ns = self.clock_ns().saturating_sub(start_ns);
        self.laps.push(Lap { bytes, ns });
    }

    /// Time that the processor worked for this thread, less what it stood still.
    fn thread_cpu_ns(&self) -> u64 {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        let ns = time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64;
        ns.saturating_sub(self.stood.cpu_ns)
    }

    /// The directory of the benchmark, made if need be.
    fn own(&mut self) -> Result<String, BenchError> {
        if let Some(own) = &self.own {
            return Ok(own.clone());
        }
        let mode = Mode::from_raw_mode(0o700);
        let made = scratch::first_free(|name| match mkdirat(self.root(), name, mode) {
            // Nobody else works here: it is what a killed benchmark left.
            Err(Errno::EXIST) if self.remove_left_over(name) => mkdirat(self.root(), name, mode),
            made => made,
        });
        let own = made.map_err(|errno| self.failed(Path::new(""), "mkdir", errno))?;
        // On ext2, ext3 and ext4 its directories are then spread over the groups, as those of a root directory are.
        // Others do not know the flag, and do without.
        if let Ok(dir) = self.open(Path::new(&own), OFlags::RDONLY) {
            let flags = rustix::fs::ioctl_getflags(&dir).unwrap_or(IFlags::empty());
            let _ = rustix::fs::ioctl_setflags(&dir, flags | IFlags::TOPDIR);
        }
        self.own = Some(own.clone());
        Ok(own)
    }

    /// Removes a directory of a benchmark before, if it is one of ours.
    fn remove_left_over(&self, name: &str) -> bool {
        let stat = statat(self.root(), name, AtFlags::SYMLINK_NOFOLLOW);
        let is_ours = stat.is_ok_and(|stat| {
            FileType::from_raw_mode(stat.st_mode) == FileType::Directory
                && stat.st_uid == rustix::process::geteuid().as_raw()
        });
        is_ours && fs::remove_dir_all(self.beneath_root(name)).is_ok()
    }

    /// A path by which this process alone finds an entry of the root, wherever that is mounted.
    fn beneath_root(&self, name: &str) -> String {
        format!("/proc/self/fd/{}/{name}", self.root().as_raw_fd())
    }

    /// Where programs find the root of the tree: for those of an image it is mounted there.
    fn seen_at(&self) -> Result<PathBuf, BenchError> {
        let path = match &self.scratch {
            Some(scratch) => scratch.mount_point()?,
            None => self.shown.clone(),
        };
        path.canonicalize().map_err(io_failed(&path, "realpath"))
    }

    fn make_directory(&mut self, parent: &Path) -> Result<DirKey, BenchError> {
        let key = DirKey(self.dirs.len() as u64);
        let is_strange = self
            .dirs
            .iter()
            .any(|dir| !dir.is_own && dir.path == parent);
        let name = if is_strange {
            format!("{STRANGERS}{}", key.0)
        } else {
            format!("d{}", key.0)
        };
        let path = parent.join(name);
        rustix::fs::mkdirat(self.root(), &path, Mode::from_raw_mode(0o755))
            .map_err(|errno| self.failed(&path, "mkdir", errno))?;
        self.dirs.push(KnownDir { path, is_own: true });
        Ok(key)
    }

    /// A new file with so many bytes, which is open still.
    fn make_file(
        &mut self,
        dir: DirKey,
        bytes: u64,
        call_bytes: u64,
    ) -> Result<(FileKey, OwnedFd), BenchError> {
        go_on(self.options.stop.as_ref())?;
        let key = FileKey(self.files.len() as u64);
        let path = self.dir(dir, "create")?.join(format!("f{}", key.0));
        let opened = self.open(&path, OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY)?;
        // Not that of any aged file, which count from 0.
        let content = Content(!key.0);
        self.files.push(Some(KnownFile {
            path: path.clone(),
            bytes,
            content,
            unwritten_bytes: None,
        }));
        let part = Part {
            offset: 0,
            bytes,
            call_bytes,
        };
        write(&opened, content, part).map_err(|errno| self.failed(&path, "write", errno))?;
        Ok((key, opened))
    }

    /// A directory that was made.
    fn dir(&self, key: DirKey, call: &'static str) -> Result<&Path, BenchError> {
        let dir = usize::try_from(key.0)
            .ok()
            .and_then(|key| self.dirs.get(key));
        dir.map(|dir| dir.path.as_path()).ok_or_else(|| {
            let why = io::Error::new(io::ErrorKind::NotFound, "no such directory was made");
            io_failed(&self.shown, call)(why)
        })
    }

    fn file(&self, key: FileKey) -> Result<&KnownFile, BenchError> {
        let file = self.files.get(key.0 as usize);
        file.and_then(Option::as_ref).ok_or(BenchError::NoFile(key))
    }

    /// A file, if it has that part.
    fn file_with(&self, key: FileKey, part: Part) -> Result<&KnownFile, BenchError> {
        let file = self.file(key)?;
        match part.offset.checked_add(part.bytes) {
            Some(end) if end <= file.bytes => Ok(file),
            _ => {
                let reason = format!(
                    "it has {} bytes, less than the benchmark goes over",
                    file.bytes
                );
                let why = io::Error::new(io::ErrorKind::InvalidInput, reason);
                Err(io_failed(&self.shown.join(&file.path), "open")(why))
            }
        }
    }

    fn open(&self, path: &Path, flags: OFlags) -> Result<OwnedFd, BenchError> {
        let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let call = if flags.contains(OFlags::CREATE) {
            "create"
        } else {
            "open"
        };
        retry_on_intr(|| rustix::fs::openat(self.root(), path, flags, Mode::from_raw_mode(0o644)))
            .map_err(|errno| self.failed(path, call, errno))
    }

    /// The path of a file of which a part is to be read.
    fn written(&mut self, key: FileKey, part: Part) -> Result<PathBuf, BenchError> {
        go_on(self.options.stop.as_ref())?;
        if self.file_with(key, part)?.unwritten_bytes.is_none() {
            self.aside(Real::look_for_unwritten)?;
        }
        let file = self.file(key)?;
        match file.unwritten_bytes {
            Some(unwritten_bytes @ 1..) => Err(BenchError::Unwritten {
                path: self.shown.join(&file.path),
                unwritten_bytes,
            }),
            _ => Ok(file.path.clone()),
        }
    }

    /// Looks at every file that was not looked at yet, how much of it was allocated and never written.
    fn look_for_unwritten(&mut self) -> Result<(), BenchError> {
        if self
            .files
            .iter()
            .flatten()
            .all(|file| file.unwritten_bytes.is_some())
        {
            return Ok(());
        }
        // What is only in the cache yet has no place.
        self.sync()?;
        for index in 0..self.files.len() {
            let file = match &self.files[index] {
                Some(file) if file.unwritten_bytes.is_none() => file,
                _ => continue,
            };
            let (path, size_bytes) = (file.path.clone(), file.bytes);
            let opened = self.open(&path, OFlags::RDONLY)?;
            let found = self.extents.of(&opened);
            let found = found.map_err(io_failed(&self.shown.join(&path), "FIEMAP"))?;
            let unwritten_bytes =
                found.map_or(0, |found| extents::unwritten_bytes(found, size_bytes));
            if let Some(file) = &mut self.files[index] {
                file.unwritten_bytes = Some(unwritten_bytes);
            }
        }
        Ok(())
    }

    /// Drops the pages of a file that no process needs; what is dirty was written before.
    fn drop_pages(file: impl AsFd) -> Result<(), Errno> {
        fadvise(file, 0, None, Advice::DontNeed)
    }

    /// The pages of the image below the file system.
    fn drop_image_pages(image: &Path) -> Result<(), BenchError> {
        let file = File::open(image).map_err(io_failed(image, "open"))?;
        file.sync_all().map_err(io_failed(image, "fsync"))?;
        Real::drop_pages(&file).map_err(|errno| io_failed(image, "fadvise")(errno.into()))
    }

    fn drop_pages_of_files(&self) -> Result<(), BenchError> {
        for file in self.files.iter().flatten() {
            let opened = self.open(&file.path, OFlags::RDONLY)?;
            Real::drop_pages(&opened).map_err(|errno| self.failed(&file.path, "fadvise", errno))?;
        }
        if self.options.drop_all {
            // 3: pages, and also inodes and names.
            fs::write(DROP_CACHES, "3\n").map_err(io_failed(Path::new(DROP_CACHES), "write"))?;
        }
        Ok(())
    }
}

impl Drop for Real {
    fn drop(&mut self) {
        // Who wants to hear of it closes.
        let _ = self.let_go();
    }
}

impl Subject for Real {
    /// What `statvfs` calls available, less what is to stay for others or for metadata.
    fn free_bytes(&mut self) -> Result<u64, BenchError> {
        let stat =
            fstatvfs(self.root()).map_err(|errno| self.failed(Path::new(""), "statvfs", errno))?;
        let bytes = |blocks: u64| blocks.saturating_mul(stat.f_frsize);
        let free_bytes = bytes(stat.f_bavail);
        let kept_bytes = if self.volume().is_shared() {
            (bytes(stat.f_blocks) / 20).min(DEFAULT_RESERVE_BYTES)
        } else {
            free_bytes / METADATA_SHARE
        };
        Ok(free_bytes.saturating_sub(kept_bytes))
    }

    fn mkdir(&mut self) -> Result<DirKey, BenchError> {
        go_on(self.options.stop.as_ref())?;
        let own = self.aside(Real::own)?;
        self.make_directory(Path::new(&own))
    }

    fn mkdir_in(&mut self, parent: DirKey) -> Result<DirKey, BenchError> {
        go_on(self.options.stop.as_ref())?;
        let parent = self.dir(parent, "mkdir")?.to_owned();
        self.make_directory(&parent)
    }

    fn rmdir(&mut self, dir: DirKey) -> Result<(), BenchError> {
        go_on(self.options.stop.as_ref())?;
        let path = self.dir(dir, "rmdir")?.to_owned();
        rustix::fs::unlinkat(self.root(), &path, AtFlags::REMOVEDIR)
            .map_err(|errno| self.failed(&path, "rmdir", errno))
    }

    fn laps(&mut self) -> Vec<Lap> {
        std::mem::take(&mut self.laps)
    }

    fn create(&mut self, dir: DirKey, bytes: u64, call_bytes: u64) -> Result<FileKey, BenchError> {
        let start_ns = self.clock_ns();
        let (key, _) = self.make_file(dir, bytes, call_bytes)?;
        self.lap(bytes, start_ns);
        Ok(key)
    }

    /// In a copy of an image; others' directories are left as they are.
    fn directory_of(&mut self, file: FileKey) -> Result<Option<DirKey>, BenchError> {
        let path = self.file(file)?.path.parent().unwrap_or(Path::new(""));
        let path = path.to_owned();
        if self.scratch.is_none() {
            return Ok(None);
        }
        let known = self.dirs.iter().position(|dir| dir.path == path);
        let place = known.unwrap_or_else(|| {
            let is_own = false;
            self.dirs.push(KnownDir { path, is_own });
            self.dirs.len() - 1
        });
        Ok(Some(DirKey(place as u64)))
    }

    fn deliver(
        &mut self,
        (from, to): (DirKey, DirKey),
        bytes: u64,
        call_bytes: u64,
    ) -> Result<FileKey, BenchError> {
        let start_ns = self.clock_ns();
        let (key, opened) = self.make_file(from, bytes, call_bytes)?;
        let path = self.file(key)?.path.clone();
        retry_on_intr(|| rustix::fs::fsync(&opened))
            .map_err(|errno| self.failed(&path, "fsync", errno))?;
        drop(opened);
        let name = format!("{STRANGERS}f{}", key.0);
        let moved = self.dir(to, "rename")?.join(name);
        rustix::fs::renameat(self.root(), &path, self.root(), &moved)
            .map_err(|errno| self.failed(&moved, "rename", errno))?;
        if let Some(file) = &mut self.files[key.0 as usize] {
            file.path = moved;
        }
        self.lap(bytes, start_ns);
        Ok(key)
    }

    fn read(&mut self, key: FileKey, part: Part) -> Result<(), BenchError> {
        let start_ns = self.clock_ns();
        let path = self.written(key, part)?;
        let call_bytes = call_bytes(part).min(part.bytes);
        if (self.buffer.len() as u64) < call_bytes {
            // The system gives memory only when it is written to.
            self.aside(|real| real.buffer.resize(call_bytes as usize, 1));
        }
        let opened = self.open(&path, OFlags::RDONLY)?;
        let (mut at, end) = (part.offset, part.offset + part.bytes);
        while at < end {
            let wanted = call_bytes.min(end - at) as usize;
            let buffer = &mut self.buffer[..wanted];
            match retry_on_intr(|| pread(&opened, &mut *buffer, at)) {
                Ok(0) => {
                    let why = io::ErrorKind::UnexpectedEof.into();
                    return Err(io_failed(&self.shown.join(&path), "read")(why));
                }
                Ok(read) => at += read as u64,
                Err(errno) => return Err(self.failed(&path, "read", errno)),
            }
        }
        self.lap(part.bytes, start_ns);
        Ok(())
    }

    /// A thread for each call that is at work. Their processor time is not counted.
    fn read_direct(&mut self, parts: &[(FileKey, Part)], depth: usize) -> Result<(), BenchError> {
        let mut opened: Vec<(FileKey, PathBuf, OwnedFd)> = Vec::new();
        let mut reads = Vec::new();
        let mut longest = 0;
        for &(key, part) in parts {
            let path = self.written(key, part)?;
            if opened.last().is_none_or(|(last, ..)| *last != key) {
                let flags = OFlags::RDONLY | OFlags::DIRECT;
                let file = self.open(&path, flags)?;
                opened.push((key, path, file));
            }
            let end = part.offset + part.bytes;
            let step = call_bytes(part).next_multiple_of(DIRECT_BYTES);
            longest = longest.max(step);
            let offsets = (part.offset..end).step_by(step as usize);
            reads.extend(offsets.map(|at| (opened.len() - 1, at, step.min(end - at))));
        }
        let next = AtomicUsize::new(0);
        let read_all = || {
            let mut room = vec![1_u8; (longest + DIRECT_BYTES) as usize];
            let first = room.as_ptr().align_offset(DIRECT_BYTES as usize);
            while let Some(&(file, at, bytes)) = reads.get(next.fetch_add(1, Ordering::Relaxed)) {
                let bytes = bytes.next_multiple_of(DIRECT_BYTES) as usize;
                let buffer = &mut room[first..first + bytes];
                retry_on_intr(|| pread(&opened[file].2, &mut *buffer, at))
                    .map_err(|errno| (file, errno))?;
            }
            Ok(())
        };
        let threads = depth.clamp(1, reads.len().max(1));
        let done: Result<(), (usize, Errno)> = std::thread::scope(|scope| {
            let readers: Vec<_> = (0..threads).map(|_| scope.spawn(read_all)).collect();
            let mut readers = readers.into_iter();
            readers.try_for_each(|reader| reader.join().expect("a reader does not panic"))
        });
        done.map_err(|(file, errno)| self.failed(&opened[file].1, "read", errno))
    }

    /// With the same data as before: no truncation, no sync. A file system that never writes in place (btrfs) puts them
    /// elsewhere.
    fn overwrite(&mut self, key: FileKey, part: Part) -> Result<(), BenchError> {
        go_on(self.options.stop.as_ref())?;
        let start_ns = self.clock_ns();
        let file = self.file_with(key, part)?;
        let opened = self.open(&file.path, OFlags::WRONLY)?;
        write(&opened, file.content, part)
            .map_err(|errno| self.failed(&file.path, "write", errno))?;
        self.lap(part.bytes, start_ns);
        Ok(())
    }

    fn append(&mut self, key: FileKey, bytes: u64) -> Result<(), BenchError> {
        go_on(self.options.stop.as_ref())?;
        let file = self.file(key)?;
        let opened = self.open(&file.path, OFlags::WRONLY)?;
        let part = Part {
            offset: file.bytes,
            bytes,
            call_bytes: bytes,
        };
        write(&opened, file.content, part)
            .map_err(|errno| self.failed(&file.path, "write", errno))?;
        if let Some(file) = &mut self.files[key.0 as usize] {
            file.bytes += bytes;
        }
        Ok(())
    }

    fn delete(&mut self, key: FileKey) -> Result<(), BenchError> {
        go_on(self.options.stop.as_ref())?;
        let file = self.file(key)?;
        rustix::fs::unlinkat(self.root(), &file.path, AtFlags::empty())
            .map_err(|errno| self.failed(&file.path, "unlink", errno))?;
        self.files[key.0 as usize] = None;
        Ok(())
    }

    fn fsync(&mut self, key: FileKey) -> Result<(), BenchError> {
        go_on(self.options.stop.as_ref())?;
        let file = self.file(key)?;
        let opened = self.open(&file.path, OFlags::WRONLY)?;
        retry_on_intr(|| rustix::fs::fsync(&opened))
            .map_err(|errno| self.failed(&file.path, "fsync", errno))
    }

    /// Spins until the thread has worked that long.
    fn compute(&mut self, ns: u64) {
        let end_ns = self.thread_cpu_ns().saturating_add(ns);
        while self.thread_cpu_ns() < end_ns && go_on(self.options.stop.as_ref()).is_ok() {
            std::hint::spin_loop();
        }
    }

    fn file_bytes(&mut self, key: FileKey) -> Result<u64, BenchError> {
        Ok(self.file(key)?.bytes)
    }

    /// `syncfs`: everything of this file system, of others' files too.
    fn sync(&mut self) -> Result<(), BenchError> {
        syncfs(self.root()).map_err(|errno| self.failed(Path::new(""), "syncfs", errno))
    }

    /// See [`Real::cache_method`]. Looks first at the files that were not looked at, so that reading need not do so.
    fn drop_caches(&mut self) -> Result<(), BenchError> {
        self.look_for_unwritten()?;
        self.sync()?;
        let shown = self.shown.clone();
        let volume = self
            .volume
            .as_mut()
            .expect("it is open until it is let go of");
        if !volume.remount().map_err(io_failed(&shown, "mount"))? {
            return self.drop_pages_of_files();
        }
        match &self.scratch {
            Some(scratch) => Real::drop_image_pages(&scratch.image()),
            None => Ok(()),
        }
    }

    fn clock_ns(&mut self) -> u64 {
        // 584 years.
        self.start.elapsed().as_nanos() as u64 - self.stood.ns
    }

    /// Of the thread that asks. What the kernel's own threads do for it does not count.
    fn cpu_ns(&mut self) -> Option<u64> {
        Some(self.thread_cpu_ns())
    }

    fn execute(&mut self, line: &str) -> Result<Ran, BenchError> {
        go_on(self.options.stop.as_ref())?;
        let own = self.own()?;
        let root = self.seen_at()?;
        let line = line
            .replace("{dir}", &program::quoted(&root.join(own)))
            .replace("{mnt}", &program::quoted(&root));
        self.is_strange = true;
        let source = self.volume().source();
        let stop = || go_on(self.options.stop.as_ref()).is_err();
        program::run(&line, source.as_ref(), &root, stop)
    }

    /// By `FIEMAP`, after a sync; `None` where the file system cannot tell (tmpfs).
    fn layout(&mut self, files: &[FileKey]) -> Result<Option<LayoutScore>, BenchError> {
        self.sync()?;
        let geometry = self.geometry()?;
        let mut score = LayoutScore::default();
        for &key in files {
            let file = self.file(key)?;
            let (path, bytes) = (file.path.clone(), file.bytes);
            let opened = self.open(&path, OFlags::RDONLY)?;
            let found = self.extents.of(&opened);
            let Some(found) = found.map_err(io_failed(&self.shown.join(&path), "FIEMAP"))? else {
                return Ok(None);
            };
            let view = FileView {
                extents: Some(found),
                ..FileView::new(key.0, FileKind::Regular, bytes)
            };
            score += LayoutScore::of_file(&view, &geometry);
        }
        Ok(Some(score))
    }

    /// Goes on where something cannot be removed, and tells of the first such thing.
    fn clean_up(&mut self) -> Result<(), BenchError> {
        let existing = self.options.existing.len().min(self.files.len());
        let made: Vec<KnownFile> = self.files.drain(existing..).flatten().collect();
        let dirs = std::mem::take(&mut self.dirs);
        let own = self.own.take();
        if let (true, Some(own)) = (std::mem::take(&mut self.is_strange), &own) {
            let path = self.beneath_root(own);
            return fs::remove_dir_all(&path).map_err(io_failed(&self.shown.join(own), "remove"));
        }
        let mut first = Ok(());
        let mut remove =
            |path: &Path, call, flags| match rustix::fs::unlinkat(self.root(), path, flags) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(errno) if first.is_ok() => first = Err(self.failed(path, call, errno)),
                Err(_) => {}
            };
        for file in &made {
            remove(&file.path, "unlink", AtFlags::empty());
        }
        // Those that were made in others come first.
        for dir in dirs.iter().filter(|dir| dir.is_own).rev() {
            remove(&dir.path, "rmdir", AtFlags::REMOVEDIR);
        }
        if let Some(own) = &own {
            remove(Path::new(own), "rmdir", AtFlags::REMOVEDIR);
        }
        first
    }
}

impl Real {
    /// As much of the geometry as a layout score needs.
    fn geometry(&self) -> Result<Geometry, BenchError> {
        let facts = facts(self.root()).map_err(io_failed(&self.shown, "statfs"))?;
        Ok(Geometry {
            fs_type: facts.fs_type,
            size_bytes: facts.total_bytes,
            data_bytes: None,
            reserved_bytes: facts.reserved_bytes,
            block_bytes: facts.block_bytes,
            frag_bytes: facts.block_bytes,
            inodes_total: facts.inodes_total,
            group_count: 0,
            group_bytes: 0,
            inodes_per_group: 0,
            first_ino: 0,
            inode_chunk_bytes: 0,
        })
    }
}

/// Asks whether to stop.
fn go_on(stop: Option<&StopAsked>) -> Result<(), BenchError> {
    match stop {
        Some(stop) if stop() => Err(BenchError::Interrupted),
        _ => Ok(()),
    }
}

fn call_bytes(part: Part) -> u64 {
    part.call_bytes.clamp(1, LONGEST_CALL_BYTES)
}

/// That this process may drop the caches of the whole machine, as root may.
///
/// # Errors
/// It may not.
pub fn may_drop_all() -> Result<(), BenchError> {
    let opened = fs::OpenOptions::new().write(true).open(DROP_CACHES);
    opened
        .map(drop)
        .map_err(io_failed(Path::new(DROP_CACHES), "open"))
}

fn io_failed(path: &Path, call: &'static str) -> impl FnOnce(io::Error) -> BenchError + use<> {
    let path = path.to_owned();
    move |source| BenchError::Io { path, call, source }
}

/// Writes a part of a file with calls of its size. The data lie in memory already: no copy is made for a call.
fn write(file: &OwnedFd, content: Content, part: Part) -> Result<(), Errno> {
    let call_bytes = call_bytes(part);
    let end = part.offset + part.bytes;
    let mut slices = Vec::with_capacity(call_bytes.min(part.bytes).div_ceil(CHUNK) as usize + 1);
    let mut at = part.offset;
    while at < end {
        let call_end = end.min(at + call_bytes);
        while at < call_end {
            slices.clear();
            let mut next = at;
            while next < call_end {
                let bytes = content.bytes(next, call_end - next);
                slices.push(IoSlice::new(bytes));
                next += bytes.len() as u64;
            }
            match retry_on_intr(|| pwritev(file, &slices, at))? {
                0 => return Err(Errno::NOSPC),
                written => at += written as u64,
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_clock_stands_still_while_the_subject_does_what_no_benchmark_asks_for() {
        let folder = tempfile::tempdir().unwrap();
        let place = RealPlace::Directory(folder.path().to_owned());
        let outside = Instant::now();
        let mut real = Real::new(&place, RealOptions::default()).unwrap();
        let wait = Duration::from_millis(50);
        real.aside(|_| std::thread::sleep(wait));
        let clock = Duration::from_nanos(real.clock_ns());
        assert!(clock + wait <= outside.elapsed());
        let later = Duration::from_nanos(real.clock_ns());
        assert!(later > clock);
    }
}
