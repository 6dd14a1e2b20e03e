//! What operations do: each to the file system that has the file, and what follows for the other one.

use super::super::Part;
use super::super::lists::Table;
use super::{AdaptiveFiles, Dir};
use crate::names::{Entry, File};
use fsage_core::io::Hosted;
use fsage_core::operations::{DirIds, Model, Namespace, ROOT, Shortfall};
use fsage_core::{DirId, FileId, Op, Outcome};

impl<F: Hosted> AdaptiveFiles<F> {
    fn dir_id(&self, dir: u32) -> DirId {
        DirId(self.dirs[dir as usize].id)
    }

    /// The operation that makes a directory that is known.
    pub(super) fn mkdir(&self, dir: u32) -> Op {
        let parent = self.dirs[dir as usize].parent;
        Op::Mkdir {
            dir: self.dir_id(dir),
            parent: (parent != ROOT).then(|| self.dir_id(parent)),
        }
    }

    /// A file that is new in one of both file systems, if it is there.
    fn enter(&mut self, id: FileId, dir: u32, part: Part, symlink: bool) {
        if self.part(part).inode(id).is_none() {
            return;
        }
        let slot = self.names.insert(File {
            id: id.0,
            inode: (),
            dir,
            entry: Entry::new(0, symlink),
        });
        self.tables.remove(slot);
        self.dirs[dir as usize].entries += 1;
        if part == Part::Reserved {
            self.tables.add(Table::Hot, slot);
            self.dirs[dir as usize].reserved_entries += 1;
            self.counters.made_hot += 1;
        }
    }

    /// Makes a hinted file in the reserved area, if it has room there.
    fn create_hot(&mut self, id: FileId, dir: u32, bytes: u64) -> Option<Outcome> {
        if !self.make_room_in(dir, bytes) || !self.mirror(dir) {
            self.counters.no_room += 1;
            return None;
        }
        let create = Op::Create {
            file: id,
            dir: self.dir_id(dir),
            bytes,
        };
        let outcome = self.apply_to(Part::Reserved, &create);
        if outcome == Outcome::Done {
            self.enter(id, dir, Part::Reserved, false);
            return Some(outcome);
        }
        // It is made outside instead.
        self.counters.no_room += 1;
        self.apply_to(Part::Reserved, &Op::Delete { file: id });
        self.drop_mirrors(dir);
        None
    }

    /// A file outside is written: one that is hinted moves in first. What is cut to nothing is not copied.
    fn follow_hint(&mut self, slot: u32, cut: bool) {
        if self.tables.is_hot(slot)
            || self.is_bound(slot)
            || !self.is_hinted(self.names.file(slot).dir)
            || self.stays_near(slot)
        {
            return;
        }
        if cut {
            let (file, bytes) = (self.id_of(slot), 0);
            self.apply_to(Part::Outside, &Op::Truncate { file, bytes });
        }
        // Where it cannot move it is written outside.
        let _ = self.move_in(slot);
    }

    /// A hot file is about to end at `end`, with at most `bytes` more: makes room, or moves it out.
    fn prepare_growth(&mut self, slot: u32, end: u64, bytes: u64) {
        if !self.tables.is_hot(slot) {
            return;
        }
        // It is in use: others go first.
        self.tables.touch(slot);
        let growth = end.saturating_sub(self.size_bytes(slot)).min(bytes);
        let fits =
            self.ever_fits(end) && (growth == 0 || self.make_room(growth, false, Some(slot)));
        if !fits {
            // Where it cannot move out either it takes what there is.
            let _ = self.move_out(slot);
        }
    }

    /// Changes a file where it is; one that finds no space in the reserved area moves out, and is changed there.
    fn change(&mut self, slot: u32, op: &Op) -> Outcome {
        let part = self.part_of(slot);
        let outcome = self.apply_to(part, op);
        if part == Part::Reserved && outcome == Outcome::NoSpace && self.move_out(slot).is_ok() {
            return self.apply_to(Part::Outside, op);
        }
        outcome
    }

    /// Moves a name of the file system that has it into a directory that is there.
    fn rename_in(
        &mut self,
        part: Part,
        file: FileId,
        to: u32,
        replaced: Option<FileId>,
    ) -> Outcome {
        let rename = Op::Rename {
            file,
            dir: self.dir_id(to),
            replaced,
        };
        self.apply_to(part, &rename)
    }

