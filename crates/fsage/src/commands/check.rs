//! `fsage check`: whether a run or snapshots keep to rules, or have become worse than others.

use crate::exit;
use crate::summary;
use crate::ui::{self, Ui};
use anyhow::Context;
use clap::{ValueEnum, ValueHint};
use fsage_durable::PartialFile;
use fsage_lab::check::{self, Matching, Outcome, PRESETS, Rules};
use std::io::Write;
use std::path::PathBuf;

/// Checks a run or snapshots against rules or an older one; prints what fails and exits 1.
///
/// Metrics of days and medians of benchmarks must keep to limits, or to what a baseline has. What was skipped, what is
/// missing and what is not complete fails too. Benchmarks are slower only if their intervals do not overlap.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  fsage check run --rules rules.toml\n  fsage check new --baseline old\n  \
                  fsage check nights/ --max-age 1.5\n  \
                  fsage check new --baseline old --rules rules.toml --format junit -o check.xml\n  \
                  fsage check new --baseline old --format markdown >> \"$GITHUB_STEP_SUMMARY\"\n  \
                  fsage check --show regression\n\n\
                  With --quiet text has only what fails or is open.\n\
                  Exit status: 0 nothing fails, 1 something does, 2 the rules are wrong.\n\
                  What lives or repetitions leave open does not fail, unless the rule says prove = true."
)]
pub struct Args {
    /// The run or experiment: the folder that `fsage age`, `fsage compare` or `fsage run` made; or one target of
    /// a run, RUN/TARGET. Or snapshots: a file, or a folder of a file system's.
    #[arg(required_unless_present_any = ["list", "show"], value_hint = ValueHint::AnyPath)]
    run: Option<PathBuf>,
    /// Rules: a TOML file, or a name of --list [default: regression where there is a baseline, else
    /// nights for snapshots].
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    rules: Option<String>,
    /// A run, a target of one, or an experiment to compare with, of the same workload.
    #[arg(long, value_name = "OLD", value_hint = ValueHint::DirPath)]
    baseline: Option<PathBuf>,
    /// How targets find theirs in the baseline [default: as the rules say, else by name].
    #[arg(long = "match", value_name = "HOW", value_enum)]
    matching: Option<Matching>,
    /// Fail where the newest snapshot was taken more than so many days ago, as in 1.5 [default: as the rules say, else
    /// any age].
    #[arg(long, value_name = "DAYS", value_parser = age)]
    max_age: Option<f64>,
    /// Form of the results.
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    /// File for the results; they are printed as text then.
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,
    /// Replace a file of that name.
    #[arg(long, requires = "output")]
    force: bool,
    /// Print the names of rules that come with fsage.
    #[arg(long, conflicts_with_all = ["run", "show"])]
    list: bool,
    /// Print rules that come with fsage, as a beginning of your own.
    #[arg(long, value_name = "NAME", conflicts_with = "run")]
    show: Option<String>,
}

/// How results are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
    /// For continuous integration.
    Junit,
    /// A table, for a summary or a comment of a pull request.
    Markdown,
    /// Annotations of GitHub Actions: an error for each failure, a warning for what is open.
    Github,
}

/// Runs the command.
pub fn run(args: &Args, ui: Ui) -> anyhow::Result<()> {
    let mut out = ui::stdout();
    if args.list {
        for (name, text) in PRESETS {
            let summary = text.lines().next().unwrap_or_default();
            writeln!(out, "{name:12} {}", summary.trim_start_matches("# "))?;
        }
        return Ok(out.flush()?);
    }
    if let Some(name) = &args.show {
        Rules::named(name)?;
        let preset = PRESETS.iter().find(|(preset, _)| preset == name);
        let (_, text) =
            preset.with_context(|| format!("{name}: a file; `--list` names the rules of fsage"))?;
        write!(out, "{text}")?;
        return Ok(out.flush()?);
    }
    let run = args
        .run
        .as_ref()
        .context("RUN is needed: the folder of a run, or snapshots")?;
    let mut rules = Rules::given(args.rules.as_deref(), run, args.baseline.is_some())?;
    if let Some(matching) = args.matching {
        rules.matching = matching;
    }
    rules.max_age_days = args.max_age.or(rules.max_age_days);
    let outcome = check::check(run, &rules, args.baseline.as_deref())?;
    match &args.output {
        Some(path) => {
            let mut file = PartialFile::create(path, args.force)?;
            write_as(args.format, &outcome, false, &mut file)?;
            file.finish()?;
            write_as(Format::Text, &outcome, ui.quiet, &mut out)?;
            ui.note(&format!("The results are in {}.", path.display()));
        }
        None => write_as(args.format, &outcome, ui.quiet, &mut out)?,
    }
    out.flush()?;
    for doubt in outcome.doubts() {
        ui.note(&doubt);
    }
    if let (Some(baseline), false) = (&args.baseline, outcome.passed) {
        let (baseline, run) = (check::run_of(baseline), check::run_of(run));
        ui.note(&if baseline == run {
            format!(
                "Next: `fsage report {}` shows both, and why.",
                run.display()
            )
        } else {
            format!(
                "Next: `fsage report {} {} -o both.html` shows what changed, side by side; of a model `fsage history \
                 RUN/TARGET` says why one file came to its pieces.",
                baseline.display(),
                run.display()
            )
        });
    }
    if outcome.passed {
        Ok(())
    } else {
        Err(exit::No(outcome.sentence()).into())
    }
}

fn age(text: &str) -> Result<f64, String> {
    let days = text.parse().ok().filter(|&days| check::is_age(days));
    days.ok_or_else(|| "expected a number of days above 0, as in 1.5".to_owned())
}

fn write_as(
    format: Format,
    outcome: &Outcome,
    is_quiet: bool,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    match format {
        Format::Text if is_quiet => outcome.print_failures(out)?,
        Format::Text => outcome.print(out)?,
        Format::Json => summary::print_json(out, outcome)?,
        Format::Junit => write!(out, "{}", outcome.junit()?)?,
        Format::Markdown => outcome.markdown(out)?,
        Format::Github => outcome.annotate(out)?,
    }
    Ok(())
}
