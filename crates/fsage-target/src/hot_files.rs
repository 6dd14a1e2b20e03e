//! Hot files: those whose data changed in the last days of a workload, and which are alive at its end.
//!
//! Smith and Seltzer 1996 and 1997 read and overwrite the files that were modified in the last month of their aging
//! workload: of all files the ones most likely to be used next. The set is taken from the events alone, by their times,
//! so that it is the same whatever the workload was replayed on.
//!
//! Making a file with data in it changes its data; so does every other operation of
//! [`Op::written_file`]. An event without a time is as late as the one before it. A workload without any time has days
//! of 24 hours.
//!
//! It is no matter here whether an operation could be done, as it would be with the rules of
//! [`fsage_core::operations`]: the same files are to be hot on a target that had no space for some of it.
//!
//! Memory: about 60 bytes a live file.

use fsage_core::{Event, FileId, FileKind, FileSystem, Op};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Nanoseconds of a day.
const DAY_NS: i64 = 24 * 3600 * 1_000_000_000;

/// An inode of the workload.
#[derive(Clone, Copy, Debug)]
struct Inode {
    /// The id it was made under.
    made_as: FileId,
    /// When its data changed; `None` while there never were any.
    modified_ns: Option<i64>,
    names: u32,
}

/// A hot file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HotFile {
    /// A name of it that is alive.
    pub file: FileId,
    /// The id that it was made under, which
    /// [its content on a real file system](fsage_real::directory::Content) goes by.
    pub made_as: FileId,
}

/// Watches the events of a workload for hot files.
#[derive(Clone, Debug, Default)]
pub struct HotFiles {
    now_ns: i64,
    /// The latest time of all.
    end_ns: i64,
    /// An event had a time.
    timed: bool,
    names: FxHashMap<FileId, u32>,
    inodes: Vec<Inode>,
    /// Places in `inodes` that are free.
    free: Vec<u32>,
}

impl HotFiles {
    /// Nothing is hot before the first event.
    pub fn new() -> HotFiles {
        HotFiles::default()
    }

    /// Takes the next event. What does not fit the state changes nothing.
    pub fn observe(&mut self, event: &Event) {
        self.advance(event);
        match event.op {
            Op::Create { file, bytes, .. } => self.make(file, (bytes > 0).then_some(self.now_ns)),
            Op::Symlink { file, .. } => self.make(file, None),
            Op::Link { file, existing, .. } => {
                if let (Some(&inode), false) =
                    (self.names.get(&existing), self.names.contains_key(&file))
                {
                    self.inodes[inode as usize].names += 1;
                    self.names.insert(file, inode);
                }
            }
            Op::Delete { file } => self.remove(file),
            Op::Rename {
                file,
                replaced: Some(replaced),
                ..
            } if file != replaced && self.names.contains_key(&file) => self.remove(replaced),
            _ => {
                let written = event.op.written_file();
                if let Some(&inode) = written.and_then(|file| self.names.get(&file)) {
                    self.inodes[inode as usize].modified_ns = Some(self.now_ns);
                }
            }
        }
    }

    fn advance(&mut self, event: &Event) {
        match event.t_ns {
            Some(t_ns) => {
                self.end_ns = if self.timed {
                    self.end_ns.max(t_ns)
                } else {
                    t_ns
                };
                self.timed = true;
                self.now_ns = t_ns;
            }
            None if !self.timed && event.op == Op::Day => {
                self.now_ns = self.now_ns.saturating_add(DAY_NS);
                self.end_ns = self.now_ns;
            }
            None => {}
        }
    }

    fn make(&mut self, file: FileId, modified_ns: Option<i64>) {
        if self.names.contains_key(&file) {
            return;
        }
        let inode = Inode {
            made_as: file,
            modified_ns,
            names: 1,
        };
        let place = if let Some(place) = self.free.pop() {
            self.inodes[place as usize] = inode;
            place
        } else {
            self.inodes.push(inode);
            (self.inodes.len() - 1) as u32
        };
        self.names.insert(file, place);
    }

    fn remove(&mut self, file: FileId) {
        if let Some(place) = self.names.remove(&file) {
            let inode = &mut self.inodes[place as usize];
            inode.names -= 1;
            if inode.names == 0 {
                self.free.push(place);
            }
        }
    }

