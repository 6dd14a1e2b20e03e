//! Snapshots of ext4 that contradict themselves, put together as a model: no panic, messages of one line; what is put
//! together is sound, and so is the image of it.
//!
//! Each 16 bytes choose an inode, a field of it, and a value near or far from what was there.

#![no_main]

use fsage_collect::Memory;
use fsage_collect::image::{ImageOptions, read_image};
use fsage_core::{DirId, Extent, FileId, FileSystem, LayoutInMemory, Op};
use fsage_models::ext4::{Ext4, Params};
use fsage_models::image::{Mountable as _, WriteAt};
use libfuzzer_sys::fuzz_target;
use populated::{IMAGE, populate};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::LazyLock;

mod populated;

struct Disk(File);

impl WriteAt for Disk {
    fn write_at(&mut self, offset_bytes: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all_at(bytes, offset_bytes)
    }

    fn zero(&mut self, _: u64, _: u64) -> io::Result<()> {
        Ok(())
    }
}

struct Nowhere;

impl WriteAt for Nowhere {
    fn write_at(&mut self, _: u64, _: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn zero(&mut self, _: u64, _: u64) -> io::Result<()> {
        Ok(())
    }
}

static TOLD: LazyLock<(Params, LayoutInMemory)> = LazyLock::new(|| {
    let params = Params {
        size_bytes: 16 << 20,
        journal_bytes: Some(1 << 20),
        ..Params::default()
    };
    let mut fs = Ext4::new(params.clone()).expect("the sizes work");
    populate(&mut fs);
    // A file with a tree of blocks, and one with two names.
    let file = FileId(100);
    for n in 1..40 {
        let (offset, bytes) = (n * 8192, 1);
        fs.apply(&Op::Write {
            file,
            offset,
            bytes,
        })
        .expect("it fits");
    }
    let (dir, existing) = (DirId(3), FileId(101));
    fs.apply(&Op::Link {
        file: FileId(1000),
        existing,
        dir,
    })
    .expect("it fits");
    let file = tempfile::NamedTempFile::new().expect("a file");
    file.as_file().set_len(16 << 20).expect("a sparse file");
    let mut disk = Disk(file.reopen().expect("it is there"));
    fs.write_image(&IMAGE, &mut disk)
        .expect("the disk takes it");
    let mut memory = Memory::default();
    let report = read_image(
        file.path(),
        &ImageOptions::default(),
        &mut memory,
        &mut |_, _| Ok(()),
    );
    (params, memory.layout(&report.expect("it can be read")))
});

/// A number near what was there, or any.
fn changed(was: u64, how: u8, value: u64) -> u64 {
    match how % 4 {
        0 => value,
        1 => was.wrapping_add(value % 9).wrapping_sub(4),
        2 => was.wrapping_add(1024 * (value % 9)).wrapping_sub(4096),
        _ => value % (16 << 20),
    }
}

fn change(found: &mut LayoutInMemory, record: &[u8; 16]) {
    let [which, field, how, more, ..] = *record;
    let value = u64::from_le_bytes([8, 9, 10, 11, 12, 13, 14, 15].map(|at| record[at]));
    let at = usize::from(u16::from_le_bytes([which, more])) % found.inodes.len();
    let other = found.inodes[value as usize % found.inodes.len()].clone();
    let inode = &mut found.inodes[at];
    let mut extents = inode.extents.take().unwrap_or_default().into_vec();
    let place = usize::from(more) % extents.len().max(1);
    let new = |u: u64| changed(u, how, value);
    match field % 16 {
        0 => inode.ino = new(inode.ino),
        1 => inode.size_bytes = new(inode.size_bytes),
        2 => inode.parent_ino = Some(new(inode.parent_ino.unwrap_or(0))),
        3 => inode.path = other.path,
        4 => inode.kind = other.kind,
        5 => extents.extend(other.extents.unwrap_or_default()),
        6 => extents.truncate(place),
        7 => extents
            .iter_mut()
            .skip(place)
            .take(1)
            .for_each(|e| e.physical_bytes = new(e.physical_bytes)),
        8 => extents
            .iter_mut()
            .skip(place)
            .take(1)
            .for_each(|e| e.logical_bytes = new(e.logical_bytes)),
        9 => extents
            .iter_mut()
            .skip(place)
            .take(1)
            .for_each(|e| e.length_bytes = new(e.length_bytes)),
        10 => {
            extents.iter_mut().skip(place).take(1).for_each(|e| {
                e.flags = [0, Extent::UNWRITTEN, Extent::POINTERS][value as usize % 3]
            })
        }
        11 => found.free = None,
        12 => found.geometry.inodes_total = new(found.geometry.inodes_total),
        13 => found.geometry.size_bytes = new(found.geometry.size_bytes) % (1 << 30),
        14 => found.geometry.group_count = 0,
        _ => found
            .names
            .iter_mut()
            .for_each(|name| name.ino = new(name.ino)),
    }
    let inode = &mut found.inodes[at];
    inode.extents = (how != 255).then(|| extents.into());
}

fuzz_target!(|input: &[u8]| {
    let (params, told) = &*TOLD;
    let mut found = told.clone();
    for record in input.as_chunks::<16>().0 {
        change(&mut found, record);
    }
    match Ext4::from_snapshot(params, &found) {
        Ok(mut fs) => {
            assert_eq!(fs.check(), Ok(()));
            fs.write_image(&IMAGE, &mut Nowhere)
                .expect("nothing refuses");
        }
        Err(e) => assert!(!e.to_string().contains('\n'), "{e}"),
    }
});
