//! The unaged control: the live files of a layout as a workload that copies them in tree order to a fresh file system.
//!
//! Directories depth first, entries in directory order, each file made and written whole before the next, as
//! `cp -a` of the tree onto an empty file system of the same kind does. What the aged layout is worth shows only beside
//! it: a score may be low for the sizes of the files, and the kind of file system, alone. Further names of hard links
//! are made last; they move no data.
//!
//! What is kept: directories, regular files with their lengths and holes (as far as extents show them), further names,
//! symbolic links with the lengths of their targets, names where they are known. Space that was allocated and never
//! written is written; space allocated behind the end is left out. What has no path from the root, and what is neither
//! file nor link, is not copied and is listed.

use fsage_core::names::{check_name, unescape};
use fsage_core::snapshot::source_flags;
use fsage_core::tree_order::Step;
use fsage_core::{DirId, Event, FileId, FileKind, FileView, Layout, Op, TreeOrder};
use std::collections::BTreeMap;
use std::ops::Range;

/// A copy of the live files of a layout.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Control {
    /// The operations, with a [`Op::Sync`] at the end. Directories and files have numbers of their own from 1;
    /// without a known name they are called `d` and `f` and their inode number.
    pub events: Vec<Event>,
    /// The regular files and symbolic links that are copied: their inode numbers in the layout, and their ids here.
    pub files: BTreeMap<u64, FileId>,
    /// The same of directories.
    pub directories: BTreeMap<u64, DirId>,
    /// Inodes that are not copied, ascending.
    pub left_out: Vec<u64>,
}

/// What is kept of an inode until it is written.
struct Live {
    ino: u64,
    kind: FileKind,
    size_bytes: u64,
    /// Where there are data, if that is not the whole file.
    data: Option<Box<[Range<u64>]>>,
}

impl Live {
    fn of(file: &FileView<'_>) -> Live {
        Live {
            ino: file.ino,
            kind: file.kind,
            size_bytes: file.size_bytes,
            data: data_between_holes(file),
        }
    }
}

/// The workload that copies the live files of a layout to a fresh file system.
///
/// Memory: about 150 bytes a file, and its name twice.
pub fn control_workload(layout: &(impl Layout + ?Sized)) -> Control {
    let tree = TreeOrder::of(layout, |file| Some(Live::of(file)));
    let mut copy = Copy::default();
    tree.walk(|step| match step {
        Step::Directory {
            ino,
            parent_ino,
            name,
        } => copy.directory(ino, parent_ino, name),
        Step::File {
            what,
            parent_ino,
            name,
        } => copy.file(what, parent_ino, name),
    });
    copy.left_out
        .extend(tree.outside().iter().map(|live| live.ino));
    copy.left_out.extend(tree.directories_outside());
    layout.visit_further_names(&mut |name| {
        let known = unescape(&name.name);
        copy.link(name.ino, name.parent_ino, known.as_deref());
    });
    copy.finish()
}

/// A copy that is being made.
#[derive(Default)]
struct Copy {
    events: Vec<Event>,
    left_out: Vec<u64>,
    directories: BTreeMap<u64, DirId>,
    /// Files with their inode numbers.
    files: BTreeMap<u64, FileId>,
    last_directory: u64,
    last_file: u64,
}

impl Copy {
    /// The first root is the root; what lies below another one was torn off.
    fn directory(&mut self, ino: u64, parent_ino: Option<u64>, name: Option<&[u8]>) {
        if self.directories.is_empty() {
            self.directories.insert(ino, DirId::ROOT);
            return;
        }
        let parent = parent_ino.and_then(|parent| self.directories.get(&parent));
        let (Some(&parent), false) = (parent, self.directories.contains_key(&ino)) else {
            self.left_out.push(ino);
            return;
        };
        self.last_directory += 1;
        let dir = DirId(self.last_directory);
        self.directories.insert(ino, dir);
        let parent = Some(parent);
        self.push(Op::Mkdir { dir, parent }, name, || format!("d{ino}"));
    }

