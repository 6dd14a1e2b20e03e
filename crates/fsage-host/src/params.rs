//! The description of a host: what its TOML file says, checked.

use fsage_disk::{Scheduler, scheduler};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use thiserror::Error;

/// A machine and the input and output part of its kernel. The fields are the keys of the TOML file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostParams {
    /// What it is called.
    pub name: String,
    /// Where it was used.
    pub used_in: String,
    /// Size of the buffer cache, in bytes.
    pub cache_bytes: u64,
    /// Longest request, in bytes.
    #[serde(default = "max_transfer_bytes")]
    pub max_transfer_bytes: u32,
    /// Longest write of a sync of the whole file system, in bytes; 0: as long as any other request.
    #[serde(default)]
    pub sync_transfer_bytes: u32,
    /// What becomes of synchronous writes of metadata.
    #[serde(default)]
    pub metadata: Metadata,
    /// What goes along when a delayed buffer is written.
    #[serde(default)]
    pub flush_clustering: FlushClustering,
    /// What is read before it is asked for.
    #[serde(default)]
    pub read_ahead: ReadAhead,
    /// Longest window of `read_ahead = "window"`, in bytes.
    #[serde(default = "read_ahead_bytes")]
    pub read_ahead_bytes: u32,
    /// Requests at the device at once, if it takes as many.
    #[serde(default = "queue_depth")]
    pub queue_depth: u32,
    /// fsync ends with a flush of the device.
    #[serde(default)]
    pub barriers: bool,
    /// The block that holds the end of a file is read on its own, without read-ahead: FFS does so, LFS does not.
    #[serde(default = "tail_alone")]
    pub tail_alone: bool,
    /// Time from one call of sync by the system to the next, in nanoseconds; 0: it never calls.
    #[serde(default = "sync_interval_ns")]
    pub sync_interval_ns: u64,
    /// Time from one trim of all free space to the next while a device ages, in nanoseconds; 0: nothing is trimmed.
    #[serde(default)]
    pub trim_interval_ns: u64,
    /// Scheduler of the driver's queue, by name.
    #[serde(default = "scheduler_name")]
    pub scheduler: String,
    /// What takes time of the processor.
    pub cpu: Cpu,
    /// Where each value comes from, by key.
    #[serde(default)]
    pub source: BTreeMap<String, String>,
}

/// What becomes of synchronous writes of metadata.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metadata {
    /// The process waits for them.
    #[default]
    Synchronous,
    /// They are delayed, as all others: an emulation of soft updates.
    SoftUpdates,
}

/// What goes along when a delayed buffer is written by sync, fsync, or because it is due for reuse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FlushClustering {
    /// Nothing: one request a buffer, as in 4.4BSD.
    #[default]
    Off,
    /// Dirty buffers of the same file that are its neighbors on the device.
    File,
    /// Dirty buffers that are its neighbors on the device, of whatever they are.
    Device,
    /// The same, and so it is with a write that was forced: C-FFS.
    DeviceForced,
}

/// What is read before it is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadAhead {
    /// Runs of blocks, by the rules of 4.4BSD.
    #[default]
    Clustered,
    /// Windows that double, by the rules of Linux: the next one is on its way while this one is read.
    Window,
    /// Nothing but the group of a block, where it has one.
    None,
}

/// Time of the processor, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cpu {
    /// Copying 4096 bytes between the process and the kernel.
    pub copy_ns_per_4k: u64,
    /// Making a file or directory.
    pub create_ns: u64,
    /// Removing one.
    pub delete_ns: u64,
    /// A system call, with looking up what it needs.
    pub call_ns: u64,
    /// A request to the device, when no other is there.
    #[serde(default)]
    pub request_ns: u64,
    /// A request while others are at the device: a part of its cost is hidden behind them.
    #[serde(default)]
    pub further_request_ns: u64,
}

fn max_transfer_bytes() -> u32 {
    65_536
}

fn read_ahead_bytes() -> u32 {
    131_072
}

fn queue_depth() -> u32 {
    1
}

fn tail_alone() -> bool {
    true
}

fn sync_interval_ns() -> u64 {
    30_000_000_000
}

fn scheduler_name() -> String {
    "disksort".to_owned()
}

/// What is wrong with the description of a host.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HostError {
    /// It is not TOML, or a key is unknown or missing or of the wrong kind.
    #[error("{file}:{line}: {message}")]
    Form {
        /// The file, or the name of the preset.
        file: String,
        /// Line, from 1.
        line: usize,
        /// What is wrong; for an unknown key the known ones.
        message: String,
    },
    /// A value is out of range.
    #[error("{file}: {key}: {message}")]
    Value {
        /// The file, or the name of the preset.
        file: String,
        /// The key, with the table that it stands in.
        key: &'static str,
        /// What was expected.
        message: String,
    },
}

