//! The file system check: everything recomputed from the files, the inodes and the log.

use super::Lfs;
use super::geometry::{INODE_BYTES, SECTOR};
use super::ifile::NO_SLOT;
use super::inode::{Block, Inode, Kind};
use super::segments::sectors;
use crate::findings::Findings;
use fsage_core::Inconsistency;

/// A place in the log that a summary lists: (address, inode, block or `None` for an inode block).
type Listed = (u32, u32, Option<i32>);

pub(super) fn check(fs: &Lfs) -> Result<(), Inconsistency> {
    let mut findings = Findings::default();
    let (_, bfree) = recount(fs, &mut findings);
    findings.compare("bfree", &fs.bfree, &bfree);
    findings.result()
}

/// Live bytes of every segment and free sectors, from the files and the log.
pub(super) fn recount(fs: &Lfs, findings: &mut Findings) -> (Vec<i64>, i64) {
    let mut live = vec![0_i64; fs.geometry.nseg as usize];
    let mut used = blocks(fs, &mut live, findings);
    inodes(fs, &mut live, findings);
    used += segments(fs, &live, findings);
    let superblocks = (1..fs.geometry.nseg)
        .filter(|&s| fs.geometry.has_superblock(s))
        .count() as i64;
    let bfree = fs.geometry.data_sectors as i64 - 16 * superblocks - used;
    (live, bfree)
}

/// What the summaries of a segment list, sorted.
fn listed(fs: &Lfs, segment: u32) -> Vec<Listed> {
    let log = &fs.logs[segment as usize];
    let mut all: Vec<Listed> = log
        .blocks(&fs.geometry)
        .map(|(finfo, lbn, address, _)| (address, finfo.ino, Some(lbn)))
        .collect();
    for (block, inos) in log.inodes() {
        all.extend(inos.iter().map(|&ino| (block.address, ino, None)));
    }
    all.sort_unstable();
    all
}

/// Every block of every file lies where a summary says so, and on no other. Gives the sectors of all blocks.
fn blocks(fs: &Lfs, live: &mut [i64], findings: &mut Findings) -> i64 {
    let g = &fs.geometry;
    let mut placed: Vec<(u32, u32, Listed)> = Vec::new();
    let (mut used, mut dirty_sectors, mut dirty_data, mut dirty_pointers) = (0, 0, 0, 0);
    for (slot, inode) in fs.inodes.iter().enumerate() {
        if fs.map[inode.ino as usize].slot != slot as u32 {
            continue;
        }
        let (mut data, mut pointers) = (0, 0);
        inode.visit(g, |lbn, block| {
            let now = i64::from(sectors(inode.block_bytes(g, lbn)));
            used += now;
            if block.is_dirty() {
                dirty_sectors += now;
                data += i64::from(lbn >= 0);
                pointers += i64::from(lbn < 0);
            } else {
                findings.expect(block.address != 0, || {
                    format!("inode {}: block {lbn} is nowhere", inode.ino)
                });
                findings.expect(i64::from(block.sectors) == now, || {
                    format!(
                        "inode {}: block {lbn} has another length in the log",
                        inode.ino
                    )
                });
            }
            findings.expect(!block.is(Block::GATHERED | Block::MOVED), || {
                format!("inode {}: block {lbn} is still gathered", inode.ino)
            });
            if block.address != 0 {
                let end = block.address + u32::from(block.sectors);
                placed.push((block.address, end, (block.address, inode.ino, Some(lbn))));
                let segment = g.segment_of(block.address) as usize;
                live[segment] += i64::from(block.sectors) * i64::from(SECTOR);
            }
        });
        let pending = inode.pending().cloned().unwrap_or_default();
        let lists = (pending.data.len() as i64, pending.pointers.len() as i64);
        findings.expect(lists == (data, pointers), || {
            format!(
                "inode {}: dirty blocks {lists:?}, recomputed {:?}",
                inode.ino,
                (data, pointers)
            )
        });
        for (segment, bytes) in pending.lost {
            live[segment as usize] += i64::from(bytes);
        }
        findings.expect(
            inode.is(Inode::LISTED) || !inode.must_be_written() && !inode.has_dirty(),
            || format!("inode {} is not in the list of those to write", inode.ino),
        );
        dirty_data += if inode.kind == Kind::Ifile { 0 } else { data };
        dirty_pointers += pointers;
    }
    findings.compare(
        "sectors of dirty blocks",
        &(fs.dirty_sectors as i64),
        &dirty_sectors,
    );
    findings.compare("dirty data blocks", &(fs.dirty_data as i64), &dirty_data);
    findings.compare(
        "dirty indirect blocks",
        &(fs.dirty_pointers as i64),
        &dirty_pointers,
    );
    placed.sort_unstable();
    for pair in placed.windows(2) {
        findings.expect(pair[0].1 <= pair[1].0, || {
            format!("{:?} and {:?} overlap", pair[0].2, pair[1].2)
        });
    }
    let mut summary = (u32::MAX, Vec::new());
    for (address, _, place) in placed {
        let segment = g.segment_of(address);
        if summary.0 != segment {
            summary = (segment, listed(fs, segment));
        }
        findings.expect(fs.usage[segment].dirty, || {
            format!("{place:?} lies in clean segment {segment}")
        });
        findings.expect(summary.1.binary_search(&place).is_ok(), || {
            format!("no summary of segment {segment} lists {place:?}")
        });
    }
    used
}

