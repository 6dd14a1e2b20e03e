//! `fsage bench` through the public commands, on simulated file systems: what it measures, writes and prints, that the
//! results are the same bytes everywhere, and what it refuses.

use fsage_data::table::{Table, Value, read_table};
use serde_json::Value as Json;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// What `home-1996` is aged on in these tests, and the folder of its results.
const SPEC: &str = "ffs:policy=realloc";
const FOLDER: &str = "run/ffs_policy-realloc";

fn command(at: &Path, args: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fsage"))
        .args(args.split_whitespace())
        .current_dir(at)
        .output()
        .expect("fsage runs")
}

fn fsage(at: &Path, args: &str) -> String {
    let run = command(at, args);
    let message = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "fsage {args}: {message}");
    String::from_utf8(run.stdout).expect("text")
}

fn fsage_json(at: &Path, args: &str) -> Json {
    serde_json::from_str(&fsage(at, args)).expect("JSON")
}

/// It must fail as wrong usage or bad input, with all these words.
fn refuses(at: &Path, args: &str, words: &[&str]) {
    let run = command(at, args);
    let message = String::from_utf8_lossy(&run.stderr).into_owned();
    assert_eq!(run.status.code(), Some(2), "{args}: {message}");
    assert!(!message.contains("panicked"), "{args}: {message}");
    for word in words {
        assert!(message.contains(word), "{args}: no `{word}` in: {message}");
    }
}

/// Six days of home directories, aged.
fn home_run(at: &Path) {
    fsage(at, "generate profile home-1996 --days 6 -o w.parquet");
    fsage(at, &format!("age w.parquet --on {SPEC} -o run"));
}

/// Names of what lies in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let names = entries.map(|e| {
        e.expect("an entry")
            .file_name()
            .into_string()
            .expect("text")
    });
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

fn number(table: &Table, row: &[Value], column: &str) -> u64 {
    match row[table.column(column).expect("the column")] {
        Value::U64(number) => number,
        ref other => panic!("{column}: {other:?}"),
    }
}

fn text<'a>(table: &Table, row: &'a [Value], column: &str) -> &'a str {
    match &row[table.column(column).expect("the column")] {
        Value::Text(text) => text,
        other => panic!("{column}: {other:?}"),
    }
}

/// The median of the throughputs of a phase in MB/s, from the nanoseconds in the table; there are six of them.
fn median(table: &Table, state: &str, phase: &str, file_bytes: u64) -> f64 {
    let rows = table.rows.iter().filter(|row| {
        text(table, row, "state") == state
            && text(table, row, "phase") == phase
            && number(table, row, "file_bytes") == file_bytes
    });
    let mut speeds: Vec<f64> = rows
        .map(|row| {
            let bytes = number(table, row, "bytes") as f64;
            bytes / 1e6 / (number(table, row, "elapsed_ns") as f64 / 1e9)
        })
        .collect();
    speeds.sort_by(f64::total_cmp);
    assert_eq!(speeds.len(), 6);
    f64::midpoint(speeds[2], speeds[3])
}

