//! What a simulated file system asks of its host: buffers that are needed, changed, moved and written.
//!
//! A model places blocks and owns no cache, no clock and no disk. When it is asked to emit, it lists what each
//! operation does to which buffer, in the order in which the original does it; a host executes the list over a buffer
//! cache and a device. While a model is aged it emits nothing, and the lists cost nothing.

use crate::event::{DirId, FileId};
use crate::file_system::FileSystem;

/// What a buffer holds: its identity in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BufferId {
    /// A block of a file or directory.
    Data {
        /// Inode number.
        ino: u64,
        /// Logical block.
        lbn: u32,
    },
    /// A block of pointers of a file (an indirect block), numbered as its model likes.
    Pointers {
        /// Inode number.
        ino: u64,
        /// Number among the file's blocks of pointers.
        index: u32,
    },
    /// A block of the file system itself (inodes, maps, superblock), known by its address.
    Device {
        /// First byte on the device, from the start of the file system.
        start_bytes: u64,
    },
}

impl BufferId {
    /// The file it belongs to, if it belongs to one.
    pub fn ino(self) -> Option<u64> {
        match self {
            BufferId::Data { ino, .. } | BufferId::Pointers { ino, .. } => Some(ino),
            BufferId::Device { .. } => None,
        }
    }
}

/// A buffer and where it lies. Fragments make buffers smaller than a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Buffer {
    /// What it holds.
    pub id: BufferId,
    /// First byte on the device, from the start of the file system.
    pub start_bytes: u64,
    /// Length in bytes, a multiple of 512.
    pub bytes: u32,
}

impl Buffer {
    /// The byte behind its last one.
    pub fn end_bytes(&self) -> u64 {
        self.start_bytes + u64::from(self.bytes)
    }
}

/// When a changed buffer goes to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flush {
    /// Now, and the process waits for it.
    Sync,
    /// Now, and the process goes on.
    Async,
    /// Some time later, when the host thinks fit.
    Delayed,
    /// Only when the file system says where ([`Io::Assign`]): a log-structured one.
    Held,
}

/// Work of the processor that has a price of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Work {
    /// A file or directory is made.
    Create,
    /// A file or directory is removed.
    Delete,
}

/// One thing that an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Io {
    /// A buffer must be in the cache: what is not is read, and the process waits.
    Need(Buffer),
    /// The same; what is not in the cache is read with the blocks of its group, start and length in bytes, as far as
    /// they are not in the cache either.
    NeedGroup(Buffer, (u64, u64)),
    /// A part of a buffer changes: as [`Io::Need`], then it is dirty.
    Modify(Buffer, Flush),
    /// A buffer gets new contents as a whole, and is dirty; nothing is read.
    Fill(Buffer, Flush),
    /// A buffer that is in the cache now lies elsewhere, or has grown or shrunk, and is dirty, to be written later.
    /// One that is not in the cache is none of the host's business.
    Place(Buffer),
    /// The dirty buffers among the blocks `first..=last` of a file go out without waiting, neighbors on the device in
    /// one request.
    Push {
        /// Inode number.
        ino: u64,
        /// First logical block.
        first: u32,
        /// Last logical block.
        last: u32,
    },
    /// The data of a file from block `from` on are gone: their buffers are dropped, dirty or not.
    Discard {
        /// Inode number.
        ino: u64,
        /// First logical block that is gone.
        from: u32,
    },
    /// The same for one buffer.
    Forget(BufferId),
    /// Data are copied between the process and the kernel.
    Copy {
        /// Bytes.
        bytes: u32,
    },
    /// Work of the processor.
    Work(Work),
    /// A transfer past the cache: a segment of a log, the reading of a cleaner.
    Raw {
        /// To the device.
        write: bool,
        /// First byte, from the start of the file system.
        start_bytes: u64,
        /// Length in bytes. The host cuts it at its largest transfer.
        bytes: u64,
        /// Whether the process waits.
        wait: bool,
    },
    /// What two ranges of the device hold has changed places, dirty buffers or not. The copying is [`Io::Raw`].
    Swapped {
        /// First bytes of both, on the device.
        places: [u64; 2],
        /// Length of each, in bytes.
        bytes: u64,
    },
    /// What the device has taken so far reaches its media, and the process waits for it: a commit behind it must not
    /// come before. A host without barriers does nothing.
    Flush,
    /// A held buffer has found its place, and is clean from now on: a [`Io::Raw`] write takes its contents along.
    Assign(Buffer),
}

