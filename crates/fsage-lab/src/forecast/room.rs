//! Whose free space it is.

use super::Limit;
use crate::report::verdict::{RESERVING, lives_as_root};
use fsage_core::Geometry;
use fsage_core::size::human;
use fsage_target::TargetSpec;

/// A file system that takes a larger share of its size itself is a small one.
const OWN_SHARE: f64 = 0.1;

/// Free space that those who write may not use.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Kept {
    /// As a share of the data space.
    pub share: f64,
    /// In bytes.
    pub bytes: f64,
}

impl Kept {
    /// The reserve for root, where those who write are others.
    pub fn of(target: &TargetSpec, geometry: &Geometry) -> Kept {
        if target.kind != RESERVING || lives_as_root(target) {
            return Kept::default();
        }
        let bytes = geometry.reserved_bytes as f64;
        let share = geometry.data_bytes.map_or(0.0, |all| bytes / all as f64);
        Kept { share, bytes }
    }
}

/// What a limit of space means for those who are not root, and for a target that needs much of its size itself.
pub fn doubts(target: &TargetSpec, geometry: Option<Geometry>, limits: &[Limit]) -> Vec<String> {
    let mut said = Vec::new();
    if !limits.iter().any(Limit::is_of_space) {
        return said;
    }
    if lives_as_root(target) {
        let asks = if target.kind == RESERVING {
            ": the key root=off of the target asks when"
        } else {
            ""
        };
        said.push(format!(
            "writes are root's: {} keeps 5 % of its space for root, as mkfs makes it, and others find it full that \
             much earlier{asks}",
            target.system()
        ));
    } else if let Some(geometry) = &geometry
        && Kept::of(target, geometry).bytes > 0.0
        && limits.iter().any(Limit::is_of_free_space)
    {
        said.push(format!(
            "free space is what df calls available: without the {} that {} keeps for root",
            human(geometry.reserved_bytes),
            target.system()
        ));
    }
    let sizes = geometry.and_then(|of| Some((of.size_bytes, of.data_bytes?)));
    if let Some((size, data)) = sizes
        && (size - data) as f64 > OWN_SHARE * size as f64
    {
        said.push(format!(
            "of {} {} takes {} itself, log and metadata, which is a smaller share of a larger one",
            human(size),
            target.system(),
            human(size - data)
        ));
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsage_target::Target;

    #[test]
    fn whose_space_it_is_is_said_of_limits_of_space_alone() {
        let said = |spec: &str, limit: &str| -> String {
            let limits = [limit.parse().expect("a limit")];
            let spec = TargetSpec::parse(spec).expect("a target");
            let geometry = Target::make(&spec).expect("a model").layout().geometry();
            doubts(&spec, Some(geometry), &limits).join("; ")
        };
        let root = said("ext4:size=20G", "enospc");
        assert!(
            root.starts_with("writes are root's: ext4 keeps 5 %"),
            "{root}"
        );
        assert!(root.ends_with("root=off of the target asks when"), "{root}");
        let user = said("ext4:size=20G,root=off", "free=5%");
        let available =
            "free space is what df calls available: without the 1.0 GiB that ext4 keeps for root";
        assert_eq!(user, available);
        for (spec, limit) in [
            ("ext4:size=20G,root=off", "enospc"),
            ("ext4:size=20G,root=off,reserve=0", "free=5%"),
            ("ext4:size=20G", "layout=0.7"),
            ("xfs:size=20G", "enospc"),
        ] {
            assert_eq!(said(spec, limit), "", "{spec}, {limit}");
        }
        // mkfs.xfs gives every file system a log of 64 MiB or more.
        let small = said("xfs:size=512M", "enospc");
        assert!(small.starts_with("of 512 MiB xfs takes 64"), "{small}");
    }
}
