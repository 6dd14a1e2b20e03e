//! Which files are in the most pieces, and how fragmented each group is.

use crate::summary::{percent, print_json, table};
use crate::ui;
use anyhow::bail;
use fsage_core::size::human;
use fsage_core::{FileKind, FileView, Layout};
use fsage_lab::history;
use fsage_lab::table::align_left;
use serde::Serialize;
use std::cmp::Reverse;
use std::io::Write;

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
    let of = |physical_bytes: u64| physical_bytes / bytes;
    let mut groups: Vec<Group> = (0..geometry.size_bytes.div_ceil(bytes))
        .map(|number| Group {
            number,
            ..Group::default()
        })
        .collect();
    layout.visit_files(&mut |file| {
        let mut extents = file.extents.unwrap_or_default().iter();
        let first = extents.find(|extent| extent.is_placed_data());
        let Some(first) = first.filter(|_| file.kind == FileKind::Regular) else {
            return;
        };
        if let Some(group) = groups.get_mut(of(first.physical_bytes) as usize) {
            let pieces = pieces(file);
            group.files += 1;
            group.fragmented += u64::from(pieces > 1);
            group.pieces += pieces;
        }
    });
    layout.visit_free(&mut |run| {
        // A run that goes over the end of a group is one run in each.
        for part in run.cut_at_multiples(bytes) {
            if let Some(group) = groups.get_mut(of(part.start_bytes) as usize) {
                group.free_bytes += part.length_bytes;
                group.largest_free_bytes = group.largest_free_bytes.max(part.length_bytes);
            }
        }
    });
    for group in &mut groups {
        let size = bytes.min(geometry.size_bytes - group.number * bytes);
        group.used = 1.0 - group.free_bytes as f64 / size as f64;
    }
    Some(groups)
}

/// Prints the files in the most pieces.
pub fn print_worst(layout: &dyn Layout, number: usize, as_json: bool) -> anyhow::Result<()> {
    let files = worst(layout, number);
    let mut out = ui::stdout();
    if as_json {
        print_json(&mut out, &files)?;
        return Ok(out.flush()?);
    }
    if files.is_empty() {
        writeln!(out, "No regular file is in several pieces.")?;
        return Ok(out.flush()?);
    }
    // What a run keeps of a target has no names.
    let has_paths = files.iter().any(|file| file.path.is_some());
    let mut header = vec!["pieces", "size", "mean piece", "inode", "directory"];
    if has_paths {
        header.push("path");
    }
    let mut shown = table(&header);
    align_left(&mut shown, &[5]);
    for file in files {
        let mut cells = vec![
            file.pieces.to_string(),
            human(file.size_bytes),
            human(file.size_bytes / file.pieces),
            file.inode.to_string(),
            file.directory
                .map_or_else(String::new, |inode| inode.to_string()),
        ];
        if has_paths {
            cells.push(file.path.unwrap_or_default());
        }
        shown.add_row(cells);
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

/// Prints how full and how fragmented each group is.
pub fn print_groups(layout: &dyn Layout, as_json: bool) -> anyhow::Result<()> {
    let Some(groups) = groups(layout) else {
        bail!(
            "--groups: a file system of type {} has no groups here",
            layout.geometry().fs_type
        );
    };
    let mut out = ui::stdout();
    if as_json {
        print_json(&mut out, &groups)?;
        return Ok(out.flush()?);
    }
    let mut shown = table(&[
        "group",
        "full",
        "free",
        "longest\nfree run",
        "files",
        "in pieces",
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
            human(group.largest_free_bytes),
            group.files.to_string(),
            percent((group.files > 0).then(|| group.fragmented as f64 / group.files as f64)),
            each,
        ]);
    }
    writeln!(
        out,
        "Groups of {}; a file belongs to the group in which its data begin.\n\n{shown}",
        human(layout.geometry().group_bytes)
    )?;
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
    }
}
