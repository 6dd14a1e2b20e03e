//! What a harness says is worth nothing if it cannot say no: shell scripts that are careless, and what is seen of it.

use fsage_core::Rng;
use fsage_crash::{Cut, Fault, Kind, Program, Recording, calls, record, with_fault, works_here};
use std::fs;
use std::path::Path;

/// Runs a script in an empty folder, if that can be traced here.
fn in_folder(look: impl FnOnce(&Path, &dyn Fn(&str) -> Program)) {
    if works_here().is_err() {
        return;
    }
    let (at, out) = (tempfile::tempdir(), tempfile::tempdir());
    let (at, out) = (at.expect("a folder"), out.expect("a folder"));
    let script = |text: &str| Program::new("sh", &["-c", text], at.path(), out.path());
    look(at.path(), &script);
}

fn listing(recording: &Recording, cut: Cut, seed: u64) -> String {
    recording
        .cut(recording.len(), cut, &mut Rng::new(seed))
        .listing()
}

#[test]
fn a_name_is_safe_when_its_folder_is_synced_and_bytes_when_the_file_is() {
    in_folder(|at, script| {
        let text = "mkdir d; printf bytes > d/a; sync d; printf more > d/b; sync d/b";
        let recording = record(&script(text), at).expect("it can be recorded");
        assert_eq!(
            listing(&recording, Cut::Lost, 1),
            "",
            "nobody synced the folder of d"
        );
        let recording = record(&script("sync .; mv d e; sync ."), at).expect("it can be recorded");
        assert_eq!(listing(&recording, Cut::Lost, 1), "e/\ne/a 5\ne/b 4\n");
    });
}

#[test]
fn a_file_is_in_one_place_that_it_passed_through() {
    in_folder(|at, script| {
        let text = "mkdir x y z; sync .; printf f > x/f; mv x/f y/f; mv y z/y; mv z/y/f f";
        let recording = record(&script(text), at).expect("it can be recorded");
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..200 {
            let listing = listing(&recording, Cut::Any, seed);
            let names = listing.lines().filter(|line| line.contains('f')).count();
            assert!(names <= 1, "{listing}");
            assert_eq!(listing.matches("y/\n").count(), 1, "{listing}");
            seen.insert(listing);
        }
        assert!(seen.len() > 4, "{seen:?}");
    });
}

#[test]
fn each_call_can_fail_once_and_the_program_knows_no_more_than_that() {
    in_folder(|at, script| {
        let program = script("printf bytes > f && mv f g && sync g");
        let (met, ended) = calls(&program, at).expect("it can be traced");
        assert!(ended.is_done());
        let kinds: Vec<Kind> = met.iter().map(|place| place.kind).collect();
        assert_eq!(kinds, [Kind::Open, Kind::Write, Kind::Move, Kind::Sync]);
        let empty = || {
            for name in ["f", "g"] {
                let _ = fs::remove_file(at.join(name));
            }
        };
        for (n, kind) in kinds.iter().enumerate() {
            empty();
            let (place, ended) = with_fault(&program, at, n, Fault::Io).expect("it can be traced");
            assert_eq!(place.map(|place| place.kind), Some(*kind));
            assert!(!ended.is_done());
            // What comes before it is done, and what comes behind it is not.
            let there = ["f", "g"].map(|name| at.join(name).exists());
            let expected = [[false, false], [true, false], [true, false], [false, true]];
            assert_eq!(there, expected[n]);
        }
        empty();
        let (place, ended) = with_fault(&program, at, 4, Fault::Io).expect("it can be traced");
        assert!(place.is_none() && ended.is_done(), "there is no fifth call");
        empty();
        let head = script("printf bytes | dd of=f bs=5 2>dd");
        let (met, _) = calls(&head, at).expect("it can be traced");
        let write = met
            .iter()
            .position(|place| place.kind == Kind::Write && place.path == Path::new("f"));
        let write = write.expect("dd writes");
        let (place, _) = with_fault(&head, at, write, Fault::Short).expect("it can be traced");
        assert!(place.is_some());
        assert_eq!(
            fs::read(at.join("f")).expect("a file"),
            b"bytes",
            "dd writes the rest"
        );
    });
}
