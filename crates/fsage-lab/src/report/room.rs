//! How large a file system has to be for all of a workload, where a target had no room.

use super::subject::{Group, Subject};
use crate::aging;
use crate::run_folder::Manifest;
use fsage_target::TargetSpec;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Finds the sizes, from the workloads of the lives that lacked room. A workload that is no longer there says nothing.
pub fn find(groups: &mut [Group]) {
    let mut known = HashMap::new();
    for subject in groups.iter_mut().flat_map(|group| &mut group.subjects) {
        subject.room_bytes = of(subject, &mut known);
    }
}

/// The largest size that a life of a target asks for; sizes that are known by workload and target are not asked again.
fn of(subject: &Subject, known: &mut HashMap<(PathBuf, String), Option<u64>>) -> Option<u64> {
    let lacking = subject.lives.iter().filter_map(|life| {
        let inodes = life.total(|day| day.no_inode) > 0;
        (inodes || life.total(|day| day.no_space) > 0).then_some((life.folder.parent()?, inodes))
    });
    let spec = TargetSpec::parse(&subject.spec).ok()?;
    let sizes = lacking.filter_map(|(run, inodes)| {
        let workload = workload(run)?;
        let size = known
            .entry((workload, subject.spec.clone()))
            .or_insert_with_key(|(workload, _)| {
                aging::with_room(workload, &spec, inodes).ok().flatten()
            });
        *size
    });
    sizes.max()
}

/// The workload of a run, if it still is there as it was.
fn workload(run: &Path) -> Option<PathBuf> {
    Manifest::read(run).ok()?.workload.find(run, None).ok()
}
