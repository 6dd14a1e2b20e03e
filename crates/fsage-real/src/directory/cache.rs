//! Where files lie, kept from day to day: the file system is asked only for what has changed.
//!
//! Whoever keeps metrics is told what was found to have changed, see [`Watched`].
//!
//! An extent that was not placed yet is asked for again. What a file system does behind its files' backs, as XFS does
//! when it takes back what it had allocated behind the end of a file, is seen when the file changes next.

use super::dirs::join;
use super::error::{Failure, OrCall, TargetError};
use super::files::File;
use super::mounts;
use super::naming::NameBuffer;
use super::replay::{Directory, FreeRuns};
use super::shard::Common;
use super::watched::Watched;
use fsage_core::operations::ROOT;
use fsage_core::{Change, Extent, FileKind, FileView, Geometry, Layout, Run, Space};
use fsage_linux::fiemap::Fiemap;
use rustix::fs::{AtFlags, OFlags, Stat, StatVfs, fstat, fstatvfs, statat};
use rustix::io::Errno;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

/// An inode as it was found on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cached {
    pub ino: u64,
    size_bytes: u64,
    alloc_bytes: u64,
    pub extents: Option<Arc<[Extent]>>,
}

impl Cached {
    fn new(stat: &Stat, extents: Option<Arc<[Extent]>>) -> Cached {
        Cached {
            ino: stat.st_ino,
            size_bytes: stat.st_size as u64,
            alloc_bytes: stat.st_blocks as u64 * 512,
            extents,
        }
    }

    /// Whether some of it has no place on disk yet.
    fn is_unplaced(&self) -> bool {
        let extents = self.extents.iter().flat_map(|extents| &**extents);
        let mut flags = extents.map(|extent| extent.flags);
        flags.any(|flags| flags & (Extent::DELALLOC | Extent::UNKNOWN) != 0)
    }
}

/// Where the tables keep what is known of an inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Dir(u32),
    File(usize, u32),
    Shared(u32),
}

/// What the file system as a whole says, and the order in which files are shown.
pub(super) struct Layouts {
    pub geometry: Geometry,
    pub free_runs: Option<FreeRuns>,
    /// Inodes by number.
    pub order: BTreeMap<u64, Place>,
    space: Option<Space>,
    pub free: Option<Vec<Run>>,
    /// What has changed, if somebody watches.
    pub watched: Option<Watched>,
    fiemap: Fiemap,
    /// The file system knows FIEMAP.
    has_extents: bool,
}

impl std::fmt::Debug for Layouts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Layouts")
            .field("geometry", &self.geometry)
            .field("inodes", &self.order.len())
            .finish_non_exhaustive()
    }
}

fn target_error(call: &'static str, path: &str, source: impl Into<std::io::Error>) -> TargetError {
    TargetError::Io {
        call,
        path: path.to_owned(),
        source: source.into(),
    }
}

fn space_of(stat: &StatVfs) -> Space {
    Space {
        free_blocks: stat.f_bfree,
        free_frags: 0,
        free_inodes: stat.f_ffree,
    }
}

impl Layouts {
    /// Nothing but the sizes of the file system. `data_bytes` is what is free now: of an empty tree all there is.
    pub fn new(root: BorrowedFd<'_>) -> Result<Layouts, TargetError> {
        let stat = fstatvfs(root).map_err(|errno| target_error("fstatvfs", ".", errno))?;
        let kind = mounts::type_of(root).map_err(|error| target_error("fstat", ".", error))?;
        // Counts are in units of `f_frsize`, which Linux file systems have equal to the block.
        let unit = stat.f_frsize;
        let geometry = Geometry {
            fs_type: kind.unwrap_or_else(|| "unknown".to_owned()),
            size_bytes: stat.f_blocks.saturating_mul(unit),
            data_bytes: Some(stat.f_bfree.saturating_mul(unit)),
            reserved_bytes: stat
                .f_bfree
                .saturating_sub(stat.f_bavail)
                .saturating_mul(unit),
            block_bytes: unit as u32,
            frag_bytes: unit as u32,
            inodes_total: stat.f_files,
            group_count: 0,
            group_bytes: 0,
            inodes_per_group: 0,
            first_ino: 0,
            inode_chunk_bytes: 0,
        };
        Ok(Layouts {
            geometry,
            free_runs: None,
            order: BTreeMap::new(),
            space: None,
            free: None,
            watched: None,
            fiemap: Fiemap::new(),
            has_extents: true,
        })
    }

