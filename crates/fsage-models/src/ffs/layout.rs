//! The model as metrics see it: inodes with their extents, and runs of free space, in bytes.

use super::Ffs;
use super::geometry::DIRECT;
use super::inode::{Indirect, Inode};
use crate::changes::{Changes, Watched, take_changes};
use crate::names::File;
use fsage_core::snapshot::FurtherName;
use fsage_core::{Change, Extent, FileKind, FileView, Layout, Run, Space};
use std::ops::Range;

impl Layout for Ffs {
    fn geometry(&self) -> fsage_core::Geometry {
        let g = &self.geometry;
        fsage_core::Geometry {
            fs_type: "ffs".to_owned(),
            size_bytes: g.size * g.fsize,
            data_bytes: Some(g.dsize * g.fsize),
            reserved_bytes: g.dsize * g.minfree / 100 * g.fsize,
            block_bytes: g.bsize as u32,
            frag_bytes: g.fsize as u32,
            inodes_total: g.ipg * g.ncg as u64,
            group_count: g.ncg as u32,
            group_bytes: g.fpg * g.fsize,
            inodes_per_group: g.ipg as u32,
            first_ino: 0,
            inode_chunk_bytes: 0,
        }
    }

    fn space(&self) -> Option<Space> {
        Some(Space {
            free_blocks: self.groups.totals.nbfree,
            free_frags: self.groups.totals.nffree,
            free_inodes: self.groups.totals.nifree,
        })
    }

    fn visit_files(&self, visit: &mut dyn FnMut(&FileView<'_>)) {
        let mut extents = Vec::new();
        for dir in self.dirs.iter().filter(|dir| dir.alive) {
            let parent = &self.dirs[dir.parent as usize];
            let view = self.view(&dir.inode, &mut extents);
            visit(&FileView {
                kind: FileKind::Directory,
                parent_ino: parent.alive.then_some(parent.inode.ino),
                links: 2,
                ..view
            });
        }
        for (slot, file) in self.names.iter() {
            visit(&self.file_view(slot, file, &mut extents));
        }
    }

    fn visit_free(&self, visit: &mut dyn FnMut(Run)) {
        let g = &self.geometry;
        self.visit_free_frags(0..g.ncg as u64 * g.fpg, visit);
    }

    fn visit_free_within(&self, range: Range<u64>, visit: &mut dyn FnMut(Run)) {
        let fsize = self.geometry.fsize;
        let range = range.start.div_ceil(fsize)..range.end / fsize;
        self.visit_free_frags(range, visit);
    }

    /// A directory that is removed over the heads of its files changes files that no operation touches.
    fn watch(&mut self) -> bool {
        if !self.rmdir_as_it_stands {
            self.changes.watch();
            self.groups.changed.watch();
        }
        !self.rmdir_as_it_stands
    }

    fn take_changes(&mut self, visit: &mut dyn FnMut(Change<'_>)) {
        take_changes(self, visit);
    }

    /// The model keeps no names: a further one is called after its id.
    fn visit_further_names(&self, visit: &mut dyn FnMut(&FurtherName)) {
        for (id, alias) in self.names.aliases() {
            visit(&FurtherName {
                ino: self.names.file(alias.file).inode.ino,
                generation: None,
                parent_ino: self.dirs[alias.dir as usize].inode.ino,
                name: format!("l{id}").into(),
            });
        }
    }
}

impl Watched for Ffs {
    fn changes(&mut self) -> &mut Changes {
        &mut self.changes
    }

    fn file_at<'a>(&self, slot: u32, extents: &'a mut Vec<Extent>) -> Option<FileView<'a>> {
        let file = self.names.get(slot)?;
        Some(self.file_view(slot, file, extents))
    }

    fn directory_at(&self, slot: u32) -> Option<FileView<'static>> {
        let dir = self.dirs.get(slot as usize).filter(|dir| dir.alive)?;
        let parent = &self.dirs[dir.parent as usize];
        Some(FileView {
            parent_ino: parent.alive.then_some(parent.inode.ino),
            links: 2,
            ..FileView::new(dir.inode.ino, FileKind::Directory, dir.inode.size)
        })
    }

    fn take_free_changes(&mut self, visit: &mut dyn FnMut(Range<u64>)) {
        let g = &self.geometry;
        let words = self.groups.block_words;
        self.groups.changed.take(|word| {
            let start = g.base(word / words) + (word % words) as u64 * 64 * g.frag;
            visit(start * g.fsize..(start + 64 * g.frag) * g.fsize);
        });
    }
}

