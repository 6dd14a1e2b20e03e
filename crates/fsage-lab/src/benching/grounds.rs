//! What a suite runs on: a model, or a place of a real file system, and its hot files.

use super::results::State;
use crate::aging::control::control_image;
use crate::aging::life::Lived;
use crate::error::Context;
use crate::tree_table;
use fsage_bench::real::{ExistingFile, RealPlace};
use fsage_core::io::AnyHosted;
use fsage_core::{FileId, FileKind, Layout, names};
use fsage_data::SnapshotFile;
use fsage_real::directory::{Content, What};
use fsage_real::loop_image::LoopOptions;
use fsage_real::{Place, RealSpec};
use fsage_target::{HotFile, control_workload};
use serde::Serialize;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// A state of a target, before any benchmark.
pub enum Ground {
    /// A model, with its hot files in the order in which they are read, and the flash device that it lived on.
    Model(Box<dyn AnyHosted>, Vec<FileId>, Option<Box<Lived>>),
    /// A real file system, with the same.
    Real(RealPlace, Vec<ExistingFile>),
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
    /// The hot files of the workload, where somebody needs them.
    pub hot: Option<&'a [HotFile]>,
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
    let hot_files = match run {
        Some(run) if state != State::Empty => existing(run, state)?,
        _ => Vec::new(),
    };
    Ok(Ok(Ground::Real(place, hot_files)))
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

/// The hot files in the tree of a target or of its control, by the inode of their directory, then by their own.
fn existing(run: &RunFiles<'_>, state: State) -> crate::Result<Vec<ExistingFile>> {
    let Some(hot) = run.hot else {
        return Ok(Vec::new());
    };
    let tree = tree_table::read(&run.folder.join("tree.parquet"))?;
    let mut contents: BTreeMap<u64, Content> = BTreeMap::new();
    contents.extend(
        hot.iter()
            .map(|hot| (hot.made_as.0, Content::of(hot.made_as))),
    );
    let mut paths: BTreeMap<String, Content> = BTreeMap::new();
    for file in &tree.files {
        if let What::File { content, .. } = file.what
            && contents.contains_key(&content.0)
        {
            // Whichever of its names a snapshot knows a file by.
            paths.insert(names::escape(&file.path).into_owned(), content);
        }
    }
    let aged = SnapshotFile::open(run.folder.join("final.parquet"))?;
    if state == State::Aged {
        return in_order(&aged, &paths);
    }
    // The copies were written under numbers of their own.
    let copied = control_workload(&aged).files;
    aged.visit_files(&mut |view| {
        let copy = copied.get(&view.ino);
        if let (Some(path), Some(&copy)) = (view.path.and_then(|path| paths.get_mut(path)), copy) {
            *path = Content::of(copy);
        }
    });
    in_order(
        &SnapshotFile::open(run.folder.join("control.parquet"))?,
        &paths,
    )
}

/// Files of a snapshot by the inode of their directory, then by their own.
fn in_order(
    snapshot: &SnapshotFile,
    paths: &BTreeMap<String, Content>,
) -> crate::Result<Vec<ExistingFile>> {
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
        Ok(ExistingFile {
            path: OsString::from_vec(bytes.into_vec()).into(),
            content,
        })
    });
    files.collect()
}
