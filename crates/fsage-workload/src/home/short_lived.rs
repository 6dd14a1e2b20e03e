//! Files that are made and deleted within a day, most operations of all: bursts in the directories that are
//! most active that day, around an hour of that activity.
//!
//! Three kinds of use, as in the traces of those years: editing, compiling, simulating.

use super::calendar::DAY_S;
use super::day::Plan;
use super::tree::{Action, State};
use super::{DEFAULT_SHORT_LIVES_PERCENT, sizes};
use fsage_core::Rng;
use fsage_core::rng::AliasTable;
use std::cmp::Reverse;
use std::ops::RangeInclusive;

/// Shares of operations of editing, compiling and simulating.
const KINDS: [u64; 3] = [35, 40, 25];
/// How far sizes may be steered to the bytes wanted.
const FACTORS: RangeInclusive<f64> = 0.4..=2.5;

/// Plans the short-lived files of a day, as many as the operations that are left for it.
pub(super) fn plan(plan: &mut Plan<'_, '_>, rng: &mut Rng) {
    let left = plan.home.operations.saturating_sub(plan.tree.operations());
    let budget = plan
        .calendar
        .share(left, plan.day)
        .saturating_sub(plan.len());
    let dirs = most_active(plan);
    let factor = size_factor(plan);
    let kinds = AliasTable::new(&KINDS);
    let weights: Vec<f64> = (0..plan.home.bursts_a_day)
        .map(|_| 0.2 + rng.exponential())
        .collect();
    let total: f64 = weights.iter().sum();
    let mut given = 0;
    let mut so_far = 0.0;
    for weight in weights {
        so_far += weight;
        let end = (budget as f64 * so_far / total) as u64;
        let (dir, center) = if dirs.is_empty() {
            (plan.hot.draw(rng), plan.moment(rng))
        } else {
            dirs[rng.below(dirs.len() as u64) as usize]
        };
        let mut burst = Burst {
            rng,
            dir,
            factor,
            left: end - given,
            at: 0.0,
            actions: Vec::new(),
            shorts: 0,
            drawn: 0,
        };
        match kinds.draw(burst.rng) {
            0 => burst.edit(),
            1 => burst.compile(),
            _ => burst.simulate(),
        }
        given = end;
        let Burst {
            mut actions,
            shorts,
            drawn,
            ..
        } = burst;
        plan.tree.drawn_bytes += drawn;
        shorten(&mut actions, shorts, plan.home.short_lives_percent);
        place(plan, &actions, shorts, center);
    }
}

/// The directories with the most changes to long-lived files today, at most one for each burst, each with the
/// time of the change in the middle.
fn most_active(plan: &mut Plan<'_, '_>) -> Vec<(usize, u64)> {
    plan.activity.sort_unstable();
    let mut ranked: Vec<(usize, usize, u64)> = plan
        .activity
        .chunk_by(|a, b| a.0 == b.0)
        .map(|c| (c.len(), c[0].0, c[c.len() / 2].1))
        .filter(|&(_, dir, _)| plan.tree.dirs[dir].state == State::Alive)
        .collect();
    ranked.sort_unstable_by_key(|&(changes, dir, _)| (Reverse(changes), dir));
    ranked.truncate(plan.home.bursts_a_day as usize);
    ranked
        .iter()
        .map(|&(_, dir, second)| (dir, second))
        .collect()
}

/// By how much sizes are multiplied, so that the bytes of the whole period come out as wanted.
fn size_factor(plan: &Plan<'_, '_>) -> f64 {
    let tree = &plan.tree;
    let operations = tree.operations();
    let drawn = tree.drawn_bytes + tree.long_bytes;
    if plan.day == 1 || operations == 0 || drawn == 0 {
        return 1.0;
    }
    let left = plan.home.operations.saturating_sub(operations).max(1);
    let bytes = plan.home.bytes_written.saturating_sub(tree.bytes_written());
    let wanted = bytes as f64 / left as f64;
    let natural = drawn as f64 / operations as f64;
    (wanted / natural).clamp(*FACTORS.start(), *FACTORS.end())
}

/// Brings what happens to each file of a burst nearer to its creation, to so many percent of the time since then.
fn shorten(actions: &mut [(f64, Action)], shorts: usize, percent: u64) {
    if percent == DEFAULT_SHORT_LIVES_PERCENT {
        return;
    }
    let mut made = vec![0.0; shorts];
    for (at, action) in actions {
        match *action {
            Action::ShortCreate { short, .. } => made[short] = *at,
            Action::ShortRewrite(short, _)
            | Action::ShortAppend(short, _)
            | Action::ShortDelete(short) => {
                *at = made[short] + (*at - made[short]) * percent as f64 / 100.0;
            }
            _ => {}
        }
    }
}

