//! What a fleet leaves: its hosts as tables, JSON and a page.
//!
//! | file | holds |
//! |---|---|
//! | `hosts.parquet` | a row for each metric of each host, at its last snapshot or as a rate |
//! | `days.parquet` | a row for each snapshot, with every metric in a column |
//! | `fleet.json` | hosts, groups, and who was left out |
//! | `fleet.html` | a page |

use super::life::{Changes, Life, Night};
use super::{Fleet, LeftOut, alike, page, refuse_none};
use crate::build::Build;
use crate::days::DayRow;
use crate::error::{Context, bail};
use crate::table::print_json;
use crate::watch::Watch;
use fsage_data::table::{Column, ColumnKind, TableWriter, Value as Cell};
use fsage_durable::{FileError, TemporaryFolder, make_folders};
use fsage_metrics::{METRICS, files, free_space};
use serde::Serialize;
use std::path::Path;

/// Name of the page in the folder.
pub const PAGE: &str = "fleet.html";
const JSON: &str = "fleet.json";
const HOSTS: &str = "hosts.parquet";
const DAYS: &str = "days.parquet";

const DAY_NS: f64 = 86_400e9;

/// A value of a host.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Known {
    /// A metric at its last snapshot, or a rate, `..._per_day`.
    pub metric: String,
    /// Its value.
    pub value: f64,
    /// Its unit.
    pub unit: String,
}

/// What is known of a host.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Facts {
    /// Its name.
    pub host: String,
    /// The number of its group.
    pub group: u64,
    /// Its snapshots.
    pub snapshots: u64,
    /// When the first one was taken, seconds since 1970 UTC.
    pub first_unix_s: f64,
    /// Days from the first to the last.
    pub days: f64,
    /// All that is known, in the order of metrics and rates.
    pub values: Vec<Known>,
    /// Layout scores by days since the first snapshot.
    #[serde(skip)]
    pub scores: Vec<(f64, f64)>,
}

impl Facts {
    /// A value by the name of its metric; `None` where it is not known.
    pub fn value(&self, metric: &str) -> Option<f64> {
        let mut values = self.values.iter();
        values
            .find(|value| value.metric == metric)
            .map(|value| value.value)
    }

    /// Sums up a life; none without a snapshot.
    fn of(host: &str, life: &Life) -> Option<Facts> {
        let (first, last) = (life.nights.first()?, life.nights.last()?);
        let since_first = |night: &Night| (night.taken_at_ns - first.taken_at_ns) as f64 / DAY_NS;
        let days = since_first(last);
        let known = |value: fn(&Night) -> Option<f64>| {
            let points = life.nights.iter();
            points
                .filter_map(|night| Some((since_first(night), value(night)?)))
                .collect::<Vec<(f64, f64)>>()
        };
        let scores = known(|night| night.row.score());
        let free = known(free_bytes);
        let mut values = Vec::new();
        let mut push = |metric: &str, value: Option<f64>, unit: &str| {
            values.extend(value.map(|value| Known {
                metric: metric.to_owned(),
                value,
                unit: unit.to_owned(),
            }));
        };
        for metric in METRICS {
            push(metric.id, last.row.value(metric), metric.unit.name());
        }
        let size = last.size_bytes.filter(|&size| size > 0);
        push("size_bytes", size.map(|size| size as f64), "bytes");
        let used = free_bytes(last)
            .zip(size)
            .map(|(free, size)| 1.0 - free / size as f64);
        push("used_share", used, "share");
        push("layout_score_per_day", slope(&scores), "score/day");
        push("free_bytes_per_day", slope(&free), "bytes/day");
        let all = life.nights.iter().filter_map(|night| night.changes);
        let all: Vec<Changes> = all.collect();
        let a_day = |sum: u64| (days > 0.0).then(|| sum as f64 / days);
        for (name, count) in COUNTS {
            let unit = if name.ends_with("bytes") {
                "bytes/day"
            } else {
                "files/day"
            };
            push(
                &format!("{name}_per_day"),
                a_day(all.iter().map(count).sum()),
                unit,
            );
        }
        let changed = a_day(all.iter().map(Changes::bytes).sum());
        let held = last
            .row
            .value(&files::FILE_BYTES)
            .filter(|&bytes| bytes > 0.0);
        let share = changed.zip(held).map(|(changed, held)| changed / held);
        push("changed_share_per_day", share, "share/day");
        Some(Facts {
            host: host.to_owned(),
            group: 0,
            snapshots: life.nights.len() as u64,
            first_unix_s: first.taken_at_ns as f64 / 1e9,
            days,
            values,
            scores,
        })
    }
}

