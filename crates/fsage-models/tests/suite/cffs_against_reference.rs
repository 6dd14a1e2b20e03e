//! The model of C-FFS against a naive one, written from the rules with other data: the same number and the same blocks
//! for every file, after every operation.
//!
//! Not compared, because the reference does not know it: links, names that are replaced, physical numbers, files
//! longer than one block of pointers reaches. For these there is the file system check (`cffs_properties.rs`).

use crate::cffs_reference::{Full, Reference};
use crate::steps::cases;
use fsage_core::io::Hosted;
use fsage_core::{DirId, FileId, FileSystem, Layout, Op, Outcome};
use fsage_models::cffs::{Cffs, DirSteal, Params};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use std::collections::BTreeMap;

const BLOCKS: u32 = 700;
const CG_BLOCKS: u32 = 150;

/// What is done, to the living by their rank.
#[derive(Clone, Debug)]
enum Step {
    Mkdir,
    Rmdir(u8),
    /// So many files of so many blocks.
    Create(u8, u8, u8),
    Append(u8, u8),
    Rewrite(u8, u8),
    Delete(u8),
    Rename(u8, u8),
}

fn step() -> impl Strategy<Value = Step> {
    let pick = any::<u8>;
    let blocks = || prop_oneof![6 => 0_u8..3, 2 => 0_u8..40];
    prop_oneof![
        2 => Just(Step::Mkdir),
        1 => pick().prop_map(Step::Rmdir),
        6 => (pick(), 1_u8..30, blocks()).prop_map(|(d, n, b)| Step::Create(d, n, b)),
        2 => (pick(), blocks()).prop_map(|(f, b)| Step::Append(f, b)),
        2 => (pick(), blocks()).prop_map(|(f, b)| Step::Rewrite(f, b)),
        6 => pick().prop_map(Step::Delete),
        4 => (pick(), pick()).prop_map(|(f, d)| Step::Rename(f, d)),
    ]
}

fn nth<V>(map: &BTreeMap<u64, V>, pick: u8) -> Option<u64> {
    let n = usize::from(pick).checked_rem(map.len())?;
    map.keys().nth(n).copied()
}

/// Numbers, data blocks and blocks of pointers of files and directories.
type State = BTreeMap<u64, Vec<u32>>;

fn state_of(fs: &Cffs) -> (State, Vec<bool>) {
    let mut files = State::new();
    fs.visit_files(&mut |file| {
        let mut blocks = Vec::new();
        for extent in file.extents.expect("a model knows them") {
            let first = (extent.physical_bytes / 4096) as u32;
            blocks.extend(first..first + (extent.length_bytes / 4096) as u32);
        }
        files.insert(file.ino, blocks);
    });
    let mut used = vec![true; BLOCKS as usize];
    fs.visit_free(&mut |run| {
        let first = (run.start_bytes / 4096) as usize;
        used[first..first + (run.length_bytes / 4096) as usize].fill(false);
    });
    (files, used)
}

fn compare(fs: &Cffs, reference: &Reference, what: &Op) -> Result<(), TestCaseError> {
    let (mut files, used) = state_of(fs);
    for (&id, file) in &reference.files {
        let number = reference.number(id);
        prop_assert_eq!(
            fs.inode(FileId(id)),
            Some(number),
            "{:?}: file {}",
            what,
            id
        );
        let expected = [&file.blocks[..], &file.pointers].concat();
        let got = files.remove(&number);
        prop_assert_eq!(got, Some(expected), "{:?}: file {}", what, id);
        if let Some((start, size)) = file.group.filter(|&(_, size)| size > 1) {
            let expected = Some((u64::from(start) * 4096, u64::from(size) * 4096));
            for lbn in (0..file.blocks.len()).filter(|&lbn| reference.is_grouped(file, lbn)) {
                let read = fs.block_map(FileId(id), lbn as u32).group;
                prop_assert_eq!(read, expected, "{:?}: file {}, block {}", what, id, lbn);
            }
        }
    }
    for (&id, dir) in &reference.dirs {
        let number = fs.directory_inode(DirId(id)).expect("it is there");
        let got = files.remove(&number);
        prop_assert_eq!(
            got.as_ref(),
            Some(&dir.blocks),
            "{:?}: directory {}",
            what,
            id
        );
    }
    prop_assert!(files.is_empty());
    prop_assert_eq!(used, reference.used.clone(), "{:?}", what);
    Ok(())
}

