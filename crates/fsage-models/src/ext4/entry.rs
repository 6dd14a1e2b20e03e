//! What the laboratory knows of the model.

use super::{Ext4, Geometry, Params, SyncPolicy, params};
use crate::ParamError;
use crate::options::Setting;
use crate::registry::{AnyModel, Entry, MakeError, Options};
use fsage_core::io::{AnyHosted, Hosted};
use fsage_core::operations::Model;

/// Its line in the list of models.
pub static ENTRY: Entry = Entry {
    examples: &["size=4G", "size=512M,bsize=4K,regime=b"],
    small: &[
        "size=16M,journal=1M",
        "size=32M,bsize=4K,regime=b,flex=1",
        "size=32M,bsize=2K,regime=c,sync=each",
        "size=32M,regime=d,rotational",
    ],
    kernel: Some(|options| Ok(kernel(&params_of(options)?)?)),
    ..Entry::new(
        "ext4",
        "Ext4 of Linux 6.18, simulated",
        params::KEYS,
        |options| {
            Ok(Box::new(
                Ext4::new(params_of(options)?).map_err(MakeError::sizes)?,
            ))
        },
        |options| {
            let geometry = Geometry::mkfs(&params_of(options)?);
            geometry.map(drop).map_err(MakeError::sizes)
        },
    )
};

fn params_of(options: &Options<'_>) -> Result<Params, ParamError> {
    Params::from_options(options.iter().copied())
}

/// The real target with the same `mkfs`, the same mount and the same syncs.
fn kernel(params: &Params) -> Result<String, ParamError> {
    let refuse = |key, value, expected: &str| {
        let setting = Setting { key, value };
        Err(setting.bad(expected))
    };
    if !params.superuser {
        return refuse("root", Some("off"), "root=on: only root mounts an image");
    }
    if params.journal_bytes == Some(0) {
        let why = "a journal: without one the kernel avoids inodes freed lately, by the clock";
        return refuse("journal", Some("0"), why);
    }
    let geometry = Geometry::mkfs(params);
    let block_bytes = params.block_bytes.or(geometry.ok().map(|g| g.block_bytes));
    let mut mkfs = vec![format!("-m {}", params.reserve_percent)];
    mkfs.extend(block_bytes.map(|bytes| format!("-b {bytes}")));
    mkfs.push(match params.flex_groups {
        1 => "-O ^flex_bg".to_owned(),
        groups => format!("-G {groups}"),
    });
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
    Ok(format!(
        "loop:ext4,size={},regime={},sync={sync},uuid={},mkfs=\"{}\"",
        params.size_bytes,
        params.regime.as_str(),
        params.hash_seed_text(),
        mkfs.join(" ")
    ))
}

impl AnyModel for Ext4 {
    fn end_day(&mut self) {
        if self.params().sync == SyncPolicy::Day {
            Model::sync(self);
        }
        self.day_is_looked_at();
    }

    fn into_hosted(self: Box<Self>) -> Option<Box<dyn AnyHosted>> {
        Some(self)
    }

    fn as_hosted(&mut self) -> Option<&mut dyn Hosted> {
        Some(self)
    }
}
