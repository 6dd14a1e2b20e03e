//! Organ pipe (Wong; Grossman & Silverman): the cylinder that is used most lies in the middle of the disk, the next
//! ones alternately to its right and left, those that nobody uses at the borders.
//!
//! ```text
//!    uses   . 1 4 9 6 2 .
//! ```
//!
//! Uses of cylinders are counted for a period, at the end of which contents change their places; each cylinder that
//! moves is read and written once. Those that nobody used stay where they are as far as they can: they are all alike.
//! What a cylinder is, is a key: a model knows no disk. An end of the disk that is no whole cylinder stays.

use super::Counters;
use super::remapped::Remap;
use crate::findings::Findings;
use fsage_core::io::Io;
use std::cmp::Reverse;

/// Places in the order of their worth: the middle, then alternately right and left of it.
pub(super) fn positions(places: usize) -> impl Iterator<Item = usize> {
    let middle = places / 2;
    (0..2 * places).filter_map(move |rank| {
        let steps = rank.div_ceil(2);
        let at = if rank % 2 == 1 {
            middle.checked_add(steps)
        } else {
            middle.checked_sub(steps)
        };
        at.filter(|&at| at < places)
    })
}

/// Where cylinders lie.
#[derive(Clone, Debug)]
pub(super) struct OrganPipe {
    cylinder_bytes: u64,
    /// Place of every cylinder of the file system.
    places: Vec<u32>,
    /// Its uses in this period.
    uses: Vec<u64>,
}

impl OrganPipe {
    /// A disk on which every cylinder is at its own place.
    pub fn new(disk_bytes: u64, cylinder_bytes: u64) -> OrganPipe {
        let cylinders = (disk_bytes / cylinder_bytes) as u32;
        OrganPipe {
            cylinder_bytes,
            places: (0..cylinders).collect(),
            uses: vec![0; cylinders as usize],
        }
    }

    /// As [`Remap::place`], inside one cylinder.
    fn place_in_cylinder(&self, at: u64, bytes: u64) -> (u64, u64) {
        let (cylinder, within) = (at / self.cylinder_bytes, at % self.cylinder_bytes);
        let here = bytes.min(self.cylinder_bytes - within);
        match self.places.get(cylinder as usize) {
            Some(&place) => (u64::from(place) * self.cylinder_bytes + within, here),
            None => (at, here),
        }
    }

    /// Where every cylinder is to lie.
    fn plan(&self) -> Vec<u32> {
        let mut used: Vec<(Reverse<u64>, u32)> = (0..)
            .zip(&self.uses)
            .filter(|&(_, &uses)| uses > 0)
            .map(|(cylinder, &uses)| (Reverse(uses), cylinder))
            .collect();
        used.sort_unstable();
        let mut plan = vec![u32::MAX; self.places.len()];
        let mut taken = vec![false; self.places.len()];
        for (&(_, cylinder), at) in used.iter().zip(positions(self.places.len())) {
            plan[cylinder as usize] = at as u32;
            taken[at] = true;
        }
        for (to, &place) in plan.iter_mut().zip(&self.places) {
            if *to == u32::MAX && !taken[place as usize] {
                *to = place;
                taken[place as usize] = true;
            }
        }
        let mut free = (0_u32..).zip(&taken).filter(|&(_, &taken)| !taken);
        for to in plan.iter_mut().filter(|to| **to == u32::MAX) {
            *to = free.next().expect("a place for every cylinder").0;
        }
        plan
    }
}

impl Remap for OrganPipe {
    fn place(&self, at: u64, bytes: u64) -> (u64, u64) {
        let (start, mut here) = self.place_in_cylinder(at, bytes);
        while here < bytes {
            let (next, more) = self.place_in_cylinder(at + here, bytes - here);
            if next != start + here {
                break;
            }
            here += more;
        }
        (start, here)
    }

    fn referenced(&mut self, at: u64, bytes: u64, _wrote: bool) {
        if bytes == 0 {
            return;
        }
        let last = (at + bytes - 1) / self.cylinder_bytes;
        for cylinder in at / self.cylinder_bytes..=last {
            if let Some(uses) = self.uses.get_mut(cylinder as usize) {
                *uses += 1;
            }
        }
    }

