//! What the laboratory knows of the model.

use super::{Features, Geometry, Params, Regime, Xfs, image, params};
use crate::ParamError;
use crate::allocator_trace;
use crate::image::{Mountable, ReadError, open, refuse_decided, unread};
use crate::options::Setting;
use crate::registry::{AnyModel, Entry, FromSnapshot, Image, MakeError, Options};
use fsage_core::LayoutInMemory;
use fsage_core::io::{AnyHosted, Hosted};
use std::path::Path;

const NAME: &str = "xfs";

/// Keys that a snapshot decides, and those that an image decides besides.
const OF_IMAGE: &[&str] = &["size", "agcount", "log", "features"];
const OF_SNAPSHOT: usize = 2;

const STRIPES: &str =
    "stripes are not modeled; the kernel has them: loop:xfs,mkfs=\"-d su=64k,sw=4\"";

/// Options of `mkfs.xfs` and `mount` that decide where data goes, and that it does not have.
const LACKS: &[(&str, &str)] = &[
    ("bsize", "blocks have 4K; others are not modeled"),
    ("blocksize", "blocks have 4K; others are not modeled"),
    ("sectsize", "sectors have 512 bytes; others are not modeled"),
    ("isize", "inodes have 512 bytes; others are not modeled"),
    (
        "dirblocks",
        "blocks of directories have 4K; others are not modeled",
    ),
    ("stripe", STRIPES),
    ("sunit", STRIPES),
    ("swidth", STRIPES),
    ("su", STRIPES),
    ("sw", STRIPES),
    ("rtdev", "realtime sections are not modeled"),
    ("realtime", "realtime sections are not modeled"),
    ("quota", "quotas are not modeled"),
    (
        "reflink",
        "shared extents are not modeled; `features` chooses the trees that are there for them",
    ),
    ("discard", "what is free is never discarded"),
    (
        "allocsize",
        "a fixed preallocation is not modeled; the kernel has it: loop:xfs,mount=allocsize=64k",
    ),
    (
        "inode64",
        "inodes lie anywhere, as with the kernel's default inode64; the other way: loop:xfs,mount=inode32",
    ),
    (
        "inode32",
        "inodes lie anywhere; the kernel has the other way too: loop:xfs,mount=inode32",
    ),
];

/// Its line in the list of models.
pub static ENTRY: Entry = Entry {
    lacks: LACKS,
    least_bytes: LEAST_OF_MKFS,
    examples: &[
        "size=4G",
        "size=512M,agcount=8,features=rmapbt",
        "size=4G,regime=default,seed=2",
    ],
    small: &[
        "size=16M",
        "size=48M,features=plain",
        "size=32M,agcount=1,features=rmapbt",
        "size=40M,agcount=2,regime=perfile",
        "size=32M,regime=default",
        "size=40M,agcount=2,features=rmapbt,regime=default,rate=1000",
    ],
    group: "allocation group",
    microscope: Some(allocator_trace::microscope::<Xfs>()),
    kernel: Some(|options| Ok(kernel(&params_of(options)?)?)),
    from_snapshot: Some(FromSnapshot {
        key: "from",
        make: |options, found| {
            let params = params_with(options, found)?;
            let fs = Xfs::from_snapshot(&params, found);
            Ok(Box::new(fs.map_err(|why| of_snapshot(options, why))?))
        },
        check: |options, found| {
            let checked = image::can_be_begun_with(&params_with(options, found)?, found);
            checked.map_err(|why| of_snapshot(options, why))
        },
    }),
    image: Some(Image::Mountable),
    trims_with: Some(("regime", "default")),
    ..Entry::new(
        NAME,
        "XFS of Linux 6.18, simulated",
        params::KEYS,
        |options| {
            let params = params_of(options)?;
            let Some(path) = &params.from else {
                return Ok(Box::new(Xfs::new(params).map_err(MakeError::sizes)?));
            };
            refuse_decided(options, OF_IMAGE)?;
            let is_given = options.iter().any(|(key, _)| *key == "regime");
            let asked = is_given.then_some(&params);
            let read = open(path, NAME).and_then(|file| Xfs::read_image(asked, &file));
            let mut fs = read.map_err(|why| unread(path, why))?;
            fs.params.from = params.from;
            Ok(Box::new(fs))
        },
        |options| {
            let params = params_of(options)?;
            let Some(path) = &params.from else {
                return Geometry::mkfs(&params).map(drop).map_err(MakeError::sizes);
            };
            refuse_decided(options, OF_IMAGE)?;
            let checked = open(path, NAME).and_then(|file| image::can_be_read(&file));
            checked.map_err(|why| unread(path, why))
        },
    )
};

