//! Paths of files at the end of a model's life, which a run does not keep.

use crate::aging::model_of;
use crate::run_folder::OneTarget;
use crate::watch::Watch;
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
    Ok(named.collect())
}
