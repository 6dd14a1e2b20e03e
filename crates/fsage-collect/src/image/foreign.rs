//! What an image is that is none of ours, so that a message can say what to do.

use super::ReadAt;

/// Magic bytes, where they lie, and what to say of them.
const KNOWN: [(u64, &[u8], &str); 8] = [
    (
        0,
        b"QFI\xfb",
        "this is a qcow2 image; convert it with `qemu-img convert -O raw`",
    ),
    (
        4,
        b"Ext2 Image ",
        "this is an image of e2image in its own format; make a raw one with `e2image -r`",
    ),
    (
        0,
        b"\x28\xb5\x2f\xfd",
        "this is compressed with zstd; decompress it first",
    ),
    (
        0,
        b"\x1f\x8b",
        "this is compressed with gzip; decompress it first",
    ),
    (
        0,
        b"\xfd7zXZ\0",
        "this is compressed with xz; decompress it first",
    ),
    (
        0x1_0040,
        b"_BHRfS_M",
        "this is btrfs; mount it and take the snapshot of the mount point",
    ),
    (
        512,
        b"EFI PART",
        "this is a disk with partitions; name one of them, or use `losetup --partscan`",
    ),
    (
        510,
        b"\x55\xaa",
        "this looks like a disk with partitions; name one of them, or use `losetup --partscan`",
    ),
];

/// A guess at what the image is, in words.
pub fn recognize(source: &dyn ReadAt, len_bytes: u64) -> &'static str {
    if len_bytes < 2048 {
        return "the image is shorter than a superblock";
    }
    let read = |at: u64, length: usize| {
        let mut bytes = vec![0; length];
        source.read_at(&mut bytes, at).is_ok().then_some(bytes)
    };
    for (at, magic, what) in KNOWN {
        if read(at, magic.len()).as_deref() == Some(magic) {
            return what;
        }
    }
    "the magic number of the superblock is missing; if the rest is intact, `e2fsck -fn -b 32768` uses a copy of it"
}
