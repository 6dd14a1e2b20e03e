//! The files that are alive, by age, size and depth, so that the generator always knows which kind there is too
//! much of.

use fsage_core::{FileId, Rng};

/// A place in the three distributions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    pub age: u8,
    pub size: u8,
    pub depth: u8,
}

/// A file.
#[derive(Clone, Copy, Debug)]
pub(super) struct File {
    pub id: FileId,
    /// Number in its name.
    pub name: u64,
    pub bytes: u64,
    pub dir: u32,
    pub kind: Kind,
    /// Place in the list of its kind.
    in_kind: u32,
    /// Place in the list of all.
    in_all: u32,
}

impl File {
    pub fn new(id: FileId, name: u64, bytes: u64, dir: u32, kind: Kind) -> File {
        File {
            id,
            name,
            bytes,
            dir,
            kind,
            in_kind: 0,
            in_all: 0,
        }
    }
}

/// All files. A slot is the place of a file as long as it lives.
pub(super) struct Population {
    files: Vec<File>,
    free: Vec<u32>,
    all: Vec<u32>,
    kinds: Vec<Vec<u32>>,
    /// Files by age, by age and size, by size, by depth.
    by_age: Vec<u64>,
    by_age_size: Vec<u64>,
    by_size: Vec<u64>,
    by_depth: Vec<u64>,
}

