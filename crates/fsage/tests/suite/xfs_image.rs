//! Images of the XFS model through the program: what the kernel, `xfs_repair` and our own reader of images find in them
//! is what the model says.

use crate::images::{Imaged, Mounted, command, differences, extents, free_runs, fsage, workload};
use crate::real::{RealFs, skip, target_folder};
use std::fs;
use std::path::Path;
use std::process::Command;

fn is_clean(at: &Path, image: &str) {
    if Command::new("xfs_repair").arg("-V").output().is_err() {
        return skip("xfs_repair", "it is not installed");
    }
    let run = command(at, "xfs_repair", &format!("-n -f {image}"));
    let text = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{image}: {text}");
}

const XFS: Imaged = Imaged {
    model: "xfs",
    options: ["ro,nouuid", "nouuid"],
    is_clean,
};

/// A set of features each, on few groups and many.
const SPECS: [&str; 3] = [
    "xfs:size=2G",
    "xfs:size=600M,features=plain,agcount=9",
    "xfs:size=1G,features=rmapbt",
];

/// Workloads that end unmounted: what a file has behind its end, to grow into, is given back then.
fn unmounted(at: &Path) -> [&'static str; 2] {
    workload(at);
    fsage(at, "convert home.parquet home.ops", 0);
    let all = ["named.ops", "home.ops"];
    for name in all {
        let text = fs::read_to_string(at.join(name)).expect("text");
        fs::write(at.join(name), text + "remount\n").expect("a file");
    }
    all
}

#[test]
fn our_reader_and_xfs_repair_find_the_layout_of_the_model_in_its_image() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let workloads = unmounted(at);
    for (spec, workload) in SPECS.iter().flat_map(|spec| workloads.map(|of| (spec, of))) {
        let age = format!("age {workload} --on {spec} -o run --force --image");
        fsage(at, &age, 0);
        XFS.exports_as_aged(at, &format!("{spec} {workload}"));
    }
    for (target, why) in [
        ("xfs:from=named.ops", "from=named.ops: no xfs file system"),
        ("xfs:from=run", "from=run: no xfs file system"),
        ("xfs:from=disk.img,size=1G", "what `from` names decides"),
        ("ext4:from=disk.img", "no ext4 file system, but an XFS"),
    ] {
        let refused = fsage(at, &format!("age named.ops --on {target} -o no"), 2);
        assert!(refused.contains(why), "{refused}");
    }
}

/// An image as `mkfs.xfs` leaves it is one to begin with; what the model has no place for is named.
#[test]
fn an_image_of_mkfs_is_taken_or_refused_by_what_it_has() {
    if Command::new("mkfs.xfs").arg("-V").output().is_err() {
        return skip("images of mkfs.xfs", "it is not installed");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    fs::write(at.join("t.ops"), "mkdir 1\ncreate 1 1 100000\nday 1\n").expect("a file");
    for (options, why) in [
        ("", None),
        ("-m finobt=0,reflink=0 -i sparse=0", None),
        ("-m rmapbt=1", None),
        ("-s size=4096", Some("sectors of 4096 bytes")),
        ("-b size=1024", Some("blocks of 1024 bytes")),
        ("-i size=1024", Some("inodes of 1024 bytes")),
        ("-d su=64k,sw=4 -l size=64m", Some("stripes")),
        ("-i maxpct=5", Some("imaxpct")),
        ("-n size=8192", Some("blocks of directories")),
        ("-i nrext64=1", Some("nrext64")),
    ] {
        let disk = fs::File::create(at.join("disk.img")).expect("a file");
        disk.set_len(400 << 20).expect("a size");
        let made = command(at, "mkfs.xfs", &format!("-q -f {options} disk.img"));
        if !made.status.success() {
            skip(
                &format!("mkfs.xfs {options}"),
                "it does not know these options",
            );
            continue;
        }
        let age = "age t.ops --on xfs:from=disk.img -o run --force --check";
        let said = fsage(at, age, if why.is_some() { 2 } else { 0 });
        assert!(
            why.is_none_or(|why| said.contains(why)),
            "{options}: {said}"
        );
    }
    let lacking = fsage(at, "age t.ops --on xfs:size=1G,sunit=8 -o no", 2);
    assert!(
        lacking.contains("sunit: stripes are not modeled"),
        "{lacking}"
    );
}

/// Damage that hides no file is damage all the same: in AG 1 the copy of the superblock, and the tree of references,
/// which lies in block 6 where extents have owners.
#[test]
fn what_xfs_repair_would_mend_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    fs::write(at.join("t.ops"), "mkdir 1\ncreate 1 1 100000\nday 1\n").expect("a file");
    let target = "xfs:size=300M,features=rmapbt";
    fsage(at, &format!("age t.ops --on {target} -o run"), 0);
    fsage(at, "export run disk.img", 0);
    let whole = fs::read(at.join("disk.img")).expect("an image");
    // 300 MB in four groups of 19,200 blocks of 4 KB.
    for (place, what) in [
        (19_200 * 4096 + 35, "its copy of the superblock"),
        (19_206 * 4096 + 100, "its tree of references"),
    ] {
        let mut damaged = whole.clone();
        damaged[place] ^= 1;
        fs::write(at.join("disk.img"), &damaged).expect("an image");
        let refused = fsage(at, "age t.ops --on xfs:from=disk.img -o no", 2);
        assert!(refused.contains(what), "{refused}");
    }
}

