//! `fsage report`: of complete, interrupted, damaged and older runs, of experiments, and with hostile text in them.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

fn run(at: &Path, args: &[&OsStr]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fsage"))
        .args(args)
        .current_dir(at)
        .output()
        .expect("fsage runs")
}

fn message(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn fsage(at: &Path, args: &[&str]) -> Output {
    let words: Vec<&OsStr> = args.iter().map(|word| OsStr::new(*word)).collect();
    let output = run(at, &words);
    assert!(
        output.status.success(),
        "fsage {args:?}: {}",
        message(&output)
    );
    output
}

/// What a browser would show of the report of a folder, made now, and all of its HTML.
fn page(at: &Path, folder: &str) -> String {
    fsage(at, &["report", folder]);
    let page = fs::read(at.join(folder).join("report.html")).expect("a page");
    assert!(page.len() < 3_000_000, "{} bytes", page.len());
    String::from_utf8(page).expect("UTF-8")
}

const TARGETS: [&str; 2] = ["ffs:preset=tiny", "ffs:preset=tiny,policy=realloc"];

/// Days on which files come and go, so that later ones find holes.
fn workload(days: u64) -> String {
    let mut text = String::from("mkdir 1\n");
    for day in 0..days {
        for i in 0..40_u64 {
            let file = day * 40 + i + 1;
            let bytes = 3000 + file * 7919 % 60_000;
            let _ = writeln!(text, "create {file} 1 {bytes} origin=trace tq=exact");
            if i % 2 == 0 {
                let _ = writeln!(text, "delete {file} origin=short_lived tq=random");
            }
            if day > 0 && i % 2 == 1 {
                let _ = writeln!(text, "delete {} origin=trace tq=exact", file - 40);
            }
        }
        let _ = writeln!(text, "day day-{day}");
    }
    text
}

fn aged(at: &Path, run: &str) -> PathBuf {
    fs::write(at.join("w.ops"), workload(5)).expect("a workload");
    let [orig, realloc] = TARGETS;
    fsage(
        at,
        &["age", "w.ops", "--on", orig, "--on", realloc, "-o", run],
    );
    at.join(run)
}

fn contains(page: &str, texts: &[&str]) {
    // Where a line may be broken, and where not, is no part of the text.
    let shown = page.replace("<wbr>", "").replace('\u{a0}', " ");
    let shown = shown
        .replace("<span class=\"option\">", "")
        .replace("</span>", "");
    for text in texts {
        assert!(shown.contains(text), "not on the page: {text}");
    }
}

#[test]
fn a_complete_run_has_every_section() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    aged(at, "run");
    let bench = ["bench", "run", "--suite", "hot-files", "--repetitions", "2"];
    fsage(at, &bench);
    let page = page(at, "run");
    contains(
        &page,
        &[
            "After 5 days",
            "of blocks contiguous",
            "id=\"decay\"",
            "id=\"by-size\"",
            "id=\"free-space\"",
            "id=\"split-files\"",
            "id=\"pieces\"",
            "id=\"bench\"",
            "id=\"outcomes\"",
            "id=\"origin\"",
            "fsage age w.ops --on ffs:preset=tiny --on ffs:preset=tiny,policy=realloc -o run-again",
            "--suite hot-files --device st32430n --host pentium-120 --repetitions 2 --seed 1",
            // By hand: 200 creates, 80 deletions of the day before, and 100 of the same day, which are random.
            "73 % happened at a time that is known, 26 % have a guessed time and 0.3 % do not say",
        ],
    );
    for absent in ["What is missing", "id=\"paper\""] {
        assert!(!page.contains(absent), "{absent}");
    }
    let again = self::page(at, "run");
    assert_eq!(again, page, "the same run has the same page");
    // Every command that stands there can be typed.
    fsage(
        at,
        &[
            "age",
            "w.ops",
            "--on",
            TARGETS[0],
            "--on",
            TARGETS[1],
            "-o",
            "run-again",
        ],
    );
    let days =
        |run: &str| fs::read(at.join(run).join("ffs_preset-tiny/days.parquet")).expect("days");
    assert_eq!(days("run"), days("run-again"));
}

#[test]
fn only_a_report_is_replaced() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    aged(at, "run");
    fs::write(at.join("notes.html"), "<html>mine</html>").expect("a file");
    let words = ["report", "run", "-o", "notes.html"].map(OsStr::new);
    let output = run(at, &words);
    assert_eq!(output.status.code(), Some(2), "{}", message(&output));
    assert!(message(&output).contains("notes.html: exists and is no report of fsage"));
    assert_eq!(
        fs::read(at.join("notes.html")).expect("a file"),
        b"<html>mine</html>"
    );
    fsage(at, &["report", "run", "-o", "page.html"]);
    fsage(at, &["report", "run", "-o", "page.html"]);
    let output = run(at, &["report", "nowhere"].map(OsStr::new));
    assert_eq!(output.status.code(), Some(2));
    assert!(
        message(&output).contains("nowhere: not a run"),
        "{}",
        message(&output)
    );
}

