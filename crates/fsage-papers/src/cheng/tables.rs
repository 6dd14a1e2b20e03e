//! Tables: where the time goes, what silent parameters weigh, other readings, other devices.

use super::runs::{Mix, Outcome, Reading, Run};
use super::{MODIFIED, ORIGINAL, Results, Study, popular};
use crate::figure::Sheet;

/// All of them.
pub fn all(results: &Results<'_>) -> Vec<Sheet> {
    let mut sheets = vec![
        where_time_goes(results),
        sensitivity(results),
        of_pairs(
            results,
            readings,
            "readings",
            "What the paper leaves open, read in other ways",
            "Elapsed time of the modified file system over that of the original one.",
        ),
        of_pairs(
            results,
            devices,
            "devices",
            "Other devices",
            "Elapsed time of the modified file system over that of the original one, each as large as its device.",
        ),
    ];
    sheets.extend(popular::sheet(results));
    sheets
}

/// The threshold with which nothing moves.
pub const NEVER: &str = "1000000";

/// A value of a silent parameter, and its run.
pub struct Setting {
    key: String,
    value: String,
    /// The run.
    pub run: Run,
}

impl Setting {
    /// Whether no file is ever used often enough to move.
    pub fn moves_nothing(&self) -> bool {
        self.key == "threshold" && self.value == NEVER
    }
}

/// The modified file system as printed, and with every other value.
pub fn settings(study: &Study<'_>) -> Vec<Setting> {
    let Some(&percent) = study.plan.utilization.first() else {
        return Vec::new();
    };
    let printed = study.run(MODIFIED, Mix::Reads, percent, false);
    let mut settings = vec![Setting {
        key: "main reading".to_owned(),
        value: String::new(),
        run: printed.clone(),
    }];
    for (key, values) in &study.plan.sensitivity {
        settings.extend(values.iter().map(|value| Setting {
            key: key.clone(),
            value: value.clone(),
            run: Run {
                spec: with_key(&printed.spec, key, value),
                ..printed.clone()
            },
        }));
    }
    settings
}

/// A specification with another value of a key.
pub fn with_key(spec: &str, key: &str, value: &str) -> String {
    let (kind, options) = spec.split_once(':').unwrap_or((spec, ""));
    let is_other = |option: &&str| option.split('=').next() != Some(key) && !option.is_empty();
    let mut options: Vec<String> = options
        .split(',')
        .filter(is_other)
        .map(str::to_owned)
        .collect();
    options.push(format!("{key}={value}"));
    format!("{kind}:{}", options.join(","))
}

/// A row of ratios: what it is of, and the original and the modified file system of every mix.
pub struct Pairs {
    name: String,
    /// Runs.
    pub pairs: Vec<[Run; 2]>,
}

/// Both file systems with both mixes, changed by `change`.
fn pairs(study: &Study<'_>, name: &str, change: impl Fn(Run) -> Run) -> Pairs {
    let percent = study.plan.tables_at.last().copied().unwrap_or_default();
    let pair = |mix| [ORIGINAL, MODIFIED].map(|t| change(study.run(t, mix, percent, false)));
    Pairs {
        name: name.to_owned(),
        pairs: Mix::OF_FIGURES.map(pair).to_vec(),
    }
}

/// The readings.
pub fn readings(study: &Study<'_>) -> Vec<Pairs> {
    [
        (
            "main reading: each is filled to the same share, old articles are read",
            Reading::Printed,
        ),
        (
            "both get as many articles as the outer half of the disk takes",
            Reading::SameArticles,
        ),
        (
            "old articles are neither read nor removed",
            Reading::OldUnread,
        ),
    ]
    .map(|(name, reading)| pairs(study, name, |run| Run { reading, ..run }))
    .into()
}

/// The devices.
pub fn devices(study: &Study<'_>) -> Vec<Pairs> {
    let devices = study.plan.devices.iter();
    let rows = devices.map(|(name, device)| {
        let name = format!("{name} ({device})");
        pairs(study, &name, |run| Run {
            device: device.clone(),
            ..run
        })
    });
    rows.collect()
}

