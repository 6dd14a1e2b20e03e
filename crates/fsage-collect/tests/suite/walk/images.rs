//! Block lists, generations and free space of real file systems, compared with the tools of these.

use crate::common::{Mounted, run, snapshot};
use fsage_core::snapshot::source_flags::{
    DELALLOC, GEN_VALID, INLINE, SHARED, UNREADABLE, UNWRITTEN,
};
use fsage_core::{Extent, FileKind, LayoutInMemory, Run};
use rustix::fs::{FallocateFlags, fallocate, statvfs};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Files in one piece and in many, with holes, preallocated, tiny, and replaced, so that generations go up.
fn fill(root: &Path) {
    fs::write(root.join("tiny"), "tiny").unwrap();
    let [a, b] = ["pieces", "others"].map(|name| File::create(root.join(name)).unwrap());
    for i in 0..40 {
        for file in [&a, &b] {
            file.write_all_at(&[1; 8192], i * 8192).unwrap();
            file.sync_data().unwrap();
        }
    }
    let holes = File::create(root.join("holes")).unwrap();
    for at in [0, 1 << 20, 3 << 20] {
        holes.write_all_at(&[1; 5000], at).unwrap();
    }
    let reserved = File::create(root.join("reserved")).unwrap();
    fallocate(&reserved, FallocateFlags::empty(), 0, 1 << 20).unwrap();
    reserved.write_all_at(&[1; 4096], 65_536).unwrap();
    for i in 0..5 {
        fs::create_dir(root.join(format!("dir{i}"))).unwrap();
        fs::write(root.join(format!("dir{i}/file")), vec![1; 20_000]).unwrap();
    }
    for _ in 0..3 {
        fs::remove_file(root.join("dir3/file")).unwrap();
        fs::write(root.join("dir3/file"), vec![1; 30_000]).unwrap();
    }
    // Not written out when the walk starts.
    fs::write(root.join("late"), vec![1; 100_000]).unwrap();
}

fn regular(layout: &LayoutInMemory) -> impl Iterator<Item = (&str, &fsage_core::snapshot::Inode)> {
    let files = layout
        .inodes
        .iter()
        .filter(|inode| inode.kind == FileKind::Regular);
    files.map(|inode| (inode.path.as_deref().unwrap(), inode))
}

/// Logical and physical start, length, all in bytes, and whether never written.
type Piece = (u64, u64, u64, bool);

fn pieces(extents: &[Extent]) -> Vec<Piece> {
    let piece = |e: &Extent| {
        let unwritten = e.flags & Extent::UNWRITTEN != 0;
        (e.logical_bytes, e.physical_bytes, e.length_bytes, unwritten)
    };
    extents.iter().map(piece).collect()
}

/// Neighbors that are contiguous become one.
fn merged(pieces: impl IntoIterator<Item = Piece>) -> Vec<Piece> {
    let mut merged: Vec<Piece> = Vec::new();
    for piece in pieces {
        match merged.last_mut() {
            Some(last)
                if (last.0 + last.2, last.1 + last.2, last.3) == (piece.0, piece.1, piece.3) =>
            {
                last.2 += piece.2;
            }
            _ => merged.push(piece),
        }
    }
    merged
}

/// Numbers in a text, in order.
fn numbers(text: &str) -> Vec<u64> {
    let digits = text
        .split(|c: char| !c.is_ascii_digit())
        .filter(|s| !s.is_empty());
    digits.map(|s| s.parse().unwrap()).collect()
}

/// Free space by the block bitmaps, of what `dumpe2fs` prints.
fn free_blocks(dump: &str, block: u64) -> Vec<Run> {
    let mut expected: Vec<Run> = Vec::new();
    for line in dump
        .lines()
        .filter_map(|l| l.strip_prefix("  Free blocks: "))
    {
        for range in line.split(", ").filter(|range| !range.is_empty()) {
            let ends = numbers(range);
            let (start, end) = (ends[0] * block, (ends[ends.len() - 1] + 1) * block);
            match expected.last_mut() {
                Some(last) if last.start_bytes + last.length_bytes == start => {
                    last.length_bytes += end - start;
                }
                _ => expected.push(Run {
                    start_bytes: start,
                    length_bytes: end - start,
                }),
            }
        }
    }
    expected
}

