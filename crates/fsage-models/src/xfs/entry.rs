//! What the laboratory knows of the model.

use super::{Geometry, Params, Xfs, params};
use crate::ParamError;
use crate::registry::{AnyModel, Entry, MakeError, Options};
use fsage_core::io::{AnyHosted, Hosted};

/// Its line in the list of models.
pub static ENTRY: Entry = Entry {
    examples: &["size=4G", "size=512M,agcount=8,features=rmapbt"],
    small: &[
        "size=16M",
        "size=48M,features=plain",
        "size=32M,agcount=1,features=rmapbt",
        "size=40M,agcount=2,regime=perfile",
    ],
    group: "allocation group",
    ..Entry::new(
        "xfs",
        "XFS of Linux 6.18, simulated",
        params::KEYS,
        |options| {
            Ok(Box::new(
                Xfs::new(params_of(options)?).map_err(MakeError::sizes)?,
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

impl AnyModel for Xfs {
    fn end_day(&mut self) {
        self.sync_day();
    }

    fn as_hosted(&mut self) -> Option<&mut dyn Hosted> {
        Some(self)
    }

    fn into_hosted(self: Box<Self>) -> Option<Box<dyn AnyHosted>> {
        Some(self)
    }
}