    /// The live files whose data changed within so many days before the last event, by the lowest of their ids.
    pub fn of_last_days(&self, days: u32) -> Vec<HotFile> {
        let since_ns = self
            .end_ns
            .saturating_sub(i64::from(days).saturating_mul(DAY_NS));
        let mut lowest: BTreeMap<u32, FileId> = BTreeMap::new();
        // Visited in any order: the lowest name of an inode is what it is.
        #[allow(clippy::iter_over_hash_type)]
        for (&file, &place) in &self.names {
            let modified_ns = self.inodes[place as usize].modified_ns;
            if modified_ns.is_some_and(|modified_ns| modified_ns >= since_ns) {
                let known = lowest.entry(place).or_insert(file);
                *known = file.min(*known);
            }
        }
        let mut hot: Vec<HotFile> = lowest
            .into_iter()
            .map(|(place, file)| HotFile {
                file,
                made_as: self.inodes[place as usize].made_as,
            })
            .collect();
        hot.sort_unstable();
        hot
    }
}

/// The regular ones of some files of a file system, by the inode of their directory, then by their own: the order in
/// which hot files are read. Files that are not there, for lack of space, are left out.
pub fn in_directory_order(
    fs: &dyn FileSystem,
    files: impl IntoIterator<Item = FileId>,
) -> Vec<FileId> {
    let by_inode: FxHashMap<u64, FileId> = files
        .into_iter()
        .filter_map(|file| Some((fs.inode(file)?, file)))
        .collect();
    let mut ordered = Vec::with_capacity(by_inode.len());
    fs.visit_files(&mut |view| {
        if view.kind == FileKind::Regular
            && let Some(&file) = by_inode.get(&view.ino)
        {
            ordered.push((view.parent_ino, view.ino, file));
        }
    });
    ordered.sort_unstable();
    ordered.into_iter().map(|(_, _, file)| file).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsage_core::DirId;
    use fsage_models::ffs::{Ffs, Params};

    const ROOT: DirId = DirId::ROOT;

    fn create(file: u64, bytes: u64) -> Op {
        create_in(file, ROOT, bytes)
    }

    fn create_in(file: u64, dir: DirId, bytes: u64) -> Op {
        let file = FileId(file);
        Op::Create { file, dir, bytes }
    }

    /// Ids of the files that are hot after these operations, each on a day of its own.
    fn hot(operations: &[(i64, Op)], days: u32) -> Vec<u64> {
        let mut hot = HotFiles::new();
        for &(day, op) in operations {
            hot.observe(&Event::new(op).at(day * DAY_NS));
        }
        let files = hot.of_last_days(days);
        files.into_iter().map(|hot| hot.file.0).collect()
    }

    /// Every operation on a file that was made on day 1, on day 9, of a workload that ends on day 10: by the list of
    /// operations in the module's documentation.
    #[test]
    fn what_changes_data_makes_a_file_hot() {
        let file = FileId(1);
        let table = [
            (Op::Append { file, bytes: 1 }, true),
            (
                Op::Write {
                    file,
                    offset: 0,
                    bytes: 1,
                },
                true,
            ),
            (Op::Overwrite { file, range: None }, true),
            (Op::Rewrite { file, bytes: 9 }, true),
            (Op::Truncate { file, bytes: 0 }, true),
            (
                Op::Fallocate {
                    file,
                    offset: 0,
                    bytes: 5000,
                },
                true,
            ),
            (
                Op::Punch {
                    file,
                    offset: 0,
                    bytes: 4096,
                },
                true,
            ),
            (
                Op::Rename {
                    file,
                    dir: ROOT,
                    replaced: None,
                },
                false,
            ),
            (Op::Fsync { file }, false),
            (Op::Sync, false),
        ];
        for (op, expected) in table {
            let story = [(1, create(1, 9000)), (9, op), (10, Op::Day)];
            assert_eq!(!hot(&story, 5).is_empty(), expected, "{op:?}");
        }
    }

    /// 30 days before day 40 is day 10: what changed then is in, what changed before is out.
    #[test]
    fn the_window_ends_with_the_last_event() {
        let story = [
            (9, create(1, 1)),
            (10, create(2, 1)),
            (39, create(3, 1)),
            (39, create(4, 0)),
            (40, Op::Sync),
            // Times need not increase.
            (12, Op::Sync),
        ];
        assert_eq!(hot(&story, 30), [2, 3], "an empty file has no data");
        assert_eq!(hot(&story, 31), [1, 2, 3]);
        assert_eq!(hot(&story[..1], 0), [1]);
    }

    #[test]
    fn only_what_is_alive_is_hot_and_an_inode_is_hot_once() {
        let link = |file, existing| Op::Link {
            file: FileId(file),
            existing: FileId(existing),
            dir: ROOT,
        };
        let delete = |file| Op::Delete { file: FileId(file) };
        let append = |file| Op::Append {
            file: FileId(file),
            bytes: 1,
        };
        let story = [
            (1, create(7, 1)),
            (1, link(3, 7)),
            (1, link(5, 7)),
            (1, create(8, 1)),
            (1, create(9, 1)),
            (50, append(5)),
            (50, delete(3)),
            (50, delete(7)),
            (50, append(8)),
            // 9 takes the place of 8, whose data go; it is as cold as it was.
            (
                50,
                Op::Rename {
                    file: FileId(9),
                    dir: ROOT,
                    replaced: Some(FileId(8)),
                },
            ),
            // The place of an inode that went is used again.
            (50, create(10, 1)),
            // What does not fit the state.
            (50, create(9, 1)),
            (50, append(77)),
            (50, delete(77)),
            (
                50,
                Op::Rename {
                    file: FileId(77),
                    dir: ROOT,
                    replaced: Some(FileId(5)),
                },
            ),
        ];
        assert_eq!(hot(&story, 30), [5, 10]);
        let mut hot = HotFiles::new();
        for (day, op) in story {
            hot.observe(&Event::new(op).at(day * DAY_NS));
        }
        let files = hot.of_last_days(30);
        assert_eq!(
            (files[0].file, files[0].made_as),
            (FileId(5), FileId(7)),
            "the name that is left, and the one that its content goes by"
        );
    }

    #[test]
    fn without_times_a_day_is_a_day() {
        let mut hot = HotFiles::new();
        for file in 1..=5 {
            hot.observe(&Event::new(create(file, 1)));
            hot.observe(&Event::day("d"));
        }
        // Made at the start of their days 0 to 4, of a workload that ends at 5.
        let files = |days| -> Vec<u64> {
            let files = hot.of_last_days(days);
            files.iter().map(|hot| hot.file.0).collect()
        };
        assert_eq!(files(2), [4, 5]);
        assert_eq!(files(1), [5]);
    }

    /// Directory 2 is made first, and FFS puts inodes where there is room: the order is that of the inode numbers.
    #[test]
    fn files_come_by_directory_and_inode() {
        let options = [("preset", Some("tiny"))];
        let mut fs = Ffs::new(Params::from_options(options).unwrap()).unwrap();
        let (one, two) = (DirId(1), DirId(2));
        let mkdir = |dir| Op::Mkdir { dir, parent: None };
        for op in [
            mkdir(two),
            mkdir(one),
            create_in(1, one, 5000),
            create_in(2, two, 5000),
            create_in(3, one, 5000),
            create_in(4, two, 5000),
            create(5, 5000),
            create_in(6, one, 5000),
        ] {
            fs.apply(&op).unwrap();
        }
        let link = Op::Symlink {
            file: FileId(8),
            dir: ROOT,
            bytes: 5,
        };
        fs.apply(&link).unwrap();
        let wanted = [8, 6, 5, 4, 3, 2, 1, 99].map(FileId);
        let ordered = in_directory_order(&fs, wanted);
        let key = |file: &FileId| {
            let dir = match file.0 {
                5 => ROOT,
                n if n % 2 == 0 && n < 6 => two,
                _ => one,
            };
            (fs.directory_inode(dir).unwrap(), fs.inode(*file).unwrap())
        };
        assert_eq!(ordered.len(), 6, "neither the link nor what is not there");
        assert!(ordered.is_sorted_by_key(key), "{ordered:?}");
        assert_eq!(ordered[0], FileId(5), "the root has the lowest inode");
    }
}
