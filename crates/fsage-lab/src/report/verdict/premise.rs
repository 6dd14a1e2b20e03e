//! What the verdict rests on: the assumptions of the preset that made the workload.

use super::finding;
use crate::report::subject::Group;
use fsage_report::{Finding, Tone};
use fsage_workload::preset::Preset;

/// What the header of a workload says of the preset that made it.
#[derive(serde::Deserialize)]
struct MadeBy {
    profile: String,
}

/// That the verdict is one of the preset's life, and what that is; none of other workloads.
pub fn sentence(group: &Group) -> Option<Finding> {
    let generator = group.workload.as_ref()?.generator.as_deref()?;
    let MadeBy { profile } = serde_json::from_str(generator).ok()?;
    let preset = Preset::named(&profile)?;
    let text = format!(
        "Holds for the preset {profile}: {}. `fsage generate profile --show {profile}` has all that it assumes.",
        preset.summary
    );
    Some(finding(text, Tone::Neutral, "decay"))
}
