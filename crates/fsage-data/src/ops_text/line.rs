//! One line of the text form, without its end.

use super::attribute;
use super::error::{Fault, LineFault};
use super::number::{bytes, integer, seconds};
use super::verb::{Argument, Form, form_named, operation};
use fsage_core::names::{NameFault, check_name};
use fsage_core::{Event, Op, Verb};
use std::ops::Range;

type Parsed<T> = Result<T, LineFault>;

/// The event of a line; `None` for a blank line or a comment. Its time is that of the line itself, if any.
pub(super) fn parse(text: &[u8]) -> Parsed<Option<Event>> {
    let mut line = Line { text, at: 0 };
    let Some(mut word) = line.token() else {
        return Ok(None);
    };
    let mut t_ns = None;
    if text[word.start] == b'@' {
        t_ns = Some(time(&line, word)?);
        word = line.token().ok_or_else(|| {
            LineFault::new(
                Fault::TimeAlone,
                line.at..line.at,
                "an operation after the time",
            )
        })?;
    }
    let form = form_named(&text[word.clone()]).ok_or_else(|| {
        LineFault::new(
            Fault::UnknownOperation,
            word,
            "a verb such as create, append, rewrite, delete, mkdir, day",
        )
    })?;
    let mut event = operation_of(&mut line, form)?;
    event.t_ns = t_ns;
    Ok(Some(event))
}

/// Whether a line is a pragma, and where its key starts.
pub(super) fn pragma(text: &[u8]) -> Option<usize> {
    let start = text.iter().position(|b| !is_space(*b))?;
    match text[start..] {
        [b'#', b'!', space, ..] if is_space(space) => Some(start + 2),
        _ => None,
    }
}

pub(super) fn is_space(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// Refuses control characters in what is kept as it stands: a tool that prints it, or a line end that is
/// taken for one, would change it.
pub(super) fn check_word(text: &[u8], span: Range<usize>) -> Parsed<()> {
    match text[span.clone()].iter().position(u8::is_ascii_control) {
        None => Ok(()),
        Some(at) => {
            let at = span.start + at;
            let expected = "a word without control characters";
            Err(LineFault::new(
                Fault::ControlCharacter,
                at..at + 1,
                expected,
            ))
        }
    }
}

/// A place in a line.
#[derive(Debug)]
pub(super) struct Line<'a> {
    pub text: &'a [u8],
    pub at: usize,
}

impl Line<'_> {
    /// The next token, up to white space. A name in quotes is given without looking for its end. `None` at
    /// the end of the line and at a comment.
    pub fn token(&mut self) -> Option<Range<usize>> {
        let rest = &self.text[self.at..];
        let start = self.at + rest.iter().take_while(|b| is_space(**b)).count();
        let first = self.text.get(start).copied();
        if matches!(first, None | Some(b'#')) {
            self.at = start;
            return None;
        }
        let rest = &self.text[start..];
        let end = start + rest.iter().take_while(|b| !is_space(**b)).count();
        self.at = end;
        Some(start..end)
    }
}

fn time(line: &Line<'_>, word: Range<usize>) -> Parsed<i64> {
    seconds(&line.text[word.start + 1..word.end]).map_err(|fault| {
        LineFault::new(
            fault,
            word,
            "@ and seconds with at most 9 decimals, within 292 years of 0",
        )
    })
}

/// Arguments, attributes and name.
fn operation_of(line: &mut Line<'_>, form: &'static Form) -> Parsed<Event> {
    let mut numbers = [0; 3];
    let mut count = 0;
    let mut event = Event::new(Op::Sync);
    if form.verb == Verb::Day {
        event.name = Some(label(line, form)?);
    }
    let mut in_attributes = false;
    while let Some(token) = line.token() {
        let text = &line.text[token.clone()];
        let first = text[0];
        if first == b'"' {
            event.name = Some(last_name(line, token.start, form)?);
            break;
        }
        if !first.is_ascii_digit() && text.contains(&b'=') {
            check_word(line.text, token.clone())?;
            attribute::apply(&mut event, text)
                .map_err(|(fault, expected)| LineFault::new(fault, token, expected))?;
            in_attributes = true;
            continue;
        }
        if in_attributes {
            return Err(LineFault::new(
                Fault::ArgumentAfterAttribute,
                token,
                form.usage,
            ));
        }
        let Some(kind) = form.arguments.get(count) else {
            return Err(LineFault::new(Fault::TooManyArguments, token, form.usage));
        };
        numbers[count] = argument(*kind, text).map_err(|fault| {
            LineFault::new(
                fault,
                token,
                format!("{} in `{}`", place(form, count), form.usage),
            )
        })?;
        count += 1;
    }
    check_count(line, form, count)?;
    event.op = operation(form.verb, numbers, count);
    Ok(event)
}