/// Generations by inode, of what `xfs_io -c bulkstat` prints.
fn bulk_generations(root: &Path) -> BTreeMap<u64, u32> {
    // Lines `bs_ino = 131`, then `bs_gen = 0x2b`.
    let bulk = run("xfs_io", &["-r", "-c", "bulkstat", root.to_str().unwrap()]);
    let value = |line: &str, key: &str| -> Option<u64> {
        let value = line
            .trim()
            .strip_prefix(key)?
            .trim_start_matches([' ', '=']);
        let value = value.split_whitespace().next()?;
        match value.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).ok(),
            None => value.parse().ok(),
        }
    };
    let mut generations = BTreeMap::new();
    let mut ino = 0;
    for line in bulk.lines() {
        ino = value(line, "bs_ino").unwrap_or(ino);
        if let Some(generation) = value(line, "bs_gen") {
            generations.insert(ino, generation as u32);
        }
    }
    generations
}

#[test]
fn ext4_is_as_debugfs_and_dumpe2fs_say() {
    // Block size 1024 too: group 0 starts at block 1 there.
    for (mkfs, block) in [(&["-b", "4096"][..], 4096), (&["-b", "1024"][..], 1024)] {
        let Some(mounted) = Mounted::new("ext4", mkfs, 64, "rw") else {
            return;
        };
        fill(&mounted.root());
        let (layout, report) = snapshot(&mounted.root());
        assert_eq!(report.unreadable, 0, "{report:?}");
        run("sync", &["-f", mounted.root().to_str().unwrap()]);
        let image = mounted.image();
        let image = image.to_str().unwrap();
        let mut checked = 0;
        for (path, inode) in regular(&layout) {
            // ` 0/ 0   1/  3     0 -    15   8193 -  8208     16 Uninit`
            let dump = run(
                "debugfs",
                &["-R", &format!("dump_extents <{}>", inode.ino), image],
            );
            let leaves = dump.lines().skip(1).filter_map(|line| {
                let n = numbers(line);
                // A node of the tree above the leaves has one number fewer at its end: no length flags are lost.
                (n[0] == n[1]).then(|| {
                    (
                        n[4] * block,
                        n[6] * block,
                        n[8] * block,
                        line.contains("Uninit"),
                    )
                })
            });
            let extents = inode.extents.as_deref().unwrap();
            assert_eq!(pieces(extents), merged(leaves), "{path}: {dump}");
            checked += extents.len();
        }
        assert!(checked > 15, "{checked}");
        for inode in &layout.inodes {
            let stat = run("debugfs", &["-R", &format!("stat <{}>", inode.ino), image]);
            let generation = stat.split("Generation: ").nth(1).unwrap();
            let generation = numbers(generation)[0] as u32;
            assert_eq!(inode.generation, Some(generation), "{stat}");
            assert_eq!(inode.source_flags & GEN_VALID != 0, generation != 0);
            if inode.kind == FileKind::Directory {
                assert!(
                    inode
                        .extents
                        .as_ref()
                        .is_some_and(|extents| !extents.is_empty())
                );
            }
        }
        let flags: BTreeMap<&str, u32> =
            regular(&layout).map(|(p, i)| (p, i.source_flags)).collect();
        assert_eq!(flags["reserved"] & UNWRITTEN, UNWRITTEN);
        assert!(
            flags
                .values()
                .all(|flags| flags & (DELALLOC | UNREADABLE | INLINE) == 0)
        );

        // Space that the allocator holds ready for files that were just written counts as free for `statfs` only: until
        // the next mount.
        mounted.remount();
        let (_, report) = snapshot(&mounted.root());
        let free = statvfs(mounted.root()).unwrap().f_bfree * block;
        let free_runs = report.free.as_ref().unwrap();
        assert_eq!(
            free_runs.iter().map(|run| run.length_bytes).sum::<u64>(),
            free
        );
        let dump = run("dumpe2fs", &[image]);
        assert_eq!(free_runs, &free_blocks(&dump, block));

        let field = |name: &str| {
            let line = dump
                .lines()
                .find_map(|line| line.strip_prefix(name))
                .unwrap();
            line.trim().to_owned()
        };
        let info = &report.info;
        assert_eq!(info.fs_type.as_deref(), Some("ext4"));
        assert_eq!(info.fs_uuid.as_deref(), Some(&*field("Filesystem UUID:")));
        assert_eq!(info.block_bytes, Some(block as u32));
        let blocks: u64 = field("Block count:").parse().unwrap();
        assert_eq!(info.size_bytes, Some(blocks * block));
        let reserved: u64 = field("Reserved block count:").parse().unwrap();
        // The driver holds back a little of its own beside, at most 2 % (`s_resv_clusters`).
        let held = info.reserved_bytes.unwrap() - reserved * block;
        assert!(held <= blocks * block / 50, "{held}");
        assert_eq!(info.inodes_total, field("Inode count:").parse().ok());
        assert_eq!(info.free_bytes, Some(free));
        assert!(report.warnings.is_empty(), "{report:?}");
    }
}

