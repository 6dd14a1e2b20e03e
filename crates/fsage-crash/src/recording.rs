//! What a program changed below a folder, step by step.

use crate::changes::{self, Change, Place};
use crate::tracee::{Call, Inode, Tracee, inode, link_inode};
use crate::tracer::{Ended, Program, Verdict, Watcher, run};
use crate::tree::{Node, Tree, What};
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// One change, by the numbers of the files and directories it is of.
#[derive(Clone, PartialEq, Eq)]
#[allow(missing_docs)] // as the system calls are
pub(crate) enum Step {
    Make {
        node: Node,
        what: What,
        dir: Node,
        name: OsString,
    },
    Link {
        node: Node,
        dir: Node,
        name: OsString,
    },
    Remove {
        node: Node,
        dir: Node,
        name: OsString,
    },
    Move {
        node: Node,
        from: (Node, OsString),
        to: (Node, OsString),
        swapped: Option<Node>,
    },
    Write {
        node: Node,
        offset: u64,
        data: Vec<u8>,
    },
    Size {
        node: Node,
        bytes: u64,
    },
    Sync {
        node: Node,
    },
    SyncAll,
}

/// What a program did below a folder.
#[derive(Clone, Debug)]
pub struct Recording {
    pub(crate) before: Tree,
    pub(crate) steps: Vec<Step>,
    /// How it ended.
    pub ended: Ended,
}

/// Runs a program, and writes down what it changes below a folder.
///
/// # Errors
/// It cannot be run or traced; it does something that is not understood; the folder is not what the steps make of it.
pub fn record(program: &Program, folder: &Path) -> io::Result<Recording> {
    let (before, known) = Tree::read(folder)?;
    let mut recorder = Recorder {
        next: known.len(),
        known,
        pending: HashMap::new(),
        steps: Vec::new(),
        unknown: None,
    };
    let ended = run(program, &mut recorder)?;
    if let Some(what) = recorder.unknown {
        return Err(io::Error::other(format!("{what} is not understood")));
    }
    let recording = Recording {
        before,
        steps: recorder.steps,
        ended,
    };
    let (there, _) = Tree::read(folder)?;
    match recording.after(recording.len()).difference(&there) {
        Some(difference) => Err(io::Error::other(format!("not all was seen: {difference}"))),
        None => Ok(recording),
    }
}

impl Recording {
    /// Number of steps.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Nothing was changed.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The folder after so many steps, as programs see it.
    pub fn after(&self, steps: usize) -> Tree {
        let mut tree = self.before.clone();
        for step in &self.steps[..steps] {
            tree.apply(step);
        }
        tree
    }

    /// The steps before a place, in words.
    pub fn words(&self, range: std::ops::Range<usize>) -> String {
        let line = |(i, step): (usize, &Step)| format!("{i} {step:?}\n");
        self.steps
            .iter()
            .enumerate()
            .skip(range.start)
            .take(range.len())
            .map(line)
            .collect()
    }
}

struct Recorder {
    known: HashMap<Inode, Node>,
    next: Node,
    /// What the call of a thread is about to do.
    pending: HashMap<i32, Change>,
    steps: Vec<Step>,
    unknown: Option<&'static str>,
}

impl Watcher for Recorder {
    fn before(&mut self, tracee: Tracee, call: &Call) -> Verdict {
        if let Some(change) = changes::of(tracee, call) {
            let all = matches!(change, Change::SyncAll { file: None });
            if all
                || change
                    .inodes()
                    .iter()
                    .any(|inode| self.known.contains_key(inode))
            {
                self.pending.insert(tracee.0.as_raw(), change);
            }
        }
        Verdict::Let
    }

    fn after(&mut self, tracee: Tracee, call: &Call, result: i64) {
        let change = self.pending.remove(&tracee.0.as_raw());
        if let (Some(change), 0..) = (change, result) {
            self.done(tracee, call, change, result as u64);
        }
    }
}

impl Recorder {
    fn node(&self, inode: Inode) -> Option<Node> {
        self.known.get(&inode).copied()
    }

    fn make(&mut self, made: Inode, what: What, at: Place) {
        let Some(dir) = self.node(at.dir) else { return };
        let node = self.next;
        self.next += 1;
        self.known.insert(made, node);
        self.steps.push(Step::Make {
            node,
            what,
            dir,
            name: at.name,
        });
    }

