//! What may be on a disk when the power fails.
//!
//! Promised is what POSIX and the file systems of Linux say: after `fsync` of a file its bytes and length are there,
//! after `fsync` of a directory the names in it are, after `syncfs` all is. Of anything else nothing is known, but
//! that a name moves as a whole, and that what happened to one file or directory happened in its order.

use crate::recording::{Recording, Step};
use crate::tree::{Node, Tree};
use fsage_core::Rng;
use std::collections::HashSet;

/// What becomes of steps that were not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// None of them is there.
    Lost,
    /// All of them are: as after a kill.
    Kept,
    /// All names are there, no bytes: a file of length 0 after a rename without a sync.
    Names,
    /// All names and lengths are there; bytes are zeros.
    Lengths,
    /// All are there, but only half of the last write.
    Torn,
    /// Names up to some place, as a file system with a journal keeps them; any bytes, whole, torn or zero.
    Journal,
    /// Any names, any bytes.
    Any,
}

impl Cut {
    /// All ways.
    pub const ALL: [Cut; 7] = [
        Cut::Lost,
        Cut::Kept,
        Cut::Names,
        Cut::Lengths,
        Cut::Torn,
        Cut::Journal,
        Cut::Any,
    ];
}

/// What is there of one step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum There {
    No,
    Yes,
    /// The first bytes of a write.
    Part(usize),
    Zeros,
}

impl Recording {
    /// A folder that the power failed on after so many steps.
    pub fn cut(&self, steps: usize, cut: Cut, rng: &mut Rng) -> Tree {
        let safe = self.safe(steps);
        let mut there: Vec<There> = Vec::with_capacity(steps);
        let last_write = self.steps[..steps]
            .iter()
            .rposition(|s| matches!(s, Step::Write { .. }));
        // With a journal, a name is not there before all those before it.
        let first = safe
            .iter()
            .zip(&self.steps)
            .rposition(|(&safe, step)| safe && step.is_of_names());
        let first = first.map_or(0, |i| i + 1);
        let names_up_to = first + rng.below((steps - first) as u64 + 1) as usize;
        for (i, (step, &safe)) in self.steps.iter().zip(&safe).enumerate() {
            let of_names = step.is_of_names();
            there.push(match cut {
                _ if safe => There::Yes,
                Cut::Torn if Some(i) == last_write => half(step),
                Cut::Kept | Cut::Torn => There::Yes,
                Cut::Names | Cut::Lengths if of_names => There::Yes,
                Cut::Lost | Cut::Names => There::No,
                Cut::Lengths => There::Zeros,
                Cut::Journal if of_names => if_so(i < names_up_to),
                Cut::Any if of_names => if_so(rng.below(2) == 0),
                Cut::Journal | Cut::Any => match (rng.below(5), step) {
                    (0 | 1, _) => There::Yes,
                    (2, Step::Write { data, .. }) => {
                        There::Part(rng.below(data.len() as u64 + 1) as usize)
                    }
                    (3, _) => There::Zeros,
                    _ => There::No,
                },
            });
        }
        self.close(&mut there);
        self.with(&there)
    }

    /// Which of the first steps are on disk for sure.
    fn safe(&self, steps: usize) -> Vec<bool> {
        let mut safe = vec![false; steps];
        let (mut all, mut synced) = (false, HashSet::<Node>::new());
        for (i, step) in self.steps[..steps].iter().enumerate().rev() {
            match step {
                Step::SyncAll => all = true,
                Step::Sync { node } => {
                    synced.insert(*node);
                }
                _ => {}
            }
            safe[i] = all
                || step
                    .is_in()
                    .into_iter()
                    .flatten()
                    .any(|node| synced.contains(&node));
        }
        safe
    }

    /// Adds what must be there because something later is: a file or directory passes through its places in order, and
    /// no directory comes to lie below itself.
    fn close(&self, there: &mut [There]) {
        let (mut needed, mut all_directories) = (HashSet::new(), false);
        for (i, step) in self.steps[..there.len()].iter().enumerate().rev() {
            let (nodes, moves) = step.moved();
            for node in nodes.into_iter().flatten() {
                if needed.contains(&node) || self.is_directory(node) && all_directories {
                    there[i] = There::Yes;
                }
            }
            if there[i] == There::Yes {
                for node in nodes.into_iter().flatten() {
                    needed.insert(node);
                    all_directories |= self.is_directory(node) && moves;
                }
            }
        }
    }

    fn is_directory(&self, node: Node) -> bool {
        let made = self.steps.iter().find_map(|step| match step {
            Step::Make {
                node: made, what, ..
            } if *made == node => Some(what.is_directory()),
            _ => None,
        });
        made.unwrap_or(true)
    }

    fn with(&self, there: &[There]) -> Tree {
        let mut tree = self.before.clone();
        for (step, there) in self.steps.iter().zip(there) {
            let written = |bytes: &dyn Fn(&[u8]) -> Vec<u8>| match step {
                Step::Write { node, offset, data } => Step::Write {
                    node: *node,
                    offset: *offset,
                    data: bytes(data),
                },
                step => step.clone(),
            };
            match there {
                There::No => {}
                There::Yes => tree.apply(step),
                There::Part(bytes) => tree.apply(&written(&|data| data[..*bytes].to_vec())),
                There::Zeros => tree.apply(&written(&|data| vec![0; data.len()])),
            }
        }
        tree
    }
}

fn if_so(there: bool) -> There {
    if there { There::Yes } else { There::No }
}

fn half(step: &Step) -> There {
    match step {
        Step::Write { data, .. } => There::Part(data.len() / 2),
        _ => There::Yes,
    }
}

impl Step {
    fn is_of_names(&self) -> bool {
        matches!(
            self,
            Step::Make { .. } | Step::Link { .. } | Step::Remove { .. } | Step::Move { .. }
        )
    }

    /// What has to be synced for it.
    fn is_in(&self) -> [Option<Node>; 2] {
        match self {
            Step::Make { dir, .. } | Step::Link { dir, .. } | Step::Remove { dir, .. } => {
                [Some(*dir), None]
            }
            Step::Move { from, to, .. } => [Some(from.0), Some(to.0)],
            Step::Write { node, .. } | Step::Size { node, .. } => [Some(*node), None],
            Step::Sync { .. } | Step::SyncAll => [None, None],
        }
    }

    /// The files or directories whose places it changes, and whether they had one before.
    fn moved(&self) -> ([Option<Node>; 2], bool) {
        match self {
            Step::Make { node, .. } => ([Some(*node), None], false),
            Step::Link { node, .. } | Step::Remove { node, .. } => ([Some(*node), None], true),
            Step::Move { node, swapped, .. } => ([Some(*node), *swapped], true),
            _ => ([None, None], false),
        }
    }
}
