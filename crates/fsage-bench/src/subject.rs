//! What a benchmark runs on: a file system, simulated or real, with a clock.

use crate::laps::Lap;
use crate::measurement::Requests;
use crate::real::Ran;
use crate::simulated::DriveTooSmall;
use fsage_core::{Outcome, StateError};
use fsage_durable::FileError;
use fsage_metrics::LayoutScore;
use fsage_real::directory::TargetError;
use fsage_real::loop_image::ImageError;
use std::path::PathBuf;
use thiserror::Error;

/// A directory of a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DirKey(pub u64);

/// A file of a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileKey(pub u64);

/// A part of a file, and the largest call that reads or writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// First byte.
    pub offset: u64,
    /// Length in bytes.
    pub bytes: u64,
    /// Bytes of one system call, at least 1; the last call takes the rest.
    pub call_bytes: u64,
}

/// A file system that is benchmarked. Its clock is simulated, or that of the machine.
///
/// Every operation is complete, as far as its program is concerned, when the method returns; what the system does in
/// the background goes on.
pub trait Subject {
    /// Bytes that new files can still take, as far as is known.
    ///
    /// # Errors
    /// A system call failed.
    fn free_bytes(&mut self) -> Result<u64, BenchError>;

    /// Makes a directory of the benchmark's own.
    ///
    /// # Errors
    /// No space; a system call failed.
    fn mkdir(&mut self) -> Result<DirKey, BenchError>;

    /// Makes a directory in one of the benchmark's own.
    ///
    /// # Errors
    /// No such directory; no space; a system call failed.
    fn mkdir_in(&mut self, parent: DirKey) -> Result<DirKey, BenchError>;

    /// Says that the files of a directory, and of those below, are going to be used more than others. Most file systems
    /// have no use for it.
    ///
    /// # Errors
    /// No such directory.
    fn hint(&mut self, _dir: DirKey) -> Result<(), BenchError> {
        Ok(())
    }

    /// Says that files which are made from now on belong together with all that were made under the same number,
    /// whatever their directories; `None`: no longer. Most file systems have no use for it.
    ///
    /// # Errors
    /// A system call failed.
    fn name_together(&mut self, _number: Option<u64>) -> Result<(), BenchError> {
        Ok(())
    }

    /// What follows is preparation, or no longer. Where time is simulated, none passes.
    ///
    /// # Errors
    /// A system call failed.
    fn untimed(&mut self, _on: bool) -> Result<(), BenchError> {
        Ok(())
    }

    /// How long each call on a file took since this was asked last, in their order; none where time is simulated.
    fn laps(&mut self) -> Vec<Lap> {
        Vec::new()
    }

    /// The first byte of a file on the device; `None` where that is not known, or where the file has no block.
    ///
    /// # Errors
    /// No such file.
    fn start_bytes(&mut self, _file: FileKey) -> Result<Option<u64>, BenchError> {
        Ok(None)
    }

    /// Removes a directory of the benchmark's own, which is empty.
    ///
    /// # Errors
    /// It is not there, or not empty; a system call failed.
    fn rmdir(&mut self, dir: DirKey) -> Result<(), BenchError>;

    /// Makes a file, writes so many bytes to it with calls of `call_bytes`, and closes it.
    ///
    /// # Errors
    /// No space; a system call failed.
    fn create(&mut self, dir: DirKey, bytes: u64, call_bytes: u64) -> Result<FileKey, BenchError>;

    /// The directory in which a file lies that was there before; `None` where that is not known, or where nothing may
    /// be left behind. Files of the benchmark may be moved into it.
    ///
    /// # Errors
    /// No such file; a system call failed.
    fn directory_of(&mut self, file: FileKey) -> Result<Option<DirKey>, BenchError>;

    /// Delivers a file, as mail is: makes it in the first directory of `way` and writes it with calls of `call_bytes`,
    /// forces it to disk, closes it, and moves it to the second one.
    ///
    /// # Errors
    /// No such directory; no space; a system call failed.
    fn deliver(
        &mut self,
        way: (DirKey, DirKey),
        bytes: u64,
        call_bytes: u64,
    ) -> Result<FileKey, BenchError>;

    /// Opens a file, reads a part of it, and closes it.
    ///
    /// # Errors
    /// No such file; data that were never written; a system call failed.
    fn read(&mut self, file: FileKey, part: Part) -> Result<(), BenchError>;

