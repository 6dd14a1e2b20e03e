//! What an experiment varies: lists and ranges of values, and the points of a Latin hypercube.

use fsage_core::Rng;
use serde::Deserialize;
use std::collections::{BTreeMap, HashSet};
use toml::Value;

/// Values by the name of the gap that they fill.
pub type Values = BTreeMap<String, Value>;

/// Which point of which axis.
pub type Choice = BTreeMap<usize, usize>;

/// The most values that a range has.
const MOST_VALUES: u64 = 100_000;

/// What is varied. An axis is a list of points; at each, one name or several have a value.
#[derive(Debug, Default)]
pub struct Axes(Vec<Vec<Values>>);

impl Axes {
    /// Varies one name.
    pub fn push_list(&mut self, name: &str, values: Vec<Value>) {
        let point = |value| Values::from([(name.to_owned(), value)]);
        self.0.push(values.into_iter().map(point).collect());
    }

    /// Varies several names together.
    pub fn push_points(&mut self, points: Vec<Values>) {
        self.0.push(points);
    }

    /// All names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let first = self.0.iter().filter_map(|points| points.first());
        first.flat_map(|values| values.keys().map(String::as_str))
    }

    fn axis_of(&self, name: &str) -> Option<usize> {
        let has =
            |points: &Vec<Values>| points.first().is_some_and(|point| point.contains_key(name));
        self.0.iter().position(has)
    }

    /// The axes of these names that are not chosen yet, each once, in the order of the names.
    fn open<'a>(&self, gaps: impl IntoIterator<Item = &'a str>, chosen: &Choice) -> Vec<usize> {
        let mut open = Vec::new();
        for axis in gaps.into_iter().filter_map(|gap| self.axis_of(gap)) {
            if !chosen.contains_key(&axis) && !open.contains(&axis) {
                open.push(axis);
            }
        }
        open
    }

    /// How many choices there are.
    pub fn count<'a>(&self, gaps: impl IntoIterator<Item = &'a str>, chosen: &Choice) -> u64 {
        let lengths = self
            .open(gaps, chosen)
            .into_iter()
            .map(|axis| self.0[axis].len() as u64);
        lengths.fold(1, u64::saturating_mul)
    }

    /// A point for every axis of these names, in all combinations, the first name varying slowest. What is chosen
    /// already stays.
    pub fn choices<'a>(
        &self,
        gaps: impl IntoIterator<Item = &'a str>,
        chosen: &Choice,
    ) -> Vec<Choice> {
        let mut choices = vec![chosen.clone()];
        for axis in self.open(gaps, chosen) {
            let with = |choice: &Choice| {
                let points = 0..self.0[axis].len();
                points
                    .map(move |point| (axis, point))
                    .map(|new| {
                        let mut choice = choice.clone();
                        choice.extend([new]);
                        choice
                    })
                    .collect::<Vec<Choice>>()
            };
            choices = choices.iter().flat_map(with).collect();
        }
        choices
    }

    /// The points of the axes of these names, all of which are chosen.
    pub fn points<'a>(
        &self,
        gaps: impl IntoIterator<Item = &'a str>,
        choice: &Choice,
    ) -> Vec<usize> {
        let axes = gaps.into_iter().filter_map(|gap| self.axis_of(gap));
        axes.filter_map(|axis| choice.get(&axis).copied()).collect()
    }

    /// The value of a name.
    pub fn value(&self, choice: &Choice, name: &str) -> Option<&Value> {
        let axis = self.axis_of(name)?;
        self.0[axis].get(*choice.get(&axis)?)?.get(name)
    }
}

/// A value as it stands in text.
pub fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => format!("{number:?}"),
        Value::Boolean(truth) => truth.to_string(),
        // No list has them.
        Value::Datetime(_) | Value::Array(_) | Value::Table(_) => String::new(),
    }
}

/// Numbers from one to another.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Range {
    from: Value,
    to: Value,
    /// Further by so much each time.
    step: Option<Value>,
    /// Or by so many times.
    factor: Option<Value>,
    /// Or so many, at even distances.
    points: Option<u64>,
    /// At even ratios.
    #[serde(default)]
    log: bool,
}

/// The ends of a range.
#[derive(Clone, Copy, Debug)]
struct Ends {
    from: f64,
    to: f64,
    is_whole: bool,
}

