//! What mballoc, the allocator of ext4, made of the requests for a file's data on one day.

use super::{GroupThen, OnDay, Rows};
use fsage_core::Geometry;
use fsage_models::microscope::FreeGroup;
use serde::Serialize;

/// What served requests for which no criterion found a run, so that the longest that was seen is taken.
pub const NO_CRITERION: &str = "no criterion";
/// The criterion for groups with as many free blocks as are searched for.
pub const GOAL_LEN_SLOW: &str = "CR_GOAL_LEN_SLOW";
/// What stands instead of a criterion where blocks were set aside before.
pub const PREALLOCATED: &str = "preallocated";

/// What the allocator of ext4 made of the requests for a file's data on a day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mballoc {
    /// Requests, in the order they were made.
    pub requests: usize,
    /// Those served by each criterion, by the names of the kernel, or `preallocated`; the most first.
    pub by: Vec<(String, usize)>,
    /// Blocks that the first one asked for.
    pub first_asked: u64,
    /// Blocks that it searched for, which mballoc rounds to sizes of its own; none where they were preallocated.
    pub first_searched: Option<u64>,
    /// Where it should have gone: a block of the file system.
    pub first_goal: u64,
    /// The criterion that served it.
    pub first_by: String,
    /// Blocks that the first one got.
    pub first_got: u64,
    /// Where these begin: a block of the file system.
    pub first_block: u64,
    /// The group of the first one's goal, and that of what it got where it is another one, as they were when the day
    /// began.
    pub groups: Vec<GroupThen>,
    /// Where free runs as long as what was searched for lay when the day began; none where nothing was searched for.
    pub long_runs: Option<LongRuns>,
    /// Requests that got a run that begins at their goal.
    pub at_goal: usize,
    /// The longest run that any of them got, in blocks.
    pub longest_got: u64,
}

/// Where free runs of a length lay that was searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LongRuns {
    /// The most blocks that a request of the day searched for.
    pub blocks: u64,
    /// Groups of the file system.
    pub groups: usize,
    /// Those with a free run of so many blocks.
    pub have: usize,
    /// Those whose free runs were so long on average, as `CR_GOAL_LEN_FAST` asks for.
    pub by_mean: usize,
    /// Those with an aligned piece of so many, as `CR_POWER2_ALIGNED` asks for; none where it is no power of two,
    /// which that criterion leaves out.
    pub by_aligned: Option<usize>,
    /// The group with the longest free run, the first of several.
    pub longest: GroupThen,
}

impl Mballoc {
    /// None of the trace of another allocator, and where nothing was asked for.
    pub(super) fn of(on_day: &OnDay<'_>) -> Option<Mballoc> {
        let (mut served, blocks) = tally(on_day.trace)?;
        served.groups = groups(&served, on_day.geometry, on_day.free);
        served.long_runs = blocks.and_then(|blocks| long_runs(blocks, on_day.free));
        Some(served)
    }

    /// How many blocks had to be free in the group that served the first request when it did.
    pub fn needed(&self) -> u64 {
        match (self.first_by.as_str(), self.first_searched) {
            (PREALLOCATED, _) => 0,
            (GOAL_LEN_SLOW, Some(searched)) => searched,
            _ => self.first_got,
        }
    }
}

/// The groups of the first request, of what was free in all of them.
fn groups(served: &Mballoc, geometry: &Geometry, free: &[FreeGroup]) -> Vec<GroupThen> {
    let block_bytes = u64::from(geometry.block_bytes).max(1);
    let of = |block: u64| block * block_bytes / geometry.group_bytes.max(1);
    GroupThen::of_numbers(vec![of(served.first_goal), of(served.first_block)], free)
}

/// Where runs of so many blocks were free.
fn long_runs(blocks: u64, free: &[FreeGroup]) -> Option<LongRuns> {
    let groups = free.iter().enumerate();
    let groups: Vec<GroupThen> = groups.map(|(at, free)| GroupThen::of(at, free)).collect();
    let that =
        |suits: &dyn Fn(&GroupThen) -> bool| groups.iter().filter(|&group| suits(group)).count();
    Some(LongRuns {
        blocks,
        groups: groups.len(),
        have: that(&|group| group.longest >= blocks),
        by_mean: that(&|group| group.has_mean(blocks)),
        by_aligned: blocks
            .is_power_of_two()
            .then(|| that(&|group| group.aligned >= blocks)),
        longest: GroupThen::with_longest(free)?,
    })
}

