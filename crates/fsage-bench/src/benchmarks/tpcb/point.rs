//! A point of the figure of Seltzer et al. 1995: TPC-B on one system and a disk that is so full, by two clocks.
//!
//! ```text
//! measure(&Setup) -> Result<Point, BenchError>        Setup::of_1995(System, utilization_percent)
//! ```
//!
//! One run gives both. The first clock is that of the simulated disk and host. The second has no disk: it charges what
//! the run transferred with the constants of the paper ([`costs`]), which knows no short seeks and no caches.
//!
//! Disk and database are those of the paper: 512 segments of 1 MB, blocks of 4 KB, and a static file beside the
//! database that brings it to the wanted share when the clock starts.

use super::{Database, PAGE, RECORD, TPC_B, TpcB};
use crate::benchmark::Case;
use crate::simulated::{Simulated, SimulatedStand};
use crate::subject::BenchError;
use fsage_core::io::AnyHosted;
use fsage_core::{DirId, FileId, LogUsage, Op, Outcome};
use fsage_disk::{Components, Device, Disk};
use fsage_host::HostParams;
use fsage_models::lfs::cleaner::Policy;
use fsage_models::lfs::costs;
use fsage_models::{ffs, lfs};
use serde::{Deserialize, Serialize};

/// Bytes of the disk: 512 segments.
pub const DISK_BYTES: u64 = 512 << 20;
/// Files and directories of the benchmark have numbers from here on.
const FIRST_OWN_ID: u64 = 1 << 32;
/// Transactions between two looks whether the cleaner has worked.
const BETWEEN_LOOKS: u64 = 100;
/// The static file.
const FILLER: FileId = FileId(1);

/// What the database is on.
#[derive(Clone, Copy, Debug)]
pub enum System {
    /// An FFS with blocks of 4 KB.
    InPlace,
    /// An LFS of 4.4BSD as it is at first, when no segment has to be cleaned yet.
    LogUncleaned,
    /// The same in steady state, with a cleaner that chooses segments in this way.
    Log(&'static dyn Policy),
}

/// What is measured.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The file system.
    pub system: System,
    /// Bytes of files over those of the disk when the clock starts, in percent; what the database alone takes, 48, is
    /// the least.
    pub utilization_percent: u64,
    /// The log, but for its size and its cleaner, which [`Setup::utilization_percent`] and [`Setup::system`] say.
    pub log: lfs::Params,
    /// When the clock starts on a log with a cleaner; on the others it starts once the cache of the database is full.
    pub starts: Starts,
    /// Transactions that count.
    pub transactions: u64,
    /// The disk below the simulated host.
    pub disk: Disk,
    /// The simulated host.
    pub host: HostParams,
}

/// When the clock starts on a log with a cleaner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Starts {
    /// When the database was written over four times.
    #[default]
    Steady,
    /// When the first segment was cleaned.
    FirstCleaning,
}

/// The log of 4.4BSD, whose segment writes start at so many dirty blocks of data.
fn log_that_writes_at(blocks: u64) -> lfs::Params {
    lfs::Params {
        frag_bytes: 1024,
        superuser: true,
        write_threshold_blocks: blocks,
        // Of n buffers n/2 - 10 start a write, and at 3n/4 - 10 the writer waits.
        wait_threshold_blocks: 3 * (blocks + 10) / 2 - 10,
        ..lfs::Params::of_variant(lfs::Variant::Lite2)
    }
}

impl Setup {
    /// On the disk and the host of the paper, with as many transactions as the benchmark has.
    pub fn of_1995(system: System, utilization_percent: u64) -> Setup {
        Setup {
            system,
            utilization_percent,
            log: log_that_writes_at(115),
            starts: Starts::default(),
            transactions: TPC_B.transactions,
            disk: Disk::preset("dsp3105").expect("a preset of the crate"),
            host: HostParams::preset("sparcstation-2").expect("a preset of the crate"),
        }
    }

    /// On the same machine, with the segment writes of 800 KB that the one of 1993 made: what its cleaner did can be
    /// compared, and no speed.
    pub fn of_1993(system: System, utilization_percent: u64) -> Setup {
        Setup {
            log: log_that_writes_at(200),
            ..Setup::of_1995(system, utilization_percent)
        }
    }

