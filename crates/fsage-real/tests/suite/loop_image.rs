//! Images of every type of file system, on the running kernel: made, mounted, checked by the file system's own tools.

use fsage_linux::loop_device::{AttachOptions, LoopDevice, LoopError};
use fsage_real::directory::Volume;
use fsage_real::loop_image::{self, ImageError, Kind, LoopImage, LoopOptions, Uuid};
use fsage_real::programs;
use rustix::fs::{Mode, OFlags};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

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

/// A small image of this type.
fn options(kind: Kind) -> LoopOptions {
    LoopOptions {
        size_bytes: kind.min_bytes().unwrap_or_default().max(64 << 20),
        ..LoopOptions::new(kind)
    }
}

fn create(kind: Kind, image: &Path) -> LoopImage {
    LoopImage::create(&options(kind), image).unwrap()
}

fn close(volume: LoopImage) {
    Box::new(volume).close().unwrap();
}

fn open(volume: &dyn Volume, name: &str, flags: OFlags) -> io::Result<File> {
    let flags = flags | OFlags::CLOEXEC;
    let fd = rustix::fs::openat(volume.root(), name, flags, Mode::from_raw_mode(0o644))?;
    Ok(fd.into())
}

fn write(volume: &dyn Volume, name: &str, bytes: &[u8]) -> io::Result<()> {
    let mut file = open(volume, name, OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY)?;
    file.write_all(bytes)
}

fn read(volume: &dyn Volume, name: &str) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(volume, name, OFlags::RDONLY)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn fact(volume: &LoopImage, name: &str) -> Option<String> {
    let facts = volume.facts();
    Some(facts.into_iter().find(|(key, _)| *key == name)?.1)
}

/// Runs the file system's own check, which changes nothing and must find nothing.
fn check(kind: Kind, image: &Path) {
    let Some((name, arguments)) = kind.check() else {
        return;
    };
    let Some(program) = programs::find(name) else {
        skip(&format!("there is no {name}"));
        return;
    };
    let output = Command::new(program)
        .args(arguments)
        .arg(image)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{kind}: {said}");
}

/// Whether a loop device has an image below this folder.
fn is_attached(folder: &Path) -> bool {
    let folder = folder.canonicalize().unwrap();
    fs::read_dir("/sys/block").unwrap().any(|entry| {
        let backing = entry.unwrap().path().join("loop/backing_file");
        fs::read_to_string(backing).is_ok_and(|text| Path::new(&text).starts_with(&folder))
    })
}

