//! Links between pages lead somewhere: in the repository, and on the site that is built of `docs`. So do sections of
//! the specification that the sources cite.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write as _;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

/// Where the site leads to what is not part of it; the rest of the address is a path in the repository.
const REPOSITORY: &str = "https://github.com/fsage/fsage/blob/main/";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Text files of the repository by their paths, but for test vectors.
fn files(patterns: &[&str]) -> BTreeMap<String, String> {
    let listing = Command::new("git")
        .args(["ls-files", "-z", "-c", "-o", "--exclude-standard"])
        .args(patterns)
        .current_dir(root())
        .output();
    let listing = listing.map_or(Vec::new(), |output| output.stdout);
    let listing = String::from_utf8(listing).expect("names are text");
    let mut files = BTreeMap::new();
    for path in listing.split_terminator('\0') {
        if path.split('/').any(|part| part == "vectors") {
            continue;
        }
        // A file that was just removed is still listed.
        if let Ok(text) = fs::read_to_string(root().join(path)) {
            files.insert(path.to_owned(), text);
        }
    }
    files
}

/// All pages of the repository by their paths.
fn pages() -> BTreeMap<String, String> {
    let pages = files(&["*.md"]);
    if pages.is_empty() {
        let _ = writeln!(std::io::stderr(), "skipped: links: this is no git checkout");
    }
    pages
}

/// Lines outside of blocks of code, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_block = false;
    text.lines().zip(1..).filter_map(move |(line, number)| {
        let is_fence = line.trim_start().starts_with("```");
        in_block ^= is_fence;
        (!in_block && !is_fence).then_some((number, line))
    })
}

/// A line without what stands in backquotes.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("_")
}

/// Targets of `[text](target)`.
fn links(line: &str) -> Vec<String> {
    let line = without_code(line);
    let rests = line.split("](").skip(1);
    rests
        .filter_map(|rest| rest.split_once(')').map(|(target, _)| target.to_owned()))
        .collect()
}

/// The anchor that both the site and the repository's host make of a heading.
fn anchor(heading: &str) -> String {
    let heading = heading.trim().to_lowercase();
    let kept = heading.chars().filter_map(|c| match c {
        ' ' => Some('-'),
        c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
        _ => None,
    });
    kept.collect()
}

fn anchors(text: &str) -> BTreeSet<String> {
    prose(text)
        .filter(|(_, line)| line.starts_with('#'))
        .map(|(_, line)| anchor(line.trim_start_matches('#')))
        .collect()
}

/// `docs/guide` and `../metrics.md` is `docs/metrics.md`; nothing above the root.
fn joined(folder: &Path, target: &str) -> Option<String> {
    let mut parts: Vec<String> = Vec::new();
    for part in folder.join(target).components() {
        match part {
            Component::ParentDir => drop(parts.pop()?),
            Component::Normal(name) => parts.push(name.to_string_lossy().into_owned()),
            _ => {}
        }
    }
    Some(parts.join("/"))
}

/// Why a link of a page leads nowhere.
fn fault(pages: &BTreeMap<String, String>, page: &str, link: &str) -> Option<String> {
    let in_repository = link.strip_prefix(REPOSITORY);
    if in_repository.is_none() && (link.contains("://") || link.starts_with("mailto:")) {
        return None;
    }
    let (target, heading) = link.split_once('#').unwrap_or((link, ""));
    let target = match target.strip_prefix(REPOSITORY) {
        Some(path) => path.to_owned(),
        None if target.is_empty() => page.to_owned(),
        None => joined(Path::new(page).parent()?, target)?,
    };
    if !root().join(&target).exists() {
        return Some(format!("there is no {target}"));
    }
    let of_site = |path: &str| path.starts_with("docs/");
    if in_repository.is_none() && of_site(page) && !of_site(&target) {
        return Some(format!("not on the site: write {REPOSITORY}{target}"));
    }
    if heading.is_empty()
        || pages
            .get(&target)
            .is_some_and(|text| anchors(text).contains(heading))
    {
        return None;
    }
    Some(format!("{target} has no heading #{heading}"))
}

