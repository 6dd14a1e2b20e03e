//! What can be simulated: one [`Entry`] a model, and the list of them, [`MODELS`](crate::MODELS).
//!
//! A model says here what the rest of the laboratory has to know of it. Help, messages, documentation, reports and the
//! tests that every model has to pass go by the list, and name no model.

use crate::image::Mountable;
use crate::microscope::Microscope;
use crate::options::ParamError;
use crate::rearrange::{self, Rearranged, Settings};
use fsage_core::io::{AnyHosted, Hosted};
use fsage_core::keys::{Choice, Key, Unset, nearest};
use fsage_core::{FileSystem, LayoutInMemory, Run};
use std::any::Any;
use std::error::Error;
use std::fmt::Debug;
use thiserror::Error;

/// Keys with their values, flags without one, in the order given.
pub type Options<'a> = [(&'a str, Option<&'a str>)];

/// What can be copied as it stands, so that several futures begin with one past.
pub trait Copied {
    /// A copy in the same state.
    fn copied(&self) -> Box<dyn AnyModel>;
}

impl<M: AnyModel + Clone> Copied for M {
    fn copied(&self) -> Box<dyn AnyModel> {
        Box::new(self.clone())
    }
}

/// A simulated file system of any kind, as it is aged and measured.
pub trait AnyModel: FileSystem + Copied + Sync + Debug + Any {
    /// A day of the workload ends: what is synced then, where that matters to the layout.
    fn end_day(&mut self) {}

    /// A day was measured: what is counted by day begins anew.
    fn begin_day(&mut self) {}

    /// A fresh one of the same size, where its keys make one that is not empty.
    fn emptied(&self) -> Option<Box<dyn AnyModel>> {
        None
    }

    /// The model as a host runs it; nothing for what no host runs.
    fn into_hosted(self: Box<Self>) -> Option<Box<dyn AnyHosted>>;

    /// The same while it is aged: to be asked what its operations do to buffers.
    fn as_hosted(&mut self) -> Option<&mut dyn Hosted>;

    /// The model as it is written to an image that a kernel mounts; nothing for one without such images.
    fn as_mountable(&mut self) -> Option<&mut dyn Mountable> {
        None
    }

    /// The layer over a model, if this is one.
    fn as_rearranged(&self) -> Option<&dyn Rearranged> {
        None
    }
}

