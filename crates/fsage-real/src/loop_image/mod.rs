//! A file system in an image file, mounted through a loop device where nobody else sees it.
//!
//! The image is a sparse file. The mount has no path ([`DetachedMount`]) and the loop device frees itself
//! ([`LoopDevice`]), so that both are gone when this process ends, however it ends; the kernel unmounts properly then,
//! and the image holds all that was written.

mod error;
mod kind;
mod mend;
mod mkfs_words;
mod options;
mod regime;
mod unpublished;
mod uuid;

pub use error::ImageError;
pub use kind::Kind;
pub use options::{DEFAULT_SIZE, LoopOptions};
pub use regime::Regime;
pub use unpublished::Unpublished;
pub use uuid::Uuid;

use crate::directory::{RoomBelow, Source, Volume};
use crate::{machine, programs};
use fsage_core::size;
use fsage_durable::parent_of;
use fsage_linux::btrfs;
use fsage_linux::freeze::freeze_and_thaw;
use fsage_linux::loop_device::{self, AttachOptions, LoopDevice};
use fsage_linux::mount::{DetachedMount, MountError, MountOptions};
use fsage_linux::xfs_inactive::wait_for_inactive;
use rustix::fs::{fstat, fstatfs, fstatvfs};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// How long others may keep a loop device or a mount busy (a daemon that looks at every new device does so for a
/// moment) before that is an error.
const TIMEOUT: Duration = Duration::from_secs(30);
/// How often another UUID is tried.
const UUID_ATTEMPTS: usize = 100;
/// How often mounting is tried again where btrfs takes an image for another one.
const MOUNT_ATTEMPTS: u32 = 10;
/// How long a commit takes at most to hand freed blocks back to the allocator once `syncfs` has returned.
const HANDING_BACK: Duration = Duration::from_millis(20);

/// `f_type` of btrfs, which never writes over what is there.
const BTRFS_MAGIC: rustix::fs::FsWord = 0x9123_683E;

/// A mounted image.
#[derive(Debug)]
pub struct LoopImage {
    /// `None` only when mounting again has failed. It goes before the device it is mounted from.
    mount: Option<DetachedMount>,
    device: LoopDevice,
    image: PathBuf,
    /// Its file, whatever its name is.
    file: File,
    options: LoopOptions,
    read_only: bool,
    /// The command that made it, and its version, if it was made now.
    made_by: Option<(String, String)>,
    warning: Option<String>,
    /// Pages that the kernel had looked through for some to reclaim when it was mounted.
    looked_through: Option<u64>,
    /// In a regime: the machine is set up for it. Last, as unmounting is still under it.
    _machine: Option<Arc<machine::Held>>,
}

/// The fact of an image in a regime that the kernel reclaimed memory meanwhile, and may have written back before its
/// time, so that another run may have another layout.
pub const RECLAIMED: &str = "memory_reclaimed";

impl LoopImage {
    /// Makes the image file at `image`, a file system in it, and mounts that. If any of these fails, no image stays.
    ///
    /// # Errors
    /// No right to mount, no `mkfs`, a size that is too small, a path where something is already; see [`ImageError`].
    pub fn create(options: &LoopOptions, image: &Path) -> Result<LoopImage, ImageError> {
        let (made, unpublished) = LoopImage::make(options, image)?;
        unpublished.publish()?;
        Ok(made)
    }

    /// The same, and the image gets its name only when it is [published](Unpublished::publish). If this process dies
    /// before, the next one that makes an image of that name removes what it left.
    ///
    /// # Errors
    /// As for [`create`](Self::create).
    pub fn make(
        options: &LoopOptions,
        image: &Path,
    ) -> Result<(LoopImage, Unpublished), ImageError> {
        is_possible(options.kind)?;
        // Before anything is written: an option may be wrong.
        options.mount_options(false)?;
        mkfs_words::check(options.kind, &options.mkfs)
            .map_err(|reason| ImageError::MkfsWord { reason })?;
        options.check_size()?;
        let program = programs::find(&options.kind.mkfs()).ok_or_else(|| ImageError::NoMkfs {
            program: options.kind.mkfs(),
            package: options.kind.package(),
        })?;
        let unpublished = Unpublished::new(image, options.size_bytes)?;
        let warning = lack_of_room(options, image);
        let (options, line) = make_file_system(options, &program, &unpublished.path(), image)?;
        let version = programs::version(&program, "-V").unwrap_or_default();
        let mut made = LoopImage {
            made_by: Some((line, version)),
            warning,
            ..LoopImage::mount(&options, &unpublished.path(), false, false)?
        };
        image.clone_into(&mut made.image);
        made.give_root_to_user()?;
        made.sync_mounted()
            .map_err(ImageError::io(image, "syncing it"))?;
        Ok((made, unpublished))
    }