    /// Reads parts of files past all caches, with up to `depth` calls at work at the same time. Offsets are multiples
    /// of 4 KB.
    ///
    /// # Errors
    /// No such file; data that were never written; a system call failed.
    fn read_direct(&mut self, parts: &[(FileKey, Part)], depth: usize) -> Result<(), BenchError>;

    /// Opens a file, writes over a part of it in place, and closes it.
    ///
    /// # Errors
    /// No such file; no space; a system call failed.
    fn overwrite(&mut self, file: FileKey, part: Part) -> Result<(), BenchError>;

    /// Opens a file, writes so many bytes at its end with one call, and closes it.
    ///
    /// # Errors
    /// No such file; no space; a system call failed.
    fn append(&mut self, file: FileKey, bytes: u64) -> Result<(), BenchError>;

    /// Removes a file.
    ///
    /// # Errors
    /// No such file; a system call failed.
    fn delete(&mut self, file: FileKey) -> Result<(), BenchError>;

    /// Writes the data of a file and its inode, and waits for them.
    ///
    /// # Errors
    /// No such file; a system call failed.
    fn fsync(&mut self, file: FileKey) -> Result<(), BenchError>;

    /// Keeps the processor busy for so many nanoseconds: the program computes.
    fn compute(&mut self, ns: u64);

    /// Length of a file in bytes.
    ///
    /// # Errors
    /// No such file.
    fn file_bytes(&mut self, file: FileKey) -> Result<u64, BenchError>;

    /// Writes everything out, and waits for it.
    ///
    /// # Errors
    /// A system call failed.
    fn sync(&mut self) -> Result<(), BenchError>;

    /// Empties all caches, as unmounting and mounting again does.
    ///
    /// # Errors
    /// A system call failed.
    fn drop_caches(&mut self) -> Result<(), BenchError>;

    /// The clock, nanoseconds from some point.
    fn clock_ns(&mut self) -> u64;

    /// Time that the processor worked so far, in nanoseconds; `None` where that is not known.
    fn cpu_ns(&mut self) -> Option<u64> {
        None
    }

    /// Requests at the device so far; `None` where they are not counted.
    fn requests(&mut self) -> Option<Requests> {
        None
    }

    /// Runs a command line of the shell, with empty input, and waits for it. In it `{dir}` stands for an empty
    /// directory of the benchmark's own, and `{mnt}` for the root of the file system. Where time is simulated there is
    /// nothing that it could see.
    ///
    /// # Errors
    /// It cannot be run, or fails.
    fn execute(&mut self, line: &str) -> Result<Ran, BenchError> {
        Err(BenchError::Program {
            line: line.to_owned(),
            why: "runs on real file systems only".to_owned(),
            said: Vec::new(),
        })
    }

    /// Layout score of some files together; `None` where it cannot be told.
    ///
    /// # Errors
    /// A system call failed.
    fn layout(&mut self, files: &[FileKey]) -> Result<Option<LayoutScore>, BenchError>;

    /// Removes everything that the benchmark made.
    ///
    /// # Errors
    /// A system call failed.
    fn clean_up(&mut self) -> Result<(), BenchError>;
}

/// A subject that is lent.
impl<S: Subject + ?Sized> Subject for &mut S {
    fn free_bytes(&mut self) -> Result<u64, BenchError> {
        (**self).free_bytes()
    }

    fn mkdir(&mut self) -> Result<DirKey, BenchError> {
        (**self).mkdir()
    }

    fn mkdir_in(&mut self, parent: DirKey) -> Result<DirKey, BenchError> {
        (**self).mkdir_in(parent)
    }

    fn hint(&mut self, dir: DirKey) -> Result<(), BenchError> {
        (**self).hint(dir)
    }

    fn name_together(&mut self, number: Option<u64>) -> Result<(), BenchError> {
        (**self).name_together(number)
    }

    fn untimed(&mut self, on: bool) -> Result<(), BenchError> {
        (**self).untimed(on)
    }

    fn laps(&mut self) -> Vec<Lap> {
        (**self).laps()
    }

    fn start_bytes(&mut self, file: FileKey) -> Result<Option<u64>, BenchError> {
        (**self).start_bytes(file)
    }

    fn rmdir(&mut self, dir: DirKey) -> Result<(), BenchError> {
        (**self).rmdir(dir)
    }

    fn create(&mut self, dir: DirKey, bytes: u64, call_bytes: u64) -> Result<FileKey, BenchError> {
        (**self).create(dir, bytes, call_bytes)
    }

    fn directory_of(&mut self, file: FileKey) -> Result<Option<DirKey>, BenchError> {
        (**self).directory_of(file)
    }

