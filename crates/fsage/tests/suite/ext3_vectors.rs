//! `fsage age SCRIPT --on ext3:mode=ext2,...`, and `fsage inspect --extents` of what it leaves, give the layout that
//! the Linux ext2 driver made.
//!
//! Expected: the driver of Linux 6.1, in `tests/vectors/linux`. Files are compared by their extents: the vectors call
//! them by id, a snapshot by inode.

use flate2::read::GzDecoder;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::Command;

fn unpack(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/vectors/linux")
        .join(name);
    let mut text = String::new();
    GzDecoder::new(File::open(path).expect("a vector of the repository"))
        .read_to_string(&mut text)
        .expect("gzip over text");
    text
}

/// How often each line comes.
fn counted<'a>(lines: impl Iterator<Item = &'a str>) -> BTreeMap<&'a str, u32> {
    let mut counts = BTreeMap::new();
    for line in lines {
        *counts.entry(line).or_default() += 1;
    }
    counts
}

/// Bytes and extents of a line, without the numbers of file and directory.
fn layout(line: &str) -> &str {
    line.splitn(3, '\t').last().expect("columns")
}

#[test]
fn aging_a_script_and_printing_its_extents_gives_the_drivers_layout() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for name in ["s5", "s2k"] {
        let vector = unpack(&format!("ext2_{name}.tsv.gz"));
        let head = |key: &str| {
            let lines = vector
                .lines()
                .filter_map(move |line| line.strip_prefix(key));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        let groups: Vec<String> = head("#dir ")
            .iter()
            .map(|dir| {
                let ino: u32 = dir
                    .split(' ')
                    .nth(1)
                    .expect("an inode")
                    .parse()
                    .expect("a number");
                ((ino - 1) / 8192).to_string()
            })
            .collect();
        let target = format!(
            "ext3:mode=ext2,size=1G,inode_size=256,bytes_per_inode=16K,pid={},dir_groups={}",
            head("#pid ")[0],
            groups.join("/")
        );
        let script = folder.path().join(format!("{name}.ops"));
        std::fs::write(&script, unpack(&format!("{name}.ops.gz"))).expect("a temporary file");
        let run = folder.path().join(name);
        let fsage = |args: &[&str]| {
            let output = Command::new(env!("CARGO_BIN_EXE_fsage"))
                .args(args)
                .output()
                .expect("fsage runs");
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{name}: {stderr}");
            String::from_utf8(output.stdout).expect("text")
        };
        let path = |path: &Path| path.to_str().expect("a plain path").to_owned();
        fsage(&[
            "age",
            &path(&script),
            "--on",
            &target,
            "--check",
            "--quiet",
            "-o",
            &path(&run),
        ]);
        let target = std::fs::read_dir(&run)
            .expect("a run")
            .map(|entry| entry.expect("an entry").path())
            .find(|path| path.is_dir())
            .expect("the folder of the target");
        let printed = fsage(&["inspect", &path(&target.join("final.parquet")), "--extents"]);
        let got = counted(printed.lines().filter(|l| !l.starts_with('#')).map(layout));
        let want = counted(vector.lines().filter(|l| !l.starts_with('#')).map(layout));
        assert_eq!(got, want, "{name}");
    }
}

#[test]
fn an_unknown_key_names_the_known_ones() {
    let script = tempfile::NamedTempFile::new().expect("a temporary file");
    let output = Command::new(env!("CARGO_BIN_EXE_fsage"))
        .arg("age")
        .arg(script.path())
        .args(["--on", "ext3:blocks=8", "-o", "not-made"])
        .output()
        .expect("fsage runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(
        stderr.contains("unknown key `blocks`; known: mode, size"),
        "{stderr}"
    );
}
