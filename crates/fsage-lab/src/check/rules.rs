//! Rules of a check: a TOML file that says what must hold, read strictly.

use super::number;
use super::results::TargetResults;
use super::words::matches;
use crate::benching::flash::FLASH;
use crate::days::{DayRow, metric_of};
use crate::error::{Context, bail};
use crate::experiment::Text;
use crate::report::{is_of_snapshots, is_of_something};
use clap::ValueEnum;
use fsage_bench::{Benchmark, benchmarks};
use fsage_core::keys::nearest;
use fsage_metrics::Better;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;

/// Rules by name, each a TOML file of `presets/rules`.
pub const PRESETS: [(&str, &str); 4] = [
    (
        "regression",
        include_str!("../../../../presets/rules/regression.toml"),
    ),
    (
        "limits",
        include_str!("../../../../presets/rules/limits.toml"),
    ),
    (
        "benchmarks",
        include_str!("../../../../presets/rules/benchmarks.toml"),
    ),
    (
        "nights",
        include_str!("../../../../presets/rules/nights.toml"),
    ),
];

/// What holds where nothing else is asked for and there is a baseline.
const DEFAULT: &str = "regression";
/// The same of snapshots without a baseline.
const OF_SNAPSHOTS: &str = "nights";

/// What must hold.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Where they stand, for messages.
    pub file: String,
    /// How targets are set beside those of a baseline.
    pub matching: Matching,
    /// New target and the baseline's that it is set beside, where their names differ.
    pub pairs: Vec<(String, String)>,
    /// What may be missing or skipped.
    pub allow: Allow,
    /// Real targets must have run under another kernel than those of the baseline.
    pub other_kernel: bool,
    /// The newest of several snapshots, or the one, is at most so many days old.
    pub max_age_days: Option<f64>,
    /// The rules, in the order of the file.
    pub list: Vec<Rule>,
}

/// How targets of a run find theirs in a baseline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Matching {
    /// By their specification.
    #[default]
    Name,
    /// The first beside the first.
    Position,
}

/// What is no failure although it is one unless said otherwise.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Allow {
    /// Operations that a target may skip in all, for whatever reason.
    pub skipped: u64,
    /// Operations that it may skip for lack of space.
    pub no_space: u64,
    /// The baseline may have targets that the run does not have.
    pub missing_targets: bool,
    /// The baseline may have benchmarks that the run does not have.
    pub missing_benchmarks: bool,
    /// The baseline may be of another workload.
    pub other_workload: bool,
}

/// What must hold of a metric, or of benchmarks.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Line of the file where it begins.
    pub line: usize,
    /// What it is called.
    pub name: String,
    /// What it looks at.
    pub subject: Subject,
    /// Targets, as a pattern over their names; none for all.
    pub target: Option<String>,
    /// What must hold, all of it.
    pub bounds: Vec<Bound>,
    /// What it makes of measurements and lives that scatter.
    pub noise: Noise,
    /// It holds where neither the run nor the baseline has what it looks at.
    pub optional: bool,
    /// What its limits are for, where that is not each run.
    pub over: Option<Over>,
    /// What differs from the baseline by less than this, in units of the metric, is no difference.
    pub min_change: f64,
}

impl Rule {
    /// Whether it looks at the mean over so many cells that differ in seed and repetition alone, and not at each.
    pub fn is_over(&self, cells: usize) -> bool {
        match self.over {
            None => false,
            Some(Over::Seeds) => true,
            Some(Over::Lives) => cells > 1,
        }
    }

    /// Whether a value differs from the baseline by enough to be judged beside it.
    pub fn is_change(&self, bound: &Bound, value: f64, baseline: Option<f64>) -> bool {
        let change = baseline.map(|baseline| (value - baseline).abs());
        !bound.kind.is_relative() || change.is_none_or(|change| change >= self.min_change)
    }

    /// Whether it looks at a target.
    pub fn is_about(&self, target: &TargetResults) -> bool {
        let pattern = self.target.as_deref();
        pattern.is_none_or(|pattern| target.is_called(pattern))
    }
}

/// What a rule makes of measurements, or lives, that scatter so much that they do not tell whether it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noise {
    /// That is no failure.
    Spares,
    /// That is one: what holds is to be proven.
    Fails,
    /// Medians and means are compared as they are.
    Ignored,
}

/// What the limits of a rule are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Over {
    /// The mean of cells that differ in seed and repetition alone.
    Seeds,
    /// The same where there are several of these, and else the one run.
    Lives,
}

