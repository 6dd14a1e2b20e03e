//! Pragmas: what a text says of the workload as a whole, before the first operation.

use super::error::{Fault, LineFault};
use super::line::{Line, is_space};
use super::number::{bytes, integer};
use fsage_core::WorkloadHeader;
use std::str;

/// Newest version of the text form that is understood.
pub(super) const VERSION: u64 = 1;

/// Keys that are fields of the header.
pub(super) const KNOWN: [&str; 10] = [
    "fsage-ops",
    "epoch",
    "capacity",
    "block",
    "groups",
    "inodes-per-group",
    "first-ino",
    "generator",
    "seed",
    "source",
];

/// Whether a byte may stand in the value of a pragma.
pub(super) fn is_free_text(byte: u8) -> bool {
    byte == b'\t' || !byte.is_ascii_control()
}

/// Puts one pragma into the header. `key_at` is where its key may start.
pub(super) fn apply(
    header: &mut WorkloadHeader,
    text: &[u8],
    key_at: usize,
) -> Result<(), LineFault> {
    if let Some(at) = text[key_at..].iter().position(|b| !is_free_text(*b)) {
        let at = key_at + at;
        let expected = "text without control characters";
        return Err(LineFault::new(
            Fault::ControlCharacter,
            at..at + 1,
            expected,
        ));
    }
    let mut line = Line { text, at: key_at };
    let bad = |at: usize| LineFault::new(Fault::BadPragma, at..text.len(), "#! KEY VALUE");
    let key = line.token().ok_or_else(|| bad(line.at))?;
    let key_text = str::from_utf8(&text[key.clone()]).map_err(|_| bad(key.start))?;
    let twice = |again: bool| {
        if again {
            let expected = "each pragma once";
            return Err(LineFault::new(Fault::RepeatedPragma, key.clone(), expected));
        }
        Ok(())
    };
    match key_text {
        "fsage-ops" => version(&mut line),
        "epoch" => {
            let value = value(&mut line, "epoch and Unix seconds", |v| {
                str::from_utf8(v)
                    .ok()
                    .filter(|v| !v.starts_with('+'))
                    .and_then(|v| v.parse().ok())
                    .ok_or(Fault::BadPragma)
            })?;
            twice(header.epoch_unix_s.replace(value).is_some())
        }
        "capacity" => {
            let value = value(&mut line, "capacity and bytes", bytes)?;
            twice(header.capacity_bytes.replace(value).is_some())
        }
        "block" => {
            let value = value(&mut line, "block and bytes", bytes)?;
            twice(header.block_bytes.replace(value).is_some())
        }
        "groups" => {
            let value = value(&mut line, "groups and a number", integer)?;
            twice(header.group_count.replace(value).is_some())
        }
        "inodes-per-group" => {
            let value = value(&mut line, "inodes-per-group and a number", integer)?;
            twice(header.inodes_per_group.replace(value).is_some())
        }
        "first-ino" => {
            let value = value(&mut line, "first-ino and a number", integer)?;
            twice(header.first_ino.replace(value).is_some())
        }
        "seed" => {
            let value = value(&mut line, "seed and a number", integer)?;
            twice(header.seed.replace(value).is_some())
        }
        "generator" => {
            let value = free_text(&line);
            twice(header.generator.replace(value).is_some())
        }
        "source" => {
            let value = free_text(&line);
            twice(header.source.replace(value).is_some())
        }
        _ => {
            header.other.push((key_text.to_owned(), free_text(&line)));
            Ok(())
        }
    }
}

fn version(line: &mut Line<'_>) -> Result<(), LineFault> {
    let start = line.at;
    let version = value(line, "fsage-ops and a version", integer)?;
    let expected = format!("version {VERSION}");
    match version {
        0 => Err(LineFault::new(Fault::BadPragma, start..line.at, expected)),
        1..=VERSION => Ok(()),
        _ => Err(LineFault::new(
            Fault::NewerVersion,
            start..line.at,
            expected,
        )),
    }
}

/// One word, and at most a comment after it.
fn value<T>(
    line: &mut Line<'_>,
    expected: &'static str,
    parse: impl Fn(&[u8]) -> Result<T, Fault>,
) -> Result<T, LineFault> {
    let Some(token) = line.token() else {
        return Err(LineFault::new(Fault::BadPragma, line.at..line.at, expected));
    };
    let value =
        parse(&line.text[token.clone()]).map_err(|fault| LineFault::new(fault, token, expected))?;
    match line.token() {
        None => Ok(value),
        Some(rest) => Err(LineFault::new(Fault::BadPragma, rest, expected)),
    }
}

/// All that is left of the line: free text may hold `#`, so nothing in it is a comment.
fn free_text(line: &Line<'_>) -> String {
    let rest = &line.text[line.at..];
    let start = rest.iter().take_while(|b| is_space(**b)).count();
    let blanks = rest.iter().rev().take_while(|b| is_space(**b)).count();
    let end = (rest.len() - blanks).max(start);
    String::from_utf8_lossy(&rest[start..end]).into_owned()
}
