//! Naming a target: `kind[:key=value|flag,...]`, for real file systems `kind:place[,key=value|flag,...]`.

use crate::real_spec::RealSpec;
use crate::words;
use fsage_models::{ParamError, cffs, ext3, ffs, lfs, rearrange};
use std::fmt::{self, Write as _};
use thiserror::Error;

/// A target as the command line names it, such as `ffs:preset=g502,policy=realloc` or `loop:ext4,size=2G`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetSpec {
    /// What kind of target: one of [`KINDS`].
    pub kind: String,
    /// Of a real file system, what comes before the keys: the path of `dir`, the type of file system of `loop`.
    pub place: Option<String>,
    /// Keys with their values, flags without one, in the order given.
    pub options: Vec<(String, Option<String>)>,
}

/// The length at which the name of a folder is cut; file systems take 255 bytes.
const MAX_FOLDER: usize = 120;

/// Kinds of targets, with what they are.
pub const KINDS: [(&str, &str); 7] = [
    ("ffs", "4.4BSD fast file system, simulated"),
    (
        "ext3",
        "Ext3 of Linux 2.6.18, or ext2 of Linux 6.1, simulated",
    ),
    (
        "lfs",
        "BSD log-structured file system with its cleaner, simulated",
    ),
    (
        "cffs",
        "C-FFS: embedded inodes, explicit grouping, and without them its baseline, simulated",
    ),
    (
        "dir",
        "dir:PATH: an empty directory of a mounted file system",
    ),
    (
        "loop",
        "loop:FS: a new image with ext2, ext3, ext4, xfs, btrfs, ... that nobody else sees; needs root",
    ),
    (
        "null",
        "takes every operation and does nothing: the speed of the replay itself",
    ),
];

/// Kinds that have a place, and what the place is.
const PLACES: [(&str, &str); 2] = [
    ("dir", "a directory: dir:PATH"),
    ("loop", "a type of file system: loop:ext4"),
];

/// Kinds that a layer can rearrange.
const LAYERED: [&str; 2] = ["ffs", "ext3"];

/// What is wrong with a target specification.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("target `{spec}`: {reason}")]
pub struct SpecError {
    /// The specification as given.
    pub spec: String,
    /// What is wrong, and what would be right.
    pub reason: String,
}

impl SpecError {
    /// An error about a specification.
    pub fn new(spec: &impl fmt::Display, reason: impl fmt::Display) -> SpecError {
        SpecError {
            spec: spec.to_string(),
            reason: reason.to_string(),
        }
    }
}

impl TargetSpec {
    /// Parses a specification. Whether the kind knows the keys is asked when the target is made.
    ///
    /// # Errors
    /// No kind, an unknown one, an empty or repeated key.
    pub fn parse(text: &str) -> Result<TargetSpec, SpecError> {
        let error = |reason: String| Err(SpecError::new(&text, reason));
        let (kind, rest) = match text.split_once(':') {
            Some((kind, rest)) => (kind, Some(rest)),
            None => (text, None),
        };
        if !KINDS.iter().any(|&(known, _)| known == kind) {
            let known: Vec<&str> = KINDS.iter().map(|&(kind, _)| kind).collect();
            return error(format!(
                "unknown kind `{kind}`; known: {}",
                known.join(", ")
            ));
        }
        let mut words = match rest.map(words::split_list).transpose() {
            Ok(words) => words.unwrap_or_default().into_iter(),
            Err(unclosed) => return error(unclosed.to_string()),
        };
        let mut place = None;
        if let Some((_, what)) = PLACES.iter().find(|&&(placed, _)| placed == kind) {
            place = words.next().filter(|place| !place.is_empty());
            if place.is_none() {
                return error(format!("expected {what}"));
            }
        }
        let mut options: Vec<(String, Option<String>)> = Vec::new();
        for option in words {
            let (key, value) = match option.split_once('=') {
                Some((key, value)) => (key.trim(), Some(value.trim().to_owned())),
                None => (option.trim(), None),
            };
            if key.is_empty() {
                return error("expected key=value between the commas, found nothing".into());
            }
            if options.iter().any(|(known, _)| known == key) {
                return error(format!("key `{key}` is given twice"));
            }
            options.push((key.to_owned(), value));
        }
        Ok(TargetSpec {
            kind: kind.to_owned(),
            place,
            options,
        })
    }