    /// Mounts an image that is there, as it was made: with the options of its run, or [`LoopOptions::of_image`]. The
    /// file system replays its journal if it was not unmounted; apart from that, nothing is written when `read_only`.
    ///
    /// # Errors
    /// No right to mount, no regular file, no such file system in it, an image in use; see [`ImageError`].
    pub fn open(
        options: &LoopOptions,
        image: &Path,
        read_only: bool,
    ) -> Result<LoopImage, ImageError> {
        let size_bytes = image_bytes(image)?;
        is_possible(options.kind)?;
        loop_device::wait_unattached(image, TIMEOUT)?;
        let options = LoopOptions {
            size_bytes,
            ..options.clone()
        };
        if !read_only {
            return LoopImage::mount(&options, image, false, false);
        }
        LoopImage::mount(&options, image, true, true).or_else(|error| match error {
            // A journal that has to be replayed cannot be on a device that is only read: EROFS, and EIO from btrfs.
            ImageError::Mount(MountError::Failed { .. }) => {
                LoopImage::mount(&options, image, true, false).map_err(|_| error)
            }
            _ => Err(error),
        })
    }

    fn mount(
        options: &LoopOptions,
        image: &Path,
        read_only: bool,
        read_only_device: bool,
    ) -> Result<LoopImage, ImageError> {
        let attach = AttachOptions {
            read_only: read_only_device,
            direct_io: options.direct,
        };
        machine::tidy()?;
        let machine = match options.regime {
            Some(_) if !read_only => Some(machine::hold()?),
            _ => None,
        };
        let file = File::open(image).map_err(ImageError::io(image, "opening the image"))?;
        let device = LoopDevice::attach(image, attach)?;
        let mount_options = options.mount_options(read_only)?;
        let mount = mount_device(options.kind, &device, &mount_options)?;
        if machine.is_some() && options.kind == Kind::Ext4 {
            load_groups(&device).map_err(ImageError::io(image, "loading its groups"))?;
        }
        if !read_only {
            make_settings(&device, options).map_err(ImageError::io(image, "setting sysfs"))?;
        }
        Ok(LoopImage {
            mount: Some(mount),
            device,
            image: image.to_owned(),
            file,
            options: options.clone(),
            read_only,
            made_by: None,
            warning: None,
            looked_through: machine::pages_looked_through(),
            _machine: machine,
        })
    }

    /// What the user should hear: the file system below the image has less room than the image may take.
    pub fn warning(&self) -> Option<&str> {
        self.warning.as_deref()
    }

    /// What the image is, with the UUID that its file system got.
    pub fn options(&self) -> &LoopOptions {
        &self.options
    }

    /// Where the image lies.
    pub fn path(&self) -> &Path {
        &self.image
    }

    /// The type of file system, if it is in a regime.
    fn regime_of(&self) -> Option<Kind> {
        self.options.regime.map(|regime| regime.kind)
    }

    /// `mkfs` gives the root directory to root, and whoever may mount need not be root.
    fn give_root_to_user(&mut self) -> Result<(), ImageError> {
        let user = rustix::process::geteuid();
        let root = self.root();
        let change = || {
            if rustix::fs::fstat(root)?.st_uid != user.as_raw() {
                rustix::fs::fchown(root, Some(user), Some(rustix::process::getegid()))?;
            }
            Ok(())
        };
        change().map_err(ImageError::io(
            &self.image,
            "giving its root directory to this user",
        ))
    }

    /// Syncs; the kernel does so when it unmounts, too, but tells nobody of errors.
    fn sync_mounted(&self) -> io::Result<()> {
        match &self.mount {
            Some(mount) if !self.read_only => Ok(rustix::fs::syncfs(mount.root())?),
            _ => Ok(()),
        }
    }
}