fn argument(kind: Argument, text: &[u8]) -> Result<u64, Fault> {
    match kind {
        Argument::Id => integer(text),
        Argument::Bytes => bytes(text),
    }
}

/// The word of the usage line for an argument.
fn place(form: &Form, argument: usize) -> &'static str {
    let word = form
        .usage
        .split(' ')
        .nth(argument + 1)
        .unwrap_or("a number");
    word.trim_matches(['[', ']'])
}

fn check_count(line: &Line<'_>, form: &'static Form, count: usize) -> Parsed<()> {
    let end = line.at..line.at;
    if form.verb == Verb::Overwrite && count == 2 {
        return Err(LineFault::new(
            Fault::OverwriteArguments,
            end,
            "`overwrite FILE` or `overwrite FILE OFFSET BYTES` (to truncate and write anew: `rewrite FILE BYTES`)",
        ));
    }
    if count < form.required || (form.verb == Verb::Read && count == 2) {
        return Err(LineFault::new(Fault::TooFewArguments, end, form.usage));
    }
    Ok(())
}

/// The label of a day: any word.
fn label(line: &mut Line<'_>, form: &'static Form) -> Parsed<Box<[u8]>> {
    let token = line
        .token()
        .ok_or_else(|| LineFault::new(Fault::TooFewArguments, line.at..line.at, form.usage))?;
    if line.text[token.start] == b'"' {
        return Err(LineFault::new(Fault::TakesNoName, token, form.usage));
    }
    check_word(line.text, token.clone())?;
    Ok(line.text[token].into())
}

/// The name that starts at a quote, with nothing but a comment after it.
fn last_name(line: &mut Line<'_>, start: usize, form: &'static Form) -> Parsed<Box<[u8]>> {
    if !form.takes_name {
        return Err(LineFault::new(
            Fault::TakesNoName,
            start..line.at,
            form.usage,
        ));
    }
    let name = quoted_name(line, start)?;
    let span = start..line.at;
    check_name(&name).map_err(|fault| {
        let fault = match fault {
            NameFault::Empty => Fault::EmptyName,
            NameFault::Slash => Fault::SlashInName,
            NameFault::Dots => Fault::DotName,
            NameFault::Nul => Fault::NulInName,
        };
        LineFault::new(fault, span.clone(), "the name of one directory entry")
    })?;
    if line.token().is_some() {
        return Err(LineFault::new(
            Fault::NameNotLast,
            span,
            "attributes before the name, and nothing after it",
        ));
    }
    Ok(name)
}

/// Reads `"..."` with its escapes and leaves the line after it.
fn quoted_name(line: &mut Line<'_>, start: usize) -> Parsed<Box<[u8]>> {
    let text = line.text;
    let mut name = Vec::new();
    let mut at = start + 1;
    loop {
        let plain = text[at..]
            .iter()
            .take_while(|b| !matches!(b, b'"' | b'\\'))
            .count();
        name.extend_from_slice(&text[at..at + plain]);
        at += plain;
        match text[at..] {
            [b'"', ..] => {
                line.at = at + 1;
                return Ok(name.into());
            }
            [b'\\', escaped @ (b'"' | b'\\'), ..] => {
                name.push(escaped);
                at += 2;
            }
            [b'\\', b'x', high, low, ..] => {
                let byte =
                    fsage_core::names::hex_byte(high, low).ok_or_else(|| bad_escape(at..at + 4))?;
                name.push(byte);
                at += 4;
            }
            [b'\\', ..] => return Err(bad_escape(at..text.len().min(at + 2))),
            _ => {
                return Err(LineFault::new(
                    Fault::NoClosingQuote,
                    start..text.len(),
                    "a name in double quotes",
                ));
            }
        }
    }
}

fn bad_escape(span: Range<usize>) -> LineFault {
    LineFault::new(
        Fault::BadEscape,
        span,
        "\\\", \\\\ or \\x and two hexadecimal digits",
    )
}
