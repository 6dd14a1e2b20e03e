//! The search for free blocks inside an allocation group: at a place, by size, near a place.
//!
//! Spec: `docs/spec/xfs.md`, section 9. Source: `xfs_alloc.c`.

use super::btree::{Cursor, Record, Tree, Wanted};
use super::space::{Ag, ByLength, ByStart, Purpose, Request, Space};
use super::trace::Search;

/// What of a run of free blocks a request may use.
#[derive(Clone, Copy, Debug)]
struct Usable {
    start: u32,
    blocks: u32,
    /// A part of the run is busy.
    is_cut: bool,
}

/// What is best so far.
#[derive(Clone, Copy, Debug)]
struct Best {
    run: ByStart,
    start: u32,
    blocks: u32,
    distance: u32,
}

/// The result of a search.
enum Found {
    /// Blocks of a run: start and length.
    Run(ByStart, u32, u32),
    /// A block of the free list will do.
    List,
    /// Nothing that is not busy.
    Busy,
    Nothing,
}

impl Space {
    fn usable(&self, ag: u32, run: ByStart, request: &Request) -> Usable {
        let end = run.start + run.blocks;
        let (mut start, to) =
            self.log.busy[ag as usize].trim((run.start, end), request.least, request.most);
        let is_cut = (start, to) != (run.start, end);
        let mut blocks = to - start;
        if let Some((first, _)) = request.starts
            && start < first
            && start + blocks > first
        {
            blocks -= first - start;
            start = first;
        }
        if request.align > 1 && blocks >= request.least {
            let aligned = start.next_multiple_of(request.align);
            blocks = blocks.saturating_sub(aligned - start);
            start = aligned;
        }
        Usable {
            start,
            blocks,
            is_cut,
        }
    }

    /// Takes blocks at exactly this place, if they are free.
    pub fn take_exactly(&mut self, ag: u32, target: u32, request: &Request) -> Option<(u32, u32)> {
        let tree = &self.ags[ag as usize].by_start;
        let (cursor, found) = tree.look_up(target, Wanted::AtMost);
        let run = *tree.get(&cursor).filter(|_| found)?;
        let end = run.start + run.blocks;
        let busy = &self.log.busy[ag as usize];
        let (start, end) = busy.trim((run.start, end), request.least, request.most);
        if start > target || end < target + request.least {
            return None;
        }
        let blocks = (end - target).min(request.most);
        self.take_out(ag, run, target, blocks);
        let taken = (target, blocks);
        self.record(ag, Search::Exact(target), request, taken);
        Some(taken)
    }

    /// Takes blocks wherever they are, the smallest run that is long enough.
    pub fn take_by_size(&mut self, ag: u32, request: &Request) -> Option<(u32, u32)> {
        let taken = self.take_found(ag, |space| space.find_by_size(ag, request))?;
        self.record(ag, Search::BySize, request, taken);
        Some(taken)
    }

    /// Takes blocks near a place.
    pub fn take_near(&mut self, ag: u32, target: u32, request: &Request) -> Option<(u32, u32)> {
        let target = request
            .starts
            .map_or(target, |(first, last)| target.clamp(first, last));
        let taken = self.take_found(ag, |space| space.find_near(ag, target, request))?;
        self.record(ag, Search::Near(target), request, taken);
        Some(taken)
    }

    /// Searches; where only busy space was met, once more after the log was forced.
    fn take_found(&mut self, ag: u32, find: impl Fn(&Space) -> Found) -> Option<(u32, u32)> {
        let mut was_forced = false;
        loop {
            match find(self) {
                Found::Run(run, start, blocks) => {
                    self.take_out(ag, run, start, blocks);
                    return Some((start, blocks));
                }
                Found::List => return Some((self.take_from_list(ag), 1)),
                Found::Busy if !was_forced => {
                    self.log.force();
                    was_forced = true;
                }
                Found::Busy | Found::Nothing => return None,
            }
        }
    }

    /// Nothing is free in the trees: a small request may be served by the free list.
    fn from_list(of: &Ag, request: &Request) -> Found {
        let may = request.least == 1 && request.align == 1 && request.purpose != Purpose::List;
        if may && of.list.len() as u32 > request.leaves {
            Found::List
        } else {
            Found::Nothing
        }
    }

