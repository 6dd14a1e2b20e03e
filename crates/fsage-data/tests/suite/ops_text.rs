//! The text form against its own examples: `tests/vectors/ops` has every construct, and one error a line with
//! the line, column and reason that the format gives for it.

use fsage_core::{DirId, FileId, Op, Origin, TQuality, WorkloadHeader};
use fsage_data::ops_text::{Fault, MAX_LINE_BYTES};
use fsage_data::{OpsError, OpsReader, OpsWriter};
use std::fs;
use std::path::PathBuf;

fn vector(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/vectors/ops")
        .join(name);
    fs::read_to_string(path).unwrap()
}

fn read(text: &str) -> OpsReader<&[u8]> {
    OpsReader::new(text.as_bytes(), "t.ops").unwrap()
}

/// The first error in a text.
fn fault(text: &[u8]) -> (Fault, u64, usize) {
    let mut reader = match OpsReader::new(text, "t.ops") {
        Ok(reader) => reader,
        Err(OpsError::Syntax(e)) => return (e.fault, e.line, e.column),
        Err(e) => panic!("{e}"),
    };
    loop {
        match reader.next_event() {
            Ok(Some(_)) => {}
            Err(OpsError::Syntax(e)) => return (e.fault, e.line, e.column),
            other => panic!("no syntax error but {other:?}"),
        }
    }
}

fn rewritten(text: &str) -> String {
    let mut reader = read(text);
    let mut writer = OpsWriter::new(Vec::new(), reader.header()).unwrap();
    while let Some(event) = reader.next_event().unwrap() {
        writer.write(&event).unwrap();
    }
    String::from_utf8(writer.finish().unwrap()).unwrap()
}

#[test]
fn every_syntax_error_is_found_where_it_stands() {
    let text = vector("bad_syntax.ops");
    let expected = vector("bad_syntax.expected.tsv");
    let mut reader = read(&text);
    for row in expected.lines().skip(1) {
        let [line, column, reason] = row.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{row}")
        };
        let error = reader.next_event().unwrap_err();
        let message = error.to_string();
        let OpsError::Syntax(found) = error else {
            panic!("{message}")
        };
        assert_eq!(found.line.to_string(), line, "{message}");
        assert!(
            column == "-" || found.column.to_string() == column,
            "{row}: {message}"
        );
        assert!(!message.contains('\n'));
        match reason.strip_suffix("; the message names rewrite") {
            Some(reason) => {
                assert_eq!(found.fault.as_str(), reason);
                assert!(message.contains("rewrite"), "{message}");
            }
            None => assert_eq!(found.fault.as_str(), reason, "{message}"),
        }
    }
    assert_eq!(reader.next_event().unwrap(), None);
}

#[test]
fn state_errors_are_no_syntax_errors() {
    let text = vector("bad_state.ops");
    let mut reader = read(&text);
    let mut lines = text.lines();
    while let Some(event) = reader.next_event().unwrap() {
        assert_eq!(Some(reader.line_text()), lines.next());
        assert_eq!(reader.line(), event.line);
    }
    assert_eq!(lines.next(), None);
}

#[test]
fn the_whole_grammar_is_read() {
    let text = vector("grammar_ok.ops");
    let mut reader = read(&text);
    let header = WorkloadHeader {
        epoch_unix_s: Some(768_182_400),
        capacity_bytes: Some(526_385_152),
        ..WorkloadHeader::default()
    };
    assert_eq!(reader.header(), &header);
    let mut events = Vec::new();
    while let Some(event) = reader.next_event().unwrap() {
        events.push(event);
    }
    assert_eq!(events.len(), 34);
    assert_eq!(events[0].line, 6);
    assert_eq!(
        events[0].op,
        Op::Mkdir {
            dir: DirId(1),
            parent: None
        }
    );
    assert_eq!(events[1].name.as_deref(), Some(&b"src"[..]));
    assert_eq!(events[1].t_ns, Some(0));
    assert_eq!(events[2].origin, Some(Origin::Trace));
    assert_eq!(events[2].t_quality, Some(TQuality::Exact));
    assert_eq!(events[2].t_ns, Some(500_000_000));
    assert_eq!(
        events[5].op,
        Op::Write {
            file: FileId(2),
            offset: 1 << 20,
            bytes: 4096
        }
    );
    assert_eq!(events[5].t_ns, Some(1_000_000_001));
    let names: Vec<_> = events.iter().filter_map(|e| e.name.as_deref()).collect();
    assert_eq!(names[5], b"caf\xc3\xa9 \"x\".txt");
    let with_source = events.iter().find(|e| e.src_ino.is_some()).unwrap();
    assert_eq!(with_source.src_ino, Some(253_004));
    assert_eq!(with_source.src_gen, Some(1_181_926_144));
    assert_eq!(with_source.hint_group, Some(26));
    let noted = events.iter().find(|e| e.extra.is_some()).unwrap();
    assert_eq!(
        noted.extra.as_deref(),
        Some("x-note=ids-may-be-used-again-after-delete")
    );
    assert_eq!(noted.profile_id, Some(17));
}

