//! What the laboratory knows of the model.

use super::{Ext4, Geometry, Params, SyncPolicy, params};
use crate::ParamError;
use crate::registry::{AnyModel, Entry, MakeError, Options};
use fsage_core::io::AnyHosted;
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

impl AnyModel for Ext4 {
    fn end_day(&mut self) {
        if self.params().sync == SyncPolicy::Day {
            Model::sync(self);
        }
    }

    fn into_hosted(self: Box<Self>) -> Option<Box<dyn AnyHosted>> {
        Some(self)
    }
}
