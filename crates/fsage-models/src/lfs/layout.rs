//! The model as metrics see it: inodes with their extents, and runs of free space, in bytes.

use super::geometry::SECTOR;
use super::inode::{Inode, Kind};
use super::{IFILE, Lfs};
use fsage_core::snapshot::FurtherName;
use fsage_core::{Extent, FileKind, FileView, Geometry, Layout, LogUsage, Run, Space};

impl Layout for Lfs {
    fn geometry(&self) -> Geometry {
        let g = &self.geometry;
        let data_bytes = g.data_sectors * u64::from(SECTOR);
        Geometry {
            fs_type: "lfs".to_owned(),
            size_bytes: self.params.size_bytes,
            data_bytes: Some(data_bytes),
            reserved_bytes: data_bytes * self.params.minfree_percent / 100,
            block_bytes: g.block_bytes,
            frag_bytes: g.frag_bytes,
            inodes_total: self.map.len() as u64,
            group_count: g.nseg,
            group_bytes: u64::from(g.segment_sectors) * u64::from(SECTOR),
            inodes_per_group: 0,
            first_ino: 0,
            inode_chunk_bytes: 0,
        }
    }

    fn space(&self) -> Option<Space> {
        let block = i64::from(self.geometry.block_sectors());
        Some(Space {
            free_blocks: (self.bfree.max(0) / block) as u64,
            free_frags: 0,
            free_inodes: self.free_inodes.len() as u64,
        })
    }

    fn visit_files(&self, visit: &mut dyn FnMut(&FileView<'_>)) {
        let mut extents = Vec::new();
        for dir in self.dirs.iter().filter(|dir| dir.alive) {
            let parent = self.dirs[dir.parent as usize].slot;
            visit(&FileView {
                kind: FileKind::Directory,
                parent_ino: Some(u64::from(self.inodes[parent as usize].ino)),
                links: 2,
                ..self.view(&self.inodes[dir.slot as usize], &mut extents)
            });
        }
        for (slot, inode) in (0..).zip(&self.inodes).skip(IFILE as usize + 1) {
            let here = self.map[inode.ino as usize].slot == slot;
            let file = matches!(inode.kind, Kind::File | Kind::Symlink);
            if !here || !file || inode.is(Inode::REMOVED) {
                continue;
            }
            let parent = self.dirs[inode.parent as usize].slot;
            visit(&FileView {
                kind: if inode.kind == Kind::Symlink {
                    FileKind::Symlink
                } else {
                    FileKind::Regular
                },
                parent_ino: Some(u64::from(self.inodes[parent as usize].ino)),
                links: self.linked.get(&slot).map_or(1, |ids| ids.len() as u32),
                ..self.view(inode, &mut extents)
            });
        }
    }

    /// Clean segments, and the rest of the one that is being written.
    fn visit_free(&self, visit: &mut dyn FnMut(Run)) {
        let g = &self.geometry;
        let mut open: Option<(u32, u32)> = None;
        let mut close = |run: Option<(u32, u32)>| {
            if let Some((start, end)) = run.filter(|(start, end)| start < end) {
                visit(Run {
                    start_bytes: u64::from(start) * u64::from(SECTOR),
                    length_bytes: u64::from(end - start) * u64::from(SECTOR),
                });
            }
        };
        for segment in 0..g.nseg {
            let end = g.segment_start(segment) + g.segment_sectors;
            let start = if segment == self.current {
                self.offset
            } else if self.usage[segment].dirty {
                continue;
            } else {
                g.segment_start(segment) + g.reserved_sectors(segment)
            };
            match &mut open {
                Some((_, open_end)) if *open_end == start => *open_end = end,
                _ => close(open.replace((start, end))),
            }
        }
        close(open);
    }

    fn log_usage(&self) -> Option<LogUsage> {
        let counters = self.counters();
        let mut log = LogUsage {
            segment_bytes: self.segment_bytes(),
            segments: u64::from(self.geometry.nseg),
            clean_segments: u64::from(self.usage.clean()),
            new_bytes: counters.written_bytes - counters.cleaner_written_bytes,
            cleaner_written_bytes: counters.cleaner_written_bytes,
            cleaner_read_segments: counters.read_segments,
            cleaned_segments: counters.cleaned_segments,
            cleaned_live_bytes: counters.cleaned_live_bytes,
            end: self.ended.map(|end| end.to_string()),
            ..LogUsage::default()
        };
        for usage in self.usage.iter().filter(|usage| usage.dirty) {
            log.count_segment(u64::from(usage.live));
        }
        Some(log)
    }

    /// The model keeps no names: a further one is called after its id.
    fn visit_further_names(&self, visit: &mut dyn FnMut(&FurtherName)) {
        let further = self.linked.values().flat_map(|ids| &ids[1..]);
        for id in further {
            let name = self.names[id];
            let parent = self.dirs[name.dir as usize].slot;
            visit(&FurtherName {
                ino: u64::from(self.inodes[name.slot as usize].ino),
                generation: None,
                parent_ino: u64::from(self.inodes[parent as usize].ino),
                name: format!("l{id}").into(),
            });
        }
    }
}

impl Lfs {
    /// An inode as metrics see it; `extents` is room to put its runs. What was never written has no place yet.
    fn view<'a>(&self, inode: &Inode, extents: &'a mut Vec<Extent>) -> FileView<'a> {
        let g = &self.geometry;
        let bsize = u64::from(g.block_bytes);
        extents.clear();
        let mut alloc_bytes = 0;
        inode.visit(g, |lbn, block| {
            let length_bytes = if block.address == 0 {
                u64::from(inode.block_bytes(g, lbn))
            } else {
                u64::from(block.sectors) * u64::from(SECTOR)
            };
            alloc_bytes += length_bytes;
            let (logical_bytes, mut flags) = match u64::try_from(lbn) {
                Ok(lbn) => (lbn * bsize, 0),
                Err(_) => (Extent::POINTERS_AT, Extent::POINTERS),
            };
            if block.address == 0 {
                flags |= Extent::DELALLOC | Extent::UNKNOWN;
            }
            let extent = Extent {
                logical_bytes,
                physical_bytes: u64::from(block.address) * u64::from(SECTOR),
                length_bytes,
                flags,
            };
            match extents.last_mut() {
                Some(last) if follows(last, &extent) => last.length_bytes += length_bytes,
                _ => extents.push(extent),
            }
        });
        FileView {
            alloc_bytes: Some(alloc_bytes),
            extents: Some(extents),
            ..FileView::new(u64::from(inode.ino), FileKind::Regular, inode.size)
        }
    }
}

/// Whether an extent goes on where the last one ends, both in the file and on disk.
fn follows(last: &Extent, next: &Extent) -> bool {
    last.flags == next.flags
        && !next.is_pointers()
        && last.logical_bytes + last.length_bytes == next.logical_bytes
        && (next.flags & Extent::DELALLOC != 0
            || last.physical_bytes + last.length_bytes == next.physical_bytes)
}
