//! Names of all inodes, and the tree that they make.

use fsage_core::names::escape;

/// A name in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Name {
    ino: u64,
    parent: u64,
    /// Where it starts in the text of all names.
    at: usize,
    bytes: u16,
}

/// Collects names, in any order.
#[derive(Debug, Default)]
pub struct Names {
    /// All names, escaped, one behind the other.
    text: String,
    names: Vec<Name>,
}

impl Names {
    /// Adds a name. It may have a slash if it is encrypted.
    pub fn push(&mut self, parent: u64, ino: u64, name: &[u8]) {
        let at = self.text.len();
        let escaped = escape(name);
        for part in escaped.split_inclusive('/') {
            match part.strip_suffix('/') {
                Some(part) => self.text.extend([part, "\\x2f"]),
                None => self.text.push_str(part),
            }
        }
        self.names.push(Name {
            ino,
            parent,
            at,
            // At most 4 times the 255 bytes that a name can have.
            bytes: (self.text.len() - at) as u16,
        });
    }

    /// The tree below a root. `directories` are the inodes of all directories, ascending.
    pub fn into_tree(mut self, root: u64, directories: &[u64]) -> Tree {
        self.names.sort_unstable();
        let unreached = |ino: &u64| Directory {
            ino: *ino,
            name: None,
            reached: false,
        };
        let mut tree = Tree {
            directories: directories.iter().map(unreached).collect(),
            text: self.text,
            names: self.names,
        };
        tree.connect(root);
        tree
    }
}

#[derive(Debug)]
struct Directory {
    ino: u64,
    /// Its name, as a place among all names, and its parent, as a place among all directories. The root has none.
    name: Option<(usize, usize)>,
    /// Whether a path from the root leads to it.
    reached: bool,
}

/// Who is named how, from the root on.
#[derive(Debug)]
pub struct Tree {
    text: String,
    /// Ascending by inode.
    names: Vec<Name>,
    /// Ascending by inode.
    directories: Vec<Directory>,
}

impl Tree {
    /// Gives each directory the first name that is found level by level from the root. So there are no loops: whoever
    /// contains himself, or lies below nothing, is not reached.
    fn connect(&mut self, root: u64) {
        let is_directory = |name: &Name| self.directory(name.ino).is_some();
        let (names, text) = (&self.names, &self.text);
        let mut children: Vec<usize> = (0..names.len())
            .filter(|&i| is_directory(&names[i]))
            .collect();
        children.sort_unstable_by_key(|&i| (names[i].parent, names[i].text(text)));
        let Some(root) = self.directory(root) else {
            return;
        };
        self.directories[root].reached = true;
        let mut level = vec![root];
        while !level.is_empty() {
            let mut next = Vec::new();
            for parent in level {
                let ino = self.directories[parent].ino;
                let start = children.partition_point(|&i| self.names[i].parent < ino);
                for &i in &children[start..] {
                    if self.names[i].parent != ino {
                        break;
                    }
                    let child = self.directory(self.names[i].ino);
                    if let Some(child) = child
                        && !self.directories[child].reached
                    {
                        self.directories[child].reached = true;
                        self.directories[child].name = Some((i, parent));
                        next.push(child);
                    }
                }
            }
            level = next;
        }
    }

    fn directory(&self, ino: u64) -> Option<usize> {
        self.directories.binary_search_by_key(&ino, |d| d.ino).ok()
    }

    /// Length of all names.
    pub fn name_bytes(&self) -> u64 {
        self.text.len() as u64
    }

    /// Starts a walk over the names of all inodes, ascending by inode.
    pub fn walk(&self) -> Walk<'_> {
        Walk {
            tree: self,
            at: 0,
            last: None,
        }
    }
}

impl Name {
    fn text<'t>(&self, text: &'t str) -> &'t str {
        &text[self.at..self.at + usize::from(self.bytes)]
    }
}

/// A place among the names, which goes on from inode to inode.
pub struct Walk<'a> {
    tree: &'a Tree,
    at: usize,
    /// The directory whose path was made last, and the path with a slash at the end: neighbors in the inode tables
    /// mostly lie in the same directory.
    last: Option<(usize, String)>,
}

/// The names of one inode.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Parents and paths.
    pub paths: Vec<(u64, String)>,
    /// Names to which no path from the root leads, or second names of a directory.
    pub lost: u64,
    /// Names whose paths are longer than `most_bytes` together.
    pub too_long: u64,
}

