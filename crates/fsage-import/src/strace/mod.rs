//! strace logs as workloads: `strace -f -ttt -y -s 0 -o LOG -e trace=...`.
//!
//! Descriptors are followed through `dup`, `fork` and threads, so that every write has its offset; current
//! directories, so that every path is known; interrupted calls are joined and take effect where they return.
//! Writes count as what the call returned. `-y` is required: it tells the file behind every descriptor, also of
//! those opened before the trace.
//!
//! The path that strace prints behind a descriptor is the file's current one, so it also finds the way back
//! where the log lacks something: a descriptor whose path is not that of its file is looked up again.

mod absent;
mod args;
mod files;
mod line;
mod process;
mod tree;

use crate::trace::{self, Fault, Format, Log, Namespace, TraceError, TraceOptions, TraceSummary};
use absent::Absent;
use args::{Args, Descriptor, Return};
use fsage_core::{EventSink, WorkloadHeader};
use line::{Line, Says};
use process::{Process, Unfinished};
use rustc_hash::FxHashMap;
use std::io;

/// What was read and made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StraceSummary {
    /// What every trace has.
    pub trace: TraceSummary,
    /// Guessed: of the files made, those whose call would also have opened an old file, and nothing showed that
    /// there was none.
    pub uncertain_creates: u64,
    /// Guessed: of the files made, those that were read before, so that the call may have made nothing.
    pub creates_of_read: u64,
    /// Calls with a relative path by a process whose directory is not known; left out.
    pub unknown_directories: u64,
    /// Writes through descriptors opened before the log or without it; taken as appends.
    pub guessed_offsets: u64,
    /// Whether the log has `lseek` calls. Without them all writes are taken as going on where the last one
    /// ended.
    pub has_lseek: bool,
    /// First halves of calls that never returned.
    pub unreturned_calls: u64,
}

/// What can be said of the workload before a log is read: times are Unix times, and where it came from.
pub fn header(names: &[String]) -> WorkloadHeader {
    WorkloadHeader {
        epoch_unix_s: Some(0),
        source: Some(format!("strace log {}", names.join(", "))),
        ..WorkloadHeader::default()
    }
}

/// Reads logs in order, as one trace, and gives its events to `sink`. Unless [`TraceOptions::only_new`] is set
/// they are read twice. `go_on` is asked now and then.
///
/// Times are nanoseconds since 1970-01-01 UTC.
///
/// # Errors
/// A log cannot be read, more than 1 % of its lines are not strace's, it was recorded without `-y`, or the sink
/// failed.
pub fn import(
    logs: &mut [Log<'_>],
    options: &TraceOptions,
    sink: &mut dyn EventSink,
    go_on: &mut dyn FnMut() -> io::Result<()>,
) -> Result<StraceSummary, TraceError> {
    let made = trace::import(logs, options, "an strace log", sink, go_on, |ns, _| {
        Strace::new(ns)
    })?;
    Ok(made.into_summary())
}

/// Directories that no disk has.
const NOT_ON_DISK: &[&[u8]] = &[b"/proc", b"/sys", b"/dev"];

const MOST_ARGUMENTS: usize = 8;

/// A call that returned.
struct Call<'a> {
    pid: u64,
    t_ns: i64,
    args: [&'a [u8]; MOST_ARGUMENTS],
    ret: Return<'a>,
}

impl<'a> Call<'a> {
    fn read(pid: u64, t_ns: i64, text: &'a [u8]) -> Result<Call<'a>, Fault> {
        let mut args = Args::new(text);
        let mut list: [&[u8]; MOST_ARGUMENTS] = [&[]; MOST_ARGUMENTS];
        for place in &mut list {
            match args.next() {
                Some(argument) => *place = argument,
                None => break,
            }
        }
        let ret = args
            .result()
            .ok_or(Fault::Bad("call(arguments) = result"))?;
        Ok(Call {
            pid,
            t_ns,
            args: list,
            ret,
        })
    }

    /// The result, unless it is an error or none.
    fn value(&self) -> Option<u64> {
        self.ret.value.and_then(|v| u64::try_from(v).ok())
    }

    fn missing(&self) -> bool {
        self.ret.error == Some(b"ENOENT")
    }

    fn descriptor(&self, index: usize) -> Result<Descriptor<'a>, Fault> {
        Descriptor::read(self.args[index]).ok_or(Fault::Bad("a descriptor"))
    }

    fn unsigned(&self, index: usize) -> Result<u64, Fault> {
        args::unsigned(self.args[index]).ok_or(Fault::Bad("a number that is not negative"))
    }
}

fn has(text: &[u8], what: &[u8]) -> bool {
    memchr::memmem::find(text, what).is_some()
}

struct Strace<'s> {
    ns: Namespace<'s>,
    processes: FxHashMap<u64, Process>,
    absent: Absent,
    /// Lines so far, over all logs.
    lines: u64,
    /// Whether a descriptor with a path was seen.
    has_paths: bool,
    /// Renames so far: after one, the path of a descriptor may be another file's.
    renames: u64,
    counts: StraceSummary,
    /// Buffers that are used again.
    decoded: Vec<u8>,
    base: Vec<u8>,
    one: Vec<u8>,
    other: Vec<u8>,
}

