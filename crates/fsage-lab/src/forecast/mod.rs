//! Forecasts: when does a file system break, if it goes on living as it did?
//!
//! What was observed is learned (`past.rs`): nights of a file system, or any workload. Many futures are drawn from it
//! ([`fsage_workload::repeat::Learned::future`] says how), and each is lived on a target that has lived the past
//! (`lives.rs`). When these lives cross a limit ([`Limit`]) is the answer ([`Answer`]). What drives it is asked of
//! futures that are otherwise, and what would help of other targets; all of them are lived as well. With a part of the
//! days held out, the answers are compared with what really came.

mod answer;
mod headline;
mod limits;
mod lives;
mod page;
mod past;
mod room;
mod state;
mod tables;

pub use answer::{Answer, INTERVAL, LEAST_LIVES, quantiles};
pub use limits::Limit;
pub use past::{Observed, past_source};
pub use tables::{PAGE, is_forecast};

use crate::aging::{self, bytes_of};
use crate::build::Build;
use crate::compare::Workload;
use crate::error::{Context, bail};
use crate::generate::{Output, Source, generate};
use crate::report::words::{counted, lasting, list};
use crate::watch::Watch;
use crate::workload::is_there;
use fsage_core::size::human;
use fsage_durable::TemporaryFolder;
use fsage_target::{Target, TargetSpec, kernel_models};
use fsage_workload::repeat::{Instead, days_of_years};
use lives::{Ground, LifeDay, Wanted};
use past::Past;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What is asked for.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The past.
    pub workload: Workload<'a>,
    /// The target; without a size it takes the workload's.
    pub target: &'a TargetSpec,
    /// What counts as broken.
    pub limits: &'a [Limit],
    /// How far to look ahead; none for [`Request::days`].
    pub years: Option<f64>,
    /// The same in days; none for a year, and for as long as a preset lives where the past is one.
    pub days: Option<u64>,
    /// Futures; none for the usual number: 39, and 19 where those are many operations.
    pub lives: Option<usize>,
    /// Seed of the first future; the others follow.
    pub seed: u64,
    /// Whether to ask what drives it, and what would help; none to ask where that is not many operations.
    pub why: Option<bool>,
    /// Targets that might help, besides the usual ones.
    pub tries: &'a [TargetSpec],
    /// Share of the days at the end that is not learned from, but compared with.
    pub hold_out: Option<f64>,
    /// Lives at the same time.
    pub threads: usize,
    /// The folder for the page and tables; none are written without one.
    pub output: Option<&'a Path>,
    /// Whether the folder of another forecast may be replaced.
    pub force: bool,
}

impl<'a> Request<'a> {
    /// As far ahead as usual, in the usual number of futures, with nothing written.
    pub fn new(workload: Workload<'a>, target: &'a TargetSpec, limits: &'a [Limit]) -> Request<'a> {
        Request {
            workload,
            target,
            limits,
            years: None,
            days: None,
            lives: None,
            seed: 1,
            why: None,
            tries: &[],
            hold_out: None,
            threads: 1,
            output: None,
            force: false,
        }
    }
}

/// What lives under other conditions say.
#[derive(Clone, Debug, Serialize)]
pub struct Variant {
    /// What is otherwise: `half the churn`, or a target.
    pub name: String,
    /// The target.
    pub target: String,
    /// What they say, in the order of the limits.
    pub answers: Vec<Answer>,
}

/// A limit beside what really came.
#[derive(Clone, Debug, Serialize)]
pub struct Case {
    /// The limit; where none was named, what the truth had come to in the middle of the days held out.
    pub answer: Answer,
    /// The day on which the truth crossed it; `None` if not within the days held out.
    pub true_day: Option<u64>,
    /// Whether that lies in the interval; none where no interval is claimed.
    pub holds: Option<bool>,
}

impl Case {
    /// Whether it holds, in a table.
    pub fn shown(&self) -> &'static str {
        match self.holds {
            Some(true) => "yes",
            Some(false) => "no",
            None => "-",
        }
    }
}

