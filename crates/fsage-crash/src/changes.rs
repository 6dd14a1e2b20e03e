//! Which system calls change something, and what.

use crate::tracee::{Call, Inode, Tracee, inode, link_inode};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// A name in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The directory.
    pub dir: Inode,
    /// The name.
    pub name: OsString,
    /// What it leads to before the call, be it a link itself.
    pub leads_to: Option<Inode>,
    /// The way to it.
    pub way: PathBuf,
}

/// What a call is about to do.
#[derive(Clone, Debug)]
pub enum Change {
    /// Opens a file to write: it is made if it is not there, and emptied if asked for.
    Open {
        at: Place,
        follows_to: Option<Inode>,
        makes: bool,
        empties: bool,
    },
    /// Makes a directory.
    Mkdir { at: Place },
    /// Makes a symbolic link.
    Symlink { at: Place, target: Vec<u8> },
    /// Gives a file a further name.
    Link { file: Inode, at: Place },
    /// Removes a name.
    Remove { at: Place },
    /// Moves a name.
    Move { from: Place, to: Place, swaps: bool },
    /// Writes so many bytes of the buffer.
    Write {
        file: Inode,
        offset: u64,
        data: Vec<u8>,
    },
    /// Copies from another file: what was written is read back.
    Copied { file: Inode, offset: u64 },
    /// Sets a length.
    Size { file: Inode, bytes: u64 },
    /// Makes sure that there is space; the file may become longer.
    Allocate {
        file: Inode,
        offset: u64,
        bytes: u64,
        mode: i32,
    },
    /// Forces a file or directory to disk.
    Sync { file: Inode },
    /// Forces everything to disk.
    SyncAll { file: Option<Inode> },
    /// A way to write that is not understood.
    Unknown { file: Inode, what: &'static str },
}

impl Change {
    /// What is changed: files, and directories of names.
    pub fn inodes(&self) -> Vec<Inode> {
        match self {
            Change::Open { at, follows_to, .. } => {
                [at.dir].into_iter().chain(*follows_to).collect()
            }
            Change::Mkdir { at }
            | Change::Symlink { at, .. }
            | Change::Link { at, .. }
            | Change::Remove { at } => {
                vec![at.dir]
            }
            Change::Move { from, to, .. } => vec![from.dir, to.dir],
            Change::Write { file, .. }
            | Change::Copied { file, .. }
            | Change::Size { file, .. }
            | Change::Allocate { file, .. }
            | Change::Sync { file }
            | Change::Unknown { file, .. } => vec![*file],
            Change::SyncAll { file } => file.iter().copied().collect(),
        }
    }
}

/// What the call that a process has stopped at is about to change, if anything.
pub fn of(tracee: Tracee, call: &Call) -> Option<Change> {
    let args = &call.args;
    match call.number {
        libc::SYS_openat => open(tracee, call.fd(0), args[1], args[2] as i32),
        libc::SYS_openat2 => {
            let how = tracee.read(args[2], 8).ok()?;
            let flags = u64::from_le_bytes(how.try_into().ok()?);
            open(tracee, call.fd(0), args[1], flags as i32)
        }
        libc::SYS_mkdirat => Some(Change::Mkdir {
            at: place(tracee, call.fd(0), args[1])?,
        }),
        libc::SYS_unlinkat => Some(Change::Remove {
            at: place(tracee, call.fd(0), args[1])?,
        }),
        libc::SYS_symlinkat => Some(Change::Symlink {
            at: place(tracee, call.fd(1), args[2])?,
            target: tracee.text(args[0]).ok()?,
        }),
        libc::SYS_linkat => {
            let from = tracee.path(call.fd(0), args[1])?;
            let follows = args[4] as i32 & libc::AT_SYMLINK_FOLLOW != 0;
            Some(Change::Link {
                file: if follows {
                    inode(&from)
                } else {
                    link_inode(&from)
                }?,
                at: place(tracee, call.fd(2), args[3])?,
            })
        }
        libc::SYS_renameat2 => moves(
            tracee,
            (call.fd(0), args[1]),
            (call.fd(2), args[3]),
            args[4] as u32,
        ),
        _ => old(tracee, call).or_else(|| of_bytes(tracee, call)),
    }
}

/// The same of calls on the bytes of a file.
fn of_bytes(tracee: Tracee, call: &Call) -> Option<Change> {
    let args = &call.args;
    match call.number {
        libc::SYS_truncate => {
            let path = tracee.path(libc::AT_FDCWD, args[0])?;
            Some(Change::Size {
                file: inode(&path)?,
                bytes: args[1],
            })
        }
        libc::SYS_ftruncate => Some(Change::Size {
            file: tracee.inode(call.fd(0))?,
            bytes: args[1],
        }),
        libc::SYS_fallocate => Some(Change::Allocate {
            file: tracee.inode(call.fd(0))?,
            mode: args[1] as i32,
            offset: args[2],
            bytes: args[3],
        }),
        libc::SYS_write | libc::SYS_pwrite64 => {
            let file = tracee.inode(call.fd(0))?;
            let offset = if call.number == libc::SYS_write {
                None
            } else {
                Some(args[3])
            };
            let data = tracee.read(args[1], args[2] as usize).ok()?;
            Some(Change::Write {
                file,
                offset: start(tracee, call.fd(0), offset)?,
                data,
            })
        }
        libc::SYS_writev | libc::SYS_pwritev | libc::SYS_pwritev2 => {
            let file = tracee.inode(call.fd(0))?;
            let offset = if call.number == libc::SYS_writev {
                None
            } else {
                Some(args[3])
            };
            let data = tracee.pieces(args[1], args[2] as usize).ok()?;
            Some(Change::Write {
                file,
                offset: start(tracee, call.fd(0), offset)?,
                data,
            })
        }
        libc::SYS_copy_file_range => copied(tracee, call.fd(2), args[3]),
        libc::SYS_sendfile => copied(tracee, call.fd(0), 0),
        libc::SYS_fsync | libc::SYS_fdatasync => Some(Change::Sync {
            file: tracee.inode(call.fd(0))?,
        }),
        libc::SYS_syncfs => Some(Change::SyncAll {
            file: tracee.inode(call.fd(0)),
        }),
        libc::SYS_sync => Some(Change::SyncAll { file: None }),
        libc::SYS_mmap => {
            let writes =
                args[2] as i32 & libc::PROT_WRITE != 0 && args[3] as i32 & libc::MAP_SHARED != 0;
            let file = writes.then(|| tracee.inode(call.fd(4))).flatten()?;
            Some(Change::Unknown {
                file,
                what: "writing through a map",
            })
        }
        libc::SYS_ioctl if matches!(args[1], FICLONE | FICLONERANGE) => Some(Change::Copied {
            file: tracee.inode(call.fd(0))?,
            offset: 0,
        }),
        _ => None,
    }
}

const FICLONE: u64 = 0x4004_9409;
const FICLONERANGE: u64 = 0x4020_940d;

/// The calls without a directory, which newer machines do not have.
#[cfg(target_arch = "x86_64")]
fn old(tracee: Tracee, call: &Call) -> Option<Change> {
    let args = &call.args;
    let here = libc::AT_FDCWD;
    match call.number {
        libc::SYS_open => open(tracee, here, args[0], args[1] as i32),
        libc::SYS_creat => {
            let flags = libc::O_CREAT | libc::O_TRUNC | libc::O_WRONLY;
            open(tracee, here, args[0], flags)
        }
        libc::SYS_mkdir => Some(Change::Mkdir {
            at: place(tracee, here, args[0])?,
        }),
        libc::SYS_unlink | libc::SYS_rmdir => Some(Change::Remove {
            at: place(tracee, here, args[0])?,
        }),
        libc::SYS_symlink => Some(Change::Symlink {
            at: place(tracee, here, args[1])?,
            target: tracee.text(args[0]).ok()?,
        }),
        libc::SYS_link => Some(Change::Link {
            file: link_inode(&tracee.path(here, args[0])?)?,
            at: place(tracee, here, args[1])?,
        }),
        libc::SYS_rename => moves(tracee, (here, args[0]), (here, args[1]), 0),
        libc::SYS_renameat => moves(tracee, (call.fd(0), args[1]), (call.fd(2), args[3]), 0),
        _ => None,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn old(_: Tracee, _: &Call) -> Option<Change> {
    None
}

fn open(tracee: Tracee, dirfd: i32, address: u64, flags: i32) -> Option<Change> {
    let writes = flags & libc::O_ACCMODE != libc::O_RDONLY;
    let (makes, empties) = (flags & libc::O_CREAT != 0, flags & libc::O_TRUNC != 0);
    if !writes && !makes && !empties {
        return None;
    }
    let way = tracee.path(dirfd, address)?;
    if flags & libc::O_TMPFILE == libc::O_TMPFILE {
        return Some(Change::Unknown {
            file: inode(&way)?,
            what: "a file without a name",
        });
    }
    Some(Change::Open {
        at: place_of(&way)?,
        follows_to: inode(&way),
        makes,
        empties,
    })
}

fn moves(tracee: Tracee, from: (i32, u64), to: (i32, u64), flags: u32) -> Option<Change> {
    Some(Change::Move {
        from: place(tracee, from.0, from.1)?,
        to: place(tracee, to.0, to.1)?,
        swaps: flags & libc::RENAME_EXCHANGE != 0,
    })
}

fn copied(tracee: Tracee, fd: i32, offset: u64) -> Option<Change> {
    let given = (offset != 0).then(|| tracee.read(offset, 8).ok()).flatten();
    let given = given
        .and_then(|bytes| bytes.try_into().ok())
        .map(u64::from_le_bytes);
    Some(Change::Copied {
        file: tracee.inode(fd)?,
        offset: start(tracee, fd, given)?,
    })
}

/// Where a call begins to write.
fn start(tracee: Tracee, fd: i32, offset: Option<u64>) -> Option<u64> {
    match (offset, tracee.position(fd)?) {
        (_, (_, true)) => Some(fs::metadata(tracee.descriptor(fd)).ok()?.len()),
        (Some(offset), _) => Some(offset),
        (None, (position, false)) => Some(position),
    }
}

fn place(tracee: Tracee, dirfd: i32, address: u64) -> Option<Place> {
    place_of(&tracee.path(dirfd, address)?)
}

fn place_of(way: &Path) -> Option<Place> {
    let name = way.file_name()?.to_owned();
    let dir: PathBuf = way.parent()?.to_owned();
    Some(Place {
        dir: inode(&dir)?,
        name,
        leads_to: link_inode(way),
        way: way.to_owned(),
    })
}
