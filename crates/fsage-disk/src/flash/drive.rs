//! The description of a flash device: what its TOML file says, checked.

use crate::drive::{DriveError, OptionError, parse_checked};
use fsage_core::size;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Bytes of a page: what the map counts in.
pub(super) const PAGE_BYTES: u64 = 4096;
/// Erase blocks of a drive whose size the user chose, on each die.
const BLOCK_BYTES: u64 = 16 << 20;

/// A flash device. The fields are the keys of the TOML file; docs/spec/flash.md, section 4, has the model behind them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlashDrive {
    /// What it is called.
    pub name: String,
    /// Where it was used or measured.
    pub used_in: String,
    /// Flash given to the page map, of all partitions.
    pub physical_bytes: u64,
    /// Size shown to the host, in sectors; `physical_bytes` x 100 / 107 if absent.
    #[serde(default)]
    pub logical_sectors: Option<u64>,
    /// Independent translation layers; the number of a page modulo this chooses one.
    #[serde(default = "one")]
    pub partitions: u32,
    /// Channels of the whole drive.
    pub channels: u32,
    /// Dies of a channel.
    pub dies_per_channel: u32,
    /// What a die senses at once, its planes together.
    pub flash_page_bytes: u32,
    /// What a die programs at once, and what goes to one die before the next.
    pub program_bytes: u32,
    /// Erase blocks of a die.
    pub blocks_per_die: u32,
    /// Time to sense a flash page of which 4 KB are wanted, by kind of flash page: lower, upper, and so on.
    pub read_4k_ns: Vec<u64>,
    /// Time to sense a flash page of which more is wanted, by kind.
    pub read_ns: Vec<u64>,
    /// Time to program.
    pub program_ns: u64,
    /// Time to erase a block.
    pub erase_ns: u64,
    /// Bandwidth of a channel, in MiB a second.
    pub channel_mib_s: u32,
    /// Time that 4 KB take longer on a channel than its bandwidth says.
    #[serde(default)]
    pub channel_extra_ns_per_4k: u64,
    /// What a die hands to its channel at once when it is read.
    pub channel_chunk_bytes: u32,
    /// Bandwidth of the link to the host, in MiB a second.
    pub link_mib_s: u32,
    /// Time of the controller for a read of at most 4 KB a partition.
    pub overhead_4k_read_ns: u64,
    /// Time of the controller for any other read.
    pub overhead_read_ns: u64,
    /// Time of the controller for a write.
    pub buffer_fixed_ns: u64,
    /// Time of the controller for each 4 KB of a write.
    pub buffer_per_4k_ns: u64,
    /// Size of the write buffer.
    pub buffer_bytes: u64,
    /// A superblock is collected when so many or fewer are free.
    pub gc_free_superblocks: u32,
    /// A write is complete when it is in the buffer, not only when it is on flash.
    #[serde(default = "yes")]
    pub early_completion: bool,
    /// Each die is filled on its own, and hints say which one a write begins with.
    #[serde(default)]
    pub die_affinity: bool,
    /// Longest request.
    #[serde(default = "max_transfer_bytes")]
    pub max_transfer_bytes: u32,
    /// Requests that the device takes at once.
    #[serde(default = "queue_depth")]
    pub queue_depth: u32,
    /// What real drives do beyond the core of the model; all of it is off where the table is absent.
    #[serde(default)]
    pub extensions: Extensions,
    /// Where each value comes from, by group of keys.
    #[serde(default)]
    pub source: BTreeMap<String, String>,
}

/// What real drives do beyond the core of the model. With all of it off the times are those of the reference to the
/// nanosecond. docs/spec/flash.md, section 8.
#[expect(
    clippy::struct_excessive_bools,
    reason = "switches that have nothing to do with each other"
)]
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Extensions {
    /// The controller takes no command for so long after a read.
    pub command_read_ns: u64,
    /// The same after a write.
    pub command_write_ns: u64,
    /// Sensing the flash page again that a die sensed last takes no time.
    pub page_register: bool,
    /// A page that is not on flash yet is read from the write buffer.
    pub buffer_hits: bool,
    /// A read of what was never written takes the time of controller and link.
    pub unmapped_reads_cost: bool,
    /// A write of a part of a page reads the rest of it first.
    pub partial_page_reads: bool,
    /// Segments of the map, of 1024 pages each, that the controller holds; 0: all of it.
    pub mapping_cache_segments: u32,
    /// What goes to one die before the next, where that is less than a die programs at once; 0: as much.
    pub deal_bytes: u32,
    /// Planes of a die that work as dies of their own.
    pub independent_planes: u32,
    /// A read suspends a program or erase that it meets, and waits so long for that; 0: it waits for its end.
    pub suspend_program_ns: u64,
    /// The same of an erase.
    pub suspend_erase_ns: u64,
    /// What the drive reads ahead after two reads in a row; 0: nothing.
    pub read_ahead_bytes: u32,
    /// The collector programs a page only when it has read it.
    pub gc_waits_for_reads: bool,
    /// Victims of collection are the best of so many superblocks that are drawn at random; 0: of all.
    pub gc_candidates: u32,
    /// A drive collects when it has been idle for so long; 0: only when it must.
    pub gc_idle_ns: u64,
    /// Free superblocks of each partition at which an idle drive stops collecting.
    pub gc_idle_free_superblocks: u32,
    /// A flush, or a write with FUA, pads open program units and waits until all is on flash.
    pub flush_pads: bool,
    /// The buffer survives a loss of power: a flush takes so long, and FUA ends in the buffer; 0: it does not.
    pub flush_ns: u64,
    /// Time of a trim.
    pub trim_ns: u64,
    /// Time of a trim for each MB.
    pub trim_ns_per_mb: u64,
    /// Units go to all dies of a channel before the next channel, not to all channels first.
    pub dies_first: bool,
}

