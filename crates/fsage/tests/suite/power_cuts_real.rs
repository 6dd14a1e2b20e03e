//! Power cuts and kills at random moments on real file systems that hold the run and its target together: after the
//! log was replayed the run goes on, its files are right, and the file system's own check finds nothing.
//!
//! The power is cut in two ways. `xfs_io -x -c shutdown` has ext4 and XFS stop at once, with all that is in memory
//! lost. And the image below any file system is copied in one instant while it is written to (a reflink on XFS): what
//! is in the copy is what a disk without a cache would hold. What happens depends on the moment; the seed says only
//! when that is.

use crate::crash;
use crate::crash::{Tally, number, plain_ended, seed, skip};
use crate::real;
use crate::real::{RealFs, program_exists};
use fsage_core::Rng;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A mounted image, which is unmounted when this goes.
struct Mounted {
    image: PathBuf,
    at: PathBuf,
}

impl Mounted {
    /// Makes a file system in an image of its own.
    fn new(fs: &str, folder: &Path, megabytes: u64) -> Mounted {
        let image = folder.join(format!("{fs}.img"));
        let file = File::create(&image).expect("an image");
        file.set_len(megabytes << 20).expect("a sparse file");
        let force: &[&str] = if fs.starts_with("ext") {
            &["-q", "-F"]
        } else {
            &["-q", "-f"]
        };
        run(Command::new(format!("mkfs.{fs}")).args(force).arg(&image));
        Mounted::again(image, &folder.join(format!("{fs}.mounted")))
    }

    fn again(image: PathBuf, at: &Path) -> Mounted {
        fs::create_dir_all(at).expect("a folder");
        run(Command::new("mount")
            .args(["-o", "loop"])
            .arg(&image)
            .arg(at));
        Mounted {
            image,
            at: at.to_owned(),
        }
    }

    /// Unmounts it. A power cut does not wait for that: it has been by then.
    ///
    /// It is unmounted when its loop device is gone: until then a mount namespace of another test, in which a command
    /// is measured, may have a copy of the mount, and with that the file system lives on.
    fn unmount(self) -> PathBuf {
        let image = self.image.clone();
        drop(self);
        let patience = Instant::now() + Duration::from_secs(120);
        while is_a_disk(&image) {
            assert!(
                Instant::now() < patience,
                "{} stays mounted",
                image.display()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        image
    }
}

/// Whether a loop device is on it.
fn is_a_disk(image: &Path) -> bool {
    let devices = fs::read_dir("/sys/block").expect("block devices");
    devices.flatten().any(|device| {
        let backing = fs::read_to_string(device.path().join("loop/backing_file"));
        backing.is_ok_and(|backing| Path::new(backing.trim_end()) == image)
    })
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // A program that was killed may hold it a moment longer.
        for _ in 0..100 {
            let unmounted = Command::new("umount")
                .arg(&self.at)
                .stderr(Stdio::null())
                .status();
            if unmounted.is_ok_and(|status| status.success()) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let _ = Command::new("umount").arg("-l").arg(&self.at).status();
    }
}

fn run(command: &mut Command) {
    let output = command.stdin(Stdio::null()).output().expect("it runs");
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {message}");
}

fn folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        tempfile::tempdir_in(memory)
    } else {
        tempfile::tempdir()
    }
    .expect("a folder")
}

/// A file system, and what a run on it is aged on: a directory of it, or an image in the folder of the run.
#[derive(Clone, Copy, Debug)]
struct Disk {
    fs: &'static str,
    megabytes: u64,
    on: &'static str,
}

const fn disk(fs: &'static str, megabytes: u64, on: &'static str) -> Disk {
    Disk { fs, megabytes, on }
}

const DIRECTORIES: [Disk; 3] = [
    disk("ext4", 128, "dir:target"),
    disk("xfs", 320, "dir:target"),
    disk("btrfs", 192, "dir:target"),
];

impl Disk {
    fn name(&self) -> String {
        format!(
            "{} on {}",
            self.on.split(',').next().expect("a target"),
            self.fs
        )
    }

    /// Why it cannot be tried here; says so.
    fn is_left_out(&self, test: &str, programs: &[&str]) -> bool {
        let inner = self
            .on
            .strip_prefix("loop:")
            .and_then(|on| on.split(',').next());
        let systems: Vec<&str> = [Some(self.fs), inner].into_iter().flatten().collect();
        let unusable = systems
            .into_iter()
            .find_map(|fs| RealFs::usable(fs_name(fs)).err());
        let needed = ["mount", "umount"].iter().chain(programs);
        let missing = needed.into_iter().find(|program| !program_exists(program));
        let missing = missing.map(|program| format!("`{program}` is not installed"));
        let why = unusable.or(missing);
        if let Some(why) = &why {
            skip(&format!("{test}, {}", self.name()), why);
        }
        why.is_some()
    }

