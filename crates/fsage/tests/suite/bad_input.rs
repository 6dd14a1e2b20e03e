//! Bad input and bad luck: a clear message that names the file and the line or field and says what to do, the
//! right exit status, and nothing half-written left under the final name.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().expect("a temporary folder"))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.path().join(name);
        fs::write(&path, content).expect("a file is written");
        path
    }

    fn fsage(&self, args: &str) -> Output {
        Command::new(env!("CARGO_BIN_EXE_fsage"))
            .args(args.split_whitespace())
            .current_dir(self.path())
            .output()
            .expect("fsage runs")
    }

    /// Runs a command that must fail: with this status, a message with all these words, and nothing left.
    fn fails(&self, args: &str, status: i32, words: &[&str]) {
        let before = self.names();
        let run = self.fsage(args);
        let message = String::from_utf8_lossy(&run.stderr).into_owned();
        assert_eq!(run.status.code(), Some(status), "{args}: {message}");
        for word in words {
            assert!(message.contains(word), "{args}: no `{word}` in: {message}");
        }
        assert!(!message.contains("panicked"), "{args}: {message}");
        assert_eq!(self.names(), before, "{args} left something behind");
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path()).expect("a folder");
        let mut names: Vec<String> = entries
            .map(|e| {
                e.expect("an entry")
                    .file_name()
                    .to_string_lossy()
                    .into_owned()
            })
            .collect();
        names.sort();
        names
    }
}

#[test]
fn what_cannot_be_done_is_refused_before_anything_is_made() {
    let folder = Folder::new();
    folder.write("w.ops", b"create 1 0 20000\nday 1\n");
    fs::create_dir(folder.path().join("mine")).expect("a folder");
    folder.write("mine/letter", b"dear");
    folder.fails(
        "compare --preset mail-spool --days 5 --on ext4 -o mine --force",
        2,
        &["mine: exists and is no run", "name another folder"],
    );
    folder.fails(
        "compare --preset mail-spool --days 5 --on ext4 --on ext4 -o run",
        2,
        &["named twice"],
    );
    folder.fails(
        "age w.ops --on ffs:preset=tiny -o not/there",
        2,
        &["not/there: its folder is not there; make that first"],
    );
    folder.fails(
        "snapshot mine -o nights/1.parquet",
        2,
        &["nights/1.parquet: its folder is not there; make that first"],
    );
    folder.fails(
        "inspect mine --blocks 1-2",
        2,
        &["mine: a folder", "name a file of it"],
    );
    folder.fails(
        "inspect w.ops --blocks 9-2",
        2,
        &["as 100-199", "behind the last"],
    );
    folder.fails(
        "age w.ops --on loop:ext4:size=160M -o run",
        2,
        &["keys stand behind a comma: `loop:ext4,size=160M`"],
    );
    folder.fails("age w.ops --on loop:ext5 -o run", 2, &["ext4"]);
    folder.fails(
        "forecast --preset mail-spool --on ext4 --years 0.02 --fail-within 30",
        2,
        &["--fail-within 30: --years 0.02 looks 7 days ahead alone"],
    );
}

#[test]
fn a_bad_line_is_named_with_its_column_and_what_was_expected() {
    let folder = Folder::new();
    let table: [(&str, &[&str]); 9] = [
        ("creat 1 1 5", &["w.ops:2:1", "creat", "create"]),
        ("create 1 1", &["w.ops:2:", "create FILE DIR BYTES"]),
        ("create 1 1 5 6", &["w.ops:2:"]),
        ("create 1 1 -5", &["w.ops:2:12", "-5"]),
        (
            "create 1 1 18446744073709551616",
            &["w.ops:2:12", "64 bits"],
        ),
        ("create 1 9 5", &["w.ops:2", "no directory 9"]),
        ("append 7 5", &["w.ops:2", "no file 7"]),
        ("mkdir 1", &["w.ops:2", "directory 1 exists already"]),
        ("rmdir 0", &["w.ops:2", "root"]),
    ];
    for (line, words) in table {
        folder.write("w.ops", format!("mkdir 1\n{line}\n").as_bytes());
        folder.fails("age w.ops --on ffs:preset=tiny -o run", 2, words);
    }
}

