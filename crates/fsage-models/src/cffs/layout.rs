//! The model as metrics see it: inodes with their extents, and runs of free space, in bytes.

use super::Cffs;
use super::geometry::BLOCK;
use super::inode::{Inode, Kind};
use crate::pointers::Indirect;
use fsage_core::snapshot::FurtherName;
use fsage_core::{Extent, FileKind, FileView, Layout, Run, Space};

impl Layout for Cffs {
    /// Embedded inodes are limited by space alone: there are as many as the sectors of all blocks would hold.
    fn geometry(&self) -> fsage_core::Geometry {
        let g = &self.geometry;
        let fixed: u64 = (0..g.groups).map(|cg| u64::from(g.overhead(cg))).sum();
        let data_blocks = u64::from(g.blocks) - fixed;
        fsage_core::Geometry {
            fs_type: "cffs".to_owned(),
            size_bytes: u64::from(g.blocks) * BLOCK,
            data_bytes: Some(data_blocks * BLOCK),
            reserved_bytes: 0,
            block_bytes: BLOCK as u32,
            frag_bytes: BLOCK as u32,
            inodes_total: if self.params.embed {
                data_blocks * 24
            } else {
                u64::from(g.inodes_per_group) * u64::from(g.groups)
            },
            group_count: g.groups,
            group_bytes: u64::from(g.cg_blocks) * BLOCK,
            inodes_per_group: g.inodes_per_group,
            first_ino: 0,
            inode_chunk_bytes: 0,
        }
    }

    fn space(&self) -> Option<Space> {
        Some(Space {
            free_blocks: self.map.free_blocks,
            free_frags: 0,
            free_inodes: if self.params.embed {
                self.map.free_blocks * 24
            } else {
                self.inodes.free()
            },
        })
    }

    fn visit_files(&self, visit: &mut dyn FnMut(&FileView<'_>)) {
        let mut extents = Vec::new();
        for dir in self.dirs.iter().filter(|dir| dir.alive) {
            let parent = self.dirs[dir.parent as usize].inode;
            visit(&FileView {
                parent_ino: Some(self.number_of(parent.home)),
                links: 2,
                ..self.view(&dir.inode, &mut extents)
            });
        }
        for (slot, file) in self.names.iter() {
            let parent = self.dirs[file.dir as usize].inode;
            let links = if file.entry.is_linked() {
                self.names.links(slot)
            } else {
                1
            };
            visit(&FileView {
                parent_ino: Some(self.number_of(parent.home)),
                links,
                ..self.view(&file.inode, &mut extents)
            });
        }
        for inode in self.opened.0.values().filter_map(|open| open.unlinked) {
            visit(&FileView {
                links: 0,
                ..self.view(&inode, &mut extents)
            });
        }
    }

    fn visit_free(&self, visit: &mut dyn FnMut(Run)) {
        let mut from = 0;
        while let Some(start) = self.map.first(from, self.geometry.blocks, false) {
            let used = self.map.first(start, self.geometry.blocks, true);
            let end = used.unwrap_or(self.geometry.blocks);
            visit(Run {
                start_bytes: u64::from(start) * BLOCK,
                length_bytes: u64::from(end - start) * BLOCK,
            });
            from = end;
        }
    }

    /// The model keeps no names: a further one is called after its id.
    fn visit_further_names(&self, visit: &mut dyn FnMut(&FurtherName)) {
        for (id, alias) in self.names.aliases() {
            let parent = self.dirs[alias.dir as usize].inode;
            visit(&FurtherName {
                ino: self.number_of(self.names.file(alias.file).inode.home),
                generation: None,
                parent_ino: self.number_of(parent.home),
                name: format!("l{id}").into(),
            });
        }
    }
}

impl Cffs {
    /// An inode as metrics see it; `extents` is room to put its runs.
    fn view<'a>(&self, inode: &Inode, extents: &'a mut Vec<Extent>) -> FileView<'a> {
        extents.clear();
        extents.extend(inode.blocks.iter(&self.pool).map(|run| Extent {
            logical_bytes: u64::from(run.lbn) * BLOCK,
            physical_bytes: run.address * BLOCK,
            length_bytes: u64::from(run.blocks) * BLOCK,
            flags: 0,
        }));
        let pointers = self.indirect.get(&inode.vnode);
        let pointers = pointers.into_iter().flat_map(Indirect::all);
        extents.extend(pointers.map(|(_, block)| Extent {
            logical_bytes: Extent::POINTERS_AT,
            physical_bytes: u64::from(block) * BLOCK,
            length_bytes: BLOCK,
            flags: Extent::POINTERS,
        }));
        let kind = match inode.kind {
            Kind::File => FileKind::Regular,
            Kind::Directory => FileKind::Directory,
            Kind::Symlink => FileKind::Symlink,
        };
        FileView {
            alloc_bytes: Some(extents.iter().map(|extent| extent.length_bytes).sum()),
            extents: Some(extents),
            ..FileView::new(self.number_of(inode.home), kind, inode.size)
        }
    }
}
