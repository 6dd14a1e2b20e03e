//! How full a file system may get: one target in several sizes, aged by one workload.

use crate::benching::PhaseRatio;
use crate::experiment::Verdict;
use crate::life::{self, Life};
use crate::report::Over;
use crate::report::by_value;
use crate::report::names::short;
use crate::report::verdict::RESERVING;
use crate::report::words::{list, percent};
use crate::table;
use fsage_bench::{Better, Says};
use fsage_target::TargetSpec;
use serde::Serialize;
use std::collections::{BTreeSet, HashMap};
use std::io::{self, Write};

/// A suite and a phase of it.
pub type Phase = (String, String);

/// Layout scores that differ by this part of them are alike.
const ALIKE: f64 = 0.005;
/// What keeps this part of what the emptiest size has lost little by being fuller.
const LITTLE_LOST: f64 = 0.9;
/// Who keeps no more than this from where writes fail has no margin.
const MARGIN: f64 = 0.05;
/// Room for fewer large extents is worth a word.
const FEW_LEFT: f64 = 10.0;

/// A target in several sizes.
#[derive(Clone, Debug, Serialize)]
pub struct Fullness {
    /// Its specification without the size.
    pub target: String,
    /// What tells it from the others.
    pub name: String,
    /// What is compared: a suite and a phase; `None` for the layout score, where no benchmark was run.
    pub phase: Option<Phase>,
    /// The emptiest first.
    pub levels: Vec<Level>,
    /// The phase that loses most among those that are not gone by; `None` where there is none.
    #[serde(skip)]
    elsewhere: Option<Elsewhere>,
}

/// What being fuller costs in a phase that sets no limit.
#[derive(Clone, Debug)]
struct Elsewhere {
    phase: Phase,
    kept: Kept,
    /// At the fullest size that had room for everything.
    utilization: f64,
}

/// A target in one of its sizes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Level {
    /// Its specification.
    pub target: String,
    /// Share of the data space that was taken at the end of its fullest day.
    pub utilization: f64,
    /// Operations that were not done, for lack of space most often.
    pub skipped: u64,
    /// Extents of 1 MiB that it has room for in the end; `None` where free space is not known.
    pub placeable_1m: Option<f64>,
    /// What age left; `None` where it was not measured aged and in the control.
    pub left: Option<Left>,
    /// How fast the aged file system is, where more is better; `None` where that is not known.
    #[serde(skip)]
    pub(crate) aged: Option<f64>,
    /// The same life by life, where there are several.
    #[serde(skip)]
    pub(crate) by_life: Vec<(Life, f64)>,
    /// What of that it keeps beside the emptiest size, which [`by_target`] finds; `None` as for what age left.
    pub kept: Option<Kept>,
}

/// Aged / control as a multiple of that of the emptiest size. What a fresh copy gains in a smaller size, as on a disk
/// that has less far to go, is no loss of the aged one: as far as the fresh copy is faster than in the emptiest size,
/// the speed of the aged file system counts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Kept {
    /// The multiple; of lives that both sizes lived the mean of theirs.
    pub ratio: f64,
    /// Where the mean of lives lies with a confidence of 0.95, by Student's t; `None` of fewer than three.
    pub interval: Option<[f64; 2]>,
    /// Lives that it is the mean of.
    pub lives: usize,
}

/// What a size costs beside the emptiest.
#[derive(Clone, Copy, PartialEq)]
enum Costs {
    Little,
    Much,
    /// The interval holds the limit between the two.
    Open,
}

impl Kept {
    fn between(level: &Level, emptiest: &Level) -> Option<Kept> {
        let pairs = life::pairs(level.by_life.clone(), emptiest.by_life.clone());
        let ratios = pairs.into_iter().map(|(of, than)| of / than);
        let kept = match Over::of(ratios) {
            Some(over) if over.count > 1 => Kept {
                ratio: over.mean,
                interval: over.mean_interval.map(|_| over.ends().into()),
                lives: over.count,
            },
            _ => Kept {
                ratio: level.left?.ratio / emptiest.left?.ratio,
                interval: None,
                lives: 1,
            },
        };
        let fresh = |level: &Level| Some(level.aged? / level.left?.ratio);
        let fresh_gains = fresh(level)
            .zip(fresh(emptiest))
            .map(|(of, than)| of / than);
        let gains = fresh_gains.filter(|gains| *gains > 1.0).unwrap_or(1.0);
        Some(Kept {
            ratio: kept.ratio * gains,
            interval: kept.interval.map(|ends| ends.map(|end| end * gains)),
            ..kept
        })
    }