#[test]
fn a_run_is_measured_beside_its_control() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    home_run(at);
    let bench = "bench run --suite sequential,hot-files --size 16K,1M --repetitions 6 --json";
    let json = fsage_json(at, bench);
    assert_eq!(json["seed"], 1);
    let suites = json["suites"].as_array().expect("suites");
    assert_eq!(suites.len(), 2);
    let target = &suites[0]["targets"][0];
    assert_eq!(target["target"], SPEC);
    assert_eq!(target["device"], "st32430n");
    assert_eq!(target["host"], "pentium-120");
    assert_eq!(target["repetitions"], 6);
    assert_eq!(target["left_out"], serde_json::json!([]));
    // Two phases, two sizes, two states, six repetitions.
    assert_eq!(target["measurements"].as_array().map(Vec::len), Some(48));

    let path = at.join(FOLDER).join("bench/sequential.parquet");
    let table = read_table(&path).expect("a table");
    assert_eq!((table.schema.as_str(), table.rows.len()), ("bench", 48));
    for row in &table.rows {
        // The data of a run are 32 MB: 2048 files of 16 KB, 32 of 1 MB (Smith and Seltzer 1996, section 4.1).
        let file_bytes = number(&table, row, "file_bytes");
        assert_eq!(number(&table, row, "files"), (32 << 20) / file_bytes);
        assert_eq!(number(&table, row, "bytes"), 32 << 20);
        assert_eq!(text(&table, row, "target"), SPEC);
        assert_eq!(text(&table, row, "device"), "st32430n");
    }
    let phases = target["phases"].as_array().expect("phases");
    let order: Vec<(&str, u64)> = phases
        .iter()
        .map(|line| {
            let phase = line["phase"].as_str().expect("a phase");
            (phase, line["file_bytes"].as_u64().expect("a size"))
        })
        .collect();
    let (small, large) = (16 << 10, 1 << 20);
    let expected = [
        ("create", small),
        ("create", large),
        ("read", small),
        ("read", large),
    ];
    assert_eq!(order, expected);
    for (line, (phase, size)) in phases.iter().zip(order) {
        for state in ["aged", "control"] {
            let cell = &line["states"][state];
            let said = cell["mb_per_s"]["median"].as_f64().expect("a median");
            let found = median(&table, state, phase, size);
            assert!(
                (said - found).abs() < 1e-9,
                "{phase} {size} {state}: {said} {found}"
            );
            // A megabyte of memory has 1.048576 times the bytes of one of a disk.
            let binary = cell["mib_per_s"]["median"].as_f64().expect("a median");
            assert!((binary * 1.048_576 - said).abs() < 1e-9);
            assert_eq!(cell["mb_per_s"]["count"], 6);
        }
        assert_eq!(line["ratio"]["count"], 6);
        assert_eq!(line["states"]["empty"], Json::Null);
    }

    let inspected = fsage(at, &format!("inspect {FOLDER}/bench/hot-files.parquet"));
    assert!(inspected.contains("a Parquet table (bench)"), "{inspected}");
    let hot = read_table(at.join(FOLDER).join("bench/hot-files.parquet")).expect("a table");
    let of = |state: &str| {
        let mut rows = hot
            .rows
            .iter()
            .filter(|row| text(&hot, row, "state") == state);
        let row = rows.next().expect("a row");
        (number(&hot, row, "files"), number(&hot, row, "bytes"))
    };
    assert_eq!(of("aged"), of("control"), "the same files");
    assert!(of("aged").0 > 10);
    for suite in ["sequential", "hot-files"] {
        let svg = fs::read_to_string(at.join(FOLDER).join(format!("bench/{suite}.svg")));
        let svg = svg.expect("a chart");
        assert!(svg.starts_with("<svg") && svg.contains("control"));
    }
}

/// Ten files with times; the hot ones of the last 30 and of the last 2 days are counted by hand.
#[test]
fn hot_files_are_those_that_were_changed_lately_and_are_alive() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let mut script = String::from("mkdir 1\n");
    let mut line = |day: u64, operation: &str| {
        let _ = writeln!(script, "@{} {operation}", day * 86_400);
    };
    for file in 1..=10 {
        line(1, &format!("create {file} 1 {}", file * 1000));
    }
    line(50, "append 3 500");
    line(60, "rewrite 7 20000");
    line(60, "create 11 0 9000");
    line(60, "overwrite 5");
    line(61, "delete 5");
    script.push_str("day 1\n");
    fs::write(at.join("w.ops"), script).expect("a script");
    fsage(at, "age w.ops --on ffs:preset=tiny -o run");
    // Files 3, 7 and 11 of 3500, 20000 and 9000 bytes; of the last two days 7 and 11.
    for (days, files, bytes) in [(30, 3, 32_500), (2, 2, 29_000)] {
        let args = format!("bench run --suite hot-files --hot-days {days} --json --force");
        let json = fsage_json(at, &args);
        for measured in json["suites"][0]["targets"][0]["measurements"]
            .as_array()
            .expect("rows")
        {
            assert_eq!(
                (&measured["files"], &measured["bytes"]),
                (&files.into(), &bytes.into())
            );
        }
        // Without file 5: 50,000 bytes, and 500, 13,000 and 9000 more by files 3, 7 and 11.
        let all = &json["suites"][0]["targets"][0]["all_files"];
        assert_eq!(*all, serde_json::json!({ "files": 10, "bytes": 72_500 }));
    }
    let shown = fsage(at, "bench run --suite hot-files --repetitions 1 --force");
    assert!(
        shown.contains("Hot files: 3 of 10 files, 0.03 of 0.07 MB."),
        "{shown}"
    );
}