impl Ffs {
    /// A file as metrics see it; `extents` is room to put its runs.
    fn file_view<'a>(
        &self,
        slot: u32,
        file: &File<Inode>,
        extents: &'a mut Vec<Extent>,
    ) -> FileView<'a> {
        let parent = &self.dirs[file.dir as usize];
        let links = if file.entry.is_linked() {
            self.names.links(slot)
        } else {
            1
        };
        FileView {
            kind: if file.entry.is_symlink() {
                FileKind::Symlink
            } else {
                FileKind::Regular
            },
            parent_ino: parent.alive.then_some(parent.inode.ino),
            links,
            ..self.view(&file.inode, extents)
        }
    }

    /// An inode as metrics see it; `extents` is room to put its runs.
    fn view<'a>(&self, inode: &Inode, extents: &'a mut Vec<Extent>) -> FileView<'a> {
        let g = &self.geometry;
        extents.clear();
        let blocks = inode.size.div_ceil(g.bsize) as u32;
        let mut frags = 0;
        for run in inode.blocks.iter(&self.pool) {
            let mut length = u64::from(run.blocks) * g.frag;
            if run.end() == blocks {
                length -= g.frag - self.frags_of(inode.size, blocks - 1) as u64;
            }
            frags += length;
            extents.push(Extent {
                logical_bytes: u64::from(run.lbn) * g.bsize,
                physical_bytes: run.address * g.fsize,
                length_bytes: length * g.fsize,
                flags: 0,
            });
        }
        if let Some(indirect) = self.indirect_of(inode) {
            for address in indirect.addresses() {
                frags += g.frag;
                extents.push(Extent {
                    logical_bytes: Extent::POINTERS_AT,
                    physical_bytes: address * g.fsize,
                    length_bytes: g.bsize,
                    flags: Extent::POINTERS,
                });
            }
        }
        FileView {
            alloc_bytes: Some(frags * g.fsize),
            extents: Some(extents),
            ..FileView::new(inode.ino, FileKind::Regular, inode.size)
        }
    }

    /// Indirect blocks of an inode; only files with more than 12 blocks are looked up.
    pub(super) fn indirect_of(&self, inode: &Inode) -> Option<&Indirect> {
        if inode.size <= u64::from(DIRECT) * self.geometry.bsize {
            return None;
        }
        self.indirect.get(&inode.ino)
    }

    /// Visits the runs of free space between two addresses, in fragments.
    fn visit_free_frags(&self, range: Range<u64>, visit: &mut dyn FnMut(Run)) {
        let g = &self.geometry;
        let mut close = |run: Option<(u64, u64)>| {
            let cut = run.map(|(start, end)| (start.max(range.start), end.min(range.end)));
            if let Some((start, end)) = cut.filter(|(start, end)| start < end) {
                visit(Run {
                    start_bytes: start * g.fsize,
                    length_bytes: (end - start) * g.fsize,
                });
            }
        };
        let mut open: Option<(u64, u64)> = None;
        let groups = (range.start / g.fpg) as usize..range.end.div_ceil(g.fpg) as usize;
        for c in groups.start..groups.end.min(g.ncg) {
            let base = g.base(c);
            let first = range.start.saturating_sub(base) / g.frag;
            let end = (range.end - base).min(g.fpg).div_ceil(g.frag);
            self.visit_free_in_group(
                c,
                first as usize..end as usize,
                |start, n| match &mut open {
                    Some((_, end)) if *end == start => *end += n,
                    _ => close(open.replace((start, start + n))),
                },
            );
        }
        close(open);
    }

    /// Visits the free space in some blocks of a group as runs of fragments, ascending; neighbors may touch.
    fn visit_free_in_group(&self, c: usize, blocks: Range<usize>, mut visit: impl FnMut(u64, u64)) {
        let frag = self.groups.frag;
        let base = self.geometry.base(c);
        let partial = &self.groups.partial[c];
        let from = partial.partition_point(|p| p.block() < blocks.start);
        let to = partial.partition_point(|p| p.block() < blocks.end);
        let mut partial = partial[from..to].iter().peekable();
        let within = |block: &usize| *block < blocks.end;
        let mut free = self.groups.next_block(c, blocks.start).filter(within);
        loop {
            let next_partial = partial.peek().map(|p| p.block());
            match (free, next_partial) {
                (Some(block), other) if other.is_none_or(|p| block < p) => {
                    let run = self.groups.free_run(c, block).min(blocks.end - block);
                    visit(base + (block * frag) as u64, (run * frag) as u64);
                    free = self.groups.next_block(c, block + run).filter(within);
                }
                (_, Some(block)) => {
                    let mask = partial.next().map_or(0, |p| p.mask());
                    for offset in (0..frag).filter(|o| mask >> o & 1 == 1) {
                        visit(base + (block * frag + offset) as u64, 1);
                    }
                }
                (_, None) => break,
            }
        }
    }
}
