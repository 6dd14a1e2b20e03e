//! The host: what it does with each wish of a file system.

use crate::cache::{Cache, NONE, State};
use crate::counters::HostCounters;
use crate::driver::Driver;
use crate::params::{FlushClustering, HostParams, Metadata};
use fsage_core::{Buffer, BufferId, Flush, Io, Work};
use fsage_disk::{Access, Device, Request, SECTOR_BYTES, scheduler};

/// One process, one processor, one device, and the kernel between them.
pub struct Host<D: Device> {
    pub(crate) params: HostParams,
    pub(crate) block_bytes: u32,
    pub(crate) cache: Cache,
    pub(crate) driver: Driver<D>,
    pub(crate) counters: HostCounters,
    /// Buffers of the request that is being put together, in the order of their addresses.
    pub(crate) batch: Vec<u32>,
    /// Buffers or owners that a loop goes through while the cache changes.
    pub(crate) scratch: Vec<u32>,
    /// The block of a file that the process is reading.
    pub(crate) asked: Option<u32>,
    superblock: Vec<Io>,
    /// Requests of each direct read that are not complete.
    direct_reads: Vec<Vec<u64>>,
    /// Something was changed since the last sync.
    changed: bool,
    cpu_ns: u64,
    next_sync_ns: u64,
    start_sector: u64,
    recording: bool,
    recorded: Vec<IoRequest>,
}

/// A system call that reads past the cache.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DirectRead {
    /// Buffers that must be in the cache to know where the data lie.
    pub needs: Vec<Io>,
    /// First byte and length in bytes of each range.
    pub ranges: Vec<(u64, u64)>,
}

/// A range in requests of at most so many bytes.
fn in_requests(start: u64, bytes: u64, most: u64) -> impl Iterator<Item = (u64, u64)> {
    let end = start + bytes;
    let requests = (0..bytes.div_ceil(most)).map(move |i| start + i * most);
    requests.map(move |at| (at, most.min(end - at)))
}

/// A request to the device, as the host issued it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoRequest {
    /// When it was issued, in nanoseconds.
    pub issue_ns: u64,
    /// Direction.
    pub access: Access,
    /// The process waits for it at once.
    pub wait: bool,
    /// First byte, from the start of the file system.
    pub start_bytes: u64,
    /// Length in bytes.
    pub bytes: u64,
    /// What its first buffer holds; `None` past the cache, and for a neighbor that comes along with a group.
    pub first: Option<BufferId>,
    /// Its buffers; 0 past the cache.
    pub buffers: u32,
    /// The block that the process was reading.
    pub asked: Option<u32>,
}

impl<D: Device> Host<D> {
    /// A host with an empty cache at time 0, and a file system with blocks of `block_bytes` on its device, from
    /// `start_sector` on.
    ///
    /// # Panics
    /// If `params` name no scheduler: [`HostParams::parse`] checks that.
    pub fn new(params: &HostParams, device: D, start_sector: u64, block_bytes: u32) -> Host<D> {
        let scheduler =
            scheduler::by_name(&params.scheduler).expect("a scheduler that was checked");
        let mut params = params.clone();
        let longest = u64::from(device.longest_request()) * SECTOR_BYTES;
        let longest = u32::try_from(longest).unwrap_or(u32::MAX);
        params.max_transfer_bytes = params.max_transfer_bytes.min(longest);
        params.sync_transfer_bytes = params.sync_transfer_bytes.min(longest);
        Host {
            block_bytes,
            cache: Cache::new(),
            driver: Driver::new(device, start_sector, scheduler, params.queue_depth),
            counters: HostCounters::default(),
            batch: Vec::new(),
            scratch: Vec::new(),
            asked: None,
            superblock: Vec::new(),
            direct_reads: Vec::new(),
            changed: false,
            cpu_ns: 0,
            next_sync_ns: params.sync_interval_ns,
            params,
            start_sector,
            recording: false,
            recorded: Vec::new(),
        }
    }

    /// The clock of the process, in nanoseconds.
    pub fn now_ns(&self) -> u64 {
        self.driver.now_ns
    }

    /// Time that the processor worked so far, in nanoseconds.
    pub fn cpu_ns(&self) -> u64 {
        self.cpu_ns
    }

    /// The device. What it was asked and has not begun yet is not in its counters.
    pub fn device(&self) -> &D {
        &self.driver.device
    }

