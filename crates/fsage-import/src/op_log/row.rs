//! Columns and rows of the log.

use super::Source;
use csv::ByteRecord;
use fsage_core::names::unescape;

/// What a row does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Create,
    OpenTrunc,
    Write,
    Truncate,
    Fallocate,
    Punch,
    Unlink,
    Rename,
    Link,
    Symlink,
    Mkdir,
    Rmdir,
    Fsync,
    Close,
    Sync,
}

const VERBS: [(&[u8], Verb); 15] = [
    (b"create", Verb::Create),
    (b"open_trunc", Verb::OpenTrunc),
    (b"write", Verb::Write),
    (b"truncate", Verb::Truncate),
    (b"fallocate", Verb::Fallocate),
    (b"punch", Verb::Punch),
    (b"unlink", Verb::Unlink),
    (b"rename", Verb::Rename),
    (b"link", Verb::Link),
    (b"symlink", Verb::Symlink),
    (b"mkdir", Verb::Mkdir),
    (b"rmdir", Verb::Rmdir),
    (b"fsync", Verb::Fsync),
    (b"close", Verb::Close),
    (b"sync", Verb::Sync),
];

/// Where something lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Path(Box<[u8]>),
    /// Directory by device and inode number, and name.
    In((u64, u64), Box<[u8]>),
}

/// One event.
#[derive(Debug)]
pub(super) struct Row {
    pub t_ns: i64,
    pub verb: Verb,
    pub ret: Option<i64>,
    pub place: Option<Place>,
    pub place2: Option<Place>,
    pub source: Option<Source>,
    pub offset: Option<u64>,
    pub length: Option<u64>,
    pub size: Option<u64>,
    pub pid: u64,
}

const NAMES: [&str; 16] = [
    "t_ns", "op", "ret", "path", "path2", "dev", "ino", "gen", "dir_ino", "name", "dir_ino2",
    "name2", "offset", "length", "size", "pid",
];

/// Which column is where.
#[derive(Debug)]
pub(super) struct Columns([Option<usize>; NAMES.len()]);

impl Columns {
    /// Reads the header; columns that mean nothing go to `unknown`.
    pub fn of(header: &ByteRecord, unknown: &mut Vec<String>) -> Result<Columns, &'static str> {
        let mut columns = Columns([None; NAMES.len()]);
        unknown.clear();
        for (index, text) in header.iter().enumerate() {
            match NAMES.iter().position(|n| n.as_bytes() == text.trim_ascii()) {
                Some(column) if columns.0[column].is_some() => {
                    return Err("a column comes twice in the header");
                }
                Some(column) => columns.0[column] = Some(index),
                None => unknown.push(String::from_utf8_lossy(text).into_owned()),
            }
        }
        let has = |name| columns.index(name).is_some();
        if !has("t_ns") || !has("op") {
            return Err("the header needs the columns t_ns and op");
        }
        let by_inode = has("dir_ino") && has("name");
        if !(has("path") || by_inode) {
            return Err("the header needs the column path, or dir_ino and name");
        }
        Ok(columns)
    }

    fn index(&self, name: &str) -> Option<usize> {
        let column = NAMES.iter().position(|n| *n == name)?;
        self.0[column]
    }

    /// The text of a column; none if it is empty.
    fn text<'r>(&self, record: &'r ByteRecord, name: &str) -> Option<&'r [u8]> {
        record.get(self.index(name)?).filter(|t| !t.is_empty())
    }

    fn number<T: std::str::FromStr>(
        &self,
        record: &ByteRecord,
        name: &str,
    ) -> Result<Option<T>, &'static str> {
        match self.text(record, name) {
            None => Ok(None),
            Some(text) => std::str::from_utf8(text.trim_ascii())
                .ok()
                .and_then(|t| t.parse().ok())
                .map(Some)
                .ok_or("whole numbers in the columns of numbers"),
        }
    }

    fn bytes(&self, record: &ByteRecord, name: &str) -> Result<Option<Box<[u8]>>, &'static str> {
        match self.text(record, name) {
            None => Ok(None),
            Some(text) => std::str::from_utf8(text)
                .ok()
                .and_then(unescape)
                .map(Some)
                .ok_or(r"a name in UTF-8, other bytes and \ as \xhh"),
        }
    }

    fn place(
        &self,
        record: &ByteRecord,
        dev: u64,
        [path, dir, name]: [&str; 3],
    ) -> Result<Option<Place>, &'static str> {
        if let Some(path) = self.bytes(record, path)? {
            return Ok(Some(Place::Path(path)));
        }
        let dir = self.number(record, dir)?;
        let name = self.bytes(record, name)?;
        if let Some(name) = &name {
            fsage_core::names::check_name(name).map_err(|_| "the name of a directory entry")?;
        }
        Ok(dir.zip(name).map(|(dir, name)| Place::In((dev, dir), name)))
    }

    /// Reads a row.
    pub fn row(&self, record: &ByteRecord) -> Result<Row, &'static str> {
        let verb = self.text(record, "op").map(<[u8]>::trim_ascii);
        let verb = VERBS.iter().find(|(name, _)| Some(*name) == verb);
        let (_, verb) = *verb.ok_or("an operation in the column op")?;
        let t_ns = self
            .number(record, "t_ns")?
            .ok_or("a time in the column t_ns")?;
        let dev = self.number(record, "dev")?.unwrap_or(0);
        let ino: Option<u64> = self.number(record, "ino")?;
        let generation = self.number(record, "gen")?;
        Ok(Row {
            t_ns,
            verb,
            ret: self.number(record, "ret")?,
            place: self.place(record, dev, ["path", "dir_ino", "name"])?,
            place2: self.place(record, dev, ["path2", "dir_ino2", "name2"])?,
            source: ino.map(|ino| (dev, ino, generation)),
            offset: self.number(record, "offset")?,
            length: self.number(record, "length")?,
            size: self.number(record, "size")?,
            pid: self.number(record, "pid")?.unwrap_or(0),
        })
    }
}