    /// Forgets a name whose entry is gone.
    fn forget_name(&mut self, id: FileId, slot: u32) {
        let (dir, _) = self.names.place(id, slot);
        let hot = self.tables.is_hot(slot);
        let dir = &mut self.dirs[dir as usize];
        dir.entries -= 1;
        dir.reserved_entries -= u32::from(hot);
        if self.names.unlink(id, slot).is_some() {
            self.tables.remove(slot);
        }
    }
}

impl<F: Hosted> Namespace for AdaptiveFiles<F> {
    type File = u32;

    #[inline]
    fn find_file(&self, id: FileId) -> Option<u32> {
        self.names.find(id)
    }

    fn size_bytes(&self, file: u32) -> u64 {
        let fs = self.part(self.part_of(file));
        fs.file_size(self.id_of(file)).unwrap_or(0)
    }

    fn links(&self, file: u32) -> u32 {
        self.names.links(file)
    }

    fn place_of(&self, id: FileId, file: u32) -> u32 {
        self.names.place(id, file).0
    }

    fn parent_of(&self, dir: u32) -> u32 {
        self.dirs[dir as usize].parent
    }

    fn is_removable(&self, dir: u32) -> bool {
        self.dirs[dir as usize].entries == 0
    }

    #[inline]
    fn dir_ids(&self) -> &DirIds {
        &self.dir_ids
    }

    #[inline]
    fn shortfalls(&self) -> impl Iterator<Item = &Shortfall> {
        std::iter::once(&self.shortfall)
    }
}

impl<F: Hosted> Model for AdaptiveFiles<F> {
    fn dir_ids_mut(&mut self) -> &mut DirIds {
        &mut self.dir_ids
    }

    fn shortfall_mut(&mut self) -> &mut Shortfall {
        &mut self.shortfall
    }

    fn create(&mut self, id: FileId, dir: u32, bytes: u64) -> Outcome {
        if self.is_hinted(dir)
            && let Some(outcome) = self.create_hot(id, dir, bytes)
        {
            return outcome;
        }
        let create = Op::Create {
            file: id,
            dir: self.dir_id(dir),
            bytes,
        };
        let outcome = self.apply_to(Part::Outside, &create);
        self.enter(id, dir, Part::Outside, false);
        outcome
    }

    fn symlink(&mut self, id: FileId, dir: u32, bytes: u64) -> Outcome {
        let symlink = Op::Symlink {
            file: id,
            dir: self.dir_id(dir),
            bytes,
        };
        let outcome = self.apply_to(Part::Outside, &symlink);
        self.enter(id, dir, Part::Outside, true);
        outcome
    }

    fn write_at(&mut self, slot: u32, offset: u64, bytes: u64) -> Outcome {
        let Some(end) = offset.checked_add(bytes) else {
            return Outcome::TooLarge;
        };
        self.follow_hint(slot, false);
        self.prepare_growth(slot, end, bytes);
        let file = self.id_of(slot);
        self.change(
            slot,
            &Op::Write {
                file,
                offset,
                bytes,
            },
        )
    }

    fn set_length(&mut self, slot: u32, bytes: u64) -> Outcome {
        self.follow_hint(slot, bytes == 0);
        self.prepare_growth(slot, bytes, 0);
        let file = self.id_of(slot);
        self.change(slot, &Op::Truncate { file, bytes })
    }

    fn delete(&mut self, id: FileId, file: u32) {
        self.apply_to(self.part_of(file), &Op::Delete { file: id });
        self.forget_name(id, file);
    }

    fn rename(
        &mut self,
        id: FileId,
        slot: u32,
        to: u32,
        replaced: Option<(FileId, u32)>,
    ) -> Outcome {
        let mut part = self.part_of(slot);
        // A directory with room for one more name.
        if part == Part::Reserved
            && !self.dirs[to as usize].mirrored
            && !(self.make_room_in(to, 0) && self.tables.is_hot(slot) && self.mirror(to))
        {
            if self.tables.is_hot(slot) && self.move_out(slot).is_err() {
                return Outcome::NoSpace;
            }
            part = Part::Outside;
        }
        let same = replaced.filter(|&(_, gone)| self.part_of(gone) == part);
        let mut outcome = self.rename_in(part, id, to, same.map(|(other, _)| other));
        if part == Part::Reserved && outcome != Outcome::Done && self.move_out(slot).is_ok() {
            return self.rename(id, slot, to, replaced);
        }
        if outcome != Outcome::Done {
            return outcome;
        }
        if let Some((other, gone)) = replaced {
            if same.is_none() {
                let elsewhere = self.part_of(gone);
                outcome = self.apply_to(elsewhere, &Op::Delete { file: other });
            }
            self.forget_name(other, gone);
        }
        let (from, _) = self.names.place(id, slot);
        self.names.set_place(id, slot, to, 0);
        let hot = u32::from(part == Part::Reserved);
        for (dir, more) in [(from, false), (to, true)] {
            let dir = &mut self.dirs[dir as usize];
            if more {
                dir.entries += 1;
                dir.reserved_entries += hot;
            } else {
                dir.entries -= 1;
                dir.reserved_entries -= hot;
            }
        }
        outcome
    }

