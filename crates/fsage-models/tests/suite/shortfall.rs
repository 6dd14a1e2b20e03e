//! Running out of space is an outcome, not an error: a workload that is sound where there is room for it runs to
//! the end where there is none, and the file system stays consistent.

use fsage_core::{DirId, FileId, FileSystem, Op, Outcome, Rng, StateError};
use fsage_models::cffs::{self, Cffs};
use fsage_models::ext3::{self, Ext3};
use fsage_models::ffs::{Ffs, Params, policy};
use fsage_models::lfs::{self, Lfs, Variant};
use fsage_models::rearrange::{self, Settings, Technique};
use std::collections::BTreeMap;

fn tiny(dirent_bytes: u64) -> Ffs {
    let params = Params {
        dirent_bytes,
        ..Params::preset("tiny").unwrap()
    };
    Ffs::new(params).unwrap()
}

fn create(file: u64, bytes: u64) -> Op {
    let (file, dir) = (FileId(file), DirId::ROOT);
    Op::Create { file, dir, bytes }
}

#[test]
fn a_file_that_came_out_short_is_no_error_of_later_lines() {
    let mut fs = tiny(0);
    assert_eq!(fs.apply(&create(1, 4 << 20)), Ok(Outcome::Done));
    assert_eq!(fs.apply(&create(2, 3500 << 10)), Ok(Outcome::NoSpace));
    let overwrite = |file| Op::Overwrite {
        file: FileId(file),
        range: Some((0, 100)),
    };
    assert_eq!(fs.apply(&overwrite(2)), Ok(Outcome::Absent));
    assert_eq!(fs.apply(&create(3, 50)), Ok(Outcome::Done));
    assert_eq!(fs.apply(&overwrite(3)), Err(StateError::BeyondEnd(50)));
}

#[test]
fn a_rename_over_a_name_that_was_never_made_still_moves_the_file() {
    let mut fs = tiny(0);
    let mkdir = |dir| Op::Mkdir {
        dir: DirId(dir),
        parent: None,
    };
    assert_eq!(fs.apply(&mkdir(1)), Ok(Outcome::Done));
    assert_eq!(fs.apply(&mkdir(2)), Ok(Outcome::Done));
    let (file, dir, bytes) = (FileId(1), DirId(1), 10);
    assert_eq!(
        fs.apply(&Op::Create { file, dir, bytes }),
        Ok(Outcome::Done)
    );
    let mut next = 10;
    while fs.apply(&create(next, 0)) == Ok(Outcome::Done) {
        next += 1;
    }
    // Inodes are used up: the name that is to be replaced does not exist.
    let (never, dir, bytes) = (FileId(2), DirId(2), 10);
    let made = fs.apply(&Op::Create {
        file: never,
        dir,
        bytes,
    });
    assert_eq!(made, Ok(Outcome::NoInode));
    let replaced = Some(never);
    assert_eq!(
        fs.apply(&Op::Rename {
            file,
            dir,
            replaced
        }),
        Ok(Outcome::Done)
    );
    assert_eq!(fs.apply(&Op::Rmdir { dir: DirId(1) }), Ok(Outcome::Done));
    fs.check().unwrap();
}

/// Nothing has room for a directory, so a link in it is not made either.
fn no_name_goes_where_none_was(fs: &mut dyn FileSystem, what: &str) {
    let names = |fs: &dyn FileSystem| {
        (0..200)
            .filter(|&id| fs.file_size(FileId(id)).is_some())
            .count()
    };
    let (mut next, mut bytes) = (10, 4 << 20);
    while bytes > 0 {
        match fs.apply(&create(next, bytes)) {
            Ok(Outcome::Done) => {}
            Ok(_) => bytes /= 2,
            Err(error) => panic!("{what}: {error}"),
        }
        next += 1;
    }
    let (dir, parent) = (DirId(5), None);
    let mkdir = fs.apply(&Op::Mkdir { dir, parent });
    assert!(
        matches!(mkdir, Ok(Outcome::NoSpace | Outcome::NoInode)),
        "{what}: {mkdir:?}"
    );
    let (never, bytes) = (FileId(2), 0);
    let symlink = Op::Symlink {
        file: never,
        dir,
        bytes,
    };
    assert_eq!(fs.apply(&symlink), Ok(Outcome::Absent), "{what}");
    // Room for the change of the root, where a log needs some.
    let delete = |id| Op::Delete { file: FileId(id) };
    assert_eq!(fs.apply(&delete(11)), Ok(Outcome::Done), "{what}");
    let before = names(fs);
    let rename = Op::Rename {
        file: FileId(10),
        dir: DirId::ROOT,
        replaced: Some(never),
    };
    assert_eq!(fs.apply(&rename), Ok(Outcome::Done), "{what}");
    assert_eq!(names(fs), before, "{what}");
    assert_eq!(fs.check(), Ok(()), "{what}");
    // Now the workload and the file system agree: the name was replaced, and is free.
    assert_eq!(
        fs.apply(&delete(2)),
        Err(StateError::NoFile(never)),
        "{what}"
    );
}

