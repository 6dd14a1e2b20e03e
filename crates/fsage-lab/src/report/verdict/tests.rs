//! Sentences on days that are made up; what they have to say is written down by hand.

use super::super::subject::{Group, Life, Subject};
use super::findings;
use crate::benching::State;
use crate::benching::results::Row;
use crate::days::DayRow;
use crate::run_folder::WorkloadFacts;
use fsage_bench::Measurement;
use fsage_data::table::SizeClass;
use fsage_metrics::{directory_order, files, free_space, layout_score, pieces};
use fsage_report::Tone;

/// Days with these layout scores, of 1000 blocks each.
fn life(scores: &[f64], control: Option<f64>) -> Life {
    let day = |&score: &f64| {
        let day = DayRow {
            operations: 10,
            ..DayRow::default()
        };
        let day = day.with(&layout_score::SCORE, score);
        day.with(&layout_score::SCORED, 1000)
    };
    let mut days: Vec<DayRow> = scores.iter().map(day).collect();
    if let (Some(last), Some(control)) = (days.last_mut(), control) {
        last.control.set(&layout_score::SCORE, control);
    }
    Life {
        days,
        ..Life::default()
    }
}

fn subject(name: &str, lives: Vec<Life>) -> Subject {
    Subject {
        name: name.to_owned(),
        lives,
        ..Subject::default()
    }
}

fn one(name: &str, scores: &[f64], control: Option<f64>) -> Subject {
    subject(name, vec![life(scores, control)])
}

fn said(subjects: Vec<Subject>) -> Vec<String> {
    let group = Group {
        subjects,
        ..Group::default()
    };
    findings(&group).into_iter().map(|f| f.text).collect()
}

#[test]
fn two_targets_are_ranked_by_what_they_have_and_by_what_they_lost() {
    let orig = one("orig", &[0.92, 0.766], Some(0.93));
    let realloc = one("realloc", &[0.95, 0.899], Some(0.95));
    assert_eq!(
        said(vec![orig, realloc]),
        [
            "After 2 days realloc keeps 90 % of blocks contiguous, orig 77 %.",
            "realloc decayed least: 5.1 points below the same files freshly written (95 %). orig decayed most: 16 \
             points below the same files freshly written (93 %).",
        ]
    );
}

#[test]
fn of_three_targets_the_one_between_is_reported_too() {
    let three = [("a", 0.9), ("b", 0.8), ("c", 0.6)];
    let three = three.map(|(name, score)| one(name, &[score], Some(0.95)));
    assert_eq!(
        said(three.to_vec())[1],
        "a decayed least: 5.0 points below the same files freshly written (95 %). b is 15 points below the same files \
         freshly written (95 %). c decayed most: 35 points below the same files freshly written (95 %)."
    );
}

#[test]
fn up_to_six_targets_are_named_with_their_scores() {
    let many = |n: usize| {
        let names = ["a", "b", "c", "d", "e", "f", "g"].into_iter().zip(1..=n);
        let targets = names.map(|(name, at)| one(name, &[1.0 - at as f64 / 10.0], Some(0.95)));
        said(targets.collect()).swap_remove(0)
    };
    assert_eq!(
        many(6),
        "After 1 day a keeps 90 % of blocks contiguous, b 80 %, c 70 %, d 60 %, e 50 % and f 40 %."
    );
    assert_eq!(
        many(7),
        "After 1 day a keeps 90 % of blocks contiguous, b 80 % and c 70 %; of the other 4 the last is g with 30 %."
    );
}

#[test]
fn without_every_control_the_first_day_stands_for_it() {
    let a = one("a", &[1.0, 0.9], None);
    let b = one("b", &[0.9, 0.6], Some(0.95));
    assert_eq!(
        said(vec![a, b])[1],
        "a decayed least: 10 points below its first day (100 %). b decayed most: 30 points below its first day (90 %)."
    );
}

#[test]
fn one_target_has_a_sentence_of_its_own() {
    assert_eq!(
        said(vec![one("ffs", &[0.8], Some(0.96))]),
        [
            "After 1 day ffs keeps 80 % of blocks contiguous.",
            "ffs is 16 points below the same files freshly written (96 %).",
        ]
    );
    // A log-structured file system can be better aged than when a copy was made.
    assert_eq!(
        said(vec![one("lfs", &[0.96], Some(0.95))])[1],
        "lfs is 1.0 points above the same files freshly written (95 %)."
    );
}

