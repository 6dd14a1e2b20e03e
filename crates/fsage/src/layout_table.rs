//! One layout in full: a table by sections, with the unaged control beside it where there is one.

use crate::summary::{number, percent, table};
use fsage_core::size::human;
use fsage_lab::days::{DayRow, ratio};
use fsage_metrics::{LayoutScore, Metric, Section};
use fsage_metrics::{directory_order, files, free_space, layout_score, log, pieces, split_files};
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
    if let Some(sentence) = day.in_a_sentence() {
        writeln!(out, "{name}: {sentence}\n")?;
    }
    lines.print(out, name)?;
    print_by_size(out, day)?;
    print_free_runs(out, day)?;
    print_segments(out, day)
}

/// The lines of the table: what, aged, control, ratio. The lines of most metrics stand where they are read best; those
/// that have no place of their own stand at the end of their section.
#[derive(Default)]
struct Lines {
    lines: Vec<[String; 4]>,
    placed: Vec<&'static str>,
}

impl Lines {
    fn section(&mut self, title: &str) {
        if !self.lines.is_empty() {
            self.lines.push(<[String; 4]>::default());
        }
        let mut line = <[String; 4]>::default();
        title.clone_into(&mut line[0]);
        self.lines.push(line);
    }

    fn text(&mut self, what: &str, value: String) {
        self.lines
            .push([format!("  {what}"), value, String::new(), String::new()]);
    }

    /// A metric with its control and their ratio; nothing where it is not known.
    fn metric(&mut self, day: &DayRow, metric: &'static Metric, what: &str) {
        self.placed.push(metric.id);
        let Some(value) = day.value(metric) else {
            return;
        };
        let control = day.of_control(metric);
        let times = control.and_then(|control| ratio(value, control));
        self.lines.push([
            format!("  {what}"),
            number(metric.unit, value),
            control.map_or_else(String::new, |control| number(metric.unit, control)),
            times.map_or_else(String::new, |times| format!("{times:.3}")),
        ]);
    }

    /// The same; nothing where it is 0.
    fn if_any(&mut self, day: &DayRow, metric: &'static Metric, what: &str) {
        if day.value(metric).is_some_and(|value| value > 0.0) {
            self.metric(day, metric, what);
        } else {
            self.left_out(&[metric]);
        }
    }

