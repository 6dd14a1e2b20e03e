//! Temporary names, and what dead processes left under them.
//!
//! `.NAME.0123456789abcdef.partial`: hidden, beside what it will be, with 64 random bits from the kernel. Whoever makes
//! one locks it (`flock`) for as long as it lives.

use crate::folder::parent_of;
use crate::lock::{self, Lock};
use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};
use rustix::rand::{GetRandomFlags, getrandom};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

const ENDING: &[u8] = b".partial";
const RANDOM_DIGITS: usize = 16;
/// Of a longer name only the start is kept: names may have 255 bytes.
const LONGEST: usize = 200;
/// Somebody who takes every name that we make has more than a race in mind.
const TRIES: usize = 16;

/// What all temporary names of one file or folder begin with.
fn stem(of: &OsStr) -> Vec<u8> {
    let name = of.as_bytes();
    [b".", &name[..name.len().min(LONGEST)], b"."].concat()
}

/// Makes something under a temporary name beside `path` by `open`, which must fail where the name is taken; and locks
/// it.
pub(crate) fn make_locked(
    path: &Path,
    mut open: impl FnMut(&Path) -> io::Result<OwnedFd>,
) -> io::Result<(PathBuf, OwnedFd)> {
    let name = path.file_name().unwrap_or_default();
    for _ in 0..TRIES {
        let mut random = [0; RANDOM_DIGITS / 2];
        getrandom(&mut random, GetRandomFlags::empty())?;
        let mut temporary = stem(name);
        for byte in random {
            temporary.extend(format!("{byte:02x}").bytes());
        }
        temporary.extend(ENDING);
        let temporary = path.with_file_name(OsString::from_vec(temporary));
        let made = match open(&temporary) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            made => made?,
        };
        // Between the two steps another process may have taken it for what a dead one left.
        if lock::try_lock(&made)? != Lock::Held && lock::is_at(&made, &temporary) {
            return Ok((temporary, made));
        }
        // Whoever has it locked shall not keep it there.
        let removed = fs::remove_file(&temporary).or_else(|_| fs::remove_dir(&temporary));
        drop(removed);
    }
    Err(io::Error::new(
        io::ErrorKind::AlreadyExists,
        "every temporary name is taken by somebody else",
    ))
}

/// Temporary names that were there when this process first wrote to a folder, by folder.
static SEEN: Mutex<BTreeMap<PathBuf, Vec<OsString>>> = Mutex::new(BTreeMap::new());

/// Removes what dead processes left under temporary names of `path`, as far as it was there when this process first
/// wrote to that folder: a folder is listed once, be it as large as that of all cells of an experiment.
pub(crate) fn sweep(path: &Path) {
    let Ok(folder) = std::path::absolute(parent_of(path)) else {
        return;
    };
    let stem = stem(path.file_name().unwrap_or_default());
    let found: Vec<OsString> = {
        let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
        let names = seen
            .entry(folder.clone())
            .or_insert_with(|| temporaries(&folder, b"."));
        names
            .extract_if(.., |name| is_temporary(name.as_bytes(), &stem))
            .collect()
    };
    for name in found {
        sweep_one(&folder.join(name));
    }
}

/// Removes what dead processes left under temporary names of `path`; gives the folders that are alive.
pub(crate) fn sweep_now(path: &Path) -> Vec<OwnedFd> {
    let folder = parent_of(path);
    let found = temporaries(folder, &stem(path.file_name().unwrap_or_default()));
    let found = found.into_iter().map(|name| folder.join(name));
    found.filter_map(|path| sweep_one(&path)).collect()
}

/// The temporary names in a folder that begin so. One that cannot be listed may still be written to.
fn temporaries(folder: &Path, stem: &[u8]) -> Vec<OsString> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name());
    let is_ours = |name: &OsString| match stem {
        b"." => name.as_bytes().starts_with(b".") && name.as_bytes().ends_with(ENDING),
        stem => is_temporary(name.as_bytes(), stem),
    };
    names.filter(is_ours).collect()
}

fn is_temporary(name: &[u8], stem: &[u8]) -> bool {
    let random = name
        .strip_prefix(stem)
        .and_then(|rest| rest.strip_suffix(ENDING));
    random.is_some_and(|random| {
        random.len() == RANDOM_DIGITS && random.iter().all(u8::is_ascii_hexdigit)
    })
}

/// Removes one, if it is ours and its maker is dead.
fn sweep_one(path: &Path) -> Option<OwnedFd> {
    // Neither a link nor a pipe that somebody left under such a name is opened for real.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let found = openat(CWD, path, flags, Mode::empty()).ok()?;
    let stat = fstat(&found).ok()?;
    let kind = FileType::from_raw_mode(stat.st_mode);
    let is_ours = stat.st_uid == rustix::process::geteuid().as_raw();
    if !is_ours || !matches!(kind, FileType::RegularFile | FileType::Directory) {
        return None;
    }
    // Where others may rename what is ours, a folder of this name need not have been a temporary one.
    if kind == FileType::Directory && others_may_rename_in(parent_of(path)) {
        return None;
    }
    match lock::try_lock(&found) {
        Ok(Lock::Taken) if lock::is_at(&found, path) => {
            let removed = match kind {
                FileType::Directory => fs::remove_dir_all(path),
                _ => fs::remove_file(path),
            };
            // What cannot be removed now is tried again by the next one.
            drop(removed);
            None
        }
        Ok(Lock::Held) if kind == FileType::Directory => Some(found),
        // Without locks nobody can say whether its maker lives.
        _ => None,
    }
}

/// Whether other users may give names in a folder to what is not theirs.
fn others_may_rename_in(folder: &Path) -> bool {
    const STICKY: u32 = 0o1000;
    const OTHERS_WRITE: u32 = 0o022;
    fs::metadata(folder).map_or(true, |meta| {
        meta.mode() & STICKY == 0 && meta.mode() & OTHERS_WRITE != 0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_the_same_file_are_temporary_ones_of_it() {
        let stem = stem(OsStr::new("w.ops"));
        assert!(is_temporary(b".w.ops.0123456789abcdef.partial", &stem));
        for other in [
            &b".w.ops.0123456789abcdeg.partial"[..],
            b".w.ops.0123456789abcde.partial",
            b".w.ops.x.0123456789abcdef.partial",
            b".w.0123456789abcdef.partial",
            b"w.ops.0123456789abcdef.partial",
            b".w.ops.0123456789abcdef.partia",
        ] {
            assert!(!is_temporary(other, &stem));
        }
    }

    #[test]
    fn a_long_name_has_a_temporary_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x".repeat(255));
        let file = crate::PartialFile::create(&path, false).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        file.finish().unwrap();
        assert!(path.is_file());
    }
}
