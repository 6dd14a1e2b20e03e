//! What a day brings to the long-lived files.

use super::calendar::{Calendar, DAY_S, curve};
use super::projects::{Hot, move_on, somebodys};
use super::sizes::{self, LARGE_BYTES, space_kb};
use super::tree::{Action, State, Tree};
use super::{Home, short_lived};
use fsage_core::Rng;

/// The large files steer the space in use to within this much of the data space, in tenths of a percent.
const TOLERANCE_PERMILLE: i64 = 1;
/// Random walk of the utilization around its curve: what stays from one day to the next. The profile says what is
/// added.
const WANDER_STAYS: f64 = 0.8;

/// A day in the making.
pub(super) struct Plan<'p, 'a> {
    pub home: &'p Home,
    pub calendar: &'p Calendar,
    pub tree: &'p mut Tree<'a>,
    pub day: u64,
    pub hot: Hot,
    /// Directory and second of every change to long-lived files.
    pub activity: Vec<(usize, u64)>,
    /// Second of the day, order within it, and what.
    actions: Vec<(u64, usize, Action)>,
    /// Space in use at the end of the day, if all goes as planned.
    expected_kb: i64,
    /// Files more, or fewer, at the end of the day.
    growth: i64,
}

/// Plans `day`, from 1: what is done at which second, in the order of time.
pub(super) fn plan(
    home: &Home,
    calendar: &Calendar,
    tree: &mut Tree<'_>,
    rng: &Rng,
    day: u64,
) -> Vec<(u64, usize, Action)> {
    let expected_kb = tree.used_kb as i64;
    let mut plan = Plan {
        home,
        calendar,
        hot: Hot::new(tree),
        tree,
        day,
        activity: Vec::new(),
        actions: Vec::new(),
        expected_kb,
        growth: 0,
    };
    move_on(&mut plan, &mut rng.stream("projects", day));
    let files = curve(&home.files, day, home.days) * home.final_files / 1000;
    let wanted = files as i64 - plan.tree.live_files as i64;
    let turnover = calendar.busy(home.deletes_a_day, day) as i64;
    plan.delete_files(
        &mut rng.stream("deletions", day),
        turnover.max(turnover - wanted),
    );
    plan.change_files(&mut rng.stream("changes", day));
    plan.turn_over_large(&mut rng.stream("large files", day));
    let files = (wanted - plan.growth).max(0);
    plan.create_files(&mut rng.stream("creations", day), files as u64);
    plan.steer(rng);
    short_lived::plan(&mut plan, &mut rng.stream("short-lived", day));
    let mut actions = plan.actions;
    actions.sort_unstable_by_key(|&(second, order, _)| (second, order));
    actions
}

impl Plan<'_, '_> {
    /// Plans an action; within one second in the order of planning.
    pub fn add(&mut self, second: u64, action: Action) {
        let order = self.actions.len();
        self.actions.push((second.min(DAY_S - 1), order, action));
    }

    /// Operations planned so far.
    pub fn len(&self) -> u64 {
        self.actions.len() as u64
    }

    pub fn moment(&self, rng: &mut Rng) -> u64 {
        self.calendar.moment(rng)
    }

    /// A new directory, made at that second.
    pub fn add_dir(&mut self, second: u64, parent: usize, stays: bool) -> usize {
        let dir = self.tree.plan_dir(Some(parent), stays);
        self.expected_kb += 1;
        self.add(second, Action::Mkdir(dir));
        dir
    }

    fn add_file(&mut self, second: u64, dir: usize, bytes: u64) {
        let file = self.tree.plan_file(dir, bytes);
        self.expected_kb += space_kb(bytes) as i64;
        self.growth += 1;
        self.activity.push((dir, second));
        self.add(second, Action::Create(file));
    }

    fn add_delete(&mut self, second: u64, file: usize) {
        let f = &mut self.tree.files[file];
        f.state = State::Doomed;
        self.expected_kb -= space_kb(f.bytes) as i64;
        self.growth -= 1;
        self.activity.push((f.dir, second));
        self.add(second, Action::Delete(file));
    }

