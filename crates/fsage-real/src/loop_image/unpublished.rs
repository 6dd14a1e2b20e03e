//! Images that are made under another name than they will have.

use super::ImageError;
use fsage_durable::{TemporaryFolder, parent_of, rename_new, sync_folder};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// An image that does not have its name yet. It lies in a folder of its own beside that, which is removed when this
/// value goes; or when an image of that name is made again, if this process was killed.
#[derive(Debug)]
pub struct Unpublished {
    folder: TemporaryFolder,
    image: PathBuf,
}

impl Unpublished {
    /// Makes the sparse file. Nothing that is there is touched.
    pub(super) fn new(image: &Path, size_bytes: u64) -> Result<Unpublished, ImageError> {
        if let Ok(meta) = image.symlink_metadata() {
            let path = image.to_owned();
            return Err(if meta.is_file() {
                ImageError::Exists { path }
            } else {
                ImageError::NotAFile { path }
            });
        }
        let unpublished = Unpublished {
            folder: TemporaryFolder::private(image)?,
            image: image.to_owned(),
        };
        File::create_new(unpublished.path())
            .and_then(|file| file.set_len(size_bytes))
            .map_err(ImageError::io(image, "making the image"))?;
        Ok(unpublished)
    }

    /// Where the image is now.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("image")
    }

    /// Gives the image its name, where nothing may be. It is on disk when this returns, as it was when it was made.
    ///
    /// # Errors
    /// Something of that name is there by now; a failure of the file system.
    pub fn publish(self) -> Result<(), ImageError> {
        let image = &self.image;
        File::open(self.path())
            .and_then(|file| file.sync_all())
            .map_err(ImageError::io(image, "syncing the image"))?;
        rename_new(&self.path(), image).map_err(|errno| match io::Error::from(errno) {
            error if error.kind() == io::ErrorKind::AlreadyExists => ImageError::Exists {
                path: image.clone(),
            },
            error => ImageError::io(image, "giving the image its name")(error),
        })?;
        sync_folder(parent_of(image)).map_err(ImageError::io(image, "syncing its folder"))
    }
}
