//! The buffers of the cache: where they are found, which is reused next, which are dirty.
//!
//! Buffers live in an arena and are linked by their numbers: nothing is allocated for an event once the cache is
//! full.

use fsage_core::{Buffer, BufferId};
use rustc_hash::FxHashMap;

/// No buffer.
pub(crate) const NONE: u32 = u32::MAX;
/// The owner of the buffers of the device itself; further ones are files.
const DEVICE: u32 = 0;
/// The address of a buffer that has none yet.
const NOWHERE: u64 = u64::MAX;

/// What can be said of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// As on the device.
    Clean,
    /// To be written by the host.
    Dirty,
    /// Changed, and without a place on the device.
    Held,
    /// Busy: being read.
    Reading,
    /// Busy: being written.
    Writing,
}

/// Lists that a buffer may be in. One that is dirty is in two of them or in all.
#[derive(Clone, Copy)]
enum Kind {
    /// For reuse.
    Reuse,
    /// Of its file.
    File,
    /// Dirty ones of its owner.
    Dirty,
}

/// Which of the two lists for reuse.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Home {
    /// Neither: it is in use, busy or held.
    Nowhere,
    /// That of the aged.
    Aged,
    /// That of all others.
    Recent,
}

#[derive(Clone, Copy)]
struct Link {
    before: u32,
    after: u32,
}

#[derive(Clone, Copy)]
struct List {
    first: u32,
    last: u32,
}

const EMPTY: List = List {
    first: NONE,
    last: NONE,
};

/// One buffer.
pub(crate) struct Entry {
    /// What it holds; `None` for one that came along with a group, and is known by its address only.
    pub id: Option<BufferId>,
    pub start_bytes: u64,
    pub bytes: u32,
    pub state: State,
    /// Label of the request that it is busy with.
    pub tag: u64,
    /// The next buffer of the same request.
    pub next_in_request: u32,
    /// It goes to the aged when it is released.
    age: bool,
    home: Home,
    owner: u32,
    links: [Link; 3],
}

impl Entry {
    pub fn busy(&self) -> bool {
        matches!(self.state, State::Reading | State::Writing)
    }

    pub fn end_bytes(&self) -> u64 {
        self.start_bytes + u64::from(self.bytes)
    }
}

/// Blocks that were read together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Window {
    pub first: u32,
    pub blocks: u32,
    /// So many at its end were not asked for; the next window is read when the first of them is.
    pub ahead: u32,
}

/// What is known of a file: its buffers, and how it was read. It stands for the vnode.
pub(crate) struct File {
    /// Rises with every file that is met for the first time, or again after all of it was gone.
    pub birth: u64,
    /// Buffers being written.
    pub writing: u32,
    /// The block that was read last.
    pub last_read: u32,
    /// Blocks that are read ahead.
    pub window: u32,
    /// The last block that was asked of the device.
    pub read_until: u32,
    /// What Linux would have read ahead.
    pub ahead: Window,
    buffers: List,
    dirty: List,
    /// It is in the list of files that may be dirty.
    noted: bool,
}

impl File {
    fn new(birth: u64) -> File {
        File {
            birth,
            writing: 0,
            last_read: 0,
            window: 0,
            read_until: 0,
            ahead: Window::default(),
            buffers: EMPTY,
            dirty: EMPTY,
            noted: false,
        }
    }
}

struct Arena {
    entries: Vec<Entry>,
    unused: Vec<u32>,
}

impl Arena {
    fn link(&mut self, kind: Kind, slot: u32) -> &mut Link {
        &mut self.entries[slot as usize].links[kind as usize]
    }

    fn push_first(&mut self, kind: Kind, list: &mut List, slot: u32) {
        let after = std::mem::replace(&mut list.first, slot);
        *self.link(kind, slot) = Link {
            before: NONE,
            after,
        };
        match after {
            NONE => list.last = slot,
            _ => self.link(kind, after).before = slot,
        }
    }

    fn push_last(&mut self, kind: Kind, list: &mut List, slot: u32) {
        let before = std::mem::replace(&mut list.last, slot);
        *self.link(kind, slot) = Link {
            before,
            after: NONE,
        };
        match before {
            NONE => list.first = slot,
            _ => self.link(kind, before).after = slot,
        }
    }

    fn unlink(&mut self, kind: Kind, list: &mut List, slot: u32) {
        let Link { before, after } = *self.link(kind, slot);
        match before {
            NONE => list.first = after,
            _ => self.link(kind, before).after = after,
        }
        match after {
            NONE => list.last = before,
            _ => self.link(kind, after).before = before,
        }
    }
}

/// The buffers, by identity, address, file and age.
pub(crate) struct Cache {
    arena: Arena,
    by_id: FxHashMap<BufferId, u32>,
    by_start: FxHashMap<u64, u32>,
    by_ino: FxHashMap<u64, u32>,
    files: Vec<File>,
    births: u64,
    aged: List,
    recent: List,
    /// Owners that have had dirty buffers since this was last asked for.
    noted: Vec<u32>,
    used_bytes: u64,
}

