//! Targets without a size take that of their workload.

use crate::error::Context;
use crate::table;
use crate::watch::Watch;
use fsage_core::keys::{Key, Unset};
use fsage_core::size;
use fsage_data::open_workload;
use fsage_real::Place;
use fsage_real::loop_image::Kind;
use fsage_target::catalogue::catalogue;
use fsage_target::{Target, TargetSpec};
use std::path::Path;

/// Keys of which each says how large a target is.
pub(super) const SAYS_SIZE: [&str; 3] = ["size", "preset", "from"];

const MIB: u64 = 1 << 20;

/// What has to be said of an ext4 that is made smaller than others without a word.
const SMALL_BLOCKS: &str = "below 512 MB an ext4 has blocks of 1 KiB and more inodes, as mkfs.ext4 \
                                       makes it, lies otherwise than a larger one and may rank \
                                       options otherwise; bsize=4K,bytes_per_inode=16K has those of a larger one";

/// That targets of these names have the blocks of a small ext4, of so many in all; `None` without a name.
pub(crate) fn small_blocks(names: &[String], all: usize) -> Option<String> {
    const NAMED: usize = 4;
    let of = match names.len() {
        0 => return None,
        n if n == all && n > 1 => "all targets".to_owned(),
        n if n > NAMED => format!("{n} of {all} targets"),
        _ => names.join(", "),
    };
    Some(format!("Of {of}: {SMALL_BLOCKS}."))
}

/// Whether a target is an ext4 so small that it gets smaller blocks, and nobody said which. Images of ext4 have blocks
/// of 4 KiB whatever their size.
pub(crate) fn has_small_blocks(spec: &TargetSpec) -> bool {
    let size = spec.value("size").and_then(|size| size::parse(size).ok());
    let is_asked = spec.has("bsize") || spec.has("from");
    spec.kind == "ext4" && !is_asked && size.is_some_and(|size| size < SMALL_EXT4)
}

/// The targets, each as large as the workload's file system was: those that can have a size, and say nothing of it,
/// get the workload's capacity. Left as they are: targets whose default is within a twentieth of it, workloads that
/// do not know their capacity, and those that come through a pipe.
///
/// # Errors
/// The workload cannot be read.
pub fn sized(
    workload: &Path,
    specs: &[TargetSpec],
    ui: &dyn Watch,
) -> crate::Result<Vec<TargetSpec>> {
    let sized = of_workload(workload, specs, ui)?;
    for spec in sized.iter().filter(|spec| has_small_blocks(spec)) {
        let text = format!("{spec}: {SMALL_BLOCKS}");
        ui.note(&table::wrapped(&text, "", "  "));
    }
    Ok(sized)
}

fn of_workload(
    workload: &Path,
    specs: &[TargetSpec],
    ui: &dyn Watch,
) -> crate::Result<Vec<TargetSpec>> {
    let capacity = if workload == Path::new("-") {
        None
    } else {
        open_workload(workload)?.header().capacity_bytes
    };
    let Some(capacity) = capacity else {
        return Ok(specs.to_vec());
    };
    let is_image = |spec: &TargetSpec| spec.place.as_deref() == Some("ext4");
    let beside_image = specs.iter().any(is_image);
    let fit = |spec: &TargetSpec| {
        let Some(mut larger) = of_capacity(spec, capacity) else {
            return spec.clone();
        };
        if beside_image && has_small_blocks(&larger) {
            larger
                .options
                .push(("bsize".to_owned(), Some("4K".to_owned())));
        }
        ui.note(&format!(
            "{spec}: no size given, so that of the workload: {larger}"
        ));
        larger
    };
    Ok(specs.iter().map(fit).collect())
}

/// Below this size `mke2fs` takes the type `small` of `mke2fs.conf`.
const SMALL_EXT4: u64 = 512 << 20;

/// That a target can be made, as far as its words and its size say; whether it is real.
///
/// # Errors
/// It cannot.
pub(crate) fn can_be_made(spec: &TargetSpec) -> crate::Result<bool> {
    let Some(real) = spec.real()? else {
        Target::can_be_made(spec)?;
        return Ok(false);
    };
    if let Place::Loop(options) = &real.place {
        options.check_size().with_context(|| spec.to_string())?;
    }
    Ok(true)
}

/// How large a target is: as it says, or as it is made without a word; none of a directory.
pub(crate) fn bytes_of(spec: &TargetSpec) -> Option<u64> {
    match spec.value("size") {
        Some(size) => size::parse(size).ok(),
        None => Some(Target::make(spec).ok()?.layout().geometry().size_bytes),
    }
}

