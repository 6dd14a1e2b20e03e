//! Which of several targets each is compared with: an option with the same target without it.
//!
//! **Rule.** The base of a target is the earlier one of the same file system that has the most of its options and none
//! that it lacks: of `ext4`, `ext4:regime=default` and `ext4:regime=default,stream_req=64K` the second is the base of
//! the third. Without one it is the first target of that file system, and without that the first of all.

use fsage_target::TargetSpec;

/// The place of each target's base; none of the first.
pub fn of(targets: &[&str]) -> Vec<Option<usize>> {
    let specs: Vec<Option<TargetSpec>> = targets
        .iter()
        .map(|target| TargetSpec::parse(target).ok())
        .collect();
    (0..specs.len())
        .map(|place| base(specs[place].as_ref(), &specs[..place]))
        .collect()
}

/// The base of a target among those before it.
fn base(target: Option<&TargetSpec>, before: &[Option<TargetSpec>]) -> Option<usize> {
    if before.is_empty() {
        return None;
    }
    let Some(target) = target else {
        return Some(0);
    };
    let places = 0..before.len();
    let alike = places.filter_map(|place| {
        let other = before[place].as_ref()?;
        let is_alike = other.system() == target.system() && other.place == target.place;
        is_alike.then_some((place, other))
    });
    let alike: Vec<(usize, &TargetSpec)> = alike.collect();
    let extended = alike.iter().filter(|(_, other)| extends(target, other));
    // Of several the first.
    let most = extended
        .rev()
        .max_by_key(|(_, other)| options(other).count());
    let base = most.or(alike.first());
    Some(base.map_or(0, |(place, _)| *place))
}

/// Whether a target has every option of another one.
fn extends(target: &TargetSpec, other: &TargetSpec) -> bool {
    options(other).all(|option| options(target).any(|of| of == option))
}

/// The options that say how a target behaves: not where its image lies.
fn options(target: &TargetSpec) -> impl Iterator<Item = &(String, Option<String>)> {
    target.options.iter().filter(|(key, _)| key != "image")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_compared_with_the_target_that_lacks_it() {
        let bases = of(&[
            "ext4",
            "ext4:regime=default",
            "ext4:regime=default,stream_req=64K",
            "ext4:stream_req=64K",
            "xfs",
            "xfs:discard",
            "loop:xfs,size=1G,image=a.img",
            "loop:xfs,size=1G,image=b.img,mount=\"allocsize=64k\"",
        ]);
        let expected = [
            None,
            Some(0),
            Some(1),
            Some(0),
            Some(0),
            Some(4),
            Some(0),
            Some(6),
        ];
        assert_eq!(bases, expected);
    }

    #[test]
    fn values_of_one_key_are_compared_with_the_first() {
        let of_key = [
            "ext4:stream_req=16K",
            "ext4:stream_req=32K",
            "ext4:stream_req=64K",
        ];
        assert_eq!(of(&of_key), [None, Some(0), Some(0)]);
        assert_eq!(
            of(&["ffs", "xfs", "ext4:a=1", "ext4:a=2"]),
            [None, Some(0), Some(0), Some(2)]
        );
    }
}
