//! Parameters of an Ext3: keys of `ext3:key=value,...`, and defaults.

use crate::options::{ParamError, Setting};
use fsage_core::keys::Key;

/// Which allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Ext3 of Linux 2.6.18, with a journal.
    Ext3,
    /// The ext2 driver of Linux 6.1, which kept the same allocator without a journal.
    Ext2,
}

impl Mode {
    /// The word of the key `mode`.
    pub fn as_str(self) -> &'static str {
        match self {
            Mode::Ext3 => "ext3",
            Mode::Ext2 => "ext2",
        }
    }
}

/// Every key, in the order of the documentation.
pub const KEYS: &[Key] = &[
    Key::word(
        "mode",
        &["ext3", "ext2"],
        "ext3",
        "`ext3`: Linux 2.6.18; `ext2`: the ext2 driver of Linux 6.1",
    ),
    Key::bytes("size", "1G", "of the partition"),
    Key::bytes("bsize", "4K", "block size: 1K, 2K or 4K"),
    Key::bytes("inode_size", "128", "of an inode: 128 or 256"),
    Key::bytes(
        "bytes_per_inode",
        "8K",
        "space for each inode, block size to 4M",
    ),
    Key::flag(
        "resize_inode",
        true,
        "blocks are kept for the group descriptors of a file system 1024 times as large",
    ),
    Key::bytes(
        "journal",
        "",
        "of the journal of mode `ext3`; 0: it is on another device",
    )
    .by_rule("32M for 1G, 128M from 4G"),
    Key::number("reserve", "percent", "5", "kept for the superuser"),
    Key::flag(
        "root",
        false,
        "the user is the superuser, who may use the reserve",
    ),
    Key::number(
        "pid",
        "",
        "0",
        "process id of the writer, of which `pid mod 16` moves the goal",
    ),
    Key::flag(
        "noreservation",
        false,
        "files have no reservation windows (mount option)",
    ),
    Key::number(
        "window",
        "blocks",
        "8",
        "of a file's first reservation window",
    )
    .within(1, MOST_WINDOW as u64),
    Key::number(
        "open_files",
        "files",
        "0",
        "written last that stay open, with their windows, when an operation ends",
    ),
    Key::flag(
        "oldalloc",
        false,
        "a directory goes where most blocks are free, not where Orlov puts it (mount option)",
    ),
    Key::number(
        "seed",
        "",
        "1",
        "of the random group where Orlov starts for a directory in the root",
    ),
    Key::text(
        "dir_groups",
        "numbers of groups, as in 2/5/1",
        "none",
        "groups of the first directories; Orlov places those after them",
    ),
    Key::number(
        "commit",
        "seconds",
        "5",
        "between commits of the journal; 0: only when it must",
    ),
    Key::flag(
        "journal_rule",
        true,
        "what was freed is not used again before the journal commits; only in mode `ext3`",
    ),
];

/// Parameters of an Ext3, as `mke2fs`, `mount` and the replay take them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct Params {
    /// Which allocator.
    pub mode: Mode,
    /// Partition size.
    pub size_bytes: u64,
    /// Block size.
    pub block_bytes: u64,
    /// Size of an inode on disk.
    pub inode_bytes: u64,
    /// Bytes of space per inode.
    pub bytes_per_inode: u64,
    /// Blocks are kept for the group descriptors of a file system 1024 times as large.
    pub resize_inode: bool,
    /// Size of the journal; `None` is what `mke2fs` chooses, 0 a journal on another device.
    pub journal_bytes: Option<u64>,
    /// Reserve in percent of all blocks.
    pub reserve_percent: u64,
    /// The user is the superuser, who may use the reserve.
    pub superuser: bool,
    /// Process id of the writer.
    pub pid: u64,
    /// Blocks of a file's first reservation window; 0 without windows.
    pub window_blocks: u16,
    /// Files that stay open when an operation ends.
    pub open_files: u64,
    /// Directories go to the group with the most free blocks.
    pub oldalloc: bool,
    /// Seed of the random groups of directories in the root.
    pub seed: u64,
    /// Groups of the first directories that are made.
    pub dir_groups: Vec<u32>,
    /// Simulated time between commits, in seconds; 0 is never for that reason.
    pub commit_s: u64,
    /// Blocks freed in the running transaction are not allocated.
    pub journal_rule: bool,
}

