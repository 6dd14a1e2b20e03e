//! How far verifying or repairing a tree has come, and whether to go on.

/// How far verifying or repairing a tree has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Headway {
    /// Names of files that were found and looked at.
    pub files: u64,
    /// Bytes of data that were read, and written.
    pub bytes: u64,
}

/// Tells the caller of headway. When the caller says to stop, what is under way ends early, and its result is void.
pub(super) struct Watch<'a> {
    pub headway: Headway,
    report: &'a mut dyn FnMut(Headway) -> bool,
    stopped: bool,
}

impl<'a> Watch<'a> {
    pub fn new(report: &'a mut dyn FnMut(Headway) -> bool) -> Watch<'a> {
        Watch {
            headway: Headway::default(),
            report,
            stopped: false,
        }
    }

    pub fn file(&mut self) {
        self.headway.files += 1;
        self.report();
    }

    pub fn bytes(&mut self, bytes: u64) {
        self.headway.bytes += bytes;
        self.report();
    }

    pub fn goes_on(&self) -> bool {
        !self.stopped
    }

    fn report(&mut self) {
        self.stopped |= !(self.report)(self.headway);
    }
}