    fn link(&mut self, id: FileId, existing: FileId, slot: u32, dir: u32) -> Outcome {
        if self.tables.is_hot(slot) && self.move_out(slot).is_err() {
            return Outcome::NoSpace;
        }
        let link = Op::Link {
            file: id,
            existing,
            dir: self.dir_id(dir),
        };
        let outcome = self.apply_to(Part::Outside, &link);
        if outcome == Outcome::Done {
            self.names.link(id, slot, dir, 0);
            self.dirs[dir as usize].entries += 1;
        }
        outcome
    }

    fn make_directory(&mut self, id: DirId, parent: u32) -> Result<u32, Outcome> {
        let dir = Dir {
            id: id.0,
            parent,
            alive: true,
            entries: 0,
            mirrored: false,
            reserved_entries: 0,
        };
        let slot = if let Some(slot) = self.free_dirs.pop() {
            self.dirs[slot as usize] = dir;
            slot
        } else {
            self.dirs.push(dir);
            self.dirs.len() as u32 - 1
        };
        match self.apply_to(Part::Outside, &self.mkdir(slot)) {
            Outcome::Done => {
                self.dirs[parent as usize].entries += 1;
                Ok(slot)
            }
            other => {
                self.dirs[slot as usize].alive = false;
                self.free_dirs.push(slot);
                Err(other)
            }
        }
    }

    fn remove_directory(&mut self, slot: u32) {
        self.drop_mirrors(slot);
        let dir = self.dirs[slot as usize];
        self.apply_to(Part::Outside, &Op::Rmdir { dir: DirId(dir.id) });
        self.dirs[dir.parent as usize].entries -= 1;
        self.dirs[slot as usize].alive = false;
        self.free_dirs.push(slot);
    }

    /// In the reserved area first, from which it can go back.
    fn move_directory(&mut self, slot: u32, to: u32) -> Outcome {
        let dir = self.dir_id(slot);
        let from = self.dirs[slot as usize].parent;
        if self.dirs[slot as usize].mirrored {
            let ready = self.make_room_in(to, 0);
            if self.dirs[slot as usize].mirrored {
                let parent = self.dir_id(to);
                let moved = ready
                    && self.mirror(to)
                    && self.apply_to(Part::Reserved, &Op::RenameDir { dir, parent })
                        == Outcome::Done;
                if !moved {
                    self.drop_mirrors(to);
                    return Outcome::NoSpace;
                }
                self.dirs[from as usize].reserved_entries -= 1;
                self.dirs[to as usize].reserved_entries += 1;
            }
        }
        let parent = self.dir_id(to);
        let outcome = self.apply_to(Part::Outside, &Op::RenameDir { dir, parent });
        if outcome != Outcome::Done {
            if self.dirs[slot as usize].mirrored {
                // Its old entry is free: this finds space.
                let parent = self.dir_id(from);
                self.apply_to(Part::Reserved, &Op::RenameDir { dir, parent });
                self.dirs[from as usize].reserved_entries += 1;
                self.dirs[to as usize].reserved_entries -= 1;
                self.drop_mirrors(to);
            }
            return outcome;
        }
        self.dirs[slot as usize].parent = to;
        self.dirs[from as usize].entries -= 1;
        self.dirs[to as usize].entries += 1;
        outcome
    }

    fn fsync(&mut self, slot: u32) {
        let file = self.id_of(slot);
        self.apply_to(self.part_of(slot), &Op::Fsync { file });
    }

    fn sync(&mut self) {
        self.move_in_waiting();
        self.apply_to(Part::Outside, &Op::Sync);
        self.apply_to(Part::Reserved, &Op::Sync);
    }

    fn remount(&mut self) {
        self.move_in_waiting();
        self.apply_to(Part::Outside, &Op::Remount);
        self.apply_to(Part::Reserved, &Op::Remount);
        self.recover();
    }
}
