//! A workload that somebody watches as it goes by.

use fsage_core::{Event, EventSource, SinkError, WorkloadHeader};

/// A workload whose events are shown to `observe` before they are replayed.
pub(crate) struct Watched<'a, F> {
    /// The workload.
    pub source: &'a mut dyn EventSource,
    /// Who watches.
    pub observe: F,
}

impl<F: FnMut(&Event) + Send> EventSource for Watched<'_, F> {
    fn header(&self) -> &WorkloadHeader {
        self.source.header()
    }

    fn next_event(&mut self) -> Result<Option<Event>, SinkError> {
        let event = self.source.next_event()?;
        if let Some(event) = &event {
            (self.observe)(event);
        }
        Ok(event)
    }

    fn progress(&self) -> Option<(u64, u64)> {
        self.source.progress()
    }
}
