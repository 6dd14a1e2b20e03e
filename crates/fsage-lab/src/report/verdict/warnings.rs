//! What makes targets hard to compare.

use super::consequences::{any_has_lost, following, shortened};
use super::{Ranking, alike, finding};
use crate::aging::{NEARLY_EMPTY, in_units};
use crate::clusters;
use crate::days::{self, DayRow, REASONS};
use crate::fullness::{Fullness, shown_by_df};
use crate::report::bench::Compared;
use crate::report::subject::{Group, Life, Subject};
use crate::report::words::{counted, list, percent, thousands};
use fsage_core::size::{self, human};
use fsage_metrics::{files, pieces};
use fsage_report::{Finding, Tone};
use fsage_target::TargetSpec;

/// Targets whose utilization differs by more do not hold the same.
const UNLIKE_UTILIZATION: f64 = 0.02;

/// Targets that differ by a larger factor in the number of blocks for as many bytes have blocks of other sizes.
pub(crate) const UNLIKE_BLOCKS: f64 = 1.4;

/// The file system that keeps a reserve for the superuser, and the key of its model that says who lives on it.
pub(crate) const RESERVING: &str = "ext4";
const ROOT: &str = "root";

/// What is kept behind the ends of files is worth a word from this share of their bytes on.
const UNLIKE_BEHIND: f64 = 0.05;

/// Where more is in use, a lack of inodes surprises nobody.
const FULL: f64 = 0.95;

/// All warnings. `sizes` are the targets in several sizes, where all are: these are to differ in how full they are, and
/// what is true of one in all of its sizes is said once.
pub fn findings(group: &Group, ranking: &Ranking<'_>, sizes: &[Fullness]) -> Vec<Finding> {
    let mut findings = Vec::new();
    if sizes.is_empty() {
        findings.extend(utilization(ranking));
        findings.extend(all_behind_ends(group));
    }
    for of in sizes {
        let is_of = |subject: &&Subject| of.levels.iter().any(|l| l.target == subject.spec);
        let mut subjects = group.subjects.iter().filter(is_of);
        findings.extend(subjects.find_map(behind_ends));
    }
    findings.extend(group.subjects.iter().filter_map(no_inodes));
    if !sizes.is_empty() {
        findings.extend(unlike(ranking));
    }
    findings.extend(ages(ranking));
    findings.extend(unscored(group));
    findings
}

/// Targets that always had room, on which hardly anything ages.
pub fn nearly_empty(group: &Group, compared: &[Compared]) -> Option<Finding> {
    if compared.iter().any(any_has_lost) {
        return None;
    }
    let fullest =
        |subject: &Subject| days::fullest(subject.lives.iter().flat_map(|life| &life.days));
    let lasted = |subject: &&Subject| subject.lives.iter().any(|life| life.days.len() > 1);
    let of_some_days = group.subjects.iter().filter(lasted);
    let shares =
        of_some_days.filter_map(|subject| Some((subject.name.as_str(), fullest(subject)?)));
    let (names, shares): (Vec<&str>, Vec<f64>) =
        shares.filter(|(_, share)| *share < NEARLY_EMPTY).unzip();
    let most = shares.into_iter().max_by(f64::total_cmp)?;
    let (was, each) = if names.len() > 1 {
        ("were", " each")
    } else {
        ("was", "")
    };
    let (names, most) = (list(&names), percent(most));
    let full = format!("{names} {was} never more than {most} full{each}");
    let text = match out_of_order(group) {
        None => format!("{full}, so that hardly anything aged: `--fill 80` shows more."),
        Some(order) => {
            format!("{full}, so that files stayed whole: `--fill 80` shows more. {order}")
        }
    };
    Some(finding(text, Tone::Bad, "outcomes"))
}

/// That files lie in another order than they are read in, which a benchmark on flash does not show.
fn out_of_order(group: &Group) -> Option<String> {
    /// So much less of the files follow the one before than in the fresh copy.
    const LEAST: f64 = 0.2;
    let subjects = group.subjects.iter();
    let moved = subjects.filter_map(|subject| following(subject, LEAST));
    let moved: Vec<String> = moved.collect();
    (!moved.is_empty()).then(|| {
        format!(
            "They did get out of the order in which they are read: right behind the one before in their directory lie \
             {}. Flash hardly feels that, a disk does: --device st4000nm0033, --suite read-tree.",
            list(&shortened(moved))
        )
    })
}

