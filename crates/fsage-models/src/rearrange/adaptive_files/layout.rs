//! Both file systems as one layout, in bytes of the disk.
//!
//! The directories of the reserved area are not visited: they are no directories of a workload, and their blocks count
//! as metadata. Groups are not emitted: there are two kinds of them.

use super::super::map::{Map, in_order};
use super::AdaptiveFiles;
use super::file_system::{number_of_directory, number_of_file};
use fsage_core::io::Hosted;
use fsage_core::operations::ROOT;
use fsage_core::snapshot::FurtherName;
use fsage_core::{DirId, FileId, FileKind, FileView, Geometry, Layout, Run, Space};
use rustc_hash::FxHashMap;

impl<F: Hosted> Layout for AdaptiveFiles<F> {
    fn geometry(&self) -> Geometry {
        let outside = self.outside.geometry();
        let reserved = self.reserved.geometry();
        let data = outside.data_bytes.zip(reserved.data_bytes);
        Geometry {
            size_bytes: self.disk_bytes,
            data_bytes: data.map(|(outside, reserved)| outside + reserved),
            reserved_bytes: outside.reserved_bytes + reserved.reserved_bytes,
            inodes_total: outside.inodes_total + reserved.inodes_total,
            group_count: 0,
            group_bytes: 0,
            inodes_per_group: 0,
            first_ino: 0,
            inode_chunk_bytes: 0,
            ..outside
        }
    }

    fn space(&self) -> Option<Space> {
        let (outside, reserved) = (self.outside.space()?, self.reserved.space()?);
        Some(Space {
            free_blocks: outside.free_blocks + reserved.free_blocks,
            free_frags: outside.free_frags + reserved.free_frags,
            free_inodes: outside.free_inodes + reserved.free_inodes,
        })
    }

    fn visit_files(&self, visit: &mut dyn FnMut(&FileView<'_>)) {
        let (dirs, outside, reserved) = self.slots_by_inode();
        let mut list = Vec::new();
        self.outside.visit_files(&mut |file| {
            let extents = file.extents.unwrap_or_default();
            self.outside_map.extents(extents, &mut list);
            let view = FileView {
                extents: file.extents.map(|_| &list[..]),
                ..*file
            };
            let known = if file.kind == FileKind::Directory {
                let slot = dirs.get(&file.ino).copied();
                slot.map(|slot| (number_of_directory(slot), self.dirs[slot as usize].parent))
            } else {
                let slot = outside.get(&file.ino).copied();
                slot.map(|slot| (number_of_file(slot), self.names.file(slot).dir))
            };
            if let Some((ino, parent)) = known {
                visit(&FileView {
                    ino,
                    parent_ino: Some(number_of_directory(parent)),
                    ..view
                });
            }
        });
        self.reserved.visit_files(&mut |file| {
            let slot = reserved.get(&file.ino).copied();
            let Some(slot) = slot.filter(|_| file.kind != FileKind::Directory) else {
                return;
            };
            let extents = file.extents.unwrap_or_default();
            self.reserved_map.extents(extents, &mut list);
            visit(&FileView {
                ino: number_of_file(slot),
                parent_ino: Some(number_of_directory(self.names.file(slot).dir)),
                extents: file.extents.map(|_| &list[..]),
                ..*file
            });
        });
    }

    fn visit_free(&self, visit: &mut dyn FnMut(Run)) {
        let mut runs = Vec::new();
        self.outside
            .visit_free(&mut |run| self.outside_map.run(run, &mut runs));
        self.reserved
            .visit_free(&mut |run| self.reserved_map.run(run, &mut runs));
        in_order(&mut runs, visit);
    }

    /// The models keep no names: a further one is called after its id.
    fn visit_further_names(&self, visit: &mut dyn FnMut(&FurtherName)) {
        for (id, alias) in self.names.aliases() {
            visit(&FurtherName {
                ino: number_of_file(alias.file),
                generation: None,
                parent_ino: number_of_directory(alias.dir),
                name: format!("l{id}").into(),
            });
        }
    }
}

type Slots = FxHashMap<u64, u32>;

impl<F: Hosted> AdaptiveFiles<F> {
    /// Slots by the inode numbers of both file systems: directories outside, files outside, files of the reserved area.
    fn slots_by_inode(&self) -> (Slots, Slots, Slots) {
        let (mut dirs, mut outside, mut reserved) =
            (Slots::default(), Slots::default(), Slots::default());
        for (slot, dir) in self.dirs.iter().enumerate().filter(|(_, dir)| dir.alive) {
            // A workload may have taken the number of the root for another directory.
            let taken = slot as u32 == ROOT && self.dir_ids.get(DirId::ROOT) != Some(ROOT);
            if !taken && let Some(ino) = self.outside.directory_inode(DirId(dir.id)) {
                dirs.insert(ino, slot as u32);
            }
        }
        for (slot, file) in self.names.iter() {
            let id = FileId(file.id);
            if self.tables.is_hot(slot) {
                reserved.extend(self.reserved.inode(id).map(|ino| (ino, slot)));
            } else {
                outside.extend(self.outside.inode(id).map(|ino| (ino, slot)));
            }
        }
        (dirs, outside, reserved)
    }
}
