//! The simulated subject: its own files beside those of the model, layouts, errors, and what does not change.

use fsage_bench::benchmarks::{
    LargeFile, Sequential, hot_files, large_file, sequential, small_file,
};
use fsage_bench::{
    BenchError, Benchmark, Case, FileKey, Part, Simulated, SimulatedStand, Site, Subject, run,
};
use fsage_core::{DirId, FileId, FileSystem, FileView, Layout, Op, Outcome};
use fsage_disk::{Disk, Null};
use fsage_host::{Host, HostParams};
use fsage_metrics::LayoutScore;
use fsage_models::ffs::{Ffs, Params};
use std::borrow::Cow;

const KB: u64 = 1 << 10;
const FIRST_OWN: u64 = 10_000;

/// A `small` file system on which every other file was removed and new ones took the space; one has a hole. Files 0, 2,
/// 4, ..., 198 and 200 to 299 are there.
fn aged(options: &[(&str, &str)]) -> Ffs {
    let options = options.iter().map(|&(key, value)| (key, Some(value)));
    let options = [("preset", Some("small"))].into_iter().chain(options);
    let options: Vec<_> = options.collect();
    let mut fs = Ffs::new(Params::from_options(options).unwrap()).unwrap();
    let mut apply = |op| assert_eq!(fs.apply(&op), Ok(Outcome::Done));
    let dir = |i: u64| DirId(1 + i % 3);
    for i in 0..3 {
        apply(Op::Mkdir {
            dir: dir(i),
            parent: None,
        });
    }
    for i in 0..200 {
        apply(Op::Create {
            file: FileId(i),
            dir: dir(i),
            bytes: 1 + i * i * 5,
        });
    }
    for i in (1..200).step_by(2) {
        apply(Op::Delete { file: FileId(i) });
    }
    apply(Op::Write {
        file: FileId(4),
        offset: 300_000,
        bytes: 40_000,
    });
    for i in 200..300 {
        apply(Op::Create {
            file: FileId(i),
            dir: dir(i),
            bytes: 150 * (i - 150),
        });
    }
    fs
}

fn on_null(fs: Ffs) -> Simulated<Ffs, Null> {
    let params = HostParams::preset("pentium-120").unwrap();
    Simulated::new(
        fs,
        Host::new(&params, Null::new(65_536), 0, 8192),
        FIRST_OWN,
    )
}

#[test]
fn the_layout_of_given_files_is_that_of_the_metric() {
    let fs = aged(&[]);
    let geometry = fs.geometry();
    let mut subject = on_null(fs.clone());
    let mut scored = 0;
    for id in (0..200).step_by(2).chain(200..300) {
        let ino = fs.inode(FileId(id)).unwrap();
        let mut metric = LayoutScore::default();
        fs.visit_files(&mut |file: &FileView<'_>| {
            if file.ino == ino {
                metric = LayoutScore::of_file(file, &geometry);
            }
        });
        let ours = subject.layout(&[FileKey(id)]).unwrap().unwrap();
        assert_eq!(ours, metric, "file {id}");
        scored += metric.scored;
    }
    let every: Vec<FileKey> = (0..200).step_by(2).chain(200..300).map(FileKey).collect();
    let all = subject.layout(&every).unwrap().unwrap();
    assert_eq!(all.scored, scored);
    assert!(0 < all.optimal && all.optimal < all.scored, "{all:?}");
}

#[test]
fn own_files_stand_beside_those_of_the_model_and_go_again() {
    let fs = aged(&[]);
    let mut subject = on_null(fs.clone());
    let free_bytes = subject.free_bytes().unwrap();
    let dir = subject.mkdir().unwrap();
    let made: Vec<FileKey> = [0, 1000, 20_000, 200_000]
        .into_iter()
        .map(|bytes| subject.create(dir, bytes, 4096).unwrap())
        .collect();
    subject.delete(made[1]).unwrap();
    assert_eq!(subject.file_bytes(made[3]).unwrap(), 200_000);
    assert!(matches!(
        subject.file_bytes(made[1]),
        Err(BenchError::NoFile(_))
    ));
    assert!(subject.free_bytes().unwrap() < free_bytes);
    subject.model().check().unwrap();
    subject.clean_up().unwrap();
    subject.model().check().unwrap();
    assert_eq!(subject.free_bytes().unwrap(), free_bytes);
    assert_eq!(subject.model().file_count(), fs.file_count());
}

#[test]
fn a_file_lies_where_one_call_puts_it_however_many_write_it() {
    for policy in ["orig", "realloc"] {
        let fs = aged(&[("policy", policy)]);
        let layout_by = |call_bytes| {
            let mut subject = on_null(fs.clone());
            let dir = subject.mkdir().unwrap();
            let file = subject.create(dir, 1_000_000, call_bytes).unwrap();
            let mut extents = Vec::new();
            let ino = subject.model().inode(FileId(file.0)).unwrap();
            subject.model().visit_files(&mut |file| {
                if file.ino == ino {
                    extents.extend_from_slice(file.extents.unwrap());
                }
            });
            extents
        };
        assert_eq!(layout_by(8 * KB), layout_by(4096 * KB), "{policy}");
    }
}

