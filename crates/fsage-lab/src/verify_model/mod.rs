//! Whether a model does what the kernel does: both are aged with one workload, and every inode, every extent and every
//! run of free space is compared.
//!
//! At the end of each day the inodes are compared, and how much is free; at the end both sides are mounted anew, and
//! their free space is compared run by run as well. Where they differ, the shortest beginning of the workload is
//! looked for after which they do, and on demand the fewest operations.

mod search;
mod seen;
mod sides;

use crate::error::{Context, bail};
use crate::watch::{Unwatched, Watch};
use crate::workload::is_there;
use fsage_core::{Event, Op, WorkloadHeader, size};
use fsage_data::open_workload;
use fsage_data::{OpsWriter, create_workload};
use fsage_durable::TemporaryFolder;
use fsage_real::machine::pages_looked_through;
use fsage_target::TargetSpec;
use search::{fewest, first_differing};
use serde::Serialize;
use sides::Sides;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// What is verified, and by what.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The model, with its keys.
    pub target: &'a TargetSpec,
    /// The workload, Parquet or `.ops` text.
    pub workload: &'a Path,
    /// Operations that do not fit the state are skipped, on both sides.
    pub lenient: bool,
    /// Where images are made; they are removed again.
    pub folder: &'a Path,
    /// Where the fewest operations that make both differ are written, as a workload.
    pub reduce: Option<&'a Path>,
    /// That workload may replace another file.
    pub force: bool,
}

/// What was found.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// The model, with the keys that hold on this machine.
    pub model: String,
    /// The real target.
    pub real: String,
    /// What is known of the real file system: kernel, `mkfs`, mount options, processors.
    pub facts: BTreeMap<&'static str, String>,
    /// Operations that both did, or did not do for the same reason.
    pub operations: u64,
    /// Of these, skipped for lack of space or inodes.
    pub skipped: u64,
    /// Days that ended.
    pub days: u32,
    /// Inodes in the end, directories among them.
    pub inodes: u64,
    /// Directories among them.
    pub directories: u64,
    /// Extents of these.
    pub extents: u64,
    /// Runs of free space.
    pub free_runs: u64,
    /// The kernel reclaimed memory meanwhile, and may have written back before its time.
    pub memory_ran_short: bool,
    /// How they differ, if they do.
    pub difference: Option<Difference>,
    /// How often the kernel did as the model, where it did so in most runs, but not in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub varied: Option<Varied>,
}

/// From this size on a journal is not filled within a day of any preset.
const LARGE_JOURNAL: u64 = 64 << 20;

impl Verdict {
    /// What to rule out before the model is blamed for a difference, the likeliest first.
    #[must_use]
    pub fn to_rule_out(&self) -> Vec<&'static str> {
        let memory = "the kernel reclaimed memory meanwhile, and writes back before its time then: free some";
        let written = "in regime b a file of several mappings lies by when they become written: is it so in regime=a?";
        let counters = "what a file of XFS keeps behind its end hangs on counters that each processor adds to in \
                        batches, which differ from run to run near a threshold (1 to 5 % free): is it so with a \
                        larger size=?";
        let journal = "a commit because the journal is full is not simulated in this regime, and any operation may be \
                       the one that fills it: is it so with journal=64M?";
        let is_varied = self
            .difference
            .as_ref()
            .is_some_and(|of| of.varied.is_some());
        let causes = [
            (self.memory_ran_short, memory),
            (is_varied && self.model.starts_with("xfs"), counters),
            (commits_by_days(&self.model), journal),
            (self.model.contains("regime=b"), written),
        ];
        let causes = causes.into_iter().filter(|(is, _)| *is);
        causes.map(|(_, why)| why).collect()
    }
}

/// Whether a model of ext4 has a journal that may become full, and does not see when it is.
fn commits_by_days(model: &str) -> bool {
    TargetSpec::parse(model).is_ok_and(|spec| {
        let by_time = spec.value("regime") == Some("default");
        let journal = spec
            .value("journal")
            .and_then(|size| size::parse(size).ok());
        spec.kind == "ext4" && !by_time && journal.is_none_or(|bytes| bytes < LARGE_JOURNAL)
    })
}

