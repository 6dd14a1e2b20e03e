//! The Ext4 model put together from a snapshot: what the snapshot tells is there again, and the rest fits it.

use crate::ext4_image::clean_or_skipped;
use crate::images::{self, data, extent, goes_on, refused_for_names};
use fsage_core::operations::Model as _;
use fsage_core::{DirId, Extent, FileId, FileSystem as _, LayoutInMemory, Op};
use fsage_models::ext4::{Ext4, Params};

fn snapshot_of(fs: &mut Ext4) -> LayoutInMemory {
    fs.remount();
    images::snapshot_of(fs, 2)
}

/// What the snapshot of such a file system does not say.
fn unrecorded(fs: &Ext4) -> Params {
    Params {
        size_bytes: 0,
        block_bytes: None,
        inodes: None,
        reserve_percent: 0,
        ..fs.params().clone()
    }
}

/// The same without groups, which only its image knows.
fn of_walk(found: LayoutInMemory) -> LayoutInMemory {
    let mut found = images::of_walk(found);
    found.geometry.group_count = 0;
    found.geometry.group_bytes = 0;
    found.geometry.inodes_per_group = 0;
    found
}

fn with_other_names(mut found: LayoutInMemory, name: impl Fn(&str) -> String) -> LayoutInMemory {
    for inode in found.inodes.iter_mut().filter(|inode| inode.ino > 11) {
        inode.path = inode.path.take().map(|path| name(&path).into());
    }
    for further in &mut found.names {
        further.name = name(&further.name).into();
    }
    found
}

/// What a snapshot of a file system tells is there again in one that begins with it.
pub fn comes_back(fs: &mut Ext4, what: &str) {
    let known = snapshot_of(fs);
    let how = unrecorded(fs);
    let mut again =
        Ext4::from_snapshot(&how, &known).unwrap_or_else(|error| panic!("{what}: {error}"));
    let seen = snapshot_of(&mut again);
    for (known, seen) in known.inodes.iter().zip(&seen.inodes) {
        assert_eq!(known, seen, "{what}");
    }
    assert_eq!(known, seen, "{what}");
    clean_or_skipped(&mut again, what);
    goes_on(&mut again);
    clean_or_skipped(&mut again, &format!("{what}, gone on"));

    let how = Params {
        size_bytes: known.geometry.size_bytes,
        ..how
    };
    let little = with_other_names(of_walk(known.clone()), |name| format!("hidden_{name}"));
    match Ext4::from_snapshot(&how, &little) {
        Ok(mut again) => {
            assert_eq!(
                data(&snapshot_of(&mut again)),
                data(&known),
                "{what}, walked"
            );
            clean_or_skipped(&mut again, &format!("{what}, walked"));
        }
        Err(error) => refused_for_names(&error, &format!("{what}, walked")),
    }
}

fn made() -> Ext4 {
    let params = Params {
        size_bytes: 32 << 20,
        journal_bytes: Some(1 << 20),
        ..Params::default()
    };
    let mut fs = Ext4::new(params).expect("mkfs takes it");
    let dir = DirId(1);
    let mut ops = vec![Op::Mkdir { dir, parent: None }];
    ops.extend((0..40).map(|file| Op::Create {
        file: FileId(file),
        dir,
        bytes: file * 900,
    }));
    ops.extend(
        (0..40)
            .step_by(3)
            .map(|file| Op::Delete { file: FileId(file) }),
    );
    ops.push(Op::Create {
        file: FileId(100),
        dir,
        bytes: 300_000,
    });
    for op in ops {
        fs.apply(&op).expect("it fits the state");
    }
    fs
}

/// Of two names of one file that stand in different directories, or in one, the same is the first one again, whichever
/// was made first.
#[test]
fn files_with_two_names_come_back_under_the_same_one() {
    let at = |file, dir| (FileId(file), DirId(dir));
    for ((file, dir), (link, further)) in [
        (at(1, 2), at(2, 1)),
        (at(1, 1), at(2, 2)),
        (at(2, 1), at(1, 1)),
        (at(1, 0), at(2, 2)),
    ] {
        let mut fs = made();
        let (second, parent) = (DirId(2), None);
        let kept = [FileId(1), FileId(2)].map(|file| Op::Delete { file });
        let ops = kept.into_iter().chain([
            Op::Mkdir {
                dir: second,
                parent,
            },
            Op::RenameDir {
                dir: DirId(1),
                parent: second,
            },
            Op::Create {
                file,
                dir,
                bytes: 5000,
            },
            Op::Link {
                file: link,
                existing: file,
                dir: further,
            },
        ]);
        for op in ops {
            fs.apply(&op).expect("it fits the state");
        }
        comes_back(&mut fs, &format!("{file:?} {dir:?}, {link:?} {further:?}"));
    }
}

