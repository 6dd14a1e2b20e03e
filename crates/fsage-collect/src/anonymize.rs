//! Snapshots without names: each component of a path becomes a keyed hash of it.
//!
//! Equal names become equal hashes, also in later snapshots with the same salt, so that renames stay visible. The tree,
//! sizes, times, inodes and blocks stay: they can still identify well-known files.

use fsage_core::SinkError;
use fsage_core::names::unescape;
use fsage_core::snapshot::{Inode, SnapshotInfo, SnapshotSink};
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Bytes of a hash that are kept: 16 hexadecimal digits.
const HASH_BYTES: usize = 8;
/// Longest extension that is kept. What is longer is rather part of a name.
const EXTENSION_BYTES: usize = 8;

/// The key of the hashes: whoever has it can find out whether a name that he guesses is there.
#[derive(Clone)]
pub struct Salt([u8; 32]);

impl Salt {
    /// Reads the salt in `path`, 64 hexadecimal digits; makes a random one there, readable by its owner only, if there
    /// is no such file.
    ///
    /// # Errors
    /// The file cannot be read or made; or holds something else, which is [`ErrorKind::InvalidData`].
    pub fn read_or_make(path: &Path) -> io::Result<Salt> {
        match std::fs::read_to_string(path) {
            Ok(text) => Salt::parse(text.trim_end()).ok_or_else(|| {
                let problem = "is no salt: expected 64 hexadecimal digits; remove it to get a new one, whose hashes \
                               differ from those before";
                io::Error::new(ErrorKind::InvalidData, problem)
            }),
            Err(e) if e.kind() == ErrorKind::NotFound => Salt::make(path),
            Err(e) => Err(e),
        }
    }

    fn make(path: &Path) -> io::Result<Salt> {
        let mut key = [0; 32];
        File::open("/dev/urandom")?.read_exact(&mut key)?;
        let mut text = String::with_capacity(65);
        push_hex(&mut text, &key);
        text.push('\n');
        let mut options = OpenOptions::new();
        let mut file = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)?;
        let written = file
            .write_all(text.as_bytes())
            .and_then(|()| file.sync_all());
        if let Err(e) = written {
            // Half a salt is none. The error says what happened.
            let _ = std::fs::remove_file(path);
            return Err(e);
        }
        Ok(Salt(key))
    }

    fn parse(text: &str) -> Option<Salt> {
        let mut key = [0; 32];
        let digits = text.as_bytes();
        if digits.len() != 2 * key.len() {
            return None;
        }
        for (byte, pair) in key.iter_mut().zip(digits.chunks(2)) {
            *byte = fsage_core::names::hex_byte(pair[0], pair[1])?;
        }
        Some(Salt(key))
    }
}

impl std::fmt::Debug for Salt {
    /// Does not tell it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Salt")
    }
}

/// Gives snapshots on without names, owners and host.
pub struct Anonymous<'a> {
    sink: &'a mut dyn SnapshotSink,
    salt: Salt,
    keep_extensions: bool,
    /// The directory of the last row, and what became of it: the next is mostly in the same.
    directory: (String, String),
}

impl<'a> Anonymous<'a> {
    /// In front of `sink`. `keep_extensions`: what follows the last dot of a name stays, if it is one to eight letters
    /// and digits.
    pub fn new(sink: &'a mut dyn SnapshotSink, salt: Salt, keep_extensions: bool) -> Anonymous<'a> {
        Anonymous {
            sink,
            salt,
            keep_extensions,
            directory: (String::new(), String::new()),
        }
    }

    /// What may be known of a snapshot.
    pub fn info(mut info: SnapshotInfo) -> SnapshotInfo {
        info.host = None;
        info
    }

    fn path(&mut self, path: &str) -> String {
        if path == "." {
            return path.to_owned();
        }
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        if directory != self.directory.0 {
            let mut hidden = String::new();
            for component in directory.split('/') {
                self.push(&mut hidden, component);
                hidden.push('/');
            }
            self.directory = (directory.to_owned(), hidden);
        }
        let mut hidden = if directory.is_empty() {
            String::new()
        } else {
            self.directory.1.clone()
        };
        self.push(&mut hidden, name);
        hidden
    }

    fn push(&self, hidden: &mut String, component: &str) {
        let name = unescape(component).unwrap_or_else(|| component.as_bytes().into());
        let hash = blake3::keyed_hash(&self.salt.0, &name);
        push_hex(hidden, &hash.as_bytes()[..HASH_BYTES]);
        if self.keep_extensions
            && let Some((stem, extension)) = component.rsplit_once('.')
            && !stem.is_empty()
            && (1..=EXTENSION_BYTES).contains(&extension.len())
            && extension.bytes().all(|c| c.is_ascii_alphanumeric())
        {
            hidden.push('.');
            hidden.push_str(extension);
        }
    }
}

fn push_hex(text: &mut String, bytes: &[u8]) {
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
}

impl SnapshotSink for Anonymous<'_> {
    fn snapshot(&mut self, info: SnapshotInfo) -> Result<(), SinkError> {
        self.sink.snapshot(Anonymous::info(info))
    }

