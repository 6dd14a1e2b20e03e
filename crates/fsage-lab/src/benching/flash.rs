//! Where the pages of files lie on the flash devices that a target was benchmarked on: `flash.parquet` in the folder of
//! the target, a row each state, and for the aged one each day of its life too.

use super::results::State;
use super::rows;
use fsage_bench::FlashFacts;
use fsage_data::table::{ColumnKind, Value as Cell};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// What stands in the place of a suite where rules name values of flash.
pub const FLASH: &str = "flash";
/// Name of the table in the file's metadata.
const SCHEMA: &str = "flash";
/// What measures anew.
const AGAIN: &str = "fsage bench --force";

const COLUMNS: [(&str, ColumnKind); 8] = [
    ("target", ColumnKind::Text),
    ("state", ColumnKind::Text),
    ("device", ColumnKind::Text),
    ("host", ColumnKind::Text),
    ("day", ColumnKind::U64),
    ("die_balance", ColumnKind::F64),
    ("page_use", ColumnKind::F64),
    ("write_amplification", ColumnKind::F64),
];

/// One of the values that are known of a layout on flash.
pub struct Value {
    /// Its column.
    pub id: &'static str,
    /// Its name on pages.
    pub title: &'static str,
    /// What it is.
    pub doc: &'static str,
    /// Whether more of it is better.
    pub is_more_better: bool,
    /// Reads it.
    pub of: fn(&FlashFacts) -> f64,
}

/// All of them.
pub const VALUES: [Value; 3] = [
    Value {
        id: "die_balance",
        title: "die balance",
        doc: "Of each 1 MB of file data on flash, how evenly its flash pages lie on the dies: 1 is even, 1 over the \
              number of dies has all on one, where they wait for each other whatever their addresses.",
        is_more_better: true,
        of: |facts| facts.die_balance,
    },
    Value {
        id: "page_use",
        title: "page use",
        doc: "Of the flash pages of each 1 MB of file data, the share that is its own: 1 where they hold nothing else, \
              less where reading senses pages of others too.",
        is_more_better: true,
        of: |facts| facts.page_use,
    },
    Value {
        id: "write_amplification",
        title: "write amplification",
        doc: "Pages that a flash device has programmed for each page written to it, in its life so far: what moving \
              pages to make room adds. 1 is none.",
        is_more_better: false,
        of: |facts| facts.write_amplification,
    },
];

/// The facts at the end of a day, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FlashDay {
    /// The day.
    pub day: u32,
    /// What was to be seen.
    #[serde(flatten)]
    pub facts: FlashFacts,
}

/// A row of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct FlashRow {
    /// The target's specification.
    pub target: String,
    /// What it went through.
    pub state: State,
    /// The simulated device.
    pub device: String,
    /// The simulated machine.
    pub host: String,
    /// The end of which day, counted from 1; none where benchmarks began.
    pub day: Option<u32>,
    /// What was to be seen.
    pub facts: FlashFacts,
}

impl FlashRow {
    fn values(&self) -> [Cell; COLUMNS.len()] {
        [
            self.target.as_str().into(),
            self.state.as_str().into(),
            self.device.as_str().into(),
            self.host.as_str().into(),
            self.day.map(u64::from).into(),
            self.facts.die_balance.into(),
            self.facts.page_use.into(),
            self.facts.write_amplification.into(),
        ]
    }

    fn of(values: &[Cell]) -> Option<FlashRow> {
        let [
            Cell::Text(target),
            Cell::Text(state),
            Cell::Text(device),
            Cell::Text(host),
            day,
            Cell::F64(die_balance),
            Cell::F64(page_use),
            Cell::F64(write_amplification),
        ] = values
        else {
            return None;
        };
        Some(FlashRow {
            target: target.clone(),
            state: State::named(state)?,
            device: device.clone(),
            host: host.clone(),
            day: match day {
                Cell::U64(day) => Some(u32::try_from(*day).ok()?),
                Cell::Null => None,
                _ => return None,
            },
            facts: FlashFacts {
                die_balance: *die_balance,
                page_use: *page_use,
                write_amplification: *write_amplification,
            },
        })
    }
}

fn path(folder: &Path) -> PathBuf {
    folder.join("flash.parquet")
}

/// What is known of the target of a folder; nothing where it was never on flash.
///
/// # Errors
/// The table is damaged.
pub fn read(folder: &Path) -> crate::Result<Vec<FlashRow>> {
    let of = FlashRow::of;
    rows::read(&path(folder), &COLUMNS, of, "state or values", AGAIN)
}

/// Puts rows of one device below one host in, instead of those that were known of them.
///
/// # Errors
/// The table is damaged, or cannot be written.
pub fn write(folder: &Path, rows: Vec<FlashRow>) -> crate::Result<()> {
    let Some(first) = rows.first() else {
        return Ok(());
    };
    let mut all = read(folder)?;
    all.retain(|row| (&row.device, &row.host) != (&first.device, &first.host));
    all.extend(rows);
    all.sort_by(|a, b| {
        let key = |row: &FlashRow| (row.device.clone(), row.host.clone(), row.state);
        let days = a.day.unwrap_or(u32::MAX).cmp(&b.day.unwrap_or(u32::MAX));
        key(a).cmp(&key(b)).then(days)
    });
    let rows = all.iter().map(|row| row.values().to_vec());
    rows::write(&path(folder), SCHEMA, &COLUMNS, rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(device: &str, state: State, day: Option<u32>, die_balance: f64) -> FlashRow {
        FlashRow {
            target: "ext4".to_owned(),
            state,
            device: device.to_owned(),
            host: "linux-nvme".to_owned(),
            day,
            facts: FlashFacts {
                die_balance,
                page_use: 1.0,
                write_amplification: 1.25,
            },
        }
    }

    #[test]
    fn a_device_takes_the_place_of_itself_and_of_no_other() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = folder.path();
        assert_eq!(read(at).expect("nothing"), []);
        let first = row("emu24", State::Aged, None, 0.5);
        let day = row("emu24", State::Aged, Some(1), 0.75);
        write(at, vec![first.clone(), day.clone()]).expect("written");
        let other = row("sata_tlc", State::Control, None, 1.0);
        write(at, vec![other.clone()]).expect("written");
        assert_eq!(read(at).expect("rows"), [day, first, other.clone()]);
        let anew = row("emu24", State::Control, None, 0.25);
        write(at, vec![anew.clone()]).expect("written");
        assert_eq!(read(at).expect("rows"), [anew, other]);
        fsage_durable::write(&path(at), "no table", true).expect("written");
        let refused = read(at).expect_err("damaged").to_string();
        assert!(refused.contains("flash.parquet"), "{refused}");
    }
}
