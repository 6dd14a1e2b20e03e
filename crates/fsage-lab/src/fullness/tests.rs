//! Sentences on sizes that are made up; what they have to say is written down by hand.

use super::*;

fn level(size: u64, utilization: f64, skipped: u64, left: Option<(f64, Says)>) -> Level {
    Level {
        target: format!("ext4:size={size}M"),
        utilization,
        skipped,
        placeable_1m: Some(if utilization < 0.9 { 7.0 } else { 0.3 }),
        left: left.map(|(ratio, says)| Left {
            ratio,
            interval: [ratio - 0.05, ratio + 0.05],
            says,
            lives: 1,
        }),
        aged: None,
        by_life: Vec::new(),
        kept: None,
    }
}

/// By hand: fresh the smaller one has 20 for 10, aged 9.5 for 10: aged / control falls to 0.475, and what is lost is a
/// twentieth. Where the fresh copy does not gain, the ratio counts.
#[test]
fn what_a_fresh_copy_gains_in_a_smaller_size_is_no_loss() {
    let of = |size, full, ratio, aged| Level {
        aged: Some(aged),
        ..level(size, full, 0, Some((ratio, Says::Slower)))
    };
    let kept = |level: Level| {
        let all = by_target(None, [of(160, 0.6, 1.0, 10.0), level]);
        all[0].levels[1].kept.map(|kept| kept.ratio)
    };
    assert_eq!(kept(of(120, 0.8, 0.475, 9.5)), Some(0.95));
    assert_eq!(kept(of(120, 0.8, 0.475, 4.75)), Some(0.475));
    assert_eq!(kept(of(120, 0.8, 0.475, 2.0)), Some(0.475));
}

fn sentence(levels: Vec<Level>) -> Option<String> {
    let phase = ("hot-files".to_owned(), "read".to_owned());
    let all = by_target(Some(&phase), levels);
    all.first().and_then(Fullness::sentence)
}

#[test]
fn the_sentence_says_up_to_where_nothing_is_lost_and_what_is_lost_then() {
    let fine = |size, full| level(size, full, 0, Some((1.0, Says::Same)));
    let slower = |size, full, ratio| level(size, full, 0, Some((ratio, Says::Slower)));
    let unclear = |size, full| level(size, full, 0, Some((0.97, Says::Inconclusive)));
    let said = |levels| sentence(levels).expect("a sentence");
    assert_eq!(
        said(vec![
            slower(100, 0.95, 0.61),
            fine(160, 0.60),
            fine(120, 0.80)
        ]),
        "ext4: hot-files read limits it to 80 %: beside 60 % it loses nothing at 80 % and 39 % at 95 %; more than a \
         tenth is too much. Room for large files limits it to 80 %: no extent of 1 MiB fits at 95 %, tried next \
         (7 at 80 %). Up to 80 % \
         full hot-files read runs at fresh speed; at 95 % hot-files read runs at 61 % of fresh speed (56 to 66); \
         in brackets the 99 % interval of the repetitions of the benchmark."
    );
    assert_eq!(
        said(vec![fine(160, 0.60), fine(120, 0.92)]),
        "ext4: hot-files read sets no limit up to 92 %, the fullest tried: beside 60 % it loses nothing at 92 \
         %. Room for \
         large files limits it to 60 %: no extent of 1 MiB fits at 92 %, tried next (7 at 60 %). Up to 92 % full \
         hot-files read runs at fresh speed."
    );
    assert!(
        said(vec![
            slower(160, 0.60, 1.0),
            slower(120, 0.92, 0.91),
            slower(100, 0.97, 0.89)
        ])
        .starts_with(
            "ext4: hot-files read limits it to 92 %: beside 60 % it loses 9 % at 92 % and 11 % at 97 %; more than a \
             tenth is too much. Room for large files limits it to 60 %: no extent of 1 MiB fits at 92 %, tried next (7 \
             at 60 %). "
        )
    );
    assert_eq!(
        said(vec![fine(160, 0.60), unclear(120, 0.80)]),
        "ext4: hot-files read sets no limit up to 80 %, the fullest tried: beside 60 % it loses 3 % at 80 %. Room for \
         large files sets no limit up to 80 %, which has room for 7 extents of 1 MiB. Up to 80 % full no loss \
         of hot-files read is certain."
    );
    let little = said(vec![slower(160, 0.60, 0.20), slower(100, 0.95, 0.19)]);
    assert!(
        little.starts_with(
            "ext4: hot-files read sets no limit up to 95 %, the fullest tried: beside 60 % it loses 5 % at 95 %. Room "
        ) && little.ends_with(
            " Already at 60 % hot-files read runs at 20 % of fresh speed (15 to 25); at 95 % hot-files read runs \
             at 19 % of fresh speed (14 to 24); in brackets the 99 % interval of the repetitions of the benchmark."
        ),
        "{little}"
    );
    let first = level(160, 0.60, 3, Some((0.90, Says::Slower)));
    assert!(
        said(vec![first, slower(100, 0.95, 0.61)])
            .starts_with("ext4: no room for all of the workload at 60 % already. ")
    );
    let full = level(90, 1.0, 12, Some((0.5, Says::Slower)));
    assert!(said(vec![fine(160, 0.60), full]).ends_with(" At 100 % 12 operations were skipped."));
    let skips = level(90, 0.85, 12, Some((1.0, Says::Same)));
    assert!(said(vec![fine(160, 0.60), skips]).starts_with(
        "ext4: room for all of the workload limits it to 60 %: 85 %, tried next, has too little. "
    ));
    assert_eq!(sentence(vec![fine(160, 0.60)]), None);
    assert_eq!(
        sentence(vec![fine(160, 0.60), level(90, 0.9, 0, None)]),
        None
    );
}

