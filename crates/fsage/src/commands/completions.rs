//! `fsage completions`: what a shell needs to complete command lines, from the definitions of `--help`.

use super::Cli;
use crate::ui;
use clap::builder::PossibleValuesParser;
use clap::{Arg, Command, CommandFactory};
use clap_complete::Shell;
use fsage_bench::{Benchmark, benchmarks};
use fsage_disk::presets;
use fsage_target::catalogue;
use fsage_workload::preset;
use std::io::Write;

/// Prints completions for a shell.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  fsage completions bash > ~/.local/share/bash-completion/completions/fsage\n  \
                  fsage completions zsh > ~/.local/share/zsh/site-functions/_fsage\n  \
                  fsage completions fish > ~/.config/fish/completions/fsage.fish\n\n\
                  `make install` puts them there."
)]
pub struct Args {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

/// What a shell completes where a target is named. Bash ends a word at a colon, and so has the kinds alone; others have
/// the first key with the words that it takes. What comes behind a comma is not completed: a shell would have to ask
/// fsage for it.
fn completed(shell: Shell) -> Vec<&'static str> {
    let all = catalogue::completions();
    let kinds_only = shell == Shell::Bash;
    let chosen = all
        .into_iter()
        .filter(|text| !kinds_only || !text.trim_end_matches(':').contains(':'));
    // Definitions hold what lives as long as the program, which ends when it has printed them.
    chosen.map(|text| &*text.leak()).collect()
}

/// What may be completed where an argument takes any text: other targets and files are taken as well.
struct Words {
    targets: Vec<&'static str>,
    presets: Vec<&'static str>,
    drives: Vec<&'static str>,
    hosts: Vec<&'static str>,
    suites: Vec<&'static str>,
}

impl Words {
    fn new(shell: Shell) -> Words {
        let drives = presets::PRESETS.iter().chain(&presets::FLASH_PRESETS);
        let suites = benchmarks::ALL.into_iter().map(Benchmark::name);
        Words {
            targets: completed(shell),
            presets: preset::PRESETS.iter().map(|(name, _)| *name).collect(),
            drives: drives.map(|(name, _)| *name).collect(),
            hosts: fsage_host::presets::PRESETS
                .iter()
                .map(|(name, _)| *name)
                .collect(),
            suites: suites.chain(["all"]).collect(),
        }
    }

    /// The words of an argument.
    fn of(&self, arg: &Arg) -> &[&'static str] {
        let names = arg.get_value_names().unwrap_or_default();
        match arg.get_id().as_str() {
            _ if names.iter().any(|name| *name == "SPEC") => &self.targets,
            "preset" | "profile" | "show" => &self.presets,
            "device" | "drive" => &self.drives,
            "host" => &self.hosts,
            "suites" => &self.suites,
            _ => &[],
        }
    }
}

/// Gives every argument the words that may be completed; only the definitions for a shell have them.
fn with_words(command: Command, words: &Words) -> Command {
    let command = command.mut_args(|arg| match words.of(&arg) {
        [] => arg,
        of_arg => arg.value_parser(PossibleValuesParser::new(of_arg.iter().copied())),
    });
    command.mut_subcommands(|command| with_words(command, words))
}

/// Runs the command.
pub fn run(args: &Args) -> anyhow::Result<()> {
    // The generator panics where it cannot write, so it writes to memory.
    let mut script = Vec::new();
    let mut command = with_words(Cli::command(), &Words::new(args.shell));
    clap_complete::generate(args.shell, &mut command, "fsage", &mut script);
    let mut out = ui::stdout();
    out.write_all(&script)?;
    Ok(out.flush()?)
}
