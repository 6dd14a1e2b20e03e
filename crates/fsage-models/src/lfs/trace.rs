//! The microscope of the LFS model: plays the scripts of the NetBSD runs, prints what the log and its cleaner did.
//!
//! A script has one operation a line:
//!
//! | line | meaning |
//! |---|---|
//! | `m PATH` | mkdir |
//! | `c PATH SIZE` | create, and write SIZE bytes |
//! | `w PATH OFF LEN`, `a PATH LEN`, `t PATH LEN`, `d PATH` | write, append, truncate, unlink |
//! | `f PATH`, `S` | fsync, sync |
//! | `B PATH NBLK SEED NOPS FLUSH HF HP` | NOPS random writes of a block, an fsync after every FLUSH |
//! | `P LABEL`, `R` | print the counters, reset them |
//!
//! Printed are, as they happen, each partial segment (`P`, `F` and `I` lines), each segment that is cleaned, and the
//! counters, the last two as JSON. At the end comes a sync, the final counters, and the sync of an unmount.

use super::Lfs;
use super::report::{CleanedReport, Event, Part, PartialReport};
use crate::microscope::{ScriptTrace, TraceError};
use fsage_core::{DirId, FileId, Op, Outcome};
use std::collections::HashMap;
use std::io::{self, Write};

/// Bytes of a random write.
const BLOCK: u64 = 4096;

/// An LFS under the microscope.
#[derive(Debug)]
pub struct Trace {
    fs: Lfs,
    files: HashMap<String, FileId>,
    dirs: HashMap<String, DirId>,
    ids: u64,
    written: u64,
    /// Operations when the counters were reset.
    reset_at: u64,
    poll_operations: u64,
}

/// The generator of `B` lines: xorshift64, of which the upper half is taken.
struct Xorshift(u64);

impl Xorshift {
    fn new(seed: u64) -> Xorshift {
        Xorshift(
            seed.wrapping_mul(2_654_435_761)
                .wrapping_add(88_172_645_463_325_252),
        )
    }

    fn draw(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 32
    }
}

impl Trace {
    /// Puts a file system under the microscope.
    pub fn new(mut fs: Lfs) -> Trace {
        fs.record_events();
        let poll_operations = fs.params().poll_operations;
        Trace {
            fs,
            files: HashMap::new(),
            dirs: HashMap::from([(String::new(), DirId::ROOT)]),
            ids: 0,
            written: 0,
            reset_at: 0,
            poll_operations,
        }
    }

    /// The file system.
    pub fn fs(&self) -> &Lfs {
        &self.fs
    }

    /// The same, to measure it as it changes.
    pub fn fs_mut(&mut self) -> &mut Lfs {
        &mut self.fs
    }

    fn apply(&mut self, line: &str, op: &Op) -> Result<(), TraceError> {
        let error = |reason: String| TraceError::Operation {
            line: line.to_owned(),
            reason,
        };
        match self.fs.step(op).map_err(|e| error(e.to_string()))? {
            Outcome::Done => {
                self.written += op.bytes_written();
                Ok(())
            }
            other => {
                let end = self.fs.ended().map(|end| format!(", {end}"));
                Err(error(format!("{other:?}{}", end.unwrap_or_default())))
            }
        }
    }

    fn file(&self, arguments: &Arguments<'_>) -> Result<FileId, TraceError> {
        let path = arguments.word(0)?;
        let file = self.files.get(path).copied();
        file.ok_or_else(|| arguments.bad("the path of a file that was created"))
    }

    /// The directory and the last component of a new path.
    fn place(&self, arguments: &Arguments<'_>) -> Result<(DirId, String), TraceError> {
        let path = arguments.word(0)?;
        let (dir, name) = path.rsplit_once('/').unwrap_or(("", path));
        match self.dirs.get(dir) {
            Some(&dir) if !name.is_empty() && name.len() < 256 => Ok((dir, name.to_owned())),
            _ => Err(arguments.bad("a path below a directory that was made")),
        }
    }

