//! Puts `day` events between the operations.

use super::{ClonesError, ClonesSummary, Shift};
use crate::date::DAY_NS;
use fsage_core::{Event, EventSink, Op};

/// Writes what comes, and its days.
pub(super) struct Days<'a> {
    epoch_ns: i128,
    /// Days are counted anew; else they come from the first copy.
    anew: bool,
    sink: &'a mut dyn EventSink,
    /// Day since 1970 of the first operation, and of the last.
    span: Option<(i64, i64)>,
    t_ns: i64,
    summary: ClonesSummary,
}

impl<'a> Days<'a> {
    pub fn new(epoch_s: i64, shift: Shift, sink: &'a mut dyn EventSink) -> Days<'a> {
        Days {
            epoch_ns: i128::from(epoch_s) * 1_000_000_000,
            anew: shift != Shift::WithinDay,
            sink,
            span: None,
            t_ns: 0,
            summary: ClonesSummary::default(),
        }
    }

    /// `t_ns` orders the event and must not go down; the event may have an earlier time of its own.
    pub fn event(&mut self, t_ns: i64, mut event: Event) -> Result<(), ClonesError> {
        let day = (self.epoch_ns + i128::from(t_ns)).div_euclid(i128::from(DAY_NS)) as i64;
        match self.span {
            None => self.span = Some((day, day)),
            Some((_, last)) if last == day => {}
            Some((first, _)) => {
                if self.anew {
                    self.end_day()?;
                }
                self.span = Some((first, day));
            }
        }
        self.t_ns = t_ns;
        event.t_ns.get_or_insert(t_ns);
        if event.op == Op::Day {
            self.summary.days_with_operations += 1;
        } else {
            self.summary.operations += 1;
        }
        self.sink.event(event).map_err(ClonesError::Sink)
    }

    fn end_day(&mut self) -> Result<(), ClonesError> {
        let Some((first, last)) = self.span else {
            return Ok(());
        };
        self.summary.days_with_operations += 1;
        let event = Event::day(&(last - first).to_string()).at(self.t_ns);
        self.sink.event(event).map_err(ClonesError::Sink)
    }

    pub fn finish(mut self) -> Result<ClonesSummary, ClonesError> {
        if self.anew {
            self.end_day()?;
        }
        if let Some((first, last)) = self.span {
            self.summary.days = (last - first) as u64 + 1;
        }
        Ok(self.summary)
    }
}