impl Walk<'_> {
    /// The paths of the next inode, of at most `most_bytes` together. Inodes ascend.
    pub fn paths(&mut self, ino: u64, most_bytes: u64) -> Found {
        let tree = self.tree;
        let mut found = Found::default();
        let mut left = most_bytes;
        while tree.names.get(self.at).is_some_and(|name| name.ino < ino) {
            self.at += 1;
        }
        let directory = tree.directory(ino);
        while let Some(name) = tree.names.get(self.at).filter(|name| name.ino == ino) {
            let place = self.at;
            self.at += 1;
            let parent = match directory {
                // The one name that leads to it.
                Some(directory) => {
                    let named = tree.directories[directory].name;
                    named
                        .filter(|(named, _)| *named == place)
                        .map(|(_, parent)| parent)
                }
                None => tree
                    .directory(name.parent)
                    .filter(|parent| tree.directories[*parent].reached),
            };
            let Some(parent) = parent else {
                found.lost += 1;
                continue;
            };
            let name_text = name.text(&tree.text);
            let most = left.saturating_sub(name_text.len() as u64);
            if let Some(path) = self.path_of(parent, most) {
                let path = [path, name_text].concat();
                left = left.saturating_sub(path.len() as u64);
                found.paths.push((name.parent, path));
            } else {
                found.too_long += 1;
                left = 0;
            }
        }
        found
    }

    /// The path of a directory with a slash at the end, none for the root; `None` if it is longer than `most_bytes`.
    fn path_of(&mut self, directory: usize, most_bytes: u64) -> Option<&str> {
        if self
            .last
            .as_ref()
            .is_none_or(|(last, _)| *last != directory)
        {
            let mut parts = Vec::new();
            let mut bytes = 0;
            let mut at = directory;
            while let Some((name, parent)) = self.tree.directories[at].name {
                let part = self.tree.names[name].text(&self.tree.text);
                bytes += part.len() as u64 + 1;
                if bytes > most_bytes {
                    return None;
                }
                parts.push(part);
                at = parent;
            }
            let mut path = String::with_capacity(bytes as usize);
            for part in parts.into_iter().rev() {
                path.push_str(part);
                path.push('/');
            }
            self.last = Some((directory, path));
        }
        let (_, path) = self.last.as_ref()?;
        (path.len() as u64 <= most_bytes).then_some(path.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(names: &[(u64, u64, &[u8])], directories: &[u64]) -> Tree {
        let mut all = Names::default();
        for (parent, ino, name) in names {
            all.push(*parent, *ino, name);
        }
        all.into_tree(2, directories)
    }

    #[test]
    fn paths_lead_from_the_root() {
        let names: [(u64, u64, &[u8]); 5] = [
            (12, 20, b"file"),
            (2, 12, b"usr"),
            (12, 13, b"lib"),
            (13, 20, b"a\\link"),
            (2, 21, b"cipher/text\0"),
        ];
        let tree = tree(&names, &[2, 12, 13]);
        let mut walk = tree.walk();
        let mut paths = |ino| walk.paths(ino, 1000).paths;
        assert_eq!(paths(2), []);
        assert_eq!(paths(12), [(2, "usr".to_owned())]);
        assert_eq!(paths(13), [(12, "usr/lib".to_owned())]);
        let both = [
            (12, "usr/file".to_owned()),
            (13, "usr/lib/a\\x5clink".to_owned()),
        ];
        assert_eq!(paths(20), both);
        assert_eq!(paths(21), [(2, "cipher\\x2ftext\\x00".to_owned())]);
        assert_eq!(paths(99), []);
    }

    #[test]
    fn directories_that_contain_each_other_have_no_path() {
        let names: [(u64, u64, &[u8]); 6] = [
            (12, 13, b"a"),
            (13, 12, b"b"),
            (13, 20, b"file"),
            (14, 14, b"self"),
            (2, 15, b"first"),
            (15, 2, b"root"),
        ];
        let tree = tree(&names, &[2, 12, 13, 14, 15]);
        let mut walk = tree.walk();
        for (ino, lost) in [(2, 1), (12, 1), (13, 1), (14, 1), (20, 1)] {
            let found = walk.paths(ino, 1000);
            assert_eq!((found.paths.len(), found.lost), (0, lost), "{ino}");
        }
    }

    #[test]
    fn a_directory_has_one_name() {
        let names: [(u64, u64, &[u8]); 3] = [(12, 13, b"below"), (2, 13, b"x"), (2, 12, b"y")];
        let tree = tree(&names, &[2, 12, 13]);
        let mut walk = tree.walk();
        let found = walk.paths(13, 1000);
        assert_eq!((found.paths, found.lost), (vec![(2, "x".to_owned())], 1));
    }

    #[test]
    fn paths_have_a_bound() {
        let names: [(u64, u64, &[u8]); 4] = [
            (2, 12, b"dir"),
            (12, 20, b"12345"),
            (12, 20, b"6"),
            (12, 21, b"1"),
        ];
        let tree = tree(&names, &[2, 12]);
        let mut walk = tree.walk();
        let found = walk.paths(20, 10);
        assert_eq!((found.paths.len(), found.too_long), (1, 1));
        assert_eq!(walk.paths(21, 4).too_long, 1);
    }
}
