//! `fsage man`: manual pages, from the definitions of `--help`.

use super::Cli;
use crate::ui;
use anyhow::Context;
use clap::{Command, CommandFactory, ValueHint};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use fsage_core::keys::instead;
use fsage_durable::{PartialFile, make_folders};
use std::io::{self, Write};
use std::path::PathBuf;

/// Prints a manual page, or writes those of all verbs.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  fsage man age | man -l -\n  fsage man -o ~/.local/share/man/man1\n\n\
                  `make install` puts them there: then `man fsage-age` shows one."
)]
pub struct Args {
    /// The verb whose page is printed, as in `age` or `generate profile` [default: the page of fsage].
    #[arg(conflicts_with = "output")]
    verb: Vec<String>,
    /// Folder for the pages of all verbs, fsage.1, fsage-age.1 and so on; without one a page is printed.
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    output: Option<PathBuf>,
    /// Replace pages that are there.
    #[arg(long, requires = "output")]
    force: bool,
}

/// Runs the command.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let mut fsage = Cli::command().disable_help_subcommand(true);
    fsage.build();
    let Some(folder) = &args.output else {
        let mut page = &fsage;
        for name in &args.verb {
            page = find(page, name)?;
        }
        let mut out = ui::stdout();
        write_page(page, &mut out)?;
        return Ok(out.flush()?);
    };
    make_folders(folder)?;
    let mut pages = Vec::new();
    add_pages(&fsage, &mut pages);
    for page in pages {
        let path = folder.join(Man::new(page.clone()).get_filename());
        let mut file = PartialFile::create(&path, args.force)?;
        write_page(page, &mut file).with_context(|| path.display().to_string())?;
        file.finish()?;
    }
    Ok(())
}

/// The verb of that name below a command.
fn find<'a>(command: &'a Command, name: &str) -> anyhow::Result<&'a Command> {
    let verbs: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
    command.find_subcommand(name).with_context(|| {
        let instead = instead(name, &verbs);
        format!("{}: no verb `{name}`{instead}", command.get_name())
    })
}

/// A command and all below it.
fn add_pages<'a>(command: &'a Command, pages: &mut Vec<&'a Command>) {
    pages.push(command);
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
        add_pages(verb, pages);
    }
}

fn write_page(command: &Command, out: &mut impl Write) -> io::Result<()> {
    let page = Man::new(command.clone())
        .source(concat!("fsage ", env!("CARGO_PKG_VERSION")))
        .manual("fsage");
    page.render_title(out)?;
    page.render_name_section(out)?;
    page.render_synopsis_section(out)?;
    page.render_description_section(out)?;
    page.render_options_section(out)?;
    if command.has_subcommands() {
        page.render_subcommands_section(out)?;
    }
    let after = command.get_after_long_help().or(command.get_after_help());
    if let Some(after) = after {
        write_after(&after.to_string(), out)?;
    }
    if command.get_name() != "fsage" {
        let mut roff = Roff::default();
        roff.control("SH", ["SEE ALSO"]).text([roman("fsage(1)")]);
        roff.to_writer(out)?;
    }
    Ok(())
}

/// What stands below the options: a line that ends in a colon heads a section, what is indented keeps its lines.
fn write_after(text: &str, out: &mut impl Write) -> io::Result<()> {
    let mut roff = Roff::default();
    let mut is_verbatim = false;
    let mut needs_section = true;
    for line in text.lines() {
        let is_indented = line.starts_with(' ');
        if is_verbatim != is_indented {
            roff.control(if is_indented { "EX" } else { "EE" }, []);
            is_verbatim = is_indented;
        }
        if is_indented {
            roff.text([roman(line)]);
        } else if let Some(title) = line.strip_suffix(':') {
            roff.control("SH", [title.to_uppercase().as_str()]);
            needs_section = false;
        } else if !line.is_empty() {
            if needs_section {
                roff.control("SH", ["NOTES"]);
                needs_section = false;
            } else {
                roff.control("PP", []);
            }
            roff.text([roman(line)]);
        }
    }
    if is_verbatim {
        roff.control("EE", []);
    }
    roff.to_writer(out)
}
