//! Where free space lies within the groups of aged file systems: near their beginning, or near their end (section 5.2).

use crate::words;
use fsage_core::Run;

/// Free space in one half of all groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Half {
    bytes: u64,
    runs: u64,
}

impl Half {
    fn mean_run(self) -> Option<f64> {
        (self.runs > 0).then(|| self.bytes as f64 / self.runs as f64)
    }
}

/// Free space by half of the group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Halves {
    first: Half,
    second: Half,
}

impl Halves {
    /// Of the free runs of a file system with groups of so many bytes. A run that reaches into another half is a run of
    /// each.
    pub fn of(free: &[Run], group_bytes: u64) -> Halves {
        let half_bytes = (group_bytes / 2).max(1);
        let mut halves = Halves::default();
        for part in free.iter().flat_map(|run| run.cut_at_multiples(half_bytes)) {
            let half = if (part.start_bytes / half_bytes).is_multiple_of(2) {
                &mut halves.first
            } else {
                &mut halves.second
            };
            half.bytes += part.length_bytes;
            half.runs += 1;
        }
        halves
    }

    /// Share of the free space in the second half.
    fn share_of_second(&self) -> Option<f64> {
        let all = self.first.bytes + self.second.bytes;
        (all > 0).then(|| self.second.bytes as f64 / all as f64)
    }

    /// How long a run of the second half is in the mean, over one of the first.
    fn longer(&self) -> Option<f64> {
        Some(self.second.mean_run()? / self.first.mean_run()?)
    }
}

/// Whether most of the free space of each file system lies in the second halves of its groups.
pub fn lies_at_the_end(systems: &[(&str, Halves)]) -> Option<(bool, String)> {
    each(systems, Halves::share_of_second, words::is_most, |share| {
        format!("{:.0} %", 100.0 * share)
    })
}

/// Whether the free space of each is less fragmented there.
pub fn is_whole_at_the_end(systems: &[(&str, Halves)]) -> Option<(bool, String)> {
    each(
        systems,
        Halves::longer,
        |longer| longer > 1.0,
        |longer| format!("{longer:.1} times"),
    )
}

fn each(
    systems: &[(&str, Halves)],
    of: impl Fn(&Halves) -> Option<f64>,
    holds: impl Fn(f64) -> bool,
    text: impl Fn(f64) -> String,
) -> Option<(bool, String)> {
    let all = systems
        .iter()
        .map(|(name, halves)| Some((*name, of(halves)?)));
    let all: Vec<(&str, f64)> = all.collect::<Option<_>>()?;
    let parts: Vec<String> = all
        .iter()
        .map(|(name, value)| format!("{name} {}", text(*value)))
        .collect();
    let all_hold = all.iter().all(|(_, value)| holds(*value));
    (!all.is_empty()).then(|| (all_hold, parts.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand, groups of 100: 10 + 10 bytes in two runs of a first half, and 90 of 80 to 170 are 20 in the second half
    /// of the first group, 50 in the first and 20 in the second half of the next one.
    #[test]
    fn a_run_is_cut_at_the_middle_of_its_group() {
        let run = |start_bytes, length_bytes| Run {
            start_bytes,
            length_bytes,
        };
        let halves = Halves::of(&[run(0, 10), run(20, 10), run(80, 90)], 100);
        assert_eq!(halves.first, Half { bytes: 70, runs: 3 });
        assert_eq!(halves.second, Half { bytes: 40, runs: 2 });
        assert_eq!(lies_at_the_end(&[("a", halves)]).map(|h| h.0), Some(false));
        assert_eq!(
            is_whole_at_the_end(&[("a", halves)]).map(|h| h.0),
            Some(false)
        );
        let end = Halves::of(&[run(0, 10), run(60, 30)], 100);
        assert!(lies_at_the_end(&[("a", end)]).unwrap().0);
        assert_eq!(
            is_whole_at_the_end(&[("a", end)]),
            Some((true, "a 3.0 times".to_owned()))
        );
        assert_eq!(lies_at_the_end(&[]), None);
    }
}
