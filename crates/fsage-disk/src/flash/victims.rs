//! Superblocks that may be collected, the one with the fewest valid pages on top.
//!
//! A binary heap whose choice among equals is that of the reference: docs/spec/flash.md, section 5.8.

/// The heap. How many valid pages a superblock has is told with every call.
#[derive(Clone, Debug)]
pub(super) struct Victims {
    /// Superblocks, from index 1.
    heap: Vec<u32>,
    /// Where each superblock is in the heap; 0 if it is not.
    place: Vec<u32>,
}

impl Victims {
    pub fn new(superblocks: u32) -> Victims {
        Victims {
            heap: vec![u32::MAX],
            place: vec![0; superblocks as usize],
        }
    }

    pub fn is_empty(&self) -> bool {
        self.heap.len() == 1
    }

    pub fn has(&self, superblock: u32) -> bool {
        self.place[superblock as usize] != 0
    }

    pub fn insert(&mut self, superblock: u32, valid: &[u32]) {
        self.heap.push(superblock);
        self.up(self.heap.len() - 1, valid);
    }

    /// A superblock in the heap has one valid page less.
    pub fn rise(&mut self, superblock: u32, valid: &[u32]) {
        self.up(self.place[superblock as usize] as usize, valid);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.heap.len() - 1
    }

    /// The one at a place from 0 on; which it is depends on the history of the heap.
    pub fn at(&self, place: usize) -> u32 {
        self.heap[place + 1]
    }

    /// Takes one out, wherever it is.
    pub fn remove(&mut self, superblock: u32, valid: &[u32]) {
        let at = self.place[superblock as usize] as usize;
        self.heap.swap_remove(at);
        self.place[superblock as usize] = 0;
        if let Some(&moved) = self.heap.get(at) {
            self.place[moved as usize] = at as u32;
            self.down(at, valid);
            self.up(self.place[moved as usize] as usize, valid);
        }
    }

    /// Takes the top.
    pub fn pop(&mut self, valid: &[u32]) -> Option<u32> {
        if self.is_empty() {
            return None;
        }
        let top = self.heap.swap_remove(1);
        self.place[top as usize] = 0;
        if !self.is_empty() {
            self.down(1, valid);
        }
        Some(top)
    }

    fn up(&mut self, mut at: usize, valid: &[u32]) {
        let moving = self.heap[at];
        while at > 1 && valid[self.heap[at / 2] as usize] > valid[moving as usize] {
            self.put(at, self.heap[at / 2]);
            at /= 2;
        }
        self.put(at, moving);
    }

    fn down(&mut self, mut at: usize, valid: &[u32]) {
        let key = |superblock: u32| valid[superblock as usize];
        let moving = self.heap[at];
        while let Some(&left) = self.heap.get(2 * at) {
            let right = self.heap.get(2 * at + 1);
            let (child, superblock) = match right {
                Some(&right) if key(left) > key(right) => (2 * at + 1, right),
                _ => (2 * at, left),
            };
            if key(moving) <= key(superblock) {
                break;
            }
            self.put(at, superblock);
            at = child;
        }
        self.put(at, moving);
    }

    fn put(&mut self, at: usize, superblock: u32) {
        self.heap[at] = superblock;
        self.place[superblock as usize] = at as u32;
    }

    /// Whether heap and places fit together, and no child has fewer valid pages than its parent.
    pub fn check(&self, valid: &[u32]) -> Result<(), String> {
        for (at, &superblock) in self.heap.iter().enumerate().skip(1) {
            if self.place[superblock as usize] as usize != at {
                return Err(format!(
                    "superblock {superblock} is not at its place of the heap"
                ));
            }
            let parent = self.heap[at / 2];
            if at > 1 && valid[parent as usize] > valid[superblock as usize] {
                return Err(format!(
                    "superblock {superblock} is below one with more valid pages"
                ));
            }
        }
        let places = self.place.iter().filter(|&&place| place != 0).count();
        if places + 1 != self.heap.len() {
            return Err("a superblock has a place in the heap that is another's".to_owned());
        }
        Ok(())
    }
}
