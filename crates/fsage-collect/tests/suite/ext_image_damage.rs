//! Damaged and hostile images: an error of one line, or rows that can be right; never a panic, never more reading than
//! there is to read. And what is refused, with the reason.

use crate::image_kit;
use crate::image_kit::{Mounted, Rows, can, mkfs, read, run, unpacked};
use fsage_collect::CollectError;
use fsage_collect::ext_image::Superblock;
use fsage_collect::image::{ImageOptions, ReadAt, read_image, read_image_from};
use fsage_core::snapshot::{Inode, source_flags};
use fsage_core::{Rng, names};
use std::cell::{Cell, RefCell};
use std::fs;
use std::io;
use std::path::Path;

/// Damaged copies of each image. More have been tried, see the fuzz target.
const COPIES: u32 = 1000;

/// An image in memory that notes what is read of it.
struct Watched {
    bytes: Vec<u8>,
    read: RefCell<Vec<(u64, usize)>>,
    read_bytes: Cell<u64>,
}

impl ReadAt for Watched {
    fn len_bytes(&self) -> io::Result<u64> {
        self.bytes.len_bytes()
    }

    fn read_at(&self, buffer: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        self.read.borrow_mut().push((offset_bytes, buffer.len()));
        let read = self.read_bytes.get() + buffer.len() as u64;
        self.read_bytes.set(read);
        self.bytes.read_at(buffer, offset_bytes)
    }
}

impl Watched {
    fn new(bytes: Vec<u8>) -> Watched {
        Watched {
            bytes,
            read: RefCell::default(),
            read_bytes: Cell::new(0),
        }
    }

    /// Reads it as a snapshot. Whatever comes is in order.
    fn snapshot(&self) -> Result<Rows, CollectError> {
        let mut rows = Rows::default();
        self.read.borrow_mut().clear();
        self.read_bytes.set(0);
        let options = ImageOptions {
            stale: true,
            ..ImageOptions::default()
        };
        let read = read_image_from(
            self,
            Path::new("image"),
            &options,
            &mut rows,
            &mut |_, _| Ok(()),
        );
        let size = self.bytes.len() as u64;
        // Tables twice, everything else once, and gaps between pieces that are read together.
        assert!(
            self.read_bytes.get() <= 8 * size,
            "{} bytes",
            self.read_bytes.get()
        );
        assert!(
            self.read.borrow().len() as u64 <= size / 1024,
            "{} reads",
            self.read.borrow().len()
        );
        match read {
            Ok(report) => {
                for inode in &rows.inodes {
                    check(inode, size);
                }
                let mut end = 0;
                for run in report.free.iter().flatten() {
                    assert!(run.start_bytes >= end && run.length_bytes > 0);
                    end = run.start_bytes + run.length_bytes;
                }
                assert!(end <= size);
                Ok(rows)
            }
            Err(e) => {
                assert!(!e.to_string().contains('\n'), "{e}");
                Err(e)
            }
        }
    }
}

fn check(inode: &Inode, size: u64) {
    let mut end = 0;
    for extent in inode.extents.iter().flatten() {
        assert!(extent.length_bytes > 0 && extent.physical_bytes + extent.length_bytes <= size);
        assert!(extent.logical_bytes >= end);
        if !extent.is_pointers() {
            end = extent.logical_bytes + extent.length_bytes;
        }
    }
    if let Some(path) = &inode.path {
        assert!(names::unescape(path).is_some(), "{path:?}");
    }
}