/// A checkout whose files are out of order is slow on a disk however much room there is.
#[test]
fn what_age_costs_with_room_is_not_laid_to_fullness() {
    let phase = ("hot-files".to_owned(), "read".to_owned());
    let slower = |size, full, ratio| level(size, full, 0, Some((ratio, Says::Slower)));
    let said = |levels: Vec<Level>| recommendation(&by_target(Some(&phase), levels));
    assert_eq!(
        said(vec![slower(160, 0.60, 0.09), slower(100, 0.85, 0.06)]).as_deref(),
        Some(
            "In short: most of what age costs is not for lack of room: ext4 has 9 % of fresh speed at 60 % full. \
             As for room, keep ext4 at 60 % full (63 % in df) or less."
        )
    );
    // What being fuller adds is more, or what the emptiest has lost is little.
    let adds = said(vec![slower(160, 0.60, 0.75), slower(100, 0.85, 0.30)]);
    let little = said(vec![slower(160, 0.60, 0.85), slower(100, 0.85, 0.80)]);
    for text in [adds, little] {
        let text = text.expect("two sizes");
        assert!(!text.contains("most of what age costs"), "{text}");
    }
}

#[test]
fn the_recommendation_names_a_limit_for_each_target() {
    let phase = ("hot-files".to_owned(), "read".to_owned());
    let of = |target: &str, levels: Vec<Level>| -> Vec<Level> {
        let named = levels.into_iter().map(|level| Level {
            target: level.target.replace("ext4", target),
            ..level
        });
        named.collect()
    };
    let same = |size, full, skipped| level(size, full, skipped, Some((1.0, Says::Same)));
    let slower = |size, full| level(size, full, 0, Some((0.6, Says::Slower)));
    let ext4 = || {
        of(
            "ext4",
            vec![same(160, 0.60, 0), same(120, 0.81, 0), slower(100, 0.95)],
        )
    };
    let said = |xfs: Vec<Level>| {
        recommendation(&by_target(Some(&phase), [ext4(), of("xfs", xfs)].concat()))
    };
    assert_eq!(
        said(vec![
            same(160, 0.60, 0),
            same(120, 0.85, 0),
            same(100, 0.97, 5)
        ])
        .as_deref(),
        Some("In short: keep ext4 at 81 % full (85 % in df) or less and xfs at 85 % full or less.")
    );
    // Above nine tenths a level has no room for large extents.
    assert_eq!(
        said(vec![same(160, 0.60, 0), same(120, 0.92, 0)]).as_deref(),
        Some(
            "In short: keep ext4 at 81 % full (85 % in df) or less; xfs may be 92 % full, the fullest tried. \
             For files that \
             need a MiB or more in one piece: xfs at 60 % (room for 7) or less."
        )
    );
    assert_eq!(
        said(vec![same(160, 0.60, 0), same(120, 0.85, 0)]).as_deref(),
        Some(
            "In short: keep ext4 at 81 % full (85 % in df) or less; xfs may be 85 % full, the fullest tried."
        )
    );
    assert_eq!(
        said(vec![same(160, 0.60, 3), same(120, 0.92, 4)]).as_deref(),
        Some(
            "In short: keep ext4 at 81 % full (85 % in df) or less; xfs is too full at 60 % already, the \
             emptiest tried."
        )
    );
    // What was measured in one size alone has no limit.
    assert_eq!(
        said(vec![same(160, 0.60, 0), level(120, 0.92, 0, None)]).as_deref(),
        Some("In short: keep ext4 at 81 % full (85 % in df) or less.")
    );
    assert_eq!(recommendation(&[]), None);
}