    /// The same, to change what lies on it while nothing is in flight.
    pub fn device_mut(&mut self) -> &mut D {
        &mut self.driver.device
    }

    /// The device, when nothing is in flight any more.
    pub fn into_device(mut self) -> D {
        self.wait_idle();
        self.driver.device
    }

    /// Nothing happens until that time but what the system does by itself.
    pub fn idle_until(&mut self, ns: u64) {
        self.driver.now_ns = self.driver.now_ns.max(ns);
        self.tick();
    }

    /// The sector of the device at which the file system begins.
    pub fn start_sector(&self) -> u64 {
        self.start_sector
    }

    /// Bytes that a file system can have on the device.
    pub fn capacity_bytes(&self) -> u64 {
        self.device().sectors().saturating_sub(self.start_sector) * SECTOR_BYTES
    }

    /// Sums so far.
    pub fn counters(&self) -> &HostCounters {
        &self.counters
    }

    /// Keeps every request from now on, or no longer. What was kept before is dropped.
    pub fn record(&mut self, on: bool) {
        self.recording = on;
        self.recorded.clear();
    }

    /// The requests since [`Host::record`], in the order of their issue.
    pub fn recorded(&self) -> &[IoRequest] {
        &self.recorded
    }

    /// What every sync of a changed file system ends with, from now on ([`fsage_core::Hosted::superblock`]).
    pub fn set_superblock(&mut self, io: Vec<Io>) {
        self.superblock = io;
    }

    /// The processor time of one system call.
    pub fn call(&mut self) {
        self.compute(self.params.cpu.call_ns);
    }

    /// The process computes for so many nanoseconds.
    pub fn compute(&mut self, ns: u64) {
        self.work(ns);
        self.tick();
    }

    /// Does what an operation asks for, in order.
    ///
    /// # Panics
    /// If a buffer lies beyond the device: [`Host::capacity_bytes`] says how far it goes.
    pub fn execute(&mut self, io: &[Io]) {
        for &io in io {
            self.tick();
            self.perform(match io {
                Io::Modify(buffer, flush) => Io::Modify(buffer, self.soft(flush)),
                Io::Fill(buffer, flush) => Io::Fill(buffer, self.soft(flush)),
                other => other,
            });
        }
    }

    /// Starts the writes of all dirty buffers: those of files, the most recent file first, then those of the
    /// device, and the superblock if anything has changed since the last time. It waits for nothing.
    pub fn sync(&mut self) {
        self.settle();
        self.counters.syncs += 1;
        self.flush_all();
        if std::mem::take(&mut self.changed) {
            let superblock = std::mem::take(&mut self.superblock);
            for &io in &superblock {
                self.perform(io);
            }
            self.superblock = superblock;
            self.changed = false;
        }
    }

    /// Writes all dirty buffers of a file and waits for them, then does the rest of `emitted`, which writes its inode.
    /// What of its data got a place only now is emitted there, and is written as well. With barriers the device is
    /// flushed then.
    pub fn fsync(&mut self, ino: u64, emitted: &[Io]) {
        self.settle();
        let is_placed = |io: &&Io| match io {
            Io::Assign(buffer) | Io::Modify(buffer, Flush::Delayed) => buffer.id.ino() == Some(ino),
            _ => false,
        };
        for &io in emitted.iter().filter(is_placed) {
            self.perform(io);
        }
        let file = self.cache.file_of(ino);
        self.flush_file(file);
        while self.cache.file(file).writing > 0 && self.wait_for_any() {}
        for &io in emitted.iter().filter(|io| !is_placed(io)) {
            self.perform(io);
        }
        self.flush_device();
    }

    /// Where there are barriers what the device has taken reaches its media.
    fn flush_device(&mut self) {
        if self.params.barriers {
            self.counters.flushes += 1;
            let tag = self.driver.arrive(Request::new(Access::Flush, 0, 0), NONE);
            self.wait_for(tag);
        }
    }

    /// Trims ranges, first byte and length of each, as far as they are whole blocks; the process waits for them.
    pub fn trim(&mut self, ranges: impl IntoIterator<Item = (u64, u64)>) {
        let most = u64::from(u32::MAX / 2) / SECTOR_BYTES * SECTOR_BYTES;
        for (start, bytes) in ranges {
            for (at, bytes) in in_requests(start, bytes, most) {
                self.driver.start(Access::Trim, at, bytes, NONE);
            }
        }
        self.wait_idle();
    }

