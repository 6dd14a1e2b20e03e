//! What came of a check: as text, as JSON, and for continuous integration as `JUnit`, Markdown or annotations.

use super::cause::Cause;
use super::results::TargetResults;
use super::rules::Bound;
use crate::clock::is_drawn;
use crate::table;
use fsage_target::TargetSpec;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use serde::Serialize;
use std::collections::HashMap;
use std::io::{self, Write};

/// What came of a check.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The run or experiment.
    pub run: String,
    /// What it was compared with.
    pub baseline: Option<String>,
    /// File or name of the rules.
    pub rules: String,
    /// Whether nothing failed.
    pub passed: bool,
    /// Targets, with their runs, that lived in a regime while the kernel reclaimed memory: it may have written back
    /// before its time, so that their layouts may be those of no other run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disturbed: Vec<String>,
    /// Where the layouts of targets that fail are worse than those of the baseline.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<Cause>,
    /// Every rule on every target, by target.
    pub verdicts: Vec<Verdict>,
}

impl Outcome {
    /// Why what was compared may say nothing of the code or the kernel, a sentence each.
    #[must_use]
    pub fn doubts(&self) -> Vec<String> {
        let disturbed = (!self.disturbed.is_empty()).then(|| {
            format!(
                "The kernel reclaimed memory while these lived, and then may write back before its time: {}. Their \
                 layouts may be those of no other run: free memory, and repeat them.",
                self.disturbed.join(", ")
            )
        });
        disturbed.into_iter().chain(self.may_be_chance()).collect()
    }

    /// That single runs which failed beside a baseline draw their clock, so that another draw may pass; none where none
    /// does, and of lives, which say how far draws lie apart.
    fn may_be_chance(&self) -> Option<String> {
        let failed = self.verdicts.iter().filter(|of| !of.failures.is_empty());
        let mut single = failed.filter(|of| of.cell.is_none() && of.lives.is_none());
        let is_drawn = |text: &str| {
            let spec = TargetSpec::parse(text);
            spec.is_ok_and(|spec| is_drawn(&spec.without("seed")))
        };
        let drawn = single.find(|of| is_drawn(&of.target))?;
        self.baseline.as_ref()?;
        Some(format!(
            "{}: draws when it writes back, from its seed, and any other option is another draw: what differs \
             between two runs may be chance. Check lives: `fsage compare --seeds 5 --no-bench` of each side makes an \
             experiment to check.",
            drawn.target
        ))
    }
}

/// A rule on a target.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// Name of the rule.
    pub rule: String,
    /// Specification of the target.
    pub target: String,
    /// The cell of an experiment.
    pub cell: Option<String>,
    /// How many values were looked at.
    pub checked: usize,
    /// What they are, in short.
    pub found: String,
    /// Why it does not hold; none where it does.
    pub failures: Vec<Failure>,
    /// What the lives leave open.
    pub open: Vec<Open>,
    /// The lives that its cell is one of; none of a run, and where the rule is over all of them.
    #[serde(skip)]
    pub lives: Option<Lives>,
    /// How far its worst value lies beyond the nearest limit, below 0 where it holds; none where it has no such value.
    #[serde(skip)]
    pub excess: Option<f64>,
}

/// Cells of an experiment that differ in seed and repetition alone.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lives {
    /// The workload, and how many lives and runs of it there are.
    pub name: String,
    /// Cells in all.
    pub cells: usize,
    /// What one is called, of several.
    pub word: &'static str,
}

/// What is said of a rule on a target, or on all of its lives.
struct Line<'a> {
    ended: Ended,
    of: String,
    rule: &'a str,
    reason: String,
}

/// A limit of which lives do not say whether it is kept: the interval of their mean has it inside.
#[derive(Clone, Debug, Serialize)]
pub struct Open {
    /// A sentence with all of the below.
    pub message: String,
    /// The benchmark.
    pub bench: Option<String>,
    /// The mean.
    pub value: f64,
    /// What was asked.
    pub bound: Bound,
    /// The baseline's mean.
    pub baseline: Option<f64>,
    /// How many more seeds would decide it, if they scatter as these do; none where more would than can be lived.
    pub more_seeds: Option<usize>,
}

