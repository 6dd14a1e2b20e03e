//! `fsage verify-method`: how well workloads made from snapshots stand for the ones that made the snapshots.

use crate::summary;
use crate::ui::{self, Ui};
use crate::verify::{self, Distance, Loss, Matches, Operations, Truth};
use anyhow::bail;
use fsage_data::open_workload;
use fsage_target::{Target, TargetSpec};
use fsage_workload::from_snapshots::{DeleteTimes, Draws, Growth, Options, ShortLived};
use serde::Serialize;
use serde_json::json;
use std::io::Write;
use std::path::PathBuf;

/// Checks the method: ages a model with a known workload, takes nightly snapshots, makes a workload from these
/// alone, ages a fresh model with it, and compares the two.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The truth: a workload with times, Parquet or .ops text.
    workload: PathBuf,
    /// A model to try it on; may be given several times.
    #[arg(long = "on", value_name = "SPEC", default_values = ["ffs", "ffs:policy=realloc"])]
    on: Vec<String>,
    /// Seed of what is guessed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print JSON, with the scores of every day.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &Args, ui: Ui) -> anyhow::Result<()> {
    let mut out = ui::stdout();
    for text in &args.on {
        let spec = TargetSpec::parse(text)?;
        let Target::Ffs(fs) = Target::make(&spec)? else {
            bail!("the method is verified on simulated file systems, not on `{spec}`");
        };
        let mut source = open_workload(&args.workload)?;
        let mut truth = verify::observe(source.as_mut(), *fs, &mut || Ok(ui::go_on()?))?;
        let _ = ui;
        let week = verify::week_of(&truth);
        let pool = verify::quick_pool(&week);
        let days = week.iter().filter(|e| e.op == fsage_core::Op::Day).count() as u64;
        let a_day = std::env::var("ADAY")
            .ok()
            .map(|s| s.parse().unwrap())
            .or(Some((pool.len() as u64 + days / 2) / days.max(1)));
        writeln!(
            out,
            "pool {} profiles {} bytes, {days} days, {a_day:?} a day",
            pool.len(),
            verify::pool_bytes(&pool)
        )?;
        for short in [
            None,
            Some(ShortLived {
                pool: &pool,
                draws: Draws::Profiles { a_day },
            }),
            Some(ShortLived {
                pool: &pool,
                draws: Draws::Days,
            }),
        ] {
            let growth = Growth::Burst;
            writeln!(out, "{:?}", short.map(|s| s.draws))?;
            for rule in DeleteTimes::ALL {
                let options = Options {
                    seed: args.seed,
                    delete_times: rule,
                    growth,
                    ..Options::default()
                };
                let remade = verify::remake(&mut truth, &options, short)?;
                let matches = truth.operations.match_with(&Operations::of(&remade.events));
                if rule == DeleteTimes::Reuse && short.is_none() {
                    writeln!(out, "{:?}", remade.summary)?;
                    for losses in [
                        &[Loss::DeleteTimes][..],
                        &[Loss::ShortLived],
                        &[Loss::Changes],
                        &Loss::ALL,
                    ] {
                        let events = verify::without(&truth, &remade, losses);
                        let d = verify::compare(&truth, events, &spec, true)?;
                        writeln!(
                            out,
                            "   {losses:?} end {:+.4} largest {:+.4} mean {:.4} skipped {}",
                            d.at_end, d.largest, d.mean, d.skipped
                        )?;
                    }
                }
                let d = verify::compare(&truth, remade.events, &spec, false)?;
                writeln!(
                    out,
                    "{spec} {growth:?} {} truth {:.4} end {:+.4} largest {:+.4} day {} mean {:.4} skipped {} precision {:.3} recall {:.3} hidden {} of {} delete error {:.2} h",
                    rule.as_str(),
                    truth.days.last().map_or(0.0, |d| d.layout.value()),
                    d.at_end,
                    d.largest,
                    d.largest_day,
                    d.mean,
                    d.skipped,
                    matches.precision(),
                    matches.recall(),
                    matches.hidden,
                    matches.truth,
                    matches.delete_error_hours
                )?;
            }
        }
    }
    Ok(())
}
