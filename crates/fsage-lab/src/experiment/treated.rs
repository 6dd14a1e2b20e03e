//! What treatments made of a target, over all of its lives.

use super::results::{Mean, Row};
use crate::after::{Outcome, Stage, lost_room, name, phase, speed};
use crate::fullness::Phase;
use crate::life::Life;
use crate::report::words::size;
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
