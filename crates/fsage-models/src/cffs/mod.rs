//! C-FFS of Ganger and Kaashoek, "Embedded Inodes and Explicit Grouping" (1997): inodes lie beside the names of their
//! files, small files of a directory lie together and are read and written together. Each technique is a switch; with
//! both off the same code is the paper's conventional baseline.
//!
//! Source: the paper, and where it is silent the release of 1998 for the exokernel system, which `inode_id=physical`
//! and `start=random` follow; `docs/cffs.md` lists what is chosen here. Rule by rule: `docs/spec/cffs.md`.
//!
//! **Not modeled**: names that take more than 32 bytes (names stand for ids, as `f1` and `d1` for the ids 1); quotas;
//! times of access; crash states; writers that take turns within one call.
//!
//! **Beyond the original**: `fallocate` writes what is missing; `punch` is ignored.
//!
//! | where | what |
//! |---|---|
//! | [`geometry`] | sizes, and where fixed metadata lie |
//! | `free_map`, `inode_area` | free blocks; inodes in blocks of their own |
//! | `inode` | where inodes lie, and their numbers |
//! | `entries` | names and inodes in the sectors of a directory |
//! | `directory` | blocks and numbers of directories, places for names and inodes |
//! | `grouping` | groups, their members, and stealing |
//! | `hints` | groups of files that programs name together |
//! | `inode_table` | numbers of inodes that never change |
//! | `data` | pointers, writing, truncating |
//! | `names` | unlink, rename, links, externalized inodes |
//! | `open` | files that are open when their last name goes |
//! | `own_file` | where the directory map and the external inode file lie |
//! | `layout` | what metrics see |
//! | `io` | what a host sees |
//! | `check` | the file system check |
//! | [`image`] | the bytes on disk, the way back, and the recovery check |

mod check;
mod data;
mod directory;
mod entries;
mod entry;
mod free_map;
pub mod geometry;
mod grouping;
mod hints;
pub mod image;
mod inode;
mod inode_area;
mod inode_table;
mod io;
mod layout;
mod names;
mod open;
mod own_file;
pub mod params;

pub use entry::ENTRY;
pub use geometry::{Geometry, SizeError};
pub use open::OpenFile;
pub use params::{DirSteal, InodeId, Params, Randomize, Start};

use crate::FAST_SYMLINK;
use crate::block_list::RunPool;
use crate::changes::{self, Changes};
use crate::names::Names;
use crate::pointers::Indirect;
use crate::searched;
use directory::Dir;
use free_map::FreeMap;
use fsage_core::io::Emitted;
use fsage_core::io::Flush;
use fsage_core::operations::{self, DirIds, Model, Namespace, Shortfall};
use fsage_core::{DirId, FileId, FileSystem, Inconsistency, Op, Outcome, Rng, StateError};
use grouping::Group;
use hints::Hints;
use inode::{Inode, Kind, Numbers};
use inode_area::InodeArea;
use open::OpenFiles;
use own_file::OwnFile;
use rustc_hash::FxHashMap;

/// No block, inode or number is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NoSpace;

/// A simulated C-FFS.
#[derive(Clone, Debug)]
pub struct Cffs {
    params: Params,
    geometry: Geometry,
    map: FreeMap,
    inodes: InodeArea,
    names: Names<Inode>,
    pool: RunPool,
    /// Blocks of pointers, by the file's number in memory.
    indirect: FxHashMap<u32, Indirect>,
    dirs: Vec<Dir>,
    free_dirs: Vec<u32>,
    dir_ids: DirIds,
    shortfall: Shortfall,
    /// By owner and start: the slot of a directory, or a number of files that a program named together.
    groups: FxHashMap<(u32, u32), Group>,
    hints: Hints,
    /// Numbers of files and directories in memory.
    vnodes: Numbers,
    /// Directory numbers.
    dir_numbers: Numbers,
    /// Where the directory map lies.
    directory_map: OwnFile,
    /// Places in the external inode file.
    externals: Numbers,
    /// The external inode file.
    external_file: OwnFile,
    /// Where the table of inode numbers lies.
    inode_table: OwnFile,
    opened: OpenFiles,
    random: Rng,
    emitted: Emitted,
    changes: Changes,
}

impl Cffs {
    /// Makes an empty file system.
    ///
    /// # Errors
    /// Sizes that do not work.
    pub fn new(params: Params) -> Result<Cffs, SizeError> {
        let geometry = Geometry::new(&params)?;
        let mut fs = Cffs::without_root(params, geometry);
        let made = fs.make_first();
        made.expect("the smallest file system has room for a root");
        Ok(fs)
    }

    /// A file system in which nothing is in use but fixed metadata.
    fn without_root(params: Params, geometry: Geometry) -> Cffs {
        Cffs {
            map: FreeMap::new(&geometry),
            inodes: InodeArea::new(&geometry),
            names: Names::default(),
            pool: RunPool::default(),
            indirect: FxHashMap::default(),
            dirs: Vec::new(),
            free_dirs: Vec::new(),
            dir_ids: DirIds::default(),
            shortfall: Shortfall::default(),
            groups: FxHashMap::default(),
            hints: Hints::default(),
            vnodes: Numbers::default(),
            dir_numbers: Numbers::from(directory::FIRST_NUMBER),
            directory_map: OwnFile::default(),
            externals: Numbers::from(directory::FIRST_EXTERNAL),
            external_file: OwnFile::default(),
            inode_table: OwnFile::default(),
            opened: OpenFiles::default(),
            random: Rng::new(params.seed).stream("first blocks", 0),
            emitted: Emitted::default(),
            changes: Changes::default(),
            geometry,
            params,
        }
    }

    /// The parameters it was made with.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Its sizes.
    pub fn sizes(&self) -> &Geometry {
        &self.geometry
    }

