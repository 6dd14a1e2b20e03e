//! The LFS model against what NetBSD's LFS did: every partial segment and every choice of the cleaner, line by line.

use fsage_core::FileSystem as _;
use fsage_models::lfs::cleaner;
use fsage_models::lfs::{Lfs, Params, Variant};
use fsage_target::LfsTrace;
use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

/// The folder of a vector: the one of the repository if it is there, else the one beside it.
fn folder(file: &str) -> Option<PathBuf> {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let found = ["../../tests/vectors/lfs", "../../../shared/vectors/lfs"]
        .iter()
        .map(|f| crate_folder.join(f))
        .find(|f| f.join(file).exists());
    if found.is_none() {
        // Straight to stderr, which the test runner does not capture.
        let _ = writeln!(std::io::stderr(), "{file}: skipped, no such vector here");
    }
    found
}

/// A file, unpacked if it is packed.
fn read(path: &Path) -> Option<String> {
    if let Ok(text) = std::fs::read_to_string(path) {
        return Some(text);
    }
    let packed = PathBuf::from(format!("{}.gz", path.display()));
    let bytes = std::fs::read(packed).ok()?;
    let mut text = String::new();
    let mut decoder = flate2::read::GzDecoder::new(&bytes[..]);
    decoder.read_to_string(&mut text).expect("gzip of text");
    Some(text)
}

/// Segments, policy, clean segments to keep, segments at once, operations between two looks (INDEX.md, 2).
struct Setup {
    nseg: u64,
    policy: &'static str,
    min_clean: u32,
    segs_per_clean: u32,
    poll: u64,
}

fn trace(setup: &Setup, out: &mut Vec<u8>) -> LfsTrace {
    let params = Params {
        size_bytes: setup.nseg << 20,
        policy: cleaner::by_name(setup.policy).expect("a policy"),
        min_clean: setup.min_clean,
        segs_per_clean: setup.segs_per_clean,
        poll_operations: setup.poll,
        ..Params::of_variant(Variant::NetBsd)
    };
    let fs = Lfs::new(params).expect("the sizes of the vectors");
    LfsTrace::new(fs, out).expect("a Vec takes everything")
}

/// Partial segments by serial number: the `P` line with its `F` and `I` lines.
fn partials(text: &str) -> BTreeMap<u64, Vec<&str>> {
    let mut all: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
    let mut serial = 0;
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("P serial=") {
            let number = rest.split(' ').next().expect("a word");
            serial = number.parse().expect("a number");
        }
        if line.starts_with("P ") || line.starts_with("   ") {
            all.entry(serial).or_default().push(line);
        }
    }
    all
}

fn order_vector(name: &str, setup: &Setup) {
    let Some(folder) = folder(&format!("{name}.trace")) else {
        return;
    };
    let mut out = Vec::new();
    let mut trace = trace(setup, &mut out);
    let script = read(&folder.join(format!("{name}.trace"))).expect("a script");
    for line in script.lines() {
        trace.step(line, &mut out).expect("a sound script");
    }
    trace.finish(&mut out).expect("a sound script");
    assert_eq!(trace.fs().check(), Ok(()), "{name}");
    let got = String::from_utf8(out).expect("text");
    let psegs = read(&folder.join(format!("{name}.psegs"))).expect("partial segments");
    let (got_partials, expected) = (partials(&got), partials(&psegs));
    for (serial, lines) in &expected {
        let have = got_partials.get(serial);
        assert_eq!(have, Some(lines), "{name}, partial segment {serial}");
    }
    assert_eq!(got_partials.keys().last(), expected.keys().last(), "{name}");
    let cleaned = read(&folder.join(format!("{name}.clean.jsonl"))).unwrap_or_default();
    let have: Vec<&str> = got.lines().filter(|l| l.starts_with("{\"op\"")).collect();
    assert_eq!(have, cleaned.lines().collect::<Vec<_>>(), "{name}, cleaned");
}

const NO_CLEANER: Setup = Setup {
    nseg: 48,
    policy: "cb",
    min_clean: 0,
    segs_per_clean: 1,
    poll: 0,
};

#[test]
fn w0() {
    order_vector("w0", &NO_CLEANER);
}

#[test]
fn sync_churn() {
    order_vector(
        "sync_churn",
        &Setup {
            nseg: 80,
            ..NO_CLEANER
        },
    );
}

#[test]
fn over_greedy() {
    let setup = Setup {
        nseg: 40,
        policy: "greedy",
        min_clean: 16,
        segs_per_clean: 2,
        poll: 1,
    };
    order_vector("over_greedy", &setup);
}

#[test]
fn over_cb() {
    let setup = Setup {
        nseg: 512,
        policy: "cb",
        min_clean: 455,
        segs_per_clean: 8,
        poll: 1,
    };
    order_vector("over_cb", &setup);
}

#[test]
fn clean_churn() {
    let setup = Setup {
        nseg: 40,
        policy: "cb",
        min_clean: 18,
        segs_per_clean: 2,
        poll: 40,
    };
    order_vector("clean_churn", &setup);
}
