//! What a file says never makes fsage read or write elsewhere: manifests of runs and experiments, words for `mkfs`,
//! calls in experiment files.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

struct Folder(tempfile::TempDir);

impl Folder {
    /// With a workload, a run of it and an experiment with it.
    fn new() -> Folder {
        let folder = Folder(tempfile::tempdir().expect("a temporary folder"));
        folder.write(
            "w.ops",
            "mkdir 1\ncreate 1 1 9000\nday 0\ncreate 2 1 5000\nday 1\n",
        );
        folder.write(
            "e.toml",
            "targets = [\"ffs:preset=tiny\"]\n[[workload]]\nfile = \"w.ops\"\n",
        );
        folder
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.at(name), text).expect("a file is written");
    }

    fn fsage(&self, args: &str) -> Output {
        Command::new(env!("CARGO_BIN_EXE_fsage"))
            .args(args.split_whitespace())
            .current_dir(self.0.path())
            .output()
            .expect("fsage runs")
    }

    fn succeeds(&self, args: &str) {
        let run = self.fsage(args);
        assert!(run.status.success(), "{args}: {}", said(&run));
    }

    /// Bad input, for a reason with this word, and nothing changed.
    fn is_refused(&self, args: &str, word: &str) {
        let before = tree(self.0.path());
        let run = self.fsage(args);
        assert_eq!(run.status.code(), Some(2), "{args}: {}", said(&run));
        assert!(
            said(&run).contains(word),
            "{args}: no `{word}` in: {}",
            said(&run)
        );
        assert_eq!(tree(self.0.path()), before, "{args} changed something");
    }

    /// Changes a manifest.
    fn edit(&self, manifest: &str, change: impl FnOnce(&mut Value)) {
        let text = fs::read_to_string(self.at(manifest)).expect("a manifest");
        let mut value = serde_json::from_str(&text).expect("JSON");
        change(&mut value);
        self.write(manifest, &value.to_string());
    }
}

fn said(run: &Output) -> String {
    String::from_utf8_lossy(&run.stderr).into_owned()
}

/// Every path below a folder, with the size and the time of what is there.
fn tree(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let meta = path.symlink_metadata().expect("metadata");
            let modified = meta.modified().expect("a time");
            found.push(format!("{} {} {modified:?}", path.display(), meta.len()));
            if meta.is_dir() {
                folders.push(path);
            }
        }
    }
    found.sort();
    found
}

const VERBS: [&str; 4] = [
    "bench run --size 16K",
    "measure run",
    "check run --rules limits",
    "export run/x image",
];

#[test]
fn a_folder_in_the_manifest_of_a_run_lies_in_the_run() {
    let folder = Folder::new();
    folder.succeeds("age w.ops --on ffs:preset=tiny -o run");
    // What would be read and written there is all right in itself.
    folder.succeeds("age w.ops --on ffs:preset=tiny -o other");
    fs::rename(folder.at("other/ffs_preset-tiny"), folder.at("elsewhere")).expect("a folder");
    let absolute = folder.at("elsewhere").to_string_lossy().into_owned();
    for name in [
        "../elsewhere",
        &absolute,
        "..",
        ".",
        "",
        "a/../../elsewhere",
        "x/",
    ] {
        folder.edit("run/run.json", |run| {
            run["targets"][0]["folder"] = name.into();
        });
        for verb in VERBS {
            folder.is_refused(verb, "expected one plain name");
        }
        // A report shows what there is of a damaged run, and says so.
        let reported = said(&folder.fsage("report run -o page.html"));
        assert!(reported.contains("expected one plain name"), "{reported}");
    }
    let link = folder.at("run/link");
    std::os::unix::fs::symlink(folder.at("elsewhere"), link).expect("a link");
    folder.edit("run/run.json", |run| {
        run["targets"][0]["folder"] = "link".into();
    });
    for verb in VERBS {
        folder.is_refused(verb, "symbolic link");
    }
}

type Change = fn(&mut Value);

