//! Aging after Herrin and Finkel, with the tables that Ganger and Kaashoek used for the evaluation of C-FFS (USENIX
//! 1997, section 4.3): creates and deletes at random, and the fuller the file system, the less likely a create.
//!
//! An operation looks at the fullness j (whole percent, rounded down), draws r from 0 to 99, and creates if
//! **r <= p(j)**: so p = 0 still creates once in a hundred times, and p = 85 means 86 %. Ganger and Kaashoek's program
//! had it so, and so it stays.
//!
//! It fills in generations of 1,000 operations until the fullness, tested after each, has reached the target; then
//! come 100 generations more. Here a generation is a day.

use crate::text_size;
use fsage_core::rng::AliasTable;
use fsage_core::{
    DirId, Event, EventSink, FileId, Op, Origin, Rng, SinkError, TQuality, WorkloadHeader,
};
use serde::{Deserialize, Serialize};

const DAY_NS: u64 = 86_400_000_000_000;
/// A fill that has not come to its target after so many generations never will.
const MAX_FILL_GENERATIONS: u64 = 50_000;

/// Parameters. Sizes are in blocks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Herrin {
    /// Blocks of the file system.
    pub blocks: u64,
    /// Size of a block.
    #[serde(with = "text_size")]
    pub block_bytes: u64,
    /// Directories, all in the root; each counts as one block from the start.
    pub directories: u64,
    /// Filling ends at this fullness.
    pub target_percent: u64,
    /// Fullness below which, and p: the first that holds counts. The last is for 101 %.
    pub create_percent: Vec<(u64, u64)>,
    /// Size in blocks, and how many of all entries of the table have it.
    pub sizes_blocks: Vec<(u64, u64)>,
    /// Operations of a generation.
    pub generation_operations: u64,
    /// Generations after the file system is filled.
    pub generations: u64,
}

/// What came out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HerrinSummary {
    /// Operations, those that make directories included.
    pub operations: u64,
    /// Generations of filling.
    pub fill_generations: u64,
    /// All generations.
    pub generations: u64,
    /// Creates.
    pub creates: u64,
    /// Of these, files made smaller than drawn for lack of space.
    pub cut: u64,
    /// Deletes that found no file.
    pub nothing_to_delete: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Files at the end.
    pub files: u64,
    /// Blocks in use at the end.
    pub used_blocks: u64,
    /// Largest and smallest fullness at the end of a generation after filling, in tenths of a percent.
    pub fullness_permille: (u64, u64),
}

impl Herrin {
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
        within("directories", self.directories, 1, 1_000_000)?;
        within("blocks", self.blocks, self.directories + 1, 1 << 40)?;
        within("block_bytes", self.block_bytes, 1, 1 << 20)?;
        within("target_percent", self.target_percent, 0, 98)?;
        within(
            "generation_operations",
            self.generation_operations,
            1,
            1_000_000_000,
        )?;
        within("generations", self.generations, 0, 50_000)?;
        let rises = self.create_percent.windows(2).all(|w| w[0].0 < w[1].0);
        let percents = self.create_percent.iter().all(|c| c.1 <= 100);
        let ends = self.create_percent.last().is_some_and(|c| c.0 == 101);
        if !rises || !percents || !ends || self.create_percent.len() > 101 {
            return Err(
                "create_percent: expected [fullness below which, percent] rising to 101, percents up to 100".into(),
            );
        }
        let sizes = self.sizes_blocks.iter();
        let fit = sizes
            .clone()
            .all(|s| (1..=1 << 30).contains(&s.0) && s.1 <= 1 << 30);
        let some = sizes.clone().any(|s| s.1 > 0);
        if !fit || !some || self.sizes_blocks.len() > 1000 {
            return Err("sizes_blocks: expected [blocks, entries], not all without entries".into());
        }
        Ok(())
    }

    /// The same percentages on another size.
    #[must_use]
    pub fn with_capacity(mut self, bytes: u64) -> Herrin {
        self.blocks = bytes / self.block_bytes.max(1);
        self
    }

    /// What can be said of the workload before it is made.
    pub fn header(&self, seed: u64) -> WorkloadHeader {
        WorkloadHeader {
            epoch_unix_s: Some(0),
            capacity_bytes: Some(self.blocks * self.block_bytes),
            block_bytes: Some(self.block_bytes),
            seed: Some(seed),
            ..WorkloadHeader::default()
        }
    }

    /// Percent p at a fullness of `j` percent.
    fn p(&self, j: u64) -> u64 {
        let row = self.create_percent.iter().find(|c| j < c.0);
        row.map_or(0, |c| c.1)
    }

    /// Makes the workload: the directories, then the generations, each ended by `day N`, N from 1; its operations are
    /// spread evenly over the day.
    ///
    /// # Errors
    /// The parameters do not hold together (see [`Herrin::check`]), the target is never reached, or what the sink
    /// fails with.
    pub fn generate(
        &self,
        seed: u64,
        sink: &mut dyn EventSink,
    ) -> Result<HerrinSummary, SinkError> {
        self.check()?;
        let weights: Vec<u64> = self.sizes_blocks.iter().map(|s| s.1).collect();
        let mut disk = Disk {
            herrin: self,
            sink,
            sizes: AliasTable::new(&weights),
            directories: vec![Vec::new(); self.directories as usize],
            used: self.directories,
            files: 0,
            next_file: 0,
            t_ns: 0,
            rng: Rng::new(seed).stream("herrin", 0),
            summary: HerrinSummary::default(),
        };
        for i in 1..=self.directories {
            let op = Op::Mkdir {
                dir: DirId(i),
                parent: Some(DirId::ROOT),
            };
            disk.emit(op, Some(&format!("d{i}")))?;
        }
        while disk.fullness() < self.target_percent {
            if disk.summary.generations == MAX_FILL_GENERATIONS {
                return Err(format!(
                    "after {MAX_FILL_GENERATIONS} generations the file system is {} % full and not {} %: \
                     raise create_percent below the target",
                    disk.fullness(),
                    self.target_percent
                )
                .into());
            }
            disk.generation()?;
        }
        disk.summary.fill_generations = disk.summary.generations;
        let mut range = (disk.permille(), disk.permille());
        for _ in 0..self.generations {
            disk.generation()?;
            let now = disk.permille();
            range = (range.0.min(now), range.1.max(now));
        }
        let mut summary = disk.summary;
        summary.fullness_permille = range;
        summary.files = disk.files;
        summary.used_blocks = disk.used;
        Ok(summary)
    }
}

