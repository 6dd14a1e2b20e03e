//! `fsage report` of several runs, and of snapshots alone, through the public command.

use crate::images::{command, fsage};
use crate::real;
use serde_json::Value as Json;
use std::fs;
use std::path::Path;
use std::process::Command;

fn json(at: &Path, args: &str) -> Json {
    let run = command(at, env!("CARGO_BIN_EXE_fsage"), args);
    let said = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(0), "{args}: {said}");
    serde_json::from_slice(&run.stdout).expect("JSON")
}

#[test]
fn two_runs_stand_side_by_side() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    fsage(
        at,
        "generate profile home-1996 --days 3 --seed 4 -o w.ops",
        0,
    );
    fsage(
        at,
        "age w.ops --on ffs --on ffs:policy=realloc -o old --no-map",
        0,
    );
    fsage(at, "age w.ops --on ffs:policy=realloc -o new --no-map", 0);
    for run in ["old", "new"] {
        fsage(
            at,
            &format!("bench {run} --suite hot-files --repetitions 3"),
            0,
        );
    }
    let sides = json(at, "report old new -o page.html --json --quiet");
    assert_eq!(sides.as_array().map(Vec::len), Some(1), "{sides:#}");
    let side = &sides[0];
    assert_eq!(side["runs"], serde_json::json!(["old", "new"]));
    // The same target by the same workload is the same to the last digit, and so is its speed on a simulated disk.
    let layout = side["layout"].as_array().expect("metrics");
    assert!(
        layout.iter().all(|line| line["first"] == line["other"]),
        "{side:#}"
    );
    assert!(layout.iter().any(|line| line["metric"] == "layout_score"));
    let benchmarks = side["benchmarks"].as_array().expect("benchmarks");
    assert_eq!(benchmarks.len(), 2, "read and overwrite: {side:#}");
    for line in benchmarks {
        assert_eq!(
            (&line["ratio"], &line["says"]),
            (&Json::from(1.0), &Json::from("same"))
        );
        assert_eq!(line["interval"], serde_json::json!([1.0, 1.0]));
    }
    let says = side["says"].as_str().expect("a sentence");
    assert!(says.contains("new hardly differs from old"), "{says}");
    let page = fs::read_to_string(at.join("page.html")).expect("a page");
    for text in [
        "new hardly differs from old",
        "Side by side",
        "old: ",
        "new: ",
        "2 runs side by side",
    ] {
        assert!(page.contains(text), "{text}");
    }

    // Runs of one target each are set beside each other, whatever these are; and the workload is another one.
    fsage(
        at,
        "generate profile home-1996 --days 3 --seed 5 -o other.ops",
        0,
    );
    fsage(at, "age other.ops --on ffs -o third --no-map", 0);
    let shown = fsage(at, "report new third -o page.html", 0);
    assert!(shown.contains("different workloads"), "{shown}");
    let (sentence, table) = (shown.find("than new"), shown.find("difference"));
    assert!(sentence.is_some() && sentence < table, "{shown}");
    assert!(
        shown.contains("layout score") && shown.contains("third"),
        "{shown}"
    );
    let refused = fsage(at, "report new third", 2);
    assert!(refused.contains("-o FILE is needed"), "{refused}");
    let refused = fsage(at, "report new w.ops -o page.html", 2);
    assert!(refused.contains("w.ops: neither a run"), "{refused}");
    let refused = fsage(at, "report new new -o page.html", 2);
    assert!(refused.contains("named twice"), "{refused}");
}

