//! Allocation groups of a file system that begins with a snapshot: chunks of inodes, the AGFL, and trees over what lies
//! there.

use super::{Group, HALF, MOST_LISTED, Runs};
use crate::xfs::btree::{Record, Tree};
use crate::xfs::chunks::{Chunk, Inodes};
use crate::xfs::geometry::{CHUNK, CHUNK_BLOCKS, Geometry, PER_BLOCK};
use crate::xfs::owners::{self, Kind as Held, Owned};
use crate::xfs::space::{Ag, ByLength, ByStart, Reserve};

/// Chunks in which inodes are in use, where each has eight blocks: first inode, and no hole. A chunk begins at a
/// multiple of four blocks, so that for some there is more than one place; what is nobody's decides.
pub(super) fn whole_chunks(
    g: &Geometry,
    ag: u32,
    used: &[u32],
    nobodys: &Runs,
) -> std::result::Result<Vec<(u32, u16)>, u32> {
    let per_unit = HALF * PER_BLOCK;
    let mut wanted: Vec<u32> = used.iter().map(|number| number / per_unit).collect();
    wanted.dedup();
    let mut chunks = Vec::new();
    let mut next = 0;
    if ag == 0 {
        // The first chunk is where `mkfs.xfs` puts it.
        let first = g.root_chunk() / HALF;
        if !nobodys.has(g.root_chunk(), CHUNK_BLOCKS) {
            return Err(g.root_chunk() * PER_BLOCK);
        }
        if let Some(lost) = wanted.first().filter(|unit| **unit < first) {
            return Err(lost * per_unit);
        }
        chunks.push((first * per_unit, 0));
        next = first + 2;
    }
    let mut at = wanted.partition_point(|unit| *unit < next);
    while at < wanted.len() {
        // Pieces that may be covered, from the first that has to be and one before it on.
        let from = wanted[at].saturating_sub(1).max(next);
        let from = if nobodys.has(from * HALF, HALF) {
            from
        } else {
            wanted[at]
        };
        let mut units = Vec::new();
        let mut ahead = at;
        let mut unit = from;
        while nobodys.has(unit * HALF, HALF) {
            let is_wanted = wanted.get(ahead) == Some(&unit);
            ahead += usize::from(is_wanted);
            units.push(is_wanted);
            // Two that nobody wants in a row end what hangs together.
            if units.len() > 2 && !is_wanted && !units[units.len() - 2] {
                break;
            }
            unit += 1;
        }
        let count = units.len();
        let mut can_be = vec![false; count + 2];
        can_be[count] = true;
        for unit in (0..count).rev() {
            let passes = !units[unit] && can_be[unit + 1];
            let begins = unit + 1 < count && (units[unit] || units[unit + 1]) && can_be[unit + 2];
            can_be[unit] = passes || begins;
        }
        if !can_be[0] || ahead == at {
            return Err(wanted[at] * per_unit);
        }
        let mut unit = 0;
        while unit < count {
            let begins = unit + 1 < count && (units[unit] || units[unit + 1]) && can_be[unit + 2];
            if begins {
                chunks.push(((from + unit as u32) * per_unit, 0));
                next = from + unit as u32 + 2;
                unit += 2;
            } else {
                unit += 1;
            }
        }
        at = ahead;
    }
    Ok(chunks)
}

/// Chunks in which inodes are in use, where halves of them may be missing: first inode, and holes.
pub(super) fn sparse_chunks(
    g: &Geometry,
    used: &[u32],
    group: &Group,
) -> std::result::Result<Vec<(u32, u16)>, u32> {
    let nobodys = &group.nobodys;
    let mut wanted: Vec<u32> = used
        .iter()
        .map(|number| number / (HALF * PER_BLOCK))
        .collect();
    wanted.dedup();
    if let Some(lost) = wanted.iter().find(|half| !nobodys.has(*half * HALF, HALF)) {
        return Err(lost * HALF * PER_BLOCK);
    }
    let chunks = wanted.chunk_by(|half, next| half / 2 == next / 2);
    let chunks: Vec<(u32, &[u32])> = chunks.map(|halves| (halves[0] / 2, halves)).collect();
    // What trees need stays for them.
    let needed = wanted.len() as u32 * HALF + least_blocks(g, group, chunks.len()) as u32;
    let mut spare = nobodys.blocks.saturating_sub(needed);
    let mut made = Vec::with_capacity(chunks.len());
    for (chunk, halves) in chunks {
        let mut holes = 0;
        for (half, hole) in [(chunk * 2, 0x00ff), (chunk * 2 + 1, 0xff00)] {
            if halves.contains(&half) {
                continue;
            }
            if spare >= HALF && nobodys.has(half * HALF, HALF) {
                spare -= HALF;
            } else {
                holes |= hole;
            }
        }
        made.push((chunk * CHUNK, holes));
    }
    Ok(made)
}