    fn costs(&self) -> Costs {
        let [low, high] = self.interval.unwrap_or([self.ratio; 2]);
        if low >= LITTLE_LOST {
            Costs::Little
        } else if high < LITTLE_LOST {
            Costs::Much
        } else {
            Costs::Open
        }
    }

    /// What a size has lost, and within which ends.
    fn lost_at(&self, full: &str) -> String {
        // Just over a tenth is seen to be more.
        let is_open = self.costs() == Costs::Open;
        let shown = |share: f64| {
            if !is_open && (share - (1.0 - LITTLE_LOST)).abs() < 0.005 {
                format!("{:.2}", share * 100.0)
            } else {
                // Not -0.
                format!("{:.0}", (share * 100.0).round() + 0.0)
            }
        };
        let lost = match 1.0 - self.ratio {
            little if little < 0.005 => "nothing".to_owned(),
            lost => format!("{} %", shown(lost)),
        };
        let ends = self.interval.map(|[low, high]| {
            let [low, high] = [1.0 - high, 1.0 - low].map(shown);
            format!(" ({low} to {high})")
        });
        format!("{lost} at {full}{}", ends.unwrap_or_default())
    }
}

/// The aged file system as a multiple of its control.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Left {
    /// The ratio.
    pub ratio: f64,
    /// Where it lies: of one life with a confidence of 0.99 by the repetitions, of two both of them, of more with a
    /// confidence of 0.95 by Student's t.
    pub interval: [f64; 2],
    /// What it says of the aged file system.
    pub says: Says,
    /// Lives that it is the mean of.
    pub lives: usize,
}

impl Left {
    /// Of the layout scores of one life, which have no spread.
    pub fn of_layout(ratio: f64) -> Left {
        let says = if (ratio - 1.0).abs() < ALIKE {
            Says::Same
        } else if ratio < 1.0 {
            Says::Slower
        } else {
            Says::Faster
        };
        Left {
            ratio,
            interval: [ratio, ratio],
            says,
            lives: 1,
        }
    }

    /// The mean of several.
    pub(crate) fn of_layouts(over: Over) -> Left {
        let left = Left::of_layout(over.mean);
        let (low, high) = over.ends();
        let is_open = left.says != Says::Same && low <= 1.0 && 1.0 <= high;
        Left {
            interval: [low, high],
            says: if is_open {
                Says::Inconclusive
            } else {
                left.says
            },
            lives: over.count,
            ..left
        }
    }
}

/// What `df` shows of an ext4 that is so full, as it leaves out what that keeps for root; `None` of others, and where
/// nothing is kept.
pub(crate) fn shown_by_df(target: &str, utilization: f64) -> Option<f64> {
    let spec = TargetSpec::parse(target).ok()?;
    let kept = match spec.value("reserve") {
        Some(percent) => percent.parse::<f64>().ok()?,
        None if spec.kind == RESERVING || spec.place.as_deref() == Some(RESERVING) => 5.0,
        None => return None,
    };
    let is_as_made = spec.value("mkfs").is_none_or(|words| !words.contains("-m"));
    let shown = utilization / (1.0 - kept / 100.0);
    (kept > 0.0 && is_as_made).then(|| shown.min(1.0))
}

/// The phase by which levels are compared: reading the hot files, which are aged files; else the first one that reads.
pub fn phase(phases: &[(&str, &str)]) -> Option<Phase> {
    let hot = phases.iter().find(|of| **of == ("hot-files", "read"));
    let reads = phases.iter().find(|(_, phase)| phase.contains("read"));
    let chosen = hot.or(reads).or(phases.first());
    chosen.map(|&(suite, phase)| (suite.to_owned(), phase.to_owned()))
}

