//! `fsage forecast` through the public command: answers that follow by hand, what is held out, what it leaves and
//! refuses.

use crate::images::{command, fsage};
use fsage_data::table::{Value, read_table};
use serde_json::Value as Json;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

const MIB: u64 = 1 << 20;
/// Files of a megabyte that are made on a working day; all but one are those of the day before, which go.
const A_DAY: u64 = 4;

/// Weeks of five working days. On each a file of 1 MiB stays, and three go the next working day. It begins on a
/// Monday, 2001-09-10.
fn steady(weeks: u64) -> String {
    let mut text = String::from("#! epoch 1000080000\n@0 mkdir 1\n");
    let mut made = Vec::new();
    for day in 0..weeks * 7 {
        let at = day * 86_400;
        if day % 7 < 5 {
            for (n, file) in made.drain(..).enumerate() {
                let _ = writeln!(text, "@{} delete {file}", at + 60 + n as u64);
            }
            for n in 0..A_DAY {
                let file = 100 + day * A_DAY + n;
                let _ = writeln!(text, "@{} create {file} 1 {MIB}", at + 3600 + n);
                if n > 0 {
                    made.push(file);
                }
            }
        }
        let _ = writeln!(text, "@{} day {day}", at + 40_000);
    }
    text
}

fn json(at: &Path, args: &str) -> Json {
    let run = command(
        at,
        env!("CARGO_BIN_EXE_fsage"),
        &format!("-q forecast {args} --json"),
    );
    assert!(
        run.status.success(),
        "{args}: {}",
        String::from_utf8_lossy(&run.stderr)
    );
    serde_json::from_slice(&run.stdout).expect("JSON")
}

/// Five megabytes a week, every week: no future differs. Days are counted from a Sunday, so that the n-th file that
/// stays is made on day n + 2 * ((n - 1) / 5).
#[test]
fn steady_growth_is_carried_on_to_the_day() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    fs::write(at.join("w.ops"), steady(8)).expect("a workload");
    let found = json(
        at,
        "w.ops --on ext4:size=256M --years 0.3 --lives 19 --no-why --limit free_bytes<1 --limit live_bytes>56000000",
    );
    let observed = &found["observed"];
    assert_eq!(observed["days"], 56);
    let growth = observed["growth_bytes_per_day"].as_f64().expect("a number");
    // 8 weeks of 5 days, without the first day.
    let wanted = (8.0 * 5.0 - 1.0) * MIB as f64 / 55.0;
    assert!((growth - wanted).abs() < 1.0, "{growth} and not {wanted}");
    let [full, bytes] = [&found["answers"][0], &found["answers"][1]];
    assert_eq!(
        (&full["reached"], &full["median_day"]),
        (&0.into(), &Json::Null)
    );
    // 40 MiB that stay and 3 that come and go: 43 MiB. Over 53.4 MiB is 54 - 43 = 11 files more, on day 11 + 4.
    let median = bytes["median_day"].as_u64().expect("a day");
    assert!((14..=16).contains(&median), "{bytes}");
    assert_eq!(bytes["reached"], 19);
    let ends = [&bytes["low_day"], &bytes["high_day"]].map(|day| day.as_u64().expect("a day"));
    assert!(ends[1] - ends[0] <= 1, "no future differs: {ends:?}");
}

