//! Servers under load: a set of files, and threads that each go through a loop of operations on it, after the
//! personalities of filebench.
//!
//! Threads become streams that take turns, in an order that is shuffled every round. A turn is one operation, and a
//! write of no more than a chunk, so that files of different streams grow side by side. A file that one stream has
//! open is left alone by the others.
//!
//! *Assumptions*: directories lie in the root, each for as many files as the mean width says; an append is 1 byte to
//! the parameter long, uniformly; `stat` is nothing that ages a file system, and is left out.

use crate::distribution::{Buckets, Distribution};
use crate::space::SpaceRule;
use crate::text_size;
use fsage_core::{
    DirId, Event, EventSink, FileId, Op, Origin, Rng, SinkError, TQuality, WorkloadHeader,
};
use serde::{Deserialize, Serialize};

const DAY_NS: u64 = 86_400_000_000_000;
/// No write goes over this share of the capacity.
const CEILING_PERCENT: u64 = 98;
/// The largest file is so many times the mean one.
const LARGEST_FACTOR: f64 = 64.0;

/// Parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// Days.
    pub days: u64,
    /// Operations of a day.
    pub operations_per_day: u64,
    /// Data space of the file system.
    #[serde(with = "text_size")]
    pub capacity_bytes: u64,
    /// Files that there can be.
    pub files: u64,
    /// Share of them that are there at the start.
    pub preallocated: f64,
    /// Files in a directory.
    pub directory_width: u64,
    /// Mean size of a file.
    #[serde(with = "text_size")]
    pub mean_bytes: u64,
    /// Shape of the gamma distribution of sizes.
    pub shape: f64,
    /// Longest append.
    #[serde(with = "text_size")]
    pub append_bytes: u64,
    /// Longest write of one turn.
    #[serde(with = "text_size")]
    pub chunk_bytes: u64,
    /// Streams.
    pub threads: u64,
    /// What each stream does, over and over.
    pub steps: Vec<Step>,
}

/// A step of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Makes an empty file and has it open.
    Create,
    /// Makes a file, writes all of it, and has it open.
    CreateWhole,
    /// Opens a file at random.
    Open,
    /// Writes at the end of the open file.
    Append,
    /// Reads all of the open file.
    Read,
    /// Flushes the open file.
    Fsync,
    /// Closes the open file.
    Close,
    /// Deletes a file at random.
    Delete,
}

/// What came out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServerSummary {
    /// Operations.
    pub operations: u64,
    /// Of these, what is there at the start.
    pub preallocation_operations: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Days.
    pub days: u64,
    /// Files at the end.
    pub files: u64,
    /// Share of the capacity in use at the start and at the end.
    pub utilization: (f64, f64),
    /// Least and most at the end of a day.
    pub utilization_range: (f64, f64),
    /// Steps left out: no file for them, or no room.
    pub left_out: u64,
}

impl Server {
    /// Checks what may come from outside.
    ///
    /// # Errors
    /// Says which key is wrong, and what was expected.
    pub fn check(&self) -> Result<(), String> {
        let within = |key: &str, value: u64, least: u64, most: u64| {
            if (least..=most).contains(&value) {
                return Ok(());
            }
            Err(format!("{key} = {value}: expected {least} to {most}"))
        };
        within("days", self.days, 1, 100_000)?;
        within(
            "operations_per_day",
            self.operations_per_day,
            1,
            1_000_000_000,
        )?;
        within("capacity_bytes", self.capacity_bytes, 1 << 20, 1 << 50)?;
        within("files", self.files, 1, 10_000_000)?;
        within("directory_width", self.directory_width, 1, 1_000_000_000)?;
        within("mean_bytes", self.mean_bytes, 1, 1 << 40)?;
        within("append_bytes", self.append_bytes, 1, 1 << 40)?;
        within("chunk_bytes", self.chunk_bytes, 512, 1 << 40)?;
        within("threads", self.threads, 1, 10_000)?;
        within("steps", self.steps.len() as u64, 1, 1000)?;
        if !(0.01..=100.0).contains(&self.shape) {
            return Err(format!("shape = {}: expected 0.01 to 100", self.shape));
        }
        if !(0.0..=1.0).contains(&self.preallocated) {
            return Err(format!(
                "preallocated = {}: expected a share from 0 to 1",
                self.preallocated
            ));
        }
        let makes = self.steps.iter().filter(|s| s.makes()).count();
        let deletes = self.steps.iter().filter(|&&s| s == Step::Delete).count();
        if makes != deletes {
            return Err(
                "steps: expected as many deletes as creates, so that the files stay as many".into(),
            );
        }
        Ok(())
    }