/// Folder of the specification.
const SPECIFICATION: &str = "docs/spec/";

/// Pages of the specification that a source names, each with the sections that it cites there: `PAGE.md, section 12`,
/// or `PAGE.md, sections 3 and 4.1`, in one line of a comment or over two.
fn citations(source: &str) -> Vec<(String, Vec<String>)> {
    let lines = source
        .lines()
        .map(|line| line.trim().trim_start_matches(['/', '!', '#']).trim());
    let source = lines.collect::<Vec<_>>().join(" ");
    let mut found = Vec::new();
    for rest in source.split(SPECIFICATION).skip(1) {
        let is_name = |page: &str| {
            page.chars()
                .all(|c| c.is_alphanumeric() || "-_".contains(c))
        };
        let Some((page, rest)) = rest.split_once(".md").filter(|(page, _)| is_name(page)) else {
            continue;
        };
        let rest = rest.trim_start_matches('`').trim_start_matches(", ");
        let sections = if let Some(rest) = rest.strip_prefix("sections ") {
            let is_word = |word: &str| matches!(word, "and" | "to");
            let words = rest.split([' ', ',']).filter(|word| !word.is_empty());
            let words =
                words.take_while(|word| is_word(word) || word.starts_with(char::is_numeric));
            words.filter(|word| !is_word(word)).map(number).collect()
        } else if let Some(rest) = rest.strip_prefix("section ") {
            vec![number(rest)]
        } else {
            Vec::new()
        };
        found.push((format!("{SPECIFICATION}{page}.md"), sections));
    }
    found
}

/// `4.1` of `4.1: text`.
fn number(text: &str) -> String {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let number = &text[..end.unwrap_or(text.len())];
    number.trim_end_matches('.').to_owned()
}

/// Numbers of the sections of a page: of headings, and of paragraphs that begin with a number in bold.
fn sections(page: &str) -> BTreeSet<String> {
    let starts = prose(page).filter_map(|(_, line)| {
        line.strip_prefix("**").or(line
            .starts_with('#')
            .then(|| line.trim_start_matches('#').trim()))
    });
    starts.map(number).filter(|n| !n.is_empty()).collect()
}

/// What a source cites of the specification and is not there.
fn faulty_citations(pages: &BTreeMap<String, String>, source: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for (page, cited) in citations(source) {
        let Some(text) = pages.get(&page) else {
            faults.push(format!("there is no {page}"));
            continue;
        };
        let there = sections(text);
        let missing = cited.iter().filter(|section| !there.contains(*section));
        faults.extend(missing.map(|section| format!("{page} has no section {section:?}")));
    }
    faults
}

