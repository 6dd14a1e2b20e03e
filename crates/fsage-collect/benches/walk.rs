//! A walk against `find -printf` of nine fields, over the same tree in interleaved rounds.
//!
//! `FSAGE_BENCH_TREE` names the tree (`/usr`), `FSAGE_BENCH_ROUNDS` the rounds (5). Prints medians of wall
//! clock and processor time, and their ratios. The rows of the walk go nowhere, but in the last line, which is what
//! `fsage snapshot` does: free space is asked for, and all is stored.

use fsage_collect::{WalkOptions, walk_path};
use fsage_core::SinkError;
use fsage_core::snapshot::{Inode, SnapshotInfo, SnapshotSink};
use fsage_data::snapshot::{Form, SnapshotOutput};
use std::env;
use std::fs;
use std::num::NonZero;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

const FIELDS: &str = "%i\\t%y\\t%s\\t%b\\t%n\\t%m\\t%C@\\t%T@\\t%p\\0";

struct Nowhere;

impl SnapshotSink for Nowhere {
    fn snapshot(&mut self, _: SnapshotInfo) -> Result<(), SinkError> {
        Ok(())
    }

    fn inode(&mut self, inode: Inode) -> Result<(), SinkError> {
        std::hint::black_box(inode);
        Ok(())
    }
}

/// Processor time in ticks of 10 ms, of this process or of its children that ended.
fn ticks(children: bool) -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split(' ')
        .collect();
    let first = if children { 14 } else { 12 };
    let times = fields.iter().skip(first).take(2);
    times.map(|ticks| ticks.parse::<f64>().unwrap_or(0.0)).sum()
}

/// Wall clock and processor time, in seconds.
fn timed(children: bool, work: impl FnOnce()) -> [f64; 2] {
    let (start, before) = (Instant::now(), ticks(children));
    work();
    [
        start.elapsed().as_secs_f64(),
        (ticks(children) - before) / 100.0,
    ]
}

fn median(times: &[[f64; 2]], at: usize) -> f64 {
    let mut times: Vec<f64> = times.iter().map(|time| time[at]).collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() {
    let tree = env::var("FSAGE_BENCH_TREE").unwrap_or_else(|_| "/usr".to_owned());
    let rounds = env::var("FSAGE_BENCH_ROUNDS")
        .ok()
        .and_then(|n| n.parse().ok());
    let rounds = rounds.unwrap_or(5).max(1);
    let find = || {
        let mut find = Command::new("find");
        find.args([&tree, "-xdev", "-printf", FIELDS])
            .stdout(Stdio::null());
        assert!(find.status().is_ok_and(|status| status.success()), "find");
    };
    let walk = |threads| {
        let options = WalkOptions {
            threads,
            // `find` writes nothing out either, and knows no free space.
            sync: false,
            free_map: false,
            ..WalkOptions::default()
        };
        let report = walk_path(Path::new(&tree), &options, &mut Nowhere, &mut |_, _| Ok(()));
        report.map_or(0, |report| report.rows)
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let output = folder.path().join("s.parquet");
    let store = || {
        let mut output = SnapshotOutput::create(&output, Form::Full, true).expect("a file");
        let options = WalkOptions {
            sync: false,
            ..WalkOptions::default()
        };
        let report = walk_path(Path::new(&tree), &options, &mut output, &mut |_, _| Ok(()));
        let report = report.expect("a snapshot");
        let free = report.free.as_deref();
        let completed = output.complete_snapshot(report.info, free);
        completed.and_then(|()| output.finish()).expect("a file");
    };
    let all = WalkOptions::default().threads;
    find();
    println!("{tree}: {} names, {rounds} rounds", walk(all));
    let mut times: [Vec<[f64; 2]>; 4] = Default::default();
    for _ in 0..rounds {
        times[0].push(timed(true, find));
        times[1].push(timed(false, || _ = walk(NonZero::<usize>::MIN)));
        times[2].push(timed(false, || _ = walk(all)));
        times[3].push(timed(false, store));
    }
    let names = [
        "find".to_owned(),
        "1 thread".to_owned(),
        format!("{all} threads"),
        "stored".to_owned(),
    ];
    for (name, times_of) in names.iter().zip(&times) {
        let [wall, cpu] = [0, 1].map(|at| median(times_of, at));
        let [to_wall, to_cpu] = [wall / median(&times[0], 0), cpu / median(&times[0], 1)];
        println!(
            "{name:10} wall {wall:.3} s ({to_wall:.2} x find)  processor {cpu:.3} s ({to_cpu:.2} x find)"
        );
    }
}
