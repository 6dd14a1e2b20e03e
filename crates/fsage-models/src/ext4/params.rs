//! Parameters of an Ext4: keys of `ext4:key=value,...`, and defaults.

use crate::clock;
use crate::options::{ParamError, Setting};
use fsage_core::keys::Key;
use std::path::PathBuf;

/// What fixes when and how blocks are allocated: the mount options and the driver of the reference runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Regime {
    /// `dioread_lock`: data is allocated when it is written back, as written extents.
    A,
    /// Default mount options: the same, with extents that are unwritten until the data is on disk.
    B,
    /// `dioread_lock,nodelalloc`: blocks are allocated within the write.
    C,
    /// Default mount options, `fallocate` of each range instead of writing it.
    D,
    /// Default mount options and a default machine: what is written back when, and by which processor, is drawn.
    Default,
}

impl Regime {
    const ALL: [Regime; 5] = [Regime::A, Regime::B, Regime::C, Regime::D, Regime::Default];

    /// The word of the key `regime`.
    pub fn as_str(self) -> &'static str {
        match self {
            Regime::A => "a",
            Regime::B => "b",
            Regime::C => "c",
            Regime::D => "d",
            Regime::Default => "default",
        }
    }

    /// Whether extents of written data begin as unwritten ones.
    pub(super) fn writes_unwritten(self) -> bool {
        matches!(self, Regime::B | Regime::D | Regime::Default)
    }

    /// Whether these become written ones when the data is on disk.
    pub(super) fn converts(self) -> bool {
        matches!(self, Regime::B | Regime::Default)
    }
}

/// What has checksums on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checksums {
    /// All that is metadata: `metadata_csum`.
    All,
    /// Descriptors of groups alone: `uninit_bg`.
    Descriptors,
    /// Nothing.
    None,
}

impl Checksums {
    const ALL: [Checksums; 3] = [Checksums::All, Checksums::Descriptors, Checksums::None];

    /// The word of the key `checksums`.
    pub fn as_str(self) -> &'static str {
        match self {
            Checksums::All => "all",
            Checksums::Descriptors => "descriptors",
            Checksums::None => "none",
        }
    }
}

/// When files go to disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncPolicy {
    /// All of them at the end of a day.
    Day,
    /// Also each before it is closed, by `fsync`.
    Each,
}

/// Every key, in the order of the documentation.
pub const KEYS: &[Key] = &[
    Key::bytes("size", "1G", "of the partition"),
    Key::bytes("bsize", "", "block size: 1K, 2K or 4K").by_rule("4K, and 1K below 512M"),
    Key::number(
        "flex",
        "groups",
        "16",
        "in a flex group, a power of two; 1: no `flex_bg`",
    )
    .within(1, MOST_FLEX as u64),
    Key::bytes("bytes_per_inode", "", "space for each inode, 1K to 64M")
        .by_rule("16K; 4K below 512M, 32K from 4T, 64K from 16T"),
    Key::number("inodes", "inodes", "", "in all").by_rule("size by `bytes_per_inode`"),
    Key::bytes(
        "journal",
        "",
        "of the journal; 0: there is none on this device",
    )
    .by_rule("4M to 1G, by the size of the partition"),
    Key::bytes(
        "resize",
        "",
        "up to which it can grow; 0: it keeps no blocks for that (`^resize_inode`)",
    )
    .by_rule("1024 times its size"),
    Key::word(
        "checksums",
        &["all", "descriptors", "none"],
        "all",
        "`all`: `metadata_csum`; `descriptors`: `uninit_bg`; `none`: neither",
    ),
    Key::flag(
        "64bit",
        true,
        "descriptors of groups have 64 bytes, else 32",
    ),
    Key::number("reserve", "percent", "5", "kept for the superuser").within(0, 50),
    Key::flag(
        "root",
        true,
        "the user is the superuser, who may use the reserve",
    ),
    Key::word(
        "regime",
        &["a", "b", "c", "d", "default"],
        "a",
        "`a`: `dioread_lock`; `b`: default mount options; `c`: `a` with `nodelalloc`; `d`: `fallocate` for writing; \
         `default`: `b` with write-back by time, one run of many",
    ),
    clock::SEED,
    clock::RATE,
    clock::DIRTY,
    Key::word(
        "sync",
        &["day", "each"],
        "day",
        "`day`: everything at the end of a day; `each`: also every file before it is closed",
    ),
    clock::cpus_key("of the machine, which bound the stream goals"),
    Key::flag("rotational", false, "the device says that it rotates"),
    Key::number(
        "stream_req",
        "blocks",
        "16",
        "up to which files are small, and share preallocations: `mb_stream_req` of the kernel",
    )
    .within(0, u32::MAX as u64),
    Key::text(
        "from",
        "path",
        "nothing",
        "an unmounted ext4 image or device, or a snapshot of one, that it begins with, and that decides what it says",
    ),
    Key::text(
        "hash_seed",
        "UUID",
        "66736167-6500-4000-8000-000000000001",
        "of the hash of names",
    ),
];