/// The phases that may say how full is too full: that by which levels are compared, and those of the delivery of mail.
fn phases_that_limit(phases: &[(&str, &str)]) -> Vec<Option<Phase>> {
    let mut limiting = vec![phase(phases)];
    for &(suite, phase) in phases.iter().filter(|(suite, _)| *suite == "delivery") {
        let mail = Some((suite.to_owned(), phase.to_owned()));
        if !limiting.contains(&mail) {
            limiting.push(mail);
        }
    }
    limiting
}

/// Targets that are there in several sizes, by the phase to which being fuller costs most.
pub fn by_what_limits(
    phases: &[(&str, &str)],
    levels: impl Fn(Option<&Phase>) -> Vec<Level>,
) -> Vec<Fullness> {
    let all = phases_that_limit(phases).into_iter();
    let all = all.map(|phase| by_target(phase.as_ref(), levels(phase.as_ref())));
    let worst = |all: &[Fullness]| {
        let levels = all.iter().flat_map(|of| &of.levels);
        let had_room = levels.filter(|level| level.skipped == 0);
        let kept = had_room.filter_map(|level| Some(level.kept?.ratio));
        kept.fold(f64::INFINITY, f64::min)
    };
    let all = all.min_by(|a, b| worst(a).total_cmp(&worst(b)));
    let mut all = all.unwrap_or_default();
    let limiting = all.first().and_then(|of| of.phase.clone());
    let others: BTreeSet<Phase> = phases
        .iter()
        .map(|&(suite, phase)| (suite.to_owned(), phase.to_owned()))
        .filter(|phase| limiting.as_ref().is_some_and(|limiting| limiting != phase))
        .collect();
    for phase in others {
        for other in by_target(Some(&phase), levels(Some(&phase))) {
            let of = all.iter_mut().find(|of| of.target == other.target);
            if let (Some(of), Some(elsewhere)) = (of, other.at_fullest()) {
                let worst = of.elsewhere.as_ref();
                if worst.is_none_or(|worst| elsewhere.kept.ratio < worst.kept.ratio) {
                    of.elsewhere = Some(elsewhere);
                }
            }
        }
    }
    all
}

/// Targets that are there in several sizes.
pub fn by_target(phase: Option<&Phase>, levels: impl IntoIterator<Item = Level>) -> Vec<Fullness> {
    let mut all: Vec<Fullness> = Vec::new();
    for level in levels {
        let Some(target) = without_size(&level.target) else {
            continue;
        };
        match all.iter_mut().find(|known| known.target == target) {
            Some(known) => known.levels.push(level),
            None => all.push(Fullness {
                name: String::new(),
                target,
                phase: phase.cloned(),
                levels: vec![level],
                elsewhere: None,
            }),
        }
    }
    // Several lives at one size are not several sizes.
    all.retain(|fullness| {
        let mut levels = fullness.levels.iter();
        let first = levels.next().map(|level| &level.target);
        levels.any(|level| Some(&level.target) != first)
    });
    let targets: Vec<&str> = all.iter().map(|of| of.target.as_str()).collect();
    let names = short(&targets);
    for (fullness, name) in all.iter_mut().zip(names) {
        fullness.name = name;
        let levels = &mut fullness.levels;
        levels.sort_by(|a, b| a.utilization.total_cmp(&b.utilization));
        if let Some(emptiest) = levels.iter().find(|level| level.left.is_some()).cloned() {
            for level in levels {
                level.kept = Kept::between(level, &emptiest);
            }
        }
    }
    all
}

/// Whether targets, by their specifications, come in several sizes.
pub(crate) fn are_sizes<'a>(mut specs: impl Iterator<Item = &'a str>) -> bool {
    let mut known: HashMap<String, &str> = HashMap::new();
    specs.any(|spec| {
        let of = without_size(spec);
        of.is_some_and(|of| *known.entry(of).or_insert(spec) != spec)
    })
}

