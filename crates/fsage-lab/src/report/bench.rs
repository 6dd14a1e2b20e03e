//! Benchmarks: aged against control.

use super::names::is_simulated;
use super::subject::{Group, Life, Over, Subject};
use super::times::{Times, in_same_lives};
use crate::benching::{self, Line, State, lines, spread};
use crate::life;
use fsage_bench::{Better, Says};
use fsage_report::chart::size_text;
use fsage_report::charts::{Bar, Point, Series};
use fsage_report::{Axis, Bars, Cell, DataTable, Exhibit, Format, Lines, Scale, Section, Sheet};

/// Sizes of files that stand beside each other as bars; of more there are curves.
const BARS: usize = 4;

/// The section; none where nothing was measured.
pub fn section(group: &Group) -> Option<Section> {
    let mut exhibits = Vec::new();
    for suite in suites(group) {
        let measured = measured(group, &suite);
        exhibits.extend(bars(group, &suite, &measured));
        exhibits.extend(curves(group, &suite, &measured));
        exhibits.push(table(group, &suite, &measured));
    }
    (!exhibits.is_empty()).then(|| Section {
        id: format!("bench{}", group.suffix),
        title: group.titled("Benchmarks"),
        lead: format!(
            "How fast the aged file systems are, beside their unaged controls{}. Medians of the repetitions, with the \
             95 % interval of the median; of fewer than six repetitions the smallest and the largest value.{}",
            machine(group),
            over_lives_in_words(group)
        ),
        exhibits,
    })
}

/// What values are of several lives.
fn over_lives_in_words(group: &Group) -> &'static str {
    let measured = |subject: &Subject| {
        subject
            .lives
            .iter()
            .filter(|life| !life.bench.is_empty())
            .count()
    };
    match group.subjects.iter().map(measured).max() {
        None | Some(..=1) => "",
        Some(2) => " Over two lives it is the mean of both, with the lower and the higher one.",
        Some(_) => {
            " Over several lives it is the mean of their medians, with Student's 95 % interval."
        }
    }
}

/// The models that the benchmarks ran on, where they are the same for all.
fn machine(group: &Group) -> String {
    let lives = group.subjects.iter().flat_map(|subject| &subject.lives);
    let mut models = lives
        .flat_map(|life| &life.bench)
        .map(|row| (&row.device, &row.host));
    match models.next() {
        Some((Some(device), Some(host)))
            if models.all(|m| m == (&Some(device.clone()), &Some(host.clone()))) =>
        {
            format!(", simulated: disk {device}, host {host}")
        }
        _ => String::new(),
    }
}

/// What a suite does, in a sentence.
fn doing(suite: &str) -> &'static str {
    match suite {
        "hot-files" => {
            " Reads all files that were modified in the last month, then overwrites them in place."
        }
        "delivery" => {
            " Delivers files as mail: each is forced to disk and moved to a folder that was there; then reads them."
        }
        "sequential" => " Creates many files of one size in new directories, then reads them.",
        _ => "",
    }
}

/// Aged against control of a phase, target by target.
pub struct Compared {
    /// The suite.
    pub suite: String,
    /// The phase.
    pub phase: String,
    /// What its values are counted in.
    pub unit: String,
    /// Which of two is the better one.
    pub better: Better,
    /// Target and ratio.
    pub ratios: Vec<(String, Ratio)>,
    /// Some targets ran on simulated devices and others on this machine: their speeds say nothing of each other.
    pub is_mixed: bool,
    /// The fastest aged target against the next one; none where they are mixed.
    pub fastest: Option<Fastest>,
}

impl Compared {
    /// The aged value of a target.
    pub fn aged(&self, target: &str) -> Option<f64> {
        let mut ratios = self.ratios.iter();
        let (_, ratio) = ratios.find(|(name, _)| name == target)?;
        Some(ratio.aged)
    }
}

/// The fastest aged target of a phase against the next one.
#[derive(Clone, Debug, PartialEq)]
pub struct Fastest {
    /// Its name.
    pub name: String,
    /// Name of the next one.
    pub next: String,
    /// How many times as fast it is.
    pub aged: Times,
    /// How many times as fast its unaged control is as that of the next one.
    pub fresh: Option<Times>,
}

