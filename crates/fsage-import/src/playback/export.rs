//! From a workload to `playback` text.

use super::error::BadGroups;
use super::numbers::Numbers;
use super::{DIRECTORY, ExportError, Groups, REGULAR, SYMLINK, is_type};
use fsage_core::{DirId, Event, EventSink, FileId, Op, SinkError, Verb, WorkloadHeader};
use rustc_hash::FxHashMap;
use std::io::Write;

const NS_PER_S: i64 = 1_000_000_000;

/// What was written, and what has no form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportSummary {
    /// `C` lines.
    pub creates: u64,
    /// `D` lines.
    pub deletes: u64,
    /// `M` lines.
    pub modifies: u64,
    /// `R` lines.
    pub replaces: u64,
    /// `SCORE` lines.
    pub days: u64,
    /// Files whose number is that of their inode on the source.
    pub numbers_kept: u64,
    /// Deletes of one of several names: the file lives on.
    pub names_dropped: u64,
    dropped: [u64; Verb::ALL.len()],
}

impl ExportSummary {
    /// Operations that have no form and were left out, by verb; those that did not occur are not named.
    pub fn dropped(&self) -> Vec<(Verb, u64)> {
        let counts = Verb::ALL.into_iter().zip(self.dropped);
        counts.filter(|(_, count)| *count > 0).collect()
    }
}

/// Writes the events of a workload as `playback` text.
///
/// A file gets the number of its inode on the source where it has one that is not in use, otherwise the lowest
/// unused number of its group (its hint, else its directory modulo the groups). Whatever changes content or
/// size is a modification of the whole file. What has no form (directories, names, reads, flushes) is left out
/// and counted; a further name keeps its inode alive until the last name goes.
pub struct Exporter<W: Write> {
    output: W,
    groups: Groups,
    epoch_s: i64,
    numbers: Numbers,
    /// Inode number of each name.
    files: FxHashMap<FileId, u64>,
    inodes: FxHashMap<u64, Inode>,
    /// The delete that may become a replacement.
    pending: Option<Deleted>,
    last_t_s: i64,
    summary: ExportSummary,
}

struct Inode {
    bytes: u64,
    names: u32,
    kind: Box<str>,
}

struct Deleted {
    number: u64,
    t_s: i64,
    bytes: u64,
    kind: Box<str>,
}

impl<W: Write> Exporter<W> {
    /// Starts a text. Of the workload's header the epoch is used: times are Unix times where it is known.
    ///
    /// # Errors
    /// There cannot be such groups.
    pub fn new(
        output: W,
        header: &WorkloadHeader,
        groups: Groups,
    ) -> Result<Exporter<W>, ExportError> {
        if !groups.are_usable() {
            return Err(BadGroups(groups).into());
        }
        Ok(Exporter {
            output,
            groups,
            epoch_s: header.epoch_unix_s.unwrap_or(0),
            numbers: Numbers::new(groups),
            files: FxHashMap::default(),
            inodes: FxHashMap::default(),
            pending: None,
            last_t_s: 0,
            summary: ExportSummary::default(),
        })
    }

