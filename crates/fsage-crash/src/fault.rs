//! One system call of a program fails.

use crate::changes::{self, Change};
use crate::tracee::{Call, Tracee};
use crate::tracer::{Ended, Program, Verdict, Watcher, run};
use nix::errno::Errno;
use std::io;
use std::path::{Path, PathBuf};

/// How a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The disk does not work.
    Io,
    /// The disk is full.
    NoSpace,
    /// The user's share of the disk is used up.
    Quota,
    /// A signal came between.
    Interrupted,
    /// Only half of the bytes are written.
    Short,
}

impl Fault {
    /// All of them.
    pub const ALL: [Fault; 5] = [
        Fault::Io,
        Fault::NoSpace,
        Fault::Quota,
        Fault::Interrupted,
        Fault::Short,
    ];
}

/// What a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Opens a file to write, or makes one.
    Open,
    /// Makes a directory, a link or a further name.
    Make,
    /// Removes a name.
    Remove,
    /// Moves a name.
    Move,
    /// Writes bytes.
    Write,
    /// Sets a length or asks for space.
    Size,
    /// Forces something to disk.
    Sync,
}

/// A call that changes something below a folder.
#[derive(Clone, Debug)]
pub struct Place {
    /// What it does.
    pub kind: Kind,
    /// What it does it to, from the folder.
    pub path: PathBuf,
}

/// The calls of a program that change something below a folder, in order.
///
/// # Errors
/// It cannot be run or traced.
pub fn calls(program: &Program, folder: &Path) -> io::Result<(Vec<Place>, Ended)> {
    let mut injector = Injector::new(folder, None);
    let ended = run(program, &mut injector)?;
    Ok((injector.met, ended))
}

/// Runs a program whose n-th call that changes something below a folder fails, counted from 0. Gives which call that
/// was; none where there were not so many, or where it cannot fail so.
///
/// # Errors
/// It cannot be run or traced.
pub fn with_fault(
    program: &Program,
    folder: &Path,
    n: usize,
    fault: Fault,
) -> io::Result<(Option<Place>, Ended)> {
    let mut injector = Injector::new(folder, Some((n, fault)));
    let ended = run(program, &mut injector)?;
    let place = injector.failed.then(|| injector.met.swap_remove(n));
    Ok((place, ended))
}

struct Injector {
    folder: PathBuf,
    fault: Option<(usize, Fault)>,
    met: Vec<Place>,
    failed: bool,
}

impl Injector {
    fn new(folder: &Path, fault: Option<(usize, Fault)>) -> Injector {
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        Injector {
            folder,
            fault,
            met: Vec::new(),
            failed: false,
        }
    }

    /// Where something is, from the folder; none outside of it.
    fn place(&self, way: &Path) -> Option<PathBuf> {
        let dir = way.parent()?.canonicalize().ok()?;
        let path = match std::fs::read_link(way) {
            // A descriptor.
            Ok(open) if way.starts_with("/proc") => open,
            _ => dir.join(way.file_name()?),
        };
        path.strip_prefix(&self.folder).ok().map(Path::to_owned)
    }
}

impl Watcher for Injector {
    fn before(&mut self, tracee: Tracee, call: &Call) -> Verdict {
        let Some(change) = changes::of(tracee, call) else {
            return Verdict::Let;
        };
        let (kind, way) = match &change {
            Change::Open { at, .. } => (Kind::Open, at.way.clone()),
            Change::Mkdir { at } | Change::Symlink { at, .. } | Change::Link { at, .. } => {
                (Kind::Make, at.way.clone())
            }
            Change::Remove { at } => (Kind::Remove, at.way.clone()),
            Change::Move { to, .. } => (Kind::Move, to.way.clone()),
            Change::Copied { .. } if call.number == libc::SYS_copy_file_range => {
                (Kind::Write, tracee.descriptor(call.fd(2)))
            }
            Change::Write { .. } | Change::Copied { .. } => {
                (Kind::Write, tracee.descriptor(call.fd(0)))
            }
            Change::Size { .. } | Change::Allocate { .. } => {
                (Kind::Size, tracee.descriptor(call.fd(0)))
            }
            Change::Sync { .. } | Change::SyncAll { file: Some(_) } => {
                (Kind::Sync, tracee.descriptor(call.fd(0)))
            }
            Change::SyncAll { file: None } | Change::Unknown { .. } => return Verdict::Let,
        };
        let Some(path) = self.place(&way) else {
            return Verdict::Let;
        };
        self.met.push(Place { kind, path });
        match self.fault {
            Some((n, fault)) if n + 1 == self.met.len() => {
                let verdict = verdict(fault, kind, call);
                self.failed = verdict != Verdict::Let;
                verdict
            }
            _ => Verdict::Let,
        }
    }

    fn after(&mut self, _: Tracee, _: &Call, _: i64) {}
}

/// What a fault makes of a call; nothing where the call cannot fail so.
fn verdict(fault: Fault, kind: Kind, call: &Call) -> Verdict {
    match fault {
        Fault::Io => Verdict::Fail(Errno::EIO),
        Fault::NoSpace | Fault::Quota if matches!(kind, Kind::Remove) => Verdict::Let,
        Fault::NoSpace => Verdict::Fail(Errno::ENOSPC),
        Fault::Quota => Verdict::Fail(Errno::EDQUOT),
        Fault::Interrupted if matches!(kind, Kind::Open | Kind::Write | Kind::Sync) => {
            Verdict::Fail(Errno::EINTR)
        }
        Fault::Short
            if matches!(call.number, libc::SYS_write | libc::SYS_pwrite64) && call.args[2] > 1 =>
        {
            Verdict::Short(call.args[2] / 2)
        }
        Fault::Interrupted | Fault::Short => Verdict::Let,
    }
}