fn number(value: &Value) -> Result<f64, String> {
    match value {
        Value::Integer(number) => Ok(*number as f64),
        Value::Float(number) if number.is_finite() => Ok(*number),
        other => Err(format!("expected a number, found {}", other.type_str())),
    }
}

fn is_whole(value: &Value) -> bool {
    value.is_integer()
}

impl Range {
    fn of(value: &Value) -> Result<Range, String> {
        Range::deserialize(value.clone()).map_err(|error| error.message().to_owned())
    }

    fn ends(&self) -> Result<Ends, String> {
        let (from, to) = (number(&self.from)?, number(&self.to)?);
        if to < from {
            return Err(format!(
                "from {from} to {to}: expected the smaller end first"
            ));
        }
        if self.log && from <= 0.0 {
            return Err(format!("from {from}: a range by ratios begins above 0"));
        }
        let others = self.step.iter().chain(&self.factor);
        Ok(Ends {
            from,
            to,
            is_whole: [&self.from, &self.to]
                .into_iter()
                .chain(others)
                .all(is_whole),
        })
    }

    fn values(&self) -> Result<Vec<Value>, String> {
        let ends = self.ends()?;
        let numbers = match (&self.step, &self.factor, self.points) {
            (Some(step), None, None) if !self.log => {
                let step = number(step)?;
                if step <= 0.0 {
                    return Err(format!("step {step}: expected more than 0"));
                }
                let count = count((ends.to - ends.from) / step)?;
                (0..count).map(|at| ends.from + at as f64 * step).collect()
            }
            (None, Some(factor), None) => {
                let factor = number(factor)?;
                if factor <= 1.0 || ends.from <= 0.0 {
                    return Err("factor: expected more than 1, from a number above 0".to_owned());
                }
                let count = count((ends.to / ends.from).ln() / factor.ln())?;
                (0..count)
                    .map(|at| ends.from * factor.powi(at as i32))
                    .collect()
            }
            (None, None, Some(points)) if points >= 2 => {
                check_count(points)?;
                let at = |at: u64| ends.at(at as f64 / (points - 1) as f64, self.log);
                (0..points).map(at).collect::<Vec<f64>>()
            }
            _ => {
                return Err(
                    "expected `step`, or `factor`, or `points` of 2 or more with `log` or without"
                        .to_owned(),
                );
            }
        };
        let mut values: Vec<Value> = numbers
            .into_iter()
            .map(|number| ends.value(number))
            .collect();
        values.dedup();
        Ok(values)
    }
}

/// How many values so many steps are.
fn count(steps: f64) -> Result<u64, String> {
    let steps = (steps * (1.0 + 1e-12)).floor();
    if steps.is_nan() || steps >= MOST_VALUES as f64 {
        let values = steps + 1.0;
        return Err(format!("{values} values: expected up to {MOST_VALUES}"));
    }
    Ok(steps as u64 + 1)
}

fn check_count(count: u64) -> Result<(), String> {
    if count > MOST_VALUES {
        return Err(format!("{count} values: expected up to {MOST_VALUES}"));
    }
    Ok(())
}

impl Ends {
    /// A share of the way from one end to the other.
    fn at(self, share: f64, log: bool) -> f64 {
        if log {
            self.from * (self.to / self.from).powf(share)
        } else {
            self.from + (self.to - self.from) * share
        }
    }

    /// The value at a share of the way, below 1, that was drawn. Of whole numbers each is as likely as any other.
    fn drawn(self, share: f64, log: bool) -> Value {
        if self.is_whole && !log {
            return self.value((self.from + (self.to - self.from + 1.0) * share).floor());
        }
        self.value(self.at(share, log))
    }

    /// A number between them, whole if they are; without the last digits, which only say how it was found.
    fn value(self, number: f64) -> Value {
        let number = number.clamp(self.from, self.to);
        if self.is_whole {
            return Value::Integer(number.round() as i64);
        }
        let shortened = format!("{number:.11e}").parse().unwrap_or(number);
        Value::Float(shortened)
    }
}

