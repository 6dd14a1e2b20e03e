//! `fsage run` and `fsage compare` through the public commands: which cells an experiment file leads to, what is run
//! again and what is not, what an interruption and an error leave, and that the bytes are the same however it was run.

use fsage_data::table::{Value, read_table};
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant, SystemTime};

fn command(at: &Path, args: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fsage"))
        .args(args.split_whitespace())
        .current_dir(at)
        .output()
        .expect("fsage runs")
}

/// What it says on stdout and on stderr; it must succeed.
fn fsage(at: &Path, args: &str) -> (String, String) {
    let run = command(at, args);
    let said = String::from_utf8(run.stderr).expect("text");
    assert!(run.status.success(), "fsage {args}: {said}");
    (String::from_utf8(run.stdout).expect("text"), said)
}

fn json(at: &Path, args: &str) -> Json {
    serde_json::from_str(&fsage(at, args).0).expect("JSON")
}

/// It must end with this status, and say all these words.
fn fails(at: &Path, args: &str, status: i32, words: &[&str]) -> String {
    let run = command(at, args);
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    assert_eq!(run.status.code(), Some(status), "{args}: {said}");
    assert!(!said.contains("panicked"), "{args}: {said}");
    for word in words {
        assert!(said.contains(word), "{args}: no `{word}` in: {said}");
    }
    said
}

/// All files below a folder, by their paths from there.
fn files(folder: &Path) -> BTreeMap<String, PathBuf> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).expect("below it");
                files.insert(name.to_string_lossy().into_owned(), path);
            }
        }
    }
    files
}

fn bytes(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = files(folder).into_iter();
    files
        .map(|(name, path)| (name, fs::read(path).expect("a file")))
        .collect()
}

/// Both folders hold the same files with the same bytes.
fn assert_same(a: &Path, b: &Path) {
    let (a, b) = (bytes(a), bytes(b));
    let names = |of: &BTreeMap<String, Vec<u8>>| of.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&a), names(&b));
    for (name, content) in &a {
        assert!(*content == b[name], "{name} differs");
    }
}

/// When the files of runs were written, by their paths.
fn times_of_runs(experiment: &Path) -> BTreeMap<String, SystemTime> {
    let mut files = files(&experiment.join("cells"));
    files.retain(|_, path| path.extension().is_some_and(|e| e == "parquet"));
    let time = |path: PathBuf| {
        fs::metadata(path)
            .and_then(|m| m.modified())
            .expect("a time")
    };
    files
        .into_iter()
        .map(|(name, path)| (name, time(path)))
        .collect()
}

/// Layout scores of all days of a target.
fn layout_scores(days: &Path) -> Vec<f64> {
    let table = read_table(days).expect("days");
    let column = table.column("layout_score").expect("the column");
    let scores = table.rows.iter().map(|row| match row[column] {
        Value::F64(score) => score,
        ref other => panic!("{other:?}"),
    });
    scores.collect()
}

/// A workload with files that come and go for some days.
fn write_workload(path: &Path, files: u64) {
    let mut text = String::new();
    for day in 0..4 {
        for file in 0..files {
            let id = day * files + file + 1;
            writeln!(text, "create {id} 0 {}", 3000 + 7000 * (file % 5)).expect("text");
            if file % 3 == 0 {
                writeln!(text, "delete {id}").expect("text");
            }
        }
        writeln!(text, "day {day}").expect("text");
    }
    fs::write(path, text).expect("a workload");
}

const POLICIES: &str = r#"
name = "policies"
seeds = [1, 2]
targets = ["ffs:preset=g502,policy={policy}"]

[matrix]
policy = ["orig", "realloc"]

[[workload]]
preset = "home-1996"
days = 3
"#;

#[test]
fn a_matrix_becomes_a_cell_for_each_workload_seed_and_combination() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    write_workload(&at.join("w.ops"), 10);
    let text = r#"
        seeds = [5, 7]
        targets = ["ffs:preset=tiny,policy={p},maxcontig={m}", "null"]
        [matrix]
        p = ["orig", "realloc", "smartfrag"]
        m = [7, 14]
        [[workload]]
        preset = "home-1996"
        days = 2
        [[workload]]
        name = "mine"
        file = "w.ops"
    "#;
    fs::write(at.join("e.toml"), text).expect("a file");
    let before = bytes(at);
    let cells = json(at, "run e.toml --dry-run --json");
    let cells = cells.as_array().expect("cells");
    // 3 policies x 2 lengths + 1 other target, for 2 seeds of the preset and once for the file.
    assert_eq!(cells.len(), (3 * 2 + 1) * (2 + 1));
    let mut ids: Vec<&str> = cells
        .iter()
        .map(|cell| cell["id"].as_str().expect("an id"))
        .collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), cells.len());
    let first = [
        "home-1996-s5-ffs_preset-tiny_policy-orig_maxcontig-7",
        "mine-null",
    ];
    assert!(first.iter().all(|id| ids.contains(id)), "{ids:?}");
    assert!(cells.iter().all(|cell| cell["state"] == "missing"));
    assert_eq!(bytes(at), before, "nothing is written");
}

