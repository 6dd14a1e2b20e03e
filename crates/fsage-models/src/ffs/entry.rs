//! What the laboratory knows of the model.

use super::{Ffs, Geometry, Params, Trace, params};
use crate::allocator_trace;
use crate::microscope::{self, Microscope};
use crate::rearrange::{self, Part, Rearranged, Settings};
use crate::registry::{AnyModel, Entry, MakeError, Options};
use crate::{ParamError, rearrange::LayerError};
use fsage_core::Run;
use fsage_core::io::{AnyHosted, Hosted};
use std::any::Any;

/// Its line in the list of models.
pub static ENTRY: Entry = Entry {
    examples: &["preset=g1024,policy=realloc,root"],
    small: &["preset=tiny,dirent_bytes=16"],
    group: "cylinder group",
    microscope: Some(Microscope {
        prints: "what the original's driver prints: every probe and every failure; with --inode every request for \
                 space of that one and what served it",
        over_inode: allocator_trace::microscope::<Ffs>().over_inode,
        over: |fs| {
            let fs = (fs as Box<dyn Any>).downcast().ok()?;
            Some(microscope::Trace::Workload(Box::new(Trace::new(*fs))))
        },
    }),
    layered: Some(layered),
    with_free_map: Some(with_free_map),
    ..Entry::new(
        "ffs",
        "4.4BSD fast file system, simulated",
        params::KEYS,
        |options| Ok(Box::new(made(params_of(options)?)?)),
        |options| {
            let geometry = Geometry::newfs(&params_of(options)?);
            geometry.map(drop).map_err(MakeError::sizes)
        },
    )
};

fn params_of(options: &Options<'_>) -> Result<Params, ParamError> {
    Params::from_options(options.iter().copied())
}

fn made(params: Params) -> Result<Ffs, MakeError> {
    Ffs::new(params).map_err(MakeError::sizes)
}

fn layered(settings: &Settings, options: &Options<'_>) -> Result<Box<dyn Rearranged>, MakeError> {
    let params = params_of(options)?;
    if settings.reserved_journal_bytes.is_some() {
        return Err(MakeError::sizes(LayerError::NoJournal::<super::NewfsError>));
    }
    let make = |part, size_bytes: u64| {
        let mut params = params.clone();
        params.sectors = size_bytes / 512;
        if part == Part::Reserved {
            params.bytes_per_inode = settings.reserved_bytes_per_inode.or(params.bytes_per_inode);
        }
        Ffs::new(params)
    };
    rearrange::over(settings, params.sectors * 512, make).map_err(MakeError::sizes)
}

fn with_free_map(options: &Options<'_>, free: &[Run]) -> Result<Box<dyn AnyHosted>, MakeError> {
    let mut mapped = made(params_of(options)?)?;
    mapped.occupy_all_but(free);
    Ok(Box::new(mapped))
}

impl AnyModel for Ffs {
    fn into_hosted(self: Box<Self>) -> Option<Box<dyn AnyHosted>> {
        Some(self)
    }

    fn as_hosted(&mut self) -> Option<&mut dyn Hosted> {
        Some(self)
    }
}
