//! An image on which only that space is free that is free on an aged one, and which holds none of its files.
//!
//! **How it is made.** A new file system gets filler files until it is full. `FIEMAP` tells where they lie, and what is
//! free on the aged one is cut out of them: ends of files first, because that takes no space for metadata, then holes.
//!
//! **Limits.** Metadata stay where the new file system has them, and the fillers need some themselves: [`Deviation`]
//! tells what that comes to. ext4 and XFS only: btrfs has no addresses of the device in its extents. The space of the
//! fillers was never written, so the image stays small.
//!
//! **Source.** The fragmentation study of Seltzer et al. 1995, section 5: "only the free-space maps are reproduced".

use super::extents::Extents;
use super::{StopAsked, go_on, io_failed};
use crate::subject::BenchError;
use fsage_core::{Extent, Run};
use fsage_linux::facts::{Facts, facts};
use fsage_linux::fsmap;
use fsage_linux::xfs_reserve::set_xfs_reserve;
use fsage_real::directory::Volume;
use fsage_real::loop_image::{Kind, LoopImage, LoopOptions};
use rustix::fs::{AtFlags, FallocateFlags, Mode, OFlags, fallocate, ftruncate, syncfs};
use rustix::io::{Errno, retry_on_intr};
use std::fs;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Where the fillers lie.
const FOLDER: &str = ".fsage-fillers";
/// About so many fillers fill an image; each has a mebibyte at least.
const FILLERS: u64 = 4096;
const LEAST_FILLER_BYTES: u64 = 1 << 20;

/// How far the free space of an image is from what it should be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Deviation {
    /// Bytes that should be free.
    pub wanted_bytes: u64,
    /// Of these, bytes that are used.
    pub missing_bytes: u64,
    /// Bytes that are free and should not be.
    pub extra_bytes: u64,
    /// Bytes that `statfs` calls free.
    pub statfs_bytes: u64,
}

impl Deviation {
    fn between(wanted: &[Run], free: &[Run], statfs_bytes: u64) -> Deviation {
        let sum = |runs: &[Run]| runs.iter().map(|run| run.length_bytes).sum::<u64>();
        let common_bytes: u64 = wanted
            .iter()
            .flat_map(|run| overlaps(free, run.start_bytes, run.length_bytes))
            .map(|run| run.length_bytes)
            .sum();
        Deviation {
            wanted_bytes: sum(wanted),
            missing_bytes: sum(wanted) - common_bytes,
            extra_bytes: sum(free) - common_bytes,
            statfs_bytes,
        }
    }

    /// Missing and extra bytes in percent of those that should be free; `None` where none should be.
    pub fn percent(&self) -> Option<f64> {
        let wrong_bytes = self.missing_bytes + self.extra_bytes;
        (self.wanted_bytes > 0).then(|| wrong_bytes as f64 * 100.0 / self.wanted_bytes as f64)
    }
}

/// The free space of an image: maximal runs, ascending. Nothing is written to it.
///
/// # Errors
/// It is neither ext4 nor XFS, or cannot be mounted.
pub fn free_map_of(image: &Path, options: &LoopOptions) -> Result<Vec<Run>, BenchError> {
    check_kind(options.kind, image)?;
    let volume = LoopImage::open(options, image, true)?;
    let (free, _) = free_space(&volume)?;
    close(volume)?;
    Ok(free)
}

/// Makes an image by `options` on which `wanted` is free, ascending runs, and nothing else as far as possible. It is
/// removed again where that fails.
///
/// # Errors
/// It is neither ext4 nor XFS, cannot be made or mounted; `stop` said so.
pub fn make_image(
    options: &LoopOptions,
    image: &Path,
    wanted: &[Run],
    stop: Option<&StopAsked>,
) -> Result<Deviation, BenchError> {
    check_kind(options.kind, image)?;
    let volume = LoopImage::create(options, image)?;
    let made = Fillers::new(&volume, stop).and_then(|mut fillers| {
        fillers.fill(options.size_bytes)?;
        fillers.carve(wanted)
    });
    let deviation = made.and_then(|()| {
        let (free, statfs_bytes) = free_space(&volume)?;
        Ok(Deviation::between(wanted, &free, statfs_bytes))
    });
    let closed = close(volume);
    let result = deviation.and_then(|deviation| closed.map(|()| deviation));
    if result.is_err() {
        // There is already an error to tell.
        let _ = fs::remove_file(image);
    }
    result
}