#[test]
fn ext4_with_inline_data_and_ext2_are_read() {
    let tiny = |mounted: &Mounted| {
        fs::write(mounted.root().join("tiny"), "tiny").unwrap();
        let (layout, _) = snapshot(&mounted.root());
        let (_, inode) = regular(&layout).next().unwrap();
        (inode.source_flags & INLINE, inode.clone())
    };
    if let Some(mounted) = Mounted::new("ext4", &["-O", "inline_data"], 16, "rw") {
        assert_eq!(tiny(&mounted).0, INLINE);
    }
    if let Some(mounted) = Mounted::new("ext2", &["-I", "128"], 16, "rw") {
        let (flags, inode) = tiny(&mounted);
        assert_eq!((flags, inode.btime_ns), (0, None));
        assert_eq!(inode.extents.map(|extents| extents.len()), Some(1));
    }
}

/// The extents of a file as `xfs_io` prints them, and what it prints.
fn by_xfs_io(path: &Path) -> (String, Vec<(u64, u64, u64, bool)>) {
    // ` 0: [0..15]: 160..175  0 (160..175)  16 010000`, in blocks of 512 bytes; holes have no place.
    let map = run(
        "xfs_io",
        &["-r", "-c", "bmap -p -v", path.to_str().unwrap()],
    );
    let found = map.lines().skip(2).filter(|line| !line.contains("hole"));
    let found = found.map(|line| {
        let n = numbers(line);
        let flags = line.split_whitespace().last().unwrap();
        let unwritten = flags.len() >= 5 && flags.as_bytes()[flags.len() - 5] == b'1';
        (n[1] * 512, n[3] * 512, (n[2] - n[1] + 1) * 512, unwritten)
    });
    let found = merged(found);
    (map, found)
}