    /// Contents change places cycle by cycle, with room for two cylinders in memory.
    fn rearrange(&mut self, io: &mut Vec<Io>, counters: &mut Counters) {
        let plan = self.plan();
        self.uses.fill(0);
        let bytes = self.cylinder_bytes;
        // Where the contents of a place go.
        let mut goes = vec![0; plan.len()];
        for (&from, &to) in self.places.iter().zip(&plan) {
            goes[from as usize] = to;
        }
        for first in 0..goes.len() as u32 {
            let mut cycle = vec![first];
            let mut at = first;
            while goes[at as usize] != first {
                let next = goes[at as usize];
                goes[at as usize] = at;
                cycle.push(next);
                at = next;
            }
            goes[at as usize] = at;
            if cycle.len() == 1 {
                continue;
            }
            counters.placed += cycle.len() as u64;
            counters.copied_bytes += cycle.len() as u64 * bytes;
            let start = |place: u32| u64::from(place) * bytes;
            let raw = |write, place| Io::Raw {
                write,
                start_bytes: start(place),
                bytes,
                wait: !write,
            };
            io.push(raw(false, first));
            for &place in &cycle[1..] {
                io.extend([raw(false, place), raw(true, place)]);
            }
            io.push(raw(true, first));
            io.extend(cycle[1..].iter().map(|&place| Io::Swapped {
                places: [start(first), start(place)],
                bytes,
            }));
        }
        self.places = plan;
    }

    fn check(&self, found: &mut Findings) {
        let mut places = self.places.clone();
        places.sort_unstable();
        let all: Vec<u32> = (0..places.len() as u32).collect();
        found.compare("places of cylinders", &places, &all);
    }
}

#[cfg(test)]
mod tests {
    use super::super::remapped::rearranged;
    use super::*;

    fn uses(pipe: &mut OrganPipe, uses: &[(u64, u64)]) -> (Vec<Io>, Counters) {
        for &(cylinder, times) in uses {
            for _ in 0..times {
                pipe.referenced(100 * cylinder, 1, false);
            }
        }
        rearranged(pipe)
    }

    #[test]
    fn places_alternate_from_the_middle() {
        assert_eq!(positions(7).collect::<Vec<_>>(), [3, 4, 2, 5, 1, 6, 0]);
        assert_eq!(positions(4).collect::<Vec<_>>(), [2, 3, 1, 0]);
        assert_eq!(positions(1).collect::<Vec<_>>(), [0]);
        assert_eq!(positions(0).count(), 0);
    }

    /// By hand: of seven cylinders 0 is used most, then 6, then 1; 3 and 4 and 2 make room for them.
    #[test]
    fn the_most_used_cylinders_lie_in_the_middle() {
        let mut pipe = OrganPipe::new(750, 100);
        let (io, counters) = uses(&mut pipe, &[(0, 9), (6, 6), (1, 4)]);
        assert_eq!(pipe.places[0], 3);
        assert_eq!(pipe.places[6], 4);
        assert_eq!(pipe.places[1], 2);
        assert_eq!(pipe.places[5], 5, "nobody needs its place");
        assert_eq!([2, 3, 4].map(|c: usize| pipe.places[c]), [0, 1, 6]);
        assert_eq!(counters.placed, 6);
        let raw = |write| {
            io.iter()
                .filter(move |io| matches!(io, Io::Raw { write: w, .. } if *w == write))
        };
        assert_eq!((raw(false).count(), raw(true).count()), (6, 6));
        assert_eq!(
            pipe.place(50, 100),
            (350, 50),
            "cylinder 0 lies at 3, 1 elsewhere"
        );
        assert_eq!(pipe.place(720, 10), (720, 10), "no whole cylinder");
    }

    /// Swaps of pairs, in order, must do to places what the plan says.
    #[test]
    fn what_is_swapped_gets_where_it_is_to_lie() {
        let mut pipe = OrganPipe::new(900, 100);
        for round in 0..5_u64 {
            let before = pipe.places.clone();
            let (io, _) = uses(&mut pipe, &[(round, 3), (8 - round, 2), (round * 5 % 9, 1)]);
            let mut contents: Vec<u32> = vec![0; 9];
            for (cylinder, &place) in (0..).zip(&before) {
                contents[place as usize] = cylinder;
            }
            for io in io {
                if let Io::Swapped { places: [a, b], .. } = io {
                    contents.swap((a / 100) as usize, (b / 100) as usize);
                }
            }
            for (cylinder, &place) in (0..).zip(&pipe.places) {
                assert_eq!(contents[place as usize], cylinder);
            }
        }
    }

    #[test]
    fn an_idle_period_moves_nothing() {
        let mut pipe = OrganPipe::new(700, 100);
        uses(&mut pipe, &[(2, 1)]);
        let places = pipe.places.clone();
        let (io, _) = uses(&mut pipe, &[]);
        assert_eq!((io.len(), pipe.places), (0, places));
    }
}
