//! Blocks of pointers: which of them lead to a block of a file, and where they lie.
//!
//! An inode has some direct pointers, and pointers to a single, a double and a triple indirect block.

/// Number of a block of pointers of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Array {
    /// It has pointers to data: number 0 hangs below the inode, the next ones below the double indirect block, the
    /// rest below the triple one.
    Leaf(u32),
    /// It has pointers to blocks of pointers: 0 is the double indirect block, 1 the triple one, `2 + j` number `j`
    /// below that.
    Upper(u32),
}

impl Array {
    /// Its number among all blocks of pointers of the file.
    pub fn index(self) -> u32 {
        match self {
            Array::Leaf(k) => 2 * k,
            Array::Upper(j) => 2 * j + 1,
        }
    }
}

/// The blocks of pointers that lead to a block of a file, the outermost first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Path {
    arrays: [Array; 3],
    depth: usize,
}

impl Path {
    pub fn arrays(&self) -> &[Array] {
        &self.arrays[..self.depth]
    }
}

/// How many blocks the pointers lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PointerTree {
    /// Direct pointers of an inode.
    pub direct: u32,
    /// Pointers of a block.
    pub per_block: u32,
}

impl PointerTree {
    /// The way to a block of a file.
    pub fn path(self, lbn: u32) -> Path {
        let n = self.per_block;
        let mut arrays = [Array::Leaf(0); 3];
        let depth = match lbn.checked_sub(self.direct).map(|beyond| beyond / n) {
            None => 0,
            Some(0) => 1,
            Some(leaf) if leaf <= n => {
                arrays = [Array::Upper(0), Array::Leaf(leaf), Array::Leaf(leaf)];
                2
            }
            Some(leaf) => {
                let middle = 2 + (leaf - 1 - n) / n;
                arrays = [Array::Upper(1), Array::Upper(middle), Array::Leaf(leaf)];
                3
            }
        };
        Path { arrays, depth }
    }

    /// First logical block that a block of pointers leads to.
    pub fn first_of(self, array: Array) -> u64 {
        let n = u64::from(self.per_block);
        let leaf = match array {
            Array::Leaf(k) => u64::from(k),
            Array::Upper(0) => 1,
            Array::Upper(1) => 1 + n,
            Array::Upper(j) => 1 + n + u64::from(j - 2) * n,
        };
        u64::from(self.direct) + leaf * n
    }

    /// Blocks of the file behind `lbn` whose pointers stand in the same array.
    pub fn left_in_array(self, lbn: u32) -> u32 {
        match self.path(lbn).arrays().last() {
            None => self.direct - 1 - lbn,
            Some(&leaf) => {
                let end = self.first_of(leaf) + u64::from(self.per_block);
                (end - 1 - u64::from(lbn)) as u32
            }
        }
    }

    /// Most blocks of a file.
    pub fn most_blocks(self) -> u64 {
        let n = u64::from(self.per_block);
        u64::from(self.direct) + n + n * n + n * n * n
    }
}

/// The blocks of pointers of a file: number and address, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Indirect {
    pub leaves: Vec<(u32, u32)>,
    pub uppers: Vec<(u32, u32)>,
}

impl Indirect {
    fn list(&self, array: Array) -> (&Vec<(u32, u32)>, u32) {
        match array {
            Array::Leaf(k) => (&self.leaves, k),
            Array::Upper(j) => (&self.uppers, j),
        }
    }

    /// Address of a block of pointers, if it is there.
    pub fn get(&self, array: Array) -> Option<u32> {
        let (list, number) = self.list(array);
        let i = list.binary_search_by_key(&number, |&(n, _)| n).ok()?;
        Some(list[i].1)
    }

    /// Address of the last one of the same kind before `array`, from number `first` on.
    pub fn before(&self, array: Array, first: u32) -> Option<u32> {
        let (list, number) = self.list(array);
        let i = list.partition_point(|&(n, _)| n < number);
        let &(found, address) = list[..i].last()?;
        (found >= first).then_some(address)
    }

    pub fn insert(&mut self, array: Array, address: u32) {
        let (list, number) = match array {
            Array::Leaf(k) => (&mut self.leaves, k),
            Array::Upper(j) => (&mut self.uppers, j),
        };
        let i = list.partition_point(|&(n, _)| n < number);
        list.insert(i, (number, address));
    }

    /// All of them: number and address.
    pub fn all(&self) -> impl Iterator<Item = (Array, u32)> {
        let uppers = self.uppers.iter().map(|&(j, at)| (Array::Upper(j), at));
        let leaves = self.leaves.iter().map(|&(k, at)| (Array::Leaf(k), at));
        uppers.chain(leaves)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.leaves.is_empty() && self.uppers.is_empty()
    }

    /// Takes those out whose first block is `keep` or lies behind it.
    pub fn cut(&mut self, tree: PointerTree, keep: u32) -> Vec<(Array, u32)> {
        let stays = |array: Array| tree.first_of(array) < u64::from(keep);
        let gone = self.all().filter(|&(array, _)| !stays(array)).collect();
        self.leaves.retain(|&(k, _)| stays(Array::Leaf(k)));
        self.uppers.retain(|&(j, _)| stays(Array::Upper(j)));
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand, with 15 direct pointers and 1024 a block: blocks 15 to 1038 hang below the single indirect block, the
    /// next 1024 times 1024 below the double one.
    #[test]
    fn arrays_lead_to_the_blocks_that_hang_below_them() {
        let tree = PointerTree {
            direct: 15,
            per_block: 1024,
        };
        let way = |lbn| tree.path(lbn).arrays().to_vec();
        assert_eq!(way(14), []);
        assert_eq!(way(15), [Array::Leaf(0)]);
        assert_eq!(way(1038), [Array::Leaf(0)]);
        assert_eq!(way(1039), [Array::Upper(0), Array::Leaf(1)]);
        let triple = 15 + 1024 + 1024 * 1024;
        assert_eq!(
            way(triple),
            [Array::Upper(1), Array::Upper(2), Array::Leaf(1025)]
        );
        assert_eq!(tree.first_of(Array::Leaf(1)), 1039);
        assert_eq!(tree.first_of(Array::Upper(1)), u64::from(triple));
        assert_eq!(tree.left_in_array(14), 0);
        assert_eq!(tree.left_in_array(15), 1023);
        assert_eq!(tree.most_blocks(), 15 + 1024 + (1 << 20) + (1 << 30));
    }

    #[test]
    fn a_cut_gives_what_lies_behind_it() {
        let tree = PointerTree {
            direct: 15,
            per_block: 1024,
        };
        let mut indirect = Indirect::default();
        let all = [
            (Array::Upper(0), 70),
            (Array::Leaf(0), 50),
            (Array::Leaf(1), 71),
        ];
        for (array, address) in all {
            indirect.insert(array, address);
        }
        assert_eq!(indirect.all().collect::<Vec<_>>(), all);
        let gone = vec![(Array::Upper(0), 70), (Array::Leaf(1), 71)];
        assert_eq!(indirect.cut(tree, 1039), gone);
        assert_eq!(indirect.get(Array::Leaf(0)), Some(50));
        indirect.cut(tree, 15);
        assert!(indirect.is_empty());
    }
}
