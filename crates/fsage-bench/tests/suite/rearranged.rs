//! Layers that rearrange a disk under a host: what moves takes time, and reads go to where it is.

use fsage_bench::benchmarks::small_file;
use fsage_bench::{Benchmark, FileKey, Part, Simulated, SimulatedStand, Site, Subject, run};
use fsage_core::{DirId, FileId, Op, Outcome};
use fsage_disk::{Device, Disk};
use fsage_host::{Host, HostParams};
use fsage_models::ext3::{Ext3, Params};
use fsage_models::rearrange::{self, Period, Rearranged, Settings, Technique};

const MB: u64 = 1 << 20;
const FILE_BYTES: u64 = 300_000;

/// A disk of 128 MB with twenty files on it.
fn disk_with_files(settings: &Settings) -> Box<dyn Rearranged> {
    let make = |_, size_bytes| {
        Ext3::new(Params {
            size_bytes,
            ..Params::default()
        })
    };
    let mut fs = rearrange::over(settings, 128 * MB, make).expect("a disk of 128 MB");
    for file in 0..20 {
        let create = Op::Create {
            file: FileId(file),
            dir: DirId::ROOT,
            bytes: FILE_BYTES,
        };
        assert_eq!(fs.apply(&create), Ok(Outcome::Done));
    }
    fs
}

fn settings(technique: Technique) -> Settings {
    Settings {
        reserved_ppm: 100_000,
        near_ppm: 0,
        period: Period::Accesses(50),
        ..Settings::new(technique)
    }
}

type OnDisk = Simulated<dyn Rearranged, Box<dyn Device + Send>>;

fn on_disk(fs: Box<dyn Rearranged>) -> OnDisk {
    let params = HostParams::preset("pentium-pro-200").unwrap();
    let disk = Disk::preset("m2694").unwrap();
    let host = Host::new(&params, disk.device(0), 0, fs.block_bytes());
    Simulated::over(fs, host, 1000)
}

/// Simulated time of reading a file as a whole.
fn read(subject: &mut OnDisk, file: u64) -> u64 {
    let before = subject.clock_ns();
    let part = Part {
        offset: 0,
        bytes: FILE_BYTES,
        call_bytes: 65_536,
    };
    subject.read(FileKey(file), part).unwrap();
    subject.clock_ns() - before
}

/// Making the file was its first use, so that the eighth read moves it: it is written elsewhere, and that is waited for
/// as a sync is.
#[test]
fn a_file_moves_when_it_is_read_often_and_that_takes_time() {
    let mut subject = on_disk(disk_with_files(&settings(Technique::Files)));
    for _ in 0..6 {
        read(&mut subject, 7);
    }
    let cached = read(&mut subject, 7);
    assert_eq!(subject.model().counters().moved_in, 0);
    let written = |subject: &OnDisk| subject.host().counters().written_bytes;
    let before = written(&subject);
    let moving = read(&mut subject, 7);
    assert_eq!(subject.model().counters().moved_in, 1);
    assert!(written(&subject) - before > FILE_BYTES);
    // Even at 10 MB/s the copy would take 30 ms to write; what is cached is only copied in memory.
    assert!(moving > cached + 20_000_000, "{moving} {cached}");
    // The copy is in the cache; after a remount it is read from the center.
    subject.drop_caches().unwrap();
    subject.host_mut().record(true);
    read(&mut subject, 7);
    let center = subject.model().center();
    let data = subject
        .host()
        .recorded()
        .iter()
        .filter(|request| request.bytes > 8192);
    let data: Vec<_> = data.collect();
    assert!(!data.is_empty());
    for request in data {
        assert!(center.contains(&request.start_bytes), "{request:?}");
    }
    subject.model().check().unwrap();
}

