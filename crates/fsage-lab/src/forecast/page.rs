//! The page of a forecast.

use super::answer::capitalized;
use super::lives::LifeDay;
use super::{Answer, Forecast, Limit, Variant, a_day};
use crate::report::words::counted;
use fsage_report::charts::{Point, Series};
use fsage_report::{
    Axis, Cell, DataTable, Exhibit, Fact, Finding, Lines, Report, Section, Sheet, Target, Tone,
};
use std::collections::BTreeMap;

/// Days of a chart, at most; of more every second, third, ... is shown.
const MOST_POINTS: usize = 400;
/// What stands in tables of lives under other conditions.
const VARIANTS: &str = "The median day on which each limit is crossed; in brackets the value on the last day, where \
                        most lives do not get there.";
/// A limit that is crossed sooner is bad news.
const SOON_DAYS: u64 = 90;

/// What stands on the page.
pub(super) fn of(
    found: &Forecast,
    limits: &[Limit],
    past: &[LifeDay],
    lives: &[Vec<LifeDay>],
) -> Report {
    let mut sections: Vec<Section> = vec![answers(found)];
    let fans = limits
        .iter()
        .enumerate()
        .filter(|(_, limit)| limit.has_course());
    let fans: Vec<Exhibit> = fans
        .filter_map(|(place, limit)| fan(place, limit, past, lives, found.no_interval.is_none()))
        .collect();
    if !fans.is_empty() {
        sections.push(Section {
            id: "fans".to_owned(),
            title: "The past, and what may come".to_owned(),
            lead: match &found.no_interval {
                Some(why) => format!("The line is the median of all lives; no interval: {why}."),
                None => "The line is the median of all lives; nine of ten lives lie in the light band, half of them \
                         in the dark one."
                    .to_owned(),
            },
            exhibits: fans,
        });
    }
    if !found.drivers.is_empty() {
        sections.push(variants(
            "drivers",
            "What drives it",
            &format!("{VARIANTS} Futures that are otherwise, each lived on the same file system."),
            found,
            &found.drivers,
        ));
    }
    if !found.helps.is_empty() {
        sections.push(variants(
            "helps",
            "What would help",
            &format!(
                "{VARIANTS} The same futures on other file systems, each of which has lived the past as well."
            ),
            found,
            &found.helps,
        ));
    }
    if !found.held_out.is_empty() {
        sections.push(held_out(found));
    }
    Report {
        title: "Forecast".to_owned(),
        subtitle: format!(
            "{}: {} ahead, {}; {}",
            found.target_shown(),
            counted(found.horizon_days, "day"),
            match found.lives {
                1 => "1 life".to_owned(),
                lives => format!("{lives} lives"),
            },
            found.build
        ),
        doubts: found
            .doubts
            .iter()
            .map(|doubt| format!("{}.", capitalized(doubt)))
            .collect(),
        verdict: verdict(found),
        targets: vec![Target {
            name: found.target.clone(),
            spec: found.target.clone(),
            facts: Vec::new(),
        }],
        facts: facts(found),
        sections,
        ..Report::default()
    }
}

fn verdict(found: &Forecast) -> Vec<Finding> {
    let in_short = found.held_out.is_empty().then(|| Finding {
        text: found.in_short(),
        tone: Tone::Neutral,
        section: Some("fans".to_owned()),
    });
    let premise = found.premise.as_ref().map(|premise| Finding {
        text: premise.clone(),
        tone: Tone::Neutral,
        section: None,
    });
    // That one limit holds is no good news where another does not: a write that fails, beside space that root has.
    let all_hold = found
        .answers
        .iter()
        .all(|answer| answer.reached == 0 && !answer.already);
    let answers = found.answers.iter().map(|answer| finding(answer, all_hold));
    let helps = found.helps_most().map(|text| Finding {
        text,
        tone: Tone::Neutral,
        section: Some("helps".to_owned()),
    });
    let first = in_short.into_iter().chain(helps).chain(premise);
    first.chain(answers).collect()
}

