//! What should be in the tree of a real file system after a run: to and from `tree.parquet`.
//!
//! | column | of | holds |
//! |---|---|---|
//! | `path` | all | relative to the root of the tree, bytes that are no text as `\xhh` |
//! | `kind` | all | `directory`, `file` or `symlink` |
//! | `inode` | files, symlinks | the same number for names of the same inode |
//! | `content` | files | id that the data was written under |
//! | `size_bytes` | files | length |
//! | `zeros` | files | ranges that read as zeros, `START-END START-END`; null if there is none |
//! | `target` | symlinks | where they lead, escaped like paths |

use crate::error::{Context, bail, ensure};
use fsage_core::names;
use fsage_data::table::{self, Column, ColumnKind, Table, TableWriter, Value};
use fsage_real::directory::{Content, Expected, ExpectedFile, What};
use std::collections::HashSet;
use std::fmt::Write;
use std::ops::Range;
use std::path::Path;

/// Name of the table in the file's metadata.
const SCHEMA: &str = "tree";

const COLUMNS: [(&str, ColumnKind); 7] = [
    ("path", ColumnKind::Text),
    ("kind", ColumnKind::Text),
    ("inode", ColumnKind::U64),
    ("content", ColumnKind::U64),
    ("size_bytes", ColumnKind::U64),
    ("zeros", ColumnKind::Text),
    ("target", ColumnKind::Text),
];

/// Writes `tree.parquet`.
///
/// # Errors
/// It cannot be written.
pub fn write(path: &Path, expected: &Expected) -> crate::Result<()> {
    let columns = COLUMNS.map(|(name, kind)| Column::new(name, kind)).to_vec();
    let mut table = TableWriter::create(path, SCHEMA, columns, &[], true)?;
    let text = |bytes: &[u8]| Value::Text(names::escape(bytes).into_owned());
    for directory in &expected.directories {
        let mut row = [const { Value::Null }; COLUMNS.len()];
        row[0] = text(directory);
        row[1] = "directory".into();
        table.push_row(&row)?;
    }
    for file in &expected.files {
        let mut row = [const { Value::Null }; COLUMNS.len()];
        row[0] = text(&file.path);
        row[2] = file.inode.into();
        match &file.what {
            What::File {
                content,
                size_bytes,
                zeros,
            } => {
                row[1] = "file".into();
                row[3] = content.0.into();
                row[4] = (*size_bytes).into();
                row[5] = (!zeros.is_empty()).then(|| zeros_text(zeros)).into();
            }
            What::Symlink { target } => {
                row[1] = "symlink".into();
                row[6] = text(target);
            }
        }
        table.push_row(&row)?;
    }
    Ok(table.finish()?)
}

/// Reads `tree.parquet`. What comes back is sound: every directory on the way to an entry is there, and no path comes
/// twice.
///
/// # Errors
/// No such file, or no tree: a path comes twice, or its directory is not there.
pub fn read(path: &Path) -> crate::Result<Expected> {
    let unfit = || {
        format!(
            "{}: does not say what should be in the tree of a run; make the run again",
            path.display()
        )
    };
    let table = table::read_table(path)?;
    if table.schema != SCHEMA {
        bail!("{} (its schema is `{}`)", unfit(), table.schema);
    }
    let rows = Rows::of(&table).with_context(unfit)?;
    rows.expected().with_context(unfit)
}

/// The rows of a table, and where its columns are.
struct Rows<'a> {
    table: &'a Table,
    columns: [usize; COLUMNS.len()],
}

impl Rows<'_> {
    fn of(table: &Table) -> crate::Result<Rows<'_>> {
        let mut columns = [0; COLUMNS.len()];
        for (at, (name, _)) in columns.iter_mut().zip(COLUMNS) {
            let found = table.column(name);
            *at = found.with_context(|| format!("no column `{name}`"))?;
        }
        Ok(Rows { table, columns })
    }

    fn expected(&self) -> crate::Result<Expected> {
        let mut expected = Expected::default();
        for row in 0..self.table.rows.len() {
            self.row(row, &mut expected)
                .with_context(|| format!("row {}", row + 1))?;
        }
        check_paths(&expected)?;
        Ok(expected)
    }

    fn row(&self, row: usize, expected: &mut Expected) -> crate::Result<()> {
        let path = self.bytes(row, 0)?;
        let what = match self.text(row, 1)? {
            "directory" => {
                expected.directories.push(path);
                return Ok(());
            }
            "file" => {
                let size_bytes = self.number(row, 4)?;
                let zeros = match self.value(row, 5) {
                    Value::Null => Vec::new(),
                    _ => zeros_of(self.text(row, 5)?, size_bytes)?,
                };
                What::File {
                    content: Content(self.number(row, 3)?),
                    size_bytes,
                    zeros,
                }
            }
            "symlink" => What::Symlink {
                target: self.bytes(row, 6)?,
            },
            other => bail!("kind `{other}`, expected `directory`, `file` or `symlink`"),
        };
        let inode = self.number(row, 2)?;
        expected.files.push(ExpectedFile { path, inode, what });
        Ok(())
    }

    fn value(&self, row: usize, column: usize) -> &Value {
        &self.table.rows[row][self.columns[column]]
    }

    fn text(&self, row: usize, column: usize) -> crate::Result<&str> {
        match self.value(row, column) {
            Value::Text(text) => Ok(text),
            other => bail!(
                "column `{}` holds {other:?}, expected text",
                COLUMNS[column].0
            ),
        }
    }

    fn bytes(&self, row: usize, column: usize) -> crate::Result<Vec<u8>> {
        let text = self.text(row, column)?;
        let bytes = names::unescape(text);
        Ok(bytes
            .with_context(|| format!("`{text}`: expected `\\xhh` after a backslash"))?
            .into_vec())
    }

    fn number(&self, row: usize, column: usize) -> crate::Result<u64> {
        match self.value(row, column) {
            Value::U64(number) => Ok(*number),
            other => bail!(
                "column `{}` holds {other:?}, expected a number",
                COLUMNS[column].0
            ),
        }
    }
}

