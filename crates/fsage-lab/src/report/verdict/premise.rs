//! What the verdict rests on: the assumptions of the preset that made the workload, the sameness of its rounds, or the
//! view of a history.

use super::{finding, on_disks};
use crate::aging::{has_small_blocks, small_blocks};
use crate::report::subject::{Group, Subject};
use crate::report::words::{counted, list};
use fsage_core::size::{self, human};
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

/// A life of a preset, and what the preset has by itself.
struct Scaled {
    capacity_bytes: Option<[u64; 2]>,
    days: Option<[u64; 2]>,
}

impl Scaled {
    /// By what the header of a workload says; `None` of other workloads.
    fn of(generator: &str) -> Option<Scaled> {
        let made: serde_json::Value = serde_json::from_str(generator).ok()?;
        let own = Preset::named(made["profile"].as_str()?)?.generator;
        let (own_days, own_capacity) = match &own {
            Generator::Home(home) => (Some(home.days), None),
            Generator::Profile(profile) => (Some(profile.days), Some(profile.capacity_bytes)),
            Generator::Server(server) => (Some(server.days), None),
            Generator::Herrin(_) => (None, None),
        };
        let parameters = &made["parameters"]["profile"];
        let days = made["days"].as_u64().or(parameters["days"].as_u64());
        let capacity = parameters["capacity_bytes"].as_u64();
        let both = |is: Option<u64>, own: Option<u64>| Some([is?, own?]);
        Some(Scaled {
            capacity_bytes: both(capacity, own_capacity),
            days: both(days, own_days),
        })
    }

    /// That it is of another size, or of fewer or more days, than its summary says.
    fn here(&self) -> String {
        let capacity = self.capacity_bytes.filter(|[is, own]| is != own);
        let days = self.days.filter(|[is, own]| is != own);
        match (capacity, days) {
            (None, None) => String::new(),
            (Some([on, _]), None) => format!(", here on {}", human(on)),
            (None, Some([days, _])) => format!(", here {}", counted(days, "day")),
            (Some([on, _]), Some([days, _])) => {
                format!(", here {} on {}", counted(days, "day"), human(on))
            }
        }
    }

    /// That it is no larger than its summary says, which says nothing sure of a larger one.
    fn no_larger(&self) -> &'static str {
        match self.capacity_bytes {
            Some([is, own]) if is <= own => {
                " A larger file system may age, rank and gain from defragmenting otherwise: --capacity takes yours."
            }
            _ => "",
        }
    }
}

/// The preset that made a workload, by what its header says, and what that assumes.
pub(crate) fn of_preset(generator: &str) -> Option<(String, String)> {
    let made: MadeBy = serde_json::from_str(generator).ok()?;
    let profile = made.profile?;
    let summary = Preset::named(&profile)?.summary;
    let here = Scaled::of(generator).map_or_else(String::new, |scaled| scaled.here());
    let assumed = format!("{summary}{here}");
    Some((profile, assumed))
}

/// What the header of the workload says of how it was made.
fn generator(group: &Group) -> Option<&str> {
    group.workload.as_ref()?.generator.as_deref()
}

/// Whether the workload is a history of git, in which nothing is drawn.
pub fn is_history(group: &Group) -> bool {
    let made = generator(group).and_then(|text| serde_json::from_str::<MadeBy>(text).ok());
    made.is_some_and(|made| made.view.is_some())
}

/// The preset that made the workload, of which other lives can be had.
pub fn preset(group: &Group) -> Option<String> {
    Some(of_preset(generator(group)?)?.0)
}

/// Whether files are delivered by what the header of a workload says: each is made under another name, forced to disk,
/// and moved to its place.
pub fn delivers(generator: &str) -> bool {
    profile(generator).is_some_and(|profile| profile["staged"] == true)
}

/// The values of the profile that made a workload, by what its header says; null of other workloads.
fn profile(generator: &str) -> Option<serde_json::Value> {
    let mut made: serde_json::Value = serde_json::from_str(generator).ok()?;
    Some(made["parameters"]["profile"].take())
}

/// Whether the workload leaves the data of its files as they were first written, as mail in Maildirs is: by the mix of
/// operations of the preset that made it.
pub fn never_overwrites(group: &Group) -> bool {
    let changes = ["append", "overwrite", "rewrite", "truncate", "save"];
    generator(group).and_then(profile).is_some_and(|profile| {
        let mix = &profile["mix"];
        changes.iter().all(|what| mix[what].as_u64() == Some(0))
    })
}

