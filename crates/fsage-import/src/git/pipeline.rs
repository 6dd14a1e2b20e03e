//! Three git processes and two threads, each of which hands on what it reads at once.
//!
//! The chain only runs forward (log, steps, differences, sizes, events), every stage takes all that the one
//! before gives, and queues are short: so neither deadlock nor a history in memory. An end that comes too
//! early travels to the last stage, which asks the process that ended what was wrong.

use super::error::{GitError, corrupt, shown};
use super::process::{Git, Running};
use super::records::{Change, Oid, parse_size, read_token};
use super::steps::{Cutter, Step, parse_log_line};
use super::tree::Tree;
use super::{GitOptions, GitSummary, View};
use fsage_core::EventSink;
use std::io::{BufRead, BufReader, BufWriter, ErrorKind, Write};
use std::panic::resume_unwind;
use std::process::{ChildStdin, ChildStdout};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, ScopedJoinHandle};

/// Steps that may wait between two stages. At least 2: the end of a step is seen by the header of the next.
const QUEUE_STEPS: usize = 16;

/// Why a stage stopped.
enum Fault {
    /// The cause itself.
    Error(GitError),
    /// This command ended before its answer was complete: its exit status is the cause.
    Ended(&'static str),
    /// The next stage went away: the cause is there.
    HungUp,
}

impl From<GitError> for Fault {
    fn from(e: GitError) -> Fault {
        Fault::Error(e)
    }
}

type Changes = (Step, Vec<Change>);

/// Reads the history that ends in `tip`.
pub(super) fn run(
    git: &Git,
    tip: &Oid,
    options: &GitOptions,
    sink: &mut dyn EventSink,
    progress: &mut dyn FnMut(u64),
) -> Result<GitSummary, GitError> {
    thread::scope(|scope| {
        // Inside the scope: on any return they are killed before the threads are waited for.
        let mut log = git.start(
            "log",
            &[
                "--first-parent",
                "--reverse",
                "--format=%H %ct",
                tip.as_str(),
                "--",
            ],
            false,
        )?;
        let mut diff = git.start(
            "diff-tree",
            // --always: a header for a step without changes too, so that steps and answers stay together.
            &[
                "-r",
                "--no-renames",
                "--root",
                "--raw",
                "-z",
                "--no-abbrev",
                "--always",
                "--stdin",
            ],
            true,
        )?;
        let mut sizes = git.start(
            "cat-file",
            &["--batch-check=%(objectname) %(objecttype) %(objectsize)"],
            true,
        )?;

        let (step_tx, step_rx) = sync_channel(QUEUE_STEPS);
        let (change_tx, change_rx) = sync_channel(QUEUE_STEPS);
        let (log_out, diff_in) = (log.stdout(), diff.stdin());
        let view = options.view;
        let steps = scope.spawn(move || ask_for_steps(log_out, view, diff_in, &step_tx));
        let (diff_out, sizes_in) = (diff.stdout(), sizes.stdin());
        let changes =
            scope.spawn(move || read_changes(git, diff_out, &step_rx, sizes_in, &change_tx));

        let tree = Tree::new(options, sink);
        let result = apply(tree, &change_rx, sizes.stdout(), progress)
            .and_then(|summary| join(changes).map(|()| summary))
            .and_then(|summary| join(steps).map(|()| summary));
        drop(change_rx);
        match result {
            Ok(summary) => {
                for process in [log, diff, sizes] {
                    process.finish()?;
                }
                if summary.steps == 0 {
                    return Err(corrupt("log", "no commit"));
                }
                Ok(summary)
            }
            Err(Fault::Error(error)) => Err(error),
            Err(Fault::Ended(command)) => Err(why_ended([log, diff, sizes], command)),
            Err(Fault::HungUp) => Err(corrupt("diff-tree", "a pipe closed early")),
        }
    })
}

/// What a stage that another one waited for ended with. A stage that only hung up knows no cause.
fn join(stage: ScopedJoinHandle<'_, Result<(), Fault>>) -> Result<(), Fault> {
    stage.join().unwrap_or_else(|panic| resume_unwind(panic))
}

fn why_ended(processes: [Running; 3], command: &'static str) -> GitError {
    for process in processes {
        if process.command == command
            && let Err(e) = process.finish()
        {
            return e;
        }
    }
    corrupt(command, "it ended before its answer was complete")
}

/// First stage: commits from `git log`, cut into steps; asks `git diff-tree` about each but the first.
fn ask_for_steps(
    log: ChildStdout,
    view: View,
    mut diff: ChildStdin,
    out: &SyncSender<Step>,
) -> Result<(), Fault> {
    let mut before: Option<Oid> = None;
    let mut ask = |step: Step| {
        let commit = step.commit;
        // First the step, then the question: the second stage must know what an answer belongs to.
        out.send(step).map_err(|_| Fault::HungUp)?;
        if let Some(parent) = before.replace(commit) {
            let line = format!("{} {}\n", commit.as_str(), parent.as_str());
            diff.write_all(line.as_bytes())
                .map_err(|e| pipe_fault("diff-tree", e))?;
        }
        Ok::<(), Fault>(())
    };
    let mut log = BufReader::new(log);
    let mut cutter = Cutter::new(view);
    let mut line = Vec::new();
    while read_token(&mut log, b'\n', &mut line, "log")? {
        let (commit, seconds) = parse_log_line(&line)?;
        if let Some(step) = cutter.commit(commit, seconds) {
            ask(step)?;
        }
    }
    cutter.end().map_or(Ok(()), ask)
}

/// Second stage: the changes of each step; asks `git cat-file` for the sizes of what is written.
fn read_changes(
    git: &Git,
    diff: ChildStdout,
    steps: &Receiver<Step>,
    sizes: ChildStdin,
    out: &SyncSender<Changes>,
) -> Result<(), Fault> {
    let mut sizes = BufWriter::new(sizes);
    let mut diff = DiffReader {
        input: BufReader::with_capacity(1 << 16, diff),
        token: Vec::new(),
        held: false,
    };
    for (n, step) in steps.iter().enumerate() {
        // The first step has nothing to be compared with, even where its commit has a parent.
        let changes = if n == 0 {
            list_tree(git, &step.commit)?
        } else {
            diff.changes(&step.commit)?
        };
        let blobs: Vec<Oid> = changes
            .iter()
            .filter(|c| c.writes())
            .map(|c| c.blob)
            .collect();
        // First the step, then the questions: the third stage must be there to take the answers.
        out.send((step, changes)).map_err(|_| Fault::HungUp)?;
        for blob in blobs {
            sizes
                .write_all(blob.as_bytes())
                .and_then(|()| sizes.write_all(b"\n"))
                .map_err(|e| pipe_fault("cat-file", e))?;
        }
        sizes.flush().map_err(|e| pipe_fault("cat-file", e))?;
    }
    if diff.next()? {
        return Err(corrupt("diff-tree", "more answers than questions").into());
    }
    Ok(())
}

/// Third stage: sizes, then the rules.
fn apply(
    mut tree: Tree<'_>,
    steps: &Receiver<Changes>,
    sizes: ChildStdout,
    progress: &mut dyn FnMut(u64),
) -> Result<GitSummary, Fault> {
    let mut sizes = BufReader::new(sizes);
    let mut line = Vec::new();
    for (step, changes) in steps {
        let mut sized = Vec::with_capacity(changes.len());
        for change in changes {
            let bytes = if change.writes() {
                if !read_token(&mut sizes, b'\n', &mut line, "cat-file")? {
                    return Err(Fault::Ended("cat-file"));
                }
                parse_size(&line, &change.blob)?
            } else {
                0
            };
            sized.push((change, bytes));
        }
        tree.step(&step, &mut sized)?;
        progress(tree.commits());
    }
    Ok(tree.finish()?)
}

/// The records of `git diff-tree --stdin -z`: a commit, then pairs of record and path, all ended by NUL.
struct DiffReader<R> {
    input: R,
    token: Vec<u8>,
    /// `token` was read and belongs to the next step.
    held: bool,
}

impl<R: BufRead> DiffReader<R> {
    fn next(&mut self) -> Result<bool, Fault> {
        if std::mem::take(&mut self.held) {
            return Ok(true);
        }
        Ok(read_token(
            &mut self.input,
            0,
            &mut self.token,
            "diff-tree",
        )?)
    }

