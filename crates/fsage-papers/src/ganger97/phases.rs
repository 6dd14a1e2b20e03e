//! What a benchmark gave on one file system: times and requests of its phases, and what can be said of two of them.

use fsage_bench::{Measurement, Requests, Summary};

/// A phase, over its repetitions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Phase {
    /// Time in seconds.
    pub seconds: Summary,
    /// Files a second.
    pub files_per_s: Summary,
    /// Throughput in MB/s (10^6 bytes); none where files are counted only.
    pub mb_per_s: Option<Summary>,
    /// Share of the time in which the processor worked.
    pub processor: f64,
    /// Requests in the first repetition.
    pub requests: Requests,
}

/// The phases of a benchmark in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Phases(pub Vec<(String, Phase)>);

impl Phases {
    /// From the measurements of a benchmark with one case.
    pub fn of(measurements: &[Measurement]) -> Phases {
        let mut phases = Phases::default();
        for first in measurements.iter().filter(|m| m.repetition == 0) {
            let all = || measurements.iter().filter(|m| m.phase == first.phase);
            let seconds: Vec<f64> = all().map(|m| m.elapsed_ns as f64 / 1e9).collect();
            let rates: Vec<f64> = all().filter_map(Measurement::file_rate).collect();
            let bytes: Vec<f64> = all().filter_map(Measurement::throughput).collect();
            let megabytes: Vec<f64> = bytes.iter().map(|bytes| bytes / 1e6).collect();
            let (Some(seconds), Some(files_per_s)) = (Summary::of(&seconds), Summary::of(&rates))
            else {
                continue;
            };
            let phase = Phase {
                seconds,
                files_per_s,
                mb_per_s: Summary::of(&megabytes),
                processor: first.cpu_ns.unwrap_or(0) as f64 / first.elapsed_ns.max(1) as f64,
                requests: first.requests.unwrap_or_default(),
            };
            phases.0.push((first.phase.clone(), phase));
        }
        phases
    }

    /// The phase of that name.
    pub fn get(&self, name: &str) -> Option<&Phase> {
        let found = self.0.iter().find(|(phase, _)| phase == name);
        found.map(|(_, phase)| phase)
    }
}

/// How many times faster `one` is than `other` in a phase.
pub fn faster(one: &Phases, other: &Phases, phase: &str) -> Option<f64> {
    Some(other.get(phase)?.seconds.mean / one.get(phase)?.seconds.mean)
}

/// How many times fewer requests `one` has than `other` in a phase.
pub fn fewer(one: &Phases, other: &Phases, phase: &str) -> Option<f64> {
    let requests = |of: &Phases| Some(of.get(phase)?.requests.all() as f64);
    Some(requests(other)? / requests(one)?)
}

/// The share of the time of `other` that `one` saves in a phase.
pub fn saved(one: &Phases, other: &Phases, phase: &str) -> Option<f64> {
    Some(1.0 - 1.0 / faster(one, other, phase)?)
}

/// A factor as text.
pub fn times(factor: f64) -> String {
    format!("{factor:.1} times")
}

/// A share as text.
pub fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// One run of phases: name, seconds, requests, of which the process waited for so many writes.
    pub(crate) fn phases(rows: &[(&str, f64, u64, u64)]) -> Phases {
        let measured = rows
            .iter()
            .map(|&(phase, seconds, requests, sync)| Measurement {
                benchmark: "b".into(),
                phase: phase.into(),
                repetition: 0,
                files: 1000,
                bytes: 0,
                elapsed_ns: (seconds * 1e9) as u64,
                requests: Some(Requests {
                    reads: 0,
                    writes: requests,
                    sync_writes: sync,
                    read_bytes: 0,
                    written_bytes: requests * 4096,
                }),
                ..Measurement::default()
            });
        Phases::of(&measured.collect::<Vec<_>>())
    }

    #[test]
    fn two_file_systems_are_compared_by_time_and_by_requests() {
        let both = phases(&[("read", 2.0, 10, 0)]);
        let neither = phases(&[("read", 8.0, 150, 0)]);
        assert_eq!(faster(&both, &neither, "read"), Some(4.0));
        assert_eq!(fewer(&both, &neither, "read"), Some(15.0));
        assert_eq!(saved(&both, &neither, "read"), Some(0.75));
        assert_eq!(faster(&both, &neither, "create"), None);
        let read = both.get("read").unwrap();
        assert_eq!((read.files_per_s.mean, read.mb_per_s), (500.0, None));
    }
}
