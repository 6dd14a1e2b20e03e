//! `find -printf`.

use super::{LATE_NS, Nights, failure, read, read_as, vector};
use fsage_core::FileKind;
use fsage_core::snapshot::source_flags;
use fsage_import::snapshots::{Format, Options, Repair};
use proptest::prelude::*;

fn records(lines: &[&str]) -> Vec<u8> {
    lines
        .iter()
        .flat_map(|l| [l.as_bytes(), b"\0"].concat())
        .collect()
}

/// The rows of a mounted ext4 as the system calls gave them, from `ext4.expected.tsv`: all columns that `find`
/// prints must be equal, and the parents found by path too.
#[test]
fn the_sample_equals_what_the_system_calls_gave() {
    let (nights, summary) = read(Format::Find, &vector("find-printf.ext4.tsv0")).unwrap();
    // Published with the sample: 310 names, the hard link twice.
    assert_eq!((summary.snapshots, summary.rows), (1, 310));
    let found = nights.by_path(0);
    let (expected, summary) = read(Format::Csv, &vector("ext4.expected.tsv")).unwrap();
    assert_eq!(summary.rows, 309);
    assert_eq!(nights.0[0].0.taken_at_ns, LATE_NS);
    assert_eq!(nights.0[0].0.source, "find");
    for (path, want) in expected.by_path(0) {
        let got = found[path];
        assert_eq!(got.ino, want.ino, "{path}");
        assert_eq!(got.kind, want.kind, "{path}");
        assert_eq!(got.size_bytes, want.size_bytes, "{path}");
        assert_eq!(got.alloc_bytes, want.alloc_bytes, "{path}");
        assert_eq!(got.ctime_ns, want.ctime_ns, "{path}");
        assert_eq!(got.mtime_ns, want.mtime_ns, "{path}");
        assert_eq!((got.uid, got.gid), (want.uid, want.gid), "{path}");
        assert_eq!((got.links, got.mode), (want.links, want.mode), "{path}");
        assert_eq!(got.generation, None);
        if path == "." {
            assert_eq!(got.parent_ino, None);
        } else {
            assert_eq!(got.parent_ino, want.parent_ino, "{path}");
        }
    }
}

#[test]
fn a_name_may_have_any_byte_but_nul() {
    let mut bytes = records(&["2\td\t0\t0\t2\t755\t0\t0\t5.0\t5.0\t."]);
    bytes.extend(b"3\tf\t0\t0\t1\t644\t0\t0\t5.0\t5.0\t./a\tb\n\\\xff\0");
    let (nights, _) = read(Format::Find, &bytes).unwrap();
    let row = &nights.0[0].1[1];
    assert_eq!(row.path.as_deref(), Some("a\\x09b\\x0a\\x5c\\xff"));
    assert_eq!(row.parent_ino, Some(2));
}

#[test]
fn the_starting_point_is_taken_off_wherever_find_ran() {
    let at = |root: &str| {
        let lines = [
            format!("7\td\t0\t0\t2\t755\t0\t0\t5.0\t5.0\t{root}"),
            format!("9\tp\t0\t0\t1\t644\t0\t0\t6.0\t5.0\t{root}/x"),
        ];
        read(Format::Find, &records(&[&lines[0], &lines[1]]))
            .unwrap()
            .0
    };
    for root in [".", "/usr", "/a/b", "c"] {
        let nights = at(root);
        let paths: Vec<_> = nights.0[0].1.iter().map(|i| i.path.as_deref()).collect();
        assert_eq!(paths, [Some("."), Some("x")], "{root}");
        assert_eq!(nights.0[0].1[1].parent_ino, Some(7));
        assert_eq!(nights.0[0].1[1].kind, FileKind::Fifo);
    }
}

#[test]
fn a_file_before_its_directory_gets_its_parent_and_one_without_is_counted() {
    let lines = [
        "9\tf\t0\t0\t1\t644\t0\t0\t6.0\t5.0\t./d/e/x",
        "8\td\t0\t0\t1\t755\t0\t0\t6.0\t5.0\t./d/e",
        "7\tf\t0\t0\t1\t644\t0\t0\t6.0\t5.0\t./gone/x",
    ];
    let (nights, summary) = read(Format::Find, &records(&lines)).unwrap();
    let rows = nights.by_path(0);
    assert_eq!(rows["d/e/x"].parent_ino, Some(8));
    assert_eq!(rows["gone/x"].parent_ino, None);
    // `d` and `gone` themselves are not in the input.
    assert_eq!(summary.repaired(Repair::NoParent), 2);
}

fn times(
    line_ctimes: &[&str],
    taken_at_ns: Option<i64>,
    modified_ns: Option<i64>,
) -> (Nights, u64) {
    let lines: Vec<String> = line_ctimes
        .iter()
        .enumerate()
        .map(|(i, t)| format!("{i}\tf\t0\t0\t1\t644\t0\t0\t{t}\t5.0\t./{i}"))
        .collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let options = Options {
        taken_at_ns,
        ..Options::default()
    };
    let (nights, summary) =
        read_as(Format::Find, options, &[(&records(&lines), modified_ns)]).unwrap();
    (nights, summary.repaired(Repair::TimeFromCtime))
}

#[test]
fn the_time_is_that_asked_for_or_of_the_file_or_the_newest_ctime() {
    let (nights, from_ctime) = times(&["5.5", "7.25", "6.0"], Some(9), Some(8));
    assert_eq!((nights.0[0].0.taken_at_ns, from_ctime), (9, 0));
    let (nights, from_ctime) = times(&["5.5", "7.25", "6.0"], None, Some(8));
    assert_eq!((nights.0[0].0.taken_at_ns, from_ctime), (8, 0));
    let (nights, from_ctime) = times(&["5.5", "7.25", "6.0"], None, None);
    assert_eq!((nights.0[0].0.taken_at_ns, from_ctime), (7_250_000_000, 1));
    assert!(nights.0[0].1.iter().all(|i| i.source_flags == 0));
}

