//! Input that never comes, never ends or is far too much: fsage says so at once, or ends when it is told to.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Long enough for a slow machine, and far too short for what must not be waited for.
const PATIENCE: Duration = Duration::from_secs(180);

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("w.ops"), "mkdir 1\nday 0\n").expect("a file");
    folder
}

fn command(folder: &Path, args: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fsage"));
    command.args(args.split_whitespace()).current_dir(folder);
    command
}

/// What comes of a command that must end by itself.
fn ends(folder: &Path, args: &str) -> Output {
    let printed = fs::File::create(folder.join("printed")).expect("a file");
    let mut child = command(folder, args)
        .stdin(Stdio::null())
        .stdout(printed)
        .stderr(Stdio::piped())
        .spawn()
        .expect("fsage runs");
    assert!(has_ended(&mut child), "{args}: it goes on and on");
    child.wait_with_output().expect("its output")
}

fn has_ended(child: &mut Child) -> bool {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        if child.try_wait().expect("a child of ours").is_some() {
            return true;
        }
        sleep(Duration::from_millis(20));
    }
    child.kill().expect("a child of ours");
    false
}

fn fails(folder: &Path, args: &str, words: &[&str]) {
    let run = ends(folder, args);
    let said = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(2), "{args}: {said}");
    for word in words {
        assert!(said.contains(word), "{args}: no `{word}` in: {said}");
    }
}

fn mkfifo(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status();
    assert!(made.expect("mkfifo runs").success());
}

#[test]
fn an_experiment_of_too_many_cells_is_refused_before_they_are_listed() {
    let folder = folder();
    let list: Vec<String> = (0..100).map(|n| n.to_string()).collect();
    let lists: String = ["a", "b", "c", "d", "e", "f"]
        .map(|name| format!("{name} = [{}]\n", list.join(",")))
        .concat();
    let text = format!(
        "targets = [\"ffs:maxcontig={{a}},minfree={{b}},x={{c}}{{d}}{{e}}{{f}}\"]\n[matrix]\n{lists}\
         [[workload]]\nfile = \"w.ops\"\n"
    );
    fs::write(folder.path().join("e.toml"), text).expect("a file");
    let words = ["e.toml:1: 1000000000000 cells", "at most 100000"];
    fails(folder.path(), "run e.toml --dry-run", &words);
    let seeds: Vec<String> = (0..50_001).map(|n| n.to_string()).collect();
    let text = format!(
        "targets = [\"ffs:preset=tiny\", \"lfs\"]\nseeds = [{}]\n[[workload]]\npreset = \"home-1996\"\n",
        seeds.join(",")
    );
    fs::write(folder.path().join("e.toml"), text).expect("a file");
    fails(folder.path(), "run e.toml --dry-run", &["100001 cells"]);
}

#[test]
fn as_many_cells_as_may_be_are_planned() {
    let folder = folder();
    let seeds: Vec<String> = (0..100_000).map(|n| n.to_string()).collect();
    let text = format!(
        "targets = [\"ffs:preset=tiny\"]\nseeds = [{}]\n[[workload]]\npreset = \"home-1996\"\n",
        seeds.join(",")
    );
    fs::write(folder.path().join("e.toml"), text).expect("a file");
    ends(folder.path(), "run e.toml --dry-run");
    let printed = fs::read_to_string(folder.path().join("printed")).expect("a table");
    assert!(printed.ends_with("\n100000 cells\n"), "{}", printed.len());
}

#[test]
fn a_device_and_a_file_without_end_are_no_text() {
    let folder = folder();
    for args in ["run /dev/zero", "generate profile /dev/zero -o w.parquet"] {
        fails(folder.path(), args, &["is a device"]);
    }
    let big = fs::File::create(folder.path().join("big.toml")).expect("a file");
    // A sparse file: it takes no room.
    big.set_len(1 << 40).expect("a long file");
    for args in [
        "run big.toml",
        "check run --rules big.toml",
        "device show big.toml",
        "generate profile big.toml -o w.parquet",
    ] {
        fails(folder.path(), args, &["big.toml", "longer than 16 MB"]);
    }
    fs::create_dir(folder.path().join("run")).expect("a folder");
    std::os::unix::fs::symlink("../big.toml", folder.path().join("run/run.json")).expect("a link");
    fails(folder.path(), "measure run", &["longer than 256 MB"]);
}

#[test]
fn a_pipe_is_no_table() {
    let folder = folder();
    mkfifo(&folder.path().join("pipe.parquet"));
    fails(
        folder.path(),
        "diff pipe.parquet pipe.parquet",
        &["is a pipe; a regular file was expected"],
    );
}

/// Waits with nothing to do, and ends in order when it is told to.
#[test]
fn an_interrupt_ends_what_waits_for_a_pipe() {
    let folder = folder();
    mkfifo(&folder.path().join("pipe"));
    mkfifo(&folder.path().join("pipe.toml"));
    for args in [
        "run pipe.toml",
        "device show pipe.toml",
        "age pipe --on ffs:preset=tiny -o run",
        "age - --on ffs:preset=tiny -o run",
        "inspect pipe",
        "convert pipe out.parquet",
        "generate strace pipe --only-new -o out.parquet",
        "generate strace - -o out.parquet",
    ] {
        for waits_for_writer in [true, false] {
            let mut child = command(folder.path(), args)
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .expect("fsage runs");
            // Without a writer, opening the pipe would wait; with one that is silent, reading it.
            let writer = (!waits_for_writer).then(|| {
                ["pipe", "pipe.toml"].map(|name| {
                    let mut options = fs::OpenOptions::new();
                    // Both ways: this does not wait for a reader.
                    options.read(true).write(true);
                    options.open(folder.path().join(name)).expect("a pipe")
                })
            });
            sleep(Duration::from_millis(300));
            assert!(child.try_wait().expect("a child").is_none(), "{args} waits");
            let pid = child.id().to_string();
            let sent = Command::new("kill").args(["-INT", &pid]).status();
            assert!(sent.expect("kill runs").success());
            assert!(has_ended(&mut child), "{args}: it waits on");
            drop(writer);
            let run = child.wait_with_output().expect("its output");
            let said = String::from_utf8_lossy(&run.stderr);
            assert_eq!(run.status.code(), Some(3), "{args}: {said}");
            assert!(said.contains("interrupted"), "{args}: {said}");
            let left: Vec<_> = fs::read_dir(folder.path())
                .expect("a folder")
                .map(|entry| entry.expect("an entry").file_name())
                .filter(|name| {
                    !["w.ops", "pipe", "pipe.toml"]
                        .iter()
                        .any(|known| name == known)
                })
                .collect();
            assert!(left.is_empty(), "{args} left {left:?}");
        }
    }
}
