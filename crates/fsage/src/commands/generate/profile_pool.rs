//! Pools of short-lived profiles in files: two tables, or one CSV file where the name ends in `.csv`.

use anyhow::bail;
use fsage_core::short_lived::Profile;
use fsage_data::profiles::{profile_tables, write_profiles, write_profiles_csv};
use std::path::{Path, PathBuf};

/// Whether a pool can be written there; before what may take long.
pub fn check(path: &Path, force: bool) -> anyhow::Result<()> {
    let (table, ops) = profile_tables(path);
    let files: Vec<PathBuf> = if is_csv(path) {
        vec![path.to_owned()]
    } else {
        vec![table, ops]
    };
    match files.iter().find(|file| file.exists() && !force) {
        Some(file) => bail!("{} exists: --force replaces it", file.display()),
        None => Ok(()),
    }
}

/// Writes a pool.
pub fn write(path: &Path, profiles: &[Profile], force: bool) -> anyhow::Result<()> {
    if is_csv(path) {
        write_profiles_csv(path, profiles, force)?;
    } else {
        write_profiles(path, profiles, force)?;
    }
    Ok(())
}

fn is_csv(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "csv")
}
