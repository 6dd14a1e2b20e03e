//! What the laboratory knows of the model.

use super::{Cffs, Geometry, Params, params};
use crate::ParamError;
use crate::registry::{AnyModel, Entry, Image, MakeError, Options};
use fsage_core::io::{AnyHosted, Hosted};

/// Its line in the list of models.
pub static ENTRY: Entry = Entry {
    examples: &["embed=off,group=off,softupdates"],
    group: "cylinder group",
    small: &[
        "size=8M,cg_blocks=512",
        "size=8M,cg_blocks=512,embed=off,group=off",
        "size=8M,cg_blocks=512,inode_id=physical",
    ],
    image: Some(Image::Metadata),
    ..Entry::new(
        "cffs",
        "C-FFS: embedded inodes, explicit grouping, and without them its baseline, simulated",
        params::KEYS,
        |options| {
            Ok(Box::new(
                Cffs::new(params_of(options)?).map_err(MakeError::sizes)?,
            ))
        },
        |options| {
            let geometry = Geometry::new(&params_of(options)?);
            geometry.map(drop).map_err(MakeError::sizes)
        },
    )
};

fn params_of(options: &Options<'_>) -> Result<Params, ParamError> {
    Params::from_options(options.iter().copied())
}

impl AnyModel for Cffs {
    fn into_hosted(self: Box<Self>) -> Option<Box<dyn AnyHosted>> {
        Some(self)
    }

    fn as_hosted(&mut self) -> Option<&mut dyn Hosted> {
        Some(self)
    }
}
