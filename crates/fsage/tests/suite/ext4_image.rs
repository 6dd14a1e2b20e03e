//! Images of the Ext4 model through the program: what the kernel, `e2fsck` and our own reader of images find in them is
//! what the model says.

use crate::real::{RealFs, skip, target_folder};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn command(at: &Path, program: &str, args: &str) -> Output {
    Command::new(program)
        .args(args.split_whitespace())
        .current_dir(at)
        .output()
        .unwrap_or_else(|error| panic!("{program} {args}: {error}"))
}

/// It must end with this status; gives what it printed, errors last.
fn fsage(at: &Path, args: &str, status: i32) -> String {
    let run = command(at, env!("CARGO_BIN_EXE_fsage"), args);
    let message = String::from_utf8_lossy(&run.stderr);
    let text = String::from_utf8_lossy(&run.stdout);
    assert_eq!(
        run.status.code(),
        Some(status),
        "fsage {args}: {message}{text}"
    );
    format!("{text}{message}")
}

/// A system program must succeed.
fn system(at: &Path, program: &str, args: &str) -> String {
    let run = command(at, program, args);
    let text = [&run.stdout[..], &run.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(run.status.success(), "{program} {args}: {text}");
    text
}

fn is_clean(at: &Path, image: &str) {
    if Command::new("e2fsck").arg("-V").output().is_err() {
        return skip("e2fsck", "it is not installed");
    }
    let said = system(at, "e2fsck", &format!("-f -n {image}"));
    assert!(!said.contains("? no"), "{image}: {said}");
}

/// Every file of a snapshot with its inode, size and extents.
fn extents(at: &Path, snapshot: &str) -> Vec<String> {
    let text = fsage(at, &format!("inspect {snapshot} --extents"), 0);
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(str::to_owned).collect()
}

/// Ten days of a home directory, and what it has not: names, permissions, times, links, a hole, a directory with an
/// index.
fn workload(at: &Path) {
    let mut text = String::from("#! epoch 1000000000\n@0 mkdir 9000 mode=0750 \"with a name\"\n");
    text.push_str("@10 create 90000 9000 70000 mode=0600 \"Größe\"\n@20 link 90001 90000 9000\n");
    text.push_str("@30 symlink 90002 9000 20\n@40 symlink 90003 0 300\n");
    text.push_str("@50 create 90004 0 1000\n@60 write 90004 500000 5000\n");
    for file in 0..400 {
        let name = format!("a file with a longer name, number {file}");
        let id = 91_000 + file;
        let _ = writeln!(text, "@70 create {id} 9000 {file} \"{name}\"");
    }
    text.push_str("@80 delete 91000\nday 1\n");
    fs::write(at.join("named.ops"), text).expect("a file");
    fsage(
        at,
        "generate profile home-1996 --days 10 -o home.parquet",
        0,
    );
}

/// Small blocks, large ones, flex groups and regimes.
const SPECS: [&str; 4] = [
    "ext4:size=400M",
    "ext4:size=2G,regime=b",
    "ext4:size=600M,bsize=2K,flex=4,regime=c",
    "ext4:size=900M,flex=1,regime=d",
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
        fsage(at, "export run disk.img --force", 0);
        fsage(at, "export run control.img --force --control", 0);
        let target = target_folder(at, "run");
        for (image, of) in [("disk.img", "final"), ("control.img", "control")] {
            is_clean(at, image);
            fsage(at, &format!("snapshot {image} -o s.parquet --force"), 0);
            let parquet = target.join(format!("{of}.parquet"));
            assert_eq!(
                extents(at, "s.parquet"),
                extents(at, &parquet.to_string_lossy()),
                "{spec} {of}"
            );
        }
        for (of_export, of_age) in [("disk.img", "ext4.img"), ("control.img", "control.img")] {
            system(
                at,
                "cmp",
                &format!("{of_export} {}", target.join(of_age).display()),
            );
        }
    }
    let foreign = fsage(at, "age named.ops --on ext4:from=named.ops -o no", 2);
    assert!(
        foreign.contains("from=named.ops: no ext4 file system"),
        "{foreign}"
    );
    let both = fsage(at, "age named.ops --on ext4:from=disk.img,size=1G -o no", 2);
    assert!(both.contains("what `from` names decides"), "{both}");
    let refused = fsage(at, "export run disk.img", 2);
    assert!(refused.contains("--force replaces it"), "{refused}");
}

/// Runs of free space of a snapshot.
fn free_runs(at: &Path, snapshot: &str) -> Vec<fsage_core::Run> {
    let map = at.join(snapshot.replace(".parquet", ".free.parquet"));
    fsage_data::snapshot::read_free_map(map, 0).expect("a free map")
}

/// The target of a snapshot of this one: with what the snapshot does not tell, and a key more.
fn untold(spec: &str, more: Option<&str>) -> String {
    let keys = spec.trim_start_matches("ext4:").split(',');
    let told = |key: &&str| key.starts_with("flex=") || key.starts_with("regime=");
    let keys: Vec<&str> = more.into_iter().chain(keys.filter(told)).collect();
    match keys[..] {
        [] => "ext4".to_owned(),
        _ => format!("ext4:{}", keys.join(",")),
    }
}

