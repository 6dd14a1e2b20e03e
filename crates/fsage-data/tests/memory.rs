//! A small file stays small in memory, whatever it says of itself. One test in a process of its own: it looks at the
//! most that the process ever took.

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_schema::SchemaRef;
use fsage_core::snapshot::Inode;
use fsage_core::{DirId, Event, Extent, FileKind, Op, WorkloadHeader};
use fsage_data::snapshot::{Form, InodeReader, InodeWriter};
use fsage_data::{DataError, WorkloadReader, WorkloadWriter};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

/// The most memory that this process took so far.
fn peak_mb() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let digits: String = line.unwrap().chars().filter(char::is_ascii_digit).collect();
    digits.parse::<u64>().unwrap() / 1024
}

/// Writes the only row of a file of ours many times, with another value in a column.
fn inflate(path: &Path, other: Option<(&str, ArrayRef)>, rows: usize) {
    let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    let pairs = builder.metadata().file_metadata().key_value_metadata();
    let pairs: Vec<KeyValue> = pairs.unwrap().clone();
    let batch = builder.build().unwrap().next().unwrap().unwrap();
    let schema: SchemaRef = batch.schema();
    let mut columns = batch.columns().to_vec();
    if let Some((column, value)) = other {
        columns[schema.index_of(column).unwrap()] = value;
    }
    let row = RecordBatch::try_new(Arc::clone(&schema), columns).unwrap();
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3).unwrap()))
        .set_dictionary_page_size_limit(1 << 30)
        .set_key_value_metadata(Some(pairs))
        .build();
    let file = File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, schema, Some(properties)).unwrap();
    for _ in 0..rows {
        writer.write(&row).unwrap();
    }
    writer.close().unwrap();
}

fn read_all(path: &Path) -> Result<u64, DataError> {
    let mut reader = WorkloadReader::open(path)?;
    let mut rows = 0;
    while reader.next_event()?.is_some() {
        rows += 1;
    }
    Ok(rows)
}

#[test]
fn a_file_of_kilobytes_takes_no_gigabytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.parquet");
    let mkdir = Event::new(Op::Mkdir {
        dir: DirId(1),
        parent: None,
    });
    let mut writer = WorkloadWriter::create(&path, &WorkloadHeader::default(), true).unwrap();
    writer.write(&mkdir).unwrap();
    writer.finish().unwrap();
    let long = StringArray::from(vec!["x".repeat(1 << 20)]);
    inflate(&path, Some(("extra", Arc::new(long))), 1500);
    assert!(fs::metadata(&path).unwrap().len() < 20_000);
    let before = peak_mb();
    let read = read_all(&path);
    assert!(peak_mb() < before + 300, "{before} {} {read:?}", peak_mb());

    let inodes = folder.path().join("inodes.parquet");
    let nothing = Extent {
        logical_bytes: 0,
        physical_bytes: 0,
        length_bytes: 0,
        flags: 0,
    };
    let mut writer = InodeWriter::create(&inodes, Form::Full, false).unwrap();
    let inode = Inode {
        extents: Some(vec![nothing; 1 << 20].into()),
        ..Inode::new(1, None, FileKind::Regular, 0)
    };
    writer.write(0, &inode).unwrap();
    writer.finish().unwrap();
    inflate(&inodes, None, 24);
    assert!(fs::metadata(&inodes).unwrap().len() < 100_000);
    let before = peak_mb();
    let read = InodeReader::open(&inodes).and_then(|mut reader| {
        while reader.next_row()?.is_some() {}
        Ok(())
    });
    assert!(peak_mb() < before + 300, "{before} {}", peak_mb());
    let error = read.unwrap_err().to_string();
    assert!(
        error.contains("inodes.parquet") && error.contains("items of lists"),
        "{error}"
    );
}
