//! Naming a real file system: `dir:PATH,key=value,...` and `loop:FS,key=value,...`.

use crate::directory::{Data, Options, Sync};
use crate::loop_image::{Kind, LoopOptions, Regime, Uuid};
use fsage_core::keys::{Key, instead};
use fsage_core::{size, words};
use fsage_linux::mount::MountOptions;
use std::path::PathBuf;

/// Keys of every real file system.
const REAL_KEYS: &[Key] = &[
    Key::word(
        "sync",
        &["day", "each", "end"],
        "day",
        "when data is brought to disk: the whole file system at the end of a day, every file after each write as well, \
         or all at the end",
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
    Key::number(
        "stream_req",
        "blocks",
        "",
        "of ext4, `mb_stream_req`: files up to this size share a preallocation of 512 blocks",
    )
    .by_rule("as the kernel sets it: 16"),
    Key::text(
        "sysfs",
        "settings",
        "none",
        "written to `/sys/fs/ext4/DEVICE` (xfs, f2fs alike) after every mount, as in \
         `sysfs=\"mb_group_prealloc=64,mb_max_to_scan=20\"`",
    ),
    Key::word(
        "regime",
        &["a", "b", "c", "d", "strict"],
        "",
        "of ext4, and `strict` of xfs: two replays give the same layout, that of the model `ext4` or `xfs` in this \
         regime. Settings of the machine are changed meanwhile, and put back",
    )
    .by_rule("none"),
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
    place_of: fn(&str) -> Result<Place, String>,
    /// What a message about an unknown key says last.
    hint: &'static str,
    /// Examples of targets, for help.
    pub examples: &'static [&'static str],
}

/// Every kind of real file system.
pub static REAL_KINDS: [RealKind; 2] = [
    RealKind {
        name: "dir",
        summary: "dir:PATH: an empty directory of a mounted file system",
        place: "a directory: dir:PATH",
        own_keys: DIR_KEYS,
        place_of: |path| Ok(Place::Dir(PathBuf::from(path))),
        hint: "; a path with a comma in it needs quotes: dir:\"a,b\"",
        examples: &["dir:PATH,sync=each"],
    },
    RealKind {
        name: "loop",
        summary: "loop:FS: a new image with ext2, ext3, ext4, xfs, btrfs, ... that nobody else sees; needs root",
        place: "a type of file system: loop:ext4",
        own_keys: LOOP_KEYS,
        place_of: loop_place,
        hint: "; what `mount -o` takes stands in mount=\"allocsize=64k\", what is in /sys/fs in \
               sysfs=\"mb_group_prealloc=64\"",
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

impl RealKind {
    /// Every key, in the order of the documentation.
    pub fn keys(&self) -> impl Iterator<Item = &'static Key> + use<> {
        REAL_KEYS.iter().chain(self.own_keys)
    }

    /// The kind of this name.
    pub fn by_name(name: &str) -> Option<&'static RealKind> {
        REAL_KINDS.iter().find(|kind| kind.name == name)
    }

    /// Reads what stands behind `KIND:`: the place, and keys with their values.
    ///
    /// # Errors
    /// What is wrong, and what would be right.
    pub fn parse<'a>(
        &self,
        place: &str,
        options: impl IntoIterator<Item = (&'a str, Option<&'a str>)>,
    ) -> Result<RealSpec, String> {
        let place = (self.place_of)(place)?;
        let mut real = RealSpec {
            place,
            options: Options::default(),
            control: None,
        };
        for (key, value) in options {
            let known = match &mut real.place {
                Place::Loop(options) => set_loop(options, key, value)?,
                Place::Dir(_) => set_dir(&mut real.options, key, value)?,
            };
            if !known && !set(&mut real, key, value)? {
                return Err(self.unknown(key));
            }
        }
        suit_regime(&mut real)?;
        Ok(real)
    }

    fn unknown(&self, key: &str) -> String {
        let known: Vec<&str> = self.keys().map(|key| key.name).collect();
        let instead = instead(key, &known);
        format!("unknown key `{key}`{instead}{}", self.hint)
    }
}

fn loop_place(kind: &str) -> Result<Place, String> {
    let parsed = Kind::parse(kind).ok_or_else(|| {
        let known = Kind::ALL.map(Kind::name);
        let instead = match kind.split_once(':') {
            Some((name, keys)) => format!("; keys stand behind a comma: `loop:{name},{keys}`"),
            None => instead(kind, &known),
        };
        format!(
            "unknown file system `{kind}`{instead}; known: {}",
            known.join(", ")
        )
    })?;
    Ok(Place::Loop(LoopOptions::new(parsed)))
}

/// In a regime data is stored as it says, by one thread.
fn suit_regime(real: &mut RealSpec) -> Result<(), String> {
    let Place::Loop(LoopOptions {
        regime: Some(regime),
        ..
    }) = &real.place
    else {
        return Ok(());
    };
    let name = regime.name;
    if real.options.threads > 1 {
        return Err(format!(
            "regime={name}: one thread only, or no two replays are the same"
        ));
    }
    if real.options.data == Data::Hole {
        return Err(format!("regime={name}: data=hole allocates nothing"));
    }
    if regime.data != Data::default() {
        real.options.data = regime.data;
    }
    Ok(())
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
        "stream_req" => {
            if options.kind != Kind::Ext4 {
                return Err(format!(
                    "stream_req: ext4 has it, and {} does not",
                    options.kind
                ));
            }
            let value = needed(key, value)?;
            let blocks = value
                .parse()
                .map_err(|_| bad(key, value, "a number of blocks, as in 16"))?;
            options.stream_request = Some(blocks);
        }
        "sysfs" => {
            let value = needed(key, value)?;
            options
                .set_settings(value)
                .map_err(|error| format!("{key}={value}: {error}"))?;
        }
        "regime" => options.regime = Some(Regime::find(options.kind, needed(key, value)?)?),
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
