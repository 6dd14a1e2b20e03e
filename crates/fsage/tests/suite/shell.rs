//! Completions and manual pages: for every verb, understood by the shells and by groff where they are there, installed
//! and removed.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const FSAGE: &str = env!("CARGO_BIN_EXE_fsage");

fn fsage(args: &[&str]) -> Output {
    Command::new(FSAGE).args(args).output().expect("fsage runs")
}

fn text(args: &[&str]) -> String {
    let run = fsage(args);
    let message = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{args:?}: {message}");
    String::from_utf8(run.stdout).expect("text")
}

fn skipped(why: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {why}");
}

fn is_there(program: &str) -> bool {
    let run = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .output();
    run.is_ok_and(|run| run.status.success())
}

/// The verbs below these words, as `--help` lists them: those of fsage in several groups, before its options.
fn verbs(words: &[&str]) -> Vec<String> {
    let help = text(&[words, &["--help"]].concat());
    let list = if words.is_empty() {
        help.split_once("\nOptions:\n").map(|(list, _)| list)
    } else {
        help.split_once("\nCommands:\n").map(|(_, list)| list)
    };
    let Some(list) = list else {
        return Vec::new();
    };
    let is_verb = |line: &&str| words.is_empty() || line.starts_with("  ");
    let names = list.lines().take_while(is_verb);
    let names = names.filter(|line| line.starts_with("  "));
    // Further lines of a description are indented more.
    let names = names.filter(|line| !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next());
    names
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

/// `fsage`, `fsage-age`, `fsage-generate-git` and so on.
fn commands() -> BTreeSet<String> {
    let mut all = BTreeSet::from(["fsage".to_owned()]);
    for verb in verbs(&[]) {
        for below in verbs(&[&verb]) {
            all.insert(format!("fsage-{verb}-{below}"));
        }
        all.insert(format!("fsage-{verb}"));
    }
    all
}

#[test]
fn every_verb_has_a_page_that_groff_understands() {
    let folder = tempfile::tempdir().expect("a folder");
    let pages = folder.path().join("man1");
    let output = pages.to_str().expect("text");
    text(&["man", "--output", output]);
    let commands = commands();
    for verb in [
        "fsage-age",
        "fsage-check",
        "fsage-generate-git",
        "fsage-device-replay",
        "fsage-completions",
    ] {
        assert!(commands.contains(verb), "{verb}: {commands:?}");
    }
    let names = fs::read_dir(&pages).expect("pages").map(|entry| {
        let name = entry
            .expect("an entry")
            .file_name()
            .into_string()
            .expect("text");
        name.strip_suffix(".1")
            .expect("a page of section 1")
            .to_owned()
    });
    assert_eq!(names.collect::<BTreeSet<_>>(), commands);
    // What is there is replaced only where that is wanted.
    assert_eq!(fsage(&["man", "--output", output]).status.code(), Some(2));
    text(&["man", "--output", output, "--force"]);
    let main = fs::read_to_string(pages.join("fsage.1")).expect("a page");
    assert_eq!(text(&["man"]), main);
    let age = fs::read_to_string(pages.join("fsage-age.1")).expect("a page");
    assert!(
        age.contains("\n.SH EXAMPLES\n.EX\n") && age.contains("policy=realloc"),
        "{age}"
    );

    if !is_there("groff") {
        return skipped("no groff to read the pages");
    }
    for name in commands {
        let page = pages.join(format!("{name}.1"));
        let run = Command::new("groff")
            .args(["-man", "-Tutf8", "-ww", "-z"])
            .arg(&page)
            .output()
            .expect("groff runs");
        let said = String::from_utf8_lossy(&run.stderr);
        assert!(run.status.success() && said.is_empty(), "{name}: {said}");
    }
}

#[test]
fn completions_are_understood_by_their_shells() {
    let folder = tempfile::tempdir().expect("a folder");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = text(&["completions", shell]);
        for word in ["verify-method", "baseline", "check"] {
            assert!(script.contains(word), "{shell}: no {word}");
        }
        if !["bash", "zsh", "fish"].contains(&shell) {
            continue;
        }
        if !is_there(shell) {
            skipped(&format!("no {shell} to read the completions"));
            continue;
        }
        let path = folder.path().join(shell);
        fs::write(&path, script).expect("a file");
        let run = Command::new(shell)
            .arg("-n")
            .arg(&path)
            .output()
            .expect("it runs");
        let said = String::from_utf8_lossy(&run.stderr);
        assert!(run.status.success() && said.is_empty(), "{shell}: {said}");
    }
    let refused = fsage(&["completions", "tcsh"]);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        said.contains("possible values") && said.contains("fish"),
        "{said}"
    );
}

