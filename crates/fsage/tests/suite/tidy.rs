//! The tree itself is tidy: file sizes, line lengths, words that must not stay, dead files, unused dependencies.
//!
//! Looks at the files that git tracks or would add. Where the tree is no git checkout these tests look at
//! nothing, and say so.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Largest file in bytes. Test vectors may be larger.
const MAX_FILE_BYTES: usize = 100_000;
/// Longest line of Rust, in characters. rustfmt keeps code to 100; comments and long strings may go on a little.
const MAX_LINE_CHARS: usize = 120;
/// Longest source file, in lines, tests included. Most should stay far below.
const MAX_SOURCE_LINES: usize = 900;

struct TextFile {
    /// From the root of the repository, with `/`.
    path: String,
    text: String,
}

impl TextFile {
    fn is_rust(&self) -> bool {
        has_extension(&self.path, &["rs"])
    }

    /// Part of a crate itself, not of its tests or benchmarks.
    fn is_source(&self) -> bool {
        self.is_rust()
            && self
                .crate_folder()
                .is_some_and(|c| self.path.starts_with(&format!("{c}/src/")))
    }

    /// The specification of traces shows lines of them as they are, with words and paths that are not ours.
    fn quotes_traces(&self) -> bool {
        self.path == "docs/spec/traces.md"
    }

    /// `crates/<name>`.
    fn crate_folder(&self) -> Option<&str> {
        let name = self.path.strip_prefix("crates/")?.split('/').next()?;
        Some(&self.path[.."crates/".len() + name.len()])
    }

    /// `path:line: what` for every line of which `fault` says what is wrong.
    fn faulty_lines(&self, fault: impl Fn(&str) -> Option<String>) -> Vec<String> {
        let lines = self.text.lines().enumerate();
        lines
            .filter_map(|(i, line)| Some(format!("{}:{}: {}", self.path, i + 1, fault(line)?)))
            .collect()
    }
}

struct Tree {
    /// Path and size of every file.
    sizes: Vec<(String, usize)>,
    /// Every file that is text, but for test vectors.
    texts: Vec<TextFile>,
}

fn has_extension(path: &str, extensions: &[&str]) -> bool {
    Path::new(path)
        .extension()
        .is_some_and(|e| extensions.iter().any(|x| e == *x))
}

/// Test vectors are data from elsewhere: our rules are not theirs.
fn is_vector(path: &str) -> bool {
    path.split('/')
        .any(|part| part == "vectors" || part == "fixtures")
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn git_files() -> Option<Vec<String>> {
    let output = Command::new("git")
        .args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ])
        .current_dir(root())
        .output()
        .ok()?;
    let listing = String::from_utf8(output.stdout).ok()?;
    let mut files: Vec<String> = listing.split_terminator('\0').map(String::from).collect();
    files.sort();
    files.dedup();
    // An unpacked archive inside another repository is no checkout of ours.
    files.iter().any(|f| f == "Cargo.lock").then_some(files)
}

fn read_tree() -> Tree {
    let mut tree = Tree {
        sizes: Vec::new(),
        texts: Vec::new(),
    };
    let Some(files) = git_files() else {
        // Not `eprintln!`, which the test harness would swallow.
        let _ = writeln!(
            std::io::stderr(),
            "tidy: skipped, since this is no git checkout"
        );
        return tree;
    };
    for path in files {
        // A tracked file that was just deleted is still listed; a symbolic link is no file of its own.
        let full = root().join(&path);
        if !full.symlink_metadata().is_ok_and(|m| m.is_file()) {
            continue;
        }
        let bytes = fs::read(&full).expect("a file that git lists is readable");
        tree.sizes.push((path.clone(), bytes.len()));
        if is_vector(&path) {
            continue;
        }
        if let Ok(text) = String::from_utf8(bytes) {
            tree.texts.push(TextFile { path, text });
        }
    }
    tree
}

fn tree() -> &'static Tree {
    static TREE: OnceLock<Tree> = OnceLock::new();
    TREE.get_or_init(read_tree)
}

fn assert_none(findings: &[String], rule: &str) {
    assert!(findings.is_empty(), "{rule}:\n  {}", findings.join("\n  "));
}

fn faulty_lines(
    applies: impl Fn(&TextFile) -> bool,
    fault: impl Fn(&str) -> Option<String>,
) -> Vec<String> {
    let files = tree().texts.iter().filter(|f| applies(f));
    files.flat_map(|f| f.faulty_lines(&fault)).collect()
}

/// The words themselves are put together from halves, so that this file may contain them.
fn first_of(line: &str, halves: &[[&str; 2]]) -> Option<String> {
    halves
        .iter()
        .map(|h| h.concat())
        .find(|word| line.contains(word))
}

