//! Keys and values of `kind:key=value|flag,...`, and what can be wrong with them.

use fsage_core::size;
use thiserror::Error;

/// What is wrong with a key or value of a model.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ParamError {
    /// A key that the model does not have.
    #[error("unknown key `{key}`; known: {known}")]
    UnknownKey {
        /// The key as given.
        key: String,
        /// The keys of the model.
        known: String,
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
    pub fn unknown(self, keys: &[(&str, &str)]) -> ParamError {
        let known: Vec<&str> = keys.iter().map(|&(key, _)| key).collect();
        ParamError::UnknownKey {
            key: self.key.into(),
            known: known.join(", "),
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

/// Every key that is listed is one that is parsed.
#[cfg(test)]
pub(crate) fn every_key_is_known<P>(
    keys: &[(&str, &str)],
    parse: impl Fn(&str) -> Result<P, ParamError>,
) {
    for (key, _) in keys {
        let parsed = parse(&format!("{key}=1"));
        let known = !matches!(parsed, Err(ParamError::UnknownKey { .. }));
        assert!(known, "{key}");
    }
}