#[test]
fn what_the_manifest_of_an_experiment_names_lies_in_it() {
    let folder = Folder::new();
    folder.succeeds("run e.toml");
    let whole = fs::read_to_string(folder.at("e/experiment.json")).expect("a manifest");
    fs::rename(folder.at("e/cells"), folder.at("cells")).expect("a folder");
    fs::create_dir(folder.at("e/cells")).expect("a folder");
    let changes: [(&str, Change); 6] = [
        ("the run `../cells/x`", |e| {
            e["cells"][0]["run"] = "../cells/x".into();
        }),
        ("the run `/etc`", |e| e["cells"][0]["run"] = "/etc".into()),
        ("expected one plain name", |e| {
            e["cells"][0]["id"] = "../x".into();
        }),
        ("expected one plain name", |e| {
            e["rules"] = "../rules.toml".into();
        }),
        ("expected the way to it", |e| {
            e["paths_from"] = "/etc".into();
        }),
        ("expected the way to it", |e| {
            e["paths_from"] = "a/../../b".into();
        }),
    ];
    for (word, change) in changes {
        folder.write("e/experiment.json", &whole);
        folder.edit("e/experiment.json", change);
        for verb in [
            "report e",
            "check e --rules limits",
            "run e/experiment.toml",
            "run e.toml",
        ] {
            folder.is_refused(verb, word);
        }
    }
}

/// `mkfs.btrfs` makes a file system in every file that it is given.
#[test]
fn a_word_for_mkfs_names_no_file() {
    let folder = Folder::new();
    let victim = folder.at("victim.img");
    fs::write(&victim, vec![7; 1 << 20]).expect("a file");
    let victim = victim.display();
    for (spec, word) in [
        (
            format!("loop:btrfs,size=200M,mkfs={victim}"),
            "is no option",
        ),
        (
            format!("loop:ext4,size=64M,mkfs=-d{}", folder.0.path().display()),
            "-d, which is not",
        ),
        (
            format!("loop:ext4,size=64M,mount=journal_path={victim}"),
            "names a file or device",
        ),
    ] {
        folder.is_refused(&format!("age w.ops --on {spec} -o run"), word);
    }
}

#[test]
fn a_call_in_an_experiment_makes_a_workload_and_no_other_file() {
    let folder = Folder::new();
    folder.write(
        "log.csv",
        "t_ns,op,path,offset,length\n1,create,/srv/a,,\n2,unlink,/srv/a,,\n",
    );
    folder.write("precious", "years of work");
    folder.write(
        "calls.toml",
        "targets = [\"ffs:preset=tiny\"]\n[[workload]]\n\
         generate = { oplog = { log = \"log.csv\", roots = [\"/srv\"], trace = { profiles = \"precious\" } } }\n",
    );
    folder.is_refused("run calls.toml", "calls.toml:2: --profiles precious");
    folder.is_refused("run calls.toml --dry-run", "no other file");
}

/// Reading a history is the same whatever the environment says to git, and runs nothing of it.
#[test]
fn the_environment_says_nothing_to_git() {
    let folder = Folder::new();
    let git = |args: &str| {
        let run = Command::new("git")
            .args(args.split_whitespace())
            .current_dir(folder.0.path())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .expect("git runs");
        assert!(run.status.success(), "git {args}: {}", said(&run));
    };
    git("init -q");
    git("add w.ops");
    git("-c user.name=a -c user.email=a@example.org commit -qm x");
    folder.succeeds("generate git . --branch HEAD -o plain.ops");
    let mark = folder.at("mark");
    let command = format!("touch {}", mark.display());
    let run = Command::new(env!("CARGO_BIN_EXE_fsage"))
        .args(["generate", "git", ".", "--branch", "HEAD", "-o", "set.ops"])
        .current_dir(folder.0.path())
        .env("GIT_DIR", "/nonexistent")
        .env("GIT_EXTERNAL_DIFF", &command)
        .env("GIT_PAGER", &command)
        .env("PAGER", &command)
        .env("GIT_ASKPASS", &command)
        .env("GIT_SSH_COMMAND", &command)
        .env("GIT_TRACE", folder.at("trace"))
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "core.fsmonitor")
        .env("GIT_CONFIG_VALUE_0", &command)
        .output()
        .expect("fsage runs");
    assert!(run.status.success(), "{}", said(&run));
    assert!(!mark.exists() && !folder.at("trace").exists());
    let read = |name| fs::read(folder.at(name)).expect("a workload");
    assert!(read("plain.ops") == read("set.ops"));
}
