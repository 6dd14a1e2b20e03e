//! The reader of XFS images against what the kernel said of the same file system while it was mounted: every inode,
//! every time, every extent. (Vector: statx, file handles and FIEMAP of Linux 6.18; free space by `xfs_db` of xfsprogs
//! 6.1.) And what it says of images that are damaged, or that it does not read.

use crate::common::{self, Mounted, snapshot};
use crate::image_kit::{Rows, data, read, unpacked, vector_line};
use fsage_collect::image::{ImageOptions, ReadAt, read_image, read_image_from};
use fsage_collect::{CollectError, Memory, Report};
use fsage_core::snapshot::Inode;
use fsage_core::{Extent, FileKind, Rng};
use std::cell::RefCell;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::Path;

/// Damaged copies of the image. More have been tried, see the fuzz target.
const COPIES: u32 = 1000;
const BLOCK: usize = 4096;

/// A row as the vector has it. Extents are those of FIEMAP, which tells none of directories.
fn line(inode: &Inode) -> String {
    vector_line(inode, &[FileKind::Regular])
}

#[test]
fn every_row_is_what_the_kernel_said() {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image");
    fs::write(&image, unpacked("xfs.img.zst")).unwrap();
    let (report, rows) = read(&image);
    let expected = String::from_utf8(unpacked("xfs.expected.tsv.zst")).unwrap();
    let expected: Vec<&str> = expected.lines().skip(1).collect();
    let inodes = rows.by_inode();
    assert_eq!((inodes.len(), expected.len()), (668, 668));
    for (inode, expected) in inodes.iter().zip(expected) {
        assert_eq!(line(inode), expected);
    }
    assert_eq!(report.warnings, Vec::<String>::new());
    assert_eq!((report.unreadable, report.rows), (0, 669));
    let free = report.free.unwrap();
    let free_bytes: u64 = free.iter().map(|run| run.length_bytes).sum();
    let longest = free.iter().map(|run| run.length_bytes).max();
    assert_eq!(
        (free_bytes, longest),
        (FREE_BLOCKS * 4096, Some(LONGEST * 4096))
    );
    let info = &rows.info;
    assert_eq!(
        (info.group_count, info.size_bytes, info.fs_uuid.as_deref()),
        (
            Some(2),
            Some(33 << 20),
            Some("66736167-6500-4000-8000-000000000001")
        )
    );
    for inode in inodes {
        let extents = inode.extents.iter().flatten();
        let bytes: u64 = extents.map(|e| e.length_bytes).sum();
        assert_eq!(Some(bytes), inode.alloc_bytes, "{:?}", inode.path);
    }
}

/// Free blocks of all AGs, and of the longest run.
const FREE_BLOCKS: u64 = 3360 + 2738;
const LONGEST: u64 = 2829;

/// An image in memory that notes what is read of it.
struct InMemory<'a> {
    bytes: &'a [u8],
    read: RefCell<Vec<Range<usize>>>,
}

impl ReadAt for InMemory<'_> {
    fn len_bytes(&self) -> io::Result<u64> {
        self.bytes.len_bytes()
    }

    fn read_at(&self, buffer: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        let start = offset_bytes as usize;
        self.read.borrow_mut().push(start..start + buffer.len());
        self.bytes.read_at(buffer, offset_bytes)
    }
}

fn read_bytes(bytes: &[u8], stale: bool) -> Result<(Report, Rows), CollectError> {
    let read = RefCell::default();
    read_and_note(&InMemory { bytes, read }, stale)
}

fn read_and_note(image: &InMemory<'_>, stale: bool) -> Result<(Report, Rows), CollectError> {
    let mut rows = Rows::default();
    let options = ImageOptions {
        stale,
        ..ImageOptions::default()
    };
    let path = Path::new("image");
    let read = read_image_from(image, path, &options, &mut rows, &mut |_, _| Ok(()));
    read.map(|report| (report, rows))
}

/// Places that are read and hold something.
fn places(bytes: &[u8]) -> Vec<usize> {
    let image = InMemory {
        bytes,
        read: RefCell::default(),
    };
    read_and_note(&image, false).unwrap();
    let read = image.read.into_inner().into_iter().flatten();
    let mut places: Vec<usize> = read.filter(|&at| bytes[at] != 0).collect();
    places.sort_unstable();
    places.dedup();
    places
}

