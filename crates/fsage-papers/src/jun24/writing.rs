//! What the programs of the artifact write, step by step, whatever it is written to.

use super::glibc::Rand;
use super::plan::Pieces;
use fsage_bench::benchmarks::sqlite_scan::{Inserts, PAGE_BYTES};
use fsage_core::Rng;

/// Numbers that the artifact draws for the contents of its files before it draws how much others get.
const DRAWN_BEFORE: u64 = 200 << 20;
/// Others get at most so many pieces.
const MOST_BETWEEN: u32 = 32;

/// How much others write after each piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Between {
    /// The rest of the stripe, so that all pieces meet on one die.
    Worst,
    /// 1 to 32 pieces, as the artifact drew them.
    AsDrawn,
    /// The same, drawn from a seed.
    Drawn(u64),
}

/// What one process writes and waits for, with `fdatasync`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// At the end of the file that is measured.
    Append(u64),
    /// Over bytes of it, from an offset on.
    Overwrite(u64, u64),
    /// To other files.
    Other(u64),
}

/// The file in one piece.
pub fn contiguous(plan: &Pieces) -> Vec<Step> {
    vec![Step::Append(plan.file.0)]
}

/// The file grows piece by piece, and others after each.
pub fn append(plan: &Pieces, between: Between) -> Vec<Step> {
    let sizes = sizes_between(plan, between).into_iter();
    let steps = sizes.flat_map(|other| [Step::Append(plan.piece.0), Step::Other(other)]);
    steps.collect()
}

/// The file is written in one piece, and then over, piece by piece.
pub fn overwrite(plan: &Pieces, between: Between) -> Vec<Step> {
    let sizes = sizes_between(plan, between).into_iter();
    let pieces = (0..).step_by(plan.piece.0 as usize).zip(sizes);
    let over =
        pieces.flat_map(|(at, other)| [Step::Overwrite(at, plan.piece.0), Step::Other(other)]);
    contiguous(plan).into_iter().chain(over).collect()
}

/// The file in so many pieces, each of which lies as many bytes behind the one before as the file is large.
pub fn of_degree(plan: &Pieces, pieces: u64) -> Vec<Step> {
    let piece = plan.file.0 / pieces;
    let steps = (0..pieces).flat_map(|_| [Step::Append(piece), Step::Other(plan.file.0 - piece)]);
    steps.collect()
}

/// A database that grows row by row, with so many bytes of another file after each; each range of pages is a write.
pub fn database(rows: u64, beside: u64) -> Vec<Step> {
    let mut steps = vec![Step::Append(Inserts::FIRST_PAGES * PAGE_BYTES)];
    for insert in Inserts::new(rows) {
        let pages = insert.in_place.iter();
        steps.extend(pages.map(|page| Step::Overwrite(page * PAGE_BYTES, PAGE_BYTES)));
        let new = insert.new.end - insert.new.start;
        steps.push(Step::Append(new * PAGE_BYTES));
        if beside > 0 {
            steps.push(Step::Other(beside));
        }
    }
    steps
}

/// Bytes after each piece.
fn sizes_between(plan: &Pieces, between: Between) -> Vec<u64> {
    let (count, piece) = (plan.count(), plan.piece.0);
    match between {
        Between::Worst => vec![plan.stripe.0 - piece; count as usize],
        Between::AsDrawn => {
            let mut rand = Rand::skipping(DRAWN_BEFORE);
            let sizes = (0..count).map(|_| u64::from(rand.next() % MOST_BETWEEN + 1) * piece);
            sizes.collect()
        }
        Between::Drawn(seed) => {
            let mut rng = Rng::new(seed);
            let sizes = (0..count).map(|_| (1 + rng.below(u64::from(MOST_BETWEEN))) * piece);
            sizes.collect()
        }
    }
}
