//! Futures of a workload: what they are made of is what the past was made of.
//!
//! Expected values: the files of the past, counted by a table of sizes that knows nothing of how futures are made.

use fsage_core::{Event, EventSource, Op, WorkloadHeader};
use fsage_workload::preset::{Generator, Preset};
use fsage_workload::repeat::{Instead, Learned};
use std::collections::BTreeMap;

const DAYS: u64 = 40;

/// Sizes of the files that are there.
#[derive(Clone, Default)]
struct Sizes(BTreeMap<u64, u64>);

impl Sizes {
    fn apply(&mut self, op: &Op) {
        match *op {
            Op::Create { file, bytes, .. }
            | Op::Rewrite { file, bytes }
            | Op::Truncate { file, bytes } => {
                self.0.insert(file.0, bytes);
            }
            Op::Append { file, bytes } => *self.0.get_mut(&file.0).expect("a file") += bytes,
            Op::Write {
                file,
                offset,
                bytes,
            } => {
                let size = self.0.get_mut(&file.0).expect("a file");
                *size = (*size).max(offset + bytes);
            }
            Op::Delete { file } => {
                self.0.remove(&file.0).expect("a file");
            }
            Op::Rename { file, .. } => assert!(self.0.contains_key(&file.0)),
            _ => {}
        }
    }

    fn count(&self) -> f64 {
        self.0.len() as f64
    }

    fn bytes(&self) -> f64 {
        self.0.values().sum::<u64>() as f64
    }

    /// The size under which such a share of the files is.
    fn quantile(&self, share: f64) -> f64 {
        let mut sizes: Vec<u64> = self.0.values().copied().collect();
        sizes.sort_unstable();
        sizes[((sizes.len() - 1) as f64 * share) as usize] as f64
    }
}

/// What a preset leaves after 60 days, and its futures.
fn learned(name: &str) -> (Learned, Sizes) {
    let Generator::Profile(profile) = Preset::named(name).expect(name).generator else {
        panic!("{name} is a profile");
    };
    let profile = profile.with_capacity(512 << 20).with_days(60);
    let mut events: Vec<Event> = Vec::new();
    profile.generate(1, &mut events).expect("a workload");
    let header = WorkloadHeader {
        block_bytes: Some(4096),
        ..WorkloadHeader::default()
    };
    let (mut learned, mut sizes) = (Learned::new(&header), Sizes::default());
    for event in &events {
        learned.take(event).expect("it fits");
        sizes.apply(&event.op);
    }
    learned.end().expect("there are days");
    (learned, sizes)
}

fn lived(learned: &Learned, sizes: &Sizes, instead: Instead) -> Sizes {
    let mut future = learned.future(1, DAYS as usize, instead).expect("a future");
    future.go_on(DAYS);
    let mut sizes = sizes.clone();
    while let Some(event) = future.next_event().expect("an event") {
        sizes.apply(&event.op);
    }
    sizes
}

#[track_caller]
fn is_near(what: &str, found: f64, expected: f64, part: f64) {
    let off = (found / expected - 1.0).abs();
    assert!(off <= part, "{what}: {found} and not {expected}");
}

#[test]
fn a_future_without_growth_has_as_many_files_of_the_same_sizes() {
    for name in ["maildir", "mail-spool", "build-cache"] {
        let (learned, before) = learned(name);
        let after = lived(&learned, &before, Instead::NoGrowth);
        is_near(
            &format!("{name}: bytes"),
            after.bytes(),
            before.bytes(),
            0.01,
        );
        is_near(
            &format!("{name}: files"),
            after.count(),
            before.count(),
            0.05,
        );
        for share in [0.25, 0.5, 0.75, 0.9] {
            let (found, expected) = (after.quantile(share), before.quantile(share));
            is_near(&format!("{name}: quantile {share}"), found, expected, 0.25);
        }
    }
}

/// A store of mail that gets fuller gets more mail, and no larger one.
#[test]
fn growth_is_that_of_files_and_of_bytes() {
    let (learned, before) = learned("maildir");
    let after = lived(&learned, &before, Instead::Nothing);
    let grown = after.bytes() / before.bytes();
    assert!(grown > 1.2, "{grown}");
    is_near("files", after.count() / before.count(), grown, 0.06);
    for share in [0.25, 0.5, 0.75, 0.9] {
        let (found, expected) = (after.quantile(share), before.quantile(share));
        is_near(&format!("quantile {share}"), found, expected, 0.15);
    }
}

/// Growth is met by the files that are left.
#[test]
fn a_future_without_small_files_makes_none() {
    let (learned, _) = learned("maildir");
    let mut future = learned
        .future(1, DAYS as usize, Instead::NoSmallFiles)
        .expect("a future");
    future.go_on(DAYS);
    let mut made = Vec::new();
    while let Some(event) = future.next_event().expect("an event") {
        if let Op::Create { bytes, .. } = event.op {
            made.push(bytes);
        }
    }
    assert!(made.len() > 100, "{}", made.len());
    let small = made.iter().filter(|&&bytes| bytes < 64 << 10).count();
    assert_eq!(small, 0, "of {}", made.len());
}
