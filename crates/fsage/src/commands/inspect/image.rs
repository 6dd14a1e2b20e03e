//! Images: of a C-FFS, and of file systems that are collected to look into them.

use super::snapshot::extents_of_layout;
use crate::summary::{percent, print_json};
use crate::ui::{self, Ui};
use anyhow::Context as _;
use fsage_core::Layout;
use fsage_core::size::human;
use fsage_data::snapshot::{Form, SnapshotOutput};
use fsage_data::table;
use fsage_lab::cffs_image;
use fsage_lab::collect::{How, collect, collect_layout};
use fsage_models::cffs::Start;
use serde_json::json;
use std::io::Write;
use std::path::Path;

/// The layout of an unmounted image, with what there is to warn of.
pub fn layout(path: &Path, ui: Ui) -> anyhow::Result<impl Layout> {
    let (layout, report) = collect_layout(path, &ui)?;
    for warning in &report.warnings {
        ui.warn(warning);
    }
    Ok(layout)
}

/// Prints what an unmounted image holds, as the snapshot of it that is made for that, or the extents of its files.
pub fn collected(path: &Path, extents: bool, as_json: bool, ui: Ui) -> anyhow::Result<()> {
    if extents {
        let layout = layout(path, ui)?;
        let mut out = ui::stdout();
        writeln!(out, "#image {}", path.display())?;
        extents_of_layout(&mut out, &layout, path)?;
        return Ok(out.flush()?);
    }
    let folder = tempfile::tempdir().context("a folder for temporary files")?;
    let snapshot = folder.path().join("image.parquet");
    let mut output = SnapshotOutput::create(&snapshot, Form::Full, false)?;
    let report = collect(path, How::default(), &mut output, &ui)?;
    output.complete_snapshot(report.info.clone(), report.free.as_deref())?;
    output.finish_watched(&mut |_| ui::go_on())?;
    for warning in &report.warnings {
        ui.warn(warning);
    }
    super::snapshot::table(&table::parquet_info(&snapshot)?, path, as_json, ui)
}

/// Prints what an image holds, or the extents of its files. What damage leaves of it is told as it is.
pub fn run(path: &Path, extents: bool, as_json: bool) -> anyhow::Result<()> {
    let recovery = cffs_image::read(path)?;
    let (fs, holds) = (&recovery.fs, recovery.holds);
    let (sizes, params) = (fs.sizes(), fs.params());
    let findings = recovery.findings.len();
    let mut out = ui::stdout();
    if extents {
        writeln!(out, "#image {}", path.display())?;
        extents_of_layout(&mut out, fs, path)?;
        return Ok(out.flush()?);
    }
    let id = params.inode_id.as_str();
    let start = match params.start {
        Start::CylinderGroup => "cg",
        Start::Random => "random",
    };
    let used = u64::from(sizes.blocks) - fs.free_blocks();
    let utilization = used as f64 / f64::from(sizes.blocks);
    let inodes = holds.embedded + holds.external;
    let embedded = (inodes > 0).then(|| holds.embedded as f64 / inodes as f64);
    if as_json {
        let value = json!({
            "file": path.display().to_string(),
            "kind": "cffs",
            "size_bytes": fs.geometry().size_bytes,
            "blocks": sizes.blocks,
            "block_bytes": 4096,
            "used_blocks": used,
            "cylinder_groups": sizes.groups,
            "blocks_per_group": sizes.cg_blocks,
            "inodes_per_group": sizes.inodes_per_group,
            "embed": params.embed,
            "group": params.group,
            "dir_steal": params.dir_steal.as_str(),
            "softupdates": params.softupdates,
            "inode_id": id,
            "start": start,
            "directories": holds.directories,
            "files": holds.files,
            "names": holds.names,
            "groups": holds.groups,
            "embedded_inodes": holds.embedded,
            "other_inodes": holds.external,
            "findings": findings,
        });
        print_json(&mut out, &value)?;
        return Ok(out.flush()?);
    }
    let on = |on| if on { "on" } else { "off" };
    let switches = format!(
        "embed {}, group {}, dir_steal {}, softupdates {}, inode_id {id}, start {start}",
        on(params.embed),
        on(params.group),
        params.dir_steal.as_str(),
        on(params.softupdates),
    );
    let size = fs.geometry().size_bytes;
    let rows = [
        (
            "size",
            format!("{} in {} blocks", human(size), sizes.blocks),
        ),
        (
            "used",
            format!("{used} blocks ({})", percent(Some(utilization))),
        ),
        (
            "cylinder groups",
            format!("{} of {} blocks", sizes.groups, sizes.cg_blocks),
        ),
        ("switches", switches),
        ("directories", holds.directories.to_string()),
        ("files", holds.files.to_string()),
        ("names", holds.names.to_string()),
        ("groups", holds.groups.to_string()),
        (
            "embedded inodes",
            format!("{} ({})", holds.embedded, percent(embedded)),
        ),
        ("other inodes", holds.external.to_string()),
    ];
    writeln!(out, "{}: a C-FFS", path.display())?;
    for (what, value) in rows {
        writeln!(out, "  {what:18} {value}")?;
    }
    if findings > 0 {
        writeln!(
            out,
            "  {:18} {findings}: `fsage fsck cffs` lists them",
            "findings"
        )?;
    }
    Ok(out.flush()?)
}
