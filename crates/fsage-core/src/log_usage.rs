//! What a log-structured file system says of its segments and of what its cleaner costs.

/// Classes of segments by the share of them that is alive.
pub const LIVE_CLASSES: usize = 10;

/// Segments of which about the same share is alive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LiveClass {
    /// Segments.
    pub segments: u64,
    /// Live bytes in them.
    pub live_bytes: u64,
}

/// The log as it stands, and what was transferred since it was last measured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogUsage {
    /// Bytes of a segment.
    pub segment_bytes: u64,
    /// Segments.
    pub segments: u64,
    /// Segments without data.
    pub clean_segments: u64,
    /// Live bytes of all segments.
    pub live_bytes: u64,
    /// Segments with data by live share: below 10 %, below 20 %, ..., 90 % and more.
    pub by_live_share: [LiveClass; LIVE_CLASSES],
    /// Bytes written but by the cleaner: data, pointers, inodes, summaries, checkpoints.
    pub new_bytes: u64,
    /// Bytes written by the cleaner.
    pub cleaner_written_bytes: u64,
    /// Segments that the cleaner read.
    pub cleaner_read_segments: u64,
    /// Segments that were cleaned, those without live bytes included.
    pub cleaned_segments: u64,
    /// Live bytes of cleaned segments.
    pub cleaned_live_bytes: u64,
    /// Why nothing more is written, if the log has come to its end.
    pub end: Option<String>,
}

impl LogUsage {
    /// Counts a segment with data.
    pub fn count_segment(&mut self, live_bytes: u64) {
        let tenth = live_bytes * LIVE_CLASSES as u64 / self.segment_bytes.max(1);
        let class = &mut self.by_live_share[(tenth as usize).min(LIVE_CLASSES - 1)];
        class.segments += 1;
        class.live_bytes += live_bytes;
        self.live_bytes += live_bytes;
    }

    /// Live bytes as a share of all segments.
    pub fn live_share(&self) -> f64 {
        self.live_bytes as f64 / (self.segments * self.segment_bytes).max(1) as f64
    }

    /// All that was transferred for a byte that is new, as Rosenblum and Ousterhout 1992 count it: writes, and segments
    /// that the cleaner read. `None` if nothing was written.
    pub fn write_cost(&self) -> Option<f64> {
        let read = self.cleaner_read_segments * self.segment_bytes;
        let all = self.new_bytes + self.cleaner_written_bytes + read;
        (self.new_bytes > 0).then(|| all as f64 / self.new_bytes as f64)
    }

    /// Mean live share of the segments that were cleaned.
    pub fn cleaned_live_share(&self) -> Option<f64> {
        let bytes = self.cleaned_segments * self.segment_bytes;
        (bytes > 0).then(|| self.cleaned_live_bytes as f64 / bytes as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_counts_in_the_tenth_of_its_live_share() {
        let mut log = LogUsage {
            segment_bytes: 1000,
            segments: 10,
            ..LogUsage::default()
        };
        for live in [0, 99, 100, 899, 900, 1000] {
            log.count_segment(live);
        }
        let segments = log.by_live_share.map(|class| class.segments);
        assert_eq!(segments, [2, 1, 0, 0, 0, 0, 0, 0, 1, 2]);
        // (99 + 100 + 899 + 900 + 1000) / 10,000.
        assert!((log.live_share() - 0.2998).abs() < 1e-12);
    }

    #[test]
    fn writing_a_byte_costs_two_over_what_is_dead_in_cleaned_segments() {
        // Rosenblum and Ousterhout 1992: to write 1 - u new bytes, a segment is read and u of it written again; for
        // u = 0.6 that is (1 + 0.6 + 0.4) / 0.4 = 2 / (1 - 0.6) = 5.
        let log = LogUsage {
            segment_bytes: 1000,
            new_bytes: 400,
            cleaner_written_bytes: 600,
            cleaner_read_segments: 1,
            cleaned_segments: 1,
            cleaned_live_bytes: 600,
            ..LogUsage::default()
        };
        assert_eq!(
            (log.write_cost(), log.cleaned_live_share()),
            (Some(5.0), Some(0.6))
        );
        assert_eq!(LogUsage::default().write_cost(), None);
    }
}
