//! Images of the XFS model through the program: what the kernel, `xfs_repair` and our own reader of images find in them
//! is what the model says.

use crate::images::{Mounted, attributes, command, extents, fsage, system, workload};
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
        fsage(at, "export run disk.img --force", 0);
        fsage(at, "export run control.img --force --control", 0);
        let target = target_folder(at, "run");
        for (image, of) in [("disk.img", "final"), ("control.img", "control")] {
            is_clean(at, image);
            fsage(at, &format!("snapshot {image} -o s.parquet --force"), 0);
            let what = format!("{spec} {workload} {of}");
            let told = target.join(format!("{of}.parquet"));
            let told = told.to_string_lossy();
            assert_eq!(extents(at, "s.parquet"), extents(at, &told), "{what}");
        }
        for (of_export, of_age) in [("disk.img", "xfs.img"), ("control.img", "control.img")] {
            let of_age = target.join(of_age);
            system(at, "cmp", &format!("{of_export} {}", of_age.display()));
        }
    }
    for (target, why) in [
        ("from=named.ops", "from=named.ops: no xfs file system"),
        ("from=run", "from=run: no xfs file system"),
        ("from=disk.img,size=1G", "what `from` names decides"),
    ] {
        let refused = fsage(at, &format!("age named.ops --on xfs:{target} -o no"), 2);
        assert!(refused.contains(why), "{refused}");
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
    fs::write(at.join("nothing.ops"), "day 1\n").expect("a file");
    for (spec, workload) in SPECS.iter().flat_map(|spec| workloads.map(|of| (spec, of))) {
        let what = format!("{spec} {workload}");
        fsage(at, &format!("age {workload} --on {spec} -o run --force"), 0);
        fsage(at, "export run disk.img --data noise --force", 0);
        let mounted = Mounted::new(at, "disk.img", "ro,nouuid");
        fsage(at, "snapshot mnt -o m.parquet --force", 0);
        let told = target_folder(at, "run").join("final.parquet");
        let told = extents(at, &told.to_string_lossy());
        assert_eq!(extents(at, "m.parquet"), told, "{what}");
        if workload == "named.ops" {
            attributes(&mounted.0);
        }
        drop(mounted);
        fsage(at, "verify disk.img", 0);
        let mounted = Mounted::new(at, "disk.img", "nouuid");
        mounted.write_and_delete();
        drop(mounted);
        is_clean(at, "disk.img");
        let more = fsage(at, "verify disk.img", 1);
        assert!(more.contains("new 1"), "{more}");
        // And a model goes on from there.
        let age = "age nothing.ops --on xfs:from=disk.img -o from --force --check";
        fsage(at, age, 0);
        fsage(at, "snapshot disk.img -o s.parquet --force", 0);
        let parquet = target_folder(at, "from").join("final.parquet");
        let found = extents(at, &parquet.to_string_lossy());
        assert_eq!(extents(at, "s.parquet"), found, "{what}, from there");
    }
}
