//! Experiments that vary fields of workloads and benchmarks, their tables, and arrays of jobs.

use fsage_data::table::{Value, read_table};
use serde_json::Value as Json;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

fn run(at: &Path, words: &str, status: i32) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_fsage"))
        .args(words.split(' '))
        .current_dir(at)
        .output()
        .expect("the program");
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(output.status.code(), Some(status), "{words}: {text}");
    text
}

fn cells(at: &Path) -> Vec<Json> {
    let text = run(at, "run e.toml --dry-run --json", 0);
    serde_json::from_str(&text).expect("cells")
}

const SWEEP: &str = r#"
seeds = { from = 1, to = 2, step = 1 }
targets = ["ffs:policy={policy}", "lfs:size=1G"]

[matrix]
policy = ["orig", "realloc"]
days = { from = 1, to = 2, step = 1 }

[[workload]]
preset = "home-1996"
days = "{days}"
"#;

/// Any value of a preset's own TOML is a parameter, typed by what stands there.
#[test]
fn values_of_a_profile_are_swept() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let text = r#"
targets = ["ffs"]
[matrix]
operations = [100, 300]
[[workload]]
preset = "fileserver"
days = 1
capacity = "64M"
set = { operations_per_day = "{operations}", mean_bytes = "16K" }
"#;
    fs::write(at.join("e.toml"), text).expect("a file");
    let said = run(at, "run e.toml", 0);
    assert!(said.contains("- ffs: layout score "), "{said}");
    assert!(said.contains(" at operations 100 "), "{said}");
    assert!(
        said.contains("- Each value of operations is lived by other lives"),
        "{said}"
    );
    run(at, "report e --svg pictures", 0);
    assert!(
        at.join("pictures/over-operations-layout-score.svg")
            .is_file()
    );
    let page = fs::read_to_string(at.join("e/report.html")).expect("a page");
    let place = |part: &str| page.find(part).expect(part);
    assert!(place("<section id=\"over-operations\"") < place("<section id=\"decay-w1\""));
    assert!(place("Each workload by itself: ") < place("<section id=\"over-operations\""));
    let operations = |workload: &str| {
        let text = run(at, &format!("inspect e/workloads/{workload} --json"), 0);
        let json: Json = serde_json::from_str(&text).expect("JSON");
        json["operations"].as_u64().expect("operations")
    };
    // The files of the beginning come on top: some 300 of them at this capacity.
    let few = operations("fileserver-operations100-s1.parquet");
    let many = operations("fileserver-operations300-s1.parquet");
    assert_eq!(many - few, 200);
    // The same by hand.
    let made =
        "generate profile fileserver --days 1 --capacity 64M --set mean_bytes=16K -o w.parquet";
    run(at, &format!("{made} --set operations_per_day=100"), 0);
    let bytes = |name: &str| fs::read(at.join(name)).expect("a workload");
    assert_eq!(
        bytes("w.parquet"),
        bytes("e/workloads/fileserver-operations100-s1.parquet")
    );
    for (set, said) in [
        ("opertions_per_day=7", "unknown field `opertions_per_day`"), // typos: ignore
        ("files=many", "with what is set in [server]: "),
        ("files", "expected KEY=VALUE"),
    ] {
        let text = run(at, &format!("{made} --force --set {set}"), 2);
        assert!(text.contains(said), "{text}");
    }
}

/// A preset file of one's own that was changed makes another workload, and whoever asks is told.
#[test]
fn a_preset_file_that_was_changed_is_seen() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let own = run(at, "generate profile --show fileserver", 0);
    let own = own.replace("operations_per_day = 50000", "operations_per_day = 50");
    fs::write(at.join("own.toml"), &own).expect("a file");
    let text =
        "targets = [\"ffs\"]\n[[workload]]\npreset = \"own.toml\"\ndays = 1\ncapacity = \"64M\"\n";
    fs::write(at.join("e.toml"), text).expect("a file");
    run(at, "run e.toml", 0);
    let states = || -> Vec<Json> { cells(at).iter().map(|cell| cell["state"].clone()).collect() };
    assert_eq!(states(), ["complete"]);
    let changed = own.replace("operations_per_day = 50", "operations_per_day = 70");
    fs::write(at.join("own.toml"), changed).expect("a file");
    assert_eq!(states(), ["missing"]);
    run(at, "run e.toml", 0);
    assert_eq!(states(), ["complete"]);
}

