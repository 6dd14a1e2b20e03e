//! Two targets whose speeds are made up; what they have to say is reckoned by hand.

use super::super::sizes::sizes_of;
use super::*;
use crate::benching::State;
use crate::days::DayRow;
use crate::report::subject::Life;
use fsage_bench::Measurement;
use fsage_metrics::files;

/// A target that creates and reads at these speeds, three times each, as fast as its control.
fn subject(name: &str, create: u64, read: u64) -> Subject {
    aged_and_fresh(name, (create, read), (create, read))
}

/// The same, with a control of other speeds.
fn aged_and_fresh(name: &str, aged: (u64, u64), fresh: (u64, u64)) -> Subject {
    let row = |state, phase: &str, repetition, megabytes: u64| Row {
        target: name.to_owned(),
        state,
        device: Some("disk".to_owned()),
        host: Some("host".to_owned()),
        measurement: Measurement {
            benchmark: "sequential".to_owned(),
            phase: phase.to_owned(),
            file_bytes: Some(16 << 10),
            repetition,
            files: 1,
            bytes: megabytes * 1_000_000,
            elapsed_ns: 1_000_000_000,
            ..Measurement::default()
        },
    };
    let mut bench = Vec::new();
    for (state, (create, read)) in [(State::Aged, aged), (State::Control, fresh)] {
        for repetition in 0..3 {
            bench.push(row(state, "create", repetition, create));
            bench.push(row(state, "read", repetition, read));
        }
    }
    Subject {
        name: name.to_owned(),
        spec: "ext4".to_owned(),
        lives: vec![Life {
            bench,
            ..Life::default()
        }],
        ..Subject::default()
    }
}

fn said(subjects: Vec<Subject>) -> Option<String> {
    let group = Group {
        subjects,
        ..Group::default()
    };
    let answer = sentence(&group)?;
    let parts = [Some(answer.text), answer.order, answer.details];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    Some(parts.join(" "))
}

/// By hand: a reads 4 times as fast as b and creates at 0.64 of its speed; the root of 2.56 is 1.6.
#[test]
fn reads_and_writes_weigh_the_same_in_the_geometric_mean() {
    let (a, b) = (subject("a", 64, 400), subject("b", 100, 100));
    assert_eq!(
        said(vec![b, a]).as_deref(),
        Some(
            "for this life on disk, over all benchmarks: a to read, b to write. Aged, beside b, a reads 4.0 times \
             as fast \
             and writes 36 % slower; over both, which count alike, it is 60 % faster. Fresh, a is 60 % faster than \
             b. Age turns the order round neither in reads (fresh, 4.0 times as fast) nor in writes (fresh, 36 % \
             slower). Speeds over all benchmarks are geometric means of the ratios of 2 phases, each once."
        )
    );
}

#[test]
fn a_verdict_says_where_one_target_lacks_a_benchmark() {
    let mut full = subject("full", 100, 100);
    let of_larger = |row: &Row| {
        let mut row = row.clone();
        row.measurement.file_bytes = Some(1 << 20);
        row
    };
    let mut roomy = subject("roomy", 100, 100);
    let larger: Vec<Row> = roomy.lives[0].bench.iter().map(of_larger).collect();
    roomy.lives[0].bench.extend(larger);
    let of_both = said(vec![full.clone(), roomy.clone()]).unwrap();
    let expected = "for this life on disk, over the benchmarks that both have (not all of sequential: a \
                    larger size= gives room for it): ";
    assert!(of_both.starts_with(expected), "{of_both}");
    assert!(of_both.contains("of the ratios of 2 phases"), "{of_both}");
    // What is there fresh alone sets nothing beside anything.
    let fresh = roomy.lives[0].bench.iter();
    let fresh =
        fresh.filter(|row| row.measurement.file_bytes.is_some() && row.state == State::Control);
    full.lives[0]
        .bench
        .extend(fresh.cloned().collect::<Vec<Row>>());
    let with_fresh = said(vec![full.clone(), roomy.clone()]).unwrap();
    assert!(with_fresh.starts_with(expected), "{with_fresh}");
    full.lives[0].bench.clone_from(&roomy.lives[0].bench);
    let all = said(vec![full, roomy]).unwrap();
    assert!(
        all.starts_with("for this life on disk, over all benchmarks: "),
        "{all}"
    );
}

