//! The files of a directory, oldest first, with their sizes.

/// A file of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Order by age: a file that was made later has a higher number.
    pub birth: u64,
    /// Its id.
    pub id: u64,
    /// Its size.
    pub size_bytes: u64,
}

/// Entries of a chunk at most.
const CHUNK: usize = 256;

/// A list ordered by birth, in chunks: finding, ranking, inserting and removing takes a look at each chunk and
/// work within one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ordered {
    /// None is empty.
    chunks: Vec<Vec<Entry>>,
    len: usize,
}

impl Ordered {
    /// The chunk where the birth is, or belongs.
    fn chunk_of(&self, birth: u64) -> usize {
        let after = self.chunks.partition_point(|c| c[0].birth <= birth);
        after.saturating_sub(1)
    }

    fn find(&self, birth: u64) -> Option<(usize, usize)> {
        let chunk = self.chunk_of(birth);
        let entries = self.chunks.get(chunk)?;
        let at = entries.binary_search_by_key(&birth, |e| e.birth).ok()?;
        Some((chunk, at))
    }

    /// Puts an entry in its place by age.
    pub fn insert(&mut self, entry: Entry) {
        self.len += 1;
        let chunk = self.chunk_of(entry.birth);
        let Some(entries) = self.chunks.get_mut(chunk) else {
            self.chunks.push(vec![entry]);
            return;
        };
        let at = entries.partition_point(|e| e.birth < entry.birth);
        if entries.len() < CHUNK {
            entries.insert(at, entry);
        } else if at == CHUNK {
            // Mostly the newest file of all: full chunks stay full.
            self.chunks.insert(chunk + 1, vec![entry]);
        } else {
            let mut upper = entries.split_off(CHUNK / 2);
            if at <= CHUNK / 2 {
                entries.insert(at, entry);
            } else {
                upper.insert(at - CHUNK / 2, entry);
            }
            self.chunks.insert(chunk + 1, upper);
        }
    }

    /// Takes an entry out.
    pub fn remove(&mut self, birth: u64) -> Option<Entry> {
        let (chunk, at) = self.find(birth)?;
        self.len -= 1;
        let entry = self.chunks[chunk].remove(at);
        let left = self.chunks[chunk].len();
        if left == 0 {
            self.chunks.remove(chunk);
        } else if left < CHUNK / 4
            && let Some(next) = self.chunks.get(chunk + 1)
            && left + next.len() <= CHUNK / 2
        {
            let next = self.chunks.remove(chunk + 1);
            self.chunks[chunk].extend(next);
        }
        Some(entry)
    }

    /// The size of an entry.
    pub fn size(&self, birth: u64) -> Option<u64> {
        let (chunk, at) = self.find(birth)?;
        Some(self.chunks[chunk][at].size_bytes)
    }

    /// The size of an entry, to change.
    pub fn size_mut(&mut self, birth: u64) -> Option<&mut u64> {
        let (chunk, at) = self.find(birth)?;
        Some(&mut self.chunks[chunk][at].size_bytes)
    }

    /// Sum of the sizes.
    pub fn bytes(&self) -> u128 {
        let entries = self.chunks.iter().flatten();
        entries.map(|e| u128::from(e.size_bytes)).sum()
    }

    /// How many are older, as a part of 65,535.
    pub fn rank(&self, birth: u64) -> Option<u16> {
        let (chunk, at) = self.find(birth)?;
        let older = self.chunks[..chunk].iter().map(Vec::len).sum::<usize>() + at;
        let last = self.len - 1;
        // Middle, if there is no other.
        let rank = (older * usize::from(u16::MAX)).checked_div(last);
        Some(rank.map_or(u16::MAX / 2, |rank| rank as u16))
    }

    /// Of the `count` entries around a rank, the one of nearest size; of equals the oldest.
    pub fn nearest(
        &self,
        rank: u16,
        size_bytes: u64,
        count: usize,
        except: Option<u64>,
    ) -> Option<Entry> {
        let center = self.len.saturating_sub(1) * usize::from(rank) / usize::from(u16::MAX);
        let first = center
            .saturating_sub(count / 2)
            .min(self.len.saturating_sub(count));
        let mut skip = first;
        let mut chunk = 0;
        while chunk < self.chunks.len() && skip >= self.chunks[chunk].len() {
            skip -= self.chunks[chunk].len();
            chunk += 1;
        }
        let around = self.chunks[chunk..].iter().flatten().skip(skip).take(count);
        around
            .filter(|e| except != Some(e.id))
            .min_by_key(|e| e.size_bytes.abs_diff(size_bytes))
            .copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsage_core::Rng;

    /// Against a plain sorted list that does everything in the obvious way.
    #[test]
    fn a_list_in_chunks_is_a_sorted_list() {
        for seed in 0..20 {
            let mut rng = Rng::new(seed);
            let (mut list, mut plain) = (Ordered::default(), Vec::<Entry>::new());
            let growing = 40 + rng.below(40);
            for step in 0..4000 {
                if plain.is_empty() || rng.below(100) < growing {
                    let birth = if rng.chance(0.9) {
                        2 * step
                    } else {
                        2 * rng.below(step + 1) + 1
                    };
                    if plain.iter().all(|e| e.birth != birth) {
                        let entry = Entry {
                            birth,
                            id: step,
                            size_bytes: rng.below(50),
                        };
                        list.insert(entry);
                        plain.push(entry);
                        plain.sort_by_key(|e| e.birth);
                    }
                } else {
                    let at = rng.below(plain.len() as u64) as usize;
                    let gone = plain.remove(at);
                    assert_eq!(list.remove(gone.birth), Some(gone));
                    assert_eq!(list.remove(gone.birth), None);
                }
                assert_eq!(list.len, plain.len());
                let bytes = plain.iter().map(|e| e.size_bytes).sum::<u64>();
                assert_eq!(list.bytes(), u128::from(bytes));
                if plain.len() > 1 {
                    let at = rng.below(plain.len() as u64) as usize;
                    let rank = list.rank(plain[at].birth).unwrap();
                    assert_eq!(usize::from(rank), at * 65_535 / (plain.len() - 1));
                    *list.size_mut(plain[at].birth).unwrap() = step % 50;
                    plain[at].size_bytes = step % 50;
                    assert_eq!(list.size(plain[at].birth), Some(step % 50));
                }
                let size = rng.below(50);
                let except = plain.first().map(|e| e.id);
                let wanted = plain.iter().skip(1);
                let wanted = wanted.min_by_key(|e| e.size_bytes.abs_diff(size)).copied();
                assert_eq!(list.nearest(9, size, 4000, except), wanted);
                // Of four around the newest only these can be.
                let newest = list.nearest(u16::MAX, size, 4, None);
                let last = &plain[plain.len().saturating_sub(4)..];
                let wanted = last.iter().min_by_key(|e| e.size_bytes.abs_diff(size));
                assert_eq!(newest, wanted.copied());
            }
        }
    }
}
