//! Who may write where: one process at a time, nothing of others lost, nothing of the dead left, no link followed.

use crate::real;
use crate::real::RealFs;
use rustix::process::{Pid, Signal, kill_process};
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn command(at: &Path, arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fsage"));
    command
        .args(arguments.split_whitespace())
        .current_dir(at)
        .stdin(Stdio::null());
    command
}

fn fsage(at: &Path, arguments: &str) -> Output {
    command(at, arguments).output().expect("fsage runs")
}

fn succeeds(at: &Path, arguments: &str) -> String {
    let output = fsage(at, arguments);
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "fsage {arguments}: {message}");
    message.into_owned()
}

fn refused(at: &Path, arguments: &str) -> String {
    let output = fsage(at, arguments);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        !output.status.success(),
        "fsage {arguments} went through: {message}"
    );
    message
}

/// A process that is ended when the test ends.
struct Working(Child);

impl Working {
    /// Starts fsage with its standard input open.
    fn begin(at: &Path, arguments: &str) -> Working {
        let child = command(at, arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Working(child.expect("fsage starts"))
    }

    fn feed(&mut self, text: &str) {
        let input = self.0.stdin.as_mut().expect("an open pipe");
        input.write_all(text.as_bytes()).expect("it reads");
    }

    /// Stops it as soon as something is there.
    fn stop_when(&self, what: &str, is_there: impl Fn() -> bool) {
        wait_for(what, is_there);
        self.signal(Signal::STOP);
    }

    /// Whether it alone has a folder, as the system lists its locks.
    fn has_locked(&self, folder: &Path) -> bool {
        let (Ok(locks), Ok(there)) = (fs::read_to_string("/proc/locks"), fs::metadata(folder))
        else {
            return false;
        };
        let process = self.0.id().to_string();
        let inode = format!(":{}", there.ino());
        locks.lines().any(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            words.contains(&"WRITE")
                && words.contains(&process.as_str())
                && words.iter().any(|word| word.ends_with(&inode))
        })
    }