#[test]
fn xfs_is_as_its_tools_say() {
    // With 32-bit inode numbers handles are shorter.
    for option in ["inode64", "inode32"] {
        let Some(mounted) = Mounted::new("xfs", &[], 320, option) else {
            return;
        };
        let root = mounted.root();
        fill(&root);
        let copy = root.join("shared");
        let (from, to) = (root.join("pieces"), copy.to_str().unwrap().to_owned());
        run("cp", &["--reflink=always", from.to_str().unwrap(), &to]);
        // The kernel gives back what a file keeps behind its end when it drops the inode, on a busy machine one file
        // after another: until none does between the two questions, both are asked again.
        let mut asked = (0..30).map(|_| {
            let (layout, report) = snapshot(&root);
            assert_eq!(report.unreadable, 0, "{report:?}");
            let differs = regular(&layout).find_map(|(path, inode)| {
                let (map, found) = by_xfs_io(&root.join(path));
                (merged(pieces(inode.extents.as_deref().unwrap())) != found).then_some(map)
            });
            (layout, report, differs)
        });
        let (mut layout, mut report, mut differs) = asked.next().unwrap();
        for again in asked {
            if differs.is_none() {
                break;
            }
            (layout, report, differs) = again;
        }
        assert_eq!(differs, None);
        let checked: usize = regular(&layout)
            .map(|(_, inode)| inode.extents.as_deref().unwrap().len())
            .sum();
        assert!(checked > 15, "{checked}");

        let generations = bulk_generations(&root);
        for inode in &layout.inodes {
            assert_eq!(
                inode.generation,
                Some(generations[&inode.ino]),
                "{:?}",
                inode.path
            );
            let valid = inode.source_flags & GEN_VALID != 0;
            assert_eq!(valid, generations[&inode.ino] != 0);
        }
        let flags: BTreeMap<&str, u32> =
            regular(&layout).map(|(p, i)| (p, i.source_flags)).collect();
        assert_eq!(flags["reserved"] & UNWRITTEN, UNWRITTEN);
        assert_eq!(
            (flags["shared"] & SHARED, flags["pieces"] & SHARED),
            (SHARED, SHARED)
        );
        assert!(
            flags
                .values()
                .all(|flags| flags & (DELALLOC | UNREADABLE) == 0)
        );
        let root_inode = layout
            .inodes
            .iter()
            .find(|i| i.path.as_deref() == Some("."))
            .unwrap();
        assert_eq!(
            (
                root_inode.extents.as_ref(),
                root_inode.source_flags & UNREADABLE
            ),
            (None, 0)
        );

        // XFS holds back a reserve of what is free.
        let free: u64 = report
            .free
            .iter()
            .flatten()
            .map(|run| run.length_bytes)
            .sum();
        assert!(free >= report.info.free_bytes.unwrap());
        assert!(free < report.info.size_bytes.unwrap());
        let geometry = report.info.geometry();
        assert_eq!(
            (geometry.group_count, geometry.inode_chunk_bytes),
            (4, 32 * 512)
        );
        let image = mounted.image();
        for inode in &layout.inodes {
            // `0x2 (2)`
            let convert = format!("convert inode {} agno", inode.ino);
            let group = run("xfs_db", &["-r", "-c", &convert, image.to_str().unwrap()]);
            let group = numbers(group.split('(').nth(1).unwrap())[0];
            assert_eq!(geometry.group_of_inode(inode.ino), Some(group));
        }
    }
}

#[test]
fn btrfs_has_inline_files_shared_extents_and_subvolumes() {
    let Some(mounted) = Mounted::new("btrfs", &["-m", "single"], 128, "rw") else {
        return;
    };
    let root = mounted.root();
    fill(&root);
    let path = |name: &str| root.join(name).to_str().unwrap().to_owned();
    run(
        "cp",
        &["--reflink=always", &path("pieces"), &path("shared")],
    );
    run("btrfs", &["subvolume", "create", &path("sub")]);
    fs::write(root.join("sub/inside"), "1").unwrap();
    let (layout, report) = snapshot(&root);
    assert_eq!((report.unreadable, &report.free), (0, &None), "{report:?}");
    assert_eq!(report.warnings.len(), 1, "{report:?}");
    assert!(report.warnings[0].contains(&path("sub")));
    assert!(
        layout
            .inodes
            .iter()
            .all(|inode| inode.path.as_deref() != Some("sub/inside"))
    );
    assert_eq!(report.info.fs_type.as_deref(), Some("btrfs"));
    for (name, inode) in regular(&layout) {
        // `   0:        0..      15:      13632..     13647:     16:             last,eof`, in bytes by -b1.
        let list = run("filefrag", &["-v", "-b1", &path(name)]);
        let found = list
            .lines()
            .filter(|line| line.trim_start().starts_with(|c: char| c.is_ascii_digit()));
        let found = found.map(|line| {
            let n = numbers(line);
            (n[1], n[3], n[2] - n[1] + 1, line.contains("unwritten"))
        });
        let extents = inode.extents.as_deref().unwrap();
        assert_eq!(merged(pieces(extents)), merged(found), "{list}");
        // `33 --------------------- path`: the generation.
        let version = run("lsattr", &["-v", &path(name)]);
        assert_eq!(
            inode.generation,
            Some(numbers(&version)[0] as u32),
            "{version}"
        );
    }
    let flags: BTreeMap<&str, u32> = regular(&layout).map(|(p, i)| (p, i.source_flags)).collect();
    assert_eq!(flags["tiny"] & INLINE, INLINE);
    assert_eq!(flags["shared"] & SHARED, SHARED);
    assert_eq!(flags["reserved"] & UNWRITTEN, UNWRITTEN);
}
