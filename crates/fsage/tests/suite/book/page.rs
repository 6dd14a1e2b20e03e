//! The commands of a page, and what is shown below them.
//!
//! | in the page | means |
//! |---|---|
//! | a block marked `console` | lines that begin with `$ ` are run by bash, in order, in one temporary folder a page |
//! | lines that begin with `>` below it | go on with the command, as a shell shows it |
//! | other lines of the block | what the command above prints on standard output; without any, anything |
//! | `...` in such a line, or alone | any text, or any lines: what the machine decides, or what is too long to show |
//! | `console,root` | is left out where there is no root, or no loop device, ext4 or XFS |
//! | `console,not-run` | is not run; the line before the block is `<!-- not run: WHY -->` |
//! | lines from `<!-- run` to `-->` | commands that the reader does not see, for what a page takes for granted |
//!
//! Every command must end with status 0. A block that is not marked, or marked as `text`, shows no command.

/// A command and what is shown below it.
#[derive(Debug, PartialEq, Eq)]
pub struct Step {
    /// Where it is in the page, from 1.
    pub line: usize,
    pub command: String,
    pub shown: Vec<String>,
    pub needs_root: bool,
}

/// What a page has to run.
#[derive(Debug, Default)]
pub struct Page {
    pub steps: Vec<Step>,
    /// Line of each block that is not run, and why.
    pub not_run: Vec<String>,
}

/// Reads a page; the fault has the number of its line first.
pub fn read(text: &str) -> Result<Page, String> {
    let mut page = Page::default();
    let mut before = "";
    let mut lines = text.lines().zip(1..);
    while let Some((line, number)) = lines.next() {
        let end = if line.starts_with("```") {
            "```"
        } else if line == "<!-- run" {
            "-->"
        } else {
            before = line;
            continue;
        };
        let body: Vec<(&str, usize)> = lines.by_ref().take_while(|(l, _)| *l != end).collect();
        match line.trim_start_matches('`') {
            "console" => page.steps.append(&mut commands(&body, false)?),
            "console,root" => page.steps.append(&mut commands(&body, true)?),
            "console,not-run" => page.not_run.push(reason(before, number)?),
            "<!-- run" => page.steps.extend(body.iter().map(|(l, n)| hidden(l, *n))),
            _ => {
                let is_command = |l: &str| l.starts_with("$ ") || l.starts_with("fsage ");
                if let Some((l, n)) = body.iter().find(|(l, _)| is_command(l)) {
                    return Err(format!("{n}: no block of commands, and so not run: {l}"));
                }
            }
        }
        before = "";
    }
    Ok(page)
}

fn hidden(line: &str, number: usize) -> Step {
    Step {
        line: number,
        command: line.to_owned(),
        shown: Vec::new(),
        needs_root: false,
    }
}

fn reason(before: &str, number: usize) -> Result<String, String> {
    let why = before
        .strip_prefix("<!-- not run: ")
        .and_then(|rest| rest.strip_suffix(" -->"));
    let why = why.ok_or(format!("{number}: no `<!-- not run: WHY -->` before it"))?;
    Ok(format!("{number}: {why}"))
}

fn commands(body: &[(&str, usize)], needs_root: bool) -> Result<Vec<Step>, String> {
    let mut steps: Vec<Step> = Vec::new();
    for &(line, number) in body {
        if let Some(command) = line.strip_prefix("$ ") {
            steps.push(Step {
                line: number,
                command: command.to_owned(),
                shown: Vec::new(),
                needs_root,
            });
            continue;
        }
        let Some(last) = steps.last_mut() else {
            return Err(format!("{number}: output before the first `$ ` command"));
        };
        match line.strip_prefix('>') {
            Some(more) if last.shown.is_empty() => {
                last.command.push('\n');
                last.command
                    .push_str(more.strip_prefix(' ').unwrap_or(more));
            }
            _ => last.shown.push(line.to_owned()),
        }
    }
    for step in &mut steps {
        let blank = |line: &String| line.trim().is_empty();
        while step.shown.last().is_some_and(blank) {
            step.shown.pop();
        }
    }
    Ok(steps)
}

/// Whether the output is what is shown. Blanks at line ends do not count, nor do empty lines around the whole.
pub fn printed_as_shown(printed: &str, shown: &[String]) -> bool {
    let printed: Vec<&str> = printed
        .trim_end()
        .trim_start_matches('\n')
        .lines()
        .map(str::trim_end)
        .collect();
    let shown: Vec<&str> = shown.iter().map(|line| line.trim_end()).collect();
    lines_match(&printed, &shown)
}

fn lines_match(printed: &[&str], shown: &[&str]) -> bool {
    match shown.split_first() {
        None => printed.is_empty(),
        Some((&"...", rest)) => (0..=printed.len()).any(|n| lines_match(&printed[n..], rest)),
        Some((line, rest)) => {
            printed.first().is_some_and(|p| line_matches(p, line))
                && lines_match(&printed[1..], rest)
        }
    }
}

fn line_matches(printed: &str, shown: &str) -> bool {
    let Some((start, rest)) = shown.split_once("...") else {
        return printed == shown;
    };
    let Some(after) = printed.strip_prefix(start) else {
        return false;
    };
    let mut ends = after.char_indices().map(|(at, _)| at).chain([after.len()]);
    ends.any(|at| line_matches(&after[at..], rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_its_commands_with_what_they_print() {
        let text = "```console\n$ a \\\n>   b\n>\nout\n\n$ c  # why\n```\n<!-- run\nd\n-->\n```console,root\n$ e\n```";
        let page = read(text).expect("a page");
        let step = |line, command: &str, shown: &[&str], needs_root| Step {
            line,
            command: command.into(),
            shown: shown.iter().map(|&l| l.into()).collect(),
            needs_root,
        };
        let expected = [
            step(2, "a \\\n  b\n", &["out"], false),
            step(7, "c  # why", &[], false),
            step(10, "d", &[], false),
            step(13, "e", &[], true),
        ];
        assert_eq!(page.steps, expected);
    }

    #[test]
    fn no_command_gets_by() {
        for (text, fault) in [
            ("```\nfsage age\n```\n", "2: no block of commands"),
            ("```text\n$ ls\n```\n", "2: no block of commands"),
            ("```console,not-run\n$ ls\n```\n", "1: no `<!-- not run"),
            ("```console\nout\n```\n", "2: output before"),
        ] {
            let said = read(text).expect_err(text);
            assert!(said.starts_with(fault), "{text}: {said}");
        }
        let page = read("<!-- not run: too long -->\n```console,not-run\n$ ls\n```\n");
        assert_eq!(page.expect("a page").not_run, ["2: too long"]);
    }

    #[test]
    fn three_dots_stand_for_any_text_and_any_lines() {
        for (shown, same) in [
            ("a 1 s\nb\nc", true),
            ("a ... s\n...", true),
            ("...\nc", true),
            ("a ...\nb\nc\n...", true),
            ("a ... s\nb", false),
            ("a ... h\n...", false),
            ("...\nd", false),
        ] {
            let lines: Vec<String> = shown.lines().map(String::from).collect();
            assert_eq!(
                printed_as_shown("\na 1 s  \nb\nc\n\n", &lines),
                same,
                "{shown}"
            );
        }
    }
}