/// Cells of experiments have long names: the folders above tell them apart, and a legend says which they are.
#[test]
fn cells_of_experiments_stand_side_by_side_by_short_names() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let compare =
        "compare --preset home-1996 --days 2 --seeds 2 --no-bench --on ffs:policy=realloc";
    fsage(at, &format!("{compare},maxcontig=7 -o before"), 0);
    fsage(at, &format!("{compare},maxcontig=2 -o after"), 0);
    // As experiments they have one target each.
    let both = json(at, "report before after -o both.html --json --quiet");
    let targets = "ffs:policy=realloc,maxcontig=7 / ffs:policy=realloc,maxcontig=2";
    assert_eq!(both["values"][0]["target"], targets, "{both:#}");
    assert_eq!(both["only"], serde_json::json!([[], []]), "{both:#}");
    let before = "before/cells/home-1996-s1-ffs_policy-realloc_maxcontig-7";
    let after = "after/cells/home-1996-s1-ffs_policy-realloc_maxcontig-2";
    let shown = fsage(at, &format!("report {before} {after} -o page.html"), 0);
    let legend = format!("before is {before}.\nafter is {after}.\n");
    assert!(shown.contains(&legend), "{shown}");
    let rest = shown.replace(&legend, "");
    assert!(
        rest.lines().all(|line| line.chars().count() <= 80),
        "{rest}"
    );
    assert!(!rest.contains("cells"), "{rest}");
    let page = fs::read_to_string(at.join("page.html")).expect("a page");
    assert!(page.contains("before: "), "a curve by its short name");

    // In one folder the targets tell them apart.
    fs::create_dir(at.join("all")).expect("a folder");
    for cell in [before, after] {
        let name = Path::new(cell).file_name().expect("a name");
        fs::rename(at.join(cell), at.join("all").join(name)).expect("moved");
    }
    let all = "all/home-1996-s1-ffs_policy-realloc_maxcontig-";
    let shown = fsage(at, &format!("report {all}7 {all}2 -o page.html"), 0);
    assert!(
        shown.contains(&format!("maxcontig=7 is {all}7.\nmaxcontig=2 is {all}2.\n")),
        "{shown}"
    );

    let refused = fsage(at, &format!("report before {all}7 -o page.html"), 2);
    assert!(
        refused.contains("check AFTER --baseline BEFORE --match position"),
        "{refused}"
    );
    // Where one run is asked for, one is named.
    for command in [
        "history after",
        "inspect after --worst",
        "export after x.img",
    ] {
        let refused = fsage(at, command, 2);
        assert!(
            refused.contains(&format!(
                "after: an experiment, and a run is asked for; name one of its cells, as {after}"
            )),
            "{command}: {refused}"
        );
    }
}

/// What holds the map of a disk.
const MAP: &str = "class=\"block-map-data\"";

#[test]
fn an_image_as_it_stands_has_a_page_with_a_map() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let image = fs::File::create(at.join("disk.img")).expect("an image");
    image.set_len(64 << 20).expect("a size");
    fs::create_dir(at.join("files")).expect("a folder");
    fs::write(at.join("files/one"), vec![1; 100_000]).expect("a file");
    let made = Command::new("mkfs.ext4")
        .args(["-q", "-d", "files", "disk.img"])
        .current_dir(at)
        .status();
    if !made.is_ok_and(|status| status.success()) {
        real::skip("the page of an image", "mkfs.ext4 is missing or failed");
        return;
    }
    fsage(at, "report disk.img -o disk.html", 0);
    let page = fs::read_to_string(at.join("disk.html")).expect("a page");
    for text in ["disk, 1 snapshot", "Free space"] {
        assert!(page.contains(text), "{text}");
    }
    assert_eq!(page.matches(MAP).count(), 1);
    // One snapshot says what `measure` says, and nothing over time.
    let measured = fsage(at, "measure disk.img", 0);
    let sentence = measured.lines().next().expect("a sentence");
    let sentence = sentence.split_once(": ").expect("a name").1;
    // Pages keep a number and its unit on one line.
    let shown = page.replace('\u{a0}', " ");
    assert!(shown.contains(sentence), "{sentence}");
    for text in ["As it stands", "All metrics at the end"] {
        assert!(page.contains(text), "{text}");
    }
    for text in ["Night by night", "All metrics over time", "three quarters"] {
        assert!(!page.contains(text), "{text}");
    }

    // Two images are two file systems, and no series.
    fs::copy(at.join("disk.img"), at.join("other.img")).expect("a copy");
    fsage(at, "report disk.img other.img -o both.html", 0);
    let page = fs::read_to_string(at.join("both.html")).expect("a page");
    assert_eq!(page.matches(MAP).count(), 2);
}

