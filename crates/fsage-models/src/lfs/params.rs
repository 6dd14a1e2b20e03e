//! What a file system is made with, and how its cleaner works.

use super::cleaner::{self, Policy};
use crate::options::{ParamError, Setting};
use fsage_core::keys::{Choice, Key};

/// Its policies, as keys and help name them.
fn policies() -> Vec<Choice> {
    cleaner::ALL
        .map(|p| Choice {
            name: p.name(),
            summary: p.summary(),
        })
        .into()
}

/// Most segments and the like.
const MANY: u64 = 1 << 20;
/// Most of what is counted in 32 bits.
const MOST: u64 = u32::MAX as u64;

/// A key whose default is another one for `netbsd`.
const fn of_both(key: Key, netbsd: &'static str) -> Key {
    key.where_given("variant", "netbsd", netbsd)
}

/// Every key, in the order of the documentation.
pub const KEYS: &[Key] = &[
    Key::word(
        "variant",
        &["lite2", "netbsd"],
        "lite2",
        "`lite2`: the system of the papers; `netbsd`: equal to NetBSD of 2016",
    ),
    of_both(Key::bytes("size", "300M", "of the partition"), "48M"),
    Key::bytes("segment", "1M", "segment size"),
    Key::bytes("bsize", "4K", "block size"),
    of_both(
        Key::bytes("fsize", "4K", "fragment size; the block size: no fragments"),
        "512",
    ),
    of_both(
        Key::number(
            "minfree",
            "percent",
            "10",
            "share that only the superuser may fill",
        )
        .within(0, 99),
        "0",
    ),
    of_both(
        Key::number(
            "reserve",
            "segments",
            "2",
            "that are never used for user data",
        )
        .within(0, MANY),
        "8",
    ),
    Key::number(
        "max_active",
        "segments",
        "10",
        "begun since the last checkpoint that force one",
    )
    .within(0, MOST),
    of_both(
        Key::number(
            "threshold",
            "blocks",
            "115",
            "dirty data blocks that start a segment write; 0: never",
        ),
        "0",
    ),
    Key::flag(
        "count_indirect",
        false,
        "dirty indirect blocks count towards the threshold",
    ),
    of_both(
        Key::policy(
            "policy",
            policies,
            "cost-benefit",
            "of the cleaner: which segments it cleans first",
        ),
        "cb",
    ),
    of_both(
        Key::number(
            "wait_threshold",
            "blocks",
            "177",
            "dirty blocks, indirect ones too, at which the writer waits for the segment write; 0: never",
        ),
        "0",
    ),
    Key::flag(
        "dirops_wait",
        false,
        "the process waits for a segment write that holds directory operations",
    ),
    Key::word(
        "age_rule",
        &["lastmod", "youngest-block", "mean-block"],
        "",
        "age of a segment: `lastmod`, since it was last written into; `youngest-block`, of its \
             youngest block, as in Sprite; `mean-block`, of its blocks on average",
    )
    .by_rule("`lastmod`; `mean-block` for `declining-cost`"),
    Key::number("segs_per_clean", "segments", "1", "cleaned at once").within(0, MANY),
    Key::flag(
        "by_bytes",
        false,
        "at once is, for the cleaner of `lite2`, as many live bytes as `segs_per_clean` segments \
         have",
    ),
    of_both(
        Key::number(
            "min_clean",
            "segments",
            "0",
            "clean ones below which the cleaner works; 0: the rule of `lite2`",
        )
        .within(0, MOST),
        "16",
    ),
    of_both(
        Key::number(
            "poll",
            "operations",
            "0",
            "between two looks of the cleaner of `netbsd`; 0: it works only when a writer waits",
        ),
        "1",
    ),
    Key::number(
        "reclaim_every",
        "calls",
        "1",
        "on every Nth call, the cleaner of `netbsd` ends with a reclaiming checkpoint",
    ),
    Key::number(
        "min_segs",
        "segments",
        "3",
        "clean ones up to which the cleaner of `lite2` works whatever the share",
    )
    .within(0, MOST),
    Key::number(
        "busy",
        "percent",
        "50",
        "share of the free space in clean segments below which the cleaner of `lite2` works",
    )
    .within(0, 100),
    Key::flag(
        "foreground",
        true,
        "off: the cleaner works only in idle times, and when a writer waits",
    ),
    of_both(
        Key::number(
            "idle",
            "seconds",
            "60",
            "without an operation after which the cleaner of `lite2` works; 0: never",
        )
        .within(0, 86_400),
        "0",
    ),
    Key::flag(
        "lite2_inode_leak",
        false,
        "summaries and inode blocks count as live until their segment is rewritten, as in 4.4BSD",
    ),
    Key::flag(
        "doifile_sticky",
        false,
        "after one directory operation every segment write writes the ifile, as 4.4BSD did",
    ),
    Key::flag(
        "roll_forward",
        false,
        "what is written behind a checkpoint survives a crash; segments are free again only with \
         checkpoints",
    ),
    Key::number(
        "sync_every",
        "operations",
        "0",
        "between two checkpoints; 0: only where the workload syncs, and at its days' ends",
    ),
    Key::bytes("dirent_bytes", "16", "of a directory entry").within(12, 264),
    Key::flag(
        "root",
        false,
        "the user is the superuser, who may use the share of `minfree`",
    ),
];

