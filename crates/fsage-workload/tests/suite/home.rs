//! The ten-month home directories, counted again from their events and compared with what was published.

use fsage_core::{DirId, Event, EventSink, FileId, Op, Origin, SinkError};
use fsage_workload::home::{Home, HomeSummary};
use fsage_workload::preset::{Generator, Preset};
use std::collections::HashMap;

const DAY_NS: i64 = 86_400_000_000_000;
const MB: f64 = 1_048_576.0;
/// The data space of the 502 MB file system, in fragments of 1 KB (its own figure, `dsize`).
const DSIZE: u64 = 514_055;

struct LiveFile {
    dir: DirId,
    bytes: u64,
    modified_day: i64,
    created_ns: i64,
    short_lived: bool,
}

/// An accountant who knows nothing of the generator and checks every event.
#[derive(Default)]
struct Account {
    files: HashMap<FileId, LiveFile>,
    /// Entries of every directory, and its parent.
    dirs: HashMap<DirId, (u64, Option<DirId>)>,
    operations: u64,
    short_lived_operations: u64,
    created: u64,
    gone_within_30_s: u64,
    bytes: u64,
    used_kb: u64,
    peak_kb: u64,
    initial_kb: u64,
    days: Vec<u64>,
    t_ns: i64,
    hash: u64,
}

/// Allocated space in KB with 8 KB blocks and 1 KB fragments: block by block, as they are mapped.
fn allocated_kb(bytes: u64) -> u64 {
    let mut kb = 0;
    let mut block = 0;
    while block * 8192 < bytes {
        let here = (bytes - block * 8192).min(8192);
        kb += if block < 12 && bytes <= 12 * 8192 {
            here.div_ceil(1024)
        } else {
            8
        };
        if block >= 12 && (block - 12) % 2048 == 0 {
            kb += 8; // an indirect block
        }
        if block == 12 + 2048 {
            kb += 8; // the double indirect block
        }
        block += 1;
    }
    kb
}

impl Account {
    fn new() -> Account {
        Account {
            dirs: HashMap::from([(DirId::ROOT, (0, None))]),
            used_kb: 1,
            hash: 0xcbf2_9ce4_8422_2325,
            ..Account::default()
        }
    }

    fn day(&self) -> i64 {
        self.t_ns / DAY_NS + 1
    }

    fn resize(&mut self, file: FileId, bytes: u64) {
        let day = self.day();
        let f = self.files.get_mut(&file).expect("a file that is alive");
        self.used_kb = self.used_kb - allocated_kb(f.bytes) + allocated_kb(bytes);
        f.bytes = bytes;
        f.modified_day = day;
    }

    fn hot(&self, last_days: i64) -> (usize, f64) {
        let end = self.days.len() as i64;
        let hot = self
            .files
            .values()
            .filter(|f| f.modified_day > end - last_days);
        let sizes: Vec<u64> = hot.map(|f| allocated_kb(f.bytes)).collect();
        (sizes.len(), sizes.iter().sum::<u64>() as f64 * 1024.0 / MB)
    }

    fn allocated_mb(&self) -> f64 {
        self.files
            .values()
            .map(|f| allocated_kb(f.bytes))
            .sum::<u64>() as f64
            * 1024.0
            / MB
    }