/// The throughput of the aged file system as a multiple of that of its control.
#[derive(Clone, Debug, PartialEq)]
pub struct Ratio {
    /// Of medians, then over the sizes of files; the mean over lives.
    pub mean: f64,
    /// Where it lies: its interval; over several lives see [`Over::ends`].
    pub ends: (f64, f64),
    /// What it says of the aged file system.
    pub says: Says,
    /// Whether a case ran only once: nothing says then how far another repetition would lie from it.
    pub is_single: bool,
    /// Whether its repetitions decide it, and its files, which are few and lie by chance, leave it open.
    pub is_open_by_files: bool,
    /// Lives that it is the mean of.
    pub lives: usize,
    /// The ratio in each of them; where a life was repeated, of each repetition.
    pub by_life: Vec<(life::Life, f64)>,
    /// What the aged file system has, in the unit of the phase: over sizes of files the geometric mean, the mean over
    /// lives.
    pub aged: f64,
}

/// Every phase that was measured in both states, by suite.
pub fn compared(group: &Group) -> Vec<Compared> {
    let mut compared: Vec<Compared> = Vec::new();
    for suite in suites(group) {
        let mut of_suite: Vec<Compared> = Vec::new();
        let of_all = measured(group, &suite);
        let is_mixed = is_mixed(&of_all);
        for (subject, lives) in &of_all {
            for phase in phases(lives) {
                let Some(mut ratio) = ratio(lives, &phase) else {
                    continue;
                };
                // Flash does the same every time: what is drawn at random is repeated there.
                ratio.is_single &= subject.lives.iter().all(|life| life.flash.is_empty());
                let Some(first) = line(lives, &phase) else {
                    continue;
                };
                let known = of_suite.iter().position(|known| known.phase == phase);
                let at = known.unwrap_or_else(|| {
                    of_suite.push(Compared {
                        suite: suite.clone(),
                        phase: phase.clone(),
                        unit: first.unit_name().to_owned(),
                        better: first.better(),
                        ratios: Vec::new(),
                        is_mixed,
                        fastest: if is_mixed {
                            None
                        } else {
                            fastest(&of_all, &phase)
                        },
                    });
                    of_suite.len() - 1
                });
                of_suite[at].ratios.push((subject.name.clone(), ratio));
            }
        }
        compared.extend(of_suite);
    }
    for compared in &mut compared {
        compared
            .ratios
            .sort_by(|a, b| b.1.mean.total_cmp(&a.1.mean));
    }
    compared
}

fn ratio(lives: &[OfLife], phase: &str) -> Option<Ratio> {
    let of_life = |(life, lines): &OfLife| {
        let of_phase = lines.iter().filter(|line| line.phase == phase);
        let both: Vec<&Line> = of_phase.filter(|line| line.has_ratio()).collect();
        let ratio = benching::ratio_over(both.iter().copied())?;
        Some((life.clone(), ratio, benching::speed(&both, State::Aged)))
    };
    let known: Vec<_> = lives.iter().filter_map(of_life).collect();
    let aged = over(known.iter().map(|(life, _, aged)| (life, *aged)))?;
    let ratios: Vec<_> = known.into_iter().map(|(life, of, _)| (life, of)).collect();
    let Times {
        mean,
        ends,
        says,
        lives,
    } = Times::of(&ratios)?;
    Some(Ratio {
        mean,
        ends,
        says,
        is_single: matches!(&ratios[..], [(_, only)] if only.count == 1),
        is_open_by_files: matches!(&ratios[..], [(_, only)] if only.is_open_by_files()),
        lives,
        by_life: ratios
            .into_iter()
            .map(|(life, of)| (life, of.median))
            .collect(),
        aged: aged.mean,
    })
}

/// Values of lives: each life counts once.
fn over<'a>(values: impl Iterator<Item = (&'a life::Life, f64)>) -> Option<Over> {
    let values = values.map(|(life, value)| (life.clone(), value));
    Over::of(life::independent(values))
}

