//! What can be chosen: keys of `kind:rearrange=...,key=value,...`, and defaults.
//!
//! The paper gives the size of the reserved area (2.5 % of the disk). Threshold, near distance, sizes of the tables and
//! margins are not in it: their defaults are guesses, each a key of its own so that their weight can be measured.

use crate::options::{ParamError, Setting};
use fsage_core::keys::Key;

/// Which way of rearranging.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Technique {
    /// Nothing moves; accesses are counted.
    None,
    /// Files move to a file system in the middle of the disk when they get hot, and back (Cheng et al.).
    Files,
    /// Copies of the hottest blocks lie in reserved cylinders in the middle of the disk (Akyurek & Salem).
    Blocks,
    /// The whole disk is sorted by frequency, the most frequent cylinder in the middle (Wong; Grossman & Silverman).
    OrganPipe,
    /// Files that are used often and lie scattered are brought together in reserved cylinders in the middle of the disk
    /// (McDonald & Bunt).
    Stef,
}

/// When the threads that move files do their work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Migrate {
    /// When the operation that woke them is done.
    AtOp,
    /// When nothing was asked for [`Settings::idle_ns`], and at a sync, the end of a day or a remount.
    Idle,
}

/// What becomes of the part of the disk behind the reserved area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Third {
    /// It holds something else, as in the paper.
    Unused,
    /// It goes on where the first part ends: one file system over both.
    Files,
}

/// How long references are counted before blocks are placed anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Period {
    /// To the end of a day.
    Day,
    /// So many accesses to files.
    Accesses(u64),
}

/// Where in the reserved cylinders a block goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// The hottest in the middle, the next ones alternately to its right and left.
    OrganPipe,
    /// A block's successor on the disk follows it in the same distance, if it is hot as well.
    Interleaved,
    /// In the order of their homes.
    Serial,
}

/// Every key, in the order of the documentation.
pub const KEYS: &[Key] = &[
    Key::word(
        "rearrange",
        &["files", "blocks", "organ-pipe", "stef", "none"],
        "none",
        "what is moved to the middle of the disk",
    ),
    Key::share(
        "ra",
        "2.5%",
        "size of the reserved area, as a part of the disk, up to half of it",
    ),
    Key::word(
        "third",
        &["unused", "files"],
        "unused",
        "what lies behind the reserved area",
    ),
    Key::number("threshold", "accesses", "8", "after which a file moves in")
        .within(0, u32::MAX as u64),
    Key::share(
        "near",
        "1.0",
        "distance within which a file stays, in widths of the reserved area",
    ),
    Key::number("hot", "entries", "", "of the hot table, at least 1")
        .by_rule("inodes of the reserved area"),
    Key::number(
        "cold",
        "times",
        "4",
        "entries of the cold table, times those of the hot one",
    ),
    Key::share(
        "margin",
        "1%",
        "space that is kept free, as a part of the reserved area",
    ),
    Key::number(
        "hot_margin",
        "entries",
        "0",
        "of the hot table that are kept free",
    ),
    Key::word(
        "migrate",
        &["at_op", "idle"],
        "at_op",
        "when files move: when the operation is done, or when nothing is asked for",
    ),
    Key::flag(
        "sync_moves",
        true,
        "a copy is synced before its original goes, and so is that",
    ),
    Key::number(
        "idle",
        "seconds",
        "1",
        "without an operation after which waiting files move",
    ),
    Key::number(
        "period",
        "accesses",
        "day",
        "after which blocks are placed again; `day`: at the end of each",
    )
    .or_words(&["day"]),
    Key::word(
        "placement",
        &["organ-pipe", "interleaved", "serial"],
        "organ-pipe",
        "order of blocks in the reserved area",
    ),
    Key::bytes(
        "cylinder",
        "1M",
        "what `organ-pipe` moves as one, and what `stef` takes for a cylinder, a multiple of 64K",
    ),
    Key::share(
        "stef",
        "1.1",
        "seek time expansion factor from which on a file is brought together",
    ),
    Key::bytes("ra_inode", "", "space for each inode in the reserved area").by_rule("as outside"),
    Key::bytes(
        "ra_journal",
        "",
        "of the journal in the reserved area, where there is one; 0: on another device",
    )
    .by_rule("as `mke2fs` chooses"),
];

