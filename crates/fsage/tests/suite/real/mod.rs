//! What tests of real file systems share: whether they can run here, workloads, and a second look by other tools.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// Says on stderr that a test did not run, and why.
pub fn skip(test: &str, why: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {test}: {why}");
}

/// The folder of vectors beside the project.
pub fn linux_vectors() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors/linux");
    if folder.is_dir() {
        return Some(folder);
    }
    skip(
        "linux vectors",
        "the folder of vectors is not beside the project",
    );
    None
}

/// A file system that can be made, mounted and checked here.
#[derive(Clone, Copy, Debug)]
pub struct RealFs {
    pub name: &'static str,
}

impl RealFs {
    /// Or why it cannot.
    pub fn usable(name: &'static str) -> Result<RealFs, String> {
        if !is_root() {
            return Err("root is needed for loop devices".to_owned());
        }
        if !Path::new("/dev/loop-control").exists() {
            return Err("there are no loop devices here".to_owned());
        }
        let fs = RealFs { name };
        for program in [format!("mkfs.{name}"), fs.checker()[0].to_owned()] {
            if !program_exists(&program) {
                return Err(format!("`{program}` is not installed"));
            }
        }
        let known = fs::read_to_string("/proc/filesystems").unwrap_or_default();
        let served = known.split_whitespace().any(|word| word == name);
        let by_ext4 = name.starts_with("ext") && known.contains("ext4");
        if served || by_ext4 {
            Ok(fs)
        } else {
            Err(format!("this kernel has no {name}"))
        }
    }

    fn checker(self) -> &'static [&'static str] {
        match self.name {
            "xfs" => &["xfs_repair", "-n"],
            "btrfs" => &["btrfs", "check"],
            _ => &["e2fsck", "-fn"],
        }
    }

    /// Its own check finds nothing wrong with an unmounted image.
    pub fn check(self, image: &Path) {
        let [program, arguments @ ..] = self.checker() else {
            unreachable!("a checker has a name")
        };
        let check = Command::new(program)
            .args(arguments)
            .arg(image)
            .output()
            .expect("the check runs");
        let text = [check.stdout.as_slice(), &check.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        assert!(
            check.status.success(),
            "{program} {}: {text}",
            image.display()
        );
    }
}

pub fn is_root() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("Uid:"));
    line.and_then(|line| line.split_whitespace().nth(2)) == Some("0")
}

pub fn program_exists(name: &str) -> bool {
    let path = std::env::var("PATH").unwrap_or_default();
    path.split(':')
        .chain(["/sbin", "/usr/sbin"])
        .any(|folder| Path::new(folder).join(name).is_file())
}

/// Runs fsage and gives what it printed; it must succeed.
pub fn fsage(at: &Path, arguments: &[&str]) -> Output {
    let run = Command::new(env!("CARGO_BIN_EXE_fsage"))
        .args(arguments)
        .current_dir(at)
        .output()
        .expect("fsage runs");
    let message = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "fsage {arguments:?}: {message}");
    run
}

/// The same, read as JSON.
pub fn fsage_json(at: &Path, arguments: &[&str]) -> serde_json::Value {
    serde_json::from_slice(&fsage(at, arguments).stdout).expect("JSON")
}

/// The folder of the only target of a run.
pub fn target_folder(at: &Path, run: &str) -> PathBuf {
    let entries = fs::read_dir(at.join(run)).expect("a run");
    let mut folders: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_dir())
        .collect();
    assert_eq!(folders.len(), 1, "{folders:?}");
    folders.remove(0)
}

/// The aged image of a run on `loop:`.
pub fn image_of(at: &Path, run: &str) -> PathBuf {
    let folder = target_folder(at, run);
    let images =
        ["ext4", "ext3", "ext2", "xfs", "btrfs"].map(|fs| folder.join(format!("{fs}.img")));
    let image = images.into_iter().find(|image| image.exists());
    image.expect("an image in the folder of the target")
}

/// Unmounts what is still mounted below a folder when a test ends, however it ends.
#[derive(Debug)]
pub struct UnmountedAtEnd<'a>(pub &'a Path);

impl Drop for UnmountedAtEnd<'_> {
    fn drop(&mut self) {
        for mount in fs::read_to_string("/proc/mounts")
            .iter()
            .flat_map(|s| s.lines())
        {
            let place = mount.split(' ').nth(1).map(Path::new);
            if let Some(place) = place.filter(|place| place.starts_with(self.0)) {
                let unmounted = Command::new("umount").arg(place).status();
                assert!(unmounted.is_ok_and(|status| status.success()) || std::thread::panicking());
            }
        }
    }
}