    fn mount_new(&self, folder: &Path) -> Mounted {
        Mounted::new(self.fs, folder, self.megabytes)
    }

    fn rng(&self, case: u64) -> Rng {
        Rng::new(seed()).stream(&self.name(), case)
    }
}

fn fs_name(name: &str) -> &'static str {
    let known = ["ext4", "xfs", "btrfs"];
    known
        .into_iter()
        .find(|fs| *fs == name)
        .expect("one of these")
}

/// A new workload and an empty target, on disk.
fn prepare(at: &Path) {
    for entry in fs::read_dir(at).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.file_name().and_then(|name| name.to_str()) {
            Some("lost+found") => {}
            _ if path.is_dir() => fs::remove_dir_all(path).expect("it goes"),
            _ => fs::remove_file(path).expect("it goes"),
        }
    }
    fs::create_dir(at.join("target")).expect("a folder");
    fs::write(at.join("w.ops"), crash::workload(7, 6, 250)).expect("a file");
    run(Command::new("sync").arg("-f").arg(at));
}

fn age(on: &str) -> Vec<&str> {
    vec!["age", "w.ops", "--on", on, "-o", "run", "--no-control"]
}

fn begin(at: &Path, on: &str) -> Child {
    Command::new(env!("CARGO_BIN_EXE_fsage"))
        .args(age(on))
        .current_dir(at)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("fsage starts")
}

/// Waits, while somebody else on the file system now and then forces a file of theirs to disk. With it goes what is
/// known of others so far: their names, but often not their bytes.
fn wait_beside_others(at: &Path, until: Instant, rng: &mut Rng) {
    let mut other = File::create(at.join("other")).expect("a file");
    loop {
        let left = until.saturating_duration_since(Instant::now());
        std::thread::sleep(left.min(Duration::from_millis(rng.below(150))));
        if left.is_zero() {
            return;
        }
        other
            .write_all(b"more")
            .and_then(|()| other.sync_all())
            .expect("a file can be synced");
    }
}

/// How long a whole run takes, and the table of what it leaves.
fn whole(at: &Path, on: &str) -> (Duration, Vec<u8>) {
    prepare(at);
    let began = Instant::now();
    assert!(begin(at, on).wait().expect("it ends").success());
    (began.elapsed(), table(at))
}

fn table(at: &Path) -> Vec<u8> {
    fs::read(real::target_folder(at, "run").join("tree.parquet")).expect("a table")
}

/// Goes on with a run, which then must be right.
fn goes_on(at: &Path, on: &str, expected: &[u8]) -> Result<(), String> {
    let again = [age(on), vec!["--resume"]].concat();
    let ended = plain_ended(at, &again);
    let was_complete = ended.status == Some(2) && ended.message.contains("the run is complete");
    if !ended.is_done() && !was_complete {
        return Err(format!("it does not go on: {ended:?}"));
    }
    let verified = plain_ended(at, &["verify", "run"]);
    if !verified.is_done() {
        return Err(format!("verify: {verified:?}"));
    }
    if on.starts_with("loop:") {
        let image = real::image_of(at, "run");
        let fs = image
            .file_stem()
            .and_then(|name| name.to_str())
            .expect("a name");
        RealFs { name: fs_name(fs) }.check(&image);
    }
    if table(at) == expected {
        Ok(())
    } else {
        Err("another tree".to_owned())
    }
}

fn moment(rng: &mut Rng, length: Duration) -> Duration {
    length.mul_f64(rng.unit() * 1.02)
}

/// The same, checked by the file system's own program when it is unmounted.
fn unmount_and_check(fs: &'static str, mounted: Mounted) -> PathBuf {
    let image = mounted.unmount();
    RealFs { name: fs }.check(&image);
    image
}

