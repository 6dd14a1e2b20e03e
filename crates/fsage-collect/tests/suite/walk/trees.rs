//! Trees of every kind of file, compared with `find`.

use crate::common::{
    Mounted, is_root, run, skipped, snapshot, snapshot_unsynced, unmount, unsynced,
};
use fsage_collect::{CollectError, WalkOptions, walk_path};
use fsage_core::names::unescape;
use fsage_core::snapshot::source_flags::{CHANGED_DURING_WALK, GEN_VALID, UNREADABLE};
use fsage_core::snapshot::{Inode, SnapshotInfo, SnapshotSink};
use fsage_core::{Extent, FileKind, LayoutInMemory, SinkError};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// A tree with everything that a directory can hold.
fn fill(root: &Path) {
    let at = |name: &[u8]| root.join(OsStr::from_bytes(name));
    fs::create_dir_all(at(b"a/b/c")).unwrap();
    fs::create_dir(at(b"empty")).unwrap();
    fs::write(at(b"a/one"), b"1").unwrap();
    fs::write(at(b"a/none"), b"").unwrap();
    fs::write(at(b"a/b/some"), vec![7; 70_000]).unwrap();
    for name in [
        &b"line\nbreak"[..],
        b"not \xff utf",
        b"back\\slash",
        b"caf\xc3\xa9",
        b" ",
    ] {
        fs::write(at(name), name).unwrap();
    }
    fs::create_dir(at(b"dir\n\xfe\\")).unwrap();
    fs::write(at(b"dir\n\xfe\\/x"), b"x").unwrap();
    let holes = File::create(at(b"holes")).unwrap();
    holes.write_all_at(b"x", 1 << 20).unwrap();
    holes.set_len(5 << 20).unwrap();
    symlink("/etc", at(b"outside")).unwrap();
    symlink("..", at(b"a/up")).unwrap();
    symlink("loop", at(b"loop")).unwrap();
    symlink("x".repeat(300), at(b"nowhere")).unwrap();
    fs::hard_link(at(b"a/one"), at(b"z")).unwrap();
    fs::hard_link(at(b"a/one"), at(b"a/b/c/another")).unwrap();
    fs::hard_link(at(b"nowhere"), at(b"a/nowhere")).unwrap();
    mknodat(CWD, at(b"fifo"), FileType::Fifo, Mode::RWXU, 0).unwrap();
    drop(UnixListener::bind(at(b"socket")).unwrap());
    if rustix::process::geteuid().is_root() {
        let null = rustix::fs::makedev(1, 3);
        mknodat(
            CWD,
            at(b"char"),
            FileType::CharacterDevice,
            Mode::RUSR,
            null,
        )
        .unwrap();
        let disk = rustix::fs::makedev(7, 200);
        mknodat(CWD, at(b"block"), FileType::BlockDevice, Mode::RUSR, disk).unwrap();
    }
}

/// What `find` says of every path: inode, type, size, 512-byte blocks, links, permissions, owner, group, ctime, mtime.
fn found(root: &Path) -> BTreeMap<Vec<u8>, String> {
    let format = "%i %y %s %b %n %m %U %G %C@ %T@\t%P\\0";
    let output = Command::new("find")
        .arg(root)
        .args(["-xdev", "-printf", format])
        .output();
    let mut found = BTreeMap::new();
    for record in output
        .unwrap()
        .stdout
        .split(|c| *c == 0)
        .filter(|r| !r.is_empty())
    {
        let tab = record.iter().position(|c| *c == b'\t').unwrap();
        let path = if tab + 1 == record.len() {
            b"."
        } else {
            &record[tab + 1..]
        };
        let mut fields: Vec<String> = str::from_utf8(&record[..tab])
            .unwrap()
            .split(' ')
            .map(String::from)
            .collect();
        for time in &mut fields[8..] {
            // Ten digits behind the point, of which nine count.
            let point = time.find('.').unwrap();
            time.truncate(point + 10);
        }
        found.insert(path.to_vec(), fields.join(" "));
    }
    found
}

