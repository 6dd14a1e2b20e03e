//! What the laboratory knows of the model.

use super::image;
use super::{Checksums, Ext4, Geometry, Params, Regime, SyncPolicy, params};
use crate::ParamError;
use crate::allocator_trace;
use crate::image::{Mountable, ReadError, open, refuse_decided, unread};
use crate::options::Setting;
use crate::registry::{AnyModel, Entry, FromSnapshot, Image, MakeError, Options};
use fsage_core::LayoutInMemory;
use fsage_core::io::{AnyHosted, Hosted};
use fsage_core::operations::Model;
use std::path::Path;

const NAME: &str = "ext4";

/// Why delayed allocation is no switch of its own, and what compares with it and without.
const NO_DELALLOC: &str = "delayed allocation goes with the regime: `regime=c` allocates within the write, one request \
    a call, so that when data go to disk no longer decides where they lie; what a clock would still decide there, when \
    freed blocks are free again and which processor writes, is modeled for `regime=default` alone. Compare \
    ext4:regime=default with ext4:regime=c; the kernel's own: loop:ext4,mount=nodelalloc";

/// What users know of ext4, and the model does not have: the kernel's own does.
const LACKS: &[(&str, &str)] = &[
    (
        "stripe",
        "stripes are not modeled; the kernel has them: loop:ext4,mount=stripe=16",
    ),
    (
        "bigalloc",
        "clusters are not modeled; the kernel has them: loop:ext4,mkfs=\"-O bigalloc -C 64K\"",
    ),
    (
        "cluster",
        "clusters are not modeled; the kernel has them: loop:ext4,mkfs=\"-O bigalloc -C 64K\"",
    ),
    (
        "inline_data",
        "data in inodes are not modeled; the kernel has them: loop:ext4,mkfs=\"-O inline_data\"",
    ),
    ("nodelalloc", NO_DELALLOC),
    ("delalloc", NO_DELALLOC),
    (
        "noauto_da_alloc",
        "what it changes is not modeled; the kernel has it: loop:ext4,mount=noauto_da_alloc",
    ),
    (
        "mb_optimize_scan",
        "the search is the optimized one; the kernel has both: loop:ext4,mount=mb_optimize_scan=0",
    ),
    (
        "mb_stream_req",
        "it is `stream_req` here, in blocks: ext4:stream_req=64; of the kernel: loop:ext4,stream_req=64",
    ),
    (
        "mb_*",
        "settings of mballoc are those of the kernel as it comes; the kernel has them: \
         loop:ext4,sysfs=\"mb_group_prealloc=64\"",
    ),
    (
        "data",
        "journaled data are not modeled; the kernel has them: loop:ext4,mount=data=journal",
    ),
    (
        "sysfs",
        "of the settings in /sys it has `stream_req`; the kernel has all: loop:ext4,sysfs=\"mb_group_prealloc=64\"",
    ),
    ("quota", "quotas are not modeled"),
    ("encrypt", "encryption is not modeled"),
];

/// Its line in the list of models.
pub static ENTRY: Entry = Entry {
    lacks: LACKS,
    examples: &["size=4G", "size=512M,bsize=4K,regime=b"],
    small: &[
        "size=16M,journal=1M",
        "size=32M,bsize=4K,regime=b,flex=1",
        "size=32M,bsize=2K,regime=c,sync=each",
        "size=32M,regime=d,rotational",
        "size=32M,regime=default,rate=100",
    ],
    microscope: Some(allocator_trace::microscope::<Ext4>()),
    kernel: Some(|options| Ok(kernel(&params_of(options)?)?)),
    from_snapshot: Some(FromSnapshot {
        key: "from",
        make: |options, found| {
            let fs = Ext4::from_snapshot(&params_with(options, found)?, found);
            Ok(Box::new(fs.map_err(|why| of_snapshot(options, why))?))
        },
        check: |options, found| {
            let checked = image::can_be_begun_with(&params_with(options, found)?, found);
            checked.map_err(|why| of_snapshot(options, why))
        },
    }),
    image: Some(Image::Mountable),
    in_all_sizes: &[("bsize", "4K"), ("bytes_per_inode", "16K")],
    ..Entry::new(
        NAME,
        "Ext4 of Linux 6.18, simulated",
        params::KEYS,
        |options| {
            let params = params_of(options)?;
            let fs = match &params.from {
                None => Ext4::new(params).map_err(MakeError::sizes)?,
                Some(path) => {
                    refuse_decided(options, OF_IMAGE)?;
                    let read = open(path, NAME).and_then(|file| Ext4::read_image(&params, &file));
                    read.map_err(|why| unread(path, why))?
                }
            };
            Ok(Box::new(fs))
        },
        |options| {
            let params = params_of(options)?;
            match &params.from {
                None => Geometry::mkfs(&params).map(drop).map_err(MakeError::sizes),
                Some(path) => {
                    refuse_decided(options, OF_IMAGE)?;
                    let checked = open(path, NAME).and_then(|file| image::can_be_read(&file));
                    checked.map_err(|why| unread(path, why))
                }
            }
        },
    )
};

fn params_of(options: &Options<'_>) -> Result<Params, ParamError> {
    Params::from_options(options.iter().copied())
}

