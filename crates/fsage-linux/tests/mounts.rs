//! Loop devices and mounts on the running kernel: nothing of them is seen, and nothing of them stays.

use fsage_linux::loop_device::{AttachOptions, LoopDevice};
use fsage_linux::mount::{DetachedMount, MountError, MountOptions};
use rustix::fs::{Mode, OFlags};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const TIMEOUT: Duration = Duration::from_secs(20);

/// An ext4 image, or `None`, said aloud, where this cannot be tested.
fn image(folder: &Path) -> Option<PathBuf> {
    if let Err(error) = DetachedMount::is_possible("ext4") {
        skip(&error.to_string());
        return None;
    }
    let path = folder.join("image");
    File::create(&path).unwrap().set_len(16 << 20).unwrap();
    let mkfs = ["/sbin/mkfs.ext4", "/usr/sbin/mkfs.ext4"];
    let Some(mkfs) = mkfs.into_iter().find(|path| Path::new(path).exists()) else {
        skip("there is no mkfs.ext4");
        return None;
    };
    assert!(
        Command::new(mkfs)
            .arg("-q")
            .arg(&path)
            .status()
            .unwrap()
            .success()
    );
    Some(path)
}

fn skip(why: &str) {
    let _ = writeln!(io::stderr(), "skipped: {why}");
}

/// Whether a loop device has this image.
fn is_attached(image: &Path) -> bool {
    fs::read_dir("/sys/block").unwrap().any(|entry| {
        let backing = entry.unwrap().path().join("loop/backing_file");
        fs::read_to_string(backing).is_ok_and(|text| Path::new(text.trim_end()) == image)
    })
}

/// Whether any process sees a mount of this device.
fn is_seen(device: &str) -> bool {
    fs::read_dir("/proc").unwrap().any(|entry| {
        fs::read_to_string(entry.unwrap().path().join("mountinfo"))
            .is_ok_and(|text| text.split_ascii_whitespace().any(|word| word == device))
    })
}