fn check_kind(kind: Kind, image: &Path) -> Result<(), BenchError> {
    if matches!(kind, Kind::Ext4 | Kind::Xfs) {
        return Ok(());
    }
    let reason = format!("the free map of {kind} cannot be copied; ext4 and xfs can");
    let why = io::Error::new(io::ErrorKind::Unsupported, reason);
    Err(io_failed(image, "copying the free map")(why))
}

fn close(volume: LoopImage) -> Result<(), BenchError> {
    let path = volume.path().to_owned();
    Box::new(volume)
        .close()
        .map_err(io_failed(&path, "unmount"))
}

/// Free runs of a mounted image, and what `statfs` calls free.
fn free_space(volume: &LoopImage) -> Result<(Vec<Run>, u64), BenchError> {
    let failed = |call| io_failed(volume.path(), call);
    syncfs(volume.root()).map_err(|errno| failed("syncfs")(errno.into()))?;
    let Facts {
        device: (major, minor),
        free_bytes,
        ..
    } = facts(volume.root()).map_err(failed("statfs"))?;
    let map = fsmap::free_map(volume.root(), major, minor).map_err(failed("GETFSMAP"))?;
    Ok((map.free, free_bytes))
}

/// What runs have in common with a range: ascending runs.
fn overlaps(runs: &[Run], start_bytes: u64, length_bytes: u64) -> impl Iterator<Item = Run> + '_ {
    let end_bytes = start_bytes + length_bytes;
    let first = runs.partition_point(|run| run.start_bytes + run.length_bytes <= start_bytes);
    let touched = runs[first..].iter();
    touched
        .take_while(move |run| run.start_bytes < end_bytes)
        .map(move |run| {
            let from = run.start_bytes.max(start_bytes);
            let to = (run.start_bytes + run.length_bytes).min(end_bytes);
            Run {
                start_bytes: from,
                length_bytes: to - from,
            }
        })
}

/// How much of a file is left when its end goes as far as it lies in `wanted`.
fn kept_bytes(extents: &[Extent], wanted: &[Run]) -> u64 {
    for extent in extents.iter().rev() {
        let end_bytes = extent.physical_bytes + extent.length_bytes;
        let last = overlaps(wanted, extent.physical_bytes, extent.length_bytes).last();
        let free_bytes = last
            .filter(|run| run.start_bytes + run.length_bytes == end_bytes)
            .map_or(0, |run| run.length_bytes);
        if free_bytes < extent.length_bytes {
            return extent.logical_bytes + extent.length_bytes - free_bytes;
        }
    }
    0
}

/// Files that fill an image.
struct Fillers<'a> {
    volume: &'a LoopImage,
    stop: Option<&'a StopAsked>,
    paths: Vec<PathBuf>,
    block_bytes: u64,
    extents: Extents,
}