impl Cache {
    pub fn new() -> Cache {
        Cache {
            arena: Arena {
                entries: Vec::new(),
                unused: Vec::new(),
            },
            by_id: FxHashMap::default(),
            by_start: FxHashMap::default(),
            by_ino: FxHashMap::default(),
            files: vec![File::new(0)],
            births: 0,
            aged: EMPTY,
            recent: EMPTY,
            noted: Vec::new(),
            used_bytes: 0,
        }
    }

    pub fn entry(&self, slot: u32) -> &Entry {
        &self.arena.entries[slot as usize]
    }

    fn entry_mut(&mut self, slot: u32) -> &mut Entry {
        &mut self.arena.entries[slot as usize]
    }

    pub fn used_bytes(&self) -> u64 {
        self.used_bytes
    }

    pub fn find(&self, id: BufferId) -> Option<u32> {
        self.by_id.get(&id).copied()
    }

    /// The buffer that begins at an address.
    pub fn find_at(&self, start_bytes: u64) -> Option<u32> {
        self.by_start.get(&start_bytes).copied()
    }

    /// The buffer at an address, if it has no identity: it gets this one.
    pub fn adopt(&mut self, buffer: Buffer) -> Option<u32> {
        let slot = self.find_at(buffer.start_bytes)?;
        if self.entry(slot).id.is_some() {
            return None;
        }
        self.identify(slot, buffer.id);
        Some(slot)
    }

    fn identify(&mut self, slot: u32, id: BufferId) {
        let owner = id.ino().map_or(DEVICE, |ino| self.file_of(ino));
        let entry = self.entry_mut(slot);
        entry.id = Some(id);
        entry.owner = owner;
        self.by_id.insert(id, slot);
        let list = &mut self.files[owner as usize].buffers;
        self.arena.push_last(Kind::File, list, slot);
    }

    /// The number of a file, given when it is met for the first time.
    pub fn file_of(&mut self, ino: u64) -> u32 {
        let next = self.files.len() as u32;
        let file = *self.by_ino.entry(ino).or_insert(next);
        if file == next {
            self.births += 1;
            self.files.push(File::new(self.births));
        }
        file
    }

    pub fn file(&mut self, file: u32) -> &mut File {
        &mut self.files[file as usize]
    }

    /// All of a file is gone: what comes under its number is another one.
    pub fn forget_file(&mut self, file: u32) {
        self.births += 1;
        let file = &mut self.files[file as usize];
        file.birth = self.births;
        (file.last_read, file.window, file.read_until) = (0, 0, 0);
        file.ahead = Window::default();
    }

    /// A new buffer, clean and in use.
    pub fn insert(&mut self, id: Option<BufferId>, start_bytes: u64, bytes: u32) -> u32 {
        let nothing = Link {
            before: NONE,
            after: NONE,
        };
        let entry = Entry {
            id: None,
            start_bytes,
            bytes,
            state: State::Clean,
            tag: 0,
            next_in_request: NONE,
            age: false,
            home: Home::Nowhere,
            owner: DEVICE,
            links: [nothing; 3],
        };
        let slot = if let Some(slot) = self.arena.unused.pop() {
            self.arena.entries[slot as usize] = entry;
            slot
        } else {
            self.arena.entries.push(entry);
            self.arena.entries.len() as u32 - 1
        };
        self.used_bytes += u64::from(bytes);
        self.by_start.insert(start_bytes, slot);
        if let Some(id) = id {
            self.identify(slot, id);
        }
        slot
    }

    /// Drops a buffer that is not busy, dirty or not.
    pub fn remove(&mut self, slot: u32) {
        self.take(slot);
        self.clean(slot);
        self.leave_place(slot);
        let entry = self.entry(slot);
        let (id, owner, bytes) = (entry.id, entry.owner, entry.bytes);
        if let Some(id) = id {
            self.by_id.remove(&id);
            let list = &mut self.files[owner as usize].buffers;
            self.arena.unlink(Kind::File, list, slot);
        }
        self.used_bytes -= u64::from(bytes);
        self.arena.unused.push(slot);
    }

    /// A buffer lies elsewhere now, or has another length.
    pub fn reshape(&mut self, slot: u32, start_bytes: u64, bytes: u32) {
        let entry = self.entry_mut(slot);
        let old = std::mem::replace(&mut entry.bytes, bytes);
        let held = entry.state == State::Held;
        self.used_bytes = self.used_bytes - u64::from(old) + u64::from(bytes);
        if !held {
            self.place(slot, start_bytes);
        }
    }

    fn place(&mut self, slot: u32, start_bytes: u64) {
        if self.entry(slot).start_bytes != start_bytes {
            self.leave_place(slot);
            self.entry_mut(slot).start_bytes = start_bytes;
            self.by_start.insert(start_bytes, slot);
        }
    }

