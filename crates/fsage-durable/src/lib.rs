//! Files and folders that are there whole or not at all: after a kill, after a power cut, and whoever else works in the
//! same folder.
//!
//! What is written gets a temporary name that nobody can guess, in the folder where it will stand. When it is complete
//! it is synced, gets its own name in one step, and the folder is synced too: from then on it is on disk. Temporary
//! files and folders are locked while somebody works on them. The lock goes with the process, so what a dead one left
//! is known for certain, and the next one that writes under the same name removes it.
//!
//! Uses rustix alone, and no other crate of the workspace. Nothing here prints or asks a clock.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod error;
mod file;
mod folder;
mod lock;
mod names;
mod unnamed;

pub use error::FileError;
pub use file::{CompleteFile, PartialFile, refuse_existing, rename_new, write};
pub use folder::{TemporaryFolder, exchange, make_folders, parent_of, remove_folder, sync_folder};
pub use lock::{FolderLock, Holder, LockError};
pub use unnamed::unnamed_file;
