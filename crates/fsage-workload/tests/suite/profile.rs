//! The profile generator, counted again from its events.

use crate::account;
use crate::account::Account;
use fsage_core::{Event, EventSink, SinkError};
use fsage_workload::distribution::Distribution;
use fsage_workload::preset::{Generator, Preset};
use fsage_workload::profile::{Activity, Mix, Profile, ProfileSummary};
use proptest::prelude::*;

pub fn profile(toml: &str) -> Profile {
    let text = format!("summary = \"s\"\nsource = \"s\"\n[profile]\n{toml}");
    match Preset::parse("test", &text).expect("a profile").generator {
        Generator::Profile(profile) => *profile,
        other => panic!("{other:?}"),
    }
}

pub fn run(profile: &Profile, seed: u64) -> (Account, ProfileSummary) {
    let mut account = Account::new(profile.block_bytes, profile.fragment_bytes);
    let summary = profile
        .generate(seed, &mut account)
        .expect("a sink that never fails");
    assert_eq!(summary.operations, account.operations);
    assert_eq!(summary.bytes_written, account.bytes_written);
    assert_eq!(summary.files, account.files.len() as u64);
    assert_eq!(summary.directories, account.dirs.len() as u64 - 1);
    assert_eq!(account.days.len() as u64, profile.days);
    (account, summary)
}

/// Largest distance of the utilization from the curve at the end of a day.
pub fn off_curve(profile: &Profile, account: &Account) -> f64 {
    let capacity = (profile.capacity_bytes / profile.fragment_bytes) as f64;
    let days = account.days.iter().enumerate().map(|(i, &used)| {
        let curve = profile.utilization_at((i + 1) as f64 / profile.days as f64);
        (used as f64 / capacity - curve).abs()
    });
    days.fold(0.0, f64::max)
}

const EVERYTHING: &str = r#"
days = 40
operations_per_day = 2000
capacity_bytes = "256M"
utilization = [[0.0, 0.1], [0.5, 0.98], [0.7, 0.4], [1.0, 0.75]]
size = { kind = "log-normal", median = 4000, sigma = 2.0 }
age = { kind = "points", rows = [[1, 2], [4, 3], [20, 5]] }
depth = { kind = "gamma", mean = 3, shape = 4 }
short_lived = 0.3
interleaved = 0.5
chunk_bytes = "16K"
activity = { week = [1, 1, 1, 1, 1, 0, 0.2], spread = 0.3, quiet_days = 0.1 }

[profile.mix]
turnover = 50
append = 10
overwrite = 5
rewrite = 10
truncate = 5
rename = 5
save = 5
read = 5
fsync = 5
"#;

#[test]
fn the_curve_is_held_from_10_to_98_percent() {
    for percent in [10, 30, 50, 70, 90, 98] {
        let level = f64::from(percent) / 100.0;
        let mut p = profile(EVERYTHING);
        p.utilization = vec![(0.0, level)];
        p.days = 10;
        let (account, summary) = run(&p, 1);
        let off = off_curve(&p, &account);
        assert!(off <= 0.005, "{percent} %: {off}");
        assert!((summary.utilization_deviation - off).abs() < 1e-9);
    }
    let p = profile(EVERYTHING);
    let (account, summary) = run(&p, 2);
    assert!(off_curve(&p, &account) <= 0.005);
    assert!(summary.peak_utilization <= 1.0);
}

#[test]
fn every_kind_of_operation_is_there_in_its_share() {
    let p = profile(EVERYTHING);
    let (account, summary) = run(&p, 3);
    for verb in [
        "mkdir",
        "rmdir",
        "create",
        "append",
        "overwrite",
        "rewrite",
        "truncate",
        "delete",
        "rename",
        "read",
        "fsync",
    ] {
        assert!(
            account.verbs.get(verb).is_some_and(|&n| n > 20),
            "{verb}: {:?}",
            account.verbs
        );
    }
    // As the mix says: as many overwrites as reads, twice as many rewrites; renames and saves are renames.
    let n = |verb: &str| account.verbs[verb] as f64;
    assert!((n("rewrite") / n("read") / 2.0 - 1.0).abs() < 0.15);
    assert!((n("rename") / n("read") / 2.0 - 1.0).abs() < 0.15);
    assert!(summary.short_lived_files > 1000 && summary.interleaved_files > 100);
}

