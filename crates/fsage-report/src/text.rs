//! Text on the page: numbers as people read them, and characters that cannot be seen made visible.

use crate::data::Cell;
use minijinja::value::{Value, ValueKind};
use minijinja::{Error, HtmlEscape, Output, State, escape_formatter};
use std::fmt::Write;

/// Writes a value of a template: escaped, and with every control character as its picture.
pub fn write(out: &mut Output, state: &mut State, value: &Value) -> Result<(), Error> {
    if value.kind() == ValueKind::String && !value.is_safe() {
        let text = value.as_str().unwrap_or_default();
        if text.contains(is_unseen) {
            return escape_formatter(out, state, &Value::from(visible(text)));
        }
    }
    escape_formatter(out, state, value)
}

/// Control characters, and those that change the direction of what follows.
fn is_unseen(c: char) -> bool {
    c != '\n' && c != '\t' && (c.is_control() || is_direction(c))
}

fn is_direction(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if !is_unseen(c) => out.push(c),
            '\0'..='\u{1f}' => out.extend(char::from_u32(0x2400 + u32::from(c))),
            '\u{7f}' => out.push('\u{2421}'),
            c => write!(out, "<U+{:04X}>", u32::from(c)).expect("a string takes all"),
        }
    }
    out
}

/// A cell of a table.
pub fn cell(value: &Value) -> String {
    match value.kind() {
        ValueKind::Number => {
            f64::try_from(value.clone()).map_or_else(|_| value.to_string(), number)
        }
        ValueKind::None | ValueKind::Undefined => "\u{2013}".into(),
        _ => value.to_string(),
    }
}

/// A sentence: what stands between backquotes is something to type.
pub fn sentence(text: &str) -> Value {
    let parts: Vec<&str> = text.split('`').collect();
    let mut out = String::new();
    for (i, part) in parts.iter().enumerate() {
        let escaped = HtmlEscape(&visible(part)).to_string();
        // A backquote without its twin is only that.
        match (i % 2 == 1, i + 1 < parts.len()) {
            (true, true) => out.extend(["<code>", &escaped, "</code>"]),
            (true, false) => out.extend(["`", &escaped]),
            (false, _) => out.push_str(&escaped),
        }
    }
    Value::from_safe_string(out)
}

/// The words of a text, in small letters.
pub fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    words
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

/// A number with at most 6 significant digits, and its thousands apart.
pub fn number(x: f64) -> String {
    let rounded = Cell::rounded(x);
    let plain = format!("{rounded}");
    let (sign, digits) = plain
        .strip_prefix('-')
        .map_or(("", plain.as_str()), |d| ("\u{2212}", d));
    let (whole, fraction) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    let mut out = String::from(sign);
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out + fraction
}