/// Loop devices whose image lies below a folder.
pub fn attached_below(folder: &Path) -> Vec<String> {
    // Whoever looks for a free device may have one open at the moment, which then goes a little later.
    let end = Instant::now() + Duration::from_secs(5);
    loop {
        let attached = attached_now(folder);
        if attached.is_empty() || Instant::now() > end {
            return attached;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn attached_now(folder: &Path) -> Vec<String> {
    let below = folder.to_string_lossy().into_owned();
    let mut attached = Vec::new();
    for device in fs::read_dir("/sys/block").into_iter().flatten().flatten() {
        let backing = device.path().join("loop/backing_file");
        if let Ok(image) = fs::read_to_string(backing)
            && image.starts_with(&below)
        {
            attached.push(image);
        }
    }
    attached
}

/// A script of creates, appends and deletes over some days: `files` files of up to `bytes` bytes, a third of which go.
pub fn churn(path: &Path, files: u64, bytes: u64) {
    let mut script = String::new();
    let mut next = 88_172_645_463_325_252_u64;
    let mut random = move |below: u64| {
        next ^= next << 13;
        next ^= next >> 7;
        next ^= next << 17;
        next % below.max(1)
    };
    for dir in 1..=10 {
        let _ = writeln!(script, "mkdir {dir}");
    }
    let days = (files / 100).max(2);
    let mut alive = Vec::new();
    for file in 0..files {
        let _ = writeln!(script, "create {file} {} {}", 1 + random(10), random(bytes));
        alive.push(file);
        match random(6) {
            0 | 1 => {
                let gone = alive.swap_remove(random(alive.len() as u64) as usize);
                let _ = writeln!(script, "delete {gone}");
            }
            2 if !alive.is_empty() => {
                let grown = alive[random(alive.len() as u64) as usize];
                let _ = writeln!(script, "append {grown} {}", random(bytes / 2));
            }
            3 if !alive.is_empty() => {
                let cut = alive[random(alive.len() as u64) as usize];
                let _ = writeln!(script, "rewrite {cut} {}", random(bytes));
            }
            _ => {}
        }
        if (file + 1) % (files / days) == 0 {
            let _ = writeln!(script, "day {}", (file + 1) / (files / days));
        }
    }
    fs::write(path, script).expect("a script");
}

/// A script that asks a disk of so many MiB for half as much again, several times over.
pub fn overfill(path: &Path, megabytes: u64) {
    let mut script = String::from("mkdir 1\n");
    let mut file = 0;
    for day in 0..4 {
        let first = file;
        for _ in 0..megabytes * 3 / 2 {
            let _ = writeln!(
                script,
                "create {file} 1 {}",
                1_048_576 - (file * 4_099) % 900_000
            );
            let _ = writeln!(script, "append {file} {}", 65_536 + (file * 997) % 400_000);
            file += 1;
        }
        let _ = writeln!(script, "day {day}");
        for gone in first..file {
            let _ = writeln!(script, "delete {gone}");
        }
    }
    let _ = writeln!(script, "create {file} 1 100000\nday 4");
    fs::write(path, script).expect("a script");
}

/// Inode and extents of every regular file, `logical:physical:length` in blocks, pointer blocks left out.
pub fn extents(at: &Path, snapshot: &Path) -> Vec<(u64, String)> {
    let text = fsage(at, &["inspect", &snapshot.to_string_lossy(), "--extents"]).stdout;
    let text = String::from_utf8(text).expect("text");
    let mut files: Vec<(u64, String)> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let fields: Vec<&str> = line.split('\t').collect();
            let ino = fields[0].parse().expect("an inode number");
            (ino, fields.last().copied().unwrap_or_default().to_owned())
        })
        .collect();
    files.sort_unstable();
    files
}

/// The same of one inode as `debugfs` sees it.
pub fn debugfs_extents(image: &Path, ino: &str) -> String {
    let ask = Command::new("debugfs")
        .args(["-R", &format!("stat <{ino}>")])
        .arg(image)
        .output()
        .expect("debugfs runs");
    let text = String::from_utf8_lossy(&ask.stdout).into_owned();
    let list = text
        .split("EXTENTS:")
        .nth(1)
        .unwrap_or_default()
        .replace(['\n', ' '], "");
    let mut extents: Vec<[u64; 3]> = Vec::new();
    for item in list.split("),").flat_map(|item| item.split(",(")) {
        let item = item.trim_start_matches('(');
        if item.starts_with("ETB") {
            continue;
        }
        let Some((logical, physical)) = item.split_once("):").or_else(|| item.split_once(':'))
        else {
            continue;
        };
        let first = |range: &str| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let number = |s: &str| s.parse::<u64>().expect("a block number");
            (number(first), number(last))
        };
        let physical = physical.split(',').next().unwrap_or_default();
        let ((logical, last), (physical, _)) = (first(logical), first(physical));
        let length = last - logical + 1;
        match extents.last_mut() {
            Some([l, p, n]) if *l + *n == logical && *p + *n == physical => *n += length,
            _ => extents.push([logical, physical, length]),
        }
    }
    let words: Vec<String> = extents
        .iter()
        .map(|[l, p, n]| format!("{l}:{p}:{n}"))
        .collect();
    words.join(" ")
}

/// A command that runs fsage as nobody; `None` where that cannot be done.
pub fn as_nobody(at: &Path) -> Option<Command> {
    if !is_root() {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fsage"));
        command.current_dir(at);
        return Some(command);
    }
    if !program_exists("setpriv") {
        return None;
    }
    // The program must be readable for nobody: a copy beside the data.
    let copy = at.join("fsage");
    if !copy.exists() {
        fs::copy(env!("CARGO_BIN_EXE_fsage"), &copy).expect("a copy");
    }
    give_to_nobody(at);
    let mut command = Command::new("setpriv");
    command
        .args([
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            "./fsage",
        ])
        .current_dir(at);
    Some(command)
}

/// Makes a tree nobody's.
pub fn give_to_nobody(at: &Path) {
    if is_root() {
        let given = Command::new("chown")
            .args(["-R", "65534:65534"])
            .arg(at)
            .status();
        assert!(given.is_ok_and(|status| status.success()));
    }
}

/// Every path below a folder with size and time of change, what lies below `except` left out.
pub fn tree(at: &Path, except: &str) -> Vec<String> {
    let listing = Command::new("find")
        .args([".", "-path", &format!("./{except}"), "-prune", "-o"])
        .args(["!", "-name", ".", "-printf", "%p %s %T@ %m\\n"])
        .current_dir(at)
        .output()
        .expect("find runs");
    let text = String::from_utf8_lossy(&listing.stdout).into_owned();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}
