//! One system call fails: of writing, syncing, moving, opening, making and removing below the folder of the run and its
//! target, each in turn. The program either gets over it, or stops with a clear error and can go on.

use crate::crash;
use crate::crash::{
    DIRECTORY, EXPERIMENT, MODELS, Place, REPLACED, Scenario, Tally, goes_on, is_right, number,
    seed, skip,
};
use fsage_core::Rng;
use fsage_crash::{Ended, Fault, Tree, calls, record, with_fault, works_here};
use std::path::Path;

/// Fails so many calls of a command, spread over all of them, and goes on with it.
fn fail_and_go_on(scenario: &Scenario, cases: u64) {
    let test = format!("faults, {}", scenario.name);
    if let Err(why) = works_here() {
        return skip(&test, &why);
    }
    let place = Place::new();
    let at = place.at();
    (scenario.prepare)(&at);
    let before = Tree::of(&at).expect("a folder");
    let program = place.program(scenario.command);
    let (met, ended) = calls(&program, &at).expect("it can be traced");
    assert!(ended.is_done(), "{ended:?}");
    let expected = Tree::of(&at).expect("a folder");
    before.lay_out(&at).expect("a folder can be laid out");
    assert!(record(&program, &at).expect("it can be recorded").len() <= met.len());
    let (number_of_calls, faults) = (met.len() as u64, Fault::ALL.len() as u64);
    // Every call with every fault, if all are asked for.
    let cases = number("FSAGE_FAULTS", cases).min(number_of_calls * faults);
    let mut tally = Tally::default();
    for case in crash::only(cases) {
        let mut rng = Rng::new(seed()).stream(scenario.name, case);
        let pick = if cases == number_of_calls * faults {
            case
        } else {
            (case * number_of_calls * faults + rng.below(number_of_calls * faults)) / cases
        };
        let (call, fault) = (
            (pick / faults) as usize,
            Fault::ALL[(pick % faults) as usize],
        );
        before.lay_out(&at).expect("a folder can be laid out");
        let (failed, ended) = with_fault(&program, &at, call, fault).expect("it can be traced");
        let Some(failed) = failed else { continue };
        let is_full =
            matches!(fault, Fault::NoSpace | Fault::Quota) && failed.path.starts_with("target");
        let result = after_fault(&place, scenario, &expected, is_full, &failed.path, &ended);
        tally.count(
            &format!("case {case}: {failed:?}, call {call} of {number_of_calls}, {fault:?}"),
            result,
        );
    }
    tally.end(&test);
}

fn after_fault(
    place: &Place,
    scenario: &Scenario,
    expected: &Tree,
    is_full: bool,
    path: &Path,
    ended: &Ended,
) -> Result<(), String> {
    // A file system that is full, or says so, has other files in the end: its tables say which.
    let scenario = &Scenario {
        results: if is_full { &[] } else { scenario.results },
        ..*scenario
    };
    match ended.status {
        Some(0) => {
            return is_right(place, scenario, expected)
                .map_err(|why| format!("it said nothing: {why}"));
        }
        Some(3) => {}
        _ => return Err(format!("another end: {ended:?}")),
    }
    if !names_it(&ended.message, path) {
        return Err(format!("the message does not name it: {ended:?}"));
    }
    goes_on(place, scenario, expected).map_err(|why| format!("after {ended:?}: {why}"))
}

/// Whether a message names a path, or a folder that it is in. What is in the making has a name around that it will get:
/// `.run.0123456789abcdef.partial`.
fn names_it(message: &str, path: &Path) -> bool {
    let names = path.ancestors().filter_map(Path::file_name);
    let mut names = names.map(|name| name.to_string_lossy().into_owned());
    let given = |name: String| {
        let name = name.trim_start_matches('.');
        name.split_once('.')
            .map_or(name, |(first, _)| first)
            .to_owned()
    };
    // The folder that all lies in has no name here.
    path.as_os_str().is_empty() && ["run", "exp"].iter().any(|name| message.contains(name))
        || names.any(|name| message.contains(&given(name)))
}

#[test]
fn a_run_in_a_directory_gets_over_a_call_that_fails_or_goes_on_later() {
    fail_and_go_on(&DIRECTORY, 60);
}

#[test]
fn a_run_of_models_gets_over_a_call_that_fails_or_goes_on_later() {
    fail_and_go_on(&MODELS, 30);
}

#[test]
fn a_run_that_replaces_another_gets_over_a_call_that_fails_or_goes_on_later() {
    fail_and_go_on(&REPLACED, 30);
}

#[test]
fn an_experiment_gets_over_a_call_that_fails_or_goes_on_later() {
    fail_and_go_on(&EXPERIMENT, 30);
}
