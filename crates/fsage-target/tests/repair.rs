//! Trees that are verified, damaged and repaired. What is on disk is made and read back by the standard library.

use fsage_core::{FileId, Rng};
use fsage_target::directory::{
    Allowed, Content, Data, Expected, ExpectedFile, Fault, Move, RepairError, Repaired, Reread,
    Verification, What, repair, verify,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

fn path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

fn file(name: &str, inode: u64, size_bytes: u64, zeros: &[Range<u64>]) -> ExpectedFile {
    ExpectedFile {
        path: name.into(),
        inode,
        what: What::File {
            content: Content::of(FileId(inode)),
            size_bytes,
            zeros: zeros.to_vec(),
        },
    }
}

fn link(name: &str, inode: u64, target: &str) -> ExpectedFile {
    ExpectedFile {
        path: name.into(),
        inode,
        what: What::Symlink {
            target: target.into(),
        },
    }
}

fn expected(directories: &[&str], files: Vec<ExpectedFile>) -> Expected {
    let mut expected = Expected {
        directories: directories.iter().map(|d| d.as_bytes().to_vec()).collect(),
        files,
    };
    expected.directories.sort();
    expected.files.sort_by(|a, b| a.path.cmp(&b.path));
    expected
}

/// The bytes that a file should hold.
fn bytes_of(content: Content, size_bytes: u64, zeros: &[Range<u64>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    while (bytes.len() as u64) < size_bytes {
        let at = bytes.len() as u64;
        bytes.extend_from_slice(content.bytes(at, size_bytes - at));
    }
    for range in zeros {
        bytes[range.start as usize..range.end as usize].fill(0);
    }
    bytes
}

/// Makes a tree of what is expected.
fn build(root: &Path, expected: &Expected) {
    for directory in &expected.directories {
        fs::create_dir(root.join(path(directory))).unwrap();
    }
    let mut inodes: BTreeMap<u64, PathBuf> = BTreeMap::new();
    for file in &expected.files {
        let at = root.join(path(&file.path));
        if let Some(first) = inodes.get(&file.inode) {
            fs::hard_link(first, &at).unwrap();
            continue;
        }
        match &file.what {
            What::Symlink { target } => symlink(path(target), &at).unwrap(),
            What::File {
                content,
                size_bytes,
                zeros,
            } => fs::write(&at, bytes_of(*content, *size_bytes, zeros)).unwrap(),
        }
        inodes.insert(file.inode, at);
    }
}

/// A tree as the standard library sees it: kind and content of each path, and which of them are one inode.
type Seen = (BTreeMap<PathBuf, (char, Vec<u8>)>, BTreeSet<Vec<PathBuf>>);

fn see(root: &Path) -> Seen {
    let mut entries = BTreeMap::new();
    let mut inodes: BTreeMap<u64, Vec<PathBuf>> = BTreeMap::new();
    let mut pending = vec![root.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let entry = entry.unwrap();
            let (at, meta) = (entry.path(), entry.metadata().unwrap());
            let name = at.strip_prefix(root).unwrap().to_owned();
            if meta.is_dir() {
                entries.insert(name, ('d', Vec::new()));
                pending.push(at);
                continue;
            }
            let seen = if meta.is_symlink() {
                (
                    'l',
                    fs::read_link(&at).unwrap().as_os_str().as_bytes().to_vec(),
                )
            } else {
                ('f', fs::read(&at).unwrap())
            };
            entries.insert(name.clone(), seen);
            inodes.entry(meta.ino()).or_default().push(name);
        }
    }
    let mut links: BTreeSet<_> = inodes.into_values().collect();
    links = links
        .into_iter()
        .map(|mut names| {
            names.sort();
            names
        })
        .collect();
    (entries, links)
}

/// What [`see`] gives for a tree that is as it should be.
fn wanted(expected: &Expected) -> Seen {
    let mut entries = BTreeMap::new();
    for directory in &expected.directories {
        entries.insert(path(directory).to_owned(), ('d', Vec::new()));
    }
    let mut inodes: BTreeMap<u64, Vec<PathBuf>> = BTreeMap::new();
    for file in &expected.files {
        let seen = match &file.what {
            What::Symlink { target } => ('l', target.clone()),
            What::File {
                content,
                size_bytes,
                zeros,
            } => ('f', bytes_of(*content, *size_bytes, zeros)),
        };
        entries.insert(path(&file.path).to_owned(), seen);
        let names = inodes.entry(file.inode).or_default();
        names.push(path(&file.path).to_owned());
        names.sort();
    }
    (entries, inodes.into_values().collect())
}

fn verified(root: &Path, expected: &Expected, data: Data) -> Verification {
    let root = File::open(root).unwrap();
    verify(root.as_fd(), expected, data, &mut |_| true).unwrap()
}

fn sentences(verification: &Verification) -> Vec<String> {
    let problems = verification.problems.iter();
    let mut sentences: Vec<_> = problems.map(ToString::to_string).collect();
    sentences.sort();
    sentences
}

fn repaired(
    root: &Path,
    expected: &Expected,
    allowed: &Allowed,
    reread: &Reread,
    data: Data,
) -> Result<Repaired, RepairError> {
    let root = File::open(root).unwrap();
    repair(root.as_fd(), expected, allowed, reread, data, &mut |_| true)
}

fn paths<'a>(paths: impl IntoIterator<Item = &'a str>) -> Allowed {
    Allowed {
        paths: paths.into_iter().map(Into::into).collect(),
        moves: Vec::new(),
    }
}

