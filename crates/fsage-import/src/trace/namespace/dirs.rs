//! Directories: found, made, removed, and what is left in them when they go.

use super::{Dir, DirKey, Entry, Namespace};
use crate::trace::Fault;
use fsage_core::{DirId, Origin};
use rustc_hash::FxHashMap;

impl Namespace<'_> {
    /// A directory was made.
    pub fn mkdir(
        &mut self,
        parent: DirKey,
        name: &[u8],
        t_ns: i64,
    ) -> Result<Option<DirKey>, Fault> {
        if !self.dirs.contains_key(&parent) {
            return Ok(None);
        }
        // Whatever had the name went without the trace showing it.
        self.clear_entry(parent, name, t_ns)?;
        let key = self.insert_dir(parent, name, true, true);
        if self.dirs[&key].inside {
            self.summary.mkdirs += 1;
            self.show_dir(key, t_ns)?;
        }
        Ok(Some(key))
    }

    /// A directory was removed.
    pub fn rmdir(&mut self, parent: DirKey, name: &[u8], t_ns: i64) -> Result<(), Fault> {
        let Some(dir) = self.sub_dir(parent, name) else {
            self.summary.contradictions += 1;
            return Ok(());
        };
        if self.dirs[&dir].inside {
            self.summary.rmdirs += 1;
            self.show_dir(dir, t_ns)?;
        }
        self.remove_tree(dir, t_ns)
    }

    /// A directory whose place is not known yet.
    pub fn lost_dir(&mut self, name: &[u8]) -> DirKey {
        self.insert_dir(super::ROOT, name, false, false)
    }

    /// The trace says where a directory lies that was there before. Nothing happens if it cannot lie there.
    pub fn place_dir(
        &mut self,
        dir: DirKey,
        parent: DirKey,
        name: &[u8],
        t_ns: i64,
    ) -> Result<(), Fault> {
        let (Some(d), Some(p)) = (self.dirs.get(&dir), self.dirs.get(&parent)) else {
            return Ok(());
        };
        if d.placed || d.born || p.entries.contains_key(name) || self.is_above(dir, parent) {
            return Ok(());
        }
        let id = d.id;
        if let Some(p) = self.dirs.get_mut(&parent) {
            p.entries.insert(name.into(), Entry::Dir(dir));
        }
        if let Some(d) = self.dirs.get_mut(&dir) {
            d.parent = parent;
            d.name = name.into();
            d.placed = true;
        }
        if let Some(id) = id.filter(|_| !self.only_new) {
            // In both passes, so that both count ids alike.
            let parent_id = self.show_dir(parent, t_ns)?;
            if let Some(parent_id) = parent_id.filter(|_| !self.out.is_open()) {
                self.initial.place_dir(id, parent_id, name);
            }
        }
        Ok(())
    }

    pub(super) fn insert_dir(
        &mut self,
        parent: DirKey,
        name: &[u8],
        born: bool,
        placed: bool,
    ) -> DirKey {
        let key = self.key();
        let born = born || self.dirs.get(&parent).is_some_and(|p| p.born);
        let dir = Dir {
            parent,
            name: name.into(),
            entries: FxHashMap::default(),
            id: None,
            born,
            inside: false,
            placed,
        };
        self.dirs.insert(key, dir);
        if placed && let Some(p) = self.dirs.get_mut(&parent) {
            p.entries.insert(name.into(), Entry::Dir(key));
        }
        let inside = self.roots.has(&self.path_of(key));
        if let Some(d) = self.dirs.get_mut(&key) {
            d.inside = inside;
        }
        key
    }

    /// Absolute path.
    pub(super) fn path_of(&self, dir: DirKey) -> Vec<u8> {
        let mut parts: Vec<&[u8]> = Vec::new();
        let mut at = dir;
        while at != super::ROOT
            && let Some(d) = self.dirs.get(&at)
        {
            parts.push(&d.name);
            at = d.parent;
        }
        let mut path = Vec::new();
        for part in parts.iter().rev() {
            path.push(b'/');
            path.extend_from_slice(part);
        }
        if path.is_empty() {
            path.push(b'/');
        }
        path
    }

    /// Whether `dir` is `below` or lies above it.
    pub(super) fn is_above(&self, dir: DirKey, below: DirKey) -> bool {
        let mut at = below;
        loop {
            if at == dir {
                return true;
            }
            match self.dirs.get(&at) {
                Some(d) if at != super::ROOT => at = d.parent,
                _ => return false,
            }
        }
    }

    /// The id of a directory in the workload; it and those above get theirs now if they have none.
    pub(super) fn show_dir(&mut self, dir: DirKey, t_ns: i64) -> Result<Option<DirId>, Fault> {
        let mut chain = Vec::new();
        let mut at = dir;
        let mut above = loop {
            let Some(d) = self.dirs.get(&at) else {
                return Ok(None);
            };
            if let Some(id) = d.id {
                break id;
            }
            chain.push(at);
            at = d.parent;
        };
        for key in chain.into_iter().rev() {
            let id = self.out.new_dir();
            let Some(d) = self.dirs.get_mut(&key) else {
                return Ok(None);
            };
            d.id = Some(id);
            // What was there before lies in what was there before; else it came unseen.
            let before = !d.born && (self.only_new || self.initial.has_dir(above));
            d.born = !before;
            if !before {
                self.out.mkdir(id, above, &d.name, t_ns, Origin::Trace)?;
            } else if self.only_new {
                self.out.mkdir(id, above, &d.name, t_ns, Origin::Initial)?;
            } else if !self.out.is_open() {
                self.initial.add_dir(id, above, &d.name);
            }
            above = id;
        }
        Ok(Some(above))
    }

    /// Removes what lies under a name though no line said so.
    pub(super) fn clear_entry(&mut self, dir: DirKey, name: &[u8], t_ns: i64) -> Result<(), Fault> {
        match self
            .dirs
            .get(&dir)
            .and_then(|d| d.entries.get(name))
            .copied()
        {
            Some(Entry::Dir(d)) => {
                self.summary.implied_deletes += u64::from(self.dirs[&d].id.is_some());
                self.remove_tree(d, t_ns)
            }
            Some(Entry::Name(n)) => {
                self.summary.implied_deletes += u64::from(!self.is_idle(n));
                self.remove_name(n, t_ns)
            }
            None => Ok(()),
        }
    }

    /// Removes a directory, and what the trace still has in it.
    pub(super) fn remove_tree(&mut self, top: DirKey, t_ns: i64) -> Result<(), Fault> {
        for dir in self.tree(top).into_iter().rev() {
            for (_, entry) in self.entries_in_order(dir) {
                if let Entry::Name(n) = entry {
                    self.summary.implied_deletes += u64::from(!self.is_idle(n));
                    self.remove_name(n, t_ns)?;
                }
            }
            let Some(d) = self.dirs.remove(&dir) else {
                continue;
            };
            if d.placed
                && let Some(p) = self.dirs.get_mut(&d.parent)
            {
                p.entries.remove(&d.name);
            }
            if let Some(id) = d.id
                && !self.out.rmdir(id, t_ns)?
                && self.out.is_open()
            {
                self.summary.contradictions += 1;
            }
        }
        Ok(())
    }

    /// A directory and all below it, parents first.
    pub(super) fn tree(&self, top: DirKey) -> Vec<DirKey> {
        let mut all = vec![top];
        let mut next = 0;
        while next < all.len() {
            for (_, entry) in self.entries_in_order(all[next]) {
                if let Entry::Dir(d) = entry {
                    all.push(d);
                }
            }
            next += 1;
        }
        all
    }

    /// The entries of a directory in the order of their names.
    pub(super) fn entries_in_order(&self, dir: DirKey) -> Vec<(Box<[u8]>, Entry)> {
        let Some(d) = self.dirs.get(&dir) else {
            return Vec::new();
        };
        let mut entries: Vec<_> = Vec::with_capacity(d.entries.len());
        entries.extend(d.entries.iter().map(|(name, &entry)| (name.clone(), entry)));
        entries.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        entries
    }
}