/// A forecast.
#[derive(Clone, Debug, Serialize)]
pub struct Forecast {
    /// Who made it.
    #[serde(flatten)]
    pub build: Build,
    /// The target.
    pub target: String,
    /// How large it is, where that is known.
    pub target_bytes: Option<u64>,
    /// What was observed.
    pub observed: Observed,
    /// Days looked ahead.
    pub horizon_days: u64,
    /// Futures.
    pub lives: usize,
    /// Seed of the first one.
    pub seed: u64,
    /// When each limit is crossed.
    pub answers: Vec<Answer>,
    /// What the growth is of, where a preset made the past.
    pub premise: Option<String>,
    /// What their values of today are of, where that may be taken for something else.
    pub now_is: Option<String>,
    /// The same in futures that are otherwise.
    pub drivers: Vec<Variant>,
    /// The same on other targets.
    pub helps: Vec<Variant>,
    /// The answers beside the truth, where days were held out.
    pub held_out: Vec<Case>,
    /// Why no interval is claimed, where none is earned.
    pub no_interval: Option<String>,
    /// Why it is not to be trusted, or less so.
    pub doubts: Vec<String>,
    /// How many days ago the last of the snapshots was taken, where that is more than two. No result: it depends on the
    /// day of the forecast.
    #[serde(skip)]
    stale_days: Option<i64>,
}

/// What is known before what drives it is.
fn say_meanwhile(answers: &[Answer], watch: &dyn Watch) {
    for answer in answers.iter().filter(|answer| answer.reached > 0) {
        watch.note(&answer.sentence);
    }
    watch.note("What drives it, and what would help, comes next.");
}

fn is_of_nights(request: &Request<'_>) -> bool {
    matches!(request.workload, Workload::Made(Source::Snapshots(_)))
}

/// The target in a size that the past has room in, where it has none of its own. Nights are of a file system that has
/// its size.
fn sized(request: &Request<'_>, workload: &Path, watch: &dyn Watch) -> crate::Result<TargetSpec> {
    let given = std::slice::from_ref(request.target);
    let mut target = aging::sized(workload, given, watch)?;
    if !is_of_nights(request) {
        target = aging::roomy(workload, given, target, watch)?;
    }
    target.into_iter().next().context("one target is sized")
}

/// Forecasts a target.
///
/// # Errors
/// A request that makes no sense; a workload that cannot be read or has no times; a target that cannot be made; an
/// output that is there or cannot be written; an interrupt.
pub fn forecast(request: &Request<'_>, watch: &dyn Watch) -> crate::Result<Forecast> {
    check(request)?;
    let made = Made::begin(request.workload, watch)?;
    let workload = made.path();
    let past = Past::learn((workload, &made.shown()), request.hold_out, watch)?;
    let target = sized(request, workload, watch)?;
    let with_truth = request.hold_out.is_some();
    let named: &[Limit] = if request.limits.is_empty() {
        &Limit::usual()
    } else {
        request.limits
    };
    let began = Instant::now();
    let mut ground = Ground::begin(&target, &past, workload, named, with_truth, watch)?;
    let past_took = began.elapsed();
    let observed = past.observed();
    let horizon = horizon(request, &observed, &ground)?;
    let moved: Vec<Limit>;
    let limits = if with_truth && request.limits.is_empty() {
        moved = limits_of_truth(named, &ground.rows);
        ground = ground.with_limits(&moved, named)?;
        &moved[..]
    } else {
        named
    };
    let amount = Amount::of(request, &observed, horizon);
    let wanted = Wanted {
        lives: amount.lives,
        first_seed: request.seed,
        days: horizon,
        threads: request.threads,
        instead: Instead::Nothing,
        ends_early: false,
    };
    let others = if amount.why && !with_truth {
        others(&target, request.tries)
    } else {
        Vec::new()
    };
    say_too_small(&target, amount.why && !with_truth, watch);
    if let Some(less) = &amount.less {
        watch.note(less);
    }
    warn_of_time(&wanted, &observed, past_took, &others, watch);
    let bar = watch.bar_count(
        Some((wanted.lives * (1 + others.len())) as u64 * horizon),
        "days lived",
    );
    let began = Instant::now();
    let lives = ground.live(&wanted, watch, &*bar)?;
    let answers = summed(&ground, limits, &lives, horizon, &past);
    if !others.is_empty() && began.elapsed() > LONG {
        say_meanwhile(&answers, watch);
    }
    let doubts = doubts(&observed, &ground, horizon, &target);
    let mut found_others = Others::default();
    let mut all = vec![(String::new(), target.to_string(), lives)];
    for other in others {
        let another = if other.spec == target {
            None
        } else {
            let spec = &other.spec;
            Some(Ground::begin(spec, &past, workload, limits, false, watch)?)
        };
        let wanted = Wanted {
            instead: other.instead,
            ends_early: true,
            ..wanted
        };
        let ground = another.as_ref().unwrap_or(&ground);
        let lives = ground.live(&wanted, watch, &*bar)?;
        let answers = summed(ground, limits, &lives, horizon, &past);
        found_others.add(&other, answers);
        all.push((other.name, other.spec.to_string(), lives));
    }
    drop(bar);
    let held_out = with_truth.then(|| cases(&answers, &ground.rows, limits, horizon));
    let found = Forecast {
        build: Build::this(),
        target: target.to_string(),
        target_bytes: bytes_of(&target),
        no_interval: observed.no_interval(),
        observed,
        horizon_days: horizon,
        lives: wanted.lives,
        seed: request.seed,
        answers,
        premise: past.premise(),
        now_is: state::now_is(&target, request.workload),
        drivers: found_others.drivers,
        helps: found_others.helps,
        held_out: held_out.unwrap_or_default(),
        doubts,
        stale_days: past.age_days().filter(|_| is_of_nights(request)),
    };
    if let Some(output) = request.output {
        tables::write(output, request.force, &found, limits, &ground.rows, &all)?;
    }
    Ok(found)
}