    /// Writes one event.
    ///
    /// # Errors
    /// Writing fails, the event does not fit those before, or its group has no number left.
    pub fn write(&mut self, event: &Event) -> Result<(), ExportError> {
        if let Some(t_ns) = event.t_ns {
            self.last_t_s = self.epoch_s.saturating_add(t_ns.div_euclid(NS_PER_S));
        }
        let event = Step { event };
        match event.event.op {
            Op::Create { file, dir, bytes } => self.create(&event, file, dir, bytes, REGULAR),
            Op::Symlink { file, dir, bytes } => self.create(&event, file, dir, bytes, SYMLINK),
            Op::Append { file, bytes } => {
                let old = self.size(&event, file)?;
                let new = event.sum(old, bytes)?;
                self.modify(&event, file, new)
            }
            Op::Overwrite { file, range } => {
                let old = self.size(&event, file)?;
                let (offset, bytes) = range.unwrap_or((0, old));
                if event.sum(offset, bytes)? > old {
                    return Err(event.refused(format!("file {file} has only {old} bytes")));
                }
                self.modify(&event, file, old)
            }
            // A write of nothing changes no size.
            Op::Write { file, bytes: 0, .. } | Op::Punch { file, .. } => {
                let old = self.size(&event, file)?;
                self.modify(&event, file, old)
            }
            Op::Write {
                file,
                offset,
                bytes,
            }
            | Op::Fallocate {
                file,
                offset,
                bytes,
            } => {
                let new = event.sum(offset, bytes)?.max(self.size(&event, file)?);
                self.modify(&event, file, new)
            }
            Op::Rewrite { file, bytes } | Op::Truncate { file, bytes } => {
                self.modify(&event, file, bytes)
            }
            Op::Delete { file } => self.delete(&event, file),
            Op::Rename { file, replaced, .. } => {
                self.number(&event, file)?;
                self.drop_it(&event);
                match replaced {
                    Some(replaced) => self.delete(&event, replaced),
                    None => Ok(()),
                }
            }
            Op::Link { file, existing, .. } => {
                let number = self.number(&event, existing)?;
                self.name(&event, file, number)?;
                if let Some(inode) = self.inodes.get_mut(&number) {
                    inode.names = inode.names.saturating_add(1);
                }
                self.drop_it(&event);
                Ok(())
            }
            Op::Day => {
                self.flush()?;
                self.summary.days += 1;
                self.output.write_all(b"SCORE\n")?;
                Ok(())
            }
            Op::Mkdir { .. }
            | Op::Rmdir { .. }
            | Op::RenameDir { .. }
            | Op::Read { .. }
            | Op::Fsync { .. }
            | Op::Sync
            | Op::Remount
            | Op::Dump
            | Op::Cgs
            | Op::Geom
            | Op::Check
            | Op::Layout { .. } => {
                self.drop_it(&event);
                Ok(())
            }
        }
    }

    /// Writes what is still to be written, and gives the output back.
    ///
    /// # Errors
    /// Writing fails.
    pub fn finish(mut self) -> Result<(W, ExportSummary), ExportError> {
        self.flush()?;
        self.output.flush()?;
        Ok((self.output, self.summary))
    }

    fn drop_it(&mut self, step: &Step<'_>) {
        self.summary.dropped[step.event.op.verb() as usize] += 1;
    }

    fn number(&self, step: &Step<'_>, file: FileId) -> Result<u64, ExportError> {
        let number = self.files.get(&file).copied();
        number.ok_or_else(|| step.refused(format!("no file {file}")))
    }

    fn size(&self, step: &Step<'_>, file: FileId) -> Result<u64, ExportError> {
        let number = self.number(step, file)?;
        Ok(self.inodes.get(&number).map_or(0, |inode| inode.bytes))
    }

    fn name(&mut self, step: &Step<'_>, file: FileId, number: u64) -> Result<(), ExportError> {
        if self.files.contains_key(&file) {
            return Err(step.refused(format!("file {file} exists already")));
        }
        self.files.insert(file, number);
        Ok(())
    }

    fn create(
        &mut self,
        step: &Step<'_>,
        file: FileId,
        dir: DirId,
        bytes: u64,
        kind: &'static str,
    ) -> Result<(), ExportError> {
        if self.files.contains_key(&file) {
            return Err(step.refused(format!("file {file} exists already")));
        }
        let number = self.take_number(step, dir)?;
        self.name(step, file, number)?;
        let kind = step.kind().unwrap_or(kind);
        let t_s = self.last_t_s;
        if let Some(gone) = self.pending.take_if(|gone| gone.number == number) {
            self.summary.replaces += 1;
            let (old, old_kind) = (gone.bytes, gone.kind);
            writeln!(
                self.output,
                "R {number} {t_s} {old} {bytes} {old_kind} {kind}"
            )?;
        } else {
            self.flush()?;
            self.summary.creates += 1;
            writeln!(self.output, "C {number} {t_s} {bytes} {kind}")?;
        }
        let inode = Inode {
            bytes,
            names: 1,
            kind: kind.into(),
        };
        self.inodes.insert(number, inode);
        Ok(())
    }

