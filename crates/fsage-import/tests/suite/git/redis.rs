//! A real history of 9,083 steps, compared with the reference import of it, event by event.
//!
//! The repository itself is not kept; it is made anew for each view from the reference's paths and times, with
//! contents that are short (the size modulo 1,000) and differ at every change. Commits without a visible change
//! cannot be known from the reference, so their days are left out of the comparison.

use super::repo::{Repo, options, try_import};
use fsage_core::{Event, Op};
use fsage_import::git::View;
use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::io::Write as _;
use std::path::PathBuf;

fn read(name: &str) -> Option<String> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/data/gitops")
        .join(name);
    let Ok(file) = std::fs::File::open(&path) else {
        // Straight to stderr, which the test runner does not capture.
        let _ = writeln!(
            std::io::stderr(),
            "skipped: {} is not there",
            path.display()
        );
        return None;
    };
    let mut text = String::new();
    flate2::read::GzDecoder::new(file)
        .read_to_string(&mut text)
        .unwrap();
    Some(text)
}

fn short(bytes: u64) -> u64 {
    16 + bytes % 1000
}

/// The reference's lines with their times, sizes shortened, without `day`.
fn reference(text: &str) -> Vec<String> {
    let mut at = String::new();
    let mut lines = Vec::new();
    for line in text.lines().filter(|l| !l.starts_with('#')) {
        let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        if words[0].starts_with('@') {
            at = words.remove(0);
        }
        match words[0].as_str() {
            "create" => words[3] = short(words[3].parse().unwrap()).to_string(),
            "rewrite" => words[2] = short(words[2].parse().unwrap()).to_string(),
            "day" => continue,
            _ => {}
        }
        lines.push(format!("{at} {}", words.join(" ")));
    }
    lines
}

fn line(event: &Event) -> Option<String> {
    let text = match event.op {
        Op::Mkdir { dir, parent } => format!("mkdir {dir} {}", parent.unwrap()),
        Op::Create { file, dir, bytes } => format!("create {file} {dir} {bytes}"),
        Op::Rewrite { file, bytes } => format!("rewrite {file} {bytes}"),
        Op::Delete { file } => format!("delete {file}"),
        Op::Day => return None,
        other => panic!("{other:?}"),
    };
    Some(format!("@{} {text}", event.t_ns.unwrap() / 1_000_000_000))
}

/// Input of `git fast-import`: a commit wherever the reference gives a new time, or where its order within one
/// second (deletions by path, then all others by path, each path once) shows that the next commit begins.
fn fast_import(view: View, ops: &str, files: &str) -> Vec<u8> {
    let paths: HashMap<&str, &str> = files
        .lines()
        .skip(1)
        .map(|l| {
            let mut fields = l.splitn(4, ',');
            let id = fields.next().unwrap();
            (id, fields.nth(2).unwrap().trim_matches('"'))
        })
        .collect();
    let mut out = Vec::new();
    let mut touched = HashSet::new();
    let mut at = "";
    let mut before = None;
    for (n, line) in ops.lines().filter(|l| !l.starts_with('#')).enumerate() {
        let mut words: Vec<&str> = line.split(' ').collect();
        if let Some(time) = words[0].strip_prefix('@') {
            at = time;
            before = None;
            words.remove(0);
        }
        let size = match words[0] {
            "create" => Some(words[3]),
            "rewrite" => Some(words[2]),
            "delete" => None,
            _ => continue,
        };
        let path = paths[words[1]];
        let place = Some((size.is_some(), path));
        let out_of_order = place <= before || touched.contains(path);
        if before.is_none() || (view == View::Commit && out_of_order) {
            let head = format!("commit refs/heads/main\ncommitter a <a> {at} +0000\ndata 0\n");
            out.extend(head.bytes());
            touched.clear();
        }
        before = place;
        touched.insert(path);
        let change = match size {
            None => format!("D {path}\n"),
            Some(bytes) => {
                let length = short(bytes.parse().unwrap()) as usize;
                format!("M 100644 inline {path}\ndata {length}\n{n:0length$}\n")
            }
        };
        out.extend(change.bytes());
    }
    out
}

fn compare(view: View, name: &str) -> Option<()> {
    let ops = read(&format!("redis.{name}.ops.gz"))?;
    let files = read(&format!("redis.{name}.files.csv.gz"))?;
    let r = Repo::new();
    r.git_with_input(
        &["fast-import", "--quiet"],
        &fast_import(view, &ops, &files),
    );
    let (events, summary) = try_import(&r.path, &options(view)).unwrap();
    let ours: Vec<String> = events.iter().filter_map(line).collect();
    let expected = reference(&ops);
    for (n, (a, b)) in ours.iter().zip(&expected).enumerate() {
        assert_eq!(a, b, "operation {n}, {view:?}");
    }
    assert_eq!(ours.len(), expected.len());
    // Published with the reference: mkdir, create, rewrite, delete, of these replacements.
    let s = &summary;
    let counts = [s.mkdirs, s.creates, s.rewrites, s.deletes, s.replacements];
    let published = match view {
        View::Commit => [158, 2440, 21_976, 817, 0],
        View::Day => [144, 19_568, 0, 17_945, 17_406],
    };
    assert_eq!(counts, published);
    assert_eq!(s.times_going_down, u64::from(view == View::Commit));
    assert_eq!((s.live_files, s.most_live_files), (1623, 1623));
    assert_eq!((s.live_files, s.live_bytes), r.files_at_head());
    Some(())
}

#[test]
fn redis_by_commits_is_imported_as_the_reference_does_it() {
    compare(View::Commit, "commit");
}

#[test]
fn redis_by_days_is_imported_as_the_reference_does_it() {
    compare(View::Day, "day");
}
