//! Parameters of a C-FFS: keys of `cffs:key=value,...`, and defaults. Each technique is a switch.

use crate::options::{ParamError, Setting};
use fsage_core::keys::Key;

/// What the number of an embedded inode is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InodeId {
    /// Directory, sector and place in it, found through the directory map: it changes when the inode moves (the paper).
    Locator,
    /// Derived from the address: an inode never moves (the release).
    Physical,
    /// A number that never changes, and a table that leads from it to the locator (the paper, section 3.1: what its
    /// authors think right, and had not built).
    Table,
}

impl InodeId {
    /// The value of its key.
    pub fn as_str(self) -> &'static str {
        match self {
            InodeId::Locator => "locator",
            InodeId::Physical => "physical",
            InodeId::Table => "table",
        }
    }
}

/// Where the search for a block begins that no rule places near others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// In the cylinder group of the directory (the paper).
    CylinderGroup,
    /// At a random block (the release).
    Random,
}

/// When half of the first blocks are put at random, the others behind the file before: that imitates a used disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Randomize {
    /// Never.
    Never,
    /// Always.
    Always,
    /// Only while the model emits for a host: in benchmarks, and not while it is aged.
    Benchmarks,
}

/// Which file of the first group gives its place to a further block of the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirSteal {
    /// None: the block goes behind the group.
    Off,
    /// The first one in the order of names.
    First,
    /// The last one, which leaves the files of the group in the order in which they are read.
    Last,
}

impl DirSteal {
    /// The value of its key.
    pub fn as_str(self) -> &'static str {
        match self {
            DirSteal::Off => "off",
            DirSteal::First => "on",
            DirSteal::Last => "last",
        }
    }
}

/// Every key, in the order of the documentation.
pub const KEYS: &[Key] = &[
    Key::bytes(
        "size",
        "1040449536",
        "of the partition; without it 168 cylinder groups",
    ),
    Key::number(
        "cg_blocks",
        "blocks",
        "1512",
        "of 4 KB in a cylinder group; without it 16 cylinders of the paper's ST31200",
    ),
    Key::flag(
        "embed",
        true,
        "inodes lie in directories; off: in blocks of their own",
    ),
    Key::flag(
        "group",
        true,
        "small files of a directory lie together, and are read together",
    ),
    Key::flag(
        "dir_steal",
        true,
        "blocks of a directory are forced into its first group, in the place of the first file there; with `last` of \
         the last one",
    )
    .or_words(&["last"]),
    Key::flag(
        "group_behind",
        false,
        "a further group of a directory begins behind the last one, even where `randomize_first` puts first blocks \
         at random",
    ),
    Key::flag(
        "hints",
        false,
        "small files lie with those that their program names with them, and only where it names none with those of \
         their directory",
    ),
    Key::flag("softupdates", false, "no write of metadata waits"),
    Key::flag(
        "name_waits",
        true,
        "where inodes have blocks of their own a new name waits for its block, as in 4.4BSD; off: only the inode does, \
         which must be on disk before a name leads to it",
    ),
    Key::word(
        "inode_id",
        &["locator", "physical", "table"],
        "locator",
        "what the number of an embedded inode is: with `table` it never changes, and a table leads to the locator",
    ),
    Key::word(
        "start",
        &["cg", "random"],
        "cg",
        "where searches begin that follow no other block: in the directory's cylinder group, or at \
         a random block",
    ),
    Key::flag(
        "randomize_first",
        false,
        "every second first block goes to a random place, the others behind the file before: \
         imitates a used disk; with `bench` only in benchmarks, and not while the file system is \
         aged",
    )
    .or_words(&["bench"]),
    Key::number(
        "random_percent",
        "percent",
        "50",
        "of the first blocks that `randomize_first` puts at random",
    )
    .within(0, 100),
    Key::flag(
        "dir_group_read",
        true,
        "blocks of a directory are read with its first group",
    ),
    Key::number("group_blocks", "blocks", "16", "of a group, at most").within(1, 64),
    Key::number(
        "grouped_blocks",
        "blocks",
        "1",
        "at the start of a file that may lie in its group; 1 in the paper's prototype",
    )
    .within(1, 15),
    Key::number(
        "maxbpg",
        "blocks",
        "0",
        "of a file before it leaves for another cylinder group; 0: it never does",
    ),
    Key::bytes(
        "bytes_per_inode",
        "8K",
        "space for each inode where inodes have blocks of their own",
    ),
    Key::number("seed", "", "1", "of all random places"),
];

