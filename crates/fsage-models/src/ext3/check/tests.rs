//! A check that cannot fail is no check: each kind of state is damaged, and must be found and named.

use super::*;
use crate::ext3::{OpenFile, Params};
use fsage_core::{DirId, FileId, FileSystem, Op, Outcome};

const LARGE: u64 = 100;

/// Directories, indirect blocks of two levels, a hard link, a symbolic link, open files, and some of it deleted again.
fn aged() -> Ext3 {
    let params = Params {
        open_files: 2,
        dir_groups: vec![0, 1],
        ..Params::default()
    };
    let mut fs = Ext3::new(params).unwrap();
    let mut done = |op: Op| assert_eq!(fs.apply(&op), Ok(Outcome::Done), "{op:?}");
    for dir in 1..3 {
        let (dir, parent) = (DirId(dir), None);
        done(Op::Mkdir { dir, parent });
    }
    for file in 1..60 {
        let (file, dir, bytes) = (FileId(file), DirId(file % 2 + 1), file * 531);
        done(Op::Create { file, dir, bytes });
    }
    let (file, existing, dir) = (FileId(60), FileId(7), DirId(2));
    done(Op::Link {
        file,
        existing,
        dir,
    });
    let (file, bytes) = (FileId(61), 100);
    done(Op::Symlink { file, dir, bytes });
    for file in (3..60).step_by(3) {
        done(Op::Delete { file: FileId(file) });
    }
    let (file, bytes) = (FileId(LARGE), (12 + 1024 + 1500) * 4096);
    done(Op::Create { file, dir, bytes });
    assert_eq!(check(&fs), Ok(()));
    fs
}

fn inode_of(fs: &mut Ext3, file: u64) -> &mut Inode {
    let slot = fs.names.find(FileId(file)).unwrap();
    &mut fs.names.file_mut(slot).inode
}

fn set_block(fs: &mut Ext3, file: u64, lbn: u32, address: u32) {
    let mut inode = *inode_of(fs, file);
    inode.blocks.set(&mut fs.pool, lbn, 1, address.into(), 1);
    *inode_of(fs, file) = inode;
}

fn indirect(fs: &mut Ext3) -> &mut Indirect {
    let ino = inode_of(fs, LARGE).ino;
    fs.indirect.get_mut(&ino).unwrap()
}

/// Corrupts a sound file system and expects a finding with these words.
fn finds(words: &str, corrupt: impl FnOnce(&mut Ext3)) {
    let mut fs = aged();
    corrupt(&mut fs);
    let found = check(&fs).unwrap_err().findings;
    assert!(
        found.iter().any(|f| f.contains(words)),
        "`{words}` is not in {found:?}"
    );
}

#[test]
fn blocks_with_two_owners_or_none_are_found() {
    finds("has two owners", |fs| {
        let inode = *inode_of(fs, 58);
        let address = fs.address(&inode, 1);
        set_block(fs, 50, 0, address);
    });
    finds("lost+found: block 3 has two owners", |fs| {
        fs.lost_found = 3..7;
    });
    finds("lie outside the file system", |fs| {
        set_block(fs, 50, 0, u32::MAX >> 1);
    });
    finds("used in the bitmap or by an owner, not both", |fs| {
        fs.groups.blocks[511] ^= 1 << 63;
    });
    finds("free blocks of group 1: ", |fs| {
        fs.groups.free_blocks[1] += 1;
    });
    finds("free blocks: ", |fs| fs.groups.totals.free_blocks -= 1);
}

#[test]
fn files_that_do_not_fit_their_blocks_are_found() {
    finds("file 58: blocks behind its end", |fs| {
        inode_of(fs, 58).size = 1;
    });
    finds("lacks an indirect block", |fs| {
        indirect(fs).leaves.remove(0);
    });
    finds("lacks an indirect block", |fs| indirect(fs).uppers.clear());
    finds("an indirect block behind its end", |fs| {
        indirect(fs).leaves.push((7, 1));
    });
    finds("indirect blocks out of order", |fs| {
        indirect(fs).leaves.reverse();
    });
    finds("and no blocks that need them", |fs| {
        fs.indirect.insert(4711, Indirect::default());
    });
}

#[test]
fn a_wrong_inode_map_or_count_is_found() {
    finds(
        "inode 3: used in the bitmap or by an owner, not both",
        |fs| {
            fs.groups.inodes[0] ^= 1 << 2;
        },
    );
    finds("has two owners", |fs| {
        let other = inode_of(fs, 50).ino;
        inode_of(fs, 58).ino = other;
    });
    finds("free inodes and directories of group 0", |fs| {
        fs.groups.free_inodes[0] += 1;
    });
    finds("free inodes and directories of group 1", |fs| {
        fs.groups.directories[1] += 1;
    });
    finds("free inodes and directories: ", |fs| {
        fs.groups.totals.directories += 1;
    });
    finds("first free inode of group 0", |fs| {
        let lowest = fs.groups.free_inode(0).unwrap();
        // Frees nothing: only where the search starts changes.
        fs.groups.release_inode(0, lowest + 1);
        fs.groups.take_inode(0, lowest);
        fs.groups.inodes[0] &= !(1 << (lowest % 64));
    });
}

#[test]
fn names_that_lead_astray_are_found() {
    finds("file 999: its id does not lead to it", |fs| {
        let slot = fs.names.find(FileId(58)).unwrap();
        fs.names.file_mut(slot).id = 999;
    });
    finds("files that are indexed", |fs| {
        let slot = fs.names.find(FileId(58)).unwrap();
        fs.names.file_mut(slot).dir = u32::MAX;
    });
    finds("directory 2: its id does not lead to it", |fs| {
        fs.dir_ids.insert(DirId(2), 1);
    });
    finds("file 7: 2 links, 2 names", |fs| {
        let slot = fs.names.find(FileId(7)).unwrap();
        fs.names.file_mut(slot).entry.set_linked(false);
    });
    finds("file 61: a symbolic link, or not", |fs| {
        inode_of(fs, 61).kind = Kind::File;
    });
}

#[test]
fn wrong_entries_of_a_directory_are_found() {
    finds("entries of directory 1: ", |fs| {
        fs.dirs[1].entries.count += 1;
    });
    finds("places of the entries of directory 1: ", |fs| {
        let slot = fs.names.find(FileId(58)).unwrap();
        let (dir, at) = fs.names.place(FileId(58), slot);
        fs.names.set_place(FileId(58), slot, dir, at + 1);
    });
    finds("blocks of directory 1: ", |fs| {
        fs.dirs[1].entries.add_block();
    });
    finds("names in 1 directories that are not there", |fs| {
        let slot = fs.names.find(FileId(58)).unwrap();
        fs.names.file_mut(slot).dir = 77;
    });
}

#[test]
fn windows_of_nobody_or_over_each_other_are_found() {
    finds("reservation windows", |fs| {
        fs.windows.insert(Window {
            start: 200_000,
            end: 200_007,
        });
    });
    finds("overlap", |fs| {
        let other = fs.open[0].window;
        fs.open[1].window = Window {
            start: other.start + 1,
            ..other
        };
    });
    finds("is open, and free", |fs| {
        fs.open.push_back(OpenFile {
            ino: 4711,
            window: Window::default(),
            hits: 0,
        });
    });
    finds("times that inode", |fs| {
        let again = fs.open[0];
        fs.open.push_back(again);
    });
}
