//! Any bytes as the journal of a run, and damage to a sound one: reading says what is intact, cuts off the rest or
//! refuses; a state that it gives is written so that it reads the same.

#![no_main]

use fsage_real::directory::{Journal, Recovered};
use libfuzzer_sys::fuzz_target;
use std::fs;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(recovered) = Recovered::read(bytes) {
        again(&recovered);
    }
    let mut journal = sound();
    for patch in bytes.chunks_exact(3) {
        let at = usize::from(u16::from_le_bytes([patch[0], patch[1]])) % journal.len();
        journal[at] ^= patch[2];
    }
    if let Ok(recovered) = Recovered::read(&journal) {
        again(&recovered);
    }
});

fn again(recovered: &Recovered) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let mut journal = Journal::create(&path, &recovered.identity).unwrap();
    journal
        .progress(recovered.events_done, &recovered.deviations)
        .unwrap();
    for (number, day) in recovered.days.iter().enumerate() {
        journal
            .day(number as u64, recovered.events_done, day)
            .unwrap();
    }
    journal.flush().unwrap();
    drop(journal);
    let (_, read) = Journal::open(&path).unwrap();
    let expected = Recovered {
        intact_bytes: read.intact_bytes,
        torn_tail: false,
        ..recovered.clone()
    };
    assert_eq!(read, expected);
}

fn sound() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let mut journal = Journal::create(&path, "{}").unwrap();
    journal.progress(500, &[]).unwrap();
    journal.day(0, 501, b"day").unwrap();
    journal.progress(1000, &[]).unwrap();
    fs::read(&path).unwrap()
}
