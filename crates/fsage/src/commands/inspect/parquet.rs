//! Snapshots and other tables.

use super::Progress;
use crate::summary::{print_json, table as text_table};
use crate::ui::{self, Ui};
use fsage_core::FileKind;
use fsage_core::size::human;
use fsage_core::snapshot::SnapshotRow;
use fsage_data::snapshot::InodeReader;
use fsage_data::table::ParquetInfo;
use serde_json::{Map, Value, json};
use std::io::Write;

const KINDS: [(FileKind, &str); 7] = [
    (FileKind::Regular, "regular files"),
    (FileKind::Directory, "directories"),
    (FileKind::Symlink, "symbolic links"),
    (FileKind::Fifo, "FIFOs"),
    (FileKind::Socket, "sockets"),
    (FileKind::BlockDevice, "block devices"),
    (FileKind::CharDevice, "character devices"),
];

/// Rows of one type.
#[derive(Clone, Copy, Default)]
struct Kind {
    rows: u64,
    size_bytes: u64,
    alloc_bytes: u64,
    extents: u64,
}

#[derive(Default)]
struct Inodes {
    kinds: [Kind; KINDS.len()],
    gone: u64,
    snapshots: u64,
    range: Option<(u32, u32)>,
}

impl Inodes {
    fn add(&mut self, snap_id: u32, row: &SnapshotRow) {
        let (first, last) = self.range.unwrap_or((snap_id, snap_id));
        self.snapshots += u64::from(self.range.is_none() || last != snap_id);
        self.range = Some((first, snap_id));
        let SnapshotRow::Present(inode) = row else {
            self.gone += 1;
            return;
        };
        let Some(index) = KINDS.iter().position(|(kind, _)| *kind == inode.kind) else {
            return;
        };
        let kind = &mut self.kinds[index];
        kind.rows += 1;
        kind.size_bytes = kind.size_bytes.saturating_add(inode.size_bytes);
        kind.alloc_bytes = kind
            .alloc_bytes
            .saturating_add(inode.alloc_bytes.unwrap_or(0));
        kind.extents += inode
            .extents
            .as_ref()
            .map_or(0, |extents| extents.len() as u64);
    }

    /// The kinds that occur.
    fn found(&self) -> impl Iterator<Item = ((FileKind, &'static str), Kind)> {
        KINDS
            .into_iter()
            .zip(self.kinds)
            .filter(|(_, kind)| kind.rows > 0)
    }
}

/// Prints the numbers of an inode table.
pub fn inodes(info: &ParquetInfo, as_json: bool, ui: Ui) -> anyhow::Result<()> {
    let mut reader = InodeReader::open(&info.path)?;
    let mut inodes = Inodes::default();
    let mut rows = 0;
    let mut progress = Progress::new(ui, "reading");
    while let Some((snap_id, row)) = reader.next_row()? {
        inodes.add(snap_id, &row);
        rows += 1;
        progress.step(|| Some((rows, info.rows)));
    }
    progress.done();
    let form = reader.form().as_str();
    let mut out = ui::stdout();
    if as_json {
        let by_type: Map<_, _> = inodes
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
        let value = json!({
            "file": info.path.display().to_string(),
            "kind": "snapshot",
            "form": form,
            "snapshots": inodes.snapshots,
            "first_snap_id": inodes.range.map(|r| r.0),
            "last_snap_id": inodes.range.map(|r| r.1),
            "rows": rows,
            "tombstones": inodes.gone,
            "by_type": by_type,
        });
        print_json(&mut out, &value)?;
        return Ok(out.flush()?);
    }
    writeln!(out, "{}: snapshots, {form} form", info.path.display())?;
    let ids = inodes
        .range
        .map_or_else(String::new, |(first, last)| format!(" ({first} to {last})"));
    writeln!(out, "  {:18} {}{ids}", "snapshots", inodes.snapshots)?;
    writeln!(out, "  {:18} {rows}", "rows")?;
    if inodes.gone > 0 {
        writeln!(out, "  {:18} {}", "tombstones", inodes.gone)?;
    }
    writeln!(out)?;
    let mut table = text_table(&["rows of", "count", "size", "on disk", "extents"]);
    for ((_, name), kind) in inodes.found() {
        table.add_row([
            name.to_owned(),
            kind.rows.to_string(),
            human(kind.size_bytes),
            human(kind.alloc_bytes),
            kind.extents.to_string(),
        ]);
    }
    writeln!(out, "{table}")?;
    Ok(out.flush()?)
}

/// Prints what any other Parquet file says of itself.
pub fn table(info: &ParquetInfo, as_json: bool) -> anyhow::Result<()> {
    let mut out = ui::stdout();
    if as_json {
        let pairs = |pairs: &[(String, String)]| -> Value {
            pairs
                .iter()
                .map(|(key, value)| (key.clone(), json!(value)))
                .collect::<Map<_, _>>()
                .into()
        };
        let value = json!({
            "file": info.path.display().to_string(),
            "kind": info.schema,
            "rows": info.rows,
            "columns": pairs(&info.columns),
            "metadata": pairs(&info.metadata),
        });
        print_json(&mut out, &value)?;
        return Ok(out.flush()?);
    }
    let kind = info.schema.as_deref().unwrap_or("not written by fsage");
    writeln!(out, "{}: a Parquet table ({kind})", info.path.display())?;
    writeln!(out, "  {:18} {}", "rows", info.rows)?;
    for (key, value) in &info.metadata {
        writeln!(out, "  {key:18} {value}")?;
    }
    writeln!(out)?;
    let mut table = text_table(&["column", "type"]);
    for (name, kind) in &info.columns {
        table.add_row([name, kind]);
    }
    writeln!(out, "{table}")?;
    Ok(out.flush()?)
}
