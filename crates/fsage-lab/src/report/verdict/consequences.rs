//! What follows from the layout: room for large extents, and the speed of benchmarks.

use super::{finding, order, premise, sizes, skipped_too_many};
use crate::after::Outcome;
use crate::benching::{HOT_FILES, are_too_few, digits, results, words};
use crate::days::DayRow;
use crate::fullness::{self, Fullness};
use crate::report::bench::{Compared, Fastest, Ratio};
use crate::report::names::is_simulated;
use crate::report::over_days;
use crate::report::subject::{Group, Over, Subject};
use crate::report::times::Times;
use crate::report::words::{list, percent, thousands};
use fsage_bench::Benchmark as _;
use fsage_bench::Says;
use fsage_bench::benchmarks::delivery::DELIVERY;
use fsage_metrics::directory_order::ADJACENCY;
use fsage_metrics::free_space;
use fsage_report::{Finding, Tone};

/// What the sentence on unaged targets begins with.
pub(super) const FRESH: &str = "Fresh, ";

/// Who is less than so many times as fast is no answer.
pub(super) const LITTLE: f64 = 1.05;

/// Layout scores that differ by more are of unlike layouts.
const UNLIKE: f64 = 0.1;

/// What runs at less than so much of the speed of its control has lost something worth a word.
const NOTABLE: f64 = 0.9;

/// Targets that a sentence names, at most.
pub(super) const NAMED: usize = 6;

/// What is to be said of what was done to targets: whether it pays, or what came of it.
pub fn treated<S: IntoIterator<Item = String>>(
    outcomes: &[(&Subject, Outcome)],
    say: fn(&Outcome) -> S,
) -> Vec<Finding> {
    let sentences = outcomes.iter().flat_map(|(_, outcome)| say(outcome));
    sentences
        .map(|sentence| finding(sentence, Tone::Neutral, "after"))
        .collect()
}

/// Whether an extent of 1 MiB can still be placed.
pub fn room(group: &Group) -> Option<Finding> {
    let known = group.subjects.iter().filter_map(|subject| {
        let room = subject.at_end(|day| day.value(&free_space::PLACEABLE_1M))?;
        let control = subject.over(|life| life.last()?.of_control(&free_space::PLACEABLE_1M));
        Some((subject, room.mean, control.map(|over| over.mean)))
    });
    let mut known: Vec<_> = known.collect();
    known.sort_by(|a, b| b.1.total_cmp(&a.1));
    known.first()?;
    let text = |(subject, room, control): &(&Subject, f64, Option<f64>)| {
        let room = thousands(room.round() as u64);
        let control = control.map(|n| format!(" (control {})", thousands(n.round() as u64)));
        format!("{} {room}{}", subject.name, control.unwrap_or_default())
    };
    let all: Vec<String> = shortened(known.iter().map(text).collect());
    let none: Vec<&str> = known
        .iter()
        .filter(|(_, room, _)| *room < 1.0)
        .map(|(subject, ..)| subject.name.as_str())
        .collect();
    let never = |(_, _, control): &(&Subject, f64, Option<f64>)| control.is_some_and(|n| n < 1.0);
    let (text, tone) = if none.len() == known.len() && known.iter().all(never) {
        (
            "No target has room for an extent of 1 MiB in one piece, and neither has its unaged control.".to_owned(),
            Tone::Neutral,
        )
    } else if none.is_empty() {
        (
            format!("Room for 1 MiB extents: {}.", list(&all)),
            Tone::Neutral,
        )
    } else {
        let has = if none.len() == 1 { "has" } else { "have" };
        (
            format!(
                "{} {has} no room left for an extent of 1 MiB in one piece. Room for 1 MiB extents: {}.",
                list(&shortened(
                    none.iter().map(|&name| name.to_owned()).collect()
                )),
                list(&all)
            ),
            Tone::Bad,
        )
    };
    Some(finding(text, tone, "free-space"))
}

/// How full targets may get that are there in several sizes: what to do, what limits each, and of how many lives, where
/// these are drawn.
pub fn fullness(all: &[Fullness], is_drawn: bool) -> Vec<Finding> {
    let sentences = fullness::recommendation(all)
        .into_iter()
        .chain(all.iter().filter_map(Fullness::sentence))
        .chain(fullness::of_lives(all, is_drawn));
    let findings = sentences.map(|text| finding(text, Tone::Neutral, "fullness"));
    findings.collect()
}

