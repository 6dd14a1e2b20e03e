//! A file system in an image that could not be written, once the image can be written again.

use super::{ImageError, Kind, LoopImage, LoopOptions};
use crate::directory::Volume;
use crate::programs;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Where the superblock of ext2, ext3 and ext4 has its state, and the features that older drivers may ignore.
const EXT_STATE: u64 = 0x43A;
const EXT_COMPAT: u64 = 0x45C;
/// It was unmounted, or has a journal that says what is missing.
const IS_VALID: u16 = 1;
/// The driver found something wrong.
const HAS_ERRORS: u16 = 2;
const HAS_JOURNAL: u32 = 4;

impl LoopImage {
    /// Whether the file system of an image that is not mounted needs to be [mended](Self::mend) before it is used: it
    /// has no journal and was not unmounted, or its driver has found it damaged. Only ext2, ext3 and ext4 say so.
    ///
    /// # Errors
    /// The image cannot be read.
    pub fn is_doubtful(options: &LoopOptions, image: &Path) -> Result<bool, ImageError> {
        if !options.kind.is_ext() {
            return Ok(false);
        }
        let read = || {
            let file = File::open(image)?;
            let (mut state, mut compat) = ([0; 2], [0; 4]);
            file.read_exact_at(&mut state, EXT_STATE)?;
            file.read_exact_at(&mut compat, EXT_COMPAT)?;
            Ok((u16::from_le_bytes(state), u32::from_le_bytes(compat)))
        };
        let (state, compat) = read().map_err(ImageError::io(image, "reading its superblock"))?;
        let was_unmounted = state & IS_VALID != 0 || compat & HAS_JOURNAL != 0;
        Ok(!was_unmounted || state & HAS_ERRORS != 0)
    }

    /// Makes the file system of an image sound after writing to the image failed: by its own journal, then by the
    /// program that checks it. That mends ext2, ext3, ext4 and XFS; of btrfs it says whether it is sound. What it takes
    /// away is missing from the tree then.
    ///
    /// # Errors
    /// It cannot be made sound, or nothing is here that could tell.
    pub fn mend(options: &LoopOptions, image: &Path) -> Result<(), ImageError> {
        // Mounting replays the journal. A file system that cannot be mounted may be mended all the same.
        if let Ok(mounted) = LoopImage::open(options, image, false) {
            let _ = Box::new(mounted).close();
        }
        let lost = |how: String| ImageError::Lost {
            path: image.to_owned(),
            kind: options.kind,
            how,
        };
        let (name, words) = options
            .kind
            .mend()
            .ok_or_else(|| lost("no program checks it".to_owned()))?;
        let program = programs::find(name).ok_or_else(|| ImageError::NoMkfs {
            program: name.to_owned(),
            package: options.kind.package(),
        })?;
        let output = Command::new(program)
            .args(words)
            .arg(image)
            .stdin(Stdio::null())
            .env("LC_ALL", "C")
            .output()
            .map_err(ImageError::io(image, "checking its file system"))?;
        let code = output.status.code();
        let mended = options.kind.is_ext() && code == Some(1);
        if output.status.success() || mended {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let last = said.lines().map(str::trim).rfind(|line| !line.is_empty());
        let last = last.map_or_else(|| output.status.to_string(), str::to_owned);
        Err(lost(format!("{name}: {last}")))
    }
}

impl Kind {
    /// The program that makes a file system sound, or at least says whether it is, and its arguments before the path of
    /// the image.
    fn mend(self) -> Option<(&'static str, &'static [&'static str])> {
        match self {
            Kind::Ext2 | Kind::Ext3 | Kind::Ext4 => Some(("e2fsck", &["-f", "-y"])),
            Kind::Xfs => Some(("xfs_repair", &[])),
            Kind::Btrfs => Some(("btrfs", &["check", "--readonly"])),
            Kind::F2fs => Some(("fsck.f2fs", &["-f", "-y"])),
            Kind::Nilfs2 => None,
        }
    }

    fn is_ext(self) -> bool {
        matches!(self, Kind::Ext2 | Kind::Ext3 | Kind::Ext4)
    }
}
