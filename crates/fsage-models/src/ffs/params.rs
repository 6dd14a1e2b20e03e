//! Parameters of an FFS: presets, keys of `ffs:key=value,...`, defaults.

use super::policy::{self, Policy};
use crate::options::{ParamError, Setting};
use fsage_core::keys::{Choice, Key};

/// What the allocator optimizes when a fragment has to move; the file system changes it by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Optim {
    /// A moved fragment asks for a whole block, so that it can grow in place.
    Time,
    /// A moved fragment asks for just what it needs.
    Space,
}

impl Optim {
    /// The word of `newfs -o`.
    pub fn as_str(self) -> &'static str {
        match self {
            Optim::Time => "time",
            Optim::Space => "space",
        }
    }
}

/// Its policies, as keys and help name them.
fn policies() -> Vec<Choice> {
    policy::ALL
        .map(|p| Choice {
            name: p.name(),
            summary: p.summary(),
        })
        .into()
}

/// Every key, in the order of the documentation.
pub const KEYS: &[Key] = &[
    Key::word(
        "preset",
        &PRESETS,
        "g502",
        "the papers' file systems of 1996 (`g502`), 1997 (`g1024`) and 1995; `tiny`, `small`: two for tests",
    ),
    Key::policy("policy", policies, "orig", "which allocator"),
    Key::bytes("size", "", "of the partition, a multiple of 512 bytes").by_rule("of the preset"),
    Key::number("tracks", "tracks", "", "of a cylinder").by_rule("of the preset"),
    Key::number(
        "sectors_per_track",
        "sectors",
        "",
        "of 512 bytes on a track",
    )
    .by_rule("of the preset"),
    Key::number("cylinders_per_group", "cylinders", "", "of a group")
        .by_rule("16, or the next multiple that holds whole blocks"),
    Key::bytes("bsize", "8K", "block size, 4K to 64K"),
    Key::bytes("fsize", "1K", "fragment size"),
    Key::bytes("bytes_per_inode", "", "data space for each inode")
        .by_rule("4 fragments; `g502` and most of 1995: 2K"),
    Key::number(
        "maxcontig",
        "blocks",
        "7",
        "in a row before a rotational gap, and the largest cluster counted",
    ),
    Key::number("rotdelay", "ms", "0", "rotational gap"),
    Key::number(
        "maxbpg",
        "blocks",
        "",
        "of one file in a cylinder group and section",
    )
    .by_rule("`bsize` / 4"),
    Key::number(
        "nrpos",
        "positions",
        "8",
        "rotational positions; 1: no rotational search",
    ),
    Key::number("minfree", "percent", "10", "reserve for the superuser"),
    Key::word(
        "optim",
        &["time", "space"],
        "time",
        "what the allocator optimizes, at the start",
    ),
    Key::bytes(
        "dirent_bytes",
        "0",
        "of a directory entry; 0: directories never grow",
    ),
    Key::flag(
        "root",
        false,
        "the user is the superuser, who may use the reserve",
    ),
    Key::bytes("write_chunk", "4M", "of a write call of the replay"),
    Key::flag(
        "strict-switch",
        false,
        "the first indirect block never starts its search in the inode's own group, as the papers put it",
    ),
    Key::flag(
        "direct_clusters",
        false,
        "blocks before and behind the first indirect one are not moved together",
    ),
    Key::flag(
        "keep_clusters",
        false,
        "the cluster window is kept between operations, as while a file stays open",
    ),
    Key::flag(
        "overwrite_reads",
        true,
        "a direct block is read before it is overwritten, even as a whole; only a host sees it",
    ),
    Key::number(
        "rpm",
        "rotations a minute",
        "5400",
        "used with a rotational gap",
    ),
    Key::number("interleave", "sectors", "1", "hardware sector interleave"),
    Key::number(
        "trackskew",
        "sectors",
        "0",
        "skew of sector 0 from track to track",
    ),
    Key::number(
        "physical_sectors",
        "sectors",
        "",
        "of a track, spare ones included",
    )
    .by_rule("`sectors_per_track`"),
];

/// Names of the presets.
pub const PRESETS: [&str; 10] = [
    "g502", "g1024", "cnews", "glan5", "staff", "usr4", "usr6", "white", "tiny", "small",
];