/// What the layout of targets in several sizes is, where speeds tell how full they may get: files in pieces, and in
/// another order than they are read in.
pub fn layouts_by_fullness(group: &Group, all: &[Fullness]) -> Option<Finding> {
    let subject = |spec: &str| group.subjects.iter().find(|subject| subject.spec == spec);
    let share = |over: Option<Over>| over.map(|over| percent(over.mean));
    let of_target = |of: &Fullness| {
        of.phase.as_ref()?;
        let (emptiest, fullest) = (of.levels.first()?, of.levels.last()?);
        let (first, last) = (subject(&emptiest.target)?, subject(&fullest.target)?);
        let line = |what: &str, value: fn(&DayRow) -> Option<f64>| {
            let [first_end, last_end] = [first, last].map(|of| share(of.at_end(value)));
            let fresh = share(first.of_control(value))?;
            let (first_end, last_end) = (first_end?, last_end?);
            Some(format!("{what} {first_end} and {last_end} (fresh {fresh})"))
        };
        let lines = [
            line("blocks contiguous", DayRow::score),
            line(
                "files right behind the one before in their directory",
                |day| day.value(&ADJACENCY),
            ),
        ];
        let lines: Vec<String> = lines.into_iter().flatten().collect();
        let [from, to] = [emptiest, fullest].map(|level| percent(level.utilization));
        let name = &of.name;
        (!lines.is_empty()).then(|| format!("{name} at {from} and {to} full: {}", list(&lines)))
    };
    let targets: Vec<String> = all.iter().filter_map(of_target).collect();
    let lost = all
        .iter()
        .flat_map(|of| &of.levels)
        .filter_map(|level| level.left);
    let loses_little = lost.fold(1.0, |least, left| left.ratio.min(least)) >= 0.9;
    let on_flash = if is_on_flash(group) && loses_little {
        " On flash, files in pieces or out of order cost little; --device st4000nm0033, a disk, shows what they cost."
    } else {
        ""
    };
    (!targets.is_empty()).then(|| {
        let text = format!("The layout of {}.{on_flash}", targets.join("; "));
        finding(text, Tone::Neutral, "decay")
    })
}

/// How fast the aged file systems are beside their controls, a sentence for each suite and phase that reads or writes
/// over files, and for others in which age or the choice of a target counts; where a suite has none of these, for its
/// first phase.
pub fn benchmarks(group: &Group, compared: &[Compared]) -> Vec<Finding> {
    let suites = compared.chunk_by(|a, b| a.suite == b.suite);
    let overwrites_none = premise::never_overwrites(group);
    // The answer on a single target has its reason.
    let answered = most_lost(compared).filter(|_| group.subjects.len() == 1);
    let has_reason = |compared: &Compared| {
        let phase = (&compared.suite, &compared.phase);
        answered.is_some_and(|most| (&most.suite, &most.phase) == phase)
    };
    let findings = suites.flat_map(|of_suite| {
        let is_reported = |compared: &&Compared| {
            let phase = compared.phase.as_str();
            if phase.contains("overwrite") && overwrites_none {
                return false;
            }
            phase.contains("read")
                || phase.contains("overwrite")
                || phase.contains("deliver")
                || any_has_lost(compared)
                // Who names a command and its values wants to hear of all of them.
                || command(group, &compared.suite).is_some()
                || compared.fastest.as_ref().is_some_and(is_clearly_faster)
        };
        let mut of_interest: Vec<&Compared> = of_suite.iter().filter(is_reported).collect();
        if of_interest.is_empty() {
            of_interest.extend(of_suite.first());
        }
        of_interest
            .into_iter()
            .map(|compared| sentence(group, compared, !has_reason(compared)))
    });
    let mut findings: Vec<Finding> = findings.collect();
    findings.extend(unmeasured(group));
    findings
}

/// How speed went over the days, where that was asked for.
pub fn over_days(group: &Group) -> impl Iterator<Item = Finding> {
    let sentences = over_days::sentences(group);
    sentences.map(|text| finding(text, Tone::Neutral, over_days::SECTION))
}

/// Which target it is, in few words.
pub struct Answer {
    /// From the lives on that it holds for: `for this life: a. Aged, it runs ...`
    pub text: String,
    /// What age did to the order of targets: right behind it.
    pub order: Option<String>,
    /// How the answer comes about: by size of files, and what is averaged.
    pub details: Option<String>,
    /// Whether it does not know.
    pub is_open: bool,
}