/// The usual number of futures, and that of long ones.
const USUAL_LIVES: usize = 39;
/// So many operations take minutes on two cores: what is not asked for is left out where there are more.
const MANY_OPERATIONS: u64 = 40_000_000;

/// How much is lived. It depends on the request and on the past, and not on the machine.
struct Amount {
    lives: usize,
    why: bool,
    /// What of it is less than usual, in a sentence; none where nothing is.
    less: Option<String>,
}

impl Amount {
    fn of(request: &Request<'_>, observed: &Observed, horizon: u64) -> Amount {
        let of_life = u128::from(observed.operations) * u128::from(horizon);
        let of_life = of_life / u128::from(observed.days.max(1));
        let is_long = |lives: usize| of_life * lives as u128 > u128::from(MANY_OPERATIONS);
        let usual = if is_long(USUAL_LIVES) {
            LEAST_LIVES
        } else {
            USUAL_LIVES
        };
        let lives = request.lives.unwrap_or(usual);
        let why = request.why.unwrap_or(!is_long(lives));
        let fewer = request.lives.is_none() && lives < USUAL_LIVES;
        let fewer =
            fewer.then(|| format!("{lives} futures are lived and not {USUAL_LIVES} (--lives)"));
        let unasked = request.why.is_none() && !why;
        let unasked = unasked.then(|| "what drives it is not asked (--why)".to_owned());
        let less: Vec<String> = fewer.into_iter().chain(unasked).collect();
        Amount {
            lives,
            why,
            less: (!less.is_empty())
                .then(|| format!("These are many operations: {}.", list(&less))),
        }
    }
}

/// Work that takes longer says so before, and what is known on the way.
const LONG: Duration = Duration::from_secs(20);

/// Says how long lives will take, by how long the past did, where that is long.
fn warn_of_time(
    wanted: &Wanted,
    observed: &Observed,
    past_took: Duration,
    others: &[Other],
    watch: &dyn Watch,
) {
    let rounds = wanted.lives.div_ceil(wanted.threads.max(1)) as u64;
    let days = rounds.saturating_mul(wanted.days) as f64 / observed.days.max(1) as f64;
    let expected = past_took.mul_f64(days);
    if expected <= LONG {
        return;
    }
    let why = if others.is_empty() {
        String::new()
    } else {
        let times = u32::try_from(others.len()).unwrap_or(u32::MAX);
        format!(
            ", and up to {} more for what drives it and what would help (--no-why leaves that out; fewer --lives or \
             --years take less)",
            lasting(expected.saturating_mul(times))
        )
    };
    watch.note(&format!(
        "{} lives of {} take about {}{why}. A forecast that is stopped leaves nothing, and begins again.",
        wanted.lives,
        counted(wanted.days, "day"),
        lasting(expected)
    ));
}

/// What lives under other conditions say.
#[derive(Default)]
struct Others {
    drivers: Vec<Variant>,
    helps: Vec<Variant>,
}

