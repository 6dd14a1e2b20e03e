//! A layout as it is compared: inodes by number, and free space.

use super::Found;
use fsage_core::{Extent, FileKind, FileView, Layout, Run, Space};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// How much of what differs is said.
const SAID: usize = 12;

/// An inode.
#[derive(Clone, Debug)]
pub struct Inode {
    kind: FileKind,
    size_bytes: u64,
    links: u32,
    parent_ino: Option<u64>,
    /// What its blocks take, where that is compared.
    alloc_bytes: Option<u64>,
    /// Of data, with no flag but that it was never written; nothing where that is not told.
    extents: Option<Vec<Extent>>,
}

/// A layout.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    pub inodes: BTreeMap<u64, Inode>,
    pub space: Option<Space>,
    pub free: Vec<Run>,
    block_bytes: u64,
}

impl Seen {
    /// What is to be seen of a layout.
    pub fn of(layout: &dyn Layout) -> Seen {
        let mut seen = Seen {
            space: layout.space(),
            block_bytes: u64::from(layout.geometry().block_bytes).max(1),
            ..Seen::default()
        };
        layout.visit_files(&mut |file| {
            seen.inodes.insert(file.ino, Inode::of(file));
        });
        layout.visit_free(&mut |run| seen.free.push(run));
        seen
    }

    pub fn extents(&self) -> u64 {
        self.inodes
            .values()
            .map(|inode| inode.extents.as_ref().map_or(0, Vec::len) as u64)
            .sum()
    }

    pub fn directories(&self) -> u64 {
        let directories = self.inodes.values();
        directories
            .filter(|inode| inode.kind == FileKind::Directory)
            .count() as u64
    }

    /// What differs from what the kernel did.
    pub fn compare(&self, kernel: &Seen, is_free_compared: bool) -> Found {
        let mut found = Found {
            what: Vec::new(),
            count: 0,
        };
        let mut numbers: Vec<u64> = self
            .inodes
            .keys()
            .chain(kernel.inodes.keys())
            .copied()
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        for ino in numbers {
            let (ours, its) = (self.inodes.get(&ino), kernel.inodes.get(&ino));
            let is_alike = ours.zip(its).is_some_and(|(ours, its)| ours.is_like(its));
            if !is_alike {
                found.note(|| {
                    let said =
                        |inode: Option<&Inode>| inode.map(|inode| inode.text(self.block_bytes));
                    let none = || "no such inode".to_owned();
                    let (ours, its) = (
                        said(ours).unwrap_or_else(none),
                        said(its).unwrap_or_else(none),
                    );
                    format!("inode {ino}: model {ours}; kernel {its}")
                });
            }
        }
        let counted =
            |space: &Option<Space>| space.map(|space| (space.free_blocks, space.free_inodes));
        if let (Some(ours), Some(its)) = (counted(&self.space), counted(&kernel.space))
            && ours != its
        {
            found.note(|| {
                let said = |(blocks, inodes)| format!("{blocks} blocks and {inodes} inodes");
                format!("free: model {}; kernel {}", said(ours), said(its))
            });
        }
        if is_free_compared && self.free != kernel.free {
            self.compare_free(kernel, &mut found);
        }
        found
    }

    fn compare_free(&self, kernel: &Seen, found: &mut Found) {
        let only = |ours: &[Run], theirs: &[Run]| -> Vec<Run> {
            let is_missing = |run: &&Run| !theirs.contains(run);
            if ours.len() > 10_000 {
                // Which ones is a matter of time; the first is enough.
                let first = ours.iter().zip(theirs).position(|(ours, its)| ours != its);
                return first.map(|at| ours[at]).into_iter().collect();
            }
            ours.iter().filter(is_missing).copied().collect()
        };
        for (who, runs) in [
            ("model", only(&self.free, &kernel.free)),
            ("kernel", only(&kernel.free, &self.free)),
        ] {
            for run in runs {
                found.note(|| {
                    let block = run.start_bytes / self.block_bytes;
                    let blocks = run.length_bytes / self.block_bytes;
                    format!("free of the {who} only: block {block}, {blocks} blocks")
                });
            }
        }
        if found.count == 0 {
            found.note(|| "runs of free space differ".to_owned());
        }
    }
}

impl Found {
    pub fn note(&mut self, what: impl FnOnce() -> String) {
        self.count += 1;
        if self.what.len() < SAID {
            self.what.push(what());
        }
    }
}

impl Inode {
    fn of(file: &FileView<'_>) -> Inode {
        let is_directory = file.kind == FileKind::Directory;
        let of_data = |extents: &[Extent]| {
            let of_data = extents.iter().filter(|extent| extent.is_placed_data());
            { of_data }
                .map(|extent| Extent {
                    flags: extent.flags & Extent::UNWRITTEN,
                    ..*extent
                })
                .collect()
        };
        // A kernel does not say where the target of a symbolic link lies.
        let is_reported = file.kind != FileKind::Symlink;
        Inode {
            kind: file.kind,
            size_bytes: file.size_bytes,
            // How a directory's are counted is a matter of taste.
            links: if is_directory { 0 } else { file.links },
            // The root has none on one side, and itself on the other; of several names any may be the first.
            parent_ino: file
                .parent_ino
                .filter(|parent| *parent != file.ino && (is_directory || file.links == 1)),
            alloc_bytes: file.alloc_bytes.filter(|_| is_reported),
            extents: file.extents.filter(|_| is_reported).map(of_data),
        }
    }

