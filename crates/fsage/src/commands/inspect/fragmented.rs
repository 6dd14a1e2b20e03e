//! Which files are in the most pieces, and how fragmented each group is.

use crate::summary::{percent, print_json, table};
use crate::ui;
use anyhow::bail;
use fsage_core::size::human;
use fsage_core::{FileKind, FileView, Layout};
use fsage_lab::history;
use fsage_lab::table::align_left;
use fsage_metrics::{FreeSpace, free_by_group};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::Write;

/// Characters of a path that fit beside the other columns in 80. JSON has all of it.
const PATH_WIDTH: usize = 36;

/// A regular file in pieces.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Fragmented {
    pieces: u64,
    size_bytes: u64,
    inode: u64,
    /// Of its directory.
    directory: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
}

/// A block, cylinder or allocation group.
#[derive(Debug, Default, PartialEq, Serialize)]
struct Group {
    /// From 0.
    number: u64,
    /// Share of it that is not free.
    used: f64,
    free_bytes: u64,
    /// Runs in which that lies.
    free_runs: u64,
    /// How long one is on average, in blocks: what mballoc and its like judge a group by.
    mean_free_blocks: Option<f64>,
    largest_free_bytes: u64,
    /// Regular files whose data begin in it.
    files: u64,
    /// Those of them in several pieces.
    fragmented: u64,
    /// Pieces of these files.
    pieces: u64,
}

/// In how many pieces a file lies.
fn pieces(file: &FileView<'_>) -> u64 {
    history::pieces(file.extents.unwrap_or_default()).len() as u64
}

/// The regular files in the most pieces, the worst first, of several with as many the smallest.
fn worst(layout: &dyn Layout, number: usize) -> Vec<Fragmented> {
    let mut worst: Vec<Fragmented> = Vec::new();
    let order = |file: &Fragmented| (Reverse(file.pieces), file.size_bytes, file.inode);
    layout.visit_files(&mut |file| {
        let pieces = pieces(file);
        if file.kind != FileKind::Regular || pieces < 2 {
            return;
        }
        worst.push(Fragmented {
            pieces,
            size_bytes: file.size_bytes,
            inode: file.ino,
            directory: file.parent_ino,
            path: file.path.map(str::to_owned),
        });
        if worst.len() >= 2 * number.max(1) {
            worst.sort_by_key(order);
            worst.truncate(number);
        }
    });
    worst.sort_by_key(order);
    worst.truncate(number);
    worst
}

/// All groups of a layout; none where it has none.
fn groups(layout: &dyn Layout) -> Option<Vec<Group>> {
    let geometry = layout.geometry();
    let bytes = geometry.group_bytes;
    if bytes == 0 {
        return None;
    }
    let block_bytes = f64::from(geometry.block_bytes.max(1));
    let free = free_by_group(layout).into_iter().zip(0..);
    let mut groups: Vec<Group> = free
        .map(|(free, number)| Group {
            number,
            used: 1.0 - free.free_bytes as f64 / free.size_bytes as f64,
            free_bytes: free.free_bytes,
            free_runs: free.runs,
            mean_free_blocks: free.mean_bytes().map(|mean| mean / block_bytes),
            largest_free_bytes: free.longest_bytes,
            ..Group::default()
        })
        .collect();
    layout.visit_files(&mut |file| {
        let mut extents = file.extents.unwrap_or_default().iter();
        let first = extents.find(|extent| extent.is_placed_data());
        let Some(first) = first.filter(|_| file.kind == FileKind::Regular) else {
            return;
        };
        if let Some(group) = groups.get_mut((first.physical_bytes / bytes) as usize) {
            let pieces = pieces(file);
            group.files += 1;
            group.fragmented += u64::from(pieces > 1);
            group.pieces += pieces;
        }
    });
    Some(groups)
}

