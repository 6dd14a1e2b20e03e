//! `fsage generate snapshots`: a workload from the snapshots of a file system.

use super::output::{Generated, Output, Row, Temporary, row, write};
use super::profile_pool;
use crate::aging::snapshots_taken;
use crate::error::{Context, bail};
use crate::watch::Watch;
use clap::ValueEnum;
use fsage_core::identity::Identity;
use fsage_core::{EventSink, WorkloadHeader};
use fsage_data::snapshot::open_snapshots;
use fsage_data::{WorkloadReader, create_workload};
use fsage_workload::clones::Clones;
use fsage_workload::from_snapshots::{
    DeleteTimes, Draws, FromSnapshots, FromSnapshotsSummary, Growth, Modifications, Options,
    Placement, ShortLived,
};
use fsage_workload::repeat::{self, Repeat, RepeatSummary};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::PathBuf;

/// What headers of workloads call this generator.
pub(crate) const GENERATOR: &str = "snapshots";

/// Snapshots of a file system: what leads from each to the next.
///
/// Creates and changes are at the times that the inodes tell, deletions where the evidence puts them. Files that came
/// and went between two snapshots are in none: give --profiles of a trace to add such files.
#[derive(Clone, Debug, clap::Args, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[command(
    after_help = "Example:\n  fsage generate snapshots nightly/ --profiles builds.parquet -o mine.parquet"
)]
pub struct Snapshots {
    /// Folders of snapshots, or snapshots and series of them (Parquet; `fsage convert` makes them of other forms).
    #[arg(required = true)]
    pub snapshots: Vec<PathBuf>,
    /// How the times of deletions are found.
    #[arg(long, value_enum, default_value = "reuse", value_name = "RULE")]
    #[serde(default)]
    pub delete_times: DeleteTimesName,
    /// How a large new file is written.
    #[arg(long, value_enum, default_value = "stretched", value_name = "HOW")]
    #[serde(default)]
    pub growth: GrowthName,
    /// What tells an inode from another one that had its number before.
    #[arg(long, value_enum, default_value = "auto")]
    #[serde(default)]
    pub identity: IdentityName,
    /// What a changed file becomes.
    #[arg(long, value_enum, default_value = "observed", value_name = "HOW")]
    #[serde(default)]
    pub modifications: ModificationsName,
    /// Where files are put [default: tree if there are paths, else groups].
    #[arg(long, value_enum)]
    #[serde(default)]
    pub placement: Option<PlacementName>,
    /// Profiles of short-lived files; may be given several times.
    #[arg(long, value_name = "POOL")]
    #[serde(default)]
    pub profiles: Vec<PathBuf>,
    /// How profiles are drawn.
    #[arg(
        long,
        value_enum,
        default_value = "smith97",
        value_name = "RULE",
        requires = "profiles"
    )]
    #[serde(default)]
    pub short_lived: DrawsName,
    /// Profiles a day [default: one for each 40 MB of the file system].
    #[arg(long, value_name = "N", requires = "profiles")]
    #[arg(value_parser = clap::value_parser!(u64).range(0..=MOST_PROFILES))]
    #[serde(default)]
    pub profiles_a_day: Option<u64>,
    /// Blocks are chosen up to this long after a write (delayed allocation).
    #[arg(long, value_name = "SECONDS", default_value_t = 0.0)]
    #[serde(default)]
    pub allocation_delay: f64,
    /// Whether blocks that others got tell when a file went; off where blocks move by themselves [default: by the type
    /// of file system].
    #[arg(long, value_name = "BOOL")]
    #[serde(default)]
    pub block_reuse: Option<bool>,
    /// The last removal from a directory dates only one file of it, not all that went.
    #[arg(long)]
    #[serde(default)]
    pub single_removals: bool,
    /// Scale the workload to a file system FACTOR times larger: copies of its directories, each moved within the day.
    #[arg(long, value_name = "FACTOR")]
    #[serde(default)]
    pub scale: Option<f64>,
    /// So many more years, from days of the past drawn at random.
    #[arg(long, value_name = "YEARS")]
    #[serde(default)]
    pub repeat: Option<f64>,
    /// Seed of what is guessed [default: 1].
    #[arg(long, value_name = "SEED")]
    #[serde(default)]
    pub seed: Option<u64>,
}

