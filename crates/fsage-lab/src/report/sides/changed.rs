//! What changed most between two runs, in one sentence: what differs by the largest factor comes first, and room for
//! extents behind it.

use super::{Benchmarked, Difference, Side};
use crate::benching::digits;
use crate::report::verdict::ALIKE;
use crate::report::words::list;
use crate::room;
use fsage_bench::Says;
use fsage_metrics::{Better, free_space, layout_score};
use fsage_report::{Finding, Tone};

/// What differs by a smaller share hardly differs. Layout scores, which are near 1, do below [`ALIKE`].
const LITTLE: f64 = 0.02;

/// So many changes are told; the table has the rest.
const TOLD: usize = 4;

/// A metric or a benchmark that changed.
pub(in crate::report) struct Change {
    /// What changed, from what to what, and whether that is better.
    pub text: String,
    /// The difference as a share of the larger value: 1 from or to nothing.
    pub share: f64,
    better: Option<bool>,
    /// Whether it is for how many extents there is room.
    is_room: bool,
}

/// What changed, the most first, and what did not.
#[derive(Default)]
pub(in crate::report) struct Changes {
    /// What changed.
    pub changed: Vec<Change>,
    alike: Vec<String>,
    /// Benchmarks that leave open whether something changed.
    open: Vec<String>,
}

impl Change {
    /// What is neither better nor worse comes last, and before it room: a count of few large runs changes by a large
    /// factor before anything else does.
    fn rank(&self) -> u8 {
        match (self.better, self.is_room) {
            (Some(_), false) => 0,
            (Some(_), true) => 1,
            (None, _) => 2,
        }
    }
}

impl Changes {
    /// Of metrics and benchmarks of two targets.
    pub fn of(layout: &[Difference], benchmarks: &[Benchmarked]) -> Changes {
        let mut all = Changes::default();
        // Free space in runs of 1 MiB is the room for such extents once more.
        let once = |line: &&Difference| line.metric != free_space::BYTES_IN_1M_RUNS.id;
        for line in layout.iter().filter(once) {
            if hardly_differs(line) {
                all.alike.push(line.title.clone());
            } else {
                all.changed.push(of_metric(line));
            }
        }
        for line in benchmarks {
            let name = format!("{} {} ({})", line.suite, line.phase, line.unit);
            match line.says {
                Says::Inconclusive => all.open.push(name),
                Says::Faster | Says::Slower if share(line.first, line.other) >= LITTLE => {
                    all.changed.push(of_benchmark(line, &name));
                }
                _ => all.alike.push(name),
            }
        }
        all.changed.sort_by(|a, b| {
            let by_share = b.share.total_cmp(&a.share);
            a.rank().cmp(&b.rank()).then(by_share)
        });
        all
    }
}

/// How much one value is above another; nothing where that is 0.
pub(super) fn above(first: f64, other: f64) -> Option<String> {
    (first.abs() > 0.0).then(|| format!("{:+.1} %", (other / first - 1.0) * 100.0))
}

/// The sentence of a pair of targets.
pub(super) fn finding(side: &Side, is_one_workload: bool) -> Finding {
    let [first, other] = &side.runs;
    let Changes {
        changed,
        alike,
        open,
    } = Changes::of(&side.layout, &side.benchmarks);
    let (conclusion, tone) = conclusion(&changed);
    let texts: Vec<&str> = changed.iter().map(|change| change.text.as_str()).collect();
    let mut sentences = Vec::new();
    let target = &side.target;
    if let [most, rest @ ..] = &texts[..] {
        let (told, more) = rest.split_at(rest.len().min(TOLD - 1));
        let then = match told {
            [] => String::new(),
            told => format!("; then {}", told.join(", ")),
        };
        let more = match more.len() {
            0 => String::new(),
            more => format!(", and {more} more below"),
        };
        sentences.push(format!("{target}: {other} {conclusion} {first}."));
        sentences.push(format!("Most changed: {most}{then}{more}."));
        if !alike.is_empty() {
            sentences.push(format!("Hardly different: {}.", list(&alike)));
        }
    } else if alike.is_empty() {
        sentences.push(format!(
            "{target}: nothing says how {other} differs from {first}."
        ));
    } else {
        let has_room = side.layout.iter().any(|line| room::is_count(&line.metric));
        let room = if has_room {
            ", room by what chance does to its count"
        } else {
            ""
        };
        sentences.push(format!(
            "{target}: {other} {conclusion} {first}: layout scores by less than 0.005{room}, all else by less than 2 %."
        ));
    }
    if !open.is_empty() {
        sentences.push(format!("Open: {}.", list(&open)));
    }
    if !changed.is_empty() {
        sentences.push("One life each: several (`--seeds`) say how much is chance.".to_owned());
    }
    if !is_one_workload {
        sentences.push("Their workloads differ, which alone may be why.".to_owned());
    }
    let text = sentences.join(" ");
    Finding {
        text,
        tone,
        section: Some("sides".to_owned()),
    }
}