    /// The parameters of an `ffs` target.
    ///
    /// # Errors
    /// An unknown key or a bad value.
    pub fn ffs_params(&self) -> Result<ffs::Params, SpecError> {
        ffs::Params::from_options(self.settings()).map_err(|e| self.refuse(&e))
    }

    /// The parameters of an `ext3` target.
    ///
    /// # Errors
    /// An unknown key or a bad value.
    pub fn ext3_params(&self) -> Result<ext3::Params, SpecError> {
        ext3::Params::from_options(self.settings()).map_err(|e| self.refuse(&e))
    }

    /// How the disk of an `ext3` or `ffs` target is rearranged; `None` for a plain one, and of any other kind.
    ///
    /// # Errors
    /// A bad value, or a key of the layer without `rearrange`.
    pub fn rearrangement(&self) -> Result<Option<rearrange::Settings>, SpecError> {
        if !LAYERED.contains(&self.kind.as_str()) {
            return Ok(None);
        }
        rearrange::Settings::from_options(self.pairs()).map_err(|e| self.refuse(&e))
    }

    /// All keys with their values.
    fn pairs(&self) -> impl Iterator<Item = (&str, Option<&str>)> + Clone {
        let options = self.options.iter();
        options.map(|(key, value)| (key.as_str(), value.as_deref()))
    }

    /// The keys of the file system, without those of a layer over it.
    fn settings(&self) -> impl Iterator<Item = (&str, Option<&str>)> + Clone {
        let layered = LAYERED.contains(&self.kind.as_str());
        self.pairs()
            .filter(move |(key, _)| !(layered && rearrange::Settings::is_key(key)))
    }

    fn refuse(&self, error: &ParamError) -> SpecError {
        SpecError::new(self, error)
    }

    /// The parameters of an `lfs` target.
    ///
    /// # Errors
    /// An unknown key or a bad value.
    pub fn lfs_params(&self) -> Result<lfs::Params, SpecError> {
        lfs::Params::from_options(self.settings()).map_err(|e| self.refuse(&e))
    }

    /// The parameters of a `cffs` target.
    ///
    /// # Errors
    /// An unknown key or a bad value.
    pub fn cffs_params(&self) -> Result<cffs::Params, SpecError> {
        cffs::Params::from_options(self.settings()).map_err(|e| self.refuse(&e))
    }

    /// The real file system of a target of kind `dir` or `loop`; `None` for a model.
    ///
    /// # Errors
    /// An unknown key or a bad value.
    pub fn real(&self) -> Result<Option<RealSpec>, SpecError> {
        RealSpec::new(self).transpose()
    }

    /// A name for the folder of this target's results: the specification in characters every file system takes, and a
    /// checksum instead of the rest if it is long.
    pub fn folder(&self) -> String {
        let text = self.to_string();
        let mut folder: String = text
            .chars()
            .map(|c| match c {
                'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '-' | '_' | '=' | ',' => c,
                _ => '_',
            })
            .collect();
        if folder.len() > MAX_FOLDER {
            folder.truncate(MAX_FOLDER);
            let _ = write!(folder, "-{:08x}", crc32fast::hash(text.as_bytes()));
        }
        folder
    }
}

