//! Many files of one size, one after the other: created, read, written over, deleted.
//!
//! **Parameters.** 32 MB in files of one size, or so many files; so many files a directory; calls of at most 4 MB, so
//! that a file is written with as few as possible; caches emptied between phases.
//!
//! **Variants.** [`SEQUENTIAL`]: create and read, 25 files a directory (Smith and Seltzer 1996, section 4.1, and 1997,
//! section 3.1). [`SEQUENTIAL_1995`]: all four phases, 100 files a directory, at least ten files (Seltzer et al. 1995,
//! section 3). Those of small files and of one large file are in modules of their own.
//!
//! **What the papers do not say**, and what is done here. The directories are made within the first phase, as the
//! files go into them. The clock of a phase that writes stops when all is on disk; that of reading with the last call.
//! Caches are emptied between phases in all variants; the paper of 1997 says so. The sizes are those that the text
//! names and enough between them to draw the curves.
//!
//! **Limits.** One process. The files of a directory share its cylinder group, so that the number of files a directory
//! is part of what is measured.

use super::CALL_BYTES;
use crate::benchmark::{Benchmark, Case, Site, Unsuited};
use crate::measurement::Measurement;
use crate::phase::{Done, Phases, Until};
use crate::subject::{BenchError, DirKey, FileKey, Part, Subject};
use fsage_core::Rng;
use std::borrow::Cow;

/// How many files there are of a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileCount {
    /// As many as fit into so many bytes, but at least so many.
    Holding {
        /// Bytes of all files together.
        total_bytes: u64,
        /// The smallest number of files.
        at_least: u64,
    },
    /// So many, whatever their size.
    Exactly(u64),
}

impl FileCount {
    /// Files of a size.
    pub fn of_size(self, file_bytes: u64) -> u64 {
        match self {
            FileCount::Holding {
                total_bytes,
                at_least,
            } => (total_bytes / file_bytes.max(1)).max(at_least),
            FileCount::Exactly(files) => files,
        }
    }
}

/// What a phase does with every file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Makes and writes it.
    Create,
    /// Reads it.
    Read,
    /// Writes over it in place.
    Overwrite,
    /// Removes it.
    Delete,
}

impl Step {
    /// Name of the phase.
    pub fn as_str(self) -> &'static str {
        match self {
            Step::Create => "create",
            Step::Read => "read",
            Step::Overwrite => "overwrite",
            Step::Delete => "delete",
        }
    }
}

/// When the directories are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Directories {
    /// Within the first phase, as the files go into them.
    AsFilesCome,
    /// All of them before the first phase.
    First,
}

/// In which order files are read, written over and removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// That of creation.
    OfCreation,
    /// Another one at random for each of these steps: names say nothing of use, as in the cache of a browser. What is
    /// drawn depends on the repetition alone.
    AtRandom,
    /// Documents of so many files, which are made one after the other in directories at random, and used together:
    /// document after document, these at random. The program says which files belong together
    /// ([`Subject::name_together`]).
    ByDocument(u64),
}

/// What the clock of a phase waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forced {
    /// The last call.
    Nothing,
    /// A sync at the end of a phase that writes.
    Writes,
    /// A sync at the end of every phase.
    Everything,
    /// An `fsync` of every file that was written.
    EachFile,
}

/// A benchmark of files of one size.
#[derive(Clone, Debug)]
pub struct Sequential {
    /// Its name.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Sizes of files in bytes, a case each.
    pub sizes: Cow<'static, [u64]>,
    /// How many files.
    pub files: FileCount,
    /// Files in one directory, at most.
    pub files_per_directory: u64,
    /// When the directories are made.
    pub directories: Directories,
    /// Bytes of a call, at most.
    pub call_bytes: u64,
    /// The phases in order; the first one creates.
    pub steps: &'static [Step],
    /// In which order files are read, written over and removed.
    pub order: Order,
    /// Caches are emptied between phases.
    pub empty_caches: bool,
    /// What the clock of a phase waits for.
    pub forced: Forced,
}

const KB: u64 = 1 << 10;
const MB: u64 = 1 << 20;

/// Data of a run in the three papers.
const TOTAL_BYTES: u64 = 32 * MB;

/// Create and read, as in 1996 and 1997.
pub const SEQUENTIAL: Sequential = Sequential {
    name: "sequential",
    summary: "creates and reads 32 MB in files of 16 KB to 32 MB (Smith and Seltzer 1996, 1997)",
    sizes: Cow::Borrowed(&[
        16 * KB,
        24 * KB,
        32 * KB,
        40 * KB,
        48 * KB,
        56 * KB,
        64 * KB,
        72 * KB,
        80 * KB,
        88 * KB,
        96 * KB,
        104 * KB,
        112 * KB,
        120 * KB,
        128 * KB,
        160 * KB,
        192 * KB,
        256 * KB,
        384 * KB,
        512 * KB,
        MB,
        2 * MB,
        4 * MB,
        8 * MB,
        16 * MB,
        32 * MB,
    ]),
    files: FileCount::Holding {
        total_bytes: TOTAL_BYTES,
        at_least: 1,
    },
    files_per_directory: 25,
    directories: Directories::AsFilesCome,
    call_bytes: CALL_BYTES,
    steps: &[Step::Create, Step::Read],
    order: Order::OfCreation,
    empty_caches: true,
    forced: Forced::Writes,
};