/// Puts a burst into the day, its middle at `center`, moved as a whole if it sticks out.
fn place(plan: &mut Plan<'_, '_>, actions: &[(f64, Action)], shorts: usize, center: u64) {
    let first = plan.tree.plan_shorts(shorts);
    let length = actions.iter().fold(0.0_f64, |most, a| most.max(a.0)) as u64;
    let start = center.saturating_sub(length / 2);
    let start = start.min((DAY_S - 1).saturating_sub(length));
    for &(at, action) in actions {
        let action = match action {
            Action::ShortCreate { short, dir, bytes } => Action::ShortCreate {
                short: first + short,
                dir,
                bytes,
            },
            Action::ShortRewrite(short, bytes) => Action::ShortRewrite(first + short, bytes),
            Action::ShortAppend(short, bytes) => Action::ShortAppend(first + short, bytes),
            Action::ShortDelete(short) => Action::ShortDelete(first + short),
            other => other,
        };
        plan.add(start + at as u64, action);
    }
}

/// A burst in the making: times in seconds since its start, files numbered from 0.
struct Burst<'r> {
    rng: &'r mut Rng,
    dir: usize,
    factor: f64,
    /// Operations that may still be planned.
    left: u64,
    at: f64,
    actions: Vec<(f64, Action)>,
    shorts: usize,
    drawn: u64,
}

impl Burst<'_> {
    fn size(&mut self, median: f64, sigma: f64) -> u64 {
        let bytes = sizes::short_lived(self.rng, median, sigma, self.factor);
        self.drawn += (bytes as f64 / self.factor) as u64;
        bytes
    }

    fn pause(&mut self, mean_s: f64) {
        self.at += self.rng.exponential() * mean_s;
    }

    /// Plans a file, whose deletion is counted too; `None` if no operations are left for both.
    fn create(&mut self, bytes: u64) -> Option<usize> {
        self.left = self.left.checked_sub(2)?;
        let short = self.shorts;
        self.shorts += 1;
        let dir = self.dir;
        self.actions
            .push((self.at, Action::ShortCreate { short, dir, bytes }));
        Some(short)
    }

    fn delete(&mut self, short: usize, after_s: f64) {
        self.actions
            .push((self.at + after_s, Action::ShortDelete(short)));
    }

    fn act(&mut self, action: Action, after_s: f64) -> bool {
        let more = self.left > 0;
        if more {
            self.left -= 1;
            self.actions.push((self.at + after_s, action));
        }
        more
    }

    /// Temporary and backup files of editors: small, a few minutes, sometimes saved again.
    fn edit(&mut self) {
        loop {
            let bytes = self.size(7_000.0, 1.2);
            let Some(file) = self.create(bytes) else {
                return;
            };
            let mut life = 5.0 + self.rng.exponential() * 150.0;
            if self.rng.chance(0.25) {
                let bytes = sizes::changed(self.rng, bytes);
                self.act(Action::ShortRewrite(file, bytes), life);
                life += 5.0 + self.rng.exponential() * 60.0;
            }
            self.delete(file, life);
            self.pause(60.0);
        }
    }

    /// Objects and a program, compiled again in part a few times, and cleaned away.
    fn compile(&mut self) {
        while self.left >= 2 {
            let mut objects = Vec::new();
            for _ in 0..self.rng.between(3, 24) {
                let bytes = self.size(24_000.0, 1.0);
                if let Some(object) = self.create(bytes) {
                    objects.push((object, bytes));
                }
                self.pause(4.0);
            }
            let bytes = self.size(400_000.0, 0.7);
            let mut program = self.create(bytes);
            for _ in 0..self.rng.below(5) {
                self.pause(240.0);
                for (object, bytes) in objects.clone() {
                    if self.rng.chance(0.3) {
                        let bytes = sizes::changed(self.rng, bytes);
                        self.act(Action::ShortRewrite(object, bytes), 0.0);
                        self.pause(4.0);
                    }
                }
                // The linker takes the old program away and writes a new one.
                if let Some(old) = program {
                    self.delete(old, 0.0);
                    let bytes = self.size(400_000.0, 0.7);
                    program = self.create(bytes);
                }
            }
            self.pause(400.0);
            for file in objects.into_iter().map(|o| o.0).chain(program) {
                self.delete(file, 0.0);
                self.pause(0.1);
            }
            self.pause(120.0);
        }
    }

    /// Output of runs, written piece by piece while others are written, looked at and deleted.
    fn simulate(&mut self) {
        loop {
            let pieces = self.rng.between(1, 5);
            let bytes = self.size(300_000.0, 1.2).div_ceil(pieces);
            let Some(file) = self.create(bytes) else {
                return;
            };
            let mut life = 0.0;
            for _ in 1..pieces {
                life += self.rng.exponential() * 20.0;
                self.act(Action::ShortAppend(file, bytes), life);
            }
            life += 10.0 + self.rng.exponential() * 200.0;
            self.delete(file, life);
            self.pause(40.0);
        }
    }
}
