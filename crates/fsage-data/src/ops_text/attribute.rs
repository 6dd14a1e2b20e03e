//! Attributes of a line: `key=value`.

use super::error::Fault;
use super::number::{decimal_u32, integer, octal};
use fsage_core::{Event, Origin, TQuality};
use std::str;

/// The keys, for messages.
pub(super) const KEYS: &str = "origin=, tq=, hint=, src=, profile=, mode= or x-...=";

/// Puts one attribute into an event; else says what is wrong and what was expected.
pub(super) fn apply(event: &mut Event, token: &[u8]) -> Result<(), (Fault, &'static str)> {
    let equals = token.iter().position(|&b| b == b'=').unwrap_or(token.len());
    let (key, value) = (
        &token[..equals],
        token.get(equals + 1..).unwrap_or_default(),
    );
    match key {
        b"origin" => set(
            &mut event.origin,
            word(value).and_then(Origin::parse),
            ORIGINS,
        ),
        b"tq" => set(
            &mut event.t_quality,
            word(value).and_then(TQuality::parse),
            QUALITIES,
        ),
        b"hint" => set(
            &mut event.hint_group,
            decimal_u32(value),
            "hint=GROUP, a number of 32 bits",
        ),
        b"profile" => set(
            &mut event.profile_id,
            decimal_u32(value),
            "profile=ID, a number of 32 bits",
        ),
        b"mode" => set(
            &mut event.mode,
            octal(value),
            "mode=BITS, an octal number of 32 bits",
        ),
        b"src" => source_inode(event, value),
        [b'x', b'-', _, ..] => {
            let token = word(token).ok_or((Fault::BadAttribute, "UTF-8"))?;
            event.extra = Some(match event.extra.take() {
                None => token.into(),
                Some(before) => format!("{before} {token}").into(),
            });
            Ok(())
        }
        _ => Err((Fault::UnknownAttribute, KEYS)),
    }
}

const ORIGINS: &str = "origin= and one of initial, snapshot_create, snapshot_delete, snapshot_modify, \
                       snapshot_replace, short_lived, trace, generated";
const QUALITIES: &str = "tq= and one of exact, ctime, bounded, inferred, random, shifted";

fn word(bytes: &[u8]) -> Option<&str> {
    str::from_utf8(bytes).ok()
}

fn set<T>(
    field: &mut Option<T>,
    value: Option<T>,
    expected: &'static str,
) -> Result<(), (Fault, &'static str)> {
    let value = value.ok_or((Fault::BadAttribute, expected))?;
    if field.replace(value).is_some() {
        return Err((Fault::RepeatedAttribute, "each attribute once"));
    }
    Ok(())
}

/// `src=INO:GEN` or `src=INO`.
fn source_inode(event: &mut Event, value: &[u8]) -> Result<(), (Fault, &'static str)> {
    const EXPECTED: &str = "src=INO or src=INO:GEN, an inode number and its generation (32 bits)";
    let colon = value.iter().position(|&b| b == b':');
    let ino = integer(&value[..colon.unwrap_or(value.len())]).ok();
    set(&mut event.src_ino, ino, EXPECTED)?;
    if let Some(colon) = colon {
        set(
            &mut event.src_gen,
            decimal_u32(&value[colon + 1..]),
            EXPECTED,
        )?;
    }
    Ok(())
}
