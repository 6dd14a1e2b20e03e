//! Which hosts there are, and where their snapshots lie.

use crate::aging::snapshots_taken;
use crate::error::{Context, bail};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// In a pattern, the part of a path that is the name of the host.
const HOST: &str = "{host}";
/// What lies beside an inode table, and is none.
const BESIDE: [&str; 3] = [".snapshots.parquet", ".free.parquet", ".names.parquet"];

/// A host, and where its snapshots lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Its name: that of the folder, or what the pattern says.
    pub name: String,
    /// Tables, or things that look like one.
    pub tables: Vec<PathBuf>,
}

/// The hosts that paths name, by name:
///
/// | path | hosts |
/// |---|---|
/// | a folder with snapshots | one, of the folder's name |
/// | a folder with such folders | one each |
/// | a target of a run | one, of its snapshots (`--snapshots`) |
/// | a file | one, of the file's name |
/// | a pattern with `{host}` | all that it fits: files with the same name there are one host |
/// | a pattern without | what each path that it fits stands for |
///
/// In a pattern `*` is any text and `?` any character of a name; `{host}` is as much text as fits.
///
/// # Errors
/// A path is not there, or holds no snapshot; two paths name a host.
pub fn find(paths: &[PathBuf]) -> crate::Result<Vec<Host>> {
    let mut hosts: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for path in paths {
        let is_pattern = path.to_string_lossy().contains(['*', '?', '{']);
        let found = if !is_pattern || path.exists() {
            of_path(path)?
        } else if path.to_string_lossy().contains(HOST) {
            by_pattern(path)?
        } else {
            let matches = matches_of(path)?;
            let found = matches.iter().map(|(path, _)| of_path(path));
            found.collect::<crate::Result<Vec<_>>>()?.concat()
        };
        if found.is_empty() {
            bail!(
                "{}: no snapshot fits it: expected inode tables, *.parquet",
                path.display()
            );
        }
        for Host { name, tables } in found {
            if let Some(other) = hosts.get(&name) {
                bail!(
                    "{} and {} are both called {name}: a pattern with {HOST} says what the name of a host is",
                    other[0].display(),
                    tables[0].display()
                );
            }
            hosts.insert(name, tables);
        }
    }
    let hosts = hosts.into_iter();
    Ok(hosts.map(|(name, tables)| Host { name, tables }).collect())
}

fn of_path(path: &Path) -> crate::Result<Vec<Host>> {
    let name = |path: &Path| {
        path.file_name()
            .map(|name| name.to_string_lossy().into_owned())
    };
    // `.` and `..` have no name of their own.
    let own = || -> crate::Result<String> {
        let whole =
            fs::canonicalize(path).with_context(|| format!("{}: cannot open", path.display()))?;
        Ok(name(&whole).unwrap_or_else(|| "/".to_owned()))
    };
    if !path.is_dir() {
        let file = own()?;
        let stem = file.strip_suffix(".parquet").unwrap_or(&file);
        return Ok(vec![Host {
            name: stem.to_owned(),
            tables: vec![path.to_owned()],
        }]);
    }
    let (tables, folders) = listed(path)?;
    let mut hosts = Vec::new();
    for folder in folders {
        let (tables, _) = listed(&folder)?;
        if let (Some(name), false) = (name(&folder), tables.is_empty()) {
            hosts.push(Host { name, tables });
        }
    }
    match (tables.is_empty(), hosts.first()) {
        (false, Some(host)) => bail!(
            "{}: holds snapshots itself, {}, and folders with snapshots, {}: name those that are hosts",
            path.display(),
            tables[0].display(),
            host.name
        ),
        (false, None) => Ok(vec![Host {
            name: own()?,
            tables,
        }]),
        (true, _) => Ok(hosts),
    }
}

