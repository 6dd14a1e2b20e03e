//! Images of the XFS model through the program: what the kernel, `xfs_repair` and our own reader of images find in them
//! is what the model says.

use crate::images::{Imaged, command, fsage, workload};
use crate::real::{RealFs, skip};
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
    for (spec, workload) in SPECS.iter().flat_map(|spec| workloads.map(|of| (spec, of))) {
        let what = format!("{spec} {workload}");
        fsage(at, &format!("age {workload} --on {spec} -o run --force"), 0);
        XFS.goes_on_mounted(at, workload, &what);
    }
}