/// The same of a snapshot.
fn walked(layout: &LayoutInMemory) -> BTreeMap<Vec<u8>, String> {
    let directories: BTreeMap<u64, &str> = layout
        .inodes
        .iter()
        .filter(|inode| inode.kind == FileKind::Directory)
        .map(|inode| (inode.ino, inode.path.as_deref().unwrap()))
        .collect();
    let mut walked = BTreeMap::new();
    let mut insert = |inode: &Inode, path: &str| {
        let time = |ns: Option<i64>| {
            let ns = ns.unwrap();
            format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)
        };
        let fields = [
            inode.ino.to_string(),
            inode.kind.letter().to_string(),
            inode.size_bytes.to_string(),
            (inode.alloc_bytes.unwrap() / 512).to_string(),
            inode.links.unwrap().to_string(),
            format!("{:o}", inode.mode.unwrap() & 0o7777),
            inode.uid.unwrap().to_string(),
            inode.gid.unwrap().to_string(),
            time(inode.ctime_ns),
            time(inode.mtime_ns),
        ];
        let path = unescape(path).unwrap().into_vec();
        assert!(walked.insert(path, fields.join(" ")).is_none());
    };
    for inode in &layout.inodes {
        let path = inode.path.as_deref().unwrap();
        insert(inode, path);
        let parent = path.rsplit_once('/').map_or(".", |(parent, _)| parent);
        assert_eq!(directories[&inode.parent_ino.unwrap()], parent, "{path}");
    }
    for name in &layout.names {
        let inode = layout
            .inodes
            .iter()
            .find(|inode| inode.ino == name.ino)
            .unwrap();
        match directories[&name.parent_ino] {
            "." => insert(inode, &name.name),
            parent => insert(inode, &format!("{parent}/{}", name.name)),
        }
    }
    walked
}

#[test]
fn every_kind_of_file_is_as_find_says_and_nothing_blocks() {
    let folder = TempDir::new().unwrap();
    fill(folder.path());
    let (layout, report) = snapshot_unsynced(folder.path());
    let expected = found(folder.path());
    assert!(expected.len() >= 27, "{}", expected.len());
    assert_eq!(walked(&layout), expected);
    assert_eq!(report.rows, expected.len() as u64);
    assert_eq!((report.unreadable, report.vanished), (0, 0));
    // The smallest path in byte order comes first.
    let linked = layout
        .inodes
        .iter()
        .find(|inode| inode.links == Some(3) && inode.size_bytes == 1);
    assert_eq!(linked.unwrap().path.as_deref(), Some("a/b/c/another"));
    let names: Vec<&str> = layout.names.iter().map(|name| &*name.name).collect();
    assert!(names.contains(&"one") && names.contains(&"z") && names.contains(&"nowhere"));
    // It is a directory somewhere in a file system, which is said.
    assert!(
        report.warnings[0].contains("not the root of its file system"),
        "{report:?}"
    );
    assert_eq!(report.info.source, "walk");
    assert!(report.info.walk_ns.is_some());
}

#[test]
fn what_changes_after_the_start_is_marked() {
    /// Changes a file when the walk has started.
    struct Late<'a>(&'a Path, Vec<Inode>);
    impl SnapshotSink for Late<'_> {
        fn snapshot(&mut self, _: SnapshotInfo) -> Result<(), SinkError> {
            // Times go in ticks of some milliseconds.
            std::thread::sleep(std::time::Duration::from_millis(30));
            Ok(fs::write(self.0.join("late"), "2")?)
        }
        fn inode(&mut self, inode: Inode) -> Result<(), SinkError> {
            self.1.push(inode);
            Ok(())
        }
    }
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("late"), "1").unwrap();
    fs::write(folder.path().join("early"), "1").unwrap();
    std::thread::sleep(std::time::Duration::from_millis(30));
    let mut sink = Late(folder.path(), Vec::new());
    let options = WalkOptions {
        taken_at_ns: Some(5),
        source: "replay".to_owned(),
        ..unsynced()
    };
    let report = walk_path(folder.path(), &options, &mut sink, &mut |_, _| Ok(())).unwrap();
    assert_eq!(
        (report.info.taken_at_ns, &*report.info.source),
        (5, "replay")
    );
    let flags = |name| {
        let row = sink
            .1
            .iter()
            .find(|row| row.path.as_deref() == Some(name))
            .unwrap();
        row.source_flags & CHANGED_DURING_WALK
    };
    assert_eq!((flags("late"), flags("early")), (CHANGED_DURING_WALK, 0));
}

