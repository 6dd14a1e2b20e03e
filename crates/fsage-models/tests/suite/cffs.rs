//! What the rules of C-FFS say of single cases.
//!
//! Expected values are hand arithmetic on the rules of docs/spec/cffs.md. On the default disk cylinder group 0 has
//! less than the average of free blocks, since the superblock lies there, and each group with a directory has as well:
//! so the root lies in group 1, the next directories in groups 2 and 3. These begin at blocks 3024 and 4536 with their
//! bitmaps, and their first runs of 16 free blocks at multiples of 16, 3040 and 4544.

use fsage_core::io::{BufferId, Flush, Hosted, Io};
use fsage_core::{DirId, FileId, FileKind, FileSystem, Layout, Op, Outcome, StateError};
use fsage_models::cffs::{Cffs, DirSteal, InodeId, Params};

fn done(fs: &mut Cffs, op: Op) {
    assert_eq!(fs.apply(&op), Ok(Outcome::Done), "{op:?}");
    assert_eq!(fs.check(), Ok(()), "{op:?}");
}

fn mkdir(fs: &mut Cffs, dir: u64, parent: u64) {
    let (dir, parent) = (DirId(dir), Some(DirId(parent)));
    done(fs, Op::Mkdir { dir, parent });
}

fn create(fs: &mut Cffs, file: u64, dir: u64, bytes: u64) {
    let (file, dir) = (FileId(file), DirId(dir));
    done(fs, Op::Create { file, dir, bytes });
}

fn link(fs: &mut Cffs, file: u64, existing: u64, dir: u64) {
    let (file, existing, dir) = (FileId(file), FileId(existing), DirId(dir));
    done(
        fs,
        Op::Link {
            file,
            existing,
            dir,
        },
    );
}

fn rename(fs: &mut Cffs, file: u64, dir: u64, replaced: Option<u64>) {
    let (file, dir, replaced) = (FileId(file), DirId(dir), replaced.map(FileId));
    done(
        fs,
        Op::Rename {
            file,
            dir,
            replaced,
        },
    );
}

fn delete(fs: &mut Cffs, file: u64) {
    done(fs, Op::Delete { file: FileId(file) });
}

/// An empty file system with the directories 1 and 2 in the root: in cylinder groups 2 and 3.
fn two_directories(params: Params) -> Cffs {
    let mut fs = Cffs::new(params).expect("the sizes work");
    mkdir(&mut fs, 1, 0);
    mkdir(&mut fs, 2, 0);
    fs
}

fn ino(fs: &Cffs, file: u64) -> u64 {
    fs.inode(FileId(file)).expect("it is there")
}

/// First block and blocks of the extents of an inode.
fn extents(fs: &Cffs, ino: u64) -> Vec<(u64, u64)> {
    let mut found = Vec::new();
    fs.visit_files(&mut |file| {
        if file.ino == ino {
            let extents = file.extents.expect("a model knows them").iter();
            found = extents
                .map(|e| (e.physical_bytes / 4096, e.length_bytes / 4096))
                .collect();
        }
    });
    found
}

fn blocks(fs: &Cffs, file: u64) -> Vec<(u64, u64)> {
    extents(fs, ino(fs, file))
}

/// First block and blocks of what is read with the first block of a file.
fn group(fs: &Cffs, file: u64) -> (u64, u64) {
    let map = fs.block_map(FileId(file), 0);
    let (start, bytes) = map.group.expect("the file is not empty");
    (start / 4096, bytes / 4096)
}

#[test]
fn small_files_of_a_directory_lie_together() {
    let mut fs = two_directories(Params::default());
    for file in 1..=20 {
        create(&mut fs, file, 1, 1000);
    }
    let dir = fs.directory_inode(DirId(1)).expect("it was made");
    assert_eq!(extents(&fs, dir), [(3040, 1)]);
    for file in 1..=15 {
        assert_eq!(blocks(&fs, file), [(3040 + file, 1)]);
        assert_eq!(group(&fs, file), (3040, 16));
    }
    for file in 16..=20 {
        assert_eq!(blocks(&fs, file), [(3040 + file, 1)]);
        assert_eq!(group(&fs, file), (3056, 5));
    }
    // A hole in the first group is filled first; the size of a group does not shrink.
    delete(&mut fs, 15);
    assert_eq!(group(&fs, 1), (3040, 16));
    create(&mut fs, 21, 1, 1000);
    assert_eq!(blocks(&fs, 21), [(3055, 1)]);
}

