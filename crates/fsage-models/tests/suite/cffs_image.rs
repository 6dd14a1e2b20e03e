//! Images of a C-FFS: what is written is read back the same, and damage costs no more than it must.
//!
//! The size of what a block can cost is that of docs/spec/cffs.md, section 2: 24 embedded inodes, or the names that
//! stand in it.

use crate::steps::cases;
use crate::steps::cffs::{Step, World, params, step};
use fsage_core::{DirId, FileId, FileSystem, Layout, Op, Rng};
use fsage_models::cffs::image::{Block, Blocks, ReadBlocks, Recovery, is_image, recover};
use fsage_models::cffs::{Cffs, InodeId, Params};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// What can be seen of a state, in an order that does not depend on how it came about: inodes, their blocks and
/// directories, further names, free space.
fn looks(fs: &Cffs) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    let mut places: BTreeMap<u64, BTreeSet<Option<u64>>> = BTreeMap::new();
    fs.visit_files(&mut |file| {
        places.entry(file.ino).or_default().insert(file.parent_ino);
        let mut file = *file;
        file.parent_ino = None;
        all.insert(format!("{file:?}"));
    });
    fs.visit_further_names(&mut |name| {
        places
            .entry(name.ino)
            .or_default()
            .insert(Some(name.parent_ino));
    });
    all.extend(places.iter().map(|place| format!("{place:?}")));
    fs.visit_free(&mut |run| {
        all.insert(format!("{run:?}"));
    });
    all
}

fn again(fs: &Cffs) -> Recovery {
    recover(&fs.image().expect("it fits the format")).expect("a superblock")
}

proptest! {
    #![proptest_config(cases(150))]

    /// The same layout, no finding, and what is done next gives the same addresses. Random places are drawn anew, so
    /// that they are left out.
    #[test]
    fn what_is_written_is_read_back_the_same(
        params in params(400),
        steps in prop::collection::vec(step(), 1..60),
        further in prop::collection::vec(step(), 1..20),
    ) {
        let params = Params {
            randomize_first: fsage_models::cffs::Randomize::Never,
            start: fsage_models::cffs::Start::CylinderGroup,
            ..params
        };
        let mut fs = Cffs::new(params).expect("the sizes work");
        let mut world = World::default();
        let closed = |step: &&Step| !matches!(step, Step::Open(_) | Step::Close(_));
        for step in steps.iter().filter(closed) {
            for op in world.ops(step).unwrap_or_default() {
                let _ = fs.apply(&op);
                world.note(&op, &fs);
            }
        }
        let read = again(&fs);
        prop_assert_eq!(&read.findings, &[]);
        let mut copy = read.fs;
        prop_assert_eq!(copy.check(), Ok(()));
        prop_assert_eq!(looks(&copy), looks(&fs));
        prop_assert_eq!(copy.params(), fs.params());
        for step in further.iter().filter(closed) {
            for op in world.ops(step).unwrap_or_default() {
                let (ours, theirs) = (fs.apply(&op), copy.apply(&op));
                // What lack of space kept from being made is not on disk.
                prop_assume!(ours == theirs);
                world.note(&op, &fs);
            }
        }
        prop_assert_eq!(looks(&copy), looks(&fs));
    }
}