/// Inodes that are not in both snapshots alike.
fn differences(at: &Path, before: &str, after: &str) -> u64 {
    let text = fsage(at, &format!("diff {before} {after}"), 0);
    let of = |what: &str| {
        let line = text
            .lines()
            .find(|line| line.trim_start().starts_with(what));
        let count = line.and_then(|line| line.split_whitespace().last()?.parse::<u64>().ok());
        count.unwrap_or_else(|| panic!("{what}: {text}"))
    };
    assert!(of("unchanged") > 0, "{text}");
    of("created") + of("deleted") + of("modified") + of("renamed")
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
        let told = extents(at, "s.parquet");
        let target = untold(spec, None);
        let from = untold(spec, Some("from=s.parquet"));
        fsage(
            at,
            &format!("age nothing.ops --on {from} -o from --force --check"),
            0,
        );
        let parquet = target_folder(at, "from").join("final.parquet");
        assert_eq!(extents(at, &parquet.to_string_lossy()), told, "{what}");
        fsage(
            at,
            &format!("export s.parquet like.img --on {target} --force"),
            0,
        );
        is_clean(at, "like.img");
        fsage(at, "snapshot like.img -o like.parquet --force", 0);
        assert_eq!(extents(at, "like.parquet"), told, "{what}");
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

/// A mounted image, unmounted in the end.
struct Mounted(PathBuf);

impl Mounted {
    fn new(at: &Path, image: &str, options: &str) -> Mounted {
        let point = at.join("mnt");
        fs::create_dir_all(&point).expect("a folder");
        system(at, "mount", &format!("-o loop,{options} {image} mnt"));
        Mounted(point)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
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
            fsage(at, "export run disk.img --data noise --force", 0);
            let mounted = Mounted::new(at, "disk.img", "ro");
            fsage(at, "snapshot mnt -o m.parquet --force", 0);
            let parquet = target_folder(at, "run").join("final.parquet");
            assert_eq!(
                extents(at, "m.parquet"),
                extents(at, &parquet.to_string_lossy()),
                "{spec} {workload}"
            );
            if workload == "named.ops" {
                attributes(&mounted.0);
            }
            drop(mounted);
            let sound = fsage(at, "verify disk.img", 0);
            assert!(sound.contains("disk.img"), "{sound}");
            // The kernel writes and deletes.
            let mounted = Mounted::new(at, "disk.img", "rw");
            for number in 0..300 {
                fs::write(
                    mounted.0.join(format!("new {number}")),
                    vec![7; number * 100],
                )
                .expect("room");
            }
            for number in (0..300).step_by(2) {
                fs::remove_file(mounted.0.join(format!("new {number}"))).expect("it is there");
            }
            drop(mounted);
            is_clean(at, "disk.img");
            let more = fsage(at, "verify disk.img", 1);
            assert!(more.contains("new 1"), "{more}");
            // And a model goes on from there.
            fs::write(at.join("nothing.ops"), "day 1\n").expect("a file");
            let age = "age nothing.ops --on ext4:from=disk.img -o from --force --check";
            fsage(at, age, 0);
            fsage(at, "snapshot disk.img -o s.parquet --force", 0);
            let parquet = target_folder(at, "from").join("final.parquet");
            assert_eq!(
                extents(at, "s.parquet"),
                extents(at, &parquet.to_string_lossy()),
                "{spec} {workload}, from there"
            );
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
        let (told, found) = (extents(at, "s.parquet"), tree(&mounted.0));
        drop(mounted);
        fsage(
            at,
            &format!(
                "export s.parquet like.img --on {} --force",
                untold(spec, None)
            ),
            0,
        );
        is_clean(at, "like.img");
        let mounted = Mounted::new(at, "like.img", "ro");
        fsage(at, "snapshot mnt -o like.parquet --force", 0);
        assert_eq!(extents(at, "like.parquet"), told, "{what}");
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

/// What the workload says of its entries.
fn attributes(root: &Path) {
    let of = |path: &str| root.join(path).symlink_metadata().expect("it is there");
    let (dir, file) = (of("with a name"), of("with a name/Größe"));
    assert_eq!(dir.permissions().mode(), 0o4_0750);
    assert_eq!(file.permissions().mode(), 0o10_0600);
    assert_eq!((file.len(), file.nlink()), (70_000, 2));
    assert_eq!((file.mtime(), file.ctime()), (1_000_000_010, 1_000_000_020));
    assert_eq!(of("with a name/f90001").ino(), file.ino());
    for (link, bytes) in [("with a name/f90002", 20), ("f90003", 300)] {
        let target = fs::read_link(root.join(link)).expect("a link");
        assert_eq!(target.as_os_str().len(), bytes, "{link}");
    }
    assert_eq!(
        (of("f90004").len(), of("f90004").blocks() * 512 < 100_000),
        (505_000, true)
    );
    let names = fs::read_dir(root.join("with a name")).expect("a directory");
    assert_eq!(names.count(), 402);
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
