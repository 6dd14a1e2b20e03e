//! What treatments made of a target, over all of its lives.

use super::results::{Mean, Row};
use crate::after::{
    HARDLY, Half, Outcome, Stage, half_gone, lost_room, name, paid_back_bytes, phase, speed,
};
use crate::fullness::Phase;
use crate::life::Life;
use crate::report::words::{counted, size};
use crate::table;
use serde::Serialize;
use std::io::{self, Write};

/// A target before or after a treatment, as [`Stage`] is of one life.
#[derive(Debug, Serialize)]
pub struct StageMean {
    /// What it is called.
    pub stage: String,
    pub treatment: Option<String>,
    pub lived_on: bool,
    /// Cells of which it is known.
    pub cells: usize,
    pub layout_score: Option<Mean>,
    pub pieces_per_file: Option<Mean>,
    pub free_in_1m_runs_bytes: Option<Mean>,
    pub placeable_1m: Option<Mean>,
    pub cost_seconds: Option<Mean>,
    /// Bytes that have to be read in the phase until the time of the treatment is won back; none where a life never
    /// wins it back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paid_back_bytes: Option<Mean>,
    /// How fast it is in the phase by which stages are compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed: Option<SpeedMean>,
}

#[derive(Debug, Serialize)]
pub struct SpeedMean {
    pub suite: String,
    pub phase: String,
    pub unit: String,
    pub speed: Mean,
    /// As a multiple of the same life before any treatment.
    pub by_before: Option<Mean>,
    /// As a multiple of the same life that was not treated and lived on as long.
    pub by_untreated: Option<Mean>,
}

impl StageMean {
    /// How fast it is beside the same life and day without treatment.
    pub(crate) fn beside_untreated(&self, speed: &SpeedMean) -> Option<Mean> {
        if self.lived_on {
            speed.by_untreated
        } else {
            speed.by_before
        }
    }
}

/// The stages of a target, from what is known of each life.
pub(crate) fn stages<'a>(known: impl Iterator<Item = (&'a Life, &'a Outcome)>) -> Vec<StageMean> {
    let known: Vec<(&Life, &Outcome)> = known.collect();
    let Some((_, first)) = known.first() else {
        return Vec::new();
    };
    let phase = known.iter().find_map(|(_, outcome)| phase(outcome));
    let means = first.stages.iter().map(|stage| {
        let same = known.iter().filter_map(|(life, outcome)| {
            let same = outcome.stage(stage.treatment.as_deref(), stage.lived_on)?;
            Some((*life, same))
        });
        let same: Vec<(&Life, &Stage)> = same.collect();
        let mean = |value: fn(&Stage) -> Option<f64>| over(&same, value);
        StageMean {
            stage: name(stage, first),
            treatment: stage.treatment.clone(),
            lived_on: stage.lived_on,
            cells: same.len(),
            layout_score: mean(|stage| stage.layout_score),
            pieces_per_file: mean(|stage| stage.pieces_per_file),
            free_in_1m_runs_bytes: mean(|stage| stage.free_in_1m_runs_bytes),
            placeable_1m: mean(|stage| stage.placeable_1m),
            cost_seconds: mean(|stage| stage.cost.as_ref()?.seconds),
            paid_back_bytes: phase
                .as_ref()
                .and_then(|phase| paid_back(&known, stage, phase)),
            speed: phase.as_ref().and_then(|phase| speed_mean(&same, phase)),
        }
    });
    means.collect()
}

/// The mean of a value over lives.
fn over(stages: &[(&Life, &Stage)], value: impl Fn(&Stage) -> Option<f64>) -> Option<Mean> {
    let stages = stages.iter();
    Mean::over(stages.filter_map(|(life, stage)| Some(((*life).clone(), value(stage)?))))
}

/// Bytes of such reads after which a treatment has won its time back; none unless it does in every life.
fn paid_back(known: &[(&Life, &Outcome)], stage: &Stage, phase: &Phase) -> Option<Mean> {
    let treatment = stage.treatment.as_deref().filter(|_| !stage.lived_on)?;
    let bytes = known.iter().map(|(life, outcome)| {
        let before = outcome.stage(None, false)?;
        let after = outcome.stage(Some(treatment), false)?;
        let bytes = paid_back_bytes(before, after, after.cost.as_ref()?, phase)?;
        Some(((*life).clone(), bytes as f64))
    });
    let bytes: Option<Vec<(Life, f64)>> = bytes.collect();
    Mean::over(bytes?)
}