/// A small tree with one of everything.
fn sample() -> Expected {
    expected(
        &["a", "a/b", "c"],
        vec![
            file("a/b/long", 1, 300_000, &[]),
            file("a/empty", 2, 0, &[]),
            file("a/holes", 3, 200_000, &[0..5000, 100_000..150_000]),
            file("c/one", 4, 5000, &[]),
            file("c/same", 4, 5000, &[]),
            file("same", 4, 5000, &[]),
            link("sym", 5, "a/b"),
            file("tail", 6, 90_000, &[1000..2000, 80_000..90_000]),
        ],
    )
}

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
        &Allowed::default(),
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
        &Allowed::default(),
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
            &paths(allowed),
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
        &paths(["a"]),
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
    let since = |ctime_ns, written: &[&str]| Reread::Since {
        ctime_ns,
        written: written
            .iter()
            .map(|path| path.as_bytes().to_vec())
            .collect(),
    };
    let rewritten = |reread| {
        repaired(
            root.path(),
            &expected,
            &Allowed::default(),
            &reread,
            Data::Write,
        )
        .unwrap()
        .rewritten
    };
    let later = damage() + 2_000_000_000;
    assert_eq!(rewritten(since(later, &[])), 0);
    assert_eq!(rewritten(since(later, &["f"])), 1);
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
        &Allowed::default(),
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
    let blocks = fs::metadata(root.path().join("a/holes")).unwrap().blocks();
    assert!(blocks * 512 < 170_000, "{blocks} blocks");
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
    let moves = [("y", "x"), ("x", "a"), ("old", "tail"), ("sym", "gone")];
    let allowed = Allowed {
        paths: ["x", "y", "old"].into_iter().map(Into::into).collect(),
        moves: moves
            .into_iter()
            .map(|(found_at, belongs_at)| Move {
                found_at: found_at.into(),
                belongs_at: belongs_at.into(),
            })
            .collect(),
    };
    let done = repaired(
        root.path(),
        &expected,
        &allowed,
        &Reread::Everything,
        Data::Write,
    );
    let right = Repaired {
        moved: 3,
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
            &Allowed::default(),
            &Reread::Everything,
            data,
        );
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
            &Allowed::default(),
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
        &Allowed::default(),
        &Reread::Everything,
        Data::Write,
    );
    assert_eq!(made.unwrap().made, 61);
    let verification = verified(root.path(), &expected, Data::Write);
    assert!(verification.is_sound());
    assert_eq!((verification.files, verification.bytes), (1, 100));
}

/// Random trees with random damage.
struct Chaos {
    rng: Rng,
    root: PathBuf,
    allowed: Allowed,
    news: u64,
}

impl Chaos {
    fn below(&mut self, n: usize) -> usize {
        (self.rng.next_u64() % n.max(1) as u64) as usize
    }

