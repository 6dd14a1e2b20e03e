//! Naming a target: `kind[:key=value|flag,...]`, for real file systems `kind:place[,key=value|flag,...]`.

use fsage_core::keys::{Choice, Key, instead};
use fsage_core::words;
use fsage_models::rearrange::Settings;
use fsage_models::registry::{self, Entry, Options};
use fsage_models::{MODELS, ParamError};
use fsage_real::loop_image::Kind;
use fsage_real::{REAL_KINDS, RealKind, RealSpec};
use std::fmt::{self, Write as _};
use thiserror::Error;

/// A target as the command line names it, such as `ffs:preset=g502,policy=realloc` or `loop:ext4,size=2G`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetSpec {
    /// What kind of target: one of [`kinds`].
    pub kind: String,
    /// Of a real file system, what comes before the keys: the path of `dir`, the type of file system of `loop`.
    pub place: Option<String>,
    /// Keys with their values, flags without one, in the order given.
    pub options: Vec<(String, Option<String>)>,
}

/// The length at which the name of a folder is cut; file systems take 255 bytes.
const MAX_FOLDER: usize = 120;

/// Kinds of targets, with what they are: the models, and the real file systems.
pub fn kinds() -> impl Iterator<Item = (&'static str, &'static str)> {
    let models = MODELS.iter().map(|entry| (entry.name, entry.summary));
    models.chain(REAL_KINDS.iter().map(|kind| (kind.name, kind.summary)))
}

/// Models that can be verified against the kernel of this machine.
pub fn kernel_models() -> Vec<&'static str> {
    let exact = MODELS.iter().filter(|entry| entry.kernel.is_some());
    exact.map(|entry| entry.name).collect()
}

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

/// Keys of models that say which file system it is: the first word is the model's own name.
fn names_system(entry: &Entry, key: &Key) -> bool {
    key.words.first() == Some(&entry.name)
}

/// File systems that are one of several of a model, each with the model: ext2, which is an `ext3`.
pub fn within_models() -> impl Iterator<Item = (&'static str, &'static str)> {
    within().map(|(system, entry, _)| (system, entry.name))
}

fn within() -> impl Iterator<Item = (&'static str, &'static Entry, &'static Key)> {
    let keys = MODELS
        .iter()
        .flat_map(|entry| entry.keys.iter().map(move |key| (entry, key)));
    let named = keys.filter(|(entry, key)| names_system(entry, key));
    named.flat_map(|(entry, key)| {
        let others = key.words[1..].iter();
        others.map(move |system| (*system, *entry, key))
    })
}

/// How a file system is named that is one of several of a model: `ext3:mode=ext2`.
fn within_model(kind: &str) -> Option<String> {
    let (_, entry, key) = within().find(|(system, ..)| *system == kind)?;
    Some(format!("{}:{}={kind}", entry.name, key.name))
}