/// By hand: at 16 KiB half as fast, at 1 MiB ten times as fast.
#[test]
fn sizes_at_which_the_faster_one_is_slower_are_named() {
    let with_large = |name: &str, small: u64, large: u64| {
        let mut subject = subject(name, small, small);
        let rows = subject.lives[0].bench.clone().into_iter();
        let rows = rows.map(|mut row| {
            row.measurement.file_bytes = Some(1 << 20);
            row.measurement.bytes = large * 1_000_000;
            row
        });
        let rows: Vec<Row> = rows.collect();
        subject.lives[0].bench.extend(rows);
        subject
    };
    let text = said(vec![with_large("a", 50, 1000), with_large("b", 100, 100)]).unwrap();
    assert!(
        text.contains("a. Aged, beside b, it is 2.2 times as fast"),
        "{text}"
    );
    let expected = "Aged, not at every size of files: beside b, a is at 16K 50 % slower.";
    assert!(text.contains(expected), "{text}");
    let text = said(vec![with_large("a", 150, 1000), with_large("b", 100, 100)]).unwrap();
    assert!(!text.contains("not at every size"), "{text}");
    // Creates at 0.4 and reads at 0.85 of the speed: the root of 0.34 is 0.583.
    let mut a = with_large("a", 100, 1000);
    for row in &mut a.lives[0].bench {
        let of = &mut row.measurement;
        if of.file_bytes == Some(16 << 10) && row.state == State::Aged {
            of.bytes = if of.phase == "create" { 40 } else { 85 } * 1_000_000;
        }
    }
    let text = said(vec![a, with_large("b", 100, 100)]).unwrap();
    let expected = "a is at 16K 42 % slower (create 60 % slower, read 15 % slower).";
    assert!(text.contains(expected), "{text}");
}

/// By hand: at 16K `a` creates in 4 s what `b` creates in 1 s, and reads in 0.25 s what `b` reads in 1 s; 200
/// requests in 4 s take 20 ms each, 100 in 1 s 10 ms. At 1M it does both in a tenth. 20 KiB lie 0.322 powers of two
/// above 16 KiB, of 6 to 1 MiB: 4 to the power of 0.946 by 10 to that of 0.054 is 4.20.
#[test]
fn sizes_weigh_by_how_near_they_are_to_the_files_of_the_workload() {
    let of = |name: &str, times: [u64; 3], requests: [u64; 2], file_bytes: f64| {
        let mut subject = subject(name, 100, 100);
        let rows = subject.lives[0].bench.clone().into_iter();
        subject.lives[0].bench = rows
            .flat_map(|row| [(row.clone(), 16 << 10), (row, 1 << 20)])
            .map(|(mut row, size)| {
                let of = &mut row.measurement;
                of.file_bytes = Some(size);
                let (ms, reads) = match (size == 16 << 10, of.phase.as_str()) {
                    (true, "create") => (times[0], requests[0]),
                    (true, _) => (times[1], requests[1]),
                    _ => (times[2], requests[1]),
                };
                of.elapsed_ns = ms * 1_000_000;
                of.requests = Some(fsage_bench::Requests {
                    reads,
                    ..fsage_bench::Requests::default()
                });
                row
            })
            .collect();
        let mut day = DayRow::default();
        day.metrics.set(&files::FILES, 10.0);
        day.metrics.set(&files::FILE_BYTES, 10.0 * file_bytes);
        subject.lives[0].days = vec![day];
        subject
    };
    let both = |file_bytes| {
        let a = of("a", [4000, 250, 100], [200, 100], file_bytes);
        said(vec![a, of("b", [1000; 3], [100; 2], file_bytes)]).expect("an answer")
    };
    let small = both(20480.0);
    for part in [
        "a to read, b to write. Aged, beside b, a reads 4.2 times as fast and writes 70 % slower; over both, which \
         count alike, it is 13 % faster.",
        "Aged, by size of files, beside b, a is at 16K as fast (create 75 % slower, read 4.0 times as fast) and at 1M \
         10 \
         times as fast.",
        "Sizes weigh by how near they are to the 20 KiB that files of this workload have in the mean: 16K 95 % and \
         1M 5 %.",
        "Why create at 16K is slower on a: the disk has 200 requests of 20.0 ms each, against 100 of 10.0 ms on \
         b: there are more of them, and they lie farther apart.",
    ] {
        assert!(small.contains(part), "{small}");
    }
    let large = both(700_000.0);
    assert!(large.contains("a. Aged, beside b, it is"), "{large}");
    assert!(!large.contains("Why create"), "{large}");
}

