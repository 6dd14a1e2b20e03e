//! Pools of short-lived profiles in files: two tables, or one CSV file where the name ends in `.csv`.

use super::output::may_write;
use fsage_core::short_lived::Profile;
use fsage_data::profiles::{profile_tables, read_profiles, write_profiles, write_profiles_csv};
use std::path::{Path, PathBuf};

/// Whether a pool may be written there, see [`may_write`]; before what may take long.
///
/// # Errors
/// It may not.
pub fn check(path: &Path, force: bool, inputs: &[PathBuf]) -> crate::Result<()> {
    let (table, ops) = profile_tables(path);
    let files = if is_csv(path) {
        vec![path.to_owned()]
    } else {
        vec![table, ops]
    };
    files
        .iter()
        .try_for_each(|file| may_write(file, force, inputs))
}

/// Reads pools, all as one.
///
/// # Errors
/// One cannot be read, or is no pool.
pub fn read(paths: &[PathBuf]) -> crate::Result<Vec<Profile>> {
    let mut pool = Vec::new();
    for path in paths {
        pool.extend(read_profiles(path)?);
    }
    Ok(pool)
}

/// Writes a pool.
///
/// # Errors
/// It is there without `force`, or cannot be written.
pub fn write(path: &Path, profiles: &[Profile], force: bool) -> crate::Result<()> {
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
