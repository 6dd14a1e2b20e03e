//! Tables in text, and series of them.

use super::{failure, read, read_as, vector};
use fsage_core::snapshot::source_flags;
use fsage_core::{Extent, FileKind};
use fsage_import::snapshots::{Format, Options, Repair};

fn extent(logical_bytes: u64, physical_bytes: u64, length_bytes: u64) -> Extent {
    Extent {
        logical_bytes,
        physical_bytes,
        length_bytes,
        flags: 0,
    }
}

/// `1:2:1` in KiB goes on in the file and on disk where `0:1:1` ends; `2:9:1` does not.
const TABLE: &str = "inode,type,size,ctime,generation,blocks512,mode_octal,mtime,extents_kib,color,path\n\
    5,f,3000,17.5,9,6,644,-1.5,1:2:1;0:1:1;2:9:1,red,./a/b\n\
    6,l,4,18,0,,120777,,,,\"say \"\"x\"\"\"\n\
    7,d,0,19,,0,,,,,/a\n";

#[test]
fn columns_have_names_and_units_of_their_own() {
    let (nights, summary) = read(Format::Csv, TABLE.as_bytes()).unwrap();
    let rows = nights.by_path(0);
    let row = rows["a/b"];
    assert_eq!(
        (row.ino, row.size_bytes, row.generation),
        (5, 3000, Some(9))
    );
    assert_eq!(
        (row.ctime_ns, row.mtime_ns),
        (Some(17_500_000_000), Some(-1_500_000_000))
    );
    assert_eq!((row.alloc_bytes, row.mode), (Some(3072), Some(0o100_644)));
    assert_eq!(row.source_flags, source_flags::GEN_VALID);
    assert_eq!(row.parent_ino, Some(7));
    let expected = [extent(0, 1024, 2048), extent(2048, 9216, 1024)];
    assert_eq!(row.extents.as_deref(), Some(&expected[..]));
    let link = rows["say \"x\""];
    assert_eq!(
        (link.kind, link.generation, link.source_flags),
        (FileKind::Symlink, Some(0), 0)
    );
    assert_eq!(
        (link.alloc_bytes, link.mode, link.mtime_ns),
        (None, Some(0o120_777), None)
    );
    assert_eq!(link.extents.as_deref(), Some(&[][..]));
    assert_eq!(rows["a"].mode, None);
    assert_eq!(summary.unknown_columns, ["\"color\""]);
}

#[test]
fn every_name_of_our_own_schema_is_a_column() {
    let text = "snap_id,taken_at_ns,ino,gen,type,size_bytes,alloc_bytes,ctime_ns,mtime_ns,btime_ns,nlink,mode,uid,gid,\
        parent_ino,path,extents_bytes,source_flags\n4,99,5,6,f,7,512,8,9,10,2,33188,3,4,1,x,0:4096:10,3\n";
    let (nights, summary) = read(Format::Csv, text.as_bytes()).unwrap();
    assert_eq!(summary.unknown_columns, [""; 0]);
    let (info, rows) = &nights.0[0];
    assert_eq!((info.snap_id, info.taken_at_ns), (4, 99));
    let row = &rows[0];
    let times = (row.ctime_ns, row.mtime_ns, row.btime_ns);
    assert_eq!(times, (Some(8), Some(9), Some(10)));
    assert_eq!(
        (row.links, row.mode, row.uid, row.gid),
        (Some(2), Some(0o100_644), Some(3), Some(4))
    );
    assert_eq!(
        (row.parent_ino, row.alloc_bytes, row.source_flags),
        (Some(1), Some(512), 3)
    );
    assert_eq!(row.extents.as_deref(), Some(&[extent(0, 4096, 10)][..]));
}

/// Tab separated, never quoted: names with quotes in it stand as they are.
#[test]
fn tabs_separate_fields_too() {
    let (nights, summary) = read(Format::Csv, &vector("ext4.expected.tsv")).unwrap();
    let rows = nights.by_path(0);
    assert_eq!((rows.len(), summary.snapshots), (309, 1));
    assert!(rows.contains_key("dir/q\"uote"));
    // Line 3 of the file.
    let row = rows["lost+found"];
    assert_eq!(
        (row.ino, row.generation, row.size_bytes),
        (11, Some(0), 16384)
    );
    assert_eq!(row.extents.as_deref(), Some(&[extent(0, 20480, 16384)][..]));
}

#[test]
fn a_missing_column_is_named() {
    let table = [
        ("type,size,ctime", "no column inode (or ino)"),
        ("inode,size,ctime", "no column type"),
        ("inode,type,ctime", "no column size (or size_bytes)"),
        ("inode,type,size", "no column ctime (or ctime_ns)"),
        (
            "path,mtime",
            "inode (or ino), type, size (or size_bytes), ctime (or ctime_ns)",
        ),
    ];
    for (header, words) in table {
        let message = failure(Format::Csv, format!("{header}\n").as_bytes());
        assert!(message.contains(words), "{message}");
    }
    let message = failure(Format::Csv, b"ino,inode,type,size,ctime\n");
    assert!(message.contains("ino and inode say the same"), "{message}");
    assert!(failure(Format::Csv, b"").contains("is empty"));
    assert!(failure(Format::Csv, b"inode,type,size,ctime\n").contains("no row"));
}

