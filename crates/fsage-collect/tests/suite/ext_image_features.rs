//! The reader of images against the kernel (statx, FIEMAP), `debugfs` and `dumpe2fs`, over combinations of features.
//!
//! Every image is made by `mkfs.ext4`, filled, compared while it is mounted where the kernel can mount it, and read
//! when it is unmounted. Without root, and where blocks are too large for the kernel, `mkfs.ext4 -d` fills it.

use crate::image_kit::{
    Mounted, Rows, can, data, debugfs, free_of, free_of_dumpe2fs, mkfs, read, run,
};
use fsage_collect::Report;
use fsage_core::names::escape;
use fsage_core::snapshot::{Inode, source_flags};
use fsage_core::{Extent, FileKind};
use fsage_linux::fiemap::Fiemap;
use rustix::fs::{CWD, FallocateFlags, FileType, Mode, XattrFlags, fallocate, mknodat, statvfs};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, symlink};
use std::path::Path;

const MIB: u64 = 1 << 20;

/// Makes what aging makes: files of all sizes, holes, extent trees of some depth, unwritten space, large directories
/// with deleted entries, hard links, links, special files. Without root, nothing that `mkfs.ext4 -d` cannot copy.
fn fill(root: &Path, mounted: bool) {
    let content: Vec<u8> = (0..200_000_u32).map(|i| (i % 251) as u8 + 1).collect();
    for d in 0..6 {
        let dir = root.join(format!("dir{d}/sub/deeper"));
        fs::create_dir_all(&dir).unwrap();
        for f in 0..20_usize {
            let length = [0, 40, 100, 150, 1000, 5000, 20_000, 200_000][f % 8];
            fs::write(dir.join(format!("file{f}")), &content[..length]).unwrap();
        }
    }
    let large = root.join("large");
    fs::create_dir(&large).unwrap();
    for f in 0..700 {
        fs::write(large.join(format!("{f}_{}", "n".repeat(100))), b"").unwrap();
    }
    for f in (0..700).step_by(3) {
        fs::remove_file(large.join(format!("{f}_{}", "n".repeat(100)))).unwrap();
    }
    symlink("short", root.join("fast")).unwrap();
    symlink("t".repeat(59), root.join("fast59")).unwrap();
    symlink("t".repeat(60), root.join("slow60")).unwrap();
    symlink("t".repeat(300), root.join("slow")).unwrap();
    for name in [
        &b"new\nline"[..],
        b"back\\slash",
        b"\xff\xfe",
        "\u{e4}\u{20ac}".as_bytes(),
    ] {
        fs::write(root.join(OsStr::from_bytes(name)), b"x").unwrap();
    }
    // Every second block of a file is a hole.
    let holes = File::create(root.join("holes")).unwrap();
    for block in 0..400 {
        holes.write_all_at(&content[..4096], block * 8192).unwrap();
    }
    for link in 0..50 {
        fs::hard_link(
            root.join("holes"),
            root.join(format!("dir{}/link{link}", link % 6)),
        )
        .unwrap();
    }
    if !mounted {
        return;
    }
    for kind in [
        FileType::Fifo,
        FileType::Socket,
        FileType::BlockDevice,
        FileType::CharacterDevice,
    ] {
        let node = root.join(format!("{kind:?}"));
        mknodat(
            CWD,
            &node,
            kind,
            Mode::from(0o644),
            rustix::fs::makedev(7, 300),
        )
        .unwrap();
    }
    // Far out, so that it needs all levels of indirect blocks.
    let far = File::create(root.join("far")).unwrap();
    for at in [0, 20 << 10, 300 << 10, 5 << 20, 100 << 20, 3 << 30] {
        far.write_all_at(&content[..5000], at).unwrap();
    }
    let unwritten = File::create(root.join("unwritten")).unwrap();
    // ext2 and ext3 cannot.
    let _ = fallocate(&unwritten, FallocateFlags::KEEP_SIZE, 0, MIB);
    unwritten.write_all_at(&content[..10_000], 65_536).unwrap();
    // Only where attributes may have inodes of their own.
    let value = &content[..20_000];
    let _ = rustix::fs::setxattr(root.join("far"), "user.large", value, XattrFlags::empty());
    let dir = fs::File::open(root).unwrap();
    rustix::fs::syncfs(&dir).unwrap();
    // Extents of a file that was written between others.
    let mixed: Vec<File> = (0..3)
        .map(|f| File::create(root.join(format!("mixed{f}"))).unwrap())
        .collect();
    for block in 0..15 {
        for file in &mixed {
            file.write_all_at(&content[..4096], block * 4096).unwrap();
            file.sync_data().unwrap();
        }
    }
    rustix::fs::syncfs(&dir).unwrap();
}

