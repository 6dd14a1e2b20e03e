//! Measures that are kept as files change are those of the whole layout, on every script of the vectors: those of the
//! project and, where they are present, all that lie beside it; each script on its own model and on another one.

use flate2::read::GzDecoder;
use fsage_core::{DirId, FileId, Layout, Op};
use fsage_metrics::Kept;
use fsage_models::lfs::{self, Lfs, Params, Variant, cleaner};
use fsage_models::microscope::ScriptTrace as _;
use fsage_models::registry::{self, Options};
use fsage_models::{AnyModel, MODELS};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

/// Days of a script, but for those that it names itself.
const DAYS: usize = 12;

/// Scripts below a folder that end so, ascending; says so where there is none beside the project.
fn scripts(folder: &str, endings: &[&str]) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut all = Vec::new();
    for place in ["tests/vectors", "../shared/vectors"] {
        let Ok(entries) = std::fs::read_dir(root.join(place).join(folder)) else {
            // Straight to stderr, which the test runner does not capture.
            let _ = writeln!(std::io::stderr(), "skipped: no {place}/{folder} here");
            continue;
        };
        let paths = entries.map(|entry| entry.expect("an entry").path());
        let ends = |path: &PathBuf| {
            let name = path.to_string_lossy();
            endings.iter().any(|ending| name.ends_with(ending))
        };
        let of_place: Vec<PathBuf> = paths.filter(ends).collect();
        let name = |path: &PathBuf| path.file_name().map(std::ffi::OsStr::to_owned);
        let known: Vec<_> = all.iter().map(name).collect();
        all.extend(
            of_place
                .into_iter()
                .filter(|path| !known.contains(&name(path))),
        );
    }
    all.sort();
    all
}

fn read(path: &Path) -> String {
    let bytes = std::fs::read(path).expect("a script");
    if path.extension().is_none_or(|ending| ending != "gz") {
        return String::from_utf8(bytes).expect("text");
    }
    let mut text = String::new();
    let unpacked = GzDecoder::new(&bytes[..]).read_to_string(&mut text);
    unpacked.expect("gzip over text");
    text
}

/// An operation of a script; probes are left out.
fn op(line: &str) -> Option<Op> {
    let mut words = line.split_whitespace();
    let verb = words.next()?;
    let numbers = words.map(str::parse).collect::<Result<Vec<u64>, _>>();
    // A day has a label.
    let numbers = if verb == "day" {
        Vec::new()
    } else {
        numbers.ok()?
    };
    let dir = DirId;
    let file = FileId(numbers.first().copied().unwrap_or_default());
    Some(match (verb, numbers.as_slice()) {
        ("day", _) => Op::Day,
        ("sync", _) => Op::Sync,
        ("remount", _) => Op::Remount,
        ("mkdir", &[made, ref parent @ ..]) => Op::Mkdir {
            dir: dir(made),
            parent: parent.first().copied().map(dir),
        },
        ("rmdir", &[gone]) => Op::Rmdir { dir: dir(gone) },
        ("create", &[_, to, bytes]) => Op::Create {
            file,
            dir: dir(to),
            bytes,
        },
        ("symlink", &[_, to, bytes]) => Op::Symlink {
            file,
            dir: dir(to),
            bytes,
        },
        ("append", &[_, bytes]) => Op::Append { file, bytes },
        ("write", &[_, offset, bytes]) => Op::Write {
            file,
            offset,
            bytes,
        },
        ("overwrite", &[_]) => Op::Overwrite { file, range: None },
        ("overwrite", &[_, offset, bytes]) => Op::Overwrite {
            file,
            range: Some((offset, bytes)),
        },
        ("rewrite", &[_, bytes]) => Op::Rewrite { file, bytes },
        ("truncate", &[_, bytes]) => Op::Truncate { file, bytes },
        ("fallocate", &[_, offset, bytes]) => Op::Fallocate {
            file,
            offset,
            bytes,
        },
        ("punch", &[_, offset, bytes]) => Op::Punch {
            file,
            offset,
            bytes,
        },
        ("rename", &[_, to]) => Op::Rename {
            file,
            dir: dir(to),
            replaced: None,
        },
        ("fsync", &[_]) => Op::Fsync { file },
        ("delete", &[_]) => Op::Delete { file },
        _ => return None,
    })
}

/// A model, and what is kept of it.
struct Watched<'a> {
    name: &'a str,
    kept: Kept,
}

impl Watched<'_> {
    fn compare(&mut self, layout: &mut dyn Layout, when: &str) {
        self.kept.update(layout);
        assert_eq!(
            self.kept.differs_from(layout),
            None,
            "{}, {when}",
            self.name
        );
    }
}

