//! Smoke: the commands of the README and of `--help` run as written, and running anything twice gives the same
//! bytes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn fsage(folder: &Path, args: &str) -> Output {
    let run = Command::new(env!("CARGO_BIN_EXE_fsage"))
        .args(args.split_whitespace())
        .current_dir(folder)
        .output()
        .expect("fsage runs");
    let message = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "fsage {args}: {message}");
    run
}

fn text(run: &Output) -> String {
    String::from_utf8_lossy(&run.stdout).into_owned()
}

fn git(folder: &Path, args: &[&str]) {
    let run = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.org"])
        .args(args)
        .current_dir(folder)
        .env("GIT_COMMITTER_DATE", "2024-05-01T12:00:00Z")
        .output()
        .expect("git runs");
    assert!(run.status.success(), "git {args:?}");
}

/// A small repository with some history.
fn repository(at: &Path) -> PathBuf {
    let repo = at.join("repo");
    fs::create_dir_all(repo.join("src")).expect("a folder");
    git(&repo, &["init", "-q", "."]);
    for step in 0..12_usize {
        for file in 0..=step {
            let path = repo.join(if file % 2 == 0 { "src" } else { "." });
            let content = "x".repeat(500 * (file + 1) * (step + 1));
            fs::write(path.join(format!("{file}.txt")), content).expect("a file");
        }
        if step > 3 {
            fs::remove_file(repo.join("src/0.txt")).expect("a file is there");
        }
        git(&repo, &["add", "-A"]);
        git(&repo, &["commit", "-q", "-m", "step"]);
    }
    repo
}

/// Every file below a folder with its content.
fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).expect("below").to_owned();
                all.push((name, fs::read(&path).expect("a file")));
            }
        }
    }
    all.sort();
    all
}

/// What is alive at HEAD, from git itself: files and bytes.
fn tree_of_head(repo: &Path) -> (u64, u64) {
    let run = Command::new("git")
        .args(["ls-tree", "-r", "-l", "HEAD"])
        .current_dir(repo)
        .output()
        .expect("git runs");
    let sizes = text(&run);
    let sizes = sizes.lines().filter(|l| l.starts_with("100"));
    sizes.fold((0, 0), |(files, bytes), line| {
        let size: u64 = line
            .split_whitespace()
            .nth(3)
            .expect("a size")
            .parse()
            .expect("a number");
        (files + 1, bytes + size)
    })
}

#[test]
fn a_git_history_ages_to_the_tree_of_its_head() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = folder.path();
    let repo = repository(at);
    for view in ["commit", "day"] {
        fsage(
            at,
            &format!("generate git repo --view {view} -o {view}.parquet"),
        );
        fsage(at, &format!("inspect {view}.parquet"));
        fsage(
            at,
            &format!(
                "age {view}.parquet --on ffs:preset=tiny --on ffs:preset=tiny,policy=realloc --check -o {view}-run"
            ),
        );
        let measured = text(&fsage(at, &format!("measure {view}-run --json")));
        let json: serde_json::Value = serde_json::from_str(&measured).expect("JSON");
        let (files, bytes) = tree_of_head(&repo);
        for target in json["targets"].as_array().expect("targets") {
            let last = target["days"]
                .as_array()
                .and_then(|d| d.last())
                .expect("a last day");
            assert_eq!(last["files"], files);
            assert_eq!(last["file_bytes"], bytes);
            assert_eq!(last["no_space"], 0);
        }
    }
}

#[test]
fn a_run_and_its_final_snapshot_say_the_same() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = folder.path();
    fsage(
        at,
        "generate profile smith96 --days 4 --seed 3 -o w.parquet",
    );
    fsage(at, "age w.parquet --on ffs -o run");
    let run: serde_json::Value =
        serde_json::from_str(&text(&fsage(at, "measure run --json"))).expect("JSON");
    let of_target: serde_json::Value =
        serde_json::from_str(&text(&fsage(at, "measure run/ffs --json"))).expect("JSON");
    assert_eq!(of_target, run, "the run has one target");
    let snapshot: serde_json::Value =
        serde_json::from_str(&text(&fsage(at, "measure run/ffs/final.parquet --json")))
            .expect("JSON");
    let last = run["targets"][0]["days"]
        .as_array()
        .and_then(|d| d.last())
        .expect("a day");
    for field in [
        "files",
        "directories",
        "file_bytes",
        "layout_optimal",
        "layout_scored",
        "pieces",
        "split_files",
        "free_bytes",
        "free_runs",
        "largest_free_run_bytes",
        "layout_by_size",
    ] {
        assert_eq!(last[field], snapshot[field], "{field}");
        assert!(!last[field].is_null(), "{field}");
    }
}

