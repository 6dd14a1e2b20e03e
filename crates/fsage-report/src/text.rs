//! Text on the page: numbers as people read them, and characters that cannot be seen made visible.

use crate::data::rounded;
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

/// Control characters, those that change the direction of what follows, separators of lines, blanks without width.
fn is_unseen(c: char) -> bool {
    c != '\n' && c != '\t' && (c.is_control() || is_format(c))
}

fn is_format(c: char) -> bool {
    let marks = ['\u{200b}', '\u{200e}', '\u{200f}', '\u{feff}'];
    marks.contains(&c) || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
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

/// A sentence: what stands between backquotes is something to type, and a percent sign stays with its number.
pub fn sentence(text: &str) -> Value {
    let parts: Vec<&str> = text.split('`').collect();
    let mut out = String::new();
    for (i, part) in parts.iter().enumerate() {
        let escaped = escaped(part);
        // A backquote without its twin is only that.
        match (i % 2 == 1, i + 1 < parts.len()) {
            (true, true) => out.extend(["<code>", &escaped, "</code>"]),
            (true, false) => out.extend(["`", &escaped]),
            (false, _) => out.push_str(&escaped.replace(" %", "\u{a0}%")),
        }
    }
    Value::from_safe_string(out)
}

/// Something to type or a specification, which may be broken into lines behind its commas, and not within an option.
pub fn code(text: &str) -> Value {
    let escaped = escaped(text);
    let words = escaped.split(' ').map(|word| {
        let name = word.split('=').next().unwrap_or_default();
        if word.starts_with('-') && name.len() < 24 {
            format!(
                "<span class=\"option\">{name}</span>{}",
                &word[name.len()..]
            )
        } else {
            word.to_owned()
        }
    });
    let words: Vec<String> = words.collect();
    Value::from_safe_string(words.join(" ").replace(',', ",<wbr>"))
}

/// The words of a text, in small letters.
pub fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    words
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

/// Significant digits of a number in a table; what is downloaded has more.
const DIGITS: i32 = 4;

/// Text as a part of HTML, with every control character as its picture.
pub fn escaped(text: &str) -> String {
    HtmlEscape(&visible(text)).to_string()
}

/// A number that is no integer with few digits, and the thousands of any apart.
pub fn number(x: f64) -> String {
    let rounded = rounded(x, DIGITS);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits_and_commas() {
        let table = [
            (0.0, "0"),
            (1200.0, "1,200"),
            (-1_234_567.0, "\u{2212}1,234,567"),
            (0.123_456_789, "0.1235"),
            (1_234.567_89, "1,235"),
            (999.96, "1,000"),
            (1e-7, "0.0000001"),
        ];
        for (x, text) in table {
            assert_eq!(number(x), text);
        }
    }

    #[test]
    fn what_stands_between_backquotes_is_code() {
        let table = [
            ("type `a <b>` now", "type <code>a &lt;b&gt;</code> now"),
            ("a ` alone", "a ` alone"),
            ("`a` and ` alone", "<code>a</code> and ` alone"),
        ];
        for (text, html) in table {
            assert_eq!(sentence(text).to_string(), html);
        }
    }

    #[test]
    fn words_have_no_case_and_no_marks() {
        assert_eq!(
            words("Free-space: the LARGEST (bytes)"),
            ["free", "space", "the", "largest", "bytes"]
        );
        assert!(words("<>").is_empty());
    }
}