/// What the kernel says of a path.
struct Seen {
    metadata: fs::Metadata,
    extents: Option<Vec<Extent>>,
}

/// Looks at all paths of a mounted file system.
fn look(root: &Path) -> BTreeMap<String, Seen> {
    let mut seen = BTreeMap::new();
    let mut fiemap = Fiemap::new();
    let mut paths = vec![root.to_owned()];
    while let Some(path) = paths.pop() {
        let metadata = fs::symlink_metadata(&path).unwrap();
        if metadata.is_dir() {
            paths.extend(
                fs::read_dir(&path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
        }
        let extents = (metadata.is_dir() || metadata.is_file()).then(|| {
            let mut extents = Vec::new();
            fiemap
                .extents(File::open(&path).unwrap(), &mut extents)
                .unwrap();
            extents
        });
        let relative = path.strip_prefix(root).unwrap().as_os_str().as_bytes();
        let relative = if relative.is_empty() { b"." } else { relative };
        seen.insert(escape(relative).into_owned(), Seen { metadata, extents });
    }
    seen
}

fn compare_with_kernel(name: &str, rows: &Rows, seen: &BTreeMap<String, Seen>) {
    assert_eq!(rows.inodes.len(), seen.len(), "{name}");
    for inode in &rows.inodes {
        let path = inode.path.as_deref().unwrap();
        let context = format!("{name}: {path}");
        let Seen {
            metadata: m,
            extents,
        } = &seen[path];
        assert_eq!(inode.ino, m.ino(), "{context}");
        assert_eq!(inode.size_bytes, m.size(), "{context}");
        assert_eq!(inode.alloc_bytes, Some(m.blocks() * 512), "{context}");
        assert_eq!(inode.mode, Some(m.mode()), "{context}");
        assert_eq!(inode.links.map(u64::from), Some(m.nlink()), "{context}");
        let ns = |s: i64, ns: i64| Some(s * 1_000_000_000 + ns);
        assert_eq!(inode.ctime_ns, ns(m.ctime(), m.ctime_nsec()), "{context}");
        assert_eq!(inode.mtime_ns, ns(m.mtime(), m.mtime_nsec()), "{context}");
        let born = m.created().ok();
        let born = born.map(|t| t.duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as i64);
        assert_eq!(inode.btime_ns, born, "{context}");
        let Some(extents) = extents else {
            continue;
        };
        if inode.source_flags & source_flags::INLINE != 0 {
            let inline = |e: &Extent| e.flags & Extent::INLINE != 0;
            assert!(extents.iter().all(inline), "{context}: {extents:?}");
            assert_eq!(inode.extents.as_deref(), Some(&[][..]), "{context}");
        } else {
            assert_eq!(data(inode), *extents, "{context}");
        }
    }
}

/// Compares every inode with `debugfs`; returns how many there were.
fn compare_with_debugfs(name: &str, image: &Path, report: &Report, rows: &Rows) -> usize {
    let inodes = rows.by_inode();
    let numbers: Vec<u64> = inodes.iter().map(|inode| inode.ino).collect();
    let block = u64::from(report.info.block_bytes.unwrap());
    let stats = debugfs::stat(image, &numbers, block);
    assert_eq!(stats.len(), inodes.len(), "{name}");
    for (inode, stat) in inodes.iter().zip(stats) {
        let context = format!("{name}: {:?}", inode.path);
        let inline = inode.source_flags & source_flags::INLINE != 0;
        let regular = inode.kind == FileKind::Regular;
        let kept_inline = if inline && regular {
            inode.size_bytes.div_ceil(512)
        } else {
            0
        };
        let ours = debugfs::Stat {
            ino: inode.ino,
            kind: Some(inode.kind),
            permissions: inode.mode.unwrap() & 0o7777,
            generation: inode.generation.unwrap(),
            size_bytes: inode.size_bytes,
            uid: inode.uid.unwrap(),
            gid: inode.gid.unwrap(),
            links: inode.links.unwrap(),
            sectors: inode.alloc_bytes.unwrap() / 512 - kept_inline,
            ctime_ns: inode.ctime_ns.unwrap(),
            mtime_ns: inode.mtime_ns.unwrap(),
            crtime_ns: inode.btime_ns,
            extents: Vec::new(),
        };
        let mut theirs = stat;
        let mut expected = std::mem::take(&mut theirs.extents);
        let mut found = inode.extents.as_deref().unwrap().to_vec();
        // It lists the nodes of an extent tree by level, and joins neighbors among them.
        let order = |e: &Extent| (e.logical_bytes, e.physical_bytes);
        expected.sort_by_key(order);
        found.sort_by_key(order);
        assert_eq!(joined(found), joined(expected), "{context}");
        assert_eq!(theirs, ours, "{context}");
    }
    let mut names: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    // It shows other characters in a way of its own.
    let plain = |path: &str| path != "." && path.is_ascii() && !path.contains('\\');
    for inode in &rows.inodes {
        if let Some(path) = inode.path.as_deref().filter(|path| plain(path)) {
            names.entry(inode.ino).or_default().push(path.to_owned());
        }
    }
    for paths in names.values_mut() {
        paths.sort();
    }
    let named: Vec<u64> = names.keys().copied().collect();
    assert_eq!(names, debugfs::ncheck(image, &named), "{name}");
    inodes.len()
}

/// Joins blocks of pointers that touch.
fn joined(extents: Vec<Extent>) -> Vec<Extent> {
    let mut joined: Vec<Extent> = Vec::new();
    for extent in extents {
        match joined.last_mut() {
            Some(last)
                if extent.is_pointers()
                    && last.is_pointers()
                    && last.physical_bytes + last.length_bytes == extent.physical_bytes =>
            {
                last.length_bytes += extent.length_bytes;
            }
            _ => joined.push(extent),
        }
    }
    joined
}

fn compare_with_dumpe2fs(name: &str, image: &Path, report: &Report) {
    let text = run("dumpe2fs", &[image.to_str().unwrap()]);
    let expected = free_of_dumpe2fs(&text);
    assert!(!expected.is_empty(), "{name}");
    assert_eq!(free_of(report), expected, "{name}");
}

/// Features, MiB, and arguments of `mkfs.ext4`.
type Made = (&'static str, u64, &'static [&'static str]);

const MOUNTED: [Made; 9] = [
    ("ext4 as it is", 64, &["-b", "4096"]),
    (
        "inline, 1 KiB",
        64,
        &["-b", "1024", "-O", "inline_data,64bit,orphan_file"],
    ),
    (
        "bigalloc",
        96,
        &["-b", "4096", "-C", "16384", "-O", "bigalloc"],
    ),
    (
        "bigalloc, 1 KiB",
        96,
        &[
            "-b",
            "1024",
            "-C",
            "8192",
            "-O",
            "bigalloc,inline_data",
            "-I",
            "512",
        ],
    ),
    (
        "meta_bg",
        96,
        &["-b", "1024", "-O", "meta_bg,^resize_inode,64bit"],
    ),
    (
        "old ext4",
        64,
        &[
            "-b",
            "2048",
            "-O",
            "^64bit,^flex_bg,^metadata_csum,uninit_bg,sparse_super2",
            "-I",
            "128",
        ],
    ),
    (
        "attributes",
        64,
        &["-b", "4096", "-O", "ea_inode,large_dir,metadata_csum_seed"],
    ),
    ("ext3", 64, &["-b", "1024", "-t", "ext3", "-I", "128"]),
    ("ext2", 64, &["-b", "4096", "-t", "ext2", "-r", "0"]),
];

#[test]
fn images_that_were_mounted_are_what_kernel_and_debugfs_say() {
    if !can(&["mkfs.ext4", "debugfs", "dumpe2fs", "mount"], true) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (mut compared, mut flags) = (0, 0);
    for (name, size, arguments) in MOUNTED {
        let image = folder.path().join("image");
        mkfs(&image, size * MIB, arguments);
        let point = folder.path().join("mounted");
        {
            let mounted = Mounted::new(&image, &point, "loop");
            fill(mounted.path(), true);
        }
        let mounted = Mounted::new(&image, &point, "loop,ro");
        let seen = look(mounted.path());
        let statfs = statvfs(mounted.path()).unwrap();
        drop(mounted);
        let (report, rows) = read(&image);
        let warnings = &report.warnings;
        if name == "attributes" {
            let expected = "1 inodes hold extended attributes, are no files, and were left out: ";
            assert!(
                warnings.len() == 1 && warnings[0].starts_with(expected),
                "{warnings:?}"
            );
        } else {
            assert_eq!(*warnings, Vec::<String>::new(), "{name}");
        }
        let info = &report.info;
        let block = u64::from(info.block_bytes.unwrap());
        assert_eq!(
            info.free_bytes,
            Some(statfs.f_bfree * statfs.f_frsize),
            "{name}"
        );
        assert_eq!(info.inodes_free, Some(statfs.f_ffree), "{name}");
        assert_eq!(info.data_bytes, Some(statfs.f_blocks * block), "{name}");
        let type_of = |fs_type| info.fs_type.as_deref() == Some(fs_type);
        assert!(
            type_of(name.split([' ', ',']).next().unwrap()) || type_of("ext4"),
            "{name}"
        );
        compare_with_kernel(name, &rows, &seen);
        flags |= rows
            .inodes
            .iter()
            .fold(0, |all, inode| all | inode.source_flags);
        compared += compare_with_debugfs(name, &image, &report, &rows);
        compare_with_dumpe2fs(name, &image, &report);
    }
    assert!(compared > 5000, "{compared}");
    let exercised = source_flags::GEN_VALID | source_flags::INLINE | source_flags::UNWRITTEN;
    assert_eq!(flags, exercised);
}

const COPIED: [Made; 5] = [
    ("64 KiB blocks", 256, &["-b", "65536"]),
    ("64 KiB blocks, ext2", 256, &["-b", "65536", "-t", "ext2"]),
    (
        "encrypt",
        64,
        &[
            "-O",
            "encrypt,casefold,inline_data,quota,project",
            "-I",
            "1024",
        ],
    ),
    (
        "no types",
        64,
        &["-O", "^filetype,^extent,^64bit,^huge_file"],
    ),
    (
        "many groups",
        512,
        &[
            "-b",
            "1024",
            "-g",
            "1024",
            "-O",
            "meta_bg,^resize_inode,^flex_bg",
        ],
    ),
];

#[test]
fn images_that_were_never_mounted_are_what_debugfs_says() {
    if !can(&["mkfs.ext4", "debugfs", "dumpe2fs"], false) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let tree = folder.path().join("tree");
    fs::create_dir(&tree).unwrap();
    fill(&tree, false);
    let tree_path = tree.to_str().unwrap();
    for (name, size, arguments) in COPIED {
        let image = folder.path().join("image");
        mkfs(
            &image,
            size * MIB,
            &[arguments, &["-d", tree_path]].concat(),
        );
        let (report, rows) = read(&image);
        assert_eq!(report.warnings, Vec::<String>::new(), "{name}");
        compare_with_debugfs(name, &image, &report, &rows);
        compare_with_dumpe2fs(name, &image, &report);
        let unset = |inode: &&Inode| inode.source_flags & source_flags::GEN_VALID == 0;
        assert_eq!(
            rows.inodes.iter().filter(unset).count(),
            zero_generations(&rows),
            "{name}"
        );
    }
}

fn zero_generations(rows: &Rows) -> usize {
    rows.inodes
        .iter()
        .filter(|inode| inode.generation == Some(0))
        .count()
}
