//! What came of a check: as text, as JSON, and as `JUnit` for continuous integration.

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

    fn of(&self) -> String {
        match &self.cell {
            Some(cell) => format!("{} ({cell})", self.target),
            None => self.target.clone(),
        }
    }
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
    }
}
