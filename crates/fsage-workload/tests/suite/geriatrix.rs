//! The profiles that come with Geriatrix, which lie beside the repository, and what the generator makes of them.

use crate::account::Account;
use fsage_core::{Event, EventSink, SinkError};
use fsage_workload::geriatrix::Triple;
use fsage_workload::profile::turnover_ticks;
use proptest::prelude::*;
use std::io::Write;
use std::path::{Path, PathBuf};

fn folder(profile: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/data/geriatrix")
        .join(profile);
    if path.is_dir() {
        return Some(path);
    }
    let _ = writeln!(
        std::io::stderr(),
        "skipped: no profiles of Geriatrix at {}",
        path.display()
    );
    None
}

/// What the workload format says of each, section 9.3: age rows and last cutoff; size rows, mean bytes, bin of the
/// median, percent of at most 8 KB; depth rows, mean depth.
type Row = (&'static str, usize, f64, usize, f64, f64, f64, usize, f64);

const TABLE: [Row; 8] = [
    (
        "agrawal", 10, 122_640.0, 11, 114_306.0, 8192.0, 70.0, 15, 6.9,
    ),
    (
        "douceur",
        20,
        4_718_592.0,
        25,
        45_062.0,
        4096.0,
        69.0,
        16,
        4.5,
    ),
    ("meyer", 24, 48.0, 29, 495_934.0, 4096.0, 63.0, 21, 7.0),
    ("wang_os", 10, 8192.0, 15, 91_623.0, 4096.0, 70.0, 1, 0.0),
    (
        "wang_lanl",
        12,
        4096.0,
        11,
        234_081.0,
        131_072.0,
        5.0,
        1,
        0.0,
    ),
    ("dabre", 14, 8192.0, 22, 91_263.0, 1024.0, 83.0, 14, 5.4),
    ("grundman", 9, 3840.0, 22, 116_895.0, 4096.0, 75.0, 26, 7.1),
    (
        "pramod", 16, 32_768.0, 26, 318_771.0, 2048.0, 80.0, 37, 10.4,
    ),
];

fn mean(rows: &[(f64, f64)]) -> f64 {
    rows.iter().map(|r| r.0 * r.1).sum::<f64>() / rows.iter().map(|r| r.1).sum::<f64>()
}

#[test]
fn all_eight_have_the_figures_of_the_format() {
    for (name, ages, last, sizes, mean_bytes, median, small, depths, depth) in TABLE {
        let Some(folder) = folder(name) else { return };
        let t = Triple::read(&folder).expect(name);
        assert_eq!(
            (t.ages.len(), t.sizes.len(), t.depths.len()),
            (ages, sizes, depths),
            "{name}"
        );
        assert!(
            (t.ages.last().expect("rows").0 - last).abs() < 1e-9,
            "{name}"
        );
        assert!(
            (mean(&t.sizes) - mean_bytes).abs() <= 1.0,
            "{name}: {}",
            mean(&t.sizes)
        );
        assert!(
            (mean(&t.depths) - depth).abs() <= 0.05,
            "{name}: {}",
            mean(&t.depths)
        );
        let total: f64 = t.sizes.iter().map(|s| s.1).sum();
        let upto = |bytes: f64| {
            t.sizes
                .iter()
                .filter(|s| s.0 <= bytes)
                .map(|s| s.1)
                .sum::<f64>()
        };
        assert!(
            (upto(8192.0) / total * 100.0 - small).abs() <= 0.5,
            "{name}"
        );
        let bin = t
            .sizes
            .iter()
            .find(|s| upto(s.0) >= total / 2.0)
            .expect("a median");
        assert!((bin.0 - median).abs() < 1e-9, "{name}");
        assert_eq!(
            t.warnings.len(),
            usize::from(name == "grundman"),
            "{:?}",
            t.warnings
        );
        t.profile().check().expect(name);
    }
}

/// docs/spec/workload.md, section 9.3: T = 76.918 K, and what the original program printed for two sizes.
#[test]
fn agrawal_needs_as_many_ticks_as_the_original_says() {
    // Cutoffs and weights of the profile.
    let rows = [
        (10.74, 1.0),
        (31.0, 2.0),
        (85.98, 8.0),
        (240.0, 20.0),
        (687.87, 44.0),
        (1945.59, 75.0),
        (5502.98, 144.0),
        (15_768.0, 146.0),
        (44_023.9, 23.0),
        (122_640.0, 1.0),
    ];
    let total: f64 = rows.iter().map(|r| r.1).sum();
    let ages: Vec<(f64, f64)> = rows
        .iter()
        .map(|r| (r.0 / 122_640.0, r.1 / total))
        .collect();
    assert_eq!(turnover_ticks(&ages, 1_000_000) / 1000, 76_918);
    assert_eq!(turnover_ticks(&ages, 8083), 621_730);
    assert_eq!(turnover_ticks(&ages, 29_811), 2_293_010);
    // Everything in one bucket: the fill alone is enough.
    assert_eq!(turnover_ticks(&[(1.0, 1.0)], 500), 500);
}

struct Nowhere;

impl EventSink for Nowhere {
    fn event(&mut self, _: Event) -> Result<(), SinkError> {
        Ok(())
    }
}

/// The original reached 0.00085 for ages and 0.0001 for the others, with more files.
#[test]
fn their_profiles_converge() {
    for (name, ..) in TABLE {
        let Some(folder) = folder(name) else { return };
        // Some thousands of files each.
        let capacity = if name == "douceur" {
            256 << 20
        } else {
            4 << 30
        };
        let profile = Triple::read(&folder)
            .expect(name)
            .profile()
            .with_capacity(capacity);
        let s = profile
            .generate(1, &mut Nowhere)
            .expect("a sink that never fails");
        let file = 1.0 / s.files as f64;
        let age = s.age.expect("ages").distance();
        let _ = writeln!(
            std::io::stderr(),
            "{name}: {} files, {} operations, age {age:.5}, size {:.5}, depth {:.5}",
            s.files,
            s.operations,
            s.size.distance(),
            s.depth.distance()
        );
        assert!(s.size.distance() < 0.0005 + file, "{name}: {s:?}");
        assert!(s.depth.distance() < 0.0005 + file, "{name}: {s:?}");
        assert!(age < 0.003, "{name}: {s:?}");
        assert!(s.utilization_deviation <= 0.005, "{name}: {s:?}");
    }
}

#[test]
fn they_are_as_full_as_asked_for_every_day() {
    for name in ["wang_os", "agrawal"] {
        let Some(folder) = folder(name) else { return };
        let profile = Triple::read(&folder)
            .expect(name)
            .profile()
            .with_capacity(256 << 20)
            .with_days(20);
        let mut account = Account::new(8192, 1024);
        profile
            .generate(1, &mut account)
            .expect("a sink that never fails");
        let capacity = f64::from(256 << 10);
        for &used in &account.days {
            assert!(
                (used as f64 / capacity - 0.8).abs() <= 0.005,
                "{name}: {used}"
            );
        }
    }
}

/// Path of a file at depth d: `d1/d2/../d<d-1>/d<r>`, r in 1..subdirs; subdirs 0: `d1/../d<d>`.
#[test]
fn directories_form_the_chain_of_the_original() {
    let Some(folder) = folder("grundman") else {
        return;
    };
    let triple = Triple::read(&folder).expect("grundman");
    let profile = triple.profile().with_capacity(64 << 20).with_days(2);
    let mut account = Account::new(8192, 1024);
    profile
        .generate(1, &mut account)
        .expect("a sink that never fails");
    for file in account.files.values() {
        let mut path = Vec::new();
        let mut dir = file.dir;
        while let Some(parent) = account.dirs[&dir].parent {
            let name = account.dirs[&dir].name.clone().expect("a name");
            path.insert(0, String::from_utf8(name.into()).expect("ASCII"));
            dir = parent;
        }
        let Some((last, above)) = path.split_last() else {
            continue;
        };
        for (i, name) in above.iter().enumerate() {
            assert_eq!(*name, format!("d{}", i + 1));
        }
        let depth = path.len();
        let subdirs = triple.directories[depth - 1];
        let r: u64 = last[1..].parse().expect("a number");
        let fits = (1..=subdirs).contains(&r) || (subdirs == 0 && r == depth as u64);
        assert!(fits, "{path:?} of {subdirs}");
    }
}

#[test]
fn a_folder_that_is_none_says_what_it_needs() {
    let empty = tempfile::tempdir().expect("a temporary folder");
    let message = Triple::read(empty.path()).unwrap_err().to_string();
    assert!(message.contains("age_distribution.txt"), "{message}");
    assert!(message.contains("dir_distribution.txt"), "{message}");
}

proptest! {
    /// Any bytes: no panic, and every message is one line.
    #[test]
    fn any_bytes_are_refused_in_one_line_or_make_a_profile(
        files in prop::array::uniform3("[0-9 .\\-\\n]{0,60}|\\PC{0,20}"),
    ) {
        let [ages, sizes, directories] = files.map(String::into_bytes);
        let named = |name: &str, bytes: Vec<u8>| (name.to_owned(), bytes);
        let triple = Triple::parse([named("a", ages), named("s", sizes), named("d", directories)]);
        let message = match triple {
            Ok(triple) => triple.profile().check().err().map(|e| e.to_string()),
            Err(e) => Some(e.to_string()),
        };
        prop_assert!(!message.unwrap_or_default().contains('\n'));
    }
}