    fn changes(&mut self, commit: &Oid) -> Result<Vec<Change>, Fault> {
        if !self.next()? {
            return Err(Fault::Ended("diff-tree"));
        }
        if self.token != commit.as_bytes() {
            let what = format!("{} when asked for {}", shown(&self.token), commit.as_str());
            return Err(corrupt("diff-tree", what).into());
        }
        let mut changes = Vec::new();
        while self.next()? {
            if self.token.first() != Some(&b':') {
                self.held = true;
                break;
            }
            let record = std::mem::take(&mut self.token);
            if !self.next()? {
                return Err(Fault::Ended("diff-tree"));
            }
            changes.push(Change::parse_raw(&record, &self.token)?);
        }
        Ok(changes)
    }
}

/// Everything in a commit's tree, as something new.
fn list_tree(git: &Git, commit: &Oid) -> Result<Vec<Change>, GitError> {
    const COMMAND: &str = "ls-tree";
    let mut process = git.start(
        COMMAND,
        &["-r", "-z", "--full-tree", commit.as_str()],
        false,
    )?;
    let mut output = BufReader::new(process.stdout());
    let mut entry = Vec::new();
    let mut changes = Vec::new();
    while read_token(&mut output, 0, &mut entry, COMMAND)? {
        changes.push(Change::parse_tree_entry(&entry)?);
    }
    process.finish()?;
    Ok(changes)
}

/// A process that takes no more input has ended: its status says why.
fn pipe_fault(command: &'static str, source: std::io::Error) -> Fault {
    if source.kind() == ErrorKind::BrokenPipe {
        Fault::Ended(command)
    } else {
        Fault::Error(GitError::Pipe { command, source })
    }
}
