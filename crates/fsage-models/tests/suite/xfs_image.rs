//! Images of the XFS model: what `xfs_repair` has nothing to say about, after anything that happened.

use crate::images::{self, Bytes, Image, damage, half_kept, has, live, text, write};
use crate::steps::{any_op, cases};
use crate::xfs_snapshot;
use crate::xfs_vectors::state_of;
use fsage_core::{DirId, FileId, FileSystem, Op};
use fsage_models::image::{Mountable as _, ReadError};
use fsage_models::xfs::{Features, Params, Regime, Xfs};
use proptest::prelude::*;
use std::path::Path;
use std::process::Command;

/// If there is an `xfs_repair`, it finds nothing.
pub fn clean_or_skipped(fs: &mut Xfs, what: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let image = folder.path().join("image");
    write(fs, &image);
    assert_eq!(fs.check(), Ok(()), "{what}");
    if has("xfs_repair") {
        is_clean(&image, what);
    }
    if has("xfs_db") {
        free_space_is_recorded(fs, &image, what);
    }
}

/// What is read from an image is what was written, and goes on in the same way.
fn comes_back(fs: &Xfs, what: &str) {
    let read = |from: &Image| {
        let again = Xfs::read_image(Some(fs.params()), from)?;
        assert_eq!(again.free_blocks(), fs.free_blocks(), "{what}");
        Ok(again)
    };
    images::comes_back(&mut fs.clone(), 4096, read, what);
}

/// `xfs_repair` finds nothing, and says nothing but what it does.
fn is_clean(image: &Path, what: &str) {
    let checked = Command::new("xfs_repair")
        .args(["-n", "-f", "-o", "force_geometry"])
        .arg(image)
        .output()
        .expect("xfs_repair runs");
    let said = text(&checked);
    assert!(checked.status.success(), "{what}: {said}");
    let steps = [
        "Phase ",
        "        - ",
        "No modify flag set, ",
        "Cannot get host filesystem geometry.",
        "Repair may fail if there is a sector size mismatch between",
        "the image and the host filesystem.",
    ];
    let is_step = |line: &&str| steps.iter().any(|step| line.starts_with(step));
    let findings: Vec<&str> = said.lines().filter(|line| !is_step(line)).collect();
    assert_eq!(findings, [""; 0], "{what}: {said}");
}

/// The histogram of free extents of `xfs_db` is that of the model.
fn free_space_is_recorded(fs: &Xfs, image: &Path, what: &str) {
    let asked = Command::new("xfs_db")
        .args(["-r", "-f", "-c", "freesp -b"])
        .arg(image)
        .output()
        .expect("xfs_db runs");
    let said = text(&asked);
    let mut found = Vec::new();
    for line in said.lines() {
        let numbers = line.split_whitespace().map(str::parse::<u64>);
        if let Ok(numbers) = numbers.take(4).collect::<Result<Vec<u64>, _>>() {
            found.push((numbers[0], numbers[2], numbers[3]));
        }
    }
    let mut bins = std::collections::BTreeMap::new();
    for ag in 0..fs.sizes().ag_count {
        let report = fs.ag_report(ag);
        let listed = report.list.iter().map(|_| 1);
        for blocks in report.free.iter().map(|run| u64::from(run.1)).chain(listed) {
            let bin = bins.entry(1_u64 << blocks.ilog2()).or_insert((0, 0));
            *bin = (bin.0 + 1, bin.1 + blocks);
        }
    }
    let bins: Vec<(u64, u64, u64)> = bins
        .into_iter()
        .map(|(bin, (n, sum))| (bin, n, sum))
        .collect();
    assert_eq!(found, bins, "{what}: {said}");
}

macro_rules! clean {
    ($($name:ident: $vector:literal,)*) => {
        $(#[test]
        fn $name() {
            if let Some(mut fs) = state_of($vector) {
                clean_or_skipped(&mut fs, $vector);
                comes_back(&fs, $vector);
                xfs_snapshot::comes_back(&mut fs, $vector);
            }
        })*
    };
}

clean! {
    small_files: "s2k",
    small_files_without_features: "s2k_plain",
    small_files_with_owners: "s2k_rmap",
    holes: "gaps",
    holes_with_owners: "gaps_rmap",
    files_of_many_extents: "manyext",
    a_full_file_system: "full97",
    sixteen_groups_with_owners: "ag16_rmap",
    fifty_thousand_without_features: "s50k_plain",
    fifty_thousand_with_owners: "s50k_rmap",
    one_group_of_small_files: "frag",
    nested_directories: "c84",
}

pub fn params_of(features: Features, megabytes: u64) -> Params {
    Params {
        size_bytes: megabytes << 20,
        features,
        regime: match features {
            Features::Rmapbt => Regime::PerFile,
            _ => Regime::Strict,
        },
        ..Params::default()
    }
}

