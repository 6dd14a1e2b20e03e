//! From `playback` text to a workload.
//!
//! A record names an inode, and what it means depends on whether that one is alive: the original makes a file that is
//! modified before it was made, and skips the deletion of one that is not there. So nothing that is written out can be
//! refused by the rules of [`fsage_core::operations`], which know ids that are given anew each time.

use super::error::BadGroups;
use super::{DIRECTORY, Groups, PlaybackError, is_type};
use fsage_core::{DirId, Event, EventSink, FileId, Op, Origin, WorkloadHeader};
use rustc_hash::FxHashMap;
use std::io::{BufRead, Read};

/// Lines of the original have less than 128 bytes; messages may be longer.
const LONGEST_LINE: u64 = 1 << 16;
const NS_PER_S: i64 = 1_000_000_000;

/// What was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportSummary {
    /// Lines of any kind.
    pub lines: u64,
    /// Days that ended.
    pub days: u64,
    /// Files made.
    pub creates: u64,
    /// Creates of an inode that was alive: rewritten.
    pub creates_of_live: u64,
    /// Files modified.
    pub modifies: u64,
    /// Modifications of an inode that was not alive: made.
    pub modifies_of_unknown: u64,
    /// Files replaced.
    pub replaces: u64,
    /// Files deleted, replacements not counted.
    pub deletes: u64,
    /// Deletes of an inode that was not alive, those of replacements included: skipped.
    pub deletes_of_unknown: u64,
    /// Messages, which the original ignores.
    pub messages: u64,
    /// Records with a time before that of the one before.
    pub times_going_down: u64,
    /// Files alive at the end.
    pub live_files: u64,
    /// Their bytes; 2^64 - 1 if there are more.
    pub live_bytes: u64,
}

/// What can be said of the workload before it is read.
pub fn header(groups: Groups) -> WorkloadHeader {
    WorkloadHeader {
        epoch_unix_s: Some(0),
        group_count: Some(groups.count.into()),
        inodes_per_group: Some(groups.inodes_per_group.into()),
        first_ino: Some(0),
        ..WorkloadHeader::default()
    }
}

/// Whether bytes start with a record of this format.
pub fn starts_like(head: &[u8]) -> bool {
    let mut lines = head.split(|&c| c == b'\n').filter(|l| !l.is_empty());
    lines.next().is_some_and(|line| {
        let line = Line {
            file: "",
            number: 1,
            text: line,
        };
        matches!(
            line.record(),
            Ok(Record::Create { .. } | Record::Delete { .. } | Record::Modify { .. })
        )
    })
}

/// Reads `playback` text and gives its events to `sink`.
///
/// First one directory a group is made (group 0 is the root). Files get the directory of their group, ids in
/// the order of creation, `hint_group` and `src_ino`; the type becomes the attribute `x-type`. Times are those
/// of the records. How well they are known the format does not say.
///
/// # Errors
/// A line that starts with C, D, M or R and is no such record, an inode behind the last group, or the sink
/// failed.
pub fn import(
    input: &mut dyn BufRead,
    file: &str,
    groups: Groups,
    sink: &mut dyn EventSink,
) -> Result<ImportSummary, PlaybackError> {
    if !groups.are_usable() {
        return Err(BadGroups(groups).into());
    }
    let mut state = State {
        groups,
        sink,
        summary: ImportSummary::default(),
        live: FxHashMap::default(),
        live_bytes: 0,
        next_id: 0,
        t_ns: None,
        given_t_ns: None,
    };
    for group in 1..u64::from(groups.count) {
        let dir = DirId(group);
        state.give(Event::new(Op::Mkdir { dir, parent: None }))?;
    }
    let mut text = Vec::new();
    for number in 1.. {
        text.clear();
        let unreadable = |source| PlaybackError::Read {
            file: file.to_owned(),
            line: number,
            source,
        };
        let mut bounded = input.take(LONGEST_LINE);
        bounded.read_until(b'\n', &mut text).map_err(unreadable)?;
        if text.is_empty() {
            break;
        }
        let too_long = text.len() as u64 == LONGEST_LINE && text.last() != Some(&b'\n');
        let line = Line {
            file,
            number,
            text: text.trim_ascii_end(),
        };
        if too_long {
            return Err(line.bad(&format!("a line within {LONGEST_LINE} bytes"), line.text));
        }
        state.summary.lines += 1;
        state.record(&line)?;
    }
    state.summary.live_bytes = u64::try_from(state.live_bytes).unwrap_or(u64::MAX);
    Ok(state.summary)
}

