//! The microscope of the FFS model: prints what the original 4.4BSD driver printed, line by line.
//!
//! A script's probe lines (`geom`, `cgs`, `dump`, `day`, `check`, `layout`) print the state; an operation
//! prints only when it fails: `ENOSPC LINE` for lack of space, `EFBIG LINE` for a file over the largest size,
//! `BADOP LINE` for an operation that does not fit the state. The output is compared byte for byte.
//!
//! Its layout score is that of the original study, which scored every block of the length: those of holes as not
//! optimal, and those behind holes too.

use super::report::BlockReport;
use super::{Ffs, Geometry};
use crate::microscope::WorkloadTrace;
use fsage_core::{Event, FileSystem, Op, Outcome};
use std::io::{self, Write};

/// An FFS under the microscope.
#[derive(Debug)]
pub struct Trace {
    fs: Ffs,
    /// Operations that failed for lack of space so far.
    no_space: u64,
    buffer: Vec<u8>,
}

impl Trace {
    /// Puts a file system under the microscope. Directories are then removed as the script says, empty or not.
    pub fn new(mut fs: Ffs) -> Trace {
        fs.apply_rmdir_as_it_stands();
        Trace {
            fs,
            no_space: 0,
            buffer: Vec::new(),
        }
    }

    /// The file system.
    pub fn fs(&self) -> &Ffs {
        &self.fs
    }

    fn geom(&self, out: &mut dyn Write) -> io::Result<()> {
        let (g, t) = (self.fs.sizes(), self.fs.totals());
        write!(
            out,
            "fs size {} dsize {} ncg {} fpg {} ipg {} bsize {} fsize {} frag {} ",
            g.size, g.dsize, g.ncg, g.fpg, g.ipg, g.bsize, g.fsize, g.frag
        )?;
        write!(
            out,
            "ncyl {} cpg {} spc {} cgoffset {} cgmask -{} sblkno {} cblkno {} iblkno {} dblkno {} ",
            g.ncyl,
            g.cpg,
            g.spc,
            g.cgoffset,
            g.stagger_mask + 1,
            g.sblkno,
            g.cblkno,
            g.iblkno,
            g.dblkno
        )?;
        write!(
            out,
            "csaddr {} cssize {} nrpos {} cpc {} maxcontig {} contigsumsize {} maxbpg {} ",
            g.dblkno, g.cssize, g.nrpos, g.cpc, g.maxcontig, g.contigsumsize, g.maxbpg
        )?;
        writeln!(
            out,
            "minfree {} nindir {} optim {} nbfree {} nffree {} nifree {} ndir {}",
            g.minfree,
            g.nindir,
            self.fs.optimization().0.as_str(),
            t.nbfree,
            t.nffree,
            t.nifree,
            t.ndir
        )
    }

    fn cgs(&self, out: &mut dyn Write) -> io::Result<()> {
        for c in 0..self.fs.sizes().ncg {
            let g = self.fs.group(c);
            write!(
                out,
                "cg {c} base {} meta {}..{} ndblk {} ndir {} nbfree {} nffree {} nifree {}",
                g.base,
                g.metadata.0,
                g.metadata.1,
                g.ndblk,
                g.totals.ndir,
                g.totals.nbfree,
                g.totals.nffree,
                g.totals.nifree
            )?;
            for (name, list) in [("frsum", &g.frsum), ("clsum", &g.clsum)] {
                write!(out, " {name}")?;
                for (i, count) in list.iter().enumerate() {
                    write!(out, "{}{count}", if i == 0 { ' ' } else { ',' })?;
                }
            }
            writeln!(
                out,
                " rotor {} frotor {} irotor {}",
                g.rotor, g.frotor, g.irotor
            )?;
        }
        Ok(())
    }

    /// Every directory and file, one line at a time.
    fn dump_lines(&mut self, mut line: impl FnMut(&[u8])) {
        let Trace { fs, buffer, .. } = self;
        for dir in fs.directories() {
            line(format_line(buffer, b'D', &dir));
        }
        fs.visit_blocks(|file| line(format_line(buffer, b'F', file)));
    }

    fn dump(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let mut result = Ok(());
        self.dump_lines(|line| {
            if result.is_ok() {
                result = out.write_all(line);
            }
        });
        result
    }

    fn day(&mut self, label: &[u8], out: &mut dyn Write) -> io::Result<()> {
        let mut crc = crc32fast::Hasher::new();
        self.dump_lines(|line| crc.update(line));
        let (g, t) = (self.fs.sizes(), self.fs.totals());
        let (mut score, mut split) = (Score::default(), Split::default());
        self.fs.visit_blocks(|file| {
            score.add(file, g);
            split.add(file, g);
        });
        let (optim, changes) = self.fs.optimization();
        let free = t.nbfree * g.frag + t.nffree;
        // The superuser may fill the file system to the last fragment, never beyond.
        let utilization = (g.dsize - free) as f64 / g.dsize as f64;
        out.write_all(b"day ")?;
        out.write_all(label)?;
        write!(
            out,
            " files {} util {utilization:.6} layout {:.6} opt {} cnt {} split {} split1 {} split10 {}",
            self.fs.file_count(),
            score.value(),
            score.optimal,
            score.scored,
            split.files,
            split.distance_1,
            split.distance_below_10
        )?;
        writeln!(
            out,
            " nbfree {} nffree {} nifree {} enospc {} optim {} optchg {changes} crc {:08x}",
            t.nbfree,
            t.nffree,
            t.nifree,
            self.no_space,
            optim.as_str(),
            crc.finalize()
        )
    }

