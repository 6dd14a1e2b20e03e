//! Who works on an experiment: one process alone, or shards beside each other, each of them once.

use super::Shard;
use crate::error::Context;
use fsage_durable::{FolderLock, LockError};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// An experiment that this process works on, until this is dropped.
pub struct AtWork {
    _folder: FolderLock,
    _shard: Option<ShardLock>,
}

impl AtWork {
    /// Takes the folder of an experiment that is there, for a shard or for all of it.
    ///
    /// # Errors
    /// Another process is at work there; it says which one.
    pub fn begin(folder: &Path, shard: Option<Shard>) -> crate::Result<AtWork> {
        let Some(shard) = shard else {
            return Ok(AtWork {
                _folder: FolderLock::alone(folder)?,
                _shard: None,
            });
        };
        Ok(AtWork {
            _folder: FolderLock::shared(folder)?,
            _shard: Some(ShardLock::take(folder, shard)?),
        })
    }
}

/// A folder in that of the experiment which is there, locked, as long as its shard is at work.
struct ShardLock {
    path: PathBuf,
    lock: FolderLock,
}

impl ShardLock {
    fn take(experiment: &Path, shard: Shard) -> crate::Result<ShardLock> {
        let name = format!(".shard-{}-of-{}", shard.number + 1, shard.of);
        let path = experiment.join(name);
        loop {
            match fs::create_dir(&path) {
                // That of a dead process serves as well as a new one.
                Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                    let failed = || format!("{}: cannot make it", path.display());
                    return Err(error).with_context(failed);
                }
                _ => {}
            }
            match FolderLock::alone(&path) {
                // The other one has just ended.
                Err(LockError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {}
                lock => return Ok(ShardLock { lock: lock?, path }),
            }
        }
    }
}

impl Drop for ShardLock {
    fn drop(&mut self) {
        if self.lock.is_of(&self.path) {
            // While it is locked: the next one makes another.
            let _ = fs::remove_dir(&self.path);
        }
    }
}
