//! The model as metrics and a host see it.

use super::{BLOCK, Bump, DIRS};
use crate::changes::{Changes, Watched, take_changes};
use fsage_core::io::{BlockMap, Buffer, BufferId, Emitted, Flush, Hosted, Io};
use fsage_core::snapshot::FurtherName;
use fsage_core::{Change, Extent, FileId, FileKind, FileView, Geometry, Layout, Run, Space};
use std::collections::BTreeMap;
use std::ops::Range;

impl Layout for Bump {
    fn geometry(&self) -> Geometry {
        Geometry {
            fs_type: "bump".to_owned(),
            size_bytes: self.blocks * BLOCK,
            data_bytes: Some((self.blocks - 1) * BLOCK),
            reserved_bytes: 0,
            block_bytes: BLOCK as u32,
            frag_bytes: BLOCK as u32,
            inodes_total: DIRS,
            group_count: 0,
            group_bytes: 0,
            inodes_per_group: 0,
            first_ino: 1,
            inode_chunk_bytes: 0,
        }
    }

    fn space(&self) -> Option<Space> {
        let free_inodes = DIRS - self.inodes.len() as u64;
        Some(Space {
            free_blocks: self.blocks - self.next,
            free_frags: 0,
            free_inodes,
        })
    }

    fn visit_files(&self, visit: &mut dyn FnMut(&FileView<'_>)) {
        let mut room = Vec::new();
        for slot in 0..self.dirs.len() as u32 {
            if let Some(dir) = self.directory_at(slot) {
                visit(&dir);
            }
        }
        for (slot, _) in self.names.iter() {
            if let Some(file) = self.file_at(slot, &mut room) {
                visit(&file);
            }
        }
    }

    fn visit_free(&self, visit: &mut dyn FnMut(Run)) {
        if self.next < self.blocks {
            let length_bytes = (self.blocks - self.next) * BLOCK;
            visit(Run {
                start_bytes: self.next * BLOCK,
                length_bytes,
            });
        }
    }

    /// It can say what changes, so that a day costs what changed in it.
    fn watch(&mut self) -> bool {
        self.changes.watch();
        self.seen_next = self.next;
        true
    }

    fn take_changes(&mut self, visit: &mut dyn FnMut(Change<'_>)) {
        take_changes(self, visit);
    }

    fn visit_further_names(&self, visit: &mut dyn FnMut(&FurtherName)) {
        for (id, alias) in self.names.aliases() {
            visit(&FurtherName {
                ino: self.ino(alias.file) as u64,
                generation: None,
                parent_ino: DIRS + u64::from(alias.dir),
                name: format!("l{id}").into(),
            });
        }
    }
}

impl Watched for Bump {
    fn changes(&mut self) -> &mut Changes {
        &mut self.changes
    }

    fn file_at<'a>(&self, slot: u32, extents: &'a mut Vec<Extent>) -> Option<FileView<'a>> {
        let file = self.names.get(slot)?;
        let inode = self.of(slot);
        put_extents(&inode.blocks, extents);
        Some(FileView {
            parent_ino: Some(DIRS + u64::from(file.dir)),
            links: self.names.links(slot),
            alloc_bytes: Some(inode.blocks.len() as u64 * BLOCK),
            extents: Some(extents),
            ..FileView::new(file.inode as u64, inode.kind, inode.bytes)
        })
    }

    fn directory_at(&self, slot: u32) -> Option<FileView<'static>> {
        let dir = self.dirs.get(slot as usize).filter(|dir| dir.alive)?;
        Some(FileView {
            parent_ino: Some(DIRS + u64::from(dir.parent)),
            extents: Some(&[]),
            alloc_bytes: Some(0),
            ..FileView::new(DIRS + u64::from(slot), FileKind::Directory, 0)
        })
    }

    fn take_free_changes(&mut self, visit: &mut dyn FnMut(Range<u64>)) {
        let seen = std::mem::replace(&mut self.seen_next, self.next);
        if seen < self.next {
            visit(seen * BLOCK..self.next * BLOCK);
        }
    }
}

/// Blocks as runs that are contiguous in the file and on disk.
fn put_extents(blocks: &BTreeMap<u64, u64>, runs: &mut Vec<Extent>) {
    runs.clear();
    for (lbn, block) in blocks {
        let (logical_bytes, physical_bytes) = (lbn * BLOCK, block * BLOCK);
        match runs.last_mut() {
            Some(run)
                if run.logical_bytes + run.length_bytes == logical_bytes
                    && run.physical_bytes + run.length_bytes == physical_bytes =>
            {
                run.length_bytes += BLOCK;
            }
            _ => runs.push(Extent {
                logical_bytes,
                physical_bytes,
                length_bytes: BLOCK,
                flags: 0,
            }),
        }
    }
}

impl Hosted for Bump {
    fn emits(&mut self) -> &mut Emitted {
        &mut self.emitted
    }

    fn block_bytes(&self) -> u32 {
        BLOCK as u32
    }

    /// Its directories are in memory.
    fn look_up(&self, _file: FileId, _io: &mut Vec<Io>) {}

    fn accessed(&self, _file: FileId, _io: &mut Vec<Io>) {}

    fn block_map(&self, file: FileId, lbn: u32) -> BlockMap {
        let Some(slot) = self.names.find(file) else {
            return BlockMap::default();
        };
        let blocks = &self.of(slot).blocks;
        let Some(&block) = blocks.get(&lbn.into()) else {
            return BlockMap::default();
        };
        let follows = |i: &u64| blocks.get(&(u64::from(lbn) + i)) == Some(&(block + i));
        BlockMap {
            buffer: Some(Bump::buffer(self.ino(slot), lbn.into(), block)),
            following: (1..self.blocks).take_while(follows).count() as u32,
            ..BlockMap::default()
        }
    }

    fn superblock(&self, io: &mut Vec<Io>) {
        let id = BufferId::Device { start_bytes: 0 };
        io.push(Io::Fill(
            Buffer {
                id,
                start_bytes: 0,
                bytes: BLOCK as u32,
            },
            Flush::Async,
        ));
    }
}
