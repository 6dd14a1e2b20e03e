//! A folder that git takes for a repository, with the objects of another one and nothing else of it.

use super::error::{GitError, corrupt, shown};
use fsage_durable::TemporaryFolder;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder; it goes when it is dropped. Nobody but the user can look into it.
#[derive(Debug)]
pub(super) struct PrivateFolder {
    folder: TemporaryFolder,
    /// The objects of the repository.
    objects: PathBuf,
    /// Where the history of a shallow clone ends, if it is one.
    shallow: Option<PathBuf>,
}

impl PrivateFolder {
    /// Makes it for a repository whose objects have names of this kind, as git calls it.
    pub fn new(objects: &Path, shallow: &Path, format: &[u8]) -> Result<PrivateFolder, GitError> {
        // What goes into a configuration is one of these, and nothing that merely looks like it.
        let (version, extension) = match format {
            b"sha1" => (0, ""),
            b"sha256" => (1, "[extensions]\n\tobjectFormat = sha256\n"),
            other => {
                let what = format!("no known format of object names, {}", shown(other));
                return Err(corrupt("rev-parse", what));
            }
        };
        let config =
            format!("[core]\n\trepositoryFormatVersion = {version}\n\tbare = true\n{extension}");
        let make = || -> io::Result<PrivateFolder> {
            let folder = TemporaryFolder::private(&std::env::temp_dir().join("fsage-git"))
                .map_err(io::Error::other)?;
            fs::write(folder.path().join("config"), config)?;
            fs::write(folder.path().join("HEAD"), "ref: refs/heads/none\n")?;
            fs::create_dir(folder.path().join("refs"))?;
            Ok(PrivateFolder {
                folder,
                objects: std::path::absolute(objects)?,
                shallow: match std::path::absolute(shallow)? {
                    shallow if shallow.is_file() => Some(shallow),
                    _ => None,
                },
            })
        };
        make().map_err(|source| GitError::Folder { source })
    }

    /// Makes a command read the objects through it.
    pub fn give_to(&self, command: &mut Command) {
        command
            .env("GIT_DIR", self.folder.path())
            .env("GIT_OBJECT_DIRECTORY", &self.objects)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null");
        if let Some(shallow) = &self.shallow {
            command.env("GIT_SHALLOW_FILE", shallow);
        }
    }
}
