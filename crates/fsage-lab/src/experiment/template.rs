//! Text and tables with gaps, `ffs:policy={policy},maxcontig={maxcontig}`, and what they become with values.

use super::vary::text;
use crate::error::types_in_words;
use serde::de::value::{MapAccessDeserializer, MapDeserializer, SeqDeserializer};
use serde::de::{DeserializeOwned, Deserializer, IntoDeserializer, Visitor};
use toml::de::Error;
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

    /// The text of a key, with its gaps.
    pub fn text_of(&self, key: &str) -> Option<&str> {
        self.0.get(key).and_then(Value::as_str)
    }

    /// Whether the text of a key has a gap.
    pub fn has_gap_in(&self, key: &str) -> bool {
        let template = self
            .text_of(key)
            .and_then(|text| Template::parse(text).ok());
        template.is_some_and(|template| !template.gaps().is_empty())
    }

    /// What the table stands for with all gaps filled. A text that is one gap has the type of its value, or is
    /// text where the field is.
    pub fn filled<T: DeserializeOwned>(&self, filling: &Filling<'_>) -> Result<T, String> {
        T::deserialize(Node::of(&Value::Table(self.0.clone()), filling)).map_err(|error| {
            let what = error.message().replace('\n', "; ");
            types_in_words(&what, "true or false")
        })
    }
}

/// A value with its gaps filled, on its way to a field.
enum Node {
    /// As it stands in the file.
    Plain(Value),
    /// What fills a gap that is all of a text: the field says whether it is taken for text.
    Gap(Value),
    Array(Vec<Node>),
    Table(Vec<(String, Node)>),
}

impl Node {
    fn of(value: &Value, filling: &Filling<'_>) -> Node {
        match value {
            Value::String(text) => match Template::parse(text) {
                Ok(template) => match template.only_gap() {
                    Some(gap) => Node::Gap(filling(gap).clone()),
                    None => Node::Plain(Value::String(template.text(filling))),
                },
                Err(_) => Node::Plain(value.clone()),
            },
            Value::Array(items) => {
                Node::Array(items.iter().map(|item| Node::of(item, filling)).collect())
            }
            Value::Table(table) => {
                let entries = table.iter();
                let entries = entries.map(|(key, item)| (key.clone(), Node::of(item, filling)));
                Node::Table(entries.collect())
            }
            other => Node::Plain(other.clone()),
        }
    }
}

impl IntoDeserializer<'_, Error> for Node {
    type Deserializer = Node;

    fn into_deserializer(self) -> Node {
        self
    }
}

impl<'de> Deserializer<'de> for Node {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Node::Plain(value) | Node::Gap(value) => value.deserialize_any(visitor),
            Node::Array(items) => visitor.visit_seq(SeqDeserializer::new(items.into_iter())),
            Node::Table(entries) => visitor.visit_map(MapDeserializer::new(entries.into_iter())),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_string(visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Node::Gap(value) => visitor.visit_string(text(&value)),
            other => other.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self {
            Node::Table(entries) => {
                let entries = MapDeserializer::new(entries.into_iter());
                MapAccessDeserializer::new(entries).deserialize_enum(name, variants, visitor)
            }
            Node::Plain(value) | Node::Gap(value) => {
                value.deserialize_enum(name, variants, visitor)
            }
            Node::Array(_) => self.deserialize_any(visitor),
        }
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Filled {
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
        let filled: Filled = table.filled(&filling).expect("a struct");
        let deep = vec!["x70{".to_owned(), "512".to_owned()];
        assert_eq!(
            filled,
            Filled {
                utilization: 70,
                capacity: "512".to_owned(),
                deep
            }
        );
        let text = Value::String("much".to_owned());
        let error = table
            .filled::<Filled>(&|_: &str| &text)
            .expect_err("no number");
        assert!(
            error.ends_with("expected a whole number from 0 to 255"),
            "{error}"
        );
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
