//! `rand` of glibc as it begins without `srand`: the artifact draws how much other files get from it, so that the
//! layout that it measured is known.
//!
//! Each number is the sum of the one 3 and the one 31 before it, modulo 2^32, of which the lowest bit is not shown.

/// Numbers that each follow from the one 31 before.
const TERMS: usize = 31;
/// The nearer of the two that are added up.
const NEARER: usize = 3;
/// Numbers that are drawn and dropped at first.
const DROPPED: u64 = 310;

/// The generator.
pub struct Rand {
    /// The last 31 numbers, the oldest first.
    last: [u32; TERMS],
}

/// A polynomial below x^31, the lowest power first; what stands for number n is x^n.
type Polynomial = [u32; TERMS];

impl Rand {
    /// The generator behind so many numbers.
    pub fn skipping(numbers: u64) -> Rand {
        let mut last = [0_u32; TERMS];
        let mut word = 1_u64;
        for number in &mut last {
            *number = word as u32;
            word = 16_807 * word % 0x7fff_ffff;
        }
        // Adding begins with the fourth and the first, which takes the place of the fourth.
        last.rotate_left(NEARER);
        // The numbers behind those that are skipped, each as a sum of these 31.
        let mut power = power_of_x(DROPPED + numbers);
        let first = last;
        for number in &mut last {
            let terms = power.iter().zip(first);
            *number = terms.fold(0, |sum, (&times, term)| {
                u32::wrapping_add(sum, times.wrapping_mul(term))
            });
            power = times_x(power);
        }
        Rand { last }
    }

    /// The next number, from 0 to 2^31 - 1.
    pub fn next(&mut self) -> u32 {
        let number = self.last[0].wrapping_add(self.last[TERMS - NEARER]);
        self.last.rotate_left(1);
        self.last[TERMS - 1] = number;
        number >> 1
    }
}

/// x^31 is 1 + x^28, as each number is the one 31 before and the one 3 before.
fn times_x(mut p: Polynomial) -> Polynomial {
    p.rotate_right(1);
    p[TERMS - NEARER] = p[TERMS - NEARER].wrapping_add(p[0]);
    p
}

fn product(p: &Polynomial, q: &Polynomial) -> Polynomial {
    let mut sum = [0_u32; TERMS];
    for &times in q.iter().rev() {
        sum = times_x(sum);
        for (to, term) in sum.iter_mut().zip(p) {
            *to = to.wrapping_add(times.wrapping_mul(*term));
        }
    }
    sum
}

fn power_of_x(exponent: u64) -> Polynomial {
    let mut power = [0; TERMS];
    power[0] = 1;
    for bit in (0..u64::BITS).rev() {
        power = product(&power, &power);
        if exponent >> bit & 1 == 1 {
            power = times_x(power);
        }
    }
    power
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers of every C program on Linux that draws without a seed, and those behind 209,715,200 numbers,
    /// as a program in C printed them.
    #[test]
    fn numbers_are_those_of_glibc() {
        let mut rand = Rand::skipping(0);
        let first = [1_804_289_383, 846_930_886, 1_681_692_777, 1_714_636_915];
        assert_eq!([(); 4].map(|()| rand.next()), first);
        let mut stepped = Rand::skipping(0);
        for _ in 0..1000 {
            stepped.next();
        }
        assert_eq!(Rand::skipping(1000).next(), stepped.next());
        let mut behind = Rand::skipping(200 << 20);
        let drawn = [(); 8].map(|()| behind.next() % 32 + 1);
        assert_eq!(drawn, [21, 2, 4, 7, 7, 31, 21, 7]);
    }
}