impl Volume for LoopImage {
    fn root(&self) -> BorrowedFd<'_> {
        // The device stands in for a mount that failed: no directory, so nothing can be done relative to it.
        self.mount
            .as_ref()
            .map_or_else(|| self.device.as_fd(), DetachedMount::root)
    }

    fn sync(&self) -> io::Result<()> {
        if self.regime_of() != Some(Kind::Ext4) {
            return self.sync_mounted();
        }
        wait_for_writes(&self.device);
        self.sync_mounted()?;
        // Inodes that writing back made dirty again; and blocks that were freed are to be had.
        self.sync_mounted()?;
        thread::sleep(HANDING_BACK);
        Ok(())
    }

    fn end_day(&self) -> io::Result<()> {
        self.sync()?;
        if self.regime_of() == Some(Kind::Xfs) {
            // A log that fills up is forced to disk at any moment.
            freeze_and_thaw(self.root())?;
        }
        Ok(())
    }

    fn wait_for_removed(&self) -> io::Result<()> {
        match self.regime_of() {
            Some(Kind::Xfs) => wait_for_inactive(self.root()),
            _ => Ok(()),
        }
    }

    fn remount(&mut self) -> io::Result<bool> {
        self.sync()?;
        self.mount = None;
        self.device.wait_unmounted(TIMEOUT)?;
        let options = self.options.mount_options(self.read_only)?;
        self.mount = Some(mount_device(self.options.kind, &self.device, &options)?);
        if self.regime_of() == Some(Kind::Ext4) {
            load_groups(&self.device)?;
        }
        if !self.read_only {
            make_settings(&self.device, &self.options)?;
        }
        Ok(true)
    }

    /// With the same options, but that programs in it can be run: whoever mounts it says which.
    fn source(&self) -> Option<Source> {
        let words = self.options.mount_words(self.read_only);
        let words: Vec<String> = words.into_iter().filter(|word| word != "noexec").collect();
        Some(Source {
            device: self.device.path(),
            kind: self.options.kind.name().to_owned(),
            options: words.join(","),
        })
    }

    fn close(self: Box<Self>) -> io::Result<()> {
        let synced = self.sync_mounted();
        let LoopImage {
            mount,
            device,
            file,
            read_only,
            _machine,
            ..
        } = *self;
        drop(mount);
        device.detach(TIMEOUT)?;
        synced?;
        if !read_only {
            file.sync_all()?;
        }
        Ok(())
    }

    fn room_below(&self) -> io::Result<Option<RoomBelow>> {
        let below = fstatvfs(&self.file)?;
        let taken_bytes = (fstat(&self.file)?.st_blocks as u64).saturating_mul(512);
        let size_bytes = self.options.size_bytes;
        let copies = fstatfs(&self.file)?.f_type == BTRFS_MAGIC;
        Ok(Some(RoomBelow {
            free_bytes: below.f_bavail.saturating_mul(below.f_frsize),
            growth_bytes: (!copies).then(|| size_bytes.saturating_sub(taken_bytes)),
            size_bytes,
        }))
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let kind = self.options.kind;
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let mut facts = vec![
            ("kernel", kernel.trim_end().to_owned()),
            ("file_system", kind.to_string()),
        ];
        if let Some(driver) = foreign_driver(kind, &self.device) {
            facts.push(("driver", driver));
        }
        if let Some((line, version)) = &self.made_by {
            facts.push(("mkfs", line.clone()));
            facts.push(("mkfs_version", version.clone()));
        }
        facts.extend([
            (
                "mount_options",
                self.options.mount_words(self.read_only).join(","),
            ),
            ("image", self.image.display().to_string()),
            ("image_bytes", self.options.size_bytes.to_string()),
            ("direct_io", self.options.direct.to_string()),
        ]);
        if let Some(blocks) = self.options.stream_request {
            facts.push(("stream_req", blocks.to_string()));
        }
        if !self.options.settings.is_empty() {
            let settings = self.options.settings.iter();
            let settings: Vec<String> = settings
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            facts.push(("sysfs", settings.join(",")));
        }
        if let Some(regime) = self.options.regime {
            facts.push(("regime", regime.name.to_owned()));
            facts.extend(machine_facts(&self.device));
            if machine::pages_looked_through() != self.looked_through {
                facts.push((RECLAIMED, "while it was mounted".to_owned()));
            }
        }
        facts
    }
}

