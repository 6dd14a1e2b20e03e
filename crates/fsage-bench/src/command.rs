//! A command of the user's as a benchmark: how long it takes, or numbers in the JSON that it prints.

use crate::benchmark::{Benchmark, Case, Site, Unsuited};
use crate::measurement::{Better, Measurement, Reading};
use crate::subject::{BenchError, Subject};
use serde_json::Value;
use std::fmt;
use std::str::FromStr;

/// The phase of a command that is timed.
const RUN: &str = "run";
/// How much of what is no JSON is shown.
const SHOWN_CHARS: usize = 60;

/// A command line of the shell, with what is read of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    name: String,
    line: String,
    summary: String,
    wanted: Vec<Wanted>,
}

/// A number in what a command prints: `PATH[,UNIT][,lower|higher]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Keys of objects and numbers of elements, with points between: `jobs.0.read.bw`.
    pub path: String,
    /// What it is counted in; `-` where nobody said.
    pub unit: String,
    /// Which is the better one of two.
    pub better: Better,
}

/// An empty directory for the files of a command, in braces.
const DIR: &str = "dir";
/// The root of the file system, in braces.
const MNT: &str = "mnt";

/// Words that somebody may write who means {mnt} or {dir}.
const MEANT: [&str; 8] = [
    "mount",
    "mountpoint",
    "mnt_dir",
    "directory",
    "folder",
    "path",
    "root",
    "target",
];

/// Whether a word stands in braces, and is no variable of the shell.
fn is_in_braces(line: &str, word: &str) -> bool {
    let braced = format!("{{{word}}}");
    line.match_indices(&braced)
        .any(|(at, _)| !line[..at].ends_with('$'))
}

impl Command {
    /// A command line, of which these numbers are read; without any, it is timed.
    ///
    /// # Errors
    /// The name cannot be that of a file of results, or another benchmark has it; the line is empty.
    pub fn new(name: &str, line: &str, wanted: Vec<Wanted>) -> Result<Command, String> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.+".contains(c);
        if name.is_empty() || name.starts_with('.') || !name.chars().all(is_plain) {
            return Err(format!(
                "`{name}` cannot name a benchmark; expected letters, digits, and - _ . + between them; choose one \
                 with --exec-name"
            ));
        }
        if crate::benchmarks::by_name(name).is_some() {
            return Err(format!(
                "a suite is called `{name}`; choose another name with --exec-name"
            ));
        }
        if line.trim().is_empty() {
            return Err("the command is empty".to_owned());
        }
        if let Some(wrong) = MEANT.iter().find(|word| is_in_braces(line, word)) {
            return Err(format!(
                "`{{{wrong}}}` stands for nothing; expected {{dir}}, an empty directory for files, or {{mnt}}, the \
                 root of the file system"
            ));
        }
        Ok(Command {
            name: name.to_owned(),
            line: line.to_owned(),
            summary: format!("runs `{line}`"),
            wanted,
        })
    }

    /// Whether a command line names the file system that is measured.
    pub fn names_place(line: &str) -> bool {
        [DIR, MNT].iter().any(|word| is_in_braces(line, word))
    }

    /// The name of the program that a command line begins with.
    pub fn program(line: &str) -> &str {
        let first = line.split_whitespace().next().unwrap_or_default();
        first.rsplit('/').next().unwrap_or(first)
    }

    /// That a shell finds the program that a command line begins with; words that a shell may read otherwise, as
    /// `A=1` or `(`, are not looked at.
    ///
    /// # Errors
    /// Which program is missing.
    pub fn is_found(line: &str) -> Result<(), String> {
        let first = line.split_whitespace().next().unwrap_or_default();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.+/".contains(c);
        if first.is_empty() || !first.chars().all(is_plain) {
            return Ok(());
        }
        let asked = std::process::Command::new("sh")
            .args(["-c", "command -v \"$1\" > /dev/null 2>&1", "sh", first])
            .status();
        match asked {
            Ok(status) if !status.success() => Err(format!(
                "`{line}`: there is no program `{first}`; install it, or name its path"
            )),
            _ => Ok(()),
        }
    }

    /// The command line.
    pub fn line(&self) -> &str {
        &self.line
    }

    /// The numbers that are read.
    pub fn wanted(&self) -> &[Wanted] {
        &self.wanted
    }

    fn readings(
        &self,
        stdout: &[u8],
        elapsed_ns: u64,
    ) -> Result<Vec<(String, Reading)>, BenchError> {
        if self.wanted.is_empty() {
            let seconds = Reading {
                value: elapsed_ns as f64 / 1e9,
                unit: "s".to_owned(),
                better: Better::Lower,
            };
            return Ok(vec![(RUN.to_owned(), seconds)]);
        }
        let unread = |why: String| BenchError::Unread {
            line: self.line.clone(),
            why,
        };
        let json = json(stdout).map_err(unread)?;
        let readings = self.wanted.iter().map(|wanted| {
            let value = wanted.of(&json).map_err(unread)?;
            let reading = Reading {
                value,
                unit: wanted.unit.clone(),
                better: wanted.better,
            };
            Ok((wanted.path.clone(), reading))
        });
        readings.collect()
    }
}