/// Which target it is, for those who read one sentence: by the phase that counts most, and where another is faster.
/// None of a single target, and where one left out so much that they do not hold the same files.
pub fn answer(group: &Group, compared: &[Compared]) -> Option<Answer> {
    if group.subjects.iter().any(skipped_too_many) {
        return None;
    }
    let phases: Vec<(&str, &str)> = compared
        .iter()
        .map(|compared| (compared.suite.as_str(), compared.phase.as_str()))
        .collect();
    let (suite, phase) = fullness::phase(&phases)?;
    let is_chosen = |compared: &&Compared| compared.suite == suite && compared.phase == phase;
    let chosen = compared.iter().find(is_chosen)?;
    let fastest = chosen.fastest.as_ref()?;
    let Fastest {
        name,
        next,
        aged,
        fresh,
    } = fastest;
    let Times {
        mean: times, says, ..
    } = aged;
    let known: Vec<String> = interval(aged.ends).into_iter().collect();
    let others = compared.iter().filter(|compared| !is_chosen(compared));
    let others = others.filter_map(|compared| {
        let other = compared.fastest.as_ref()?;
        let is_other = is_clearly_faster(other) && other.name != *name;
        Some((&*other.name, times_beside(compared, other, name)?, compared)).filter(|_| is_other)
    });
    let but = but_faster(others.collect());
    let (life, samples) = whose(group);
    let alike = alike(chosen, fastest);
    let text = match says {
        Says::Faster if *times < LITTLE => {
            let times = format!("{name} {times:.2} times as fast");
            let known: Vec<String> = [times].into_iter().chain(known).collect();
            format!(
                "for {life}: {name} and {next} differ little in {suite} {phase} ({}){but}.",
                known.join("; ")
            )
        }
        Says::Faster => {
            let lies = if known.is_empty() {
                String::new()
            } else {
                format!(" ({})", known.join("; "))
            };
            format!(
                "for {life}: {name}. Aged, it runs {suite} {phase} {times:.2} times as fast as \
                 {next}{lies}{but}."
            )
        }
        Says::Slower | Says::Same => {
            format!("for {life}: {alike}, which run {suite} {phase} as fast{but}.")
        }
        Says::Inconclusive if is_narrow(chosen, fastest) => format!(
            "for {life}: {alike}, which run {suite} {phase} as fast, within {}{but}.",
            percent(aged.ends.1.max(1.0 / aged.ends.0) - 1.0)
        ),
        Says::Inconclusive => format!(
            "for {life}: open. {samples} differ too much in {suite} {phase}, or are too few, to say whether {alike} is \
             faster{but}."
        ),
    };
    let is_seen = *says == Says::Faster && *times >= LITTLE;
    let fresh = fresh.map(|fresh| format!(" {}", before_age(name, next, fresh, is_seen)));
    Some(Answer {
        text: format!(
            "{text}{}{}",
            fresh.unwrap_or_default(),
            hidden_by_flash(group, is_seen).unwrap_or_default()
        ),
        order: None,
        details: None,
        is_open: *says == Says::Inconclusive && !is_narrow(chosen, fastest),
    })
}

/// What age costs the only target most, for those who read one sentence; none of several targets.
pub fn of_one(group: &Group, compared: &[Compared]) -> Option<Answer> {
    let [subject] = &group.subjects[..] else {
        return None;
    };
    let (life, _) = whose(group);
    let most = most_lost(compared).and_then(|phase| Some((phase, &phase.ratios.first()?.1)));
    let said = |ratio: &Ratio| words(ratio.mean, ratio.ends, ratio.says);
    let text = match most {
        Some((phase, ratio)) => format!(
            "for {life}{}: age costs {} most in {} {}, {} than on a fresh copy of its files.{}",
            drive(group),
            subject.name,
            phase.suite,
            phase.phase,
            said(ratio),
            order::sentence(group, phase).unwrap_or_default()
        ),
        None if compared.is_empty() || skipped_too_many(subject) => return None,
        None => {
            let slowest = compared
                .iter()
                .filter_map(|phase| Some((phase, &phase.ratios.first()?.1)));
            let slowest = slowest.min_by(|(_, a), (_, b)| a.mean.total_cmp(&b.mean));
            let slowest = slowest.filter(|(_, ratio)| ratio.says == Says::Slower);
            let slowest = slowest.map_or_else(String::new, |(phase, ratio)| {
                format!(
                    "; {} {} loses most, {}",
                    phase.suite,
                    phase.phase,
                    said(ratio)
                )
            });
            format!(
                "for {life}{}: no benchmark that was run is known to lose more than a tenth of its speed on {} to \
                 age{slowest}.",
                drive(group),
                subject.name
            )
        }
    };
    Some(Answer {
        text,
        order: None,
        details: None,
        is_open: false,
    })
}