/// What a rule looks at.
#[derive(Clone, Debug, PartialEq)]
pub enum Subject {
    /// A column of the days.
    Metric {
        /// Its name.
        column: String,
        /// On which days.
        when: When,
    },
    /// Medians of benchmarks.
    Bench {
        /// SUITE/PHASE/SIZE, each a pattern, from the left as many as there are.
        case: String,
        /// In which state, or both against each other.
        of: Of,
    },
}

/// On which days.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// The last.
    Last,
    /// Each.
    Every,
    /// This one, from 1.
    Day(u64),
    /// The mean of so many at the end.
    MeanOfLast(u64),
}

/// Which measurements of a benchmark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Of {
    /// Throughput of the aged file system.
    #[default]
    Aged,
    /// Throughput of its control.
    Control,
    /// Throughput of an empty one.
    Empty,
    /// Aged as a multiple of control.
    Ratio,
}

impl Of {
    /// Its word in the file.
    pub fn as_str(self) -> &'static str {
        match self {
            Of::Aged => "aged",
            Of::Control => "control",
            Of::Empty => "empty",
            Of::Ratio => "ratio",
        }
    }
}

/// A limit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bound {
    /// What it limits.
    pub kind: BoundKind,
    /// The limit: in units of the metric, or percent.
    pub limit: f64,
}

/// What a limit is a limit of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BoundKind {
    /// The value, from below.
    Min,
    /// The value, from above.
    Max,
    /// How far it lies below the baseline's.
    MaxDrop,
    /// The same in percent of the baseline's.
    MaxDropPercent,
    /// How far it lies above the baseline's.
    MaxRise,
    /// The same in percent of the baseline's.
    MaxRisePercent,
    /// How much worse it is than the baseline's, in a command's value, of which the results say what is worse.
    MaxWorse,
    /// The same in percent of the baseline's.
    MaxWorsePercent,
}

impl BoundKind {
    /// Its key in the file.
    pub fn as_str(self) -> &'static str {
        match self {
            BoundKind::Min => "min",
            BoundKind::Max => "max",
            BoundKind::MaxDrop => "max_drop",
            BoundKind::MaxDropPercent => "max_drop_percent",
            BoundKind::MaxRise => "max_rise",
            BoundKind::MaxRisePercent => "max_rise_percent",
            BoundKind::MaxWorse => "max_worse",
            BoundKind::MaxWorsePercent => "max_worse_percent",
        }
    }

    /// Whether it compares with a baseline.
    pub fn is_relative(self) -> bool {
        !matches!(self, BoundKind::Min | BoundKind::Max)
    }
}

impl Bound {
    /// As a limit of values of which more is better, or less.
    #[must_use]
    pub fn of_values(self, is_more_better: bool) -> Bound {
        let kind = match (self.kind, is_more_better) {
            (BoundKind::MaxWorse, true) => BoundKind::MaxDrop,
            (BoundKind::MaxWorse, false) => BoundKind::MaxRise,
            (BoundKind::MaxWorsePercent, true) => BoundKind::MaxDropPercent,
            (BoundKind::MaxWorsePercent, false) => BoundKind::MaxRisePercent,
            (kind, _) => kind,
        };
        Bound { kind, ..self }
    }

    /// How far a value lies beyond the limit, in units of the metric; 0 or less where it holds.
    pub fn excess(&self, value: f64, baseline: f64) -> f64 {
        let percent = self.limit / 100.0 * baseline.abs();
        match self.kind {
            BoundKind::Min => self.limit - value,
            BoundKind::Max => value - self.limit,
            // Nothing says otherwise: more is better.
            BoundKind::MaxDrop | BoundKind::MaxWorse => baseline - value - self.limit,
            BoundKind::MaxDropPercent | BoundKind::MaxWorsePercent => baseline - value - percent,
            BoundKind::MaxRise => value - baseline - self.limit,
            BoundKind::MaxRisePercent => value - baseline - percent,
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}", self.kind.as_str(), number(self.limit))
    }
}

/// The file as it stands.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default, rename = "match")]
    matching: Matching,
    #[serde(default)]
    targets: BTreeMap<String, String>,
    #[serde(default)]
    allow: Allow,
    #[serde(default)]
    other_kernel: bool,
    max_age_days: Option<Spanned<f64>>,
    #[serde(default)]
    rule: Vec<Spanned<Entry>>,
}