impl Benchmark for Command {
    fn name(&self) -> &str {
        &self.name
    }

    fn summary(&self) -> &str {
        &self.summary
    }

    fn default_cases(&self) -> Vec<Case> {
        vec![Case::default()]
    }

    fn suits(&self, _: Case, _: &Site) -> Result<(), Unsuited> {
        Ok(())
    }

    fn asked_by(&self) -> Vec<(&'static str, String)> {
        let wanted = self.wanted.iter();
        let wanted = wanted.map(|wanted| ("exec-value", wanted.to_string()));
        [
            ("exec", self.line.clone()),
            ("exec-name", self.name.clone()),
        ]
        .into_iter()
        .chain(wanted)
        .collect()
    }

    fn finds_files(&self) -> bool {
        is_in_braces(&self.line, MNT)
    }

    fn makes_files(&self) -> bool {
        is_in_braces(&self.line, DIR) || !self.finds_files()
    }

    fn runs_programs(&self) -> bool {
        true
    }

    /// The time of a command is until all that it wrote is on disk.
    fn run(
        &self,
        case: Case,
        repetition: u32,
        _: &Site,
        subject: &mut dyn Subject,
    ) -> Result<Vec<Measurement>, BenchError> {
        let ran = subject.execute(&self.line)?;
        let before_ns = subject.clock_ns();
        subject.sync()?;
        let elapsed_ns = ran.elapsed_ns + (subject.clock_ns() - before_ns);
        let readings = self.readings(&ran.stdout, elapsed_ns)?.into_iter();
        let measurements = readings.map(|(phase, reading)| Measurement {
            benchmark: self.name.clone(),
            phase,
            file_bytes: case.file_bytes,
            repetition,
            elapsed_ns,
            reading: Some(reading),
            ..Measurement::default()
        });
        Ok(measurements.collect())
    }
}

impl FromStr for Wanted {
    type Err = String;

    fn from_str(text: &str) -> Result<Wanted, String> {
        let mut words = text.split(',').map(str::trim);
        let path = words.next().unwrap_or_default().to_owned();
        let mut wanted = Wanted {
            path,
            unit: "-".to_owned(),
            better: Better::Higher,
        };
        let rest: Vec<&str> = words.collect();
        let (unit, better) = match rest[..] {
            [] => (None, None),
            [better @ ("lower" | "higher")] => (None, Some(better)),
            [unit] => (Some(unit), None),
            [unit, better @ ("lower" | "higher")] => (Some(unit), Some(better)),
            _ => (Some(""), None),
        };
        if wanted.path.is_empty() || unit == Some("") {
            return Err(format!(
                "`{text}`: expected PATH[,UNIT][,lower|higher], as in jobs.0.read.bw,KiB/s or \
                 jobs.0.read.lat_ns.mean,ns,lower"
            ));
        }
        if let Some(unit) = unit {
            unit.clone_into(&mut wanted.unit);
        }
        if better == Some("lower") {
            wanted.better = Better::Lower;
        }
        Ok(wanted)
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{},{}", self.path, self.unit, self.better.as_str())
    }
}

