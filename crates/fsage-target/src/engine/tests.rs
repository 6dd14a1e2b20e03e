//! Replays of small workloads.

use super::*;
use crate::TargetSpec;
use fsage_core::{DirId, EventsInMemory, FileId};

fn script(events: Vec<Event>) -> EventsInMemory {
    EventsInMemory::new(events)
}

fn aging(spec: &str, lenient: bool) -> Aging {
    let spec = TargetSpec::parse(spec).unwrap();
    Aging::new(Target::make(&spec).unwrap(), lenient)
}

fn create(file: u64, bytes: u64) -> Event {
    let mut event = Event::new(Op::Create {
        file: FileId(file),
        dir: DirId::ROOT,
        bytes,
    });
    event.line = file + 1;
    event
}

#[test]
fn days_count_what_became_of_their_operations() {
    let mut events: Vec<Event> = (0..100).map(|i| create(i, 100_000)).collect();
    events.insert(10, Event::day("first"));
    let mut agings = [aging("ffs:preset=tiny", false), aging("null", false)];
    replay(&mut script(events), &mut agings, 2, |_| true).unwrap();
    let days = agings[0].days();
    assert_eq!(days.len(), 2);
    assert_eq!(
        (days[0].label.as_str(), days[1].label.as_str()),
        ("first", "end")
    );
    assert_eq!(days[0].counts.done, 10);
    assert_eq!(days[0].counts.bytes_written, 1_000_000);
    assert_eq!(days[1].counts.operations(), 90);
    assert!(days[1].counts.no_space > 10, "8 MB hold no 10 MB");
    assert_eq!(agings[1].total().done, 100);
}

#[test]
fn any_number_of_threads_gives_the_same_days() {
    let events = || {
        let bytes = |i: u64| i * 7919 % 60_000;
        script((0..20_000).map(|i| create(i, bytes(i))).collect())
    };
    let run = |threads| {
        let specs = [
            "ffs:preset=tiny",
            "ffs:preset=tiny,policy=realloc",
            "ffs:preset=small",
        ];
        let mut agings = specs.map(|spec| aging(spec, false));
        replay(&mut events(), &mut agings, threads, |_| true).unwrap();
        agings.map(|a| a.days().to_vec())
    };
    assert_eq!(run(1), run(2));
    assert_eq!(run(1), run(8));
}

#[test]
fn a_state_error_stops_with_its_line_or_is_counted() {
    let events = || script(vec![create(1, 1), create(1, 1), create(2, 1)]);
    let mut strict = [aging("ffs:preset=tiny", false)];
    let error = replay(&mut events(), &mut strict, 1, |_| true).unwrap_err();
    assert_eq!(error.to_string(), "line 2: create: file 1 exists already");
    let mut lenient = [aging("ffs:preset=tiny", true)];
    replay(&mut events(), &mut lenient, 1, |_| true).unwrap();
    assert_eq!(lenient[0].total().invalid, 1);
    assert_eq!(lenient[0].total().done, 2);
}

#[test]
fn the_caller_may_stop_a_replay() {
    let events = (0..30_000).map(|i| create(i, 0)).collect();
    let mut agings = [aging("null", false)];
    let mut seen = 0;
    let stopped = replay(&mut script(events), &mut agings, 1, |p| {
        seen = p.events;
        p.events < 10_000
    });
    assert!(matches!(stopped, Err(ReplayError::Interrupted)));
    assert!((10_000..30_000).contains(&seen));
}

#[test]
fn bytes_beyond_64_bits_stay_at_the_most_that_can_be_counted() {
    let mut agings = [aging("null", false)];
    let events = vec![create(1, u64::MAX), Event::day("1"), create(2, 2)];
    replay(&mut script(events), &mut agings, 1, |_| true).unwrap();
    assert_eq!(agings[0].total().bytes_written, u64::MAX);
}

/// A layer ages, is checked, snapshotted and measured as a model is: a file keeps its number and times when it moves.
#[test]
fn a_layer_is_aged_as_a_model() {
    use std::sync::{Arc, Mutex};
    for spec in [
        "ext3:size=64M,journal=0,rearrange=files,threshold=2,near=0",
        "ext3:size=256M,rearrange=files,ra=10%,third=files,migrate=idle",
        "ffs:preset=small,rearrange=files,ra=10%,threshold=1,near=0",
        "ffs:preset=small,rearrange=blocks,ra=10%,period=30",
        "ext3:size=64M,mode=ext2,rearrange=organ-pipe,cylinder=64K",
    ] {
        let mut events: Vec<Event> = (0..40).map(|i| create(i, 30_000)).collect();
        for day in 0..3 {
            events.extend((0..120).map(|i| {
                let (file, bytes) = (FileId(i % 12), 500);
                Event::new(Op::Append { file, bytes })
            }));
            events.push(Event::day(&day.to_string()));
        }
        let mut aging = aging(spec, false);
        aging.check_every_day();
        let taken = Arc::new(Mutex::new(Vec::new()));
        let keep = Arc::clone(&taken);
        aging.take_snapshots(
            1,
            0,
            Box::new(move |_, inodes, _| {
                keep.lock().unwrap().push(inodes);
                Ok(())
            }),
        );
        let mut agings = [aging];
        replay(&mut script(events), &mut agings, 1, |_| true).unwrap();
        let [aging] = agings;
        let Target::Model(fs) = aging.target() else {
            panic!("{spec} is no model");
        };
        let fs = fs.as_rearranged().expect("a layer");
        assert_eq!(fs.counters().accesses, 400, "{spec}");
        let moved = fs.counters().moved_in + fs.counters().placed;
        assert!(moved > 0, "{spec}: {:?}", fs.counters());
        for inodes in taken.lock().unwrap().iter() {
            // The root and forty files, all with names.
            assert_eq!(inodes.len(), 41, "{spec}");
            assert!(inodes.iter().all(|inode| inode.path.is_some()), "{spec}");
        }
        assert_eq!(aging.days().len(), 3, "{spec}");
    }
}
