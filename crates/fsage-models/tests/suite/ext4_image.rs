//! Images of the Ext4 model: what `mkfs.ext4` writes when nothing happened, and what `e2fsck` has nothing to say about
//! after anything that did.

use crate::ext4_snapshot;
use crate::ext4_vectors::state_of;
use crate::images::{
    self, Bytes, Image, MADE_S, damage, data_blocks, half_kept, has, live, text, write,
};
use crate::steps::{any_op, cases};
use fsage_core::{DirId, FileId, FileSystem, Layout as _, Op};
use fsage_models::ext4::{Checksums, Ext4, Params, Regime};
use fsage_models::image::{Mountable as _, ReadError};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::process::Command;

/// What is read from an image is what was written, and goes on in the same way.
fn comes_back(fs: &mut Ext4, what: &str) {
    let how = Params {
        size_bytes: 0,
        ..fs.params().clone()
    };
    let bytes = fs.sizes().block_bytes;
    images::comes_back(fs, bytes, |from| Ext4::read_image(&how, from), what);
}

/// If there is an `e2fsck`, it finds nothing.
pub fn clean_or_skipped(fs: &mut Ext4, what: &str) {
    if has("e2fsck") {
        is_clean(fs, what);
    }
}

/// `e2fsck` finds nothing, and says nothing on its way.
fn is_clean(fs: &mut Ext4, what: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let image = folder.path().join("image");
    write(fs, &image);
    assert_eq!(fs.check(), Ok(()), "{what}");
    let checked = Command::new("e2fsck")
        .args(["-f", "-n"])
        .arg(&image)
        .output()
        .expect("e2fsck runs");
    let said = text(&checked);
    assert!(checked.status.success(), "{what}: {said}");
    // Five passes and a summary, between the version and the end. The driver leaves deep trees over few extents too.
    let lines = said
        .lines()
        .filter(|line| !line.is_empty() && !line.contains(" could be shorter. "));
    let lines: Vec<&str> = lines.collect();
    let passes = lines
        .iter()
        .filter(|line| line.starts_with("Pass "))
        .count();
    assert_eq!((passes, lines.len()), (5, 7), "{what}: {said}");
}

/// Bytes of the superblock that tell how much was written to the disk so far.
const WRITTEN: std::ops::Range<usize> = 0x178..0x180;

/// Without that, and what follows from it.
fn masked(mut superblock: Vec<u8>, at: usize) -> Vec<u8> {
    superblock[at..][WRITTEN].fill(0);
    superblock[at + 0x3fc..at + 0x400].fill(0);
    superblock
}

/// Sizes before and after, and what makes the file system.
type Resized = (u64, u64, fn(&mut Params));
type Case = (u64, &'static [&'static str], fn(&mut Params));