/// Parameters of a C-FFS.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct Params {
    /// Partition size.
    pub size_bytes: u64,
    /// Blocks of a cylinder group.
    pub cg_blocks: u64,
    /// Inodes lie in directories.
    pub embed: bool,
    /// First blocks of the files of a directory lie together.
    pub group: bool,
    /// Blocks of a directory are forced into its first group.
    pub dir_steal: DirSteal,
    /// Further groups go behind the last one, whatever is put at random.
    pub group_behind: bool,
    /// Files lie with those that their program names with them.
    pub hints: bool,
    /// No write of metadata waits.
    pub softupdates: bool,
    /// A new name waits for its block where inodes have blocks of their own.
    pub name_waits: bool,
    /// What the number of an embedded inode is.
    pub inode_id: InodeId,
    /// Where searches begin that follow no other block.
    pub start: Start,
    /// When half of the first blocks are put at random.
    pub randomize_first: Randomize,
    /// Of the first blocks, how many in a hundred are put at random then.
    pub random_percent: u64,
    /// Blocks of a directory are read with its first group.
    pub dir_group_read: bool,
    /// Most blocks of a group.
    pub group_blocks: u64,
    /// Blocks at the start of a file that may lie in its group.
    pub grouped_blocks: u64,
    /// Blocks of a file before it leaves for another cylinder group; 0 is never.
    pub maxbpg: u64,
    /// Bytes of space per inode, without embedded ones.
    pub bytes_per_inode: u64,
    /// Seed of all random places.
    pub seed: u64,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            size_bytes: 168 * 1512 * 4096,
            cg_blocks: 1512,
            embed: true,
            group: true,
            dir_steal: DirSteal::First,
            group_behind: false,
            hints: false,
            softupdates: false,
            name_waits: true,
            inode_id: InodeId::Locator,
            start: Start::CylinderGroup,
            randomize_first: Randomize::Never,
            random_percent: 50,
            dir_group_read: true,
            group_blocks: 16,
            grouped_blocks: 1,
            maxbpg: 0,
            bytes_per_inode: 8192,
            seed: 1,
        }
    }
}

