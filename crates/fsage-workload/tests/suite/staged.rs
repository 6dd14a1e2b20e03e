//! The profile generator where files are written in `tmp` of their directory and renamed into it.

use crate::profile::{off_curve, profile, profiles, run, whatever_holds};
use fsage_core::{DirId, Event, EventSink, FileId, Op, SinkError};
use fsage_workload::profile::{Mix, Profile};
use proptest::prelude::*;
use std::collections::{HashMap, HashSet};

const FOLDERS: &str = r#"
days = 20
operations_per_day = 900
capacity_bytes = "128M"
utilization = [[0.0, 0.2], [1.0, 0.8]]
size = { kind = "log-normal", median = 8000, sigma = 1.8 }
depth = { kind = "table", rows = [[1, 1]] }
directories = [12]
staged = true
short_lived = 0.3
interleaved = 0.5
"#;

/// Checks that every file is made in a `tmp`, flushed when its bytes are there, and moved to the directory above.
#[derive(Default)]
struct Deliveries {
    /// `tmp` directories, with the ones above them.
    above: HashMap<DirId, DirId>,
    /// Files in a `tmp`, and whether they are flushed.
    in_tmp: HashMap<FileId, (DirId, bool)>,
    delivered: HashSet<FileId>,
}

impl EventSink for Deliveries {
    fn event(&mut self, event: Event) -> Result<(), SinkError> {
        match event.op {
            Op::Mkdir { dir, parent } if event.name.as_deref() == Some(b"tmp") => {
                self.above.insert(dir, parent.expect("a parent"));
            }
            Op::Create { file, dir, .. } => {
                assert!(self.above.contains_key(&dir), "made in place: {event:?}");
                self.in_tmp.insert(file, (dir, false));
            }
            Op::Append { file, .. } => {
                let (_, flushed) = self.in_tmp[&file];
                assert!(!flushed, "written after it was flushed: {event:?}");
            }
            Op::Fsync { file } => self.in_tmp.get_mut(&file).expect("in tmp").1 = true,
            Op::Rename { file, dir, .. } => {
                let (tmp, flushed) = self.in_tmp.remove(&file).expect("in tmp");
                assert!(flushed, "moved before it was flushed: {event:?}");
                assert_eq!(dir, self.above[&tmp], "moved elsewhere: {event:?}");
                self.delivered.insert(file);
            }
            Op::Delete { file } => {
                assert!(self.delivered.remove(&file), "never delivered: {event:?}");
            }
            _ => {}
        }
        Ok(())
    }
}

#[test]
fn files_come_through_tmp() {
    let p = profile(FOLDERS);
    let mut all = Deliveries::default();
    let made = p.generate(1, &mut all).expect("a sink that never fails");
    assert_eq!(all.above.len(), 12);
    assert!(all.in_tmp.is_empty(), "{:?}", all.in_tmp);
    assert_eq!(all.delivered.len() as u64, made.files);
    assert!(made.short_lived_files > 1000 && made.interleaved_files > 100);
}

#[test]
fn staged_files_keep_to_the_curve_and_to_what_was_expected() {
    let p = Profile {
        interleaved: 0.0,
        ..profile(FOLDERS)
    };
    let (account, summary) = run(&p, 2);
    assert!(off_curve(&p, &account) <= 0.005);
    let expected = p.expected_operations().expect("a profile that fits") as f64;
    let off = expected / summary.operations as f64 - 1.0;
    assert!(off.abs() < 0.25, "{expected} for {}", summary.operations);
}

#[test]
fn directories_that_come_and_go_are_not_staged() {
    let refused = |directories| {
        let p = Profile {
            directories,
            ..profile(FOLDERS)
        };
        p.check().expect_err("refused").to_string()
    };
    for directories in [None, Some(Vec::new()), Some(vec![1; 64])] {
        let why = refused(directories);
        assert_eq!(
            why,
            "profile: staged: expected `directories` beside it, with 1 to 63 numbers"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn whatever_the_profile_staged_files_fit_and_the_curve_is_held(p in profiles(), seed in any::<u64>()) {
        let p = Profile { staged: true, directories: Some(vec![3, 2, 5]), ..p };
        whatever_holds(&p, seed)?;
    }

    #[test]
    fn whatever_the_profile_files_come_through_tmp(p in profiles(), seed in any::<u64>()) {
        let depth = profile(FOLDERS).depth;
        let p = Profile { staged: true, directories: Some(vec![7]), depth, mix: Mix::default(), ..p };
        let mut all = Deliveries::default();
        p.generate(seed, &mut all).expect("a sink that never fails");
        prop_assert!(all.in_tmp.is_empty());
    }
}
