//! How full targets get by living a workload: on models, for their sizes alone.

use super::replay_all;
use crate::watch::Watch;
use fsage_data::open_workload;
use fsage_target::{Aging, Day, Target, TargetSpec, kernel_models};
use std::path::Path;

/// How a target fared.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lived {
    /// Share of the data space that was taken at the end of the fullest day.
    pub utilization: f64,
    /// Operations that were not done because there was no room, for them or for what they are about.
    pub no_room: u64,
}

/// Lives a workload on targets, all at once; what is not known of one is not there. Of a loop image it is the model of
/// its file system that lives, written back as by a kernel as it comes.
///
/// # Errors
/// The workload cannot be read; an interrupt.
pub(super) fn live(
    workload: &Path,
    specs: &[TargetSpec],
    ui: &dyn Watch,
) -> crate::Result<Vec<Option<Lived>>> {
    let models: Vec<Option<Target>> = specs
        .iter()
        .map(|spec| Target::make(&model_of(spec)?).ok())
        .collect();
    let places: Vec<bool> = models.iter().map(Option::is_some).collect();
    // A workload that does not fit the state is refused when the targets themselves live it.
    let mut agings: Vec<Aging> = models
        .into_iter()
        .flatten()
        .map(|model| Aging::new(model, true))
        .collect();
    if !agings.is_empty() {
        let mut source = open_workload(workload)?;
        let what = (workload, "finding sizes");
        replay_all(what, &mut *source, &mut agings, None, ui)?;
    }
    let mut agings = agings.iter();
    let lived = places.into_iter().map(|is_there| {
        let aging = is_there.then(|| agings.next())??;
        let utilizations = aging.days().iter();
        let utilizations = utilizations.filter_map(|day: &Day| day.measures.utilization());
        let total = aging.total();
        Some(Lived {
            utilization: utilizations.max_by(f64::total_cmp)?,
            no_room: total.no_space + total.no_inode + total.absent,
        })
    });
    Ok(lived.collect())
}

/// The model that stands for a target where only its fullness counts: none of real ones that no model stands for, or
/// that are made in a way of their own.
pub(super) fn model_of(spec: &TargetSpec) -> Option<TargetSpec> {
    if spec.real().ok()?.is_none() {
        return Some(spec.clone());
    }
    let system = spec.place.as_deref().filter(|_| !spec.has("mkfs"))?;
    if !kernel_models().contains(&system) {
        return None;
    }
    let size = spec.value("size")?;
    TargetSpec::parse(&format!("{system}:size={size},regime=default")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_loop_images_their_models_live() {
        let model = |spec: &str| {
            let spec = TargetSpec::parse(spec).expect("a target");
            model_of(&spec).map(|model| model.to_string())
        };
        assert_eq!(
            model("loop:ext4,size=1G,sync=each").as_deref(),
            Some("ext4:size=1G,regime=default")
        );
        assert_eq!(model("xfs:size=2G").as_deref(), Some("xfs:size=2G"));
        assert_eq!(model("loop:btrfs,size=1G"), None);
        assert_eq!(model("loop:xfs,size=1G,mkfs=\"-m rmapbt=1\""), None);
        assert_eq!(model("dir:/tmp"), None);
    }

    #[test]
    fn how_full_they_get_and_what_had_no_room_is_known() {
        let folder = tempfile::tempdir().expect("a folder");
        let workload = folder.path().join("w.ops");
        let text = "mkdir 1\ncreate 2 1 48M\nday 1\ndelete 2\ncreate 3 1 240M\nday 2\n";
        fsage_durable::write(&workload, text, true).expect("a workload");
        let specs = ["ext4:size=400M", "loop:btrfs,size=1G", "xfs:size=300M"];
        let specs = specs.map(|spec| TargetSpec::parse(spec).expect("a target"));
        let lived = live(&workload, &specs, &crate::Unwatched).expect("lived");
        let [Some(ext4), None, Some(xfs)] = lived[..] else {
            panic!("{lived:?}");
        };
        // 240 MiB of 400 on the second day, of which metadata take some; an XFS of 300 MiB has a log of 64.
        assert!((0.60..0.72).contains(&ext4.utilization), "{ext4:?}");
        assert_eq!(ext4.no_room, 0);
        assert!(xfs.no_room > 0, "{xfs:?}");
    }
}