impl Params {
    /// Parameters from the options of a target specification. A switch without a value is on.
    ///
    /// # Errors
    /// An unknown key, a missing value, or a value of the wrong form or out of range.
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
            "size" => self.size_bytes = number()?,
            "cg_blocks" => self.cg_blocks = number()?,
            "embed" => self.embed = flag()?,
            "group" => self.group = flag()?,
            "dir_steal" => {
                self.dir_steal = match setting.value {
                    Some("last") => DirSteal::Last,
                    _ => match setting.flag() {
                        Ok(true) => DirSteal::First,
                        Ok(false) => DirSteal::Off,
                        Err(_) => return Err(setting.bad("on, off or last")),
                    },
                }
            }
            "group_behind" => self.group_behind = flag()?,
            "hints" => self.hints = flag()?,
            "softupdates" => self.softupdates = flag()?,
            "name_waits" => self.name_waits = flag()?,
            "inode_id" => {
                self.inode_id = match setting.word()? {
                    "locator" => InodeId::Locator,
                    "physical" => InodeId::Physical,
                    "table" => InodeId::Table,
                    _ => return Err(setting.bad("locator, physical or table")),
                }
            }
            "start" => {
                self.start = match setting.word()? {
                    "cg" => Start::CylinderGroup,
                    "random" => Start::Random,
                    _ => return Err(setting.bad("cg or random")),
                }
            }
            "randomize_first" => {
                self.randomize_first = match setting.value {
                    Some("bench") => Randomize::Benchmarks,
                    _ => match setting.flag() {
                        Ok(true) => Randomize::Always,
                        Ok(false) => Randomize::Never,
                        Err(_) => return Err(setting.bad("on, off or bench")),
                    },
                }
            }
            "random_percent" => {
                self.random_percent = number()?;
                if self.random_percent > 100 {
                    return Err(setting.bad("0 to 100 percent"));
                }
            }
            "dir_group_read" => self.dir_group_read = flag()?,
            "group_blocks" => {
                self.group_blocks = number()?;
                if !(1..=64).contains(&self.group_blocks) {
                    return Err(setting.bad("1 to 64 blocks"));
                }
            }
            "grouped_blocks" => {
                self.grouped_blocks = number()?;
                if !(1..=15).contains(&self.grouped_blocks) {
                    return Err(setting.bad("1 to 15 blocks"));
                }
            }
            "maxbpg" => self.maxbpg = number()?,
            "bytes_per_inode" => self.bytes_per_inode = number()?,
            "seed" => self.seed = number()?,
            _ => return Err(setting.unknown(KEYS)),
        }
        Ok(())
    }

    /// Inodes follow the names of their files: they lie in directories, and are found through the directory map.
    pub(super) fn inodes_move(&self) -> bool {
        self.embed && self.inode_id != InodeId::Physical
    }

    /// A table leads from numbers of inodes to locators.
    pub(super) fn has_inode_table(&self) -> bool {
        self.embed && self.inode_id == InodeId::Table
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options;

    fn parse(text: &str) -> Result<Params, ParamError> {
        Params::from_options(options::split(text))
    }

    #[test]
    fn keys_set_what_they_say() {
        let params = parse("embed=off,group=on,softupdates,inode_id=physical,start=random");
        let params = params.unwrap();
        assert!(!params.embed && params.group && params.softupdates);
        assert_eq!(params.inode_id, InodeId::Physical);
        assert_eq!(params.start, Start::Random);
        for (text, when) in [
            ("", Randomize::Never),
            ("randomize_first", Randomize::Always),
            ("randomize_first=off", Randomize::Never),
            ("randomize_first=bench", Randomize::Benchmarks),
        ] {
            assert_eq!(parse(text).unwrap().randomize_first, when, "{text}");
        }
        for (text, steal) in [
            ("", DirSteal::First),
            ("dir_steal", DirSteal::First),
            ("dir_steal=off", DirSteal::Off),
            ("dir_steal=last", DirSteal::Last),
        ] {
            assert_eq!(parse(text).unwrap().dir_steal, steal, "{text}");
        }
        assert!(parse("group_behind").unwrap().group_behind);
        let params = parse("inode_id=table,hints,name_waits=off,grouped_blocks=4").unwrap();
        assert_eq!(
            (params.inode_id, params.grouped_blocks),
            (InodeId::Table, 4)
        );
        assert!(params.hints && !params.name_waits);
        assert_eq!(parse("size=128M").unwrap().size_bytes, 134_217_728);
        assert_eq!(parse("").unwrap(), Params::default());
    }

    #[test]
    fn errors_name_the_key_and_what_was_expected() {
        let message = |text: &str| parse(text).unwrap_err().to_string();
        assert!(message("inode_id=ino").contains("locator, physical or table"));
        assert!(message("start").contains("needs a value"));
        assert!(message("policy=orig").contains("known: size, cg_blocks, embed"));
        assert!(message("randomize_first=ever").contains("on, off or bench"));
        assert!(message("dir_steal=third").contains("on, off or last"));
        assert!(message("group_blocks=0").contains("1 to 64"));
        assert!(message("random_percent=101").contains("0 to 100"));
        assert!(message("grouped_blocks=16").contains("1 to 15"));
        assert!(message("embed=maybe").contains("true or false"));
    }

    #[test]
    fn the_parser_takes_every_key_as_it_is_described() {
        options::every_key_is_as_described(KEYS, "", parse);
    }
}
