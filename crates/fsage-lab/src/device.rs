//! Disks by name.

use crate::error::{Context, bail};
use fsage_disk::{Disk, Drive, presets};
use std::path::Path;

/// The disk to put a file system on: a drive with its options, `flash` or `null`.
///
/// # Errors
/// There is no such drive, or its options or file make no sense.
pub fn disk(name: &str) -> crate::Result<Disk> {
    match Disk::without_arm(name) {
        Some(disk) => Ok(disk),
        None => drive(name).map(Disk::from),
    }
}

/// The drive of a preset's name, or of a TOML file, with options behind a colon.
///
/// # Errors
/// There is no such drive, its options or file make no sense, or it has no arm.
pub fn drive(name: &str) -> crate::Result<Drive> {
    if Disk::without_arm(name).is_some() {
        bail!(
            "{name} has no arm, and there is nothing to show of it; `fsage bench` and `fsage reproduce` take it"
        );
    }
    match name.split_once(':') {
        Some((drive, options)) if !Path::new(name).is_file() => {
            let drive = plain_drive(drive)?;
            let with_options = drive.with_options(options);
            with_options.with_context(|| format!("drive {name}"))
        }
        _ => plain_drive(name),
    }
}

fn plain_drive(name: &str) -> crate::Result<Drive> {
    if let Some(drive) = Drive::preset(name) {
        return Ok(drive);
    }
    if Path::new(name).extension().is_none_or(|e| e != "toml") {
        let names: Vec<&str> = presets::PRESETS.iter().map(|(name, _)| *name).collect();
        bail!(
            "no drive is called {name}; expected one of {}, or a file that ends in .toml",
            names.join(", ")
        );
    }
    let text = fsage_input::text(Path::new(name), fsage_input::TEXT_BYTES)
        .with_context(|| name.to_owned())?;
    Ok(Drive::parse(name, &text)?)
}