/// When files were deleted that are gone in the next snapshot.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum DeleteTimesName {
    /// At random between the first and the last other operation (Smith and Seltzer 1996).
    Smith96,
    /// Before the create that used the inode again, else at random (Smith and Seltzer 1997).
    Smith97,
    /// By reuse of inodes, names and blocks and by the times of directories.
    #[default]
    Reuse,
}

/// How a large new file is written.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum GrowthName {
    /// At once, at its change time, as in the papers.
    Burst,
    /// In pieces: from its birth to its last change, or between the files made in its directory meanwhile.
    #[default]
    Stretched,
}

impl GrowthName {
    /// What the generator makes of it.
    pub fn growth(self) -> Growth {
        match self {
            GrowthName::Burst => Growth::Burst,
            GrowthName::Stretched => Growth::STRETCHED,
        }
    }
}

/// How a file is known again.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum IdentityName {
    /// The best that both snapshots have.
    #[default]
    Auto,
    /// Generation numbers.
    Generation,
    /// Birth times.
    Birth,
    /// Inode numbers alone.
    Ino,
}

/// What a changed file stands for.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum ModificationsName {
    /// What its blocks say: overwrite, append, truncate or rewrite.
    #[default]
    Observed,
    /// A rewrite, as in the papers.
    Rewrite,
}

/// In which directories files lie.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum PlacementName {
    /// The directories of the source.
    Tree,
    /// One directory for each cylinder group.
    Groups,
}

/// How short-lived files are drawn from the pool.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum DrawsName {
    /// All profiles of one traced day, the busiest into the most active directory.
    Smith96,
    /// So many profiles a day, each into one of the most active directories.
    #[default]
    Smith97,
    /// As smith96, but a busy day gets a busy traced day.
    Matched,
}

/// Profiles of short-lived files a day, at most.
const MOST_PROFILES: u64 = 100_000;

/// That the options make sense.
pub fn check(args: &Snapshots) -> crate::Result<()> {
    if args.profiles_a_day.is_some_and(|n| n > MOST_PROFILES) {
        bail!("profiles_a_day: expected 0 to {MOST_PROFILES}");
    }
    if args.profiles_a_day.is_some() && args.profiles.is_empty() {
        bail!("profiles_a_day: there are no `profiles` to take");
    }
    Ok(())
}

impl Snapshots {
    /// These, with the usual rules.
    pub fn of(snapshots: Vec<PathBuf>) -> Snapshots {
        Snapshots {
            snapshots,
            delete_times: DeleteTimesName::default(),
            growth: GrowthName::default(),
            identity: IdentityName::default(),
            modifications: ModificationsName::default(),
            placement: None,
            profiles: Vec::new(),
            short_lived: DrawsName::default(),
            profiles_a_day: None,
            allocation_delay: 0.0,
            block_reuse: None,
            single_removals: false,
            scale: None,
            repeat: None,
            seed: None,
        }
    }

    fn options(&self) -> Options {
        Options {
            seed: self.seed.unwrap_or(1),
            delete_times: match self.delete_times {
                DeleteTimesName::Smith96 => DeleteTimes::Smith96,
                DeleteTimesName::Smith97 => DeleteTimes::Smith97,
                DeleteTimesName::Reuse => DeleteTimes::Reuse,
            },
            identity: match self.identity {
                IdentityName::Auto => Identity::Auto,
                IdentityName::Generation => Identity::Generation,
                IdentityName::Birth => Identity::Birth,
                IdentityName::Ino => Identity::Ino,
            },
            modifications: match self.modifications {
                ModificationsName::Observed => Modifications::Observed,
                ModificationsName::Rewrite => Modifications::Rewrite,
            },
            growth: self.growth.growth(),
            placement: self.placement.map(|placement| match placement {
                PlacementName::Tree => Placement::Tree,
                PlacementName::Groups => Placement::Groups,
            }),
            allocation_delay_ns: (self.allocation_delay.max(0.0) * 1e9) as i64,
            block_reuse: self.block_reuse,
            removals_in_bursts: !self.single_removals,
        }
    }