/// Key and message.
type Wrong = (&'static str, String);

/// A second; nothing that a processor does once takes longer.
const CPU_NS: RangeInclusive<u64> = 0..=1_000_000_000;
/// A year.
const INTERVAL_NS: RangeInclusive<u64> = 0..=31_536_000_000_000_000;

impl HostParams {
    /// The preset of that name: see [`crate::presets`].
    pub fn preset(name: &str) -> Option<HostParams> {
        let text = crate::presets::toml_of(name)?;
        Some(HostParams::parse(name, text).expect("a preset that a test reads"))
    }

    /// Reads TOML; `file` is its name in messages.
    ///
    /// # Errors
    /// What is not TOML, an unknown key or one that is missing, a value out of range: with the line or the key.
    pub fn parse(file: &str, text: &str) -> Result<HostParams, HostError> {
        let params: HostParams = toml::from_str(text).map_err(|e| {
            let at = e.span().map_or(0, |span| span.start);
            HostError::Form {
                file: file.to_owned(),
                line: 1 + text.bytes().take(at).filter(|&b| b == b'\n').count(),
                message: e.message().replace('\n', "; "),
            }
        })?;
        params.checked(file)
    }

    /// Reads TOML with other values for some of its keys: `key=value,...`, where a value that is no TOML is a word, and
    /// a key of a table stands behind its name and a dot.
    ///
    /// # Errors
    /// As [`HostParams::parse`], and an option that is no `key=value`.
    pub fn parse_with(file: &str, text: &str, options: &str) -> Result<HostParams, HostError> {
        let params = HostParams::parse(file, text)?;
        if options.is_empty() {
            return Ok(params);
        }
        let file = format!("{file}:{options}");
        let form = |message: String| HostError::Form {
            file: file.clone(),
            line: 1,
            message,
        };
        let mut table: toml::Table = toml::from_str(text).map_err(|e| form(e.to_string()))?;
        for option in options.split(',') {
            let (key, value) = option
                .split_once('=')
                .ok_or_else(|| form(format!("{option}: expected key=value")))?;
            let mut at = &mut table;
            let mut path = key.split('.').peekable();
            while let Some(part) = path.next() {
                if path.peek().is_none() {
                    at.insert(part.to_owned(), value_of(value));
                    break;
                }
                let below = at.entry(part).or_insert_with(|| toml::Table::new().into());
                at = below
                    .as_table_mut()
                    .ok_or_else(|| form(format!("{key}: {part} is no table")))?;
            }
        }
        let params: HostParams = table
            .try_into()
            .map_err(|e: toml::de::Error| form(e.message().replace('\n', "; ")))?;
        params.checked(&file)
    }

    fn checked(self, file: &str) -> Result<HostParams, HostError> {
        match self.check() {
            Ok(()) => Ok(self),
            Err((key, message)) => Err(HostError::Value {
                file: file.to_owned(),
                key,
                message,
            }),
        }
    }

    fn check(&self) -> Result<(), Wrong> {
        for (key, text) in [("name", &self.name), ("used_in", &self.used_in)] {
            if text.lines().count() != 1 {
                return Err((key, "expected one line".to_owned()));
            }
        }
        within("cache_bytes", self.cache_bytes, 65_536..=1 << 40)?;
        let transfer = u64::from(self.max_transfer_bytes);
        within("max_transfer_bytes", transfer, 4096..=16 << 20)?;
        in_sectors("max_transfer_bytes", transfer)?;
        let of_sync = u64::from(self.sync_transfer_bytes);
        if of_sync > 0 {
            within("sync_transfer_bytes", of_sync, transfer..=16 << 20)?;
            in_sectors("sync_transfer_bytes", of_sync)?;
        }
        let window = u64::from(self.read_ahead_bytes);
        within("read_ahead_bytes", window, 4096..=64 << 20)?;
        within("queue_depth", self.queue_depth.into(), 1..=65_536)?;
        within("sync_interval_ns", self.sync_interval_ns, INTERVAL_NS)?;
        within("trim_interval_ns", self.trim_interval_ns, INTERVAL_NS)?;
        if scheduler::by_name(&self.scheduler).is_none() {
            let names = scheduler::ALL.map(Scheduler::name).join(", ");
            let message = format!("expected one of {names}; found {}", self.scheduler);
            return Err(("scheduler", message));
        }
        within("cpu.copy_ns_per_4k", self.cpu.copy_ns_per_4k, CPU_NS)?;
        within("cpu.create_ns", self.cpu.create_ns, CPU_NS)?;
        within("cpu.delete_ns", self.cpu.delete_ns, CPU_NS)?;
        within("cpu.call_ns", self.cpu.call_ns, CPU_NS)?;
        within("cpu.request_ns", self.cpu.request_ns, CPU_NS)?;
        within(
            "cpu.further_request_ns",
            self.cpu.further_request_ns,
            CPU_NS,
        )
    }
}

/// A value of an option: as TOML has it, or else a word.
fn value_of(text: &str) -> toml::Value {
    let line: Result<toml::Table, _> = toml::from_str(&format!("value = {text}"));
    match line.ok().and_then(|mut table| table.remove("value")) {
        Some(value) => value,
        None => toml::Value::String(text.to_owned()),
    }
}

fn in_sectors(key: &'static str, bytes: u64) -> Result<(), Wrong> {
    if bytes.is_multiple_of(512) {
        return Ok(());
    }
    Err((key, format!("expected a multiple of 512, found {bytes}")))
}

fn within(key: &'static str, value: u64, range: RangeInclusive<u64>) -> Result<(), Wrong> {
    if range.contains(&value) {
        return Ok(());
    }
    let (low, high) = range.into_inner();
    Err((key, format!("expected {low} to {high}, found {value}")))
}
