//! Segment writes, checkpoints and fsync of both variants, and the making of an empty file system.
//!
//! Source: `lfs_segwrite`, `lfs_fsync`, `lfs_vflush`, `lfs_segunlock` of 4.4BSD-Lite2 and NetBSD; `newlfs`.

use super::cleaner::Candidates;
use super::directory::Entry;
use super::ifile::{FreeInodes, IFILE_INO, ROOT_INO};
use super::inode::{Inode, Kind};
use super::params::{Params, Variant};
use super::recorder::Recorder;
use super::report::Counters;
use super::segments::Log;
use super::usage::UsageTable;
use super::writer::{Class, Open};
use super::{Geometry, IFILE, Lfs, NewfsError};
use crate::changes::Changes;
use fsage_core::io::Emitted;
use fsage_core::operations::{DirIds, Shortfall};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of a superblock as it is written.
const SUPERBLOCK_BYTES: u64 = 8192;
/// NetBSD: clean segments below which `fsync` is a checkpoint.
const SCARCE: u32 = 10;
/// The ifile is gathered three times, since writing it changes it.
const IFILE_PASSES: u32 = 3;

/// What a checkpoint of `netbsd` is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Everything is written, and then known to be on disk.
    Sync,
    /// What the cleaner moves is written.
    Clean,
    /// Segments that have become empty are freed.
    Reclaim,
}

impl Lfs {
    /// Makes an empty file system.
    ///
    /// # Errors
    /// Parameters that `newlfs` refuses.
    pub fn new(params: Params) -> Result<Lfs, NewfsError> {
        Lfs::made(params, None)
    }

    pub(super) fn made(params: Params, recorder: Option<Box<Recorder>>) -> Result<Lfs, NewfsError> {
        let geometry = Geometry::newfs(&params)?;
        let mut fs = Lfs::blank(params, geometry);
        fs.recorder = recorder;
        fs.newfs();
        Ok(fs)
    }

    /// A file system with nothing in it, not even a root.
    pub(super) fn blank(params: Params, geometry: Geometry) -> Lfs {
        let nseg = geometry.nseg;
        let superblocks = (1..nseg).filter(|&s| geometry.has_superblock(s)).count();
        Lfs {
            usage: UsageTable::new(nseg),
            logs: vec![Log::default(); nseg as usize],
            candidates: Candidates::new(nseg),
            empty: BTreeSet::new(),
            age_rule: params.age_rule.unwrap_or_else(|| params.policy.age_rule()),
            current: 0,
            next: None,
            offset: geometry.segment_start(0) + geometry.reserved_sectors(0),
            active: 0,
            switches: 0,
            serial: 0,
            open: Open::default(),
            inodes: Vec::new(),
            free_slots: Vec::new(),
            gone: Vec::new(),
            map: Vec::new(),
            free_inodes: FreeInodes::new(params.variant),
            listed: Vec::new(),
            marked: Vec::new(),
            vnodes: 0,
            bfree: geometry.data_sectors as i64
                - (superblocks as u64 * SUPERBLOCK_BYTES / 512) as i64,
            dirty_sectors: 0,
            dirty_data: 0,
            dirty_pointers: 0,
            now: 0,
            active_superblock: 0,
            ifile_due: false,
            cleaning: false,
            ended: None,
            idle_since_ns: None,
            dirs: Vec::new(),
            free_dirs: Vec::new(),
            names: FxHashMap::default(),
            linked: BTreeMap::new(),
            dir_ids: DirIds::default(),
            next_entry: None,
            shortfall: Shortfall::default(),
            counters: Counters::default(),
            events: None,
            emitted: Emitted::default(),
            recorder: None,
            changes: Changes::default(),
            seen_end: (0, 0),
            params,
            geometry,
        }
    }

