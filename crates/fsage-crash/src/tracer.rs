//! Runs a program under `ptrace`, with all its threads and children, and shows every system call to a watcher.

use crate::registers;
use crate::tracee::{Call, Tracee};
use nix::errno::Errno;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// What to run.
#[derive(Clone, Debug)]
pub struct Program {
    words: Vec<OsString>,
    folder: PathBuf,
    output: PathBuf,
}

impl Program {
    /// A program with its arguments, run in a folder. What it prints goes to files in the folder `output`.
    pub fn new<A: AsRef<OsStr>>(
        program: impl AsRef<OsStr>,
        arguments: &[A],
        folder: &Path,
        output: &Path,
    ) -> Program {
        let words = [program.as_ref()];
        let words = words.into_iter().chain(arguments.iter().map(AsRef::as_ref));
        Program {
            words: words.map(OsStr::to_owned).collect(),
            folder: folder.to_owned(),
            output: output.to_owned(),
        }
    }
}

/// How a program ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Its exit status; none where a signal ended it.
    pub status: Option<i32>,
    /// What it said on standard error.
    pub message: String,
}

impl Ended {
    /// Status 0.
    pub fn is_done(&self) -> bool {
        self.status == Some(0)
    }
}

/// What becomes of a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is made.
    Let,
    /// It is not made, and gives this error.
    Fail(Errno),
    /// It is made for so many bytes only.
    Short(u64),
}

/// Sees every system call.
pub(crate) trait Watcher {
    /// Before it is made.
    fn before(&mut self, tracee: Tracee, call: &Call) -> Verdict;
    /// When it has given something.
    fn after(&mut self, tracee: Tracee, call: &Call, result: i64);
}

/// Whether programs can be traced here.
///
/// # Errors
/// Why not.
pub fn works_here() -> Result<(), String> {
    static ANSWER: OnceLock<Result<(), String>> = OnceLock::new();
    ANSWER.get_or_init(try_here).clone()
}

fn try_here() -> Result<(), String> {
    if !registers::KNOWN {
        return Err("system calls can be traced on x86-64 only".to_owned());
    }
    let tried = tempfile::tempdir().and_then(|folder| {
        let program = Program::new("true", &[""; 0], folder.path(), folder.path());
        run(&program, &mut Blind)
    });
    match tried {
        Ok(ended) if ended.is_done() => Ok(()),
        Ok(ended) => Err(format!("a traced program ended with {:?}", ended.status)),
        Err(error) => Err(format!("programs cannot be traced here: {error}")),
    }
}

struct Blind;

impl Watcher for Blind {
    fn before(&mut self, _: Tracee, _: &Call) -> Verdict {
        Verdict::Let
    }

    fn after(&mut self, _: Tracee, _: &Call, _: i64) {}
}

/// Runs a program to its end.
pub(crate) fn run(program: &Program, watcher: &mut dyn Watcher) -> io::Result<Ended> {
    let messages = program.output.join("stderr");
    // It stops itself, so that nothing has happened when it is traced.
    let child = Command::new("sh")
        .args(["-c", "kill -STOP $$; exec \"$@\"", "sh"])
        .args(&program.words)
        .current_dir(&program.folder)
        .stdin(Stdio::null())
        .stdout(File::create(program.output.join("stdout"))?)
        .stderr(File::create(&messages)?)
        .spawn()?;
    let first = Pid::from_raw(child.id().cast_signed());
    waitpid(first, Some(WaitPidFlag::WUNTRACED))?;
    let options = Options::PTRACE_O_TRACESYSGOOD
        | Options::PTRACE_O_TRACECLONE
        | Options::PTRACE_O_TRACEFORK
        | Options::PTRACE_O_TRACEVFORK
        | Options::PTRACE_O_TRACEEXEC
        | Options::PTRACE_O_EXITKILL;
    if let Err(error) = ptrace::seize(first, options) {
        let _ = kill(first, Signal::SIGKILL);
        let _ = waitpid(first, None);
        return Err(error.into());
    }
    kill(first, Signal::SIGCONT)?;
    let status = follow(first, watcher)?;
    let message = String::from_utf8_lossy(&fs::read(&messages)?).into_owned();
    Ok(Ended { status, message })
}

/// Goes on with whatever stops, until all of it has ended.
fn follow(first: Pid, watcher: &mut dyn Watcher) -> io::Result<Option<i32>> {
    let mut threads: HashMap<Pid, (Call, Verdict)> = HashMap::new();
    let mut ended = None;
    loop {
        // Not the children of other threads: those are of other tests.
        let status = match waitpid(None, Some(WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD)) {
            Ok(status) => status,
            Err(Errno::ECHILD) => return Ok(ended),
            Err(Errno::EINTR) => continue,
            Err(error) => return Err(error.into()),
        };
        let went_on = match status {
            WaitStatus::PtraceSyscall(pid) => match threads.remove(&pid) {
                None => begins(pid, watcher).map(|call| {
                    threads.insert(pid, call);
                }),
                Some((call, verdict)) => ends(pid, &call, verdict, watcher),
            }
            .and_then(|()| ptrace::syscall(pid, None)),
            WaitStatus::PtraceEvent(pid, _, _) => ptrace::syscall(pid, None),
            WaitStatus::Stopped(pid, signal) => ptrace::syscall(pid, signal),
            WaitStatus::Exited(pid, status) => {
                threads.remove(&pid);
                if pid == first {
                    ended = Some(status);
                }
                Ok(())
            }
            WaitStatus::Signaled(pid, _, _) => {
                threads.remove(&pid);
                Ok(())
            }
            _ => Ok(()),
        };
        match went_on {
            // It was killed while it was looked at.
            Ok(()) | Err(Errno::ESRCH) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn begins(pid: Pid, watcher: &mut dyn Watcher) -> nix::Result<(Call, Verdict)> {
    let call = registers::call(pid)?;
    let verdict = watcher.before(Tracee(pid), &call);
    match verdict {
        Verdict::Let => {}
        Verdict::Fail(_) => registers::skip(pid)?,
        Verdict::Short(bytes) => registers::set_third(pid, bytes)?,
    }
    Ok((call, verdict))
}

fn ends(pid: Pid, call: &Call, verdict: Verdict, watcher: &mut dyn Watcher) -> nix::Result<()> {
    match verdict {
        Verdict::Let => {}
        Verdict::Fail(errno) => registers::set_result(pid, -i64::from(errno as i32))?,
        Verdict::Short(_) => registers::set_third(pid, call.args[2])?,
    }
    watcher.after(Tracee(pid), call, registers::result(pid)?);
    Ok(())
}
