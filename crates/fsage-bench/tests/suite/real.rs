//! The real subject: in directories, and on images of the file systems that this machine has.

use fsage_bench::benchmarks::applications::APPLICATIONS;
use fsage_bench::benchmarks::delivery::DELIVERY;
use fsage_bench::benchmarks::{Applications, hot_files, sequential};
use fsage_bench::real::{ExistingFile, Real, RealOptions, RealPlace, RealStand};
use fsage_bench::{
    BenchError, Benchmark, Case, Entrant, FileKey, Part, Repetitions, Site, Subject,
};
use fsage_bench::{run, run_in_turn};
use fsage_real::directory::{Content, Volume};
use fsage_real::loop_image::{self, Kind, LoopImage, LoopOptions};
use fsage_real::programs;
use rustix::fs::{FallocateFlags, Mode, OFlags, fallocate};
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const KB: u64 = 1 << 10;
const MB: u64 = 1 << 20;
const KINDS: [Kind; 3] = [Kind::Ext4, Kind::Xfs, Kind::Btrfs];

fn skip(why: &str) {
    let _ = writeln!(io::stderr(), "skipped: {why}");
}

fn part(offset: u64, bytes: u64, call_bytes: u64) -> Part {
    Part {
        offset,
        bytes,
        call_bytes,
    }
}

fn whole(bytes: u64) -> Part {
    part(0, bytes, 4 * MB)
}

/// Folders of the file systems that directories are tested on: that of temporary files, and tmpfs.
fn folders() -> Vec<TempDir> {
    let mut folders = vec![tempfile::tempdir().unwrap()];
    match tempfile::tempdir_in("/dev/shm") {
        Ok(folder) => folders.push(folder),
        Err(error) => skip(&format!("tmpfs in /dev/shm: {error}")),
    }
    folders
}

fn in_directory(folder: &Path, options: RealOptions) -> Real {
    Real::new(&RealPlace::Directory(folder.to_owned()), options).unwrap()
}

fn with_existing(files: &[(&str, u64)]) -> RealOptions {
    let existing = files.iter().map(|&(path, id)| ExistingFile {
        path: path.into(),
        content: Content(id),
    });
    RealOptions {
        existing: existing.collect(),
        ..RealOptions::default()
    }
}