impl Others {
    fn add(&mut self, other: &Other, answers: Vec<Answer>) {
        let variant = Variant {
            name: other.name.clone(),
            target: other.spec.to_string(),
            answers,
        };
        if other.instead == Instead::Nothing {
            self.helps.push(variant);
        } else {
            self.drivers.push(variant);
        }
    }
}

/// That the numbers make sense, and that the output may be written.
fn check(request: &Request<'_>) -> crate::Result<()> {
    if let Some(output) = request.output
        && output.symlink_metadata().is_ok()
    {
        if !is_forecast(output) {
            bail!(
                "{}: exists and is no forecast, so it is left alone; name another folder",
                output.display()
            );
        }
        if !request.force {
            bail!("{} exists: --force replaces it", output.display());
        }
    }
    if request.lives.is_some_and(|lives| lives < LEAST_LIVES) {
        bail!(
            "lives: expected {LEAST_LIVES} or more: the interval of fewer lives holds less than 90 % of them"
        );
    }
    if request
        .years
        .is_some_and(|years| days_of_years(years).is_none_or(|days| days == 0))
    {
        bail!("years: expected a number of years, a day (0.003) or more");
    }
    if request
        .hold_out
        .is_some_and(|share| !(share > 0.0 && share < 1.0))
    {
        bail!("hold-out: expected a share between 0 and 1, as in 1/3");
    }
    Ok(())
}

/// Days that are looked ahead: those held out, or those asked for; without either as many as a preset lives, or a year.
fn horizon(request: &Request<'_>, observed: &Observed, ground: &Ground<'_>) -> crate::Result<u64> {
    let is_preset = matches!(request.workload, Workload::Made(Source::Profile(_)));
    let days = if request.hold_out.is_some() {
        let last = ground.rows.last().map_or(0, |row| row.day);
        u64::try_from(last).unwrap_or(0)
    } else if let Some(years) = request.years {
        days_of_years(years).unwrap_or(0)
    } else {
        let usual = if is_preset {
            Some(observed.days)
        } else {
            days_of_years(1.0)
        };
        request.days.or(usual).unwrap_or(0)
    };
    if days == 0 {
        bail!("nothing is looked ahead: expected a day or more");
    }
    Ok(days)
}

/// Why the forecast is not to be trusted, or less so.
fn doubts(
    observed: &Observed,
    ground: &Ground<'_>,
    horizon: u64,
    target: &TargetSpec,
) -> Vec<String> {
    let mut doubts = observed.doubts(horizon);
    if ground.skipped > 0 {
        doubts.push(format!(
            "{} operations of the past did not fit on {target}: it is smaller than what was observed",
            ground.skipped
        ));
    }
    if ground.missing() > 0 {
        doubts.push(format!(
            "{} files of the past are not in the snapshot that {target} begins with: what is done to them is left out",
            ground.missing()
        ));
    }
    doubts.extend(ground.past.unseen());
    doubts.extend(room::doubts(target, ground.geometry(), ground.limits));
    doubts
}

/// The workload: one that is there, or one that is made for the time of the forecast.
struct Made {
    path: PathBuf,
    folder: Option<TemporaryFolder>,
}

impl Made {
    fn begin(workload: Workload<'_>, watch: &dyn Watch) -> crate::Result<Made> {
        match workload {
            Workload::File(path) if path == Path::new("-") => {
                bail!("the past is read more than once, and a pipe is gone after once; name a file")
            }
            Workload::File(path) => {
                is_there(path)?;
                Ok(Made {
                    path: path.to_owned(),
                    folder: None,
                })
            }
            Workload::Made(source) => {
                let folder =
                    TemporaryFolder::private(&std::env::temp_dir().join("fsage-forecast"))?;
                let path = folder.path().join("past.parquet");
                generate(source, &Output::replacing(&path), watch)?;
                Ok(Made {
                    path,
                    folder: Some(folder),
                })
            }
        }
    }

    fn path(&self) -> &Path {
        &self.path
    }

    /// As the user knows it.
    fn shown(&self) -> String {
        match self.folder {
            Some(_) => "the past".to_owned(),
            None => self.path.display().to_string(),
        }
    }
}

/// Lives under other conditions.
struct Other {
    name: String,
    spec: TargetSpec,
    instead: Instead,
}

