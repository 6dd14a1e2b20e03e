//! Herrin-style aging: against a second, plain simulation of the rule, and against published figures.

use crate::account::Account;
use fsage_core::Op;
use fsage_workload::herrin::{Herrin, HerrinSummary};
use fsage_workload::preset::{Generator, Preset};

fn herrin(name: &str) -> Herrin {
    match Preset::named(name).expect("a preset").generator {
        Generator::Herrin(herrin) => herrin,
        other => panic!("{other:?}"),
    }
}

fn run(herrin: &Herrin, seed: u64) -> (Account, HerrinSummary) {
    let mut account = Account::new(herrin.block_bytes, herrin.block_bytes);
    let summary = herrin
        .generate(seed, &mut account)
        .expect("a sink that never fails");
    assert_eq!(summary.operations, account.operations);
    assert_eq!(summary.files, account.files.len() as u64);
    assert_eq!(account.days.len() as u64, summary.generations);
    let blocks: u64 = account
        .files
        .values()
        .map(|f| f.bytes / herrin.block_bytes)
        .sum();
    assert_eq!(summary.used_blocks, blocks + herrin.directories);
    (account, summary)
}

/// p[j] of docs/spec/workload.md, section 9.1, written as that table has it.
fn p(target: u64, j: u64) -> u64 {
    match (target, j) {
        (50, 0..20) | (70, 0..40) | (90, 0..90) => 100,
        (50, 20..30) | (70, 40..50) => 85,
        (50, 30..45) | (70, 50..65) => 70,
        (50, 45..55) | (70, 65..75) => 50,
        (50, 55..70) | (70, 75..85) => 30,
        (50, 70..80) | (70, 85..90) => 15,
        _ => 0,
    }
}

/// A linear congruential generator, so that not even random numbers are shared with the code under test.
struct Lcg(u64);