    /// Takes in what a call has done.
    fn done(&mut self, tracee: Tracee, call: &Call, change: Change, result: u64) {
        match change {
            Change::Open {
                at,
                follows_to,
                makes,
                empties,
            } => match follows_to.and_then(|file| self.node(file)) {
                Some(node) if empties => self.steps.push(Step::Size { node, bytes: 0 }),
                None if makes && at.leads_to.is_none() => {
                    let made = tracee
                        .inode(result as i32)
                        .expect("it has just been opened");
                    self.make(made, What::File(Vec::new()), at);
                }
                _ => {}
            },
            Change::Mkdir { at } => {
                let made = inode(&at.way).expect("it has just been made");
                self.make(made, What::Dir(BTreeMap::new()), at);
            }
            Change::Symlink { at, target } => {
                let made = link_inode(&at.way).expect("it has just been made");
                self.make(made, What::Symlink(target), at);
            }
            Change::Link { file, at } => {
                let (Some(node), Some(dir)) = (self.node(file), self.node(at.dir)) else {
                    return;
                };
                self.steps.push(Step::Link {
                    node,
                    dir,
                    name: at.name,
                });
            }
            Change::Remove { at } => {
                let node = at.leads_to.and_then(|gone| self.node(gone));
                let (Some(node), Some(dir)) = (node, self.node(at.dir)) else {
                    return;
                };
                self.steps.push(Step::Remove {
                    node,
                    dir,
                    name: at.name,
                });
            }
            Change::Move { from, to, swaps } => self.moved(from, to, swaps),
            Change::Write {
                file,
                offset,
                mut data,
            } => {
                let Some(node) = self.node(file) else { return };
                data.truncate(result as usize);
                self.steps.push(Step::Write { node, offset, data });
            }
            Change::Copied { file, offset } => self.copied(tracee, call, file, offset, result),
            Change::Size { file, bytes } => {
                let Some(node) = self.node(file) else { return };
                self.steps.push(Step::Size { node, bytes });
            }
            Change::Allocate {
                file,
                offset,
                bytes,
                mode,
            } => {
                let Some(node) = self.node(file) else { return };
                if mode & libc::FALLOC_FL_PUNCH_HOLE != 0 {
                    let data = vec![0; bytes as usize];
                    self.steps.push(Step::Write { node, offset, data });
                } else if mode == 0 {
                    let size =
                        fs::metadata(tracee.descriptor(call.fd(0))).map_or(0, |about| about.len());
                    if size == offset + bytes {
                        self.steps.push(Step::Size { node, bytes: size });
                    }
                } else if mode != libc::FALLOC_FL_KEEP_SIZE {
                    self.unknown = Some("this mode of fallocate");
                }
            }
            Change::Sync { file } => {
                let Some(node) = self.node(file) else { return };
                self.steps.push(Step::Sync { node });
            }
            Change::SyncAll { .. } => self.steps.push(Step::SyncAll),
            Change::Unknown { what, .. } => self.unknown = Some(what),
        }
    }

    fn moved(&mut self, from: Place, to: Place, swaps: bool) {
        let Some(node) = from.leads_to.and_then(|moved| self.node(moved)) else {
            self.unknown = Some("a move into the folder");
            return;
        };
        let (Some(source), Some(dir)) = (self.node(from.dir), self.node(to.dir)) else {
            self.unknown = Some("a move out of the folder");
            return;
        };
        let replaced = to.leads_to.and_then(|other| self.node(other));
        if replaced == Some(node) {
            // Two names of one file: nothing happens.
            return;
        }
        self.steps.push(Step::Move {
            node,
            from: (source, from.name),
            to: (dir, to.name),
            swapped: replaced.filter(|_| swaps),
        });
    }

    /// Reads back what the kernel has copied; of a whole file where it does not say how much that was.
    fn copied(&mut self, tracee: Tracee, call: &Call, file: Inode, offset: u64, result: u64) {
        let Some(node) = self.node(file) else { return };
        let to = if call.number == libc::SYS_copy_file_range {
            2
        } else {
            0
        };
        let path = tracee.descriptor(call.fd(to));
        let read = fs::File::open(&path).and_then(|source| {
            let all = source.metadata()?.len() - offset;
            let bytes = if call.number == libc::SYS_ioctl {
                all
            } else {
                result
            };
            let mut data = vec![0; bytes as usize];
            source.read_exact_at(&mut data, offset)?;
            Ok(data)
        });
        let data = read.expect("what was copied can be read");
        self.steps.push(Step::Write { node, offset, data });
    }
}

impl std::fmt::Debug for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Step::Make {
                node,
                what,
                dir,
                name,
            } => {
                let kind = match what {
                    What::File(_) => "file",
                    What::Dir(_) => "directory",
                    What::Symlink(_) => "link",
                };
                write!(f, "make {kind} {node} {name:?} in {dir}")
            }
            Step::Link { node, dir, name } => write!(f, "link {node} {name:?} in {dir}"),
            Step::Remove { node, dir, name } => write!(f, "remove {node} {name:?} in {dir}"),
            Step::Move { node, from, to, .. } => {
                write!(
                    f,
                    "move {node} {:?} in {} to {:?} in {}",
                    from.1, from.0, to.1, to.0
                )
            }
            Step::Write { node, offset, data } => {
                write!(f, "write {node} at {offset}, {} bytes", data.len())
            }
            Step::Size { node, bytes } => write!(f, "size {node} to {bytes}"),
            Step::Sync { node } => write!(f, "sync {node}"),
            Step::SyncAll => write!(f, "sync all"),
        }
    }
}
