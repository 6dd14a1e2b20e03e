//! Fidelity: inode numbers, extents, tree blocks, directory blocks and free ranges are those of the Linux ext4 driver.
//!
//! Expected: what the driver of Linux 6.18.44 did, in `tests/vectors/ext4` (the small scripts, part of the project) and
//! in `../shared/vectors/ext4` beside the project (all of them), where that folder is present. Fresh file systems are
//! those of mkfs.ext4 1.47.0.

use flate2::read::GzDecoder;
use fsage_core::{DirId, FileId, FileSystem, Op, Outcome};
use fsage_models::allocator_trace::TracedAllocator as _;
use fsage_models::ext4::{Entry, Ext4, Geometry, Params, Regime, SyncPolicy};
use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};

/// A file of the vectors: from the repository, or else from the folder beside it.
fn find(name: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = [
        "tests/vectors/ext4",
        "tests/vectors/linux",
        "../shared/vectors/ext4",
        "../shared/vectors/linux",
    ];
    let mut paths = folders.iter().map(|folder| root.join(folder).join(name));
    paths.find(|path| path.exists())
}

/// The text of a compressed vector; says so where it is not there.
fn read(name: &str) -> Option<String> {
    let Some(path) = find(name) else {
        let _ = writeln!(
            std::io::stderr(),
            "skipped: {name} is not beside the project; the small ones run"
        );
        return None;
    };
    let mut text = String::new();
    let file = File::open(path).expect("a vector");
    if Path::new(name)
        .extension()
        .is_some_and(|ending| ending == "gz")
    {
        let unpacked = GzDecoder::new(file).read_to_string(&mut text);
        unpacked.expect("gzip over text");
    } else {
        let read = { file }.read_to_string(&mut text);
        read.expect("text");
    }
    Some(text)
}

/// What the head of a vector says.
fn params(vector: &str) -> Params {
    let line = |start: &str| {
        let mut lines = vector.lines();
        let line = lines.find(|line| line.starts_with(start)).expect(start);
        line.split(' ').collect::<Vec<_>>()
    };
    let (mkfs, size, mount) = (line("#mkfs"), line("#size"), line("#mount"));
    let after = |words: &[&str], name: &str| {
        let at = words.iter().position(|word| *word == name);
        at.map(|at| words[at + 1].to_owned())
    };
    let number = |words: &[&str], name: &str| {
        let text = after(words, name).expect(name);
        text.parse::<u64>().expect("a number")
    };
    let options: Vec<&str> = mount[1].split(',').collect();
    let flex = mkfs.iter().find_map(|word| word.strip_prefix("-G"));
    let regime = if after(&mount, "data").is_some_and(|data| data == "fallocate") {
        Regime::D
    } else if options.contains(&"nodelalloc") {
        Regime::C
    } else if options.contains(&"dioread_lock") {
        Regime::A
    } else {
        Regime::B
    };
    Params {
        size_bytes: number(&size, "blocks") * number(&size, "bs"),
        block_bytes: Some(number(&size, "bs")),
        flex_groups: if mkfs.contains(&"-O^flex_bg") {
            1
        } else {
            flex.map_or(16, |groups| groups.parse().expect("a number"))
        },
        regime,
        sync: if after(&mount, "sync").is_some_and(|sync| sync == "each") {
            SyncPolicy::Each
        } else {
            SyncPolicy::Day
        },
        rotational: number(&mount, "rotational") == 1,
        ..Params::default()
    }
}

/// Ids of symbolic links in scripts are numbered by themselves.
const LINKS: u64 = 1 << 40;

/// The driver: what it keeps of the files of a script.
struct Driver {
    fs: Ext4,
    /// The id by which the model knows a file.
    ids: HashMap<u64, FileId>,
    /// Directory of a file.
    dirs: HashMap<u64, u64>,
    open: Vec<u64>,
    failed: u64,
    files: Vec<u64>,
}

impl Driver {
    fn new(params: Params) -> Driver {
        Driver {
            fs: Ext4::new(params).expect("mkfs takes it"),
            ids: HashMap::new(),
            dirs: HashMap::new(),
            open: Vec::new(),
            failed: 0,
            files: Vec::new(),
        }
    }