/// A rule as it stands.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: Option<String>,
    metric: Option<Spanned<String>>,
    day: Option<Spanned<toml::Value>>,
    bench: Option<Spanned<String>>,
    exec: Option<Spanned<String>>,
    of: Option<Spanned<Of>>,
    target: Option<String>,
    min: Option<Spanned<f64>>,
    max: Option<Spanned<f64>>,
    max_drop: Option<Spanned<f64>>,
    max_drop_percent: Option<Spanned<f64>>,
    max_rise: Option<Spanned<f64>>,
    max_rise_percent: Option<Spanned<f64>>,
    max_worse: Option<Spanned<f64>>,
    max_worse_percent: Option<Spanned<f64>>,
    strict: Option<Spanned<bool>>,
    min_change: Option<Spanned<f64>>,
    #[serde(default)]
    optional: bool,
    over: Option<Over>,
    prove: Option<Spanned<bool>>,
}

impl Rules {
    /// Those of a name or a file; without one those for what is compared with a baseline, if it is, and those for
    /// snapshots, if they are some.
    ///
    /// # Errors
    /// There are none of that name, or they make no sense; nothing is asked for.
    pub fn given(name: Option<&str>, of: &Path, has_baseline: bool) -> crate::Result<Rules> {
        match name {
            Some(name) => Rules::named(name),
            None if has_baseline => Rules::named(DEFAULT),
            None if is_of_snapshots(of) => Rules::named(OF_SNAPSHOTS),
            None if !is_of_something(of) => bail!(
                "{}: expected a run, an experiment, a snapshot, or a folder with snapshots, and found none{}",
                of.display(),
                if of.join("days.parquet").is_file() {
                    "; a target of a run has some if it was aged with --snapshots 1"
                } else {
                    ""
                }
            ),
            None => bail!(
                "nothing to check by: name rules with --rules FILE, a run to compare with by --baseline OLD, or both"
            ),
        }
    }

    /// The rules of a file, or of a preset by its name.
    ///
    /// # Errors
    /// There are none of that name; what [`parse`](Rules::parse) says.
    pub fn named(name: &str) -> crate::Result<Rules> {
        let preset = PRESETS.iter().find(|(preset, _)| *preset == name);
        if let Some((name, text)) = preset {
            return Rules::parse(name, text);
        }
        if Path::new(name).extension().is_none_or(|e| e != "toml") {
            let names = PRESETS.map(|(name, _)| name);
            bail!(
                "no rules are called `{name}`{}; expected one of {}, or a file that ends in .toml",
                did_you_mean(name, names),
                names.join(", ")
            );
        }
        let text = fsage_input::text(Path::new(name), fsage_input::TEXT_BYTES)
            .with_context(|| format!("{name}: cannot read the rules"))?;
        Rules::parse(name, &text)
    }

    /// Reads TOML; `file` is its name in messages.
    ///
    /// # Errors
    /// No TOML, or no rules; the message names the line and what was expected.
    pub fn parse(file: &str, text: &str) -> crate::Result<Rules> {
        let source = Text { name: file, text };
        let read: File = toml::from_str(text).map_err(|error| {
            let message = error.message().replace('\n', "; ");
            let at = error.span().unwrap_or(0..0);
            source.wrong(&at, format!("{message}{}", unknown_key_hint(&message)))
        })?;
        let rules = read.rule.into_iter().map(|entry| {
            let span = entry.span();
            entry.into_inner().into_rule(&source, &span)
        });
        if let Some(age) = read
            .max_age_days
            .as_ref()
            .filter(|age| !is_age(*age.get_ref()))
        {
            return Err(source.wrong(
                &age.span(),
                "max_age_days: expected a number of days above 0",
            ));
        }
        Ok(Rules {
            file: file.to_owned(),
            matching: read.matching,
            pairs: read.targets.into_iter().collect(),
            allow: read.allow,
            other_kernel: read.other_kernel,
            max_age_days: read.max_age_days.map(Spanned::into_inner),
            list: rules.collect::<crate::Result<_>>()?,
        })
    }
}

/// Whether it says how old something may be.
pub fn is_age(days: f64) -> bool {
    days.is_finite() && days > 0.0
}

