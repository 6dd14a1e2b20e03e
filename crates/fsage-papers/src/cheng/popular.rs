//! Articles that are read again and again, on boards that nothing hints: whether moving them pays.
//!
//! The paper's benchmark draws articles of a class at random, so that none is hot in itself. Here some are, they are
//! too many for the memory of the machine, and the reserved area holds them all.

use super::runs::{Mix, Run};
use super::tables::{NEVER, with_key};
use super::{MODIFIED, ORIGINAL, Results, Study};
use crate::figure::Sheet;
use crate::words;
use fsage_bench::benchmarks::Bbs;
use fsage_bench::benchmarks::bbs::{self, ARTICLE_BYTES};
use fsage_host::HostParams;
use serde::{Deserialize, Serialize};

/// Articles on cold boards that are read again and again, and that nothing hints: whether moving them pays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// How full the file systems are before, in percent.
    pub filled: u64,
    /// How much of the reserved area these articles take, in percent.
    pub of_reserved: u64,
    /// How many in a hundred reads are of one of them.
    pub read_percent: u64,
    /// The cache of the machine, in percent of what these articles take.
    pub memory: Vec<u64>,
    /// How often each of them is read, in the mean. The claim is judged at the last, with the first of the memories.
    pub reads: Vec<u64>,
}

impl Plan {
    /// Reads each article as many times more as `operations` are of `before`, once at least: for a quick look.
    pub fn scale(&mut self, operations: u64, before: u64) {
        for reads in &mut self.reads {
            *reads = (*reads * operations / before.max(1)).max(1);
        }
        self.reads.dedup();
    }
}

/// How popular articles are used in a run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Popular {
    /// How much of the reserved area they take, in percent.
    of_reserved: u64,
    /// How many in a hundred reads are of one of them.
    read_percent: u64,
    /// The cache of the machine, in percent of what they take.
    memory_percent: u64,
    /// How often each of them is read, in the mean.
    reads: u64,
}

impl Popular {
    /// Makes a benchmark and a machine those of popular articles. No board is hot, and as many articles are written as
    /// removed, so that the disk stays as full.
    pub fn set(&self, bbs: &mut Bbs, host: &mut HostParams) {
        bbs.write_percent = bbs.delete_percent;
        let center = bbs.center.clone().unwrap_or_default();
        let articles = (center.end - center.start) * self.of_reserved / 100 / ARTICLE_BYTES;
        let reads_percent = 100 - bbs.delete_percent - bbs.write_percent;
        bbs.hot_percent = 0;
        bbs.operations = articles * self.reads * 100 * 100 / (reads_percent * self.read_percent);
        bbs.popular = Some(bbs::Popular {
            articles,
            read_percent: self.read_percent,
        });
        host.cache_bytes = articles * ARTICLE_BYTES * self.memory_percent / 100;
    }
}

/// A memory and a number of reads, and their runs: original, modified where nothing moves, modified.
pub struct Setting {
    popular: Popular,
    /// The runs.
    pub runs: [Run; 3],
}

/// All of them; by memory, then by reads.
pub fn settings(study: &Study<'_>) -> Vec<Setting> {
    let Some(plan) = &study.plan.popular else {
        return Vec::new();
    };
    let mut settings = Vec::new();
    for &memory_percent in &plan.memory {
        for &reads in &plan.reads {
            let popular = Popular {
                of_reserved: plan.of_reserved,
                read_percent: plan.read_percent,
                memory_percent,
                reads,
            };
            let run = |target| Run {
                popular: Some(popular.clone()),
                ..study.run(target, Mix::Reads, plan.filled, false)
            };
            let moves = run(MODIFIED);
            let never = Run {
                spec: with_key(&moves.spec, "threshold", NEVER),
                ..moves.clone()
            };
            settings.push(Setting {
                popular: popular.clone(),
                runs: [run(ORIGINAL), never, moves],
            });
        }
    }
    settings
}

/// The modified file system, and the same one that moves nothing, where articles are read most often and the memory is
/// the first one.
pub fn moving_pays(results: &Results<'_>) -> Option<(bool, String)> {
    let plan = results.study.plan.popular.as_ref()?;
    let (memory, reads) = (*plan.memory.first()?, *plan.reads.last()?);
    let settings = settings(&results.study);
    let judged = settings
        .iter()
        .find(|s| (s.popular.memory_percent, s.popular.reads) == (memory, reads))?;
    let [_, never, moves] = judged
        .runs
        .each_ref()
        .map(|run| results.outcomes.get(run).mean_s());
    let text = format!("{moves:.0} s, and {never:.0} s where nothing moves");
    Some((moves < words::SIGNIFICANTLY_LESS * never, text))
}

/// The table; none where the plan has no such articles.
pub fn sheet(results: &Results<'_>) -> Option<Sheet> {
    let plan = results.study.plan.popular.as_ref()?;
    let rows = settings(&results.study).into_iter().map(|setting| {
        let [original, never, moves] = setting.runs.each_ref().map(|run| results.outcomes.get(run));
        let seek_s = |ns: u64| format!("{:.0}", ns as f64 / 1e9);
        vec![
            format!("{} %", setting.popular.memory_percent),
            setting.popular.reads.to_string(),
            format!("{:.0}", original.mean_s()),
            format!("{:.0}", never.mean_s()),
            format!("{:.0}", moves.mean_s()),
            format!("{:.3}", moves.mean_s() / never.mean_s()),
            moves.layer.moved_in.to_string(),
            never.device.reads.to_string(),
            moves.device.reads.to_string(),
            seek_s(never.device.time.seek_ns),
            seek_s(moves.device.time.seek_ns),
        ]
    });
    let header = [
        "memory",
        "reads each",
        "original, s",
        "nothing moves, s",
        "modified, s",
        "modified over nothing moves",
        "moved in",
        "reads, nothing moves",
        "reads, modified",
        "seek, s, nothing moves",
        "seek, s, modified",
    ];
    Some(Sheet {
        slug: "popular",
        title: "Articles that are read again and again".to_owned(),
        text: format!(
            "No board is hinted. Popular articles take {} % of the reserved area, and {} in a hundred reads are of one \
             of them. Memory is in percent of what they take; each is read so often in the mean. As many articles are \
             written as removed, 5 % of the operations each; the drive has no write cache, and is filled to {} % \
             before. What moving alone does is the modified file system over the same one that moves nothing.",
            plan.of_reserved, plan.read_percent, plan.filled
        ),
        header: header.map(str::to_owned).to_vec(),
        rows: rows.collect(),
    })
}
