//! What the laboratory knows of the model.

use super::{Geometry, Lfs, Params, Trace, params};
use crate::ParamError;
use crate::microscope::{self, Microscope};
use crate::registry::{AnyModel, Entry, MakeError, Options};
use fsage_core::io::{AnyHosted, Hosted};
use std::any::Any;

/// Its line in the list of models.
pub static ENTRY: Entry = Entry {
    examples: &["size=1G,policy=greedy", "variant=netbsd"],
    small: &[
        "size=24M,segment=256K",
        "size=24M,segment=256K,variant=netbsd",
    ],
    group: "segment",
    is_log: true,
    microscope: Some(Microscope {
        prints: "everything written and cleaned, as a script of its own form says",
        over_inode: None,
        over: |fs| {
            let fs = (fs as Box<dyn Any>).downcast().ok()?;
            Some(microscope::Trace::Script(Box::new(Trace::new(*fs))))
        },
    }),
    ..Entry::new(
        "lfs",
        "BSD log-structured file system with its cleaner, simulated",
        params::KEYS,
        |options| {
            Ok(Box::new(
                Lfs::new(params_of(options)?).map_err(MakeError::sizes)?,
            ))
        },
        |options| {
            let geometry = Geometry::newfs(&params_of(options)?);
            geometry.map(drop).map_err(MakeError::sizes)
        },
    )
};

fn params_of(options: &Options<'_>) -> Result<Params, ParamError> {
    let options: Vec<_> = options.to_vec();
    Params::from_options(options)
}

impl AnyModel for Lfs {
    fn end_day(&mut self) {
        self.sync();
    }

    fn begin_day(&mut self) {
        self.reset_counters();
    }

    fn into_hosted(self: Box<Self>) -> Option<Box<dyn AnyHosted>> {
        Some(self)
    }

    fn as_hosted(&mut self) -> Option<&mut dyn Hosted> {
        Some(self)
    }
}
