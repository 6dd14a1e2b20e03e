//! TPC-B of Seltzer et al. 1995 on a log and on an FFS, by the constants of the paper and on its disk and host.

use fsage_bench::BenchError;
use fsage_bench::benchmarks::tpcb::point::{Cleaning, Point, Setup, Starts, System, measure};
use fsage_models::lfs::cleaner::CostBenefit;
use std::sync::LazyLock;

const CLEANED: System = System::Log(&CostBenefit);

static IN_PLACE: LazyLock<Point> = LazyLock::new(|| of_1995(System::InPlace, 48));
static UNCLEANED: LazyLock<Point> = LazyLock::new(|| of_1995(System::LogUncleaned, 48));
static AT_48: LazyLock<Point> = LazyLock::new(|| of_1995(CLEANED, 48));
static AT_80: LazyLock<Point> = LazyLock::new(|| of_1995(CLEANED, 80));

fn point(setup: &Setup) -> Point {
    let point = measure(setup).unwrap();
    assert_eq!((point.transactions, &point.end), (20_000, &None));
    point
}

fn of_1995(system: System, utilization_percent: u64) -> Point {
    point(&Setup::of_1995(system, utilization_percent))
}

/// That a value lies so far from another one at most, as a share of it.
fn near(what: &str, value: f64, expected: f64, share: f64) {
    let off = value / expected - 1.0;
    assert!(off.abs() <= share, "{what}: {value} for {expected}");
}

#[test]
fn without_a_cleaner_the_constants_give_what_the_paper_calculates_and_the_disk_a_little_more() {
    let (empty, log) = (&*IN_PLACE, &*UNCLEANED);
    let full = &of_1995(System::InPlace, 80);
    // lfs.md 15.2: 28.6 at every utilization, and 44; printed as measured: about 26.7 and 41, half as much again.
    for in_place in [empty, full] {
        near("in place", in_place.tps_by_constants, 28.6, 0.02);
        near("in place", in_place.tps_by_constants, 26.7, 0.10);
        assert_eq!(in_place.cleaning, None);
    }
    near("log", log.tps_by_constants, 44.0, 0.02);
    near("log", log.tps_by_constants, 41.0, 0.10);
    assert_eq!(log.cleaning, None);
    near(
        "log over FFS",
        log.tps_by_constants / empty.tps_by_constants,
        1.5,
        0.05,
    );
    // On the disk too the FFS is as fast when it is full. Both are faster than the constants say, the log above all:
    // two requests, or one, of which each moves the arm for less than the 9.5 ms of the average seek, since the
    // database is a quarter of the disk.
    near("in place, full", full.tps_by_disk, empty.tps_by_disk, 0.02);
    assert!(
        (1.05..1.10).contains(&(empty.tps_by_disk / empty.tps_by_constants)),
        "{empty:?}"
    );
    assert!(
        (1.10..1.20).contains(&(log.tps_by_disk / log.tps_by_constants)),
        "{log:?}"
    );
    assert!(
        empty.time.seek_ms < 2.0 * 7.0 && log.time.seek_ms < 6.0,
        "{empty:?} {log:?}"
    );
}

#[test]
fn a_cleaner_costs_at_48_percent_what_the_paper_says_and_more_on_a_fuller_disk() {
    let (in_place, at_48, at_80) = (&*IN_PLACE, &*AT_48, &*AT_80);
    near("utilization", at_48.utilization, 0.48, 0.02);
    near("utilization", at_80.utilization, 0.80, 0.01);
    // lfs.md 15.2: 30.0 in steady state. 17.3 (a): within 15 percent of the FFS at 48 percent, and below it on fuller
    // disks; (b): losses within ten points of 34 and 41 percent.
    near("at 48 %", at_48.tps_by_constants, 30.0, 0.05);
    near(
        "at 48 %",
        at_48.tps_by_constants,
        in_place.tps_by_constants,
        0.15,
    );
    near(
        "at 48 %, disk",
        at_48.tps_by_disk,
        in_place.tps_by_disk,
        0.15,
    );
    assert!(
        at_80.tps_by_constants < in_place.tps_by_constants
            && at_80.tps_by_disk < in_place.tps_by_disk
    );
    let loss = |tps: fn(&Point) -> f64, cleaned: &Point| 1.0 - tps(cleaned) / tps(&UNCLEANED);
    for (cleaned, printed) in [(at_48, 0.34), (at_80, 0.41)] {
        let loss = loss(|point| point.tps_by_constants, cleaned);
        assert!((loss - printed).abs() <= 0.10, "{loss} for {printed}");
    }
    let at_48_by_disk = loss(|point| point.tps_by_disk, at_48);
    assert!((at_48_by_disk - 0.34).abs() <= 0.10, "{at_48_by_disk}");
    // What does not hold is (b) at 80 percent on the disk. The cleaner takes there what the constants say, but the log
    // that it is compared with is faster than they say.
    let at_80_by_disk = loss(|point| point.tps_by_disk, at_80);
    assert!((0.51..0.60).contains(&at_80_by_disk), "{at_80_by_disk}");
    for cleaned in [at_48, at_80] {
        near("disk", cleaned.tps_by_disk, cleaned.tps_by_constants, 0.05);
    }
}