/// By hand: beside b the third one reads and creates at half the speed; beside a that is 0.5 / 1.6.
#[test]
fn all_of_several_targets_are_named() {
    let all = [
        subject("a", 64, 400),
        subject("b", 100, 100),
        subject("c", 50, 50),
    ];
    let said = said(all.to_vec()).unwrap();
    assert!(
        said.contains("a. Aged, beside b, it is 60 % faster"),
        "{said}"
    );
    assert!(
        said.contains("Of a's speed the others have: c 31 %."),
        "{said}"
    );
}

/// By hand: the fastest option runs at 1.3 of the first; another, at 1.295 of it, is within 1 %.
#[test]
fn options_are_set_beside_none() {
    let option = |name: &str, speed: u64| Subject {
        spec: format!("ext4:{name}"),
        ..aged_and_fresh(name, (speed, speed), (2000, 2000))
    };
    let none = || option("seed=1", 1000);
    let all = vec![none(), option("seed=2", 1300), option("seed=3", 1000)];
    let text = said(all).unwrap();
    let expected = "seed=2. Aged, beside seed=1, it is 30 % faster";
    assert!(text.contains(expected), "{text}");
    assert!(text.contains("the others have: seed=3 77 %"), "{text}");
    let all = vec![none(), option("seed=2", 1300), option("seed=3", 1295)];
    let text = said(all).unwrap();
    let expected = "seed=2, within 1 % of others or not told apart from them: seed=3. Aged, beside \
                    seed=1, seed=2 is 30 % faster";
    assert!(text.contains(expected), "{text}");
    let all = vec![none(), option("seed=2", 1005), option("seed=3", 700)];
    let text = said(all).unwrap();
    let expected = "no option is faster than seed=1. Aged, beside seed=1, seed=2 is the same";
    assert!(text.contains(expected), "{text}");
    let of_another = Subject {
        spec: "xfs".to_owned(),
        ..option("seed=3", 1295)
    };
    let text = said(vec![none(), option("seed=2", 1300), of_another]).unwrap();
    assert!(text.contains("beside seed=3"), "two file systems: {text}");
}

/// By hand: fresh, a is 0.75 times as fast as b in both, and 0.5 times as fast as c; all three run at 100 aged, but
/// for a, at 125.
#[test]
fn a_verdict_says_where_age_turns_the_order_round() {
    let a = aged_and_fresh("a", (125, 125), (150, 150));
    let b = aged_and_fresh("b", (100, 100), (200, 200));
    let c = aged_and_fresh("c", (100, 100), (300, 300));
    let turned = said(vec![a.clone(), b.clone()]).unwrap();
    let expected = "Fresh, a is 25 % slower than b: age turns their order round.";
    assert!(turned.contains(expected), "{turned}");
    let of_three = said(vec![a.clone(), b, c]).unwrap();
    let expected = "Fresh, a is 50 % slower than c: age turns their order round.";
    assert!(of_three.contains(expected), "{of_three}");
    let e = aged_and_fresh("e", (100, 130), (100, 180));
    let part = said(vec![a.clone(), e]).unwrap();
    assert!(
        part.contains(
            "Age turns the order round neither in reads (fresh, 17 % slower) nor in writes (fresh, 50 % faster)."
        ),
        "reads are slower aged as well: {part}"
    );
    // Of reads and writes it stays; of one kind of writes it does not.
    let (mut of_a, mut of_g) = (a.clone(), aged_and_fresh("g", (100, 100), (140, 140)));
    for (subject, aged, fresh) in [(&mut of_a, 300, 300), (&mut of_g, 350, 250)] {
        let rows = subject.lives[0].bench.clone();
        let appended = rows
            .into_iter()
            .filter(|row| row.measurement.phase == "create");
        let appended = appended.map(|mut row| {
            let speed = if row.state == State::Aged {
                aged
            } else {
                fresh
            };
            row.measurement.phase = "append".to_owned();
            row.measurement.bytes = speed * 1_000_000;
            row
        });
        let appended: Vec<Row> = appended.collect();
        subject.lives[0].bench.extend(appended);
    }
    let one = said(vec![of_a, of_g]).unwrap();
    assert!(
        one.contains("Age turns the order round in append (fresh, beside g, 20 % faster)"),
        "{one}"
    );
    // Over both the order stays; that of reads does not.
    let f = aged_and_fresh("f", (100, 120), (100, 180));
    let part = said(vec![a.clone(), f]).unwrap();
    let expected = "Age turns the order round in reads (fresh, beside f, 17 % slower), not in writes (fresh, 50 % \
                    faster).";
    assert!(part.contains(expected), "{part}");
    let d = aged_and_fresh("d", (100, 100), (151, 151));
    let came = said(vec![a, d]).unwrap();
    let expected = "Fresh, a and d are as fast: the difference comes with age.";
    assert!(came.contains(expected), "{came}");
}

