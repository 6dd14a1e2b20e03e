//! Fresh file systems are those of the `mkfs.ext4` of this machine, on partitions of many sizes and options.
//!
//! Expected: what `dumpe2fs` says of them. Rules are those of e2fsprogs 1.47.

use fsage_models::ext4::{Checksums, Ext4, Params};
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

/// Free blocks of each group by `dumpe2fs`, as ranges of addresses.
fn free_by_dumpe2fs(image: &Path) -> Vec<String> {
    let output = Command::new("dumpe2fs")
        .arg(image)
        .output()
        .expect("dumpe2fs runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let parts = text.split("\nGroup ");
    parts
        .filter(|part| part.starts_with(|first: char| first.is_ascii_digit()))
        .map(|group| {
            let mut lines = group.lines().map(str::trim);
            let line = lines.find_map(|line| line.strip_prefix("Free blocks:"));
            line.unwrap_or_default().trim().to_owned()
        })
        .collect()
}

fn free_of_model(fs: &Ext4) -> Vec<String> {
    let g = fs.sizes();
    (0..g.groups)
        .map(|group| {
            let start = g.start_of(group);
            let runs = fs.free_blocks(group);
            let words: Vec<String> = runs
                .iter()
                .map(|&(from, to)| match to - from {
                    1 => (start + from).to_string(),
                    _ => format!("{}-{}", start + from, start + to - 1),
                })
                .collect();
            words.join(", ")
        })
        .collect()
}

/// Megabytes, options of `mkfs.ext4`, and what says the same to the model.
type Case = (u64, &'static [&'static str], fn(&mut Params));