impl<'a> Fillers<'a> {
    /// None yet. What the file system keeps back for itself is given to them.
    fn new(volume: &'a LoopImage, stop: Option<&'a StopAsked>) -> Result<Fillers<'a>, BenchError> {
        let facts = facts(volume.root()).map_err(io_failed(volume.path(), "statfs"))?;
        let fillers = Fillers {
            volume,
            stop,
            paths: Vec::new(),
            block_bytes: u64::from(facts.block_bytes).max(1),
            extents: Extents::default(),
        };
        if volume.options().kind == Kind::Xfs {
            set_xfs_reserve(volume.root(), 0).map_err(fillers.failed("XFS_IOC_SET_RESBLKS"))?;
        } else {
            give_ext4_reserve(facts.device).map_err(fillers.failed("reserved_clusters"))?;
        }
        let mode = Mode::from_raw_mode(0o700);
        rustix::fs::mkdirat(fillers.root(), FOLDER, mode)
            .map_err(|errno| fillers.failed("mkdir")(errno.into()))?;
        Ok(fillers)
    }

    fn root(&self) -> BorrowedFd<'a> {
        self.volume.root()
    }

    fn failed(&self, call: &'static str) -> impl FnOnce(io::Error) -> BenchError + use<> {
        io_failed(self.volume.path(), call)
    }

    fn open(&self, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        let mode = Mode::from_raw_mode(0o600);
        rustix::fs::openat(self.root(), path, flags | OFlags::CLOEXEC, mode)
    }

    fn open_filler(&self, path: &Path) -> Result<OwnedFd, BenchError> {
        let opened = self.open(path, OFlags::RDWR);
        opened.map_err(|errno| self.failed("open")(errno.into()))
    }

    /// Makes fillers until nothing is free.
    fn fill(&mut self, image_bytes: u64) -> Result<(), BenchError> {
        let filler_bytes = (image_bytes / FILLERS).max(LEAST_FILLER_BYTES);
        let filler_bytes = filler_bytes.next_multiple_of(self.block_bytes);
        loop {
            go_on(self.stop)?;
            let path = Path::new(FOLDER).join(format!("f{}", self.paths.len()));
            let file = match self.open(&path, OFlags::CREATE | OFlags::EXCL | OFlags::RDWR) {
                Ok(file) => file,
                // Not even an inode more.
                Err(Errno::NOSPC | Errno::DQUOT) => return Ok(()),
                Err(errno) => return Err(self.failed("create")(errno.into())),
            };
            self.paths.push(path);
            if self.fill_one(&file, filler_bytes)? < filler_bytes {
                return Ok(());
            }
        }
    }

    /// Gives a file up to so many bytes, and says how many it got.
    fn fill_one(&self, file: &OwnedFd, filler_bytes: u64) -> Result<u64, BenchError> {
        let (mut filled, mut piece) = (0, filler_bytes);
        while filled < filler_bytes {
            let length = piece.min(filler_bytes - filled);
            match retry_on_intr(|| fallocate(file, FallocateFlags::empty(), filled, length)) {
                Ok(()) => filled += length,
                Err(Errno::NOSPC | Errno::DQUOT) if piece > self.block_bytes => {
                    piece = (piece / 2).next_multiple_of(self.block_bytes);
                }
                Err(Errno::NOSPC | Errno::DQUOT) => break,
                Err(errno) => return Err(self.failed("fallocate")(errno.into())),
            }
        }
        Ok(filled)
    }

    /// Frees what is wanted, as far as fillers have it.
    fn carve(&mut self, wanted: &[Run]) -> Result<(), BenchError> {
        syncfs(self.root()).map_err(|errno| self.failed("syncfs")(errno.into()))?;
        let mut left: Vec<(PathBuf, Vec<Extent>)> = Vec::new();
        for path in std::mem::take(&mut self.paths) {
            go_on(self.stop)?;
            let file = self.open_filler(&path)?;
            let failed = self.failed("FIEMAP");
            let extents = self.extents.of(&file).map_err(failed)?.unwrap_or_default();
            let kept = kept_bytes(extents, wanted);
            let extents = extents.to_vec();
            // XFS would free later what is only unlinked. The file in which the space ended may have some behind its
            // end; this makes it part of it.
            ftruncate(&file, kept).map_err(|errno| self.failed("ftruncate")(errno.into()))?;
            if kept == 0 {
                rustix::fs::unlinkat(self.root(), &path, AtFlags::empty())
                    .map_err(|errno| self.failed("unlink")(errno.into()))?;
                continue;
            }
            left.push((path, extents));
        }
        for (path, extents) in left {
            go_on(self.stop)?;
            let file = self.open_filler(&path)?;
            for extent in extents {
                for run in overlaps(wanted, extent.physical_bytes, extent.length_bytes) {
                    let at = extent.logical_bytes + (run.start_bytes - extent.physical_bytes);
                    self.punch(&file, at, run.length_bytes)?;
                }
            }
        }
        Ok(())
    }

    /// Frees a part of a file. Where even that takes space, and none is left, the part stays, and the deviation tells.
    fn punch(&self, file: &OwnedFd, at: u64, length: u64) -> Result<(), BenchError> {
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        let punch = || retry_on_intr(|| fallocate(file, flags, at, length));
        match punch() {
            // What was freed before can be had after the next commit.
            Err(Errno::NOSPC | Errno::DQUOT) => syncfs(self.root()).and_then(|()| match punch() {
                Err(Errno::NOSPC | Errno::DQUOT) => Ok(()),
                other => other,
            }),
            other => other,
        }
        .map_err(|errno| self.failed("fallocate")(errno.into()))
    }
}