#[test]
fn an_interrupted_run_shows_what_there_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let preset = ["generate", "profile", "home-1996", "-o", "w.parquet"];
    fsage(at, &preset);
    let mut child = Command::new(env!("CARGO_BIN_EXE_fsage"))
        .args(["age", "w.parquet", "--on", "ffs:preset=g502", "-o", "run"])
        .current_dir(at)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("fsage starts");
    let began = Instant::now();
    while !at.join("run/run.json").exists() && began.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(1));
    }
    let id = child.id().to_string();
    let sent = Command::new("kill").args(["-INT", &id]).status();
    assert!(sent.expect("kill runs").success(), "it was still running");
    assert!(
        !child.wait().expect("it ends").success(),
        "it was interrupted"
    );
    let page = page(at, "run");
    contains(
        &page,
        &[
            "What is missing",
            "the run goes on, or was interrupted",
            "fsage age w.parquet --on ffs:preset=g502 -o run --resume",
            "There is nothing to compare.",
        ],
    );
}

/// A real file system keeps its days while the run goes on.
#[test]
fn days_of_a_real_target_so_far_are_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    fs::create_dir(at.join("disk")).expect("a folder");
    // The last line does not fit the state: the run stops there, and stays.
    fs::write(at.join("w.ops"), workload(3) + "delete 999999\n").expect("a workload");
    let words = ["age", "w.ops", "--on", "dir:disk", "-o", "run"].map(OsStr::new);
    let output = run(at, &words);
    assert!(!output.status.success());
    if !at.join("run/run.json").exists() {
        use std::io::Write as _;
        let why = message(&output);
        writeln!(
            std::io::stderr(),
            "skipped: a directory cannot be aged here: {why}"
        )
        .expect("stderr");
        return;
    }
    let page = page(at, "run");
    contains(
        &page,
        &["the run goes on, or was interrupted", "id=\"outcomes\""],
    );
}

#[test]
fn a_file_that_is_damaged_or_gone_is_said_and_the_rest_is_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let run_folder = aged(at, "run");
    let bench = ["bench", "run", "--suite", "hot-files", "--repetitions", "1"];
    fsage(at, &bench);
    let target = run_folder.join("ffs_preset-tiny_policy-realloc");
    let shown = ["After 5 days", "of blocks contiguous", "id=\"decay\""];
    // The file, what a damaged one is said to be, whether one that is gone is said too.
    for (file, said, gone_too) in [
        ("days.parquet", "realloc: its days cannot be read", true),
        (
            "control.parquet",
            "realloc: the layout of its unaged control cannot be read",
            false,
        ),
        (
            "bench/hot-files.parquet",
            "realloc: the benchmark hot-files cannot be read",
            false,
        ),
    ] {
        let path = target.join(file);
        let whole = fs::read(&path).expect(file);
        for damaged in [
            &whole[..whole.len() / 2],
            &b""[..],
            &b"PAR1 nothing PAR1"[..],
        ] {
            fs::write(&path, damaged).expect(file);
            let page = page(at, "run");
            contains(&page, &["What is missing", said]);
            if file == "days.parquet" {
                // Its end is still known by its last layout.
                contains(&page, &["id=\"decay\"", "At the end", "realloc"]);
            } else {
                contains(&page, &shown);
            }
        }
        fs::remove_file(&path).expect(file);
        let page = page(at, "run");
        assert_eq!(page.contains(said), gone_too, "{file}");
        fs::write(&path, whole).expect(file);
    }
    let both = target.join("final.parquet");
    fs::remove_file(&both).expect("a file");
    fs::remove_file(target.join("days.parquet")).expect("a file");
    contains(
        &page(at, "run"),
        &["realloc: its days cannot be read", "After 5 days"],
    );
    // Without a manifest the folders tell what they can.
    fs::write(run_folder.join("run.json"), "{\"fsage\": \"0.1").expect("a file");
    contains(
        &page(at, "run"),
        &[
            "run.json: damaged",
            "What was run is not known",
            "After 5 days",
        ],
    );
    fs::remove_dir_all(run_folder.join("ffs_preset-tiny")).expect("a folder");
    fs::remove_dir_all(&target).expect("a folder");
    let output = run(at, &["report", "run"].map(OsStr::new));
    assert_eq!(output.status.code(), Some(2));
    assert!(
        message(&output).contains("run.json: damaged"),
        "{}",
        message(&output)
    );
}

/// The manifest as the first versions wrote it: no state, no way to the workload, no origins.
#[test]
fn an_older_run_is_shown_without_what_it_does_not_have() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let run_folder = aged(at, "run");
    let manifest = r#"{"fsage": "0.0.1", "schema_version": 1, "workload": {"file": "w.ops", "blake3": null,
        "generator": null, "seed": null, "source": null}, "lenient": false, "targets": [{"spec": "ffs:preset=tiny",
        "folder": "ffs_preset-tiny", "days": 5, "operations": 381, "skipped": 0}]}"#;
    fs::write(run_folder.join("run.json"), manifest).expect("a file");
    let page = page(at, "run");
    contains(&page, &["After 5 days", "fsage 0.0.1", "was not counted"]);
    assert!(!page.contains("id=\"origin\""));
}