/// What an answer holds for, and what it is drawn from.
pub(super) fn whose(group: &Group) -> (&'static str, &'static str) {
    let lives = group.subjects.iter().map(|subject| subject.lives.len());
    match lives.max() {
        Some(2..) => ("these lives", "Lives"),
        _ => ("this life", "Repetitions"),
    }
}

/// What all was measured on, as ` on st4000nm0033`: another drive may say otherwise. Empty where there are several.
pub(super) fn drive(group: &Group) -> String {
    match group.drive() {
        Some(drive) => format!(" on {drive}"),
        None if is_on_own_disk(group) => " on this machine's own disk".to_owned(),
        None => String::new(),
    }
}

/// Whether real file systems were measured, and nothing else.
fn is_on_own_disk(group: &Group) -> bool {
    let mut lives = group.subjects.iter().flat_map(|subject| &subject.lives);
    let is_real = |of: &Subject| !is_simulated(&of.spec);
    group.subjects.iter().all(is_real) && lives.any(|life| !life.bench.is_empty())
}

/// That speeds of real file systems are those of a machine, where a model's are those of a drive that is named.
pub(super) fn own_disk(group: &Group) -> Option<Finding> {
    let text = "Speeds are those of this machine's own disk, caches and load. A model runs above a drive that you \
                name, `--on ext4 --device NAME`, and may answer otherwise: `fsage device list` has drives.";
    is_on_own_disk(group).then(|| finding(text.to_owned(), Tone::Neutral, "bench"))
}

/// The fastest target, the next one, and others that are as close as these may be: `a, b or c`.
fn alike(compared: &Compared, fastest: &Fastest) -> String {
    let mut names = vec![fastest.name.as_str(), fastest.next.as_str()];
    if let Some(best) = compared.aged(&fastest.name) {
        let mut ratios: Vec<&(String, Ratio)> = compared.ratios.iter().collect();
        ratios.sort_by(|(_, a), (_, b)| compared.better.order(a.aged, b.aged));
        let close = ratios.into_iter().filter(|(name, ratio)| {
            let times = (best / ratio.aged).max(ratio.aged / best);
            !names.contains(&name.as_str()) && times <= fastest.aged.ends.1
        });
        let close: Vec<&str> = close.map(|(name, _)| name.as_str()).collect();
        names.extend(close);
    }
    match &names[..] {
        [most @ .., last] => format!("{} or {last}", most.join(", ")),
        [] => String::new(),
    }
}

/// Whether it is known that two targets differ little, though not which of them is the faster one: not of what ran
/// once, nor of two lives, which are too few.
fn is_narrow(compared: &Compared, fastest: &Fastest) -> bool {
    let (low, high) = fastest.aged.ends;
    let has_few = |(_, ratio): &(String, Ratio)| ratio.is_single || ratio.lives == 2;
    low >= 1.0 / LITTLE && high <= LITTLE && !compared.ratios.iter().any(has_few)
}

/// That layouts differ, and flash, where a break costs next to nothing, does not show what that costs elsewhere;
/// nothing where a difference is seen.
pub(super) fn hidden_by_flash(group: &Group, is_seen: bool) -> Option<String> {
    if is_seen {
        return None;
    }
    if !is_on_flash(group) {
        return None;
    }
    let scores = group.subjects.iter();
    let scores = scores.filter_map(|subject| Some(subject.at_end(DayRow::score)?.mean));
    let (least, most) = scores.fold((f64::INFINITY, 0.0_f64), |(least, most), score| {
        (least.min(score), most.max(score))
    });
    (most - least >= UNLIKE).then(|| {
        format!(
            " On flash, files in pieces cost little: layout scores go from {} to {}, and --device st4000nm0033, a \
             disk, shows what that costs.",
            percent(least),
            percent(most)
        )
    })
}

/// Whether all targets were measured on flash.
fn is_on_flash(group: &Group) -> bool {
    let is_flash = |subject: &Subject| subject.lives.iter().any(|life| !life.flash.is_empty());
    group.subjects.iter().all(is_flash)
}

/// Whether these were measured on simulated disks, where a request has its time to itself.
pub(super) fn is_on_disks(subjects: [&Subject; 2]) -> bool {
    let mut lives = subjects.into_iter().flat_map(|subject| &subject.lives);
    lives.all(|life| life.flash.is_empty() && life.bench.iter().all(|row| row.device.is_some()))
}

/// Whether what is aged is slower than its control, by enough for a word.
pub(super) fn has_lost(ratio: &Ratio) -> bool {
    ratio.says == Says::Slower && ratio.mean < NOTABLE
}

