//! Any bytes as records of `find -printf`: no panic, every message one line, paths that can be stored.

#![no_main]

mod importer;

use fsage_import::snapshots::Format;
use importer::read;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    read(Format::Find, bytes, Some(0));
    read(Format::Find, bytes, None);
});