impl fmt::Display for TargetSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        let place = self.place.iter().map(|place| words::quote(place));
        let options = self.options.iter().map(|(key, value)| match value {
            Some(value) => format!("{key}={}", words::quote(value)),
            None => key.clone(),
        });
        for (i, word) in place.chain(options).enumerate() {
            f.write_str(if i == 0 { ":" } else { "," })?;
            f.write_str(&word)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_specification_is_a_kind_with_keys_and_flags() {
        let spec = TargetSpec::parse("ffs:preset=tiny,root,policy=noswitch-seq").unwrap();
        assert_eq!(spec.kind, "ffs");
        assert_eq!(spec.options.len(), 3);
        assert_eq!(spec.options[1], ("root".into(), None));
        assert_eq!(spec.to_string(), "ffs:preset=tiny,root,policy=noswitch-seq");
        assert_eq!(spec.folder(), "ffs_preset=tiny,root,policy=noswitch-seq");
        assert!(spec.ffs_params().unwrap().superuser);
    }

    #[test]
    fn folders_of_long_paths_are_short_and_differ() {
        let long = "x".repeat(300);
        let folder = |text: &str| TargetSpec::parse(text).unwrap().folder();
        let (one, other) = (
            folder(&format!("dir:/{long}/a")),
            folder(&format!("dir:/{long}/b")),
        );
        assert!(one != other && one.len() < 140, "{one} {other}");
        assert_eq!(folder("loop:ext4,size=2G"), "loop_ext4,size=2G");
    }

    #[test]
    fn keys_of_a_layer_are_kept_apart_from_those_of_the_file_system() {
        let layered = |text: &str| TargetSpec::parse(text).unwrap();
        let spec = layered("ext3:rearrange=files,size=2G,threshold=3,mode=ext2");
        let settings = spec.rearrangement().unwrap().unwrap();
        assert_eq!(settings.threshold, 3);
        assert_eq!(spec.ext3_params().unwrap().size_bytes, 2 << 30);
        let spec = layered("ffs:preset=tiny,rearrange=none");
        assert_eq!(spec.rearrangement().unwrap(), None);
        assert!(spec.ffs_params().is_ok());
        let refused = layered("ffs:threshold=3").rearrangement().unwrap_err();
        assert!(refused.to_string().contains("rearrange=files"), "{refused}");
        let small = crate::Target::make(&layered("ext3:size=64M,rearrange=files"));
        let message = small.unwrap_err().to_string();
        assert!(
            message.contains("the reserved area, 1638400 bytes"),
            "{message}"
        );
        let lfs = layered("lfs:rearrange=files");
        assert_eq!(lfs.rearrangement().unwrap(), None);
        assert!(
            lfs.lfs_params()
                .unwrap_err()
                .to_string()
                .contains("unknown key `rearrange`")
        );
    }

    #[test]
    fn errors_name_the_specification_and_what_would_be_right() {
        let message = |text: &str| TargetSpec::parse(text).unwrap_err().to_string();
        assert!(message("zfs").contains("known: ffs, ext3, lfs, cffs, dir, loop, null"));
        assert!(message("").contains("unknown kind"));
        assert!(message("ffs:").contains("key=value"));
        assert!(message("ffs:root,,nrpos=1").contains("key=value"));
        assert!(message("ffs:nrpos=1,nrpos=8").contains("twice"));
        assert!(message("dir").contains("dir:PATH"));
        assert!(message("loop:,size=1G").contains("loop:ext4"));
        assert!(message("loop:xfs,mkfs=\"-m").contains("not closed"));
        let unknown = TargetSpec::parse("ffs:blocks=8").unwrap().ffs_params();
        assert!(unknown.unwrap_err().to_string().contains("known: preset"));
        let unknown = TargetSpec::parse("ext3:policy=orig").unwrap().ext3_params();
        let message = unknown.unwrap_err().to_string();
        assert!(message.contains("ext3:policy=orig") && message.contains("known: mode, size"));
        let cffs = TargetSpec::parse("cffs:embed=true,group=off")
            .unwrap()
            .cffs_params()
            .unwrap();
        assert!(cffs.embed && !cffs.group);
    }
}
