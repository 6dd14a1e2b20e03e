//! Descriptors of the directories that are worked in, kept open as far as the limit allows.
//!
//! A directory is opened component by component from the root of the tree, and no component may be a symbolic link, so
//! that no operation leaves the tree.

use super::dirs::Dirs;
use super::naming::NameBuffer;
use fsage_core::operations::ROOT;
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Open directories by slot; the one that was not used for longest, by and large, is closed when there are too many.
#[derive(Debug)]
pub(super) struct Descriptors {
    open: Vec<Option<OwnedFd>>,
    used: Vec<bool>,
    /// Slots that may be open, in a circle; a hand goes round and spares what was used since it came by.
    circle: Vec<u32>,
    hand: usize,
    most: usize,
}

/// Raises the limit of open files to what is allowed, and says how many of them each of so many users may take.
pub(super) fn share_of_open_files(users: usize) -> usize {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        let raised = Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        };
        // Where this is refused the limit is as it was.
        let _ = setrlimit(Resource::Nofile, raised);
    }
    let files = getrlimit(Resource::Nofile).current.unwrap_or(1 << 20);
    // Other targets and everything else that is open want some too.
    (files as usize / 4 / users.max(1)).clamp(16, 1 << 16)
}

impl Descriptors {
    pub fn new(most: usize) -> Descriptors {
        Descriptors {
            open: Vec::new(),
            used: Vec::new(),
            circle: Vec::new(),
            hand: 0,
            most: most.max(2),
        }
    }

    /// The descriptor of a directory.
    #[inline]
    pub fn get<'a>(
        &'a mut self,
        dirs: &Dirs,
        slot: u32,
        root: BorrowedFd<'a>,
    ) -> Result<BorrowedFd<'a>, Errno> {
        if slot == ROOT {
            return Ok(root);
        }
        let at = slot as usize;
        if self.open.get(at).is_none_or(Option::is_none) {
            self.open_from(dirs, slot, root)?;
        }
        self.used[at] = true;
        Ok(self.open[at].as_ref().expect("opened").as_fd())
    }

    /// The descriptors of two directories.
    pub fn pair<'a>(
        &'a mut self,
        dirs: &Dirs,
        (first, second): (u32, u32),
        root: BorrowedFd<'a>,
    ) -> Result<(BorrowedFd<'a>, BorrowedFd<'a>), Errno> {
        self.get(dirs, first, root)?;
        self.get(dirs, second, root)?;
        // Opening the second may have closed the first; the second is the last that would be closed now.
        self.get(dirs, first, root)?;
        let of = |slot: u32| match slot {
            ROOT => Ok(root),
            _ => self.open[slot as usize]
                .as_ref()
                .map(AsFd::as_fd)
                .ok_or(Errno::MFILE),
        };
        Ok((of(first)?, of(second)?))
    }

    fn open_from(&mut self, dirs: &Dirs, slot: u32, root: BorrowedFd<'_>) -> Result<(), Errno> {
        let mut missing = vec![slot];
        let mut above = dirs.get(slot).parent;
        while above != ROOT && self.open.get(above as usize).is_none_or(Option::is_none) {
            missing.push(above);
            above = dirs.get(above).parent;
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut buffer = NameBuffer::new();
        for below in missing.into_iter().rev() {
            let parent = self.open.get(above as usize).and_then(Option::as_ref);
            let parent = parent.map_or(root, AsFd::as_fd);
            let opened = openat(parent, dirs.name(below, &mut buffer), flags, Mode::empty())?;
            self.keep(below, opened);
            above = below;
        }
        Ok(())
    }

    fn keep(&mut self, slot: u32, opened: OwnedFd) {
        let at = slot as usize;
        if self.open.len() <= at {
            self.open.resize_with(at + 1, || None);
            self.used.resize(at + 1, false);
        }
        if self.circle.len() < self.most {
            self.circle.push(slot);
        } else {
            loop {
                let here = self.hand;
                self.hand = (here + 1) % self.circle.len();
                let other = self.circle[here] as usize;
                if self.open[other].is_none() || !std::mem::take(&mut self.used[other]) {
                    self.open[other] = None;
                    self.circle[here] = slot;
                    break;
                }
            }
        }
        self.open[at] = Some(opened);
        self.used[at] = true;
    }

    /// Closes a directory that goes.
    pub fn close(&mut self, slot: u32) {
        if let Some(open) = self.open.get_mut(slot as usize) {
            *open = None;
        }
    }

    /// Closes all.
    pub fn close_all(&mut self) {
        self.open.clear();
        self.used.clear();
        self.circle.clear();
        self.hand = 0;
    }
}