/// From the lines of a trace, and the most blocks that were searched for. A file has its first block once: what was
/// asked for before the last request for that is gone, as a rewrite leaves nothing of it.
fn tally(trace: &str) -> Option<(Mballoc, Option<u64>)> {
    let rows = Rows::of_data(trace)?;
    let at = |name: &str| rows.column(name);
    let criterion = at("criterion")?;
    let (asked, got, goal, block) = (at("asked")?, at("got")?, at("goal")?, at("block")?);
    let (searched, logical) = (at("searched")?, at("logical")?);
    let rows = rows.rows;
    let is_first = |row: &Vec<&str>| row.get(logical) == Some(&"0");
    let anew = rows.iter().rposition(is_first).unwrap_or(0);
    let (mut served, mut most): (Option<Mballoc>, Option<u64>) = (None, None);
    for row in &rows[anew..] {
        let number = |at: usize| row.get(at)?.parse::<u64>().ok();
        let (asked, got) = (number(asked)?, number(got)?);
        let name = match *row.get(criterion)? {
            PREALLOCATED => PREALLOCATED.to_owned(),
            "0x5" => NO_CRITERION.to_owned(),
            name => format!("CR_{name}"),
        };
        let all = served.get_or_insert(Mballoc {
            requests: 0,
            by: Vec::new(),
            first_asked: asked,
            first_searched: number(searched),
            first_goal: number(goal)?,
            first_by: name.clone(),
            first_got: got,
            first_block: number(block)?,
            groups: Vec::new(),
            long_runs: None,
            at_goal: 0,
            longest_got: 0,
        });
        most = most.max(number(searched));
        all.requests += 1;
        all.at_goal += usize::from(number(goal) == number(block));
        all.longest_got = all.longest_got.max(got);
        match all.by.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => all.by.push((name, 1)),
        }
    }
    let mut served = served?;
    served
        .by
        .sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    Some((served, most))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counted by hand; the line of kind M is a block of the tree.
    #[test]
    fn requests_for_data_are_counted_by_criterion() {
        let trace = "#inode\tkind\tlogical\tasked\tgoal\tblock\tgot\tsearched\tcriterion\n# rewrite 7 100\n\
                     9\tD\t0\t583\t32768\t184054\t2\t512\tGOAL_LEN_SLOW\n\
                     9\tM\t0\t1\t32768\t65425\t1\t1\tGOAL_LEN_FAST\n\
                     9\tD\t2\t535\t184798\t184798\t1\t-\tpreallocated\n\
                     9\tD\t3\t15\t184799\t185458\t4\t463\tGOAL_LEN_SLOW\n";
        let expected = Mballoc {
            requests: 3,
            by: vec![
                ("CR_GOAL_LEN_SLOW".to_owned(), 2),
                ("preallocated".to_owned(), 1),
            ],
            first_asked: 583,
            first_searched: Some(512),
            first_goal: 32_768,
            first_by: GOAL_LEN_SLOW.to_owned(),
            first_got: 2,
            first_block: 184_054,
            groups: Vec::new(),
            long_runs: None,
            at_goal: 1,
            longest_got: 4,
        };
        assert_eq!(tally(trace), Some((expected, Some(512))));
        // Nothing of what was there before it was written anew.
        let (columns, rewrite) = trace.split_once('\n').expect("lines");
        let before = "9\tD\t0\t2\t3281\t3281\t2\t2\tGOAL_LEN_FAST\n";
        let anew = format!("{columns}\n{before}{rewrite}");
        assert_eq!(tally(&anew), tally(trace));
        assert_eq!(
            tally("#inode\tkind\tblock\thow\n9\tD\t0\tsame group\n"),
            None
        );
        assert_eq!(tally(""), None);
    }

    /// Two groups of ten blocks; the second has 5 free blocks in 2 runs.
    #[test]
    fn the_groups_of_the_goal_and_of_what_it_got_are_told() {
        let geometry = Geometry {
            fs_type: "ext4".to_owned(),
            size_bytes: 20 * 4096,
            data_bytes: None,
            reserved_bytes: 0,
            block_bytes: 4096,
            frag_bytes: 4096,
            inodes_total: 64,
            group_count: 2,
            group_bytes: 10 * 4096,
            inodes_per_group: 32,
            first_ino: 1,
            inode_chunk_bytes: 0,
        };
        let full = FreeGroup::default();
        let second = FreeGroup {
            free: 5,
            runs: 2,
            longest: 3,
            aligned: 2,
        };
        let served = |first_goal, first_block| Mballoc {
            requests: 1,
            by: Vec::new(),
            first_asked: 4,
            first_searched: Some(4),
            first_goal,
            first_by: String::new(),
            first_got: 3,
            first_block,
            groups: Vec::new(),
            long_runs: None,
            at_goal: 0,
            longest_got: 3,
        };
        let all = [full, second];
        let [none, some] = [0, 1].map(|at| GroupThen::of(at, &all[at]));
        assert_eq!(groups(&served(9, 10), &geometry, &all), [none, some]);
        assert_eq!(groups(&served(12, 19), &geometry, &all), [some]);
    }

    /// By hand, for 8 blocks: the first group is full; the second has them, but not aligned and in runs of 3 on
    /// average; the third has an aligned run and a mean of 7.6, in whole blocks 7; the fourth is all free.
    #[test]
    fn groups_with_long_runs_are_counted_by_what_each_criterion_asks_for() {
        let of = |free, runs, longest, aligned| FreeGroup {
            free,
            runs,
            longest,
            aligned,
        };
        let all = [
            of(0, 0, 0, 0),
            of(30, 10, 11, 4),
            of(38, 5, 30, 16),
            of(20, 1, 20, 0),
        ];
        let found = long_runs(8, &all).expect("groups");
        assert_eq!((found.groups, found.have), (4, 3));
        assert_eq!((found.by_mean, found.by_aligned), (1, Some(1)));
        assert_eq!(found.longest.group, 2);
        let of_twelve = long_runs(12, &all).expect("groups");
        assert_eq!((of_twelve.have, of_twelve.by_aligned), (2, None));
        assert_eq!(long_runs(8, &[]), None);
    }
}
