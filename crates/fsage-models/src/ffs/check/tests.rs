//! A check that cannot fail is no check: each kind of state is damaged, and must be found and named.

use super::*;
use crate::ffs::Params;
use fsage_core::{DirId, FileId, FileSystem, Op, Outcome};

/// Two directories, whole blocks, fragments, holes, indirect blocks (single, double, two of level 1), a
/// hard link, and some of it deleted again.
fn aged() -> Ffs {
    let params = Params {
        bsize: 4096,
        fsize: 512,
        dirent_bytes: 100,
        ..Params::preset("small").unwrap()
    };
    let mut fs = Ffs::new(params).unwrap();
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
    for file in (3..60).step_by(3) {
        done(Op::Delete { file: FileId(file) });
    }
    let (file, dir, bytes) = (FileId(LARGE), DirId(1), (12 + 1024 + 1500) * 4096);
    done(Op::Create { file, dir, bytes });
    assert_eq!(check(&fs), Ok(()));
    fs
}

const LARGE: u64 = 100;

fn inode_of(fs: &mut Ffs, file: u64) -> &mut Inode {
    let slot = fs.names.find(FileId(file)).unwrap();
    &mut fs.names.file_mut(slot).inode
}

fn block(fs: &mut Ffs, file: u64, lbn: u32) -> u64 {
    let inode = *inode_of(fs, file);
    fs.address(&inode, lbn)
}

fn set_block(fs: &mut Ffs, file: u64, lbn: u32, address: u64, frag: u64) {
    let mut inode = *inode_of(fs, file);
    inode.blocks.set(&mut fs.pool, lbn, 1, address, frag);
    *inode_of(fs, file) = inode;
}

fn indirect(fs: &mut Ffs) -> &mut Indirect {
    let ino = inode_of(fs, LARGE).ino;
    fs.indirect.get_mut(&ino).unwrap()
}

/// A group with free fragments and free blocks, and its index in arrays over groups.
fn busy_group(fs: &Ffs) -> usize {
    let busy = |&c: &usize| fs.groups.partial[c].len() > 1 && fs.groups.nbfree[c] > 1;
    (0..fs.geometry.ncg).find(busy).unwrap()
}

/// Corrupts a sound file system and expects a finding with these words.
fn finds(words: &str, corrupt: impl FnOnce(&mut Ffs)) {
    let mut fs = aged();
    corrupt(&mut fs);
    let found = check(&fs).unwrap_err().findings;
    assert!(
        found.iter().any(|f| f.contains(words)),
        "`{words}` is not in {found:?}"
    );
}

#[test]
fn a_block_that_is_used_and_free_at_once_is_found() {
    finds("has free mask 11111111, its owners leave", |fs| {
        let address = block(fs, 58, 0);
        let (c, block) = (fs.group_of(address), fs.block_of(address));
        let words = fs.geometry.blocks_per_group() as usize / 64 + 1;
        fs.groups.corruptible().blocks[c * words + block / 64] |= 1 << (block % 64);
    });
}

#[test]
fn a_fragment_that_is_neither_used_nor_free_is_found() {
    finds("its owners leave", |fs| {
        let c = busy_group(fs);
        fs.groups.partial[c].remove(0);
    });
}

#[test]
fn a_block_of_two_files_is_found() {
    finds("file 58: fragment", |fs| {
        let others = block(fs, 50, 1);
        set_block(fs, 58, 1, others, 8);
    });
    finds("has two owners", |fs| {
        let data = block(fs, 58, 0);
        indirect(fs).double = data;
    });
    finds("file 58: fragment 0 has two owners", |fs| {
        set_block(fs, 58, 0, 0, 8);
    });
}

#[test]
fn a_block_at_an_address_that_no_block_has_is_found() {
    finds("file 58: fragments", |fs| {
        let end = fs.geometry.size;
        set_block(fs, 58, 0, end, 8);
    });
    finds("crosses a block", |fs| {
        let address = block(fs, 58, 0);
        set_block(fs, 58, 0, address + 1, 8);
    });
    finds("indirect block at", |fs| indirect(fs).single += 3);
}