/// Whether some targets ran on simulated devices and others on this machine.
fn is_mixed(of_all: &Measured<'_>) -> bool {
    let simulated = |(subject, _): &(&Subject, _)| is_simulated(&subject.spec);
    of_all.iter().any(simulated) && !of_all.iter().all(simulated)
}

/// The fastest aged target of a phase against the next one, where several were measured.
fn fastest(of_all: &Measured<'_>, phase: &str) -> Option<Fastest> {
    let of_phase = |lines: &'_ [Line]| -> Vec<Line> {
        let lines = lines.iter().filter(|line| line.phase == phase);
        lines.cloned().collect()
    };
    let mut known: Vec<_> = of_all
        .iter()
        .filter_map(|(subject, lives)| Some((subject, lives, ratio(lives, phase)?.aged)))
        .collect();
    let better = line(of_all.first()?.1.as_slice(), phase)?.better();
    known.sort_by(|a, b| better.order(a.2, b.2));
    let [(first, of_first, _), (next, of_next, _), ..] = known[..] else {
        return None;
    };
    let beside = |is_aged: bool| {
        let ratios = in_same_lives(of_first, of_next).filter_map(|(life, a, b)| {
            let (a, b) = (of_phase(a), of_phase(b));
            let (a, b): (Vec<&Line>, Vec<&Line>) = (a.iter().collect(), b.iter().collect());
            Some((life.clone(), benching::beside(&a, &b, is_aged)?))
        });
        Times::of(&ratios.collect::<Vec<_>>())
    };
    Some(Fastest {
        name: first.name.clone(),
        next: next.name.clone(),
        aged: beside(true)?,
        fresh: beside(false),
    })
}

/// Names of all suites, in order.
fn suites(group: &Group) -> Vec<String> {
    let lives = group.subjects.iter().flat_map(|subject| &subject.lives);
    let rows = lives.flat_map(|life| &life.bench);
    let mut suites: Vec<String> = rows.map(|row| row.measurement.benchmark.clone()).collect();
    suites.sort();
    suites.dedup();
    suites
}

/// What was measured in a life.
type OfLife = (life::Life, Vec<Line>);
/// What was measured of a target, life by life.
type Measured<'a> = Vec<(&'a Subject, Vec<OfLife>)>;

fn measured<'a>(group: &'a Group, suite: &str) -> Measured<'a> {
    let of_suite = |life: &Life| {
        let rows = life
            .bench
            .iter()
            .filter(|row| row.measurement.benchmark == suite);
        let lines = lines(&rows.cloned().collect::<Vec<_>>());
        (life.life.clone(), lines)
    };
    let subjects = group.subjects.iter().map(|subject| {
        let lives = subject.lives.iter().map(of_suite);
        (
            subject,
            lives
                .filter(|(_, lines)| !lines.is_empty())
                .collect::<Vec<_>>(),
        )
    });
    subjects.filter(|(_, lives)| !lives.is_empty()).collect()
}

/// The lines of all lives.
fn all(lives: &[OfLife]) -> impl Iterator<Item = &Line> {
    lives.iter().flat_map(|(_, lines)| lines)
}

/// The first line of a phase.
fn line<'a>(lives: &'a [OfLife], phase: &str) -> Option<&'a Line> {
    all(lives).find(|line| line.phase == phase)
}

/// Phases in the order of their first lines.
fn phases(lives: &[OfLife]) -> Vec<String> {
    let mut phases: Vec<String> = Vec::new();
    for line in all(lives) {
        if !phases.contains(&line.phase) {
            phases.push(line.phase.clone());
        }
    }
    phases
}

/// How fast a state is: the median with its spread; over several lives the mean of their medians, with
/// where that lies.
fn speed(
    lives: &[OfLife],
    phase: &str,
    file_bytes: Option<u64>,
    state: State,
) -> Option<(f64, (f64, f64))> {
    let speeds = in_case(lives, phase, file_bytes).flat_map(|(life, line)| {
        let speeds = line.speeds();
        speeds.map(move |(of, summary)| (life, of, (summary.median, spread(summary))))
    });
    let speeds: Vec<_> = speeds.filter(|(_, of, _)| *of == state).collect();
    if let [(_, _, one)] = speeds[..] {
        return Some(one);
    }
    let over = over(speeds.iter().map(|(life, _, (median, _))| (*life, *median)))?;
    Some((over.mean, over.ends()))
}