/// How a disk is rearranged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Which way.
    pub technique: Technique,
    /// Size of the reserved area, in millionths of the disk.
    pub reserved_ppm: u64,
    /// What lies behind the reserved area; blocks and organ-pipe always use all of the disk.
    pub third: Third,
    /// A file moves in when it was accessed more often than this.
    pub threshold: u32,
    /// Distance within which a file stays where it is, in millionths of the width of the reserved area.
    pub near_ppm: u64,
    /// Entries of the hot table; `None` is the number of inodes of the reserved area.
    pub hot_entries: Option<u64>,
    /// Entries of the cold table, times those of the hot one.
    pub cold_times: u64,
    /// Space that is kept free in the reserved area, in millionths of it.
    pub margin_ppm: u64,
    /// Entries that are kept free in the hot table.
    pub hot_margin: u64,
    /// When files move.
    pub migrate: Migrate,
    /// A copy is synced before its original goes, and so is that: without, a crash may lose a file that moves.
    pub sync_moves: bool,
    /// Time without an operation that counts as idle, in nanoseconds.
    pub idle_ns: i64,
    /// When blocks are placed anew.
    pub period: Period,
    /// Order of blocks in the reserved area.
    pub placement: Placement,
    /// What organ-pipe moves as one, in bytes; a cylinder for the seek times of files.
    pub cylinder_bytes: u64,
    /// Seek time expansion factor from which on a file is brought together, in millionths.
    pub least_stef_ppm: u64,
    /// Bytes of space per inode in the reserved area; `None` is as outside.
    pub reserved_bytes_per_inode: Option<u64>,
    /// Size of the journal in the reserved area, where there is one; `None` is what `mke2fs` chooses.
    pub reserved_journal_bytes: Option<u64>,
}

/// A whole, in millionths.
const WHOLE: u64 = 1_000_000;

impl Settings {
    /// The defaults of a technique.
    pub fn new(technique: Technique) -> Settings {
        Settings {
            technique,
            reserved_ppm: 25_000,
            third: Third::Unused,
            threshold: 8,
            near_ppm: WHOLE,
            hot_entries: None,
            cold_times: 4,
            margin_ppm: 10_000,
            hot_margin: 0,
            migrate: Migrate::AtOp,
            sync_moves: true,
            idle_ns: 1_000_000_000,
            period: Period::Day,
            placement: Placement::OrganPipe,
            cylinder_bytes: 1 << 20,
            least_stef_ppm: 1_100_000,
            reserved_bytes_per_inode: None,
            reserved_journal_bytes: None,
        }
    }

    /// Whether a key is one of [`KEYS`]: the others are those of the file system.
    pub fn is_key(key: &str) -> bool {
        KEYS.iter().any(|known| known.name == key)
    }

    /// Settings from the options of a target specification, of which those that are none of [`KEYS`] are left to the
    /// file system. Nothing if there is no `rearrange`, or `rearrange=none`: the plain file system.
    ///
    /// # Errors
    /// A missing value, one of the wrong form, or another key of these without `rearrange`.
    pub fn from_options<'a>(
        options: impl IntoIterator<Item = (&'a str, Option<&'a str>)>,
    ) -> Result<Option<Settings>, ParamError> {
        let mut settings = Settings::new(Technique::None);
        let mut named = None;
        let mut technique = None;
        for (key, value) in options {
            let setting = Setting { key, value };
            if key == "rearrange" {
                technique = Some(technique_of(setting)?);
            } else if Settings::is_key(key) {
                settings.set(setting)?;
                named = named.or(Some(setting));
            }
        }
        match (technique, named) {
            (Some(Technique::None), _) | (None, None) => Ok(None),
            (Some(technique), _) => Ok(Some(Settings {
                technique,
                ..settings
            })),
            (None, Some(setting)) => {
                Err(setting.bad("rearrange=files, blocks, organ-pipe or stef with it"))
            }
        }
    }

    fn set(&mut self, setting: Setting<'_>) -> Result<(), ParamError> {
        let number = || setting.number();
        match setting.key {
            "ra" => {
                self.reserved_ppm = match ppm(setting)? {
                    n @ 1..=500_000 => n,
                    _ => return Err(setting.bad("up to half of the disk, as in 2.5%")),
                }
            }
            "third" => {
                self.third = match setting.word()? {
                    "unused" => Third::Unused,
                    "files" => Third::Files,
                    _ => return Err(setting.bad("unused or files")),
                }
            }
            "threshold" => {
                self.threshold = u32::try_from(number()?)
                    .map_err(|_| setting.bad("accesses, below 4294967296"))?;
            }
            "near" => self.near_ppm = ppm(setting)?,
            "hot" => {
                self.hot_entries = match number()? {
                    0 => return Err(setting.bad("at least 1 entry")),
                    n => Some(n),
                }
            }
            "cold" => self.cold_times = number()?,
            "margin" => {
                self.margin_ppm = match ppm(setting)? {
                    n @ 0..WHOLE => n,
                    _ => return Err(setting.bad("a part of the reserved area, as in 1%")),
                }
            }
            "hot_margin" => self.hot_margin = number()?,
            "migrate" => {
                self.migrate = match setting.word()? {
                    "at_op" => Migrate::AtOp,
                    "idle" => Migrate::Idle,
                    _ => return Err(setting.bad("at_op or idle")),
                }
            }
            "sync_moves" => self.sync_moves = setting.flag()?,
            "idle" => {
                let ns = i64::try_from(number()?).ok();
                let ns = ns.and_then(|s| s.checked_mul(1_000_000_000));
                self.idle_ns = ns.ok_or_else(|| setting.bad("seconds, less than 292 years"))?;
            }
            "period" => {
                self.period = match setting.word()? {
                    "day" => Period::Day,
                    _ => match number().map_err(|_| setting.bad("day or a number of accesses"))? {
                        0 => return Err(setting.bad("day, or at least 1 access")),
                        n => Period::Accesses(n),
                    },
                }
            }
            "placement" => {
                self.placement = match setting.word()? {
                    "organ-pipe" => Placement::OrganPipe,
                    "interleaved" => Placement::Interleaved,
                    "serial" => Placement::Serial,
                    _ => return Err(setting.bad("organ-pipe, interleaved or serial")),
                }
            }
            "cylinder" => {
                self.cylinder_bytes = match number()? {
                    n if n >= 65_536 && n.is_multiple_of(65_536) => n,
                    _ => return Err(setting.bad("a multiple of 64K")),
                }
            }
            "stef" => {
                self.least_stef_ppm = match ppm(setting)? {
                    n @ WHOLE.. => n,
                    _ => return Err(setting.bad("at least 1.0")),
                }
            }
            "ra_inode" => self.reserved_bytes_per_inode = Some(number()?),
            "ra_journal" => self.reserved_journal_bytes = Some(number()?),
            _ => return Err(setting.unknown(KEYS)),
        }
        Ok(())
    }

    /// So many millionths of a number of bytes.
    pub(super) fn part(bytes: u64, ppm: u64) -> u64 {
        let part = u128::from(bytes) * u128::from(ppm) / u128::from(WHOLE);
        u64::try_from(part).unwrap_or(u64::MAX)
    }
}