#[test]
fn every_section_of_the_specification_that_is_cited_is_there() {
    let pages = pages();
    let mut faults = Vec::new();
    for (path, source) in files(&["*.rs", "*.toml", "*.sh", "*.md"]) {
        let of_file = faulty_citations(&pages, &source);
        faults.extend(of_file.iter().map(|fault| format!("{path}: {fault}")));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_citation_of_a_section_that_is_not_there_is_found() {
    let page =
        "# A\n## 3. Three\n### 3.1 Part\n## 4. Four\n**4.2 Bold** text\n```\n# 5. code\n```\n";
    let pages = BTreeMap::from([(format!("{SPECIFICATION}a.md"), page.to_owned())]);
    for (cited, missing) in [
        ("a.md, section 3.1: 8 blocks", ""),
        ("a.md`, section 4.", ""),
        ("a.md, sections 3, 3.1 and 4.2: text", ""),
        ("a.md,\n/// section 4", ""),
        ("a.md says it in 9 words", ""),
        ("a.md, section 3.2", "3.2"),
        ("a.md, sections 3 to 6.", "6"),
        ("a.md,\n//! section 5", "5"),
        ("b.md, section 3", "there is no"),
    ] {
        let faults = faulty_citations(&pages, &format!("/// By {SPECIFICATION}{cited}"));
        assert_eq!(faults.is_empty(), missing.is_empty(), "{cited}: {faults:?}");
        assert!(faults.concat().contains(missing), "{cited}: {faults:?}");
    }
}

#[test]
fn every_link_between_pages_leads_somewhere() {
    let pages = pages();
    let mut faults = Vec::new();
    for (page, text) in &pages {
        for (number, line) in prose(text) {
            for link in links(line) {
                if let Some(why) = fault(&pages, page, &link) {
                    faults.push(format!("{page}:{number}: {link}: {why}"));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_page_of_docs_is_on_the_site_once() {
    let pages = pages();
    let Some(summary) = pages.get("docs/SUMMARY.md") else {
        return;
    };
    let mut listed: Vec<String> = prose(summary).flat_map(|(_, line)| links(line)).collect();
    listed.sort();
    let there = pages.keys().filter_map(|page| page.strip_prefix("docs/"));
    let there: Vec<&str> = there.filter(|page| *page != "SUMMARY.md").collect();
    assert_eq!(listed, there, "docs/SUMMARY.md, and the pages below docs");
}

#[test]
fn links_and_headings_are_found() {
    assert_eq!(links("a [b](c.md#d), [e](f) and `[x](y)`"), ["c.md#d", "f"]);
    // The rule of the host: small letters, blanks to hyphens, signs left out.
    assert_eq!(
        anchor(" Pools of short-lived files "),
        "pools-of-short-lived-files"
    );
    assert_eq!(anchor(" `dir:PATH`: a directory"), "dirpath-a-directory");
    assert_eq!(
        joined(Path::new("docs/guide"), "../a.md").as_deref(),
        Some("docs/a.md")
    );
    assert_eq!(joined(Path::new("docs"), "../../a.md"), None);
    let pages = BTreeMap::from([("docs/a.md".into(), "# One\n```\n# two\n```\n".into())]);
    for (link, why) in [
        ("b.md", "no docs/b.md"),
        ("../README.md", "not on the site"),
    ] {
        let said = fault(&pages, "docs/a.md", link).unwrap_or_default();
        assert!(said.contains(why), "{link}: {said}");
    }
    assert!(anchors(&pages["docs/a.md"]).contains("one"));
    assert!(!anchors(&pages["docs/a.md"]).contains("two"));
}

/// Blocks of code that a page quotes: `<!-- from PATH -->`, the block behind it, and how far it is indented.
fn quotes(text: &str) -> Vec<(String, String)> {
    let mut lines = text.lines();
    let mut quotes = Vec::new();
    while let Some(line) = lines.next() {
        let Some(from) = line.trim().strip_prefix("<!-- from ") else {
            continue;
        };
        let path = from.trim_end_matches("-->").trim().to_owned();
        let indent = line.len() - line.trim_start().len();
        let fence = lines.next().expect("a block behind it");
        assert!(
            fence.trim().starts_with("```"),
            "{path}: no block behind it"
        );
        let block = lines.by_ref().take_while(|line| line.trim() != "```");
        let block = block.map(|line| line.get(indent..).unwrap_or(line.trim_start()));
        quotes.push((path, block.collect::<Vec<_>>().join("\n")));
    }
    quotes
}

#[test]
fn code_that_a_page_quotes_is_as_it_stands_in_its_file() {
    let pages = pages();
    let mut found = 0;
    for (page, text) in &pages {
        for (path, block) in quotes(text) {
            let source = fs::read_to_string(root().join(&path));
            let source = source.unwrap_or_else(|error| panic!("{page}: {path}: {error}"));
            assert!(source.contains(&block), "{page}: not in {path}:\n{block}");
            found += 1;
        }
    }
    assert!(pages.is_empty() || found >= 5, "{found} quotes");
}