    fn file(&mut self, live: &Live, parent_ino: u64, name: Option<&[u8]>) {
        let ino = live.ino;
        let copied = matches!(live.kind, FileKind::Regular | FileKind::Symlink);
        let Some(&dir) = self.directories.get(&parent_ino).filter(|_| copied) else {
            self.left_out.push(ino);
            return;
        };
        let file = self.new_file(ino);
        let bytes = live.size_bytes;
        if live.kind == FileKind::Symlink {
            self.push(Op::Symlink { file, dir, bytes }, name, || format!("f{ino}"));
            return;
        }
        let ranges = live.data.as_deref();
        let bytes = if ranges.is_some() { 0 } else { bytes };
        self.push(Op::Create { file, dir, bytes }, name, || format!("f{ino}"));
        let Some(ranges) = ranges else { return };
        for range in ranges {
            self.events.push(Event::new(Op::Write {
                file,
                offset: range.start,
                bytes: range.end - range.start,
            }));
        }
        if ranges.last().map_or(0, |range| range.end) < live.size_bytes {
            let bytes = live.size_bytes;
            self.events.push(Event::new(Op::Truncate { file, bytes }));
        }
    }

    /// A further name of a file that was copied, in a directory that was.
    fn link(&mut self, ino: u64, parent_ino: u64, name: Option<&[u8]>) {
        let existing = self.files.get(&ino).copied();
        let dir = self.directories.get(&parent_ino).copied();
        let (Some(existing), Some(dir)) = (existing, dir) else {
            self.left_out.push(ino);
            return;
        };
        self.last_file += 1;
        let file = FileId(self.last_file);
        let op = Op::Link {
            file,
            existing,
            dir,
        };
        self.push(op, name, || format!("f{ino}.{}", file.0));
    }

    fn new_file(&mut self, ino: u64) -> FileId {
        self.last_file += 1;
        let file = FileId(self.last_file);
        self.files.insert(ino, file);
        file
    }

    fn push(&mut self, op: Op, name: Option<&[u8]>, unnamed: impl FnOnce() -> String) {
        let event = Event::new(op);
        // A snapshot may say anything.
        self.events
            .push(match name.filter(|name| check_name(name).is_ok()) {
                Some(name) => event.named(name),
                None => event.named(unnamed().as_bytes()),
            });
    }

    fn finish(mut self) -> Control {
        self.events.push(Event::new(Op::Sync));
        self.left_out.sort_unstable();
        self.left_out.dedup();
        Control {
            events: self.events,
            files: self.files,
            directories: self.directories,
            left_out: self.left_out,
        }
    }
}