/// What the age of a segment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgeRule {
    /// The time since it was last written into: 4.4BSD, NetBSD.
    LastWrite,
    /// The age of its youngest block, which cleaning does not make younger: Sprite LFS.
    YoungestBlock,
    /// The age of its blocks on average, which cleaning does not make younger.
    MeanBlock,
}

/// Which of the two systems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// 4.4BSD-Lite2: kernel, `lfs_cleanerd`, `newlfs`; the system of Seltzer et al. 1993 and 1995.
    Lite2,
    /// NetBSD of August 2016 with the sizes of 4.4BSD.
    NetBsd,
}

/// Parameters of an LFS.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of its own on the command line"
)]
pub struct Params {
    /// Which of the two systems.
    pub variant: Variant,
    /// Partition size in bytes.
    pub size_bytes: u64,
    /// Segment size in bytes.
    pub segment_bytes: u64,
    /// Block size in bytes.
    pub block_bytes: u64,
    /// Fragment size in bytes; the block size is no fragments.
    pub frag_bytes: u64,
    /// Share of the data space that only the superuser may fill, in percent.
    pub minfree_percent: u64,
    /// Segments that are never used for user data.
    pub reserve_segments: u32,
    /// Segments begun since the last checkpoint that force one.
    pub max_active: u32,
    /// Dirty data blocks that start a segment write; 0 is never.
    pub write_threshold_blocks: u64,
    /// Dirty indirect blocks count towards the threshold, as in the code of 4.4BSD.
    pub count_indirect: bool,
    /// Dirty blocks, indirect ones included, from which on the writer waits for the segment write; 0 is never.
    pub wait_threshold_blocks: u64,
    /// The writer waits for a segment write behind directory operations.
    pub dirops_wait: bool,
    /// What the age of a segment is; without it, what the policy goes by.
    pub age_rule: Option<AgeRule>,
    /// Which segments are cleaned first.
    pub policy: &'static dyn Policy,
    /// Segments cleaned at once.
    pub segs_per_clean: u32,
    /// `lite2`: a call of the cleaner goes on until it has moved as many bytes as so many segments have.
    pub by_bytes: bool,
    /// Clean segments below which the cleaner of `netbsd` works, and with `lite2` if not 0 instead of its own rule.
    pub min_clean: u32,
    /// Operations between two looks of the cleaner of `netbsd`; 0 is never.
    pub poll_operations: u64,
    /// Every call of the cleaner of `netbsd` ends with a reclaiming checkpoint: only every so manyth does.
    pub reclaim_every: u64,
    /// `lite2`: clean segments at or below which the cleaner looks at the share of clean segments no longer.
    pub min_segments: u32,
    /// `lite2`: share of the free space in clean segments below which the cleaner works, in percent.
    pub busy_percent: u64,
    /// The cleaner works when a segment is begun; otherwise only in idle times, and when a writer waits.
    pub foreground_cleaning: bool,
    /// `lite2`: seconds without an operation after which the system is idle; 0 is never.
    pub idle_s: u64,
    /// Summaries and inode blocks count as live until their segment is written anew.
    pub inode_leak: bool,
    /// A segment write after a directory operation writes the ifile, and so does each one behind it.
    pub doifile_sticky: bool,
    /// What is written behind a checkpoint survives a crash: directory operations are marked in the log, and segments
    /// are free again only with the checkpoint behind their last live block.
    pub roll_forward: bool,
    /// Operations between two checkpoints; 0 is never.
    pub sync_every: u64,
    /// Bytes of a directory entry that has no name of its own.
    pub dirent_bytes: u16,
    /// The user is the superuser, who may fill the last of the data space.
    pub superuser: bool,
}

