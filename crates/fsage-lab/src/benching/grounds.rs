//! What a suite runs on: a model, or a place of a real file system, and its hot files.

use super::results::State;
use crate::aging::again::{ModelFiles, WorkloadFiles};
use crate::aging::control::control_image;
use crate::aging::life::Lived;
use crate::error::Context;
use crate::tree_table;
use fsage_bench::FileKey;
use fsage_bench::real::{ExistingFile, RealPlace};
use fsage_core::io::AnyHosted;
use fsage_core::{FileId, FileKind, Layout, names};
use fsage_data::SnapshotFile;
use fsage_real::directory::{Content, What};
use fsage_real::loop_image::LoopOptions;
use fsage_real::{Place, RealSpec};
use fsage_target::control_workload;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// A state of a target, before any benchmark.
pub enum Ground {
    /// A model, with its files in the order in which they are read, and the flash device that it lived on.
    Model(Box<dyn AnyHosted>, Known, Option<Box<Lived>>),
    /// A real file system, with the same.
    Real(Box<RealPlace>, Vec<ExistingFile>, Known),
}

/// Files that benchmarks go over, and that are there before.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// The hot ones.
    pub hot: Vec<FileKey>,
    /// All of them, where they are asked for.
    pub tree: Vec<FileKey>,
}

impl Known {
    /// Those of a model.
    pub fn of(files: &ModelFiles) -> Known {
        let keys = |files: &[FileId]| files.iter().map(|&FileId(id)| FileKey(id)).collect();
        Known {
            hot: keys(&files.hot),
            tree: keys(&files.tree),
        }
    }
}

/// Regular files.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Files {
    /// How many.
    pub files: u64,
    /// Their lengths together.
    pub bytes: u64,
}

impl Files {
    /// All of a file system.
    pub fn of(layout: &(impl Layout + ?Sized)) -> Files {
        let mut all = Files { files: 0, bytes: 0 };
        layout.visit_files(&mut |file| {
            if file.kind == FileKind::Regular {
                all.files += 1;
                all.bytes += file.size_bytes;
            }
        });
        all
    }
}

/// What a run has of a real target.
pub struct RunFiles<'a> {
    /// The folder of its results.
    pub folder: &'a Path,
    /// The files of the workload that somebody needs.
    pub files: Option<&'a WorkloadFiles>,
}

/// A state of a real target; `run` is none where no run made it. What there is not has a reason.
pub fn real(
    spec: &RealSpec,
    folder: &Path,
    state: State,
    run: Option<&RunFiles<'_>>,
) -> crate::Result<Result<Ground, String>> {
    let place = match (&spec.place, state) {
        (Place::Loop(options), State::Aged) => copy_of(options.clone(), options.image_in(folder)),
        (Place::Loop(options), State::Control) => {
            let image = spec.control.clone();
            let image = image.unwrap_or_else(|| control_image(folder));
            copy_of(options.control(image.clone()), image)
        }
        (Place::Loop(options), State::Empty) => Ok(RealPlace::Empty {
            folder: folder.to_owned(),
            options: LoopOptions {
                image: None,
                ..options.clone()
            },
        }),
        (Place::Dir(path), State::Aged) => Ok(RealPlace::Directory(path.clone())),
        (Place::Dir(path), State::Empty) if run.is_none() => Ok(RealPlace::Directory(path.clone())),
        (Place::Dir(_), State::Empty) => Err(
            "an aged directory is not empty; name another one without the run: --on dir:PATH -o FOLDER"
                .to_owned(),
        ),
        (Place::Dir(_), State::Control) => spec.control.clone().map(RealPlace::Directory).ok_or_else(|| {
            "a directory has no control unless it was aged with control=PATH".to_owned()
        }),
    };
    let place = match place {
        Ok(place) => place,
        Err(why) => return Ok(Err(why)),
    };
    let (existing, known) = match run {
        Some(run) if state != State::Empty => existing(run, state)?,
        _ => (Vec::new(), Known::default()),
    };
    Ok(Ok(Ground::Real(Box::new(place), existing, known)))
}

