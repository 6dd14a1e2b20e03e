//! A folder with all that is in it, in memory and on disk.

use crate::recording::Step;
use crate::tracee::Inode;
use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

/// Index of a file or directory.
pub type Node = usize;

/// What a file or directory is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    File(Vec<u8>),
    Dir(BTreeMap<OsString, Node>),
    Symlink(Vec<u8>),
}

impl What {
    pub fn is_directory(&self) -> bool {
        matches!(self, What::Dir(_))
    }
}

/// A folder with all that is in it; names may share a file.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    nodes: Vec<What>,
}

pub(crate) const ROOT: Node = 0;

impl Tree {
    /// Reads a folder.
    ///
    /// # Errors
    /// Those of the system calls.
    pub fn of(folder: &Path) -> io::Result<Tree> {
        Ok(Tree::read(folder)?.0)
    }

    /// What lies below these paths only, the paths as they are.
    #[must_use]
    pub fn below(&self, paths: &[PathBuf]) -> Tree {
        let mut part = self.clone();
        part.keep_below(ROOT, Path::new(""), paths);
        part
    }

    fn keep_below(&mut self, dir: Node, at: &Path, paths: &[PathBuf]) {
        let What::Dir(names) = &mut self.nodes[dir] else {
            return;
        };
        names.retain(|name, _| {
            let path = at.join(name);
            paths
                .iter()
                .any(|wanted| path.starts_with(wanted) || wanted.starts_with(&path))
        });
        let below: Vec<_> = names
            .iter()
            .map(|(name, &node)| (at.join(name), node))
            .collect();
        for (path, node) in below {
            self.keep_below(node, &path, paths);
        }
    }

    /// Reads a folder, and says which inode is which.
    pub(crate) fn read(folder: &Path) -> io::Result<(Tree, HashMap<Inode, Node>)> {
        let mut tree = Tree::default();
        let mut known = HashMap::new();
        tree.read_below(folder, &mut known)?;
        Ok((tree, known))
    }

    fn read_below(&mut self, path: &Path, known: &mut HashMap<Inode, Node>) -> io::Result<Node> {
        let about = path.symlink_metadata()?;
        let inode = (about.dev(), about.ino());
        if let Some(&node) = known.get(&inode) {
            return Ok(node);
        }
        let node = self.nodes.len();
        known.insert(inode, node);
        let kind = about.file_type();
        self.nodes.push(What::Dir(BTreeMap::new()));
        self.nodes[node] = if kind.is_dir() {
            let mut names = BTreeMap::new();
            for entry in fs::read_dir(path)? {
                let entry = entry?;
                names.insert(entry.file_name(), self.read_below(&entry.path(), known)?);
            }
            What::Dir(names)
        } else if kind.is_symlink() {
            What::Symlink(fs::read_link(path)?.as_os_str().as_bytes().to_vec())
        } else {
            What::File(fs::read(path)?)
        };
        Ok(node)
    }

    /// Every path with what it leads to, and the number of the file: equal for names of one file.
    pub(crate) fn paths(&self) -> BTreeMap<PathBuf, (Node, &What)> {
        let mut paths = BTreeMap::new();
        let mut open = vec![(PathBuf::new(), ROOT)];
        while let Some((path, dir)) = open.pop() {
            let What::Dir(names) = &self.nodes[dir] else {
                continue;
            };
            for (name, &node) in names {
                let below = path.join(name);
                if matches!(self.nodes[node], What::Dir(_)) {
                    open.push((below.clone(), node));
                }
                paths.insert(below, (node, &self.nodes[node]));
            }
        }
        paths
    }

    /// The first path at which the two differ, in names, contents or links.
    pub fn difference(&self, other: &Tree) -> Option<String> {
        let (ours, theirs) = (self.paths(), other.paths());
        let mut same = HashMap::new();
        for (path, (node, what)) in &ours {
            match (theirs.get(path), what) {
                (None, _) => return Some(format!("{} is not there", path.display())),
                (Some((_, What::Dir(_))), What::Dir(_)) => {}
                (Some((other, there)), _) if there == what => {
                    if *same.entry(*node).or_insert(*other) != *other {
                        return Some(format!("{} is a name of another file", path.display()));
                    }
                }
                (Some((_, What::File(there))), What::File(here)) => {
                    let at = here.iter().zip(there).take_while(|(a, b)| a == b).count();
                    return Some(format!(
                        "{} has {} bytes, not {}, and differs from byte {at}",
                        path.display(),
                        there.len(),
                        here.len()
                    ));
                }
                _ => return Some(format!("{} is something else", path.display())),
            }
        }
        let more = theirs.keys().find(|path| !ours.contains_key(*path));
        more.map(|path| format!("{} should not be there", path.display()))
    }

    /// Names and sizes, a line each.
    pub fn listing(&self) -> String {
        let line = |(path, (_, what)): (&PathBuf, &(Node, &What))| match what {
            What::File(data) => format!("{} {}\n", path.display(), data.len()),
            What::Dir(_) => format!("{}/\n", path.display()),
            What::Symlink(_) => format!("{} -> \n", path.display()),
        };
        self.paths().iter().map(line).collect()
    }