    /// Waits for all requests in flight.
    pub fn wait_idle(&mut self) {
        while self.wait_for_any() {}
    }

    /// Unmounts and mounts: writes everything, waits for it, and empties the cache and what is known of files. A
    /// buffer that is still [`Flush::Held`] is lost: its file system writes its log before.
    pub fn remount(&mut self) {
        self.sync();
        self.wait_idle();
        self.cache.clear();
    }

    /// With soft updates nothing waits.
    fn soft(&self, flush: Flush) -> Flush {
        match (flush, self.params.metadata) {
            (Flush::Sync, Metadata::SoftUpdates) => Flush::Delayed,
            _ => flush,
        }
    }

    fn perform(&mut self, io: Io) {
        match io {
            Io::Need(buffer) => {
                let slot = self.need(buffer);
                self.cache.release(slot, false);
            }
            Io::NeedGroup(buffer, group) => {
                let slot = self.need_with_group(buffer, group);
                self.cache.release(slot, false);
            }
            Io::Modify(buffer, flush) => {
                let slot = self.need(buffer);
                self.change(slot, buffer, flush, false);
            }
            Io::Fill(buffer, flush) => {
                let slot = self.look_up(buffer).unwrap_or_else(|| {
                    self.make_room(u64::from(buffer.bytes));
                    self.cache
                        .insert(Some(buffer.id), buffer.start_bytes, buffer.bytes)
                });
                let data = matches!(buffer.id, BufferId::Data { .. });
                self.change(slot, buffer, flush, data);
            }
            Io::Place(buffer) => {
                if let Some(slot) = self.cache.find(buffer.id) {
                    self.ready(slot);
                    self.cache.reshape(slot, buffer.start_bytes, buffer.bytes);
                    self.cache.dirty(slot);
                    self.changed = true;
                }
            }
            Io::Push { ino, first, last } => self.push(ino, first, last),
            Io::Discard { ino, from } => self.discard(ino, from),
            Io::Forget(id) => {
                if let Some(slot) = self.cache.find(id) {
                    self.ready(slot);
                    self.cache.remove(slot);
                }
            }
            Io::Copy { bytes } => self.copy(u64::from(bytes)),
            Io::Work(Work::Create) => self.work(self.params.cpu.create_ns),
            Io::Work(Work::Delete) => self.work(self.params.cpu.delete_ns),
            Io::Raw {
                write,
                start_bytes,
                bytes,
                wait,
            } => self.raw(write, start_bytes, bytes, wait),
            Io::Swapped { places, bytes } => self.swap(places, bytes),
            Io::Flush => self.flush_device(),
            Io::Assign(buffer) => {
                if let Some(slot) = self.cache.find(buffer.id) {
                    self.ready(slot);
                    self.cache.assign(slot, buffer.start_bytes, buffer.bytes);
                }
            }
        }
    }

    /// A buffer that is in the cache and not busy has changed.
    fn change(&mut self, slot: u32, buffer: Buffer, flush: Flush, age: bool) {
        self.changed = true;
        match flush {
            Flush::Held => self.cache.hold(slot),
            Flush::Delayed => {
                self.cache.dirty(slot);
                self.cache.release(slot, false);
            }
            Flush::Sync | Flush::Async => {
                if self.cache.entry(slot).state == State::Held {
                    self.cache.assign(slot, buffer.start_bytes, buffer.bytes);
                }
                self.batch.clear();
                self.batch.push(slot);
                if self.params.flush_clustering == FlushClustering::DeviceForced {
                    self.gather(slot, self.params.max_transfer_bytes);
                }
                let wait = flush == Flush::Sync;
                let tag = self.issue(Access::Write, wait, age);
                if wait {
                    self.wait_for(tag);
                }
            }
        }
    }

    /// The data of a file from a block on are gone.
    fn discard(&mut self, ino: u64, from: u32) {
        let file = self.cache.file_of(ino);
        let mut slots = std::mem::take(&mut self.scratch);
        self.cache.buffers_of(file, &mut slots);
        for &slot in &slots {
            let id = self.cache.entry(slot).id;
            if matches!(id, Some(BufferId::Data { lbn, .. }) if lbn >= from) {
                self.ready(slot);
                self.cache.remove(slot);
            }
        }
        self.scratch = slots;
        if from == 0 {
            self.cache.forget_file(file);
        }
    }

