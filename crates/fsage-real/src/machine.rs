//! Settings of the machine that a regime needs, and putting them back.
//!
//! A kernel lays files out the same each time only if nothing is written back but at the marks of the workload, and if
//! whoever writes back is on the processor of whoever writes. Some of that belongs to the whole machine. While at least
//! one process holds the settings they are as a regime needs them; the last one puts back what was there. What was
//! there is kept in a file of `/run`, so that after a kill the next process that mounts an image puts it back.

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use thiserror::Error;

/// Processors that may write back.
const WRITEBACK_CPUS: &str = "sys/devices/virtual/workqueue/writeback/cpumask";
/// Hundredths of a second between two looks for what is old enough to be written back: a day.
const INTERVAL: (&str, &str) = ("proc/sys/vm/dirty_writeback_centisecs", "8640000");
/// What XFS does by itself after a time, which is set to the longest that there is: hundredths of a second between two
/// pushes of the log, and seconds after which files lose what they have beyond their ends. Where its driver is not
/// loaded they are not there.
const OF_XFS: [(&str, &str); 2] = [
    ("proc/sys/fs/xfs/xfssyncd_centisecs", "720000"),
    ("proc/sys/fs/xfs/speculative_prealloc_lifetime", "86400"),
];
/// Percent of memory that may be dirty: before it is written back in the background, and before writers have to wait.
const SHARES: [(&str, &str); 2] = [
    ("proc/sys/vm/dirty_background_ratio", "80"),
    ("proc/sys/vm/dirty_ratio", "90"),
];
/// Bytes that count instead of those shares, if they are not 0.
const BYTES: [&str; 2] = [
    "proc/sys/vm/dirty_background_bytes",
    "proc/sys/vm/dirty_bytes",
];

/// Why the machine cannot be set up.
#[derive(Debug, Error)]
#[error(
    "{path}: {doing}: {source}; a regime needs settings of the machine: run it as root, outside of a container"
)]
pub struct MachineError {
    /// The file.
    path: PathBuf,
    /// What was being done.
    doing: &'static str,
    /// What it failed with.
    #[source]
    source: io::Error,
}

impl MachineError {
    /// The kind of the system's error.
    pub fn kind(&self) -> io::ErrorKind {
        self.source.kind()
    }
}

fn failed(path: &Path, doing: &'static str) -> impl FnOnce(io::Error) -> MachineError {
    move |source| MachineError {
        path: path.to_owned(),
        doing,
        source,
    }
}

/// Where the settings are, and the files by which processes share them.
#[derive(Debug)]
struct Files {
    /// `/`, but in tests.
    root: PathBuf,
    /// Locked while settings change.
    gate: PathBuf,
    /// Locked, together with others, by whoever needs the settings; holds what they were before, a line each: value,
    /// path.
    before: PathBuf,
}

impl Files {
    fn below(root: &Path) -> Files {
        Files {
            root: root.to_owned(),
            gate: root.join("run/fsage-machine.lock"),
            before: root.join("run/fsage-machine"),
        }
    }