/// Whether this process may attach and mount images of this type.
///
/// # Errors
/// What is missing.
pub fn is_possible(kind: Kind) -> Result<(), ImageError> {
    DetachedMount::is_possible(kind.name())?;
    Ok(loop_device::is_possible()?)
}

/// Has the allocator of ext4 load what is free in every group, which it would do by itself within seconds.
fn load_groups(device: &LoopDevice) -> io::Result<()> {
    let shown = Path::new("/proc/fs/ext4")
        .join(device.name())
        .join("mb_groups");
    fs::read(shown).map(drop)
}

/// Makes the settings of a mounted file system that were asked for; they end with the mount.
fn make_settings(device: &LoopDevice, options: &LoopOptions) -> io::Result<()> {
    let folder = Path::new("/sys/fs")
        .join(options.kind.name())
        .join(device.name());
    let set = |name: &str, value: &str| {
        let file = File::options().write(true).open(folder.join(name));
        let set = file.and_then(|mut file| file.write_all(value.as_bytes()));
        set.map_err(|error| {
            let hint = match error.kind() {
                io::ErrorKind::NotFound => format!("; there are {}", names_in(&folder)),
                _ => String::new(),
            };
            io::Error::new(error.kind(), format!("{name}={value}: {error}{hint}"))
        })
    };
    if let Some(blocks) = options.stream_request {
        set("mb_stream_req", &blocks.to_string())?;
    }
    options
        .settings
        .iter()
        .try_for_each(|(name, value)| set(name, value))
}

/// What can be set in a folder of `/sys`, in a list.
fn names_in(folder: &Path) -> String {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let can_be_set = |entry: &fs::DirEntry| {
        let mode = entry.metadata().map(|meta| meta.permissions().mode());
        mode.is_ok_and(|mode| mode & 0o200 != 0) && entry.path().is_file()
    };
    let names = entries.filter(can_be_set).map(|entry| entry.file_name());
    let mut names: Vec<String> = names
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    names.sort();
    names.join(", ")
}

/// Waits until nothing is being written to the device. Files that were replaced are on their way before a sync, which
/// passes over pages that are still being written, and comes back to them last.
fn wait_for_writes(device: &LoopDevice) {
    let shown = Path::new("/sys/block").join(device.name()).join("inflight");
    let since = Instant::now();
    let is_busy =
        || fs::read_to_string(&shown).is_ok_and(|text| text.split_whitespace().any(|n| n != "0"));
    while is_busy() && since.elapsed() < TIMEOUT {
        thread::sleep(Duration::from_millis(1));
    }
}

/// What the machine adds to the layout: keys of a model, and their values.
fn machine_facts(device: &LoopDevice) -> Vec<(&'static str, String)> {
    let queue = Path::new("/sys/block")
        .join(device.name())
        .join("queue/rotational");
    let rotates = fs::read_to_string(queue).is_ok_and(|text| text.trim() == "1");
    let cpus = machine::possible_cpus().map(|cpus| ("cpus", cpus.to_string()));
    let rotational = if rotates { "on" } else { "off" };
    cpus.into_iter()
        .chain([("rotational", rotational.to_owned())])
        .collect()
}

/// Mounts what a device shows. Where another device has shown this image in a later state, btrfs remembers that
/// (kernels before 6.7) and refuses this one until it has forgotten the other. Linux 6.18 has once refused the image of
/// a process killed a moment before in the same way, while images of the same UUID came and went: hence the tries.
/// A device is busy for a moment, too, where a program is just being started by another thread: from its fork until its
/// exec it has what was open here, and so the descriptor by which it was seen that nothing is mounted.
fn mount_device(
    kind: Kind,
    device: &LoopDevice,
    options: &MountOptions,
) -> Result<DetachedMount, MountError> {
    let mount = || DetachedMount::new(kind.name(), &device.path(), options);
    for tries in 0..MOUNT_ATTEMPTS {
        match mount() {
            Err(error) if kind == Kind::Btrfs && error.kind() == io::ErrorKind::AlreadyExists => {
                btrfs::forget_free_loop_devices().map_err(|_| error)?;
                // What was mounted from another device may be on its way out.
                thread::sleep(HANDING_BACK * tries);
            }
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                thread::sleep(HANDING_BACK * (tries + 1));
            }
            result => return result,
        }
    }
    mount()
}

