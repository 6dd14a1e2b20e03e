//! Any bytes as a GUFI trace of either form: no panic, every message one line, paths that can be stored.

#![no_main]

mod importer;

use fsage_import::snapshots::Format;
use importer::read;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    read(Format::Gufi, bytes, Some(0));
    read(Format::GufiOld, bytes, None);
    let _ = Format::recognize(bytes, "fuzz", 0x1e);
});