#[test]
fn no_file_is_large() {
    let findings: Vec<String> = tree()
        .sizes
        .iter()
        .filter(|(path, bytes)| *bytes > MAX_FILE_BYTES && !is_vector(path))
        .map(|(path, bytes)| format!("{path}: {bytes} bytes"))
        .collect();
    assert_none(&findings, &format!("over {MAX_FILE_BYTES} bytes"));
}

#[test]
fn no_line_of_rust_is_long() {
    let findings = faulty_lines(TextFile::is_rust, |line| {
        let chars = line.chars().count();
        (chars > MAX_LINE_CHARS).then(|| format!("{chars} characters"))
    });
    assert_none(&findings, &format!("over {MAX_LINE_CHARS} characters"));
}

#[test]
fn no_line_ends_in_a_blank() {
    let findings = faulty_lines(
        |file| has_extension(&file.path, &["rs", "md", "toml", "sh"]),
        |line| {
            line.ends_with([' ', '\t', '\r'])
                .then(|| "ends in a blank".into())
        },
    );
    assert_none(&findings, "blanks at the end of a line");
}

#[test]
fn no_source_file_is_long() {
    let findings: Vec<String> = tree()
        .texts
        .iter()
        .filter(|f| f.is_source())
        .map(|f| (&f.path, f.text.lines().count()))
        .filter(|(_, lines)| *lines > MAX_SOURCE_LINES)
        .map(|(path, lines)| format!("{path}: {lines} lines"))
        .collect();
    assert_none(
        &findings,
        &format!("over {MAX_SOURCE_LINES} lines: split it"),
    );
}

#[test]
fn every_source_file_says_first_what_it_is() {
    let findings: Vec<String> = tree()
        .texts
        .iter()
        .filter(|f| f.is_source() && !f.text.starts_with("//! "))
        .map(|f| f.path.clone())
        .collect();
    assert_none(
        &findings,
        "does not begin with a module comment (`//! ...`)",
    );
}

/// The macros panic where they cannot write. What is said goes through `ui.rs` of fsage.
#[test]
fn every_crate_denies_the_macros_that_print() {
    let lint = "#![deny(clippy::print_stdout, clippy::print_stderr)]";
    let roots = tree().texts.iter().filter(|file| {
        let path = file.path.strip_prefix("crates/").unwrap_or_default();
        path.ends_with("/src/lib.rs") || path.ends_with("/src/main.rs")
    });
    let findings: Vec<String> = roots
        .filter(|file| !file.text.contains(lint))
        .map(|file| file.path.clone())
        .collect();
    assert_none(&findings, "does not deny the macros that print");
}

#[test]
fn nothing_unfinished_stays() {
    let words = [
        ["to", "do!("],
        ["unimple", "mented!("],
        ["dbg", "!("],
        ["FIX", "ME"],
        ["TO", "DO"],
        ["XX", "X"],
    ];
    let findings = faulty_lines(
        |file| has_extension(&file.path, &["rs", "md", "toml", "sh"]) && !file.quotes_traces(),
        |line| first_of(line, &words),
    );
    assert_none(&findings, "finish it or take it out");
}

/// Where something is written that is no output: the kernel's own files, and folders that are made for a moment.
const WRITTEN_IN_PLACE: [&str; 5] = [
    "crates/fsage-bench/src/real.rs",
    "crates/fsage-bench/src/real/free_map.rs",
    "crates/fsage/src/commands/doctor/real.rs",
    "crates/fsage-crash/src/tree.rs",
    "crates/fsage-import/src/git/private.rs",
];

#[test]
fn every_output_is_written_whole_and_synced() {
    let calls = [
        [" fs::wri", "te("],
        [" File::cre", "ate("],
        ["fs::File::cre", "ate("],
    ];
    let mut findings = Vec::new();
    for file in tree().texts.iter().filter(|file| file.is_source()) {
        if WRITTEN_IN_PLACE.contains(&file.path.as_str()) || file.path.ends_with("tests.rs") {
            continue;
        }
        let text = file.text.split("#[cfg(test)]").next().unwrap_or_default();
        for (i, line) in text.lines().enumerate() {
            if let Some(call) = first_of(line, &calls) {
                findings.push(format!("{}:{}: {call}", file.path, i + 1));
            }
        }
    }
    assert_none(
        &findings,
        "loses what was there before, or is lost in a power cut: use fsage-durable",
    );
}

#[test]
fn no_path_of_one_machine_is_named() {
    let places = [
        ["/wo", "rk/"],
        ["/ro", "ot/"],
        ["/ho", "me/"],
        ["/Us", "ers/"],
    ];
    let starts_a_path = |line: &str, place: &str| {
        line.match_indices(place).any(|(at, _)| {
            let before = line[..at].chars().next_back();
            !before.is_some_and(|c| c.is_alphanumeric() || "./-_~}$)".contains(c))
        })
    };
    let findings = faulty_lines(
        |file| !file.quotes_traces(),
        |line| {
            let mut places = places.iter().map(|h| h.concat());
            places.find(|place| starts_a_path(line, place))
        },
    );
    assert_none(&findings, "a path that exists on one machine only");
}

