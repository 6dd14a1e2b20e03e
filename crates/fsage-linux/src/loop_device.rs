//! Loop devices: an image file as a block device.
//!
//! A device attached here frees itself (`LO_FLAGS_AUTOCLEAR`) when the last descriptor of it is closed and nothing is
//! mounted from it any more: also when this process is killed. The flag is set in the one call that attaches
//! (`LOOP_CONFIGURE`, Linux 5.8), so there is no moment at which a device could be left behind.

use rustix::fs::{Mode, OFlags};
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use thiserror::Error;

/// Where a free loop device is asked for.
pub const CONTROL: &str = "/dev/loop-control";

/// Where all block devices are listed.
const BLOCK_DEVICES: &str = "/sys/block";

const LOOP_SET_FD: libc::Ioctl = 0x4C00;
const LOOP_CLR_FD: libc::Ioctl = 0x4C01;
const LOOP_SET_STATUS64: libc::Ioctl = 0x4C04;
const LOOP_SET_DIRECT_IO: libc::Ioctl = 0x4C08;
const LOOP_CONFIGURE: libc::Ioctl = 0x4C0A;
const LOOP_CTL_GET_FREE: libc::Ioctl = 0x4C82;

const LO_FLAGS_READ_ONLY: u32 = 1;
const LO_FLAGS_AUTOCLEAR: u32 = 4;
const LO_FLAGS_DIRECT_IO: u32 = 16;

/// Others ask for free devices too: how often a device may be snatched away before that is an error.
const ATTEMPTS: usize = 64;
const POLL: Duration = Duration::from_millis(5);

/// What may go wrong with a loop device.
#[derive(Debug, Error)]
pub enum LoopError {
    /// No way to ask for a device.
    #[error("{CONTROL}: {0}; loop devices need root and the kernel's loop driver (modprobe loop)")]
    Control(#[source] io::Error),
    /// The image cannot be opened.
    #[error("{}: {source}", path.display())]
    Image {
        /// The image.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A call on a device failed.
    #[error("{device}: {action}: {source}")]
    Device {
        /// The device.
        device: String,
        /// What was being done.
        action: &'static str,
        /// Why it was not.
        source: io::Error,
    },
    /// Direct I/O was asked for, and the file system below the image cannot do it.
    #[error("{}: the file system below this image cannot do direct I/O; leave that option out", path.display())]
    NoDirectIo {
        /// The image.
        path: PathBuf,
    },
    /// A device or what was mounted from it is still in use.
    #[error("{device} is still in use after {} s: something holds a descriptor of it", waited.as_secs())]
    Busy {
        /// The device.
        device: String,
        /// How long it was waited for.
        waited: Duration,
    },
}

impl LoopError {
    /// The kind of the system's error.
    pub fn kind(&self) -> io::ErrorKind {
        match self {
            LoopError::Control(source)
            | LoopError::Image { source, .. }
            | LoopError::Device { source, .. } => source.kind(),
            LoopError::NoDirectIo { .. } => io::ErrorKind::Unsupported,
            LoopError::Busy { .. } => io::ErrorKind::ResourceBusy,
        }
    }
}

impl From<LoopError> for io::Error {
    fn from(error: LoopError) -> io::Error {
        io::Error::new(error.kind(), error)
    }
}

/// How an image is attached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AttachOptions {
    /// Nothing can be written to the image.
    pub read_only: bool,
    /// The page cache of the file system below is passed by.
    pub direct_io: bool,
}

/// An image file attached to a loop device, until this value is dropped and nothing is mounted from it.
#[derive(Debug)]
pub struct LoopDevice {
    device: OwnedFd,
    number: u32,
}

/// Whether this process may ask for a loop device: none is taken.
///
/// # Errors
/// Why not.
pub fn is_possible() -> Result<(), LoopError> {
    control().map(drop)
}

/// Waits until no loop device has this image: one that is let go of may take a moment, and an image that is written
/// through two devices is lost.
///
/// # Errors
/// [`LoopError::Busy`] when `timeout` is over; an image that is not there.
pub fn wait_unattached(image: &Path, timeout: Duration) -> Result<(), LoopError> {
    let failed = |path: &Path, source| LoopError::Image {
        path: path.to_owned(),
        source,
    };
    let whole = image.canonicalize().map_err(|e| failed(image, e))?;
    for number in numbers().map_err(|e| failed(Path::new(BLOCK_DEVICES), e))? {
        wait(number, timeout, || {
            Ok(backing_file(number).is_none_or(|name| name != whole.as_os_str().as_bytes()))
        })?;
    }
    Ok(())
}

/// The paths of the loop devices that show no image at this moment.
///
/// # Errors
/// The list of block devices cannot be read.
pub fn free_devices() -> io::Result<Vec<String>> {
    let mut numbers = numbers()?;
    numbers.retain(|number| backing_file(*number).is_none());
    Ok(numbers.into_iter().map(device_path).collect())
}

/// The numbers of all loop devices there are.
fn numbers() -> io::Result<Vec<u32>> {
    let mut numbers = Vec::new();
    for entry in Path::new(BLOCK_DEVICES).read_dir()? {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("loop"));
        numbers.extend(number.and_then(|number| number.parse::<u32>().ok()));
    }
    Ok(numbers)
}