    /// The only name of an inode is found elsewhere now.
    pub fn file_moved(&mut self, ino: u64, shard: usize, slot: u32) {
        self.order.insert(ino, Place::File(shard, slot));
    }

    /// An inode has several names now.
    pub fn file_shared(&mut self, ino: u64, link: u32) {
        self.order.insert(ino, Place::Shared(link));
    }

    /// An inode is new, gone, or other than it was.
    fn touch(&mut self, ino: u64) {
        if let Some(watched) = &mut self.watched {
            watched.touch(ino);
        }
    }

    /// Extents of an open file; `None` where the file system does not tell.
    fn extents(&mut self, file: impl AsFd) -> Result<Option<Arc<[Extent]>>, Errno> {
        let mut extents = Vec::new();
        match self.fiemap.extents(file, &mut extents) {
            Ok(()) => Ok(Some(extents.into())),
            Err(error) => match Errno::from_io_error(&error) {
                Some(Errno::OPNOTSUPP | Errno::NOTTY) => Ok(None),
                errno => Err(errno.unwrap_or(Errno::IO)),
            },
        }
    }

    fn file_extents(&mut self, file: impl AsFd) -> Result<Option<Arc<[Extent]>>, Errno> {
        if !self.has_extents {
            return Ok(None);
        }
        let extents = self.extents(file)?;
        self.has_extents = extents.is_some();
        Ok(extents)
    }
}

impl Directory {
    /// Looks at everything that has changed since this was done last.
    pub(super) fn read_layout(&mut self) -> Result<(), TargetError> {
        for shard in &mut self.shards {
            for ino in shard.gone.drain(..) {
                self.layouts.order.remove(&ino);
                self.layouts.touch(ino);
            }
        }
        for slot in self.dirs.take_changed() {
            let cached = self
                .look_at_dir(slot)
                .map_err(|failure| self.layout_error(failure, slot, b""))?;
            self.layouts.order.insert(cached.ino, Place::Dir(slot));
            self.layouts.touch(cached.ino);
            self.dirs.get_mut(slot).cached = Some(Box::new(cached));
        }
        for number in 0..self.shards.len() {
            for slot in std::mem::take(&mut self.shards[number].changed) {
                let Some(file) = self.shards[number].files.alive(slot) else {
                    continue;
                };
                // The slot may have another file by now, or one whose inode is shared.
                if !file.changed {
                    continue;
                }
                let cached = self.look_at(number, slot)?;
                let shard = &mut self.shards[number];
                let file = shard.files.get_mut(slot);
                file.changed = false;
                if cached.is_unplaced() {
                    shard.mark(slot);
                }
                let ino = cached.ino;
                shard.files.get_mut(slot).cached = Some(Box::new(cached));
                self.layouts.order.insert(ino, Place::File(number, slot));
                self.layouts.touch(ino);
            }
        }
        let shared = self.common().links().take_changed();
        for link in shared {
            let name = self.common().links().get(link).names.first().copied();
            let Some((number, slot)) = name.and_then(|name| self.locate(name)) else {
                continue;
            };
            let cached = self.look_at(number, slot)?;
            self.layouts.order.insert(cached.ino, Place::Shared(link));
            self.layouts.touch(cached.ino);
            let common = self.common();
            let mut links = common.links();
            let inode = links.get_mut(link);
            inode.changed = cached.is_unplaced();
            inode.cached = Some(Box::new(cached));
        }
        let root = self.volume.root();
        let stat = fstatvfs(root).map_err(|errno| target_error("fstatvfs", ".", errno))?;
        self.layouts.space = Some(space_of(&stat));
        let free_runs = self.layouts.free_runs.as_ref();
        self.layouts.free = free_runs.and_then(|free_runs| free_runs(root));
        self.touch_names_below_moved_directories();
        Ok(())
    }