/// What may be inode tables in a folder, and its folders; sorted, without what is hidden.
///
/// A target of a run has the snapshots that were taken while it aged, where some were: its last one is not given twice.
fn listed(folder: &Path) -> crate::Result<(Vec<PathBuf>, Vec<PathBuf>)> {
    let taken = snapshots_taken(folder);
    if let Some(series) = taken.as_ref().filter(|taken| taken.is_file()) {
        return Ok((vec![series.clone()], Vec::new()));
    }
    let folder = taken.as_deref().unwrap_or(folder);
    let listing = || format!("{}: cannot list the folder", folder.display());
    let (mut tables, mut folders) = (Vec::new(), Vec::new());
    for entry in fs::read_dir(folder).with_context(listing)? {
        let path = entry.with_context(listing)?.path();
        if is_hidden(&path) {
        } else if path.is_dir() {
            folders.push(path);
        } else if is_table(&path) {
            tables.push(path);
        }
    }
    tables.sort();
    folders.sort();
    Ok((tables, folders))
}

fn is_hidden(path: &Path) -> bool {
    let name = path.file_name();
    name.is_none_or(|name| name.to_string_lossy().starts_with('.'))
}

fn is_table(path: &Path) -> bool {
    let name = path.to_string_lossy();
    name.ends_with(".parquet") && !BESIDE.iter().any(|ending| name.ends_with(ending))
}

fn by_pattern(pattern: &Path) -> crate::Result<Vec<Host>> {
    let mut hosts: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for (path, name) in matches_of(pattern)? {
        let tables = if path.is_dir() {
            listed(&path)?.0
        } else {
            vec![path]
                .into_iter()
                .filter(|path| is_table(path))
                .collect()
        };
        if !tables.is_empty() {
            hosts.entry(name).or_default().extend(tables);
        }
    }
    let hosts = hosts.into_iter();
    Ok(hosts.map(|(name, tables)| Host { name, tables }).collect())
}

/// The paths that a pattern fits, sorted, and what stands for `{host}` in each.
fn matches_of(pattern: &Path) -> crate::Result<Vec<(PathBuf, String)>> {
    if pattern.to_string_lossy().matches(HOST).count() > 1 {
        bail!("{}: {HOST} stands in it twice", pattern.display());
    }
    let mut found = vec![(PathBuf::new(), String::new())];
    for part in pattern.components() {
        let text = part.as_os_str().to_string_lossy();
        let is_name = matches!(part, Component::Normal(_)) && text.contains(['*', '?', '{']);
        let mut longer = Vec::new();
        for (path, host) in found {
            if !is_name {
                longer.push((path.join(part), host));
                continue;
            }
            let folder = if path.as_os_str().is_empty() {
                Path::new(".")
            } else {
                &path
            };
            // What is no folder holds nothing that fits.
            let Ok(entries) = fs::read_dir(folder) else {
                continue;
            };
            for entry in entries {
                let name = entry
                    .with_context(|| format!("{}: cannot list the folder", folder.display()))?
                    .file_name();
                let shown = name.to_string_lossy();
                if shown.starts_with('.') {
                    continue;
                }
                if let Some(named) = fits(&text, &shown) {
                    let host = if text.contains(HOST) { named } else { &host };
                    longer.push((path.join(&name), host.to_owned()));
                }
            }
        }
        found = longer;
    }
    found.retain(|(path, _)| path.exists());
    found.sort();
    Ok(found)
}

