//! What a loss of the aged file system on flash is due to, cause by cause: `causes.parquet` in the folder of the
//! target, a row each time that a phase took, with all causes at work and then without one more each time.
//!
//! The share of a cause is the time that goes when it is taken away, of the aged file system, less that of the control.
//! What differs when all are taken away is the rest, so that the shares sum up to the loss.

use super::results::State;
use super::rows::{self, text_of};
use crate::table;
use fsage_bench::{Cause, Results};
use fsage_data::table::{ColumnKind, Value as Cell};
use fsage_report::chart::size_text;
use serde::{Serialize, Serializer};
use std::path::{Path, PathBuf};

/// Name of the table in the file's metadata.
const SCHEMA: &str = "causes";
/// What measures anew.
const AGAIN: &str = "fsage bench --causes --force";

const COLUMNS: [(&str, ColumnKind); 11] = [
    ("target", ColumnKind::Text),
    ("state", ColumnKind::Text),
    ("device", ColumnKind::Text),
    ("host", ColumnKind::Text),
    ("benchmark", ColumnKind::Text),
    ("phase", ColumnKind::Text),
    ("file_bytes", ColumnKind::U64),
    ("causes_taken_away", ColumnKind::U64),
    ("elapsed_ns", ColumnKind::U64),
    ("read_bytes", ColumnKind::U64),
    ("written_bytes", ColumnKind::U64),
];

/// How many shares a loss has: the causes and the rest.
pub const SHARES: usize = Cause::ALL.len() + 1;

/// Names of the shares.
pub fn names() -> impl Iterator<Item = &'static str> {
    Cause::ALL.into_iter().map(Cause::as_str).chain(["rest"])
}

/// By how much more one side reads or writes than the other before that is said.
const MORE: f64 = 1.05;

/// What a phase moved between host and device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Traffic {
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
}

impl Traffic {
    /// Both.
    pub fn bytes(self) -> u64 {
        self.read_bytes + self.written_bytes
    }
}

/// How long a phase took without some causes of its time: of the first repetition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CauseTime {
    /// Of what.
    pub state: State,
    /// Of the benchmark.
    pub phase: String,
    /// Size of its files, where all have the same.
    pub file_bytes: Option<u64>,
    /// How many of [`Cause::ALL`] were taken away.
    pub without: usize,
    /// How long it took.
    pub elapsed_ns: u64,
    /// What it moved.
    pub traffic: Traffic,
}

impl CauseTime {
    /// Of all phases that were measured.
    pub fn all(state: State, without: usize, results: &Results) -> Vec<CauseTime> {
        let first = results.measurements.iter().filter(|m| m.repetition == 0);
        let timed = first.filter(|m| m.elapsed_ns > 0 && m.reading.is_none());
        let times = timed.map(|measured| CauseTime {
            state,
            phase: measured.phase.clone(),
            file_bytes: measured.file_bytes,
            without,
            elapsed_ns: measured.elapsed_ns,
            traffic: measured
                .requests
                .map_or_else(Traffic::default, |requests| Traffic {
                    read_bytes: requests.read_bytes,
                    written_bytes: requests.written_bytes,
                }),
        });
        times.collect()
    }
}

/// A loss, split into its causes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Split {
    /// Of the benchmark.
    pub phase: String,
    /// Size of its files, where all have the same.
    pub file_bytes: Option<u64>,
    /// Time of the aged file system, with all causes at work.
    pub aged_ns: u64,
    /// The same of the control.
    pub control_ns: u64,
    /// What the aged one moved then: metadata, and what a cleaner copies, with the data.
    pub aged: Traffic,
    /// The same of the control.
    pub control: Traffic,
    /// By how much more the aged one needs each cause, then the rest; they sum up to the loss.
    #[serde(rename = "causes_ns", serialize_with = "by_name")]
    pub shares_ns: [i64; SHARES],
}

fn by_name<S: Serializer>(shares: &[i64; SHARES], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(names().map(|name| name.replace(' ', "_")).zip(shares))
}

impl Split {
    /// Of the times without so many causes of the aged file system and of its control.
    fn of(
        phase: &str,
        file_bytes: Option<u64>,
        aged: &[&CauseTime],
        control: &[&CauseTime],
    ) -> Split {
        let pairs = aged.iter().zip(control);
        let more: Vec<i64> = pairs
            .map(|(aged, control)| aged.elapsed_ns.cast_signed() - control.elapsed_ns.cast_signed())
            .collect();
        let shares_ns: [i64; SHARES] =
            std::array::from_fn(|at| more[at] - more.get(at + 1).copied().unwrap_or(0));
        Split {
            phase: phase.to_owned(),
            file_bytes,
            aged_ns: aged[0].elapsed_ns,
            control_ns: control[0].elapsed_ns,
            aged: aged[0].traffic,
            control: control[0].traffic,
            shares_ns,
        }
    }

