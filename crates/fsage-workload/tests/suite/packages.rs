//! The profile generator where files come and go by the directory.

use crate::profile::{off_curve, profile, profiles, run, whatever_holds};
use fsage_core::{DirId, Event, EventSink, FileId, Op, SinkError};
use fsage_workload::distribution::Distribution;
use fsage_workload::profile::{Mix, Profile};
use proptest::prelude::*;
use std::collections::HashMap;

const SOFTWARE: &str = r#"
days = 60
operations_per_day = 400
capacity_bytes = "128M"
utilization = [[0.0, 0.2], [0.5, 0.8], [0.6, 0.5], [1.0, 0.7]]
size = { kind = "hyperexponential", p = 0.786, mean1 = 2048, mean2 = 90692 }
depth = { kind = "table", rows = [[1, 20], [3, 80]] }
packages = true
"#;

/// Checks that nothing happens between the first and the last file of a package, when it comes and when it goes.
#[derive(Default)]
struct Whole {
    files: HashMap<FileId, DirId>,
    alive: HashMap<DirId, u64>,
    coming: Option<DirId>,
    going: Option<DirId>,
    installed: u64,
    removed: u64,
    /// Files of the packages installed.
    contents: Vec<u64>,
}

impl EventSink for Whole {
    fn event(&mut self, event: Event) -> Result<(), SinkError> {
        if !matches!(event.op, Op::Delete { .. } | Op::Rmdir { .. }) {
            assert_eq!(
                self.going, None,
                "a package is left half removed: {event:?}"
            );
        }
        match event.op {
            Op::Mkdir { dir, .. } => self.coming = Some(dir),
            Op::Create { file, dir, .. } => {
                assert_eq!(self.coming, Some(dir), "a file comes to an old directory");
                self.files.insert(file, dir);
                let files = self.alive.entry(dir).or_default();
                if *files == 0 {
                    self.installed += 1;
                    self.contents.push(0);
                }
                *files += 1;
                *self.contents.last_mut().expect("a package") += 1;
            }
            Op::Delete { file } => {
                let dir = self.files.remove(&file).expect("a file that is alive");
                assert!(
                    self.going.is_none_or(|going| going == dir),
                    "two packages go at once"
                );
                (self.going, self.coming) = (Some(dir), None);
                *self.alive.get_mut(&dir).expect("a package") -= 1;
            }
            Op::Rmdir { dir } => {
                assert_eq!(self.going.take(), Some(dir));
                assert_eq!(self.alive.remove(&dir), Some(0), "files stay behind");
                self.removed += 1;
            }
            _ => self.coming = None,
        }
        Ok(())
    }
}

#[test]
fn packages_come_and_go_whole() {
    let p = profile(SOFTWARE);
    let mut whole = Whole::default();
    p.generate(1, &mut whole).expect("a sink that never fails");
    assert_eq!(whole.going, None);
    assert!(
        whole.installed > 500 && whole.removed > 300,
        "{} {}",
        whole.installed,
        whole.removed
    );
    // As many files each as the default says, more or less.
    let mean = whole.contents.iter().sum::<u64>() as f64 / whole.installed as f64;
    assert!((14.0..=18.0).contains(&mean), "{mean}");
    assert!(whole.contents.iter().any(|&files| files > 40) && whole.contents.contains(&1));
}

#[test]
fn packages_keep_to_the_curve_the_sizes_and_the_depths() {
    let p = profile(SOFTWARE);
    let (account, summary) = run(&p, 2);
    assert!(off_curve(&p, &account) <= 0.005);
    assert!(summary.size.distance() < 0.01, "{summary:?}");
    assert!(summary.depth.distance() < 0.02, "{summary:?}");
    assert!(summary.cut_files < 5, "{summary:?}");
    let depths = account.files.values().map(|file| account.depth(file.dir));
    assert!(depths.clone().all(|depth| depth == 1 || depth == 3) && depths.count() > 3000);
}

#[test]
fn a_package_is_as_many_operations_as_it_has_files() {
    let mut p = profile(SOFTWARE);
    p.utilization = vec![(0.0, 0.6)];
    p.days = 500;
    p.largest_bytes = Some(100_000);
    for wanted in [5, 50, 500] {
        p.operations_per_day = Some(wanted);
        let (_, summary) = run(&p, 3);
        let own = (summary.operations - summary.fill_operations) as f64 / p.days as f64;
        assert!((own / wanted as f64 - 1.0).abs() < 0.1, "{wanted}: {own}");
    }
}

#[test]
fn the_same_seed_gives_the_same_packages() {
    let p = profile(SOFTWARE);
    assert_eq!(run(&p, 7).0.hash, run(&p, 7).0.hash);
    assert_ne!(run(&p, 7).0.hash, run(&p, 8).0.hash);
}

#[test]
fn what_packages_do_not_go_with_is_refused() {
    let refused = |change: &dyn Fn(&mut Profile)| {
        let mut p = profile(SOFTWARE);
        change(&mut p);
        p.check().expect_err("refused").to_string()
    };
    let at_root = refused(&|p| p.depth = None);
    assert!(
        at_root.contains("expected a `depth` of 1 and more"),
        "{at_root}"
    );
    let partly = refused(&|p| p.depth = Some(Distribution::Table(vec![(0.0, 1.0), (2.0, 9.0)])));
    assert_eq!(partly, at_root);
    let ages = Distribution::Points(vec![(1.0, 1.0)]);
    for (key, change) in [
        (
            "`age`",
            &(|p: &mut Profile| p.age = Some(ages.clone())) as &dyn Fn(&mut Profile),
        ),
        ("`directories`", &|p| p.directories = Some(vec![3])),
        ("`short_lived`", &|p| p.short_lived = 0.1),
        ("`interleaved`", &|p| p.interleaved = 0.1),
        ("`mix.rename`", &|p| p.mix.rename = 1),
    ] {
        let why = refused(change);
        assert!(
            why.starts_with("profile: packages: ") && why.contains(key),
            "{why}"
        );
    }
}

/// Any profile, made one of packages.
fn packaged(p: Profile) -> Profile {
    let below = |(depth, weight): (f64, f64)| (depth + 1.0, weight);
    let depth = match p.depth {
        Some(Distribution::Table(rows)) => {
            Distribution::Table(rows.into_iter().map(below).collect())
        }
        other => panic!("{other:?}"),
    };
    Profile {
        packages: true,
        age: None,
        directories: None,
        short_lived: 0.0,
        interleaved: 0.0,
        depth: Some(depth),
        mix: Mix { rename: 0, ..p.mix },
        ..p
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn whatever_the_profile_its_packages_fit_and_the_curve_is_held(p in profiles(), seed in any::<u64>()) {
        whatever_holds(&packaged(p), seed)?;
    }

    #[test]
    fn whatever_the_profile_packages_are_whole(p in profiles(), seed in any::<u64>()) {
        let p = Profile { mix: Mix::default(), ..packaged(p) };
        let mut whole = Whole::default();
        p.generate(seed, &mut whole).expect("a sink that never fails");
        prop_assert_eq!(whole.going, None);
    }
}
