//! Damage of every kind is found, and told in words that name it.

use super::super::{Cffs, InodeId, Params};
use super::*;
use fsage_core::{DirId, FileId, FileSystem, Op, Outcome};

/// Directory 1 with files 1 to 30 of several blocks, the last of them with a name in directory 2 as well, and an open
/// file without a name.
fn aged(embed: bool, inode_id: InodeId) -> Cffs {
    let params = Params {
        embed,
        inode_id,
        ..Params::default()
    };
    let mut fs = Cffs::new(params).expect("the sizes work");
    let mut done = |op| assert_eq!(fs.apply(&op), Ok(Outcome::Done), "{op:?}");
    for dir in [1, 2] {
        let (dir, parent) = (DirId(dir), None);
        done(Op::Mkdir { dir, parent });
    }
    for file in 1..=30 {
        let (file, dir, bytes) = (FileId(file), DirId(1), file * 3000);
        done(Op::Create { file, dir, bytes });
    }
    let (file, existing, dir) = (FileId(31), FileId(30), DirId(2));
    done(Op::Link {
        file,
        existing,
        dir,
    });
    let open = fs.open(FileId(29)).expect("it is there");
    assert_eq!(
        fs.apply(&Op::Delete { file: FileId(29) }),
        Ok(Outcome::Done)
    );
    assert_eq!(fs.check(), Ok(()), "{open:?}");
    fs
}

fn file(fs: &mut Cffs, id: u64) -> &mut Inode {
    let slot = fs.names.find(FileId(id)).expect("it is there");
    &mut fs.names.file_mut(slot).inode
}

/// Slot of directory 1.
fn first(fs: &Cffs) -> usize {
    fs.dir_ids.get(DirId(1)).expect("it is there") as usize
}

/// A piece of damage, with a word of what must be found.
type Damage = (&'static str, fn(&mut Cffs));

const ANYWHERE: [Damage; 13] = [
    ("free map is wrong", |fs| {
        let block = fs.address(&fs.dirs[first(fs)].inode, 0);
        fs.map.release(block, 1);
    }),
    ("free map is wrong", |fs| {
        let block = fs.map.next_free(0).expect("there is room");
        fs.map.take(block, 1);
    }),
    ("free blocks of the cylinder groups", |fs| {
        fs.map.free[3] -= 1;
    }),
    ("free blocks:", |fs| fs.map.free_blocks += 1),
    ("directories of the cylinder groups", |fs| {
        fs.map.directories[0] += 1;
    }),
    ("two owners", |fs| {
        let blocks = file(fs, 4).blocks;
        file(fs, 5).blocks = blocks;
    }),
    ("blocks behind its end", |fs| file(fs, 6).size = 1),
    ("blocks of pointers are missing", |fs| {
        let vnode = file(fs, 28).vnode;
        fs.indirect.remove(&vnode);
    }),
    ("is not in its group", |fs| {
        let blocks = file(fs, 9).blocks;
        let mut moved = blocks;
        moved.set(&mut fs.pool, 0, 1, 100_000, 1);
        file(fs, 9).blocks = moved;
    }),
    ("members of groups", |fs| file(fs, 8).group_start = 0),
    ("names in directory", |fs| {
        let dir = first(fs);
        fs.dirs[dir].entries.remove(9);
    }),
    ("sectors of directory", |fs| {
        let dir = first(fs);
        fs.dirs[dir].entries.add_block();
    }),
    ("its number in memory is another's", |fs| {
        file(fs, 3).vnode = file(fs, 2).vnode;
    }),
];

const LOCATORS: [Damage; 5] = [
    ("two inodes", |fs| file(fs, 2).home = file(fs, 1).home),
    ("cannot lie in", |fs| {
        let Home::Sector { dir, at } = file(fs, 7).home else {
            panic!("an embedded inode");
        };
        fs.dirs[dir as usize].entries.remove_inode(at);
    }),
    ("which lies elsewhere", |fs| {
        fs.dirs[2].entries.put_inode(6, Node::File(0));
    }),
    ("external inodes", |fs| {
        fs.externals.take();
    }),
    ("directory numbers", |fs| {
        fs.dir_numbers.take();
    }),
];

fn findings(fs: &Cffs) -> String {
    let wrong = fs.check().expect_err("damage");
    wrong.findings.join("\n")
}

#[test]
fn damage_is_found() {
    for (embed, inode_id) in [
        (true, InodeId::Locator),
        (true, InodeId::Physical),
        (false, InodeId::Locator),
    ] {
        let locators = embed && inode_id == InodeId::Locator;
        let more = if locators { &LOCATORS[..] } else { &[] };
        for (expected, damage) in ANYWHERE.iter().chain(more) {
            let mut fs = aged(embed, inode_id);
            damage(&mut fs);
            let found = findings(&fs);
            assert!(found.contains(expected), "{embed}, {expected}: {found}");
        }
    }
}
