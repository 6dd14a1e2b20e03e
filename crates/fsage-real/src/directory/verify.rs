//! Whether a tree is what a replay should have made of it.

use super::Data;
use super::compare::Wanted;
use super::expected::Expected;
use super::fault::Problem;
use super::headway::{Headway, Watch};
use std::os::fd::BorrowedFd;

/// Problems that are kept; all are counted.
const KEPT: usize = 100;

/// What verifying a tree found.
#[derive(Debug, Default)]
pub struct Verification {
    /// Names of files that were found and looked at, symbolic links included.
    pub files: u64,
    /// Bytes of data that were read; what the file system knows to be holes is not read.
    pub bytes: u64,
    /// What is wrong: the first hundred of it.
    pub problems: Vec<Problem>,
    /// How much is wrong.
    pub problem_count: u64,
}

impl Verification {
    /// The tree holds exactly what it should.
    pub fn is_sound(&self) -> bool {
        self.problem_count == 0
    }
}

/// Looks whether the tree at `root` holds exactly the expected names, kinds, sizes, links and data, and nothing else;
/// a directory `lost+found` in the root aside. Reads every byte that was written, by [`Data::Write`], or expects zeros
/// everywhere. `progress` is told how far it has come and says whether to go on: `None` if not.
///
/// What cannot be read is a problem like others. The tree is not changed.
pub fn verify(
    root: BorrowedFd<'_>,
    expected: &Expected,
    data: Data,
    progress: &mut dyn FnMut(Headway) -> bool,
) -> Option<Verification> {
    let mut watch = Watch::new(progress);
    let mut result = Verification::default();
    let zeros = data != Data::Write;
    Wanted::new(expected).compare(root, zeros, &|_, _| true, &mut watch, &mut |finding| {
        result.problem_count += 1;
        if result.problems.len() < KEPT {
            result.problems.push(Problem {
                path: finding.path,
                fault: finding.fault,
            });
        }
    });
    result.files = watch.headway.files;
    result.bytes = watch.headway.bytes;
    watch.goes_on().then_some(result)
}