    fn file_system(&self) -> Box<dyn AnyHosted> {
        let log = lfs::Params {
            // The label lies before the first segment.
            size_bytes: DISK_BYTES + 8192,
            ..self.log.clone()
        };
        let log = match self.system {
            System::InPlace => {
                let options = [
                    ("size", Some("512M")),
                    ("bsize", Some("4K")),
                    ("fsize", Some("1K")),
                    ("minfree", Some("0")),
                ];
                let params = ffs::Params::from_options(options).expect("keys of an FFS");
                return Box::new(ffs::Ffs::new(params).expect("sizes of an FFS"));
            }
            // What is left then is the least number of clean segments.
            System::LogUncleaned => lfs::Params {
                busy_percent: 0,
                ..log
            },
            System::Log(policy) => lfs::Params { policy, ..log },
        };
        Box::new(lfs::Lfs::new(log).expect("sizes of a log"))
    }

    fn workload(&self) -> TpcB {
        TpcB {
            transactions: self.transactions,
            warm_rounds: match (self.system, self.starts) {
                (System::Log(_), Starts::Steady) => TPC_B.warm_rounds,
                _ => 0,
            },
            ..TPC_B
        }
    }

    /// Bytes of the static file: what the database will not have when the clock starts.
    fn filler_bytes(&self) -> u64 {
        let database = self.workload();
        let transactions =
            database.warm_rounds * (database.account_bytes / PAGE) + database.cache_pages as u64;
        let history = transactions * RECORD;
        (DISK_BYTES.saturating_mul(self.utilization_percent) / 100)
            .saturating_sub(database.account_bytes + history)
    }
}

/// What was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Transactions that were done while the clock ran: fewer than wanted where the log came to its end.
    pub transactions: u64,
    /// Share of the disk that was in use at the end: live bytes over all segments; on an FFS what is not free.
    pub utilization: f64,
    /// Transactions a second by the constants of the paper.
    pub tps_by_constants: f64,
    /// Transactions a second on the simulated disk.
    pub tps_by_disk: f64,
    /// Where the time of a transaction went on the simulated disk.
    pub time: Time,
    /// Bytes of the log, the cleaner's apart, for a transaction; 0 on an FFS.
    pub log_bytes: f64,
    /// What the cleaner did; `None` where it did nothing.
    pub cleaning: Option<Cleaning>,
    /// Why nothing more could be written, if the log came to its end.
    pub end: Option<String>,
}

/// The time of a transaction on the simulated disk, the cleaner's included, in milliseconds. The processor works while
/// the disk writes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Time {
    /// The processor copied, and served system calls.
    pub processor_ms: f64,
    /// The arm moved.
    pub seek_ms: f64,
    /// Sectors had to come round.
    pub rotation_ms: f64,
    /// Sectors passed below the head, or waited for the bus.
    pub transfer_ms: f64,
    /// The controller worked.
    pub overhead_ms: f64,
}

/// What a cleaner did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cleaning {
    /// Mean live share of the segments that were cleaned.
    pub utilization: f64,
    /// Segments cleaned in 1000 transactions.
    pub segments_per_1000: f64,
    /// Bytes that the cleaner wrote over all that were written.
    pub share_of_writes: f64,
    /// Bytes that the cleaner wrote over all that were read or written.
    pub share_of_transfers: f64,
    /// Time of reading segments over all time of the cleaner, by the constants of the paper.
    pub share_of_reading: f64,
}