const MOST_FLEX: u32 = 1 << 16;

/// Parameters of an Ext4, as `mkfs.ext4`, `mount` and the replay take them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    /// Partition size.
    pub size_bytes: u64,
    /// Block size; `None` is what `mkfs.ext4` chooses.
    pub block_bytes: Option<u64>,
    /// Groups in a flex group; 1 without `flex_bg`.
    pub flex_groups: u32,
    /// Bytes of space per inode; `None` is what `mkfs.ext4` chooses.
    pub bytes_per_inode: Option<u64>,
    /// Inodes in all; `None` follows from the space per inode.
    pub inodes: Option<u64>,
    /// Size of the journal; `None` is what `mkfs.ext4` chooses, 0 none.
    pub journal_bytes: Option<u64>,
    /// Size up to which it can grow; `None` is what `mkfs.ext4` chooses, 0 keeps no blocks for that.
    pub resize_bytes: Option<u64>,
    /// What has checksums on disk.
    pub checksums: Checksums,
    /// Descriptors have 64 bytes instead of 32.
    pub wide: bool,
    /// Reserve in percent of all blocks.
    pub reserve_percent: u64,
    /// The user is the superuser, who may use the reserve.
    pub superuser: bool,
    /// When and how blocks are allocated.
    pub regime: Regime,
    /// In [`Regime::Default`]: which run it is.
    pub seed: u64,
    /// In [`Regime::Default`]: operations a second; `None` leaves their times to the workload.
    pub rate: Option<u64>,
    /// In [`Regime::Default`]: data that may wait before the oldest is written back.
    pub dirty_bytes: u64,
    /// When files go to disk.
    pub sync: SyncPolicy,
    /// Processors of the machine.
    pub cpus: u32,
    /// The device says that it rotates.
    pub rotational: bool,
    /// Blocks up to which files share preallocations.
    pub stream_request: u32,
    /// Seed of the hash of names: the bytes of a UUID.
    pub hash_seed: [u8; 16],
    /// The image that it begins with, which decides sizes and the seed.
    pub from: Option<PathBuf>,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            size_bytes: 1 << 30,
            block_bytes: None,
            flex_groups: 16,
            bytes_per_inode: None,
            inodes: None,
            journal_bytes: None,
            resize_bytes: None,
            checksums: Checksums::All,
            wide: true,
            reserve_percent: 5,
            superuser: true,
            regime: Regime::A,
            seed: 1,
            rate: None,
            dirty_bytes: 1 << 30,
            sync: SyncPolicy::Day,
            cpus: 2,
            rotational: false,
            stream_request: Params::STREAM_REQUEST,
            hash_seed: [
                0x66, 0x73, 0x61, 0x67, 0x65, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, 1,
            ],
            from: None,
        }
    }
}

impl Params {
    /// Blocks up to which files share preallocations, unless a key says otherwise.
    pub const STREAM_REQUEST: u32 = 16;

