//! `fsage verify-model`: whether a model does what the kernel of this machine does.

use crate::exit::{No, Unsteady};
use crate::summary;
use crate::ui::{self, Ui};
use anyhow::bail;
use fsage_lab::generate::may_write;
use fsage_lab::verify_model::{Request, Verdict, verify_model};
use fsage_target::TargetSpec;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Ages a model and the same file system of this kernel with one workload, and compares every inode, every extent and
/// all free space.
///
/// The kernel's file system is made in an image, mounted in the regime of the model (`regime=`) where nobody else sees
/// it, and removed again; that needs root. Settings of the machine that the regime needs are put back at the end, after
/// a kill by the next command that mounts an image. Where both differ, the first operation is named after which they
/// do. Exit status 0: all is equal; 1: it is not; 3: this kernel does not do the same each time, so that there is no
/// answer.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  fsage verify-model ext4:size=1G home.parquet
  fsage verify-model ext4:size=256M,regime=c w.ops --lenient --reduce least.ops")]
pub struct Args {
    /// The model: one that is exact for a kernel of today, with its keys.
    #[arg(value_name = "SPEC")]
    model: String,
    /// Workload, Parquet or .ops text.
    workload: PathBuf,
    /// Skip operations that do not fit the state instead of stopping.
    #[arg(long)]
    lenient: bool,
    /// Where both differ, also leave out operations as long as they still do, and write what is left.
    #[arg(long, value_name = "FILE.ops")]
    reduce: Option<PathBuf>,
    /// Replace a file of that name.
    #[arg(long, requires = "reduce")]
    force: bool,
    /// Where images lie while they are needed [default: the folder for temporary files].
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &Args, ui: Ui) -> anyhow::Result<()> {
    if let Some(path) = &args.reduce {
        may_write(path, args.force, [&args.workload])?;
    }
    let target = match TargetSpec::parse(&args.model) {
        Err(_) if Path::new(&args.model).is_file() => bail!(
            "`{}` is a file; the model comes first, as in `fsage verify-model ext4:size=1G {}`",
            args.model,
            args.model
        ),
        target => target?,
    };
    let folder = args.folder.clone().unwrap_or_else(std::env::temp_dir);
    let request = Request {
        target: &target,
        workload: &args.workload,
        lenient: args.lenient,
        folder: &folder,
        reduce: args.reduce.as_deref(),
        force: args.force,
    };
    let verdict = verify_model(&request, &ui)?;
    let mut out = ui::stdout();
    if args.json {
        summary::print_json(&mut out, &verdict)?;
    } else {
        print(&mut out, &verdict)?;
    }
    out.flush()?;
    match &verdict.difference {
        None => Ok(()),
        Some(difference) if difference.varied.is_some() => Err(Unsteady(format!(
            "{}: this kernel gave several layouts of one workload, as it does on a full disk or a busy machine; \
             repeat it, or take a larger size or fewer days",
            verdict.model
        ))
        .into()),
        Some(_) => Err(No(format!("{}: not what this kernel does", verdict.model)).into()),
    }
}

/// What to rule out before the model is blamed, the likeliest first.
fn print_causes(out: &mut impl Write, verdict: &Verdict) -> io::Result<()> {
    let causes = verdict.to_rule_out();
    match &causes[..] {
        [] => Ok(()),
        [only] => writeln!(out, "Rule out first: {only}"),
        _ => {
            writeln!(out, "Rule out first, the likeliest first:")?;
            let mut causes = causes.iter().zip(1..);
            causes.try_for_each(|(why, number)| writeln!(out, "  {number}. {why}"))
        }
    }
}

fn print(out: &mut impl Write, verdict: &Verdict) -> io::Result<()> {
    let fact = |name: &str| verdict.facts.get(name).map_or("?", String::as_str);
    writeln!(out, "Model   {}", verdict.model)?;
    writeln!(
        out,
        "Kernel  {} {}, mounted with {}",
        fact("file_system"),
        fact("kernel"),
        fact("mount_options")
    )?;
    writeln!(out, "Target  {}", verdict.real)?;
    writeln!(out, "Made by {}", fact("mkfs"))?;
    writeln!(
        out,
        "Regime  {}: no write-back by time, so that two runs are alike. Of a default mount, whose runs are \
         not, compare means over lives",
        fact("regime")
    )?;
    let skipped = match verdict.skipped {
        0 => String::new(),
        n => format!(", {n} of them skipped for lack of space, by both alike"),
    };
    writeln!(
        out,
        "Seen    {} operations, {} days{skipped}",
        verdict.operations, verdict.days
    )?;
    let Some(difference) = &verdict.difference else {
        writeln!(
            out,
            "Equal   {} inodes ({} directories), {} extents, {} runs of free space: all are the same",
            verdict.inodes, verdict.directories, verdict.extents, verdict.free_runs
        )?;
        if let Some(varied) = verdict.varied {
            writeln!(
                out,
                "  In {} of {} runs: otherwise this kernel did not do the same each time, as on a busy machine",
                varied.equal, varied.runs
            )?;
        }
        return Ok(());
    };
    if let Some(first) = &difference.first {
        writeln!(
            out,
            "They differ after operation {} (line {}): {}",
            first.number, first.line, first.text
        )?;
    } else {
        let equal = difference.varied.map(|varied| {
            format!(
                ": {} runs had {} layouts, and {} were equal to the model",
                varied.runs, varied.layouts, varied.equal
            )
        });
        writeln!(
            out,
            "They differed, and this kernel's layout varies, so that no model can be equal to it{}",
            equal.unwrap_or_default()
        )?;
    }
    for what in &difference.what {
        writeln!(out, "  {what}")?;
    }
    let said = difference.what.len() as u64;
    if difference.count > said {
        writeln!(out, "  and {} more", difference.count - said)?;
    }
    print_causes(out, verdict)?;
    // How much agrees. Where the first operation is known, it was looked for in a shorter workload.
    if difference.first.is_none() && verdict.inodes > 0 {
        let all = verdict.inodes + verdict.extents + verdict.free_runs;
        writeln!(
            out,
            "{} differences ({:.2} %) in the first run, of {} inodes, {} extents and {} runs of free space that the \
             kernel has on day {}",
            difference.count,
            difference.count as f64 / all as f64 * 100.0,
            verdict.inodes,
            verdict.extents,
            verdict.free_runs,
            verdict.days
        )?;
    }
    if let Some(operations) = difference.reduced_to {
        writeln!(out, "{operations} operations are enough")?;
    }
    if difference.first.is_some() && difference.reduced_to.is_none() {
        writeln!(
            out,
            "Next: --reduce least.ops leaves the fewest operations that differ; `fsage age least.ops --on {} --trace` \
             has each request",
            verdict.model
        )?;
    }
    Ok(())
}
