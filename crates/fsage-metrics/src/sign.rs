//! Sums over files that come and go.

/// Whether something is counted, or what it counted is taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sign {
    Add,
    TakeBack,
}

impl Sign {
    /// A layout may say anything.
    #[inline]
    pub fn apply(self, sum: &mut u64, n: u64) {
        *sum = match self {
            Sign::Add => sum.saturating_add(n),
            Sign::TakeBack => sum.saturating_sub(n),
        };
    }

    /// The same for short sums.
    #[inline]
    pub fn apply_u32(self, sum: &mut u32, n: u64) {
        let mut long = u64::from(*sum);
        self.apply(&mut long, n);
        *sum = u32::try_from(long).unwrap_or(u32::MAX);
    }
}