    fn take_number(&mut self, step: &Step<'_>, dir: DirId) -> Result<u64, ExportError> {
        if let Some(ino) = step.event.src_ino
            && self.numbers.take(ino)
        {
            self.summary.numbers_kept += 1;
            return Ok(ino);
        }
        let count = self.groups.count;
        let line = step.event.line;
        let group = match step.event.hint_group {
            Some(hint) if hint < count => hint,
            Some(hint) => return Err(ExportError::NoGroup { line, hint, count }),
            None => (dir.0 % u64::from(count)) as u32,
        };
        let number = self.numbers.take_lowest(group);
        number.ok_or(ExportError::GroupFull {
            line,
            group,
            day: self.summary.days,
            inodes: self.groups.inodes_per_group,
        })
    }

    /// The file now has that size, and maybe other content.
    fn modify(&mut self, step: &Step<'_>, file: FileId, new: u64) -> Result<(), ExportError> {
        let number = self.number(step, file)?;
        self.flush()?;
        if let Some(inode) = self.inodes.get_mut(&number) {
            let old = inode.bytes;
            inode.bytes = new;
            // A directory never shrinks when it is played back, so one that does is no directory there.
            let kind = match &*inode.kind {
                DIRECTORY if new < old => REGULAR,
                kind => kind,
            };
            self.summary.modifies += 1;
            writeln!(
                self.output,
                "M {number} {} {old} {new} {kind}",
                self.last_t_s
            )?;
        }
        Ok(())
    }

    fn delete(&mut self, step: &Step<'_>, file: FileId) -> Result<(), ExportError> {
        let number = self.number(step, file)?;
        self.files.remove(&file);
        let Some(mut inode) = self.inodes.remove(&number) else {
            return Ok(());
        };
        inode.names -= 1;
        if inode.names > 0 {
            self.inodes.insert(number, inode);
            self.summary.names_dropped += 1;
            return Ok(());
        }
        self.flush()?;
        self.numbers.free(number);
        self.pending = Some(Deleted {
            number,
            t_s: self.last_t_s,
            bytes: inode.bytes,
            kind: inode.kind,
        });
        Ok(())
    }

    /// Writes the delete that no create of the same number followed.
    fn flush(&mut self) -> Result<(), ExportError> {
        if let Some(gone) = self.pending.take() {
            self.summary.deletes += 1;
            writeln!(self.output, "D {} {} {}", gone.number, gone.t_s, gone.bytes)?;
        }
        Ok(())
    }
}

impl<W: Write> EventSink for Exporter<W> {
    fn event(&mut self, event: Event) -> Result<(), SinkError> {
        Ok(self.write(&event)?)
    }
}

/// An event that is being written.
struct Step<'e> {
    event: &'e Event,
}

impl<'e> Step<'e> {
    /// The type that the event carries.
    fn kind(&self) -> Option<&'e str> {
        let mut words = self.event.extra.as_deref()?.split(' ');
        let kind = words.find_map(|word| word.strip_prefix("x-type="))?;
        is_type(kind.as_bytes()).then_some(kind)
    }

    fn sum(&self, a: u64, b: u64) -> Result<u64, ExportError> {
        let sum = a.checked_add(b);
        sum.ok_or_else(|| self.refused("a size of 2^64 bytes or more".to_owned()))
    }

    fn refused(&self, problem: String) -> ExportError {
        ExportError::State {
            line: self.event.line,
            verb: self.event.op.verb(),
            problem,
        }
    }
}