/// The lines of a phase and a size of files, with their lives.
fn in_case<'a>(
    lives: &'a [OfLife],
    phase: &'a str,
    file_bytes: Option<u64>,
) -> impl Iterator<Item = (&'a life::Life, &'a Line)> {
    let lines = lives
        .iter()
        .flat_map(|(life, lines)| lines.iter().map(move |line| (life, line)));
    lines.filter(move |(_, line)| line.phase == phase && line.file_bytes == file_bytes)
}

const STATES: [State; 3] = [State::Aged, State::Control, State::Empty];

/// A phase of a suite.
struct Phase<'a> {
    name: &'a str,
    /// What it is counted in, and which of two values is the better one.
    counted: (&'a str, Better),
    /// Sizes of its files.
    sizes: Vec<Option<u64>>,
}

/// The phases of a suite, of all targets.
fn cases<'a>(measured: &'a Measured<'_>) -> Vec<Phase<'a>> {
    let mut cases: Vec<Phase> = Vec::new();
    for line in measured.iter().flat_map(|(_, lives)| all(lives)) {
        let known = cases.iter_mut().find(|phase| phase.name == line.phase);
        match known {
            Some(phase) if phase.sizes.contains(&line.file_bytes) => {}
            Some(phase) => phase.sizes.push(line.file_bytes),
            None => cases.push(Phase {
                name: &line.phase,
                counted: (line.unit_name(), line.better()),
                sizes: vec![line.file_bytes],
            }),
        }
    }
    for phase in &mut cases {
        phase.sizes.sort_unstable();
    }
    cases
}

/// Bars of the phases with few sizes of files, a chart for each unit.
fn bars(group: &Group, suite: &str, measured: &Measured<'_>) -> Vec<Exhibit> {
    // By their place on the page: a target has one color in all charts.
    let most = group.subjects.iter().map(|subject| subject.place).max();
    let mut targets = vec![String::new(); most.map_or(0, |most| most + 1)];
    for subject in &group.subjects {
        targets[subject.place].clone_from(&subject.name);
    }
    let mut charts = Vec::new();
    let few = cases(measured).into_iter();
    let few: Vec<Phase> = few.filter(|phase| phase.sizes.len() <= BARS).collect();
    let mut units: Vec<(&str, Better)> = Vec::new();
    for phase in &few {
        if !units.contains(&phase.counted) {
            units.push(phase.counted);
        }
    }
    for (unit, better) in units {
        let mut bars = Vec::new();
        for phase in few.iter().filter(|phase| phase.counted == (unit, better)) {
            let (phase, sizes) = (phase.name, &phase.sizes);
            for &size in sizes {
                let group = match size {
                    Some(bytes) => format!("{phase}, {}", size_text(bytes)),
                    None => phase.to_owned(),
                };
                for (subject, lives) in measured {
                    let states = STATES.iter();
                    bars.extend(states.filter_map(|&state| {
                        let (value, interval) = speed(lives, phase, size, state)?;
                        Some(Bar {
                            group: group.clone(),
                            target: subject.place,
                            state: state.as_str().to_owned(),
                            value,
                            interval: Some(interval),
                        })
                    }));
                }
            }
        }
        let id = match (unit, better) {
            ("MB/s", Better::Higher) => "mb".to_owned(),
            ("files/s", Better::Higher) => "files".to_owned(),
            _ => format!("{}-{}", slug(unit), better.as_str()),
        };
        let longer = match better {
            Better::Higher => "longer is better",
            Better::Lower => "shorter is better",
        };
        let chart = Bars {
            id: format!("bench-{}-{id}{}", slug(suite), group.suffix),
            title: format!("Benchmark {suite}"),
            description: format!("In {unit}; {longer}.{}", doing(suite)),
            value: Axis {
                label: unit.to_owned(),
                from_zero: true,
                ..Axis::default()
            },
            targets: targets.clone(),
            bars,
        };
        charts.push(Exhibit::Chart(chart.into_chart()));
    }
    charts
}

