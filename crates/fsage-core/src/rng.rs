//! Random numbers whose values never change: xoshiro256++ seeded by `SplitMix64` (Blackwell and Vigna 2018,
//! public domain algorithms), with named streams and the samplers that generators need.
//!
//! Everything is integer arithmetic or IEEE 754 double arithmetic in a fixed order with `libm`, so the same
//! seed gives the same workload on every machine.

/// A xoshiro256++ generator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng {
    seed: u64,
    state: [u64; 4],
}

fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Rng {
    /// A generator whose four words are the first outputs of `SplitMix64` for `seed`.
    pub fn new(seed: u64) -> Rng {
        let mut s = seed;
        let state = std::array::from_fn(|_| split_mix(&mut s));
        Rng { seed, state }
    }

    /// An independent generator for one purpose and index, so that a new component, or a day left out, does
    /// not shift the others. It depends on the seed this generator was made with, not on what was drawn.
    #[must_use]
    pub fn stream(&self, name: &str, index: u64) -> Rng {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64; // FNV-1a
        for byte in name.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        let mut s = self.seed;
        let mut mixed = split_mix(&mut s) ^ hash;
        let mut mixed = split_mix(&mut mixed) ^ index;
        Rng::new(split_mix(&mut mixed))
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Uniform in `0..n`, without bias (Lemire 2019). 0 for `n` = 0.
    pub fn below(&mut self, n: u64) -> u64 {
        if n == 0 {
            return 0;
        }
        loop {
            let product = u128::from(self.next_u64()) * u128::from(n);
            if product as u64 >= n.wrapping_neg() % n {
                return (product >> 64) as u64;
            }
        }
    }

    /// Uniform in `lo..=hi`.
    ///
    /// # Panics
    /// If `lo > hi`.
    pub fn between(&mut self, lo: u64, hi: u64) -> u64 {
        assert!(lo <= hi, "an empty range of random numbers: {lo}..={hi}");
        match (hi - lo).checked_add(1) {
            Some(n) => lo + self.below(n),
            None => self.next_u64(),
        }
    }

    /// Uniform in [0, 1), a multiple of 2^-53.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// True with probability `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    /// Exponential with mean 1, by inversion.
    pub fn exponential(&mut self) -> f64 {
        -libm::log1p(-self.unit())
    }

    /// Standard normal, by Box and Muller (the second value is not kept).
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(2.0 * self.exponential());
        radius * libm::cos(std::f64::consts::TAU * self.unit())
    }

    /// Log-normal with this median and this standard deviation of the logarithm.
    pub fn log_normal(&mut self, median: f64, sigma: f64) -> f64 {
        median * libm::exp(sigma * self.normal())
    }

    /// Puts items into an order that is drawn, every one as likely (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let at = self.below(last as u64 + 1) as usize;
            items.swap(last, at);
        }
    }
}

/// Draws an index with a probability proportional to its weight, in constant time (Walker's alias method).
#[derive(Clone, Debug)]
pub struct AliasTable {
    keep: Vec<u64>,
    alias: Vec<u32>,
    total: u64,
}

impl AliasTable {
    /// A table over integer weights, so that no rounding enters.
    ///
    /// # Panics
    /// If there is no weight over 0, or `len * sum` does not fit 64 bits.
    pub fn new(weights: &[u64]) -> AliasTable {
        let total: u64 = weights.iter().sum();
        assert!(total > 0, "an alias table needs a weight over 0");
        let n = weights.len() as u64;
        let mut scaled: Vec<u64> = weights
            .iter()
            .map(|w| {
                w.checked_mul(n)
                    .expect("weights of an alias table overflow")
            })
            .collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            (0..weights.len()).partition(|&i| scaled[i] < total);
        let mut keep = vec![total; weights.len()];
        let mut alias: Vec<u32> = (0..weights.len() as u32).collect();
        while let (Some(&s), Some(&l)) = (small.last(), large.last()) {
            small.pop();
            keep[s] = scaled[s];
            alias[s] = l as u32;
            scaled[l] -= total - scaled[s];
            if scaled[l] < total {
                large.pop();
                small.push(l);
            }
        }
        AliasTable { keep, alias, total }
    }

    /// Draws an index.
    pub fn draw(&self, rng: &mut Rng) -> usize {
        let column = rng.below(self.keep.len() as u64) as usize;
        if rng.below(self.total) < self.keep[column] {
            column
        } else {
            self.alias[column] as usize
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of the authors' reference implementations, <https://prng.di.unimi.it>.
    #[test]
    fn generators_give_the_reference_values() {
        let mut s = 1_234_567;
        let split: Vec<u64> = (0..5).map(|_| split_mix(&mut s)).collect();
        assert_eq!(
            split,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423,
                4_593_380_528_125_082_431,
                16_408_922_859_458_223_821
            ]
        );
        let mut rng = Rng {
            seed: 0,
            state: [1, 2, 3, 4],
        };
        let outputs: Vec<u64> = (0..6).map(|_| rng.next_u64()).collect();
        assert_eq!(
            outputs,
            [
                41_943_041,
                58_720_359,
                3_588_806_011_781_223,
                3_591_011_842_654_386,
                9_228_616_714_210_784_205,
                9_973_669_472_204_895_162
            ]
        );
    }

    #[test]
    fn streams_do_not_depend_on_what_was_drawn_before() {
        let mut a = Rng::new(7);
        let before = a.stream("days", 3);
        a.next_u64();
        assert_eq!(before, a.stream("days", 3));
        assert_ne!(before, a.stream("days", 4));
        assert_ne!(before, a.stream("day", 3));
        assert_ne!(before, Rng::new(8).stream("days", 3));
    }

    #[test]
    fn below_reaches_both_ends_and_nothing_else() {
        let mut rng = Rng::new(1);
        let mut seen = [0_u32; 6];
        for _ in 0..6000 {
            seen[rng.below(6) as usize] += 1;
        }
        assert!(seen.iter().all(|&n| (850..1150).contains(&n)), "{seen:?}");
        assert_eq!(rng.between(5, 5), 5);
    }

    #[test]
    fn an_alias_table_follows_its_weights() {
        let weights = [5, 0, 1, 10, 4];
        let table = AliasTable::new(&weights);
        let mut rng = Rng::new(3);
        let mut seen = [0_u64; 5];
        for _ in 0..20_000 {
            seen[table.draw(&mut rng)] += 1;
        }
        for (n, w) in seen.iter().zip(weights) {
            // A weight of 0 is never drawn.
            assert!(n.abs_diff(w * 1000) <= 200 * w.min(1), "{seen:?}");
        }
    }

    #[test]
    fn samplers_have_the_moments_they_claim() {
        let mut rng = Rng::new(2);
        let n = 100_000;
        let mean = |mut f: Box<dyn FnMut() -> f64>| (0..n).map(|_| f()).sum::<f64>() / f64::from(n);
        let mut r = rng.stream("e", 0);
        assert!((mean(Box::new(move || r.exponential())) - 1.0).abs() < 0.02);
        let mut r = rng.stream("n", 0);
        assert!(mean(Box::new(move || r.normal())).abs() < 0.02);
        let below = (0..n).filter(|_| rng.log_normal(5.0, 2.0) < 5.0).count();
        assert!((below as f64 / f64::from(n) - 0.5).abs() < 0.01);
    }
}
