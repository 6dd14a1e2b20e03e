//! Mounts that nobody else sees.
//!
//! `fsopen`, `fsconfig` and `fsmount` (Linux 5.2) give a descriptor of a mount that is attached to no path of any
//! namespace: no other process can walk into it, nothing shows in the tables of mounts, and it is gone with the last
//! descriptor, also when the process is killed.

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use thiserror::Error;

/// Why a file system is not mounted.
#[derive(Debug, Error)]
pub enum MountError {
    /// No right to mount.
    #[error(
        "mounting {kind} needs root (CAP_SYS_ADMIN in the first user namespace): run it with sudo"
    )]
    NotPermitted {
        /// The type of file system.
        kind: String,
    },
    /// The kernel is older than the calls.
    #[error("this kernel has no fsopen(2); Linux 5.2 or newer is needed")]
    NoCall,
    /// The kernel does not know the type.
    #[error(
        "this kernel has no {kind}; load its module (modprobe {kind}) or choose another file system"
    )]
    UnknownKind {
        /// The type of file system.
        kind: String,
    },
    /// An option that is none.
    #[error("mount option `{option}`: {reason}")]
    Option {
        /// The option as given.
        option: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The file system refused.
    #[error("mounting {source_path} as {kind}: {source}{log}")]
    Failed {
        /// The type of file system.
        kind: String,
        /// The device.
        source_path: String,
        /// What the call failed with.
        source: io::Error,
        /// What the file system said, from `": "` on, or nothing.
        log: String,
    },
}

impl MountError {
    /// The kind of the system's error.
    pub fn kind(&self) -> io::ErrorKind {
        match self {
            MountError::NotPermitted { .. } => io::ErrorKind::PermissionDenied,
            MountError::NoCall | MountError::UnknownKind { .. } => io::ErrorKind::Unsupported,
            MountError::Option { .. } => io::ErrorKind::InvalidInput,
            MountError::Failed { source, .. } => source.kind(),
        }
    }
}

impl From<MountError> for io::Error {
    fn from(error: MountError) -> io::Error {
        io::Error::new(error.kind(), error)
    }
}

/// Mount options, as `mount -o` takes them, told apart by who they are for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountOptions {
    /// Of the mount: `noatime`, `nodev`, ...
    attributes: MountAttrFlags,
    /// Of the file system, and those that the kernel handles for every file system (`ro`, `sync`, `lazytime`, ...).
    parameters: Vec<(String, Option<String>)>,
}

impl Default for MountOptions {
    fn default() -> MountOptions {
        MountOptions {
            attributes: MountAttrFlags::empty(),
            parameters: Vec::new(),
        }
    }
}

/// Options of the mount itself: the bits to clear, and the bits to set.
const ATTRIBUTES: [(&str, MountAttrFlags, MountAttrFlags); 13] = {
    const NONE: MountAttrFlags = MountAttrFlags::empty();
    const ATIME: MountAttrFlags = MountAttrFlags::MOUNT_ATTR__ATIME;
    const NODIRATIME: MountAttrFlags = MountAttrFlags::MOUNT_ATTR_NODIRATIME;
    const NODEV: MountAttrFlags = MountAttrFlags::MOUNT_ATTR_NODEV;
    const NOSUID: MountAttrFlags = MountAttrFlags::MOUNT_ATTR_NOSUID;
    const NOEXEC: MountAttrFlags = MountAttrFlags::MOUNT_ATTR_NOEXEC;
    [
        ("relatime", ATIME, NONE),
        ("noatime", ATIME, MountAttrFlags::MOUNT_ATTR_NOATIME),
        ("strictatime", ATIME, MountAttrFlags::MOUNT_ATTR_STRICTATIME),
        ("nodiratime", NONE, NODIRATIME),
        ("diratime", NODIRATIME, NONE),
        ("nodev", NONE, NODEV),
        ("dev", NODEV, NONE),
        ("nosuid", NONE, NOSUID),
        ("suid", NOSUID, NONE),
        ("noexec", NONE, NOEXEC),
        ("exec", NOEXEC, NONE),
        ("nosymfollow", NONE, MountAttrFlags::MOUNT_ATTR_NOSYMFOLLOW),
        ("defaults", NONE, NONE),
    ]
};

/// Options by which a file system is told of another device or file: the journal of ext3 and ext4, the log and the
/// realtime device of XFS, the other devices of btrfs; and where `mount(8)` begins to read an image.
const OTHER_FILES: [&str; 7] = [
    "journal_path",
    "journal_dev",
    "logdev",
    "rtdev",
    "device",
    "offset",
    "sizelimit",
];

impl MountOptions {
    /// Takes a comma-separated list apart; later options win over earlier ones. What the file system knows is asked
    /// when it is mounted.
    ///
    /// # Errors
    /// An empty option, one that only makes sense for `mount(8)`, or one that names another file or device.
    pub fn parse(text: &str) -> Result<MountOptions, MountError> {
        let mut options = MountOptions::default();
        for option in text.split(',') {
            options.add(option)?;
        }
        Ok(options)
    }