/// A file system of 8 MB in two cylinder groups: directories in directories, one with more than one block, files with
/// pointers, links within and across directories, symbolic links.
fn populated(embed: bool, inode_id: InodeId) -> Cffs {
    let params = Params {
        size_bytes: 8 << 20,
        cg_blocks: 1024,
        embed,
        inode_id,
        ..Params::default()
    };
    let mut fs = Cffs::new(params).expect("the sizes work");
    let mut ops = Vec::new();
    let parents = [None, Some(1), Some(2), Some(1), None];
    for (dir, parent) in (1..).zip(parents) {
        let (dir, parent) = (DirId(dir), parent.map(DirId));
        ops.push(Op::Mkdir { dir, parent });
    }
    for n in 0..200 {
        let (file, dir, bytes) = (FileId(100 + n), DirId(n % 5 + 1), n * 97 % 9000);
        ops.push(Op::Create { file, dir, bytes });
    }
    for n in 0..60 {
        let (file, dir, bytes) = (FileId(400 + n), DirId(3), 700);
        ops.push(Op::Create { file, dir, bytes });
    }
    for (n, dir) in (0..).zip([1, 3, 5]) {
        let (file, dir, bytes) = (FileId(500 + n), DirId(dir), 90_000);
        ops.push(Op::Create { file, dir, bytes });
        let (file, bytes) = (FileId(510 + n), 20 + 100 * n);
        ops.push(Op::Symlink { file, dir, bytes });
    }
    for (n, dir) in [(0, 1), (1, 2), (2, 5), (3, 3)] {
        let (file, existing, dir) = (FileId(600 + n), FileId(100 + 5 * n), DirId(dir));
        ops.push(Op::Link {
            file,
            existing,
            dir,
        });
    }
    for op in &ops {
        assert_eq!(fs.apply(op), Ok(fsage_core::Outcome::Done), "{op:?}");
    }
    assert_eq!(fs.check(), Ok(()));
    fs
}

/// A file: the number of its inode, kind, size and extents, and its names.
type Known = BTreeMap<u64, (String, BTreeSet<u64>)>;

fn files(fs: &Cffs) -> Known {
    let mut all = Known::new();
    fs.visit_files(&mut |file| {
        let what = format!("{:?} {} {:?}", file.kind, file.size_bytes, file.extents);
        all.insert(file.ino, (what, BTreeSet::new()));
    });
    for id in 100..700 {
        if let Some(file) = fs.inode(FileId(id)).and_then(|ino| all.get_mut(&ino)) {
            file.1.insert(id);
        }
    }
    all.retain(|_, (_, names)| !names.is_empty());
    all
}

/// The block that has an embedded inode, by its bytes in the image: inodes say their number at the places for them.
fn inodes_of(blocks: &Blocks, block: u32) -> BTreeSet<u64> {
    let Some(bytes) = blocks.blocks.get(&block) else {
        return BTreeSet::new();
    };
    let all = bytes
        .chunks_exact(128)
        .filter(|inode| inode[26..28] != [0, 0]);
    let number = |inode: &[u8]| u32::from_le_bytes([inode[0], inode[1], inode[2], inode[3]]);
    all.map(|inode| number(inode).into()).collect()
}

fn noise(seed: u64) -> Box<[u8; 4096]> {
    let mut rng = Rng::new(seed);
    let mut bytes = Box::new([0; 4096]);
    for word in bytes.chunks_exact_mut(8) {
        word.copy_from_slice(&rng.next_u64().to_le_bytes());
    }
    bytes
}

/// After repair a second check finds nothing, and the model is sound.
fn is_whole(recovery: &Recovery, what: &str) {
    assert_eq!(
        recovery.fs.check(),
        Ok(()),
        "{what}: {:?}",
        recovery.findings
    );
    let second = again(&recovery.fs);
    assert_eq!(second.findings, [], "{what}");
    assert_eq!(looks(&second.fs), looks(&recovery.fs), "{what}");
}

/// Embedded inodes: any block is destroyed. Lost are at most the files whose inodes were in it; a file that has lost a
/// block of pointers is there, with holes; all others are as they were, wherever their directory is now.
#[test]
fn a_destroyed_block_costs_at_most_the_files_in_it() {
    let fs = populated(true, InodeId::Locator);
    let image = fs.image().expect("it fits the format");
    let before = files(&fs);
    let metadata: BTreeSet<u32> = image.blocks.keys().copied().collect();
    let data = (0..image.count)
        .filter(|block| !metadata.contains(block))
        .take(3);
    for block in metadata.iter().copied().chain(data) {
        for damage in [Box::new([0; 4096]), noise(block.into())] {
            let mut damaged = image.clone();
            damaged.blocks.insert(block, damage);
            let recovery = recover(&damaged).expect("a superblock");
            let what = format!("block {block}: {:?}", recovery.findings);
            let inside = inodes_of(&image, block);
            let after = files(&recovery.fs);
            let mut gone = 0;
            for (ino, (looks, names)) in &before {
                let left = after.values().find(|(_, left)| !left.is_disjoint(names));
                match left {
                    None => {
                        assert!(inside.contains(ino), "{names:?} are lost: {what}");
                        gone += 1;
                    }
                    Some((now, _)) if now == looks => {}
                    Some(_) => {
                        let large = names.iter().all(|id| (500..503).contains(id));
                        assert!(large, "{names:?} have changed: {what}");
                    }
                }
            }
            assert!(gone <= 24, "{what}");
            is_whole(&recovery, &what);
        }
    }
}