    /// The operation of a line, and the name that it makes.
    fn operation(
        &mut self,
        verb: &str,
        arguments: &Arguments<'_>,
    ) -> Result<(Op, Option<String>), TraceError> {
        let op = match verb {
            "m" => {
                let (parent, name) = self.place(arguments)?;
                self.ids += 1;
                let dir = DirId(self.ids);
                self.dirs.insert(arguments.word(0)?.to_owned(), dir);
                let parent = Some(parent);
                return Ok((Op::Mkdir { dir, parent }, Some(name)));
            }
            "c" => {
                let (dir, name) = self.place(arguments)?;
                let bytes = arguments.number(1)?;
                self.ids += 1;
                let file = FileId(self.ids);
                self.files.insert(arguments.word(0)?.to_owned(), file);
                return Ok((Op::Create { file, dir, bytes }, Some(name)));
            }
            "w" => Op::Write {
                file: self.file(arguments)?,
                offset: arguments.number(1)?,
                bytes: arguments.number(2)?,
            },
            "a" => Op::Append {
                file: self.file(arguments)?,
                bytes: arguments.number(1)?,
            },
            "t" => Op::Truncate {
                file: self.file(arguments)?,
                bytes: arguments.number(1)?,
            },
            "d" => {
                let file = self.file(arguments)?;
                self.files.remove(arguments.word(0)?);
                Op::Delete { file }
            }
            "f" => Op::Fsync {
                file: self.file(arguments)?,
            },
            "S" => Op::Sync,
            _ => return Err(arguments.bad("one of m, c, w, a, t, d, f, S, B, P, R")),
        };
        Ok((op, None))
    }

    fn random_writes(
        &mut self,
        arguments: &Arguments<'_>,
        out: &mut dyn Write,
        go_on: &dyn Fn() -> io::Result<()>,
    ) -> Result<(), TraceError> {
        let file = self.file(arguments)?;
        let [blocks, seed, writes, flush] = [
            arguments.number(1)?,
            arguments.number(2)?,
            arguments.number(3)?,
            arguments.number(4)?,
        ];
        let (hot_share, hot_probability) = (arguments.share(5)?, arguments.share(6)?);
        let hot = (blocks as f64 * hot_share) as u64;
        if blocks == 0 || hot >= blocks {
            return Err(arguments.bad("blocks, not all of them hot"));
        }
        let mut random = Xorshift::new(seed);
        for i in 1..=writes {
            let block = if hot == 0 {
                random.draw() % blocks
            } else if (random.draw() as f64) / 4_294_967_296.0 < hot_probability {
                random.draw() % hot
            } else {
                hot + random.draw() % (blocks - hot)
            };
            let write = Op::Write {
                file,
                offset: block * BLOCK,
                bytes: BLOCK,
            };
            self.apply(arguments.line, &write)?;
            if i % 1024 == 0 {
                go_on()?;
                self.print_events(out)?;
            }
            if flush > 0 && i % flush == 0 {
                self.fs
                    .flush_file(file)
                    .map_err(|e| TraceError::Operation {
                        line: arguments.line.to_owned(),
                        reason: e.to_string(),
                    })?;
                if self.poll_operations > 0 {
                    self.fs.poll_cleaner();
                }
                self.print_events(out)?;
            }
        }
        Ok(())
    }

    fn print_events(&mut self, out: &mut dyn Write) -> io::Result<()> {
        for event in self.fs.take_events() {
            match event {
                Event::Partial(partial) => print_partial(&partial, out)?,
                Event::Cleaned(cleaned) => print_cleaned(&cleaned, out)?,
            }
        }
        Ok(())
    }

    fn print_counters(&self, label: &str, out: &mut dyn Write) -> io::Result<()> {
        let c = self.fs.counters();
        let (clean, dirty) = self.fs.segment_counts();
        let (bfree, avail) = self.fs.free_sectors();
        let segment = self.fs.segment_bytes();
        let u = c.cleaned_live_bytes as f64 / (c.cleaned_segments * segment).max(1) as f64;
        write!(
            out,
            "{{\"label\": \"{label}\", \"ops\": {}, \"app_bytes\": {}, \"dev_wr_bytes\": {}, \"dev_wr_calls\": {}, ",
            self.fs.operations() - self.reset_at,
            self.written,
            c.written_bytes,
            c.writes
        )?;
        write!(
            out,
            "\"clean_segs\": {}, \"clean_read_bytes\": {}, \"clean_live_bytes\": {}, \"clean_dev_wr_bytes\": {}, ",
            c.cleaned_segments,
            c.cleaned_segments * segment,
            c.cleaned_live_bytes,
            c.cleaner_written_bytes
        )?;
        writeln!(
            out,
            "\"clean_calls\": {}, \"avg_u_cleaned\": {:?}, \"ci_clean\": {clean}, \"ci_dirty\": {dirty}, \
             \"ci_bfree\": {bfree}, \"ci_avail\": {avail}, \"live_bytes\": {}}}",
            c.cleaner_calls,
            (u * 1e4).round() / 1e4,
            self.fs.live_bytes()
        )
    }
}

