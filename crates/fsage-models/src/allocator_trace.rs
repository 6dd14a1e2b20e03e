//! An allocator under the microscope: every request for blocks and what served it, in the form of the kernel's trace
//! events, so that a trace of the kernel can be held against it.
//!
//! First comes a line `#` with the names of the columns. Then each line of the script as a comment, and behind it the
//! requests that it caused, one a line, with tabs between fields. An operation that failed is followed by a comment
//! that says how.

use crate::microscope::{self, Microscope, WorkloadTrace};
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
}

/// What the laboratory knows of it.
pub const fn microscope<F: TracedAllocator>() -> Microscope {
    Microscope {
        prints: "every request for blocks and what served it, as the kernel's trace events have them",
        is_by_inode: true,
        over: |fs| {
            let fs = (fs as Box<dyn Any>).downcast::<F>().ok()?;
            Some(microscope::Trace::Workload(Box::new(Trace::new(*fs))))
        },
    }
}

/// A model whose allocator is traced.
#[derive(Debug)]
pub struct Trace<F> {
    fs: F,
    has_header: bool,
    /// The last line was the end of a day, or there was none.
    is_whole_day: bool,
}

impl<F: TracedAllocator> Trace<F> {
    /// Puts a file system under the microscope.
    pub fn new(mut fs: F) -> Trace<F> {
        fs.record_requests();
        Trace {
            fs,
            has_header: false,
            is_whole_day: true,
        }
    }

    fn print_line(&mut self, line: &[u8], out: &mut dyn Write) -> io::Result<()> {
        if !std::mem::replace(&mut self.has_header, true) {
            writeln!(out, "#{}", F::COLUMNS)?;
        }
        out.write_all(b"# ")?;
        out.write_all(line.trim_ascii_end())?;
        out.write_all(b"\n")
    }

    fn print_requests(&mut self, out: &mut dyn Write) -> io::Result<()> {
        for served in self.fs.take_requests() {
            writeln!(out, "{served}")?;
        }
        Ok(())
    }
}

impl<F: TracedAllocator> WorkloadTrace for Trace<F> {
    fn step(&mut self, event: &Event, line: &[u8], out: &mut dyn Write) -> io::Result<()> {
        self.print_line(line, out)?;
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
        self.print_requests(out)?;
        match outcome {
            Ok(Outcome::Done | Outcome::Ignored) => Ok(()),
            Ok(Outcome::NoSpace | Outcome::NoInode) => out.write_all(b"# ENOSPC\n"),
            Ok(Outcome::TooLarge) => out.write_all(b"# EFBIG\n"),
            Ok(Outcome::Absent) => out.write_all(b"# skipped\n"),
            Err(error) => writeln!(out, "# BADOP: {error}"),
        }
    }

    fn bad_line(&mut self, line: &[u8], out: &mut dyn Write) -> io::Result<()> {
        self.print_line(line, out)?;
        out.write_all(b"# BADOP\n")
    }

    fn finish(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if self.is_whole_day {
            return Ok(());
        }
        self.print_line(b"(the end)", out)?;
        self.fs.end_day();
        self.print_requests(out)
    }
}