impl Population {
    pub fn new(ages: usize, sizes: usize, depths: usize) -> Population {
        Population {
            files: Vec::new(),
            free: Vec::new(),
            all: Vec::new(),
            kinds: vec![Vec::new(); ages * sizes * depths],
            by_age: vec![0; ages],
            by_age_size: vec![0; ages * sizes],
            by_size: vec![0; sizes],
            by_depth: vec![0; depths],
        }
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn file(&self, slot: u32) -> &File {
        &self.files[slot as usize]
    }

    pub fn by_age(&self) -> &[u64] {
        &self.by_age
    }

    pub fn by_size(&self) -> &[u64] {
        &self.by_size
    }

    pub fn by_depth(&self) -> &[u64] {
        &self.by_depth
    }

    fn age_size(&self, kind: Kind) -> usize {
        usize::from(kind.age) * self.by_size.len() + usize::from(kind.size)
    }

    fn list(&self, kind: Kind) -> usize {
        self.age_size(kind) * self.by_depth.len() + usize::from(kind.depth)
    }

    pub fn insert(&mut self, mut file: File) -> u32 {
        let slot = self.free.pop().unwrap_or(self.files.len() as u32);
        file.in_all = self.all.len() as u32;
        self.all.push(slot);
        if slot as usize == self.files.len() {
            self.files.push(file);
        } else {
            self.files[slot as usize] = file;
        }
        self.enlist(slot);
        slot
    }

    /// Takes a file out; the next one that is put in takes its slot.
    pub fn remove(&mut self, slot: u32) -> File {
        self.delist(slot);
        let file = self.files[slot as usize];
        self.all.swap_remove(file.in_all as usize);
        if let Some(&moved) = self.all.get(file.in_all as usize) {
            self.files[moved as usize].in_all = file.in_all;
        }
        self.free.push(slot);
        file
    }

    /// Another size, which may be of another kind.
    pub fn resize(&mut self, slot: u32, bytes: u64, size: u8) {
        if self.file(slot).kind.size != size {
            self.delist(slot);
            self.files[slot as usize].kind.size = size;
            self.enlist(slot);
        }
        self.files[slot as usize].bytes = bytes;
    }

    /// Another name, in a directory of the same depth.
    pub fn rename(&mut self, slot: u32, name: u64, dir: u32) {
        let file = &mut self.files[slot as usize];
        (file.name, file.dir) = (name, dir);
    }

    fn enlist(&mut self, slot: u32) {
        let kind = self.file(slot).kind;
        let (list, age_size) = (self.list(kind), self.age_size(kind));
        self.files[slot as usize].in_kind = self.kinds[list].len() as u32;
        self.kinds[list].push(slot);
        self.by_age[usize::from(kind.age)] += 1;
        self.by_age_size[age_size] += 1;
        self.by_size[usize::from(kind.size)] += 1;
        self.by_depth[usize::from(kind.depth)] += 1;
    }

    fn delist(&mut self, slot: u32) {
        let File { kind, in_kind, .. } = *self.file(slot);
        let (list, age_size) = (self.list(kind), self.age_size(kind));
        self.kinds[list].swap_remove(in_kind as usize);
        if let Some(&moved) = self.kinds[list].get(in_kind as usize) {
            self.files[moved as usize].in_kind = in_kind;
        }
        self.by_age[usize::from(kind.age)] -= 1;
        self.by_age_size[age_size] -= 1;
        self.by_size[usize::from(kind.size)] -= 1;
        self.by_depth[usize::from(kind.depth)] -= 1;
    }

    /// A file of the age, then the size, then the depth that there is most too many of, given how many there
    /// should be. `None` when no file is alive.
    pub fn most_overfull(
        &self,
        ages: &[f64],
        sizes: &[f64],
        depths: &[f64],
        rng: &mut Rng,
    ) -> Option<u32> {
        let over = |count: &[u64], wanted: &[f64], i: usize| count[i] as f64 - wanted[i];
        let age = highest(
            ages.len(),
            |i| over(&self.by_age, ages, i),
            |i| self.by_age[i] > 0,
        )?;
        let row = age * sizes.len();
        let size = highest(
            sizes.len(),
            |i| over(&self.by_size, sizes, i),
            |i| self.by_age_size[row + i] > 0,
        )?;
        let lists = (row + size) * depths.len();
        let depth = highest(
            depths.len(),
            |i| over(&self.by_depth, depths, i),
            |i| !self.kinds[lists + i].is_empty(),
        )?;
        let list = &self.kinds[lists + depth];
        Some(list[rng.below(list.len() as u64) as usize])
    }

    /// The youngest of `draws` files drawn at random.
    pub fn random(&self, draws: u64, rng: &mut Rng) -> Option<u32> {
        let draw = |rng: &mut Rng| self.all.get(rng.below(self.all.len() as u64) as usize);
        let mut best = *draw(rng)?;
        for _ in 1..draws {
            let other = *draw(rng)?;
            if self.file(other).id > self.file(best).id {
                best = other;
            }
        }
        Some(best)
    }
}

/// The one of `0..n` with the highest score, of those that are `open`; the first of equals.
pub(super) fn highest(
    n: usize,
    score: impl Fn(usize) -> f64,
    open: impl Fn(usize) -> bool,
) -> Option<usize> {
    let mut best = None;
    let mut most = f64::NEG_INFINITY;
    for i in 0..n {
        let this = score(i);
        if this > most && open(i) {
            (best, most) = (Some(i), this);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(age: u8, size: u8, depth: u8) -> Kind {
        Kind { age, size, depth }
    }

    #[test]
    fn what_is_most_overfull_goes_first() {
        let mut p = Population::new(2, 2, 2);
        let kinds = [
            kind(0, 0, 0),
            kind(0, 1, 1),
            kind(0, 1, 0),
            kind(1, 1, 1),
            kind(0, 1, 1),
        ];
        let slots: Vec<u32> = (0..5)
            .map(|i| p.insert(File::new(FileId(i), i, 1, 0, kinds[i as usize])))
            .collect();
        let mut rng = Rng::new(1);
        // Age 0 has 4 of 2 wanted, size 1 has 4 of 3, depth 0 has 2 of 1 where depth 1 has 3 of 3.
        let pick = p.most_overfull(&[2.0, 2.0], &[2.0, 3.0], &[1.0, 3.0], &mut rng);
        assert_eq!(pick, Some(slots[2]));
        p.remove(slots[2]);
        p.resize(slots[3], 7, 0);
        assert_eq!(p.by_size(), [2, 2]);
        assert_eq!(p.by_age(), [3, 1]);
        assert_eq!(p.by_depth(), [1, 3]);
        // No file of size 0 and age 1 but the one that shrank.
        let pick = p.most_overfull(&[3.0, 0.0], &[2.0, 0.0], &[0.0, 0.0], &mut rng);
        assert_eq!(pick, Some(slots[3]));
        assert_eq!(p.file(slots[3]).bytes, 7);
    }

    #[test]
    fn a_random_file_is_younger_the_more_are_drawn() {
        let mut p = Population::new(1, 1, 1);
        for i in 0..1000 {
            p.insert(File::new(FileId(i), i, 1, 0, kind(0, 0, 0)));
        }
        let mut rng = Rng::new(3);
        let mut mean = |draws| {
            let ids = (0..4000).map(|_| p.random(draws, &mut rng).unwrap());
            ids.map(|s| p.file(s).id.0).sum::<u64>() as f64 / 4000.0
        };
        // Means of the largest of one and of four uniform numbers: 1/2 and 4/5.
        assert!((mean(1) - 500.0).abs() < 20.0);
        assert!((mean(4) - 800.0).abs() < 20.0);
        assert_eq!(Population::new(1, 1, 1).random(4, &mut rng), None);
    }
}
