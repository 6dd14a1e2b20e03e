//! What tests of power cuts, kills and failing calls share: workloads, a program to cut, and what must come of it.

use fsage_core::Rng;
use fsage_crash::{Ended, Program, Tree};
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A command that is cut, and what must be there when it has been done after all.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    pub name: &'static str,
    /// Makes what is there before, in an empty folder.
    pub prepare: fn(&Path),
    pub command: &'static [&'static str],
    /// What goes on with it.
    pub again: &'static [&'static str],
    /// What must be the same as had it not been cut, from the folder.
    pub results: &'static [&'static str],
    /// What must not be left.
    pub gone: &'static [&'static str],
    /// Its files can be compared with its tables.
    pub can_verify: bool,
}

/// A directory, renamed and moved about, with all kinds of files in it.
pub const DIRECTORY: Scenario = Scenario {
    name: "dir",
    prepare: |at| {
        fs::create_dir(at.join("target")).expect("a folder");
        fs::write(at.join("w.ops"), workload(1, 5, 30)).expect("a file");
    },
    command: &["age", "w.ops", "--on", "dir:target", "-o", "run"],
    again: &[
        "age",
        "w.ops",
        "--on",
        "dir:target",
        "-o",
        "run",
        "--resume",
    ],
    results: &["target", "run/dir_target/tree.parquet"],
    gone: &[],
    can_verify: true,
};

/// Simulated file systems, with snapshots.
pub const MODELS: Scenario = Scenario {
    name: "models",
    prepare: |at| fs::write(at.join("w.ops"), workload(2, 4, 30)).expect("a file"),
    command: &[
        "age",
        "w.ops",
        "--on",
        "ffs:preset=tiny",
        "--on",
        "lfs",
        "-o",
        "run",
        "--snapshots",
        "2",
    ],
    again: &[
        "age",
        "w.ops",
        "--on",
        "ffs:preset=tiny",
        "--on",
        "lfs",
        "-o",
        "run",
        "--snapshots",
        "2",
        "--resume",
    ],
    results: &["run"],
    gone: &[],
    can_verify: false,
};

/// A run in the place of a complete one.
pub const REPLACED: Scenario = Scenario {
    name: "replaced",
    prepare: |at| {
        fs::write(at.join("a.ops"), workload(3, 2, 10)).expect("a file");
        fs::write(at.join("w.ops"), workload(4, 2, 10)).expect("a file");
        plain(
            at,
            &["age", "a.ops", "--on", "ffs:preset=tiny", "-o", "run"],
        );
    },
    command: &[
        "age",
        "w.ops",
        "--on",
        "ffs:preset=tiny",
        "-o",
        "run",
        "--force",
    ],
    again: &[
        "age",
        "w.ops",
        "--on",
        "ffs:preset=tiny",
        "-o",
        "run",
        "--resume",
    ],
    results: &["run"],
    gone: &[".run.replaced"],
    can_verify: false,
};

/// An experiment of some cells.
pub const EXPERIMENT: Scenario = Scenario {
    name: "experiment",
    prepare: |at| {
        fs::write(at.join("w.ops"), workload(5, 2, 10)).expect("a file");
        let text = "targets = [\"ffs:preset=tiny\", \"lfs\"]\n[[workload]]\nfile = \"w.ops\"\n";
        fs::write(at.join("exp.toml"), text).expect("a file");
    },
    command: &["run", "exp.toml", "-o", "exp", "--threads", "1"],
    again: &["run", "exp.toml", "-o", "exp", "--threads", "1"],
    results: &["exp"],
    gone: &[],
    can_verify: false,
};

/// A folder to work in, of which all is seen, and one beside it for what programs print.
pub struct Place {
    pub folder: tempfile::TempDir,
}

impl Place {
    /// In memory where there is any: syncing is quick there.
    pub fn new() -> Place {
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() {
            tempfile::tempdir_in(memory)
        } else {
            tempfile::tempdir()
        };
        Place::in_folder(folder.expect("a folder"))
    }

