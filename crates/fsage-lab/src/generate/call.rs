//! The words of `fsage generate`.

use super::profile::{MOST_DAYS, MOST_PERCENT, MOST_TIMES};
use super::{Git, Nfsdump, Oplog, Output, Playback, Profile, Snapshots, Source, Strace};
use crate::error::Context;
use clap::error::ErrorKind;
use clap::{ArgMatches, Command, FromArgMatches, Subcommand};
use fsage_core::size;
use std::path::PathBuf;

/// Makes a workload.
///
/// The ending of the output says its form: .parquet, or .ops, .ops.gz, .ops.zst; `-` is text to stdout.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  fsage generate snapshots nightly/ -o mine.parquet\n  \
                  fsage generate profile home-1996 -o home.parquet\n  \
                  fsage generate git ~/src/redis --clones 20 --stagger 365 -o redis20.parquet\n  \
                  fsage generate strace build.strace.zst --window trace --profiles pool.parquet -o build.parquet"
)]
pub struct Args {
    #[command(subcommand)]
    call: Call,
}

#[derive(Debug, Subcommand)]
enum Call {
    Snapshots(Box<To<Snapshots>>),
    Git(To<Git>),
    Strace(To<Strace>),
    Nfsdump(To<Nfsdump>),
    Oplog(To<Oplog>),
    Playback(To<Playback>),
    Profile(ProfileCall),
}

/// A source, and where its workload goes. Its help is that of the source.
#[derive(Debug)]
struct To<S> {
    source: S,
    output: Output,
}

impl<S: clap::Args> clap::Args for To<S> {
    fn augment_args(command: Command) -> Command {
        let command = S::augment_args(command);
        let (about, long) = (
            command.get_about().cloned(),
            command.get_long_about().cloned(),
        );
        let command = Output::augment_args(command);
        let command = command.about(about.unwrap_or_default());
        match long {
            Some(long) => command.long_about(long),
            None => command,
        }
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<S: clap::Args> FromArgMatches for To<S> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<To<S>, clap::Error> {
        Ok(To {
            source: S::from_arg_matches(matches)?,
            output: Output::from_arg_matches(matches)?,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = To::from_arg_matches(matches)?;
        Ok(())
    }
}

/// A synthetic workload: a preset, a TOML file of one's own, or a profile of Geriatrix.
///
/// `--list` names the presets; `--show NAME` prints the TOML of one, a start for one's own.
#[derive(Debug, clap::Args)]
// Every flag of the command line is one.
#[allow(clippy::struct_excessive_bools)]
struct ProfileCall {
    /// Name of a preset, TOML file, or folder with the three files of a Geriatrix profile.
    #[arg(value_name = "NAME|FILE.toml|FOLDER", required_unless_present_any = ["list", "show"])]
    profile: Option<String>,
    /// List the presets.
    #[arg(long, conflicts_with_all = ["show", "profile", "output"])]
    list: bool,
    /// Print the TOML of a preset.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["profile", "output", "json"])]
    show: Option<String>,
    /// Seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The same curves over so many days, with the same activity a day if the profile says that, else in all [default:
    /// as the profile says].
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=MOST_DAYS))]
    days: Option<u64>,
    /// Another size of the file system, as in 512M, with as many more operations and files.
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    capacity: Option<u64>,
    /// Files N times larger, on a file system N times larger, with no more operations; a capacity is that of the larger
    /// one [default: 1].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MOST_TIMES))]
    file_scale: Option<u64>,
    /// Utilization at the end, in percent of the capacity; a curve keeps its shape.
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(1..=i64::from(MOST_PERCENT)))]
    utilization: Option<u8>,
    /// A value in place of the profile's own, by its key in the TOML file (--show NAME), as in size.mean1=4096; may be
    /// given several times.
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    set: Vec<(String, String)>,
    /// The workload to write.
    #[arg(short = 'o', long = "output", value_name = "W", required_unless_present_any = ["list", "show"])]
    output: Option<PathBuf>,
    /// Replace a file of that name.
    #[arg(long)]
    force: bool,
    /// Print the summary, or the list, as JSON.
    #[arg(long)]
    json: bool,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').filter(|(key, _)| !key.is_empty());
    let (key, value) = pair.ok_or("expected KEY=VALUE, as in size.mean1=4096")?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}

/// What the words ask for.
#[derive(Clone, Debug)]
pub enum Request {
    /// A workload.
    Make(Box<Source>, Output),
    /// Something about presets.
    Answer(Question),
}

/// What can be asked of presets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// Which ones there are.
    List {
        /// As JSON.
        json: bool,
    },
    /// The TOML of this one.
    Show(String),
}

impl Args {
    /// What they ask for.
    ///
    /// # Errors
    /// A profile without its name or output.
    pub fn request(&self) -> crate::Result<Request> {
        let make = |source, output: &Output| Ok(Request::Make(Box::new(source), output.clone()));
        match &self.call {
            Call::Snapshots(call) => make(
                Source::Snapshots(Box::new(call.source.clone())),
                &call.output,
            ),
            Call::Git(call) => make(Source::Git(call.source.clone()), &call.output),
            Call::Strace(call) => make(Source::Strace(call.source.clone()), &call.output),
            Call::Nfsdump(call) => make(Source::Nfsdump(call.source.clone()), &call.output),
            Call::Oplog(call) => make(Source::Oplog(call.source.clone()), &call.output),
            Call::Playback(call) => make(Source::Playback(call.source.clone()), &call.output),
            Call::Profile(call) => call.request(),
        }
    }
}

impl ProfileCall {
    fn request(&self) -> crate::Result<Request> {
        if self.list {
            return Ok(Request::Answer(Question::List { json: self.json }));
        }
        if let Some(name) = &self.show {
            return Ok(Request::Answer(Question::Show(name.clone())));
        }
        let needed = "a profile and an output are needed: fsage generate profile NAME -o W";
        let source = Profile {
            profile: self.profile.clone().context(needed)?,
            seed: Some(self.seed),
            days: self.days,
            capacity: self.capacity,
            file_scale: self.file_scale,
            utilization: self.utilization,
            set: self
                .set
                .iter()
                .map(|(key, value)| (key.clone(), toml::Value::from(value.as_str())))
                .collect(),
        };
        let output = Output {
            path: self.output.clone().context(needed)?,
            force: self.force,
            json: self.json,
        };
        Ok(Request::Make(Box::new(Source::Profile(source)), output))
    }
}

/// The source that the words behind `fsage generate` name, without the output: `profile`, `home-1996`.
pub(super) fn source(words: &[String]) -> Result<Source, clap::Error> {
    let words = words.iter().map(String::as_str).chain(["-o", "-"]);
    let command = command().no_binary_name(true);
    let matches = command.try_get_matches_from(words)?;
    match Args::from_arg_matches(&matches)?.request() {
        Ok(Request::Make(source, _)) => Ok(*source),
        Ok(Request::Answer(_)) | Err(_) => Err(clap::Error::new(ErrorKind::MissingSubcommand)),
    }
}

/// `fsage generate`, with a verb a source.
pub(super) fn command() -> Command {
    use clap::Args as _;
    Args::augment_args(Command::new("generate"))
}