    fn deliver(
        &mut self,
        way: (DirKey, DirKey),
        bytes: u64,
        call_bytes: u64,
    ) -> Result<FileKey, BenchError> {
        (**self).deliver(way, bytes, call_bytes)
    }

    fn read(&mut self, file: FileKey, part: Part) -> Result<(), BenchError> {
        (**self).read(file, part)
    }

    fn read_direct(&mut self, parts: &[(FileKey, Part)], depth: usize) -> Result<(), BenchError> {
        (**self).read_direct(parts, depth)
    }

    fn overwrite(&mut self, file: FileKey, part: Part) -> Result<(), BenchError> {
        (**self).overwrite(file, part)
    }

    fn append(&mut self, file: FileKey, bytes: u64) -> Result<(), BenchError> {
        (**self).append(file, bytes)
    }

    fn delete(&mut self, file: FileKey) -> Result<(), BenchError> {
        (**self).delete(file)
    }

    fn fsync(&mut self, file: FileKey) -> Result<(), BenchError> {
        (**self).fsync(file)
    }

    fn compute(&mut self, ns: u64) {
        (**self).compute(ns);
    }

    fn file_bytes(&mut self, file: FileKey) -> Result<u64, BenchError> {
        (**self).file_bytes(file)
    }

    fn sync(&mut self) -> Result<(), BenchError> {
        (**self).sync()
    }

    fn drop_caches(&mut self) -> Result<(), BenchError> {
        (**self).drop_caches()
    }

    fn clock_ns(&mut self) -> u64 {
        (**self).clock_ns()
    }

    fn cpu_ns(&mut self) -> Option<u64> {
        (**self).cpu_ns()
    }

    fn requests(&mut self) -> Option<Requests> {
        (**self).requests()
    }

    fn execute(&mut self, line: &str) -> Result<Ran, BenchError> {
        (**self).execute(line)
    }

    fn layout(&mut self, files: &[FileKey]) -> Result<Option<LayoutScore>, BenchError> {
        (**self).layout(files)
    }

    fn clean_up(&mut self) -> Result<(), BenchError> {
        (**self).clean_up()
    }
}

/// Why a benchmark cannot go on.
#[derive(Debug, Error)]
pub enum BenchError {
    /// The files of the benchmark do not fit.
    #[error("no space left on the file system that is measured")]
    NoSpace,
    /// No inode is left for them.
    #[error("no inode left on the file system that is measured")]
    NoInode,
    /// An operation of the benchmark does not fit the state of the model.
    #[error("the model refuses an operation of the benchmark")]
    State(#[from] StateError),
    /// The model does not carry out an operation of the benchmark.
    #[error("the model does not carry out an operation of the benchmark ({0:?})")]
    Refused(Outcome),
    /// A file of the benchmark is not there.
    #[error("file {} is not there", .0.0)]
    NoFile(FileKey),
    /// A file has space that was allocated and never written: reading it costs nothing, and measures nothing.
    #[error(
        "{path}: {unwritten_bytes} of its bytes were allocated and never written, so that reading them measures \
         nothing; age with data=write"
    )]
    Unwritten {
        /// The file.
        path: PathBuf,
        /// Bytes that were never written.
        unwritten_bytes: u64,
    },
    /// The simulated drive has no room for the file system.
    #[error(transparent)]
    Drive(#[from] DriveTooSmall),
    /// The directory cannot be measured in.
    #[error(transparent)]
    Directory(#[from] TargetError),
    /// The image cannot be made or mounted.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// What the benchmark works on cannot be made beside the image.
    #[error(transparent)]
    Scratch(#[from] FileError),
    /// A system call failed.
    #[error("{path}: {call} failed")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The system call.
        call: &'static str,
        /// What it failed with.
        source: std::io::Error,
    },
    /// A command of the user's cannot be run, or failed.
    #[error("`{line}` {why}{}", said.iter().flat_map(|said| ["\n  ", said]).collect::<String>())]
    Program {
        /// The command line.
        line: String,
        /// How it ended.
        why: String,
        /// The last lines of its stderr; of its stdout, where that is empty.
        said: Vec<String>,
    },
    /// What a command of the user's printed does not have the number that is wanted.
    #[error("`{line}`: {why}")]
    Unread {
        /// The command line.
        line: String,
        /// What is wrong with it, and what was expected.
        why: String,
    },
    /// The caller asked to stop.
    #[error("interrupted")]
    Interrupted,
}
