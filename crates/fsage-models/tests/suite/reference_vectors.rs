//! The reference of the property tests against the vectors: every output equal byte for byte.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::reference::runner::{parse_config, run_script};
use crate::reference::{Optim, Params, Policy, Reference};
use fsage_core::{DirId, FileId, Op, Outcome};

/// The folder of a vector: the one of the repository if it is there, else the one beside it.
fn folder(name: &str) -> Option<PathBuf> {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    ["../../tests/vectors/ffs", "../../../shared/vectors/ffs"]
        .iter()
        .map(|f| crate_folder.join(f))
        .find(|f| f.join(format!("{name}.cfg")).exists())
}

/// The script; `None` if it is compressed and there is no `gzip` to unpack it.
fn script(folder: &Path, name: &str) -> Option<String> {
    if let Ok(script) = std::fs::read_to_string(folder.join(format!("{name}.ops"))) {
        return Some(script);
    }
    let packed = folder.join(format!("{name}.ops.gz"));
    assert!(packed.exists(), "no script of {name}");
    let unpacked = Command::new("gzip").arg("-dc").arg(packed).output().ok()?;
    assert!(unpacked.status.success(), "the script of {name} is damaged");
    Some(String::from_utf8(unpacked.stdout).expect("a script is text"))
}

fn compare(name: &str) {
    let Some(folder) = folder(name) else {
        // Straight to stderr, which the test runner does not capture.
        let _ = writeln!(std::io::stderr(), "{name}: skipped, no such vector here");
        return;
    };
    let read = |suffix: &str| {
        let path = folder.join(format!("{name}.{suffix}"));
        std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    };
    let params = parse_config(&read("cfg"));
    let Some(script) = script(&folder, name) else {
        // Straight to stderr, which the test runner does not capture.
        let _ = writeln!(
            std::io::stderr(),
            "{name}: skipped, no program to unpack its script"
        );
        return;
    };
    for policy in Policy::ALL {
        let mode = policy.mode();
        let expected = read(&format!("{mode}.out"));
        let got = run_script(params.clone(), policy, &script);
        if got == expected {
            continue;
        }
        for (i, (want, have)) in expected.lines().zip(got.lines()).enumerate() {
            assert_eq!(have, want, "{name} {mode}, line {}", i + 1);
        }
        panic!(
            "{name} {mode}: {} lines instead of {}",
            got.lines().count(),
            expected.lines().count()
        );
    }
}

// Not here: l01_502_200k, l04_1024_200k and l06_1024_dirent, 200,000 operations each. The reference gives all
// their outputs too, but takes about 11 seconds of CPU time for each of the five modes, a minute a vector.
macro_rules! vectors {
    ($($name:ident)*) => {
        $(
            #[test]
            #[allow(non_snake_case)] // named as the files are
            fn $name() {
                compare(stringify!($name));
            }
        )*
    };
}

vectors! {
    t01_five_norot
    t01_five_rot
    t03_frag_time
    t05_frag_space
    t07_indirect
    t09_double
    t10_holes
    t12_full
    t14_overflow
    t16_flip
    s01_mix
    s03_dirent
    s05_wchunk
    s07_4k512
    m01_32MB
}

/// The check values of docs/spec/ffs.md, section 3.
#[test]
fn newfs_check_values() {
    let with_density = |preset: &str, density: u64| Params {
        density,
        ..Params::preset(preset)
    };
    let small_4k = Params {
        maxcontig: 15,
        ..Params::preset("small").with_sizes(4096, 512)
    };
    let small_2k = Params::preset("small").with_sizes(8192, 2048);
    // size, dsize, ncg, fpg, ipg, dblkno, cgoffset, M, cpc, nbfree, nffree, nifree
    let table: [(Params, [u64; 12]); 9] = [
        (
            Params::preset("g502"),
            [
                546_688, 514_055, 27, 20768, 9536, 1224, 64, 31, 4, 64255, 14, 257_469,
            ],
        ),
        (
            Params::preset("g1024"),
            [
                1_048_576, 1_015_799, 63, 16872, 4032, 536, 56, 31, 16, 126_973, 14, 254_013,
            ],
        ),
        (
            Params::preset("tiny"),
            [8192, 7791, 8, 1024, 256, 64, 16, 3, 1, 972, 14, 2045],
        ),
        (
            Params::preset("small"),
            [32768, 31599, 8, 4096, 1024, 160, 32, 7, 1, 3948, 14, 8189],
        ),
        (
            with_density("tiny", 16384),
            [8192, 7983, 8, 1024, 64, 40, 16, 3, 1, 996, 14, 509],
        ),
        (
            small_4k,
            [65536, 61471, 8, 8192, 1920, 536, 64, 7, 1, 7682, 14, 15357],
        ),
        (
            small_2k,
            [16384, 16055, 8, 2048, 512, 48, 16, 7, 1, 4012, 6, 4093],
        ),
        (
            with_density("g502", 4096),
            [
                546_688, 529_607, 27, 20768, 4928, 648, 64, 31, 4, 66199, 14, 133_053,
            ],
        ),
        (
            with_density("g1024", 2048),
            [
                1_046_064, 984_047, 62, 16872, 7872, 1016, 56, 31, 16, 123_004, 14, 488_061,
            ],
        ),
    ];
    for (params, want) in table {
        let fs = Reference::new(params, Policy::Orig);
        let g = fs.geometry();
        let line = fs.geom();
        let words: Vec<&str> = line.split_whitespace().collect();
        let field = |name: &str| {
            let i = words.iter().position(|w| *w == name).unwrap();
            words[i + 1].parse::<u64>().unwrap()
        };
        let got = [
            g.size,
            field("dsize"),
            g.ncg,
            g.fpg,
            g.ipg,
            g.dblkno,
            g.cgoffset,
            g.mask,
            g.cpc,
            field("nbfree"),
            field("nffree"),
            field("nifree"),
        ];
        assert_eq!(got, want, "{line}");
    }
}