    /// The first partial segment: the ifile, the root directory, with `lite2` lost+found, and their inodes.
    fn newfs(&mut self) {
        let g = self.geometry.clone();
        self.usage.begin(0, false);
        self.inodes.push(Inode::new(IFILE_INO, Kind::Ifile, 0));
        let lite2 = g.variant == Variant::Lite2;
        let first_free = ROOT_INO + 1 + u32::from(lite2);
        self.inodes[0].size = u64::from(1 + g.usage_blocks) * u64::from(g.block_bytes);
        self.extend_map(first_free);
        self.map[IFILE_INO as usize].slot = IFILE;
        for lbn in 0..=g.map_block(0) {
            self.charge_new_block(IFILE, lbn, g.block_sectors())
                .expect("the least number of segments has room for the ifile");
            self.dirty(IFILE, lbn);
        }
        let root = self.make_directory_inode(ROOT_INO);
        self.add_directory(root, 0, Entry::default());
        let mut slots = vec![root];
        if lite2 {
            slots.push(self.make_directory_inode(ROOT_INO + 1));
        }
        self.next = Some(if lite2 { g.superblock_step } else { 1 });
        let inodes: Vec<u32> = std::iter::once(IFILE)
            .chain(slots.iter().copied())
            .collect();
        let blocks = |fs: &mut Lfs| inodes.iter().for_each(|&s| fs.write_file(s, Class::Data));
        let themselves = |fs: &mut Lfs| inodes.iter().for_each(|&s| fs.write_inode(s));
        self.lock(false);
        if lite2 {
            themselves(self);
            blocks(self);
        } else {
            blocks(self);
            themselves(self);
        }
        self.close();
        self.unlock();
        for slot in inodes {
            self.inodes[slot as usize].set(Inode::MODIFIED, false);
        }
        self.tidy_list();
        self.counters = Counters::default();
        if !lite2 {
            // NetBSD's mount says in both superblocks that the file system is in use.
            self.count_bytes(2 * SUPERBLOCK_BYTES, 2);
            self.record_superblock(1);
        }
        self.record_superblock(0);
    }

    /// Everything goes to disk, and segments that hold nothing live are free: `sync`.
    pub(super) fn checkpoint(&mut self) {
        match self.params.variant {
            Variant::Lite2 => self.segment_write(true),
            Variant::NetBsd => self.checkpoint_for(Purpose::Sync),
        }
    }

    /// Inodes in the list with something to write, in the order of vnodes; the ifile is not among them.
    fn listed_in_order(&self) -> Vec<u32> {
        let mut slots: Vec<u32> = self
            .listed
            .iter()
            .copied()
            .filter(|&s| s != IFILE)
            .collect();
        slots.sort_unstable_by_key(|&slot| self.inodes[slot as usize].vnode);
        slots
    }

    /// Keeps in the list what has something to write.
    fn tidy_list(&mut self) {
        let inodes = &mut self.inodes;
        self.listed.retain(|&slot| {
            let inode = &mut inodes[slot as usize];
            inode.forget_empty_lists();
            let stays = inode.must_be_written() || inode.has_dirty();
            inode.set(Inode::LISTED, stays);
            stays
        });
        self.free_slots.append(&mut self.gone);
    }

    /// A checkpoint of `netbsd`.
    pub(super) fn checkpoint_for(&mut self, purpose: Purpose) {
        let slots = self.listed_in_order();
        self.lock(purpose == Purpose::Clean);
        match purpose {
            Purpose::Sync => {
                for marked in [false, true] {
                    self.write_files(&slots, marked);
                }
                self.flush_directory_operations();
            }
            Purpose::Clean => {
                for &slot in &slots {
                    if self.inodes[slot as usize].is(Inode::CLEANING) {
                        self.write_file(slot, Class::Moved);
                        self.write_inode(slot);
                    }
                }
            }
            Purpose::Reclaim => {
                self.flush_directory_operations();
                self.dirty(IFILE, 0);
            }
        }
        for segment in self.usage.end_active(Some(self.current)) {
            self.active = self.active.saturating_sub(1);
            self.usage_changed(segment);
        }
        let wrote = self.write_ifile();
        self.unlock();
        if wrote && self.ended.is_none() {
            self.active = 0;
            self.write_superblocks(purpose);
        }
        if purpose == Purpose::Sync {
            self.unmark();
        }
        self.tidy_list();
    }

    fn write_files(&mut self, slots: &[u32], marked: bool) {
        for &slot in slots {
            let inode = &self.inodes[slot as usize];
            let any = inode.must_be_written() || inode.has_dirty();
            if inode.is(Inode::MARKED) == marked && any {
                self.write_file(slot, Class::Data);
                self.write_inode(slot);
            }
        }
    }

    /// Marked directories and inodes once more, which ends the directory operations.
    fn flush_directory_operations(&mut self) {
        let marked = self.marked.clone();
        if marked.is_empty() {
            return;
        }
        for slot in marked {
            let inode = &self.inodes[slot as usize];
            let any = inode.must_be_written() || inode.has_dirty() || self.has_gathered(slot);
            if inode.kind == Kind::Directory && any {
                self.write_file(slot, Class::Data);
            }
            self.write_inode(slot);
            self.inode_changed(slot);
        }
        self.end_directory_operation();
    }

