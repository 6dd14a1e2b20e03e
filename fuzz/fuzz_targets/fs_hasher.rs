//! Any bytes as an fs-hasher file: no panic, every message one line, no large allocation. No fuzzer fills a
//! header of 8 KiB by chance, so the input is put behind one: its first bytes choose version, chunking and hash.

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

fuzz_target!(|bytes: &[u8]| {
    read(Format::FsHasher, bytes, None);
    let [version, variable, hash_bytes, rest @ ..] = bytes else {
        return;
    };
    let version = 4 + version % 4;
    let mut file = vec![0; if version == 4 { 8288 } else { 8296 }];
    file[..4].copy_from_slice(&0xDEAD_DEAD_u32.to_le_bytes());
    file[4] = version;
    file[8] = 3;
    file[16] = b'/';
    file[4120] = 1 + variable % 2;
    file[4172..4174].copy_from_slice(&(u16::from(*hash_bytes) * 8).to_le_bytes());
    file.extend_from_slice(rest);
    read(Format::FsHasher, &file, None);
    let _ = Format::FsHasher.time_ns(&file);
});