/// The same of any target.
pub(super) fn any_has_lost(compared: &Compared) -> bool {
    compared.ratios.iter().any(|(_, ratio)| has_lost(ratio))
}

/// Whether a target is faster, and by more than a little.
fn is_clearly_faster(fastest: &Fastest) -> bool {
    fastest.aged.says == Says::Faster && fastest.aged.mean >= LITTLE
}

/// Who else is faster, and in what: those that lead by most come first.
fn but_faster(mut others: Vec<(&str, (f64, String), &Compared)>) -> String {
    others.sort_by(|(_, (a, _), _), (_, (b, _), _)| b.total_cmp(a));
    let mut by_name: Vec<(&str, Vec<String>)> = Vec::new();
    for (other, (times, lies), compared) in others {
        let what = format!(
            "{} {}, {times:.2} times{lies}",
            compared.suite, compared.phase
        );
        match by_name.iter_mut().find(|(name, _)| *name == other) {
            Some((_, all)) => all.push(what),
            None => by_name.push((other, vec![what])),
        }
    }
    let texts = by_name.into_iter().map(|(name, all)| {
        let all = list(&shortened(all));
        format!("; {name} is faster in {all}")
    });
    texts.collect()
}

/// So many benchmarks that are decided are named where it is open which target is faster.
const DECIDED: usize = 3;

/// That it is open which target is faster, but for single benchmarks: those of the workload's own files and mail come
/// first, and what it never does is none.
pub(super) fn open_but(compared: &[Compared], overwrites_none: bool) -> String {
    let decided = compared
        .iter()
        .filter(|of| !(overwrites_none && of.phase.contains("overwrite")))
        .filter_map(|of| Some((of, of.fastest.as_ref()?)));
    let mut decided: Vec<_> = decided
        .filter(|(_, fastest)| is_clearly_faster(fastest))
        .collect();
    decided.sort_by(|(a, of_a), (b, of_b)| {
        let is_other = |of: &Compared| ![HOT_FILES, DELIVERY.name()].contains(&of.suite.as_str());
        let by_times = of_b.aged.mean.total_cmp(&of_a.aged.mean);
        is_other(a).cmp(&is_other(b)).then(by_times)
    });
    decided.truncate(DECIDED);
    let texts = decided.into_iter().map(|(of, fastest)| {
        let Fastest {
            name, next, aged, ..
        } = fastest;
        let (suite, phase, times) = (&of.suite, &of.phase, aged.mean);
        let lies = where_it_lies(*aged);
        format!("in {suite} {phase} {name} is {times:.2} times as fast as {next}{lies}")
    });
    let texts: Vec<String> = texts.collect();
    if texts.is_empty() {
        return "Which is faster is open.".to_owned();
    }
    format!(
        "Which is faster over all benchmarks is open; {}.",
        list(&texts)
    )
}

/// How many times as fast the fastest target of a phase is as `name`, and where that lies where `name` is the next one.
fn times_beside(compared: &Compared, fastest: &Fastest, name: &str) -> Option<(f64, String)> {
    if fastest.next == name {
        return Some((fastest.aged.mean, where_it_lies(fastest.aged)));
    }
    let (one, other) = (compared.aged(&fastest.name)?, compared.aged(name)?);
    Some(((one / other).max(other / one), String::new()))
}

/// Targets that no benchmark was run on, where one was run on others.
fn unmeasured(group: &Group) -> Option<Finding> {
    let is_measured = |subject: &&Subject| subject.lives.iter().any(|life| !life.bench.is_empty());
    let (measured, others): (Vec<_>, Vec<_>) = group.subjects.iter().partition(is_measured);
    let others: Vec<&str> = others.iter().map(|subject| subject.name.as_str()).collect();
    (!measured.is_empty() && !others.is_empty()).then(|| {
        let (was, whose) = match others.len() {
            1 => ("was", "its"),
            _ => ("were", "their"),
        };
        let text = format!(
            "{} {was} not benchmarked: nothing is known of {whose} speed.",
            list(&others)
        );
        finding(text, Tone::Neutral, "bench")
    })
}

/// The phase in which the first target has lost most; none where it has lost little in all.
fn most_lost(compared: &[Compared]) -> Option<&Compared> {
    let lost = compared.iter().filter_map(|phase| {
        let (_, ratio) = phase.ratios.first()?;
        has_lost(ratio).then_some((phase, ratio.mean))
    });
    let most = lost.min_by(|(_, a), (_, b)| a.total_cmp(b))?;
    Some(most.0)
}

/// The suite that reads a tree by inode.
const BY_INODE: &str = "read-tree";

