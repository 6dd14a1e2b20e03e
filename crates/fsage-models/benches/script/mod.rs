//! Scripts of the vectors as operations, parsed before anything is measured.

use flate2::read::GzDecoder;
use fsage_core::{DirId, FileId, Op};
use std::fs::File;
use std::io::Read;
use std::path::Path;

fn op(line: &str) -> Option<Op> {
    let mut words = line.split_ascii_whitespace();
    let verb = words.next()?;
    if verb == "day" {
        return Some(Op::Day);
    }
    let numbers: Vec<u64> = words.map(str::parse).collect::<Result<_, _>>().ok()?;
    Some(match (verb, numbers.as_slice()) {
        ("mkdir", &[dir, ref parent @ ..]) => Op::Mkdir {
            dir: DirId(dir),
            parent: parent.first().map(|&parent| DirId(parent)),
        },
        ("rmdir", &[dir]) => Op::Rmdir { dir: DirId(dir) },
        ("create", &[file, dir, bytes]) => Op::Create {
            file: FileId(file),
            dir: DirId(dir),
            bytes,
        },
        ("append", &[file, bytes]) => Op::Append {
            file: FileId(file),
            bytes,
        },
        ("truncate", &[file, bytes]) => Op::Truncate {
            file: FileId(file),
            bytes,
        },
        ("overwrite", &[file]) => Op::Overwrite {
            file: FileId(file),
            range: None,
        },
        ("rewrite", &[file, bytes]) => Op::Rewrite {
            file: FileId(file),
            bytes,
        },
        ("delete", &[file]) => Op::Delete { file: FileId(file) },
        _ => return None,
    })
}

/// The operations of a vector, from the repository or from beside it; lines that ask the model to print are left out.
pub fn vector(folder: &str, name: &str) -> Option<Vec<Op>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let packed = ["tests/vectors", "../shared/vectors"]
        .iter()
        .find_map(|vectors| {
            let script = root.join(vectors).join(folder).join(name);
            File::open(script).ok()
        })?;
    let mut text = String::new();
    GzDecoder::new(packed)
        .read_to_string(&mut text)
        .expect("a vector is gzip over text");
    Some(text.lines().filter_map(op).collect())
}