    fn play(mut self, script: &str, mut watch: impl FnMut(&Driver, &str)) -> Driver {
        let lines = script.lines();
        for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
            self.run(line);
            watch(&self, line);
        }
        self.finish();
        self
    }

    fn apply(&mut self, op: &Op) -> Outcome {
        let outcome = self
            .fs
            .apply(op)
            .unwrap_or_else(|error| panic!("{op:?}: {error}"));
        self.failed += u64::from(outcome == Outcome::NoSpace);
        outcome
    }

    fn id(&self, file: u64) -> FileId {
        self.ids.get(&file).copied().unwrap_or(FileId(file))
    }

    fn run(&mut self, line: &str) {
        let mut words = line.split(' ');
        let verb = words.next().expect("a verb");
        let n: Vec<u64> = words.map(|word| word.parse().expect("a number")).collect();
        let file = self.id(n.first().copied().unwrap_or_default());
        let op = match (verb, n.as_slice()) {
            ("mkdir", &[dir]) => Op::Mkdir {
                dir: DirId(dir),
                parent: None,
            },
            ("mkdir", &[dir, parent]) => Op::Mkdir {
                dir: DirId(dir),
                parent: Some(DirId(parent)),
            },
            ("rmdir", &[dir]) => Op::Rmdir { dir: DirId(dir) },
            ("create", &[id, dir, bytes]) => {
                self.dirs.insert(id, dir);
                self.files.push(id);
                Op::Create {
                    file,
                    dir: DirId(dir),
                    bytes,
                }
            }
            ("append", &[_, bytes]) => Op::Append { file, bytes },
            ("write", &[_, offset, bytes]) => Op::Write {
                file,
                offset,
                bytes,
            },
            ("truncate", &[_, bytes]) => Op::Truncate { file, bytes },
            ("rewrite", &[_, bytes]) => Op::Rewrite { file, bytes },
            ("rename", &[id, dir]) => {
                self.dirs.insert(id, dir);
                self.fs.name_next(format!("f{id}").as_bytes());
                Op::Rename {
                    file,
                    dir: DirId(dir),
                    replaced: None,
                }
            }
            ("replace", &[id, other]) => {
                let gone = self.id(other);
                let op = Op::Rename {
                    file,
                    dir: DirId(self.dirs[&other]),
                    replaced: Some(gone),
                };
                self.apply(&op);
                self.ids.insert(other, file);
                self.files.retain(|file| *file != id);
                return;
            }
            ("delete", &[id]) => {
                self.files.retain(|file| *file != id);
                Op::Delete { file }
            }
            ("symlink", &[id, dir, bytes]) => {
                self.fs.name_next(format!("l{id}").as_bytes());
                Op::Symlink {
                    file: FileId(LINKS + id),
                    dir: DirId(dir),
                    bytes,
                }
            }
            ("unlinks", &[id]) => Op::Delete {
                file: FileId(LINKS + id),
            },
            ("open", &[id]) => {
                self.fs.open(file);
                self.open.push(id);
                return;
            }
            ("close", &[id]) => {
                self.fs.close(file);
                self.open.retain(|open| *open != id);
                return;
            }
            ("remount", &[]) => Op::Remount,
            // The original driver synced no file system whose files it had all synced.
            ("day", &[_]) if self.fs.params().sync == SyncPolicy::Each => return,
            ("day", &[_]) => Op::Day,
            _ => panic!("{line}"),
        };
        self.apply(&op);
    }

    fn finish(&mut self) {
        for file in std::mem::take(&mut self.open) {
            self.fs.close(self.id(file));
        }
        self.apply(&Op::Sync);
    }
}

/// Runs a script; `watch` sees the state after every line.
fn run(params: Params, script: &str, watch: impl FnMut(&Driver, &str)) -> Driver {
    Driver::new(params).play(script, watch)
}

