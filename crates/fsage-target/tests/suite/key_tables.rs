//! The tables of keys in the documentation say what the list of targets says.
//!
//! A table stands between `<!-- keys of NAME -->` and `<!-- end of keys -->`, and is made by
//! `FSAGE_WRITE_TABLES=1 cargo test -p fsage-target --test suite key_tables`.

use fsage_core::keys::{Key, Takes};
use fsage_target::catalogue::{Described, catalogue};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

const END: &str = "<!-- end of keys -->";
const AGAIN: &str = "FSAGE_WRITE_TABLES=1 cargo test -p fsage-target --test suite key_tables";

fn code(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| format!("`{word}`")).collect()
}

/// What a key takes, with words as code.
fn takes(key: &Key) -> String {
    let words = code(&key.completions());
    match key.takes {
        Takes::Word | Takes::Policy(_) => words.join(", "),
        _ if words.is_empty() => key.values(),
        _ => {
            let all = key.values();
            let other = all.rsplit(", ").next().unwrap_or_default();
            format!("{}, {other}", words.join(", "))
        }
    }
}

fn table(described: &Described) -> String {
    let mut table = String::from("| key | takes | without it | what |\n|---|---|---|---|\n");
    for key in &described.keys {
        let default = key.default_text();
        let _ = writeln!(
            table,
            "| `{}` | {} | {default} | {} |",
            key.name,
            takes(key),
            key.doc
        );
    }
    table
}

/// The page with its tables made anew, and the names of what they are of.
fn made_anew(page: &str, all: &[Described]) -> (String, Vec<String>) {
    let (mut made, mut names) = (String::new(), Vec::new());
    let mut rest = page;
    while let Some((before, behind)) = rest.split_once("<!-- keys of ") {
        let (name, behind) = behind.split_once(" -->\n").expect("a name, and ` -->`");
        let (_, behind) = behind.split_once(END).expect("an end of the table");
        let described = all.iter().find(|described| described.name == name);
        let described = described.unwrap_or_else(|| panic!("there is no target `{name}`"));
        let _ = write!(
            made,
            "{before}<!-- keys of {name} -->\n{}{END}",
            table(described)
        );
        names.push(name.to_owned());
        rest = behind;
    }
    (made + rest, names)
}

fn pages() -> Vec<PathBuf> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let entries = fs::read_dir(docs).expect("the documentation");
    let paths = entries.map(|entry| entry.expect("a page").path());
    paths
        .filter(|path| path.extension().is_some_and(|e| e == "md"))
        .collect()
}

#[test]
fn tables_of_keys_are_those_of_the_list_of_targets() {
    let all = catalogue();
    let mut documented = Vec::new();
    for path in pages() {
        let page = fs::read_to_string(&path).expect("a page");
        let (made, names) = made_anew(&page, &all);
        documented.extend(names);
        if made != page {
            if std::env::var_os("FSAGE_WRITE_TABLES").is_some() {
                fs::write(&path, made).expect("a page");
                continue;
            }
            let name = path.file_name().expect("a name").display();
            panic!("docs/{name}: a table of keys is out of date; `{AGAIN}` makes it");
        }
    }
    let with_keys = all.iter().filter(|of| !of.keys.is_empty());
    let missing: Vec<&str> = with_keys
        .map(|of| of.name)
        .filter(|name| !documented.iter().any(|known| known == name))
        .collect();
    assert!(
        missing.is_empty(),
        "no page has a table of the keys of {missing:?}"
    );
}

#[test]
fn a_table_that_is_out_of_date_is_made_anew_and_the_rest_stays() {
    let all = catalogue();
    let page = format!("before\n<!-- keys of cffs -->\n| old |\n{END}\nbehind\n");
    let (made, names) = made_anew(&page, &all);
    assert_eq!(names, ["cffs"]);
    assert!(
        made.starts_with("before\n<!-- keys of cffs -->\n| key |") && made.ends_with("\nbehind\n")
    );
    assert!(!made.contains("| old |"));
    assert!(
        made.contains("| `inode_id` | `locator`, `physical`, `table` | locator |"),
        "{made}"
    );
    assert!(
        made.contains("| `randomize_first` | `bench`, flag | off |"),
        "{made}"
    );
    assert_eq!(made_anew(&made, &all).0, made);
}