fn is_small(subject: &Subject) -> bool {
    TargetSpec::parse(&subject.spec).is_ok_and(|spec| has_small_blocks(&spec))
}

/// Whether a target is an ext4 of no more than a block group, where its blocks are of 4 KiB by word.
fn has_one_group(subject: &Subject) -> bool {
    const GROUP: u64 = 8 * (4 << 10) * (4 << 10);
    let is_small = |spec: TargetSpec| {
        let bytes = |key| spec.value(key).and_then(|size| size::parse(size).ok());
        spec.kind == "ext4"
            && bytes("bsize") == Some(4 << 10)
            && bytes("size").is_some_and(|size| size <= GROUP)
    };
    TargetSpec::parse(&subject.spec).is_ok_and(is_small)
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
    let one_group = group.subjects.iter().filter(|of| has_one_group(of));
    let one_group: Vec<&str> = one_group.map(|of| of.name.as_str()).collect();
    let one_group = (!one_group.is_empty()).then(|| {
        let text = format!(
            "{} {} one block group of ext4: what its allocator does between groups is not in it, and a disk has many. \
             `fsage generate git --clones N` fills a larger one.",
            list(&one_group),
            if one_group.len() == 1 { "is" } else { "are each" }
        );
        finding(text, Tone::Neutral, "decay")
    });
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
    let small = small.into_iter().chain(one_group);
    sentence(group)
        .into_iter()
        .chain(small)
        .chain(on_disks::findings(group))
        .chain(began)
}

/// That the verdict is one of the preset's life, and what that is, or of a trace that was repeated to the byte; none of
/// other workloads.
fn sentence(group: &Group) -> Option<Finding> {
    let generator = generator(group)?;
    let made: MadeBy = serde_json::from_str(generator).ok()?;
    let text = match (made.profile, made.repeat) {
        (Some(_), _) => {
            let (profile, assumed) = of_preset(generator)?;
            format!(
                "Holds for the preset {profile}: {assumed}.{} `fsage generate profile --show {profile}` has all that \
                 it assumes.",
                Scaled::of(generator).map_or("", |scaled| scaled.no_larger())
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
                "{held} It is the files of the tree, without git's own objects in .git. Nothing in it is drawn: \
                 `--clones 4 --stagger {stagger}` puts copies side by side, and each --seed moves them otherwise."
            )
        }
    };
    Some(finding(text, Tone::Neutral, "decay"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the presets: `home-1996` has 300 days, `maildir` a capacity of 1 GiB.
    #[test]
    fn a_life_says_how_it_differs_from_its_preset() {
        let here = |generator: &str| Scaled::of(generator).expect("a preset").here();
        assert_eq!(here(r#"{"profile": "home-1996", "days": 300}"#), "");
        assert_eq!(
            here(r#"{"profile": "home-1996", "days": 1}"#),
            ", here 1 day"
        );
        let mail = |bytes: u64| {
            format!(
                r#"{{"profile": "maildir", "parameters": {{"profile": {{"capacity_bytes": {bytes}}}}}}}"#
            )
        };
        assert_eq!(here(&mail(512 << 20)), ", here on 512 MiB");
        let no_larger = |bytes| Scaled::of(&mail(bytes)).expect("a preset").no_larger();
        for bytes in [512 << 20, 1 << 30] {
            assert!(no_larger(bytes).contains("--capacity takes yours"));
        }
        assert_eq!(no_larger(4 << 30), "");
    }

    /// By mke2fs: a group is as many blocks as a block has bits, 128 MiB of 4 KiB.
    #[test]
    fn an_ext4_of_one_block_group_stands_for_no_disk() {
        let has_one = |spec: &str| {
            has_one_group(&Subject {
                spec: spec.to_owned(),
                ..Subject::default()
            })
        };
        assert!(has_one("ext4:size=27M,bsize=4K") && has_one("ext4:size=128M,bsize=4K"));
        let more = [
            "ext4:size=129M,bsize=4K",
            "ext4:size=27M",
            "ext4:bsize=4K",
            "xfs:size=64M",
        ];
        assert_eq!(more.map(has_one), [false; 4]);
    }
}