#[test]
fn the_image_of_a_fresh_file_system_is_that_of_mkfs_to_the_byte() {
    if !has("mkfs.ext4") {
        return;
    }
    let cases: &[Case] = &[
        (16, &[], |_| {}),
        (300, &["-b", "4096"], |p| p.block_bytes = Some(4096)),
        (700, &["-b", "2048"], |p| p.block_bytes = Some(2048)),
        (64, &["-b", "4096"], |p| p.block_bytes = Some(4096)),
        (3000, &[], |_| {}),
        (5000, &["-G", "4"], |p| p.flex_groups = 4),
        (2500, &["-O", "^flex_bg"], |p| p.flex_groups = 1),
        (1000, &["-N", "5000", "-m", "0"], |p| {
            p.inodes = Some(5000);
            p.reserve_percent = 0;
        }),
        (700, &["-O", "^has_journal"], |p| p.journal_bytes = Some(0)),
        (300, &["-O", "^metadata_csum"], |p| {
            p.checksums = Checksums::None;
        }),
        (2500, &["-O", "^metadata_csum,uninit_bg"], |p| {
            p.checksums = Checksums::Descriptors;
        }),
        (400, &["-O", "^metadata_csum,uninit_bg,^64bit"], |p| {
            p.checksums = Checksums::Descriptors;
            p.wide = false;
        }),
        (2500, &["-O", "^64bit"], |p| p.wide = false),
        (300, &["-O", "^resize_inode"], |p| p.resize_bytes = Some(0)),
    ];
    let folder = tempfile::tempdir().expect("a folder");
    for (megabytes, options, set) in cases {
        let what = format!("{megabytes} MB {options:?}");
        let [theirs, ours] = ["theirs", "ours"].map(|name| folder.path().join(name));
        let made = File::create(&theirs).and_then(|file| file.set_len(megabytes << 20));
        made.expect("a sparse file");
        let uuid = "66736167-6500-4000-8000-000000000001";
        let made = Command::new("mkfs.ext4")
            .args(["-q", "-F", "-U", uuid, "-E"])
            .arg(format!(
                "hash_seed={uuid},lazy_itable_init=0,nodiscard,assume_storage_prezeroed=1"
            ))
            .args(*options)
            .arg(&theirs)
            .env("E2FSPROGS_FAKE_TIME", MADE_S.to_string())
            .output()
            .expect("mkfs.ext4 runs");
        assert!(made.status.success(), "{what}: {}", text(&made));
        let mut params = Params {
            size_bytes: megabytes << 20,
            ..Params::default()
        };
        set(&mut params);
        let mut fs = Ext4::new(params).expect("the model takes it");
        write(&mut fs, &ours);
        let [theirs_read, ours_read] =
            [&theirs, &ours].map(|path| File::open(path).expect("it is there"));
        let g = fs.sizes().clone();
        let copies: BTreeSet<u64> = (0..g.groups)
            .filter(|&group| g.copy_blocks(group) > 0)
            .map(|group| u64::from(g.start_of(group)))
            .collect();
        for block in data_blocks(&[&theirs, &ours], g.block_bytes) {
            let [theirs, ours] = [&theirs_read, &ours_read].map(|file| {
                let mut bytes = vec![0; g.block_bytes as usize];
                let at = block * g.block_bytes;
                file.read_exact_at(&mut bytes, at)
                    .expect("inside the file system");
                let superblock = if at == 0 { 1024 } else { 0 };
                if copies.contains(&block) {
                    return masked(bytes, superblock);
                }
                bytes
            });
            let differs = theirs.iter().zip(&ours).position(|(a, b)| a != b);
            assert_eq!(
                differs,
                None,
                "{what}: block {block}, {:x?}",
                differs.map(|at| {
                    let line = at & !15..(at & !15) + 16;
                    (theirs[line.clone()].to_vec(), ours[line].to_vec())
                })
            );
        }
        for path in [theirs, ours] {
            std::fs::remove_file(path).expect("it is there");
        }
    }
}

/// The journal has a tree of blocks, of which `mkfs.ext4` leaves bytes that mean nothing.
#[test]
fn a_large_fresh_file_system_is_clean() {
    if has("e2fsck") {
        let params = Params {
            size_bytes: 200 << 30,
            ..Params::default()
        };
        let mut fs = Ext4::new(params).expect("the model takes it");
        is_clean(&mut fs, "200 GB");
    }
}

macro_rules! clean {
    ($($name:ident: $vector:literal,)*) => {
        $(#[test]
        fn $name() {
            if let Some(mut fs) = state_of($vector) {
                clean_or_skipped(&mut fs, $vector);
                comes_back(&mut fs, $vector);
                ext4_snapshot::comes_back(&mut fs, $vector);
            }
        })*
    };
}

clean! {
    small_files: "A_s2k",
    fifty_thousand_operations: "A_s50k",
    holes_and_renames: "A_w1",
    holes_with_default_options: "B_w1",
    blocks_of_1k: "A_k2",
    blocks_of_2k: "A_p2",
    blocks_allocated_at_once: "C_k2",
    links_and_replaced_files: "A_v1",
    small_flex_groups: "A_n2_flex4",
    no_flex_groups: "A_n2_noflex",
    an_index_of_two_levels: "A_d2",
    sixty_four_groups: "A_g8",
    a_full_file_system: "A_h1",
    unwritten_extents: "D_h1",
}