#[test]
fn targets_go_by_their_short_names() {
    let levels = [(160, 0.6), (100, 0.8)].map(|(size, full)| Level {
        target: format!("ext4:bsize=4K,size={size}M"),
        ..level(size, full, 0, Some((1.0, Says::Same)))
    });
    let all = by_target(None, levels);
    assert_eq!(
        (all[0].target.as_str(), all[0].name.as_str()),
        ("ext4:bsize=4K", "ext4")
    );
    assert!(
        all[0]
            .sentence()
            .is_some_and(|text| text.starts_with("ext4: "))
    );
}

#[test]
fn limits_of_few_lives_say_how_to_get_intervals() {
    let said = |lives, is_drawn| {
        let levels = [(160, 0.6), (100, 0.8)].map(|(size, full)| {
            let mut level = level(size, full, 0, Some((1.0, Says::Same)));
            level.left = level.left.map(|left| Left { lives, ..left });
            level
        });
        of_lives(&by_target(None, levels), is_drawn)
    };
    assert!(said(1, true).is_some_and(|text| text.contains("--seeds 5")));
    assert!(said(2, true).is_some_and(|text| text.contains("two lives")));
    assert_eq!(said(5, true), None);
    // Another seed is no other history.
    assert!(said(1, false).is_some_and(|text| !text.contains("--seeds")));
    assert_eq!(said(5, false), None);
}

/// Three lives of unlike decay: what each keeps in a fuller size beside the emptiest.
fn lived(size: u64, full: f64, kept: &[f64]) -> Level {
    let emptiest = [0.6, 0.8, 1.0];
    let ratios: Vec<f64> = emptiest
        .iter()
        .zip(kept)
        .map(|(of, kept)| of * kept)
        .collect();
    let left = Left {
        says: Says::Inconclusive,
        ..Left::of_layouts(Over::of(ratios.iter().copied()).expect("lives"))
    };
    let by_life = ratios.into_iter().enumerate();
    Level {
        left: Some(left),
        by_life: by_life.map(|(life, of)| (Life::named(&life), of)).collect(),
        ..level(size, full, 0, None)
    }
}