/// What the last third really did lies where the first two thirds say, and growth that stops is found to help.
#[test]
fn what_was_held_out_is_compared_and_causes_are_lived() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    fs::write(at.join("w.ops"), steady(12)).expect("a workload");
    let found = json(
        at,
        "w.ops --on ext4:size=256M --lives 19 --hold-out 1/3 --limit live_bytes>56000000 --limit free=1%",
    );
    assert_eq!(found["horizon_days"], 28);
    let cases = found["held_out"].as_array().expect("cases");
    assert_eq!(cases.len(), 2);
    assert!(cases[0]["true_day"].is_u64() && cases[1]["true_day"].is_null());
    assert!(cases.iter().all(|case| case["holds"] == true), "{cases:?}");

    let args = "w.ops --on ext4:size=128M --years 0.5 --lives 19 --limit free=20%";
    let found = json(at, args);
    let day = |variant: &Json| variant["answers"][0]["median_day"].as_u64();
    let base = found["answers"][0]["median_day"].as_u64().expect("a day");
    let named = |list: &str, name: &str| {
        let list = found[list].as_array().expect("variants");
        let found = list.iter().find(|variant| variant["name"] == name);
        found.unwrap_or_else(|| panic!("no {name}")).clone()
    };
    assert_eq!(day(&named("drivers", "no growth")), None);
    // mkfs.xfs makes none that small.
    let helps = found["helps"].as_array().expect("variants");
    assert!(helps.iter().all(|help| help["name"] != "xfs"), "{helps:?}");
    let larger = named("helps", "10 % more space");
    assert_eq!(larger["target"], "ext4:size=141M");
    // 13 MiB more, of which 80 % are used: 10 files more, two weeks.
    let won = day(&larger).expect("a day") - base;
    assert!((10..=18).contains(&won), "{won}");
    let shown = fsage(at, &format!("forecast {args}"), 0);
    assert!(
        shown.contains("What drives it") && shown.contains("What would help"),
        "{shown}"
    );
    assert!(shown.contains("xfs is not asked"), "{shown}");
    for line in shown.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
    // Every limit that is crossed has a column, what comes first on the left, in 80 columns.
    let shown = fsage(
        at,
        &format!("-q forecast {args} --limit used=0.75 --limit layout=0.1"),
        0,
    );
    let (_, others) = shown.split_once("What would help").expect("helps");
    let titles: String = others.lines().take(5).collect();
    let columns = ["used", "free"].map(|word| titles.find(word).expect("a column"));
    assert!(
        columns[0] < columns[1] && !titles.contains("layout"),
        "{shown}"
    );
    assert!(others.contains("10 % more space"), "{shown}");
    for line in others.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn threads_leave_the_same_bytes_and_a_folder_of_somebody_else_is_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let args = "forecast --preset mail-spool --days 15 --on ext4 --years 0.03 --lives 19 --no-why --limit layout=0.99";
    fsage(at, &format!("{args} --threads 1 -o one"), 0);
    fsage(at, &format!("{args} --threads 3 -o three"), 0);
    for file in [
        "forecast.json",
        "forecast.html",
        "limits.parquet",
        "lives.parquet",
    ] {
        let bytes = |name: &str| fs::read(at.join(name).join(file)).expect("a file");
        assert!(bytes("one") == bytes("three"), "{file}");
    }
    let page = fs::read_to_string(at.join("one/forecast.html")).expect("a page");
    assert!(page.contains("90 % of lives") && page.contains("Layout score under 0.990"));
    let lives = read_table(at.join("one/lives.parquet")).expect("lives");
    let life = lives.column("life").expect("a column");
    let of = |n: u64| {
        lives
            .rows
            .iter()
            .filter(|row| row[life] == Value::U64(n))
            .count()
    };
    assert_eq!((of(0), of(1), of(19), of(20)), (15, 11, 11, 0));
    let limits = read_table(at.join("one/limits.parquet")).expect("limits");
    assert_eq!(limits.rows.len(), 1);
    let output = fsage(at, &format!("{args} -o one"), 2);
    assert!(output.contains("one"), "{output}");
    fs::create_dir(at.join("mine")).expect("a folder");
    let output = fsage(at, &format!("{args} -o mine --force"), 2);
    assert!(output.contains("is no forecast"), "{output}");
}

/// Nights of a file system: their workload, and a model that begins with the last one.
#[test]
fn nights_are_carried_on_from_where_the_last_one_left_every_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    fs::write(at.join("w.ops"), steady(4)).expect("a workload");
    fsage(
        at,
        "age w.ops --on ext4:size=256M -o run --snapshots 1 --no-control",
        0,
    );
    fs::create_dir(at.join("nights")).expect("a folder");
    for name in ["snapshots.parquet", "snapshots.snapshots.parquet"] {
        fs::copy(
            at.join("run/ext4_size-256M").join(name),
            at.join("nights").join(name),
        )
        .expect("a snapshot");
    }
    fsage(at, "export run/ext4_size-256M disk.img", 0);
    fsage(at, "snapshot disk.img -o last.parquet", 0);
    let args = "nights --years 0.1 --lives 19 --no-why --limit live_bytes>30000000";
    let replayed = json(at, &format!("{args} --on ext4:size=256M"));
    let begun = json(at, &format!("{args} --on ext4:from=last.parquet"));
    let doubted = |found: &Json| {
        found["doubts"]
            .to_string()
            .contains("files that came and went")
    };
    assert!(doubted(&replayed) && doubted(&begun), "{replayed:#}");
    let whole = json(
        at,
        "w.ops --on ext4:size=256M --years 0.1 --lives 19 --no-why --limit live_bytes>30000000",
    );
    assert!(!doubted(&whole) && whole["premise"].is_null());
    // 20 MiB stay and 3 come and go. The past is not lived again, and its files are deleted all the same.
    for found in [&replayed, &begun] {
        let answer = &found["answers"][0];
        assert_eq!(answer["now"], 23.0 * MIB as f64, "{answer}");
        let median = answer["median_day"].as_u64().expect("a day");
        assert!((6..=10).contains(&median), "{answer}");
    }
    let output = fsage(
        at,
        "forecast w.ops --on ext4:from=last.parquet --hold-out 1/3",
        2,
    );
    assert!(output.contains("came before that snapshot"), "{output}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    fs::write(at.join("w.ops"), steady(1)).expect("a workload");
    fs::write(at.join("one.ops"), "@0 create 1 0 9000\n@9 day a\n").expect("a workload");
    for (args, why) in [
        ("w.ops --on ext4 --lives 5", "expected 19 or more"),
        ("w.ops --on ext4 --years 0", "a day (0.003) or more"),
        ("w.ops --on ext4 --limit polcy=1", "expected free=5%"),
        ("w.ops --on ext4 --hold-out 2", "as in 1/3"),
        (
            "w.ops --on dir:somewhere",
            "every life needs a fresh file system",
        ),
        ("one.ops --on ext4", "one day"),
        ("none.ops --on ext4", "none.ops"),
        ("--on ext4", "PAST"),
        ("- --on ext4", "a pipe"),
    ] {
        let output = fsage(at, &format!("forecast {args}"), 2);
        assert!(output.contains(why), "{args}: {output}");
    }
}

