//! Keys of `kind:key=value|flag,...`, described once: messages, `--help`, `fsage targets` and the tables of the
//! documentation say what stands here.

use std::borrow::Cow;

/// One of a set of named values, and what it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The word that is given.
    pub name: &'static str,
    /// What it stands for, in one sentence.
    pub summary: &'static str,
}

/// What a key takes.
#[derive(Clone, Copy, Debug)]
pub enum Takes {
    /// A whole number, where it counts bytes with or without a suffix: `8192`, `8K`.
    Number {
        /// What it counts, in the plural: `bytes`, `blocks`. Nothing for an identifier.
        unit: &'static str,
    },
    /// Nothing, or `on` or `off`.
    Flag,
    /// One of [`Key::words`].
    Word,
    /// One of the policies of a model.
    Policy(fn() -> Vec<Choice>),
    /// A share, as in `2.5%` or `0.025`.
    Share,
    /// Text of some form.
    Text {
        /// The form: `path`, `UUID`.
        form: &'static str,
    },
}

/// What holds where a key is not given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unset {
    /// The same as with this value.
    Value(&'static str),
    /// What a rule says, in words.
    Rule(&'static str),
}

/// A key that a target knows.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The key.
    pub name: &'static str,
    /// What it takes.
    pub takes: Takes,
    /// Words that it takes: all that it takes of [`Takes::Word`], and beside what else it takes of the others.
    pub words: &'static [&'static str],
    /// The least and the largest number.
    pub range: Option<(u64, u64)>,
    /// What holds without it.
    pub unset: Unset,
    /// Another key with its value, and what holds without this one then.
    pub otherwise: Option<(&'static str, &'static str, &'static str)>,
    /// What it sets.
    pub doc: &'static str,
}

impl Key {
    const fn new(
        name: &'static str,
        takes: Takes,
        default: &'static str,
        doc: &'static str,
    ) -> Key {
        Key {
            name,
            takes,
            words: &[],
            range: None,
            unset: Unset::Value(default),
            otherwise: None,
            doc,
        }
    }

    /// A key that takes a number of something.
    pub const fn number(
        name: &'static str,
        unit: &'static str,
        default: &'static str,
        doc: &'static str,
    ) -> Key {
        Key::new(name, Takes::Number { unit }, default, doc)
    }

    /// A key that takes a number of bytes.
    pub const fn bytes(name: &'static str, default: &'static str, doc: &'static str) -> Key {
        Key::number(name, "bytes", default, doc)
    }

    /// A flag, and whether it is on without being given.
    pub const fn flag(name: &'static str, on: bool, doc: &'static str) -> Key {
        Key::new(name, Takes::Flag, if on { "on" } else { "off" }, doc)
    }

    /// A key that takes one of some words.
    pub const fn word(
        name: &'static str,
        words: &'static [&'static str],
        default: &'static str,
        doc: &'static str,
    ) -> Key {
        Key::new(name, Takes::Word, default, doc).or_words(words)
    }

    /// A key that takes one of a model's policies.
    pub const fn policy(
        name: &'static str,
        policies: fn() -> Vec<Choice>,
        default: &'static str,
        doc: &'static str,
    ) -> Key {
        Key::new(name, Takes::Policy(policies), default, doc)
    }

    /// A key that takes a share.
    pub const fn share(name: &'static str, default: &'static str, doc: &'static str) -> Key {
        Key::new(name, Takes::Share, default, doc)
    }

    /// A key that takes a text of some form; without it a rule holds.
    pub const fn text(
        name: &'static str,
        form: &'static str,
        rule: &'static str,
        doc: &'static str,
    ) -> Key {
        Key::new(name, Takes::Text { form }, "", doc).by_rule(rule)
    }

    /// Its number is from `least` to `most`.
    #[must_use]
    pub const fn within(mut self, least: u64, most: u64) -> Key {
        self.range = Some((least, most));
        self
    }

    /// It takes these words as well.
    #[must_use]
    pub const fn or_words(mut self, words: &'static [&'static str]) -> Key {
        self.words = words;
        self
    }

    /// Without it a rule holds.
    #[must_use]
    pub const fn by_rule(mut self, rule: &'static str) -> Key {
        self.unset = Unset::Rule(rule);
        self
    }

    /// Without it another default holds where `key` has this `value`.
    #[must_use]
    pub const fn where_given(
        mut self,
        key: &'static str,
        value: &'static str,
        default: &'static str,
    ) -> Key {
        self.otherwise = Some((key, value, default));
        self
    }

    /// The policies that it takes; none if it takes something else.
    pub fn policies(&self) -> Vec<Choice> {
        match self.takes {
            Takes::Policy(policies) => policies(),
            _ => Vec::new(),
        }
    }

    /// All words that it takes: what can be completed.
    pub fn completions(&self) -> Vec<&'static str> {
        let policies = self.policies().into_iter().map(|policy| policy.name);
        self.words.iter().copied().chain(policies).collect()
    }

    /// The kind of its value, in one word.
    pub fn type_name(&self) -> &'static str {
        match self.takes {
            Takes::Number { .. } => "number",
            Takes::Flag => "flag",
            Takes::Word | Takes::Policy(_) => "word",
            Takes::Share => "share",
            Takes::Text { .. } => "text",
        }
    }

    /// What its number counts; nothing if it takes no number, or one that counts nothing.
    pub fn unit(&self) -> Option<&'static str> {
        match self.takes {
            Takes::Number { unit } if !unit.is_empty() => Some(unit),
            _ => None,
        }
    }

    /// What it takes, in a few words: `1 to 1027 blocks`, `ext3, ext2`, `flag`.
    pub fn values(&self) -> String {
        let own = match self.takes {
            Takes::Number { unit } => {
                let unit = if unit.is_empty() { "number" } else { unit };
                match self.range {
                    Some((least, most)) => format!("{least} to {most} {unit}"),
                    None => unit.to_owned(),
                }
            }
            Takes::Flag => "flag".to_owned(),
            Takes::Word | Takes::Policy(_) => String::new(),
            Takes::Share => "share".to_owned(),
            Takes::Text { form } => form.to_owned(),
        };
        let words = self.completions();
        let own = Some(own).filter(|own| !own.is_empty());
        let all: Vec<&str> = words.into_iter().chain(own.as_deref()).collect();
        all.join(", ")
    }

    /// What holds without it, in a few words.
    pub fn default_text(&self) -> Cow<'static, str> {
        let (Unset::Value(text) | Unset::Rule(text)) = self.unset;
        match self.otherwise {
            Some((key, value, other)) => format!("{text}; with {key}={value} {other}").into(),
            None => text.into(),
        }
    }
}

