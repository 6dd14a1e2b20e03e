//! Renames: within the roots, over others, across the border of the roots.

use super::{Born, DirKey, Entry, NameKey, Namespace};
use crate::trace::Fault;

impl Namespace<'_> {
    /// A file or directory got another name; what had that name before is gone. `appeared`: the trace had shown
    /// that there was none under the old name.
    pub fn rename(
        &mut self,
        (from, old): (DirKey, &[u8]),
        (to, new): (DirKey, &[u8]),
        appeared: bool,
        t_ns: i64,
    ) -> Result<(), Fault> {
        if !self.dirs.contains_key(&from) || !self.dirs.contains_key(&to) {
            return Ok(());
        }
        if (from, old) == (to, new) {
            return Ok(());
        }
        if self.dir_inside(from) || self.dir_inside(to) {
            self.summary.renames += 1;
        }
        let onto_dir = matches!(self.entry(to, new), Some(Entry::Dir(_)));
        let source = match self.entry(from, old) {
            Some(Entry::Name(n)) if onto_dir && self.is_idle(n) => None,
            other => other,
        };
        match source {
            Some(Entry::Dir(dir)) => self.rename_dir(dir, to, new, t_ns),
            // Only a directory takes the place of a directory.
            None if onto_dir => match self.sub_dir(from, old) {
                Some(dir) => self.rename_dir(dir, to, new, t_ns),
                None => Ok(()),
            },
            _ => {
                self.see_file(from, old, appeared);
                match self.entry(from, old) {
                    Some(Entry::Name(name)) => self.rename_file(name, to, new, t_ns),
                    _ => Ok(()),
                }
            }
        }
    }

    /// Two names were exchanged.
    pub fn exchange(
        &mut self,
        one: (DirKey, &[u8]),
        other: (DirKey, &[u8]),
        t_ns: i64,
    ) -> Result<(), Fault> {
        if self.lie_apart(one, other) {
            let mut away = [b".exchanged-", other.1].concat();
            while self.entry(other.0, &away).is_some() {
                away.push(b'~');
            }
            let renames = self.summary.renames;
            self.rename(one, (other.0, &away), false, t_ns)?;
            self.rename(other, one, false, t_ns)?;
            self.rename((other.0, &away), other, false, t_ns)?;
            self.summary.renames = self.summary.renames.min(renames + 1);
        } else {
            self.summary.contradictions += 1;
        }
        Ok(())
    }

    /// Neither of two entries lies in the other.
    fn lie_apart(&self, one: (DirKey, &[u8]), other: (DirKey, &[u8])) -> bool {
        let below = |a: (DirKey, &[u8]), b: (DirKey, &[u8])| {
            let entry = self.entry(a.0, a.1);
            matches!(entry, Some(Entry::Dir(d)) if self.is_above(d, b.0))
        };
        one != other && !below(one, other) && !below(other, one)
    }

    fn entry(&self, dir: DirKey, name: &[u8]) -> Option<Entry> {
        self.dirs.get(&dir)?.entries.get(name).copied()
    }

    fn rename_file(
        &mut self,
        key: NameKey,
        to: DirKey,
        new: &[u8],
        t_ns: i64,
    ) -> Result<(), Fault> {
        let Some(name) = self.names.get(&key) else {
            return Ok(());
        };
        let (inode, from) = (name.inode, name.dir);
        let mut replaced = None;
        match self.entry(to, new) {
            // Both are names of one file: POSIX lets both stand.
            Some(Entry::Name(n)) if self.names.get(&n).is_some_and(|n| n.inode == inode) => {
                return Ok(());
            }
            Some(Entry::Name(n)) => replaced = Some(n),
            Some(Entry::Dir(_)) => self.clear_entry(to, new, t_ns)?,
            None => {}
        }
        let (was_inside, is_inside) = (self.dir_inside(from), self.dir_inside(to));
        if was_inside && is_inside {
            // One that was there before is made at the start, under its old name.
            self.show(key, 0, t_ns)?;
        }
        let replaced_id = match replaced {
            Some(n) => self.replace(n, is_inside, t_ns)?,
            None => None,
        };
        self.move_name(key, to, new);
        if !self.names.contains_key(&key) {
            return Ok(());
        }
        match (self.names[&key].id, is_inside) {
            (Some(id), true) => {
                let Some(dir) = self.show_dir(to, t_ns)? else {
                    return Ok(());
                };
                self.out.rename(id, dir, new, replaced_id, t_ns)
            }
            (Some(id), false) => {
                // It leaves.
                if let Some(n) = self.names.get_mut(&key) {
                    n.id = None;
                }
                self.delete_replaced(replaced_id, t_ns)?;
                self.out.delete(id, t_ns)
            }
            (None, _) => {
                self.delete_replaced(replaced_id, t_ns)?;
                if is_inside && !was_inside {
                    self.enter(key, t_ns)?;
                }
                Ok(())
            }
        }
    }

    fn delete_replaced(
        &mut self,
        replaced: Option<fsage_core::FileId>,
        t_ns: i64,
    ) -> Result<(), Fault> {
        match replaced {
            Some(id) => self.out.delete(id, t_ns),
            None => Ok(()),
        }
    }

    /// Takes away the name that a rename replaces; its id, if the workload knows it.
    fn replace(
        &mut self,
        name: NameKey,
        inside: bool,
        t_ns: i64,
    ) -> Result<Option<fsage_core::FileId>, Fault> {
        let inode = self.names[&name].inode;
        let made = self
            .inodes
            .get(&inode)
            .is_some_and(|i| i.born == Born::Made);
        if inside {
            if made {
                self.summary.replaced += 1;
            } else {
                self.summary.replaced_before += 1;
                self.show(name, 0, t_ns)?;
            }
        }
        let id = self.names[&name].id;
        let last = self.take_name(name);
        self.summary.deletes += u64::from(made && last && id.is_some());
        Ok(id)
    }

    /// A file comes in over the border: for the workload it is made now.
    fn enter(&mut self, key: NameKey, t_ns: i64) -> Result<(), Fault> {
        let inode = self.names[&key].inode;
        if let Some(node) = self.inodes.get_mut(&inode) {
            node.born = Born::Made;
        }
        self.summary.creates += 1;
        self.show(key, 0, t_ns).map(drop)
    }

    fn move_name(&mut self, key: NameKey, to: DirKey, new: &[u8]) {
        let Some(name) = self.names.get_mut(&key) else {
            return;
        };
        let from = name.dir;
        let old = std::mem::replace(&mut name.name, new.into());
        name.dir = to;
        let placed = std::mem::replace(&mut name.placed, true);
        if placed && let Some(d) = self.dirs.get_mut(&from) {
            d.entries.remove(&old);
        }
        if let Some(d) = self.dirs.get_mut(&to) {
            d.entries.insert(new.into(), Entry::Name(key));
        }
    }

    fn rename_dir(&mut self, dir: DirKey, to: DirKey, new: &[u8], t_ns: i64) -> Result<(), Fault> {
        if self.is_above(dir, to) {
            self.summary.contradictions += 1;
            return Ok(());
        }
        if self.dirs[&dir].inside && (!self.only_new || self.dirs[&dir].born) {
            // One that was there before is made at the start, under its old name.
            self.show_dir(dir, t_ns)?;
        }
        match self.entry(to, new) {
            Some(Entry::Dir(e)) if self.is_above(e, dir) => {
                self.summary.contradictions += 1;
                return Ok(());
            }
            // An empty directory may be replaced.
            Some(Entry::Dir(e)) if self.dirs[&e].entries.is_empty() => self.remove_tree(e, t_ns)?,
            _ => self.clear_entry(to, new, t_ns)?,
        }
        let Some(d) = self.dirs.get_mut(&dir) else {
            return Ok(());
        };
        let (id, from, placed) = (d.id, d.parent, d.placed);
        let old = std::mem::replace(&mut d.name, new.into());
        d.parent = to;
        d.placed = true;
        if placed && let Some(p) = self.dirs.get_mut(&from) {
            p.entries.remove(&old);
        }
        if let Some(p) = self.dirs.get_mut(&to) {
            p.entries.insert(new.into(), Entry::Dir(dir));
        }
        if let Some(id) = id
            && let Some(parent) = self.show_dir(to, t_ns)?
            && !self.out.rename_dir(id, parent, new, t_ns)?
        {
            self.summary.contradictions += 1;
        }
        self.cross_border(dir, t_ns)
    }

    /// After a directory has moved: what is now outside goes, what is now inside comes.
    fn cross_border(&mut self, top: DirKey, t_ns: i64) -> Result<(), Fault> {
        if self.roots.is_everything() {
            return Ok(());
        }
        let tree = self.tree(top);
        let mut left = Vec::new();
        for &dir in &tree {
            let inside = self.roots.has(&self.path_of(dir));
            let Some(d) = self.dirs.get_mut(&dir) else {
                continue;
            };
            let was_inside = std::mem::replace(&mut d.inside, inside);
            if was_inside == inside {
                continue;
            }
            if inside {
                d.born = true;
                self.summary.mkdirs += 1;
                self.show_dir(dir, t_ns)?;
            } else {
                left.push(dir);
            }
            for (_, entry) in self.entries_in_order(dir) {
                let Entry::Name(key) = entry else { continue };
                if inside {
                    self.enter(key, t_ns)?;
                } else if let Some(id) = self.names.get_mut(&key).and_then(|n| n.id.take()) {
                    self.out.delete(id, t_ns)?;
                }
            }
        }
        for dir in left.into_iter().rev() {
            if let Some(id) = self.dirs.get(&dir).and_then(|d| d.id)
                && self.out.rmdir(id, t_ns)?
                && let Some(d) = self.dirs.get_mut(&dir)
            {
                d.id = None;
                d.born = true;
            }
        }
        Ok(())
    }
}
