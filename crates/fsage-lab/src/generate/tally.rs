//! What a workload consists of: what is exact in it, and what is guessed.

use crate::watch::Progress;
use fsage_core::{Event, EventSink, Origin, SinkError, TQuality, Verb};
use fsage_data::{Share, WorkloadSummary};
use serde_json::{Map, Value, json};

/// Counts of a workload by operation, origin and quality of the times. `day` is not counted.
#[derive(Clone, Debug, Default)]
pub struct Tally(WorkloadSummary);

impl Tally {
    /// All operations.
    pub fn total(&self) -> Share {
        self.0.total
    }

    /// Kind, name and count, all operations first.
    pub fn rows(&self) -> impl Iterator<Item = (&'static str, &'static str, Share)> {
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

    /// The same as JSON.
    pub fn to_json(&self) -> Value {
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
    bar: Option<&'a dyn Progress>,
    /// What went through.
    pub tally: Tally,
}

impl<'a> Counted<'a> {
    /// Counts before `sink`.
    pub fn new(sink: &'a mut dyn EventSink, bar: Option<&'a dyn Progress>) -> Counted<'a> {
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
        crate::interrupt::go_on()?;
        self.tally.0.add(&event);
        let done = self.tally.0.total.ops;
        if let Some(bar) = self.bar.filter(|_| done.is_multiple_of(STEP)) {
            bar.set_position(done);
        }
        self.sink.event(event)
    }
}
