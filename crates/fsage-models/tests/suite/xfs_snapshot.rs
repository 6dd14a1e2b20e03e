//! The XFS model put together from a snapshot: what the snapshot tells is there again, and the rest fits it.

use crate::images::{self, data, extent, goes_on, of_walk, refused_for_names};
use crate::xfs_image::{FEATURES, clean_or_skipped, params_of};
use fsage_core::operations::Model as _;
use fsage_core::{DirId, Extent, FileId, FileKind, FileSystem as _, LayoutInMemory, Op};
use fsage_models::xfs::{Features, Params, Xfs};

fn snapshot_of(fs: &mut Xfs) -> LayoutInMemory {
    fs.remount();
    images::snapshot_of(fs, fs.sizes().root_ino())
}

/// What the snapshot of such a file system does not tell.
fn unrecorded(fs: &Xfs) -> Params {
    Params {
        size_bytes: 0,
        ag_count: None,
        log_bytes: None,
        ..fs.params().clone()
    }
}

fn with_hidden_names(mut found: LayoutInMemory, root: u64) -> LayoutInMemory {
    for inode in found.inodes.iter_mut().filter(|inode| inode.ino != root) {
        inode.path = inode
            .path
            .take()
            .map(|path| format!("hidden_{path}").into());
    }
    for further in &mut found.names {
        further.name = format!("hidden_{}", further.name).into();
    }
    found
}

/// Data without what lies behind the ends of files, which is given back where the file system was mounted.
fn data_inside(found: &LayoutInMemory) -> Vec<(u64, u64, Vec<Extent>)> {
    let mut files = data(found);
    for (_, bytes, extents) in &mut files {
        extents.retain(|extent| extent.logical_bytes < *bytes);
    }
    files
}

/// What a snapshot of a file system records is there again in one that begins with it.
pub fn comes_back(fs: &mut Xfs, what: &str) {
    let known = snapshot_of(fs);
    let how = unrecorded(fs);
    let mut again =
        Xfs::from_snapshot(&how, &known).unwrap_or_else(|error| panic!("{what}: {error}"));
    let seen = snapshot_of(&mut again);
    for (known, seen) in known.inodes.iter().zip(&seen.inodes) {
        assert_eq!(known, seen, "{what}");
    }
    assert_eq!(known.free, seen.free, "{what}");
    assert_eq!(known.names, seen.names, "{what}");
    assert_eq!(known.geometry, seen.geometry, "{what}");
    clean_or_skipped(&mut again, what);
    goes_on(&mut again);
    clean_or_skipped(&mut again, &format!("{what}, gone on"));

    let root = fs.sizes().root_ino();
    match Xfs::from_snapshot(&how, &with_hidden_names(of_walk(known.clone()), root)) {
        Ok(mut again) => {
            let seen = data_inside(&snapshot_of(&mut again));
            for (seen, known) in seen.iter().zip(data_inside(&known)) {
                assert_eq!(*seen, known, "{what}, walked");
            }
            clean_or_skipped(&mut again, &format!("{what}, walked"));
        }
        Err(error) => refused_for_names(&error, &format!("{what}, walked")),
    }
}

fn made(features: Features) -> Xfs {
    let mut fs = Xfs::new(params_of(features, 48)).expect("mkfs takes it");
    let dir = DirId(1);
    let mut ops = vec![Op::Mkdir { dir, parent: None }];
    ops.extend((0..200).map(|file| Op::Create {
        file: FileId(file),
        dir,
        bytes: file * 900,
    }));
    ops.extend(
        (0..200)
            .step_by(3)
            .map(|file| Op::Delete { file: FileId(file) }),
    );
    ops.push(Op::Create {
        file: FileId(300),
        dir,
        bytes: 3_000_000,
    });
    for op in ops {
        fs.apply(&op).expect("it fits the state");
    }
    fs
}

/// A change of a snapshot at the place of the large file.
type Change = fn(&mut LayoutInMemory, usize);