    /// How much longer the aged file system takes.
    pub fn loss_ns(&self) -> i64 {
        self.aged_ns.cast_signed() - self.control_ns.cast_signed()
    }

    /// What to say where one of both moved more than the other: a part of the rest.
    pub fn more_moved(&self) -> Option<String> {
        let (aged, control) = (self.aged.bytes() as f64, self.control.bytes() as f64);
        if aged.max(control) <= aged.min(control) * MORE {
            return None;
        }
        let moved = |traffic: Traffic| {
            [traffic.read_bytes, traffic.written_bytes]
                .map(|bytes| super::digits(bytes as f64 / 1e6))
        };
        let ([aged_read, aged_written], [read, written]) = (moved(self.aged), moved(self.control));
        Some(format!(
            "{}: the aged file system read {aged_read} MB and wrote {aged_written} MB, its control {read} MB and \
             {written} MB, metadata\n\
             and what a cleaner copies among them; the time of that is in the rest.",
            self.phase
        ))
    }

    /// A time as percent of that of the control.
    pub fn percent(&self, ns: i64) -> f64 {
        ns as f64 * 100.0 / self.control_ns as f64
    }
}

/// The losses of phases that were measured aged and in the control, in the order of their first times.
pub fn splits(times: &[CauseTime]) -> Vec<Split> {
    let mut phases: Vec<(&str, Option<u64>)> = Vec::new();
    for time in times {
        let phase = (time.phase.as_str(), time.file_bytes);
        if !phases.contains(&phase) {
            phases.push(phase);
        }
    }
    let times_of = |(phase, file_bytes): (&str, Option<u64>), state: State| {
        let found = (0..SHARES).map(|without| {
            times.iter().find(|time| {
                (
                    time.phase.as_str(),
                    time.file_bytes,
                    time.state,
                    time.without,
                ) == (phase, file_bytes, state, without)
            })
        });
        found.collect::<Option<Vec<&CauseTime>>>()
    };
    let split = |phase: (&str, Option<u64>)| {
        let (aged, control) = (
            times_of(phase, State::Aged)?,
            times_of(phase, State::Control)?,
        );
        Some(Split::of(phase.0, phase.1, &aged, &control))
    };
    phases.into_iter().filter_map(split).collect()
}

/// The losses as a table in text, in percent of the time of the control.
pub fn in_percent(splits: &[Split]) -> comfy_table::Table {
    let names: Vec<String> = names().map(|name| name.replace(' ', "\n")).collect();
    let mut header = vec!["phase", "size", "control", "loss"];
    header.extend(names.iter().map(String::as_str));
    let mut table = table::table(&header);
    for split in splits {
        let mut row = vec![
            split.phase.clone(),
            split.file_bytes.map_or_else(|| "-".to_owned(), size_text),
            format!("{:.3} s", split.control_ns as f64 / 1e9),
        ];
        let shares = std::iter::once(split.loss_ns()).chain(split.shares_ns);
        row.extend(shares.map(|ns| {
            let percent = split.percent(ns);
            // No minus before what rounds to nothing.
            let percent = if percent.abs() < 0.05 { 0.0 } else { percent };
            format!("{percent:.1}")
        }));
        table.add_row(row);
    }
    table
}

/// A row of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CauseRow {
    /// The target's specification.
    pub target: String,
    /// The simulated device.
    pub device: String,
    /// The simulated machine.
    pub host: String,
    /// The benchmark.
    pub suite: String,
    /// How long it took.
    pub time: CauseTime,
}

impl CauseRow {
    fn values(&self) -> [Cell; COLUMNS.len()] {
        [
            self.target.as_str().into(),
            self.time.state.as_str().into(),
            self.device.as_str().into(),
            self.host.as_str().into(),
            self.suite.as_str().into(),
            self.time.phase.as_str().into(),
            self.time.file_bytes.into(),
            (self.time.without as u64).into(),
            self.time.elapsed_ns.into(),
            self.time.traffic.read_bytes.into(),
            self.time.traffic.written_bytes.into(),
        ]
    }

    fn of(values: &[Cell]) -> Option<CauseRow> {
        let [
            target,
            state,
            device,
            host,
            suite,
            phase,
            file_bytes,
            Cell::U64(without),
            Cell::U64(elapsed_ns),
            Cell::U64(read_bytes),
            Cell::U64(written_bytes),
        ] = values
        else {
            return None;
        };
        Some(CauseRow {
            target: text_of(target)?,
            device: text_of(device)?,
            host: text_of(host)?,
            suite: text_of(suite)?,
            time: CauseTime {
                state: State::named(&text_of(state)?)?,
                phase: text_of(phase)?,
                file_bytes: match file_bytes {
                    Cell::U64(bytes) => Some(*bytes),
                    Cell::Null => None,
                    _ => return None,
                },
                without: usize::try_from(*without).ok()?,
                elapsed_ns: *elapsed_ns,
                traffic: Traffic {
                    read_bytes: *read_bytes,
                    written_bytes: *written_bytes,
                },
            },
        })
    }
}