#[test]
fn a_rename_over_a_link_that_was_never_made_takes_no_name_in_any_model() {
    let disk = 20 << 20;
    let ext3 = |size_bytes| {
        Ext3::new(ext3::Params {
            size_bytes,
            block_bytes: 1024,
            journal_bytes: Some(1 << 20),
            ..ext3::Params::default()
        })
    };
    no_name_goes_where_none_was(&mut tiny(0), "ffs");
    no_name_goes_where_none_was(&mut ext3(disk).unwrap(), "ext3");
    let cffs = cffs::Params {
        size_bytes: disk,
        ..cffs::Params::default()
    };
    no_name_goes_where_none_was(&mut Cffs::new(cffs).unwrap(), "cffs");
    for variant in [Variant::Lite2, Variant::NetBsd] {
        let params = lfs::Params {
            size_bytes: disk,
            segment_bytes: 256 << 10,
            ..lfs::Params::of_variant(variant)
        };
        no_name_goes_where_none_was(&mut Lfs::new(params).unwrap(), "lfs");
    }
    for technique in [
        Technique::None,
        Technique::Files,
        Technique::Blocks,
        Technique::OrganPipe,
    ] {
        let settings = Settings {
            reserved_ppm: 80_000,
            ..Settings::new(technique)
        };
        let mut layer = rearrange::over(&settings, disk, |_, bytes| ext3(bytes)).unwrap();
        no_name_goes_where_none_was(&mut *layer, &format!("{technique:?}"));
    }
}

/// A directory that was removed over the heads of its subdirectories must not become its own ancestor.
#[test]
fn removed_directories_make_no_circle() {
    let mut fs = tiny(0);
    fs.apply_rmdir_as_it_stands();
    let mkdir = |dir, parent: Option<u64>| Op::Mkdir {
        dir: DirId(dir),
        parent: parent.map(DirId),
    };
    let rmdir = |dir| Op::Rmdir { dir: DirId(dir) };
    let (dir, parent) = (DirId(5), DirId(3));
    for op in [
        mkdir(1, None),
        mkdir(2, Some(1)),
        mkdir(3, Some(2)),
        rmdir(2),
        rmdir(1),
        mkdir(4, Some(3)),
        mkdir(5, None),
        Op::RenameDir { dir, parent },
    ] {
        assert_eq!(fs.apply(&op), Ok(Outcome::Done), "{op:?}");
        fs.check().unwrap();
    }
}

/// A workload that never breaks a rule, as long as there is room for everything.
struct Sound {
    rng: Rng,
    next: u64,
    /// Live files: directory and size.
    files: BTreeMap<u64, (u64, u64)>,
    /// Live directories but the root: parent.
    dirs: BTreeMap<u64, u64>,
}

impl Sound {
    fn any_dir(&mut self) -> u64 {
        let at = self.rng.below(self.dirs.len() as u64 + 1) as usize;
        self.dirs.keys().nth(at).copied().unwrap_or(0)
    }

    fn any_file(&mut self) -> Option<u64> {
        let at = self.rng.below(self.files.len() as u64) as usize;
        self.files.keys().nth(at).copied()
    }

    fn is_below(&self, dir: u64, top: u64) -> bool {
        let mut at = dir;
        while at != 0 && at != top {
            at = self.dirs[&at];
        }
        at == top
    }

