//! Writes the canonical text of a workload.

use super::verb::{arguments, form_of};
use super::{MAX_LINE_BYTES, line, pragma};
use fsage_core::names::{NameFault, check_name};
use fsage_core::{Event, EventSink, SinkError, Verb, WorkloadHeader};
use std::io::{self, Write};
use std::str;
use thiserror::Error;

/// Why an event or a header cannot be written as text.
#[derive(Debug, Error)]
pub enum OpsWriteError {
    /// Writing failed.
    #[error("cannot write the workload")]
    Io(#[from] io::Error),
    /// A name that no directory entry can have.
    #[error("event {event} ({verb}): {fault}")]
    Name {
        /// The event, from 1.
        event: u64,
        /// Its verb.
        verb: Verb,
        /// What is wrong with the name.
        fault: NameFault,
    },
    /// The label of a day is missing or no single word.
    #[error(
        "event {event} (day): the label {label:?} is not one word without quote or # at its start"
    )]
    Label {
        /// The event, from 1.
        event: u64,
        /// The label.
        label: String,
    },
    /// An attribute that is not `x-key=value` without white space.
    #[error("event {event}: {extra:?} is not a list of `x-key=value`")]
    Extra {
        /// The event, from 1.
        event: u64,
        /// The attributes.
        extra: String,
    },
    /// A pragma whose key is no word or whose value has control characters.
    #[error("header: {key:?} = {value:?} cannot be written as a line of text")]
    Header {
        /// Its key.
        key: String,
        /// Its value.
        value: String,
    },
    /// The line would be too long to be read back.
    #[error("event {event}: the line is over {MAX_LINE_BYTES} bytes long")]
    LineTooLong {
        /// The event, from 1.
        event: u64,
    },
}

/// Writes `.ops` text in its canonical form.
///
/// Text cannot say two things that an [`Event`] can: a time that becomes unknown again (such a line takes the
/// time of the line before it; [`OpsWriter::times_lost`] counts them), and the name of an operation that
/// takes none, or a source generation without a source inode (both are left out).
#[derive(Debug)]
pub struct OpsWriter<W> {
    out: W,
    text: Vec<u8>,
    t_ns: Option<i64>,
    events: u64,
    times_lost: u64,
}

impl<W: Write> OpsWriter<W> {
    /// Writes the pragmas. `out` should be buffered.
    ///
    /// # Errors
    /// Writing fails, or the header holds text that is no line.
    pub fn new(mut out: W, header: &WorkloadHeader) -> Result<OpsWriter<W>, OpsWriteError> {
        let mut text = b"#! fsage-ops 1\n".to_vec();
        write_header(&mut text, header)?;
        out.write_all(&text)?;
        Ok(OpsWriter {
            out,
            text,
            t_ns: None,
            events: 0,
            times_lost: 0,
        })
    }

    /// Writes one event.
    ///
    /// # Errors
    /// Writing fails, or the event cannot be said in text; then nothing of it was written.
    pub fn write(&mut self, event: &Event) -> Result<(), OpsWriteError> {
        self.events += 1;
        self.text.clear();
        if event.t_ns != self.t_ns {
            match event.t_ns {
                Some(t) => time(&mut self.text, t),
                None => self.times_lost += 1,
            }
        }
        let text = &mut self.text;
        text.extend_from_slice(event.op.verb().as_str().as_bytes());
        let (numbers, count) = arguments(&event.op);
        for number in &numbers[..count] {
            text.push(b' ');
            integer(text, *number);
        }
        if event.op.verb() == Verb::Day {
            label(text, event, self.events)?;
        }
        attributes(text, event, self.events)?;
        if form_of(event.op.verb()).takes_name
            && let Some(name) = &event.name
        {
            check_name(name).map_err(|fault| OpsWriteError::Name {
                event: self.events,
                verb: event.op.verb(),
                fault,
            })?;
            quoted(text, name);
        }
        if text.len() > MAX_LINE_BYTES {
            return Err(OpsWriteError::LineTooLong { event: self.events });
        }
        text.push(b'\n');
        self.out.write_all(text)?;
        self.t_ns = event.t_ns.or(self.t_ns);
        Ok(())
    }

    /// Lines that got a time which the event did not have.
    pub fn times_lost(&self) -> u64 {
        self.times_lost
    }

