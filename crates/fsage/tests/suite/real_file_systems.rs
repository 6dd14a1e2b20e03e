//! Real file systems through the public commands: aged images agree with the reference, pass their own file system
//! checks, and say the same mounted and unmounted.
//!
//! Expected values: `vectors/linux/scores.tsv` and `INDEX.md` beside the project (kernel 6.18, loop device, 1 GiB,
//! writes, sync by day), where that folder is present. Needs root, loop devices and the `mkfs` programs.

use crate::real;
use crate::real::{RealFs, fsage, fsage_json, linux_vectors, skip};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// The script that fills its images: they and their controls take 2 GB of the disk.
const LARGEST: &str = "s50k";
/// Held by who replays it, so that only one of them takes that room at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// What the reference table says of a file system and a script.
struct Reference {
    files: u64,
    multi_extent: u64,
    inline: u64,
    score: f64,
}

fn reference(table: &str, fs: &str, script: &str) -> Reference {
    let row = table
        .lines()
        .map(|line| line.split('\t').collect::<Vec<_>>())
        .find(|row| row[..5] == ["6.18", fs, script, "write", "day"])
        .expect("the table has the row");
    let number = |at: usize| row[at].parse().expect("a number");
    Reference {
        files: number(5),
        multi_extent: number(8),
        inline: number(10),
        score: row[11].parse().expect("a score"),
    }
}

/// Ages one image and compares it with the table; checks it with its own tools.
fn ages_like_the_reference(fs: RealFs, script: &str) {
    let Some(vectors) = linux_vectors() else {
        return;
    };
    let table = std::fs::read_to_string(vectors.join("scores.tsv")).expect("the table");
    let reference = reference(&table, fs.name, script);
    let _alone = (script == LARGEST).then(|| ALONE.lock().unwrap_or_else(PoisonError::into_inner));
    let folder = tempfile::tempdir().expect("a folder");
    let workload = vectors.join(format!("{script}.ops.gz"));
    let spec = format!("loop:{},size=1G,sync=day", fs.name);
    fsage(
        folder.path(),
        &[
            "age",
            &workload.to_string_lossy(),
            "--on",
            &spec,
            "-o",
            "run",
        ],
    );
    let run = fsage_json(folder.path(), &["measure", "run", "--json"]);
    let days = run["targets"][0]["days"].as_array().expect("days");
    let skipped: u64 = days.iter().filter_map(|d| d["skipped"].as_u64()).sum();
    let ignored: u64 = days.iter().filter_map(|d| d["ignored"].as_u64()).sum();
    assert_eq!((skipped, ignored), (0, 0), "{spec}: no operation failed");
    let last = days.last().expect("a day");
    assert_eq!(last["files"], reference.files, "{spec} {script}");
    // A file is put into the tree if it is small when it is written back: one that grows later is inline or not as the
    // periodic commit of btrfs (30 s of the clock) met it. On a busy machine one in thousands moves.
    let inline = last["inline_files"].as_u64().expect("a count");
    assert!(
        inline.abs_diff(reference.inline) <= reference.inline / 1000,
        "{spec} {script}: {inline} inline files, reference {}",
        reference.inline
    );
    let score = last["layout_score"].as_f64().expect("a score");
    assert!(
        (score - reference.score).abs() < 0.01,
        "{spec} {script}: layout score {score}, reference {}",
        reference.score
    );
    let multi = last["fragmented_files"].as_u64().expect("a count");
    assert!(
        multi.abs_diff(reference.multi_extent) <= 2 + reference.multi_extent / 5,
        "{spec} {script}: {multi} files in several extents, reference {}",
        reference.multi_extent
    );
    let control = last["control_layout_score"].as_f64().expect("a control");
    assert!(
        control >= score - 0.001,
        "{spec} {script}: control {control}"
    );
    fsage(folder.path(), &["verify", "run"]);
    let image = real::image_of(folder.path(), "run");
    fs.check(&image);
    assert_eq!(real::attached_below(folder.path()), Vec::<String>::new());
}

macro_rules! reference_tests {
    ($($test:ident: $fs:literal $script:literal,)*) => {$(
        #[test]
        fn $test() {
            match RealFs::usable($fs) {
                Ok(fs) => ages_like_the_reference(fs, $script),
                Err(why) => skip(stringify!($test), &why),
            }
        }
    )*};
}

