//! Workloads that were made longer and larger are done by the model without an operation that does not fit.

use fsage_core::{Event, EventSink, EventSource, FileSystem, SinkError, WorkloadHeader};
use fsage_models::ffs::{Ffs, Params};
use fsage_workload::clones::Clones;
use fsage_workload::home::Home;
use fsage_workload::repeat::Repeat;
use std::slice::Iter;

/// Reads events that lie in memory.
struct Recorded<'a>(WorkloadHeader, Iter<'a, Event>);

impl EventSource for Recorded<'_> {
    fn header(&self) -> &WorkloadHeader {
        &self.0
    }

    fn next_event(&mut self) -> Result<Option<Event>, SinkError> {
        Ok(self.1.next().cloned())
    }
}

/// Does every operation; an outcome may be lack of space, never an error.
fn age(events: &[Event]) {
    let mut fs = Ffs::new(Params::preset("g502").expect("a preset")).expect("it is accepted");
    for (at, event) in events.iter().enumerate() {
        if let Err(problem) = fs.apply(&event.op) {
            panic!("event {at} {event:?}: {problem}");
        }
    }
    fs.check().expect("the file system is whole");
}

#[test]
fn a_year_more_and_two_copies_and_a_half_of_home_directories() {
    let home = Home::smith96().with_capacity(64 << 20).with_days(90);
    let header = home.header(1);
    let mut events = Vec::new();
    home.generate(1, &mut events).expect("memory takes events");

    let mut longer = Vec::new();
    let mut repeat = Repeat::new(&header, 1, &mut longer);
    for event in &events {
        repeat.event(event.clone()).expect("it has times");
    }
    let summary = repeat.finish(365, &mut |_| {}).expect("it has days");
    assert_eq!((summary.days, summary.unfit), (365, 0));
    age(&longer);

    let mut larger = Vec::new();
    let clones = Clones::scaled(2.5, 1).expect("a factor");
    let open = || Ok(Recorded(header.clone(), longer.iter()));
    let copies = clones.interleave(open, &mut larger).expect("it has times");
    assert!(copies.operations > 2 * summary.operations);
    age(&larger);
}