/// The blocks that the driver of ext4 keeps back for itself, until the next mount.
fn give_ext4_reserve((major, minor): (u32, u32)) -> io::Result<()> {
    let device = fs::read_link(format!("/sys/dev/block/{major}:{minor}"))?;
    let name = device.file_name().unwrap_or_default();
    let reserve = Path::new("/sys/fs/ext4")
        .join(name)
        .join("reserved_clusters");
    fs::write(reserve, "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(start_bytes: u64, length_bytes: u64) -> Run {
        Run {
            start_bytes,
            length_bytes,
        }
    }

    fn extent(logical_bytes: u64, physical_bytes: u64, length_bytes: u64) -> Extent {
        Extent {
            logical_bytes,
            physical_bytes,
            length_bytes,
            flags: 0,
        }
    }

    #[test]
    fn what_runs_and_a_range_share_is_found() {
        let runs = [run(10, 10), run(30, 10), run(50, 10)];
        let shared = |start, length| overlaps(&runs, start, length).collect::<Vec<Run>>();
        assert_eq!(shared(0, 10), []);
        assert_eq!(shared(0, 11), [run(10, 1)]);
        assert_eq!(shared(15, 40), [run(15, 5), run(30, 10), run(50, 5)]);
        assert_eq!(shared(20, 10), []);
        assert_eq!(shared(32, 2), [run(32, 2)]);
        assert_eq!(shared(60, 10), []);
    }

    #[test]
    fn the_end_of_a_file_goes_as_far_as_it_should_be_free() {
        let file = [extent(0, 100, 40), extent(40, 500, 20)];
        assert_eq!(kept_bytes(&file, &[]), 60);
        assert_eq!(kept_bytes(&file, &[run(500, 10)]), 60);
        assert_eq!(kept_bytes(&file, &[run(510, 90)]), 50);
        assert_eq!(kept_bytes(&file, &[run(120, 30), run(490, 90)]), 20);
        assert_eq!(kept_bytes(&file, &[run(0, 1000)]), 0);
        assert_eq!(kept_bytes(&[], &[]), 0);
    }

    #[test]
    fn a_deviation_counts_bytes_on_one_side_only() {
        // Free are 15..25 and 40..50; wanted 10..20 and 40..70: common 5 and 10, missing 5 and 20, extra 5.
        let wanted = [run(10, 10), run(40, 30)];
        let found = Deviation::between(&wanted, &[run(15, 10), run(40, 10)], 20);
        assert_eq!(
            found,
            Deviation {
                wanted_bytes: 40,
                missing_bytes: 25,
                extra_bytes: 5,
                statfs_bytes: 20,
            }
        );
        assert_eq!(found.percent(), Some(75.0));
        assert_eq!(Deviation::between(&[], &[], 0).percent(), None);
    }
}