    /// Deletes at least `count` files, neighbors in runs, sometimes a whole directory.
    fn delete_files(&mut self, rng: &mut Rng, count: i64) {
        let mut tries = 4 * count;
        while -self.growth < count && tries > 0 {
            tries -= 1;
            let Some(anchor) = self.random_file(rng) else {
                continue;
            };
            let dir = self.tree.files[anchor].dir;
            let neighbors = self.tree.dirs[dir].files.clone();
            let second = self.moment(rng);
            let is_hot = self.hot.contains(dir);
            if !is_hot && neighbors.len() <= 40 && rng.chance(0.15) {
                self.delete_directory(rng, dir, &neighbors, second);
                continue;
            }
            let first = neighbors.iter().position(|&f| f == anchor).unwrap_or(0);
            let run = 1 + (rng.exponential() * 4.0) as usize;
            for (n, &file) in neighbors[first..].iter().take(run).enumerate() {
                if self.tree.files[file].state == State::Alive {
                    self.add_delete(second + n as u64 / 4, file);
                }
            }
        }
    }

    fn delete_directory(&mut self, rng: &mut Rng, dir: usize, files: &[usize], second: u64) {
        let mut end = second;
        for &file in files {
            if self.tree.files[file].state == State::Alive {
                end += rng.below(2);
                self.add_delete(end, file);
            }
        }
        let d = &mut self.tree.dirs[dir];
        if d.subdirs == 0 && !d.stays && d.state == State::Alive {
            d.state = State::Doomed;
            self.expected_kb -= 1;
            // Behind a deletion of the same file planned for a later second, it finds the directory in use.
            self.add(end, Action::Rmdir(dir));
        }
    }

    /// A file alive: of the last ones made, or any. Young files die sooner.
    fn random_file(&self, rng: &mut Rng) -> Option<usize> {
        let files = self.tree.files.len() as u64;
        if files == 0 {
            return None;
        }
        let young = (self.home.final_files / 8).clamp(1, files);
        let among = if rng.chance(0.5) { young } else { files };
        (0..50)
            .map(|_| (files - 1 - rng.below(among)) as usize)
            .find(|&f| self.tree.files[f].state == State::Alive)
    }

    /// Rewrites of, and appends to, files where work goes on; the youngest most of all.
    fn change_files(&mut self, rng: &mut Rng) {
        let count = self.calendar.busy(self.home.changes_a_day, self.day);
        for _ in 0..count {
            let dir = self.hot.draw(rng);
            let files = &self.tree.dirs[dir].files;
            let back = (rng.exponential() * files.len() as f64 / 5.0) as usize;
            let Some(&file) = files.iter().rev().nth(back) else {
                continue;
            };
            let (bytes, state) = (self.tree.files[file].bytes, self.tree.files[file].state);
            // Large files are results: made, read and deleted, seldom changed.
            let spared = bytes > LARGE_BYTES && !rng.chance(0.1);
            if state != State::Alive || spared {
                continue;
            }
            let second = self.moment(rng);
            let after = if rng.chance(0.75) {
                let after = sizes::changed(rng, bytes);
                self.add(second, Action::Rewrite(file, after));
                after
            } else {
                let more = sizes::appended(rng);
                self.add(second, Action::Append(file, more));
                bytes + more
            };
            self.expected_kb += space_kb(after) as i64 - space_kb(bytes) as i64;
            self.activity.push((dir, second));
        }
    }

    /// Large files that come and go whatever the space in use is.
    fn turn_over_large(&mut self, rng: &mut Rng) {
        let count = self.calendar.busy(self.home.large_turnover_a_day, self.day);
        let mut large = self.tree.large_files();
        for _ in 0..count.min(large.len() as u64) {
            let file = large.swap_remove(rng.below(large.len() as u64) as usize);
            let second = self.moment(rng);
            self.add_delete(second, file);
            let (dir, second) = (self.hot.draw(rng), self.moment(rng));
            let bytes = sizes::large(rng);
            self.add_file(second, dir, bytes);
        }
    }

