//! What is there before the first day.

use super::tree::{Action, Project, Tree, User};
use super::{Home, sizes};
use fsage_core::{Rng, SinkError};

/// A home and two projects for every user, and the initial files, all at the first second.
pub(super) fn populate(tree: &mut Tree<'_>, home: &Home, rng: &mut Rng) -> Result<(), SinkError> {
    let mut made = Vec::new();
    for _ in 0..home.users.max(1) {
        let dir = tree.plan_dir(None, true);
        made.push(dir);
        let mut user = User {
            home: dir,
            projects: Vec::new(),
            current: 0,
        };
        for _ in 0..2 {
            made.push(tree.plan_dir(Some(dir), true));
            tree.projects.push(Project {
                dirs: vec![made[made.len() - 1]],
            });
            user.current = tree.projects.len() - 1;
            user.projects.push(user.current);
        }
        tree.users.push(user);
    }
    for _ in 0..home.initial_files / 14 {
        let project = rng.below(tree.projects.len() as u64) as usize;
        let dirs = &tree.projects[project].dirs;
        let above = dirs[rng.below(dirs.len() as u64) as usize];
        let dir = tree.plan_dir(Some(above), false);
        tree.projects[project].dirs.push(dir);
        made.push(dir);
    }
    for &dir in &made {
        tree.act(0, Action::Mkdir(dir))?;
    }
    let want_kb = home.data_space_kb * home.utilization.first().map_or(0, |k| k.1) / 1000;
    for n in 0..home.initial_files {
        let dir = made[rng.below(made.len() as u64) as usize];
        let left_kb = want_kb.saturating_sub(tree.used_kb);
        let files_left = home.initial_files - n;
        // As at any later time, few large files hold what the many small ones leave.
        let large = left_kb > files_left * 10;
        let bytes = if large {
            sizes::large(rng).min(left_kb * 1000)
        } else {
            sizes::body(rng)
        };
        let file = tree.plan_file(dir, bytes);
        tree.act(0, Action::Create(file))?;
    }
    tree.begin();
    Ok(())
}
