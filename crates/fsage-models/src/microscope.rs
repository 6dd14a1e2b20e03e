//! Models under the microscope: what their original prints or can be traced to do, from the same script, to be compared
//! line by line.

use crate::AnyModel;
use fsage_core::Event;
use std::fmt;
use std::io::{self, Write};
use thiserror::Error;

/// Puts a model under it to look at one inode alone, by its number.
pub type OverInode = fn(Box<dyn AnyModel>, u64) -> Option<Trace>;

/// What there is to look at a model with.
#[derive(Clone, Copy, Debug)]
pub struct Microscope {
    /// What is printed, in a few words.
    pub prints: &'static str,
    /// Puts a model under it; `None` for one of another kind, or with a layer over it.
    pub over: fn(Box<dyn AnyModel>) -> Option<Trace>,
    /// The same, to look at one inode alone, where that can be.
    pub over_inode: Option<OverInode>,
}

/// A model under the microscope, by the form of the scripts that it plays.
#[derive(Debug)]
pub enum Trace {
    /// Workloads in the text form.
    Workload(Box<dyn WorkloadTrace>),
    /// Scripts of a form of their own.
    Script(Box<dyn ScriptTrace>),
}

/// What an allocator may take of a group, in blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FreeGroup {
    /// Free blocks.
    pub free: u64,
    /// The runs in which they lie.
    pub runs: u64,
    /// The longest of these.
    pub longest: u64,
    /// The longest power of two that lies free at a multiple of itself, where data may take it as such; else 0.
    pub aligned: u64,
}

/// Plays a workload in the text form.
pub trait WorkloadTrace: fmt::Debug {
    /// Applies an operation or prints a probe. `line` is the script's line as read.
    ///
    /// # Errors
    /// Writing to `out`.
    fn step(&mut self, event: &Event, line: &[u8], out: &mut dyn Write) -> io::Result<()>;

    /// Prints that a line could not even be read as an operation.
    ///
    /// # Errors
    /// Writing to `out`.
    fn bad_line(&mut self, line: &[u8], out: &mut dyn Write) -> io::Result<()>;

    /// What the allocator may take of each group now; none of one that is not asked for its groups.
    fn free_groups(&self) -> Vec<FreeGroup> {
        Vec::new()
    }

    /// The end of the workload.
    ///
    /// # Errors
    /// Writing to `out`.
    fn finish(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

/// Plays a script of a form of its own.
pub trait ScriptTrace: fmt::Debug {
    /// Plays one line. A line of much work asks `go_on` now and then.
    ///
    /// # Errors
    /// A line that is no operation or does not fit the state; writing to `out`; what `go_on` fails with.
    fn step(
        &mut self,
        line: &str,
        out: &mut dyn Write,
        go_on: &dyn Fn() -> io::Result<()>,
    ) -> Result<(), TraceError>;

    /// The end of the script.
    ///
    /// # Errors
    /// Writing to `out`.
    fn finish(&mut self, out: &mut dyn Write) -> Result<(), TraceError>;
}

/// Why a script ends early.
#[derive(Debug, Error)]
pub enum TraceError {
    /// A line that is no operation.
    #[error("`{line}`: expected {expected}")]
    Line {
        /// The line.
        line: String,
        /// What was expected.
        expected: String,
    },
    /// An operation that does not fit the state, or found no space.
    #[error("`{line}`: {reason}")]
    Operation {
        /// The line.
        line: String,
        /// What is wrong.
        reason: String,
    },
    /// What was to be printed could not be.
    #[error(transparent)]
    Output(#[from] io::Error),
}