/// How a model and the kernel differ.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The first operation after which they differ, if what is after it is left out: its line, and what it says.
    pub first: Option<Operation>,
    /// What differs then, the first few of it.
    pub what: Vec<String>,
    /// How much that is in all.
    pub count: u64,
    /// Operations that are left where the workload was reduced.
    pub reduced_to: Option<u64>,
    /// How often the kernel did as the model, where it did not do the same each time, and not so in most runs.
    pub varied: Option<Varied>,
}

/// Runs of one workload that the kernel did not lay out alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Varied {
    /// Runs, the first one included.
    pub runs: u32,
    /// Those that were equal to the model.
    pub equal: u32,
    /// How many different layouts the kernel gave, as far as what differs from the model tells them apart.
    pub layouts: u32,
}

impl Varied {
    /// Whether the kernel did as the model in most runs, so that the others are its own chance.
    #[must_use]
    pub fn is_mostly_equal(self) -> bool {
        self.equal * 2 > self.runs
    }
}

/// An operation of a workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Operation {
    /// From 1.
    pub number: u64,
    /// Line or row of the workload.
    pub line: u64,
    /// As `.ops` text says it.
    pub text: String,
}

/// Replays a workload on a model and on the kernel in the same regime, and compares.
///
/// # Errors
/// The target is no model that is exact for a kernel; no right to mount; the workload cannot be read or does not fit;
/// an interrupt.
pub fn verify_model(request: &Request<'_>, ui: &dyn Watch) -> crate::Result<Verdict> {
    if request.target.entry().is_some() {
        // It says most of a key that the model does not have.
        crate::aging::can_be_made(request.target)?;
    }
    let Some(kernel) = request.target.kernel()? else {
        let models = fsage_target::kernel_models();
        let place = request.target.place.as_deref();
        let meant = place.filter(|place| models.contains(place));
        let meant = meant.map_or_else(String::new, |model| {
            format!("; name the model, as in {model}:size=1G: the kernel's own is made to match")
        });
        bail!(
            "`{}` is no model of a file system of this kernel{meant}; models: {}",
            request.target,
            models.join(", ")
        );
    };
    is_there(request.workload)?;
    let mut source = open_workload(request.workload)?;
    let header = source.header().clone();
    let mut events = Vec::new();
    while let Some(event) = source.next_event().map_err(crate::error::boxed)? {
        events.push(event);
    }
    drop(source);
    let folder = TemporaryFolder::private(&request.folder.join("fsage-verify-model"))?;
    let verifier = Verifier {
        request,
        kernel: &kernel,
        folder: folder.path(),
        ui,
    };
    let before = pages_looked_through();
    let (mut verdict, differing) = verifier
        .all(&events)
        .map_err(|error| error.at_line_of(request.workload))?;
    verdict.memory_ran_short = pages_looked_through() != before;
    let Some((same, differing)) = differing else {
        return Ok(verdict);
    };
    let seen = verdict.difference.as_ref().map(|difference| {
        format!(
            "They differ on day {}, {} differences: {}",
            verdict.days.max(1),
            difference.count,
            difference.what.first().map_or("", String::as_str)
        )
    });
    let mut seen = seen.unwrap_or_default();
    for why in verdict.to_rule_out() {
        let _ = write!(seen, ". To rule out first: {why}");
    }
    ui.note(&format!(
        "{seen}. Looking for the first operation, which takes some tens of replays."
    ));
    let mut range = (same, differing);
    let found = verifier.first(&events, &mut range);
    if let (Err(_), Some(path)) = (&found, request.reduce) {
        // What was found before an interrupt is kept.
        write(path, &header, &events[..range.1], request.force)?;
    }
    let found = found.with_context(|| {
        let kept = request.reduce.map_or_else(String::new, |path| {
            format!(", and {} has all up to there", path.display())
        });
        let (same, differing) = range;
        format!(
            "{seen}. The first is one of the operations {} to {differing}{kept}",
            same + 1
        )
    })?;
    let Some((number, found)) = found else {
        return verifier.repeated(&events, verdict);
    };
    let event = &events[number - 1];
    let mut difference = Difference {
        first: Some(Operation {
            number: number as u64,
            line: event.line,
            text: text_of(event)?,
        }),
        ..found.into()
    };
    if let Some(path) = request.reduce {
        let mut fewest = events[..number].to_vec();
        let ended = verifier.reduce(&events[..number], &mut fewest);
        // What was found before an interrupt is kept.
        write(path, &header, &fewest, request.force)?;
        ended.with_context(|| {
            format!(
                "stopped; {} has the fewest operations so far: {}",
                path.display(),
                fewest.len()
            )
        })?;
        difference.reduced_to = Some(fewest.len() as u64);
    }
    verdict.difference = Some(difference);
    Ok(verdict)
}