    fn tree(&mut self) -> Expected {
        let mut directories: Vec<String> = vec![String::new()];
        for n in 0..self.below(7) {
            let parent = self.below(directories.len());
            let parent = directories[parent].clone();
            directories.push(format!("{parent}d{n}/"));
        }
        let mut files: Vec<ExpectedFile> = Vec::new();
        for n in 0..self.below(16) {
            let directory = self.below(directories.len());
            let name = format!("{}f{n}", directories[directory]);
            let new = match (self.below(6), files.len()) {
                (0, 1..) => {
                    let existing = self.below(files.len());
                    ExpectedFile {
                        path: name.into(),
                        ..files[existing].clone()
                    }
                }
                (1, _) => link(&name, n as u64, &"t".repeat(1 + self.below(100))),
                _ => {
                    let sizes = [0, 1, 4096, 5000, 65_536, 70_000, 200_000];
                    let size = sizes[self.below(sizes.len())] as u64;
                    let mut zeros = Vec::new();
                    let mut at = self.below(40_000) as u64;
                    while at < size && self.below(3) > 0 {
                        let end = (at + 1 + self.below(50_000) as u64).min(size);
                        zeros.push(at..end);
                        at = end + 1 + self.below(50_000) as u64;
                    }
                    file(&name, n as u64, size, &zeros)
                }
            };
            files.push(new);
        }
        let directories: Vec<_> = directories[1..]
            .iter()
            .map(|d| d.trim_end_matches('/'))
            .collect();
        expected(&directories, files)
    }

    /// A path that nothing has, in a directory that is still there, or in the root.
    fn new_path(&mut self, expected: &Expected) -> PathBuf {
        self.news += 1;
        let mut directory = PathBuf::new();
        if !expected.directories.is_empty() {
            let at = self.below(expected.directories.len());
            let candidate = path(&expected.directories[at]);
            if self
                .root
                .join(candidate)
                .symlink_metadata()
                .is_ok_and(|m| m.is_dir())
            {
                candidate.clone_into(&mut directory);
            }
        }
        let new = directory.join(format!("new{}", self.news));
        self.allow(&new);
        new
    }

    fn allow(&mut self, path: &Path) {
        self.allowed
            .paths
            .insert(path.as_os_str().as_bytes().to_vec());
    }

    fn damage(&mut self, expected: &Expected) {
        let what = self.below(13);
        let new = self.new_path(expected);
        let target = self.root.join(&new);
        if what == 0 {
            fs::create_dir(&target).unwrap();
            for n in 0..self.below(3) {
                fs::write(target.join(n.to_string()), "x").unwrap();
                self.allow(&new.join(n.to_string()));
            }
            return;
        }
        if what == 1 {
            fs::write(&target, vec![7; self.below(10_000)]).unwrap();
            return;
        }
        if what == 2 && !expected.directories.is_empty() {
            let at = self.below(expected.directories.len());
            let directory = self.root.join(path(&expected.directories[at]));
            let how = self.below(3);
            if how < 2 {
                let removed = fs::remove_dir_all(&directory);
                if how == 0 && removed.is_ok() {
                    fs::write(&directory, "now a file").unwrap();
                    self.allow(path(&expected.directories[at]));
                }
            } else if fs::rename(&directory, self.root.join("moved")).is_ok() {
                self.allow(Path::new("moved"));
                self.allowed.moves.push(Move {
                    found_at: "moved".into(),
                    belongs_at: expected.directories[at].clone(),
                });
                // What lies in it is in the way if it cannot be moved back.
                for (below, _) in see(&self.root.join("moved")).0 {
                    self.allow(&Path::new("moved").join(below));
                }
            }
            return;
        }
        if expected.files.is_empty() {
            return;
        }
        let at = self.below(expected.files.len());
        let victim = &expected.files[at];
        let name = path(&victim.path).to_owned();
        let at = self.root.join(&name);
        let Ok(meta) = at.symlink_metadata() else {
            return;
        };
        if meta.is_dir() {
            return;
        }
        match what {
            3 => fs::remove_file(&at).unwrap(),
            4 => fs::rename(&at, &target).unwrap(),
            5 => {
                fs::rename(&at, &target).unwrap();
                self.allowed.moves.push(Move {
                    found_at: new.as_os_str().as_bytes().to_vec(),
                    belongs_at: victim.path.clone(),
                });
            }
            6 => fs::hard_link(&at, &target).unwrap(),
            7 => {
                fs::remove_file(&at).unwrap();
                fs::create_dir(&at).unwrap();
                fs::write(at.join("in"), "x").unwrap();
                self.allow(&name);
                self.allow(&name.join("in"));
            }
            8 => {
                fs::remove_file(&at).unwrap();
                symlink("elsewhere", &at).unwrap();
                self.allow(&name);
            }
            9 if meta.is_file() => {
                let copy = fs::read(&at).unwrap();
                fs::remove_file(&at).unwrap();
                fs::write(&at, copy).unwrap();
            }
            _ if meta.is_file() => {
                let open = OpenOptions::new().write(true).open(&at).unwrap();
                let place = self.below(meta.len() as usize + 1) as u64;
                match self.below(4) {
                    0 => open.set_len(place).unwrap(),
                    1 => open.set_len(meta.len() + place + 1).unwrap(),
                    2 => open.write_all_at(&[0; 700], place).unwrap(),
                    _ => open.write_all_at(&[9; 700], place).unwrap(),
                }
            }
            _ => {}
        }
    }
}

