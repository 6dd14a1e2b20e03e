//! What the benchmarks ask of a file system, in which order, and what they measure.

use super::*;
use crate::benchmark::{Case, Site, Unsuited};
use crate::measurement::Measurement;
use crate::subject::{BenchError, FileKey};
use crate::test_subject::TestSubject;
use std::collections::BTreeSet;

const MB: u64 = 1 << 20;

fn site(free_bytes: u64) -> Site {
    Site {
        free_bytes,
        hot_files: Vec::new(),
        ..Site::default()
    }
}

/// Phase, files, bytes, seconds.
fn in_short(measurements: &[Measurement]) -> Vec<(&str, u64, u64, u64)> {
    measurements
        .iter()
        .map(|m| (&*m.phase, m.files, m.bytes, m.elapsed_ns / 1_000_000_000))
        .collect()
}

#[test]
fn names_are_unique_and_found() {
    let names: BTreeSet<&str> = ALL.iter().map(|benchmark| benchmark.name()).collect();
    assert_eq!(names.len(), ALL.len());
    for benchmark in ALL {
        let found = by_name(benchmark.name()).expect("a benchmark of the list");
        assert_eq!(found.name(), benchmark.name());
        assert!(!benchmark.default_cases().is_empty());
    }
    assert!(by_name("random").is_none());
}

#[test]
fn files_of_one_size_fill_32_megabytes_in_directories_of_25() {
    // 32 MB / 10 MB are 3 files; a file of 10 MB takes 3 calls of at most 4 MB.
    let mut subject = TestSubject::new(100 * MB, &[]);
    let case = Case::of_size(10 * MB);
    let measured = sequential::SEQUENTIAL
        .run(case, 7, &site(100 * MB), &mut subject)
        .expect("room for three files");
    assert_eq!(
        subject.log,
        [
            "drop",
            "mkdir 1",
            "create 1/1 10485760",
            "create 1/2 10485760",
            "create 1/3 10485760",
            "sync",
            "drop",
            "read 1 0+10485760",
            "read 2 0+10485760",
            "read 3 0+10485760",
        ]
    );
    assert_eq!(
        in_short(&measured),
        [("create", 3, 30 * MB, 9 + 10), ("read", 3, 30 * MB, 9)]
    );
    for m in &measured {
        assert_eq!((m.repetition, m.file_bytes), (7, case.file_bytes));
        assert_eq!((m.benchmark.as_str(), m.cpu_ns), ("sequential", None));
        // 10,240 blocks of 1 KB a file.
        assert_eq!((m.optimal, m.countable), (Some(3 * 5119), Some(3 * 10_239)));
    }
    // 32 MB / 1 MB are 32 files, in two directories; 16 KB: 2048 files in 82.
    for (file_bytes, directories) in [(MB, 2), (16 << 10, 82), (32 * MB, 1)] {
        let mut subject = TestSubject::new(100 * MB, &[]);
        sequential::SEQUENTIAL
            .run(Case::of_size(file_bytes), 0, &site(100 * MB), &mut subject)
            .expect("room for 32 MB");
        let made = subject.log.iter().filter(|line| line.starts_with("mkdir"));
        assert_eq!(made.count(), directories);
    }
}

#[test]
fn the_benchmark_of_1995_has_four_phases_and_ten_files_at_least() {
    let mut subject = TestSubject::new(1000 * MB, &[]);
    let measured = sequential::SEQUENTIAL_1995
        .run(Case::of_size(64 * MB), 0, &site(1000 * MB), &mut subject)
        .expect("room for 640 MB");
    assert_eq!(
        in_short(&measured),
        [
            ("create", 10, 640 * MB, 160 + 10),
            ("read", 10, 640 * MB, 160),
            ("overwrite", 10, 640 * MB, 160 + 10),
            ("delete", 10, 0, 10 + 10),
        ]
    );
    assert!(measured[3].file_rate().is_some() && measured[3].throughput().is_none());
    assert!(subject.files.is_empty());
    let sizes: Vec<u64> = sequential::SEQUENTIAL_1995.sizes.to_vec();
    assert!(sizes.windows(2).all(|pair| pair[1] == 2 * pair[0]));
    assert_eq!((sizes[0], sizes[16]), (1024, 64 * MB));
}