#[test]
fn what_is_done_is_not_run_again_and_what_changed_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let file = |targets: &str| {
        let text = format!(
            "targets = [{targets}]\n[[workload]]\nfile = \"a.ops\"\n[[workload]]\nfile = \"b.ops\"\n"
        );
        fs::write(at.join("e.toml"), text).expect("a file");
    };
    write_workload(&at.join("a.ops"), 10);
    write_workload(&at.join("b.ops"), 20);
    file(r#""ffs:preset=tiny", "ffs:preset=tiny,policy=realloc""#);
    fsage(at, "run e.toml");
    let experiment = at.join("e");
    let (first, first_bytes) = (times_of_runs(&experiment), bytes(&experiment));
    assert!(first_bytes.contains_key("report.html"));

    let (_, said) = fsage(at, "run e.toml");
    assert!(said.contains("Cells that were done before: 4"), "{said}");
    assert_eq!(times_of_runs(&experiment), first);
    assert_eq!(bytes(&experiment), first_bytes);

    // Another second target: its cells are run, the others stand.
    file(r#""ffs:preset=tiny", "ffs:preset=tiny,policy=smartfrag""#);
    let (_, said) = fsage(at, "run e.toml");
    assert!(said.contains("Cells that were done before: 2"), "{said}");
    let second = times_of_runs(&experiment);
    assert!(
        first
            .iter()
            .all(|(name, time)| second.get(name) == Some(time))
    );
    assert!(second.keys().any(|name| name.contains("smartfrag")));

    // Another content of one workload: its cells are run again, and it says so.
    write_workload(&at.join("b.ops"), 21);
    let (_, said) = fsage(at, "run e.toml");
    assert!(
        said.contains("b-ffs_preset-tiny: run again: its workload has other content"),
        "{said}"
    );
    assert!(said.contains("Cells that were done before: 2"), "{said}");
    for (name, time) in times_of_runs(&experiment) {
        let stands = second.get(&name) == Some(&time);
        let is_of_b = name.starts_with("b-ffs_preset-tiny/")
            || name.contains("b-ffs_preset-tiny_policy-smartfrag");
        assert_eq!(stands, !is_of_b, "{name}");
    }

    // Another version made one: that is said before it is run again.
    let mark = experiment.join("cells/a-ffs_preset-tiny.json");
    let text = fs::read(&mark).expect("a cell");
    let mut cell: Json = serde_json::from_slice(&text).expect("JSON");
    cell["made_of"]["fsage"] = "0.0.9".into();
    cell["made_of"]["commit"] = "0123456789ab".into();
    fs::write(&mark, cell.to_string()).expect("a cell");
    let (status, _) = fsage(at, "run e --status");
    let expected = "3 of 4 cells are complete, 0 failed, 0 were begun\n\
        1 are done but will be run again; the first: it was made by fsage 0.0.9 (0123456789ab)\n";
    assert!(status.starts_with(expected), "{status}");
    let (_, said) = fsage(at, "run e");
    let again = "a-ffs_preset-tiny: run again: it was made by fsage 0.0.9 (0123456789ab)\n";
    assert!(said.contains(again), "{said}");
}

#[test]
fn a_cell_that_fails_stops_no_other_and_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    write_workload(&at.join("good.ops"), 5);
    fs::write(at.join("bad.ops"), "append 9 5\nday 1\n").expect("a file");
    let text = "targets = [\"ffs:preset=tiny\", \"ffs:preset=small\"]\n[[workload]]\nfile = \"bad.ops\"\n\
                [[workload]]\nfile = \"good.ops\"\n";
    fs::write(at.join("e.toml"), text).expect("a file");
    let words = [
        "2 of 4 cells failed",
        "bad-ffs_preset-tiny: bad.ops:1",
        "bad-ffs_preset-small: bad.ops:1",
    ];
    fails(at, "run e.toml", 1, &words);
    let manifest = fs::read_to_string(at.join("e/experiment.json")).expect("a manifest");
    let manifest: Json = serde_json::from_str(&manifest).expect("JSON");
    let cells = manifest["cells"].as_array().expect("cells");
    let states = cells
        .iter()
        .map(|cell| cell["state"].as_str().expect("a state"));
    assert_eq!(
        states.collect::<Vec<_>>(),
        ["failed", "failed", "complete", "complete"]
    );
    let why = cells[0]["error"].as_str().expect("an error");
    assert!(why.contains("bad.ops:1"), "{why}");
    let page = fs::read_to_string(at.join("e/report.html")).expect("a report of what there is");
    assert!(
        page.contains("[[workload]]\nfile = &quot;bad.ops&quot;\n"),
        "the page has the file of the experiment"
    );

    // The cause is gone: the same command ends well.
    write_workload(&at.join("bad.ops"), 5);
    let (_, said) = fsage(at, "run e.toml");
    assert!(said.contains("Cells that were done before: 2"), "{said}");

    // The copy in the folder is the same experiment: its paths are meant from where the file was.
    let elsewhere = tempfile::tempdir().expect("a folder");
    let copy = at.join("e/experiment.toml");
    let (_, said) = fsage(elsewhere.path(), &format!("run {}", copy.display()));
    assert!(said.contains("Cells that were done before: 4"), "{said}");
    let (_, said) = fsage(at, "run e/experiment.toml -o again");
    assert!(!said.contains("done before"), "{said}");
    assert_same(&at.join("e/cells"), &at.join("again/cells"));
}

