//! Simulated file systems: exact models of how an allocator lays out files.
//!
//! Each model is one folder, and one line of the list below; each allocation policy is one file under
//! `<model>/policy/`. A model knows no clock, no disk and no threads: the same operations give the same addresses on
//! every machine. It uses `fsage-core`, and `fsage-input` to read images.

#![deny(clippy::print_stdout, clippy::print_stderr)]

/// Declares the folders of models, and lists what each says of itself.
macro_rules! models {
    ($($(#[$attribute:meta])* $model:ident)*) => {
        $($(#[$attribute])* pub mod $model;)*

        /// Every model, in the order of help and documentation.
        pub static MODELS: &[&registry::Entry] = &[$($(#[$attribute])* &$model::ENTRY),*];
    };
}

// A model is its folder, and a line here.
models! {
    ffs
    ext3
    ext4
    xfs
    lfs
    cffs
    null
    // The worked example of CONTRIBUTING.md, for tests alone.
    #[cfg(any(test, feature = "bump"))]
    bump
}

pub mod allocator_trace;
mod block_list;
mod changes;
mod clock;
mod findings;
pub mod image;
mod log;
pub mod microscope;
mod name_table;
mod names;
mod options;
mod pointers;
pub mod rearrange;
pub mod registry;
mod searched;

pub use options::ParamError;
pub use registry::{AnyModel, Entry, MakeError};

/// Targets of symbolic links below this length lie in the inode.
const FAST_SYMLINK: u64 = 60;