/// The same of what a run says.
pub fn of_verdicts(verdicts: &[Verdict]) -> Vec<Fullness> {
    let ratios = verdicts.iter().flat_map(|verdict| &verdict.throughput);
    let phases: Vec<(&str, &str)> = ratios.map(PhaseRatio::of).collect();
    let level = |verdict: &Verdict, phase: Option<&Phase>| {
        let of_phase = phase.and_then(|(suite, phase)| {
            let mut ratios = verdict.throughput.iter();
            ratios.find(|ratio| ratio.of() == (suite, phase))
        });
        let left = match phase {
            Some(_) => of_phase.map(|ratio| Left {
                ratio: ratio.aged_by_control,
                interval: ratio.interval,
                says: ratio.says,
                lives: 1,
            }),
            None => verdict.layout_ratio.map(Left::of_layout),
        };
        let aged = of_phase.filter(|ratio| ratio.better == Better::Higher);
        Some(Level {
            target: verdict.target.clone(),
            utilization: verdict.utilization_most?,
            skipped: verdict.skipped,
            placeable_1m: verdict.placeable_1m,
            left,
            aged: aged.map(|ratio| ratio.aged),
            by_life: Vec::new(),
            kept: None,
        })
    };
    by_what_limits(&phases, |phase| {
        let levels = verdicts.iter();
        levels.filter_map(|verdict| level(verdict, phase)).collect()
    })
}

/// The specification of a target without its size; `None` where it has none.
pub(crate) fn without_size(spec: &str) -> Option<String> {
    let spec = TargetSpec::parse(spec).ok()?;
    spec.has("size").then(|| spec.without("size").to_string())
}

impl Level {
    /// Its size, as its specification has it.
    pub(crate) fn size(&self) -> Option<String> {
        let mut options = TargetSpec::parse(&self.target).ok()?.options.into_iter();
        options.find_map(|(key, value)| value.filter(|_| key == "size"))
    }

    fn costs(&self) -> Option<Costs> {
        self.kept.map(|kept| kept.costs())
    }

    /// Whether an extent of 1 MiB fits, as far as that is known.
    fn has_room(&self) -> bool {
        self.placeable_1m.is_none_or(|extents| extents >= 1.0)
    }
}

/// That much or less, also as who has an alarm has it: by what `df` shows.
fn advice(target: &str, utilization: f64) -> String {
    let by_df = shown_by_df(target, utilization);
    let by_df = by_df.map_or_else(String::new, |shown| format!(" ({} in df)", percent(shown)));
    format!("{} full{by_df} or less", percent(utilization))
}