/// How full, over several lives: sizes are those of the first life, and each run has its tables as CSV.
#[test]
fn lives_are_lived_in_several_sizes() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let said = run(
        at,
        "compare --preset home-1996 --days 1 --on ffs --on ext4 --fill 50,80 --seeds 2 --no-bench -o lives",
        0,
    );
    assert!(said.contains("ffs, 50 % full: ffs:size="), "{said}");
    assert!(said.contains("\n- ffs: "), "a sentence on fullness: {said}");
    assert!(!said.contains("--unsupported"), "{said}");
    let small = "compare --preset home-1996 --days 1 --capacity 64M --on xfs --fill 30,40 --no-bench -o small";
    let said = run(at, small, 0);
    assert!(said.contains("refuses it without --unsupported"), "{said}");
    let cells = fs::read_dir(at.join("lives/cells")).expect("cells");
    let cells = cells.map(|entry| entry.expect("an entry").path());
    let mut cells: Vec<_> = cells.filter(|path| path.is_dir()).collect();
    cells.sort();
    assert_eq!(cells.len(), 2 * 2 * 2);
    let shown = cells[0].strip_prefix(at).expect("below").display();
    let days = run(at, &format!("results {shown} --csv"), 0);
    let mut lines = days.lines();
    assert!(lines.next().expect("a header").starts_with("target,day,"));
    let first = lines.next().expect("a day");
    assert!(first.contains(':') && lines.next().is_none(), "{days}");
    let table = run(at, &format!("results {shown}"), 0);
    assert!(table.contains("aged / control"), "{table}");
    let refused = run(at, &format!("results {shown} --csv means"), 2);
    assert!(
        refused.contains("a run has the tables days, bench, flash and causes"),
        "{refused}"
    );
    let refused = run(at, &format!("results {shown} --csv bench"), 2);
    assert!(refused.contains("nothing was measured"), "{refused}");
}

#[test]
fn gaps_of_workloads_have_the_type_of_the_field() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    fs::write(at.join("e.toml"), SWEEP).expect("a file");
    let cells = cells(at);
    assert_eq!(cells.len(), 2 * 2 * 3, "days, seeds, targets");
    let of = |days: u64, target: &str| {
        let is_of = |cell: &&Json| cell["parameters"]["days"] == days && cell["target"] == target;
        cells.iter().filter(is_of).count()
    };
    assert_eq!(of(1, "ffs:policy=realloc"), 2);
    assert_eq!(of(2, "lfs:size=1G"), 2);
    assert_eq!(cells[0]["workload"], "home-1996-days1");
    assert_eq!(cells[0]["parameters"]["policy"], "orig");
    let lfs = cells.iter().find(|cell| cell["target"] == "lfs:size=1G");
    assert_eq!(
        lfs.expect("a cell")["parameters"].get("policy"),
        None,
        "it depends on none"
    );
}