/// What all changes together say of the other run.
fn conclusion(changes: &[Change]) -> (&'static str, Tone) {
    let any = |good: bool| changes.iter().any(|change| change.better == Some(good));
    match (any(true), any(false)) {
        _ if changes.is_empty() => ("hardly differs from", Tone::Neutral),
        (true, false) => ("is better than", Tone::Good),
        (false, true) => ("is worse than", Tone::Bad),
        (true, true) if changes[0].better == Some(true) => (
            "is better in some and worse in other things than",
            Tone::Neutral,
        ),
        (true, true) => (
            "is worse in some and better in other things than",
            Tone::Neutral,
        ),
        (false, false) => ("is neither better nor worse than", Tone::Neutral),
    }
}

fn share(first: f64, other: f64) -> f64 {
    let largest = first.abs().max(other.abs());
    if largest > 0.0 {
        (first - other).abs() / largest
    } else {
        0.0
    }
}

fn hardly_differs(line: &Difference) -> bool {
    let apart = (line.first - line.other).abs();
    if line.metric == layout_score::SCORE.id {
        apart < ALIKE
    } else if room::is_count(&line.metric) {
        room::is_by_chance(line.first, line.other)
    } else {
        share(line.first, line.other) < LITTLE
    }
}

fn of_metric(line: &Difference) -> Change {
    let better = match line.better {
        Better::Higher => Some(line.other > line.first),
        Better::Lower => Some(line.other < line.first),
        Better::Neither => None,
    };
    let [first, other] = &line.shown;
    let values = [line.first, line.other];
    Change {
        is_room: room::is_count(&line.metric),
        ..change(&line.title, [first, other], values, better)
    }
}

fn of_benchmark(line: &Benchmarked, name: &str) -> Change {
    let shown = [line.first, line.other].map(digits);
    let better = Some(line.says == Says::Faster);
    change(
        name,
        [&shown[0], &shown[1]],
        [line.first, line.other],
        better,
    )
}

