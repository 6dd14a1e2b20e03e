//! The unaged control of an aged model: the same live files, laid out better.

use fsage_core::{DirId, Event, EventsInMemory, FileId, FileKind, Layout, Op};
use fsage_metrics::measure;
use fsage_target::{Aging, Target, TargetSpec, control_workload, replay};
use fsage_workload::home::Home;
use std::collections::BTreeMap;

fn age(spec: &str, events: Vec<Event>) -> Aging {
    let spec = TargetSpec::parse(spec).expect("a target");
    let mut agings = [Aging::new(
        Target::make(&spec).expect("a file system"),
        false,
    )];
    let mut script = EventsInMemory::new(events);
    replay(&mut script, &mut agings, 1, |_| true).expect("every operation fits the state");
    let [aging] = agings;
    aging
}

/// Depth, kind, size and number of names.
type What = (usize, char, u64, u32);

/// What inodes there are, with how many of each; and the bytes of directories.
fn content(layout: &dyn Layout) -> (BTreeMap<What, u64>, u64) {
    let mut parents = BTreeMap::new();
    layout.visit_files(&mut |file| {
        if file.kind == FileKind::Directory {
            parents.insert(
                file.ino,
                file.parent_ino.filter(|&parent| parent != file.ino),
            );
        }
    });
    let depth = |parent: Option<u64>| {
        let up = |ino: &u64| parents.get(ino).copied().flatten();
        std::iter::successors(parent, up).count()
    };
    let mut content = BTreeMap::new();
    let mut directory_bytes = 0;
    layout.visit_files(&mut |file| {
        let mut size = file.size_bytes;
        if file.kind == FileKind::Directory {
            directory_bytes += file.alloc_bytes.expect("a model knows");
            // Directories do not shrink.
            size = 0;
        }
        let key = (depth(file.parent_ino), file.kind.letter(), size, file.links);
        *content.entry(key).or_default() += 1;
    });
    (content, directory_bytes)
}

#[test]
fn the_control_has_the_same_files_in_a_better_layout() {
    for policy in ["orig", "realloc"] {
        let spec = format!("ffs:preset=g502,policy={policy}");
        let mut events: Vec<Event> = Vec::new();
        let home = Home::smith96().with_days(60);
        home.generate(1, &mut events)
            .expect("a Vec takes every event");
        let aged = age(&spec, events);
        let copy = control_workload(aged.target().layout());
        assert!(copy.left_out.is_empty());
        let control = age(&spec, copy.events);
        assert_eq!(control.total().skipped(), 0);
        let (aged, control) = (aged.target().layout(), control.target().layout());
        let (files, directory_bytes) = content(aged);
        let (copied, fresh_directory_bytes) = content(control);
        assert_eq!(files, copied);
        let (aged, control) = (measure(aged), measure(control));
        let free = |m: &fsage_metrics::Measures| m.free.as_ref().expect("known").bytes;
        assert_eq!(
            free(&aged) + directory_bytes,
            free(&control) + fresh_directory_bytes,
            "but for directories the same space is free"
        );
        assert!(control.layout().value() > aged.layout().value() + 0.02);
        assert!(control.order.dynamic.value() > aged.order.dynamic.value());
        assert!(control.sums.pieces.pieces < aged.sums.pieces.pieces);
        assert_eq!(control.sums.pieces.live_bytes, aged.sums.pieces.live_bytes);
    }
}

/// A hole, a symbolic link and a hard link in another directory come through, and an empty file system is empty.
#[test]
fn holes_and_links_are_copied() {
    let create = |file, bytes| {
        Event::new(Op::Create {
            file: FileId(file),
            dir: DirId::ROOT,
            bytes,
        })
    };
    let events = vec![
        Event::new(Op::Mkdir {
            dir: DirId(7),
            parent: None,
        }),
        create(1, 8192),
        Event::new(Op::Write {
            file: FileId(1),
            offset: 65_536,
            bytes: 9000,
        }),
        create(2, 0),
        Event::new(Op::Symlink {
            file: FileId(3),
            dir: DirId(7),
            bytes: 30,
        }),
        Event::new(Op::Link {
            file: FileId(4),
            existing: FileId(1),
            dir: DirId(7),
        }),
    ];
    let aged = age("ffs:preset=tiny", events);
    let copy = control_workload(aged.target().layout());
    let holed = |e: &&Event| matches!(e.op, Op::Write { .. });
    assert_eq!(copy.events.iter().filter(holed).count(), 2);
    let control = age("ffs:preset=tiny", copy.events);
    assert_eq!(
        content(aged.target().layout()),
        content(control.target().layout())
    );
    let (aged, control) = (
        measure(aged.target().layout()),
        measure(control.target().layout()),
    );
    assert_eq!(aged.sums.pieces, control.sums.pieces);
    assert_eq!(aged.free.map(|f| f.bytes), control.free.map(|f| f.bytes));

    let empty = control_workload(age("ffs:preset=tiny", Vec::new()).target().layout());
    assert_eq!(empty.events.len(), 1, "only the sync");
}
