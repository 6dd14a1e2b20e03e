//! What is done to files that are there.

use super::Mix;
use super::engine::Engine;
use super::population::File;
use fsage_core::rng::AliasTable;
use fsage_core::{Op, SinkError};

/// A kind of operation, as in [`Mix`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Turnover,
    Append,
    Overwrite,
    Rewrite,
    Truncate,
    Rename,
    Save,
    Read,
    Fsync,
}

impl Change {
    /// In the order of [`Mix::weights`].
    pub const ALL: [Change; 9] = [
        Change::Turnover,
        Change::Append,
        Change::Overwrite,
        Change::Rewrite,
        Change::Truncate,
        Change::Rename,
        Change::Save,
        Change::Read,
        Change::Fsync,
    ];

    pub fn table(mix: Mix) -> AliasTable {
        AliasTable::new(&mix.weights())
    }
}

impl Engine<'_> {
    /// Changes one file that is alive, a young one rather than an old one.
    pub(super) fn change(&mut self, change: Change) -> Result<(), SinkError> {
        let Some(slot) = self.files.random(self.profile.hot, &mut self.rng) else {
            self.summary.left_out += 1;
            return Ok(());
        };
        let File {
            id: file, bytes, ..
        } = *self.files.file(slot);
        match change {
            Change::Turnover => Ok(()),
            Change::Append => self.append(slot),
            Change::Overwrite => {
                if bytes == 0 {
                    self.summary.left_out += 1;
                    return Ok(());
                }
                let offset = self.rng.below(bytes);
                let length = self.rng.between(1, bytes - offset);
                let range = Some((offset, length));
                self.emit(Op::Overwrite { file, range }, None)
            }
            Change::Rewrite => self.rewrite(slot),
            Change::Truncate => {
                if bytes == 0 {
                    self.summary.left_out += 1;
                    return Ok(());
                }
                let keep = self.rng.below(bytes);
                self.cut(slot, keep)
            }
            Change::Rename => self.rename(slot),
            Change::Save => self.save(slot),
            Change::Read => self.emit(Op::Read { file, range: None }, None),
            Change::Fsync => self.emit(Op::Fsync { file }, None),
        }
    }

    /// Whether a file of `old` bytes may have `new` ones.
    fn fits(&mut self, old: u64, new: u64) -> bool {
        let more = self
            .space
            .fragments(new)
            .saturating_sub(self.space.fragments(old));
        let fits = more <= self.room() && new <= self.profile.largest();
        self.summary.left_out += u64::from(!fits);
        fits
    }

    fn append(&mut self, slot: u32) -> Result<(), SinkError> {
        let File { id, bytes: old, .. } = *self.files.file(slot);
        let mean = self.profile.append_bytes as f64;
        let bytes = 1 + (self.rng.exponential() * mean) as u64;
        if !self.fits(old, old + bytes) {
            return Ok(());
        }
        self.resize(slot, old + bytes);
        self.emit(Op::Append { file: id, bytes }, None)
    }

    /// About as large as before.
    fn similar(&mut self, bytes: u64) -> u64 {
        /// Standard deviation of the logarithm of what a file grows or shrinks by when it is written anew.
        const SIGMA: f64 = 0.15;
        let drawn = self.rng.log_normal(bytes.max(1) as f64, SIGMA).ceil();
        (drawn as u64).clamp(1, self.profile.largest())
    }

    fn rewrite(&mut self, slot: u32) -> Result<(), SinkError> {
        let File { id, bytes: old, .. } = *self.files.file(slot);
        let bytes = self.similar(old);
        if !self.fits(old, bytes) {
            return Ok(());
        }
        self.resize(slot, bytes);
        self.emit(Op::Rewrite { file: id, bytes }, None)
    }

    /// Cuts a file to `bytes`.
    pub(super) fn cut(&mut self, slot: u32, bytes: u64) -> Result<(), SinkError> {
        let file = self.files.file(slot).id;
        self.resize(slot, bytes);
        self.emit(Op::Truncate { file, bytes }, None)
    }

    /// Moves a file to a directory of the same depth; its name is the number of the operation's own.
    fn rename(&mut self, slot: u32) -> Result<(), SinkError> {
        let File { id, dir, kind, .. } = *self.files.file(slot);
        let Some(to) = self.dirs.random(usize::from(kind.depth), &mut self.rng) else {
            return Ok(());
        };
        let name = self.new_id().0;
        self.enter_directory(to);
        self.files.rename(slot, name, to);
        let op = Op::Rename {
            file: id,
            dir: self.dir_id(to),
            replaced: None,
        };
        self.emit_file(op, name)?;
        self.leave_directory(dir)
    }

    /// Writes a new file beside an old one, and gives it the old one's name.
    fn save(&mut self, slot: u32) -> Result<(), SinkError> {
        let old = *self.files.file(slot);
        let bytes = self.similar(old.bytes);
        if !self.fits(0, bytes) {
            return Ok(());
        }
        let id = self.new_id();
        let dir = self.dir_id(old.dir);
        self.enter_directory(old.dir);
        self.take(self.space.fragments(bytes));
        let op = Op::Create {
            file: id,
            dir,
            bytes,
        };
        self.emit_file(op, id.0)?;
        let kind = self.kind(bytes, old.dir);
        self.replace(slot, File::new(id, old.name, bytes, old.dir, kind));
        let op = Op::Rename {
            file: id,
            dir,
            replaced: Some(old.id),
        };
        self.emit_file(op, old.name)?;
        self.dirs.remove_entry(old.dir);
        Ok(())
    }
}