pub const FEATURES: [Features; 3] = [Features::Default, Features::Plain, Features::Rmapbt];

#[test]
fn a_fresh_file_system_is_clean() {
    for (features, megabytes) in [
        (0, 16),
        (1, 500),
        (2, 3000),
        (0, 100 << 10),
        (2, 16 << 20),
        (1, 5 << 20),
    ] {
        let params = params_of(FEATURES[features], megabytes);
        let mut fs = Xfs::new(params).expect("mkfs takes it");
        clean_or_skipped(&mut fs, &format!("{features} {megabytes}"));
        if megabytes <= 3000 {
            xfs_snapshot::comes_back(&mut fs, &format!("{features} {megabytes}"));
        }
    }
}

/// Directories in every form: in the inode, in a block, with a leaf, with many and an index; and what is left of them.
#[test]
fn directories_of_all_forms_are_clean_as_they_grow_and_shrink() {
    for features in FEATURES {
        let mut fs = Xfs::new(params_of(features, 200)).expect("mkfs takes it");
        let dirs = [0, 3, 20, 300, 700, 6_000].map(|names| (DirId(names + 1), names));
        for (dir, names) in dirs {
            fs.apply(&Op::Mkdir { dir, parent: None }).expect("it fits");
            for number in 0..names {
                let file = FileId(dir.0 * 10_000 + number);
                let length = 1 + (number * 7 % 200) as usize;
                fs.name_next(format!("{number:0>length$}").as_bytes());
                fs.apply(&Op::Create {
                    file,
                    dir,
                    bytes: 0,
                })
                .expect("it fits");
            }
        }
        clean_or_skipped(&mut fs, &format!("{features:?}, grown"));
        comes_back(&fs, &format!("{features:?}, grown"));
        xfs_snapshot::comes_back(&mut fs.clone(), &format!("{features:?}, grown"));
        for (dir, names) in dirs {
            for number in (0..names).filter(|number| number % 10 > 0) {
                let file = FileId(dir.0 * 10_000 + number);
                fs.apply(&Op::Delete { file }).expect("it is there");
            }
        }
        clean_or_skipped(&mut fs, &format!("{features:?}, shrunk"));
        comes_back(&fs, &format!("{features:?}, shrunk"));
        xfs_snapshot::comes_back(&mut fs, &format!("{features:?}, shrunk"));
    }
}

fn small() -> impl Strategy<Value = Params> {
    let megabytes = prop::sample::select(vec![16_u64, 24, 48]);
    let features = prop::sample::select(FEATURES.to_vec());
    (megabytes, features).prop_map(|(megabytes, features)| params_of(features, megabytes))
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn xfs_repair_has_nothing_to_say_about_any_state(
        params in small(),
        ops in prop::collection::vec(any_op(), 1..200),
        names in prop::collection::vec(1_usize..256, 0..60),
        // Not `lost+found`, which to xfs_repair is its own, and a directory.
        few in prop::option::of(1_usize..4),
    ) {
        {
            let mut fs = Xfs::new(params).expect("mkfs takes it");
            live(&mut fs, &ops, names, few);
            clean_or_skipped(&mut fs, "any state");
            comes_back(&fs, "any state");
            xfs_snapshot::comes_back(&mut fs, "any state");
        }
    }
}

/// An id of a name that was replaced makes another, while its old one belongs to what replaced it; also where both were
/// names of one inode, of which the replay removes the old one.
#[test]
fn a_name_that_was_handed_over_stays_taken() {
    let dir = DirId(0);
    let made = |file| Op::Create {
        file: FileId(file),
        dir,
        bytes: 0,
    };
    let linked = |file, existing| Op::Link {
        file: FileId(file),
        existing: FileId(existing),
        dir,
    };
    let over = |file, replaced| Op::Rename {
        file: FileId(file),
        dir,
        replaced: Some(FileId(replaced)),
    };
    for (second, third) in [(made(2), made(2)), (linked(2, 1), linked(2, 1))] {
        let mut fs = Xfs::new(params_of(Features::Default, 16)).expect("mkfs takes it");
        for op in [made(1), second, over(1, 2), third] {
            fs.apply(&op).expect("it fits the state");
        }
        let mut names = Vec::new();
        fs.visit_names(&mut |named| names.push(named.name.to_vec()));
        names.sort_unstable();
        assert_eq!(names, [&b"f2"[..], b"f2~f2"], "{second:?}");
        clean_or_skipped(&mut fs, "handed over");
        comes_back(&fs, "handed over");
        // A name that comes back to its id is not changed by a rename that asks for it.
        for op in [over(2, 1), over(2, 2)] {
            fs.apply(&op).expect("it fits the state");
        }
        fs.apply(&Op::Rename {
            file: FileId(2),
            dir,
            replaced: None,
        })
        .expect("it fits the state");
        fs.visit_names(&mut |named| assert_eq!(named.name, b"f2"));
        clean_or_skipped(&mut fs, "handed back");
    }
}

