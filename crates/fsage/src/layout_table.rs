//! One layout in full: a table by sections, with the unaged control beside it where there is one.

use crate::summary::{percent, table};
use fsage_core::size::human;
use fsage_lab::days::{DayRow, ratio};
use fsage_metrics::LayoutScore;
use fsage_report::chart;
use std::io::{self, Write};

/// Prints a layout: files, layout, directory order and free space; then the layout score by file size, and free space
/// by length of run. What is not known is left out.
pub fn print_layout(out: &mut impl Write, name: &str, day: &DayRow) -> io::Result<()> {
    let mut lines = Lines::default();
    files(&mut lines, day);
    layout(&mut lines, day);
    directory_order(&mut lines, day);
    free_space(&mut lines, day);
    log(&mut lines, day);
    lines.print(out, name)?;
    print_by_size(out, day)?;
    print_free_runs(out, day)?;
    print_segments(out, day)
}

/// The lines of the table: what, aged, control, ratio.
#[derive(Default)]
struct Lines(Vec<[String; 4]>);

impl Lines {
    fn section(&mut self, title: &str) {
        if !self.0.is_empty() {
            self.0.push(<[String; 4]>::default());
        }
        let mut line = <[String; 4]>::default();
        title.clone_into(&mut line[0]);
        self.0.push(line);
    }

    fn text(&mut self, what: &str, value: String) {
        self.0
            .push([format!("  {what}"), value, String::new(), String::new()]);
    }

    /// A number of anything; nothing where it is not known.
    fn number(
        &mut self,
        what: &str,
        aged: Option<u64>,
        control: Option<u64>,
        show: impl Fn(u64) -> String,
    ) {
        let Some(aged) = aged else { return };
        let times = control.and_then(|control| ratio(aged as f64, control as f64));
        self.push(what, show(aged), control.map(show), times);
    }

    /// A ratio or a score; nothing where it is not known.
    fn score(
        &mut self,
        what: &str,
        aged: Option<f64>,
        control: Option<f64>,
        show: impl Fn(f64) -> String,
    ) {
        let Some(aged) = aged else { return };
        let times = control.and_then(|control| ratio(aged, control));
        self.push(what, show(aged), control.map(show), times);
    }

    fn push(&mut self, what: &str, aged: String, control: Option<String>, times: Option<f64>) {
        let times = times.map_or_else(String::new, |times| format!("{times:.3}"));
        self.0.push([
            format!("  {what}"),
            aged,
            control.unwrap_or_default(),
            times,
        ]);
    }

    fn print(self, out: &mut impl Write, name: &str) -> io::Result<()> {
        let controlled = self.0.iter().any(|line| !line[2].is_empty());
        let header = ["", name, "control", "ratio"];
        let columns = if controlled { 4 } else { 2 };
        let mut table = table(&header[..columns]);
        for line in self.0 {
            table.add_row(line.into_iter().take(columns));
        }
        writeln!(out, "{}", table.trim_fmt())
    }
}

fn count(n: u64) -> String {
    n.to_string()
}

fn four_digits(score: f64) -> String {
    format!("{score:.4}")
}

fn as_percent(share: f64) -> String {
    percent(Some(share))
}

fn files(lines: &mut Lines, day: &DayRow) {
    lines.section("Files");
    lines.text("files", day.files.to_string());
    lines.text("directories", day.directories.to_string());
    lines.text("bytes in files", human(day.file_bytes));
    lines.number("bytes their data need", day.live_bytes, None, human);
    lines.number("bytes the plan wanted", day.planned_bytes, None, human);
    lines.score("utilization", day.utilization, None, as_percent);
    lines.number(
        "inline files",
        day.inline_files.filter(|&n| n > 0),
        None,
        count,
    );
    if let Some(bytes) = day.unwritten_bytes.filter(|&bytes| bytes > 0) {
        let share = percent(day.unwritten_share);
        lines.text(
            "allocated, never written",
            format!("{} ({share})", human(bytes)),
        );
    }
    let beyond = day.beyond_end_bytes.filter(|&bytes| bytes > 0);
    lines.number("allocated behind the end", beyond, None, human);
}