impl Entry {
    fn into_rule(self, source: &Text<'_>, span: &Range<usize>) -> crate::Result<Rule> {
        let bounds = self.bounds(source)?;
        let noise = self.noise(source)?;
        if bounds.is_empty() {
            return Err(source.wrong(
                span,
                "the rule has no limit; give it min, max, max_drop, max_drop_percent, max_rise, max_rise_percent, \
                 max_worse or max_worse_percent",
            ));
        }
        let subject = match (&self.metric, self.bench.as_ref().or(self.exec.as_ref())) {
            _ if self.bench.is_some() && self.exec.is_some() => {
                return Err(source.wrong(span, "expected one of `bench` and `exec` in a rule"));
            }
            (Some(metric), None) => {
                for (key, at) in [
                    ("of", self.of.as_ref().map(Spanned::span)),
                    ("strict", self.strict.as_ref().map(Spanned::span)),
                ] {
                    let scatters = key == "strict" && self.over.is_some();
                    if let Some(at) = at.filter(|_| !scatters) {
                        let what = format!(
                            "`{key}` belongs to rules with `bench` or `exec`; leave it out"
                        );
                        return Err(source.wrong(&at, what));
                    }
                }
                let when = when(source, self.day.as_ref())?;
                Subject::Metric {
                    column: column(source, metric)?,
                    when,
                }
            }
            (None, Some(bench)) => {
                if let Some(day) = &self.day {
                    let what = "`day` belongs to rules with `metric`: benchmarks run at the end; leave it out";
                    return Err(source.wrong(&day.span(), what));
                }
                Subject::Bench {
                    case: case(source, bench, self.exec.is_some())?,
                    of: self.of.map(Spanned::into_inner).unwrap_or_default(),
                }
            }
            _ => {
                return Err(source.wrong(
                    span,
                    "expected one of `metric = \"layout_score\"`, `bench = \"sequential/read\"` and `exec = \"fio\"` \
                     in a rule",
                ));
            }
        };
        let min_change = self.min_change.as_ref().map_or(Ok(0.0), |given| {
            let value = *given.get_ref();
            if matches!(subject, Subject::Bench { .. }) || !value.is_finite() || value < 0.0 {
                let what = "`min_change` belongs to rules with `metric`, in units of the metric: expected a number \
                            that is not negative";
                return Err(source.wrong(&given.span(), what));
            }
            Ok(value)
        })?;
        Ok(Rule {
            line: 1 + source.lines_before(span),
            name: self.name.unwrap_or_else(|| subject.to_string()),
            subject,
            target: self.target,
            bounds,
            noise,
            optional: self.optional,
            over: self.over,
            min_change,
        })
    }

    fn noise(&self, source: &Text<'_>) -> crate::Result<Noise> {
        let is_strict = self.strict.as_ref().is_some_and(|strict| *strict.get_ref());
        match self.prove.as_ref().filter(|prove| *prove.get_ref()) {
            None if is_strict => Ok(Noise::Ignored),
            None => Ok(Noise::Spares),
            Some(prove) if self.over.is_none() && self.metric.is_some() => {
                let what = "`prove` belongs to rules with `over = \"seeds\"`, which lives may leave open, and to \
                            those of benchmarks; leave it out";
                Err(source.wrong(&prove.span(), what))
            }
            Some(prove) if is_strict => {
                let what = "`strict` takes means as they are, and `prove` asks that lives agree; expected one of them";
                Err(source.wrong(&prove.span(), what))
            }
            Some(_) => Ok(Noise::Fails),
        }
    }

    fn bounds(&self, source: &Text<'_>) -> crate::Result<Vec<Bound>> {
        let given = [
            (BoundKind::Min, self.min.as_ref()),
            (BoundKind::Max, self.max.as_ref()),
            (BoundKind::MaxDrop, self.max_drop.as_ref()),
            (BoundKind::MaxDropPercent, self.max_drop_percent.as_ref()),
            (BoundKind::MaxRise, self.max_rise.as_ref()),
            (BoundKind::MaxRisePercent, self.max_rise_percent.as_ref()),
        ];
        let mut bounds = Vec::new();
        for (kind, limit) in given.into_iter().chain(self.worse(source)?) {
            let Some(limit) = limit else { continue };
            let value = *limit.get_ref();
            if !value.is_finite() || kind.is_relative() && value < 0.0 {
                let expected = if kind.is_relative() {
                    "a number that is not negative"
                } else {
                    "a finite number"
                };
                let what = format!("{}: expected {expected}, found {value}", kind.as_str());
                return Err(source.wrong(&limit.span(), what));
            }
            bounds.push(Bound { kind, limit: value });
        }
        Ok(bounds)
    }
}

/// A limit as it stands, if it does, and what it is a limit of.
type Limit<'a> = (BoundKind, Option<&'a Spanned<f64>>);