/// Snapshots of a run make a workload that ends with the same files, and whose run has the same day labels.
#[test]
fn a_run_with_snapshots_gives_a_workload_that_ends_alike() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = folder.path();
    fsage(at, "generate profile home-1996 --days 6 -o truth.parquet");
    fsage(at, "age truth.parquet --on ffs --snapshots 1 -o run");
    let trace = "\
        7 1.000000 openat(AT_FDCWD</srv/u>, \"/srv/u/a.o\", O_WRONLY|O_CREAT|O_EXCL, 0600) = 3</srv/u/a.o>\n\
        7 1.500000 write(3</srv/u/a.o>, \"\"..., 5000) = 5000\n\
        7 2.000000 openat(AT_FDCWD</srv/u>, \"/srv/u/b.o\", O_WRONLY|O_CREAT|O_EXCL, 0600) = 4</srv/u/b.o>\n\
        7 3.000000 unlink(\"/srv/u/a.o\") = 0\n\
        7 4.000000 unlink(\"/srv/u/b.o\") = 0\n";
    fs::write(at.join("pip.strace"), trace).expect("a trace");
    fsage(
        at,
        "generate strace pip.strace --window trace --profiles pool.parquet --profile-source pip -o pip.parquet",
    );
    let made = fsage(
        at,
        "generate snapshots run/ffs/snapshots.parquet --profiles pool.parquet --profiles-a-day 2 \
         --json -o again.parquet",
    );
    let made: serde_json::Value = serde_json::from_str(&text(&made)).expect("JSON");
    assert_eq!(made["summary"]["snapshots"], 6);
    assert_eq!(made["summary"]["short_lived_files"], 2 * 5 * 2);
    fsage(at, "age again.parquet --on ffs -o again");
    let last = |run: &str| -> serde_json::Value {
        let shown = text(&fsage(at, &format!("measure {run} --json")));
        let run: serde_json::Value = serde_json::from_str(&shown).expect("JSON");
        let days = run["targets"][0]["days"].as_array().expect("days").clone();
        assert_eq!(days.len(), 6);
        days.last().expect("a day").clone()
    };
    let (truth, again) = (last("run"), last("again"));
    for field in ["files", "directories", "file_bytes"] {
        assert_eq!(truth[field], again[field], "{field}");
    }
    for day in ["skipped", "no_space"] {
        assert_eq!(again[day], 0, "{day}");
    }
    fsage(
        at,
        "generate snapshots run/ffs/snapshots.parquet --scale 2 --repeat 0.02 -o twice.parquet",
    );
    fsage(at, "age twice.parquet --on ffs:preset=g1024 -o twice");
    let shown = text(&fsage(
        at,
        "verify-method truth.parquet --on ffs --seeds 1 --json",
    ));
    let verdict: serde_json::Value = serde_json::from_str(&shown).expect("JSON");
    let attempts = verdict[0]["attempts"].as_array().expect("attempts");
    assert_eq!(attempts.len(), 12);
    for attempt in attempts {
        assert_eq!(attempt["scores"].as_array().expect("scores").len(), 6);
        assert!(attempt["mean_distance"].as_f64().expect("a number") < 0.2);
    }
}

