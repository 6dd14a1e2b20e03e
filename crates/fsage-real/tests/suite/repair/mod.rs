//! Trees that are verified, damaged and repaired. What is on disk is made and read back by the standard library.

mod chaos;
mod kit;

use fsage_core::FileId;
use fsage_real::directory::{
    Content, Data, Expected, Fault, History, RepairError, Repaired, Reread, repair, verify,
};
use kit::{
    Left, Small, build, bytes_of, expected, file, link, mount, paths, repaired, sample, see,
    sentences, verified, wanted,
};
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, MetadataExt, symlink};

#[test]
fn a_tree_that_is_as_it_should_be_has_no_problem() {
    let root = tempfile::tempdir().unwrap();
    let expected = sample();
    build(root.path(), &expected);
    fs::create_dir(root.path().join("lost+found")).unwrap();
    let verification = verified(root.path(), &expected, Data::Write);
    assert_eq!(sentences(&verification), Vec::<String>::new());
    assert!(verification.is_sound());
    assert_eq!(verification.files, 8);
    // One inode has three names and is read once; whole files, as the holes were written as zeros.
    assert!(verification.bytes >= 300_000 + 200_000 + 5000 + 90_000 - 65_000);
    assert!(verification.bytes <= 300_000 + 200_000 + 5000 + 90_000 + 65_000);
    let nothing = repaired(
        root.path(),
        &expected,
        &Left::default(),
        &Reread::Everything,
        Data::Write,
    );
    assert_eq!(nothing.unwrap(), Repaired::default());
}

#[test]
fn every_problem_is_one_sentence_with_its_path() {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name);
    let expected = sample();
    build(root.path(), &expected);
    fs::remove_file(at("a/empty")).unwrap();
    fs::write(at("a/new\n"), "x").unwrap();
    let open = OpenOptions::new().write(true).open(at("a/holes")).unwrap();
    open.write_all_at(b"x", 120_000).unwrap();
    let open = OpenOptions::new().write(true).open(at("tail")).unwrap();
    open.set_len(90_001).unwrap();
    let open = OpenOptions::new().write(true).open(at("a/b/long")).unwrap();
    open.write_all_at(&[0; 8], 299_992).unwrap();
    fs::remove_file(at("c/same")).unwrap();
    fs::copy(at("same"), at("c/same")).unwrap();
    fs::remove_file(at("sym")).unwrap();
    symlink("a/c", at("sym")).unwrap();
    fs::create_dir_all(at("lost+found/lost+found")).unwrap();
    let verification = verified(root.path(), &expected, Data::Write);
    let expected = [
        "`a/b/long` holds other data than was written, from byte 299992 on",
        "`a/empty` is missing",
        "`a/holes` holds other data than was written, from byte 120000 on",
        "`a/new\\x0a` is a file that the replay did not make",
        "`c/same` is a file of its own, expected another name of the same file",
        "`same` has 2 names, expected 3",
        "`sym` leads to another target than it was made with",
        "`tail` has 90001 bytes, expected 90000",
    ];
    assert_eq!(sentences(&verification), expected);
    assert_eq!(verification.problem_count, 8);
}

#[test]
fn problems_are_counted_beyond_those_that_are_kept() {
    let root = tempfile::tempdir().unwrap();
    for n in 0..150 {
        fs::write(root.path().join(n.to_string()), "").unwrap();
    }
    let verification = verified(root.path(), &Expected::default(), Data::Write);
    assert_eq!(
        (verification.problems.len(), verification.problem_count),
        (100, 150)
    );
}

#[test]
fn verifying_and_repairing_stop_when_asked() {
    let root = tempfile::tempdir().unwrap();
    build(root.path(), &sample());
    let open = File::open(root.path()).unwrap();
    assert!(verify(open.as_fd(), &sample(), Data::Write, &mut |_| false).is_none());
    let stopped = repair(
        open.as_fd(),
        &sample(),
        &History::default(),
        &Reread::Everything,
        Data::Write,
        &mut |_| false,
    );
    assert!(matches!(stopped, Err(RepairError::Interrupted)));
    assert_eq!(see(root.path()), wanted(&sample()));
}