    /// Reads past the cache, as a program does that keeps up to `depth` direct reads at work. Each of `calls` is one,
    /// with what its system call needs first, and then its ranges: first byte, from the start of the file system, and
    /// length. Requests of one call go together; the process waits until all are complete.
    pub fn read_direct(&mut self, calls: impl IntoIterator<Item = DirectRead>, depth: usize) {
        let most = u64::from(self.params.max_transfer_bytes);
        for call in calls {
            self.wait_for_direct_reads(depth.max(1) - 1);
            self.call();
            self.execute(&call.needs);
            let ranges = call.ranges.into_iter();
            let requests = ranges.flat_map(|(start, bytes)| in_requests(start, bytes, most));
            let tags = requests.map(|(at, bytes)| self.start(Access::Read, at, bytes, NONE, true));
            let tags = tags.collect();
            self.direct_reads.push(tags);
        }
        self.wait_for_direct_reads(0);
    }

    /// Waits until no more than so many direct reads are at work.
    fn wait_for_direct_reads(&mut self, most: usize) {
        loop {
            self.direct_reads.retain(|tags| !tags.is_empty());
            if self.direct_reads.len() <= most || !self.wait_for_any() {
                return;
            }
        }
    }

    /// The buffers of two ranges change places.
    fn swap(&mut self, [one, other]: [u64; 2], bytes: u64) {
        let mut swapped = Vec::new();
        for (from, to) in [(one, other), (other, one)] {
            for at in (0..bytes).step_by(SECTOR_BYTES as usize) {
                if let Some(slot) = self.cache.find_at(from + at) {
                    swapped.push((slot, to + at));
                }
            }
        }
        for (slot, start_bytes) in swapped {
            self.ready(slot);
            let length = self.cache.entry(slot).bytes;
            self.cache.reshape(slot, start_bytes, length);
        }
    }

    /// A transfer past the cache, in requests as long as they may be.
    fn raw(&mut self, write: bool, start_bytes: u64, bytes: u64, wait: bool) {
        let access = if write { Access::Write } else { Access::Read };
        let most = u64::from(self.params.max_transfer_bytes);
        let end_bytes = start_bytes + bytes;
        // Where the device takes several, they go together.
        let together = self.driver.takes_several();
        let mut tags = Vec::new();
        for (at, bytes) in in_requests(start_bytes, bytes, most) {
            tags.push(self.start(access, at, bytes, NONE, wait));
            if wait && (!together || at + bytes >= end_bytes) {
                for tag in tags.drain(..) {
                    self.wait_for(tag);
                }
            }
        }
    }

    /// The buffer, read first if it is not in the cache; not busy.
    pub(crate) fn need(&mut self, buffer: Buffer) -> u32 {
        if let Some(slot) = self.look_up(buffer) {
            self.counters.hits += 1;
            return slot;
        }
        self.counters.misses += 1;
        let (slot, tag) = self.start_read(buffer, 1, true);
        self.wait_for(tag);
        slot
    }

    /// The same; what is not in the cache is read with its group.
    fn need_with_group(&mut self, buffer: Buffer, group: (u64, u64)) -> u32 {
        if let Some(slot) = self.look_up(buffer) {
            self.counters.hits += 1;
            return slot;
        }
        self.counters.misses += 1;
        self.read_group(buffer, group)
    }

    /// The buffer if it is in the cache, in the form that is now asked for; not busy.
    fn look_up(&mut self, buffer: Buffer) -> Option<u32> {
        let slot = self.find(buffer)?;
        self.ready(slot);
        self.cache.reshape(slot, buffer.start_bytes, buffer.bytes);
        Some(slot)
    }

    /// The buffer if it is in the cache or on its way, by its identity, or by its address if it came with a group.
    pub(crate) fn find(&mut self, buffer: Buffer) -> Option<u32> {
        if let Some(slot) = self.cache.find(buffer.id) {
            return Some(slot);
        }
        let slot = self.cache.adopt(buffer)?;
        self.counters.adopted += 1;
        Some(slot)
    }

