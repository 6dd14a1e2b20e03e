//! Does defragmenting pay: targets before and after what was done to them, where something was.

use super::subject::{Group, Subject};
use crate::after::{self, Outcome};
use crate::experiment::results::Mean;
use crate::experiment::treated::{self, StageMean};
use crate::life::Life;
use fsage_report::charts::{Point, Series};
use fsage_report::{Axis, Cell, DataTable, Exhibit, Lines, Section, Sheet};

/// What treatments made of the targets of a run; what cannot be read is not there.
pub fn outcomes(group: &Group) -> Vec<(&Subject, Outcome)> {
    let known = group.subjects.iter().filter_map(|subject| {
        let [life] = &subject.lives[..] else {
            return None;
        };
        if life.folder.as_os_str().is_empty() {
            return None;
        }
        Some((subject, after::read(&life.folder).ok()??))
    });
    known.collect()
}

/// The section; none where nothing was done.
pub fn section(group: &Group) -> Option<Section> {
    let all = outcomes(group);
    if all.is_empty() {
        return over_lives(group);
    }
    let mut exhibits = vec![Exhibit::Table(table(group, &all))];
    exhibits.extend(speeds(group, &all).map(Exhibit::Table));
    let days: Vec<Exhibit> = all
        .iter()
        .filter_map(|(subject, outcome)| days(group, subject, outcome))
        .collect();
    exhibits.extend(days);
    let sentences: Vec<String> = all
        .iter()
        .flat_map(|(_, outcome)| {
            after::answer(outcome)
                .into_iter()
                .chain(after::sentences(outcome))
        })
        .collect();
    Some(Section {
        id: format!("after{}", group.suffix),
        title: group.titled("Does defragmenting pay?"),
        lead: sentences.join(" "),
        exhibits,
    })
}

/// What treatments made of the targets that lived several lives, life by life.
fn outcomes_of_lives(group: &Group) -> Vec<(&str, Vec<(&Life, Outcome)>)> {
    let several = group
        .subjects
        .iter()
        .filter(|subject| subject.lives.len() > 1);
    let known = several.map(|subject| {
        let lives = subject
            .lives
            .iter()
            .filter(|life| !life.folder.as_os_str().is_empty());
        let outcomes =
            lives.filter_map(|life| Some((&life.life, after::read(&life.folder).ok()??)));
        (subject.name.as_str(), outcomes.collect())
    });
    let known = known.filter(|(_, outcomes): &(&str, Vec<_>)| !outcomes.is_empty());
    known.collect()
}

/// Whether treatments pay over several lives, a sentence a target.
pub fn answers_over_lives(group: &Group) -> Vec<String> {
    let known = outcomes_of_lives(group);
    let answers = known.iter().filter_map(|(name, outcomes)| {
        let outcomes: Vec<(&Life, &Outcome)> =
            outcomes.iter().map(|(life, of)| (*life, of)).collect();
        treated::answer(name, &outcomes)
    });
    answers.collect()
}

/// The section on several lives.
fn over_lives(group: &Group) -> Option<Section> {
    let outcomes = outcomes_of_lives(group);
    let known = outcomes.iter().map(|(name, outcomes)| {
        let outcomes = outcomes.iter().map(|(life, outcome)| (*life, outcome));
        (*name, treated::stages(outcomes))
    });
    let known: Vec<(&str, Vec<StageMean>)> = known.collect();
    known.first()?;
    let sentences = known
        .iter()
        .flat_map(|(name, stages)| treated::sentences(name, stages));
    Some(Section {
        id: format!("after{}", group.suffix),
        title: group.titled("Does defragmenting pay?"),
        lead: sentences.collect::<Vec<_>>().join(" "),
        exhibits: vec![Exhibit::Table(means(group, &known))],
    })
}

/// Means over lives, with their intervals.
fn means(group: &Group, known: &[(&str, Vec<StageMean>)]) -> Sheet {
    let mut data = DataTable::new(&[
        "target",
        "stage",
        "lives",
        "layout score",
        "layout, lowest",
        "layout, highest",
        "pieces a file",
        "free in runs of 1 MiB (bytes)",
        "seconds",
        "benchmark",
        "speed",
        "unit",
        "by untreated",
        "lowest",
        "highest",
    ]);
    let mean = |mean: Option<Mean>| Cell::from(mean.map(|mean| mean.mean));
    let with_ends = |mean: Option<Mean>| {
        let ends = mean.and_then(|mean| mean.interval);
        [
            mean.map(|mean| mean.mean),
            ends.map(|ends| ends.0),
            ends.map(|ends| ends.1),
        ]
        .map(Cell::from)
    };
    for (name, stages) in known {
        for stage in stages {
            let mut row = vec![
                Cell::from(*name),
                Cell::from(stage.stage.as_str()),
                Cell::from(Some(stage.cells as f64)),
            ];
            row.extend(with_ends(stage.layout_score));
            row.push(mean(stage.pieces_per_file));
            row.push(mean(stage.free_in_1m_runs_bytes));
            row.push(mean(stage.cost_seconds));
            if let Some(speed) = &stage.speed {
                row.push(Cell::from(
                    format!("{} {}", speed.suite, speed.phase).as_str(),
                ));
                row.push(mean(Some(speed.speed)));
                row.push(Cell::from(speed.unit.as_str()));
                row.extend(with_ends(stage.beside_untreated(speed)));
            }
            row.resize(data.columns.len(), Cell::Null);
            data.rows.push(row);
        }
    }
    Sheet {
        id: format!("after-table{}", group.suffix),
        title: "Before, after, and later, over all lives".to_owned(),
        description:
            "Means, with the ends of their 95 % intervals. A speed stands as a multiple of that of \
                      the same life and day without treatment."
                .to_owned(),
        data,
    }
}