    /// Whether both are the same. Where one does not report its extents, as XFS does not of directories, how much they
    /// take is compared.
    fn is_like(&self, other: &Inode) -> bool {
        let known = |inode: &Inode| (inode.kind, inode.size_bytes, inode.links, inode.parent_ino);
        let is_placed_alike = match (&self.extents, &other.extents) {
            (Some(ours), Some(its)) => ours == its,
            _ => self.alloc_bytes == other.alloc_bytes,
        };
        known(self) == known(other) && is_placed_alike
    }

    fn text(&self, block_bytes: u64) -> String {
        let mut text = format!("{} of {} bytes", self.kind.letter(), self.size_bytes);
        if self.links > 1 {
            let _ = write!(text, ", {} names", self.links);
        }
        if let Some(parent) = self.parent_ino {
            let _ = write!(text, " in {parent}");
        }
        text.push_str(" at");
        let Some(extents) = &self.extents else {
            let blocks = self.alloc_bytes.unwrap_or(0) / block_bytes;
            let _ = write!(text, " {blocks} blocks somewhere");
            return text;
        };
        for extent in extents.iter().take(8) {
            let blocks = [
                extent.logical_bytes,
                extent.physical_bytes,
                extent.length_bytes,
            ];
            let [logical, physical, length] = blocks.map(|bytes| bytes / block_bytes);
            let unwritten = if extent.flags == 0 { "" } else { "u" };
            let _ = write!(text, " {logical}:{physical}:{length}{unwritten}");
        }
        match extents.len() {
            0 => text.push_str(" no block"),
            more @ 9.. => {
                let _ = write!(text, " and {} more", more - 8);
            }
            _ => {}
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(ino: u64, physical_bytes: u64) -> Inode {
        Inode {
            kind: FileKind::Regular,
            size_bytes: 4096,
            links: 1,
            parent_ino: Some(2),
            alloc_bytes: Some(4096),
            extents: Some(vec![Extent {
                logical_bytes: 0,
                physical_bytes,
                length_bytes: 4096,
                flags: if ino == 13 { Extent::UNWRITTEN } else { 0 },
            }]),
        }
    }

    fn seen(inodes: &[(u64, u64)]) -> Seen {
        Seen {
            inodes: inodes
                .iter()
                .map(|&(ino, at)| (ino, file(ino, at)))
                .collect(),
            block_bytes: 4096,
            ..Seen::default()
        }
    }

    #[test]
    fn what_differs_is_said_by_inode() {
        let (model, kernel) = (
            seen(&[(12, 8192), (13, 4096)]),
            seen(&[(12, 8192), (13, 0), (14, 0)]),
        );
        assert_eq!(model.compare(&model.clone(), true).count, 0);
        let found = model.compare(&kernel, true);
        let texts = [
            "inode 13: model f of 4096 bytes in 2 at 0:1:1u; kernel f of 4096 bytes in 2 at 0:0:1u",
            "inode 14: model no such inode; kernel f of 4096 bytes in 2 at 0:0:1",
        ];
        assert_eq!(found.what, texts);
    }

    #[test]
    fn what_a_kernel_does_not_place_is_compared_by_how_much_it_takes() {
        let model = seen(&[(12, 8192)]);
        let mut kernel = model.clone();
        let unreported = |kernel: &mut Seen, alloc_bytes| {
            let inode = kernel.inodes.get_mut(&12).expect("there");
            (inode.extents, inode.alloc_bytes) = (None, Some(alloc_bytes));
        };
        unreported(&mut kernel, 4096);
        assert_eq!(model.compare(&kernel, false).count, 0);
        unreported(&mut kernel, 8192);
        let found = model.compare(&kernel, false);
        let text = "inode 12: model f of 4096 bytes in 2 at 0:2:1; kernel f of 4096 bytes in 2 at 2 blocks somewhere";
        assert_eq!(found.what, [text]);
    }

    #[test]
    fn free_space_is_compared_run_by_run_where_that_is_asked_for() {
        let run = |start_bytes, length_bytes| Run {
            start_bytes,
            length_bytes,
        };
        let with = |free: &[Run]| Seen {
            free: free.to_vec(),
            ..seen(&[])
        };
        let model = with(&[run(4096, 8192), run(40960, 4096)]);
        let kernel = with(&[run(4096, 4096), run(40960, 4096)]);
        assert_eq!(model.compare(&kernel, false).count, 0);
        let found = model.compare(&kernel, true);
        let texts = [
            "free of the model only: block 1, 2 blocks",
            "free of the kernel only: block 1, 1 blocks",
        ];
        assert_eq!(found.what, texts);
    }
}