    fn inode(&mut self, mut inode: Inode) -> Result<(), SinkError> {
        let path = inode.path.take();
        inode.path = path.map(|path| self.path(&path).into());
        inode.uid = None;
        inode.gid = None;
        self.sink.inode(inode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsage_core::FileKind;

    #[derive(Default)]
    struct Rows(Vec<SnapshotInfo>, Vec<Inode>);

    impl SnapshotSink for Rows {
        fn snapshot(&mut self, info: SnapshotInfo) -> Result<(), SinkError> {
            self.0.push(info);
            Ok(())
        }

        fn inode(&mut self, inode: Inode) -> Result<(), SinkError> {
            self.1.push(inode);
            Ok(())
        }
    }

    fn paths(salt: &Salt, keep_extensions: bool, paths: &[&str]) -> Vec<String> {
        let mut rows = Rows::default();
        let mut sink = Anonymous::new(&mut rows, salt.clone(), keep_extensions);
        for path in paths {
            let mut inode = Inode::new(3, None, FileKind::Regular, 5);
            inode.path = Some((*path).into());
            (inode.uid, inode.gid, inode.links) = (Some(1), Some(2), Some(3));
            sink.inode(inode).unwrap();
        }
        for row in &rows.1 {
            assert_eq!((row.uid, row.gid), (None, None));
            assert_eq!((row.ino, row.size_bytes, row.links), (3, 5, Some(3)));
        }
        let paths = rows.1.into_iter().filter_map(|row| row.path);
        paths.map(String::from).collect()
    }

    #[test]
    fn components_become_keyed_hashes_and_the_tree_stays() {
        let salt = Salt([0; 32]);
        let names = [".", "a", "a/b", "a/b/a", "b", "x\\x5cy", "a/b/c.txt"];
        let hidden = paths(&salt, false, &names);
        assert_eq!(hidden[0], ".");
        let (a, b) = (&hidden[1], &hidden[4]);
        assert_eq!(a.len(), 16);
        assert_ne!(a, b);
        assert_eq!(hidden[2], format!("{a}/{b}"));
        assert_eq!(hidden[3], format!("{a}/{b}/{a}"));
        assert!(hidden.iter().all(|path| !path.contains('\\')));
        assert_eq!(hidden[6].len(), 3 * 16 + 2);
        assert_ne!(&paths(&Salt([1; 32]), false, &["a"])[0], a);
        assert_eq!(paths(&salt, false, &names), hidden);
    }

    #[test]
    fn extensions_are_kept_on_request_if_they_are_some() {
        let salt = Salt([0; 32]);
        let names = [
            "c.txt",
            ".profile",
            "Dr. Smith",
            "a.",
            "x.averylongone",
            "a.b/c.d",
        ];
        let kept = paths(&salt, true, &names);
        let bare = paths(&salt, false, &names);
        assert_eq!(kept[0], format!("{}.txt", bare[0]));
        assert_eq!(kept[1..5], bare[1..5]);
        let (dir, name) = bare[5].split_once('/').unwrap();
        assert_eq!(kept[5], format!("{dir}.b/{name}.d"));
    }

    #[test]
    fn host_is_dropped() {
        let mut rows = Rows::default();
        let info = SnapshotInfo {
            host: Some("h".to_owned()),
            snap_id: 4,
            ..SnapshotInfo::default()
        };
        let mut sink = Anonymous::new(&mut rows, Salt([0; 32]), false);
        sink.snapshot(info).unwrap();
        assert_eq!((rows.0[0].host.as_ref(), rows.0[0].snap_id), (None, 4));
    }

    #[test]
    fn a_salt_is_made_once_and_kept_from_others() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("salt");
        let made = Salt::read_or_make(&path).unwrap();
        assert_eq!(Salt::read_or_make(&path).unwrap().0, made.0);
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let other = Salt::read_or_make(&dir.path().join("other")).unwrap();
        assert_ne!(other.0, made.0);
        std::fs::write(&path, "abc").unwrap();
        let error = Salt::read_or_make(&path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
    }
}
