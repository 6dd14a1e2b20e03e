//! Naming a target: `kind[:key=value|flag, ...]`.

use fsage_models::ffs::Params;
use std::fmt;
use thiserror::Error;

/// A target as the command line names it, such as `ffs:preset=g502,policy=realloc`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetSpec {
    /// What kind of target: `ffs` or `null`.
    pub kind: String,
    /// Keys with their values, flags without one, in the order given.
    pub options: Vec<(String, Option<String>)>,
}

/// Kinds of targets, with what they are.
pub const KINDS: [(&str, &str); 2] = [
    ("ffs", "4.4BSD fast file system, simulated"),
    (
        "null",
        "takes every operation and does nothing: the speed of the replay itself",
    ),
];

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
        let mut options: Vec<(String, Option<String>)> = Vec::new();
        for option in rest.into_iter().flat_map(|rest| rest.split(',')) {
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
            options,
        })
    }

    /// The parameters of an `ffs` target.
    ///
    /// # Errors
    /// An unknown key or a bad value.
    pub fn ffs_params(&self) -> Result<Params, SpecError> {
        let options = self
            .options
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_deref()));
        Params::from_options(options).map_err(|e| SpecError::new(self, e))
    }

    /// A name for the folder of this target's results: the specification in characters every file system takes.
    pub fn folder(&self) -> String {
        self.to_string()
            .chars()
            .map(|c| match c {
                'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '-' | '_' | '=' | ',' => c,
                _ => '_',
            })
            .collect()
    }
}

impl fmt::Display for TargetSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        for (i, (key, value)) in self.options.iter().enumerate() {
            f.write_str(if i == 0 { ":" } else { "," })?;
            f.write_str(key)?;
            if let Some(value) = value {
                write!(f, "={value}")?;
            }
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
    fn errors_name_the_specification_and_what_would_be_right() {
        let message = |text: &str| TargetSpec::parse(text).unwrap_err().to_string();
        assert!(message("zfs").contains("known: ffs, null"));
        assert!(message("").contains("unknown kind"));
        assert!(message("ffs:").contains("key=value"));
        assert!(message("ffs:root,,nrpos=1").contains("key=value"));
        assert!(message("ffs:nrpos=1,nrpos=8").contains("twice"));
        let unknown = TargetSpec::parse("ffs:blocks=8").unwrap().ffs_params();
        assert!(unknown.unwrap_err().to_string().contains("known: preset"));
    }
}