/// How full each target may get, for those who set up file systems: for the files of the workload, and, where that is
/// less, for large ones. None where none was measured in two sizes.
pub fn recommendation(all: &[Fullness]) -> Option<String> {
    let (mut limited, mut other, mut large) = (Vec::new(), Vec::new(), Vec::new());
    for fullness in all {
        let known = fullness.known();
        let [(first, _), .., (fullest, _)] = known[..] else {
            continue;
        };
        let name = &fullness.name;
        let of_large = fullness.limit_of_large();
        let advised = fullness.likely().or(fullness.limit());
        let of_large = of_large
            .filter(|large| advised.is_some_and(|full| large.utilization < full.utilization));
        large.extend(of_large.map(|level| {
            let left = level.placeable_1m.filter(|left| *left < FEW_LEFT);
            let left = left.map_or_else(String::new, |left| format!(" (room for {left:.0})"));
            format!("{name} at {}{left}", percent(level.utilization))
        }));
        let advice = |level: &Level| advice(&fullness.target, level.utilization);
        if let Some((below, [at, fails])) = fullness.without_margin() {
            limited.push(format!(
                "{name} at {} (being {} full costs little too, but at {} writes fail)",
                advice(below),
                percent(at.utilization),
                percent(fails.utilization)
            ));
            continue;
        }
        match fullness.limit() {
            Some(level) if level != fullest => {
                let full = percent(level.utilization);
                let too_full = fullness.too_full().map_or_else(String::new, |level| {
                    let full = percent(level.utilization);
                    if level.skipped > 0 {
                        format!(", at {full} writes fail")
                    } else {
                        format!(", {full} too full")
                    }
                });
                limited.push(match (fullness.open(), fullness.likely()) {
                    (None, _) => format!("{name} at {}", advice(level)),
                    (Some(_), Some(likely)) => {
                        // The emptiest is what others are set beside.
                        let sure = if level == first {
                            String::new()
                        } else {
                            format!("; {full} is sure")
                        };
                        format!("{name} at {} (likely{sure}{too_full})", advice(likely))
                    }
                    (Some(next), None) => {
                        let next = percent(next.utilization);
                        format!("{name} at {} ({next} is open{too_full})", advice(level))
                    }
                });
            }
            Some(level) => {
                let full = percent(level.utilization);
                other.push(match fullness.lost_anyway() {
                    // That age costs it much is no good news.
                    Some(_) => {
                        format!("being fuller costs {name} little up to {full}, the fullest tried")
                    }
                    None => format!("{name} may be {full} full, the fullest tried"),
                });
            }
            None => other.push(format!(
                "{name} is too full at {} already, the emptiest tried",
                percent(first.utilization)
            )),
        }
    }
    let keep = (!limited.is_empty()).then(|| format!("keep {}", list(&limited)));
    let parts: Vec<String> = keep.into_iter().chain(other).collect();
    let large = if large.is_empty() {
        String::new()
    } else {
        let large = list(&large);
        format!(" For files that need a MiB or more in one piece: {large} or less.")
    };
    let parts = parts.join("; ");
    if parts.is_empty() {
        return None;
    }
    let anyway: Vec<String> = all.iter().filter_map(Fullness::lost_anyway).collect();
    // A size above the emptiest is worth knowing first.
    let is_known = all.iter().any(|fullness| {
        let emptiest = fullness.known().first().map(|(level, _)| *level);
        fullness
            .limit()
            .is_some_and(|limit| Some(limit) != emptiest)
    });
    Some(if anyway.is_empty() {
        format!("In short: {parts}.{large}")
    } else if is_known {
        let anyway = list(&anyway);
        format!(
            "In short: {parts}.{large} Most of what age costs is not for lack of room: {anyway}."
        )
    } else {
        let anyway = list(&anyway);
        format!(
            "In short: most of what age costs is not for lack of room: {anyway}. As for room, {parts}.{large}"
        )
    })
}

/// What lives say of the limits: that one or two give them no interval, and what that means, or, where lives can be
/// drawn, what gives them one; and that more of them may decide what is open.
pub fn of_lives(all: &[Fullness], is_drawn: bool) -> Option<String> {
    let lives = all
        .iter()
        .flat_map(|of| &of.levels)
        .filter_map(|level| Some(level.left?.lives));
    let few = match lives.max()? {
        1 => "one life",
        2 => "two lives, by their mean",
        _ => {
            let is_open = is_drawn && all.iter().any(|of| of.open().is_some());
            return is_open
                .then(|| "What is open, more lives may decide: a larger `--seeds`.".to_owned());
        }
    };
    Some(if is_drawn {
        format!(
            "These limits are of {few}. How far they hold for others, other lives say: of a preset, `--preset NAME \
             --seeds 5` gives speeds and layout scores their 95 % intervals over five."
        )
    } else {
        format!(
            "These limits are of {few}: in another a loss near a tenth may fall on the other side of it."
        )
    })
}

impl Fullness {
    /// What is compared, in words.
    pub fn what(&self) -> String {
        match &self.phase {
            Some((suite, phase)) => format!("{suite} {phase}"),
            None => "layout score".to_owned(),
        }
    }

    /// What limits it, speed or room, and what is left at its fullest beside a fresh copy; `None` where fewer than two
    /// sizes were measured.
    pub fn sentence(&self) -> Option<String> {
        let known = self.known();
        let [_, .., fullest] = known[..] else {
            return None;
        };
        let (use_limit, left) = (self.by_use(&known), self.beside_fresh(&known)?);
        let brackets = if use_limit.contains(" (") || left.contains('(') {
            let lives = known.iter().map(|(_, left)| left.lives).max();
            format!(
                "; in brackets {}",
                by_value::interval_over(lives.unwrap_or(1))
            )
        } else {
            String::new()
        };
        let mut limits = vec![use_limit];
        limits.extend(self.by_room().as_deref().map(by_value::sentence_case));
        limits.extend(self.elsewhere());
        let skipped = match fullest.0.skipped {
            0 => String::new(),
            skipped => format!(
                " At {} {skipped} operations were skipped.",
                percent(fullest.0.utilization)
            ),
        };
        Some(format!(
            "{}: {}. {left}{brackets}.{skipped}",
            self.name,
            limits.join(". ")
        ))
    }

