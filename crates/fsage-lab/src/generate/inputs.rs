//! What a source reads, and how to know later whether it is still the same.

use super::Source;
use std::fmt::Write as _;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Files up to here are told apart by their content, larger ones by length and time.
const SMALL_BYTES: u64 = 1 << 20;

impl Source {
    /// The files and folders that it reads, which later may hold something else.
    pub fn inputs(&self) -> Vec<&Path> {
        match self {
            Source::Snapshots(source) => {
                let files = source.snapshots.iter().chain(&source.profiles);
                files.map(PathBuf::as_path).collect()
            }
            Source::Git(source) => vec![&source.repo],
            Source::Strace(source) => source.logs.iter().map(PathBuf::as_path).collect(),
            Source::Nfsdump(source) => source.logs.iter().map(PathBuf::as_path).collect(),
            Source::Oplog(source) => vec![&source.log],
            Source::Playback(source) => vec![&source.file],
            Source::Profile(source) => {
                let path = Path::new(&source.profile);
                if path.exists() {
                    vec![path]
                } else {
                    Vec::new()
                }
            }
        }
    }

    /// The state of what it reads: another one where a file was changed, came or went, or a branch moved. `None` where
    /// something cannot be seen from here, and so for standard input.
    pub fn state_of_inputs(&self) -> Option<String> {
        let mut lines = String::new();
        for path in self.inputs() {
            state(path, &mut lines)?;
        }
        Some(blake3::hash(lines.as_bytes()).to_hex().to_string())
    }
}

/// Adds a line a file.
fn state(path: &Path, lines: &mut String) -> Option<()> {
    let facts = path.metadata().ok()?;
    if !facts.is_dir() {
        return file(path, &facts, lines);
    }
    // Of a repository it is the commits that its names stand for.
    let git = [path.join(".git"), path.to_owned()];
    if let Some(git) = git.iter().find(|git| git.join("HEAD").is_file()) {
        for name in ["HEAD", "packed-refs", "refs"] {
            let path = git.join(name);
            if path.exists() {
                whole(&path, lines)?;
            }
        }
        return Some(());
    }
    whole(path, lines)
}

/// A file, or all of a folder.
fn whole(path: &Path, lines: &mut String) -> Option<()> {
    let facts = path.metadata().ok()?;
    if !facts.is_dir() {
        return file(path, &facts, lines);
    }
    let entries = path.read_dir().ok()?;
    let mut paths = entries
        .map(|entry| Some(entry.ok()?.path()))
        .collect::<Option<Vec<PathBuf>>>()?;
    paths.sort();
    paths.iter().try_for_each(|path| whole(path, lines))
}

fn file(path: &Path, facts: &Metadata, lines: &mut String) -> Option<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_of = if facts.len() <= SMALL_BYTES {
        fsage_data::hash_file(path).ok()?
    } else {
        let time = facts.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        format!("{} bytes at {}", facts.len(), time.as_secs())
    };
    writeln!(lines, "{name}\t{is_of}").ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{Git, Profile};
    use std::fs;

    #[test]
    fn a_source_is_another_when_what_it_reads_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("own.toml");
        let source = Source::Profile(Profile {
            profile: path.to_string_lossy().into_owned(),
            ..Profile::default()
        });
        let preset = Source::Profile(Profile {
            profile: "home-1996".to_owned(),
            ..Profile::default()
        });
        assert!(preset.inputs().is_empty());
        assert!(preset.state_of_inputs().is_some());
        fs::write(&path, "days = 3\n").expect("a file");
        let before = source.state_of_inputs();
        assert!(before.is_some());
        assert_eq!(source.state_of_inputs(), before);
        fs::write(&path, "days = 5\n").expect("a file");
        assert_ne!(source.state_of_inputs(), before);
    }

    #[test]
    fn a_branch_that_moved_is_another_source() {
        let folder = tempfile::tempdir().expect("a folder");
        let refs = folder.path().join(".git/refs/heads");
        fs::create_dir_all(&refs).expect("a folder");
        fs::write(folder.path().join(".git/HEAD"), "ref: refs/heads/main\n").expect("a file");
        fs::write(refs.join("main"), "1\n").expect("a file");
        // What is not in the history has no part in it.
        let source = Source::Git(
            serde_json::from_value::<Git>(serde_json::json!({ "repo": folder.path() }))
                .expect("a source"),
        );
        let before = source.state_of_inputs();
        assert!(before.is_some());
        fs::write(folder.path().join("file"), "text").expect("a file");
        assert_eq!(source.state_of_inputs(), before);
        fs::write(refs.join("main"), "2\n").expect("a file");
        assert_ne!(source.state_of_inputs(), before);
    }
}