#[test]
fn a_tie_is_said_as_one() {
    let a = one("a", &[0.9, 0.8], Some(0.9));
    let b = one("b", &[0.9, 0.803], Some(0.9));
    assert_eq!(
        said(vec![a.clone(), b]),
        [
            "After 2 days b and a keep the same share of blocks contiguous, 80 %: they differ by less than 0.5 \
             percentage points.",
            "No target decayed less than another: what they lost differs by less than 0.5 percentage points. b is 9.7 \
             points below the same files freshly written (90 %).",
        ]
    );
    let all = said(vec![a.clone(), a.clone(), a]);
    assert!(
        all[0].contains("all 3 targets keep the same share"),
        "{}",
        all[0]
    );
}

/// By hand: lives differ by up to 0.30, and in each of them b has 0.020, 0.021 or 0.022 more; Student's interval around
/// 0.021 is 0.0025 wide to either side.
#[test]
fn what_every_life_agrees_on_is_a_difference_though_lives_differ() {
    let lives = |scores: [f64; 3]| {
        let lives = scores.iter().enumerate().map(|(of, score)| Life {
            life: crate::life::Life::named(&of),
            ..life(&[*score], Some(0.9))
        });
        lives.collect::<Vec<Life>>()
    };
    let a = || subject("a", lives([0.50, 0.65, 0.80]));
    let more = said(vec![a(), subject("b", lives([0.52, 0.671, 0.822]))]);
    assert_eq!(
        more[0],
        "After 1 day b keeps 67 % of blocks contiguous, a 65 % (means of 3 runs)."
    );
    // Mean 0.01 more, once less by 0.03: the interval holds 0.
    let chance = said(vec![a(), subject("b", lives([0.52, 0.69, 0.77]))]);
    assert_eq!(
        chance[0],
        "After 1 day b and a keep the same share of blocks contiguous, 65 % to 66 % (means of 3 runs): life by life \
         they differ by no more than chance."
    );
}

/// A target as above that reads and creates at these speeds, life by life.
fn benched(name: &str, scores: [f64; 3], speeds: [u64; 3]) -> Subject {
    let lives = scores.iter().zip(speeds).enumerate();
    let lives = lives.map(|(of, (score, speed))| {
        let row = |state, phase: &str| Row {
            target: name.to_owned(),
            state,
            device: None,
            host: None,
            measurement: Measurement {
                benchmark: "sequential".to_owned(),
                phase: phase.to_owned(),
                file_bytes: Some(16 << 10),
                repetition: 0,
                files: 1,
                bytes: speed * 1_000_000,
                elapsed_ns: 1_000_000_000,
                ..Measurement::default()
            },
        };
        let states = [State::Aged, State::Control];
        let rows = states.map(|state| [row(state, "create"), row(state, "read")]);
        Life {
            life: crate::life::Life::named(&of),
            bench: rows.concat(),
            ..life(&[*score], Some(0.9))
        }
    });
    Subject {
        spec: format!("ffs:policy={name}"),
        ..subject(name, lives.collect())
    }
}

/// By hand: b has 0.020, 0.021 or 0.022 more of its blocks contiguous; its deviation is 0.001, and 4.303 of these over
/// the root of 3 are 0.25 points. Speeds are 80, 100 and 130 against 100 each: no difference is
/// known.
#[test]
fn where_benchmarks_are_open_the_layouts_that_lives_prove_come_first() {
    let a = || benched("a", [0.50, 0.65, 0.80], [100, 100, 100]);
    let open = said(vec![
        a(),
        benched("b", [0.52, 0.671, 0.822], [80, 100, 130]),
    ]);
    assert_eq!(
        open[0],
        "In short, for these lives: b keeps more of its blocks contiguous, 67 %, than a, 65 %: life by life 2.1 points \
         more (95 % interval 1.9 to 2.3, 3 lives). Which is faster is open."
    );
    assert!(
        open[1].starts_with("Speed, for these lives, over all benchmarks: open. "),
        "{}",
        open[1]
    );
    // Layouts that differ by no more than chance prove nothing.
    let chance = said(vec![a(), benched("b", [0.52, 0.69, 0.77], [80, 100, 130])]);
    assert!(
        chance[0].starts_with("In short, for these lives, over all benchmarks: open. "),
        "{}",
        chance[0]
    );
    // Benchmarks that answer come first.
    let fast = said(vec![
        a(),
        benched("b", [0.52, 0.671, 0.822], [200, 201, 202]),
    ]);
    assert!(
        fast[0].starts_with("In short, for these lives, over all benchmarks: b. Aged, "),
        "{}",
        fast[0]
    );
}