impl Default for Extensions {
    fn default() -> Extensions {
        Extensions {
            command_read_ns: 0,
            command_write_ns: 0,
            page_register: false,
            buffer_hits: false,
            unmapped_reads_cost: false,
            partial_page_reads: false,
            mapping_cache_segments: 0,
            deal_bytes: 0,
            independent_planes: 1,
            suspend_program_ns: 0,
            suspend_erase_ns: 0,
            read_ahead_bytes: 0,
            gc_waits_for_reads: false,
            gc_candidates: 0,
            gc_idle_ns: 0,
            gc_idle_free_superblocks: 0,
            flush_pads: false,
            flush_ns: 0,
            trim_ns: 0,
            trim_ns_per_mb: 0,
            dies_first: false,
        }
    }
}

fn one() -> u32 {
    1
}

fn yes() -> bool {
    true
}

fn max_transfer_bytes() -> u32 {
    256 << 10
}

fn queue_depth() -> u32 {
    65_536
}

/// What `size=` takes.
const SIZES: std::ops::RangeInclusive<u64> = 1 << 20..=7 << 40;

impl FlashDrive {
    /// The preset of that name: see [`crate::presets`].
    pub fn preset(name: &str) -> Option<FlashDrive> {
        let text = crate::presets::flash_toml_of(name)?;
        Some(FlashDrive::parse(name, text).expect("a preset that a test reads"))
    }

    /// Reads TOML; `file` is its name in messages.
    ///
    /// # Errors
    /// What is not TOML, an unknown key or one that is missing, a value out of range, a drive that cannot be: with the
    /// line or the key.
    pub fn parse(file: &str, text: &str) -> Result<FlashDrive, DriveError> {
        parse_checked(file, text, FlashDrive::check)
    }

    /// The same drive with options, such as `size=64G,page_register=false`.
    ///
    /// # Errors
    /// An option that is unknown, or a value that cannot be.
    pub fn with_options(self, options: &str) -> Result<FlashDrive, OptionError> {
        let error = |option: &str, message| OptionError {
            option: option.to_owned(),
            message,
        };
        let drive = options.split(',').try_fold(self, |drive, option| {
            let with = drive.with_option(option);
            with.map_err(|message| error(option, message))
        })?;
        let checked = drive.check();
        checked.map_err(|(key, message)| error(options, format!("{key}: {message}")))?;
        Ok(drive)
    }

    fn with_option(mut self, option: &str) -> Result<FlashDrive, String> {
        let (key, value) = option.split_once('=').unwrap_or((option, ""));
        match key {
            "core" => {
                self.extensions = Extensions::default();
                self.queue_depth = queue_depth();
            }
            "size" => {
                let bytes =
                    size::parse(value).map_err(|_| "expected a size, such as 64G".to_owned())?;
                if !SIZES.contains(&bytes) {
                    return Err("expected 1M to 7T".to_owned());
                }
                let pages = bytes / PAGE_BYTES;
                let dies = u64::from(self.channels * self.dies_per_channel);
                // With fewer superblocks, those that stay free are more than the 7 % that are not shown.
                let blocks = (bytes / 100 * 107 / BLOCK_BYTES).div_ceil(dies).max(64);
                self.logical_sectors = Some(pages * 8);
                self.physical_bytes = bytes / 100 * 107;
                self.blocks_per_die = u32::try_from(blocks).unwrap_or(u32::MAX);
            }
            _ => {
                let line = format!("{key} = {value}");
                let known = |e: toml::de::Error| e.message().replace('\n', "; ");
                let values = toml::from_str::<toml::Table>(&line).map_err(|_| {
                    format!("expected a whole number, true or false; found {value}")
                })?;
                let mut table =
                    toml::Table::try_from(&self.extensions).map_err(|e| e.to_string())?;
                table.extend(values);
                self.extensions = table.try_into().map_err(known)?;
            }
        }
        Ok(self)
    }

    /// Size shown to the host, in sectors.
    pub fn sectors(&self) -> u64 {
        let shown = u128::from(self.physical_bytes) * 100 / 107 / u128::from(PAGE_BYTES) * 8;
        self.logical_sectors.unwrap_or(shown as u64)
    }

    /// Dies of the whole drive; planes that work on their own are dies.
    pub(super) fn dies(&self) -> u64 {
        u64::from(self.channels * self.dies_per_channel * self.extensions.independent_planes)
    }

    /// What a die programs at once.
    pub(super) fn unit_bytes(&self) -> u64 {
        u64::from(self.program_bytes / self.extensions.independent_planes)
    }

    /// Program units of an erase block.
    pub(super) fn units_per_block(&self) -> u64 {
        let partitions = u64::from(self.partitions);
        let blocks = u64::from(self.blocks_per_die) * (self.dies() / partitions);
        let block_bytes = (self.physical_bytes / partitions).div_ceil(blocks);
        block_bytes.div_ceil(self.unit_bytes())
    }

    /// Longest request that the buffer has room for, whatever program units it holds that are not full.
    pub(super) fn longest_bytes(&self) -> u64 {
        let open = if self.extensions.deal_bytes > 0 || self.die_affinity {
            self.dies()
        } else {
            self.partitions.into()
        };
        let held = open * (self.unit_bytes() - PAGE_BYTES);
        // A request that is not aligned touches a page more at either end.
        let room =
            self.buffer_bytes.saturating_sub(held + 2 * PAGE_BYTES) / PAGE_BYTES * PAGE_BYTES;
        room.min(self.max_transfer_bytes.into())
    }
}