/// Curves by size of files, of the phases with many.
fn curves(group: &Group, suite: &str, measured: &Measured<'_>) -> Vec<Exhibit> {
    let mut charts = Vec::new();
    for Phase {
        name: phase,
        counted: (unit, _),
        sizes,
    } in cases(measured)
    {
        if sizes.len() <= BARS {
            continue;
        }
        let mut series = Vec::new();
        for (subject, lives) in measured {
            for state in STATES {
                let points = sizes.iter().filter_map(|&size| {
                    let (value, interval) = speed(lives, phase, size, state)?;
                    Some(Point {
                        x: size? as f64,
                        y: Some(value),
                        interval: Some(interval),
                    })
                });
                let points: Vec<Point> = points.collect();
                if points.is_empty() {
                    continue;
                }
                series.push(Series {
                    name: match state {
                        State::Aged => subject.name.clone(),
                        other => format!("{}, {}", subject.name, other.as_str()),
                    },
                    target: subject.place,
                    dashed: state != State::Aged,
                    points,
                });
            }
        }
        let chart = Lines {
            id: format!("bench-{}-{}{}", slug(suite), slug(phase), group.suffix),
            title: format!("Benchmark {suite}: {phase}, by size of files"),
            description: "Dashed: the unaged control. Bands are the spread of the repetitions."
                .to_owned(),
            x: Axis {
                label: "file size".to_owned(),
                format: Format::Bytes,
                scale: Scale::Log,
                ..Axis::default()
            },
            y: Axis {
                label: unit.to_owned(),
                from_zero: true,
                ..Axis::default()
            },
            series,
            published: Vec::new(),
        };
        charts.push(Exhibit::Chart(chart.into_chart()));
    }
    charts
}

/// Letters, digits and hyphens, for an id.
pub fn slug(text: &str) -> String {
    let keep = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_lowercase()
        } else {
            '-'
        }
    };
    text.chars().map(keep).collect()
}

/// The columns of an interval.
const LOW: usize = 8;
const HIGH: usize = 9;