    /// The ifile, until writing it changes nothing. Whether its inode was written.
    fn write_ifile(&mut self) -> bool {
        let mut wrote = false;
        loop {
            let ifile = &self.inodes[IFILE as usize];
            if ifile.has_dirty() {
                for _ in 0..IFILE_PASSES {
                    self.write_file(IFILE, Class::Data);
                }
            }
            if self.inodes[IFILE as usize].must_be_written() {
                wrote = true;
                self.write_inode(IFILE);
            }
            self.close();
            if self.ended.is_some() || !self.inodes[IFILE as usize].has_dirty() {
                return wrote;
            }
        }
    }

    fn write_superblock(&mut self, copy: u32) {
        self.count_bytes(SUPERBLOCK_BYTES, 1);
        let start_bytes = self.geometry.superblock_start(copy);
        self.emit_raw(true, start_bytes, SUPERBLOCK_BYTES, false);
    }

    /// Superblocks, and the segments that are free when they are on disk.
    fn write_superblocks(&mut self, purpose: Purpose) {
        let active = self.active_superblock;
        let other = 1 - active;
        let copies = if purpose == Purpose::Reclaim {
            [None, Some(other)]
        } else {
            [Some(active), Some(other)]
        };
        for copy in copies.into_iter().flatten() {
            let segment = copy * self.geometry.superblock_step;
            self.usage.change(segment).last_write = self.now;
            self.write_superblock(copy);
        }
        self.active_superblock = other;
        for segment in self.empty_segments() {
            if self.usage[segment].was_empty || purpose != Purpose::Reclaim {
                self.free_segment(segment);
            } else {
                self.usage.change(segment).was_empty = true;
            }
        }
        self.choose_next();
        for copy in copies.into_iter().flatten() {
            self.record_superblock(copy);
        }
    }

    /// With roll-forward the superblock has to say where the log goes on, if that is known only now.
    fn choose_next(&mut self) {
        if self.params.roll_forward && self.next.is_none() {
            self.next = self.usage.clean_behind(self.current);
        }
    }

    /// A segment is clean.
    pub(super) fn free_segment(&mut self, segment: u32) {
        let block = self.geometry.block_sectors();
        let usage = self.usage[segment];
        self.bfree += i64::from(usage.summaries + usage.inode_blocks * block);
        self.usage.free(segment);
        self.usage_changed(segment);
        self.dirty(IFILE, 0);
    }

    /// Marked inodes are as others again; removed ones are freed.
    fn unmark(&mut self) {
        for slot in std::mem::take(&mut self.marked) {
            let inode = &mut self.inodes[slot as usize];
            inode.set(Inode::MARKED, false);
            if inode.is(Inode::REMOVED) {
                self.free_inode(slot);
            }
        }
    }

    /// A file goes to disk.
    pub(super) fn flush_one(&mut self, slot: u32) {
        match self.params.variant {
            Variant::Lite2 => self.fsync_lite2(slot),
            Variant::NetBsd => self.fsync_netbsd(slot),
        }
    }

    fn fsync_netbsd(&mut self, slot: u32) {
        let inode = &self.inodes[slot as usize];
        if inode.is(Inode::MARKED) {
            self.write_everything();
            return;
        }
        let data = inode.pending().is_some_and(|p| !p.data.is_empty());
        if data {
            self.lock(false);
            self.open.wait = true;
            self.write_pages(slot);
            self.close();
            self.unlock();
        }
        if !self.inodes[slot as usize].is(Inode::MODIFIED) {
            return;
        }
        if self.active > self.params.max_active || self.usage.clean() < SCARCE {
            self.checkpoint_for(Purpose::Sync);
        } else {
            self.lock(false);
            self.open.wait = true;
            self.write_pointers(slot);
            self.write_inode(slot);
            self.close();
            self.unlock();
        }
        if data {
            self.inode_changed(slot);
        }
    }

    /// All files, without a checkpoint.
    fn write_everything(&mut self) {
        let slots = self.listed_in_order();
        self.lock(false);
        for marked in [false, true] {
            self.write_files(&slots, marked);
        }
        self.flush_directory_operations();
        self.close();
        self.unlock();
        self.unmark();
        self.tidy_list();
    }

    /// A checkpoint that does not wait for clean segments, as far as there is room for one: it makes more of them.
    pub(super) fn checkpoint_at_once(&mut self) {
        match self.params.variant {
            Variant::Lite2 => self.write_segments(true, false),
            Variant::NetBsd => self.checkpoint_for(Purpose::Sync),
        }
    }

