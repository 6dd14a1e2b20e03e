//! The verdict: sentences that follow from the data, and from nothing else.
//!
//! Targets are ranked by their layout score at the end, and by what they lost to age: the distance to the unaged
//! control where every target has one, else to the first day. Two that differ by less than 0.005, or by no
//! more than chance makes the same lives differ, are alike. A target that skipped more than a hundredth of its
//! operations holds other files, and is ranked only where all did, and as many.

mod clock;
mod consequences;
mod decayed;
mod headlines;
mod on_disks;
mod options;
mod order;
pub(crate) mod premise;
mod sizes;
mod together;
mod warnings;
mod why;

pub(crate) use warnings::{RESERVING, UNLIKE_BLOCKS, lives_as_root};
pub(crate) use why::{aged_worse, between};

use super::bench::{self, Compared};
use super::fullness;
use super::subject::{Group, Life, Over, Subject};
use super::words::{counted, list, percent, percents};
use crate::after;
use crate::days::DayRow;
use crate::life;
use consequences::Answer;
use fsage_metrics::pieces;
use fsage_report::{Finding, Tone};
pub use headlines::headlines;

/// Scores that differ by less are alike.
pub(crate) const ALIKE: f64 = 0.005;

/// A target that left out more of its operations, as a share, holds other files than the workload's.
pub(crate) const UNDONE: f64 = 0.01;

/// What the data of a workload say.
pub fn findings(group: &Group) -> Vec<Finding> {
    let ranking = Ranking::of(group);
    let mut findings = Vec::new();
    // A question of sizes has an answer a target, which says what was skipped in which size.
    let sizes = fullness::levels(group);
    let levels = sizes.iter().map(|of| of.levels.len()).sum::<usize>();
    // Who had something done to a file system asks whether it pays.
    let outcomes = super::after::outcomes(group);
    let mut answers = consequences::treated(&outcomes, after::answer);
    if let (Some(last), Some(preset)) = (answers.last_mut(), premise::preset(group)) {
        let more = format!(
            " This is one life: `--preset {preset} --seeds 5` lives five, and says how sure that is."
        );
        last.text.push_str(&more);
    }
    findings.extend(answers);
    let over_lives = super::after::answers_over_lives(group).into_iter();
    findings.extend(over_lives.map(|text| finding(text, Tone::Neutral, "after")));
    let is_of_sizes = levels > 0 && levels >= group.subjects.len();
    // Thousands of drawings: once, and not where sizes are asked of.
    let compared = if is_of_sizes {
        Vec::new()
    } else {
        bench::compared(group)
    };
    if is_of_sizes {
        let of_sizes = consequences::fullness(&sizes, !premise::is_history(group));
        let mut of_sizes = of_sizes.into_iter();
        if let Some(answer) = of_sizes.next() {
            findings.push(answer);
            // It moves the sizes of the answer.
            findings.extend(warnings::reserve(group));
            findings.extend(warnings::sizes_by_df(&sizes));
        }
        // A size that was tried, and has room, needs no other.
        if group.subjects.iter().all(|of| of.room_bytes.is_some()) {
            findings.extend(warnings::room(std::slice::from_ref(group)));
        }
        findings.extend(of_sizes);
        findings.extend(consequences::layouts_by_fullness(group, &sizes));
        findings.extend(premise::findings(group));
        findings.extend(warnings::findings(group, &ranking, &sizes));
        findings.extend(clock::findings(group));
    } else {
        // A file system that had no room comes before all others are praised.
        findings.extend(warnings::ran_out(group, &ranking));
        findings.extend(warnings::room(std::slice::from_ref(group)));
        findings.extend(warnings::unequal_sizes(group));
        findings.extend(warnings::nearly_empty(group, &compared));
        let no_verdict = warnings::no_verdict(group);
        let draws = clock::one_system(group);
        if no_verdict.is_none() && draws.is_none() {
            findings.extend(ranked(group, &ranking, &compared));
        } else {
            findings.extend(consequences::over_days(group));
        }
        findings.extend(no_verdict);
        findings.extend(draws);
        if !findings.is_empty() {
            findings.extend(premise::findings(group));
            findings.extend(consequences::own_disk(group));
        }
        // Before anybody decides: what makes the targets hard to compare.
        findings.extend(warnings::not_known(group));
        findings.extend(warnings::findings(group, &ranking, &[]));
        findings.extend(clock::findings(group));
        findings.extend(consequences::room(group));
        findings.extend(consequences::fullness(&sizes, !premise::is_history(group)));
    }
    findings.extend(consequences::treated(&outcomes, after::sentences));
    if !is_of_sizes {
        findings.extend(consequences::benchmarks(group, &compared));
        let causes = super::flash::causes_of_losses(group);
        findings.extend(causes.map(|text| finding(text, Tone::Neutral, "flash")));
    }
    for finding in &mut findings {
        if let Some(section) = &mut finding.section {
            section.push_str(&group.suffix);
        }
        if let Some(workload) = &group.title {
            finding.text = format!("{workload}: {}", finding.text);
        }
    }
    findings
}

