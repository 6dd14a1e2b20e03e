//! The first operation after which two sides differ, and the fewest.

/// The fewest events from the start after which two sides differ, of more than `same` and at most `differing`: halves
/// are tried as if they went on differing once they do.
///
/// # Errors
/// What `differs` says.
pub fn first_differing(
    same: usize,
    differing: usize,
    mut differs: impl FnMut(usize) -> crate::Result<bool>,
) -> crate::Result<usize> {
    let (mut same, mut differing) = (same, differing);
    while differing - same > 1 {
        let middle = same + (differing - same) / 2;
        if differs(middle)? {
            differing = middle;
        } else {
            same = middle;
        }
    }
    Ok(differing)
}

/// Fewer of these things for which something holds as well: pieces are left out, ever smaller ones, as long as it does.
/// None that is left can be left out alone.
///
/// # Errors
/// What `holds` says.
pub fn fewest<T: Clone>(
    all: &[T],
    mut holds: impl FnMut(&[T]) -> crate::Result<bool>,
) -> crate::Result<Vec<T>> {
    let mut kept = all.to_vec();
    let mut length = kept.len().div_ceil(2);
    while kept.len() > 1 {
        let mut start = 0;
        let mut is_shorter = false;
        while start < kept.len() && kept.len() > 1 {
            let end = (start + length).min(kept.len());
            let rest = [&kept[..start], &kept[end..]].concat();
            if !rest.is_empty() && holds(&rest)? {
                kept = rest;
                is_shorter = true;
            } else {
                start = end;
            }
        }
        if length == 1 && !is_shorter {
            break;
        }
        if !is_shorter || length >= kept.len() {
            length = length.div_ceil(2).max(1).min(kept.len().div_ceil(2));
        }
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_that_differs_is_found_wherever_it_is() {
        for first in 1..=100 {
            let mut tries = 0;
            let found = first_differing(0, 100, |number| {
                tries += 1;
                Ok(number >= first)
            });
            assert_eq!(found.expect("found"), first);
            assert!(tries <= 7, "{tries}");
        }
    }

    #[test]
    fn only_what_is_needed_stays() {
        let all: Vec<u32> = (0..100).collect();
        for needed in [vec![0], vec![99], vec![3, 50, 98], vec![10, 11, 12, 13, 70]] {
            let has = |some: &[u32]| Ok(needed.iter().all(|one| some.contains(one)));
            assert_eq!(fewest(&all, has).expect("found"), needed);
        }
        assert_eq!(
            fewest(&all, |some| Ok(some.len() > 40))
                .expect("found")
                .len(),
            41
        );
    }
}
