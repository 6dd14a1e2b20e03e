//! A crash after any write, with synchronous metadata: what the recovery check finds on the disk.
//!
//! The blocks that operations write are followed in the order in which the model emits them. A write that waits
//! is on the disk when the next one is issued. A delayed one may be there or not, sector by sector: a sector is
//! written as a whole or not at all; the same goes for a write that a crash interrupts. A write holds what the
//! operation leaves in the block. Of a block that is emitted more than once by one operation a delayed write counts
//! at the last of them, and sectors from which a name or an inode goes change with the last write that waits: what
//! goes from somewhere goes last. Such a block is not torn. Blocks that were never written, and data, are noise.
//!
//! What must hold is docs/spec/cffs.md, section 5, and the paper's argument for it: name and inode lie in one sector,
//! so that both are there or neither.

use crate::steps::cases;
use crate::steps::cffs::{Step, World, step};
use fsage_core::io::{Flush, Hosted, Io};
use fsage_core::{FileId, FileKind, FileSystem, Layout, Op, Rng};
use fsage_models::cffs::image::{Block, Blocks, Kind, Recovery, recover};
use fsage_models::cffs::{Cffs, Params};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use std::collections::{BTreeMap, BTreeSet};

const SECTOR: usize = 512;

/// Contents that a block may have on the disk: those of the last write that waited, and of all later ones.
type Versions = Vec<Box<Block>>;

struct Disk {
    rng: Rng,
    count: u32,
    blocks: BTreeMap<u32, Versions>,
}

impl Disk {
    fn new(fs: &Cffs, seed: u64) -> Disk {
        let image = fs.image().expect("it fits the format");
        let mut disk = Disk {
            rng: Rng::new(seed),
            count: image.count,
            blocks: BTreeMap::new(),
        };
        for block in 0..image.count {
            let made = image.blocks.get(&block).cloned();
            let contents = made.unwrap_or_else(|| disk.noise());
            disk.blocks.insert(block, vec![contents]);
        }
        disk
    }

    fn noise(&mut self) -> Box<Block> {
        let mut bytes = Box::new([0; 4096]);
        for word in bytes.chunks_exact_mut(8) {
            word.copy_from_slice(&self.rng.next_u64().to_le_bytes());
        }
        bytes
    }

    /// A block changes, and may be written.
    fn write(&mut self, block: u32, contents: Box<Block>) {
        self.blocks.entry(block).or_default().push(contents);
    }

    /// A block has been written.
    fn sync_block(&mut self, block: u32) {
        if let Some(versions) = self.blocks.get_mut(&block) {
            versions.drain(..versions.len() - 1);
        }
    }

    /// Everything has been written.
    fn sync(&mut self) {
        for block in 0..self.count {
            self.sync_block(block);
        }
    }

    /// What a crash leaves.
    fn crash(&mut self) -> Blocks {
        let mut blocks = BTreeMap::new();
        for (&block, versions) in &self.blocks {
            let mut bytes = Box::new([0; 4096]);
            let sectors = bytes.chunks_exact_mut(SECTOR).enumerate();
            for (i, sector) in sectors {
                let which = self.rng.below(versions.len() as u64) as usize;
                sector.copy_from_slice(&versions[which][i * SECTOR..(i + 1) * SECTOR]);
            }
            // The superblock alone has a check word over all of it: it is written as a whole, or its copy is used.
            if block <= 1 {
                let which = self.rng.below(versions.len() as u64) as usize;
                bytes.clone_from(&versions[which]);
            }
            blocks.insert(block, bytes);
        }
        Blocks {
            count: self.count,
            blocks,
        }
    }
}

/// What is known of the names.
#[derive(Default)]
struct Names {
    /// Which file each name is, dead or alive.
    file: BTreeMap<u64, u64>,
    /// Lengths that each file has had.
    lengths: BTreeMap<u64, BTreeSet<u64>>,
    /// Names that were on disk at the last sync, and were not removed since.
    durable: BTreeSet<u64>,
    /// Names that were removed, by operations that have ended.
    removed: BTreeSet<u64>,
}

/// Names that an operation removes.
fn removed_by(op: &Op) -> Option<u64> {
    match *op {
        Op::Delete { file } => Some(file.0),
        Op::Rename {
            replaced: Some(other),
            ..
        } => Some(other.0),
        _ => None,
    }
}

impl Names {
    fn note(&mut self, op: &Op, fs: &Cffs) {
        match *op {
            Op::Create { file, .. } | Op::Symlink { file, .. } => {
                self.file.insert(file.0, file.0);
            }
            Op::Link { file, existing, .. } => {
                let its = self.file[&existing.0];
                self.file.insert(file.0, its);
            }
            _ => {}
        }
        for (&id, &file) in &self.file {
            if let Some(size) = fs.file_size(FileId(id)) {
                self.lengths.entry(file).or_default().insert(size);
            }
        }
    }

