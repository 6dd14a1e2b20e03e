//! Free space: how much there is, in what pieces, and what could still be placed in one piece.

use fsage_core::{Geometry, Layout, Run};

/// Free space by kind and by length of its runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FreeSpace {
    /// Free whole blocks.
    pub blocks: u64,
    /// Free fragments outside free blocks; 0 where there are no fragments.
    pub frags: u64,
    /// All free bytes.
    pub bytes: u64,
    /// Maximal runs of free space.
    pub runs: u64,
    /// The longest run.
    pub largest_run_bytes: u64,
    /// Free bytes in runs of at least 64 KiB.
    pub bytes_in_64k_runs: u64,
    /// Free bytes in runs of at least 1 MiB.
    pub bytes_in_1m_runs: u64,
}

impl FreeSpace {
    /// Measures the free space of a layout; `None` where it is not known.
    pub fn of(layout: &(impl Layout + ?Sized), geometry: &Geometry) -> Option<FreeSpace> {
        let space = layout.space()?;
        let mut free = FreeSpace {
            blocks: space.free_blocks,
            frags: space.free_frags,
            // A snapshot may say anything.
            bytes: (space
                .free_blocks
                .saturating_mul(u64::from(geometry.block_bytes)))
            .saturating_add(
                space
                    .free_frags
                    .saturating_mul(u64::from(geometry.frag_bytes)),
            ),
            ..FreeSpace::default()
        };
        layout.visit_free(&mut |run| free.add(run));
        Some(free)
    }

    fn add(&mut self, run: Run) {
        self.runs += 1;
        self.largest_run_bytes = self.largest_run_bytes.max(run.length_bytes);
        if run.length_bytes >= 64 << 10 {
            self.bytes_in_64k_runs = self.bytes_in_64k_runs.saturating_add(run.length_bytes);
        }
        if run.length_bytes >= 1 << 20 {
            self.bytes_in_1m_runs = self.bytes_in_1m_runs.saturating_add(run.length_bytes);
        }
    }

    /// Free fragments as a share of all free space; 0 where nothing is free.
    pub fn fragment_share(&self, geometry: &Geometry) -> f64 {
        if self.bytes == 0 {
            return 0.0;
        }
        self.frags as f64 * f64::from(geometry.frag_bytes) / self.bytes as f64
    }

    /// Share of the data space in use, the reserve counted as free; `None` where the data space is unknown.
    pub fn utilization(&self, geometry: &Geometry) -> Option<f64> {
        let data = geometry.data_bytes.filter(|&bytes| bytes > 0)?;
        Some(data.saturating_sub(self.bytes) as f64 / data as f64)
    }
}