/// Prints the files in the most pieces. `paths` finds those of inodes where the layout has none.
pub fn print_worst(
    layout: &dyn Layout,
    number: usize,
    as_json: bool,
    paths: impl FnOnce(&[u64]) -> anyhow::Result<BTreeMap<u64, String>>,
) -> anyhow::Result<()> {
    let mut files = worst(layout, number);
    if !files.iter().any(|file| file.path.is_some()) {
        let inodes: Vec<u64> = files.iter().map(|file| file.inode).collect();
        let mut paths = paths(&inodes)?;
        for file in &mut files {
            file.path = paths.remove(&file.inode);
        }
    }
    let mut out = ui::stdout();
    if as_json {
        print_json(&mut out, &files)?;
        return Ok(out.flush()?);
    }
    if files.is_empty() {
        writeln!(out, "No regular file is in several pieces.")?;
        return Ok(out.flush()?);
    }
    let has_paths = files.iter().any(|file| file.path.is_some());
    let last = if has_paths { "path" } else { "directory" };
    let mut shown = table(&["pieces", "size", "mean piece", "inode", last]);
    if has_paths {
        align_left(&mut shown, &[4]);
    }
    for file in files {
        let directory = file.directory.map(|inode| inode.to_string());
        let path = file.path.map(|path| shortened(&path, PATH_WIDTH));
        shown.add_row([
            file.pieces.to_string(),
            human(file.size_bytes),
            human(file.size_bytes / file.pieces),
            file.inode.to_string(),
            if has_paths { path } else { directory }.unwrap_or_default(),
        ]);
    }
    writeln!(out, "{shown}")?;
    if !has_paths {
        writeln!(
            out,
            "\nOf a model, `fsage history RUN/TARGET --inode N` names the file, and shows how it came to lie so."
        )?;
    }
    Ok(out.flush()?)
}

/// The end of a path that has no more characters than these, from a directory on if one begins in it.
fn shortened(path: &str, most: usize) -> String {
    let length = path.chars().count();
    if length <= most {
        return path.to_owned();
    }
    let end: String = path.chars().skip(length - (most - 1)).collect();
    let end = end.find('/').map_or(end.as_str(), |at| &end[at..]);
    format!("…{end}")
}

/// Free space by how long its runs are: of each class that has some the runs, the bytes, and their share, and the share
/// of all in runs at least as long.
fn by_run_length(layout: &dyn Layout) -> Option<String> {
    let free = FreeSpace::of(layout, &layout.geometry())?;
    let mut shown = table(&[
        "free runs of",
        "runs",
        "bytes",
        "of all free",
        "in these or longer",
    ]);
    let mut longer = free.classes.iter().map(|class| class.bytes).sum::<u64>();
    let all = longer;
    let share = |bytes: u64| percent((all > 0).then(|| bytes as f64 / all as f64));
    for (place, class) in free.classes.iter().enumerate() {
        let last = place + 1 == free.classes.len();
        let from = human(FreeSpace::class_min_bytes(place));
        let lengths = match place {
            0 => format!("under {}", human(FreeSpace::class_min_bytes(1))),
            _ if last => format!("{from} or more"),
            _ => format!("{from} to {}", human(FreeSpace::class_min_bytes(place + 1))),
        };
        if class.runs > 0 {
            shown.add_row([
                lengths,
                class.runs.to_string(),
                human(class.bytes),
                share(class.bytes),
                share(longer),
            ]);
        }
        longer -= class.bytes;
    }
    (all > 0).then(|| shown.to_string())
}