    fn open(path: &Path) -> Result<File, MachineError> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let opened = options.mode(0o600).open(path);
        opened.map_err(failed(path, "opening it"))
    }

    fn pass_gate(&self) -> Result<File, MachineError> {
        let gate = Files::open(&self.gate)?;
        lock(&gate, FlockOperation::LockExclusive).map_err(failed(&self.gate, "locking it"))?;
        Ok(gate)
    }

    fn get(&self, setting: &str) -> Result<String, MachineError> {
        let path = self.root.join(setting);
        let text = fs::read_to_string(&path).map_err(failed(&path, "reading it"))?;
        Ok(text.trim().to_owned())
    }

    /// The kernel reads a setting in one write.
    fn set(&self, setting: &str, value: &str) -> Result<(), MachineError> {
        let path = self.root.join(setting);
        let mut options = OpenOptions::new();
        let opened = options.write(true).truncate(true).open(&path);
        let written = opened.and_then(|mut file| file.write_all(value.as_bytes()));
        written.map_err(failed(&path, "setting it"))
    }

    /// What the settings are now, as [`put_back`](Self::put_back) sets them again.
    fn all(&self) -> Result<Vec<(&'static str, String)>, MachineError> {
        let mut all = vec![
            (WRITEBACK_CPUS, self.get(WRITEBACK_CPUS)?),
            (INTERVAL.0, self.get(INTERVAL.0)?),
        ];
        for ((share, _), bytes) in SHARES.into_iter().zip(BYTES) {
            // Either of the two is 0.
            let counts = if self.get(bytes)? == "0" {
                share
            } else {
                bytes
            };
            all.push((counts, self.get(counts)?));
        }
        for (setting, _) in self.of_xfs() {
            all.push((setting, self.get(setting)?));
        }
        Ok(all)
    }

    /// Settings of XFS, if its driver is loaded.
    fn of_xfs(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let settings = OF_XFS.into_iter();
        settings.filter(|(setting, _)| self.root.join(setting).exists())
    }

    /// What is kept, without its end; nothing if it was never finished, as nothing had been set then.
    fn kept(&self, before: &mut File) -> Result<String, MachineError> {
        let mut text = String::new();
        let read = before.seek(SeekFrom::Start(0));
        let read = read.and_then(|_| before.read_to_string(&mut text));
        read.map_err(failed(&self.before, "reading it"))?;
        Ok(text.strip_suffix("end\n").unwrap_or_default().to_owned())
    }

    /// Puts back what is kept, if anything is. The file is empty afterwards.
    fn put_back(&self, before: &mut File) -> Result<(), MachineError> {
        for line in self.kept(before)?.lines() {
            if let Some((value, setting)) = line.rsplit_once(' ') {
                self.set(setting, value)?;
            }
        }
        let emptied = before.set_len(0).and_then(|()| before.sync_all());
        emptied.map_err(failed(&self.before, "emptying it"))
    }

    /// Keeps settings beside those that are kept.
    fn keep(
        &self,
        before: &mut File,
        settings: &[(&'static str, String)],
    ) -> Result<(), MachineError> {
        let mut text = self.kept(before)?;
        text.extend(settings.iter().map(|(s, v)| format!("{v} {s}\n")));
        text.push_str("end\n");
        let written = before.seek(SeekFrom::Start(0));
        let written = written.and_then(|_| before.write_all(text.as_bytes()));
        let written = written.and_then(|()| before.sync_all());
        written.map_err(failed(&self.before, "writing it"))
    }

    fn change(&self, cpu: usize) -> Result<(), MachineError> {
        self.set(WRITEBACK_CPUS, &mask_of(cpu))?;
        self.set(INTERVAL.0, INTERVAL.1)?;
        let settings = SHARES.into_iter().chain(self.of_xfs());
        { settings }.try_for_each(|(setting, value)| self.set(setting, value))
    }

    /// Sets what is there only since a driver was loaded after somebody else had set up the machine.
    fn change_more(&self, before: &mut File) -> Result<(), MachineError> {
        let kept = self.kept(before)?;
        let is_kept = |setting: &str| kept.lines().any(|line| line.ends_with(setting));
        let more: Vec<_> = self.of_xfs().filter(|(s, _)| !is_kept(s)).collect();
        if more.is_empty() {
            return Ok(());
        }
        let values = more.iter().map(|(s, _)| Ok((*s, self.get(s)?)));
        self.keep(before, &values.collect::<Result<Vec<_>, MachineError>>()?)?;
        { more.into_iter() }.try_for_each(|(setting, value)| self.set(setting, value))
    }

    /// Takes part in the settings, as the first one or beside others; gives the file whose lock stands for that, and
    /// the processor.
    fn enter(&self, cpu: usize) -> Result<(File, usize), MachineError> {
        let _gate = self.pass_gate()?;
        let mut users = Files::open(&self.before)?;
        let cpu = if is_alone(&users).map_err(failed(&self.before, "locking it"))? {
            self.put_back(&mut users)?;
            self.keep(&mut users, &self.all()?)?;
            if let Err(error) = self.change(cpu) {
                self.put_back(&mut users)?;
                return Err(error);
            }
            cpu
        } else {
            self.change_more(&mut users)?;
            cpu_of(&self.get(WRITEBACK_CPUS)?).unwrap_or(cpu)
        };
        lock(&users, FlockOperation::LockShared).map_err(failed(&self.before, "locking it"))?;
        Ok((users, cpu))
    }

    fn leave(&self, mut users: File) -> Result<(), MachineError> {
        let _gate = self.pass_gate()?;
        if is_alone(&users).map_err(failed(&self.before, "locking it"))? {
            self.put_back(&mut users)?;
        }
        Ok(())
    }

    /// Puts back what somebody left who was killed.
    fn tidy(&self) -> Result<(), MachineError> {
        let is_kept = |meta: fs::Metadata| meta.len() > 0;
        if fs::metadata(&self.before).is_ok_and(is_kept) {
            self.leave(Files::open(&self.before)?)?;
        }
        Ok(())
    }
}

fn lock(file: &File, how: FlockOperation) -> io::Result<()> {
    loop {
        match flock(file, how) {
            Err(Errno::INTR) => {}
            result => return Ok(result?),
        }
    }
}

/// Whether nobody else has a lock on it; then this one has.
fn is_alone(users: &File) -> io::Result<bool> {
    match flock(users, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

/// A processor as the masks of the kernel have it: groups of 32 bits, the highest first.
fn mask_of(cpu: usize) -> String {
    let first = format!("{:x}", 1_u32 << (cpu % 32));
    let groups = std::iter::repeat_n("00000000".to_owned(), cpu / 32);
    let groups: Vec<String> = std::iter::once(first).chain(groups).collect();
    groups.join(",")
}

/// The only processor of a mask.
fn cpu_of(mask: &str) -> Option<usize> {
    let mut cpus = Vec::new();
    for (at, group) in mask.split(',').rev().enumerate() {
        let bits = u32::from_str_radix(group, 16).ok()?;
        cpus.extend(
            (0..32)
                .filter(|bit| bits >> bit & 1 == 1)
                .map(|bit| at * 32 + bit),
        );
    }
    match cpus[..] {
        [cpu] => Some(cpu),
        _ => None,
    }
}

/// The machine is as a regime needs it, and every thread of this process is on one processor, until this is dropped.
#[derive(Debug)]
pub struct Held {
    files: Files,
    users: Option<File>,
    cpus_before: CpuSet,
}

impl Drop for Held {
    fn drop(&mut self) {
        // Nothing more can be done; what is kept is put back by the next one.
        let _ = pin_all(&self.cpus_before);
        if let Some(users) = self.users.take() {
            let _ = self.files.leave(users);
        }
    }
}

/// Pages that the kernel has looked through for some to reclaim, since it was booted; none where it does not say. Who
/// reclaims memory writes back what nobody asked to be written, and disturbs a regime.
#[must_use]
pub fn pages_looked_through() -> Option<u64> {
    let counts = fs::read_to_string("/proc/vmstat").ok()?;
    let scans = counts.lines().filter_map(|line| {
        let (name, count) = line.split_once(' ')?;
        let is_scan = matches!(name, "pgscan_kswapd" | "pgscan_direct");
        is_scan.then(|| count.parse::<u64>().ok())?
    });
    Some(scans.sum())
}

/// What this process holds, if anything.
static HELD: Mutex<Weak<Held>> = Mutex::new(Weak::new());

/// Sets the machine up, if that is not done yet, and keeps it that way as long as what it gives is kept.
///
/// # Errors
/// A setting that cannot be made; what was made before it is put back.
pub fn hold() -> Result<Arc<Held>, MachineError> {
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(held) = held.upgrade() {
        return Ok(held);
    }
    let files = Files::below(Path::new("/"));
    let status = Path::new("/proc/self/status");
    let affinity = |errno: Errno| failed(status, "asking for its processors")(errno.into());
    let cpus_before = sched_getaffinity(None).map_err(affinity)?;
    let last = (0..CpuSet::MAX_CPU)
        .rev()
        .find(|&cpu| cpus_before.is_set(cpu));
    let (users, cpu) = files.enter(last.unwrap_or(0))?;
    let now = Arc::new(Held {
        files,
        users: Some(users),
        cpus_before,
    });
    let mut one = CpuSet::new();
    one.set(cpu);
    pin_all(&one).map_err(|errno| failed(status, "moving to one processor")(errno.into()))?;
    *held = Arc::downgrade(&now);
    Ok(now)
}

/// Puts back what a process left that was killed. Does nothing where nothing was left.
///
/// # Errors
/// A setting that cannot be made.
pub fn tidy() -> Result<(), MachineError> {
    Files::below(Path::new("/")).tidy()
}

/// Moves every thread of this process; those that they start later follow.
fn pin_all(cpus: &CpuSet) -> Result<(), Errno> {
    let threads = fs::read_dir("/proc/self/task").map_err(|_| Errno::IO)?;
    let threads = threads.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    for thread in threads.filter_map(Pid::from_raw) {
        match sched_setaffinity(Some(thread), cpus) {
            // It has ended meanwhile.
            Ok(()) | Err(Errno::SRCH) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// Processors that the kernel counts: it has a stream goal and a part of each counter for every possible one.
pub fn possible_cpus() -> Option<u32> {
    let text = fs::read_to_string("/sys/devices/system/cpu/possible").ok()?;
    let last = text.trim().rsplit([',', '-']).next()?.parse::<u32>().ok()?;
    last.checked_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A root with the settings of a machine: nothing of this one is touched.
    fn machine() -> (tempfile::TempDir, Files) {
        let root = tempfile::tempdir().expect("a folder");
        let files = Files::below(root.path());
        let values = [
            (WRITEBACK_CPUS, "3"),
            (INTERVAL.0, "500"),
            (SHARES[0].0, "0"),
            (SHARES[1].0, "20"),
        ];
        let bytes = [(BYTES[0], "4096"), (BYTES[1], "0"), ("run/x", "")];
        for (setting, value) in values.into_iter().chain(bytes) {
            let path = root.path().join(setting);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            let mut file = File::create(path).expect("made");
            file.write_all(format!("{value}\n").as_bytes())
                .expect("written");
        }
        (root, files)
    }

    fn state(files: &Files) -> Vec<String> {
        let settings = [
            WRITEBACK_CPUS,
            INTERVAL.0,
            SHARES[0].0,
            SHARES[1].0,
            BYTES[0],
        ];
        settings
            .map(|setting| files.get(setting).expect("there"))
            .to_vec()
    }

    #[test]
    fn the_last_one_puts_back_what_was_there() {
        let (_root, files) = machine();
        let (first, cpu) = files.enter(1).expect("set");
        assert_eq!(
            (state(&files), cpu),
            (
                ["2", "8640000", "80", "90", "4096"]
                    .map(str::to_owned)
                    .to_vec(),
                1
            )
        );
        let (second, cpu) = files.enter(0).expect("set");
        assert_eq!(cpu, 1, "where the first one is");
        files.leave(first).expect("left");
        assert_eq!(state(&files)[0], "2", "the second one is there");
        files.tidy().expect("nothing to do");
        assert_eq!(state(&files)[0], "2", "the second one is there");
        files.leave(second).expect("left");
        // The bytes count again: the kernel makes the share 0 by itself.
        assert_eq!(state(&files), ["3", "500", "80", "20", "4096"]);
    }

    #[test]
    fn what_a_killed_one_left_is_put_back_by_the_next() {
        let (_root, files) = machine();
        let (killed, _) = files.enter(1).expect("set");
        drop(killed);
        assert_eq!(state(&files)[1], "8640000");
        files.tidy().expect("put back");
        assert_eq!(state(&files)[1], "500");
        let (killed, _) = files.enter(1).expect("set");
        drop(killed);
        let (next, _) = files.enter(0).expect("set");
        assert_eq!(state(&files)[0], "1", "its own");
        files.leave(next).expect("left");
        assert_eq!(
            state(&files)[..2],
            ["3", "500"],
            "what was there before the killed one"
        );
    }

    #[test]
    fn a_setting_that_cannot_be_made_undoes_those_before_it() {
        let (root, files) = machine();
        fs::remove_file(root.path().join(SHARES[1].0)).expect("removed");
        let error = files.enter(1).expect_err("one is missing").to_string();
        assert!(
            error.contains("dirty_ratio") && error.contains("root"),
            "{error}"
        );
        assert_eq!(state_of_two(&files), ["3", "500"]);
    }

    #[test]
    fn settings_of_a_driver_are_made_once_it_is_loaded() {
        let (root, files) = machine();
        let (first, _) = files.enter(1).expect("set");
        let of_xfs = root.path().join("proc/sys/fs/xfs");
        fs::create_dir_all(&of_xfs).expect("made");
        for (setting, value) in [(OF_XFS[0].0, "3000"), (OF_XFS[1].0, "300")] {
            let mut file = File::create(root.path().join(setting)).expect("made");
            file.write_all(value.as_bytes()).expect("written");
        }
        let of_xfs = |files: &Files| OF_XFS.map(|(setting, _)| files.get(setting).expect("there"));
        assert_eq!(of_xfs(&files), ["3000", "300"]);
        let (second, _) = files.enter(0).expect("set");
        assert_eq!(of_xfs(&files), ["720000", "86400"]);
        let (third, _) = files.enter(0).expect("set");
        files.leave(first).expect("left");
        files.leave(second).expect("left");
        files.leave(third).expect("left");
        assert_eq!(of_xfs(&files), ["3000", "300"]);
        assert_eq!(state(&files), ["3", "500", "80", "20", "4096"]);
        let (killed, _) = files.enter(1).expect("set");
        assert_eq!(of_xfs(&files), ["720000", "86400"]);
        drop(killed);
        files.tidy().expect("put back");
        assert_eq!(of_xfs(&files), ["3000", "300"]);
    }

    fn state_of_two(files: &Files) -> [String; 2] {
        [WRITEBACK_CPUS, INTERVAL.0].map(|setting| files.get(setting).expect("there"))
    }

    #[test]
    fn masks_are_those_of_the_kernel() {
        for (cpu, mask) in [
            (0, "1"),
            (1, "2"),
            (31, "80000000"),
            (33, "2,00000000"),
            (64, "1,00000000,00000000"),
        ] {
            assert_eq!(mask_of(cpu), mask);
            assert_eq!(cpu_of(mask), Some(cpu));
        }
        assert_eq!(cpu_of("3"), None);
        assert_eq!(cpu_of("00000000,00000002"), Some(1));
    }
}