/// Create, read, overwrite and delete, as in 1995.
pub const SEQUENTIAL_1995: Sequential = Sequential {
    name: "sequential-1995",
    summary: "creates, reads, overwrites, deletes 32 MB in files of 1 KB to 64 MB (Seltzer et al. 1995)",
    sizes: Cow::Borrowed(&[
        KB,
        2 * KB,
        4 * KB,
        8 * KB,
        16 * KB,
        32 * KB,
        64 * KB,
        128 * KB,
        256 * KB,
        512 * KB,
        MB,
        2 * MB,
        4 * MB,
        8 * MB,
        16 * MB,
        32 * MB,
        64 * MB,
    ]),
    files: FileCount::Holding {
        total_bytes: TOTAL_BYTES,
        at_least: 10,
    },
    files_per_directory: 100,
    steps: &[Step::Create, Step::Read, Step::Overwrite, Step::Delete],
    ..SEQUENTIAL
};

impl Benchmark for Sequential {
    fn name(&self) -> &'static str {
        self.name
    }

    fn summary(&self) -> &'static str {
        self.summary
    }

    fn default_cases(&self) -> Vec<Case> {
        self.sizes
            .iter()
            .map(|&bytes| Case::of_size(bytes))
            .collect()
    }

    fn draws(&self) -> bool {
        matches!(self.order, Order::AtRandom | Order::ByDocument(_))
    }

    fn suits(&self, case: Case, site: &Site) -> Result<(), Unsuited> {
        let file_bytes = case.file_bytes.filter(|&bytes| bytes > 0);
        let file_bytes = file_bytes.ok_or(Unsuited::NoSize)?;
        let files = self.files.of_size(file_bytes);
        // Even a byte takes a fragment.
        Unsuited::unless_it_fits(files.saturating_mul(file_bytes.max(KB)), site)
    }

    fn run(
        &self,
        case: Case,
        repetition: u32,
        _site: &Site,
        subject: &mut dyn Subject,
    ) -> Result<Vec<Measurement>, BenchError> {
        let file_bytes = case.file_bytes.unwrap_or_default();
        let mut phases = Phases::new(self.name, case.file_bytes, repetition, subject);
        let mut files = Vec::new();
        let mut rng = Rng::new(u64::from(repetition));
        let mut directories = match self.directories {
            Directories::AsFilesCome => Vec::new(),
            Directories::First => self.make_directories(file_bytes, phases.subject)?,
        };
        for &step in self.steps {
            match self.order {
                Order::OfCreation => {}
                Order::AtRandom => rng.shuffle(&mut files),
                Order::ByDocument(each) => {
                    let mut documents: Vec<_> = files.chunks(each.max(1) as usize).collect();
                    rng.shuffle(&mut documents);
                    files = documents.concat();
                }
            }
            if self.empty_caches {
                phases.subject.drop_caches()?;
            }
            let until = match (self.forced, step) {
                (Forced::Nothing | Forced::EachFile, _) | (Forced::Writes, Step::Read) => {
                    Until::LastCall
                }
                (Forced::Writes | Forced::Everything, _) => Until::Synced,
            };
            phases.run(step.as_str(), until, |subject| {
                match step {
                    Step::Create => {
                        let into = (&mut directories, &mut files);
                        self.create(file_bytes, into, &mut rng, subject)?;
                        subject.name_together(None)?;
                    }
                    _ => self.go_over(step, file_bytes, &files, subject)?,
                }
                let count = files.len() as u64;
                Ok(Done {
                    files: count,
                    bytes: match step {
                        Step::Delete => 0,
                        _ => count * file_bytes,
                    },
                })
            })?;
            if matches!(step, Step::Create | Step::Overwrite) {
                phases.look_at(&files)?;
            }
        }
        Ok(phases.finish())
    }
}

impl Sequential {
    fn make_directories(
        &self,
        file_bytes: u64,
        subject: &mut dyn Subject,
    ) -> Result<Vec<DirKey>, BenchError> {
        let files = self.files.of_size(file_bytes);
        let directories = files.div_ceil(self.files_per_directory.max(1));
        (0..directories).map(|_| subject.mkdir()).collect()
    }

    /// Directories that are not there yet are made.
    fn create(
        &self,
        file_bytes: u64,
        (directories, files): (&mut Vec<DirKey>, &mut Vec<FileKey>),
        rng: &mut Rng,
        subject: &mut dyn Subject,
    ) -> Result<(), BenchError> {
        for i in 0..self.files.of_size(file_bytes) {
            let mut number = (i / self.files_per_directory.max(1)) as usize;
            if let Order::ByDocument(each) = self.order {
                if i.is_multiple_of(each.max(1)) {
                    subject.name_together(Some(i / each.max(1)))?;
                }
                number = rng.below(directories.len().max(1) as u64) as usize;
            }
            if number == directories.len() {
                directories.push(subject.mkdir()?);
            }
            let file = subject.create(directories[number], file_bytes, self.call_bytes)?;
            if self.forced == Forced::EachFile {
                subject.fsync(file)?;
            }
            files.push(file);
        }
        Ok(())
    }

    fn go_over(
        &self,
        step: Step,
        file_bytes: u64,
        files: &[FileKey],
        subject: &mut dyn Subject,
    ) -> Result<(), BenchError> {
        let whole = Part {
            offset: 0,
            bytes: file_bytes,
            call_bytes: self.call_bytes,
        };
        for &file in files {
            match step {
                Step::Overwrite => subject.overwrite(file, whole)?,
                Step::Delete => subject.delete(file)?,
                Step::Read | Step::Create => subject.read(file, whole)?,
            }
            if step == Step::Overwrite && self.forced == Forced::EachFile {
                subject.fsync(file)?;
            }
        }
        Ok(())
    }
}