#[test]
fn cases_that_do_not_fit_are_left_out_and_say_why() {
    // 32 MB and an eighth are 36 MB; of the sizes of 1996 all need as much, or a little less.
    let sequential = &sequential::SEQUENTIAL;
    assert_eq!(sequential.cases(&site(36 * MB)).len(), 26);
    assert_eq!(sequential.left_out(&site(36 * MB)).len(), 0);
    assert_eq!(sequential.cases(&site(10 * MB)).len(), 0);
    let left_out = sequential.left_out(&site(10 * MB));
    assert_eq!(left_out[0].case, Case::of_size(16 << 10));
    assert_eq!(
        left_out[0].why.to_string(),
        "needs 36.0 MiB, and 10.0 MiB are free"
    );
    let hot = hot_files::HOT_FILES.left_out(&site(MB));
    assert_eq!(hot[0].why, Unsuited::NoHotFiles);
    let without_size = sequential.suits(Case::default(), &site(MB));
    assert_eq!(without_size, Err(Unsuited::NoSize));
    let empty = sequential.suits(Case::of_size(0), &site(100 * MB));
    assert_eq!(empty, Err(Unsuited::NoSize));
    // 2^25 files of a byte take at least 2^25 KB.
    let byte = sequential.suits(Case::of_size(1), &site(1 << 35));
    assert!(matches!(byte, Err(Unsuited::NoRoom { .. })), "{byte:?}");
    // 100 MB and an eighth.
    let large = &large_file::LARGE_FILE;
    assert_eq!(large.cases(&site(118_000_000)).len(), 1);
    assert_eq!(large.cases(&site(117_000_000)).len(), 0);
}

#[test]
fn hot_files_are_read_then_overwritten_in_the_order_given() {
    let mut subject = TestSubject::new(0, &[(3, 5 * MB), (8, 100), (5, 0)]);
    let site = Site {
        free_bytes: 0,
        hot_files: vec![FileKey(8), FileKey(3), FileKey(5)],
        ..Site::default()
    };
    let measured = hot_files::HOT_FILES
        .run(Case::default(), 0, &site, &mut subject)
        .expect("files that are there");
    assert_eq!(
        subject.log,
        [
            "drop",
            "read 8 0+100",
            "read 3 0+5242880",
            "read 5 0+0",
            "drop",
            "overwrite 8 0+100",
            "overwrite 3 0+5242880",
            "overwrite 5 0+0",
            "sync",
        ]
    );
    let bytes = 5 * MB + 100;
    assert_eq!(
        in_short(&measured),
        [("read", 3, bytes, 3), ("overwrite", 3, bytes, 3 + 10)]
    );
    // 1 + 5120 blocks of 1 KB.
    assert_eq!(measured[0].countable, Some(5119));
    assert_eq!(measured[1].countable, Some(5119));
}

#[test]
fn a_file_that_is_gone_is_an_error() {
    let site = Site {
        free_bytes: 0,
        hot_files: vec![FileKey(8)],
        ..Site::default()
    };
    let mut subject = TestSubject::new(0, &[]);
    let result = hot_files::HOT_FILES.run(Case::default(), 0, &site, &mut subject);
    assert!(matches!(result, Err(BenchError::NoFile(FileKey(8)))));
}

#[test]
fn ten_thousand_small_files_lie_in_a_hundred_directories() {
    let mut subject = TestSubject::new(100 * MB, &[]);
    let measured = small_file::SMALL_FILE
        .run(Case::of_size(1024), 0, &site(100 * MB), &mut subject)
        .expect("room for 10 MB");
    assert_eq!(
        in_short(&measured),
        [
            ("create", 10_000, 10_240_000, 10_010),
            ("read", 10_000, 10_240_000, 10_000),
            ("delete", 10_000, 0, 10_010),
        ]
    );
    let made = subject.log.iter().filter(|line| line.starts_with("mkdir"));
    assert_eq!(made.count(), 100);
}