/// By hand: Student's t of 2 degrees of freedom is 4.303, over the root of 3 2.484; lives themselves differ by more.
#[test]
fn what_a_fuller_size_costs_is_told_life_by_life() {
    let phase = ("hot-files".to_owned(), "read".to_owned());
    let said = |levels: Vec<Level>| {
        let all = by_target(Some(&phase), levels);
        let (sentence, short) = (all[0].sentence(), recommendation(&all));
        (sentence.expect("a sentence"), short.expect("in short"))
    };
    let emptiest = || lived(160, 0.60, &[1.0, 1.0, 1.0]);
    // Means 0.97 and 0.71, deviations 0.01.
    let little = || lived(120, 0.80, &[0.98, 0.96, 0.97]);
    let (sentence, short) = said(vec![emptiest(), little()]);
    assert!(
        sentence.starts_with(
            "ext4: hot-files read sets no limit up to 80 %, the fullest tried: beside 60 % it loses 3 % at 80 % (1 \
             to 5). "
        ) && sentence.ends_with("; in brackets Student's 95 % interval of the mean over 3 lives."),
        "{sentence}"
    );
    assert_eq!(short, "In short: ext4 may be 80 % full, the fullest tried.");
    let much = lived(100, 0.85, &[0.70, 0.71, 0.72]);
    let (sentence, short) = said(vec![emptiest(), little(), much]);
    assert!(
        sentence.starts_with(
            "ext4: hot-files read limits it to 80 %: beside 60 % it loses 3 % at 80 % (1 to 5) and 29 % at 85 % (27 to \
             31); more than a tenth is too much. "
        ),
        "{sentence}"
    );
    assert_eq!(
        short,
        "In short: keep ext4 at 80 % full (84 % in df) or less."
    );
    // Means 0.91 and 0.88, deviations 0.05: on either side of a tenth.
    for (kept, allows, cost, advice) in [
        (
            [0.96, 0.91, 0.86],
            "hot-files read likely allows 80 %",
            "9 % at 80 % (-3 to 21)",
            "80 % full (84 % in df) or less (likely)",
        ),
        (
            [0.93, 0.88, 0.83],
            "whether hot-files read allows 80 % is open",
            "12 % at 80 % (0 to 24)",
            "60 % full (63 % in df) or less (80 % is open)",
        ),
    ] {
        let (sentence, short) = said(vec![emptiest(), lived(120, 0.80, &kept)]);
        assert!(
            sentence.starts_with(&format!(
                "ext4: {allows}: beside 60 % it loses {cost}; more than a tenth is too much. "
            )),
            "{sentence}"
        );
        assert_eq!(short, format!("In short: keep ext4 at {advice}."));
    }
    let open = || lived(120, 0.80, &[0.96, 0.91, 0.86]);
    let much = lived(100, 0.85, &[0.70, 0.71, 0.72]);
    let (sentence, short) = said(vec![emptiest(), open(), much]);
    assert!(
        sentence.contains(
            "likely allows 80 %: beside 60 % it loses 9 % at 80 % (-3 to 21) and 29 % at 85 % (27 to 31); more than a \
             tenth is too much. "
        ),
        "{sentence}"
    );
    assert_eq!(
        short,
        "In short: keep ext4 at 80 % full (84 % in df) or less (likely, 85 % too full)."
    );
    // Of several that are open the fullest that loses little in the mean, and what is sure before them.
    let also = lived(110, 0.83, &[0.97, 0.92, 0.87]);
    let (_, short) = said(vec![emptiest(), little(), also]);
    assert_eq!(
        short,
        "In short: keep ext4 at 83 % full (87 % in df) or less (likely; 80 % is sure)."
    );
    // A fuller size that is sure to lose little speaks for one that is open.
    let fuller = lived(100, 0.85, &[0.98, 0.96, 0.97]);
    let (_, short) = said(vec![emptiest(), open(), fuller]);
    assert_eq!(short, "In short: ext4 may be 85 % full, the fullest tried.");
    let all = by_target(Some(&phase), [emptiest(), open()]);
    assert!(of_lives(&all, true).is_some_and(|text| text.contains("more lives")));
    // Two lives have no interval; a size without room is no open one.
    let two = vec![
        lived(160, 0.60, &[1.0, 1.0]),
        lived(120, 0.80, &[0.96, 0.86]),
    ];
    assert!(said(two).0.contains("beside 60 % it loses 9 % at 80 %. "));
    let skips = Level {
        skipped: 5,
        ..open()
    };
    let (sentence, short) = said(vec![emptiest(), skips]);
    assert!(sentence.starts_with("ext4: room for all of the workload limits it to 60 %: "));
    assert_eq!(
        short,
        "In short: keep ext4 at 60 % full (63 % in df) or less."
    );
}