#[test]
fn the_rest_of_a_file_takes_no_room_of_a_group() {
    let mut fs = two_directories(Params::default());
    create(&mut fs, 1, 2, 3 * 4096);
    create(&mut fs, 2, 2, 100);
    // The next multiple of 16 behind 4545.
    assert_eq!(blocks(&fs, 1), [(4545, 1), (4560, 2)]);
    assert_eq!(blocks(&fs, 2), [(4546, 1)]);
    // 15 direct blocks, the block of pointers behind them, then the data.
    create(&mut fs, 3, 2, 17 * 4096);
    let data = [(4547, 1), (4562, 14), (4577, 2)];
    assert_eq!(blocks(&fs, 3), [&data[..], &[(4576, 1)]].concat());
}

/// With three blocks of a file in its group the first group, 4544 to 4559, has room for five files of three. The sixth
/// one begins a group of its own behind it; of a longer file all further blocks begin at the next multiple of 16.
#[test]
fn more_blocks_of_a_file_may_lie_in_its_group() {
    let mut fs = two_directories(Params {
        grouped_blocks: 3,
        ..Params::default()
    });
    for file in 1..=6 {
        create(&mut fs, file, 2, 3 * 4096);
        let first = 4545 + 3 * (file - 1);
        assert_eq!(blocks(&fs, file), [(first, 3)], "{file}");
    }
    assert_eq!(group(&fs, 1), (4544, 16));
    assert_eq!(group(&fs, 6), (4560, 3));
    for lbn in 0..3 {
        let map = fs.block_map(FileId(1), lbn);
        assert_eq!(map.group, Some((4544 * 4096, 16 * 4096)), "{lbn}");
    }
    create(&mut fs, 7, 2, 5 * 4096);
    assert_eq!(blocks(&fs, 7), [(4563, 3), (4576, 2)]);
    // A hole of one block in the first group: it takes the first block of a file, and the rest goes behind the group,
    // where 4560 to 4565 are in use.
    let (file, bytes) = (FileId(2), 2 * 4096);
    done(&mut fs, Op::Truncate { file, bytes });
    create(&mut fs, 8, 2, 2 * 4096);
    assert_eq!(blocks(&fs, 8), [(4550, 1), (4566, 1)]);
}

/// The directory takes the place of the last block in the group of its first file, which stays a member.
#[test]
fn a_directory_takes_the_last_block_of_its_first_file() {
    let mut fs = two_directories(Params {
        grouped_blocks: 3,
        ..Params::default()
    });
    for file in 1..=5 {
        create(&mut fs, file, 1, 3 * 4096);
    }
    for file in 6..=24 {
        create(&mut fs, file, 1, 0);
    }
    let dir = fs.directory_inode(DirId(1)).expect("it was made");
    assert_eq!(extents(&fs, dir), [(3040, 1), (3043, 1)]);
    assert_eq!(blocks(&fs, 1), [(3041, 2), (3056, 1)]);
    assert_eq!(group(&fs, 1), (3040, 16));
}

/// 23 names fill the first block of the directory. Of these files 15 are in the first group, 8 in the one behind it.
#[test]
fn a_directory_takes_the_place_of_its_first_file() {
    let mut fs = two_directories(Params::default());
    for file in 1..=24 {
        create(&mut fs, file, 1, 1000);
    }
    let dir = fs.directory_inode(DirId(1)).expect("it was made");
    assert_eq!(extents(&fs, dir), [(3040, 2)]);
    assert_eq!(blocks(&fs, 1), [(3064, 1)]);
    assert_eq!(blocks(&fs, 24), [(3065, 1)]);
    assert_eq!(group(&fs, 1), (3056, 10));
    assert_eq!(group(&fs, 2), (3040, 16));
    let mut fs = two_directories(Params {
        dir_steal: DirSteal::Off,
        ..Params::default()
    });
    for file in 1..=24 {
        create(&mut fs, file, 1, 1000);
    }
    assert_eq!(blocks(&fs, 1), [(3041, 1)]);
}

/// The baseline: blocks one after the other from the start of the cylinder group, behind 24 blocks of inodes.
#[test]
fn without_the_techniques_files_lie_where_the_group_has_room() {
    let mut fs = two_directories(Params {
        embed: false,
        group: false,
        ..Params::default()
    });
    create(&mut fs, 1, 1, 3 * 4096);
    create(&mut fs, 2, 1, 100);
    let dir = fs.directory_inode(DirId(1)).expect("it was made");
    assert_eq!(extents(&fs, dir), [(3024 + 25, 1)]);
    assert_eq!(blocks(&fs, 1), [(3024 + 26, 3)]);
    assert_eq!(blocks(&fs, 2), [(3024 + 29, 1)]);
    // 768 inodes a cylinder group; the directory has the first one of its group.
    assert_eq!((dir, ino(&fs, 1), ino(&fs, 2)), (1536, 1537, 1538));
}

