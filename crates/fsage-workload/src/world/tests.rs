//! What fits a world is what fits a file system: the rules of `docs/spec/workload.md`.

use super::World;
use fsage_core::{DirId, FileId, Op};

fn create(file: u64, dir: u64, bytes: u64) -> Op {
    let (file, dir) = (FileId(file), DirId(dir));
    Op::Create { file, dir, bytes }
}

fn mkdir(dir: u64, parent: Option<u64>) -> Op {
    let (dir, parent) = (DirId(dir), parent.map(DirId));
    Op::Mkdir { dir, parent }
}

/// The file that a name is moved over is itself: nothing happens, and nothing is wrong.
#[test]
fn a_name_may_be_moved_over_itself() {
    let mut world = World::new(1);
    assert!(world.apply(&create(1, 0, 10)));
    let (file, dir) = (FileId(1), DirId::ROOT);
    let replaced = Some(file);
    assert!(world.apply(&Op::Rename {
        file,
        dir,
        replaced
    }));
    assert_eq!((world.live_names(), world.used_bytes), (1, 10));
}

#[test]
fn nothing_is_overwritten_behind_the_end_of_a_file() {
    let mut world = World::new(1);
    let file = FileId(1);
    let overwrite = |bytes| Op::Overwrite {
        file,
        range: Some((5, bytes)),
    };
    assert!(world.apply(&create(1, 0, 10)));
    assert!(world.apply(&overwrite(5)));
    assert!(!world.apply(&overwrite(6)));
    let (offset, bytes) = (u64::MAX, 1);
    assert!(!world.apply(&Op::Write {
        file,
        offset,
        bytes
    }));
    assert_eq!(world.used_bytes, 10);
}

/// A directory without a parent is made in the root, whatever directory has number 0.
#[test]
fn directory_0_is_an_ordinary_one_if_it_is_made_before_anything_names_the_root() {
    let mut world = World::new(1);
    assert!(world.apply(&mkdir(0, None)));
    assert!(world.apply(&mkdir(1, None)));
    assert!(world.apply(&mkdir(2, Some(0))));
    let parent = |id| world.dirs[world.dir(DirId(id)).unwrap()].parent;
    assert_eq!([parent(0), parent(1), parent(2)], [0, 0, 1]);
    assert!(!world.apply(&mkdir(0, None)));

    let mut world = World::new(1);
    assert!(world.apply(&create(1, 0, 10)));
    assert!(!world.apply(&mkdir(0, None)));
}