/// By hand: of three lives `a` is half as fast at 16K, and 2, 3 or 9 times as fast at 1M: 4.67, half an interval of
/// 4.303 * 3.79 / sqrt(3) = 9.4 is open, and so are both sizes together.
#[test]
fn sizes_are_told_where_all_of_them_leave_it_open() {
    let of = |name: &str, small: u64, large: [u64; 3]| {
        let lives = large.iter().enumerate().map(|(life, &large)| {
            let mut bench = aged_and_fresh(name, (small, small), (small, small)).lives[0]
                .bench
                .clone();
            let at_1m = aged_and_fresh(name, (large, large), (large, large)).lives[0]
                .bench
                .clone();
            bench.extend(at_1m.into_iter().map(|mut row| {
                row.measurement.file_bytes = Some(1 << 20);
                row
            }));
            Life {
                life: life::Life::named(&life),
                bench,
                ..Life::default()
            }
        });
        Subject {
            lives: lives.collect(),
            ..subject(name, 1, 1)
        }
    };
    let group = [of("a", 500, [200, 300, 900]), of("b", 1000, [100; 3])];
    let text = said(group.to_vec()).expect("an answer");
    let sizes = "Aged, by size of files, beside b, a is at 16K 50 % slower and at 1M open.";
    assert!(text.contains(sizes), "{text}");
    let group = Group {
        subjects: group.into(),
        ..Group::default()
    };
    let create = sizes_of(&group, ["a", "b"], ("sequential", "create"));
    assert_eq!(create.as_deref(), Some("at 16K a is 50 % slower"));
    assert_eq!(sizes_of(&group, ["a", "b"], ("sequential", "delete")), None);
}