/// Which target it is, what age did to their order, why, and how the answer comes about.
fn ranked(group: &Group, ranking: &Ranking, compared: &[Compared]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let unlike = warnings::unlike(ranking);
    let mut how = None;
    let mut options = options::sentence(group, unlike.is_none());
    let answer = together::sentence(group)
        .or_else(|| consequences::answer(group, compared))
        .or_else(|| consequences::of_one(group, compared));
    findings.extend(answer.into_iter().flat_map(|answer| {
        how = answer
            .details
            .as_ref()
            .map(|details| finding(details.clone(), Tone::Neutral, "bench"));
        // Who tries options asks first which of them matters.
        let leads = options::are_options(group);
        let options = options.take_if(|_| leads);
        let options = options.map(|finding| uncapitalized(&finding.text));
        let is_open = answer.is_open;
        let proven = || is_open.then(|| ranking.proven(unlike.is_some()))?;
        in_short(group, &answer, options.or_else(proven), compared)
    }));
    findings.extend(options);
    findings.extend(consequences::over_days(group));
    findings.extend(clock::mixed(group));
    if group.subjects.iter().any(warnings::varies_reserve) {
        findings.extend(warnings::reserve(group));
    }
    if let Some(unlike) = unlike {
        findings.push(unlike);
        findings.extend(ranking.pieces());
        findings.extend(why::of_each(group));
    } else {
        findings.extend(ranking.ends());
        findings.extend(decayed::sentence(ranking));
        findings.extend(decayed::still(ranking));
        findings.extend(why::sentence(ranking));
    }
    findings.extend(how);
    findings
}

/// What is to be known before what is said of several workloads is read: it stands in the sentences on each too, of
/// which a page folds many away.
pub fn premises(groups: &[Group]) -> Vec<Finding> {
    ran_out(groups)
        .chain(premise::of_small_blocks(groups))
        .map(of_no_section)
        .collect()
}

/// Which targets lacked room, and in which sizes they have some.
pub fn ran_out(groups: &[Group]) -> impl Iterator<Item = Finding> {
    let ran_out = warnings::ran_out_anywhere(groups).into_iter();
    ran_out.chain(warnings::room(groups))
}

/// Without its section: those are of one workload.
fn of_no_section(finding: Finding) -> Finding {
    Finding {
        section: None,
        ..finding
    }
}

/// What the answer for those who read one sentence begins with.
const IN_SHORT: &str = "In short, ";
/// What the answer of the benchmarks begins with where another one stands before it.
const SPEED: &str = "Speed, ";

/// A sentence as it stands behind a comma.
fn uncapitalized(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_ascii_lowercase());
    first.into_iter().chain(letters).collect()
}