/// Prints how full and how fragmented each group is, and how long the runs of free space are.
pub fn print_groups(layout: &dyn Layout, as_json: bool) -> anyhow::Result<()> {
    let Some(groups) = groups(layout) else {
        bail!(
            "--groups: a file system of type {} has no groups here",
            layout.geometry().fs_type
        );
    };
    let geometry = layout.geometry();
    let mut out = ui::stdout();
    if as_json {
        print_json(&mut out, &groups)?;
        return Ok(out.flush()?);
    }
    let mut shown = table(&[
        "group",
        "full",
        "free",
        "free\nruns",
        "blocks\na run",
        "longest\nfree run",
        "files",
        "in\npieces",
        "pieces\na file",
    ]);
    for group in groups {
        let each = match group.files {
            0 => "-".to_owned(),
            files => format!("{:.2}", group.pieces as f64 / files as f64),
        };
        shown.add_row([
            group.number.to_string(),
            format!("{:.0} %", group.used * 100.0),
            human(group.free_bytes),
            group.free_runs.to_string(),
            group
                .mean_free_blocks
                .map_or_else(|| "-".to_owned(), |mean| format!("{mean:.1}")),
            human(group.largest_free_bytes),
            group.files.to_string(),
            percent((group.files > 0).then(|| group.fragmented as f64 / group.files as f64)),
            each,
        ]);
    }
    writeln!(
        out,
        "Groups of {} in blocks of {}; a file belongs to the group in which its data begin.\n\n{shown}",
        human(geometry.group_bytes),
        human(u64::from(geometry.block_bytes))
    )?;
    if let Some(runs) = by_run_length(layout) {
        writeln!(out, "\n{runs}")?;
    }
    Ok(out.flush()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsage_core::snapshot::Inode;
    use fsage_core::{Extent, Geometry, LayoutInMemory, Run};

    const BLOCK: u64 = 4096;

    /// Two groups of ten blocks: a file in three pieces from the first on, one in a piece in the second, and free
    /// space over the boundary.
    fn layout() -> LayoutInMemory {
        let extent = |logical: u64, physical: u64, length: u64| Extent {
            logical_bytes: logical * BLOCK,
            physical_bytes: physical * BLOCK,
            length_bytes: length * BLOCK,
            flags: 0,
        };
        let file = |inode: u64, extents: Vec<Extent>| {
            let blocks: u64 = extents.iter().map(|extent| extent.length_bytes).sum();
            Inode {
                extents: Some(extents.into()),
                ..Inode::new(inode, None, FileKind::Regular, blocks)
            }
        };
        let free = |start: u64, length: u64| Run {
            start_bytes: start * BLOCK,
            length_bytes: length * BLOCK,
        };
        LayoutInMemory {
            geometry: Geometry {
                fs_type: "ext4".to_owned(),
                size_bytes: 20 * BLOCK,
                data_bytes: None,
                reserved_bytes: 0,
                block_bytes: 4096,
                frag_bytes: 4096,
                inodes_total: 64,
                group_count: 2,
                group_bytes: 10 * BLOCK,
                inodes_per_group: 32,
                first_ino: 1,
                inode_chunk_bytes: 0,
            },
            space: None,
            inodes: vec![
                file(
                    12,
                    vec![
                        extent(0, 1, 1),
                        extent(1, 2, 1),
                        extent(2, 4, 1),
                        extent(3, 15, 1),
                    ],
                ),
                file(13, vec![extent(0, 16, 2)]),
            ],
            names: Vec::new(),
            free: Some(vec![free(7, 5), free(19, 1)]),
        }
    }

    #[test]
    fn neighbors_are_a_single_piece_and_the_worst_come_first() {
        let worst = worst(&layout(), 5);
        let found: Vec<(u64, u64)> = worst.iter().map(|file| (file.inode, file.pieces)).collect();
        assert_eq!(found, [(12, 3)]);
    }

    #[test]
    fn of_a_long_path_the_end_is_shown() {
        assert_eq!(shortened("d1/f2", 5), "d1/f2");
        assert_eq!(shortened("d10/d20/f30", 10), "…/d20/f30");
        assert_eq!(shortened("d10/d20/f30", 8), "…/f30");
        assert_eq!(shortened("d1/abcdefgh", 5), "…efgh");
        assert_eq!(shortened("ä/öäüöäü", 5), "…üöäü");
    }

    #[test]
    fn a_group_has_its_part_of_a_run_and_the_files_that_begin_in_it() {
        let groups = groups(&layout()).expect("groups");
        let found: Vec<(u64, u64, u64, u64, u64)> = groups
            .iter()
            .map(|g| {
                (
                    g.free_bytes / BLOCK,
                    g.largest_free_bytes / BLOCK,
                    g.files,
                    g.fragmented,
                    g.pieces,
                )
            })
            .collect();
        assert_eq!(found, [(3, 3, 1, 1, 3), (3, 2, 1, 0, 1)]);
        assert!((groups[0].used - 0.7).abs() < 1e-9);
        // The first has blocks 7 to 9, the second 10, 11 and 19.
        let runs: Vec<(u64, Option<f64>)> = groups
            .iter()
            .map(|group| (group.free_runs, group.mean_free_blocks))
            .collect();
        assert_eq!(runs, [(1, Some(3.0)), (2, Some(1.5))]);
    }
}
