//! Four programs that work on sources: an archive is unpacked, the tree is removed, a directory is compiled, and what
//! that made is removed again. Each is a list of file operations, and a price of the processor.
//!
//! **Source.** Ganger and Kaashoek 1997, section 4: `pax` of a compressed archive of about 1,000 C files, `rm -r` of
//! the result, `gmake` in a directory of 32 C files, and its `clean`. The paper prints no more of them than that.
//!
//! **Make-up**, an estimate where nothing else is said.
//! - The tree has 50 directories of 20 files, one of each size of [`SIZES`]: 14.3 KB in the mean, 55 % of up to 8 KB.
//! - `pax` reads a quarter of what it writes, since C text is packed to a quarter, with calls of 8 KB as they are
//!   needed, and makes directory by directory. `rm` removes the files of a directory in the order of their names, then
//!   the directory.
//! - A compilation reads its source, of the same sizes, and 12 of 24 headers of 4 KB in a directory of their own. The
//!   preprocessor writes source and headers to a temporary file, the compiler reads that and writes another one of the
//!   size of the source, the assembler reads that and writes an object of half the size; both temporary files, which
//!   lie in a directory of their own, are removed then. So did gcc 2 without `-pipe`. At the end all objects are read
//!   and a program of their size is written.
//! - `clean` removes the objects and the program.
//!
//! **Processor**, beside that of the system calls: unpacking makes 2 MB/s, an estimate for a Pentium at 120 MHz. A
//! compilation takes 0.7 s: 085.gcc of SPEC92 compiles 76 files in 5,460 s on its reference machine, of which the
//! Pentium is about 140 times as fast, which makes 0.51 s; preprocessor and assembler are put at 0.2 s.
//!
//! **Rules.** Caches are emptied before each program, and each ends with a sync. The programs themselves are not read.

use crate::benchmark::{Benchmark, Case, Site, Unsuited};
use crate::measurement::Measurement;
use crate::phase::{Done, Phases, Until};
use crate::subject::{BenchError, DirKey, FileKey, Part, Subject};

/// Sizes of C files in bytes, equally likely, in the order in which they come in a directory.
pub const SIZES: [u64; 20] = [
    5120, 512, 20480, 3072, 10240, 71680, 2048, 8192, 1024, 32768, 4096, 14336, 2560, 46080, 6144,
    1536, 17408, 7168, 25600, 12288,
];

/// Bytes of a call that reads or writes.
const CALL_BYTES: u64 = 8 << 10;
const HEADERS: usize = 24;
const HEADERS_OF_A_FILE: usize = 12;
const HEADER_BYTES: u64 = 4 << 10;
/// Bytes of the tree for each byte of its archive.
const PACKED: u64 = 4;

/// The four programs.
#[derive(Clone, Copy, Debug)]
pub struct Applications {
    /// Directories of the tree, of 20 files each.
    pub directories: u64,
    /// C files of the directory that is compiled.
    pub compiled: u64,
    /// Time of the processor for each byte that is unpacked, in nanoseconds.
    pub unpack_ns_per_byte: u64,
    /// The same for a compilation.
    pub compile_ns: u64,
}

/// The benchmark.
pub const APPLICATIONS: Applications = Applications {
    directories: 50,
    compiled: 32,
    unpack_ns_per_byte: 500,
    compile_ns: 700_000_000,
};

fn whole(bytes: u64) -> Part {
    Part {
        offset: 0,
        bytes,
        call_bytes: CALL_BYTES,
    }
}

/// Size of the n-th file.
fn size_of(n: u64) -> u64 {
    SIZES[(n % SIZES.len() as u64) as usize]
}

impl Benchmark for Applications {
    fn name(&self) -> &'static str {
        "applications"
    }

    fn summary(&self) -> &'static str {
        "unpacks and removes 1,000 C files, compiles 32, and cleans up (Ganger and Kaashoek 1997)"
    }

    fn default_cases(&self) -> Vec<Case> {
        vec![Case::default()]
    }

    /// The archive and the tree; what is compiled is less.
    fn suits(&self, _case: Case, site: &Site) -> Result<(), Unsuited> {
        let tree_bytes = self.directories * SIZES.iter().sum::<u64>();
        Unsuited::unless_it_fits(tree_bytes + tree_bytes / PACKED, site)
    }

    fn run(
        &self,
        _case: Case,
        repetition: u32,
        _site: &Site,
        subject: &mut dyn Subject,
    ) -> Result<Vec<Measurement>, BenchError> {
        let mut phases = Phases::new(self.name(), None, repetition, subject);
        let archive = self.make_archive(phases.subject)?;
        let mut tree = Vec::new();
        phases.subject.drop_caches()?;
        phases.run("pax", Until::Synced, |subject| {
            self.unpack(archive, &mut tree, subject)
        })?;
        phases.subject.drop_caches()?;
        phases.run("rm", Until::Synced, |subject| remove(&tree, subject))?;
        let project = self.make_project(phases.subject)?;
        let mut made = Vec::new();
        phases.subject.drop_caches()?;
        phases.run("gmake", Until::Synced, |subject| {
            self.compile(&project, &mut made, subject)
        })?;
        phases.subject.drop_caches()?;
        phases.run("clean", Until::Synced, |subject| delete(&made, subject))?;
        Ok(phases.finish())
    }
}

