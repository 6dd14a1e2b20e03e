//! The model as metrics see it: inodes with their extents, and runs of free space, in bytes.

use super::btree::Wanted;
use super::geometry::{BLOCK, PER_BLOCK};
use super::inode::{Kind, State};
use super::{Inodes, Xfs};
use crate::changes::{Changes, Watched, take_changes};
use crate::names::File;
use fsage_core::snapshot::FurtherName;
use fsage_core::{Change, Extent, FileKind, FileView, Layout, Run, Space};
use std::ops::Range;

impl Layout for Xfs {
    fn geometry(&self) -> fsage_core::Geometry {
        let g = &self.geometry;
        let roots = u64::from(g.ag_count) * u64::from(g.features.roots() + 1);
        let fixed = roots + u64::from(g.log_blocks);
        fsage_core::Geometry {
            fs_type: "xfs".to_owned(),
            size_bytes: g.blocks * BLOCK,
            data_bytes: Some((g.blocks - fixed) * BLOCK),
            reserved_bytes: 0,
            block_bytes: BLOCK as u32,
            frag_bytes: BLOCK as u32,
            inodes_total: g.most_inodes(),
            group_count: g.ag_count,
            group_bytes: u64::from(g.ag_blocks) * BLOCK,
            inodes_per_group: u32::try_from(u64::from(PER_BLOCK) << g.ag_log).unwrap_or(u32::MAX),
            first_ino: 0,
            inode_chunk_bytes: g.least_chunk_blocks() * BLOCK as u32,
        }
    }

    fn space(&self) -> Option<Space> {
        let free = self.free_blocks();
        let sum = |of: fn(&Inodes) -> u32| {
            self.chunks
                .iter()
                .map(|inodes| u64::from(of(inodes)))
                .sum::<u64>()
        };
        let made = sum(|inodes| inodes.count);
        let more = self.geometry.most_inodes().saturating_sub(made);
        let more = more.min(free * u64::from(PER_BLOCK));
        Some(Space {
            free_blocks: free,
            free_frags: 0,
            free_inodes: sum(|inodes| inodes.free) + more,
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
        self.visit_free_in(0..self.geometry.blocks, visit);
    }

    fn visit_free_within(&self, range: Range<u64>, visit: &mut dyn FnMut(Run)) {
        let end = (range.end / BLOCK).min(self.geometry.blocks);
        self.visit_free_in(range.start.div_ceil(BLOCK).min(end)..end, visit);
    }

    fn watch(&mut self) -> bool {
        self.changes.watch();
        self.space.changed.watch();
        true
    }

    fn take_changes(&mut self, visit: &mut dyn FnMut(Change<'_>)) {
        take_changes(self, visit);
    }

    fn visit_further_names(&self, visit: &mut dyn FnMut(&FurtherName)) {
        for (id, alias) in self.names.aliases() {
            let dir = self.dirs[alias.dir as usize].inode;
            visit(&FurtherName {
                ino: self.inodes[self.inode_of(alias.file) as usize].ino,
                generation: None,
                parent_ino: self.inodes[dir as usize].ino,
                name: format!("l{id}").into(),
            });
        }
    }
}

impl Watched for Xfs {
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
        let inode = &self.inodes[dir.inode as usize];
        Some(FileView {
            parent_ino: Some(self.inodes[parent as usize].ino),
            links: 2,
            ..FileView::new(inode.ino, FileKind::Directory, inode.size)
        })
    }

    fn take_free_changes(&mut self, visit: &mut dyn FnMut(Range<u64>)) {
        self.space.changed.take(|word| {
            let start = word as u64 * 64 * BLOCK;
            visit(start..start + 64 * BLOCK);
        });
    }
}

impl Xfs {
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
        let parent = self.dirs[file.dir as usize].inode;
        FileView {
            parent_ino: Some(self.inodes[parent as usize].ino),
            links,
            ..self.view(file.inode, extents)
        }
    }

    /// An inode as metrics see it: extents that adjoin are one. What has no place is not seen.
    fn view<'a>(&self, slot: u32, extents: &'a mut Vec<Extent>) -> FileView<'a> {
        let inode = &self.inodes[slot as usize];
        extents.clear();
        for own in inode.extents.iter().filter(|own| own.is_real()) {
            let extent = Extent {
                logical_bytes: u64::from(own.logical) * BLOCK,
                physical_bytes: self.geometry.absolute(own.start()) * BLOCK,
                length_bytes: u64::from(own.blocks) * BLOCK,
                flags: if own.state() == State::Unwritten {
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
        }
        for block in inode.tree.iter().flat_map(|tree| tree.all_blocks()) {
            extents.push(Extent {
                logical_bytes: Extent::POINTERS_AT,
                physical_bytes: self.geometry.absolute(block) * BLOCK,
                length_bytes: BLOCK,
                flags: Extent::POINTERS,
            });
        }
        let kind = match inode.kind {
            Kind::File => FileKind::Regular,
            Kind::Directory => FileKind::Directory,
            Kind::Symlink => FileKind::Symlink,
        };
        FileView {
            alloc_bytes: Some(extents.iter().map(|extent| extent.length_bytes).sum()),
            extents: Some(extents),
            ..FileView::new(inode.ino, kind, inode.size)
        }
    }

    /// Visits the runs of free blocks between two blocks.
    fn visit_free_in(&self, range: Range<u64>, visit: &mut dyn FnMut(Run)) {
        let g = &self.geometry;
        let ag_blocks = u64::from(g.ag_blocks);
        let mut ag = range.start / ag_blocks;
        while ag * ag_blocks < range.end && ag < u64::from(g.ag_count) {
            let base = ag * ag_blocks;
            let from = range.start.saturating_sub(base) as u32;
            let tree = &self.space.ags[ag as usize].by_start;
            let (mut cursor, found) = tree.look_up(from, Wanted::AtMost);
            let mut more = found || tree.next(&mut cursor);
            while let Some(run) = tree.get(&cursor).filter(|_| more) {
                let start = (base + u64::from(run.start)).max(range.start);
                let end = (base + u64::from(run.start + run.blocks)).min(range.end);
                if base + u64::from(run.start) >= range.end {
                    break;
                }
                if start < end {
                    visit(Run {
                        start_bytes: start * BLOCK,
                        length_bytes: (end - start) * BLOCK,
                    });
                }
                more = tree.next(&mut cursor);
            }
            ag += 1;
        }
    }
}
