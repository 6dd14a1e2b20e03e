//! Keys and values of `kind:key=value|flag,...`, and what can be wrong with them.

use fsage_core::keys::{self, Key};
use fsage_core::size;
use thiserror::Error;

/// What is wrong with a key or value of a model.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ParamError {
    /// A key that the model does not have.
    #[error("unknown key `{key}`{instead}")]
    UnknownKey {
        /// The key as given.
        key: String,
        /// What could be given instead of it.
        instead: String,
    },
    /// A key that such file systems have, and the model has not.
    #[error("{key}: {why}")]
    Lacking {
        /// The key as given.
        key: String,
        /// What is not modeled.
        why: &'static str,
    },
    /// A value that does not fit its key.
    #[error("{key}={value}: expected {expected}")]
    BadValue {
        /// The key.
        key: String,
        /// Its value as given.
        value: String,
        /// What would have been right.
        expected: String,
    },
    /// A key without a value that needs one.
    #[error("{key} needs a value: {key}=...")]
    NoValue {
        /// The key.
        key: String,
    },
}

/// A key with its value, as given.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting<'a> {
    pub key: &'a str,
    pub value: Option<&'a str>,
}

impl<'a> Setting<'a> {
    /// The value of a key that needs one.
    pub fn word(self) -> Result<&'a str, ParamError> {
        self.value.ok_or_else(|| ParamError::NoValue {
            key: self.key.into(),
        })
    }

    /// A number, with or without a suffix.
    pub fn number(self) -> Result<u64, ParamError> {
        let text = self.word()?;
        size::parse(text).map_err(|e| self.bad(format!("a number, as in 8192 or 8K; {e}")))
    }

    /// A flag, which needs no value.
    pub fn flag(self) -> Result<bool, ParamError> {
        match self.value {
            None | Some("true" | "yes" | "on" | "1") => Ok(true),
            Some("false" | "no" | "off" | "0") => Ok(false),
            Some(_) => Err(self.bad("true or false")),
        }
    }

    /// The value is not what was expected.
    pub fn bad(self, expected: impl Into<String>) -> ParamError {
        ParamError::BadValue {
            key: self.key.into(),
            value: self.value.unwrap_or_default().into(),
            expected: expected.into(),
        }
    }

    /// The key is none of these.
    pub fn unknown(self, keys: &[Key]) -> ParamError {
        ParamError::unknown_key(self.key, keys)
    }
}

impl ParamError {
    /// A key is none of these.
    pub fn unknown_key<'a>(key: &str, known: impl IntoIterator<Item = &'a Key>) -> ParamError {
        let known: Vec<&str> = known.into_iter().map(|key| key.name).collect();
        ParamError::UnknownKey {
            key: key.into(),
            instead: match &known[..] {
                [] => ": this target has no keys".to_owned(),
                known => keys::instead(key, known),
            },
        }
    }
}

/// Splits `key=value,flag` as the command line does.
#[cfg(test)]
pub(crate) fn split(text: &str) -> impl Iterator<Item = (&str, Option<&str>)> + Clone {
    let options = text.split(',').filter(|option| !option.is_empty());
    options.map(|option| match option.split_once('=') {
        Some((key, value)) => (key, Some(value)),
        None => (option, None),
    })
}

/// What keys say of themselves is what the parser does: their words and the ends of their ranges are taken, others are
/// not, and each default sets what holds without it. `before` are settings that come first.
#[cfg(test)]
pub(crate) fn every_key_is_as_described<P: std::fmt::Debug>(
    keys: &[Key],
    before: &str,
    parse: impl Fn(&str) -> Result<P, ParamError>,
) {
    use fsage_core::keys::{Takes, Unset};
    let with = |setting: &str| parse(&format!("{before},{setting}"));
    let seen = |setting: &str| format!("{:?}", with(setting).expect(setting));
    for key in keys {
        let name = key.name;
        let parsed = parse(&format!("{name}=1"));
        let known = !matches!(parsed, Err(ParamError::UnknownKey { .. }));
        assert!(known, "{name}");
        for word in key.completions() {
            assert!(with(&format!("{name}={word}")).is_ok(), "{name}={word}");
        }
        if !matches!(key.takes, Takes::Text { .. }) {
            assert!(with(&format!("{name}=no-such-word")).is_err(), "{name}");
        }
        if let Some((least, most)) = key.range {
            assert!(with(&format!("{name}={least}")).is_ok(), "{name}={least}");
            assert!(with(&format!("{name}={most}")).is_ok(), "{name}={most}");
            assert!(with(&format!("{name}={}", most + 1)).is_err(), "{name}");
            assert!(
                least == 0 || with(&format!("{name}={}", least - 1)).is_err(),
                "{name}"
            );
        }
        if let Unset::Value(value) = key.unset
            && !before.starts_with(name)
        {
            assert_eq!(seen(&format!("{name}={value}")), seen(""), "{name}={value}");
        }
        if let Some((other, given, value)) = key.otherwise {
            let given = format!("{other}={given}");
            assert_eq!(
                seen(&format!("{given},{name}={value}")),
                seen(&given),
                "{name}={value}"
            );
        }
    }
}
