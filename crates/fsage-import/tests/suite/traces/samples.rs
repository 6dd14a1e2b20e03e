//! Real logs, against the numbers that their descriptions give.

use super::kit::{State, import_nfsdump, import_strace};
use fsage_core::{FileId, Op, Origin};
use fsage_import::trace::TraceOptions;
use std::collections::HashMap;
use std::io::{Read, Write as _};
use std::path::PathBuf;

fn shared(name: &str) -> Option<Vec<u8>> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/data")
        .join(name);
    let Ok(mut file) = std::fs::File::open(&path) else {
        // Straight to stderr, which the test runner does not capture.
        let _ = writeln!(
            std::io::stderr(),
            "skipped: {} is not there",
            path.display()
        );
        return None;
    };
    let mut bytes = Vec::new();
    if path.extension().is_some_and(|e| e == "zst") {
        zstd::stream::copy_decode(file, &mut bytes).unwrap();
    } else {
        file.read_to_end(&mut bytes).unwrap();
    }
    Some(bytes)
}

/// A row of the acceptance table of the samples: lines, created, unlinks, renames, of them onto a known file,
/// files that died, survivors, their bytes, bytes written.
type Numbers = [u64; 9];

const STRACE: [(&str, Numbers); 3] = [
    (
        "pip",
        [
            65_655, 2_097, 39, 974, 19, 58, 2_039, 50_204_839, 58_179_229,
        ],
    ),
    (
        "redismake",
        [392_381, 729, 428, 37, 36, 464, 265, 62_783_636, 229_357_829],
    ),
    (
        "gitcheckout",
        [9_196, 1_585, 0, 2, 0, 0, 1_585, 15_586_615, 15_586_615],
    ),
];

#[test]
fn strace_samples_have_their_numbers() {
    for (name, expected) in STRACE {
        let Some(log) = shared(&format!("strace/{name}.strace.zst")) else {
            return;
        };
        let (events, _, s) = import_strace(&log, &TraceOptions::default()).unwrap();
        let s = s.trace;
        assert_eq!(s.bad_lines, 0, "{name}: {:?}", s.first_bad);
        let found = [
            s.lines,
            s.creates,
            s.unlinks,
            s.renames,
            s.replaced,
            s.deletes,
            s.survivors,
            s.survivor_bytes,
            s.bytes_written,
        ];
        assert_eq!(found, expected, "{name}");
        // The events alone say the same: what was made and lives, with its size.
        let state = State::after(&events);
        let alive: u64 = state.files().iter().map(|f| f.1).sum();
        assert!(alive >= s.survivor_bytes, "{name}");
    }
}

#[test]
fn strace_samples_have_the_short_lived_files_of_the_published_rows() {
    let Some(rows) = shared("strace/profiles.csv") else {
        return;
    };
    let rows = String::from_utf8(rows).unwrap();
    for (source, _) in STRACE {
        let Some(log) = shared(&format!("strace/{source}.strace.zst")) else {
            return;
        };
        let (events, _, s) = import_strace(&log, &TraceOptions::default()).unwrap();
        let zero_ns = s.trace.first_t_ns.unwrap();
        let mut born: HashMap<FileId, (i64, String, u64)> = HashMap::new();
        let mut found = Vec::new();
        for event in &events {
            let t_ns = event.t_ns.unwrap() - zero_ns;
            let mut grow = |file: FileId, by: &dyn Fn(u64) -> u64| {
                if let Some(f) = born.get_mut(&file) {
                    f.2 = by(f.2);
                }
            };
            match event.op {
                Op::Create { file, bytes, .. } if event.origin == Some(Origin::Trace) => {
                    let name = String::from_utf8_lossy(event.name.as_deref().unwrap());
                    born.insert(file, (t_ns, name.into_owned(), bytes));
                }
                Op::Append { file, bytes } => grow(file, &|s| s + bytes),
                Op::Write {
                    file,
                    offset,
                    bytes,
                } => grow(file, &|s| s.max(offset + bytes)),
                Op::Rewrite { file, bytes } | Op::Truncate { file, bytes } => {
                    grow(file, &|_| bytes);
                }
                Op::Delete { file }
                | Op::Rename {
                    replaced: Some(file),
                    ..
                } => {
                    if let Some((start_ns, name, bytes)) = born.remove(&file) {
                        let (start, life) = (start_ns / 1000, (t_ns - start_ns) / 1000);
                        found.push((start, life, bytes, name));
                    }
                }
                _ => {}
            }
        }
        found.sort();
        let mut expected: Vec<(i64, i64, u64, String)> = rows
            .lines()
            .filter_map(|line| {
                let fields: Vec<&str> = line.splitn(6, ',').collect();
                let us = |text: &str| text.replace('.', "").parse().unwrap();
                (fields[0] == source).then(|| {
                    let bytes = fields[4].parse().unwrap();
                    (us(fields[2]), us(fields[3]), bytes, fields[5].to_owned())
                })
            })
            .collect();
        expected.sort();
        assert_eq!(found.len(), expected.len(), "{source}");
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found, expected, "{source}");
        }
    }
}

#[test]
fn the_nfs_sample_has_its_numbers() {
    let Some(log) = shared("nfs/ellard-raw-data.txt") else {
        return;
    };
    let (_, _, s) = import_nfsdump(&log, &TraceOptions::default()).unwrap();
    assert_eq!((s.trace.lines, s.trace.bad_lines), (176, 0));
    assert_eq!((s.pairs, s.replies_without_call), (71, 21));
    assert_eq!(s.short_packets, 2);
    // 176 lines: two a pair, the replies alone, and the calls alone.
    assert_eq!(s.calls_without_reply, 176 - 2 * 71 - 21);
    // The description checked all ten replies with a handle.
    assert_eq!((s.handles_checked, s.handles_agree), (10, 10));
}