    /// What is kept in its fullest size that had room for everything.
    fn at_fullest(&self) -> Option<Elsewhere> {
        let mut roomy = self.levels.iter().rev().filter(|level| level.skipped == 0);
        let fullest = roomy.find(|level| level.kept.is_some())?;
        Some(Elsewhere {
            phase: self.phase.clone()?,
            kept: fullest.kept?,
            utilization: fullest.utilization,
        })
    }

    /// What being fuller costs in the phases that are not gone by, which make new files or go by single ones.
    fn elsewhere(&self) -> Option<String> {
        let Elsewhere {
            phase: (suite, phase),
            kept,
            utilization,
        } = self.elsewhere.as_ref()?;
        let lost = kept.lost_at(&percent(*utilization));
        Some(match kept.costs() {
            Costs::Little => "No other benchmark loses more than a tenth".to_owned(),
            _ => format!("Of the other benchmarks, {suite} {phase} loses most, {lost}"),
        })
    }

    /// What each size is beside a fresh copy of the same files.
    fn beside_fresh(&self, known: &[(&Level, Left)]) -> Option<String> {
        let is_worse = |(_, left): &(&Level, Left)| left.says == Says::Slower;
        let fine = &known[..known.iter().position(is_worse).unwrap_or(known.len())];
        let worst = known.iter().rev().find(|one| is_worse(one));
        let up_to = |level: &Level| {
            format!(
                "Up to {} full {}",
                percent(level.utilization),
                self.fine(fine)
            )
        };
        Some(match (fine.last(), worst) {
            (Some((level, _)), None) => up_to(level),
            (Some((level, _)), Some(worst)) => format!("{}; {}", up_to(level), self.at(worst)),
            (None, Some(worst)) if worst.0 == known[0].0 => format!("Already {}", self.at(worst)),
            (None, Some(worst)) => format!("Already {}; {}", self.at(&known[0]), self.at(worst)),
            (None, None) => return None,
        })
    }

    /// What was measured of it.
    fn known(&self) -> Vec<(&Level, Left)> {
        let known = self.levels.iter();
        known
            .filter_map(|level| Some((level, level.left?)))
            .collect()
    }

    /// What is lost in the emptiest size already, where that is much, and more than what being fuller adds.
    fn lost_anyway(&self) -> Option<String> {
        let known = self.known();
        let (emptiest, left) = *known.first().filter(|_| known.len() > 1)?;
        let least = known.iter().map(|(_, left)| left.ratio);
        let added = left.ratio - least.fold(f64::INFINITY, f64::min);
        let is_most = left.says == Says::Slower
            && left.ratio < LITTLE_LOST * LITTLE_LOST
            && 1.0 - left.ratio > added;
        is_most.then(|| {
            let name = &self.name;
            let (ratio, full) = (percent(left.ratio), percent(emptiest.utilization));
            match &self.phase {
                Some(_) => format!("{name} has {ratio} of fresh speed at {full} full"),
                None => format!("{name} has {ratio} of a fresh layout score at {full} full"),
            }
        })
    }

    /// The fullest size in which little is lost beside the emptiest, and everything had room.
    fn limit(&self) -> Option<&Level> {
        let known = self.known();
        let last = alike(&known).checked_sub(1)?;
        (known.len() > 1).then(|| known[last].0)
    }

    /// The first fuller size, where its interval leaves open whether it is one too many.
    fn open(&self) -> Option<&Level> {
        let known = self.known();
        let (level, _) = *known.get(alike(&known))?;
        (level.skipped == 0 && level.costs() == Some(Costs::Open)).then_some(level)
    }