    fn step(&mut self) -> Option<Op> {
        let kind = self.rng.below(20);
        let bytes = self.rng.below(60_000);
        let dir = self.any_dir();
        let file = self.any_file();
        self.next += 1;
        let new = self.next;
        Some(match kind {
            0..=6 => {
                self.files.insert(new, (dir, bytes));
                let (file, dir) = (FileId(new), DirId(dir));
                Op::Create { file, dir, bytes }
            }
            7 => {
                self.dirs.insert(new, dir);
                Op::Mkdir {
                    dir: DirId(new),
                    parent: Some(DirId(dir)),
                }
            }
            8 => {
                let used = |d: &u64| {
                    self.files.values().any(|f| f.0 == *d) || self.dirs.values().any(|p| p == d)
                };
                let empty = self.dirs.keys().copied().find(|d| !used(d))?;
                self.dirs.remove(&empty);
                Op::Rmdir { dir: DirId(empty) }
            }
            9 => {
                let moved = self.dirs.keys().copied().next()?;
                if self.is_below(dir, moved) {
                    return None;
                }
                self.dirs.insert(moved, dir);
                let (dir, parent) = (DirId(moved), DirId(dir));
                Op::RenameDir { dir, parent }
            }
            10 | 11 => {
                let file = file?;
                let replaced = self.any_file().filter(|&other| other != file);
                let to = replaced.map_or(dir, |other| self.files[&other].0);
                if let Some(other) = replaced {
                    self.files.remove(&other);
                }
                self.files.get_mut(&file)?.0 = to;
                Op::Rename {
                    file: FileId(file),
                    dir: DirId(to),
                    replaced: replaced.map(FileId),
                }
            }
            12 => {
                let existing = file?;
                // Sizes of linked files are not followed: nothing is written to either name afterwards.
                self.files.remove(&existing);
                Op::Link {
                    file: FileId(new),
                    existing: FileId(existing),
                    dir: DirId(dir),
                }
            }
            13 | 14 => {
                let file = file?;
                self.files.get_mut(&file)?.1 += bytes;
                let file = FileId(file);
                Op::Append { file, bytes }
            }
            15 => {
                let file = file?;
                self.files.get_mut(&file)?.1 = bytes;
                let file = FileId(file);
                Op::Rewrite { file, bytes }
            }
            16 => {
                let file = file?;
                let size = self.files[&file].1;
                let offset = self.rng.below(size + 1);
                let range = Some((offset, size - offset));
                let file = FileId(file);
                Op::Overwrite { file, range }
            }
            17 => {
                let file = file?;
                self.files.get_mut(&file)?.1 = bytes;
                let file = FileId(file);
                Op::Truncate { file, bytes }
            }
            _ => {
                let file = file?;
                self.files.remove(&file);
                Op::Delete { file: FileId(file) }
            }
        })
    }
}

#[test]
fn a_sound_workload_never_meets_a_state_error_however_small_the_disk() {
    let mut skipped = 0;
    for seed in 0..60 {
        let params = Params {
            dirent_bytes: [0, 100, 488][seed as usize % 3],
            bytes_per_inode: Some([4096, 32_768][seed as usize % 2]),
            policy: policy::ALL[seed as usize % 5],
            ..Params::preset("tiny").unwrap()
        };
        let mut small = Ffs::new(params).unwrap();
        let mut roomy = Ffs::new(Params::preset("g502").unwrap()).unwrap();
        let mut sound = Sound {
            rng: Rng::new(seed),
            next: 0,
            files: BTreeMap::new(),
            dirs: BTreeMap::new(),
        };
        for _ in 0..1500 {
            // Links leave names whose directories must not be removed: the script keeps those directories.
            let Some(op) = sound.step() else { continue };
            if let Op::Rmdir { .. } = op
                && roomy.apply(&op) == Err(StateError::NotEmpty(dir_of(&op)))
            {
                continue;
            } else if !matches!(op, Op::Rmdir { .. }) {
                assert_eq!(roomy.apply(&op), Ok(Outcome::Done), "not sound: {op:?}");
            }
            match small.apply(&op) {
                Ok(Outcome::Done) => {}
                Ok(_) => skipped += 1,
                Err(error) => panic!("seed {seed}: {op:?}: {error}"),
            }
        }
        small.check().unwrap();
    }
    assert!(skipped > 1000, "the disk was not small enough: {skipped}");
}

fn dir_of(op: &Op) -> DirId {
    match *op {
        Op::Rmdir { dir } => dir,
        _ => DirId::ROOT,
    }
}
