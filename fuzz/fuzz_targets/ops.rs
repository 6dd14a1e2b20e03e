//! Any bytes as `.ops` text: no panic, every message one line; and what is read is written so that it reads
//! the same.

#![no_main]

use fsage_core::Event;
use fsage_data::{OpsReader, OpsWriter};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    let Ok(mut reader) = OpsReader::new(text, "fuzz.ops") else {
        return;
    };
    let mut events = Vec::new();
    loop {
        match reader.next_event() {
            Ok(None) => break,
            Ok(Some(event)) => events.push(event),
            Err(e) => {
                assert!(!e.to_string().contains('\n'), "{e}");
                assert!(reader.line() > 0);
            }
        }
    }

    let mut writer = OpsWriter::new(Vec::new(), reader.header()).expect("a header that was read");
    for event in &events {
        writer.write(event).expect("an event that was read");
    }
    assert_eq!(writer.times_lost(), 0);
    let canonical = writer.finish().expect("memory");
    let mut again = OpsReader::new(&canonical[..], "again.ops").expect("canonical text");
    assert_eq!(again.header(), reader.header());
    for event in events {
        let read = again
            .next_event()
            .expect("canonical text")
            .expect("as many events");
        assert_eq!(
            Event {
                line: event.line,
                ..read
            },
            event
        );
    }
    assert!(again.next_event().expect("canonical text").is_none());
});
