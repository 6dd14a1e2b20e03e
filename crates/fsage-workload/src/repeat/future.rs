//! Futures of a workload: what may come after its last day, as a workload of its own.

use super::again::Again;
use super::course::{Course, Instead};
use super::past::{Level, Past};
use super::{NewIds, RepeatError};
use crate::date::{date_of_day, weekday};
use crate::world::World;
use fsage_core::{Event, EventSink, EventSource, Op, SinkError, WorkloadHeader};
use std::collections::VecDeque;

/// What was learned of a workload: what was done on each day, and what is there at the end.
#[derive(Debug)]
pub struct Learned {
    pub(super) past: Past,
    pub(super) world: World,
    pub(super) ids: NewIds,
}

/// A day of the past.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenDay {
    /// As `2009-03-22`, in UTC.
    pub date: String,
    /// Whether it is a Saturday or a Sunday.
    pub is_weekend: bool,
    /// Space in use at its end, in whole blocks.
    pub used_bytes: u64,
    /// Files and symbolic links at its end, by names.
    pub names: u64,
    /// Operations that are repeated when it is.
    pub operations: u64,
}

impl Learned {
    /// Before the first event. The header tells the epoch (1970 where it does not) and the block size (1 byte where it
    /// does not).
    pub fn new(header: &WorkloadHeader) -> Learned {
        Learned {
            world: World::new(header.block_bytes.unwrap_or(1)),
            past: Past::new(header.epoch_unix_s.unwrap_or(0)),
            ids: NewIds::default(),
        }
    }

    /// Learns an event.
    ///
    /// # Errors
    /// The first events have no times; there are too many files.
    pub fn take(&mut self, event: &Event) -> Result<(), RepeatError> {
        self.ids.see(event);
        let t_ns = self.past.time(event)?;
        match event.op {
            Op::Day => self.past.end_day(t_ns, Level::of(&self.world)),
            ref op => {
                self.past.learn(event, t_ns, &self.world)?;
                if !self.world.apply(op) {
                    self.past.forget_last();
                }
            }
        }
        Ok(())
    }

    /// Ends the past. Operations after its last `day` get a `day` of their own, which is to be added to the workload.
    ///
    /// # Errors
    /// There is no day.
    pub fn end(&mut self) -> Result<Option<Event>, RepeatError> {
        if self.past.days.is_empty() {
            return Err(RepeatError::NoDays);
        }
        Ok(self.past.close_open_day(Level::of(&self.world)))
    }

    /// That futures can be drawn from it: days after the first one.
    ///
    /// # Errors
    /// There are none.
    pub fn has_futures(&self) -> Result<(), RepeatError> {
        let later = self.past.days.iter().skip(1).any(|day| day.counts);
        later.then_some(()).ok_or(RepeatError::OneDay)
    }

    /// The days so far. The first one stands for all that was before it.
    pub fn days(&self) -> Vec<SeenDay> {
        let number = |n: u128| u64::try_from(n).unwrap_or(u64::MAX);
        let days = self.past.days.iter();
        days.map(|day| SeenDay {
            date: date_of_day(day.date),
            is_weekend: matches!(weekday(day.date), 0 | 6),
            used_bytes: number(day.level.used_bytes),
            names: day.level.names,
            operations: day.ops.len() as u64,
        })
        .collect()
    }

    /// The last date, as days since 1970.
    pub fn last_date(&self) -> i64 {
        self.past.days.last().map_or(0, |day| day.date)
    }

    /// The date so many days after the last one, as `2009-03-22`.
    pub fn date_after(&self, days: i64) -> String {
        date_of_day(self.last_date().saturating_add(days))
    }

    /// Draws a future of so many days. All random choices follow from the seed.
    ///
    /// # Errors
    /// There are fewer than two days.
    pub fn future(
        &self,
        seed: u64,
        days: usize,
        instead: Instead,
    ) -> Result<Future<'_>, RepeatError> {
        let course = Course::draw(&self.past, seed, days, instead)?;
        let mut again = Again::new(
            seed,
            &self.past,
            self.world.clone(),
            self.ids.clone(),
            Vec::new(),
        )?;
        again.follow(course);
        Ok(Future {
            again,
            header: WorkloadHeader::default(),
            events: VecDeque::new(),
            next_day: 0,
            days: days as u64,
            until: 0,
        })
    }
}

impl EventSink for Learned {
    fn event(&mut self, event: Event) -> Result<(), SinkError> {
        Ok(self.take(&event)?)
    }
}

/// A future, whose events are made day by day as they are asked for.
pub struct Future<'a> {
    again: Again<'a, Vec<Event>>,
    header: WorkloadHeader,
    events: VecDeque<Event>,
    next_day: u64,
    days: u64,
    until: u64,
}

impl Future<'_> {
    /// Continues it by `days` more, and ends it there until the next call. `false` if none is left.
    pub fn go_on(&mut self, days: u64) -> bool {
        self.until = self.until.saturating_add(days).min(self.days);
        self.next_day < self.until
    }
}