#[test]
fn blocks_and_cylinders_are_read_where_they_were_copied_to() {
    for technique in [Technique::Blocks, Technique::OrganPipe] {
        let mut subject = on_disk(disk_with_files(&settings(technique)));
        for i in 0..60 {
            read(&mut subject, 3 + i % 2);
        }
        let counters = *subject.model().counters();
        assert_eq!(counters.periods, 1, "{technique:?}");
        assert!(counters.placed > 0 && counters.copied_bytes >= 2 * FILE_BYTES);
        subject.drop_caches().unwrap();
        subject.host_mut().record(true);
        read(&mut subject, 3);
        let center = subject.model().center();
        let requests = subject.host().recorded().iter();
        let in_center = requests.filter(|request| center.contains(&request.start_bytes));
        let bytes: u64 = in_center.map(|request| request.bytes).sum();
        assert!(bytes >= FILE_BYTES, "{technique:?}: {bytes}");
        subject.model().check().unwrap();
    }
}

/// Two files that grew in turn, a little and a lot at a time: the small one lies in pieces over the disk. At the end of
/// the period it comes together in the middle, and is read in less than three quarters of the time; the other one, of
/// which a block that moves saves less, does not fit beside it.
#[test]
fn a_scattered_file_is_read_faster_once_it_is_restructured() {
    let settings = Settings {
        period: Period::Accesses(1000),
        ..settings(Technique::Stef)
    };
    let mut fs = disk_with_files(&settings);
    let (file, other) = (FileId(500), FileId(501));
    for id in [file, other] {
        let (dir, bytes) = (DirId::ROOT, 4096);
        fs.apply(&Op::Create {
            file: id,
            dir,
            bytes,
        })
        .unwrap();
    }
    for _ in 0..32 {
        for (file, bytes) in [(file, 32 << 10), (other, 1 << 20)] {
            assert_eq!(fs.apply(&Op::Append { file, bytes }), Ok(Outcome::Done));
        }
    }
    let mut subject = on_disk(fs);
    subject.drop_caches().unwrap();
    let before = read(&mut subject, 500);
    let mut reads = 0;
    while subject.model().counters().periods == 0 {
        read(&mut subject, 500);
        reads += 1;
        assert!(reads < 2000);
    }
    let counters = *subject.model().counters();
    assert!(counters.copied_bytes >= FILE_BYTES, "{counters:?}");
    subject.drop_caches().unwrap();
    subject.host_mut().record(true);
    let after = read(&mut subject, 500);
    assert!(4 * after < 3 * before, "{after} ns, {before} before");
    let center = subject.model().center();
    let data = subject
        .host()
        .recorded()
        .iter()
        .filter(|request| request.bytes > 8192);
    let starts: Vec<u64> = data.map(|request| request.start_bytes).collect();
    assert!(
        !starts.is_empty() && starts.iter().all(|start| center.contains(start)),
        "{starts:?}"
    );
    subject.model().check().unwrap();
}

#[test]
fn a_benchmark_runs_over_a_layer_and_repeats() {
    let drive = Disk::preset("m2694").unwrap();
    let params = HostParams::preset("pentium-pro-200").unwrap();
    for technique in [
        Technique::None,
        Technique::Files,
        Technique::Blocks,
        Technique::OrganPipe,
        Technique::Stef,
    ] {
        let fs = disk_with_files(&settings(technique));
        let stand = SimulatedStand::new(&*fs, 1000, &params, &drive, 7).unwrap();
        let site = Site {
            free_bytes: stand.free_bytes(),
            hot_files: (0..20).map(FileKey).collect(),
            ..Site::default()
        };
        let small = fsage_bench::benchmarks::Sequential {
            files: fsage_bench::benchmarks::sequential::FileCount::Exactly(60),
            ..small_file::SMALL_FILE
        };
        let cases = small.cases(&site);
        let results =
            |stand: SimulatedStand| run(&small, &cases, &site, &mut [stand], 2, &|_| true);
        assert_eq!(
            results(stand.clone()).unwrap(),
            results(stand).unwrap(),
            "{technique:?}"
        );
    }
}