    fn hash(&mut self, event: &Event) {
        let numbers = match event.op {
            Op::Mkdir { dir, parent } => [dir.0, parent.unwrap().0, 0],
            Op::Rmdir { dir } => [dir.0, 0, 0],
            Op::Create { file, dir, bytes } => [file.0, dir.0, bytes],
            Op::Append { file, bytes } | Op::Rewrite { file, bytes } => [file.0, bytes, 0],
            Op::Delete { file } => [file.0, 0, 0],
            Op::Day => [0, 0, 0],
            other => panic!("home directories have {other:?}"),
        };
        let verb = event.op.verb().as_str().bytes();
        let t_ns = event.t_ns.unwrap().to_le_bytes();
        let numbers = numbers.into_iter().flat_map(u64::to_le_bytes);
        for byte in verb.chain(t_ns).chain(numbers) {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

impl EventSink for Account {
    fn event(&mut self, event: Event) -> Result<(), SinkError> {
        self.hash(&event);
        let t_ns = event.t_ns.expect("a time");
        assert!(t_ns >= self.t_ns, "time goes back at {event:?}");
        self.t_ns = t_ns;
        if event.op == Op::Day {
            let label = self.days.len() as i64 + 1;
            assert_eq!(event.name.as_deref(), Some(label.to_string().as_bytes()));
            assert_eq!(self.day(), label);
            assert!(self.files.values().all(|f| !f.short_lived));
            self.days.push(self.used_kb);
            return Ok(());
        }
        assert_eq!(self.day(), self.days.len() as i64 + 1);
        if self.initial_kb == 0 && event.origin != Some(Origin::Initial) {
            self.initial_kb = self.used_kb;
        }
        let short_lived = event.origin == Some(Origin::ShortLived);
        self.operations += 1;
        self.short_lived_operations += u64::from(short_lived);
        self.bytes += event.op.bytes_written();
        match event.op {
            Op::Mkdir { dir, parent } => {
                self.dirs.get_mut(&parent.unwrap()).expect("a parent").0 += 1;
                assert!(self.dirs.insert(dir, (0, parent)).is_none());
                self.used_kb += 1;
            }
            Op::Rmdir { dir } => {
                let (entries, parent) = self.dirs.remove(&dir).expect("a directory");
                assert_eq!(entries, 0);
                self.dirs.get_mut(&parent.unwrap()).unwrap().0 -= 1;
                self.used_kb -= 1;
            }
            Op::Create { file, dir, bytes } => {
                self.created += 1;
                self.dirs.get_mut(&dir).expect("a directory").0 += 1;
                let made = LiveFile {
                    dir,
                    bytes: 0,
                    modified_day: 0,
                    created_ns: self.t_ns,
                    short_lived,
                };
                assert!(self.files.insert(file, made).is_none());
                self.resize(file, bytes);
            }
            Op::Rewrite { file, bytes } => self.resize(file, bytes),
            Op::Append { file, bytes } => self.resize(file, self.files[&file].bytes + bytes),
            Op::Delete { file } => {
                let f = self.files.remove(&file).expect("a file that is alive");
                assert_eq!(f.short_lived, short_lived);
                assert!(!short_lived || f.created_ns / DAY_NS + 1 == self.day());
                self.gone_within_30_s += u64::from(self.t_ns - f.created_ns < 30_000_000_000);
                self.dirs.get_mut(&f.dir).unwrap().0 -= 1;
                self.used_kb -= allocated_kb(f.bytes);
            }
            other => panic!("home directories have {other:?}"),
        }
        self.peak_kb = self.peak_kb.max(self.used_kb);
        Ok(())
    }
}

fn account(home: &Home, seed: u64) -> (Account, HomeSummary) {
    let mut a = Account::new();
    let summary = home.generate(seed, &mut a).unwrap();
    (a, summary)
}

fn near(what: &str, measured: f64, published: f64, tolerance: f64) {
    let off = (measured - published) / published;
    println!(
        "{what:30} {measured:>14.1} {published:>14.1} {:>+7.2} %",
        off * 100.0
    );
    assert!(
        off.abs() <= tolerance,
        "{what}: {measured}, published {published}"
    );
}

/// Published: Smith and Seltzer 1996; 313 MB is 59.5 MB / 19 %.
#[test]
fn smith96_has_the_published_statistics() {
    let (a, s) = account(&Home::smith96(), 1);
    near("operations", a.operations as f64, 800_000.0, 0.02);
    near("bytes written, GB", a.bytes as f64 / 1e9, 48.6, 0.03);
    near("days", a.days.len() as f64, 300.0, 0.0);
    near("files at the end", a.files.len() as f64, 8774.0, 0.02);
    near("MB allocated at the end", a.allocated_mb(), 313.0, 0.02);
    let (hot, hot_mb) = a.hot(30);
    near("files modified in 30 days", hot as f64, 929.0, 0.15);
    near("MB in them", hot_mb, 59.5, 0.15);
    let percent = |kb: u64| kb as f64 * 100.0 / DSIZE as f64;
    near(
        "utilization at the start, %",
        percent(a.initial_kb),
        9.0,
        0.05,
    );
    let over_70 = a.days.iter().filter(|&&kb| percent(kb) > 70.0).count();
    println!(
        "days over 70 %: {over_70}; most at the end of a day {:.1} %",
        percent(*a.days.iter().max().unwrap())
    );
    println!("most at any moment: {:.1} %", percent(a.peak_kb));
    assert!(over_70 > 200, "{over_70}");
    assert!(percent(a.peak_kb) <= 89.2);
    assert!(a.days.iter().any(|&kb| percent(kb) > 85.0));
    assert!(a.short_lived_operations * 10 > a.operations * 8);

    assert_eq!(s.operations, a.operations);
    assert_eq!(s.bytes_written, a.bytes);
    assert_eq!(s.final_files, a.files.len() as u64);
    assert_eq!(s.final_directories, a.dirs.len() as u64 - 1);
    assert_eq!(s.days_over_70_percent, over_70 as u64);
    assert_eq!(s.hot_files, hot as u64);
    assert_eq!(s.left_out, 0);
}

#[test]
fn other_seeds_meet_them_too() {
    for seed in [2, 3, 1996] {
        let (a, _) = account(&Home::smith96(), seed);
        near("operations", a.operations as f64, 800_000.0, 0.02);
        near("bytes written, GB", a.bytes as f64 / 1e9, 48.6, 0.03);
        near("files at the end", a.files.len() as f64, 8774.0, 0.02);
        near("MB allocated at the end", a.allocated_mb(), 313.0, 0.02);
        let (hot, hot_mb) = a.hot(30);
        near("files modified in 30 days", hot as f64, 929.0, 0.25);
        near("MB in them", hot_mb, 59.5, 0.4);
        assert!(a.peak_kb * 1000 <= DSIZE * 892);
    }
}

/// Published figures: docs/spec/workload.md, section 8; 637 MB = 92.3 MB / 14.5 %.
#[test]
fn home_1997_has_the_published_statistics() {
    let Some(Generator::Home(home)) = Preset::named("home-1997").map(|p| p.generator) else {
        panic!("home-1997 is made by the home generator");
    };
    for seed in [1, 2] {
        let (a, s) = account(&home, seed);
        assert_eq!(a.days.len(), 215);
        assert_eq!(s.initial_permille, 0);
        near("operations", a.operations as f64, 1_300_000.0, 0.02);
        near("bytes written, GB", a.bytes as f64 / 1e9, 87.3, 0.02);
        near("files at the end", a.files.len() as f64, 33_797.0, 0.02);
        near("utilization, tenths", s.final_permille as f64, 650.0, 0.02);
        near("MB allocated at the end", a.allocated_mb(), 637.0, 0.02);
        let (hot, hot_mb) = a.hot(30);
        near("files modified in 30 days", hot as f64, 3207.0, 0.25);
        near("MB in them", hot_mb, 92.3, 0.4);
    }
}

/// The hash changes only on purpose: who changes the workload changes every result made with it.
#[test]
fn smith96_with_seed_1_is_the_workload_it_always_was() {
    let (a, _) = account(&Home::smith96(), 1);
    assert_eq!(
        format!("{:016x} {}", a.hash, a.operations),
        "f5aad2357b5f5e2d 799998"
    );
}

fn home_1997() -> Home {
    match Preset::named("home-1997").map(|p| p.generator) {
        Some(Generator::Home(home)) => *home,
        other => panic!("home-1997 is made by the home generator, not by {other:?}"),
    }
}

#[test]
fn flat_trees_have_fewer_directories_and_a_few_with_thousands_of_files() {
    let over_1000 = |a: &Account| a.dirs.values().filter(|(n, _)| *n > 1000).count();
    let (usual, _) = account(&home_1997(), 1);
    assert_eq!(over_1000(&usual), 0);
    let flat = Home {
        flat_permille: 700,
        ..home_1997()
    };
    for seed in [1, 2] {
        let (a, s) = account(&flat, seed);
        assert!((3..=12).contains(&over_1000(&a)), "{}", over_1000(&a));
        assert!(a.dirs.len() * 2 < usual.dirs.len(), "{}", a.dirs.len());
        near("files at the end", a.files.len() as f64, 33_797.0, 0.02);
        near("utilization, tenths", s.final_permille as f64, 650.0, 0.02);
    }
}

/// Published: 65 to 80 % of all files live for less than 30 seconds (Baker et al. 1991).
#[test]
fn short_lives_are_so_much_shorter_and_nothing_else_is_changed() {
    let home = home_1997();
    let short = Home {
        short_lives_percent: 5,
        ..home.clone()
    };
    let (usual, _) = account(&home, 1);
    let (a, s) = account(&short, 1);
    let share = |a: &Account| a.gone_within_30_s as f64 / a.created as f64;
    assert!(share(&usual) < 0.1, "{}", share(&usual));
    assert!((0.6..0.8).contains(&share(&a)), "{}", share(&a));
    near("operations", a.operations as f64, 1_300_000.0, 0.02);
    near("bytes written, GB", a.bytes as f64 / 1e9, 87.3, 0.02);
    assert_eq!(s.left_out, 0);
    assert!(
        Home {
            short_lives_percent: 101,
            ..home
        }
        .check()
        .is_err()
    );
}

fn part_of_smith96(parts: u64) -> Home {
    let home = Home::smith96();
    let bytes = home.data_space_kb * 1024 / parts;
    home.with_capacity(bytes)
}

#[test]
fn the_capacity_scales_users_files_and_operations_and_its_own_changes_nothing() {
    let home = Home::smith96();
    let same = home.clone().with_capacity(home.data_space_kb * 1024);
    assert_eq!(same, home);
    let twice = home.clone().with_capacity(2 * home.data_space_kb * 1024);
    assert_eq!(
        (twice.users, twice.operations, twice.final_files),
        (8, 1_600_000, 17_548)
    );
    assert_eq!(
        (twice.days, twice.days_on_a_project, &twice.utilization),
        (home.days, home.days_on_a_project, &home.utilization)
    );
    let terabyte = home.with_capacity(1 << 40);
    assert_eq!(terabyte.check(), Ok(()));
    assert_eq!(terabyte.data_space_kb, 1 << 30);
}

#[test]
fn small_ones_follow_the_same_curves() {
    for home in [
        Home::smith96().with_days(20),
        part_of_smith96(10),
        part_of_smith96(5).with_days(60),
        Home::smith96().with_capacity(2 << 30).with_days(60),
    ] {
        let (a, s) = account(&home, 1);
        near(
            "operations",
            a.operations as f64,
            home.operations as f64,
            0.05,
        );
        near(
            "bytes written",
            a.bytes as f64,
            home.bytes_written as f64,
            0.10,
        );
        near("files", a.files.len() as f64, home.final_files as f64, 0.05);
        near("utilization, tenths", s.final_permille as f64, 623.0, 0.02);
        assert!(s.peak_permille <= 895);
    }
}

#[test]
fn the_smallest_and_oddest_end_without_an_error() {
    let mut nothing = Home::smith96().with_days(2);
    nothing.operations = 0;
    nothing.initial_files = 0;
    nothing.users = 0;
    nothing.utilization = Vec::new();
    nothing.files = Vec::new();
    nothing.bursts_a_day = 0;
    for home in [
        Home::smith96().with_days(0),
        part_of_smith96(100_000).with_days(1),
        part_of_smith96(1000).with_days(3),
        nothing,
    ] {
        let (a, _) = account(&home, 7);
        assert_eq!(a.days.len() as u64, home.days);
    }
}
