//! The model as metrics see it: inodes with their extents, and runs of free space, in bytes.

use super::Cffs;
use super::entries::{Name, Node};
use super::geometry::BLOCK;
use super::inode::{Inode, Kind};
use crate::changes::{self, Changes, Watched, take_changes};
use crate::names::File;
use crate::pointers::Indirect;
use fsage_core::snapshot::FurtherName;
use fsage_core::{Change, Extent, FileKind, FileView, Layout, Run, Space};
use std::ops::Range;

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
                parent_ino: Some(self.inode_number(&parent)),
                links: 2,
                ..self.view(&dir.inode, &mut extents)
            });
        }
        for (slot, file) in self.names.iter() {
            visit(&self.file_view(slot, file, &mut extents));
        }
        for inode in self.opened.0.values().filter_map(|open| open.unlinked) {
            visit(&FileView {
                links: 0,
                ..self.view(&inode, &mut extents)
            });
        }
    }

    fn visit_free(&self, visit: &mut dyn FnMut(Run)) {
        self.visit_free_blocks(0..self.geometry.blocks, visit);
    }

    fn visit_free_within(&self, range: Range<u64>, visit: &mut dyn FnMut(Run)) {
        let block = |at: u64| u32::try_from(at).unwrap_or(u32::MAX);
        let blocks = block(range.start.div_ceil(BLOCK))..block(range.end / BLOCK);
        self.visit_free_blocks(blocks, visit);
    }

    /// A first block that moves aside for a directory, and a directory that moves, change other files than those of
    /// operations.
    fn watch(&mut self) -> bool {
        self.changes.watch();
        self.map.changed.watch();
        true
    }

    fn take_changes(&mut self, visit: &mut dyn FnMut(Change<'_>)) {
        take_changes(self, visit);
    }

    /// The model keeps no names: a further one is called after its id.
    fn visit_further_names(&self, visit: &mut dyn FnMut(&FurtherName)) {
        for (id, alias) in self.names.aliases() {
            let parent = self.dirs[alias.dir as usize].inode;
            visit(&FurtherName {
                ino: self.inode_number(&self.names.file(alias.file).inode),
                generation: None,
                parent_ino: self.inode_number(&parent),
                name: format!("l{id}").into(),
            });
        }
    }
}

impl Watched for Cffs {
    fn changes(&mut self) -> &mut Changes {
        &mut self.changes
    }

    fn file_at<'a>(&self, slot: u32, extents: &'a mut Vec<Extent>) -> Option<FileView<'a>> {
        let file = self.names.get(slot)?;
        Some(self.file_view(slot, file, extents))
    }

    fn directory_at(&self, slot: u32) -> Option<FileView<'static>> {
        let dir = self.dirs.get(slot as usize).filter(|dir| dir.alive)?;
        let ino = self.inode_number(&dir.inode);
        let parent = self.dirs[dir.parent as usize].inode;
        Some(FileView {
            parent_ino: Some(self.inode_number(&parent)),
            links: 2,
            ..FileView::new(ino, FileKind::Directory, dir.inode.size)
        })
    }

    fn unnamed_at<'a>(&self, number: u32, extents: &'a mut Vec<Extent>) -> Option<FileView<'a>> {
        let inode = self.opened.0.get(&number)?.unlinked?;
        Some(FileView {
            links: 0,
            ..self.view(&inode, extents)
        })
    }

    fn take_free_changes(&mut self, visit: &mut dyn FnMut(Range<u64>)) {
        self.map.changed.take(|word| {
            let start = word as u64 * 64 * BLOCK;
            visit(start..start + 64 * BLOCK);
        });
    }
}

impl Cffs {
    /// A directory is going to move. Its number follows its place among the names of its parent, and what lies in it
    /// then has another parent by number.
    pub(super) fn touch_below(&mut self, dir: u32) {
        let changes = self.params.inodes_move() && !self.params.has_inode_table();
        if !self.changes.is_on() || !changes {
            return;
        }
        let names = self.dirs[dir as usize].entries.names();
        for name in names.map(|(_, name)| name).collect::<Vec<_>>() {
            match name {
                Name::Of(Node::File(slot)) => changes::touch_file(self, slot),
                Name::Of(Node::Dir(slot)) => changes::touch_directory(self, slot),
                Name::Of(Node::Unlinked(_)) | Name::Dot => {}
            }
        }
    }

    /// A file as metrics see it; `extents` is room to put its runs.
    fn file_view<'a>(
        &self,
        slot: u32,
        file: &File<Inode>,
        extents: &'a mut Vec<Extent>,
    ) -> FileView<'a> {
        let parent = self.dirs[file.dir as usize].inode;
        let links = if file.entry.is_linked() {
            self.names.links(slot)
        } else {
            1
        };
        FileView {
            parent_ino: Some(self.inode_number(&parent)),
            links,
            ..self.view(&file.inode, extents)
        }
    }

    /// Visits the runs of free blocks among some blocks.
    fn visit_free_blocks(&self, blocks: Range<u32>, visit: &mut dyn FnMut(Run)) {
        let end = blocks.end.min(self.geometry.blocks);
        let mut from = blocks.start;
        while let Some(start) = self.map.first(from, end, false) {
            from = self.map.first(start, end, true).unwrap_or(end);
            visit(Run {
                start_bytes: u64::from(start) * BLOCK,
                length_bytes: u64::from(from - start) * BLOCK,
            });
        }
    }

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
            ..FileView::new(self.inode_number(inode), kind, inode.size)
        }
    }
}