/// A directory of the tree with its files.
type Directory = (DirKey, Vec<FileKey>);

/// What is compiled, and where the rest goes.
struct Project {
    sources: Vec<(FileKey, u64)>,
    headers: Vec<FileKey>,
    objects: DirKey,
    temporary: DirKey,
}

impl Applications {
    fn make_archive(&self, subject: &mut dyn Subject) -> Result<FileKey, BenchError> {
        let bytes = self.directories * SIZES.iter().map(|bytes| bytes / PACKED).sum::<u64>();
        let dir = subject.mkdir()?;
        subject.create(dir, bytes, CALL_BYTES)
    }

    fn unpack(
        &self,
        archive: FileKey,
        tree: &mut Vec<Directory>,
        subject: &mut dyn Subject,
    ) -> Result<Done, BenchError> {
        let mut offset = 0;
        let mut done = Done::default();
        for _ in 0..self.directories {
            let dir = subject.mkdir()?;
            let mut files = Vec::new();
            for bytes in SIZES {
                let packed = Part {
                    offset,
                    ..whole(bytes / PACKED)
                };
                subject.read(archive, packed)?;
                offset += packed.bytes;
                subject.compute(bytes * self.unpack_ns_per_byte);
                files.push(subject.create(dir, bytes, CALL_BYTES)?);
                done.files += 1;
                done.bytes += bytes;
            }
            tree.push((dir, files));
        }
        Ok(done)
    }

    fn make_project(&self, subject: &mut dyn Subject) -> Result<Project, BenchError> {
        let (directory, include, temporary) =
            (subject.mkdir()?, subject.mkdir()?, subject.mkdir()?);
        let mut sources = Vec::new();
        for n in 0..self.compiled {
            let bytes = size_of(n);
            sources.push((subject.create(directory, bytes, CALL_BYTES)?, bytes));
        }
        let mut headers = Vec::new();
        for _ in 0..HEADERS {
            headers.push(subject.create(include, HEADER_BYTES, CALL_BYTES)?);
        }
        Ok(Project {
            sources,
            headers,
            objects: directory,
            temporary,
        })
    }

    /// Adds the objects and the program to `made`. What was done is counted in sources.
    fn compile(
        &self,
        project: &Project,
        made: &mut Vec<FileKey>,
        subject: &mut dyn Subject,
    ) -> Result<Done, BenchError> {
        let mut program_bytes = 0;
        for (n, &(source, bytes)) in project.sources.iter().enumerate() {
            subject.read(source, whole(bytes))?;
            for i in 0..HEADERS_OF_A_FILE {
                let header = project.headers[(n + i) % HEADERS];
                subject.read(header, whole(HEADER_BYTES))?;
            }
            let text_bytes = bytes + HEADERS_OF_A_FILE as u64 * HEADER_BYTES;
            let text = subject.create(project.temporary, text_bytes, CALL_BYTES)?;
            subject.read(text, whole(text_bytes))?;
            subject.compute(self.compile_ns);
            let assembler = subject.create(project.temporary, bytes, CALL_BYTES)?;
            subject.read(assembler, whole(bytes))?;
            made.push(subject.create(project.objects, bytes / 2, CALL_BYTES)?);
            program_bytes += bytes / 2;
            subject.delete(text)?;
            subject.delete(assembler)?;
        }
        for &object in made.iter() {
            let bytes = subject.file_bytes(object)?;
            subject.read(object, whole(bytes))?;
        }
        made.push(subject.create(project.objects, program_bytes, CALL_BYTES)?);
        Ok(Done {
            files: self.compiled,
            bytes: 0,
        })
    }
}

/// Removes a tree, directory by directory.
fn remove(tree: &[Directory], subject: &mut dyn Subject) -> Result<Done, BenchError> {
    let mut done = Done::default();
    for (dir, files) in tree {
        done.files += delete(files, subject)?.files;
        subject.rmdir(*dir)?;
    }
    Ok(done)
}

fn delete(files: &[FileKey], subject: &mut dyn Subject) -> Result<Done, BenchError> {
    for &file in files {
        subject.delete(file)?;
    }
    Ok(Done {
        files: files.len() as u64,
        bytes: 0,
    })
}
