//! `fsage generate profile`: synthetic workloads.

use super::output::{Beside, Generated, Output, Row, row, write};
use crate::error::{self, Context, bail, error};
use crate::watch::{Unwatched, Watch};
use fsage_core::{EventSink, WorkloadHeader, keys, size};
use fsage_workload::geriatrix::Triple;
use fsage_workload::herrin::HerrinSummary;
use fsage_workload::home::{
    DEFAULT_SHORT_LIVES_PERCENT, DEFAULT_WANDER_PERMILLE, Home, HomeSummary,
};
use fsage_workload::larger::{self, Larger};
use fsage_workload::preset::{Generator, PRESETS, Preset, toml_of};
use fsage_workload::profile::{Deviation, ProfileSummary};
use fsage_workload::server::ServerSummary;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};
use std::path::PathBuf;
use toml::Table;

/// A synthetic workload: a preset, a TOML file of one's own, or a profile of Geriatrix.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Name of a preset, TOML file, or folder with the three files of a Geriatrix profile.
    pub profile: String,
    /// Seed [default: 1].
    #[serde(default)]
    pub seed: Option<u64>,
    /// The same curves over so many days, with the same activity a day if the profile says that, else in all [default:
    /// as the profile says].
    #[serde(default)]
    pub days: Option<u64>,
    /// Another size of the file system, as in 512M, with as many more operations and files.
    #[serde(default, deserialize_with = "bytes")]
    pub capacity: Option<u64>,
    /// Files N times larger, on a file system N times larger, with no more operations; the capacity is that of the
    /// larger one [default: 1].
    #[serde(default)]
    pub file_scale: Option<u64>,
    /// Utilization at the end, in percent of the capacity; a curve keeps its shape.
    #[serde(default)]
    pub utilization: Option<u8>,
    /// Values in place of the profile's own, by the keys of its table in the TOML file, as in `size.mean1`. Text stands
    /// for what it says in TOML where the profile has no text.
    #[serde(default)]
    pub set: Table,
}

/// The most days that a profile is stretched to.
pub(super) const MOST_DAYS: u64 = 100_000;
/// The most times larger that files are made.
pub(super) const MOST_TIMES: u64 = 1_000_000;
/// The fullest that a file system is made, in percent.
pub(super) const MOST_PERCENT: u8 = 98;

impl Profile {
    /// How many times larger files are than the profile makes them.
    fn times(&self) -> u64 {
        self.file_scale.unwrap_or(1).max(1)
    }
}

/// A size as a number of bytes or as in `512M`.
fn bytes<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Size {
        Bytes(u64),
        Text(String),
    }
    Ok(match Option::<Size>::deserialize(from)? {
        None => None,
        Some(Size::Bytes(bytes)) => Some(bytes),
        Some(Size::Text(text)) => Some(size::parse(&text).map_err(serde::de::Error::custom)?),
    })
}

/// Makes the workload.
///
/// # Errors
/// The input is not what it should be, or cannot be read; the output cannot be written.
pub fn run(args: &Profile, output: &Output, ui: &dyn Watch) -> crate::Result<Generated> {
    let name = &args.profile;
    let preset = adapted(find(args, ui)?, args)?;
    output.check([&PathBuf::from(name)])?;
    make(name, &preset, args, output, ui)
}

/// That there is such a profile, and that it can be adapted so.
pub fn check(args: &Profile) -> crate::Result<()> {
    if args
        .days
        .is_some_and(|days| !(1..=MOST_DAYS).contains(&days))
    {
        bail!("days: expected 1 to {MOST_DAYS}");
    }
    let percent = args.utilization;
    if percent.is_some_and(|percent| !(1..=MOST_PERCENT).contains(&percent)) {
        bail!("utilization: expected 1 to {MOST_PERCENT} percent");
    }
    let times = args.file_scale;
    if times.is_some_and(|times| !(1..=MOST_TIMES).contains(&times)) {
        bail!("file_scale: expected 1 to {MOST_TIMES}");
    }
    adapted(find(args, &Unwatched)?, args).map(drop)
}

/// The size of the file system that it is made for, in bytes.
///
/// # Errors
/// As for [`check`].
pub(super) fn capacity(args: &Profile) -> crate::Result<Option<u64>> {
    let preset = adapted(find(args, &Unwatched)?, args)?;
    Ok(header(&preset.generator, 1, args.times())?.capacity_bytes)
}

