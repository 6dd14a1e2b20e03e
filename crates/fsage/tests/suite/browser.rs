//! Reports in a browser: makes some with the built fsage, and lets `tests/browser` look at them with Chromium.
//!
//! Skipped with a line where there is no Chromium, or no Python environment to drive it and none can be made.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A name as hostile as one can be: it would run, were it not escaped.
const EVIL: &str = "<img src=x onerror=window.evil=1>\"'&";

/// Ten years with a handful of operations a day, on 5 MB.
const YEARS: &str = r#"
summary = "ten years, a handful of operations a day"
source = "made up for a test"

[profile]
days = 3650
capacity_bytes = "5M"
operations_per_day = 6
utilization = [[0.0, 0.3], [0.5, 0.8], [1.0, 0.7]]
size = { kind = "log-normal", median = 12000, sigma = 1.2 }
"#;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn say(line: &str) {
    // Not `eprintln!`, which the test harness would swallow.
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// A browser of this machine.
fn chromium() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let mut files =
        std::env::split_paths(&path).flat_map(|folder| names.map(|name| folder.join(name)));
    files.find(|file| file.is_file())
}

/// The Python of the environment with playwright, or why there is none.
fn python() -> Result<PathBuf, String> {
    let made = Command::new(root().join("scripts/tools.sh"))
        .arg("browser")
        .output()
        .map_err(|e| format!("scripts/tools.sh: {e}"))?;
    if made.status.success() {
        Ok(root().join("target/tools/browser/bin/python"))
    } else {
        Err(String::from_utf8_lossy(&made.stderr)
            .trim()
            .replace('\n', "; "))
    }
}

fn fsage(at: &Path, args: &[&str]) -> String {
    let run = Command::new(env!("CARGO_BIN_EXE_fsage"))
        .args(args)
        .current_dir(at)
        .output()
        .expect("fsage runs");
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "fsage {args:?}: {said}");
    String::from_utf8(run.stdout).expect("text")
}

fn words(at: &Path, line: &str) -> String {
    let args: Vec<&str> = line.split_whitespace().collect();
    fsage(at, &args)
}

/// Half a month of home directories on two policies, benchmarked.
fn ordinary(at: &Path) {
    words(at, "generate profile home-1996 --days 15 -o home.parquet");
    words(
        at,
        "age home.parquet --on ffs --on ffs:policy=realloc -o run",
    );
    words(at, "bench run --size 16K,64K,1M --repetitions 3");
    words(at, "report run -o run.html");
    fs::write(at.join("run.json"), words(at, "measure run --json")).expect("a file");
}

fn ten_years(at: &Path) {
    fs::write(at.join("years.toml"), YEARS).expect("a file");
    words(at, "generate profile years.toml -o years.parquet");
    let mut age = "age years.parquet -o ten".to_owned();
    for policy in ["orig", "realloc", "noswitch", "noswitch-seq", "smartfrag"] {
        for more in ["", ",nrpos=1"] {
            age += " --on ffs:preset=tiny,policy=";
            age += policy;
            age += more;
        }
    }
    words(at, &age);
    words(at, "report ten -o ten.html");
}

/// Every name that a report could show: of files, directories, the workload, the run and a target.
fn hostile(at: &Path) {
    let script = "mkdir 1 \"<script>window.evil=2<\"\n\
                  create 1 1 90000 \"script>\\x0a\\\"'&\"\n\
                  create 2 1 90000 \"\\xff\\xfe<img src=x onerror=window.evil=3>\"\n\
                  day 1\ncreate 3 1 90000 \"\\x0a]]>--><\"\nday 2\n";
    let workload = format!("{EVIL}.ops");
    fs::write(at.join(&workload), script).expect("a file");
    let run = format!("{EVIL}\n run");
    fsage(
        at,
        &[
            "age",
            &workload,
            "--on",
            "ffs:preset=tiny",
            "--on",
            "ffs:preset=small",
            "-o",
            &run,
        ],
    );
    fsage(at, &["report", &run, "-o", "hostile.html"]);
}

/// A run that was stopped by Ctrl-C while it aged.
fn interrupted(at: &Path) {
    words(at, "generate profile home-1996 --days 200 -o long.parquet");
    let mut age = Command::new(env!("CARGO_BIN_EXE_fsage"))
        .args("age long.parquet --on ffs --on ffs:policy=realloc -o interrupted".split(' '))
        .current_dir(at)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("fsage runs");
    let began = Instant::now();
    while !at.join("interrupted/run.json").exists() && began.elapsed() < Duration::from_secs(300) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let id = age.id().to_string();
    let kill = Command::new("kill").args(["-s", "INT", &id]).status();
    assert!(kill.expect("kill runs").success());
    let status = age.wait().expect("fsage ends");
    assert_eq!(status.code(), Some(3), "it was done before it was stopped");
    words(at, "report interrupted -o interrupted.html");
}

#[test]
fn reports_work_in_a_browser() {
    let Some(chromium) = chromium() else {
        say(
            "skipped: reports in a browser: there is no Chromium; as root, `scripts/setup.sh browser` installs it",
        );
        return;
    };
    let python = match python() {
        Ok(python) => python,
        Err(why) => {
            say(&format!("skipped: reports in a browser: {why}"));
            return;
        }
    };
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    ordinary(at);
    let page = fs::read_to_string(at.join("run.html")).expect("a page");
    if page.contains("this fsage was built without Vega") {
        return say(
            "skipped: reports in a browser: there is no Vega; `scripts/vega.sh` fetches it",
        );
    }
    ten_years(at);
    hostile(at);
    interrupted(at);
    let tests = Command::new(python)
        .args("-m pytest -q -rP --tb=short -p no:cacheprovider tests/browser".split(' '))
        .current_dir(root())
        .env("FSAGE_PAGES", at)
        .env("FSAGE_CHROMIUM", chromium)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .expect("Python runs");
    let printed = String::from_utf8_lossy(&tests.stdout);
    let said = String::from_utf8_lossy(&tests.stderr);
    assert!(tests.status.success(), "{printed}\n{said}");
    for line in printed
        .lines()
        .filter(|line| line.contains(" x 3650 days") || line.contains(" passed"))
    {
        say(line);
    }
}
