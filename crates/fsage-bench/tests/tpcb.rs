//! TPC-B on the disk and host of Seltzer et al. 1995, on a log and on an FFS.

use fsage_bench::benchmarks::TpcB;
use fsage_bench::benchmarks::tpcb::TPC_B;
use fsage_bench::{Case, SimulatedStand, Site, run};
use fsage_core::io::AnyHosted;
use fsage_core::{DirId, FileId, FileSystem, Op, Outcome};
use fsage_disk::Disk;
use fsage_host::HostParams;
use fsage_models::{ffs, lfs};
use std::io::Write as _;

/// Transactions a second.
fn rate(fs: &dyn AnyHosted, benchmark: &TpcB) -> f64 {
    let disk = Disk::preset("dsp3105").unwrap();
    let host = HostParams::preset("sparcstation-2").unwrap();
    let stand = SimulatedStand::new(fs, 1 << 32, &host, &disk, 1).unwrap();
    let site = Site {
        free_bytes: stand.free_bytes(),
        hot_files: Vec::new(),
    };
    let case = Case::of_size(benchmark.account_bytes);
    let results = run(benchmark, &[case], &site, &mut [stand], 1, &|_| true).unwrap();
    assert!(results.left_out.is_empty(), "{:?}", results.left_out);
    results.measurements[0].file_rate().unwrap()
}

/// 512 segments, filled to so many percent by the database and a static file.
fn log(percent: u64) -> lfs::Lfs {
    let params = lfs::Params {
        size_bytes: (512 << 20) + 8192,
        superuser: true,
        ..lfs::Params::of_variant(lfs::Variant::Lite2)
    };
    let mut fs = lfs::Lfs::new(params).unwrap();
    let bytes = (percent * (512 << 20) / 100).saturating_sub(TPC_B.account_bytes);
    let create = Op::Create {
        file: FileId(1),
        dir: DirId::ROOT,
        bytes,
    };
    assert_eq!(fs.apply(&create), Ok(Outcome::Done));
    assert_eq!(fs.apply(&Op::Sync), Ok(Outcome::Done));
    fs
}

#[test]
fn a_database_on_a_log_loses_to_its_cleaner_what_it_wins_over_an_ffs() {
    let brief = TpcB {
        warm_rounds: 0,
        transactions: 6000,
        ..TPC_B
    };
    let steady = TpcB {
        transactions: 6000,
        ..TPC_B
    };
    let options = [
        ("size", Some("512M")),
        ("bsize", Some("4K")),
        ("fsize", Some("1K")),
    ];
    let params = ffs::Params::from_options(options).unwrap();
    let on_ffs = rate(&ffs::Ffs::new(params).unwrap(), &brief);
    let without_cleaner = rate(&log(47), &brief);
    let (at_48, at_80) = (rate(&log(48), &steady), rate(&log(80), &steady));
    let seen = format!("{on_ffs:.1} {without_cleaner:.1} {at_48:.1} {at_80:.1}");
    // The paper, section 4: about half as much again without a cleaner (here more: the database has a quarter of the
    // disk, and seeks within it are short); 34 percent less with it at 48 percent, comparable to the FFS; below it on
    // fuller disks. lfs.md, 17.3: within ten points, and within 15 percent of the FFS.
    assert!(without_cleaner > 1.35 * on_ffs, "{seen}");
    let loss = 1.0 - at_48 / without_cleaner;
    assert!((0.24..=0.44).contains(&loss), "{seen}");
    assert!((at_48 / on_ffs - 1.0).abs() <= 0.15, "{seen}");
    assert!(at_80 < at_48 && at_80 < on_ffs, "{seen}");
    writeln!(std::io::stderr(), "transactions a second: {seen}").unwrap();
}