fn finding(answer: &Answer, all_hold: bool) -> Finding {
    let soon = |day: Option<u64>| day.is_some_and(|day| day <= SOON_DAYS);
    let tone = if answer.now.is_none() {
        Tone::Neutral
    } else if answer.already || soon(answer.median_day) {
        Tone::Bad
    } else if all_hold {
        Tone::Good
    } else {
        Tone::Neutral
    };
    Finding {
        text: answer.sentence.clone(),
        tone,
        section: Some("fans".to_owned()),
    }
}

fn facts(found: &Forecast) -> Vec<Fact> {
    let fact = |label: &str, value: String| Fact {
        label: label.to_owned(),
        value,
    };
    let observed = &found.observed;
    vec![
        fact(
            "Observed",
            format!(
                "{}, {} to {}",
                counted(observed.days, "day"),
                observed.first,
                observed.last
            ),
        ),
        fact("Growth", a_day(observed.growth_bytes_per_day)),
        fact("Operations", observed.operations.to_string()),
        fact("Seed of the first life", found.seed.to_string()),
    ]
}

fn answers(found: &Forecast) -> Section {
    let mut data = DataTable::new(&[
        "limit",
        "now",
        "median day",
        "90 % of lives",
        "lives that cross it",
    ]);
    data.rows.extend(found.answers.iter().map(|answer| {
        let now = answer.now.map(|now| answer.limit.shown(now));
        vec![
            Cell::Text(answer.limit.text.clone()),
            now.map_or(Cell::Null, Cell::Text),
            Cell::Text(answer.median_shown(found.horizon_days)),
            Cell::Text(answer.interval_shown(found.horizon_days)),
            Cell::Text(format!("{} of {}", answer.reached, answer.lives)),
        ]
    }));
    sheet(
        "limits",
        "When each limit is crossed",
        &format!(
            "Days from the last one observed. {}",
            found.now_is.as_deref().unwrap_or_default()
        ),
        data,
    )
}

fn sheet(id: &str, title: &str, lead: &str, data: DataTable) -> Section {
    Section {
        id: id.to_owned(),
        title: title.to_owned(),
        lead: lead.to_owned(),
        exhibits: vec![Exhibit::Table(Sheet {
            id: format!("{id}-table"),
            title: title.to_owned(),
            description: String::new(),
            data,
        })],
    }
}

fn variants(id: &str, title: &str, lead: &str, found: &Forecast, variants: &[Variant]) -> Section {
    let mut columns = vec!["", "target"];
    columns.extend(
        found
            .answers
            .iter()
            .map(|answer| answer.limit.text.as_str()),
    );
    let mut data = DataTable::new(&columns);
    let row = |name: &str, target: &str, answers: &[Answer]| {
        let mut row = vec![Cell::Text(name.to_owned()), Cell::Text(target.to_owned())];
        row.extend(
            answers
                .iter()
                .map(|answer| Cell::Text(answer.median_and_end_shown(found.horizon_days))),
        );
        row
    };
    data.rows
        .push(row("as it is", &found.target, &found.answers));
    data.rows.extend(
        variants
            .iter()
            .map(|variant| row(&variant.name, &variant.target, &variant.answers)),
    );
    sheet(id, title, lead, data)
}

fn held_out(found: &Forecast) -> Section {
    let mut data = DataTable::new(&["limit", "true day", "median day", "90 % of lives", "holds"]);
    data.rows.extend(found.held_out.iter().map(|case| {
        let horizon = found.horizon_days;
        let true_day = case
            .true_day
            .map_or_else(|| format!("> {horizon}"), |day| day.to_string());
        vec![
            Cell::Text(case.answer.limit.text.clone()),
            Cell::Text(true_day),
            Cell::Text(case.answer.median_shown(horizon)),
            Cell::Text(case.answer.interval_shown(horizon)),
            Cell::Text(case.shown().to_owned()),
        ]
    }));
    sheet(
        "held-out",
        "What really came",
        "The last days were held out: nothing was learned from them.",
        data,
    )
}