    fn ended(&mut self, op: &Op, fs: &Cffs) {
        let gone = removed_by(op).filter(|&id| fs.inode(FileId(id)).is_none());
        if let Some(id) = gone {
            self.durable.remove(&id);
            self.removed.insert(id);
        }
    }
}

struct Crashes<'a> {
    names: &'a Names,
    embed: bool,
}

impl Crashes<'_> {
    /// What is on the disk after a crash in the middle of an operation.
    fn check(&self, recovery: &Recovery, op: &Op) -> Result<(), TestCaseError> {
        let fs = &recovery.fs;
        let what = format!("{op:?}: {:#?}", recovery.findings);
        prop_assert_eq!(fs.check(), Ok(()), "{}", &what);
        let mut sizes = BTreeMap::new();
        fs.visit_files(&mut |file| {
            if file.kind != FileKind::Directory {
                sizes.insert(file.ino, file.size_bytes);
            }
        });
        // A file whose name is gone gets one that is free, which may be one that was lost.
        let given = recovery.findings.iter();
        let given =
            given.filter_map(|finding| finding.what.strip_suffix(" now")?.rsplit_once("/f"));
        let given: Vec<u64> = given.filter_map(|(_, id)| id.parse().ok()).collect();
        for id in 0..2000 {
            let ino = fs.inode(FileId(id)).filter(|_| !given.contains(&id));
            let Some(ino) = ino else {
                let in_doubt = removed_by(op) == Some(id);
                prop_assert!(
                    in_doubt || !self.names.durable.contains(&id),
                    "f{} is lost: {}",
                    id,
                    &what
                );
                continue;
            };
            let file = self.names.file.get(&id);
            prop_assert!(file.is_some(), "f{} was never made: {}", id, &what);
            prop_assert!(
                !self.names.removed.contains(&id),
                "f{} is back: {}",
                id,
                &what
            );
            // Each length belongs to one file, but for that of an inode without data yet.
            let known = file.and_then(|file| self.names.lengths.get(file));
            let right = sizes[&ino] == 0 || known.is_some_and(|known| known.contains(&sizes[&ino]));
            prop_assert!(
                right,
                "f{} leads to a foreign inode, {} bytes: {}",
                id,
                sizes[&ino],
                &what
            );
        }
        // A name that is replaced goes first; here its sector stays as it was if that of the new one is the same block.
        let replaced = removed_by(op).map(|id| format!(": f{id},"));
        for finding in &recovery.findings {
            let in_doubt = replaced
                .as_ref()
                .is_some_and(|name| finding.what.contains(name));
            for never in [
                "no inode",
                "another kind",
                "blocks of others",
                "another file",
            ] {
                let found = finding.what.contains(never) && !in_doubt;
                prop_assert!(!found, "{}: {}", never, &what);
            }
            let apart = matches!(
                op,
                Op::Rename { .. } | Op::Link { .. } | Op::Delete { .. } | Op::RenameDir { .. }
            );
            // An external inode is written before names lead to it, and is freed if none of them got to the disk.
            let external = finding.what.contains("in a table");
            let together = self.embed && !apart && !external;
            prop_assert!(
                !together || finding.kind != Kind::Freed,
                "an inode without a name: {}",
                &what
            );
        }
        Ok(())
    }
}

/// Which blocks an operation writes, in order, and which of the writes wait.
fn writes(emitted: &[Io]) -> Vec<(u32, bool)> {
    let touched = emitted.iter().filter_map(|io| match *io {
        Io::Modify(buffer, flush) | Io::Fill(buffer, flush) => {
            Some(((buffer.start_bytes / 4096) as u32, flush == Flush::Sync))
        }
        _ => None,
    });
    touched.collect()
}

/// Sectors from which a name or an inode goes stay as they were.
fn keep_what_goes(old: &Block, new: &mut Block, embed: bool) {
    for (old, new) in old.chunks_exact(SECTOR).zip(new.chunks_exact_mut(SECTOR)) {
        let of_names = if embed { 128 } else { SECTOR };
        let entries = old[..of_names]
            .chunks_exact(32)
            .zip(new[..of_names].chunks_exact(32));
        let mut goes = entries.filter(|(old, new)| old[2] != 0 && old[8..] != new[8..]);
        let inodes = old[of_names..]
            .chunks_exact(128)
            .zip(new[of_names..].chunks_exact(128));
        let mut gone = inodes.filter(|(old, new)| old[..4] != [0; 4] && new[..4] == [0; 4]);
        if goes.next().is_some() || gone.next().is_some() {
            new.copy_from_slice(old);
        }
    }
}