    fn leave_place(&mut self, slot: u32) {
        let start = self.entry(slot).start_bytes;
        if self.find_at(start) == Some(slot) {
            self.by_start.remove(&start);
        }
        self.entry_mut(slot).start_bytes = NOWHERE;
    }

    /// Takes a buffer off the lists for reuse: it is in use.
    pub fn take(&mut self, slot: u32) {
        let home = std::mem::replace(&mut self.entry_mut(slot).home, Home::Nowhere);
        match home {
            Home::Nowhere => {}
            Home::Aged => self.arena.unlink(Kind::Reuse, &mut self.aged, slot),
            Home::Recent => self.arena.unlink(Kind::Reuse, &mut self.recent, slot),
        }
    }

    /// Puts a buffer that is not busy at the end of a list for reuse. One that is held stays in use.
    pub fn release(&mut self, slot: u32, age: bool) {
        self.take(slot);
        let entry = self.entry_mut(slot);
        if entry.state == State::Held {
            return;
        }
        let (home, list) = if age {
            (Home::Aged, &mut self.aged)
        } else {
            (Home::Recent, &mut self.recent)
        };
        self.arena.entries[slot as usize].home = home;
        self.arena.push_last(Kind::Reuse, list, slot);
    }

    /// The next buffer for reuse: the oldest of the aged, or else of all.
    pub fn next_for_reuse(&self) -> Option<u32> {
        let first = if self.aged.first == NONE {
            self.recent.first
        } else {
            self.aged.first
        };
        (first != NONE).then_some(first)
    }

    /// A buffer that is not busy has changed. A dirty one keeps its place among the dirty ones, a held one is held
    /// on.
    pub fn dirty(&mut self, slot: u32) {
        let entry = self.entry_mut(slot);
        if entry.state != State::Clean {
            return;
        }
        entry.state = State::Dirty;
        let owner = entry.owner;
        let file = &mut self.files[owner as usize];
        if !file.noted {
            file.noted = true;
            self.noted.push(owner);
        }
        self.arena.push_first(Kind::Dirty, &mut file.dirty, slot);
    }

    /// A buffer that is not busy has changed and has no place on the device until [`Cache::assign`].
    pub fn hold(&mut self, slot: u32) {
        self.take(slot);
        self.clean(slot);
        self.leave_place(slot);
        self.entry_mut(slot).state = State::Held;
    }

    /// A held or dirty buffer is clean, and lies at that address.
    pub fn assign(&mut self, slot: u32, start_bytes: u64, bytes: u32) {
        self.clean(slot);
        self.reshape(slot, start_bytes, bytes);
        self.release(slot, false);
    }

    fn clean(&mut self, slot: u32) {
        let entry = self.entry_mut(slot);
        let before = std::mem::replace(&mut entry.state, State::Clean);
        if before == State::Dirty {
            let owner = entry.owner as usize;
            let list = &mut self.files[owner].dirty;
            self.arena.unlink(Kind::Dirty, list, slot);
        }
    }

    /// A request takes the buffer along.
    pub fn begin(&mut self, slot: u32, write: bool, tag: u64, age: bool) {
        self.take(slot);
        self.clean(slot);
        let entry = self.entry_mut(slot);
        entry.tag = tag;
        entry.age = age;
        entry.next_in_request = NONE;
        if write {
            entry.state = State::Writing;
            let owner = entry.owner as usize;
            self.files[owner].writing += 1;
        } else {
            entry.state = State::Reading;
        }
    }

    /// Links a buffer behind another one of the same request.
    pub fn chain(&mut self, slot: u32, next: u32) {
        self.entry_mut(slot).next_in_request = next;
    }

    /// The request is complete.
    pub fn end(&mut self, slot: u32) {
        let entry = self.entry_mut(slot);
        let before = std::mem::replace(&mut entry.state, State::Clean);
        let (owner, age) = (entry.owner as usize, entry.age);
        if before == State::Writing {
            self.files[owner].writing -= 1;
        }
        self.release(slot, age);
    }

    /// The most recently dirtied buffer of a file.
    pub fn last_dirtied(&self, file: u32) -> Option<u32> {
        let first = self.files[file as usize].dirty.first;
        (first != NONE).then_some(first)
    }

    /// The owners that may have dirty buffers, into a list: files, the newest first, then the device.
    pub fn noted(&mut self, owners: &mut Vec<u32>) {
        owners.clear();
        owners.append(&mut self.noted);
        for &owner in &*owners {
            self.files[owner as usize].noted = false;
        }
        owners.sort_unstable_by_key(|&owner| std::cmp::Reverse(self.files[owner as usize].birth));
    }

    /// The buffers of a file, the oldest first, into a list.
    pub fn buffers_of(&self, file: u32, slots: &mut Vec<u32>) {
        slots.clear();
        let mut slot = self.files[file as usize].buffers.first;
        while slot != NONE {
            slots.push(slot);
            slot = self.entry(slot).links[Kind::File as usize].after;
        }
    }

    /// Empties the cache and forgets all files.
    pub fn clear(&mut self) {
        *self = Cache::new();
    }
}