    /// A segment write of `lite2`, which is a checkpoint if asked for or after many segments.
    pub(super) fn segment_write(&mut self, asked: bool) {
        self.wait_for_clean_segments();
        if self.ended.is_some() {
            return;
        }
        let segments = self.switches;
        self.write_segments(asked || self.active > self.params.max_active, false);
        self.after_writing(segments);
    }

    /// The cleaner looks whether it has to work when a segment was begun.
    fn after_writing(&mut self, segments: u64) {
        if self.switches != segments && self.params.foreground_cleaning {
            self.run_cleaner();
        }
    }

    pub(super) fn write_segments(&mut self, checkpoint: bool, wait: bool) {
        let slots = self.listed_in_order();
        let dirty_blocks = self.dirty_data + self.dirty_pointers;
        self.lock(false);
        let most = self.params.wait_threshold_blocks;
        let behind_dirops = self.params.dirops_wait && self.ifile_due;
        self.open.wait = wait || behind_dirops || most > 0 && dirty_blocks > most;
        self.write_dirty(&slots, false);
        if !self.marked.is_empty() {
            self.write_dirty(&slots, true);
            self.end_directory_operation();
            self.unmark();
        }
        if checkpoint {
            self.usage.end_active(None);
            for block in 0..self.geometry.usage_blocks {
                self.dirty(IFILE, 1 + block as i32);
            }
        }
        if checkpoint {
            self.write_ifile();
        } else if self.ifile_due {
            self.write_file(IFILE, Class::Data);
            self.write_inode(IFILE);
            self.close();
        } else {
            self.close();
        }
        self.ifile_due &= self.params.doifile_sticky;
        self.unlock();
        if checkpoint && self.ended.is_none() {
            self.active = 0;
            self.write_superblock(0);
            if self.params.roll_forward {
                self.free_empty_segments();
            }
            self.record_superblock(0);
        }
        self.tidy_list();
    }

    /// Inodes that are marked, or those that are not, each behind its dirty blocks. Removed files are not written.
    fn write_dirty(&mut self, slots: &[u32], marked: bool) {
        for &slot in slots {
            let inode = &self.inodes[slot as usize];
            if inode.is(Inode::REMOVED) || inode.is(Inode::MARKED) != marked {
                continue;
            }
            let (dirty, modified) = (inode.has_dirty(), inode.must_be_written());
            if dirty {
                self.write_file(slot, Class::Data);
            }
            if dirty || modified {
                self.write_inode(slot);
            }
        }
    }

    /// `lite2` with roll-forward: segments without live bytes are free, now that no checkpoint leads to them.
    fn free_empty_segments(&mut self) {
        for segment in self.empty_segments() {
            self.free_segment(segment);
        }
        self.choose_next();
    }

    /// Enough dirty blocks have come together: they go to disk.
    pub(super) fn flush(&mut self) {
        match self.params.variant {
            Variant::Lite2 => self.segment_write(false),
            Variant::NetBsd => self.write_everything(),
        }
    }

    fn fsync_lite2(&mut self, slot: u32) {
        if self.active > self.params.max_active {
            self.segment_write(true);
            return;
        }
        let inode = &self.inodes[slot as usize];
        // The cleaner writes an inode whose blocks wait in the cache, which 4.4BSD then takes for all written.
        let waits = self.params.roll_forward && inode.has_dirty();
        if !inode.is(Inode::MODIFIED) && !waits {
            return;
        }
        self.wait_for_clean_segments();
        if self.ended.is_some() {
            return;
        }
        let segments = self.switches;
        if self.inodes[slot as usize].is(Inode::MARKED) {
            self.write_segments(false, true);
        } else {
            self.write_one(slot);
        }
        self.after_writing(segments);
    }

    /// A file and its inode in partial segments of their own.
    fn write_one(&mut self, slot: u32) {
        let slots = self.listed_in_order();
        self.lock(false);
        self.open.wait = true;
        if !self.inodes[slot as usize].has_dirty() {
            for other in slots {
                let inode = &self.inodes[other as usize];
                let whole = !inode.has_dirty() && !inode.is(Inode::MARKED);
                if inode.must_be_written() && whole {
                    self.write_inode(other);
                }
            }
        }
        self.write_file(slot, Class::Data);
        self.write_inode(slot);
        self.close();
        self.unlock();
        self.tidy_list();
    }
}