/// How a rule ended on a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    Failed,
    Open,
    Ok,
}

impl Ended {
    fn mark(self) -> &'static str {
        match self {
            Ended::Failed => "❌",
            Ended::Open => "❔",
            Ended::Ok => "✅",
        }
    }
}

/// Why a rule does not hold.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Failure {
    /// A sentence with all of the below.
    pub message: String,
    /// Of lives, what the sentence says before the limit.
    #[serde(skip)]
    pub found: String,
    /// The first day on which it does not hold, from 1.
    pub day: Option<u64>,
    /// The label of that day.
    pub label: Option<String>,
    /// The benchmark.
    pub bench: Option<String>,
    /// The value, on that day or of the median.
    pub value: Option<f64>,
    /// What was asked.
    pub bound: Option<Bound>,
    /// The baseline's value.
    pub baseline: Option<f64>,
    /// The day on which the limit is exceeded most.
    pub worst_day: Option<u64>,
    /// The value on that day.
    pub worst_value: Option<f64>,
    /// On how many days it does not hold.
    pub days_beyond: Option<usize>,
}

impl Verdict {
    /// A rule that holds of a target so far.
    pub fn new(rule: &str, target: &TargetResults) -> Verdict {
        Verdict {
            rule: rule.to_owned(),
            target: target.spec.clone(),
            cell: target.cell.clone(),
            checked: 0,
            found: String::new(),
            failures: Vec::new(),
            open: Vec::new(),
            lives: None,
            excess: None,
        }
    }

    /// The rule, the target and the lives of one that holds: those that share them have one line.
    fn held(&self) -> Option<(&str, &str, &Lives)> {
        let lives = self.lives.as_ref()?;
        (self.ended() == Ended::Ok).then_some((&self.rule, &self.target, lives))
    }

    /// What a rule found that holds in several lives, of which this is one.
    fn of_lives(&self, lives: &Lives, all: &[&Verdict]) -> String {
        let lives_in = match all.len() {
            held if held == lives.cells => format!("in all {} {}", lives.cells, lives.word),
            held => format!("in {held} of {} {}", lives.cells, lives.word),
        };
        if all.iter().all(|other| other.found == self.found) {
            return format!("{}, {lives_in}", self.found);
        }
        let excess = |verdict: &Verdict| verdict.excess.unwrap_or(f64::NEG_INFINITY);
        let by_excess = |a: &&Verdict, b: &&Verdict| excess(a).total_cmp(&excess(b));
        let worst = all.iter().copied().rev().max_by(by_excess).unwrap_or(self);
        let is_alike = |other: &&Verdict| excess(other).total_cmp(&excess(worst)).is_eq();
        let is = if all.iter().all(is_alike) {
            "as"
        } else {
            "the worst is"
        };
        let cell = worst.cell.as_deref().unwrap_or_default();
        let seed = cell.split_once(", ").map_or(cell, |(_, seed)| seed);
        format!("{lives_in}; {is} {seed}: {}", worst.found)
    }

    fn ended(&self) -> Ended {
        match (self.failures.is_empty(), self.open.is_empty()) {
            (false, _) => Ended::Failed,
            (true, false) => Ended::Open,
            (true, true) => Ended::Ok,
        }
    }

    /// What decided how it ended: each failure, else each limit that is open, else what was found.
    fn reasons(&self) -> Vec<&str> {
        match self.ended() {
            Ended::Failed => self.failures.iter().map(|f| f.message.as_str()).collect(),
            Ended::Open => self.open.iter().map(|open| open.message.as_str()).collect(),
            Ended::Ok => vec![&self.found],
        }
    }

