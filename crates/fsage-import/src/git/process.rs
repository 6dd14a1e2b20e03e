//! Child processes of the `git` program, which never outlive their handle.
//!
//! A repository is not trusted: its configuration names programs (`core.fsmonitor`, filters, diff drivers, hooks,
//! `gpg.program`, ...), and git runs them where a command has a use for them. So git meets the repository itself only
//! to find where it is and what a name stands for (`rev-parse`), with every such key overridden. The history is read
//! through a folder of our own, which has nothing of the repository but its objects: no configuration, no attributes,
//! no hooks, no index, no working tree, no replaced objects, no grafts.

use super::error::{GitError, corrupt, shown};
use super::private::PrivateFolder;
use super::records::Oid;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread::JoinHandle;

/// What the configuration of a repository must not say to `rev-parse`. That command runs nothing as we call it; these
/// keep it so, whatever becomes of git.
const OVERRIDES: [&str; 10] = [
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.untrackedCache=false",
    "core.pager=cat",
    "core.editor=false",
    "core.askPass=false",
    "core.sshCommand=false",
    "core.alternateRefsCommand=false",
    "credential.helper=",
    "protocol.allow=never",
];

/// A repository and the program that reads it.
#[derive(Debug)]
pub(super) struct Git {
    path: PathBuf,
    program: OsString,
    /// What stands for the repository while its objects are read.
    folder: PrivateFolder,
}

/// What a command is to see of the repository.
#[derive(Clone, Copy)]
enum Sees<'a> {
    /// All of it.
    Repository(&'a Path),
    /// Its objects.
    Objects(&'a PrivateFolder),
}

impl Git {
    /// The repository that the folder belongs to.
    pub fn open(path: &Path, program: &OsStr) -> Result<Git, GitError> {
        let not_one = |detail: String| GitError::NotARepository {
            path: path.to_owned(),
            detail,
        };
        if !path.is_dir() {
            return Err(not_one("no such folder".into()));
        }
        let ask = |words: &[&str]| {
            let said = output(program, Sees::Repository(path), "rev-parse", words);
            said.map_err(|error| match error {
                GitError::Failed { detail, .. } => not_one(detail),
                other => other,
            })
        };
        // Relative to the folder, or absolute.
        let place = |name: &str| Ok(path.join(path_of(&ask(&["--git-path", name])?)));
        let objects: PathBuf = place("objects")?;
        let shallow = place("shallow")?;
        let format = ask(&["--show-object-format"])?;
        let folder = PrivateFolder::new(&objects, &shallow, format.trim_ascii())?;
        Ok(Git {
            path: path.to_owned(),
            program: program.to_owned(),
            folder,
        })
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
        let said = output(
            &self.program,
            Sees::Repository(&self.path),
            "rev-parse",
            &["--verify", "--quiet", &name],
        );
        match said {
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
        let out = output(
            &self.program,
            Sees::Objects(&self.folder),
            "rev-list",
            &["--count", "--first-parent", tip.as_str()],
        )?;
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
        let mut child = prepared(&self.program, Sees::Objects(&self.folder), command, args)
            .stdin(if input { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|e| cannot_start(&self.program, e))?;
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
}

/// Runs a command to its end and gives what it printed.
fn output(
    program: &OsStr,
    sees: Sees<'_>,
    command: &'static str,
    args: &[&str],
) -> Result<Vec<u8>, GitError> {
    let out = prepared(program, sees, command, args)
        .stdin(Stdio::null())
        .output()
        .map_err(|e| cannot_start(program, e))?;
    if out.status.success() {
        return Ok(out.stdout);
    }
    Err(GitError::Failed {
        command,
        detail: detail(&first_words(out.stderr.as_slice()), out.status),
    })
}

/// A command of git in an environment that is the same for everybody.
fn prepared(program: &OsStr, sees: Sees<'_>, command: &str, args: &[&str]) -> Command {
    let mut c = Command::new(program);
    // The user's own, and those that a hook is called with: they lead to other repositories, and to programs.
    for (name, _) in std::env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"GIT_") {
            c.env_remove(name);
        }
    }
    for name in ["PAGER", "SSH_ASKPASS"] {
        c.env_remove(name);
    }
    c.env("LC_ALL", "C")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_NO_REPLACE_OBJECTS", "1")
        .env("GIT_GRAFT_FILE", "/dev/null")
        .env("GIT_ATTR_NOSYSTEM", "1")
        // Answers must not wait in git's buffer for the next question.
        .env("GIT_FLUSH", "1")
        // A partial clone would ask its server for every blob: say so instead.
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_ALLOW_PROTOCOL", "none")
        .arg("--no-pager");
    match sees {
        Sees::Repository(path) => {
            // The user's own configuration is read: it says whose repositories are safe to look at.
            c.arg("-C").arg(path);
        }
        Sees::Objects(folder) => {
            folder.give_to(&mut c);
        }
    }
    for key in OVERRIDES {
        c.args(["-c", key]);
    }
    c.arg(command).args(args);
    c
}

fn cannot_start(program: &OsStr, source: io::Error) -> GitError {
    let program = program.to_string_lossy().into_owned();
    if source.kind() == io::ErrorKind::NotFound {
        GitError::GitMissing { program }
    } else {
        GitError::Spawn { program, source }
    }
}

/// A path as git prints it, with the end of the line behind it.
fn path_of(line: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(line.strip_suffix(b"\n").unwrap_or(line)))
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