/// Only where times of deletion are guessed is anything drawn: each seed is tried there, and gives an interval.
#[test]
fn losses_of_the_method_have_an_interval_where_they_are_drawn() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = folder.path();
    fsage(at, "generate profile home-1996 --days 4 -o truth.parquet");
    let shown = text(&fsage(
        at,
        "verify-method truth.parquet --on ffs --seeds 3 --json",
    ));
    let verdict: serde_json::Value = serde_json::from_str(&shown).expect("JSON");
    let losses = verdict[0]["losses"].as_array().expect("losses");
    for (loss, seeds) in losses.iter().zip([3, 1, 1, 3]) {
        let ends = loss["end_by_seed"].as_array().expect("seeds");
        assert_eq!(ends.len(), seeds, "{loss}");
        let ends: Vec<f64> = ends.iter().map(|end| end.as_f64().expect("one")).collect();
        let mean = ends.iter().sum::<f64>() / seeds as f64;
        assert!((loss["end_difference"].as_f64().expect("a mean") - mean).abs() < 1e-12);
        // Student's t of 2 degrees of freedom, over the root of 3.
        let squares: f64 = ends.iter().map(|end| (end - mean).powi(2)).sum();
        let half = 4.302_653 * (squares / 2.0).sqrt() / 3_f64.sqrt();
        match loss["end_half_interval"].as_f64() {
            Some(known) => assert!(seeds == 3 && (known - half).abs() < 1e-9, "{loss}"),
            None => assert_eq!(seeds, 1, "{loss}"),
        }
    }
}

/// What is said of several lives is the mean of what is said of each of them alone; the interval is over lives.
#[test]
fn a_method_is_verified_on_several_lives_of_a_preset() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = folder.path();
    let json = |call: &str| -> serde_json::Value {
        serde_json::from_str(&text(&fsage(at, call))).expect("JSON")
    };
    let tail = "--on ffs:size=64M --seeds 2 --json";
    let of_preset = "--preset mail-spool --days 4 --capacity 64M";
    let lives = json(&format!("verify-method {of_preset} --lives 3 {tail}"));
    for seed in [1, 2, 3] {
        let made = format!("mail-spool --days 4 --capacity 64M --seed {seed} -o {seed}.parquet");
        fsage(at, &format!("generate profile {made}"));
    }
    // Guesses have seed 1 in each life.
    let alone = [1, 2, 3].map(|life| json(&format!("verify-method {life}.parquet {tail}")));
    let end = |of: &serde_json::Value, key: &str| of["attempts"][0][key].as_f64().expect("one");
    let ends = alone.clone().map(|one| end(&one[0], "end_difference"));
    assert!((ends[0] - ends[1]).abs() > 1e-6, "{ends:?}");
    for (life, one) in alone.iter().enumerate() {
        let life = &lives[0]["lives"][life];
        assert_eq!(life["attempts"], one[0]["attempts"]);
        assert_eq!(life["truth"], one[0]["lives"][0]["truth"]);
        let truth = life["truth"].as_array().expect("days");
        let at = |day: usize| truth[day].as_f64().expect("a score");
        let missed = end(life, "end_difference") / (at(0) - at(3));
        assert!((end(life, "missed") - missed).abs() < 1e-12);
    }
    let mean = ends.iter().sum::<f64>() / 3.0;
    assert!((end(&lives[0], "end_difference") - mean).abs() < 1e-12);
    // Student's t of 2 degrees of freedom, over the root of 3.
    let squares: f64 = ends.iter().map(|end| (end - mean).powi(2)).sum();
    let half = 4.302_653 * (squares / 2.0).sqrt() / 3_f64.sqrt();
    assert!((end(&lives[0], "end_half_interval") - half).abs() < 1e-7);
    // Each way beside the default one, in the same life: the distance of that less its own.
    let nearer = |life: usize, way: usize| {
        let distance = |of: &serde_json::Value| of["end_difference"].as_f64().expect("one").abs();
        let attempts = &lives[0]["lives"][life]["attempts"];
        let is_default =
            |of: &&serde_json::Value| of["delete_times"] == "reuse" && of["short_lived"] == "none";
        let by_default = attempts.as_array().expect("ways").iter().find(is_default);
        distance(by_default.expect("the default")) - distance(&attempts[way])
    };
    let by = lives[0]["attempts"][0]["nearer_by"].as_f64().expect("one");
    let of_lives = [0, 1, 2].map(|life| nearer(life, 0));
    assert!((by - of_lives.iter().sum::<f64>() / 3.0).abs() < 1e-12);
    let of_default = &lives[0]["attempts"][2];
    assert_eq!(
        (&of_default["delete_times"], of_default.get("nearer_by")),
        (&"reuse".into(), None)
    );
    // The files are the same lives.
    let files = json(&format!(
        "verify-method 1.parquet 2.parquet 3.parquet {tail}"
    ));
    assert_eq!(files[0]["attempts"], lives[0]["attempts"]);
    assert_eq!(files[0]["losses"], lives[0]["losses"]);
    let shown = text(&fsage(
        at,
        &format!("verify-method {of_preset} --lives 2 --seeds 1 --on ffs:size=64M"),
    ));
    assert!(shown.contains("mail-spool (seed 2)"), "{shown}");
    assert!(shown.contains("--lives 3"), "{shown}");
    assert!(!shown.contains("The truth is one life"), "{shown}");
    assert!(
        shown.lines().all(|line| line.chars().count() <= 80),
        "{shown}"
    );
}