fn outcome(result: Result<(), Full>) -> Outcome {
    result.map_or(Outcome::NoSpace, |()| Outcome::Done)
}

/// The operation, and what the reference makes of it.
fn apply(reference: &mut Reference, next: &mut u64, step: &Step) -> Option<(Op, Outcome)> {
    let bytes = |blocks: u8| u64::from(blocks) * 4096;
    let file = |reference: &Reference, pick| nth(&reference.files, pick);
    let dir = |reference: &Reference, pick| nth(&reference.dirs, pick).expect("the root is there");
    let mut id = || {
        *next += 1;
        *next
    };
    let one = |op, outcome| Some((op, outcome));
    match *step {
        Step::Mkdir => {
            let id = id();
            let made = outcome(reference.mkdir(id));
            let dir = DirId(id);
            one(Op::Mkdir { dir, parent: None }, made)
        }
        Step::Rmdir(pick) => {
            let id = dir(reference, pick);
            if id == 0 || reference.files.values().any(|file| file.dir == id) {
                return None;
            }
            reference.rmdir(id);
            one(Op::Rmdir { dir: DirId(id) }, Outcome::Done)
        }
        Step::Create(pick, _, blocks) => {
            let (id, dir) = (id(), dir(reference, pick));
            let made = outcome(reference.create(id, dir, blocks.into()));
            let op = Op::Create {
                file: FileId(id),
                dir: DirId(dir),
                bytes: bytes(blocks),
            };
            one(op, made)
        }
        Step::Append(pick, blocks) => {
            let id = file(reference, pick)?;
            let done = outcome(reference.append(id, blocks.into()));
            let op = Op::Append {
                file: FileId(id),
                bytes: bytes(blocks),
            };
            one(op, done)
        }
        Step::Rewrite(pick, blocks) => {
            let id = file(reference, pick)?;
            reference.empty(id);
            let done = outcome(reference.append(id, blocks.into()));
            let op = Op::Rewrite {
                file: FileId(id),
                bytes: bytes(blocks),
            };
            one(op, done)
        }
        Step::Delete(pick) => {
            let id = file(reference, pick)?;
            reference.delete(id);
            one(Op::Delete { file: FileId(id) }, Outcome::Done)
        }
        Step::Rename(pick, to) => {
            let (id, to) = (file(reference, pick)?, dir(reference, to));
            let done = outcome(reference.rename(id, to));
            let op = Op::Rename {
                file: FileId(id),
                dir: DirId(to),
                replaced: None,
            };
            one(op, done)
        }
    }
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn every_block_lies_where_the_rules_put_it(
        group in prop::bool::weighted(0.8),
        dir_steal in prop::sample::select(vec![DirSteal::First, DirSteal::First, DirSteal::Last, DirSteal::Off]),
        group_blocks in prop::sample::select(vec![16_u64, 16, 8, 5, 1]),
        grouped_blocks in prop::sample::select(vec![1_u64, 1, 2, 4, 15]),
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let params = Params {
            size_bytes: u64::from(BLOCKS) * 4096,
            cg_blocks: CG_BLOCKS.into(),
            group,
            dir_steal,
            group_blocks,
            grouped_blocks,
            ..Params::default()
        };
        let mut fs = Cffs::new(params).expect("the sizes work");
        let window = group_blocks as u32;
        let mut reference = Reference::new(BLOCKS, CG_BLOCKS, group, dir_steal, window);
        reference.grouped = grouped_blocks as usize;
        let mut next = 0;
        for step in &steps {
            let times = if let Step::Create(_, n, _) = step { *n } else { 1 };
            for _ in 0..times {
                let Some((op, expected)) = apply(&mut reference, &mut next, step) else {
                    continue;
                };
                prop_assert_eq!(fs.apply(&op), Ok(expected), "{:?}", op);
                compare(&fs, &reference, &op)?;
            }
        }
    }
}
