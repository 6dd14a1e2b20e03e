//! What came of a check: as text, as JSON, and for continuous integration as `JUnit`, Markdown or annotations.

use super::results::TargetResults;
use super::rules::Bound;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use serde::Serialize;
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
    /// Every rule on every target, by target.
    pub verdicts: Vec<Verdict>,
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
        }
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

    fn markdown_row(&self, found: &str, out: &mut impl Write) -> io::Result<()> {
        let mark = self.ended().mark();
        let [target, rule, found] = [&self.of(), &self.rule, found].map(in_markdown);
        writeln!(out, "| {mark} | {target} | {rule} | {found} |")
    }

    fn of(&self) -> String {
        match &self.cell {
            Some(cell) => format!("{} ({cell})", self.target),
            None => self.target.clone(),
        }
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
        let is_told = |verdict: &Verdict| verdict.ended() != Ended::Ok;
        if self.verdicts.iter().any(is_told) {
            self.print_those(out, is_told)?;
        }
        Ok(())
    }

    fn print_those(
        &self,
        out: &mut impl Write,
        is_told: impl Fn(&Verdict) -> bool,
    ) -> io::Result<()> {
        for of_target in self.verdicts.chunk_by(|a, b| a.of() == b.of()) {
            if !of_target.iter().any(&is_told) {
                continue;
            }
            writeln!(out, "{}", of_target[0].of())?;
            for verdict in of_target.iter().filter(|verdict| is_told(verdict)) {
                let ended = match verdict.ended() {
                    Ended::Failed => "FAIL",
                    Ended::Open => "open",
                    Ended::Ok => "ok  ",
                };
                for reason in verdict.reasons() {
                    writeln!(out, "  {ended}  {}: {reason}", verdict.rule)?;
                }
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
        for ended in [Ended::Failed, Ended::Open, Ended::Ok] {
            for verdict in self.that(ended) {
                for reason in verdict.reasons() {
                    verdict.markdown_row(reason, out)?;
                }
            }
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
                    status.set_description(reasons.join("\n"));
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