impl TargetSpec {
    /// The file system that it is: the kind, or another one of the same model.
    pub fn system(&self) -> &str {
        let given = self.entry().and_then(|entry| {
            let mut options = self.options.iter();
            options.find_map(|(name, value)| {
                let key = entry.keys.iter().find(|key| key.name == name)?;
                names_system(entry, key).then_some(value.as_deref()?)
            })
        });
        given.unwrap_or(&self.kind)
    }

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
        let known: Vec<&str> = kinds().map(|(name, _)| name).collect();
        if let each @ [_, _, ..] = &several(text, &known)[..] {
            return error(format!(
                "one target at a time: --on {}",
                each.join(" --on ")
            ));
        }
        if !known.contains(&kind) {
            let model = within_model(kind);
            if Kind::parse(kind).is_some() {
                let model = model.map_or_else(
                    || format!("there is no model of {kind}"),
                    |model| format!("the model of {kind} is `{model}`"),
                );
                return error(format!(
                    "{model}; that of this machine's kernel is `loop:{kind}`"
                ));
            }
            return error(format!("unknown kind `{kind}`{}", instead(kind, &known)));
        }
        let mut words = match rest.map(words::split_list).transpose() {
            Ok(words) => words.unwrap_or_default().into_iter(),
            Err(unclosed) => return error(unclosed.to_string()),
        };
        let mut place = None;
        if let Some(real) = RealKind::by_name(kind) {
            place = words.next().filter(|place| !place.is_empty());
            if place.is_none() {
                return error(format!("expected {}", real.place));
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

    /// The model that it names; `None` if it names a real file system.
    pub fn entry(&self) -> Option<&'static Entry> {
        registry::by_name(&self.kind)
    }

    /// Whether it keeps files: all but a model that measures the replay itself.
    pub fn keeps_files(&self) -> bool {
        self.entry().is_none_or(|entry| entry.keeps_files)
    }

    /// All keys with their values.
    pub fn pairs(&self) -> Vec<(&str, Option<&str>)> {
        let options = self.options.iter();
        options
            .map(|(key, value)| (key.as_str(), value.as_deref()))
            .collect()
    }

    /// Whether a key is given, as a flag too.
    pub fn has(&self, key: &str) -> bool {
        self.options.iter().any(|(known, _)| known == key)
    }

    /// The value that a key is given; none of a flag.
    pub fn value(&self, key: &str) -> Option<&str> {
        let (_, value) = self.options.iter().find(|(known, _)| known == key)?;
        value.as_deref()
    }

    /// How much a real ext4 gives at once where `mkfs` makes it with clusters (`-O bigalloc`): what `-C` says, or 16
    /// blocks of 4 KiB.
    pub fn cluster_bytes(&self) -> Option<u64> {
        let mut words = self.value("mkfs")?.split_whitespace().peekable();
        let (mut is_on, mut bytes) = (false, 16 * 4096);
        while let Some(word) = words.next() {
            let (option, joined) = word.split_at_checked(2).unwrap_or((word, ""));
            let mut value = || {
                let next = || words.next_if(|next| !next.starts_with('-'));
                (!joined.is_empty()).then_some(joined).or_else(next)
            };
            match option {
                "-O" => is_on |= value()?.split(',').any(|feature| feature == "bigalloc"),
                "-C" => bytes = fsage_core::size::parse(value()?).ok()?,
                _ => {}
            }
        }
        is_on.then_some(bytes)
    }

    /// The same target without a key.
    #[must_use]
    pub fn without(&self, key: &str) -> TargetSpec {
        let mut spec = self.clone();
        spec.options.retain(|(known, _)| known != key);
        spec
    }

    /// The parameters of a model, by its parser: `spec.params(ffs::Params::from_options)`. The keys of a layer over it
    /// are left out.
    ///
    /// # Errors
    /// An unknown key or a bad value.
    pub fn params<'s, P>(
        &'s self,
        parse: impl FnOnce(Vec<(&'s str, Option<&'s str>)>) -> Result<P, ParamError>,
    ) -> Result<P, SpecError> {
        let pairs = self.pairs();
        let own = self.entry().map(|entry| entry.own(&pairs));
        parse(own.unwrap_or(pairs)).map_err(|error| SpecError::new(self, error))
    }

    /// How its disk is rearranged; `None` for a plain one, and where no layer may lie over it.
    ///
    /// # Errors
    /// A bad value, or a key of the layer without `rearrange`.
    pub fn rearrangement(&self) -> Result<Option<Settings>, SpecError> {
        self.asked(Entry::rearrangement).map(Option::flatten)
    }

    /// The policy that a model follows with these keys; `None` if it has no choice of them, or of no such name.
    pub fn policy(&self) -> Option<Choice> {
        self.entry()?.policy_of(&self.pairs())
    }