#[test]
fn a_ctime_after_the_snapshot_is_flagged() {
    let (nights, _) = times(&["5.5", "7.25"], Some(6_000_000_000), None);
    let flags: Vec<u32> = nights.0[0].1.iter().map(|i| i.source_flags).collect();
    assert_eq!(flags, [0, source_flags::CHANGED_DURING_WALK]);
}

#[test]
fn a_time_that_nanoseconds_cannot_say_is_unknown() {
    let line = "3\tf\t0\t0\t1\t644\t0\t0\t5.0\t99999999999.0\t./x";
    let (nights, summary) = read(Format::Find, &records(&[line])).unwrap();
    assert_eq!(nights.0[0].1[0].mtime_ns, None);
    assert_eq!(summary.repaired(Repair::TimeOutOfRange), 1);
}

#[test]
fn several_files_are_several_nights() {
    let line = records(&["3\tf\t0\t0\t1\t644\t0\t0\t5.0\t5.0\t./x"]);
    let inputs = [(&line[..], Some(LATE_NS)), (&line[..], Some(LATE_NS + 1))];
    let (nights, summary) = read_as(Format::Find, Options::default(), &inputs).unwrap();
    assert_eq!((summary.snapshots, summary.rows), (2, 2));
    let ids: Vec<u32> = nights.0.iter().map(|(info, _)| info.snap_id).collect();
    assert_eq!(ids, [0, 1]);
}

#[test]
fn a_bad_field_is_named_with_its_record() {
    let good = "2\td\t0\t0\t2\t755\t0\t0\t5.0\t5.0\t.";
    let table = [
        (
            "x\tf\t0\t0\t1\t644\t0\t0\t5.0\t5.0\t./x",
            "an inode number, found \"x\"",
        ),
        (
            "3\tfile\t0\t0\t1\t644\t0\t0\t5.0\t5.0\t./x",
            "a type, one of f d l p s b c",
        ),
        (
            "3\tf\t-1\t0\t1\t644\t0\t0\t5.0\t5.0\t./x",
            "a size in bytes",
        ),
        (
            "3\tf\t0\t99999999999999999999\t1\t644\t0\t0\t5.0\t5.0\t./x",
            "512-byte blocks",
        ),
        (
            "3\tf\t0\t18446744073709551615\t1\t644\t0\t0\t5.0\t5.0\t./x",
            "512-byte blocks",
        ),
        (
            "3\tf\t0\t0\t1\t689\t0\t0\t5.0\t5.0\t./x",
            "octal permission bits",
        ),
        ("3\tf\t0\t0\t1\t644\t0\t0\t5.0\tnan\t./x", "an mtime"),
        (
            "3\tf\t0\t0\t1\t644\t0\t0\t-1.-000000010\t5.0\t./x",
            "a ctime",
        ),
        (
            "3\tf\t0\t0\t1\t644\t0\t0\t5.0\t5.0",
            "a path, found the end of the record",
        ),
        (
            "3\tf\t0\t0\t1\t644\t0\t0\t5.0\t5.0\t",
            "a path, found nothing",
        ),
        (
            "3\tf\t0\t0\t1\t644\t0\t0\t5.0\t5.0\t/etc",
            "a path below \".\"",
        ),
        (
            "",
            "a type, one of f d l p s b c, found the end of the record",
        ),
    ];
    for (line, words) in table {
        let message = failure(Format::Find, &records(&[good, line]));
        assert!(message.starts_with("in: record 2: expected "), "{message}");
        assert!(message.contains(words), "{words}: {message}");
    }
    assert!(failure(Format::Find, b"").contains("no record"));
    let huge = [b"3\tf\t0\t".as_slice(), &vec![b'1'; 2 << 20]].concat();
    assert!(failure(Format::Find, &huge).contains("bytes"));
}

proptest! {
    /// Names of any bytes come back, each with the inode of its directory.
    #[test]
    fn any_tree_comes_back(
        names in proptest::collection::vec(
            proptest::collection::vec((1_u8..=255).prop_filter("a slash", |c| *c != b'/'), 1..12),
            1..20,
        ),
        deep in proptest::collection::vec(0_usize..100, 20),
    ) {
        let mut paths: Vec<Vec<u8>> = vec![b".".to_vec()];
        let mut bytes = b"1\td\t0\t0\t2\t755\t0\t0\t5.0\t5.0\t.\0".to_vec();
        for (i, name) in names.iter().enumerate() {
            let parent = deep[i] % paths.len();
            let path = [&paths[parent][..], b"/", name, format!("{i}").as_bytes()].concat();
            let head = format!("{}\td\t{i}\t0\t2\t755\t0\t0\t5.0\t5.0\t", i + 2);
            bytes.extend([head.as_bytes(), &path, b"\0"].concat());
            paths.push(path);
        }
        let (nights, summary) = read(Format::Find, &bytes).unwrap();
        prop_assert_eq!(summary.repaired(Repair::NoParent), 0);
        for (i, row) in nights.0[0].1.iter().enumerate().skip(1) {
            let path = fsage_core::names::unescape(row.path.as_deref().unwrap()).unwrap();
            prop_assert_eq!([b"./", &path[..]].concat(), paths[i].clone());
            prop_assert_eq!(row.parent_ino, Some((deep[i - 1] % i) as u64 + 1));
        }
    }
}
