//! Images on which only the free map is that of an aged one, on the file systems that this machine has.

use fsage_bench::benchmarks::free_space;
use fsage_bench::real::free_map::{free_map_of, make_image};
use fsage_bench::real::{RealOptions, RealPlace, RealStand};
use fsage_bench::{BenchError, Case, Site, run};
use fsage_real::directory::Volume;
use fsage_real::loop_image::{self, Kind, LoopImage, LoopOptions};
use fsage_real::programs;
use rustix::fs::{AtFlags, FallocateFlags, Mode, OFlags, fallocate, openat, syncfs, unlinkat};
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

const KB: u64 = 1 << 10;
const MB: u64 = 1 << 20;

fn skip(why: &str) {
    let _ = writeln!(io::stderr(), "skipped: {why}");
}

/// Whether images of a type can be made here; says why not.
fn is_possible(kind: Kind) -> bool {
    if let Err(error) = loop_image::is_possible(kind) {
        skip(&error.to_string());
        return false;
    }
    if programs::find(&kind.mkfs()).is_none() {
        skip(&format!("there is no {}", kind.mkfs()));
        return false;
    }
    true
}

/// An image that was full of files of 12 KiB to 332 KiB, two of three of which were deleted.
fn aged(kind: Kind, image: &Path) -> LoopOptions {
    let options = LoopOptions {
        size_bytes: kind.min_bytes().unwrap_or_default().max(128 * MB),
        ..LoopOptions::new(kind)
    };
    let volume = LoopImage::create(&options, image).unwrap();
    let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
    let mut files = 0;
    // Until the space ends, for data or for an inode.
    while let Ok(file) = openat(volume.root(), format!("f{files}"), flags, Mode::RUSR)
        && let bytes = 12 * KB + (files * 52 * KB) % (320 * KB)
        && fallocate(&file, FallocateFlags::empty(), 0, bytes).is_ok()
    {
        files += 1;
    }
    for file in (0..files).filter(|file| file % 3 > 0) {
        unlinkat(volume.root(), format!("f{file}"), AtFlags::empty()).unwrap();
    }
    syncfs(volume.root()).unwrap();
    let made = volume.options().clone();
    Box::new(volume).close().unwrap();
    made
}

#[test]
fn only_what_is_free_on_the_aged_image_is_free_on_the_made_one() {
    for kind in [Kind::Ext4, Kind::Xfs] {
        if !is_possible(kind) {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let options = aged(kind, &folder.path().join("aged"));
        let wanted = free_map_of(&folder.path().join("aged"), &options).unwrap();
        // Two of three files of a full file system: more than a hundred holes and more than half of it.
        assert!(wanted.len() > 100, "{kind}: {}", wanted.len());
        let wanted_bytes: u64 = wanted.iter().map(|run| run.length_bytes).sum();
        assert!(wanted_bytes > options.size_bytes / 2, "{kind}");

        let image = folder.path().join("made");
        let deviation = make_image(&options, &image, &wanted, None).unwrap();
        let percent = deviation.percent().unwrap();
        let _ = writeln!(io::stderr(), "{kind}: {percent:.2} % of {deviation:?}");
        assert_eq!(deviation.wanted_bytes, wanted_bytes);
        assert!(percent < 5.0, "{kind}: {deviation:?}");
        let free_bytes = wanted_bytes - deviation.missing_bytes + deviation.extra_bytes;
        // XFS keeps some of it back from what it tells.
        assert!(deviation.statfs_bytes.abs_diff(free_bytes) < free_bytes / 20);

        let made = free_map_of(&image, &options).unwrap();
        let made_bytes: u64 = made.iter().map(|run| run.length_bytes).sum();
        assert_eq!(
            made_bytes, free_bytes,
            "{kind}: mounting again changes nothing"
        );
        let place = RealPlace::FreeMapOf {
            image: folder.path().join("aged"),
            options,
        };
        let mut stands = [RealStand::new(place, RealOptions::default(), false)];
        let site = Site {
            free_bytes: 64 * MB,
            ..Site::default()
        };
        let case = Case::of_size(MB);
        let results = run(
            &free_space::FREE_SPACE,
            &[case],
            &site,
            &mut stands,
            1,
            &|_| true,
        );
        let measurements = results.unwrap().measurements;
        let phases: Vec<&str> = measurements.iter().map(|m| &*m.phase).collect();
        assert_eq!(phases, ["create", "read"]);
        // Two neighbors that were deleted left 664 KiB at most, so files of 1 MiB are broken, but for those where the
        // file system had kept space back: a twentieth of it at most (XFS), room for half of the 32 files.
        let (optimal, countable) = (measurements[0].optimal, measurements[0].countable);
        assert_eq!(countable, Some(32 * 255));
        assert!(optimal.is_some_and(|optimal| optimal <= 32 * 255 - 16));
        let [mut stand] = stands;
        assert_eq!(stand.ready().unwrap().deviation(), Some(deviation));
        stand.close().unwrap();
    }
}

#[test]
fn a_file_system_that_cannot_have_it_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image");
    let options = LoopOptions::new(Kind::Btrfs);
    let errors = [
        make_image(&options, &image, &[], None)
            .map(drop)
            .unwrap_err(),
        free_map_of(&image, &options).map(drop).unwrap_err(),
    ];
    for error in errors {
        let BenchError::Io { source, .. } = error else {
            panic!("{error}");
        };
        assert_eq!(source.kind(), io::ErrorKind::Unsupported);
        assert!(source.to_string().contains("ext4 and xfs"), "{source}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn an_interrupted_image_is_removed() {
    if !is_possible(Kind::Ext4) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image");
    let options = LoopOptions {
        size_bytes: 32 * MB,
        ..LoopOptions::new(Kind::Ext4)
    };
    let stop: fsage_bench::real::StopAsked = Arc::new(|| true);
    let made = make_image(&options, &image, &[], Some(&stop));
    assert!(matches!(made, Err(BenchError::Interrupted)), "{made:?}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
