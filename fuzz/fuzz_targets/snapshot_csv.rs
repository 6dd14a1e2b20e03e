//! Any bytes as a table of snapshots: no panic, every message one line, paths that can be stored. What does
//! not start like a header gets one.

#![no_main]

use fsage_core::snapshot::{Inode, SnapshotInfo};
use fsage_core::{SinkError, SnapshotSink};
use fsage_import::snapshots::{Format, Importer, Input, Options};
use libfuzzer_sys::fuzz_target;

/// Sees that rows come after their snapshot, with paths that are escaped.
#[derive(Default)]
struct Rows {
    snapshots: u64,
}

impl SnapshotSink for Rows {
    fn snapshot(&mut self, _: SnapshotInfo) -> Result<(), SinkError> {
        self.snapshots += 1;
        Ok(())
    }

    fn inode(&mut self, inode: Inode) -> Result<(), SinkError> {
        assert!(self.snapshots > 0);
        if let Some(path) = inode.path {
            assert!(!path.starts_with('/') && !path.contains(|c: char| c.is_ascii_control()));
            assert!(fsage_core::names::unescape(&path).is_some());
        }
        Ok(())
    }
}

fn read(format: Format, mut bytes: &[u8], modified_ns: Option<i64>) {
    let mut rows = Rows::default();
    let mut importer = Importer::new(format, Options::default(), &mut rows);
    let input = &mut Input {
        name: "fuzz",
        modified_ns,
        bytes: &mut bytes,
    };
    match importer.read(input).and_then(|()| importer.finish()) {
        Ok(_) => {}
        Err(e) => assert!(!e.to_string().contains('\n'), "{e}"),
    }
}

const HEADER: &[u8] =
    b"snap_id,taken_at,inode,generation,type,size,blocks512,mode_octal,ctime,extents_kib,path\n";

fuzz_target!(|bytes: &[u8]| {
    read(Format::Csv, bytes, None);
    read(Format::Csv, &[HEADER, bytes].concat(), Some(0));
    let _ = Format::Csv.time_ns(bytes);
});