fn wait_until_gone(image: &Path) {
    let start = Instant::now();
    while is_attached(image) {
        assert!(
            start.elapsed() < TIMEOUT,
            "{} stays attached",
            image.display()
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn attach(image: &Path) -> LoopDevice {
    LoopDevice::attach(image, AttachOptions::default()).unwrap()
}

fn mount(device: &LoopDevice, options: &str) -> Result<DetachedMount, MountError> {
    let options = MountOptions::parse(options).unwrap();
    DetachedMount::new("ext4", &device.path(), &options)
}

fn create(mount: &DetachedMount, name: &str) -> io::Result<File> {
    let flags = OFlags::CREATE | OFlags::RDWR | OFlags::CLOEXEC;
    let fd = rustix::fs::openat(mount.root(), name, flags, Mode::from_raw_mode(0o644))?;
    Ok(fd.into())
}

#[test]
fn a_mount_is_seen_by_nobody_and_keeps_what_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let Some(image) = image(folder.path()) else {
        return;
    };
    let device = attach(&image);
    assert!(is_attached(&image));
    let first = mount(&device, "noatime,data=ordered").unwrap();
    create(&first, "file").unwrap().write_all(b"kept").unwrap();
    assert!(!is_seen(&device.path()));
    assert!(device.wait_unmounted(Duration::ZERO).is_err());
    drop(first);
    device.wait_unmounted(TIMEOUT).unwrap();

    let second = mount(&device, "ro").unwrap();
    let mut text = String::new();
    let file = rustix::fs::openat(second.root(), "file", OFlags::RDONLY, Mode::empty()).unwrap();
    File::from(file).read_to_string(&mut text).unwrap();
    assert_eq!(text, "kept");
    assert_eq!(
        create(&second, "other").unwrap_err().kind(),
        io::ErrorKind::ReadOnlyFilesystem
    );
    drop(second);
    device.detach(TIMEOUT).unwrap();
    assert!(!is_attached(&image));
}

#[test]
fn a_device_stays_as_long_as_something_is_mounted_from_it() {
    let folder = tempfile::tempdir().unwrap();
    let Some(image) = image(folder.path()) else {
        return;
    };
    let device = attach(&image);
    let mounted = mount(&device, "rw").unwrap();
    drop(device);
    assert!(is_attached(&image));
    create(&mounted, "file").unwrap();
    drop(mounted);
    wait_until_gone(&image);
}

#[test]
fn a_read_only_device_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let Some(image) = image(folder.path()) else {
        return;
    };
    let before = fs::read(&image).unwrap();
    let options = AttachOptions {
        read_only: true,
        ..AttachOptions::default()
    };
    let device = LoopDevice::attach(&image, options).unwrap();
    let mounted = mount(&device, "ro").unwrap();
    assert!(create(&mounted, "file").is_err());
    drop(mounted);
    device.detach(TIMEOUT).unwrap();
    assert!(fs::read(&image).unwrap() == before);
}

#[test]
fn the_file_system_says_which_option_it_does_not_take() {
    let folder = tempfile::tempdir().unwrap();
    let Some(image) = image(folder.path()) else {
        return;
    };
    let device = attach(&image);
    let unknown = mount(&device, "no_such_option=1").unwrap_err().to_string();
    assert!(
        unknown.contains("mount option `no_such_option=1`: ext4 says: "),
        "{unknown}"
    );
    let kind = DetachedMount::new("nosuchfs", &device.path(), &MountOptions::default());
    assert!(
        kind.unwrap_err()
            .to_string()
            .contains("this kernel has no nosuchfs")
    );
    let other = DetachedMount::new("xfs", &device.path(), &MountOptions::default());
    let other = other.unwrap_err().to_string();
    assert!(other.contains("as xfs: "), "{other}");
    device.detach(TIMEOUT).unwrap();
}

#[test]
fn a_panic_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let Some(image) = image(folder.path()) else {
        return;
    };
    let result = std::panic::catch_unwind(|| {
        let device = attach(&image);
        let _mounted = mount(&device, "rw").unwrap();
        assert!(!is_attached(&image), "on purpose");
    });
    assert!(result.is_err());
    wait_until_gone(&image);
}

const CHILD_IMAGE: &str = "FSAGE_TEST_CHILD_IMAGE";

#[test]
fn a_killed_process_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let Some(image) = image(folder.path()) else {
        return;
    };
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--ignored",
            "--exact",
            "child_that_waits_to_be_killed",
            "--nocapture",
        ])
        .env(CHILD_IMAGE, &image)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    let device = out
        .lines()
        .map_while(Result::ok)
        .find_map(|line| Some(line.split_once("mounted ")?.1.to_owned()))
        .expect("the child mounts");
    assert!(is_attached(&image));
    assert!(!is_seen(&device));
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until_gone(&image);
    assert!(!is_seen(&device));
    // The kernel has unmounted it: what was never synced is there.
    let again = attach(&image);
    let mounted = mount(&again, "ro").unwrap();
    let stat = rustix::fs::statat(mounted.root(), "file", rustix::fs::AtFlags::empty()).unwrap();
    assert_eq!(stat.st_size, 7);
    drop(mounted);
    again.detach(TIMEOUT).unwrap();
}

#[test]
#[ignore = "the child of `a_killed_process_leaves_nothing`"]
fn child_that_waits_to_be_killed() {
    let Some(image) = std::env::var_os(CHILD_IMAGE) else {
        return;
    };
    let device = attach(Path::new(&image));
    let mounted = mount(&device, "rw").unwrap();
    create(&mounted, "file")
        .unwrap()
        .write_all(b"written")
        .unwrap();
    assert!(device.as_fd().try_clone_to_owned().is_ok());
    writeln!(io::stdout(), "mounted {}", device.path()).unwrap();
    std::thread::sleep(Duration::from_secs(60));
}
