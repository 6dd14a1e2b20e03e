//! One copy of a workload, under numbers and at times of its own.

use super::left::Left;
use super::part::Part;
use super::varied::Varied;
use super::{Clones, ClonesError, Shift, makes_group};
use crate::date::DAY_NS;
use fsage_core::{DirId, Event, EventSource, FileId, IdMut, Op, Origin, Rng, TQuality};

/// One copy, an event ahead.
pub(super) struct Copied<S> {
    /// Until it is over.
    source: Option<S>,
    epoch_unix_s: i64,
    count: u64,
    index: u64,
    shift_ns: i64,
    /// The days of the workload are kept, and this copy gives them.
    gives_days: bool,
    place: Place,
    /// What is made of the copy, if it is not all.
    part: Option<Part>,
    /// The `mkdir` of the copy's own directory, until it is made.
    directory: Option<Event>,
    next: Option<Event>,
    /// Time of the last event, moved; a clock that goes back does not change the order within a copy.
    t_ns: Option<i64>,
    /// What is to be removed later, if anything is; and after how many days.
    left: Option<Left>,
    stays_days: u64,
    /// What draws other sizes, if anything does.
    varied: Option<Varied>,
    /// The workload has made a directory 0 of its own. Copies are renumbered as they are read, without a look at what
    /// fits: whoever replays them decides that, by the same rules as for the workload.
    zero_is_made: bool,
}

/// Where the copy lies.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// In a directory of its own.
    Directory,
    /// In directories of the root that stand for groups: so many in the workload, of which so many come next.
    Groups { count: u64, next: u64 },
}

impl<S: EventSource> Copied<S> {
    pub fn new(
        clones: &Clones,
        index: u64,
        groups: Option<u64>,
        part: Option<Part>,
        source: S,
    ) -> Result<Copied<S>, ClonesError> {
        let shift_ns = match clones.shift {
            Shift::Days { .. } | Shift::Every { .. } => i64::try_from(clones.shift_days(index))
                .ok()
                .and_then(|days| days.checked_mul(DAY_NS))
                .ok_or(ClonesError::TooLarge("times"))?,
            Shift::WithinDay if index == 0 => 0,
            Shift::WithinDay => {
                let mut rng = Rng::new(clones.seed).stream("clone shift within a day", index);
                -(rng.between(1, DAY_NS as u64 - 1) as i64)
            }
        };
        let op = Op::Mkdir {
            dir: DirId(1 + index),
            parent: Some(DirId::ROOT),
        };
        let name = match clones.shift {
            Shift::Every { .. } => format!("round-{}", index + 1),
            Shift::Days { .. } | Shift::WithinDay => format!("clone-{}", index + 1),
        };
        let directory = Event::new(op)
            .named(name.as_bytes())
            .from_source(Origin::Generated, TQuality::Inferred);
        Ok(Copied {
            epoch_unix_s: source.header().epoch_unix_s.unwrap_or(0),
            source: Some(source),
            count: clones.count,
            index,
            shift_ns,
            gives_days: clones.shift == Shift::WithinDay && index == 0,
            place: groups.map_or(Place::Directory, |count| Place::Groups { count, next: 1 }),
            part,
            directory: groups.is_none().then_some(directory),
            next: None,
            t_ns: None,
            left: matches!(clones.shift, Shift::Every { .. }).then(Left::default),
            stays_days: match clones.shift {
                Shift::Every { days, keep, .. } => days.saturating_mul(keep),
                Shift::Days { .. } | Shift::WithinDay => 0,
            },
            varied: match clones.shift {
                Shift::Every { vary_percent, .. } if vary_percent > 0 && index > 0 => {
                    Some(Varied::new(clones.seed, index, vary_percent))
                }
                _ => None,
            },
            zero_is_made: false,
        })
    }

    /// Unix time of time 0 of the workload.
    pub fn epoch_unix_s(&self) -> i64 {
        self.epoch_unix_s
    }

    /// The copy's own directory, once.
    pub fn take_directory(&mut self) -> Option<Event> {
        self.directory.take()
    }

    /// What was read.
    pub fn take_event(&mut self) -> Option<Event> {
        self.next.take()
    }

    /// What removes all that is left of the copy, its own directory last.
    ///
    /// # Errors
    /// It is not over.
    pub fn removal(&mut self) -> Result<Vec<Event>, ClonesError> {
        if self.source.is_some() {
            return Err(ClonesError::NotOver(self.stays_days));
        }
        let left = self.left.take().unwrap_or_default();
        Ok(left.removal(DirId(1 + self.index)))
    }

    /// Moves over the border of what is made of the copy.
    pub fn border_moves(&self) -> u64 {
        self.part.as_ref().map_or(0, Part::border_moves)
    }

