//! Workloads as files: real histories through every form, and files that are wrong.

use crate::kit;
use arrow_array::{ArrayRef, RecordBatch, StringArray, UInt64Array, new_null_array};
use arrow_schema::{DataType, Field, Schema};
use fsage_core::{DirId, Event, EventSource, FileId, Op, WorkloadHeader};
use fsage_data::schema::workload_schema;
use fsage_data::{
    DataError, OpsReader, OpsWriter, WorkloadReader, create_workload, hash_file, open_workload,
};
use fsage_durable::FileError;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::metadata::{KeyValue, RowGroupMetaData};
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

fn convert(from: &Path, to: &Path) -> fsage_data::Lost {
    let mut source = open_workload(from).unwrap();
    let mut output = create_workload(to, source.header(), false).unwrap();
    while let Some(event) = source.next_event().unwrap() {
        output.write(&event).unwrap();
    }
    output.finish().unwrap()
}

fn text_of(path: &Path) -> String {
    let mut text = String::new();
    let (mut input, _) = fsage_data::stream::open(path).unwrap();
    input.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn real_histories_come_back_byte_for_byte() {
    for view in ["commit", "day"] {
        let Some(original) = kit::shared(&format!("data/gitops/redis.{view}.ops.gz")) else {
            return;
        };
        let dir = tempfile::tempdir().unwrap();
        let parquet = dir.path().join("w.parquet");
        let text = dir.path().join("w.ops");
        convert(&original, &parquet);
        convert(&parquet, &text);
        let without_comments: String = text_of(&original)
            .split_inclusive('\n')
            .filter(|line| !line.starts_with("# "))
            .collect();
        assert!(text_of(&text) == without_comments, "{view} view");

        let again = dir.path().join("again.parquet");
        convert(&text, &again);
        assert_eq!(hash_file(&parquet).unwrap(), hash_file(&again).unwrap());
        for compressed in ["w.ops.gz", "w.ops.zst"] {
            let compressed = dir.path().join(compressed);
            convert(&parquet, &compressed);
            assert!(fs::metadata(&compressed).unwrap().len() < 300_000);
            assert!(text_of(&compressed) == without_comments);
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 5);
    }
}

#[test]
fn parquet_keeps_all_of_the_grammar_but_probes() {
    let dir = tempfile::tempdir().unwrap();
    let (parquet, text) = (dir.path().join("w.parquet"), dir.path().join("w.ops"));
    let source = kit::vector("grammar_ok.ops");
    assert_eq!(convert(&source, &parquet).probes, 2);
    convert(&parquet, &text);

    let mut reader = OpsReader::open(&source).unwrap();
    let mut writer = OpsWriter::new(Vec::new(), reader.header()).unwrap();
    while let Some(event) = reader.next_event().unwrap() {
        if !event.op.verb().is_probe() {
            writer.write(&event).unwrap();
        }
    }
    assert_eq!(text_of(&text).into_bytes(), writer.finish().unwrap());
}

fn create(file: u64) -> Event {
    Event::new(Op::Create {
        file: FileId(file),
        dir: DirId(0),
        bytes: file % 5000,
    })
}

#[test]
fn row_groups_end_where_days_end() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("w.parquet");
    let events: Vec<Event> = (0..1_000_000)
        .map(|i| {
            if i % 100_000 == 99_999 {
                Event::day("d").at(i as i64)
            } else {
                create(i).at(i as i64)
            }
        })
        .collect();
    kit::write_parquet(&path, &WorkloadHeader::default(), &events);
    let file = ParquetRecordBatchReaderBuilder::try_new(File::open(&path).unwrap()).unwrap();
    let groups: Vec<i64> = file
        .metadata()
        .row_groups()
        .iter()
        .map(RowGroupMetaData::num_rows)
        .collect();
    assert_eq!(groups, [300_000, 300_000, 300_000, 100_000]);
    assert_eq!(kit::read_parquet(&path).1, events);
    let mut reader = WorkloadReader::open(&path).unwrap();
    assert_eq!(reader.progress().unwrap().0, 0);
    for _ in 0..500_000 {
        reader.next_event().unwrap();
    }
    let (read, total) = reader.progress().unwrap();
    assert_eq!(read, total / 2);
}

