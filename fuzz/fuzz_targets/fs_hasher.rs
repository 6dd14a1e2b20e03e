//! Any bytes as an fs-hasher file: no panic, every message one line, no large allocation. No fuzzer fills a
//! header of 8 KiB by chance, so the input is put behind one: its first bytes choose version, chunking and hash.

#![no_main]

mod importer;

use fsage_import::snapshots::Format;
use importer::read;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    read(Format::FsHasher, bytes, None);
    let [version, variable, hash_bytes, rest @ ..] = bytes else {
        return;
    };
    let version = 4 + version % 4;
    let mut file = vec![0; if version == 4 { 8288 } else { 8296 }];
    file[..4].copy_from_slice(&0xDEAD_DEAD_u32.to_le_bytes());
    file[4] = version;
    file[8] = 3;
    file[16] = b'/';
    file[4120] = 1 + variable % 2;
    file[4172..4174].copy_from_slice(&(u16::from(*hash_bytes) * 8).to_le_bytes());
    file.extend_from_slice(rest);
    read(Format::FsHasher, &file, None);
    let _ = Format::FsHasher.time_ns(&file);
});
