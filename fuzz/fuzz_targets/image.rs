//! Damaged images of ext2, ext3, ext4 and XFS: no panic, every message one line, no endless reading.
//!
//! The first byte chooses the image; then 8 bytes each are a place and a value.

#![no_main]

use fsage_collect::image::{ImageOptions, ReadAt, read_image_from};
use fsage_core::snapshot::{Inode, SnapshotInfo};
use fsage_core::{SinkError, SnapshotSink, names};
use libfuzzer_sys::fuzz_target;
use std::cell::{Cell, RefCell};
use std::io;
use std::path::Path;

const IMAGES: [&[u8]; 4] = [
    include_bytes!("../../crates/fsage-collect/tests/vectors/images/ext2.img.zst"),
    include_bytes!("../../crates/fsage-collect/tests/vectors/images/ext3.img.zst"),
    include_bytes!("../../crates/fsage-collect/tests/vectors/images/ext4.img.zst"),
    include_bytes!("../../crates/fsage-collect/tests/vectors/images/xfs.img.zst"),
];

/// An image that counts what is read of it.
struct Watched {
    bytes: Vec<u8>,
    read_bytes: Cell<u64>,
}

impl ReadAt for Watched {
    fn len_bytes(&self) -> io::Result<u64> {
        self.bytes.len_bytes()
    }

    fn read_at(&self, buffer: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        let read = self.read_bytes.get() + buffer.len() as u64;
        self.read_bytes.set(read);
        assert!(read <= 8 * self.bytes.len() as u64, "endless reading");
        self.bytes.read_at(buffer, offset_bytes)
    }
}

struct Check;

impl SnapshotSink for Check {
    fn snapshot(&mut self, _: SnapshotInfo) -> Result<(), SinkError> {
        Ok(())
    }

    fn inode(&mut self, inode: Inode) -> Result<(), SinkError> {
        if let Some(path) = inode.path {
            assert!(
                names::unescape(&path).is_some(),
                "a path that cannot be stored"
            );
        }
        Ok(())
    }
}

thread_local! {
    static UNPACKED: RefCell<Vec<Watched>> = RefCell::new(IMAGES.map(unpacked).into());
}

fn unpacked(packed: &[u8]) -> Watched {
    Watched {
        bytes: zstd::decode_all(packed).expect("an image"),
        read_bytes: Cell::new(0),
    }
}

fuzz_target!(|input: &[u8]| {
    let (choice, records) = input.split_first().unwrap_or((&0, &[]));
    UNPACKED.with_borrow_mut(|images| {
        let image = &mut images[usize::from(*choice) % IMAGES.len()];
        let mut before = Vec::new();
        for record in records.chunks_exact(8) {
            let (place, value) = record.split_at(4);
            let place = u32::from_le_bytes([place[0], place[1], place[2], place[3]]) as usize;
            let place = place % (image.bytes.len() - 4);
            let there = &mut image.bytes[place..place + 4];
            before.push((place, there.to_vec()));
            there.copy_from_slice(value);
        }
        image.read_bytes.set(0);
        let options = ImageOptions {
            stale: true,
            ..ImageOptions::default()
        };
        let path = Path::new("image");
        let read = read_image_from(image, path, &options, &mut Check, &mut |_, _| Ok(()));
        if let Err(e) = read {
            assert!(!e.to_string().contains('\n'), "{e}");
        }
        for (place, bytes) in before.into_iter().rev() {
            image.bytes[place..place + 4].copy_from_slice(&bytes);
        }
    });
});