#[test]
fn a_foreign_entry_is_named_and_nothing_is_touched() {
    let root = tempfile::tempdir().unwrap();
    let expected = sample();
    build(root.path(), &expected);
    fs::remove_file(root.path().join("tail")).unwrap();
    fs::create_dir(root.path().join("a/mine")).unwrap();
    fs::write(root.path().join("a/mine/thesis"), "years of work").unwrap();
    fs::write(root.path().join("of the replay"), "").unwrap();
    let before = see(root.path());
    for allowed in [vec!["of the replay"], vec!["of the replay", "a/mine"]] {
        let others = 2 - allowed.len() as u64;
        let error = repaired(
            root.path(),
            &expected,
            &paths(&expected, allowed),
            &Reread::Everything,
            Data::Write,
        )
        .unwrap_err();
        let RepairError::Foreign { others: n, .. } = &error else {
            panic!("{error:?}");
        };
        assert_eq!(*n, others);
        assert!(error.to_string().contains("move it away"), "{error}");
        assert!(error.to_string().contains("`a/mine"), "{error}");
        assert_eq!(see(root.path()), before);
    }
}

/// A directory that became a symbolic link leads nowhere.
#[test]
fn nothing_outside_the_tree_is_looked_at_or_changed() {
    let outer = tempfile::tempdir().unwrap();
    let (root, outside) = (outer.path().join("root"), outer.path().join("outside"));
    fs::create_dir(&root).unwrap();
    build(&root, &sample());
    fs::rename(root.join("a"), &outside).unwrap();
    symlink(&outside, root.join("a")).unwrap();
    // A second name outside: the file must get another inode rather than other data.
    fs::hard_link(root.join("tail"), outer.path().join("kept")).unwrap();
    let open = OpenOptions::new()
        .write(true)
        .open(root.join("tail"))
        .unwrap();
    open.write_all_at(b"changed", 100).unwrap();
    let kept = fs::read(outer.path().join("kept")).unwrap();
    let before = see(&outside);

    let verification = verified(&root, &sample(), Data::Write);
    let found = sentences(&verification);
    assert!(found.contains(&"`a` is a symbolic link, expected a directory".to_owned()));
    assert!(found.contains(&"`a/b/long` is missing".to_owned()));
    assert!(found.contains(&"`tail` has 2 names, expected 1".to_owned()));
    repaired(
        &root,
        &sample(),
        &paths(&sample(), ["a"]),
        &Reread::Everything,
        Data::Write,
    )
    .unwrap();
    assert_eq!(see(&root), wanted(&sample()));
    assert_eq!(see(&outside), before);
    assert_eq!(fs::read(outer.path().join("kept")).unwrap(), kept);
}

#[test]
fn data_is_read_of_files_that_changed_since_the_last_sync_or_were_written() {
    let root = tempfile::tempdir().unwrap();
    let expected = expected(&[], vec![file("f", 7, 5000, &[])]);
    build(root.path(), &expected);
    let at = root.path().join("f");
    let damage = || {
        let open = OpenOptions::new().write(true).open(&at).unwrap();
        open.write_all_at(&[0; 10], 1000).unwrap();
        let meta = open.metadata().unwrap();
        meta.ctime() * 1_000_000_000 + meta.ctime_nsec()
    };
    let since = |ctime_ns, written: &[u64]| Reread::Since {
        ctime_ns,
        written: written.iter().map(|&id| Content(id)).collect(),
    };
    let rewritten = |reread| {
        repaired(
            root.path(),
            &expected,
            &Left::default(),
            &reread,
            Data::Write,
        )
        .unwrap()
        .rewritten
    };
    let later = damage() + 2_000_000_000;
    assert_eq!(rewritten(since(later, &[])), 0);
    assert_eq!(rewritten(since(later, &[7])), 1);
    let now = damage();
    assert_eq!(rewritten(since(now, &[])), 1);
    assert!(verified(root.path(), &expected, Data::Write).is_sound());
}