#[test]
fn the_cleaner_of_1993_cleans_as_often_and_as_full_segments_as_was_counted() {
    // lfs.md 15.3, with the segment writes of 800 KB of that machine, on a disk 80 percent full: a segment in 50
    // transactions, 71 percent utilized; the cleaner's are 60 to 80 percent of the writes and 31 percent of all
    // transfers. 17.3 (c): within 15 percent.
    let cleaning = point(&Setup::of_1993(CLEANED, 80)).cleaning.unwrap();
    near("segments", cleaning.segments_per_1000, 20.0, 0.15);
    near("utilization", cleaning.utilization, 0.71, 0.15);
    near("transfers", cleaning.share_of_transfers, 0.31, 0.15);
    assert!(
        (0.60..=0.80).contains(&cleaning.share_of_writes),
        "{cleaning:?}"
    );
}

#[test]
fn the_whole_workload_gives_the_table_of_the_small_model_but_on_the_fullest_disks() {
    // lfs.md 15.4 and 17.3 (d): live share of cleaned segments, segments in 1000 transactions, share of the cleaner in
    // writes, transactions a second by the constants; within a tenth. The small model knows no history and no sync.
    let table = [
        (48, [0.49, 12.1, 0.50, 30.9], [0.1; 4]),
        (60, [0.56, 14.2, 0.57, 28.9], [0.1; 4]),
        (70, [0.64, 17.1, 0.64, 26.6], [0.1; 4]),
        // The history adds 3 percent to what is written between two cleanings. So does the sync at 48 percent; at 80 it
        // comes after fewer transactions and adds 5, at 90 percent 10.
        (80, [0.72, 22.5, 0.73, 23.1], [0.1, 0.15, 0.1, 0.1]),
        (90, [0.82, 36.7, 0.83, 17.2], [0.1, 0.45, 0.1, 0.25]),
    ];
    for (percent, expected, within) in table {
        let point = match percent {
            48 => AT_48.clone(),
            80 => AT_80.clone(),
            _ => of_1995(CLEANED, percent),
        };
        let Cleaning {
            utilization,
            segments_per_1000,
            share_of_writes,
            ..
        } = point.cleaning.unwrap();
        let got = [
            utilization,
            segments_per_1000,
            share_of_writes,
            point.tps_by_constants,
        ];
        for ((got, expected), within) in got.into_iter().zip(expected).zip(within) {
            near(&format!("{percent} %"), got, expected, within);
        }
    }
}

#[test]
fn a_cleaner_that_has_just_begun_takes_emptier_segments_and_one_that_waits_still_emptier_ones() {
    let begun = Setup {
        starts: Starts::FirstCleaning,
        transactions: 1000,
        ..Setup::of_1995(CLEANED, 80)
    };
    let waits = Setup {
        log: begun
            .log
            .clone()
            .with_options([("busy", Some("0"))])
            .unwrap(),
        ..begun.clone()
    };
    let live = |point: &Point| point.cleaning.unwrap().utilization;
    let [begun, waits] = [begun, waits].map(|setup| measure(&setup).unwrap());
    assert!(live(&begun) < live(&AT_80) - 0.05, "{begun:?}");
    assert!(live(&waits) < live(&begun) - 0.05, "{waits:?}");
    assert!(waits.tps_by_constants > begun.tps_by_constants);
    assert!(begun.tps_by_constants > AT_80.tps_by_constants);
    assert_eq!((begun.transactions, waits.transactions), (1000, 1000));
}

#[test]
fn a_disk_that_is_too_full_is_refused_and_none_is_too_full_to_be_asked_for() {
    for (system, percent) in [(CLEANED, 101), (System::InPlace, 101), (CLEANED, u64::MAX)] {
        let error = measure(&Setup::of_1995(system, percent)).unwrap_err();
        assert!(matches!(error, BenchError::NoSpace), "{error}");
    }
}