/// The name that is nearest to what was given, if one is near enough to have been meant: a third of the letters may be
/// wrong.
pub fn nearest<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let letters = given.chars().count();
    let near = names
        .into_iter()
        .map(|name| (distance(given, name), name))
        .min_by_key(|&(distance, _)| distance)?;
    (near.0 <= letters.max(3) / 3).then_some(near.1)
}

/// The longest name that what was given begins with, or that begins with it: `flex` of `flex_bg`.
fn begun<'a>(given: &str, names: &[&'a str]) -> Option<&'a str> {
    /// So many letters are enough to know a name by.
    const LEAST: usize = 4;
    let is_begun = |name: &&&str| {
        let shorter = name.len().min(given.len());
        shorter >= LEAST && (given.starts_with(**name) || name.starts_with(given))
    };
    let names = names.iter().filter(is_begun);
    names.max_by_key(|name| name.len()).copied()
}

/// A question and a blank where a known name was probably meant: "did you mean `x`? ".
pub fn meant<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    let meant = nearest(given, names.iter().copied()).or_else(|| begun(given, &names));
    meant.map_or_else(String::new, |name| format!("did you mean `{name}`? "))
}

/// What a message says after a name that is unknown: which of the known ones was probably meant, and all of them.
pub fn instead(given: &str, known: &[&str]) -> String {
    let meant = meant(given, known.iter().copied());
    format!("; {meant}known: {}", known.join(", "))
}

/// How many letters have to be put in, left out, replaced, or swapped with the next.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replaced.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(before[j - 2] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand.
    #[test]
    fn letters_left_out_put_in_replaced_and_swapped_count_one_each() {
        for (a, b, expected) in [
            ("policy", "policy", 0),
            ("polcy", "policy", 1),
            ("pollicy", "policy", 1),
            ("pocily", "policy", 2),
            ("polciy", "policy", 1),
            ("", "abc", 3),
            ("abc", "", 3),
            // Levenshtein's own kind of example, in any textbook.
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(distance(a, b), expected, "{a} {b}");
        }
    }

    #[test]
    fn what_was_meant_is_named_and_what_was_not_is_not() {
        let names = ["policy", "size", "seed", "cg_blocks"];
        assert_eq!(nearest("polcy", names), Some("policy"));
        assert_eq!(nearest("szie", names), Some("size"));
        assert_eq!(nearest("cgblocks", names), Some("cg_blocks"));
        let metrics = ["layout_score", "layout_ratio", "utilization"];
        assert_eq!(nearest("layout_scor", metrics), Some("layout_score"));
        assert_eq!(nearest("utilisation", metrics), Some("utilization")); // typos: ignore
        assert_eq!(nearest("speed", metrics), None);
        assert_eq!(nearest("rearrange", names), None);
        let options = ["flex", "bsize", "root"];
        assert_eq!(meant("flex_bg", options), "did you mean `flex`? ");
        assert_eq!(meant("bsi", options), "", "too short to know");
        assert_eq!(
            meant("utilization_target", metrics),
            "did you mean `utilization`? "
        );
        assert_eq!(nearest("", names), None);
        assert_eq!(nearest("x", []), None);
    }

    #[test]
    fn a_key_says_what_it_takes_and_what_holds_without_it() {
        let window = Key::number("window", "blocks", "8", "").within(1, 1027);
        assert_eq!(
            (&*window.values(), &*window.default_text()),
            ("1 to 1027 blocks", "8")
        );
        let size = Key::bytes("size", "300M", "").where_given("variant", "netbsd", "48M");
        assert_eq!(size.default_text(), "300M; with variant=netbsd 48M");
        let period = Key::number("period", "accesses", "day", "").or_words(&["day"]);
        assert_eq!(period.values(), "day, accesses");
        let policies = || {
            vec![
                Choice {
                    name: "orig",
                    summary: "",
                },
                Choice {
                    name: "realloc",
                    summary: "",
                },
            ]
        };
        assert_eq!(
            Key::policy("policy", policies, "orig", "").values(),
            "orig, realloc"
        );
    }
}
