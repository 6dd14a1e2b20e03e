//! What a workload consists of: what is exact in it, and what is guessed.

use crate::summary;
use fsage_core::{Event, EventSink, Op, Origin, SinkError, TQuality, Verb};
use indicatif::ProgressBar;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Operations, and the bytes they write.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    operations: u64,
    bytes: u64,
}

impl Count {
    fn add(&mut self, bytes: u64) {
        self.operations += 1;
        self.bytes += bytes;
    }
}

/// Counts of a workload by operation, origin and quality of the times. `day` is not counted.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    all: Count,
    verbs: BTreeMap<Verb, Count>,
    origins: BTreeMap<Option<Origin>, Count>,
    qualities: BTreeMap<Option<TQuality>, Count>,
}

impl Tally {
    fn add(&mut self, event: &Event) {
        let bytes = event.op.bytes_written();
        self.all.add(bytes);
        self.verbs.entry(event.op.verb()).or_default().add(bytes);
        self.origins.entry(event.origin).or_default().add(bytes);
        self.qualities
            .entry(event.t_quality)
            .or_default()
            .add(bytes);
    }

    /// Kind, name and count, all operations first.
    fn rows(&self) -> impl Iterator<Item = (&'static str, &'static str, Count)> {
        let verbs = self
            .verbs
            .iter()
            .map(|(v, &c)| ("operation", v.as_str(), c));
        let origins = self.origins.iter().map(|(o, &c)| {
            let name = o.map_or("unknown", Origin::as_str);
            ("origin", name, c)
        });
        let qualities = self.qualities.iter().map(|(q, &c)| {
            let name = q.map_or("unknown", TQuality::as_str);
            ("time", name, c)
        });
        std::iter::once(("all", "", self.all))
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
                count.operations.to_string(),
                share(count.operations, self.all.operations),
                count.bytes.to_string(),
                share(count.bytes, self.all.bytes),
            ]);
        }
        writeln!(out, "{table}")
    }

    /// The same as JSON.
    pub fn json(&self) -> Value {
        let mut all = Map::new();
        for (kind, name, count) in self.rows() {
            let value = json!({ "operations": count.operations, "bytes": count.bytes });
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
        if event.op != Op::Day {
            self.tally.add(&event);
            let done = self.tally.all.operations;
            if let Some(bar) = self.bar.filter(|_| done.is_multiple_of(STEP)) {
                bar.set_position(done);
            }
        }
        self.sink.event(event)
    }
}
