//! The directories that wait to be visited.

use super::directory::{Directory, lock};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// What several threads share: they take directories from it, and put those in that they find.
#[derive(Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Those found last come first, so that no more wait than lie along one path.
    waiting: Vec<Arc<Directory>>,
    /// Directories that are being visited.
    busy: usize,
    stopped: bool,
}

impl Queue {
    /// Adds directories, and leaves `found` empty.
    pub fn add(&self, found: &mut Vec<Arc<Directory>>) {
        if found.is_empty() {
            return;
        }
        lock(&self.state).waiting.append(found);
        self.changed.notify_all();
    }

    /// The next directory, which may have to be waited for; `None` when all were visited or the walk was stopped.
    pub fn next(&self) -> Option<Visit<'_>> {
        let mut state = lock(&self.state);
        loop {
            if state.stopped {
                return None;
            }
            if let Some(visit) = state.take(self) {
                return Some(visit);
            }
            if state.busy == 0 {
                return None;
            }
            let waited = self.changed.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The next directory, where more than so many wait.
    pub fn next_beyond(&self, waiting: usize) -> Option<Visit<'_>> {
        let mut state = lock(&self.state);
        if state.stopped || state.waiting.len() <= waiting {
            return None;
        }
        state.take(self)
    }

    /// Nobody gets another directory.
    pub fn stop(&self) {
        lock(&self.state).stopped = true;
        self.changed.notify_all();
    }

    /// Whether the walk was stopped.
    pub fn is_stopped(&self) -> bool {
        lock(&self.state).stopped
    }
}

impl State {
    fn take<'a>(&mut self, queue: &'a Queue) -> Option<Visit<'a>> {
        let directory = self.waiting.pop()?;
        self.busy += 1;
        Some(Visit { queue, directory })
    }
}

/// A directory that is being visited. The visit ends when this is dropped, in whatever way.
pub(super) struct Visit<'a> {
    queue: &'a Queue,
    pub directory: Arc<Directory>,
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.queue.state);
        state.busy -= 1;
        if state.busy == 0 && state.waiting.is_empty() {
            drop(state);
            self.queue.changed.notify_all();
        }
    }
}
