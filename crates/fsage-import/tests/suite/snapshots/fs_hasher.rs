//! fs-hasher. The samples are synthetic, written from the description of the format by another program; the
//! expected rows lie beside them.

use super::{Nights, failure, read, read_as, vector};
use fsage_core::names::unescape;
use fsage_core::snapshot::source_flags;
use fsage_core::{Extent, FileKind};
use fsage_import::snapshots::{Format, Options, Repair};

const SAMPLES: [&str; 4] = ["v4-variable", "v5-fixed", "v6-variable", "v7-variable"];

fn sample(name: &str) -> Vec<u8> {
    vector(&format!("synthetic-{name}.hash.anon"))
}

#[test]
fn the_samples_of_every_version_give_the_expected_rows() {
    let text = String::from_utf8(vector("synthetic-hash.expected.csv")).unwrap();
    for name in SAMPLES {
        let (nights, summary) = read(Format::FsHasher, &sample(name)).unwrap();
        assert_eq!((summary.snapshots, summary.rows), (1, 17), "{name}");
        let info = &nights.0[0].0;
        // Start and end in the header: 0x4e709100, 123 seconds apart; the system id is `host-a`.
        assert_eq!(info.taken_at_ns, 0x4e70_9100 * 1_000_000_000);
        assert_eq!(info.walk_ns, Some(123_000_000_000));
        assert_eq!(
            (info.source.as_str(), info.host.as_deref()),
            ("fs-hasher", Some("host-a"))
        );
        let rows = nights.by_path(0);
        let mut lines = 0;
        for line in text.lines().skip(1) {
            let fields: Vec<&str> = line.splitn(11, ',').collect();
            let path = fields[10].trim_matches('"').replace("\"\"", "\"");
            let path = path.strip_prefix("/srv/home/").unwrap();
            assert!(unescape(path).is_some());
            let row = rows[path];
            let number = |i: usize| fields[i].parse::<u64>().unwrap();
            assert_eq!(row.ino, number(0), "{path}");
            assert_eq!(row.kind.letter().to_string(), fields[1]);
            assert_eq!(row.size_bytes, number(2));
            let alloc = (name != "v4-variable").then(|| number(3));
            assert_eq!(row.alloc_bytes, alloc, "{name} {path}");
            assert_eq!(row.ctime_ns, Some(number(4) as i64 * 1_000_000_000));
            assert_eq!(row.mtime_ns, Some(number(5) as i64 * 1_000_000_000));
            assert_eq!(row.links.map(u64::from), Some(number(6)));
            assert_eq!(row.mode, u32::from_str_radix(fields[7], 8).ok());
            assert_eq!(
                (row.uid, row.gid),
                (fields[8].parse().ok(), fields[9].parse().ok())
            );
            assert_eq!((row.generation, row.btime_ns), (None, None));
            assert_eq!(row.extents, None::<Box<[Extent]>>);
            // The scan is of 2011, the files of 2026.
            assert_eq!(row.source_flags, source_flags::CHANGED_DURING_WALK);
            lines += 1;
        }
        assert_eq!(lines, 17);
    }
}

#[test]
fn versions_without_inode_numbers_are_refused_with_the_reason() {
    let mut bytes = sample("v5-fixed");
    for version in 1..=3 {
        bytes[4] = version;
        let message = failure(Format::FsHasher, &bytes);
        let words = format!("version {version} of fs-hasher, which has no inode numbers");
        assert!(message.contains(&words), "{message}");
    }
    for version in [0, 8, 255] {
        bytes[4] = version;
        assert!(failure(Format::FsHasher, &bytes).contains("a version from 4 to 7"));
    }
    bytes[0] = 0;
    assert!(failure(Format::FsHasher, &bytes).contains("0xDEADDEAD"));
}

/// The sample with the 8 bytes at a place of its first file record replaced.
fn with_long(at: usize, value: u64) -> Vec<u8> {
    let mut bytes = sample("v5-fixed");
    bytes[8296 + at..][..8].copy_from_slice(&value.to_le_bytes());
    bytes
}

