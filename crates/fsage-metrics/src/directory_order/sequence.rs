//! The files of a directory in order, in chunks, so that one that comes or goes moves few others.

use super::Ends;

/// Most files of a chunk.
const MOST: usize = 64;

/// A file: its place in the order, and where its data lie.
#[derive(Clone, Debug)]
pub(super) struct Entry<K> {
    pub key: K,
    pub ends: Ends,
}

/// Files one after the other: how often one begins right behind the one before, and where all begin and end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Way {
    /// `None` where there are no files.
    pub ends: Option<Ends>,
    pub files: u64,
    pub adjacent: u64,
}

impl Way {
    fn of<K>(file: &Entry<K>) -> Way {
        Way {
            ends: Some(file.ends),
            files: 1,
            adjacent: 0,
        }
    }

    /// Goes on with other files.
    pub fn append(&mut self, next: Way) {
        let Some(after) = next.ends else {
            return;
        };
        let start = match self.ends {
            Some(before) => {
                self.adjacent += u64::from(before.end == after.start);
                before.start
            }
            None => after.start,
        };
        self.ends = Some(Ends {
            start,
            end: after.end,
        });
        self.files += next.files;
        self.adjacent += next.adjacent;
    }
}

/// Files by ascending key.
#[derive(Clone, Debug)]
pub(super) struct Sequence<K> {
    /// None of them empty.
    chunks: Vec<Chunk<K>>,
}

#[derive(Clone, Debug)]
struct Chunk<K> {
    files: Vec<Entry<K>>,
    /// `None` when it is to be gone anew.
    way: Option<Way>,
}

impl<K> Default for Sequence<K> {
    fn default() -> Sequence<K> {
        Sequence { chunks: Vec::new() }
    }
}

impl<K: Ord> Sequence<K> {
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// Puts a file in. Gives the files before and behind it.
    pub fn insert(&mut self, file: Entry<K>) -> (Option<Ends>, Option<Ends>) {
        if self.chunks.is_empty() {
            self.chunks.push(Chunk {
                files: Vec::new(),
                way: None,
            });
        }
        let at = self.chunk_of(&file.key);
        let chunk = &mut self.chunks[at];
        let i = chunk.files.partition_point(|other| other.key < file.key);
        chunk.files.insert(i, file);
        chunk.way = None;
        let neighbors = self.neighbors(at, i);
        let chunk = &mut self.chunks[at];
        if chunk.files.len() > MOST {
            let files = chunk.files.split_off(MOST / 2);
            self.chunks.insert(at + 1, Chunk { files, way: None });
        }
        neighbors
    }

    /// Takes a file out. Gives the files before and behind it; `None` if it was not there.
    pub fn remove(&mut self, key: &K) -> Option<(Option<Ends>, Option<Ends>)> {
        let at = self.chunk_of(key);
        let files = &self.chunks.get(at)?.files;
        let i = files.binary_search_by(|file| file.key.cmp(key)).ok()?;
        let neighbors = self.neighbors(at, i);
        let chunk = &mut self.chunks[at];
        chunk.files.remove(i);
        chunk.way = None;
        if chunk.files.is_empty() {
            self.chunks.remove(at);
        }
        Some(neighbors)
    }

    /// The chunk that a key belongs to; the first one before all keys.
    fn chunk_of(&self, key: &K) -> usize {
        let behind = self.chunks.partition_point(|chunk| {
            let first = chunk.files.first();
            first.is_some_and(|first| first.key <= *key)
        });
        behind.saturating_sub(1)
    }

    fn neighbors(&self, at: usize, i: usize) -> (Option<Ends>, Option<Ends>) {
        let files = &self.chunks[at].files;
        let before = match i.checked_sub(1) {
            Some(i) => files.get(i),
            None => at
                .checked_sub(1)
                .and_then(|at| self.chunks[at].files.last()),
        };
        let after = files.get(i + 1).or_else(|| {
            let next = self.chunks.get(at + 1);
            next.and_then(|chunk| chunk.files.first())
        });
        (before.map(|file| file.ends), after.map(|file| file.ends))
    }

    /// Goes over all files, and over what lies below directories among them: their keys, ascending, and ways.
    pub fn way<'a>(&mut self, directories: impl Iterator<Item = (&'a K, Way)>) -> Way
    where
        K: 'a,
    {
        let mut way = Way::default();
        let mut directories = directories.peekable();
        for chunk in &mut self.chunks {
            let last = chunk.files.last();
            let is_before =
                |directory: &(&K, Way)| last.is_some_and(|last| *directory.0 <= last.key);
            if directories.peek().is_some_and(is_before) {
                for file in &chunk.files {
                    while let Some((_, below)) = directories.next_if(|&(key, _)| *key <= file.key) {
                        way.append(below);
                    }
                    way.append(Way::of(file));
                }
            } else {
                way.append(*chunk.way.get_or_insert_with(|| {
                    let mut way = Way::default();
                    for file in &chunk.files {
                        way.append(Way::of(file));
                    }
                    way
                }));
            }
        }
        directories.for_each(|(_, below)| way.append(below));
        way
    }

    /// Every file and the next one.
    pub fn pairs(&self) -> impl Iterator<Item = (Ends, Ends)> {
        let files = self.chunks.iter().flat_map(|chunk| &chunk.files);
        let next = files.clone().skip(1);
        files.zip(next).map(|(a, b)| (a.ends, b.ends))
    }
}