    /// Bytes of a file, by its path.
    pub fn file(&self, path: impl AsRef<Path>) -> Option<&[u8]> {
        let mut node = ROOT;
        for name in path.as_ref() {
            let What::Dir(names) = &self.nodes[node] else {
                return None;
            };
            node = *names.get(name)?;
        }
        match &self.nodes[node] {
            What::File(data) => Some(data),
            _ => None,
        }
    }

    /// A folder in it, on its own.
    #[must_use]
    pub fn folder(&self, name: impl AsRef<OsStr>) -> Option<Tree> {
        let What::Dir(names) = &self.nodes[ROOT] else {
            return None;
        };
        let node = *names.get(name.as_ref())?;
        let mut folder = self.clone();
        folder.nodes[ROOT] = self.nodes[node].clone();
        self.nodes[node].is_directory().then_some(folder)
    }

    /// Every folder in it, on its own.
    #[must_use]
    pub fn folders(&self) -> Vec<Tree> {
        let What::Dir(names) = &self.nodes[ROOT] else {
            return Vec::new();
        };
        names.keys().filter_map(|name| self.folder(name)).collect()
    }

    /// Makes a folder hold just this. Directories that are there stay the same ones.
    ///
    /// # Errors
    /// Those of the system calls.
    pub fn lay_out(&self, folder: &Path) -> io::Result<()> {
        let mut made = HashMap::new();
        self.lay_out_below(ROOT, folder, &mut made)
    }

    fn lay_out_below(
        &self,
        dir: Node,
        at: &Path,
        made: &mut HashMap<Node, PathBuf>,
    ) -> io::Result<()> {
        let What::Dir(names) = &self.nodes[dir] else {
            return Ok(());
        };
        for entry in fs::read_dir(at)? {
            let entry = entry?;
            let wanted = names.get(&entry.file_name()).map(|&node| &self.nodes[node]);
            let is_dir = entry.file_type()?.is_dir();
            match (is_dir, wanted) {
                (true, Some(What::Dir(_))) => {}
                (true, _) => fs::remove_dir_all(entry.path())?,
                (false, _) => fs::remove_file(entry.path())?,
            }
        }
        for (name, &node) in names {
            let path = at.join(name);
            match &self.nodes[node] {
                What::Dir(_) => {
                    if !path.is_dir() {
                        fs::create_dir(&path)?;
                    }
                    self.lay_out_below(node, &path, made)?;
                }
                What::Symlink(target) => symlink(OsStr::from_bytes(target), &path)?,
                What::File(data) => {
                    if let Some(first) = made.get(&node) {
                        fs::hard_link(first, &path)?;
                    } else {
                        fs::write(&path, data)?;
                        made.insert(node, path);
                    }
                }
            }
        }
        Ok(())
    }

    /// Does a step.
    pub(crate) fn apply(&mut self, step: &Step) {
        match step {
            Step::Make {
                node,
                what,
                dir,
                name,
            } => {
                if self.nodes.len() <= *node {
                    self.nodes.resize(node + 1, What::File(Vec::new()));
                }
                self.nodes[*node] = what.clone();
                self.names(*dir).insert(name.clone(), *node);
            }
            Step::Link { node, dir, name } => {
                self.names(*dir).insert(name.clone(), *node);
            }
            Step::Remove { node, dir, name } => self.forget(*dir, name, *node),
            Step::Move {
                node,
                from,
                to,
                swapped,
            } => {
                self.forget(from.0, &from.1, *node);
                self.names(to.0).insert(to.1.clone(), *node);
                if let Some(other) = swapped {
                    self.names(from.0).insert(from.1.clone(), *other);
                }
            }
            Step::Write { node, offset, data } => {
                let (file, start) = (self.data(*node), *offset as usize);
                if file.len() < start + data.len() {
                    file.resize(start + data.len(), 0);
                }
                file[start..start + data.len()].copy_from_slice(data);
            }
            Step::Size { node, bytes } => self.data(*node).resize(*bytes as usize, 0),
            Step::Sync { .. } | Step::SyncAll => {}
        }
    }

    /// A name goes, if it still leads there.
    fn forget(&mut self, dir: Node, name: &OsStr, node: Node) {
        let names = self.names(dir);
        if names.get(name) == Some(&node) {
            names.remove(name);
        }
    }

    /// Names of a directory, be it lost itself.
    fn names(&mut self, dir: Node) -> &mut BTreeMap<OsString, Node> {
        if self.nodes.len() <= dir {
            self.nodes.resize(dir + 1, What::File(Vec::new()));
        }
        if !matches!(self.nodes[dir], What::Dir(_)) {
            self.nodes[dir] = What::Dir(BTreeMap::new());
        }
        let What::Dir(names) = &mut self.nodes[dir] else {
            unreachable!("made so above")
        };
        names
    }

    /// Bytes of a file, be it lost itself.
    fn data(&mut self, file: Node) -> &mut Vec<u8> {
        if self.nodes.len() <= file {
            self.nodes.resize(file + 1, What::File(Vec::new()));
        }
        match &mut self.nodes[file] {
            What::File(data) => data,
            _ => panic!("step on the bytes of what is no file: {file}"),
        }
    }
}
