//! Naming a real file system: `dir:PATH,key=value,...` and `loop:FS,key=value,...`.

use crate::directory::{Data, Options, Sync};
use crate::loop_image::{Kind, LoopOptions, Uuid};
use crate::spec::{SpecError, TargetSpec};
use crate::words;
use fsage_core::keys::Key;
use fsage_core::size;
use fsage_linux::mount::MountOptions;
use fsage_models::ParamError;
use std::path::PathBuf;

/// Keys of every real file system.
const REAL_KEYS: &[Key] = &[
    Key::word(
        "sync",
        &["day", "each", "end"],
        "day",
        "when data is brought to disk: the whole file system at the end of a day, every file, or all at the end",
    ),
    Key::word(
        "data",
        &["write", "fallocate", "hole"],
        "write",
        "what files hold: data that can be verified, blocks that were never written, or no blocks",
    ),
    Key::number(
        "threads",
        "threads",
        "1",
        "that replay independent directories; with more than one, the layout is not the same each time",
    )
    .within(1, 1024),
    Key::text(
        "control",
        "path",
        "none for `dir`; beside the aged one for `loop`",
        "where the unaged control lies: an empty directory, or a new image",
    ),
];

/// Keys of `dir` only.
const DIR_KEYS: &[Key] = &[Key::bytes("reserve", "", "stay free for others")
    .by_rule("1G, at most 5 %; 0 at the root of a file system")];

/// Keys of `loop` only.
const LOOP_KEYS: &[Key] = &[
    Key::bytes("size", "1G", "of the image, a multiple of 4K"),
    Key::text(
        "image",
        "path",
        "in the folder of the run",
        "of the image; nothing may be there yet",
    ),
    Key::text(
        "mkfs",
        "options",
        "none",
        "more options for `mkfs` that name no file, as in `mkfs=\"-O ^metadata_csum\"`; quotes as in a shell, but no \
         shell is run",
    ),
    Key::text(
        "mount",
        "options",
        "none",
        "of `mount -o`, as in `mount=\"noatime,data=journal\"`",
    ),
    Key::flag(
        "direct",
        false,
        "the image is read and written with direct I/O, past the page cache below it",
    ),
    Key::text(
        "uuid",
        "UUID",
        "`66736167-6500-4000-8000-000000000001`",
        "of the file system, and hash seed of ext2, ext3 and ext4",
    ),
];

/// A kind of real file system.
#[derive(Clone, Copy, Debug)]
pub struct RealKind {
    /// Its name: the kind of `--on KIND:...`.
    pub name: &'static str,
    /// What it is, in a line.
    pub summary: &'static str,
    /// What stands before its keys.
    pub place: &'static str,
    /// Its keys, beside those of every real file system.
    own_keys: &'static [Key],
    /// Examples of targets, for help.
    pub examples: &'static [&'static str],
}

impl RealKind {
    /// Every key, in the order of the documentation.
    pub fn keys(&self) -> impl Iterator<Item = &'static Key> + use<> {
        REAL_KEYS.iter().chain(self.own_keys)
    }
}

/// Every kind of real file system.
pub static REAL_KINDS: [RealKind; 2] = [
    RealKind {
        name: "dir",
        summary: "dir:PATH: an empty directory of a mounted file system",
        place: "a directory: dir:PATH",
        own_keys: DIR_KEYS,
        examples: &["dir:PATH,sync=each"],
    },
    RealKind {
        name: "loop",
        summary: "loop:FS: a new image with ext2, ext3, ext4, xfs, btrfs, ... that nobody else sees; needs root",
        place: "a type of file system: loop:ext4",
        own_keys: LOOP_KEYS,
        examples: &["loop:ext4,size=4G", "loop:xfs,size=4G,data=fallocate"],
    },
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
    let name = match place {
        Place::Loop(_) => "loop",
        Place::Dir(_) => "dir",
    };
    let kind = REAL_KINDS.iter().find(|kind| kind.name == name);
    let keys = kind.into_iter().flat_map(RealKind::keys);
    let hint = match place {
        Place::Dir(_) => "; a path with a comma in it needs quotes: dir:\"a,b\"",
        Place::Loop(_) => "",
    };
    format!("{}{hint}", ParamError::unknown_key(key, keys))
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
