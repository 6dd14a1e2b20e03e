//! What somebody sees while the laboratory works: progress, warnings, remarks.

use std::time::Duration;

/// Sees how work goes on. The laboratory itself prints nothing.
pub trait Watch: Sync {
    /// Work begins that takes a while; it is over when what is returned is dropped.
    ///
    /// `what` names it in a word or two; `total` is how much there is to do, where that is known.
    fn begin(&self, what: &str, total: Option<u64>, unit: Unit) -> Box<dyn Progress>;

    /// Something is not as it should be, and work goes on.
    fn warn(&self, text: &str);

    /// A remark.
    fn note(&self, text: &str);
}

/// Work that is going on.
pub trait Progress: Send + Sync {
    /// So much is done.
    fn set_position(&self, done: u64);

    /// So much more is done.
    fn inc(&self, more: u64);

    /// The rest is expected to take so long, where whoever works knows better than the pace so far says.
    fn expect(&self, _left: Duration) {}

    /// A remark on the way.
    fn note(&self, text: &str);
}

/// In what the amount of work is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes of a file that is read or written.
    Bytes,
    /// Things: operations, files, cells.
    Things,
}

impl dyn Watch + '_ {
    /// Work over bytes begins.
    pub fn bar_bytes(&self, total: Option<u64>, what: &str) -> Box<dyn Progress> {
        self.begin(what, total, Unit::Bytes)
    }

    /// Work over things that are counted begins.
    pub fn bar_count(&self, total: Option<u64>, what: &str) -> Box<dyn Progress> {
        self.begin(what, total, Unit::Things)
    }
}

/// Sees nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn begin(&self, _: &str, _: Option<u64>, _: Unit) -> Box<dyn Progress> {
        Box::new(Unwatched)
    }

    fn warn(&self, _: &str) {}

    fn note(&self, _: &str) {}
}

impl Progress for Unwatched {
    fn set_position(&self, _: u64) {}

    fn inc(&self, _: u64) {}

    fn note(&self, _: &str) {}
}
