//! Sizes in the TOML of a preset: a number of bytes, or text as in `"64K"`; and numbers that may be sizes.

use fsage_core::size;
use serde::de::{Error, Visitor};
use serde::{Deserializer, Serializer};
use std::fmt;

struct Size;

impl Visitor<'_> for Size {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number of bytes, or text as in \"64K\"")
    }

    fn visit_u64<E: Error>(self, bytes: u64) -> Result<u64, E> {
        Ok(bytes)
    }

    fn visit_i64<E: Error>(self, bytes: i64) -> Result<u64, E> {
        u64::try_from(bytes).map_err(|_| E::custom(format!("{bytes} is below zero")))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<u64, E> {
        size::parse(text).map_err(|e| E::custom(format!("{text:?} is no size as in \"64K\": {e}")))
    }
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    from.deserialize_any(Size)
}

/// A size that may be left out.
pub(crate) fn deserialize_some<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<u64>, D::Error> {
    deserialize(from).map(Some)
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the shape that serde calls
pub(crate) fn serialize<S: Serializer>(bytes: &u64, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u64(*bytes)
}

/// A number of anything, or a size as text.
struct Number;

impl Visitor<'_> for Number {
    type Value = f64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, or a size as in \"64K\"")
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<f64, E> {
        Ok(number)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<f64, E> {
        Ok(number as f64)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<f64, E> {
        Ok(number as f64)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<f64, E> {
        Size.visit_str(text).map(|bytes| bytes as f64)
    }
}

/// A number, or a size as text, that may be left out.
pub(crate) fn deserialize_number<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<f64>, D::Error> {
    from.deserialize_any(Number).map(Some)
}
