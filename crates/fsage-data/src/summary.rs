//! What a workload is like, in numbers: one pass, memory for its live files.

use crate::histogram::Histogram;
use fsage_core::{Event, Op, Origin, TQuality, Verb};
use rustc_hash::FxHashMap;

/// Operations and the bytes that they write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// How many operations.
    pub ops: u64,
    /// Bytes that they write, as far as they say it themselves.
    pub bytes: u64,
}

impl Share {
    fn add(&mut self, bytes: u64) {
        self.ops += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// The numbers of a workload, counted as a replay counts them where there is room for everything: `day` and the
/// probes are no operations, an overwrite of a whole file writes its size. A file lives from its `create` to the
/// removal of its last name.
#[derive(Clone, Debug, Default)]
pub struct WorkloadSummary {
    /// All operations, without `day` and probes; bytes written.
    pub total: Share,
    verbs: [Share; Verb::ALL.len()],
    /// By origin; the last is without one.
    origins: [Share; Origin::ALL.len() + 1],
    /// By quality of the time; the last is without one.
    qualities: [Share; TQuality::ALL.len() + 1],
    /// First and last time, in ns since the epoch.
    pub times: Option<(i64, i64)>,
    /// Smallest and largest time.
    pub time_range: Option<(i64, i64)>,
    /// Events of unknown time.
    pub times_unknown: u64,
    /// Events whose time is under that of the one before.
    pub times_down: u64,
    /// Regular files alive now.
    pub live_files: u64,
    /// Most files ever alive.
    pub live_files_most: u64,
    /// Bytes of the files alive now, by their sizes.
    pub live_bytes: u64,
    /// Most of them ever.
    pub live_bytes_most: u64,
    /// Sizes given by `create`, in bytes.
    pub sizes: Histogram,
    /// Lives of deleted files whose times are known, in ns; negative ones as 0.
    pub lives_ns: Histogram,
    /// Lives of deleted files, in operations.
    pub lives_ops: Histogram,
    /// Operations that name a file which is not alive, or make one that is.
    pub unknown_files: u64,
    /// Sizes of files alive are counted in whole blocks of so many bytes.
    block_bytes: u64,
    files: Files,
}

impl WorkloadSummary {
    /// One in which the bytes of files alive are those of the blocks that they take.
    pub fn in_blocks(block_bytes: u64) -> WorkloadSummary {
        WorkloadSummary {
            block_bytes,
            ..WorkloadSummary::default()
        }
    }

    /// What a file of that size counts.
    fn taken(&self, bytes: u64) -> u64 {
        bytes
            .checked_next_multiple_of(self.block_bytes)
            .unwrap_or(bytes)
    }

    /// Takes the next event.
    pub fn add(&mut self, event: &Event) {
        let bytes = match event.op {
            Op::Overwrite { file, range: None } => {
                self.files.get_mut(file.0).map_or(0, |f| f.bytes)
            }
            _ => event.op.bytes_written(),
        };
        let verb = event.op.verb();
        if verb == Verb::Day || verb.is_probe() {
            self.verbs[verb as usize].add(0);
            self.add_time(event.t_ns);
            return;
        }
        self.total.add(bytes);
        self.verbs[event.op.verb() as usize].add(bytes);
        let origin = event.origin.map_or(Origin::ALL.len(), |o| o as usize);
        self.origins[origin].add(bytes);
        let quality = event.t_quality.map_or(TQuality::ALL.len(), |q| q as usize);
        self.qualities[quality].add(bytes);
        self.add_time(event.t_ns);
        if !self.apply(event) {
            self.unknown_files += 1;
        }
        self.live_files_most = self.live_files_most.max(self.live_files);
        self.live_bytes_most = self.live_bytes_most.max(self.live_bytes);
    }

    /// Operations by verb, in the order of the format, without those that do not occur.
    pub fn verbs(&self) -> impl Iterator<Item = (Verb, Share)> {
        let all = Verb::ALL.into_iter().zip(self.verbs);
        all.filter(|(_, share)| share.ops > 0)
    }

    /// Days that ended.
    pub fn days(&self) -> u64 {
        self.verbs[Verb::Day as usize].ops
    }

    /// Operations by origin, `None` being without one; without those that do not occur.
    pub fn origins(&self) -> impl Iterator<Item = (Option<Origin>, Share)> {
        let all = Origin::ALL
            .map(Some)
            .into_iter()
            .chain([None])
            .zip(self.origins);
        all.filter(|(_, share)| share.ops > 0)
    }

    /// Operations by quality of their time, `None` being without one; without those that do not occur.
    pub fn qualities(&self) -> impl Iterator<Item = (Option<TQuality>, Share)> {
        let all = TQuality::ALL
            .map(Some)
            .into_iter()
            .chain([None])
            .zip(self.qualities);
        all.filter(|(_, share)| share.ops > 0)
    }

    fn add_time(&mut self, t_ns: Option<i64>) {
        let Some(t) = t_ns else {
            self.times_unknown += 1;
            return;
        };
        let (first, last) = self.times.unwrap_or((t, t));
        self.times_down += u64::from(t < last);
        self.times = Some((first, t));
        let (low, high) = self.time_range.unwrap_or((t, t));
        self.time_range = Some((low.min(t), high.max(t)));
    }

    /// Follows the files; false if one is named that is not alive.
    fn apply(&mut self, event: &Event) -> bool {
        match event.op {
            Op::Create { file, bytes, .. } => {
                self.sizes.add(bytes);
                self.born(file.0, bytes, event.t_ns);
                true
            }
            Op::Symlink { file, .. } => {
                self.symlink(file.0);
                true
            }
            Op::Link { file, existing, .. } => self.files.link(file.0, existing.0),
            Op::Delete { file } => self.name_gone(file.0, event.t_ns),
            Op::Rename { file, replaced, .. } => {
                let known = self.files.names.contains_key(&file.0);
                replaced.is_none_or(|old| self.name_gone(old.0, event.t_ns)) && known
            }
            Op::Append { file, bytes } => self.resize(file.0, |size| size.saturating_add(bytes)),
            Op::Write {
                file,
                offset,
                bytes,
            }
            | Op::Fallocate {
                file,
                offset,
                bytes,
            } => self.resize(file.0, |size| size.max(offset.saturating_add(bytes))),
            Op::Rewrite { file, bytes } | Op::Truncate { file, bytes } => {
                self.resize(file.0, |_| bytes)
            }
            Op::Overwrite { file, .. }
            | Op::Read { file, .. }
            | Op::Fsync { file }
            | Op::Punch { file, .. } => self.files.names.contains_key(&file.0),
            _ => true,
        }
    }

    fn born(&mut self, name: u64, bytes: u64, t_ns: Option<i64>) {
        let file = File {
            bytes,
            names: 1,
            symlink: false,
            t_ns,
            op: self.total.ops,
        };
        // A name that is alive already is an error of the workload: the new file takes its place.
        if self.files.names.contains_key(&name) {
            self.name_gone(name, t_ns);
            self.unknown_files += 1;
        }
        self.files.insert(name, file);
        self.live_files += 1;
        self.live_bytes = self.live_bytes.saturating_add(self.taken(bytes));
    }

    /// A symbolic link has names as a file has, and is not counted as one.
    fn symlink(&mut self, name: u64) {
        if self.files.names.contains_key(&name) {
            self.name_gone(name, None);
            self.unknown_files += 1;
        }
        let link = File {
            bytes: 0,
            names: 1,
            symlink: true,
            t_ns: None,
            op: self.total.ops,
        };
        self.files.insert(name, link);
    }

    fn resize(&mut self, name: u64, new_size: impl Fn(u64) -> u64) -> bool {
        let Some(file) = self.files.get_mut(name) else {
            return false;
        };
        let before = file.bytes;
        file.bytes = new_size(before);
        let (before, now) = (before, file.bytes);
        self.live_bytes = self
            .live_bytes
            .saturating_sub(self.taken(before))
            .saturating_add(self.taken(now));
        true
    }

    fn name_gone(&mut self, name: u64, t_ns: Option<i64>) -> bool {
        match self.files.remove_name(name) {
            Removed::Nothing => return false,
            Removed::Name => {}
            Removed::File(file) if file.symlink => {}
            Removed::File(file) => self.gone(&file, t_ns),
        }
        true
    }

    fn gone(&mut self, file: &File, t_ns: Option<i64>) {
        self.live_files -= 1;
        self.live_bytes = self.live_bytes.saturating_sub(self.taken(file.bytes));
        self.lives_ops.add(self.total.ops - file.op);
        if let (Some(born), Some(died)) = (file.t_ns, t_ns) {
            self.lives_ns
                .add(u64::try_from(died.saturating_sub(born)).unwrap_or(0));
        }
    }
}

#[derive(Clone, Debug)]
struct File {
    bytes: u64,
    names: u32,
    symlink: bool,
    t_ns: Option<i64>,
    /// Number of the operation that made it.
    op: u64,
}

/// Files by name. Slots of files that are gone are used again.
#[derive(Clone, Debug, Default)]
struct Files {
    names: FxHashMap<u64, usize>,
    slots: Vec<File>,
    free: Vec<usize>,
}

impl Files {
    fn insert(&mut self, name: u64, file: File) {
        let slot = if let Some(slot) = self.free.pop() {
            self.slots[slot] = file;
            slot
        } else {
            self.slots.push(file);
            self.slots.len() - 1
        };
        self.names.insert(name, slot);
    }

    fn get_mut(&mut self, name: u64) -> Option<&mut File> {
        self.names.get(&name).map(|slot| &mut self.slots[*slot])
    }

    fn link(&mut self, name: u64, existing: u64) -> bool {
        let Some(slot) = self.names.get(&existing).copied() else {
            return false;
        };
        if self.names.contains_key(&name) {
            return false;
        }
        self.slots[slot].names += 1;
        self.names.insert(name, slot);
        true
    }

    fn remove_name(&mut self, name: u64) -> Removed {
        let Some(slot) = self.names.remove(&name) else {
            return Removed::Nothing;
        };
        self.slots[slot].names -= 1;
        if self.slots[slot].names > 0 {
            return Removed::Name;
        }
        self.free.push(slot);
        Removed::File(self.slots[slot].clone())
    }
}

/// What the removal of a name took away.
enum Removed {
    /// There was no such name.
    Nothing,
    /// The name alone: the file has others.
    Name,
    /// The last name, and the file with it.
    File(File),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OpsReader;

    fn summary(text: &str) -> WorkloadSummary {
        let mut reader = OpsReader::new(text.as_bytes(), "t.ops").unwrap();
        let mut summary = WorkloadSummary::default();
        while let Some(event) = reader.next_event().unwrap() {
            summary.add(&event);
        }
        summary
    }

    #[test]
    fn a_file_lives_until_its_last_name_goes() {
        let s = summary("@0 create 1 0 100\nlink 2 1 0\n@1 delete 1\n@3 rename 2 0\n@5 delete 2\n");
        assert_eq!((s.live_files, s.live_files_most), (0, 1));
        assert_eq!(s.lives_ns.percentile(100), Some(5_000_000_000));
        assert_eq!(s.lives_ops.percentile(100), Some(4));
        assert_eq!(s.unknown_files, 0);
    }

    #[test]
    fn sizes_follow_every_kind_of_write() {
        let s = summary(
            "create 1 0 100\nappend 1 50\nwrite 1 200 8\nwrite 1 0 8\ntruncate 1 300\ncreate 2 0 5\n\
             rewrite 2 7\nsymlink 3 0 5\nrename 1 0 2\nappend 9 1\ndelete 9\nday x\n",
        );
        assert_eq!((s.live_files, s.live_files_most), (1, 2));
        assert_eq!((s.live_bytes, s.live_bytes_most), (300, 307));
        assert_eq!(
            s.total,
            Share {
                ops: 11,
                bytes: 179
            }
        );
        assert_eq!((s.unknown_files, s.days(), s.times_unknown), (2, 1, 12));
        assert_eq!(s.sizes.count(), 2);
    }

    #[test]
    fn shares_add_up() {
        let s = summary(
            "@5 create 1 0 100 origin=trace tq=exact\n@4 create 2 0 10 origin=trace\n@6 delete 1\n",
        );
        let origins: Vec<_> = s.origins().collect();
        assert_eq!(origins[0].1, Share { ops: 2, bytes: 110 });
        assert_eq!((origins[0].0, origins[1].0), (Some(Origin::Trace), None));
        assert_eq!(s.qualities().count(), 2);
        assert_eq!(
            (s.times_down, s.times),
            (1, Some((5_000_000_000, 6_000_000_000)))
        );
        assert_eq!(s.time_range, Some((4_000_000_000, 6_000_000_000)));
    }
}