fn small() -> impl Strategy<Value = Params> {
    let regime = prop::sample::select(vec![Regime::A, Regime::B, Regime::C, Regime::D]);
    let bsize = prop::sample::select(vec![1024_u64, 2048, 4096]);
    let flex = prop::sample::select(vec![1_u32, 2, 16]);
    let checksums = prop::sample::select(vec![
        Checksums::All,
        Checksums::All,
        Checksums::Descriptors,
        Checksums::None,
    ]);
    let others = (checksums, any::<bool>(), any::<bool>(), any::<bool>());
    let all = (regime, bsize, flex, others);
    all.prop_map(
        |(regime, bsize, flex, (checksums, journal, wide, grows))| Params {
            size_bytes: 24 << 20,
            block_bytes: Some(bsize),
            flex_groups: flex,
            journal_bytes: Some(if journal { 1024 * bsize } else { 0 }),
            resize_bytes: if grows { None } else { Some(0) },
            checksums,
            wide,
            regime,
            ..Params::default()
        },
    )
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn e2fsck_has_nothing_to_say_about_any_state(
        params in small(),
        ops in prop::collection::vec(any_op(), 1..200),
        names in prop::collection::vec(1_usize..256, 0..60),
        few in prop::option::of(1_usize..5),
    ) {
        {
            let mut fs = Ext4::new(params).expect("mkfs takes it");
            live(&mut fs, &ops, names, few);
            clean_or_skipped(&mut fs, "any state");
            comes_back(&mut fs, "any state");
            ext4_snapshot::comes_back(&mut fs, "any state");
        }
    }
}

/// The last block goes to data, none is left for the tree: what was set aside is given back before the data is freed.
#[test]
fn a_tree_without_room_frees_no_block_twice() {
    let mut fs = Ext4::new(Params {
        size_bytes: 24 << 20,
        block_bytes: Some(4096),
        flex_groups: 1,
        journal_bytes: Some(4 << 20),
        ..Params::default()
    })
    .expect("mkfs takes it");
    let (dir, file) = (DirId(0), FileId(0));
    let mut ops: Vec<Op> = (1000..1007)
        .map(|number| Op::Create {
            file: FileId(number),
            dir,
            bytes: number % 9,
        })
        .collect();
    ops.extend([3, 1].map(|dir| Op::Mkdir {
        dir: DirId(dir),
        parent: None,
    }));
    let bytes = 32 << 20;
    ops.extend([
        Op::Create { file, dir, bytes },
        Op::Append { file, bytes: 1 },
        Op::Sync,
    ]);
    for op in ops {
        fs.apply(&op).expect("it fits the state");
        assert_eq!(fs.check(), Ok(()), "{op:?}");
    }
}

/// Bytes all over the metadata, changed: it is refused, or it was one that says nothing of the state.
#[test]
fn damage_is_refused_and_never_believed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("image");
    let mut fs = Ext4::new(Params {
        size_bytes: 16 << 20,
        journal_bytes: Some(1 << 20),
        ..Params::default()
    })
    .expect("mkfs takes it");
    half_kept(&mut fs);
    write(&mut fs, &path);
    let how = fs.params().clone();
    let (refused, tried) = damage(&path, 1024, 7, |from| Ext4::read_image(&how, from));
    // The rest lies in copies, in bits behind the last inode, in blocks kept for descriptors.
    assert!(refused * 2 > tried, "{refused} of {tried}");
    let nothing = Ext4::read_image(&how, &Bytes(&[0; 4096]));
    assert!(matches!(nothing, Err(ReadError::NoSuch { of: "ext4", .. })));
}

/// Without checksums damage may be seen by nobody. Nothing of it is believed all the same.
#[test]
fn damage_without_checksums_is_sound_or_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    for checksums in [Checksums::None, Checksums::Descriptors] {
        let path = folder.path().join(checksums.as_str());
        let mut fs = Ext4::new(Params {
            size_bytes: 16 << 20,
            journal_bytes: Some(1 << 20),
            checksums,
            wide: checksums == Checksums::None,
            ..Params::default()
        })
        .expect("mkfs takes it");
        half_kept(&mut fs);
        write(&mut fs, &path);
        let how = fs.params().clone();
        let (refused, tried) = damage(&path, 1024, 11, |from| Ext4::read_image(&how, from));
        assert!(refused > 0 && refused < tried, "{refused} of {tried}");
    }
}

/// Files with their sizes and extents.
fn files_of(fs: &Ext4) -> Vec<String> {
    let mut files = Vec::new();
    fs.visit_files(&mut |file| {
        files.push(format!(
            "{} {} {:?}",
            file.ino, file.size_bytes, file.extents
        ));
    });
    files.sort();
    files
}