/// Why a model cannot be made.
#[derive(Debug, Error)]
pub enum MakeError {
    /// A key that it does not know, or a bad value.
    #[error(transparent)]
    Key(#[from] ParamError),
    /// Sizes that do not fit together.
    #[error(transparent)]
    Sizes(Box<dyn Error + Send + Sync>),
}

impl MakeError {
    /// Sizes do not fit together.
    pub fn sizes(error: impl Error + Send + Sync + 'static) -> MakeError {
        MakeError::Sizes(Box::new(error))
    }
}

/// Makes a model from its keys.
pub type Make = fn(&Options<'_>) -> Result<Box<dyn AnyModel>, MakeError>;
/// Says whether a model can be made, without the memory and the time that it takes.
pub type Check = fn(&Options<'_>) -> Result<(), MakeError>;
/// Makes a model with a layer over it, on a disk as large as its partition would be.
pub type MakeLayered = fn(&Settings, &Options<'_>) -> Result<Box<dyn Rearranged>, MakeError>;
/// Makes a model without files on which only that is free that lies in these runs.
pub type MakeWithFreeMap = fn(&Options<'_>, &[Run]) -> Result<Box<dyn AnyHosted>, MakeError>;

/// What keys and a snapshot lead to.
pub type OfLayout<T> = fn(&Options<'_>, &LayoutInMemory) -> Result<T, MakeError>;

/// How a model begins with what a snapshot tells of.
#[derive(Clone, Copy, Debug)]
pub struct FromSnapshot {
    /// The key that names the snapshot, among others.
    pub key: &'static str,
    /// Makes it.
    pub make: OfLayout<Box<dyn AnyModel>>,
    /// Whether it can be made, from the sizes of the snapshot alone.
    pub check: OfLayout<()>,
}

/// Names the real target on which the kernel should do what a model does: `loop:ext4,size=...`.
pub type Kernel = fn(&Options<'_>) -> Result<String, MakeError>;

/// What an image of a model holds: a file of the size of its partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Image {
    /// Metadata alone, for checks.
    Metadata,
    /// All that a kernel mounts: names, times, permissions, and contents of files where they are asked for.
    Mountable,
}

impl Image {
    /// Names of the models of which there are images that fit.
    pub fn models(fits: impl Fn(Image) -> bool) -> Vec<&'static str> {
        let imaged = crate::MODELS.iter();
        let imaged = imaged.filter(|entry| entry.image.is_some_and(&fits));
        imaged.map(|entry| entry.name).collect()
    }
}

/// What the laboratory knows of a model.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its name: the kind of `--on KIND:...`.
    pub name: &'static str,
    /// What it is, in a line.
    pub summary: &'static str,
    /// Every key, in the order of the documentation.
    pub keys: &'static [Key],
    /// Keys that mean something to users of such file systems and that it does not have, with why; a `*` stands for any
    /// ending.
    pub lacks: &'static [(&'static str, &'static str)],
    /// Makes one.
    pub make: Make,
    /// Whether one can be made.
    pub check: Check,
    /// Examples of keys with values, for help.
    pub examples: &'static [&'static str],
    /// Keys with which the tests that every model has to pass make it, small enough to run out of space.
    pub small: &'static [&'static str],
    /// What a part of its disk is called: `cylinder group`.
    pub group: &'static str,
    /// It writes a log: the parts of its disk are filled one after another, and cleaned.
    pub is_log: bool,
    /// It keeps files: it has a layout, which is worth a control and benchmarks.
    pub keeps_files: bool,
    /// What `--trace` looks at it with, if there is something.
    pub microscope: Option<Microscope>,
    /// Makes it with a layer over it, if a layer may lie over it.
    pub layered: Option<MakeLayered>,
    /// Makes it with the free map of another file system, if it takes one.
    pub with_free_map: Option<MakeWithFreeMap>,
    /// Makes it of a snapshot, if it can begin with one.
    pub from_snapshot: Option<FromSnapshot>,
    /// The real target that it can be verified against, if it is exact for a kernel of today.
    pub kernel: Option<Kernel>,
    /// What an image of it holds, if it can be written as one.
    pub image: Option<Image>,
    /// A key and its value with which it gives back by time what files keep behind their ends, if there is one.
    pub trims_with: Option<(&'static str, &'static str)>,
    /// Keys that follow from the size where they are not given, with what they are in large file systems: with these,
    /// one in several sizes is the same file system in each.
    pub in_all_sizes: &'static [(&'static str, &'static str)],
    /// The smallest that the original's own `mkfs` makes unless it is forced, in bytes.
    pub least_bytes: u64,
}

impl Entry {
    /// A model that has nothing special.
    pub const fn new(
        name: &'static str,
        summary: &'static str,
        keys: &'static [Key],
        make: Make,
        check: Check,
    ) -> Entry {
        Entry {
            name,
            summary,
            keys,
            lacks: &[],
            make,
            check,
            examples: &[],
            small: &[""],
            group: "block group",
            is_log: false,
            keeps_files: true,
            microscope: None,
            layered: None,
            with_free_map: None,
            from_snapshot: None,
            kernel: None,
            image: None,
            trims_with: None,
            in_all_sizes: &[],
            least_bytes: 0,
        }
    }

    /// The key by which a policy is chosen, if there is one.
    pub fn policy_key(&self) -> Option<&'static Key> {
        self.keys.iter().find(|key| !key.policies().is_empty())
    }

    /// Its policies; none if it has no choice of them.
    pub fn policies(&self) -> Vec<Choice> {
        self.policy_key().map(Key::policies).unwrap_or_default()
    }

    /// The policy that holds with these keys.
    pub fn policy_of(&self, options: &Options<'_>) -> Option<Choice> {
        let key = self.policy_key()?;
        let given = |name: &str| options.iter().find(|(key, _)| *key == name);
        let name = match (given(key.name), key.otherwise) {
            (Some((_, value)), _) => (*value)?,
            (None, Some((other, with, policy))) if given(other) == Some(&(other, Some(with))) => {
                policy
            }
            (None, _) => match key.unset {
                Unset::Value(policy) => policy,
                Unset::Rule(_) => return None,
            },
        };
        key.policies()
            .into_iter()
            .find(|policy| policy.name == name)
    }

    /// Every key that may be given: its own and, where a layer may lie over it, those of the layer.
    pub fn all_keys(&self) -> impl Iterator<Item = &'static Key> + use<> {
        let layer = self.layered.map_or(&[][..], |_| rearrange::LAYER.keys);
        self.keys.iter().chain(layer)
    }

