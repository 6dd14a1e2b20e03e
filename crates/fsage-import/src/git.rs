//! The history of a git repository as a workload.
//!
//! Everyone has one: years of real creates, modifications and deletions with exact sizes. Only the chain of
//! first parents is followed, so a merge is one step. Nothing is linked against: the `git` program does the
//! reading, and its output streams through, so that memory holds the paths alive and a few steps, never the
//! history.
//!
//! ```text
//!  git log ──commits──> steps ──"COMMIT PARENT"──> git diff-tree ──changes──> rules ──> events
//!                         └── the first step: git ls-tree              │        ↑
//!                                                                      └─> git cat-file: sizes of blobs
//! ```
//!
//! The program meets the repository itself only to resolve names; the history is read through a private folder that
//! has its objects and nothing else of it, so that no hook, filter or program that it names is run.
//!
//! What a step becomes (paths are bytes, and paths are compared as bytes):
//!
//! | | [`View::Commit`] | [`View::Day`] |
//! |---|---|---|
//! | models | an editor that truncates and rewrites | a server that pulls once a night |
//! | a changed file | keeps its inode | is a new inode, as `git checkout` makes it |
//! | steps | every commit | the last commit of each day that has any |
//! | becomes | `rewrite` | `delete`, then `create` |
//! | time | committer time | 23:59:59 UTC of the day |
//!
//! Within a step all deletions come first, in path order, then all other changes in path order, each with
//! the `mkdir`s that it needs, parents first. Only regular files count: a symbolic link or a submodule is
//! skipped and counted, a file that becomes one is deleted. A change of mode alone is counted. After the last
//! step of a day that has commits comes `day N`, N days after the first commit; commit clocks go back, days
//! do not (running maximum).
//!
//! Directories are never removed, except with [`GitOptions::remove_empty_dirs`], and where a file takes a
//! directory's name: two entries of one name cannot be.

mod error;
mod pipeline;
mod private;
mod process;
mod records;
mod steps;
mod tree;

pub use error::GitError;

use fsage_core::{EventSink, WorkloadHeader};
use process::Git;
use std::ffi::OsString;
use std::path::Path;

/// How a history is cut into steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    /// Every commit is a step, and a modified file keeps its inode.
    #[default]
    Commit,
    /// Every day with commits is a step, and a modified file is a new inode.
    Day,
}

impl View {
    /// The word of the command line and of the generator's parameters.
    pub fn as_str(self) -> &'static str {
        match self {
            View::Commit => "commit",
            View::Day => "day",
        }
    }
}

/// What to read, and how.
#[derive(Clone, Debug)]
pub struct GitOptions {
    /// Branch, tag or commit; `None` is HEAD.
    pub branch: Option<String>,
    /// How the history is cut into steps.
    pub view: View,
    /// Removes the directories that the deletions of a step leave empty, as `git checkout` does: before the
    /// step's other changes, so a directory may go and come back under a new id.
    pub remove_empty_dirs: bool,
    /// The program to run, `git` by default.
    pub git_program: OsString,
}

impl Default for GitOptions {
    fn default() -> GitOptions {
        GitOptions {
            branch: None,
            view: View::Commit,
            remove_empty_dirs: false,
            git_program: "git".into(),
        }
    }
}

/// What was read and made. Bytes are bytes of file content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitSummary {
    /// Commits on the chain of first parents.
    pub commits: u64,
    /// Steps made of them.
    pub steps: u64,
    /// Days that have commits.
    pub days_with_commits: u64,
    /// Days from the first commit to the last, both counted.
    pub days: u64,
    /// Directories made; the root is not counted.
    pub mkdirs: u64,
    /// Directories removed.
    pub rmdirs: u64,
    /// Files made, replacements included.
    pub creates: u64,
    /// Files truncated and written anew.
    pub rewrites: u64,
    /// Files deleted, replacements included.
    pub deletes: u64,
    /// Deletions that are half of a replacement ([`View::Day`] only).
    pub replacements: u64,
    /// Bytes of all creates and rewrites.
    pub bytes_written: u64,
    /// Files alive at the end.
    pub live_files: u64,
    /// Their bytes.
    pub live_bytes: u64,
    /// Most files alive at the end of any step.
    pub most_live_files: u64,
    /// Most bytes alive at the end of any step.
    pub most_live_bytes: u64,
    /// Changes that name a symbolic link, before or after.
    pub symlink_changes: u64,
    /// Changes that name a submodule, before or after.
    pub submodule_changes: u64,
    /// Changes of mode with the same content, ignored.
    pub mode_only_changes: u64,
    /// Steps whose time is before that of the step before.
    pub times_going_down: u64,
    /// Committer time of the first commit, Unix seconds.
    pub first_commit_s: i64,
    /// Time of the last step, Unix seconds.
    pub last_step_s: i64,
}

impl GitSummary {
    /// Operations, `day` not counted.
    pub fn operations(&self) -> u64 {
        self.mkdirs + self.rmdirs + self.creates + self.rewrites + self.deletes
    }
}

/// What can be said of the workload before the history is read: times are Unix times, and where it came from.
pub fn header(repo: &Path, options: &GitOptions) -> WorkloadHeader {
    let folder = repo
        .canonicalize()
        .unwrap_or_else(|_| repo.to_path_buf())
        .file_name()
        .map_or_else(String::new, |n| n.to_string_lossy().into_owned());
    WorkloadHeader {
        epoch_unix_s: Some(0),
        source: Some(format!(
            "git history of {folder}, {}, first parents, {} view",
            options.branch.as_deref().unwrap_or("HEAD"),
            options.view.as_str()
        )),
        ..WorkloadHeader::default()
    }
}

/// The commit that `import` would read up to. Given as [`GitOptions::branch`], it names the same history for
/// ever.
///
/// # Errors
/// As [`import`], before the first event.
pub fn tip(repo: &Path, options: &GitOptions) -> Result<String, GitError> {
    let git = Git::open(repo, &options.git_program)?;
    let tip = git.resolve(options.branch.as_deref())?;
    Ok(tip.as_str().to_owned())
}

/// Commits that [`import`] will read, for a progress bar.
///
/// # Errors
/// As [`import`], before the first event.
pub fn count_commits(repo: &Path, options: &GitOptions) -> Result<u64, GitError> {
    let git = Git::open(repo, &options.git_program)?;
    let tip = git.resolve(options.branch.as_deref())?;
    git.count_first_parents(&tip)
}

/// Reads the history of `repo` and gives its events to `sink`; `progress` hears the number of commits done.
///
/// Times are nanoseconds since 1970-01-01 UTC; ids count from 0 in the order of creation, directory ids from
/// 1 (0 is the root). Every `mkdir` and `create` has its name.
///
/// # Errors
/// `git` is not there, `repo` is no repository or has no commit, no such branch, a damaged repository, output
/// that is not git's, or the sink failed. No child process outlives the call.
pub fn import(
    repo: &Path,
    options: &GitOptions,
    sink: &mut dyn EventSink,
    progress: &mut dyn FnMut(u64),
) -> Result<GitSummary, GitError> {
    let git = Git::open(repo, &options.git_program)?;
    let tip = git.resolve(options.branch.as_deref())?;
    pipeline::run(&git, &tip, options, sink, progress)
}
