//! What the measurements of a suite on a target say: a table, charts, and JSON.

use super::causes::{self, CauseRow, CauseTime, Split};
use super::flash::{self, FlashDay, FlashRow};
use super::grounds::Files;
use super::lane::{Lane, NotRun, Suited};
use super::ratios::{PhaseRatio, are_too_few, of_lines, words};
use super::results::{self, Row, State};
use super::{HOT_FILES, Plan, Suite, why};
use crate::days::{self, DayRow};
use crate::error::Context;
use crate::table;
use fsage_bench::benchmarks::free_space::FREE_SPACE;
use fsage_bench::{Better, FlashFacts, LEAST_APART, Measurement, Ratio, Repeated, Says, Summary};
use fsage_durable::PartialFile;
use fsage_report::chart::{self, Series, size_text};
use fsage_report::svg::{self, Axis, Panel};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

/// Characters of a chart in the terminal.
const WIDTH: usize = 72;
/// Bytes of a megabyte, as disks are sold, and as memory is.
pub(super) const MB: f64 = 1e6;
const MIB: f64 = 1_048_576.0;
/// Between a case that was left out and why.
pub(crate) const LEFT_OUT: &str = ": left out: ";

/// A suite on a target.
pub struct Report {
    target: String,
    suite: Suite,
    /// The simulated disk and machine; none of a real file system.
    device: Option<String>,
    host: Option<String>,
    /// How the caches of a real file system were emptied.
    caches: Option<&'static str>,
    /// How far copied free maps are from those that were to be copied.
    free_map_off_percent: BTreeMap<State, f64>,
    /// Where the pages of files lie on a flash device.
    flash: BTreeMap<State, FlashFacts>,
    /// The same of the aged file system at the end of every day of its life.
    flash_days: Vec<FlashDay>,
    /// How long phases take without some causes of their time.
    causes: Vec<CauseTime>,
    /// Of hot files, all files among which they are.
    all_files: Option<Files>,
    /// The last day of the run, with its control: why aged is slower than that.
    last_day: Option<DayRow>,
    /// Of each case, at least and at most so many.
    repetitions: (usize, usize),
    rows: Vec<Row>,
    left_out: Vec<NotRun>,
    lines: Vec<Line>,
}

/// A phase with files of one size, in every state.
#[derive(Clone, Serialize)]
pub struct Line {
    /// The phase.
    pub phase: String,
    /// Size of each file, where all have the same.
    pub file_bytes: Option<u64>,
    /// By state, in the order of the command line.
    states: BTreeMap<State, Cell>,
    /// Of a command, what its values are counted in and which is the better one.
    #[serde(rename = "value", skip_serializing_if = "Option::is_none")]
    own: Option<(String, Better)>,
    /// The speeds of aged and control; none where it was not measured in both.
    #[serde(rename = "ratio", serialize_with = "ratio_of_repeated")]
    repeated: Option<Repeated>,
}

/// What the repetitions of a phase say in one state.
#[derive(Clone, Serialize)]
struct Cell {
    /// Repetitions.
    #[serde(skip)]
    count: usize,
    /// Throughput in 10^6 bytes a second; none where files are counted only.
    mb_per_s: Option<Summary>,
    /// The same in 2^20 bytes.
    mib_per_s: Option<Summary>,
    /// Files a second.
    files_per_s: Option<Summary>,
    /// What a command gave.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Summary>,
    /// Of the files that the phase went over, in all repetitions together.
    layout_score: Option<f64>,
}

/// A suite on a target, for a program.
#[derive(Serialize)]
pub struct TargetJson {
    target: String,
    device: Option<String>,
    host: Option<String>,
    caches: Option<&'static str>,
    free_map_off_percent: BTreeMap<State, f64>,
    /// Where the pages of files lie on a flash device.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    flash: BTreeMap<State, FlashFacts>,
    /// The same of the aged file system at the end of every day of its life.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    flash_days: Vec<FlashDay>,
    /// What the aged file system loses on a flash device, by causes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    losses: Vec<Split>,
    all_files: Option<Files>,
    repetitions: usize,
    most_repetitions: usize,
    phases: Vec<Line>,
    left_out: Vec<NotRun>,
    measurements: Vec<Row>,
}