    /// The first key that may not be given.
    fn unknown(&self, options: &Options<'_>) -> Option<ParamError> {
        let known = |name: &str| self.all_keys().any(|key| key.name == name);
        let (key, _) = options.iter().find(|(key, _)| !known(key))?;
        let is_lacking = |name: &str| match name.strip_suffix('*') {
            Some(start) => key.starts_with(start),
            None => name == *key,
        };
        if let Some((_, why)) = self.lacks.iter().find(|(name, _)| is_lacking(name)) {
            return Some(ParamError::Lacking {
                key: (*key).to_owned(),
                why,
            });
        }
        Some(ParamError::unknown_key(key, self.all_keys()))
    }

    /// How a layer rearranges its disk with these keys; nothing if none does.
    ///
    /// # Errors
    /// A bad value, or a key of a layer without the layer.
    pub fn rearrangement(&self, options: &Options<'_>) -> Result<Option<Settings>, ParamError> {
        match self.layered {
            Some(_) => Settings::from_options(options.iter().copied()),
            None => Ok(None),
        }
    }

    /// The keys that are its own, without those of a layer over it.
    pub fn own<'a>(&self, options: &Options<'a>) -> Vec<(&'a str, Option<&'a str>)> {
        let of_layer = |key: &str| self.layered.is_some() && Settings::is_key(key);
        let own = options.iter().filter(|(key, _)| !of_layer(key));
        own.copied().collect()
    }

    /// Makes the model, with a layer over it if the keys ask for one.
    ///
    /// # Errors
    /// A key that it does not know, a bad value, a geometry that does not work.
    pub fn make(&self, options: &Options<'_>) -> Result<Box<dyn AnyModel>, MakeError> {
        if let Some(unknown) = self.unknown(options) {
            return Err(unknown.into());
        }
        let own = self.own(options);
        match (self.layered, self.rearrangement(options)?) {
            (Some(layered), Some(settings)) => Ok(layered(&settings, &own)?),
            _ => (self.make)(&own).map_err(|error| self.with_meant(error)),
        }
    }

    /// That [`make`](Entry::make) makes the model, without the memory and the time that it takes.
    ///
    /// # Errors
    /// As [`make`](Entry::make).
    pub fn can_be_made(&self, options: &Options<'_>) -> Result<(), MakeError> {
        if let Some(unknown) = self.unknown(options) {
            return Err(unknown.into());
        }
        if self.rearrangement(options)?.is_some() {
            return self.make(options).map(drop);
        }
        (self.check)(&self.own(options)).map_err(|error| self.with_meant(error))
    }

    /// An error with the word that was probably meant, where a key takes words and got none of them.
    fn with_meant(&self, error: MakeError) -> MakeError {
        let MakeError::Key(ParamError::BadValue {
            key,
            value,
            expected,
        }) = error
        else {
            return error;
        };
        let words = self.keys.iter().filter(|known| known.name == key);
        let expected = match nearest(&value, words.flat_map(Key::completions)) {
            Some(meant) => format!("{expected}; did you mean `{meant}`?"),
            None => expected,
        };
        MakeError::Key(ParamError::BadValue {
            key,
            value,
            expected,
        })
    }
}

