//! Command lines of users, run on a file system that is measured.
//!
//! A file system of an image is mounted on no path that others see. The command gets a mount namespace of its own, by
//! `unshare` and `mount` of util-linux, in which the same file system is mounted once more on a folder beside the
//! image; the mount goes when the command ends. What is unmounted outside while it runs is unmounted in there too,
//! where mounts outside are shared (as systemd makes them): a copy that stayed would keep that file system alive.

use crate::subject::BenchError;
use fsage_real::directory::Source;
use fsage_real::programs;
use rustix::io::retry_on_intr;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// Waits until it is told to start, so that mounting is not timed, and becomes the shell of the command.
const START: &str = "echo && read -r _ && exec sh -c \"$1\"";
/// The same in a mount namespace of its own.
const MOUNT_AND_START: &str = "mount -t \"$2\" -o \"$3\" \"$4\" \"$5\" && ";
/// How often is asked whether to stop.
const TICK: Duration = Duration::from_millis(50);
/// Of what a command prints so much is kept.
const KEPT_BYTES: u64 = 16 << 20;
/// Of what it says on stderr, so many lines and so much of each.
const KEPT_LINES: usize = 5;
const LINE_BYTES: u64 = 500;

/// A command that ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// What it printed, up to 16 MiB.
    pub stdout: Vec<u8>,
    /// How long it took, in nanoseconds.
    pub elapsed_ns: u64,
}

/// Runs `line` in a shell, and waits for it. With `source` that file system is mounted on `root` for it.
///
/// # Errors
/// It cannot be started, or fails; `stop` said so.
pub fn run(
    line: &str,
    source: Option<&Source>,
    root: &Path,
    stop: impl Fn() -> bool,
) -> Result<Ran, BenchError> {
    let failed = |why: &io::Error| BenchError::Program {
        line: line.to_owned(),
        why: format!("cannot be run: {why}"),
        said: Vec::new(),
    };
    let mut child = command(line, source, root)
        .and_then(|mut command| command.spawn())
        .map_err(|why| failed(&why))?;
    let ended = follow(&mut child, stop);
    let (ran, said) = ended.map_err(|why| failed(&why))?;
    let status = child.wait().map_err(|why| failed(&why))?;
    match ran {
        None => Err(BenchError::Interrupted),
        Some(ran) if status.success() => Ok(ran),
        Some(ran) => Err(BenchError::Program {
            line: line.to_owned(),
            why: format!("failed with {status}"),
            // Some say on stdout what is wrong, as `e4defrag` and `xfs_fsr` do.
            said: if said.is_empty() {
                last_lines(&*ran.stdout)
            } else {
                said
            },
        }),
    }
}

fn command(line: &str, source: Option<&Source>, root: &Path) -> io::Result<Command> {
    let mut command = match source {
        None => {
            let mut shell = Command::new("sh");
            shell.args(["-c", START, "sh", line]);
            shell
        }
        Some(source) => {
            let find = |name: &str| {
                programs::find(name).ok_or_else(|| {
                    let why = format!("there is no `{name}`; install util-linux");
                    io::Error::new(io::ErrorKind::NotFound, why)
                })
            };
            find("mount")?;
            let mut unshare = Command::new(find("unshare")?);
            let script = format!("{MOUNT_AND_START}{START}");
            unshare
                .args([
                    "--mount",
                    "--propagation",
                    "slave",
                    "sh",
                    "-c",
                    &script,
                    "sh",
                    line,
                ])
                .args([&source.kind, &source.options, &source.device])
                .arg(root);
            unshare
        }
    };
    // A group of its own: what it leaves behind is ended with it.
    command
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    Ok(command)
}