struct Verifier<'a> {
    request: &'a Request<'a>,
    kernel: &'a TargetSpec,
    folder: &'a Path,
    ui: &'a dyn Watch,
}

/// How many times the kernel has to repeat a difference before it counts as the model's. On a full disk some workloads
/// have two layouts, each in about one run of two.
const REPEATS: u32 = 5;

/// What differs: the first few of it, and how much.
#[derive(PartialEq, Eq)]
struct Found {
    what: Vec<String>,
    count: u64,
}

impl Verifier<'_> {
    /// The whole workload, compared at every day. Where they differ: events after which they did not yet, and events
    /// after which they do.
    fn all(&self, events: &[Event]) -> crate::Result<(Verdict, Option<(usize, usize)>)> {
        let bar = self.ui.bar_count(Some(events.len() as u64), "comparing");
        let mut sides = Sides::new(self.request.target, self.kernel, self.folder)?;
        let mut verdict = sides.verdict();
        let mut same = 0;
        let mut next = 0;
        for day in days(events) {
            let is_marked = sides.live(day, self.request.lenient, &*bar)?;
            next += day.len();
            verdict.days += u32::from(is_marked);
            let found = sides.compare();
            if found.count > 0 {
                verdict.difference = Some(found.into());
                sides.add_up(&mut verdict);
                break;
            }
            same = next;
        }
        let counts = sides.counts();
        (verdict.operations, verdict.skipped) = (counts.operations(), counts.skipped());
        if verdict.difference.is_some() {
            return Ok((verdict, Some((same, next))));
        }
        sides.mount_again()?;
        let found = sides.compare_all();
        sides.add_up(&mut verdict);
        if found.count > 0 {
            verdict.difference = Some(found.into());
            return Ok((verdict, Some((0, next))));
        }
        Ok((verdict, None))
    }

    /// The whole workload again and again, of a kernel that does not differ from the model each time in the same way:
    /// what was seen in a run where both were equal, if most are, else what was seen first.
    fn repeated(&self, events: &[Event], first: Verdict) -> crate::Result<Verdict> {
        let bar = self
            .ui
            .bar_count(Some(u64::from(REPEATS)), "repeating the whole workload");
        let mut layouts: Vec<Option<Difference>> = vec![first.difference.clone()];
        let again = || {
            let (verdict, differing) = self.all(events)?;
            bar.inc(1);
            let layout = verdict.difference.clone();
            if !layouts.contains(&layout) {
                layouts.push(layout);
            }
            Ok(differing.is_none().then_some(verdict))
        };
        let (mut varied, equal) = count_equal(again)?;
        varied.layouts = layouts.len() as u32;
        if let Some(equal) = equal.filter(|_| varied.is_mostly_equal()) {
            return Ok(Verdict {
                varied: Some(varied),
                ..equal
            });
        }
        let difference = first.difference.map(|difference| Difference {
            varied: Some(varied),
            ..difference
        });
        Ok(Verdict {
            difference,
            ..first
        })
    }

    /// The fewest events from the start after which both differ; none if the kernel does not differ from the model each
    /// time in the same way.
    fn first(
        &self,
        events: &[Event],
        range: &mut (usize, usize),
    ) -> crate::Result<Option<(usize, Found)>> {
        let (same, differing) = *range;
        // Each halves what is left.
        let halvings = (differing - same).max(1).ilog2() + 1;
        let bar = self.ui.bar_count(
            Some(u64::from(REPEATS + halvings)),
            "replays to find the first operation that differs",
        );
        let mut runs = Vec::new();
        for _ in 0..REPEATS {
            runs.push(self.differs(&events[..differing], self.request.lenient)?);
            bar.inc(1);
        }
        let is_steady = runs.windows(2).all(|pair| pair[0] == pair[1]);
        let Some(found) = runs.pop().flatten().filter(|_| is_steady) else {
            return Ok(None);
        };
        let mut last = Some(found);
        let differs = |number: usize| {
            bar.inc(1);
            let found = self.differs(&events[..number], self.request.lenient)?;
            let is_found = found.is_some();
            if is_found {
                range.1 = number;
            } else {
                range.0 = number;
            }
            // Each one that is found lies before the one found last.
            last = found.or(last.take());
            Ok(is_found)
        };
        let first = first_differing(same, differing, differs)?;
        last.map(|found| Some((first, found)))
            .context("a difference was found")
    }

    /// Replays on fresh sides, and says what differs at the end.
    fn differs(&self, events: &[Event], lenient: bool) -> crate::Result<Option<Found>> {
        let mut sides = Sides::new(self.request.target, self.kernel, self.folder)?;
        for day in days(events) {
            sides.live(day, lenient, &Unwatched)?;
        }
        let mut found = sides.compare();
        if found.count == 0 {
            sides.mount_again()?;
            found = sides.compare_all();
        }
        Ok((found.count > 0).then_some(found))
    }

    /// Fewer of these events after which both differ as well; `found` always holds the fewest so far.
    fn reduce(&self, events: &[Event], found: &mut Vec<Event>) -> crate::Result<()> {
        let bar = self.ui.bar_count(None, "reducing");
        fewest(events, |some| {
            bar.inc(1);
            let differs = self.differs(some, true)?.is_some();
            if differs {
                found.clear();
                found.extend_from_slice(some);
            }
            Ok(differs)
        })
        .map(drop)
    }
}