#[test]
fn operations_on_deleted_or_doubled_ids_are_state_errors() {
    let folder = Folder::new();
    folder.write("gone.ops", b"create 1 0 5\ndelete 1\nappend 1 5\n");
    folder.fails(
        "age gone.ops --on ffs:preset=tiny -o run",
        2,
        &["gone.ops:3", "no file 1"],
    );
    folder.write("twice.ops", b"create 1 0 5\ncreate 1 0 5\n");
    let words = ["twice.ops:2", "file 1 exists already", "--lenient"];
    folder.fails("age twice.ops --on ffs:preset=tiny -o run", 2, &words);
    let lenient = folder.fsage("age twice.ops --on ffs:preset=tiny -o run --lenient");
    assert!(lenient.status.success());
    assert!(String::from_utf8_lossy(&lenient.stderr).contains("1 operations were not done"));
}

#[test]
fn a_bad_target_is_named_with_the_key_and_what_would_be_right() {
    let folder = Folder::new();
    folder.write("w.ops", b"create 1 0 5\n");
    let table: [(&str, &[&str]); 12] = [
        ("zfs", &["zfs", "known: ffs"]),
        ("ffs:blocks=8", &["blocks", "known: preset"]),
        ("ffs:nrpos", &["nrpos needs a value"]),
        ("ffs:optim=fast", &["optim=fast", "time or space"]),
        ("ffs:policy=best", &["policy=best", "noswitch-seq"]),
        ("ffs:bsize=3000", &["newfs refuses bsize", "power of two"]),
        ("ffs:preset=tiny,fsize=512", &["newfs refuses fsize"]),
        ("ffs:preset=tiny,size=16K", &["newfs refuses size"]),
        (
            "ffs:preset=tiny,cylinders_per_group=1",
            &["newfs refuses cylinders_per_group"],
        ),
        (
            "ffs:preset=tiny,sectors_per_track=60000",
            &["newfs refuses"],
        ),
        (
            "ext4:mb_max_to_scan=20",
            &["mb_max_to_scan", "loop:ext4,sysfs=\"mb_group_prealloc=64\""],
        ),
        (
            "loop:xfs,size=64M",
            &[
                "loop:xfs,size=64M: an image of 64.0 MiB is too small",
                "300 MiB",
            ],
        ),
    ];
    for (target, words) in table {
        folder.fails(&format!("age w.ops --on {target} -o run"), 2, words);
    }
    folder.fails("age w.ops --on ffs --on ffs -o run", 2, &["twice"]);
    folder.fails("age w.ops -o run", 2, &["--on"]);
    folder.fails("age w.ops --on ffs", 2, &["--output"]);
    folder.fails("age w.ops --on null --trace", 2, &["ffs"]);
}

#[test]
fn a_damaged_parquet_file_is_named() {
    let folder = Folder::new();
    folder.write("w.ops", b"create 1 0 5\nday 1\ncreate 2 0 500000\nday 2\n");
    assert!(folder.fsage("convert w.ops w.parquet").status.success());
    let whole = fs::read(folder.path().join("w.parquet")).expect("the workload");
    for length in [4, 20, whole.len() / 2, whole.len() - 1] {
        folder.write("cut.parquet", &whole[..length]);
        folder.fails(
            "age cut.parquet --on ffs:preset=tiny -o run",
            2,
            &["cut.parquet"],
        );
        folder.fails("inspect cut.parquet", 2, &["cut.parquet"]);
        folder.fails("measure cut.parquet", 2, &["cut.parquet"]);
    }
    folder.fails("measure w.parquet", 2, &["w.parquet", "snapshot"]);
    folder.fails(
        "age nothing.ops --on ffs -o run",
        2,
        &["nothing.ops", "No such file"],
    );
}

#[test]
fn what_exists_is_not_written_over_unless_it_is_a_run_and_forced() {
    let folder = Folder::new();
    folder.write("w.ops", b"create 1 0 5\n");
    assert!(
        folder
            .fsage("age w.ops --on ffs:preset=tiny -o run")
            .status
            .success()
    );
    folder.fails(
        "age w.ops --on ffs:preset=tiny -o run",
        2,
        &["run", "--force"],
    );
    let forced = folder.fsage("age w.ops --on ffs:preset=small -o run --force");
    assert!(forced.status.success());
    assert!(
        folder
            .path()
            .join("run/ffs_preset-small/days.parquet")
            .is_file()
    );
    assert!(!folder.path().join("run/ffs_preset-tiny").exists());
    fs::create_dir(folder.path().join("mine")).expect("a folder");
    folder.write("mine/letter.txt", b"dear reader");
    folder.fails(
        "age w.ops --on ffs:preset=tiny -o mine --force",
        2,
        &["no run"],
    );
    folder.fails("demo -o mine", 2, &["no demo"]);
    assert!(folder.path().join("mine/letter.txt").is_file());
    folder.fails("convert w.ops w.ops", 2, &["itself"]);
    folder.write("there.ops", b"");
    folder.fails("convert w.ops there.ops", 2, &["there.ops", "--force"]);
}