/// The inode map against inode blocks, and against the numbers that are free.
fn inodes(fs: &Lfs, live: &mut [i64], findings: &mut Findings) {
    let g = &fs.geometry;
    let mut free: Vec<u32> = fs.free_inodes.iter().collect();
    free.sort_unstable();
    let mut expected = Vec::new();
    let mut at: Vec<(u32, u32)> = Vec::new();
    for (ino, entry) in fs.map.iter().enumerate().skip(1) {
        let ino = ino as u32;
        if entry.slot == NO_SLOT {
            expected.push(ino);
            findings.expect(entry.address == 0, || {
                format!("free inode {ino} is on disk")
            });
            continue;
        }
        findings.expect(fs.inodes[entry.slot as usize].ino == ino, || {
            format!("the slot of inode {ino} holds another")
        });
        if entry.address != 0 {
            live[g.segment_of(entry.address) as usize] += i64::from(INODE_BYTES);
            at.push((entry.address, ino));
        } else {
            let inode = &fs.inodes[entry.slot as usize];
            findings.expect(inode.must_be_written(), || {
                format!("inode {ino} is neither on disk nor to be written")
            });
        }
    }
    findings.expect(free == expected, || {
        "the list of free inodes is another".to_owned()
    });
    at.sort_unstable();
    let mut summary = (u32::MAX, Vec::new());
    for (address, ino) in at {
        let segment = g.segment_of(address);
        if summary.0 != segment {
            summary = (segment, listed(fs, segment));
        }
        let there = summary.1.binary_search(&(address, ino, None)).is_ok();
        findings.expect(there, || {
            format!("no inode block at {address} holds inode {ino}")
        });
    }
}

/// Usage of the segments. Gives the sectors of summaries and inode blocks.
fn segments(fs: &Lfs, live: &[i64], findings: &mut Findings) -> i64 {
    let (mut used, mut clean) = (0, 0);
    for (s, usage) in fs.usage.iter().enumerate() {
        let name = |what: &str| format!("{what} of segment {s}");
        let segment = s as u32;
        if !fs.usage.has_changed(segment) {
            let (kept, recomputed) = (fs.candidates.get(segment), fs.candidate(segment));
            findings.compare(&name("use to the cleaner"), &kept, &recomputed);
        }
        if !usage.dirty {
            clean += 1;
            findings.expect(live[s] == 0, || format!("clean segment {s} has live bytes"));
            findings.expect(!usage.active, || {
                format!("clean segment {s} was written since the last checkpoint")
            });
            continue;
        }
        findings.compare(&name("live bytes"), &i64::from(usage.live), &live[s]);
        let (summaries, blocks) = (fs.logs[s].partials.len(), fs.logs[s].inode_blocks.len());
        findings.compare(
            &name("summaries and inode blocks"),
            &(usage.summaries as usize, usage.inode_blocks as usize),
            &(summaries, blocks),
        );
        let leaked = if fs.params.inode_leak {
            summaries as u32 * SECTOR + blocks as u32 * fs.geometry.block_bytes
        } else {
            0
        };
        findings.compare(&name("bytes never subtracted"), &usage.leaked, &leaked);
        used += summaries as i64 + blocks as i64 * i64::from(fs.geometry.block_sectors());
    }
    findings.compare("clean segments", &i64::from(fs.usage.clean()), &clean);
    used
}
