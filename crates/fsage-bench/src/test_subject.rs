//! A subject for tests that writes down what it is asked for. Every call takes a second, syncing takes ten.

use crate::subject::{BenchError, DirKey, FileKey, Part, Subject};
use fsage_metrics::LayoutScore;
use std::collections::BTreeMap;

const SECOND_NS: u64 = 1_000_000_000;

/// Files with their sizes, a clock, and a list of what was asked for.
#[derive(Debug, Default)]
pub(crate) struct TestSubject {
    pub free_bytes: u64,
    pub files: BTreeMap<u64, u64>,
    pub log: Vec<String>,
    directories: u64,
    now_ns: u64,
}

impl TestSubject {
    /// A file system with so much room and these files.
    pub fn new(free_bytes: u64, files: &[(u64, u64)]) -> TestSubject {
        TestSubject {
            free_bytes,
            files: files.iter().copied().collect(),
            ..TestSubject::default()
        }
    }

    fn calls(&mut self, bytes: u64, call_bytes: u64) {
        self.now_ns += bytes.div_ceil(call_bytes) * SECOND_NS;
    }

    fn part(&mut self, verb: &str, file: FileKey, part: Part) -> Result<(), BenchError> {
        let size = self.file_bytes(file)?;
        assert!(
            part.offset + part.bytes <= size,
            "{part:?} is behind the end"
        );
        self.calls(part.bytes, part.call_bytes);
        self.log
            .push(format!("{verb} {} {}+{}", file.0, part.offset, part.bytes));
        Ok(())
    }
}

impl Subject for TestSubject {
    fn free_bytes(&mut self) -> Result<u64, BenchError> {
        Ok(self.free_bytes)
    }

    fn mkdir(&mut self) -> Result<DirKey, BenchError> {
        self.directories += 1;
        self.log.push(format!("mkdir {}", self.directories));
        Ok(DirKey(self.directories))
    }

    fn mkdir_in(&mut self, parent: DirKey) -> Result<DirKey, BenchError> {
        self.directories += 1;
        self.log
            .push(format!("mkdir {}/{}", parent.0, self.directories));
        Ok(DirKey(self.directories))
    }

    fn name_together(&mut self, number: Option<u64>) -> Result<(), BenchError> {
        if let Some(number) = number {
            self.log.push(format!("together {number}"));
        }
        Ok(())
    }

    fn hint(&mut self, dir: DirKey) -> Result<(), BenchError> {
        self.log.push(format!("hint {}", dir.0));
        Ok(())
    }

    /// File 1 lies at 4096, and so on.
    fn start_bytes(&mut self, file: FileKey) -> Result<Option<u64>, BenchError> {
        Ok(Some(4096 * file.0))
    }

    fn rmdir(&mut self, dir: DirKey) -> Result<(), BenchError> {
        self.now_ns += SECOND_NS;
        self.log.push(format!("rmdir {}", dir.0));
        Ok(())
    }

    fn create(&mut self, dir: DirKey, bytes: u64, call_bytes: u64) -> Result<FileKey, BenchError> {
        self.free_bytes = self
            .free_bytes
            .checked_sub(bytes)
            .ok_or(BenchError::NoSpace)?;
        let file = self.files.keys().last().map_or(1, |last| last + 1);
        self.files.insert(file, bytes);
        self.calls(bytes, call_bytes);
        self.log.push(format!("create {}/{file} {bytes}", dir.0));
        Ok(FileKey(file))
    }

    /// Files 1 and 2 lie in directory 101, 3 and 4 in 102, and so on.
    fn directory_of(&mut self, file: FileKey) -> Result<Option<DirKey>, BenchError> {
        self.file_bytes(file)?;
        Ok(Some(DirKey(100 + file.0.div_ceil(2))))
    }

    fn deliver(
        &mut self,
        (from, to): (DirKey, DirKey),
        bytes: u64,
        call_bytes: u64,
    ) -> Result<FileKey, BenchError> {
        let file = self.create(from, bytes, call_bytes)?;
        self.fsync(file)?;
        self.now_ns += SECOND_NS;
        self.log.push(format!("rename {} to {}", file.0, to.0));
        Ok(file)
    }

    fn read(&mut self, file: FileKey, part: Part) -> Result<(), BenchError> {
        self.part("read", file, part)
    }

    fn read_direct(&mut self, parts: &[(FileKey, Part)], depth: usize) -> Result<(), BenchError> {
        for &(file, part) in parts {
            self.part(&format!("read {depth} at once:"), file, part)?;
        }
        Ok(())
    }

    fn overwrite(&mut self, file: FileKey, part: Part) -> Result<(), BenchError> {
        self.part("overwrite", file, part)
    }

    fn append(&mut self, file: FileKey, bytes: u64) -> Result<(), BenchError> {
        let size = self.files.get_mut(&file.0);
        *size.ok_or(BenchError::NoFile(file))? += bytes;
        self.now_ns += SECOND_NS;
        self.log.push(format!("append {} {bytes}", file.0));
        Ok(())
    }

    fn delete(&mut self, file: FileKey) -> Result<(), BenchError> {
        self.files.remove(&file.0).ok_or(BenchError::NoFile(file))?;
        self.now_ns += SECOND_NS;
        self.log.push(format!("delete {}", file.0));
        Ok(())
    }

    fn fsync(&mut self, file: FileKey) -> Result<(), BenchError> {
        self.file_bytes(file)?;
        self.now_ns += SECOND_NS;
        self.log.push(format!("fsync {}", file.0));
        Ok(())
    }

    fn compute(&mut self, ns: u64) {
        self.now_ns += ns;
    }

    fn file_bytes(&mut self, file: FileKey) -> Result<u64, BenchError> {
        self.files
            .get(&file.0)
            .copied()
            .ok_or(BenchError::NoFile(file))
    }

    fn sync(&mut self) -> Result<(), BenchError> {
        self.now_ns += 10 * SECOND_NS;
        self.log.push("sync".to_owned());
        Ok(())
    }

    fn drop_caches(&mut self) -> Result<(), BenchError> {
        self.now_ns += 100 * SECOND_NS;
        self.log.push("drop".to_owned());
        Ok(())
    }

    fn clock_ns(&mut self) -> u64 {
        self.now_ns
    }

    /// A block of 1 KB is contiguous if its number is even.
    fn layout(&mut self, files: &[FileKey]) -> Result<Option<LayoutScore>, BenchError> {
        let mut score = LayoutScore::default();
        for &file in files {
            let blocks = self.file_bytes(file)?.div_ceil(1024);
            score += LayoutScore {
                optimal: blocks.saturating_sub(1) / 2,
                scored: blocks.saturating_sub(1),
            };
        }
        Ok(Some(score))
    }

    fn clean_up(&mut self) -> Result<(), BenchError> {
        self.log.push("clean up".to_owned());
        Ok(())
    }
}