/// Runs a command until something is there, then presses Ctrl-C; gives what it said.
fn interrupted(at: &Path, args: &str, until: impl Fn() -> bool) -> String {
    let child = Command::new(env!("CARGO_BIN_EXE_fsage"))
        .args(args.split_whitespace())
        .current_dir(at)
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("fsage runs");
    let start = Instant::now();
    while !until() {
        assert!(
            start.elapsed() < Duration::from_secs(300),
            "{args}: does not begin"
        );
        std::thread::sleep(Duration::from_millis(2));
    }
    let kill = Command::new("kill")
        .args(["-s", "INT", &child.id().to_string()])
        .status();
    assert!(
        kill.expect("kill runs").success(),
        "{args} was still running"
    );
    let run = child.wait_with_output().expect("fsage ends");
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    assert_eq!(run.status.code(), Some(3), "{args}: {said}");
    said
}

#[test]
fn an_interrupted_experiment_goes_on_and_ends_with_the_same_bytes() {
    let folder = tempfile::tempdir().expect("a folder");
    let (whole, broken) = (folder.path().join("whole"), folder.path().join("broken"));
    let text = POLICIES
        .replace("days = 3", "days = 20")
        .replace("[1, 2]", "[1, 2, 3]");
    for at in [&whole, &broken] {
        fs::create_dir(at).expect("a folder");
        fs::write(at.join("e.toml"), &text).expect("a file");
    }
    let cells = broken.join("exp/cells");
    let said = interrupted(&broken, "run e.toml -o exp --threads 1", || {
        fs::read_dir(&cells).is_ok_and(|entries| entries.count() >= 3)
    });
    assert!(said.contains("exp: the same command resumes it"), "{said}");
    let manifest = fs::read_to_string(broken.join("exp/experiment.json")).expect("a manifest");
    assert!(
        manifest.contains("\"missing\""),
        "it was interrupted too late"
    );
    fsage(&broken, "run e.toml -o exp");
    fsage(&whole, "run e.toml -o exp");
    assert_same(&whole.join("exp"), &broken.join("exp"));
}

