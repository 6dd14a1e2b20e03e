//! Runs a script of the vectors over the reference and collects what it prints.

#![allow(clippy::format_push_string)]

use fsage_core::{DirId, FileId, Op, Outcome};

use super::{Optim, Params, Policy, Reference};

/// The parameters of a `.cfg` line.
pub fn parse_config(line: &str) -> Params {
    let words: Vec<&str> = line.split_whitespace().collect();
    let value = |option: &str| {
        words
            .iter()
            .position(|w| *w == option)
            .map(|i| *words.get(i + 1).expect("a value after the option"))
    };
    let number = |option: &str| value(option).map(|v| v.parse::<u64>().expect("a number"));

    let name = value("-g").expect("a preset");
    let mut params = Params::preset(name);
    let (bsize, fsize) = (number("-b"), number("-f"));
    if bsize.is_some() || fsize.is_some() {
        let density = params.density;
        params = params.with_sizes(bsize.unwrap_or(8192), fsize.unwrap_or(1024));
        if name == "g502" {
            params.density = density;
        }
    }
    let mut i = 0;
    while i < words.len() {
        let number = || words[i + 1].parse::<u64>().expect("a number");
        match words[i] {
            "-g" | "-b" | "-f" => {}
            "-n" => params.nrpos = number(),
            "-i" => params.density = number(),
            "-a" => params.maxcontig = number(),
            "-w" => params.write_chunk = number(),
            "--dirent" => params.dirent_bytes = number(),
            "-o" => {
                params.optim = match words[i + 1] {
                    "time" => Optim::Time,
                    "space" => Optim::Space,
                    other => panic!("optim {other}"),
                }
            }
            "--root" => {
                params.superuser = true;
                i += 1;
                continue;
            }
            other => panic!("option {other}"),
        }
        i += 2;
    }
    params
}

/// An operation, if the line is one with the right number of numbers.
pub fn parse_op(line: &str) -> Option<Op> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let numbers: Vec<u64> = words[1..]
        .iter()
        .map(|w| w.parse().ok())
        .collect::<Option<_>>()?;
    Some(match (words[0], numbers.as_slice()) {
        ("mkdir", &[dir]) => Op::Mkdir {
            dir: DirId(dir),
            parent: None,
        },
        ("mkdir", &[dir, parent]) => Op::Mkdir {
            dir: DirId(dir),
            parent: Some(DirId(parent)),
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
        ("write", &[file, offset, bytes]) => Op::Write {
            file: FileId(file),
            offset,
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
        ("overwrite", &[file, offset, bytes]) => Op::Overwrite {
            file: FileId(file),
            range: Some((offset, bytes)),
        },
        ("rewrite", &[file, bytes]) => Op::Rewrite {
            file: FileId(file),
            bytes,
        },
        ("delete", &[file]) => Op::Delete { file: FileId(file) },
        _ => return None,
    })
}

/// Runs one line; what it prints is appended to `out`.
pub fn run_line(fs: &mut Reference, line: &str, out: &mut String) {
    let words: Vec<&str> = line.split_whitespace().collect();
    if words.is_empty() || line.starts_with('#') {
        return;
    }
    match words.as_slice() {
        ["day", label] => *out += &fs.day(label),
        ["dump"] => *out += &fs.dump(),
        ["cgs"] => *out += &fs.cgs(),
        ["geom"] => *out += &fs.geom(),
        ["check"] => *out += &format!("check errors {}\n", fs.check().len()),
        _ => match parse_op(line).map(|op| fs.apply(&op)) {
            Some(Ok(Outcome::Done | Outcome::Ignored)) => {}
            Some(Ok(Outcome::NoSpace | Outcome::NoInode | Outcome::TooLarge)) => {
                *out += &format!("ENOSPC {line}\n");
            }
            None | Some(Err(_) | Ok(Outcome::Absent)) => *out += &format!("BADOP {line}\n"),
        },
    }
}

/// Runs a whole script on a new file system.
pub fn run_script(params: Params, policy: Policy, script: &str) -> String {
    let mut fs = Reference::new(params, policy);
    let mut out = String::new();
    for line in script.lines() {
        run_line(&mut fs, line, &mut out);
    }
    out
}
