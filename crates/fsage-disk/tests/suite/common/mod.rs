//! Where vectors and traces lie beside the project.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A line on stderr, which the test harness does not swallow.
pub fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// The folder of all vectors and traces, where it is there.
pub fn shared_vectors() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors/disk");
    if folder.is_dir() {
        return Some(folder);
    }
    say("skipped: ../shared/vectors/disk is not there");
    None
}