    fn sizes(&self) -> Result<Buckets, String> {
        let gamma = Distribution::Gamma {
            mean: self.mean_bytes as f64,
            shape: self.shape,
        };
        gamma.buckets((self.mean_bytes as f64 * LARGEST_FACTOR).max(1.0))
    }

    /// The same load on another size, with as many more files.
    #[must_use]
    pub fn with_capacity(mut self, bytes: u64) -> Server {
        let files =
            u128::from(self.files) * u128::from(bytes) / u128::from(self.capacity_bytes.max(1));
        self.files = u64::try_from(files).unwrap_or(u64::MAX).max(1);
        self.capacity_bytes = bytes;
        self
    }

    /// So many files that this share of the capacity is in use at the start.
    #[must_use]
    pub fn with_utilization(mut self, share: f64) -> Server {
        let space = SpaceRule::FFS;
        if let Ok(sizes) = self.sizes() {
            let mean = sizes.mean_of(|v| space.fragments(v.ceil() as u64) as f64);
            let wanted = share * (self.capacity_bytes / space.fragment_bytes) as f64 / mean;
            self.files = (wanted / self.preallocated.max(0.01)) as u64;
        }
        self
    }

    /// What can be said of the workload before it is made.
    pub fn header(&self, seed: u64) -> WorkloadHeader {
        WorkloadHeader {
            epoch_unix_s: Some(0),
            capacity_bytes: Some(self.capacity_bytes),
            seed: Some(seed),
            ..WorkloadHeader::default()
        }
    }

    /// Makes the workload: directories and preallocated files, then the days, each ended by `day N`, N from 1;
    /// its operations are spread evenly over the day.
    ///
    /// # Errors
    /// The parameters do not hold together (see [`Server::check`]), or what the sink fails with.
    pub fn generate(
        &self,
        seed: u64,
        sink: &mut dyn EventSink,
    ) -> Result<ServerSummary, SinkError> {
        self.check()?;
        let mut load = Load::new(self, seed, sink)?;
        load.preallocate()?;
        let start = load.utilization();
        load.summary.preallocation_operations = load.summary.operations;
        load.summary.utilization_range = (start, start);
        for day in 0..self.days {
            load.day(day)?;
            let now = load.utilization();
            let range = &mut load.summary.utilization_range;
            *range = (range.0.min(now), range.1.max(now));
        }
        let mut summary = load.summary.clone();
        summary.days = self.days;
        summary.files = self.files - load.absent.len() as u64;
        summary.utilization = (start, load.utilization());
        Ok(summary)
    }
}

impl Step {
    fn makes(self) -> bool {
        matches!(self, Step::Create | Step::CreateWhole)
    }
}

/// A place for a file: filebench names its files once, and makes and deletes these.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    id: u64,
    bytes: u64,
}

/// A thread.
#[derive(Clone, Copy, Debug, Default)]
struct Stream {
    step: usize,
    open: Option<u32>,
    /// Bytes of a whole file still to be written.
    left: u64,
}

struct Load<'a> {
    server: &'a Server,
    sink: &'a mut dyn EventSink,
    sizes: Buckets,
    space: SpaceRule,
    slots: Vec<Slot>,
    /// Files that are there and that no stream has open.
    live: Vec<u32>,
    absent: Vec<u32>,
    streams: Vec<Stream>,
    order: Vec<u32>,
    turn: usize,
    used: u64,
    capacity: u64,
    next_id: u64,
    t_ns: u64,
    rng: Rng,
    summary: ServerSummary,
}