impl Report {
    /// Sums up the measurements of a suite.
    pub fn new(lane: &Lane, suite: &Suite, plan: &Plan, suited: Suited) -> Report {
        let machine = (!lane.is_real()).then_some(&plan.machine);
        let lines = lines(&suited.rows);
        let cells = lines.iter().flat_map(|line| line.states.values());
        let counts: Vec<usize> = cells.map(|cell| cell.count).collect();
        Report {
            target: lane.spec.clone(),
            suite: suite.clone(),
            device: machine.map(|machine| machine.device.clone()),
            host: machine.map(|machine| machine.host.clone()),
            all_files: lane.all_files.filter(|_| suite.name() == HOT_FILES),
            last_day: days::read(&lane.folder.join("days.parquet"))
                .ok()
                .and_then(|mut days| days.pop()),
            repetitions: (
                counts.iter().copied().min().unwrap_or(0),
                counts.iter().copied().max().unwrap_or(0),
            ),
            caches: suited.caches,
            free_map_off_percent: suited.free_map_off_percent,
            flash: suited.flash,
            flash_days: suited.flash_days,
            causes: suited.causes,
            left_out: suited.left_out,
            lines,
            rows: suited.rows,
        }
    }

    /// The suite.
    pub fn suite(&self) -> &str {
        self.suite.name()
    }

    /// Whether there is any measurement.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Which cases were left out, and why: a line for neighbors with one reason, and for the same cases of both states.
    pub fn left_out(&self) -> Vec<String> {
        let same = |a: &NotRun, b: &NotRun| (a.state, &a.why) == (b.state, &b.why);
        let mut groups: Vec<(Vec<State>, String, &str)> = Vec::new();
        for same in self.left_out.chunk_by(same) {
            let sizes: Vec<u64> = same.iter().filter_map(|left| left.file_bytes).collect();
            let files = match sizes[..] {
                [] => String::new(),
                [one] => format!(", files of {}", size_text(one)),
                [first, .., last] => format!(
                    ", {} sizes of files from {} to {}",
                    sizes.len(),
                    size_text(first),
                    size_text(last)
                ),
            };
            let (state, why) = (same[0].state, &*same[0].why);
            // Both states lack room, or another thing, though not as much of it.
            let kind = |why: &str| why.split(',').next().map(str::to_owned);
            let alike = groups
                .iter_mut()
                .find(|(_, others, of)| *others == files && kind(of) == kind(why));
            match alike {
                Some((states, ..)) => states.push(state),
                None => groups.push((vec![state], files, why)),
            }
        }
        let end = if self.rows.is_empty() {
            "; nothing was measured, and no results are written"
        } else {
            ""
        };
        let line = |(states, files, why): (Vec<State>, String, &str)| {
            let states: Vec<&str> = states.into_iter().map(State::as_str).collect();
            let (suite, states) = (self.suite(), states.join(" and "));
            format!(
                "{}: {suite}, {states}{files}{LEFT_OUT}{why}{end}",
                self.target
            )
        };
        groups.into_iter().map(line).collect()
    }