#[test]
fn files_that_grew_or_shrank_keep_what_is_right() {
    let root = tempfile::tempdir().unwrap();
    let expected = sample();
    build(root.path(), &expected);
    let resize = |name: &str, bytes: u64| {
        let open = OpenOptions::new()
            .write(true)
            .open(root.path().join(name))
            .unwrap();
        open.set_len(bytes).unwrap();
        open.metadata().unwrap().ino()
    };
    let long = resize("a/b/long", 100_000);
    resize("a/holes", 500_000);
    resize("tail", 85_000);
    resize("same", 0);
    // Wrong within what is kept.
    let open = OpenOptions::new()
        .write(true)
        .open(root.path().join("a/holes"))
        .unwrap();
    open.write_all_at(b"x", 199_999).unwrap();
    let done = repaired(
        root.path(),
        &expected,
        &Left::default(),
        &Reread::Everything,
        Data::Write,
    );
    let right = Repaired {
        resized: 3,
        rewritten: 1,
        ..Repaired::default()
    };
    assert_eq!(done.unwrap(), right);
    assert_eq!(see(root.path()), wanted(&expected));
    let inode = fs::metadata(root.path().join("a/b/long")).unwrap().ino();
    assert_eq!(inode, long);
    // A file that is written anew gets its holes back.
    let open = File::open(root.path().join("a/holes")).unwrap();
    let hole = rustix::fs::seek(&open, rustix::fs::SeekFrom::Hole(50_000)).unwrap();
    assert!((100_000..150_000).contains(&hole), "a hole at {hole}");
}

#[test]
fn a_directory_goes_back_to_where_it_was() {
    let root = tempfile::tempdir().unwrap();
    let expected = sample();
    build(root.path(), &expected);
    let at = |name: &str| root.path().join(name);
    let inode = fs::metadata(at("a/b/long")).unwrap().ino();
    // Two renames after the count; and one before it that a power failure took back.
    fs::rename(at("a"), at("x")).unwrap();
    fs::rename(at("x"), at("y")).unwrap();
    fs::rename(at("tail"), at("old")).unwrap();
    let mut left = Left::in_tree(&expected);
    left.moved(b"a", &[b"x", b"y"]);
    left.moved(b"tail", &[b"old"]);
    left.moved(b"sym", &[b"gone"]);
    let done = repaired(
        root.path(),
        &expected,
        &left,
        &Reread::Everything,
        Data::Write,
    );
    let right = Repaired {
        moved: 2,
        ..Repaired::default()
    };
    assert_eq!(done.unwrap(), right);
    assert_eq!(see(root.path()), wanted(&expected));
    assert_eq!(fs::metadata(at("a/b/long")).unwrap().ino(), inode);
}

#[test]
fn data_that_was_only_allocated_reads_as_zeros() {
    let expected = sample();
    for data in [Data::Fallocate, Data::Hole] {
        let root = tempfile::tempdir().unwrap();
        let made = repaired(
            root.path(),
            &expected,
            &Left::default(),
            &Reread::Everything,
            data,
        );
        if let Err(RepairError::Io { source, .. }) = &made
            && source.kind() == ErrorKind::Unsupported
        {
            let _ = writeln!(
                std::io::stderr(),
                "skipped: the file system here cannot allocate without writing"
            );
            continue;
        }
        assert_eq!(made.unwrap().made, 11);
        let meta = |name: &str| fs::metadata(root.path().join(name)).unwrap();
        assert_eq!(meta("a/b/long").len(), 300_000);
        assert_eq!(meta("a/b/long").blocks() > 0, data == Data::Fallocate);
        assert_eq!(fs::read(root.path().join("tail")).unwrap(), vec![0; 90_000]);
        assert!(verified(root.path(), &expected, data).is_sound());
        assert!(!verified(root.path(), &expected, Data::Write).is_sound());
        let open = OpenOptions::new()
            .write(true)
            .open(root.path().join("tail"))
            .unwrap();
        open.set_len(50_000).unwrap();
        let done = repaired(
            root.path(),
            &expected,
            &Left::default(),
            &Reread::Everything,
            data,
        );
        assert_eq!(done.unwrap().resized, 1);
        assert!(verified(root.path(), &expected, data).is_sound());
        open.write_all_at(b"x", 89_999).unwrap();
        assert_eq!(
            sentences(&verified(root.path(), &expected, data)),
            ["`tail` holds other data than was written, from byte 89999 on"]
        );
    }
}

