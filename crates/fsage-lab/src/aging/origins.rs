//! Where the operations of a workload come from, counted as it goes by.

use crate::run_folder::Origins;
use fsage_core::{Event, EventSource, Op, Origin, SinkError, TQuality, WorkloadHeader};
use std::collections::BTreeMap;

/// A workload whose operations are counted.
pub struct Counted<'a> {
    source: &'a mut dyn EventSource,
    counts: BTreeMap<(Option<Origin>, Option<TQuality>), u64>,
    is_empty: bool,
}

impl<'a> Counted<'a> {
    /// Counts from here on.
    pub fn new(source: &'a mut dyn EventSource) -> Counted<'a> {
        Counted {
            source,
            counts: BTreeMap::new(),
            is_empty: true,
        }
    }

    /// Whether nothing came, not even the end of a day.
    pub fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// What was counted: in the order of the formats, first what says nothing.
    pub fn origins(&self) -> Vec<Origins> {
        let counts = self.counts.iter();
        counts
            .map(|(&(origin, quality), &operations)| Origins {
                origin: origin.map(|origin| origin.as_str().to_owned()),
                t_quality: quality.map(|quality| quality.as_str().to_owned()),
                operations,
            })
            .collect()
    }
}

impl EventSource for Counted<'_> {
    fn header(&self) -> &WorkloadHeader {
        self.source.header()
    }

    fn next_event(&mut self) -> Result<Option<Event>, SinkError> {
        let event = self.source.next_event()?;
        self.is_empty &= event.is_none();
        // Neither the end of a day nor a question to a model is an operation.
        let operation = |event: &&Event| event.op != Op::Day && !event.op.verb().is_probe();
        if let Some(event) = event.as_ref().filter(operation) {
            *self
                .counts
                .entry((event.origin, event.t_quality))
                .or_default() += 1;
        }
        Ok(event)
    }

    fn progress(&self) -> Option<(u64, u64)> {
        self.source.progress()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsage_core::{DirId, EventsInMemory};

    #[test]
    fn operations_are_counted_and_days_are_not() {
        let make = |dir| {
            Event::new(Op::Mkdir {
                dir: DirId(dir),
                parent: None,
            })
        };
        let events = vec![
            make(1).from_source(Origin::Trace, TQuality::Exact),
            make(2).from_source(Origin::Trace, TQuality::Exact),
            make(3).from_source(Origin::Trace, TQuality::Random),
            make(4),
            Event::new(Op::Day).from_source(Origin::Trace, TQuality::Exact),
        ];
        let mut source = EventsInMemory::new(events);
        let mut counted = Counted::new(&mut source);
        assert!(counted.is_empty());
        while counted.next_event().expect("memory").is_some() {}
        assert!(!counted.is_empty());
        let counts: Vec<_> = counted
            .origins()
            .into_iter()
            .map(|o| (o.origin, o.t_quality, o.operations))
            .collect();
        let words =
            |origin: &str, quality: &str| (Some(origin.to_owned()), Some(quality.to_owned()));
        let (exact, random) = (words("trace", "exact"), words("trace", "random"));
        let expected = [
            (None, None, 1),
            (exact.0, exact.1, 2),
            (random.0, random.1, 1),
        ];
        assert_eq!(counts, expected);
    }
}