#[test]
fn what_seeds_differ_by_is_no_difference_between_targets() {
    let lives = |scores: [f64; 2]| scores.map(|score| life(&[score], Some(0.9))).to_vec();
    // Means 0.80 and 0.82: 0.02 apart, and 0.06 from seed to seed.
    let a = subject("a", lives([0.77, 0.83]));
    let b = subject("b", lives([0.79, 0.85]));
    let all = said(vec![a, b]);
    assert_eq!(
        all[0],
        "After 1 day b and a keep the same share of blocks contiguous, 80 % to 82 % (means of 2 runs): they differ by \
         less than runs of the same target do among themselves."
    );
    assert!(all[1].starts_with("No target decayed less"), "{}", all[1]);
}

#[test]
fn of_ten_targets_the_first_and_the_last_are_named() {
    let ten = (0..10).map(|i| one(&format!("t{i}"), &[0.9 - 0.05 * f64::from(i)], None));
    assert_eq!(
        said(ten.collect())[0],
        "After 1 day t0 keeps 90 % of blocks contiguous, t1 85 % and t2 80 %; of the other 7 the last is t9 with 45 %."
    );
}

#[test]
fn what_has_no_days_or_no_layout_says_nothing() {
    assert!(said(vec![one("a", &[], None)]).is_empty());
    let mut null = one("null", &[1.0], None);
    null.lives[0].days[0].metrics.set(&layout_score::SCORED, 0);
    assert_eq!(
        said(vec![null.clone()]),
        [
            "null: no file at the end has two blocks whose place is known, so nothing can be said of its layout."
        ]
    );
    let with = said(vec![null, one("ffs", &[0.9], None)]);
    assert_eq!(with[0], "After 1 day ffs keeps 90 % of blocks contiguous.");
    assert!(said(vec![]).is_empty());
}

#[test]
fn the_end_alone_has_no_number_of_days() {
    let mut end = one("a", &[0.9], None);
    end.lives[0].only_end = true;
    assert_eq!(
        said(vec![end])[0],
        "At the end a keeps 90 % of blocks contiguous."
    );
}

#[test]
fn why_is_told_from_metrics_that_differ() {
    let with = |name: &str, score: f64, of_file: f64, classes: [(u64, u64, u64); 2]| {
        let mut subject = one(name, &[score], Some(0.95));
        let day = &mut subject.lives[0].days[0];
        day.metrics.set(&pieces::PER_FILE, of_file);
        day.metrics.set(&files::FILES, 100);
        day.layout_by_size = classes
            .map(|(max_bytes, optimal, scored)| SizeClass {
                max_bytes,
                files: 1,
                optimal,
                scored,
            })
            .to_vec();
        subject
    };
    // Breaks: 10 and 50 against 20 and 190; 140 of the 150 more lie in the larger class.
    let a = with("a", 0.94, 1.1, [(16 << 10, 90, 100), (32 << 10, 850, 900)]);
    let b = with("b", 0.79, 1.6, [(16 << 10, 80, 100), (32 << 10, 710, 900)]);
    assert_eq!(
        said(vec![b, a])[2],
        "Why, a against b: pieces per file 1.10 against 1.60. 93 % of the difference lies in files of 16 KiB to 32 \
         KiB: 94 % of their blocks are contiguous against 79 %."
    );
}