/// What those read who read one sentence: the answer of the benchmarks, or what is known of layouts, where options are
/// tried or lives prove it and benchmarks leave it open, with those that are decided nevertheless, and then theirs; and
/// what age did to the order of targets.
fn in_short(
    group: &Group,
    of_benchmarks: &Answer,
    of_layouts: Option<String>,
    compared: &[Compared],
) -> Vec<Finding> {
    let Answer {
        text,
        order,
        is_open,
        ..
    } = of_benchmarks;
    let neutral = |text, section| finding(text, Tone::Neutral, section);
    let mut answers = match of_layouts {
        None => vec![neutral(format!("{IN_SHORT}{text}"), "bench")],
        Some(of_layouts) => {
            let open = if *is_open {
                format!(
                    " {}",
                    consequences::open_but(compared, premise::never_overwrites(group))
                )
            } else {
                String::new()
            };
            vec![
                neutral(format!("{IN_SHORT}{of_layouts}{open}"), "decay"),
                neutral(format!("{SPEED}{text}"), "bench"),
            ]
        }
    };
    answers.extend(order.clone().map(|order| neutral(order, "bench")));
    answers
}

fn finding(text: String, tone: Tone, section: &str) -> Finding {
    Finding {
        text,
        tone,
        section: Some(section.to_owned()),
    }
}

/// A target whose layout is scored.
struct Scored<'a> {
    subject: &'a Subject,
    /// The layout score at the end.
    end: Sample,
    /// What it lost, and what it had without: see [`Since`].
    lost: Option<Lost>,
}

/// What age took from a target.
struct Lost {
    /// From before minus the end; below 0 where the aged layout is the better one.
    loss: Sample,
    /// The score of the control, or of the first day.
    before: f64,
}

/// What the end is compared with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Since {
    /// The unaged control.
    Control,
    /// The first day.
    FirstDay,
}

/// The targets by their layout score at the end, the best first.
struct Ranking<'a> {
    scored: Vec<Scored<'a>>,
    since: Since,
}