/// Whoever looks for a free device may have this one open at the moment, and then it goes a little later.
fn wait_until_gone(folder: &Path) {
    let start = Instant::now();
    while is_attached(folder) {
        assert!(start.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn an_image_of_every_type_is_sound_when_closed_and_holds_what_was_written() {
    let bytes: Vec<u8> = (0..300_000_u32)
        .map(|i| (i.wrapping_mul(i) >> 8) as u8)
        .collect();
    for kind in Kind::ALL {
        if !is_possible(kind) {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("image");
        let volume = create(kind, &image);
        assert_eq!(volume.warning(), None);
        for i in 0..50 {
            write(&volume, &format!("f{i}"), &bytes[..i * 6_000]).unwrap();
        }
        close(volume);
        wait_until_gone(folder.path());
        check(kind, &image);
        assert!(fs::metadata(&image).unwrap().blocks() * 512 < options(kind).size_bytes / 2);

        let found = LoopOptions::of_image(&image).unwrap();
        assert_eq!(
            (found.kind, found.size_bytes),
            (kind, options(kind).size_bytes)
        );
        let before = fs::read(&image).unwrap();
        let volume = LoopImage::open(&found, &image, true).unwrap();
        for i in 0..50 {
            assert!(read(&volume, &format!("f{i}")).unwrap() == bytes[..i * 6_000]);
        }
        let error = write(&volume, "g", b"").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ReadOnlyFilesystem);
        close(volume);
        assert!(fs::read(&image).unwrap() == before, "{kind}");
    }
}

#[test]
fn the_reference_options_are_given_and_recorded() {
    // Blocks by specification section 2, for 1 GiB: as `statfs` shows them.
    for (kind, blocks) in [
        (Kind::Ext2, Some(257_707)),
        (Kind::Ext3, Some(249_515)),
        (Kind::Ext4, Some(249_195)),
        (Kind::Xfs, None),
        (Kind::Btrfs, Some(262_144)),
    ] {
        if !is_possible(kind) {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("image");
        let volume = LoopImage::create(&LoopOptions::new(kind), &image).unwrap();
        let stat = rustix::fs::fstatvfs(volume.root()).unwrap();
        assert_eq!(stat.f_bsize, 4096);
        if let Some(blocks) = blocks {
            assert_eq!(stat.f_blocks, blocks, "{kind}");
        }
        let line = fact(&volume, "mkfs").unwrap();
        assert!(line.starts_with(&format!("mkfs.{kind} -q ")), "{line}");
        let uuid = volume.options().uuid.to_string();
        assert!(line.contains(&uuid), "{line}");
        // Other tests may have the first one of btrfs mounted now.
        assert!(kind == Kind::Btrfs || uuid == Uuid::DEFAULT.to_string());
        assert_eq!(fact(&volume, "image_bytes").unwrap(), "1073741824");
        let driver = fact(&volume, "driver");
        if let (Kind::Ext2 | Kind::Ext3, Some(driver)) = (kind, &driver) {
            assert_eq!(*driver, format!("ext4 driver, {kind} format"));
        } else {
            assert_eq!(driver, None);
        }
        close(volume);
        if let Some(blkid) = programs::find("blkid") {
            let output = Command::new(blkid)
                .args(["-p", "-o", "value", "-s", "UUID", "-s", "TYPE"])
                .arg(&image)
                .output()
                .unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            let mut words: Vec<&str> = text.split_whitespace().collect();
            words.sort_unstable();
            assert_eq!(words, [&*uuid, kind.name()]);
        }
    }
}

/// The kernel's own files say what is set, after a remount too; what it has none for is an error that names those.
#[test]
fn settings_are_made_after_every_mount() {
    if !is_possible(Kind::Ext4) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut wanted = options(Kind::Ext4);
    wanted
        .set_settings("mb_group_prealloc=64,mb_max_to_scan=20")
        .unwrap();
    let mut volume = LoopImage::create(&wanted, &folder.path().join("image")).unwrap();
    let device = volume.source().expect("it is mounted").device;
    let set = Path::new("/sys/fs/ext4").join(Path::new(&device).file_name().unwrap());
    let are_set = || {
        let is = |name: &str| fs::read_to_string(set.join(name)).unwrap();
        assert_eq!(is("mb_group_prealloc").trim(), "64");
        assert_eq!(is("mb_max_to_scan").trim(), "20");
    };
    are_set();
    assert!(volume.remount().unwrap());
    are_set();
    close(volume);
    wanted.set_settings("mb_no_such=1").unwrap();
    let refused = LoopImage::create(&wanted, &folder.path().join("other")).unwrap_err();
    let refused = refused.to_string();
    assert!(refused.contains("mb_no_such=1"), "{refused}");
    assert!(refused.contains("mb_group_prealloc"), "{refused}");
    for wrong in ["mb_group_prealloc", "../x=1", "a=", "=1"] {
        assert!(wanted.set_settings(wrong).is_err(), "{wrong}");
    }
    assert!(options(Kind::Btrfs).set_settings("a=1").is_err());
}

#[test]
fn remounting_drops_the_page_cache_and_keeps_the_data() {
    /// Bytes that this thread has had read from devices.
    fn read_bytes() -> u64 {
        let io = fs::read_to_string("/proc/thread-self/io").unwrap();
        let line = io
            .lines()
            .find_map(|line| line.strip_prefix("read_bytes: "));
        line.unwrap().parse().unwrap()
    }
    for kind in [Kind::Ext2, Kind::Ext4, Kind::Xfs] {
        if !is_possible(kind) {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let mut volume = create(kind, &folder.path().join("image"));
        let bytes = vec![7; 1 << 20];
        write(&volume, "file", &bytes).unwrap();
        rustix::fs::syncfs(volume.root()).unwrap();
        let start = read_bytes();
        assert!(read(&volume, "file").unwrap() == bytes);
        assert_eq!(read_bytes(), start, "{kind}: it is in the cache");
        assert!(volume.remount().unwrap());
        let start = read_bytes();
        assert!(read(&volume, "file").unwrap() == bytes);
        assert!(
            read_bytes() >= start + (1 << 20),
            "{kind}: it comes from the image"
        );
        close(volume);
    }
}

#[test]
fn direct_io_passes_the_page_cache_below_by() {
    if !is_possible(Kind::Ext4) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image");
    let options = LoopOptions {
        direct: true,
        ..options(Kind::Ext4)
    };
    let volume = match LoopImage::create(&options, &image) {
        Err(ImageError::Loop(LoopError::NoDirectIo { .. })) => {
            return skip("the temporary folder's file system knows no direct I/O");
        }
        volume => volume.unwrap(),
    };
    write(&volume, "file", &vec![1; 100_000]).unwrap();
    close(volume);
    check(Kind::Ext4, &image);
}

#[test]
fn two_images_of_a_kind_are_mounted_side_by_side() {
    for kind in [Kind::Ext4, Kind::Xfs, Kind::Btrfs] {
        if !is_possible(kind) {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        // A UUID of its own: while a test beside this one makes an image with the usual one, either may be mounted
        // under a temporary UUID (Linux 6.7 and later), and the usual one then looks free.
        let options = LoopOptions {
            uuid: Uuid::parse("0b5e55ed-51de-4b1e-8000-000000000001").unwrap(),
            ..options(kind)
        };
        let aged = LoopImage::create(&options, &folder.path().join("aged")).unwrap();
        let options = aged.options().control(folder.path().join("control"));
        let control = LoopImage::create(&options, &options.image_in(folder.path())).unwrap();
        write(&aged, "file", b"aged").unwrap();
        write(&control, "file", b"control").unwrap();
        assert_eq!(read(&aged, "file").unwrap(), b"aged");
        assert_eq!(read(&control, "file").unwrap(), b"control");
        let same = aged.options().uuid == control.options().uuid;
        assert_eq!(same, kind != Kind::Btrfs);
        close(control);
        close(aged);
    }
}

#[test]
fn an_image_put_back_from_a_copy_is_mounted_from_any_device() {
    for kind in [Kind::Ext4, Kind::Xfs, Kind::Btrfs] {
        if !is_possible(kind) {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("image");
        let earlier = folder.path().join("earlier");
        close(create(kind, &image));
        fs::copy(&image, &earlier).unwrap();
        for name in ["one", "two"] {
            let volume = LoopImage::open(&options(kind), &image, false).unwrap();
            write(&volume, name, name.as_bytes()).unwrap();
            close(volume);
        }
        fs::rename(&earlier, &image).unwrap();
        if kind == Kind::Btrfs {
            fsage_linux::btrfs::forget_free_loop_devices().unwrap();
        }
        // It most likely had this device until now, so that its copy gets another one.
        let other = folder.path().join("other");
        File::create(&other).unwrap().set_len(1 << 20).unwrap();
        let taken = LoopDevice::attach(&other, AttachOptions::default()).unwrap();
        let volume = LoopImage::open(&options(kind), &image, false)
            .unwrap_or_else(|error| panic!("{kind}: {error}"));
        write(&volume, "three", b"three").unwrap();
        assert!(read(&volume, "one").is_err(), "{kind}");
        close(volume);
        drop(taken);
        check(kind, &image);
    }
}

#[test]
fn a_journal_is_replayed_even_when_nothing_else_may_be_written() {
    for kind in [Kind::Ext3, Kind::Ext4, Kind::Xfs, Kind::Btrfs] {
        if !is_possible(kind) {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let (image, copy) = (folder.path().join("image"), folder.path().join("copy"));
        let volume = create(kind, &image);
        write(&volume, "file", b"in the journal").unwrap();
        let file = open(&volume, "file", OFlags::RDONLY).unwrap();
        file.sync_all().unwrap();
        // As after a power failure: what was synced is in the image, and it was not unmounted.
        fs::copy(&image, &copy).unwrap();
        drop(file);
        close(volume);
        let volume = LoopImage::open(&options(kind), &copy, true).unwrap();
        assert_eq!(read(&volume, "file").unwrap(), b"in the journal");
        assert!(write(&volume, "other", b"").is_err());
        close(volume);
    }
}

#[test]
fn an_image_in_use_waits_until_it_is_free() {
    if !is_possible(Kind::Ext4) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image");
    let first = create(Kind::Ext4, &image);
    std::thread::scope(|scope| {
        let second = scope.spawn(|| LoopImage::open(&options(Kind::Ext4), &image, false).unwrap());
        std::thread::sleep(Duration::from_millis(100));
        assert!(!second.is_finished());
        write(&first, "file", b"first").unwrap();
        close(first);
        let second = second.join().unwrap();
        assert_eq!(read(&second, "file").unwrap(), b"first");
        close(second);
    });
}

#[test]
fn what_cannot_be_made_leaves_nothing() {
    if !is_possible(Kind::Ext4) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image");
    let refused = |options: &LoopOptions| {
        let error = LoopImage::create(options, &image).unwrap_err();
        assert!(!image.exists(), "{error}");
        wait_until_gone(folder.path());
        error.to_string()
    };
    let words = |words: &[&str]| LoopOptions {
        mkfs: words.iter().map(|&word| word.to_owned()).collect(),
        ..options(Kind::Ext4)
    };
    let error = refused(&words(&["-O", "no_such_feature"]));
    assert!(
        error.starts_with("mkfs.ext4 -q ") && error.contains("no_such_feature"),
        "{error}"
    );
    // mkfs takes it, and the kernel cannot mount it: 64 KiB are more than a page.
    let error = refused(&words(&["-b", "65536"]));
    assert!(error.contains("as ext4: "), "{error}");
    let error = refused(&LoopOptions {
        mount: "data=sideways".to_owned(),
        ..options(Kind::Ext4)
    });
    assert!(error.contains("data=sideways"), "{error}");
    for (kind, min) in [
        (Kind::Ext4, "8.0 MiB"),
        (Kind::Xfs, "300 MiB"),
        (Kind::Btrfs, "45.0 MiB"),
    ] {
        if is_possible(kind) {
            let error = refused(&LoopOptions {
                size_bytes: kind.min_bytes().unwrap() - 4096,
                ..LoopOptions::new(kind)
            });
            assert!(error.contains(min), "{error}");
            let smallest = LoopOptions {
                size_bytes: kind.min_bytes().unwrap(),
                ..LoopOptions::new(kind)
            };
            let image = folder.path().join(kind.name());
            let volume = LoopImage::create(&smallest, &image).unwrap();
            write(&volume, "file", b"fits").unwrap();
            close(volume);
        }
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// A file system without a journal is checked after a power failure, one with a journal replays that.
#[test]
fn what_was_not_unmounted_is_mended_where_it_has_no_journal() {
    for (kind, doubtful) in [(Kind::Ext2, true), (Kind::Ext4, false)] {
        if !is_possible(kind) {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("i");
        let cut = folder.path().join("cut");
        let is_doubtful = |image| LoopImage::is_doubtful(&options(kind), image).unwrap();
        let volume = create(kind, &image);
        write(&volume, "f", b"kept").unwrap();
        rustix::fs::syncfs(volume.root()).unwrap();
        fs::copy(&image, &cut).unwrap();
        close(volume);
        assert!(!is_doubtful(&image));
        assert_eq!(is_doubtful(&cut), doubtful, "{kind}");
        LoopImage::mend(&options(kind), &cut).unwrap();
        assert!(!is_doubtful(&cut), "{kind}");
        let volume = LoopImage::open(&options(kind), &cut, true).unwrap();
        assert_eq!(read(&volume, "f").unwrap(), b"kept");
        close(volume);
        wait_until_gone(folder.path());
    }
}

#[test]
fn what_cannot_be_mended_is_said_to_be_lost() {
    if !is_possible(Kind::Btrfs) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("i");
    File::create(&image).unwrap().set_len(64 << 20).unwrap();
    let error = LoopImage::mend(&options(Kind::Btrfs), &image).unwrap_err();
    assert!(
        error.to_string().contains("--force starts the run anew"),
        "{error}"
    );
    wait_until_gone(folder.path());
}

/// Whoever dies while an image is made leaves nothing under its name, and nothing that stays.
#[test]
fn an_image_has_its_name_when_it_is_whole() {
    if !is_possible(Kind::Ext4) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("i");
    let dead = folder.path().join(".i.0123456789abcdef.partial");
    fs::create_dir(&dead).unwrap();
    fs::write(dead.join("image"), "half").unwrap();
    let (volume, unpublished) = LoopImage::make(&options(Kind::Ext4), &image).unwrap();
    assert!(!image.exists() && !dead.exists());
    write(&volume, "f", b"kept").unwrap();
    unpublished.publish().unwrap();
    assert_eq!(names(folder.path()), ["i"]);
    let facts = volume.facts();
    let named = facts.iter().filter(|(_, said)| said.contains("/i"));
    assert_eq!(named.count(), 2, "{facts:?}");
    close(volume);
    let volume = LoopImage::open(&options(Kind::Ext4), &image, true).unwrap();
    assert_eq!(read(&volume, "f").unwrap(), b"kept");
    close(volume);

    let other = folder.path().join("j");
    let (volume, unpublished) = LoopImage::make(&options(Kind::Ext4), &other).unwrap();
    fs::write(&other, "somebody's").unwrap();
    let error = unpublished.publish().unwrap_err();
    assert!(matches!(error, ImageError::Exists { .. }), "{error}");
    close(volume);
    assert_eq!(fs::read(&other).unwrap(), b"somebody's");
    assert_eq!(names(folder.path()), ["i", "j"]);
    wait_until_gone(folder.path());
}

#[test]
fn nothing_that_is_there_is_written_to() {
    if !is_possible(Kind::Ext4) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "precious").unwrap();
    let link = folder.path().join("link");
    std::os::unix::fs::symlink("nowhere", &link).unwrap();
    let refused = |image: &Path| LoopImage::create(&options(Kind::Ext4), image).unwrap_err();
    assert!(matches!(refused(&file), ImageError::Exists { .. }));
    for other in [
        folder.path(),
        &link,
        Path::new("/dev/loop0"),
        Path::new("/dev/null"),
    ] {
        assert!(
            matches!(refused(other), ImageError::NotAFile { .. }),
            "{}",
            other.display()
        );
    }
    assert_eq!(fs::read(&file).unwrap(), b"precious");
    assert!(!folder.path().join("nowhere").exists());
    let error = LoopOptions::of_image(&file).unwrap_err();
    assert!(matches!(error, ImageError::NoFileSystem { .. }));
    let error = LoopImage::open(&options(Kind::Ext4), folder.path(), true).unwrap_err();
    assert!(matches!(error, ImageError::NotAFile { .. }));
    let error = LoopImage::open(&options(Kind::Ext4), &file, true).unwrap_err();
    assert!(matches!(error, ImageError::Mount(_)), "{error}");
    wait_until_gone(folder.path());
}

#[test]
fn a_panic_leaves_nothing_but_the_image() {
    if !is_possible(Kind::Btrfs) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image");
    let result = std::panic::catch_unwind(|| {
        let volume = create(Kind::Btrfs, &image);
        write(&volume, "file", b"before").unwrap();
        assert!(!is_attached(folder.path()), "on purpose");
    });
    assert!(result.is_err());
    wait_until_gone(folder.path());
    check(Kind::Btrfs, &image);
    let volume = LoopImage::open(&options(Kind::Btrfs), &image, true).unwrap();
    assert_eq!(read(&volume, "file").unwrap(), b"before");
    close(volume);
}

#[test]
fn a_full_disk_below_the_image_is_an_error_and_was_foretold() {
    if !is_possible(Kind::Ext4) || !is_possible(Kind::Ext2) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // The disk below is an image itself: 32 MiB for an image of 64.
    let host_options = LoopOptions {
        size_bytes: 32 << 20,
        ..LoopOptions::new(Kind::Ext2)
    };
    let host = LoopImage::create(&host_options, &folder.path().join("host")).unwrap();
    let (pid, fd) = (std::process::id(), host.root().as_raw_fd());
    let image = PathBuf::from(format!("/proc/{pid}/fd/{fd}/image"));
    let volume = create(Kind::Ext4, &image);
    let warning = volume.warning().unwrap();
    assert!(warning.contains("may grow to 64.0 MiB"), "{warning}");
    let written = (0..48)
        .try_for_each(|i| write(&volume, &format!("f{i}"), &vec![1; 1 << 20]))
        .and_then(|()| Ok(rustix::fs::syncfs(volume.root())?));
    assert_eq!(written.unwrap_err().raw_os_error(), Some(5), "EIO");
    // What cannot be written is lost; the volume is let go of all the same.
    let _ = Box::new(volume).close();
    fs::remove_file(&image).unwrap();
    close(host);
    wait_until_gone(folder.path());
}

const CHILD_FOLDER: &str = "FSAGE_TEST_CHILD_FOLDER";

#[test]
fn without_root_the_error_says_what_is_needed() {
    let Some(setpriv) = programs::find("setpriv").filter(|_| is_possible(Kind::Ext4)) else {
        skip("there is no setpriv, or nothing to give away");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    // Where the tests are built may be out of reach for others.
    let program = folder.path().join("test");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let output = Command::new(setpriv)
        .args([
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            "--inh-caps=-all",
        ])
        .arg(&program)
        .args([
            "--ignored",
            "--exact",
            "loop_image::child_without_root",
            "--nocapture",
        ])
        .env(CHILD_FOLDER, folder.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    let error = "error: mounting ext4 needs root (CAP_SYS_ADMIN in the first user namespace): run it with sudo";
    assert!(text.contains(error), "{text}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
#[ignore = "the child of `without_root_the_error_says_what_is_needed`"]
fn child_without_root() {
    let Some(folder) = std::env::var_os(CHILD_FOLDER) else {
        return;
    };
    let image = Path::new(&folder).join("image");
    let error = LoopImage::create(&LoopOptions::new(Kind::Ext4), &image).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
    let _ = writeln!(io::stdout(), "error: {error}");
}