    /// Metrics that have no line of their own.
    fn left_out(&mut self, metrics: &[&'static Metric]) {
        self.placed.extend(metrics.iter().map(|metric| metric.id));
    }

    /// The metrics of a section that have no place yet.
    fn others(&mut self, day: &DayRow, section: Section) {
        for metric in section.metrics() {
            if !self.placed.contains(&metric.id) {
                self.metric(day, metric, metric.title);
            }
        }
    }

    fn print(self, out: &mut impl Write, name: &str) -> io::Result<()> {
        let controlled = self.lines.iter().any(|line| !line[2].is_empty());
        let header = ["", name, "control", "ratio"];
        let columns = if controlled { 4 } else { 2 };
        let mut table = table(&header[..columns]);
        for line in self.lines {
            table.add_row(line.into_iter().take(columns));
        }
        writeln!(out, "{}", table.trim_fmt())
    }
}

fn files(lines: &mut Lines, day: &DayRow) {
    lines.section(Section::Files.title());
    for (metric, what) in [
        (&files::FILES, "files"),
        (&files::DIRECTORIES, "directories"),
        (&files::FILE_BYTES, "bytes in files"),
        (&files::LIVE_BYTES, "bytes their data need"),
    ] {
        lines.metric(day, metric, what);
    }
    if let Some(bytes) = day.planned_bytes {
        lines.text("bytes the plan wanted", human(bytes));
    }
    lines.metric(day, &files::UTILIZATION, "utilization");
    lines.if_any(day, &pieces::INLINE_FILES, "inline files");
    if let Some(bytes) = day.count(&pieces::UNWRITTEN_BYTES).filter(|&n| n > 0) {
        let share = percent(day.value(&pieces::UNWRITTEN_SHARE));
        let value = format!("{} ({share})", human(bytes));
        lines.text("allocated, never written", value);
    }
    lines.left_out(&[&pieces::UNWRITTEN_BYTES, &pieces::UNWRITTEN_SHARE]);
    lines.if_any(day, &pieces::BEYOND_END_BYTES, "allocated behind the end");
    lines.others(day, Section::Files);
}

fn layout(lines: &mut Lines, day: &DayRow) {
    lines.section(Section::Layout.title());
    lines.metric(day, &layout_score::SCORE, "layout score");
    let [optimal, scored] = [&layout_score::OPTIMAL, &layout_score::SCORED]
        .map(|metric| day.count(metric).unwrap_or_default());
    let optimal = format!("{optimal} of {scored}");
    lines.text("  optimal blocks of those scored", optimal);
    lines.left_out(&[&layout_score::OPTIMAL, &layout_score::SCORED]);
    for (metric, what) in [
        (&layout_score::SCORED_FILES, "files of two blocks or more"),
        (&pieces::FRAGMENTED_FILES, "files in more than one piece"),
        (&pieces::PIECES, "pieces of all files"),
        (&pieces::PER_FILE, "  per file with data"),
    ] {
        lines.metric(day, metric, what);
    }
    // Where there are no groups no file is split.
    if day.has_groups() {
        lines.metric(day, &split_files::SPLIT, "split files");
        let [one, ten] = [&split_files::DISTANCE_1, &split_files::DISTANCE_BELOW_10]
            .map(|metric| day.count(metric).unwrap_or_default());
        let near = format!("{one}, {ten}");
        lines.text("  of these one group away, under ten", near);
    }
    lines.left_out(split_files::METRICS);
    lines.others(day, Section::Layout);
}

fn directory_order(lines: &mut Lines, day: &DayRow) {
    let known = |metric: &&Metric| day.value(metric).is_some();
    if !directory_order::METRICS.iter().any(known) {
        return;
    }
    lines.section(Section::DirectoryOrder.title());
    for (metric, what) in [
        (
            &directory_order::DYNAMIC,
            "dynamic layout score (approximated)",
        ),
        (
            &directory_order::ADJACENCY,
            "files right behind the one before",
        ),
        (
            &directory_order::NEXT_FILE_BYTES,
            "median distance to the next file",
        ),
        (
            &directory_order::LOCALITY,
            "files in their directory's main group",
        ),
    ] {
        lines.metric(day, metric, what);
    }
    lines.others(day, Section::DirectoryOrder);
}

fn free_space(lines: &mut Lines, day: &DayRow) {
    lines.section(Section::FreeSpace.title());
    if day.value(&free_space::BYTES).is_none() {
        lines.text("free", "-".to_owned());
        return;
    }
    lines.metric(day, &free_space::BYTES, "free");
    lines.metric(day, &free_space::BLOCKS, "  whole blocks");
    if let Some(frags) = day.count(&free_space::FRAGS).filter(|&frags| frags > 0) {
        let share = percent(day.value(&free_space::FRAG_SHARE));
        lines.text("  fragments", format!("{frags} ({share} of free space)"));
    }
    lines.left_out(&[&free_space::FRAGS, &free_space::FRAG_SHARE]);
    for (metric, what) in [
        (&free_space::RUNS, "runs"),
        (&free_space::LARGEST_RUN_BYTES, "  the longest"),
        (
            &free_space::BYTES_IN_64K_RUNS,
            "  in runs of 64 KiB or more",
        ),
        (&free_space::BYTES_IN_1M_RUNS, "  in runs of 1 MiB or more"),
    ] {
        lines.metric(day, metric, what);
    }
    lines.others(day, Section::FreeSpace);
}

/// Layout score by file size.
fn print_by_size(out: &mut impl Write, day: &DayRow) -> io::Result<()> {
    if day.score().is_none() {
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
    if day.value(&log::SEGMENTS).is_none() {
        return;
    }
    lines.section(Section::Log.title());
    for (metric, what) in [
        (&log::SEGMENTS, "segments"),
        (&log::CLEAN_SEGMENTS, "  without data"),
        (&log::LIVE_SHARE, "live share"),
        (&log::CLEANED_SEGMENTS, "segments cleaned"),
        (&log::CLEANED_LIVE_SHARE, "  of which was alive"),
        (&log::NEW_BYTES, "written, new"),
        (&log::CLEANER_WRITTEN_BYTES, "  by the cleaner"),
        (&log::CLEANER_READ_BYTES, "read by the cleaner"),
        (&log::WRITE_COST, "write cost"),
    ] {
        lines.metric(day, metric, what);
    }
    if day.count(&log::ENDED) == Some(1) {
        lines.text("end of the log", "the cleaner cannot progress".to_owned());
    }
    lines.left_out(&[&log::ENDED]);
    lines.others(day, Section::Log);
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
            segments_by_live_bytes: vec![class(0, 3), class(500, 1)],
            ..DayRow::default()
        }
        .with(&log::SEGMENTS, 8)
        .with(&log::CLEAN_SEGMENTS, 4)
        .with(&log::LIVE_SHARE, 0.25)
        .with(&log::WRITE_COST, 4.0)
        .with(&log::ENDED, 1);
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
        let day = DayRow::default()
            .with(&layout_score::SCORE, 0.6)
            .with(&layout_score::SCORED, 10)
            .with_control(&layout_score::SCORE, 0.8)
            .with(&pieces::PIECES, 30)
            .with_control(&pieces::PIECES, 20)
            .with(&directory_order::ADJACENCY, 0.25)
            .with(&directory_order::DYNAMIC, 0.5)
            .with(&free_space::BYTES, 4096);
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
