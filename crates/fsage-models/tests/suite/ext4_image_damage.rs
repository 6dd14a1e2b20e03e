//! Images of ext4 that say something twice, and not the same: each is refused with what is wrong and where.

use crate::images::{Bytes, half_kept, write};
use fsage_core::{DirId, FileId, FileKind, FileSystem as _, Op};
use fsage_models::ext4::{Checksums, Ext4, Params};
use fsage_models::image::Mountable as _;

/// An image with its bytes, and inodes in it.
struct Good {
    how: Params,
    bytes: Vec<u8>,
    dir: u32,
    /// With data.
    file: u32,
    /// With two names.
    linked: u32,
    short_link: u32,
    long_link: u32,
}

const BLOCK: usize = 1024;
const RESIZE: u32 = 7;
const JOURNAL: u32 = 8;

impl Good {
    /// Files, further names, links and directories on 64 MB in blocks of 1 KB.
    fn new(checksums: Checksums) -> Good {
        let how = Params {
            size_bytes: 64 << 20,
            journal_bytes: Some(1 << 20),
            checksums,
            ..Params::default()
        };
        let mut fs = Ext4::new(how.clone()).expect("mkfs takes it");
        half_kept(&mut fs);
        let (dir, parent) = (DirId(2), Some(DirId(1)));
        for op in [
            Op::Mkdir { dir, parent },
            Op::Link {
                file: FileId(1000),
                existing: FileId(1),
                dir,
            },
            Op::Symlink {
                file: FileId(1001),
                dir,
                bytes: 20,
            },
            Op::Symlink {
                file: FileId(1002),
                dir,
                bytes: 200,
            },
            Op::Sync,
        ] {
            fs.apply(&op).expect("it fits the state");
        }
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("image");
        write(&mut fs, &path);
        let bytes = std::fs::read(&path).expect("an image");
        let mut good = Good {
            how,
            bytes,
            dir: 0,
            file: 0,
            linked: 0,
            short_link: 0,
            long_link: 0,
        };
        let (mut names, mut sizes) = (Vec::new(), Vec::new());
        fs.visit_names(&mut |named| names.push((named.ino as u32, named.kind)));
        for &(ino, kind) in &names {
            sizes.push(good.u32_at(good.inode(ino) + 4));
            let count = names.iter().filter(|named| named.0 == ino).count();
            match (kind, sizes[sizes.len() - 1]) {
                (FileKind::Directory, _) => good.dir = ino,
                (FileKind::Symlink, 20) => good.short_link = ino,
                (FileKind::Symlink, _) => good.long_link = ino,
                (_, size) if count == 1 && size > 9000 => good.file = ino,
                _ if count == 2 => good.linked = ino,
                _ => {}
            }
        }
        assert!(good.dir > 11 && good.file > 11 && good.linked > 11);
        assert!(good.short_link > 11 && good.long_link > 11);
        good
    }

    fn u32_at(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.bytes[at..at + 4].try_into().expect("4 bytes"))
    }

    /// Where the descriptor of a group lies.
    fn descriptor(&self, group: u32) -> usize {
        2 * BLOCK + group as usize * if self.how.wide { 64 } else { 32 }
    }

    /// Where an inode lies.
    fn inode(&self, ino: u32) -> usize {
        let per_group = self.u32_at(1024 + 0x28);
        let (group, at) = ((ino - 1) / per_group, (ino - 1) % per_group);
        self.u32_at(self.descriptor(group) + 8) as usize * BLOCK + 256 * at as usize
    }

    /// The block that the only extent of an inode begins with.
    fn block(&self, ino: u32) -> usize {
        self.u32_at(self.inode(ino) + 40 + 12 + 8) as usize * BLOCK
    }

    /// The block of pointers to blocks that are kept for descriptors.
    fn double_indirect(&self) -> usize {
        self.u32_at(self.inode(RESIZE) + 40 + 4 * 13) as usize * BLOCK
    }

    /// What is said of it with a byte changed.
    fn refusal(&mut self, at: usize, to: impl FnOnce(u8) -> u8) -> String {
        let before = self.bytes[at];
        self.bytes[at] = to(before);
        assert_ne!(self.bytes[at], before, "byte {at}");
        let read = Ext4::read_image(&self.how, &Bytes(&self.bytes));
        self.bytes[at] = before;
        read.map(drop).expect_err("it is refused").to_string()
    }

    fn is_refused(&mut self, at: usize, to: impl FnOnce(u8) -> u8, expected: &str) {
        let said = self.refusal(at, to);
        assert!(said.contains(expected), "{expected}: {said}");
    }
}

