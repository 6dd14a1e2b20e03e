//! What the same lives cost on several drives: an experiment that varies its device.

use super::bench::{self, Ratio};
use super::subject::Group;
use super::words::list;
use crate::fullness;
use fsage_report::{Finding, Tone};
use std::collections::{BTreeMap, BTreeSet};

/// The benchmark that aged files are read by, on each drive, target by target; none where the workloads differ in more
/// than the drive below them.
pub fn finding(groups: &[Group]) -> Option<Finding> {
    let drives = groups
        .iter()
        .map(Group::drive)
        .collect::<Option<Vec<&str>>>()?;
    let distinct: BTreeSet<&str> = drives.iter().copied().collect();
    let specs = |group: &Group| -> Vec<String> {
        let specs = group.subjects.iter().map(|subject| subject.spec.clone());
        specs.collect()
    };
    let are_alike = groups.windows(2).all(|of| specs(&of[0]) == specs(&of[1]));
    if groups.len() < 2 || distinct.len() < groups.len() || !are_alike {
        return None;
    }
    let compared: Vec<_> = groups.iter().map(bench::compared).collect();
    let phases = compared.first()?.iter();
    let phases: Vec<(&str, &str)> = phases.map(|of| (&*of.suite, &*of.phase)).collect();
    let (suite, phase) = fullness::phase(&phases)?;
    let mut by_target: BTreeMap<usize, (String, Vec<String>)> = BTreeMap::new();
    for ((group, drive), compared) in groups.iter().zip(&drives).zip(&compared) {
        let mut of_phase = compared.iter();
        let of_phase = of_phase.find(|of| of.suite == suite && of.phase == phase)?;
        for (place, subject) in group.subjects.iter().enumerate() {
            let mut ratios = of_phase.ratios.iter();
            let (_, ratio) = ratios.find(|(name, _)| *name == subject.name)?;
            let of = by_target.entry(place);
            let (_, said) = of.or_insert_with(|| (subject.name.clone(), Vec::new()));
            said.push(format!("{} on {drive}", shown(ratio)));
        }
    }
    let targets = by_target.into_values();
    let targets: Vec<String> = targets
        .map(|(name, said)| format!("{name} {}", list(&said)))
        .collect();
    let text = format!(
        "By drive, in the same lives: {suite} {phase}, aged as a multiple of the control: {}.",
        targets.join("; ")
    );
    Some(Finding {
        text,
        tone: Tone::Neutral,
        section: None,
    })
}

/// A ratio, with its interval if it has one.
fn shown(ratio: &Ratio) -> String {
    let (low, high) = ratio.ends;
    let [mean, low, high] = [ratio.mean, low, high].map(|value| format!("{value:.2}"));
    if low == high {
        mean
    } else {
        format!("{mean} ({low} to {high})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::benching::State;
    use crate::benching::results::Row;
    use crate::report::subject::{Life, Subject};
    use fsage_bench::Measurement;

    /// A life that was read at this speed aged and at 100 MB/s from a fresh copy, three times each.
    fn on(drive: &str, spec: &str, speed: u64) -> Group {
        let row = |state: State, speed: u64, repetition: u32| Row {
            state,
            target: spec.to_owned(),
            device: Some(drive.to_owned()),
            host: Some("host".to_owned()),
            measurement: Measurement {
                benchmark: "hot-files".to_owned(),
                phase: "read".to_owned(),
                repetition,
                files: 1,
                bytes: speed * 1_000_000,
                elapsed_ns: 1_000_000_000,
                ..Measurement::default()
            },
        };
        let rows = (0..3).flat_map(|repetition| {
            let both = [(State::Aged, speed), (State::Control, 100)];
            both.map(|(state, speed)| row(state, speed, repetition))
        });
        Group {
            title: Some(drive.to_owned()),
            subjects: vec![Subject {
                name: "ext4".to_owned(),
                spec: spec.to_owned(),
                lives: vec![Life {
                    bench: rows.collect(),
                    ..Life::default()
                }],
                ..Subject::default()
            }],
            ..Group::default()
        }
    }

    #[test]
    fn the_same_lives_are_set_side_by_side_on_their_drives() {
        let flash = on("nvme_a", "ext4", 93);
        let disk = on("st4000nm0033", "ext4", 11);
        let said = |groups: &[Group]| finding(groups).map(|finding| finding.text);
        assert_eq!(
            said(&[flash.clone(), disk.clone()]).as_deref(),
            Some(
                "By drive, in the same lives: hot-files read, aged as a multiple of the control: ext4 0.93 on nvme_a \
                 and 0.11 on st4000nm0033."
            )
        );
        assert_eq!(said(&[flash.clone(), on("nvme_a", "ext4", 90)]), None);
        assert_eq!(said(&[flash, on("st4000nm0033", "xfs", 90)]), None);
        assert_eq!(said(&[disk]), None);
    }
}
