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
    /// Whether everything holds.
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
        }
    }

    /// It does not hold, and this is why.
    pub fn fail(&mut self, message: String) {
        self.failures.push(Failure {
            message,
            ..Failure::default()
        });
    }

    fn markdown_row(&self, mark: &str, found: &str, out: &mut impl Write) -> io::Result<()> {
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
        self.verdicts
            .iter()
            .filter(|verdict| !verdict.failures.is_empty())
            .count()
    }

    /// How it ended, in a sentence.
    pub fn sentence(&self) -> String {
        format!("{} of {} checks failed", self.failed(), self.verdicts.len())
    }

    /// For people: the targets with what holds and what does not.
    ///
    /// # Errors
    /// `out` fails.
    pub fn print(&self, out: &mut impl Write) -> io::Result<()> {
        for of_target in self.verdicts.chunk_by(|a, b| a.of() == b.of()) {
            writeln!(out, "{}", of_target[0].of())?;
            for verdict in of_target {
                for failure in &verdict.failures {
                    writeln!(out, "  FAIL  {}: {}", verdict.rule, failure.message)?;
                }
                if verdict.failures.is_empty() {
                    writeln!(out, "  ok    {}: {}", verdict.rule, verdict.found)?;
                }
            }
        }
        writeln!(out, "{}.", self.sentence())
    }

    /// As Markdown: what came of it in a line, and a table with a row a rule and target, failures first.
    ///
    /// # Errors
    /// `out` fails.
    pub fn markdown(&self, out: &mut impl Write) -> io::Result<()> {
        let mark = if self.passed { "✅" } else { "❌" };
        let run = in_markdown(&self.run);
        writeln!(out, "### {mark} fsage check {run}: {}\n", self.sentence())?;
        writeln!(out, "| | target | check | found |\n|---|---|---|---|")?;
        let failed = |verdict: &&Verdict| !verdict.failures.is_empty();
        for verdict in self.verdicts.iter().filter(failed) {
            for failure in &verdict.failures {
                verdict.markdown_row("❌", &failure.message, out)?;
            }
        }
        for verdict in self.verdicts.iter().filter(|verdict| !failed(verdict)) {
            verdict.markdown_row("✅", &verdict.found, out)?;
        }
        Ok(())
    }

    /// As workflow commands of GitHub Actions, which shows them beside the change: an error for each failure, and a
    /// notice of how it ended.
    ///
    /// # Errors
    /// `out` fails.
    pub fn annotate(&self, out: &mut impl Write) -> io::Result<()> {
        for verdict in &self.verdicts {
            let title = in_property(&format!("{}: {}", verdict.of(), verdict.rule));
            for failure in &verdict.failures {
                let message = in_command(&failure.message);
                writeln!(out, "::error title={title}::{message}")?;
            }
        }
        let ended = in_command(&self.sentence());
        writeln!(out, "::notice title=fsage check::{ended}")
    }

    /// For continuous integration: a suite a target, a case a rule.
    ///
    /// # Errors
    /// A message cannot stand in XML.
    pub fn junit(&self) -> crate::Result<String> {
        let mut report = Report::new("fsage check");
        for of_target in self.verdicts.chunk_by(|a, b| a.of() == b.of()) {
            let name = of_target[0].of();
            let mut suite = TestSuite::new(name.as_str());
            for verdict in of_target {
                let mut status = TestCaseStatus::success();
                if let Some(first) = verdict.failures.first() {
                    let lines: Vec<&str> = verdict
                        .failures
                        .iter()
                        .map(|f| f.message.as_str())
                        .collect();
                    status = TestCaseStatus::non_success(NonSuccessKind::Failure);
                    status.set_message(first.message.as_str());
                    let kind = first.bound.map_or("missing", |bound| bound.kind.as_str());
                    status.set_type(kind).set_description(lines.join("\n"));
                }
                let mut case = TestCase::new(verdict.rule.as_str(), status);
                case.set_classname(name.as_str());
                if verdict.failures.is_empty() {
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
        };
        let outcome = Outcome {
            run: "run".to_owned(),
            baseline: None,
            rules: "rules.toml".to_owned(),
            passed: false,
            verdicts: vec![
                verdict("holds", &[]),
                verdict(hostile, &["one <b>", hostile]),
            ],
        };
        let xml = outcome.junit().expect("XML");
        assert!(!xml.contains("<script>") && !xml.contains('\u{1}'), "{xml}");
        let read = Report::deserialize_from_str(&xml).expect("JUnit");
        assert_eq!((read.tests, read.failures, read.errors), (2, 1, 0));
        let suite = &read.test_suites[0];
        assert_eq!(
            (suite.tests, suite.failures, suite.test_cases.len()),
            (2, 1, 2)
        );
        assert!(
            suite.name.as_str().starts_with("a<script>\"x\" & 'y' ]]>"),
            "{xml}"
        );
        assert_eq!(suite.test_cases[0].name.as_str(), "holds");
        assert_eq!(outcome.sentence(), "1 of 2 checks failed");

        let text = |write: &dyn Fn(&mut Vec<u8>) -> io::Result<()>| {
            let mut out = Vec::new();
            write(&mut out).expect("memory takes it");
            String::from_utf8(out).expect("text")
        };
        // A table keeps its four columns whatever stands in a cell, and a command its line.
        let markdown = text(&|out| outcome.markdown(out));
        assert!(markdown.starts_with("### ❌ fsage check run: 1 of 2 checks failed\n\n"));
        assert!(!markdown.contains("<script>"), "{markdown}");
        let rows: Vec<&str> = markdown.lines().skip(2).collect();
        assert_eq!(rows.len(), 5, "{markdown}");
        for row in &rows {
            let bars = row.replace("\\|", "").matches('|').count();
            assert_eq!(bars, 5, "{row}");
        }
        assert!(rows[2].contains("one &lt;b>") && rows[4].contains("| holds | fine |"));
        let commands = text(&|out| outcome.annotate(out));
        let commands: Vec<&str> = commands.lines().collect();
        assert_eq!(commands.len(), 3, "{commands:?}");
        assert!(commands[1].starts_with("::error title=") && commands[1].ends_with("%0A"));
        assert_eq!(
            commands[2],
            "::notice title=fsage check::1 of 2 checks failed"
        );
    }
}