#[test]
fn an_inode_that_does_not_go_with_what_was_found_is_refused() {
    let mut good = Good::new(Checksums::None);
    let read = Ext4::read_image(&good.how, &Bytes(&good.bytes));
    assert_eq!(read.expect("it is good").check(), Ok(()));
    let [dir, file, linked] = [good.dir, good.file, good.linked];
    let [short, long] = [good.short_link, good.long_link];
    let cases: &[(u32, usize, u8, &str)] = &[
        (file, 27, 1, "counts 257 links, expected 1"),
        (linked, 26, 2 ^ 3, "counts 3 links, expected 2"),
        (dir, 26, 2 ^ 7, "counts 7 links, expected 2"),
        (2, 26, 4 ^ 5, "counts 5 links, expected 4"),
        (
            file,
            1,
            0x80,
            "is in use, and its mode 0o644 is of no kind of file",
        ),
        (file, 33, 0x20, "with the flags 0x2000"),
        (
            file,
            33,
            0x10,
            "has the flags 0x1000, which its kind never has",
        ),
        (
            short,
            32,
            0x10,
            "has the flags 0x10, which its kind never has",
        ),
        (file, 28, 0x40, "sectors, expected "),
        (linked, 117, 1, "sectors, expected "),
        (dir, 28, 0x40, "sectors, expected "),
        (
            file,
            20,
            1,
            "is in use, and has the time of deletion 1, expected 0",
        ),
        (
            file,
            112,
            1,
            "is in use, and has the fragment 1, expected 0",
        ),
        (file, 128, 2, "bytes of further fields"),
        (file, 5, 0x20, "was written to behind them"),
        (file, 44, 0x10, ": no tree"),
        (short, 4, 1, "has 21 bytes, and its target has 20"),
        (short, 45, b'/', "has 20 bytes, and its target has 5"),
        (long, 4, 1, "has 201 bytes, and its target has 200"),
        (RESIZE, 28, 4, "inode 7 counts "),
        (RESIZE, 26, 2, "and 3 links"),
        (RESIZE, 40, 1, "inode 7 has pointers besides"),
        (JOURNAL, 28, 4, "inode 8 counts "),
        (JOURNAL, 5, 0x40, "inode 8, the journal, has "),
        (JOURNAL, 26, 2, "and 3 links"),
        (6, 1, 0x80, "inode 6, which is kept, is not empty"),
    ];
    for &(ino, at, bits, expected) in cases {
        let at = good.inode(ino) + at;
        let said = good.refusal(at, |byte| byte ^ bits);
        assert!(said.contains(expected), "{expected}: {said}");
        assert!(said.contains(&format!("inode {ino}")), "{ino}: {said}");
    }
}

/// What is free in its bitmap, and looks as if in use.
#[test]
fn a_free_inode_that_is_none_is_refused() {
    let mut good = Good::new(Checksums::None);
    let last = good.u32_at(1024);
    let at = good.inode(last);
    let what = format!("inode {last} is free in its bitmap, and ");
    good.is_refused(at + 26, |_| 1, &format!("{what}counts 1 links, expected 0"));
    good.is_refused(at + 1, |_| 0x80, &format!("{what}was never deleted"));
}

/// A bit of the inode bitmap, with the counter that goes with it.
#[test]
fn an_inode_that_no_directory_names_is_refused() {
    let mut good = Good::new(Checksums::None);
    let block = good.block(good.dir);
    // The first name in it leads nowhere.
    let at = block + 24;
    let ino = good.u32_at(at);
    good.bytes[at..at + 4].fill(0);
    let read = Ext4::read_image(&good.how, &Bytes(&good.bytes)).map(drop);
    let said = read.expect_err("it is refused").to_string();
    let expected = if ino == good.linked {
        "counts 2 links, expected 1".to_owned()
    } else {
        format!("inode {ino} is in use, and no directory names it")
    };
    assert!(said.contains(&expected), "{said}");
}

#[test]
fn entries_that_do_not_go_with_inodes_are_refused() {
    let mut good = Good::new(Checksums::None);
    let (dir, block) = (good.dir, good.block(good.dir));
    let lost_found = good.block(11);
    for (at, bits, expected) in [
        (block, 1, "`.` leads to inode"),
        (block + 12, 1, "`..` leads to inode"),
        (block + 7, 3, "`.` or `..` says kind 1, expected 2"),
        (block + 24 + 7, 8, "says kind 9, expected 1"),
    ] {
        let said = good.refusal(at, |byte| byte ^ bits);
        assert!(said.contains(expected), "{expected}: {said}");
        assert!(said.contains(&format!("directory {dir}: ")), "{said}");
    }
    good.is_refused(
        lost_found,
        |_| 12,
        "directory 11: `.` leads to inode 12, expected 11",
    );
    good.is_refused(
        lost_found + 12,
        |_| 11,
        "directory 11: `..` leads to inode 11, expected 2",
    );
    good.is_refused(lost_found + BLOCK, |_| 12, "something in `lost+found`");
}

