//! What a paper published of the same file systems under the same workload.

use crate::comparison::Measured;
use crate::paper::{Experiments, Paper};
use fsage_lab::benching::{State, lines};
use fsage_lab::report::{Beside, Group, Life, Subject};
use fsage_report::charts::Published;
use fsage_report::{Cell, DataTable, Exhibit, Section, Sheet};
use fsage_target::TargetSpec;

/// The paper whose comparison of policies a run can repeat.
const PAPER: &str = "smith96";
/// Policies that it compares.
const POLICIES: [&str; 2] = ["orig", "realloc"];
/// Phases of the benchmark of hot files, and its rows of their throughput.
const HOT: [(&str, &str); 2] = [("read", "H96.2"), ("overwrite", "H96.3")];

/// The papers, beside a run that repeats one of their comparisons.
#[derive(Clone, Copy, Debug, Default)]
pub struct Papers;

impl Beside for Papers {
    fn section(&self, group: &Group) -> Option<Section> {
        section(group)
    }

    fn layout_by_day(&self, group: &Group) -> Vec<Published> {
        published(group)
    }
}

/// The section; none where the run repeats no paper.
fn section(group: &Group) -> Option<Section> {
    let (paper, repeated) = repeated(group)?;
    let lines = measured(&paper, &repeated).compare(&paper);
    let mut data = DataTable::new(&[
        "id",
        "statement",
        "place",
        "published",
        "band",
        "here",
        "verdict",
    ]);
    for line in lines.iter().filter(|line| line.is_measured()) {
        let [id, statement, published, ours, verdict] = line.cells().try_into().ok()?;
        data.rows.push(vec![
            id.into(),
            statement.into(),
            line.expected.place.clone().into(),
            published.into(),
            line.expected.band_text().map_or(Cell::Null, Cell::from),
            ours.into(),
            verdict.into(),
        ]);
    }
    let run = &paper.run;
    Some(Section {
        id: format!("paper{}", group.suffix),
        title: group.titled("Beside the paper"),
        lead: format!(
            "{}, {}, {}, measured the same file systems under a workload that is not public; this one meets its \
             published statistics. `fsage reproduce {PAPER}` runs everything that the paper reports.",
            run.authors, run.title, run.published
        ),
        exhibits: vec![Exhibit::Table(Sheet {
            id: format!("paper-table{}", group.suffix),
            title: "Published values and ours".to_owned(),
            description:
                "Met is what lies within the band around the published value: absolute for layout scores, a share of \
                 the value for ratios of file systems and for what depends on the machine."
                    .to_owned(),
            data,
        })],
    })
}

/// Published layout scores, for the chart by day.
fn published(group: &Group) -> Vec<Published> {
    let Some((paper, repeated)) = repeated(group) else {
        return Vec::new();
    };
    let points = repeated.iter().flat_map(|(policy, subject)| {
        let point = |x: u64, id: &str| Published {
            series: subject.name.clone(),
            x: x as f64,
            y: paper.value(&format!("S96.10.{policy}.{id}")),
        };
        [point(1, "day-1"), point(subject.days(), "end")]
    });
    points.collect()
}