#[test]
fn a_name_in_workload_and_target_has_the_same_value_in_both() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let text = r#"
        targets = ["ext3:size={size}", "ffs:write_chunk={chunk}"]
        [matrix]
        repetitions = [2, 3]
        [sample]
        points = 5
        size = { from = 100000000, to = 900000000 }
        chunk = { from = 1024, to = 65536, log = true }
        [[workload]]
        preset = "home-1996"
        days = 1
        capacity = "{size}"
        [bench]
        suites = ["sequential"]
        repetitions = "{repetitions}"
    "#;
    fs::write(at.join("e.toml"), text).expect("a file");
    let cells = cells(at);
    assert_eq!(
        cells.len(),
        5 * 2 * 2,
        "points, targets, repetitions of benchmarks"
    );
    for cell in &cells {
        let parameters = &cell["parameters"];
        let size = parameters["size"].as_u64().expect("a size");
        let target = cell["target"].as_str().expect("a target");
        if target.starts_with("ext3") {
            assert_eq!(
                target,
                format!("ext3:size={size}"),
                "the size of its workload"
            );
            assert_eq!(parameters.get("chunk"), None);
        } else {
            // Without a size it takes that of its workload, in whole MiB, unless that is its usual one.
            let chunk = format!("write_chunk={}", parameters["chunk"]);
            let mib = size.div_ceil(1 << 20);
            let fits = [format!("ffs:{chunk}"), format!("ffs:size={mib}M,{chunk}")];
            assert!(fits.iter().any(|fits| fits == target), "{target}: {fits:?}");
        }
    }
}

#[test]
fn what_cannot_be_varied_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    for (text, words) in [
        (
            "[matrix]\nd = [\"many\"]\n",
            "e.toml:2: invalid type: string \"many\", expected a whole number from 0 on",
        ),
        (
            "[matrix]\nx = [1]\n",
            "e.toml:2: [matrix] has no list `d`; it has x",
        ),
        (
            "[matrix]\nd = { from = 3, to = 1, step = 1 }\n",
            "matrix: d: from 3 to 1",
        ),
        (
            "[sample]\npoints = 0\nd = { from = 1, to = 2 }\n",
            "sample: points: expected 1",
        ),
        (
            "[matrix]\nd = [1]\n[sample]\npoints = 2\nd = { from = 1, to = 2 }\n",
            "`d` is in [matrix] too",
        ),
    ] {
        let file = format!(
            "targets = [\"ffs\"]\n[[workload]]\npreset = \"home-1996\"\ndays = \"{{d}}\"\n{text}"
        );
        fs::write(at.join("e.toml"), file).expect("a file");
        let said = run(at, "run e.toml -o exp", 2);
        assert!(said.contains(words), "{said}");
        assert!(!at.join("exp").exists());
    }
}

#[test]
fn an_experiment_is_one_table_with_a_column_for_each_parameter() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    fs::write(at.join("e.toml"), SWEEP).expect("a file");
    run(at, "run e.toml -o exp", 0);
    let results = read_table(at.join("exp/results.parquet")).expect("a table");
    let names: Vec<&str> = results
        .columns
        .iter()
        .map(|column| column.name.as_str())
        .collect();
    let expected = [
        "cell",
        "workload",
        "days",
        "policy",
        "target",
        "seed",
        "repetition",
        "day",
        "metric",
    ];
    assert_eq!(names[..9], expected);
    let at_column = |name: &str| results.column(name).expect(name);
    let (metric, value, target, policy) = (
        at_column("metric"),
        at_column("value"),
        at_column("target"),
        at_column("policy"),
    );
    let scores: Vec<&Vec<Value>> = results
        .rows
        .iter()
        .filter(|row| row[metric] == Value::Text("layout_score".to_owned()))
        .collect();
    assert_eq!(scores.len(), 12);
    for row in &scores {
        assert!(
            matches!(row[value], Value::F64(score) if score > 0.0 && score <= 1.0),
            "{row:?}"
        );
        assert_eq!(
            row[target] == Value::Text("lfs:size=1G".to_owned()),
            row[policy] == Value::Null,
            "{row:?}"
        );
    }
    let days = read_table(at.join("exp/days.parquet")).expect("a table");
    assert_eq!(days.rows.len(), 2 * 3 + 2 * 2 * 3);
    let csv = run(at, "results exp --csv means --metric layout_score", 0);
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 1 + 2 * 3, "{csv}");
    assert!(
        lines[0].starts_with("workload,days,policy,target,metric,unit,cells,lives,mean,low,high,"),
        "{csv}"
    );
    assert!(run(at, "results exp", 0).contains("home-1996-days2"));
    // A cell's days have the target, too, and folders are no partitions.
    let cell = at.join("exp/cells/home-1996-days1-s1-ffs_policy-orig/ffs_policy-orig/days.parquet");
    let of_cell = read_table(cell).expect("days");
    assert_eq!(of_cell.columns[0].name, "target");
    assert_eq!(
        of_cell.rows[0][0],
        Value::Text("ffs:policy=orig".to_owned())
    );
}

