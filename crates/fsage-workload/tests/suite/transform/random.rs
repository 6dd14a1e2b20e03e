//! Random workloads that can be done, with everything that a workload may have.

use fsage_core::{DirId, Event, EventSource, FileId, Op, Origin, Rng};
use fsage_core::{SinkError, TQuality, WorkloadHeader};

pub const HOUR: i64 = 3_600_000_000_000;
pub const DAY: i64 = 24 * HOUR;

/// What kind of workload.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    pub seed: u64,
    pub days: u64,
    /// Files at the start, and about as many later.
    pub files: u64,
    /// Directories are groups: none comes or goes, and nothing has a name.
    pub groups: Option<u64>,
    /// Renames and links occur.
    pub moves: bool,
}

struct Dir {
    id: u64,
    parent: u64,
}

struct File {
    id: u64,
    dir: u64,
    size: u64,
    symlink: bool,
    linked: bool,
}

struct State {
    style: Style,
    rng: Rng,
    dirs: Vec<Dir>,
    files: Vec<File>,
    next_file: u64,
    next_dir: u64,
    events: Vec<Event>,
    now: i64,
    initial: bool,
}

impl State {
    fn put(&mut self, op: Op, name: Option<String>) {
        let mut event = Event::new(op).at(self.now);
        let origin = if self.initial {
            Origin::Initial
        } else {
            Origin::Trace
        };
        event = event.from_source(origin, TQuality::Exact);
        if let (Some(name), None) = (name, self.style.groups) {
            event = event.named(name.as_bytes());
        }
        if let (Some(_), Op::Create { dir, .. }) = (self.style.groups, op) {
            event.hint_group = Some(dir.0 as u32);
        }
        self.events.push(event);
    }

    fn size(&mut self) -> u64 {
        self.rng.log_normal(8000.0, 1.5) as u64
    }

    fn any_dir(&mut self) -> u64 {
        let at = self.rng.below(self.dirs.len() as u64) as usize;
        self.dirs[at].id
    }

    fn create(&mut self) -> usize {
        let (dir, size) = (self.any_dir(), self.size());
        self.next_file += 1;
        let id = self.next_file;
        let symlink = self.rng.chance(0.05);
        let (file, at) = (FileId(id), DirId(dir));
        let op = if symlink {
            Op::Symlink {
                file,
                dir: at,
                bytes: 20,
            }
        } else {
            Op::Create {
                file,
                dir: at,
                bytes: size,
            }
        };
        self.put(op, Some(format!("n{id}")));
        self.files.push(File {
            id,
            dir,
            size: if symlink { 20 } else { size },
            symlink,
            linked: false,
        });
        self.files.len() - 1
    }

    fn delete(&mut self, at: usize) {
        let file = self.files.remove(at);
        self.put(
            Op::Delete {
                file: FileId(file.id),
            },
            None,
        );
    }

    fn mkdir(&mut self) {
        let parent = self.any_dir();
        self.next_dir += 1;
        let id = self.next_dir;
        let op = Op::Mkdir {
            dir: DirId(id),
            parent: (parent != 0).then_some(DirId(parent)),
        };
        self.put(op, Some(format!("d{id}")));
        self.dirs.push(Dir { id, parent });
    }

    /// A whole directory, files first; only those without directories in them.
    fn remove_dir(&mut self, id: u64) {
        while let Some(at) = self.files.iter().position(|f| f.dir == id) {
            self.delete(at);
        }
        self.dirs.retain(|d| d.id != id);
        self.put(Op::Rmdir { dir: DirId(id) }, None);
    }

    fn change(&mut self, at: usize) {
        let bytes = self.size();
        let (id, size) = (FileId(self.files[at].id), self.files[at].size);
        if self.files[at].symlink || self.files[at].linked {
            return;
        }
        let offset = self.rng.below(size + 1);
        let (op, after) = match self.rng.below(7) {
            0 => (
                Op::Append {
                    file: id,
                    bytes: bytes / 8,
                },
                size + bytes / 8,
            ),
            1 => (Op::Rewrite { file: id, bytes }, bytes),
            2 => (
                Op::Write {
                    file: id,
                    offset,
                    bytes: bytes / 4,
                },
                if bytes / 4 == 0 {
                    size
                } else {
                    size.max(offset + bytes / 4)
                },
            ),
            3 => (
                Op::Overwrite {
                    file: id,
                    range: Some((offset, size - offset)),
                },
                size,
            ),
            4 => (
                Op::Truncate {
                    file: id,
                    bytes: offset,
                },
                offset,
            ),
            5 => (
                Op::Overwrite {
                    file: id,
                    range: None,
                },
                size,
            ),
            _ => (
                Op::Read {
                    file: id,
                    range: Some((offset, size - offset)),
                },
                size,
            ),
        };
        self.files[at].size = after;
        self.put(op, None);
    }