#[test]
fn errors_of_the_model_are_those_of_the_benchmark() {
    let mut subject = on_null(aged(&[]));
    let free_bytes = subject.free_bytes().unwrap();
    let dir = subject.mkdir().unwrap();
    let too_large = subject.create(dir, 2 * free_bytes, 4096 * KB);
    assert!(
        matches!(too_large, Err(BenchError::NoSpace)),
        "{too_large:?}"
    );
    // What was written before is removed with the rest.
    subject.clean_up().unwrap();
    assert_eq!(subject.free_bytes().unwrap(), free_bytes);
    let part = Part {
        offset: 0,
        bytes: 1,
        call_bytes: 1,
    };
    let gone = FileKey(77);
    assert!(matches!(subject.read(gone, part), Err(BenchError::NoFile(f)) if f == gone));
    assert!(matches!(
        subject.overwrite(gone, part),
        Err(BenchError::NoFile(_))
    ));
    let drive = Disk::preset("dsp3105").unwrap();
    let params = HostParams::preset("pentium-120").unwrap();
    let options = [("preset", Some("g1024")), ("size", Some("4G"))];
    let large = Ffs::new(Params::from_options(options).unwrap()).unwrap();
    let error = SimulatedStand::new(&large, 1, &params, &drive, 1).unwrap_err();
    // 2568 cylinders of 14 tracks of 57 sectors.
    assert_eq!(error.partition_bytes, 2568 * 14 * 57 * 512);
    assert!(error.to_string().contains("DEC DSP 3105"), "{error}");
}

#[test]
fn every_benchmark_runs_on_an_aged_model_and_gives_the_same_on_any_number_of_threads() {
    let fs = aged(&[("policy", "realloc")]);
    let drive = Disk::preset("m2694").unwrap();
    let params = HostParams::preset("pentium-pro-200").unwrap();
    let stand = SimulatedStand::new(&fs, FIRST_OWN, &params, &drive, 7).unwrap();
    let site = Site {
        free_bytes: stand.free_bytes(),
        hot_files: (0..40).step_by(2).map(FileKey).collect(),
        ..Site::default()
    };
    let sequential = Sequential {
        files: sequential::FileCount::Holding {
            total_bytes: 1 << 20,
            at_least: 1,
        },
        sizes: Cow::Borrowed(&[16 * KB, 104 * KB]),
        ..sequential::SEQUENTIAL_1995
    };
    let small = Sequential {
        files: sequential::FileCount::Exactly(150),
        ..small_file::SMALL_FILE
    };
    let large = LargeFile {
        file_bytes: 2 << 20,
        ..large_file::LARGE_FILE
    };
    let benchmarks: [(&dyn Benchmark, usize); 4] = [
        (&sequential, 2 * 4),
        (&small, 3),
        (&large, 5),
        (&hot_files::HOT_FILES, 2),
    ];
    for (benchmark, phases) in benchmarks {
        let cases = benchmark.cases(&site);
        let results = |stands: &mut [SimulatedStand]| {
            run(benchmark, &cases, &site, stands, 3, &|_| true).unwrap()
        };
        let alone = results(&mut [stand.clone()]);
        assert_eq!(
            alone,
            results(&mut vec![stand.clone(); 3]),
            "{}",
            benchmark.name()
        );
        assert_eq!(alone.measurements.len(), 3 * phases, "{}", benchmark.name());
        for m in &alone.measurements {
            let cpu_ns = m.cpu_ns.expect("a simulated processor");
            assert!(0 < cpu_ns && cpu_ns <= m.elapsed_ns, "{m:?}");
            assert!(m.countable.is_some(), "{m:?}");
        }
    }
}

#[test]
fn repetitions_begin_at_angles_of_their_own_and_a_seed_fixes_them() {
    let fs = aged(&[]);
    let drive = Disk::preset("m2694").unwrap();
    let params = HostParams::preset("pentium-pro-200").unwrap();
    let elapsed = |seed, repetition| {
        let stand = SimulatedStand::new(&fs, FIRST_OWN, &params, &drive, seed).unwrap();
        let mut subject = stand.subject(repetition, Case::default());
        let part = Part {
            offset: 0,
            bytes: 1,
            call_bytes: 1,
        };
        subject.read(FileKey(100), part).unwrap();
        subject.clock_ns()
    };
    assert_eq!(elapsed(1, 0), elapsed(1, 0));
    assert_ne!(elapsed(1, 0), elapsed(1, 1));
    assert_ne!(elapsed(1, 0), elapsed(2, 0));
}
