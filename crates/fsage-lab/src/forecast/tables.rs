//! What a forecast leaves: tables, JSON and a page.
//!
//! | file | holds |
//! |---|---|
//! | `limits.parquet` | a row for each limit, as forecast, in futures that are otherwise, and on other targets |
//! | `lives.parquet` | a row for each day of each life, and of the past (life 0), with the values of all limits |
//! | `forecast.json` | the forecast |
//! | `forecast.html` | a page |

use super::lives::LifeDay;
use super::{Answer, Forecast, Limit, page};
use crate::error::Context;
use crate::table::print_json;
use fsage_data::table::{Column, ColumnKind, TableWriter, Value as Cell};
use fsage_durable::{TemporaryFolder, make_folders};
use std::path::Path;

/// Name of the page in the folder.
pub const PAGE: &str = "forecast.html";
const JSON: &str = "forecast.json";
const LIMITS: &str = "limits.parquet";
const LIVES: &str = "lives.parquet";

/// Lives under some conditions: what is otherwise, the target, and their days.
pub(super) type Lived = (String, String, Vec<Vec<LifeDay>>);

/// Whether a folder is one that a forecast left.
pub fn is_forecast(folder: &Path) -> bool {
    folder.join(JSON).is_file() && folder.join(LIMITS).is_file()
}

/// Writes everything, and gives the folder its name.
pub(super) fn write(
    output: &Path,
    force: bool,
    found: &Forecast,
    limits: &[Limit],
    past: &[LifeDay],
    all: &[Lived],
) -> crate::Result<()> {
    make_folders(fsage_durable::parent_of(output))?;
    let folder = TemporaryFolder::create(output)?;
    let at = |name: &str| folder.path().join(name);
    write_limits(&at(LIMITS), found)?;
    write_lives(&at(LIVES), &found.target, limits, past, all)?;
    let mut json = Vec::new();
    print_json(&mut json, found)?;
    fsage_durable::write(&at(JSON), json, true)?;
    let lives = all.first().map_or(&[][..], |(.., lives)| lives);
    let page = fsage_report::render(&page::of(found, limits, past, lives))
        .context("the page of the forecast cannot be made")?;
    fsage_durable::write(&at(PAGE), page, true)?;
    if force && output.exists() {
        folder.replace()?;
    } else {
        folder.publish()?;
    }
    Ok(())
}

fn write_limits(path: &Path, found: &Forecast) -> crate::Result<()> {
    let columns = [
        ("variant", ColumnKind::Text),
        ("target", ColumnKind::Text),
        ("limit", ColumnKind::Text),
        ("metric", ColumnKind::Text),
        ("value", ColumnKind::F64),
        ("now", ColumnKind::F64),
        ("lives", ColumnKind::U64),
        ("reached", ColumnKind::U64),
        ("median_day", ColumnKind::U64),
        ("low_day", ColumnKind::U64),
        ("high_day", ColumnKind::U64),
        ("no_interval", ColumnKind::Text),
        ("horizon_days", ColumnKind::U64),
        ("true_day", ColumnKind::U64),
    ];
    let columns = columns.map(|(name, kind)| Column::new(name, kind)).to_vec();
    let mut table = TableWriter::create(path, "forecast_limits", columns, &[], true)?;
    let mut push = |variant: &str, target: &str, answer: &Answer| {
        let mut cases = found.held_out.iter().filter(|_| variant.is_empty());
        let case = cases.find(|case| case.answer.limit == answer.limit);
        table.push_row(&[
            variant.into(),
            target.into(),
            answer.limit.text.as_str().into(),
            answer.limit.column().as_str().into(),
            answer.limit.value.into(),
            answer.now.into(),
            (answer.lives as u64).into(),
            (answer.reached as u64).into(),
            answer.median_day.into(),
            answer.low_day.into(),
            answer.high_day.into(),
            answer.no_interval.as_deref().into(),
            found.horizon_days.into(),
            case.and_then(|case| case.true_day).into(),
        ])
    };
    for answer in &found.answers {
        push("", &found.target, answer)?;
    }
    for variant in found.drivers.iter().chain(&found.helps) {
        for answer in &variant.answers {
            push(&variant.name, &variant.target, answer)?;
        }
    }
    Ok(table.finish()?)
}

fn write_lives(
    path: &Path,
    target: &str,
    limits: &[Limit],
    past: &[LifeDay],
    all: &[Lived],
) -> crate::Result<()> {
    let mut columns = vec![
        Column::new("variant", ColumnKind::Text),
        Column::new("target", ColumnKind::Text),
        Column::new("life", ColumnKind::U64),
        Column::new("day", ColumnKind::F64),
        Column::new("date", ColumnKind::Text),
    ];
    // Two limits may be of one metric.
    let mut places: Vec<usize> = Vec::new();
    for (place, limit) in limits.iter().enumerate() {
        if !places
            .iter()
            .any(|&known| limits[known].column() == limit.column())
        {
            places.push(place);
        }
    }
    let metrics = places
        .iter()
        .map(|&place| Column::new(limits[place].column(), ColumnKind::F64));
    columns.extend(metrics);
    let mut table = TableWriter::create(path, "forecast_lives", columns, &[], true)?;
    let mut push = |variant: &str, target: &str, life: usize, row: &LifeDay| {
        let mut cells: Vec<Cell> = vec![
            variant.into(),
            target.into(),
            (life as u64).into(),
            (row.day as f64).into(),
            row.date.as_str().into(),
        ];
        cells.extend(places.iter().map(|&place| Cell::from(row.values[place])));
        table.push_row(&cells)
    };
    for row in past {
        push("", target, 0, row)?;
    }
    for (variant, target, lives) in all {
        for (at, life) in lives.iter().enumerate() {
            for row in life {
                push(variant, target, at + 1, row)?;
            }
        }
    }
    Ok(table.finish()?)
}