#[test]
fn a_large_file_goes_through_five_passes() {
    let benchmark = LargeFile {
        random_bytes: Some(100 << 10),
        ..large_file::LARGE_FILE
    };
    // 60 KB are 8 units, the last of 4 KB; 100 KB of units are 13, or 14 with halves among them, and so on.
    let case = Case::of_size(60 << 10);
    let run = |repetition| {
        let mut subject = TestSubject::new(MB, &[]);
        let measured = benchmark
            .run(case, repetition, &site(MB), &mut subject)
            .expect("room for 60 KB");
        (measured, subject.log)
    };
    let (measured, log) = run(0);
    let phases: Vec<&str> = measured.iter().map(|m| &*m.phase).collect();
    assert_eq!(
        phases,
        ["create", "read", "random-write", "random-read", "reread"]
    );
    for m in &measured {
        let expected = match &*m.phase {
            "random-write" | "random-read" => (100 << 10)..=(107 << 10),
            _ => (60 << 10)..=(60 << 10),
        };
        assert!(expected.contains(&m.bytes), "{m:?}");
    }
    assert_eq!(measured[0].elapsed_ns, 18_000_000_000);
    assert_eq!(measured[1].elapsed_ns, 8_000_000_000);
    let drawn = |log: &[String]| -> Vec<String> {
        let at_random = log.iter().filter(|line| line.starts_with("overwrite"));
        at_random.cloned().collect()
    };
    assert!(drawn(&log).len() >= 13);
    assert_eq!(log, run(0).1);
    assert_ne!(drawn(&log), drawn(&run(1).1));
    // What is read is not what was written.
    let reads: Vec<String> = log
        .iter()
        .filter(|line| line.starts_with("read 1 ") && !line.ends_with("+61440"))
        .map(|line| line.replace("read", "overwrite"))
        .collect();
    assert_ne!(drawn(&log), reads);
}

#[test]
fn the_free_space_benchmark_has_three_sizes_and_25_files_a_directory() {
    let free_space = &free_space::FREE_SPACE;
    let sizes: Vec<Option<u64>> = free_space
        .cases(&site(100 * MB))
        .iter()
        .map(|case| case.file_bytes)
        .collect();
    assert_eq!(sizes, [Some(8192), Some(65_536), Some(MB)]);
    let mut subject = TestSubject::new(100 * MB, &[]);
    let measured = free_space
        .run(Case::of_size(65_536), 0, &site(100 * MB), &mut subject)
        .expect("room for 32 MB");
    assert_eq!(
        in_short(&measured),
        [("create", 512, 32 * MB, 522), ("read", 512, 32 * MB, 512)]
    );
    // 512 / 25 = 20.5.
    assert!(subject.log.contains(&"mkdir 21".to_owned()));
}

#[test]
fn a_transaction_writes_a_page_back_and_reads_one_and_every_82nd_adds_one_to_the_history() {
    let benchmark = TpcB {
        warm_rounds: 0,
        transactions: 3000,
        ..tpcb::TPC_B
    };
    let mut subject = TestSubject::new(1 << 30, &[]);
    let case = Case::of_size(benchmark.account_bytes);
    let measured = benchmark
        .run(case, 0, &site(1 << 30), &mut subject)
        .expect("room for the database");
    let [phase] = &measured[..] else {
        panic!("{measured:?}");
    };
    assert_eq!((&*phase.phase, phase.files), ("transactions", 3000));
    // lfs.md 15.1: 237 MB, 44 KB, 44 KB, 70 KB.
    let made = [
        "drop",
        "mkdir 1",
        "create 1/1 248512512",
        "create 1/2 45056",
        "create 1/3 45056",
    ];
    assert_eq!(subject.log[..5], made);
    assert_eq!(subject.log[5..7], ["create 1/4 71680", "drop"]);
    let of = |verb: &str| -> Vec<usize> {
        let lines = subject.log.iter().enumerate();
        lines
            .filter(|(_, line)| line.starts_with(verb))
            .map(|(i, _)| i)
            .collect()
    };
    // 44 KB are 11 pages, each read once and never forgotten; of the history only the page at its end is read.
    for (file, pages) in [(2, 11), (3, 11), (4, 1)] {
        assert_eq!(of(&format!("read {file} ")).len(), pages, "file {file}");
        assert!(of(&format!("overwrite {file} ")).is_empty(), "file {file}");
    }
    // Memory has 1024 pages: 22 of branches and tellers, some 990 of accounts, and the 12 or 13 that the history got in
    // as many transactions, since 81.9 records of it are a page.
    let (reads, writes) = (of("read 1 "), of("overwrite 1 "));
    let in_memory = reads.len() - writes.len();
    assert!((988..=990).contains(&in_memory), "{in_memory}");
    // One in 60 is in memory, 1024 of 60,672; some 1000 transactions fill it.
    assert!((3850..=4000).contains(&reads.len()), "{}", reads.len());
    for &read in reads.iter().filter(|&&read| read > writes[0]) {
        let before = &subject.log[read - 1];
        let written = before.starts_with("overwrite 1 ") || before.starts_with("append 4 ");
        assert!(written, "{before}");
    }
    // The last page of the history has 2048 bytes left. 4000 records are 48 pages, less those in memory.
    let bytes: Vec<&str> = of("append 4 ").iter().map(|&i| &*subject.log[i]).collect();
    assert!((35..=37).contains(&bytes.len()), "{}", bytes.len());
    assert_eq!(bytes[0], "append 4 2048");
    assert!(bytes[1..].iter().all(|line| *line == "append 4 4096"));
}