/// The content of a file of an aged tree.
fn content(id: u64, bytes: u64) -> Vec<u8> {
    let mut data = Vec::new();
    while (data.len() as u64) < bytes {
        let at = data.len() as u64;
        data.extend_from_slice(Content(id).bytes(at, bytes - at));
    }
    data
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// A counter of this thread: read and write calls (`syscr`, `syscw`), bytes from devices (`read_bytes`).
fn counter(name: &str) -> u64 {
    let text = fs::read_to_string("/proc/thread-self/io").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap().trim_start_matches(": ").parse().unwrap()
}

/// Whether a folder is on ext4, XFS or btrfs.
fn is_on_device(folder: &Path) -> bool {
    let magic = fsage_linux::facts::magic(File::open(folder).unwrap()).unwrap();
    matches!(magic, 0xEF53 | 0x5846_5342 | 0x9123_683E)
}

#[test]
fn files_are_made_read_overwritten_and_deleted_in_a_directory_of_their_own() {
    for folder in folders() {
        fs::write(folder.path().join("other"), b"kept").unwrap();
        let mut real = in_directory(folder.path(), RealOptions::default());
        let dir = real.mkdir().unwrap();
        let file = real.create(dir, 200 * KB, 64 * KB).unwrap();
        let empty = real.create(dir, 0, 64 * KB).unwrap();
        real.sync().unwrap();
        assert_eq!(real.file_bytes(file).unwrap(), 200 * KB);

        let made = folder.path().join(".fsage-bench-0/d0");
        assert_eq!(names(&made), ["f0", "f1"]);
        let data = fs::read(made.join("f0")).unwrap();
        assert_eq!(data.len() as u64, 200 * KB);
        let mut blocks: Vec<&[u8]> = data.chunks(4096).collect();
        blocks.sort_unstable();
        blocks.dedup();
        assert_eq!(blocks.len(), 50, "no block is like another");

        real.drop_caches().unwrap();
        real.read(file, whole(200 * KB)).unwrap();
        real.read(empty, whole(0)).unwrap();
        real.overwrite(file, part(8 * KB, 100 * KB, 8 * KB))
            .unwrap();
        assert_eq!(fs::metadata(made.join("f0")).unwrap().len(), 200 * KB);
        real.append(file, 3000).unwrap();
        let longer = fs::read(made.join("f0")).unwrap();
        assert_eq!(longer.len(), data.len() + 3000);
        assert!(longer.starts_with(&data));
        assert_eq!(real.file_bytes(file).unwrap(), 200 * KB + 3000);
        real.delete(file).unwrap();
        let gone = real.read(file, whole(1));
        assert!(matches!(gone, Err(BenchError::NoFile(key)) if key == file));
        assert_eq!(names(&made), ["f1"]);

        real.clean_up().unwrap();
        assert_eq!(names(folder.path()), ["other"]);
        // A second repetition.
        let dir = real.mkdir().unwrap();
        assert_eq!(real.create(dir, 10, 10).unwrap(), FileKey(0));
        drop(real);
        assert_eq!(names(folder.path()), ["other"]);
        assert_eq!(fs::read(folder.path().join("other")).unwrap(), b"kept");
    }
}

#[test]
fn calls_have_the_size_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let mut real = in_directory(folder.path(), RealOptions::default());
    let dir = real.mkdir().unwrap();
    let before = counter("syscw");
    let file = real.create(dir, MB + 1, 100 * KB).unwrap();
    // 1,048,577 / 102,400 is 10.24.
    assert_eq!(counter("syscw") - before, 11);
    real.drop_caches().unwrap();
    let before = counter("syscr");
    // What counting itself reads.
    let own = counter("syscr") - before;
    let before = counter("syscr");
    real.read(file, part(5, MB - 5, 128 * KB)).unwrap();
    assert_eq!(counter("syscr") - before - own, 8);
    let before = counter("syscw");
    real.overwrite(file, part(5, MB - 5, MB)).unwrap();
    // A size of 0 is taken as 1.
    real.overwrite(file, part(0, 100, 0)).unwrap();
    assert_eq!(counter("syscw") - before, 1 + 100);
}

#[test]
fn what_is_read_after_the_caches_were_dropped_comes_from_the_device() {
    let folder = tempfile::tempdir().unwrap();
    if !is_on_device(folder.path()) {
        skip("temporary files are on no file system with a device");
        return;
    }
    let mut real = in_directory(folder.path(), RealOptions::default());
    assert!(real.cache_method().contains("stay cached"));
    let dir = real.mkdir().unwrap();
    let file = real.create(dir, 8 * MB, 4 * MB).unwrap();
    real.drop_caches().unwrap();
    let mut read = || {
        let before = counter("read_bytes");
        real.read(file, whole(8 * MB)).unwrap();
        counter("read_bytes") - before
    };
    let (cold, warm) = (read(), read());
    assert!(cold >= 8 * MB && warm < MB, "{cold}, {warm}");
}

#[test]
fn all_caches_of_the_machine_are_dropped_only_where_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    for drop_all in [false, true] {
        let options = RealOptions {
            drop_all,
            ..RealOptions::default()
        };
        let method = in_directory(folder.path(), options).cache_method();
        assert_eq!(method.contains("all caches of the machine"), drop_all);
    }
}