/// The chart of a metric: its past, the median of lives, the bands in which nine of ten and half of them lie where an
/// interval is claimed, and the limit.
fn fan(
    place: usize,
    limit: &Limit,
    past: &[LifeDay],
    lives: &[Vec<LifeDay>],
    has_interval: bool,
) -> Option<Exhibit> {
    let known = |rows: &[LifeDay]| -> Vec<(i64, f64)> {
        let rows = rows.iter();
        rows.filter_map(|row| Some((row.day, row.values[place]?)))
            .collect()
    };
    let observed = known(past);
    let mut by_day: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
    for (day, value) in lives.iter().flat_map(|life| known(life)) {
        by_day.entry(day).or_default().push(value);
    }
    if by_day.is_empty() {
        return None;
    }
    for values in by_day.values_mut() {
        values.sort_by(f64::total_cmp);
    }
    let step = by_day.len().div_ceil(MOST_POINTS);
    let band = |name: &str, tails: usize| {
        let points = by_day.iter().step_by(step).map(|(&day, values)| {
            let n = values.len();
            let k = ((n + 1) / tails).clamp(1, n);
            Point {
                x: day as f64,
                y: Some(values[(n - 1) / 2]),
                interval: Some((values[k - 1], values[n - k])),
            }
        });
        Series {
            name: name.to_owned(),
            target: 0,
            dashed: false,
            points: points.collect(),
        }
    };
    let line = |name: &str, target: usize, dashed: bool, points: Vec<(i64, f64)>| Series {
        name: name.to_owned(),
        target,
        dashed,
        points: points
            .into_iter()
            .map(|(day, value)| Point {
                x: day as f64,
                y: Some(value),
                interval: None,
            })
            .collect(),
    };
    let every = observed.len().div_ceil(MOST_POINTS).max(1);
    let first = observed.first().map_or(0, |&(day, _)| day);
    let last = by_day.keys().next_back().copied().unwrap_or(0);
    let thinned = observed.into_iter().step_by(every).collect();
    let mut series = vec![line("observed", 1, false, thinned)];
    if has_interval {
        series.extend([band("90 % of lives", 20), band("half of lives", 4)]);
    } else {
        let middle = by_day.iter().step_by(step);
        let middle = middle.map(|(&day, values)| (day, values[(values.len() - 1) / 2]));
        series.push(line("median of lives", 0, false, middle.collect()));
    }
    let ends = vec![(first, limit.value), (last, limit.value)];
    series.push(line("limit", 3, true, ends));
    let (label, format) = limit.axis();
    let lines = Lines {
        id: format!("fan-{}-{place}", limit.name.replace('_', "-")),
        title: limit.text.clone(),
        description: format!("{label}, by days since the last one observed."),
        x: Axis {
            label: "days since the last one observed".to_owned(),
            ..Axis::default()
        },
        y: Axis {
            label,
            format,
            ..Axis::default()
        },
        series,
        published: Vec::new(),
    };
    Some(Exhibit::Chart(lines.into_chart()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forecast::quantiles;

    /// Of 19 lives the light band has all, and the dark one leaves out 4 on each side: (19 + 1) / 4 = 5.
    #[test]
    fn bands_are_those_of_the_sorted_lives() {
        let rows = |day, value: f64| LifeDay {
            day,
            date: String::new(),
            values: vec![Some(value)],
        };
        let lives: Vec<Vec<LifeDay>> = (1..=19).map(|n| vec![rows(1, f64::from(n))]).collect();
        let limit = "free=5%".parse().expect("a limit");
        let chart = |has_interval| match fan(0, &limit, &[rows(0, 0.5)], &lives, has_interval) {
            Some(Exhibit::Chart(chart)) => chart.data.rows,
            _ => panic!("no chart"),
        };
        let with = chart(true);
        let bands: Vec<&Vec<Cell>> = with.iter().filter(|row| row[3] != Cell::Null).collect();
        let number = |cell: &Cell| match cell {
            Cell::Number(number) => *number,
            other => panic!("{other:?}"),
        };
        let shown: Vec<[f64; 3]> = bands
            .iter()
            .map(|row| [2, 3, 4].map(|at| number(&row[at])))
            .collect();
        assert_eq!(shown, [[10.0, 1.0, 19.0], [10.0, 5.0, 15.0]]);
        assert_eq!(quantiles(&[Some(1)]), (Some(1), Some(1), Some(1)));
        let without = chart(false);
        assert!(
            without.iter().all(|row| row.len() == 3),
            "no column for bands"
        );
        let median = without
            .iter()
            .find(|row| row[0] == Cell::Text("median of lives".to_owned()));
        assert_eq!(median.map(|row| &row[2]), Some(&Cell::Number(10.0)));
    }
}