/// What the next operation is to call what it makes is forgotten with that operation, be it the end of a day.
#[test]
fn a_name_is_for_the_next_operation_alone() {
    let mut fs = Xfs::new(params_of(Features::Default, 16)).expect("mkfs takes it");
    fs.name_next(b"a");
    for op in [
        Op::Day,
        Op::Mkdir {
            dir: DirId(1),
            parent: None,
        },
    ] {
        fs.apply(&op).expect("it fits the state");
    }
    fs.visit_names(&mut |named| assert_eq!(named.name, b"d1"));
}

/// Bytes all over the metadata, changed: it is refused, or it was one that says nothing of the state.
#[test]
fn damage_is_refused_and_never_believed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("image");
    let mut fs = Xfs::new(params_of(Features::Rmapbt, 24)).expect("mkfs takes it");
    half_kept(&mut fs);
    write(&mut fs, &path);
    let step = if cfg!(feature = "any-checksum") {
        7
    } else {
        31
    };
    let (refused, tried) = damage(&path, 4096, step, |from| Xfs::read_image(None, from));
    // The rest lies in copies of the superblock, and in inodes that are free.
    assert!(refused * 3 > tried, "{refused} of {tried}");
    let nothing = Xfs::read_image(None, &Bytes(&[0; 4096]));
    assert!(matches!(nothing, Err(ReadError::NoSuch { of: "xfs", .. })));
    let bytes = std::fs::read(&path).expect("an image");
    let cut = Xfs::read_image(None, &Bytes(&bytes[..bytes.len() - 1]));
    let why = cut.map(drop).expect_err("it is too short").to_string();
    assert!(why.contains("larger than what it lies on"), "{why}");
}

/// Fields changed, with the checksum of what they stand in made right again: `xfs_repair` finds each of them, and so
/// does who reads the image.
#[test]
fn damage_under_a_right_checksum_is_refused() {
    // What it stands in, where its checksum is, and the bytes that are changed.
    const DAMAGE: [(&[u8], usize, usize, &[usize]); 11] = [
        (b"XFSB", 224, 512, &[91, 135, 143, 151]),
        (b"XAGF", 216, 512, &[47, 55, 59, 63, 83]),
        (b"XAGI", 312, 512, &[19, 31]),
        (b"AB3B", 52, 4096, &[23, 51]),
        (b"AB3C", 52, 4096, &[23, 51]),
        (b"IAB3", 52, 4096, &[23, 51]),
        (b"FIB3", 52, 4096, &[23, 51]),
        (b"RMB3", 52, 4096, &[23, 51]),
        (b"R3FC", 52, 4096, &[11, 23, 51]),
        // The type in `.` as well.
        (b"XDB3", 4, 4096, &[15, 47, 71, 74]),
        (b"IN", 100, 512, &[7, 19, 27, 75, 99]),
    ];
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("image");
    let mut fs = Xfs::new(params_of(Features::Rmapbt, 24)).expect("mkfs takes it");
    half_kept(&mut fs);
    write(&mut fs, &path);
    let whole = std::fs::read(&path).expect("an image");
    let mut bytes = whole.clone();
    for (magic, sum, length, changed) in DAMAGE {
        // The last one: copies of the superblock are refused for more than the first is.
        let at = whole.chunks(512).rposition(|sector| {
            sector.starts_with(magic) && (magic != b"IN" || sector[2..4] == [0x81, 0xa4])
        });
        let at = 512 * at.unwrap_or_else(|| panic!("the image has {magic:?}"));
        for byte in changed {
            let structure = &mut bytes[at..at + length];
            structure[*byte] ^= 1;
            structure[sum..sum + 4].fill(0);
            let right = crc32c::crc32c(structure);
            structure[sum..sum + 4].copy_from_slice(&right.to_le_bytes());
            let what = format!("{}, byte {byte}", String::from_utf8_lossy(magic));
            let read = Xfs::read_image(None, &Bytes(&bytes)).map(drop);
            let why = read.expect_err(&what);
            let is_seen = matches!(why, ReadError::Damaged { .. } | ReadError::Foreign { .. });
            assert!(is_seen, "{what}: {why}");
            if has("xfs_repair") {
                std::fs::write(&path, &bytes).expect("an image");
                let checked = Command::new("xfs_repair")
                    .args(["-n", "-f", "-o", "force_geometry"])
                    .arg(&path)
                    .output()
                    .expect("xfs_repair runs");
                assert!(!checked.status.success(), "{what}: {}", text(&checked));
            }
            bytes[at..at + length].copy_from_slice(&whole[at..at + length]);
        }
    }
}