/// A layer that may lie over models, by a key of its own.
#[derive(Clone, Copy, Debug)]
pub struct Layer {
    /// Its name, which is that of the key that asks for it.
    pub name: &'static str,
    /// What it does, in a line.
    pub summary: &'static str,
    /// Every key, in the order of the documentation, the one that asks for it first.
    pub keys: &'static [Key],
    /// Examples of targets, for help.
    pub examples: &'static [&'static str],
}

impl Layer {
    /// The models over which it may lie.
    pub fn models(&self) -> impl Iterator<Item = &'static Entry> + use<> {
        crate::MODELS
            .iter()
            .copied()
            .filter(|entry| entry.layered.is_some())
    }
}

/// Layers over models.
pub static LAYERS: &[&Layer] = &[&rearrange::LAYER];

/// The model of that name.
pub fn by_name(name: &str) -> Option<&'static Entry> {
    crate::MODELS
        .iter()
        .copied()
        .find(|entry| entry.name == name)
}

/// The name of a model that was probably meant.
pub fn meant(name: &str) -> Option<&'static str> {
    nearest(name, crate::MODELS.iter().map(|entry| entry.name))
}

#[cfg(test)]
mod conformance;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MODELS;
    use std::collections::HashSet;

    #[test]
    fn names_of_models_and_keys_are_unique_and_described() {
        let mut names = HashSet::new();
        for entry in MODELS {
            assert!(names.insert(entry.name), "{} twice", entry.name);
            assert!(entry.summary.len() > 20, "{}", entry.name);
            let mut keys = HashSet::new();
            for key in entry.keys {
                assert!(keys.insert(key.name), "{}: {} twice", entry.name, key.name);
                assert!(!key.doc.is_empty(), "{}: {}", entry.name, key.name);
            }
        }
    }

    #[test]
    fn a_key_with_a_slip_is_named_as_it_was_meant_and_those_of_a_layer_count() {
        let message = |name: &str, key| {
            by_name(name)
                .unwrap()
                .can_be_made(&[(key, Some("1"))])
                .unwrap_err()
                .to_string()
        };
        assert!(message("ffs", "polcy").contains("did you mean `policy`? known: preset, policy"));
        assert!(message("ffs", "treshold").contains("did you mean `threshold`?"));
        assert!(message("cffs", "embd").contains("did you mean `embed`?"));
        let far = message("lfs", "rearrange");
        assert!(
            far.contains("unknown key `rearrange`; known: variant"),
            "{far}"
        );
    }

    #[test]
    fn a_value_with_a_slip_is_named_as_it_was_meant() {
        let message = |name: &str, key, value| {
            let options = [(key, Some(value))];
            let entry = by_name(name).unwrap();
            let made = entry.make(&options).unwrap_err().to_string();
            assert_eq!(entry.can_be_made(&options).unwrap_err().to_string(), made);
            made
        };
        let policy = message("ffs", "policy", "reallocc");
        assert!(policy.ends_with("did you mean `realloc`?"), "{policy}");
        let preset = message("ffs", "preset", "g520");
        assert!(preset.ends_with("did you mean `g502`?"), "{preset}");
        let far = message("ffs", "policy", "best");
        assert!(!far.contains("did you mean"), "{far}");
        let number = message("ffs", "maxcontig", "many");
        assert!(!number.contains("did you mean"), "{number}");
    }

    #[test]
    fn images_are_of_the_models_that_say_so() {
        assert_eq!(
            Image::models(|image| image == Image::Mountable),
            ["ext4", "xfs"]
        );
        assert_eq!(Image::models(|_| true), ["ext4", "xfs", "cffs"]);
    }

    #[test]
    fn the_policy_that_holds_is_known_where_none_is_named() {
        let policy = |name: &str, options: &Options<'_>| {
            by_name(name).unwrap().policy_of(options).map(|p| p.name)
        };
        assert_eq!(policy("ffs", &[]), Some("orig"));
        assert_eq!(
            policy("ffs", &[("policy", Some("realloc"))]),
            Some("realloc")
        );
        assert_eq!(policy("lfs", &[]), Some("cost-benefit"));
        assert_eq!(policy("lfs", &[("variant", Some("netbsd"))]), Some("cb"));
        assert_eq!(policy("ext3", &[]), None);
    }
}