impl LoopDevice {
    /// Attaches an image to a free device.
    ///
    /// # Errors
    /// No permission, no free device, an image that cannot be opened.
    pub fn attach(image: &Path, options: AttachOptions) -> Result<LoopDevice, LoopError> {
        let control = control()?;
        let access = if options.read_only {
            OFlags::RDONLY
        } else {
            OFlags::RDWR
        };
        let file = open(image, access | OFlags::NONBLOCK).map_err(|source| LoopError::Image {
            path: image.to_owned(),
            source,
        })?;
        let mut last = None;
        for _ in 0..ATTEMPTS {
            let number = ioctl_value(control.as_fd(), LOOP_CTL_GET_FREE, 0)
                .map_err(LoopError::Control)? as u32;
            let path = device_path(number);
            let failed = |action, source| LoopError::Device {
                device: path.clone(),
                action,
                source,
            };
            let device =
                open(Path::new(&path), access).map_err(|e| failed("opening the device", e))?;
            match configure(device.as_fd(), file.as_fd(), image, options) {
                Ok(()) => {
                    if options.direct_io && !has_direct_io(number) {
                        return Err(LoopError::NoDirectIo {
                            path: image.to_owned(),
                        });
                    }
                    return Ok(LoopDevice { device, number });
                }
                // Somebody else took the device in between.
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                    last = Some(failed("attaching the image", error));
                }
                Err(error) => return Err(failed("attaching the image", error)),
            }
        }
        Err(last.expect("there was an attempt"))
    }

    /// The path of the device, as in `/dev/loop3`.
    pub fn path(&self) -> String {
        device_path(self.number)
    }

    /// The name of the device, as in `loop3`.
    pub fn name(&self) -> String {
        format!("loop{}", self.number)
    }

    /// Waits until no file system is mounted from the device. Unmounting may go on after the last descriptor of a
    /// mount is closed.
    ///
    /// # Errors
    /// [`LoopError::Busy`] when `timeout` is over.
    pub fn wait_unmounted(&self, timeout: Duration) -> Result<(), LoopError> {
        let path = self.path();
        // A file system holds its device exclusively, so opening it so tells that there is none.
        wait(self.number, timeout, || {
            match open(Path::new(&path), OFlags::RDONLY | OFlags::EXCL) {
                Ok(_) => Ok(true),
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => Ok(false),
                Err(error) => Err(error),
            }
        })
    }

    /// Lets go of the image and waits until the kernel has done so.
    ///
    /// # Errors
    /// [`LoopError::Busy`] when `timeout` is over: something else has the device open, and it is freed when that is
    /// closed.
    pub fn detach(self, timeout: Duration) -> Result<(), LoopError> {
        self.wait_unmounted(timeout)?;
        let LoopDevice { device, number } = self;
        // Who waits for the image may attach it here again before this is seen to be free.
        let attached = Attached::to(number);
        drop(device);
        wait(number, timeout, || {
            Ok(Attached::to(number)
                .is_none_or(|now| !attached.as_ref().is_some_and(|of| now.is(of))))
        })
    }
}

impl AsFd for LoopDevice {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}

fn control() -> Result<OwnedFd, LoopError> {
    open(Path::new(CONTROL), OFlags::RDWR).map_err(LoopError::Control)
}

/// Asks again and again until something is done.
fn wait(
    number: u32,
    timeout: Duration,
    mut done: impl FnMut() -> io::Result<bool>,
) -> Result<(), LoopError> {
    let start = Instant::now();
    loop {
        let done = done().map_err(|source| LoopError::Device {
            device: device_path(number),
            action: "asking whether it is free",
            source,
        })?;
        if done {
            return Ok(());
        }
        if start.elapsed() >= timeout {
            return Err(LoopError::Busy {
                device: device_path(number),
                waited: timeout,
            });
        }
        std::thread::sleep(POLL);
    }
}

fn device_path(number: u32) -> String {
    format!("/dev/loop{number}")
}

fn open(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(
        path,
        flags | OFlags::CLOEXEC,
        Mode::empty(),
    )?)
}

/// What is attached to a device, and which time something was.
struct Attached {
    backing: Vec<u8>,
    /// The kernel counts it up whenever a disk shows another medium, since 5.15.
    sequence: Option<Vec<u8>>,
}

impl Attached {
    fn to(number: u32) -> Option<Attached> {
        Some(Attached {
            sequence: std::fs::read(format!("/sys/block/loop{number}/diskseq")).ok(),
            backing: backing_file(number)?,
        })
    }

    /// Whether it is what was attached before: the kernel adds to the name of an image that was deleted since.
    fn is(&self, before: &Attached) -> bool {
        self.sequence == before.sequence && self.backing.starts_with(&before.backing)
    }
}

/// What is attached to a device; `None` if nothing is.
fn backing_file(number: u32) -> Option<Vec<u8>> {
    let mut name = std::fs::read(format!("/sys/block/loop{number}/loop/backing_file")).ok()?;
    name.truncate(name.trim_ascii_end().len());
    Some(name)
}

