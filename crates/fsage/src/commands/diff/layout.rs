//! Whether the files of two layouts lie in the same blocks: a run and its image, two kernels, two versions of a model.

use crate::exit::No;
use crate::summary::{print_json, table};
use crate::ui::{self, Ui, go_on};
use anyhow::bail;
use fsage_core::{Extent, FileKind, FileView, Layout};
use fsage_lab::measure;
use fsage_lab::run_folder::OneTarget;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

/// How many are named without `--list`.
const EXAMPLES: usize = 5;

/// Regular files of two layouts, by inode number.
#[derive(Debug, Default, Serialize)]
struct Comparison {
    /// In the same blocks up to the end, of the same length.
    equal: u64,
    /// Of these, with other blocks behind the end: room to grow.
    behind_the_end: u64,
    /// In other blocks, or of another length.
    different: u64,
    /// In the first alone.
    gone: u64,
    /// In the second alone.
    new: u64,
    #[serde(skip)]
    names: Vec<String>,
}

/// A regular file.
#[derive(PartialEq, Eq)]
struct Place {
    size_bytes: u64,
    data: Vec<[u64; 3]>,
    behind: Vec<[u64; 3]>,
}

impl Place {
    fn of(file: &FileView<'_>, block: u64) -> Option<Place> {
        let end = file.size_bytes.next_multiple_of(block);
        let (mut data, mut behind) = (Vec::new(), Vec::new());
        for extent in file.extents?.iter().filter(|e| !Extent::is_pointers(e)) {
            let (at, to) = (extent.logical_bytes, extent.physical_bytes);
            let within = extent.length_bytes.min(end.saturating_sub(at));
            if within > 0 {
                data.push([at, to, within]);
            }
            if within < extent.length_bytes {
                behind.push([at + within, to + within, extent.length_bytes - within]);
            }
        }
        Some(Place {
            size_bytes: file.size_bytes,
            data,
            behind,
        })
    }
}

/// Compares, and ends with status 1 where files lie elsewhere.
pub fn run(before: &Path, after: &Path, all: bool, json: bool, ui: Ui) -> anyhow::Result<()> {
    let block = |layout: &dyn Layout| u64::from(layout.geometry().block_bytes.max(1));
    let first = open(before, ui)?;
    let mut places = BTreeMap::new();
    each(&*first, before, &mut |file| {
        places.insert(file.ino, Place::of(file, block(&*first)));
    })?;
    let second = open(after, ui)?;
    let mut found = Comparison::default();
    each(&*second, after, &mut |file| {
        let is_named = all || found.names.len() < EXAMPLES;
        let now = Place::of(file, block(&*second));
        let what = match (places.remove(&file.ino), now) {
            (None, _) => {
                found.new += 1;
                "in the second alone"
            }
            (Some(Some(was)), Some(now))
                if (was.size_bytes, &was.data) == (now.size_bytes, &now.data) =>
            {
                found.equal += 1;
                found.behind_the_end += u64::from(was.behind != now.behind);
                return;
            }
            (Some(was), now) => {
                found.different += 1;
                let sizes = was
                    .zip(now)
                    .map(|(was, now)| (was.size_bytes, now.size_bytes));
                match sizes {
                    Some((was, now)) if was != now => "of another length",
                    Some(_) => "in other blocks",
                    None => "of unknown extents",
                }
            }
        };
        if is_named {
            found
                .names
                .push(format!("inode {}{}: {what}", file.ino, path_of(file)));
        }
    })?;
    found.gone = places.len() as u64;
    for ino in places.keys() {
        if all || found.names.len() < EXAMPLES {
            found.names.push(format!("inode {ino}: in the first alone"));
        }
    }
    let mut out = ui::stdout();
    if json {
        print_json(&mut out, &found)?;
    } else {
        let mut rows = table(&["regular files", ""]);
        for (what, count) in [
            ("in the same blocks", found.equal),
            ("  with other room behind their ends", found.behind_the_end),
            ("in other blocks, or of another length", found.different),
            ("in the first alone", found.gone),
            ("in the second alone", found.new),
        ] {
            rows.add_row([what.to_owned(), count.to_string()]);
        }
        writeln!(out, "{rows}")?;
        for name in &found.names {
            writeln!(out, "{name}")?;
        }
    }
    out.flush()?;
    let others = found.different + found.gone + found.new;
    if others > 0 {
        return Err(No(format!("{others} files are not in the same blocks")).into());
    }
    Ok(())
}

fn path_of(file: &FileView<'_>) -> String {
    file.path
        .map_or_else(String::new, |path| format!(" {path}"))
}

/// A snapshot, RUN/TARGET (RUN of a single target), an image or a directory.
fn open(path: &Path, ui: Ui) -> anyhow::Result<Box<dyn Layout>> {
    let path = OneTarget::layout(path)?.unwrap_or_else(|| path.to_owned());
    if path.is_file() && fsage_data::is_parquet(&path)? {
        return Ok(Box::new(measure::snapshot(&path, None)?));
    }
    Ok(Box::new(measure::path(&path, &ui)?))
}

/// The regular files of a layout that knows where they lie.
fn each(
    layout: &dyn Layout,
    path: &Path,
    take: &mut dyn FnMut(&FileView<'_>),
) -> anyhow::Result<()> {
    let (mut files, mut known) = (0_u64, 0_u64);
    let mut result = Ok(());
    layout.visit_files(&mut |file| {
        if file.kind == FileKind::Regular && result.is_ok() {
            files += 1;
            known += u64::from(file.extents.is_some());
            result = go_on();
            take(file);
        }
    });
    result?;
    if known == 0 && files > 0 {
        bail!(
            "{}: the extents of files were not collected",
            path.display()
        );
    }
    Ok(())
}
