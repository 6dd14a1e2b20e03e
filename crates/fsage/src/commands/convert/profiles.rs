//! Pools of profiles of short-lived files between Parquet and CSV.

use super::Args;
use crate::summary;
use crate::ui;
use anyhow::bail;
use fsage_core::short_lived::Profile;
use fsage_data::profiles::{read_profiles, write_profiles, write_profiles_csv};
use serde_json::json;
use std::io::Write;
use std::path::Path;

/// Writes a pool in the form that the name of the output says.
pub fn convert(from: &Path, to: &Path, args: &Args) -> anyhow::Result<()> {
    let profiles = read_profiles(from)?;
    let ends = |ending: &str| to.extension().is_some_and(|extension| extension == ending);
    if ends("parquet") {
        write_profiles(to, &profiles, args.force)?;
    } else if ends("csv") {
        write_profiles_csv(to, &profiles, args.force)?;
    } else {
        bail!(
            "{}: a pool of profiles is written as NAME.profiles.parquet or NAME.csv",
            to.display()
        );
    }
    let files: u64 = profiles.iter().map(Profile::files).sum();
    let bytes: u64 = profiles.iter().map(Profile::bytes).sum();
    let mut out = ui::stdout();
    if args.json {
        let all = json!({
            "profiles": to.to_string_lossy(),
            "summary": { "profiles": profiles.len(), "files": files, "bytes": bytes },
        });
        summary::print_json(&mut out, &all)?;
    } else {
        writeln!(
            out,
            "{} profiles, {files} files, {bytes} bytes",
            profiles.len()
        )?;
    }
    Ok(out.flush()?)
}
