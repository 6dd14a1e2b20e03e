//! `fsage convert`: workloads, snapshots and pools of profiles from one form into another.

mod foreign;
mod playback;
mod profiles;
mod snapshots;
mod workload;

use crate::ui::Ui;
use anyhow::bail;
use clap::ValueEnum;
use fsage_data::profiles::{PROFILES, is_profiles_csv};
use fsage_data::snapshot::INODES;
use fsage_data::{is_parquet, table};
use fsage_lab::generate::{GroupOptions, Output, Playback, Source, generate};
use fsage_lab::workload::is_there;
use std::fs;
use std::path::{Path, PathBuf};

/// Converts workloads between Parquet, .ops text and playback text, foreign snapshots to Parquet, snapshots between
/// full and delta form, and pools of profiles between Parquet and CSV.
///
/// Text and back gives the same bytes, but for comments, blank lines, size suffixes and spacing. Probes (dump,
/// cgs, geom, check, layout) are not stored in Parquet. Several foreign snapshots become one series in order of
/// time; several files of a GUFI trace become one snapshot.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  fsage convert W.parquet W.ops.zst\n  \
                  fsage convert night1.tsv0 night2.tsv0 nights.parquet --form delta\n  \
                  fsage convert nights.parquet small.parquet --form delta\n  \
                  fsage convert master.playback W.parquet --from playback")]
pub struct Args {
    /// What to read, then what to write. Input may be compressed; `-` is text from standard input. Output is
    /// NAME.parquet, for workloads also NAME.ops, NAME.ops.gz, NAME.ops.zst, NAME.playback; `-` is text to
    /// standard output.
    #[arg(required = true, num_args = 2.., value_names = ["FROM", "TO"])]
    paths: Vec<PathBuf>,
    /// Format of the input [default: recognized by its first bytes, else by its name].
    #[arg(long, value_enum)]
    from: Option<From>,
    /// Format of the output [default: by its name].
    #[arg(long, value_enum)]
    to: Option<To>,
    #[command(flatten)]
    foreign: foreign::Options,
    #[command(flatten)]
    groups: GroupOptions,
    /// Print the summary of foreign formats as JSON.
    #[arg(long)]
    json: bool,
    /// Write over an existing file.
    #[arg(long)]
    force: bool,
}

/// Formats of inputs that may be named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum From {
    /// NUL-terminated records of find -printf.
    Find,
    /// A table with a header that names the columns; one snapshot or a series.
    Csv,
    /// fs-hasher, .hash.anon, versions 4 to 7.
    FsHasher,
    /// A GUFI trace.
    Gufi,
    /// A GUFI trace without length prefixes.
    GufiOld,
    /// The aging workload format of Smith and Seltzer.
    Playback,
    /// A workload as .ops text.
    Ops,
}

/// Formats of outputs that names cannot tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum To {
    /// The aging workload format of Smith and Seltzer.
    Playback,
}

/// Runs the command.
pub fn run(args: &Args, ui: Ui) -> anyhow::Result<()> {
    let (to, from) = args.paths.split_last().expect("two paths at least");
    for from in from {
        if let (Ok(a), Ok(b)) = (fs::canonicalize(from), fs::canonicalize(to))
            && a == b
        {
            bail!("{}: cannot be converted into itself", from.display());
        }
    }
    let first = &from[0];
    is_there(first)?;
    let table = if args.from.is_none() {
        schema(first)?
    } else {
        None
    };
    match table.as_deref() {
        Some(INODES) => return snapshots::convert(from, to, args, ui),
        Some(PROFILES) => return profiles::convert(only(from)?, to, args),
        _ => {}
    }
    if args.to == Some(To::Playback) || has_ending(to, ".playback") {
        return playback::export(only(from)?, to, args, ui);
    }
    let is_ops = args.from == Some(From::Ops);
    if is_ops || (args.from.is_none() && (first.as_os_str() == "-" || is_parquet(first)?)) {
        return workload::convert(only(from)?, to, args.force, ui);
    }
    match foreign::recognize(from, args)? {
        foreign::Inputs::Snapshots(inputs) => foreign::convert(inputs, to, args, ui),
        foreign::Inputs::Playback => {
            let output = Output {
                path: to.clone(),
                force: args.force,
                json: args.json,
            };
            let source = Source::Playback(Playback {
                file: only(from)?.to_owned(),
                groups: args.groups,
            });
            let made = generate(&source, &output, &ui)?;
            super::generate::report(&output.path, output.json, &made, ui)
        }
        foreign::Inputs::Ops => workload::convert(only(from)?, to, args.force, ui),
    }
}

/// What kind of table the input is; folders hold snapshots.
fn schema(path: &Path) -> anyhow::Result<Option<String>> {
    if path.is_dir() {
        return Ok(Some(INODES.to_owned()));
    }
    if is_parquet(path)? {
        return Ok(table::parquet_info(path)?.schema);
    }
    let pool = path.is_file() && is_profiles_csv(path)?;
    Ok(pool.then(|| PROFILES.to_owned()))
}

/// The one input of what takes no more.
fn only(from: &[PathBuf]) -> anyhow::Result<&Path> {
    match from {
        [only] => Ok(only),
        _ => bail!(
            "{}: only snapshots can be converted several at once",
            from[0].display()
        ),
    }
}

fn has_ending(path: &Path, ending: &str) -> bool {
    path.to_string_lossy().ends_with(ending)
}
