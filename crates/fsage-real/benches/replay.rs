//! The replayer against a bare loop of the same system calls, on ext4 and XFS in memory, in interleaved rounds.
//!
//! A ring of 400 live files of 4 KB in 20 directories: each step deletes the oldest file and makes a new one. The bare
//! loop knows nothing but the descriptors of the directories; its names and its data lie ready. The replayer gets
//! events in pieces as in a run (64 with one thread, 1024 with two) and notes each piece in its journal.
//!
//! The images lie below `/dev/shm` and need root. `FSAGE_BENCH_DIR` names a directory to work in instead of them,
//! `FSAGE_BENCH_ROUNDS` the number of rounds. Prints processor and wall time of an operation, medians over the rounds.

use fsage_core::{DirId, Event, FileId, Op, OpCounts};
use fsage_real::directory::{Directory, Journal, Options, UNSAID, Volume};
use fsage_real::loop_image::{Kind, LoopImage, LoopOptions};
use rustix::fs::{AtFlags, Mode, OFlags, mkdirat, openat, syncfs, unlinkat};
use rustix::io::pwrite;
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::env;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use tempfile::TempDir;

const FILE_BYTES: usize = 4096;
const LIVE: u64 = 400;
const DIRS: u64 = 20;
/// Steps of a round; each is two operations.
const STEPS: u64 = 4000;
const IMAGE_BYTES: u64 = 512 << 20;

/// A directory of the file system that is measured on.
#[derive(Debug)]
struct Below(OwnedFd);

impl Below {
    fn make(root: BorrowedFd<'_>, name: &str) -> io::Result<Below> {
        mkdirat(root, name, Mode::from_raw_mode(0o755))?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Below(openat(root, name, flags, Mode::empty())?))
    }
}