/// The values of a list, or of a range.
///
/// # Errors
/// It is neither; the message says what was expected.
pub fn values(given: &Value) -> Result<Vec<Value>, String> {
    match given {
        Value::Array(list) => {
            let fits = |value: &Value| {
                !matches!(
                    value,
                    Value::Array(_) | Value::Table(_) | Value::Datetime(_)
                )
            };
            if list.is_empty() {
                return Err("expected at least one value".to_owned());
            }
            if !list.iter().all(fits) {
                return Err("expected texts, numbers, true and false".to_owned());
            }
            let mut seen = HashSet::new();
            if let Some(again) = list.iter().find(|value| !seen.insert(format!("{value:?}"))) {
                return Err(format!("`{}` stands there twice", text(again)));
            }
            Ok(list.clone())
        }
        Value::Table(_) => Range::of(given)?.values(),
        _ => Err("expected a list, or a range { from, to, step }".to_owned()),
    }
}

/// Points that fill a space evenly: of each name, every one of as many equal parts of its range holds one point. Drawn
/// by a seed (McKay, Beckman and Conover 1979).
#[derive(Debug, Deserialize)]
pub struct Sample {
    /// How many points.
    pub points: u64,
    /// By which they are drawn.
    #[serde(default = "one")]
    pub seed: u64,
    /// The ranges, by name.
    #[serde(flatten)]
    pub of: BTreeMap<String, Value>,
}

fn one() -> u64 {
    1
}