fn change(name: &str, shown: [&str; 2], values: [f64; 2], better: Option<bool>) -> Change {
    let word = match better {
        Some(true) => "better",
        Some(false) => "worse",
        None => "",
    };
    let more = above(values[0], values[1]);
    let notes: Vec<&str> = [more.as_deref().unwrap_or_default(), word]
        .into_iter()
        .filter(|note| !note.is_empty())
        .collect();
    let notes = match notes.join(", ") {
        none if none.is_empty() => none,
        notes => format!(" ({notes})"),
    };
    Change {
        text: format!("{name} {} to {}{notes}", shown[0], shown[1]),
        share: share(values[0], values[1]),
        better,
        is_room: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsage_metrics::{Metric, files, free_space, pieces};

    fn metric(metric: &Metric, first: f64, other: f64) -> Difference {
        Difference {
            metric: metric.id.to_owned(),
            title: metric.title.to_owned(),
            first,
            other,
            better: metric.better,
            shown: [first, other].map(|value| value.to_string()),
        }
    }

    fn speed(says: Says, first: f64, other: f64) -> Benchmarked {
        Benchmarked {
            suite: "sequential".to_owned(),
            phase: "read".to_owned(),
            unit: "MB/s".to_owned(),
            first,
            other,
            ratio: other / first,
            interval: [other / first; 2],
            says,
        }
    }

    fn said(layout: Vec<Difference>, benchmarks: Vec<Benchmarked>) -> (String, Tone) {
        let side = Side {
            target: "ext4".to_owned(),
            runs: ["old".to_owned(), "new".to_owned()],
            folders: ["old".to_owned(), "new".to_owned()],
            layout,
            benchmarks,
            says: String::new(),
        };
        let finding = finding(&side, true);
        (finding.text, finding.tone)
    }

    #[test]
    fn room_that_shrank_most_comes_before_a_layout_that_hardly_differs() {
        let (text, tone) = said(
            vec![
                metric(&layout_score::SCORE, 0.996, 0.994),
                metric(&files::UTILIZATION, 0.5, 0.55),
                metric(&free_space::PLACEABLE_1M, 120.0, 60.0),
            ],
            Vec::new(),
        );
        assert_eq!(
            text,
            "ext4: new is worse than old. Most changed: room for extents of 1 MiB 120 to 60 (-50.0 %, worse); then \
             utilization 0.5 to 0.55 (+10.0 %). Hardly different: layout score. One life each: several \
             (`--seeds`) say how much is chance."
        );
        assert_eq!(tone, Tone::Bad);
    }

    #[test]
    fn speeds_stand_among_the_rest_and_those_that_are_open_are_no_change() {
        let layout = || {
            vec![
                metric(&pieces::PER_FILE, 1.5, 1.2),
                metric(&free_space::PLACEABLE_1M, 0.0, 0.0),
            ]
        };
        let (text, tone) = said(layout(), vec![speed(Says::Faster, 10.0, 20.0)]);
        assert_eq!(
            text,
            "ext4: new is better than old. Most changed: sequential read (MB/s) 10.0 to 20.0 (+100.0 %, better); then \
             pieces per file 1.5 to 1.2 (-20.0 %, better). Hardly different: room for extents of 1 MiB. One life \
             each: several (`--seeds`) say how much is chance."
        );
        assert_eq!(tone, Tone::Good);
        let (text, _) = said(layout(), vec![speed(Says::Slower, 10.0, 5.0)]);
        assert!(
            text.starts_with(
                "ext4: new is worse in some and better in other things than old. Most changed: seq"
            ),
            "{text}"
        );
        let (text, _) = said(layout(), vec![speed(Says::Inconclusive, 10.0, 20.0)]);
        assert!(text.contains("Most changed: pieces per file"), "{text}");
        assert!(text.contains("Open: sequential read (MB/s)."), "{text}");
    }

    #[test]
    fn where_nothing_changed_it_says_so_and_from_nothing_there_is_no_percentage() {
        let same = metric(&pieces::PER_FILE, 1.2, 1.21);
        let (text, tone) = said(vec![same], Vec::new());
        let expected = "ext4: new hardly differs from old: layout scores by less than 0.005, all else by less \
                        than 2 %.";
        assert_eq!((text.as_str(), tone), (expected, Tone::Neutral));
        let (text, _) = said(Vec::new(), Vec::new());
        assert_eq!(text, "ext4: nothing says how new differs from old.");
        let room = metric(&free_space::PLACEABLE_1M, 0.0, 30.0);
        let (text, _) = said(vec![room], Vec::new());
        assert!(
            text.contains("room for extents of 1 MiB 0 to 30 (better). One life each:"),
            "{text}"
        );
        // By hand: twice the root of 16 is 8, and that of 25 is 10.
        for (other, is_alike) in [(16.0, true), (25.0, false)] {
            let room = metric(&free_space::PLACEABLE_1M, 13.0, other);
            let (text, _) = said(vec![room], Vec::new());
            assert_eq!(text.contains("hardly differs"), is_alike, "{text}");
            let of_room = text.contains("room by what chance does to its count, all else");
            assert_eq!(of_room, is_alike, "{text}");
        }
    }
}