#[test]
fn the_results_are_the_same_bytes_on_any_number_of_threads_and_in_any_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut all: Vec<Vec<(String, Vec<u8>)>> = Vec::new();
    for (name, threads) in [("a", 1), ("b", 2), ("c", 5)] {
        let at = folder.path().join(name);
        fs::create_dir(&at).expect("a folder");
        home_run(&at);
        let args = "--suite sequential,hot-files,free-space --size 16K --repetitions 3";
        fsage(&at, &format!("bench run {args} --threads {threads}"));
        let bench = at.join(FOLDER).join("bench");
        let read = |name: String| {
            let content = fs::read(bench.join(&name)).expect("a file");
            (name, content)
        };
        all.push(names(&bench).into_iter().map(read).collect());
    }
    assert_eq!(all[0].len(), 6);
    assert!(all[0] == all[1] && all[0] == all[2]);
}

#[test]
fn a_target_without_a_run_is_measured_empty() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let shown = fsage(
        at,
        "bench --on ffs --suite free-space --size 8K,64K --repetitions 2 -o other",
    );
    for word in [
        "free-space on ffs",
        "disk st32430n, host pentium-120",
        "8 KB",
        "empty",
    ] {
        assert!(shown.contains(word), "no `{word}` in {shown}");
    }
    assert!(!shown.contains("control"));
    assert!(at.join("other/ffs/bench/free-space.parquet").is_file());
}

/// 32 MB and an eighth more are no room in a file system of 32 MB, nor are 10,000 files of 64 KB in the default one.
#[test]
fn a_suite_that_measures_nothing_writes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    for quiet in ["", "--quiet "] {
        refuses(
            at,
            &format!("{quiet}bench --on ffs:preset=small --suite free-space --size 8K,64K -o out"),
            &[
                "nothing was measured",
                "ffs:preset=small: free-space, empty, 2 sizes of files from 8 KB to 64 KB",
                "needs 36.0 MiB",
            ],
        );
        assert!(!at.join("out").exists());
    }
    let bench = "bench --on ffs --repetitions 1 -o out --suite";
    fsage(at, &format!("{bench} small-file"));
    let of = |name: &str| fs::read(at.join("out/ffs/bench").join(name)).expect("a result");
    let earlier = (of("small-file.parquet"), of("small-file.svg"));
    refuses(
        at,
        &format!("{bench} small-file --size 64K --force --quiet"),
        &["nothing was measured", "files of 64 KB: left out: needs"],
    );
    assert!(earlier == (of("small-file.parquet"), of("small-file.svg")));
    let some = command(
        at,
        &format!("{bench} small-file,free-space --size 64K --force --json"),
    );
    let message = String::from_utf8_lossy(&some.stderr);
    assert!(some.status.success(), "{message}");
    assert!(
        message.contains("ffs: small-file, empty, files of 64 KB: left out: needs 703 MiB")
            && message.contains("nothing was measured, and no results are written"),
        "{message}"
    );
    assert!(earlier == (of("small-file.parquet"), of("small-file.svg")));
    assert!(!of("free-space.parquet").is_empty());
    let json: Json = serde_json::from_slice(&some.stdout).expect("JSON");
    let left_out = &json["suites"][0]["targets"][0]["left_out"];
    assert_eq!(
        (&left_out[0]["state"], &left_out[0]["file_bytes"]),
        (&"empty".into(), &(64 << 10).into())
    );
}

