//! Damaged images of C-FFS: no panic, no endless reading, messages of one line; what is found is sound.
//!
//! The first byte chooses the variant; then 8 bytes each are a place and a value.

#![no_main]

use fsage_core::{DirId, FileId, FileSystem, Op};
use fsage_models::cffs::image::{Blocks, recover};
use fsage_models::cffs::{Cffs, InodeId, Params};
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static IMAGES: LazyLock<[Blocks; 3]> = LazyLock::new(|| {
    [
        (true, InodeId::Locator),
        (false, InodeId::Locator),
        (true, InodeId::Physical),
    ]
    .map(|(embed, inode_id)| populated(embed, inode_id))
});

fn populated(embed: bool, inode_id: InodeId) -> Blocks {
    let params = Params {
        size_bytes: 4 << 20,
        cg_blocks: 512,
        embed,
        inode_id,
        ..Params::default()
    };
    let mut fs = Cffs::new(params).expect("the sizes work");
    for (dir, parent) in [(1, None), (2, Some(1)), (3, Some(2))] {
        let (dir, parent) = (DirId(dir), parent.map(DirId));
        fs.apply(&Op::Mkdir { dir, parent }).expect("it fits");
    }
    for n in 0..90 {
        let (file, dir, bytes) = (FileId(100 + n), DirId(n % 3 + 1), n * 977);
        fs.apply(&Op::Create { file, dir, bytes }).expect("it fits");
        let (file, existing, dir) = (FileId(300 + n), file, DirId(n / 2 % 3 + 1));
        if n % 9 == 0 {
            let link = Op::Link {
                file,
                existing,
                dir,
            };
            fs.apply(&link).expect("it fits");
        }
    }
    fs.image().expect("it fits the format")
}

fuzz_target!(|input: &[u8]| {
    let (choice, records) = input.split_first().unwrap_or((&0, &[]));
    let mut image = IMAGES[usize::from(*choice) % IMAGES.len()].clone();
    let metadata: Vec<u32> = image.blocks.keys().copied().collect();
    for record in records.chunks_exact(8) {
        let (place, value) = record.split_at(4);
        let place = u32::from_le_bytes([place[0], place[1], place[2], place[3]]) as usize;
        let block = metadata[place / 4096 % metadata.len()];
        if let Some(bytes) = image.blocks.get_mut(&block) {
            let at = place % 4093;
            bytes[at..at + 4].copy_from_slice(value);
        }
    }
    match recover(&image) {
        Ok(recovery) => {
            assert_eq!(recovery.fs.check(), Ok(()));
            let repaired = recovery.fs.image().expect("it fits the format");
            let second = recover(&repaired).expect("a superblock");
            assert_eq!(second.findings, []);
        }
        Err(e) => assert!(!e.to_string().contains('\n'), "{e}"),
    }
});