    /// Writes the measurements and a chart of them; nothing where nothing was measured.
    ///
    /// # Errors
    /// Results are there without `force`, or cannot be written.
    pub fn write(&self, folder: &Path, seed: u64, force: bool) -> crate::Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        results::write(folder, &*self.suite, seed, &self.rows, force)?;
        flash::write(folder, self.flash_rows())?;
        causes::write(folder, self.cause_rows())?;
        self.write_chart(folder, force)
    }

    /// What flash made of the layout; nothing of a free map that lies on a device of its own.
    fn flash_rows(&self) -> Vec<FlashRow> {
        let (Some(device), Some(host)) = (&self.device, &self.host) else {
            return Vec::new();
        };
        if self.suite() == FREE_SPACE.name {
            return Vec::new();
        }
        let row = |state, day, facts| FlashRow {
            target: self.target.clone(),
            state,
            device: device.clone(),
            host: host.clone(),
            day,
            facts,
        };
        let days = self.flash_days.iter();
        let days = days.map(|of| row(State::Aged, Some(of.day), of.facts));
        let begins = self.flash.iter();
        let begins = begins.map(|(&state, &facts)| row(state, None, facts));
        days.chain(begins).collect()
    }

    fn cause_rows(&self) -> Vec<CauseRow> {
        let (Some(device), Some(host)) = (&self.device, &self.host) else {
            return Vec::new();
        };
        let times = self.causes.iter().cloned();
        let rows = times.map(|time| CauseRow {
            target: self.target.clone(),
            device: device.clone(),
            host: host.clone(),
            suite: self.suite().to_owned(),
            time,
        });
        rows.collect()
    }

    /// Prints a table, and a chart of each phase that has several sizes.
    ///
    /// # Errors
    /// `out` fails.
    pub fn print(&self, out: &mut impl Write) -> io::Result<()> {
        if self.lines.is_empty() {
            return Ok(());
        }
        write!(out, "\n{} on {}", self.suite(), self.target)?;
        if let (Some(device), Some(host)) = (&self.device, &self.host) {
            write!(out, ", simulated: disk {device}, host {host}")?;
        }
        if let Some(caches) = self.caches {
            write!(out, "; between phases: {caches}")?;
        }
        writeln!(out)?;
        for (state, percent) in &self.free_map_off_percent {
            let state = state.as_str();
            writeln!(
                out,
                "Free map of {state}: {percent:.2} % off the one that it is a copy of."
            )?;
        }
        for (state, facts) in &self.flash {
            writeln!(
                out,
                "Flash of {}: die balance {:.2}, page use {:.2}; write amplification {:.2} so far.",
                state.as_str(),
                facts.die_balance,
                facts.page_use,
                facts.write_amplification
            )?;
        }
        if let (Some(all), Some(row)) = (self.all_files, self.rows.first()) {
            let mb = |bytes: u64| digits(bytes as f64 / MB);
            let (hot, hot_bytes) = (row.measurement.files, mb(row.measurement.bytes));
            writeln!(
                out,
                "Hot files: {hot} of {} files, {hot_bytes} of {} MB.",
                all.files,
                mb(all.bytes)
            )?;
        }
        writeln!(out, "{}\n", self.what_is_shown())?;
        writeln!(out, "{}", self.table())?;
        let phases = of_lines(self.suite(), &self.lines);
        let says = phases.iter().map(|of| {
            let said = words(of.aged_by_control, of.interval.into(), of.says);
            format!("{} {said}", of.phase)
        });
        let says: Vec<String> = says.collect();
        if !says.is_empty() {
            writeln!(out, "\nAged beside unaged: {}.", says.join("; "))?;
        }
        let is_few = |of: &PhaseRatio| {
            of.says == Says::Inconclusive && are_too_few(of.interval[0], of.interval[1])
        };
        if phases.iter().any(is_few) {
            writeln!(
                out,
                "Too few runs: {} of each side, and {LEAST_APART} or more can tell them from chance (--repetitions \
                 {LEAST_APART}).",
                self.repetitions.0
            )?;
        }
        let slower = phases.iter().filter(|of| of.says == Says::Slower);
        let slower: Vec<&str> = slower.map(|of| of.phase.as_str()).collect();
        if let (false, Some(day)) = (slower.is_empty(), &self.last_day) {
            let why = why::sentence(&*self.suite, (&self.rows, &self.lines), &slower, day);
            writeln!(out, "{}", table::wrapped(&why, "", ""))?;
        }
        let losses = causes::splits(&self.causes);
        if !losses.is_empty() {
            writeln!(
                out,
                "\nWhat aged takes longer than control and why, in % of the time of control; first repetition.\n"
            )?;
            writeln!(out, "{}", causes::in_percent(&losses))?;
            for said in losses.iter().filter_map(Split::more_moved) {
                writeln!(out, "{said}")?;
            }
        }
        for (phase, series) in self.curves() {
            let sizes = series.iter().flat_map(|s| s.points.iter().map(|p| p.0));
            let (least, most) = sizes.fold((f64::INFINITY, 0.0), |(least, most), x| {
                (x.min(least), x.max(most))
            });
            if least >= most {
                continue;
            }
            writeln!(out, "\n{phase}: {}", self.unit_of(&phase).as_str())?;
            write!(out, "{}", chart::curves_by_size(&series, WIDTH))?;
        }
        Ok(())
    }

    fn what_is_shown(&self) -> String {
        let (least, most) = self.repetitions;
        let spread = match least {
            1 => return "One repetition.".to_owned(),
            2..6 => "the smallest and the largest value",
            _ => "the 95 % interval of the median",
        };
        let repetitions = if least == most {
            least.to_string()
        } else {
            format!("{least} to {most}")
        };
        let ratio = if self.lines.iter().any(Line::has_ratio) {
            "; of ratios, their 99 % interval"
        } else {
            ""
        };
        let lower = if self.lines.iter().any(|line| line.better() == Better::Lower) {
            "\nWhere lower is better the ratio is control / aged: below 1 aged is always the slower one."
        } else {
            ""
        };
        format!("Medians of {repetitions} repetitions, and {spread} where it shows{ratio}.{lower}")
    }

    fn states(&self) -> Vec<State> {
        let all = [State::Aged, State::Control, State::Empty];
        let measured = |state: &State| {
            self.lines
                .iter()
                .any(|line| line.states.contains_key(state))
        };
        all.into_iter().filter(measured).collect()
    }

    fn table(&self) -> comfy_table::Table {
        let states = self.states();
        let has_ratio = self.lines.iter().any(Line::has_ratio);
        let mut header = vec!["phase".to_owned(), "size".to_owned(), "unit".to_owned()];
        for state in &states {
            header.push(state.as_str().to_owned());
        }
        if has_ratio {
            header.push("aged / control".to_owned());
        }
        let mut cells = self.lines.iter().flat_map(|line| line.states.values());
        let has_layout = cells.any(|cell| cell.layout_score.is_some());
        let scored = if has_layout { &states[..] } else { &[] };
        for state in scored {
            header.push(format!("layout\n{}", state.as_str()));
        }
        let header: Vec<&str> = header.iter().map(String::as_str).collect();
        let mut table = table::table(&header);
        for line in &self.lines {
            let unit = line.unit();
            let mut cells = vec![
                line.phase.clone(),
                line.file_bytes.map_or_else(|| "-".to_owned(), size_text),
                unit.as_str().to_owned(),
            ];
            for state in &states {
                let cell = line.states.get(state);
                cells.push(shown(cell.and_then(|cell| cell.throughput(unit))));
            }
            if has_ratio {
                cells.push(
                    line.ratio()
                        .map_or_else(|| "-".to_owned(), |ratio| said(&ratio)),
                );
            }
            for state in scored {
                let score = line.layout_score(*state);
                cells.push(score.map_or_else(|| "-".to_owned(), |score| format!("{score:.3}")));
            }
            table.add_row(cells);
        }
        table
    }

    /// Of every phase, by size of files, a curve of medians for each state. In the order of the phases.
    fn curves(&self) -> Vec<(String, Vec<Series>)> {
        self.phases()
            .into_iter()
            .map(|phase| {
                let lines = || self.lines.iter().filter(|line| line.phase == phase);
                let series = self.states().into_iter().map(|state| Series {
                    name: state.as_str().to_owned(),
                    points: lines()
                        .filter_map(|line| {
                            let summary = line.states.get(&state)?.throughput(line.unit())?;
                            Some((line.file_bytes? as f64, summary.median))
                        })
                        .collect(),
                });
                (phase.clone(), series.collect())
            })
            .collect()
    }

    fn phases(&self) -> Vec<String> {
        let mut phases: Vec<String> = Vec::new();
        for line in &self.lines {
            if !phases.contains(&line.phase) {
                phases.push(line.phase.clone());
            }
        }
        phases
    }

    fn unit_of(&self, phase: &str) -> Unit<'_> {
        let line = self.lines.iter().find(|line| line.phase == phase);
        line.map_or(Unit::Bytes, Line::unit)
    }

    /// Writes the chart: throughput by size of files; where there is one size, by repetition.
    fn write_chart(&self, folder: &Path, force: bool) -> crate::Result<()> {
        let path = results::path(folder, self.suite(), "svg");
        let by_size = self.curves().into_iter().any(|(_, series)| {
            let mut sizes = series.iter().flat_map(|s| s.points.iter().map(|p| p.0));
            let first = sizes.next();
            sizes.any(|size| Some(size) != first)
        });
        let curves = if by_size {
            self.curves()
        } else {
            self.curves_by_repetition()
        };
        let panels: Vec<Panel> = curves
            .into_iter()
            .map(|(phase, series)| Panel {
                y_label: self.unit_of(&phase).as_str().to_owned(),
                title: phase,
                x_label: if by_size {
                    "size of files"
                } else {
                    "repetition"
                }
                .to_owned(),
                axis: if by_size { Axis::Bytes } else { Axis::Linear },
                series,
                marks: Vec::new(),
            })
            .collect();
        let title = format!("{} on {}", self.suite(), self.target);
        let mut file = PartialFile::create(&path, force)?;
        file.write_all(svg::draw(&title, &panels).as_bytes())
            .with_context(|| format!("{}: cannot write the chart", path.display()))?;
        Ok(file.finish()?)
    }

    fn curves_by_repetition(&self) -> Vec<(String, Vec<Series>)> {
        let curve = |phase: &str, state: State| {
            let rows = self.rows.iter();
            let rows = rows.filter(|row| row.state == state && row.measurement.phase == phase);
            let unit = self.unit_of(phase);
            Series {
                name: state.as_str().to_owned(),
                points: rows
                    .filter_map(|row| {
                        let repetition = f64::from(row.measurement.repetition + 1);
                        Some((repetition, unit.of(&row.measurement)?))
                    })
                    .collect(),
            }
        };
        let phases = self.phases().into_iter();
        phases
            .map(|phase| {
                let states = self.states().into_iter();
                let series = states.map(|state| curve(&phase, state)).collect();
                (phase, series)
            })
            .collect()
    }

    /// All of it, for a program.
    pub fn into_json(self) -> TargetJson {
        TargetJson {
            target: self.target,
            device: self.device,
            host: self.host,
            caches: self.caches,
            free_map_off_percent: self.free_map_off_percent,
            flash: self.flash,
            flash_days: self.flash_days,
            losses: causes::splits(&self.causes),
            all_files: self.all_files,
            repetitions: self.repetitions.0,
            most_repetitions: self.repetitions.1,
            phases: self.lines,
            left_out: self.left_out,
            measurements: self.rows,
        }
    }
}

