//! The part of the tree that is gone by midnight.

use super::super::sizes::space_kb;
use super::Tree;
use fsage_core::{FileId, Op, SinkError};
use std::collections::VecDeque;

/// A file that does not live to the end of the day.
#[derive(Clone, Copy, Debug)]
struct Short {
    id: FileId,
    bytes: u64,
    alive: bool,
}

impl Short {
    const PLANNED: Short = Short {
        id: FileId(0),
        bytes: 0,
        alive: false,
    };
}

/// The short-lived files of a day.
#[derive(Debug)]
pub(super) struct Shorts {
    files: Vec<Short>,
    /// In the order of their making; those gone are passed over.
    queue: VecDeque<usize>,
    used_kb: u64,
    most_kb: u64,
}

impl Shorts {
    pub fn new(most_kb: u64) -> Shorts {
        Shorts {
            files: Vec::new(),
            queue: VecDeque::new(),
            used_kb: 0,
            most_kb,
        }
    }

    /// The one made first of those that may be alive; it leaves the queue.
    pub fn oldest(&mut self) -> Option<usize> {
        self.queue.pop_front()
    }

    pub fn end_day(&mut self) {
        debug_assert_eq!(self.used_kb, 0, "a short-lived file lives on after its day");
        self.files.clear();
        self.queue.clear();
    }
}

impl Tree<'_> {
    /// So many short-lived files of today; gives the first of them.
    pub fn plan_shorts(&mut self, count: usize) -> usize {
        let first = self.shorts.files.len();
        self.shorts.files.resize(first + count, Short::PLANNED);
        first
    }

    /// Makes a file, if there is room.
    pub(super) fn short_create(
        &mut self,
        short: usize,
        dir: usize,
        bytes: u64,
    ) -> Result<(), SinkError> {
        let kb = space_kb(bytes);
        if !self.make_short_room(kb)? {
            return Ok(());
        }
        let id = self.new_id();
        self.shorts.files[short] = Short {
            id,
            bytes,
            alive: true,
        };
        self.shorts.queue.push_back(short);
        self.shorts.used_kb += kb;
        self.take_space(kb);
        let op = Op::Create {
            file: id,
            dir: self.dirs[dir].id,
            bytes,
        };
        self.emit(op, true)
    }

    pub(super) fn short_rewrite(&mut self, short: usize, bytes: u64) -> Result<(), SinkError> {
        let file = self.shorts.files[short].id;
        self.short_change(short, bytes, Op::Rewrite { file, bytes })
    }

    pub(super) fn short_append(&mut self, short: usize, bytes: u64) -> Result<(), SinkError> {
        let Short {
            id: file,
            bytes: old,
            ..
        } = self.shorts.files[short];
        self.short_change(short, old + bytes, Op::Append { file, bytes })
    }

    fn short_change(&mut self, short: usize, bytes: u64, op: Op) -> Result<(), SinkError> {
        let old_kb = space_kb(self.shorts.files[short].bytes);
        let kb = space_kb(bytes);
        if !self.shorts.files[short].alive || !self.make_short_room(kb.saturating_sub(old_kb))? {
            return Ok(());
        }
        // Making room may have ended this very file.
        if !self.shorts.files[short].alive {
            return Ok(());
        }
        self.shorts.files[short].bytes = bytes;
        self.shorts.used_kb = self.shorts.used_kb - old_kb + kb;
        self.used_kb -= old_kb;
        self.take_space(kb);
        self.emit(op, true)
    }

    /// Deletes a file, if it is still there.
    pub(super) fn short_delete(&mut self, short: usize) -> Result<(), SinkError> {
        let Short { id, bytes, alive } = self.shorts.files[short];
        if !alive {
            return Ok(());
        }
        self.shorts.files[short].alive = false;
        self.shorts.used_kb -= space_kb(bytes);
        self.used_kb -= space_kb(bytes);
        self.emit(Op::Delete { file: id }, true)
    }

    /// As [`Tree::make_room`], and short-lived files stay under their own limit.
    fn make_short_room(&mut self, kb: u64) -> Result<bool, SinkError> {
        while self.shorts.used_kb + kb > self.shorts.most_kb {
            let Some(oldest) = self.shorts.oldest() else {
                self.stats.left_out += 1;
                return Ok(false);
            };
            self.short_delete(oldest)?;
        }
        self.make_room(kb)
    }
}
