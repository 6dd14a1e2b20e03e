//! The model as metrics see it: inodes with their extents, and runs of free space, in bytes.

use super::{Ext4, Kind};
use crate::changes::{Changes, Watched, take_changes};
use crate::names::File;
use fsage_core::snapshot::FurtherName;
use fsage_core::{Change, Extent, FileKind, FileView, Layout, Run, Space};
use std::ops::Range;

impl Layout for Ext4 {
    fn geometry(&self) -> fsage_core::Geometry {
        let g = &self.geometry;
        let copies: u64 = (0..g.groups)
            .map(|group| u64::from(g.copy_blocks(group)))
            .sum();
        let tables = u64::from(g.groups) * u64::from(2 + g.table_blocks());
        let fixed = copies
            + tables
            + u64::from(g.journal_blocks)
            + u64::from(g.journal_tree_block.is_some())
            + u64::from(g.lost_found.1)
            + u64::from(g.resize_block.is_some())
            + u64::from(g.first_block);
        fsage_core::Geometry {
            fs_type: "ext4".to_owned(),
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
        let sums = &self.groups.flex;
        Some(Space {
            free_blocks: sums.iter().map(|sums| u64::from(sums.free_blocks)).sum(),
            free_frags: 0,
            free_inodes: sums.iter().map(|sums| u64::from(sums.free_inodes)).sum(),
        })
    }

    fn visit_files(&self, visit: &mut dyn FnMut(&FileView<'_>)) {
        let mut extents = Vec::new();
        for (slot, dir) in self.dirs.iter().enumerate().filter(|(_, dir)| dir.alive) {
            let view = self.view(dir.inode, &mut extents);
            if let Some(seen) = self.directory_at(slot as u32) {
                visit(&FileView {
                    alloc_bytes: view.alloc_bytes,
                    extents: view.extents,
                    ..seen
                });
            }
        }
        for (slot, file) in self.names.iter() {
            visit(&self.file_view(slot, file, &mut extents));
        }
    }

    fn visit_free(&self, visit: &mut dyn FnMut(Run)) {
        let g = &self.geometry;
        self.visit_free_in(g.first_block..g.blocks, visit);
    }

    fn visit_free_within(&self, range: Range<u64>, visit: &mut dyn FnMut(Run)) {
        let g = &self.geometry;
        let block = |at: u64| u32::try_from(at).unwrap_or(u32::MAX).min(g.blocks);
        let start = block(range.start.div_ceil(g.block_bytes)).max(g.first_block);
        self.visit_free_in(start..block(range.end / g.block_bytes), visit);
    }

    fn watch(&mut self) -> bool {
        self.changes.watch();
        self.groups.changed.watch();
        true
    }

    fn take_changes(&mut self, visit: &mut dyn FnMut(Change<'_>)) {
        take_changes(self, visit);
    }

    fn visit_further_names(&self, visit: &mut dyn FnMut(&FurtherName)) {
        for (id, alias) in self.names.aliases() {
            let dir = self.dirs[alias.dir as usize].inode;
            visit(&FurtherName {
                ino: self.ino_of(self.inode_of(alias.file)),
                generation: None,
                parent_ino: self.ino_of(dir),
                name: format!("l{id}").into(),
            });
        }
    }
}

impl Watched for Ext4 {
    fn changes(&mut self) -> &mut Changes {
        &mut self.changes
    }

    fn file_at<'a>(&self, slot: u32, extents: &'a mut Vec<Extent>) -> Option<FileView<'a>> {
        let file = self.names.get(slot)?;
        Some(self.file_view(slot, file, extents))
    }

    fn directory_at(&self, slot: u32) -> Option<FileView<'static>> {
        let dir = self.dirs.get(slot as usize).filter(|dir| dir.alive)?;
        let parent = self.dirs[dir.parent as usize].inode;
        let size = self.inodes[dir.inode as usize].size;
        Some(FileView {
            parent_ino: Some(self.ino_of(parent)),
            links: 2,
            ..FileView::new(self.ino_of(dir.inode), FileKind::Directory, size)
        })
    }

    fn take_free_changes(&mut self, visit: &mut dyn FnMut(Range<u64>)) {
        let mut words = Vec::new();
        self.groups.changed.take(|word| words.push(word));
        let g = &self.geometry;
        for word in words {
            let (group, at) = self.groups.place_of_word(word);
            // The last word of a group may have fewer blocks than bits.
            let bits = 64.min(g.blocks_per_group - at);
            let start = u64::from(g.start_of(group) + at);
            visit(start * g.block_bytes..(start + u64::from(bits)) * g.block_bytes);
        }
    }
}

impl Ext4 {
    pub(super) fn ino_of(&self, inode: u32) -> u64 {
        self.inodes[inode as usize].ino.into()
    }

    /// A file as metrics see it; `extents` is room to put its runs.
    fn file_view<'a>(
        &self,
        slot: u32,
        file: &File<u32>,
        extents: &'a mut Vec<Extent>,
    ) -> FileView<'a> {
        let links = if file.entry.is_linked() {
            self.names.links(slot)
        } else {
            1
        };
        FileView {
            parent_ino: Some(self.ino_of(self.dirs[file.dir as usize].inode)),
            links,
            ..self.view(file.inode, extents)
        }
    }

    /// An inode as metrics see it: entries of its tree that adjoin are one extent.
    fn view<'a>(&self, slot: u32, extents: &'a mut Vec<Extent>) -> FileView<'a> {
        let inode = &self.inodes[slot as usize];
        let bytes = self.geometry.block_bytes;
        extents.clear();
        inode.tree.visit(&mut |entry| {
            let extent = Extent {
                logical_bytes: u64::from(entry.logical) * bytes,
                physical_bytes: u64::from(entry.block) * bytes,
                length_bytes: u64::from(entry.blocks()) * bytes,
                flags: if entry.is_unwritten() {
                    Extent::UNWRITTEN
                } else {
                    0
                },
            };
            match extents.last_mut() {
                Some(last)
                    if last.flags == extent.flags
                        && last.logical_bytes + last.length_bytes == extent.logical_bytes
                        && last.physical_bytes + last.length_bytes == extent.physical_bytes =>
                {
                    last.length_bytes += extent.length_bytes;
                }
                _ => extents.push(extent),
            }
        });
        inode.tree.visit_blocks(&mut |block| {
            extents.push(Extent {
                logical_bytes: Extent::POINTERS_AT,
                physical_bytes: u64::from(block) * bytes,
                length_bytes: bytes,
                flags: Extent::POINTERS,
            });
        });
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

    /// Visits the runs of blocks that are free on disk, among some blocks.
    fn visit_free_in(&self, blocks: Range<u32>, visit: &mut dyn FnMut(Run)) {
        let g = &self.geometry;
        let mut open: Option<(u32, u32)> = None;
        let mut close = |run: Option<(u32, u32)>| {
            if let Some((start, end)) = run {
                visit(Run {
                    start_bytes: u64::from(start) * g.block_bytes,
                    length_bytes: u64::from(end - start) * g.block_bytes,
                });
            }
        };
        let mut start = blocks.start;
        while start < blocks.end {
            let group = g.group_of(start);
            let base = g.start_of(group);
            let end = g.blocks_in(group).min(blocks.end - base);
            self.groups
                .visit_free_on_disk(group, start - base..end, |from, to| match &mut open {
                    Some((_, before)) if *before == base + from => *before = base + to,
                    _ => close(open.replace((base + from, base + to))),
                });
            start = base + end;
        }
        close(open);
    }
}
