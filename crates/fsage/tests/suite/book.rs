//! Every command that a page of `docs` shows is run, in order, and prints what the page shows. `book/page.rs` says how
//! a page marks its commands.

mod page;

use crate::real::UnmountedAtEnd;
use page::{Step, printed_as_shown, read};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// A page that takes so long is named, for whoever wants to make the tests shorter.
const LONG_S: u64 = 10;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All pages below `docs`, by their paths from there, sorted.
fn pages() -> BTreeMap<String, String> {
    let docs = root().join("docs");
    let mut pages = BTreeMap::new();
    let mut folders = vec![docs.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder of pages") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "md") {
                let name = path.strip_prefix(&docs).expect("below docs");
                let text = fs::read_to_string(&path).expect("a page is text");
                pages.insert(name.to_string_lossy().into_owned(), text);
            }
        }
    }
    pages
}

fn say(line: &str) {
    // Not `eprintln!`, which the test harness would swallow.
    let _ = writeln!(std::io::stderr(), "{line}");
}

fn fsage() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_fsage"))
}

/// Why blocks that need root and loop devices cannot run here.
fn why_no_root() -> Option<String> {
    let doctor = Command::new(fsage())
        .args("doctor --need loop --need ext4 --need xfs".split(' '))
        .output()
        .expect("fsage runs");
    let said = String::from_utf8_lossy(&doctor.stderr);
    (!doctor.status.success()).then(|| said.trim().to_owned())
}

/// A shell for the commands of a page: fsage first on the path, and nothing of the user's settings.
fn shell(command: &str, folder: &Path) -> Command {
    let fsage = fsage().parent().expect("a folder");
    let path = format!(
        "{}:{}",
        fsage.display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let mut shell = Command::new("bash");
    shell
        .args(["-e", "-u", "-o", "pipefail", "-c", command])
        .current_dir(folder)
        .env("PATH", path)
        .env("HOME", folder)
        .env("LC_ALL", "C.UTF-8")
        .env("TZ", "UTC")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("FSAGE_SOURCE", root());
    shell
}

/// Runs the commands of a page in a folder of their own; what went wrong, and what was skipped.
fn run(name: &str, steps: &[Step], no_root: Option<&str>) -> Result<(), String> {
    let folder = tempfile::tempdir().expect("a folder");
    let _mounts = UnmountedAtEnd(folder.path());
    let mut left_out = 0;
    for step in steps {
        if step.needs_root && no_root.is_some() {
            left_out += 1;
            continue;
        }
        let at = format!("docs/{name}:{}: {}", step.line, step.command);
        let output = shell(&step.command, folder.path())
            .output()
            .expect("bash runs");
        let printed = String::from_utf8_lossy(&output.stdout);
        let said = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            return Err(format!(
                "{at}\nfailed ({}):\n{printed}{said}",
                output.status
            ));
        }
        if !step.shown.is_empty() && !printed_as_shown(&printed, &step.shown) {
            return Err(format!(
                "{at}\nprints otherwise than shown; paste:\n{printed}"
            ));
        }
    }
    if let (true, Some(why)) = (left_out > 0, no_root) {
        say(&format!(
            "skipped: {left_out} commands of docs/{name}: {why}"
        ));
    }
    Ok(())
}

#[test]
fn every_command_of_the_book_does_what_its_page_shows() {
    let mut work = Vec::new();
    let mut not_run = Vec::new();
    for (name, text) in pages() {
        let page = read(&text).unwrap_or_else(|fault| panic!("docs/{name}:{fault}"));
        not_run.extend(page.not_run.iter().map(|why| format!("docs/{name}:{why}")));
        if !page.steps.is_empty() {
            work.push((name, page.steps));
        }
    }
    say(&format!(
        "commands of the book that are not run:\n  {}",
        not_run.join("\n  ")
    ));
    let no_root = why_no_root();
    let next = AtomicUsize::new(0);
    let faults = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((name, steps)) = work.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let began = Instant::now();
                    if let Err(fault) = run(name, steps, no_root.as_deref()) {
                        faults.lock().expect("no thread panics").push(fault);
                    }
                    let seconds = began.elapsed().as_secs();
                    if seconds >= LONG_S {
                        say(&format!("docs/{name} took {seconds} s"));
                    }
                }
            });
        }
    });
    let faults = faults.into_inner().expect("no thread panics");
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
    let commands: usize = work.iter().map(|(_, steps)| steps.len()).sum();
    say(&format!(
        "{commands} commands of {} pages were run",
        work.len()
    ));
}

/// But for those of the control, which have the names of the others behind `control_`.
#[test]
fn every_column_of_the_days_of_a_run_is_explained() {
    let folder = tempfile::tempdir().expect("a folder");
    let age = "printf 'create 1 0 9000\nday 1\n' | fsage age - --on null -o run";
    let status = shell(age, folder.path())
        .output()
        .expect("bash runs")
        .status;
    assert!(status.success());
    let table = fsage_data::table::read_table(folder.path().join("run/null/days.parquet"));
    let page = &pages()["metrics.md"];
    let columns: Vec<String> = table
        .expect("a table")
        .columns
        .into_iter()
        .map(|c| c.name)
        .collect();
    let missing: Vec<&String> = columns
        .iter()
        .filter(|name| !name.starts_with("control_") && !page.contains(&format!("`{name}`")))
        .collect();
    assert!(
        columns.len() > 40 && missing.is_empty(),
        "docs/metrics.md: {missing:?}"
    );
}
