//! Targets in the sizes in which a workload fills wanted shares of them.

use super::most_bytes;
use super::sizes::{SAYS_SIZE, in_units};
use crate::error::{Context, bail};
use crate::watch::Watch;
use fsage_durable::TemporaryFolder;
use fsage_real::directory::Volume;
use fsage_real::loop_image::{LoopImage, LoopOptions};
use fsage_real::{Place, RealSpec};
use fsage_target::{Target, TargetSpec};
use rustix::fs::fstatvfs;
use std::collections::BTreeMap;
use std::path::Path;

/// How often a size is corrected by what metadata take of it.
const CORRECTIONS: usize = 4;
/// The unit in which files usually take space.
const USUAL_BLOCK: u64 = 4096;
/// Sizes are multiples of the largest power of two that is at most this part of them, and of this.
const EXACTNESS: u64 = 1000;
const LEAST_UNIT: u64 = 4096;
/// Why a directory cannot be filled so far.
const NO_SIZE: &str = "the size of a directory's file system is what it is; --fill needs targets that it can make, as \
                       loop:ext4";

/// Each target in the sizes in which the files of a workload, in whole blocks, take these percentages of the data space
/// when they are most. What directories and pointers take is not known before, so that it becomes a little fuller.
///
/// # Errors
/// The workload cannot be read again; a target has a size, or can have none; one of that size cannot be made.
pub fn filled(
    workload: &Path,
    specs: &[TargetSpec],
    percents: &[u8],
    ui: &dyn Watch,
) -> crate::Result<Vec<TargetSpec>> {
    if workload == Path::new("-") {
        bail!("--fill reads the workload twice, and a pipe is gone after once; name a file");
    }
    let mut filled = Vec::new();
    for spec in specs {
        if let Some((key, _)) = spec
            .options
            .iter()
            .find(|(key, _)| SAYS_SIZE.contains(&key.as_str()))
        {
            bail!("`{spec}`: --fill says how large a target is; leave {key}= out");
        }
        if matches!(spec.real()?, Some(real) if matches!(real.place, Place::Dir(_))) {
            bail!("`{spec}`: {NO_SIZE}");
        }
        let mut most = Most::of(workload, ui);
        for &percent in percents {
            let sized = with_data(spec, |block_bytes| {
                Ok(most.bytes(block_bytes)?.saturating_mul(100) / u64::from(percent))
            })
            .with_context(|| format!("{spec}, {percent} % full"))?;
            ui.note(&format!("{spec}, {percent} % full: {sized}"));
            if filled.contains(&sized) {
                bail!(
                    "`{sized}` is {percent} % full and another share too; name shares that differ more"
                );
            }
            filled.push(sized);
        }
    }
    Ok(filled)
}

/// What the files of a workload take when they take the most, by the unit in which files take space.
struct Most<'a> {
    workload: &'a Path,
    ui: &'a dyn Watch,
    known: BTreeMap<u64, u64>,
}

impl Most<'_> {
    fn of<'a>(workload: &'a Path, ui: &'a dyn Watch) -> Most<'a> {
        Most {
            workload,
            ui,
            known: BTreeMap::new(),
        }
    }

    fn bytes(&mut self, block_bytes: u64) -> crate::Result<u64> {
        if let Some(bytes) = self.known.get(&block_bytes) {
            return Ok(*bytes);
        }
        let bytes = most_bytes(self.workload, block_bytes, self.ui)?;
        self.known.insert(block_bytes, bytes);
        Ok(bytes)
    }
}

/// The target in a size with the data space that is wanted for its unit of space, which may depend on the size: ext4 has
/// smaller blocks below 512 MiB.
fn with_data(
    spec: &TargetSpec,
    mut wanted: impl FnMut(u64) -> crate::Result<u64>,
) -> crate::Result<TargetSpec> {
    let mut bytes = wanted(USUAL_BLOCK)?;
    for _ in 0..CORRECTIONS {
        let room = room(&with_size(spec, bytes))?;
        bytes = bytes
            .saturating_add(wanted(room.block_bytes)?)
            .saturating_sub(room.data_bytes);
    }
    let sized = with_size(spec, bytes);
    room(&sized)?;
    Ok(sized)
}

