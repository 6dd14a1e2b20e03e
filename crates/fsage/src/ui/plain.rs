//! Text as a terminal may have it. Names of files, manifests and messages of others hold what they like; a control
//! character among it could move the cursor, change the title or type into the shell, and so each is written out, as
//! `\u001b`: that way also stays JSON what was JSON.

use std::fmt::Write as _;
use std::io::{self, Write};

/// A text with its control characters written out; ends of lines and tabs stay.
pub fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        push(&mut plain, c);
    }
    plain
}

fn push(plain: &mut String, c: char) {
    if c.is_control() && !matches!(c, '\n' | '\t') || turns_or_hides(c) {
        // Writing to memory does not fail.
        let _ = write!(plain, "\\u{:04x}", u32::from(c));
    } else {
        plain.push(c);
    }
}

/// Characters that nobody sees, and that have others read in another order (Unicode, annex 9) or not at all.
fn turns_or_hides(c: char) -> bool {
    matches!(
        c,
        '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}'
    )
}

/// Writes the same to something else. What is no UTF-8 passes, but for bytes that old terminals take for control
/// characters.
#[derive(Debug)]
pub struct Plain<W> {
    to: W,
    /// The beginning of a character whose end was not written yet.
    begun: Vec<u8>,
}

impl<W: Write> Plain<W> {
    /// Writes to this.
    pub fn new(to: W) -> Plain<W> {
        Plain {
            to,
            begun: Vec::new(),
        }
    }
}

impl<W: Write> Write for Plain<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut all = std::mem::take(&mut self.begun);
        all.extend_from_slice(bytes);
        let mut plain = Vec::with_capacity(all.len());
        let mut text = String::new();
        let mut chunks = all.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            text.clear();
            chunk.valid().chars().for_each(|c| push(&mut text, c));
            plain.extend_from_slice(text.as_bytes());
            let rest = chunk.invalid();
            if chunks.peek().is_none() && may_go_on(rest) {
                self.begun = rest.to_vec();
                break;
            }
            for &byte in rest {
                match byte {
                    0x80..=0x9f => write!(plain, "\\u{byte:04x}")?,
                    _ => plain.push(byte),
                }
            }
        }
        self.to.write_all(&plain)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Whether these bytes, which are no character, may become one with more behind them.
fn may_go_on(bytes: &[u8]) -> bool {
    let length = match bytes.first() {
        Some(0xc2..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xf4) => 4,
        _ => return false,
    };
    bytes.len() < length
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "a\u{1b}]0;x\u{7}b\u{9b}2J\r\u{7f}c\n\t─ü\u{10348}";
    const PLAIN: &str = "a\\u001b]0;x\\u0007b\\u009b2J\\u000d\\u007fc\n\t─ü\u{10348}";

    #[test]
    fn control_characters_are_written_out_and_all_else_stays() {
        assert_eq!(plain(TEXT), PLAIN);
    }

    #[test]
    fn a_text_may_be_cut_anywhere() {
        for cut in 0..=TEXT.len() {
            let mut writer = Plain::new(Vec::new());
            let (first, second) = TEXT.as_bytes().split_at(cut);
            writer.write_all(first).unwrap();
            writer.write_all(second).unwrap();
            assert_eq!(writer.to, PLAIN.as_bytes(), "{cut}");
        }
    }

    #[test]
    fn what_is_no_text_passes_but_for_control_bytes_of_old_terminals() {
        let mut writer = Plain::new(Vec::new());
        writer.write_all(b"\xff\x9b\xe4x\xc2").unwrap();
        writer.write_all(b"y").unwrap();
        assert_eq!(writer.to, b"\xff\\u009b\xe4x\xc2y");
    }

    #[test]
    fn a_string_of_json_stays_the_same_string() {
        let value = serde_json::Value::from(TEXT);
        let read: serde_json::Value = serde_json::from_str(&plain(&value.to_string())).unwrap();
        assert_eq!(read, value);
    }
}