impl Entry {
    /// Limits of how much worse the value may be, as what that means for what the rule looks at.
    fn worse(&self, source: &Text<'_>) -> crate::Result<Vec<Limit<'_>>> {
        let (limit, percent) = (self.max_worse.as_ref(), self.max_worse_percent.as_ref());
        let Some(first) = limit.or(percent) else {
            return Ok(Vec::new());
        };
        // More throughput is better.
        let better = match &self.metric {
            Some(metric) => {
                metric_of(&column(source, metric)?).map_or(Better::Neither, |m| m.better)
            }
            None if self.exec.is_some() => {
                let kinds = (BoundKind::MaxWorse, BoundKind::MaxWorsePercent);
                return Ok(vec![(kinds.0, limit), (kinds.1, percent)]);
            }
            None => Better::Higher,
        };
        let (kind, kind_percent) = match better {
            Better::Higher => (BoundKind::MaxDrop, BoundKind::MaxDropPercent),
            Better::Lower => (BoundKind::MaxRise, BoundKind::MaxRisePercent),
            Better::Neither => {
                let what = "neither more nor less of this is better; give max_drop or max_rise";
                return Err(source.wrong(&first.span(), what));
            }
        };
        Ok(vec![(kind, limit), (kind_percent, percent)])
    }
}

/// A column of the days that holds numbers.
fn column(source: &Text<'_>, metric: &Spanned<String>) -> crate::Result<String> {
    let name = metric.get_ref();
    let known = DayRow::numbers();
    if known.contains(&name.as_str()) {
        return Ok(name.clone());
    }
    let what = format!(
        "no metric is called `{name}`{}; known: {}",
        did_you_mean(name, known.iter().copied()),
        known.join(", ")
    );
    Err(source.wrong(&metric.span(), what))
}

fn when(source: &Text<'_>, day: Option<&Spanned<toml::Value>>) -> crate::Result<When> {
    let Some(day) = day else {
        return Ok(When::Last);
    };
    let found = match day.get_ref() {
        toml::Value::Integer(day) => u64::try_from(*day)
            .ok()
            .filter(|&day| day > 0)
            .map(When::Day),
        toml::Value::String(text) => match text.as_str() {
            "last" => Some(When::Last),
            "every" => Some(When::Every),
            text => text
                .strip_prefix("mean of last ")
                .and_then(|count| count.parse().ok())
                .filter(|&count| count > 0)
                .map(When::MeanOfLast),
        },
        _ => None,
    };
    found.ok_or_else(|| {
        let found = &source.text[day.span()];
        let what = "day: expected a number from 1, \"last\", \"every\" or \"mean of last 30\"";
        source.wrong(&day.span(), format!("{what}, found {found}"))
    })
}

/// A pattern of benchmarks whose suite there is.
/// SUITE/PHASE/SIZE; of a command NAME/VALUE, whose names nobody knows before.
fn case(source: &Text<'_>, bench: &Spanned<String>, is_command: bool) -> crate::Result<String> {
    let pattern = bench.get_ref();
    let parts: Vec<&str> = pattern.split('/').collect();
    if is_command {
        if parts.iter().any(|part| part.is_empty()) {
            let what = format!("exec: expected NAME/VALUE as in fio/read.bw, found `{pattern}`");
            return Err(source.wrong(&bench.span(), what));
        }
        return Ok(pattern.clone());
    }
    if parts.len() > 3 || parts.iter().any(|part| part.is_empty()) {
        let what = format!(
            "bench: expected SUITE/PHASE/SIZE as in sequential/read/64K, found `{pattern}`"
        );
        return Err(source.wrong(&bench.span(), what));
    }
    let mut suites = benchmarks::ALL.map(Benchmark::name).to_vec();
    suites.push(FLASH);
    if !suites.iter().any(|suite| matches(parts[0], suite)) {
        let what = format!(
            "no suite is called `{}`{}; known: {}; results of a command are named by `exec`",
            parts[0],
            did_you_mean(parts[0], suites.iter().copied()),
            suites.join(", ")
        );
        return Err(source.wrong(&bench.span(), what));
    }
    Ok(pattern.clone())
}

/// `; did you mean ...?` where a known word is near.
pub fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, known).map_or_else(String::new, |near| format!("; did you mean `{near}`?"))
}

/// The message of an unknown key names it first and then the known ones, all in backquotes.
fn unknown_key_hint(message: &str) -> String {
    if !message.starts_with("unknown ") {
        return String::new();
    }
    let mut words = message.split('`').skip(1).step_by(2);
    words
        .next()
        .map_or_else(String::new, |word| did_you_mean(word, words))
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::Metric { column, when } => write!(f, "{column}, {when}"),
            Subject::Bench { case, of } => write!(f, "{case}, {}", of.as_str()),
        }
    }
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            When::Last => f.write_str("last day"),
            When::Every => f.write_str("every day"),
            When::Day(day) => write!(f, "day {day}"),
            When::MeanOfLast(days) => write!(f, "mean of the last {days} days"),
        }
    }
}