fn copy_of(options: LoopOptions, image: PathBuf) -> Result<RealPlace, String> {
    if !image.is_file() {
        return Err(format!(
            "there is no image {}: it was removed, or the run was made with --no-control",
            image.display()
        ));
    }
    Ok(RealPlace::CopyOf { image, options })
}

/// The files that are needed in the tree of a target or of its control, by the inode of their directory, then by their
/// own. Those of the tree come with the hot ones among them.
fn existing(run: &RunFiles<'_>, state: State) -> crate::Result<(Vec<ExistingFile>, Known)> {
    let Some(WorkloadFiles { hot, tree: all }) = run.files else {
        return Ok((Vec::new(), Known::default()));
    };
    let needed = if all.is_empty() { hot } else { all };
    let tree = tree_table::read(&run.folder.join("tree.parquet"))?;
    let mut contents: BTreeMap<u64, Content> = BTreeMap::new();
    contents.extend(
        needed
            .iter()
            .map(|file| (file.made_as.0, Content::of(file.made_as))),
    );
    let is_hot: BTreeSet<u64> = hot.iter().map(|file| file.made_as.0).collect();
    let mut hot_paths: BTreeSet<String> = BTreeSet::new();
    let mut paths: BTreeMap<String, Content> = BTreeMap::new();
    for file in &tree.files {
        if let What::File { content, .. } = file.what
            && contents.contains_key(&content.0)
        {
            // Whichever of its names a snapshot knows a file by.
            let path = names::escape(&file.path).into_owned();
            if is_hot.contains(&content.0) {
                hot_paths.insert(path.clone());
            }
            paths.insert(path, content);
        }
    }
    let known = |files: Vec<(String, ExistingFile)>| {
        let keys = || (0..).map(FileKey).zip(&files);
        let hot = keys().filter(|(_, (path, _))| hot_paths.contains(path));
        let known = Known {
            hot: hot.map(|(key, _)| key).collect(),
            tree: if all.is_empty() {
                Vec::new()
            } else {
                keys().map(|(key, _)| key).collect()
            },
        };
        (files.into_iter().map(|(_, file)| file).collect(), known)
    };
    let aged = SnapshotFile::open(run.folder.join("final.parquet"))?;
    if state == State::Aged {
        return Ok(known(in_order(&aged, &paths)?));
    }
    // The copies were written under numbers of their own.
    let copied = control_workload(&aged).files;
    aged.visit_files(&mut |view| {
        let copy = copied.get(&view.ino);
        if let (Some(path), Some(&copy)) = (view.path.and_then(|path| paths.get_mut(path)), copy) {
            *path = Content::of(copy);
        }
    });
    let control = SnapshotFile::open(run.folder.join("control.parquet"))?;
    Ok(known(in_order(&control, &paths)?))
}

/// Files of a snapshot by the inode of their directory, then by their own, each with its path as the snapshot has it.
fn in_order(
    snapshot: &SnapshotFile,
    paths: &BTreeMap<String, Content>,
) -> crate::Result<Vec<(String, ExistingFile)>> {
    let mut found = Vec::new();
    snapshot.visit_files(&mut |view| {
        let named = view.path.and_then(|path| paths.get_key_value(path));
        if let Some((path, &content)) = named {
            found.push((view.parent_ino, view.ino, path, content));
        }
    });
    found.sort_unstable();
    let files = found.into_iter().map(|(_, _, path, content)| {
        let bytes = names::unescape(path).with_context(|| format!("`{path}` is no path"))?;
        let file = ExistingFile {
            path: OsString::from_vec(bytes.into_vec()).into(),
            content,
        };
        Ok((path.clone(), file))
    });
    files.collect()
}