#[test]
fn shards_together_are_the_whole_and_threads_change_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    for name in ["whole", "shards"] {
        fs::create_dir(at(name)).expect("a folder");
        fs::write(at(name).join("e.toml"), POLICIES).expect("a file");
    }
    fsage(&at("whole"), "run e.toml --threads 1");
    let mut cells = Vec::new();
    for shard in ["1/3", "2/3", "3/3"] {
        let listed = json(
            &at("shards"),
            &format!("run e.toml --dry-run --json --shard {shard}"),
        );
        cells.extend(
            listed
                .as_array()
                .expect("cells")
                .iter()
                .map(|cell| cell["id"].to_string()),
        );
        fsage(
            &at("shards"),
            &format!("run e.toml --threads 2 --shard {shard}"),
        );
    }
    let all = json(&at("whole"), "run e.toml --dry-run --json");
    let mut all: Vec<String> = all
        .as_array()
        .expect("cells")
        .iter()
        .map(|cell| {
            assert_eq!(cell["state"], "complete");
            cell["id"].to_string()
        })
        .collect();
    all.sort();
    cells.sort();
    assert_eq!(cells, all, "each cell is in one shard");
    assert_same(&at("whole").join("e/cells"), &at("shards").join("e/cells"));
    let times = times_of_runs(&at("shards").join("e"));
    fsage(&at("shards"), "run e.toml --shard 2/3");
    assert_eq!(
        times_of_runs(&at("shards").join("e")),
        times,
        "a shard is run once"
    );
    fsage(&at("shards"), "run e.toml");
    assert_eq!(times_of_runs(&at("shards").join("e")), times);
    assert_same(&at("whole").join("e"), &at("shards").join("e"));
}

#[test]
fn the_results_are_means_over_seeds_with_the_interval_of_student() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let bench = "[bench]\nsuites = [\"sequential\"]\nsizes = [\"64K\"]\nrepetitions = 2\n";
    fs::write(at.join("e.toml"), format!("{POLICIES}{bench}")).expect("a file");
    let results = json(at, "run e.toml --json");
    assert_eq!(results["name"], "policies");
    assert!(Path::new(&at.join(results["report"].as_str().expect("a report"))).is_file());
    let rows = results["results"].as_array().expect("rows");
    assert_eq!(rows.len(), 2);
    for (row, policy) in rows.iter().zip(["orig", "realloc"]) {
        let target = format!("ffs_preset-g502_policy-{policy}");
        let ends = [1, 2].map(|seed| {
            let days = format!("e/cells/home-1996-s{seed}-{target}/{target}/days.parquet");
            *layout_scores(&at.join(days)).last().expect("a day")
        });
        assert_eq!(
            (row["cells"].as_u64(), row["failed"].as_u64()),
            (Some(2), Some(0))
        );
        let mean = f64::midpoint(ends[0], ends[1]);
        // Of two values the standard deviation is their distance over the root of 2, and the interval of the mean is
        // 12.706 of it over the root of 2 to both sides.
        let half = 12.706_205 * (ends[0] - ends[1]).abs() / 2.0;
        let close = |found: &Json, expected: f64| {
            let found = found.as_f64().expect("a number");
            assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
        };
        close(&row["layout_end"]["mean"], mean);
        close(&row["layout_end"]["interval"][0], mean - half);
        close(&row["layout_end"]["interval"][1], mean + half);
        let throughput = row["throughput"].as_array().expect("phases");
        let phases = throughput
            .iter()
            .map(|phase| phase["phase"].as_str().expect("a phase"));
        assert_eq!(phases.collect::<Vec<_>>(), ["create", "read"]);
        assert!(throughput.iter().all(|phase| {
            phase["mean"]
                .as_f64()
                .is_some_and(|mean| mean > 0.1 && mean < 3.0)
        }));
    }
    let (table, _) = fsage(at, "run e.toml");
    assert!(
        table.contains("policy=realloc") && table.contains('±'),
        "{table}"
    );
}

#[test]
fn an_experiment_is_checked_by_the_rules_that_its_file_names() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    write_workload(&at.join("w.ops"), 10);
    let file = |min: &str| {
        let text = format!(
            "targets = [\"ffs:preset=tiny\"]\n[[workload]]\nfile = \"w.ops\"\n[check]\nrules = \"\"\"\n[[rule]]\n\
             metric = \"layout_score\"\nmin = {min}\n\"\"\"\n"
        );
        fs::write(at.join("e.toml"), text).expect("a file");
    };
    file("0.0");
    let (out, _) = fsage(at, "run e.toml");
    assert!(
        out.contains("ok    layout_score") && out.contains("0 of 4 checks failed"),
        "{out}"
    );
    file("1.5");
    fails(at, "run e.toml", 1, &["1 of 4 checks failed"]);
    // The line is that of the experiment file.
    file("0.0\nmax_dorp = 1");
    fails(at, "run e.toml", 2, &["e.toml:9", "max_dorp"]); // typos: ignore
}