/// What was done, and what the layout was then: a row a stage.
fn table(group: &Group, all: &[(&Subject, Outcome)]) -> Sheet {
    let mut data = DataTable::new(&[
        "target",
        "stage",
        "layout score",
        "pieces a file",
        "fragmented files",
        "free in runs of 1 MiB (bytes)",
        "read (bytes)",
        "written (bytes)",
        "seconds",
        "files moved",
    ]);
    let stages = all
        .iter()
        .flat_map(|(subject, outcome)| outcome.stages.iter().map(move |of| (subject, outcome, of)));
    for (subject, outcome, stage) in stages {
        let cost = stage.cost.as_ref();
        let bytes = |n: Option<u64>| Cell::from(n.map(|n| n as f64));
        data.rows.push(vec![
            Cell::from(subject.name.as_str()),
            Cell::from(after::name(stage, outcome).as_str()),
            stage.layout_score.into(),
            stage.pieces_per_file.into(),
            stage.fragmented_files.into(),
            stage.free_in_1m_runs_bytes.into(),
            bytes(cost.map(|cost| cost.read_bytes)),
            bytes(cost.map(|cost| cost.written_bytes)),
            cost.and_then(|cost| cost.seconds).into(),
            bytes(cost.and_then(|cost| cost.moved_files)),
        ]);
    }
    Sheet {
        id: format!("after-table{}", group.suffix),
        title: "Before, after, and later".to_owned(),
        description: "What was read and written is what the treatment took.".to_owned(),
        data,
    }
}

/// How fast it was then: a row a benchmark of a stage. None where no benchmark was run.
fn speeds(group: &Group, all: &[(&Subject, Outcome)]) -> Option<Sheet> {
    let mut data = DataTable::new(&[
        "target",
        "benchmark",
        "stage",
        "speed",
        "unit",
        "by untreated",
        "lowest",
        "highest",
    ]);
    for (subject, outcome) in all {
        let stages = outcome.stages.iter();
        let speeds = stages.flat_map(|stage| stage.speeds.iter().map(move |speed| (stage, speed)));
        let mut rows: Vec<(String, Vec<Cell>)> = speeds
            .map(|(stage, speed)| {
                let benchmark = format!("{} {}", speed.suite, speed.phase);
                let beside = stage.beside_untreated(speed);
                let row = vec![
                    Cell::from(subject.name.as_str()),
                    Cell::from(benchmark.as_str()),
                    Cell::from(after::name(stage, outcome).as_str()),
                    speed.speed.into(),
                    speed.unit.as_str().into(),
                    beside.map(|beside| beside.ratio).into(),
                    beside.map(|beside| beside.interval[0]).into(),
                    beside.map(|beside| beside.interval[1]).into(),
                ];
                (benchmark, row)
            })
            .collect();
        // Stages of one benchmark stand below each other.
        rows.sort_by(|(a, _), (b, _)| a.cmp(b));
        data.rows.extend(rows.into_iter().map(|(_, row)| row));
    }
    data.rows.first()?;
    let (lowest, highest) = (data.columns.len() - 2, data.columns.len() - 1);
    let has_width = data.rows.iter().any(|row| row[lowest] != row[highest]);
    let interval = if has_width {
        "A speed as a multiple of that of the same day without treatment has its 99 % interval beside it. Speeds of \
         this table were measured together; those of another one on a real machine at another time, which may be why \
         they are others."
    } else {
        // Repetitions on a model can be equal: an interval of no width is none.
        data.columns.truncate(lowest);
        data.rows.iter_mut().for_each(|row| row.truncate(lowest));
        "Beside a speed stands what multiple it is of that of the same day without treatment."
    };
    Some(Sheet {
        id: format!("after-speeds{}", group.suffix),
        title: "Speed before, after, and later".to_owned(),
        description: interval.to_owned(),
        data,
    })
}

/// The layout from the first day to the last one more; none where it did not live on.
fn days(group: &Group, subject: &Subject, outcome: &Outcome) -> Option<Exhibit> {
    let life = subject.lives.first()?;
    let mut place = subject.place;
    let lived = Series {
        name: "life".to_owned(),
        target: place,
        dashed: false,
        points: points(0, life.days.iter().map(super::subject::score)),
    };
    let first = life.days.len();
    let mut series = vec![lived];
    for stage in outcome.stages.iter().filter(|stage| stage.lived_on) {
        let start = outcome.stage(stage.treatment.as_deref(), false)?;
        let scores = std::iter::once(start.layout_score).chain(stage.layout_by_day.iter().copied());
        if stage.treatment.is_some() {
            place += 1;
        }
        series.push(Series {
            name: stage
                .treatment
                .clone()
                .unwrap_or_else(|| "not treated".to_owned()),
            target: place,
            dashed: stage.treatment.is_none(),
            points: points(first.saturating_sub(1), scores),
        });
    }
    if series.len() < 2 {
        return None;
    }
    let lines = Lines {
        id: format!("after-by-day-{}{}", subject.place, group.suffix),
        title: format!(
            "{}: layout score by day, with what was done to it",
            subject.name
        ),
        description:
            "From the day on which it was treated, one line for each way; dashed: not treated."
                .to_owned(),
        x: Axis {
            label: "day".to_owned(),
            ..Axis::default()
        },
        y: Axis {
            label: "layout score".to_owned(),
            ..Axis::default()
        },
        series,
        published: Vec::new(),
    };
    Some(Exhibit::Chart(lines.into_chart()))
}

fn points(first: usize, scores: impl Iterator<Item = Option<f64>>) -> Vec<Point> {
    let points = scores.enumerate().map(|(at, y)| Point {
        x: (first + at) as f64,
        y,
        interval: None,
    });
    points.collect()
}