impl<'s> Format<'s> for Strace<'s> {
    fn namespace(&mut self) -> &mut Namespace<'s> {
        &mut self.ns
    }

    fn read(
        &mut self,
        log: &mut Log<'_>,
        go_on: &mut dyn FnMut() -> io::Result<()>,
    ) -> Result<(), TraceError> {
        trace::read_lines(self, log, go_on, Self::line)
    }
}

impl<'s> Strace<'s> {
    fn new(mut ns: Namespace<'s>) -> Strace<'s> {
        ns.leave_out(NOT_ON_DISK);
        Strace {
            ns,
            processes: FxHashMap::default(),
            absent: Absent::default(),
            lines: 0,
            has_paths: false,
            renames: 0,
            counts: StraceSummary::default(),
            decoded: Vec::new(),
            base: Vec::new(),
            one: Vec::new(),
            other: Vec::new(),
        }
    }

    fn into_summary(mut self) -> StraceSummary {
        let halves = self.processes.values().filter(|p| p.unfinished.is_some());
        self.counts.unreturned_calls += halves.count() as u64;
        StraceSummary {
            trace: self.ns.summary,
            ..self.counts
        }
    }

    fn line(&mut self, line: &[u8]) -> Result<(), Fault> {
        self.lines += 1;
        let Line { pid, t_ns, says } = line::parse(line).map_err(Fault::Bad)?;
        self.ns.tick(t_ns);
        match says {
            Says::Call { name, args } => self.call(pid, t_ns, name, args),
            Says::Unfinished { name, args } => {
                let line = self.lines;
                let process = self.process(pid);
                let mut half = process.unfinished.take().unwrap_or_default();
                half.name.clear();
                half.name.extend_from_slice(name);
                half.args.clear();
                half.args.extend_from_slice(args);
                half.t_ns = t_ns;
                half.line = line;
                process.unfinished = Some(half);
                Ok(())
            }
            Says::Resumed { name, rest } => {
                let half = self.process(pid).unfinished.take();
                let Some(mut half) = half.filter(|h| h.name == name) else {
                    return Err(Fault::Bad("the first half of the call before"));
                };
                half.args.extend_from_slice(rest);
                let Unfinished { args, t_ns, .. } = half;
                self.call(pid, t_ns, name, &args)
            }
            Says::Exit => {
                if let Some(process) = self.processes.remove(&pid) {
                    self.counts.unreturned_calls += u64::from(process.unfinished.is_some());
                }
                Ok(())
            }
            Says::Signal => Ok(()),
        }
    }

    /// The process; one that shows up while another makes a child is that child.
    fn process(&mut self, pid: u64) -> &mut Process {
        if !self.processes.contains_key(&pid) {
            let parent = self
                .processes
                .values()
                .filter_map(|p| p.unfinished.as_ref().map(|u| (u.line, p, u)))
                .filter(|(_, _, u)| is_clone(&u.name))
                .max_by_key(|(line, _, _)| *line);
            let process = match parent {
                Some((_, parent, half)) => parent.child(&half.args),
                None => Process::orphan(),
            };
            self.processes.insert(pid, process);
        }
        self.processes.entry(pid).or_default()
    }

    fn call(&mut self, pid: u64, t_ns: i64, name: &[u8], args: &[u8]) -> Result<(), Fault> {
        let Some(kind) = kind(name) else {
            self.ns.summary.calls_ignored += 1;
            return Ok(());
        };
        // The most frequent calls: only a missing file, and the size of an old one, matter.
        if matches!(kind, Kind::Look { .. })
            && !args.ends_with(b"(No such file or directory)")
            && !has(args, b"S_IFREG")
        {
            self.ns.summary.calls_ignored += 1;
            return Ok(());
        }
        let call = Call::read(pid, t_ns, args)?;
        if call.ret.error.is_some() {
            self.ns.summary.calls_failed += 1;
        } else {
            self.ns.summary.calls_used += 1;
        }
        match kind {
            Kind::Open { at } => self.open(&call, at, false),
            Kind::Creat => self.open(&call, false, true),
            Kind::Write { positional } => self.write(&call, positional),
            Kind::Read { positional } => self.read(&call, positional),
            Kind::Seek => self.seek(&call),
            Kind::Ftruncate => self.ftruncate(&call),
            Kind::Truncate => self.truncate(&call),
            Kind::Fallocate => self.fallocate(&call),
            Kind::CopyRange => self.copy_range(&call),
            Kind::Sendfile => self.sendfile(&call),
            Kind::Dup { new } => self.dup(&call, new),
            Kind::Fcntl => self.fcntl(&call),
            Kind::Close => self.close(&call),
            Kind::Fsync => self.fsync(&call),
            Kind::Sync => self.sync(&call),
            Kind::Look { at } => self.look(&call, at),
            Kind::Unlink { at, dir } => self.unlink(&call, at, dir),
            Kind::Mkdir { at } => self.mkdir(&call, at),
            Kind::Rename { at } => self.rename(&call, at),
            Kind::Link { at } => self.link(&call, at),
            Kind::Symlink { at } => self.symlink(&call, at),
            Kind::Chdir => self.chdir(&call),
            Kind::Fchdir => self.fchdir(&call),
            Kind::Getcwd => {
                self.getcwd(&call);
                Ok(())
            }
            Kind::Clone => {
                self.clone_process(&call);
                Ok(())
            }
        }
    }
}

/// What a call does. `at`: its paths are relative to a descriptor.
#[derive(Clone, Copy)]
enum Kind {
    Open { at: bool },
    Creat,
    Write { positional: bool },
    Read { positional: bool },
    Seek,
    Ftruncate,
    Truncate,
    Fallocate,
    CopyRange,
    Sendfile,
    Dup { new: bool },
    Fcntl,
    Close,
    Fsync,
    Sync,
    Look { at: bool },
    Unlink { at: bool, dir: bool },
    Mkdir { at: bool },
    Rename { at: bool },
    Link { at: bool },
    Symlink { at: bool },
    Chdir,
    Fchdir,
    Getcwd,
    Clone,
}

fn kind(name: &[u8]) -> Option<Kind> {
    Some(match name {
        b"write" | b"writev" => Kind::Write { positional: false },
        b"pwrite64" | b"pwritev" | b"pwritev2" => Kind::Write { positional: true },
        b"read" | b"readv" => Kind::Read { positional: false },
        b"pread64" | b"preadv" | b"preadv2" => Kind::Read { positional: true },
        b"lseek" | b"_llseek" => Kind::Seek,
        b"close" => Kind::Close,
        b"openat" | b"openat2" => Kind::Open { at: true },
        b"open" => Kind::Open { at: false },
        b"creat" => Kind::Creat,
        b"stat" | b"lstat" | b"access" | b"readlink" | b"stat64" | b"lstat64" => {
            Kind::Look { at: false }
        }
        b"newfstatat" | b"fstatat64" | b"statx" | b"fstat" | b"fstat64" | b"faccessat"
        | b"faccessat2" | b"readlinkat" => Kind::Look { at: true },
        b"ftruncate" | b"ftruncate64" => Kind::Ftruncate,
        b"truncate" | b"truncate64" => Kind::Truncate,
        b"fallocate" => Kind::Fallocate,
        b"copy_file_range" => Kind::CopyRange,
        b"sendfile" | b"sendfile64" => Kind::Sendfile,
        b"dup" => Kind::Dup { new: false },
        b"dup2" | b"dup3" => Kind::Dup { new: true },
        b"fcntl" | b"fcntl64" => Kind::Fcntl,
        b"fsync" | b"fdatasync" => Kind::Fsync,
        b"sync" | b"syncfs" => Kind::Sync,
        b"unlink" => Kind::Unlink {
            at: false,
            dir: false,
        },
        b"rmdir" => Kind::Unlink {
            at: false,
            dir: true,
        },
        b"unlinkat" => Kind::Unlink {
            at: true,
            dir: false,
        },
        b"mkdir" => Kind::Mkdir { at: false },
        b"mkdirat" => Kind::Mkdir { at: true },
        b"rename" => Kind::Rename { at: false },
        b"renameat" | b"renameat2" => Kind::Rename { at: true },
        b"link" => Kind::Link { at: false },
        b"linkat" => Kind::Link { at: true },
        b"symlink" => Kind::Symlink { at: false },
        b"symlinkat" => Kind::Symlink { at: true },
        b"chdir" => Kind::Chdir,
        b"fchdir" => Kind::Fchdir,
        b"getcwd" => Kind::Getcwd,
        _ if is_clone(name) => Kind::Clone,
        _ => return None,
    })
}

fn is_clone(name: &[u8]) -> bool {
    matches!(name, b"clone" | b"clone3" | b"fork" | b"vfork")
}