    /// It does not hold, and this is why.
    pub fn fail(&mut self, message: String) {
        self.failures.push(Failure {
            message,
            ..Failure::default()
        });
    }

    fn of(&self) -> String {
        self.named(self.cell.as_deref())
    }

    fn named(&self, cell: Option<&str>) -> String {
        match cell {
            Some(cell) => format!("{} ({cell})", self.target),
            None => self.target.clone(),
        }
    }
}

impl Line<'_> {
    fn markdown_row(&self, out: &mut impl Write) -> io::Result<()> {
        let mark = self.ended.mark();
        let [target, rule, found] = [&self.of, self.rule, &self.reason].map(in_markdown);
        writeln!(out, "| {mark} | {target} | {rule} | {found} |")
    }
}

/// A text in a cell of a table of Markdown: nothing of it is markup.
fn in_markdown(text: &str) -> String {
    let mut plain = String::new();
    for c in text.chars() {
        match c {
            '<' => plain.push_str("&lt;"),
            '&' => plain.push_str("&amp;"),
            '\n' | '\r' => plain.push(' '),
            '|' | '`' | '*' | '_' | '[' | ']' | '\\' | '~' | '#' | '!' | '@' => {
                plain.extend(['\\', c]);
            }
            c => plain.push(c),
        }
    }
    plain
}

/// A text as the message of a workflow command.
/// Source: `escapeData` in GitHub's toolkit, `packages/core/src/command.ts`.
fn in_command(text: &str) -> String {
    let text = text.replace('%', "%25");
    text.replace('\r', "%0D").replace('\n', "%0A")
}

/// A text as a property of a workflow command: `escapeProperty` of the same file.
fn in_property(text: &str) -> String {
    in_command(text).replace(':', "%3A").replace(',', "%2C")
}

impl Outcome {
    /// How many rules do not hold.
    pub fn failed(&self) -> usize {
        self.that(Ended::Failed).count()
    }

    /// Rules on targets that ended so.
    fn that(&self, ended: Ended) -> impl Iterator<Item = &Verdict> {
        let verdicts = self.verdicts.iter();
        verdicts.filter(move |verdict| verdict.ended() == ended)
    }

    /// How it ended, in a sentence.
    pub fn sentence(&self) -> String {
        let open = match self.that(Ended::Open).count() {
            0 => String::new(),
            1 => ", 1 is open".to_owned(),
            open => format!(", {open} are open"),
        };
        format!(
            "{} of {} checks failed{open}",
            self.failed(),
            self.verdicts.len()
        )
    }

