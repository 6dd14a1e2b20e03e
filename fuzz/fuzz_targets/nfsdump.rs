//! Any bytes as an NFS trace: no panic, every message one line.

#![no_main]

use fsage_core::Event;
use fsage_import::nfsdump;
use fsage_import::trace::{Log, TraceOptions};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for only_new in [false, true] {
        let options = TraceOptions {
            only_new,
            guess: only_new,
            ..TraceOptions::default()
        };
        let mut events: Vec<Event> = Vec::new();
        let mut logs = [Log::from_bytes("fuzz.nfs", bytes)];
        if let Err(e) = nfsdump::import(&mut logs, &options, &mut events, &mut || Ok(())) {
            assert!(!e.to_string().contains('\n'), "{e}");
        }
    }
});
