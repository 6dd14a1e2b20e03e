//! Home directories (presets `home-1996` and `home-1997`): synthetic workloads, calibrated on published figures.
//!
//! Smith and Seltzer 1996 aged a 502 MB file system with ten months of the home directories of one professor
//! and three students. Their workload was rebuilt from nightly snapshots and NFS traces; neither is public.
//! This one is **made up**: it meets the figures that the paper gives of the workload (operations, bytes,
//! utilization, files, files of the last month) and fills in the rest from what is generally known of such
//! directories. What its layout becomes on a file system was never looked at while it was calibrated.
//!
//! How a day is made:
//!
//! 1. **Projects.** Every user works on a project, a small tree of directories, and goes on to a new or an
//!    old one every few weeks. What happens, happens mostly there: that is the home-directory skew.
//! 2. **Long-lived files** (origin `generated`): deletions in bursts of neighbors or of whole directories,
//!    rewrites and appends to files of the active projects, new files (a log-normal body with a heavy tail),
//!    so many that the number of files and the space in use follow their curves. Few large files hold most
//!    of the space, so a large file more or less steers it.
//! 3. **Short-lived files** (origin `short_lived`), most of all operations: editors' temporary files, objects
//!    and programs of compilations, output of simulations, in bursts around the hours when their directory
//!    is active, all gone by midnight.
//!
//! Space is estimated as a 4.4BSD fast file system with 8 KB blocks and 1 KB fragments would use it. A write
//! that would pass the ceiling makes room by ending short-lived files early, or is left out: the workload
//! never fills the disk.
//!
//! Units: MB and KB of the file system are powers of 1024, as 502 MB is its 514,055 fragments of 1 KB; the GB
//! of the bytes written are powers of 1000 (*assumption*: the paper does not say).

mod calendar;
mod day;
mod projects;
mod short_lived;
mod sizes;
mod start;
mod tree;

use crate::preset::{Generator, Preset};
use calendar::Calendar;
use fsage_core::{EventSink, Rng, SinkError, WorkloadHeader};
use serde::{Deserialize, Serialize};
use tree::Tree;

/// Parameters. The presets say which of their values are published, and which are assumptions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Home {
    /// Days.
    pub days: u64,
    /// Data space of the file system in fragments of 1 KB, utilization is a share of it.
    pub data_space_kb: u64,
    /// Cylinder groups of the file system, for the header only.
    pub groups: u64,
    /// Operations, `day` not counted.
    pub operations: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Files alive when it begins.
    pub initial_files: u64,
    /// Files alive at the end.
    pub final_files: u64,
    /// Utilization in tenths of a percent over thousandths of the period, straight lines in between.
    pub utilization: Vec<(u64, u64)>,
    /// Live files, in thousandths of `final_files`, over thousandths of the period.
    pub files: Vec<(u64, u64)>,
    /// No write goes over this utilization, in tenths of a percent: a fast file system with a reserve of 10 % gives
    /// out no more than 90 %.
    pub ceiling_permille: u64,
    /// Short-lived files may hold this share of the data space at a time, in tenths of a percent.
    pub short_lived_permille: u64,
    /// Users.
    pub users: u64,
    /// Bursts of short-lived files a day: size / 40 MB, as Smith and Seltzer 1997 drew profiles.
    pub bursts_a_day: u64,
    /// Long-lived files deleted on a day of average activity, growth apart.
    pub deletes_a_day: u64,
    /// Changes of existing long-lived files on a day of average activity.
    pub changes_a_day: u64,
    /// Large files made and deleted on a day of average activity, on top of what steers the space.
    pub large_turnover_a_day: u64,
    /// Mean number of days that a user stays with a project.
    pub days_on_a_project: u64,
    /// Standard deviation of what a day adds to the random walk of the utilization around its curve, in tenths of a
    /// percent.
    #[serde(default = "default_wander")]
    pub wander_permille: u64,
    /// Share of the directories below the homes that are not made, in tenths of a percent: their files lie in the
    /// directory above. The more it is, the fewer directories hold most of the files; all else stays as it is.
    #[serde(default)]
    pub flat_permille: u64,
    /// How long short-lived files live, in percent of how long they do unless said otherwise.
    #[serde(default = "default_lives")]
    pub short_lives_percent: u64,
    /// Files modified in this many last days are the hot ones.
    pub hot_days: u64,
    /// What was published of the real one.
    #[serde(default)]
    pub published: Published,
}

