//! A page of snapshots alone: how a file system decays night by night, its sizes, layout and free space. No workload
//! was replayed, and no control stands beside it.

use super::subject::{Group, Life, Subject};
use super::words::{counted, list, shell, size};
use super::{Material, again, map};
use crate::build::Build;
use crate::collect::{collect_layout, is_image};
use crate::days::DayRow;
use crate::error::bail;
use crate::fleet::{self, Host, Night};
use crate::watch::Watch;
use fsage_data::snapshot::is_snapshot;
use fsage_metrics::{files, free_space, layout_score, pieces};
use fsage_report::map::DayFacts;
use fsage_report::{Cell, Command, DataTable, Exhibit, Finding, Section, Sheet, Tone};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Nanoseconds of a day.
const DAY_NS: f64 = 86_400e9;
/// Layout scores that differ by less are alike.
const ALIKE: f64 = 0.005;

/// Whether a path is a snapshot, or a folder with some.
pub fn is_there(path: &Path) -> bool {
    let is_table = |path: &Path| is_snapshot(path).unwrap_or(false);
    if path.is_file() {
        return is_table(path);
    }
    let hosts = fleet::find(&[path.to_owned()]).unwrap_or_default();
    let mut tables = hosts.iter().flat_map(|host| &host.tables);
    tables.any(|table| is_table(table))
}

/// An image as the only snapshot of its file system.
fn read_image(
    image: &Path,
    map: &mut map::OfSnapshots,
    ui: &dyn Watch,
) -> crate::Result<fleet::Life> {
    let (layout, report) = collect_layout(image, ui)?;
    map.see(0, &layout, false);
    map.see(0, &layout, true);
    Ok(fleet::Life {
        nights: vec![Night {
            taken_at_ns: report.info.taken_at_ns,
            size_bytes: report.info.size_bytes,
            changes: None,
            row: DayRow::of_layout(&fsage_metrics::measure(&layout)),
        }],
        notes: report.warnings,
    })
}

/// Reads snapshots: those of a folder are one file system; so are files that are named one by one. An image is a file
/// system of one snapshot.
///
/// # Errors
/// One is damaged, or two are of different file systems under one name; an interrupt.
pub fn read(paths: &[PathBuf], ui: &dyn Watch) -> crate::Result<Material> {
    let hosts = hosts(paths)?;
    let mut group = Group::default();
    let mut missing = Vec::new();
    let mut findings = Vec::new();
    let mut data = table();
    let mut disks = Vec::new();
    for host in hosts {
        let mut map = map::OfSnapshots::default();
        let life = match &host.tables[..] {
            [image] if is_image(image) => read_image(image, &mut map, ui)?,
            _ => fleet::read_seen(&host, &mut |number, layout, is_last| {
                map.see(number, layout, is_last);
            })?,
        };
        missing.extend(
            life.notes
                .iter()
                .map(|note| format!("{}: {note}.", host.name)),
        );
        let Some(first) = life.nights.first() else {
            bail!("{}: there is no snapshot of it", host.name);
        };
        findings.extend(found(&host.name, &life.nights));
        let days = life.nights.iter().map(|night| DayFacts {
            label: when(night.taken_at_ns - first.taken_at_ns),
            utilization: night.row.value(&files::UTILIZATION),
            layout_score: night.row.score(),
        });
        disks.extend(map.disk(group.subjects.len(), days.collect()));
        for night in &life.nights {
            data.rows.push(row(&host.name, night, first.taken_at_ns));
        }
        group.subjects.push(Subject {
            place: group.subjects.len(),
            facts: vec![
                again::fact("snapshots", life.nights.len().to_string()),
                again::fact(
                    "size",
                    first
                        .size_bytes
                        .map_or_else(|| "not known".to_owned(), size),
                ),
            ],
            spec: format!("snapshots of {}", host.name),
            name: host.name,
            room_bytes: None,
            lives: vec![Life {
                only_end: life.nights.len() == 1,
                days: life.nights.into_iter().map(|night| night.row).collect(),
                ..Life::default()
            }],
        });
    }
    let names: Vec<&str> = group
        .subjects
        .iter()
        .map(|subject| subject.name.as_str())
        .collect();
    let nights: u64 = data.rows.len() as u64;
    let line = paths.iter().map(|path| shell(&path.display().to_string()));
    let has_one_each = group.subjects.len() == data.rows.len();
    let (title, lead) = if has_one_each {
        (
            "As it stands",
            "What one snapshot says, without a change over time.",
        )
    } else {
        (
            "Night by night",
            "Every snapshot, and what changed since the one before. Files that came and went between two of them are \
             in neither.",
        )
    };
    Ok(Material {
        title: list(&names),
        subtitle: format!("{}; {}", counted(nights, "snapshot"), Build::this()),
        targets: group.subjects.iter().map(Subject::target).collect(),
        commands: vec![Command {
            what: "This page again:".to_owned(),
            line: format!("fsage report {} -o page.html", line.collect::<Vec<_>>().join(" ")),
        }],
        own_sections: vec![Section {
            id: "nights".to_owned(),
            title: title.to_owned(),
            lead: lead.to_owned(),
            exhibits: vec![Exhibit::Table(Sheet {
                id: "nights-table".to_owned(),
                title: "Snapshots".to_owned(),
                description: "Days are counted from the first snapshot; a cell is empty where snapshots do not say."
                    .to_owned(),
                data,
            })],
        }],
        findings: Some(findings),
        disks,
        groups: vec![group],
        missing,
        ..Material::default()
    })
}