reference_tests! {
    s5_on_ext4: "ext4" "s5",
    s5_on_xfs: "xfs" "s5",
    s5_on_btrfs: "btrfs" "s5",
    s5_on_ext3: "ext3" "s5",
    s5_on_ext2: "ext2" "s5",
    s2k_on_ext4: "ext4" "s2k",
    s2k_on_xfs: "xfs" "s2k",
    s2k_on_btrfs: "btrfs" "s2k",
    s2k_on_ext3: "ext3" "s2k",
    s2k_on_ext2: "ext2" "s2k",
    s50k_on_ext4: "ext4" "s50k",
    s50k_on_xfs: "xfs" "s50k",
    s50k_on_btrfs: "btrfs" "s50k",
    s50k_on_ext3: "ext3" "s50k",
    s50k_on_ext2: "ext2" "s50k",
}

/// The unmounted image, read without the kernel, against what FIEMAP said while it was mounted, and against
/// `debugfs` on 1,000 inodes.
#[test]
fn an_aged_ext4_says_the_same_mounted_and_unmounted() {
    let fs = match RealFs::usable("ext4") {
        Ok(fs) => fs,
        Err(why) => return skip("an_aged_ext4_says_the_same_mounted_and_unmounted", &why),
    };
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    real::churn(&at.join("w.ops"), 3_000, 40_000);
    fsage(
        at,
        &["age", "w.ops", "--on", "loop:ext4,size=256M", "-o", "run"],
    );
    let image = real::image_of(at, "run");
    fs.check(&image);
    fsage(
        at,
        &["snapshot", &image.to_string_lossy(), "-o", "image.parquet"],
    );
    let mounted = real::target_folder(at, "run").join("final.parquet");
    let mounted = data_extents(at, &mounted);
    let unmounted = data_extents(at, Path::new("image.parquet"));
    assert!(mounted.len() > 1_000, "{} files", mounted.len());
    let only: Vec<_> = mounted
        .iter()
        .zip(&unmounted)
        .filter(|(m, u)| m != u)
        .take(3)
        .collect();
    assert_eq!(mounted.len(), unmounted.len());
    assert!(only.is_empty(), "mounted and unmounted differ: {only:#?}");

    let sampled: Vec<&String> = unmounted.iter().step_by(unmounted.len() / 1_000).collect();
    assert!(sampled.len() >= 1_000);
    for line in sampled {
        let (ino, extents) = line.split_once(' ').expect("an inode and its extents");
        assert_eq!(extents, real::debugfs_extents(&image, ino), "inode {ino}");
    }
}

/// One line a regular file: inode and `logical:physical:length` of its data in blocks, in the order of inodes.
fn data_extents(at: &Path, snapshot: &Path) -> Vec<String> {
    real::extents(at, snapshot)
        .into_iter()
        .map(|(ino, extents)| format!("{ino} {extents}"))
        .collect()
}

/// A workload that asks for far more than there is runs to its end, and what it skips is counted.
#[test]
fn a_full_disk_is_an_outcome() {
    for name in ["ext4", "xfs", "btrfs", "ext2"] {
        let fs = match RealFs::usable(name) {
            Ok(fs) => fs,
            Err(why) => {
                skip("a_full_disk_is_an_outcome", &why);
                continue;
            }
        };
        let folder = tempfile::tempdir().expect("a folder");
        let at = folder.path();
        let size = if name == "xfs" { 320 } else { 128 };
        real::overfill(&at.join("w.ops"), size);
        let spec = format!("loop:{name},size={size}M");
        fsage(at, &["age", "w.ops", "--on", &spec, "-o", "run"]);
        let run = fsage_json(at, &["measure", "run", "--json"]);
        let days = run["targets"][0]["days"].as_array().expect("days");
        let no_space: u64 = days.iter().filter_map(|d| d["no_space"].as_u64()).sum();
        assert!(no_space > 0, "{name}: the disk was to be full");
        fsage(at, &["verify", "run"]);
        fs.check(&real::image_of(at, "run"));
    }
}