/// Bash itself asks the script what may follow.
#[test]
fn bash_completes_verbs_options_and_values() {
    if !is_there("bash") {
        return skipped("no bash");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("fsage.bash");
    fs::write(&script, text(&["completions", "bash"])).expect("a file");
    let complete = |line: &[&str]| {
        let words = line
            .iter()
            .map(|word| format!("'{word}'"))
            .collect::<Vec<_>>()
            .join(" ");
        let last = line.len() - 1;
        let previous = line[last - 1];
        let ask = format!(
            ". '{}'; COMP_WORDS=({words}); COMP_CWORD={last}; _fsage fsage '{}' '{previous}'; \
             echo \"${{COMPREPLY[*]}}\"",
            script.display(),
            line[last]
        );
        let run = Command::new("bash")
            .args(["--norc", "-c", &ask])
            .output()
            .expect("bash runs");
        let said = String::from_utf8_lossy(&run.stderr).into_owned();
        assert!(run.status.success(), "{line:?}: {said}");
        String::from_utf8(run.stdout)
            .expect("text")
            .trim_end()
            .replace('\n', " ")
    };
    assert_eq!(complete(&["fsage", "chec"]), "check"); // typos: ignore
    assert_eq!(complete(&["fsage", "check", "--base"]), "--baseline");
    assert_eq!(
        complete(&["fsage", "check", "--format", ""]),
        "text json junit markdown github"
    );
    assert_eq!(complete(&["fsage", "completions", "f"]), "fish");
    // What an argument may name, though it takes files too.
    assert_eq!(
        complete(&["fsage", "compare", "--preset", "home-199"]),
        "home-1996 home-1997"
    );
    assert_eq!(
        complete(&["fsage", "bench", "--device", "nvme_t"]),
        "nvme_tlc"
    );
    assert_eq!(
        complete(&["fsage", "bench", "--suite", "seq"]),
        "sequential sequential-1995"
    );
}

#[test]
fn what_is_installed_is_removed_again_and_nothing_else() {
    if !is_there("bash") {
        return skipped("no bash");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let prefix = folder.path().join("a prefix");
    fs::create_dir_all(prefix.join("share/man/man1")).expect("a folder");
    let others = prefix.join("share/man/man1/fsage-mine.1");
    fs::write(&others, "mine").expect("a file");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/install.sh");
    let install = |args: &[&str]| {
        let run = Command::new("bash")
            .arg(&script)
            .args(args)
            .output()
            .expect("bash runs");
        let said = String::from_utf8_lossy(&run.stderr).into_owned();
        assert!(run.status.success(), "{args:?}: {said}");
        said
    };
    let at = prefix.to_str().expect("text");
    // Twice: the second replaces the first.
    for _ in 0..2 {
        let said = install(&[at, FSAGE]);
        assert!(said.contains("export PATH="), "{said}");
    }
    for name in [
        "share/bash-completion/completions/fsage",
        "share/zsh/site-functions/_fsage",
        "share/fish/vendor_completions.d/fsage.fish",
        "share/man/man1/fsage-age.1",
    ] {
        assert!(prefix.join(name).is_file(), "{name}");
    }
    let version = Command::new(prefix.join("bin/fsage"))
        .arg("--version")
        .output()
        .expect("it runs");
    assert_eq!(version.stdout, fsage(&["--version"]).stdout);
    install(&["--remove", at]);
    let left = Command::new("find")
        .arg(&prefix)
        .args(["-type", "f"])
        .output()
        .expect("find runs");
    let left = String::from_utf8(left.stdout).expect("text");
    assert_eq!(left.trim_end(), others.to_str().expect("text"));
    assert!(!prefix.join("bin").exists());
}