fn compare(cases: &[Case]) {
    if Command::new("mkfs.ext4").arg("-V").output().is_err() {
        let _ = writeln!(std::io::stderr(), "skipped: there is no mkfs.ext4 here");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for (megabytes, options, set) in cases {
        let image = folder.path().join("image");
        let made = File::create(&image).and_then(|file| file.set_len(megabytes << 20));
        made.expect("a sparse file");
        let made = Command::new("mkfs.ext4")
            .args(["-q", "-F"])
            .args(*options)
            .arg(&image)
            .output()
            .expect("mkfs.ext4 runs");
        assert!(made.status.success(), "{megabytes} {options:?}: {made:?}");
        let mut params = Params {
            size_bytes: megabytes << 20,
            ..Params::default()
        };
        set(&mut params);
        let fs = Ext4::new(params).expect("the model takes it");
        let (found, expected) = (free_of_model(&fs), free_by_dumpe2fs(&image));
        assert_eq!(found.len(), expected.len(), "{megabytes} MB {options:?}");
        for (group, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert_eq!(found, expected, "{megabytes} MB {options:?}, group {group}");
        }
    }
}

#[test]
fn fresh_file_systems_are_those_of_mkfs() {
    compare(&[
        (16, &[], |_| {}),
        (100, &[], |_| {}),
        (511, &[], |_| {}),
        (512, &[], |_| {}),
        (300, &["-b", "4096"], |p| p.block_bytes = Some(4096)),
        (700, &["-b", "2048"], |p| p.block_bytes = Some(2048)),
        (3000, &[], |_| {}),
        (20 << 10, &[], |_| {}),
        (50 << 10, &[], |_| {}),
        (100 << 10, &["-G", "4"], |p| p.flex_groups = 4),
        (5000, &["-G", "64"], |p| p.flex_groups = 64),
        (2500, &["-O", "^flex_bg"], |p| p.flex_groups = 1),
        (1000, &["-N", "5000"], |p| p.inodes = Some(5000)),
        (1000, &["-i", "65536"], |p| p.bytes_per_inode = Some(65_536)),
        (2000, &["-J", "size=100"], |p| {
            p.journal_bytes = Some(100 << 20);
        }),
        (2000, &["-O", "^has_journal"], |p| p.journal_bytes = Some(0)),
        (1025, &[], |_| {}),
        (8193, &[], |_| {}),
        (200 << 10, &[], |_| {}),
        (130 << 10, &["-O", "^flex_bg"], |p| p.flex_groups = 1),
        (40 << 10, &["-b", "1024"], |p| p.block_bytes = Some(1024)),
        // One group in all, or alone in the last flex group.
        (8, &[], |_| {}),
        (64, &["-b", "4096"], |p| p.block_bytes = Some(4096)),
        (2176, &[], |_| {}),
        (2176, &["-G", "2"], |p| p.flex_groups = 2),
        (100, &["-b", "4096", "-G", "8192"], |p| {
            p.block_bytes = Some(4096);
            p.flex_groups = 8192;
        }),
        (100, &["-b", "4096", "-G", "32768"], |p| {
            p.block_bytes = Some(4096);
            p.flex_groups = 32_768;
        }),
        (900, &["-O", "^64bit"], |p| p.wide = false),
        (100, &["-O", "^64bit"], |p| p.wide = false),
        (20 << 10, &["-O", "^64bit,^metadata_csum,uninit_bg"], |p| {
            p.wide = false;
            p.checksums = Checksums::Descriptors;
        }),
        (300, &["-O", "^resize_inode"], |p| p.resize_bytes = Some(0)),
        (9000, &["-O", "^metadata_csum,^resize_inode"], |p| {
            p.resize_bytes = Some(0);
            p.checksums = Checksums::None;
        }),
        // Numbers of blocks: those of 40 GB; so few more that it changes nothing; more than it can have.
        (9000, &["-E", "resize=10485760"], |p| {
            p.resize_bytes = Some(40 << 30);
        }),
        (64, &["-E", "resize=70000"], |p| {
            p.resize_bytes = Some(70_000 << 10);
        }),
        (64, &["-E", "resize=70000000"], |p| {
            p.resize_bytes = Some(70_000_000 << 10);
        }),
        (128, &["-O", "^64bit", "-E", "resize=1000000"], |p| {
            p.wide = false;
            p.resize_bytes = Some(1_000_000 << 10);
        }),
    ]);
}

/// Groups are shorter where the bitmap of inodes would not have room.
#[test]
fn groups_are_as_short_as_those_of_mkfs() {
    compare(&[
        (129, &["-b", "4096"], |p| p.block_bytes = Some(4096)),
        (8 << 10, &["-i", "1024"], |p| p.bytes_per_inode = Some(1024)),
        (300, &["-i", "1024"], |p| p.bytes_per_inode = Some(1024)),
        (700, &["-b", "4096", "-i", "1024", "-G", "4"], |p| {
            p.block_bytes = Some(4096);
            p.bytes_per_inode = Some(1024);
            p.flex_groups = 4;
        }),
        (2000, &["-b", "2048", "-N", "1900000"], |p| {
            p.block_bytes = Some(2048);
            p.inodes = Some(1_900_000);
        }),
        (513, &["-b", "2048", "-i", "1024", "-O", "^flex_bg"], |p| {
            p.block_bytes = Some(2048);
            p.bytes_per_inode = Some(1024);
            p.flex_groups = 1;
        }),
    ]);
}

/// Larger ones have descriptors here and there, or nothing left to grow into, by e2fsprogs 1.47: `meta_bg` is set where
/// descriptors and reserved ones take more than 3/4 of a group, and the most blocks are 2^32 - 1.
#[test]
fn a_file_system_larger_than_its_descriptors_allow_is_refused() {
    for (block_bytes, most) in [(1024, 736), (2048, 8191), (4096, 16_376)] {
        let new = |gigabytes: u64| {
            Ext4::new(Params {
                size_bytes: gigabytes << 30,
                block_bytes: Some(block_bytes),
                ..Params::default()
            })
        };
        assert!(new(most).is_ok(), "{block_bytes}");
        let why = new(most + 1).expect_err("too large").to_string();
        assert!(
            why.ends_with(&format!(
                "with blocks of {block_bytes} bytes at most {most}G"
            )),
            "{why}"
        );
    }
}
