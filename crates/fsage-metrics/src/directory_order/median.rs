//! The median of numbers that come and go.

use std::collections::BTreeMap;

/// A multiset of which only the neighborhood of the median is kept, as a window; of the numbers on both sides of it the
/// count is enough. Where the median has left the window, all numbers are looked at again.
#[derive(Clone, Debug, Default)]
pub(super) struct Median {
    /// Numbers below the window, and in all.
    below: u64,
    count: u64,
    /// How many there are of each number from the first to the last, which may be none.
    window: BTreeMap<u64, u32>,
    range: Option<(u64, u64)>,
    /// Different numbers from which on the window is made anew.
    most: usize,
}

impl Median {
    /// Of all numbers, the part that the window has on each side of the median; and of few numbers, how many.
    const PART: usize = 16;
    const LEAST: usize = 256;

    pub fn add(&mut self, n: u64) {
        self.count += 1;
        self.change(n, 1);
    }

    /// Takes back a number that was added.
    pub fn take_back(&mut self, n: u64) {
        self.count -= 1;
        self.change(n, -1);
    }

    fn change(&mut self, n: u64, by: i32) {
        let Some((first, last)) = self.range else {
            return;
        };
        if n < first {
            self.below = self.below.wrapping_add_signed(by.into());
        } else if n <= last {
            let count = self.window.entry(n).or_default();
            *count = count.wrapping_add_signed(by);
        }
    }

    /// The median, of an even number the lower of the two in the middle; `all` gives every number.
    pub fn get<I: Iterator<Item = u64>>(&mut self, all: impl FnOnce() -> I) -> Option<u64> {
        let middle = self.count.checked_sub(1)? / 2;
        if self.window.len() <= self.most
            && let Some(median) = self.in_window(middle)
        {
            return Some(median);
        }
        self.look_again(middle as usize, all().collect());
        self.in_window(middle)
    }

    fn in_window(&self, rank: u64) -> Option<u64> {
        let mut rank = rank.checked_sub(self.below)?;
        for (&n, &count) in &self.window {
            match rank.checked_sub(count.into()) {
                Some(rest) => rank = rest,
                None => return Some(n),
            }
        }
        None
    }

    fn look_again(&mut self, middle: usize, mut all: Vec<u64>) {
        let last = all.len() - 1;
        let reach = (all.len() / Self::PART).max(Self::LEAST);
        let (from, to) = (middle.saturating_sub(reach), (middle + reach).min(last));
        let low = *all.select_nth_unstable(from).1;
        let high = *all[from..].select_nth_unstable(to - from).1;
        self.below = all.iter().filter(|&&n| n < low).count() as u64;
        all.retain(|n| (low..=high).contains(n));
        all.sort_unstable();
        let equal = all.chunk_by(|a, b| a == b);
        self.window = equal.map(|equal| (equal[0], equal.len() as u32)).collect();
        self.range = Some((low, high));
        self.most = 4 * reach;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsage_core::Rng;

    /// Against sorting, over numbers that drift, come in heaps, and go.
    #[test]
    fn the_median_is_that_of_the_sorted_numbers() {
        let mut rng = Rng::new(1);
        let (mut all, mut median) = (Vec::new(), Median::default());
        for step in 0..20_000_u64 {
            let grows = step % 8000 < 4000;
            if all.is_empty() || rng.below(10) < if grows { 7 } else { 3 } {
                let n = [0, rng.below(50), step + rng.below(5000)][rng.below(3) as usize];
                all.push(n);
                median.add(n);
            } else {
                let n = all.swap_remove(rng.below(all.len() as u64) as usize);
                median.take_back(n);
            }
            if step % 7 == 0 {
                let mut sorted = all.clone();
                sorted.sort_unstable();
                let middle = sorted.len().checked_sub(1).map(|last| sorted[last / 2]);
                assert_eq!(median.get(|| all.iter().copied()), middle, "step {step}");
            }
        }
    }
}
