//! The file system check finds nothing after any operation of the small scripts, under any policy.

use crate::reference::runner::parse_op;
use fsage_core::{FileSystem, Op};
use fsage_models::allocator_trace::TracedAllocator;
use fsage_models::ffs::requests::{How, Wanted};
use fsage_models::ffs::{Ffs, Params, policy};
use std::collections::{BTreeSet, HashMap};
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

/// Plays every small script of the project under every policy, operation by operation.
fn play(mut after: impl FnMut(&mut Ffs, &str)) {
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
            fs.record_requests();
            for line in script.lines() {
                let Some(op) = parse_op(line).filter(|op| !matches!(op, Op::Day)) else {
                    continue;
                };
                fs.apply(&op).expect("no vector breaks a rule");
                let place = format!("{}, {}, {line}", path.display(), policy.name());
                after(&mut fs, &place);
            }
        }
    }
    assert_eq!(scripts, 13);
}

#[test]
fn the_check_finds_nothing_after_any_operation_of_the_small_scripts() {
    play(|fs, place| {
        let checked = fs.check();
        assert!(checked.is_ok(), "{place}: {checked:?}");
    });
}

/// Blocks of files lie where the last request for them ended: in the dumps that are equal to those of the original code
/// a request that is missing, or one with another address, would show.
#[test]
fn every_block_lies_where_the_last_request_for_it_was_served() {
    let mut served: HashMap<(u64, u32), u64> = HashMap::new();
    let mut seen = BTreeSet::new();
    play(|fs, place| {
        let (bsize, frag) = (fs.sizes().bsize, fs.sizes().frag);
        for request in fs.take_requests() {
            seen.insert(request.how.name());
            let blocks = match request.wanted {
                Wanted::Data => 0..1,
                Wanted::Cluster => 0..(request.frags as u64 / frag),
                Wanted::Pointers => continue,
            };
            if request.how == How::Preferred {
                assert_eq!(request.address, request.preferred, "{place}: {request}");
            }
            for block in blocks.filter(|_| request.address != 0) {
                let key = (request.inode, request.block + block as u32);
                served.insert(key, request.address + block * frag);
            }
        }
        let mut files = 0;
        fs.visit_blocks(|file| {
            files += 1;
            let data = file.data.iter().enumerate();
            for (block, &address) in data.filter(|(_, address)| **address != 0) {
                let of_request = served.get(&(file.ino, block as u32));
                assert_eq!(
                    of_request,
                    Some(&address),
                    "{place}: block {block} of {bsize} bytes of inode {}",
                    file.ino
                );
            }
        });
        if files == 0 {
            served.clear();
        }
    });
    let all = [
        "broken-block",
        "free-fragments",
        "in-place",
        "moved",
        "next-free",
        "no-run",
        "no-space",
        "other-group",
        "preferred",
        "rotor",
        "same-cylinder",
    ];
    assert_eq!(Vec::from_iter(seen), all);
}