    /// Reuses buffers until so many bytes are free. Dirty ones are written first. When all are busy the process
    /// waits; when all are held the cache grows.
    pub(crate) fn make_room(&mut self, bytes: u64) {
        while self.cache.used_bytes() + bytes > self.params.cache_bytes {
            self.settle();
            match self.cache.next_for_reuse() {
                Some(slot) if self.cache.entry(slot).state == State::Dirty => {
                    self.counters.reused_dirty += 1;
                    self.flush(slot, true, self.params.max_transfer_bytes);
                }
                Some(slot) => {
                    self.counters.reused += 1;
                    self.cache.remove(slot);
                }
                None if self.wait_for_any() => {}
                None => break,
            }
        }
    }

    /// Waits until a buffer is not busy.
    pub(crate) fn ready(&mut self, slot: u32) {
        let entry = self.cache.entry(slot);
        if entry.busy() {
            let tag = entry.tag;
            self.wait_for(tag);
        }
    }

    /// Issues one request for the buffers of the batch, and gives its label. `wait` says that the caller will wait
    /// for it.
    pub(crate) fn issue(&mut self, access: Access, wait: bool, age: bool) -> u64 {
        let first = self.batch[0];
        let last = self.batch[self.batch.len() - 1];
        let start_bytes = self.cache.entry(first).start_bytes;
        let bytes = self.cache.entry(last).end_bytes() - start_bytes;
        let tag = self.start(access, start_bytes, bytes, first, wait);
        let mut before = NONE;
        for &slot in &self.batch {
            self.cache.begin(slot, access == Access::Write, tag, age);
            if before != NONE {
                self.cache.chain(before, slot);
            }
            before = slot;
        }
        tag
    }

    fn start(
        &mut self,
        access: Access,
        start_bytes: u64,
        bytes: u64,
        first: u32,
        wait: bool,
    ) -> u64 {
        let counters = &mut self.counters;
        let (requests, sum) = match (access, wait) {
            (Access::Write, true) => (&mut counters.sync_writes, &mut counters.written_bytes),
            (Access::Write, false) => (&mut counters.async_writes, &mut counters.written_bytes),
            (_, true) => (&mut counters.sync_reads, &mut counters.read_bytes),
            (_, false) => (&mut counters.async_reads, &mut counters.read_bytes),
        };
        *requests += 1;
        *sum += bytes;
        self.work(match self.driver.in_flight() {
            0 => self.params.cpu.request_ns,
            _ => self.params.cpu.further_request_ns,
        });
        if self.recording {
            let cached = first != NONE;
            self.recorded.push(IoRequest {
                issue_ns: self.driver.now_ns,
                access,
                wait,
                start_bytes,
                bytes,
                first: cached.then(|| self.cache.entry(first).id).flatten(),
                buffers: if cached { self.batch.len() as u32 } else { 0 },
                asked: self.asked,
            });
        }
        self.driver.start(access, start_bytes, bytes, first)
    }

    pub(crate) fn wait_for(&mut self, tag: u64) {
        self.counters.wait_ns += self.driver.wait(tag);
        self.settle();
    }

    fn wait_for_any(&mut self) -> bool {
        let waited = self.driver.wait_for_any();
        self.counters.wait_ns += waited.unwrap_or(0);
        self.settle();
        waited.is_some()
    }

    /// Takes notice of what is complete by now.
    pub(crate) fn settle(&mut self) {
        while let Some(tag) = self.driver.completed() {
            for tags in &mut self.direct_reads {
                tags.retain(|&at_work| at_work != tag);
            }
            let mut slot = Driver::<D>::first_buffer(tag);
            while slot != NONE {
                let next = self.cache.entry(slot).next_in_request;
                self.cache.end(slot);
                slot = next;
            }
        }
    }

    /// The kernel gets the processor: it takes notice of what is complete, and calls sync when that is due.
    pub(crate) fn tick(&mut self) {
        self.settle();
        let interval_ns = self.params.sync_interval_ns;
        if interval_ns > 0 && self.driver.now_ns >= self.next_sync_ns {
            self.next_sync_ns = (self.driver.now_ns / interval_ns + 1) * interval_ns;
            self.sync();
        }
    }

    /// Copies data between the process and the kernel.
    pub(crate) fn copy(&mut self, bytes: u64) {
        self.work(bytes * self.params.cpu.copy_ns_per_4k / 4096);
    }

    fn work(&mut self, ns: u64) {
        self.driver.now_ns += ns;
        self.cpu_ns += ns;
    }
}