    /// Gives the output back, flushed.
    ///
    /// # Errors
    /// Writing fails.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}

impl<W: Write> EventSink for OpsWriter<W> {
    fn event(&mut self, event: Event) -> Result<(), SinkError> {
        Ok(self.write(&event)?)
    }
}

fn write_header(text: &mut Vec<u8>, header: &WorkloadHeader) -> Result<(), OpsWriteError> {
    let numbers = [
        ("epoch", header.epoch_unix_s.map(|n| n.to_string())),
        ("capacity", header.capacity_bytes.map(|n| n.to_string())),
        ("block", header.block_bytes.map(|n| n.to_string())),
        ("groups", header.group_count.map(|n| n.to_string())),
        (
            "inodes-per-group",
            header.inodes_per_group.map(|n| n.to_string()),
        ),
        ("first-ino", header.first_ino.map(|n| n.to_string())),
        ("generator", header.generator.clone()),
        ("seed", header.seed.map(|n| n.to_string())),
        ("source", header.source.clone()),
    ];
    let known = numbers
        .iter()
        .filter_map(|(key, value)| value.as_deref().map(|value| (*key, value)));
    let others = header.other.iter();
    let others = others.map(|(key, value)| (key.as_str(), value.as_str()));
    let unsayable = others.clone().find(|(key, _)| {
        // It would be read as the field of that name.
        key.is_empty() || key.starts_with('#') || pragma::KNOWN.contains(key)
    });
    for (key, value) in known.chain(others) {
        let is_text = key.bytes().all(is_word) && value.bytes().all(pragma::is_free_text);
        let is_short = key.len() + value.len() < MAX_LINE_BYTES - 4;
        if !is_text || !is_short || unsayable == Some((key, value)) {
            return Err(OpsWriteError::Header {
                key: key.to_owned(),
                value: value.to_owned(),
            });
        }
        text.extend_from_slice(b"#! ");
        text.extend_from_slice(key.as_bytes());
        let value = value.trim_matches([' ', '\t']);
        if !value.is_empty() {
            text.push(b' ');
            text.extend_from_slice(value.as_bytes());
        }
        text.push(b'\n');
    }
    Ok(())
}

/// Neither white space nor a control character.
fn is_word(byte: u8) -> bool {
    !line::is_space(byte) && !byte.is_ascii_control()
}

fn integer(text: &mut Vec<u8>, number: u64) {
    text.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// `@` and seconds with the fewest decimals that are exact.
fn time(text: &mut Vec<u8>, t_ns: i64) {
    text.push(b'@');
    if t_ns < 0 {
        text.push(b'-');
    }
    let magnitude = t_ns.unsigned_abs();
    integer(text, magnitude / 1_000_000_000);
    let mut fraction = magnitude % 1_000_000_000;
    if fraction > 0 {
        let mut digits = *b".000000000";
        for digit in digits[1..].iter_mut().rev() {
            *digit += (fraction % 10) as u8;
            fraction /= 10;
        }
        let zeros = digits.iter().rev().take_while(|d| **d == b'0').count();
        text.extend_from_slice(&digits[..digits.len() - zeros]);
    }
    text.push(b' ');
}

fn label(text: &mut Vec<u8>, event: &Event, number: u64) -> Result<(), OpsWriteError> {
    let label = event.name.as_deref().unwrap_or_default();
    if !is_label(label) {
        return Err(OpsWriteError::Label {
            event: number,
            label: String::from_utf8_lossy(label).into_owned(),
        });
    }
    text.push(b' ');
    text.extend_from_slice(label);
    Ok(())
}

/// Whether bytes are a label of a day: one word of UTF-8.
fn is_label(label: &[u8]) -> bool {
    label.iter().all(|b| is_word(*b))
        && !matches!(label.first(), None | Some(b'"' | b'#'))
        && str::from_utf8(label).is_ok()
}

fn attributes(text: &mut Vec<u8>, event: &Event, number: u64) -> Result<(), OpsWriteError> {
    if let Some(origin) = event.origin {
        text.extend_from_slice(b" origin=");
        text.extend_from_slice(origin.as_str().as_bytes());
    }
    if let Some(quality) = event.t_quality {
        text.extend_from_slice(b" tq=");
        text.extend_from_slice(quality.as_str().as_bytes());
    }
    if let Some(group) = event.hint_group {
        text.extend_from_slice(b" hint=");
        integer(text, group.into());
    }
    if let Some(ino) = event.src_ino {
        text.extend_from_slice(b" src=");
        integer(text, ino);
        if let Some(generation) = event.src_gen {
            text.push(b':');
            integer(text, generation.into());
        }
    }
    if let Some(profile) = event.profile_id {
        text.extend_from_slice(b" profile=");
        integer(text, profile.into());
    }
    if let Some(mode) = event.mode {
        write!(text, " mode={mode:o}")?;
    }
    if let Some(extra) = &event.extra {
        if !is_extra(extra) {
            return Err(OpsWriteError::Extra {
                event: number,
                extra: extra.to_string(),
            });
        }
        text.push(b' ');
        text.extend_from_slice(extra.as_bytes());
    }
    Ok(())
}

/// Whether text is a list of `x-key=value`, separated by one space.
fn is_extra(extra: &str) -> bool {
    extra.split(' ').all(|item| {
        item.strip_prefix("x-")
            .and_then(|item| item.find('='))
            .is_some_and(|key_len| key_len > 0)
            && item.bytes().all(is_word)
    })
}

/// A name in quotes: printable ASCII as it is, every other byte as `\xhh`.
fn quoted(text: &mut Vec<u8>, name: &[u8]) {
    text.extend_from_slice(b" \"");
    for &byte in name {
        match byte {
            b'"' | b'\\' => text.extend_from_slice(&[b'\\', byte]),
            b' '..=b'~' => text.push(byte),
            _ => fsage_core::names::push_hex(text, byte),
        }
    }
    text.push(b'"');
}