#[test]
fn a_workload_that_has_moved_or_changed_is_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    home_run(at);
    let args = "bench run --suite hot-files --repetitions 1";
    fs::rename(at.join("w.parquet"), at.join("moved.parquet")).expect("a move");
    refuses(
        at,
        args,
        &["w.parquet", "not there any more", "--workload FILE"],
    );
    fs::write(at.join("other.ops"), "mkdir 1\n").expect("a file");
    refuses(
        at,
        &format!("{args} --workload other.ops"),
        &["other.ops: not the workload of run"],
    );
    fsage(at, &format!("{args} --workload moved.parquet"));
    // Only what the workload leads to can be measured.
    fsage(at, "age moved.parquet --on ffs:policy=orig -o orig");
    let days = at.join(FOLDER).join("days.parquet");
    fs::copy(at.join("orig/ffs_policy-orig/days.parquet"), days).expect("a copy");
    refuses(
        at,
        &format!("{args} --workload moved.parquet --force"),
        &["days.parquet", "layout score", "another version of fsage"],
    );
    // An empty file system needs no workload.
    fs::remove_file(at.join("moved.parquet")).expect("removed");
    fsage(
        at,
        "bench run --suite sequential --size 1M --state empty --repetitions 1",
    );
}

#[test]
fn what_cannot_be_measured_is_refused_before_the_work() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    fs::write(at.join("w.ops"), "mkdir 1\ncreate 1 1 5000\nday 1\n").expect("a script");
    fsage(at, "age w.ops --on ffs:preset=tiny --on null -o run");
    let small = "name = \"small\"\nused_in = \"x\"\n";
    fs::write(at.join("bad.toml"), small).expect("a file");
    let cases: [(&str, &[&str]); 15] = [
        (
            "run --suite fast",
            &["no suite is called `fast`", "sequential, ", "free-space"],
        ),
        (
            "run --device floppy",
            &["no drive is called floppy", "st32430n"],
        ),
        (
            "run --host cray",
            &["no host is called cray", "pentium-120"],
        ),
        ("run --host bad.toml", &["bad.toml", "cache_bytes"]),
        ("run --size 0", &["a file of 0 bytes"]),
        ("run --size 5q", &["expected a size, as in 16K"]),
        ("run --repetitions 0", &["1..=10000"]),
        ("run --state old", &["aged", "control", "empty"]),
        (
            "run --on ffs",
            &["the run has no target `ffs`; it has ffs:preset=tiny and null"],
        ),
        ("run --on null", &["`null`: there is nothing to benchmark"]),
        ("nowhere", &["nowhere: not a run", "fsage age"]),
        ("", &["<RUN"]),
        ("--on ffs", &["-o FOLDER is needed"]),
        ("--on ffs --state aged -o out", &["without a run"]),
        (
            "--on ffs:size=4G --device st32430n -o out",
            &[
                "the file system has 4.0 GiB",
                "ST32430N",
                "only 2.0 GiB",
                "st4000nm0033",
            ],
        ),
    ];
    for (args, words) in cases {
        refuses(at, &format!("bench {args}"), words);
        assert_eq!(
            names(at),
            ["bad.toml", "run", "w.ops"],
            "{args} left something"
        );
    }
    let bench = at.join("run/ffs_preset-tiny/bench");
    assert!(!bench.exists());
    let args = "bench run --suite hot-files";
    fsage(at, args);
    assert!(!at.join("run/null/bench").exists(), "null has no files");
    refuses(
        at,
        args,
        &["hot-files.parquet: exists already (--force replaces it;"],
    );
    let forced = command(at, &format!("{args} --force --drop-caches"));
    let message = String::from_utf8_lossy(&forced.stderr);
    assert!(
        forced.status.success() && message.contains("--drop-caches has no effect"),
        "{message}"
    );

    let manifest = at.join("run/run.json");
    let text = fs::read_to_string(&manifest).expect("a manifest");
    fs::write(&manifest, text.replace("complete", "incomplete")).expect("a manifest");
    refuses(at, "bench run", &["the run is not complete", "--resume"]);
}

#[test]
fn an_interrupt_leaves_nothing_half_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    fsage(
        at,
        "bench --on ffs --suite sequential --size 1M --repetitions 1 -o whole",
    );
    let child = Command::new(env!("CARGO_BIN_EXE_fsage"))
        .args("bench --on ffs --suite sequential --repetitions 10000 -o out".split_whitespace())
        .current_dir(at)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("fsage runs");
    std::thread::sleep(Duration::from_millis(500));
    let kill = Command::new("kill")
        .args(["-s", "INT", &child.id().to_string()])
        .status();
    assert!(kill.expect("kill runs").success());
    let run = child.wait_with_output().expect("fsage ends");
    let message = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(3), "{message}");
    assert!(message.contains("interrupted"), "{message}");
    assert_eq!(names(at), ["whole"]);
}