    fn layout_error(&self, failure: Failure, dir: u32, name: &[u8]) -> TargetError {
        let above = self.dirs.path(dir);
        let above = fsage_core::names::escape(&above);
        let path = if name.is_empty() {
            above.into_owned()
        } else {
            join(&above, name)
        };
        match failure {
            Failure::Io(call, errno) => target_error(call, &path, errno),
            _ => target_error("read", &path, Errno::IO),
        }
    }

    fn look_at_dir(&mut self, slot: u32) -> Result<Cached, Failure> {
        let root = self.volume.root();
        let descriptors = &mut self.shards[0].descriptors;
        let fd = descriptors
            .get(&self.dirs, slot, root)
            .or_call("openat of the directory")?;
        let stat = fstat(fd).or_call("fstat")?;
        let extents = self.layouts.extents(fd).or_call("FIEMAP")?;
        Ok(Cached::new(&stat, extents))
    }

    fn look_at(&mut self, number: usize, slot: u32) -> Result<Cached, TargetError> {
        let common = Common {
            dirs: &self.dirs,
            links: &self.links,
            root: self.volume.root(),
            options: self.options,
            block_bytes: self.block_bytes,
        };
        let shard = &mut self.shards[number];
        let (_, _, symlink) = shard.inode(&common, slot);
        let mut look = || {
            if symlink {
                let file = shard.files.get(slot);
                let parent = shard.descriptors.get(&self.dirs, file.dir, common.root);
                let parent = parent.or_call("openat of the directory")?;
                let mut buffer = NameBuffer::new();
                let name = file.name(&mut buffer);
                let stat = statat(parent, name, AtFlags::SYMLINK_NOFOLLOW).or_call("fstatat")?;
                return Ok(Cached::new(&stat, None));
            }
            let fd = shard.open(&common, slot, OFlags::RDONLY)?;
            let stat = fstat(&fd).or_call("fstat")?;
            let extents = self.layouts.file_extents(&fd).or_call("FIEMAP")?;
            Ok(Cached::new(&stat, extents))
        };
        let looked = look();
        looked.map_err(|failure| {
            let file = self.shards[number].files.get(slot);
            self.layout_error(failure, file.dir, file.name(&mut NameBuffer::new()))
        })
    }

