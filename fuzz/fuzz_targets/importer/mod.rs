//! What the fuzz targets of foreign snapshots share.

use fsage_core::snapshot::{Inode, SnapshotInfo};
use fsage_core::{SinkError, SnapshotSink};
use fsage_import::snapshots::{Format, Importer, Input, Options};

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

/// Reads bytes as a foreign snapshot; an error is one line.
pub fn read(format: Format, mut bytes: &[u8], modified_ns: Option<i64>) {
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