/// What a phase is counted in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit<'a> {
    Bytes,
    Files,
    /// What a command gave.
    Own(&'a str, Better),
}

impl<'a> Unit<'a> {
    fn as_str(self) -> &'a str {
        match self {
            Unit::Bytes => "MB/s",
            Unit::Files => "files/s",
            Unit::Own(unit, _) => unit,
        }
    }

    fn of(self, measurement: &Measurement) -> Option<f64> {
        match self {
            Unit::Bytes => measurement.throughput().map(|throughput| throughput / MB),
            Unit::Files => measurement.file_rate(),
            Unit::Own(..) => measurement.reading.as_ref().map(|reading| reading.value),
        }
    }
}

impl Line {
    /// Whether it was measured aged and in the control.
    pub fn has_ratio(&self) -> bool {
        self.repeated.is_some()
    }

    /// Of the files that the phase goes over in a state, in all repetitions together.
    pub fn layout_score(&self, state: State) -> Option<f64> {
        self.states.get(&state)?.layout_score
    }

    /// One aged file system, or the control of one, beside that of another in the same case; none where one of them
    /// has no control.
    pub fn beside(&self, other: &Line, is_aged: bool) -> Option<Repeated> {
        let of = if is_aged {
            Repeated::firsts_of
        } else {
            Repeated::seconds_of
        };
        Some(of(self.repeated.as_ref()?, other.repeated.as_ref()?))
    }