fn speed_mean(stages: &[(&Life, &Stage)], of: &Phase) -> Option<SpeedMean> {
    let first = stages.iter().find_map(|(_, stage)| speed(stage, of))?;
    Some(SpeedMean {
        suite: of.0.clone(),
        phase: of.1.clone(),
        unit: first.unit.clone(),
        speed: over(stages, |stage| Some(speed(stage, of)?.speed))?,
        by_before: over(stages, |stage| Some(speed(stage, of)?.by_before?.ratio)),
        by_untreated: over(stages, |stage| Some(speed(stage, of)?.by_untreated?.ratio)),
    })
}

/// A table of all stages, and whether each treatment pays.
///
/// # Errors
/// `out` fails.
pub fn print(out: &mut impl Write, rows: &[Row]) -> io::Result<()> {
    let treated = || rows.iter().filter(|row| !row.after().is_empty());
    let Some(first) = treated().next() else {
        return Ok(());
    };
    let speed = first.after().iter().find_map(|stage| stage.speed.as_ref());
    let title = speed.map(|speed| format!("{} {}\nby untreated", speed.suite, speed.phase));
    let mut header = vec![
        "treated",
        "",
        "layout",
        "pieces\na file",
        "free in runs\nof 1 MiB",
    ];
    header.extend(title.as_deref());
    let mut table = table::table(&header);
    table::align_left(&mut table, &[0, 1]);
    for row in treated() {
        let mut target = row.name();
        for stage in row.after() {
            let free = stage.free_in_1m_runs_bytes.as_ref();
            let mut cells = vec![
                std::mem::take(&mut target),
                stage.stage.clone(),
                Mean::shown(stage.layout_score.as_ref()),
                Mean::shown(stage.pieces_per_file.as_ref()),
                free.map_or_else(|| "-".to_owned(), |free| size(free.mean as u64)),
            ];
            if title.is_some() {
                let speed = stage.speed.as_ref();
                let beside = speed.and_then(|speed| stage.beside_untreated(speed));
                cells.push(Mean::shown(beside.as_ref()));
            }
            table.add_row(cells);
        }
    }
    writeln!(out, "\n{table}\n")?;
    for row in treated() {
        for sentence in sentences(&row.name(), row.after()) {
            writeln!(out, "{sentence}")?;
        }
    }
    Ok(())
}

/// Whether each treatment of a target pays over its lives, in one sentence; none where no speed is known.
pub(crate) fn answer(target: &str, known: &[(&Life, &Outcome)]) -> Option<String> {
    let stages = stages(known.iter().copied());
    let phase = stages.iter().find_map(|stage| stage.speed.as_ref())?;
    let (what, lives) = (format!("{} {}", phase.suite, phase.phase), stages[0].cells);
    let treated = || stages.iter().filter(|stage| !stage.lived_on);
    let answers: Vec<String> = treated()
        .filter_map(|stage| of_treatment(&stages, stage, known))
        .collect();
    if answers.is_empty() {
        return None;
    }
    let costs = treated().filter_map(|stage| {
        let room = lost_room(stages[0].placeable_1m?.mean, stage.placeable_1m?.mean)?;
        Some(format!(" {} {room}.", stage.treatment.as_ref()?))
    });
    let costs: String = costs.collect();
    Some(format!(
        "{target} over {lives} lives, does it pay for {what}? {}.{costs}",
        answers.join("; ")
    ))
}

