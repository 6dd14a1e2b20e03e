//! Fresh file systems are those of the `mkfs.xfs` of this machine, on partitions of many sizes and options.
//!
//! Expected: what `xfs_db` says of them. Rules are those of xfsprogs 6.1.

use fsage_models::xfs::{Features, Params, Xfs};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::Command;

/// The output of a command, if it can be run.
fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {output:?}"
    );
    Some(text)
}

/// What `xfs_db` says of a field: the value behind the equals sign.
fn field(text: &str, name: &str) -> u64 {
    let start = format!("{name} = ");
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(&start))
        .expect(name);
    line.trim().parse().expect("a number")
}

/// Sizes, and of each AG free runs and the free list, as `xfs_db` shows them.
fn by_xfs_db(image: &Path) -> String {
    let image = image.to_str().expect("a path");
    let db = |commands: &[String]| {
        let arguments: Vec<&str> = ["-r"]
            .into_iter()
            .chain(commands.iter().flat_map(|c| ["-c", c]))
            .collect();
        output("xfs_db", &[&arguments[..], &[image]].concat()).expect("xfs_db runs")
    };
    let sb = db(&["sb 0".into(), "p".into()]);
    let [blocks, ag_blocks, ags, log] =
        ["dblocks", "agblocks", "agcount", "logblocks"].map(|name| field(&sb, name));
    let (start, root) = (field(&sb, "logstart"), field(&sb, "rootino"));
    let mut text = format!("{blocks} {ag_blocks} {ags} log {log} at {start} root {root}\n");
    for ag in 0..ags {
        let agf = db(&[format!("agf {ag}"), "p flfirst flcount".into()]);
        let (first, count) = (field(&agf, "flfirst"), field(&agf, "flcount"));
        let list = db(&[
            format!("agfl {ag}"),
            format!("p bno[{first}-{}]", first + count - 1),
        ]);
        let list: Vec<&str> = list
            .split_whitespace()
            .filter_map(|word| Some(word.split_once(':')?.1))
            .collect();
        let free = db(&[format!("agf {ag}"), "addr bnoroot".into(), "p recs".into()]);
        let runs = free
            .split(['[', ']'])
            .filter(|part| part.contains(',') && part.starts_with(char::is_numeric));
        let runs: Vec<String> = runs.map(|run| run.replace(',', ":")).collect();
        let (runs, list) = (runs.join(" "), list.join(" "));
        writeln!(text, "{ag}: {runs} list {list}").expect("a String takes everything");
    }
    text
}

/// The same of the model.
fn by_model(fs: &Xfs) -> String {
    let g = fs.sizes();
    let start = (u64::from(g.log_ag) << g.ag_log) + u64::from(g.log_start);
    let (blocks, log, root) = (g.blocks, g.log_blocks, g.root_ino());
    let mut text = format!(
        "{blocks} {} {} log {log} at {start} root {root}\n",
        g.ag_blocks, g.ag_count
    );
    for ag in 0..g.ag_count {
        let report = fs.ag_report(ag);
        let runs: Vec<String> = report
            .free
            .iter()
            .map(|(start, blocks)| format!("{start}:{blocks}"))
            .collect();
        let list: Vec<String> = report.list.iter().map(ToString::to_string).collect();
        let (runs, list) = (runs.join(" "), list.join(" "));
        writeln!(text, "{ag}: {runs} list {list}").expect("a String takes everything");
    }
    text
}

const PLAIN: &[&str] = &[
    "-m",
    "crc=1,finobt=0,reflink=0,rmapbt=0,bigtime=0,inobtcount=0",
    "-i",
    "sparse=0",
];
const OWNERS: &[&str] = &["-m", "rmapbt=1"];
const DEFAULT: &[&str] = &["-m", "rmapbt=0"];

/// Kilobytes, AGs, kilobytes of the log, features.
type Case = (u64, Option<u64>, Option<u64>, Features);

