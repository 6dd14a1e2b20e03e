//! A pool of profiles as CSV: no panic, and what is read is written and read again alike.

#![no_main]

use fsage_core::short_lived::Profile;
use fsage_data::profiles::{read_profiles, read_profiles_csv, write_profiles, write_profiles_csv};
use libfuzzer_sys::fuzz_target;
use std::fs;
use std::sync::OnceLock;
use tempfile::TempDir;

static FOLDER: OnceLock<TempDir> = OnceLock::new();

fuzz_target!(|input: &[u8]| {
    let folder = FOLDER
        .get_or_init(|| tempfile::tempdir().expect("a folder"))
        .path();
    let path = folder.join("pool.csv");
    // No fuzzer comes upon the header by chance.
    let mut text = Vec::new();
    if input.first() != Some(&b'!') {
        text.extend_from_slice(b"source,dir,start_s,life_s,bytes,name\n");
    }
    text.extend_from_slice(input);
    fs::write(&path, text).expect("a file");
    let Ok(profiles) = read_profiles_csv(&path) else {
        return;
    };
    let table = folder.join("pool");
    write_profiles(&table, &profiles, true).expect("what was read can be written");
    assert_eq!(read_profiles(&table).expect("what was written"), profiles);
    write_profiles_csv(&path, &profiles, true).expect("what was read can be written");
    let again = read_profiles_csv(&path).expect("what was written");
    let files = |profiles: &[Profile]| profiles.iter().map(Profile::files).sum::<u64>();
    assert_eq!(files(&again), files(&profiles));
});
