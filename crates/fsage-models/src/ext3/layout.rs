//! The model as metrics see it: inodes with their extents, and runs of free space, in bytes.

use super::Ext3;
use super::inode::{Inode, Kind};
use crate::changes::{Changes, Watched, take_changes};
use crate::names::File;
use crate::pointers::Indirect;
use fsage_core::snapshot::FurtherName;
use fsage_core::{Change, Extent, FileKind, FileView, Layout, Run, Space};
use std::ops::Range;

impl Layout for Ext3 {
    fn geometry(&self) -> fsage_core::Geometry {
        let g = &self.geometry;
        let metadata: u64 = (0..g.groups).map(|i| u64::from(g.overhead(i))).sum();
        let fixed = metadata
            + u64::from(g.journal_blocks_in_all())
            + u64::from(self.lost_found.end - self.lost_found.start)
            + u64::from(self.resize_block.is_some())
            + u64::from(g.first_data_block);
        fsage_core::Geometry {
            fs_type: self.params.mode.as_str().to_owned(),
            size_bytes: u64::from(g.blocks) * g.block_bytes,
            data_bytes: Some((u64::from(g.blocks) - fixed) * g.block_bytes),
            reserved_bytes: g.reserve_blocks * g.block_bytes,
            block_bytes: g.block_bytes as u32,
            frag_bytes: g.block_bytes as u32,
            inodes_total: u64::from(g.inodes_per_group) * u64::from(g.groups),
            group_count: g.groups,
            group_bytes: u64::from(g.blocks_per_group) * g.block_bytes,
            inodes_per_group: g.inodes_per_group,
            first_ino: 1,
            inode_chunk_bytes: 0,
        }
    }

    fn space(&self) -> Option<Space> {
        Some(Space {
            free_blocks: self.groups.totals.free_blocks,
            free_frags: 0,
            free_inodes: self.groups.totals.free_inodes,
        })
    }

    fn visit_files(&self, visit: &mut dyn FnMut(&FileView<'_>)) {
        let mut extents = Vec::new();
        for dir in self.dirs.iter().filter(|dir| dir.alive) {
            let parent = self.dirs[dir.parent as usize].inode.ino;
            visit(&FileView {
                parent_ino: Some(parent.into()),
                links: 2,
                ..self.view(&dir.inode, &mut extents)
            });
        }
        for (slot, file) in self.names.iter() {
            visit(&self.file_view(slot, file, &mut extents));
        }
    }

    fn visit_free(&self, visit: &mut dyn FnMut(Run)) {
        let g = &self.geometry;
        self.visit_free_blocks(g.first_data_block..g.blocks, visit);
    }

    fn visit_free_within(&self, range: Range<u64>, visit: &mut dyn FnMut(Run)) {
        let g = &self.geometry;
        let block = |at: u64| u32::try_from(at).unwrap_or(u32::MAX).min(g.blocks);
        let start = block(range.start.div_ceil(g.block_bytes)).max(g.first_data_block);
        self.visit_free_blocks(start..block(range.end / g.block_bytes), visit);
    }

    fn watch(&mut self) -> bool {
        self.changes.watch();
        self.groups.changed.watch();
        true
    }

    fn take_changes(&mut self, visit: &mut dyn FnMut(Change<'_>)) {
        take_changes(self, visit);
    }

    /// The model keeps no names: a further one is called after its id.
    fn visit_further_names(&self, visit: &mut dyn FnMut(&FurtherName)) {
        for (id, alias) in self.names.aliases() {
            visit(&FurtherName {
                ino: self.names.file(alias.file).inode.ino.into(),
                generation: None,
                parent_ino: self.dirs[alias.dir as usize].inode.ino.into(),
                name: format!("l{id}").into(),
            });
        }
    }
}

impl Watched for Ext3 {
    fn changes(&mut self) -> &mut Changes {
        &mut self.changes
    }

    fn file_at<'a>(&self, slot: u32, extents: &'a mut Vec<Extent>) -> Option<FileView<'a>> {
        let file = self.names.get(slot)?;
        Some(self.file_view(slot, file, extents))
    }

    fn directory_at(&self, slot: u32) -> Option<FileView<'static>> {
        let dir = self.dirs.get(slot as usize).filter(|dir| dir.alive)?;
        let (ino, size_bytes) = (dir.inode.ino.into(), dir.inode.size);
        Some(FileView {
            parent_ino: Some(self.dirs[dir.parent as usize].inode.ino.into()),
            links: 2,
            ..FileView::new(ino, FileKind::Directory, size_bytes)
        })
    }

    fn take_free_changes(&mut self, visit: &mut dyn FnMut(Range<u64>)) {
        let g = &self.geometry;
        let words = self.groups.block_words;
        self.groups.changed.take(|word| {
            let group = g.first_block((word / words) as u32);
            let start = u64::from(group) + (word % words) as u64 * 64;
            visit(start * g.block_bytes..(start + 64) * g.block_bytes);
        });
    }
}

impl Ext3 {
    /// A file as metrics see it; `extents` is room to put its runs.
    fn file_view<'a>(
        &self,
        slot: u32,
        file: &File<Inode>,
        extents: &'a mut Vec<Extent>,
    ) -> FileView<'a> {
        let parent = self.dirs[file.dir as usize].inode.ino;
        let links = if file.entry.is_linked() {
            self.names.links(slot)
        } else {
            1
        };
        FileView {
            parent_ino: Some(parent.into()),
            links,
            ..self.view(&file.inode, extents)
        }
    }

    /// Visits the runs of free blocks among some blocks.
    fn visit_free_blocks(&self, blocks: Range<u32>, visit: &mut dyn FnMut(Run)) {
        let g = &self.geometry;
        let mut close = |run: Option<(u32, u32)>| {
            if let Some((start, end)) = run {
                visit(Run {
                    start_bytes: u64::from(start) * g.block_bytes,
                    length_bytes: u64::from(end - start) * g.block_bytes,
                });
            }
        };
        let mut open: Option<(u32, u32)> = None;
        let mut start = blocks.start;
        while start < blocks.end {
            let group = g.group_of(start);
            let base = g.first_block(group);
            let end = g.blocks_in(group).min(blocks.end - base);
            let mut from = start - base;
            while let Some(free) = self.groups.first_free(group, from, end) {
                from = self.groups.first_used(group, free, end);
                match &mut open {
                    Some((_, before)) if *before == base + free => *before = base + from,
                    _ => close(open.replace((base + free, base + from))),
                }
            }
            start = base + end;
        }
        close(open);
    }

    /// An inode as metrics see it; `extents` is room to put its runs.
    fn view<'a>(&self, inode: &Inode, extents: &'a mut Vec<Extent>) -> FileView<'a> {
        let bytes = self.geometry.block_bytes;
        extents.clear();
        extents.extend(inode.blocks.iter(&self.pool).map(|run| Extent {
            logical_bytes: u64::from(run.lbn) * bytes,
            physical_bytes: run.address * bytes,
            length_bytes: u64::from(run.blocks) * bytes,
            flags: 0,
        }));
        let pointers = self.indirect_of(inode).into_iter().flat_map(Indirect::all);
        extents.extend(pointers.map(|(_, address)| Extent {
            logical_bytes: Extent::POINTERS_AT,
            physical_bytes: u64::from(address) * bytes,
            length_bytes: bytes,
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
            ..FileView::new(inode.ino.into(), kind, inode.size)
        }
    }
}
