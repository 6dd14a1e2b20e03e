//! Where an experiment file is at home.

use super::manifest::{self, Manifest};
use super::plan::Plan;
use crate::error::Context;
use std::path::{Path, PathBuf};

/// Where an experiment file is at home.
#[derive(Clone, Debug)]
pub struct Home {
    /// Paths in it, in its calls and in its targets are meant from here, so that is where all of it works.
    pub folder: PathBuf,
    /// Name of the experiment, if the file gives none.
    pub name: String,
    /// Folder for the results, if none is named.
    pub output: PathBuf,
}

impl Home {
    /// That of a file; that of the original, where it is the copy in the folder of an experiment.
    ///
    /// # Errors
    /// It lies in a folder whose manifest is damaged.
    pub fn of(file: &Path) -> crate::Result<Home> {
        let parent = file
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new("."));
        let is_copy = file.file_name().is_some_and(|name| name == manifest::FILE);
        if is_copy && Manifest::is_experiment(parent) {
            let manifest = Manifest::read(parent)?;
            return Ok(Home {
                folder: parent.join(manifest.paths_from),
                name: manifest.name,
                output: parent.to_owned(),
            });
        }
        let stem = file.file_stem().unwrap_or_default();
        Ok(Home {
            folder: parent.to_owned(),
            name: stem.to_string_lossy().into_owned(),
            output: PathBuf::from(stem),
        })
    }

    /// Reads the file, and plans it. The process works in [`folder`](Self::folder) from then on.
    ///
    /// # Errors
    /// The file cannot be read, or is no experiment; there is no such folder.
    pub fn plan(&self, file: &Path) -> crate::Result<Plan> {
        let text = text(file)?;
        self.enter()?;
        Plan::parse(&file.display().to_string(), &self.name, &text)
    }

    /// Makes this the folder that the process works in.
    ///
    /// # Errors
    /// There is no such folder.
    pub fn enter(&self) -> crate::Result<()> {
        std::env::set_current_dir(&self.folder).with_context(|| self.folder.display().to_string())
    }
}

/// The text of an experiment file.
///
/// # Errors
/// It cannot be read.
pub fn text(file: &Path) -> crate::Result<String> {
    fsage_input::text(file, fsage_input::TEXT_BYTES).with_context(|| {
        format!(
            "{}: cannot read it; `fsage run --show policies` prints an experiment file",
            file.display()
        )
    })
}