/// What a phase says of each target, with the reason where it is asked for.
fn sentence(group: &Group, compared: &Compared, with_reason: bool) -> Finding {
    let texts = compared.ratios.iter().map(|(name, ratio)| {
        let text = words(ratio.mean, ratio.ends, ratio.says);
        format!("{name} {text}")
    });
    let says = |what: Says| compared.ratios.iter().any(|(_, ratio)| ratio.says == what);
    let tone = if any_has_lost(compared) {
        Tone::Bad
    } else {
        Tone::Neutral
    };
    let what = format!(
        "Benchmark {}, {}{}",
        compared.suite,
        compared.phase,
        command(group, &compared.suite).unwrap_or_default()
    );
    let single = if compared.ratios.iter().any(|(_, ratio)| ratio.is_single) {
        " Some of it ran only once, and what does not repeat may be chance."
    } else if says(Says::Inconclusive) && group.subjects.iter().all(|s| is_simulated(&s.spec)) {
        " Inconclusive: lives differ too much, or are too few; more `--seeds` narrow it down."
    } else if says(Says::Inconclusive) && compared.ratios.iter().any(|(_, of)| of.is_open_by_files)
    {
        " Inconclusive: its files are few and lie by chance, so that others may say something else; other lives \
         (`--seeds`) decide, and more repetitions do not."
    } else if says(Says::Inconclusive) {
        " Inconclusive: repetitions differ too much, or are too few; repeat them on an idle machine."
    } else {
        ""
    };
    let reason = with_reason
        .then(|| {
            let slower = order::sentence(group, compared);
            slower.or_else(|| order::why_faster(group, compared))
        })
        .flatten();
    let reader = if compared.suite == BY_INODE && tone == Tone::Bad {
        " That is a reader that goes by inode, as `tar --sort=inode`; a `grep -r` goes by the hash of names, in which \
         a fresh tree is out of order too, and loses less."
    } else {
        ""
    };
    let text = format!(
        "{what}, aged beside unaged: {}.{single}{}{}{reader}",
        list(&shortened(texts.collect())),
        reason.unwrap_or_default(),
        ranked(group, compared)
    );
    finding(text, tone, "bench")
}

/// What a benchmark measures that is a command of the user's; none of one of ours.
fn command(group: &Group, suite: &str) -> Option<String> {
    let mut lives = group.subjects.iter().flat_map(|subject| &subject.lives);
    let asked = lives.find_map(|life| results::asked_by(&life.folder, suite))?;
    let option = |name: &str| asked.iter().find(|(option, _)| option == name);
    let (_, line) = option("exec")?;
    let of = if option("exec-value").is_some() {
        "what it prints"
    } else {
        "its time"
    };
    Some(format!(" (the command `{line}`, {of})"))
}

/// Which share of a target's files lies right behind the one before in its directory, and of its fresh copy; none where
/// age took less than that much.
pub(super) fn following(subject: &Subject, least: f64) -> Option<String> {
    let follow = |day: &DayRow| day.value(&ADJACENCY);
    let (aged, fresh) = (
        subject.at_end(follow)?.mean,
        subject.of_control(follow)?.mean,
    );
    let text = || {
        format!(
            "{} {} ({} fresh)",
            subject.name,
            percent(aged),
            percent(fresh)
        )
    };
    (aged < fresh - least).then(text)
}

/// The interval of a ratio in brackets, if it has a width.
fn where_it_lies(times: Times) -> String {
    let ends = interval(times.ends).map(|ends| format!(" ({ends})"));
    ends.unwrap_or_default()
}

/// How fast the best aged target is beside a rival while both are fresh, and what age did to their order; `is_faster`
/// is whether the aged one is faster.
pub(super) fn before_age(best: &str, rival: &str, fresh: Times, is_faster: bool) -> String {
    let said = words(fresh.mean, fresh.ends, fresh.says);
    let ends = interval(fresh.ends);
    let ends = ends.map_or_else(String::new, |ends| format!(" ({ends} times as fast)"));
    match fresh.says {
        Says::Inconclusive => format!("{FRESH}{best} beside {rival} is {said}."),
        Says::Same if is_faster => {
            format!("{FRESH}{best} and {rival} are as fast: the difference comes with age.")
        }
        Says::Same => format!("{FRESH}{best} and {rival} are as fast."),
        Says::Slower if is_faster => {
            format!("{FRESH}{best} is {said} than {rival}{ends}: age turns their order round.")
        }
        Says::Slower | Says::Faster => {
            // 2.2 times as fast as, 20 % faster than.
            let than = if said.ends_with("as fast") {
                "as"
            } else {
                "than"
            };
            format!("{FRESH}{best} is {said} {than} {rival}{ends}.")
        }
    }
}

