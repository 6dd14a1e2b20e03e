//! Bytes laid out by hand from docs/spec/cffs.md, section 2.

use super::*;

/// Own number 4, length 8, type 2, open count 2, uid 4, gid 4, link count 2, mode 2, times 12, 15 direct pointers, 3
/// indirect ones, containing directory 4, group start 4, group size 4, check word 4: 128 bytes.
#[test]
fn the_fields_of_an_inode_lie_where_the_format_has_them() {
    let mut inode = DiskInode::new(0x0403_0201, Kind::File, 0x1112);
    (inode.opens, inode.links) = (7, 3);
    (inode.direct[0], inode.direct[14]) = (0x21, 0x22);
    inode.indirect = [0x31, 0x32, 0x33];
    (inode.dir, inode.group_start, inode.group_size) = (0x41, 0x42, 0x43);
    let bytes = inode.encode();
    assert_eq!(bytes[..4], [1, 2, 3, 4]);
    assert_eq!(bytes[4..12], [0x12, 0x11, 0, 0, 0, 0, 0, 0]);
    assert_eq!(bytes[12..16], [8, 0, 7, 0]);
    assert_eq!(bytes[24..28], [3, 0, 0xa4, 0x81]);
    assert_eq!(
        (bytes[40], bytes[96], bytes[100], bytes[104], bytes[108]),
        (0x21, 0x22, 0x31, 0x32, 0x33)
    );
    assert_eq!((bytes[112], bytes[116], bytes[120]), (0x41, 0x42, 0x43));
    assert_eq!(DiskInode::decode(&bytes), Slot::Used(inode));
    for at in 4..INODE {
        let mut damaged = bytes;
        damaged[at] ^= 0x10;
        assert_eq!(DiskInode::decode(&damaged), Slot::Damaged, "byte {at}");
    }
    assert_eq!(DiskInode::decode(&[0; INODE]), Slot::Free);
}

/// Entry length, length of the entry before, type, length of the name, inode, name. A new entry takes the slack of the
/// one before it; the first one stays, invalid, when its name goes.
#[test]
fn entries_cover_their_run_exactly() {
    let file = |pointer, id| {
        Some(DiskEntry {
            way: Way::Embedded,
            pointer,
            id: Id::File(id),
        })
    };
    let mut bytes = [0; NAMES];
    let run = [None, file(0x0102, 17), None, file(3, 4)];
    encode_names(&run, &mut bytes);
    assert_eq!(bytes[..4], [32, 0, 0, 0]);
    assert_eq!(bytes[32..43], [64, 32, 1, 3, 2, 1, 0, 0, b'f', b'1', b'7']);
    assert_eq!(bytes[96..106], [32, 64, 1, 2, 3, 0, 0, 0, b'f', b'4']);
    assert_eq!(decode_names(&bytes), Some(run));
    let mut empty = [0; NAMES];
    encode_names(&Run::default(), &mut empty);
    assert_eq!(empty[..4], [128, 0, 0, 0]);
    // A length, the length before, a type, the length of a name, and a name that cannot be.
    for (at, byte) in [
        (0, 0),
        (32, 160),
        (97, 32),
        (34, 9),
        (35, 200),
        (40, b'x'),
        (41, b'0'),
    ] {
        let mut damaged = bytes;
        damaged[at] = byte;
        assert_eq!(decode_names(&damaged), None, "byte {at}");
    }
    assert_eq!(decode_names(&[0; NAMES]), None);
}

#[test]
fn a_superblock_is_what_was_written_or_none() {
    let params = Params {
        size_bytes: 1 << 20,
        cg_blocks: 100,
        embed: false,
        seed: 9,
        ..Params::default()
    };
    let superblock = Superblock {
        geometry: Geometry::new(&params).unwrap(),
        params,
        allocated: 77,
        inodes: [Slot::Free; 4],
        root: 2,
    };
    let bytes = superblock.encode();
    assert_eq!(Superblock::decode(&bytes), Some(superblock));
    // 256 blocks of 1 MB; the bitmap of group 0 behind block 0 and the superblock.
    assert_eq!((bytes[84], bytes[85], bytes[96], bytes[100]), (0, 1, 2, 1));
    for at in [0, 72, 104, 116, 640, CHECK] {
        let mut damaged = bytes;
        damaged[at] ^= 1;
        assert_eq!(Superblock::decode(&damaged), None, "byte {at}");
    }
}