#[test]
fn a_bad_field_is_named_with_its_line_and_column() {
    let head = "snap_id,taken_at,inode,type,size,ctime,extents_bytes\n0,5,1,f,0,1,\n";
    let table = [
        ("0,5,x,f,0,1,", "a number in column inode, found \"x\""),
        ("0,5,1,z,0,1,", "one of f d l p s b c in column type"),
        ("0,5,1,f,18446744073709551616,1,", "column size"),
        ("0,5,1,f,0,,", "seconds in column ctime, found nothing"),
        (
            "0,5,1,f,0,1,0:1",
            "logical:physical:length in column extents_bytes",
        ),
        ("0,5,1,f,0,1,0:1:0", "logical:physical:length"),
        (
            "0,5,1,f,0,1,0:18446744073709551615:9",
            "logical:physical:length",
        ),
        ("0,5,1,f,0,1", "7 fields, as in the header, found 6"),
        (",5,1,f,0,1,", "32 bits in column snap_id"),
    ];
    for (line, words) in table {
        let message = failure(Format::Csv, format!("{head}{line}\n").as_bytes());
        assert!(message.starts_with("in: line 3: expected "), "{message}");
        assert!(message.contains(words), "{words}: {message}");
    }
    let open_quote = format!("{head}\"{}", "x,\n".repeat(1 << 20));
    assert!(failure(Format::Csv, open_quote.as_bytes()).contains("a quote that does not end"));
}

#[test]
fn nights_are_told_apart_by_snap_id_or_else_by_time() {
    let text = "snap_id,taken_at,inode,type,size,ctime\n3,50,1,f,0,1\n3,51,2,f,0,1\n7,60,1,f,0,1\n";
    let (nights, summary) = read(Format::Csv, text.as_bytes()).unwrap();
    let nights = nights
        .0
        .iter()
        .map(|(info, rows)| (info.snap_id, info.taken_at_ns, rows.len()));
    let expected = [(3, 50_000_000_000, 2), (7, 60_000_000_000, 1)];
    assert_eq!(nights.collect::<Vec<_>>(), expected);
    assert_eq!(summary.repaired(Repair::TakenAtDiffers), 1);

    let text = "taken_at,inode,type,size,ctime\n50,1,f,0,1\n50,2,f,0,1\n60.5,1,f,0,1\n";
    let (nights, _) = read(Format::Csv, text.as_bytes()).unwrap();
    let nights = nights
        .0
        .iter()
        .map(|(info, rows)| (info.snap_id, info.taken_at_ns, rows.len()));
    let expected = [(0, 50_000_000_000, 2), (1, 60_500_000_000, 1)];
    assert_eq!(nights.collect::<Vec<_>>(), expected);

    let text = "snap_id,inode,type,size,ctime\n1,1,f,0,8\n1,2,f,0,9\n2,1,f,0,5\n";
    let (nights, summary) = read(Format::Csv, text.as_bytes()).unwrap();
    let times: Vec<i64> = nights.0.iter().map(|(info, _)| info.taken_at_ns).collect();
    assert_eq!(times, [9_000_000_000, 5_000_000_000]);
    assert_eq!(summary.repaired(Repair::TimeFromCtime), 2);
}

#[test]
fn a_night_that_comes_again_is_refused() {
    let text = "snap_id,inode,type,size,ctime\n1,1,f,0,8\n2,2,f,0,9\n1,3,f,0,5\n";
    let message = failure(Format::Csv, text.as_bytes());
    assert!(
        message.contains("line 4") && message.contains("a snap_id of at least 2"),
        "{message}"
    );
    let text = "taken_at,inode,type,size,ctime\n10,1,f,0,8\n9,2,f,0,9\n";
    let message = failure(Format::Csv, text.as_bytes());
    assert!(message.contains("a taken_at of at least 10"), "{message}");
}

#[test]
fn the_numbers_of_a_second_table_go_on() {
    let text = "snap_id,taken_at,inode,type,size,ctime\n0,50,1,f,0,1\n1,60,2,f,0,1\n";
    let inputs = [(text.as_bytes(), None), (text.as_bytes(), None)];
    let (nights, _) = read_as(Format::Csv, Options::default(), &inputs).unwrap();
    let ids: Vec<u32> = nights.0.iter().map(|(info, _)| info.snap_id).collect();
    assert_eq!(ids, [0, 1, 2, 3]);
}

#[test]
fn paths_are_escaped_or_taken_as_they_are_and_counted() {
    let header = "inode,type,size,ctime,path\n";
    for (text, path, counted) in [
        (&b"caf\xc3\xa9\\x0a"[..], "caf\u{e9}\\x0a", 0),
        (b"a\\x5cq", "a\\x5cq", 0),
        (b"a\\q", "a\\x5cq", 1),
        (b"a\xffq", "a\\xffq", 1),
        (b"a\\x41", "a\\x5cx41", 1),
    ] {
        let bytes = [header.as_bytes(), b"1,f,0,1,", text, b"\n"].concat();
        let (nights, summary) = read(Format::Csv, &bytes).unwrap();
        assert_eq!(nights.0[0].1[0].path.as_deref(), Some(path));
        assert_eq!(summary.repaired(Repair::PathNotEscaped), counted, "{path}");
    }
}

#[test]
fn a_mode_that_contradicts_the_type_is_counted() {
    let text = "inode,type,size,ctime,mode_octal\n1,f,0,1,40755\n";
    let (nights, summary) = read(Format::Csv, text.as_bytes()).unwrap();
    assert_eq!(nights.0[0].1[0].mode, Some(0o100_755));
    assert_eq!(summary.repaired(Repair::ModeContradicts), 1);
}

#[test]
fn a_byte_order_mark_and_windows_line_ends_do_no_harm() {
    let text = "\u{feff}inode,type,size,ctime\r\n1,f,0,1\r\n";
    let (nights, _) = read(Format::Csv, text.as_bytes()).unwrap();
    assert_eq!(nights.0[0].1.len(), 1);
}
