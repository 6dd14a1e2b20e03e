//! Devices by name.

use crate::error::{Context, bail};
use fsage_core::keys;
use fsage_disk::{Disk, Drive, presets};
use std::path::Path;

/// The device of a preset's name, or of a TOML file, with options behind a colon.
///
/// # Errors
/// There is no such device, or its options or file make no sense.
pub fn disk(name: &str) -> crate::Result<Disk> {
    match name.split_once(':') {
        Some((plain, options)) if !Path::new(name).is_file() => {
            let disk = without_options(plain)?;
            disk.with_options(options)
                .with_context(|| format!("drive {name}"))
        }
        _ => without_options(name),
    }
}

/// The same where it must be a drive with an arm.
///
/// # Errors
/// There is no such drive, its options or file make no sense, or it has no arm.
pub fn drive(name: &str) -> crate::Result<Drive> {
    match disk(name)? {
        Disk::Rotating(drive) => Ok(*drive),
        Disk::Flash(_) | Disk::Null => bail!("{name} has no arm; name a drive that has one"),
    }
}

fn without_options(name: &str) -> crate::Result<Disk> {
    if let Some(disk) = Disk::preset(name) {
        return Ok(disk);
    }
    if Path::new(name).extension().is_none_or(|e| e != "toml") {
        let all = presets::PRESETS.iter().chain(&presets::FLASH_PRESETS);
        let names: Vec<&str> = all.map(|(name, _)| *name).collect();
        bail!(
            "no drive is called {name}; {}expected one of {}, {}, or a file that ends in .toml",
            keys::meant(name, names.iter().copied()),
            names.join(", "),
            Disk::NULL
        );
    }
    let text = fsage_input::text(Path::new(name), fsage_input::TEXT_BYTES)
        .with_context(|| name.to_owned())?;
    Ok(Disk::parse(name, &text)?)
}