/// A file system of its own at `at`, taken away again when dropped; `None` where that is not allowed.
struct Mount(PathBuf);

impl Mount {
    fn tmpfs(at: &Path, options: &str) -> Option<Mount> {
        fs::create_dir_all(at).expect("a mount point");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "fsage-test"])
            .arg(at)
            .output()
            .is_ok_and(|run| run.status.success());
        if !mounted {
            // Straight to stderr, which the test runner does not capture.
            let _ = writeln!(
                std::io::stderr(),
                "skipped: a test file system cannot be mounted here (needs root)"
            );
        }
        mounted.then(|| Mount(at.to_owned()))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg(&self.0).status();
        assert!(
            unmounted.is_ok_and(|s| s.success()),
            "{} stays mounted",
            self.0.display()
        );
    }
}

#[test]
fn a_full_disk_ends_with_status_3_and_leaves_nothing() {
    let folder = Folder::new();
    folder.write("w.ops", b"create 1 0 5\nday 1\n");
    let at = folder.path().join("full");
    let Some(mount) = Mount::tmpfs(&at, "size=8k") else {
        return;
    };
    folder.fails(
        "age w.ops --on ffs:preset=tiny -o full/run",
        3,
        &["No space left"],
    );
    folder.fails(
        "generate profile smith96 --days 3 -o full/w.parquet",
        3,
        &["No space left"],
    );
    assert_eq!(fs::read_dir(&at).expect("the mount").count(), 0);
    drop(mount);
}

#[test]
fn a_read_only_output_folder_ends_with_status_3() {
    let folder = Folder::new();
    folder.write("w.ops", b"create 1 0 5\nday 1\n");
    let at = folder.path().join("fixed");
    let Some(mount) = Mount::tmpfs(&at, "ro") else {
        return;
    };
    folder.fails(
        "age w.ops --on ffs:preset=tiny -o fixed/run",
        3,
        &["fixed/", "Read-only"],
    );
    folder.fails("convert w.ops fixed/w.parquet", 3, &["fixed/", "Read-only"]);
    drop(mount);
}

/// Ctrl-C, and what a system sends when it shuts down.
#[test]
fn an_interrupt_ends_with_status_3_and_leaves_nothing() {
    let folder = Folder::new();
    folder.write("w.ops", b"create 1 0 5\n");
    for signal in ["INT", "TERM"] {
        for args in [
            "generate profile smith96 --days 100000 -o big.parquet",
            "age - --on ffs:preset=tiny -o run",
        ] {
            let mut child = Command::new(env!("CARGO_BIN_EXE_fsage"))
                .args(args.split_whitespace())
                .current_dir(folder.path())
                .stdin(Stdio::piped())
                .stderr(Stdio::piped())
                .stdout(Stdio::null())
                .spawn()
                .expect("fsage runs");
            let mut input = child.stdin.take().expect("a pipe");
            // Long enough to be at work; it gets its operations, but never an end.
            std::thread::sleep(Duration::from_millis(300));
            let kill = Command::new("kill")
                .args(["-s", signal, &child.id().to_string()])
                .status();
            assert!(kill.expect("kill runs").success());
            while input
                .write_all(&b"create 1 0 5\ndelete 1\n".repeat(1000))
                .is_ok()
            {}
            let run = child.wait_with_output().expect("fsage ends");
            let message = String::from_utf8_lossy(&run.stderr);
            assert_eq!(run.status.code(), Some(3), "{args}: {message}");
            assert!(message.contains("interrupted"), "{args}: {message}");
            assert_eq!(folder.names(), ["w.ops"], "{args} left something behind");
        }
    }
}

#[test]
fn an_output_is_never_one_of_the_inputs() {
    let folder = Folder::new();
    folder.write(
        "n.csv",
        b"inode,type,size,ctime,path,snap_id,taken_at\n5,f,3,9,x,0,10\n",
    );
    assert!(folder.fsage("convert n.csv n.parquet").status.success());
    let before = fs::read(folder.path().join("n.parquet")).expect("a series");
    for args in [
        "generate snapshots n.parquet -o n.parquet --force",
        "generate snapshots . -o n.parquet --force",
        "generate strace n.csv -o n.csv --force",
        "generate oplog n.csv -o out.ops --profiles n.csv --force",
        "generate playback n.csv -o n.csv --force",
        "verify-method n.csv -o n.csv --force",
    ] {
        folder.fails(args, 2, &["is what is read"]);
    }
    assert!(fs::read(folder.path().join("n.parquet")).expect("a series") == before);
    folder.write("empty.strace", b"");
    folder.fails(
        "generate strace empty.strace -o e.ops",
        2,
        &["empty.strace", "empty"],
    );
    folder.fails(
        "generate snapshots n.parquet -o w.ops --allocation-delay=-5",
        2,
        &["--allocation-delay", "seconds"],
    );
}

