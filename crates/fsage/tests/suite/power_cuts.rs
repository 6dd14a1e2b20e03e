//! A power cut at any step: what was synced is on the disk, anything else may be lost, torn or reordered. The run
//! goes on, and ends as if nothing had happened; what was complete stays complete.

use crate::crash;
use crate::crash::{
    DIRECTORY, EXPERIMENT, MODELS, Place, REPLACED, Scenario, Tally, goes_on, is_right, number,
    seed, skip,
};
use fsage_core::Rng;
use fsage_crash::{Cut, Recording, Tree, record, works_here};
use std::fs;

/// Cuts a command so many times, spread over its steps, and goes on with it.
fn cut_and_go_on(scenario: &Scenario, cases: u64) {
    let test = format!("power cuts, {}", scenario.name);
    if let Err(why) = works_here() {
        return skip(&test, &why);
    }
    let place = Place::new();
    let at = place.at();
    (scenario.prepare)(&at);
    let recording = record(&place.program(scenario.command), &at).expect("it can be recorded");
    assert!(recording.ended.is_done(), "{:?}", recording.ended);
    let steps = recording.len() as u64;
    let expected = recording.after(recording.len());
    let cases = number("FSAGE_CUTS", cases);
    let mut tally = Tally::default();
    tally.count(
        "at the end",
        complete_means_on_disk(&place, scenario, &recording),
    );
    for case in crash::only(cases) {
        let mut rng = Rng::new(seed()).stream(scenario.name, case);
        // Spread evenly, not quite regular.
        let after = (case * steps + rng.below(steps)) / cases;
        let (words, tree) = cut_after(&recording, after as usize, &mut rng);
        let mut story = words;
        tree.lay_out(&at).expect("a folder can be laid out");
        let mut result = nothing_is_lost(scenario, &recording, &tree);
        // The power may fail again while the command goes on.
        for _ in 0..rng.below(3) {
            let again = record(&place.program(scenario.again), &at).expect("it can be recorded");
            let after = rng.below(again.len() as u64 + 1);
            let (words, tree) = cut_after(&again, after as usize, &mut rng);
            story += &words;
            tree.lay_out(&at).expect("a folder can be laid out");
            result = result.and_then(|()| nothing_is_lost(scenario, &recording, &tree));
        }
        let result = result.and_then(|()| goes_on(&place, scenario, &expected));
        let result = result.map_err(|why| format!("{why}\n{story}"));
        let what = format!("case {case} (the same again: FSAGE_CUTS={cases} FSAGE_CASE={case})");
        tally.count(&what, result);
    }
    tally.end(&test);
}

/// A folder after a power cut, and what to say of it.
fn cut_after(recording: &Recording, after: usize, rng: &mut Rng) -> (String, Tree) {
    let cut = Cut::ALL[rng.below(Cut::ALL.len() as u64) as usize];
    let tree = recording.cut(after, cut, rng);
    let last = recording.words(after.saturating_sub(5)..after);
    let (steps, listing) = (recording.len(), tree.listing());
    let words = format!(
        "cut after step {after} of {steps}, {cut:?}; the last steps:\n{last}what was there:\n{listing}"
    );
    (words, tree)
}

/// Whatever happens to a run that replaces another, one of the two is there, complete.
fn nothing_is_lost(scenario: &Scenario, recording: &Recording, tree: &Tree) -> Result<(), String> {
    if !scenario.command.contains(&"--force") {
        return Ok(());
    }
    let complete = [0, recording.len()].map(|steps| recording.after(steps).folder("run"));
    let there = tree.folders();
    let is_there = |run: &Option<Tree>| {
        let run = run.as_ref().expect("a run is there before and after");
        there.iter().any(|folder| run.difference(folder).is_none())
    };
    if complete.iter().any(is_there) {
        Ok(())
    } else {
        Err("neither the old run nor the new one is there".to_owned())
    }
}

/// With exit status 0, nothing is missing that was not synced.
fn complete_means_on_disk(
    place: &Place,
    scenario: &Scenario,
    recording: &Recording,
) -> Result<(), String> {
    let steps = recording.len();
    for cut in [Cut::Lost, Cut::Names, Cut::Any] {
        let tree = recording.cut(steps, cut, &mut Rng::new(seed()));
        tree.lay_out(&place.at()).expect("a folder can be laid out");
        let expected = recording.after(steps);
        is_right(place, scenario, &expected)
            .map_err(|why| format!("{cut:?}: {why}\n{}", tree.listing()))?;
    }
    Ok(())
}

#[test]
fn a_run_in_a_directory_goes_on_after_a_power_cut_at_any_step() {
    cut_and_go_on(&DIRECTORY, 60);
}

#[test]
fn a_run_of_models_goes_on_after_a_power_cut_at_any_step() {
    cut_and_go_on(&MODELS, 30);
}

#[test]
fn a_run_that_replaces_another_goes_on_after_a_power_cut_at_any_step() {
    cut_and_go_on(&REPLACED, 30);
}

#[test]
fn an_experiment_goes_on_after_a_power_cut_at_any_step() {
    cut_and_go_on(&EXPERIMENT, 30);
}

/// What a harness says is worth nothing if it cannot say no.
#[test]
fn what_was_not_synced_is_lost() {
    if let Err(why) = works_here() {
        return skip("what_was_not_synced_is_lost", &why);
    }
    let place = Place::new();
    let script = "printf safe > a; sync a; sync .; printf more >> a; printf lost > b; mv a c";
    let program = fsage_crash::Program::new("sh", &["-c", script], &place.at(), &place.out());
    let recording = record(&program, &place.at()).expect("it can be recorded");
    let cut = |cut| recording.cut(recording.len(), cut, &mut Rng::new(1));
    let lost = cut(Cut::Lost);
    assert_eq!(lost.listing(), "a 4\n");
    assert_eq!(lost.file("a"), Some(&b"safe"[..]));
    assert_eq!(cut(Cut::Names).listing(), "b 0\nc 4\n");
    assert_eq!(cut(Cut::Lengths).file("c"), Some(&b"safe\0\0\0\0"[..]));
    assert_eq!(cut(Cut::Torn).file("b"), Some(&b"lo"[..]));
    assert_eq!(cut(Cut::Kept).file("c"), Some(&b"safemore"[..]));
    cut(Cut::Kept)
        .lay_out(&place.at())
        .expect("a folder can be laid out");
    assert_eq!(fs::read(place.at().join("c")).expect("a file"), b"safemore");
}
