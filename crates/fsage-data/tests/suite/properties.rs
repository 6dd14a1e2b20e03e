//! What must hold for any workload and any input.

use crate::kit;
use fsage_core::snapshot::Inode;
use fsage_core::{Event, Extent, FileKind, WorkloadHeader};
use fsage_data::snapshot::{Form, InodeReader, InodeWriter};
use fsage_data::table::read_table;
use fsage_data::{OpsReader, OpsWriter, SnapshotFile, WorkloadReader};
use proptest::collection::vec;
use proptest::prelude::*;
use std::fs;
use std::path::Path;

/// Reads until the end, whatever comes; `line` of the events is set to 0.
fn read_text(text: &[u8]) -> Vec<Event> {
    let mut reader = OpsReader::new(text, "t.ops").unwrap();
    let mut events = Vec::new();
    while let Some(event) = reader.next_event().unwrap() {
        events.push(Event { line: 0, ..event });
    }
    events
}

proptest! {
    #[test]
    fn text_gives_every_event_back(header in kit::any_header(), events in kit::any_events()) {
        let mut writer = OpsWriter::new(Vec::new(), &header).unwrap();
        for event in &events {
            writer.write(event).unwrap();
        }
        prop_assert_eq!(writer.times_lost(), 0);
        let text = writer.finish().unwrap();
        let reader = OpsReader::new(&text[..], "t.ops").unwrap();
        prop_assert_eq!(reader.header(), &header);
        prop_assert_eq!(read_text(&text), events);
    }

    #[test]
    fn parquet_gives_every_event_back(header in kit::any_header(), mut events in kit::any_events()) {
        // Parquet can say what text cannot: a time that is unknown again.
        if let Some(last) = events.last_mut() {
            last.t_ns = None;
        }
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("w.parquet");
        kit::write_parquet(&path, &header, &events);
        prop_assert_eq!(kit::read_parquet(&path), (header, events));
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in vec(any::<u8>(), 0..400)) {
        read_whatever(&text);
    }

    #[test]
    fn no_nearly_right_text_makes_the_reader_panic(
        words in vec(any_word(), 0..60),
        separator in " ?",
    ) {
        read_whatever(words.join(&separator).as_bytes());
    }

    #[test]
    fn no_damaged_parquet_makes_the_reader_panic(
        events in kit::any_events(),
        damage in damage(),
    ) {
        fsage_data::hide_decoder_panics();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("w.parquet");
        kit::write_parquet(&path, &WorkloadHeader::default(), &events);
        damage.apply(&path);
        if let Ok(mut reader) = WorkloadReader::open(&path) {
            while let Ok(Some(_)) = reader.next_event() {}
        }
        let _ = read_table(&path);
    }

    #[test]
    fn no_damaged_snapshot_makes_the_reader_panic(
        sizes in vec((any::<u64>(), vec(any::<u64>(), 0..5)), 0..40),
        damage in damage(),
    ) {
        fsage_data::hide_decoder_panics();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.parquet");
        write_inodes(&path, &sizes);
        damage.apply(&path);
        if let Ok(mut reader) = InodeReader::open(&path) {
            while let Ok(Some(_)) = reader.next_row() {}
        }
        let _ = SnapshotFile::open(&path);
    }
}

/// Pieces of lines, right and wrong.
fn any_word() -> impl Strategy<Value = String> {
    prop_oneof![
        "@?-?[0-9]{0,3}[.]?[0-9]{0,2}",
        "create|day|overwrite|src=|x-a=1",
        "[0-9]+[KMGTk]",
        "\"[^\"]{0,3}\"?|\\\\x",
        "#!|# |\n|\r\n",
    ]
}

/// What happens to a file on its way.
#[derive(Clone, Debug)]
struct Damage {
    bytes: Vec<(prop::sample::Index, u8)>,
    cut: Option<prop::sample::Index>,
}

fn damage() -> impl Strategy<Value = Damage> {
    let bytes = vec((any::<prop::sample::Index>(), any::<u8>()), 1..4);
    let cut = proptest::option::weighted(0.3, any::<prop::sample::Index>());
    (bytes, cut).prop_map(|(bytes, cut)| Damage { bytes, cut })
}

impl Damage {
    fn apply(&self, path: &Path) {
        let mut bytes = fs::read(path).unwrap();
        for (at, byte) in &self.bytes {
            let at = at.index(bytes.len());
            bytes[at] = *byte;
        }
        if let Some(cut) = &self.cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        fs::write(path, &bytes).unwrap();
    }
}

fn write_inodes(path: &Path, sizes: &[(u64, Vec<u64>)]) {
    let mut writer = InodeWriter::create(path, Form::Full, false).unwrap();
    for (ino, (size, extents)) in sizes.iter().enumerate() {
        let extents = extents.iter().map(|n| Extent {
            logical_bytes: 0,
            physical_bytes: *n,
            length_bytes: n / 2,
            flags: 0,
        });
        let inode = Inode {
            extents: Some(extents.collect()),
            path: Some(format!("d/{size}").into()),
            ..Inode::new(ino as u64, Some(1), FileKind::Regular, *size)
        };
        writer.write(ino as u32 / 10, &inode).unwrap();
    }
    writer.finish().unwrap();
}

fn read_whatever(text: &[u8]) {
    let Ok(mut reader) = OpsReader::new(text, "t.ops") else {
        return;
    };
    let mut lines = 0;
    loop {
        match reader.next_event() {
            Ok(None) => break,
            Ok(Some(_)) => {}
            Err(e) => assert!(!e.to_string().contains('\n')),
        }
        lines += 1;
        assert!(lines <= text.len());
    }
}