/// Changes of a snapshot, each with what is said of it.
const MISFITS: &[(&str, Change)] = &[
    ("a snapshot of ext4", |s, _| {
        "ext4".clone_into(&mut s.geometry.fs_type);
    }),
    ("blocks of 1024 bytes", |s, _| s.geometry.block_bytes = 1024),
    ("how its allocation groups lie", |s, _| {
        s.geometry.group_count = 0;
    }),
    ("`mkfs.xfs` does not make", |s, _| {
        s.geometry.group_bytes += 4096;
    }),
    ("chunks of inodes of 8192 bytes", |s, _| {
        s.geometry.inode_chunk_bytes = 8192;
    }),
    ("its root, is not in it", |s, _| drop(s.inodes.remove(0))),
    ("which no file of it can have", |s, at| {
        s.inodes[at].ino = 1 << 40;
    }),
    ("which no file of it can have", |s, at| {
        s.inodes[at].ino = s.inodes[0].ino + 1;
    }),
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
    ("puts headers and the log", |s, at| {
        extent(s, at).physical_bytes = 0;
    }),
    ("belongs to two places", |s, at| {
        let other = another(s, at);
        extent(s, at).physical_bytes = extent(s, other).physical_bytes;
    }),
    ("is free, and lies in inode", |s, at| {
        let block = extent(s, at).physical_bytes;
        let free = s.free.as_mut().expect("known");
        let before = free.partition_point(|run| run.start_bytes < block);
        let run = fsage_core::Run {
            start_bytes: block,
            length_bytes: 4096,
        };
        free.insert(before, run);
    }),
    ("lies in blocks that are free", |s, at| {
        let block = s.inodes[at].ino / 8 * 4096;
        let run = fsage_core::Run {
            start_bytes: block,
            length_bytes: 4096,
        };
        let free = s.free.as_mut().expect("known");
        let before = free.partition_point(|run| run.start_bytes < block);
        free.insert(before, run);
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
        s.inodes[at].parent_ino = Some(s.inodes[another(s, at)].ino);
    }),
    ("is not below the root", |s, _| {
        let root = s.inodes[0].ino;
        let mut dirs = s.inodes.iter_mut();
        let dir = dirs.rfind(|inode| inode.ino != root && inode.kind == FileKind::Directory);
        let dir = dir.expect("it is there");
        dir.parent_ino = Some(dir.ino);
    }),
    ("no directory", |s, _| s.inodes[0].kind = FileKind::Regular),
];

/// What a snapshot says must fit together, and fit a file system that the model has.
#[test]
fn what_does_not_fit_is_refused_with_a_reason() {
    let mut fs = made(Features::Default);
    let known = snapshot_of(&mut fs);
    let how = unrecorded(&fs);
    let file = known
        .inodes
        .iter()
        .position(|inode| inode.size_bytes == 3_000_000)
        .expect("it is there");
    for (reason, change) in MISFITS {
        let mut changed = known.clone();
        change(&mut changed, file);
        let refused = Xfs::from_snapshot(&how, &changed).map(drop);
        let error = refused.expect_err(reason).to_string();
        assert!(error.contains(reason), "{reason}: {error}");
    }
    assert!(Xfs::from_snapshot(&how, &known).is_ok());
    let wrong = Params {
        log_bytes: Some(20 << 20),
        ..how
    };
    let refused = Xfs::from_snapshot(&wrong, &known).map(drop);
    let error = refused.expect_err("another log").to_string();
    assert!(error.contains("`features` and `log`"), "{error}");
}

/// Which features it has follows from the sizes, where these are those of a model.
#[test]
fn a_model_says_which_features_it_has() {
    for features in FEATURES {
        let mut fs = made(features);
        let known = snapshot_of(&mut fs);
        assert_eq!(Xfs::features_of(&known), features);
        comes_back(&mut fs, &format!("{features:?}"));
    }
}

/// The place of another file that has data.
fn another(found: &LayoutInMemory, at: usize) -> usize {
    let is_other = |place: usize| {
        let inode = &found.inodes[place];
        place != at && inode.kind == FileKind::Regular && inode.size_bytes > 0
    };
    let found = (0..found.inodes.len()).find(|&place| is_other(place));
    found.expect("it is there")
}