/// The bytes of all files when there is most of them, as far as the preset says.
///
/// # Errors
/// As for [`check`].
pub(super) fn most_bytes(args: &Profile) -> crate::Result<u64> {
    let preset = adapted(find(args, &Unwatched)?, args)?;
    Ok(preset.generator.most_bytes().saturating_mul(args.times()))
}

/// Whether its files are delivered.
///
/// # Errors
/// As for [`check`].
pub(super) fn delivers(args: &Profile) -> crate::Result<bool> {
    let preset = adapted(find(args, &Unwatched)?, args)?;
    Ok(matches!(&preset.generator, Generator::Profile(profile) if profile.staged))
}

/// The TOML of a preset.
///
/// # Errors
/// There is none of that name.
pub fn text_of(name: &str) -> crate::Result<&'static str> {
    toml_of(name).ok_or_else(|| unknown(name))
}

fn unknown(name: &str) -> crate::Error {
    let names: Vec<&str> = PRESETS.iter().map(|(name, _)| *name).collect();
    error!(
        "{name}: no preset, no file and no folder of that name; {}presets: {}",
        keys::meant(name, names.iter().copied()),
        names.join(", ")
    )
}

/// A preset of that name, else the folder or file, with the values that are set.
fn find(args: &Profile, ui: &dyn Watch) -> crate::Result<Preset> {
    let name = args.profile.as_str();
    if let Some(text) = toml_of(name) {
        return Ok(Preset::parse_with(name, text, &args.set)?);
    }
    let path = PathBuf::from(name);
    if path.is_dir() {
        if let Some(key) = args.set.keys().next() {
            bail!("{name}: a Geriatrix profile has no `{key}` to set; presets and TOML files have");
        }
        let triple = Triple::read(&path)?;
        for warning in &triple.warnings {
            ui.warn(warning);
        }
        ui.note(
            "a Geriatrix profile has files and relative ages; it has no appends, rewrites, renames, bursts or days",
        );
        return Ok(Preset {
            summary: format!("Geriatrix profile {name}"),
            source: format!(
                "files and ages of the Geriatrix profile {name}; no event of it ever happened"
            ),
            generator: Generator::Profile(Box::new(triple.profile())),
        });
    }
    if !path.exists() {
        return Err(unknown(name));
    }
    let text = fsage_input::text(&path, fsage_input::TEXT_BYTES)
        .with_context(|| format!("cannot read {name}"))?;
    Ok(Preset::parse_with(name, &text, &args.set)?)
}

/// With the days, capacity and utilization of the command line; of files that are made larger, as they are before.
fn adapted(mut preset: Preset, args: &Profile) -> crate::Result<Preset> {
    let capacity = args.capacity.map(|bytes| bytes / args.times());
    let share = args.utilization.map(|percent| f64::from(percent) / 100.0);
    preset.generator = match preset.generator {
        Generator::Home(mut home) => {
            if share.is_some() {
                bail!(
                    "the utilization of home directories is a curve that was published: change it in a TOML file of \
                     your own (fsage generate profile --show home-1996)"
                );
            }
            if let Some(bytes) = capacity {
                *home = home.with_capacity(bytes);
            }
            if let Some(days) = args.days {
                *home = home.with_days(days);
            }
            Generator::Home(home)
        }
        Generator::Profile(mut profile) => {
            if let Some(bytes) = capacity {
                *profile = profile.with_capacity(bytes);
            }
            if let Some(share) = share {
                *profile = profile.with_utilization(share);
            }
            if let Some(days) = args.days {
                *profile = profile.with_days(days);
            }
            Generator::Profile(profile)
        }
        Generator::Herrin(mut herrin) => {
            if share.is_some() {
                bail!(
                    "the chances to create belong to their utilization: take ganger50, ganger70 or ganger90"
                );
            }
            if let Some(bytes) = capacity {
                herrin = herrin.with_capacity(bytes);
            }
            if let Some(days) = args.days {
                herrin.generations = days;
            }
            Generator::Herrin(herrin)
        }
        Generator::Server(mut server) => {
            if let Some(bytes) = capacity {
                server = server.with_capacity(bytes);
            }
            if let Some(share) = share {
                server = server.with_utilization(share);
            }
            if let Some(days) = args.days {
                server.days = days;
            }
            Generator::Server(server)
        }
    };
    preset.generator.check().map_err(|e| error!("{e}"))?;
    Ok(preset)
}

