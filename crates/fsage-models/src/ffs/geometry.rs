//! What `newfs` makes of the parameters: sizes, cylinder groups, metadata, the rotational cycle.
//!
//! Source: `mkfs.c` of 4.4BSD-Lite2. Names are those of the superblock. Sizes are fragments unless a name
//! says otherwise; addresses are fragments from the start of the partition.

use super::params::Params;
use fsage_core::size::human;
use std::ops::Range;
use thiserror::Error;

/// Why `newfs` refuses: the parameters do not make a file system.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("newfs refuses {field}: {reason}")]
pub struct NewfsError {
    /// The key whose value has to change.
    pub field: &'static str,
    /// Why, and what would do.
    pub reason: String,
}

fn refuse<T>(field: &'static str, reason: impl Into<String>) -> Result<T, NewfsError> {
    let reason = reason.into();
    Err(NewfsError { field, reason })
}

/// Bytes of an inode on disk.
const INODE_BYTES: u64 = 128;
/// Sectors are 512 bytes.
const SECTOR: u64 = 512;
/// Direct block pointers of an inode.
pub const DIRECT: u32 = 12;
/// Addresses have 36 bits in the block lists (32 TiB of 512-byte fragments and over).
const MAX_FRAGMENTS: u64 = 1 << 36;

/// A file system's fixed sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Fragments in the file system.
    pub size: u64,
    /// Fragments for data: free before the root directory exists.
    pub dsize: u64,
    /// Cylinder groups.
    pub ncg: usize,
    /// Fragments per group.
    pub fpg: u64,
    /// Inodes per group.
    pub ipg: u64,
    /// Block size in bytes.
    pub bsize: u64,
    /// Fragment size in bytes.
    pub fsize: u64,
    /// Fragments per block.
    pub frag: u64,
    /// Cylinders.
    pub ncyl: u64,
    /// Cylinders per group.
    pub cpg: u64,
    /// Sectors per cylinder.
    pub spc: u64,
    /// Stagger of the metadata per group.
    pub cgoffset: u64,
    /// Stagger mask M: group `c` is staggered by `c & M`. The superblock holds `-(M+1)`.
    pub stagger_mask: u64,
    /// Superblock copy, relative to the start of the group's metadata.
    pub sblkno: u64,
    /// Cylinder group block, likewise.
    pub cblkno: u64,
    /// First inode block, likewise.
    pub iblkno: u64,
    /// First data block after the inodes, likewise.
    pub dblkno: u64,
    /// Bytes of the summary area, which starts at `dblkno` of group 0.
    pub cssize: u64,
    /// Rotational positions.
    pub nrpos: u64,
    /// Cylinders per rotational cycle; 0: no rotational tables.
    pub cpc: u64,
    /// Blocks laid out contiguously before a gap.
    pub maxcontig: u64,
    /// Largest class of the cluster summary; 0: no cluster summary, no reallocation.
    pub contigsumsize: u64,
    /// Blocks of one file per group and section.
    pub maxbpg: u64,
    /// Reserve in percent.
    pub minfree: u64,
    /// Block pointers in an indirect block.
    pub nindir: u64,
    /// Rotational gap in fragments.
    pub rotational_gap: u64,
    nspf: u64,
    sectors_per_track: u64,
    interleave: u64,
    trackskew: u64,
    physical_sectors: u64,
}

