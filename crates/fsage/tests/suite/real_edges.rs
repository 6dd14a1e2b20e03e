//! Runs on real file systems that end at bad moments: in their first instants, right behind the record of a day, when
//! the disk below an image is full; and what they do not take when they go on.

use crate::real;
use crate::real::{RealFs, fsage, skip};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn fails(at: &Path, arguments: &[&str], status: i32) -> String {
    let run: Output = Command::new(env!("CARGO_BIN_EXE_fsage"))
        .args(arguments)
        .current_dir(at)
        .output()
        .expect("fsage runs");
    let message = String::from_utf8_lossy(&run.stderr).into_owned();
    assert_eq!(
        run.status.code(),
        Some(status),
        "fsage {arguments:?}: {message}"
    );
    message
}

fn spawn(at: &Path, arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_fsage"))
        .args(arguments)
        .current_dir(at)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("fsage starts")
}

/// A folder whose file system is quick to sync, where there is one.
fn quick_folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        return tempfile::tempdir_in(memory).expect("a folder");
    }
    tempfile::tempdir().expect("a folder")
}

fn copy_tree(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").arg(from).arg(to).status();
    assert!(copied.expect("cp runs").success());
}

/// Where the records of days end in a journal, by its format: 8 bytes of length and check, the payload, 4 of CRC.
fn ends_of_days(journal: &[u8]) -> Vec<usize> {
    let number = |at: usize| {
        let bytes = journal.get(at..at + 4)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?) as usize)
    };
    let mut at = 16 + number(12).expect("a header") + 4;
    let mut ends = Vec::new();
    while let Some(length) = number(at).filter(|length| at + length + 12 <= journal.len()) {
        let kind = journal[at + 8];
        at += 8 + length + 4;
        if kind == 2 {
            ends.push(at);
        }
    }
    ends
}

