//! What a file system is made with, and how its cleaner works.

use super::cleaner::{self, Policy};

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
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
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
    /// Which segments are cleaned first.
    pub policy: &'static dyn Policy,
    /// Segments cleaned at once.
    pub segs_per_clean: u32,
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
    /// A segment write after a directory operation writes the ifile, and so does each one behind it.
    pub doifile_sticky: bool,
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
            policy: cleaner::by_name("cost-benefit").expect("a policy of that name"),
            segs_per_clean: 1,
            min_clean: 0,
            poll_operations: 0,
            reclaim_every: 1,
            min_segments: 3,
            busy_percent: 50,
            doifile_sticky: false,
            dirent_bytes: 16,
            superuser: false,
        };
        match variant {
            Variant::Lite2 => lite2,
            Variant::NetBsd => Params {
                frag_bytes: 512,
                minfree_percent: 0,
                reserve_segments: 8,
                write_threshold_blocks: 0,
                policy: cleaner::by_name("cb").expect("a policy of that name"),
                min_clean: 16,
                poll_operations: 1,
                ..lite2
            },
        }
    }
}
