//! A workload that somebody watches as it goes by.

use fsage_core::{Event, EventSource, Op, SinkError, WorkloadHeader};

/// A workload whose events are shown to `observe` before they are replayed.
pub(crate) struct Watched<'a, F> {
    /// The workload.
    pub source: &'a mut dyn EventSource,
    /// Who watches.
    pub observe: F,
    /// It ends when so many days are over; none for its own end.
    pub days: Option<u64>,
}

impl<F: FnMut(&Event) + Send> EventSource for Watched<'_, F> {
    fn header(&self) -> &WorkloadHeader {
        self.source.header()
    }

    fn next_event(&mut self) -> Result<Option<Event>, SinkError> {
        if self.days == Some(0) {
            return Ok(None);
        }
        let event = self.source.next_event()?;
        if let Some(event) = &event {
            (self.observe)(event);
            if event.op == Op::Day {
                self.days = self.days.map(|days| days - 1);
            }
        }
        Ok(event)
    }

    fn progress(&self) -> Option<(u64, u64)> {
        self.source.progress()
    }
}
