//! What does not work says why, leaves no process behind, and never hangs.

use super::repo::{Repo, options, try_import};
use fsage_core::{Event, EventSink, SinkError};
use fsage_import::git::{GitError, GitOptions, View, import};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

fn error(path: &Path, options: &GitOptions) -> GitError {
    try_import(path, options).unwrap_err()
}

#[test]
fn what_is_no_repository_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let e = error(folder.path(), &GitOptions::default());
    assert!(matches!(e, GitError::NotARepository { .. }), "{e}");
    assert!(e.to_string().contains("not a git repository"), "{e}");
    let e = error(&folder.path().join("nothing"), &GitOptions::default());
    assert!(e.to_string().contains("no such folder"), "{e}");
}

#[test]
fn a_missing_git_says_to_install_it() {
    let options = GitOptions {
        git_program: "/nonexistent/git".into(),
        ..GitOptions::default()
    };
    let e = error(Path::new("."), &options);
    assert!(matches!(e, GitError::GitMissing { .. }), "{e}");
    assert!(e.to_string().contains("install git"), "{e}");
}

#[test]
fn a_branch_that_is_not_there_and_an_empty_repository_are_told_apart() {
    let r = Repo::new();
    let e = error(&r.path, &GitOptions::default());
    assert!(matches!(e, GitError::NoCommits { .. }), "{e}");
    r.write(b"a", 1, b'1');
    r.commit(10);
    for branch in ["nope", "--all", "-x", "", "main..main"] {
        let options = GitOptions {
            branch: Some(branch.into()),
            ..GitOptions::default()
        };
        let e = error(&r.path, &options);
        assert!(matches!(e, GitError::NoSuchBranch { .. }), "{e}");
    }
}

/// Removes the loose object that a name stands for.
fn lose(r: &Repo, object: &str) {
    let id = r.git(&["rev-parse", object]);
    let path = format!(".git/objects/{}/{}", &id[..2], &id[2..]);
    std::fs::remove_file(r.path.join(path)).unwrap();
}

fn three_commits() -> Repo {
    let r = Repo::new();
    for n in 1..4 {
        r.write(b"dir/a", n, b'1');
        r.commit(n as i64);
    }
    r
}

#[test]
fn lost_objects_of_every_kind_end_the_import_with_what_git_says() {
    for (object, command) in [
        ("HEAD~1^{tree}", "diff-tree"),
        ("HEAD~1", "log"),
        ("HEAD~2^{tree}", "ls-tree"),
    ] {
        let r = three_commits();
        lose(&r, object);
        let e = error(&r.path, &GitOptions::default());
        let GitError::Failed {
            command: failed,
            detail,
        } = &e
        else {
            panic!("{object}: {e}");
        };
        assert_eq!(*failed, command, "{e}");
        assert!(!detail.is_empty());
    }
    let r = three_commits();
    lose(&r, "HEAD~1:dir/a");
    let e = error(&r.path, &GitOptions::default());
    assert!(matches!(e, GitError::MissingBlob { .. }), "{e}");
    // A day view that never needs it does not miss it.
    assert!(try_import(&r.path, &options(View::Day)).is_ok());
}

/// A sink that takes a few events and then fails, as a full disk does.
struct Full(usize);

impl EventSink for Full {
    fn event(&mut self, _: Event) -> Result<(), SinkError> {
        self.0 = self.0.checked_sub(1).ok_or("the disk is full")?;
        Ok(())
    }
}

#[test]
fn a_sink_that_fails_ends_the_import_at_once_and_leaves_no_process() {
    let r = Repo::new();
    let mut input = Vec::new();
    for n in 0..3000 {
        let head = format!(
            "commit refs/heads/main\ncommitter a <a> {n} +0000\ndata 0\nM 100644 inline f{n}\n"
        );
        input.extend(format!("{head}data 4\n{n:04}\n").bytes());
    }
    r.git_with_input(&["fast-import", "--quiet"], &input);
    // Under a name of its own, by which its processes are found.
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("git");
    let git = std::env::split_paths(&std::env::var_os("PATH").unwrap())
        .map(|folder| folder.join("git"))
        .find(|git| git.is_file())
        .unwrap();
    std::os::unix::fs::symlink(git, &program).unwrap();
    let options = GitOptions {
        git_program: program.clone().into(),
        ..GitOptions::default()
    };
    for most in [0, 1, 100] {
        let e = import(&r.path, &options, &mut Full(most), &mut |_| {}).unwrap_err();
        assert!(matches!(e, GitError::Sink(_)), "{e}");
    }
    let children = children();
    let ours = |c: &&String| c.contains(program.to_str().unwrap());
    assert_eq!(children.iter().filter(ours).count(), 0, "{children:?}");
}

/// Command lines of this process's children, zombies included (theirs are empty, their state is Z).
fn children() -> Vec<String> {
    let me = std::process::id().to_string();
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    processes
        .flatten()
        .filter_map(|p| {
            let stat = std::fs::read_to_string(p.path().join("stat")).ok()?;
            let after_name = stat.rsplit_once(')')?.1;
            let parent = after_name.split_whitespace().nth(1)?;
            (parent == me).then(|| std::fs::read(p.path().join("cmdline")).unwrap_or_default())
        })
        .map(|c| String::from_utf8_lossy(&c).replace('\0', " "))
        .collect()
}

/// A program in the place of git that answers one command with this output and leaves the rest to git.
fn impostor(command: &str, script: &str) -> (tempfile::TempDir, GitOptions) {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("git");
    let text = format!(
        "#!/bin/sh\nfor a in \"$@\"; do if [ \"$a\" = {command} ]; then\n{script}\nexit; fi; done\nexec git \"$@\"\n"
    );
    std::fs::write(&program, text).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let options = GitOptions {
        git_program: program.into(),
        ..GitOptions::default()
    };
    (folder, options)
}

#[test]
fn output_that_git_does_not_write_is_an_error_and_no_panic() {
    let r = three_commits();
    let id = r.git(&["rev-parse", "HEAD~1"]);
    let cases = [
        ("log", "echo hello"),
        ("log", "printf 'abc'"),
        ("log", ":"),
        ("log", "exit 3"),
        ("diff-tree", "cat >/dev/null"),
        ("diff-tree", "exit 0"),
        ("diff-tree", "echo no; cat >/dev/null"),
        (
            "diff-tree",
            &format!("printf '{id}\\000:x\\000p\\000'; cat >/dev/null"),
        ),
        (
            "diff-tree",
            &format!("printf '{id}\\000:x\\000'; cat >/dev/null"),
        ),
        (
            "diff-tree",
            &format!("printf '{id}\\000{id}'; cat >/dev/null"),
        ),
        ("cat-file", "exit 1"),
        ("cat-file", "echo blob; cat >/dev/null"),
        (
            "cat-file",
            "while read a; do echo \"$a blob 99999999999999999999\"; done",
        ),
        ("ls-tree", "echo x"),
        ("rev-parse", "echo x"),
    ];
    for (command, script) in cases {
        let (_folder, options) = impostor(command, script);
        let e = error(&r.path, &options);
        assert!(
            matches!(e, GitError::Corrupt { .. } | GitError::Failed { .. }),
            "{command}, {script}: {e}"
        );
    }
}
