//! Ten months of home directories (preset `smith96`): a synthetic workload, calibrated on published figures.
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

use calendar::Calendar;
use fsage_core::{EventSink, Rng, SinkError, WorkloadHeader};
use tree::Tree;

/// Parameters. Where the paper gives a figure it stands beside the field; the others are assumptions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    /// Days. 1996: 300, ten months.
    pub days: u64,
    /// Data space of the file system in fragments of 1 KB, utilization is a share of it. 1996: 502 MB.
    pub data_space_kb: u64,
    /// Cylinder groups of the file system, for the header only. 1996: 27.
    pub groups: u64,
    /// Operations, `day` not counted. 1996: about 800,000.
    pub operations: u64,
    /// Bytes written. 1996: 48.6 GB.
    pub bytes_written: u64,
    /// Files alive when it begins. Not published: 9 % of the space, at the mean size of the end.
    pub initial_files: u64,
    /// Files alive at the end. 1996: 8,774.
    pub final_files: u64,
    /// Utilization in tenths of a percent over thousandths of the period, straight lines in between.
    /// 1996: 9 % at the start, over 70 % most of the time, 90 % at most, and at the end 313 MB.
    pub utilization: Vec<(u64, u64)>,
    /// Live files, in thousandths of `final_files`, over thousandths of the period. Only the end is published.
    pub files: Vec<(u64, u64)>,
    /// No write goes over this utilization, in tenths of a percent: 1996 had 90 % at most, and a fast file
    /// system with a reserve of 10 % gives out no more.
    pub ceiling_permille: u64,
    /// Short-lived files may hold this share of the data space at a time, in tenths of a percent.
    pub short_lived_permille: u64,
    /// Users. 1996: one professor and three students.
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
    /// Files modified in this many last days are the hot ones. 1996: the last month.
    pub hot_days: u64,
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
        Home {
            days: 300,
            data_space_kb: 514_055,
            groups: 27,
            operations: 800_000,
            bytes_written: 48_600_000_000,
            initial_files: 1_290,
            final_files: 8_774,
            utilization: vec![
                (0, 90),
                (50, 250),
                (130, 520),
                (217, 710),
                (330, 780),
                (430, 845),
                (500, 765),
                (630, 820),
                (767, 860),
                (850, 800),
                (950, 765),
                (1000, 623),
            ],
            files: vec![(0, 147), (217, 684), (500, 860), (950, 1040), (1000, 1000)],
            ceiling_permille: 890,
            short_lived_permille: 30,
            users: 4,
            bursts_a_day: 12,
            deletes_a_day: 20,
            changes_a_day: 80,
            large_turnover_a_day: 4,
            days_on_a_project: 25,
            hot_days: 30,
        }
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

    /// The same days on a file system that is so many times smaller, with as many times fewer files,
    /// operations and bytes. Sizes of files stay as they are, so much under a tenth the short-lived ones no
    /// longer fit and fewer bytes are written than said.
    #[must_use]
    pub fn scaled_down(mut self, factor: u64) -> Home {
        let factor = factor.max(1);
        for n in [
            &mut self.data_space_kb,
            &mut self.groups,
            &mut self.operations,
            &mut self.bytes_written,
            &mut self.initial_files,
            &mut self.final_files,
            &mut self.bursts_a_day,
            &mut self.deletes_a_day,
            &mut self.changes_a_day,
        ] {
            *n = (*n / factor).max(1);
        }
        self.large_turnover_a_day /= factor;
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
        let mut tree = Tree::new(self, sink);
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
