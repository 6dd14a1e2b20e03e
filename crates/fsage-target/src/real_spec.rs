//! Naming a real file system: `dir:PATH,key=value,...` and `loop:FS,key=value,...`.

use crate::directory::{Data, Options, Sync};
use crate::loop_image::{Kind, LoopOptions, Uuid};
use crate::spec::{SpecError, TargetSpec};
use crate::words;
use fsage_core::size;
use fsage_linux::mount::MountOptions;
use std::path::PathBuf;

/// Keys of every real file system, with their meaning and default.
pub const REAL_KEYS: [(&str, &str); 4] = [
    (
        "sync",
        "when data is brought to disk: day (default), each (every file), end",
    ),
    (
        "data",
        "what files hold: write (default), fallocate (blocks without data), hole (no blocks)",
    ),
    (
        "threads",
        "that replay independent directories (1: the order of operations is the workload's)",
    ),
    (
        "control",
        "path of the control: for dir an empty directory, for loop a new image",
    ),
];

/// Keys of `dir` only, with their meaning and default.
pub const DIR_KEYS: [(&str, &str); 1] = [(
    "reserve",
    "stays free for others (1G, at most 5 %; 0 if PATH is the root of its file system)",
)];

/// Keys of `loop` only, with their meaning and default.
pub const LOOP_KEYS: [(&str, &str); 6] = [
    ("size", "of the image (1G); takes K, M, G, T"),
    ("image", "path of the image (in the folder of the run)"),
    (
        "mkfs",
        "more options for mkfs that name no file, as in mkfs=\"-O ^metadata_csum\"",
    ),
    (
        "mount",
        "mount options, as in mount=\"noatime,data=journal\"",
    ),
    (
        "direct",
        "flag: the image is read and written with direct I/O",
    ),
    (
        "uuid",
        "of the file system, and the hash seed of ext2, ext3, ext4",
    ),
];

/// A real file system to replay on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RealSpec {
    /// Where the tree lies.
    pub place: Place,
    /// How it is replayed on.
    pub options: Options,
    /// Where the control lies, if that was said.
    pub control: Option<PathBuf>,
}

/// Where the tree of a real file system lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a directory that is there.
    Dir(PathBuf),
    /// In an image of its own.
    Loop(LoopOptions),
}

impl RealSpec {
    /// Reads a specification of kind `dir` or `loop`; `None` for another kind.
    pub(crate) fn new(spec: &TargetSpec) -> Option<Result<RealSpec, SpecError>> {
        let place = spec.place.as_deref()?;
        Some(parse(spec, place).map_err(|reason| SpecError::new(spec, reason)))
    }
}

fn parse(spec: &TargetSpec, place: &str) -> Result<RealSpec, String> {
    let place = match spec.kind.as_str() {
        "loop" => Place::Loop(LoopOptions::new(Kind::parse(place).ok_or_else(|| {
            let known = Kind::ALL.map(Kind::name).join(", ");
            format!("unknown file system `{place}`; known: {known}")
        })?)),
        _ => Place::Dir(PathBuf::from(place)),
    };
    let mut real = RealSpec {
        place,
        options: Options::default(),
        control: None,
    };
    for (key, value) in &spec.options {
        let value = value.as_deref();
        let known = match &mut real.place {
            Place::Loop(options) => set_loop(options, key, value)?,
            Place::Dir(_) => set_dir(&mut real.options, key, value)?,
        };
        if !known && !set(&mut real, key, value)? {
            return Err(unknown(key, &real.place));
        }
    }
    Ok(real)
}

