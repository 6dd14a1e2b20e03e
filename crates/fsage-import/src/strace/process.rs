//! Processes: current directories and open files, and who shares them.

use crate::trace::InodeKey;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::rc::Rc;

/// An open file description: what `dup` and `fork` share.
#[derive(Debug)]
pub(super) struct Description {
    pub inode: InodeKey,
    pub offset: u64,
    /// False: it was opened before the trace, or by a call that the log lacks. Writes are then taken as appends.
    pub offset_known: bool,
    pub append: bool,
    /// The path that strace printed last, as it stood.
    pub shown: Vec<u8>,
    /// Renames of the trace when that path was looked up.
    pub renames: u64,
}

pub(super) type Shared = Rc<RefCell<Description>>;
type Table = FxHashMap<i64, Shared>;

/// A process or thread.
#[derive(Debug, Default)]
pub(super) struct Process {
    files: Rc<RefCell<Table>>,
    /// Empty: unknown.
    cwd: Rc<RefCell<Vec<u8>>>,
    /// The first half of an interrupted call, up to its last known argument.
    pub unfinished: Option<Unfinished>,
    /// The log has no call that made it: it may be a thread of any other, with the same open files.
    pub is_orphan: bool,
}

/// The first half of an interrupted call.
#[derive(Debug, Default)]
pub(super) struct Unfinished {
    pub name: Vec<u8>,
    pub args: Vec<u8>,
    pub t_ns: i64,
    /// Number of its line.
    pub line: u64,
}

impl Process {
    /// One that shows up, and nobody made.
    pub fn orphan() -> Process {
        Process {
            is_orphan: true,
            ..Process::default()
        }
    }

    /// A child: shares what its flags say, and has copies of the rest.
    pub fn child(&self, flags: &[u8]) -> Process {
        let has = |flag| memchr::memmem::find(flags, flag).is_some();
        Process {
            files: if has(b"CLONE_FILES") {
                Rc::clone(&self.files)
            } else {
                Rc::new(RefCell::new(self.files.borrow().clone()))
            },
            cwd: if has(b"CLONE_FS") {
                Rc::clone(&self.cwd)
            } else {
                Rc::new(RefCell::new(self.cwd.borrow().clone()))
            },
            unfinished: None,
            is_orphan: false,
        }
    }

    pub fn file(&self, number: i64) -> Option<Shared> {
        self.files.borrow().get(&number).cloned()
    }

    pub fn set_file(&mut self, number: i64, file: Shared) -> Option<Shared> {
        self.files.borrow_mut().insert(number, file)
    }

    pub fn close(&mut self, number: i64) -> Option<Shared> {
        self.files.borrow_mut().remove(&number)
    }

    pub fn set_cwd(&mut self, path: &[u8]) {
        let mut cwd = self.cwd.borrow_mut();
        if *cwd != path {
            cwd.clear();
            cwd.extend_from_slice(path);
        }
    }

    /// Puts the current directory into `out`; false if it is unknown.
    pub fn cwd(&self, out: &mut Vec<u8>) -> bool {
        out.clear();
        out.extend_from_slice(&self.cwd.borrow());
        !out.is_empty()
    }

    /// Nothing is known of it yet.
    pub fn is_blank(&self) -> bool {
        self.cwd.borrow().is_empty() && self.files.borrow().is_empty()
    }
}