#[test]
fn damage_is_reported_and_never_a_panic_or_a_loop() {
    for kind in ["ext2", "ext3", "ext4"] {
        let mut image = Watched::new(unpacked(&format!("{kind}.img.zst")));
        assert_eq!(image.snapshot().unwrap().inodes.len(), 310);
        // What the reader looks at, but zeros: damage elsewhere changes nothing.
        let mut places = Vec::new();
        for (start, length) in image.read.borrow().iter() {
            let start = *start as usize;
            places.extend((start..start + length - 4).filter(|&at| image.bytes[at] != 0));
        }
        places.sort_unstable();
        places.dedup();
        let mut rng = Rng::new(7).stream(kind, 0);
        let mut below = |n: usize| rng.below(n as u64) as usize;
        let (mut refused, mut marked) = (0, 0);
        for _ in 0..COPIES {
            let mut before = Vec::new();
            for _ in 0..=below(12) {
                let at = match below(10) {
                    // The fields of the superblock that decide on most.
                    0 => 1024 + below(0x68),
                    _ => places[below(places.len())],
                };
                let old: [u8; 4] = image.bytes[at..at + 4].try_into().unwrap();
                let other = places[below(places.len())];
                let new = match below(5) {
                    0 => (u32::from_le_bytes(old) ^ 1 << below(32)).to_le_bytes(),
                    1 => (below(20_000) as u32).to_le_bytes(),
                    2 => (below(1 << 32) as u32).to_le_bytes(),
                    3 => [[0; 4], [0xff; 4]][below(2)],
                    _ => image.bytes[other..other + 4].try_into().unwrap(),
                };
                before.push((at, old));
                image.bytes[at..at + 4].copy_from_slice(&new);
            }
            match image.snapshot() {
                Ok(rows) => {
                    let unreadable = |i: &Inode| i.source_flags & source_flags::UNREADABLE != 0;
                    marked += u32::from(rows.inodes.iter().any(unreadable));
                }
                Err(_) => refused += 1,
            }
            for (at, old) in before.into_iter().rev() {
                image.bytes[at..at + 4].copy_from_slice(&old);
            }
        }
        // All three happen often: that nothing can be read, that some of it can, that all can.
        assert!(
            refused > COPIES / 20 && refused < COPIES * 9 / 10,
            "{kind}: {refused}"
        );
        assert!(marked > COPIES / 50, "{kind}: {marked}");
    }
}

/// Reads an image after some commands to `debugfs`, which writes without asking.
fn after(commands: &[&str], check: impl FnOnce(&fsage_collect::Report, &Rows)) {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image");
    fs::write(&image, unpacked("ext3.img.zst")).unwrap();
    for command in commands {
        run("debugfs", &["-w", "-R", command, image.to_str().unwrap()]);
    }
    let (report, rows) = read(&image);
    check(&report, &rows);
}

#[test]
fn damage_to_one_inode_leaves_the_others() {
    if !can(&["debugfs"], false) {
        return;
    }
    // Block 1626 is the indirect block of the file; a pointer to it from itself is a loop.
    after(
        &["set_inode_field dir/dind block[IND] 99999999"],
        |report, rows| {
            let inode = rows.at("dir/dind");
            assert_eq!((inode.ino, &inode.extents), (2056, &None));
            assert_ne!(inode.source_flags & source_flags::UNREADABLE, 0);
            assert_eq!((report.rows, report.unreadable), (310, 1));
            let expected = "1 inodes are damaged; what could not be read of them is missing: inode 2056 (a block of \
                        pointers (1 blocks) at block 99999999, expected between 1 and 16384)";
            assert_eq!(report.warnings, [expected]);
        },
    );
    // The same indirect block in two files.
    after(
        &["set_inode_field dir/ind block[IND] 1626"],
        |report, rows| {
            assert_eq!(report.unreadable, 1);
            let marked = rows
                .inodes
                .iter()
                .find(|i| i.source_flags & source_flags::UNREADABLE != 0);
            assert!(["dir/ind", "dir/dind"].contains(&marked.unwrap().path.as_deref().unwrap()));
        },
    );
    // A name that is taken away leaves an inode without one; a second one for a directory is no name.
    after(
        &["unlink dir/dind", "link dir many/loop"],
        |report, rows| {
            let orphan = rows.inodes.iter().find(|inode| inode.ino == 2056).unwrap();
            assert_eq!((&orphan.path, orphan.parent_ino), (&None, None));
            assert_eq!(
                rows.inodes.iter().filter(|inode| inode.ino == 2049).count(),
                1
            );
            assert_eq!(report.warnings.len(), 2, "{:?}", report.warnings);
        },
    );
    // A directory whose first block is that of another one.
    after(&["set_inode_field many block[0] 2073"], |report, _| {
        assert!(report.unreadable <= 1, "{:?}", report.warnings);
    });
}