impl Volume for Below {
    fn root(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    fn remount(&mut self) -> io::Result<bool> {
        Ok(false)
    }

    fn close(self: Box<Self>) -> io::Result<()> {
        Ok(())
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}

/// Processor time of this process and wall time, in nanoseconds.
#[derive(Clone, Copy)]
struct Times {
    processor: f64,
    wall: f64,
}

impl Times {
    fn now() -> Times {
        let ns = |time: Timespec| time.tv_sec as f64 * 1e9 + time.tv_nsec as f64;
        Times {
            processor: ns(clock_gettime(ClockId::ProcessCPUTime)),
            wall: ns(clock_gettime(ClockId::Monotonic)),
        }
    }

    /// Time of an operation of a round.
    fn of(work: impl FnOnce() -> io::Result<()>) -> io::Result<Times> {
        let before = Times::now();
        work()?;
        let after = Times::now();
        let operations = (2 * STEPS) as f64;
        Ok(Times {
            processor: (after.processor - before.processor) / operations,
            wall: (after.wall - before.wall) / operations,
        })
    }
}

/// The bare loop.
struct Bare {
    dirs: Vec<Below>,
    data: Vec<u8>,
}

impl Bare {
    fn make(root: BorrowedFd<'_>) -> io::Result<Bare> {
        let root = Below::make(root, "bare")?;
        let dirs = (1..=DIRS).map(|dir| Below::make(root.root(), &format!("d{dir}")));
        Ok(Bare {
            dirs: dirs.collect::<io::Result<_>>()?,
            data: vec![b'x'; FILE_BYTES],
        })
    }

    fn create(&self, file: u64, name: &CString) -> io::Result<()> {
        let flags =
            OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let dir = &self.dirs[(file % DIRS) as usize].0;
        let fd = openat(dir, name.as_c_str(), flags, Mode::from_raw_mode(0o644))?;
        pwrite(&fd, &self.data, 0)?;
        Ok(())
    }

    fn delete(&self, file: u64, name: &CString) -> io::Result<()> {
        let dir = &self.dirs[(file % DIRS) as usize].0;
        Ok(unlinkat(dir, name.as_c_str(), AtFlags::empty())?)
    }

    fn round(&self, first: u64) -> io::Result<Times> {
        let names = names(first - LIVE..first + STEPS);
        Times::of(|| {
            for step in 0..STEPS {
                let file = first + step;
                self.delete(file - LIVE, &names[step as usize])?;
                self.create(file, &names[(step + LIVE) as usize])?;
            }
            Ok(())
        })
    }
}

fn names(files: std::ops::Range<u64>) -> Vec<CString> {
    let names = files.map(|file| CString::new(format!("f{file}")));
    names.map(Result::unwrap_or_default).collect()
}

/// The replayer.
struct Replayed {
    directory: Directory,
    journal: Journal,
    piece: usize,
    _folder: TempDir,
}

impl Replayed {
    fn make(root: BorrowedFd<'_>, folder: &Path, threads: usize) -> io::Result<Replayed> {
        let volume = Below::make(root, &format!("threads{threads}"))?;
        let options = Options {
            threads,
            ..Options::default()
        };
        let folder = TempDir::new_in(folder)?;
        let path = folder.path().join("journal");
        let mut replayed = Replayed {
            directory: Directory::new(Box::new(volume), options).map_err(io::Error::other)?,
            journal: Journal::create(&path, "bench").map_err(io::Error::other)?,
            piece: if threads == 1 {
                UNSAID as usize
            } else {
                512 * threads
            },
            _folder: folder,
        };
        let dirs = (1..=DIRS).map(|dir| Op::Mkdir {
            dir: DirId(dir),
            parent: None,
        });
        replayed.apply(&dirs.map(Event::new).collect::<Vec<_>>())?;
        replayed.apply(&(0..LIVE).map(create).collect::<Vec<_>>())?;
        Ok(replayed)
    }

    fn apply(&mut self, events: &[Event]) -> io::Result<()> {
        let mut counts = OpCounts::default();
        for piece in events.chunks(self.piece) {
            let applied = self.directory.apply(piece, &mut counts, false);
            applied.map_err(io::Error::other)?;
            let deviations = self.directory.take_deviations();
            let done = self.directory.events_done();
            let noted = self.journal.progress(done, &deviations);
            noted.map_err(io::Error::other)?;
        }
        Ok(())
    }

    fn round(&mut self, first: u64) -> io::Result<Times> {
        let steps = first..first + STEPS;
        let events: Vec<Event> = steps
            .flat_map(|file| [delete(file - LIVE), create(file)])
            .collect();
        Times::of(|| self.apply(&events))
    }
}

fn create(file: u64) -> Event {
    Event::new(Op::Create {
        file: FileId(file),
        dir: DirId(file % DIRS + 1),
        bytes: FILE_BYTES as u64,
    })
}

fn delete(file: u64) -> Event {
    Event::new(Op::Delete { file: FileId(file) })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Measures in a directory, and prints what was found.
fn measure(what: &str, root: BorrowedFd<'_>, folder: &Path, rounds: u64) -> io::Result<()> {
    let bare = Bare::make(root)?;
    let first_names = names(0..LIVE);
    for file in 0..LIVE {
        bare.create(file, &first_names[file as usize])?;
    }
    let mut one = Replayed::make(root, folder, 1)?;
    let mut two = Replayed::make(root, folder, 2)?;
    let mut times: [Vec<Times>; 3] = Default::default();
    for round in 0..rounds {
        let first = LIVE + round * STEPS;
        // Each is the first in its turn, and none meets what another has left to write.
        for turn in 0..3 {
            syncfs(root)?;
            let which = ((round + turn) % 3) as usize;
            times[which].push(match which {
                0 => bare.round(first)?,
                1 => one.round(first)?,
                _ => two.round(first)?,
            });
        }
    }
    println!(
        "{what}: {} operations each, {rounds} rounds",
        rounds * STEPS * 2
    );
    for (name, of) in ["bare loop", "1 thread", "2 threads"].iter().zip(&times) {
        let over = |value: fn(&Times) -> f64, to: fn(f64, f64) -> f64| {
            let pairs = of.iter().zip(&times[0]);
            median(
                pairs
                    .map(|(this, bare)| to(value(this), value(bare)))
                    .collect(),
            )
        };
        let own = over(|times| times.processor, |this, bare| this - bare);
        println!(
            "{name:10} processor {:6.2} us, {:+.2} us, ratio {:.3}   wall {:6.2} us, ratio {:.3}",
            median(of.iter().map(|times| times.processor).collect()) / 1e3,
            own / 1e3,
            over(|times| times.processor, |this, bare| this / bare),
            median(of.iter().map(|times| times.wall).collect()) / 1e3,
            over(|times| times.wall, |this, bare| this / bare),
        );
    }
    Ok(())
}

fn on_image(kind: Kind, rounds: u64) -> io::Result<()> {
    let folder = TempDir::new_in("/dev/shm")?;
    let options = LoopOptions {
        size_bytes: IMAGE_BYTES,
        ..LoopOptions::new(kind)
    };
    match LoopImage::create(&options, &folder.path().join("image")) {
        Ok(image) => measure(kind.name(), image.root(), folder.path(), rounds),
        Err(error) => {
            eprintln!("skipped: {kind}: {error}");
            Ok(())
        }
    }
}

fn main() -> io::Result<()> {
    let rounds = env::var("FSAGE_BENCH_ROUNDS").ok();
    let rounds = rounds.and_then(|n| n.parse().ok()).unwrap_or(31).max(1);
    let Some(dir) = env::var_os("FSAGE_BENCH_DIR") else {
        return [Kind::Ext4, Kind::Xfs]
            .into_iter()
            .try_for_each(|kind| on_image(kind, rounds));
    };
    let folder = TempDir::new_in(dir)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::open(folder.path(), flags, Mode::empty())?;
    measure(
        &folder.path().display().to_string(),
        root.as_fd(),
        folder.path(),
        rounds,
    )
}