    fn find_by_size(&self, ag: u32, request: &Request) -> Found {
        let of = &self.ags[ag as usize];
        let tree = &of.by_length;
        let wanted = request.most + request.align - 1;
        let (mut cursor, found) = tree.look_up((wanted, 0), Wanted::AtLeast);
        if found {
            loop {
                let run = run_at(tree, &cursor);
                let usable = self.usable(ag, run, request);
                if usable.blocks >= request.most {
                    return Found::Run(run, usable.start, request.most);
                }
                if !tree.next(&mut cursor) {
                    return Found::Busy;
                }
            }
        }
        if !tree.previous(&mut cursor) {
            return Space::from_list(of, request);
        }
        let mut best = run_at(tree, &cursor);
        let usable = self.usable(ag, best, request);
        let mut is_busy = usable.is_cut;
        let (mut start, mut blocks) = (usable.start, usable.blocks.min(request.most));
        while blocks < request.most && tree.previous(&mut cursor) {
            let run = run_at(tree, &cursor);
            if run.blocks <= blocks {
                break;
            }
            let usable = self.usable(ag, run, request);
            is_busy = usable.is_cut;
            if usable.blocks.min(request.most) > blocks {
                (best, start, blocks) = (run, usable.start, usable.blocks.min(request.most));
            }
        }
        if blocks >= request.least {
            Found::Run(best, start, blocks)
        } else if is_busy {
            Found::Busy
        } else {
            Found::Nothing
        }
    }

    fn find_near(&self, ag: u32, target: u32, request: &Request) -> Found {
        let of = &self.ags[ag as usize];
        let tree = &of.by_length;
        let (cursor, found) = tree.look_up((request.most, 0), Wanted::AtLeast);
        if !found && tree.last().is_none() {
            return Space::from_list(of, request);
        }
        let mut near = Near {
            space: self,
            ag,
            target,
            request,
            best: None,
            is_busy: false,
        };
        if found {
            near.scan_last_leaf(tree, &cursor);
        }
        if near.best.is_none() {
            near.search(of);
        }
        match near.best {
            Some(best) => Found::Run(best.run, best.start, best.blocks),
            None if near.is_busy => Found::Busy,
            None => Found::Nothing,
        }
    }
}

fn run_at(tree: &Tree<ByLength>, cursor: &Cursor) -> ByStart {
    let record = tree.get(cursor).expect("the cursor stands on a record");
    (*record).into()
}

/// A search for blocks near a place.
struct Near<'a> {
    space: &'a Space,
    ag: u32,
    target: u32,
    request: &'a Request,
    best: Option<Best>,
    /// Something was busy.
    is_busy: bool,
}

/// What became of a run that was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Checked {
    is_best: bool,
    /// The cursor that found it is of no further use.
    stops: bool,
}

/// Which tree a cursor goes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Through {
    Starts,
    Lengths,
}

/// A cursor until it is of no further use.
struct Walker<'a, R: Record> {
    tree: &'a Tree<R>,
    cursor: Cursor,
    is_active: bool,
    through: Through,
}

impl<R: Record + Into<ByStart>> Walker<'_, R> {
    /// Goes one record on or back.
    fn step(&mut self, on: bool) {
        let moved = if on {
            self.tree.next(&mut self.cursor)
        } else {
            self.tree.previous(&mut self.cursor)
        };
        self.is_active &= moved;
    }

    /// Looks at a record. Says whether it is the best so far; if not, goes on.
    fn look(&mut self, near: &mut Near<'_>, on: bool) -> bool {
        if !self.is_active {
            return false;
        }
        let record = *self.tree.get(&self.cursor).expect("an active cursor");
        let checked = near.check(record.into(), self.through);
        self.is_active &= !checked.stops;
        if !checked.is_best && self.is_active {
            self.step(on);
        }
        checked.is_best
    }

    /// Looks at records until one is the best so far.
    fn walk(&mut self, near: &mut Near<'_>, on: bool) {
        while self.is_active && !self.look(near, on) {}
    }
}

