//! Random trees with random damage.

use super::kit::{Left, build, expected, file, link, path, repaired, see, verified, wanted};
use fsage_core::Rng;
use fsage_real::directory::{Data, Expected, ExpectedFile, Repaired, Reread};
use std::fs::{self, OpenOptions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, symlink};
use std::path::{Path, PathBuf};

/// Random trees with random damage.
struct Chaos {
    rng: Rng,
    root: PathBuf,
    left: Left,
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
        self.left.allow(path.as_os_str().as_bytes());
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
                self.left.moved(&expected.directories[at], &[b"moved"]);
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
                let new = new.as_os_str().as_bytes();
                self.left.moved(&victim.path, &[new]);
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
            left: Left::default(),
            news: 0,
        };
        let expected = chaos.tree();
        chaos.left = Left::in_tree(&expected);
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
            &chaos.left,
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
