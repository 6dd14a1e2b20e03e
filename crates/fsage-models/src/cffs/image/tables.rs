//! The directory map, the external inode file, and inodes in blocks of their own.

use super::super::geometry::{BLOCK, INODES_PER_BLOCK, MAP_ENTRIES, TREE};
use super::super::own_file::OwnFile;
use super::Kind;
use super::format::{Bytes, DiskInode, EXTERNAL_NUMBER, INODE, MAP_ENTRY, MAP_NUMBER, Slot};
use super::scan::{MapEntry, Scan};

impl Scan<'_> {
    /// The files of the file system itself, and inodes in blocks of their own.
    pub fn tables(&mut self) {
        if self.moves() {
            let own = [
                (MAP_NUMBER, "directory map"),
                (EXTERNAL_NUMBER, "external inode file"),
            ];
            let [map, external] = [0, 1].map(|i| {
                let slot = self.superblock.inodes[2 + i];
                self.own_file(slot, own[i])
            });
            for &block in &map.blocks {
                let bytes = self.read(block);
                let entries = (0..MAP_ENTRIES as usize).map(|i| {
                    let at = i * MAP_ENTRY;
                    bytes.as_ref().map_or(MapEntry::default(), |b| MapEntry {
                        inode: Bytes(&b[..]).u32(at),
                        sector: Bytes(&b[..]).u32(at + 4),
                    })
                });
                self.map.extend(entries);
            }
            let external_blocks = external.blocks.clone();
            self.read_inodes(external_blocks);
            (self.directory_map, self.external_file) = (map, external);
        } else if !self.embed() {
            let g = self.superblock.geometry;
            let per_group = g.inodes_per_group / INODES_PER_BLOCK;
            let blocks = (0..g.groups).flat_map(move |cg| {
                let first = g.bitmap(cg) + 1;
                first..first + per_group
            });
            self.read_inodes(blocks);
        }
    }

    /// A file of the file system itself, without what lies behind a hole.
    fn own_file(&mut self, slot: Slot, (number, what): (u32, &str)) -> OwnFile {
        let inode = match slot {
            Slot::Used(inode) if inode.number == number => inode,
            _ => {
                self.find(Kind::Lost, format!("the inode of the {what} is damaged"));
                return OwnFile::default();
            }
        };
        let mapped = self.mapped(&inode);
        let end = (0..)
            .zip(&mapped.blocks)
            .take_while(|&(i, &(lbn, _))| i == lbn)
            .count();
        if end as u64 * BLOCK != inode.size || mapped.wrong().is_some() {
            let of = inode.size.div_ceil(BLOCK);
            self.find(
                Kind::Lost,
                format!("the {what}: {end} of {of} blocks are left"),
            );
        }
        OwnFile {
            blocks: mapped.blocks[..end]
                .iter()
                .map(|&(_, block)| block)
                .collect(),
            pointers: mapped
                .arrays
                .first()
                .map(|&(_, block)| block)
                .filter(|_| end as u32 > TREE.direct),
        }
    }

    fn read_inodes(&mut self, blocks: impl IntoIterator<Item = u32>) {
        for block in blocks {
            let bytes = self.read(block);
            for i in 0..INODES_PER_BLOCK as usize {
                let number = self.table_number(self.table.len() as u32);
                let slot = bytes.as_ref().map_or(Slot::Free, |bytes| {
                    DiskInode::decode(&bytes[i * INODE..(i + 1) * INODE])
                });
                let slot = match slot {
                    Slot::Used(inode) if inode.number != number => Slot::Damaged,
                    slot => slot,
                };
                if slot == Slot::Damaged {
                    let at = format!("block {block}, byte {}", i * INODE);
                    self.find(Kind::Lost, format!("{at}: inode {number} is damaged"));
                }
                self.table.push(slot);
            }
        }
    }

    /// Number of an inode of the table.
    fn table_number(&self, n: u32) -> u32 {
        if self.embed() {
            ((n / 4) << 3) | (n % 4)
        } else {
            n
        }
    }
}