impl Near<'_> {
    /// Looks at a run of free blocks.
    fn check(&mut self, run: ByStart, through: Through) -> Checked {
        let request = self.request;
        let no = |stops: bool| Checked {
            is_best: false,
            stops,
        };
        if run.blocks < request.least {
            return no(through == Through::Lengths);
        }
        let usable = self.space.usable(self.ag, run, request);
        self.is_busy |= usable.is_cut;
        if let Some((first, last)) = request.starts
            && !(first..=last).contains(&usable.start)
        {
            return no(through == Through::Starts);
        }
        if usable.blocks < request.least {
            return no(false);
        }
        let blocks = usable.blocks.min(request.most);
        if self.best.is_some_and(|best| blocks < best.blocks) {
            return no(false);
        }
        let Some(start) = place(self.target, blocks, usable, request) else {
            return no(false);
        };
        let distance = start.abs_diff(self.target);
        if self.best.is_some_and(|best| distance > best.distance) {
            return no(through == Through::Starts);
        }
        self.best = Some(Best {
            run,
            start,
            blocks,
            distance,
        });
        Checked {
            is_best: true,
            stops: distance == 0 && blocks == request.most,
        }
    }

    /// Whether no part of a run can be better than what is best so far.
    fn is_worse(&self, run: ByLength) -> bool {
        self.best.is_some_and(|best| {
            let end = run.start + run.blocks;
            let distance = run.start.saturating_sub(self.target) + self.target.saturating_sub(end);
            distance > best.distance
        })
    }

    /// If a cursor stands in the last leaf of the tree by length, looks at all that is long enough there.
    fn scan_last_leaf(&mut self, tree: &Tree<ByLength>, cursor: &Cursor) {
        let records = if self.request.align > 1 {
            tree.last_leaf(cursor)
        } else {
            tree.rest_of_last_leaf(cursor)
        };
        let least = self.request.least;
        let records = records.unwrap_or_default().iter();
        for record in records.skip_while(|record| record.blocks < least) {
            if self.is_worse(*record) {
                continue;
            }
            if self.check((*record).into(), Through::Lengths).stops {
                return;
            }
        }
    }

    /// Looks to the left and to the right of the target and at runs of growing length, in turns.
    fn search(&mut self, of: &Ag) {
        let by_start = |wanted| {
            let (cursor, is_active) = of.by_start.look_up(self.target, wanted);
            Walker {
                tree: &of.by_start,
                cursor,
                is_active,
                through: Through::Starts,
            }
        };
        let (mut left, mut right) = (by_start(Wanted::AtMost), by_start(Wanted::AtLeast));
        let mut lengths = Walker {
            tree: &of.by_length,
            cursor: left.cursor,
            is_active: false,
            through: Through::Lengths,
        };
        let mut length = self.request.most;
        (lengths.cursor, lengths.is_active) =
            of.by_length.look_up((length, self.target), Wanted::AtLeast);
        while left.is_active || right.is_active || lengths.is_active {
            if left.look(self, false) {
                right.walk(self, true);
                return;
            }
            if right.look(self, true) {
                left.walk(self, false);
                return;
            }
            self.look_at_length(&mut lengths, &mut length);
            if !lengths.is_active {
                break;
            }
        }
        if !lengths.is_active && self.best.is_none() && !self.is_busy {
            // Whatever is longest.
            lengths.is_active = lengths.tree.previous(&mut lengths.cursor);
            lengths.walk(self, false);
        }
    }

    /// Looks at the runs of a length that are next to the target, and chooses the next length.
    fn look_at_length(&mut self, lengths: &mut Walker<'_, ByLength>, length: &mut u32) {
        if !lengths.is_active {
            return;
        }
        let tree = lengths.tree;
        (lengths.cursor, lengths.is_active) = tree.look_up((*length, self.target), Wanted::AtLeast);
        if !lengths.is_active {
            return;
        }
        let run = run_at(tree, &lengths.cursor);
        lengths.is_active &= !self.check(run, Through::Lengths).stops;
        let before = std::mem::replace(length, run.blocks);
        if run.start > self.target && tree.previous(&mut lengths.cursor) {
            let run = run_at(tree, &lengths.cursor);
            if run.blocks == *length {
                lengths.is_active &= !self.check(run, Through::Lengths).stops;
            }
        }
        let doubled = before.saturating_mul(2);
        *length = if self.best.is_none() || *length >= doubled {
            *length + 1
        } else {
            doubled
        };
    }
}

/// Where in usable blocks a request is placed, as near to its target as possible.
fn place(target: u32, blocks: u32, usable: Usable, request: &Request) -> Option<u32> {
    let Usable { start, .. } = usable;
    let (end, target_end) = (start + usable.blocks, u64::from(target) + u64::from(blocks));
    let (align, reaches) = (request.align, u64::from(end) >= target_end);
    if start >= target || (request.purpose == Purpose::Data && !reaches) {
        return Some(start.next_multiple_of(align)).filter(|start| *start < end);
    }
    if align == 1 {
        return Some(if reaches { target } else { end - blocks });
    }
    let above = if reaches { target } else { end - blocks };
    let above = above.next_multiple_of(align);
    let below = above.checked_sub(align).filter(|below| *below >= start);
    if !reaches {
        return match below {
            Some(below) if above > end - blocks => Some(below),
            _ => Some(above).filter(|above| *above < end),
        };
    }
    let length = |from: u32| blocks.min(end - from);
    let above = Some(above).filter(|above| *above < end);
    match (above, below) {
        (Some(above), Some(below)) => {
            let by_length = length(above).cmp(&length(below));
            let is_nearer = by_length.then(below.abs_diff(target).cmp(&above.abs_diff(target)));
            Some(if is_nearer.is_lt() { below } else { above })
        }
        (above, below) => above.or(below),
    }
}
