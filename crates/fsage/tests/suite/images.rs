//! What tests of images through the program share.

use crate::real::target_folder;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

/// Runs a program in a folder.
pub fn command(at: &Path, program: &str, args: &str) -> Output {
    Command::new(program)
        .args(args.split_whitespace())
        .current_dir(at)
        .output()
        .unwrap_or_else(|error| panic!("{program} {args}: {error}"))
}

/// It must end with this status; gives what it printed, errors last.
pub fn fsage(at: &Path, args: &str, status: i32) -> String {
    let run = command(at, env!("CARGO_BIN_EXE_fsage"), args);
    let message = String::from_utf8_lossy(&run.stderr);
    let text = String::from_utf8_lossy(&run.stdout);
    assert_eq!(
        run.status.code(),
        Some(status),
        "fsage {args}: {message}{text}"
    );
    assert!(!message.contains("panicked"), "{args}: {message}");
    format!("{text}{message}")
}

/// A system program must succeed.
pub fn system(at: &Path, program: &str, args: &str) -> String {
    let run = command(at, program, args);
    let text = [&run.stdout[..], &run.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(run.status.success(), "{program} {args}: {text}");
    text
}

/// Every file of a snapshot with its inode, size and extents.
pub fn extents(at: &Path, snapshot: &str) -> Vec<String> {
    let text = fsage(at, &format!("inspect {snapshot} --extents"), 0);
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(str::to_owned).collect()
}

/// Ten days of a home directory, and what it has not: names, permissions, times, links, a hole, a directory with an
/// index.
pub fn workload(at: &Path) {
    let mut text = String::from("#! epoch 1000000000\n@0 mkdir 9000 mode=0750 \"with a name\"\n");
    text.push_str("@10 create 90000 9000 70000 mode=0600 \"Größe\"\n@20 link 90001 90000 9000\n");
    text.push_str("@30 symlink 90002 9000 20\n@40 symlink 90003 0 300\n");
    text.push_str("@50 create 90004 0 1000\n@60 write 90004 500000 5000\n");
    for file in 0..400 {
        let name = format!("a file with a longer name, number {file}");
        let id = 91_000 + file;
        let _ = writeln!(text, "@70 create {id} 9000 {file} \"{name}\"");
    }
    text.push_str("@80 delete 91000\nday 1\n");
    fs::write(at.join("named.ops"), text).expect("a file");
    fsage(
        at,
        "generate profile home-1996 --days 10 -o home.parquet",
        0,
    );
}

/// Runs of free space of a snapshot.
pub fn free_runs(at: &Path, snapshot: &str) -> Vec<fsage_core::Run> {
    let map = at.join(snapshot.replace(".parquet", ".free.parquet"));
    fsage_data::snapshot::read_free_map(map, 0).expect("a free map")
}

/// Inodes that are not in both snapshots alike.
pub fn differences(at: &Path, before: &str, after: &str) -> u64 {
    let text = fsage(at, &format!("diff {before} {after}"), 0);
    let of = |what: &str| {
        let line = text
            .lines()
            .find(|line| line.trim_start().starts_with(what));
        let count = line.and_then(|line| line.split_whitespace().last()?.parse::<u64>().ok());
        count.unwrap_or_else(|| panic!("{what}: {text}"))
    };
    assert!(of("unchanged") > 0, "{text}");
    of("created") + of("deleted") + of("modified") + of("renamed")
}

/// A model whose images the kernel mounts.
pub struct Imaged {
    pub model: &'static str,
    /// Of a mount to read, and to write.
    pub options: [&'static str; 2],
    /// The system's checker finds nothing in an image.
    pub is_clean: fn(&Path, &str),
}

impl Imaged {
    /// Of `run` and its control, both exported: the checker finds nothing, our reader of images finds the extents of
    /// the run, and `age --image` has written the same bytes.
    pub fn exports_as_aged(&self, at: &Path, what: &str) {
        fsage(at, "export run disk.img --force", 0);
        fsage(at, "export run control.img --force --control", 0);
        let target = target_folder(at, "run");
        for (image, of) in [("disk.img", "final"), ("control.img", "control")] {
            (self.is_clean)(at, image);
            fsage(at, &format!("snapshot {image} -o s.parquet --force"), 0);
            let expected = target.join(format!("{of}.parquet"));
            let expected = expected.to_string_lossy();
            assert_eq!(
                extents(at, "s.parquet"),
                extents(at, &expected),
                "{what} {of}"
            );
        }
        let of_run = target.to_string_lossy();
        let same = fsage(at, &format!("diff {of_run} disk.img --layout"), 0);
        assert!(same.contains("in the same blocks"), "{what}: {same}");
        let image = format!("{}.img", self.model);
        for (of_export, of_age) in [("disk.img", &image[..]), ("control.img", "control.img")] {
            let of_age = target.join(of_age);
            system(at, "cmp", &format!("{of_export} {}", of_age.display()));
        }
    }

    /// `run` of a workload, exported and mounted: the kernel finds the extents of the run and the attributes of
    /// `named.ops`, writes and deletes, the checker finds nothing, and a model that begins there has its extents.
    pub fn goes_on_mounted(&self, at: &Path, workload: &str, what: &str) {
        fsage(at, "export run disk.img --data noise --force", 0);
        let mounted = Mounted::new(at, "disk.img", self.options[0]);
        fsage(at, "snapshot mnt -o m.parquet --force", 0);
        let expected = target_folder(at, "run").join("final.parquet");
        let expected = extents(at, &expected.to_string_lossy());
        assert_eq!(extents(at, "m.parquet"), expected, "{what}");
        if workload == "named.ops" {
            attributes(&mounted.0);
        }
        drop(mounted);
        let sound = fsage(at, "verify disk.img", 0);
        assert!(sound.contains("disk.img"), "{sound}");
        let mounted = Mounted::new(at, "disk.img", self.options[1]);
        mounted.write_and_delete();
        fs::write(at.join("nothing.ops"), "day 1\n").expect("a file");
        let begun = format!("age nothing.ops --on {}:from=disk.img -o no", self.model);
        let refused = fsage(at, &begun, 2);
        assert!(refused.contains("is mounted on"), "{refused}");
        drop(mounted);
        (self.is_clean)(at, "disk.img");
        let more = fsage(at, "verify disk.img", 1);
        assert!(more.contains("new 1"), "{more}");
        let age = format!(
            "age nothing.ops --on {}:from=disk.img -o from --force --check",
            self.model
        );
        fsage(at, &age, 0);
        fsage(at, "snapshot disk.img -o s.parquet --force", 0);
        let expected = target_folder(at, "from").join("final.parquet");
        let expected = extents(at, &expected.to_string_lossy());
        assert_eq!(extents(at, "s.parquet"), expected, "{what}, from there");
    }
}

/// A mounted image, unmounted in the end.
pub struct Mounted(pub PathBuf);

impl Mounted {
    pub fn new(at: &Path, image: &str, options: &str) -> Mounted {
        let point = at.join("mnt");
        fs::create_dir_all(&point).expect("a folder");
        system(at, "mount", &format!("-o loop,{options} {image} mnt"));
        Mounted(point)
    }

    /// The kernel writes files, and deletes half of them.
    pub fn write_and_delete(&self) {
        let path = |number: usize| self.0.join(format!("new {number}"));
        for number in 0..300 {
            fs::write(path(number), vec![7; number * 100]).expect("room");
        }
        for number in (0..300).step_by(2) {
            fs::remove_file(path(number)).expect("it is there");
        }
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // Who lists mounts has it open for a moment.
        let unmounted = |options: &[&str]| {
            let done = Command::new("umount").args(options).arg(&self.0).status();
            done.is_ok_and(|status| status.success())
        };
        for _ in 0..50 {
            if unmounted(&[]) {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        unmounted(&["--lazy"]);
    }
}

/// What the workload says of its entries.
pub fn attributes(root: &Path) {
    let of = |path: &str| root.join(path).symlink_metadata().expect("it is there");
    let (dir, file) = (of("with a name"), of("with a name/Größe"));
    assert_eq!(dir.permissions().mode(), 0o4_0750);
    assert_eq!(file.permissions().mode(), 0o10_0600);
    assert_eq!((file.len(), file.nlink()), (70_000, 2));
    assert_eq!((file.mtime(), file.ctime()), (1_000_000_010, 1_000_000_020));
    assert_eq!(of("with a name/f90001").ino(), file.ino());
    for (link, bytes) in [("with a name/f90002", 20), ("f90003", 300)] {
        let target = fs::read_link(root.join(link)).expect("a link");
        assert_eq!(target.as_os_str().len(), bytes, "{link}");
    }
    assert_eq!(
        (of("f90004").len(), of("f90004").blocks() * 512 < 100_000),
        (505_000, true)
    );
    let names = fs::read_dir(root.join("with a name")).expect("a directory");
    assert_eq!(names.count(), 402);
}
