//! What the laboratory knows of the model.

use super::{Ext3, Geometry, Params, params};
use crate::ParamError;
use crate::rearrange::{self, Part, Rearranged, Settings};
use crate::registry::{AnyModel, Entry, MakeError, Options};
use fsage_core::io::{AnyHosted, Hosted};

/// Its line in the list of models.
pub static ENTRY: Entry = Entry {
    examples: &["size=2G,journal=0", "mode=ext2,size=512M"],
    small: &["size=8M,bsize=1K,journal=1M", "size=8M,mode=ext2"],
    layered: Some(layered),
    ..Entry::new(
        "ext3",
        "Ext3 of Linux 2.6.18, or ext2 of Linux 6.1, simulated",
        params::KEYS,
        |options| {
            Ok(Box::new(
                Ext3::new(params_of(options)?).map_err(MakeError::sizes)?,
            ))
        },
        |options| {
            let geometry = Geometry::mke2fs(&params_of(options)?);
            geometry.map(drop).map_err(MakeError::sizes)
        },
    )
};

fn params_of(options: &Options<'_>) -> Result<Params, ParamError> {
    Params::from_options(options.iter().copied())
}

fn layered(settings: &Settings, options: &Options<'_>) -> Result<Box<dyn Rearranged>, MakeError> {
    let params = params_of(options)?;
    let make = |part, size_bytes| {
        let mut params = params.clone();
        params.size_bytes = size_bytes;
        if part == Part::Reserved {
            params.bytes_per_inode = settings
                .reserved_bytes_per_inode
                .unwrap_or(params.bytes_per_inode);
            let elsewhere = params.journal_bytes.filter(|&bytes| bytes == 0);
            params.journal_bytes = settings.reserved_journal_bytes.or(elsewhere);
        }
        Ext3::new(params)
    };
    rearrange::over(settings, params.size_bytes, make).map_err(MakeError::sizes)
}

impl AnyModel for Ext3 {
    fn end_day(&mut self) {
        self.sync();
    }

    fn into_hosted(self: Box<Self>) -> Option<Box<dyn AnyHosted>> {
        Some(self)
    }

    fn as_hosted(&mut self) -> Option<&mut dyn Hosted> {
        Some(self)
    }
}