fn free_bytes(night: &Night) -> Option<f64> {
    night.row.value(&free_space::BYTES)
}

/// The slope of the line that fits points best (least squares); `None` where they are all at one place.
fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let n = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let spread: f64 = points.iter().map(|p| (p.0 - x).powi(2)).sum();
    (spread > 0.0).then(|| points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum::<f64>() / spread)
}

type Count = fn(&Changes) -> u64;

/// What is counted from one snapshot to the next, by column.
const COUNTS: [(&str, Count); 7] = [
    ("created_files", |c| c.created_files),
    ("deleted_files", |c| c.deleted_files),
    ("modified_files", |c| c.modified_files),
    ("created_bytes", |c| c.created_bytes),
    ("deleted_bytes", |c| c.deleted_bytes),
    ("grown_bytes", |c| c.grown_bytes),
    ("shrunk_bytes", |c| c.shrunk_bytes),
];

impl Changes {
    fn bytes(&self) -> u64 {
        self.created_bytes + self.deleted_bytes + self.grown_bytes + self.shrunk_bytes
    }
}

/// Takes lives in order of their hosts, and keeps a line of each.
pub struct Tally {
    output: Option<Output>,
    hosts: Vec<Facts>,
    left_out: Vec<LeftOut>,
}

struct Output {
    folder: TemporaryFolder,
    days: TableWriter,
    replaces: bool,
}

impl Tally {
    /// Begins; the folder gets its name at the end.
    ///
    /// # Errors
    /// The folder is there and `force` is not set, or is no fleet's; it cannot be written.
    pub fn begin(output: Option<&Path>, force: bool) -> crate::Result<Tally> {
        let output = output.map(|to| {
            let replaces = to.exists();
            if replaces && !is_fleet(to) {
                bail!(
                    "{}: exists and is no fleet, so it is left alone; name another folder",
                    to.display()
                );
            }
            if replaces && !force {
                return Err(FileError::Exists {
                    path: to.to_owned(),
                }
                .into());
            }
            make_folders(fsage_durable::parent_of(to))?;
            let folder = TemporaryFolder::create(to)?;
            let days =
                TableWriter::create(folder.path().join(DAYS), "fleet_days", columns(), &[], true)?;
            Ok(Output {
                folder,
                days,
                replaces,
            })
        });
        Ok(Tally {
            output: output.transpose()?,
            hosts: Vec::new(),
            left_out: Vec::new(),
        })
    }

    /// Takes the life of the next host, or why there is none.
    ///
    /// # Errors
    /// A table cannot be written.
    pub fn add(
        &mut self,
        host: &str,
        life: Result<Life, String>,
        watch: &dyn Watch,
    ) -> crate::Result<()> {
        let facts = life.and_then(|life| {
            for note in &life.notes {
                watch.warn(&format!("{host}: {note}"));
            }
            let facts = Facts::of(host, &life).ok_or_else(|| "it has no snapshot".to_owned())?;
            Ok((facts, life))
        });
        let (facts, life) = match facts {
            Ok(found) => found,
            Err(why) => {
                watch.warn(&format!("{host} is left out: {why}"));
                let host = host.to_owned();
                self.left_out.push(LeftOut { host, why });
                return Ok(());
            }
        };
        if let Some(output) = &mut self.output {
            for night in &life.nights {
                output.days.push_row(&row(host, night))?;
            }
        }
        self.hosts.push(facts);
        Ok(())
    }