fn watch<'a>(name: &'a str, layout: &mut dyn Layout) -> Watched<'a> {
    let kept = Kept::begin(layout, true).expect("a model that says what changes");
    Watched { name, kept }
}

/// Plays a script, and compares at the end of its days and now and then.
fn play(fs: &mut dyn AnyModel, name: &str, ops: &[Op]) {
    let mut watched = watch(name, fs);
    for (i, op) in ops.iter().enumerate() {
        if *op == Op::Day || i % ops.len().div_ceil(DAYS) == 0 {
            fs.end_day();
            watched.compare(fs, &format!("after {i} operations"));
            fs.begin_day();
        }
        // What does not fit the state of this model is left out.
        let _ = fs.apply(op);
    }
    fs.end_day();
    watched.compare(fs, "at the end");
}

/// Plays every script of a folder on the model that it was made for, if there is that, and on one of the list.
fn scripts_of_operations(folder: &str, own: Option<(&str, &Options<'_>)>) {
    let models = MODELS.iter().filter(|entry| entry.keeps_files).cycle();
    for (path, other) in scripts(folder, &[".ops", ".ops.gz"]).iter().zip(models) {
        let text = read(path);
        let lines = text
            .lines()
            .map(|line| line.split('#').next().unwrap_or(""));
        let lines = lines.filter(|line| !line.trim().is_empty());
        let ops: Vec<Op> = lines.filter_map(op).collect();
        assert!(!ops.is_empty(), "{}", path.display());
        for (model, options) in own.into_iter().chain([(other.name, &[][..])]) {
            let entry = registry::by_name(model).expect("a model");
            let mut fs = entry.make(options).expect("keys of the model");
            play(&mut *fs, &format!("{} on {model}", path.display()), &ops);
        }
    }
}

#[test]
fn what_is_kept_is_what_the_whole_layout_has_on_the_scripts_of_ffs() {
    let policy: &Options<'_> = &[("policy", Some("realloc"))];
    scripts_of_operations("ffs", Some(("ffs", policy)));
}

#[test]
fn what_is_kept_is_what_the_whole_layout_has_on_the_scripts_of_ext2() {
    let mode: &Options<'_> = &[("mode", Some("ext2"))];
    scripts_of_operations("linux", Some(("ext3", mode)));
}

#[test]
fn what_is_kept_is_what_the_whole_layout_has_on_the_scripts_of_ext4() {
    let size: &Options<'_> = &[("size", Some("512M")), ("bsize", Some("4K"))];
    scripts_of_operations("ext4", Some(("ext4", size)));
}

#[test]
fn what_is_kept_is_what_the_whole_layout_has_on_the_scripts_of_xfs() {
    let size: &Options<'_> = &[("size", Some("512M"))];
    scripts_of_operations("xfs", Some(("xfs", size)));
}

/// The scripts of a log, with its cleaner at work.
#[test]
fn what_is_kept_is_what_the_whole_layout_has_on_the_scripts_of_a_log() {
    let setups = [
        ("w0.trace", 48, "cb", 0, 1, 0),
        ("sync_churn.trace", 80, "cb", 0, 1, 0),
        ("over_greedy.trace", 40, "greedy", 16, 2, 1),
        ("over_cb.trace", 512, "cb", 455, 8, 1),
        ("clean_churn.trace", 40, "cb", 18, 2, 40),
        ("churn_50.trace.gz", 256, "greedy", 16, 4, 50),
    ];
    for path in scripts("lfs", &[".trace", ".trace.gz"]) {
        let file = path.file_name().expect("a file").to_string_lossy();
        let setup = setups.iter().find(|setup| setup.0 == file);
        let &(name, nseg, policy, min_clean, segs_per_clean, poll) = setup.expect("a setup");
        let params = Params {
            size_bytes: nseg << 20,
            policy: cleaner::by_name(policy).expect("a policy"),
            min_clean,
            segs_per_clean,
            poll_operations: poll,
            ..Params::of_variant(Variant::NetBsd)
        };
        let mut out = std::io::sink();
        let fs = Lfs::new(params).expect("the sizes of the vectors");
        let mut trace = lfs::Trace::new(fs);
        let mut watched = watch(name, trace.fs_mut());
        let script = read(&path);
        let lines = script.lines().count();
        for (i, line) in script.lines().enumerate() {
            let played = trace.step(line, &mut out, &|| Ok(()));
            played.expect("a sound script");
            if i % lines.div_ceil(DAYS) == 0 {
                watched.compare(trace.fs_mut(), line);
            }
        }
        trace.finish(&mut out).expect("a sound script");
        watched.compare(trace.fs_mut(), "at the end");
    }
}
