//! Images of the Ext4 model through the program: what the kernel, `e2fsck` and our own reader of images find in them is
//! what the model says.

use crate::images::{Imaged, Mounted, command, differences, extents, free_runs};
use crate::images::{fsage, system, workload};
use crate::real::{RealFs, skip, target_folder};
use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::process::Command;

fn is_clean(at: &Path, image: &str) {
    if Command::new("e2fsck").arg("-V").output().is_err() {
        return skip("e2fsck", "it is not installed");
    }
    let said = system(at, "e2fsck", &format!("-f -n {image}"));
    assert!(!said.contains("? no"), "{image}: {said}");
}

const EXT4: Imaged = Imaged {
    model: "ext4",
    options: ["ro", "rw"],
    is_clean,
};

/// Small blocks, large ones, flex groups, regimes, other checksums and descriptors.
const SPECS: [&str; 6] = [
    "ext4:size=400M",
    "ext4:size=2G,regime=b",
    "ext4:size=600M,bsize=2K,flex=4,regime=c",
    "ext4:size=900M,flex=1,regime=d",
    "ext4:size=300M,checksums=none",
    "ext4:size=700M,checksums=descriptors,64bit=off,resize=0",
];

#[test]
fn our_reader_and_e2fsck_find_the_layout_of_the_model_in_its_image() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    workload(at);
    for (spec, workload) in SPECS
        .iter()
        .flat_map(|spec| [(spec, "named.ops"), (spec, "home.parquet")])
    {
        fsage(
            at,
            &format!("age {workload} --on {spec} -o run --force --image"),
            0,
        );
        EXT4.exports_as_aged(at, &format!("{spec} {workload}"));
    }
    let foreign = fsage(at, "age named.ops --on ext4:from=named.ops -o no", 2);
    assert!(
        foreign.contains("from=named.ops: no ext4 file system"),
        "{foreign}"
    );
    let other = fsage(at, "age named.ops --on xfs:from=disk.img -o no", 2);
    assert!(
        other.contains("no xfs file system, but an ext2, ext3 or ext4"),
        "{other}"
    );
    let both = fsage(at, "age named.ops --on ext4:from=disk.img,size=1G -o no", 2);
    assert!(both.contains("what `from` names decides"), "{both}");
    let refused = fsage(at, "export run disk.img", 2);
    assert!(refused.contains("--force replaces it"), "{refused}");
}

/// The target of a snapshot of this one: with what the snapshot does not say, and a key more.
fn unrecorded(spec: &str, more: Option<&str>) -> String {
    let keys = spec.trim_start_matches("ext4:").split(',');
    let kept = ["flex=", "regime=", "checksums=", "64bit=", "resize="];
    let is_kept = |key: &&str| kept.iter().any(|kept| key.starts_with(kept));
    let keys: Vec<&str> = more.into_iter().chain(keys.filter(is_kept)).collect();
    match keys[..] {
        [] => "ext4".to_owned(),
        _ => format!("ext4:{}", keys.join(",")),
    }
}

#[test]
fn a_model_and_an_image_begin_with_a_snapshot() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    workload(at);
    fs::write(at.join("nothing.ops"), "day 1\n").expect("a file");
    for (spec, workload) in SPECS
        .iter()
        .flat_map(|spec| [(spec, "named.ops"), (spec, "home.parquet")])
    {
        let what = format!("{spec} {workload}");
        fsage(
            at,
            &format!("export {workload} disk.img --on {spec} --force"),
            0,
        );
        fsage(at, "snapshot disk.img -o s.parquet --force", 0);
        let expected = extents(at, "s.parquet");
        let target = unrecorded(spec, None);
        let from = unrecorded(spec, Some("from=s.parquet"));
        fsage(
            at,
            &format!("age nothing.ops --on {from} -o from --force --check"),
            0,
        );
        let parquet = target_folder(at, "from").join("final.parquet");
        assert_eq!(extents(at, &parquet.to_string_lossy()), expected, "{what}");
        fsage(
            at,
            &format!("export s.parquet like.img --on {target} --force"),
            0,
        );
        is_clean(at, "like.img");
        fsage(at, "snapshot like.img -o like.parquet --force", 0);
        assert_eq!(extents(at, "like.parquet"), expected, "{what}");
        assert_eq!(
            free_runs(at, "like.parquet"),
            free_runs(at, "s.parquet"),
            "{what}"
        );
        assert_eq!(differences(at, "s.parquet", "like.parquet"), 0, "{what}");
        // Names that are hidden, as images are shared.
        fsage(
            at,
            "snapshot disk.img -o hidden.parquet --anonymize --force",
            0,
        );
        fsage(
            at,
            &format!("export hidden.parquet like.img --on {target} --force"),
            0,
        );
        is_clean(at, "like.img");
        let control = format!("export hidden.parquet fresh.img --on {target} --control --force");
        fsage(at, &control, 0);
        is_clean(at, "fresh.img");
    }
    let refused = fsage(
        at,
        "age nothing.ops --on ext4:from=s.parquet,size=1G -o no",
        2,
    );
    assert!(refused.contains("what `from` names decides"), "{refused}");
    let refused = fsage(at, "age nothing.ops --on ext4:from=home.parquet -o no", 2);
    assert!(refused.contains("no ext4 file system"), "{refused}");
    let refused = fsage(at, "export s.parquet no.img --on ffs", 2);
    assert!(refused.contains("expected ext4"), "{refused}");
}

