//! Text taken apart into words, with quotes.

use thiserror::Error;

/// A quote that does not end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a quote {0} is not closed")]
pub struct Unclosed(char);

/// Splits a list at its commas. Between double quotes a comma is a character like others, and `\` takes the meaning
/// off a quote or another `\`. Words may be empty.
///
/// # Errors
/// A quote that does not end.
pub fn split_list(text: &str) -> Result<Vec<String>, Unclosed> {
    split(text, &['"'], |c| c == ',')
}

/// Splits a command line at its blanks, as a shell does: single and double quotes, and `\` in front of any character.
/// Nothing else that a shell knows has a meaning here, and no shell is run.
///
/// # Errors
/// A quote that does not end.
pub fn split_command(text: &str) -> Result<Vec<String>, Unclosed> {
    let quotes = ['"', '\''];
    split(text, &quotes, char::is_whitespace).map(|mut words| {
        words.retain(|word| !word.is_empty());
        words
    })
}

/// A word that [`split_list`] leaves as it is.
pub fn quote(word: &str) -> String {
    if !word.contains([',', '"']) {
        return word.to_owned();
    }
    let escaped = word.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{escaped}\"")
}

fn split(
    text: &str,
    quotes: &[char],
    is_separator: impl Fn(char) -> bool,
) -> Result<Vec<String>, Unclosed> {
    let mut words = vec![String::new()];
    let mut open = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let word = words.last_mut().expect("there is always one");
        match open {
            Some(quote) if c == quote => open = None,
            // Single quotes keep everything as it is.
            Some('"') if c == '\\' => {
                let escaped = chars.next_if(|&next| next == '"' || next == '\\');
                word.push(escaped.unwrap_or(c));
            }
            None if is_separator(c) => words.push(String::new()),
            None if quotes.contains(&c) => open = Some(c),
            // Only where there are single quotes: `\` is a character of paths in a list.
            None if c == '\\' && quotes.contains(&'\'') => word.push(chars.next().unwrap_or(c)),
            _ => word.push(c),
        }
    }
    match open {
        Some(quote) => Err(Unclosed(quote)),
        None => Ok(words),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_split_as_a_shell_does() {
        // As bash prints them: `printf '%s\n' ...`.
        let table: [(&str, &[&str]); 5] = [
            ("", &[]),
            (
                "  -O ^has_journal   -N 100 ",
                &["-O", "^has_journal", "-N", "100"],
            ),
            (
                r#"-L "my disk" -E 'a,b c'"#,
                &["-L", "my disk", "-E", "a,b c"],
            ),
            (r#"a\ b "c\"d\\e\f" 'g\h'"#, &["a b", r#"c"d\e\f"#, r"g\h"]),
            (r#"x"y z"w"#, &["xy zw"]),
        ];
        for (text, expected) in table {
            assert_eq!(split_command(text).unwrap(), expected, "{text}");
        }
        assert_eq!(split_command("-L 'my disk"), Err(Unclosed('\'')));
    }

    #[test]
    fn lists_keep_empty_words_backslashes_and_apostrophes() {
        assert_eq!(split_list("a,,b").unwrap(), ["a", "", "b"]);
        assert_eq!(
            split_list(r#"it's,a\b,k="x,y""#).unwrap(),
            ["it's", r"a\b", "k=x,y"]
        );
        assert_eq!(split_list("k=\"x"), Err(Unclosed('"')));
    }

    #[test]
    fn a_quoted_word_is_read_as_it_was() {
        for word in ["plain", "a,b", r#"a "b" \c\"#, "", r"\"] {
            assert_eq!(split_list(&quote(word)).unwrap(), [word]);
        }
    }
}