/// Where a ratio lies, if that has a width: with a third digit where two do not show it, or that it leaves out 1.
pub(super) fn interval((low, high): (f64, f64)) -> Option<String> {
    let digits = digits_of((low, high))?;
    Some(format!("{low:.digits$} to {high:.digits$}"))
}

/// The digits behind the point that an interval is said in; none where it has no width to speak of.
pub(super) fn digits_of((low, high): (f64, f64)) -> Option<usize> {
    let in_digits = |digits: usize| {
        let ends = [low, high].map(|end| format!("{end:.digits$}"));
        (ends[0] != ends[1]).then_some(ends)
    };
    let leaves_out_1 = low > 1.0 || high < 1.0;
    let seems_to_hold_1 = |ends: &[String; 2]| leaves_out_1 && ends.iter().any(|end| end == "1.00");
    if in_digits(2).is_some_and(|ends| !seems_to_hold_1(&ends)) {
        return Some(2);
    }
    in_digits(3).map(|_| 3)
}

/// How fast the aged targets are, the fastest first; nothing of one.
fn ranked(group: &Group, compared: &Compared) -> String {
    let mut ratios: Vec<&(String, Ratio)> = compared.ratios.iter().collect();
    ratios.sort_by(|(_, a), (_, b)| compared.better.order(a.aged, b.aged));
    if ratios.len() < 2 {
        return String::new();
    }
    let speed = |(name, ratio): &&(String, Ratio)| {
        format!("{name} {} {}", digits(ratio.aged), compared.unit)
    };
    let speeds = list(&shortened(ratios.iter().map(speed).collect()));
    let Some(fastest) = &compared.fastest else {
        let apart = if compared.is_mixed {
            "; simulated devices and this machine are not compared"
        } else {
            ""
        };
        return format!(" Aged: {speeds}{apart}.");
    };
    let Fastest {
        name, next, aged, ..
    } = fastest;
    let Times {
        mean: times,
        ends: (low, high),
        says,
        lives,
    } = aged;
    let claim = match says {
        Says::Faster => {
            let lies = where_it_lies(*aged);
            format!("{name} is {times:.2} times as fast as {next}{lies}")
        }
        Says::Slower | Says::Same => format!("{name} and {next} are as fast"),
        Says::Inconclusive => {
            let of = if *lives == 2 {
                " in two lives".to_owned()
            } else if are_too_few(*low, *high) {
                " in so few runs".to_owned()
            } else {
                format!(" ({low:.2} to {high:.2})")
            };
            let sizes = sizes::sizes_of(group, [name, next], (&compared.suite, &compared.phase));
            let sizes = sizes.map_or_else(String::new, |sizes| format!(", but {sizes}"));
            format!("{name} and {next} cannot be separated{of}{sizes}")
        }
    };
    let is_full = |of: &str| {
        let subject = group.subjects.iter().find(|subject| subject.name == of);
        subject.is_some_and(skipped_too_many)
    };
    let but = if is_full(name) || is_full(next) {
        ", but they do not hold the same files"
    } else {
        ""
    };
    format!(" Aged: {speeds}; {claim}{but}.")
}