    /// Finds the groups, writes what is to be written, and gives the folder its name.
    ///
    /// # Errors
    /// No host could be read; something cannot be written.
    pub fn finish(mut self, alike: f64) -> crate::Result<Fleet> {
        let groups = alike::group(&mut self.hosts, alike);
        let fleet = Fleet {
            build: Build::this(),
            hosts: self.hosts,
            groups,
            left_out: self.left_out,
        };
        refuse_none(&fleet)?;
        if let Some(Output {
            folder,
            days,
            replaces,
        }) = self.output
        {
            days.finish()?;
            let at = |name: &str| folder.path().join(name);
            write_hosts(&at(HOSTS), &fleet.hosts)?;
            let mut json = Vec::new();
            print_json(&mut json, &fleet)?;
            fsage_durable::write(&at(JSON), json, true)?;
            let page = fsage_report::render(&page::of(&fleet))
                .context("the page of the fleet cannot be made")?;
            fsage_durable::write(&at(PAGE), page, true)?;
            if replaces {
                folder.replace()?
            } else {
                folder.publish()?
            };
        }
        Ok(fleet)
    }
}

/// Whether a folder is one that a fleet left.
pub fn is_fleet(folder: &Path) -> bool {
    folder.join(JSON).is_file() && folder.join(HOSTS).is_file()
}

fn text(name: &str) -> Column {
    Column::new(name, ColumnKind::Text)
}

fn count(name: &str) -> Column {
    Column::new(name, ColumnKind::U64)
}

fn real(name: &str) -> Column {
    Column::new(name, ColumnKind::F64)
}

fn columns() -> Vec<Column> {
    let mut columns = vec![
        text("host"),
        count("snapshot"),
        real("taken_at_unix_s"),
        count("size_bytes"),
    ];
    columns.extend(COUNTS.map(|(name, _)| count(name)));
    columns.extend(DayRow::layout_columns());
    columns
}

fn row(host: &str, night: &Night) -> Vec<Cell> {
    let mut row = vec![
        host.into(),
        night.row.day.into(),
        (night.taken_at_ns as f64 / 1e9).into(),
        night.size_bytes.into(),
    ];
    row.extend(COUNTS.map(|(_, count)| Cell::from(night.changes.as_ref().map(count))));
    row.extend(night.row.layout_values());
    row
}

fn write_hosts(path: &Path, hosts: &[Facts]) -> crate::Result<()> {
    let columns = vec![
        text("host"),
        count("group"),
        count("snapshots"),
        real("days"),
        text("metric"),
        real("value"),
        text("unit"),
    ];
    let mut table = TableWriter::create(path, "fleet_hosts", columns, &[], true)?;
    for host in hosts {
        for value in &host.values {
            table.push_row(&[
                host.host.as_str().into(),
                host.group.into(),
                host.snapshots.into(),
                host.days.into(),
                value.metric.as_str().into(),
                value.value.into(),
                value.unit.as_str().into(),
            ])?;
        }
    }
    Ok(table.finish()?)
}

#[cfg(test)]
mod tests {
    use super::slope;

    /// The line through (0, 1), (1, 0.8), (2, 0.9): mean (1, 0.9), products 0.1 * -1 + 0 + 0 * 1, squares 2.
    #[test]
    fn the_slope_is_that_of_least_squares() {
        let found = slope(&[(0.0, 1.0), (1.0, 0.8), (2.0, 0.9)]).expect("a slope");
        assert!((found - -0.05).abs() < 1e-12, "{found}");
        assert_eq!(slope(&[(3.0, 1.0), (3.0, 2.0)]), None);
        assert_eq!(slope(&[]), None);
    }
}
