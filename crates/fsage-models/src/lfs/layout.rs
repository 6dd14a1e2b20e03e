//! The model as metrics see it: inodes with their extents, and runs of free space, in bytes.

use super::geometry::SECTOR;
use super::inode::{Inode, Kind};
use super::{IFILE, Lfs};
use crate::changes::{Changes, Watched, take_changes};
use fsage_core::snapshot::FurtherName;
use fsage_core::{Change, Extent, FileKind, FileView, Geometry, Layout, LogUsage, Run, Space};
use std::ops::Range;

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
        for slot in IFILE + 1..self.inodes.len() as u32 {
            if let Some(file) = self.file_at(slot, &mut extents) {
                visit(&file);
            }
        }
    }

    /// Clean segments, and the rest of the one that is being written.
    fn visit_free(&self, visit: &mut dyn FnMut(Run)) {
        self.visit_free_segments(0..self.geometry.nseg, 0..u64::MAX, visit);
    }

    fn visit_free_within(&self, range: Range<u64>, visit: &mut dyn FnMut(Run)) {
        let g = &self.geometry;
        let segment = |at: u64| {
            let sector = u32::try_from(at / u64::from(SECTOR)).unwrap_or(u32::MAX);
            g.segment_of(sector.max(g.segment_start(0))).min(g.nseg)
        };
        let segments = segment(range.start)..(segment(range.end) + 1).min(g.nseg);
        self.visit_free_segments(segments, range, visit);
    }

    /// Files that are written or cleaned change beside those of operations: their blocks get other addresses.
    fn watch(&mut self) -> bool {
        self.changes.watch();
        self.usage.changed_room.watch();
        self.seen_end = (self.current, self.offset);
        true
    }

    fn take_changes(&mut self, visit: &mut dyn FnMut(Change<'_>)) {
        take_changes(self, visit);
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

impl Watched for Lfs {
    fn changes(&mut self) -> &mut Changes {
        &mut self.changes
    }

    fn file_at<'a>(&self, slot: u32, extents: &'a mut Vec<Extent>) -> Option<FileView<'a>> {
        let inode = self.inodes.get(slot as usize)?;
        let here = self.map[inode.ino as usize].slot == slot;
        let kind = match inode.kind {
            Kind::File => FileKind::Regular,
            Kind::Symlink => FileKind::Symlink,
            Kind::Directory | Kind::Ifile => return None,
        };
        if !here || inode.is(Inode::REMOVED) {
            return None;
        }
        let parent = self.dirs[inode.parent as usize].slot;
        Some(FileView {
            kind,
            parent_ino: Some(u64::from(self.inodes[parent as usize].ino)),
            links: self.linked.get(&slot).map_or(1, |ids| ids.len() as u32),
            ..self.view(inode, extents)
        })
    }

    fn directory_at(&self, number: u32) -> Option<FileView<'static>> {
        let dir = self.dirs.get(number as usize).filter(|dir| dir.alive)?;
        let inode = &self.inodes[dir.slot as usize];
        let parent = self.dirs[dir.parent as usize].slot;
        Some(FileView {
            parent_ino: Some(u64::from(self.inodes[parent as usize].ino)),
            links: 2,
            ..FileView::new(inode.ino.into(), FileKind::Directory, inode.size)
        })
    }

    /// Segments that were begun or freed, and those of which more is written.
    fn take_free_changes(&mut self, visit: &mut dyn FnMut(Range<u64>)) {
        let end = (self.current, self.offset);
        if std::mem::replace(&mut self.seen_end, end) != end {
            let segment = self.current as usize;
            self.usage.changed_room.mark(segment..segment + 1);
        }
        let g = &self.geometry;
        self.usage.changed_room.take(|segment| {
            let start = u64::from(g.segment_start(segment as u32));
            let end = start + u64::from(g.segment_sectors);
            visit(start * u64::from(SECTOR)..end * u64::from(SECTOR));
        });
    }
}

impl Lfs {
    /// Visits the runs of free space of some segments, cut at two addresses in bytes.
    fn visit_free_segments(
        &self,
        segments: Range<u32>,
        within: Range<u64>,
        visit: &mut dyn FnMut(Run),
    ) {
        let g = &self.geometry;
        let mut open: Option<(u32, u32)> = None;
        let mut close = |run: Option<(u32, u32)>| {
            let bytes = |sector: u32| u64::from(sector) * u64::from(SECTOR);
            let Some((start, end)) = run else {
                return;
            };
            let start = bytes(start).max(within.start);
            let end = bytes(end).min(within.end);
            if start < end {
                visit(Run {
                    start_bytes: start,
                    length_bytes: end - start,
                });
            }
        };
        for segment in segments {
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