    fn draws(&self) -> Draws {
        match self.short_lived {
            DrawsName::Smith96 => Draws::Days,
            DrawsName::Matched => Draws::Matched,
            DrawsName::Smith97 => Draws::Profiles {
                a_day: self.profiles_a_day,
            },
        }
    }
}

/// Makes the workload.
///
/// # Errors
/// The input is not what it should be, or cannot be read; the output cannot be written.
pub fn run(args: &Snapshots, output: &Output, ui: &dyn Watch) -> crate::Result<Generated> {
    output.check(args.snapshots.iter().chain(&args.profiles))?;
    if !(0.0..=1e6).contains(&args.allocation_delay) {
        bail!("--allocation-delay takes seconds from 0 to 1000000");
    }
    let scale = args
        .scale
        .map(|factor| Clones::scaled(factor, args.seed.unwrap_or(1)));
    let scale = scale.transpose()?;
    let days = match args.repeat {
        Some(years) => {
            repeat::days_of_years(years).context("--repeat takes a number of years, 0 or more")?
        }
        None => 0,
    };
    // Of a target of a run those that were taken while it aged, if some were.
    let snapshots = args.snapshots.iter();
    let snapshots = snapshots.map(|path| snapshots_taken(path).unwrap_or_else(|| path.clone()));
    let mut source = open_snapshots(&snapshots.collect::<Vec<_>>())?;
    let pool = profile_pool::read(&args.profiles)?;
    let short_lived = (!pool.is_empty()).then(|| ShortLived {
        pool: &pool,
        draws: args.draws(),
    });
    let options = args.options();
    let generator = FromSnapshots::begin(source.as_mut(), options.clone(), short_lived)?;
    let single = WorkloadHeader {
        generator: Some(parameters(args, &options, generator.placement()).to_string()),
        ..generator.header()
    };
    let make = |sink: &mut dyn EventSink| -> crate::Result<_> {
        let bar = ui.bar_count(source.progress().map(|(_, of)| of), "reading snapshots");
        let mut progress = |n| bar.set_position(n);
        let made = if args.repeat.is_some() {
            let mut repeat = Repeat::new(&single, args.seed.unwrap_or(1), sink);
            let summary = generator.generate(source.as_mut(), &mut repeat, &mut progress)?;
            drop(bar);
            let bar = ui.bar_count(Some(days), "repeating days");
            let repeated = repeat.finish(days, &mut |n| bar.set_position(n))?;
            drop(bar);
            (summary, Some(repeated))
        } else {
            (
                generator.generate(source.as_mut(), sink, &mut progress)?,
                None,
            )
        };
        Ok(made)
    };
    let (summary, repeated, tally) = if let Some(scale) = scale {
        // The copies read the single workload side by side, each at its own place: it must lie in a file.
        let file = Temporary::beside(&output.path, "single.parquet")?;
        let mut once = create_workload(file.path(), &single, true)?;
        let (summary, repeated) = make(&mut once)?;
        once.finish()?;
        let header = WorkloadHeader {
            generator: single.generator.clone(),
            ..scale.header(&single)
        };
        let (_, tally) = write(output, &header, ui, None, |sink| {
            Ok(scale.interleave(|| Ok(WorkloadReader::open(file.path())?), sink)?)
        })?;
        (summary, repeated, tally)
    } else {
        let ((summary, repeated), tally) = write(output, &single, ui, None, make)?;
        (summary, repeated, tally)
    };
    if let Some(drifted) = repeated.as_ref().and_then(drifted) {
        ui.warn(&drifted);
    }
    let repeated = repeated.as_ref().map(repeat_rows).unwrap_or_default();
    for warning in warnings(args, &summary) {
        ui.warn(&warning);
    }
    Ok(Generated::new([rows(&summary), repeated].concat(), tally))
}