fn make(
    name: &str,
    preset: &Preset,
    args: &Profile,
    output: &Output,
    ui: &dyn Watch,
) -> crate::Result<Generated> {
    let (seed, times) = (args.seed.unwrap_or(1), args.times());
    let expected = match &preset.generator {
        Generator::Home(g) => Some(g.operations),
        Generator::Profile(g) => Some(g.expected_operations()?),
        Generator::Herrin(_) => None,
        Generator::Server(g) => Some(g.operations_per_day * g.days + g.files),
    };
    let header = WorkloadHeader {
        generator: Some(parameters(name, &preset.generator, times)?.to_string()),
        source: Some(preset.source.clone()),
        ..header(&preset.generator, seed, times)?
    };
    let generate = |sink: &mut dyn EventSink| -> crate::Result<(Vec<Row>, Vec<Beside>)> {
        let sink = &mut Larger::new(sink, times);
        Ok(match &preset.generator {
            Generator::Home(g) => {
                let made = g.generate(seed, sink).map_err(error::boxed)?;
                (home_rows(g, &made, times), home_beside(g, &made, times))
            }
            Generator::Profile(g) => {
                let made = g.generate(seed, sink).map_err(error::boxed)?;
                (profile_rows(&made), Vec::new())
            }
            Generator::Herrin(g) => {
                let made = g.generate(seed, sink).map_err(error::boxed)?;
                (herrin_rows(&made, times), Vec::new())
            }
            Generator::Server(g) => {
                let made = g.generate(seed, sink).map_err(error::boxed)?;
                (server_rows(&made), Vec::new())
            }
        })
    };
    let ((rows, beside), tally) = write(output, &header, ui, expected, generate)?;
    Ok(Generated {
        rows,
        published: beside,
        tally,
    })
}

/// What the generator says of its workloads, their files made larger.
fn header(generator: &Generator, seed: u64, times: u64) -> crate::Result<WorkloadHeader> {
    let header = match generator {
        Generator::Home(g) => g.header(seed),
        Generator::Profile(g) => g.header(seed),
        Generator::Herrin(g) => g.header(seed),
        Generator::Server(g) => g.header(seed),
    };
    larger::header(header, times).map_err(|why| error!("file_scale: {why}"))
}

/// Everything that makes this workload again, but the seed.
fn parameters(name: &str, generator: &Generator, times: u64) -> crate::Result<Value> {
    let mut all = match generator {
        Generator::Home(home) => home_parameters(name, home),
        _ => json!({
            "name": "profile",
            "profile": name,
            "version": env!("CARGO_PKG_VERSION"),
            "parameters": serde_json::to_value(generator)?,
        }),
    };
    // Workloads from before there was a choice do not name it.
    if times != 1 {
        all["file_scale"] = times.into();
    }
    Ok(all)
}

/// The words of a command, without its output, that makes a workload again byte for byte; none where its generator is
/// no preset of this version, or was given more than days and a seed.
pub fn again(generator: &Value, seed: u64) -> Option<Vec<String>> {
    let name = generator.get("profile")?.as_str()?;
    let args = |days| Profile {
        profile: name.to_owned(),
        days,
        ..Profile::default()
    };
    let known = generator.get("parameters").unwrap_or(generator);
    let days = ["days", "generations"].into_iter();
    let days = days.into_iter().find_map(|key| known.get(key)?.as_u64());
    [None, days].into_iter().find_map(|days| {
        let preset = adapted(Preset::named(name)?, &args(days)).ok()?;
        let same = parameters(name, &preset.generator, 1).ok()? == *generator;
        let mut words = vec!["generate".to_owned(), "profile".to_owned(), name.to_owned()];
        let days = days.map(|days| ["--days".to_owned(), days.to_string()]);
        words.extend(days.into_iter().flatten());
        words.extend(["--seed".to_owned(), seed.to_string()]);
        same.then_some(words)
    })
}

