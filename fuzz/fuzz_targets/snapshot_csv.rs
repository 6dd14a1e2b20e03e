//! Any bytes as a table of snapshots: no panic, every message one line, paths that can be stored. What does
//! not start like a header gets one.

#![no_main]

mod importer;

use fsage_import::snapshots::Format;
use importer::read;
use libfuzzer_sys::fuzz_target;

const HEADER: &[u8] =
    b"snap_id,taken_at,inode,generation,type,size,blocks512,mode_octal,ctime,extents_kib,path\n";

fuzz_target!(|bytes: &[u8]| {
    read(Format::Csv, bytes, None);
    read(Format::Csv, &[HEADER, bytes].concat(), Some(0));
    let _ = Format::Csv.time_ns(bytes);
});
