//! The verbs of the text form with their arguments.

use fsage_core::{DirId, FileId, Op, Verb};

/// What an argument is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Argument {
    /// A plain integer.
    Id,
    /// An integer that may have a suffix.
    Bytes,
}

/// A verb with its arguments.
#[derive(Debug)]
pub(super) struct Form {
    pub verb: Verb,
    /// The line as the documentation shows it, for messages.
    pub usage: &'static str,
    pub arguments: &'static [Argument],
    /// Arguments that must be there.
    pub required: usize,
    pub takes_name: bool,
}

use Argument::{Bytes, Id};

const fn form(
    verb: Verb,
    usage: &'static str,
    arguments: &'static [Argument],
    required: usize,
) -> Form {
    Form {
        verb,
        usage,
        arguments,
        required,
        takes_name: false,
    }
}

const fn named(
    verb: Verb,
    usage: &'static str,
    arguments: &'static [Argument],
    required: usize,
) -> Form {
    Form {
        verb,
        usage,
        arguments,
        required,
        takes_name: true,
    }
}

/// In the order of [`Verb::ALL`].
static FORMS: [Form; 25] = [
    named(Verb::Mkdir, "mkdir DIR [PARENT] [\"NAME\"]", &[Id, Id], 1),
    form(Verb::Rmdir, "rmdir DIR", &[Id], 1),
    named(
        Verb::RenameDir,
        "renamedir DIR PARENT [\"NAME\"]",
        &[Id, Id],
        2,
    ),
    named(
        Verb::Create,
        "create FILE DIR BYTES [\"NAME\"]",
        &[Id, Id, Bytes],
        3,
    ),
    form(Verb::Append, "append FILE BYTES", &[Id, Bytes], 2),
    form(
        Verb::Write,
        "write FILE OFFSET BYTES",
        &[Id, Bytes, Bytes],
        3,
    ),
    form(
        Verb::Overwrite,
        "overwrite FILE [OFFSET BYTES]",
        &[Id, Bytes, Bytes],
        1,
    ),
    form(Verb::Rewrite, "rewrite FILE BYTES", &[Id, Bytes], 2),
    form(Verb::Truncate, "truncate FILE BYTES", &[Id, Bytes], 2),
    form(
        Verb::Fallocate,
        "fallocate FILE OFFSET BYTES",
        &[Id, Bytes, Bytes],
        3,
    ),
    form(
        Verb::Punch,
        "punch FILE OFFSET BYTES",
        &[Id, Bytes, Bytes],
        3,
    ),
    form(Verb::Delete, "delete FILE", &[Id], 1),
    named(
        Verb::Rename,
        "rename FILE DIR [OLDFILE] [\"NAME\"]",
        &[Id, Id, Id],
        2,
    ),
    named(
        Verb::Link,
        "link NEWFILE FILE DIR [\"NAME\"]",
        &[Id, Id, Id],
        3,
    ),
    named(
        Verb::Symlink,
        "symlink FILE DIR BYTES [\"NAME\"]",
        &[Id, Id, Bytes],
        3,
    ),
    form(
        Verb::Read,
        "read FILE [OFFSET BYTES]",
        &[Id, Bytes, Bytes],
        1,
    ),
    form(Verb::Fsync, "fsync FILE", &[Id], 1),
    form(Verb::Sync, "sync", &[], 0),
    form(Verb::Remount, "remount", &[], 0),
    form(Verb::Day, "day LABEL", &[], 0),
    form(Verb::Dump, "dump", &[], 0),
    form(Verb::Cgs, "cgs", &[], 0),
    form(Verb::Geom, "geom", &[], 0),
    form(Verb::Check, "check", &[], 0),
    form(Verb::Layout, "layout LO HI", &[Id, Id], 2),
];

/// The form of a verb.
pub(super) fn form_of(verb: Verb) -> &'static Form {
    &FORMS[verb as usize]
}

/// The form of the verb that a word names.
#[rustfmt::skip]
pub(super) fn form_named(word: &[u8]) -> Option<&'static Form> {
    // A match on bytes: much faster than a search among 25 strings, and this is done for every line.
    Some(form_of(match word {
        b"mkdir" => Verb::Mkdir,       b"rmdir" => Verb::Rmdir,         b"renamedir" => Verb::RenameDir,
        b"create" => Verb::Create,     b"append" => Verb::Append,       b"write" => Verb::Write,
        b"rewrite" => Verb::Rewrite,   b"overwrite" => Verb::Overwrite, b"truncate" => Verb::Truncate,
        b"punch" => Verb::Punch,       b"fallocate" => Verb::Fallocate, b"delete" => Verb::Delete,
        b"rename" => Verb::Rename,     b"link" => Verb::Link,           b"symlink" => Verb::Symlink,
        b"read" => Verb::Read,         b"fsync" => Verb::Fsync,         b"sync" => Verb::Sync,
        b"remount" => Verb::Remount,   b"day" => Verb::Day,             b"dump" => Verb::Dump,
        b"cgs" => Verb::Cgs,           b"geom" => Verb::Geom,           b"check" => Verb::Check,
        b"layout" => Verb::Layout,
        _ => return None,
    }))
}