fn run(embed: bool, steps: &[Step], seed: u64) -> Result<(), TestCaseError> {
    let params = Params {
        size_bytes: 240 * 4096,
        cg_blocks: 90,
        embed,
        ..Params::default()
    };
    let mut fs = Cffs::new(params).expect("the sizes work");
    let mut disk = Disk::new(&fs, seed);
    fs.emit(true);
    let mut world = World::default();
    let mut names = Names::default();
    let mut length = 0;
    for (n, step) in steps.iter().enumerate() {
        for op in world.ops(step).unwrap_or_default() {
            let op = match op {
                // Every length is that of one file.
                Op::Create { file, dir, .. } => {
                    length += 37;
                    Op::Create {
                        file,
                        dir,
                        bytes: length,
                    }
                }
                other => other,
            };
            let before = fs.image().expect("it fits the format");
            fs.emitted().clear();
            if fs.apply(&op).is_err() {
                continue;
            }
            let emitted = writes(fs.emitted());
            let after = fs.image().expect("it fits the format");
            names.note(&op, &fs);
            emitted_of(&before, &after, &emitted, &op)?;
            for (i, &(block, sync)) in emitted.iter().enumerate() {
                let again = |write: &(u32, bool)| write.0 == block;
                let behind = &emitted[i + 1..];
                let first = !emitted[..i].iter().any(again);
                let last = !behind.iter().any(again);
                let waits_again = behind.iter().any(|write| again(write) && write.1);
                if !sync && !last {
                    continue;
                }
                let mut contents = match after.blocks.get(&block) {
                    Some(contents) => contents.clone(),
                    // Data.
                    None => disk.noise(),
                };
                let old = before.blocks.get(&block);
                if let Some(old) = old.filter(|_| waits_again) {
                    keep_what_goes(old, &mut contents, embed);
                }
                let crashes = Crashes {
                    names: &names,
                    embed,
                };
                let recovered =
                    |disk: &mut Disk| recover(&disk.crash()).expect("a superblock, or its copy");
                disk.write(block, contents);
                if !sync || (first && last) {
                    crashes.check(&recovered(&mut disk), &op)?;
                }
                if sync {
                    disk.sync_block(block);
                    crashes.check(&recovered(&mut disk), &op)?;
                }
            }
            names.ended(&op, &fs);
            world.note(&op, &fs);
        }
        if n % 8 == 7 {
            let image = fs.image().expect("it fits the format");
            for block in [0, 1] {
                disk.write(block, image.blocks[&block].clone());
            }
            disk.sync();
            names.durable = world.files.iter().map(|(file, _)| file.0).collect();
        }
    }
    Ok(())
}

/// Every block of metadata that has changed was emitted; but for the counts in the superblock, and its copy.
fn emitted_of(
    before: &Blocks,
    after: &Blocks,
    emitted: &[(u32, bool)],
    op: &Op,
) -> Result<(), TestCaseError> {
    let emitted: BTreeSet<u32> = emitted.iter().map(|&(block, _)| block).collect();
    for (block, contents) in &after.blocks {
        let changed = before.blocks.get(block) != Some(contents);
        prop_assert!(
            !changed || *block <= 1 || emitted.contains(block),
            "{:?}: block {} has changed",
            op,
            block
        );
    }
    Ok(())
}

fn quiet() -> impl Strategy<Value = Step> {
    step().prop_filter("open files are not on disk by name", |step| {
        !matches!(step, Step::Open(_) | Step::Close(_))
    })
}

proptest! {
    #![proptest_config(cases(16))]

    #[test]
    fn embedded_name_and_inode_are_both_there_or_neither(
        steps in prop::collection::vec(quiet(), 1..48),
        seed in any::<u64>(),
    ) {
        run(true, &steps, seed)?;
    }

    #[test]
    fn conventional_names_lead_to_inodes_that_are_there(
        steps in prop::collection::vec(quiet(), 1..48),
        seed in any::<u64>(),
    ) {
        run(false, &steps, seed)?;
    }
}

/// A life at whose end a file without a name gets the name of one that was lost in the same crash.
#[test]
fn a_name_that_is_given_anew_may_be_one_that_was_lost() {
    let steps = [
        Step::Append(0, 0),
        Step::Create(0, 0),
        Step::Mkdir(0),
        Step::Rewrite(0, 0),
        Step::Append(0, 0),
        Step::Create(0, 0),
        Step::Append(0, 0),
        Step::Rmdir(0),
        Step::Link(0, 0),
        Step::Rmdir(0),
        Step::Delete(0),
        Step::Mkdir(0),
        Step::Create(0, 0),
        Step::Fill(165, 48),
        Step::Append(0, 0),
        Step::Replace(0, 1),
        Step::Rename(0, 0),
        Step::MoveDir(0, 0),
        Step::Link(0, 0),
        Step::Rename(0, 0),
        Step::Delete(0),
        Step::Create(0, 0),
        Step::Delete(0),
        Step::Replace(0, 1),
        Step::Link(15, 235),
        Step::Append(0, 0),
        Step::Link(0, 0),
        Step::Create(54, 0),
        Step::Fill(95, 48),
        Step::Replace(52, 115),
        Step::Rewrite(0, 0),
    ];
    run(true, &steps, 0).expect("nothing else is lost");
}
