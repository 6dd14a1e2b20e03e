//! Data of files: written, cut, allocated; and what the trace tells of sizes.

use super::{Born, InodeKey, Namespace, Writer};
use crate::trace::Fault;
use crate::trace::output::Joined;
use fsage_core::Op;

/// Sizes beyond are no sizes of files.
const MOST_BYTES: u64 = i64::MAX as u64;

impl Namespace<'_> {
    /// `bytes` were written at `offset`.
    pub fn write(
        &mut self,
        inode: InodeKey,
        writer: Writer,
        offset: u64,
        bytes: u64,
        t_ns: i64,
    ) -> Result<(), Fault> {
        if bytes == 0 || !self.inodes.contains_key(&inode) {
            return Ok(());
        }
        let Some(end) = offset.checked_add(bytes).filter(|&end| end <= MOST_BYTES) else {
            self.summary.contradictions += 1;
            return Ok(());
        };
        if self.is_inside(inode) {
            let s = &mut self.summary;
            s.bytes_written = s.bytes_written.saturating_add(bytes);
        }
        let id = self.id_of(inode, t_ns)?;
        let Some(node) = self.inodes.get_mut(&inode) else {
            return Ok(());
        };
        if let Some(id) = id.filter(|_| !node.symlink) {
            self.out.before_write(inode, t_ns)?;
            let range = (offset, bytes);
            match self.out.join(node.growing, writer, range, node.size) {
                Joined::Yes { absorbed } => self.summary.bytes_absorbed += absorbed,
                Joined::No => {
                    node.growing = Some(self.out.write(id, writer, range, node.size, t_ns)?);
                }
            }
            self.out.after_write();
        }
        node.size = node.size.max(end);
        Ok(())
    }

    /// The size was set; `writer` may go on from 0.
    pub fn truncate(
        &mut self,
        inode: InodeKey,
        writer: Writer,
        size: u64,
        t_ns: i64,
    ) -> Result<(), Fault> {
        if size > MOST_BYTES {
            self.summary.contradictions += 1;
            return Ok(());
        }
        let id = self.id_of(inode, t_ns)?;
        let Some(node) = self.inodes.get_mut(&inode) else {
            return Ok(());
        };
        // A new file that is cut again at once needs no event; of an old one the size is not surely known.
        let changes = node.size != size || (node.born == Born::Before && !node.cut);
        if let Some(id) = id.filter(|_| changes && !node.symlink) {
            node.growing = if size == 0 {
                Some(self.out.rewrite(id, writer, t_ns)?)
            } else {
                let op = Op::Truncate {
                    file: id,
                    bytes: size,
                };
                self.out.other(op, t_ns)?;
                None
            };
        }
        node.cut = true;
        node.size = size;
        node.size_known = true;
        Ok(())
    }

    /// A range was allocated.
    pub fn fallocate(
        &mut self,
        inode: InodeKey,
        offset: u64,
        bytes: u64,
        keep_size: bool,
        t_ns: i64,
    ) -> Result<(), Fault> {
        let Some(end) = offset.checked_add(bytes).filter(|&end| end <= MOST_BYTES) else {
            self.summary.contradictions += 1;
            return Ok(());
        };
        let id = self.id_of(inode, t_ns)?;
        let Some(node) = self.inodes.get_mut(&inode) else {
            return Ok(());
        };
        // The workload's own operation extends the file: what is to lie behind its end has no words there.
        let shown_end = if keep_size { end.min(node.size) } else { end };
        if let Some(file) = id.filter(|_| shown_end > offset) {
            let bytes = shown_end - offset;
            self.out.other(
                Op::Fallocate {
                    file,
                    offset,
                    bytes,
                },
                t_ns,
            )?;
            node.growing = None;
        }
        if !keep_size {
            node.size = node.size.max(end);
        }
        Ok(())
    }

    /// A range was given back.
    pub fn punch(
        &mut self,
        inode: InodeKey,
        offset: u64,
        bytes: u64,
        t_ns: i64,
    ) -> Result<(), Fault> {
        if bytes == 0 || offset.checked_add(bytes).is_none_or(|end| end > MOST_BYTES) {
            self.summary.contradictions += 1;
            return Ok(());
        }
        if let Some(file) = self.id_of(inode, t_ns)? {
            let op = Op::Punch {
                file,
                offset,
                bytes,
            };
            self.out.other(op, t_ns)?;
            if let Some(node) = self.inodes.get_mut(&inode) {
                node.growing = None;
            }
        }
        Ok(())
    }

    /// A file was flushed. It counts for files that are in the workload.
    pub fn fsync(&mut self, inode: InodeKey, t_ns: i64) -> Result<(), Fault> {
        let id = self.inodes.get(&inode).and_then(|i| {
            let id = |n| self.names.get(n).and_then(|n| n.id);
            i.names.iter().find_map(id)
        });
        match id {
            Some(file) => self.out.other(Op::Fsync { file }, t_ns),
            None => Ok(()),
        }
    }

    /// Everything was flushed.
    pub fn sync(&mut self, t_ns: i64) -> Result<(), Fault> {
        self.out.other(Op::Sync, t_ns)
    }

    /// The trace shows that the file is at least so large: an old file was that before.
    pub fn at_least(&mut self, inode: InodeKey, size: u64) {
        let Some(node) = self.inodes.get_mut(&inode) else {
            return;
        };
        if node.born != Born::Before || node.cut || size <= node.size || size > MOST_BYTES {
            return;
        }
        node.size = size;
        node.size_known = true;
        for name in &node.names {
            if let Some(id) = self.names.get(name).and_then(|n| n.id) {
                self.initial.grow_file(id, size);
            }
        }
    }

    /// A line says what the size is now. For an old file that nothing was cut of, a larger one is the size that
    /// it had; anything else that differs is a change that the trace lost.
    pub fn size_is(
        &mut self,
        inode: InodeKey,
        writer: Writer,
        size: u64,
        t_ns: i64,
    ) -> Result<(), Fault> {
        let Some(node) = self.inodes.get(&inode) else {
            return Ok(());
        };
        if node.symlink || size > MOST_BYTES {
            return Ok(());
        }
        if node.born != Born::Made && !node.cut && size >= node.size {
            let idle = node
                .names
                .iter()
                .all(|n| self.names.get(n).is_none_or(|n| n.id.is_none()));
            if node.born == Born::Before || idle {
                self.at_least(inode, size);
                if let Some(node) = self.inodes.get_mut(&inode) {
                    node.size = size;
                    node.size_known = true;
                }
                return Ok(());
            }
        }
        let old = node.size;
        if size == old {
            return Ok(());
        }
        self.summary.sizes_corrected += 1;
        if size < old {
            return self.truncate(inode, writer, size, t_ns);
        }
        let written = self.summary.bytes_written;
        self.write(inode, writer, old, size - old, t_ns)?;
        // No call wrote them that the trace has.
        self.summary.bytes_written = written;
        Ok(())
    }
}