impl ScriptTrace for Trace {
    fn step(
        &mut self,
        line: &str,
        out: &mut dyn Write,
        go_on: &dyn Fn() -> io::Result<()>,
    ) -> Result<(), TraceError> {
        // What making the file system wrote.
        self.print_events(out)?;
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let Some((&verb, arguments)) = words.split_first() else {
            return Ok(());
        };
        let arguments = Arguments { line, arguments };
        match verb {
            "P" => {
                let label = arguments.word(0)?;
                self.print_counters(label, out)?;
                self.fs.read_ifile();
            }
            "R" => {
                self.fs.reset_counters();
                self.written = 0;
                self.reset_at = self.fs.operations();
            }
            "B" => self.random_writes(&arguments, out, go_on)?,
            _ => {
                let (op, name) = self.operation(verb, &arguments)?;
                if let Some(name) = name {
                    self.fs.call_next(&name);
                }
                self.apply(line, &op)?;
                let every = self.poll_operations;
                if every > 0 && self.fs.operations().is_multiple_of(every) {
                    self.fs.poll_cleaner();
                }
            }
        }
        self.print_events(out)?;
        Ok(())
    }

    /// Sync, final counters, unmount.
    fn finish(&mut self, out: &mut dyn Write) -> Result<(), TraceError> {
        self.fs.sync();
        self.print_events(out)?;
        self.print_counters("end", out)?;
        self.fs.read_ifile();
        self.fs.sync();
        self.print_events(out)?;
        Ok(())
    }
}

/// What follows the verb of a line.
struct Arguments<'a> {
    line: &'a str,
    arguments: &'a [&'a str],
}

impl<'a> Arguments<'a> {
    fn bad(&self, expected: &str) -> TraceError {
        TraceError::Line {
            line: self.line.to_owned(),
            expected: expected.to_owned(),
        }
    }

    fn word(&self, i: usize) -> Result<&'a str, TraceError> {
        let word = self.arguments.get(i).copied();
        word.ok_or_else(|| self.bad("more arguments"))
    }

    fn number(&self, i: usize) -> Result<u64, TraceError> {
        let number = self.word(i)?.parse();
        number.map_err(|_| self.bad("a number"))
    }

    fn share(&self, i: usize) -> Result<f64, TraceError> {
        match self.word(i)?.parse() {
            Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
            _ => Err(self.bad("a share from 0 to 1")),
        }
    }
}

fn list<T: ToString>(numbers: &[T]) -> String {
    let words: Vec<String> = numbers.iter().map(T::to_string).collect();
    words.join(",")
}

fn print_partial(partial: &PartialReport, out: &mut dyn Write) -> io::Result<()> {
    let set = [
        (partial.directory_operation, "DIROP"),
        (partial.continued, "CONT"),
        (partial.cleaning, "CLEAN"),
    ];
    let names: Vec<&str> = set.iter().filter(|(on, _)| *on).map(|&(_, n)| n).collect();
    let flags = if names.is_empty() {
        "0".to_owned()
    } else {
        names.join("|")
    };
    writeln!(
        out,
        "P serial={} seg={} addr={} flags={flags} len_fsb={}",
        partial.serial, partial.segment, partial.address, partial.sectors
    )?;
    for part in &partial.parts {
        match part {
            Part::File {
                address,
                ino,
                version,
                last_bytes,
                lbns,
            } => writeln!(
                out,
                "   F addr={address} ino={ino} ver={version} last={last_bytes} lbns={}",
                list(lbns)
            )?,
            Part::Inodes { address, inos } => {
                writeln!(out, "   I addr={address} inos={}", list(inos))?;
            }
        }
    }
    Ok(())
}

fn print_cleaned(cleaned: &CleanedReport, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "{{\"op\":{},\"seg\":{},\"su_nbytes\":{},\"age_ops\":{},\"live_found\":{},\"blocks\":{},\"inodes\":{}}}",
        cleaned.operation,
        cleaned.segment,
        cleaned.live,
        cleaned.age,
        cleaned.live_found,
        cleaned.blocks,
        cleaned.inodes
    )
}
