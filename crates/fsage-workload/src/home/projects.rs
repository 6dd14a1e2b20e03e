//! Where work goes on: each user has a current project, and moves on every few weeks.

use super::day::Plan;
use super::tree::{Project, State, Tree};
use fsage_core::Rng;
use fsage_core::rng::AliasTable;

/// Directories of a project that are hot at a time: the youngest.
const HOT_DIRECTORIES: usize = 6;

/// The directories where work goes on today, and how much in each.
pub(super) struct Hot {
    dirs: Vec<usize>,
    table: AliasTable,
}

impl Hot {
    /// The homes and the youngest directories of the current projects, the youngest first and most.
    pub fn new(tree: &Tree<'_>) -> Hot {
        let mut dirs = Vec::new();
        let mut weights = Vec::new();
        for (n, user) in tree.users.iter().enumerate() {
            // The professor, first of all, does less in the file system than a student.
            let share = if n == 0 { 1 } else { 2 };
            dirs.push(user.home);
            weights.push(share);
            let alive = |&&d: &&usize| tree.dirs[d].state == State::Alive;
            let project = &tree.projects[user.current];
            let hottest = project
                .dirs
                .iter()
                .rev()
                .filter(alive)
                .take(HOT_DIRECTORIES);
            for (rank, &dir) in hottest.enumerate() {
                dirs.push(dir);
                weights.push(share * (HOT_DIRECTORIES - rank) as u64);
            }
        }
        Hot {
            dirs,
            table: AliasTable::new(&weights),
        }
    }

    pub fn draw(&self, rng: &mut Rng) -> usize {
        self.dirs[self.table.draw(rng)]
    }

    pub fn contains(&self, dir: usize) -> bool {
        self.dirs.contains(&dir)
    }
}

/// The current project of somebody.
pub(super) fn somebodys(rng: &mut Rng, tree: &Tree<'_>) -> usize {
    let user = rng.below(tree.users.len() as u64) as usize;
    tree.users[user].current
}

/// Lets users change to a new project, or back to an old one; it is hot from the next day on.
pub(super) fn move_on(plan: &mut Plan<'_, '_>, rng: &mut Rng) {
    for n in 0..plan.tree.users.len() {
        if !rng.chance(1.0 / plan.home.days_on_a_project.max(1) as f64) {
            continue;
        }
        let old = plan.tree.users[n].projects.len() as u64;
        if rng.chance(0.4) {
            let back = rng.below(old) as usize;
            plan.tree.users[n].current = plan.tree.users[n].projects[back];
            continue;
        }
        let second = plan.moment(rng);
        let home = plan.tree.users[n].home;
        let root = plan.add_dir(second, home, true);
        plan.tree.projects.push(Project { dirs: vec![root] });
        let project = plan.tree.projects.len() - 1;
        plan.tree.users[n].projects.push(project);
        plan.tree.users[n].current = project;
    }
}
