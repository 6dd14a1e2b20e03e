//! The block map, from aging to the page.

use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

fn fsage(at: &Path, args: &str) {
    let run = Command::new(env!("CARGO_BIN_EXE_fsage"))
        .args(args.split_whitespace())
        .current_dir(at)
        .output()
        .expect("fsage runs");
    let message = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "fsage {args}: {message}");
}

/// Files that come and go on so many days.
fn workload(days: u64) -> String {
    let mut text = String::new();
    for day in 0..days {
        for file in 0..8 {
            let id = day * 8 + file + 1;
            let _ = writeln!(text, "create {id} 0 {}", 20_000 + id * 7919 % 50_000);
        }
        if day > 0 {
            let _ = writeln!(text, "delete {}\ndelete {}", day * 8 - 3, day * 8 - 6);
        }
        let _ = writeln!(text, "day d{day}");
    }
    text
}

/// The maps of a page.
fn maps(page: &str) -> Vec<Value> {
    let parts = page
        .split("<script type=\"application/json\" class=\"block-map-data\">")
        .skip(1);
    parts
        .map(|part| {
            let json = part.split("</script>").next().expect("an end");
            serde_json::from_str(json).expect("JSON")
        })
        .collect()
}

/// The disk of `ffs:preset=tiny` is 8 MiB in 8 groups of 128 blocks of 8 KiB (DESIGN.md, 7.1): a cell a block.
#[test]
fn the_page_of_a_run_has_the_disks_of_its_targets_day_by_day() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    fs::write(at.join("w.ops"), workload(12)).expect("a script");
    fsage(
        at,
        "age w.ops --on ffs:preset=tiny --on ffs:preset=tiny,policy=realloc -o run",
    );
    fsage(at, "report run -o page.html");
    let page = fs::read_to_string(at.join("page.html")).expect("a page");
    let maps = maps(&page);
    assert_eq!(maps.len(), 2);
    for (target, map) in maps.iter().enumerate() {
        assert_eq!(map["target"], target);
        assert_eq!(map["days"], serde_json::json!((0..12).collect::<Vec<_>>()));
        assert_eq!(map["labels"][11], "d11");
        assert_eq!(
            (&map["cell_bytes"], &map["cells"]),
            (&8192.into(), &1024.into())
        );
        assert_eq!(map["band_bytes"], 1 << 20);
        assert_eq!(map["group"], "cylinder group");
        // 96 files were made and 22 deleted; the root directory is the one more.
        assert_eq!(map["last"]["files"], 96 - 22 + 1);
        assert_eq!(map["last"]["files_in_all"], 96 - 22 + 1);
        let used = map["utilization"].as_array().expect("shares");
        let used: Vec<f64> = used.iter().map(|u| u.as_f64().expect("a share")).collect();
        assert!(used.is_sorted() && used[0] > 0.0, "{used:?}");
    }
}

#[test]
fn without_a_map_the_page_says_how_to_get_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    fs::write(at.join("w.ops"), workload(2)).expect("a script");
    fsage(at, "age w.ops --on ffs:preset=tiny -o run --no-map");
    fsage(at, "report run -o page.html");
    let page = fs::read_to_string(at.join("page.html")).expect("a page");
    assert_eq!(maps(&page).len(), 0);
    assert!(page.contains("no block map was kept"));
}
