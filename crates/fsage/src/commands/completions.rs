//! `fsage completions`: what a shell needs to complete command lines, from the definitions of `--help`.

use super::Cli;
use crate::ui;
use clap::builder::PossibleValuesParser;
use clap::{Arg, Command, CommandFactory};
use clap_complete::Shell;
use fsage_target::catalogue;
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

/// Gives every argument that is a target the words that may be completed; only the definitions for a shell have them,
/// so that other targets are taken as well.
fn with_targets(command: Command, words: &[&'static str]) -> Command {
    let is_target = |arg: &Arg| {
        let names = arg.get_value_names().unwrap_or_default();
        names.iter().any(|name| *name == "SPEC")
    };
    let command = command.mut_args(|arg| {
        if is_target(&arg) {
            arg.value_parser(PossibleValuesParser::new(words.iter().copied()))
        } else {
            arg
        }
    });
    command.mut_subcommands(|command| with_targets(command, words))
}

/// Runs the command.
pub fn run(args: &Args) -> anyhow::Result<()> {
    // The generator panics where it cannot write, so it writes to memory.
    let mut script = Vec::new();
    let mut command = with_targets(Cli::command(), &completed(args.shell));
    clap_complete::generate(args.shell, &mut command, "fsage", &mut script);
    let mut out = ui::stdout();
    out.write_all(&script)?;
    Ok(out.flush()?)
}