/// Where the clock of a bulletin board starts, in the log.
fn start_of(subject: &TestSubject) -> usize {
    let start = subject.log.iter().position(|line| line == "drop");
    start.expect("a start")
}

/// Two cold boards and a hot one, two directories each.
fn small_bbs() -> bbs::Bbs {
    bbs::Bbs {
        cold_boards: 2,
        hot_boards: 1,
        directories: 2,
        operations: 4000,
        filled: 3,
        ..bbs::BBS
    }
}

#[test]
fn a_bulletin_board_is_made_and_filled_before_its_clock_starts() {
    let mut subject = TestSubject::new(1000 * MB, &[]);
    let measured = small_bbs()
        .run(Case::default(), 0, &site(1000 * MB), &mut subject)
        .expect("room for all articles");
    let made = [
        "mkdir 1",
        "mkdir 1/2",
        "mkdir 1/3",
        "mkdir 4",
        "mkdir 4/5",
        "mkdir 4/6",
        "mkdir 7",
        "hint 7",
        "mkdir 7/8",
        "mkdir 7/9",
    ];
    assert_eq!(subject.log[..made.len()], made);
    let cold = ["2", "3", "5", "6"];
    for (i, line) in subject.log[made.len()..made.len() + 3].iter().enumerate() {
        let dir = line.strip_prefix("create ").and_then(|l| l.split_once('/'));
        let (dir, rest) = dir.expect("an article");
        assert!(cold.contains(&dir), "{line}");
        assert_eq!(rest, format!("{} 4096", i + 1));
    }
    assert_eq!(subject.log[made.len() + 3], "drop");
    // A second for each operation and ten for the sync; what came before is not counted.
    let seconds = measured[0].elapsed_ns / 1_000_000_000;
    assert_eq!(
        (measured.len(), measured[0].files, seconds),
        (1, 4000, 4010)
    );
    assert_eq!(subject.log.last().map(String::as_str), Some("sync"));
}

#[test]
fn operations_of_a_bulletin_board_come_in_the_shares_of_the_paper() {
    for (bbs, writes) in [(bbs::BBS, 0.20), (bbs::BBS_WRITES, 0.30)] {
        let mut subject = TestSubject::new(4000 * MB, &[]);
        let bbs = bbs::Bbs {
            write_percent: bbs.write_percent,
            operations: 20_000,
            ..small_bbs()
        };
        bbs.run(Case::default(), 1, &site(4000 * MB), &mut subject)
            .expect("room for all articles");
        let from = start_of(&subject);
        let share = |verb: &str, what: &dyn Fn(&str) -> bool| {
            let all = subject.log[from..].iter();
            let found = all.filter(|l| l.starts_with(verb) && what(l));
            found.count() as f64 / 20_000.0
        };
        let any = |_: &str| true;
        // Three standard deviations of the share of 20,000 draws are below 0.01.
        assert!((share("create", &any) - writes).abs() < 0.01);
        assert!((share("delete", &any) - 0.05).abs() < 0.01);
        assert!((share("read", &any) - (0.95 - writes)).abs() < 0.01);
        let hot = |line: &str| line.contains(" 8/") || line.contains(" 9/");
        assert!((share("create", &hot) - 0.9 * writes).abs() < 0.01);
        assert!(share("create 8/", &any) > 0.4 * writes);
    }
}