/// Whether a pattern fits a name, and what stands for `{host}`.
fn fits<'a>(pattern: &str, name: &'a str) -> Option<&'a str> {
    if let Some(rest) = pattern.strip_prefix(HOST) {
        let mut ends: Vec<usize> = name.char_indices().map(|(at, _)| at).skip(1).collect();
        ends.push(name.len());
        let longest = ends.into_iter().rev().filter(|&end| end > 0);
        return longest
            .map(|end| (end, fits(rest, &name[end..])))
            .find_map(|(end, fit)| fit.map(|_| &name[..end]));
    }
    let mut rest = pattern.chars();
    let after = |name: &'a str| name.chars().next().map(|c| &name[c.len_utf8()..]);
    match rest.next() {
        None => name.is_empty().then_some(""),
        Some('*') => {
            let mut ends = name.char_indices().map(|(at, _)| at).chain([name.len()]);
            ends.find_map(|end| fits(rest.as_str(), &name[end..]))
        }
        Some('?') => fits(rest.as_str(), after(name)?),
        Some(c) => name
            .starts_with(c)
            .then(|| fits(rest.as_str(), after(name)?))
            .flatten(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_as_much_of_a_name_as_fits() {
        assert_eq!(fits("{host}.parquet", "web-1.parquet"), Some("web-1"));
        assert_eq!(
            fits("{host}-????-??-??.parquet", "db-2-2026-01-31.parquet"),
            Some("db-2")
        );
        assert_eq!(fits("{host}-*.parquet", "db-2-2026.parquet"), Some("db-2"));
        assert_eq!(fits("n*-{host}", "night-é"), Some("é"));
        assert_eq!(
            fits("{host}.parquet", ".parquet"),
            None,
            "a host has a name"
        );
        assert_eq!(fits("a?c*", "abcd"), Some(""));
        assert_eq!(fits("a?c", "ac"), None);
    }

    #[test]
    fn folders_files_and_patterns_name_hosts() {
        let dir = tempfile::tempdir().expect("a folder");
        let at = |path: &str| dir.path().join(path);
        let files = [
            "fleet/web/1.parquet",
            "fleet/web/2.parquet",
            "fleet/web/2.free.parquet",
            "fleet/db/1.parquet",
            "fleet/notes/readme",
            "flat/a-1.parquet",
            "flat/a-2.parquet",
            "flat/b-1.parquet",
            "flat/.b-2.parquet",
            "run/model/days.parquet",
            "run/model/final.parquet",
            "run/model/snapshots.parquet",
            "run/real/days.parquet",
            "run/real/final.parquet",
            "run/real/snapshots/day-1.parquet",
            "run/real/snapshots/day-2.parquet",
        ];
        for file in files {
            fsage_durable::make_folders(at(file).parent().expect("a folder")).expect("folders");
            fsage_durable::write(&at(file), "", false).expect("a file");
        }
        let found = |path: &str| {
            find(&[at(path)]).map(|hosts| {
                let named = hosts.into_iter().map(|host| (host.name, host.tables.len()));
                named.collect::<Vec<(String, usize)>>()
            })
        };
        let hosts = |path: &str| found(path).expect("hosts");
        let named = |hosts: &[(&str, usize)]| {
            hosts
                .iter()
                .map(|(name, n)| ((*name).to_owned(), *n))
                .collect::<Vec<_>>()
        };
        assert_eq!(hosts("fleet"), named(&[("db", 1), ("web", 2)]));
        assert_eq!(hosts("fleet/w*"), named(&[("web", 2)]));
        assert_eq!(hosts("*/{host}/1.parquet"), named(&[("db", 1), ("web", 1)]));
        assert_eq!(hosts("flat/{host}-?.parquet"), named(&[("a", 2), ("b", 1)]));
        assert_eq!(hosts("flat/b-1.parquet"), named(&[("b-1", 1)]));
        assert_eq!(hosts("flat"), named(&[("flat", 5 - 2)]));
        assert_eq!(
            hosts("run/model"),
            named(&[("model", 1)]),
            "the series alone"
        );
        assert_eq!(hosts("run/real"), named(&[("real", 2)]), "its folder alone");
        let refused = |path: &str| found(path).expect_err("no hosts").to_string();
        assert!(refused("fleet/notes").contains("notes: no snapshot fits it"));
        assert!(refused("{host}/{host}").contains("twice"));
        assert!(refused("nothing").contains("nothing: cannot open"));
        let twice = find(&[at("fleet"), at("fleet/web")])
            .expect_err("one name")
            .to_string();
        assert!(twice.contains("are both called web"), "{twice}");
    }
}