    /// Reads keys and values.
    ///
    /// # Errors
    /// A key that does not exist or a value that does not fit it.
    pub fn from_options<'a>(
        options: impl IntoIterator<Item = (&'a str, Option<&'a str>)>,
    ) -> Result<Params, ParamError> {
        let mut params = Params::default();
        for (key, value) in options {
            let setting = Setting { key, value };
            match key {
                "from" => params.from = Some(setting.word()?.into()),
                "size" => params.size_bytes = setting.number()?,
                "bsize" => {
                    params.block_bytes = Some(match setting.number()? {
                        bytes @ (1024 | 2048 | 4096) => bytes,
                        _ => return Err(setting.bad("1K, 2K or 4K")),
                    });
                }
                "flex" => {
                    params.flex_groups = match setting.number()? {
                        n if n.is_power_of_two() && n <= u64::from(MOST_FLEX) => n as u32,
                        _ => return Err(setting.bad(format!("a power of two up to {MOST_FLEX}"))),
                    }
                }
                "bytes_per_inode" => {
                    params.bytes_per_inode = Some(match setting.number()? {
                        bytes @ 1024..=0x400_0000 => bytes,
                        _ => return Err(setting.bad("1K to 64M")),
                    });
                }
                "inodes" => params.inodes = Some(setting.number()?),
                "journal" => params.journal_bytes = Some(setting.number()?),
                "resize" => params.resize_bytes = Some(setting.number()?),
                "checksums" => {
                    let word = setting.word()?;
                    let all = Checksums::ALL.into_iter();
                    let checksums = { all }.find(|checksums| checksums.as_str() == word);
                    params.checksums =
                        checksums.ok_or_else(|| setting.bad("all, descriptors or none"))?;
                }
                "64bit" => params.wide = setting.flag()?,
                "reserve" => {
                    params.reserve_percent = match setting.number()? {
                        percent @ 0..=50 => percent,
                        _ => return Err(setting.bad("0 to 50 percent")),
                    }
                }
                "root" => params.superuser = setting.flag()?,
                "regime" => {
                    let word = setting.word()?;
                    let regime = Regime::ALL
                        .into_iter()
                        .find(|regime| regime.as_str() == word);
                    params.regime = regime.ok_or_else(|| setting.bad("a, b, c, d or default"))?;
                }
                "seed" => params.seed = setting.number()?,
                "rate" => params.rate = Some(clock::rate_of(setting)?),
                "dirty" => params.dirty_bytes = setting.number()?,
                "sync" => {
                    params.sync = match setting.word()? {
                        "day" => SyncPolicy::Day,
                        "each" => SyncPolicy::Each,
                        _ => return Err(setting.bad("day or each")),
                    }
                }
                "cpus" => params.cpus = clock::cpus_of(setting)?,
                "rotational" => params.rotational = setting.flag()?,
                "stream_req" => {
                    params.stream_request = match u32::try_from(setting.number()?) {
                        Ok(blocks) => blocks,
                        Err(_) => return Err(setting.bad(format!("0 to {}", u32::MAX))),
                    }
                }
                "hash_seed" => {
                    let uuid = parse_uuid(setting.word()?);
                    params.hash_seed = uuid.ok_or_else(|| {
                        setting.bad("a UUID, as in 66736167-6500-4000-8000-000000000001")
                    })?;
                }
                _ => return Err(setting.unknown(KEYS)),
            }
        }
        Ok(params)
    }

    /// The seed of the hash of names as a UUID.
    pub fn hash_seed_text(&self) -> String {
        let digits = format!("{:032x}", u128::from_be_bytes(self.hash_seed));
        let ends = [(0, 8), (8, 12), (12, 16), (16, 20), (20, 32)];
        ends.map(|(from, to)| &digits[from..to]).join("-")
    }
}

fn parse_uuid(text: &str) -> Option<[u8; 16]> {
    let digits: Vec<&str> = text.split('-').collect();
    let lengths: Vec<usize> = digits.iter().map(|part| part.len()).collect();
    let digits = digits.concat();
    if lengths != [8, 4, 4, 4, 12] || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    Some(u128::from_str_radix(&digits, 16).ok()?.to_be_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{every_key_is_as_described, split};

    #[test]
    fn every_key_is_read_and_described() {
        every_key_is_as_described(KEYS, "size=1G", |text| Params::from_options(split(text)));
    }

    #[test]
    fn a_seed_is_written_as_it_is_read() {
        let text = "01234567-89ab-cdef-0123-456789abcdef";
        let params = Params::from_options([("hash_seed", Some(text))]).expect("a UUID");
        assert_eq!(params.hash_seed_text(), text);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for text in [
            "bsize=8K",
            "flex=3",
            "regime=e",
            "hash_seed=1",
            "hash_seed=66736167-6500-4000-8000-00000000000g",
            "cpus=0",
            "shade=red",
        ] {
            assert!(Params::from_options(split(text)).is_err(), "{text}");
        }
    }
}