#[test]
fn the_kernel_mounts_an_image_and_goes_on_with_it() {
    if let Err(why) = RealFs::usable("xfs") {
        return skip("images of the XFS model, mounted", &why);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let workloads = unmounted(at);
    for (spec, workload) in SPECS.iter().flat_map(|spec| workloads.map(|of| (spec, of))) {
        let what = format!("{spec} {workload}");
        fsage(at, &format!("age {workload} --on {spec} -o run --force"), 0);
        XFS.goes_on_mounted(at, workload, &what);
    }
}

/// The target of a snapshot of this one: with what the snapshot does not tell, and a key more.
fn untold(spec: &str, more: Option<&str>) -> String {
    let keys = spec.trim_start_matches("xfs:").split(',');
    let told = |key: &&str| key.starts_with("features=");
    let keys: Vec<&str> = more.into_iter().chain(keys.filter(told)).collect();
    match keys[..] {
        [] => "xfs".to_owned(),
        _ => format!("xfs:{}", keys.join(",")),
    }
}

#[test]
fn a_model_and_an_image_begin_with_a_snapshot() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let workloads = unmounted(at);
    fs::write(at.join("nothing.ops"), "day 1\n").expect("a file");
    for (spec, workload) in SPECS.iter().flat_map(|spec| workloads.map(|of| (spec, of))) {
        let what = format!("{spec} {workload}");
        let export = format!("export {workload} disk.img --on {spec} --force");
        fsage(at, &export, 0);
        fsage(at, "snapshot disk.img -o s.parquet --force", 0);
        let told = extents(at, "s.parquet");
        let (target, from) = (untold(spec, None), untold(spec, Some("from=s.parquet")));
        let age = format!("age nothing.ops --on {from} -o from --force --check");
        fsage(at, &age, 0);
        let parquet = target_folder(at, "from").join("final.parquet");
        assert_eq!(extents(at, &parquet.to_string_lossy()), told, "{what}");
        let export = format!("export s.parquet like.img --on {target} --force");
        fsage(at, &export, 0);
        is_clean(at, "like.img");
        fsage(at, "snapshot like.img -o like.parquet --force", 0);
        assert_eq!(extents(at, "like.parquet"), told, "{what}");
        let free = [free_runs(at, "like.parquet"), free_runs(at, "s.parquet")];
        assert_eq!(free[0], free[1], "{what}");
        assert_eq!(differences(at, "s.parquet", "like.parquet"), 0, "{what}");
        // Names that are hidden, as images are shared.
        fsage(
            at,
            "snapshot disk.img -o hidden.parquet --anonymize --force",
            0,
        );
        for control in ["", " --control"] {
            let export = format!("export hidden.parquet like.img --on {target}{control} --force");
            fsage(at, &export, 0);
            is_clean(at, "like.img");
        }
    }
    let export = "export s.parquet no.img --on ffs";
    let refused = fsage(at, export, 2);
    assert!(refused.contains("expected ext4 or xfs"), "{refused}");
    let refused = fsage(
        at,
        "age nothing.ops --on xfs:from=s.parquet,size=1G -o no",
        2,
    );
    assert!(refused.contains("what `from` names decides"), "{refused}");
    let refused = fsage(at, "age nothing.ops --on ext4:from=s.parquet -o no", 2);
    assert!(refused.contains("a snapshot of xfs"), "{refused}");
}

#[test]
fn the_kernel_mounts_what_a_snapshot_of_a_mounted_file_system_tells() {
    if let Err(why) = RealFs::usable("xfs") {
        return skip("an image of a snapshot, mounted", &why);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let workloads = unmounted(at);
    for (spec, workload) in SPECS.iter().flat_map(|spec| workloads.map(|of| (spec, of))) {
        let what = format!("{spec} {workload}");
        let export = format!("export {workload} disk.img --on {spec} --force");
        fsage(at, &export, 0);
        let mounted = Mounted::new(at, "disk.img", XFS.options[0]);
        fsage(at, "snapshot mnt -o s.parquet --force", 0);
        drop(mounted);
        let target = untold(spec, None);
        let export = format!("export s.parquet like.img --on {target} --force");
        fsage(at, &export, 0);
        is_clean(at, "like.img");
        let mounted = Mounted::new(at, "like.img", XFS.options[0]);
        fsage(at, "snapshot mnt -o like.parquet --force", 0);
        drop(mounted);
        let told = [extents(at, "like.parquet"), extents(at, "s.parquet")];
        assert_eq!(told[0], told[1], "{what}");
        let mounted = Mounted::new(at, "like.img", XFS.options[1]);
        mounted.write_and_delete();
        drop(mounted);
        is_clean(at, "like.img");
    }
}