/// Directories in which names and inodes lie apart: more than a block of external links, external files with a single
/// name, a block 0 with inodes and no names, internal links in a later block, an empty directory.
fn apart() -> Cffs {
    let params = Params {
        size_bytes: 8 << 20,
        cg_blocks: 1024,
        ..Params::default()
    };
    let mut fs = Cffs::new(params).expect("the sizes work");
    let mut ops = Vec::new();
    for dir in 1..=5 {
        let (dir, parent) = (DirId(dir), None);
        ops.push(Op::Mkdir { dir, parent });
    }
    let create = |file, dir| Op::Create {
        file: FileId(file),
        dir: DirId(dir),
        bytes: 10 + file,
    };
    let link = |file, existing, dir| Op::Link {
        file: FileId(file),
        existing: FileId(existing),
        dir: DirId(dir),
    };
    let delete = |file| Op::Delete { file: FileId(file) };
    for n in 0..150 {
        ops.extend([create(1000 + n, 1), link(2000 + n, 1000 + n, 2)]);
    }
    ops.extend((0..40).map(|n| delete(1000 + n)));
    // Inodes in block 0 of d3, names behind it: those beside the inodes go.
    ops.extend((0..23).map(|n| create(3000 + n, 3)));
    ops.extend((0..80).map(|n| link(4000 + n, 3000 + n % 23, 3)));
    ops.extend((0..23).map(|n| delete(3000 + n)));
    ops.extend((0..39).map(|n| delete(4000 + n)));
    // Both names of these lie in d4, the second ones in part in a later block.
    ops.extend((0..23).map(|n| create(5000 + n, 4)));
    ops.extend((0..60).map(|n| link(6000 + n, 5000 + n % 23, 4)));
    for op in &ops {
        assert_eq!(fs.apply(op), Ok(fsage_core::Outcome::Done), "{op:?}");
    }
    fs
}

/// Number, size and extents of the inodes of files, and how many directories there are.
fn inodes(fs: &Cffs) -> (BTreeMap<u64, String>, u64) {
    let mut all = BTreeMap::new();
    fs.visit_files(&mut |file| {
        if file.kind != fsage_core::FileKind::Directory {
            all.insert(file.ino, format!("{} {:?}", file.size_bytes, file.extents));
        }
    });
    let directories = recover(&fs.image().expect("it fits the format")).expect("a superblock");
    (all, directories.holds.directories)
}

/// Lost are at most the files whose inodes were in the block: 24 of a directory, 32 of the external inode file.
#[test]
fn a_destroyed_block_of_names_costs_no_file_whose_inode_lies_elsewhere() {
    let fs = apart();
    let image = fs.image().expect("it fits the format");
    let (before, directories) = inodes(&fs);
    for &block in image.blocks.keys() {
        for damage in [Box::new([0; 4096]), noise(block.into())] {
            let mut damaged = image.clone();
            damaged.blocks.insert(block, damage);
            let recovery = recover(&damaged).expect("a superblock");
            let what = format!("block {block}: {:?}", recovery.findings);
            let inside = inodes_of(&image, block);
            let (after, left) = inodes(&recovery.fs);
            for (ino, looks) in before.iter().filter(|(ino, _)| !inside.contains(ino)) {
                assert_eq!(after.get(ino), Some(looks), "inode {ino}: {what}");
            }
            let gone = before.keys().filter(|ino| !after.contains_key(ino)).count();
            assert!(gone <= 32 && after.len() + gone == before.len(), "{what}");
            assert_eq!(left, directories, "{what}");
            is_whole(&recovery, &what);
        }
    }
}