/// By hand from the grammar and the rules for writers: no comments, no suffixes, single spaces.
#[test]
fn the_canonical_text_is_the_one_of_the_format() {
    let canonical = "\
#! fsage-ops 1
#! epoch 768182400
#! capacity 526385152
@0 mkdir 1
mkdir 2 1 \"src\"
@0.5 create 1 2 4096 origin=trace tq=exact \"main.c\"
create 2 0 65536
@1.000000001 append 2 1500
write 2 1048576 4096
overwrite 2
overwrite 2 4096 8192
rewrite 1 9000
truncate 2 100
truncate 2 20000
fallocate 2 20000 12768
punch 2 0 4096
fsync 2
link 3 1 1 \"main.bak\"
symlink 4 2 6 \"latest\"
read 1
read 1 4096 100
rename 1 1
create 5 1 300 hint=26 src=253004:1181926144
rename 5 1 3
delete 1
mkdir 7 2
renamedir 7 1
rmdir 7
sync
remount
@86399 day 0
@86400 create 6 0 0 \"caf\\xc3\\xa9 \\\"x\\\".txt\"
delete 6
create 6 0 12 profile=17 x-note=ids-may-be-used-again-after-delete
layout 0 100
dump
day 1
";
    assert_eq!(rewritten(&vector("grammar_ok.ops")), canonical);
    assert_eq!(rewritten(canonical), canonical);
}

#[test]
fn attributes_and_pragmas_come_in_one_order() {
    let text = "#! colour  dark  blue \n#! source a # b\n#! first-ino 1 # comment\n#! epoch -5\n\
                @-1.50 symlink 1 0 6 x-a=1 mode=0777 profile=3 x-b=\"q src=9 hint=2 \
                tq=random origin=initial \"\\x41\"#c\n\
                day #\n";
    let mut reader = read(text);
    let mut writer = OpsWriter::new(Vec::new(), reader.header()).unwrap();
    writer
        .write(&reader.next_event().unwrap().unwrap())
        .unwrap();
    let written = String::from_utf8(writer.finish().unwrap()).unwrap();
    assert_eq!(
        written,
        "#! fsage-ops 1\n#! epoch -5\n#! first-ino 1\n#! source a # b\n#! colour dark  blue\n\
         @-1.5 symlink 1 0 6 origin=initial tq=random hint=2 src=9 profile=3 mode=777 x-a=1 x-b=\"q \"A\"\n"
    );
    let error = reader.next_event().unwrap_err().to_string();
    assert_eq!(
        error,
        "t.ops:6:5: too few arguments: expected day LABEL, found a comment"
    );
}

#[test]
fn lines_of_other_systems_are_read() {
    let mut reader = read("\r\n\t create\t1  0 5\t \r\n# c\r\n\nday x#y=z\r");
    let event = reader.next_event().unwrap().unwrap();
    assert_eq!((event.line, event.t_ns), (2, None));
    assert_eq!(reader.line_text(), "\t create\t1  0 5\t ");
    let day = reader.next_event().unwrap().unwrap();
    assert_eq!(day.name.as_deref(), Some(&b"x#y=z"[..]));
    assert_eq!(reader.next_event().unwrap(), None);
    assert_eq!(reader.next_event().unwrap(), None);
}