    fn check(&self, out: &mut dyn Write) -> io::Result<()> {
        let errors = self.fs.check().map_or_else(|e| e.count, |()| 0);
        writeln!(out, "check errors {errors}")
    }

    /// The layout score of the files with ids `lo..=hi`: `layout LO HI files N layout S opt O cnt C`.
    fn layout(&self, lo: u64, hi: u64, out: &mut dyn Write) -> io::Result<()> {
        let (mut files, mut score) = (0_u64, Score::default());
        let g = self.fs.sizes();
        self.fs.visit_blocks(|file| {
            if (lo..=hi).contains(&file.id) {
                files += 1;
                score.add(file, g);
            }
        });
        writeln!(
            out,
            "layout {lo} {hi} files {files} layout {:.6} opt {} cnt {}",
            score.value(),
            score.optimal,
            score.scored
        )
    }
}

impl WorkloadTrace for Trace {
    fn step(&mut self, event: &Event, line: &[u8], out: &mut dyn Write) -> io::Result<()> {
        match event.op {
            Op::Geom => self.geom(out),
            Op::Cgs => self.cgs(out),
            Op::Dump => self.dump(out),
            Op::Day => self.day(event.name.as_deref().unwrap_or_default(), out),
            Op::Check => self.check(out),
            Op::Layout { lo, hi } => self.layout(lo.0, hi.0, out),
            _ => {
                let word: &[u8] = match self.fs.apply(&event.op) {
                    Ok(Outcome::Done | Outcome::Ignored) => return Ok(()),
                    Ok(Outcome::NoSpace | Outcome::NoInode) => {
                        self.no_space += 1;
                        b"ENOSPC "
                    }
                    Ok(Outcome::TooLarge) => b"EFBIG ",
                    Ok(Outcome::Absent) | Err(_) => b"BADOP ",
                };
                out.write_all(word)?;
                out.write_all(line)?;
                out.write_all(b"\n")
            }
        }
    }

    fn bad_line(&mut self, line: &[u8], out: &mut dyn Write) -> io::Result<()> {
        out.write_all(b"BADOP ")?;
        out.write_all(line)?;
        out.write_all(b"\n")
    }
}

/// Blocks that follow their predecessor, of how many that have one.
#[derive(Default)]
struct Score {
    optimal: u64,
    scored: u64,
}

impl Score {
    fn add(&mut self, file: &BlockReport, g: &Geometry) {
        let follows = |pair: &&[u64]| pair[0] != 0 && pair[1] == pair[0] + g.frag;
        self.optimal += file.data.windows(2).filter(follows).count() as u64;
        self.scored += file.data.len().saturating_sub(1) as u64;
    }

    /// 1 where nothing could be scored.
    fn value(&self) -> f64 {
        match self.scored {
            0 => 1.0,
            scored => self.optimal as f64 / scored as f64,
        }
    }
}

/// Files whose first block lies in another cylinder group than their inode.
#[derive(Default)]
struct Split {
    files: u64,
    /// Of these, those in a neighboring group.
    distance_1: u64,
    /// Of these, those less than 10 groups away.
    distance_below_10: u64,
}

impl Split {
    fn add(&mut self, file: &BlockReport, g: &Geometry) {
        let Some(&first) = file.data.first().filter(|&&first| first != 0) else {
            return;
        };
        let distance = (file.ino / g.ipg).abs_diff(first / g.fpg);
        self.files += u64::from(distance > 0);
        self.distance_1 += u64::from(distance == 1);
        self.distance_below_10 += u64::from((1..10).contains(&distance));
    }
}

/// `KIND ID INODE SIZE D data-addresses I indirect-addresses`
fn format_line<'a>(buffer: &'a mut Vec<u8>, kind: u8, report: &BlockReport) -> &'a [u8] {
    let mut number = itoa::Buffer::new();
    buffer.clear();
    buffer.push(kind);
    for field in [report.id, report.ino, report.size] {
        buffer.push(b' ');
        buffer.extend_from_slice(number.format(field).as_bytes());
    }
    for (mark, list) in [(b"D", &report.data), (b"I", &report.indirect)] {
        buffer.push(b' ');
        buffer.extend_from_slice(mark);
        for (i, &address) in list.iter().enumerate() {
            buffer.push(if i == 0 { b' ' } else { b',' });
            buffer.extend_from_slice(number.format(address).as_bytes());
        }
        if list.is_empty() {
            buffer.extend_from_slice(b" -");
        }
    }
    buffer.push(b'\n');
    buffer
}