impl<'a> Load<'a> {
    fn new(server: &'a Server, seed: u64, sink: &'a mut dyn EventSink) -> Result<Load<'a>, String> {
        let space = SpaceRule::FFS;
        Ok(Load {
            server,
            sink,
            sizes: server.sizes()?,
            space,
            slots: vec![Slot::default(); server.files as usize],
            live: Vec::new(),
            absent: (0..server.files as u32).collect(),
            streams: vec![Stream::default(); server.threads as usize],
            order: (0..server.threads as u32).collect(),
            turn: 0,
            used: 1,
            capacity: server.capacity_bytes / space.fragment_bytes,
            next_id: 0,
            t_ns: 0,
            rng: Rng::new(seed).stream("server", 0),
            summary: ServerSummary::default(),
        })
    }

    fn utilization(&self) -> f64 {
        self.used as f64 / self.capacity as f64
    }

    fn preallocate(&mut self) -> Result<(), SinkError> {
        let server = self.server;
        for dir in 1..=server.files.div_ceil(server.directory_width) {
            let op = Op::Mkdir {
                dir: DirId(dir),
                parent: Some(DirId::ROOT),
            };
            self.used += 1;
            self.emit(op, Some(&format!("d{dir}")))?;
        }
        for _ in 0..(server.files as f64 * server.preallocated) as u64 {
            let Some(slot) = self.pick_absent() else {
                break;
            };
            let bytes = self.draw_size();
            if !self.has_room(0, bytes) {
                self.summary.left_out += 1;
                self.absent.push(slot);
                break;
            }
            self.make(slot, bytes)?;
            self.close(slot);
        }
        Ok(())
    }

    fn day(&mut self, day: u64) -> Result<(), SinkError> {
        let operations = self.server.operations_per_day;
        for n in 0..operations {
            let within = u128::from(DAY_NS) * u128::from(n) / u128::from(operations);
            self.t_ns = day * DAY_NS + within as u64;
            if self.turn == 0 {
                self.rng.shuffle(&mut self.order);
            }
            let stream = self.order[self.turn] as usize;
            self.turn = (self.turn + 1) % self.order.len();
            self.take_turn(stream)?;
        }
        let end = (day + 1) * DAY_NS - 1;
        let label = (day + 1).to_string();
        self.sink.event(Event::day(&label).at(end as i64))
    }

    /// One operation of a stream; none if none of its steps can be done.
    fn take_turn(&mut self, at: usize) -> Result<(), SinkError> {
        let mut stream = self.streams[at];
        let before = self.summary.operations;
        if stream.left > 0 {
            self.write_on(&mut stream)?;
        }
        let steps = self.server.steps.len();
        let mut tries = 0;
        while self.summary.operations == before && tries < steps {
            tries += 1;
            let step = self.server.steps[stream.step];
            stream.step = (stream.step + 1) % steps;
            let done = self.step(step, &mut stream)?;
            self.summary.left_out += u64::from(!done);
        }
        self.streams[at] = stream;
        Ok(())
    }

    /// Does a step; false if it cannot be done.
    fn step(&mut self, step: Step, stream: &mut Stream) -> Result<bool, SinkError> {
        match step {
            Step::Create | Step::CreateWhole => {
                self.close_open(stream);
                let bytes = match step {
                    Step::Create => 0,
                    _ => self.draw_size(),
                };
                if self.absent.is_empty() || !self.has_room(0, bytes) {
                    return Ok(false);
                }
                let Some(slot) = self.pick_absent() else {
                    return Ok(false);
                };
                let first = bytes.min(self.server.chunk_bytes);
                self.make(slot, first)?;
                stream.open = Some(slot);
                stream.left = bytes - first;
                Ok(true)
            }
            Step::Open => {
                self.close_open(stream);
                stream.open = self.pick_live();
                Ok(stream.open.is_some())
            }
            Step::Append => {
                let Some(slot) = stream.open else {
                    return Ok(false);
                };
                let bytes = self.rng.between(1, self.server.append_bytes);
                self.append(slot, bytes)
            }
            Step::Read | Step::Fsync => {
                let Some(slot) = stream.open else {
                    return Ok(false);
                };
                let file = FileId(self.slots[slot as usize].id);
                let op = match step {
                    Step::Read => Op::Read { file, range: None },
                    _ => Op::Fsync { file },
                };
                self.emit(op, None)?;
                Ok(true)
            }
            Step::Close => {
                self.close_open(stream);
                Ok(true)
            }
            Step::Delete => {
                let Some(slot) = self.pick_live() else {
                    return Ok(false);
                };
                let Slot { id, bytes } = self.slots[slot as usize];
                self.used -= self.space.fragments(bytes);
                self.absent.push(slot);
                self.emit(Op::Delete { file: FileId(id) }, None)?;
                Ok(true)
            }
        }
    }

    /// The next chunk of a file that is written whole; what there is no room for stays unwritten.
    fn write_on(&mut self, stream: &mut Stream) -> Result<(), SinkError> {
        let bytes = stream.left.min(self.server.chunk_bytes);
        stream.left -= bytes;
        if let Some(slot) = stream.open
            && !self.append(slot, bytes)?
        {
            self.summary.left_out += 1;
            stream.left = 0;
        }
        Ok(())
    }

    fn append(&mut self, slot: u32, bytes: u64) -> Result<bool, SinkError> {
        let Slot { id, bytes: old } = self.slots[slot as usize];
        if !self.has_room(old, old + bytes) {
            return Ok(false);
        }
        self.slots[slot as usize].bytes = old + bytes;
        self.used += self.space.fragments(old + bytes) - self.space.fragments(old);
        let file = FileId(id);
        self.emit(Op::Append { file, bytes }, None)?;
        Ok(true)
    }

    fn draw_size(&mut self) -> u64 {
        let bucket = self.sizes.draw(&mut self.rng);
        self.sizes.draw_within(bucket, &mut self.rng)
    }

    fn has_room(&self, old: u64, new: u64) -> bool {
        let more = self.space.fragments(new) - self.space.fragments(old);
        self.used + more <= self.capacity * CEILING_PERCENT / 100
    }

    fn make(&mut self, slot: u32, bytes: u64) -> Result<(), SinkError> {
        let id = self.next_id;
        self.next_id += 1;
        self.slots[slot as usize] = Slot { id, bytes };
        self.used += self.space.fragments(bytes);
        let op = Op::Create {
            file: FileId(id),
            dir: DirId(1 + u64::from(slot) / self.server.directory_width),
            bytes,
        };
        self.emit(op, Some(&format!("f{slot}")))
    }

    fn pick_absent(&mut self) -> Option<u32> {
        let at = self.rng.below(self.absent.len() as u64) as usize;
        (at < self.absent.len()).then(|| self.absent.swap_remove(at))
    }

    /// Takes a random file out of those that are closed.
    fn pick_live(&mut self) -> Option<u32> {
        let at = self.rng.below(self.live.len() as u64) as usize;
        if at >= self.live.len() {
            return None;
        }
        Some(self.live.swap_remove(at))
    }

    fn close_open(&mut self, stream: &mut Stream) {
        if let Some(slot) = stream.open.take() {
            self.close(slot);
        }
        stream.left = 0;
    }

    fn close(&mut self, slot: u32) {
        self.live.push(slot);
    }

    fn emit(&mut self, op: Op, name: Option<&str>) -> Result<(), SinkError> {
        self.summary.operations += 1;
        let written = self
            .summary
            .bytes_written
            .saturating_add(op.bytes_written());
        self.summary.bytes_written = written;
        let mut event = Event::new(op)
            .at(self.t_ns as i64)
            .from_source(Origin::Generated, TQuality::Random);
        event.name = name.map(|n| n.as_bytes().into());
        self.sink.event(event)
    }
}
