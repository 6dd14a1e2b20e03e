//! Free space of each block, cylinder or allocation group.

use fsage_core::Layout;

/// What is free in a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FreeOfGroup {
    /// What the group has in all, in bytes.
    pub size_bytes: u64,
    /// What of it is free, in bytes.
    pub free_bytes: u64,
    /// In how many runs. One that goes over the end of a group is one in each.
    pub runs: u64,
    /// The longest of them, in bytes.
    pub longest_bytes: u64,
}

impl FreeOfGroup {
    /// How long a run is on average, in bytes; nothing where nothing is free.
    pub fn mean_bytes(&self) -> Option<f64> {
        (self.runs > 0).then(|| self.free_bytes as f64 / self.runs as f64)
    }
}

/// All groups of a layout, from 0; none where it has none.
pub fn free_by_group(layout: &dyn Layout) -> Vec<FreeOfGroup> {
    let geometry = layout.geometry();
    let bytes = geometry.group_bytes;
    if bytes == 0 {
        return Vec::new();
    }
    let mut groups: Vec<FreeOfGroup> = (0..geometry.size_bytes.div_ceil(bytes))
        .map(|number| FreeOfGroup {
            size_bytes: bytes.min(geometry.size_bytes - number * bytes),
            ..FreeOfGroup::default()
        })
        .collect();
    layout.visit_free(&mut |run| {
        for part in run.cut_at_multiples(bytes) {
            if let Some(group) = groups.get_mut((part.start_bytes / bytes) as usize) {
                group.free_bytes += part.length_bytes;
                group.runs += 1;
                group.longest_bytes = group.longest_bytes.max(part.length_bytes);
            }
        }
    });
    groups
}
