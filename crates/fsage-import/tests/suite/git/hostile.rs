//! Reading a history runs nothing that the repository names.

use super::repo::{Repo, lines, options};
use fsage_import::git::{GitOptions, View, count_commits, tip};
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Keys of git's configuration whose value is a program, from `git help config` of 2.39 and the pages of 2.47.
const PROGRAMS: &[&str] = &[
    "core.fsmonitor",
    "core.pager",
    "core.editor",
    "core.askPass",
    "core.sshCommand",
    "core.gitProxy",
    "core.alternateRefsCommand",
    "credential.helper",
    "diff.external",
    "diff.evil.command",
    "diff.evil.textconv",
    "filter.evil.clean",
    "filter.evil.smudge",
    "filter.evil.process",
    "gpg.program",
    "gpg.ssh.program",
    "gpg.x509.program",
    "gpg.ssh.defaultKeyCommand",
    "interactive.diffFilter",
    "merge.evil.driver",
    "pager.log",
    "pager.diff-tree",
    "pager.rev-parse",
    "remote.origin.uploadpack",
    "remote.origin.receivepack",
    "remote.origin.vcs",
    "sequence.editor",
    "trailer.evil.command",
    "uploadpack.packObjectsHook",
    "alias.log",
    "alias.rev-parse",
    "alias.cat-file",
];

/// What changes the output of `git log` and `git diff-tree` where nobody says otherwise.
const FORMATS: &[(&str, &str)] = &[
    ("log.showSignature", "true"),
    ("log.mailmap", "true"),
    ("log.showRoot", "false"),
    ("log.diffMerges", "on"),
    ("log.follow", "true"),
    ("log.decorate", "full"),
    ("log.date", "relative"),
    ("log.abbrevCommit", "true"),
    ("format.pretty", "%an"),
    ("color.ui", "always"),
    ("color.diff", "always"),
    ("core.abbrev", "5"),
    ("core.quotePath", "true"),
    ("core.ignoreCase", "true"),
    ("core.commentChar", "%"),
    ("diff.renames", "copies"),
    ("diff.noprefix", "true"),
    ("diff.mnemonicPrefix", "true"),
    ("diff.relative", "true"),
    ("diff.algorithm", "patience"),
    ("diff.ignoreSubmodules", "all"),
    ("diff.wsErrorHighlight", "all"),
    ("diff.orderFile", "order"),
    ("i18n.logOutputEncoding", "UTF-16"),
    ("i18n.commitEncoding", "UTF-16"),
    ("mailmap.blob", "HEAD:.gitattributes"),
];

/// A history with each kind of change.
fn history() -> Repo {
    let r = Repo::new();
    r.write(b".gitattributes", 0, b'1');
    fs::write(
        r.file(b".gitattributes"),
        "* diff=evil filter=evil merge=evil\n",
    )
    .unwrap();
    r.write(b"dir/a", 10, b'1');
    r.write(b"b", 20, b'1');
    r.commit(10);
    r.write(b"dir/a", 11, b'2');
    fs::remove_file(r.file(b"b")).unwrap();
    r.write(b"c", 20, b'1');
    r.commit(90_000);
    r
}

/// A script that leaves a mark beside itself.
fn script(folder: &Path) -> (PathBuf, PathBuf) {
    let (script, mark) = (folder.join("run"), folder.join("it-ran"));
    let text = format!("#!/bin/sh\necho \"$0 $*\" >> {}\nexit 1\n", mark.display());
    fs::write(&script, text).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    (script, mark)
}

