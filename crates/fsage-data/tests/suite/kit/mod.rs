//! What several tests of this crate need.

pub mod nights;

use fsage_core::{DirId, Event, FileId, Op, Origin, TQuality, Verb, WorkloadHeader};
use fsage_data::{WorkloadReader, WorkloadWriter};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The folder of large samples beside the repository; `None`, with a line on stderr, where it is absent.
pub fn shared(path: &str) -> Option<PathBuf> {
    let found = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared")
        .join(path);
    if found.exists() {
        return Some(found);
    }
    // Not `eprintln!`, which the test harness would swallow.
    let _ = writeln!(std::io::stderr(), "skipped: ../shared/{path} is not here");
    None
}

pub fn vector(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/vectors/ops")
        .join(name)
}

pub fn write_parquet(path: &Path, header: &WorkloadHeader, events: &[Event]) {
    let mut writer = WorkloadWriter::create(path, header, true).unwrap();
    for event in events {
        writer.write(event).unwrap();
    }
    writer.finish().unwrap();
}

pub fn read_parquet(path: &Path) -> (WorkloadHeader, Vec<Event>) {
    let mut reader = WorkloadReader::open(path).unwrap();
    let mut events = Vec::new();
    while let Some(event) = reader.next_event().unwrap() {
        assert_eq!(event.line, events.len() as u64 + 1);
        events.push(Event { line: 0, ..event });
    }
    (reader.header().clone(), events)
}

/// Any operation with its arguments, but no probe.
pub fn any_op() -> impl Strategy<Value = Op> {
    let number = prop_oneof![0..9_u64, any::<u64>()];
    let numbers = (number.clone(), number.clone(), number, any::<bool>());
    (numbers, 0..20_usize).prop_map(|((a, b, c, long), verb)| {
        let (file, dir) = (FileId(a), DirId(b));
        let range = long.then_some((b, c));
        match Verb::ALL[verb] {
            Verb::Mkdir => Op::Mkdir {
                dir,
                parent: long.then_some(DirId(c)),
            },
            Verb::Rmdir => Op::Rmdir { dir },
            Verb::RenameDir => Op::RenameDir {
                dir,
                parent: DirId(c),
            },
            Verb::Create => Op::Create {
                file,
                dir,
                bytes: c,
            },
            Verb::Append => Op::Append { file, bytes: c },
            Verb::Write => Op::Write {
                file,
                offset: b,
                bytes: c,
            },
            Verb::Overwrite => Op::Overwrite { file, range },
            Verb::Rewrite => Op::Rewrite { file, bytes: c },
            Verb::Truncate => Op::Truncate { file, bytes: c },
            Verb::Fallocate => Op::Fallocate {
                file,
                offset: b,
                bytes: c,
            },
            Verb::Punch => Op::Punch {
                file,
                offset: b,
                bytes: c,
            },
            Verb::Delete => Op::Delete { file },
            Verb::Rename => Op::Rename {
                file,
                dir,
                replaced: long.then_some(FileId(c)),
            },
            Verb::Link => Op::Link {
                file,
                existing: FileId(c),
                dir,
            },
            Verb::Symlink => Op::Symlink {
                file,
                dir,
                bytes: c,
            },
            Verb::Read => Op::Read { file, range },
            Verb::Fsync => Op::Fsync { file },
            Verb::Sync => Op::Sync,
            Verb::Remount => Op::Remount,
            _ => Op::Day,
        }
    })
}

fn takes_name(op: &Op) -> bool {
    matches!(
        op,
        Op::Mkdir { .. }
            | Op::RenameDir { .. }
            | Op::Create { .. }
            | Op::Rename { .. }
            | Op::Link { .. }
            | Op::Symlink { .. }
    )
}

fn any_name() -> impl Strategy<Value = Box<[u8]>> {
    let byte = prop_oneof![any::<u8>(), Just(b'"'), Just(b'\\'), Just(b' '), Just(b'#')];
    vec(byte, 1..12)
        .prop_map(|mut name| {
            name.iter_mut()
                .filter(|b| matches!(**b, 0 | b'/'))
                .for_each(|b| *b = b'x');
            name.into_boxed_slice()
        })
        .prop_filter("a name", |name| !matches!(&name[..], b"." | b".."))
}

prop_compose! {
    /// Any event that text and Parquet can both say.
    pub fn any_event()(
        op in any_op(),
        t_ns in prop_oneof![0..9_000_000_000_i64, any::<i64>()],
        name in option::of(any_name()),
        label in "[a-z0-9=.\u{e9}][a-z0-9=.\"#\u{e9}]{0,5}",
        origin in option::of(0..Origin::ALL.len()),
        quality in option::of(0..TQuality::ALL.len()),
        hint_group in option::of(any::<u32>()),
        source in option::of((any::<u64>(), option::of(any::<u32>()))),
        profile_id in option::of(any::<u32>()),
        mode in option::of(any::<u32>()),
        extra in option::of("x-[a-z]=[a-z\"=#\u{e9}]{0,3}( x-[a-z]{1,3}=[a-z]{0,3}){0,2}"),
    ) -> Event {
        Event {
            line: 0,
            t_ns: Some(t_ns),
            name: if op == Op::Day {
                Some(label.into_bytes().into())
            } else {
                name.filter(|_| takes_name(&op))
            },
            op,
            origin: origin.map(|i| Origin::ALL[i]),
            t_quality: quality.map(|i| TQuality::ALL[i]),
            hint_group,
            src_ino: source.map(|s| s.0),
            src_gen: source.and_then(|s| s.1),
            profile_id,
            mode,
            extra: extra.map(Into::into),
        }
    }
}

prop_compose! {
    /// Events whose times are unknown up to a point, as text can say it.
    pub fn any_events()(
        mut events in vec(any_event(), 0..40),
        unknown in 0..10_usize,
    ) -> Vec<Event> {
        events.iter_mut().take(unknown).for_each(|e| e.t_ns = None);
        events
    }
}

/// Keys of pragmas that are fields of the header.
const KNOWN: [&str; 10] = [
    "fsage-ops",
    "epoch",
    "capacity",
    "block",
    "groups",
    "inodes-per-group",
    "first-ino",
    "generator",
    "seed",
    "source",
];

prop_compose! {
    pub fn any_header()(
        epoch_unix_s in option::of(any::<i64>()),
        numbers in vec(option::of(any::<u64>()), 6),
        generator in option::of("[ -~\u{e9}]{0,20}"),
        source in option::of("[ -~\u{e9}]{0,20}"),
        other in vec(("[a-z-]{1,8}", "[ -~]{0,9}"), 0..4),
    ) -> WorkloadHeader {
        let trimmed = |text: String| text.trim_matches(' ').to_owned();
        WorkloadHeader {
            epoch_unix_s,
            capacity_bytes: numbers[0],
            block_bytes: numbers[1],
            group_count: numbers[2],
            inodes_per_group: numbers[3],
            first_ino: numbers[4],
            generator: generator.map(trimmed),
            seed: numbers[5],
            source: source.map(trimmed),
            other: other
                .into_iter()
                .filter(|(key, _)| !KNOWN.contains(&key.as_str()))
                .map(|(key, value)| (key, trimmed(value)))
                .collect(),
        }
    }
}