impl<'a> Ranking<'a> {
    fn of(group: &'a Group) -> Ranking<'a> {
        let ends = group.subjects.iter().filter_map(|subject| {
            let end = Sample::of(subject, Life::end_score)?;
            Some((subject, end))
        });
        let mut ends: Vec<(&Subject, Sample)> = ends.collect();
        let is_full = |(subject, _): &(&Subject, Sample)| skipped_too_many(subject);
        if !ends.iter().all(is_full) || !skipped_alike(&ends) {
            ends.retain(|end| !is_full(end));
        }
        let controlled = |(subject, _): &(&Subject, Sample)| {
            let mut lives = subject.lives.iter();
            lives.all(|life| life.end_score().is_none() || life.control_score().is_some())
        };
        let since = if ends.iter().all(controlled) {
            Since::Control
        } else {
            Since::FirstDay
        };
        let mut scored: Vec<Scored> = ends
            .into_iter()
            .map(|(subject, end)| Scored {
                subject,
                end,
                lost: Lost::of(subject, since),
            })
            .collect();
        scored.sort_by(|a, b| b.end.over.mean.total_cmp(&a.end.over.mean));
        Ranking { scored, since }
    }

    /// The targets by what they lost, the least first.
    fn by_loss(&self) -> Vec<(&'a Subject, &Lost)> {
        let known = self
            .scored
            .iter()
            .filter_map(|s| Some((s.subject, s.lost.as_ref()?)));
        let mut known: Vec<(&Subject, &Lost)> = known.collect();
        known.sort_by(|(_, a), (_, b)| a.loss.over.mean.total_cmp(&b.loss.over.mean));
        known
    }

    /// How much of their blocks is contiguous at the end.
    fn ends(&self) -> Option<Finding> {
        let (first, last) = (self.scored.first()?, self.scored.last()?);
        let shares: Vec<f64> = self.scored.iter().map(|s| s.end.over.mean).collect();
        let shares = percents(&shares, ALIKE);
        let named = |at: usize| format!("{} {}", self.scored[at].subject.name, shares[at]);
        let when = self.when();
        let means = self.means();
        let all_alike = self.scored.len() > 1 && alike(&first.end, &last.end);
        let text = match self.scored.len() {
            1 => format!(
                "{when} {} keeps {} of blocks contiguous{means}.",
                first.subject.name, shares[0]
            ),
            n if all_alike => {
                let who = if n == 2 {
                    format!("{} and {}", first.subject.name, last.subject.name)
                } else {
                    format!("all {n} targets")
                };
                let range = if shares[0] == shares[n - 1] {
                    shares[0].clone()
                } else {
                    format!("{} to {}", shares[n - 1], shares[0])
                };
                format!(
                    "{when} {who} keep the same share of blocks contiguous, {range}{means}: {}.",
                    no_difference("they differ", &first.end, &last.end)
                )
            }
            n => {
                let shown = if n > consequences::NAMED { 3 } else { n };
                let others: Vec<String> = (1..shown).map(named).collect();
                let rest = if n > shown {
                    format!(
                        "; of the other {} the last is {} with {}",
                        n - shown,
                        last.subject.name,
                        shares[n - 1]
                    )
                } else {
                    String::new()
                };
                format!(
                    "{when} {} keeps {} of blocks contiguous, {}{rest}{means}.",
                    first.subject.name,
                    shares[0],
                    list(&others)
                )
            }
        };
        Some(finding(text, Tone::Neutral, "decay"))
    }

    /// Into how many pieces files are broken, where layout scores cannot be compared.
    fn pieces(&self) -> Option<Finding> {
        let known = self.scored.iter().filter_map(|s| {
            let per_file = |day: &DayRow| day.value(&pieces::PER_FILE);
            let aged = s.subject.at_end(per_file)?.mean;
            let of_control = |life: &Life| life.last()?.of_control(&pieces::PER_FILE);
            Some((&s.subject.name, aged, s.subject.over(of_control)))
        });
        let mut known: Vec<_> = known.collect();
        known.sort_by(|(_, a, _), (_, b, _)| a.total_cmp(b));
        let texts = known.iter().map(|(name, aged, control)| {
            let fresh = control.map(|control| format!(" (fresh {:.2})", control.mean));
            format!("{name} {aged:.2}{}", fresh.unwrap_or_default())
        });
        let texts = consequences::shortened(texts.collect());
        let text = format!("{}, pieces per file: {}.", self.when(), list(&texts));
        (!known.is_empty()).then(|| finding(text, Tone::Neutral, "pieces"))
    }

    /// That one target ends with the better layout than the next one, where the interval over lives proves it; by
    /// pieces per file where layout scores cannot be compared.
    fn proven(&self, by_pieces: bool) -> Option<String> {
        let value = |life: &Life| {
            if by_pieces {
                life.last()?.value(&pieces::PER_FILE)
            } else {
                life.end_score()
            }
        };
        let known = self.scored.iter();
        let known = known.filter_map(|s| Some((&s.subject.name, Sample::of(s.subject, value)?)));
        let mut known: Vec<(&String, Sample)> = known.collect();
        known.sort_by(|(_, a), (_, b)| a.over.mean.total_cmp(&b.over.mean));
        if !by_pieces {
            known.reverse();
        }
        let [(best, first), (next, second), ..] = &known[..] else {
            return None;
        };
        let apart = first.minus(second)?;
        let (low, high) = apart.mean_interval?;
        if low <= 0.0 && 0.0 <= high || !by_pieces && are_near(first, second) {
            return None;
        }
        let (mean, first, second) = (apart.mean.abs(), first.over.mean, second.over.mean);
        let (low, high) = (low.abs().min(high.abs()), low.abs().max(high.abs()));
        let lives = apart.count;
        Some(if by_pieces {
            format!(
                "for these lives: {best} keeps files in fewer pieces, {first:.2} each, than {next}, {second:.2}: life \
                 by life {mean:.2} fewer (95 % interval {low:.2} to {high:.2}, {lives} lives)."
            )
        } else {
            let points = |share: f64| format!("{:.1}", share * 100.0);
            format!(
                "for these lives: {best} keeps more of its blocks contiguous, {}, than {next}, {}: life by life {} \
                 points more (95 % interval {} to {}, {lives} lives).",
                percent(first),
                percent(second),
                points(mean),
                points(low),
                points(high)
            )
        })
    }

    /// `After 300 days`, where all targets have lived as long.
    fn when(&self) -> String {
        let mut days = self.scored.iter().map(|s| s.subject.days());
        let first = days.next().unwrap_or(0);
        if first > 0 && days.all(|other| other == first) {
            format!("After {}", counted(first, "day"))
        } else {
            "At the end".to_owned()
        }
    }

    /// That scores are means, where they are.
    fn means(&self) -> String {
        let lives = self.scored.iter().map(|s| s.end.over.count);
        match (lives.clone().min(), lives.max()) {
            (_, None | Some(..=1)) => String::new(),
            (Some(least), Some(most)) if least < most => {
                format!(" (means of {least} to {most} runs)")
            }
            (_, Some(all)) => format!(" (means of {all} runs)"),
        }
    }
}

impl Lost {
    fn of(subject: &Subject, since: Since) -> Option<Lost> {
        let before = |life: &Life| match since {
            Since::Control => life.control_score(),
            Since::FirstDay => life.first_score(),
        };
        Some(Lost {
            loss: Sample::of(subject, |life| Some(before(life)? - life.end_score()?))?,
            before: subject.over(before)?.mean,
        })
    }
}

/// Whether a target skipped so many operations that it holds other files than one that did them all.
fn skipped_too_many(subject: &Subject) -> bool {
    skipped_share(subject) > UNDONE
}

/// The share of its operations that a target skipped.
fn skipped_share(subject: &Subject) -> f64 {
    let all = subject.total(|day| day.operations).max(1);
    subject.total(|day| day.skipped) as f64 / all as f64
}

/// Whether targets skipped about the same share of their operations.
fn skipped_alike(ends: &[(&Subject, Sample)]) -> bool {
    let shares = ends.iter().map(|(subject, _)| skipped_share(subject));
    let (least, most) = shares.fold((f64::INFINITY, 0.0_f64), |(least, most), share| {
        (least.min(share), most.max(share))
    });
    most - least <= UNDONE
}

/// A value over lives, and in each of them.
struct Sample {
    over: Over,
    lives: Vec<(life::Life, f64)>,
}

impl Sample {
    fn of(subject: &Subject, value: impl Fn(&Life) -> Option<f64>) -> Option<Sample> {
        let lives: Vec<(life::Life, f64)> = subject.values(value).collect();
        let over = Over::of(life::independent(lives.iter().cloned()))?;
        Some(Sample { over, lives })
    }

