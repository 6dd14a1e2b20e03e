//! The reader of images against what the kernel said of the same file systems while they were mounted: every inode,
//! every time, every extent. And against `dumpe2fs`, for free space. (Vectors: statx, file handles and FIEMAP of Linux
//! 6.18; e2fsprogs 1.47.0.)

use crate::image_kit::{free_of, free_of_dumpe2fs, read, unpacked, vector, vector_line};
use fsage_core::FileKind;
use fsage_core::snapshot::{Inode, source_flags};

const KINDS: [&str; 3] = ["ext2", "ext3", "ext4"];

/// A row as the vectors have it. Extents are those of FIEMAP: data of files and directories.
fn line(inode: &Inode) -> String {
    vector_line(inode, &[FileKind::Regular, FileKind::Directory])
}

#[test]
fn every_row_is_what_the_kernel_said() {
    let folder = tempfile::tempdir().unwrap();
    for kind in KINDS {
        let image = folder.path().join(kind);
        std::fs::write(&image, unpacked(&format!("{kind}.img.zst"))).unwrap();
        let (report, rows) = read(&image);
        let expected = String::from_utf8(unpacked(&format!("{kind}.expected.tsv.zst"))).unwrap();
        let expected: Vec<&str> = expected.lines().skip(1).collect();
        let inodes = rows.by_inode();
        assert_eq!((inodes.len(), expected.len()), (309, 309), "{kind}");
        for (inode, expected) in inodes.iter().zip(expected) {
            assert_eq!(line(inode), expected, "{kind}");
        }
        assert_eq!(report.warnings, Vec::<String>::new(), "{kind}");
        assert_eq!(report.unreadable, 0, "{kind}");
        // One hard link, which the vectors have under its smaller name only.
        assert_eq!(report.rows, 310, "{kind}");
    }
}

#[test]
fn blocks_that_are_allocated_are_data_or_pointers() {
    let folder = tempfile::tempdir().unwrap();
    for kind in KINDS {
        let image = folder.path().join(kind);
        std::fs::write(&image, unpacked(&format!("{kind}.img.zst"))).unwrap();
        let (_, rows) = read(&image);
        for inode in rows.by_inode() {
            let extents = inode.extents.iter().flatten();
            let bytes: u64 = extents.map(|e| e.length_bytes).sum();
            assert_eq!(Some(bytes), inode.alloc_bytes, "{kind} {:?}", inode.path);
            let valid = inode.source_flags & source_flags::GEN_VALID != 0;
            assert_eq!(valid, inode.generation != Some(0));
        }
    }
}

#[test]
fn free_space_and_sizes_are_those_of_dumpe2fs() {
    let folder = tempfile::tempdir().unwrap();
    for kind in KINDS {
        let image = folder.path().join(kind);
        std::fs::write(&image, unpacked(&format!("{kind}.img.zst"))).unwrap();
        let (report, rows) = read(&image);
        assert_eq!(rows.info, report.info);
        let text = std::fs::read_to_string(vector(&format!("{kind}.dumpe2fs.txt"))).unwrap();
        assert_eq!(free_of(&report), free_of_dumpe2fs(&text), "{kind}");
        let field = |name: &str| {
            let mut lines = text.lines();
            let found = lines.find_map(|line| line.strip_prefix(name)).unwrap();
            found.trim().to_owned()
        };
        let number = |name: &str| field(name).parse::<u64>().unwrap();
        let info = report.info;
        let block = number("Block size:");
        assert_eq!(info.fs_type.as_deref(), Some(kind));
        assert_eq!(info.fs_uuid, Some(field("Filesystem UUID:")));
        assert_eq!(info.block_bytes.map(u64::from), Some(block));
        assert_eq!(info.size_bytes, Some(number("Block count:") * block));
        assert_eq!(info.free_bytes, Some(number("Free blocks:") * block));
        assert_eq!(info.inodes_total, Some(number("Inode count:")));
        assert_eq!(info.inodes_free, Some(number("Free inodes:")));
        assert_eq!(
            info.blocks_per_group.map(u64::from),
            Some(number("Blocks per group:"))
        );
        assert_eq!(
            info.inodes_per_group.map(u64::from),
            Some(number("Inodes per group:"))
        );
        assert_eq!(info.first_ino, Some(1));
        let groups = text
            .lines()
            .filter(|line| line.starts_with("Group "))
            .count();
        assert_eq!(info.group_count.map(|n| n as usize), Some(groups));
        assert_eq!((info.source.as_str(), info.frag_bytes), ("ext-image", None));
    }
}
