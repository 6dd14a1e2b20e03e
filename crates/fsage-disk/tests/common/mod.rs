//! Where the vectors lie, and how they are read.

use fsage_disk::requests::{RequestFile, read_vector};
use std::fs::File;
use std::io::{self, BufReader, Write};
use std::path::{Path, PathBuf};

/// A line on stderr, which the test harness does not swallow.
pub fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// The vectors that are part of the project.
pub fn local_vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors")
}

/// All vectors, where they lie beside the project.
pub fn shared_vectors() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors/disk");
    if folder.is_dir() {
        return Some(folder);
    }
    say("skipped: ../shared/vectors/disk is not there");
    None
}

/// Reads a vector.
pub fn read(path: &Path) -> RequestFile {
    let mut input = BufReader::new(File::open(path).expect("a vector"));
    read_vector(&path.display().to_string(), &mut input, None).expect("a vector")
}
