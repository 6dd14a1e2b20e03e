//! The method of Smith and Seltzer on a truth of ours: the workload that ages the file systems is made again from
//! nightly snapshots of the one that happened, as theirs was.

use super::aged::Aged;
use super::by_blocks::{Blocks, ByBlocks};
use super::comparison::Measured;
use super::paper::Method;
use super::words;
use anyhow::Context;
use fsage_core::identity::Identity;
use fsage_core::{LayoutInMemory, WorkloadHeader};
use fsage_data::{create_workload, open_workload};
use fsage_lab::Watch;
use fsage_lab::interrupt::{self, Interruptible};
use fsage_lab::verify::{observe, week_of_profiles};
use fsage_target::{Target, TargetSpec};
use fsage_workload::from_snapshots::{
    DeleteTimes, Draws, FromSnapshots, Growth, Modifications, Options, Placement, ShortLived,
};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The rules by which a paper makes a workload of snapshots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rules {
    /// 1996: whole days of short-lived files; inodes have no generation.
    Smith96,
    /// 1997: profiles of directories; a generation tells a replaced file. The paper's rate, one for 40 MB, is one of
    /// its own pool: of ours as many are drawn a day as it has.
    Smith97,
}

impl Rules {
    fn delete_times(self) -> DeleteTimes {
        match self {
            Rules::Smith96 => DeleteTimes::Smith96,
            Rules::Smith97 => DeleteTimes::Smith97,
        }
    }

    fn identity(self) -> Identity {
        match self {
            Rules::Smith96 => Identity::Ino,
            Rules::Smith97 => Identity::Generation,
        }
    }

    fn draws(self, a_day: u64) -> Draws {
        match self {
            Rules::Smith96 => Draws::Days,
            Rules::Smith97 => Draws::Profiles { a_day: Some(a_day) },
        }
    }
}

/// The file system of which snapshots were taken.
#[derive(Clone, Debug)]
pub struct Truth {
    /// Layout scores by day.
    scores: Vec<f64>,
    /// Layout scores at the end by size of file.
    by_blocks: ByBlocks,
}

/// Ages the file system of the truth with `from`, takes its snapshots, and makes the workload `to` of them by the rules
/// of a paper. Short-lived files are drawn from a week in the middle of the truth, unless the method is without.
///
/// # Errors
/// The file system of the truth is no model; a file cannot be read or written; an interrupt.
pub fn make(
    method: &Method,
    seed: u64,
    from: &Path,
    to: &Path,
    generator: &str,
    ui: &dyn Watch,
) -> anyhow::Result<Truth> {
    let spec = TargetSpec::parse(&method.truth)?;
    let Target::Model(fs) = Target::make(&spec)? else {
        anyhow::bail!("`{spec}`: expected a model");
    };
    let bar = ui.bar_count(None, "snapshots of the truth");
    let mut source = open_workload(from)?;
    let mut truth = observe(&mut *source, fs, &mut || {
        bar.inc(1);
        Ok(interrupt::go_on()?)
    })?;
    drop(bar);
    let (pool, a_day) = week_of_profiles(&truth);
    let options = Options {
        seed,
        delete_times: method.rules.delete_times(),
        identity: method.rules.identity(),
        modifications: Modifications::Rewrite,
        growth: Growth::Burst,
        placement: Some(Placement::Groups),
        ..Options::default()
    };
    let short_lived = (!method.snapshots_alone && !pool.is_empty()).then(|| ShortLived {
        pool: &pool,
        draws: method.rules.draws(a_day),
    });
    let scores = truth.days.iter().map(|day| day.layout().value()).collect();
    let at_end = LayoutInMemory {
        geometry: truth
            .days
            .last()
            .context("the truth has no day")?
            .geometry
            .clone(),
        space: None,
        inodes: truth.snapshots.last().to_vec(),
        names: Vec::new(),
        free: None,
    };
    let by_blocks = ByBlocks::of(&at_end, Blocks::All, |_| true);
    truth.snapshots.rewind();
    let workload = FromSnapshots::begin(&mut truth.snapshots, options, short_lived)?;
    let header = WorkloadHeader {
        generator: Some(generator.to_owned()),
        ..workload.header()
    };
    let mut sink = create_workload(to, &header, false)?;
    workload.generate(
        &mut truth.snapshots,
        &mut Interruptible(&mut sink),
        &mut |_| {},
    )?;
    sink.finish()?;
    Ok(Truth { scores, by_blocks })
}

impl Truth {
    /// Layout score at the end of a file system that the workload aged, less that of the truth. Rows `<id>.difference`
    /// and `<id>.above`.
    pub fn measure(&self, id: &str, aged: &Aged, measured: &mut Measured) {
        let differences = aged
            .scores
            .iter()
            .zip(&self.scores)
            .map(|(ours, truth)| ours - truth);
        let differences: Vec<f64> = differences.collect();
        let Some(&at_end) = differences.last() else {
            return;
        };
        let mean = differences.iter().map(|d| d.abs()).sum::<f64>() / differences.len() as f64;
        measured.figure(&format!("{id}.difference"), Some(at_end));
        let text = format!("{at_end:+.3} at the end, {mean:.3} in the mean of days");
        measured.shape(&format!("{id}.above"), Some((at_end > 0.0, text)));
    }

    /// Whether the score of an aged file system moves the same way as that of the truth from one day to the next, on
    /// most days.
    pub fn contours(&self, aged: &Aged) -> Option<(bool, String)> {
        let steps =
            |scores: &[f64]| -> Vec<f64> { scores.windows(2).map(|w| w[1] - w[0]).collect() };
        let both = steps(&self.scores).into_iter().zip(steps(&aged.scores));
        let moved: Vec<(f64, f64)> = both.filter(|(truth, _)| truth.abs() > 0.0).collect();
        let same = moved.iter().filter(|(truth, ours)| truth * ours > 0.0);
        let (same, all) = (same.count(), moved.len());
        let text = format!("the same way on {same} of {all} days");
        (all > 0).then(|| (words::is_most(same as f64 / all as f64), text))
    }

    /// Whether the score of an aged file system is nearly that of the truth on every day of the first half.
    pub fn first_half(&self, aged: &Aged) -> Option<(bool, String)> {
        let half = self.scores.len() / 2;
        let days = self.scores.iter().zip(&aged.scores).take(half);
        let (truth, ours) = days.max_by(|a, b| (a.0 - a.1).abs().total_cmp(&(b.0 - b.1).abs()))?;
        let text = format!("at most {:+.3}", ours - truth);
        Some((words::layout_nearly_the_same(*ours, *truth), text))
    }

    /// Whether files of up to 8 blocks lie as those of the truth at the end, and larger ones better.
    pub fn by_size(&self, aged: &ByBlocks) -> Option<(bool, String)> {
        let [small, small_truth] = [aged, &self.by_blocks].map(|by| by.over(2..=8));
        let [large, large_truth] = [aged, &self.by_blocks].map(|by| by.over(9..));
        let (small, small_truth, large, large_truth) = (small?, small_truth?, large?, large_truth?);
        let holds = words::layout_nearly_the_same(small, small_truth) && large > large_truth;
        let text = format!(
            "up to 64 KB {small:.3} and {small_truth:.3}, above {large:.3} and {large_truth:.3}"
        );
        Some((holds, text))
    }
}