/// Why there is no verdict: targets that did not do most of their operations hold other files than the workload's. None
/// where all did.
pub fn no_verdict(group: &Group) -> Option<Finding> {
    let mostly_skipped = group.subjects.iter().filter(|subject| {
        let skipped = subject.total(|day| day.skipped);
        skipped > subject.total(|day| day.operations) / 2
    });
    let names: Vec<&str> = mostly_skipped
        .map(|subject| subject.name.as_str())
        .collect();
    let is_of_image =
        |subject: &Subject| TargetSpec::parse(&subject.spec).is_ok_and(|spec| spec.has("from"));
    let room = if group.subjects.iter().any(is_of_image) {
        "What came with an image leaves little room: a workload of a smaller --capacity fits in."
    } else {
        "A larger size= gives them room."
    };
    (!names.is_empty()).then(|| {
        let text = format!(
            "No verdict: {} skipped more than half of the operations. {room}",
            list(&names)
        );
        finding(text, Tone::Bad, "outcomes")
    })
}

/// That targets which are compared are not alike in size, so that one of them is fuller for that alone.
pub fn unequal_sizes(group: &Group) -> Option<Finding> {
    /// Sizes that differ by less leave much the same room.
    const ALIKE: f64 = 1.15;
    let subjects = group.subjects.iter();
    let sized = subjects.filter_map(|subject| {
        let spec = TargetSpec::parse(&subject.spec).ok()?;
        let bytes = size::parse(spec.value("size")?).ok()?;
        Some((subject.name.as_str(), bytes))
    });
    let sized: Vec<(&str, u64)> = sized.collect();
    let (least, most) = (
        sized.iter().min_by_key(|(_, bytes)| *bytes)?,
        sized.iter().max_by_key(|(_, bytes)| *bytes)?,
    );
    (most.1 as f64 > least.1 as f64 * ALIKE).then(|| {
        let text = format!(
            "The targets are not alike in size: {} has {}, {} has {}, and is fuller for that alone.",
            most.0,
            human(most.1),
            least.0,
            human(least.1)
        );
        finding(text, Tone::Bad, "outcomes")
    })
}

/// Of each target that skipped operations: from when on, and why.
pub fn ran_out(group: &Group, ranking: &Ranking<'_>) -> Vec<Finding> {
    let subjects = group.subjects.iter();
    let findings = subjects.filter_map(|subject| {
        let skipped = subject.total(|day| day.skipped);
        (skipped > 0).then(|| {
            let is_ranked = ranking.scored.iter().any(|s| s.subject.name == subject.name);
            let consequence = if is_ranked {
                "It holds other files than a target that did them all, which makes it look better or worse than it is."
            } else {
                "It holds other files than a target that did them all, and is not ranked: give all targets the same \
                 larger size=, or none to `fsage compare`, which finds one with room."
            };
            let text = format!("{}{} {consequence}", ran_out_of(subject), not_done(subject));
            finding(text, Tone::Bad, "outcomes")
        })
    });
    findings.collect()
}

/// Of several workloads the targets that skipped more than a few operations, those of most first.
pub fn ran_out_anywhere(groups: &[Group]) -> Option<Finding> {
    /// Targets that are named.
    const NAMED: usize = 4;
    /// A smaller share of the operations is shown as nothing.
    const LEAST: f64 = 0.005;
    let subjects = groups
        .iter()
        .flat_map(|group| group.subjects.iter().map(move |subject| (group, subject)));
    let undone = subjects.filter_map(|(group, subject)| {
        let skipped = subject.total(|day| day.skipped) as f64;
        let share = skipped / subject.total(|day| day.operations).max(1) as f64;
        let of = match &group.title {
            Some(workload) => format!("{} under {workload}", subject.name),
            None => subject.name.clone(),
        };
        (share >= LEAST).then(|| (share, format!("{of} ({})", percent(share))))
    });
    let mut undone: Vec<(f64, String)> = undone.collect();
    undone.sort_by(|one, other| other.0.total_cmp(&one.0));
    let more = match undone.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let named: Vec<String> = undone.into_iter().take(NAMED).map(|of| of.1).collect();
    (!named.is_empty()).then(|| {
        let text = format!(
            "Not all operations were done by {}{more}: where room is lacking a target holds other files, which makes \
             it look better or worse than it is.",
            if more.is_empty() { list(&named) } else { named.join(", ") }
        );
        finding(text, Tone::Bad, "outcomes")
    })
}