/// Locator: directory << 16 | sector << 3 | place. The root is directory 1; sector 0 of a first block has room for two.
#[test]
fn a_locator_says_where_an_inode_lies() {
    let mut fs = two_directories(Params::default());
    for file in 1..=3 {
        create(&mut fs, file, 1, 0);
    }
    let dir = |fs: &Cffs, dir| fs.directory_inode(DirId(dir)).expect("it was made");
    assert_eq!((dir(&fs, 1), dir(&fs, 2)), (1 << 16 | 1, 1 << 16 | 2));
    let two = 2 << 16;
    assert_eq!(
        (1..=3).map(|f| ino(&fs, f)).collect::<Vec<_>>(),
        [two | 1, two | 2, two | 1 << 3 | 1]
    );
    // A file that moves takes its inode along: to the first sector of directory 3 with room.
    rename(&mut fs, 3, 2, None);
    assert_eq!(ino(&fs, 3), 3 << 16 | 1);
    // A directory that moves has another number itself; its files keep theirs.
    let op = Op::RenameDir {
        dir: DirId(2),
        parent: DirId(1),
    };
    done(&mut fs, op);
    assert_eq!(dir(&fs, 2), two | 1 << 3 | 1);
    assert_eq!(ino(&fs, 3), 3 << 16 | 1);
}

/// Number 0 of the directory map is the external inode file; its first sector is not used.
#[test]
fn a_file_with_names_in_two_directories_is_external() {
    let mut fs = two_directories(Params::default());
    create(&mut fs, 1, 1, 100);
    link(&mut fs, 2, 1, 1);
    let inside = 2 << 16 | 1;
    assert_eq!((ino(&fs, 1), ino(&fs, 2)), (inside, inside));
    link(&mut fs, 3, 2, 2);
    let external = 1 << 3;
    assert_eq!([1, 2, 3].map(|f| ino(&fs, f)), [external; 3]);
    // Its place in the directory is free again.
    create(&mut fs, 4, 1, 0);
    assert_eq!(ino(&fs, 4), 2 << 16 | 1 << 3 | 1);
    for name in 1..=3 {
        delete(&mut fs, name);
    }
    create(&mut fs, 5, 2, 0);
    link(&mut fs, 6, 5, 1);
    assert_eq!(ino(&fs, 6), external);
}

/// One name is in the sector of the inode, the other leads there: it stays a link when the first one goes.
#[test]
fn an_inode_stays_in_its_sector_when_the_name_beside_it_goes() {
    let mut fs = two_directories(Params::default());
    create(&mut fs, 1, 1, 100);
    link(&mut fs, 2, 1, 1);
    delete(&mut fs, 1);
    assert_eq!(ino(&fs, 2), 2 << 16 | 1);
    rename(&mut fs, 2, 2, None);
    assert_eq!(ino(&fs, 2), 3 << 16 | 1);
}

#[test]
fn a_file_that_is_replaced_gives_its_sector_to_the_other() {
    let mut fs = two_directories(Params::default());
    create(&mut fs, 1, 1, 100);
    for file in 2..=6 {
        create(&mut fs, file, 2, 100);
    }
    let place = ino(&fs, 5);
    rename(&mut fs, 1, 2, Some(5));
    assert_eq!(ino(&fs, 1), place);
    assert_eq!(fs.inode(FileId(5)), None);
    let rmdir = Op::Rmdir { dir: DirId(1) };
    done(&mut fs, rmdir);
}

/// Physical number: block * 32 + sector * 4 + place; `.` and `..` are not stored, so sector 0 holds three inodes.
#[test]
fn a_physical_number_never_changes() {
    let mut fs = two_directories(Params {
        inode_id: InodeId::Physical,
        ..Params::default()
    });
    for file in 1..=4 {
        create(&mut fs, file, 1, 100);
    }
    let of_block = 3040 * 32;
    let numbers = [1, 2, 3, 4].map(|f| ino(&fs, f) - of_block);
    assert_eq!(numbers, [1, 2, 3, 5]);
    rename(&mut fs, 4, 2, None);
    link(&mut fs, 5, 3, 2);
    assert_eq!((ino(&fs, 4), ino(&fs, 5)), (of_block + 5, of_block + 3));
    for file in 1..=3 {
        delete(&mut fs, file);
    }
    // Its directory goes; the block with the inodes stays, and belongs to the directory for lost ones.
    let free = fs.free_blocks();
    done(&mut fs, Op::Rmdir { dir: DirId(1) });
    assert_eq!(fs.free_blocks(), free);
    assert_eq!((ino(&fs, 4), ino(&fs, 5)), (of_block + 5, of_block + 3));
    delete(&mut fs, 4);
    delete(&mut fs, 5);
}