    /// Whether it was measured both aged and in the control.
    pub fn is_compared(&self) -> bool {
        self.repeated.is_some()
    }

    /// Throughput of the aged file system as a multiple of that of the control. Reckoned when it is asked for: it takes
    /// thousands of drawings.
    pub fn ratio(&self) -> Option<Ratio> {
        ratio_over(std::iter::once(self))
    }

    /// What its values are counted in: `MB/s` or `files/s`; of a command what was said.
    pub fn unit_name(&self) -> &str {
        self.unit().as_str()
    }

    /// Which of two values is the better one.
    pub fn better(&self) -> Better {
        self.own
            .as_ref()
            .map_or(Better::Higher, |(_, better)| *better)
    }

    /// How fast each state is, in that unit.
    pub fn speeds(&self) -> impl Iterator<Item = (State, &Summary)> {
        let states = self.states.iter();
        states.filter_map(|(&state, cell)| Some((state, cell.throughput(self.unit())?)))
    }

    /// Bytes where the phase moves any.
    fn unit(&self) -> Unit<'_> {
        if let Some((unit, better)) = &self.own {
            Unit::Own(unit, *better)
        } else if self.states.values().any(|cell| cell.mb_per_s.is_some()) {
            Unit::Bytes
        } else {
            Unit::Files
        }
    }
}