/// A symbolic link that was given a length without data has no target in an image: it is a file there, and comes back
/// as one.
#[test]
fn a_link_without_a_target_comes_back_as_the_file_that_it_is_in_the_image() {
    let mut fs = made();
    let file = FileId(200);
    for op in [
        Op::Symlink {
            file,
            dir: DirId(1),
            bytes: 0,
        },
        Op::Truncate { file, bytes: 700 },
    ] {
        fs.apply(&op).expect("it fits the state");
    }
    comes_back(&mut fs, "a link without a target");
}

/// A change of a snapshot at the place of the large file.
type Change = fn(&mut LayoutInMemory, usize);

/// Changes of a snapshot, each with what is said of it.
const MISFITS: &[(&str, Change)] = &[
    ("a snapshot of xfs", |s, _| {
        "xfs".clone_into(&mut s.geometry.fs_type);
    }),
    ("blocks of 512 bytes", |s, _| s.geometry.block_bytes = 512),
    ("`mkfs.ext4` does not make", |s, _| {
        s.geometry.inodes_per_group += 8;
    }),
    ("its root, is not in it", |s, _| drop(s.inodes.remove(0))),
    ("which no file of it can have", |s, at| s.inodes[at].ino = 8),
    ("is there twice", |s, at| {
        s.inodes[at].ino = s.inodes[at - 1].ino;
    }),
    ("were not collected", |s, at| s.inodes[at].extents = None),
    ("that lies outside", |s, at| {
        extent(s, at).physical_bytes = 1 << 40;
    }),
    ("that lies outside", |s, at| extent(s, at).length_bytes -= 1),
    ("that overlap in the file", |s, at| {
        extent(s, at).logical_bytes = 1 << 50;
    }),
    ("flags 0x2000", |s, at| extent(s, at).flags = Extent::SHARED),
    ("tables or the journal; `flex`", |s, at| {
        extent(s, at).physical_bytes = 4096;
    }),
    ("belongs to two places", |s, at| {
        let other = s.inodes[at - 1].extents.as_ref().expect("known")[0];
        extent(s, at).physical_bytes = other.physical_bytes;
    }),
    ("is free, and belongs to a file", |s, _| {
        let block = s.inodes[0].extents.as_ref().expect("known")[0].physical_bytes;
        let free = s.free.as_mut().expect("known");
        let at = free.partition_point(|run| run.start_bytes < block);
        let run = fsage_core::Run {
            start_bytes: block,
            length_bytes: 1024,
        };
        free.insert(at, run);
    }),
    ("has the name `f1` twice", |s, at| {
        s.inodes[at].path = Some("f1".into());
    }),
    ("a name that none has", |s, at| {
        s.inodes[at].path = Some("x".repeat(256).into());
    }),
    ("a path that is none", |s, at| {
        s.inodes[at].path = Some("\\q".into());
    }),
    ("one is not there", |s, at| {
        s.inodes[at].parent_ino = Some(7);
    }),
    ("which is no directory", |s, at| {
        s.inodes[at].parent_ino = Some(s.inodes[at + 1].ino);
    }),
    ("in `lost+found`", |s, at| {
        s.inodes[at].parent_ino = Some(11);
    }),
    ("is not below the root", |s, _| {
        let dir = s
            .inodes
            .iter_mut()
            .rfind(|inode| inode.ino > 11 && inode.kind == fsage_core::FileKind::Directory);
        let dir = dir.expect("it is there");
        dir.parent_ino = Some(dir.ino);
    }),
    ("more than it can use", |s, at| {
        let mut all = s.inodes[at].extents.take().unwrap_or_default().into_vec();
        let free = s.free.take().expect("known");
        let start = free.last().expect("some").start_bytes;
        let pointers = Extent {
            logical_bytes: Extent::POINTERS_AT,
            physical_bytes: start,
            length_bytes: 400 << 10,
            flags: Extent::POINTERS,
        };
        all.push(pointers);
        s.inodes[at].extents = Some(all.into());
    }),
];

/// What a snapshot says must fit together, and fit a file system that the model has.
#[test]
fn what_does_not_fit_is_refused_with_a_reason() {
    let mut fs = made();
    let known = snapshot_of(&mut fs);
    let how = unrecorded(&fs);
    let file = known
        .inodes
        .iter()
        .position(|inode| inode.size_bytes == 300_000)
        .expect("it is there");
    for (reason, change) in MISFITS {
        let mut changed = known.clone();
        change(&mut changed, file);
        let refused = Ext4::from_snapshot(&how, &changed).map(drop);
        let error = refused.expect_err(reason).to_string();
        assert!(error.contains(reason), "{reason}: {error}");
    }
    assert!(Ext4::from_snapshot(&how, &known).is_ok());
    let wrong = Params {
        journal_bytes: Some(8 << 20),
        ..how
    };
    let refused = Ext4::from_snapshot(&wrong, &known).map(drop);
    let error = refused.expect_err("another journal").to_string();
    assert!(error.contains("tables or the journal"), "{error}");
}