#[test]
fn fresh_file_systems_are_those_of_mkfs() {
    let Some(version) = output("mkfs.xfs", &["-V"]) else {
        let _ = writeln!(io::stderr(), "skipped: there is no mkfs.xfs here");
        return;
    };
    if !version.contains("version 6.1.") {
        let _ = writeln!(io::stderr(), "skipped: {version} has other rules than 6.1");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let all = [Features::Default, Features::Plain, Features::Rmapbt];
    let mut cases: Vec<Case> = Vec::new();
    for features in all {
        let megabytes = [
            16, 31, 32, 47, 48, 63, 64, 100, 299, 300, 512, 1000, 1025, 3000,
        ];
        cases.extend(megabytes.map(|size| (size << 10, None, None, features)));
        cases.push((512 << 10, Some(16), None, features));
        cases.push((600 << 10, Some(7), None, features));
        cases.push((600 << 10, Some(1), None, features));
        cases.push((64 << 10, None, Some(13 << 10), features));
    }
    for gigabytes in [16, 127, 129, 1024, 4 << 10, 5 << 10] {
        cases.push((gigabytes << 20, None, None, Features::Default));
    }
    cases.push(((1 << 20) + 4, None, None, Features::Default));
    for (kilobytes, ags, log, features) in cases {
        let image = folder.path().join("image");
        let made = File::create(&image).and_then(|file| file.set_len(kilobytes << 10));
        made.expect("a sparse file");
        let (ags_option, log_option) = (
            ags.map(|n| format!("agcount={n}")),
            log.map(|n| format!("size={n}k")),
        );
        let mut arguments = vec!["--unsupported", "-q", "-f", "-K"];
        arguments.extend(match features {
            Features::Default => DEFAULT,
            Features::Plain => PLAIN,
            Features::Rmapbt => OWNERS,
        });
        arguments.extend(ags_option.iter().flat_map(|option| ["-d", option]));
        arguments.extend(log_option.iter().flat_map(|option| ["-l", option]));
        arguments.push(image.to_str().expect("a path"));
        let case = format!("{kilobytes} KB {ags:?} {log:?} {features:?}");
        output("mkfs.xfs", &arguments).expect("mkfs.xfs runs");
        let params = Params {
            size_bytes: kilobytes << 10,
            ag_count: ags,
            log_bytes: log.map(|n| n << 10),
            features,
            ..Params::default()
        };
        let fs = Xfs::new(params).unwrap_or_else(|error| panic!("{case}: {error}"));
        assert_eq!(by_model(&fs), by_xfs_db(&image), "{case}");
    }
}

/// Around the sizes of AGs from which on trees may have a level more: the smallest log is that of `mkfs.xfs`.
#[test]
fn the_smallest_log_is_that_of_mkfs() {
    let Some(version) = output("mkfs.xfs", &["-V"]).filter(|text| text.contains("version 6.1."))
    else {
        let _ = writeln!(io::stderr(), "skipped: there is no mkfs.xfs 6.1 here");
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let image = folder.path().join("image");
    let path = image.to_str().expect("a path");
    let features = [
        (Features::Default, DEFAULT),
        (Features::Plain, PLAIN),
        (Features::Rmapbt, OWNERS),
    ];
    for ag_blocks in [
        20_000, 42_336, 42_337, 84_672, 84_673, 10_668_672, 10_668_673, 14_224_896, 14_224_897,
    ] {
        let size_bytes = 2 * ag_blocks * 4096;
        let made = File::create(&image).and_then(|file| file.set_len(size_bytes));
        made.expect("a sparse file");
        for (features, options) in features {
            let small = ["--unsupported", "-N", "-d", "agcount=2", "-l", "size=512b"];
            let arguments = [&small[..], options, &[path]].concat();
            let refused = Command::new("mkfs.xfs").args(arguments).output();
            let refused = String::from_utf8_lossy(&refused.expect("it runs").stderr).into_owned();
            let least = refused.split_once("minimum size is ").expect("it says").1;
            let least = least.split_whitespace().next().expect("a number");
            let least: u64 = least.parse().expect("a number");
            let params = Params {
                size_bytes,
                ag_count: Some(2),
                log_bytes: Some(512 * 4096),
                features,
                ..Params::default()
            };
            let why = Xfs::new(params)
                .map(drop)
                .expect_err("it is too small")
                .to_string();
            let expected = format!("log=2097152: the log has {} to ", least * 4096);
            assert!(
                why.starts_with(&expected),
                "{version}, {ag_blocks}, {features:?}: {why}"
            );
        }
    }
}