impl Cell {
    fn of(measurements: &[&Measurement]) -> Cell {
        let throughput = |unit_bytes: f64| {
            let values = measurements
                .iter()
                .map(|m| Some(m.throughput()? / unit_bytes));
            Summary::of(&values.collect::<Option<Vec<f64>>>()?)
        };
        let rates = measurements.iter().map(|m| m.file_rate());
        let values = measurements.iter().map(|m| Some(m.reading.as_ref()?.value));
        let values = values.collect::<Option<Vec<f64>>>();
        let sum = |of: fn(&Measurement) -> Option<u64>| -> Option<u64> {
            measurements.iter().map(|m| of(m)).sum()
        };
        let layout = sum(|m| m.optimal).zip(sum(|m| m.countable).filter(|&pairs| pairs > 0));
        Cell {
            count: measurements.len(),
            mb_per_s: throughput(MB),
            mib_per_s: throughput(MIB),
            files_per_s: rates
                .collect::<Option<Vec<f64>>>()
                .and_then(|r| Summary::of(&r)),
            value: values.and_then(|values| Summary::of(&values)),
            layout_score: layout.map(|(optimal, pairs)| optimal as f64 / pairs as f64),
        }
    }

    fn throughput(&self, unit: Unit<'_>) -> Option<&Summary> {
        match unit {
            Unit::Bytes => self.mb_per_s.as_ref(),
            Unit::Files => self.files_per_s.as_ref(),
            Unit::Own(..) => self.value.as_ref(),
        }
    }
}

/// The repetitions of a phase with files of one size, in every state.
type ByState<'a> = BTreeMap<State, Vec<&'a Measurement>>;