/// `resize2fs` puts tables where `mkfs.ext4` would not.
#[test]
fn a_file_system_that_was_resized_comes_back() {
    if !has("resize2fs") || !has("e2fsck") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let cases: &[Resized] = &[
        (64, 200, |_| {}),
        (64, 47, |_| {}),
        (300, 3000, |p| p.block_bytes = Some(4096)),
        (300, 1000, |p| {
            p.flex_groups = 1;
            p.checksums = Checksums::None;
        }),
        (100, 333, |p| {
            p.wide = false;
            p.checksums = Checksums::Descriptors;
        }),
    ];
    for (case, &(from_mb, to_mb, set)) in cases.iter().enumerate() {
        let what = format!("{from_mb} MB to {to_mb} MB, case {case}");
        let path = folder.path().join(format!("{case}"));
        let mut params = Params {
            size_bytes: from_mb << 20,
            ..Params::default()
        };
        set(&mut params);
        let mut fs = Ext4::new(params).expect("mkfs takes it");
        half_kept(&mut fs);
        write(&mut fs, &path);
        let resized = Command::new("resize2fs")
            .args(["-f"])
            .arg(&path)
            .arg(format!("{to_mb}M"))
            .output()
            .expect("resize2fs runs");
        assert!(resized.status.success(), "{what}: {}", text(&resized));
        let how = fs.params().clone();
        let from = Image(File::open(&path).expect("it is there"));
        let again = Ext4::read_image(&how, &from);
        let mut again = again.unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(again.image_bytes(), to_mb << 20, "{what}");
        if to_mb > from_mb {
            // It moves nothing but tables.
            assert_eq!(files_of(&again), files_of(&fs), "{what}");
        }
        comes_back(&mut again, &what);
        is_clean(&mut again, &what);
    }
}

/// What else may be refused says what it is, and what would help.
#[test]
fn features_that_the_model_does_not_have_are_named() {
    if !has("mkfs.ext4") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("image");
    for (options, expected) in [
        (&["-O", "orphan_file"][..], "`tune2fs -O ^orphan_file`"),
        (&["-O", "quota"], "`tune2fs -O ^quota`"),
        (&["-O", "^extent,^64bit"], "without extent"),
        (&["-O", "meta_bg,^resize_inode"], "meta_bg"),
        (&["-O", "bigalloc"], "bigalloc"),
        (
            &["-O", "^sparse_super,^resize_inode"],
            "without sparse_super",
        ),
        (&["-I", "128"], "inode size 128, expected 256"),
    ] {
        let made = File::create(&path).and_then(|file| file.set_len(64 << 20));
        made.expect("a sparse file");
        let made = Command::new("mkfs.ext4")
            .args(["-q", "-F"])
            .args(options)
            .arg(&path)
            .output()
            .expect("mkfs.ext4 runs");
        assert!(made.status.success(), "{options:?}: {}", text(&made));
        let from = Image(File::open(&path).expect("it is there"));
        let refused = Ext4::read_image(&Params::default(), &from).map(drop);
        let why = refused.expect_err("it is refused").to_string();
        assert!(why.contains(expected), "{options:?}: {why}");
    }
}

/// Checksums that go on from a number of the superblock, as some distributions have it.
#[test]
fn an_image_with_a_seed_of_checksums_is_read() {
    if !has("mkfs.ext4") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("image");
    let made = File::create(&path).and_then(|file| file.set_len(64 << 20));
    made.expect("a sparse file");
    let made = Command::new("mkfs.ext4")
        .args(["-q", "-F", "-O", "metadata_csum_seed"])
        .arg(&path)
        .output()
        .expect("mkfs.ext4 runs");
    assert!(made.status.success(), "{}", text(&made));
    let uuid = Command::new("tune2fs")
        .args(["-U", "66736167-6500-4000-8000-0000000000ff"])
        .arg(&path)
        .output();
    assert!(uuid.expect("tune2fs runs").status.success());
    let from = Image(File::open(&path).expect("it is there"));
    let fs = Ext4::read_image(&Params::default(), &from).expect("it is read");
    assert_eq!(fs.check(), Ok(()));
}

/// Its superblock is believed no size that the file does not have.
#[test]
fn an_image_that_was_cut_short_is_refused_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("image");
    let params = Params {
        size_bytes: 16 << 20,
        ..Params::default()
    };
    let mut fs = Ext4::new(params.clone()).expect("mkfs takes it");
    write(&mut fs, &path);
    let file = File::options().write(true).open(&path).expect("a file");
    file.set_len((16 << 20) - 1).expect("it is cut");
    let from = Image(File::open(&path).expect("it is there"));
    let refused = Ext4::read_image(&params, &from).map(drop);
    let why = refused.expect_err("it is too short").to_string();
    assert!(why.contains("larger than what it lies on"), "{why}");
}