#[test]
fn nothing_is_written_over_and_nothing_half_done_stays() {
    let dir = tempfile::tempdir().unwrap();
    let header = WorkloadHeader::default();
    for name in ["w.parquet", "w.ops", "w.ops.gz", "w.ops.zst"] {
        let path = dir.path().join(name);
        let mut output = create_workload(&path, &header, false).unwrap();
        output.write(&create(1)).unwrap();
        drop(output);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "{name}");

        fs::write(&path, "precious").unwrap();
        assert!(matches!(
            create_workload(&path, &header, false),
            Err(DataError::Output(FileError::Exists { .. }))
        ));
        assert_eq!(fs::read(&path).unwrap(), b"precious");
        create_workload(&path, &header, true)
            .unwrap()
            .finish()
            .unwrap();
        let mut source = open_workload(&path).unwrap();
        assert!(source.next_event().unwrap().is_none());
        fs::remove_file(&path).unwrap();
    }
    let message = create_workload(dir.path().join("w.csv"), &header, false)
        .err()
        .unwrap();
    assert!(message.to_string().contains(".ops.zst"), "{message}");
}

#[test]
fn compressed_text_that_is_cut_short_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let header = WorkloadHeader::default();
    for name in ["w.ops.gz", "w.ops.zst"] {
        let path = dir.path().join(name);
        let mut output = create_workload(&path, &header, false).unwrap();
        for i in 0..100_000 {
            output.write(&create(i * i)).unwrap();
        }
        output.finish().unwrap();
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        let mut reader = OpsReader::open(&path).unwrap();
        let error = loop {
            match reader.next_event() {
                Ok(Some(_)) => {}
                Ok(None) => panic!("{name}: no error"),
                Err(e) => break e,
            }
        };
        assert!(
            error.to_string().contains("cannot read on after line"),
            "{error}"
        );
    }
}

/// A file with one row, some of whose columns are replaced.
fn one_row(path: &Path, replaced: &[(&str, Option<ArrayRef>)], version: &str) {
    let schema = workload_schema();
    let mut fields = Vec::new();
    let mut columns: Vec<ArrayRef> = Vec::new();
    for field in schema.fields() {
        let column: ArrayRef = match field.name().as_str() {
            "seq" | "file_id" | "dir_id" | "length_bytes" => Arc::new(UInt64Array::from(vec![7])),
            "op" => Arc::new(StringArray::from(vec!["create"])),
            "day" => Arc::new(arrow_array::UInt32Array::from(vec![0])),
            _ => new_null_array(field.data_type(), 1),
        };
        let column = match replaced.iter().find(|(name, _)| name == field.name()) {
            None => column,
            Some((_, None)) => continue,
            Some((_, Some(other))) => Arc::clone(other),
        };
        fields.push(Field::new(field.name(), column.data_type().clone(), true));
        columns.push(column);
    }
    let schema = Arc::new(Schema::new(fields));
    let mut writer =
        ArrowWriter::try_new(File::create(path).unwrap(), Arc::clone(&schema), None).unwrap();
    writer
        .write(&RecordBatch::try_new(schema, columns).unwrap())
        .unwrap();
    for (key, value) in [
        ("fsage.schema", "workload"),
        ("fsage.schema_version", version),
    ] {
        writer.append_key_value_metadata(KeyValue::new(key.to_owned(), value.to_owned()));
    }
    writer.close().unwrap();
}