#[test]
fn of_several_lives_it_says_what_the_brackets_are() {
    let levels = |lives: usize| {
        let at = |size: u64, ratios: [f64; 3]| {
            let over = Over::of(ratios.into_iter().take(lives)).expect("lives");
            let left = Some(Left::of_layouts(over));
            Level {
                left,
                ..level(size, 160.0 / (size as f64) * 0.6, 0, None)
            }
        };
        vec![at(160, [0.99, 0.9, 0.95]), at(100, [0.5, 0.52, 0.54])]
    };
    let sentence = |lives| {
        by_target(None, levels(lives))[0]
            .sentence()
            .expect("a sentence")
    };
    // Student's t of 2 degrees of freedom is 4.303; the deviations are 0.045 and 0.02.
    assert_eq!(
        sentence(3),
        "ext4: layout score limits it to 60 %: beside 60 % it loses 45 % at 96 %; more than a tenth is too much. \
         Room for large files limits it to 60 %: no extent of 1 MiB fits at 96 %, tried next (7 at 60 %). Up to 60 % \
         full no loss of layout score is certain; at 96 % the layout score is 52 % of that of a fresh copy (47 to \
         57); in brackets Student's 95 % interval of the mean over 3 lives."
    );
    assert!(
        sentence(2).ends_with("(50 to 52); in brackets the range of two lives."),
        "{}",
        sentence(2)
    );
}

#[test]
fn reading_aged_files_is_what_counts() {
    let is = |suite: &str, phase: &str| Some((suite.to_owned(), phase.to_owned()));
    let all = [
        ("sequential", "create"),
        ("sequential", "read"),
        ("hot-files", "read"),
    ];
    assert_eq!(phase(&all), is("hot-files", "read"));
    assert_eq!(phase(&all[..2]), is("sequential", "read"));
    assert_eq!(phase(&all[..1]), is("sequential", "create"));
    assert_eq!(phase(&[]), None);
}

/// By hand: at 80 % the delivery keeps 0.7 of what it has at 60 %, and reading all.
#[test]
fn the_phase_to_which_being_fuller_costs_most_says_how_full() {
    let read = ("hot-files", "read");
    let deliver = ("delivery", "deliver");
    let levels = |phase: Option<&Phase>| {
        let fuller = if phase.is_some_and(|(suite, _)| suite == deliver.0) {
            0.7
        } else {
            1.0
        };
        vec![
            level(160, 0.60, 0, Some((1.0, Says::Same))),
            level(120, 0.80, 0, Some((fuller, Says::Slower))),
        ]
    };
    let what = |phases: &[(&str, &str)]| by_what_limits(phases, levels)[0].what();
    assert_eq!(what(&[read, deliver]), "delivery deliver");
    assert_eq!(what(&[read]), "hot-files read");
    // Where neither costs anything, it is reading.
    let alike = |_: Option<&Phase>| {
        vec![
            level(160, 0.60, 0, Some((1.0, Says::Same))),
            level(120, 0.80, 0, Some((1.0, Says::Same))),
        ]
    };
    assert_eq!(
        by_what_limits(&[read, deliver], alike)[0].what(),
        "hot-files read"
    );
}

/// Between what speed allows and a size at which writes fail there are 3 points: the size below is advised.
#[test]
fn a_margin_is_left_to_where_writes_fail() {
    let fine = |size, full| level(size, full, 0, Some((1.0, Says::Same)));
    let fails = |full| level(90, full, 7, None);
    let said = |levels: Vec<Level>| recommendation(&by_target(None, levels)).expect("advice");
    let near = said(vec![
        fine(160, 0.60),
        fine(120, 0.81),
        fine(100, 0.91),
        fails(0.94),
    ]);
    let expected = "keep ext4 at 81 % full (85 % in df) or less (being 91 % full costs little too, but at 94 % writes \
                    fail)";
    assert!(near.contains(expected), "{near}");
    let far = said(vec![
        fine(160, 0.60),
        fine(120, 0.81),
        fine(100, 0.88),
        fails(0.94),
    ]);
    assert!(!far.contains("costs little too"), "{far}");
}
