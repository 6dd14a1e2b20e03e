//! What an image is to be: `loop:FS,size=...,mkfs=...`.

use super::{ImageError, Kind, Regime, Uuid, mkfs_words};
use fsage_linux::mount::MountOptions;
use std::path::{Path, PathBuf};

/// The size of an image when none is given.
pub const DEFAULT_SIZE: u64 = 1 << 30;

/// What an image is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopOptions {
    /// The type of file system.
    pub kind: Kind,
    /// Bytes of the image, a multiple of 4 KiB.
    pub size_bytes: u64,
    /// Where the image lies, if that was said.
    pub image: Option<PathBuf>,
    /// Words for `mkfs`, behind the reference ones: options that name no file and no device.
    pub mkfs: Vec<String>,
    /// Mount options, as `mount -o` takes them; empty for none.
    pub mount: String,
    /// The image is read and written past the page cache of the file system it lies on.
    pub direct: bool,
    /// The UUID of the file system.
    pub uuid: Uuid,
    /// What makes the layout the same each time, if anything does.
    pub regime: Option<Regime>,
    /// Of ext4, `mb_stream_req`: files of at most so many blocks share what is set aside. `None` leaves the kernel's.
    pub stream_request: Option<u32>,
    /// Settings below `/sys/fs/TYPE/DEVICE` that are made after every mount: names and values.
    pub settings: Vec<(String, String)>,
}

impl LoopOptions {
    /// An image of [`DEFAULT_SIZE`] with the reference options.
    pub fn new(kind: Kind) -> LoopOptions {
        LoopOptions {
            kind,
            size_bytes: DEFAULT_SIZE,
            image: None,
            mkfs: Vec::new(),
            mount: String::new(),
            direct: false,
            uuid: Uuid::DEFAULT,
            regime: None,
            stream_request: None,
            settings: Vec::new(),
        }
    }

    /// The smallest image of these options; 0 where it was not measured, and with words of the user, as `mkfs` itself
    /// knows best then.
    pub fn least_bytes(&self) -> u64 {
        let least = self.kind.min_bytes().filter(|_| self.mkfs.is_empty());
        least.unwrap_or(0)
    }

    /// That `mkfs` makes a file system of this size.
    ///
    /// # Errors
    /// It is too small.
    pub fn check_size(&self) -> Result<(), ImageError> {
        let min_bytes = self.least_bytes();
        if self.size_bytes >= min_bytes {
            return Ok(());
        }
        Err(ImageError::TooSmall {
            kind: self.kind,
            size_bytes: self.size_bytes,
            min_bytes,
        })
    }

    /// Options for an image that is there: its type and size; how it was made is not in it.
    ///
    /// # Errors
    /// No regular file, or none of the types of [`Kind`] in it.
    pub fn of_image(image: &Path) -> Result<LoopOptions, ImageError> {
        let size_bytes = super::image_bytes(image)?;
        let kind =
            Kind::of_image(image).map_err(ImageError::io(image, "reading the superblock"))?;
        let kind = kind.ok_or_else(|| ImageError::NoFileSystem {
            path: image.to_owned(),
        })?;
        Ok(LoopOptions {
            size_bytes,
            image: Some(image.to_owned()),
            ..LoopOptions::new(kind)
        })
    }

    /// Where the image lies: the path that was given, or `folder/FS.img`.
    pub fn image_in(&self, folder: &Path) -> PathBuf {
        self.image
            .clone()
            .unwrap_or_else(|| folder.join(format!("{}.img", self.kind)))
    }

    /// Options for a second image of the same kind and size, at `image`.
    #[must_use]
    pub fn control(&self, image: PathBuf) -> LoopOptions {
        LoopOptions {
            image: Some(image),
            ..self.clone()
        }
    }

    /// Sets the words for `mkfs`.
    ///
    /// # Errors
    /// The word that is no option, or that may name something besides the image, and what may be there.
    pub fn set_mkfs(&mut self, words: Vec<String>) -> Result<(), String> {
        mkfs_words::check(self.kind, &words)?;
        self.mkfs = words;
        Ok(())
    }

    /// Sets what is written below `/sys/fs` after every mount, as `NAME=VALUE,...`.
    ///
    /// # Errors
    /// The kernel has no such folder for this type; a word that is no name with a value.
    pub fn set_settings(&mut self, text: &str) -> Result<(), String> {
        if !matches!(self.kind, Kind::Ext4 | Kind::Xfs | Kind::F2fs) {
            return Err(format!(
                "{} has no settings by device in /sys/fs",
                self.kind
            ));
        }
        let is_name = |name: &str| {
            let is_part = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
            !name.is_empty()
                && name
                    .split('/')
                    .all(|part| !part.is_empty() && part.chars().all(is_part))
        };
        let settings = text.split(',').map(|word| {
            let setting = word
                .split_once('=')
                .filter(|(name, value)| is_name(name) && !value.is_empty());
            let setting = setting.map(|(name, value)| (name.to_owned(), value.to_owned()));
            setting.ok_or_else(|| {
                format!("expected NAME=VALUE, as in mb_group_prealloc=64, found `{word}`")
            })
        });
        self.settings = settings.collect::<Result<_, _>>()?;
        Ok(())
    }

    pub(super) fn mount_options(&self, read_only: bool) -> Result<MountOptions, ImageError> {
        let mut options = MountOptions::default();
        for option in self.mount_words(read_only) {
            options.add(&option)?;
        }
        Ok(options)
    }

    /// What `mount` takes to mount an image where everybody sees it.
    pub fn mount_call(&self, image: &Path, at: &Path, read_only: bool) -> Vec<String> {
        let options = ["loop".to_owned()].into_iter();
        let options: Vec<String> = options.chain(self.mount_words(read_only)).collect();
        vec![
            "-t".to_owned(),
            self.kind.name().to_owned(),
            "-o".to_owned(),
            options.join(","),
            image.display().to_string(),
            at.display().to_string(),
        ]
    }

    /// The options as they are given, in order. Nothing of an image is run, and nobody else sees it.
    pub(super) fn mount_words(&self, read_only: bool) -> Vec<String> {
        let always = ["nosuid", "nodev", "noexec"];
        let own = self.kind.mount_options().iter().copied();
        let regime = self.regime.as_ref().map(Regime::mount_options);
        let users = self.mount.split(',').filter(|_| !self.mount.is_empty());
        // Last: what the kernel is told last holds.
        own.chain(regime.unwrap_or_default())
            .chain(users)
            .chain(always)
            .chain(read_only.then_some("ro"))
            .map(str::to_owned)
            .collect()
    }
}