/// Those of the home directories, flat.
fn home_parameters(name: &str, home: &Home) -> Value {
    let mut all = json!({
        "name": "profile",
        "profile": name,
        "version": env!("CARGO_PKG_VERSION"),
        "days": home.days,
        "data_space_kb": home.data_space_kb,
        "operations": home.operations,
        "bytes_written": home.bytes_written,
        "initial_files": home.initial_files,
        "final_files": home.final_files,
        "utilization_permille": home.utilization,
        "files_permille": home.files,
        "ceiling_permille": home.ceiling_permille,
        "short_lived_permille": home.short_lived_permille,
        "users": home.users,
        "bursts_a_day": home.bursts_a_day,
        "deletes_a_day": home.deletes_a_day,
        "changes_a_day": home.changes_a_day,
        "large_turnover_a_day": home.large_turnover_a_day,
        "days_on_a_project": home.days_on_a_project,
        "hot_days": home.hot_days,
    });
    // Workloads from before there was a choice do not name it, and theirs are still made byte for byte.
    if home.wander_permille != DEFAULT_WANDER_PERMILLE {
        all["wander_permille"] = home.wander_permille.into();
    }
    if home.flat_permille != 0 {
        all["flat_permille"] = home.flat_permille.into();
    }
    if home.short_lives_percent != DEFAULT_SHORT_LIVES_PERCENT {
        all["short_lives_percent"] = home.short_lives_percent.into();
    }
    all
}

fn home_rows(home: &Home, s: &HomeSummary, times: u64) -> Vec<Row> {
    let percent = |text: &str, key, permille: u64| share(text, key, permille as f64 / 1000.0);
    let megabytes = |text: &str, key, kb: u64| {
        let value = (kb * times) as f64 / 1024.0;
        (text.to_owned(), format!("{value:.1} MB"), key, value.into())
    };
    let hot = format!("files modified in the last {} days", home.hot_days);
    vec![
        row("days", "days", s.days),
        percent(
            "utilization at the start",
            "initial_percent",
            s.initial_permille,
        ),
        row(
            "days over 70 %",
            "days_over_70_percent",
            s.days_over_70_percent,
        ),
        percent("utilization at most", "peak_percent", s.peak_permille),
        percent("utilization at the end", "final_percent", s.final_permille),
        row("files at the end", "live_files", s.final_files),
        row(
            "directories at the end",
            "live_directories",
            s.final_directories,
        ),
        megabytes("space of these files", "live_mb", s.final_kb),
        row(&hot, "hot_files", s.hot_files),
        megabytes("space of these", "hot_mb", s.hot_kb),
        row("writes left out for lack of space", "left_out", s.left_out),
    ]
}

/// What was published beside what came out, where files have the size that they had.
fn home_beside(home: &Home, s: &HomeSummary, times: u64) -> Vec<Beside> {
    const KB_A_MB: f64 = 1024.0;
    if times != 1 {
        return Vec::new();
    }
    let p = &home.published;
    let all = [
        ("operations", "operations", p.operations, s.operations, 1.0),
        (
            "bytes written, GB",
            "written_gb",
            p.bytes_written,
            s.bytes_written,
            1e9,
        ),
        (
            "utilization at the start, %",
            "initial_percent",
            p.initial_permille,
            s.initial_permille,
            10.0,
        ),
        (
            "utilization at most, %",
            "peak_percent",
            p.peak_permille,
            s.peak_permille,
            10.0,
        ),
        (
            "utilization at the end, %",
            "final_percent",
            p.final_permille,
            s.final_permille,
            10.0,
        ),
        (
            "files at the end",
            "live_files",
            p.final_files,
            s.final_files,
            1.0,
        ),
        (
            "space of these, MB",
            "live_mb",
            p.final_kb,
            s.final_kb,
            KB_A_MB,
        ),
        (
            "files modified lately",
            "hot_files",
            p.hot_files,
            s.hot_files,
            1.0,
        ),
        ("space of these, MB", "hot_mb", p.hot_kb, s.hot_kb, KB_A_MB),
    ];
    let rounded = |value: u64, unit: f64| (value as f64 / unit * 10.0).round() / 10.0;
    all.into_iter()
        .filter_map(|(name, key, published, generated, unit)| {
            Some((
                name,
                key,
                rounded(published?, unit),
                rounded(generated, unit),
            ))
        })
        .collect()
}

/// A share as a row in percent.
fn share(text: &str, key: &'static str, share: f64) -> Row {
    let percent = (share * 1e5).round() / 1e3;
    let shown = if percent != 0.0 && percent < 0.95 {
        format!("{percent:.3} %")
    } else {
        format!("{percent:.1} %")
    };
    (text.to_owned(), shown, key, percent.into())
}

