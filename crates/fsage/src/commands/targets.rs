//! `fsage targets`: what `--on` may name, and its keys.

use crate::summary;
use crate::ui;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use comfy_table::CellAlignment;
use fsage_core::keys::{Choice, Key};
use fsage_lab::described::{self, plain, target};
use fsage_lab::table::wrapped;
use fsage_models::MODELS;
use fsage_target::catalogue::{Described, Sort, catalogue};
use fsage_target::within_models;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io::Write;

/// Lists what a workload can be replayed on: simulated and real file systems, with their keys.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  fsage targets\n  fsage targets ffs\n  fsage targets rearrange --json"
)]
pub struct Args {
    /// A kind of target, or a layer over models: shows its keys.
    #[arg(value_parser = Name, hide_possible_values = true)]
    name: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

fn names() -> impl Iterator<Item = &'static str> {
    let kinds = catalogue().into_iter().map(|described| described.name);
    kinds.chain(within_models().map(|(system, _)| system))
}

/// The name of a kind; that of a whole target, as in `loop:ext4,size=4G`, is its kind's.
#[derive(Clone)]
struct Name;

impl TypedValueParser for Name {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        let kind = value
            .to_str()
            .and_then(|target| target.split(':').next())
            .map_or(value, OsStr::new);
        PossibleValuesParser::new(names()).parse_ref(command, arg, kind)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(names().map(PossibleValue::new)))
    }
}

/// Runs the command.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let all = catalogue();
    let chosen = args.name.as_ref().and_then(|name| {
        let within = within_models().find(|(system, _)| system == name);
        let name = within.map_or(name.as_str(), |(_, model)| model);
        all.iter().find(|described| described.name == name)
    });
    let mut out = ui::stdout();
    match (chosen, args.json) {
        (Some(described), true) => summary::print_json(&mut out, &target(described))?,
        (None, true) => {
            summary::print_json(&mut out, &described::targets())?;
        }
        (Some(described), false) => print(&mut out, described)?,
        (None, false) => list(&mut out, &all)?,
    }
    Ok(out.flush()?)
}

/// Columns of a table where there is no terminal: what it says of a key may be long.
const WIDTH: u16 = 120;

fn left_table(header: &[&str]) -> comfy_table::Table {
    let mut table = summary::table(header);
    if table.width().is_none() {
        table.set_width(WIDTH);
    }
    for column in table.column_iter_mut() {
        column.set_cell_alignment(CellAlignment::Left);
    }
    table
}

fn list(out: &mut impl Write, all: &[Described]) -> anyhow::Result<()> {
    let mut table = left_table(&["target", "is a", "what"]);
    for described in all {
        table.add_row([described.name, described.sort.as_str(), described.summary]);
    }
    writeln!(out, "{}", table.trim_fmt())?;
    writeln!(out, "\n`fsage targets NAME` shows the keys of one of them.")?;
    Ok(())
}

fn print(out: &mut impl Write, described: &Described) -> anyhow::Result<()> {
    match described.sort {
        // It begins with its name and what follows it.
        Sort::Real => writeln!(out, "{}", described.summary)?,
        Sort::Model | Sort::Layer => writeln!(out, "{}: {}", described.name, described.summary)?,
    }
    if !described.keys.is_empty() {
        let mut table = left_table(&["key", "takes", "without it", "what"]);
        for key in &described.keys {
            table.add_row([
                key.name,
                &*takes(key),
                &plain(&key.default_text()),
                &plain(key.doc),
            ]);
        }
        writeln!(out, "\n{}", table.trim_fmt())?;
    }
    if !described.policies.is_empty() {
        writeln!(out, "\nPolicies:")?;
        for Choice { name, summary } in &described.policies {
            writeln!(out, "  {name:20} {summary}")?;
        }
    }
    match described.sort {
        Sort::Model if !described.related.is_empty() => {
            writeln!(out, "\nLayers over it: {}", described.related.join(", "))?;
        }
        Sort::Layer => writeln!(out, "\nLies over: {}", described.related.join(", "))?,
        Sort::Model | Sort::Real => {}
    }
    if !described.lacks.is_empty() {
        writeln!(out, "\nNot in the model:")?;
        for alike in described.lacks.chunk_by(|(_, one), (_, next)| one == next) {
            let keys: Vec<&str> = alike.iter().map(|(key, _)| *key).collect();
            let line = format!("{}: {}", keys.join(", "), alike[0].1);
            writeln!(out, "{}", wrapped(&line, "  ", "    "))?;
        }
    }
    if let Some(what) = described.microscope {
        writeln!(out, "\n`fsage age --trace` prints {what}.")?;
    }
    writeln!(out, "\nExamples:")?;
    for example in &described.examples {
        writeln!(out, "  --on {example}")?;
    }
    Ok(())
}

