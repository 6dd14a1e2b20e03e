//! Foreign snapshots: the samples of every format, the rules of each, and damage.

mod csv;
mod damage;
mod find;
mod fs_hasher;
mod gufi;

use fsage_core::snapshot::{Inode, SnapshotInfo};
use fsage_core::{SinkError, SnapshotSink};
use fsage_import::snapshots::{Format, Importer, Input, Options, SnapshotError, Summary};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Snapshots in memory.
#[derive(Default)]
struct Nights(Vec<(SnapshotInfo, Vec<Inode>)>);

impl SnapshotSink for Nights {
    fn snapshot(&mut self, info: SnapshotInfo) -> Result<(), SinkError> {
        self.0.push((info, Vec::new()));
        Ok(())
    }

    fn inode(&mut self, inode: Inode) -> Result<(), SinkError> {
        let night = self.0.last_mut().ok_or("an inode before its snapshot")?;
        night.1.push(inode);
        Ok(())
    }
}

impl Nights {
    /// The rows of a night by path. Paths that come twice would hide each other.
    fn by_path(&self, night: usize) -> BTreeMap<&str, &Inode> {
        let rows = &self.0[night].1;
        let by_path: BTreeMap<&str, &Inode> = rows
            .iter()
            .map(|inode| (inode.path.as_deref().expect("a path"), inode))
            .collect();
        assert_eq!(by_path.len(), rows.len());
        by_path
    }
}

fn read_as(
    format: Format,
    options: Options,
    inputs: &[(&[u8], Option<i64>)],
) -> Result<(Nights, Summary), SnapshotError> {
    let mut nights = Nights::default();
    let mut importer = Importer::new(format, options, &mut nights);
    for (mut bytes, modified_ns) in inputs.iter().copied() {
        importer.read(&mut Input {
            name: "in",
            modified_ns,
            bytes: &mut bytes,
        })?;
    }
    let summary = importer.finish()?;
    Ok((nights, summary))
}

/// One input, written long after everything in it.
fn read(format: Format, bytes: &[u8]) -> Result<(Nights, Summary), SnapshotError> {
    read_as(format, Options::default(), &[(bytes, Some(LATE_NS))])
}

const LATE_NS: i64 = 4_000_000_000_000_000_000;

/// The message of an import that must fail; of one line.
fn failure(format: Format, bytes: &[u8]) -> String {
    let Err(error) = read(format, bytes) else {
        panic!("{} was read", bytes.escape_ascii());
    };
    let message = error.to_string();
    assert!(!message.contains('\n'), "{message}");
    message
}

fn vector(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/vectors/foreign")
        .join(name);
    std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}