/// A target with a control: so large a share of files right behind the one before in their directory, and so many
/// pieces per file, aged and fresh.
fn beside_fresh(name: &str, score: f64, follow: [f64; 2], per_file: [f64; 2]) -> Subject {
    let mut subject = one(name, &[score], Some(0.95));
    let life = &mut subject.lives[0];
    let set = |day: &mut DayRow, at: usize| {
        day.metrics.set(&files::FILES, 100);
        day.metrics.set(&directory_order::ADJACENCY, follow[at]);
        day.metrics.set(&pieces::PER_FILE, per_file[at]);
    };
    set(&mut life.days[0], 0);
    let control = DayRow::default().with(&layout_score::SCORE, 0.95);
    let mut control = control.with(&layout_score::SCORED, 1000);
    set(&mut control, 1);
    life.control = Some(control);
    subject
}

/// Files that lie apart on a fresh disk as well are no reason why it decayed.
#[test]
fn what_a_fresh_file_system_has_as_well_is_no_reason() {
    let xfs = beside_fresh("xfs", 0.94, [0.92, 0.95], [1.1, 1.0]);
    let ext4 = beside_fresh("ext4", 0.79, [0.12, 0.15], [1.6, 1.0]);
    assert_eq!(
        said(vec![xfs, ext4])[2],
        "Why, xfs against ext4: pieces per file 1.10 against 1.60."
    );
}

#[test]
fn a_fuller_file_system_that_decayed_less_has_no_excuse_to_make() {
    let with = |name: &str, score: f64, used: f64| {
        let mut subject = one(name, &[score], Some(0.95));
        subject.lives[0].days[0]
            .metrics
            .set(&files::UTILIZATION, used);
        subject
    };
    let warned = |a: f64, b: f64| said(vec![with("a", 0.9, a), with("b", 0.7, b)])[2].clone();
    assert_eq!(
        warned(0.8, 0.6),
        "a is 80 % full at the end, b 60 %, and decayed less even so."
    );
    assert_eq!(
        warned(0.6, 0.8),
        "b is 80 % full at the end, a 60 %: layout decays faster on a fuller disk, so that part of the difference may \
         come from that."
    );
}

#[test]
fn a_target_that_skipped_most_of_its_operations_gets_no_verdict() {
    let mut b = one("b", &[0.8], None);
    b.lives[0].days[0].operations = 100;
    b.lives[0].days[0].skipped = 60;
    b.lives[0].days[0].no_space = 60;
    let all = said(vec![one("a", &[0.9], None), b]);
    assert!(
        all[0].starts_with("b ran out of space on day 1"),
        "{}",
        all[0]
    );
    assert_eq!(
        all[1],
        "No verdict: b skipped more than half of the operations. A larger size= gives them room."
    );
    assert!(
        all.iter().all(|text| !text.contains("contiguous")),
        "{all:?}"
    );
}

#[test]
fn no_room_for_a_mebibyte_is_bad_news() {
    let with = |name: &str, room: u64| {
        let mut subject = one(name, &[0.9], None);
        subject.lives[0].days[0]
            .metrics
            .set(&free_space::PLACEABLE_1M, room);
        subject
    };
    let group = Group {
        subjects: vec![with("a", 1200), with("b", 0)],
        ..Group::default()
    };
    let room = findings(&group);
    let room = room
        .iter()
        .find(|f| f.section.as_deref() == Some("free-space"));
    let room = room.expect("a sentence");
    assert_eq!(
        room.text,
        "b has no room left for an extent of 1 MiB in one piece. Room for 1 MiB extents: a 1,200 and b 0."
    );
    assert_eq!(room.tone, Tone::Bad);
}

#[test]
fn what_makes_targets_unlike_is_said() {
    let mut a = one("a", &[0.9, 0.9], None);
    let mut b = one("b", &[0.8], None);
    a.lives[0].days[1].metrics.set(&files::UTILIZATION, 0.7);
    b.lives[0].days[0].metrics.set(&files::UTILIZATION, 0.8);
    b.lives[0].days[0].operations = 1000;
    b.lives[0].days[0].skipped = 3;
    b.lives[0].days[0].no_space = 2;
    b.lives[0].days[0].absent = 1;
    let all = said(vec![a, b]).join("\n");
    for sentence in [
        "At the end a keeps 90 % of blocks contiguous, b 80 %.",
        "b ran out of space on day 1 (80 % full at its end): it did not do 3 of 1,000 operations (0.3 %): 2 for lack \
         of space and 1 on what could not be made before. It holds other files than a target that did them all, which \
         makes it look better or worse than it is.",
        "b is 80 % full at the end, a 70 %:",
        "a has 2 days on record and b 1: they are not of the same age.",
    ] {
        assert!(all.contains(sentence), "{sentence}\n{all}");
    }
}

