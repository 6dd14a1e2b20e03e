//! What has changed since metrics last looked: how every inode that was touched was before, and where free space may be
//! other than it was.
//!
//! An operation says which slot it is going to touch. The first time in a day its extents are copied; from then on that
//! costs a look at one bit. Nothing is kept where nobody watches.

use fsage_core::{Change, Extent, FileKind, FileView};
use std::mem;
use std::ops::Range;

/// Files and directories that were touched.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changes {
    on: bool,
    files: Touched,
    directories: Touched,
    unnamed: Touched,
}

/// A model that says what has changed.
pub(crate) trait Watched {
    fn changes(&mut self) -> &mut Changes;

    /// The file in a slot, if there is one; `extents` is room for its runs.
    fn file_at<'a>(&self, slot: u32, extents: &'a mut Vec<Extent>) -> Option<FileView<'a>>;

    /// The directory in a slot, if there is one, without extents.
    fn directory_at(&self, slot: u32) -> Option<FileView<'static>>;

    /// The file without a name that is open and has this number, if there is one.
    fn unnamed_at<'a>(&self, _number: u32, _extents: &'a mut Vec<Extent>) -> Option<FileView<'a>> {
        None
    }

    /// Visits the ranges of addresses in which space was taken or freed, and forgets them.
    fn take_free_changes(&mut self, visit: &mut dyn FnMut(Range<u64>));
}

impl Changes {
    /// From now on changes are kept.
    pub fn watch(&mut self) {
        *self = Changes {
            on: true,
            ..Changes::default()
        };
    }

    /// Whether changes are kept.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.on
    }

    /// A file was put into a slot that held none.
    #[inline]
    pub fn new_file(&mut self, slot: u32) {
        if self.on {
            self.files.mark(slot);
        }
    }

    /// A directory was put into a slot that held none.
    #[inline]
    pub fn new_directory(&mut self, slot: u32) {
        if self.on {
            self.directories.mark(slot);
        }
    }

    /// An open file has lost its last name.
    #[inline]
    pub fn new_unnamed(&mut self, number: u32) {
        if self.on {
            self.unnamed.mark(number);
        }
    }
}

/// A file is going to change, to move to another directory, or to go.
#[inline]
pub(crate) fn touch_file(model: &mut impl Watched, slot: u32) {
    let changes = model.changes();
    if changes.on && changes.files.mark(slot) {
        keep_file(model, slot);
    }
}

#[inline(never)]
fn keep_file(model: &mut impl Watched, slot: u32) {
    let mut room = mem::take(&mut model.changes().files.room);
    let before = model.file_at(slot, &mut room).map(|file| Before::of(&file));
    let files = &mut model.changes().files;
    if let Some(before) = before {
        files.keep(before, &room);
    }
    files.room = room;
}

/// A directory is going to move or to go.
pub(crate) fn touch_directory(model: &mut impl Watched, slot: u32) {
    let changes = model.changes();
    if changes.on && changes.directories.mark(slot) {
        let before = model.directory_at(slot).map(|dir| Before::of(&dir));
        if let Some(before) = before {
            model.changes().directories.keep(before, &[]);
        }
    }
}

/// A file without a name is going to go.
pub(crate) fn touch_unnamed(model: &mut impl Watched, number: u32) {
    let changes = model.changes();
    if changes.on && changes.unnamed.mark(number) {
        let mut room = Vec::new();
        let before = model
            .unnamed_at(number, &mut room)
            .map(|file| Before::of(&file));
        if let Some(before) = before {
            model.changes().unnamed.keep(before, &room);
        }
    }
}

