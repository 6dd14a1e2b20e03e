//! The file system check finds nothing after any operation of the small scripts, under any policy.

use crate::reference::runner::parse_op;
use fsage_core::{FileSystem, Op};
use fsage_models::ffs::{Ffs, Params, policy};
use std::fs;
use std::path::Path;

/// Keys of the model for the options of a `.cfg` file.
fn params(config: &str) -> Params {
    let words: Vec<&str> = config.split_whitespace().collect();
    let options = words.chunks(2).map(|pair| {
        let key = match pair[0] {
            "-g" => "preset",
            "-n" => "nrpos",
            "-i" => "bytes_per_inode",
            "-o" => "optim",
            "--dirent" => "dirent_bytes",
            "-w" => "write_chunk",
            "-b" => "bsize",
            "-f" => "fsize",
            "-a" => "maxcontig",
            other => panic!("unknown option {other} in a .cfg file"),
        };
        (key, Some(pair[1]))
    });
    Params::from_options(options).expect("parameters of a vector")
}

#[test]
fn the_check_finds_nothing_after_any_operation_of_the_small_scripts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/ffs");
    let mut scripts = 0;
    for entry in fs::read_dir(folder).expect("the vectors of the project") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|e| e != "ops") {
            continue;
        }
        scripts += 1;
        let script = fs::read_to_string(&path).expect("a script");
        let config = fs::read_to_string(path.with_extension("cfg")).expect("its parameters");
        for policy in policy::ALL {
            let params = Params {
                policy,
                ..params(&config)
            };
            let mut fs = Ffs::new(params).expect("newfs accepts a vector's parameters");
            fs.apply_rmdir_as_it_stands();
            for line in script.lines() {
                let Some(op) = parse_op(line).filter(|op| !matches!(op, Op::Day)) else {
                    continue;
                };
                fs.apply(&op).expect("no vector breaks a rule");
                let checked = fs.check();
                assert!(
                    checked.is_ok(),
                    "{path:?}, {}, {line}: {checked:?}",
                    policy.name()
                );
            }
        }
    }
    assert_eq!(scripts, 13);
}
