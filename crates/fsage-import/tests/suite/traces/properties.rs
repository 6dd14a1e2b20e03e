//! What holds for any sequence of calls: the workload replays, and ends with the files that a simple model has.

use super::kit::{import_strace, only_new};
use fsage_import::trace::TraceOptions;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// A call on some of four names in two directories.
#[derive(Clone, Debug)]
enum Step {
    Create(usize),
    Write(usize, u64, u64),
    Truncate(usize, u64),
    Unlink(usize),
    Rename(usize, usize),
}

fn step() -> impl Strategy<Value = Step> {
    let name = 0..8_usize;
    prop_oneof![
        name.clone().prop_map(Step::Create),
        (name.clone(), 0..5000_u64, 1..5000_u64).prop_map(|(n, o, b)| Step::Write(n, o, b)),
        (name.clone(), 0..5000_u64).prop_map(|(n, s)| Step::Truncate(n, s)),
        name.clone().prop_map(Step::Unlink),
        (name.clone(), name).prop_map(|(a, b)| Step::Rename(a, b)),
    ]
}

fn path(name: usize) -> String {
    format!("/w/{}/{}", ["p", "q"][name % 2], name / 2)
}

/// A log of the steps that succeed on an empty file system, and what they leave.
fn run(steps: &[Step]) -> (String, Vec<(String, u64)>) {
    let mut files: BTreeMap<usize, u64> = BTreeMap::new();
    let mut log = String::new();
    for (i, step) in steps.iter().enumerate() {
        let mut line =
            |text: String| log += &["7 ", &i.to_string(), ".000001 ", &text, "\n"].concat();
        match *step {
            Step::Create(n) => {
                let (p, fd) = (path(n), n + 3);
                if files.insert(n, 0).is_none() {
                    let flags = "O_RDWR|O_CREAT|O_EXCL, 0666";
                    line(format!(
                        "openat(AT_FDCWD</w>, \"{p}\", {flags}) = {fd}<{p}>"
                    ));
                } else {
                    let flags = "O_RDWR|O_CREAT|O_TRUNC, 0666";
                    line(format!(
                        "openat(AT_FDCWD</w>, \"{p}\", {flags}) = {fd}<{p}>"
                    ));
                }
            }
            Step::Write(n, offset, bytes) => {
                if let Some(size) = files.get_mut(&n) {
                    *size = (*size).max(offset + bytes);
                    let (p, fd) = (path(n), n + 3);
                    line(format!(
                        "pwrite64({fd}<{p}>, \"\"..., {bytes}, {offset}) = {bytes}"
                    ));
                }
            }
            Step::Truncate(n, size) => {
                if let Some(old) = files.get_mut(&n) {
                    *old = size;
                    line(format!("truncate(\"{}\", {size}) = 0", path(n)));
                }
            }
            Step::Unlink(n) => {
                if files.remove(&n).is_some() {
                    line(format!("unlink(\"{}\") = 0", path(n)));
                }
            }
            Step::Rename(a, b) => {
                if a != b
                    && let Some(size) = files.remove(&a)
                {
                    files.insert(b, size);
                    line(format!("rename(\"{}\", \"{}\") = 0", path(a), path(b)));
                }
            }
        }
    }
    let mut left: Vec<(String, u64)> = files.iter().map(|(&n, &s)| (path(n), s)).collect();
    left.sort();
    (log, left)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_workload_ends_with_the_files_of_the_trace(
        steps in prop::collection::vec(step(), 0..60),
        merge_ms in prop_oneof![Just(0_i64), 0..100_000_i64],
        new in any::<bool>(),
    ) {
        let (log, expected) = run(&steps);
        let mut options = if new { only_new() } else { TraceOptions::default() };
        options.merge_ns = merge_ms * 1_000_000;
        let (_, state, summary) = import_strace(log.as_bytes(), &options).unwrap();
        prop_assert_eq!(state.files(), expected);
        prop_assert_eq!(summary.trace.survivors, state.files().len() as u64);
    }

    #[test]
    fn a_trace_that_begins_in_the_middle_replays_too(
        steps in prop::collection::vec(step(), 1..60),
        cut in 0..60_usize,
        merge_ms in 0..100_000_i64,
    ) {
        let (log, _) = run(&steps);
        let lines: Vec<&str> = log.lines().collect();
        let rest = lines[cut.min(lines.len())..].join("\n");
        let options = TraceOptions {
            merge_ns: merge_ms * 1_000_000,
            ..TraceOptions::default()
        };
        // The import replays what it made, strictly.
        import_strace(rest.as_bytes(), &options).unwrap();
        import_strace(rest.as_bytes(), &only_new()).unwrap();
    }
}
