//! A workload in numbers.

use super::for_each_event;
use crate::summary::{print_json, table};
use crate::ui::{self, Ui};
use fsage_core::size::human;
use fsage_core::{Origin, TQuality, WorkloadHeader};
use fsage_data::{Histogram, Share, WorkloadSummary, open_workload};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::path::Path;

const PERCENTS: [u8; 5] = [10, 25, 50, 75, 90];

/// Reads the workload and prints its numbers.
pub fn run(path: &Path, as_json: bool, ui: Ui) -> anyhow::Result<()> {
    let mut source = open_workload(path)?;
    let header = source.header().clone();
    let mut summary = WorkloadSummary::default();
    for_each_event(source.as_mut(), ui, "reading", |event| {
        summary.add(event);
        Ok(())
    })?;
    let mut out = ui::stdout();
    if as_json {
        print_json(&mut out, &to_json(path, &header, &summary))?;
    } else {
        print(&mut out, path, &header, &summary)?;
    }
    Ok(out.flush()?)
}

fn print(
    out: &mut impl Write,
    path: &Path,
    header: &WorkloadHeader,
    s: &WorkloadSummary,
) -> io::Result<()> {
    writeln!(out, "{}: a workload", path.display())?;
    print_facts(out, header, s)?;
    writeln!(out)?;
    let mut verbs = table(&["operation", "count", "bytes written"]);
    for (verb, share) in s.verbs() {
        let bytes = (share.bytes > 0).then(|| share.bytes.to_string());
        verbs.add_row([
            verb.to_string(),
            share.ops.to_string(),
            bytes.unwrap_or_default(),
        ]);
    }
    writeln!(out, "{verbs}")?;
    writeln!(out)?;
    print_shares(out, s)?;
    writeln!(out)?;
    let mut header = vec!["", "files", "mean"];
    header.extend(["p10", "p25", "p50", "p75", "p90", "p99", "largest"]);
    let mut spread = table(&header);
    spread.add_row(spread_row("bytes of a new file", &s.sizes, |n| {
        n.to_string()
    }));
    spread.add_row(spread_row("life, in seconds", &s.lives_ns, seconds));
    spread.add_row(spread_row("life, in operations", &s.lives_ops, |n| {
        n.to_string()
    }));
    writeln!(out, "{spread}")
}

fn print_facts(
    out: &mut impl Write,
    header: &WorkloadHeader,
    s: &WorkloadSummary,
) -> io::Result<()> {
    let mut fact = |name: &str, value: String| writeln!(out, "  {name:18} {value}");
    let all = s.total;
    fact("operations", all.ops.to_string())?;
    fact(
        "bytes written",
        format!("{} ({})", all.bytes, human(all.bytes)),
    )?;
    fact("days", s.days().to_string())?;
    let live = |files: u64, bytes: u64| format!("{files} files, {bytes} bytes ({})", human(bytes));
    fact("alive at the end", live(s.live_files, s.live_bytes))?;
    fact("alive at most", live(s.live_files_most, s.live_bytes_most))?;
    match s.time_range {
        None => fact("times", "unknown".to_owned())?,
        Some((low, high)) => {
            let days = (i128::from(high) - i128::from(low)) as f64 / 86400e9;
            let (low, high) = (low as f64 / 1e9, high as f64 / 1e9);
            fact(
                "times",
                format!("{low:.0} s to {high:.0} s: {days:.1} days"),
            )?;
            fact("times that go down", s.times_down.to_string())?;
            if s.times_unknown > 0 {
                fact("times unknown", s.times_unknown.to_string())?;
            }
        }
    }
    if s.unknown_files > 0 {
        fact(
            "files not alive",
            format!("named by {} operations", s.unknown_files),
        )?;
    }
    for (key, value) in facts_of(header) {
        fact(key, value)?;
    }
    Ok(())
}

/// What the header says, in the words of the text form.
fn facts_of(header: &WorkloadHeader) -> impl Iterator<Item = (&str, String)> {
    let known = [
        (
            "epoch",
            header.epoch_unix_s.map(|n| format!("{n} (Unix time of 0)")),
        ),
        ("capacity", header.capacity_bytes.map(human)),
        ("block", header.block_bytes.map(|n| format!("{n} bytes"))),
        ("groups", header.group_count.map(|n| n.to_string())),
        (
            "inodes-per-group",
            header.inodes_per_group.map(|n| n.to_string()),
        ),
        ("first-ino", header.first_ino.map(|n| n.to_string())),
        ("generator", header.generator.clone()),
        ("seed", header.seed.map(|n| n.to_string())),
        ("source", header.source.clone()),
    ];
    let known = known
        .into_iter()
        .filter_map(|(key, value)| Some((key, value?)));
    known.chain(
        header
            .other
            .iter()
            .map(|(key, value)| (key.as_str(), value.clone())),
    )
}

