//! How full a file system may get: one target in several sizes, aged by one workload.

use crate::benching::PhaseRatio;
use crate::experiment::Verdict;
use crate::report::Over;
use crate::report::by_value;
use crate::report::names::short;
use crate::report::words::{list, percent};
use crate::table;
use fsage_bench::Says;
use fsage_target::TargetSpec;
use serde::Serialize;
use std::collections::HashMap;
use std::io::{self, Write};

/// A suite and a phase of it.
pub type Phase = (String, String);

/// Layout scores that differ by this part of them are alike.
const ALIKE: f64 = 0.005;
/// What keeps this part of what the emptiest size has lost little by being fuller.
const LITTLE_LOST: f64 = 0.9;
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

/// The phase by which levels are compared: reading the hot files, which are aged files; else the first one that reads.
pub fn phase(phases: &[(&str, &str)]) -> Option<Phase> {
    let hot = phases.iter().find(|of| **of == ("hot-files", "read"));
    let reads = phases.iter().find(|(_, phase)| phase.contains("read"));
    let chosen = hot.or(reads).or(phases.first());
    chosen.map(|&(suite, phase)| (suite.to_owned(), phase.to_owned()))
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
    let phase = phase(&ratios.map(PhaseRatio::of).collect::<Vec<_>>());
    let levels = verdicts.iter().filter_map(|verdict| {
        let left = match &phase {
            Some((suite, phase)) => {
                let mut ratios = verdict.throughput.iter();
                let ratio = ratios.find(|ratio| ratio.of() == (suite, phase));
                ratio.map(|ratio| Left {
                    ratio: ratio.aged_by_control,
                    interval: ratio.interval,
                    says: ratio.says,
                    lives: 1,
                })
            }
            None => verdict.layout_ratio.map(Left::of_layout),
        };
        Some(Level {
            target: verdict.target.clone(),
            utilization: verdict.utilization_most?,
            skipped: verdict.skipped,
            placeable_1m: verdict.placeable_1m,
            left,
        })
    });
    by_target(phase.as_ref(), levels)
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

    /// Whether an extent of 1 MiB fits, as far as that is known.
    fn has_room(&self) -> bool {
        self.placeable_1m.is_none_or(|extents| extents >= 1.0)
    }
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
        let of_large = of_large.filter(|large| {
            fullness
                .limit()
                .is_some_and(|limit| large.utilization < limit.utilization)
        });
        large.extend(of_large.map(|level| {
            let left = level.placeable_1m.filter(|left| *left < FEW_LEFT);
            let left = left.map_or_else(String::new, |left| format!(" (room for {left:.0})"));
            format!("{name} at {}{left}", percent(level.utilization))
        }));
        match fullness.limit() {
            Some(level) if level != fullest => {
                limited.push(format!(
                    "{name} at {} full or less",
                    percent(level.utilization)
                ));
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
    Some(if anyway.is_empty() {
        format!("In short: {parts}.{large}")
    } else {
        let anyway = list(&anyway);
        format!(
            "In short: most of what age costs is not for lack of room: {anyway}. Beside that, {parts}.{large}"
        )
    })
}

/// That limits of one life have no interval, and what that means, or, where lives can be drawn, what gives them one;
/// none of more lives.
pub fn of_one_life(all: &[Fullness], is_drawn: bool) -> Option<String> {
    let lives = all
        .iter()
        .flat_map(|of| &of.levels)
        .filter_map(|level| Some(level.left?.lives));
    let text = if is_drawn {
        "These limits are of one life. How far they hold for others, other lives say: of a preset, `--preset NAME \
         --seeds 5` gives speeds and layout scores their 95 % intervals over five."
    } else {
        "These limits are of one life: in another a loss near a tenth may fall on the other side of it."
    };
    (lives.max()? == 1).then(|| text.to_owned())
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
        let (mut limits, left) = (vec![self.by_use(&known)], self.beside_fresh(&known)?);
        limits.extend(self.by_room().as_deref().map(by_value::sentence_case));
        let skipped = match fullest.0.skipped {
            0 => String::new(),
            skipped => format!(
                " At {} {skipped} operations were skipped.",
                percent(fullest.0.utilization)
            ),
        };
        Some(format!(
            "{}: {}. {left}.{skipped}",
            self.name,
            limits.join(". ")
        ))
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
        let text = match (fine.last(), worst) {
            (Some((level, _)), None) => up_to(level),
            (Some((level, _)), Some(worst)) => format!("{}; {}", up_to(level), self.at(worst)),
            (None, Some(worst)) if worst.0 == known[0].0 => format!("Already {}", self.at(worst)),
            (None, Some(worst)) => format!("Already {}; {}", self.at(&known[0]), self.at(worst)),
            (None, None) => return None,
        };
        let lives = known.iter().map(|(_, left)| left.lives).max();
        let brackets = match lives {
            _ if !text.contains('(') => String::new(),
            lives => format!(
                "; in brackets {}",
                by_value::interval_over(lives.unwrap_or(1))
            ),
        };
        Some(format!("{text}{brackets}"))
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

    /// The fullest size before the first that has no room for an extent of 1 MiB.
    fn limit_of_large(&self) -> Option<&Level> {
        let without = self.levels.iter().position(|level| !level.has_room())?;
        Some(&self.levels[without.checked_sub(1)?])
    }

    /// How full the files of the workload let it get: by speed, and by room for all of them.
    fn by_use(&self, known: &[(&Level, Left)]) -> String {
        let full = |level: &Level| percent(level.utilization);
        let (first, fullest) = (&known[0], &known[known.len() - 1]);
        let lost = |left: &Left| 1.0 - left.ratio / first.1.ratio;
        let what = self.what();
        match alike(known) {
            0 => format!(
                "no room for all of the workload at {} already",
                full(first.0)
            ),
            all if all == known.len() => {
                let lost = match lost(&fullest.1) {
                    little if little < 0.005 => "nothing".to_owned(),
                    lost => percent(lost),
                };
                let (from, to) = (full(first.0), full(fullest.0));
                format!(
                    "{what} sets no limit up to {to}, the fullest tried: it loses {lost} beside {from}"
                )
            }
            some => {
                let ((best, before), (next, left)) = (&known[some - 1], &known[some]);
                let (best, next) = (full(best), full(next));
                if left.ratio >= LITTLE_LOST * first.1.ratio {
                    return format!(
                        "room for all of the workload limits it to {best}: {next}, tried next, has too little"
                    );
                }
                // Just over a tenth is seen to be more.
                let cost = match lost(left) {
                    just if just < 0.105 => format!("{:.2} %", just * 100.0),
                    cost => percent(cost),
                };
                // Where the step is small, so is what tells one from the other.
                let and = match lost(before) {
                    little if little < 0.01 => String::new(),
                    lost => format!(", and {best} {}", percent(lost)),
                };
                format!(
                    "{what} limits it to {best}: {next}, tried next, costs {cost} beside {}, more than a tenth{and}",
                    full(first.0)
                )
            }
        }
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

/// How many sizes, from the emptiest on, lose little beside it and had room for everything.
fn alike(known: &[(&Level, Left)]) -> usize {
    let Some((_, first)) = known.first() else {
        return 0;
    };
    let is_alike = |(level, left): &&(&Level, Left)| {
        level.skipped == 0 && left.ratio >= LITTLE_LOST * first.ratio
    };
    known.iter().take_while(is_alike).count()
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
    writeln!(
        out,
        "\nPercentages are how full it was on its fullest day, as measured, metadata and what is kept for files to \
         grow\nincluded: a size that --fill chose may end some percent beside the share asked for. Aged / control is \
         of {}.\n",
        first.what()
    )?;
    writeln!(out, "{table}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(size: u64, utilization: f64, skipped: u64, left: Option<(f64, Says)>) -> Level {
        Level {
            target: format!("ext4:size={size}M"),
            utilization,
            skipped,
            placeable_1m: Some(if utilization < 0.9 { 7.0 } else { 0.3 }),
            left: left.map(|(ratio, says)| Left {
                ratio,
                interval: [ratio - 0.05, ratio + 0.05],
                says,
                lives: 1,
            }),
        }
    }

    fn sentence(levels: Vec<Level>) -> Option<String> {
        let phase = ("hot-files".to_owned(), "read".to_owned());
        let all = by_target(Some(&phase), levels);
        all.first().and_then(Fullness::sentence)
    }

    #[test]
    fn the_sentence_says_up_to_where_nothing_is_lost_and_what_is_lost_then() {
        let fine = |size, full| level(size, full, 0, Some((1.0, Says::Same)));
        let slower = |size, full, ratio| level(size, full, 0, Some((ratio, Says::Slower)));
        let unclear = |size, full| level(size, full, 0, Some((0.97, Says::Inconclusive)));
        let said = |levels| sentence(levels).expect("a sentence");
        assert_eq!(
            said(vec![
                slower(100, 0.95, 0.61),
                fine(160, 0.60),
                fine(120, 0.80)
            ]),
            "ext4: hot-files read limits it to 80 %: 95 %, tried next, costs 39 % beside 60 %, more than a tenth. Room \
             for large files limits it to 80 %: no extent of 1 MiB fits at 95 %, tried next (7 at 80 %). Up to 80 % \
             full hot-files read runs at fresh speed; at 95 % hot-files read runs at 61 % of fresh speed (56 to 66); \
             in brackets the 99 % interval of the repetitions of the benchmark."
        );
        assert_eq!(
            said(vec![fine(160, 0.60), fine(120, 0.92)]),
            "ext4: hot-files read sets no limit up to 92 %, the fullest tried: it loses nothing beside 60 %. Room for \
             large files limits it to 60 %: no extent of 1 MiB fits at 92 %, tried next (7 at 60 %). Up to 92 % full \
             hot-files read runs at fresh speed."
        );
        assert!(
            said(vec![
                slower(160, 0.60, 1.0),
                slower(120, 0.92, 0.91),
                slower(100, 0.97, 0.89)
            ])
            .starts_with(
                "ext4: hot-files read limits it to 92 %: 97 %, tried next, costs 11 % beside 60 %, more than a tenth, \
                 and 92 % 9 %. Room for large files limits it to 60 %: no extent of 1 MiB fits at 92 %, tried next (7 \
                 at 60 %). "
            )
        );
        assert_eq!(
            said(vec![fine(160, 0.60), unclear(120, 0.80)]),
            "ext4: hot-files read sets no limit up to 80 %, the fullest tried: it loses 3 % beside 60 %. Room for \
             large files sets no limit up to 80 %, which has room for 7 extents of 1 MiB. Up to 80 % full no loss \
             of hot-files read is certain."
        );
        let little = said(vec![slower(160, 0.60, 0.20), slower(100, 0.95, 0.19)]);
        assert!(
            little.starts_with(
                "ext4: hot-files read sets no limit up to 95 %, the fullest tried: it loses 5 % beside 60 %. Room "
            ) && little.ends_with(
                " Already at 60 % hot-files read runs at 20 % of fresh speed (15 to 25); at 95 % hot-files read runs \
                 at 19 % of fresh speed (14 to 24); in brackets the 99 % interval of the repetitions of the benchmark."
            ),
            "{little}"
        );
        let first = level(160, 0.60, 3, Some((0.90, Says::Slower)));
        assert!(
            said(vec![first, slower(100, 0.95, 0.61)])
                .starts_with("ext4: no room for all of the workload at 60 % already. ")
        );
        let full = level(90, 1.0, 12, Some((0.5, Says::Slower)));
        assert!(
            said(vec![fine(160, 0.60), full]).ends_with(" At 100 % 12 operations were skipped.")
        );
        let skips = level(90, 0.85, 12, Some((1.0, Says::Same)));
        assert!(said(vec![fine(160, 0.60), skips]).starts_with(
            "ext4: room for all of the workload limits it to 60 %: 85 %, tried next, has too little. "
        ));
        assert_eq!(sentence(vec![fine(160, 0.60)]), None);
        assert_eq!(
            sentence(vec![fine(160, 0.60), level(90, 0.9, 0, None)]),
            None
        );
    }

    /// A checkout whose files are out of order is slow on a disk however much room there is.
    #[test]
    fn what_age_costs_with_room_is_not_laid_to_fullness() {
        let phase = ("hot-files".to_owned(), "read".to_owned());
        let slower = |size, full, ratio| level(size, full, 0, Some((ratio, Says::Slower)));
        let said = |levels: Vec<Level>| recommendation(&by_target(Some(&phase), levels));
        assert_eq!(
            said(vec![slower(160, 0.60, 0.09), slower(100, 0.85, 0.06)]).as_deref(),
            Some(
                "In short: most of what age costs is not for lack of room: ext4 has 9 % of fresh speed at 60 % full. \
                 Beside that, keep ext4 at 60 % full or less."
            )
        );
        // What being fuller adds is more, or what the emptiest has lost is little.
        let adds = said(vec![slower(160, 0.60, 0.75), slower(100, 0.85, 0.30)]);
        let little = said(vec![slower(160, 0.60, 0.85), slower(100, 0.85, 0.80)]);
        for text in [adds, little] {
            let text = text.expect("two sizes");
            assert!(!text.contains("most of what age costs"), "{text}");
        }
    }

    #[test]
    fn the_recommendation_names_a_limit_for_each_target() {
        let phase = ("hot-files".to_owned(), "read".to_owned());
        let of = |target: &str, levels: Vec<Level>| -> Vec<Level> {
            let named = levels.into_iter().map(|level| Level {
                target: level.target.replace("ext4", target),
                ..level
            });
            named.collect()
        };
        let same = |size, full, skipped| level(size, full, skipped, Some((1.0, Says::Same)));
        let slower = |size, full| level(size, full, 0, Some((0.6, Says::Slower)));
        let ext4 = || {
            of(
                "ext4",
                vec![same(160, 0.60, 0), same(120, 0.81, 0), slower(100, 0.95)],
            )
        };
        let said = |xfs: Vec<Level>| {
            recommendation(&by_target(Some(&phase), [ext4(), of("xfs", xfs)].concat()))
        };
        assert_eq!(
            said(vec![
                same(160, 0.60, 0),
                same(120, 0.85, 0),
                same(100, 0.97, 5)
            ])
            .as_deref(),
            Some("In short: keep ext4 at 81 % full or less and xfs at 85 % full or less.")
        );
        // Above nine tenths a level has no room for large extents.
        assert_eq!(
            said(vec![same(160, 0.60, 0), same(120, 0.92, 0)]).as_deref(),
            Some(
                "In short: keep ext4 at 81 % full or less; xfs may be 92 % full, the fullest tried. For files that \
                 need a MiB or more in one piece: xfs at 60 % (room for 7) or less."
            )
        );
        assert_eq!(
            said(vec![same(160, 0.60, 0), same(120, 0.85, 0)]).as_deref(),
            Some(
                "In short: keep ext4 at 81 % full or less; xfs may be 85 % full, the fullest tried."
            )
        );
        assert_eq!(
            said(vec![same(160, 0.60, 3), same(120, 0.92, 4)]).as_deref(),
            Some(
                "In short: keep ext4 at 81 % full or less; xfs is too full at 60 % already, the emptiest tried."
            )
        );
        // What was measured in one size alone has no limit.
        assert_eq!(
            said(vec![same(160, 0.60, 0), level(120, 0.92, 0, None)]).as_deref(),
            Some("In short: keep ext4 at 81 % full or less.")
        );
        assert_eq!(recommendation(&[]), None);
    }

    #[test]
    fn targets_go_by_their_short_names() {
        let levels = [(160, 0.6), (100, 0.8)].map(|(size, full)| Level {
            target: format!("ext4:bsize=4K,size={size}M"),
            ..level(size, full, 0, Some((1.0, Says::Same)))
        });
        let all = by_target(None, levels);
        assert_eq!(
            (all[0].target.as_str(), all[0].name.as_str()),
            ("ext4:bsize=4K", "ext4")
        );
        assert!(
            all[0]
                .sentence()
                .is_some_and(|text| text.starts_with("ext4: "))
        );
    }

    #[test]
    fn limits_of_one_life_say_how_to_get_intervals() {
        let said = |lives, is_drawn| {
            let levels = [(160, 0.6), (100, 0.8)].map(|(size, full)| {
                let mut level = level(size, full, 0, Some((1.0, Says::Same)));
                level.left = level.left.map(|left| Left { lives, ..left });
                level
            });
            of_one_life(&by_target(None, levels), is_drawn)
        };
        assert!(said(1, true).is_some_and(|text| text.contains("--seeds 5")));
        assert_eq!(said(5, true), None);
        // Another seed is no other history.
        assert!(said(1, false).is_some_and(|text| !text.contains("--seeds")));
        assert_eq!(said(5, false), None);
    }

    #[test]
    fn of_several_lives_it_says_what_the_brackets_are() {
        let levels = |lives: usize| {
            let at = |size: u64, ratios: [f64; 3]| {
                let over = Over::of(ratios.into_iter().take(lives)).expect("lives");
                let left = Some(Left::of_layouts(over));
                Level {
                    left,
                    ..level(size, 160.0 / (size as f64) * 0.6, 0, None)
                }
            };
            vec![at(160, [0.99, 0.9, 0.95]), at(100, [0.5, 0.52, 0.54])]
        };
        let sentence = |lives| {
            by_target(None, levels(lives))[0]
                .sentence()
                .expect("a sentence")
        };
        // Student's t of 2 degrees of freedom is 4.303; the deviations are 0.045 and 0.02.
        assert_eq!(
            sentence(3),
            "ext4: layout score limits it to 60 %: 96 %, tried next, costs 45 % beside 60 %, more than a tenth. Room \
             for large files limits it to 60 %: no extent of 1 MiB fits at 96 %, tried next (7 at 60 %). Up to 60 % \
             full no loss of layout score is certain; at 96 % the layout score is 52 % of that of a fresh copy (47 to \
             57); in brackets Student's 95 % interval of the mean over 3 lives."
        );
        assert!(
            sentence(2).ends_with("(50 to 52); in brackets the range of two lives."),
            "{}",
            sentence(2)
        );
    }

    #[test]
    fn reading_aged_files_is_what_counts() {
        let is = |suite: &str, phase: &str| Some((suite.to_owned(), phase.to_owned()));
        let all = [
            ("sequential", "create"),
            ("sequential", "read"),
            ("hot-files", "read"),
        ];
        assert_eq!(phase(&all), is("hot-files", "read"));
        assert_eq!(phase(&all[..2]), is("sequential", "read"));
        assert_eq!(phase(&all[..1]), is("sequential", "create"));
        assert_eq!(phase(&[]), None);
    }
}
