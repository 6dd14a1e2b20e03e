//! The laboratory as somebody else's program uses it.

use fsage_lab::watch::{Progress, Unit};
use fsage_lab::{AgeRequest, TargetSpec, Unwatched, Watch, age};
use fsage_metrics::files;
use std::fmt::Write as _;
use std::io::Write as _;

#[path = "../examples/age.rs"]
#[allow(dead_code)]
mod example;

/// What the example leaves behind is a run that the library reads again: two targets, thirty days each, and a page.
#[test]
fn the_example_ages_two_file_systems_and_writes_a_report() {
    let folder = tempfile::tempdir().expect("a folder");
    example::age_both(folder.path()).expect("the example runs");
    let run = folder.path().join("run");
    let measured = fsage_lab::measure::run(&run).expect("a run");
    let days: Vec<_> = measured
        .targets
        .iter()
        .map(|(spec, days)| (spec.as_str(), days.len()))
        .collect();
    assert_eq!(days, [("ffs", 30), ("ffs:policy=realloc", 30)]);
    let page = std::fs::read_to_string(run.join("report.html")).expect("a page");
    assert!(page.contains("ffs:policy=realloc"));
}

/// Bad input and a machine that fails are told apart, and nothing is left behind.
#[test]
fn an_error_says_whose_matter_it_is_and_leaves_nothing() {
    use fsage_lab::error::Kind;
    let folder = tempfile::tempdir().expect("a folder");
    let run = folder.path().join("run");
    let targets = [TargetSpec::parse("ffs").expect("a target")];
    let workload = folder.path().join("no.ops");
    let missing = age(&AgeRequest::new(&workload, &targets, &run), &Unwatched);
    let error = missing.expect_err("no workload");
    assert_eq!(error.kind(), Kind::Input);
    assert!(format!("{error:#}").contains("no.ops"), "{error:#}");
    assert!(!run.exists());
}

/// The worked example of CONTRIBUTING.md: what one file and one line say of a metric is in days.parquet, JSON, rules
/// and the report.
#[test]
fn a_metric_is_one_file_and_one_line() {
    use fsage_lab::check::{Rules, check};
    use fsage_lab::{ReportRequest, report};
    use fsage_metrics::one_piece;

    let folder = tempfile::tempdir().expect("a folder");
    let workload = folder.path().join("w.ops");
    // A file of two blocks is deleted between two others; one of three blocks then takes its place, and a bit more.
    let text = "create 1 0 16384\ncreate 2 0 16384\ncreate 3 0 16384\nday 1\ndelete 2\ncreate 4 0 24576\nday 2\n";
    fsage_durable::write(&workload, text, true).expect("a workload");
    let targets = [TargetSpec::parse("ffs:preset=tiny").expect("a target")];
    let run = folder.path().join("run");
    let aged = age(&AgeRequest::new(&workload, &targets, &run), &Unwatched).expect("days");

    let manifest = fsage_lab::run_folder::Manifest::read(&run).expect("a run");
    let folder = run.join(&manifest.targets[0].folder);
    let days = fsage_lab::days::read(&folder.join("days.parquet")).expect("days.parquet");
    assert_eq!(days, aged[0].rows);
    let share = days[1].value(&one_piece::SHARE).expect("known");
    assert!(
        days[0].value(&one_piece::SHARE) == Some(1.0) && share < 1.0,
        "{share}"
    );
    assert_eq!(days[1].of_control(&one_piece::SHARE), Some(1.0));
    let json = serde_json::to_value(&days[1]).expect("JSON");
    assert_eq!(json["one_piece_share"], share);
    assert_eq!(json["control_one_piece_share"], 1.0);

    let check = |rules: &str| {
        let rules = Rules::parse("rules.toml", rules)?;
        check(&run, &rules, None).map(|outcome| outcome.failed() == 0)
    };
    let rule = "[[rule]]\nmetric = 'one_piece_share'\nmin = ";
    assert!(check(&format!("{rule}{}", share - 0.01)).expect("a verdict"));
    assert!(!check(&format!("{rule}{}", share + 0.01)).expect("a verdict"));
    let error = check("[[rule]]\nmetric = 'one_peace_share'\nmin = 1").expect_err("no such metric");
    let meant = "did you mean `one_piece_share`?";
    assert!(error.to_string().contains(meant), "{error}");

    let page = run.join("report.html");
    report(&ReportRequest::new(&run, &page), &Unwatched).expect("a page");
    let page = std::fs::read_to_string(page).expect("a page");
    let row = format!(
        "<td class=\"short\">{} (share)</td>",
        one_piece::SHARE.title
    );
    let row = if page.contains(&row) {
        row
    } else {
        row.replace("short", "long")
    };
    assert!(page.contains(&row), "the table of all metrics has it");
    assert!(page.contains("Column one_piece_share: share, more is better."));
}