#[test]
fn a_wrong_file_says_which_row_or_column_is_wrong() {
    let text = |word: &str| -> Option<ArrayRef> { Some(Arc::new(StringArray::from(vec![word]))) };
    let null = |kind| -> Option<ArrayRef> { Some(new_null_array(&kind, 1)) };
    let cases: [(&str, Option<ArrayRef>, &str); 9] = [
        ("op", None, "column `op` is missing"),
        ("op", text("creat"), "row 1: unknown operation \"creat\""),
        ("op", text("dump"), "row 1: `dump` is a probe"),
        ("op", null(DataType::Utf8), "row 1: `op` is null"),
        (
            "dir_id",
            null(DataType::UInt64),
            "row 1: `create` needs `dir_id`, which is null",
        ),
        (
            "dir_id",
            text("0"),
            "column `dir_id` has type Utf8, expected UInt64",
        ),
        (
            "origin",
            text("heaven"),
            "row 1: unknown word \"heaven\" in `origin`",
        ),
        ("name", text("a\\q"), "row 1: `name` is"),
        ("name", text("a/b"), "a name has a slash"),
    ];
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("w.parquet");
    for (column, array, expected) in cases {
        one_row(&path, &[(column, array)], "1");
        let error = WorkloadReader::open(&path)
            .and_then(|mut reader| reader.next_event())
            .expect_err(expected)
            .to_string();
        assert!(
            error.contains("w.parquet: ") && error.contains(expected),
            "{error}"
        );
    }
    one_row(&path, &[], "2");
    let error = WorkloadReader::open(&path).err().unwrap().to_string();
    assert!(error.contains("schema version 2"), "{error}");
    fs::write(&path, "PAR1 but not for long").unwrap();
    assert!(open_workload(&path).is_err());
}

/// Files of version 1 that were written before there were `mode` and `extra`, and by other programs: with
/// dictionary columns, without our order of columns.
#[test]
fn a_file_without_the_optional_columns_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("w.parquet");
    one_row(&path, &[("mode", None), ("extra", None)], "1");
    let mut reader = WorkloadReader::open(&path).unwrap();
    let event = reader.next_event().unwrap().unwrap();
    assert_eq!(
        event,
        Event {
            line: 1,
            ..Event::new(Op::Create {
                file: FileId(7),
                dir: DirId(7),
                bytes: 7
            })
        }
    );
}

/// The figures of the description of the sample: `data/INDEX.md`, section gitops.
#[test]
fn the_summary_of_a_real_history_has_its_known_figures() {
    use fsage_core::Verb;
    for (view, ops, written, down, counts) in [
        (
            "commit",
            25_391,
            1_534_264_593,
            1,
            [158, 2_440, 21_976, 817, 2_647],
        ),
        (
            "day",
            37_657,
            1_102_539_509,
            0,
            [144, 19_568, 0, 17_945, 2_647],
        ),
    ] {
        let Some(path) = kit::shared(&format!("data/gitops/redis.{view}.ops.gz")) else {
            return;
        };
        let mut source = open_workload(path).unwrap();
        let mut summary = fsage_data::WorkloadSummary::default();
        while let Some(event) = source.next_event().unwrap() {
            summary.add(&event);
        }
        let of = |verb| {
            summary
                .verbs()
                .find(|(v, _)| *v == verb)
                .map_or(0, |(_, s)| s.ops)
        };
        let verbs = [
            Verb::Mkdir,
            Verb::Create,
            Verb::Rewrite,
            Verb::Delete,
            Verb::Day,
        ];
        assert_eq!(verbs.map(of), counts);
        assert_eq!((summary.total.ops, summary.total.bytes), (ops, written));
        assert_eq!(
            (summary.live_files, summary.live_files_most),
            (1_623, 1_623)
        );
        assert_eq!(summary.live_bytes, 16_293_820);
        // The sample counts between commits; inside the last one there is a moment with more.
        assert!(summary.live_bytes_most - summary.live_bytes < 1000);
        assert_eq!((summary.times_down, summary.unknown_files), (down, 0));
        let (read, total) = source.progress().unwrap();
        assert_eq!(read, total);
    }
}