#[test]
fn who_had_more_to_lose_may_still_have_more() {
    let a = one("a", &[0.9], Some(0.99));
    let b = one("b", &[0.7], Some(0.71));
    let all = said(vec![a, b]);
    assert!(
        all[1].starts_with("b decayed least: 1.0 points below"),
        "{}",
        all[1]
    );
    assert!(
        all[1].ends_with("a had more to lose, and still ends with more."),
        "{}",
        all[1]
    );
}

#[test]
fn who_skipped_operations_is_not_ranked_among_those_that_did_them_all() {
    let skipping = |name: &str, score: f64| {
        let mut subject = one(name, &[score], Some(1.0));
        subject.lives[0].days[0].operations = 100;
        subject.lives[0].days[0].skipped = 42;
        subject.lives[0].days[0].no_inode = 42;
        subject
    };
    let all = said(vec![skipping("a", 0.99), one("b", &[0.8], Some(1.0))]);
    assert_eq!(
        all[..2],
        [
            "a ran out of inodes on day 1: it did not do 42 of 100 operations (42 %): 42 for lack of inodes. It holds \
             other files than a target that did them all, and is not ranked: give all targets the same larger size=, \
             or none to `fsage compare`, which finds one with room.",
            "After 1 day b keeps 80 % of blocks contiguous.",
        ]
    );
    // Where none did them all they are compared, and it is said what that is worth.
    let group = Group {
        subjects: vec![skipping("a", 0.99), skipping("b", 0.8)],
        ..Group::default()
    };
    let decayed = &findings(&group)[3];
    assert!(
        decayed
            .text
            .ends_with("But a did not do 42 % of the operations."),
        "{}",
        decayed.text
    );
    assert_eq!(decayed.tone, Tone::Neutral);
}

/// A handful of refusals on a full disk changes nothing: the target is ranked.
#[test]
fn few_operations_skipped_leave_a_target_in_the_ranking() {
    let mut b = one("b", &[0.8, 0.8], None);
    b.lives[0].days[1].operations = 10_000;
    b.lives[0].days[1].skipped = 3;
    b.lives[0].days[1].no_space = 3;
    let all = said(vec![one("a", &[0.9, 0.9], None), b]);
    assert!(
        all[0].starts_with("b ran out of space on day 2: it"),
        "{}",
        all[0]
    );
    assert_eq!(
        all[1],
        "After 2 days a keeps 90 % of blocks contiguous, b 80 %."
    );
}

/// One target in several sizes is a question of how full: a sentence a target, and no ranking of its sizes.
#[test]
fn sizes_of_a_target_are_no_ranking() {
    let sized = |size: &str, used: f64, score: f64| {
        let mut subject = one(size, &[score], Some(0.9));
        subject.spec = format!("ext4:size={size}");
        let day = &mut subject.lives[0].days[0];
        day.metrics.set(&files::UTILIZATION, used);
        subject
    };
    let mut fullest = sized("90M", 0.97, 0.5);
    fullest.lives[0].days[0].skipped = 2;
    fullest.lives[0].days[0].no_space = 2;
    let all = said(vec![sized("150M", 0.6, 0.9), fullest]);
    assert_eq!(
        all[0],
        "In short: keep ext4 at 60 % full (63 % in df) or less."
    );
    assert!(
        all[1].starts_with("The workload lived as root."),
        "{}",
        all[1]
    );
    // By hand: 0.6 and 0.97 over 0.95, at most all of it.
    assert_eq!(
        all[2],
        "df shows more, as it leaves out what ext4 keeps for root: ext4 at 60 % as 63 % and 97 % as 100 %."
    );
    assert_eq!(
        all[3],
        "ext4: layout score limits it to 60 %: beside 60 % it loses 44 % at 97 %; more than a tenth is too \
         much. Up to 60 % \
         full the layout score is that of a fresh copy; at 97 % the layout score is 56 % of that of a fresh copy. At \
         97 % 2 operations were skipped."
    );
    assert!(
        all[4].starts_with("These limits are of one life.") && all[4].contains("--seeds 5"),
        "{}",
        all[4]
    );
}

