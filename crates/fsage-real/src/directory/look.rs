//! The file system is asked where files lie: for those that have changed, each thread for those of some shards.

use super::cache::{Cached, Place, space_of, target_error};
use super::dirs::join;
use super::error::{Failure, OrCall, TargetError};
use super::naming::NameBuffer;
use super::parallel::on_threads;
use super::replay::Directory;
use super::shard::{Common, Shard};
use fsage_core::Extent;
use fsage_linux::fiemap::Fiemap;
use rustix::fs::{AtFlags, OFlags, fstat, fstatvfs, statat};
use rustix::io::Errno;
use std::os::fd::AsFd;
use std::sync::Arc;

/// Asks for extents.
#[derive(Debug)]
pub(super) struct Asker {
    fiemap: Fiemap,
    /// Those of a file, before it is known how many they are.
    extents: Vec<Extent>,
    /// The file system knows FIEMAP.
    has_extents: bool,
}

impl Asker {
    pub fn new() -> Asker {
        Asker {
            fiemap: Fiemap::new(),
            extents: Vec::new(),
            has_extents: true,
        }
    }

    /// Extents of what is open; `None` where the file system does not say.
    fn extents(&mut self, file: impl AsFd) -> Result<Option<Arc<[Extent]>>, Errno> {
        match self.fiemap.extents(file, &mut self.extents) {
            Ok(()) => Ok(Some(self.extents.as_slice().into())),
            Err(error) => match Errno::from_io_error(&error) {
                Some(Errno::OPNOTSUPP | Errno::NOTTY) => Ok(None),
                errno => Err(errno.unwrap_or(Errno::IO)),
            },
        }
    }

    /// The same of a regular file. It is asked no more where there was no answer: of directories there may be none,
    /// and of files yet.
    fn file_extents(&mut self, file: impl AsFd) -> Result<Option<Arc<[Extent]>>, Errno> {
        if !self.has_extents {
            return Ok(None);
        }
        let extents = self.extents(file)?;
        self.has_extents = extents.is_some();
        Ok(extents)
    }
}

impl Shard {
    /// Looks at the files that have changed, and gives their inode numbers and slots; or the slot of one that could not
    /// be looked at.
    fn look_at_changed(&mut self, common: &Common<'_>) -> Result<Vec<(u64, u32)>, (u32, Failure)> {
        let mut seen = Vec::with_capacity(self.changed.len());
        for slot in std::mem::take(&mut self.changed) {
            let file = self.files.alive(slot);
            // The slot may have another file by now, or one whose inode is shared.
            if file.is_none_or(|file| !file.changed) {
                continue;
            }
            let looked = self.look_at(common, slot);
            let cached = looked.map_err(|failure| (slot, failure))?;
            let is_unplaced = cached.is_unplaced();
            seen.push((cached.ino, slot));
            let file = self.files.get_mut(slot);
            file.changed = false;
            file.cached = Some(Box::new(cached));
            if is_unplaced {
                self.mark(slot);
            }
        }
        Ok(seen)
    }

    fn look_at(&mut self, common: &Common<'_>, slot: u32) -> Result<Cached, Failure> {
        let (_, _, symlink) = self.inode(common, slot);
        if symlink {
            let file = self.files.get(slot);
            let parent = self.descriptors.get(common.dirs, file.dir, common.root);
            let parent = parent.or_call("openat of the directory")?;
            let mut buffer = NameBuffer::new();
            let name = file.name(&mut buffer);
            let stat = statat(parent, name, AtFlags::SYMLINK_NOFOLLOW).or_call("fstatat")?;
            return Ok(Cached::new(&stat, None));
        }
        let fd = self.open(common, slot, OFlags::RDONLY)?;
        let stat = fstat(&fd).or_call("fstat")?;
        let extents = self.asker.file_extents(&fd).or_call("FIEMAP")?;
        Ok(Cached::new(&stat, extents))
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
        self.look_at_directories()?;
        self.look_at_files()?;
        self.look_at_shared_inodes()?;
        let root = self.volume.root();
        let stat = fstatvfs(root).map_err(|errno| target_error("fstatvfs", ".", errno))?;
        self.layouts.space = Some(space_of(&stat));
        let free_runs = self.layouts.free_runs.as_ref();
        self.layouts.free = free_runs.and_then(|free_runs| free_runs(root));
        self.touch_names_below_moved_directories();
        Ok(())
    }

    fn look_at_directories(&mut self) -> Result<(), TargetError> {
        for slot in self.dirs.take_changed() {
            let cached = self.look_at_directory(slot);
            let cached = cached.map_err(|failure| self.layout_error(failure, slot, b""))?;
            self.layouts.order.insert(cached.ino, Place::Dir(slot));
            self.layouts.touch(cached.ino);
            self.dirs.get_mut(slot).cached = Some(Box::new(cached));
        }
        Ok(())
    }

    fn look_at_directory(&mut self, slot: u32) -> Result<Cached, Failure> {
        let root = self.volume.root();
        let shard = &mut self.shards[0];
        let fd = shard
            .descriptors
            .get(&self.dirs, slot, root)
            .or_call("openat of the directory")?;
        let stat = fstat(fd).or_call("fstat")?;
        let extents = shard.asker.extents(fd).or_call("FIEMAP")?;
        Ok(Cached::new(&stat, extents))
    }

    fn look_at_files(&mut self) -> Result<(), TargetError> {
        let common = Common {
            dirs: &self.dirs,
            links: &self.links,
            root: self.volume.root(),
            options: self.options,
            block_bytes: self.block_bytes,
        };
        let shards = self.shards.iter_mut();
        let changed = shards.filter(|shard| !shard.changed.is_empty()).collect();
        let look = |shard: &mut Shard| (shard.number, shard.look_at_changed(&common));
        let load = |shard: &&mut Shard| shard.changed.len();
        for (number, seen) in on_threads(self.options.threads, changed, load, look) {
            let seen = seen.map_err(|(slot, failure)| self.file_error(failure, number, slot))?;
            for (ino, slot) in seen {
                self.layouts.order.insert(ino, Place::File(number, slot));
                self.layouts.touch(ino);
            }
        }
        Ok(())
    }

    fn look_at_shared_inodes(&mut self) -> Result<(), TargetError> {
        let shared = self.common().links().take_changed();
        for link in shared {
            let name = self.common().links().get(link).names.first().copied();
            let Some((number, slot)) = name.and_then(|name| self.locate(name)) else {
                continue;
            };
            let common = Common {
                dirs: &self.dirs,
                links: &self.links,
                root: self.volume.root(),
                options: self.options,
                block_bytes: self.block_bytes,
            };
            let looked = self.shards[number].look_at(&common, slot);
            let cached = looked.map_err(|failure| self.file_error(failure, number, slot))?;
            self.layouts.order.insert(cached.ino, Place::Shared(link));
            self.layouts.touch(cached.ino);
            let common = self.common();
            let mut links = common.links();
            let inode = links.get_mut(link);
            inode.changed = cached.is_unplaced();
            inode.cached = Some(Box::new(cached));
        }
        Ok(())
    }

    fn file_error(&self, failure: Failure, number: usize, slot: u32) -> TargetError {
        let file = self.shards[number].files.get(slot);
        self.layout_error(failure, file.dir, file.name(&mut NameBuffer::new()))
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
}
