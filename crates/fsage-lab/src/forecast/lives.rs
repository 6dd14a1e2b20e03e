//! Lives: what becomes of a file system in one future after another.

use super::limits::Limit;
use super::past::{Past, UntilMark};
use super::room::Kept;
use super::state::{Renamed, Same, snapshot_of};
use crate::aging;
use crate::days::{self, DayRow};
use crate::error::{self, Context, bail};
use crate::interrupt;
use crate::watch::{Progress, Watch};
use fsage_core::{Event, EventSink, EventSource, Geometry};
use fsage_durable::TemporaryFolder;
use fsage_real::Place;
use fsage_target::{Aging, Day, ReplayError, Target, TargetSpec, replay};
use fsage_workload::repeat::{Future, Instead};
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Days of a life between two looks at whether it may end.
const AT_A_TIME: u64 = 28;
const DAY_NS: i128 = 86_400_000_000_000;

/// The values of all limits at the end of a day.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LifeDay {
    /// Days since the last one of the past; 0 and below are the past.
    pub day: i64,
    /// As `2009-03-22`.
    pub date: String,
    /// In the order of the limits; `None` where it is not known.
    pub values: Vec<Option<f64>>,
}

/// A target on which the past has been lived.
pub(super) struct Ground<'a> {
    spec: &'a TargetSpec,
    pub past: &'a Past,
    workload: &'a Path,
    pub limits: &'a [Limit],
    /// A model as it stands then; none of a real file system, on which every life begins with the past.
    state: Option<Mutex<Target>>,
    /// Where it begins with a snapshot: its names of what the past has.
    same: Option<Same>,
    /// What of its free space those who write may not use.
    kept: Kept,
    /// Days of the past, and of what was held out.
    pub rows: Vec<LifeDay>,
    /// Operations of the past that were not done.
    pub skipped: u64,
}

/// What is wanted of lives.
pub(super) struct Wanted {
    pub lives: usize,
    pub first_seed: u64,
    pub days: u64,
    pub threads: usize,
    pub instead: Instead,
    /// Ends a life when it has crossed all limits.
    pub ends_early: bool,
}

impl<'a> Ground<'a> {
    /// The target.
    pub fn spec(&self) -> &TargetSpec {
        self.spec
    }