/// The random walk unless said otherwise.
pub const DEFAULT_WANDER_PERMILLE: u64 = 8;

fn default_wander() -> u64 {
    DEFAULT_WANDER_PERMILLE
}

/// Lives of short-lived files unless said otherwise.
pub const DEFAULT_SHORT_LIVES_PERCENT: u64 = 100;

fn default_lives() -> u64 {
    DEFAULT_SHORT_LIVES_PERCENT
}

/// Published figures of the workload that this one is made after, to stand beside what came out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Published {
    /// Operations.
    pub operations: Option<u64>,
    /// Bytes written.
    pub bytes_written: Option<u64>,
    /// Utilization before the first day, in tenths of a percent.
    pub initial_permille: Option<u64>,
    /// Utilization at its highest.
    pub peak_permille: Option<u64>,
    /// Utilization at the end.
    pub final_permille: Option<u64>,
    /// Files alive at the end.
    pub final_files: Option<u64>,
    /// Their space.
    pub final_kb: Option<u64>,
    /// Hot files.
    pub hot_files: Option<u64>,
    /// Their space.
    pub hot_kb: Option<u64>,
}

/// What came out, in the terms of the paper. Space is allocated space, as estimated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HomeSummary {
    /// Operations, `day` not counted.
    pub operations: u64,
    /// Bytes of creates, rewrites and appends.
    pub bytes_written: u64,
    /// Days.
    pub days: u64,
    /// Utilization before the first day's own operations, in tenths of a percent of the data space.
    pub initial_permille: u64,
    /// Days that ended with more than 70 %.
    pub days_over_70_percent: u64,
    /// Utilization at its highest, in tenths of a percent.
    pub peak_permille: u64,
    /// Utilization at the end, in tenths of a percent.
    pub final_permille: u64,
    /// Files alive at the end.
    pub final_files: u64,
    /// Directories alive at the end, the root not counted.
    pub final_directories: u64,
    /// Space of these files, indirect blocks included.
    pub final_kb: u64,
    /// Files modified in the last `hot_days` days.
    pub hot_files: u64,
    /// Their space.
    pub hot_kb: u64,
    /// Writes left out because they would have passed the ceiling.
    pub left_out: u64,
}

impl Home {
    /// The home directories of Smith and Seltzer 1996, on a file system `g502`.
    pub fn smith96() -> Home {
        match Preset::named("home-1996").map(|preset| preset.generator) {
            Some(Generator::Home(home)) => *home,
            other => unreachable!("home-1996 is made by the home generator, not by {other:?}"),
        }
    }

    /// Checks what may come from outside.
    ///
    /// # Errors
    /// Says which key is wrong, and what was expected.
    pub fn check(&self) -> Result<(), String> {
        const MOST: u64 = 1_000_000_000;
        let within = |key: &str, value: u64, least: u64, most: u64| {
            if (least..=most).contains(&value) {
                return Ok(());
            }
            Err(format!("{key} = {value}: expected {least} to {most}"))
        };
        within("days", self.days, 1, 100_000)?;
        within("data_space_kb", self.data_space_kb, 1, 1 << 40)?;
        within("operations", self.operations, 0, 1_000_000 * MOST)?;
        within("bytes_written", self.bytes_written, 0, 1 << 60)?;
        within("ceiling_permille", self.ceiling_permille, 0, 980)?;
        within("short_lived_permille", self.short_lived_permille, 0, 1000)?;
        within("users", self.users, 0, 100_000)?;
        within("days_on_a_project", self.days_on_a_project, 1, 100_000)?;
        within("flat_permille", self.flat_permille, 0, 1000)?;
        within("short_lives_percent", self.short_lives_percent, 0, 100)?;
        within("hot_days", self.hot_days, 0, 100_000)?;
        for (key, value) in [
            ("groups", self.groups),
            ("initial_files", self.initial_files),
            ("final_files", self.final_files),
            ("bursts_a_day", self.bursts_a_day),
            ("deletes_a_day", self.deletes_a_day),
            ("changes_a_day", self.changes_a_day),
            ("large_turnover_a_day", self.large_turnover_a_day),
            ("wander_permille", self.wander_permille),
        ] {
            within(key, value, 0, MOST)?;
        }
        for (key, curve, most) in [
            ("utilization", &self.utilization, 980),
            ("files", &self.files, 100_000),
        ] {
            let rises = curve.windows(2).all(|w| w[0].0 < w[1].0);
            let fits = curve.iter().all(|k| k.0 <= 1000 && k.1 <= most);
            if !rises || !fits {
                return Err(format!(
                    "{key}: expected [thousandths of the period, value], the first rising to 1000 at most, the \
                     second up to {most}"
                ));
            }
        }
        Ok(())
    }