#[test]
fn a_sink_or_a_progress_that_fails_stops_the_walk() {
    struct Full(u64);
    impl SnapshotSink for Full {
        fn snapshot(&mut self, _: SnapshotInfo) -> Result<(), SinkError> {
            Ok(())
        }
        fn inode(&mut self, _: Inode) -> Result<(), SinkError> {
            self.0 = self.0.checked_sub(1).ok_or("full")?;
            Ok(())
        }
    }
    let folder = TempDir::new().unwrap();
    // More than the channel holds.
    for i in 0..20_000 {
        File::create(folder.path().join(i.to_string())).unwrap();
    }
    let options = unsynced();
    let stopped = walk_path(folder.path(), &options, &mut Full(10), &mut |_, _| Ok(()));
    assert!(matches!(stopped, Err(CollectError::Sink(e)) if e.to_string() == "full"));
    let mut stop = |_, _| Err(io::Error::from(io::ErrorKind::Interrupted).into());
    let stopped = walk_path(folder.path(), &options, &mut Full(u64::MAX), &mut stop);
    assert!(matches!(stopped, Err(CollectError::Sink(_))));

    let error = walk_path(Path::new("/dev/null"), &options, &mut Full(0), &mut stop);
    let message = error.unwrap_err().to_string();
    assert!(
        message.contains("/dev/null") && message.contains("no directory"),
        "{message}"
    );
}

#[test]
fn what_is_mounted_inside_is_left_out_and_named() {
    let Some(mounted) = Mounted::new("ext4", &[], 16, "rw") else {
        return;
    };
    let root = mounted.root();
    for name in ["tmp", "bound", "real"] {
        fs::create_dir(root.join(name)).unwrap();
    }
    fs::write(root.join("real/file"), "1").unwrap();
    fs::write(root.join("target"), "").unwrap();
    let path = |name: &str| root.join(name).to_str().unwrap().to_owned();
    run("mount", &["-t", "tmpfs", "none", &path("tmp")]);
    // Of the same file system: only the mount tells it.
    run("mount", &["--bind", &path("real"), &path("bound")]);
    run("mount", &["--bind", &path("real/file"), &path("target")]);
    fs::write(root.join("tmp/inside"), "1").unwrap();
    let (layout, report) = snapshot(&root);
    for name in ["target", "bound", "tmp"] {
        unmount(&root.join(name));
    }
    let mut paths: Vec<&str> = layout
        .inodes
        .iter()
        .filter_map(|i| i.path.as_deref())
        .collect();
    paths.sort_unstable();
    assert_eq!(paths, [".", "lost+found", "real", "real/file"]);
    assert_eq!(report.warnings.len(), 1, "{report:?}");
    let warning = &report.warnings[0];
    assert!(
        warning.starts_with("3 mount points or subvolumes were left out"),
        "{warning}"
    );
    for name in ["tmp", "bound", "target"] {
        assert!(warning.contains(&path(name)), "{warning}");
    }
}

/// Not a test by itself: what [`without_root`] runs as another user.
#[test]
fn walk_as_another_user() {
    let Some(root) = std::env::var_os("FSAGE_TEST_WALK") else {
        return;
    };
    let (layout, report) = snapshot(Path::new(&root));
    for inode in &layout.inodes {
        let path = inode.path.as_deref().unwrap();
        let flags = inode.source_flags & UNREADABLE;
        let extents = inode.extents.as_ref().map(|extents| extents.len());
        println!(
            "row {path} {flags} {extents:?} {}",
            inode.generation.is_some()
        );
    }
    println!("unreadable {}", report.unreadable);
    for warning in report.warnings {
        println!("warning {warning}");
    }
}