#[test]
fn popular_articles_are_read_most_and_never_removed() {
    let mut subject = TestSubject::new(4000 * MB, &[]);
    let bbs = bbs::Bbs {
        hot_percent: 0,
        write_percent: 5,
        filled: 100,
        operations: 20_000,
        popular: Some(bbs::Popular {
            articles: 4,
            read_percent: 90,
        }),
        ..small_bbs()
    };
    bbs.run(Case::default(), 1, &site(4000 * MB), &mut subject)
        .expect("room for all articles");
    let from = start_of(&subject);
    let mut reads = std::collections::BTreeMap::<&str, u32>::new();
    for line in &subject.log[from..] {
        if let Some(read) = line.strip_prefix("read ") {
            let file = read.split(' ').next().expect("a file");
            *reads.entry(file).or_default() += 1;
        }
    }
    // 18,000 reads, of which 16,200 are of four articles: 4,050 each; the others share 1,800.
    let often: Vec<(&str, u32)> = reads.into_iter().filter(|(_, n)| *n > 1000).collect();
    assert_eq!(often.len(), 4);
    for (file, count) in often {
        assert!((3750..4350).contains(&count), "{file}: {count}");
        let removed = format!("delete {file}");
        assert!(subject.log.iter().all(|line| *line != removed), "{file}");
    }
}

#[test]
fn articles_in_the_middle_are_counted_and_old_ones_are_read_unless_they_are_not() {
    let mut subject = TestSubject::new(1000 * MB, &[]);
    let center = Some(0..2 * 4096 + 1);
    let bbs = bbs::Bbs {
        center,
        ..small_bbs()
    };
    let measured = bbs
        .run(Case::default(), 0, &site(1000 * MB), &mut subject)
        .expect("room for all articles");
    // Articles 1 and 2 lie there, and are old.
    let from = start_of(&subject);
    let there = subject.log[from..].iter().filter(|line| {
        let mut words = line.split(' ').skip(1);
        words.next().is_some_and(|file| file == "1" || file == "2")
    });
    let there = there.count() as u64;
    assert!(there > 0);
    assert_eq!(measured[1].phase, "center");
    assert_eq!(
        (measured[1].files, measured[1].bytes),
        (there, 4096 * there)
    );
    assert_eq!((&*measured[2].phase, measured[2].files), ("hot-center", 0));
    let mut subject = TestSubject::new(1000 * MB, &[]);
    let bbs = bbs::Bbs {
        reads_old: false,
        ..bbs
    };
    let measured = bbs
        .run(Case::default(), 0, &site(1000 * MB), &mut subject)
        .expect("room for all articles");
    assert_eq!(measured[1].files, 0);
}

/// Every step has an order of its own, and each repetition others.
#[test]
fn files_are_used_at_random_where_names_say_nothing() {
    let benchmark = Sequential {
        files: FileCount::Exactly(20),
        order: Order::AtRandom,
        ..small_file::SMALL_FILE_1997
    };
    let orders = |repetition| -> [Vec<String>; 3] {
        let mut subject = TestSubject::new(MB, &[]);
        benchmark
            .run(Case::of_size(1024), repetition, &site(MB), &mut subject)
            .expect("room for 20 KB");
        ["read", "overwrite", "delete"].map(|step| {
            let calls = subject.log.iter().filter(|call| call.starts_with(step));
            let files = calls.filter_map(|call| call.split_whitespace().nth(1));
            files.map(str::to_owned).collect()
        })
    };
    let first = orders(0);
    for (at, order) in first.iter().enumerate() {
        assert_eq!(order.iter().collect::<BTreeSet<_>>().len(), 20, "each once");
        assert_ne!(order, &first[(at + 1) % 3]);
    }
    assert_eq!(first, orders(0));
    assert_ne!(first, orders(1));
}