#[test]
fn a_report_that_finds_no_room_names_its_file() {
    let folder = Folder::new();
    folder.write("w.ops", b"create 1 0 5000\nday 0\n");
    assert!(
        folder
            .fsage("age w.ops --on ffs:preset=tiny -o run")
            .status
            .success()
    );
    // A limit on the size of files is as good as a full disk.
    let run = Command::new("bash")
        .args([
            "-c",
            "trap '' XFSZ; ulimit -f 100; exec \"$FSAGE\" report run -o page.html",
        ])
        .env("FSAGE", env!("CARGO_BIN_EXE_fsage"))
        .current_dir(folder.path())
        .output()
        .expect("bash runs");
    let message = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(3), "{message}");
    assert!(message.contains("page.html: cannot write"), "{message}");
    assert_eq!(folder.names(), ["run", "w.ops"]);
}

#[test]
fn damaged_facts_of_a_run_are_named() {
    let folder = Folder::new();
    folder.write("w.ops", b"create 1 0 5000\nday 0\n");
    let compare = "compare w.ops --on ffs:preset=tiny --on lfs -o run";
    let made = folder.fsage(compare);
    assert!(folder.path().join("run/made-of.json").exists(), "{made:?}");
    folder.write("run/made-of.json", b"{ \"fsage\": 1");
    let resume = format!("{compare} --resume");
    folder.fails(&resume, 2, &["run/made-of.json: damaged"]);
}

/// Every verb that takes a workload says what was probably meant.
#[test]
fn a_workload_that_is_not_there_is_answered_with_what_is_near() {
    let folder = Folder::new();
    folder.write("mail.ops", b"create 1 0 5\nday 1\n");
    let run = folder.fsage("age mail.ops --on ffs:preset=tiny -o run");
    assert_eq!(run.status.code(), Some(0));
    folder.write(
        "e.toml",
        b"targets = [\"ffs\"]\n[[workload]]\nfile = \"mail\"\n",
    );
    for verb in [
        "age mail --on ffs -o x",
        "age mail --on ffs --trace",
        "compare mail --on ffs -o x",
        "forecast mail --on ext4",
        "verify-method mail",
        "verify-model ext4 mail",
        "inspect mail",
        "convert mail x.parquet",
        "history run --inode 4 --workload mail",
    ] {
        folder.fails(
            verb,
            2,
            &["mail: there is no such file; did you mean mail.ops?"],
        );
    }
    folder.fails(
        "run e.toml",
        2,
        &["e.toml:2: file mail: there is no such file; did you mean mail.ops?"],
    );
    let preset = "`fsage generate profile mail-spool -o mail-spool.parquet`";
    folder.fails(
        "compare mail-spol --on ffs -o x",
        2,
        &["mail-spol: ", preset],
    );
    folder.fails(
        "age run --on ffs -o x",
        2,
        &["run: a run, and no workload; its workload is mail.ops"],
    );
}

/// A comparison in which nothing fits says so instead of benchmarking what is left, and how much room it takes.
#[test]
fn a_comparison_that_is_too_small_ends_before_its_benchmarks() {
    let folder = Folder::new();
    let early = "compare --preset mail-spool --days 2 --on loop:xfs,size=200M -o small";
    folder.fails(early, 2, &["too small for xfs: at least 300 MiB"]);
    assert!(folder.names().is_empty(), "{:?}", folder.names());
    let args = "compare --preset mail-spool --days 2 --on ext4:size=4M -o small";
    let run = folder.fsage(args);
    let message = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(2), "{message}");
    assert!(
        message.contains("every target skipped more than half")
            && message.contains(" MiB at a time"),
        "{message}"
    );
    let measured = folder.fsage("diff small/ext4_size-4M small/none.img --layout");
    assert_eq!(measured.status.code(), Some(2));
    let swapped = folder.fsage("verify-model small-workload.parquet ext4");
    let message = String::from_utf8_lossy(&swapped.stderr);
    assert!(message.contains("the model comes first"), "{message}");
}