    /// Free blocks.
    pub fn free_blocks(&self) -> u64 {
        self.map.free_blocks
    }

    /// Runs one operation on the data of a file.
    #[inline]
    fn change(
        &mut self,
        slot: u32,
        operation: impl FnOnce(&mut Cffs, &mut Inode) -> Result<(), NoSpace>,
    ) -> Outcome {
        let mut inode = self.names.file(slot).inode;
        let result = operation(self, &mut inode);
        self.names.file_mut(slot).inode = inode;
        result.map_or_else(Outcome::from, |()| Outcome::Done)
    }
}

impl Namespace for Cffs {
    type File = u32;

    #[inline]
    fn find_file(&self, id: FileId) -> Option<u32> {
        self.names.find(id)
    }

    fn size_bytes(&self, file: u32) -> u64 {
        self.names.file(file).inode.size
    }

    fn links(&self, file: u32) -> u32 {
        self.names.links(file)
    }

    fn place_of(&self, id: FileId, file: u32) -> u32 {
        self.names.place(id, file).0
    }

    fn parent_of(&self, dir: u32) -> u32 {
        self.dirs[dir as usize].parent
    }

    fn is_removable(&self, dir: u32) -> bool {
        self.dirs[dir as usize].entries.count == 0
    }

    #[inline]
    fn dir_ids(&self) -> &DirIds {
        &self.dir_ids
    }

    #[inline]
    fn shortfalls(&self) -> impl Iterator<Item = &Shortfall> {
        std::iter::once(&self.shortfall)
    }
}

impl Model for Cffs {
    fn dir_ids_mut(&mut self) -> &mut DirIds {
        &mut self.dir_ids
    }

    fn shortfall_mut(&mut self) -> &mut Shortfall {
        &mut self.shortfall
    }

    #[inline]
    fn before(&mut self, op: &Op) {
        if self.emitted.is_on() {
            searched::emit_names(self, op);
        }
    }

    #[inline]
    fn touch_file(&mut self, file: u32) {
        changes::touch_file(self, file);
    }

    fn touch_directory(&mut self, dir: u32) {
        self.touch_below(dir);
        changes::touch_directory(self, dir);
    }

    fn create(&mut self, id: FileId, dir: u32, bytes: u64) -> Outcome {
        match self.make_file(id.0, dir, Kind::File) {
            Ok(slot) => self.write_at(slot, 0, bytes),
            Err(outcome) => outcome,
        }
    }

    /// A target that does not lie in the inode has a block of its own, in which it ends with a zero byte.
    fn symlink(&mut self, id: FileId, dir: u32, bytes: u64) -> Outcome {
        let slot = match self.make_file(id.0, dir, Kind::Symlink) {
            Ok(slot) => slot,
            Err(outcome) => return outcome,
        };
        if bytes < FAST_SYMLINK {
            self.names.file_mut(slot).inode.size = bytes;
            return Outcome::Done;
        }
        if bytes >= geometry::BLOCK {
            return Outcome::TooLarge;
        }
        self.write_at(slot, 0, bytes)
    }

    fn write_at(&mut self, file: u32, offset: u64, bytes: u64) -> Outcome {
        if !Self::fits(offset, bytes) {
            return Outcome::TooLarge;
        }
        self.change(file, |fs, inode| fs.write(inode, offset, bytes))
    }

    fn set_length(&mut self, file: u32, bytes: u64) -> Outcome {
        if !Self::fits(0, bytes) {
            return Outcome::TooLarge;
        }
        self.change(file, |fs, inode| {
            fs.truncate(inode, bytes);
            Ok(())
        })
    }

    fn delete(&mut self, id: FileId, file: u32) {
        self.remove_name(id, file);
    }

    fn rename(
        &mut self,
        id: FileId,
        file: u32,
        to: u32,
        replaced: Option<(FileId, u32)>,
    ) -> Outcome {
        let moved = self.move_name(id, file, to, replaced);
        moved.map_or_else(Outcome::from, |()| Outcome::Done)
    }

    fn link(&mut self, id: FileId, _existing: FileId, file: u32, dir: u32) -> Outcome {
        let linked = self.add_name(id, file, dir);
        linked.map_or_else(Outcome::from, |()| Outcome::Done)
    }

    fn fsync(&mut self, file: u32) {
        let home = self.names.file(file).inode.home;
        self.emit_home(home, Flush::Sync);
    }

    fn make_directory(&mut self, id: DirId, parent: u32) -> Result<u32, Outcome> {
        self.new_directory(id.0, parent)
    }

    fn remove_directory(&mut self, dir: u32) {
        self.drop_directory(dir);
    }

    fn move_directory(&mut self, dir: u32, to: u32) -> Outcome {
        let moved = self.move_directory_name(dir, to);
        moved.map_or_else(Outcome::from, |()| Outcome::Done)
    }

    fn sync(&mut self) {
        self.settle_all();
    }
}

impl FileSystem for Cffs {
    #[inline]
    fn apply(&mut self, op: &Op) -> Result<Outcome, StateError> {
        operations::apply(self, op)
    }

    fn file_size(&self, file: FileId) -> Option<u64> {
        let slot = self.names.find(file)?;
        Some(self.names.file(slot).inode.size)
    }

    fn inode(&self, file: FileId) -> Option<u64> {
        let slot = self.names.find(file)?;
        Some(self.inode_number(&self.names.file(slot).inode))
    }

    fn directory_inode(&self, dir: DirId) -> Option<u64> {
        let slot = self.dir_ids.get(dir)?;
        Some(self.inode_number(&self.dirs[slot as usize].inode))
    }

    fn check(&self) -> Result<(), Inconsistency> {
        check::check(self)
    }
}
