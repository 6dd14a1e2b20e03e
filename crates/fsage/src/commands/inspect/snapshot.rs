//! Snapshots: one, or a series.

use super::Progress;
use crate::summary::{percent, print_json, table as text_table};
use crate::ui::{self, Ui, go_on};
use anyhow::bail;
use fsage_core::size::human;
use fsage_core::snapshot::{Inode, SnapshotInfo, SnapshotRow, source_flags};
use fsage_core::{Extent, FileKind, FileView, Layout};
use fsage_data::snapshot::{
    InodeReader, SnapshotSeries, count_names, read_snapshot_table, tables_beside,
};
use fsage_data::table::ParquetInfo;
use fsage_data::{Histogram, SnapshotFile};
use fsage_lab::run_folder::no_experiment;
use serde_json::{Map, Value, json};
use std::io::Write;
use std::path::Path;

const KINDS: [(FileKind, &str); 7] = [
    (FileKind::Regular, "regular files"),
    (FileKind::Directory, "directories"),
    (FileKind::Symlink, "symbolic links"),
    (FileKind::Fifo, "FIFOs"),
    (FileKind::Socket, "sockets"),
    (FileKind::BlockDevice, "block devices"),
    (FileKind::CharDevice, "character devices"),
];

const PERCENTS: [u8; 7] = [10, 25, 50, 75, 90, 99, 100];

/// Rows of one type.
#[derive(Clone, Copy, Default)]
struct Kind {
    rows: u64,
    size_bytes: u64,
    alloc_bytes: u64,
    extents: u64,
}

/// What is known of how many rows.
#[derive(Clone, Copy, Default)]
struct Known {
    generation: u64,
    ctime: u64,
    mtime: u64,
    birth: u64,
    extents: u64,
    path: u64,
}

#[derive(Default)]
struct Inodes {
    kinds: [Kind; KINDS.len()],
    known: Known,
    /// Sizes of regular files.
    sizes: Histogram,
    ctimes: Option<(i64, i64)>,
    present: u64,
    gone: u64,
    snapshots: u64,
    range: Option<(u32, u32)>,
}

impl Inodes {
    fn add(&mut self, snap_id: u32, row: &SnapshotRow) {
        let (first, last) = self.range.unwrap_or((snap_id, snap_id));
        self.snapshots += u64::from(self.range.is_none() || last != snap_id);
        self.range = Some((first, snap_id));
        match row {
            SnapshotRow::Present(inode) => self.add_inode(inode),
            SnapshotRow::Gone { .. } => self.gone += 1,
        }
    }

    fn add_inode(&mut self, inode: &Inode) {
        self.present += 1;
        let known = &mut self.known;
        let generation =
            inode.generation.is_some() && inode.source_flags & source_flags::GEN_VALID != 0;
        known.generation += u64::from(generation);
        known.ctime += u64::from(inode.ctime_ns.is_some());
        known.mtime += u64::from(inode.mtime_ns.is_some());
        known.birth += u64::from(inode.btime_ns.is_some());
        known.extents += u64::from(inode.extents.is_some());
        known.path += u64::from(inode.path.is_some());
        if let Some(ctime) = inode.ctime_ns {
            let (low, high) = self.ctimes.unwrap_or((ctime, ctime));
            self.ctimes = Some((low.min(ctime), high.max(ctime)));
        }
        if inode.kind == FileKind::Regular {
            self.sizes.add(inode.size_bytes);
        }
        let Some(index) = KINDS.iter().position(|(kind, _)| *kind == inode.kind) else {
            return;
        };
        let kind = &mut self.kinds[index];
        kind.rows += 1;
        kind.size_bytes = kind.size_bytes.saturating_add(inode.size_bytes);
        kind.alloc_bytes = kind
            .alloc_bytes
            .saturating_add(inode.alloc_bytes.unwrap_or(0));
        let extents = inode.extents.as_ref();
        kind.extents += extents.map_or(0, |extents| extents.len() as u64);
    }

