//! The layer as a file system, and as a host sees it.

use super::super::Part;
use super::super::map::Map;
use super::super::settings::Migrate;
use super::{AdaptiveFiles, check};
use fsage_core::io::{BlockMap, Emitted, Hosted, Io};
use fsage_core::operations;
use fsage_core::{DirId, FileId, FileSystem, Inconsistency, Op, Outcome, StateError};

impl<F: Hosted> FileSystem for AdaptiveFiles<F> {
    fn apply(&mut self, op: &Op) -> Result<Outcome, StateError> {
        let idle = self
            .now_ns
            .zip(self.last_op_ns)
            .is_some_and(|(now, last)| now.saturating_sub(last) >= self.settings.idle_ns);
        if idle {
            self.move_in_waiting();
        }
        self.last_op_ns = self.now_ns;
        let outcome = operations::apply(self, op)?;
        self.note_use(op, outcome);
        self.wake();
        Ok(outcome)
    }

    fn set_time(&mut self, t_ns: i64) {
        self.now_ns = Some(t_ns);
        self.outside.set_time(t_ns);
        self.reserved.set_time(t_ns);
    }

    fn file_size(&self, file: FileId) -> Option<u64> {
        let slot = self.names.find(file)?;
        self.part(self.part_of(slot)).file_size(file)
    }

    /// The number of a file, which stays when it moves.
    fn inode(&self, file: FileId) -> Option<u64> {
        self.names.find(file).map(number_of_file)
    }

    /// The number of a directory, whether it is in the reserved area as well or not.
    fn directory_inode(&self, dir: DirId) -> Option<u64> {
        self.dir_ids.get(dir).map(number_of_directory)
    }

    fn check(&self) -> Result<(), Inconsistency> {
        check::check(self)
    }
}

/// Files have odd numbers, from 3 on.
pub(super) fn number_of_file(slot: u32) -> u64 {
    2 * u64::from(slot) + 3
}

/// Directories have even numbers; the root has 2.
pub(super) fn number_of_directory(slot: u32) -> u64 {
    2 * u64::from(slot) + 2
}

impl<F: Hosted> AdaptiveFiles<F> {
    /// Lets the threads work, if this is their time.
    fn wake(&mut self) {
        if self.settings.migrate == Migrate::AtOp {
            self.move_in_waiting();
        }
    }

    /// What one of both file systems emits of a file that it has.
    fn emit_of(&self, file: FileId, io: &mut Vec<Io>, emit: impl Fn(&F, &mut Vec<Io>)) {
        let Some(slot) = self.names.find(file) else {
            return;
        };
        let part = self.part_of(slot);
        let mut emitted = Vec::new();
        emit(self.part(part), &mut emitted);
        self.on_disk(part, emitted, io);
    }
}

impl<F: Hosted> Hosted for AdaptiveFiles<F> {
    fn emits(&mut self) -> &mut Emitted {
        &mut self.emitted
    }

    fn emit(&mut self, on: bool) {
        self.outside.emit(on);
        self.reserved.emit(on);
        self.emitted.turn(on);
    }

    fn emit_to_follower(&mut self) {
        self.outside.emit_to_follower();
        self.reserved.emit_to_follower();
        self.emitted.follow();
    }

    fn block_bytes(&self) -> u32 {
        self.outside.block_bytes()
    }

    fn buffers_of(&self, file: FileId) -> Option<u64> {
        let slot = self.names.find(file)?;
        self.buffers_of_in(self.part_of(slot), file)
    }

    fn look_up(&self, file: FileId, io: &mut Vec<Io>) {
        self.emit_of(file, io, |fs, emitted| fs.look_up(file, emitted));
    }

    fn accessed(&self, file: FileId, io: &mut Vec<Io>) {
        self.emit_of(file, io, |fs, emitted| fs.accessed(file, emitted));
    }

    /// What lies below the directory, which need not exist yet, is hot as soon as it is written.
    fn hint(&mut self, dir: DirId) {
        self.hints.insert(dir.0);
    }

    fn was_read(&mut self, file: FileId, offset: u64, bytes: u64) {
        if let (Some(slot), Some(size)) = (self.names.find(file), self.file_size(file)) {
            let left = size - offset.min(size);
            self.used(slot, bytes.min(left), true);
            self.wake();
        }
    }

    fn block_map(&self, file: FileId, lbn: u32) -> BlockMap {
        let Some(slot) = self.names.find(file) else {
            return BlockMap::default();
        };
        let block_bytes = self.block_bytes();
        match self.part_of(slot) {
            Part::Outside => {
                let map = self.outside.block_map(file, lbn);
                self.outside_map.block_map(map, block_bytes)
            }
            Part::Reserved => {
                let map = self.reserved.block_map(file, lbn);
                self.reserved_map.block_map(map, block_bytes)
            }
        }
    }

    fn superblock(&self, io: &mut Vec<Io>) {
        for part in [Part::Outside, Part::Reserved] {
            let mut emitted = Vec::new();
            self.part(part).superblock(&mut emitted);
            self.on_disk(part, emitted, io);
        }
    }

    fn reads_tail_alone(&self) -> bool {
        self.outside.reads_tail_alone()
    }
}