    /// The same curves over another number of days, with the same operations and bytes a day.
    #[must_use]
    pub fn with_days(mut self, days: u64) -> Home {
        let days = days.max(1);
        let before = self.days;
        let part = |n: u64| (u128::from(n) * u128::from(days) / u128::from(before)) as u64;
        self.operations = part(self.operations);
        self.bytes_written = part(self.bytes_written);
        self.days = days;
        self
    }

    /// The same days on a data space of another size, with users, files, operations and bytes in proportion: more of
    /// the same homes. Sizes of files stay as they are, so much under a tenth of the published size the short-lived
    /// ones no longer fit and fewer bytes are written than said. What was published belongs to the published size
    /// alone.
    #[must_use]
    pub fn with_capacity(mut self, bytes: u64) -> Home {
        let (before, after) = (self.data_space_kb.max(1), bytes / 1024);
        if before == after {
            return self;
        }
        let part = |n: u64| {
            let scaled = u128::from(n) * u128::from(after) + u128::from(before / 2);
            u64::try_from(scaled / u128::from(before)).unwrap_or(u64::MAX)
        };
        for n in [
            &mut self.data_space_kb,
            &mut self.groups,
            &mut self.operations,
            &mut self.bytes_written,
            &mut self.initial_files,
            &mut self.final_files,
            &mut self.users,
            &mut self.bursts_a_day,
            &mut self.deletes_a_day,
            &mut self.changes_a_day,
        ] {
            *n = part(*n).max(1);
        }
        self.large_turnover_a_day = part(self.large_turnover_a_day);
        self.published = Published::default();
        self
    }

    /// What can be said of the workload before it is made. The program adds itself as the generator.
    pub fn header(&self, seed: u64) -> WorkloadHeader {
        WorkloadHeader {
            epoch_unix_s: Some(calendar::EPOCH_UNIX_S),
            capacity_bytes: Some(self.data_space_kb * 1024),
            block_bytes: Some(8192),
            group_count: Some(self.groups),
            seed: Some(seed),
            source: Some(
                "synthetic home directories after the statistics of Smith and Seltzer 1996; \
                 no event of it ever happened"
                    .into(),
            ),
            ..WorkloadHeader::default()
        }
    }

    /// Makes the workload: the initial files, then `days` days, each ended by `day N`, N from 1, at
    /// its last second. Times are nanoseconds since 1994-04-01 00:00 UTC in whole seconds and never go down.
    /// Memory holds the files alive and the operations of one day.
    ///
    /// The same parameters and seed give the same events on every machine.
    ///
    /// # Errors
    /// Only what the sink fails with.
    pub fn generate(&self, seed: u64, sink: &mut dyn EventSink) -> Result<HomeSummary, SinkError> {
        let rng = Rng::new(seed);
        let calendar = Calendar::new(self, &rng);
        let mut tree = Tree::new(self, &rng, sink);
        start::populate(&mut tree, self, &mut rng.stream("initial files", 0))?;
        for day in 1..=self.days {
            for (second, _, action) in day::plan(self, &calendar, &mut tree, &rng, day) {
                tree.act(second, action)?;
            }
            tree.end_day(day)?;
        }
        Ok(tree.summary(self))
    }
}