/// Writes keys into the configuration: by hand, for git would run some of what they say.
fn configure(r: &Repo, keys: impl IntoIterator<Item = (&'static str, String)>) {
    let path = r.path.join(".git/config");
    let mut config = fs::read_to_string(&path).unwrap();
    for (key, value) in keys {
        let (section, name) = key.rsplit_once('.').unwrap();
        let header = match section.split_once('.') {
            Some((section, sub)) => format!("[{section} \"{sub}\"]"),
            None => format!("[{section}]"),
        };
        writeln!(config, "{header}\n\t{name} = \"{value}\"").unwrap();
    }
    fs::write(path, config).unwrap();
}

/// Names a script wherever a repository may name a program.
fn make_hostile(r: &Repo, script: &Path) {
    let quoted = script.display();
    let hooks = r.path.join(".git/evil-hooks");
    fs::create_dir(&hooks).unwrap();
    for name in [
        "post-checkout",
        "reference-transaction",
        "post-index-change",
        "fsmonitor-watchman",
    ] {
        fs::copy(script, hooks.join(name)).unwrap();
    }
    let included = r.path.join(".git/included");
    fs::write(&included, format!("[core]\n\tfsmonitor = {quoted}\n")).unwrap();
    let programs = PROGRAMS.iter().map(|&key| match key {
        key if key.starts_with("alias.") => (key, format!("!{quoted}")),
        key => (key, quoted.to_string()),
    });
    let folders = [
        ("core.hooksPath", hooks.display().to_string()),
        ("include.path", included.display().to_string()),
    ];
    configure(r, programs.chain(folders));
    fs::write(
        r.path.join(".git/info/attributes"),
        "* diff=evil filter=evil\n",
    )
    .unwrap();
}

/// What comes of a repository, in both views.
fn read(r: &Repo) -> impl PartialEq + std::fmt::Debug {
    [View::Commit, View::Day].map(|view| {
        let options = options(view);
        let tip = tip(&r.path, &options).unwrap();
        let count = count_commits(&r.path, &options).unwrap();
        (tip, count, lines(r, &options))
    })
}

#[test]
fn nothing_that_a_repository_names_is_run_and_its_history_is_the_same() {
    let r = history();
    let clean = read(&r);
    let folder = tempfile::tempdir().unwrap();
    let (script, mark) = script(folder.path());
    make_hostile(&r, &script);
    let hostile = read(&r);
    let ran = fs::read_to_string(&mark).unwrap_or_default();
    assert_eq!(ran, "", "what was run");
    assert!(hostile == clean, "{hostile:?}");
    // It would have been: git itself, in this repository, does so.
    let _ = r.command(&["status"]).output().unwrap();
    assert!(
        mark.exists(),
        "the configuration names nothing that git runs"
    );
}

#[test]
fn the_configuration_of_a_repository_changes_nothing() {
    let r = history();
    let clean = read(&r);
    configure(
        &r,
        FORMATS.iter().map(|&(key, value)| (key, value.to_owned())),
    );
    fs::write(r.path.join("order"), "c\nb\n").unwrap();
    let configured = read(&r);
    assert!(configured == clean, "{configured:?}");
}

/// A replaced object or a graft shows another history than the one whose name the workload bears.
#[test]
fn the_history_is_the_one_that_the_tip_names_whatever_stands_in_for_it() {
    let r = history();
    let options = GitOptions::default();
    let clean = lines(&r, &options);
    let (first, last) = (
        r.git(&["rev-parse", "HEAD~1"]),
        r.git(&["rev-parse", "HEAD"]),
    );
    r.git(&["replace", &format!("{last}:dir/a"), &format!("{last}:c")]);
    assert_eq!(lines(&r, &options), clean);
    fs::write(r.path.join(".git/info/grafts"), format!("{last}\n")).unwrap();
    assert_eq!(lines(&r, &options), clean);
    r.git(&["replace", "--graft", &first, &last]);
    assert_eq!(lines(&r, &options), clean);
}

/// A blob that only the server of a partial clone has: it is missed, not fetched.
#[test]
fn a_partial_clone_asks_nobody_for_what_it_lacks() {
    let r = history();
    let blob = r.git(&["rev-parse", "HEAD:c"]);
    let folder = tempfile::tempdir().unwrap();
    let (script, mark) = script(folder.path());
    make_hostile(&r, &script);
    configure(
        &r,
        [
            ("remote.origin.url", format!("ext::{}", script.display())),
            ("remote.origin.promisor", "true".to_owned()),
            ("extensions.partialClone", "origin".to_owned()),
            ("protocol.ext.allow", "always".to_owned()),
        ],
    );
    let object = format!(".git/objects/{}/{}", &blob[..2], &blob[2..]);
    fs::remove_file(r.path.join(object)).unwrap();
    let error = super::repo::try_import(&r.path, &GitOptions::default()).unwrap_err();
    assert!(error.to_string().contains(&blob), "{error}");
    assert!(!mark.exists());
}