/// A power failure between the record of a day and the next record, with a tree that has gone on into the next day.
#[test]
fn a_run_cut_right_behind_the_record_of_a_day_goes_on() {
    let folder = quick_folder();
    let at = folder.path();
    real::churn(&at.join("w.ops"), 3_000, 20_000);
    fs::create_dir(at.join("tree")).expect("a folder");
    let age = ["age", "w.ops", "--on", "dir:tree", "-o", "run"];
    let resume = [&age[..], &["--resume"]].concat();
    let mut child = spawn(at, &age);
    let began = Instant::now();
    let journal = || {
        let run = fs::read_dir(at.join("run")).ok()?;
        let mut folders =
            run.filter_map(|entry| Some(entry.ok()?.path().join("checkpoint/journal")));
        folders.find(|journal| journal.is_file())
    };
    let has_days = |journal: PathBuf| {
        fs::read(journal).is_ok_and(|j| j.len() > 40 && ends_of_days(&j).len() > 4)
    };
    while !journal().is_some_and(has_days) {
        assert!(began.elapsed() < Duration::from_secs(60), "no day ended");
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
    let path = journal().expect("a journal");
    let whole = fs::read(&path).expect("a journal");
    let last = *ends_of_days(&whole).last().expect("a day");
    copy_tree(&at.join("run"), &at.join("run.kept"));
    copy_tree(&at.join("tree"), &at.join("tree.kept"));
    fsage(at, &resume);
    fsage(at, &["verify", "run"]);
    let rest = whole.len() - last;
    for lost in (0..=rest).step_by(rest / 8 + 1) {
        // The directory itself stays: the run knows it by its inode.
        for entry in fs::read_dir(at.join("tree")).expect("a folder") {
            let entry = entry.expect("an entry").path();
            let removed = if entry.is_dir() {
                fs::remove_dir_all(entry)
            } else {
                fs::remove_file(entry)
            };
            removed.expect("it goes");
        }
        fs::remove_dir_all(at.join("run")).expect("the run goes");
        copy_tree(&at.join("run.kept"), &at.join("run"));
        copy_tree(&at.join("tree.kept/."), &at.join("tree"));
        fs::write(&path, &whole[..last + lost]).expect("a journal");
        fsage(at, &resume);
        fsage(at, &["verify", "run"]);
    }
}

/// Whether all of a run was done, though its process may have been killed after that.
fn is_complete(run: &Path) -> bool {
    let manifest = fsage_lab::run_folder::Manifest::read(run);
    manifest.is_ok_and(|manifest| manifest.state == fsage_lab::run_folder::State::Complete)
}

#[test]
fn killed_in_its_first_moments_a_run_goes_on_and_leaves_no_image() {
    for (name, size) in [("ext4", 64), ("btrfs", 128)] {
        if let Err(why) = RealFs::usable(name) {
            skip("killed in its first moments", &why);
            continue;
        }
        let folder = quick_folder();
        let at = folder.path();
        real::churn(&at.join("w.ops"), 60, 2_000);
        let spec = format!("loop:{name},size={size}M,image=images/i,control=images/c");
        fs::create_dir(at.join("images")).expect("a folder");
        let age = ["age", "w.ops", "--on", &spec, "-o", "run"];
        let resume = [&age[..], &["--resume"]].concat();
        let began = Instant::now();
        fsage(at, &age);
        let whole = began.elapsed();
        for moment in 0..16 {
            fs::remove_dir_all(at.join("run")).expect("the run goes");
            fs::remove_dir_all(at.join("images")).expect("the images go");
            fs::create_dir(at.join("images")).expect("a folder");
            let mut child = spawn(at, &age);
            std::thread::sleep(whole.mul_f64(f64::from(moment) / 15.0));
            child.kill().expect("it can be killed");
            let done = child.wait().expect("it ends").success();
            if !at.join("run").exists() {
                fsage(at, &age);
            } else if !done && !is_complete(&at.join("run")) {
                fsage(at, &resume);
            }
            fsage(at, &["verify", "run"]);
            let names = fs::read_dir(at.join("images")).expect("a folder");
            let mut names: Vec<_> = names.map(|e| e.expect("an entry").file_name()).collect();
            names.sort();
            assert_eq!(names, ["c", "i"], "{name}, killed at moment {moment}");
            assert_eq!(real::attached_below(at), Vec::<String>::new());
        }
        // An image that was there is nobody's to remove.
        fs::remove_dir_all(at.join("run")).expect("the run goes");
        let message = fails(at, &age, 2);
        assert!(message.contains("is there already"), "{message}");
        assert!(at.join("images/i").exists() && !at.join("run").exists());
    }
}

/// A small file system, on which an image cannot grow as far as it may.
struct Host(PathBuf);

impl Host {
    fn mount(at: &Path, megabytes: u64) -> Option<Host> {
        let path = at.join("host");
        fs::create_dir(&path).expect("a folder");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={megabytes}m"), "none"])
            .arg(&path)
            .status();
        mounted
            .is_ok_and(|status| status.success())
            .then_some(Host(path))
    }

    fn grow(&self) {
        let grown = Command::new("mount")
            .args(["-o", "remount,size=2g"])
            .arg(&self.0)
            .status();
        assert!(grown.expect("mount runs").success());
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

fn growing(path: &Path) {
    let mut script = String::from("mkdir 1\n");
    for file in 0..4_000 {
        let _ = writeln!(script, "create {file} 1 30000");
        if file % 9 == 8 {
            let _ = writeln!(script, "delete {}", file - 5);
        }
        if file % 400 == 399 {
            let _ = writeln!(script, "day {file}");
        }
    }
    fs::write(path, script).expect("a script");
}

/// The disk below is used up by the image itself, or by somebody else all at once. Either way the run says that it can
/// be resumed, and it can.
#[test]
fn a_run_goes_on_when_there_is_room_below_its_image_again() {
    let kinds = [
        ("ext4", 256, 60),
        ("xfs", 320, 100),
        ("btrfs", 256, 60),
        ("ext2", 256, 60),
    ];
    for (name, size, room) in kinds {
        if let Err(why) = RealFs::usable(name) {
            skip("full below an image", &why);
            continue;
        }
        for suddenly in [false, true] {
            let folder = quick_folder();
            let at = folder.path();
            growing(&at.join("w.ops"));
            let Some(host) = Host::mount(at, room + if suddenly { 60 } else { 0 }) else {
                return skip(
                    "full below an image",
                    "cannot mount a file system in memory",
                );
            };
            let spec = format!("loop:{name},size={size}M,image=host/i,control=c");
            let age = ["age", "w.ops", "--on", &spec, "-o", "run"];
            if suddenly {
                let mut child = spawn(at, &age);
                let began = Instant::now();
                let used = || {
                    fs::metadata(at.join("host/i"))
                        .map_or(0, |m| std::os::unix::fs::MetadataExt::blocks(&m) * 512)
                };
                while used() < 15 << 20 {
                    assert!(
                        began.elapsed() < Duration::from_secs(60),
                        "nothing is written"
                    );
                    std::thread::sleep(Duration::from_millis(1));
                }
                let filled = Command::new("dd")
                    .args(["if=/dev/zero", "of=host/ballast", "bs=1M"])
                    .current_dir(at)
                    .stderr(Stdio::null())
                    .status();
                assert!(!filled.expect("dd runs").success());
                assert_eq!(child.wait().expect("it ends").code(), Some(3), "{name}");
                fs::remove_file(at.join("host/ballast")).expect("a file");
            } else {
                let message = fails(at, &age, 3);
                assert!(message.contains("below the image"), "{message}");
                assert!(message.contains("make room there"), "{message}");
            }
            host.grow();
            let resumed = Command::new(env!("CARGO_BIN_EXE_fsage"))
                .args([&age[..], &["--resume"]].concat())
                .current_dir(at)
                .output()
                .expect("fsage runs");
            let message = String::from_utf8_lossy(&resumed.stderr);
            // A btrfs does not always survive that its writes fail; then that is said, and the run begins anew.
            let is_lost = message.contains("was damaged when it could not be written, and is lost");
            if suddenly && name == "btrfs" && is_lost {
                skip("what a btrfs lost cannot be resumed", message.trim());
                fs::remove_file(at.join("host/i")).expect("the image");
                fsage(at, &[&age[..], &["--force"]].concat());
            } else {
                assert!(resumed.status.success(), "{name}: {message}");
            }
            fsage(at, &["verify", "run"]);
            let fs = RealFs::usable(name).expect("usable before");
            fs.check(&at.join("host/i"));
        }
    }
}

#[test]
fn a_run_is_resumed_with_what_it_was_begun_with() {
    let folder = quick_folder();
    let at = folder.path();
    let mut script = String::from("mkdir 1\n");
    for file in 0..400 {
        let _ = writeln!(script, "create {file} 1 100");
    }
    script.push_str("day 0\ncreate 0 1 1\nday 1\n");
    fs::write(at.join("w.ops"), &script).expect("a script");
    fs::create_dir(at.join("tree")).expect("a folder");
    // A file that is made twice stops it in the second day.
    let age = |more: &[&'static str]| {
        let first = ["age", "w.ops", "--on", "dir:tree", "-o", "run"];
        [&first[..], more].concat()
    };
    fails(at, &age(&["--snapshots", "2"]), 2);
    for (more, how) in [
        (&[][..], "begun with --snapshots 2"),
        (&["--snapshots", "1"], "begun with --snapshots 2"),
        (&["--snapshots", "2", "--no-map"], "begun without --no-map"),
        (
            &["--snapshots", "2", "--lenient"],
            "begun without --lenient",
        ),
    ] {
        let message = fails(at, &age(&[&["--resume"], more].concat()), 2);
        assert!(
            message.contains(how) && message.contains("resume it so"),
            "{message}"
        );
    }
    fs::remove_dir_all(at.join("run")).expect("the run goes");
    fs::remove_dir_all(at.join("tree")).expect("the tree goes");
    fs::create_dir(at.join("tree")).expect("a folder");
    fails(at, &age(&[]), 2);
    let message = fails(at, &age(&["--resume", "--snapshots", "1"]), 2);
    assert!(message.contains("begun without --snapshots"), "{message}");
    let another = "the run was begun by fsage 0.0.9 (0123456789ab), and fsage ";
    assert!(!fails(at, &age(&["--resume"]), 2).contains("the run was begun by"));
    let manifest = at.join("run/run.json");
    let text = fs::read(&manifest).expect("a manifest");
    let mut json: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
    json["fsage"] = "0.0.9".into();
    json["commit"] = "0123456789ab".into();
    fs::write(&manifest, json.to_string()).expect("a manifest");
    let message = fails(at, &age(&["--resume"]), 2);
    assert!(message.contains(another), "{message}");
}

#[test]
fn a_control_in_the_place_of_its_target_is_refused_before_anything_is_touched() {
    let folder = quick_folder();
    let at = folder.path();
    fs::write(at.join("w.ops"), "mkdir 1\n").expect("a script");
    fs::create_dir(at.join("tree")).expect("a folder");
    std::os::unix::fs::symlink("tree", at.join("link")).expect("a link");
    for spec in [
        "dir:tree,control=tree",
        "dir:tree,control=link",
        "dir:link,control=tree/sub",
    ] {
        let message = fails(at, &["age", "w.ops", "--on", spec, "-o", "run"], 2);
        assert!(message.contains("the control"), "{message}");
        assert!(!at.join("run").exists());
        assert_eq!(fs::read_dir(at.join("tree")).expect("a folder").count(), 0);
    }
}

/// A file system that was shut down gives EIO for everything: the machine has failed, not the user.
#[test]
fn a_target_that_cannot_be_read_is_a_failure_of_the_machine() {
    if let Err(why) = RealFs::usable("ext4") {
        return skip("a target that cannot be read", &why);
    }
    if !real::program_exists("xfs_io") {
        return skip("a target that cannot be read", "`xfs_io` is not installed");
    }
    let folder = quick_folder();
    let at = folder.path();
    fs::write(
        at.join("w.ops"),
        "mkdir 1\ncreate 1 1 100\nday 0\ncreate 1 1 1\n",
    )
    .expect("a script");
    let run = |program: &str, arguments: &[&str]| {
        let done = Command::new(program)
            .args(arguments)
            .current_dir(at)
            .output();
        done.expect("it runs").status.success()
    };
    fs::File::create(at.join("image"))
        .and_then(|file| file.set_len(64 << 20))
        .expect("a file");
    assert!(run("mkfs.ext4", &["-q", "image"]));
    fs::create_dir(at.join("target")).expect("a folder");
    if !run("mount", &["-o", "loop", "image", "target"]) {
        return skip("a target that cannot be read", "cannot mount an image");
    }
    let age = ["age", "w.ops", "--on", "dir:target", "-o", "run"];
    let first = fails(at, &age, 2);
    let shut = run("xfs_io", &["-x", "-c", "shutdown -f", "target"]);
    let again = shut.then(|| fails(at, &[&age[..], &["--resume"]].concat(), 3));
    assert!(run("umount", &["target"]));
    assert!(first.contains("w.ops:4"), "{first}");
    match again {
        Some(message) => assert!(message.contains("Input/output error"), "{message}"),
        None => skip(
            "a target that cannot be read",
            "ext4 cannot be shut down here",
        ),
    }
}

/// Images are there until all is measured that was asked for, and gone then; results stay.
#[test]
fn images_that_nobody_wants_are_discarded_when_all_is_measured() {
    let what = "images that are discarded";
    if let Err(why) = RealFs::usable("ext4") {
        return skip(what, &why);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    fs::write(at.join("w.ops"), "mkdir 1\ncreate 1 1 300000\nday 1\n").expect("a workload");
    let image = |run: &str, name: &str| at.join(run).join("loop_ext4_size-64M").join(name);
    let aged = ["age", "w.ops", "--on", "loop:ext4,size=64M", "-o"];
    fsage(at, &[&aged[..], &["kept"]].concat());
    assert!(image("kept", "ext4.img").is_file() && image("kept", "control.img").is_file());
    fsage(at, &[&aged[..], &["gone", "--discard-images"]].concat());
    let compared = [
        "compare",
        "w.ops",
        "--on",
        "loop:ext4,size=64M",
        "--discard-images",
    ];
    let bench = [
        "--suite",
        "hot-files",
        "--repetitions",
        "1",
        "-o",
        "measured",
    ];
    fsage(at, &[&compared[..], &bench].concat());
    for run in ["gone", "measured"] {
        for name in ["ext4.img", "control.img"] {
            assert!(!image(run, name).exists(), "{run}: {name}");
        }
        fsage(at, &["measure", run]);
    }
    assert!(
        image("measured", "bench")
            .join("hot-files.parquet")
            .is_file()
    );
    let refused = fails(at, &["bench", "gone", "--suite", "hot-files"], 2);
    assert!(refused.contains("there is no image"), "{refused}");
}

/// A share in which the file system would be smaller than any that `mkfs` makes is refused before anything is aged.
#[test]
fn a_share_that_no_size_has_is_refused() {
    if let Err(why) = RealFs::usable("xfs") {
        return skip("a share that no size has", &why);
    }
    let folder = quick_folder();
    let at = folder.path();
    fs::write(at.join("w.ops"), "create 1 0 20M\nday 1\n").expect("a workload");
    let fill = [
        "compare", "w.ops", "--on", "loop:xfs", "--fill", "50", "-o", "run",
    ];
    let said = fails(at, &fill, 2);
    let words = [
        "loop:xfs, 50 % full",
        "room for 40.0 MiB",
        "the smallest that mkfs.xfs makes, of 300 MiB",
        "name smaller shares",
    ];
    for word in words {
        assert!(said.contains(word), "{word}: {said}");
    }
    assert!(!at.join("run").exists());
}
