//! What the paper supposes and had not built: more blocks of a file in its group and hints of programs (section 6), a
//! table of inode numbers (section 3.1).

use super::fullness;
use super::phases::{Phases, faster, times};
use super::small_files::PHASES;
use super::{AS_USED, Bench, state};
use crate::aged;
use crate::comparison::Measured;
use crate::figure::{Exhibit, Sheet};
use crate::words;
use fsage_bench::benchmarks::Order;
use fsage_core::Layout;
use fsage_models::cffs::Cffs;

/// Phases in which a file of several blocks is moved.
const MOVING: [&str; 3] = ["create", "read", "overwrite"];

/// So many blocks of a file in its group.
#[derive(Debug)]
struct Grouped {
    blocks: u64,
    /// Files of more than one block on a fresh file system.
    phases: Phases,
    /// Runs of free blocks of an aged one, and blocks in all of them.
    free_runs: u64,
    free_blocks: u64,
}

/// All three.
#[derive(Debug)]
pub struct Beyond {
    grouped: Vec<Grouped>,
    /// Documents whose files lie in several directories: by neither technique, by names, by hints.
    documents: [(&'static str, Phases); 3],
    locators: Phases,
    table: Phases,
}

impl Beyond {
    /// Runs everything. The workload is one of those that ages for figure 7, and is there by now.
    ///
    /// # Errors
    /// A benchmark fails, the workload cannot be read; an interrupt.
    pub fn run(bench: &Bench<'_>) -> anyhow::Result<Beyond> {
        let plan = &bench.plan.beyond;
        let directories = bench.plan.small_files.directories;
        let keys = |blocks: u64| format!(",grouped_blocks={blocks}");
        let workload = fullness::workload(bench, &plan.preset);
        let size = bench.plan.aged.partition.0;
        let mut targets = Vec::new();
        for &blocks in &plan.grouped_blocks {
            let keys = format!(",size={size}{}", keys(blocks));
            targets.push((blocks.to_string(), bench.spec("both", &keys)?));
        }
        let agings = aged::replayed(&workload, &targets, bench.threads, bench.ui)?;
        let mut grouped = Vec::new();
        for (&blocks, aging) in plan.grouped_blocks.iter().zip(agings) {
            let aged = state("both", aging.into_target())?;
            let fresh = bench.fresh("both", &format!("{AS_USED}{}", keys(blocks)))?;
            grouped.push(Grouped {
                blocks,
                phases: bench.files_of(plan.size.0, Order::OfCreation, &fresh, directories)?,
                free_runs: free_runs(&aged.fs),
                free_blocks: aged.fs.free_blocks(),
            });
        }
        let document = Order::ByDocument(plan.files_of_a_document);
        let many = bench.plan.small_files.random_directories;
        let documents = |name: &'static str, target: &str, keys: &str| {
            let fresh = bench.fresh(target, &format!("{AS_USED}{keys}"))?;
            anyhow::Ok((name, bench.small_files_in(document, &fresh, many)?))
        };
        let small = |keys: &str| {
            let fresh = bench.fresh("both", &format!("{AS_USED}{keys}"))?;
            bench.small_files(&fresh, directories)
        };
        Ok(Beyond {
            grouped,
            documents: [
                documents("neither", "neither", "")?,
                documents("both", "both", "")?,
                documents("both, hints", "both", ",hints")?,
            ],
            locators: small("")?,
            table: small(",inode_id=table")?,
        })
    }

    /// What the paper supposes of them.
    pub fn measure(&self, measured: &mut Measured) {
        let one = self.grouped.iter().find(|of| of.blocks == 1);
        let more = || self.grouped.iter().filter(|of| of.blocks > 1);
        if let Some(one) = one {
            let gains = more().map(|of| {
                let gains = MOVING.map(|phase| faster(&of.phases, &one.phases, phase));
                let gains: Option<Vec<f64>> = gains.into_iter().collect();
                gains.map(|gains| (of.blocks, gains))
            });
            let gains: Option<Vec<(u64, Vec<f64>)>> = gains.collect();
            measured.shape("G97.6.blocks", gains.map(|gains| enhanced(&gains)));
            let runs: Vec<(u64, u64)> = more().map(|of| (of.blocks, of.free_runs)).collect();
            measured.shape("G97.6.blocks.free", Some(fewer_runs(one.free_runs, &runs)));
        }
        let slowest =
            PHASES.map(|phase| Some((phase, faster(&self.table, &self.locators, phase)?)));
        let slowest: Option<Vec<(&str, f64)>> = slowest.into_iter().collect();
        let slowest = slowest.and_then(|all| all.into_iter().min_by(|a, b| a.1.total_cmp(&b.1)));
        measured.shape(
            "G97.6.table",
            slowest.map(|(phase, rate)| {
                let holds = rate >= 1.0 || words::nearly_the_same(rate);
                (holds, format!("at least {rate:.2} times as fast, {phase}"))
            }),
        );
    }

    /// A table each.
    pub fn exhibits(&self, bench: &Bench<'_>) -> Vec<Exhibit> {
        let sheets = [self.blocks(bench), self.hints(bench), self.numbers()];
        sheets.into_iter().map(Exhibit::Sheet).collect()
    }

    fn blocks(&self, bench: &Bench<'_>) -> Sheet {
        let rate = |phases: &Phases, phase: &str| {
            let rate = phases.get(phase).map(|phase| phase.files_per_s.mean);
            rate.map_or("-".to_owned(), |rate| format!("{rate:.0}"))
        };
        let rows = self.grouped.iter().map(|of| {
            let mut row = vec![of.blocks.to_string()];
            row.extend(PHASES.map(|phase| rate(&of.phases, phase)));
            row.push(of.free_runs.to_string());
            row.push(format!(
                "{:.1}",
                of.free_blocks as f64 / of.free_runs.max(1) as f64
            ));
            row
        });
        Sheet {
            slug: "grouped-blocks",
            title: "More blocks of a file in its group (section 6)".to_owned(),
            text: format!(
                "Files a second of files of {} KB on a fresh file system with both techniques; runs of free blocks, \
                 and their mean length in blocks, after {}.",
                bench.plan.beyond.size.0 >> 10,
                bench.plan.beyond.preset
            ),
            header: [
                "blocks",
                "create",
                "read",
                "overwrite",
                "delete",
                "free runs",
                "mean run",
            ]
            .map(str::to_owned)
            .to_vec(),
            rows: rows.collect(),
        }
    }

    fn hints(&self, bench: &Bench<'_>) -> Sheet {
        let mut rows = Vec::new();
        let [(_, neither), ..] = &self.documents;
        for phase in PHASES {
            for (name, phases) in &self.documents {
                let Some(measured) = phases.get(phase) else {
                    continue;
                };
                rows.push(vec![
                    phase.to_owned(),
                    (*name).to_owned(),
                    format!("{:.0}", measured.files_per_s.mean),
                    faster(phases, neither, phase).map_or("-".to_owned(), times),
                    measured.requests.reads.to_string(),
                    format!("{:.1}", measured.requests.read_bytes as f64 / 1e6),
                ]);
            }
        }
        Sheet {
            slug: "documents",
            title: "Documents whose files lie in several directories (section 6)".to_owned(),
            text: format!(
                "{} files of a document are made one after the other in directories at random, and used together; \
                 documents at random. With hints the program says which belong together. MB are 10^6 bytes.",
                bench.plan.beyond.files_of_a_document
            ),
            header: [
                "phase",
                "file system",
                "files/s",
                "over neither",
                "reads",
                "MB read",
            ]
            .map(str::to_owned)
            .to_vec(),
            rows,
        }
    }

    fn numbers(&self) -> Sheet {
        let rows = PHASES.iter().filter_map(|phase| {
            let (locators, table) = (self.locators.get(phase)?, self.table.get(phase)?);
            Some(vec![
                (*phase).to_owned(),
                format!("{:.0}", locators.files_per_s.mean),
                format!("{:.0}", table.files_per_s.mean),
                locators.requests.all().to_string(),
                table.requests.all().to_string(),
            ])
        });
        Sheet {
            slug: "inode-table",
            title: "A table of inode numbers (section 3.1)".to_owned(),
            text: "Small files with both techniques: numbers that change when an inode moves, and numbers that never \
                   change, with a table that leads to locators."
                .to_owned(),
            header: ["phase", "locators, files/s", "table, files/s", "locators, requests", "table, requests"]
                .map(str::to_owned)
                .to_vec(),
            rows: rows.collect(),
        }
    }
}

/// Runs of free blocks.
fn free_runs(fs: &Cffs) -> u64 {
    let mut runs = 0;
    fs.visit_free(&mut |_| runs += 1);
    runs
}

/// Whether performance is enhanced, by blocks in a group: no phase is slower by more than what is nearly the same, and
/// one is faster by more.
fn enhanced(gains: &[(u64, Vec<f64>)]) -> (bool, String) {
    let holds = gains.iter().all(|(_, gains)| {
        let differs = |gain: &&f64| !words::nearly_the_same(**gain);
        let mut different = gains.iter().filter(differs).peekable();
        different.peek().is_some() && different.all(|&gain| gain > 1.0)
    });
    let text: Vec<String> = gains
        .iter()
        .map(|(blocks, gains)| {
            let gains: Vec<String> = gains.iter().map(|gain| format!("{gain:.2}")).collect();
            format!("{blocks}: {}", gains.join(", "))
        })
        .collect();
    (
        holds,
        format!("{} times with so many blocks", text.join("; ")),
    )
}

/// Whether free space is in fewer runs, by blocks in a group.
fn fewer_runs(one: u64, more: &[(u64, u64)]) -> (bool, String) {
    let holds = !more.is_empty() && more.iter().all(|&(_, runs)| runs < one);
    let text: Vec<String> = more
        .iter()
        .map(|(blocks, runs)| format!("{runs} with {blocks}"))
        .collect();
    (
        holds,
        format!("{one} runs with 1 block, {}", text.join(", ")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_paper_supposes_is_judged_in_every_phase() {
        assert!(enhanced(&[(2, vec![1.0, 1.2, 1.04]), (4, vec![0.96, 1.1, 1.1])]).0);
        assert!(!enhanced(&[(2, vec![1.0, 1.2, 1.3]), (4, vec![1.1, 0.9, 1.1])]).0);
        assert!(
            !enhanced(&[(2, vec![1.0, 1.04, 1.04])]).0,
            "nearly the same"
        );
        assert!(fewer_runs(100, &[(2, 90), (4, 99)]).0);
        assert!(!fewer_runs(100, &[(2, 90), (4, 100)]).0);
        assert!(!fewer_runs(100, &[]).0);
    }
}