/// Whether a treatment pays: by how fast the aged file system is behind it, and how much of that is left later.
fn of_treatment(
    stages: &[StageMean],
    stage: &StageMean,
    known: &[(&Life, &Outcome)],
) -> Option<String> {
    let treatment = stage.treatment.as_deref()?;
    let gain = stage.speed.as_ref()?.by_before?;
    let mut later = stages.iter().filter(|other| other.lived_on);
    let later = later.find(|later| later.treatment == stage.treatment);
    let later = later.and_then(|later| later.speed.as_ref()?.by_untreated);
    // What is left of the gain after as long again is under a quarter of it.
    let gone = later.is_some_and(|later| later.mean - 1.0 < (gain.mean - 1.0) / 4.0);
    let says = match gain.interval {
        Some((low, high)) if low > 1.0 || high < 1.0 => match gain.mean {
            mean if mean <= 1.0 => "no",
            mean if mean < HARDLY => "hardly",
            _ if gone => "for a while",
            _ => "yes",
        },
        _ => "is open",
    };
    let shown = |mean: Mean| Mean::shown(Some(&mean));
    let days = known.first().map_or(0, |(_, outcome)| outcome.days_more);
    let later = match later {
        Some(later) => format!(", {} times {} later", shown(later), counted(days, "day")),
        None if says == "yes" => "; how long that lasts, --after-again says".to_owned(),
        None => String::new(),
    };
    let halves = known
        .iter()
        .map(|(_, outcome)| half_gone(outcome, treatment));
    let halves: Option<Vec<Half>> = halves.collect();
    let half = halves.and_then(|halves| {
        let (first, last) = (*halves.iter().min()?, *halves.iter().max()?);
        Some(format!("; {}", Half::of_lives(first, last)))
    });
    let pays = ["hardly", "for a while", "yes"].contains(&says);
    let won_back = stage.paid_back_bytes.filter(|_| pays).and_then(|bytes| {
        let seconds = stage.cost_seconds?.mean;
        Some(format!(
            "; the {seconds:.0} s that it takes are won back after {} of such reads",
            size(bytes.mean as u64)
        ))
    });
    Some(format!(
        "{treatment} {says} ({} times as fast{later}{}{})",
        shown(gain),
        half.unwrap_or_default(),
        won_back.unwrap_or_default()
    ))
}

/// Whether each treatment of a target pays, in sentences.
pub fn sentences(target: &str, stages: &[StageMean]) -> Vec<String> {
    let treated = stages.iter().filter(|stage| !stage.lived_on);
    let treated = treated.filter_map(|stage| {
        let treatment = stage.treatment.as_ref()?;
        Some(format!("{target}, {treatment}: {}.", words(stages, stage)))
    });
    treated.collect()
}

fn words(stages: &[StageMean], stage: &StageMean) -> String {
    let mut parts = Vec::new();
    let aged = stages.first();
    if let (Some(was), Some(is)) = (aged.and_then(|aged| aged.layout_score), stage.layout_score) {
        parts.push(format!(
            "the layout score goes from {:.3} to {:.3}",
            was.mean, is.mean
        ));
    }
    if let (Some(was), Some(is)) = (aged.and_then(|aged| aged.placeable_1m), stage.placeable_1m)
        && let Some(room) = lost_room(was.mean, is.mean)
    {
        parts.push(format!("it {room}"));
    }
    if let Some(speed) = &stage.speed
        && let Some(by_before) = &speed.by_before
    {
        let what = format!("{} {}", speed.suite, speed.phase);
        parts.push(faster(&what, by_before, "as before"));
    }
    if let Some(seconds) = &stage.cost_seconds {
        parts.push(format!("it takes {:.1} s", seconds.mean));
    }
    let later = |stage: &&StageMean| stage.lived_on;
    let of_treatment = |other: &&StageMean| other.treatment == stage.treatment;
    let later = stages.iter().filter(later).find(of_treatment);
    if let Some(later) = later
        && let Some(speed) = &later.speed
        && let Some(by_untreated) = &speed.by_untreated
    {
        let what = format!("later {} {}", speed.suite, speed.phase);
        parts.push(faster(&what, by_untreated, "as without it"));
    }
    parts.join("; ")
}

