//! Hot files read past the caches with 1, 2, 4, ... 32 calls at work at the same time: in order, and pages of them at
//! random.
//!
//! With one call at work a device shows how long it takes, with many how much it can do side by side: on flash the
//! first is sensing and overhead, the second is how well the data lie on the dies.
//!
//! **In order.** Each file from its beginning to its end, with calls of 128 KB, one file after the other; caches are
//! emptied before each depth. **At random.** 8,192 pages of 4 KB, drawn anew at each depth from all pages of the hot
//! files, of which the larger come first, so that an aged file system and its control read as many bytes at the same
//! offsets; what is drawn depends on the depth and the repetition alone. What is known of the files is in the caches by
//! then, so that nothing but data is read.
//!
//! **Phases.** `sequential-1` to `sequential-32`, then `random-1` to `random-32`. **Source.** Data sheets of flash
//! devices give these figures. **Limits.** After 256 calls all are waited for, so that no program has more files open
//! than systems allow; the last page of a file is read as far as it goes.

use crate::benchmark::{Benchmark, Case, GoesOver, Site, Unsuited};
use crate::measurement::Measurement;
use crate::phase::{Done, Phases, Until};
use crate::subject::{BenchError, FileKey, Part, Subject};
use fsage_core::Rng;
use std::cmp::Reverse;

/// Calls after which all are waited for.
const TOGETHER: usize = 256;

/// The benchmark.
#[derive(Clone, Copy, Debug)]
pub struct QueueDepths {
    /// Calls at work at the same time.
    pub depths: &'static [u32],
    /// Bytes of a call that reads in order.
    pub sequential_bytes: u64,
    /// Bytes of one that reads at random.
    pub random_bytes: u64,
    /// Reads at random, at each depth.
    pub random_reads: u64,
}

/// The benchmark as `fsage bench` runs it.
pub const QUEUE_DEPTHS: QueueDepths = QueueDepths {
    depths: &[1, 2, 4, 8, 16, 32],
    sequential_bytes: 128 << 10,
    random_bytes: 4 << 10,
    random_reads: 8192,
};

impl Benchmark for QueueDepths {
    fn name(&self) -> &'static str {
        "queue-depths"
    }

    fn summary(&self) -> &'static str {
        "reads hot files past the caches, in order and at random, with 1 to 32 calls at work"
    }

    fn default_cases(&self) -> Vec<Case> {
        vec![Case::default()]
    }

    fn goes_over(&self) -> GoesOver {
        GoesOver::HotFiles
    }

    fn draws(&self) -> bool {
        true
    }

    fn suits(&self, _case: Case, site: &Site) -> Result<(), Unsuited> {
        if site.hot_files.is_empty() {
            return Err(Unsuited::NoHotFiles);
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
        let mut files = Vec::with_capacity(site.hot_files.len());
        for &file in &site.hot_files {
            let bytes = subject.file_bytes(file)?;
            if bytes > 0 {
                files.push((file, bytes));
            }
        }
        let whole: Vec<(FileKey, Part)> = files
            .iter()
            .map(|&(file, bytes)| {
                let part = Part {
                    offset: 0,
                    bytes,
                    call_bytes: self.sequential_bytes,
                };
                (file, part)
            })
            .collect();
        let mut phases = Phases::new(self.name(), None, repetition, subject);
        phases.look_at(&site.hot_files)?;
        for &depth in self.depths {
            phases.subject.drop_caches()?;
            let phase = format!("sequential-{depth}");
            phases.run(&phase, Until::LastCall, |subject| {
                read(subject, &whole, depth)
            })?;
        }
        // The order in which files are read follows their places, which age and the control do not share.
        files.sort_by_key(|&(file, bytes)| (Reverse(bytes), file));
        let rng = Rng::new(u64::from(repetition));
        for &depth in self.depths {
            let pages = self.at_random(&files, rng.stream("random", u64::from(depth)));
            let phase = format!("random-{depth}");
            phases.run(&phase, Until::LastCall, |subject| {
                let done = read(subject, &pages, depth)?;
                Ok(Done { files: 0, ..done })
            })?;
        }
        Ok(phases.finish())
    }
}

impl QueueDepths {
    /// Parts of files, each as likely as any other.
    fn at_random(&self, files: &[(FileKey, u64)], mut rng: Rng) -> Vec<(FileKey, Part)> {
        let mut ends = Vec::with_capacity(files.len());
        let mut pages = 0;
        for &(_, bytes) in files {
            pages += bytes.div_ceil(self.random_bytes);
            ends.push(pages);
        }
        if pages == 0 {
            return Vec::new();
        }
        let mut draw = || {
            let page = rng.below(pages);
            let at = ends.partition_point(|&end| end <= page);
            let first = at.checked_sub(1).map_or(0, |before| ends[before]);
            let (file, bytes) = files[at];
            let offset = (page - first) * self.random_bytes;
            let part = Part {
                offset,
                bytes: self.random_bytes.min(bytes - offset),
                call_bytes: self.random_bytes,
            };
            (file, part)
        };
        (0..self.random_reads).map(|_| draw()).collect()
    }
}

/// Reads parts past the caches.
fn read(
    subject: &mut dyn Subject,
    parts: &[(FileKey, Part)],
    depth: u32,
) -> Result<Done, BenchError> {
    for together in parts.chunks(TOGETHER) {
        subject.read_direct(together, depth as usize)?;
    }
    Ok(Done {
        files: parts.len() as u64,
        bytes: parts.iter().map(|(_, part)| part.bytes).sum(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_subject::TestSubject;

    /// By hand: files of 5,000 and 100 bytes have two pages and one; the second page of the first has 904 bytes.
    #[test]
    fn hot_files_are_read_in_order_and_pages_of_them_at_random() {
        let mut subject = TestSubject::new(0, &[(1, 5000), (2, 0), (3, 100)]);
        let site = Site {
            hot_files: vec![FileKey(3), FileKey(2), FileKey(1)],
            ..Site::default()
        };
        let few = QueueDepths {
            depths: &[1, 4],
            random_reads: 600,
            ..QUEUE_DEPTHS
        };
        let measured = few
            .run(Case::default(), 0, &site, &mut subject)
            .expect("files that are there");
        let phases: Vec<(&str, u64)> = measured.iter().map(|m| (&*m.phase, m.bytes)).collect();
        assert_eq!(
            phases[..2],
            [("sequential-1", 5100), ("sequential-4", 5100)]
        );
        assert_eq!((phases[2].0, phases[3].0), ("random-1", "random-4"));
        assert_eq!(
            subject.log[..6],
            [
                "drop",
                "read 1 at once: 3 0+100",
                "read 1 at once: 1 0+5000",
                "drop",
                "read 4 at once: 3 0+100",
                "read 4 at once: 1 0+5000",
            ]
        );
        let random = &subject.log[6..];
        assert_eq!(random.len(), 1200);
        for part in ["3 0+100", "1 0+4096", "1 4096+904"] {
            let line = format!("read 4 at once: {part}");
            let drawn = random.iter().filter(|read| **read == line).count();
            // A third of 600; far outside of this is no fair drawing.
            assert!((140..260).contains(&drawn), "{part}: {drawn}");
        }
        let without = few.suits(Case::default(), &Site::default());
        assert_eq!(without, Err(Unsuited::NoHotFiles));
    }
}
