//! What each policy of the LFS cleaner costs: random overwrites of 4 KB, uniform and with hot and cold blocks.
//!
//! The system is that of docs/spec/lfs.md, section 17.2: `netbsd` with 512 segments of 1 MB, one file that fills so
//! much of the disk, a flush every 115 writes, 24 clean segments kept, 8 segments at once. Hot and cold: nine of ten
//! writes go to a tenth of the blocks. Sixteen times as many writes as the file has blocks come before as many that
//! are measured. The test of policies measures in the same way, with fewer rounds.

use fsage_core::{DirId, FileId, FileSystem, Op, Outcome, Rng};
use fsage_models::lfs::cleaner::{self, Policy};
use fsage_models::lfs::{Lfs, Params, Variant};
use std::process::ExitCode;

const SEGMENTS: u64 = 512;
const BLOCK: u64 = 4096;
const ROUNDS: u64 = 16;

fn main() -> ExitCode {
    println!("| policy | full | writes | live share of cleaned segments | write cost |");
    println!("|---|---|---|---|---|");
    for policy in cleaner::ALL {
        for percent in [50, 70, 80] {
            for hot in [false, true] {
                let writes = if hot { "90/10" } else { "uniform" };
                match measure(policy, percent, hot, ROUNDS) {
                    Ok(cost) => println!(
                        "| `{}` | {percent} % | {writes} | {:.3} | {:.2} |",
                        policy.name(),
                        cost.live,
                        cost.write_cost
                    ),
                    Err(error) => {
                        eprintln!("{} {percent} {writes}: {error}", policy.name());
                        return ExitCode::FAILURE;
                    }
                }
            }
        }
    }
    ExitCode::SUCCESS
}

/// What a policy costs in a steady state.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// Live share of the segments that are cleaned.
    pub live: f64,
    /// Bytes transferred for a byte that is written anew.
    pub write_cost: f64,
}

/// What a policy costs on a disk so full, after so many rounds and during as many.
///
/// # Errors
/// The log came to an end, or had no space.
pub fn measure(
    policy: &'static dyn Policy,
    percent: u64,
    hot: bool,
    rounds: u64,
) -> Result<Cost, String> {
    let params = Params {
        size_bytes: SEGMENTS << 20,
        policy,
        segs_per_clean: 8,
        min_clean: 24,
        poll_operations: 115,
        write_threshold_blocks: 115,
        ..Params::of_variant(Variant::NetBsd)
    };
    let mut fs = Lfs::new(params).map_err(|e| e.to_string())?;
    let blocks = SEGMENTS * 256 * percent / 100;
    let (file, dir, bytes) = (FileId(1), DirId::ROOT, blocks * BLOCK);
    apply(&mut fs, &Op::Create { file, dir, bytes })?;
    apply(&mut fs, &Op::Sync)?;
    let mut rng = Rng::new(1).stream("policies", percent);
    for round in 0..2 * rounds {
        if round == rounds {
            fs.reset_counters();
        }
        for _ in 0..blocks {
            let block = match (hot, rng.below(10)) {
                (false, _) => rng.below(blocks),
                (true, 0) => blocks / 10 + rng.below(blocks - blocks / 10),
                (true, _) => rng.below(blocks / 10),
            };
            let (offset, bytes) = (block * BLOCK, BLOCK);
            apply(
                &mut fs,
                &Op::Write {
                    file,
                    offset,
                    bytes,
                },
            )?;
        }
    }
    let c = fs.counters();
    let all = c.written_bytes + c.read_segments * fs.segment_bytes();
    let new = c.written_bytes - c.cleaner_written_bytes;
    let cleaned_bytes = c.cleaned_segments * fs.segment_bytes();
    Ok(Cost {
        live: c.cleaned_live_bytes as f64 / cleaned_bytes as f64,
        write_cost: all as f64 / new as f64,
    })
}

fn apply(fs: &mut Lfs, op: &Op) -> Result<(), String> {
    match fs.apply(op) {
        Ok(Outcome::Done) => Ok(()),
        other => Err(format!("{op:?}: {other:?}, {:?}", fs.ended())),
    }
}
