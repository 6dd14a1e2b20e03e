//! What the tests of the image reader need.

pub mod debugfs;

use fsage_collect::Report;
use fsage_collect::image::{ImageOptions, read_image};
use fsage_core::snapshot::{Inode, SnapshotInfo};
use fsage_core::{Extent, FileKind, SinkError, SnapshotSink};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Keeps all rows, in the order in which they come.
#[derive(Debug, Default)]
pub struct Rows {
    pub info: SnapshotInfo,
    pub inodes: Vec<Inode>,
}

impl SnapshotSink for Rows {
    fn snapshot(&mut self, info: SnapshotInfo) -> Result<(), SinkError> {
        self.info = info;
        Ok(())
    }

    fn inode(&mut self, inode: Inode) -> Result<(), SinkError> {
        self.inodes.push(inode);
        Ok(())
    }
}

impl Rows {
    /// One row an inode, under the smallest path, ascending.
    pub fn by_inode(&self) -> Vec<&Inode> {
        let mut inodes: Vec<&Inode> = self.inodes.iter().collect();
        inodes.sort_by(|a, b| (a.ino, &a.path).cmp(&(b.ino, &b.path)));
        inodes.dedup_by_key(|inode| inode.ino);
        inodes
    }

    pub fn at(&self, path: &str) -> &Inode {
        let mut inodes = self.inodes.iter();
        inodes
            .find(|inode| inode.path.as_deref() == Some(path))
            .unwrap()
    }
}

pub fn read(image: &Path) -> (Report, Rows) {
    let mut rows = Rows::default();
    let report = read_image(image, &ImageOptions::default(), &mut rows, &mut |_, _| {
        Ok(())
    })
    .unwrap();
    (report, rows)
}

/// Data extents, without the blocks of pointers.
pub fn data(inode: &Inode) -> Vec<Extent> {
    let extents = inode.extents.iter().flatten();
    extents.filter(|e| !e.is_pointers()).copied().collect()
}

/// An inode as a row of the vectors, with the extents of these kinds; `u` behind those that are unwritten.
pub fn vector_line(inode: &Inode, with_extents: &[FileKind]) -> String {
    let time = |ns: Option<i64>| ns.map_or(String::new(), |ns| ns.to_string());
    let mut extents = Vec::new();
    if with_extents.contains(&inode.kind) {
        for e in data(inode) {
            let unwritten = if e.flags & Extent::UNWRITTEN == 0 {
                ""
            } else {
                "u"
            };
            extents.push(format!(
                "{}:{}:{}{unwritten}",
                e.logical_bytes, e.physical_bytes, e.length_bytes
            ));
        }
    }
    let columns = [
        inode.ino.to_string(),
        inode.generation.unwrap().to_string(),
        inode.kind.letter().to_string(),
        inode.size_bytes.to_string(),
        inode.alloc_bytes.unwrap().to_string(),
        time(inode.ctime_ns),
        time(inode.mtime_ns),
        time(inode.btime_ns),
        inode.links.unwrap().to_string(),
        format!("{:o}", inode.mode.unwrap()),
        inode.uid.unwrap().to_string(),
        inode.gid.unwrap().to_string(),
        inode.parent_ino.unwrap().to_string(),
        inode.path.as_deref().unwrap().to_owned(),
        extents.join(";"),
    ];
    columns.join("\t")
}

pub fn vector(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/vectors/images")
        .join(name)
}

/// A vector that is compressed with zstd.
pub fn unpacked(name: &str) -> Vec<u8> {
    zstd::decode_all(std::fs::File::open(vector(name)).unwrap()).unwrap()
}

/// Free blocks as `dumpe2fs` lists them: block ranges, over all groups, joined where they touch.
pub fn free_of_dumpe2fs(text: &str) -> Vec<(u64, u64)> {
    let field = |name: &str| {
        let mut lines = text.lines();
        let number = lines.find_map(|line| line.strip_prefix(name));
        number.map(|number| number.trim().parse::<u64>().unwrap())
    };
    let block_bytes = field("Block size:").unwrap();
    // A cluster is listed as its first block.
    let cluster = field("Cluster size:").unwrap_or(block_bytes) / block_bytes;
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for line in text.lines() {
        let Some(list) = line.trim().strip_prefix("Free blocks:") else {
            continue;
        };
        // The line of the superblock has the same name, and one number that stands far to the right.
        if list.starts_with("    ") {
            continue;
        }
        for range in list
            .split(',')
            .map(str::trim)
            .filter(|range| !range.is_empty())
        {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let (first, last): (u64, u64) = (first.parse().unwrap(), last.parse().unwrap());
            let last = last + cluster - 1;
            match runs.last_mut() {
                Some(run) if run.1 + 1 == first => run.1 = last,
                _ => runs.push((first, last)),
            }
        }
    }
    runs
}

/// The free runs of a report in the same form.
pub fn free_of(report: &Report) -> Vec<(u64, u64)> {
    let block = u64::from(report.info.block_bytes.unwrap());
    let runs = report.free.iter().flatten();
    runs.map(|run| {
        let (start, end) = (run.start_bytes, run.start_bytes + run.length_bytes);
        assert_eq!((start % block, end % block), (0, 0));
        (start / block, end / block - 1)
    })
    .collect()
}

/// Whether these programs are there, and, if wanted, we are root. Says why not.
pub fn can(programs: &[&str], root: bool) -> bool {
    let say = |why: &str| {
        let _ = writeln!(std::io::stderr(), "skipped: {why}");
        false
    };
    for program in programs {
        let run = Command::new(program).arg("-V").output();
        if run.is_err() {
            return say(&format!("there is no {program} here"));
        }
    }
    if root && !rustix::process::geteuid().is_root() {
        return say("needs root, for a mount");
    }
    true
}

/// Runs a program that must succeed; its output.
pub fn run(program: &str, arguments: &[&str]) -> String {
    feed(program, arguments, "")
}

/// The same with something to read.
pub fn feed(program: &str, arguments: &[&str], input: &str) -> String {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let output = std::thread::scope(|scope| {
        scope.spawn(move || {
            // A program that ends early does not read all; its status says why.
            let _ = stdin.write_all(input.as_bytes());
        });
        child.wait_with_output().unwrap()
    });
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Makes an image of so many bytes.
pub fn mkfs(image: &Path, size_bytes: u64, arguments: &[&str]) {
    std::fs::File::create(image)
        .unwrap()
        .set_len(size_bytes)
        .unwrap();
    let image = image.to_str().unwrap();
    run("mkfs.ext4", &[&["-q", "-F"], arguments, &[image]].concat());
}

/// A mounted image, which is unmounted in the end, whatever happens.
pub struct Mounted(PathBuf);

impl Mounted {
    pub fn new(image: &Path, at: &Path, options: &str) -> Mounted {
        std::fs::create_dir_all(at).unwrap();
        let (image, point) = (image.to_str().unwrap(), at.to_str().unwrap());
        run("mount", &["-o", options, image, point]);
        Mounted(at.to_owned())
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // A child of another test holds what is open here until it runs its program: the mount is busy so long.
        let is_gone = (0..50).any(|_| {
            let status = Command::new("umount").arg(&self.0).status();
            let is_gone = status.is_ok_and(|status| status.success());
            if !is_gone {
                std::thread::sleep(std::time::Duration::from_millis(100));
            }
            is_gone
        });
        assert!(is_gone || std::thread::panicking());
    }
}
