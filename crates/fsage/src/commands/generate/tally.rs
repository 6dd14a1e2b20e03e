//! What a workload consists of: what is exact in it, and what is guessed.

use crate::summary;
use fsage_core::{Event, EventSink, Origin, SinkError, TQuality, Verb};
use fsage_data::{Share, WorkloadSummary};
use indicatif::ProgressBar;
use serde_json::{Map, Value, json};
use std::io::{self, Write};

/// Counts of a workload by operation, origin and quality of the times. `day` is not counted.
#[derive(Clone, Debug, Default)]
pub struct Tally(WorkloadSummary);

impl Tally {
    /// Kind, name and count, all operations first.
    fn rows(&self) -> impl Iterator<Item = (&'static str, &'static str, Share)> {
        let verbs = self.0.verbs().filter(|(verb, _)| *verb != Verb::Day);
        let verbs = verbs.map(|(verb, share)| ("operation", verb.as_str(), share));
        let origins = self.0.origins().map(|(origin, share)| {
            let name = origin.map_or("unknown", Origin::as_str);
            ("origin", name, share)
        });
        let qualities = self.0.qualities().map(|(quality, share)| {
            let name = quality.map_or("unknown", TQuality::as_str);
            ("time", name, share)
        });
        std::iter::once(("all", "", self.0.total))
            .chain(verbs)
            .chain(origins)
            .chain(qualities)
    }

    /// As a table with shares.
    pub fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let share = |part: u64, all: u64| {
            if all == 0 {
                return String::new();
            }
            format!("{:.1} %", part as f64 * 100.0 / all as f64)
        };
        let mut table = summary::table(&["", "operations", "", "bytes written", ""]);
        for (kind, name, count) in self.rows() {
            table.add_row([
                format!("{kind} {name}").trim_end().to_owned(),
                count.ops.to_string(),
                share(count.ops, self.0.total.ops),
                count.bytes.to_string(),
                share(count.bytes, self.0.total.bytes),
            ]);
        }
        writeln!(out, "{table}")
    }

    /// The same as JSON.
    pub fn json(&self) -> Value {
        let mut all = Map::new();
        for (kind, name, count) in self.rows() {
            let value = json!({ "operations": count.ops, "bytes": count.bytes });
            if name.is_empty() {
                all.insert(kind.into(), value);
            } else {
                all.entry(kind).or_insert_with(|| json!({}))[name] = value;
            }
        }
        Value::Object(all)
    }
}

/// A sink that counts what goes through it and shows how far it is.
pub struct Counted<'a> {
    sink: &'a mut dyn EventSink,
    bar: Option<&'a ProgressBar>,
    /// What went through.
    pub tally: Tally,
}

impl<'a> Counted<'a> {
    /// Counts before `sink`.
    pub fn new(sink: &'a mut dyn EventSink, bar: Option<&'a ProgressBar>) -> Counted<'a> {
        Counted {
            sink,
            bar,
            tally: Tally::default(),
        }
    }
}

impl EventSink for Counted<'_> {
    fn event(&mut self, event: Event) -> Result<(), SinkError> {
        const STEP: u64 = 4096;
        crate::ui::go_on()?;
        self.tally.0.add(&event);
        let done = self.tally.0.total.ops;
        if let Some(bar) = self.bar.filter(|_| done.is_multiple_of(STEP)) {
            bar.set_position(done);
        }
        self.sink.event(event)
    }
}