#[test]
fn a_run_goes_on_after_its_file_system_was_shut_down_at_any_moment() {
    let mut tally = Tally::default();
    let images = [
        disk("ext4", 640, "loop:xfs,size=320M"),
        disk("xfs", 320, "loop:ext4,size=96M"),
        disk(
            "ext4",
            384,
            "loop:btrfs,size=128M,uuid=66736167-6500-4000-8000-0000000000a1",
        ),
    ];
    for disk in DIRECTORIES[..2].iter().chain(&images) {
        if disk.is_left_out("shutdowns", &["xfs_io"]) {
            continue;
        }
        let folder = folder();
        let mut mounted = disk.mount_new(folder.path());
        let at = mounted.at.clone();
        let (length, expected) = whole(&at, disk.on);
        for case in 0..number("FSAGE_SHUTDOWNS", 2) {
            let mut rng = disk.rng(case);
            prepare(&at);
            let mut child = begin(&at, disk.on);
            let until = Instant::now() + moment(&mut rng, length);
            wait_beside_others(&at, until, &mut rng);
            run(Command::new("xfs_io")
                .args(["-x", "-c", "shutdown"])
                .arg(&at));
            let _ = child.kill();
            let _ = child.wait();
            mounted = Mounted::again(mounted.unmount(), &at);
            let what = format!("{}, shutdown {case}", disk.name());
            tally.count(&what, goes_on(&at, disk.on, &expected));
            mounted = Mounted::again(unmount_and_check(disk.fs, mounted), &at);
        }
    }
    tally.end("shutdowns");
}

#[test]
fn a_run_goes_on_from_a_copy_of_the_disk_of_any_moment() {
    let mut tally = Tally::default();
    let images = [
        disk("xfs", 320, "loop:ext4,size=96M"),
        disk(
            "ext4",
            384,
            "loop:btrfs,size=128M,uuid=66736167-6500-4000-8000-0000000000a2",
        ),
    ];
    for disk in DIRECTORIES.iter().chain(&images) {
        if disk.is_left_out("copies", &["mkfs.xfs"]) {
            continue;
        }
        let folder = folder();
        let below = Mounted::new("xfs", folder.path(), 8192);
        let (mut length, mut expected) = (Duration::ZERO, Vec::new());
        let cases = number("FSAGE_COPIES", 2);
        // Some of one run.
        for first in (0..cases).step_by(8) {
            let mounted = disk.mount_new(&below.at);
            let at = mounted.at.clone();
            if first == 0 {
                (length, expected) = whole(&at, disk.on);
            }
            prepare(&at);
            let copies = copies_of_a_run(disk, &mounted, first..cases.min(first + 8), length);
            mounted.unmount();
            for (case, copy) in copies {
                let mounted = Mounted::again(copy, &at);
                let what = format!("{}, copy {case}", disk.name());
                tally.count(&what, goes_on(&at, disk.on, &expected));
                fs::remove_file(unmount_and_check(disk.fs, mounted)).expect("the copy goes");
            }
        }
    }
    tally.end("copies");
}

/// Runs to the end, and copies the disk below at some moments, each in one instant.
fn copies_of_a_run(
    disk: &Disk,
    mounted: &Mounted,
    cases: std::ops::Range<u64>,
    length: Duration,
) -> Vec<(u64, PathBuf)> {
    let mut rng = disk.rng(cases.start);
    let mut moments: Vec<Duration> = cases.clone().map(|_| moment(&mut rng, length)).collect();
    moments.sort();
    let began = Instant::now();
    let mut child = begin(&mounted.at, disk.on);
    let mut copies = Vec::new();
    for (case, moment) in cases.zip(moments) {
        wait_beside_others(&mounted.at, began + moment, &mut rng);
        let copy = mounted.image.with_file_name(format!("copy-{case}.img"));
        let mut command = Command::new("cp");
        run(command
            .arg("--reflink=always")
            .arg(&mounted.image)
            .arg(&copy));
        copies.push((case, copy));
    }
    assert!(child.wait().expect("it ends").success());
    copies
}

#[test]
fn a_run_goes_on_after_a_kill_at_any_moment() {
    let mut tally = Tally::default();
    let cases = number("FSAGE_KILLS", 2);
    let mut kill_on = |name: &str, at: &Path, on: &str| {
        let (length, expected) = whole(at, on);
        for case in 0..cases {
            let mut rng = Rng::new(seed()).stream(name, case);
            prepare(at);
            let mut child = begin(at, on);
            std::thread::sleep(moment(&mut rng, length));
            let _ = child.kill();
            let _ = child.wait();
            tally.count(&format!("{name}, kill {case}"), goes_on(at, on, &expected));
        }
    };
    let plain = folder();
    kill_on("dir", plain.path(), "dir:target");
    let images = [
        disk("ext4", 640, "loop:xfs,size=320M"),
        disk("xfs", 320, "loop:ext4,size=96M"),
        disk(
            "ext4",
            384,
            "loop:btrfs,size=128M,uuid=66736167-6500-4000-8000-0000000000a3",
        ),
    ];
    for disk in DIRECTORIES.iter().chain(&images) {
        if disk.is_left_out("kills", &[]) {
            continue;
        }
        let folder = folder();
        let mounted = disk.mount_new(folder.path());
        kill_on(&disk.name(), &mounted.at, disk.on);
        unmount_and_check(disk.fs, mounted);
    }
    tally.end("kills");
}