/// What is wrong, with `$T` for a line of targets and `$W` for the table of a workload; and what must be said.
const WRONG: [(&str, &[&str]); 32] = [
    (
        "tagets = 1\n$W", // typos: ignore
        &[
            "e.toml:1",
            "unknown field `tagets`", // typos: ignore
            "`targets`",
            "--show policies",
        ],
    ),
    ("$T$Wdays = 3\n", &["e.toml:2", "belong to a `preset`"]),
    (
        "$T\n[[workload]]\nfiel = \"w.ops\"\n",
        &["e.toml:4", "unknown field `fiel`", "`file`"], // typos: ignore
    ),
    (
        "$T$W[bench]\nsuite = \"all\"\n",
        &["e.toml:5", "unknown field `suite`", "`suites`"],
    ),
    (
        "$T$W[bench]\nsuites = [\"fast\"]\n",
        &["e.toml:4", "no suite is called `fast`", "sequential"],
    ),
    (
        "$T$W[bench]\nsizes = [\"big\"]\n",
        &["e.toml:4", "sizes: ", "16K"],
    ),
    (
        "$T$W[bench]\nrepetitions = 0\n",
        &["e.toml:4", "1 to 10000"],
    ),
    (
        "$T$W[bench]\ndevice = \"floppy\"\n",
        &["e.toml:4", "no drive is called floppy"],
    ),
    (
        "targets = [\"ffs\", \"ext4:size=4G\"]\n$W[bench]\ndevice = \"st32430n\"\n",
        &["e.toml:4", "ext4:size=4G: ", "2.0 GiB"],
    ),
    (
        "$T$W[age]\nsnapshot = 3\n",
        &["e.toml:5", "`snapshot`", "`snapshots`"],
    ),
    ("$T$W[report]\nwrite = 3\n", &["e.toml:5", "true or false"]),
    (
        "$T$W[check]\nrules = \"none.toml\"\n",
        &["e.toml:5", "none.toml", "regression"],
    ),
    ("$T", &["e.toml:1", "no workload", "[[workload]]"]),
    ("targets = []\n$W", &["e.toml:1", "expected at least one"]),
    (
        "targets = [\"ffs\",\n \"zfs\"]\n$W",
        &["e.toml:2", "unknown kind `zfs`", "known: ffs"],
    ),
    (
        "targets = [\"ffs:polcy=orig\"]\n$W",    // typos: ignore
        &["e.toml:1", "polcy", "known: preset"], // typos: ignore
    ),
    (
        "targets = [\"ffs:bsize=3000\"]\n$W",
        &["e.toml:1", "newfs refuses bsize"],
    ),
    (
        "targets = [\"null\", \"null\"]\n$W",
        &["e.toml:1", "`null` is named twice"],
    ),
    (
        "targets = [\"ffs:policy={p}\"]\n$W",
        &["e.toml:1", "no list `p`", "it has none"],
    ),
    (
        "targets = [\"ffs:policy={p\"]\n$W",
        &["e.toml:1", "`{` stands alone", "{NAME}"],
    ),
    (
        "$T$W[matrix]\np = [1]\n",
        &["e.toml:5", "nothing has a gap for `p`", "{p}"],
    ),
    (
        "targets = [\"ffs:nrpos={p}\"]\n$W[matrix]\np = [[1.5]]\n",
        &["e.toml:5", "p: expected texts"],
    ),
    ("seeds = [1, 1]\n$T$W", &["e.toml:1", "each once"]),
    ("repetitions = 2\n$T$W", &["e.toml:1", "vary `seeds`"]),
    (
        "$T[[workload]]\npreset = \"home-2096\"\n",
        &["e.toml:2", "home-2096", "home-1996"],
    ),
    (
        "$T[[workload]]\ngenerate = { svn = {} }\n",
        &["e.toml:3", "unknown variant `svn`", "`snapshots`"],
    ),
    (
        "$T[[workload]]\ngenerate = { git = { repo = \".\", clone = 2 } }\n",
        &["e.toml:3", "unknown field `clone`", "`clones`"],
    ),
    (
        "$T[[workload]]\ngenerate = { git = { repo = \".\", clones = 0 } }\n",
        &["e.toml:2", "clones: expected 1 to 100000"],
    ),
    (
        "$T$W[age]\nsnapshots = 0\n",
        &["e.toml:4", "snapshots: expected 1 day or more"],
    ),
    ("$T[[workload]]\ngenerate = 7\n", &["e.toml:3", "table"]),
    ("$T$Wseed = 2\n", &["e.toml:2", "seed: nothing of `w`"]),
    ("$T$W$W", &["e.toml:4", "two workloads are called `w`"]),
];