/// No source names the metric of the worked example but its file, and the line that lists it.
#[test]
fn no_other_source_knows_the_metric_of_the_example() {
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut folders = vec![crates.clone()];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder of sources") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = std::fs::read_to_string(&path).expect("a source");
                let lines = text.lines().filter(|line| line.contains("one_piece"));
                let relative = path.strip_prefix(&crates).expect("below");
                found.extend(lines.map(|_| relative.display().to_string()));
            }
        }
    }
    found.retain(|path| !path.contains("/tests/"));
    found.sort_unstable();
    let file = "fsage-metrics/src/one_piece.rs";
    let (of_file, others): (Vec<_>, Vec<_>) = found.iter().partition(|path| *path == file);
    assert!(!of_file.is_empty());
    assert_eq!(others, ["fsage-metrics/src/lib.rs"]);
}

/// Keeps what is remarked.
#[derive(Clone, Default)]
struct Notes(std::sync::Arc<std::sync::Mutex<Vec<String>>>);

impl Watch for Notes {
    fn begin(&self, _: &str, _: Option<u64>, _: Unit) -> Box<dyn Progress> {
        Box::new(self.clone())
    }

    fn warn(&self, _: &str) {}

    fn note(&self, text: &str) {
        self.0.lock().expect("no panic").push(text.to_owned());
    }
}

impl Progress for Notes {
    fn set_position(&self, _: u64) {}

    fn inc(&self, _: u64) {}

    fn note(&self, text: &str) {
        Watch::note(self, text);
    }
}

/// Results say the commit that the program handed over. Cells of another commit are made again, and those of one that
/// does not say are not.
#[test]
fn a_cell_that_another_commit_made_is_made_again() {
    use fsage_lab::experiment::{self, Options, Plan, Status};
    use serde_json::{Value, json};

    const THIS: &str = "0123456789ab";
    const OTHER: &str = "fedcba987654-dirty";
    fsage_lab::build::set_commit(THIS);
    let folder = tempfile::tempdir().expect("a folder");
    let exp = folder.path().join("e");
    let text =
        "targets = ['ffs:preset=g502', 'lfs']\n[[workload]]\npreset = 'home-1996'\ndays = 1\n";
    let plan = Plan::parse("e.toml", "e", text).expect("a plan");
    let run = |notes: &dyn Watch| {
        let ran = experiment::run(&plan, &exp, &Options::default(), notes).expect("cells");
        assert!(ran.is_over() && ran.failed.is_none());
        ran.skipped
    };
    let read = |name: &str| -> Value {
        let text = std::fs::read(exp.join(name)).expect("a file of JSON");
        serde_json::from_slice(&text).expect("JSON")
    };
    let marks = || {
        let cells = std::fs::read_dir(exp.join("cells")).expect("cells");
        let names = cells.map(|cell| cell.expect("an entry").path());
        names.filter(|name| name.extension().is_some_and(|e| e == "json"))
    };
    let change = |commit: Option<&str>| {
        for mark in marks() {
            let name = mark
                .strip_prefix(&exp)
                .expect("inside")
                .to_str()
                .expect("a name");
            let mut cell = read(name);
            let made_of = cell["made_of"].as_object_mut().expect("what it is made of");
            made_of.remove("commit");
            made_of.extend(commit.map(|commit| ("commit".to_owned(), commit.into())));
            std::fs::write(&mark, cell.to_string()).expect("a file");
        }
    };
    assert_eq!(run(&Unwatched), 0);
    assert_eq!(read("experiment.json")["commit"], THIS);
    for mark in marks() {
        let run = mark.with_extension("");
        let name = run
            .strip_prefix(&exp)
            .expect("inside")
            .to_str()
            .expect("a name");
        assert_eq!(read(&format!("{name}/run.json"))["commit"], THIS);
        assert_eq!(read(&format!("{name}.json"))["made_of"]["commit"], THIS);
    }
    assert_eq!(run(&Unwatched), 2);

    change(Some(OTHER));
    let standing = experiment::standing(&plan, &exp, &Options::default()).expect("cells");
    let status = serde_json::to_value(Status::of(&exp, &standing)).expect("JSON");
    let why = format!(
        "it was made by fsage {} ({OTHER})",
        env!("CARGO_PKG_VERSION")
    );
    let of = [
        &status["complete"],
        &status["begun"],
        &status["again"],
        &status["why_again"],
    ];
    assert_eq!(of, [&json!(0), &json!(0), &json!(2), &json!(why)]);
    let notes = Notes::default();
    assert_eq!(run(&notes), 0);
    let notes = notes.0.lock().expect("no panic");
    let again = notes
        .iter()
        .filter(|note| note.ends_with(&format!(": run again: {why}")));
    assert_eq!(again.count(), 2, "{notes:?}");

    change(None);
    assert_eq!(run(&Unwatched), 2);
}

