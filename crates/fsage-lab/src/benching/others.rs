//! What other programs do on this machine meanwhile.

use std::fs;
use std::time::Instant;

/// Others that use more of a processor than this are worth a warning.
const MUCH: f64 = 0.1;
/// In which `/proc` counts time: `USER_HZ`, which programs see as 100 on every machine that Rust runs on.
const TICKS_A_SECOND: f64 = 100.0;

/// Watches the processors from when it is made.
pub struct Others {
    began: Instant,
    all_s: f64,
    own_s: f64,
}

impl Others {
    /// Begins; `None` where the system does not say.
    pub fn watch() -> Option<Others> {
        Some(Others {
            began: Instant::now(),
            all_s: user_seconds(&fs::read_to_string("/proc/stat").ok()?)?,
            own_s: own_seconds()?,
        })
    }

    /// How many processors others kept busy since then, if they were more than a tenth of one. What the kernel does is
    /// not counted: much of it is the benchmark's.
    pub fn busy(&self) -> Option<f64> {
        let now = Others::watch()?;
        let others_s = (now.all_s - self.all_s) - (now.own_s - self.own_s);
        let busy = others_s / self.began.elapsed().as_secs_f64();
        (busy > MUCH).then_some(busy)
    }
}

/// Processor time of programs, without the kernel's, from `/proc/stat`: the first two numbers of `cpu`.
fn user_seconds(text: &str) -> Option<f64> {
    let mut lines = text.lines();
    let line = lines.find(|line| line.split(' ').next() == Some("cpu"))?;
    let mut words = line.split_whitespace().skip(1);
    let mut ticks = || words.next()?.parse::<u64>().ok();
    Some((ticks()? + ticks()?) as f64 / TICKS_A_SECOND)
}

/// Processor time of this program and of those that it started and that have ended, without the kernel's.
fn own_seconds() -> Option<f64> {
    let text = fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program, in brackets, may hold anything.
    let (_, behind) = text.rsplit_once(')')?;
    let words: Vec<&str> = behind.split_whitespace().collect();
    let ticks = |at: usize| words.get(at)?.parse::<u64>().ok();
    // Fields 14 and 16 of proc(5), where the state is the third.
    Some((ticks(11)? + ticks(13)?) as f64 / TICKS_A_SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From proc(5): user, nice, system, idle, ...
    #[test]
    fn users_time_is_read() {
        let text = "cpu  150 50 999 7 0 0 0 0 0 0\ncpu0 1 2 3 4\n";
        let seconds = user_seconds(text).expect("a line");
        assert!((seconds - 200.0 / TICKS_A_SECOND).abs() < 1e-12);
        assert_eq!(user_seconds("intr 1 2"), None);
        assert!(own_seconds().is_some_and(|seconds| seconds >= 0.0));
    }

    #[test]
    fn own_work_is_not_that_of_others() {
        let all = Others {
            began: Instant::now(),
            all_s: f64::INFINITY,
            own_s: 0.0,
        };
        assert_eq!(all.busy(), None);
    }
}