fn faster(what: &str, ratio: &Mean, beside: &str) -> String {
    let shown = Mean::shown(Some(ratio));
    match ratio.interval {
        Some((low, high)) if low <= 1.0 && high >= 1.0 => {
            format!("whether {what} is faster is open: {shown} times as fast {beside}")
        }
        _ => format!("{what} is {shown} times as fast {beside}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::after::{Beside, Cost, Speed};
    use crate::days::DayRow;
    use fsage_bench::Says;

    /// A life in which a treatment makes reads so many times as fast, and later still so many times.
    fn life([now, later]: [f64; 2], by_day: [f64; 2]) -> Outcome {
        let speed = |ratio: f64| {
            let beside = Some(Beside {
                ratio,
                interval: [ratio, ratio],
                says: Says::Faster,
            });
            vec![Speed {
                suite: "hot-files".to_owned(),
                phase: "read".to_owned(),
                unit: "MB/s".to_owned(),
                speed: 100.0 * ratio,
                by_before: beside,
                by_untreated: beside,
            }]
        };
        let stage = |treatment: Option<&str>, lived_on, layout, days: &[f64], ratio| Stage {
            treatment: treatment.map(str::to_owned),
            lived_on,
            layout_score: Some(layout),
            layout_by_day: days.iter().copied().map(Some).collect(),
            speeds: speed(ratio),
            cost: treatment.filter(|_| !lived_on).map(|_| Cost {
                seconds: Some(2.0),
                ..Cost::default()
            }),
            ..Stage::new(None, &DayRow::default())
        };
        let defrag = Some("defrag:file");
        Outcome {
            target: "ext4".to_owned(),
            days_more: 2,
            stages: vec![
                stage(None, false, 0.7, &[], 1.0),
                stage(None, true, 0.7, &[0.7, 0.7], 1.0),
                stage(defrag, false, 0.9, &[], now),
                stage(defrag, true, 0.7, &by_day, later),
            ],
        }
    }

    fn said(outcomes: &[Outcome]) -> Option<String> {
        let lives: Vec<Life> = (0..outcomes.len()).map(|seed| Life::named(&seed)).collect();
        let known: Vec<_> = lives.iter().zip(outcomes).collect();
        answer("ext4", &known)
    }

    /// By hand: 1.4, 1.5 and 1.6 have a deviation of 0.1, and 4.303 * 0.1 / sqrt(3) = 0.248; a tenth of it of the later
    /// ratios. A quarter of the gain of 0.5 is 0.125. At 140 MB/s in place of 100 a MB takes 1/350 s less, so that 2 s
    /// are won back after 700 MB; at 150 after 600, at 160 after 533: 611 MB in the mean, which are 583 MiB.
    /// Of 0.2 that the layout gains a life has lost half on its first day, the others on the second.
    #[test]
    fn lives_say_whether_a_treatment_pays() {
        let lives = [
            life([1.4, 1.04], [0.79, 0.7]),
            life([1.5, 1.05], [0.85, 0.7]),
            life([1.6, 1.06], [0.85, 0.7]),
        ];
        assert_eq!(
            said(&lives).as_deref(),
            Some(
                "ext4 over 3 lives, does it pay for hot-files read? defrag:file for a while (1.500 ± 0.248 times as \
                 fast, 1.050 ± 0.025 times 2 days later; half of what it won in layout is gone after 1 to 2 days; the \
                 2 s that it takes are won back after 583 MiB of such reads)."
            )
        );
        let lasting = [1.4, 1.5, 1.6].map(|gain| life([gain, gain], [0.9, 0.9]));
        let lasting = said(&lasting).expect("speeds");
        assert!(lasting.contains("defrag:file yes (1.500"), "{lasting}");
        assert!(lasting.contains("more than half of what it won in layout is left then; the 2 s "));
        // The interval reaches from 0.6 to 1.8.
        let open = [1.0, 1.1, 1.5].map(|gain| life([gain, 1.0], [0.9, 0.9]));
        assert!(
            said(&open)
                .expect("speeds")
                .contains("defrag:file is open (1.200")
        );
        let none = [0.99, 1.0, 0.98].map(|gain| life([gain - 0.1, 1.0], [0.9, 0.9]));
        assert!(
            said(&none)
                .expect("speeds")
                .contains("defrag:file no (0.890")
        );
        assert!(!said(&none).expect("speeds").contains("won back"));
    }
}