    /// Makes so many files of the body, in sessions of work or by unpacking something.
    fn create_files(&mut self, rng: &mut Rng, count: u64) {
        let mut left = count;
        while left > 0 {
            let second = self.moment(rng);
            let mut dir = if rng.chance(0.85) {
                self.hot.draw(rng)
            } else {
                let any = self.random_file(rng).map(|f| self.tree.files[f].dir);
                any.filter(|&d| self.tree.dirs[d].state == State::Alive)
                    .unwrap_or_else(|| self.hot.draw(rng))
            };
            let unpack = left >= 20 && rng.chance(0.12);
            if unpack || rng.chance(0.2) {
                let project = somebodys(rng, self.tree);
                let root = self.tree.projects[project].dirs[0];
                if self.tree.dirs[root].state == State::Alive {
                    let above = if rng.chance(0.6) || !self.hot.contains(dir) {
                        root
                    } else {
                        dir
                    };
                    dir = self.add_dir(second, above, false);
                    self.tree.projects[project].dirs.push(dir);
                }
            }
            let (files, pause_s) = if unpack {
                (rng.between(15, 45), 0.5)
            } else {
                (1 + (rng.exponential() * 3.5) as u64, 120.0)
            };
            let mut at = second as f64;
            for _ in 0..files.min(left) {
                at += rng.exponential() * pause_s;
                let bytes = sizes::body(rng);
                self.add_file(at as u64, dir, bytes);
            }
            left -= files.min(left);
        }
    }

    /// Makes or deletes large files until the space in use is what the curve says.
    fn steer(&mut self, rng: &Rng) {
        let home = self.home;
        let last = self.day == home.days;
        let curve = curve(&home.utilization, self.day, home.days) as i64;
        let wander = if last { 0 } else { wander(rng, self.day, home) };
        // What comes and goes within a day needs room under the ceiling, most of it at the same time.
        let within_a_day = home.short_lived_permille * 5 / 6;
        let most = home.ceiling_permille.saturating_sub(within_a_day) as i64;
        let permille = (curve + wander).clamp(0, most);
        let kb = |permille: i64| permille * home.data_space_kb as i64 / 1000;
        let target = kb(permille);
        let tolerance = if last { 0 } else { kb(TOLERANCE_PERMILLE) };
        let mut rng = rng.stream("steering", self.day);
        let mut large = self.tree.large_files();
        while self.expected_kb > target + tolerance && !large.is_empty() {
            // Old results go before new ones: the older of two.
            let n = large.len() as u64;
            let file = large.remove(rng.below(n).min(rng.below(n)) as usize);
            let second = self.moment(&mut rng);
            self.add_delete(second, file);
        }
        while target - tolerance - self.expected_kb > (LARGE_BYTES / 1024) as i64 {
            let room = (target + tolerance - self.expected_kb) as u64 * 1000;
            let bytes = sizes::large(&mut rng).min(room);
            let (dir, second) = (self.hot.draw(&mut rng), self.moment(&mut rng));
            self.add_file(second, dir, bytes);
        }
    }
}

/// How far the utilization is from its curve on `day`, in tenths of a percent: an autoregressive walk, summed
/// over the days that still matter, so that each day depends on the seed and its number alone.
fn wander(rng: &Rng, day: u64, home: &Home) -> i64 {
    const MATTER: u64 = 30;
    let mut sum = 0.0;
    for d in day.saturating_sub(MATTER)..=day {
        sum = sum * WANDER_STAYS + rng.stream("wander", d).normal() * home.wander_permille as f64;
    }
    // It ends, and begins, on the curve.
    let to_the_edge = day.min(home.days - day).min(10) as f64;
    (sum * to_the_edge / 10.0) as i64
}