/// The image that a loop device shows, by the path of the device; `None` of what is none.
pub fn image_of(device: &str) -> Option<PathBuf> {
    let number = device.strip_prefix("/dev/loop")?.parse().ok()?;
    Some(OsString::from_vec(backing_file(number)?).into())
}

fn has_direct_io(number: u32) -> bool {
    std::fs::read(format!("/sys/block/loop{number}/loop/dio"))
        .is_ok_and(|text| text.starts_with(b"1"))
}

/// `struct loop_info64`.
#[repr(C)]
struct Info {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

/// `struct loop_config`.
#[repr(C)]
struct Config {
    fd: u32,
    block_size: u32,
    info: Info,
    reserved: [u64; 8],
}

const _: () = assert!(size_of::<Info>() == 232 && size_of::<Config>() == 304);

/// Attaches a file to a device.
fn configure(
    device: BorrowedFd<'_>,
    file: BorrowedFd<'_>,
    image: &Path,
    options: AttachOptions,
) -> io::Result<()> {
    let mut flags = LO_FLAGS_AUTOCLEAR;
    if options.read_only {
        flags |= LO_FLAGS_READ_ONLY;
    }
    if options.direct_io {
        flags |= LO_FLAGS_DIRECT_IO;
    }
    // For `losetup` to show; as much of the path as there is room for, and a zero byte.
    let mut file_name = [0; 64];
    for (to, from) in file_name[..63].iter_mut().zip(image.as_os_str().as_bytes()) {
        *to = *from;
    }
    let config = Config {
        fd: file.as_raw_fd() as u32,
        block_size: 0,
        info: Info {
            device: 0,
            inode: 0,
            rdevice: 0,
            offset: 0,
            size_limit: 0,
            number: 0,
            encrypt_type: 0,
            encrypt_key_size: 0,
            flags,
            file_name,
            crypt_name: [0; 64],
            encrypt_key: [0; 32],
            init: [0; 2],
        },
        reserved: [0; 8],
    };
    match ioctl_struct(device, LOOP_CONFIGURE, &config) {
        Err(error) if is_unknown_call(&error) => {
            configure_in_two_steps(device, file, &config.info, options)
        }
        result => result,
    }
}

/// The way of kernels before 5.8, in which a process killed between the two calls leaves a device behind.
fn configure_in_two_steps(
    device: BorrowedFd<'_>,
    file: BorrowedFd<'_>,
    info: &Info,
    options: AttachOptions,
) -> io::Result<()> {
    ioctl_value(device, LOOP_SET_FD, file.as_raw_fd() as libc::c_ulong)?;
    let result = ioctl_struct(device, LOOP_SET_STATUS64, info).and_then(|()| {
        if options.direct_io {
            ioctl_value(device, LOOP_SET_DIRECT_IO, 1)?;
        }
        Ok(())
    });
    if result.is_err() {
        // The first error is the one to tell.
        let _ = ioctl_value(device, LOOP_CLR_FD, 0);
    }
    result
}

fn is_unknown_call(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINVAL | libc::ENOTTY))
}

#[allow(unsafe_code)]
fn ioctl_value(fd: BorrowedFd<'_>, request: libc::Ioctl, value: libc::c_ulong) -> io::Result<i32> {
    // SAFETY: the requests given here take their argument as a number and touch no memory of this process.
    let result = unsafe { libc::ioctl(fd.as_raw_fd(), request, value) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(result)
}

#[allow(unsafe_code)]
fn ioctl_struct<T>(fd: BorrowedFd<'_>, request: libc::Ioctl, argument: &T) -> io::Result<()> {
    // SAFETY: `argument` is a live value of the structure that the request reads (`Config` or `Info`, whose layouts are
    // the kernel's), and the kernel only reads it.
    let result = unsafe { libc::ioctl(fd.as_raw_fd(), request, std::ptr::from_ref(argument)) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Who lets go of an image must not wait for the next one who has it, on the same device.
    #[test]
    fn an_image_that_is_attached_again_is_told_from_the_time_before() {
        if let Err(why) = is_possible() {
            println!("skipped: no loop device: {why}");
            return;
        }
        let image = tempfile::NamedTempFile::new().unwrap();
        image.as_file().set_len(1 << 20).unwrap();
        let timeout = Duration::from_secs(30);
        let attach = || {
            let device = LoopDevice::attach(image.path(), AttachOptions::default()).unwrap();
            let attached = Attached::to(device.number).unwrap();
            (device, attached)
        };
        // Others may take the number in between.
        for _ in 0..20 {
            let (first, before) = attach();
            let number = first.number;
            assert!(Attached::to(number).unwrap().is(&before));
            first.detach(timeout).unwrap();
            let (second, now) = attach();
            let is_alike = second.number == number;
            assert_eq!(now.backing, before.backing);
            if is_alike && now.sequence.is_some() {
                assert!(!now.is(&before));
            }
            second.detach(timeout).unwrap();
            if is_alike {
                return;
            }
        }
        println!("skipped: others took each device in between");
    }
}
