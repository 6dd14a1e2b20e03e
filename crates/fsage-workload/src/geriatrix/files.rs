//! The text files of a Geriatrix profile: a number N, N rows of numbers, then free text.

use std::io;
use std::str;
use thiserror::Error;

/// Most rows of a file; the deepest directory and the largest numbers are limited by the profile.
const MAX_ROWS: usize = 100;
/// Deepest directory.
const MAX_DEPTH: f64 = 64.0;

/// Why a file was not understood.
#[derive(Debug, Error)]
pub enum GeriatrixError {
    /// A file of the three is not there.
    #[error(
        "{file}: cannot be read ({error}); a profile is a folder with age_distribution.txt, size_distribution.txt \
         and dir_distribution.txt"
    )]
    Read {
        /// The file.
        file: String,
        /// What the system said.
        #[source]
        error: io::Error,
    },
    /// A line is not as expected.
    #[error("{file}:{line}: expected {expected}, found {found}")]
    Line {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// What would have been right.
        expected: String,
        /// What stands there.
        found: String,
    },
}

/// The rows of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows<const N: usize> {
    /// The numbers.
    pub rows: Vec<[f64; N]>,
    /// What was not as announced.
    pub warnings: Vec<String>,
}

/// Reads a file with `N` numbers a row, of which the first goes up. Two numbers: value and weight. Three: depth,
/// weight, directories.
///
/// # Errors
/// A missing or malformed number, with file and line.
pub fn parse<const N: usize>(file: &str, text: &[u8]) -> Result<Rows<N>, GeriatrixError> {
    let wrong = |line: usize, expected: String, found: String| GeriatrixError::Line {
        file: file.to_owned(),
        line,
        expected,
        found,
    };
    // Only the rows must be text of a known kind; what follows is ignored.
    let mut lines = text
        .split(|&b| b == b'\n')
        .map(|line| {
            str::from_utf8(line)
                .unwrap_or("bytes that are not UTF-8")
                .trim()
        })
        .enumerate()
        .map(|(i, line)| (i + 1, line))
        .filter(|(_, line)| !line.is_empty());
    let end = text.split(|&b| b == b'\n').count();
    let missing = || "the end of the file".to_owned();
    let (line, first) = lines
        .next()
        .ok_or_else(|| wrong(1, "the number of rows".into(), missing()))?;
    let count = first
        .parse::<usize>()
        .ok()
        .filter(|n| (1..=MAX_ROWS).contains(n));
    let count = count.ok_or_else(|| {
        wrong(
            line,
            format!("a number of rows from 1 to {MAX_ROWS}"),
            quoted(first),
        )
    })?;
    let mut rows: Vec<[f64; N]> = Vec::with_capacity(count);
    while rows.len() < count {
        let what = || format!("row {} of {count}: {N} numbers", rows.len() + 1);
        let (line, text) = lines.next().ok_or_else(|| wrong(end, what(), missing()))?;
        let row: [f64; N] = numbers(text).ok_or_else(|| wrong(line, what(), quoted(text)))?;
        if let Some(fault) = fault(&row, rows.last()) {
            return Err(wrong(line, fault.into(), quoted(text)));
        }
        rows.push(row);
    }
    if rows.iter().all(|r| r[1] <= 0.0) {
        return Err(wrong(end, "a weight over 0".into(), "none".into()));
    }
    let mut warnings = Vec::new();
    let more = lines
        .take_while(|(_, text)| numbers::<N>(text).is_some())
        .count();
    if more > 0 {
        warnings.push(format!(
            "{file}: announces {count} rows and has {}: the first {count} are used",
            count + more
        ));
    }
    Ok(Rows { rows, warnings })
}

fn numbers<const N: usize>(text: &str) -> Option<[f64; N]> {
    let mut row = [0.0; N];
    let mut words = text.split_whitespace();
    for number in &mut row {
        *number = words
            .next()?
            .parse::<f64>()
            .ok()
            .filter(|n| n.is_finite())?;
    }
    words.next().is_none().then_some(row)
}

fn fault<const N: usize>(row: &[f64; N], before: Option<&[f64; N]>) -> Option<&'static str> {
    let most = if N == 3 { MAX_DEPTH } else { 1e15 };
    if !(0.0..=most).contains(&row[0]) {
        return Some(if N == 3 {
            "a depth from 0 to 64"
        } else {
            "a value from 0 to 10^15"
        });
    }
    if before.is_some_and(|b| b[0] >= row[0]) {
        return Some("a first number over that of the row before");
    }
    if !(0.0..=1e15).contains(&row[1]) {
        return Some("a weight from 0 to 10^15");
    }
    if N == 3 && !(row[0].fract() == 0.0 && (0.0..=1e6).contains(&row[2])) {
        return Some("a whole depth, and 0 to 1000000 directories");
    }
    None
}

/// A line as a message shows it.
fn quoted(text: &str) -> String {
    let short: String = text.chars().take(40).collect();
    format!("{short:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_followed_by_free_text() {
        let text = b"2\r\n\n1.5 3\n 4\t0\n\nFormat:\n<a> <b>\n";
        let rows = parse::<2>("f", text).unwrap();
        assert_eq!(rows.rows, [[1.5, 3.0], [4.0, 0.0]]);
        assert!(rows.warnings.is_empty());
    }

    #[test]
    fn a_row_too_many_is_left_out_with_a_warning() {
        let rows = parse::<2>("f.txt", b"1\n1 3\n4 5\nFormat\n").unwrap();
        assert_eq!(rows.rows, [[1.0, 3.0]]);
        assert_eq!(
            rows.warnings,
            ["f.txt: announces 1 rows and has 2: the first 1 are used"]
        );
    }

    #[test]
    fn errors_name_the_file_and_the_line() {
        let message = |text: &str| {
            parse::<2>("f.txt", text.as_bytes())
                .unwrap_err()
                .to_string()
        };
        assert_eq!(
            message("2\n1 1\n"),
            "f.txt:3: expected row 2 of 2: 2 numbers, found the end of the file"
        );
        assert!(message("").starts_with("f.txt:1: expected the number of rows"));
        assert!(message("2\n1 1\n2 x\n").starts_with("f.txt:3: expected row 2 of 2"));
        assert!(message("2\n1 1\n2\n").contains("found \"2\""));
        assert!(message("2\n1 1\n1 1\n").contains("over that of the row before"));
        assert!(message("1\n1 -1\n").contains("a weight"));
        assert!(message("1\n1 0\n").contains("a weight over 0"));
        assert!(message("1\nnan 1\n").contains("2 numbers"));
        assert!(message("99999999999\n").contains("from 1 to 100"));
        let depth = parse::<3>("d", b"1\n1.5 1 1\n").unwrap_err().to_string();
        assert!(depth.contains("whole depth"));
    }
}
