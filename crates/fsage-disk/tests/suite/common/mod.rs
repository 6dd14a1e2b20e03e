//! Where vectors and traces lie beside the project.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A line on stderr, which the test harness does not swallow.
pub fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// The folder of the vectors of a kind of device, where it is there.
pub fn shared_vectors(kind: &str) -> Option<PathBuf> {
    let vectors = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors");
    let folder = vectors.join(kind);
    if folder.is_dir() {
        return Some(folder);
    }
    say(&format!("skipped: ../shared/vectors/{kind} is not there"));
    None
}
