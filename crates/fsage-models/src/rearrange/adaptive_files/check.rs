//! The file system check: both file systems, and everything that the layer knows recomputed from them.

use super::super::Part;
use super::super::lists::Table;
use super::AdaptiveFiles;
use crate::findings::Findings;
use fsage_core::io::Hosted;
use fsage_core::operations::ROOT;
use fsage_core::{DirId, FileId, FileKind, Inconsistency};

/// Looks for everything that does not fit together.
pub(super) fn check<F: Hosted>(fs: &AdaptiveFiles<F>) -> Result<(), Inconsistency> {
    let mut found = Findings::default();
    found.take("outside", fs.outside.check());
    found.take("reserved area", fs.reserved.check());
    found.names(&fs.names);
    fs.tables.check(&mut found);
    found.expect(fs.moving.is_none(), || {
        format!("a move has not ended: {:?}", fs.moving)
    });
    files(fs, &mut found);
    directories(fs, &mut found);
    found.result()
}

/// Every file is in one place, and the hot table has those of the reserved area.
fn files<F: Hosted>(fs: &AdaptiveFiles<F>, found: &mut Findings) {
    for (slot, file) in fs.names.iter() {
        let id = FileId(file.id);
        let places = (
            fs.outside.inode(id).is_some(),
            fs.reserved.inode(id).is_some(),
        );
        let hot = fs.tables.is_hot(slot);
        found.expect(places == (!hot, hot), || {
            format!("file {id}: hot is {hot}, and outside and reserved have it: {places:?}")
        });
        found.expect(!(hot && fs.is_bound(slot)), || {
            format!("file {id} is hot, and has several names or is a link")
        });
    }
    let (hot, cold) = (fs.tables.len(Table::Hot), fs.tables.len(Table::Cold));
    let count = |part: Part| {
        let (mut files, mut dirs) = (0_u64, 0_u64);
        fs.part(part).visit_files(&mut |file| {
            if file.kind == FileKind::Directory {
                dirs += 1;
            } else {
                files += 1;
            }
        });
        (files, dirs)
    };
    let alive = fs.dirs.iter().filter(|dir| dir.alive);
    let mirrored = alive.clone().filter(|dir| dir.mirrored).count() as u64;
    found.compare(
        "files and directories of the reserved area",
        &(hot, mirrored),
        &count(Part::Reserved),
    );
    let outside = (fs.names.len() as u64 - hot, alive.count() as u64);
    found.compare(
        "files and directories outside",
        &outside,
        &count(Part::Outside),
    );
    for (what, len, most) in [
        ("hot", hot, fs.limits.hot_entries),
        ("cold", cold, fs.limits.cold_entries),
    ] {
        found.expect(len <= most, || {
            format!("the {what} table has {len} entries, and room for {most}")
        });
    }
}

/// Directories count what is in them, in both places, and stand in the reserved area below those that do.
fn directories<F: Hosted>(fs: &AdaptiveFiles<F>, found: &mut Findings) {
    let mut counted = vec![(0_u32, 0_u32); fs.dirs.len()];
    for (slot, file) in fs.names.iter() {
        let dir = &mut counted[file.dir as usize];
        dir.0 += 1;
        dir.1 += u32::from(fs.tables.is_hot(slot));
    }
    for (_, alias) in fs.names.aliases() {
        counted[alias.dir as usize].0 += 1;
    }
    let alive = || (0_u32..).zip(&fs.dirs).filter(|(_, dir)| dir.alive);
    for (_, dir) in alive().filter(|&(slot, _)| slot != ROOT) {
        let above = &fs.dirs[dir.parent as usize];
        let counts = &mut counted[dir.parent as usize];
        counts.0 += 1;
        counts.1 += u32::from(dir.mirrored);
        found.expect(above.alive && (above.mirrored || !dir.mirrored), || {
            format!("directory {}: the one above it is not where it is", dir.id)
        });
        let is_there = fs.reserved.directory_inode(DirId(dir.id)).is_some();
        // The number of the root leads somewhere in any case.
        found.expect(dir.id == DirId::ROOT.0 || is_there == dir.mirrored, || {
            format!(
                "directory {}: mirrored is {}, and it is {is_there}",
                dir.id, dir.mirrored
            )
        });
    }
    for (slot, dir) in alive() {
        let kept = (dir.entries, dir.reserved_entries);
        let what = format!("names in directory {}", dir.id);
        found.compare(&what, &kept, &counted[slot as usize]);
        found.dir_id(&fs.dir_ids, slot, dir.id);
    }
}
