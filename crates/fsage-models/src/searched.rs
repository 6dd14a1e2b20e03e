//! What finding the names of an operation needs.

use fsage_core::io::{Hosted, Io, Work};
use fsage_core::{DirId, Op};

/// A model whose host looks for names in its directories.
pub(crate) trait Searched: Hosted {
    /// What looking through a directory for a name needs. Nothing if there is no such directory.
    fn search(&self, dir: DirId, io: &mut Vec<Io>);
}

/// Emits what finding the names of an operation needs, and what the operation costs the processor.
pub(crate) fn emit_names(fs: &mut impl Searched, op: &Op) {
    let mut io = std::mem::take(fs.emitted());
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
    *fs.emitted() = io;
}
