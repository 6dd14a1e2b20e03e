//! Small repositories with fixed dates, made by git itself.

use fsage_core::{Event, Op};
use fsage_import::git::{GitError, GitOptions, GitSummary, View, import};
use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// 2001-09-09 00:00:00 UTC, a midnight that the tests count from.
pub const MIDNIGHT: i64 = 999_993_600;

pub struct Repo {
    _folder: tempfile::TempDir,
    pub path: PathBuf,
}

impl Repo {
    pub fn new() -> Repo {
        let folder = tempfile::tempdir().unwrap();
        let repo = Repo {
            path: folder.path().to_path_buf(),
            _folder: folder,
        };
        repo.git(&["init", "-q", "-b", "main"]);
        repo
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut c = Command::new("git");
        c.current_dir(&self.path)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_NAME", "a")
            .env("GIT_AUTHOR_EMAIL", "a@example.org")
            .env("GIT_COMMITTER_NAME", "a")
            .env("GIT_COMMITTER_EMAIL", "a@example.org")
            .args([
                "-c",
                "protocol.file.allow=always",
                "-c",
                "core.autocrlf=false",
            ])
            .args(args);
        c
    }

    pub fn git(&self, args: &[&str]) -> String {
        self.git_at(0, args)
    }

    /// Runs git with the clock at that many seconds after midnight.
    pub fn git_at(&self, seconds: i64, args: &[&str]) -> String {
        let date = format!("{} +0000", MIDNIGHT + seconds);
        let out = self
            .command(args)
            .env("GIT_AUTHOR_DATE", &date)
            .env("GIT_COMMITTER_DATE", &date)
            .output()
            .unwrap();
        assert!(
            out.status.success(),
            "git {args:?}: {}",
            String::from_utf8_lossy(&out.stderr)
        );
        String::from_utf8_lossy(&out.stdout).trim().to_owned()
    }

    pub fn git_with_input(&self, args: &[&str], input: &[u8]) {
        let mut child = self
            .command(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        assert!(child.wait().unwrap().success(), "git {args:?}");
    }

    pub fn file(&self, name: &[u8]) -> PathBuf {
        self.path.join(OsStr::from_bytes(name))
    }

    /// Writes a file of that many bytes; `fill` makes the content differ.
    pub fn write(&self, name: &[u8], bytes: usize, fill: u8) {
        let path = self.file(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, vec![fill; bytes]).unwrap();
    }

    pub fn commit(&self, seconds: i64) {
        self.git(&["add", "-A"]);
        self.commit_index(seconds);
    }

    pub fn commit_index(&self, seconds: i64) {
        self.git_at(seconds, &["commit", "-q", "--allow-empty", "-m", "x"]);
    }

    /// Names and sizes of the regular files at HEAD, by git itself.
    pub fn files_at_head(&self) -> (u64, u64) {
        let listing = self.git(&["ls-tree", "-r", "-l", "HEAD"]);
        let sizes: Vec<u64> = listing
            .lines()
            .filter(|l| l.starts_with("100"))
            .map(|l| l.split_whitespace().nth(3).unwrap().parse().unwrap())
            .collect();
        (sizes.len() as u64, sizes.iter().sum())
    }
}

pub fn options(view: View) -> GitOptions {
    GitOptions {
        view,
        ..GitOptions::default()
    }
}

pub fn try_import(path: &Path, options: &GitOptions) -> Result<(Vec<Event>, GitSummary), GitError> {
    let mut events = Vec::new();
    let summary = import(path, options, &mut events, &mut |_| {})?;
    Ok((events, summary))
}

/// The events, one line each: seconds after midnight, then the operation as in the text form.
pub fn lines(repo: &Repo, options: &GitOptions) -> (Vec<String>, GitSummary) {
    let (events, summary) = try_import(&repo.path, options).unwrap();
    (events.iter().map(line).collect(), summary)
}

fn line(event: &Event) -> String {
    let seconds = event.t_ns.unwrap() / 1_000_000_000 - MIDNIGHT;
    let name = event.name.as_deref().unwrap_or_default().escape_ascii();
    let text = match event.op {
        Op::Mkdir { dir, parent } => format!("mkdir {dir} {} {name}", parent.unwrap()),
        Op::Rmdir { dir } => format!("rmdir {dir}"),
        Op::Create { file, dir, bytes } => format!("create {file} {dir} {bytes} {name}"),
        Op::Rewrite { file, bytes } => format!("rewrite {file} {bytes}"),
        Op::Delete { file } => format!("delete {file}"),
        Op::Day => format!("day {name}"),
        other => panic!("git history has {other:?}"),
    };
    format!("@{seconds} {text}")
}