/// Points of a sample whose numbers are equal when they are rounded, devices whose names become the same in names of
/// files, and more values than a name has room for.
#[test]
fn every_cell_has_an_id_of_its_own_that_is_short_enough() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let drive = fsage_disk::presets::toml_of("st32430n").expect("a drive");
    for name in ["a b.toml", "a_b.toml"] {
        fs::write(at.join(name), drive).expect("a drive");
    }
    let sample = "targets = [\"ffs:maxcontig={m}\"]\n[sample]\npoints = 20\nm = {from = 1, to = 16}\n\
                  days = {from = 1, to = 3}\n[[workload]]\npreset = \"home-1996\"\ndays = \"{days}\"\n";
    let devices = "targets = [\"ffs\", \"lfs\"]\n[matrix]\ndevice = [\"a b.toml\", \"a_b.toml\"]\n[[workload]]\n\
                   preset = \"home-1996\"\ndays = 2\n[bench]\nsuites = [\"sequential\"]\nsizes = [\"16K\"]\n\
                   repetitions = 1\ndevice = \"{device}\"\n";
    let names: Vec<String> = (0..12)
        .map(|n| format!("a_parameter_with_a_long_name_{n}"))
        .collect();
    let matrix: String = names
        .iter()
        .map(|name| format!("{name} = [1, 2]\n"))
        .take(3)
        .collect();
    let gaps = names.iter().take(3).map(|name| format!("{{{name}}}"));
    let long = format!(
        "targets = [\"ffs\"]\n[matrix]\n{matrix}[[workload]]\npreset = \"home-1996\"\ncapacity = \"{}M\"\n",
        gaps.collect::<String>()
    );
    // Of 20 points some are the same one, and there once.
    for (text, fewest, most) in [(sample, 12, 20), (devices, 4, 4), (long.as_str(), 8, 8)] {
        fs::write(at.join("e.toml"), text).expect("a file");
        let listed = json(at, "run e.toml --dry-run --json");
        let listed = listed.as_array().expect("cells").clone();
        let ids = listed
            .iter()
            .map(|cell| cell["id"].as_str().expect("an id"));
        let ids: BTreeSet<&str> = ids.collect();
        assert_eq!(ids.len(), listed.len(), "{text}: {ids:?}");
        assert!((fewest..=most).contains(&ids.len()), "{text}: {ids:?}");
        assert!(ids.iter().all(|id| id.len() <= 180), "{ids:?}");
    }
    // Each device has its own row, and is not beside the other.
    fs::write(at.join("e.toml"), devices).expect("a file");
    let said = fsage(at, "--quiet run e.toml").0;
    let said = said.split("\n\n").next().expect("the first table");
    for life in ["home-1996 (device=a b.toml)", "home-1996 (device=a_b.toml)"] {
        assert_eq!(said.matches(life).count(), 2, "{said}");
    }
    let means = read_table(at.join("e/means.parquet")).expect("means");
    let column = |name: &str| means.column(name).expect("a column");
    let score = |row: &&Vec<Value>| row[column("metric")] == "layout_score".into();
    let rows: Vec<_> = means.rows.iter().filter(score).collect();
    assert_eq!(rows.len(), 4);
    let first = rows
        .iter()
        .filter(|row| row[column("base")] == "ffs".into());
    assert!(
        first.clone().count() == 2
            && first
                .clone()
                .all(|row| row[column("target")] == "lfs:size=503M".into())
    );
}

/// What would be run again is said to be missing before it is.
#[test]
fn a_workload_that_changed_is_seen_before_it_is_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    write_workload(&at.join("w.ops"), 5);
    let text = "targets = [\"ffs:preset=tiny\"]\n[[workload]]\nfile = \"w.ops\"\n";
    fs::write(at.join("e.toml"), text).expect("a file");
    fsage(at, "--quiet run e.toml");
    let states = |at: &Path| {
        let listed = fsage(at, "run e.toml --dry-run --json").0;
        listed.matches("\"complete\"").count()
    };
    assert_eq!(states(at), 1);
    write_workload(&at.join("w.ops"), 6);
    assert_eq!(states(at), 0);
    fsage(at, "--quiet run e.toml");
    assert_eq!(states(at), 1);
    // Results that somebody removed are made again.
    let mut cells = fs::read_dir(at.join("e/cells"))
        .expect("cells")
        .flatten()
        .map(|entry| entry.path());
    let run = cells.find(|path| path.is_dir()).expect("a run");
    let targets = fs::read_dir(&run).expect("a run").flatten();
    let mut days = targets.map(|entry| entry.path().join("days.parquet"));
    let days = days.find(|path| path.is_file());
    fs::remove_file(days.expect("days")).expect("removed");
    assert_eq!(states(at), 0);
    fsage(at, "--quiet run e.toml");
    assert_eq!(states(at), 1);
}