/// Blocks that the trees of an AG take at least.
pub(super) fn least_of_ag(g: &Geometry, group: &Group) -> usize {
    least_blocks(g, group, group.chunks.len())
}

fn least_blocks(g: &Geometry, group: &Group, chunks: usize) -> usize {
    let runs = group.free.by_start.len();
    let mut blocks = Tree::<ByStart>::least_blocks(runs, None)
        + Tree::<ByLength>::least_blocks(runs, None)
        + Tree::<Chunk>::least_blocks(chunks, None);
    if !g.features.is_plain() {
        blocks += 1;
    }
    if g.features.has_owners() {
        let records = group.taken.len() + chunks + group.nobodys.by_start.len();
        blocks += Tree::<Owned>::least_blocks(records, None);
    }
    blocks
}

/// Takes blocks that are nobody's for a tree, its first one where `mkfs.xfs` puts it if that is there.
fn blocks_for(group: &mut Group, first: u32, count: usize) -> Vec<u32> {
    let mut blocks = Vec::with_capacity(count);
    if count > 0 && group.nobodys.has(first, 1) {
        group.nobodys.remove(first, 1);
        blocks.push(first);
    }
    while blocks.len() < count {
        // Roots of other trees stay for these.
        let Some(block) = group.nobodys.take(7) else {
            break;
        };
        blocks.push(block);
    }
    blocks
}

/// What the trees of an AG take.
struct Needs {
    least: [usize; 3],
    most: [usize; 3],
}

/// What the trees of an AG take when there are as many free blocks as they leave: every change of what is free changes
/// what they need. `of_inodes` is what the trees of inodes take. Nothing where blocks are missing.
fn needs(
    g: &Geometry,
    ag: u32,
    group: &mut Group,
    chunks: &[Chunk],
    owned: &[Owned],
    of_inodes: usize,
) -> Option<Needs> {
    loop {
        let runs = group.free.by_start.len();
        let records = if g.features.has_owners() {
            owner_records(g, ag, group, chunks, owned).len() + of_inodes
        } else {
            0
        };
        let has_owners = usize::from(g.features.has_owners());
        let needs = Needs {
            least: [
                Tree::<ByStart>::least_blocks(runs, None),
                Tree::<ByLength>::least_blocks(runs, None),
                Tree::<Owned>::least_blocks(records, None) * has_owners,
            ],
            most: [
                Tree::<ByStart>::most_blocks(runs, None),
                Tree::<ByLength>::most_blocks(runs, None),
                Tree::<Owned>::most_blocks(records.saturating_sub(of_inodes), None) * has_owners,
            ],
        };
        let have = group.nobodys.blocks as usize;
        let fewest = of_inodes + needs.least.iter().sum::<usize>();
        let most = of_inodes + needs.most.iter().sum::<usize>() + MOST_LISTED / 2;
        if have < fewest {
            for _ in have..fewest {
                let block = group.free.take_of_longest()?;
                group.nobodys.add(block, 1);
            }
        } else if have > most {
            // What is in use and nobody's is free.
            for _ in most..have {
                let block = group.nobodys.take(7)?;
                group.free.add(block, 1);
            }
        } else {
            return Some(needs);
        }
    }
}