/// In which size all targets that lacked room would have it, one for all so that they are alike.
pub fn room(groups: &[Group]) -> Option<Finding> {
    let subjects = groups.iter().flat_map(|group| &group.subjects);
    let bytes = subjects.filter_map(|subject| subject.room_bytes).max()?;
    let text = format!(
        "Room for all operations and for the files of benchmarks, by the most that files and metadata take at a time: \
         size={}.",
        in_units(bytes)
    );
    Some(finding(text, Tone::Bad, "outcomes"))
}

/// Of each target that skipped nothing, and does not know some operations: which.
pub fn not_known(group: &Group) -> Vec<Finding> {
    let subjects = group.subjects.iter();
    let findings = subjects.filter_map(|subject| {
        let ignored = subject.total(|day| day.ignored);
        let is_any = ignored > 0 && subject.total(|day| day.skipped) == 0;
        is_any.then(|| {
            let text = format!("{} {}", subject.name, not_done(subject));
            finding(text, Tone::Neutral, "outcomes")
        })
    });
    findings.collect()
}

/// `ext4 ran out of space on day 12, 97 % full, and `; the name alone where it was not for lack of room.
fn ran_out_of(subject: &Subject) -> String {
    let refused = |day: &DayRow| day.no_space + day.no_inode;
    let lacking = |life: &Life| {
        let calendar = days::calendar(&life.days);
        let mut by_day = calendar.into_iter().zip(&life.days);
        by_day
            .find(|(_, row)| refused(row) > 0)
            .map(|(day, row)| (day, row.clone()))
    };
    let first = subject.lives.iter().filter_map(lacking);
    let Some((day, row)) = first.min_by_key(|(day, _)| *day) else {
        return format!("{} ", subject.name);
    };
    let what = if row.no_space > 0 { "space" } else { "inodes" };
    let only_end = subject.lives.iter().any(|life| life.only_end);
    let when = if only_end {
        String::new()
    } else {
        format!(" on day {}", thousands(day))
    };
    let most = row.value(&files::UTILIZATION);
    let full = most.map_or_else(String::new, |full| {
        format!(" ({} full at its end)", percent(full))
    });
    let full = if only_end { String::new() } else { full };
    format!("{} ran out of {what}{when}{full}: it ", subject.name)
}

/// `did not do 3 of 100 operations (3 %): 2 for lack of space and 1 on what could not be made before.`
fn not_done(subject: &Subject) -> String {
    let not_done = subject.total(|day| day.skipped.saturating_add(day.ignored));
    let operations = subject.total(|day| day.operations);
    let reasons = REASONS.iter().filter_map(|(_, reason, count)| {
        let n = subject.total(count);
        (n > 0).then(|| format!("{} {reason}", thousands(n)))
    });
    let reasons: Vec<String> = reasons.collect();
    format!(
        "did not do {} of {} ({}): {}.",
        thousands(not_done),
        counted(operations, "operation"),
        percent(not_done as f64 / operations.max(1) as f64),
        list(&reasons)
    )
}

fn utilization(ranking: &Ranking<'_>) -> Option<Finding> {
    let used = ranking.scored.iter().filter_map(|s| {
        let used = s.subject.at_end(|day| day.value(&files::UTILIZATION))?;
        let lost = s.lost.as_ref().map(|lost| &lost.loss);
        Some((&s.subject.name, used.mean, lost))
    });
    let used: Vec<_> = used.collect();
    let most = used.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let least = used.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    (most.1 - least.1 > UNLIKE_UTILIZATION).then(|| {
        // Layout decays faster on a fuller disk: a handicap of the fuller one, and no excuse for the other.
        let lost = most.2.zip(least.2);
        let less = lost.is_some_and(|(a, b)| a.over.mean < b.over.mean && !alike(a, b));
        let (consequence, tone) = if less {
            (
                "decayed less even so",
                Tone::Neutral,
            )
        } else {
            (
                "layout decays faster on a fuller disk, so that part of the difference may come from that",
                Tone::Bad,
            )
        };
        let joint = if tone == Tone::Bad { ":" } else { ", and" };
        let text = format!(
            "{} is {} full at the end, {} {}{joint} {consequence}.",
            most.0,
            percent(most.1),
            least.0,
            percent(least.1)
        );
        finding(text, tone, "decay")
    })
}