#[test]
fn what_is_wrong_in_an_experiment_file_is_named_with_its_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    write_workload(&at.join("w.ops"), 5);
    let targets = "targets = [\"ffs:preset=tiny\"]\n";
    let workload = "[[workload]]\nfile = \"w.ops\"\n";
    for (text, words) in WRONG {
        let text = text.replace("$T", targets).replace("$W", workload);
        fs::write(at.join("e.toml"), &text).expect("a file");
        let said = fails(at, "run e.toml", 2, words);
        assert_eq!(said.lines().count(), 1, "{text}: {said}");
        assert!(!at.join("e").exists(), "{text} left something behind");
    }
    let dir = "seeds = [1, 2]\ntargets = [\"dir:d\"]\n[[workload]]\npreset = \"home-1996\"\n";
    fs::write(at.join("e.toml"), dir).expect("a file");
    fails(
        at,
        "run e.toml",
        2,
        &["e.toml:2", "can be aged once", "2 times", "loop:"],
    );
    fails(
        at,
        "run nothing.toml",
        2,
        &["nothing.toml", "--show policies"],
    );
    fails(at, "run e.toml --shard 5/4", 2, &["I/N"]);
    fs::write(at.join("e.toml"), format!("{targets}{workload}")).expect("a file");
    fs::create_dir(at.join("mine")).expect("a folder");
    fs::write(at.join("mine/letter.txt"), "dear reader").expect("a file");
    fails(
        at,
        "run e.toml -o mine",
        2,
        &["mine", "is no experiment", "-o"],
    );
    fsage(at, "run e.toml -o taken");
    fs::write(at.join("other.toml"), format!("{targets}{workload}")).expect("a file");
    fails(
        at,
        "run other.toml -o taken",
        2,
        &["taken", "`e`", "`other`"],
    );
}

#[test]
fn the_experiments_that_come_with_fsage_can_be_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let list = json(at, "run --list --json");
    let presets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../presets/experiments");
    let listed = list.as_array().expect("a list");
    assert_eq!(listed.len(), files(&presets).len());
    for (example, cells) in listed.iter().zip([3 * 2 * 2, 2 * 2 * 2 * 2]) {
        let name = example["name"].as_str().expect("a name");
        assert!(!example["summary"].as_str().expect("a summary").is_empty());
        let (text, _) = fsage(at, &format!("run --show {name}"));
        fs::write(at.join("example.toml"), text).expect("a file");
        let listed = json(at, "run example.toml --dry-run --json");
        assert_eq!(listed.as_array().map(Vec::len), Some(cells), "{name}");
    }
    fails(at, "run --show nothing", 2, &["policies", "ext4-xfs"]);
}

const TARGETS: &str = "--on ffs --on ffs:policy=realloc";
const BENCH: &str = "--suite sequential,hot-files --repetitions 2 --size 64K";

