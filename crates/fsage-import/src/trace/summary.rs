//! What was read from a trace, what was made of it, and where something was guessed.

use std::fmt;

/// A line that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine {
    log: String,
    number: u64,
    expected: &'static str,
    text: String,
}

impl BadLine {
    pub(crate) fn new(log: &str, number: u64, expected: &'static str, line: &[u8]) -> BadLine {
        const MOST: usize = 80;
        let cut = &line[..line.len().min(MOST)];
        let dots = if line.len() > MOST { "..." } else { "" };
        BadLine {
            log: log.to_owned(),
            number,
            expected,
            text: format!("\"{}\"{dots}", cut.escape_ascii()),
        }
    }
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BadLine {
            log,
            number,
            expected,
            text,
        } = self;
        write!(f, "{log}:{number}: expected {expected}, found {text}")
    }
}

/// Counts of every trace. Files and bytes are those inside the roots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceSummary {
    /// Lines read.
    pub lines: u64,
    /// Lines that could not be read.
    pub bad_lines: u64,
    /// The first few of them.
    pub first_bad: Vec<BadLine>,
    /// Calls that say something about names, sizes or data.
    pub calls_used: u64,
    /// Calls of other kinds, and calls without a usable path.
    pub calls_ignored: u64,
    /// Calls that failed; they change nothing.
    pub calls_failed: u64,
    /// Files made.
    pub creates: u64,
    /// Of them, symbolic links.
    pub symlinks: u64,
    /// Names removed by a call, successful or at least not failed; replacements are not among them.
    pub unlinks: u64,
    /// Renames of files and directories.
    pub renames: u64,
    /// Renames onto a file that the trace had made.
    pub replaced: u64,
    /// Renames onto a file that existed before the trace.
    pub replaced_before: u64,
    /// Hard links made.
    pub links: u64,
    /// Directories made.
    pub mkdirs: u64,
    /// Directories removed.
    pub rmdirs: u64,
    /// Files made by the trace whose last name went.
    pub deletes: u64,
    /// Removals of a file which the trace had not shown before.
    pub unknown_deletes: u64,
    /// Files made by the trace and alive at its end.
    pub survivors: u64,
    /// Their bytes.
    pub survivor_bytes: u64,
    /// Bytes written to files, as the calls returned them.
    pub bytes_written: u64,
    /// Of them, bytes written again inside a merged operation: no operation of the workload has them.
    pub bytes_absorbed: u64,
    /// Files made at the start because they existed before.
    pub initial_files: u64,
    /// Their bytes, as far as the trace shows them.
    pub initial_bytes: u64,
    /// Of these files, those of which no size is known: they are empty.
    pub initial_sizes_unknown: u64,
    /// Directories made at the start.
    pub initial_dirs: u64,
    /// Guessed: files first seen where the trace had shown none, taken as made at that time.
    pub appeared: u64,
    /// Guessed: names and directories taken as removed because something else has their place.
    pub implied_deletes: u64,
    /// Guessed: sizes corrected by what a later line says.
    pub sizes_corrected: u64,
    /// Calls that contradict what the trace said before; left out.
    pub contradictions: u64,
    /// Calls on files that existed before, left out (`only_new`).
    pub left_out_before: u64,
    /// Time of the first line, nanoseconds since 1970 or the epoch of the log.
    pub first_t_ns: Option<i64>,
    /// Latest time.
    pub last_t_ns: Option<i64>,
    /// Lines earlier than the one before them.
    pub times_going_down: u64,
}

impl TraceSummary {
    pub(crate) fn bad_line(&mut self, bad: BadLine) {
        const KEPT: usize = 5;
        self.bad_lines += 1;
        if self.first_bad.len() < KEPT {
            self.first_bad.push(bad);
        }
    }
}
