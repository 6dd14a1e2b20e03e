//! The types and traits that every part of fsage shares.
//!
//! Two things travel through the whole program: a workload, which is a stream of [`Event`]s, and a
//! [`Layout`], which is what a file system made of it. A [`FileSystem`] turns the first into the second.
//!
//! This crate knows no files, threads, terminals or Arrow, so that simulators that build on it compile in
//! seconds and can be embedded anywhere.

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod event;
pub mod file_system;
pub mod identity;
pub mod io;
pub mod keys;
pub mod layout;
pub mod layout_in_memory;
pub mod log_usage;
pub mod names;
pub mod op_counts;
pub mod operations;
pub mod rng;
pub mod short_lived;
pub mod size;
pub mod snapshot;
pub mod tree_order;
pub mod words;

pub use event::{
    DirId, Event, EventSink, EventSource, EventsInMemory, FileId, IdMut, Op, Origin, SinkError,
    TQuality, Verb, WorkloadHeader,
};
pub use file_system::{FileSystem, Inconsistency, Outcome, StateError};
pub use io::{BlockMap, Buffer, BufferId, Flush, Hosted, Io, Work};
pub use layout::{Change, Extent, FileKind, FileView, Geometry, Layout, Run, Space};
pub use layout_in_memory::LayoutInMemory;
pub use log_usage::{LiveClass, LogUsage};
pub use op_counts::OpCounts;
pub use rng::Rng;
pub use snapshot::{SnapshotSink, SnapshotSource};
pub use tree_order::TreeOrder;
