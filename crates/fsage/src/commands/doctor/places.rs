//! What the file systems of the current and the temporary folder tell about themselves.

use super::Check;
use fsage_core::size;
use fsage_linux::fiemap::Fiemap;
use fsage_linux::{fsmap, handle};
use std::env;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Room that an image of the usual size needs.
const ROOM: u64 = 1 << 30;

/// Extents, generations, free space and room, of both folders.
pub fn checks() -> Vec<Check> {
    let here = env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    let mut checks = of_folder("", &here);
    checks.extend(of_folder("temp-", &env::temp_dir()));
    checks
}

fn of_folder(prefix: &str, folder: &Path) -> Vec<Check> {
    let named = |name: &str, allows| Check::new(format!("{prefix}{name}"), allows);
    let place = folder.display();
    let next = "use a folder on ext4, XFS or btrfs, as with loop:ext4";

    let fiemap = named("fiemap", "layouts of files, in snapshots and dir: targets");
    let fiemap = match extents(folder) {
        Ok(count) => fiemap.yes(format!(
            "{place}: a file of {count} {}",
            if count == 1 { "extent" } else { "extents" }
        )),
        Err(error) => fiemap.no(format!("{place}: {error}"), next),
    };
    let generations = named(
        "generations",
        "snapshots that know a file from its successor",
    );
    let generations = match generation(folder) {
        Ok(Some(generation)) => generations.yes(format!("{place}: generation {generation}")),
        Ok(None) => generations.no(format!("{place}: no file handles that are known"), next),
        Err(error) => generations.no(format!("{place}: {error}"), next),
    };
    let free_map = named(
        "free-map",
        "free space by run, in snapshots and dir: targets",
    );
    let free_map = match free_runs(folder) {
        Ok(count) => free_map.yes(format!("{place}: {count} free runs")),
        Err(error) => free_map.no(format!("{place}: {error}"), "use a folder on ext4 or XFS"),
    };
    let room = named("room", "images and results there");
    let room = match free_bytes(folder) {
        Ok(bytes) if bytes >= ROOM => room.yes(format!("{place}: {} free", size::human(bytes))),
        Ok(bytes) => room.no(
            format!("{place}: {} free", size::human(bytes)),
            "make room, or give -o and image= another place",
        ),
        Err(error) => room.no(format!("{place}: {error}"), "use another folder"),
    };
    vec![fiemap, generations, free_map, room]
}

/// How many extents a file has.
fn extents(folder: &Path) -> io::Result<usize> {
    let file = sample(folder)?;
    let mut extents = Vec::new();
    Fiemap::new().extents(&file, &mut extents)?;
    Ok(extents.len())
}

/// A new file without a name, or where nothing can be written, any file.
fn sample(folder: &Path) -> io::Result<File> {
    let made = tempfile::tempfile_in(folder).and_then(|mut file| {
        file.write_all(&[1; 8192])?;
        file.sync_all()?;
        Ok(file)
    });
    made.or_else(|error| {
        fs::read_dir(folder)?
            .filter_map(Result::ok)
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
            .find_map(|entry| File::open(entry.path()).ok())
            .ok_or(error)
    })
}

fn generation(folder: &Path) -> io::Result<Option<u32>> {
    let file = File::open(folder)?;
    let magic = rustix::fs::fstatfs(&file)?.f_type as u64 & 0xffff_ffff;
    Ok(handle::generation(
        &file,
        c"",
        magic,
        file.metadata()?.ino(),
    ))
}

fn free_runs(folder: &Path) -> io::Result<usize> {
    let file = File::open(folder)?;
    let device = file.metadata()?.dev();
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    Ok(fsmap::free_map(&file, major, minor)?.free.len())
}

fn free_bytes(folder: &Path) -> io::Result<u64> {
    let stat = rustix::fs::statvfs(folder)?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}
