//! The `playback` format: the sample, the rules one by one, and there and back again.

use fsage_core::{DirId, Event, FileId, Op, Verb, WorkloadHeader};
use fsage_import::playback::{ExportSummary, Exporter, Groups, ImportSummary, import};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

const SMALL: Groups = Groups {
    count: 3,
    inodes_per_group: 4,
};

fn read(text: &[u8], groups: Groups) -> Result<(Vec<Event>, ImportSummary), String> {
    let mut events = Vec::new();
    let mut input = text;
    let summary = import(&mut input, "in", groups, &mut events).map_err(|e| e.to_string())?;
    Ok((events, summary))
}

fn write(events: &[Event], groups: Groups) -> Result<(String, ExportSummary), String> {
    let mut exporter =
        Exporter::new(Vec::new(), &WorkloadHeader::default(), groups).map_err(|e| e.to_string())?;
    for event in events {
        exporter.write(event).map_err(|e| e.to_string())?;
    }
    let (text, summary) = exporter.finish().map_err(|e| e.to_string())?;
    Ok((String::from_utf8(text).unwrap(), summary))
}

/// Events as lines of `.ops` text, `origin` and `tq` left open.
fn ops(events: &[Event]) -> String {
    let mut text = String::new();
    let mut last = None;
    for event in events {
        if let Some(t) = event.t_ns
            && event.t_ns != last
        {
            write!(text, "@{} ", t / 1_000_000_000).unwrap();
            last = event.t_ns;
        }
        match event.op {
            Op::Mkdir { dir, parent: None } => write!(text, "mkdir {dir}"),
            Op::Create { file, dir, bytes } => write!(text, "create {file} {dir} {bytes}"),
            Op::Rewrite { file, bytes } => write!(text, "rewrite {file} {bytes}"),
            Op::Write {
                file,
                offset,
                bytes,
            } => write!(text, "write {file} {offset} {bytes}"),
            Op::Delete { file } => write!(text, "delete {file}"),
            Op::Day => write!(
                text,
                "day {}",
                String::from_utf8_lossy(event.name.as_ref().unwrap())
            ),
            other => panic!("{other:?}"),
        }
        .unwrap();
        if let Some(hint) = event.hint_group {
            write!(text, " hint={hint} src={}", event.src_ino.unwrap()).unwrap();
            write!(text, " {}", event.extra.as_ref().unwrap()).unwrap();
        }
        text.push('\n');
    }
    text
}