    /// Adds one option.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn add(&mut self, option: &str) -> Result<(), MountError> {
        let wrong = |reason: &str| {
            Err(MountError::Option {
                option: option.to_owned(),
                reason: reason.to_owned(),
            })
        };
        let (key, value) = match option.split_once('=') {
            Some((key, value)) => (key, Some(value)),
            None => (option, None),
        };
        if let (Some((_, clear, set)), None) =
            (ATTRIBUTES.iter().find(|(name, ..)| *name == key), value)
        {
            self.attributes = self.attributes.difference(*clear).union(*set);
            return Ok(());
        }
        match key {
            "" => return wrong("expected a name or name=value between the commas"),
            "loop" | "bind" | "rbind" | "move" | "remount" | "source" => {
                return wrong("this is fsage's own business; leave it out");
            }
            _ if OTHER_FILES.contains(&key) => {
                return wrong(
                    "this names a file or device besides the image, which fsage neither reads nor writes; leave it \
                     out",
                );
            }
            "ro" => self.attributes |= MountAttrFlags::MOUNT_ATTR_RDONLY,
            "rw" => {
                self.attributes.remove(MountAttrFlags::MOUNT_ATTR_RDONLY);
            }
            _ => {}
        }
        if option.contains('\0') {
            return wrong("a zero byte");
        }
        self.parameters
            .push((key.to_owned(), value.map(str::to_owned)));
        Ok(())
    }
}

/// A mounted file system without a path.
#[derive(Debug)]
pub struct DetachedMount {
    root: OwnedFd,
    /// Keeps the mount whole: when it is closed, mounts below it would be taken apart.
    _mount: OwnedFd,
}

impl DetachedMount {
    /// Mounts `device` as a file system of type `kind`.
    ///
    /// # Errors
    /// See [`MountError`].
    pub fn new(
        kind: &str,
        device: &str,
        options: &MountOptions,
    ) -> Result<DetachedMount, MountError> {
        let context = context(kind)?;
        let failed = |error: Errno| MountError::Failed {
            kind: kind.to_owned(),
            source_path: device.to_owned(),
            source: error.into(),
            log: log(&context),
        };
        rustix::mount::fsconfig_set_string(&context, "source", device).map_err(failed)?;
        for (key, value) in &options.parameters {
            let result = match value {
                Some(value) => rustix::mount::fsconfig_set_string(&context, key, value),
                None => rustix::mount::fsconfig_set_flag(&context, key),
            };
            result.map_err(|error| {
                let log = log(&context);
                MountError::Option {
                    option: value
                        .as_ref()
                        .map_or_else(|| key.clone(), |value| format!("{key}={value}")),
                    reason: match log.strip_prefix(": ") {
                        Some(log) => format!("{kind} says: {log}"),
                        None => format!("{kind} does not take it: {error}"),
                    },
                }
            })?;
        }
        rustix::mount::fsconfig_create(&context).map_err(failed)?;
        let mount =
            rustix::mount::fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, options.attributes)
                .map_err(failed)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::openat(&mount, ".", flags, Mode::empty()).map_err(failed)?;
        Ok(DetachedMount {
            root,
            _mount: mount,
        })
    }

    /// Whether this process may mount a file system of type `kind`: nothing is mounted.
    ///
    /// # Errors
    /// Why not. That `kind` may be mounted from a given device is not known before it is tried.
    pub fn is_possible(kind: &str) -> Result<(), MountError> {
        context(kind).map(drop)
    }

    /// The root directory, open for reading.
    pub fn root(&self) -> BorrowedFd<'_> {
        self.root.as_fd()
    }
}

fn context(kind: &str) -> Result<OwnedFd, MountError> {
    rustix::mount::fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC).map_err(|error| {
        let kind = kind.to_owned();
        match error {
            Errno::NOSYS => MountError::NoCall,
            Errno::PERM | Errno::ACCESS => MountError::NotPermitted { kind },
            Errno::NODEV => MountError::UnknownKind { kind },
            _ => MountError::Failed {
                kind,
                source_path: "(nothing yet)".to_owned(),
                source: error.into(),
                log: String::new(),
            },
        }
    })
}

/// What the file system has said, one message a read, each with its level (`e`, `w`, `i`) and a blank in front.
fn log(context: &OwnedFd) -> String {
    let mut log = String::new();
    let mut message = [0; 1024];
    while let Ok(length @ 1..) = rustix::io::read(context, &mut message) {
        let text = String::from_utf8_lossy(&message[..length]);
        let text = text.trim_end();
        log.push_str(": ");
        log.push_str(text.get(2..).unwrap_or(text));
    }
    log
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_the_mount_are_told_from_those_of_the_file_system() {
        let options = MountOptions::parse("noatime,data=journal,nodev,dev,lazytime,ro").unwrap();
        let expected = MountAttrFlags::MOUNT_ATTR_NOATIME | MountAttrFlags::MOUNT_ATTR_RDONLY;
        assert_eq!(options.attributes, expected);
        let parameters: Vec<(&str, Option<&str>)> = options
            .parameters
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_deref()))
            .collect();
        let expected = [("data", Some("journal")), ("lazytime", None), ("ro", None)];
        assert_eq!(parameters, expected);
    }

    #[test]
    fn the_last_word_on_access_times_counts() {
        let options = MountOptions::parse("noatime,strictatime,relatime").unwrap();
        assert_eq!(options, MountOptions::default());
    }

    #[test]
    fn what_only_mount_8_knows_is_refused() {
        for text in ["loop", "remount", "source=/dev/sda", "noatime,,ro", ""] {
            assert!(matches!(
                MountOptions::parse(text),
                Err(MountError::Option { .. })
            ));
        }
    }

    #[test]
    fn what_names_another_file_or_device_is_refused() {
        for text in [
            "noatime,journal_path=/x",
            "journal_dev=0x801",
            "logdev=/dev/sda",
            "rtdev=/dev/sda",
            "device=/dev/sda",
        ] {
            let error = MountOptions::parse(text).expect_err(text).to_string();
            assert!(error.contains("names a file or device"), "{text}: {error}");
        }
    }
}