/// Where a block of a file lies, and what a host must know to read it well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct BlockMap {
    /// The block; none is a hole.
    pub buffer: Option<Buffer>,
    /// Blocks of the file that follow it contiguously on the device, as far as the array of pointers goes that holds
    /// it. A last block that is a fragment counts.
    pub following: u32,
    /// The blocks of pointers that lead to it, the outermost first.
    pub pointers: [Option<Buffer>; 3],
    /// Start and length in bytes of a group of blocks that is read as a whole when this block is.
    pub group: Option<(u64, u64)>,
}

/// What was emitted, if anything is to be.
#[derive(Clone, Debug, Default)]
pub struct Emitted {
    on: bool,
    /// A host runs the file system; otherwise somebody only follows what it does.
    hosted: bool,
    list: Vec<Io>,
}

impl Emitted {
    /// Whether anything is to be emitted.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.on
    }

    /// Whether a host runs the file system, so that it knows which files are in use.
    #[inline]
    pub fn is_hosted(&self) -> bool {
        self.hosted
    }

    /// Emits for a host from now on, or no longer; what was emitted before is forgotten.
    pub fn turn(&mut self, on: bool) {
        (self.on, self.hosted) = (on, on);
        self.list.clear();
    }

    /// Emits for a follower from now on.
    pub fn follow(&mut self) {
        (self.on, self.hosted) = (true, false);
        self.list.clear();
    }

    /// Emits one thing, if anything is to be emitted.
    #[inline]
    pub fn emit(&mut self, io: Io) {
        if self.on {
            self.list.push(io);
        }
    }

    /// The same, unless it is what was emitted last.
    #[inline]
    pub fn emit_once(&mut self, io: Io) {
        if self.list.last() != Some(&io) {
            self.emit(io);
        }
    }

    /// What was emitted.
    pub fn list(&mut self) -> &mut Vec<Io> {
        &mut self.list
    }
}

/// A file system that a host can run.
pub trait Hosted: FileSystem {
    /// Where it lists what operations do.
    fn emits(&mut self) -> &mut Emitted;

    /// Emits what operations do, from now on or no longer. Nothing is emitted at first. While it emits, what a kernel
    /// knows of a file in use is kept from one operation to the next, so that a file may be written call by call.
    fn emit(&mut self, on: bool) {
        self.emits().turn(on);
    }

    /// Emits from now on, and works as if nobody listened: nothing is kept from one operation to the next, and blocks
    /// lie where they lie without it. So a device can follow an aging.
    fn emit_to_follower(&mut self) {
        self.emits().follow();
    }

    /// What was emitted since this was last emptied.
    fn emitted(&mut self) -> &mut Vec<Io> {
        self.emits().list()
    }

    /// Bytes of a block.
    fn block_bytes(&self) -> u32;

    /// The number of a file in [`BufferId`]: that of its inode, unless inodes move. Nothing if there is no such file.
    fn buffers_of(&self, file: FileId) -> Option<u64> {
        self.inode(file)
    }

    /// What finding a file by its name needs: its directory, its inode. Nothing if there is no such file.
    fn look_up(&self, file: FileId, io: &mut Vec<Io>);

    /// What having read a file changes: the time of access in its inode.
    fn accessed(&self, file: FileId, io: &mut Vec<Io>);

    /// Files of a directory, and of those below, are going to be used more than others. A layer that moves files by
    /// their use takes the hint; any other file system has no use for it.
    fn hint(&mut self, _dir: DirId) {}

    /// Files that are made from now on belong together with all that were made under the same number, whatever their
    /// directories; `None`: no longer. A file system that groups small files may take the hint; any other has no use
    /// for it.
    fn name_together(&mut self, _number: Option<u64>) {}

    /// So many bytes of a file were read from an offset on. A layer that moves files by their use does so now, and
    /// emits; any other file system has no use for it.
    fn was_read(&mut self, _file: FileId, _offset: u64, _bytes: u64) {}

    /// Where a block of a file lies; all holes if there is no such file.
    fn block_map(&self, file: FileId, lbn: u32) -> BlockMap;

    /// What is written, without waiting, at the end of every sync of a file system that has changed.
    fn superblock(&self, io: &mut Vec<Io>);

    /// Whether the block that holds the end of a file is read on its own, without read-ahead, where the host knows such
    /// a rule.
    fn reads_tail_alone(&self) -> bool {
        true
    }
}

/// A hosted file system of any kind, which can be copied: every measurement has one of its own.
pub trait AnyHosted: Hosted + Sync {
    /// A copy in the same state.
    fn copy(&self) -> Box<dyn AnyHosted>;
}

impl<F: Hosted + Clone + Sync + 'static> AnyHosted for F {
    fn copy(&self) -> Box<dyn AnyHosted> {
        Box::new(self.clone())
    }
}