    /// Reads the next operation; gives its time for the order.
    pub fn read(&mut self) -> Result<Option<i64>, ClonesError> {
        loop {
            let second = self.part.as_mut().and_then(Part::take_second);
            let is_new = second.is_none();
            let read = match second {
                Some(event) => Some(event),
                None => match &mut self.source {
                    Some(source) => source.next_event().map_err(ClonesError::Source)?,
                    None => None,
                },
            };
            let Some(mut event) = read else {
                self.source = None;
                return Ok(None);
            };
            let is_left_out = if event.op == Op::Day {
                !self.gives_days
            } else {
                event.op.verb().is_probe()
            };
            if is_left_out {
                continue;
            }
            let moved = event
                .t_ns
                .map(|t| t.checked_add(self.shift_ns))
                .map_or(Ok(self.t_ns), |t| {
                    t.ok_or(ClonesError::TooLarge("times")).map(Some)
                })?
                .ok_or(ClonesError::NoTimes)?;
            let t_ns = self.t_ns.map_or(moved, |before| before.max(moved));
            self.t_ns = Some(t_ns);
            let is_group = self.is_next_group(&event);
            if let Some(part) = self.part.as_mut().filter(|_| is_new) {
                let Some(kept) = part.keep(event) else {
                    continue;
                };
                event = kept;
            }
            if is_group {
                // Made for all copies at once.
                continue;
            }
            event.t_ns = Some(moved);
            if let Some(varied) = &mut self.varied {
                event.op = varied.vary(event.op);
            }
            event.op = self.renumber(event.op)?;
            if let Some(left) = &mut self.left {
                left.observe(&event.op);
            }
            event.line = 0;
            if self.shift_ns != 0 {
                event.t_quality = Some(TQuality::Shifted);
            }
            if self.index != 0 {
                // The source had the inode once.
                event.src_ino = None;
                event.src_gen = None;
            }
            if self.index != 0 || self.part.is_some() {
                event.hint_group = self.hint(event.hint_group)?;
            }
            self.next = Some(event);
            return Ok(Some(t_ns));
        }
    }

    /// Whether the event makes the directory of the group that comes next.
    fn is_next_group(&mut self, event: &Event) -> bool {
        match &mut self.place {
            Place::Groups { count, next } if *next < *count && makes_group(event, *next) => {
                *next += 1;
                true
            }
            _ => false,
        }
    }

    /// Id `i` of copy `c` of `n` is `i * n + c`: no two meet, and small ids stay small.
    fn file(&self, file: FileId) -> Result<FileId, ClonesError> {
        let id = file.0.checked_mul(self.count);
        id.and_then(|id| id.checked_add(self.index))
            .map(FileId)
            .ok_or(ClonesError::TooLarge("file ids"))
    }

    /// As with files, after the root and the directories of the copies, which take the place of the root; or
    /// after the groups of the copies.
    fn dir(&self, dir: DirId) -> Result<DirId, ClonesError> {
        let is_root = dir == DirId::ROOT && !self.zero_is_made;
        let id = match self.place {
            Place::Directory if is_root => return Ok(DirId(1 + self.index)),
            Place::Directory => {
                let id = dir.0.checked_add(1).and_then(|d| d.checked_mul(self.count));
                id.and_then(|id| id.checked_add(1 + self.index))
            }
            Place::Groups { count, .. } if is_root || (dir.0 > 0 && dir.0 < count) => {
                self.group(dir.0, count)
            }
            Place::Groups { count, .. } => {
                let id = dir.0.checked_add(count);
                let id = id.and_then(|d| d.checked_mul(self.count));
                id.and_then(|id| id.checked_add(self.index))
            }
        };
        id.map(DirId).ok_or(ClonesError::TooLarge("directory ids"))
    }

    /// Where a group of the workload lies in this copy.
    fn group(&self, group: u64, count: u64) -> Option<u64> {
        let at = match &self.part {
            Some(part) => part.position(group),
            None => group,
        };
        self.index.checked_mul(count)?.checked_add(at)
    }

    fn hint(&self, hint: Option<u32>) -> Result<Option<u32>, ClonesError> {
        let Place::Groups { count, .. } = self.place else {
            return Ok(None);
        };
        let Some(hint) = hint.filter(|hint| u64::from(*hint) < count) else {
            return Ok(None);
        };
        let group = self.group(u64::from(hint), count);
        let group = group.and_then(|group| u32::try_from(group).ok());
        group.ok_or(ClonesError::TooLarge("groups")).map(Some)
    }

    fn renumber(&mut self, mut op: Op) -> Result<Op, ClonesError> {
        assert!(!op.verb().is_probe(), "probes are not copied");
        if let Op::Mkdir { dir, parent } = &mut op {
            // `mkdir 0` in the root, before anything else names it, makes an ordinary directory.
            let above = self.dir(parent.unwrap_or(DirId::ROOT))?;
            self.zero_is_made |= *dir == DirId::ROOT;
            *dir = self.dir(*dir)?;
            *parent = Some(above);
            return Ok(op);
        }
        op.visit_ids(|id| {
            match id {
                IdMut::File(file) => *file = self.file(*file)?,
                IdMut::Dir(dir) => *dir = self.dir(*dir)?,
            }
            Ok(())
        })?;
        Ok(op)
    }
}