/// Extents that adjoin in the file and on disk are one, in the form of the vectors.
fn extents_text(extents: &[Entry]) -> String {
    let mut runs: Vec<(u32, u32, u32)> = Vec::new();
    for entry in extents {
        match runs.last_mut() {
            Some((logical, block, blocks))
                if *logical + *blocks == entry.logical && *block + *blocks == entry.block =>
            {
                *blocks += entry.blocks();
            }
            _ => runs.push((entry.logical, entry.block, entry.blocks())),
        }
    }
    let runs: Vec<String> = runs
        .iter()
        .map(|(logical, block, blocks)| format!("{logical}:{block}:{blocks}"))
        .collect();
    runs.join(" ")
}

fn blocks_text(blocks: &[u32]) -> String {
    let blocks: Vec<String> = blocks.iter().map(ToString::to_string).collect();
    match blocks.as_slice() {
        [] => String::new(),
        blocks => format!("\t{}", blocks.join(" ")),
    }
}

/// Every line of a vector, as the model has it.
fn line_of(driver: &Driver, expected: &str) -> String {
    let fs = &driver.fs;
    let words: Vec<&str> = expected.split('\t').collect();
    match words[0] {
        "#dir" if words[1] == "/" => {
            format!("#dir\t/\t2\t{}", extents_text(&fs.root_extents()))
        }
        "#dir" if words[1] == "lost+found" => {
            let (block, blocks) = fs.sizes().lost_found;
            format!("#dir\tlost+found\t11\t0:{block}:{blocks}")
        }
        "#dir" => {
            let dir = DirId(words[1].parse().expect("a number"));
            let ino = fs.directory_inode(dir).unwrap_or_default();
            let extents = extents_text(&fs.directory_extents(dir).unwrap_or_default());
            let blocks = blocks_text(&fs.directory_tree_blocks(dir).unwrap_or_default());
            format!("#dir\t{}\t{ino}\t{extents}{blocks}", words[1])
        }
        id => {
            let number: u64 = id.parse().expect("a number");
            let file = driver.id(number);
            let ino = fs.inode(file).unwrap_or_default();
            let size = fs.file_size(file).unwrap_or_default();
            let extents = extents_text(&fs.extents(file).unwrap_or_default());
            let blocks = blocks_text(&fs.tree_blocks(file).unwrap_or_default());
            format!("{id}\t{}\t{ino}\t{size}\t{extents}{blocks}", words[1])
        }
    }
}

/// The table of groups, as `fresh` and `free` have it.
fn groups_text(fs: &Ext4) -> Vec<String> {
    let g = fs.sizes();
    let runs = |runs: &[(u32, u32)]| {
        let words: Vec<String> = runs
            .iter()
            .map(|(start, end)| format!("{start}-{}", end - 1))
            .collect();
        words.join(" ")
    };
    let count = |runs: &[(u32, u32)]| runs.iter().map(|(start, end)| end - start).sum::<u32>();
    (0..g.groups)
        .map(|group| {
            let (blocks, inodes) = (fs.free_blocks(group), fs.free_inode_runs(group));
            let directories = fs.directories(group);
            format!(
                "{group}\t{}\t{}\t{}\t{}\t{directories}",
                runs(&blocks),
                runs(&inodes),
                count(&blocks),
                count(&inodes)
            )
        })
        .collect()
}

/// The first columns of a table of groups: those that the allocators decide.
fn first_columns(table: &str) -> Vec<String> {
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| line.split('\t').take(6).collect::<Vec<_>>().join("\t"))
        .collect()
}

fn compare(what: &str, found: &[String], expected: &[String]) {
    let pairs = found.iter().zip(expected).enumerate();
    let different: Vec<_> = pairs.filter(|(_, (a, b))| a != b).collect();
    if let Some((at, (found, wanted))) = different.first() {
        panic!(
            "{what}: {} of {} lines differ, the first is {at}:\n  {found}\nexpected\n  {wanted}",
            different.len(),
            expected.len()
        );
    }
    assert_eq!(found.len(), expected.len(), "{what}: lines");
}

/// Every file and directory of a vector, as the model has it.
fn compare_layout(vector: &str, driver: &Driver, expected: &str) {
    let lines = expected.lines();
    let lines = lines.filter(|line| line.starts_with("#dir") || !line.starts_with('#'));
    let wanted: Vec<String> = lines.map(str::to_owned).collect();
    let found: Vec<String> = wanted.iter().map(|line| line_of(driver, line)).collect();
    compare(vector, &found, &wanted);
}

