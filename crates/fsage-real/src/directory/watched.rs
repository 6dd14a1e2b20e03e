//! What has changed in the layout since metrics last looked.
//!
//! The file system is asked for what the operations touched; of that it is known here how it was told last. Names are
//! kept, and extents are shared with what is known of the file.

use super::cache::{Cached, Called};
use super::replay::Directory;
use fsage_core::{Change, Extent, FileKind, FileView, Run};
use rustc_hash::FxHashMap;
use std::ops::Range;
use std::sync::Arc;

/// How everything was told last, and what has been touched since.
#[derive(Debug, Default)]
pub(super) struct Watched {
    reported: FxHashMap<u64, Reported>,
    touched: Vec<u64>,
    free: Vec<Run>,
}

/// An inode as it was told.
#[derive(Clone, Debug)]
struct Reported {
    kind: FileKind,
    parent_ino: Option<u64>,
    links: u32,
    size_bytes: u64,
    alloc_bytes: Option<u64>,
    extents: Option<Arc<[Extent]>>,
    /// Last component of its path, escaped.
    name: Option<Box<str>>,
}

impl Reported {
    /// Of directories no extents are told.
    fn of(file: &FileView<'_>, cached: &Cached) -> Reported {
        let extents = (file.kind != FileKind::Directory).then(|| cached.extents.clone());
        Reported {
            kind: file.kind,
            parent_ino: file.parent_ino,
            links: file.links,
            size_bytes: file.size_bytes,
            alloc_bytes: file.alloc_bytes,
            extents: extents.flatten(),
            name: file.name().map(Box::from),
        }
    }

    fn view(&self, ino: u64) -> FileView<'_> {
        FileView {
            parent_ino: self.parent_ino,
            links: self.links,
            alloc_bytes: self.alloc_bytes,
            extents: self.extents.as_deref(),
            path: self.name.as_deref(),
            ..FileView::new(ino, self.kind, self.size_bytes)
        }
    }
}

impl Watched {
    /// Everything as it stands.
    pub fn begin(directory: &Directory) -> Watched {
        let mut watched = Watched {
            free: directory.layouts.free.clone().unwrap_or_default(),
            ..Watched::default()
        };
        for (&ino, &place) in &directory.layouts.order {
            directory.show((ino, place), Called::ByName, &mut |file, cached| {
                watched.reported.insert(ino, Reported::of(file, cached));
            });
        }
        watched
    }

    /// An inode is new, gone, or other than it was.
    pub fn touch(&mut self, ino: u64) {
        self.touched.push(ino);
    }

    /// Everything may be other than it was.
    pub fn touch_all(&mut self) {
        self.touched.extend(self.reported.keys());
    }

    /// As [`Layout::take_changes`](fsage_core::Layout::take_changes).
    pub fn take(&mut self, directory: &Directory, visit: &mut dyn FnMut(Change<'_>)) {
        let mut touched = std::mem::take(&mut self.touched);
        touched.sort_unstable();
        touched.dedup();
        for &ino in &touched {
            if let Some(reported) = self.reported.remove(&ino) {
                visit(Change::Before(&reported.view(ino)));
            }
        }
        for &ino in &touched {
            let Some(&place) = directory.layouts.order.get(&ino) else {
                continue;
            };
            directory.show((ino, place), Called::ByName, &mut |file, cached| {
                self.reported.insert(ino, Reported::of(file, cached));
                visit(Change::Now(file));
            });
        }
        let free = directory.layouts.free.as_deref().unwrap_or_default();
        differences(&self.free, free, |range| visit(Change::Free(range)));
        self.free.clear();
        self.free.extend_from_slice(free);
    }
}

/// The ranges of runs that stand in one of two lists only; both ascend.
fn differences(before: &[Run], now: &[Run], mut visit: impl FnMut(Range<u64>)) {
    let range = |run: &Run| run.start_bytes..run.start_bytes.saturating_add(run.length_bytes);
    let (mut before, mut now) = (before.iter().peekable(), now.iter().peekable());
    loop {
        match (before.peek(), now.peek()) {
            (Some(a), Some(b)) if a == b => {
                before.next();
                now.next();
            }
            (Some(a), Some(b)) if a.start_bytes > b.start_bytes => {
                visit(range(b));
                now.next();
            }
            (Some(a), _) => {
                visit(range(a));
                before.next();
            }
            (None, Some(b)) => {
                visit(range(b));
                now.next();
            }
            (None, None) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(list: &[(u64, u64)]) -> Vec<Run> {
        let runs = list.iter().map(|&(start_bytes, length_bytes)| Run {
            start_bytes,
            length_bytes,
        });
        runs.collect()
    }

    /// By hand: one run became shorter, one went, one came, one stayed.
    #[test]
    fn runs_that_stand_in_one_list_only_are_differences() {
        let before = runs(&[(0, 10), (20, 10), (40, 5)]);
        let now = runs(&[(0, 10), (20, 4), (30, 2), (50, 1)]);
        let mut found = Vec::new();
        differences(&before, &now, |range| found.push((range.start, range.end)));
        assert_eq!(found, [(20, 30), (20, 24), (30, 32), (40, 45), (50, 51)]);
        differences(&now, &now, |range| panic!("{range:?}"));
        let mut all = 0;
        differences(&[], &now, |_| all += 1);
        differences(&now, &[], |_| all += 1);
        assert_eq!(all, 8);
    }
}