/// Keys that a snapshot decides, that of the size first, and those that an image decides besides.
const OF_IMAGE: &[&str] = &[
    "size",
    "bsize",
    "bytes_per_inode",
    "inodes",
    "reserve",
    "flex",
    "journal",
    "resize",
    "checksums",
    "64bit",
    "hash_seed",
];
const OF_SNAPSHOT: usize = 5;

/// Parameters with a snapshot. Where that does not say how large the file system is, the user has to.
fn params_with(options: &Options<'_>, found: &LayoutInMemory) -> Result<Params, ParamError> {
    let decided = &OF_IMAGE[..OF_SNAPSHOT];
    if image::has_size(found) {
        refuse_decided(options, decided)?;
    } else {
        refuse_decided(options, &decided[1..])?;
        if !options.iter().any(|(key, _)| *key == "size") {
            let setting = Setting {
                key: "size",
                value: None,
            };
            return Err(setting.bad(
                "the size of the partition, which the snapshot of a mounted file system lacks",
            ));
        }
    }
    params_of(options)
}

fn of_snapshot(options: &Options<'_>, why: ReadError) -> MakeError {
    let from = options.iter().find(|(key, _)| *key == "from");
    let path = from.and_then(|(_, value)| *value).unwrap_or_default();
    unread(Path::new(path), why)
}

/// The real target with the same `mkfs`, the same mount and the same syncs.
fn kernel(params: &Params) -> Result<String, ParamError> {
    let refuse = |key, value, expected: &str| {
        let setting = Setting { key, value };
        Err(setting.bad(expected))
    };
    if params.from.is_some() {
        return refuse(
            "from",
            None,
            "a model that begins fresh: the kernel's ext4 is made by `mkfs` for this, and the image is not copied. \
             Leave from= out, and give the model what the image has (size=, bsize=, bytes_per_inode=), as in `fsage \
             verify-model ext4:size=1G WORKLOAD`",
        );
    }
    if !params.superuser {
        return refuse("root", Some("off"), "root=on: only root mounts an image");
    }
    if params.journal_bytes == Some(0) {
        let why = "a journal: without one the kernel avoids inodes freed lately, by the clock";
        return refuse("journal", Some("0"), why);
    }
    if params.regime == Regime::Default {
        let why = "a, b, c or d: no two runs of a kernel with default options are the same, so that a model of them \
                   can be equal to none. regime=b has the same mount options, and data is written back at the end of \
                   the day. Means over lives compare default runs, with the pace of the replay for a clock (operations \
                   a second): fsage compare --seeds 5 --on ext4:regime=default,rate=5000 --on loop:ext4";
        return refuse("regime", Some("default"), why);
    }
    let geometry = Geometry::mkfs(params);
    let block_bytes = params.block_bytes.or(geometry.ok().map(|g| g.block_bytes));
    let mut mkfs = vec![format!("-m {}", params.reserve_percent)];
    mkfs.extend(block_bytes.map(|bytes| format!("-b {bytes}")));
    let mut features = Vec::new();
    match params.flex_groups {
        1 => features.push("^flex_bg"),
        groups => mkfs.push(format!("-G {groups}")),
    }
    match params.checksums {
        Checksums::All => {}
        Checksums::Descriptors => features.extend(["^metadata_csum", "uninit_bg"]),
        Checksums::None => features.push("^metadata_csum"),
    }
    if !params.wide {
        features.push("^64bit");
    }
    match params.resize_bytes {
        None => {}
        Some(0) => features.push("^resize_inode"),
        Some(bytes) => mkfs.push(format!("-E resize={}", bytes / block_bytes.unwrap_or(4096))),
    }
    if !features.is_empty() {
        mkfs.push(format!("-O {}", features.join(",")));
    }
    mkfs.extend(params.bytes_per_inode.map(|bytes| format!("-i {bytes}")));
    mkfs.extend(params.inodes.map(|inodes| format!("-N {inodes}")));
    mkfs.extend(
        params
            .journal_bytes
            .map(|bytes| format!("-J size={}", bytes >> 20)),
    );
    let sync = match params.sync {
        SyncPolicy::Day => "day",
        SyncPolicy::Each => "each",
    };
    let stream_request = match params.stream_request {
        Params::STREAM_REQUEST => String::new(),
        blocks => format!(",stream_req={blocks}"),
    };
    Ok(format!(
        "loop:ext4,size={},regime={},sync={sync},uuid={}{stream_request},mkfs=\"{}\"",
        params.size_bytes,
        params.regime.as_str(),
        params.hash_seed_text(),
        mkfs.join(" ")
    ))
}

impl AnyModel for Ext4 {
    fn end_day(&mut self) {
        Model::sync(self);
        self.day_is_looked_at();
    }

    fn emptied(&self) -> Option<Box<dyn AnyModel>> {
        self.params().from.as_ref()?;
        let empty = Params {
            from: None,
            ..self.params().clone()
        };
        Some(Box::new(Ext4::new(empty).ok()?))
    }

    fn as_mountable(&mut self) -> Option<&mut dyn Mountable> {
        Some(self)
    }

    fn into_hosted(self: Box<Self>) -> Option<Box<dyn AnyHosted>> {
        Some(self)
    }

    fn as_hosted(&mut self) -> Option<&mut dyn Hosted> {
        Some(self)
    }
}