    /// The fullest of those that follow whose intervals leave it open, and which lose little in the mean.
    fn likely(&self) -> Option<&Level> {
        let known = self.known();
        let is_likely = |(level, _): &&(&Level, Left)| {
            let is_open = level.skipped == 0 && level.costs() == Some(Costs::Open);
            is_open && level.kept.is_some_and(|kept| kept.ratio >= LITTLE_LOST)
        };
        let likely = known[alike(&known)..].iter().take_while(is_likely).last();
        likely.map(|(level, _)| *level)
    }

    /// Where writes fail just above what speed allows: the size below, and these two.
    fn without_margin(&self) -> Option<(&Level, [&Level; 2])> {
        let allowed = self.likely().or(self.limit())?;
        let fails = self.levels.iter().find(|level| level.skipped > 0)?;
        let is_near = fails.utilization - allowed.utilization < MARGIN;
        let known = self.known().into_iter().map(|(level, _)| level);
        let below = known
            .rev()
            .find(|level| level.utilization < allowed.utilization)?;
        is_near.then_some((below, [allowed, fails]))
    }

    /// The first size that is sure to cost much beside the emptiest, or had no room for everything.
    fn too_full(&self) -> Option<&Level> {
        let mut levels = self.levels.iter();
        levels.find(|level| level.skipped > 0 || level.costs() == Some(Costs::Much))
    }

    /// The fullest size before the first that has no room for an extent of 1 MiB.
    fn limit_of_large(&self) -> Option<&Level> {
        let without = self.levels.iter().position(|level| !level.has_room())?;
        Some(&self.levels[without.checked_sub(1)?])
    }

    /// How full the files of the workload let it get: by speed, with what each size costs, and by room for all of them.
    fn by_use(&self, known: &[(&Level, Left)]) -> String {
        let full = |level: &Level| percent(level.utilization);
        let (first, what) = (known[0].0, self.what());
        let alike = alike(known);
        let Some(best) = alike.checked_sub(1).map(|last| full(known[last].0)) else {
            return format!("no room for all of the workload at {} already", full(first));
        };
        let next = known.get(alike).map(|(level, _)| *level);
        let (limit, is_by_speed) = match next {
            None => {
                let limit = format!("{what} sets no limit up to {best}, the fullest tried");
                (limit, false)
            }
            Some(next) if next.costs() == Some(Costs::Much) => {
                (format!("{what} limits it to {best}"), true)
            }
            Some(next) if next.skipped == 0 => {
                let limit = match self.likely() {
                    Some(likely) => format!("{what} likely allows {}", full(likely)),
                    None => format!("whether {what} allows {} is open", full(next)),
                };
                (limit, true)
            }
            Some(next) => {
                let next = full(next);
                return format!(
                    "room for all of the workload limits it to {best}: {next}, tried next, has too little"
                );
            }
        };
        // What could not do all of the work has other files.
        let costs = known[1..]
            .iter()
            .filter(|(level, _)| level.skipped == 0 || level.costs() == Some(Costs::Much));
        let costs = costs.filter_map(|(level, _)| Some(level.kept?.lost_at(&full(level))));
        let too_much = if is_by_speed {
            "; more than a tenth is too much"
        } else {
            ""
        };
        let costs = list(&costs.collect::<Vec<_>>());
        format!("{limit}: beside {} it loses {costs}{too_much}", full(first))
    }

    /// How full large files let it get: from where on an extent of 1 MiB has no room, or else how many the fullest has
    /// room for; `None` where that is not known.
    fn by_room(&self) -> Option<String> {
        let full = |level: &Level| percent(level.utilization);
        if let Some(limit) = self.limit_of_large() {
            let without = self.levels.iter().find(|level| !level.has_room())?;
            return Some(format!(
                "room for large files limits it to {}: no extent of 1 MiB fits at {}, tried next ({:.0} at {})",
                full(limit),
                full(without),
                limit.placeable_1m?,
                full(limit)
            ));
        }
        let (first, fullest) = (self.levels.first()?, self.levels.last()?);
        Some(if first.has_room() {
            let (from, to) = (full(first), full(fullest));
            let (had, has) = (first.placeable_1m?, fullest.placeable_1m?);
            let fewer = if has < had {
                format!(", of {had:.0} at {from}")
            } else {
                String::new()
            };
            let has = extents_of_1m(has);
            format!(
                "room for large files sets no limit up to {to}, which has room for {has}{fewer}"
            )
        } else {
            format!("no extent of 1 MiB fits at {} already", full(first))
        })
    }