/// What flash made of a layout is kept by day, shown on the page, and judged by rules.
#[test]
fn flash_is_kept_by_day_and_shown_and_judged() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    home_run(at);
    let measured = fsage_json(
        at,
        "bench run --device nvme_mlc_p1 --suite hot-files --repetitions 1 --json",
    );
    let target = &measured["suites"][0]["targets"][0];
    let days = target["flash_days"].as_array().expect("days");
    let table = read_table(at.join(FOLDER).join("flash.parquet")).expect("a table");
    let column = |name: &str| table.column(name).expect("a column");
    let (day, state, balance) = (column("day"), column("state"), column("die_balance"));
    let of_days = table.rows.iter().filter(|row| row[day] != Value::Null);
    let kept: Vec<_> = of_days.map(|row| (&row[day], &row[balance])).collect();
    assert_eq!(kept.len(), days.len());
    assert_eq!(days.len(), 6);
    for ((number, kept), reported) in kept.iter().zip(days) {
        assert_eq!(
            **number,
            Value::U64(reported["day"].as_u64().expect("a day"))
        );
        assert_eq!(
            **kept,
            Value::F64(reported["die_balance"].as_f64().expect("a share"))
        );
    }
    let began = table.rows.iter().filter(|row| row[day] == Value::Null);
    let began: Vec<_> = began.map(|row| &row[state]).collect();
    assert_eq!(began, [&Value::from("aged"), &Value::from("control")]);
    // Another device stands beside it; the same one again, in its own place.
    let rows = table.rows.len();
    fsage(
        at,
        "bench run --device sata_tlc --suite hot-files --repetitions 1 --force",
    );
    fsage(
        at,
        "bench run --device nvme_mlc_p1 --suite hot-files --repetitions 1 --force",
    );
    let both = read_table(at.join(FOLDER).join("flash.parquet")).expect("a table");
    assert_eq!(both.rows.len(), 2 * rows);

    fsage(at, "report run -o page.html");
    let page = fs::read_to_string(at.join("page.html")).expect("a page");
    assert!(page.contains("nvme_mlc_p1: die balance by day"));
    let rules = "[[rule]]\nbench = 'flash/page_use'\nmin = 0.01\n[[rule]]\n\
                 bench = 'flash/die_balance/nvme_mlc_p1'\nmin = 2\n";
    fs::write(at.join("rules.toml"), rules).expect("rules");
    let judged = command(at, "check run --rules rules.toml");
    let text = String::from_utf8_lossy(&judged.stdout).into_owned();
    assert_eq!(judged.status.code(), Some(1), "{text}");
    assert!(text.contains("ok    flash/page_use"), "{text}");
    assert!(
        text.contains("flash/die_balance/nvme_mlc_p1, aged: "),
        "{text}"
    );
}

/// Losses of a suite on the first target, each with its causes; their sum is the loss.
fn losses(measured: &Json, suite: usize) -> Vec<Json> {
    let target = &measured["suites"][suite]["targets"][0];
    let losses = target["losses"].as_array().expect("losses").clone();
    for loss in &losses {
        let ns = |key: &str| loss[key].as_i64().expect("a time");
        let causes = loss["causes_ns"].as_object().expect("causes");
        let names = [
            "collection",
            "collisions",
            "page_sharing",
            "commands",
            "splitting",
            "rest",
        ];
        assert!(causes.keys().eq(names), "{causes:?}");
        let sum: i64 = causes.values().map(|ns| ns.as_i64().expect("a time")).sum();
        assert_eq!(sum, ns("aged_ns") - ns("control_ns"), "{loss}");
        // The first repetition is the one that is split.
        for state in ["aged", "control"] {
            let measurements = target["measurements"].as_array().expect("measurements");
            let first = measurements.iter().find(|m| {
                (&m["state"], &m["phase"], &m["file_bytes"], &m["repetition"])
                    == (
                        &Json::from(state),
                        &loss["phase"],
                        &loss["file_bytes"],
                        &Json::from(0),
                    )
            });
            let measured_ns = &first.expect("the first repetition")["elapsed_ns"];
            assert_eq!(*measured_ns, loss[format!("{state}_ns")], "{loss}");
        }
    }
    losses
}