/// A model that draws its clock has another one for each seed, so that even what is lost without a guess varies; one
/// that says its seed has that one.
#[test]
fn the_method_is_tried_with_another_clock_for_each_seed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = folder.path();
    fsage(
        at,
        "generate profile mail-spool --days 4 --capacity 64M -o truth.parquet",
    );
    let unseen = |target: &str| {
        let shown = text(&fsage(
            at,
            &format!("verify-method truth.parquet --on {target} --seeds 3 --json"),
        ));
        let verdict: serde_json::Value = serde_json::from_str(&shown).expect("JSON");
        let loss = &verdict[0]["losses"][1];
        assert_eq!(loss["loss"], "short-lived files are unseen");
        let ends = loss["end_by_seed"].as_array().expect("seeds");
        let ends = ends.iter().map(|end| end.as_f64().expect("one"));
        ends.collect::<Vec<f64>>()
    };
    let drawn = unseen("ext4:size=64M,regime=default");
    assert!(
        drawn.len() == 3 && drawn.iter().any(|end| (end - drawn[0]).abs() > 1e-9),
        "{drawn:?}"
    );
    assert_eq!(unseen("ext4:size=64M,regime=default,seed=1").len(), 1);
}

/// A target without a size takes that of the truth's file system, as wherever a workload is aged.
#[test]
fn a_method_says_how_large_and_how_full_the_target_is() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = folder.path();
    fsage(
        at,
        "generate profile mail-spool --days 2 --capacity 64M -o truth.parquet",
    );
    let shown = text(&fsage(at, "verify-method truth.parquet --on ffs --seeds 1"));
    let aged = text(&fsage(at, "age truth.parquet --on ffs -o run --json"));
    let aged: serde_json::Value = serde_json::from_str(&aged).expect("JSON");
    let first = shown.lines().next().expect("a line");
    assert!(
        first.starts_with("ffs:size=64M (64.0 MiB, ") && first.contains(" % full at most): 2 days"),
        "{shown}"
    );
    assert!(aged.to_string().contains("ffs:size=64M"), "{aged}");
    assert!(shown.contains("--preset NAME --lives 5"), "{shown}");
    assert!(
        shown.lines().all(|line| line.chars().count() <= 80),
        "{shown}"
    );
}

#[test]
fn running_anything_twice_or_on_more_threads_gives_the_same_bytes() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = folder.path();
    for copy in ["a", "b"] {
        fs::create_dir(at.join(copy)).expect("a folder");
    }
    for copy in ["a", "b"] {
        let at = at.join(copy);
        fsage(&at, "generate profile smith96 --days 3 -o w.parquet");
        let threads = if copy == "a" { 1 } else { 2 };
        fsage(
            &at,
            &format!(
                "age w.parquet --on ffs --on ffs:policy=realloc --on null --threads {threads} -o run"
            ),
        );
    }
    let (a, b) = (contents(&at.join("a")), contents(&at.join("b")));
    assert_eq!(a.len(), b.len());
    for ((name, one), (_, two)) in a.iter().zip(&b) {
        assert!(one == two, "{} differs", name.display());
    }
}