/// Every structure has a checksum, so that no damage goes unseen: it is told, or what was read is what it was.
#[test]
#[cfg(not(feature = "any-checksum"))]
fn damage_is_reported() {
    let mut bytes = unpacked("xfs.img.zst");
    let (sound, rows) = read_bytes(&bytes, false).unwrap();
    let places = places(&bytes);
    let mut rng = Rng::new(7);
    let (mut refused, mut marked) = (0, 0);
    for _ in 0..COPIES {
        let at = places[rng.below(places.len() as u64) as usize];
        let old = bytes[at];
        bytes[at] ^= 1 << rng.below(8);
        match read_bytes(&bytes, false) {
            Ok((report, damaged)) if report.unreadable == 0 => {
                assert_eq!(damaged.inodes, rows.inodes, "byte {at}");
                assert_eq!(report.free, sound.free, "byte {at}");
            }
            Ok(_) => marked += 1,
            Err(e) => {
                assert!(!e.to_string().contains('\n'), "{e}");
                refused += 1;
            }
        }
        bytes[at] = old;
    }
    assert!(refused > 5 && marked > COPIES / 5, "{refused} {marked}");
}

/// Whoever sets the checksums right may write anything: still an error of one line, or rows that can be, and no endless
/// reading.
#[test]
#[cfg(feature = "any-checksum")]
fn hostile_images_are_survived() {
    let mut bytes = unpacked("xfs.img.zst");
    let places = places(&bytes);
    let size = bytes.len();
    let mut rng = Rng::new(7);
    for _ in 0..10 * COPIES {
        let mut before = Vec::new();
        for _ in 0..=rng.below(4) {
            let at = places[rng.below(places.len() as u64) as usize];
            before.push((at, bytes[at]));
            bytes[at] = rng.below(256) as u8;
        }
        let image = InMemory {
            bytes: &bytes,
            read: RefCell::default(),
        };
        match read_and_note(&image, true) {
            Ok((_, rows)) => {
                for extent in rows.inodes.iter().flat_map(|i| i.extents.iter().flatten()) {
                    let end = extent.physical_bytes + extent.length_bytes;
                    assert!(extent.length_bytes > 0 && end <= size as u64);
                }
            }
            Err(e) => assert!(!e.to_string().contains('\n'), "{e}"),
        }
        let read: usize = image.read.borrow().iter().map(Range::len).sum();
        assert!(read <= 8 * size, "{read} bytes");
        for (at, byte) in before.into_iter().rev() {
            bytes[at] = byte;
        }
    }
}

/// Changes a superblock, and sets its checksum right.
fn with_superblock(bytes: &[u8], change: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let sector = &mut bytes[..512];
    change(sector);
    sector[224..228].fill(0);
    let sum = crc32c::crc32c(sector);
    sector[224..228].copy_from_slice(&sum.to_le_bytes());
    bytes
}

#[test]
fn what_is_not_read_is_refused_by_name() {
    let bytes = unpacked("xfs.img.zst");
    let refused = |bytes: &[u8]| match read_bytes(bytes, false) {
        Ok(_) => panic!("read"),
        Err(error) => error.to_string(),
    };
    let cases: [(&str, Vec<u8>); 7] = [
        ("version 4", with_superblock(&bytes, |b| b[101] = 0xA4)),
        (
            "needs a repair",
            with_superblock(&bytes, |b| b[219] |= 0x10),
        ),
        (
            "incompat 0x40000000",
            with_superblock(&bytes, |b| b[216] |= 0x40),
        ),
        (
            "blocks of 8192 bytes",
            with_superblock(&bytes, |b| b[192] = 1),
        ),
        ("did not finish", with_superblock(&bytes, |b| b[126] = 1)),
        (
            "allocation groups: 3",
            with_superblock(&bytes, |b| b[91] = 3),
        ),
        ("cut off", bytes[..30 << 20].to_vec()),
    ];
    for (what, image) in cases {
        let said = refused(&image);
        assert!(said.contains(what), "{what}: {said}");
    }
    let mut checksum = bytes.clone();
    checksum[130] ^= 1;
    assert!(refused(&checksum).contains("checksum of the superblock"));
    // The second AG begins behind the first one, and its header of inodes is its third sector.
    let ag_blocks = u32::from_be_bytes(bytes[84..88].try_into().unwrap()) as usize;
    let mut header = bytes.clone();
    header[ag_blocks * BLOCK + 2 * 512 + 100] ^= 1;
    assert!(refused(&header).contains("allocation group 1: its header AGI"));
}