    /// The kinds that occur.
    fn found(&self) -> impl Iterator<Item = ((FileKind, &'static str), Kind)> {
        KINDS
            .into_iter()
            .zip(self.kinds)
            .filter(|(_, kind)| kind.rows > 0)
    }

    fn shares(&self) -> [(&'static str, &'static str, u64); 6] {
        let known = &self.known;
        [
            ("generation", "generation", known.generation),
            ("change time", "ctime", known.ctime),
            ("modification time", "mtime", known.mtime),
            ("birth time", "btime", known.birth),
            ("extents", "extents", known.extents),
            ("path", "path", known.path),
        ]
    }

    fn to_json(&self) -> Map<String, Value> {
        let by_type: Map<_, _> = self
            .found()
            .map(|((kind, _), k)| {
                let numbers = json!({
                    "rows": k.rows,
                    "size_bytes": k.size_bytes,
                    "alloc_bytes": k.alloc_bytes,
                    "extents": k.extents,
                });
                (kind.letter().to_string(), numbers)
            })
            .collect();
        let known: Map<_, _> = self
            .shares()
            .into_iter()
            .map(|(_, key, rows)| (key.to_owned(), rows.into()))
            .collect();
        let sizes: Map<_, _> = PERCENTS
            .into_iter()
            .map(|p| (format!("p{p}"), self.sizes.percentile(p).into()))
            .collect();
        let value = json!({
            "by_type": by_type,
            "known": known,
            "first_ctime_ns": self.ctimes.map(|c| c.0),
            "last_ctime_ns": self.ctimes.map(|c| c.1),
            "regular_size_bytes": sizes,
        });
        value.as_object().cloned().unwrap_or_default()
    }

    fn print(&self, out: &mut impl Write) -> std::io::Result<()> {
        if let Some((first, last)) = self.ctimes {
            writeln!(
                out,
                "  {:18} {} to {}",
                "change times",
                seconds(first),
                seconds(last)
            )?;
        }
        writeln!(out)?;
        let mut kinds = text_table(&["rows of", "count", "size", "on disk", "extents"]);
        for ((_, name), kind) in self.found() {
            kinds.add_row([
                name.to_owned(),
                kind.rows.to_string(),
                human(kind.size_bytes),
                human(kind.alloc_bytes),
                kind.extents.to_string(),
            ]);
        }
        writeln!(out, "{kinds}\n")?;
        let mut shares = text_table(&["known is the", "rows", "share"]);
        for (name, _, rows) in self.shares() {
            let share = (self.present > 0).then(|| rows as f64 / self.present as f64);
            shares.add_row([name.to_owned(), rows.to_string(), percent(share)]);
        }
        writeln!(out, "{shares}\n")?;
        let mut sizes = text_table(&["", "p10", "p25", "p50", "p75", "p90", "p99", "largest"]);
        let mut row = vec!["bytes of a regular file".to_owned()];
        let percentile = |p| {
            self.sizes
                .percentile(p)
                .map_or_else(String::new, |n| n.to_string())
        };
        row.extend(PERCENTS.into_iter().map(percentile));
        sizes.add_row(row);
        writeln!(out, "{sizes}")
    }
}

/// A time, in seconds since 1970 UTC.
fn seconds(ns: i64) -> String {
    format!("@{}", ns.div_euclid(1_000_000_000))
}

/// Prints the numbers of an inode table.
pub fn table(info: &ParquetInfo, shown: &Path, as_json: bool, ui: Ui) -> anyhow::Result<()> {
    let mut reader = InodeReader::open(&info.path)?;
    let mut inodes = Inodes::default();
    let mut rows = 0_u64;
    let mut progress = Progress::new(ui, "reading");
    while let Some((snap_id, row)) = reader.next_row()? {
        inodes.add(snap_id, &row);
        rows += 1;
        if rows.is_multiple_of(1 << 14) {
            go_on()?;
        }
        progress.step(|| Some((rows, info.rows)));
    }
    progress.done();
    let form = reader.form().as_str();
    let beside = tables_beside(&info.path);
    let infos = beside
        .snapshots
        .map(read_snapshot_table)
        .transpose()?
        .unwrap_or_default();
    let names = beside.names.map(count_names).transpose()?;
    // A snapshot without a row, in which nothing changed, is only in the snapshot table.
    let snapshots = inodes.snapshots.max(infos.len() as u64);
    let mut out = ui::stdout();
    if as_json {
        let mut value = json!({
            "file": shown.display().to_string(),
            "kind": "snapshot",
            "form": form,
            "snapshots": snapshots,
            "first_snap_id": inodes.range.map(|r| r.0),
            "last_snap_id": inodes.range.map(|r| r.1),
            "first_taken_at_ns": infos.first().map(|info| info.taken_at_ns),
            "last_taken_at_ns": infos.last().map(|info| info.taken_at_ns),
            "rows": rows,
            "tombstones": inodes.gone,
            "further_names": names,
        });
        if let Value::Object(fields) = &mut value {
            fields.extend(inodes.to_json());
        }
        print_json(&mut out, &value)?;
        return Ok(out.flush()?);
    }
    writeln!(out, "{}: snapshots, {form} form", shown.display())?;
    let ids = inodes
        .range
        .map_or_else(String::new, |(first, last)| format!(" ({first} to {last})"));
    writeln!(out, "  {:18} {snapshots}{ids}", "snapshots")?;
    print_times(&mut out, infos.first(), infos.last())?;
    writeln!(out, "  {:18} {rows}", "rows")?;
    if inodes.gone > 0 {
        writeln!(out, "  {:18} {}", "tombstones", inodes.gone)?;
    }
    if let Some(names) = names {
        writeln!(out, "  {:18} {names}", "further names")?;
    }
    inodes.print(&mut out)?;
    Ok(out.flush()?)
}

fn print_times(
    out: &mut impl Write,
    first: Option<&SnapshotInfo>,
    last: Option<&SnapshotInfo>,
) -> std::io::Result<()> {
    let (Some(first), Some(last)) = (first, last) else {
        return writeln!(out, "  {:18} unknown: no snapshot table beside it", "taken");
    };
    let days = (i128::from(last.taken_at_ns) - i128::from(first.taken_at_ns)) as f64 / 86400e9;
    let (start, end) = (seconds(first.taken_at_ns), seconds(last.taken_at_ns));
    writeln!(out, "  {:18} {start} to {end}: {days:.1} days", "taken")
}

/// Prints the numbers of the snapshots in a folder, as one series: those of the last one in full.
pub fn folder(path: &Path, as_json: bool, ui: Ui) -> anyhow::Result<()> {
    let mut series = SnapshotSeries::open(&[path])?;
    for note in series.notes() {
        ui.note(note);
    }
    let bar = ui.bar_count(Some(series.rows_read().1), "reading");
    let (mut first, mut last): (Option<SnapshotInfo>, Option<SnapshotInfo>) = (None, None);
    let (mut snapshots, mut changed) = (0_u64, 0_u64);
    while let Some(night) = series.next_night()? {
        go_on()?;
        snapshots += 1;
        changed += night.changed.len() as u64;
        first.get_or_insert_with(|| night.info.clone());
        last = Some(night.info);
        bar.set_position(series.rows_read().0);
    }
    bar.finish_and_clear();
    let mut inodes = Inodes::default();
    for inode in series.inodes().values() {
        inodes.add_inode(inode);
    }
    let mut out = ui::stdout();
    if as_json {
        let mut value = json!({
            "folder": path.display().to_string(),
            "kind": "snapshots",
            "snapshots": snapshots,
            "first_taken_at_ns": first.map(|info| info.taken_at_ns),
            "last_taken_at_ns": last.map(|info| info.taken_at_ns),
            "rows_read": series.rows_read().0,
            "changes": changed,
            "inodes_at_the_end": series.inodes().len(),
        });
        if let Value::Object(fields) = &mut value {
            fields.extend(inodes.to_json());
        }
        print_json(&mut out, &value)?;
        return Ok(out.flush()?);
    }
    writeln!(out, "{}: a series of snapshots", path.display())?;
    writeln!(out, "  {:18} {snapshots}", "snapshots")?;
    print_times(&mut out, first.as_ref(), last.as_ref())?;
    writeln!(out, "  {:18} {}", "rows", series.rows_read().0)?;
    writeln!(
        out,
        "  {:18} {changed}, those of the first snapshot included",
        "changes"
    )?;
    writeln!(out, "\nThe last snapshot:")?;
    inodes.print(&mut out)?;
    Ok(out.flush()?)
}

/// The snapshot with this number, else the last one.
pub fn open(path: &Path, snap_id: Option<u32>) -> anyhow::Result<SnapshotFile> {
    if path.is_dir() {
        no_experiment(path)?;
        bail!(
            "{}: a folder, and one snapshot is looked into; name a file of it, or RUN/TARGET",
            path.display()
        );
    }
    Ok(match snap_id {
        Some(snap_id) => SnapshotFile::open_snapshot(path, snap_id)?,
        None => SnapshotFile::open(path)?,
    })
}

/// Prints where the data of every regular file lie: inode, inode of the directory, bytes, and extents as
/// logical:physical:length in blocks; after a line that says how many bytes a block has.
pub fn extents(path: &Path, snap_id: Option<u32>) -> anyhow::Result<()> {
    let snapshot = open(path, snap_id)?;
    let mut out = ui::stdout();
    writeln!(out, "#snapshot {}", snapshot.snap_id())?;
    extents_of_layout(&mut out, &snapshot, path)?;
    Ok(out.flush()?)
}

/// Prints the extents of every regular file of a layout.
pub fn extents_of_layout(
    out: &mut impl Write,
    layout: &dyn Layout,
    path: &Path,
) -> anyhow::Result<()> {
    let block = u64::from(layout.geometry().block_bytes.max(1));
    writeln!(out, "#block {block}")?;
    writeln!(out, "#inode\tdirectory\tbytes\tlogical:physical:length")?;
    let (mut files, mut collected) = (0_u64, 0_u64);
    let mut result = Ok(());
    layout.visit_files(&mut |file| {
        if file.kind == FileKind::Regular && result.is_ok() {
            files += 1;
            collected += u64::from(file.extents.is_some());
            result = go_on().and_then(|()| extents_of(out, file, block));
        }
    });
    result?;
    if collected == 0 && files > 0 {
        bail!(
            "{}: the extents of files were not collected",
            path.display()
        );
    }
    Ok(())
}

fn extents_of(out: &mut impl Write, file: &FileView<'_>, block: u64) -> std::io::Result<()> {
    write!(out, "{}\t", file.ino)?;
    match file.parent_ino {
        Some(parent) => write!(out, "{parent}\t")?,
        None => write!(out, "-\t")?,
    }
    write!(out, "{}\t", file.size_bytes)?;
    let data = file
        .extents
        .unwrap_or_default()
        .iter()
        .filter(|e| !Extent::is_pointers(e));
    for (at, extent) in data.enumerate() {
        let space = if at == 0 { "" } else { " " };
        let length = extent.length_bytes.div_ceil(block);
        let (logical, physical) = (extent.logical_bytes / block, extent.physical_bytes / block);
        write!(out, "{space}{logical}:{physical}:{length}")?;
    }
    writeln!(out)
}