#[test]
fn counters_of_groups_and_ends_of_bitmaps_are_compared() {
    let mut good = Good::new(Checksums::None);
    let at = good.descriptor(0);
    for (field, what) in [
        (12, "free blocks"),
        (14, "free inodes"),
        (16, "directories"),
    ] {
        let said = good.refusal(at + field, |byte| byte ^ 1);
        let of = "the descriptor of group 0 counts ";
        assert!(said.contains(of) && said.contains(what), "{what}: {said}");
    }
    let [blocks, inodes] = [0, 4].map(|field| good.u32_at(at + field) as usize * BLOCK);
    let last = good.u32_at(good.descriptor(7)) as usize * BLOCK;
    assert_ne!(blocks, last);
    good.is_refused(
        inodes + BLOCK - 1,
        |byte| byte ^ 0x10,
        "the inode bitmap of group 0 has inodes behind the last one",
    );
    good.is_refused(
        last + BLOCK - 1,
        |byte| byte ^ 0x80,
        "the block bitmap of group 7 has blocks behind the last one",
    );
}

/// Expected: e2fsck 1.47.0 calls each of the first two a corruption; the kernel would empty the list at a mount.
#[test]
fn a_superblock_that_cannot_be_is_refused() {
    let mut good = Good::new(Checksums::None);
    good.is_refused(1024 + 0x0b, |_| 1, "more than half");
    good.is_refused(1024 + 0x4c, |_| 0, "revision 0, expected 1");
    good.is_refused(1024 + 0xe8, |_| 12, "its list of orphans is to be replayed");
    good.is_refused(1024 + 0x21, |byte| byte ^ 1, "clusters per group");
}

/// Expected: e2fsck 1.47.0 finds "Interior extent node level 0 ...: Logical start 8 does not match logical start 0 at
/// next level" and "Corruption found in superblock. (`s_log_groups_per_flex` = 36)".
#[test]
fn an_index_and_a_flex_group_that_cannot_be_are_refused() {
    let how = Params {
        size_bytes: 64 << 20,
        checksums: Checksums::None,
        ..Params::default()
    };
    let mut fs = Ext4::new(how.clone()).expect("mkfs takes it");
    let (file, dir) = (FileId(1), DirId(0));
    let create = Op::Create {
        file,
        dir,
        bytes: 1024,
    };
    let pieces = (1..8).map(|piece| Op::Write {
        file,
        offset: piece * 100_000,
        bytes: 1024,
    });
    for op in [create].into_iter().chain(pieces).chain([Op::Sync]) {
        fs.apply(&op).expect("it fits the state");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("image");
    write(&mut fs, &path);
    let mut good = Good {
        how,
        bytes: std::fs::read(&path).expect("an image"),
        dir: 0,
        file: 12,
        linked: 0,
        short_link: 0,
        long_link: 0,
    };
    let index = good.inode(good.file) + 40 + 12;
    assert_eq!(good.bytes[index - 6], 1, "a tree of two levels");
    good.is_refused(index, |_| 8, "begins with block 0 of the file, expected 8");
    good.is_refused(1024 + 0x174, |_| 36, "2^36 groups in a flex group");
}

/// Neither has a checksum, whatever has one besides.
#[test]
fn blocks_that_are_kept_for_descriptors_and_the_journal_are_looked_at() {
    for checksums in [Checksums::All, Checksums::Descriptors, Checksums::None] {
        let mut good = Good::new(checksums);
        let double = good.double_indirect();
        let place = (0..BLOCK)
            .step_by(4)
            .find(|at| good.u32_at(double + at) != 0);
        let place = double + place.expect("some blocks are kept");
        let first = good.u32_at(place) as usize;
        let what = format!("inode 7: block {} points to block ", double / BLOCK);
        good.is_refused(place + 3, |_| 0x80, &what);
        good.is_refused(double + BLOCK - 1, |_| 1, &what);
        let what = format!("inode 7: block {first} points to block ");
        good.is_refused(first * BLOCK, |byte| byte ^ 1, &what);
        good.is_refused(first * BLOCK + BLOCK - 4, |_| 9, "in place 255, expected 0");
        let journal = good.block(JOURNAL);
        good.is_refused(journal, |_| 0, "the journal, at block ");
        good.is_refused(journal + 0x1f, |_| 1, "its journal is not empty");
    }
}
