//! Results as text: tables, shares, scores, JSON.

use comfy_table::{
    CellAlignment, ColumnConstraint, ContentArrangement, Table, TableComponent, presets,
};
use fsage_core::size::human;
use fsage_metrics::Unit;
use serde::Serialize;
use std::io::{self, Write};
use terminal_size::{Width, terminal_size_of};

/// A table with a line below its header and nothing else; numbers stand right. On a terminal it is as wide as that at
/// most.
pub fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    if let Some(width) = terminal_width() {
        table.set_width(width);
    }
    table
        .load_preset(presets::NOTHING)
        .set_style(TableComponent::HeaderLines, '─')
        .set_style(TableComponent::MiddleHeaderIntersections, '─')
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_header(header.to_vec());
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// A table with sentences in it: as wide as the terminal, or 100 columns where there is none. So many columns begin it
/// with names, which are kept in one piece.
pub fn table_of_sentences(header: &[String], names: usize) -> Table {
    let mut table = table(&[""]);
    table.set_header(header);
    if terminal_width().is_none() {
        table.set_width(WIDTH_OF_SENTENCES);
    }
    for column in 0..names {
        keep_whole(&mut table, column);
    }
    table
}

/// Keeps the texts of a column in one piece.
pub fn keep_whole(table: &mut Table, column: usize) {
    if let Some(column) = table.column_mut(column) {
        column.set_constraint(ColumnConstraint::ContentWidth);
    }
}

/// Puts columns with texts to the left.
pub fn align_left(table: &mut Table, columns: &[usize]) {
    for &column in columns {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Left);
        }
    }
}

/// How wide a table of sentences is where there is no terminal, in columns.
const WIDTH_OF_SENTENCES: u16 = 100;

/// How many columns the terminal has; `None` where the output is none.
fn terminal_width() -> Option<u16> {
    let (Width(width), _) = terminal_size_of(io::stdout())?;
    Some(width)
}

/// A sentence in lines as wide as the terminal, or 80 columns where there is none, and 100 at most.
pub fn wrapped(sentence: &str, first: &str, others: &str) -> String {
    let width = terminal_width().map_or(80, usize::from).clamp(40, 100);
    let options = textwrap::Options::new(width)
        .initial_indent(first)
        .subsequent_indent(others)
        .break_words(false)
        // A name with a hyphen, and the command that it stands in, can be copied.
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    // A number stays with its percent sign.
    let joined = sentence.replace(" %", "\u{a0}%");
    textwrap::fill(&joined, options).replace('\u{a0}', " ")
}

/// Writes a value as JSON.
///
/// # Errors
/// `out` fails.
pub fn print_json(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    writeln!(out)?;
    out.flush()
}

/// A share as percent; a dash where it is not known.
pub fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |s| format!("{:.1} %", s * 100.0))
}

/// A number in its unit, as people read it.
pub fn number(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Number(_) => format!("{value:.0}"),
        Unit::Bytes => human(value as u64),
        Unit::Share => percent(Some(value)),
        Unit::Score => format!("{value:.4}"),
        Unit::Mean(_, digits) => format!("{value:.0$}", usize::from(digits)),
        Unit::Flag => if value > 0.0 { "yes" } else { "no" }.to_owned(),
    }
}

/// A score; a dash where it is not known.
pub fn digits(score: Option<f64>) -> String {
    score.map_or_else(|| "-".to_owned(), |score| format!("{score:.3}"))
}