/// A run says who made it as the program says it of itself, and its page says so, too.
#[test]
fn a_run_and_its_page_say_which_commit_made_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let manifest = aged(at, "run").join("run.json");
    let json = || -> serde_json::Value {
        serde_json::from_slice(&fs::read(&manifest).expect("a file")).expect("JSON")
    };
    let words = |json: &serde_json::Value| match json["commit"].as_str() {
        Some(commit) => format!(
            "fsage {} ({commit})",
            json["fsage"].as_str().expect("a version")
        ),
        None => format!("fsage {}", json["fsage"].as_str().expect("a version")),
    };
    let version = run(at, &["--version"].map(OsStr::new));
    let version = String::from_utf8(version.stdout).expect("text");
    assert_eq!(version.trim(), words(&json()));

    let mut other = json();
    other["commit"] = "0123456789ab".into();
    other["begun_by"] = serde_json::json!({"fsage": "0.0.9", "commit": "fedcba987654-dirty"});
    fs::write(&manifest, other.to_string()).expect("a file");
    let page = page(at, "run");
    let (by, begun_by) = (words(&other), words(&other["begun_by"]));
    assert!(by.ends_with(" (0123456789ab)"), "{by}");
    contains(
        &page,
        &[&format!("; {by}"), "begun by", &begun_by, "run by"],
    );
    assert_eq!(
        page.matches(&by).count(),
        2,
        "the subtitle and what was run"
    );
}

#[test]
fn hostile_text_is_harmless() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let name = OsStr::from_bytes(b"<script>alert(1)<script>'\"&\n\xff.ops");
    let labels = workload(3).replace("day day-1", "day </script><script>alert(2)</script>");
    fs::write(at.join(name), labels).expect("a workload");
    let words = [
        OsStr::new("age"),
        name,
        OsStr::new("--on"),
        OsStr::new("ffs:preset=tiny"),
        OsStr::new("-o"),
    ];
    let named = "<img src=x onerror=alert(3)>";
    let output = run(at, &[&words[..], &[OsStr::new(named)]].concat());
    assert!(output.status.success(), "{}", message(&output));
    harmless(&page(at, named));
    // Texts that a run takes over from elsewhere.
    let manifest = at.join(named).join("run.json");
    let hostile = "</script><script>alert(4)</script> \u{202e} ${alert(5)} {{ 7 * 6 }} <img src=x onerror=alert(6)>";
    let mut json: serde_json::Value =
        serde_json::from_slice(&fs::read(&manifest).expect("a file")).expect("JSON");
    json["fsage"] = hostile.into();
    json["commit"] = hostile.into();
    for key in ["file", "path", "generator", "source", "blake3"] {
        json["workload"][key] = hostile.into();
    }
    json["workload"]["origins"] =
        serde_json::json!([{"origin": hostile, "t_quality": hostile, "operations": 7}]);
    json["targets"][0]["facts"] = serde_json::json!({ hostile: hostile });
    json["targets"][0]["spec"] = hostile.into();
    json["targets"].as_array_mut().expect("targets").push(serde_json::json!({
        "spec": "second", "folder": "\"><script>alert(7)", "days": 1, "operations": 1, "skipped": 0
    }));
    fs::write(&manifest, json.to_string()).expect("a file");
    let page = page(at, named);
    harmless(&page);
    contains(&page, &["&lt;script&gt;alert(4)&lt;", "{{ 7 * 6 }}"]);
}

/// No text of a run became a tag, and the scripts are those of the page.
fn harmless(page: &str) {
    for tag in [
        "<script>alert",
        "<img src=x",
        "onerror=alert(3)>\"",
        "</script><script>alert",
    ] {
        assert!(!page.contains(tag), "{tag}");
    }
    let scripts = page.matches("<script").count();
    assert_eq!(
        scripts,
        page.matches("</script>").count(),
        "every script ends"
    );
}

const EXPERIMENT: &str = r#"
name = "policies"
summary = "Which <b>policy & why</b>?"
seeds = [1, 2]
targets = ["ffs:preset=g502", "ffs:preset=g502,policy=realloc"]

[[workload]]
preset = "home-1996"
days = 2
"#;

#[test]
fn an_experiment_has_bands_over_seeds_and_names_cells_that_are_missing() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    fs::write(at.join("e.toml"), EXPERIMENT).expect("a file");
    fsage(at, &["run", "e.toml", "-o", "exp"]);
    let page = page(at, "exp");
    contains(
        &page,
        &[
            "Which &lt;b&gt;policy &amp; why",
            "(means of 2 runs)",
            "id=\"cells\"",
            "95 % interval of the mean, of two lives their range",
            "4 complete, 0 failed, 0 not run",
        ],
    );
    let cells = fs::read_dir(at.join("exp/cells")).expect("cells");
    let mut folders: Vec<PathBuf> = cells
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    assert_eq!(folders.len(), 4);
    fs::remove_dir_all(&folders[0]).expect("a cell");
    let page = self::page(at, "exp");
    contains(&page, &["What is missing", "(means of 1 to 2 runs)"]);
}