/// The size of an image that is there.
fn image_bytes(image: &Path) -> Result<u64, ImageError> {
    let meta = fs::metadata(image).map_err(ImageError::io(image, "looking at the image"))?;
    if !meta.is_file() {
        return Err(ImageError::NotAFile {
            path: image.to_owned(),
        });
    }
    Ok(meta.len())
}

/// Newer kernels serve ext2 and ext3 by the ext4 driver, which lays files out otherwise: the results must say so. That
/// driver shows every file system it has below `/sys/fs/ext4`.
fn foreign_driver(kind: Kind, device: &LoopDevice) -> Option<String> {
    let shown = Path::new("/sys/fs/ext4").join(device.name()).exists();
    (matches!(kind, Kind::Ext2 | Kind::Ext3) && shown)
        .then(|| format!("ext4 driver, {kind} format"))
}

/// A sparse image may be larger than what is free below it; then writing to it fails one day.
fn lack_of_room(options: &LoopOptions, image: &Path) -> Option<String> {
    let stat = rustix::fs::statvfs(parent_of(image)).ok()?;
    let free_bytes = stat.f_bavail.saturating_mul(stat.f_frsize);
    (free_bytes < options.size_bytes).then(|| {
        format!(
            "{}: the image may grow to {}, and {} are free below it; the run stops before they are used up, and can be \
             resumed when there is room",
            image.display(),
            size::human(options.size_bytes),
            size::human(free_bytes)
        )
    })
}

/// Whether a file system of this type and UUID is mounted, so that another one could not be: the control of a run is
/// one. Only btrfs minds, and it shows what it has mounted.
fn is_in_use(kind: Kind, uuid: Uuid) -> bool {
    kind == Kind::Btrfs && Path::new("/sys/fs/btrfs").join(uuid.to_string()).exists()
}

/// Runs `mkfs` and gives the options with the UUID it took, and its command line, in which the image has the name that
/// it will get.
fn make_file_system(
    options: &LoopOptions,
    program: &Path,
    image: &Path,
    called: &Path,
) -> Result<(LoopOptions, String), ImageError> {
    let mut options = options.clone();
    let mut attempt = 0;
    while is_in_use(options.kind, options.uuid) {
        options.uuid = options.uuid.next();
    }
    loop {
        let words = options.kind.mkfs_words(options.uuid, &options.mkfs);
        let line = command_line(program, &words, called);
        let failed = |said: String| ImageError::Mkfs {
            line: line.clone(),
            said,
        };
        let output = Command::new(program)
            .args(&words)
            .arg(image)
            .stdin(Stdio::null())
            .env("LC_ALL", "C")
            .output()
            .map_err(|error| failed(error.to_string()))?;
        if output.status.success() {
            return Ok((options, line));
        }
        let said = String::from_utf8_lossy(&output.stderr);
        attempt += 1;
        // mkfs.btrfs refuses the UUID of any file system that it sees, mounted or not.
        if options.kind == Kind::Btrfs
            && said.contains("non-unique UUID")
            && attempt < UUID_ATTEMPTS
        {
            options.uuid = options.uuid.next();
            continue;
        }
        let said: Vec<&str> = said
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .collect();
        return Err(failed(match said.as_slice() {
            [] => output.status.to_string(),
            lines => lines.join("; "),
        }));
    }
}

fn command_line(program: &Path, words: &[String], image: &Path) -> String {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    let quoted = words.iter().map(|word| {
        if word.is_empty() || word.contains(|c: char| c.is_whitespace() || "'\"\\".contains(c)) {
            format!("'{}'", word.replace('\'', r"'\''"))
        } else {
            word.clone()
        }
    });
    let words: Vec<String> = quoted.collect();
    format!("{name} {} {}", words.join(" "), image.display())
}