impl Wanted {
    /// The number in a document.
    fn of(&self, json: &Value) -> Result<f64, String> {
        let path = &self.path;
        let Some(found) = find(json, path) else {
            return Err(format!("it has no {path}; {}", last_known(json, path)));
        };
        match found.as_f64() {
            Some(number) if number > 0.0 => Ok(number),
            Some(number) => Err(format!(
                "{path} is {number}; a ratio needs a number above 0, so leave it out"
            )),
            None => Err(format!("{path} is {}; expected a number", kind(found))),
        }
    }
}

/// The value at a path. Keys may have points of their own, as `99.000000` in percentiles of fio.
fn find<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    let ends = path.match_indices('.').map(|(at, _)| at);
    ends.chain([path.len()]).find_map(|end| {
        let inner = member(value, &path[..end])?;
        match path.get(end + 1..) {
            Some(rest) => find(inner, rest),
            None => Some(inner),
        }
    })
}

fn member<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    match value {
        Value::Object(object) => object.get(key),
        Value::Array(array) => array.get(key.parse::<usize>().ok()?),
        _ => None,
    }
}

/// How far a path that is not there can be followed, and what there is.
fn last_known(json: &Value, path: &str) -> String {
    let mut at = json;
    let mut known = Vec::new();
    for key in path.split('.') {
        let Some(inner) = member(at, key) else { break };
        known.push(key);
        at = inner;
    }
    let place = match known[..] {
        [] => "it".to_owned(),
        _ => known.join("."),
    };
    match at {
        Value::Object(object) if object.is_empty() => format!("{place} is empty"),
        Value::Object(object) => {
            let keys: Vec<&str> = object.keys().map(String::as_str).collect();
            format!("{place} has {}", keys.join(", "))
        }
        Value::Array(array) => format!("{place} has {} elements, from 0", array.len()),
        other => format!("{place} is {}", kind(other)),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// The first object or array that is printed; programs say other things before and behind it.
fn json(stdout: &[u8]) -> Result<Value, String> {
    let begin = stdout.iter().position(|byte| b"{[".contains(byte));
    let Some(begin) = begin else {
        let text = String::from_utf8_lossy(stdout);
        let text: String = text.trim().chars().take(SHOWN_CHARS).collect();
        return Err(if text.is_empty() {
            "it printed nothing; expected JSON".to_owned()
        } else {
            format!("it printed `{text}`; expected JSON")
        });
    };
    let mut documents = serde_json::Deserializer::from_slice(&stdout[begin..]).into_iter();
    match documents.next() {
        Some(Ok(document)) => Ok(document),
        Some(Err(error)) => Err(format!("what it printed is no JSON: {error}")),
        None => Err("it printed nothing; expected JSON".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(text: &str) -> Wanted {
        text.parse().expect("a value that is wanted")
    }

    /// As fio prints it.
    const FIO: &str = "note: both are set\n{\"jobs\": [{\"read\": {\"bw\": 512.5, \"iops\": 0, \"clat_ns\": \
                       {\"percentile\": {\"99.000000\": 81}}}, \"name\": \"r\", \"opts\": {}}]}\nbye {";

    #[test]
    fn a_wrong_word_in_braces_is_refused() {
        let made = |line: &str| Command::new("mine", line, Vec::new());
        let why = made("ls {mount} | wc -l").expect_err("no such word");
        assert!(
            why.starts_with("`{mount}` stands for nothing; expected {dir}"),
            "{why}"
        );
        for line in ["ls {mnt}", "ls ${path}", "awk '{print}' {dir}/a", "true"] {
            assert!(made(line).is_ok(), "{line}");
        }
        let names = ["tar -C {mnt} .", "cp a {dir}", "ls", "echo ${mnt}"].map(Command::names_place);
        assert_eq!(names, [true, true, false, false]);
    }

    #[test]
    fn a_command_finds_files_in_the_root_and_makes_them_in_its_directory() {
        let works = |line: &str| {
            let command = Command::new("mine", line, Vec::new()).expect("a command");
            (command.finds_files(), command.makes_files())
        };
        assert_eq!(works("tar -C {mnt} -c ."), (true, false));
        assert_eq!(works("tar -x -C {dir}"), (false, true));
        assert_eq!(works("cp -r {mnt}/a {dir}"), (true, true));
    }

    #[test]
    fn numbers_are_read_by_their_paths() {
        let json = json(FIO.as_bytes()).expect("a document");
        let read = |path: &str| wanted(path).of(&json);
        assert_eq!(read("jobs.0.read.bw"), Ok(512.5));
        assert_eq!(
            read("jobs.0.read.clat_ns.percentile.99.000000,ns,lower"),
            Ok(81.0)
        );
        for (path, why) in [
            (
                "jobs.0.reed.bw",
                "it has no jobs.0.reed.bw; jobs.0 has read, name, opts",
            ),
            ("jobs.1", "it has no jobs.1; jobs has 1 elements, from 0"),
            ("bw", "it has no bw; it has jobs"),
            (
                "jobs.0.opts.x",
                "it has no jobs.0.opts.x; jobs.0.opts is empty",
            ),
            (
                "jobs.0.read.bw.x",
                "it has no jobs.0.read.bw.x; jobs.0.read.bw is a number",
            ),
            ("jobs.0.name", "jobs.0.name is text; expected a number"),
            (
                "jobs.0.read.iops",
                "jobs.0.read.iops is 0; a ratio needs a number above 0, so leave it out",
            ),
        ] {
            assert_eq!(read(path), Err(why.to_owned()));
        }
    }

    #[test]
    fn what_is_no_json_is_shown() {
        let why = |text: &str| json(text.as_bytes()).expect_err("no JSON");
        assert_eq!(why(" \n"), "it printed nothing; expected JSON");
        assert_eq!(why("12.5 MB/s\n"), "it printed `12.5 MB/s`; expected JSON");
        assert!(why("{\"a\": ").starts_with("what it printed is no JSON: "));
    }

    #[test]
    fn a_value_has_a_unit_and_a_better_side() {
        for (text, unit, better) in [
            ("a.b", "-", Better::Higher),
            ("a.b,KiB/s", "KiB/s", Better::Higher),
            ("a.b,lower", "-", Better::Lower),
            ("a.b, ns ,lower", "ns", Better::Lower),
        ] {
            let wanted = wanted(text);
            assert_eq!((wanted.path.as_str(), wanted.unit.as_str()), ("a.b", unit));
            assert_eq!(wanted.better, better);
            assert_eq!(wanted.to_string().parse(), Ok(wanted));
        }
        for text in ["", ",ns", "a,,lower", "a,ns,least", "a,ns,lower,x"] {
            let why = text.parse::<Wanted>().expect_err(text);
            assert!(why.contains("expected PATH[,UNIT]"), "{why}");
        }
    }

    #[test]
    fn a_command_has_a_name_that_can_be_a_file() {
        assert_eq!(Command::program("/usr/bin/fio job.fio"), "fio");
        assert!(Command::new("fio-3.36", "fio job.fio", Vec::new()).is_ok());
        for (name, line, why) in [
            ("../x", "x", "cannot name a benchmark"),
            ("", "x", "cannot name a benchmark"),
            ("hot-files", "x", "a suite is called `hot-files`"),
            ("x", " ", "the command is empty"),
        ] {
            let error = Command::new(name, line, Vec::new()).expect_err("refused");
            assert!(error.contains(why), "{error}");
        }
    }
}