#[test]
fn snapshots_alone_have_a_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    fsage(
        at,
        "generate profile home-1996 --days 4 --seed 1 -o w.ops",
        0,
    );
    fsage(
        at,
        "age w.ops --on ffs -o run --snapshots 1 --no-control --no-map",
        0,
    );
    fs::create_dir(at.join("nights")).expect("a folder");
    for name in ["snapshots.parquet", "snapshots.snapshots.parquet"] {
        fs::copy(at.join("run/ffs").join(name), at.join("nights").join(name)).expect("a snapshot");
    }
    fsage(at, "report nights", 0);
    let page = fs::read_to_string(at.join("nights/report.html")).expect("a page");
    for text in ["Night by night", "nights, 4 snapshots", "Free space"] {
        assert!(page.contains(text), "{text}");
    }
    // No run, and so nothing that a run could have and this has not.
    assert!(!page.contains("No benchmark was run"));
    assert_eq!(page.matches(MAP).count(), 1);
    fsage(at, "report nights/snapshots.parquet -o file.html", 0);
    assert!(at.join("file.html").is_file());
    let refused = fsage(at, "report run nights -o page.html", 2);
    assert!(refused.contains("do not stand on one page"), "{refused}");
    let refused = fsage(at, "report w.ops", 2);
    assert!(refused.contains("no snapshot"), "{refused}");
}

/// Of seeds 1 to 3 and 2 to 4 both experiments lived 2 and 3. Another way to the ratios: the tables of both.
#[test]
fn two_experiments_stand_side_by_side() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    for (name, seeds, more, device) in [
        ("before", "[1, 2, 3]", "lfs", "nvme_tlc"),
        ("after", "[2, 3, 4]", "ffs:policy=realloc", "st4000nm0033"),
    ] {
        let text = format!(
            "seeds = {seeds}\ntargets = [\"ffs\", \"{more}\"]\n[[workload]]\npreset = \"home-1996\"\ndays = 1\n\
             [bench]\nsuites = [\"hot-files\"]\ndevice = \"{device}\"\nrepetitions = 1\n"
        );
        fs::write(at.join(format!("{name}.toml")), text).expect("a file");
        fsage(at, &format!("run {name}.toml"), 0);
    }
    let found = json(at, "report before after -o page.html --json --quiet");
    let only = |side: usize| found["only"][side][0].as_str().expect("a name");
    assert_eq!(only(0), "home-1996 on lfs:size=503M", "{found:#}");
    assert_eq!(only(1), "home-1996 on ffs:policy=realloc", "{found:#}");
    let speed = |experiment: &str, seed: &str| -> f64 {
        let rows = fsage(
            at,
            &format!("results {experiment} --csv results --metric hot-files.read.aged"),
            0,
        );
        let mut rows = rows.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let columns = rows.next().expect("columns");
        let place = |name: &str| {
            columns
                .iter()
                .position(|column| *column == name)
                .expect("a column")
        };
        let mut rows =
            rows.filter(|row| row[place("target")] == "ffs" && row[place("seed")] == seed);
        rows.next().expect("a row")[place("value")]
            .parse()
            .expect("a speed")
    };
    let ratios = ["2", "3"].map(|seed| speed("after", seed) / speed("before", seed));
    let values = found["values"].as_array().expect("values");
    let read = values
        .iter()
        .find(|value| value["metric"] == "hot-files read")
        .expect("the phase");
    assert_eq!(
        (&read["target"], &read["lives"]),
        (&"ffs".into(), &2.into()),
        "{read:#}"
    );
    let ratio = read["ratio"].as_f64().expect("a ratio");
    assert!(
        (ratio - f64::midpoint(ratios[0], ratios[1])).abs() < 1e-9,
        "{ratio} {ratios:?}"
    );
    assert!(ratio < 0.9, "a disk is slower: {read:#}");
    // Of two values Student's t is 12.706, and half the interval that times half of what they differ by.
    let half = 12.706_2 * (ratios[0] - ratios[1]).abs() / 2.0;
    let high = read["interval"][1].as_f64().expect("an interval");
    assert!(
        (high - ratio - half).abs() < 1e-4 + half * 1e-3,
        "{high} {ratios:?}"
    );
    let score = values
        .iter()
        .find(|value| value["metric"] == "layout_score");
    assert_eq!(
        score.expect("a metric")["ratio"],
        1.0,
        "the same life on the same target"
    );
    let page = fs::read_to_string(at.join("page.html")).expect("a page");
    assert!(page.contains("Only before has home-1996 on lfs:size=503M."));
    let said = fsage(at, "report before after -o page.html", 0);
    assert!(
        said.contains("Only after has home-1996 on ffs:policy=realloc."),
        "{said}"
    );
    let twice = fsage(at, "report before before/ -o page.html", 2);
    assert!(twice.contains("named twice"), "{twice}");
    let three = fsage(at, "report before after before -o page.html", 2);
    assert!(
        three.contains("one beside a single other experiment"),
        "{three}"
    );
}