#[test]
fn what_no_example_file_can_show_is_refused_too() {
    use Fault::*;
    for (text, expected) in [
        (&b"#! fsage-ops 2\n"[..], (NewerVersion, 1, 15)),
        (b"#! fsage-ops 0\n", (BadPragma, 1, 13)),
        (b"#! fsage-ops\n", (BadPragma, 1, 13)),
        (b"#! epoch 1.5\n", (BadPragma, 1, 10)),
        (b"#! block 4k\n", (UnknownSuffix, 1, 10)),
        (b"#! seed 1 2\n", (BadPragma, 1, 11)),
        (b"#! seed 1\n#! seed 1\n", (RepeatedPragma, 2, 4)),
        (b"sync\n#! seed 1\n", (LatePragma, 2, 1)),
        (b"create 1 0 5 \"\"\n", (EmptyName, 1, 14)),
        (b"create 1 0 5 \"a\\x00\"\n", (NulInName, 1, 14)),
        (b"create 1 0 5 \"a\\x2fb\"\n", (SlashInName, 1, 14)),
        (b"create 1 0 5 \"a\\x4\"\n", (BadEscape, 1, 16)),
        (b"create 1 0 5 \"a\" \"b\"\n", (NameNotLast, 1, 14)),
        (b"create 1 0 5 \"a\"b\n", (NameNotLast, 1, 14)),
        (b"create 1K 0 5\n", (NotAnInteger, 1, 8)),
        (b"create 1 hint=3 0 5\n", (ArgumentAfterAttribute, 1, 17)),
        (b"delete 1 hint=3 hint=3\n", (RepeatedAttribute, 1, 17)),
        (b"delete 1 hint=4294967296\n", (BadAttribute, 1, 10)),
        (b"delete 1 origin=heaven\n", (BadAttribute, 1, 10)),
        (b"delete 1 src=5:\n", (BadAttribute, 1, 10)),
        (b"delete 1 mode=8\n", (BadAttribute, 1, 10)),
        (b"delete 1 x-=8\n", (UnknownAttribute, 1, 10)),
        (b"read 1 0\n", (TooFewArguments, 1, 9)),
        (b"day \"a\"\n", (TakesNoName, 1, 5)),
        (b"sync # \xff\n", (NotUtf8, 1, 8)),
        (b"# \xff\n", (NotUtf8, 1, 3)),
        (b"sync # \0\n", (Nul, 1, 8)),
        (b"day a\x0b\n", (ControlCharacter, 1, 6)),
        (b"day a\r\r\n", (ControlCharacter, 1, 6)),
        (b"sync x-a=\x1b\n", (ControlCharacter, 1, 10)),
        (b"#! a b\x7fc\n", (ControlCharacter, 1, 7)),
        (b"@99999999999 sync\n", (BadTime, 1, 1)),
        (b"@ sync\n", (BadTime, 1, 1)),
    ] {
        let text_shown = String::from_utf8_lossy(text);
        let (fault, line, column) = fault(text);
        let expected_column = if expected.0 == NewerVersion || expected == (BadPragma, 1, 13) {
            column // where the key ends
        } else {
            expected.2
        };
        assert_eq!(
            (fault, line, column),
            (expected.0, expected.1, expected_column),
            "{text_shown}"
        );
    }
}

#[test]
fn reading_goes_on_after_an_error() {
    let mut reader = read("@5 sync\n@9 frobnicate 1\nsync\n");
    assert_eq!(
        reader.next_event().unwrap().unwrap().t_ns,
        Some(5_000_000_000)
    );
    let error = reader.next_event().unwrap_err();
    assert!(error.is_unknown_operation());
    assert_eq!(reader.line_text(), "@9 frobnicate 1");
    // Nothing of a bad line is applied, not even its time.
    assert_eq!(
        reader.next_event().unwrap().unwrap().t_ns,
        Some(5_000_000_000)
    );
}

#[test]
fn an_endless_line_takes_no_endless_memory() {
    let mut text = vec![b' '; MAX_LINE_BYTES - 4];
    text.extend_from_slice(b"sync\r\n");
    text.resize(5 * MAX_LINE_BYTES, b'x');
    text.extend_from_slice(b"\nsync\n");
    let mut reader = OpsReader::new(&text[..], "t.ops").unwrap();
    assert_eq!(reader.next_event().unwrap().unwrap().line, 1);
    let error = reader.next_event().unwrap_err().to_string();
    assert!(error.starts_with("t.ops:2:1: line too long"), "{error}");
    assert!(error.len() < 200);
    // Such a line may have no end: nothing is read behind it.
    assert_eq!(reader.next_event().unwrap(), None);
}

#[test]
fn what_is_no_text_is_not_written() {
    use fsage_core::Event;
    let mut writer = OpsWriter::new(Vec::new(), &WorkloadHeader::default()).unwrap();
    let create = Event::new(Op::Create {
        file: FileId(1),
        dir: DirId(0),
        bytes: 0,
    });
    assert!(writer.write(&create.clone().named(b"a/b")).is_err());
    assert!(writer.write(&Event::day("two words")).is_err());
    assert!(writer.write(&Event::new(Op::Day)).is_err());
    let mut extra = create.clone();
    extra.extra = Some("y-a=1".into());
    assert!(writer.write(&extra).is_err());
    assert!(
        writer
            .write(&create.named(&vec![b'\n'; MAX_LINE_BYTES / 4]))
            .is_err()
    );
    assert_eq!(writer.finish().unwrap(), b"#! fsage-ops 1\n");
    let header = WorkloadHeader {
        source: Some("two\nlines".to_owned()),
        ..WorkloadHeader::default()
    };
    assert!(OpsWriter::new(Vec::new(), &header).is_err());
}