fn with_size(spec: &TargetSpec, bytes: u64) -> TargetSpec {
    let unit = (bytes / EXACTNESS).max(LEAST_UNIT);
    let unit = 1 << unit.ilog2();
    let mut sized = spec.clone();
    let size = in_units(bytes.next_multiple_of(unit));
    sized.options.insert(0, ("size".to_owned(), Some(size)));
    sized
}

/// The space that a file system has for files.
struct Room {
    /// What all of them can take together.
    data_bytes: u64,
    /// The unit in which each takes it.
    block_bytes: u64,
}

fn room(spec: &TargetSpec) -> crate::Result<Room> {
    match spec.real()? {
        None => {
            let geometry = Target::make(spec)?.layout().geometry();
            let data_bytes = geometry.data_bytes;
            Ok(Room {
                data_bytes: data_bytes
                    .context("it has no size; --fill needs targets that have one")?,
                block_bytes: u64::from(geometry.frag_bytes),
            })
        }
        Some(RealSpec {
            place: Place::Loop(options),
            ..
        }) => room_of_image(&options),
        Some(_) => bail!("{NO_SIZE}"),
    }
}

/// What is free on a new file system, by making one: a sparse image that goes again.
fn room_of_image(options: &LoopOptions) -> crate::Result<Room> {
    let folder = TemporaryFolder::private(&std::env::temp_dir().join("fsage-fill"))?;
    let options = LoopOptions {
        image: None,
        ..options.clone()
    };
    let image = LoopImage::create(&options, &folder.path().join("image"))?;
    let stat = fstatvfs(image.root())?;
    Box::new(image).close()?;
    Ok(Room {
        data_bytes: stat.f_bfree.saturating_mul(stat.f_frsize),
        block_bytes: stat.f_frsize,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The data space of a size is what the model says of it.
    #[test]
    fn a_size_is_found_for_a_data_space() {
        for (spec, wanted) in [("ffs", 300 << 20), ("ext4", 700 << 20), ("xfs", 900 << 20)] {
            let spec = TargetSpec::parse(spec).expect("a target");
            let sized = with_data(&spec, |_| Ok(wanted)).expect("a size");
            let has = room(&sized).expect("it can be made").data_bytes;
            assert!(
                has.abs_diff(wanted) < wanted / 50,
                "{sized}: {has} for {wanted}"
            );
        }
    }

    /// mke2fs makes blocks of 1 KiB below 512 MiB, where small files take less.
    #[test]
    fn files_are_counted_in_the_blocks_of_the_size_that_is_found() {
        let spec = TargetSpec::parse("ext4").expect("a target");
        for (files, block_bytes) in [(40_000, 1024), (200_000, 4096)] {
            let wanted = |unit: u64| Ok(files * 3000_u64.next_multiple_of(unit));
            let sized = with_data(&spec, wanted).expect("a size");
            let room = room(&sized).expect("it can be made");
            assert_eq!(room.block_bytes, block_bytes, "{sized}");
            let wanted = wanted(block_bytes).expect("a number");
            assert!(
                room.data_bytes.abs_diff(wanted) < wanted / 50,
                "{sized}: {} for {wanted}",
                room.data_bytes
            );
        }
    }

    #[test]
    fn what_has_a_size_or_can_have_none_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let workload = folder.path().join("w.ops");
        let text = "mkdir 1\ncreate 1 1 100000\nday 1\n";
        fsage_durable::write(&workload, text, true).expect("a workload");
        for (spec, why) in [
            ("ffs:size=1G", "leave size= out"),
            ("ffs:preset=tiny", "leave preset= out"),
            ("dir:/tmp/x", "it can make"),
        ] {
            let specs = [TargetSpec::parse(spec).expect("a target")];
            let error = filled(&workload, &specs, &[80], &crate::Unwatched).expect_err(spec);
            assert!(format!("{error:#}").contains(why), "{error:#}");
        }
    }
}