fn zeros_text(zeros: &[Range<u64>]) -> String {
    let mut text = String::new();
    for range in zeros {
        let space = if text.is_empty() { "" } else { " " };
        let _ = write!(text, "{space}{}-{}", range.start, range.end);
    }
    text
}

fn zeros_of(text: &str, size_bytes: u64) -> crate::Result<Vec<Range<u64>>> {
    let mut zeros = Vec::new();
    let mut end = 0;
    for range in text.split(' ') {
        let parsed = range
            .split_once('-')
            .and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?));
        let range = parsed.with_context(|| format!("`{range}`: expected START-END"))?;
        ensure!(
            end <= range.start && range.start < range.end && range.end <= size_bytes,
            "ranges `{text}`: expected ascending ones, apart, within {size_bytes} bytes"
        );
        end = range.end;
        zeros.push(range);
    }
    Ok(zeros)
}

/// Paths are made of names, lie in directories that are there, and come once.
fn check_paths(expected: &Expected) -> crate::Result<()> {
    let shown = |path: &[u8]| names::escape(path).into_owned();
    let directories: HashSet<&[u8]> = expected.directories.iter().map(Vec::as_slice).collect();
    let mut seen: HashSet<&[u8]> = HashSet::new();
    let files = expected.files.iter().map(|file| &file.path);
    for path in expected.directories.iter().chain(files) {
        let slash = path.iter().rposition(|byte| *byte == b'/');
        let name = &path[slash.map_or(0, |slash| slash + 1)..];
        names::check_name(name).with_context(|| format!("path `{}`", shown(path)))?;
        if let Some(slash) = slash {
            let inside = directories.contains(&path[..slash]);
            ensure!(inside, "path `{}`: its directory is not there", shown(path));
        }
        ensure!(seen.insert(path), "path `{}` comes twice", shown(path));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Expected {
        let file = |path: &[u8], inode, zeros: &[Range<u64>]| ExpectedFile {
            path: path.to_vec(),
            inode,
            what: What::File {
                content: Content(u64::MAX),
                size_bytes: 1 << 40,
                zeros: zeros.to_vec(),
            },
        };
        Expected {
            directories: vec![b"a".to_vec(), b"a/\xff\n".to_vec()],
            files: vec![
                file(b"a/\xff\n/b\\", 3, &[]),
                file(b"a/c", 3, &[]),
                file(b"holes", 4, &[0..1, 7..(1 << 40)]),
                ExpectedFile {
                    path: b"link".to_vec(),
                    inode: 9,
                    what: What::Symlink {
                        target: b"../\xfe".to_vec(),
                    },
                },
            ],
        }
    }

    #[test]
    fn a_tree_comes_back_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tree.parquet");
        write(&path, &sample()).unwrap();
        assert_eq!(read(&path).unwrap(), sample());
        // A run that was interrupted while it ended writes it again.
        write(&path, &Expected::default()).unwrap();
        assert_eq!(read(&path).unwrap(), Expected::default());
        let empty = folder.path().join("empty.parquet");
        write(&empty, &Expected::default()).unwrap();
        assert_eq!(read(&empty).unwrap(), Expected::default());
    }

    #[test]
    fn what_is_no_tree_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tree.parquet");
        let refused = |expected: &Expected| {
            let _ = std::fs::remove_file(&path);
            write(&path, expected).unwrap();
            format!("{:#}", read(&path).unwrap_err())
        };
        let mut outside = sample();
        outside.files[1].path = b"a/../../etc".to_vec();
        let message = refused(&outside);
        assert!(message.contains("tree.parquet") && message.contains("make the run again"));
        assert!(message.contains("its directory is not there"), "{message}");
        let mut dots = sample();
        dots.files[1].path = b"a/..".to_vec();
        assert!(refused(&dots).contains("`..` are not names"));
        let mut absolute = sample();
        absolute.directories[0] = b"/etc".to_vec();
        assert!(refused(&absolute).contains("path `/etc`"));
        let mut twice = sample();
        twice.files[1].path = b"a".to_vec();
        assert!(refused(&twice).contains("path `a` comes twice"));
        let mut ranges = sample();
        ranges.files[2].what = What::File {
            content: Content(1),
            size_bytes: 10,
            zeros: vec![3..5, 4..9],
        };
        assert!(refused(&ranges).contains("`3-5 4-9`"));

        let other = folder.path().join("days.parquet");
        TableWriter::create(&other, "days", Vec::new(), &[], false)
            .unwrap()
            .finish()
            .unwrap();
        assert!(format!("{:#}", read(&other).unwrap_err()).contains("`days`"));
    }
}