/// Three documents of four files, each named together when it is made, and read as a whole.
#[test]
fn files_of_a_document_are_named_and_used_together() {
    let benchmark = Sequential {
        files: FileCount::Exactly(12),
        files_per_directory: 3,
        order: Order::ByDocument(4),
        ..small_file::SMALL_FILE_1997
    };
    let mut subject = TestSubject::new(MB, &[]);
    benchmark
        .run(Case::of_size(1024), 0, &site(MB), &mut subject)
        .expect("room for 12 KB");
    let log = &subject.log;
    let named: Vec<_> = (0..log.len())
        .filter(|&i| log[i].starts_with("together"))
        .collect();
    assert_eq!(
        named.iter().map(|&i| &*log[i]).collect::<Vec<_>>(),
        ["together 0", "together 1", "together 2"]
    );
    assert_eq!(
        (named[1] - named[0], named[2] - named[1]),
        (5, 5),
        "four files each"
    );
    let creates = log.iter().filter(|call| call.starts_with("create"));
    let directories = creates.filter_map(|call| call.split(['/', ' ']).nth(1));
    assert!(
        directories.collect::<BTreeSet<_>>().len() > 1,
        "in several directories"
    );
    let reads = log.iter().filter(|call| call.starts_with("read"));
    let numbers: Vec<u64> = reads
        .filter_map(|call| call.split_whitespace().nth(1)?.parse().ok())
        .collect();
    assert_eq!(numbers.len(), 12);
    for document in numbers.chunks(4) {
        assert!(
            document.windows(2).all(|pair| pair[1] == pair[0] + 1),
            "{document:?}"
        );
    }
}

/// By hand, with four files in directories of two: a call is a second, a sync ten.
#[test]
fn the_benchmark_of_1997_makes_directories_first_and_syncs_every_phase() {
    let benchmark = Sequential {
        files: FileCount::Exactly(4),
        files_per_directory: 2,
        ..small_file::SMALL_FILE_1997
    };
    let mut subject = TestSubject::new(MB, &[]);
    let measured = benchmark
        .run(Case::of_size(1024), 0, &site(MB), &mut subject)
        .expect("room for 4 KB");
    assert_eq!(
        subject.log[..8],
        [
            "mkdir 1",
            "mkdir 2",
            "drop",
            "create 1/1 1024",
            "create 1/2 1024",
            "create 2/3 1024",
            "create 2/4 1024",
            "sync",
        ]
    );
    assert_eq!(
        in_short(&measured),
        [
            ("create", 4, 4096, 14),
            ("read", 4, 4096, 14),
            ("overwrite", 4, 4096, 14),
            ("delete", 4, 0, 14),
        ]
    );
    assert_eq!(small_file::SMALL_FILE_1997.files.of_size(1024), 10_000);
    assert_eq!(small_file::SMALL_FILE_1997.files_per_directory, 100);
}

/// 32 MB are 8,192 calls of 4 KB; an `fsync` is a second here.
#[test]
fn the_large_file_of_1997_is_synced_where_it_is_written() {
    let mut subject = TestSubject::new(100 * MB, &[]);
    let measured = large_file::LARGE_FILE_1997
        .run(Case::of_size(32 * MB), 0, &site(100 * MB), &mut subject)
        .expect("room for 32 MB");
    assert_eq!(
        in_short(&measured),
        [
            ("create", 1, 32 * MB, 8193),
            ("read", 1, 32 * MB, 8192),
            ("overwrite", 1, 32 * MB, 8193),
        ]
    );
    let synced = subject.log.iter().filter(|line| *line == "fsync 1");
    assert_eq!(
        (synced.count(), subject.log.contains(&"sync".into())),
        (2, false)
    );
}

/// By hand. 1,000 files of 14.275 KB in the mean are 14,617,600 bytes, and their archive a quarter of that; unpacking
/// costs 500 ns a byte. 32 compilations of 0.7 s make 32 objects and a program, and remove two temporary files each.
#[test]
fn applications_are_made_of_the_operations_that_are_documented() {
    let mut subject = TestSubject::new(100 * MB, &[]);
    let measured = applications::APPLICATIONS
        .run(Case::default(), 0, &site(100 * MB), &mut subject)
        .expect("room for 18 MB");
    let short: Vec<_> = in_short(&measured)
        .into_iter()
        .map(|m| (m.0, m.1, m.2))
        .collect();
    assert_eq!(
        short,
        [
            ("pax", 1000, 14_617_600,),
            ("rm", 1000, 0),
            ("gmake", 32, 0),
            ("clean", 33, 0),
        ]
    );
    let count = |verb: &str| {
        subject
            .log
            .iter()
            .filter(|line| line.starts_with(verb))
            .count()
    };
    assert_eq!(subject.files.len(), 1 + 32 + 24);
    // The archive's directory, 50 of the tree, sources, headers, temporary files.
    assert_eq!((count("mkdir"), count("rmdir")), (1 + 50 + 3, 50));
    // Archive and tree; sources, headers, two temporary files and an object each, the program.
    assert_eq!(count("create"), 1 + 1000 + 32 + 24 + 32 * 3 + 1);
    assert_eq!(count("delete"), 1000 + 64 + 33);
    let archived = subject.log.iter().find(|line| line.starts_with("create"));
    assert_eq!(archived.map(String::as_str), Some("create 1/1 3654400"));
    // The archive is read piece by piece, and wholly: the last piece ends where it ends.
    let pieces: Vec<&str> = subject
        .log
        .iter()
        .filter_map(|line| line.strip_prefix("read 1 "))
        .collect();
    assert_eq!((pieces.len(), pieces[0]), (1000, "0+1280"));
    assert_eq!(pieces[999], "3651328+3072");
    // 7.3088 s and 22.4 s of the processor; a call is a second.
    assert_eq!(measured[2].elapsed_ns % 1_000_000_000, 400_000_000);
    assert_eq!(measured[0].elapsed_ns % 1_000_000_000, 308_800_000);
}

