//! `fsage completions`: what a shell needs to complete command lines, from the definitions of `--help`.

use super::Cli;
use crate::ui;
use clap::CommandFactory;
use clap_complete::Shell;
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

/// Runs the command.
pub fn run(args: &Args) -> anyhow::Result<()> {
    // The generator panics where it cannot write, so it writes to memory.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "fsage", &mut script);
    let mut out = ui::stdout();
    out.write_all(&script)?;
    Ok(out.flush()?)
}