/// Measures a point.
///
/// # Errors
/// The utilization leaves no room for the database; the disk is smaller than [`DISK_BYTES`].
pub fn measure(setup: &Setup) -> Result<Point, BenchError> {
    let mut fs = setup.file_system();
    let bytes = setup.filler_bytes();
    let dir = DirId::ROOT;
    let file = FILLER;
    if fs.apply(&Op::Create { file, dir, bytes })? != Outcome::Done {
        return Err(BenchError::NoSpace);
    }
    fs.apply(&Op::Sync)?;
    let stand = SimulatedStand::new(&*fs, FIRST_OWN_ID, &setup.host, &setup.disk, 1)?;
    let mut subject = stand.subject(0, Case::default());
    let mut database = Database::make(&setup.workload(), 0, &mut subject)?;
    let mut transactions = 0;
    let mut start = None;
    let ended = database.warm_up(&mut subject).and_then(|()| {
        if let (System::Log(_), Starts::FirstCleaning) = (setup.system, setup.starts) {
            let cleaned = |log: Option<LogUsage>| log.is_none_or(|log| log.cleaned_segments > 0);
            while !cleaned(subject.model().log_usage()) {
                for _ in 0..BETWEEN_LOOKS {
                    database.transaction(&mut subject)?;
                }
            }
        }
        start = Some(Sums::of(&subject, &database));
        while transactions < setup.transactions {
            database.transaction(&mut subject)?;
            transactions += 1;
        }
        Ok(())
    });
    let end = Sums::of(&subject, &database);
    let log_ended = end.log.as_ref().is_some_and(|log| log.end.is_some());
    match ended {
        Err(error) if !log_ended => Err(error),
        // A log that ended before the clock started did nothing since.
        _ => Ok(Point::new(
            transactions,
            start.as_ref().unwrap_or(&end),
            &end,
        )),
    }
}

/// Sums from the beginning on.
#[derive(Clone, Debug)]
struct Sums {
    ns: u64,
    processor_ns: u64,
    device: Components,
    reads: u64,
    writes: u64,
    log: Option<LogUsage>,
    utilization: f64,
}

impl Sums {
    fn of(subject: &Simulated<dyn AnyHosted, impl Device>, database: &Database) -> Sums {
        let (fs, host) = (subject.model(), subject.host());
        let space = fs.space().unwrap_or_default();
        let geometry = fs.geometry();
        let free_bytes = space.free_blocks * u64::from(geometry.block_bytes)
            + space.free_frags * u64::from(geometry.frag_bytes);
        let log = fs.log_usage();
        Sums {
            ns: host.now_ns(),
            processor_ns: host.cpu_ns(),
            device: host.device().counters().time,
            reads: database.reads,
            writes: database.writes,
            utilization: log.as_ref().map_or(
                1.0 - free_bytes as f64 / geometry.size_bytes as f64,
                LogUsage::live_share,
            ),
            log,
        }
    }
}

impl Point {
    fn new(transactions: u64, start: &Sums, end: &Sums) -> Point {
        let each = transactions.max(1) as f64;
        let per_s = |ns: u64| transactions as f64 * 1e9 / ns.max(1) as f64;
        let ms = |sum: fn(&Sums) -> u64| (sum(end) - sum(start)) as f64 / 1e6 / each;
        let time = Time {
            processor_ms: ms(|sums| sums.processor_ns),
            seek_ms: ms(|sums| sums.device.seek_ns),
            rotation_ms: ms(|sums| sums.device.rotation_ns),
            transfer_ms: ms(|sums| sums.device.media_ns + sums.device.bus_ns),
            overhead_ms: ms(|sums| sums.device.overhead_ns),
        };
        let reads = end.reads - start.reads;
        let requests = reads + end.writes - start.writes;
        let tps_by_disk = per_s(end.ns - start.ns);
        let log = end.log.as_ref().zip(start.log.as_ref());
        let log = log.map(|(end, start)| since(end, start));
        let by_constants_ns = match &log {
            Some(log) => costs::log_ns(reads, log),
            None => requests * costs::in_place_ns(),
        };
        let log = log.unwrap_or_default();
        Point {
            transactions,
            utilization: end.utilization,
            tps_by_constants: per_s(by_constants_ns),
            tps_by_disk,
            time,
            log_bytes: log.new_bytes as f64 / each,
            cleaning: Cleaning::of(&log, reads, each),
            end: log.end,
        }
    }
}

/// What was transferred between two times.
fn since(end: &LogUsage, start: &LogUsage) -> LogUsage {
    LogUsage {
        new_bytes: end.new_bytes - start.new_bytes,
        cleaner_written_bytes: end.cleaner_written_bytes - start.cleaner_written_bytes,
        cleaner_read_segments: end.cleaner_read_segments - start.cleaner_read_segments,
        cleaned_segments: end.cleaned_segments - start.cleaned_segments,
        cleaned_live_bytes: end.cleaned_live_bytes - start.cleaned_live_bytes,
        ..end.clone()
    }
}

