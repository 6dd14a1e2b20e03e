//! GUFI traces. The sample is synthetic, of the same tree as the other samples.

use super::{failure, read, read_as, vector};
use fsage_core::FileKind;
use fsage_import::snapshots::{Format, Options, Repair};

/// Against the rows of the same tree from the system calls: names, sizes, modes, owners, links, parents.
#[test]
fn the_sample_equals_what_the_system_calls_gave() {
    let (nights, summary) = read(Format::Gufi, &vector("synthetic.gufi.trace")).unwrap();
    assert_eq!((summary.snapshots, summary.rows), (1, 307));
    let rows = nights.by_path(0);
    let dirs = rows.values().filter(|i| i.kind == FileKind::Directory);
    assert_eq!(dirs.count(), 6);
    let (expected, _) = read(Format::Csv, &vector("ext4.expected.tsv")).unwrap();
    let expected = expected.by_path(0);
    let mut compared = 0;
    for (path, row) in rows {
        let want = expected[path];
        assert_eq!(
            (row.ino, row.kind, row.size_bytes),
            (want.ino, want.kind, want.size_bytes)
        );
        assert_eq!((row.mode, row.links), (want.mode, want.links), "{path}");
        assert_eq!((row.uid, row.gid), (want.uid, want.gid), "{path}");
        assert_eq!(row.parent_ino, want.parent_ino, "{path}");
        assert_eq!(row.alloc_bytes, want.alloc_bytes, "{path}");
        let seconds = |ns: Option<i64>| ns.map(|ns| ns.div_euclid(1_000_000_000));
        assert_eq!(seconds(row.ctime_ns), seconds(want.ctime_ns), "{path}");
        assert_eq!(seconds(row.mtime_ns), seconds(want.mtime_ns), "{path}");
        assert_eq!(seconds(row.btime_ns), seconds(want.btime_ns), "{path}");
        assert_eq!(row.generation, None);
        compared += 1;
    }
    assert_eq!(compared, 307);
}

/// A line as the description of the format writes it, the delimiter as `|`.
fn line(name: &[u8], kind: &str, ino: u64, attributes: &[u8], btime: &str) -> Vec<u8> {
    let attributes_bytes = attributes.len() + 4;
    let mut line = format!("{:04x}", name.len()).into_bytes();
    line.extend(name);
    let numbers = format!("|{kind}|{ino}|33188|1|0|0|10|4096|8|5|6|7|");
    line.extend(numbers.bytes());
    line.extend(format!("0000|{attributes_bytes:04x}0001").bytes());
    line.extend(attributes);
    line.extend(format!("|{btime}|0|0|0|0|0002|x|0000|1|\n").bytes());
    line
}

fn options() -> Options {
    Options {
        taken_at_ns: Some(99_000_000_000),
        gufi_delimiter: b'|',
    }
}

#[test]
fn text_is_read_by_its_length_and_external_databases_are_left_out() {
    let mut trace = line(b"top|\n/a|b\n", "f", 5, b"user.x\x1f|\n\x1f", "0");
    trace.extend(b"0003e|x|e|\n");
    trace.extend(line(b"top|\n/c", "f", 6, b"", "8"));
    let (nights, summary) = read_as(Format::Gufi, options(), &[(&trace, None)]).unwrap();
    let rows = nights.by_path(0);
    assert_eq!(rows["a|b\\x0a"].btime_ns, None);
    assert_eq!(rows["c"].btime_ns, Some(8_000_000_000));
    assert_eq!(rows["c"].parent_ino, Some(1));
    assert_eq!(summary.repaired(Repair::ExternalDatabase), 1);
    assert_eq!(nights.0[0].0.taken_at_ns, 99_000_000_000);
}

#[test]
fn several_traces_are_parts_of_one_snapshot() {
    let parts = [
        line(b"top/a", "f", 5, b"", "0"),
        line(b"top/b", "f", 6, b"", "0"),
    ];
    let inputs = [(&parts[0][..], None), (&parts[1][..], None)];
    let (nights, summary) = read_as(Format::Gufi, options(), &inputs).unwrap();
    assert_eq!((summary.snapshots, nights.0[0].1.len()), (1, 2));
    let other = line(b"var/b", "f", 6, b"", "0");
    let Err(error) = read_as(
        Format::Gufi,
        options(),
        &[(&parts[0], None), (&other, None)],
    ) else {
        panic!("two trees in one snapshot");
    };
    assert!(
        error.to_string().contains("a name below \"top\""),
        "{error}"
    );
}

#[test]
fn the_older_form_is_split_at_the_delimiter() {
    let old = b"home|d|2|16877|2|0|0|4096|4096|8|5|6|7||x|0|0|0|0|0|||2|\n\
        ext|e|\n\
        home/a|f|5|4516|1|0|0|0|4096|0|5|6|7|||8|0|0|0|0|||2|\n";
    let (nights, summary) = read_as(Format::GufiOld, options(), &[(&old[..], None)]).unwrap();
    let rows = nights.by_path(0);
    assert_eq!(rows["."].kind, FileKind::Directory);
    // 4516 is a FIFO, which has no letter of its own.
    assert_eq!(
        (rows["a"].kind, rows["a"].btime_ns),
        (FileKind::Fifo, Some(8_000_000_000))
    );
    assert_eq!(summary.repaired(Repair::ExternalDatabase), 1);
    assert_eq!(Format::recognize(old, "x", b'|'), Some(Format::GufiOld));
}

#[test]
fn a_bad_field_is_named_with_its_record() {
    let good = line(b"top/a", "f", 5, b"", "0");
    let good = String::from_utf8(good).unwrap().replace('|', "\x1e");
    let table = [
        (
            ("0005top/a", "00g5top/a"),
            "4 hexadecimal digits before a name",
        ),
        (("0005top/a", "0004top/a"), "at the end of a name"),
        (
            ("0005top/a", "ffffstop/a"),
            "cut short: it ends within record 2",
        ),
        (("\x1ef\x1e", "\x1eq\x1e"), "a type, one of d f l e"),
        (("33188", "x"), "a mode in decimal, found \"x\""),
        (
            ("33188", "99999999999999999999999999999999999"),
            "a mode in decimal and a delimiter",
        ),
        (("\x1e10\x1e", "\x1e-10\x1e"), "a size in bytes"),
        (
            ("00040001", "00030001"),
            "at the end of extended attributes",
        ),
        (("1\x1e\n", "1\x1e2\x1e\n"), "at the end of a line"),
    ];
    for ((from, to), words) in table {
        let bad = good.replacen(from, to, 1);
        assert_ne!(bad, good);
        let message = failure(Format::Gufi, format!("{good}{bad}").as_bytes());
        assert!(
            message.contains(words) && message.contains("record 2"),
            "{words}: {message}"
        );
    }
}