fn print_shares(out: &mut impl Write, s: &WorkloadSummary) -> io::Result<()> {
    let mut shares = table(&["where from, how exact", "operations", "%", "bytes", "%"]);
    let mut add = |what: String, share: Share| {
        let percent = |part: u64, all: u64| {
            (all > 0).then(|| format!("{:.1}", 100.0 * part as f64 / all as f64))
        };
        shares.add_row([
            what,
            share.ops.to_string(),
            percent(share.ops, s.total.ops).unwrap_or_default(),
            share.bytes.to_string(),
            percent(share.bytes, s.total.bytes).unwrap_or_default(),
        ]);
    };
    for (origin, share) in s.origins() {
        add(format!("origin {}", origin_word(origin)), share);
    }
    for (quality, share) in s.qualities() {
        add(format!("time {}", quality_word(quality)), share);
    }
    writeln!(out, "{shares}")
}

fn origin_word(origin: Option<Origin>) -> &'static str {
    origin.map_or("not given", Origin::as_str)
}

fn quality_word(quality: Option<TQuality>) -> &'static str {
    quality.map_or("not given", TQuality::as_str)
}

fn spread_row(name: &str, values: &Histogram, show: impl Fn(u64) -> String) -> Vec<String> {
    let mut row = vec![name.to_owned(), values.count().to_string()];
    row.push(
        values
            .mean()
            .map(|mean| show(mean.round() as u64))
            .unwrap_or_default(),
    );
    let percents = PERCENTS.into_iter().chain([99, 100]);
    row.extend(percents.map(|p| values.percentile(p).map(&show).unwrap_or_default()));
    row
}

fn seconds(ns: u64) -> String {
    let seconds = ns as f64 / 1e9;
    let decimals = if ns == 0 || seconds >= 1000.0 { 0 } else { 3 };
    format!("{seconds:.decimals$}")
}

fn to_json(path: &Path, header: &WorkloadHeader, s: &WorkloadSummary) -> Value {
    let share = |share: Share| json!({ "operations": share.ops, "bytes": share.bytes });
    let words = |words: Vec<(&str, Share)>| -> Value {
        words
            .into_iter()
            .map(|(word, s)| (word.to_owned(), share(s)))
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    let seconds = |ns: i64| ns as f64 / 1e9;
    let other: Vec<_> = header
        .other
        .iter()
        .map(|(key, value)| json!([key, value]))
        .collect();
    json!({
        "file": path.display().to_string(),
        "kind": "workload",
        "header": {
            "epoch_unix_s": header.epoch_unix_s,
            "capacity_bytes": header.capacity_bytes,
            "block_bytes": header.block_bytes,
            "group_count": header.group_count,
            "inodes_per_group": header.inodes_per_group,
            "first_ino": header.first_ino,
            "generator": header.generator,
            "seed": header.seed,
            "source": header.source,
            "other": other,
        },
        "operations": s.total.ops,
        "bytes_written": s.total.bytes,
        "days": s.days(),
        "live_files": s.live_files,
        "live_bytes": s.live_bytes,
        "live_files_most": s.live_files_most,
        "live_bytes_most": s.live_bytes_most,
        "time_first_s": s.times.map(|t| seconds(t.0)),
        "time_last_s": s.times.map(|t| seconds(t.1)),
        "time_min_s": s.time_range.map(|t| seconds(t.0)),
        "time_max_s": s.time_range.map(|t| seconds(t.1)),
        "times_down": s.times_down,
        "times_unknown": s.times_unknown,
        "files_not_alive": s.unknown_files,
        "by_operation": words(s.verbs().map(|(verb, s)| (verb.as_str(), s)).collect()),
        "by_origin": words(s.origins().map(|(o, s)| (o.map_or("none", Origin::as_str), s)).collect()),
        "by_t_quality": words(
            s.qualities().map(|(q, s)| (q.map_or("none", TQuality::as_str), s)).collect()
        ),
        "size_bytes": spread_json(&s.sizes, |n| json!(n)),
        "life_s": spread_json(&s.lives_ns, |ns| json!(ns as f64 / 1e9)),
        "life_operations": spread_json(&s.lives_ops, |n| json!(n)),
    })
}

/// Percentiles of a histogram are within 0.4 %.
fn spread_json(values: &Histogram, show: impl Fn(u64) -> Value) -> Value {
    let mut object = serde_json::Map::new();
    object.insert("count".to_owned(), json!(values.count()));
    let unit = show(1).as_f64().unwrap_or(1.0);
    object.insert(
        "mean".to_owned(),
        json!(values.mean().map(|mean| mean * unit)),
    );
    for percent in PERCENTS.into_iter().chain([99]) {
        object.insert(
            format!("p{percent}"),
            json!(values.percentile(percent).map(&show)),
        );
    }
    object.insert("max".to_owned(), json!(values.percentile(100).map(&show)));
    object.into()
}