/// A file that is alive.
struct Live {
    id: FileId,
    bytes: u64,
}

struct State<'a> {
    groups: Groups,
    sink: &'a mut dyn EventSink,
    summary: ImportSummary,
    live: FxHashMap<u64, Live>,
    live_bytes: u128,
    next_id: u64,
    /// Of the record before.
    t_ns: Option<i64>,
    /// Of the event before.
    given_t_ns: Option<i64>,
}

impl State<'_> {
    fn record(&mut self, line: &Line<'_>) -> Result<(), PlaybackError> {
        let record = line.record()?;
        if let Some(t_s) = record.time_s() {
            let t_ns = t_s.checked_mul(NS_PER_S);
            let t_ns = t_ns.ok_or_else(|| line.bad("a time from 1677 to 2262", line.text))?;
            self.summary.times_going_down += u64::from(self.t_ns.is_some_and(|last| t_ns < last));
            self.t_ns = Some(t_ns);
        }
        match record {
            Record::Create {
                ino, size, kind, ..
            } => {
                self.summary.creates += 1;
                if self.live.contains_key(&ino) {
                    self.summary.creates_of_live += 1;
                    self.rewrite(ino, size)
                } else {
                    self.create(line, ino, size, kind)
                }
            }
            Record::Delete { ino, .. } => {
                let known = self.delete(ino)?;
                self.summary.deletes += u64::from(known);
                Ok(())
            }
            Record::Modify {
                ino, size, kind, ..
            } => {
                self.summary.modifies += 1;
                match self.live.get_mut(&ino) {
                    None => {
                        self.summary.modifies_of_unknown += 1;
                        self.create(line, ino, size, kind)
                    }
                    Some(live) if kind == DIRECTORY => {
                        let file = live.id;
                        let grown = live.bytes.max(size);
                        self.live_bytes += u128::from(grown - live.bytes);
                        live.bytes = grown;
                        self.timed(Op::Write {
                            file,
                            offset: 0,
                            bytes: size,
                        })
                    }
                    Some(_) => self.rewrite(ino, size),
                }
            }
            Record::Replace {
                ino, size, kind, ..
            } => {
                self.summary.replaces += 1;
                self.delete(ino)?;
                self.create(line, ino, size, kind)
            }
            Record::Score => {
                let mut day = Event::day(&self.summary.days.to_string());
                // A record that is skipped moves no clock.
                day.t_ns = self.given_t_ns;
                self.summary.days += 1;
                self.give(day)
            }
            Record::Message => {
                self.summary.messages += 1;
                Ok(())
            }
            Record::Blank => Ok(()),
        }
    }

    fn create(
        &mut self,
        line: &Line<'_>,
        ino: u64,
        bytes: u64,
        kind: &str,
    ) -> Result<(), PlaybackError> {
        let group = self.groups.of(ino);
        let group = group.ok_or_else(|| PlaybackError::BeyondGroups {
            file: line.file.to_owned(),
            line: line.number,
            ino,
            groups: self.groups,
        })?;
        let id = FileId(self.next_id);
        self.live_bytes += u128::from(bytes);
        self.summary.live_files += 1;
        self.next_id += 1;
        self.live.insert(ino, Live { id, bytes });
        let op = Op::Create {
            file: id,
            dir: DirId(group.into()),
            bytes,
        };
        self.give(Event {
            hint_group: Some(group),
            src_ino: Some(ino),
            extra: Some(format!("x-type={kind}").into()),
            ..self.event(op)
        })
    }

    fn rewrite(&mut self, ino: u64, bytes: u64) -> Result<(), PlaybackError> {
        let Some(live) = self.live.get_mut(&ino) else {
            return Ok(());
        };
        self.live_bytes = self.live_bytes - u128::from(live.bytes) + u128::from(bytes);
        live.bytes = bytes;
        let file = live.id;
        self.timed(Op::Rewrite { file, bytes })
    }

    /// Deletes an inode; false if it is not alive.
    fn delete(&mut self, ino: u64) -> Result<bool, PlaybackError> {
        let Some(live) = self.live.remove(&ino) else {
            self.summary.deletes_of_unknown += 1;
            return Ok(false);
        };
        self.summary.live_files -= 1;
        self.live_bytes -= u128::from(live.bytes);
        self.timed(Op::Delete { file: live.id })?;
        Ok(true)
    }

    fn event(&self, op: Op) -> Event {
        Event {
            t_ns: self.t_ns,
            origin: Some(Origin::Trace),
            ..Event::new(op)
        }
    }

    fn timed(&mut self, op: Op) -> Result<(), PlaybackError> {
        self.give(self.event(op))
    }

    fn give(&mut self, event: Event) -> Result<(), PlaybackError> {
        self.given_t_ns = event.t_ns;
        self.sink.event(event).map_err(PlaybackError::Sink)
    }
}

