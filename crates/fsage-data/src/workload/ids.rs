//! Operations as the columns `file_id`, `dir_id`, `id2`, `offset_bytes`, `length_bytes` (workload format,
//! section 2.1).

use fsage_core::{DirId, FileId, Op, Verb};

/// The columns of one operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Columns {
    pub file: Option<u64>,
    pub dir: Option<u64>,
    pub id2: Option<u64>,
    pub offset: Option<u64>,
    pub length: Option<u64>,
}

impl Columns {
    /// The columns of an operation; probes have none.
    pub fn of(op: &Op) -> Columns {
        let mut columns = Columns::default();
        match *op {
            Op::Mkdir { dir, parent } => {
                columns.dir = Some(dir.0);
                columns.id2 = parent.map(|p| p.0);
            }
            Op::Rmdir { dir } => columns.dir = Some(dir.0),
            Op::RenameDir { dir, parent } => {
                columns.dir = Some(dir.0);
                columns.id2 = Some(parent.0);
            }
            Op::Create { file, dir, bytes } | Op::Symlink { file, dir, bytes } => {
                columns.file = Some(file.0);
                columns.dir = Some(dir.0);
                columns.length = Some(bytes);
            }
            Op::Append { file, bytes }
            | Op::Rewrite { file, bytes }
            | Op::Truncate { file, bytes } => {
                columns.file = Some(file.0);
                columns.length = Some(bytes);
            }
            Op::Write {
                file,
                offset,
                bytes,
            }
            | Op::Fallocate {
                file,
                offset,
                bytes,
            }
            | Op::Punch {
                file,
                offset,
                bytes,
            } => {
                columns.file = Some(file.0);
                columns.offset = Some(offset);
                columns.length = Some(bytes);
            }
            Op::Overwrite { file, range } | Op::Read { file, range } => {
                columns.file = Some(file.0);
                columns.offset = range.map(|r| r.0);
                columns.length = range.map(|r| r.1);
            }
            Op::Delete { file } | Op::Fsync { file } => columns.file = Some(file.0),
            Op::Rename {
                file,
                dir,
                replaced,
            } => {
                columns.file = Some(file.0);
                columns.dir = Some(dir.0);
                columns.id2 = replaced.map(|f| f.0);
            }
            Op::Link {
                file,
                existing,
                dir,
            } => {
                columns.file = Some(file.0);
                columns.id2 = Some(existing.0);
                columns.dir = Some(dir.0);
            }
            Op::Sync
            | Op::Remount
            | Op::Day
            | Op::Dump
            | Op::Cgs
            | Op::Geom
            | Op::Check
            | Op::Layout { .. } => {}
        }
        columns
    }

    /// The operation of these columns; else the column that is null and must not be. `None` for a probe,
    /// which has no columns.
    pub fn operation(&self, verb: Verb) -> Result<Option<Op>, &'static str> {
        let file = || self.file.map(FileId).ok_or("file_id");
        let dir = || self.dir.map(DirId).ok_or("dir_id");
        let id2 = || self.id2.ok_or("id2");
        let offset = || self.offset.ok_or("offset_bytes");
        let bytes = || self.length.ok_or("length_bytes");
        let range = || match (self.offset, self.length) {
            (None, None) => Ok(None),
            _ => Ok(Some((offset()?, bytes()?))),
        };
        Ok(Some(match verb {
            Verb::Mkdir => Op::Mkdir {
                dir: dir()?,
                parent: self.id2.map(DirId),
            },
            Verb::Rmdir => Op::Rmdir { dir: dir()? },
            Verb::RenameDir => Op::RenameDir {
                dir: dir()?,
                parent: DirId(id2()?),
            },
            Verb::Create => Op::Create {
                file: file()?,
                dir: dir()?,
                bytes: bytes()?,
            },
            Verb::Append => Op::Append {
                file: file()?,
                bytes: bytes()?,
            },
            Verb::Write => Op::Write {
                file: file()?,
                offset: offset()?,
                bytes: bytes()?,
            },
            Verb::Overwrite => Op::Overwrite {
                file: file()?,
                range: range()?,
            },
            Verb::Rewrite => Op::Rewrite {
                file: file()?,
                bytes: bytes()?,
            },
            Verb::Truncate => Op::Truncate {
                file: file()?,
                bytes: bytes()?,
            },
            Verb::Fallocate => Op::Fallocate {
                file: file()?,
                offset: offset()?,
                bytes: bytes()?,
            },
            Verb::Punch => Op::Punch {
                file: file()?,
                offset: offset()?,
                bytes: bytes()?,
            },
            Verb::Delete => Op::Delete { file: file()? },
            Verb::Rename => Op::Rename {
                file: file()?,
                dir: dir()?,
                replaced: self.id2.map(FileId),
            },
            Verb::Link => Op::Link {
                file: file()?,
                existing: FileId(id2()?),
                dir: dir()?,
            },
            Verb::Symlink => Op::Symlink {
                file: file()?,
                dir: dir()?,
                bytes: bytes()?,
            },
            Verb::Read => Op::Read {
                file: file()?,
                range: range()?,
            },
            Verb::Fsync => Op::Fsync { file: file()? },
            Verb::Sync => Op::Sync,
            Verb::Remount => Op::Remount,
            Verb::Day => Op::Day,
            Verb::Dump | Verb::Cgs | Verb::Geom | Verb::Check | Verb::Layout => return Ok(None),
        }))
    }
}
