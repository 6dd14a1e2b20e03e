//! Targets: what a batch of events is applied to.

use crate::spec::{SpecError, TargetSpec};
use fsage_core::io::{AnyHosted, Hosted};
use fsage_core::{Inconsistency, Layout};
use fsage_data::DataError;
use fsage_models::image::Mountable;
use fsage_models::registry::FromSnapshot;
use fsage_models::{AnyModel, Entry, MODELS};
use fsage_real::Real;
use std::any::Any;
use std::path::{Path, PathBuf};

/// Something that a workload is replayed on.
#[derive(Debug)]
pub enum Target {
    /// A simulated file system.
    Model(Box<dyn AnyModel>),
    /// A directory of a mounted file system.
    Real(Box<Real>),
}

impl Target {
    /// Makes the model that a specification names.
    ///
    /// # Errors
    /// A key that the kind does not know, a bad value, a geometry that does not work; a real file system.
    pub fn make(spec: &TargetSpec) -> Result<Target, SpecError> {
        let made = match snapshot_of(spec)? {
            None => spec.asked(Entry::make)?,
            Some((from, path)) => {
                let (_, found) = unread(spec, &path, fsage_data::snapshot::read_snapshot(&path))?;
                spec.asked(|_, options| (from.make)(options, &found))?
            }
        };
        made.map(Target::Model).ok_or_else(|| is_real(spec))
    }

    /// That a specification names a model which can be made, as [`make`](Target::make) does, without the memory and
    /// the time that it takes.
    ///
    /// # Errors
    /// As [`make`](Target::make).
    pub fn can_be_made(spec: &TargetSpec) -> Result<(), SpecError> {
        let checked = match snapshot_of(spec)? {
            None => spec.asked(Entry::can_be_made)?,
            Some((from, path)) => {
                let found = unread(spec, &path, fsage_data::snapshot::read_sizes(&path))?;
                spec.asked(|_, options| (from.check)(options, &found))?
            }
        };
        checked.ok_or_else(|| is_real(spec))
    }

    /// A copy in the same state; `None` of a real file system, of which there is only one.
    pub fn copied(&self) -> Option<Target> {
        match self {
            Target::Model(fs) => Some(Target::Model(fs.copied())),
            Target::Real(_) => None,
        }
    }

    /// A day ends for a model, which syncs where that matters to its layout. A real target has its own policy.
    pub fn end_day(&mut self) {
        if let Target::Model(fs) = self {
            fs.end_day();
        }
    }

    /// A day was measured: what is counted by day begins anew.
    pub fn begin_day(&mut self) {
        if let Target::Model(fs) = self {
            fs.begin_day();
        }
    }

    /// What metrics may look at.
    pub fn layout(&self) -> &dyn Layout {
        match self {
            Target::Model(fs) => &**fs,
            Target::Real(real) => real.directory(),
        }
    }

    /// The same, to be asked what changes in it.
    pub(crate) fn layout_mut(&mut self) -> &mut dyn Layout {
        match self {
            Target::Model(fs) => &mut **fs,
            Target::Real(real) => real.layout_mut(),
        }
    }

    /// The model as a host can run it; `None` for what no host runs.
    pub fn into_hosted(self) -> Option<Box<dyn AnyHosted>> {
        match self {
            Target::Model(fs) => fs.into_hosted(),
            Target::Real(_) => None,
        }
    }

    /// The same while it is aged.
    pub fn as_hosted(&mut self) -> Option<&mut dyn Hosted> {
        match self {
            Target::Model(fs) => fs.as_hosted(),
            Target::Real(_) => None,
        }
    }

    /// The model, if it is of this type.
    pub fn into_model<M: AnyModel>(self) -> Option<Box<M>> {
        match self {
            Target::Model(fs) => (fs as Box<dyn Any>).downcast().ok(),
            Target::Real(_) => None,
        }
    }

    /// The model as it is written to an image that a kernel mounts; `None` for one without such images.
    pub fn as_mountable(&mut self) -> Option<&mut dyn Mountable> {
        match self {
            Target::Model(fs) => fs.as_mountable(),
            Target::Real(_) => None,
        }
    }

    /// The model's own file system check. A real file system has none while it is mounted.
    ///
    /// # Errors
    /// Everything that does not fit together.
    pub fn check(&self) -> Result<(), Inconsistency> {
        match self {
            Target::Model(fs) => fs.check(),
            Target::Real(_) => Ok(()),
        }
    }
}

/// The snapshot that a model begins with, if one is named.
fn snapshot_of(spec: &TargetSpec) -> Result<Option<(FromSnapshot, PathBuf)>, SpecError> {
    let Some(from) = spec.entry().and_then(|entry| entry.from_snapshot) else {
        return Ok(None);
    };
    let pairs = spec.pairs();
    let named = pairs.iter().find(|(key, _)| *key == from.key);
    let Some(path) = named.and_then(|(_, value)| value.map(PathBuf::from)) else {
        return Ok(None);
    };
    // What cannot be opened is told by who opens it.
    let is_snapshot =
        path.is_file() && unread(spec, &path, fsage_data::snapshot::is_snapshot(&path))?;
    Ok(is_snapshot.then_some((from, path)))
}

fn unread<T>(spec: &TargetSpec, path: &Path, read: Result<T, DataError>) -> Result<T, SpecError> {
    read.map_err(|error| SpecError::new(spec, format!("from={}: {error}", path.display())))
}

fn is_real(spec: &TargetSpec) -> SpecError {
    let models: Vec<&str> = MODELS.iter().map(|entry| entry.name).collect();
    let models = models.join(", ");
    let reason = format!("this is a real file system, and a model is expected here: {models}");
    SpecError::new(spec, reason)
}