/// Most blocks of a window (`EXT3_MAX_RESERVE_BLOCKS`).
pub(super) const MOST_WINDOW: u16 = 1027;

impl Default for Params {
    fn default() -> Params {
        Params {
            mode: Mode::Ext3,
            size_bytes: 1 << 30,
            block_bytes: 4096,
            inode_bytes: 128,
            bytes_per_inode: 8192,
            resize_inode: true,
            journal_bytes: None,
            reserve_percent: 5,
            superuser: false,
            pid: 0,
            window_blocks: 8,
            open_files: 0,
            oldalloc: false,
            seed: 1,
            dir_groups: Vec::new(),
            commit_s: 5,
            journal_rule: true,
        }
    }
}

impl Params {
    /// Parameters from the options of a target specification. A flag has no value.
    ///
    /// # Errors
    /// An unknown key, a missing value, or a value of the wrong form. Whether the values fit together is for `mke2fs`
    /// to say.
    pub fn from_options<'a>(
        options: impl IntoIterator<Item = (&'a str, Option<&'a str>)>,
    ) -> Result<Params, ParamError> {
        let mut params = Params::default();
        for (key, value) in options {
            params.set(Setting { key, value })?;
        }
        Ok(params)
    }

    fn set(&mut self, setting: Setting<'_>) -> Result<(), ParamError> {
        let number = || setting.number();
        let flag = || setting.flag();
        match setting.key {
            "mode" => {
                self.mode = match setting.word()? {
                    "ext3" => Mode::Ext3,
                    "ext2" => Mode::Ext2,
                    _ => return Err(setting.bad("ext3 or ext2")),
                }
            }
            "size" => self.size_bytes = number()?,
            "bsize" => self.block_bytes = number()?,
            "inode_size" => self.inode_bytes = number()?,
            "bytes_per_inode" => self.bytes_per_inode = number()?,
            "resize_inode" => self.resize_inode = flag()?,
            "journal" => self.journal_bytes = Some(number()?),
            "reserve" => self.reserve_percent = number()?,
            "root" => self.superuser = flag()?,
            "pid" => self.pid = number()?,
            "noreservation" => {
                if flag()? {
                    self.window_blocks = 0;
                }
            }
            "window" => {
                self.window_blocks = match number()? {
                    n @ 1..=1027 => n as u16,
                    _ => return Err(setting.bad("1 to 1027 blocks")),
                }
            }
            "open_files" => self.open_files = number()?,
            "oldalloc" => self.oldalloc = flag()?,
            "seed" => self.seed = number()?,
            "dir_groups" => {
                let groups = setting.word()?.split('/').map(str::parse);
                self.dir_groups = groups
                    .collect::<Result<_, _>>()
                    .map_err(|_| setting.bad("numbers of groups, as in 2/5/1"))?;
            }
            "commit" => self.commit_s = number()?,
            "journal_rule" => self.journal_rule = flag()?,
            _ => return Err(setting.unknown(KEYS)),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{every_key_is_as_described, split};

    fn options(text: &str) -> Result<Params, ParamError> {
        Params::from_options(split(text))
    }

    #[test]
    fn keys_set_what_they_say() {
        let params = options("mode=ext2,size=64M,bsize=1K,root,dir_groups=2/0/7,pid=685").unwrap();
        assert_eq!(params.mode, Mode::Ext2);
        assert_eq!((params.size_bytes, params.block_bytes), (67_108_864, 1024));
        assert_eq!(params.dir_groups, [2, 0, 7]);
        assert!(params.superuser && params.pid == 685);
        assert_eq!(options("noreservation").unwrap().window_blocks, 0);
        assert_eq!(options("").unwrap(), Params::default());
    }

    #[test]
    fn errors_name_the_key_and_what_was_expected() {
        let message = |text: &str| options(text).unwrap_err().to_string();
        assert!(message("mode=ext4").contains("ext3 or ext2"));
        assert!(message("mode").contains("needs a value"));
        assert!(message("policy=orig").contains("known: mode, size, bsize"));
        assert!(message("dir_groups=1,2").contains("unknown key `2`"));
        assert!(message("dir_groups=1-2").contains("2/5/1"));
        assert!(message("window=0").contains("1 to 1027"));
        assert!(message("size=1g").contains("suffix"));
    }

    #[test]
    fn the_parser_takes_every_key_as_it_is_described() {
        every_key_is_as_described(KEYS, "", options);
    }
}