/// A line for each phase and size, by phase as they come first, then by size.
pub fn lines(rows: &[Row]) -> Vec<Line> {
    let mut phases: Vec<&str> = Vec::new();
    let mut groups: BTreeMap<(usize, Option<u64>), ByState<'_>> = BTreeMap::new();
    for row in rows {
        let phase = row.measurement.phase.as_str();
        let known = phases.iter().position(|known| *known == phase);
        let at = known.unwrap_or_else(|| {
            phases.push(phase);
            phases.len() - 1
        });
        let group = groups.entry((at, row.measurement.file_bytes)).or_default();
        group.entry(row.state).or_default().push(&row.measurement);
    }
    let groups = groups.into_iter();
    let is_simulated = rows.iter().any(|row| row.device.is_some());
    groups
        .map(|((phase, file_bytes), states)| Line {
            phase: phases[phase].to_owned(),
            file_bytes,
            own: own(&states),
            repeated: repeated(&states, is_simulated).filter(Repeated::has_ratio),
            states: states
                .into_iter()
                .map(|(state, measurements)| (state, Cell::of(&measurements)))
                .collect(),
        })
        .collect()
}

/// What a command's values are counted in.
fn own(states: &ByState<'_>) -> Option<(String, Better)> {
    let reading = states.values().flatten().find_map(|m| m.reading.as_ref())?;
    Some((reading.unit.clone(), reading.better))
}

/// The speeds of aged and control. On simulated disks those of one number begin with the spindle at the same angle.
fn repeated(states: &ByState<'_>, is_simulated: bool) -> Option<Repeated> {
    let (aged, control) = (states.get(&State::Aged)?, states.get(&State::Control)?);
    let better = own(states).map_or(Better::Higher, |(_, better)| better);
    if !is_simulated {
        let speeds = |of: &[&Measurement]| of.iter().filter_map(|m| m.speed()).collect();
        let error = |of: &[&Measurement]| of.first().and_then(|m| m.files_error).unwrap_or(0.0);
        let errors = (error(aged), error(control));
        let repeated = Repeated::apart(speeds(aged), speeds(control), better);
        return Some(repeated.with_errors_of_files(errors));
    }
    let pairs = aged.iter().filter_map(|aged| {
        let same = control.iter().find(|c| c.repetition == aged.repetition)?;
        Some((aged.speed()?, same.speed()?))
    });
    Some(Repeated::in_pairs(pairs.collect(), better))
}

/// Aged against control over lines that weigh the same; `None` where none of them has both.
pub fn ratio_over<'a>(lines: impl Iterator<Item = &'a Line>) -> Option<Ratio> {
    let cases: Vec<Repeated> = lines.filter_map(|line| line.repeated.clone()).collect();
    Ratio::of(&cases)
}

/// A line says the ratio to a program, not what it is of.
// As serde calls it.
#[allow(clippy::ref_option)]
fn ratio_of_repeated<S: Serializer>(
    repeated: &Option<Repeated>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let repeated = repeated.as_ref();
    let ratio = repeated.and_then(|one| Ratio::of(std::slice::from_ref(one)));
    ratio.serialize(serializer)
}

/// One aged file system, or the control of one, against that of another, over the sizes of files that both have; `None`
/// where they have none.
pub fn beside(one: &[&Line], other: &[&Line], is_aged: bool) -> Option<Ratio> {
    let cases = one.iter().filter_map(|line| {
        let mut others = other.iter();
        let other = others.find(|other| other.file_bytes == line.file_bytes)?;
        line.beside(other, is_aged)
    });
    Ratio::of(&cases.collect::<Vec<Repeated>>())
}

/// The interval of the median; the smallest and the largest value where there are too few for one.
pub fn spread(summary: &Summary) -> (f64, f64) {
    let interval = summary.median_interval;
    interval.map_or((summary.min, summary.max), |i| (i.low, i.high))
}

/// The median with its interval; with the smallest and the largest value where there are too few for one. Alone, where
/// both ends look the same.
fn shown(summary: Option<&Summary>) -> String {
    let Some(summary) = summary else {
        return "-".to_owned();
    };
    with_ends(summary.median, spread(summary))
}