/// Says which of the models that might help are not asked, since they take more room than the target has.
fn say_too_small(target: &TargetSpec, is_asked: bool, watch: &dyn Watch) {
    let models = kernel_models();
    let is_one = is_asked && models.contains(&target.kind.as_str());
    let Some(bytes) = bytes_of(target).filter(|_| is_one) else {
        return;
    };
    for rival in models.into_iter().filter(|&model| model != target.kind) {
        let spec = TargetSpec::parse(rival).ok();
        let least = spec.and_then(|spec| Some(spec.entry()?.least_bytes));
        if let Some(least) = least.filter(|least| bytes < *least) {
            watch.note(&format!(
                "{rival} is not asked whether it would help: it takes {} or more; --try names other targets",
                human(least)
            ));
        }
    }
}

/// What the future is called in which space in use stays as it is.
const NO_GROWTH: &str = "no growth";

/// Futures that are otherwise, and targets that might help: 10 % more space, its own defaults, the other models of
/// file systems of today, and what the user names.
fn others(target: &TargetSpec, tries: &[TargetSpec]) -> Vec<Other> {
    let driver = |name: &str, instead| Other {
        name: name.to_owned(),
        spec: target.clone(),
        instead,
    };
    let mut others = vec![
        driver(NO_GROWTH, Instead::NoGrowth),
        driver("half the churn", Instead::HalfChurn),
        driver("no new small files", Instead::NoSmallFiles),
    ];
    let mut help = |name: &str, spec: TargetSpec| {
        let is_lived = |other: &Other| other.instead == Instead::Nothing && other.spec == spec;
        if !others.iter().any(is_lived) {
            others.push(Other {
                name: name.to_owned(),
                spec,
                instead: Instead::Nothing,
            });
        }
    };
    if let Some(larger) = larger(target) {
        help("10 % more space", larger);
    }
    if let Some(usual) = with_defaults(target) {
        help("all defaults", usual);
    }
    let models = kernel_models();
    let is_one = models.contains(&target.kind.as_str());
    if let Some(bytes) = bytes_of(target).filter(|_| is_one) {
        for model in models.into_iter().filter(|&model| model != target.kind) {
            if let Some((name, spec)) = rival(model, target, bytes) {
                help(&name, spec);
            }
        }
    }
    for spec in tries {
        help(&spec.to_string(), as_large(spec, target));
    }
    others
}

/// A target in the size of another one, where nothing of it says a size.
fn as_large(spec: &TargetSpec, as_this: &TargetSpec) -> TargetSpec {
    let bytes = bytes_of(as_this).map(|bytes| bytes.next_multiple_of(MIB));
    let sized = bytes.and_then(|bytes| aging::of_capacity(spec, bytes));
    sized.unwrap_or_else(|| spec.clone())
}

/// Another model of the target's size, under the target's regime if it has it; and what it is called.
fn rival(model: &str, target: &TargetSpec, bytes: u64) -> Option<(String, TargetSpec)> {
    let of = |name: &str| {
        let spec = as_large(&TargetSpec::parse(name).ok()?, target);
        let has_room = spec.entry()?.least_bytes <= bytes;
        let is_made = has_room && Target::can_be_made(&spec).is_ok();
        is_made.then(|| (name.to_owned(), spec))
    };
    let regime = target.value("regime");
    let same = regime.and_then(|regime| of(&format!("{model}:regime={regime}")));
    same.or_else(|| of(model))
}

/// The target with no option but its size, what it begins with, and whose files and which disk they are; where it has a
/// size, which the defaults may not.
fn with_defaults(target: &TargetSpec) -> Option<TargetSpec> {
    target.value("size")?;
    let mut spec = target.clone();
    spec.options.retain(|(key, _)| {
        matches!(
            key.as_str(),
            "size" | "from" | "regime" | "seed" | "root" | "rotational"
        )
    });
    (spec != *target && Target::can_be_made(&spec).is_ok()).then_some(spec)
}

const MIB: u64 = 1 << 20;