#[test]
fn no_package_registry_is_named() {
    let hosts = [
        ["crates", ".io"],
        ["pypi", ".org"],
        ["python", "hosted"],
        ["npm", "js.org"],
        ["npm", "js.com"],
        ["proxy.go", "lang"],
        ["repo.mav", "en"],
        ["deb.deb", "ian"],
    ];
    // Cargo itself writes the name of its default index into the lock file.
    let findings = faulty_lines(
        |file| !file.path.ends_with("Cargo.lock"),
        |line| first_of(line, &hosts),
    );
    assert_none(&findings, "packages are named by their names alone");
}

/// Names in the lists `models! { ... }` and `metrics! { ... }`, each of which is declared by its line.
fn listed(text: &str) -> impl Iterator<Item = &str> {
    let lists = ["\nmodels! {\n", "\nmetrics! {\n"];
    let lists = lists.into_iter().flat_map(|list| text.split(list).skip(1));
    lists
        .flat_map(|list| list.split("\n}\n").next().unwrap_or_default().lines())
        .map(|line| line.split(':').next().unwrap_or_default().trim())
}

/// What another file must say for this one to be compiled: `mod <name>;`, or its name in a list of models or metrics.
fn module_name(path: &str) -> Option<&str> {
    let mut parts = path.rsplit('/');
    let stem = parts.next()?.strip_suffix(".rs")?;
    match stem {
        "lib" | "main" => None,
        "mod" => parts.next(),
        _ => Some(stem),
    }
}

#[test]
fn no_source_file_is_dead() {
    let sources: Vec<&TextFile> = tree().texts.iter().filter(|f| f.is_source()).collect();
    let is_declared = |file: &TextFile, name: &str| {
        let declaration = format!("mod {name};");
        sources.iter().any(|other| {
            other.crate_folder() == file.crate_folder()
                && (other.text.contains(&declaration)
                    || listed(&other.text).any(|listed| listed == name))
        })
    };
    let findings: Vec<String> = sources
        .iter()
        .filter(|f| !f.path.contains("/src/bin/"))
        .filter(|f| module_name(&f.path).is_some_and(|name| !is_declared(f, name)))
        .map(|f| f.path.clone())
        .collect();
    assert_none(&findings, "no `mod` declares it, so it is never compiled");
}

/// Names in the tables `[dependencies]`, `[dev-dependencies]` and `[build-dependencies]` of a manifest.
fn dependencies(manifest: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut in_table = false;
    for line in manifest.lines() {
        if line.starts_with('[') {
            in_table = line.trim_end().ends_with("dependencies]");
        } else if in_table && !line.starts_with('#') {
            names.extend(line.split(['.', '=', ' ']).next().filter(|n| !n.is_empty()));
        }
    }
    names
}

#[test]
fn every_dependency_is_used() {
    let mut rust_of_crate: BTreeMap<&str, String> = BTreeMap::new();
    for file in tree().texts.iter().filter(|f| f.is_rust()) {
        if let Some(folder) = file.crate_folder() {
            rust_of_crate
                .entry(folder)
                .or_default()
                .push_str(&file.text);
        }
    }
    let mut findings = Vec::new();
    for manifest in &tree().texts {
        let Some(folder) = manifest.path.strip_suffix("/Cargo.toml") else {
            continue;
        };
        let Some(rust) = rust_of_crate.get(folder) else {
            continue;
        };
        for name in dependencies(&manifest.text) {
            let path = name.replace('-', "_");
            let is_named = [format!("{path}::"), format!("use {path}")]
                .iter()
                .any(|p| rust.contains(p));
            if !is_named {
                findings.push(format!("{}: {name}", manifest.path));
            }
        }
    }
    assert_none(&findings, "depends on it and never names it");
}

#[test]
fn the_rules_find_what_they_look_for() {
    assert_eq!(module_name("crates/a/src/ffs/mod.rs"), Some("ffs"));
    assert_eq!(module_name("crates/a/src/ffs/alloc.rs"), Some("alloc"));
    assert_eq!(module_name("crates/a/src/lib.rs"), None);
    let manifest = "[package]\nname = \"a\"\n[dependencies]\nserde.workspace = true\nx-y = \"1\"\n[lints]\nz = 1\n";
    assert_eq!(dependencies(manifest), ["serde", "x-y"]);
    assert!(is_vector("tests/vectors/a.ops") && !is_vector("crates/vectorize.rs"));
}