/// Sees warnings, and between the first operations of an aging and the next writes into the tree: 50 bytes behind the
/// end of the first file, and a file of its own.
struct Meddler {
    tree: std::path::PathBuf,
    warnings: std::sync::Mutex<Vec<String>>,
}

struct MeddlesOnce(std::path::PathBuf);

impl Watch for Meddler {
    fn begin(&self, what: &str, _: Option<u64>, _: Unit) -> Box<dyn Progress> {
        match what {
            "aging" => Box::new(MeddlesOnce(self.tree.clone())),
            _ => Unwatched.begin(what, None, Unit::Things),
        }
    }

    fn warn(&self, text: &str) {
        let warnings = self.warnings.lock();
        warnings.expect("no panic").push(text.to_owned());
    }

    fn note(&self, _: &str) {}
}

impl Progress for MeddlesOnce {
    fn set_position(&self, _: u64) {
        let first = self.0.join("d1/f0");
        if std::fs::metadata(&first).is_ok_and(|file| file.len() == 5000) {
            let file = std::fs::File::options().append(true).open(first);
            let mut file = file.expect("the first file");
            file.write_all(&[b'x'; 50]).expect("room");
            std::fs::File::create(self.0.join("d1/stranger")).expect("a file");
        }
    }

    fn inc(&self, _: u64) {}

    fn note(&self, _: &str) {}
}

/// What is kept from day to day knows the operations only. The last day is that of the disk, and a warning says what
/// differs; with `check` all days are.
#[test]
fn what_something_else_writes_into_a_tree_is_seen_by_the_walk() {
    const BATCH: u64 = 1024;
    const FILES: u64 = 500;
    const DAYS: u64 = 6;
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let mut script = "mkdir 1\n".to_owned();
    let mut events = 1;
    // The day that is open when the first batch has been applied.
    let mut open_day = None;
    for file in 0..FILES * DAYS {
        let _ = writeln!(script, "create {file} 1 5000");
        events += 1;
        if file % FILES == FILES - 1 {
            script += "day x\n";
            if events >= BATCH {
                open_day.get_or_insert(file / FILES);
            }
            events += 1;
        }
    }
    let open_day = open_day.expect("several batches");
    fsage_durable::write(&at("w.ops"), script, true).expect("a workload");
    for check in [false, true] {
        let name = format!("tree-{check}");
        std::fs::create_dir(at(&name)).expect("a folder");
        let spec = format!("dir:{}", at(&name).display());
        let targets = [TargetSpec::parse(&spec).expect("a target")];
        let (workload, run) = (at("w.ops"), at(&format!("run-{check}")));
        let mut request = AgeRequest::new(&workload, &targets, &run);
        request.options.check = check;
        let meddler = Meddler {
            tree: at(&name),
            warnings: std::sync::Mutex::default(),
        };
        let aged = age(&request, &meddler).expect("a run");
        let rows = &aged[0].rows;
        assert_eq!(rows.len() as u64, DAYS);
        let first = if check { open_day } else { DAYS - 1 };
        for (day, row) in (0..).zip(rows) {
            let made = (day + 1) * FILES;
            let strange = u64::from(day >= first);
            assert_eq!(row.count(&files::FILES), Some(made + strange), "day {day}");
            let bytes = Some(made * 5000 + strange * 50);
            assert_eq!(row.count(&files::FILE_BYTES), bytes, "day {day}");
        }
        let warnings = meddler.warnings.into_inner().expect("no panic");
        let differ: Vec<&String> = warnings.iter().filter(|w| w.contains("differs")).collect();
        let [warning] = differ[..] else {
            panic!("one warning: {warnings:?}");
        };
        let made = (first + 1) * FILES;
        let files = format!("regular files {} instead of {made}", made + 1);
        assert!(warning.contains(&format!("day {first} ")), "{warning}");
        assert!(warning.contains(&files), "{warning}");
        let further = format!("so do {} more days", DAYS - 1 - first);
        assert_eq!(warning.contains(&further), check, "{warning}");
    }
    let undisturbed = at("undisturbed");
    std::fs::create_dir(&undisturbed).expect("a folder");
    let spec = format!("dir:{}", undisturbed.display());
    let targets = [TargetSpec::parse(&spec).expect("a target")];
    let (workload, run) = (at("w.ops"), at("run"));
    let mut request = AgeRequest::new(&workload, &targets, &run);
    request.options.check = true;
    let quiet = Meddler {
        tree: at("nowhere"),
        warnings: std::sync::Mutex::default(),
    };
    age(&request, &quiet).expect("a run");
    let warnings = quiet.warnings.into_inner().expect("no panic");
    assert!(
        warnings.iter().all(|w| !w.contains("differs")),
        "{warnings:?}"
    );
}