/// At most so many as a sentence can have: the first ones and the last.
pub(super) fn shortened(mut texts: Vec<String>) -> Vec<String> {
    if texts.len() > NAMED {
        let between = texts.len() - NAMED;
        let last = texts.pop().unwrap_or_default();
        texts.truncate(NAMED - 1);
        let others = if between == 1 { "other" } else { "others" };
        texts.push(format!("{between} {others} between"));
        texts.push(last);
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsage_bench::Better;

    #[test]
    fn an_interval_has_the_digits_that_say_what_it_says() {
        let said = |low, high| interval((low, high));
        assert_eq!(said(0.891, 1.134).as_deref(), Some("0.89 to 1.13"));
        assert_eq!(said(1.101, 1.104).as_deref(), Some("1.101 to 1.104"));
        assert_eq!(said(1.002, 1.034).as_deref(), Some("1.002 to 1.034"));
        assert_eq!(said(0.967, 0.998).as_deref(), Some("0.967 to 0.998"));
        assert_eq!(said(0.998, 1.034).as_deref(), Some("1.00 to 1.03"));
        assert_eq!(said(1.2501, 1.2502), None, "no width to speak of");
        assert_eq!(said(1.5, 1.5), None);
    }

    #[test]
    fn up_to_six_are_named_in_full() {
        let texts = |n: usize| (1..=n).map(|i| i.to_string()).collect::<Vec<_>>();
        assert_eq!(shortened(texts(6)), texts(6));
        assert_eq!(
            list(&shortened(texts(9))),
            "1, 2, 3, 4, 5, 3 others between and 9"
        );
    }

    /// Speeds of three aged targets, the first against the next one, over so many lives.
    fn compared(speeds: [(&str, f64); 3], ends: (f64, f64), lives: usize) -> (Compared, Fastest) {
        let ratios = speeds.map(|(name, aged)| {
            let ratio = Ratio {
                mean: 0.9,
                ends: (0.9, 0.9),
                says: Says::Slower,
                is_single: false,
                is_open_by_files: false,
                lives,
                by_life: Vec::new(),
                aged,
            };
            (name.to_owned(), ratio)
        });
        let fastest = Fastest {
            name: speeds[0].0.to_owned(),
            next: speeds[1].0.to_owned(),
            aged: Times {
                mean: speeds[0].1 / speeds[1].1,
                ends,
                says: Says::Inconclusive,
                lives,
            },
            fresh: None,
        };
        let compared = Compared {
            suite: "hot-files".to_owned(),
            phase: "read".to_owned(),
            unit: "MB/s".to_owned(),
            better: Better::Higher,
            ratios: ratios.to_vec(),
            is_mixed: false,
            fastest: Some(fastest.clone()),
        };
        (compared, fastest)
    }

    #[test]
    fn whoever_is_as_close_as_the_second_may_be_is_named_too() {
        let speeds = [("btrfs", 128.0), ("xfs", 126.0), ("ext4", 122.0)];
        let (of, fastest) = compared(speeds, (0.94, 1.1), 1);
        assert_eq!(alike(&of, &fastest), "btrfs, xfs or ext4");
        let (of, fastest) = compared(speeds, (0.98, 1.03), 1);
        assert_eq!(alike(&of, &fastest), "btrfs or xfs");
    }

    #[test]
    fn little_is_known_to_be_little_of_three_lives_or_more() {
        let speeds = [("a", 101.0), ("b", 100.0), ("c", 50.0)];
        let narrow = |ends, lives| {
            let (of, fastest) = compared(speeds, ends, lives);
            is_narrow(&of, &fastest)
        };
        assert!(narrow((0.99, 1.02), 3));
        assert!(!narrow((0.99, 1.02), 2));
        assert!(!narrow((0.9, 1.02), 3));
        assert!(!narrow((0.99, 1.2), 1));
    }

    #[test]
    fn benchmarks_that_are_decided_are_named_where_all_together_are_open() {
        let speeds = [("xfs", 198.0), ("ext4", 100.0), ("btrfs", 50.0)];
        let of = |suite: &str, phase: &str, times, says| {
            let (mut of, mut fastest) = compared(speeds, (1.8764, 2.0838), 5);
            (fastest.aged.mean, fastest.aged.says) = (times, says);
            of.fastest = Some(fastest);
            (of.suite, of.phase) = (suite.to_owned(), phase.to_owned());
            of
        };
        let open = of("sequential", "create", 1.5, Says::Inconclusive);
        assert_eq!(
            open_but(std::slice::from_ref(&open), false),
            "Which is faster is open."
        );
        let little = of("sequential", "read", 1.04, Says::Faster);
        assert_eq!(open_but(&[little], false), "Which is faster is open.");
        let all = [
            open,
            of("sequential", "read", 3.0, Says::Faster),
            of("fsync", "append", 4.0, Says::Faster),
            of("hot-files", "read", 1.98, Says::Faster),
        ];
        assert_eq!(
            open_but(&all, false),
            "Which is faster over all benchmarks is open; in hot-files read xfs is 1.98 times as fast as ext4 (1.88 to \
             2.08), in fsync append xfs is 4.00 times as fast as ext4 (1.88 to 2.08) and in sequential read xfs is \
             3.00 times as fast as ext4 (1.88 to 2.08)."
        );
        // A workload that delivers mail and never overwrites.
        let mail = [
            of("hot-files", "overwrite", 1.23, Says::Faster),
            of("delivery", "deliver", 1.36, Says::Faster),
            of("hot-files", "read", 1.08, Says::Faster),
        ];
        let said = open_but(&mail, true);
        assert!(!said.contains("overwrite"), "{said}");
        assert!(
            said.starts_with(
                "Which is faster over all benchmarks is open; in delivery deliver xfs is 1.36 times"
            ),
            "{said}"
        );
    }
}
