//! Paths of files at the end of a model's life, which a run does not keep.

use crate::aging::model_of;
use crate::collect;
use crate::run_folder::OneTarget;
use crate::watch::Watch;
use fsage_core::{FileKind, Layout};
use fsage_data::snapshot::SnapshotFile;
use fsage_target::TargetSpec;
use std::collections::BTreeMap;
use std::path::Path;

/// Of each of these inodes of `RUN/TARGET` its path at the end, without a `/` before it. The workload is lived again
/// for that. Nothing of a real file system, whose snapshots have paths.
///
/// # Errors
/// The run or its workload is not there, or no longer what it was; an interrupt.
pub fn paths(of: &Path, inodes: &[u64], ui: &dyn Watch) -> crate::Result<BTreeMap<u64, String>> {
    let target = OneTarget::find(of, |_| true)?;
    if inodes.is_empty() || target.spec.real()?.is_some() {
        return Ok(BTreeMap::new());
    }
    let workload = target.manifest.workload.find(&target.run, None)?;
    let mut aging = model_of(&target.run, &target.manifest, &target.facts, &workload, ui)?;
    let stamps = aging.take_stamps();
    let at_end = stamps.map(|stamps| stamps.snapshot(aging.target().layout()).0);
    let wanted = at_end
        .into_iter()
        .flatten()
        .filter(|inode| inodes.contains(&inode.ino));
    let named = wanted.filter_map(|inode| Some((inode.ino, inode.path?.into_string())));
    let mut all = begun_with(&target.spec, ui)?;
    all.retain(|inode, _| inodes.contains(inode));
    all.extend(named);
    Ok(all)
}

/// Of each regular file that a target began with its path, by its inode, without a `/` before it: what is in the image
/// or the snapshot that `from=` names. Nothing of a target that began empty, and of a snapshot without paths.
///
/// # Errors
/// The image or the snapshot cannot be read; an interrupt.
pub(super) fn begun_with(
    spec: &TargetSpec,
    ui: &dyn Watch,
) -> crate::Result<BTreeMap<u64, String>> {
    let Some(from) = spec.value("from").map(Path::new) else {
        return Ok(BTreeMap::new());
    };
    let mut named = BTreeMap::new();
    let mut name = |layout: &dyn Layout| {
        layout.visit_files(&mut |file| {
            if let Some(path) = file.path.filter(|_| file.kind == FileKind::Regular) {
                named.insert(file.ino, path.to_owned());
            }
        });
    };
    if collect::is_image(from) {
        name(&collect::collect_layout(from, ui)?.0);
    } else {
        name(&SnapshotFile::open(from)?);
    }
    Ok(named)
}