fn refusal(image: &Path, options: &ImageOptions) -> String {
    let read = read_image(image, options, &mut Rows::default(), &mut |_, _| Ok(()));
    read.unwrap_err().to_string()
}

#[test]
fn what_is_no_image_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image");
    let refused = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        refusal(&path, &ImageOptions::default())
    };
    let whole = unpacked("ext4.img.zst");
    let with = |at: usize, bytes: &[u8]| {
        let mut image = whole.clone();
        image[at..at + bytes.len()].copy_from_slice(bytes);
        image
    };
    let cases = [
        (Vec::new(), "shorter than a superblock"),
        (
            vec![0; 5000],
            "the magic number of the superblock is missing",
        ),
        (
            fs::read(image_kit::vector("ext4.img.zst")).unwrap(),
            "compressed with zstd",
        ),
        (
            b"QFI\xfb".iter().chain(&[0; 5000]).copied().collect(),
            "qemu-img convert",
        ),
        (whole[..whole.len() - 1].to_vec(), "it was cut off"),
        (
            with(1024 + 0x28, &[0; 4]),
            "inodes per group is 0, expected 1 to 32768",
        ),
        (
            with(1024 + 0x60, &[0xc2, 0, 0, 0x40]),
            "features that are not known here (incompat 0x40000000)",
        ),
        (
            with(1024 + 0x60, &[0xc6, 2, 0, 0]),
            "the journal is to be replayed first",
        ),
        (
            with(4096, &[0xff; 4]),
            "descriptor of group 0: the block bitmap (1 blocks) starts at block",
        ),
    ];
    for (bytes, expected) in cases {
        let message = refused(&bytes);
        assert!(
            message.contains(expected) && message.contains("image"),
            "{message}"
        );
        assert!(!message.contains('\n'), "{message}");
    }
    let message = refusal(folder.path(), &ImageOptions::default());
    assert!(
        message.contains("neither a regular file nor a block device"),
        "{message}"
    );
}

#[test]
fn a_stale_image_is_read_on_demand_and_marked() {
    let mut bytes = unpacked("ext4.img.zst");
    bytes[1024 + 0x60] |= 4;
    let rows = Watched::new(bytes).snapshot().unwrap();
    let marked = |inode: &Inode| inode.source_flags & source_flags::CHANGED_DURING_WALK != 0;
    assert!(rows.inodes.iter().all(marked));
}

#[test]
fn what_is_mounted_is_refused_but_its_sizes_are_reported() {
    if !can(&["mkfs.ext4", "mount"], true) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image");
    mkfs(&image, 16 << 20, &["-t", "ext2", "-b", "1024"]);
    let mounted = Mounted::new(&image, &folder.path().join("mounted"), "loop");
    let message = refusal(&image, &ImageOptions::default());
    assert!(
        message.contains("the file system is mounted on"),
        "{message}"
    );
    let device = run(
        "findmnt",
        &["-n", "-o", "SOURCE", mounted.path().to_str().unwrap()],
    );
    let message = refusal(Path::new(device.trim()), &ImageOptions::default());
    assert!(
        message.contains("the file system is mounted on"),
        "{message}"
    );
    let geometry = Superblock::read(&image).unwrap().geometry();
    assert_eq!((geometry.block_bytes, geometry.group_count), (1024, 2));
    let stale = ImageOptions {
        stale: true,
        ..ImageOptions::default()
    };
    let mut rows = Rows::default();
    read_image(&image, &stale, &mut rows, &mut |_, _| Ok(())).unwrap();
    assert_eq!(rows.inodes.len(), 2);
}