/// That the number of files drifted, and why: the space in use is held, and not the size of a file.
fn drifted(s: &RepeatSummary) -> Option<String> {
    let (before, after) = s.live_files;
    (before.abs_diff(after) * 10 > before).then(|| {
        format!(
            "--repeat: {after} files are left of {before}: the days that are repeated make files of another size than \
             those that are there, and the space in use is held, by {} deletions that no past day had; more nights \
             tell more of what is usual",
            s.extra_deletes
        )
    })
}

fn repeat_rows(s: &RepeatSummary) -> Vec<Row> {
    vec![
        row("days repeated", "repeated_days", s.days),
        row("  their operations", "repeated_operations", s.operations),
        row(
            "  aimed at, bytes in use",
            "repeated_level_bytes",
            s.level_bytes,
        ),
        row("  files made", "repeated_creates", s.creates),
        row("  files deleted", "repeated_deletes", s.deletes),
        row(
            "    of these, to hold the space in use",
            "repeated_extra_deletes",
            s.extra_deletes,
        ),
        row(
            "  files before them",
            "repeated_first_files",
            s.live_files.0,
        ),
        row("  files after them", "repeated_live_files", s.live_files.1),
        row(
            "  renames left out",
            "repeated_left_out_renames",
            s.left_out_renames,
        ),
        row(
            "  links left out",
            "repeated_left_out_links",
            s.left_out_links,
        ),
    ]
}

/// Everything that makes this workload again from the same snapshots, but the seed.
fn parameters(args: &Snapshots, options: &Options, placement: Placement) -> Value {
    json!({
        "name": GENERATOR,
        "version": env!("CARGO_PKG_VERSION"),
        "delete_times": options.delete_times.as_str(),
        "growth": format!("{:?}", args.growth).to_lowercase(),
        "identity": format!("{:?}", args.identity).to_lowercase(),
        "modifications": format!("{:?}", args.modifications).to_lowercase(),
        "placement": placement.as_str(),
        "allocation_delay_ns": options.allocation_delay_ns,
        "block_reuse": options.block_reuse,
        "removals_in_bursts": options.removals_in_bursts,
        "profiles": args.profiles.iter().map(|p| p.to_string_lossy()).collect::<Vec<_>>(),
        "short_lived": format!("{:?}", args.short_lived).to_lowercase(),
        "profiles_a_day": args.profiles_a_day,
        "scale": args.scale,
        "repeat_years": args.repeat,
    })
}

fn rows(s: &FromSnapshotsSummary) -> Vec<Row> {
    let placement = s.placement.map_or("", Placement::as_str);
    let mut rows = vec![
        row("snapshots", "snapshots", s.snapshots),
        (
            "placement".to_owned(),
            placement.to_owned(),
            "placement",
            placement.into(),
        ),
        row(
            "files of the first snapshot",
            "initial_files",
            s.initial_files,
        ),
        row("files that came", "creates", s.creates),
        row("files that went", "deletes", s.deletes),
        row(
            "  of these, replaced at their inode",
            "replaced",
            s.replaced,
        ),
        row("changes of content", "modifies", s.modifies),
        row("  written in place", "overwrites", s.overwrites),
        row("  appended to", "appends", s.appends),
        row("  cut", "truncates", s.truncates),
        row("  written anew", "rewrites", s.rewrites),
        row("names moved", "renames", s.renames),
        row("directories that came", "mkdirs", s.mkdirs),
        row("directories that went", "rmdirs", s.rmdirs),
        row("files at the end", "live_files", s.live_files),
        row("bytes at the end", "live_bytes", s.live_bytes),
    ];
    // What most histories have none of is shown only where there is some.
    for (name, value, key, number) in rare_rows(s) {
        let value = if number == 0 { String::new() } else { value };
        rows.push((name, value, key, number));
    }
    rows
}

