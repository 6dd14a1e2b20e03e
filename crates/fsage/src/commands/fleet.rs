//! `fsage fleet`: the snapshots of many hosts.

use crate::summary::{digits, percent, print_json, table};
use crate::ui::{self, Ui};
use fsage_core::size::human;
use fsage_lab::fleet::{Facts, Fleet, PAGE, Request, fleet};
use std::io::{self, Write};
use std::path::PathBuf;

/// Compares hosts by their snapshots: what changes a day, how layout and free space decay, and which are alike.
///
/// A host is a folder with snapshots, or what a pattern says. A file that is damaged or empty is reported and skipped;
/// a host that cannot be read is reported and left out. The others continue.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  fsage fleet snapshots/ -o fleet\n  fsage fleet rack1/* rack2/*\n  \
                  fsage fleet 'nightly/{host}-????-??-??.parquet' --threads 4 -o fleet"
)]
pub struct Args {
    /// Folders of hosts, folders with such folders, or patterns, in which `*` and `?` fit any name, and `{host}` is the
    /// name of the host.
    #[arg(required = true, value_name = "FOLDER|PATTERN")]
    paths: Vec<PathBuf>,
    /// Folder for hosts.parquet, days.parquet, fleet.json and fleet.html.
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// Replace the folder of another fleet.
    #[arg(long, requires = "output")]
    force: bool,
    /// Hosts that are read at the same time; each takes the memory of its largest snapshot.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    threads: u16,
    /// How far hosts of a group may differ, in steps of each trait.
    #[arg(long, value_name = "STEPS", default_value_t = 1.0, value_parser = steps)]
    alike: f64,
    /// Hosts and groups to show at most.
    #[arg(long, value_name = "N", default_value_t = 20)]
    top: usize,
    /// Print everything as JSON.
    #[arg(long)]
    json: bool,
}

fn steps(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok();
    let number = number.filter(|steps| (0.0..=1e9).contains(steps));
    number.ok_or_else(|| "expected a number from 0, as in 1.5".to_owned())
}

/// Runs the command.
pub fn run(args: &Args, ui: Ui) -> anyhow::Result<()> {
    let request = Request {
        output: args.output.as_deref(),
        force: args.force,
        threads: usize::from(args.threads),
        alike: args.alike,
        ..Request::new(&args.paths)
    };
    let found = fleet(&request, &ui)?;
    let mut out = ui::stdout();
    if args.json {
        print_json(&mut out, &found)?;
    } else {
        print(&mut out, &found, args.top)?;
    }
    out.flush()?;
    if let Some(output) = &args.output {
        ui.note(&format!("\nThe page is {}.", output.join(PAGE).display()));
    }
    Ok(())
}

fn print(out: &mut impl Write, fleet: &Fleet, top: usize) -> io::Result<()> {
    let snapshots: u64 = fleet.hosts.iter().map(|host| host.snapshots).sum();
    writeln!(
        out,
        "{} hosts, {snapshots} snapshots; who decays fastest first\n",
        fleet.hosts.len()
    )?;
    let mut hosts = table(&[
        "host",
        "days",
        "files",
        "created\na day",
        "deleted\na day",
        "used",
        "free\na day",
        "layout",
        "layout\na day",
        "group",
    ]);
    let count =
        |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.0}"));
    for host in fleet.by_decay().into_iter().take(top) {
        hosts.add_row([
            host.host.clone(),
            format!("{:.1}", host.days),
            count(host.value("files")),
            count(host.value("created_files_per_day")),
            count(host.value("deleted_files_per_day")),
            percent(host.value("used_share")),
            signed(host),
            digits(host.value("layout_score")),
            host.value("layout_score_per_day")
                .map_or_else(|| "-".to_owned(), |slope| format!("{slope:+.5}")),
            host.group.to_string(),
        ]);
    }
    writeln!(out, "{hosts}")?;
    more(out, fleet.hosts.len(), top)?;
    writeln!(
        out,
        "\nHosts that are alike, with the medians of their traits\n"
    )?;
    let mut groups = table(&[
        "group",
        "hosts",
        "layout",
        "layout\na day",
        "used",
        "mean\nfile",
        "changed\na day",
        "names",
    ]);
    for group in fleet.groups.iter().take(top) {
        let [layout, slope, used, mean_file, changed] = group.medians;
        let shown = group
            .hosts
            .iter()
            .take(3)
            .map(String::as_str)
            .collect::<Vec<&str>>()
            .join(", ");
        let others = if group.hosts.len() > 3 { ", ..." } else { "" };
        groups.add_row([
            group.group.to_string(),
            group.hosts.len().to_string(),
            digits(layout),
            slope.map_or_else(|| "-".to_owned(), |slope| format!("{slope:+.5}")),
            percent(used),
            mean_file.map_or_else(|| "-".to_owned(), |bytes| human(bytes as u64)),
            percent(changed),
            format!("{shown}{others}"),
        ]);
    }
    writeln!(out, "{groups}")?;
    more(out, fleet.groups.len(), top)
}

/// Free space that came or went a day.
fn signed(host: &Facts) -> String {
    host.value("free_bytes_per_day").map_or_else(
        || "-".to_owned(),
        |slope| {
            format!(
                "{}{}",
                if slope < 0.0 { "-" } else { "+" },
                human(slope.abs() as u64)
            )
        },
    )
}

fn more(out: &mut impl Write, all: usize, top: usize) -> io::Result<()> {
    match all.checked_sub(top) {
        None | Some(0) => Ok(()),
        Some(more) => writeln!(out, "and {more} more: --top, --json, -o"),
    }
}
