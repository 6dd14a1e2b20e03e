//! Workloads made larger.

use super::random::{DAY, Recorded, Style, workload};
use super::{header, replay, style};
use fsage_core::{DirId, Event, Op, TQuality, WorkloadHeader};
use fsage_workload::clones::{Clones, ClonesSummary};
use std::collections::{BTreeMap, BTreeSet};

fn scale(factor: f64, seed: u64, events: &[Event]) -> (Vec<Event>, ClonesSummary) {
    let clones = Clones::scaled(factor, seed).unwrap();
    let mut out = Vec::new();
    let open = || Ok(Recorded(header(), events.iter()));
    let summary = clones.interleave(open, &mut out).unwrap();
    (out, summary)
}

#[test]
fn whole_copies_are_the_workload_so_many_times() {
    for seed in 0..30 {
        let events = workload(style(seed));
        let single = replay(&events, "single", |_, _| {}).files_and_sizes();
        let (all, summary) = scale(3.0, seed, &events);
        let end = replay(&all, &format!("seed {seed}"), |_, _| {}).files_and_sizes();
        if style(seed).groups.is_some() {
            assert_eq!(summary.groups, Some(15));
            let sizes = |files: &BTreeSet<(String, u64)>| {
                let mut sizes: Vec<u64> = files.iter().map(|(_, size)| *size).collect();
                sizes.sort_unstable();
                sizes
            };
            let mut three = [sizes(&single), sizes(&single), sizes(&single)].concat();
            three.sort_unstable();
            assert_eq!(sizes(&end), three, "seed {seed}");
        } else {
            let copies = (1..=3).flat_map(|n| {
                let files = single.iter();
                files.map(move |(path, size)| (format!("clone-{n}/{path}"), *size))
            });
            assert_eq!(end, copies.collect(), "seed {seed}");
        }
        // The days are those of the workload, and all is done when they end.
        let days = |events: &[Event]| -> Vec<Event> {
            let days = events.iter().filter(|e| e.op == Op::Day);
            days.cloned().collect()
        };
        assert_eq!(days(&all), days(&events));
        assert_eq!(all.last().unwrap().op, Op::Day);
        assert!(scale(3.0, seed, &events).0 == all, "seed {seed}");
    }
}

#[test]
fn copies_are_moved_back_by_less_than_a_day() {
    let events = workload(style(5));
    let (all, _) = scale(4.0, 9, &events);
    let times = |copy: u64| -> Vec<i64> {
        let made = all.iter().filter_map(|e| match e.op {
            Op::Create { file, .. } if file.0 % 4 == copy => e.t_ns,
            _ => None,
        });
        made.collect()
    };
    let first = times(0);
    let mut shifts = BTreeSet::new();
    for copy in 1..4 {
        let moved: BTreeSet<i64> = times(copy).iter().zip(&first).map(|(t, f)| f - t).collect();
        assert_eq!(moved.len(), 1);
        let by = moved.first().copied().unwrap();
        assert!(by > 0 && by < DAY);
        shifts.insert(by);
    }
    assert_eq!(shifts.len(), 3);
    let shifted = all
        .iter()
        .filter(|e| e.t_quality == Some(TQuality::Shifted));
    let unmoved = all.iter().filter(|e| e.t_quality == Some(TQuality::Exact));
    assert_eq!(shifted.count(), 3 * unmoved.count());
}

#[test]
fn copies_of_groups_are_further_groups() {
    let events = workload(style(4));
    let (all, _) = scale(3.0, 1, &events);
    // All of them first, in order.
    for (group, event) in (1..15).zip(&all) {
        let op = Op::Mkdir {
            dir: DirId(group),
            parent: Some(DirId::ROOT),
        };
        assert_eq!((event.op, &event.name), (op, &None));
    }
    let mut files = BTreeMap::<u64, u64>::new();
    for event in &all {
        if let Op::Create { file, dir, .. } = event.op {
            assert_eq!(event.hint_group, Some(dir.0 as u32));
            assert_eq!(dir.0 / 5, file.0 % 3, "copy c has the groups 5c to 5c+4");
            *files.entry(dir.0).or_default() += 1;
        }
    }
    for group in 0..5 {
        assert!(files[&group] > 0);
        assert_eq!(files[&group], files[&(group + 5)]);
        assert_eq!(files[&group], files[&(group + 10)]);
    }
}