/// By hand. Files of 1 MB are 32, the fewest. Four hot files lie in two directories, each of which gets a `tmp`; each
/// delivery is a call that writes, an `fsync` and a rename.
#[test]
fn mail_is_made_forced_and_moved_to_folders_of_hot_files() {
    let mut subject = TestSubject::new(100 * MB, &[(1, 10), (2, 10), (3, 10), (4, 10)]);
    let site = Site {
        free_bytes: 100 * MB,
        hot_files: (1..=4).map(FileKey).collect(),
        ..Site::default()
    };
    let run = |subject: &mut TestSubject, repetition| {
        delivery::DELIVERY
            .run(Case::of_size(MB), repetition, &site, subject)
            .expect("room for 32 MB")
    };
    let measured = run(&mut subject, 0);
    assert_eq!(
        in_short(&measured),
        [("deliver", 32, 32 * MB, 96), ("read", 32, 32 * MB, 32)]
    );
    let mut made = subject.log[..2].to_vec();
    made.sort();
    // Whichever comes first.
    assert!(made[0].starts_with("mkdir 101/") && made[1].starts_with("mkdir 102/"));
    assert_eq!(subject.log[2], "drop");
    for delivery in subject.log[3..3 + 96].chunks(3) {
        let [create, fsync, rename] = delivery else {
            panic!("three calls each");
        };
        let (tmp, file) = create["create ".len()..]
            .split_once('/')
            .expect("a directory");
        let file = file.strip_suffix(" 1048576").expect("a size");
        assert_eq!(*fsync, format!("fsync {file}"));
        let to = rename
            .strip_prefix(&format!("rename {file} to "))
            .expect("a directory");
        // Its own `tmp`.
        assert!(made.contains(&format!("mkdir {to}/{tmp}")), "{delivery:?}");
    }
    // Folder by folder.
    let to = |file: &str| {
        let moved = format!("rename {file} to ");
        let line = subject
            .log
            .iter()
            .find_map(|line| line.strip_prefix(&moved));
        line.expect("it was moved").to_owned()
    };
    let reads = subject
        .log
        .iter()
        .filter_map(|line| line.strip_prefix("read "));
    let folders: Vec<String> = reads
        .map(|read| to(read.split(' ').next().unwrap()))
        .collect();
    assert_eq!(folders.len(), 32);
    assert!(folders.is_sorted(), "{folders:?}");
    // Another repetition draws other folders, the same one the same.
    let log = |repetition| {
        let mut subject = TestSubject::new(100 * MB, &[(1, 10), (2, 10), (3, 10), (4, 10)]);
        run(&mut subject, repetition);
        subject.log
    };
    assert_eq!(log(0), log(0));
    assert_ne!(log(0), log(1));
}

/// Without files from before there are 20 folders, and as many of `tmp`.
#[test]
fn mail_has_folders_of_its_own_where_there_are_none() {
    let mut subject = TestSubject::new(100 * MB, &[]);
    let measured = delivery::DELIVERY
        .run(Case::of_size(4 << 10), 0, &site(100 * MB), &mut subject)
        .expect("room for 2 MB");
    let delivered = [
        ("deliver", 512, 2 * MB, 3 * 512),
        ("read", 512, 2 * MB, 512),
    ];
    assert_eq!(in_short(&measured), delivered);
    let made = subject.log.iter().filter(|line| line.starts_with("mkdir"));
    assert_eq!(made.count(), 40);
}
