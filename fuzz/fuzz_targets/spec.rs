//! Any text as a target: parsing either says what is wrong or gives a specification that prints and parses
//! again; the parameters of a file system are read from it, and `newfs` accepts or refuses them.
//!
//! Each input is taken twice: as it is, and as a list of words that specifications are made of, for a fuzzer
//! does not come upon `cylinders_per_group` by chance.

#![no_main]

use fsage_models::ffs::{Geometry, Params};
use fsage_target::TargetSpec;
use libfuzzer_sys::fuzz_target;

const WORDS: [&str; 44] = [
    "ffs:",
    "null",
    ":",
    ",",
    "=",
    " ",
    "-",
    "0",
    "1",
    "2",
    "3",
    "4",
    "5",
    "6",
    "7",
    "8",
    "9",
    "K",
    "M",
    "T",
    "preset=",
    "g502",
    "policy=",
    "orig",
    "realloc",
    "size=",
    "tracks=",
    "sectors_per_track=",
    "cylinders_per_group=",
    "bsize=",
    "fsize=",
    "bytes_per_inode=",
    "maxcontig=",
    "rotdelay=",
    "maxbpg=",
    "nrpos=",
    "minfree=",
    "rpm=",
    "interleave=",
    "trackskew=",
    "physical_sectors=",
    "write_chunk=",
    "optim=space",
    "root",
];

fuzz_target!(|bytes: &[u8]| {
    if let Ok(text) = std::str::from_utf8(bytes) {
        try_spec(text);
    }
    let words = bytes.iter().map(|b| WORDS[usize::from(*b) % WORDS.len()]);
    let words: String = words.collect();
    try_spec(&words);
    try_spec(&format!("ffs:{words}"));
});

fn try_spec(text: &str) {
    let Ok(spec) = TargetSpec::parse(text) else {
        return;
    };
    assert_eq!(TargetSpec::parse(&spec.to_string()).as_ref(), Ok(&spec));
    assert!(!spec.folder().contains('/'));
    if let Ok(params) = spec.params(Params::from_options) {
        // The arithmetic alone: a file system of any size that fits 64 bits would be too much memory.
        let _ = Geometry::newfs(&params);
    }
}
