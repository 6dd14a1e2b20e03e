//! The inodes of the snapshot before, and what became of them in the next one.

use fsage_core::identity::{Identity, Incarnation, Rule};
use fsage_core::snapshot::{Inode, SnapshotRow};
use fsage_core::{DirId, FileId, FileKind};
use rustc_hash::FxHashMap;

/// A name of a file: an entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Name {
    pub dir: DirId,
    /// The bytes; `None` where the source has no names.
    pub bytes: Option<Box<[u8]>>,
    pub file: FileId,
}

/// One incarnation of an inode.
#[derive(Clone, Debug)]
pub(super) struct Node {
    /// As it was in the snapshot that showed it last.
    pub inode: Inode,
    /// Of a directory that is replayed as one: its id.
    pub dir: Option<DirId>,
    /// Its names; of such a directory the one, whose file id means nothing. The root has none.
    pub names: Vec<Name>,
    /// Length that the workload has given it so far.
    pub size_bytes: u64,
}

/// Number of an incarnation; never given again.
pub(super) type NodeId = u64;

/// What the next snapshot did to the nodes.
#[derive(Debug, Default)]
pub(super) struct Differences {
    pub created: Vec<NodeId>,
    pub deleted: Vec<NodeId>,
    /// Old and new incarnation of one inode number.
    pub replaced: Vec<(NodeId, NodeId)>,
    /// The same incarnation with other attributes, and what it was.
    pub changed: Vec<(NodeId, Inode)>,
    /// Of these, how many may be another incarnation: no generation, no birth time tells.
    pub guessed: u64,
    /// Rows that cannot be: one incarnation of two types, a deletion of what was not there.
    pub contradictions: u64,
}

/// All incarnations that are alive or were in the interval.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    all: FxHashMap<NodeId, Node>,
    by_ino: FxHashMap<u64, NodeId>,
    next: NodeId,
    identity: Identity,
    lasting_ino: bool,
}

impl Nodes {
    /// None yet. `lasting_ino`: the file system gives no inode number out again.
    pub fn new(identity: Identity, lasting_ino: bool) -> Nodes {
        Nodes {
            identity,
            lasting_ino,
            ..Nodes::default()
        }
    }

    pub fn get(&self, id: NodeId) -> &Node {
        &self.all[&id]
    }

    pub fn get_mut(&mut self, id: NodeId) -> &mut Node {
        self.all.get_mut(&id).expect("a node of this interval")
    }

    /// The incarnation of an inode in the newest snapshot.
    pub fn by_ino(&self, ino: u64) -> Option<(NodeId, &Node)> {
        let id = *self.by_ino.get(&ino)?;
        Some((id, &self.all[&id]))
    }

    /// Forgets incarnations that are gone.
    pub fn forget(&mut self, gone: impl IntoIterator<Item = NodeId>) {
        for id in gone {
            self.all.remove(&id);
        }
    }

    /// Every incarnation that is alive.
    pub fn alive(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        // The caller must not depend on the order.
        #[allow(clippy::iter_over_hash_type)]
        self.all.iter().map(|(id, node)| (*id, node))
    }

    /// Takes over the rows of the next snapshot, ascending by (inode, generation).
    pub fn apply(&mut self, rows: Vec<SnapshotRow>) -> Differences {
        let mut differences = Differences::default();
        let mut rows = rows.into_iter().peekable();
        while let Some(row) = rows.next() {
            let ino = row.key().0;
            let (mut present, mut gone) = (None, false);
            let mut next = Some(row);
            while let Some(row) = next {
                match row {
                    SnapshotRow::Present(inode) => {
                        // Two incarnations of a number at one time cannot be; the last one is taken.
                        differences.contradictions += u64::from(present.replace(inode).is_some());
                    }
                    SnapshotRow::Gone { .. } => gone = true,
                }
                next = rows.next_if(|row| row.key().0 == ino);
            }
            self.apply_inode(ino, present, gone, &mut differences);
        }
        differences
    }

    fn apply_inode(
        &mut self,
        ino: u64,
        present: Option<Inode>,
        gone: bool,
        differences: &mut Differences,
    ) {
        let before = self.by_ino.get(&ino).copied();
        match (before, present) {
            (None, None) => differences.contradictions += u64::from(gone),
            (None, Some(inode)) => {
                let id = self.add(inode);
                differences.created.push(id);
            }
            (Some(old), None) => {
                self.by_ino.remove(&ino);
                differences.deleted.push(old);
            }
            (Some(old), Some(inode)) => {
                let node = self.get(old);
                let (was, is) = (Incarnation::of(&node.inode), Incarnation::of(&inode));
                let rule = self.identity.rule(self.lasting_ino, was, is);
                let node = self.get_mut(old);
                let same_kind = node.inode.kind == inode.kind;
                // The root is no other directory, and no other directory becomes the root.
                let same_place = is_root(&node.inode) == is_root(&inode);
                differences.contradictions += u64::from(!same_place);
                let same = rule.is_same(was, is) && same_place;
                differences.contradictions += u64::from(rule != Rule::Ino && same && !same_kind);
                if same && same_kind {
                    if node.inode == inode {
                        return;
                    }
                    let guessed = rule == Rule::Ino && !is_directory(&inode);
                    differences.guessed += u64::from(guessed && is_touched(&node.inode, &inode));
                    let was = std::mem::replace(&mut node.inode, inode);
                    differences.changed.push((old, was));
                } else {
                    let new = self.add(inode);
                    differences.replaced.push((old, new));
                }
            }
        }
    }

    fn add(&mut self, inode: Inode) -> NodeId {
        let id = self.next;
        self.next += 1;
        self.by_ino.insert(inode.ino, id);
        self.all.insert(
            id,
            Node {
                inode,
                dir: None,
                names: Vec::new(),
                size_bytes: 0,
            },
        );
        id
    }
}

/// Whether the inode itself changed, not only where its directory hangs.
pub(super) fn is_touched(before: &Inode, after: &Inode) -> bool {
    before.ctime_ns != after.ctime_ns
        || before.size_bytes != after.size_bytes
        || before.extents != after.extents
}

fn is_root(inode: &Inode) -> bool {
    inode.path.as_deref() == Some(".")
}

/// Whether it is a directory.
pub(super) fn is_directory(inode: &Inode) -> bool {
    inode.kind == FileKind::Directory
}