/// The ranges of a file that hold data, within its length; `None` if that is all of it, or not known.
fn data_between_holes(file: &FileView<'_>) -> Option<Box<[Range<u64>]>> {
    let mut ranges: Vec<Range<u64>> = Vec::new();
    let data = file.extents?.iter().filter(|e| !e.is_pointers());
    for extent in data.filter(|e| e.logical_bytes < file.size_bytes && e.length_bytes > 0) {
        let start = extent.logical_bytes;
        let end = start
            .saturating_add(extent.length_bytes)
            .min(file.size_bytes);
        match ranges.last_mut() {
            Some(last) if last.end == start => last.end = end,
            _ => ranges.push(start..end),
        }
    }
    let all = 0..file.size_bytes;
    let inline = file.source_flags & source_flags::INLINE != 0;
    let whole = ranges == [all] || file.size_bytes == 0 || (ranges.is_empty() && inline);
    (!whole).then(|| ranges.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsage_core::snapshot::{FurtherName, Inode, SnapshotInfo};
    use fsage_core::{Extent, LayoutInMemory};

    fn inode(ino: u64, kind: FileKind, parent: u64, path: &str, size: u64) -> Inode {
        Inode {
            parent_ino: Some(parent),
            path: Some(path.into()),
            ..Inode::new(ino, None, kind, size)
        }
    }

    fn data(logical: u64, length: u64) -> Extent {
        Extent {
            logical_bytes: logical,
            physical_bytes: 1 << 30,
            length_bytes: length,
            flags: 0,
        }
    }

    fn control(inodes: Vec<Inode>, names: Vec<FurtherName>) -> Control {
        control_workload(&LayoutInMemory {
            geometry: SnapshotInfo::default().geometry(),
            space: None,
            inodes,
            names,
            free: None,
        })
    }

    /// Operation and name of every event.
    fn said(control: &Control) -> Vec<(Op, String)> {
        let name =
            |e: &Event| String::from_utf8_lossy(e.name.as_deref().unwrap_or_default()).into();
        control.events.iter().map(|e| (e.op, name(e))).collect()
    }

    #[test]
    fn a_tree_is_copied_in_order_with_holes_links_and_names() {
        use FileKind::{Directory, Fifo, Regular, Symlink};
        let mut sparse = inode(5, Regular, 3, "a/sparse", 40_960);
        sparse.extents = Some([data(4096, 4096), data(8192, 4096), data(20_480, 4096)].into());
        let mut whole = inode(6, Regular, 2, "whole", 5000);
        whole.extents = Some([data(0, 8192), data(8192, 65_536)].into());
        let copy = control(
            vec![
                inode(2, Directory, 2, ".", 4096),
                inode(3, Directory, 2, "a", 4096),
                inode(4, Symlink, 2, "link", 9),
                sparse,
                whole,
                inode(7, Fifo, 2, "pipe", 0),
                inode(8, Regular, 77, "torn/off", 1),
                inode(9, Regular, 3, "a/\\x0a", 3),
            ],
            vec![FurtherName {
                ino: 6,
                generation: None,
                parent_ino: 3,
                name: "again".into(),
            }],
        );
        let (root, a) = (DirId::ROOT, DirId(1));
        let (newline, sparse, link, whole, again) =
            (FileId(1), FileId(2), FileId(3), FileId(4), FileId(5));
        let create = |file, dir, bytes| Op::Create { file, dir, bytes };
        let write = |offset, bytes| Op::Write {
            file: sparse,
            offset,
            bytes,
        };
        let none = String::new;
        let expected = [
            (
                Op::Mkdir {
                    dir: a,
                    parent: Some(root),
                },
                "a".to_owned(),
            ),
            (create(newline, a, 3), "\n".to_owned()),
            (create(sparse, a, 0), "sparse".to_owned()),
            (write(4096, 8192), none()),
            (write(20_480, 4096), none()),
            (
                Op::Truncate {
                    file: sparse,
                    bytes: 40_960,
                },
                none(),
            ),
            (
                Op::Symlink {
                    file: link,
                    dir: root,
                    bytes: 9,
                },
                "link".to_owned(),
            ),
            (create(whole, root, 5000), "whole".to_owned()),
            (
                Op::Link {
                    file: again,
                    existing: whole,
                    dir: a,
                },
                "again".to_owned(),
            ),
            (Op::Sync, none()),
        ];
        assert_eq!(said(&copy), expected);
        let files = [(4, link), (5, sparse), (6, whole), (9, newline)];
        assert_eq!(copy.files, files.into(), "of every inode its first name");
        assert_eq!(copy.left_out, [7, 8]);
    }

    #[test]
    fn without_names_files_are_called_after_their_inodes() {
        let unnamed = |ino, kind, parent| Inode {
            path: None,
            ..inode(ino, kind, parent, "", 1)
        };
        let copy = control(
            vec![
                unnamed(2, FileKind::Directory, 2),
                unnamed(12, FileKind::Directory, 2),
                unnamed(13, FileKind::Regular, 12),
                unnamed(40, FileKind::Directory, 39),
                unnamed(41, FileKind::Regular, 40),
            ],
            Vec::new(),
        );
        let names: Vec<String> = said(&copy).into_iter().map(|(_, name)| name).collect();
        assert_eq!(names, ["d12", "f13", ""]);
        assert_eq!(copy.left_out, [40, 41], "what lies below a root of its own");
    }
}
