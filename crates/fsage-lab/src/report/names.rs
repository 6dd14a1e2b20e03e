//! Short names of targets: what tells each from the others.

use fsage_core::size;
use fsage_models::Entry;
use fsage_target::TargetSpec;

/// A name for each specification, no two alike: the values of the keys that not all have alike, with the kind where
/// kinds differ; the whole specification where that does not tell them apart.
pub fn short(specs: &[&str]) -> Vec<String> {
    let parsed: Vec<Option<TargetSpec>> = specs
        .iter()
        .map(|text| TargetSpec::parse(text).ok())
        .collect();
    let names: Vec<String> = parsed
        .iter()
        .zip(specs)
        .map(|(spec, text)| {
            let Some(spec) = spec else {
                return (*text).to_owned();
            };
            let all = parsed.iter().flatten();
            let kin: Vec<&TargetSpec> = all
                .filter(|other| other.system() == spec.system())
                .collect();
            if kin.len() == 1 && parsed.len() > 1 {
                return alone(spec);
            }
            if parsed.len() == 1 {
                return one(spec);
            }
            let mut words = Vec::new();
            if kin.len() < parsed.len() {
                words.push(spec.system().to_owned());
            }
            if kin.iter().any(|other| other.place != spec.place) {
                words.extend(spec.place.clone());
            }
            for (key, value) in &spec.options {
                let same =
                    |other: &TargetSpec| other.options.contains(&(key.clone(), value.clone()));
                if !kin.iter().all(|other| same(other)) {
                    words.push(option(key, value.as_deref()));
                }
            }
            // What names no policy has the default one.
            if !spec.has("policy") && kin.iter().any(|other| other.has("policy")) {
                let policy = spec.policy().map(|policy| policy.name);
                words.push(policy.unwrap_or(spec.system()).to_owned());
            }
            if words.is_empty() {
                words.push(one(spec));
            }
            words.join(" ")
        })
        .collect();
    let alike = |name: &String| names.iter().filter(|other| *other == name).count() > 1;
    let names = names.iter().zip(specs);
    names
        .map(|(name, spec)| {
            if alike(name) {
                (*spec).to_owned()
            } else {
                name.clone()
            }
        })
        .collect()
}

/// Specifications longer than this, in characters, make tables wider than 80 columns.
const LONG: usize = 24;

/// What targets are called in a table: their specifications, or short names where one of these is long. Gives a name
/// for each specification, and the lines that say what a short one stands for, where it leaves something out.
pub(crate) fn in_tables(specs: &[&str]) -> (Vec<String>, Vec<String>) {
    let mut distinct: Vec<&str> = Vec::new();
    for spec in specs {
        if !distinct.contains(spec) {
            distinct.push(spec);
        }
    }
    let short = short(&distinct);
    if specs.iter().all(|spec| spec.len() <= LONG) {
        // Verdicts call what names no policy by the default one.
        let renamed = distinct
            .iter()
            .zip(&short)
            .filter(|(spec, name)| !spec.contains(name.as_str()) && !name.contains(['=', ' ']));
        let legend = renamed.map(|(spec, name)| format!("{spec} is called {name} below."));
        return (
            specs.iter().map(|&spec| spec.to_owned()).collect(),
            legend.collect(),
        );
    }
    let name = |spec: &&str| {
        let place = distinct.iter().position(|known| known == spec);
        place.map_or_else(String::new, |place| short[place].clone())
    };
    let names = specs.iter().map(name).collect();
    // `ext4 size=1G` says all of `ext4:size=1G`.
    let says_all = |spec: &str, name: &str| {
        name == spec || name == spec.replacen(':', " ", 1).replace(',', " ")
    };
    let known = distinct.iter().zip(&short);
    let known = known.filter(|(spec, name)| !says_all(spec, name));
    let legend = known.map(|(spec, name)| format!("{name} is {spec}."));
    (names, legend.collect())
}

/// A target whose kind no other has.
fn alone(spec: &TargetSpec) -> String {
    match (&spec.place, spec.kind.as_str()) {
        (Some(place), "loop") => place.clone(),
        _ => spec.system().to_owned(),
    }
}

/// The only target.
fn one(spec: &TargetSpec) -> String {
    spec.value("policy")
        .map_or_else(|| alone(spec), str::to_owned)
}

fn option(key: &str, value: Option<&str>) -> String {
    match (key, value) {
        ("policy", Some(value)) => value.to_owned(),
        // As --fill chooses them: no whole mebibytes, which nobody reads.
        ("size", Some(value)) if value.ends_with('K') => {
            size::parse(value).map_or_else(|_| format!("size={value}"), size::human)
        }
        (_, Some(value)) => format!("{key}={value}"),
        (_, None) => key.to_owned(),
    }
}

/// What is known of the model of a target; nothing of a real file system.
fn model(spec: &str) -> Option<&'static Entry> {
    TargetSpec::parse(spec).ok()?.entry()
}

/// Whether a target is a model, on which no machine has an influence.
pub fn is_simulated(spec: &str) -> bool {
    model(spec).is_some()
}