impl EventSource for Future<'_> {
    fn header(&self) -> &WorkloadHeader {
        &self.header
    }

    fn next_event(&mut self) -> Result<Option<Event>, SinkError> {
        while self.events.is_empty() && self.next_day < self.until {
            self.again.day(self.next_day)?;
            self.next_day += 1;
            self.events.extend(self.again.sink.drain(..));
        }
        Ok(self.events.pop_front())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsage_core::{DirId, FileId};

    const DAY_NS: i64 = 86_400_000_000_000;
    const KIB: u64 = 1024;

    /// Each day makes three files of 64 KiB and deletes two of the day before, but every third day deletes none: one
    /// file a day more, and a third day with three.
    fn learned(days: u64) -> Learned {
        let header = WorkloadHeader {
            block_bytes: Some(KIB),
            ..WorkloadHeader::default()
        };
        let mut learned = Learned::new(&header);
        let mut take = |op, t_ns| {
            learned.take(&Event::new(op).at(t_ns)).expect("it fits");
        };
        for day in 0..days {
            let at = day as i64 * DAY_NS;
            let file = |day: u64, n: u64| FileId(1 + day * 3 + n);
            for n in 0..3 {
                let (dir, bytes) = (DirId::ROOT, 64 * KIB);
                take(
                    Op::Create {
                        file: file(day, n),
                        dir,
                        bytes,
                    },
                    at + 1000 + n as i64,
                );
            }
            if day % 3 > 0 {
                for n in 0..2 {
                    take(
                        Op::Delete {
                            file: file(day - 1, n),
                        },
                        at + 2000 + n as i64,
                    );
                }
            }
            take(Op::Day, at + DAY_NS / 2);
        }
        assert_eq!(learned.end().expect("there are days"), None);
        learned
    }

    fn events(mut future: Future<'_>, days: u64) -> Vec<Event> {
        future.go_on(days);
        let mut events = Vec::new();
        while let Some(event) = future.next_event().expect("an event") {
            events.push(event);
        }
        events
    }

    /// Space in use and names after a future, replayed by the rules.
    fn ends_with(learned: &Learned, events: &[Event]) -> (u64, u64) {
        let mut world = learned.world.clone();
        for event in events {
            assert!(
                event.op == Op::Day || world.apply(&event.op),
                "{event:?} does not fit"
            );
        }
        (world.used_bytes as u64, world.live_names())
    }

    /// Of 60 days 59 are seen, which hold 20 times three files more and 39 times one: 1.678 files a day, give or take.
    #[test]
    fn growth_goes_on_as_it_was_and_is_unsure() {
        let learned = learned(60);
        let start = learned.days()[59].used_bytes;
        let grown: Vec<f64> = (0..40)
            .map(|seed| {
                let future = learned
                    .future(seed, 50, Instead::Nothing)
                    .expect("a future");
                let (used, _) = ends_with(&learned, &events(future, 50));
                (used - start) as f64 / 50.0 / (64.0 * KIB as f64)
            })
            .collect();
        let mean = grown.iter().sum::<f64>() / 40.0;
        assert!((mean - 1.67).abs() < 0.1, "{mean}: {grown:?}");
        let spread = grown.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / 39.0;
        assert!(spread > 1e-4, "{grown:?}");
    }

    #[test]
    fn a_seed_is_a_future_and_days_come_as_they_are_asked_for() {
        let learned = learned(60);
        let future = |seed| {
            learned
                .future(seed, 30, Instead::Nothing)
                .expect("a future")
        };
        let all = events(future(7), 30);
        assert_eq!(all, events(future(7), 99));
        assert_ne!(all, events(future(8), 30));
        let mut parts = future(7);
        let mut joined = Vec::new();
        while parts.go_on(4) {
            while let Some(event) = parts.next_event().expect("an event") {
                joined.push(event);
            }
        }
        assert_eq!(all, joined);
        assert_eq!(all.iter().filter(|event| event.op == Op::Day).count(), 30);
        let last = all.last().and_then(|event| event.name.as_deref());
        assert_eq!(
            last.map(<[u8]>::to_vec),
            Some(learned.date_after(30).into_bytes())
        );
    }

    #[test]
    fn other_futures_leave_out_what_they_say() {
        let learned = learned(60);
        let start = learned.days()[59].used_bytes;
        let of = |instead| events(learned.future(1, 40, instead).expect("a future"), 40);
        let (used, _) = ends_with(&learned, &of(Instead::NoGrowth));
        assert!(
            used.abs_diff(start) <= 4 * 64 * KIB,
            "{used} and not {start}"
        );
        let work = |events: &[Event]| events.iter().filter(|event| event.op != Op::Day).count();
        let (all, half) = (of(Instead::Nothing), of(Instead::HalfChurn));
        assert!(
            work(&half) * 10 < work(&all) * 9,
            "{} of {}",
            work(&half),
            work(&all)
        );
        let grown = |events: &[Event]| ends_with(&learned, events).0 - start;
        assert!(grown(&half).abs_diff(grown(&all)) < 3 * 64 * KIB);
    }

    #[test]
    fn a_day_alone_has_no_future() {
        let found = learned(1)
            .future(1, 1, Instead::Nothing)
            .err()
            .map(|error| error.to_string());
        assert!(found.is_some_and(|text| text.contains("expected two days or more")));
    }
}