/// Trees and free list of an AG, and its inodes. `owned` is what inodes own. Nothing where blocks are missing.
pub(super) fn make_ag(
    g: &Geometry,
    ag: u32,
    group: &mut Group,
    owned: &[Owned],
) -> Option<(Ag, Inodes)> {
    let chunks = std::mem::take(&mut group.chunks);
    let with_free: Vec<Chunk> = { chunks.iter().copied() }
        .filter(|chunk| chunk.free_count() > 0)
        .collect();
    let has_free = !g.features.is_plain();
    let least = Tree::<Chunk>::least_blocks(chunks.len(), None);
    let least_with_free =
        Tree::<Chunk>::least_blocks(with_free.len(), None) * usize::from(has_free);
    let needs = needs(g, ag, group, &chunks, owned, least + least_with_free)?;
    let of_chunks = blocks_for(group, 3, least);
    let of_free = blocks_for(group, 4, least_with_free);
    let (chunk_tree, _) = Tree::spread(&chunks, &of_chunks, None)?;
    let free_tree = if has_free {
        Some(Tree::spread(&with_free, &of_free, None)?.0)
    } else {
        None
    };
    let newest = chunks.last().map(|chunk| chunk.first);
    let records = g.features.has_owners().then(|| {
        let mut records = owner_records(g, ag, group, &chunks, owned);
        records.extend(of_chunks.iter().chain(&of_free).map(|&block| Owned {
            start: block,
            blocks: 1,
            owner: owners::INODE_TREES,
            offset: 0,
            kind: Held::Written,
        }));
        merged(records)
    });
    // A few blocks stay for the free list; trees have what is left, in the shares that they can use.
    let have = group.nobodys.blocks as usize;
    let fewest: usize = needs.least.iter().sum();
    let listed = 4 + usize::from(g.features.has_owners()) * 2;
    let spare = have.saturating_sub(fewest + listed);
    let usable: usize = (0..3)
        .map(|at| needs.most[at].saturating_sub(needs.least[at]))
        .sum();
    let share = |at: usize| {
        let own = needs.most[at].saturating_sub(needs.least[at]);
        needs.least[at] + (spare.min(usable) * own).checked_div(usable).unwrap_or(0)
    };
    let mut runs: Vec<ByStart> = Vec::with_capacity(group.free.by_start.len());
    runs.extend({ group.free.by_start.iter() }.map(|(&start, &blocks)| ByStart { start, blocks }));
    let by_start = tree_of(group, 1, share(0), &runs)?;
    let mut by_length: Vec<ByLength> = runs.iter().copied().map(ByLength::from).collect();
    by_length.sort_unstable_by_key(Record::key);
    let by_length = tree_of(group, 2, share(1), &by_length)?;
    let owners = match records {
        Some(records) => Some(tree_of(group, 5, share(2), &records)?),
        None => None,
    };
    let list = { group.nobodys.by_start.iter() }
        .flat_map(|(&start, &blocks)| start..start + blocks)
        .collect::<Vec<u32>>();
    if list.len() > MOST_LISTED {
        return None;
    }
    let space = Ag {
        by_start,
        by_length,
        owners,
        list: list.into(),
        free: group.free.blocks,
        for_trees: Reserve::default(),
        for_owners: Reserve::default(),
        is_read: false,
    };
    Some((space, Inodes::found(chunk_tree, free_tree, newest)))
}

/// A tree of records in blocks that are nobody's; those that it does not use are nobody's again.
fn tree_of<R: Record<Block = u32>>(
    group: &mut Group,
    first: u32,
    count: usize,
    records: &[R],
) -> Option<Tree<R>> {
    let blocks = blocks_for(group, first, count);
    let (tree, used) = Tree::spread(records, &blocks, None)?;
    for &block in &blocks[used..] {
        group.nobodys.add(block, 1);
    }
    Some(tree)
}

/// Who owns what in an AG, where all that is nobody's belongs to the trees of its free space and owners.
fn owner_records(
    g: &Geometry,
    ag: u32,
    group: &Group,
    chunks: &[Chunk],
    owned: &[Owned],
) -> Vec<Owned> {
    let metadata = |(start, blocks): (u32, u32), owner| Owned {
        start,
        blocks,
        owner,
        offset: 0,
        kind: Held::Written,
    };
    let mut records = vec![metadata((0, 1), owners::HEADERS)];
    if ag == g.log_ag {
        records.push(metadata((g.log_start, g.log_blocks), owners::LOG));
    }
    let references = g.references().into_iter();
    records.extend(references.map(|block| metadata((block, 1), owners::REFERENCES)));
    for chunk in chunks {
        let runs = chunk.runs().into_iter();
        records.extend(runs.map(|run| metadata(run, owners::INODES)));
    }
    let nobodys = group.nobodys.by_start.iter();
    records.extend(nobodys.map(|(&start, &blocks)| metadata((start, blocks), owners::AG)));
    records.extend_from_slice(owned);
    merged(records)
}

/// Records in their order, those that go on with each other as one.
fn merged(mut records: Vec<Owned>) -> Vec<Owned> {
    records.sort_unstable_by_key(|record| record.start);
    let mut all: Vec<Owned> = Vec::with_capacity(records.len());
    for record in records {
        match all.last_mut() {
            Some(last) if last.is_continued_by(&record) => last.blocks += record.blocks,
            _ => all.push(record),
        }
    }
    all
}