fn of_pairs(
    results: &Results<'_>,
    rows: fn(&Study<'_>) -> Vec<Pairs>,
    slug: &'static str,
    title: &str,
    text: &str,
) -> Sheet {
    let mut header = vec![slug.trim_end_matches('s').to_owned()];
    for mix in Mix::OF_FIGURES {
        let mix = mix.text();
        header.extend(["original, s", "modified, s", "ratio"].map(|c| format!("{mix}: {c}")));
    }
    let rows = rows(&results.study).into_iter().map(|row| {
        let mut cells = vec![row.name];
        for pair in row.pairs {
            let [original, modified] = pair.map(|run| results.outcomes.get(&run).mean_s());
            cells.push(format!("{original:.1}"));
            cells.push(format!("{modified:.1}"));
            cells.push(format!("{:.3}", modified / original));
        }
        cells
    });
    let percent = results.study.plan.tables_at.last().copied();
    Sheet {
        slug,
        title: title.to_owned(),
        text: format!("{text} Filled to {} % before.", percent.unwrap_or_default()),
        header,
        rows: rows.collect(),
    }
}

fn sensitivity(results: &Results<'_>) -> Sheet {
    let study = &results.study;
    let rows = settings(study).into_iter().map(|setting| {
        let outcome = results.outcomes.get(&setting.run);
        let percent = setting.run.filled_percent;
        let original = results.of(ORIGINAL, Mix::Reads, percent, false).mean_s();
        let layer = outcome.layer;
        vec![
            setting.key,
            setting.value,
            format!("{:.1}", outcome.mean_s()),
            format!("{:.3}", outcome.mean_s() / original),
            layer.moved_in.to_string(),
            layer.moved_out.to_string(),
            layer.near_not_moved.to_string(),
        ]
    });
    let header = [
        "parameter",
        "value",
        "elapsed, s",
        "over original",
        "moved in",
        "moved out",
        "near",
    ];
    Sheet {
        slug: "sensitivity",
        title: "What the silent parameters weigh".to_owned(),
        text: format!(
            "The modified file system with other values of what the paper does not give, with {}, filled to {} % \
             before: the emptier the disk, the more often an article is read. Near are files that got hot and stayed, \
             since they lie near the center.",
            Mix::Reads.text(),
            study.plan.utilization.first().copied().unwrap_or_default()
        ),
        header: header.map(str::to_owned).to_vec(),
        rows: rows.collect(),
    }
}

fn where_time_goes(results: &Results<'_>) -> Sheet {
    let study = &results.study;
    let mut rows = Vec::new();
    for &percent in &study.plan.tables_at {
        for cached in [false, true] {
            for target in study.targets(Mix::Reads, cached) {
                let outcome = results.of(target, Mix::Reads, percent, cached);
                let cache = if cached { "on" } else { "off" };
                let mut row = vec![target.to_owned(), format!("{percent} %"), cache.to_owned()];
                row.extend(parts(outcome));
                rows.push(row);
            }
        }
    }
    let header = [
        "file system",
        "filled",
        "write cache",
        "elapsed, s",
        "reads",
        "writes",
        "written, MB",
        "mean seek, % of the disk",
        "seek, s",
        "rotation, s",
        "destaging, s",
        "moved in",
        "moved out",
        "copies placed",
    ];
    Sheet {
        slug: "where-time-goes",
        title: "Where the time goes".to_owned(),
        text: format!(
            "With {}. Reads and writes are requests of the host. Seek and rotation are those that requests wait for; \
             what a write cache does on its own is destaging.",
            Mix::Reads.text()
        ),
        header: header.map(str::to_owned).to_vec(),
        rows,
    }
}

fn parts(outcome: &Outcome) -> Vec<String> {
    let device = &outcome.device;
    let seconds = |ns: u64| format!("{:.1}", ns as f64 / 1e9);
    vec![
        format!("{:.1}", outcome.mean_s()),
        device.reads.to_string(),
        device.writes.to_string(),
        format!("{:.0}", device.written_bytes as f64 / 1e6),
        format!("{:.1}", 100.0 * outcome.mean_seek()),
        seconds(device.time.seek_ns),
        seconds(device.time.rotation_ns),
        seconds(device.destage_ns),
        outcome.layer.moved_in.to_string(),
        outcome.layer.moved_out.to_string(),
        outcome.layer.placed.to_string(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_value_takes_the_place_of_the_printed_one() {
        let changed = with_key("ext3:rearrange=files,ra=2.5%,near=0", "ra", "1%");
        assert_eq!(changed, "ext3:rearrange=files,near=0,ra=1%");
        assert_eq!(with_key("ext3", "near", "4"), "ext3:near=4");
        let kept = with_key("ext3:near=0", "n", "1");
        assert_eq!(kept, "ext3:near=0,n=1");
    }
}
