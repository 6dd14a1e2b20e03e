//! Targets: what a batch of events is applied to.

use crate::real::Real;
use crate::spec::{SpecError, TargetSpec};
use fsage_core::io::AnyHosted;
use fsage_core::{
    DirId, FileId, FileSystem, FileView, Geometry, Inconsistency, Layout, Op, Outcome, Run, Space,
    StateError,
};
use fsage_models::cffs::{self, Cffs};
use fsage_models::ext3::{self, Ext3};
use fsage_models::ffs::{self, Ffs};
use fsage_models::lfs::{self, Lfs};
use fsage_models::rearrange::{self, Part, Rearranged, Settings};

/// Something that a workload is replayed on.
#[derive(Debug)]
pub enum Target {
    /// A simulated FFS.
    Ffs(Box<Ffs>),
    /// A simulated Ext3 or ext2.
    Ext3(Box<Ext3>),
    /// A simulated LFS.
    Lfs(Box<Lfs>),
    /// A simulated C-FFS.
    Cffs(Box<Cffs>),
    /// A simulated FFS or Ext3 with a layer that rearranges its disk.
    Rearranged(Box<dyn Rearranged>),
    /// Takes every operation and does nothing.
    Null(Null),
    /// A directory of a mounted file system.
    Real(Box<Real>),
}

impl Target {
    /// Makes the target that a specification names.
    ///
    /// # Errors
    /// A key that the kind does not know, a bad value, a geometry that does not work.
    pub fn make(spec: &TargetSpec) -> Result<Target, SpecError> {
        if let Some(settings) = spec.rearrangement()? {
            return Ok(Target::Rearranged(rearranged(spec, &settings)?));
        }
        match spec.kind.as_str() {
            "ffs" => {
                let fs = Ffs::new(spec.ffs_params()?).map_err(|e| SpecError::new(spec, e))?;
                Ok(Target::Ffs(Box::new(fs)))
            }
            "ext3" => {
                let fs = Ext3::new(spec.ext3_params()?).map_err(|e| SpecError::new(spec, e))?;
                Ok(Target::Ext3(Box::new(fs)))
            }
            "lfs" => {
                let fs = Lfs::new(spec.lfs_params()?).map_err(|e| SpecError::new(spec, e))?;
                Ok(Target::Lfs(Box::new(fs)))
            }
            "cffs" => {
                let fs = Cffs::new(spec.cffs_params()?).map_err(|e| SpecError::new(spec, e))?;
                Ok(Target::Cffs(Box::new(fs)))
            }
            "null" => match spec.options.first() {
                Some((key, _)) => Err(SpecError::new(spec, format!("null has no key `{key}`"))),
                None => Ok(Target::Null(Null)),
            },
            _ => Err(SpecError::new(
                spec,
                "this is a real file system, and a model is expected here: ffs, ext3, lfs, cffs or null",
            )),
        }
    }

    /// That a specification names a model which can be made, as [`make`](Target::make) does, without the memory and
    /// the time that it takes.
    ///
    /// # Errors
    /// As [`make`](Target::make).
    pub fn can_be_made(spec: &TargetSpec) -> Result<(), SpecError> {
        if spec.rearrangement()?.is_some() {
            return Target::make(spec).map(drop);
        }
        match spec.kind.as_str() {
            "ffs" => checked(spec, ffs::Geometry::newfs(&spec.ffs_params()?)),
            "ext3" => checked(spec, ext3::Geometry::mke2fs(&spec.ext3_params()?)),
            "lfs" => checked(spec, lfs::Geometry::newfs(&spec.lfs_params()?)),
            "cffs" => checked(spec, cffs::Geometry::new(&spec.cffs_params()?)),
            _ => Target::make(spec).map(drop),
        }
    }

    /// A day ends for a model, which syncs where that matters to its layout. A real target has its own policy.
    pub fn end_day(&mut self) {
        match self {
            Target::Ext3(fs) => fs.sync(),
            Target::Lfs(fs) => fs.sync(),
            // Its period may end; no model refuses the end of a day.
            Target::Rearranged(fs) => {
                let _ = fs.apply(&Op::Day);
            }
            Target::Ffs(_) | Target::Cffs(_) | Target::Null(_) | Target::Real(_) => {}
        }
    }

    /// A day was measured: what is counted by day begins anew.
    pub fn begin_day(&mut self) {
        if let Target::Lfs(fs) = self {
            fs.reset_counters();
        }
    }

    /// What metrics may look at.
    pub fn layout(&self) -> &dyn Layout {
        match self {
            Target::Ffs(fs) => &**fs,
            Target::Ext3(fs) => &**fs,
            Target::Lfs(fs) => &**fs,
            Target::Cffs(fs) => &**fs,
            Target::Rearranged(fs) => &**fs,
            Target::Null(null) => null,
            Target::Real(real) => real.directory(),
        }
    }