    /// What people are told, in the order of the verdicts: of a rule that holds in several lives of a target one line.
    fn lines(&self) -> Vec<Line<'_>> {
        let mut held: HashMap<_, Vec<&Verdict>> = HashMap::new();
        for verdict in &self.verdicts {
            if let Some(key) = verdict.held() {
                held.entry(key).or_default().push(verdict);
            }
        }
        let mut lines = Vec::new();
        for verdict in &self.verdicts {
            let ended = verdict.ended();
            let line = |of: String, reason: String| Line {
                ended,
                of,
                rule: &verdict.rule,
                reason,
            };
            let alike = verdict
                .held()
                .and_then(|key| Some((key.2, held.get(&key)?)));
            match alike {
                Some((lives, alike)) if alike.len() > 1 => {
                    if std::ptr::eq(alike[0], verdict) {
                        let of = verdict.named(Some(&lives.name));
                        lines.push(line(of, verdict.of_lives(lives, alike)));
                    }
                }
                _ => {
                    let reasons = verdict.reasons().into_iter();
                    lines.extend(reasons.map(|reason| line(verdict.of(), reason.to_owned())));
                }
            }
        }
        lines
    }

    /// For people: the targets with what holds and what does not.
    ///
    /// # Errors
    /// `out` fails.
    pub fn print(&self, out: &mut impl Write) -> io::Result<()> {
        self.print_those(out, |_| true)
    }

    /// The same of what fails or is open alone; nothing where nothing is.
    ///
    /// # Errors
    /// `out` fails.
    pub fn print_failures(&self, out: &mut impl Write) -> io::Result<()> {
        if self
            .verdicts
            .iter()
            .any(|verdict| verdict.ended() != Ended::Ok)
        {
            self.print_those(out, |ended| ended != Ended::Ok)?;
        }
        Ok(())
    }

    fn print_those(&self, out: &mut impl Write, is_told: impl Fn(Ended) -> bool) -> io::Result<()> {
        let mut targets: Vec<(String, Vec<Line<'_>>)> = Vec::new();
        for line in self.lines().into_iter().filter(|line| is_told(line.ended)) {
            match targets.iter_mut().find(|(of, _)| *of == line.of) {
                Some((_, lines)) => lines.push(line),
                None => targets.push((line.of.clone(), vec![line])),
            }
        }
        for (of, lines) in targets {
            writeln!(out, "{of}")?;
            for line in lines {
                let ended = match line.ended {
                    Ended::Failed => "FAIL",
                    Ended::Open => "open",
                    Ended::Ok => "ok  ",
                };
                writeln!(out, "  {ended}  {}: {}", line.rule, line.reason)?;
            }
            for cause in self.causes.iter().filter(|cause| cause.target == of) {
                let text = table::wrapped(&format!("why   {}", cause.text), "  ", "        ");
                writeln!(out, "{text}")?;
            }
        }
        writeln!(out, "{}.", self.sentence())
    }

    /// As Markdown: what came of it in a line, and a table with a row a rule and target: failures first, then what is
    /// open.
    ///
    /// # Errors
    /// `out` fails.
    pub fn markdown(&self, out: &mut impl Write) -> io::Result<()> {
        let ended = if self.passed {
            Ended::Ok
        } else {
            Ended::Failed
        };
        let mark = ended.mark();
        let run = in_markdown(&self.run);
        writeln!(out, "### {mark} fsage check {run}: {}\n", self.sentence())?;
        writeln!(out, "| | target | check | found |\n|---|---|---|---|")?;
        let lines = self.lines();
        for ended in [Ended::Failed, Ended::Open, Ended::Ok] {
            let so = lines.iter().filter(|line| line.ended == ended);
            for line in so {
                line.markdown_row(out)?;
            }
        }
        for cause in &self.causes {
            let [target, text] = [&cause.target, &cause.text].map(|text| in_markdown(text));
            writeln!(out, "\nWhy {target} fails: {text}")?;
        }
        Ok(())
    }

    /// As workflow commands of GitHub Actions, which shows them beside the change: an error for each failure, a
    /// warning for what is open, and a notice of how it ended.
    ///
    /// # Errors
    /// `out` fails.
    pub fn annotate(&self, out: &mut impl Write) -> io::Result<()> {
        for verdict in &self.verdicts {
            let title = in_property(&format!("{}: {}", verdict.of(), verdict.rule));
            let command = match verdict.ended() {
                Ended::Failed => "error",
                Ended::Open => "warning",
                Ended::Ok => continue,
            };
            for reason in verdict.reasons() {
                let message = in_command(reason);
                writeln!(out, "::{command} title={title}::{message}")?;
            }
        }
        for cause in &self.causes {
            let title = in_property(&format!("{}: why", cause.target));
            writeln!(out, "::notice title={title}::{}", in_command(&cause.text))?;
        }
        let ended = in_command(&self.sentence());
        writeln!(out, "::notice title=fsage check::{ended}")
    }

    /// For continuous integration: a suite a target, a case a rule. What is open is skipped there: neither passed nor
    /// failed.
    ///
    /// # Errors
    /// A message cannot stand in XML.
    pub fn junit(&self) -> crate::Result<String> {
        let mut report = Report::new("fsage check");
        for of_target in self.verdicts.chunk_by(|a, b| a.of() == b.of()) {
            let name = of_target[0].of();
            let mut suite = TestSuite::new(name.as_str());
            for verdict in of_target {
                let reasons = verdict.reasons();
                let mut status = match verdict.ended() {
                    Ended::Failed => TestCaseStatus::non_success(NonSuccessKind::Failure),
                    Ended::Open => TestCaseStatus::skipped(),
                    Ended::Ok => TestCaseStatus::success(),
                };
                if verdict.ended() != Ended::Ok {
                    status.set_message(reasons[0]);
                    let cause = self.causes.iter().find(|cause| {
                        verdict.ended() == Ended::Failed && cause.target == verdict.target
                    });
                    let why = cause.map(|cause| format!("why: {}", cause.text));
                    let lines = reasons.iter().map(|&reason| reason.to_owned()).chain(why);
                    status.set_description(lines.collect::<Vec<String>>().join("\n"));
                }
                if let Some(first) = verdict.failures.first() {
                    status.set_type(first.bound.map_or("missing", |bound| bound.kind.as_str()));
                }
                let mut case = TestCase::new(verdict.rule.as_str(), status);
                case.set_classname(name.as_str());
                if verdict.ended() == Ended::Ok {
                    case.set_system_out(verdict.found.as_str());
                }
                suite.add_test_case(case);
            }
            report.add_test_suite(suite);
        }
        Ok(report.to_string()?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::rules::BoundKind;
    use super::*;

    /// By hand: `score` holds in both lives, worse in that of seed 2, and `room` in one of them.
    #[test]
    fn a_rule_that_holds_in_several_lives_is_one_line() {
        let verdict = |rule: &str, seed: u32, found: &str, excess: f64, fails: bool| Verdict {
            rule: rule.to_owned(),
            target: "ext4".to_owned(),
            cell: Some(format!("mail, seed {seed}")),
            checked: 1,
            found: found.to_owned(),
            failures: fails.then(Failure::default).into_iter().collect(),
            open: Vec::new(),
            lives: Some(Lives {
                name: "mail, 3 lives".to_owned(),
                cells: 3,
                word: "lives",
            }),
            excess: Some(excess),
        };
        let mut verdicts = Vec::new();
        for (seed, found, excess) in [(1, "0.9", -0.2), (2, "0.8", -0.1), (3, "0.85", -0.15)] {
            verdicts.push(verdict("days", seed, "2 days", -1.0, false));
            verdicts.push(verdict("score", seed, found, excess, false));
            verdicts.push(verdict("room", seed, "many", -1.0, seed == 2));
            verdicts.push(verdict("free", seed, "much", -1.0, seed != 2));
        }
        let outcome = Outcome {
            run: "run".to_owned(),
            baseline: None,
            rules: "rules.toml".to_owned(),
            passed: false,
            disturbed: Vec::new(),
            causes: Vec::new(),
            verdicts,
        };
        let mut text = Vec::new();
        outcome.print(&mut text).expect("memory takes it");
        let expected = "ext4 (mail, 3 lives)\n  ok    days: 2 days, in all 3 lives\n  \
                        ok    score: in all 3 lives; the worst is seed 2: 0.8\n  \
                        ok    room: many, in 2 of 3 lives\n\
                        ext4 (mail, seed 1)\n  FAIL  free: \n\
                        ext4 (mail, seed 2)\n  FAIL  room: \n  ok    free: much\n\
                        ext4 (mail, seed 3)\n  FAIL  free: \n\
                        3 of 12 checks failed.\n";
        assert_eq!(String::from_utf8_lossy(&text), expected);
        let mut table = Vec::new();
        outcome.markdown(&mut table).expect("memory takes it");
        let table = String::from_utf8_lossy(&table);
        let rows = table.lines().filter(|line| line.starts_with("| ✅"));
        assert_eq!(rows.count(), 4, "{table}");
    }

    /// The common form: testsuites, testsuite, testcase, failure; what XML cannot hold is left out, and nothing of a
    /// name becomes markup.
    #[test]
    fn junit_is_read_back_whatever_the_names_are() {
        let hostile = "a<script>\"x\" & 'y' ]]>\u{1}\n";
        let verdict = |rule: &str, failures: &[&str]| Verdict {
            rule: rule.to_owned(),
            target: hostile.to_owned(),
            cell: None,
            checked: 1,
            found: "fine".to_owned(),
            failures: failures
                .iter()
                .map(|message| Failure {
                    message: (*message).to_owned(),
                    ..Failure::default()
                })
                .collect(),
            open: Vec::new(),
            lives: None,
            excess: None,
        };
        let mut unsure = verdict("unsure", &[]);
        unsure.open.push(Open {
            message: "mean 0.9; 3 more seeds".to_owned(),
            bench: None,
            value: 0.9,
            bound: Bound {
                kind: BoundKind::Min,
                limit: 0.89,
            },
            baseline: None,
            more_seeds: Some(3),
        });
        let outcome = Outcome {
            run: "run".to_owned(),
            baseline: None,
            rules: "rules.toml".to_owned(),
            passed: false,
            disturbed: Vec::new(),
            causes: Vec::new(),
            verdicts: vec![
                verdict("holds", &[]),
                unsure,
                verdict(hostile, &["one <b>", hostile]),
            ],
        };
        let xml = outcome.junit().expect("XML");
        assert!(!xml.contains("<script>") && !xml.contains('\u{1}'), "{xml}");
        let read = Report::deserialize_from_str(&xml).expect("JUnit");
        assert_eq!((read.tests, read.failures, read.errors), (3, 1, 0));
        let suite = &read.test_suites[0];
        assert_eq!(
            (
                suite.tests,
                suite.skipped,
                suite.failures,
                suite.test_cases.len()
            ),
            (3, 1, 1, 3)
        );
        assert!(
            suite.name.as_str().starts_with("a<script>\"x\" & 'y' ]]>"),
            "{xml}"
        );
        assert_eq!(suite.test_cases[0].name.as_str(), "holds");
        assert_eq!(outcome.sentence(), "1 of 3 checks failed, 1 is open");

        let text = |write: &dyn Fn(&mut Vec<u8>) -> io::Result<()>| {
            let mut out = Vec::new();
            write(&mut out).expect("memory takes it");
            String::from_utf8(out).expect("text")
        };
        // A table keeps its four columns whatever stands in a cell, and a command its line.
        let markdown = text(&|out| outcome.markdown(out));
        assert!(
            markdown.starts_with("### ❌ fsage check run: 1 of 3 checks failed, 1 is open\n\n")
        );
        assert!(!markdown.contains("<script>"), "{markdown}");
        let rows: Vec<&str> = markdown.lines().skip(2).collect();
        assert_eq!(rows.len(), 6, "{markdown}");
        for row in &rows {
            let bars = row.replace("\\|", "").matches('|').count();
            assert_eq!(bars, 5, "{row}");
        }
        assert!(rows[2].contains("one &lt;b>") && rows[5].contains("| holds | fine |"));
        assert!(rows[4].starts_with("| ❔ |") && rows[4].contains("| unsure | mean 0.9"));
        let printed = text(&|out| outcome.print(out));
        assert!(
            printed.contains("\n  open  unsure: mean 0.9; 3 more seeds\n"),
            "{printed}"
        );
        let commands = text(&|out| outcome.annotate(out));
        let commands: Vec<&str> = commands.lines().collect();
        assert_eq!(commands.len(), 4, "{commands:?}");
        assert!(
            commands[0].starts_with("::warning title=")
                && commands[0].ends_with("::mean 0.9; 3 more seeds")
        );
        assert!(commands[2].starts_with("::error title=") && commands[2].ends_with("%0A"));
        assert_eq!(
            commands[3],
            "::notice title=fsage check::1 of 3 checks failed, 1 is open"
        );
    }
}