/// Starts it and waits until it has ended, and all that it started with it. What it printed, unless it was stopped, and
/// what it said at last.
fn follow(child: &mut Child, stop: impl Fn() -> bool) -> io::Result<(Option<Ran>, Vec<String>)> {
    let pid = Pid::from_child(child);
    let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (Some(mut stdin), Some(mut stdout), Some(stderr)) = pipes else {
        return Err(io::Error::other("it has no pipes"));
    };
    thread::scope(|scope| {
        let said = scope.spawn(move || last_lines(stderr));
        // Nothing comes where it cannot be mounted: then it has ended.
        let is_ready = stdout.read(&mut [0])? == 1;
        let began = Instant::now();
        if is_ready {
            match stdin.write_all(b"\n") {
                Err(error) if error.kind() != io::ErrorKind::BrokenPipe => return Err(error),
                _ => {}
            }
        }
        drop(stdin);
        let printed = scope.spawn(move || all(stdout));
        let (ended, when) = sync_channel(1);
        scope.spawn(move || {
            // It stays a zombie, so that its number means no other one.
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            let waited = retry_on_intr(|| waitid(WaitId::Pid(pid), options));
            let _ = ended.send(waited.map(|_| Instant::now()));
        });
        let mut is_stopped = false;
        let end = loop {
            match when.recv_timeout(TICK) {
                Ok(end) => break end?,
                Err(RecvTimeoutError::Timeout) if !is_stopped && stop() => {
                    is_stopped = true;
                    let _ = kill_process_group(pid, Signal::KILL);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(io::Error::other("nobody waits for it"));
                }
            }
        };
        let _ = kill_process_group(pid, Signal::KILL);
        let stdout = printed.join().expect("reading does not panic")?;
        let said = said.join().expect("reading does not panic");
        let ran = Ran {
            stdout,
            elapsed_ns: u64::try_from((end - began).as_nanos()).unwrap_or(u64::MAX),
        };
        Ok(((!is_stopped).then_some(ran), said))
    })
}

/// All that is printed; what is too much goes nowhere.
fn all(mut stdout: ChildStdout) -> io::Result<Vec<u8>> {
    let mut printed = Vec::new();
    stdout.by_ref().take(KEPT_BYTES).read_to_end(&mut printed)?;
    io::copy(&mut stdout, &mut io::sink())?;
    Ok(printed)
}

/// The last lines.
fn last_lines(printed: impl Read) -> Vec<String> {
    let mut printed = BufReader::new(printed);
    let mut kept: VecDeque<String> = VecDeque::new();
    let mut piece = Vec::new();
    // What cannot be read is not shown.
    while let Ok(1..) = printed
        .by_ref()
        .take(LINE_BYTES)
        .read_until(b'\n', &mut piece)
    {
        let line = String::from_utf8_lossy(&piece).trim_end().to_owned();
        piece.clear();
        if !line.is_empty() {
            kept.push_back(line);
        }
        if kept.len() > KEPT_LINES {
            kept.pop_front();
        }
    }
    kept.into()
}

/// A path as the shell reads it.
pub fn quoted(path: &Path) -> String {
    let path = path.to_string_lossy();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    if path.chars().all(is_plain) {
        return path.into_owned();
    }
    format!("'{}'", path.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(line: &str) -> Result<Ran, BenchError> {
        run(line, None, Path::new("/"), || false)
    }

    #[test]
    fn what_a_command_prints_is_kept_and_its_input_is_empty() {
        let ran = runs("cat; echo '{\"a\": 1}'; echo aside >&2").expect("it runs");
        assert_eq!(ran.stdout, b"{\"a\": 1}\n");
    }

    #[test]
    fn a_command_that_fails_says_how_and_its_last_words() {
        let line = "for i in 1 2 3 4 5 6 7; do echo line $i >&2; done; exit 7";
        let error = runs(line).expect_err("it fails").to_string();
        assert!(error.contains("failed with exit status: 7"), "{error}");
        assert!(
            error.ends_with("\n  line 3\n  line 4\n  line 5\n  line 6\n  line 7"),
            "{error}"
        );
        let unknown = runs("no-such-program-at-all").expect_err("there is none");
        assert!(unknown.to_string().contains("not found"), "{unknown}");
    }

    #[test]
    fn what_a_command_leaves_behind_ends_with_it() {
        // The one behind keeps the pipe open: without its end this would wait for it.
        let began = Instant::now();
        let ran = runs("sleep 600 & echo left").expect("it runs");
        assert_eq!(ran.stdout, b"left\n");
        assert!(began.elapsed() < Duration::from_secs(300));
    }

    #[test]
    fn a_command_is_ended_when_somebody_says_so() {
        let error = run("sleep 600", None, Path::new("/"), || true).expect_err("it is stopped");
        assert!(matches!(error, BenchError::Interrupted), "{error}");
    }

    #[test]
    fn paths_are_quoted_where_the_shell_would_read_more() {
        assert_eq!(quoted(Path::new("/a/.b-0")), "/a/.b-0");
        assert_eq!(quoted(Path::new("/a b/it's")), r"'/a b/it'\''s'");
    }
}