/// Paths longer than a system call takes, and more directories inside each other than descriptors are open.
#[test]
fn a_tree_may_be_deep() {
    let root = tempfile::tempdir().unwrap();
    let mut expected = Expected::default();
    let mut at = Vec::new();
    for _ in 0..60 {
        at.extend_from_slice(&[b'n'; 200]);
        expected.directories.push(at.clone());
        at.push(b'/');
    }
    at.push(b'f');
    let mut deep = file("", 1, 100, &[]);
    deep.path = at;
    expected.files.push(deep);
    let made = repaired(
        root.path(),
        &expected,
        &Left::default(),
        &Reread::Everything,
        Data::Write,
    );
    assert_eq!(made.unwrap().made, 61);
    let verification = verified(root.path(), &expected, Data::Write);
    assert!(verification.is_sound());
    assert_eq!((verification.files, verification.bytes), (1, 100));
}

#[test]
fn a_symbolic_link_with_two_names_is_made_anew_if_its_target_is_wrong() {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name);
    symlink("wrong", at("a")).unwrap();
    fs::hard_link(at("a"), at("b")).unwrap();
    let expected = expected(&[], vec![link("a", 1, "right"), link("b", 1, "right")]);
    let done = repaired(
        root.path(),
        &expected,
        &Left::default(),
        &Reread::Everything,
        Data::Write,
    );
    let right = Repaired {
        removed: 2,
        made: 2,
        ..Repaired::default()
    };
    assert_eq!(done.unwrap(), right);
    assert_eq!(see(root.path()), wanted(&expected));
}

#[test]
fn a_full_file_system_is_repaired_once_there_is_room() {
    let Some(small) = Small::mount(1 << 20) else {
        return;
    };
    let root = small.at.join("root");
    fs::create_dir(&root).unwrap();
    let expected = expected(
        &[],
        vec![file("a", 1, 500_000, &[]), file("b", 2, 100_000, &[])],
    );
    // What is too long is cut before anything is made.
    fs::write(root.join("b"), vec![1; 900_000]).unwrap();
    let ballast = small.at.join("ballast");
    fs::write(&ballast, vec![1; 100_000]).unwrap();
    let everything =
        |left: &Left| repaired(&root, &expected, left, &Reread::Everything, Data::Write);
    everything(&Left::default()).unwrap();
    assert_eq!(see(&root), wanted(&expected));

    fs::remove_file(root.join("a")).unwrap();
    assert!(fs::write(&ballast, vec![1; 1 << 20]).is_err());
    let short = everything(&Left::default()).unwrap().short;
    let found = fs::read(root.join("a")).unwrap();
    assert_eq!(short.len(), 1);
    assert_eq!(short[0].path, b"a");
    assert_eq!(short[0].size_bytes, Some(found.len() as u64));
    assert!(
        found.len() < 500_000
            && found == bytes_of(Content::of(FileId(1)), 500_000, &[])[..found.len()]
    );
    fs::remove_file(&ballast).unwrap();
    assert_eq!(everything(&Left::default()).unwrap().resized, 1);
    assert_eq!(see(&root), wanted(&expected));
}

#[test]
fn another_file_system_within_the_tree_is_left_alone() {
    let Some(small) = Small::mount(1 << 20) else {
        return;
    };
    let expected = expected(&["d"], vec![]);
    let inner = small.at.join("d");
    fs::create_dir(&inner).unwrap();
    assert!(mount(&inner, 1 << 20));
    let verification = verified(&small.at, &expected, Data::Write);
    assert_eq!(
        sentences(&verification),
        ["`d` has another file system mounted on it"]
    );
    assert!(matches!(verification.problems[0].fault, Fault::Mounted));
    let error = repaired(
        &small.at,
        &expected,
        &paths(&expected, ["d"]),
        &Reread::Everything,
        Data::Write,
    );
    assert!(matches!(error, Err(RepairError::Problem { .. })));
}