impl Params {
    /// The defaults of a variant: 300 MB for `lite2`, the 48 MB of the smallest vector for `netbsd`.
    pub fn of_variant(variant: Variant) -> Params {
        let lite2 = Params {
            variant,
            size_bytes: 300 << 20,
            segment_bytes: 1 << 20,
            block_bytes: 4096,
            frag_bytes: 4096,
            minfree_percent: 10,
            reserve_segments: 2,
            max_active: 10,
            write_threshold_blocks: 115,
            count_indirect: false,
            wait_threshold_blocks: 177,
            dirops_wait: false,
            age_rule: None,
            policy: cleaner::by_name("cost-benefit").expect("a policy of that name"),
            segs_per_clean: 1,
            by_bytes: false,
            min_clean: 0,
            poll_operations: 0,
            reclaim_every: 1,
            min_segments: 3,
            busy_percent: 50,
            foreground_cleaning: true,
            idle_s: 60,
            inode_leak: false,
            doifile_sticky: false,
            roll_forward: false,
            sync_every: 0,
            dirent_bytes: 16,
            superuser: false,
        };
        match variant {
            Variant::Lite2 => lite2,
            Variant::NetBsd => Params {
                size_bytes: 48 << 20,
                frag_bytes: 512,
                minfree_percent: 0,
                reserve_segments: 8,
                write_threshold_blocks: 0,
                wait_threshold_blocks: 0,
                idle_s: 0,
                policy: cleaner::by_name("cb").expect("a policy of that name"),
                min_clean: 16,
                poll_operations: 1,
                ..lite2
            },
        }
    }
    /// Parameters from keys and values; the variant applies first wherever it stands.
    ///
    /// # Errors
    /// An unknown key, or a value of the wrong form. Whether the values fit together is for `newlfs` to say.
    pub fn from_options<'a>(
        options: impl IntoIterator<Item = (&'a str, Option<&'a str>), IntoIter: Clone>,
    ) -> Result<Params, ParamError> {
        let settings = options
            .into_iter()
            .map(|(key, value)| Setting { key, value });
        let mut variant = Variant::Lite2;
        for setting in settings.clone() {
            if setting.key == "variant" {
                variant = match setting.word()? {
                    "lite2" => Variant::Lite2,
                    "netbsd" => Variant::NetBsd,
                    _ => return Err(setting.bad("lite2 or netbsd")),
                };
            }
        }
        let settings = settings.map(|setting| (setting.key, setting.value));
        Params::of_variant(variant).with_options(settings)
    }

    /// The same with other values of some keys; `variant` changes nothing here.
    ///
    /// # Errors
    /// An unknown key, or a value of the wrong form.
    pub fn with_options<'a>(
        mut self,
        options: impl IntoIterator<Item = (&'a str, Option<&'a str>)>,
    ) -> Result<Params, ParamError> {
        for (key, value) in options {
            self.set(Setting { key, value })?;
        }
        Ok(self)
    }

    fn set(&mut self, setting: Setting<'_>) -> Result<(), ParamError> {
        let number = || setting.number();
        let flag = || setting.flag();
        let small = |most: u32| match u32::try_from(setting.number()?) {
            Ok(number) if number <= most => Ok(number),
            _ => Err(setting.bad(format!("at most {most}"))),
        };
        match setting.key {
            "variant" => {}
            "size" => self.size_bytes = number()?,
            "segment" => self.segment_bytes = number()?,
            "bsize" => self.block_bytes = number()?,
            "fsize" => self.frag_bytes = number()?,
            "minfree" => self.minfree_percent = u64::from(small(99)?),
            "reserve" => self.reserve_segments = small(1 << 20)?,
            "max_active" => self.max_active = small(u32::MAX)?,
            "threshold" => self.write_threshold_blocks = number()?,
            "count_indirect" => self.count_indirect = flag()?,
            "wait_threshold" => self.wait_threshold_blocks = number()?,
            "dirops_wait" => self.dirops_wait = flag()?,
            "age_rule" => {
                self.age_rule = Some(match setting.word()? {
                    "lastmod" => AgeRule::LastWrite,
                    "youngest-block" => AgeRule::YoungestBlock,
                    "mean-block" => AgeRule::MeanBlock,
                    _ => return Err(setting.bad("lastmod, youngest-block or mean-block")),
                });
            }
            "by_bytes" => self.by_bytes = flag()?,
            "foreground" => self.foreground_cleaning = flag()?,
            "idle" => self.idle_s = u64::from(small(86_400)?),
            "lite2_inode_leak" => self.inode_leak = flag()?,
            "segs_per_clean" => self.segs_per_clean = small(1 << 20)?,
            "min_clean" => self.min_clean = small(u32::MAX)?,
            "poll" => self.poll_operations = number()?,
            "reclaim_every" => self.reclaim_every = number()?,
            "min_segs" => self.min_segments = small(u32::MAX)?,
            "busy" => self.busy_percent = u64::from(small(100)?),
            "doifile_sticky" => self.doifile_sticky = flag()?,
            "roll_forward" => self.roll_forward = flag()?,
            "sync_every" => self.sync_every = number()?,
            "dirent_bytes" => {
                let bytes = small(264)?;
                if bytes < 12 {
                    return Err(setting.bad("at least 12, the entry of a short name"));
                }
                self.dirent_bytes = bytes as u16;
            }
            "root" => self.superuser = flag()?,
            "policy" => {
                let names = cleaner::ALL.map(Policy::name).join(", ");
                self.policy = cleaner::by_name(setting.word()?)
                    .ok_or_else(|| setting.bad(format!("one of {names}")))?;
            }
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
    fn the_variant_applies_first_wherever_it_stands() {
        let params = options("fsize=1K,variant=netbsd,policy=greedy").unwrap();
        assert_eq!((params.frag_bytes, params.reserve_segments), (1024, 8));
        assert_eq!(params.policy.name(), "greedy");
    }

    #[test]
    fn errors_name_the_key_and_what_was_expected() {
        let message = |text: &str| options(text).unwrap_err().to_string();
        assert!(message("segments=5").contains("known: variant, size, segment"));
        assert!(message("policy=best").contains("cost-benefit, cb, greedy, declining-cost"));
        assert!(message("variant=4.4").contains("lite2 or netbsd"));
        assert!(message("busy=101").contains("at most 100"));
        assert!(message("age_rule=oldest").contains("lastmod, youngest-block or mean-block"));
        assert!(message("dirent_bytes=4").contains("at least 12"));
    }

    #[test]
    fn the_parser_takes_every_key_as_it_is_described() {
        every_key_is_as_described(KEYS, "", options);
    }
}