/// The other variants have no directory map: what is left is sound.
#[test]
fn a_destroyed_block_of_any_variant_leaves_a_sound_rest() {
    for (embed, inode_id) in [(false, InodeId::Locator), (true, InodeId::Physical)] {
        let fs = populated(embed, inode_id);
        let image = fs.image().expect("it fits the format");
        for &block in image.blocks.keys() {
            for damage in [Box::new([0; 4096]), noise(block.into())] {
                let mut damaged = image.clone();
                damaged.blocks.insert(block, damage);
                let recovery = recover(&damaged).expect("a superblock");
                is_whole(
                    &recovery,
                    &format!("block {block}: {:?}", recovery.findings),
                );
            }
        }
    }
}

/// An image that counts what is read of it.
struct Watched {
    blocks: Blocks,
    left: u64,
    reads: std::cell::Cell<u64>,
}

impl ReadBlocks for Watched {
    fn blocks(&self) -> u64 {
        self.left
    }

    fn read(&self, block: u32, to: &mut Block) -> std::io::Result<()> {
        self.reads.set(self.reads.get() + 1);
        self.blocks.read(block, to)
    }
}

/// Damage to an image: bytes are changed, blocks lie where others were, so that everything in them is valid in the
/// wrong place, and the end is missing.
#[derive(Clone, Debug)]
struct Damage {
    bytes: Vec<(u16, u16, u8)>,
    copies: Vec<(u16, u16)>,
    cut: Option<u16>,
}

fn damage() -> impl Strategy<Value = Damage> {
    let bytes = prop::collection::vec((any::<u16>(), any::<u16>(), any::<u8>()), 0..40);
    let copies = prop::collection::vec((any::<u16>(), any::<u16>()), 0..6);
    let cut = prop::option::weighted(0.2, any::<u16>());
    (bytes, copies, cut).prop_map(|(bytes, copies, cut)| Damage { bytes, copies, cut })
}

impl Damage {
    fn apply(&self, mut image: Blocks) -> Watched {
        let metadata: Vec<u32> = image.blocks.keys().copied().collect();
        let pick = |n: u16| metadata[usize::from(n) % metadata.len()];
        for &(from, to) in &self.copies {
            let bytes = image.blocks[&pick(from)].clone();
            image.blocks.insert(pick(to), bytes);
        }
        for &(block, at, byte) in &self.bytes {
            if let Some(bytes) = image.blocks.get_mut(&pick(block)) {
                bytes[usize::from(at) % 4096] = byte;
            }
        }
        Watched {
            left: self
                .cut
                .map_or(image.count.into(), |cut| u64::from(cut) % 2048),
            blocks: image,
            reads: std::cell::Cell::new(0),
        }
    }
}

proptest! {
    #![proptest_config(cases(300))]

    /// Whatever is damaged: what is found is sound, and reading ends.
    #[test]
    fn any_damage_leaves_something_sound(damage in damage(), variant in 0..3_usize) {
        let variants = [
            (true, InodeId::Locator),
            (false, InodeId::Locator),
            (true, InodeId::Physical),
        ];
        let (embed, inode_id) = variants[variant];
        let fs = populated(embed, inode_id);
        let image = damage.apply(fs.image().expect("it fits the format"));
        let recovery = recover(&image);
        let reads = image.reads.get();
        // Each block as what it is, and by every name that leads to it; and again to compare.
        prop_assert!(reads < 8 * 2048, "{} reads", reads);
        match recovery {
            Ok(recovery) => {
                is_whole(&recovery, "any damage");
                if image.left < 2048 {
                    prop_assert!(!recovery.findings.is_empty());
                }
            }
            Err(e) => prop_assert!(!e.to_string().contains('\n'), "{}", e),
        }
    }
}

#[test]
fn a_file_that_is_no_image_is_refused() {
    let fs = populated(true, InodeId::Locator);
    let mut image = fs.image().expect("it fits the format");
    assert!(is_image(
        &[&image.blocks[&0][..], &image.blocks[&1][..]].concat()
    ));
    image.blocks.insert(0, Box::new([7; 4096]));
    image.blocks.insert(1, Box::new([7; 4096]));
    let e = recover(&image).expect_err("no superblock").to_string();
    assert!(e.contains("neither block 1 nor its copy"), "{e}");
    assert!(!is_image(&[7; 8192]) && !is_image(b"C-FFS") && !is_image(&[]));
}
