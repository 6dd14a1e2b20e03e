//! Running out of space is an outcome, not an error: a workload that is sound where there is room for it runs to
//! the end where there is none, and the file system stays consistent.

use crate::steps::rules::{End, Rules, Sound};
use fsage_core::operations::planned_length;
use fsage_core::{DirId, FileId, FileSystem, Op, Outcome, Rng, StateError};
use fsage_models::cffs::{self, Cffs};
use fsage_models::ext3::{self, Ext3};
use fsage_models::ffs::{Ffs, Params, policy};
use fsage_models::lfs::{self, Lfs, Variant};
use fsage_models::rearrange::{self, Settings, Technique};

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
        let mut sound = Sound::new(seed, 600);
        for _ in 0..1500 {
            let op = sound.next();
            assert_eq!(roomy.apply(&op), Ok(Outcome::Done), "not sound: {op:?}");
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

/// A name that a rename did not replace, as what was to take its place was never made, is in the way of nothing.
#[test]
fn a_name_that_should_have_been_replaced_may_be_made_again() {
    let mut fs = tiny(0);
    assert_eq!(fs.apply(&create(1, 10)), Ok(Outcome::Done));
    let mut never = 10;
    while fs.apply(&create(never, 0)) == Ok(Outcome::Done) {
        never += 1;
    }
    let (file, dir, replaced) = (FileId(never), DirId::ROOT, Some(FileId(1)));
    let rename = Op::Rename {
        file,
        dir,
        replaced,
    };
    assert_eq!(fs.apply(&rename), Ok(Outcome::Absent));
    assert_eq!(fs.apply(&create(1, 20)), Ok(Outcome::Absent));
    // What it holds is not what the workload wrote last.
    let (file, range) = (FileId(1), Some((0, 20)));
    assert_eq!(
        fs.apply(&Op::Overwrite { file, range }),
        Ok(Outcome::Absent)
    );
    assert_eq!(fs.apply(&Op::Delete { file }), Ok(Outcome::Done));
    assert_eq!(fs.apply(&create(1, 20)), Ok(Outcome::Done));
    assert_eq!(
        fs.apply(&create(1, 20)),
        Err(StateError::FileExists(FileId(1)))
    );
}

#[test]
fn a_short_file_is_known_to_be_short_by_the_name_that_is_left() {
    let mut fs = tiny(0);
    let (file, existing, dir) = (FileId(2), FileId(1), DirId::ROOT);
    let link = Op::Link {
        file,
        existing,
        dir,
    };
    let range = Some((11 << 20, 100));
    let overwrite = Op::Overwrite { file, range };
    assert_eq!(fs.apply(&create(1, 12 << 20)), Ok(Outcome::NoSpace));
    assert_eq!(fs.apply(&link), Ok(Outcome::Done));
    assert_eq!(fs.apply(&overwrite), Ok(Outcome::Absent));
    let delete = Op::Delete { file: existing };
    assert_eq!(fs.apply(&delete), Ok(Outcome::Done));
    assert_eq!(fs.apply(&overwrite), Ok(Outcome::Absent));
}

/// Every operation may find no space, and even names may have to stay, as on file systems that never write in place.
#[test]
fn a_sound_workload_fits_the_rules_however_its_operations_end() {
    let mut skipped = 0;
    for seed in 0..400 {
        let mut sound = Sound::new(seed, 4 + seed % 20);
        let mut rules = Rules::new();
        let mut rng = Rng::new(seed).stream("ends", 0);
        for _ in 0..400 {
            let op = sound.next();
            let end = match rng.below(5) {
                0 => End::nothing(Outcome::NoSpace),
                1 => {
                    let left = rng.below(60_000);
                    let planned = planned_length(&op, rules.file_size(file_of(&op)).unwrap_or(0));
                    End {
                        outcome: [Outcome::NoSpace, Outcome::TooLarge][left as usize % 2],
                        bytes: Some(left.min(planned)),
                    }
                }
                _ => End::DONE,
            };
            match rules.apply(&op, || end) {
                Ok(outcome) => skipped += u64::from(outcome == Outcome::Absent),
                Err(error) => panic!("seed {seed}: {op:?}: {error}"),
            }
        }
    }
    assert!(skipped > 10_000, "{skipped}");
}

fn file_of(op: &Op) -> FileId {
    op.written_file().unwrap_or(FileId(u64::MAX))
}