fn layout(lines: &mut Lines, day: &DayRow) {
    lines.section("Layout");
    lines.score(
        "layout score",
        day.score(),
        day.control_layout_score,
        four_digits,
    );
    let optimal = format!("{} of {}", day.layout_optimal, day.layout_scored);
    lines.text("  optimal blocks of those scored", optimal);
    lines.number("files of two blocks or more", day.scored_files, None, count);
    let fragmented = Some(day.fragmented_files);
    lines.number(
        "files in more than one piece",
        fragmented,
        day.control_fragmented_files,
        count,
    );
    lines.number(
        "pieces of all files",
        Some(day.pieces),
        day.control_pieces,
        count,
    );
    let per_file = |pieces: f64| format!("{pieces:.3}");
    lines.score(
        "  per file with data",
        day.pieces_per_file,
        day.control_pieces_per_file,
        per_file,
    );
    // Where there are no groups no file is split.
    if day.split_files > 0 || day.directory_locality.is_some() {
        lines.number(
            "split files",
            Some(day.split_files),
            day.control_split_files,
            count,
        );
        let near = format!("{}, {}", day.split_distance_1, day.split_distance_below_10);
        lines.text("  of these one group away, under ten", near);
    }
}

fn directory_order(lines: &mut Lines, day: &DayRow) {
    if day.dynamic_layout_score.is_none() && day.next_file_bytes.is_none() {
        return;
    }
    lines.section("Directory order");
    let dynamic = day.dynamic_layout_score;
    lines.score(
        "dynamic layout score (approximated)",
        dynamic,
        day.control_dynamic_layout_score,
        four_digits,
    );
    lines.score(
        "files right behind the one before",
        day.adjacency,
        day.control_adjacency,
        as_percent,
    );
    lines.number(
        "median distance to the next file",
        day.next_file_bytes,
        day.control_next_file_bytes,
        human,
    );
    lines.score(
        "files in their directory's main group",
        day.directory_locality,
        day.control_directory_locality,
        as_percent,
    );
}

fn free_space(lines: &mut Lines, day: &DayRow) {
    lines.section("Free space");
    let Some(bytes) = day.free_bytes else {
        lines.text("free", "-".to_owned());
        return;
    };
    lines.number("free", Some(bytes), day.control_free_bytes, human);
    lines.number("  whole blocks", day.free_blocks, None, count);
    if let Some(frags) = day.free_frags.filter(|&frags| frags > 0) {
        let share = percent(day.free_frag_share);
        lines.text("  fragments", format!("{frags} ({share} of free space)"));
    }
    lines.number("runs", day.free_runs, day.control_free_runs, count);
    let longest = day.largest_free_run_bytes;
    lines.number(
        "  the longest",
        longest,
        day.control_largest_free_run_bytes,
        human,
    );
    lines.number(
        "  in runs of 64 KiB or more",
        day.free_bytes_in_64k_runs,
        None,
        human,
    );
    lines.number(
        "  in runs of 1 MiB or more",
        day.free_bytes_in_1m_runs,
        None,
        human,
    );
    for (what, aged, control) in [
        (
            "room for extents of 64 KiB",
            day.placeable_64k,
            day.control_placeable_64k,
        ),
        (
            "room for extents of 1 MiB",
            day.placeable_1m,
            day.control_placeable_1m,
        ),
        (
            "room for extents of 64 MiB",
            day.placeable_64m,
            day.control_placeable_64m,
        ),
    ] {
        lines.number(what, aged, control, count);
    }
    lines.number(
        "room for inodes or chunks of them",
        day.inode_room,
        None,
        count,
    );
}

/// Layout score by file size.
fn print_by_size(out: &mut impl Write, day: &DayRow) -> io::Result<()> {
    if day.layout_scored == 0 {
        return Ok(());
    }
    writeln!(out, "\nLayout score by file size")?;
    for class in day.layout_by_size.iter().filter(|c| c.files > 0) {
        let label = if class.max_bytes == u64::MAX {
            "larger".to_owned()
        } else {
            format!("to {}", human(class.max_bytes))
        };
        let score = LayoutScore {
            optimal: class.optimal,
            scored: class.scored,
        }
        .value();
        let bar = chart::bar(score, 40);
        writeln!(
            out,
            "  {label:>12}  {score:.3} {bar:<40} {:>8} files",
            class.files
        )?;
    }
    Ok(())
}

/// Free space by length of run: the share of free bytes in each class.
fn print_free_runs(out: &mut impl Write, day: &DayRow) -> io::Result<()> {
    let classes = &day.free_by_length;
    let all: u64 = classes
        .iter()
        .fold(0, |sum, class| sum.saturating_add(class.bytes));
    if all == 0 {
        return Ok(());
    }
    writeln!(out, "\nFree space by length of run")?;
    for class in classes.iter().filter(|class| class.runs > 0) {
        let label = match class.min_bytes {
            0 => "shorter".to_owned(),
            bytes => format!("from {}", human(bytes)),
        };
        let share = class.bytes as f64 / all as f64;
        let bar = chart::bar(share, 40);
        writeln!(
            out,
            "  {label:>12}  {share:.3} {bar:<40} {:>8} runs",
            class.runs
        )?;
    }
    Ok(())
}