impl Geometry {
    /// Derives a file system from its parameters.
    ///
    /// # Errors
    /// Whatever `newfs` refuses, naming the parameter.
    pub fn newfs(p: &Params) -> Result<Geometry, NewfsError> {
        check_ranges(p)?;
        let nspf = p.fsize / SECTOR;
        let nspb = p.bsize / SECTOR;
        let frag = p.bsize / p.fsize;
        let spc = p.tracks * p.sectors_per_track;
        let sblkno = (16384_u64.div_ceil(p.fsize)).next_multiple_of(frag);
        let cblkno = sblkno + (8192_u64.div_ceil(p.fsize)).next_multiple_of(frag);
        let iblkno = cblkno + frag;

        let cycle = rotational_cycle(nspb, spc);
        let cpc = if tables_fit(p, cycle, spc, nspb) {
            cycle
        } else {
            0
        };
        let contigsumsize = if p.maxcontig > 1 {
            p.maxcontig.min(16)
        } else {
            0
        };
        let (cpg, ipg) = group_size(p, iblkno, cycle, spc, contigsumsize)?;

        let fpg = cpg * spc / nspf;
        let inodes_per_fragment = p.bsize / INODE_BYTES / frag;
        let mut g = Geometry {
            size: p.sectors / nspf,
            dsize: 0,
            ncg: 0,
            fpg,
            ipg,
            bsize: p.bsize,
            fsize: p.fsize,
            frag,
            ncyl: 0,
            cpg,
            spc,
            cgoffset: p.sectors_per_track.div_ceil(nspf).next_multiple_of(frag),
            stagger_mask: p.tracks.next_power_of_two() - 1,
            sblkno,
            cblkno,
            iblkno,
            dblkno: iblkno + ipg / inodes_per_fragment.max(1),
            cssize: 0,
            nrpos: p.nrpos,
            cpc,
            maxcontig: p.maxcontig,
            contigsumsize,
            maxbpg: p.maxbpg.unwrap_or(p.bsize / 4),
            minfree: p.minfree_percent,
            nindir: p.bsize / 4,
            rotational_gap: (p.rotdelay_ms * (p.rpm / 60) * p.sectors_per_track / (nspf * 1000))
                .next_multiple_of(frag),
            nspf,
            sectors_per_track: p.sectors_per_track,
            interleave: p.interleave,
            trackskew: p.trackskew,
            physical_sectors: p.physical_sectors.unwrap_or(p.sectors_per_track),
        };
        g.lay_out_groups()?;
        Ok(g)
    }

    /// Counts the groups, drops a last one too short for its metadata, and adds up the data space.
    fn lay_out_groups(&mut self) -> Result<(), NewfsError> {
        self.ncyl = (self.size * self.nspf).div_ceil(self.spc);
        let mut ncg = self.ncyl.div_ceil(self.cpg);
        if ncg == 0 {
            return refuse("size", "there is no room for a single cylinder group");
        }
        let metadata_end = |g: &Geometry, c: u64| g.cgoffset * (c & g.stagger_mask) + g.dblkno;
        if metadata_end(self, self.stagger_mask.min(ncg - 1)) >= self.fpg {
            return refuse(
                "cylinders_per_group",
                format!(
                    "the metadata of a staggered group end past its {} fragments; \
                     take more cylinders per group or more bytes per inode",
                    self.fpg
                ),
            );
        }
        let left = self.size - (ncg - 1) * self.fpg;
        if left < self.fpg && metadata_end(self, ncg - 1) > left {
            ncg -= 1;
            self.ncyl -= self.ncyl % self.cpg;
            self.size = self.ncyl * self.spc / self.nspf;
        }
        if ncg == 0 {
            return refuse("size", "the metadata do not fit; take a larger size");
        }
        self.ncg = ncg as usize;
        self.cssize = (16 * ncg).next_multiple_of(self.fsize);
        // The root directory needs a whole block.
        if self.metadata(0).end.next_multiple_of(self.frag) + self.frag > self.fragments_in(0) {
            return refuse(
                "size",
                format!(
                    "the summary area of {ncg} groups does not fit the first one; \
                     take larger groups (tracks, sectors_per_track, cylinders_per_group)"
                ),
            );
        }
        self.dsize = (0..self.ncg)
            .map(|c| {
                let metadata = self.metadata(c);
                self.fragments_in(c) - (metadata.end - metadata.start)
            })
            .sum();
        Ok(())
    }

    /// First fragment of a group.
    pub fn base(&self, c: usize) -> u64 {
        c as u64 * self.fpg
    }

    /// Fragments of a group: fewer in a short last one.
    pub fn fragments_in(&self, c: usize) -> u64 {
        self.fpg.min(self.size - self.base(c))
    }

    /// Metadata of a group, relative to its first fragment.
    pub fn metadata(&self, c: usize) -> Range<u64> {
        if c == 0 {
            0..self.dblkno + self.cssize.div_ceil(self.fsize)
        } else {
            let start = self.cgoffset * (c as u64 & self.stagger_mask);
            start + self.sblkno..start + self.dblkno
        }
    }

