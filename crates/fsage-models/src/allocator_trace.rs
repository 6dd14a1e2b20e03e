//! An allocator under the microscope: every request for blocks and what served it, in the form of the kernel's trace
//! events, so that a trace of the kernel can be held against it.
//!
//! First comes a line `#` with the names of the columns. Then each line of the script as a comment, and behind it the
//! requests that it caused, one a line, with tabs between fields. An operation that failed is followed by a comment
//! that says how.

use crate::microscope::{self, FreeGroup, Microscope, WorkloadTrace};
use crate::registry::AnyModel;
use fsage_core::{Event, Op, Outcome};
use std::any::Any;
use std::fmt::Display;
use std::io::{self, Write};

/// A model whose allocator can be traced.
pub trait TracedAllocator: AnyModel {
    /// A request with what served it; shown as one line.
    type Served: Display;

    /// Names of the fields of that line, with tabs between them.
    const COLUMNS: &str;

    /// Lists requests from now on.
    fn record_requests(&mut self);

    /// Requests since the last call, in order.
    fn take_requests(&mut self) -> Vec<Self::Served>;

    /// The inode that a request was for; 0 where it was for none.
    fn inode_of(served: &Self::Served) -> u64;

    /// What may be taken of each group, where it searches them for runs of free blocks.
    fn free_groups(&self) -> Vec<FreeGroup> {
        Vec::new()
    }
}

/// What the laboratory knows of it.
pub const fn microscope<F: TracedAllocator>() -> Microscope {
    Microscope {
        prints: "every request for blocks and what served it, as the kernel's trace events have them",
        over: |fs| over::<F>(fs, None),
        over_inode: Some(|fs, inode| over::<F>(fs, Some(inode))),
    }
}

fn over<F: TracedAllocator>(
    fs: Box<dyn AnyModel>,
    inode: Option<u64>,
) -> Option<microscope::Trace> {
    let mut fs = *(fs as Box<dyn Any>).downcast::<F>().ok()?;
    fs.record_requests();
    let trace = Trace {
        fs,
        inode,
        has_header: false,
        is_whole_day: true,
    };
    Some(microscope::Trace::Workload(Box::new(trace)))
}

/// A model whose allocator is traced.
#[derive(Debug)]
struct Trace<F> {
    fs: F,
    /// The only inode whose requests are printed.
    inode: Option<u64>,
    has_header: bool,
    /// The last line was the end of a day, or there was none.
    is_whole_day: bool,
}

impl<F: TracedAllocator> Trace<F> {
    /// Prints a line of the script, the requests that it caused, and how it failed; of one inode what is of it alone.
    fn print(&mut self, line: &[u8], failed: Option<&str>, out: &mut dyn Write) -> io::Result<()> {
        if !std::mem::replace(&mut self.has_header, true) {
            writeln!(out, "#{}", F::COLUMNS)?;
        }
        let mut served = self.fs.take_requests();
        if let Some(inode) = self.inode {
            served.retain(|served| F::inode_of(served) == inode);
            if served.is_empty() {
                return Ok(());
            }
        }
        out.write_all(b"# ")?;
        out.write_all(line.trim_ascii_end())?;
        out.write_all(b"\n")?;
        for served in served {
            writeln!(out, "{served}")?;
        }
        match failed.filter(|_| self.inode.is_none()) {
            Some(failed) => writeln!(out, "# {failed}"),
            None => Ok(()),
        }
    }
}

impl<F: TracedAllocator> WorkloadTrace for Trace<F> {
    fn step(&mut self, event: &Event, line: &[u8], out: &mut dyn Write) -> io::Result<()> {
        if let Some(t_ns) = event.t_ns {
            self.fs.set_time(t_ns);
        }
        self.is_whole_day = event.op == Op::Day;
        let outcome = if self.is_whole_day {
            self.fs.end_day();
            self.fs.begin_day();
            Ok(Outcome::Done)
        } else {
            if let Some(name) = &event.name {
                self.fs.name_next(name);
            }
            self.fs.apply(&event.op)
        };
        let bad_op;
        let failed = match outcome {
            Ok(Outcome::Done | Outcome::Ignored) => None,
            Ok(Outcome::NoSpace | Outcome::NoInode) => Some("ENOSPC"),
            Ok(Outcome::TooLarge) => Some("EFBIG"),
            Ok(Outcome::Absent) => Some("skipped"),
            Err(error) => {
                bad_op = format!("BADOP: {error}");
                Some(bad_op.as_str())
            }
        };
        self.print(line, failed, out)
    }

    fn bad_line(&mut self, line: &[u8], out: &mut dyn Write) -> io::Result<()> {
        self.print(line, Some("BADOP"), out)
    }

    fn free_groups(&self) -> Vec<FreeGroup> {
        self.fs.free_groups()
    }

    fn finish(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if self.is_whole_day {
            return Ok(());
        }
        self.fs.end_day();
        self.print(b"(the end)", None, out)
    }
}