/// The target with 10 % more space, in whole mebibytes; where it names no size, with 10 % more than it has.
fn larger(target: &TargetSpec) -> Option<TargetSpec> {
    let bytes = bytes_of(target)?;
    let more = (bytes.saturating_mul(11) / 10).div_ceil(MIB);
    let mut spec = target.without("size");
    spec.options
        .insert(0, ("size".to_owned(), Some(format!("{more}M"))));
    let makes_sense = match spec.real() {
        Ok(Some(_)) => true,
        Ok(None) => Target::can_be_made(&spec).is_ok(),
        Err(_) => false,
    };
    makes_sense.then_some(spec)
}

/// The day on which days of a life first cross a limit, within those that are looked ahead.
fn crossing(rows: &[LifeDay], place: usize, limit: &Limit, horizon: u64) -> Option<u64> {
    let mut future = rows.iter().filter(|row| row.day > 0);
    let crossed =
        future.find(|row| row.values[place].is_some_and(|value| limit.is_crossed(value)))?;
    u64::try_from(crossed.day)
        .ok()
        .filter(|&day| day <= horizon)
}

/// The value of a limit on the last day, in the middle one of the lives; `None` where most had crossed it by then.
fn at_end(
    lives: &[Vec<LifeDay>],
    place: usize,
    limit: &Limit,
    crossed: &[Option<u64>],
) -> Option<f64> {
    let whole = lives.iter().zip(crossed).filter(|(_, day)| day.is_none());
    let mut values: Vec<f64> = whole
        .filter_map(|(life, _)| life.last()?.values[place])
        .collect();
    values.sort_by(f64::total_cmp);
    if !limit.below {
        values.reverse();
    }
    // Those that crossed it come before the worst of the others.
    let middle = lives.len().checked_sub(1)? / 2;
    let place = middle.checked_sub(lives.len() - values.len())?;
    values.get(place).copied()
}

fn summed(
    ground: &Ground<'_>,
    limits: &[Limit],
    lives: &[Vec<LifeDay>],
    horizon: u64,
    past: &Past,
) -> Vec<Answer> {
    let date = |day: u64| {
        let day = i64::try_from(day).unwrap_or(i64::MAX);
        past.has_dates().then(|| past.learned.date_after(day))
    };
    let observed = past.observed();
    let no_interval = observed.no_interval();
    let slowed = observed.slowed().unwrap_or(1.0);
    let crossed = limits.iter().enumerate().map(|(place, limit)| {
        let days = lives.iter();
        days.map(|life| crossing(life, place, limit, horizon))
            .collect()
    });
    let crossed: Vec<Vec<Option<u64>>> = crossed.collect();
    let of_failures = limits.iter().position(Limit::is_of_failures);
    let fails = of_failures.and_then(|place| quantiles(&crossed[place]).0);
    let limits = limits.iter().zip(&crossed).enumerate();
    limits
        .map(|(place, (limit, days))| {
            let now = ground.now().and_then(|row| row.values[place]);
            let why = no_interval.as_deref();
            let mut answer = Answer::new(limit, now, days, horizon, why, slowed, date);
            answer.at_end = at_end(lives, place, limit, days);
            let free = |value| limit.free_bytes(value, bytes_of(ground.spec())?);
            let later = observed.later_growth();
            if let (Some(left), Some(now)) = (free(limit.value), now.and_then(free)) {
                if let Some(later) = later {
                    answer.set_later(now - left, later);
                }
                let growth = later.unwrap_or(observed.growth_bytes_per_day);
                answer.set_headroom(left, growth, fails);
            } else if later.is_some() {
                answer.set_as_before();
            }
            answer
        })
        .collect()
}

/// Limits at what the truth had come to in the middle of the days held out, where it had got worse than it ever was
/// before. So each of them is crossed, and none is chosen by hand.
fn limits_of_truth(named: &[Limit], rows: &[LifeDay]) -> Vec<Limit> {
    let last = rows.last().map_or(0, |row| row.day);
    let mut limits: Vec<Limit> = Vec::new();
    for (place, limit) in named
        .iter()
        .enumerate()
        .filter(|(_, limit)| limit.has_course())
    {
        let worst = |days: &dyn Fn(i64) -> bool| {
            let days = rows.iter().filter(|row| days(row.day));
            let values = days.filter_map(|row| row.values[place]);
            values.reduce(|a, b| if (a < b) == limit.below { a } else { b })
        };
        let (Some(before), Some(middle)) = (
            worst(&|day| (-last..=0).contains(&day)),
            worst(&|day| day > 0 && day <= (last + 1) / 2),
        ) else {
            continue;
        };
        let has_got_worse = if limit.below {
            middle < before
        } else {
            middle > before
        };
        if has_got_worse {
            // Halfway to what is next worse, so that reaching this value is crossing it.
            let step = (before - middle) * 1e-9;
            limits.push(limit.at(middle + step));
        }
    }
    limits
}