#[test]
fn a_fraction_is_that_share_of_groups() {
    let events = workload(style(8));
    for (factor, groups) in [(0.4, 2), (1.6, 8), (2.2, 11)] {
        let (all, summary) = scale(factor, 3, &events);
        assert_eq!(summary.groups, Some(groups), "{factor}");
        replay(&all, &format!("{factor}"), |_, _| {});
        let used = all.iter().filter_map(|e| match e.op {
            Op::Create { dir, .. } => Some(dir.0),
            _ => None,
        });
        let used: BTreeSet<u64> = used.collect();
        assert_eq!(used, (0..groups).collect());
    }
}

#[test]
fn a_fraction_is_a_share_of_the_directories_in_the_root() {
    let mut moved = 0;
    for seed in 1..80 {
        let style = Style {
            groups: None,
            ..style(seed)
        };
        let events = workload(style);
        let single = replay(&events, "single", |_, _| {});
        let bytes =
            |files: &BTreeSet<(String, u64)>| -> u64 { files.iter().map(|(_, size)| *size).sum() };
        for factor in [0.5, 1.3] {
            let (all, summary) = scale(factor, seed, &events);
            let what = format!("seed {seed}, {factor} times");
            let end = replay(&all, &what, |_, _| {});
            moved += summary.border_moves;
            let last = format!("clone-{}/", copies_of(factor));
            let files = end.files_and_sizes();
            let part: BTreeSet<(String, u64)> = files
                .iter()
                .filter_map(|(path, size)| Some((path.strip_prefix(&last)?.to_owned(), *size)))
                .collect();
            if !style.moves {
                // Whole directories of the root, exactly as they are.
                let tops =
                    |files: &BTreeSet<(String, u64)>| -> BTreeMap<String, Vec<(String, u64)>> {
                        let mut tops = BTreeMap::<String, Vec<(String, u64)>>::new();
                        for (path, size) in files {
                            let top = path.split_once('/').map_or("", |(top, _)| top);
                            let top = tops.entry(top.to_owned()).or_default();
                            top.push((path.clone(), *size));
                        }
                        tops
                    };
                let (wanted, got) = (tops(&single.files_and_sizes()), tops(&part));
                for (top, files) in &got {
                    assert_eq!(files, &wanted[top], "{what}");
                }
                // As near to the share as the largest directory lets it be.
                let share = factor - (copies_of(factor) - 1) as f64;
                let whole = bytes(&single.files_and_sizes()) as f64;
                let largest = wanted.values().map(|f| f.iter().map(|f| f.1).sum::<u64>());
                let off = (bytes(&part) as f64 - share * whole).abs();
                assert!(off <= largest.max().unwrap() as f64, "{what}");
            }
            assert!(scale(factor, seed, &events).0 == all, "{what}");
        }
    }
    assert!(moved > 0, "no workload moved anything over the border");
}

fn copies_of(factor: f64) -> u64 {
    factor.ceil() as u64
}

#[test]
fn the_header_grows_with_the_workload() {
    let single = WorkloadHeader {
        capacity_bytes: Some(1000),
        group_count: Some(10),
        block_bytes: Some(8192),
        source: Some("snapshots".to_owned()),
        ..header()
    };
    let larger = Clones::scaled(2.5, 7).unwrap().header(&single);
    assert_eq!(larger.capacity_bytes, Some(2500));
    assert_eq!(larger.group_count, Some(25));
    assert_eq!(larger.block_bytes, Some(8192));
    assert_eq!(larger.epoch_unix_s, single.epoch_unix_s);
    assert_eq!(larger.source.as_deref(), Some("snapshots, 2.5 times"));
}