/// As [`Layout::take_changes`](fsage_core::Layout::take_changes).
pub(crate) fn take_changes(model: &mut impl Watched, visit: &mut dyn FnMut(Change<'_>)) {
    let mut changes = mem::take(model.changes());
    for touched in [&changes.directories, &changes.files, &changes.unnamed] {
        for before in &touched.before {
            visit(Change::Before(&before.view(&touched.extents)));
        }
    }
    for &slot in &changes.directories.slots {
        if let Some(dir) = model.directory_at(slot) {
            visit(Change::Now(&dir));
        }
    }
    let mut room = mem::take(&mut changes.files.room);
    for &slot in &changes.files.slots {
        if let Some(file) = model.file_at(slot, &mut room) {
            visit(Change::Now(&file));
        }
    }
    for &number in &changes.unnamed.slots {
        if let Some(file) = model.unnamed_at(number, &mut room) {
            visit(Change::Now(&file));
        }
    }
    changes.files.room = room;
    changes.files.clear();
    changes.directories.clear();
    changes.unnamed.clear();
    *model.changes() = changes;
    model.take_free_changes(&mut |range| visit(Change::Free(range)));
}

/// Slots of one kind that were touched.
#[derive(Clone, Debug, Default)]
struct Touched {
    /// A bit a slot.
    seen: Vec<u64>,
    slots: Vec<u32>,
    before: Vec<Before>,
    /// Of all that stand in `before`.
    extents: Vec<Extent>,
    /// For the extents of one file.
    room: Vec<Extent>,
}

impl Touched {
    /// Whether a slot is touched for the first time.
    #[inline]
    fn mark(&mut self, slot: u32) -> bool {
        let is_new = mark(&mut self.seen, slot as usize);
        if is_new {
            self.slots.push(slot);
        }
        is_new
    }

    fn keep(&mut self, mut before: Before, extents: &[Extent]) {
        let start = self.extents.len();
        self.extents.extend_from_slice(extents);
        before.extents = start..self.extents.len();
        self.before.push(before);
    }

    fn clear(&mut self) {
        for slot in self.slots.drain(..) {
            self.seen[slot as usize / 64] = 0;
        }
        self.before.clear();
        self.extents.clear();
    }
}

/// Sets a bit. Says whether it was clear.
#[inline]
fn mark(bits: &mut Vec<u64>, at: usize) -> bool {
    if at / 64 >= bits.len() {
        bits.resize(at / 64 + 1, 0);
    }
    let bit = 1 << (at % 64);
    let is_new = bits[at / 64] & bit == 0;
    bits[at / 64] |= bit;
    is_new
}

/// An inode before it was touched.
#[derive(Clone, Debug)]
struct Before {
    ino: u64,
    parent_ino: Option<u64>,
    kind: FileKind,
    links: u32,
    size_bytes: u64,
    alloc_bytes: Option<u64>,
    extents: Range<usize>,
}

impl Before {
    /// All but the extents.
    fn of(file: &FileView<'_>) -> Before {
        Before {
            ino: file.ino,
            parent_ino: file.parent_ino,
            kind: file.kind,
            links: file.links,
            size_bytes: file.size_bytes,
            alloc_bytes: file.alloc_bytes,
            extents: 0..0,
        }
    }

    fn view<'a>(&self, extents: &'a [Extent]) -> FileView<'a> {
        FileView {
            parent_ino: self.parent_ino,
            links: self.links,
            alloc_bytes: self.alloc_bytes,
            extents: Some(&extents[self.extents.clone()]),
            ..FileView::new(self.ino, self.kind, self.size_bytes)
        }
    }
}

/// Words of a map of free space that were written to.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChangedWords {
    on: bool,
    seen: Vec<u64>,
    words: Vec<u32>,
}

impl ChangedWords {
    /// From now on changes are kept.
    pub fn watch(&mut self) {
        *self = ChangedWords {
            on: true,
            ..ChangedWords::default()
        };
    }

    /// These words are written to.
    #[inline]
    pub fn mark(&mut self, words: Range<usize>) {
        if self.on {
            for word in words {
                if mark(&mut self.seen, word) {
                    self.words.push(word as u32);
                }
            }
        }
    }

    /// Visits the words that were written to, and forgets them.
    pub fn take(&mut self, mut visit: impl FnMut(usize)) {
        for word in self.words.drain(..) {
            self.seen[word as usize / 64] = 0;
            visit(word as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_reported_once_and_again_after_it_was_taken() {
        let mut words = ChangedWords::default();
        words.mark(0..5);
        words.take(|word| panic!("{word}, though nobody watched"));
        words.watch();
        for _ in 0..2 {
            words.mark(3..5);
            words.mark(4..6);
            let mut taken = Vec::new();
            words.take(|word| taken.push(word));
            assert_eq!(taken, [3, 4, 5]);
        }
    }
}