/// Parameters of an FFS, as `newfs` and the replay take them. `None` is the default that follows from others.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct Params {
    /// Partition size in 512-byte sectors.
    pub sectors: u64,
    /// Tracks per cylinder (heads).
    pub tracks: u64,
    /// Sectors per track.
    pub sectors_per_track: u64,
    /// Cylinders per group; the default is 16, rounded up as the geometry needs.
    pub cylinders_per_group: Option<u64>,
    /// Block size in bytes.
    pub bsize: u64,
    /// Fragment size in bytes.
    pub fsize: u64,
    /// Bytes of data space per inode; the default is 4 fragments.
    pub bytes_per_inode: Option<u64>,
    /// Blocks laid out contiguously before a rotational gap; also the largest class of the cluster summary.
    pub maxcontig: u64,
    /// Rotational gap in milliseconds.
    pub rotdelay_ms: u64,
    /// Blocks of one file per cylinder group and section; the default is `bsize / 4`.
    pub maxbpg: Option<u64>,
    /// Rotational positions distinguished; 1 is no rotational search.
    pub nrpos: u64,
    /// Reserve in percent of the data space.
    pub minfree_percent: u64,
    /// What fragments that move ask for at the start.
    pub optim: Optim,
    /// Rotation speed, used with a rotational gap only.
    pub rpm: u64,
    /// Hardware sector interleave.
    pub interleave: u64,
    /// Sector 0 skew per track.
    pub trackskew: u64,
    /// Physical sectors per track; the default is `sectors_per_track`.
    pub physical_sectors: Option<u64>,
    /// Bytes per write call of the replay.
    pub write_chunk: u64,
    /// Bytes per directory entry; 0: directories never grow.
    pub dirent_bytes: u64,
    /// The user is the superuser, who may use the reserve.
    pub superuser: bool,
    /// The first indirect block never starts its search in the inode's own group.
    pub strict_switch: bool,
    /// A cluster ends at the last direct block: reallocation moves no blocks past the first indirect one.
    pub direct_clusters: bool,
    /// The cluster window is kept between operations, as a kernel does while the file stays open.
    pub keep_clusters: bool,
    /// A direct block that is there is read before it is overwritten, even if all of it is. So does `ffs_balloc` of
    /// 4.4BSD (8.8). The layout does not depend on it.
    pub overwrite_reads: bool,
    /// The allocation policy.
    pub policy: &'static dyn Policy,
}

impl Params {
    /// A preset by name: the papers' file systems `g502` (1996), `g1024` (1997) and the six of 1995, and `tiny` (8 MB)
    /// and `small` (32 MB) for tests.
    ///
    /// Of the six, Seltzer et al. 1995 (section 5) give groups, blocks per group and megabytes. Groups of 16 cylinders
    /// have so many blocks with these tracks; the density of inodes leaves about so many megabytes for data.
    pub fn preset(name: &str) -> Option<Params> {
        let (sectors, tracks, sectors_per_track, bytes_per_inode) = match name {
            "g502" => (1_093_376, 22, 118, Some(2048)),
            "g1024" => (2_097_152, 19, 111, None),
            "cnews" => (49 * 16 * 19 * 81, 19, 81, Some(3072)),
            "glan5" => (89 * 16 * 22 * 118, 22, 118, Some(2048)),
            "staff" => (31 * 16 * 19 * 81, 19, 81, Some(2048)),
            "usr4" | "usr6" => (85 * 16 * 19 * 80, 19, 80, Some(2048)),
            "white" => (40 * 16 * 19 * 80, 19, 80, Some(2048)),
            "tiny" => (16_384, 4, 32, None),
            "small" => (65_536, 8, 64, None),
            _ => return None,
        };
        Some(Params {
            sectors,
            tracks,
            sectors_per_track,
            cylinders_per_group: None,
            bsize: 8192,
            fsize: 1024,
            bytes_per_inode,
            maxcontig: 7,
            rotdelay_ms: 0,
            maxbpg: None,
            nrpos: 8,
            minfree_percent: 10,
            optim: Optim::Time,
            rpm: 5400,
            interleave: 1,
            trackskew: 0,
            physical_sectors: None,
            write_chunk: 4 << 20,
            dirent_bytes: 0,
            superuser: false,
            strict_switch: false,
            direct_clusters: false,
            keep_clusters: false,
            overwrite_reads: true,
            policy: &policy::Orig,
        })
    }