/// Sets one of [`REAL_KEYS`]; `false` if it is none.
fn set(real: &mut RealSpec, key: &str, value: Option<&str>) -> Result<bool, String> {
    match key {
        "sync" => {
            let policies = [("day", Sync::Day), ("each", Sync::Each), ("end", Sync::End)];
            real.options.sync = one_of(key, value, &policies)?;
        }
        "data" => {
            let modes = [
                ("write", Data::Write),
                ("fallocate", Data::Fallocate),
                ("hole", Data::Hole),
            ];
            real.options.data = one_of(key, value, &modes)?;
        }
        "threads" => {
            let value = needed(key, value)?;
            let threads = value
                .parse()
                .ok()
                .filter(|threads| (1..=1024).contains(threads));
            real.options.threads =
                threads.ok_or_else(|| bad(key, value, "a number from 1 to 1024"))?;
        }
        "control" => real.control = Some(path(key, value)?),
        _ => return Ok(false),
    }
    Ok(true)
}

/// Sets one of [`DIR_KEYS`]; `false` if it is none.
fn set_dir(options: &mut Options, key: &str, value: Option<&str>) -> Result<bool, String> {
    if key != "reserve" {
        return Ok(false);
    }
    let value = needed(key, value)?;
    let bytes = size::parse(value).map_err(|_| bad(key, value, "a size, as in 0, 512M or 2G"))?;
    options.reserve_bytes = Some(bytes);
    Ok(true)
}

/// Sets one of [`LOOP_KEYS`]; `false` if it is none.
fn set_loop(options: &mut LoopOptions, key: &str, value: Option<&str>) -> Result<bool, String> {
    match key {
        "size" => {
            let value = needed(key, value)?;
            options.size_bytes = size::parse(value)
                .ok()
                .filter(|bytes| *bytes > 0 && bytes.is_multiple_of(4096))
                .filter(|&bytes| i64::try_from(bytes).is_ok())
                .ok_or_else(|| bad(key, value, "a multiple of 4K, as in 512M or 2G"))?;
        }
        "image" => options.image = Some(path(key, value)?),
        "mkfs" => {
            let value = needed(key, value)?;
            let said = |error: String| format!("{key}={value}: {error}");
            let words = words::split_command(value).map_err(|error| said(error.to_string()))?;
            options.set_mkfs(words).map_err(said)?;
        }
        "mount" => {
            needed(key, value)?.clone_into(&mut options.mount);
            MountOptions::parse(&options.mount).map_err(|error| error.to_string())?;
        }
        "direct" if value.is_none() => options.direct = true,
        "direct" => return Err("direct is a flag: it takes no value".to_owned()),
        "uuid" => {
            let value = needed(key, value)?;
            let form = "the form 01234567-89ab-cdef-0123-456789abcdef";
            options.uuid = Uuid::parse(value).ok_or_else(|| bad(key, value, form))?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn needed<'a>(key: &str, value: Option<&'a str>) -> Result<&'a str, String> {
    value
        .filter(|value| !value.is_empty())
        .ok_or_else(|| format!("{key} needs a value: {key}=..."))
}

fn path(key: &str, value: Option<&str>) -> Result<PathBuf, String> {
    needed(key, value).map(PathBuf::from)
}

fn one_of<T: Copy>(key: &str, value: Option<&str>, known: &[(&str, T)]) -> Result<T, String> {
    let value = needed(key, value)?;
    let found = known.iter().find(|(name, _)| *name == value);
    found.map(|&(_, value)| value).ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|&(name, _)| name).collect();
        bad(key, value, &format!("one of {}", names.join(", ")))
    })
}

fn bad(key: &str, value: &str, expected: &str) -> String {
    format!("{key}={value}: expected {expected}")
}

