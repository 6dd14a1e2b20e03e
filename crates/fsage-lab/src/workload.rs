//! Workloads by name: where there is none, what was probably meant.

use crate::error::bail;
use crate::run_folder::Manifest;
use fsage_core::keys::nearest;
use fsage_workload::preset::PRESETS;
use std::fs;
use std::path::{Path, PathBuf};

/// What names of workloads end in; people leave it out.
const ENDINGS: [&str; 5] = [
    ".parquet",
    ".ops",
    ".ops.zst",
    ".ops.gz",
    "-workload.parquet",
];

/// That a workload may be read there. Where nothing is, and nothing near, whoever reads says so.
///
/// # Errors
/// There is no file, and something else was probably meant, which the message names: a file of a similar name, the
/// workload of a run, a preset.
pub fn is_there(path: &Path) -> crate::Result<()> {
    let shown = path.display();
    if path.as_os_str() == "-" {
        return Ok(());
    }
    if Manifest::is_run(path) {
        let workload = Manifest::read(path)?.workload;
        let file = workload.path.map(|file| path.join(file));
        let file = file.map_or(workload.file, |file| plain(&file).display().to_string());
        bail!("{shown}: a run, and no workload; its workload is {file}");
    }
    if path.symlink_metadata().is_ok() {
        return Ok(());
    }
    if let Some(file) = near(path) {
        bail!(
            "{shown}: there is no such file; did you mean {}?",
            file.display()
        );
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if let Some(preset) = nearest(stem(&name), PRESETS.iter().map(|(preset, _)| *preset)) {
        bail!(
            "{shown}: there is no such file; there is a preset {preset}: `fsage generate profile {preset} -o \
             {preset}.parquet` makes a workload of it"
        );
    }
    Ok(())
}

/// A file in the same folder whose name has an ending that was left out, or is similar.
fn near(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    let mut ended = ENDINGS
        .map(|ending| path.with_file_name(format!("{name}{ending}")))
        .into_iter();
    if let Some(file) = ended.find(|file| file.is_file()) {
        return Some(file);
    }
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let entries = fs::read_dir(folder.unwrap_or(Path::new("."))).ok()?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| stem(name) != name).collect();
    names.sort();
    let meant = nearest(stem(name), names.iter().map(|name| stem(name)))?;
    let meant = names.iter().find(|name| stem(name) == meant)?;
    Some(path.with_file_name(meant))
}

/// A name without the ending of a workload.
fn stem(name: &str) -> &str {
    let mut ended = ENDINGS.iter().rev();
    ended
        .find_map(|ending| name.strip_suffix(ending))
        .unwrap_or(name)
}

/// A path without the ways up that lead out of folders before them.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        let goes_back = part.as_os_str() == "..";
        if !(goes_back && plain.file_name().is_some() && plain.pop()) {
            plain.push(part);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_near_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = folder.path();
        for name in [
            "mail.parquet",
            "long.ops.zst",
            "run-workload.parquet",
            "notes.txt",
        ] {
            fs::write(at.join(name), "").expect("a file");
        }
        let said = |name: &str| match is_there(&at.join(name)) {
            Ok(()) => String::new(),
            Err(error) => error.to_string(),
        };
        let meant = |name: &str| {
            let said = said(name);
            let meant = said
                .split_once("did you mean ")
                .map(|(_, meant)| meant.to_owned());
            let meant = meant.unwrap_or_else(|| panic!("{name}: {said}"));
            meant.rsplit('/').next().expect("a name").to_owned()
        };
        assert_eq!(meant("mail"), "mail.parquet?");
        assert_eq!(meant("long"), "long.ops.zst?");
        assert_eq!(meant("run"), "run-workload.parquet?");
        assert_eq!(meant("mall.parquet"), "mail.parquet?");
        for name in ["mail-spol", "mail-spool.parquet"] {
            let said = said(name);
            assert!(
                said.contains("`fsage generate profile mail-spool -o"),
                "{said}"
            );
        }
        for name in ["mail.parquet", "something-else-altogether", "notes", "."] {
            assert_eq!(said(name), "", "{name}");
        }
        assert!(is_there(Path::new("-")).is_ok());
        assert_eq!(plain(Path::new("a/b/../../c/../../d")), Path::new("../d"));
    }
}