/// The targets that the paper has too, by their policy.
fn repeated(group: &Group) -> Option<(Paper, Vec<(&'static str, &Subject)>)> {
    let paper = Paper::named(PAPER).ok()?;
    let generator = group.workload.as_ref()?.generator.as_deref()?;
    let Experiments::Allocators(plan) = &paper.run.experiments else {
        return None;
    };
    let (home, _) = plan.workload.home().ok()?;
    if !is_workload(generator, &plan.workload.preset) {
        return None;
    }
    let same = |policy: &str, spec: &str| {
        let (ours, theirs) = (parsed(spec)?, parsed(paper.run.targets.get(policy)?)?);
        (ours == theirs).then_some(())
    };
    let repeated = POLICIES.iter().flat_map(|policy| {
        let subjects = group.subjects.iter();
        subjects
            .filter(|subject| same(policy, &subject.spec).is_some())
            .filter(|subject| subject.days() == home.days)
            .map(|subject| (*policy, subject))
    });
    let repeated: Vec<(&str, &Subject)> = repeated.collect();
    (!repeated.is_empty()).then_some((paper, repeated))
}

/// A target with its policy named, and its keys in order.
fn parsed(spec: &str) -> Option<TargetSpec> {
    let given = TargetSpec::parse(spec).ok()?;
    let policy = given.policy()?.name;
    let mut spec = given.without("policy");
    spec.options
        .push(("policy".to_owned(), Some(policy.to_owned())));
    spec.options.sort();
    Some(spec)
}

/// Whether a generator is the one that stands for the workload of the paper.
fn is_workload(generator: &str, preset: &str) -> bool {
    let Ok(parameters) = serde_json::from_str::<serde_json::Value>(generator) else {
        return generator.starts_with(&format!("fsage reproduce {PAPER} "));
    };
    let profile = parameters
        .get("profile")
        .and_then(|profile| profile.as_str());
    profile.is_some_and(|profile| profile == PAPER || profile == preset)
}

fn measured(paper: &Paper, repeated: &[(&'static str, &Subject)]) -> Measured {
    let mut measured = Measured::default();
    let mut broken = [None; 2];
    let mut hot = [[None; 2]; 2];
    for (policy, subject) in repeated {
        let end = subject.over(Life::end_score).map(|over| over.mean);
        let first = subject.over(Life::first_score).map(|over| over.mean);
        measured.figure(&format!("S96.10.{policy}.day-1"), first);
        measured.figure(&format!("S96.10.{policy}.end"), end);
        let at = POLICIES
            .iter()
            .position(|known| known == policy)
            .unwrap_or(0);
        broken[at] = end.map(|end| 1.0 - end);
        for (i, (phase, row)) in HOT.into_iter().enumerate() {
            let speed = hot_speed(paper, subject, phase);
            measured.figure(&format!("{row}.{policy}"), speed);
            hot[i][at] = speed;
        }
    }
    let over = |of: [Option<f64>; 2]| Some(of[1]? / of[0]?);
    measured.figure("S96.10.fewer", over(broken));
    for ((_, row), speeds) in HOT.into_iter().zip(hot) {
        measured.figure(row, over(speeds));
    }
    measured
}

/// Throughput of a phase over hot files on the disk and the host of the paper, in MB/s.
fn hot_speed(paper: &Paper, subject: &Subject, phase: &str) -> Option<f64> {
    let rows = subject.lives.iter().flat_map(|life| &life.bench);
    let rows = rows.filter(|row| {
        row.measurement.benchmark == "hot-files"
            && row.device.as_ref() == Some(&paper.run.device)
            && row.host.as_ref() == Some(&paper.run.host)
    });
    let lines = lines(&rows.cloned().collect::<Vec<_>>());
    let line = lines.iter().find(|line| line.phase == phase)?;
    let aged = line.speeds().find(|(state, _)| *state == State::Aged)?;
    Some(aged.1.mean)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsage_lab::days::DayRow;
    use fsage_lab::run_folder::WorkloadFacts;
    use fsage_metrics::layout_score;

    fn group(generator: &str, spec: &str, days: usize) -> Group {
        let day = |at| {
            let score = if at == 0 { 0.92 } else { 0.70 };
            let day = DayRow::default().with(&layout_score::SCORE, score);
            day.with(&layout_score::SCORED, 1000)
        };
        let life = Life {
            days: (0..days).map(day).collect(),
            ..Life::default()
        };
        let workload: WorkloadFacts = serde_json::from_value(serde_json::json!({
            "file": "w", "blake3": null, "generator": generator, "seed": 1, "source": null
        }))
        .expect("facts");
        Group {
            subjects: vec![Subject {
                name: "a".to_owned(),
                spec: spec.to_owned(),
                lives: vec![life],
                ..Subject::default()
            }],
            workload: Some(workload),
            ..Group::default()
        }
    }

    /// Published for orig: 0.924 after the first day and 0.766 at the end, each within 0.03.
    #[test]
    fn the_same_targets_under_the_same_workload_stand_beside_the_paper() {
        let home = r#"{"name":"profile","profile":"home-1996"}"#;
        let same = group(home, "ffs:preset=g502", 300);
        let section = section(&same).expect("a section");
        let Exhibit::Table(sheet) = &section.exhibits[0] else {
            panic!("a table");
        };
        let cell = |row: usize, column: usize| sheet.data.rows[row][column].clone();
        assert_eq!(cell(0, 0), Cell::from("S96.10.orig.day-1"));
        assert_eq!(cell(0, 4), Cell::from("± 0.03"));
        assert_eq!(cell(0, 6), Cell::from("met"));
        assert_eq!(cell(1, 0), Cell::from("S96.10.orig.end"));
        assert_eq!(cell(1, 6), Cell::from("differs"));
        assert_eq!(sheet.data.rows.len(), 2);
        let points = published(&same);
        let points: Vec<_> = points
            .iter()
            .map(|p| (p.x as u64, p.y.to_string()))
            .collect();
        assert_eq!(points, [(1, "0.924".to_owned()), (300, "0.766".to_owned())]);
    }

    #[test]
    fn anything_else_does_not() {
        let home = r#"{"profile":"home-1996"}"#;
        for (generator, spec, days) in [
            (home, "ffs:preset=g502", 299),
            (home, "ffs:preset=g1024", 300),
            (home, "ffs:preset=g502,policy=noswitch", 300),
            (home, "ffs:preset=g502,nrpos=1", 300),
            (home, "lfs", 300),
            (r#"{"profile":"fileserver"}"#, "ffs:preset=g502", 300),
            ("mine", "ffs:preset=g502", 300),
        ] {
            assert!(section(&group(generator, spec, days)).is_none(), "{spec}");
            assert!(published(&group(generator, spec, days)).is_empty());
        }
    }
}