#[test]
fn the_files_at_the_end_have_the_ages_sizes_and_depths_asked_for() {
    let p = profile(
        r#"
days = 50
capacity_bytes = "512M"
utilization = [[0.0, 0.7]]
size = { kind = "hyperexponential", p = 0.786, mean1 = 2048, mean2 = 90692 }
age = { kind = "points", rows = [[1, 20], [5, 30], [25, 30], [50, 20]] }
depth = { kind = "table", rows = [[0, 5], [1, 15], [3, 50], [5, 30]] }
"#,
    );
    let (account, summary) = run(&p, 4);
    let n = account.files.len() as f64;
    let share = |f: &dyn Fn(&account::File) -> bool| {
        account.files.values().filter(|file| f(file)).count() as f64 / n
    };
    let end_ns = 50 * 86_400_000_000_000_i64;
    let days = |file: &account::File| (end_ns - file.born_ns) as f64 / 86_400e9;
    for (from, to, wanted) in [
        (0.0, 1.0, 0.2),
        (1.0, 5.0, 0.3),
        (5.0, 25.0, 0.3),
        (25.0, 51.0, 0.2),
    ] {
        let got = share(&|f| days(f) > from && days(f) <= to);
        assert!((got - wanted).abs() < 0.005, "age {to}: {got}");
    }
    // The published facts that the distribution was fitted to: 79 % under 8 KB, mean 21,018 B.
    let small = share(&|f| f.bytes <= 8192);
    assert!((small - 0.79).abs() < 0.005, "{small}");
    let mean = account.files.values().map(|f| f.bytes).sum::<u64>() as f64 / n;
    assert!((mean / 21_018.0 - 1.0).abs() < 0.03, "{mean}");
    for (depth, wanted) in [(0, 0.05), (1, 0.15), (2, 0.0), (3, 0.5), (5, 0.3)] {
        let got = share(&|f| account.depth(f.dir) == depth);
        assert!((got - wanted).abs() < 0.002, "depth {depth}: {got}");
    }
    assert!(summary.age.expect("ages").distance() < 0.005, "{summary:?}");
    assert!(summary.size.distance() < 0.002, "{summary:?}");
    assert!(summary.depth.distance() < 0.002, "{summary:?}");
}

#[test]
fn directories_keep_to_their_width() {
    let p = profile(
        r#"
days = 30
operations_per_day = 3000
capacity_bytes = "64M"
utilization = [[0.0, 0.05], [0.5, 0.9], [1.0, 0.2]]
size = { kind = "log-normal", median = 4000, sigma = 1.0 }
depth = { kind = "table", rows = [[2, 1], [3, 1]] }
files_per_directory = 20
"#,
    );
    let (account, _) = run(&p, 5);
    let at = |depth: usize| {
        account
            .dirs
            .keys()
            .filter(|&&d| account.depth(d) == depth)
            .count()
    };
    let files = account.files.len() as f64;
    assert!(account.verbs["rmdir"] > 20, "{:?}", account.verbs);
    for depth in [2, 3] {
        let wide = files / 2.0 / at(depth) as f64;
        assert!((5.0..=20.0).contains(&wide), "depth {depth}: {wide}");
    }
}

#[test]
fn files_grow_side_by_side() {
    struct Mixed {
        last: Option<u64>,
        switches: u64,
        appends: u64,
    }
    impl EventSink for Mixed {
        fn event(&mut self, event: Event) -> Result<(), SinkError> {
            if let fsage_core::Op::Append { file, .. } = event.op {
                self.appends += 1;
                self.switches += u64::from(self.last != Some(file.0));
                self.last = Some(file.0);
            }
            Ok(())
        }
    }
    let p = profile(
        r#"
days = 5
operations_per_day = 2000
capacity_bytes = "256M"
utilization = [[0.0, 0.5]]
size = { kind = "table", rows = [[1000000, 1]] }
interleaved = 0.9
"#,
    );
    let mut mixed = Mixed {
        last: None,
        switches: 0,
        appends: 0,
    };
    p.generate(1, &mut mixed).expect("a sink that never fails");
    assert!(mixed.appends > 1000);
    // Were they written one after the other, one piece in fifteen would be of another file.
    assert!(
        mixed.switches * 2 > mixed.appends,
        "{} of {}",
        mixed.switches,
        mixed.appends
    );
}

#[test]
fn the_same_seed_gives_the_same_events_and_another_one_others() {
    let p = profile(EVERYTHING);
    let (a, _) = run(&p, 7);
    let (b, _) = run(&p, 7);
    let (c, _) = run(&p, 8);
    assert_eq!(a.hash, b.hash);
    assert_ne!(a.hash, c.hash);
    // The fill too.
    let mut fill = profile(EVERYTHING);
    fill.days = 1;
    fill.operations_per_day = Some(1);
    assert_ne!(run(&fill, 7).0.hash, run(&fill, 8).0.hash);
}

#[test]
fn a_smaller_or_fuller_one_keeps_to_its_curve_too() {
    let p = profile(EVERYTHING)
        .with_capacity(32 << 20)
        .with_utilization(0.9)
        .with_days(12);
    let (account, summary) = run(&p, 1);
    assert!(off_curve(&p, &account) <= 0.005);
    assert!((summary.utilization - 0.9).abs() <= 0.005);
    assert_eq!(p.operations_per_day, Some(250));
}

