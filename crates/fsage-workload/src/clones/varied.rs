//! Files of other sizes in every round.

use crate::world::World;
use fsage_core::{FileId, Op, Rng};
use rustc_hash::FxHashMap;

/// Draws a factor for every file of a round, by which all that lies in it lies farther away or nearer.
pub(super) struct Varied {
    rng: Rng,
    /// The farthest that a factor is from 1.
    spread: f64,
    /// The workload as it was recorded.
    recorded: World,
    factors: FxHashMap<FileId, f64>,
}

impl Varied {
    /// For a round, by its number from 0.
    pub fn new(seed: u64, round: u64, percent: u32) -> Varied {
        Varied {
            rng: Rng::new(seed).stream("size of a round's files", round),
            spread: f64::from(percent) / 100.0,
            recorded: World::new(1),
            factors: FxHashMap::default(),
        }
    }

    /// An operation as it was recorded, with the sizes of this round.
    pub fn vary(&mut self, mut op: Op) -> Op {
        let recorded = op;
        match op {
            Op::Create { file, .. } => {
                let off = 2.0 * self.rng.unit() - 1.0;
                self.factors.insert(file, 1.0 + self.spread * off);
            }
            Op::Link { file, existing, .. } => {
                let factor = self.factor(existing);
                self.factors.insert(file, factor);
            }
            _ => {}
        }
        match &mut op {
            Op::Create { file, bytes, .. }
            | Op::Rewrite { file, bytes }
            | Op::Truncate { file, bytes } => *bytes = moved(*bytes, self.factor(*file)),
            Op::Append { file, bytes } => {
                (_, *bytes) = range((self.size(*file), *bytes), self.factor(*file));
            }
            Op::Write {
                file,
                offset,
                bytes,
            }
            | Op::Fallocate {
                file,
                offset,
                bytes,
            }
            | Op::Punch {
                file,
                offset,
                bytes,
            } => (*offset, *bytes) = range((*offset, *bytes), self.factor(*file)),
            Op::Overwrite {
                file,
                range: Some(of),
            }
            | Op::Read {
                file,
                range: Some(of),
            } => *of = range(*of, self.factor(*file)),
            _ => {}
        }
        self.recorded.apply(&recorded);
        match recorded {
            Op::Delete { file } => self.factors.remove(&file),
            Op::Rename {
                file,
                replaced: Some(replaced),
                ..
            } if replaced != file => self.factors.remove(&replaced),
            _ => None,
        };
        op
    }

    fn factor(&self, file: FileId) -> f64 {
        self.factors.get(&file).copied().unwrap_or(1.0)
    }

    fn size(&self, file: FileId) -> u64 {
        let name = self.recorded.name(file);
        name.map_or(0, |name| self.recorded.size(name))
    }
}

/// Where an offset lies; no byte but those at 0 lies there.
fn moved(offset: u64, factor: f64) -> u64 {
    let to = libm::round(offset as f64 * factor) as u64;
    to.max(u64::from(offset > 0))
}

/// Where a range of so many bytes lies.
fn range((offset, bytes): (u64, u64), factor: f64) -> (u64, u64) {
    let from = moved(offset, factor);
    let to = moved(offset.saturating_add(bytes), factor);
    (from, to - from)
}