#[test]
fn after_a_repair_nothing_is_wrong_whatever_was_done() {
    let mut totals = Repaired::default();
    for seed in 0..200 {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().join("root");
        fs::create_dir(&root).unwrap();
        let mut chaos = Chaos {
            rng: Rng::new(seed).stream("chaos", 0),
            root: root.clone(),
            allowed: Allowed::default(),
            news: 0,
        };
        let expected = chaos.tree();
        build(&root, &expected);
        let verification = verified(&root, &expected, Data::Write);
        assert!(verification.is_sound(), "{seed}: {verification:?}");
        for _ in 0..chaos.below(6) {
            chaos.damage(&expected);
        }
        let damaged = see(&root) != wanted(&expected);
        let verification = verified(&root, &expected, Data::Write);
        assert_eq!(
            verification.is_sound(),
            !damaged,
            "{seed}: {verification:?}"
        );
        let done = repaired(
            &root,
            &expected,
            &chaos.allowed,
            &Reread::Everything,
            Data::Write,
        );
        let done = done.unwrap_or_else(|error| panic!("{seed}: {error:?}"));
        assert_eq!(done != Repaired::default(), damaged, "{seed}: {done:?}");
        assert_eq!(see(&root), wanted(&expected), "{seed}");
        let verification = verified(&root, &expected, Data::Write);
        assert!(verification.is_sound(), "{seed}: {verification:?}");
        totals.removed += done.removed;
        totals.made += done.made;
        totals.moved += done.moved;
        totals.rewritten += done.rewritten;
        totals.resized += done.resized;
    }
    let all = [
        totals.removed,
        totals.made,
        totals.moved,
        totals.rewritten,
        totals.resized,
    ];
    assert!(all.iter().all(|n| *n > 10), "{totals:?}");
}

/// A file system of its own, unmounted when dropped.
struct Small {
    at: PathBuf,
    /// Removed after the file system is unmounted.
    _folder: tempfile::TempDir,
}

impl Small {
    fn mount(bytes: u64) -> Option<Small> {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().to_owned();
        let mounted = mount(&at, bytes);
        if !mounted {
            let _ = writeln!(
                std::io::stderr(),
                "skipped: a small tmpfs cannot be mounted without root"
            );
        }
        mounted.then(|| Small {
            at,
            _folder: folder,
        })
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        // What is mounted within goes with it.
        let _ = Command::new("umount").arg("-R").arg(&self.at).status();
    }
}

fn mount(at: &Path, bytes: u64) -> bool {
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", &format!("size={bytes}"), "none"])
        .arg(at)
        .output();
    mounted.is_ok_and(|output| output.status.success())
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
        |allowed: &Allowed| repaired(&root, &expected, allowed, &Reread::Everything, Data::Write);
    everything(&Allowed::default()).unwrap();
    assert_eq!(see(&root), wanted(&expected));

    fs::remove_file(root.join("a")).unwrap();
    assert!(fs::write(&ballast, vec![1; 1 << 20]).is_err());
    let error = everything(&Allowed::default()).unwrap_err();
    assert!(matches!(error, RepairError::Full { .. }), "{error:?}");
    assert!(
        error.to_string().contains("no space left to make `a`"),
        "{error}"
    );
    fs::remove_file(&ballast).unwrap();
    assert_eq!(everything(&Allowed::default()).unwrap().resized, 1);
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
        &paths(["d"]),
        &Reread::Everything,
        Data::Write,
    );
    assert!(matches!(error, Err(RepairError::Problem { .. })));
}