/// The operation of a verb with the arguments that were given: `count` of `n`.
pub(super) fn operation(verb: Verb, n: [u64; 3], count: usize) -> Op {
    let file = FileId(n[0]);
    let range = (count == 3).then_some((n[1], n[2]));
    match verb {
        Verb::Mkdir => Op::Mkdir {
            dir: DirId(n[0]),
            parent: (count > 1).then_some(DirId(n[1])),
        },
        Verb::Rmdir => Op::Rmdir { dir: DirId(n[0]) },
        Verb::RenameDir => Op::RenameDir {
            dir: DirId(n[0]),
            parent: DirId(n[1]),
        },
        Verb::Create => Op::Create {
            file,
            dir: DirId(n[1]),
            bytes: n[2],
        },
        Verb::Append => Op::Append { file, bytes: n[1] },
        Verb::Write => Op::Write {
            file,
            offset: n[1],
            bytes: n[2],
        },
        Verb::Overwrite => Op::Overwrite { file, range },
        Verb::Rewrite => Op::Rewrite { file, bytes: n[1] },
        Verb::Truncate => Op::Truncate { file, bytes: n[1] },
        Verb::Fallocate => Op::Fallocate {
            file,
            offset: n[1],
            bytes: n[2],
        },
        Verb::Punch => Op::Punch {
            file,
            offset: n[1],
            bytes: n[2],
        },
        Verb::Delete => Op::Delete { file },
        Verb::Rename => Op::Rename {
            file,
            dir: DirId(n[1]),
            replaced: (count > 2).then_some(FileId(n[2])),
        },
        Verb::Link => Op::Link {
            file,
            existing: FileId(n[1]),
            dir: DirId(n[2]),
        },
        Verb::Symlink => Op::Symlink {
            file,
            dir: DirId(n[1]),
            bytes: n[2],
        },
        Verb::Read => Op::Read { file, range },
        Verb::Fsync => Op::Fsync { file },
        Verb::Sync => Op::Sync,
        Verb::Remount => Op::Remount,
        Verb::Day => Op::Day,
        Verb::Dump => Op::Dump,
        Verb::Cgs => Op::Cgs,
        Verb::Geom => Op::Geom,
        Verb::Check => Op::Check,
        Verb::Layout => Op::Layout {
            lo: file,
            hi: FileId(n[1]),
        },
    }
}

/// The arguments of an operation, as they stand on its line.
pub(super) fn arguments(op: &Op) -> ([u64; 3], usize) {
    match *op {
        Op::Mkdir { dir, parent: None } | Op::Rmdir { dir } => ([dir.0, 0, 0], 1),
        Op::Mkdir {
            dir,
            parent: Some(parent),
        }
        | Op::RenameDir { dir, parent } => ([dir.0, parent.0, 0], 2),
        Op::Create { file, dir, bytes } | Op::Symlink { file, dir, bytes } => {
            ([file.0, dir.0, bytes], 3)
        }
        Op::Append { file, bytes } | Op::Rewrite { file, bytes } | Op::Truncate { file, bytes } => {
            ([file.0, bytes, 0], 2)
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
        }
        | Op::Overwrite {
            file,
            range: Some((offset, bytes)),
        }
        | Op::Read {
            file,
            range: Some((offset, bytes)),
        } => ([file.0, offset, bytes], 3),
        Op::Overwrite { file, range: None }
        | Op::Read { file, range: None }
        | Op::Delete { file }
        | Op::Fsync { file } => ([file.0, 0, 0], 1),
        Op::Rename {
            file,
            dir,
            replaced,
        } => match replaced {
            Some(old) => ([file.0, dir.0, old.0], 3),
            None => ([file.0, dir.0, 0], 2),
        },
        Op::Link {
            file,
            existing,
            dir,
        } => ([file.0, existing.0, dir.0], 3),
        Op::Layout { lo, hi } => ([lo.0, hi.0, 0], 2),
        Op::Sync | Op::Remount | Op::Day | Op::Dump | Op::Cgs | Op::Geom | Op::Check => {
            ([0, 0, 0], 0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verb_has_its_form() {
        for (verb, form) in Verb::ALL.into_iter().zip(&FORMS) {
            assert_eq!(form.verb, verb);
            assert_eq!(
                form_named(verb.as_str().as_bytes()).map(|f| f.verb),
                Some(verb)
            );
            assert_eq!(form.usage.split(' ').next(), Some(verb.as_str()));
            assert_eq!(form_of(verb).verb, verb);
        }
        assert!(form_named(b"creat").is_none());
    }

    #[test]
    fn an_operation_gives_its_arguments_back() {
        for form in &FORMS {
            for count in form.required..=form.arguments.len() {
                if count == 2 && matches!(form.verb, Verb::Overwrite | Verb::Read) {
                    continue;
                }
                let n = std::array::from_fn(|i| if i < count { i as u64 + 5 } else { 0 });
                let op = operation(form.verb, n, count);
                assert_eq!(op.verb(), form.verb);
                assert_eq!(arguments(&op), (n, count), "{op:?}");
            }
        }
    }
}
