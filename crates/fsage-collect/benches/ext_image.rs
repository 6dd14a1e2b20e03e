//! How fast images are read. Budget: 500,000 inodes a second.
//!
//! The image is made by `mkfs.ext4 -d` from a tree of 20,000 directories of 25 files each, every file with a block; it
//! lies in the page cache. Rows are taken and dropped.

use fsage_collect::image::{ImageOptions, read_image};
use fsage_core::snapshot::{Inode, SnapshotInfo};
use fsage_core::{SinkError, SnapshotSink};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

const DIRECTORIES: u64 = 20_000;
const FILES: u64 = 25;
const ROUNDS: usize = 5;

/// Counts rows.
#[derive(Default)]
struct Count(u64);

impl SnapshotSink for Count {
    fn snapshot(&mut self, _: SnapshotInfo) -> Result<(), SinkError> {
        Ok(())
    }

    fn inode(&mut self, inode: Inode) -> Result<(), SinkError> {
        self.0 += u64::from(inode.path.is_some() && inode.extents.is_some());
        Ok(())
    }
}

fn make(folder: &Path) -> Option<std::path::PathBuf> {
    let tree = folder.join("tree");
    for d in 0..DIRECTORIES {
        let dir = tree.join(format!("lib/package-{}/module-{d}", d / 20));
        fs::create_dir_all(&dir).unwrap();
        for f in 0..FILES {
            fs::write(dir.join(format!("source_file_{f}.rs")), b"content").unwrap();
        }
    }
    let image = folder.join("image");
    let made = Command::new("mkfs.ext4")
        .args(["-q", "-F", "-b", "1024", "-N", "600000", "-d"])
        .args([&tree, &image])
        .arg("1500M")
        .status();
    made.is_ok_and(|status| status.success()).then_some(image)
}

fn main() {
    // `cargo test --benches` runs this too.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let mut out = std::io::stdout();
    let folder = tempfile::tempdir().unwrap();
    let Some(image) = make(folder.path()) else {
        writeln!(out, "skipped: there is no mkfs.ext4 here, or no space").unwrap();
        return;
    };
    let mut seconds = Vec::new();
    for _ in 0..=ROUNDS {
        let mut rows = Count::default();
        let started = Instant::now();
        let options = ImageOptions::default();
        let report = read_image(&image, &options, &mut rows, &mut |_, _| Ok(())).unwrap();
        seconds.push(started.elapsed().as_secs_f64());
        let directories = 3 + DIRECTORIES / 20 + DIRECTORIES;
        assert_eq!(report.rows, directories + DIRECTORIES * FILES);
        assert_eq!(rows.0, report.rows);
    }
    // The first round fills the page cache.
    seconds.remove(0);
    seconds.sort_by(f64::total_cmp);
    let inodes = DIRECTORIES * FILES + DIRECTORIES + DIRECTORIES / 20 + 3;
    let rate = |seconds: f64| inodes as f64 / seconds / 1e6;
    writeln!(
        out,
        "{inodes} inodes: median {:.2} million a second, best {:.2}",
        rate(seconds[ROUNDS / 2]),
        rate(seconds[0])
    )
    .unwrap();
}
