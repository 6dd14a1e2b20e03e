//! docs/spec/ffs.md, sections 3 and 4: parameters, and what newfs makes of them.

/// Section 3. Plain numbers, in the units of its table.
#[derive(Clone, Debug)]
// Each is a switch of the original.
#[allow(clippy::struct_excessive_bools)]
pub struct Params {
    /// S: partition size in 512-byte sectors.
    pub sectors: u64,
    /// H: tracks per cylinder.
    pub tracks: u64,
    /// N: sectors per track.
    pub sectors_per_track: u64,
    /// Cylinders per group.
    pub cpg: u64,
    pub bsize: u64,
    pub fsize: u64,
    /// Bytes of data space per inode.
    pub density: u64,
    pub maxcontig: u64,
    /// Milliseconds.
    pub rotdelay: u64,
    pub maxbpg: u64,
    pub nrpos: u64,
    /// Percent.
    pub minfree: u64,
    pub optim: Optim,
    pub rpm: u64,
    pub interleave: u64,
    pub trackskew: u64,
    pub physical_sectors_per_track: u64,
    /// Bytes per write call.
    pub write_chunk: u64,
    /// Bytes per directory entry; 0 = directories never grow.
    pub dirent_bytes: u64,
    pub superuser: bool,
    /// The cluster window is kept between operations.
    pub keep_cluster_state: bool,
    /// Section 17.4.
    pub strict_switch: bool,
    /// Section 17.5.
    pub direct_clusters: bool,
}

/// Section 10.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Optim {
    Time,
    Space,
}

/// Section 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    Orig,
    Realloc,
    NoSwitch,
    NoSwitchSeq,
    SmartFrag,
}

impl Policy {
    pub const ALL: [Policy; 5] = [
        Policy::Orig,
        Policy::Realloc,
        Policy::NoSwitch,
        Policy::NoSwitchSeq,
        Policy::SmartFrag,
    ];

    /// As file names spell it.
    pub fn mode(self) -> &'static str {
        match self {
            Policy::Orig => "orig",
            Policy::Realloc => "realloc",
            Policy::NoSwitch => "noswitch",
            Policy::NoSwitchSeq => "noswitchseq",
            Policy::SmartFrag => "smartfrag",
        }
    }
}

impl Params {
    /// A partition of that shape, everything else as in the default column of section 3.
    pub fn new(sectors: u64, tracks: u64, sectors_per_track: u64) -> Params {
        Params {
            sectors,
            tracks,
            sectors_per_track,
            cpg: 16,
            bsize: 8192,
            fsize: 1024,
            density: 4096,
            maxcontig: 7,
            rotdelay: 0,
            maxbpg: 2048,
            nrpos: 8,
            minfree: 10,
            optim: Optim::Time,
            rpm: 5400,
            interleave: 1,
            trackskew: 0,
            physical_sectors_per_track: sectors_per_track,
            write_chunk: 4_194_304,
            dirent_bytes: 0,
            superuser: false,
            keep_cluster_state: false,
            strict_switch: false,
            direct_clusters: false,
        }
    }

    /// `tiny`, `small`, `g502` or `g1024`.
    pub fn preset(name: &str) -> Params {
        match name {
            "tiny" => Params::new(16384, 4, 32),
            "small" => Params::new(65536, 8, 64),
            "g502" => Params {
                density: 2048,
                ..Params::new(1_093_376, 22, 118)
            },
            "g1024" => Params::new(2_097_152, 19, 111),
            _ => panic!("no preset {name}"),
        }
    }

    /// Other block and fragment sizes; density and maxbpg, which have defaults that depend on them, follow.
    /// (The density 2048 of `g502` is fixed: set it again afterwards.)
    #[must_use]
    pub fn with_sizes(mut self, bsize: u64, fsize: u64) -> Params {
        self.bsize = bsize;
        self.fsize = fsize;
        self.density = 4 * fsize;
        self.maxbpg = bsize / 4;
        self
    }
}

/// Section 4, in its names. Constant after newfs.
#[derive(Clone, Debug)]
pub struct Geometry {
    pub nspf: u64,
    pub spc: u64,
    pub nindir: u64,
    pub frag: u64,
    pub sblkno: u64,
    pub cblkno: u64,
    pub iblkno: u64,
    pub dblkno: u64,
    pub cgoffset: u64,
    /// M, the stagger mask.
    pub mask: u64,
    pub sumsize: u64,
    pub cpc: u64,
    pub cpg: u64,
    pub ipg: u64,
    pub fpg: u64,
    pub size: u64,
    pub ncyl: u64,
    pub ncg: u64,
    pub cssize: u64,
}

pub fn ceil(a: u64, b: u64) -> u64 {
    a.div_ceil(b)
}

pub fn roundup(a: u64, b: u64) -> u64 {
    a.div_ceil(b) * b
}