/// Each loss on flash is split into causes, which are kept, shown and refused where they make no sense.
#[test]
fn losses_on_flash_are_split_into_causes_that_sum_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    home_run(at);
    let args = "bench run --suite hot-files,read-tree --device emu24 --repetitions 2 --causes";
    let measured = fsage_json(at, &format!("{args} --json"));
    let (hot, tree) = (losses(&measured, 0), losses(&measured, 1));
    assert_eq!((hot.len(), tree.len()), (2, 1));
    assert!(hot[0]["aged_ns"].as_u64() > hot[0]["control_ns"].as_u64());
    let table = read_table(at.join(FOLDER).join("causes.parquet")).expect("a table");
    // Three phases of two states, with all causes and without one, two, ... five.
    assert_eq!(table.rows.len(), 3 * 2 * 6);
    let again = fsage_json(at, &format!("{args} --json --force --threads 1"));
    assert_eq!(losses(&again, 0), hot);
    let again = read_table(at.join(FOLDER).join("causes.parquet")).expect("a table");
    assert_eq!(again.rows, table.rows);
    let printed = fsage(at, &format!("{args} --force"));
    assert!(
        printed.contains("What aged takes longer than control and why"),
        "{printed}"
    );
    fsage(at, "report run -o page.html");
    let page = fs::read_to_string(at.join("page.html")).expect("a page");
    assert!(page.contains("What aged file systems lose on flash, and why"));

    refuses(
        at,
        "bench run --causes",
        &["--causes", "flash only", "--device nvme_mlc_p1"],
    );
    refuses(
        at,
        "bench run --causes --device emu24 --state aged",
        &["--causes", "name both"],
    );
    refuses(
        at,
        "bench --on ffs --causes --device emu24 -o empty",
        &["--causes", "without a run"],
    );
}

/// A file of 8 MB whose pieces of 32 KB came each before 224 KB of others, which is the rest of a stripe of this
/// device; nearly all pieces lie on few dies, and that is what the loss is due to (Jun and others, FAST 2024).
#[test]
fn pieces_that_were_dealt_to_few_dies_lose_by_collisions() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let mut ops = "create 1 0 0\n".to_owned();
    for i in 0..256 {
        let other = 2 + i;
        write!(
            ops,
            "append 1 32768\nfsync 1\ncreate {other} 0 229376\nfsync {other}\n"
        )
        .expect("text");
    }
    for other in 2..258 {
        writeln!(ops, "delete {other}").expect("text");
    }
    fs::write(at.join("w.ops"), ops).expect("operations");
    fsage(at, "age w.ops --on ext4:size=256M,stream_req=4096 -o run");
    let measured = fsage_json(
        at,
        "bench run --suite hot-files --device emu24 --repetitions 1 --causes --json",
    );
    let losses = losses(&measured, 0);
    let read = &losses[0];
    assert_eq!(read["phase"], "read");
    let ns = |value: &Json| value.as_i64().expect("a time") as f64;
    let loss = ns(&read["aged_ns"]) - ns(&read["control_ns"]);
    let collisions = ns(&read["causes_ns"]["collisions"]);
    assert!(loss > 0.5 * ns(&read["control_ns"]), "{read}");
    assert!(collisions > 0.7 * loss, "{read}");
}

/// The suites of reads that need more than their own files: what they read, and on a disk with an arm too.
#[test]
fn depths_trees_and_starts_are_measured_on_disks_and_flash() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    home_run(at);
    for device in ["st340016a", "nvme_mlc_p1"] {
        let measured = fsage_json(
            at,
            &format!(
                "bench run --suite queue-depths,read-tree,cold-start --device {device} --repetitions 1 \
                 --hot-days 1 --json --force"
            ),
        );
        let of = |suite: usize| &measured["suites"][suite]["targets"][0];
        let speed = |suite: usize, phase: &str, state: &str| {
            let phases = of(suite)["phases"].as_array().expect("phases");
            let found = phases.iter().find(|line| line["phase"] == phase);
            let found = found.unwrap_or_else(|| panic!("{phase}: {phases:?}"));
            found["states"][state]["mb_per_s"]["median"]
                .as_f64()
                .expect("a speed")
        };
        for state in ["aged", "control"] {
            for pattern in ["sequential", "random"] {
                let (alone, many) = (
                    speed(0, &format!("{pattern}-1"), state),
                    speed(0, &format!("{pattern}-32"), state),
                );
                // A disk serves one request at a time, and flash many.
                let gain = if device == "nvme_mlc_p1" { 2.0 } else { 0.9 };
                assert!(
                    many > gain * alone,
                    "{device} {pattern} {state}: {alone} {many}"
                );
            }
        }
        // Every file of the tree is read once: as many as there are with data.
        let tree = &of(1)["measurements"][0];
        assert_eq!(tree["phase"], "read");
        assert!(tree["files"].as_u64() > of(0)["measurements"][0]["files"].as_u64());
        assert!(speed(2, "start", "aged") > 0.0 && speed(2, "install", "control") > 0.0);
    }
}