/// Segments and cleaner of a log, and what they transferred on this day.
fn log(lines: &mut Lines, day: &DayRow) {
    if day.segments.is_none() {
        return;
    }
    lines.section("Log");
    lines.number("segments", day.segments, None, count);
    lines.number("  without data", day.clean_segments, None, count);
    lines.score("live share", day.live_share, None, as_percent);
    lines.number("segments cleaned", day.cleaned_segments, None, count);
    lines.score(
        "  of which was alive",
        day.cleaned_live_share,
        None,
        as_percent,
    );
    lines.number("written, new", day.log_new_bytes, None, human);
    lines.number("  by the cleaner", day.cleaner_written_bytes, None, human);
    lines.number("read by the cleaner", day.cleaner_read_bytes, None, human);
    let digits = |cost: f64| format!("{cost:.2}");
    lines.score("write cost", day.write_cost, None, digits);
    if day.log_ended == Some(1) {
        lines.text("end of the log", "the cleaner cannot progress".to_owned());
    }
}

/// Segments with data by the share of them that is alive.
fn print_segments(out: &mut impl Write, day: &DayRow) -> io::Result<()> {
    let classes = &day.segments_by_live_bytes;
    let all: u64 = classes.iter().map(|class| class.runs).sum();
    if all == 0 {
        return Ok(());
    }
    writeln!(out, "\nSegments with data by live share")?;
    for (i, class) in classes.iter().enumerate() {
        let label = format!("from {} %", i * 100 / classes.len());
        let share = class.runs as f64 / all as f64;
        let bar = chart::bar(share, 40);
        writeln!(
            out,
            "  {label:>12}  {share:.3} {bar:<40} {:>8} segments",
            class.runs
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsage_data::table::RunClass;

    fn shown(day: &DayRow) -> Vec<Vec<String>> {
        let mut out = Vec::new();
        print_layout(&mut out, "ffs", day).expect("memory takes it");
        let text = String::from_utf8(out).expect("text");
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect();
        text.lines().map(words).collect()
    }

    #[test]
    fn a_log_shows_its_segments_and_what_its_cleaner_costs() {
        let class = |min_bytes, runs| RunClass {
            min_bytes,
            runs,
            bytes: 0,
        };
        let day = DayRow {
            segments: Some(8),
            clean_segments: Some(4),
            live_share: Some(0.25),
            segments_by_live_bytes: vec![class(0, 3), class(500, 1)],
            write_cost: Some(4.0),
            log_ended: Some(1),
            ..DayRow::default()
        };
        let lines = shown(&day);
        for line in [
            "segments 8",
            "without data 4",
            "live share 25.0 %",
            "write cost 4.00",
            "end of the log the cleaner cannot progress",
        ] {
            assert!(
                lines.iter().any(|l| l.join(" ") == line),
                "{line}: {lines:?}"
            );
        }
        let half = |l: &&Vec<String>| l.starts_with(&["from".into(), "50".into()]);
        let half = lines.iter().find(half).expect("a line");
        assert_eq!((&*half[3], &*half[half.len() - 2]), ("0.250", "1"));
        let empty = shown(&DayRow::default());
        assert!(!empty.iter().any(|l| l.contains(&"Log".to_owned())));
    }

    #[test]
    fn the_control_and_the_ratio_stand_beside_the_aged_layout() {
        let day = DayRow {
            layout_score: 0.6,
            layout_scored: 10,
            control_layout_score: Some(0.8),
            pieces: 30,
            control_pieces: Some(20),
            adjacency: Some(0.25),
            dynamic_layout_score: Some(0.5),
            free_bytes: Some(4096),
            ..DayRow::default()
        };
        let lines = shown(&day);
        for line in [
            "ffs control ratio",
            "layout score 0.6000 0.8000 0.750",
            "pieces of all files 30 20 1.500",
            "files right behind the one before 25.0 %",
            "free 4.0 KiB",
        ] {
            let words: Vec<&str> = line.split(' ').collect();
            assert!(
                lines.iter().any(|shown| *shown == words),
                "{line}: {lines:?}"
            );
        }
    }

    #[test]
    fn what_is_not_known_is_left_out() {
        let lines = shown(&DayRow::default()).concat().join(" ");
        for absent in [
            "control",
            "ratio",
            "Directory",
            "unwritten",
            "room",
            "inodes",
        ] {
            assert!(!lines.contains(absent), "{absent}: {lines}");
        }
    }
}