#[test]
fn existing_files_have_the_first_keys_and_keep_their_data() {
    for folder in folders() {
        let hot = content(3, 150_000);
        fs::create_dir(folder.path().join("d")).unwrap();
        fs::write(folder.path().join("d/hot"), &hot).unwrap();
        let sparse = File::create(folder.path().join("sparse")).unwrap();
        sparse.set_len(MB).unwrap();
        sparse.write_all_at(b"x", 300_000).unwrap();
        let options = with_existing(&[("d/hot", 3), ("sparse", 4)]);
        let mut real = in_directory(folder.path(), options);
        let dir = real.mkdir().unwrap();
        assert_eq!(real.create(dir, KB, KB).unwrap(), FileKey(2));
        assert_eq!(real.file_bytes(FileKey(0)).unwrap(), 150_000);
        real.drop_caches().unwrap();
        real.read(FileKey(0), whole(150_000)).unwrap();
        real.read(FileKey(1), whole(MB)).unwrap();
        real.overwrite(FileKey(0), whole(150_000)).unwrap();
        let behind = real.overwrite(FileKey(0), part(1, 150_000, MB));
        let error = behind.unwrap_err();
        assert!(
            matches!(error, BenchError::Io { call: "open", .. }),
            "{error}"
        );
        real.close().unwrap();
        assert_eq!(names(folder.path()), ["d", "sparse"]);
        assert!(fs::read(folder.path().join("d/hot")).unwrap() == hot);
    }
    let folder = tempfile::tempdir().unwrap();
    let place = RealPlace::Directory(folder.path().to_owned());
    let error = Real::new(&place, with_existing(&[("gone", 1)])).unwrap_err();
    assert!(error.to_string().contains("gone"), "{error}");
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn data_that_were_never_written_are_not_read() {
    let folder = tempfile::tempdir().unwrap();
    if !is_on_device(folder.path()) {
        skip("temporary files are on no file system with FIEMAP");
        return;
    }
    let file = File::create(folder.path().join("never")).unwrap();
    fallocate(&file, FallocateFlags::empty(), 0, MB).unwrap();
    file.write_all_at(&content(1, 64 * KB), 0).unwrap();
    fs::write(folder.path().join("written"), content(2, MB)).unwrap();
    let options = with_existing(&[("never", 1), ("written", 2)]);
    let mut real = in_directory(folder.path(), options);
    for dropped in [false, true] {
        if dropped {
            real.drop_caches().unwrap();
        }
        real.read(FileKey(1), whole(MB)).unwrap();
        let error = real.read(FileKey(0), whole(4 * KB)).unwrap_err();
        let BenchError::Unwritten {
            unwritten_bytes, ..
        } = error
        else {
            panic!("{error}");
        };
        assert_eq!(unwritten_bytes, 960 * KB);
    }
}

#[test]
fn every_file_of_a_real_file_system_has_its_time_in_what_others_would_change() {
    let folder = tempfile::tempdir().unwrap();
    let place = RealPlace::Directory(folder.path().to_owned());
    let mut stand = RealStand::new(place, RealOptions::default(), false);
    let site = Site {
        free_bytes: 1 << 30,
        ..Site::default()
    };
    let mut entrants = [Entrant {
        target: 0,
        site: &site,
        cases: &[Case::of_size(MB)],
        stand: &mut stand,
    }];
    let repetitions = Repetitions {
        least: 5,
        most: 5,
        time: None,
    };
    let results = run_in_turn(&sequential::SEQUENTIAL, &mut entrants, repetitions, &|_| {
        true
    });
    let [Ok(results)] = &results.unwrap()[..] else {
        panic!("one file system");
    };
    assert_eq!(results.measurements.len(), 10);
    for measured in &results.measurements {
        let error = measured.files_error.expect("files that were clocked");
        assert!((0.0..1.0).contains(&error), "{measured:?}");
    }
    stand.close().unwrap();
}

#[test]
fn a_benchmark_stops_before_the_next_operation_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let asked = AtomicU32::new(0);
    let options = RealOptions {
        stop: Some(Arc::new(move || asked.fetch_add(1, Ordering::Relaxed) >= 3)),
        ..RealOptions::default()
    };
    let mut real = in_directory(folder.path(), options);
    let dir = real.mkdir().unwrap();
    let file = real.create(dir, KB, KB).unwrap();
    real.read(file, whole(KB)).unwrap();
    let stopped = real.create(dir, KB, KB);
    assert!(matches!(stopped, Err(BenchError::Interrupted)));
    assert!(matches!(real.delete(file), Err(BenchError::Interrupted)));
    drop(real);
    assert_eq!(names(folder.path()), [""; 0]);
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

fn options(kind: Kind) -> LoopOptions {
    LoopOptions {
        size_bytes: kind.min_bytes().unwrap_or_default().max(128 * MB),
        ..LoopOptions::new(kind)
    }
}

/// Whether a loop device has an image below this folder.
fn is_attached(folder: &Path) -> bool {
    let folder = folder.canonicalize().unwrap();
    fs::read_dir("/sys/block").unwrap().any(|entry| {
        let backing = entry.unwrap().path().join("loop/backing_file");
        fs::read_to_string(backing).is_ok_and(|text| Path::new(&text).starts_with(&folder))
    })
}

fn wait_until_gone(folder: &Path) {
    let start = Instant::now();
    while is_attached(folder) {
        assert!(start.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn hash(path: &Path) -> u64 {
    let mut file = File::open(path).unwrap();
    let mut hasher = DefaultHasher::new();
    let mut buffer = vec![0; MB as usize];
    loop {
        let read = file.read(&mut buffer).unwrap();
        if read == 0 {
            return hasher.finish();
        }
        hasher.write(&buffer[..read]);
    }
}

/// An image with a few files in it: `f0` to `f9`, each of 100,000 bytes more.
fn aged(kind: Kind, folder: &Path) -> (PathBuf, LoopOptions) {
    let image = folder.join(format!("{kind}.img"));
    let volume = LoopImage::create(&options(kind), &image).unwrap();
    let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(0o644);
    for i in 0..10 {
        let file = rustix::fs::openat(volume.root(), format!("f{i}"), flags, mode).unwrap();
        let mut file = File::from(file);
        file.write_all(&content(i, 100_000 * (i + 1))).unwrap();
    }
    let made = volume.options().clone();
    Box::new(volume).close().unwrap();
    (image, made)
}

/// What a benchmark does, on an image with `f9` and `f4` as existing files.
fn work(real: &mut Real, kind: Kind) {
    assert!(real.cache_method().starts_with("unmounted"));
    let free_bytes = real.free_bytes().unwrap();
    assert!(free_bytes > 20 * MB && free_bytes < 400 * MB);
    let dir = real.mkdir().unwrap();
    let files: Vec<FileKey> = (0..4)
        .map(|_| real.create(dir, 2 * MB, 4 * MB).unwrap())
        .collect();
    assert_eq!(files[0], FileKey(2));
    // 511 pairs of blocks of 4 KiB in each file; a file system with that much room breaks few of them.
    let score = real.layout(&files).unwrap().unwrap();
    assert_eq!(score.scored, 4 * 511, "{kind}");
    assert!(score.optimal > 2000 && score.optimal <= score.scored);
    real.drop_caches().unwrap();
    let before = counter("read_bytes");
    for &file in &files {
        real.read(file, whole(2 * MB)).unwrap();
    }
    real.read(FileKey(0), whole(1_000_000)).unwrap();
    let read = counter("read_bytes") - before;
    assert!(read >= 8 * MB + 1_000_000, "{kind}: {read}");
    real.overwrite(FileKey(1), whole(500_000)).unwrap();
    real.delete(files[0]).unwrap();
}

#[test]
fn an_image_is_measured_on_a_copy_and_not_altered() {
    for kind in KINDS {
        if !is_possible(kind) {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let (image, made) = aged(kind, folder.path());
        let before = hash(&image);
        let own_name = format!("{kind}.img");
        let place = RealPlace::CopyOf {
            image: image.clone(),
            options: made,
        };
        let options = with_existing(&[("f9", 9), ("f4", 4)]);
        for copies_each_time in [false, true] {
            let mut stand = RealStand::new(place.clone(), options.clone(), copies_each_time);
            for _ in 0..2 {
                work(stand.ready().unwrap(), kind);
            }
            assert!(is_attached(folder.path()));
            let both = names(folder.path());
            assert!(
                both.len() == 2 && both[0].starts_with(".fsage-bench."),
                "{both:?}"
            );
            stand.close().unwrap();
            assert!(!is_attached(folder.path()));
            assert_eq!(names(folder.path()), [&*own_name]);
        }
        assert_eq!(hash(&image), before, "{kind}");

        // Also when it is dropped amid the work.
        let mut real = Real::new(&place, options).unwrap();
        work(&mut real, kind);
        drop(real);
        wait_until_gone(folder.path());
        assert_eq!(names(folder.path()), [&*own_name]);
        assert_eq!(hash(&image), before, "{kind}");
    }
}

#[test]
fn a_full_file_system_ends_the_benchmark_and_can_be_cleaned() {
    for kind in KINDS {
        if !is_possible(kind) {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let place = RealPlace::Empty {
            folder: folder.path().to_owned(),
            options: options(kind),
        };
        let mut real = Real::new(&place, RealOptions::default()).unwrap();
        let free_bytes = real.free_bytes().unwrap();
        let dir = real.mkdir().unwrap();
        let error = (0..200)
            .find_map(|_| real.create(dir, 4 * MB, MB).err())
            .expect("800 MiB do not fit");
        assert!(matches!(error, BenchError::NoSpace), "{kind}: {error}");
        real.clean_up().unwrap();
        real.drop_caches().unwrap();
        let now = real.free_bytes().unwrap();
        // btrfs keeps what it gave to metadata meanwhile, about a tenth.
        assert!(now > free_bytes / 8 * 7, "{kind}: {free_bytes}, {now}");
        real.close().unwrap();
        assert!(!is_attached(folder.path()));
        assert_eq!(names(folder.path()), [""; 0]);
    }
}

#[test]
fn lack_of_inodes_is_told_from_lack_of_space() {
    if !is_possible(Kind::Ext4) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let place = RealPlace::Empty {
        folder: folder.path().to_owned(),
        options: LoopOptions {
            size_bytes: 16 * MB,
            mkfs: ["-N", "32"].map(str::to_owned).to_vec(),
            ..LoopOptions::new(Kind::Ext4)
        },
    };
    let mut real = Real::new(&place, RealOptions::default()).unwrap();
    let dir = real.mkdir().unwrap();
    let error = (0..100).find_map(|_| real.create(dir, 0, 1).err());
    assert!(matches!(error, Some(BenchError::NoInode)), "{error:?}");
}

#[test]
fn a_place_that_cannot_be_used_says_why_and_keeps_nothing() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("image"), b"no file system").unwrap();
    for name in ["image", "gone"] {
        let place = RealPlace::CopyOf {
            image: folder.path().join(name),
            options: options(Kind::Ext4),
        };
        let error = Real::new(&place, RealOptions::default()).unwrap_err();
        assert!(
            name == "image" || error.to_string().contains(name),
            "{error}"
        );
        assert_eq!(names(folder.path()), ["image"]);
    }
    wait_until_gone(folder.path());
    let place = RealPlace::Directory("/etc".into());
    let error = Real::new(&place, RealOptions::default()).unwrap_err();
    assert!(error.to_string().starts_with("/etc: "), "{error}");
}

/// Every phase of a run: its name, its files and bytes, the pairs of blocks of its files, and whether it took time.
fn phases(
    benchmark: &dyn Benchmark,
    case: Case,
    site: &Site,
    stand: RealStand,
) -> Vec<(String, u64, u64, Option<u64>)> {
    let mut stands = [stand];
    let results = run(benchmark, &[case], site, &mut stands, 2, &|_| true).unwrap();
    assert!(results.left_out.is_empty());
    let [stand] = stands;
    stand.close().unwrap();
    let phases = results.measurements.into_iter().map(|m| {
        assert!(m.elapsed_ns > 0 && m.cpu_ns.is_some_and(|ns| ns > 0));
        (m.phase, m.files, m.bytes, m.countable)
    });
    phases.collect()
}

#[test]
fn the_benchmarks_of_the_papers_run_on_a_copy_of_an_image() {
    for kind in KINDS {
        if !is_possible(kind) {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let (image, made) = aged(kind, folder.path());
        let options = with_existing(&[("f9", 9), ("f4", 4)]);
        let place = RealPlace::CopyOf {
            image,
            options: made,
        };
        let site = Site {
            free_bytes: 64 * MB,
            hot_files: vec![FileKey(0), FileKey(1)],
            ..Site::default()
        };
        let stand = || RealStand::new(place.clone(), options.clone(), false);
        // 32 MB in files of 256 KB: 128 files of 64 blocks.
        let case = Case::of_size(256 * KB);
        let found = phases(&sequential::SEQUENTIAL, case, &site, stand());
        let expected = ["create", "read"].map(|phase| (phase, 128, 32 * MB, Some(128 * 63)));
        let expected =
            expected.map(|(phase, files, bytes, pairs)| (phase.to_owned(), files, bytes, pairs));
        assert_eq!(found, [expected.clone(), expected].concat(), "{kind}");
        // 1,000,000 and 500,000 bytes: 245 and 123 blocks.
        let found = phases(&hot_files::HOT_FILES, Case::default(), &site, stand());
        let expected =
            ["read", "overwrite"].map(|phase| (phase.to_owned(), 2, 1_500_000, Some(244 + 122)));
        assert_eq!(found, [expected.clone(), expected].concat(), "{kind}");
        assert_eq!(names(folder.path()), [format!("{kind}.img")]);
    }
}

#[test]
fn files_are_forced_directories_go_and_the_processor_is_kept_busy() {
    for folder in folders() {
        let mut real = in_directory(folder.path(), RealOptions::default());
        let dir = real.mkdir().unwrap();
        let file = real.create(dir, 10_000, 4096).unwrap();
        real.fsync(file).unwrap();
        let full = real.rmdir(dir);
        assert!(
            matches!(full, Err(BenchError::Io { call: "rmdir", .. })),
            "{full:?}"
        );
        real.delete(file).unwrap();
        assert!(matches!(real.fsync(file), Err(BenchError::NoFile(_))));
        real.rmdir(dir).unwrap();
        assert!(real.create(dir, 1, 1).is_err());
        let before = real.cpu_ns().unwrap();
        real.compute(20_000_000);
        assert!(real.cpu_ns().unwrap() - before >= 20_000_000);
        assert_eq!(real.requests(), None);
        real.close().unwrap();
        assert_eq!(names(folder.path()), Vec::<String>::new());
    }
}

/// In an image mail goes to the directories of files that are there, in a directory to those of the benchmark; both are
/// afterwards as they were.
#[test]
fn mail_is_delivered_and_leaves_nothing() {
    let site = Site {
        free_bytes: 64 * MB,
        hot_files: vec![FileKey(0), FileKey(1)],
        ..Site::default()
    };
    let case = Case::of_size(4 * KB);
    let expected = ["deliver", "read"].map(|phase| (phase.to_owned(), 512, 2 * MB, Some(0)));
    for kind in KINDS {
        if !is_possible(kind) {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let (image, made) = aged(kind, folder.path());
        let options = with_existing(&[("f9", 9), ("f4", 4)]);
        let place = RealPlace::CopyOf {
            image,
            options: made,
        };
        let found = phases(
            &DELIVERY,
            case,
            &site,
            RealStand::new(place, options.clone(), false),
        );
        assert_eq!(
            found,
            [expected.clone(), expected.clone()].concat(),
            "{kind}"
        );
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("f9"), "9").unwrap();
    let mut real = in_directory(folder.path(), with_existing(&[("f9", 9)]));
    assert_eq!(real.directory_of(FileKey(0)).unwrap(), None);
    let site = Site {
        hot_files: vec![FileKey(0)],
        ..site
    };
    for repetition in 0..2 {
        let measured = DELIVERY.run(case, repetition, &site, &mut real).unwrap();
        assert_eq!(measured[0].laps.len(), 512);
        real.clean_up().unwrap();
    }
    real.close().unwrap();
    assert_eq!(names(folder.path()), ["f9"]);
}

#[test]
fn programs_that_work_on_sources_run_in_a_directory_and_leave_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let benchmark = Applications {
        directories: 2,
        compiled: 3,
        unpack_ns_per_byte: 0,
        compile_ns: 1_000_000,
    };
    let mut real = in_directory(folder.path(), RealOptions::default());
    let site = Site::default();
    let measured = benchmark.run(Case::default(), 0, &site, &mut real).unwrap();
    let short: Vec<_> = measured.iter().map(|m| (&*m.phase, m.files)).collect();
    assert_eq!(short, [("pax", 40), ("rm", 40), ("gmake", 3), ("clean", 4)]);
    // Three compilations of a millisecond.
    assert!(measured[2].cpu_ns.unwrap() >= 3_000_000);
    real.close().unwrap();
    assert_eq!(names(folder.path()), Vec::<String>::new());
    assert_eq!((APPLICATIONS.directories, APPLICATIONS.compiled), (50, 32));
}