/// The script of Slurm against a stand-in that runs the jobs of the array, some of them twice and one of them stopped.
#[test]
fn an_array_of_jobs_makes_the_bytes_of_one_machine() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    fs::write(at.join("e.toml"), SWEEP).expect("a file");
    run(at, "run e.toml -o alone", 0);
    let script = run(at, "run e.toml -o jobs --slurm 3", 0);
    let script = Path::new(script.trim());
    assert!(script.ends_with("jobs/slurm.sh"), "{}", script.display());
    let status = run(at, "run jobs --status", 0);
    assert!(
        status.contains("0 of 12 cells are complete, 0 failed, 0 were begun"),
        "{status}"
    );
    let sbatch = at.join("sbatch");
    let stand_in = "#!/bin/bash\nset -eu\n\
        array=$(sed -n 's/^#SBATCH --array=//p' \"$1\")\n\
        for job in $(seq ${array%-*} ${array#*-}) 2; do\n\
        SLURM_JOB_ID=7 SLURM_ARRAY_TASK_ID=$job SLURM_CPUS_PER_TASK=1 bash \"$1\" || exit 1\ndone\n";
    fs::write(&sbatch, stand_in).expect("a file");
    fs::set_permissions(&sbatch, fs::Permissions::from_mode(0o755)).expect("a mode");
    let ended = Command::new(&sbatch)
        .arg(script)
        .output()
        .expect("the stand-in");
    assert!(
        ended.status.success(),
        "{}",
        String::from_utf8_lossy(&ended.stderr)
    );
    let status = run(at, "run jobs --status", 0);
    assert!(status.contains("12 of 12 cells are complete"), "{status}");
    for name in ["results", "days", "bench", "means"] {
        let bytes = |experiment: &str| {
            fs::read(at.join(experiment).join(format!("{name}.parquet"))).expect("a table")
        };
        assert!(bytes("jobs") == bytes("alone"), "{name}");
    }
    let unnumbered = Command::new("bash").arg(script).output().expect("bash");
    assert_eq!(
        unnumbered.status.code(),
        Some(2),
        "it must know which job it is"
    );
}

#[test]
fn a_budget_begins_no_cell_when_it_is_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    fs::write(
        at.join("e.toml"),
        SWEEP.replace(
            "to = 2, step = 1 }\ntargets",
            "to = 200, step = 1 }\ntargets",
        ),
    )
    .expect("a file");
    let said = run(at, "run e.toml -o exp --threads 1 --budget 1s", 0);
    assert!(said.contains("cells are left: the time was over"), "{said}");
    assert!(
        !at.join("exp/results.parquet").exists(),
        "not before all cells are done"
    );
    let refused = run(at, "results exp --csv", 2);
    assert!(refused.contains("not there yet"), "{refused}");
    run(at, "results exp --csv --write", 0);
    let refused = run(at, "run e.toml -o exp --budget soon", 2);
    assert!(
        refused.contains("expected a number with s, m, h or d"),
        "{refused}"
    );
}

/// The usual disk is one that all targets fit.
#[test]
fn the_usual_disk_is_as_large_as_the_largest_target() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    fs::write(at.join("w.ops"), "create 1 0 20000\nday 1\n").expect("a workload");
    let bench = "--suite sequential --size 16K --repetitions 1 -o run";
    let said = run(
        at,
        &format!("compare w.ops --on ffs --on ext4:size=9G {bench}"),
        0,
    );
    let machine = "Simulated targets ran on --device nvme_a:size=16G --host linux-nvme, flash.";
    assert!(said.contains(machine), "{said}");
    let asked = format!("compare w.ops --on ext4:size=9G --device nvme_a {bench} --force");
    let said = run(at, &asked, 2);
    assert!(said.contains("ext4:size=9G: "), "{said}");
}