fn unknown(key: &str, place: &Place) -> String {
    let own: &[(&str, &str)] = match place {
        Place::Loop(_) => &LOOP_KEYS,
        Place::Dir(_) => &DIR_KEYS,
    };
    let known: Vec<&str> = REAL_KEYS.iter().chain(own).map(|&(key, _)| key).collect();
    let hint = if matches!(place, Place::Dir(_)) {
        "; a path with a comma in it needs quotes: dir:\"a,b\""
    } else {
        ""
    };
    format!("unknown key `{key}`; known: {}{hint}", known.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn real(text: &str) -> RealSpec {
        let spec = TargetSpec::parse(text).unwrap();
        // What is printed is read as the same.
        assert_eq!(TargetSpec::parse(&spec.to_string()).unwrap(), spec);
        spec.real().unwrap().unwrap()
    }

    fn error(text: &str) -> String {
        TargetSpec::parse(text)
            .unwrap()
            .real()
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn a_directory_may_have_any_path() {
        for (text, path) in [
            ("dir:/mnt/a", "/mnt/a"),
            ("dir:/mnt/a:b=c d", "/mnt/a:b=c d"),
            ("dir:\"/mnt/a,b\"", "/mnt/a,b"),
            (r#"dir:"/mnt/say \"no\"",sync=day"#, r#"/mnt/say "no""#),
            ("dir:it's", "it's"),
        ] {
            assert_eq!(real(text).place, Place::Dir(PathBuf::from(path)), "{text}");
        }
    }

    #[test]
    fn keys_of_every_real_file_system() {
        let real = real("dir:x,sync=each,data=hole,threads=4,control=/mnt/c=d,reserve=2G");
        let options = Options {
            sync: Sync::Each,
            data: Data::Hole,
            threads: 4,
            reserve_bytes: Some(2 << 30),
        };
        assert_eq!(real.options, options);
        assert_eq!(real.control, Some(PathBuf::from("/mnt/c=d")));
    }

    #[test]
    fn keys_of_an_image() {
        let text = "loop:ext4,size=2G,image=/i/a:b,mkfs=\"-O ^has_journal -L 'a b'\",\
                    mount=\"noatime,data=writeback\",direct,uuid=0fc63daf-8483-4772-8e79-3d69d8477de4,sync=end";
        let real = real(text);
        let expected = LoopOptions {
            kind: Kind::Ext4,
            size_bytes: 2 << 30,
            image: Some(PathBuf::from("/i/a:b")),
            mkfs: ["-O", "^has_journal", "-L", "a b"]
                .map(str::to_owned)
                .to_vec(),
            mount: "noatime,data=writeback".to_owned(),
            direct: true,
            uuid: Uuid::parse("0fc63daf-8483-4772-8e79-3d69d8477de4").unwrap(),
        };
        assert_eq!(real.place, Place::Loop(expected));
        assert_eq!(real.options.sync, Sync::End);
    }

    #[test]
    fn errors_say_what_would_be_right() {
        let table = [
            ("loop:ext5", "known: ext2, ext3, ext4, xfs, btrfs"),
            (
                "dir:x,size=1G",
                "unknown key `size`; known: sync, data, threads, control, reserve; a path",
            ),
            (
                "loop:xfs,shade=red",
                "threads, control, size, image, mkfs, mount, direct, uuid",
            ),
            ("loop:xfs,size=5k", "a multiple of 4K"),
            ("loop:xfs,size=4097", "a multiple of 4K"),
            ("loop:xfs,size=8388608T", "a multiple of 4K"),
            ("loop:xfs,direct=yes", "takes no value"),
            ("loop:xfs,uuid=1", "the form 01234567-89ab-"),
            ("loop:xfs,mkfs=\"-L 'x\"", "a quote ' is not closed"),
            (
                "loop:btrfs,mkfs=/path/victim.img",
                "mkfs=/path/victim.img: `/path/victim.img` is no option",
            ),
            ("loop:ext4,mkfs=\"-d /etc\"", "`-d` is not allowed"),
            ("loop:xfs,mount=loop", "leave it out"),
            ("loop:xfs,mount=logdev=/dev/sda", "names a file or device"),
            ("loop:xfs,image", "image needs a value"),
            ("dir:x,threads=0", "from 1 to 1024"),
            ("dir:x,reserve=some", "a size, as in"),
            ("loop:xfs,reserve=1G", "unknown key `reserve`"),
            ("dir:x,sync=never", "one of day, each, end"),
            ("dir:x,data=zeros", "one of write, fallocate, hole"),
        ];
        for (text, expected) in table {
            let error = error(text);
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