    /// Lives the past on a target, and what follows in the workload if it is held out.
    pub fn begin(
        spec: &'a TargetSpec,
        past: &'a Past,
        workload: &'a Path,
        limits: &'a [Limit],
        with_truth: bool,
        watch: &dyn Watch,
    ) -> crate::Result<Ground<'a>> {
        let mut ground = Ground {
            spec,
            past,
            workload,
            limits,
            state: None,
            same: None,
            kept: Kept::default(),
            rows: Vec::new(),
            skipped: 0,
        };
        if let Some(real) = spec.real()? {
            if matches!(real.place, Place::Dir(_)) {
                bail!(
                    "`{spec}`: every life needs a fresh file system, and a directory is none; expected a model or \
                     loop:TYPE,size=..."
                );
            }
            let workload = if with_truth { None } else { Some(past.marks) };
            ground.live_on_image(workload, None, watch)?;
            return Ok(ground);
        }
        if let Some(snapshot) = snapshot_of(spec) {
            if with_truth {
                bail!(
                    "`{spec}`: what is held out came before that snapshot; expected a target without {}",
                    snapshot.display()
                );
            }
            let target = Target::make(spec)?;
            ground.same = Some(Same::find(workload, past.marks, snapshot, &target)?);
            ground.kept = Kept::of(spec, &target.layout().geometry());
            let row = DayRow::of_layout(&fsage_metrics::measure(target.layout()));
            ground.rows = vec![ground.values(&row, None)];
            ground.state = Some(Mutex::new(target));
            return Ok(ground);
        }
        let mut source = fsage_data::open_workload(workload)?;
        let mut agings = vec![Aging::new(Target::make(spec)?, false)];
        let bar = watch.bar_bytes(source.progress().map(|(_, of)| of), "the past");
        let lived = |source: &mut dyn EventSource, agings: &mut [Aging]| {
            replay(source, agings, 1, |progress| {
                bar.set_position(progress.bytes.map_or(progress.events, |(at, _)| at));
                interrupt::go_on().is_ok()
            })
            .map_err(|error| failed(error, workload))
        };
        lived(&mut UntilMark::new(&mut *source, past.marks), &mut agings)?;
        ground.skipped = agings[0].total().skipped();
        let state = agings[0].target().copied();
        if let Some(target) = &state {
            ground.kept = Kept::of(spec, &target.layout().geometry());
        }
        ground.state = state.map(Mutex::new);
        if with_truth {
            lived(&mut *source, &mut agings)?;
        }
        let rows = ground.rows_of(agings[0].days());
        ground.rows = rows;
        Ok(ground)
    }

    /// The values of days.
    fn rows_of(&self, days: &[Day]) -> Vec<LifeDay> {
        let rows = days::rows(days);
        let rows = rows.iter().zip(days);
        rows.map(|(row, day)| self.values(row, day.t_ns)).collect()
    }

    /// When times are counted from, in nanoseconds since 1970.
    fn epoch_ns(&self) -> i128 {
        i128::from(self.past.epoch_s) * 1_000_000_000
    }

    /// The values of a day that ended then; without a time on the last one of the past.
    fn values(&self, row: &DayRow, t_ns: Option<i64>) -> LifeDay {
        let last = self.past.learned.last_date();
        let value_of = |limit: &Limit| {
            let (value, kept) = (limit.value_of(row)?, limit.kept(self.kept));
            Some(if kept > 0.0 {
                (value - kept).max(0.0)
            } else {
                value
            })
        };
        let date = |t_ns: i64| (self.epoch_ns() + i128::from(t_ns)).div_euclid(DAY_NS) as i64;
        let on = t_ns.map_or(last, date);
        LifeDay {
            day: on - last,
            date: self.past.learned.date_after(on - last),
            values: self.limits.iter().map(value_of).collect(),
        }
    }

    /// The same with some of its limits, each at a value of its own.
    pub fn with_limits(self, limits: &'a [Limit], before: &[Limit]) -> crate::Result<Ground<'a>> {
        let places = limits.iter().map(|limit| {
            let mut before = before.iter();
            before.position(|known| known.name == limit.name)
        });
        let places = places.collect::<Option<Vec<usize>>>();
        let places = places.context("limits are some of those before")?;
        let rows = self.rows.into_iter().map(|row| LifeDay {
            values: places.iter().map(|&place| row.values[place]).collect(),
            ..row
        });
        let rows = rows.collect();
        Ok(Ground {
            spec: self.spec,
            past: self.past,
            workload: self.workload,
            limits,
            state: self.state,
            same: self.same,
            kept: self.kept,
            rows,
            skipped: self.skipped,
        })
    }

    /// The sizes of a model; none of a real file system.
    pub fn geometry(&self) -> Option<Geometry> {
        let state = self.state.as_ref()?;
        let state = state.lock().unwrap_or_else(PoisonError::into_inner);
        Some(state.layout().geometry())
    }

    /// Files of the past that its state does not have.
    pub fn missing(&self) -> u64 {
        self.same.as_ref().map_or(0, |same| same.missing)
    }

    /// The values on the last day of the past.
    pub fn now(&self) -> Option<&LifeDay> {
        self.rows.iter().rev().find(|row| row.day <= 0)
    }

    /// Lives on in many futures; gives each as its days.
    pub fn live(
        &self,
        wanted: &Wanted,
        watch: &dyn Watch,
        bar: &dyn Progress,
    ) -> crate::Result<Vec<Vec<LifeDay>>> {
        let next = AtomicUsize::new(0);
        let done: Vec<Mutex<Option<crate::Result<Vec<LifeDay>>>>> =
            (0..wanted.lives).map(|_| Mutex::new(None)).collect();
        // Real file systems take turns.
        let threads = if self.state.is_some() {
            wanted.threads
        } else {
            1
        };
        std::thread::scope(|scope| {
            for _ in 0..threads.clamp(1, wanted.lives.max(1)) {
                scope.spawn(|| {
                    while let at = next.fetch_add(1, Ordering::Relaxed)
                        && let Some(place) = done.get(at)
                    {
                        let life = self.life(wanted, wanted.first_seed + at as u64, watch, bar);
                        let has_failed = life.is_err();
                        *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(life);
                        if has_failed {
                            next.store(usize::MAX / 2, Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        let done = done
            .into_iter()
            .filter_map(|place| place.into_inner().unwrap_or_else(PoisonError::into_inner));
        done.collect()
    }

    /// A life. The bar goes on with its days, so that it knows the pace before the first life is over.
    fn life(
        &self,
        wanted: &Wanted,
        seed: u64,
        watch: &dyn Watch,
        bar: &dyn Progress,
    ) -> crate::Result<Vec<LifeDay>> {
        let days = usize::try_from(wanted.days).unwrap_or(usize::MAX);
        let mut future = self.past.learned.future(seed, days, wanted.instead)?;
        let Some(state) = &self.state else {
            future.go_on(wanted.days);
            let life = self.life_on_image(&mut future, watch)?;
            bar.inc(wanted.days);
            return Ok(life);
        };
        let copy = state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .copied();
        // What a snapshot does not have, no operation finds.
        let same = self.same.as_ref();
        let copy = copy.context("a model can be copied")?;
        let mut agings = vec![Aging::new(copy, same.is_some())];
        let mut life = Vec::new();
        let mut crossed = vec![false; self.limits.len()];
        let mut renamed = Renamed { future, same };
        while renamed.future.go_on(AT_A_TIME) {
            replay(&mut renamed, &mut agings, 1, |_| interrupt::go_on().is_ok())
                .map_err(|error| failed(error, self.workload))?;
            interrupt::go_on()?;
            let rows = self.rows_of(&agings[0].days()[life.len()..]);
            life.extend(rows.iter().cloned());
            bar.inc(rows.len() as u64);
            for row in life.iter().rev().take(AT_A_TIME as usize) {
                for ((limit, crossed), value) in
                    self.limits.iter().zip(&mut crossed).zip(&row.values)
                {
                    *crossed |= value.is_some_and(|value| limit.is_crossed(value));
                }
            }
            if wanted.ends_early && crossed.iter().all(|crossed| *crossed) {
                break;
            }
        }
        bar.inc(wanted.days.saturating_sub(life.len() as u64));
        Ok(life)
    }

    fn life_on_image(
        &self,
        future: &mut Future<'_>,
        watch: &dyn Watch,
    ) -> crate::Result<Vec<LifeDay>> {
        let rows = self.on_image(Some(self.past.marks), Some(future), watch)?;
        Ok(rows.into_iter().filter(|row| row.day > 0).collect())
    }

    fn live_on_image(
        &mut self,
        marks: Option<u64>,
        future: Option<&mut Future<'_>>,
        watch: &dyn Watch,
    ) -> crate::Result<()> {
        self.rows = self.on_image(marks, future, watch)?;
        Ok(())
    }

    /// Lives a workload, or its first days, and a future on an image that goes again.
    fn on_image(
        &self,
        marks: Option<u64>,
        future: Option<&mut Future<'_>>,
        watch: &dyn Watch,
    ) -> crate::Result<Vec<LifeDay>> {
        let folder = TemporaryFolder::private(&std::env::temp_dir().join("fsage-forecast"))?;
        let life = folder.path().join("life.parquet");
        let mut source = fsage_data::open_workload(self.workload)?;
        let mut file = fsage_data::create_workload(&life, source.header(), true)?;
        let mut pass = |source: &mut dyn EventSource| -> crate::Result<()> {
            while let Some(event) = source.next_event().map_err(error::boxed)? {
                file.event(Event { line: 0, ..event })
                    .map_err(error::boxed)?;
            }
            Ok(())
        };
        pass(&mut UntilMark::new(&mut *source, marks.unwrap_or(u64::MAX)))?;
        if let Some(future) = future {
            pass(future)?;
        }
        file.finish()?;
        let run: PathBuf = folder.path().join("run");
        let request = aging::Request {
            options: aging::Options {
                control: false,
                map: false,
                ..aging::Options::default()
            },
            ..aging::Request::new(&life, std::slice::from_ref(self.spec), &run)
        };
        let aged = aging::age(&request, &Quiet(watch))?;
        let rows = aged.iter().flat_map(|aged| &aged.rows);
        let epoch_ns = self.epoch_ns();
        let rows = rows.map(|row| self.values(row, row.t_s.map(|t_s| end_of_day(t_s, epoch_ns))));
        Ok(rows.collect())
    }
}

/// When a day ended, by the seconds of a table: these are floating-point numbers, of which late ones round the last
/// nanosecond of a day up to the first of the next.
fn end_of_day(t_s: f64, epoch_ns: i128) -> i64 {
    const ROUNDED_NS: i128 = 1000;
    let t_ns = (t_s * 1e9).round() as i64;
    let into_day = (epoch_ns + i128::from(t_ns)).rem_euclid(DAY_NS);
    if into_day < ROUNDED_NS {
        t_ns - into_day as i64 - 1
    } else {
        t_ns
    }
}

/// Shows warnings, and no progress of each life.
struct Quiet<'a>(&'a dyn Watch);

impl Watch for Quiet<'_> {
    fn begin(&self, what: &str, total: Option<u64>, unit: crate::Unit) -> Box<dyn Progress> {
        crate::Unwatched.begin(what, total, unit)
    }

    fn warn(&self, text: &str) {
        self.0.warn(text);
    }

    fn note(&self, _: &str) {}
}

fn failed(error: ReplayError, workload: &Path) -> crate::Error {
    match error {
        ReplayError::Interrupted => Error::from(ErrorKind::Interrupted).into(),
        ReplayError::Source(error) => error::boxed(error),
        error => crate::Error::from(error).context(workload.display().to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: from 2^23 seconds on, which is day 97, a floating-point number does not tell a nanosecond before
    /// midnight from midnight.
    #[test]
    fn the_last_nanosecond_of_a_day_is_none_of_the_next() {
        let midnight_ns = 120 * DAY_NS as i64;
        let t_s = (midnight_ns - 1) as f64 / 1e9;
        assert_eq!((t_s / 86_400.0).floor() as i64, 120, "rounded up");
        assert_eq!(end_of_day(t_s, 0), midnight_ns - 1);
        let noon_ns = midnight_ns + DAY_NS as i64 / 2;
        assert_eq!(end_of_day(noon_ns as f64 / 1e9, 0), noon_ns);
        // Days are those of the calendar, not of the workload.
        let epoch_ns = DAY_NS / 2;
        assert_eq!(end_of_day(noon_ns as f64 / 1e9, epoch_ns), noon_ns - 1);
        assert_eq!(end_of_day(midnight_ns as f64 / 1e9, epoch_ns), midnight_ns);
    }
}