fn params_of(options: &Options<'_>) -> Result<Params, ParamError> {
    Params::from_options(options.iter().copied())
}

/// Parameters with a snapshot. Features are those that it tells, unless the user says so.
fn params_with(options: &Options<'_>, found: &LayoutInMemory) -> Result<Params, ParamError> {
    refuse_decided(options, &OF_IMAGE[..OF_SNAPSHOT])?;
    let mut params = params_of(options)?;
    let is_given = |asked| options.iter().any(|(key, _)| *key == asked);
    if !is_given("features") {
        params.features = Xfs::features_of(found);
        if !is_given("regime") {
            params.regime = Regime::usual(params.features);
        }
    }
    Ok(params)
}

fn of_snapshot(options: &Options<'_>, why: ReadError) -> MakeError {
    let from = options.iter().find(|(key, _)| *key == "from");
    let path = from.and_then(|(_, value)| *value).unwrap_or_default();
    unread(Path::new(path), why)
}

/// `mkfs.xfs` makes smaller ones, and those of one AG, only if it is told that they are not supported.
const LEAST_OF_MKFS: u64 = 300 << 20;
/// The smallest log that it makes, in blocks.
const LEAST_LOG_OF_MKFS: u32 = 64 << 8;

/// The real target with the same `mkfs`, the same mount and the same syncs.
fn kernel(params: &Params) -> Result<String, ParamError> {
    let refuse = |key, value, expected: &str| Err(Setting { key, value }.bad(expected));
    if params.from.is_some() {
        let why = "a fresh file system, to make the same one by `mkfs`";
        return refuse("from", None, why);
    }
    if params.features == Features::Rmapbt {
        let why = "default or plain: with a tree of owners no two runs of a kernel are the same";
        return refuse("features", Some("rmapbt"), why);
    }
    let why = match params.regime {
        Regime::Strict => None,
        Regime::PerFile => Some("strict: nobody writes a real file system back file by file"),
        Regime::Default => Some(
            "strict: no two runs of a kernel with default options are the same, so that a model of them can be equal \
             to none. regime=strict has the same allocator, and data is written back at the end of the day. Means over \
             lives compare default runs, with the pace of the replay for a clock (operations a second): fsage compare \
             --seeds 5 --on xfs:regime=default,rate=5000 --on loop:xfs",
        ),
    };
    if let Some(why) = why {
        return refuse("regime", Some(params.regime.as_str()), why);
    }
    let mut mkfs = Vec::new();
    mkfs.extend(params.ag_count.map(|ags| format!("-d agcount={ags}")));
    mkfs.extend(params.log_bytes.map(|bytes| format!("-l size={bytes}")));
    if params.features == Features::Plain {
        let plain = "-m finobt=0,reflink=0,bigtime=0,inobtcount=0 -i sparse=0";
        mkfs.push(plain.to_owned());
    }
    let log = Geometry::mkfs(params).map_or(0, |geometry| geometry.log_blocks);
    let is_small = params.size_bytes < LEAST_OF_MKFS || log < LEAST_LOG_OF_MKFS;
    if is_small || params.ag_count == Some(1) {
        mkfs.push("--unsupported".to_owned());
    }
    let target = format!(
        "loop:xfs,size={},regime={}",
        params.size_bytes,
        params.regime.as_str()
    );
    Ok(match mkfs.as_slice() {
        [] => target,
        words => format!("{target},mkfs=\"{}\"", words.join(" ")),
    })
}

impl AnyModel for Xfs {
    fn end_day(&mut self) {
        self.sync_day();
    }

    fn emptied(&self) -> Option<Box<dyn AnyModel>> {
        self.params.from.as_ref()?;
        let empty = Params {
            from: None,
            ..self.params.clone()
        };
        Some(Box::new(Xfs::new(empty).ok()?))
    }

    fn as_mountable(&mut self) -> Option<&mut dyn Mountable> {
        Some(self)
    }

    fn as_hosted(&mut self) -> Option<&mut dyn Hosted> {
        Some(self)
    }

    fn into_hosted(self: Box<Self>) -> Option<Box<dyn AnyHosted>> {
        Some(self)
    }
}