#[test]
fn huge_numbers_are_refused_and_allocate_nothing() {
    // Offsets of the record of versions 5 to 7: blocks 8, perm 24, links 56, chunks 80, path length 88.
    let table = [
        (8, u64::MAX, "512-byte blocks in 64 bits"),
        (24, 1 << 40, "a mode in 32 bits"),
        (56, 1 << 32, "a number of links in 32 bits"),
        (80, u64::MAX, "chunks in 64 bits"),
        (80, u64::MAX / 6, "cut short: it ends within record 1"),
        (88, 0xFFFF_FFFF, "a path of at most"),
        (88, 0xFFFF_FFFF << 32 | 5, "a link target of at most"),
        (88, 0xFFFFF, "cut short"),
    ];
    for (at, value, words) in table {
        let message = failure(Format::FsHasher, &with_long(at, value));
        assert!(message.contains(words), "{words}: {message}");
    }
    let mut bytes = sample("v5-fixed");
    bytes[8..16].copy_from_slice(&u64::MAX.to_le_bytes());
    assert!(failure(Format::FsHasher, &bytes).contains("ends within record 18"));
    bytes[4172..4176].copy_from_slice(&7_u32.to_le_bytes());
    assert!(failure(Format::FsHasher, &bytes).contains("7 bits"));
}

fn first(nights: &Nights) -> &fsage_core::snapshot::Inode {
    &nights.0[0].1[0]
}

#[test]
fn faults_of_a_record_are_repaired_and_counted() {
    // ctime stands at 48, the device at 64.
    let (nights, summary) = read(Format::FsHasher, &with_long(48, 1 << 60)).unwrap();
    assert_eq!(first(&nights).ctime_ns, None);
    assert_eq!(summary.repaired(Repair::TimeOutOfRange), 1);
    let (nights, summary) = read(Format::FsHasher, &with_long(64, 5)).unwrap();
    assert_eq!(nights.0[0].1.len(), 1);
    assert_eq!(summary.repaired(Repair::OtherDevice), 16);
    // A mode without type bits: a file, for it has no target.
    let (nights, _) = read(Format::FsHasher, &with_long(24, 0o644)).unwrap();
    assert_eq!(
        (first(&nights).kind, first(&nights).mode),
        (FileKind::Regular, Some(0o100_644))
    );
    let more = [&sample("v5-fixed")[..], b"12345"].concat();
    let (_, summary) = read(Format::FsHasher, &more).unwrap();
    assert_eq!(summary.repaired(Repair::TrailingBytes), 5);
    let mut elsewhere = sample("v5-fixed");
    elsewhere[16..20].copy_from_slice(b"/usr");
    let (nights, summary) = read(Format::FsHasher, &elsewhere).unwrap();
    assert_eq!(summary.repaired(Repair::PathOutsideRoot), 17);
    assert!(nights.by_path(0).contains_key("srv/home/empty"));
}

#[test]
fn several_files_are_several_nights() {
    let nights = [sample("v4-variable"), sample("v7-variable")];
    let inputs = [(&nights[0][..], None), (&nights[1][..], None)];
    let (nights, summary) = read_as(Format::FsHasher, Options::default(), &inputs).unwrap();
    assert_eq!((summary.snapshots, summary.rows), (2, 34));
    assert_eq!(nights.0[1].0.snap_id, 1);
    let head = &sample("v6-variable")[..9000];
    assert_eq!(
        Format::FsHasher.time_ns(head),
        Some(0x4e70_9100 * 1_000_000_000)
    );
}

#[test]
fn slashes_that_are_doubled_do_no_harm() {
    // A finding of the fuzzer: the path behind the root began with a slash.
    let mut bytes = sample("v5-fixed");
    let at = bytes.windows(10).position(|w| w == b"/dir/hardl").unwrap();
    bytes[at..at + 4].copy_from_slice(b"//ir");
    let (nights, _) = read(Format::FsHasher, &bytes).unwrap();
    assert_eq!(first(&nights).path.as_deref(), Some("ir/hardlink"));
}