fn rare_rows(s: &FromSnapshotsSummary) -> Vec<Row> {
    vec![
        row(
            "changes that may be replacements",
            "guessed_same",
            s.guessed_same,
        ),
        row(
            "changes of attributes only, left out",
            "attribute_changes",
            s.attribute_changes,
        ),
        row(
            "deletions dated by inode or name reuse",
            "deletes_by_reuse",
            s.deletes_by_reuse,
        ),
        row(
            "deletions dated by their directory",
            "deletes_by_last_removal",
            s.deletes_by_last_removal,
        ),
        row("deletions bounded", "deletes_bounded", s.deletes_bounded),
        row(
            "deletions without evidence",
            "deletes_without_evidence",
            s.deletes_without_evidence,
        ),
        row(
            "deletions whose blocks were used again",
            "block_evidence",
            s.block_evidence,
        ),
        row(
            "files emptied before they were rewritten",
            "emptied_early",
            s.emptied_early,
        ),
        row("large files written in pieces", "stretched", s.stretched),
        row(
            "short-lived files that generations count",
            "hidden_by_generation",
            s.hidden_by_generation,
        ),
        row(
            "profiles of short-lived files drawn",
            "profiles",
            s.profiles,
        ),
        row(
            "short-lived files",
            "short_lived_files",
            s.short_lived_files,
        ),
        row("bytes of these", "short_lived_bytes", s.short_lived_bytes),
        row(
            "times moved into their interval",
            "clamped_times",
            s.clamped_times,
        ),
        row(
            "snapshots not later than the one before",
            "clocks_back",
            s.clocks_back,
        ),
        row(
            "FIFOs, sockets and devices, as empty files",
            "stand_ins",
            s.stand_ins,
        ),
        row("inodes without a usable path", "orphans", s.orphans),
        row("writes of sparse files", "sparse_writes", s.sparse_writes),
        row(
            "names moved aside for a while",
            "moved_aside",
            s.moved_aside,
        ),
        row("contradictions", "contradictions", s.contradictions),
    ]
}

/// What the user should know of how far the workload can be trusted.
fn warnings(args: &Snapshots, s: &FromSnapshotsSummary) -> Vec<String> {
    let mut warnings = Vec::new();
    if s.snapshots < 2 {
        warnings.push("there is one snapshot only: nothing is known of what changed".to_owned());
    }
    if !s.blocks_used && s.deletes > 0 && matches!(args.delete_times, DeleteTimesName::Reuse) {
        warnings.push(
            "the snapshots record no blocks (or blocks of this file system move by themselves): deletions are dated by \
             reuse of inodes and names and by directories alone"
                .to_owned(),
        );
    }
    if s.guessed_same > 0 {
        warnings.push(format!(
            "{} changed files may be replacements: only generation numbers or birth times would show it",
            s.guessed_same
        ));
    }
    if s.contradictions > 0 {
        warnings.push(format!(
            "{} contradictions in the snapshots: an inode of two types, a deletion of what was not there, \
             directories in one another",
            s.contradictions
        ));
    }
    if s.touched_by_all > 0 {
        warnings.push(format!(
            "in {} intervals more than half of the files changed without new content: a backup or a relabeling run",
            s.touched_by_all
        ));
    }
    if !args.profiles.is_empty() && s.profiles == 0 {
        warnings.push(
            "no profile was drawn: the file system is smaller than the 40 MB for which there is one a day; \
             --profiles-a-day N draws more"
                .to_owned(),
        );
    }
    if args.profiles.is_empty() && s.snapshots > 1 {
        warnings.push(
            "files that came and went between two snapshots are in none; `fsage generate snapshots --profiles` adds \
             such files from a trace"
                .to_owned(),
        );
    }
    warnings
}