#[test]
fn a_log_that_is_to_be_replayed_is_refused() {
    let mut bytes = unpacked("xfs.img.zst");
    let at = |at: usize| u64::from_be_bytes(bytes[at..at + 8].try_into().unwrap());
    let (log_start, ag_log) = (at(48), bytes[124]);
    let ag_blocks = u32::from_be_bytes(bytes[84..88].try_into().unwrap());
    let block = (log_start >> ag_log) * u64::from(ag_blocks) + (log_start & ((1 << ag_log) - 1));
    let start = block as usize * BLOCK;
    let is_header = |sector: &usize| bytes[start + sector * 512..][..4] == *b"\xFE\xED\xBA\xBE";
    // Behind the last one stand headers of the round before.
    let round = |sector: &usize| bytes[start + sector * 512 + 4..][..4].to_vec();
    let is_of_this = |sector: &usize| is_header(sector) && round(sector) == round(&0);
    let last = (0..10_000).rfind(is_of_this).unwrap();
    // The flags of its only operation: that the file system was unmounted.
    let flags = start + (last + 1) * 512 + 9;
    assert_eq!(bytes[flags], 0x20);
    bytes[flags] = 0;
    let said = read_bytes(&bytes, false).map(drop).unwrap_err().to_string();
    assert!(said.contains("log is to be replayed first"), "{said}");
    let (report, _) = read_bytes(&bytes, true).unwrap();
    assert_eq!(report.rows, 669);
}

/// What of an inode both a walk and a reader of the image tell.
fn reported(inode: &Inode) -> Inode {
    let data: Vec<Extent> = data(inode)
        .into_iter()
        .map(|extent| Extent {
            flags: extent.flags & Extent::UNWRITTEN,
            ..extent
        })
        .collect();
    let is_file = inode.kind == FileKind::Regular;
    Inode {
        extents: is_file.then(|| data.into()),
        source_flags: 0,
        ..inode.clone()
    }
}

#[test]
fn an_image_is_as_the_kernel_shows_it() {
    let plain = ["-m", "finobt=0,reflink=0", "-i", "sparse=0"];
    for mkfs in [&[][..], &plain, &["-m", "rmapbt=1"], &["-i", "size=1024"]] {
        let Some(mounted) = Mounted::new("xfs", mkfs, 320, "rw") else {
            return;
        };
        let root = mounted.root();
        for dir in 0..20 {
            let dir_path = root.join(format!("directory {dir}"));
            fs::create_dir(&dir_path).unwrap();
            for file in 0..dir * dir * 5 {
                let bytes = vec![1; (file % 13 * 1000) as usize];
                fs::write(dir_path.join(format!("file {file}")), bytes).unwrap();
            }
            for file in (0..dir * dir * 5).step_by(3) {
                fs::remove_file(dir_path.join(format!("file {file}"))).unwrap();
            }
        }
        mounted.remount();
        let (layout, walked) = snapshot(&root);
        common::unmount(&root);
        let mut memory = Memory::default();
        let options = ImageOptions::default();
        let report = read_image(&mounted.image(), &options, &mut memory, &mut |_, _| Ok(()));
        let report = report.unwrap();
        assert_eq!(report.warnings, Vec::<String>::new());
        assert_eq!(report.free, walked.free, "{mkfs:?}");
        let image = memory.layout(&report);
        assert!(image.inodes.len() > 8000, "{}", image.inodes.len());
        assert_eq!(image.inodes.len(), layout.inodes.len());
        for (ours, its) in image.inodes.iter().zip(&layout.inodes) {
            assert_eq!(reported(ours), reported(its), "{mkfs:?}");
        }
        let (ours, its) = (report.info.geometry(), walked.info.geometry());
        assert_eq!(
            (
                ours.size_bytes,
                ours.group_count,
                ours.group_bytes,
                ours.inodes_per_group
            ),
            (
                its.size_bytes,
                its.group_count,
                its.group_bytes,
                its.inodes_per_group
            )
        );
        assert_eq!(ours.inode_chunk_bytes, its.inode_chunk_bytes);
    }
}
