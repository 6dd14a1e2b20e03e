//! What real file systems in images need: rights, loop devices, mounts, and each type of file system.

use super::Check;
use fsage_linux::loop_device::{self, AttachOptions, LoopDevice, LoopError};
use fsage_linux::mount::{DetachedMount, MountOptions};
use fsage_real::directory::Volume;
use fsage_real::loop_image::{self, Kind, LoopImage, LoopOptions};
use fsage_real::programs;
use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

/// Types of file systems, the common ones first.
pub const KINDS: [Kind; 7] = [
    Kind::Ext4,
    Kind::Xfs,
    Kind::Btrfs,
    Kind::Ext3,
    Kind::Ext2,
    Kind::F2fs,
    Kind::Nilfs2,
];

const CAP_SYS_ADMIN: u32 = 21;
const TIMEOUT: Duration = Duration::from_secs(10);
const SUDO: &str =
    "run fsage with sudo, or in a container with CAP_SYS_ADMIN and /dev/loop-control";

/// Rights, loop devices and mounts.
pub fn rights(folder: &Path) -> Vec<Check> {
    let root = Check::new(
        "root",
        "loop: targets, and what nobody else may read in snapshots",
    );
    let root = if has_capability(CAP_SYS_ADMIN) {
        root.yes("CAP_SYS_ADMIN")
    } else {
        root.no("no CAP_SYS_ADMIN", SUDO)
    };
    let device = Check::new("loop", "loop: targets");
    let device = match attach(folder) {
        Ok(path) => device.yes(format!("{path} had an image and let it go")),
        Err(error) => device.no(error.to_string(), SUDO),
    };
    let mount = Check::new("mount", "loop: targets that no other process sees");
    let mount = match DetachedMount::new("tmpfs", "none", &MountOptions::default()) {
        Ok(_) => mount.yes("fsopen, fsconfig, fsmount"),
        Err(error) => mount.no(error.to_string(), SUDO),
    };
    vec![root, device, mount]
}

/// Attaches a small image and lets it go.
fn attach(folder: &Path) -> Result<String, LoopError> {
    loop_device::is_possible()?;
    let image = folder.join("loop");
    let failed = |source| LoopError::Image {
        path: image.clone(),
        source,
    };
    let file = File::create(&image).map_err(failed)?;
    file.set_len(1 << 20).map_err(failed)?;
    let device = LoopDevice::attach(&image, AttachOptions::default())?;
    let path = device.path();
    device.detach(TIMEOUT)?;
    Ok(path)
}

/// One type: in the kernel, with its `mkfs`, and a small one really made, mounted and let go.
pub fn file_system(kind: Kind, folder: &Path) -> Check {
    let check = Check::new(kind.name(), "loop: targets of this type");
    let Some(program) = programs::find(&kind.mkfs()) else {
        let next = format!("apt-get install {}", kind.package());
        return check.no(format!("no {}", kind.mkfs()), next);
    };
    let checker = kind
        .check()
        .and_then(|(checker, _)| programs::find(checker));
    let mut version = kind.mkfs();
    for program in checker.iter().chain([&program]) {
        match programs::version(program, "-V") {
            Ok(said) if said.is_empty() => {}
            Ok(said) => version = said,
            Err(why) => {
                let next = format!("apt-get install --reinstall {}", kind.package());
                return check.no(format!("{} cannot start: {why}", program.display()), next);
            }
        }
    }
    if !is_in_kernel(kind) {
        // A module is not loaded just to look at it.
        return if has_module(kind) {
            check.yes(format!("kernel module, loaded when used; {version}"))
        } else {
            check.no("not in this kernel", format!("a kernel with {kind} in it"))
        };
    }
    if loop_image::is_possible(kind).is_err() {
        return check.no(format!("in the kernel; {version}; no right to mount"), SUDO);
    }
    match make_one(kind, &folder.join(kind.name())) {
        Ok(driver) => {
            let driver = driver.map_or_else(String::new, |driver| format!("; {driver}"));
            check.yes(format!("made and mounted{driver}; {version}"))
        }
        Err(error) => check.no(format!("{error:#}"), "see the message"),
    }
}

fn make_one(kind: Kind, image: &Path) -> anyhow::Result<Option<String>> {
    let mut options = LoopOptions::new(kind);
    options.size_bytes = kind.min_bytes().unwrap_or(options.size_bytes);
    let volume = LoopImage::create(&options, image)?;
    let driver = volume
        .facts()
        .into_iter()
        .find(|(name, _)| *name == "driver");
    Box::new(volume).close()?;
    fs::remove_file(image)?;
    Ok(driver.map(|(_, driver)| driver))
}

fn has_capability(number: u32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    effective
        .and_then(|text| u64::from_str_radix(text.trim(), 16).ok())
        .is_some_and(|set| set >> number & 1 == 1)
}

fn is_in_kernel(kind: Kind) -> bool {
    let known = fs::read_to_string("/proc/filesystems").unwrap_or_default();
    known
        .lines()
        .any(|line| line.split_whitespace().last() == Some(kind.name()))
}

fn has_module(kind: Kind) -> bool {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let list = Path::new("/lib/modules")
        .join(release.trim_end())
        .join("modules.dep");
    let list = fs::read_to_string(list).unwrap_or_default();
    let file = format!("/{kind}.ko");
    list.lines().any(|line| {
        let path = line.split(':').next().unwrap_or_default();
        path.contains(&file)
    })
}
