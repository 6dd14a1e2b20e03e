//! Any bytes as `playback` text: no panic, every message one line; and what is read is written so that it is
//! read without a message, a modification of the unknown or a delete of it.

#![no_main]

use fsage_core::WorkloadHeader;
use fsage_import::playback::{Exporter, Groups, import};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let groups = Groups::PAPER;
    let mut events = Vec::new();
    let mut input = bytes;
    if let Err(e) = import(&mut input, "fuzz", groups, &mut events) {
        assert!(!e.to_string().contains('\n'), "{e}");
        return;
    }
    let mut exporter =
        Exporter::new(Vec::new(), &WorkloadHeader::default(), groups).expect("good groups");
    for event in &events {
        exporter.write(event).expect("an event that was made");
    }
    let (text, _) = exporter.finish().expect("memory");
    let mut again = &text[..];
    let summary = import(&mut again, "again", groups, &mut Vec::new()).expect("text of ours");
    let skipped = (
        summary.messages,
        summary.modifies_of_unknown,
        summary.deletes_of_unknown,
    );
    assert_eq!(skipped, (0, 0, 0));
});