    /// Shows an inode, if it is still there, with what is known of it. `path_of` gives the escaped path of a directory.
    pub(super) fn show<'p>(
        &self,
        (ino, place): (u64, Place),
        path_of: &dyn Fn(u32) -> Cow<'p, str>,
        visit: &mut dyn FnMut(&FileView<'_>, &Cached),
    ) {
        let kind = |symlink| {
            if symlink {
                FileKind::Symlink
            } else {
                FileKind::Regular
            }
        };
        let mut show = |cached: &Cached, kind, links, parent_ino, path: &str| {
            let file = FileView {
                parent_ino,
                links,
                alloc_bytes: Some(cached.alloc_bytes),
                extents: cached.extents.as_deref(),
                path: Some(path),
                ..FileView::new(ino, kind, cached.size_bytes)
            };
            visit(&file, cached);
        };
        let is_this = |cached: &&Cached| cached.ino == ino;
        match place {
            Place::Dir(slot) => {
                let dir = self.dirs.get(slot);
                let Some(cached) = dir.cached.as_deref().filter(is_this) else {
                    return;
                };
                let (path, parent_ino) = match slot {
                    ROOT => (Cow::Borrowed("."), None),
                    _ => (path_of(slot), self.dir_ino(dir.parent)),
                };
                show(cached, FileKind::Directory, 1, parent_ino, &path);
            }
            Place::File(number, slot) => {
                let file = self.shards[number].files.alive(slot);
                let cached = file.and_then(|file| Some((file, file.cached.as_deref()?)));
                if let Some((file, cached)) = cached.filter(|(_, cached)| is_this(cached)) {
                    let path = file_path(file, &path_of(file.dir));
                    let parent_ino = self.dir_ino(file.dir);
                    show(cached, kind(file.symlink), 1, parent_ino, &path);
                }
            }
            Place::Shared(link) => {
                let common = self.common();
                let links = common.links();
                let found = links.find(link);
                let cached = found.and_then(|inode| Some((inode, inode.cached.as_deref()?)));
                let Some((inode, cached)) = cached.filter(|(_, cached)| is_this(cached)) else {
                    return;
                };
                let names = inode.names.iter().filter_map(|&name| {
                    let (number, slot) = self.locate(name)?;
                    let file = self.shards[number].files.get(slot);
                    Some((file_path(file, &path_of(file.dir)), file.dir))
                });
                let count = inode.names.len() as u32;
                if let Some((path, dir)) = names.min() {
                    show(cached, kind(inode.symlink), count, self.dir_ino(dir), &path);
                }
            }
        }
    }

    /// The first name of an inode may be another one when a directory above one of its names was moved.
    fn touch_names_below_moved_directories(&mut self) {
        if std::mem::take(&mut self.dirs.any_moved)
            && let Some(watched) = &mut self.layouts.watched
        {
            let order = &self.layouts.order;
            let shared = order
                .iter()
                .filter(|(_, place)| matches!(place, Place::Shared(_)));
            shared.for_each(|(&ino, _)| watched.touch(ino));
        }
    }

    fn dir_ino(&self, dir: u32) -> Option<u64> {
        self.dirs.get(dir).cached.as_ref().map(|cached| cached.ino)
    }
}

fn file_path(file: &File, above: &str) -> String {
    join(above, file.name(&mut NameBuffer::new()))
}

/// As of the end of the last day; a file that has gone since is left out. Directories count one link.
impl Layout for Directory {
    fn geometry(&self) -> Geometry {
        self.layouts.geometry.clone()
    }

    fn space(&self) -> Option<Space> {
        self.layouts.space.filter(|_| self.layouts.free.is_some())
    }

    fn visit_files(&self, visit: &mut dyn FnMut(&FileView<'_>)) {
        let paths = self.dirs.escaped_paths();
        let path_of = |slot: u32| Cow::Borrowed(&*paths[slot as usize]);
        for (&ino, &place) in &self.layouts.order {
            self.show((ino, place), &path_of, &mut |file, _| visit(file));
        }
    }

    fn watch(&mut self) -> bool {
        let watched = Watched::begin(self);
        self.layouts.watched = Some(watched);
        true
    }

    fn take_changes(&mut self, visit: &mut dyn FnMut(Change<'_>)) {
        if let Some(mut watched) = self.layouts.watched.take() {
            watched.take(self, visit);
            self.layouts.watched = Some(watched);
        }
    }

    fn visit_free(&self, visit: &mut dyn FnMut(Run)) {
        for run in self.layouts.free.iter().flatten() {
            visit(*run);
        }
    }

    fn visit_free_within(&self, range: Range<u64>, visit: &mut dyn FnMut(Run)) {
        let runs = self.layouts.free.as_deref().unwrap_or_default();
        let end_of = |run: &Run| run.start_bytes.saturating_add(run.length_bytes);
        let first = runs.partition_point(|run| end_of(run) <= range.start);
        for run in runs[first..]
            .iter()
            .take_while(|run| run.start_bytes < range.end)
        {
            let start_bytes = run.start_bytes.max(range.start);
            visit(Run {
                start_bytes,
                length_bytes: end_of(run).min(range.end) - start_bytes,
            });
        }
    }
}
