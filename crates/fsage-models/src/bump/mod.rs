//! A file system that takes the next block, and never one again: the worked example of CONTRIBUTING.md.

mod seen;

use crate::ParamError;
use crate::changes::{self, Changes};
use crate::names::{Entry as Place, File, Names};
use crate::options::Setting;
use crate::registry::{AnyModel, Entry, MakeError, Options};
use fsage_core::io::Emitted;
use fsage_core::io::{AnyHosted, Buffer, BufferId, Flush, Hosted, Io};
use fsage_core::keys::Key;
use fsage_core::operations::{self, DirIds, Model, Namespace, ROOT, Shortfall};
use fsage_core::{DirId, FileId, FileKind, FileSystem, Inconsistency, Op, Outcome, StateError};
use std::collections::BTreeMap;
use thiserror::Error;

const BLOCK: u64 = 4096;
/// A file has at most so many blocks.
const MOST_BLOCKS: u64 = 1 << 32;

/// Its line in the list of models.
pub static ENTRY: Entry = Entry {
    examples: &["size=1G"],
    small: &["size=1M"],
    ..Entry::new(
        "bump",
        "takes the next block, and never one again, simulated",
        KEYS,
        |options| Ok(Box::new(Bump::new(blocks(options)?))),
        |options| blocks(options).map(drop),
    )
};

const KEYS: &[Key] = &[Key::bytes(
    "size",
    "64M",
    "of the partition, in blocks of 4K",
)];

#[derive(Debug, Error)]
#[error("size={0}: expected a multiple of 4K, at least 8K")]
struct BadSize(u64);

fn blocks(options: &Options<'_>) -> Result<u64, MakeError> {
    let mut bytes = 64 << 20;
    for &(key, value) in options {
        match key {
            "size" => bytes = Setting { key, value }.number()?,
            _ => return Err(ParamError::unknown_key(key, KEYS).into()),
        }
    }
    match bytes {
        8192.. if bytes.is_multiple_of(BLOCK) => Ok(bytes / BLOCK),
        _ => Err(MakeError::sizes(BadSize(bytes))),
    }
}

/// What a name leads to: a place among the inodes, so that it can be copied.
#[derive(Clone, Debug)]
struct Inode {
    kind: FileKind,
    bytes: u64,
    /// Blocks by their place in the file; what is missing is a hole.
    blocks: BTreeMap<u64, u64>,
}

#[derive(Clone, Debug)]
struct Dir {
    parent: u32,
    entries: u32,
    alive: bool,
}

/// The simulated file system. Block 0 is its superblock; inodes and directories take no blocks. An inode is never
/// used again either: its number is its place among `inodes`, that of a directory `DIRS` and its slot.
#[derive(Clone, Debug)]
pub struct Bump {
    blocks: u64,
    next: u64,
    inodes: Vec<Option<Inode>>,
    names: Names<usize>,
    dirs: Vec<Dir>,
    dir_ids: DirIds,
    shortfall: Shortfall,
    emitted: Emitted,
    changes: Changes,
    /// The next block when metrics last looked.
    seen_next: u64,
}

/// Inodes of directories are numbered from here on.
const DIRS: u64 = 1 << 40;

impl Bump {
    fn new(blocks: u64) -> Bump {
        let root = Dir {
            parent: ROOT,
            entries: 0,
            alive: true,
        };
        Bump {
            blocks,
            next: 1,
            inodes: vec![None],
            names: Names::default(),
            dirs: vec![root],
            dir_ids: DirIds::default(),
            shortfall: Shortfall::default(),
            emitted: Emitted::default(),
            changes: Changes::default(),
            seen_next: 1,
        }
    }

    fn ino(&self, file: u32) -> usize {
        self.names.file(file).inode
    }

    fn of(&self, file: u32) -> &Inode {
        self.inodes[self.ino(file)]
            .as_ref()
            .expect("a name leads to an inode that is there")
    }

    fn of_mut(&mut self, file: u32) -> &mut Inode {
        let ino = self.ino(file);
        self.inodes[ino]
            .as_mut()
            .expect("a name leads to an inode that is there")
    }

    fn make(&mut self, id: FileId, dir: u32, kind: FileKind) -> u32 {
        self.inodes.push(Some(Inode {
            kind,
            bytes: 0,
            blocks: BTreeMap::new(),
        }));
        self.dirs[dir as usize].entries += 1;
        let slot = self.names.insert(File {
            id: id.0,
            inode: self.inodes.len() - 1,
            dir,
            entry: Place::new(0, kind == FileKind::Symlink),
        });
        self.changes.new_file(slot);
        slot
    }

    fn buffer(ino: usize, lbn: u64, block: u64) -> Buffer {
        Buffer {
            id: BufferId::Data {
                ino: ino as u64,
                lbn: lbn as u32,
            },
            start_bytes: block * BLOCK,
            bytes: BLOCK as u32,
        }
    }
}

impl AnyModel for Bump {
    fn into_hosted(self: Box<Self>) -> Option<Box<dyn AnyHosted>> {
        Some(self)
    }

    fn as_hosted(&mut self) -> Option<&mut dyn Hosted> {
        Some(self)
    }
}

impl Namespace for Bump {
    type File = u32;

    fn find_file(&self, id: FileId) -> Option<u32> {
        self.names.find(id)
    }