impl Geometry {
    /// Section 4. Panics where newfs refuses.
    pub fn newfs(p: &Params) -> Geometry {
        let nspf = p.fsize / 512;
        let nspb = p.bsize / 512;
        let frag = p.bsize / p.fsize;
        assert!([1, 2, 4, 8].contains(&frag), "fragments per block: {frag}");
        let spc = p.tracks * p.sectors_per_track;
        let nindir = p.bsize / 4;
        let inopb = p.bsize / 128;
        let inopf = inopb / frag;
        let sblkno = roundup(ceil(16384, p.fsize), frag);
        let cblkno = sblkno + roundup(ceil(8192, p.fsize), frag);
        let iblkno = cblkno + frag;
        let cgoffset = roundup(ceil(p.sectors_per_track, nspf), frag);
        let mask = p.tracks.next_power_of_two() - 1;
        let sumsize = if p.maxcontig > 1 {
            p.maxcontig.min(16)
        } else {
            0
        };

        // Rotational cycle.
        let mut cycle = nspb;
        let mut x = spc;
        while cycle > 1 && x.is_multiple_of(2) {
            cycle /= 2;
            x /= 2;
        }
        let mut cpg = roundup(p.cpg, cycle);
        let mut tables = 1380 + cycle * spc / nspb;
        if !(p.nrpos == 8 && cycle <= 16) {
            tables += 2 * p.nrpos * cycle;
        }
        let cpc = if p.tracks == 1 || tables > 8192 || p.sectors_per_track > 256 * nspb {
            0
        } else {
            cycle
        };

        // Inodes per group; fewer cylinders per group while the group block is too small.
        let mut ipg = Geometry::inodes_per_group(p, spc, cpg, iblkno, inopf, inopb);
        loop {
            let fpg = cpg * spc / nspf;
            let mut group_block =
                172 + 4 + 4 * cpg + 2 * cpg * p.nrpos + ceil(ipg, 8) + ceil(fpg, 8);
            if sumsize > 0 {
                group_block += 4 * sumsize + ceil(fpg / frag, 8);
            }
            if group_block <= p.bsize {
                break;
            }
            assert!(cpg > cycle, "no number of cylinders per group fits");
            cpg -= cycle;
            ipg = Geometry::inodes_per_group(p, spc, cpg, iblkno, inopf, inopb);
        }

        // Sizes.
        let fpg = cpg * spc / nspf;
        let mut size = p.sectors / nspf;
        let mut ncyl = ceil(size * nspf, spc);
        let mut ncg = ceil(ncyl, cpg);
        let dblkno = iblkno + ipg / inopf;
        let metadata_end = |c: u64| cgoffset * (c & mask) + dblkno; // relative to the group's base
        assert!(
            metadata_end(mask.min(ncg - 1)) < fpg,
            "inode blocks beyond the end of the group"
        );

        // Last group.
        let left = size - (ncg - 1) * fpg;
        if left < fpg && metadata_end(ncg - 1) > left {
            assert!(ncg > 1, "no room for a group");
            ncg -= 1;
            ncyl -= ncyl % cpg;
            size = ncyl * spc / nspf;
        }
        let cssize = roundup(16 * ncg, p.fsize);

        Geometry {
            nspf,
            spc,
            nindir,
            frag,
            sblkno,
            cblkno,
            iblkno,
            dblkno,
            cgoffset,
            mask,
            sumsize,
            cpc,
            cpg,
            ipg,
            fpg,
            size,
            ncyl,
            ncg,
            cssize,
        }
    }

    fn inodes_per_group(
        p: &Params,
        spc: u64,
        cpg: u64,
        iblkno: u64,
        inopf: u64,
        inopb: u64,
    ) -> u64 {
        let nspf = p.fsize / 512;
        let ncyl0 = ceil(p.sectors, spc);
        let ncg0 = ceil(ncyl0, cpg);
        let mut ipg = 0;
        for _ in 0..10 {
            let used = (iblkno + ipg / inopf) * nspf * 512;
            let room = (cpg * spc * 512)
                .checked_sub(used)
                .expect("metadata larger than the group");
            let new = ((((room / p.density) * p.sectors) / ncg0) / spc) / cpg;
            let new = roundup(new, inopb);
            if new == ipg {
                break;
            }
            ipg = new;
        }
        ipg.min(roundup(p.bsize * 8 / 3, inopb))
    }

    /// cgbase(c).
    pub fn base(&self, c: u64) -> u64 {
        c * self.fpg
    }

    /// cgstart(c).
    pub fn start(&self, c: u64) -> u64 {
        self.base(c) + self.cgoffset * (c & self.mask)
    }

    /// Metadata of group c: first fragment, and the one after the last; absolute.
    pub fn metadata(&self, c: u64, fsize: u64) -> (u64, u64) {
        if c == 0 {
            (0, self.dblkno + ceil(self.cssize, fsize))
        } else {
            (self.start(c) + self.sblkno, self.start(c) + self.dblkno)
        }
    }

    /// Fragments of group c.
    pub fn ndblk(&self, c: u64) -> u64 {
        self.fpg.min(self.size - self.base(c))
    }

    /// Section 5: cylinder of a relative fragment.
    pub fn cylinder(&self, r: u64) -> u64 {
        r * self.nspf / self.spc
    }

    /// Section 5: rotational position of a relative fragment.
    pub fn rpos(&self, p: &Params, r: u64) -> u64 {
        let n = p.sectors_per_track;
        let in_cylinder = r * self.nspf % self.spc;
        let track = in_cylinder / n;
        let sector = in_cylinder % n;
        ((track * p.trackskew + sector * p.interleave) % n) * p.nrpos / p.physical_sectors_per_track
    }
}