/// A bucket that is farthest from its share.
fn deviation(text: &str, key: &'static str, d: &Deviation) -> Row {
    let shown = format!(
        "{:.5} (up to {:.6}: {:.5} for {:.5})",
        d.distance(),
        d.upto,
        d.got,
        d.wanted
    );
    let value =
        json!({ "distance": d.distance(), "upto": d.upto, "wanted": d.wanted, "got": d.got });
    (text.to_owned(), shown, key, value)
}

fn profile_rows(s: &ProfileSummary) -> Vec<Row> {
    let mut rows = vec![
        row("days", "days", s.days),
        row(
            "operations of an average day",
            "operations_per_day",
            s.operations_per_day,
        ),
        row(
            "operations that fill it at the start",
            "fill_operations",
            s.fill_operations,
        ),
        row(
            "operations that settle days",
            "settling_operations",
            s.settling_operations,
        ),
        row("files at the end", "live_files", s.files),
        row("directories at the end", "live_directories", s.directories),
        share("utilization at the end", "final_percent", s.utilization),
        share("utilization at most", "peak_percent", s.peak_utilization),
        share(
            "farthest from the curve at the end of a day",
            "utilization_deviation_percent",
            s.utilization_deviation,
        ),
        row(
            "short-lived files",
            "short_lived_files",
            s.short_lived_files,
        ),
        row(
            "files written in pieces side by side",
            "interleaved_files",
            s.interleaved_files,
        ),
        row("files cut to meet the curve", "cut_files", s.cut_files),
        row("left out for lack of room", "left_out", s.left_out),
        deviation("size farthest from its share", "size_deviation", &s.size),
        deviation("depth farthest from its share", "depth_deviation", &s.depth),
    ];
    if let Some(age) = &s.age {
        rows.push(deviation(
            "age farthest from its share",
            "age_deviation",
            age,
        ));
    }
    rows
}

fn herrin_rows(s: &HerrinSummary, times: u64) -> Vec<Row> {
    let permille = |n: u64| n as f64 / 1000.0;
    vec![
        row(
            "generations of filling",
            "fill_generations",
            s.fill_generations,
        ),
        row("generations", "generations", s.generations),
        row("creates", "creates", s.creates),
        row("files cut for lack of space", "cut_files", s.cut),
        row(
            "deletes that found no file",
            "nothing_to_delete",
            s.nothing_to_delete,
        ),
        row("files at the end", "live_files", s.files),
        row(
            "blocks in use at the end",
            "used_blocks",
            s.used_blocks * times,
        ),
        share(
            "fullness at least",
            "least_percent",
            permille(s.fullness_permille.0),
        ),
        share(
            "fullness at most",
            "peak_percent",
            permille(s.fullness_permille.1),
        ),
    ]
}

fn server_rows(s: &ServerSummary) -> Vec<Row> {
    vec![
        row("days", "days", s.days),
        row(
            "operations before the first day",
            "preallocation_operations",
            s.preallocation_operations,
        ),
        row("files at the end", "live_files", s.files),
        share(
            "utilization at the start",
            "initial_percent",
            s.utilization.0,
        ),
        share("utilization at the end", "final_percent", s.utilization.1),
        share(
            "utilization at least",
            "least_percent",
            s.utilization_range.0,
        ),
        share("utilization at most", "peak_percent", s.utilization_range.1),
        row("steps left out", "left_out", s.left_out),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preset_is_made_again_by_the_command_that_made_it() {
        let parameters_of = |name: &str, days: Option<u64>| {
            let mut preset = Preset::named(name).expect("a preset");
            if let (Generator::Home(home), Some(days)) = (&mut preset.generator, days) {
                **home = home.clone().with_days(days);
            }
            parameters(name, &preset.generator, 1).expect("parameters")
        };
        let words = |generator: &Value| again(generator, 7).map(|words| words.join(" "));
        for (name, _) in PRESETS {
            let expected = format!("generate profile {name} --seed 7");
            assert_eq!(words(&parameters_of(name, None)), Some(expected));
        }
        assert_eq!(
            words(&parameters_of("home-1996", Some(30))).as_deref(),
            Some("generate profile home-1996 --days 30 --seed 7")
        );
        let mut other = parameters_of("home-1996", None);
        other["users"] = 1.into();
        assert_eq!(words(&other), None);
        assert_eq!(words(&json!({ "profile": "home-1996", "seed": 1 })), None);
    }
}