    fn size_bytes(&self, file: u32) -> u64 {
        self.of(file).bytes
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
        self.dirs[dir as usize].entries == 0
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

impl Model for Bump {
    fn dir_ids_mut(&mut self) -> &mut DirIds {
        &mut self.dir_ids
    }

    fn shortfall_mut(&mut self) -> &mut Shortfall {
        &mut self.shortfall
    }

    fn touch_file(&mut self, file: u32) {
        changes::touch_file(self, file);
    }

    fn touch_directory(&mut self, dir: u32) {
        changes::touch_directory(self, dir);
    }

    fn create(&mut self, id: FileId, dir: u32, bytes: u64) -> Outcome {
        let file = self.make(id, dir, FileKind::Regular);
        self.write_at(file, 0, bytes)
    }

    fn symlink(&mut self, id: FileId, dir: u32, bytes: u64) -> Outcome {
        let file = self.make(id, dir, FileKind::Symlink);
        if bytes >= BLOCK {
            Outcome::TooLarge
        } else {
            self.write_at(file, 0, bytes)
        }
    }

    fn write_at(&mut self, file: u32, offset: u64, bytes: u64) -> Outcome {
        let end = match offset.checked_add(bytes) {
            Some(end) if end <= MOST_BLOCKS * BLOCK => end,
            _ => return Outcome::TooLarge,
        };
        let ino = self.ino(file);
        for lbn in offset / BLOCK..end.div_ceil(BLOCK) {
            let inode = self.inodes[ino]
                .as_mut()
                .expect("the inode of a file that is there");
            if let (true, None) = (self.next == self.blocks, inode.blocks.get(&lbn)) {
                return Outcome::NoSpace;
            }
            let block = *inode.blocks.entry(lbn).or_insert_with(|| {
                self.next += 1;
                self.next - 1
            });
            inode.bytes = inode.bytes.max(end.min((lbn + 1) * BLOCK));
            self.emitted
                .emit(Io::Fill(Bump::buffer(ino, lbn, block), Flush::Delayed));
        }
        Outcome::Done
    }

    fn set_length(&mut self, file: u32, bytes: u64) -> Outcome {
        if bytes > MOST_BLOCKS * BLOCK {
            return Outcome::TooLarge;
        }
        let first_gone = bytes.div_ceil(BLOCK);
        let inode = self.of_mut(file);
        inode.blocks.split_off(&first_gone);
        inode.bytes = bytes;
        let ino = self.ino(file) as u64;
        self.emitted.emit(Io::Discard {
            ino,
            from: first_gone as u32,
        });
        Outcome::Done
    }

    fn delete(&mut self, id: FileId, file: u32) {
        let dir = self.place_of(id, file);
        self.dirs[dir as usize].entries -= 1;
        let ino = self.ino(file);
        if self.names.unlink(id, file).is_some() {
            self.inodes[ino] = None;
            self.emitted.emit(Io::Discard {
                ino: ino as u64,
                from: 0,
            });
        }
    }

    fn rename(
        &mut self,
        id: FileId,
        file: u32,
        to: u32,
        replaced: Option<(FileId, u32)>,
    ) -> Outcome {
        if let Some((other, gone)) = replaced {
            self.delete(other, gone);
        }
        let from = self.place_of(id, file);
        self.dirs[from as usize].entries -= 1;
        self.dirs[to as usize].entries += 1;
        self.names.set_place(id, file, to, 0);
        Outcome::Done
    }

    fn link(&mut self, id: FileId, _existing: FileId, file: u32, dir: u32) -> Outcome {
        self.dirs[dir as usize].entries += 1;
        self.names.link(id, file, dir, 0);
        Outcome::Done
    }

    fn make_directory(&mut self, _id: DirId, parent: u32) -> Result<u32, Outcome> {
        self.dirs[parent as usize].entries += 1;
        self.dirs.push(Dir {
            parent,
            entries: 0,
            alive: true,
        });
        let slot = self.dirs.len() as u32 - 1;
        self.changes.new_directory(slot);
        Ok(slot)
    }

    fn remove_directory(&mut self, dir: u32) {
        let parent = self.parent_of(dir);
        self.dirs[parent as usize].entries -= 1;
        self.dirs[dir as usize].alive = false;
    }

    fn move_directory(&mut self, dir: u32, to: u32) -> Outcome {
        let from = self.parent_of(dir);
        self.dirs[from as usize].entries -= 1;
        self.dirs[to as usize].entries += 1;
        self.dirs[dir as usize].parent = to;
        Outcome::Done
    }
}

impl FileSystem for Bump {
    fn apply(&mut self, op: &Op) -> Result<Outcome, StateError> {
        operations::apply(self, op)
    }

    fn file_size(&self, file: FileId) -> Option<u64> {
        Some(self.of(self.names.find(file)?).bytes)
    }

    fn inode(&self, file: FileId) -> Option<u64> {
        Some(self.ino(self.names.find(file)?) as u64)
    }

    fn directory_inode(&self, dir: DirId) -> Option<u64> {
        Some(DIRS + u64::from(self.dir_ids.get(dir)?))
    }

    /// No block is handed out that lies behind the next one, or twice.
    fn check(&self) -> Result<(), Inconsistency> {
        let all = self.inodes.iter().flatten();
        let mut used: Vec<u64> = all
            .flat_map(|inode| inode.blocks.values().copied())
            .collect();
        used.sort_unstable();
        let twice = used.windows(2).filter(|pair| pair[0] == pair[1]);
        let twice = twice.map(|pair| format!("block {} is used twice", pair[0]));
        let beyond = used
            .iter()
            .filter(|&&block| block == 0 || block >= self.next);
        let beyond = beyond.map(|block| format!("block {block} was never handed out"));
        let findings: Vec<String> = twice.chain(beyond).collect();
        match findings.len() as u64 {
            0 => Ok(()),
            count => Err(Inconsistency { count, findings }),
        }
    }
}