/// What was measured on a day is what a run that ends with that day gives, byte for byte but for the days of its
/// life; and the last day is that of the run.
#[test]
fn a_day_of_a_life_is_measured_as_the_end_of_a_shorter_one() {
    let at = tempfile::tempdir().expect("a folder");
    let at = at.path();
    home_run(at);
    let shown = fsage(
        at,
        "bench run --suite read-tree --repetitions 2 --over-days 3",
    );
    let rows = |folder: &str| {
        let table = read_table(at.join(folder).join("bench/read-tree.parquet")).expect("results");
        table.rows
    };
    // Six days in thirds: the second, the fourth and the last one, numbered from 0.
    assert_eq!(names(&at.join(FOLDER).join("over-days")), ["1", "3"]);
    let text = fsage(at, "convert w.parquet -");
    let lines: Vec<&str> = text.lines().collect();
    let end = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| line.split_whitespace().any(|word| word == "day"))
        .nth(3)
        .map(|(line, _)| line)
        .expect("a fourth day");
    fs::write(at.join("short.ops"), lines[..=end].join("\n") + "\n").expect("a workload");
    fsage(at, &format!("age short.ops --on {SPEC} -o short"));
    fsage(at, "bench short --suite read-tree --repetitions 2");
    assert_eq!(
        rows(&format!("{FOLDER}/over-days/3")),
        rows(&FOLDER.replace("run", "short"))
    );
    let table = shown
        .split("over the days of")
        .nth(1)
        .expect("a table by day");
    let days = table
        .lines()
        .filter_map(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    assert_eq!(days.collect::<Vec<_>>(), [2, 4, 6]);
    refuses(
        at,
        "bench --on ffs --suite read-tree --over-days 3 -o empty",
        &["--over-days", "no days"],
    );
}

/// Where nobody says what, a Maildir is measured by mail, whether a preset or its workload is named; other workloads as
/// ever.
#[test]
fn a_comparison_of_mail_delivers_mail() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let compare = |what: &str| {
        fsage(
            at,
            &format!("compare {what} --on xfs -o run --force --device st4000nm0033"),
        );
        let mut suites = names(&at.join("run/xfs_size-512M/bench"));
        suites.retain(|name| name.ends_with(".parquet"));
        suites
    };
    let life = "--capacity 512M --days 1";
    let mail = ["delivery.parquet", "hot-files.parquet"];
    assert_eq!(compare(&format!("--preset maildir {life}")), mail);
    fsage(
        at,
        &format!("generate profile maildir {life} -o mail.parquet"),
    );
    assert_eq!(compare("mail.parquet"), mail);
    let of_files = ["hot-files.parquet", "sequential.parquet"];
    assert_eq!(compare(&format!("--preset fileserver {life}")), of_files);
    let named = format!("--preset maildir {life} --suite hot-files");
    assert_eq!(compare(&named), ["hot-files.parquet"]);

    // A mail is on disk when it is delivered: each waits for the device, and for a log that is elsewhere.
    let bench = fsage_json(
        at,
        "bench run --suite delivery --size 16K --repetitions 1 --force --json --workload run-workload.parquet",
    );
    let delivered = &bench["suites"][0]["targets"][0]["measurements"][0];
    assert_eq!(
        (&delivered["phase"], &delivered["files"]),
        (&"deliver".into(), &512.into())
    );
    let writes = delivered["requests"]["writes"].as_u64().expect("a number");
    assert!(writes >= 2 * 512, "{delivered}");
}