/// A line and where it stands.
struct Line<'l> {
    file: &'l str,
    number: u64,
    text: &'l [u8],
}

/// What a line says.
enum Record<'l> {
    Create {
        ino: u64,
        time_s: i64,
        size: u64,
        kind: &'l str,
    },
    Delete {
        ino: u64,
        time_s: i64,
    },
    Modify {
        ino: u64,
        time_s: i64,
        size: u64,
        kind: &'l str,
    },
    Replace {
        ino: u64,
        time_s: i64,
        size: u64,
        kind: &'l str,
    },
    Score,
    Message,
    Blank,
}

impl Record<'_> {
    fn time_s(&self) -> Option<i64> {
        match *self {
            Record::Create { time_s, .. }
            | Record::Delete { time_s, .. }
            | Record::Modify { time_s, .. }
            | Record::Replace { time_s, .. } => Some(time_s),
            Record::Score | Record::Message | Record::Blank => None,
        }
    }
}

impl<'l> Line<'l> {
    fn record(&self) -> Result<Record<'l>, PlaybackError> {
        let form = match self.text.first() {
            Some(b'C') => "C ino time size type",
            Some(b'D') => "D ino time size",
            Some(b'M') => "M ino time oldsize newsize type",
            Some(b'R') => "R ino time oldsize newsize oldtype newtype",
            Some(b'S') => return Ok(Record::Score),
            Some(_) => return Ok(Record::Message),
            None => return Ok(Record::Blank),
        };
        let mut words = [&b""[..]; 8];
        let mut count = 0;
        for word in self
            .text
            .split(u8::is_ascii_whitespace)
            .filter(|w| !w.is_empty())
        {
            if count == words.len() {
                return Err(self.bad(form, self.text));
            }
            words[count] = word;
            count += 1;
        }
        if count != form.split(' ').count() || words[0].len() != 1 {
            return Err(self.bad(form, self.text));
        }
        let ino = self.number(words[1], "an inode number")?;
        let time_s = self.time(words[2])?;
        let old = self.number(words[3], "a size in bytes")?;
        Ok(match words[0] {
            b"C" => Record::Create {
                ino,
                time_s,
                size: old,
                kind: self.kind(words[4])?,
            },
            b"D" => Record::Delete { ino, time_s },
            b"M" => Record::Modify {
                ino,
                time_s,
                size: self.number(words[4], "a size in bytes")?,
                kind: self.kind(words[5])?,
            },
            _ => {
                self.kind(words[5])?;
                Record::Replace {
                    ino,
                    time_s,
                    size: self.number(words[4], "a size in bytes")?,
                    kind: self.kind(words[6])?,
                }
            }
        })
    }

    fn bad(&self, expected: &str, found: &[u8]) -> PlaybackError {
        const MOST: usize = 130;
        let cut = &found[..found.len().min(MOST)];
        let dots = if cut.len() < found.len() { "..." } else { "" };
        PlaybackError::Bad {
            file: self.file.to_owned(),
            line: self.number,
            expected: format!("`{expected}`"),
            found: format!("`{}`{dots}", cut.escape_ascii()),
        }
    }

    fn number(&self, word: &[u8], what: &str) -> Result<u64, PlaybackError> {
        let digits = str::from_utf8(word).ok().filter(|w| !w.starts_with('+'));
        let number = digits.and_then(|w| w.parse().ok());
        number.ok_or_else(|| self.bad(what, word))
    }

    fn time(&self, word: &[u8]) -> Result<i64, PlaybackError> {
        let number = str::from_utf8(word).ok().and_then(|w| w.parse().ok());
        number.ok_or_else(|| self.bad("a time in whole seconds", word))
    }

    fn kind(&self, word: &'l [u8]) -> Result<&'l str, PlaybackError> {
        let kind = str::from_utf8(word).ok().filter(|_| is_type(word));
        kind.ok_or_else(|| self.bad("a type of up to 7 letters", word))
    }
}