/// The same of all targets: of many what each keeps in one sentence.
fn all_behind_ends(group: &Group) -> Vec<Finding> {
    let each: Vec<Finding> = group.subjects.iter().filter_map(behind_ends).collect();
    if each.len() < 3 {
        return each;
    }
    let kept = group.subjects.iter().filter(|of| behind_ends(of).is_some());
    let kept = kept.filter_map(|subject| {
        let behind = subject.at_end(|day| day.value(&pieces::BEYOND_END_BYTES))?;
        Some(format!("{} {}", subject.name, human(behind.mean as u64)))
    });
    let text = format!(
        "Room that is kept allocated behind the ends of files, for them to grow: {}. A mounted file system gives it \
         back minutes after the last write, which a replay does not wait for: these are less full than they look here, \
         and have more room for large extents. Models of XFS give it back by time with regime=default.",
        list(&kept.collect::<Vec<_>>())
    );
    vec![finding(text, Tone::Neutral, "all-metrics")]
}

/// That space is kept for files to grow which will be given back.
fn behind_ends(subject: &Subject) -> Option<Finding> {
    let behind = subject
        .at_end(|day| day.value(&pieces::BEYOND_END_BYTES))?
        .mean;
    let files = subject.at_end(|day| day.value(&files::FILE_BYTES))?.mean;
    (behind > UNLIKE_BEHIND * files).then(|| {
        let kept = format!(
            "{} keeps {} allocated behind the ends of files, room for them to grow.",
            subject.name,
            human(behind as u64)
        );
        let given_back = match trims(&subject.spec) {
            Trims::Already => {
                "What is older was given back; so will this be, minutes after the last write."
                    .to_owned()
            }
            Trims::With(instead) => {
                format!(
                    "{} `{instead}` gives it back by time, too.",
                    not_waited_for(subject)
                )
            }
            Trims::No => not_waited_for(subject),
        };
        finding(format!("{kept} {given_back}"), Tone::Neutral, "all-metrics")
    })
}

fn not_waited_for(subject: &Subject) -> String {
    format!(
        "A mounted file system gives it back minutes after the last write, which a replay does not wait for: {} is \
         less full than it looks here.",
        subject.name
    )
}

/// Whether a target gives back by time what files keep behind their ends.
#[derive(Debug, PartialEq, Eq)]
enum Trims {
    No,
    Already,
    /// Its model does with the keys of this target.
    With(String),
}

fn trims(spec: &str) -> Trims {
    let Ok(spec) = TargetSpec::parse(spec) else {
        return Trims::No;
    };
    let Some((key, value)) = spec.entry().and_then(|entry| entry.trims_with) else {
        return Trims::No;
    };
    if spec.pairs().contains(&(key, Some(value))) {
        return Trims::Already;
    }
    let mut spec = spec.without(key);
    spec.options.push((key.to_owned(), Some(value.to_owned())));
    Trims::With(spec.to_string())
}

/// Whether a workload lives on a target as the superuser, for whom it keeps a reserve.
pub(crate) fn lives_as_root(spec: &TargetSpec) -> bool {
    let is_model = spec.kind == RESERVING;
    is_model && spec.value(ROOT) != Some("off") || spec.place.as_deref() == Some(RESERVING)
}

/// That the workload lived as the superuser, who may use what ext4 keeps from others.
pub fn reserve(group: &Group) -> Option<Finding> {
    let specs = group.subjects.iter();
    let mut specs = specs.filter_map(|subject| TargetSpec::parse(&subject.spec).ok());
    let lived_as_root = specs.find(lives_as_root)?;
    let other = if lived_as_root.kind == RESERVING {
        format!(": --on {RESERVING}:{ROOT}=off lives as one of them")
    } else {
        String::new()
    };
    let text = format!(
        "The workload lived as root. {RESERVING} keeps a reserve for root, 5 % as mkfs makes it, and others find it \
         full that much earlier{other}."
    );
    Some(finding(text, Tone::Neutral, "fullness"))
}

