//! Where files lie, kept from day to day: the file system is asked only for what has changed.
//!
//! Whoever keeps metrics is told what was found to have changed, see [`Watched`].
//!
//! An extent that was not placed yet is asked for again. What a file system does behind its files' backs, as XFS does
//! when it takes back what it had allocated behind the end of a file, is seen when the file changes next.

use super::dirs::join;
use super::error::TargetError;
use super::mounts;
use super::naming::NameBuffer;
use super::replay::{Directory, FreeRuns};
use super::watched::Watched;
use fsage_core::names::escape;
use fsage_core::operations::ROOT;
use fsage_core::{Change, Extent, FileKind, FileView, Geometry, Layout, Run, Space};
use rustix::fs::{Stat, StatVfs, fstatvfs};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::os::fd::BorrowedFd;
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
    pub fn new(stat: &Stat, extents: Option<Arc<[Extent]>>) -> Cached {
        Cached {
            ino: stat.st_ino,
            size_bytes: stat.st_size as u64,
            alloc_bytes: stat.st_blocks as u64 * 512,
            extents,
        }
    }

    /// Whether some of it has no place on disk yet.
    pub fn is_unplaced(&self) -> bool {
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

/// What inodes are called.
#[derive(Clone, Copy)]
pub(super) enum Called<'a> {
    /// Their whole path; here are those of directories by slot, escaped.
    ByPath(&'a [String]),
    /// The name alone, which costs less.
    ByName,
}

impl Called<'_> {
    /// An entry of a directory.
    fn entry(self, dir: u32, name: &[u8]) -> Cow<'_, str> {
        match self {
            Called::ByPath(paths) => Cow::Owned(join(&paths[dir as usize], name)),
            Called::ByName => escape(name),
        }
    }
}

/// What the file system as a whole says, and the order in which files are shown.
pub(super) struct Layouts {
    pub geometry: Geometry,
    pub free_runs: Option<FreeRuns>,
    /// Inodes by number.
    pub order: BTreeMap<u64, Place>,
    pub space: Option<Space>,
    pub free: Option<Vec<Run>>,
    /// What has changed, if somebody watches.
    pub watched: Option<Watched>,
}

impl std::fmt::Debug for Layouts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Layouts")
            .field("geometry", &self.geometry)
            .field("inodes", &self.order.len())
            .finish_non_exhaustive()
    }
}

pub(super) fn target_error(
    call: &'static str,
    path: &str,
    source: impl Into<std::io::Error>,
) -> TargetError {
    TargetError::Io {
        call,
        path: path.to_owned(),
        source: source.into(),
    }
}

pub(super) fn space_of(stat: &StatVfs) -> Space {
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
    pub fn touch(&mut self, ino: u64) {
        if let Some(watched) = &mut self.watched {
            watched.touch(ino);
        }
    }
}

impl Directory {
    /// Shows an inode, if it is still there, with what is known of it.
    pub(super) fn show(
        &self,
        (ino, place): (u64, Place),
        called: Called<'_>,
        visit: &mut dyn FnMut(&FileView<'_>, &Cached),
    ) {
        let mut buffer = NameBuffer::new();
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
                let kind = FileKind::Directory;
                if slot == ROOT {
                    return show(cached, kind, 1, None, ".");
                }
                let path = called.entry(dir.parent, self.dirs.name(slot, &mut buffer));
                show(cached, kind, 1, self.dir_ino(dir.parent), &path);
            }
            Place::File(number, slot) => {
                let file = self.shards[number].files.alive(slot);
                let cached = file.and_then(|file| Some((file, file.cached.as_deref()?)));
                if let Some((file, cached)) = cached.filter(|(_, cached)| is_this(cached)) {
                    let path = called.entry(file.dir, file.name(&mut buffer));
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
                    let above = match called {
                        Called::ByPath(paths) => Cow::Borrowed(&*paths[file.dir as usize]),
                        // Which is the first of them is decided by the whole path.
                        Called::ByName => Cow::Owned(escape(&self.dirs.path(file.dir)).into()),
                    };
                    let path = join(&above, file.name(&mut NameBuffer::new()));
                    Some((path, file.dir))
                });
                let count = inode.names.len() as u32;
                if let Some((path, dir)) = names.min() {
                    show(cached, kind(inode.symlink), count, self.dir_ino(dir), &path);
                }
            }
        }
    }

    /// The first name of an inode may be another one when a directory above one of its names was moved.
    pub(super) fn touch_names_below_moved_directories(&mut self) {
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
        for (&ino, &place) in &self.layouts.order {
            let called = Called::ByPath(&paths);
            self.show((ino, place), called, &mut |file, _| visit(file));
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
