//! What lies in a range of blocks.

use crate::summary::{print_json, table};
use crate::ui;
use anyhow::{Context as _, bail};
use fsage_core::{Extent, FileKind, Layout};
use fsage_lab::table::align_left;
use serde::Serialize;
use std::io::Write;
use std::ops::RangeInclusive;

/// A range of blocks as the command line has it: `100-199`, or one block.
pub fn parse(text: &str) -> anyhow::Result<RangeInclusive<u64>> {
    let expected = || format!("expected the first and the last block, as 100-199, found `{text}`");
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let number = |text: &str| text.trim().parse::<u64>().with_context(expected);
    let (first, last) = (number(first)?, number(last)?);
    if first > last {
        bail!("{}: the first lies behind the last", expected());
    }
    Ok(first..=last)
}

/// Neighboring blocks of one kind.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Piece {
    /// The first block.
    first: u64,
    /// The last one.
    last: u64,
    /// `file`, `directory`, `pointers`, `free`, or `other`: what is none of these, such as inodes and bitmaps.
    what: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    inode: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// Block of the file that lies in the first one.
    #[serde(skip_serializing_if = "Option::is_none")]
    logical: Option<u64>,
}

/// The pieces of a range, ascending; none overlap but where fragments of files share a block.
fn pieces(layout: &dyn Layout, range: &RangeInclusive<u64>) -> Vec<Piece> {
    let block = u64::from(layout.geometry().block_bytes.max(1));
    let cut = |start_bytes: u64, length_bytes: u64| {
        let first = start_bytes / block;
        let last = (start_bytes.saturating_add(length_bytes.max(1)) - 1) / block;
        let (from, to) = (first.max(*range.start()), last.min(*range.end()));
        (from <= to).then_some((first, from, to))
    };
    let mut pieces = Vec::new();
    layout.visit_files(&mut |file| {
        for extent in file.extents.unwrap_or_default() {
            let Some((begin, first, last)) = cut(extent.physical_bytes, extent.length_bytes) else {
                continue;
            };
            let is_pointers = Extent::is_pointers(extent);
            pieces.push(Piece {
                first,
                last,
                what: match file.kind {
                    _ if is_pointers => "pointers",
                    FileKind::Directory => "directory",
                    _ => "file",
                },
                inode: Some(file.ino),
                path: file.path.map(str::to_owned),
                logical: (!is_pointers).then(|| extent.logical_bytes / block + first - begin),
            });
        }
    });
    let free = *range.start() * block..range.end().saturating_add(1).saturating_mul(block);
    layout.visit_free_within(free, &mut |run| {
        if let Some((_, first, last)) = cut(run.start_bytes, run.length_bytes) {
            pieces.push(plain("free", first, last));
        }
    });
    pieces.sort_by_key(|piece| (piece.first, piece.last));
    between(pieces, range)
}

fn plain(what: &'static str, first: u64, last: u64) -> Piece {
    Piece {
        first,
        last,
        what,
        inode: None,
        path: None,
        logical: None,
    }
}

/// With what lies between them.
fn between(pieces: Vec<Piece>, range: &RangeInclusive<u64>) -> Vec<Piece> {
    let mut all = Vec::new();
    let mut next = *range.start();
    for piece in pieces {
        if piece.first > next {
            all.push(plain("other", next, piece.first - 1));
        }
        next = next.max(piece.last + 1);
        all.push(piece);
    }
    if next <= *range.end() {
        all.push(plain("other", next, *range.end()));
    }
    all
}

/// Prints what lies in a range of blocks of a layout.
pub fn print(
    layout: &dyn Layout,
    range: &RangeInclusive<u64>,
    as_json: bool,
) -> anyhow::Result<()> {
    let geometry = layout.geometry();
    let blocks = geometry.size_bytes / u64::from(geometry.block_bytes.max(1));
    if *range.start() >= blocks {
        bail!(
            "--blocks {}-{}: the file system has {blocks} blocks of {} bytes, from 0",
            range.start(),
            range.end(),
            geometry.block_bytes
        );
    }
    let range = *range.start()..=(*range.end()).min(blocks - 1);
    let pieces = pieces(layout, &range);
    let mut out = ui::stdout();
    if as_json {
        print_json(&mut out, &pieces)?;
        return Ok(out.flush()?);
    }
    writeln!(out, "Blocks of {} bytes", geometry.block_bytes)?;
    let mut shown = table(&["first", "last", "what", "inode", "block of it", "path"]);
    align_left(&mut shown, &[2, 5]);
    let text = |number: Option<u64>| number.map_or_else(String::new, |number| number.to_string());
    for piece in pieces {
        shown.add_row([
            piece.first.to_string(),
            piece.last.to_string(),
            piece.what.to_owned(),
            text(piece.inode),
            text(piece.logical),
            piece.path.unwrap_or_default(),
        ]);
    }
    writeln!(out, "{shown}")?;
    Ok(out.flush()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_two_blocks_or_one() {
        assert_eq!(parse("100-199").expect("a range"), 100..=199);
        assert_eq!(parse("7").expect("a block"), 7..=7);
        for wrong in ["", "a-b", "9-3", "1-", "-"] {
            let message = parse(wrong).expect_err(wrong).to_string();
            assert!(message.contains("as 100-199"), "{message}");
        }
    }

    #[test]
    fn what_lies_between_is_other() {
        let pieces = vec![plain("file", 12, 13), plain("free", 14, 15)];
        let all: Vec<(&str, u64, u64)> = between(pieces, &(10..=20))
            .iter()
            .map(|piece| (piece.what, piece.first, piece.last))
            .collect();
        assert_eq!(
            all,
            [
                ("other", 10, 11),
                ("file", 12, 13),
                ("free", 14, 15),
                ("other", 16, 20)
            ]
        );
        assert_eq!(between(Vec::new(), &(3..=4)), [plain("other", 3, 4)]);
    }
}
