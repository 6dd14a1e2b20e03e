//! A file system to be damaged, and what its image says beside its state.

use fsage_core::{DirId, FileId, FileKind, FileSystem, Op};
use fsage_models::image::{Attributes, Facts, Options};

/// What is always the same.
struct NoFacts;

impl Facts for NoFacts {
    fn attributes(&self, _: u64, _: FileKind) -> Attributes {
        Attributes::default()
    }

    fn target(&self, _: FileId, bytes: u64) -> Vec<u8> {
        vec![b'x'; bytes as usize]
    }
}

pub const IMAGE: Options = Options {
    uuid: [7; 16],
    made_s: 0,
    written_s: 0,
    facts: &NoFacts,
};

/// Directories in each other, and files of which some have grown.
pub fn populate(fs: &mut dyn FileSystem) {
    for (dir, parent) in [(1, None), (2, Some(1)), (3, Some(2))] {
        let (dir, parent) = (DirId(dir), parent.map(DirId));
        fs.apply(&Op::Mkdir { dir, parent }).expect("it fits");
    }
    for n in 0..200 {
        let (file, dir, bytes) = (FileId(100 + n), DirId(n % 2 + 1), n * 377);
        fs.apply(&Op::Create { file, dir, bytes }).expect("it fits");
    }
    for n in (0..200).step_by(3) {
        fs.apply(&Op::Append {
            file: FileId(100 + n),
            bytes: 5000,
        })
        .expect("it fits");
    }
}