    /// The model as a host can run it; `None` for what no host runs.
    pub fn into_hosted(self) -> Option<Box<dyn AnyHosted>> {
        match self {
            Target::Ffs(fs) => Some(fs),
            Target::Ext3(fs) => Some(fs),
            Target::Lfs(fs) => Some(fs),
            Target::Cffs(fs) => Some(fs),
            Target::Rearranged(fs) => Some(fs),
            Target::Null(_) | Target::Real(_) => None,
        }
    }

    /// The model's own file system check. A real file system has none while it is mounted.
    ///
    /// # Errors
    /// Everything that does not fit together.
    pub fn check(&self) -> Result<(), Inconsistency> {
        match self {
            Target::Ffs(fs) => fs.check(),
            Target::Ext3(fs) => fs.check(),
            Target::Lfs(fs) => fs.check(),
            Target::Cffs(fs) => fs.check(),
            Target::Rearranged(fs) => fs.check(),
            Target::Null(null) => null.check(),
            Target::Real(_) => Ok(()),
        }
    }
}

fn checked<G, E: ToString>(spec: &TargetSpec, geometry: Result<G, E>) -> Result<(), SpecError> {
    geometry
        .map(drop)
        .map_err(|error| SpecError::new(spec, error.to_string()))
}

/// Makes a model of a specification with a layer over it, on a disk as large as its partition would be.
///
/// # Errors
/// A bad value, a kind that has no layer, a part of the disk that is too small.
pub fn rearranged(
    spec: &TargetSpec,
    settings: &Settings,
) -> Result<Box<dyn Rearranged>, SpecError> {
    let inodes = |part, outside| match part {
        Part::Outside => outside,
        Part::Reserved => settings.reserved_bytes_per_inode.or(outside),
    };
    match spec.kind.as_str() {
        "ext3" => {
            let params = spec.ext3_params()?;
            let make = |part, size_bytes| {
                let mut params = params.clone();
                params.size_bytes = size_bytes;
                if let Some(bytes) = inodes(part, None) {
                    params.bytes_per_inode = bytes;
                }
                if part == Part::Reserved {
                    let elsewhere = params.journal_bytes.filter(|&bytes| bytes == 0);
                    params.journal_bytes = settings.reserved_journal_bytes.or(elsewhere);
                }
                Ext3::new(params)
            };
            rearrange::over(settings, params.size_bytes, make).map_err(|e| SpecError::new(spec, e))
        }
        "ffs" if settings.reserved_journal_bytes.is_some() => Err(SpecError::new(
            spec,
            "ra_journal: an FFS has no journal; leave the key out",
        )),
        "ffs" => {
            let params = spec.ffs_params()?;
            let make = |part, size_bytes: u64| {
                let mut params = params.clone();
                params.sectors = size_bytes / 512;
                params.bytes_per_inode = inodes(part, params.bytes_per_inode);
                Ffs::new(params)
            };
            rearrange::over(settings, params.sectors * 512, make)
                .map_err(|e| SpecError::new(spec, e))
        }
        kind => Err(SpecError::new(
            spec,
            format!("{kind} cannot be rearranged: that is for ext3 and ffs"),
        )),
    }
}

/// Takes every operation and does nothing: measures the replay engine itself.
#[derive(Clone, Copy, Debug)]
pub struct Null;

impl Layout for Null {
    fn geometry(&self) -> Geometry {
        Geometry {
            fs_type: "null".to_owned(),
            size_bytes: 0,
            data_bytes: None,
            reserved_bytes: 0,
            block_bytes: 4096,
            frag_bytes: 4096,
            inodes_total: 0,
            group_count: 0,
            group_bytes: 0,
            inodes_per_group: 0,
            first_ino: 0,
            inode_chunk_bytes: 0,
        }
    }

    fn space(&self) -> Option<Space> {
        None
    }

    fn visit_files(&self, _visit: &mut dyn FnMut(&FileView<'_>)) {}

    fn visit_free(&self, _visit: &mut dyn FnMut(Run)) {}
}

impl FileSystem for Null {
    fn apply(&mut self, _op: &Op) -> Result<Outcome, StateError> {
        Ok(Outcome::Done)
    }

    fn file_size(&self, _file: FileId) -> Option<u64> {
        None
    }

    fn inode(&self, _file: FileId) -> Option<u64> {
        None
    }

    fn directory_inode(&self, _dir: DirId) -> Option<u64> {
        None
    }

    fn check(&self) -> Result<(), Inconsistency> {
        Ok(())
    }
}