/// By hand: the first life leaves a file of 4,096 and 40,000 bytes in the image, and the second writes one of its own.
#[test]
fn a_file_of_an_image_is_said_to_have_come_with_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    fs::write(
        at.join("first.ops"),
        "create 1 0 4096\ncreate 2 0 4096\nday 1\nappend 1 40000\nday 2\n",
    )
    .expect("a file");
    fs::write(at.join("second.ops"), "create 3 0 9000\nday 1\n").expect("a file");
    fsage(
        at,
        "export first.ops disk.img --on ext4:size=64M,regime=c",
        0,
    );
    fsage(at, "age second.ops --on ext4:from=disk.img -o run", 0);
    let run = target_folder(at, "run");
    let run = run.strip_prefix(at).expect("below").display().to_string();
    let json: serde_json::Value =
        serde_json::from_str(&fsage(at, &format!("history {run} --path /f1 --json"), 0))
            .expect("JSON");
    assert_eq!(json["came_with"], "disk.img", "{json}");
    assert_eq!(json["path"], "/f1");
    assert_eq!(json["size_bytes"], 44_096);
    assert!(json["days"].as_array().expect("days").is_empty());
    let said = fsage(at, &format!("history {run} --path f1"), 0);
    assert!(said.contains("It came with disk.img"), "{said}");
    let own = fsage(at, &format!("history {run} --path f3"), 0);
    assert!(
        !own.contains("It came with") && own.contains("create 8.8 KiB"),
        "{own}"
    );
    let none = fsage(at, &format!("history {run} --path f4"), 2);
    assert!(
        none.contains("no regular file /f4 is there at the end"),
        "{none}"
    );
}

#[test]
fn the_kernel_mounts_an_image_and_goes_on_with_it() {
    if let Err(why) = RealFs::usable("ext4") {
        return skip("images of the Ext4 model, mounted", &why);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    workload(at);
    for spec in SPECS {
        for workload in ["named.ops", "home.parquet"] {
            fsage(at, &format!("age {workload} --on {spec} -o run --force"), 0);
            EXT4.goes_on_mounted(at, workload, &format!("{spec} {workload}"));
        }
    }
}

/// Of each file of a mounted tree its path, inode, size, blocks, permissions, links and time.
fn tree(root: &Path) -> Vec<String> {
    let format = "%P|%i|%s|%b|%m|%n|%y|%T@\\n";
    let found = Command::new("find")
        .arg(root)
        .args(["-not", "-path", "*/lost+found", "-printf", format])
        .output()
        .expect("find runs");
    let text = String::from_utf8_lossy(&found.stdout).into_owned();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort_unstable();
    assert!(lines.len() > 400, "{text}");
    lines
}

#[test]
fn the_kernel_mounts_what_a_snapshot_of_a_mounted_file_system_tells() {
    if let Err(why) = RealFs::usable("ext4") {
        return skip("an image of a snapshot, mounted", &why);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    workload(at);
    for (spec, workload) in SPECS
        .iter()
        .flat_map(|spec| [(spec, "named.ops"), (spec, "home.parquet")])
    {
        let what = format!("{spec} {workload}");
        fsage(
            at,
            &format!("export {workload} disk.img --on {spec} --force"),
            0,
        );
        let mounted = Mounted::new(at, "disk.img", "ro");
        fsage(at, "snapshot mnt -o s.parquet --force", 0);
        let (expected, found) = (extents(at, "s.parquet"), tree(&mounted.0));
        drop(mounted);
        fsage(
            at,
            &format!(
                "export s.parquet like.img --on {} --force",
                unrecorded(spec, None)
            ),
            0,
        );
        is_clean(at, "like.img");
        let mounted = Mounted::new(at, "like.img", "ro");
        fsage(at, "snapshot mnt -o like.parquet --force", 0);
        assert_eq!(extents(at, "like.parquet"), expected, "{what}");
        assert_eq!(tree(&mounted.0), found, "{what}");
        drop(mounted);
        assert_eq!(
            free_runs(at, "like.parquet"),
            free_runs(at, "s.parquet"),
            "{what}"
        );
        // The kernel goes on with it.
        let mounted = Mounted::new(at, "like.img", "rw");
        for number in 0..300 {
            let path = mounted.0.join(format!("new {number}"));
            fs::write(path, vec![7; number * 100]).expect("room");
        }
        drop(mounted);
        is_clean(at, "like.img");
    }
}

/// A loop device over the file `disk`, let go of in the end.
struct Attached(String);

impl Attached {
    fn new(at: &Path) -> Attached {
        let device = system(at, "losetup", "--show -f disk");
        Attached(device.trim().to_owned())
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["-d", &self.0]).status();
    }
}

#[test]
fn a_device_is_written_to_only_by_force_and_unmounted() {
    if let Err(why) = RealFs::usable("ext4") {
        return skip("an Ext4 model on a device", &why);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    workload(at);
    let file = File::create(at.join("disk")).expect("a file");
    for at in 0..64 {
        file.write_all_at(&vec![0xa5; 1 << 20], at << 20)
            .expect("room");
    }
    let attached = Attached::new(at);
    let device = &attached.0;
    let export = |size: u32, force: &str, status| {
        let args = format!("export named.ops {device} --on ext4:size={size}M --data noise {force}");
        fsage(at, &args, status)
    };
    let without = export(64, "", 2);
    let small = export(65, "--force", 2);
    export(64, "--force", 0);
    let said = command(at, "e2fsck", &format!("-f -n {device}"));
    fs::create_dir(at.join("mnt")).expect("a folder");
    system(at, "mount", &format!("{device} mnt"));
    let mounted = export(64, "--force", 3);
    system(at, "umount", "mnt");
    drop(attached);
    assert!(without.contains("--force"), "{without}");
    assert!(small.contains("67108864 bytes"), "{small}");
    assert!(mounted.contains("mounted"), "{mounted}");
    assert!(
        said.status.success(),
        "{}",
        String::from_utf8_lossy(&said.stdout)
    );
}