    /// How much another has less, in the lives that both lived.
    fn minus(&self, other: &Sample) -> Option<Over> {
        let pairs = life::pairs(self.lives.iter().cloned(), other.lives.iter().cloned());
        Over::of(pairs.iter().map(|(one, other)| one - other))
    }
}

/// Whether two values are no different: in pairs of the same lives where there are enough of these, since what chance
/// does to a life it does to both.
fn alike(a: &Sample, b: &Sample) -> bool {
    if are_near(a, b) {
        return true;
    }
    match a.minus(b).and_then(|over| over.mean_interval) {
        Some((low, high)) => low <= 0.0 && 0.0 <= high,
        None => difference(a, b) < a.over.spread().max(b.over.spread()),
    }
}

fn difference(a: &Sample, b: &Sample) -> f64 {
    (a.over.mean - b.over.mean).abs()
}

fn are_near(a: &Sample, b: &Sample) -> bool {
    difference(a, b) < ALIKE
}

/// How little two differ that are alike; `what` is as `they differ`.
fn no_difference(what: &str, a: &Sample, b: &Sample) -> String {
    if are_near(a, b) {
        let ends = a.minus(b).and_then(|over| over.mean_interval);
        let ends = ends.map_or_else(String::new, |(low, high)| {
            format!(
                " (life by life {:+.2} to {:+.2} points)",
                low * 100.0,
                high * 100.0
            )
        });
        let in_mean = if ends.is_empty() { "" } else { "in the mean " };
        format!("{in_mean}{what} by less than 0.5 percentage points{ends}")
    } else if a.minus(b).is_some_and(|over| over.mean_interval.is_some()) {
        format!("life by life {what} by no more than chance")
    } else {
        format!("{what} by less than runs of the same target do among themselves")
    }
}

#[cfg(test)]
mod tests;