/// With a table a number is 1 more than the place of the inode in memory, the lowest free one: the root 1, the
/// directories 2 and 3. The first block of the table, for 1024 numbers, lies behind that of the directory map.
#[test]
fn a_number_in_the_table_never_changes() {
    let mut fs = two_directories(Params {
        inode_id: InodeId::Table,
        ..Params::default()
    });
    let dir = |fs: &Cffs, dir| fs.directory_inode(DirId(dir)).expect("it was made");
    assert_eq!([0, 1, 2].map(|d| dir(&fs, d)), [1, 2, 3]);
    create(&mut fs, 1, 1, 100);
    create(&mut fs, 2, 1, 100);
    rename(&mut fs, 1, 2, None);
    link(&mut fs, 3, 1, 1);
    let op = Op::RenameDir {
        dir: DirId(2),
        parent: DirId(1),
    };
    done(&mut fs, op);
    assert_eq!((ino(&fs, 1), ino(&fs, 2), ino(&fs, 3)), (4, 5, 4));
    assert_eq!(dir(&fs, 2), 3);
    delete(&mut fs, 2);
    create(&mut fs, 4, 2, 100);
    assert_eq!(ino(&fs, 4), 5, "the lowest free one");
    assert!(
        fs.image().is_err(),
        "an inode of the format has room for one number"
    );
    // Nothing waits for the table: as many writes wait as without it, and one more is delayed.
    let emitted = |inode_id| {
        let mut fs = two_directories(Params {
            inode_id,
            ..Params::default()
        });
        fs.emit(true);
        create(&mut fs, 1, 1, 100);
        fs.emitted().clone()
    };
    let (with, without) = (emitted(InodeId::Table), emitted(InodeId::Locator));
    let more: Vec<_> = with.iter().filter(|io| !without.contains(io)).collect();
    let table = BufferId::Device {
        start_bytes: 4 * 4096,
    };
    assert_eq!((with.len(), more.len()), (without.len() + 1, 1));
    assert!(matches!(more[0], Io::Modify(buffer, Flush::Delayed) if buffer.id == table));
    // 1024 numbers a block, of which 0 is none: the 1024th inode needs another block.
    let mut fs = two_directories(Params {
        inode_id: InodeId::Table,
        ..Params::default()
    });
    for file in 1..=1020 {
        create(&mut fs, file, 0, 0);
    }
    assert_eq!(ino(&fs, 1020), 1023);
    let free = fs.free_blocks();
    create(&mut fs, 1021, 1, 0);
    assert_eq!(free - fs.free_blocks(), 1);
}

/// Files 1 and 2 are named together, in two directories; file 3 with none. The first run of 16 free blocks in the
/// cylinder group of directory 1, behind its own block at 3040, begins at 3056.
#[test]
fn files_that_a_program_names_together_lie_together() {
    let together = |hints| {
        let mut fs = two_directories(Params {
            hints,
            ..Params::default()
        });
        fs.name_together(Some(77));
        create(&mut fs, 1, 1, 100);
        create(&mut fs, 2, 2, 100);
        fs.name_together(None);
        create(&mut fs, 3, 1, 100);
        fs.name_together(Some(78));
        create(&mut fs, 4, 2, 100);
        fs.name_together(Some(77));
        create(&mut fs, 5, 2, 100);
        fs
    };
    let mut fs = together(true);
    assert_eq!(
        [1, 2, 5].map(|f| blocks(&fs, f)),
        [3056, 3057, 3058].map(|b| vec![(b, 1)])
    );
    assert_eq!([1, 2, 5].map(|f| group(&fs, f)), [(3056, 3); 3]);
    assert_eq!(
        (blocks(&fs, 3), group(&fs, 3)),
        (vec![(3041, 1)], (3040, 2))
    );
    assert_eq!(blocks(&fs, 4), [(4560, 1)]);
    // A file that moves stays with the others; one with names in two directories belongs to no group.
    rename(&mut fs, 5, 1, None);
    assert_eq!(group(&fs, 5), (3056, 3));
    link(&mut fs, 6, 5, 2);
    assert_eq!(group(&fs, 5), (3058, 1));
    // Where nobody heeds it they lie with their directories.
    let fs = together(false);
    assert_eq!(
        [1, 2].map(|f| blocks(&fs, f)),
        [3041, 4545].map(|b| vec![(b, 1)])
    );
}

