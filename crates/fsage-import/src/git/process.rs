//! Child processes of the `git` program, which never outlive their handle.

use super::error::{GitError, corrupt, shown};
use super::records::Oid;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread::JoinHandle;

/// Variables that would make git look at another repository than the one named, as they are set in hooks.
const REPOSITORY_VARIABLES: [&str; 9] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_PREFIX",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_SHALLOW_FILE",
];

/// A repository and the program that reads it.
#[derive(Clone, Debug)]
pub(super) struct Git {
    path: PathBuf,
    program: OsString,
}

impl Git {
    /// The repository that the folder belongs to.
    pub fn open(path: &Path, program: &OsStr) -> Result<Git, GitError> {
        let git = Git {
            path: path.to_path_buf(),
            program: program.to_owned(),
        };
        if !path.is_dir() {
            return Err(GitError::NotARepository {
                path: git.path,
                detail: "no such folder".into(),
            });
        }
        match git.output("rev-parse", &["--git-dir"]) {
            Ok(_) => Ok(git),
            Err(GitError::Failed { detail, .. }) => Err(GitError::NotARepository {
                path: git.path,
                detail,
            }),
            Err(other) => Err(other),
        }
    }

    /// The commit that a branch, a tag or a commit names; `None` is HEAD.
    pub fn resolve(&self, branch: Option<&str>) -> Result<Oid, GitError> {
        let unknown = |branch: &str| GitError::NoSuchBranch {
            path: self.path.clone(),
            branch: branch.to_owned(),
        };
        // git would take it for an option; no branch can begin so.
        if let Some(b) = branch.filter(|b| b.starts_with('-') || b.is_empty()) {
            return Err(unknown(b));
        }
        let name = format!("{}^{{commit}}", branch.unwrap_or("HEAD"));
        match self.output("rev-parse", &["--verify", "--quiet", &name]) {
            Ok(line) => Oid::parse(line.trim_ascii())
                .ok_or_else(|| corrupt("rev-parse", format!("no object id, {}", shown(&line)))),
            Err(GitError::Failed { .. }) => Err(match branch {
                Some(b) => unknown(b),
                None => GitError::NoCommits {
                    path: self.path.clone(),
                },
            }),
            Err(other) => Err(other),
        }
    }

    /// Commits on the chain of first parents.
    pub fn count_first_parents(&self, tip: &Oid) -> Result<u64, GitError> {
        let out = self.output("rev-list", &["--count", "--first-parent", tip.as_str()])?;
        std::str::from_utf8(out.trim_ascii())
            .ok()
            .and_then(|s| s.parse().ok())
            .ok_or_else(|| corrupt("rev-list", format!("no number, {}", shown(&out))))
    }

    /// Starts a command whose output is read while it runs; its input is a pipe if `input`.
    pub fn start(
        &self,
        command: &'static str,
        args: &[&str],
        input: bool,
    ) -> Result<Running, GitError> {
        let mut child = self
            .command(command, args)
            .stdin(if input { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|e| self.cannot_start(e))?;
        let stderr = child.stderr.take().map(|pipe| {
            // Read by a thread of its own: a full pipe would stop git.
            std::thread::spawn(move || first_words(pipe))
        });
        Ok(Running {
            command,
            child,
            stderr,
        })
    }

    fn output(&self, command: &'static str, args: &[&str]) -> Result<Vec<u8>, GitError> {
        let out = self
            .command(command, args)
            .stdin(Stdio::null())
            .output()
            .map_err(|e| self.cannot_start(e))?;
        if out.status.success() {
            return Ok(out.stdout);
        }
        Err(GitError::Failed {
            command,
            detail: detail(&first_words(out.stderr.as_slice()), out.status),
        })
    }

    fn command(&self, command: &str, args: &[&str]) -> Command {
        let mut c = Command::new(&self.program);
        for variable in REPOSITORY_VARIABLES {
            c.env_remove(variable);
        }
        c.env("LC_ALL", "C")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_OPTIONAL_LOCKS", "0")
            // Answers must not wait in git's buffer for the next question.
            .env("GIT_FLUSH", "1")
            // A partial clone would ask its server for every blob: say so instead.
            .env("GIT_NO_LAZY_FETCH", "1")
            .arg("--no-pager")
            .arg("-C")
            .arg(&self.path)
            .args(["-c", "log.showSignature=false", command])
            .args(args);
        c
    }

    fn cannot_start(&self, source: io::Error) -> GitError {
        let program = self.program.to_string_lossy().into_owned();
        if source.kind() == io::ErrorKind::NotFound {
            GitError::GitMissing { program }
        } else {
            GitError::Spawn { program, source }
        }
    }
}

/// A command that runs. Dropped, it is killed and reaped.
#[derive(Debug)]
pub(super) struct Running {
    pub command: &'static str,
    child: Child,
    stderr: Option<JoinHandle<String>>,
}

impl Running {
    /// Its standard output, once.
    pub fn stdout(&mut self) -> ChildStdout {
        self.child.stdout.take().expect("asked for once")
    }

    /// Its standard input, once.
    pub fn stdin(&mut self) -> ChildStdin {
        self.child.stdin.take().expect("asked for once")
    }

    /// Waits for it to end.
    ///
    /// # Errors
    /// It ended with an error: what git said on its standard error.
    pub fn finish(mut self) -> Result<(), GitError> {
        let command = self.command;
        let status = self
            .child
            .wait()
            .map_err(|source| GitError::Pipe { command, source })?;
        if status.success() {
            return Ok(());
        }
        let said = self.stderr.take().and_then(|t| t.join().ok());
        Err(GitError::Failed {
            command,
            detail: detail(&said.unwrap_or_default(), status),
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail only if it was reaped already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The first 2 KB of what a command says; the rest is read and dropped.
fn first_words(mut pipe: impl Read) -> String {
    let mut kept = Vec::new();
    let _ = pipe.by_ref().take(2048).read_to_end(&mut kept);
    let _ = io::copy(&mut pipe, &mut io::sink());
    String::from_utf8_lossy(&kept).into_owned()
}

/// git's last line that says what is wrong, or else the exit status.
fn detail(stderr: &str, status: std::process::ExitStatus) -> String {
    let lines = || stderr.lines().map(str::trim).filter(|l| !l.is_empty());
    lines()
        .find(|l| l.starts_with("fatal:") || l.starts_with("error:"))
        .or_else(|| lines().next_back())
        .map_or_else(|| status.to_string(), str::to_owned)
}