#[test]
fn the_microscope_of_the_readme_shows_what_it_says() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = fs::read_to_string(readme).expect("the README");
    let script = between(&readme, "$ cat five.ops\n", "$ fsage age five.ops");
    let after = between(&readme, "$ fsage age five.ops ", "```");
    let (args, expected) = after
        .split_once('\n')
        .expect("a command line and its output");
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("five.ops"), script).expect("the script");
    let run = fsage(folder.path(), &format!("age five.ops {args}"));
    assert_eq!(text(&run), expected);
}

fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let start = text.find(from).unwrap_or_else(|| panic!("no `{from}`")) + from.len();
    let length = text[start..]
        .find(to)
        .unwrap_or_else(|| panic!("no `{to}`"));
    &text[start..start + length]
}

#[test]
fn the_demo_ends_well_with_any_repository_and_is_replaced_by_the_next() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = folder.path();
    repository(at);
    for _ in 0..2 {
        let shown = text(&fsage(at, "--quiet demo --git repo -o d"));
        for word in [
            "Beside the paper",
            "0.766",
            "0.899",
            "The git history of repo",
            "realloc",
        ] {
            assert!(shown.contains(word), "no `{word}` in the demo");
        }
        // The very end says where the reports are, as a path and as a link.
        let end: Vec<&str> = shown.lines().rev().take(4).collect();
        for (lines, page) in end
            .chunks(2)
            .zip(["d/git/report.html", "d/home/report.html"])
        {
            assert!(lines[1].ends_with(page), "{end:?}");
            let path = at.canonicalize().expect("a folder").join(page);
            assert_eq!(lines[0].trim_start(), format!("file://{}", path.display()));
            let page = fs::read_to_string(path).expect("a report");
            assert!(page.contains("realloc"));
        }
        let bars = fs::read_dir(at.join("d/home"))
            .expect("a run")
            .filter(|entry| {
                let folder = entry.as_ref().expect("an entry").path();
                folder.join("bench/sequential.parquet").is_file()
            });
        assert_eq!(
            bars.count(),
            2,
            "both targets of the home directories are benchmarked"
        );
    }
    fsage(at, "measure d/home");
    fsage(at, "measure d/git");
}

#[test]
fn every_command_has_help() {
    let here = Path::new(".");
    let help = text(&fsage(here, "--help"));
    for verb in [
        "generate",
        "age",
        "measure",
        "inspect",
        "convert",
        "diff",
        "verify-method",
        "reproduce",
        "demo",
        "compare",
        "run",
        "report",
        "check",
        "targets",
        "completions",
        "man",
    ] {
        assert!(help.contains(verb), "{verb}");
        assert!(
            text(&fsage(here, &format!("{verb} --help"))).len() > 200,
            "{verb}"
        );
    }
}

#[test]
fn a_preset_that_is_shown_makes_the_same_workload_as_by_name() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = folder.path();
    let listed = text(&fsage(at, "generate profile --list"));
    assert!(
        listed.contains("smith96") && listed.lines().count() > 10,
        "{listed}"
    );
    let toml = text(&fsage(at, "generate profile --show mail-spool"));
    fs::write(at.join("my.toml"), toml).expect("a file");
    for (name, output) in [("mail-spool", "a.ops"), ("my.toml", "b.ops")] {
        let run = format!(
            "generate profile {name} --days 3 --capacity 32M --utilization 60 -o {output} --json"
        );
        let json: serde_json::Value = serde_json::from_str(&text(&fsage(at, &run))).expect("JSON");
        let off = json["summary"]["utilization_deviation_percent"].as_f64();
        assert!(off.is_some_and(|off| off <= 0.5), "{json}");
    }
    // The pragma of the generator tells the name.
    let events = |file: &str| {
        let all = fs::read_to_string(at.join(file)).expect("a workload");
        let kept: Vec<String> = all
            .lines()
            .filter(|l| !l.starts_with("#!"))
            .map(String::from)
            .collect();
        kept
    };
    assert_eq!(events("a.ops"), events("b.ops"));
}