#[test]
fn a_comparison_is_an_aged_run_with_benchmarks_and_a_report() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let compare = format!("compare --preset home-1996 --days 4 {TARGETS} {BENCH} -o run --json");
    let said = json(at, &compare);
    fs::create_dir(at.join("by-hand")).expect("a folder");
    fsage(
        at,
        "generate profile home-1996 --days 4 -o by-hand/run-workload.parquet",
    );
    let by_hand = at.join("by-hand");
    fsage(
        &by_hand,
        &format!("age run-workload.parquet {TARGETS} -o run"),
    );
    fsage(&by_hand, &format!("bench run {BENCH}"));
    let mut compared = bytes(&at.join("run"));
    for own in ["report.html", "made-of.json"] {
        assert!(compared.remove(own).is_some(), "no {own}");
    }
    assert_eq!(compared, bytes(&by_hand.join("run")));

    let targets = said["targets"].as_array().expect("targets");
    for (target, name) in targets.iter().zip(["ffs", "ffs_policy-realloc"]) {
        let scores = layout_scores(&at.join(format!("run/{name}/days.parquet")));
        assert_eq!(scores.len(), 4);
        let change = scores[3] - scores[0];
        let found = target["layout_change"].as_f64().expect("a change");
        assert!((found - change).abs() < 1e-9, "{found} is not {change}");
        assert_eq!(target["layout_end"].as_f64(), Some(scores[3]));
        let phases = target["throughput"].as_array().expect("phases").iter();
        let phases: Vec<_> = phases
            .map(|phase| (phase["suite"].as_str(), phase["phase"].as_str()))
            .collect();
        let (sequential, hot) = (Some("sequential"), Some("hot-files"));
        let expected = [
            (sequential, Some("create")),
            (sequential, Some("read")),
            (hot, Some("read")),
            (hot, Some("overwrite")),
        ];
        assert_eq!(phases, expected);
    }

    let before = bytes(&at.join("run"));
    fails(
        at,
        &compare,
        2,
        &["run: a run already", "--resume", "--force"],
    );
    let other = compare.replace("--repetitions 2", "--repetitions 3");
    fails(
        at,
        &format!("{other} --resume"),
        2,
        &["its benchmarks are others", "--force"],
    );
    assert_eq!(json(at, &format!("{compare} --resume")), said);
    assert_eq!(bytes(&at.join("run")), before);
    let (table, said) = fsage(at, &compare.replace("--json", "--resume"));
    assert!(
        table.contains("hot-files") && table.contains("ffs:policy=realloc"),
        "{table}"
    );
    assert!(said.contains("run/report.html"), "{said}");
}

/// What was aged when Ctrl-C came is there, and is not aged again, whether it was benchmarked or not.
#[test]
fn an_interrupted_experiment_ages_nothing_twice() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let text = "targets = [\"ext4:size=600M\"]\n[[workload]]\npreset = \"home-1996\"\ndays = 10\n[bench]\n\
                suites = [\"sequential\"]\n\
                sizes = [\"16K\", \"1M\"]\nrepetitions = 60\n";
    fs::write(at.join("e.toml"), text).expect("a file");
    let cell = at.join("exp/cells/home-1996-s1-ext4_size-600M");
    let is_aged =
        || fs::read_to_string(cell.join("run.json")).is_ok_and(|run| run.contains("\"complete\""));
    interrupted(at, "run e.toml -o exp", is_aged);
    let days = cell.join("ext4_size-600M/days.parquet");
    let results = cell.join("ext4_size-600M/bench/sequential.parquet");
    assert!(!results.exists(), "it was interrupted too late");
    let aged = fs::metadata(&days)
        .and_then(|meta| meta.modified())
        .expect("it was aged");
    fsage(at, "run e.toml -o exp");
    let still = fs::metadata(&days)
        .and_then(|meta| meta.modified())
        .expect("it is there");
    assert_eq!(still, aged, "what was aged is not aged again");
    assert!(results.is_file());
}

#[test]
fn an_interrupted_comparison_is_resumed_and_ends_with_the_same_bytes() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let compare =
        format!("compare --preset home-1996 --days 4 {TARGETS} {BENCH} --threads 1 -o run");
    for name in ["whole", "broken"] {
        fs::create_dir(at(name)).expect("a folder");
    }
    let slow = compare.replace("--repetitions 2", "--repetitions 6");
    let first = at("broken/run/ffs/bench/sequential.parquet");
    let said = interrupted(&at("broken"), &slow, || first.is_file());
    assert!(said.contains("add --resume"), "{said}");
    assert!(!at("broken/run/report.html").exists());
    let written = fs::metadata(&first)
        .and_then(|m| m.modified())
        .expect("a time");
    fails(&at("broken"), &slow, 2, &["run: a run already", "--resume"]);
    fsage(&at("broken"), &format!("{slow} --resume"));
    let still = fs::metadata(&first)
        .and_then(|m| m.modified())
        .expect("a time");
    assert_eq!(still, written, "what was measured is not measured again");
    fsage(&at("whole"), &slow);
    assert_same(&at("whole"), &at("broken"));

    // While it is aged, before anything can be measured.
    let long = compare
        .replace("--days 4", "--days 100")
        .replace("-o run", "-o long --no-bench");
    let manifest = at("broken/long/run.json");
    let said = interrupted(&at("broken"), &long, || manifest.is_file());
    assert!(
        said.contains("--resume to the same command to resume long"),
        "{said}"
    );
    fails(
        &at("broken"),
        &long,
        2,
        &["long: an interrupted run", "--resume"],
    );
}