/// Days and sizes are those of presets; what is said instead of them works.
#[test]
fn a_file_is_cut_before_it_is_compared() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    run(at, "generate profile home-1996 --days 3 -o w.parquet", 0);
    let asked = "compare w.parquet --on ffs -o run";
    let said = run(at, &format!("{asked} --capacity 1G"), 2);
    assert!(said.contains("it scales a preset"), "{said}");
    let said = run(at, &format!("{asked} --days 2"), 2);
    assert!(said.contains("days belong to presets"), "{said}");
    assert!(!at.join("run").exists());
    let mut lines = said.lines();
    let cut = lines.find_map(|line| line.trim().strip_prefix("fsage convert"));
    let cut = cut.expect("a command");
    let cut = format!("{} convert{cut}", env!("CARGO_BIN_EXE_fsage"));
    let shell = Command::new("sh")
        .args(["-c", &cut])
        .current_dir(at)
        .status();
    assert!(shell.expect("sh runs").success(), "{cut}");
    let text = fs::read_to_string(at.join("cut.ops")).expect("a workload");
    assert!(text.ends_with("day 2\n"), "{}", &text[text.len() - 40..]);
}

/// The size that is named for targets without room has it.
#[test]
fn a_sweep_without_room_names_a_size_that_has_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let text = r#"
seeds = [1, 2]
targets = ["ext4:size={size},bsize=4K", "ffs:size={size}"]
[matrix]
size = ["32M", "40M"]
[[workload]]
preset = "fileserver"
days = 1
capacity = "64M"
"#;
    fs::write(at.join("e.toml"), text).expect("a file");
    let of = |said: &str| said.split_whitespace().collect::<Vec<_>>().join(" ");
    // By its file, the preset begins with 8,000 files of 128 KiB in 1,536 MiB: 333 in 64, and 15 % more.
    let before = of(&run(at, "run e.toml --dry-run", 0));
    for short in ["ffs:size=32M has ", "ext4:size=40M,bsize=4K has 3"] {
        assert!(before.contains(short), "{before}");
    }
    assert!(
        before.contains(" MiB for files that take up to 47.8 MiB"),
        "{before}"
    );
    let advised = before.split("Give all targets size=").last();
    let advised = advised.and_then(|rest| rest.split(' ').next());
    let advised = advised.filter(|size| size.len() < 5).expect("a size");
    let said = run(at, "run e.toml", 0);
    let words = of(&said);
    assert!(
        words.contains("- Not all operations were done by "),
        "{said}"
    );
    let named = words.split(
        "- Room for all operations and for the files of benchmarks, by the most that files and metadata take at a \
         time: size=",
    );
    let size = named.last().and_then(|rest| rest.split(". ").next());
    let size = size.filter(|size| size.len() < 5).expect("a size");
    let page = fs::read_to_string(at.join("e/report.html")).expect("a page");
    assert!(
        page.contains(&format!("take at a time: size={size}.")),
        "{size}"
    );
    for (name, size) in [("roomy", size), ("advised", advised)] {
        let roomy = text.replace(r#"["32M", "40M"]"#, &format!("[\"{size}\"]"));
        fs::write(at.join(format!("{name}.toml")), roomy).expect("a file");
        let said = run(at, &format!("run {name}.toml"), 0);
        assert!(!said.contains("short of room"), "{said}");
        let skipped = run(
            at,
            &format!("results {name} --csv means --metric skipped"),
            0,
        );
        let nothing = skipped.matches(",skipped,operations,2,2,0,0,0,").count();
        assert_eq!((nothing, skipped.lines().count()), (2, 3), "{skipped}");
    }
}