#[test]
fn without_root_what_cannot_be_read_is_marked_and_named() {
    if !is_root() {
        return;
    }
    let Some(mounted) = Mounted::new("ext4", &[], 16, "rw") else {
        return;
    };
    let root = mounted.root();
    for (name, mode) in [("closed", 0o700), ("listed", 0o744), ("open", 0o755)] {
        fs::create_dir(root.join(name)).unwrap();
        fs::write(root.join(name).join("file"), "1").unwrap();
        fs::set_permissions(root.join(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    fs::write(root.join("open/secret"), "1").unwrap();
    fs::set_permissions(root.join("open/secret"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::remove_dir(root.join("lost+found")).unwrap();
    // The folder of the mount, and a copy of this program, have to be open to everybody.
    let folder = root.parent().unwrap();
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    let program = folder.join("program");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&program)
        .args([
            "--exact",
            "walk::trees::walk_as_another_user",
            "--nocapture",
        ])
        .env("FSAGE_TEST_WALK", &root)
        .output();
    let output = match output {
        Ok(output) => output,
        Err(e) => return skipped(&format!("setpriv: {e}")),
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let lines = |start: &str| {
        let mut lines: Vec<&str> = text.lines().filter_map(|l| l.strip_prefix(start)).collect();
        lines.sort_unstable();
        lines
    };
    assert_eq!(
        lines("row "),
        [
            ". 0 Some(1) true",
            "closed 32 None true",
            "listed 0 Some(1) true",
            "open 0 Some(1) true",
            "open/file 0 Some(1) true",
            "open/secret 32 None true",
        ]
    );
    assert_eq!(lines("unreadable "), ["3"]);
    let shown = root.display();
    assert_eq!(
        lines("warning "),
        [
            &*format!(
                "1 block lists could not be read: {shown}/open/secret (Permission denied (os error 13))"
            ),
            &*format!(
                "1 directories could not be opened: {shown}/closed (Permission denied (os error 13))"
            ),
            &*format!(
                "1 files could not be looked at: {shown}/listed/file (Permission denied (os error 13))"
            ),
        ]
    );
}

#[test]
fn a_file_system_without_block_lists_says_so_once() {
    if !is_root() {
        return;
    }
    let folder = TempDir::new().unwrap();
    let path = folder.path().to_str().unwrap();
    run("mount", &["-t", "tmpfs", "none", path]);
    for i in 0..100 {
        fs::write(folder.path().join(i.to_string()), "some").unwrap();
    }
    let taken = std::panic::catch_unwind(|| snapshot(folder.path()));
    unmount(folder.path());
    let (layout, report) = taken.unwrap();
    assert_eq!(layout.inodes.len(), 101);
    for inode in &layout.inodes {
        let is_file = inode.kind == FileKind::Regular;
        assert_eq!(inode.source_flags & UNREADABLE != 0, is_file);
        assert_eq!(
            inode.extents,
            if is_file { None } else { inode.extents.clone() }
        );
        assert!(inode.source_flags & GEN_VALID != 0 && inode.generation.is_some());
    }
    assert_eq!((report.unreadable, report.free), (0, None));
    assert_eq!(
        report.warnings,
        ["1 file system does not report where files lie (neither FIEMAP nor FIBMAP): tmpfs"]
    );
}

#[test]
fn fibmap_agrees_with_fiemap() {
    if !is_root() {
        return;
    }
    let Some(mounted) = Mounted::new("ext4", &[], 16, "rw") else {
        return;
    };
    let path = mounted.root().join("file");
    let file = File::create(&path).unwrap();
    for at in [0, 4096, 40_960, 1 << 20] {
        file.write_all_at(&[1; 4096], at).unwrap();
        file.sync_all().unwrap();
    }
    let (layout, _) = snapshot(&mounted.root());
    let inode = layout
        .inodes
        .iter()
        .find(|i| i.path.as_deref() == Some("file"))
        .unwrap();
    let file = File::open(&path).unwrap();
    let mut extents: Vec<Extent> = Vec::new();
    fsage_linux::fibmap::extents(&file, inode.size_bytes, &mut extents).unwrap();
    assert!(extents.len() >= 3);
    assert_eq!(inode.extents.as_deref(), Some(&extents[..]));
}
