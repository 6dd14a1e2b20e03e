//! The file systems of the fragmentation study: aged by a synthetic workload each, and looked at on some dates.

use super::Bench;
use super::plan::FileSystem;
use super::share::share_out;
use crate::by_blocks::{Blocks, ByBlocks, TwoBlockFiles};
use anyhow::{Context, bail};
use fsage_core::{Event, EventSink, FileSystem as _, Layout, Op, Outcome, Run, SinkError};
use fsage_lab::interrupt;
use fsage_metrics::FreeSpace;
use fsage_models::ffs::{Ffs, Params};
use fsage_workload::preset::{Generator, Preset};

/// A file system on its dates.
pub struct Aged {
    /// Its name.
    pub name: String,
    /// What it was made with.
    pub params: Params,
    /// What it is on each date.
    pub dates: Vec<AtDate>,
}

/// A file system on a date.
#[derive(Clone, Debug, PartialEq)]
pub struct AtDate {
    /// Its free space.
    pub free: Vec<Run>,
    /// Share of its data space in use.
    pub utilization: f64,
    /// Share of its free space that is fragments of blocks.
    pub in_fragments: f64,
    /// Its files of two blocks.
    pub two_blocks: TwoBlockFiles,
    /// Layout score of its files by size.
    pub by_blocks: ByBlocks,
    /// Operations until then that lack of space kept from being done.
    pub skipped: u64,
}

/// Ages all file systems of the study.
///
/// # Errors
/// A target is no FFS, a workload is unknown or does not fit it; an interrupt.
pub fn age(bench: &Bench<'_>) -> anyhow::Result<Vec<Aged>> {
    let systems = &bench.plan.fragmentation.file_systems;
    share_out(bench, "aging", systems, |system| {
        age_one(bench, system).with_context(|| system.name.clone())
    })
}

fn age_one(bench: &Bench<'_>, system: &FileSystem) -> anyhow::Result<Aged> {
    let params = bench.spec(&system.name)?.params(Params::from_options)?;
    let preset = Preset::named(&system.name)
        .with_context(|| format!("no workload preset `{}`", system.name))?;
    let days = bench.plan.fragmentation.days;
    let (generator, days) = for_days(preset.generator, days)?;
    let dates = bench.plan.fragmentation.dates.iter();
    let mut replay = Replay {
        fs: Ffs::new(params.clone())?,
        dates: dates.map(|date| system.day(days, date)).collect(),
        day: 0,
        skipped: 0,
        seen: Vec::new(),
    };
    let seed = bench.paper.run.seed;
    match generator {
        Generator::Home(home) => home.generate(seed, &mut replay).map(drop),
        Generator::Profile(profile) => profile.generate(seed, &mut replay).map(drop),
        Generator::Herrin(_) | Generator::Server(_) => bail!("a workload without days"),
    }
    .map_err(fsage_lab::error::boxed)?;
    Ok(Aged {
        name: system.name.clone(),
        params,
        dates: replay.seen,
    })
}

/// A generator for so many days, or as many as it has, and how many these are.
fn for_days(generator: Generator, days: Option<u64>) -> anyhow::Result<(Generator, u64)> {
    Ok(match generator {
        Generator::Home(home) => {
            let days = days.unwrap_or(home.days);
            (Generator::Home(Box::new(home.with_days(days))), days)
        }
        Generator::Profile(profile) => {
            let days = days.unwrap_or(profile.days);
            (Generator::Profile(Box::new(profile.with_days(days))), days)
        }
        Generator::Herrin(_) | Generator::Server(_) => {
            bail!("expected a workload of home directories or a profile")
        }
    })
}

/// Applies a workload while it is made, and looks at the file system on some days.
struct Replay {
    fs: Ffs,
    /// Days to look at, ascending.
    dates: Vec<u64>,
    day: u64,
    skipped: u64,
    seen: Vec<AtDate>,
}

impl EventSink for Replay {
    fn event(&mut self, event: Event) -> Result<(), SinkError> {
        interrupt::go_on()?;
        if event.op == Op::Day {
            self.day += 1;
            while self.dates.get(self.seen.len()) == Some(&self.day) {
                self.seen.push(self.look());
            }
            return Ok(());
        }
        match self.fs.apply(&event.op)? {
            Outcome::Done | Outcome::Ignored => {}
            _ => self.skipped += 1,
        }
        Ok(())
    }
}

impl Replay {
    fn look(&self) -> AtDate {
        let geometry = self.fs.geometry();
        let mut free = Vec::new();
        self.fs.visit_free(&mut |run| free.push(run));
        let space = FreeSpace::of(&self.fs, &geometry).expect("the model knows its free space");
        AtDate {
            free,
            utilization: space
                .utilization(&geometry)
                .expect("the model knows its data space"),
            in_fragments: space.fragment_share(&geometry),
            two_blocks: TwoBlockFiles::of(&self.fs),
            by_blocks: ByBlocks::of(&self.fs, Blocks::All, |_| true),
            skipped: self.skipped,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsage_core::{DirId, FileId};

    fn event(op: Op) -> Event {
        Event::new(op)
    }

    /// `tiny` has 8 MB: a file of 1 MB is an eighth of it or a little more of its data space; with it gone, nothing is
    /// in use but the root.
    #[test]
    fn a_file_system_is_looked_at_on_its_dates() {
        let mut replay = Replay {
            fs: Ffs::new(Params::preset("tiny").unwrap()).unwrap(),
            dates: vec![2, 2, 3],
            day: 0,
            skipped: 0,
            seen: Vec::new(),
        };
        let file = FileId(1);
        let (dir, bytes) = (DirId::ROOT, 1 << 20);
        let ops = [
            Op::Day,
            Op::Create { file, dir, bytes },
            Op::Day,
            Op::Delete { file },
            Op::Create {
                file: FileId(2),
                dir,
                bytes: 100 << 20,
            },
            Op::Delete { file: FileId(2) },
            Op::Day,
            Op::Day,
        ];
        for op in ops {
            replay.event(event(op)).unwrap();
        }
        let seen = &replay.seen;
        assert_eq!(seen.len(), 3);
        assert_eq!(seen[0], seen[1]);
        assert!((0.125..0.2).contains(&seen[0].utilization), "{:?}", seen[0]);
        assert!(seen[2].utilization < 0.01 && seen[0].skipped == 0);
        assert_eq!(seen[2].skipped, 1, "100 MB do not fit");
        let free: u64 = seen[2].free.iter().map(|run| run.length_bytes).sum();
        let before: u64 = seen[0].free.iter().map(|run| run.length_bytes).sum();
        // 128 blocks and one of pointers.
        assert_eq!(free - before, 129 * 8192);
    }
}