/// A past of one week, or one that grows otherwise since its middle, earns no interval: the median stands alone, with
/// the reason, in every form. What is in doubt stands with the answer, and with the alarm.
#[test]
fn no_interval_is_claimed_where_none_is_earned() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    fs::write(at.join("week.ops"), steady(1)).expect("a workload");
    let limit = "--on ext4:size=256M --lives 19 --no-why --limit live_bytes>12000000";
    let few = "no interval: 7 nights, 14 are needed";
    // As far ahead as the alarm looks, where that is farther than a year.
    let far = format!("-q forecast week.ops {limit} --fail-within 400");
    let far = command(at, env!("CARGO_BIN_EXE_fsage"), &far);
    let said = String::from_utf8_lossy(&far.stdout);
    assert!(said.contains("400 days ahead"), "{said}");
    let args = format!("-q forecast week.ops --years 0.1 {limit}");
    let run = command(
        at,
        env!("CARGO_BIN_EXE_fsage"),
        &format!("{args} -o forecast --fail-within 30"),
    );
    assert_eq!(run.status.code(), Some(1));
    let [out, err] = [&run.stdout, &run.stderr].map(|text| String::from_utf8_lossy(text));
    let flat = out.split_whitespace().collect::<Vec<&str>>().join(" ");
    assert!(flat.contains(&format!("({few})")), "{out}");
    assert!(!flat.contains("90 % interval"), "{out}");
    for text in [&flat[..], &err] {
        assert!(
            text.contains("In doubt: 7 days were observed: under 14"),
            "{text}"
        );
    }
    let page = fs::read_to_string(at.join("forecast/forecast.html")).expect("a page");
    assert!(page.contains("What is in doubt") && !page.contains("What is missing"));
    let limits = read_table(at.join("forecast/limits.parquet")).expect("limits");
    let cell = |name: &str| limits.rows[0][limits.column(name).expect("a column")].clone();
    assert_eq!(
        cell("no_interval"),
        Value::Text("7 nights, 14 are needed".to_owned())
    );
    assert_eq!(
        (cell("low_day"), cell("high_day")),
        (Value::Null, Value::Null)
    );
    assert_ne!(cell("median_day"), Value::Null);
    let page = fs::read_to_string(at.join("forecast/forecast.html")).expect("a page");
    assert!(page.contains(few) && page.contains("median of lives"));
    assert!(!page.contains("half of lives"), "a band is drawn");

    // As many weeks again in which nothing stays.
    let mut text = steady(6);
    for day in 42..84 {
        let _ = writeln!(text, "@{} create {day} 1 9", day * 86_400);
        let _ = writeln!(text, "@{} day {day}", day * 86_400 + 40_000);
    }
    fs::write(at.join("changed.ops"), text).expect("a workload");
    let found = json(at, &format!("changed.ops --years 0.1 {limit}"));
    assert_eq!(found["no_interval"], "growth changed");
    let held_out = json(
        at,
        "changed.ops --on ext4:size=256M --lives 19 --hold-out 1/6 --limit live_bytes>90000000",
    );
    assert_eq!(held_out["no_interval"], "growth changed");
    assert_eq!(held_out["held_out"][0]["holds"], Json::Null);
}

/// As far as the preset lives, at the size that is asked for.
#[test]
fn a_preset_is_looked_ahead_for_as_long_as_it_lives() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let args = "--preset mail-spool --days 15 --capacity 64M --on ext4 --lives 19 --no-why";
    let found = json(at, args);
    assert_eq!(found["horizon_days"], 15);
    assert_eq!(found["observed"]["days"], 15);
    // The curve of the preset ends at 0.78 of the space, in fragments; blocks are larger.
    let premise = found["premise"].as_str().expect("a premise");
    assert!(
        premise.contains("preset mail-spool, not yours"),
        "{premise}"
    );
    let is_near = |percent: u32| premise.contains(&format!("{percent} % after day 15"));
    assert!((77..=80).any(is_near), "{premise}");
    let bytes = found["target_bytes"].as_u64().expect("a size");
    assert!((60 * MIB..=68 * MIB).contains(&bytes), "{bytes}");
    fs::write(at.join("w.ops"), steady(2)).expect("a workload");
    for (args, why) in [
        ("--capacity 64M", "--capacity: it scales a preset"),
        ("--days 3", "days belong to presets"),
    ] {
        let output = fsage(at, &format!("forecast w.ops --on ext4 {args}"), 2);
        assert!(output.contains(why), "{output}");
    }
}