fn cases(answers: &[Answer], rows: &[LifeDay], limits: &[Limit], horizon: u64) -> Vec<Case> {
    let limits = limits.iter().enumerate().zip(answers);
    let open = limits.filter(|(_, answer)| !answer.already && answer.now.is_some());
    open.map(|((place, limit), answer)| {
        let true_day = crossing(rows, place, limit, horizon);
        Case {
            answer: answer.clone(),
            true_day,
            holds: answer.holds(true_day),
        }
    })
    .collect()
}

impl Forecast {
    /// The target, with its size where that is known.
    pub fn target_shown(&self) -> String {
        match self.target_bytes {
            Some(bytes) => format!("{}, {}", self.target, human(bytes)),
            None => self.target.clone(),
        }
    }

    /// The limit that is crossed first and not crossed yet.
    pub fn first_crossed(&self) -> Option<usize> {
        let open = self.answers.iter().enumerate();
        let open = open.filter(|(_, answer)| !answer.already && answer.reached > 0);
        let first = open.min_by_key(|(_, answer)| {
            (
                answer.day_led().unwrap_or(u64::MAX),
                answer.low_day.unwrap_or(u64::MAX),
            )
        });
        first.map(|(place, _)| place)
    }

    /// Limits that some of the lives cross within the time and have not crossed yet, or half of those under other
    /// conditions: first what comes first.
    pub fn open_limits(&self) -> Vec<usize> {
        let is_open = |answer: &Answer| !answer.already && answer.now.is_some();
        let comes = |place: &usize| {
            let base = &self.answers[*place];
            let variants = self.drivers.iter().chain(&self.helps);
            let mut others = variants.map(|variant| &variant.answers[*place]);
            is_open(base) && base.reached > 0
                || others.any(|other| is_open(other) && other.median_day.is_some())
        };
        let mut open: Vec<usize> = (0..self.answers.len()).filter(comes).collect();
        open.sort_by_key(|&place| self.answers[place].day_led().unwrap_or(u64::MAX));
        open
    }

    /// Limits that are crossed already, or in half of the lives within so many days.
    pub fn within(&self, days: u64) -> impl Iterator<Item = &Answer> {
        let is_soon = move |answer: &&Answer| {
            answer.already || answer.median_day.is_some_and(|day| day <= days)
        };
        self.answers.iter().filter(is_soon)
    }

    /// That snapshots were no longer taken lately; none where they were.
    pub fn stale(&self) -> Option<String> {
        self.stale_days.map(|age| {
            format!("the last snapshot was taken {age} days ago, and days count from then: is one taken every night?")
        })
    }

    /// Why it is not to be trusted, or less so, a sentence each.
    pub fn doubts_said(&self) -> impl Iterator<Item = String> {
        self.doubts
            .iter()
            .map(|doubt| format!("In doubt: {doubt}."))
    }
}

/// Bytes that come or go a day.
fn a_day(bytes: f64) -> String {
    let sign = if bytes < 0.0 { "-" } else { "+" };
    format!("{sign}{} a day", human(bytes.abs() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// XFS has the regime of a kernel left alone as ext4 has, and not `b` of another model.
    #[test]
    fn a_rival_is_asked_under_the_same_regime() {
        let named = |target: &str| {
            let target = TargetSpec::parse(target).expect("a target");
            let (name, spec) = rival("xfs", &target, 512 << 20).expect("it has room");
            (name, spec.to_string())
        };
        let same = ("xfs:regime=default", "xfs:size=512M,regime=default");
        let same = (same.0.to_owned(), same.1.to_owned());
        assert_eq!(named("ext4:size=512M,regime=default"), same);
        let plain = ("xfs".to_owned(), "xfs:size=512M".to_owned());
        assert_eq!(named("ext4:size=512M"), plain);
        let small = TargetSpec::parse("ext4:size=64M").expect("a target");
        assert!(rival("xfs", &small, 64 << 20).is_none());
    }
}