#[test]
fn blocks_of_other_sizes_are_said() {
    let with = |name: &str, scored: u64| {
        let mut subject = one(name, &[0.9], None);
        subject.lives[0].days[0]
            .metrics
            .set(&layout_score::SCORED, scored);
        subject.lives[0].days[0]
            .metrics
            .set(&files::FILE_BYTES, 8_192_000);
        let pieces = scored as f64 / 800.0;
        let day = &mut subject.lives[0].days[0];
        day.metrics.set(&pieces::PER_FILE, pieces);
        day.control.set(&pieces::PER_FILE, 1.0);
        subject
    };
    let all = said(vec![with("a", 1000), with("b", 2000)]).join("\n");
    let sentence =
        "b has 2.0 times as many scored blocks to a byte as a, by the size of its blocks";
    assert!(all.contains(sentence), "{all}");
    // Scores that cannot be compared are not ranked.
    let pieces = "After 1 day, pieces per file: a 1.25 (fresh 1.00) and b 2.50 (fresh 1.00).";
    assert!(all.contains(pieces) && !all.contains("contiguous"), "{all}");
    let worse = "What age made worse, against fresh copies: a: pieces per file 1.25 against 1.00; b: pieces per file \
                 2.50 against 1.00.";
    assert!(all.contains(worse), "{all}");
    let alike = said(vec![with("a", 1000), with("b", 1100)]).join("\n");
    assert!(
        !alike.contains("to a byte") && alike.contains("contiguous"),
        "{alike}"
    );
}

#[test]
fn scores_of_a_file_system_with_clusters_are_not_ranked_beside_others() {
    let with = |name: &str, spec: &str, score: f64, pieces: f64| {
        let mut subject = one(name, &[score], None);
        subject.spec = spec.to_owned();
        let day = &mut subject.lives[0].days[0];
        day.metrics.set(&pieces::PER_FILE, pieces);
        subject
    };
    let plain = with("plain", "loop:ext4,size=1G", 0.9, 1.5);
    let big = with(
        "big",
        "loop:ext4,size=1G,mkfs=-O bigalloc -C 64K",
        0.99,
        1.25,
    );
    let all = said(vec![plain.clone(), big]).join("\n");
    assert!(
        all.contains("big has clusters of 64 KiB (bigalloc), plain none"),
        "{all}"
    );
    let pieces = "After 1 day, pieces per file: big 1.25 and plain 1.50.";
    assert!(all.contains(pieces) && !all.contains("contiguous"), "{all}");
    let other = with("other", "loop:ext4,size=2G", 0.99, 1.25);
    let all = said(vec![plain, other]).join("\n");
    assert!(
        all.contains("contiguous") && !all.contains("clusters"),
        "{all}"
    );
}

#[test]
fn a_disk_too_small_for_a_mebibyte_lost_no_room_to_age() {
    let mut small = one("a", &[0.9], None);
    small.lives[0].days[0]
        .metrics
        .set(&free_space::PLACEABLE_1M, 0);
    small.lives[0].days[0]
        .control
        .set(&free_space::PLACEABLE_1M, 0);
    let all = said(vec![small]).join("\n");
    let sentence = "No target has room for an extent of 1 MiB in one piece, and neither has its unaged control.";
    assert!(all.contains(sentence), "{all}");
}