/// Whether a target keeps files, of which there is something to show.
pub fn keeps_files(spec: &str) -> bool {
    model(spec).is_none_or(|entry| entry.keeps_files)
}

/// Whether a target writes a log.
pub fn is_log(spec: &str) -> bool {
    model(spec).is_some_and(|entry| entry.is_log)
}

/// Whether it is an ext4 that keeps the inodes of several groups in one of them, as `mkfs.ext4` makes it: nearly every
/// file lies in another group than its inode then, a fresh one too.
pub fn has_flex_groups(spec: &str) -> bool {
    TargetSpec::parse(spec).is_ok_and(|spec| {
        let is_ext4 = spec.system() == "ext4" || spec.place.as_deref() == Some("ext4");
        is_ext4 && !matches!(spec.value("flex"), Some("0" | "1"))
    })
}

/// What a part of the disk of a target is called; of a real one what the model of its type calls it.
pub fn group(spec: &str, fs_type: Option<&str>) -> &'static str {
    match (model(spec), fs_type) {
        (Some(entry), _) => entry.group,
        (None, Some("ufs")) => "cylinder group",
        (None, fs_type) => fs_type
            .and_then(model)
            .map_or("block group", |entry| entry.group),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ext4_without_flex_groups_keeps_inodes_beside_files() {
        for spec in ["ext4", "ext4:size=1G,flex=16", "loop:ext4,size=1G"] {
            assert!(has_flex_groups(spec), "{spec}");
        }
        for spec in [
            "ext4:flex=1",
            "ext4:flex=0",
            "xfs",
            "ffs",
            "loop:xfs,size=1G",
        ] {
            assert!(!has_flex_groups(spec), "{spec}");
        }
    }

    #[test]
    fn tables_have_short_names_where_a_specification_is_long() {
        assert_eq!(
            in_tables(&["ext4", "xfs:regime=default"]),
            (
                vec!["ext4".to_owned(), "xfs:regime=default".to_owned()],
                Vec::new()
            )
        );
        let of_20g = ["ext4:size=20G,regime=default", "xfs", "xfs"];
        let (names, legend) = in_tables(&of_20g);
        assert_eq!(names, ["ext4", "xfs", "xfs"]);
        assert_eq!(legend, ["ext4 is ext4:size=20G,regime=default."]);
        let sizes = [
            "ext4:size=200M",
            "ext4:size=1G",
            "xfs:size=1G,regime=default",
        ];
        let (names, legend) = in_tables(&sizes);
        assert_eq!(names, ["ext4 size=200M", "ext4 size=1G", "xfs"]);
        assert_eq!(legend, ["xfs is xfs:size=1G,regime=default."]);
    }

    /// 39872 / 1024 = 38.94; 39,873 KiB rounds to the same, and both keep what tells them apart.
    #[test]
    fn sizes_that_are_no_whole_mebibytes_are_rounded_where_that_tells_them_apart() {
        let sizes = ["ext4:size=39872K,bsize=4K", "ext4:size=512M,bsize=4K"];
        assert_eq!(short(&sizes), ["38.9 MiB", "size=512M"]);
        let (names, legend) = in_tables(&sizes);
        assert_eq!(names, ["38.9 MiB", "size=512M"]);
        assert_eq!(legend[0], "38.9 MiB is ext4:size=39872K,bsize=4K.");
        let alike = ["ext4:size=39872K", "ext4:size=39873K"];
        assert_eq!(short(&alike), alike);
    }

    #[test]
    fn names_say_what_differs_and_nothing_else() {
        let table: [(&[&str], &[&str]); 11] = [
            (&["ext3:mode=ext2", "ext4"], &["ext2", "ext4"]),
            (
                &[
                    "ffs:preset=g502,policy=orig",
                    "ffs:preset=g502,policy=realloc",
                ],
                &["orig", "realloc"],
            ),
            (&["ffs", "ffs:policy=realloc"], &["orig", "realloc"]),
            (
                &["lfs:variant=netbsd", "lfs:variant=netbsd,policy=greedy"],
                &["cb", "greedy"],
            ),
            (&["loop:ext4,size=4G", "loop:xfs,size=4G"], &["ext4", "xfs"]),
            (
                &["loop:ext4,size=4G", "loop:ext4,size=8G"],
                &["size=4G", "size=8G"],
            ),
            (
                &["ffs:policy=realloc", "lfs", "null"],
                &["ffs", "lfs", "null"],
            ),
            (
                &["ffs:policy=realloc", "ffs:policy=orig", "lfs"],
                &["ffs realloc", "ffs orig", "lfs"],
            ),
            (&["ffs:preset=g502,policy=realloc"], &["realloc"]),
            (&["nonsense", "ffs"], &["nonsense", "ffs"]),
            (
                &["ffs:root,nrpos=1", "ffs:nrpos=1,root"],
                &["ffs:root,nrpos=1", "ffs:nrpos=1,root"],
            ),
        ];
        for (specs, names) in table {
            assert_eq!(short(specs), names, "{specs:?}");
        }
    }
}