/// A ratio with its interval; alone where repetitions are too few for one.
fn said(ratio: &Ratio) -> String {
    if ratio.says() == Says::Inconclusive && are_too_few(ratio.low, ratio.high) {
        return format!("{} (too few)", digits(ratio.median));
    }
    with_ends(ratio.median, (ratio.low, ratio.high))
}

/// A value with the ends of its interval, unless both look the same.
pub fn with_ends(value: f64, (low, high): (f64, f64)) -> String {
    let (low, high) = (digits(low), digits(high));
    if low == high {
        return digits(value);
    }
    format!("{} ({low}..{high})", digits(value))
}

/// Three digits that mean something, or all before the point.
pub fn digits(value: f64) -> String {
    match value {
        value if value >= 99.95 => format!("{value:.0}"),
        value if value >= 9.995 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A measurement of so many bytes in a second, with 3 of 4 pairs of blocks contiguous.
    fn row(state: State, repetition: u32, file_bytes: u64, bytes: u64) -> Row {
        Row {
            target: "ffs".to_owned(),
            state,
            device: None,
            host: None,
            measurement: Measurement {
                benchmark: "sequential".to_owned(),
                phase: if bytes == 0 { "delete" } else { "read" }.to_owned(),
                file_bytes: Some(file_bytes),
                repetition,
                files: 50,
                bytes,
                elapsed_ns: 1_000_000_000,
                optimal: Some(3),
                countable: Some(4),
                ..Measurement::default()
            },
        }
    }

    #[test]
    fn aged_stands_beside_control_with_the_ratio_of_their_medians() {
        let mut rows = Vec::new();
        for (repetition, (aged, control)) in [(2, 4), (4, 4), (3, 12)].into_iter().enumerate() {
            let repetition = repetition as u32;
            rows.push(row(State::Control, repetition, 8192, control * 1_000_000));
            rows.push(row(State::Aged, repetition, 8192, aged * 1_000_000));
        }
        rows.push(row(State::Aged, 0, 4096, 1_048_576));
        rows.push(row(State::Aged, 0, 8192, 0));
        let lines = lines(&rows);
        let at = |line: &Line| (line.phase.clone(), line.file_bytes);
        let order: Vec<_> = lines.iter().map(at).collect();
        let read = "read".to_owned();
        let expected = [
            (read.clone(), Some(4096)),
            (read, Some(8192)),
            ("delete".to_owned(), Some(8192)),
        ];
        assert_eq!(order, expected);
        // The medians are 3 and 4. Of no drawing can one be below 2 or above 4, or the other below 4 or above 12.
        let ratio = lines[1].ratio().expect("both states");
        assert!((ratio.median - 0.75).abs() < 1e-12);
        assert!(ratio.low >= 2.0 / 12.0 && ratio.high <= 1.0, "{ratio:?}");
        let aged = &lines[1].states[&State::Aged];
        assert_eq!(aged.mb_per_s.map(|s| s.median), Some(3.0));
        assert_eq!(aged.layout_score, Some(0.75));
        let small = &lines[0].states[&State::Aged];
        assert_eq!(small.mib_per_s.map(|s| s.median), Some(1.0));
        assert!(!lines[0].has_ratio() && lines[1].unit() == Unit::Bytes);
        let delete = &lines[2];
        assert!(delete.unit() == Unit::Files);
        let rate = delete.states[&State::Aged].throughput(Unit::Files);
        assert_eq!(shown(rate), "50.0", "no interval where there is one value");
        assert_eq!(shown(None), "-");
    }

    #[test]
    fn numbers_have_the_digits_that_mean_something() {
        for (value, text) in [
            (0.126, "0.13"),
            (9.994, "9.99"),
            (9.996, "10.0"),
            (123.4, "123"),
        ] {
            assert_eq!(digits(value), text);
        }
    }
}