    /// By a call: on a machine at work another process would come too late.
    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).expect("it lives");
    }

    fn kill(mut self) {
        self.0.kill().expect("it lives");
        self.0.wait().expect("it ends");
    }

    /// Lets it end by itself.
    fn ends(mut self) {
        drop(self.0.stdin.take());
        self.signal(Signal::CONT);
        assert!(self.0.wait().expect("it ends").success());
    }

    /// That somebody else is told that this one is at work.
    fn is_named_in(&self, message: &str) {
        let id = format!("process {}, `fsage ", self.0.id());
        assert!(
            message.contains(&id) && message.contains("is at work here"),
            "{message}"
        );
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn wait_for(what: &str, is_there: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_there() {
        assert!(began.elapsed() < Duration::from_secs(60), "no {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_owned();
    (folder, path)
}

/// Names in a folder that nobody asked for.
fn left_over(at: &Path) -> Vec<String> {
    let entries = fs::read_dir(at).expect("a folder");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let names = names.map(|name| name.to_string_lossy().into_owned());
    names.filter(|name| name.starts_with('.')).collect()
}

/// A workload of so many days on which files come and go.
fn workload(at: &Path, name: &str, days: u32) {
    let mut text = String::from("mkdir 1\n");
    for day in 0..days {
        for file in 0..40 {
            let id = day * 40 + file;
            let _ = writeln!(text, "create {id} 1 {}", 1000 + id % 60_000);
        }
        let _ = writeln!(text, "day {}", day + 1);
    }
    fs::write(at.join(name), text).expect("a file");
}

/// A run whose manifest says that it was interrupted, as one of a model is that was killed.
fn interrupted(at: &Path, run: &str, workload: &str) {
    succeeds(at, &format!("age {workload} --on ffs -o {run}"));
    let manifest = at.join(run).join("run.json");
    let text = fs::read_to_string(&manifest).expect("a manifest");
    let changed = text.replace("\"state\": \"complete\"", "\"state\": \"incomplete\"");
    assert_ne!(text, changed);
    fs::write(&manifest, changed).expect("it is written");
}

fn workload_of(at: &Path, run: &str) -> String {
    let text = fs::read_to_string(at.join(run).join("run.json")).expect("a manifest");
    let manifest: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(manifest["state"], "complete");
    manifest["workload"]["file"]
        .as_str()
        .expect("text")
        .to_owned()
}

#[test]
fn a_run_is_written_by_one_process_and_others_are_reported_which() {
    let (_folder, at) = folder();
    workload(&at, "w.ops", 3);
    let mut first = Working::begin(&at, "age - --on ffs -o run");
    first.feed("mkdir 1\n");
    wait_for("run", || at.join("run/run.json").exists());
    for arguments in [
        "age w.ops --on ffs -o run",
        "age w.ops --on ffs -o run --force",
        "age w.ops --on ffs -o run --resume",
        "bench run --suite hot-files",
    ] {
        first.is_named_in(&refused(&at, arguments));
    }
    first.feed("day 1\n");
    first.ends();
    let manifest = fs::read_to_string(at.join("run/run.json")).expect("a manifest");
    assert!(manifest.contains("\"state\": \"complete\""), "{manifest}");
    succeeds(&at, "age w.ops --on ffs -o run --force");
    assert_eq!(workload_of(&at, "run"), "w.ops");
}

#[test]
fn a_directory_is_aged_by_one_process() {
    // In memory where that can be: every day ends with a sync.
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() {
        tempfile::tempdir_in(memory)
    } else {
        tempfile::tempdir()
    };
    let folder = folder.expect("a folder");
    let at = folder.path().to_owned();
    workload(&at, "w.ops", 200);
    fs::create_dir(at.join("tree")).expect("a folder");
    let first = Working::begin(&at, "age w.ops --on dir:tree -o one");
    first.stop_when("file", || {
        fs::read_dir(at.join("tree")).is_ok_and(|mut entries| entries.next().is_some())
    });
    first.is_named_in(&refused(&at, "age w.ops --on dir:tree -o two"));
    assert!(!at.join("two").exists());
    first.ends();
    succeeds(&at, "verify one");
}

#[test]
fn an_experiment_is_run_by_one_process_or_by_shards_each_of_them_once() {
    let (_folder, at) = folder();
    workload(&at, "w.ops", 500);
    let text = "targets = [\"ffs\", \"ffs:policy=realloc\"]\n[[workload]]\nfile = \"w.ops\"\n";
    fs::write(at.join("e.toml"), text).expect("a file");

    let first = Working::begin(&at, "run e.toml --threads 1");
    first.stop_when("experiment", || first.has_locked(&at.join("e")));
    for arguments in ["run e.toml", "run e.toml --shard 1/2"] {
        first.is_named_in(&refused(&at, arguments));
    }
    first.ends();
    assert!(at.join("e/report.html").is_file());

    fs::remove_dir_all(at.join("e")).expect("it goes");
    // Both cells belong to the second shard: the first one ends at once.
    let first = Working::begin(&at, "run e.toml --shard 2/2 --threads 1");
    // The folder of the shard is there a moment before its lock is.
    let shard = at.join("e/.shard-2-of-2");
    first.stop_when("shard", || first.has_locked(&shard));
    for arguments in ["run e.toml", "run e.toml --shard 2/2"] {
        first.is_named_in(&refused(&at, arguments));
    }
    succeeds(&at, "run e.toml --shard 1/2");
    assert!(!at.join("e/report.html").exists());
    first.ends();
    assert!(at.join("e/report.html").is_file());
    succeeds(&at, "run e.toml");
    assert_eq!(left_over(&at.join("e")), Vec::<String>::new());
}

#[test]
fn several_at_once_on_a_new_folder_are_one_that_goes_on_and_others_that_say_why_not() {
    let (_folder, at) = folder();
    workload(&at, "w.ops", 20);
    let text = "targets = [\"ffs\"]\n[[workload]]\nfile = \"w.ops\"\n";
    fs::write(at.join("e.toml"), text).expect("a file");
    for round in 0..5 {
        for (arguments, made) in [
            (format!("run e.toml -o e{round}"), format!("e{round}")),
            (
                format!("age w.ops --on ffs -o r{round}"),
                format!("r{round}"),
            ),
        ] {
            let children: Vec<Child> = (0..4)
                .map(|_| {
                    let child = command(&at, &arguments).stderr(Stdio::piped()).spawn();
                    child.expect("fsage starts")
                })
                .collect();
            let mut done = 0;
            for child in children {
                let output = child.wait_with_output().expect("it ends");
                let message = String::from_utf8_lossy(&output.stderr);
                if output.status.success() {
                    done += 1;
                } else {
                    let reasons = ["is at work here", "exists already"];
                    let is_refused = reasons.iter().any(|why| message.contains(why));
                    assert!(is_refused, "{arguments}: {message}");
                }
            }
            assert!(done >= 1, "{arguments}: none went on");
            assert!(at.join(made).is_dir());
        }
    }
    assert_eq!(left_over(&at), Vec::<String>::new());
}

#[test]
fn a_complete_run_is_never_lost_to_one_that_was_to_replace_it() {
    let (_folder, at) = folder();
    workload(&at, "a.ops", 2);
    workload(&at, "b.ops", 600);
    fs::write(at.join("bad.ops"), "mkdir 1\ncreate 1 77 5\n").expect("a file");
    succeeds(&at, "age a.ops --on ffs -o run");

    // Replaced by one that fails: it is back.
    refused(&at, "age bad.ops --on ffs -o run --force");
    assert_eq!(workload_of(&at, "run"), "a.ops");
    assert_eq!(left_over(&at), Vec::<String>::new());

    // By one that is killed: it stands aside, and the one that goes on takes its place.
    let second = Working::begin(&at, "age b.ops --on ffs -o run --force");
    wait_for("run", || {
        let text = fs::read_to_string(at.join("run/run.json"));
        text.is_ok_and(|text| text.contains("b.ops"))
    });
    second.kill();
    assert_eq!(workload_of(&at, ".run.replaced"), "a.ops");
    succeeds(&at, "age b.ops --on ffs -o run --resume");
    assert_eq!(workload_of(&at, "run"), "b.ops");
    assert_eq!(left_over(&at), Vec::<String>::new());

    // What stands aside beside a complete run is of no use, whoever left it there.
    succeeds(&at, "age a.ops --on ffs -o .run.replaced");
    refused(&at, "age bad.ops --on ffs -o run --force");
    assert_eq!(workload_of(&at, "run"), "b.ops");

    // Beside an incomplete one it is what is kept.
    interrupted(&at, "half", "a.ops");
    fs::rename(at.join("run"), at.join(".run.replaced")).expect("it moves");
    fs::rename(at.join("half"), at.join("run")).expect("it moves");
    refused(&at, "age bad.ops --on ffs -o run --force");
    assert_eq!(workload_of(&at, "run"), "b.ops");
    fs::rename(at.join("run"), at.join(".run.replaced")).expect("it moves");
    let message = refused(&at, "age a.ops --on ffs -o run");
    assert!(message.contains("exists already"), "{message}");
    assert_eq!(workload_of(&at, "run"), "b.ops");
}

#[test]
fn what_a_killed_conversion_left_goes_with_the_next_one() {
    let (_folder, at) = folder();
    workload(&at, "w.ops", 1);
    let first = Working::begin(&at, "generate strace - -o w.parquet");
    wait_for("temporary file", || !left_over(&at).is_empty());
    first.kill();
    assert!(!left_over(&at).is_empty());
    succeeds(&at, "convert w.ops w.parquet");
    assert_eq!(left_over(&at), Vec::<String>::new());
}

#[test]
fn the_copy_of_an_image_that_a_killed_benchmark_left_goes_with_the_next_one() {
    if let Err(why) = RealFs::usable("ext4") {
        return real::skip("copies of killed benchmarks", &why);
    }
    let (_folder, at) = folder();
    workload(&at, "w.ops", 2);
    succeeds(&at, "age w.ops --on loop:ext4,size=16M -o run --no-control");
    let target = real::target_folder(&at, "run");
    let bench = "bench run --suite hot-files --repetitions 1";
    let first = Working::begin(&at, bench);
    wait_for("copy", || !left_over(&target).is_empty());
    first.kill();
    assert!(!left_over(&target).is_empty());
    succeeds(&at, bench);
    assert_eq!(left_over(&target), Vec::<String>::new());
    assert_eq!(real::attached_below(&at), Vec::<String>::new());
}

#[test]
fn no_link_that_somebody_planted_is_followed() {
    let (_folder, at) = folder();
    workload(&at, "w.ops", 1);
    let victim = at.join("victim");
    fs::write(&victim, "theirs").expect("a file");
    let open = at.join("open");
    fs::create_dir(&open).expect("a folder");
    // The names that a process of one of the next ids could be expected to use.
    let next = std::process::id() + 1;
    for id in next..next + 2000 {
        for name in [
            format!(".w.parquet.{id}-0.partial"),
            format!("made.json.{id}.new"),
        ] {
            symlink(&victim, open.join(name)).expect("a link");
        }
    }
    for _ in 0..10 {
        succeeds(&at, "convert w.ops open/w.parquet --force");
    }
    interrupted(&at, "run", "w.ops");
    symlink(&victim, at.join("run/run.json.new")).expect("a link");
    succeeds(&at, "age w.ops --on ffs -o run --resume");
    assert_eq!(fs::read_to_string(&victim).expect("a file"), "theirs");
    // Nor is what a link of the right name leads to written over.
    fs::remove_file(open.join("w.parquet")).expect("it goes");
    symlink(&victim, open.join("w.parquet")).expect("a link");
    refused(&at, "convert w.ops open/w.parquet");
    succeeds(&at, "convert w.ops open/w.parquet --force");
    assert_eq!(fs::read_to_string(&victim).expect("a file"), "theirs");
}
