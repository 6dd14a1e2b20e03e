//! What a model emits for its host, and what finding the names of an operation needs.

use fsage_core::io::{Hosted, Io, Work};
use fsage_core::{DirId, Op};

/// What was emitted, if anything is to be.
#[derive(Clone, Debug, Default)]
pub(crate) struct Emitted {
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

/// A model whose host looks for names in its directories.
pub(crate) trait Searched: Hosted {
    /// What it emits.
    fn emitted_mut(&mut self) -> &mut Emitted;

    /// What looking through a directory for a name needs. Nothing if there is no such directory.
    fn search(&self, dir: DirId, io: &mut Vec<Io>);
}

/// Emits what finding the names of an operation needs, and what the operation costs the processor.
pub(crate) fn emit_names(fs: &mut impl Searched, op: &Op) {
    let mut io = std::mem::take(fs.emitted_mut().list());
    match *op {
        Op::Create { dir, .. } | Op::Symlink { dir, .. } => {
            io.push(Io::Work(Work::Create));
            fs.search(dir, &mut io);
        }
        Op::Mkdir { parent, .. } => {
            io.push(Io::Work(Work::Create));
            fs.search(parent.unwrap_or(DirId::ROOT), &mut io);
        }
        Op::Append { file, .. }
        | Op::Write { file, .. }
        | Op::Fallocate { file, .. }
        | Op::Overwrite { file, .. }
        | Op::Rewrite { file, .. }
        | Op::Truncate { file, .. } => fs.look_up(file, &mut io),
        Op::Delete { file } => {
            io.push(Io::Work(Work::Delete));
            fs.look_up(file, &mut io);
        }
        Op::Rmdir { dir } => {
            io.push(Io::Work(Work::Delete));
            fs.search(dir, &mut io);
        }
        Op::Rename { file, dir, .. } => {
            fs.look_up(file, &mut io);
            fs.search(dir, &mut io);
        }
        Op::RenameDir { dir, parent } => {
            fs.search(dir, &mut io);
            fs.search(parent, &mut io);
        }
        Op::Link { existing, dir, .. } => {
            fs.look_up(existing, &mut io);
            fs.search(dir, &mut io);
        }
        _ => {}
    }
    *fs.emitted_mut().list() = io;
}