impl Sample {
    /// The points.
    ///
    /// # Errors
    /// A range makes no sense; the message names it.
    pub fn drawn(&self) -> Result<Vec<Values>, String> {
        if self.points == 0 || self.points > MOST_VALUES {
            return Err(format!("points: expected 1 to {MOST_VALUES}"));
        }
        if self.of.is_empty() {
            return Err(
                "expected ranges by their names, as in u = { from = 50, to = 95 }".to_owned(),
            );
        }
        let mut points = vec![Values::new(); self.points as usize];
        let seeded = Rng::new(self.seed);
        for (name, range) in &self.of {
            let wrong = |why: String| format!("{name}: {why}");
            if !range.is_table() {
                return Err(wrong(
                    "expected a range, as in { from = 50, to = 95 }; lists stand in [matrix]"
                        .to_owned(),
                ));
            }
            let range = Range::of(range).map_err(wrong)?;
            if range.step.is_some() || range.factor.is_some() || range.points.is_some() {
                return Err(wrong(
                    "a range of a sample has `from`, `to` and `log`".to_owned(),
                ));
            }
            let ends = range.ends().map_err(wrong)?;
            let mut rng = seeded.stream(name, 0);
            let mut parts: Vec<u64> = (0..self.points).collect();
            rng.shuffle(&mut parts);
            for (point, part) in points.iter_mut().zip(parts) {
                let share = (part as f64 + rng.unit()) / self.points as f64;
                point.insert(name.clone(), ends.drawn(share, range.log));
            }
        }
        // Few whole numbers make equal points, and what is measured twice says nothing more.
        let mut seen = HashSet::new();
        points.retain(|point| seen.insert(format!("{point:?}")));
        Ok(points)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn varied(text: &str) -> Result<Vec<String>, String> {
        let table: toml::Table = toml::from_str(&format!("v = {text}")).expect("TOML");
        Ok(values(&table["v"])?.iter().map(super::text).collect())
    }

    #[test]
    fn lists_and_ranges_are_values() {
        for (text, expected) in [
            ("[\"orig\", 7, true, 0.5]", vec!["orig", "7", "true", "0.5"]),
            (
                "{ from = 50, to = 95, step = 15 }",
                vec!["50", "65", "80", "95"],
            ),
            (
                "{ from = 0, to = 0.3, step = 0.1 }",
                vec!["0.0", "0.1", "0.2", "0.3"],
            ),
            (
                "{ from = 1, to = 64, factor = 4 }",
                vec!["1", "4", "16", "64"],
            ),
            (
                "{ from = 0, to = 1.0, points = 3 }",
                vec!["0.0", "0.5", "1.0"],
            ),
            (
                "{ from = 1, to = 1000, points = 4, log = true }",
                vec!["1", "10", "100", "1000"],
            ),
            ("{ from = 1, to = 3, points = 9 }", vec!["1", "2", "3"]),
        ] {
            assert_eq!(varied(text).expect(text), expected, "{text}");
        }
        for (text, expected) in [
            ("[]", "at least one"),
            ("[[1]]", "expected texts, numbers"),
            ("[\"a\", \"b\", \"a\"]", "`a` stands there twice"),
            ("7", "expected a list, or a range"),
            ("{ from = 2, to = 1, step = 1 }", "the smaller end first"),
            ("{ from = 1, to = 2 }", "expected `step`"),
            (
                "{ from = 1, to = 2, step = 0 }",
                "step 0: expected more than 0",
            ),
            (
                "{ from = 0, to = 2, points = 3, log = true }",
                "begins above 0",
            ),
            ("{ from = 0, to = 1e9, step = 1 }", "expected up to 100000"),
            (
                "{ from = 1, to = 1e308, step = 1e-300 }",
                "expected up to 100000",
            ),
            ("{ from = 0, till = 2, step = 1 }", "unknown field `till`"),
            ("{ from = \"a\", to = 2, step = 1 }", "expected a number"),
        ] {
            let error = varied(text).expect_err(text);
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    /// Each of N equal parts of each range holds one point, whatever the seed.
    #[test]
    fn every_part_of_every_range_has_one_point_of_a_sample() {
        for seed in 1..20 {
            let text = format!(
                "points = 12\nseed = {seed}\nu = {{ from = 0.0, to = 12.0 }}\n\
                                c = {{ from = 1.0, to = 4096.0, log = true }}\n"
            );
            let sample: Sample = toml::from_str(&text).expect("a sample");
            let points = sample.drawn().expect("points");
            let parts = |name: &str, part: fn(f64) -> u64| {
                let mut parts: Vec<u64> = points
                    .iter()
                    .map(|point| part(point[name].as_float().expect("a number")))
                    .collect();
                parts.sort_unstable();
                parts
            };
            assert_eq!(parts("u", |x| x as u64), (0..12).collect::<Vec<u64>>());
            assert_eq!(
                parts("c", |x| x.log2() as u64),
                (0..12).collect::<Vec<u64>>()
            );
            assert_eq!(points, sample.drawn().expect("points"), "the same again");
        }
    }

    /// By hand: 9 points of 3 numbers are 3 of each, and those of one number are one point. With another name beside
    /// it, each is a point of its own.
    #[test]
    fn whole_numbers_of_a_sample_are_alike_likely_and_there_once() {
        for seed in 1..20 {
            let drawn = |more: &str| {
                let text = format!("points = 9\nseed = {seed}\nd = {{ from = 1, to = 3 }}\n{more}");
                let sample: Sample = toml::from_str(&text).expect("a sample");
                let points = sample.drawn().expect("points");
                let mut numbers: Vec<i64> = points
                    .iter()
                    .map(|point| point["d"].as_integer().expect("a whole number"))
                    .collect();
                numbers.sort_unstable();
                numbers
            };
            assert_eq!(drawn(""), [1, 2, 3]);
            assert_eq!(
                drawn("u = { from = 0.0, to = 1.0 }\n"),
                [1, 1, 1, 2, 2, 2, 3, 3, 3]
            );
        }
    }

    #[test]
    fn names_of_one_axis_are_chosen_together() {
        let mut axes = Axes::default();
        axes.push_list("p", vec!["orig".into(), "realloc".into()]);
        let point = |u: i64| {
            Values::from([
                ("u".to_owned(), u.into()),
                ("c".to_owned(), (u * 10).into()),
            ])
        };
        axes.push_points(vec![point(1), point(2), point(3)]);
        assert_eq!(axes.count(["u", "c", "p"], &Choice::new()), 6);
        let choices = axes.choices(["u", "p", "c"], &Choice::new());
        let shown = |choice: &Choice| {
            ["u", "c", "p"].map(|name| super::text(axes.value(choice, name).expect(name)))
        };
        let all: Vec<[String; 3]> = choices.iter().map(shown).collect();
        assert_eq!(all[0], ["1", "10", "orig"]);
        assert_eq!(all[1], ["1", "10", "realloc"]);
        assert_eq!(all[5], ["3", "30", "realloc"]);
        let fixed = &axes.choices(["c"], &Choice::new())[1];
        assert_eq!(axes.count(["u", "p"], fixed), 2);
        assert!(
            axes.choices(["u", "p"], fixed)
                .iter()
                .all(|choice| shown(choice)[0] == "2")
        );
        assert_eq!(axes.value(fixed, "p"), None);
    }
}