/// A verdict over a preset is one of what the preset assumes; a workload that was made otherwise assumes nothing.
#[test]
fn what_the_preset_assumes_is_said_once() {
    let holds = |generator: &str| {
        let group = Group {
            subjects: vec![one("a", &[0.9], None), one("b", &[0.8], None)],
            workload: Some(WorkloadFacts {
                file: "w.parquet".to_owned(),
                path: None,
                blake3: None,
                generator: Some(generator.to_owned()),
                seed: Some(1),
                source: None,
                origins: Vec::new(),
            }),
            ..Group::default()
        };
        let all = findings(&group).into_iter().map(|f| f.text);
        all.filter(|text| text.starts_with("Holds for"))
            .collect::<Vec<_>>()
    };
    let said = |profile: &str| holds(&format!(r#"{{"name":"profile","profile":"{profile}"}}"#));
    let [text] = &said("mail-spool")[..] else {
        panic!("one sentence")
    };
    assert!(
        text.contains("one mbox a user") && text.contains("--show mail-spool"),
        "{text}"
    );
    assert!(said("mine.toml").is_empty());
    assert!(holds(r#"{"name":"strace","repeat":365,"vary_percent":10}"#).is_empty());
    assert!(holds(r#"{"name":"strace","repeat":null}"#).is_empty());
    let [alike] = &holds(r#"{"name":"strace","repeat":365}"#)[..] else {
        panic!("one sentence")
    };
    assert!(
        alike.contains("365 rounds") && alike.contains("--vary 10"),
        "{alike}"
    );
}

/// By hand: of twenty days the tenth before the last third is days 13 and 14, the last one days 19 and 20.
#[test]
fn a_curve_that_still_falls_is_not_level() {
    let falling: Vec<f64> = (0..20).map(|day| 0.9 - 0.01 * f64::from(day)).collect();
    let mut level = falling.clone();
    level[12..].fill(0.78);
    let said = said(vec![
        one("a", &falling, Some(0.95)),
        one("b", &level, Some(0.95)),
    ]);
    let still: Vec<&String> = said
        .iter()
        .filter(|text| text.starts_with("Not level"))
        .collect();
    assert_eq!(
        still,
        [
            "Not level yet: in the last third of the days a lost 6.0 points. A longer life says where that ends \
          (--days of a preset)."
        ]
    );
}

/// Where there is always room hardly anything ages, which the page says before it says anything else.
#[test]
fn a_nearly_empty_file_system_is_named() {
    let mut empty = one("a", &[0.9, 0.9], None);
    for day in &mut empty.lives[0].days {
        day.metrics.set(&files::UTILIZATION, 0.03);
    }
    let first = &said(vec![empty])[0];
    assert!(
        first.starts_with(
            "a was never more than 3 % full, so that hardly anything aged: `--fill 80`"
        ),
        "{first}"
    );
    // Its files got out of order all the same.
    let mut empty = beside_fresh("a", 0.99, [0.26, 0.92], [1.0, 1.0]);
    for life in &mut empty.lives {
        for day in &mut life.days {
            day.metrics.set(&files::UTILIZATION, 0.03);
        }
        let day = life.days[0].clone();
        life.days.insert(0, day);
    }
    let first = &said(vec![empty])[0];
    assert!(
        first
            .starts_with("a was never more than 3 % full, so that files stayed whole: `--fill 80`")
            && first.contains(
                "right behind the one before in their directory lie a 26 % (92 % fresh)."
            ),
        "{first}"
    );
}

/// Age cost a target nothing in what it made better, however much more the other one won by it.
#[test]
fn what_age_made_better_is_no_cost() {
    let why = |follow: [f64; 2]| {
        let xfs = beside_fresh("xfs", 0.94, follow, [1.1, 1.0]);
        let ext4 = beside_fresh("ext4", 0.79, [0.15, 0.05], [1.6, 1.0]);
        let all = said(vec![xfs, ext4]);
        let why = all.into_iter().find(|text| text.starts_with("Why"));
        why.expect("a reason")
    };
    assert!(
        why([0.88, 0.95]).ends_with(
            "Age cost xfs more in files right behind the one before in their directory (from 95 % to 88 %; ext4 from \
             5 % to 15 %)."
        ),
        "{}",
        why([0.88, 0.95])
    );
    assert_eq!(
        why([0.94, 0.92]),
        "Why, xfs against ext4: pieces per file 1.10 against 1.60."
    );
}

#[test]
fn targets_of_unequal_sizes_are_named_before_the_answer() {
    let of = |spec: &str| Subject {
        spec: spec.to_owned(),
        ..one(spec, &[0.9], Some(1.0))
    };
    let is_said = |specs: [&str; 2]| said(specs.map(of).to_vec())[0].contains("not alike in size");
    assert!(is_said(["ext4:size=800M", "xfs:size=512M"]));
    assert!(
        !is_said(["ext4:size=503M", "xfs:size=512M"]),
        "much the same"
    );
    assert!(!is_said(["ext4:size=800M", "xfs"]), "not known");
}

/// Targets that all skipped operations, and not as many, hold different files: none is ranked.
#[test]
fn who_skipped_more_than_the_others_is_not_ranked_among_them() {
    let skipping = |name: &str, score: f64, skipped: u64| {
        let mut subject = one(name, &[score], Some(1.0));
        subject.lives[0].days[0].operations = 100;
        subject.lives[0].days[0].skipped = skipped;
        subject.lives[0].days[0].no_space = skipped;
        subject
    };
    let all = said(vec![skipping("a", 0.9, 25), skipping("b", 0.8, 7)]);
    assert!(
        all.iter().all(|text| !text.contains("decayed least")),
        "{all:?}"
    );
    assert!(
        all[0].contains("and is not ranked: give all targets the same larger size="),
        "{}",
        all[0]
    );
}

/// A target with a specification that days say something of.
fn as_target(spec: &str, scores: &[f64]) -> Subject {
    Subject {
        spec: spec.to_owned(),
        ..one(spec, scores, Some(0.99))
    }
}

#[test]
fn when_data_went_to_disk_is_said() {
    let last = |targets: &[&str]| {
        let targets = targets.iter().map(|spec| as_target(spec, &[0.9, 0.8]));
        said(targets.collect())
    };
    assert!(
        last(&["ext4", "xfs:size=2G"]).iter().any(|text| text
            == "The models of ext4 and xfs write back at the end of each day, as a kernel does that is set up so. One \
                that is left alone writes back by time too, and usually decays more: --on ext4:regime=default.")
    );
    assert!(
        last(&["ext4:regime=c", "ext4:regime=default"])
            .iter()
            .all(|text| !text.contains("end of each day")),
        "without delayed allocation blocks are found in the write"
    );
    assert!(last(&["ext4:regime=a", "ext4:regime=default"]).iter().any(|text| {
        text == "ext4:regime=a writes back at the end of each day, as no kernel does that is left alone; \
         ext4:regime=default does so by time, as it would: part of the difference is that."
    }));
    assert!(last(&["loop:ext4,size=1G"]).iter().any(|text| {
        text.ends_with("The model lives by the workload's clock: --on ext4:regime=default.")
    }));
    let beside = |model: &str| last(&["loop:ext4,size=1G", model]).join(" ");
    assert!(
        beside("ext4:regime=default").contains("rate=N, the operations a second of the replay")
    );
    assert!(!beside("ext4:regime=default,rate=5000").contains("rate=N"));
    // Nothing is delayed by the file systems of the nineties, and by time is as it is.
    for quiet in [&["ffs", "lfs"][..], &["ext4:regime=default"]] {
        assert!(
            !last(quiet).iter().any(|text| text.contains("write")),
            "{quiet:?}"
        );
    }
}

#[test]
fn draws_of_one_file_system_are_not_ranked() {
    let draws = [1, 2, 3].map(|seed| {
        let score = 0.6 + f64::from(seed) / 100.0;
        as_target(&format!("ext4:regime=default,seed={seed}"), &[0.9, score])
    });
    assert_eq!(
        said(draws.to_vec()),
        [
            "These are 3 draws of one file system, ext4:regime=default: its layout score ends between 0.610 and 0.630. \
             Which of them is ahead is chance; whatever is compared with it has to differ by more."
        ]
    );
    let [a, b, _] = draws;
    let other = as_target("ext4:regime=default,seed=1,size=2G", &[0.9, 0.8]);
    let ranked = said(vec![a, b, other]);
    assert!(
        ranked.iter().any(|text| text.starts_with("After 2 days")),
        "{ranked:?}"
    );
}

#[test]
fn the_reserve_for_root_is_named_where_somebody_lived_as_root() {
    let said = |spec: &str| {
        let group = Group {
            subjects: vec![as_target(spec, &[0.9])],
            ..Group::default()
        };
        super::warnings::reserve(&group).map(|finding| finding.text)
    };
    assert!(
        said("ext4:size=1G")
            .unwrap()
            .contains("ext4:root=off lives")
    );
    assert!(said("loop:ext4,size=1G").unwrap().ends_with("earlier."));
    assert_eq!(said("ext4:size=1G,root=off"), None);
    assert_eq!(said("xfs:size=1G"), None);
}