/// Runs again and again behind a run that was not equal; how many were, and the last of these.
fn count_equal<T>(
    mut run: impl FnMut() -> crate::Result<Option<T>>,
) -> crate::Result<(Varied, Option<T>)> {
    let (mut equal, mut last) = (0, None);
    for _ in 0..REPEATS {
        if let Some(seen) = run()? {
            equal += 1;
            last = Some(seen);
        }
    }
    let runs = REPEATS + 1;
    let layouts = 1;
    Ok((
        Varied {
            runs,
            equal,
            layouts,
        },
        last,
    ))
}

/// A workload day by day, each with the mark that ends it; the last one may have none.
fn days(events: &[Event]) -> impl Iterator<Item = &[Event]> {
    events.split_inclusive(|event| event.op == Op::Day)
}

impl From<Found> for Difference {
    fn from(found: Found) -> Difference {
        Difference {
            what: found.what,
            count: found.count,
            ..Difference::default()
        }
    }
}

/// An event as a line of text.
fn text_of(event: &Event) -> crate::Result<String> {
    let mut text = Vec::new();
    let mut writer = OpsWriter::new(&mut text, &WorkloadHeader::default())?;
    writer.write(&Event {
        t_ns: None,
        ..event.clone()
    })?;
    writer.finish()?;
    let text = String::from_utf8_lossy(&text);
    Ok(text.lines().last().unwrap_or_default().to_owned())
}

fn write(path: &Path, header: &WorkloadHeader, events: &[Event], force: bool) -> crate::Result<()> {
    let mut output = create_workload(path, header, force)?;
    for event in events {
        output.write(event)?;
    }
    let finished = output.finish();
    finished
        .map(drop)
        .with_context(|| format!("{}: cannot be written", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a kernel that differs first, and then is equal in these runs.
    fn counted(equal: [bool; 5]) -> (u32, bool, Option<usize>) {
        let mut runs = equal.into_iter().enumerate();
        let run = || Ok(runs.next().and_then(|(run, equal)| equal.then_some(run)));
        let (varied, last) = count_equal(run).expect("no error");
        assert_eq!(varied.runs, 6);
        (varied.equal, varied.is_mostly_equal(), last)
    }

    #[test]
    fn a_kernel_does_as_the_model_if_it_does_so_in_most_runs() {
        assert_eq!(counted([true; 5]), (5, true, Some(4)));
        assert_eq!(counted([true, false, true, true, true]), (4, true, Some(4)));
        assert_eq!(
            counted([true, false, true, true, false]),
            (3, false, Some(3))
        );
        assert_eq!(counted([false; 5]), (0, false, None));
    }
}
