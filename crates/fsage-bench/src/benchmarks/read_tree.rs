//! All files of a file system, read directory by directory in the order of inodes: what `tar --sort=inode` does.
//!
//! **Rules.** The files come from the [`Site`]: all to which data were ever written, by the inode of their directory,
//! then by their own. Each is opened, read from its beginning to its end with calls of 128 KB through the caches, which
//! are empty at first, and closed. **Phase.** `read`. **Source.** The measure of Conway and others, FAST 2017, is the
//! time of a recursive `grep`. **Limits.** Directories are read as far as looking up a name reads them; nothing is
//! computed. A `grep -r` takes entries as the directory hands them out, which on ext4 is the order of a hash: a fresh
//! tree is out of order for it too, so that it loses less to age than this does.

use crate::benchmark::{Benchmark, Case, GoesOver, Site, Unsuited};
use crate::measurement::Measurement;
use crate::phase::{Done, Phases, Until};
use crate::subject::{BenchError, Part, Subject};

/// The benchmark.
#[derive(Clone, Copy, Debug)]
pub struct ReadTree {
    /// Bytes of a call, at most.
    pub call_bytes: u64,
}

/// The benchmark as `fsage bench` runs it.
pub const READ_TREE: ReadTree = ReadTree {
    call_bytes: 128 << 10,
};

impl Benchmark for ReadTree {
    fn name(&self) -> &'static str {
        "read-tree"
    }

    fn summary(&self) -> &'static str {
        "reads all files, by directory and inode, as tar --sort=inode does (after Conway and others, FAST 2017)"
    }

    fn default_cases(&self) -> Vec<Case> {
        vec![Case::default()]
    }

    fn goes_over(&self) -> GoesOver {
        GoesOver::Tree
    }

    fn suits(&self, _case: Case, site: &Site) -> Result<(), Unsuited> {
        if site.tree.is_empty() {
            return Err(Unsuited::NoFiles);
        }
        Ok(())
    }

    fn run(
        &self,
        _case: Case,
        repetition: u32,
        site: &Site,
        subject: &mut dyn Subject,
    ) -> Result<Vec<Measurement>, BenchError> {
        let mut phases = Phases::new(self.name(), None, repetition, subject);
        phases.look_at(&site.tree)?;
        phases.subject.drop_caches()?;
        phases.run("read", Until::LastCall, |subject| {
            let mut done = Done::default();
            for &file in &site.tree {
                let whole = Part {
                    offset: 0,
                    bytes: subject.file_bytes(file)?,
                    call_bytes: self.call_bytes,
                };
                subject.read(file, whole)?;
                done.add(whole.bytes);
            }
            Ok(done)
        })?;
        Ok(phases.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subject::FileKey;
    use crate::test_subject::TestSubject;

    #[test]
    fn all_files_are_read_in_the_order_given() {
        let mut subject = TestSubject::new(0, &[(1, 300 << 10), (2, 7), (3, 0)]);
        let site = Site {
            tree: vec![FileKey(2), FileKey(3), FileKey(1)],
            ..Site::default()
        };
        let measured = READ_TREE
            .run(Case::default(), 3, &site, &mut subject)
            .expect("files that are there");
        assert_eq!(
            subject.log,
            ["drop", "read 2 0+7", "read 3 0+0", "read 1 0+307200"]
        );
        let read = &measured[0];
        assert_eq!(
            (measured.len(), &*read.phase, read.repetition),
            (1, "read", 3)
        );
        // A call of 7 bytes, none, and three of up to 128 KB, a second each.
        assert_eq!(
            (read.files, read.bytes, read.elapsed_ns),
            (3, 307_207, 4_000_000_000)
        );
        let without = READ_TREE.suits(Case::default(), &Site::default());
        assert_eq!(without, Err(Unsuited::NoFiles));
    }
}