    fn some_move(&mut self) {
        let at = self.rng.below(self.files.len() as u64) as usize;
        let dir = self.any_dir();
        match self.rng.below(4) {
            0 => {
                // Over another one, as editors do.
                let there = self.files.iter().position(|f| f.dir == dir);
                let replaced = there.filter(|there| *there != at && !self.files[*there].linked);
                self.files[at].dir = dir;
                let op = Op::Rename {
                    file: FileId(self.files[at].id),
                    dir: DirId(dir),
                    replaced: replaced.map(|r| FileId(self.files[r].id)),
                };
                let name = match replaced {
                    Some(r) => format!("n{}", self.files[r].id),
                    None => format!("m{}-{}", self.files[at].id, self.events.len()),
                };
                let id = self.files[at].id;
                self.put(op, Some(name));
                if let Some(r) = replaced {
                    // The name is taken for good: nothing replaces this file by that name again.
                    self.files.remove(r);
                    let at = self.files.iter().position(|f| f.id == id).unwrap();
                    self.files[at].linked = true;
                }
            }
            1 if !self.files[at].symlink => {
                self.next_file += 1;
                let id = self.next_file;
                let op = Op::Link {
                    file: FileId(id),
                    existing: FileId(self.files[at].id),
                    dir: DirId(dir),
                };
                self.put(op, Some(format!("n{id}")));
                self.files[at].linked = true;
                self.files.push(File {
                    id,
                    dir,
                    size: 0,
                    symlink: false,
                    linked: true,
                });
            }
            2 if self.dirs.len() > 2 => {
                let moved = 1 + self.rng.below(self.dirs.len() as u64 - 1) as usize;
                let id = self.dirs[moved].id;
                let mut above = dir;
                while above != 0 && above != id {
                    above = self.dirs.iter().find(|d| d.id == above).unwrap().parent;
                }
                if above != id {
                    self.dirs[moved].parent = dir;
                    let op = Op::RenameDir {
                        dir: DirId(id),
                        parent: DirId(dir),
                    };
                    let name = format!("e{id}-{}", self.events.len());
                    self.put(op, Some(name));
                }
            }
            _ => {}
        }
    }

    fn step(&mut self, wanted: u64) {
        let there = self.files.len() as u64;
        match self.rng.below(20) {
            0..=5 if there < wanted + wanted / 10 => {
                self.create();
            }
            6..=9 if there * 10 > wanted * 9 => {
                let at = self.rng.below(there) as usize;
                self.delete(at);
            }
            10 | 11 => {
                // Short life.
                let at = self.create();
                if !self.files[at].symlink {
                    self.change(at);
                }
                self.now += HOUR / 60;
                self.delete(at);
            }
            12 if self.style.groups.is_none() && self.dirs.len() < 40 => self.mkdir(),
            13 if self.style.groups.is_none() && self.dirs.len() > 20 => {
                let leaf = self.dirs.iter().skip(1).map(|d| d.id);
                let mut leaf = leaf.filter(|id| self.dirs.iter().all(|d| d.parent != *id));
                if let Some(id) = leaf.next() {
                    self.remove_dir(id);
                }
            }
            14 if self.style.moves && there > 1 => self.some_move(),
            _ if there > 0 => {
                let at = self.rng.below(there) as usize;
                self.change(at);
            }
            _ => {}
        }
    }
}

/// Its events. A `day` ends every day but some; the first day is the initial population.
pub fn workload(style: Style) -> Vec<Event> {
    let mut s = State {
        style,
        rng: Rng::new(style.seed),
        dirs: vec![Dir { id: 0, parent: 0 }],
        files: Vec::new(),
        next_file: 0,
        next_dir: 0,
        events: Vec::new(),
        now: 0,
        initial: true,
    };
    for group in 1..style.groups.unwrap_or(8) {
        s.next_dir = group;
        let op = Op::Mkdir {
            dir: DirId(group),
            parent: None,
        };
        s.put(op, Some(format!("d{group}")));
        s.dirs.push(Dir {
            id: group,
            parent: 0,
        });
    }
    while (s.files.len() as u64) < style.files {
        s.now += HOUR / 3600;
        s.create();
    }
    s.now = DAY - 1;
    s.events.push(Event::day("initial").at(s.now));
    s.initial = false;
    for day in 1..style.days {
        let steps = s.rng.below(style.files / 2);
        for step in 0..steps {
            s.now = day as i64 * DAY + DAY * step as i64 / steps as i64;
            s.step(style.files);
        }
        // Nights without a `day` happen.
        if s.rng.chance(0.9) || day + 1 == style.days {
            s.now = (day as i64 + 1) * DAY - 1;
            s.events.push(Event::day(&day.to_string()).at(s.now));
        }
    }
    s.events
}

/// Reads events that lie in memory.
pub struct Recorded<'a>(pub WorkloadHeader, pub std::slice::Iter<'a, Event>);

impl EventSource for Recorded<'_> {
    fn header(&self) -> &WorkloadHeader {
        &self.0
    }

    fn next_event(&mut self) -> Result<Option<Event>, SinkError> {
        Ok(self.1.next().cloned())
    }
}
