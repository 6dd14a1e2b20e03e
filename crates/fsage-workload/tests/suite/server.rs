//! Server loads, counted again from their events.

use crate::account::Account;
use fsage_core::Op;
use fsage_workload::preset::{Generator, Preset};
use fsage_workload::server::{Server, ServerSummary};

fn server(name: &str) -> Server {
    match Preset::named(name).expect("a preset").generator {
        Generator::Server(server) => server,
        other => panic!("{other:?}"),
    }
}

fn run(server: &Server, seed: u64) -> (Account, ServerSummary) {
    let mut account = Account::new(8192, 1024);
    let summary = server
        .generate(seed, &mut account)
        .expect("a sink that never fails");
    assert_eq!(summary.operations, account.operations);
    assert_eq!(summary.bytes_written, account.bytes_written);
    assert_eq!(summary.files, account.files.len() as u64);
    (account, summary)
}

/// The parameters as filebench 3.0 publishes them; docs/spec/workload.md, section 9.6.
#[test]
fn the_presets_have_the_published_parameters() {
    let f = server("fileserver");
    assert_eq!((f.files, f.directory_width, f.threads), (10_000, 20, 50));
    assert_eq!(
        (f.mean_bytes, f.append_bytes, f.chunk_bytes),
        (128 << 10, 16 << 10, 1 << 20)
    );
    assert!((f.shape - 1.5).abs() + (f.preallocated - 0.8).abs() < 1e-9);
    let v = server("varmail");
    assert_eq!(
        (v.files, v.directory_width, v.threads),
        (1000, 1_000_000, 16)
    );
    assert_eq!(
        (v.mean_bytes, v.append_bytes, v.chunk_bytes),
        (16 << 10, 16 << 10, 1 << 20)
    );
    assert!((v.shape - 1.5).abs() + (v.preallocated - 0.8).abs() < 1e-9);
}

#[test]
fn files_are_as_many_and_as_large_as_said() {
    let mut f = server("fileserver");
    f.days = 3;
    let mut at_start = f.clone();
    (at_start.days, at_start.operations_per_day) = (1, 1);
    let (start, _) = run(&at_start, 1);
    assert!(
        start.files.len().abs_diff(8000) <= 1,
        "{}",
        start.files.len()
    );
    let bytes: u64 = start.files.values().map(|f| f.bytes).sum();
    assert!(
        (bytes as f64 / 8000.0 / 131_072.0 - 1.0).abs() < 0.04,
        "{bytes}"
    );
    // A gamma distribution with shape 1.5 has 0.6084 of its values below its mean (incomplete gamma function).
    let below = start.files.values().filter(|f| f.bytes < 131_072).count() as f64 / 8000.0;
    assert!((below - 0.6084).abs() < 0.02, "{below}");
    // 500 directories for 10,000 files of 20 each.
    assert_eq!(start.dirs.len(), 501);
    let (end, s) = run(&f, 1);
    // As many deletes as creates: 50 threads at different steps make the difference.
    assert!(end.files.len().abs_diff(8000) <= 51, "{}", end.files.len());
    assert!(
        s.utilization_range.1 - s.utilization_range.0 < 0.05,
        "{s:?}"
    );
    assert_eq!(s.left_out, 0);
}

#[test]
fn varmail_flushes_twice_for_two_appends_and_a_delete() {
    let mut v = server("varmail");
    v.days = 2;
    let (account, s) = run(&v, 2);
    let n = |verb: &str| account.verbs[verb] as f64;
    assert!(
        (n("fsync") / n("append") - 1.0).abs() < 0.01,
        "{:?}",
        account.verbs
    );
    assert!(
        (n("fsync") / n("delete") - 2.0).abs() < 0.01,
        "{:?}",
        account.verbs
    );
    assert!(
        (n("read") / n("delete") - 2.0).abs() < 0.01,
        "{:?}",
        account.verbs
    );
    assert_eq!(account.dirs.len(), 2);
    assert_eq!(s.left_out, 0);
}

#[test]
fn streams_write_side_by_side_in_chunks() {
    let mut f = server("fileserver");
    (f.days, f.operations_per_day) = (1, 20_000);
    f.chunk_bytes = 16 << 10;
    let mut events = Vec::new();
    f.generate(3, &mut events).expect("memory");
    let files: Vec<u64> = events
        .iter()
        .skip(9000)
        .filter_map(|e| match e.op {
            Op::Append { file, bytes } => {
                assert!(bytes <= 16 << 10);
                Some(file.0)
            }
            _ => None,
        })
        .collect();
    let switches = files.windows(2).filter(|w| w[0] != w[1]).count();
    assert!(
        switches * 10 > files.len() * 9,
        "{switches} of {}",
        files.len()
    );
}

#[test]
fn other_sizes_have_as_many_more_files() {
    let f = server("fileserver").with_capacity(192 << 20);
    assert_eq!(f.files, 1250);
    let mut full = server("varmail").with_utilization(0.7);
    full.days = 1;
    let (_, s) = run(&full, 1);
    assert!((s.utilization.0 - 0.7).abs() < 0.03, "{s:?}");
    full.files = 100_000;
    let (_, s) = run(&full, 1);
    assert!(s.left_out > 0 && s.utilization_range.1 <= 0.98, "{s:?}");
}

#[test]
fn loops_that_do_not_keep_the_number_of_files_are_refused() {
    let mut f = server("fileserver");
    f.steps.pop();
    let error = f.check().unwrap_err();
    assert!(error.contains("as many deletes as creates"), "{error}");
}