/// The target with this capacity as its size; none where it has a size, or comes close to it without one.
pub(crate) fn of_capacity(spec: &TargetSpec, capacity: u64) -> Option<TargetSpec> {
    if SAYS_SIZE.iter().any(|key| spec.has(key)) {
        return None;
    }
    let described = catalogue().into_iter().find(|d| d.name == spec.kind)?;
    let key = described.keys.into_iter().find(|key| key.name == "size")?;
    let kind = spec.place.as_deref().and_then(Kind::parse);
    let bytes = capacity.max(kind.and_then(Kind::min_bytes).unwrap_or(0));
    let default = default_bytes(spec, key)?;
    if bytes.abs_diff(default) <= default / 20 {
        return None;
    }
    let mut sized = spec.clone();
    let size = in_units(bytes.div_ceil(MIB) * MIB);
    sized.options.insert(0, ("size".to_owned(), Some(size)));
    let makes_sense = match sized.real() {
        Ok(Some(_)) => true,
        Ok(None) => Target::can_be_made(&sized).is_ok(),
        Err(_) => false,
    };
    makes_sense.then_some(sized)
}

/// How large a target is without a size.
fn default_bytes(spec: &TargetSpec, key: &Key) -> Option<u64> {
    let otherwise = key
        .otherwise
        .filter(|(name, value, _)| spec.value(name) == Some(value));
    match (otherwise, key.unset) {
        (Some((_, _, bytes)), _) | (None, Unset::Value(bytes)) => size::parse(bytes).ok(),
        (None, Unset::Rule(_)) => Target::make(spec).ok()?.layout().geometry().data_bytes,
    }
}

/// Whole kibibytes as the command line takes them: 4G, 514M.
pub(crate) fn in_units(bytes: u64) -> String {
    let units = [(40, "T"), (30, "G"), (20, "M")];
    let whole = units
        .into_iter()
        .find(|&(shift, _)| bytes.is_multiple_of(1 << shift));
    let (shift, unit) = whole.unwrap_or((10, "K"));
    format!("{}{unit}", bytes >> shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `mke2fs.conf` has `blocksize = 1024` of the type `small`, which `mke2fs` takes below 512 MB.
    #[test]
    fn an_ext4_below_512_mb_has_small_blocks_where_nobody_chose_them() {
        let is = |spec: &str| has_small_blocks(&TargetSpec::parse(spec).expect("a target"));
        assert!(is("ext4:size=511M") && is("ext4:size=39872K,regime=default"));
        for other in [
            "ext4",
            "ext4:size=512M",
            "ext4:size=100M,bsize=4K",
            "loop:ext4,size=100M",
            "xfs:size=300M",
        ] {
            assert!(!is(other), "{other}");
        }
        for (size, block) in [("511M", 1024), ("512M", 4096)] {
            let spec = TargetSpec::parse(&format!("ext4:size={size}")).expect("a target");
            let made = Target::make(&spec).expect("it can be made");
            assert_eq!(made.layout().geometry().block_bytes, block, "{size}");
        }
    }

    /// Sizes of the presets: `mail-spool` 1G, which is what ext4 has without a size; `container-images` 8G;
    /// `varmail` 24M, on which no XFS is made; home-1996's data space, which is that of FFS's `g502`.
    #[test]
    fn targets_without_a_size_take_the_workloads() {
        let fit = |spec: &str, capacity| {
            let spec = TargetSpec::parse(spec).expect("a target");
            of_capacity(&spec, capacity).map(|sized| sized.to_string())
        };
        let is = |text: &str| Some(text.to_owned());
        assert_eq!(fit("ext4", 1 << 30), None);
        assert_eq!(fit("ext4", 8 << 30), is("ext4:size=8G"));
        assert_eq!(fit("loop:xfs", 8 << 30), is("loop:xfs,size=8G"));
        assert_eq!(fit("loop:xfs", 24 << 20), is("loop:xfs,size=300M"));
        assert_eq!(fit("ext4:size=2G", 8 << 30), None);
        assert_eq!(fit("ffs:preset=tiny", 8 << 30), None);
        assert_eq!(fit("ffs", 514_055 * 1024), None);
        assert_eq!(
            fit("ffs:policy=realloc", 1 << 30),
            is("ffs:size=1G,policy=realloc")
        );
        assert_eq!(fit("null", 8 << 30), None);
        assert_eq!(fit("dir:/tmp", 8 << 30), None);
        assert_eq!(fit("lfs", (514 << 20) - 5), is("lfs:size=514M"));
    }
}