#[test]
fn a_file_that_is_open_waits_for_the_last_close() {
    for (inode_id, embed) in [
        (InodeId::Locator, true),
        (InodeId::Physical, true),
        (InodeId::Locator, false),
    ] {
        let mut fs = two_directories(Params {
            inode_id,
            embed,
            ..Params::default()
        });
        create(&mut fs, 1, 1, 50_000);
        let open = fs.open(FileId(1)).expect("it is there");
        let again = fs.open(FileId(1)).expect("it is there");
        let free = fs.free_blocks();
        delete(&mut fs, 1);
        done(&mut fs, Op::Rmdir { dir: DirId(1) });
        let mut unlinked = Vec::new();
        fs.visit_files(&mut |file| {
            if file.kind == FileKind::Regular {
                unlinked.push((file.links, file.size_bytes));
            }
        });
        assert_eq!(unlinked, [(0, 50_000)]);
        fs.close(open);
        assert_eq!(fs.check(), Ok(()));
        fs.close(again);
        assert_eq!(fs.check(), Ok(()));
        // 13 blocks of data, and the block of the directory but where it still holds the inode.
        let lost = u64::from(inode_id == InodeId::Physical);
        assert_eq!(fs.free_blocks() - free, 14 - lost, "{inode_id:?} {embed}");
    }
}

/// Section 5: writes that wait, of each operation in turn.
#[test]
fn as_many_writes_wait_as_their_order_asks_for() {
    type Step = (&'static str, fn(&mut Cffs), usize, usize);
    let steps: [Step; 11] = [
        ("create", |fs| create(fs, 1, 1, 100), 0, 2),
        ("link beside it", |fs| link(fs, 2, 1, 1), 0, 1),
        // Two as the specification has it, and before them the first block of the external inode file and the
        // superblock that leads to it.
        ("link from another directory", |fs| link(fs, 3, 1, 2), 4, 1),
        ("unlink of a link", |fs| delete(fs, 3), 2, 2),
        ("another", |fs| create(fs, 4, 1, 100), 0, 2),
        ("rename in place", |fs| rename(fs, 4, 1, None), 0, 1),
        (
            "rename to another directory",
            |fs| rename(fs, 4, 2, None),
            2,
            3,
        ),
        ("unlink", |fs| delete(fs, 4), 1, 2),
        ("large file", |fs| create(fs, 5, 1, 64 << 10), 1, 3),
        (
            "cut",
            |fs| {
                let (file, bytes) = (FileId(5), 4096);
                done(fs, Op::Truncate { file, bytes });
            },
            1,
            1,
        ),
        ("mkdir", |fs| mkdir(fs, 9, 2), 1, 3),
    ];
    let kinds = [
        (true, false, true),
        (false, false, true),
        (true, true, true),
        (false, false, false),
    ];
    for (embed, softupdates, name_waits) in kinds {
        let mut fs = two_directories(Params {
            embed,
            softupdates,
            name_waits,
            ..Params::default()
        });
        fs.emit(true);
        for (name, step, embedded, conventional) in steps {
            fs.emitted().clear();
            step(&mut fs);
            let waits =
                |io: &&Io| matches!(io, Io::Modify(_, Flush::Sync) | Io::Fill(_, Flush::Sync));
            let expected = match (embed, softupdates) {
                (_, true) => 0,
                (true, false) => embedded,
                // A new name is on disk some time after its inode.
                (false, false) => {
                    let new = ["create", "another", "mkdir", "large file"].contains(&name);
                    conventional - usize::from(new && !name_waits)
                }
            };
            let emitted = fs.emitted().clone();
            assert_eq!(
                emitted.iter().filter(waits).count(),
                expected,
                "{name}, {embed}: {emitted:?}"
            );
        }
    }
}

#[test]
fn a_full_disk_is_an_outcome_and_errors_change_nothing() {
    let mut fs = Cffs::new(Params {
        size_bytes: 1 << 20,
        ..Params::default()
    })
    .expect("the sizes work");
    let mut file = 0;
    loop {
        file += 1;
        let op = Op::Create {
            file: FileId(file),
            dir: DirId::ROOT,
            bytes: 5000,
        };
        match fs.apply(&op) {
            Ok(Outcome::Done) => {}
            got => {
                assert_eq!(got, Ok(Outcome::NoSpace));
                break;
            }
        }
    }
    assert_eq!((fs.check(), fs.free_blocks()), (Ok(()), 0));
    let rmdir = fs.apply(&Op::Rmdir { dir: DirId(7) });
    assert_eq!(rmdir, Err(StateError::NoDirectory(DirId(7))));
    delete(&mut fs, 1);
    create(&mut fs, 10_000, 0, 5000);
}
