//! What tests of images through the program share.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

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
        let _ = Command::new("umount").arg(&self.0).status();
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