impl Lcg {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// The rule as the format states it: mean fullness after filling in percent, mean files, share of creates.
fn simulate(target: u64, seed: u64) -> (f64, f64, f64) {
    let mut sizes = Vec::new();
    for (blocks, entries) in [(1, 68), (2, 11), (3, 5), (4, 4)] {
        sizes.extend(std::iter::repeat_n(blocks, entries));
    }
    sizes.extend([5, 6, 7, 8, 10, 12, 14, 16, 32, 64, 128, 256]);
    assert_eq!(sizes.len(), 100);
    let mut rng = Lcg(seed);
    let mut files: Vec<u64> = Vec::new();
    let mut used = 64;
    let mut step = |files: &mut Vec<u64>, used: &mut u64| {
        let j = *used * 100 / 32_768;
        let r = rng.below(100);
        if r <= p(target, j) {
            let blocks = sizes[rng.below(100) as usize].min(32_768 - *used);
            files.push(blocks);
            *used += blocks;
            1
        } else {
            if !files.is_empty() {
                let i = rng.below(files.len() as u64) as usize;
                *used -= files.swap_remove(i);
            }
            0
        }
    };
    while used * 100 / 32_768 < target {
        for _ in 0..1000 {
            step(&mut files, &mut used);
        }
    }
    let (mut full, mut count, mut creates) = (0.0, 0.0, 0);
    for _ in 0..100 {
        for _ in 0..1000 {
            creates += step(&mut files, &mut used);
        }
        full += used as f64 / 327.68;
        count += files.len() as f64;
    }
    (full / 100.0, count / 100.0, f64::from(creates) / 100_000.0)
}

#[test]
fn the_presets_have_the_published_tables() {
    for target in [50, 70, 90] {
        let h = herrin(&format!("ganger{target}"));
        assert_eq!((h.blocks, h.block_bytes, h.directories), (32_768, 4096, 64));
        assert_eq!(
            (h.target_percent, h.generation_operations, h.generations),
            (target, 1000, 100)
        );
        for j in 0..=100 {
            let row = h.create_percent.iter().find(|c| j < c.0).expect("a row");
            assert_eq!(row.1, p(target, j), "{target} {j}");
        }
        // Mean 6.79 blocks; 68 % at most 4 KB, 79 % at most 8 KB.
        let entries: u64 = h.sizes_blocks.iter().map(|s| s.1).sum();
        let blocks: u64 = h.sizes_blocks.iter().map(|s| s.0 * s.1).sum();
        assert_eq!((entries, blocks), (100, 679));
        let upto = |n: u64| {
            h.sizes_blocks
                .iter()
                .filter(|s| s.0 <= n)
                .map(|s| s.1)
                .sum::<u64>()
        };
        assert_eq!((upto(1), upto(2)), (68, 79));
    }
}

#[test]
fn a_run_behaves_as_the_plain_simulation_of_the_rule() {
    for target in [50, 70, 90] {
        let seeds = 1..=8_u64;
        let n = 8.0;
        let plain = seeds.clone().map(|s| simulate(target, s * 7919));
        let (full, count, creates) =
            plain.fold((0.0, 0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1, a.2 + b.2));
        let (full, count, creates) = (full / n, count / n, creates / n);
        let (mut our_full, mut our_count, mut our_creates) = (0.0, 0.0, 0.0);
        for seed in seeds {
            let (account, s) = run(&herrin(&format!("ganger{target}")), seed);
            let after = &account.days[s.fill_generations as usize..];
            assert_eq!(after.len(), 100);
            // Directories take a block each; the root is none of the 64. Indirect blocks are the accountant's own.
            our_full += s.used_blocks as f64 / 327.68;
            our_count += s.files as f64;
            our_creates += (s.creates as f64 - fill_creates(target, seed)) / 100_000.0;
        }
        let (our_full, our_count, our_creates) = (our_full / n, our_count / n, our_creates / n);
        assert!((our_full - full).abs() < 1.5, "{target}: {our_full} {full}");
        assert!(
            (our_count / count - 1.0).abs() < 0.10,
            "{target}: {our_count} {count}"
        );
        assert!(
            (our_creates - creates).abs() < 0.01,
            "{target}: {our_creates} {creates}"
        );
    }
}

/// Creates of the same run without the hundred generations.
fn fill_creates(target: u64, seed: u64) -> f64 {
    let mut h = herrin(&format!("ganger{target}"));
    h.generations = 0;
    run(&h, seed).1.creates as f64
}

#[test]
fn filling_ends_with_the_generation_that_reaches_the_target() {
    let h = herrin("ganger50");
    let mut events = Vec::new();
    let s = h.generate(3, &mut events).expect("memory");
    let mut sizes = std::collections::HashMap::new();
    let (mut used, mut day) = (64, 0);
    for event in events {
        match event.op {
            Op::Create { file, bytes, .. } => {
                assert_eq!(bytes % 4096, 0);
                sizes.insert(file, bytes / 4096);
                used += bytes / 4096;
            }
            Op::Delete { file } => used -= sizes.remove(&file).expect("alive"),
            Op::Day => {
                day += 1;
                let full = used * 100 / 32_768 >= 50;
                assert!(day > s.fill_generations || full == (day == s.fill_generations));
            }
            _ => {}
        }
    }
    assert_eq!(day, s.fill_generations + 100);
}

/// p = 0 creates when r = 0: one operation in a hundred, where the chance is 0 by the table.
#[test]
fn no_chance_is_still_one_in_a_hundred() {
    let h = Herrin {
        create_percent: vec![(101, 0)],
        target_percent: 0,
        generations: 200,
        ..herrin("ganger50")
    };
    let (_, s) = run(&h, 1);
    assert!((1800..2200).contains(&s.creates), "{}", s.creates);
    assert!(s.nothing_to_delete > 190_000);
}

#[test]
fn other_sizes_keep_the_percentages() {
    let h = herrin("ganger70").with_capacity(512 << 20);
    assert_eq!(h.blocks, 131_072);
    let (_, s) = run(&h, 1);
    // A file of 256 blocks is a five-hundredth of it: it stays about where deletes begin to outweigh creates, 75 %.
    assert!((670..=710).contains(&s.fullness_permille.0), "{s:?}");
    assert!((710..=770).contains(&s.fullness_permille.1), "{s:?}");
    let never = Herrin {
        create_percent: vec![(101, 0)],
        generation_operations: 1,
        directories: 1,
        blocks: 1_000_000_000,
        ..herrin("ganger70")
    };
    let error = never.generate(1, &mut Vec::new()).unwrap_err().to_string();
    assert!(error.contains("raise create_percent"), "{error}");
}