fn script_of(vector: &str) -> &str {
    vector.split('_').nth(1).expect("regime and script")
}

/// The state at the end of a vector, if that is beside the project.
pub fn state_of(vector: &str) -> Option<Ext4> {
    let script = read(&format!("{}.ops.gz", script_of(vector)))?;
    let expected = read(&format!("{vector}.tsv.gz"))?;
    Some(run(params(&expected), &script, |_, _| {}).fs)
}

/// Runs a vector and compares everything.
fn is_equal(vector: &str) {
    let script = read(&format!("{}.ops.gz", script_of(vector)));
    let expected = read(&format!("{vector}.tsv.gz"));
    let (Some(script), Some(expected)) = (script, expected) else {
        return;
    };
    let params = params(&expected);
    if let Some(fresh) = read(&format!("{vector}.fresh.tsv.gz")) {
        let fs = Ext4::new(params.clone()).expect("mkfs takes it");
        compare(
            &format!("{vector}, fresh"),
            &groups_text(&fs),
            &first_columns(&fresh),
        );
    }
    let mut lines = 0_u32;
    let driver = run(params, &script, |driver, line| {
        lines += 1;
        if lines.is_multiple_of(1000) {
            assert_eq!(driver.fs.check(), Ok(()), "after {line}");
        }
    });
    assert_eq!(driver.fs.check(), Ok(()));
    compare_layout(vector, &driver, &expected);
    if let Some(free) = read(&format!("{vector}.free.tsv.gz")) {
        let found = groups_text(&driver.fs);
        compare(&format!("{vector}, free"), &found, &first_columns(&free));
    }
}

/// Compares every request for blocks with those that the driver's trace events showed. The recorded files have no name
/// for searches that no criterion ended, which the kernel prints as a number, and show them as if there had been none.
fn requests_are_equal(vector: &str) {
    let script = read(&format!("{}.ops.gz", script_of(vector)));
    let (Some(script), Some(expected), Some(requests)) = (
        script,
        read(&format!("{vector}.tsv.gz")),
        read(&format!("{vector}.alloc.tsv.gz")),
    ) else {
        return;
    };
    let mut driver = Driver::new(params(&expected));
    driver.fs.record_requests();
    let driver = driver.play(&script, |_, _| {});
    let served = { driver }.fs.take_requests();
    let found: Vec<String> = served
        .into_iter()
        .map(|mut served| {
            served.searched = served
                .searched
                .filter(|searched| searched.criterion.is_some());
            served.to_string()
        })
        .collect();
    let wanted: Vec<String> = requests.lines().skip(1).map(str::to_owned).collect();
    compare(&format!("{vector}, requests"), &found, &wanted);
}

#[test]
fn requests_of_large_files() {
    requests_are_equal("A_b1");
}

macro_rules! vectors {
    ($($name:ident: $vector:literal,)*) => {
        $(#[test]
        fn $name() {
            is_equal($vector);
        })*
    };
}

vectors! {
    first_steps: "A_s5",
    small_files_and_appends: "A_s2k",
    fifty_thousand_operations: "A_s50k",
    nested_directories: "A_n1",
    files_that_grow_while_open: "A_o1",
    holes_overwrites_renames_remounts: "A_w1",
    replaced_files_and_symbolic_links: "A_v1",
    small_flex_groups: "A_n2_flex4",
    no_flex_groups: "A_n2_noflex",
    blocks_of_1k: "A_k2",
    blocks_of_1k_on_a_rotating_disk: "A_k2_rot",
    blocks_of_2k: "A_p2",
    indexed_directories: "A_d1",
    an_index_of_two_levels: "A_d2",
    large_files: "A_b1",
    twenty_groups: "A_m3",
    twenty_groups_on_a_rotating_disk: "A_m3_rot",
    sixty_four_groups: "A_g8",
    every_file_synced: "A_s1_each",
    an_overfilled_file_system: "A_e2",
    churn_on_a_full_file_system: "A_h1",
    default_options_overfilled: "B_e2",
    default_options_open_files: "B_o1",
    default_options_holes: "B_w1",
    default_options_replaced_files: "B_v1",
    no_delayed_allocation: "C_k2",
    fallocate: "D_n1",
    fallocate_on_a_full_file_system: "D_h1",
}

