//! What the verdict rests on: the assumptions of the preset that made the workload, the sameness of its rounds, or the
//! view of a history.

use super::finding;
use crate::aging::{has_small_blocks, small_blocks};
use crate::report::subject::{Group, Subject};
use fsage_core::size::human;
use fsage_report::{Finding, Tone};
use fsage_target::TargetSpec;
use fsage_workload::preset::{Generator, Preset};
use std::collections::BTreeSet;

/// What the header of a workload says of how it was made.
#[derive(serde::Deserialize)]
struct MadeBy {
    /// Of a preset.
    profile: Option<String>,
    /// Of a trace: how often it is played, and by how much sizes differ then.
    repeat: Option<u64>,
    vary_percent: Option<u32>,
    /// Of a history of git: `commit` or `day`.
    view: Option<String>,
}

/// That a preset was made on another size than its summary says.
fn scaled(generator: &str) -> Option<String> {
    let made: serde_json::Value = serde_json::from_str(generator).ok()?;
    let now = made["parameters"]["profile"]["capacity_bytes"].as_u64()?;
    let Generator::Profile(own) = Preset::named(made["profile"].as_str()?)?.generator else {
        return None;
    };
    (now != own.capacity_bytes).then(|| format!(", here on {}", human(now)))
}

/// That a smaller file system than the preset's was lived on, which says nothing sure of a larger one.
fn smaller(generator: &str) -> &'static str {
    let scaled = serde_json::from_str::<serde_json::Value>(generator).ok();
    let is_smaller = scaled.and_then(|made| {
        let now = made["parameters"]["profile"]["capacity_bytes"].as_u64()?;
        match Preset::named(made["profile"].as_str()?)?.generator {
            Generator::Profile(own) => Some(now < own.capacity_bytes),
            _ => None,
        }
    });
    if is_smaller == Some(true) {
        " A larger file system may age, and gain from defragmenting, by another factor: --capacity takes yours."
    } else {
        ""
    }
}

/// The preset that made a workload, by what its header says, and what that assumes.
pub(crate) fn of_preset(generator: &str) -> Option<(String, String)> {
    let made: MadeBy = serde_json::from_str(generator).ok()?;
    let profile = made.profile?;
    let summary = Preset::named(&profile)?.summary;
    let assumed = format!("{summary}{}", scaled(generator).unwrap_or_default());
    Some((profile, assumed))
}

/// Whether the workload is a history of git, in which nothing is drawn.
pub fn is_history(group: &Group) -> bool {
    let generator = group
        .workload
        .as_ref()
        .and_then(|facts| facts.generator.as_deref());
    let made = generator.and_then(|text| serde_json::from_str::<MadeBy>(text).ok());
    made.is_some_and(|made| made.view.is_some())
}

fn is_small(subject: &Subject) -> bool {
    TargetSpec::parse(&subject.spec).is_ok_and(|spec| has_small_blocks(&spec))
}

/// That targets of several workloads have the blocks of a small ext4.
pub fn of_small_blocks(groups: &[Group]) -> Option<Finding> {
    let subjects = || groups.iter().flat_map(|group| &group.subjects);
    let specs = |of: &mut dyn Iterator<Item = &Subject>| {
        let specs: BTreeSet<String> = of.map(|subject| subject.spec.clone()).collect();
        specs
    };
    let small = specs(&mut subjects().filter(|of| is_small(of)));
    let all = specs(&mut subjects()).len();
    let small: Vec<String> = small.into_iter().collect();
    let text = small_blocks(&small, all)?;
    Some(finding(text, Tone::Bad, "decay"))
}

/// What the verdict rests on: how the workload was made, and the small blocks of small targets.
pub fn findings(group: &Group) -> impl Iterator<Item = Finding> {
    let small = group.subjects.iter().filter(|of| is_small(of));
    let small: Vec<String> = small.map(|of| of.name.clone()).collect();
    let small = small_blocks(&small, group.subjects.len());
    let small = small.map(|text| finding(text, Tone::Neutral, "decay"));
    let began = group.subjects.iter().filter_map(|subject| {
        let spec = TargetSpec::parse(&subject.spec).ok()?;
        let from = spec.value("from")?;
        let text = format!(
            "{} began as {from}: its files are those and the workload's together.",
            subject.name
        );
        Some(finding(text, Tone::Neutral, "decay"))
    });
    let began: Vec<Finding> = began.collect();
    sentence(group).into_iter().chain(small).chain(began)
}

/// That the verdict is one of the preset's life, and what that is, or of a trace that was repeated to the byte; none of
/// other workloads.
fn sentence(group: &Group) -> Option<Finding> {
    let generator = group.workload.as_ref()?.generator.as_deref()?;
    let made: MadeBy = serde_json::from_str(generator).ok()?;
    let text = match (made.profile, made.repeat) {
        (Some(_), _) => {
            let (profile, assumed) = of_preset(generator)?;
            format!(
                "Holds for the preset {profile}: {assumed}.{} `fsage generate profile --show {profile}` has all that \
                 it assumes.",
                smaller(generator)
            )
        }
        (None, Some(rounds @ 2..)) if made.vary_percent.is_none() => format!(
            "Holds for {rounds} rounds that are alike to the byte: each fits where an older one was, so that both the \
             loss and the order of targets may be other where sizes vary. `fsage generate ... --repeat {rounds} --vary \
             10` draws them, another --seed other ones."
        ),
        _ => {
            let held = match made.view.as_deref()? {
                "commit" => {
                    "Holds for this history lived commit by commit, where changed files are rewritten in place. A \
                     checkout that is pulled once a day makes them anew, and ages otherwise: `fsage generate git \
                     --view day`."
                }
                "day" => {
                    "Holds for this history lived day by day, as a checkout where changed files are made anew. A tree \
                     that is worked in rewrites them in place, and ages otherwise: `fsage generate git --view commit`."
                }
                _ => return None,
            };
            // Copies that are moved by more than the history is long would come one after the other.
            let days = group.subjects.iter().map(Subject::days).max().unwrap_or(0);
            let stagger = (days / 4).clamp(1, 365);
            format!(
                "{held} Nothing in it is drawn: `--clones 4 --stagger {stagger}` puts copies side by side, and each \
                 --seed moves them otherwise."
            )
        }
    };
    Some(finding(text, Tone::Neutral, "decay"))
}