/// A file: its id and its blocks.
type File = (FileId, u64);

struct Disk<'a> {
    herrin: &'a Herrin,
    sink: &'a mut dyn EventSink,
    sizes: AliasTable,
    directories: Vec<Vec<File>>,
    used: u64,
    files: u64,
    next_file: u64,
    t_ns: u64,
    rng: Rng,
    summary: HerrinSummary,
}

impl Disk<'_> {
    fn fullness(&self) -> u64 {
        self.used * 100 / self.herrin.blocks
    }

    fn permille(&self) -> u64 {
        self.used * 1000 / self.herrin.blocks
    }

    fn generation(&mut self) -> Result<(), SinkError> {
        let day = self.summary.generations;
        let operations = self.herrin.generation_operations;
        for n in 0..operations {
            let within = u128::from(DAY_NS) * u128::from(n) / u128::from(operations);
            self.t_ns = day * DAY_NS + within as u64;
            if self.rng.below(100) <= self.herrin.p(self.fullness()) {
                self.create()?;
            } else {
                self.delete()?;
            }
        }
        self.summary.generations += 1;
        let end = (day + 1) * DAY_NS - 1;
        let label = (day + 1).to_string();
        self.sink.event(Event::day(&label).at(end as i64))
    }

    fn create(&mut self) -> Result<(), SinkError> {
        let directory = self.rng.below(self.herrin.directories);
        let drawn = self.herrin.sizes_blocks[self.sizes.draw(&mut self.rng)].0;
        let blocks = drawn.min(self.herrin.blocks - self.used);
        self.summary.cut += u64::from(blocks < drawn);
        self.summary.creates += 1;
        let id = FileId(self.next_file);
        self.next_file += 1;
        self.files += 1;
        self.used += blocks;
        self.directories[directory as usize].push((id, blocks));
        let op = Op::Create {
            file: id,
            dir: DirId(directory + 1),
            bytes: blocks * self.herrin.block_bytes,
        };
        self.emit(op, Some(&format!("f{}", id.0)))
    }

    fn delete(&mut self) -> Result<(), SinkError> {
        if self.files == 0 {
            self.summary.nothing_to_delete += 1;
            return Ok(());
        }
        loop {
            let directory = self.rng.below(self.herrin.directories) as usize;
            let files = &mut self.directories[directory];
            if files.is_empty() {
                continue;
            }
            let entry = self.rng.below(files.len() as u64) as usize;
            let (id, blocks) = files.swap_remove(entry);
            self.files -= 1;
            self.used -= blocks;
            return self.emit(Op::Delete { file: id }, None);
        }
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