/// The file systems that paths are of.
fn hosts(paths: &[PathBuf]) -> crate::Result<Vec<Host>> {
    let (images, paths_of_snapshots): (Vec<PathBuf>, Vec<PathBuf>) =
        paths.iter().cloned().partition(|path| is_image(path));
    let (single, folders): (Vec<PathBuf>, Vec<PathBuf>) = paths_of_snapshots
        .into_iter()
        .partition(|path| path.is_file());
    let mut hosts: Vec<Host> = images.into_iter().map(of_file).collect();
    match &single[..] {
        [] => {}
        [one] => hosts.push(of_file(one.clone())),
        _ => hosts.push(Host {
            name: "snapshots".to_owned(),
            tables: single,
        }),
    }
    if !folders.is_empty() {
        hosts.extend(fleet::find(&folders)?);
    }
    Ok(hosts)
}

fn of_file(path: PathBuf) -> Host {
    let name = path.file_stem().unwrap_or(OsStr::new("snapshot"));
    Host {
        name: name.to_string_lossy().into_owned(),
        tables: vec![path],
    }
}

fn table() -> DataTable {
    DataTable::new(&[
        "file system",
        "snapshot",
        "day",
        "files",
        "bytes of files",
        "used share",
        "layout score",
        "free bytes",
        "free bytes in runs of 1 MiB",
        "created files",
        "deleted files",
        "modified files",
        "created bytes",
        "deleted bytes",
    ])
}

fn row(name: &str, night: &Night, first_ns: i64) -> Vec<Cell> {
    let changes = night.changes.as_ref();
    let count = |n: Option<u64>| Cell::from(n.map(|n| n as f64));
    let days = (night.taken_at_ns - first_ns) as f64 / DAY_NS;
    let row = &night.row;
    vec![
        name.into(),
        (row.day as f64).into(),
        ((days * 10.0).round() / 10.0).into(),
        row.value(&files::FILES).into(),
        row.value(&files::FILE_BYTES).into(),
        row.value(&files::UTILIZATION).into(),
        row.score().into(),
        row.value(&free_space::BYTES).into(),
        row.value(&free_space::BYTES_IN_1M_RUNS).into(),
        count(changes.map(|changes| changes.created_files)),
        count(changes.map(|changes| changes.deleted_files)),
        count(changes.map(|changes| changes.modified_files)),
        count(changes.map(|changes| changes.created_bytes)),
        count(changes.map(|changes| changes.deleted_bytes)),
    ]
}

/// When a snapshot was taken, so many nanoseconds after the first; nothing of the first itself.
fn when(after_ns: i64) -> String {
    let days = after_ns as f64 / DAY_NS;
    if after_ns == 0 {
        String::new()
    } else {
        format!("{days:.1} days after the first snapshot")
    }
}

/// What the first and the last night say.
fn found(name: &str, nights: &[Night]) -> Vec<Finding> {
    /// A smaller share of files in pieces is no bad news.
    const FEW_BROKEN: f64 = 0.01;

    let (Some(first), Some(last)) = (nights.first(), nights.last()) else {
        return Vec::new();
    };
    let finding = |text: String, tone, section: &str| Finding {
        text,
        tone,
        section: Some(section.to_owned()),
    };
    let days = (last.taken_at_ns - first.taken_at_ns) as f64 / DAY_NS;
    let snapshots = counted(nights.len() as u64, "snapshot");
    let over = match nights.len() {
        1 => format!("{name}, {snapshots}"),
        _ if days < 1.0 => format!("{name}, {snapshots} within a day"),
        _ => format!("{name}, {snapshots} over {days:.1} days"),
    };
    let mut found = Vec::new();
    found.push(match (first.row.score(), last.row.score()) {
        (Some(was), Some(is)) if nights.len() > 1 && (is - was).abs() < ALIKE => finding(
            format!("{over}: the layout score stays {is:.3}."),
            Tone::Neutral,
            "decay",
        ),
        (Some(was), Some(is)) if nights.len() > 1 => finding(
            format!("{over}: the layout score goes from {was:.3} to {is:.3}."),
            if is < was { Tone::Bad } else { Tone::Good },
            "decay",
        ),
        (_, Some(is)) => finding(
            format!("{over}: the layout score is {is:.3}."),
            Tone::Neutral,
            "nights",
        ),
        _ => finding(
            format!(
                "{over}: where blocks lie was not collected, so nothing is known of the layout."
            ),
            Tone::Neutral,
            "nights",
        ),
    });
    if let ([only], Some(sentence)) = (nights, last.row.in_a_sentence()) {
        let broken = only.row.count(&pieces::FRAGMENTED_FILES).unwrap_or(0);
        let scored = only.row.count(&layout_score::SCORED_FILES).unwrap_or(0);
        let tone = match broken {
            0 => Tone::Good,
            broken if (broken as f64) < FEW_BROKEN * scored as f64 => Tone::Neutral,
            _ => Tone::Bad,
        };
        found.push(finding(format!("{name}: {sentence}"), tone, "nights"));
    }
    let files = |night: &Night| night.row.count(&files::FILES);
    let bytes = |night: &Night| night.row.count(&files::FILE_BYTES);
    if let (Some(was), Some(is), Some(held), Some(holds)) =
        (files(first), files(last), bytes(first), bytes(last))
        && nights.len() > 1
    {
        found.push(finding(
            format!(
                "{name}: from {} with {} to {} with {}.",
                counted(was, "file"),
                size(held),
                counted(is, "file"),
                size(holds)
            ),
            Tone::Neutral,
            "nights",
        ));
    }
    found
}
