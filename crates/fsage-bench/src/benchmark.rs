//! What a benchmark is.

use crate::measurement::Measurement;
use crate::subject::{BenchError, FileKey, Subject};
use fsage_core::size;
use std::fmt;

/// Facts of a file system from which a benchmark chooses its cases.
#[derive(Clone, Debug, Default)]
pub struct Site {
    /// Bytes that new files can still take.
    pub free_bytes: u64,
    /// Files that were modified in the last month and are there still, in the order in which they are read.
    pub hot_files: Vec<FileKey>,
    /// All files that data were ever written to, directory by directory, where a benchmark asks for them.
    pub tree: Vec<FileKey>,
}

/// Files that are there and that a benchmark goes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GoesOver {
    /// Its own only.
    Own,
    /// The hot ones.
    HotFiles,
    /// All of them.
    Tree,
}

/// One run of a benchmark on a fresh state: a size of files, most often.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Case {
    /// Size of each file in bytes, where the benchmark has cases of several.
    pub file_bytes: Option<u64>,
}

impl Case {
    /// The case of files of this size.
    pub fn of_size(bytes: u64) -> Case {
        Case {
            file_bytes: Some(bytes),
        }
    }
}

/// A benchmark: its cases, and how one of them runs.
pub trait Benchmark: Sync {
    /// Name, as on the command line.
    fn name(&self) -> &str;

    /// What it does, in one line.
    fn summary(&self) -> &str;

    /// Its cases where nothing else is asked for. Where they have a size, any other size is a case as well.
    fn default_cases(&self) -> Vec<Case>;

    /// The options of the command line that ask for it, with their values.
    fn asked_by(&self) -> Vec<(&'static str, String)> {
        vec![("suite", self.name().to_owned())]
    }

    /// Which files it goes over.
    fn goes_over(&self) -> GoesOver {
        GoesOver::Own
    }

    /// Of which files it has to know where they are, to go over them or for their directories.
    fn asks_for(&self) -> GoesOver {
        self.goes_over()
    }

    /// Whether it works on files that are there before.
    fn finds_files(&self) -> bool {
        self.goes_over() != GoesOver::Own
    }

    /// Whether it makes files, for which it needs room.
    fn makes_files(&self) -> bool {
        self.goes_over() == GoesOver::Own
    }

    /// Whether a repetition draws anything at random, so that another one differs on a device that does the same every
    /// time.
    fn draws(&self) -> bool {
        false
    }

    /// Whether it runs programs of this machine, which see real file systems only.
    fn runs_programs(&self) -> bool {
        false
    }

    /// Whether a case can run there.
    ///
    /// # Errors
    /// Why not.
    fn suits(&self, case: Case, site: &Site) -> Result<(), Unsuited>;

    /// Runs one case, and gives a measurement a phase. `repetition` goes into them, and decides what is drawn at
    /// random.
    ///
    /// # Errors
    /// Those of the subject.
    fn run(
        &self,
        case: Case,
        repetition: u32,
        site: &Site,
        subject: &mut dyn Subject,
    ) -> Result<Vec<Measurement>, BenchError>;

    /// The default cases that can run there.
    fn cases(&self, site: &Site) -> Vec<Case> {
        let mut cases = self.default_cases();
        cases.retain(|&case| self.suits(case, site).is_ok());
        cases
    }

    /// The default cases that cannot run there, and why.
    fn left_out(&self, site: &Site) -> Vec<LeftOut> {
        let cases = self.default_cases().into_iter();
        cases
            .filter_map(|case| {
                let why = self.suits(case, site).err()?;
                Some(LeftOut { case, why })
            })
            .collect()
    }
}

/// Why a case cannot run on a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsuited {
    /// Its files would not fit.
    NoRoom {
        /// Bytes that the case needs, with what its pointers and directories may take.
        needed_bytes: u64,
        /// Bytes that new files can still take.
        free_bytes: u64,
    },
    /// There was room by the numbers, and it ran out all the same.
    RanOutOfSpace,
    /// There was room, but no inodes.
    RanOutOfInodes,
    /// No file was modified in the last month.
    NoHotFiles,
    /// No file has data.
    NoFiles,
    /// The case names no size of files, or 0, and the benchmark needs one.
    NoSize,
}

impl Unsuited {
    /// Whether `data_bytes` of files fit, with an eighth more for pointers, directories and the ends of blocks.
    ///
    /// # Errors
    /// They do not.
    pub(crate) fn unless_it_fits(data_bytes: u64, site: &Site) -> Result<(), Unsuited> {
        let needed_bytes = data_bytes.saturating_add(data_bytes / 8);
        if needed_bytes <= site.free_bytes {
            return Ok(());
        }
        Err(Unsuited::NoRoom {
            needed_bytes,
            free_bytes: site.free_bytes,
        })
    }
}

impl fmt::Display for Unsuited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unsuited::NoRoom {
                needed_bytes,
                free_bytes,
            } => {
                let mut texts = [*needed_bytes, *free_bytes].map(size::human);
                if texts[0] == texts[1] {
                    texts = [needed_bytes, free_bytes].map(|bytes| format!("{bytes} B"));
                }
                let [needed, free] = texts;
                write!(f, "needs {needed}, and {free} are free")
            }
            Unsuited::RanOutOfSpace => f.write_str("ran out of space"),
            Unsuited::RanOutOfInodes => f.write_str("ran out of inodes"),
            Unsuited::NoHotFiles => f.write_str("no file was modified in the last month"),
            Unsuited::NoFiles => f.write_str("no file has data"),
            Unsuited::NoSize => f.write_str("needs a size of files, at least 1 byte"),
        }
    }
}

/// A case that was not run, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The case.
    pub case: Case,
    /// Why it was not run.
    pub why: Unsuited,
}