fn technique_of(setting: Setting<'_>) -> Result<Technique, ParamError> {
    match setting.word()? {
        "none" => Ok(Technique::None),
        "files" => Ok(Technique::Files),
        "blocks" => Ok(Technique::Blocks),
        "organ-pipe" => Ok(Technique::OrganPipe),
        "stef" => Ok(Technique::Stef),
        _ => Err(setting.bad("files, blocks, organ-pipe, stef or none")),
    }
}

/// A share, as in `2.5%` or `0.025`, in millionths.
fn ppm(setting: Setting<'_>) -> Result<u64, ParamError> {
    let text = setting.word()?;
    let (number, unit) = match text.strip_suffix('%') {
        Some(number) => (number, WHOLE / 100),
        None => (text, WHOLE),
    };
    let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let fits = digits(whole) && whole.len() <= 6 && digits(decimals) && decimals.len() <= 6;
    let parse = |text: &str| text.parse::<u64>().ok().filter(|_| fits);
    match (parse(whole), parse(decimals)) {
        (Some(whole), Some(part)) => {
            Ok(whole * unit + part * unit / 10_u64.pow(decimals.len() as u32))
        }
        _ => Err(setting.bad("a share, as in 2.5% or 0.025")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{every_key_is_as_described, split};

    fn options(text: &str) -> Result<Option<Settings>, ParamError> {
        Settings::from_options(split(text))
    }

    #[test]
    fn keys_set_what_they_say_and_leave_the_others_alone() {
        let settings = options("size=1G,rearrange=files,ra=5%,threshold=3,near=0.5,migrate=idle");
        let settings = settings.unwrap().unwrap();
        assert_eq!(settings.technique, Technique::Files);
        assert_eq!(
            (settings.reserved_ppm, settings.near_ppm),
            (50_000, 500_000)
        );
        assert_eq!((settings.threshold, settings.migrate), (3, Migrate::Idle));
        let defaults = options("rearrange=blocks").unwrap().unwrap();
        assert_eq!(defaults, Settings::new(Technique::Blocks));
        assert_eq!(defaults.reserved_ppm, 25_000);
    }

    #[test]
    fn without_rearrange_or_with_none_the_file_system_is_plain() {
        assert_eq!(options("size=1G").unwrap(), None);
        assert_eq!(options("rearrange=none,threshold=3").unwrap(), None);
    }

    #[test]
    fn errors_name_the_key_and_what_was_expected() {
        let message = |text: &str| options(text).unwrap_err().to_string();
        assert!(message("threshold=3").contains("rearrange=files"));
        assert!(message("rearrange=all").contains("files, blocks, organ-pipe, stef or none"));
        assert!(message("rearrange").contains("needs a value"));
        assert!(message("rearrange=files,ra=60%").contains("half of the disk"));
        assert!(message("rearrange=files,near=far").contains("2.5%"));
        assert!(message("rearrange=files,near=1.").contains("2.5%"));
        assert!(message("rearrange=files,hot=0").contains("at least 1"));
        assert!(message("rearrange=blocks,period=week").contains("day or a number"));
        assert!(message("rearrange=organ-pipe,cylinder=100000").contains("64K"));
        assert!(message("rearrange=stef,stef=0.9").contains("at least 1.0"));
        assert!(message("rearrange=files,idle=99999999999").contains("years"));
    }

    #[test]
    fn the_parser_takes_every_key_as_it_is_described() {
        every_key_is_as_described(KEYS, "rearrange=files", options);
    }

    /// By hand: 2.5 % of 40 GB.
    #[test]
    fn a_share_of_a_disk_is_exact() {
        assert_eq!(Settings::part(40_000_000_000, 25_000), 1_000_000_000);
        assert_eq!(Settings::part(u64::MAX, 2 * WHOLE), u64::MAX);
    }
}