    /// Whether free blocks are searched by rotational position.
    pub fn is_rotational(&self) -> bool {
        self.nrpos > 1 && self.cpc > 0
    }

    /// Blocks per group.
    pub fn blocks_per_group(&self) -> u64 {
        self.fpg / self.frag
    }

    /// Cylinder of a relative fragment.
    pub fn cylinder_of(&self, relative: u64) -> u64 {
        relative * self.nspf / self.spc
    }

    /// Rotational position of a relative fragment.
    pub fn position_of(&self, relative: u64) -> u64 {
        let in_cylinder = relative * self.nspf % self.spc;
        let track = in_cylinder / self.sectors_per_track;
        let sector = in_cylinder % self.sectors_per_track;
        // 4.4BSD's cbtorpos: round the track of data sectors, out of the physical ones.
        (track * self.trackskew + sector * self.interleave) % self.sectors_per_track * self.nrpos
            / self.physical_sectors
    }

    /// Largest file size: 12 direct, one single and one double indirect block.
    pub fn max_file_bytes(&self) -> u64 {
        (u64::from(DIRECT) + self.nindir + self.nindir * self.nindir) * self.bsize
    }
}

fn check_ranges(p: &Params) -> Result<(), NewfsError> {
    let power = |n: u64, lo: u64, hi: u64| n.is_power_of_two() && (lo..=hi).contains(&n);
    if !power(p.bsize, 4096, 65536) {
        return refuse("bsize", "a power of two from 4K to 64K is needed");
    }
    if !power(p.fsize, 512, p.bsize) || p.bsize / p.fsize > 8 {
        let (is, least, most) = (
            human(p.fsize),
            human((p.bsize / 8).max(512)),
            human(p.bsize),
        );
        return refuse(
            "fsize",
            format!(
                "it is {is}; with a bsize of {most} a power of two from {least} to {most} is needed"
            ),
        );
    }
    let most = MAX_FRAGMENTS * p.fsize;
    if !(1..=most / SECTOR).contains(&p.sectors) {
        return refuse("size", format!("512 bytes to {} are possible", human(most)));
    }
    let limits: [(&'static str, u64, u64, u64); 12] = [
        ("tracks", p.tracks, 1, 65536),
        ("sectors_per_track", p.sectors_per_track, 1, 65536),
        (
            "cylinders_per_group",
            p.cylinders_per_group.unwrap_or(16),
            1,
            65536,
        ),
        ("bytes_per_inode", p.density(), 1, 1 << 40),
        ("maxcontig", p.maxcontig, 1, 1 << 20),
        ("rotdelay", p.rotdelay_ms, 0, 10_000),
        ("maxbpg", p.maxbpg.unwrap_or(1), 1, 1 << 30),
        ("nrpos", p.nrpos, 1, 256),
        ("minfree", p.minfree_percent, 0, 99),
        ("rpm", p.rpm, 60, 1_000_000),
        ("interleave", p.interleave, 1, 65536),
        (
            "physical_sectors",
            p.physical_sectors.unwrap_or(1),
            1,
            65536,
        ),
    ];
    for (field, value, lo, hi) in limits {
        if !(lo..=hi).contains(&value) {
            return refuse(field, format!("{value} is not from {lo} to {hi}"));
        }
    }
    // newfs adds the spare sectors of a track to those of data, so there are never fewer.
    if p.physical_sectors.is_some_and(|n| n < p.sectors_per_track) {
        return refuse(
            "physical_sectors",
            format!(
                "a track has at least its {} sectors of data",
                p.sectors_per_track
            ),
        );
    }
    if p.trackskew > 65536 {
        return refuse("trackskew", "at most 65536 is possible");
    }
    if p.write_chunk == 0 {
        return refuse("write_chunk", "at least one byte is needed");
    }
    // Every chunk of 512 bytes starts with the 24 bytes of `.` and `..` in the first one.
    if p.dirent_bytes > 512 - 24 {
        return refuse(
            "dirent_bytes",
            "at most 488 fit a directory chunk; 0 is no growth",
        );
    }
    Ok(())
}

/// The fewest cylinders that hold a whole number of blocks.
fn rotational_cycle(nspb: u64, spc: u64) -> u64 {
    let (mut cpc, mut rest) = (nspb, spc);
    while cpc > 1 && rest % 2 == 0 {
        cpc /= 2;
        rest /= 2;
    }
    cpc
}

/// Whether the rotational tables fit the 8 KB superblock.
fn tables_fit(p: &Params, cpc: u64, spc: u64, nspb: u64) -> bool {
    let mut bytes = 1380 + cpc * spc / nspb;
    if p.nrpos != 8 || cpc > 16 {
        bytes += 2 * p.nrpos * cpc;
    }
    p.tracks > 1 && bytes <= 8192 && p.sectors_per_track <= 256 * nspb
}

/// Cylinders and inodes per group. `newfs` lowers its own choice until the group block fits one block.
fn group_size(
    p: &Params,
    iblkno: u64,
    cycle: u64,
    spc: u64,
    contigsumsize: u64,
) -> Result<(u64, u64), NewfsError> {
    let mut cpg = match p.cylinders_per_group {
        Some(given) if given % cycle != 0 => {
            return refuse(
                "cylinders_per_group",
                format!("{given} is no multiple of {cycle}, the cylinders that hold whole blocks"),
            );
        }
        Some(given) => given,
        None => 16_u64.next_multiple_of(cycle),
    };
    let inopb = p.bsize / INODE_BYTES;
    let max_ipg = (p.bsize * 8 / 3).next_multiple_of(inopb);
    loop {
        let ipg = inodes_per_group(p, iblkno, cpg, spc);
        let fpg = cpg * spc / (p.fsize / SECTOR);
        let mut group_block = 176 + 4 * cpg + 2 * cpg * p.nrpos + ipg.div_ceil(8) + fpg.div_ceil(8);
        if contigsumsize > 0 {
            group_block += 4 * contigsumsize + (fpg / (p.bsize / p.fsize)).div_ceil(8);
        }
        if ipg <= max_ipg && group_block <= p.bsize {
            if ipg == 0 {
                return refuse(
                    "bytes_per_inode",
                    "there would be no inode in a group; take fewer bytes per inode, or larger groups",
                );
            }
            return Ok((cpg, ipg));
        }
        if cpg <= cycle {
            return refuse(
                "sectors_per_track",
                "not even the smallest group fits its maps into one block; \
                 take smaller cylinders, larger blocks, or more bytes per inode",
            );
        }
        cpg -= cycle;
    }
}

/// The iteration of `newfs`, with its truncations: inodes take space that then needs no inodes.
fn inodes_per_group(p: &Params, iblkno: u64, cpg: u64, spc: u64) -> u64 {
    let frag = p.bsize / p.fsize;
    let inopb = p.bsize / INODE_BYTES;
    let ncg = p.sectors.div_ceil(spc).div_ceil(cpg);
    let mut ipg = 0;
    for _ in 0..10 {
        let used = (iblkno + ipg * frag / inopb) * p.fsize;
        let space = (cpg * spc * SECTOR).saturating_sub(used);
        let all = u128::from(space / p.density()) * u128::from(p.sectors);
        let new = ((all / u128::from(ncg) / u128::from(spc) / u128::from(cpg)) as u64)
            .next_multiple_of(inopb);
        if new == ipg {
            break;
        }
        ipg = new;
    }
    ipg
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check values of docs/spec/ffs.md, section 3: what the original `newfs` makes of them.
    #[test]
    fn newfs_gives_the_original_sizes() {
        let with = |preset: &str, change: fn(&mut Params)| {
            let mut p = Params::preset(preset).unwrap();
            change(&mut p);
            Geometry::newfs(&p).unwrap()
        };
        let table = [
            (
                with("g502", |_| ()),
                [546_688, 514_055, 27, 20_768, 9536, 1224, 64, 31, 4],
            ),
            (
                with("g1024", |_| ()),
                [1_048_576, 1_015_799, 63, 16_872, 4032, 536, 56, 31, 16],
            ),
            (
                with("tiny", |_| ()),
                [8192, 7791, 8, 1024, 256, 64, 16, 3, 1],
            ),
            (
                with("small", |_| ()),
                [32_768, 31_599, 8, 4096, 1024, 160, 32, 7, 1],
            ),
            (
                with("tiny", |p| p.bytes_per_inode = Some(16_384)),
                [8192, 7983, 8, 1024, 64, 40, 16, 3, 1],
            ),
            (
                with("small", |p| {
                    (p.bsize, p.fsize, p.maxcontig) = (4096, 512, 15);
                }),
                [65_536, 61_471, 8, 8192, 1920, 536, 64, 7, 1],
            ),
            (
                with("small", |p| p.fsize = 2048),
                [16_384, 16_055, 8, 2048, 512, 48, 16, 7, 1],
            ),
            (
                with("g502", |p| p.bytes_per_inode = Some(4096)),
                [546_688, 529_607, 27, 20_768, 4928, 648, 64, 31, 4],
            ),
            (
                with("g1024", |p| p.bytes_per_inode = Some(2048)),
                [1_046_064, 984_047, 62, 16_872, 7872, 1016, 56, 31, 16],
            ),
        ];
        for (g, expected) in table {
            let ncg = g.ncg as u64;
            let got = [
                g.size,
                g.dsize,
                ncg,
                g.fpg,
                g.ipg,
                g.dblkno,
                g.cgoffset,
                g.stagger_mask,
                g.cpc,
            ];
            assert_eq!(got, expected);
        }
    }

    #[test]
    fn groups_stand_where_the_specification_says() {
        let g = Geometry::newfs(&Params::preset("g502").unwrap()).unwrap();
        assert_eq!((g.base(1), g.metadata(1)), (20_768, 80..1288));
        assert_eq!((g.base(26), g.fragments_in(26)), (539_968, 6720));
        let g = Geometry::newfs(&Params::preset("tiny").unwrap()).unwrap();
        assert_eq!(
            (g.metadata(0), g.metadata(1), g.metadata(2)),
            (0..65, 32..80, 48..96)
        );
    }

    /// By hand after docs/spec/ffs.md, section 5: sector 30 of the first track of 32, interleave 2, 3 spare sectors.
    #[test]
    fn spare_sectors_count_in_the_turn_but_hold_no_data() {
        let mut p = Params::preset("tiny").unwrap();
        (p.interleave, p.physical_sectors) = (2, Some(35));
        let g = Geometry::newfs(&p).unwrap();
        assert_eq!(g.position_of(15), 30 * 2 % 32 * 8 / 35);
    }

    #[test]
    fn impossible_geometries_are_refused_with_the_key_to_change() {
        let refused = |change: fn(&mut Params)| {
            let mut p = Params::preset("tiny").unwrap();
            change(&mut p);
            Geometry::newfs(&p).unwrap_err().field
        };
        assert_eq!(refused(|p| p.bsize = 3000), "bsize");
        assert_eq!(refused(|p| p.fsize = 512), "fsize");
        assert_eq!(refused(|p| p.sectors = 0), "size");
        assert_eq!(refused(|p| p.sectors = 64), "size");
        // 42 and 48 KB hold the metadata, but no block for the root.
        assert_eq!(refused(|p| p.sectors = 84), "size");
        assert_eq!(refused(|p| p.sectors = 96), "size");
        assert_eq!(
            refused(|p| p.cylinders_per_group = Some(1)),
            "cylinders_per_group"
        );
        assert_eq!(refused(|p| p.nrpos = 0), "nrpos");
        assert_eq!(refused(|p| p.minfree_percent = 100), "minfree");
        assert_eq!(refused(|p| p.dirent_bytes = 500), "dirent_bytes");
        assert_eq!(
            refused(|p| p.sectors_per_track = 65536),
            "sectors_per_track"
        );
        assert_eq!(
            refused(|p| p.physical_sectors = Some(31)),
            "physical_sectors"
        );
        let mut p = Params::preset("g1024").unwrap();
        p.cylinders_per_group = Some(15);
        assert_eq!(
            Geometry::newfs(&p).unwrap_err().field,
            "cylinders_per_group"
        );
    }
}