fn path(folder: &Path) -> PathBuf {
    folder.join("causes.parquet")
}

/// What is known of the target of a folder; nothing where no loss was split.
///
/// # Errors
/// The table is damaged.
pub fn read(folder: &Path) -> crate::Result<Vec<CauseRow>> {
    let of = CauseRow::of;
    rows::read(&path(folder), &COLUMNS, of, "state or time", AGAIN)
}

/// Puts the times of a suite on one device below one host in, instead of those that were known of them.
///
/// # Errors
/// The table is damaged, or cannot be written.
pub fn write(folder: &Path, rows: Vec<CauseRow>) -> crate::Result<()> {
    let Some(first) = rows.first() else {
        return Ok(());
    };
    let key = |row: &CauseRow| (row.device.clone(), row.host.clone(), row.suite.clone());
    let of_first = key(first);
    let mut all = read(folder)?;
    all.retain(|row| key(row) != of_first);
    all.extend(rows);
    all.sort_by_key(key);
    let rows = all.iter().map(|row| row.values().to_vec());
    rows::write(&path(folder), SCHEMA, &COLUMNS, rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(state: State, without: usize, elapsed_ns: u64) -> CauseTime {
        CauseTime {
            state,
            phase: "read".to_owned(),
            file_bytes: None,
            without,
            elapsed_ns,
            traffic: Traffic {
                read_bytes: if state == State::Aged {
                    429_000_000
                } else {
                    112_000_000
                },
                written_bytes: 351_000_000,
            },
        }
    }

    /// By hand. The control loses 10 to collisions, the aged one 50; and so on.
    fn times() -> Vec<CauseTime> {
        let aged = [200, 190, 160, 110, 105, 105];
        let control = [100, 100, 95, 85, 82, 82];
        let of = |state, times: [u64; SHARES]| {
            let times = times.into_iter().enumerate();
            times.map(move |(without, ns)| time(state, without, ns))
        };
        of(State::Aged, aged)
            .chain(of(State::Control, control))
            .collect()
    }

    #[test]
    fn a_share_is_what_goes_with_a_cause_beyond_the_control() {
        let splits = splits(&times());
        let [split] = &splits[..] else {
            panic!("{splits:?}");
        };
        assert_eq!(split.shares_ns, [10, 25, 40, 2, 0, 23]);
        assert_eq!((split.loss_ns(), split.percent(25).round()), (100, 25.0));
        assert_eq!(split.shares_ns.iter().sum::<i64>(), split.loss_ns());
        let json = serde_json::to_value(split).expect("JSON");
        assert_eq!(json["causes_ns"]["collisions"], 25);
        assert_eq!(json["causes_ns"]["rest"], 23);
        let text = in_percent(&splits).to_string();
        assert!(text.contains("100.0") && text.contains("40.0"), "{text}");
        let said = split.more_moved().expect("more");
        assert!(
            said.contains("read 429 MB and wrote 351 MB, its control 112 MB and 351 MB"),
            "{said}"
        );
        let alike = Split {
            control: split.aged,
            ..split.clone()
        };
        assert_eq!(alike.more_moved(), None);
    }

    #[test]
    fn what_was_not_measured_without_all_causes_is_not_split() {
        let mut times = times();
        times.retain(|time| (time.state, time.without) != (State::Control, 3));
        assert_eq!(splits(&times), []);
    }

    #[test]
    fn a_suite_on_a_device_takes_the_place_of_itself_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = folder.path();
        let row = |device: &str, suite: &str, elapsed_ns| CauseRow {
            target: "ext4".to_owned(),
            device: device.to_owned(),
            host: "linux-nvme".to_owned(),
            suite: suite.to_owned(),
            time: time(State::Aged, 0, elapsed_ns),
        };
        assert_eq!(read(at).expect("nothing"), []);
        for (device, suite, elapsed_ns) in [
            ("emu24", "hot-files", 1),
            ("emu24", "read-tree", 2),
            ("sata_tlc", "hot-files", 3),
            ("emu24", "hot-files", 4),
        ] {
            write(at, vec![row(device, suite, elapsed_ns)]).expect("written");
        }
        let expected = [
            row("emu24", "hot-files", 4),
            row("emu24", "read-tree", 2),
            row("sata_tlc", "hot-files", 3),
        ];
        assert_eq!(read(at).expect("rows"), expected);
        fsage_durable::write(&path(at), "no table", true).expect("written");
        let refused = read(at).expect_err("damaged").to_string();
        assert!(refused.contains("causes.parquet"), "{refused}");
    }
}