fn table(group: &Group, suite: &str, measured: &Measured<'_>) -> Exhibit {
    let mut data = DataTable::new(&[
        "phase",
        "size",
        "unit",
        "target",
        "aged",
        "control",
        "empty",
        "aged / control",
        "low",
        "high",
    ]);
    for Phase {
        name: phase,
        counted: (unit, _),
        sizes,
    } in cases(measured)
    {
        for size in sizes {
            for (subject, lives) in measured {
                let mut row: Vec<Cell> = vec![
                    phase.into(),
                    size.map_or(Cell::Null, |bytes| size_text(bytes).into()),
                    unit.into(),
                    subject.name.as_str().into(),
                ];
                row.extend(STATES.map(|state| {
                    let speed = speed(lives, phase, size, state);
                    Cell::from(speed.map(|(value, _)| value))
                }));
                let lines = in_case(lives, phase, size);
                let ratios: Vec<_> = lines
                    .filter_map(|(life, line)| Some((life, line.ratio()?)))
                    .collect();
                let over = over(ratios.iter().map(|(life, ratio)| (*life, ratio.median)));
                let ends = match (&ratios[..], over) {
                    ([(_, one)], _) => Some((one.low, one.high)),
                    (_, over) => over.map(|over| over.ends()),
                };
                row.push(over.map(|over| over.mean).into());
                row.push(ends.map(|ends| ends.0).into());
                row.push(ends.map(|ends| ends.1).into());
                data.rows.push(row);
            }
        }
    }
    let lower = |phase: &Phase| phase.counted.1 == Better::Lower;
    let inverse = if cases(measured).iter().any(lower) {
        " Where lower is better it is control over aged, so that this holds too."
    } else {
        ""
    };
    let known = |at: usize| data.rows.iter().any(|row| row[at] != Cell::Null);
    // Repetitions on a model can be equal: an interval of no width is none.
    let has_width = data.rows.iter().any(|row| row[LOW] != row[HIGH]);
    let kept = (0..data.columns.len())
        .filter(|&at| known(at) && (has_width || !(LOW..=HIGH).contains(&at)));
    let kept: Vec<usize> = kept.collect();
    let most_lives = measured.iter().map(|(_, lives)| lives.len()).max();
    let interval = if has_width && most_lives >= Some(3) {
        " Beside it stand the ends of Student's 95 % interval of the mean over lives."
    } else if has_width && most_lives == Some(2) {
        " Beside the mean of two lives stand the lower and the higher one."
    } else if has_width {
        " Beside it stand the ends of its 99 % interval."
    } else {
        " Each was measured once, or the same every time; how much another life would differ, other seeds show."
    };
    let of_sizes = if known(1) {
        " The verdict has its geometric mean over the sizes of files."
    } else {
        ""
    };
    data.columns = kept.iter().map(|&at| data.columns[at].clone()).collect();
    for row in &mut data.rows {
        *row = kept.iter().map(|&at| row[at].clone()).collect();
    }
    Exhibit::Table(Sheet {
        id: format!("bench-{}-table{}", slug(suite), group.suffix),
        title: format!("Benchmark {suite}, medians"),
        description: format!(
            "Aged over control is the ratio of the medians; below 1 the aged file system is the slower \
             one.{inverse}{of_sizes}{interval}"
        ),
        data,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::benching::results::Row;
    use fsage_bench::Measurement;

    /// So many million bytes in a second.
    fn row(state: State, repetition: u32, file_bytes: Option<u64>, megabytes: u64) -> Row {
        Row {
            target: "ffs".to_owned(),
            state,
            device: Some("a disk".to_owned()),
            host: None,
            measurement: Measurement {
                benchmark: "hot-files".to_owned(),
                phase: "read".to_owned(),
                file_bytes,
                repetition,
                files: 1,
                bytes: megabytes * 1_000_000,
                elapsed_ns: 1_000_000_000,
                ..Measurement::default()
            },
        }
    }

    fn group(bench: Vec<Row>) -> Group {
        Group {
            subjects: vec![Subject {
                name: "a".to_owned(),
                lives: vec![Life {
                    bench,
                    ..Life::default()
                }],
                ..Subject::default()
            }],
            ..Group::default()
        }
    }

    fn ratio_of(pairs: &[(u64, u64)]) -> Ratio {
        let rows = pairs
            .iter()
            .zip(0..)
            .flat_map(|(&(aged, control), repetition)| {
                [
                    row(State::Aged, repetition, None, aged),
                    row(State::Control, repetition, None, control),
                ]
            });
        let compared = compared(&group(rows.collect()));
        assert_eq!(compared.len(), 1);
        compared[0].ratios[0].1.clone()
    }

    #[test]
    fn aged_is_slower_unless_repetitions_differ_by_as_much() {
        let slower = ratio_of(&[(2, 4), (3, 6)]);
        assert_eq!(
            (slower.mean.to_string().as_str(), slower.says),
            ("0.5", Says::Slower)
        );
        // By hand: the medians are 3 and 4, and one pair alone is 1.25, another 0.5.
        let unclear = ratio_of(&[(2, 4), (5, 4), (3, 4)]);
        assert_eq!(
            (unclear.mean.to_string().as_str(), unclear.says),
            ("0.75", Says::Inconclusive)
        );
        assert_eq!(unclear.ends, (0.5, 1.25));
    }

    #[test]
    fn few_sizes_are_bars_and_many_are_curves() {
        let charts = |sizes: u64| {
            let sizes = (1..=sizes).map(|size| Some(size << 14));
            let rows = sizes.flat_map(|size| {
                [
                    row(State::Aged, 0, size, 2),
                    row(State::Control, 0, size, 4),
                ]
            });
            let section = section(&group(rows.collect())).expect("a section");
            let ids = section
                .exhibits
                .into_iter()
                .filter_map(|exhibit| match exhibit {
                    Exhibit::Chart(chart) => Some(chart.id),
                    Exhibit::Table(_) => None,
                });
            ids.collect::<Vec<String>>()
        };
        assert_eq!(charts(2), ["bench-hot-files-mb"]);
        assert_eq!(charts(5), ["bench-hot-files-read"]);
        assert!(section(&Group::default()).is_none());
    }
}