/// A small generator for the test below; its numbers do not matter.
struct Dice {
    state: u64,
    /// Factor of all sizes: 4 fills the disk, 1 seldom does.
    scale: u64,
}

impl Dice {
    /// A number below n.
    fn roll(&mut self, n: u64) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 20) % n
    }

    /// Mostly small, sometimes many blocks.
    fn bytes(&mut self) -> u64 {
        let most = match self.roll(40) {
            0..=19 => 3000,
            20..=29 => 20_000,
            30..=36 => 120_000,
            37..=38 => 900_000,
            _ => 5_000_000,
        };
        self.roll(most * self.scale)
    }

    fn op(&mut self) -> Op {
        let file = FileId(self.roll(100));
        let dir = DirId(self.roll(6));
        let bytes = self.bytes();
        match self.roll(40) {
            0..=1 => Op::Mkdir {
                dir,
                parent: Some(DirId(self.roll(6))),
            },
            2 if self.roll(4) == 0 => Op::Rmdir { dir },
            2..=17 => Op::Create { file, dir, bytes },
            18..=21 => Op::Append { file, bytes },
            22..=23 => Op::Write {
                file,
                offset: self.bytes(),
                bytes,
            },
            24 => Op::Overwrite { file, range: None },
            25 => Op::Overwrite {
                file,
                range: Some((self.bytes(), bytes)),
            },
            26..=28 => Op::Rewrite { file, bytes },
            29..=33 => Op::Truncate { file, bytes },
            _ => Op::Delete { file },
        }
    }
}

/// The reference is consistent after every operation of random scripts, also where no vector goes.
#[test]
fn random_scripts_leave_no_inconsistency() {
    let tiny = || Params::preset("tiny");
    let small = || Params::preset("small");
    let variants: Vec<(&str, Params)> = vec![
        ("as preset", tiny()),
        ("frag 1", tiny().with_sizes(8192, 8192)),
        ("frag 2", tiny().with_sizes(8192, 4096)),
        ("frag 4", tiny().with_sizes(8192, 2048)),
        ("4 KB blocks", tiny().with_sizes(4096, 512)),
        (
            "4 KB blocks, room for a double",
            small().with_sizes(4096, 1024),
        ),
        (
            "superuser, growing directories",
            Params {
                superuser: true,
                dirent_bytes: 200,
                ..tiny()
            },
        ),
        (
            "window kept, small calls",
            Params {
                keep_cluster_state: true,
                write_chunk: 3000,
                ..tiny()
            },
        ),
        (
            "gap, sections",
            Params {
                rotdelay: 4,
                maxbpg: 5,
                maxcontig: 3,
                strict_switch: true,
                ..tiny()
            },
        ),
        (
            "no clusters, few inodes, no reserve",
            Params {
                maxcontig: 1,
                density: 65536,
                minfree: 0,
                optim: Optim::Space,
                ..tiny()
            },
        ),
        (
            "odd shape",
            Params {
                interleave: 2,
                trackskew: 5,
                ..Params::new(20011, 3, 37)
            },
        ),
    ];
    for (seed, (name, params)) in variants.into_iter().enumerate() {
        for policy in Policy::ALL {
            let mut fs = Reference::new(params.clone(), policy);
            let mut dice = Dice {
                state: 0x9e37_79b9_7f4a_7c15 + seed as u64,
                scale: if seed % 2 == 1 { 4 } else { 1 },
            };
            for dir in 1..5 {
                let parent = None;
                let made = fs.apply(&Op::Mkdir {
                    dir: DirId(dir),
                    parent,
                });
                assert_eq!(made, Ok(Outcome::Done));
            }
            let (mut done, mut refused, mut full) = (0, 0, 0);
            for step in 0..1000 {
                let op = dice.op();
                let before = (step % 50 == 0).then(|| state(&fs));
                match fs.apply(&op) {
                    Ok(Outcome::Done) => done += 1,
                    Ok(_) => full += 1,
                    Err(e) => {
                        refused += 1;
                        if let Some(before) = before {
                            assert_eq!(before, state(&fs), "{name}: {op:?} changed something: {e}");
                        }
                    }
                }
                if step % 10 == 0 {
                    let findings = fs.check();
                    assert!(
                        findings.is_empty(),
                        "{name} {policy:?} {op:?}: {findings:?}"
                    );
                }
            }
            println!("{name} {policy:?}: {done} done, {full} not, {refused} refused");
        }
    }
}

/// Everything that can be seen of a state.
fn state(fs: &Reference) -> String {
    fs.dump() + &fs.cgs() + &fs.day("0")
}