/// What `df` shows of the sizes of an ext4, which leaves its reserve out: whoever has an alarm reads that.
pub fn sizes_by_df(sizes: &[Fullness]) -> Option<Finding> {
    let texts = sizes.iter().filter_map(|of| {
        let levels = of.levels.iter().map(|level| {
            let shown = shown_by_df(&of.target, level.utilization)?;
            Some(format!(
                "{} as {}",
                percent(level.utilization),
                percent(shown)
            ))
        });
        let levels = levels.collect::<Option<Vec<String>>>()?;
        Some(format!("{} at {}", of.name, list(&levels)))
    });
    let texts: Vec<String> = texts.collect();
    (!texts.is_empty()).then(|| {
        let text = format!(
            "df shows more, as it leaves out what {RESERVING} keeps for root: {}.",
            texts.join("; ")
        );
        finding(text, Tone::Neutral, "fullness")
    })
}

/// Whether a target was made with another reserve than mkfs makes.
pub fn varies_reserve(subject: &Subject) -> bool {
    TargetSpec::parse(&subject.spec).is_ok_and(|spec| spec.has("reserve"))
}

/// That no inode could be made though there was space.
fn no_inodes(subject: &Subject) -> Option<Finding> {
    let refused = subject.total(|day| day.no_inode);
    let used = subject.at_end(|day| day.value(&files::UTILIZATION))?.mean;
    (refused > 0 && used < FULL).then(|| {
        let text = format!(
            "{} could not make {}, with {} of its space in use: what is free has no place for new inodes. Room for \
             inodes by day (`inode_room`) shows it coming.",
            subject.name,
            counted(refused, "inode"),
            percent(used)
        );
        finding(text, Tone::Bad, "free-space")
    })
}

/// That layout scores do not compare.
pub fn unlike(ranking: &Ranking<'_>) -> Option<Finding> {
    let targets = ranking.scored.iter().map(|s| s.subject);
    let targets = targets.map(|subject| (subject.name.as_str(), subject.spec.as_str()));
    let clusters = || clusters::warning(targets).map(|text| finding(text, Tone::Bad, "pieces"));
    blocks(ranking).or_else(clusters)
}

/// That one target counts its files in more blocks than another: a break weighs less in its score then.
fn blocks(ranking: &Ranking<'_>) -> Option<Finding> {
    let counted = ranking.scored.iter().filter_map(|s| {
        let blocks = s.subject.at_end(DayRow::scored_per_byte)?;
        Some((&s.subject.name, blocks.mean))
    });
    let counted: Vec<_> = counted.collect();
    let most = counted.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let least = counted.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    (most.1 > least.1 * UNLIKE_BLOCKS).then(|| {
        let text = format!(
            "{} has {:.1} times as many scored blocks to a byte as {}, by the size of its blocks or of its files: a \
             break weighs less in its layout score. Pieces per file compare, layout scores do not.",
            most.0,
            most.1 / least.1,
            least.0
        );
        finding(text, Tone::Bad, "pieces")
    })
}

fn ages(ranking: &Ranking<'_>) -> Option<Finding> {
    let ages = ranking
        .scored
        .iter()
        .map(|s| (s.subject.days(), &s.subject.name));
    let (most, least) = (ages.clone().max()?, ages.min()?);
    (most.0 > least.0).then(|| {
        let text = format!(
            "{} has {} on record and {} {}: they are not of the same age.",
            most.1,
            counted(most.0, "day"),
            least.1,
            thousands(least.0)
        );
        finding(text, Tone::Bad, "decay")
    })
}

fn unscored(group: &Group) -> Option<Finding> {
    let unscored = group.subjects.iter().filter(|subject| {
        let days = subject.lives.iter().any(|life| life.last().is_some());
        days && subject.over(Life::end_score).is_none()
    });
    let names: Vec<&str> = unscored.map(|subject| subject.name.as_str()).collect();
    (!names.is_empty()).then(|| Finding {
        text: format!(
            "{}: no file at the end has two blocks whose place is known, so nothing can be said of its layout.",
            list(&names)
        ),
        tone: Tone::Neutral,
        section: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_that_can_give_back_what_is_behind_ends_of_files_says_with_which_keys() {
        let with = |spec: &str| Trims::With(spec.to_owned());
        assert_eq!(trims("xfs:size=1G"), with("xfs:size=1G,regime=default"));
        assert_eq!(
            trims("xfs:regime=strict,size=1G"),
            with("xfs:size=1G,regime=default")
        );
        assert_eq!(trims("xfs:size=1G,regime=default"), Trims::Already);
        assert_eq!(trims("ffs"), Trims::No);
        assert_eq!(trims("loop:xfs,size=1G"), Trims::No);
    }
}