#[test]
fn a_file_that_does_not_fit_its_blocks_is_found() {
    finds("file 58: blocks behind its end of 1", |fs| {
        inode_of(fs, 58).size = 1;
    });
    finds("its owners leave", |fs| inode_of(fs, 58).size -= 512);
    finds("file 58: runs not maximal", |fs| {
        let address = block(fs, 58, 0);
        // As for blocks of another size: the two are not joined.
        set_block(fs, 58, 1, address + 8, 16);
    });
}

#[test]
fn an_indirect_block_that_is_missing_or_nobodys_is_found() {
    finds("has no indirect block 1", |fs| indirect(fs).single = 0);
    finds("has no indirect block 2", |fs| indirect(fs).double = 0);
    finds("has no indirect block 3", |fs| indirect(fs).level1[1] = 0);
    finds("has no indirect block 1", |fs| {
        let ino = inode_of(fs, LARGE).ino;
        fs.indirect.remove(&ino);
    });
    finds("is free, but has indirect blocks", |fs| {
        let stray = indirect(fs).clone();
        fs.indirect.insert(5000, stray);
    });
}

#[test]
fn a_wrong_summary_of_free_space_is_found() {
    finds(": nbfree: ", |fs| fs.groups.nbfree[1] -= 1);
    finds(": nffree: ", |fs| fs.groups.nffree[1] += 1);
    for size in 1..8 {
        finds(": frsum: ", |fs| fs.groups.frsum[2][size] += 1);
    }
    for class in 0..7 {
        finds(": the cluster summary: ", |fs| {
            fs.groups.corruptible().clsum[7 + class] += 1;
        });
    }
    finds(
        ": the table of free blocks by cylinder and position: ",
        |fs| {
            fs.groups.corruptible().positions[0] += 1;
        },
    );
    finds("total nbfree, nffree are", |fs| {
        fs.groups.totals.nbfree += 1;
    });
    finds("total nbfree, nffree are", |fs| {
        fs.groups.totals.nffree -= 1;
    });
}

#[test]
fn disorder_in_the_searches_of_a_group_is_found() {
    finds("partly used blocks out of order", |fs| {
        let c = busy_group(fs);
        fs.groups.partial[c].swap(0, 1);
    });
    finds("a rotor points outside", |fs| {
        fs.groups.rotor[1] = fs.geometry.fpg as u32;
    });
    finds("a rotor points outside", |fs| {
        fs.groups.frotor[0] = u32::MAX;
    });
    finds("a rotor points outside", |fs| {
        fs.groups.irotor[3] = fs.geometry.ipg as u32;
    });
}

#[test]
fn a_wrong_inode_map_or_count_is_found() {
    finds("used in the map or by an owner, not both", |fs| {
        fs.groups.corruptible().inodes[0] ^= 1 << 2;
    });
    finds("used in the map or by an owner, not both", |fs| {
        fs.groups.corruptible().inodes[1] |= 1 << 63;
    });
    finds("has two owners", |fs| {
        let other = inode_of(fs, 50).ino;
        inode_of(fs, 58).ino = other;
    });
    finds(": nifree: ", |fs| fs.groups.nifree[0] += 1);
    finds(": ndir: ", |fs| fs.groups.ndir[0] += 1);
    finds("total nifree, ndir are", |fs| fs.groups.totals.nifree -= 1);
    finds("total nifree, ndir are", |fs| fs.groups.totals.ndir += 1);
}

#[test]
fn a_name_that_leads_astray_is_found() {
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
    finds("names of 1 files that are not there", |fs| {
        fs.names.link(FileId(61), 0, 0, 0);
        fs.names.file_mut(0).dir = u32::MAX;
    });
}

#[test]
fn wrong_entries_of_a_directory_are_found() {
    finds("directory 1: ", |fs| fs.dirs[1].entries += 1);
    finds("directory 2: chunks do not fit its entries", |fs| {
        fs.dirs[2].chunks[1] -= 100;
    });
    finds("directory 2: chunks do not fit its entries", |fs| {
        fs.dirs[2].chunks.push(0);
    });
    finds("directory 1: no chunk 99", |fs| {
        let slot = fs.names.find(FileId(LARGE)).unwrap();
        fs.names.set_place(FileId(LARGE), slot, 1, 99);
    });
    // The further name of a hard link counts where it stands.
    finds("names point to it", |fs| {
        let slot = fs.names.find(FileId(60)).unwrap();
        fs.names.set_place(FileId(60), slot, 1, 0);
    });
}
