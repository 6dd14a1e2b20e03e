//! Text and tables with gaps, `ffs:policy={policy},maxcontig={maxcontig}`, and what they become with values.

use super::vary::text;
use serde::de::DeserializeOwned;
use toml::{Table, Value};

/// Text with gaps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Gap(String),
}

/// The value of a gap; there is one for each.
pub type Filling<'a> = dyn Fn(&str) -> &'a Value + 'a;

impl Template {
    /// Finds the gaps: names in braces. `{{` and `}}` are braces themselves.
    pub fn parse(text: &str) -> Result<Template, String> {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            plain.push_str(&rest[..at]);
            let brace = &rest[at..=at];
            rest = &rest[at + 1..];
            if let Some(after) = rest.strip_prefix(brace) {
                plain.push_str(brace);
                rest = after;
                continue;
            }
            let gap = rest.split_once('}').filter(|_| brace == "{");
            let Some((name, after)) = gap else {
                return Err(format!(
                    "`{brace}` stands alone; expected {{NAME}}, or {brace}{brace} for the brace itself"
                ));
            };
            if name.is_empty() || name.contains(|c: char| !c.is_alphanumeric() && !"_-".contains(c))
            {
                return Err(format!(
                    "{{{name}}}: expected the name of a list in [matrix]"
                ));
            }
            pieces.push(Piece::Text(std::mem::take(&mut plain)));
            pieces.push(Piece::Gap(name.to_owned()));
            rest = after;
        }
        plain.push_str(rest);
        pieces.push(Piece::Text(plain));
        Ok(Template(pieces))
    }

    /// Names of the gaps, each once, in the order in which they come first.
    pub fn gaps(&self) -> Vec<&str> {
        let mut gaps = Vec::new();
        for piece in &self.0 {
            if let Piece::Gap(name) = piece
                && !gaps.contains(&name.as_str())
            {
                gaps.push(name.as_str());
            }
        }
        gaps
    }

    /// The text with all gaps filled.
    pub fn text(&self, filling: &Filling<'_>) -> String {
        let pieces = self.0.iter().map(|piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Gap(name) => text(filling(name)),
        });
        pieces.collect()
    }

    /// The gap that is all there is.
    fn only_gap(&self) -> Option<&str> {
        let mut parts = self
            .0
            .iter()
            .filter(|piece| !matches!(piece, Piece::Text(text) if text.is_empty()));
        match (parts.next(), parts.next()) {
            (Some(Piece::Gap(name)), None) => Some(name),
            _ => None,
        }
    }
}

/// A table with gaps in its texts, however deep.
#[derive(Clone, Debug)]
pub struct TableTemplate(Table);

impl TableTemplate {
    /// Checks the gaps.
    pub fn new(table: Table) -> Result<TableTemplate, String> {
        let template = TableTemplate(table);
        each_text(&Value::Table(template.0.clone()), &mut |text| {
            Template::parse(text).map(drop)
        })?;
        Ok(template)
    }

    /// Names of the gaps, each once, in the order in which they come first.
    pub fn gaps(&self) -> Vec<String> {
        let mut gaps: Vec<String> = Vec::new();
        let found = each_text(&Value::Table(self.0.clone()), &mut |text| {
            for gap in Template::parse(text)?.gaps() {
                if !gaps.iter().any(|known| known == gap) {
                    gaps.push(gap.to_owned());
                }
            }
            Ok(())
        });
        debug_assert!(found.is_ok(), "the gaps were checked");
        gaps
    }

    /// Whether the text of a key has a gap.
    pub fn has_gap_in(&self, key: &str) -> bool {
        let text = self.0.get(key).and_then(Value::as_str);
        let template = text.and_then(|text| Template::parse(text).ok());
        template.is_some_and(|template| !template.gaps().is_empty())
    }

    /// What the table stands for with all gaps filled. A text that is one gap has the type of its value, or is text, as
    /// the field wants it.
    pub fn filled<T: DeserializeOwned>(&self, filling: &Filling<'_>) -> Result<T, String> {
        let with = |typed| {
            let filled = filled(&Value::Table(self.0.clone()), filling, typed);
            filled
                .try_into::<T>()
                .map_err(|error| error.message().replace('\n', "; "))
        };
        with(true).or_else(|why| with(false).map_err(|_| why))
    }
}

fn each_text(
    value: &Value,
    look: &mut impl FnMut(&str) -> Result<(), String>,
) -> Result<(), String> {
    match value {
        Value::String(text) => look(text),
        Value::Array(items) => items.iter().try_for_each(|item| each_text(item, look)),
        Value::Table(table) => table.values().try_for_each(|item| each_text(item, look)),
        _ => Ok(()),
    }
}

fn filled(value: &Value, filling: &Filling<'_>, typed: bool) -> Value {
    let again = |item: &Value| filled(item, filling, typed);
    match value {
        Value::String(text) => {
            let Ok(template) = Template::parse(text) else {
                return value.clone();
            };
            match template.only_gap().filter(|_| typed) {
                Some(gap) => filling(gap).clone(),
                None => Value::String(template.text(filling)),
            }
        }
        Value::Array(items) => Value::Array(items.iter().map(again).collect()),
        Value::Table(table) => {
            let entries = table.iter().map(|(key, item)| (key.clone(), again(item)));
            Value::Table(entries.collect())
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Told {
        utilization: u8,
        capacity: String,
        #[serde(default)]
        deep: Vec<String>,
    }

    #[test]
    fn a_gap_has_the_type_of_the_field() {
        let table = "utilization = \"{u}\"\ncapacity = \"{c}\"\ndeep = [\"x{u}{{\", \"{c}\"]\n";
        let table = TableTemplate::new(toml::from_str(table).expect("TOML")).expect("a template");
        assert_eq!(table.gaps(), ["c", "u"]);
        let (u, c) = (Value::Integer(70), Value::Integer(512));
        let filling = |name: &str| if name == "u" { &u } else { &c };
        let told: Told = table.filled(&filling).expect("a struct");
        let deep = vec!["x70{".to_owned(), "512".to_owned()];
        assert_eq!(
            told,
            Told {
                utilization: 70,
                capacity: "512".to_owned(),
                deep
            }
        );
        let text = Value::String("much".to_owned());
        let error = table
            .filled::<Told>(&|_: &str| &text)
            .expect_err("no number");
        assert!(error.contains("expected u8"), "{error}");
    }

    #[test]
    fn braces_that_stand_alone_are_refused() {
        for (text, word) in [
            ("ffs:policy={p", "`{` stands alone"),
            ("ffs:policy=p}", "`}` stands alone"),
            ("ffs:policy={}", "expected the name"),
            ("ffs:policy={a b}", "expected the name"),
        ] {
            let error = Template::parse(text).expect_err(text);
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