fn sizes() -> impl Strategy<Value = Distribution> {
    prop_oneof![
        (1.0..100_000.0_f64, 0.1..3.0_f64)
            .prop_map(|(median, sigma)| Distribution::LogNormal { median, sigma }),
        (1.0..300_000.0_f64, 0.1..10.0_f64)
            .prop_map(|(mean, shape)| Distribution::Gamma { mean, shape }),
        (0.01..1.0_f64, 1.0..10_000.0_f64, 1.0..500_000.0_f64)
            .prop_map(|(p, mean1, mean2)| Distribution::Hyperexponential { p, mean1, mean2 }),
        prop::collection::btree_map(0..3_000_000_u32, 1..100_u32, 1..20).prop_map(|rows| {
            let mut rows: Vec<(f64, f64)> = rows
                .into_iter()
                .map(|(v, w)| (f64::from(v), f64::from(w)))
                .collect();
            // Something must take space.
            rows.push((4_000_000.0, 1.0));
            Distribution::Table(rows)
        }),
    ]
}

pub fn profiles() -> impl Strategy<Value = Profile> {
    let curve = prop::collection::vec(0.0..0.98_f64, 1..6);
    let mix = prop::collection::vec(0..10_u64, 8);
    let block = prop_oneof![
        Just((8192_u64, 1024_u64)),
        Just((4096, 4096)),
        Just((512, 512)),
        Just((65_536, 8192))
    ];
    let depth = prop::collection::btree_map(0..8_u32, 1..10_u32, 1..5);
    let ages = prop::option::of(prop::collection::btree_map(1..100_u32, 1..10_u32, 1..6));
    let shares = (0.0..0.9_f64, 0.0..0.9_f64, 0.0..1.0_f64);
    (
        (
            1..8_u64,
            prop::option::of(1..500_u64),
            34_000_000..80_000_000_u64,
        ),
        block,
        (curve, mix, sizes()),
        (
            depth,
            ages,
            prop::option::of(prop::collection::vec(0..5_u64, 0..6)),
        ),
        shares,
        (0..64_u64, 1..50_u64),
    )
        .prop_map(
            |(time, block, (curve, mix, size), (depth, ages, directories), shares, small)| {
                let n = curve.len() as f64;
                let rows = |map: std::collections::BTreeMap<u32, u32>| {
                    map.into_iter()
                        .map(|(v, w)| (f64::from(v), f64::from(w)))
                        .collect()
                };
                Profile {
                    days: time.0,
                    operations_per_day: time.1,
                    capacity_bytes: time.2,
                    block_bytes: block.0,
                    fragment_bytes: block.1,
                    dirent_bytes: 0,
                    utilization: curve
                        .into_iter()
                        .enumerate()
                        .map(|(i, y)| (i as f64 / n, y))
                        .collect(),
                    size,
                    largest_bytes: None,
                    age: ages.map(|a| Distribution::Points(rows(a))),
                    depth: Some(Distribution::Table(rows(depth))),
                    directories,
                    files_per_directory: small.1,
                    packages: false,
                    staged: false,
                    short_lived: shares.0,
                    short_lived_minutes: 30.0,
                    interleaved: shares.1,
                    chunk_bytes: 16 << 10,
                    hot: 2,
                    append_bytes: 3000,
                    mix: Mix {
                        turnover: 5,
                        append: mix[0],
                        overwrite: mix[1],
                        rewrite: mix[2],
                        truncate: mix[3],
                        rename: mix[4],
                        save: mix[5],
                        read: mix[6],
                        fsync: mix[7],
                    },
                    activity: Activity {
                        spread: 0.5,
                        quiet_days: shares.2,
                        ..Activity::default()
                    },
                }
            },
        )
}

/// Operations after which a test has seen enough.
const ENOUGH: u64 = 150_000;

/// Passes on until there is enough.
struct Limited(Account);

impl EventSink for Limited {
    fn event(&mut self, event: Event) -> Result<(), SinkError> {
        if self.0.operations > ENOUGH {
            return Err("enough".into());
        }
        self.0.event(event)
    }
}

/// The events fit, and every day ends on the curve.
pub fn whatever_holds(p: &Profile, seed: u64) -> Result<(), TestCaseError> {
    p.check().expect("a profile that fits");
    let mut limited = Limited(Account::new(p.block_bytes, p.fragment_bytes));
    let made = p.generate(seed, &mut limited);
    if let Err(e) = &made {
        prop_assert_eq!(e.to_string(), "enough");
    }
    let capacity = (p.capacity_bytes / p.fragment_bytes) as f64;
    let directories = limited.0.dirs.len() as f64;
    for (i, &used) in limited.0.days.iter().enumerate() {
        let curve = p.utilization_at((i + 1) as f64 / p.days as f64);
        let used = used as f64 / capacity;
        // No file at all is the least that there can be.
        let held = (used - curve).abs() <= 0.005 || used <= (directories + 1.0) / capacity;
        prop_assert!(held, "day {}: {} for {}", i + 1, used, curve);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// The accountant checks that every id is alive when it is used, that no directory has a name twice, and that
    /// times go up; here that every day ends on the curve.
    #[test]
    fn whatever_the_profile_the_events_fit_and_the_curve_is_held(p in profiles(), seed in any::<u64>()) {
        whatever_holds(&p, seed)?;
    }
}