fn vector(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/vectors/foreign")
        .join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

#[test]
fn the_sample_gives_the_expected_workload_and_counts() {
    let (events, summary) = read(vector("playback_sample.txt").as_bytes(), Groups::PAPER).unwrap();
    let expected = vector("playback_sample.expected.ops");
    let expected: String = expected
        .lines()
        .filter(|l| !l.starts_with('#'))
        .flat_map(|l| [l, "\n"])
        .collect();
    assert_eq!(ops(&events), expected);
    // Published with the sample: one unknown line and one delete of an unknown inode.
    assert_eq!((summary.messages, summary.deletes_of_unknown), (1, 1));
    assert_eq!(summary.modifies_of_unknown, 1);
    let counts = [
        summary.creates,
        summary.modifies,
        summary.replaces,
        summary.deletes,
    ];
    assert_eq!(counts, [5, 3, 1, 2]);
    assert_eq!((summary.days, summary.lines), (3, 16));
}

#[test]
fn the_sample_comes_back_in_the_words_of_the_format() {
    let (events, _) = read(vector("playback_sample.txt").as_bytes(), Groups::PAPER).unwrap();
    let (text, summary) = write(&events, Groups::PAPER).unwrap();
    // By the rules: what is skipped is gone, a modification that creates is a create, and a delete directly
    // followed by a create of the same number is a replacement.
    let expected = vector("playback_sample.txt")
        .replace(
            "D 19460 766031111 0\nC 19460 766033333 300 REG",
            "R 19460 766033333 0 300 REG REG",
        )
        .replace("M 29200 766100000 0 5000 REG", "C 29200 766100000 5000 REG")
        .replace(
            "Z this line has an unknown letter\nD 777 766100500 10\n",
            "",
        );
    assert_eq!(text, expected);
    assert_eq!(summary.dropped(), [(Verb::Mkdir, 26)]);
    assert_eq!(summary.numbers_kept, 7);
}

#[test]
fn a_create_of_a_live_inode_rewrites_it_and_a_directory_never_shrinks() {
    let text = "C 5 10 100 REG\nC 5 11 50 REG\nC 6 12 100 DIR\nM 6 13 100 30 DIR\nR 7 14 0 9 REG REG\r\n\nSxyz\n";
    let (events, summary) = read(text.as_bytes(), SMALL).unwrap();
    let made = ops(&events[2..]);
    let expected = "@10 create 0 1 100 hint=1 src=5 x-type=REG\n@11 rewrite 0 50\n\
        @12 create 1 1 100 hint=1 src=6 x-type=DIR\n@13 write 1 0 30\n\
        @14 create 2 1 9 hint=1 src=7 x-type=REG\nday 0\n";
    assert_eq!(made, expected);
    assert_eq!(
        (summary.creates_of_live, summary.deletes_of_unknown),
        (1, 1)
    );
    assert_eq!((summary.live_files, summary.live_bytes), (3, 159));
    assert_eq!(summary.messages, 0);
}

#[test]
fn a_record_that_is_none_is_named_with_its_line() {
    let table = [
        ("C 5 10 100", "`C ino time size type`"),
        ("C 5 10 100 REG more", "`C ino time size type`"),
        ("Cx 5 10 100 REG", "`C ino time size type`"),
        ("C x 10 100 REG", "`an inode number`, found `x`"),
        ("C +5 10 100 REG", "`an inode number`"),
        ("C 5 1.5 100 REG", "`a time in whole seconds`"),
        (
            "C 5 9223372036854775807 100 REG",
            "a time from 1677 to 2262",
        ),
        ("C 5 10 18446744073709551616 REG", "`a size in bytes`"),
        ("C 5 10 100 DIRECTORY", "`a type of up to 7 letters`"),
        ("D 5 10", "`D ino time size`"),
        ("M 5 10 1 REG", "`M ino time oldsize newsize type`"),
        (
            "R 5 10 1 2 REG",
            "`R ino time oldsize newsize oldtype newtype`",
        ),
        (
            "C 12 10 100 REG",
            "inode 12 lies behind 3 groups of 4 inodes",
        ),
    ];
    for (line, words) in table {
        let message = read(format!("SCORE\n{line}\n").as_bytes(), SMALL).unwrap_err();
        assert!(
            message.starts_with("in:2: ") && message.contains(words),
            "{words}: {message}"
        );
        assert!(!message.contains('\n'));
    }
    let long = [b"Z".as_slice(), &vec![b'z'; 1 << 17]].concat();
    assert!(read(&long, SMALL).unwrap_err().contains("a line within"));
    for groups in [(0, 5), (5, 0), (u32::MAX, 1), (1, u32::MAX)] {
        let groups = Groups {
            count: groups.0,
            inodes_per_group: groups.1,
        };
        assert!(read(b"", groups).unwrap_err().contains("there can be 1 to"));
        assert!(
            write(&[], groups)
                .unwrap_err()
                .contains("there can be 1 to")
        );
    }
}

fn create(file: u64, dir: u64, bytes: u64) -> Event {
    Event::new(Op::Create {
        file: FileId(file),
        dir: DirId(dir),
        bytes,
    })
}

fn op(op: Op) -> Event {
    Event::new(op).at(1_999_999_999)
}

#[test]
fn numbers_are_those_of_the_source_or_the_lowest_of_the_group() {
    let hinted = |file, hint_group, src_ino| Event {
        hint_group,
        src_ino,
        ..create(file, 4, 1)
    };
    let events = [
        hinted(1, Some(2), Some(9)),
        hinted(2, Some(2), Some(9)),
        hinted(3, Some(2), None),
        hinted(4, None, None),
        hinted(5, Some(0), Some(99)),
        op(Op::Delete { file: FileId(2) }),
        hinted(6, Some(2), None),
        Event::day("x"),
        op(Op::Delete { file: FileId(1) }),
        hinted(7, Some(2), None),
    ];
    let (text, summary) = write(&events, SMALL).unwrap();
    let expected = "C 9 0 1 REG\nC 8 0 1 REG\nC 10 0 1 REG\nC 4 0 1 REG\nC 0 0 1 REG\n\
        R 8 1 1 1 REG REG\nSCORE\nR 9 1 1 1 REG REG\n";
    assert_eq!(text, expected);
    assert_eq!((summary.numbers_kept, summary.replaces), (1, 2));
}

#[test]
fn a_full_group_is_an_error_with_group_and_day() {
    let mut events: Vec<Event> = (0..4).map(|i| create(i, 1, 1)).collect();
    events.push(Event::day("0"));
    events.push(Event {
        line: 17,
        ..create(9, 1, 1)
    });
    let message = write(&events, SMALL).unwrap_err();
    assert!(
        message.contains("line 17: group 1 is full on day 1: 4 files"),
        "{message}"
    );
    let hinted = Event {
        hint_group: Some(3),
        ..create(9, 1, 1)
    };
    assert!(
        write(&[hinted], SMALL)
            .unwrap_err()
            .contains("group 3 is not one of 3")
    );
}

#[test]
fn changes_are_modifications_and_what_has_no_form_is_counted() {
    let file = FileId(1);
    let events = [
        create(1, 0, 100),
        op(Op::Append { file, bytes: 20 }),
        op(Op::Write {
            file,
            offset: 10,
            bytes: 5,
        }),
        op(Op::Write {
            file,
            offset: 500,
            bytes: 0,
        }),
        op(Op::Write {
            file,
            offset: 200,
            bytes: 50,
        }),
        op(Op::Overwrite { file, range: None }),
        op(Op::Rewrite { file, bytes: 7 }),
        op(Op::Truncate { file, bytes: 70 }),
        op(Op::Fallocate {
            file,
            offset: 60,
            bytes: 20,
        }),
        op(Op::Punch {
            file,
            offset: 0,
            bytes: 20,
        }),
        op(Op::Link {
            file: FileId(2),
            existing: file,
            dir: DirId(0),
        }),
        op(Op::Delete { file }),
        op(Op::Symlink {
            file,
            dir: DirId(0),
            bytes: 9,
        }),
        op(Op::Rename {
            file,
            dir: DirId(0),
            replaced: Some(FileId(2)),
        }),
        op(Op::Read { file, range: None }),
        op(Op::Sync),
    ];
    let (text, summary) = write(&events, SMALL).unwrap();
    let sizes = [
        (100, 120),
        (120, 120),
        (120, 120),
        (120, 250),
        (250, 250),
        (250, 7),
        (7, 70),
        (70, 80),
        (80, 80),
    ];
    let mut expected = "C 0 0 100 REG\n".to_owned();
    for (old, new) in sizes {
        writeln!(expected, "M 0 1 {old} {new} REG").unwrap();
    }
    expected.push_str("C 1 1 9 LNK\nD 0 1 80\n");
    assert_eq!(text, expected);
    assert_eq!(summary.names_dropped, 1);
    let dropped = [
        (Verb::Rename, 1),
        (Verb::Link, 1),
        (Verb::Read, 1),
        (Verb::Sync, 1),
    ];
    assert_eq!(summary.dropped(), dropped);
}

#[test]
fn an_operation_that_does_not_fit_is_refused() {
    let file = FileId(1);
    let table = [
        (vec![op(Op::Append { file, bytes: 1 })], "append: no file 1"),
        (
            vec![create(1, 0, 5), create(1, 0, 5)],
            "create: file 1 exists already",
        ),
        (
            vec![
                create(1, 0, 5),
                op(Op::Overwrite {
                    file,
                    range: Some((3, 3)),
                }),
            ],
            "file 1 has only 5",
        ),
        (
            vec![
                create(1, 0, 5),
                op(Op::Append {
                    file,
                    bytes: u64::MAX,
                }),
            ],
            "2^64",
        ),
        (vec![op(Op::Delete { file })], "delete: no file 1"),
    ];
    for (events, words) in table {
        let message = write(&events, SMALL).unwrap_err();
        assert!(message.contains(words), "{message}");
    }
}

/// The sizes of live inodes after each event that changed them, ascending.
fn live_sizes(events: &[Event]) -> Vec<Vec<u64>> {
    let mut inode_of: BTreeMap<FileId, u64> = BTreeMap::new();
    let mut sizes: BTreeMap<u64, u64> = BTreeMap::new();
    let mut steps: Vec<Vec<u64>> = Vec::new();
    let mut next = 0;
    for event in events {
        let mut gone = None;
        match event.op {
            Op::Create { file, bytes, .. } | Op::Symlink { file, bytes, .. } => {
                inode_of.insert(file, next);
                sizes.insert(next, bytes);
                next += 1;
            }
            Op::Append { file, bytes } => *sizes.get_mut(&inode_of[&file]).unwrap() += bytes,
            Op::Write {
                file,
                offset,
                bytes,
            } if bytes > 0 => {
                let size = sizes.get_mut(&inode_of[&file]).unwrap();
                *size = (*size).max(offset + bytes);
            }
            Op::Rewrite { file, bytes } | Op::Truncate { file, bytes } => {
                sizes.insert(inode_of[&file], bytes);
            }
            Op::Link { file, existing, .. } => {
                inode_of.insert(file, inode_of[&existing]);
            }
            Op::Delete { file }
            | Op::Rename {
                replaced: Some(file),
                ..
            } => gone = inode_of.remove(&file),
            _ => {}
        }
        if let Some(inode) = gone
            && inode_of.values().all(|i| *i != inode)
        {
            sizes.remove(&inode);
        }
        let mut now: Vec<u64> = sizes.values().copied().collect();
        now.sort_unstable();
        if steps.last() != Some(&now) {
            steps.push(now);
        }
    }
    steps
}

/// Valid events from random numbers: which operation, on which file, how much.
fn workload(choices: &[(u8, u64, u64)]) -> Vec<Event> {
    let mut alive: Vec<FileId> = Vec::new();
    let mut events = Vec::new();
    for (i, &(choice, which, bytes)) in choices.iter().enumerate() {
        let new = FileId(i as u64);
        let dir = DirId(which % 7);
        let t_ns = i as i64 * 700_000_000;
        if alive.is_empty() || choice < 4 {
            alive.push(new);
            events.push(
                Event {
                    src_ino: (which % 3 == 0).then_some(which % 3000),
                    hint_group: (which % 2 == 0).then_some((which % 3) as u32),
                    extra: (which % 5 == 0).then(|| "x-type=DIR".into()),
                    ..create(new.0, dir.0, bytes)
                }
                .at(t_ns),
            );
            continue;
        }
        let place = which as usize % alive.len();
        let file = alive[place];
        let made = match choice {
            4 => Op::Append { file, bytes },
            5 => Op::Write {
                file,
                offset: which % 500,
                bytes,
            },
            6 => Op::Rewrite { file, bytes },
            7 => Op::Truncate { file, bytes },
            8 => Op::Overwrite { file, range: None },
            9 => Op::Link {
                file: new,
                existing: file,
                dir,
            },
            10 => Op::Symlink {
                file: new,
                dir,
                bytes,
            },
            11 => Op::Day,
            12 if alive.len() > 1 => {
                alive.swap_remove(place);
                Op::Rename {
                    file: alive[0],
                    dir,
                    replaced: Some(file),
                }
            }
            _ => {
                alive.swap_remove(place);
                Op::Delete { file }
            }
        };
        if matches!(made.verb(), Verb::Link | Verb::Symlink) {
            alive.push(new);
        }
        events.push(Event::new(made).at(t_ns));
    }
    events
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn there_and_back_the_live_sizes_of_every_step_are_the_same(
        choices in proptest::collection::vec((0_u8..16, any::<u64>(), 0_u64..1000), 0..200),
    ) {
        let groups = Groups { count: 3, inodes_per_group: 1000 };
        let events = workload(&choices);
        let (text, _) = write(&events, groups).unwrap();
        prop_assert!(text.lines().all(|l| l.len() < 128));
        let (back, summary) = read(text.as_bytes(), groups).unwrap();
        let days = events.iter().filter(|e| e.op == Op::Day).count();
        prop_assert_eq!(summary.days, days as u64);
        let (messages, unknown) = (summary.messages, summary.deletes_of_unknown);
        prop_assert_eq!((messages, unknown, summary.modifies_of_unknown), (0, 0, 0));
        let mut before = live_sizes(&events);
        let mut after = live_sizes(&back);
        // Before anything is made, directories are.
        before.retain(|sizes| !sizes.is_empty());
        after.retain(|sizes| !sizes.is_empty());
        prop_assert_eq!(before, after);
        // And once more, nothing changes any more.
        let (again, _) = write(&back, groups).unwrap();
        prop_assert_eq!(again, text);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "([CDMRSZ ]|[0-9]{1,22}|REG|DIR|\n){0,60}") {
        let _ = read(text.as_bytes(), SMALL);
    }
}