/// The small scripts give the same lines in regime B as in A.
#[test]
fn default_options_place_small_files_as_without_delayed_conversion() {
    for vector in ["A_s5", "A_s2k", "A_n1", "A_k2"] {
        let script = read(&format!("{}.ops.gz", script_of(vector)));
        let expected = read(&format!("{vector}.tsv.gz"));
        let (Some(script), Some(expected)) = (script, expected) else {
            continue;
        };
        let params = Params {
            regime: Regime::B,
            ..params(&expected)
        };
        let driver = run(params, &script, |_, _| {});
        compare_layout(vector, &driver, &expected);
    }
}

/// mkfs.ext4 leaves no group without its tables, whatever the size.
#[test]
fn a_geometry_of_any_size_has_its_tables() {
    for megabytes in [16_u64, 100, 511, 512, 4096, 100_000, 5_000_000] {
        let params = Params {
            size_bytes: megabytes << 20,
            ..Params::default()
        };
        let g = Geometry::mkfs(&params).expect("it is large enough");
        assert_eq!(g.tables.len(), g.groups as usize, "{megabytes}");
        let journal: u32 = g.journal.iter().map(|run| run.1).sum();
        assert_eq!(journal, g.journal_blocks, "{megabytes}");
    }
}

/// What cannot be made is refused, whatever the numbers.
#[test]
fn sizes_that_make_no_sense_are_refused() {
    let refused = |params: Params| Geometry::mkfs(&params).expect_err("refused").to_string();
    let small = refused(Params {
        size_bytes: 40_000,
        ..Params::default()
    });
    assert!(small.contains("size=40000: too small"), "{small}");
    let large = refused(Params {
        size_bytes: u64::MAX,
        ..Params::default()
    });
    assert!(large.contains("too large"), "{large}");
    let many = refused(Params {
        inodes: Some(u64::MAX),
        ..Params::default()
    });
    assert!(many.contains("groups have room for"), "{many}");
    let journal = refused(Params {
        journal_bytes: Some(1 << 40),
        ..Params::default()
    });
    assert!(journal.contains("journal=1099511627776"), "{journal}");
}

/// Blocks of a file have numbers of 32 bits: the last but one is the last that can be written.
#[test]
fn a_sparse_file_reaches_up_to_the_last_block_that_has_a_number() {
    let params = Params {
        size_bytes: 64 << 20,
        block_bytes: Some(4096),
        ..Params::default()
    };
    let mut fs = Ext4::new(params).expect("mkfs takes it");
    let file = FileId(1);
    let create = Op::Create {
        file,
        dir: DirId::ROOT,
        bytes: 0,
    };
    assert_eq!(fs.apply(&create), Ok(Outcome::Done));
    let last = (u64::from(u32::MAX) - 1) * 4096;
    for (offset, expected) in [
        (last, Outcome::Done),
        (last - (100 << 20), Outcome::Done),
        (last + 4096, Outcome::TooLarge),
        (u64::MAX - 4096, Outcome::TooLarge),
    ] {
        let write = Op::Write {
            file,
            offset,
            bytes: 4096,
        };
        assert_eq!(fs.apply(&write), Ok(expected), "{offset}");
    }
    assert_eq!(fs.apply(&Op::Sync), Ok(Outcome::Done));
    assert_eq!(fs.check(), Ok(()));
    let logical: Vec<u32> = fs
        .extents(file)
        .expect("a file")
        .iter()
        .map(|entry| entry.logical)
        .collect();
    assert_eq!(logical, [u32::MAX - 1 - 25_600, u32::MAX - 1]);
    assert_eq!(fs.apply(&Op::Delete { file }), Ok(Outcome::Done));
    assert_eq!(fs.check(), Ok(()));
}
