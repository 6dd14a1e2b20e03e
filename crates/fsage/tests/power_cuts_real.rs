//! Power cuts and kills at random moments on real file systems that hold the run and its target together: after the
//! log was replayed the run goes on, its files are right, and the file system's own check finds nothing.
//!
//! The power is cut in two ways. `xfs_io -x -c shutdown` has ext4 and XFS stop at once, with all that is in memory
//! lost. And the image below any file system is copied in one instant while it is written to (a reflink on XFS): what
//! is in the copy is what a disk without a cache would hold. What happens depends on the moment; the seed says only
//! when that is.

mod crash;
mod real;

use crash::{DIRECTORY, Scenario, Tally, number, plain_ended, seed, skip};
use fsage_core::Rng;
use real::{RealFs, program_exists};
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
    fn unmount(self) -> PathBuf {
        let image = self.image.clone();
        drop(self);
        image
    }
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

const SIZES: [(&str, u64); 3] = [("ext4", 128), ("xfs", 320), ("btrfs", 192)];

fn scenario() -> Scenario {
    Scenario {
        prepare: |at| {
            fs::create_dir(at.join("target")).expect("a folder");
            fs::write(at.join("w.ops"), crash::workload(7, 6, 250)).expect("a file");
        },
        results: &["run/dir_target/tree.parquet"],
        ..DIRECTORY
    }
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
    (scenario().prepare)(at);
    run(Command::new("sync").arg("-f").arg(at));
}

fn begin(at: &Path) -> Child {
    Command::new(env!("CARGO_BIN_EXE_fsage"))
        .args(scenario().command)
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
fn whole(at: &Path) -> (Duration, Vec<u8>) {
    prepare(at);
    let began = Instant::now();
    assert!(begin(at).wait().expect("it ends").success());
    (began.elapsed(), table(at))
}

fn table(at: &Path) -> Vec<u8> {
    fs::read(at.join("run/dir_target/tree.parquet")).unwrap_or_default()
}

/// Goes on with a run, which then must be right.
fn goes_on(at: &Path, expected: &[u8]) -> Result<(), String> {
    let ended = plain_ended(at, scenario().again);
    let was_complete = ended.status == Some(2) && ended.message.contains("the run is complete");
    if !ended.is_done() && !was_complete {
        return Err(format!("it does not go on: {ended:?}"));
    }
    let verified = plain_ended(at, &["verify", "run"]);
    if !verified.is_done() {
        return Err(format!("verify: {verified:?}"));
    }
    if table(at) == expected {
        Ok(())
    } else {
        Err("another tree".to_owned())
    }
}

/// Why this cannot be tried on a file system here.
fn not_here(fs: &'static str, programs: &[&str]) -> Option<String> {
    let needed = ["mount", "umount"].iter().chain(programs);
    let missing = needed.into_iter().find(|program| !program_exists(program));
    let missing = missing.map(|program| format!("`{program}` is not installed"));
    RealFs::usable(fs).err().or(missing)
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
    for (fs, megabytes) in &SIZES[..2] {
        if let Some(why) = not_here(fs, &["xfs_io"]) {
            skip(&format!("shutdowns, {fs}"), &why);
            continue;
        }
        let folder = folder();
        let mut mounted = Mounted::new(fs, folder.path(), *megabytes);
        let (length, expected) = whole(&mounted.at);
        for case in 0..number("FSAGE_SHUTDOWNS", 4) {
            let mut rng = Rng::new(seed()).stream(fs, case);
            prepare(&mounted.at);
            let mut child = begin(&mounted.at);
            let until = Instant::now() + moment(&mut rng, length);
            wait_beside_others(&mounted.at, until, &mut rng);
            run(Command::new("xfs_io")
                .args(["-x", "-c", "shutdown"])
                .arg(&mounted.at));
            let _ = child.kill();
            let _ = child.wait();
            let at = mounted.at.clone();
            let image = mounted.unmount();
            mounted = Mounted::again(image, &at);
            tally.count(&format!("{fs}, shutdown {case}"), goes_on(&at, &expected));
            let image = unmount_and_check(fs, mounted);
            mounted = Mounted::again(image, &at);
        }
    }
    tally.end("shutdowns");
}

#[test]
fn a_run_goes_on_from_a_copy_of_the_disk_of_any_moment() {
    let mut tally = Tally::default();
    for (fs, megabytes) in SIZES {
        let programs = ["mkfs.xfs"];
        if let Some(why) = not_here(fs, &programs).or_else(|| not_here("xfs", &programs)) {
            skip(&format!("copies, {fs}"), &why);
            continue;
        }
        let folder = folder();
        let below = Mounted::new("xfs", folder.path(), 4096);
        let (mut length, mut expected) = (Duration::ZERO, Vec::new());
        let cases = number("FSAGE_COPIES", 4);
        // Some of one run.
        for first in (0..cases).step_by(8) {
            let mounted = Mounted::new(fs, &below.at, megabytes);
            if first == 0 {
                (length, expected) = whole(&mounted.at);
            }
            prepare(&mounted.at);
            let mut rng = Rng::new(seed()).stream(fs, first);
            let mut moments: Vec<Duration> = (first..cases.min(first + 8))
                .map(|_| moment(&mut rng, length))
                .collect();
            moments.sort();
            let began = Instant::now();
            let mut child = begin(&mounted.at);
            let mut copies = Vec::new();
            for moment in moments {
                wait_beside_others(&mounted.at, began + moment, &mut rng);
                let copy = below.at.join(format!("copy-{}.img", copies.len()));
                run(Command::new("cp")
                    .arg("--reflink=always")
                    .arg(&mounted.image)
                    .arg(&copy));
                copies.push(copy);
            }
            assert!(child.wait().expect("it ends").success());
            let at = mounted.at.clone();
            mounted.unmount();
            for (i, copy) in copies.into_iter().enumerate() {
                let case = first + i as u64;
                let mounted = Mounted::again(copy, &at);
                tally.count(&format!("{fs}, copy {case}"), goes_on(&at, &expected));
                let image = unmount_and_check(fs, mounted);
                fs::remove_file(image).expect("the copy goes");
            }
        }
    }
    tally.end("copies");
}

#[test]
fn a_run_goes_on_after_a_kill_at_any_moment() {
    let mut tally = Tally::default();
    let cases = number("FSAGE_KILLS", 4);
    let mut kill_on = |name: &'static str, at: &Path| {
        let (length, expected) = whole(at);
        for case in 0..cases {
            let mut rng = Rng::new(seed()).stream("kills", case);
            prepare(at);
            let mut child = begin(at);
            std::thread::sleep(moment(&mut rng, length));
            let _ = child.kill();
            let _ = child.wait();
            tally.count(&format!("{name}, kill {case}"), goes_on(at, &expected));
        }
    };
    let plain = folder();
    kill_on("dir", plain.path());
    for (fs, megabytes) in SIZES {
        if let Some(why) = not_here(fs, &[]) {
            skip(&format!("kills, {fs}"), &why);
            continue;
        }
        let folder = folder();
        let mounted = Mounted::new(fs, folder.path(), megabytes);
        kill_on(fs, &mounted.at);
        unmount_and_check(fs, mounted);
    }
    tally.end("kills");
}
