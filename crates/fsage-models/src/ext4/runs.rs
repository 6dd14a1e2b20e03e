//! Sets of blocks of a file, as runs.

/// Blocks: first and the one behind, ascending, apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Runs(Vec<(u32, u32)>);

impl Runs {
    pub fn clear(&mut self) {
        self.0.clear();
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether these blocks are all there is.
    pub fn is(&self, from: u32, to: u32) -> bool {
        self.0 == [(from, to)]
    }

    /// How many blocks.
    pub fn blocks(&self) -> u32 {
        self.0.iter().map(|run| run.1 - run.0).sum()
    }

    #[inline]
    pub fn has(&self, block: u32) -> bool {
        self.next(block).is_some_and(|run| run.0 == block)
    }

    /// The first block at or behind another, and the end of its run.
    #[inline]
    pub fn next(&self, block: u32) -> Option<(u32, u32)> {
        let at = self.0.partition_point(|run| run.1 <= block);
        let run = self.0.get(at)?;
        Some((run.0.max(block), run.1))
    }

    #[inline]
    pub fn add(&mut self, from: u32, to: u32) {
        if let Some(last) = self.0.last_mut()
            && last.1 == from
        {
            last.1 = to;
            return;
        }
        let at = self.0.partition_point(|run| run.1 < from);
        let end = self.0.partition_point(|run| run.0 <= to);
        let joined = self.0[at..end].iter();
        let joined = joined.fold((from, to), |all, run| (all.0.min(run.0), all.1.max(run.1)));
        self.0.splice(at..end, [joined]);
    }

    /// Takes blocks out. Says how many were in.
    pub fn take(&mut self, from: u32, to: u32) -> u32 {
        let mut gone = 0;
        let mut at = self.0.partition_point(|run| run.1 <= from);
        if let Some(run) = self.0.get_mut(at).filter(|run| run.0 == from && run.1 > to) {
            run.0 = to;
            return to - from;
        }
        while let Some(run) = self.0.get(at).copied()
            && run.0 < to
        {
            let (start, end) = (run.0.max(from), run.1.min(to));
            gone += end - start;
            let keeps = [(run.0, start), (end, run.1)];
            let kept: Vec<(u32, u32)> = keeps.into_iter().filter(|keep| keep.0 < keep.1).collect();
            let next = at + kept.len();
            self.0.splice(at..=at, kept);
            at = next;
        }
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsage_core::Rng;
    use std::collections::BTreeSet;

    /// Against a set of blocks.
    #[test]
    fn runs_are_the_blocks_that_were_added_and_not_taken() {
        let mut rng = Rng::new(1);
        for _ in 0..200 {
            let (mut runs, mut blocks) = (Runs::default(), BTreeSet::new());
            for _ in 0..30 {
                let from = rng.below(60) as u32;
                let to = from + 1 + rng.below(10) as u32;
                if rng.below(3) == 0 {
                    let gone = (from..to).filter(|block| blocks.remove(block)).count();
                    assert_eq!(runs.take(from, to), gone as u32);
                } else {
                    runs.add(from, to);
                    blocks.extend(from..to);
                }
                assert_eq!(runs.blocks() as usize, blocks.len());
                assert!(
                    (0..80).all(|block| runs.has(block) == blocks.contains(&block)),
                    "{runs:?}"
                );
                assert!(runs.0.windows(2).all(|w| w[0].1 < w[1].0), "{runs:?}");
            }
        }
    }
}