/// What a key takes; the names of policies stand in a list of their own.
fn takes(key: &Key) -> String {
    if key.policies().is_empty() {
        key.values()
    } else {
        "one of the policies".to_owned()
    }
}

/// The models that `--trace` looks at.
pub fn with_microscope() -> String {
    let all = catalogue();
    let with = all
        .iter()
        .filter(|described| described.microscope.is_some());
    let names: Vec<&str> = with.map(|described| described.name).collect();
    format!("{} targets", names.join(" and "))
}

/// Models whose requests for blocks can be traced.
pub fn with_requests() -> String {
    let with = MODELS.iter().filter(|entry| {
        let microscope = entry.microscope;
        microscope.is_some_and(|microscope| microscope.over_inode.is_some())
    });
    let mut names: Vec<&str> = with.map(|entry| entry.name).collect();
    names.sort_unstable();
    names.join(", ")
}

/// What `--on` takes, for the help of commands.
pub fn help() -> String {
    let mut help = String::from(
        "A target is KIND[:KEY=VALUE|FLAG,...], as in ffs:preset=g1024,policy=realloc,root\n\nKinds:\n",
    );
    let all = catalogue();
    let line = |help: &mut String, name: &str, what: &str| {
        let _ = writeln!(help, "  {name:20} {what}");
    };
    for described in all.iter().filter(|described| described.sort != Sort::Layer) {
        line(&mut help, described.name, described.summary);
    }
    for described in all.iter().filter(|described| !described.keys.is_empty()) {
        let of = match described.sort {
            Sort::Layer => format!(
                "{}, {} (for {})",
                described.name,
                described.summary,
                described.related.join(", ")
            ),
            Sort::Model | Sort::Real => described.name.to_owned(),
        };
        let _ = writeln!(help, "\nKeys of {of}:");
        for key in &described.keys {
            line(
                &mut help,
                key.name,
                &format!(
                    "{} ({}): {}",
                    takes(key),
                    plain(&key.default_text()),
                    plain(key.doc)
                ),
            );
        }
        if !described.policies.is_empty() {
            let _ = writeln!(help, "\nPolicies of {}:", described.name);
            for policy in &described.policies {
                line(&mut help, policy.name, policy.summary);
            }
        }
    }
    help.push_str(
        "\nBytes take K, M, G, T; shares are written 2.5% or 0.025. In brackets: what holds without the key.\n\
         \nExamples:\n  fsage age w.parquet --on ffs --on ffs:policy=realloc -o run\n  \
         fsage age w.parquet --on loop:ext4,size=4G --on loop:xfs,size=4G -o run\n  \
         fsage age w.parquet --on dir:PATH,sync=each -o run",
    );
    help
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_tells_every_key_of_every_target() {
        let help = help();
        for described in catalogue() {
            assert!(
                help.contains(&format!("Keys of {}", described.name)) || described.keys.is_empty(),
                "{}",
                described.name
            );
            for key in described.keys {
                assert!(
                    help.contains(&format!("\n  {:20} ", key.name)),
                    "{}: {}",
                    described.name,
                    key.name
                );
            }
        }
    }
}