impl Cleaning {
    fn of(log: &LogUsage, pages_read: u64, transactions: f64) -> Option<Cleaning> {
        let cleaner = log.cleaner_written_bytes as f64;
        let written = (log.new_bytes + log.cleaner_written_bytes).max(1) as f64;
        let read = pages_read * PAGE + log.cleaner_read_segments * log.segment_bytes;
        let [reading, writing] = costs::cleaner_ns(log);
        Some(Cleaning {
            utilization: log.cleaned_live_share()?,
            segments_per_1000: 1000.0 * log.cleaned_segments as f64 / transactions,
            share_of_writes: cleaner / written,
            share_of_transfers: cleaner / (written + read as f64),
            share_of_reading: reading as f64 / (reading + writing).max(1) as f64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(ns: u64, reads: u64, log: LogUsage) -> Sums {
        Sums {
            ns,
            processor_ns: ns / 10,
            device: Components {
                seek_ns: ns / 2,
                ..Components::default()
            },
            reads,
            writes: reads,
            log: Some(log),
            utilization: 0.5,
        }
    }

    #[test]
    fn a_point_is_what_lies_between_two_times_by_hand() {
        let start = LogUsage {
            segment_bytes: 1 << 20,
            new_bytes: 1000,
            cleaned_segments: 7,
            ..LogUsage::default()
        };
        let end = LogUsage {
            new_bytes: 5_201_000,
            cleaner_written_bytes: 5 << 20,
            cleaner_read_segments: 10,
            cleaned_segments: 17,
            cleaned_live_bytes: 5 << 20,
            end: Some("full".to_owned()),
            ..start.clone()
        };
        let start = sums(1_000_000_000, 50, start);
        let end = sums(41_000_000_000, 1050, end);
        let point = Point::new(1000, &start, &end);
        // 1000 * 18.4 ms, 5.2 MB at 1.3 MB/s, 10 segments at 449.8 ms, 5 at 603.2 ms: 29.914 s.
        assert!(
            (point.tps_by_constants - 1000.0 / 29.914).abs() < 0.001,
            "{point:?}"
        );
        assert!((point.tps_by_disk - 25.0).abs() < 1e-9, "{point:?}");
        assert!((point.time.processor_ms - 4.0).abs() < 1e-9, "{point:?}");
        assert!((point.time.seek_ms - 20.0).abs() < 1e-9, "{point:?}");
        assert!((point.log_bytes - 5200.0).abs() < 1e-9, "{point:?}");
        let cleaning = point.cleaning.unwrap();
        // Of 10,442,880 bytes written 5,242,880, and 4,096,000 and 10,485,760 more were read; of the cleaner's 7.514 s
        // 4.498 are reads.
        let expected = [0.5, 10.0, 0.502_053, 0.209_509, 0.598_592];
        let got = [
            cleaning.utilization,
            cleaning.segments_per_1000,
            cleaning.share_of_writes,
            cleaning.share_of_transfers,
            cleaning.share_of_reading,
        ];
        for (got, expected) in got.into_iter().zip(expected) {
            assert!((got - expected).abs() < 1e-5, "{got} for {expected}");
        }
        assert_eq!(point.end.as_deref(), Some("full"));
    }

    #[test]
    fn a_log_that_ended_before_the_clock_started_did_nothing() {
        let log = LogUsage {
            segment_bytes: 1 << 20,
            cleaned_segments: 2000,
            end: Some("full".to_owned()),
            ..LogUsage::default()
        };
        let end = sums(9_000_000_000, 100, log);
        let point = Point::new(0, &end, &end);
        assert_eq!((point.transactions, point.cleaning), (0, None));
        assert_eq!(point.end.as_deref(), Some("full"));
        assert!(
            point.tps_by_disk.abs() < 1e-9 && point.tps_by_constants.abs() < 1e-9,
            "{point:?}"
        );
    }
}