    /// What is said of levels at which nothing is known to be lost.
    fn fine(&self, levels: &[(&Level, Left)]) -> String {
        let is_unclear = |(_, left): &(&Level, Left)| left.says == Says::Inconclusive;
        let what = self.what();
        match &self.phase {
            _ if levels.iter().any(is_unclear) => format!("no loss of {what} is certain"),
            Some(_) => format!("{what} runs at fresh speed"),
            None => "the layout score is that of a fresh copy".to_owned(),
        }
    }

    /// What is left at a level.
    fn at(&self, (level, left): &(&Level, Left)) -> String {
        let (full, ratio) = (percent(level.utilization), percent(left.ratio));
        let [low, high] = left.interval.map(|end| format!("{:.0}", end * 100.0));
        let ends = if low == high {
            String::new()
        } else {
            format!(" ({low} to {high})")
        };
        match &self.phase {
            Some(_) => format!(
                "at {full} {} runs at {ratio} of fresh speed{ends}",
                self.what()
            ),
            None => format!("at {full} the layout score is {ratio} of that of a fresh copy{ends}"),
        }
    }
}

/// How many sizes, from the emptiest on, are sure to lose little beside it and had room for everything: of those that
/// are not sure to lose much, up to the fullest that is sure to lose little, which speaks for the emptier ones too.
fn alike(known: &[(&Level, Left)]) -> usize {
    let may_be = |(level, _): &&(&Level, Left)| {
        level.skipped == 0 && matches!(level.costs(), Some(Costs::Little | Costs::Open))
    };
    let possible = known.iter().take_while(may_be).count();
    let is_sure = |(level, _): &(&Level, Left)| level.costs() == Some(Costs::Little);
    known[..possible]
        .iter()
        .rposition(is_sure)
        .map_or(0, |last| last + 1)
}

fn extents_of_1m(number: f64) -> String {
    let number = number.round();
    format!(
        "{number} extent{} of 1 MiB",
        if number < 2.0 { "" } else { "s" }
    )
}

/// A table, and a sentence a target.
///
/// # Errors
/// `out` fails.
pub fn print(out: &mut impl Write, all: &[Fullness]) -> io::Result<()> {
    let Some(first) = all.first() else {
        return Ok(());
    };
    let levels = || all.iter().flat_map(|of| &of.levels);
    let is_room_known = levels().any(|level| level.placeable_1m.is_some());
    let mut header = vec!["target", "size", "full", "skipped", "aged / control"];
    header.extend(is_room_known.then_some("room for\n1 MiB extents"));
    let mut table = table::table(&header);
    for fullness in all {
        for (place, level) in fullness.levels.iter().enumerate() {
            let name = if place == 0 {
                fullness.name.clone()
            } else {
                String::new()
            };
            let mut cells = vec![
                name,
                level.size().unwrap_or_default(),
                percent(level.utilization),
                level.skipped.to_string(),
                level.left.map_or_else(
                    || "-".to_owned(),
                    |left| crate::benching::with_ends(left.ratio, left.interval.into()),
                ),
            ];
            if is_room_known {
                let room = level.placeable_1m.map(|extents| format!("{extents:.0}"));
                cells.push(room.unwrap_or_else(|| "-".to_owned()));
            }
            table.add_row(cells);
        }
    }
    let lead = format!(
        "Percentages are how full it was on its fullest day, as measured, metadata and what is kept for files to grow \
         included: a size that --fill chose may end some percent beside the share asked for. Aged / control is of {}, \
         beside a fresh copy in the same size: in MB/s a smaller file system may be faster, aged and fresh.",
        first.what()
    );
    writeln!(out, "\n{}\n", table::wrapped(&lead, "", ""))?;
    writeln!(out, "{table}")
}

#[cfg(test)]
mod tests;