    /// Parameters from the options of a target specification, in order; `preset` applies first wherever it
    /// stands, and without it the preset is `g502`. A flag has no value.
    ///
    /// # Errors
    /// An unknown key, a missing value, or a value of the wrong form. Whether the values fit together is
    /// for `newfs` to say.
    pub fn from_options<'a>(
        options: impl IntoIterator<Item = (&'a str, Option<&'a str>)> + Clone,
    ) -> Result<Params, ParamError> {
        let mut preset = "g502";
        for (key, value) in options.clone() {
            if key == "preset" {
                preset = Setting { key, value }.word()?;
            }
        }
        let mut params = Params::preset(preset).ok_or_else(|| {
            let (key, value) = ("preset", Some(preset));
            Setting { key, value }.bad(format!("one of {}", PRESETS.join(", ")))
        })?;
        for (key, value) in options {
            params.set(Setting { key, value })?;
        }
        Ok(params)
    }

    fn set(&mut self, setting: Setting<'_>) -> Result<(), ParamError> {
        let number = || setting.number();
        let flag = || setting.flag();
        match setting.key {
            "preset" => {}
            "size" => {
                let bytes = number()?;
                if bytes % 512 != 0 {
                    return Err(setting.bad("a multiple of 512 bytes"));
                }
                self.sectors = bytes / 512;
            }
            "tracks" => self.tracks = number()?,
            "sectors_per_track" => self.sectors_per_track = number()?,
            "cylinders_per_group" => self.cylinders_per_group = Some(number()?),
            "bsize" => self.bsize = number()?,
            "fsize" => self.fsize = number()?,
            "bytes_per_inode" => self.bytes_per_inode = Some(number()?),
            "maxcontig" => self.maxcontig = number()?,
            "rotdelay" => self.rotdelay_ms = number()?,
            "maxbpg" => self.maxbpg = Some(number()?),
            "nrpos" => self.nrpos = number()?,
            "minfree" => self.minfree_percent = number()?,
            "rpm" => self.rpm = number()?,
            "interleave" => self.interleave = number()?,
            "trackskew" => self.trackskew = number()?,
            "physical_sectors" => self.physical_sectors = Some(number()?),
            "write_chunk" => self.write_chunk = number()?,
            "dirent_bytes" => self.dirent_bytes = number()?,
            "root" => self.superuser = flag()?,
            "strict-switch" => self.strict_switch = flag()?,
            "direct_clusters" => self.direct_clusters = flag()?,
            "keep_clusters" => self.keep_clusters = flag()?,
            "overwrite_reads" => self.overwrite_reads = flag()?,
            "optim" => {
                self.optim = match setting.word()? {
                    "time" => Optim::Time,
                    "space" => Optim::Space,
                    _ => return Err(setting.bad("time or space")),
                }
            }
            "policy" => {
                self.policy = policy::by_name(setting.word()?).ok_or_else(|| {
                    let names: Vec<&str> = policy::ALL.iter().map(|p| p.name()).collect();
                    setting.bad(format!("one of {}", names.join(", ")))
                })?;
            }
            _ => return Err(setting.unknown(KEYS)),
        }
        Ok(())
    }

    /// Bytes of data space per inode, with the default filled in.
    pub fn density(&self) -> u64 {
        self.bytes_per_inode.unwrap_or(4 * self.fsize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ffs::Geometry;
    use crate::options::{every_key_is_as_described, split};

    fn options(text: &str) -> Result<Params, ParamError> {
        Params::from_options(split(text))
    }

    #[test]
    fn the_preset_applies_first_wherever_it_stands() {
        let params = options("nrpos=1,size=16M,preset=tiny,policy=noswitch-seq,root").unwrap();
        assert_eq!(
            (params.sectors, params.tracks, params.nrpos),
            (32_768, 4, 1)
        );
        assert_eq!(params.policy.name(), "noswitch-seq");
        assert!(params.superuser);
        assert_eq!(params.density(), 4096);
        assert_eq!(options("").unwrap().density(), 2048);
    }

    /// The table of Seltzer et al. 1995, section 5: megabytes, groups, blocks per group.
    #[test]
    fn the_six_file_systems_of_1995_have_the_printed_groups_and_sizes() {
        let table = [
            ("cnews", 565, 49, 1539),
            ("glan5", 1705, 89, 2596),
            ("staff", 353, 31, 1539),
            ("usr4", 953, 85, 1520),
            ("usr6", 953, 85, 1520),
            ("white", 450, 40, 1520),
        ];
        for (name, megabytes, groups, blocks) in table {
            let geometry = Geometry::newfs(&Params::preset(name).unwrap()).unwrap();
            assert_eq!(
                (geometry.ncg, geometry.blocks_per_group()),
                (groups, blocks)
            );
            let off = (geometry.dsize * 1024).abs_diff(megabytes << 20);
            assert!(off * 100 < megabytes << 20, "{name}: {}", geometry.dsize);
        }
    }

    #[test]
    fn errors_name_the_key_and_what_was_expected() {
        let message = |text: &str| options(text).unwrap_err().to_string();
        assert!(message("nrpos").contains("needs a value"));
        assert!(message("block=8192").contains("known: preset, policy, size"));
        assert!(message("optim=fast").contains("time or space"));
        assert!(message("policy=best").contains("noswitch-seq"));
        assert!(message("preset=huge").contains("g1024"));
        assert!(message("size=1000").contains("multiple of 512"));
        assert!(message("bsize=8k").contains("suffix"));
    }

    #[test]
    fn the_parser_takes_every_key_as_it_is_described() {
        every_key_is_as_described(KEYS, "", options);
    }
}