    pub fn in_folder(folder: tempfile::TempDir) -> Place {
        for name in ["at", "out"] {
            fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        Place { folder }
    }

    pub fn at(&self) -> PathBuf {
        self.folder.path().join("at")
    }

    pub fn out(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    pub fn program(&self, arguments: &[&str]) -> Program {
        Program::new(
            env!("CARGO_BIN_EXE_fsage"),
            arguments,
            &self.at(),
            &self.out(),
        )
    }
}

/// Whether `expected` came of it, after a cut or a failed call; or what is wrong.
pub fn goes_on(place: &Place, scenario: &Scenario, expected: &Tree) -> Result<(), String> {
    let at = place.at();
    let ended = plain_ended(&at, scenario.again);
    if ended.is_done() {
        return is_right(place, scenario, expected);
    }
    let failed = format!("{} does not go on: {ended:?}", scenario.again.join(" "));
    if ended.status != Some(2) || !ended.message.contains("the run is complete") {
        return Err(failed);
    }
    // Either it had come to its end, or it had not begun to replace another one.
    if scenario.command.contains(&"--force") && is_right(place, scenario, expected).is_err() {
        let ended = plain_ended(&at, scenario.command);
        if !ended.is_done() {
            return Err(format!("{failed}\nand from the start: {ended:?}"));
        }
    }
    is_right(place, scenario, expected)
}

/// Whether the results are those of a run that nothing happened to.
pub fn is_right(place: &Place, scenario: &Scenario, expected: &Tree) -> Result<(), String> {
    let at = place.at();
    if scenario.can_verify {
        let ended = plain_ended(&at, &["verify", "run"]);
        if !ended.is_done() {
            return Err(format!("verify: {ended:?}"));
        }
    }
    let results: Vec<PathBuf> = scenario.results.iter().map(PathBuf::from).collect();
    let there = Tree::of(&at).map_err(|e| e.to_string())?;
    if let Some(difference) = expected.below(&results).difference(&there.below(&results)) {
        return Err(format!("another result: {difference}"));
    }
    match scenario.gone.iter().find(|name| at.join(name).exists()) {
        Some(left) => Err(format!("{left} is left")),
        None => Ok(()),
    }
}

/// Runs fsage as it is; it must succeed.
pub fn plain(at: &Path, arguments: &[&str]) {
    let ended = plain_ended(at, arguments);
    assert!(ended.is_done(), "fsage {arguments:?}: {ended:?}");
}

pub fn plain_ended(at: &Path, arguments: &[&str]) -> Ended {
    let run = Command::new(env!("CARGO_BIN_EXE_fsage"))
        .args(arguments)
        .current_dir(at)
        .stdin(Stdio::null())
        .output()
        .expect("fsage runs");
    Ended {
        status: run.status.code(),
        message: String::from_utf8_lossy(&run.stderr).into_owned(),
    }
}

/// Says on stderr that a test did not run, and why.
pub fn skip(test: &str, why: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {test}: {why}");
}

/// A number from the environment, which `make soak` sets.
pub fn number(name: &str, default: u64) -> u64 {
    let given = std::env::var(name).ok();
    given.and_then(|n| n.parse().ok()).unwrap_or(default)
}

/// The seed of a test: always the same, unless `FSAGE_SEED` says another one.
pub fn seed() -> u64 {
    number("FSAGE_SEED", 1)
}

/// One case where `FSAGE_CASE` says which, or all.
pub fn only(cases: u64) -> std::ops::Range<u64> {
    match number("FSAGE_CASE", u64::MAX) {
        u64::MAX => 0..cases,
        case => case..case + 1,
    }
}

/// What went wrong, and how often, with the first ones in full.
#[derive(Default)]
pub struct Tally {
    pub tried: u32,
    pub failed: Vec<String>,
}

impl Tally {
    pub fn count(&mut self, what: &str, result: Result<(), String>) {
        self.tried += 1;
        if let Err(why) = result {
            self.failed.push(format!("{what}: {why}"));
        }
    }

    /// Says the figures; nothing may have failed.
    pub fn end(self, test: &str) {
        let line = format!(
            "{test}: seed {}: {} of {} failed",
            seed(),
            self.failed.len(),
            self.tried
        );
        let _ = writeln!(std::io::stderr(), "{line}");
        let shown = number("FSAGE_SHOWN", 3) as usize;
        let first: Vec<String> = self.failed.into_iter().take(shown).collect();
        assert!(
            first.is_empty(),
            "{line}\n{}\nthe same again: FSAGE_SEED={}",
            first.join("\n"),
            seed()
        );
    }
}

/// A sound workload of many days: files of all kinds come, change, move and go, and so do directories.
pub fn workload(number: u64, days: u64, operations: u64) -> String {
    let mut script = Script {
        text: String::new(),
        rng: Rng::new(seed()).stream("workload", number),
        files: Vec::new(),
        dirs: vec![0],
        next: 0,
    };
    for day in 0..days {
        for _ in 0..operations {
            script.operation();
        }
        let _ = writeln!(script.text, "day {day}");
    }
    script.text
}

struct Script {
    text: String,
    rng: Rng,
    /// Regular files that are alive.
    files: Vec<u64>,
    dirs: Vec<u64>,
    next: u64,
}

impl Script {
    fn pick(&mut self, from_files: bool) -> u64 {
        let from = if from_files { &self.files } else { &self.dirs };
        from[self.rng.below(from.len() as u64) as usize]
    }

    fn operation(&mut self) {
        self.next += 1;
        let next = self.next;
        let bytes = self.rng.below(9000);
        let kind = self.rng.below(20);
        if self.files.is_empty() || kind < 6 {
            let dir = self.pick(false);
            self.files.push(next);
            let _ = writeln!(self.text, "create {next} {dir} {bytes}");
            return;
        }
        let file = self.pick(true);
        let dir = self.pick(false);
        let _ = match kind {
            6 | 7 => {
                self.dirs.push(next);
                writeln!(self.text, "mkdir {next} {dir}")
            }
            8 => writeln!(self.text, "append {file} {bytes}"),
            9 => writeln!(self.text, "rewrite {file} {bytes}"),
            10 => writeln!(self.text, "truncate {file} {}", bytes / 2),
            11 | 12 => writeln!(self.text, "rename {file} {dir}"),
            13 => {
                self.files.push(next);
                writeln!(self.text, "link {next} {file} {dir}")
            }
            14 => writeln!(self.text, "symlink {next} {dir} {}", 1 + bytes % 100),
            15 | 16 => {
                // A new directory, and an old one into it: no directory comes to lie below itself.
                let Some(&moved) = self.dirs.get(1 + self.rng.below(3) as usize) else {
                    return;
                };
                self.dirs.push(next);
                writeln!(self.text, "mkdir {next} 0\nrenamedir {moved} {next}")
            }
            17 => {
                let made = next;
                writeln!(self.text, "mkdir {made} {dir}\nrmdir {made}")
            }
            _ => {
                self.files.retain(|&other| other != file);
                writeln!(self.text, "delete {file}")
            }
        };
    }
}