/// By hand: a creates and reads as fast as b, and overwrites at half the speed: the root of 0.5 is 0.71.
#[test]
fn what_the_workload_never_does_is_left_out() {
    let with_overwrites = |name: &str, megabytes: u64| {
        let mut subject = subject(name, 100, 100);
        let rows = subject.lives[0].bench.clone().into_iter();
        let rows = rows.filter(|row| row.measurement.phase == "create");
        let more: Vec<Row> = rows
            .map(|mut row| {
                OVERWRITE.clone_into(&mut row.measurement.phase);
                row.measurement.bytes = megabytes * 1_000_000;
                row
            })
            .collect();
        subject.lives[0].bench.extend(more);
        subject
    };
    let said = |appends: u32| {
        let mix = format!(
            r#"{{"append": {appends}, "overwrite": 0, "rewrite": 0, "truncate": 0, "save": 0}}"#
        );
        let generator = format!(r#"{{"parameters": {{"profile": {{"mix": {mix}}}}}}}"#);
        let group = Group {
            subjects: vec![with_overwrites("a", 50), with_overwrites("b", 100)],
            workload: serde_json::from_value(serde_json::json!({
                "file": "w", "blake3": null, "generator": generator, "seed": null, "source": null
            }))
            .expect("a workload"),
            ..Group::default()
        };
        sentence(&group).expect("an answer").text
    };
    let never = said(0);
    let lead = "for this life on disk, over all benchmarks but overwriting, which this workload never does: ";
    assert!(never.starts_with(lead), "{never}");
    assert!(never.contains("writes the same"), "{never}");
    let sometimes = said(1);
    assert!(
        sometimes.starts_with("for this life on disk, over all benchmarks: b."),
        "{sometimes}"
    );
    assert!(sometimes.contains("writes 41 % faster"), "{sometimes}");
}

#[test]
fn commands_of_the_users_weigh_only_where_there_is_nothing_else() {
    let with_command = |name: &str, own: u64, command: u64| {
        let mut subject = subject(name, own, own);
        let more = aged_and_fresh(name, (command, command), (command, command));
        let rows = more.lives[0].bench.iter().cloned().map(|mut row| {
            "tar-backup".clone_into(&mut row.measurement.benchmark);
            row
        });
        subject.lives[0].bench.extend(rows);
        subject
    };
    let both = said(vec![
        with_command("a", 2000, 100),
        with_command("b", 1000, 900),
    ]);
    let own = said(vec![subject("a", 2000, 2000), subject("b", 1000, 1000)]);
    assert_eq!(both, own);
    let alone = |mut of: Subject| {
        of.lives[0]
            .bench
            .retain(|row| row.measurement.benchmark == "tar-backup");
        of
    };
    let alone = [with_command("a", 1, 100), with_command("b", 1, 900)].map(alone);
    assert!(
        said(alone.to_vec())
            .expect("an answer")
            .contains("b. Aged, beside a, it is 9.0 times as fast")
    );
}

#[test]
fn who_is_slower_fresh_though_as_whole_has_files_that_lie_apart() {
    let with = |name: &str, aged, fresh, score: f64, apart: f64| {
        let mut subject = aged_and_fresh(name, (aged, aged), (fresh, fresh));
        let mut day = DayRow::default();
        day.control.set(&layout_score::SCORE, score);
        day.control.set(&directory_order::NEXT_FILE_BYTES, apart);
        subject.lives[0].days = vec![day];
        subject
    };
    let b = || with("b", 1000, 2000, 0.94, 16384.0);
    let said = |a: Subject| said(vec![a, b()]).expect("an answer");
    let apart = said(with("a", 1250, 1500, 0.95, 51200.0));
    let why = "Its fresh files are as whole, but lie farther apart: 50 KiB from one to the next of a directory in \
               the median, 16 KiB on b.";
    assert!(apart.contains(why), "{apart}");
    let near = said(with("a", 1250, 1500, 0.95, 16384.0));
    let broken = said(with("a", 1250, 1500, 0.90, 51200.0));
    let in_order = said(with("a", 1250, 2500, 0.95, 51200.0));
    for other in [near, broken, in_order] {
        assert!(!other.contains("Its fresh files"), "{other}");
    }
}

/// By hand: aged ratios of 1.25, 1.275 and 1.225 over 0.75 fresh have a mean of 5 / 3, and half an interval of
/// 4.303 * 0.0333 / sqrt(3) = 0.083.
#[test]
fn what_age_makes_of_a_ratio_has_an_interval_over_lives() {
    let of_lives = |name: &str, aged: [u64; 3], fresh| {
        let lives = aged.iter().enumerate().map(|(life, &aged)| Life {
            life: life::Life::named(&life),
            ..aged_and_fresh(name, (aged, aged), (fresh, fresh)).lives[0].clone()
        });
        let lives: Vec<Life> = lives.collect();
        Subject {
            lives,
            ..subject(name, 1, 1)
        }
    };
    let a = of_lives("a", [1250, 1275, 1225], 1500);
    let b = of_lives("b", [1000; 3], 2000);
    let three = said(vec![a.clone(), b.clone()]).unwrap();
    let expected = "age turns their order round. It does so in reads (fresh, beside b, 25 % slower) and writes \
                    (fresh, beside b, 25 % slower). From fresh to aged the ratio over all benchmarks changes by a \
                    factor of 1.67 (1.58 to 1.75).";
    assert!(three.contains(expected), "{three}");
    assert!(
        three.contains("reads 25 % faster (1.19 to 1.31)"),
        "{three}"
    );
    let two = [a, b].map(|of| Subject {
        lives: of.lives[..2].to_vec(),
        ..of
    });
    let two = said(two.to_vec()).unwrap();
    assert!(!two.contains("a factor of"), "two lives: {two}");
}

#[test]
fn one_target_and_reads_alone_have_no_such_sentence() {
    assert_eq!(said(vec![subject("a", 1, 2)]), None);
    let mut reads = [subject("a", 1, 2), subject("b", 2, 1)];
    for subject in &mut reads {
        let bench = &mut subject.lives[0].bench;
        bench.retain(|row| row.measurement.phase == "read");
    }
    assert_eq!(said(reads.to_vec()), None);
}