/// Without root a directory can be aged, and `loop:` says what it needs.
#[test]
fn without_root() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    real::churn(&at.join("w.ops"), 300, 20_000);
    let Some(mut as_nobody) = real::as_nobody(at) else {
        return skip("without_root", "`setpriv` is needed to stop being root");
    };
    let run = as_nobody
        .args(["age", "w.ops", "--on", "loop:ext4,size=64M", "-o", "run"])
        .output()
        .expect("it runs");
    let message = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(3), "{message}");
    assert!(message.contains("root"), "{message}");

    std::fs::create_dir(at.join("target")).expect("a folder");
    real::give_to_nobody(at);
    let before = real::tree(at, "target");
    let mut as_nobody = real::as_nobody(at).expect("as before");
    let run = as_nobody
        .args(["age", "w.ops", "--on", "dir:target", "-o", "run"])
        .output()
        .expect("it runs");
    let message = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{message}");
    let mut after = real::tree(at, "target");
    after.retain(|line| !line.starts_with("./run"));
    assert_eq!(
        before, after,
        "nothing outside the target and the run changed"
    );
    let verified = real::as_nobody(at)
        .expect("as before")
        .args(["verify", "run"])
        .status()
        .expect("it runs");
    assert!(verified.success());
}

/// What is refused, and why.
#[test]
fn what_is_no_place_for_a_replay_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    real::churn(&at.join("w.ops"), 10, 1_000);
    std::fs::create_dir(at.join("full")).expect("a folder");
    std::fs::write(at.join("full/mine"), "precious").expect("a file");
    let refused = |spec: &str, why: &str| {
        let run = Command::new(env!("CARGO_BIN_EXE_fsage"))
            .args(["age", "w.ops", "--on", spec, "-o", "run"])
            .current_dir(at)
            .output()
            .expect("it runs");
        let message = String::from_utf8_lossy(&run.stderr);
        assert!(
            matches!(run.status.code(), Some(2 | 3)),
            "{spec}: {message}"
        );
        assert!(message.contains(why), "{spec}: {message}");
        assert!(!at.join("run").exists(), "{spec}: a run was left");
    };
    refused("dir:full", "not empty");
    refused("dir:missing", "missing");
    refused("dir:full/mine", "directory");
    refused("dir:/", "/");
    refused("dir:/usr", "/usr");
    refused("dir:/proc", "/proc");
    refused("dir:full,shade=red", "shade");
    refused("dir:full,sync=never", "day");
    refused("loop:zfs", "ext4");
    refused("loop:xfs,size=1M", "300 MiB");
    assert_eq!(
        std::fs::read(at.join("full/mine")).expect("still there"),
        b"precious"
    );
}

/// A night that a run kept says how large its file system is and how it lies, as the end of the run does: a model
/// begins with it.
#[test]
fn a_model_begins_with_a_night_of_a_real_run() {
    if let Err(why) = RealFs::usable("ext4") {
        return skip("a_model_begins_with_a_night_of_a_real_run", &why);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let files: Vec<String> = (1..300)
        .map(|file| format!("create {file} 0 {}\n", file * 700))
        .collect();
    let script = format!("{}day 1\ndelete 7\nday 2\n", files.concat());
    fs::write(at.join("w.ops"), script).expect("a script");
    fs::write(at.join("more.ops"), "create 1 0 5000\nday 1\n").expect("a script");
    let on = "loop:ext4,size=600M";
    fsage(
        at,
        &[
            "age",
            "w.ops",
            "--on",
            on,
            "--snapshots",
            "1",
            "--no-control",
            "-o",
            "run",
        ],
    );
    let run = real::target_folder(at, "run");
    for night in ["snapshots/day-00000.parquet", "final.parquet"] {
        let from = format!("ext4:from={}", run.join(night).display());
        fsage(
            at,
            &[
                "age",
                "more.ops",
                "--on",
                &from,
                "--no-control",
                "--force",
                "-o",
                "on",
            ],
        );
        let on = fsage_json(at, &["measure", "on", "--json"]);
        let files = &on["targets"][0]["days"][0]["files"];
        let deleted = u64::from(night == "final.parquet");
        assert_eq!(files.as_u64(), Some(300 - deleted), "{night}");
    }
}