    /// What the list of models says of the model that it names; `None` if it names a real file system.
    pub(crate) fn asked<T, E: fmt::Display>(
        &self,
        ask: impl FnOnce(&Entry, &Options<'_>) -> Result<T, E>,
    ) -> Result<Option<T>, SpecError> {
        let Some(entry) = self.entry() else {
            return Ok(None);
        };
        let answer = ask(entry, &self.pairs());
        answer
            .map(Some)
            .map_err(|error| SpecError::new(self, error))
    }

    /// The real file system of a target of kind `dir` or `loop`; `None` for a model.
    ///
    /// # Errors
    /// An unknown key or a bad value.
    pub fn real(&self) -> Result<Option<RealSpec>, SpecError> {
        let named = RealKind::by_name(&self.kind).zip(self.place.as_deref());
        let real = named.map(|(kind, place)| kind.parse(place, self.pairs()));
        real.transpose()
            .map_err(|reason| SpecError::new(self, reason))
    }

    /// The real target on which the kernel of this machine should do what the model does; `None` for a model that is
    /// exact for no kernel of today, and for a real file system.
    ///
    /// # Errors
    /// A bad value, or one that a real file system cannot have.
    pub fn kernel(&self) -> Result<Option<TargetSpec>, SpecError> {
        let asked = self.asked(|entry, options| entry.kernel.map(|of| of(options)).transpose())?;
        asked
            .flatten()
            .map(|text| TargetSpec::parse(&text))
            .transpose()
    }

    /// Whether it is the model of a file system that kernels of today have.
    pub fn is_of_today(&self) -> bool {
        self.entry().is_some_and(|entry| entry.kernel.is_some())
    }

    /// A name for the folder of this target's results: the specification in characters that every file system takes and
    /// that no reader of tables takes for a partition (`key=value`), and a checksum instead of the rest if it is long.
    pub fn folder(&self) -> String {
        let text = self.to_string();
        let mut folder: String = text
            .chars()
            .map(|c| match c {
                'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '-' | '_' => c,
                '=' => '-',
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

/// The targets of a list with commas; none where it holds a path, which may have commas of its own.
fn several(text: &str, known: &[&str]) -> Vec<String> {
    let mut each: Vec<String> = Vec::new();
    let begins_target = |word: &str| {
        let kind = word.split(':').next().unwrap_or(word);
        known.contains(&kind)
    };
    for word in text.split(',') {
        match each.last_mut() {
            _ if begins_target(word) => each.push(word.to_owned()),
            Some(last) if !last.starts_with("dir:") => {
                last.push(',');
                last.push_str(word);
            }
            _ => return Vec::new(),
        }
    }
    each
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsage_models::{cffs, ext3, ffs};

    #[test]
    fn a_list_of_targets_is_answered_by_one_option_each() {
        for (list, each) in [
            ("ffs,xfs", "--on ffs --on xfs"),
            ("ffs,ffs:policy=orig", "--on ffs --on ffs:policy=orig"),
            (
                "ext4:size=1G,flex=0,xfs:size=1G",
                "--on ext4:size=1G,flex=0 --on xfs:size=1G",
            ),
        ] {
            let error = TargetSpec::parse(list).expect_err(list).to_string();
            assert!(
                error.contains(&format!("one target at a time: {each}")),
                "{error}"
            );
        }
        for one in ["loop:ext4,size=1G", "dir:/tmp/a,b", "dir:/tmp/a,b,ffs"] {
            TargetSpec::parse(one).expect(one);
        }
    }

    #[test]
    fn a_specification_is_a_kind_with_keys_and_flags() {
        let spec = TargetSpec::parse("ffs:preset=tiny,root,policy=noswitch-seq").unwrap();
        assert_eq!(spec.kind, "ffs");
        assert_eq!(spec.options.len(), 3);
        assert_eq!(spec.options[1], ("root".into(), None));
        assert_eq!(spec.to_string(), "ffs:preset=tiny,root,policy=noswitch-seq");
        assert_eq!(spec.folder(), "ffs_preset-tiny_root_policy-noswitch-seq");
        let params = spec.params(ffs::Params::from_options).unwrap();
        assert!(params.superuser);
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
        assert_eq!(folder("loop:ext4,size=2G"), "loop_ext4_size-2G");
    }

    #[test]
    fn keys_of_a_layer_are_kept_apart_from_those_of_the_file_system() {
        let layered = |text: &str| TargetSpec::parse(text).unwrap();
        let spec = layered("ext3:rearrange=files,size=2G,threshold=3,mode=ext2");
        let settings = spec.rearrangement().unwrap().unwrap();
        assert_eq!(settings.threshold, 3);
        let params = spec.params(ext3::Params::from_options).unwrap();
        assert_eq!(params.size_bytes, 2 << 30);
        let spec = layered("ffs:preset=tiny,rearrange=none");
        assert_eq!(spec.rearrangement().unwrap(), None);
        assert!(spec.params(ffs::Params::from_options).is_ok());
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
        let refused = crate::Target::make(&lfs).unwrap_err().to_string();
        assert!(refused.contains("unknown key `rearrange`"), "{refused}");
    }

    #[test]
    fn errors_name_the_specification_and_what_would_be_right() {
        let message = |text: &str| TargetSpec::parse(text).unwrap_err().to_string();
        assert!(message("zfs").contains("known: ffs, ext3, ext4, xfs, lfs, cffs, null, dir, loop"));
        assert!(message("").contains("unknown kind"));
        assert!(message("btrfs").contains("`loop:btrfs`"));
        assert!(message("ext4,xfs").contains("--on ext4 --on xfs"));
        assert!(message("ffs:").contains("key=value"));
        assert!(message("ffs:root,,nrpos=1").contains("key=value"));
        assert!(message("ffs:nrpos=1,nrpos=8").contains("twice"));
        assert!(message("dir").contains("dir:PATH"));
        assert!(message("loop:,size=1G").contains("loop:ext4"));
        assert!(message("loop:xfs,mkfs=\"-m").contains("not closed"));
        assert!(message("ff:root").contains("did you mean `ffs`?"));
        let made = |text: &str| crate::Target::can_be_made(&TargetSpec::parse(text).unwrap());
        let message = |text: &str| made(text).unwrap_err().to_string();
        assert!(message("ffs:blocks=8").contains("known: preset"));
        let ext3 = message("ext3:policy=orig");
        assert!(ext3.contains("ext3:policy=orig") && ext3.contains("known: mode, size"));
        assert!(message("ffs:polcy=orig").contains("did you mean `policy`?")); // typos: ignore
        assert!(message("null:size=1").contains("has no keys"));
        let cffs = TargetSpec::parse("cffs:embed=true,group=off").unwrap();
        let cffs = cffs.params(cffs::Params::from_options).unwrap();
        assert!(cffs.embed && !cffs.group);
    }
}
