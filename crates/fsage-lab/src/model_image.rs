//! Images of models that a kernel mounts: sparse files, or block devices.
//!
//! The model writes its metadata; contents, times and permissions come from here.

use crate::error::{Context, bail};
use crate::interrupt;
use crate::tree_table;
use crate::watch::Watch;
use clap::ValueEnum;
use fsage_core::snapshot::{Inode, SnapshotInfo};
use fsage_core::{FileId, FileKind, LayoutInMemory};
use fsage_durable::{PartialFile, refuse_existing};
use fsage_models::image::{Attributes, Facts, Mountable, Options, WriteAt};
use fsage_models::registry::Image;
use fsage_real::directory::{Content, Expected, ExpectedFile, What, symlink_target};
use fsage_target::{SpecError, Stamps, Target, TargetSpec};
use rustix::fs::{FallocateFlags, OFlags, fallocate};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom};
use std::ops::Range;
use std::os::unix::fs::{FileExt as _, FileTypeExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// Time 0 of a workload that does not say when it was: the first second of 2000.
const UNKNOWN_EPOCH_NS: i64 = 946_684_800_000_000_000;

/// What the blocks of files hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Contents {
    /// Nothing: they are holes of the image.
    #[default]
    None,
    /// The noise that a replay on a real file system writes, which `fsage verify` knows again.
    Noise,
    /// Noise and blanks in turn, which a compressor halves.
    Compressible,
}

/// Half of what a compressor sees of contents that it halves.
const STRIPE: u64 = 512;

impl Contents {
    /// Bytes of a file from a place on, up to the end of the chunk or so many.
    fn fill(self, content: Content, offset: u64, length: u64, to: &mut Vec<u8>) {
        to.clear();
        to.extend_from_slice(content.bytes(offset, length));
        if self == Contents::Compressible {
            for (at, byte) in (offset..).zip(&mut *to) {
                if at / STRIPE % 2 == 1 {
                    *byte = b' ';
                }
            }
        }
    }
}

/// What is known of the files of a model beside it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Beside<'a> {
    /// Times and permissions.
    pub stamps: Option<&'a Stamps>,
    /// Of a copy: the inode that each one was copied from, which is what `stamps` are of.
    pub copied_from: Option<&'a BTreeMap<u64, u64>>,
    /// The snapshot that tells of the file system, instead of `stamps`.
    pub snapshot: Option<&'a (SnapshotInfo, LayoutInMemory)>,
}

impl Beside<'_> {
    fn shift_ns(&self) -> i64 {
        match self.stamps {
            Some(stamps) if stamps.epoch_ns() != 0 => 0,
            _ => UNKNOWN_EPOCH_NS,
        }
    }

    fn made_ns(&self) -> i64 {
        if let Some((info, found)) = self.snapshot {
            let first = found.inodes.first().and_then(|inode| inode.btime_ns);
            return first.unwrap_or(info.taken_at_ns);
        }
        self.shift_ns() + self.stamps.map_or(0, Stamps::epoch_ns)
    }

    fn written_ns(&self) -> i64 {
        if let Some((info, _)) = self.snapshot {
            return info.taken_at_ns;
        }
        let written_ns = self.stamps.map_or(0, Stamps::now_ns);
        self.shift_ns().saturating_add(written_ns)
    }
}

impl<'a> Beside<'a> {
    fn in_snapshot(&self, ino: u64) -> Option<&'a Inode> {
        let inodes = &self.snapshot?.1.inodes;
        let at = inodes.binary_search_by_key(&ino, |inode| inode.ino).ok()?;
        Some(&inodes[at])
    }
}

impl Facts for Beside<'_> {
    fn attributes(&self, ino: u64, kind: FileKind) -> Attributes {
        let permissions = match kind {
            FileKind::Directory => 0o755,
            FileKind::Symlink => 0o777,
            _ => 0o644,
        };
        let ino = match self.copied_from {
            Some(copied_from) => copied_from.get(&ino).copied(),
            None => Some(ino),
        };
        let made_ns = self.made_ns();
        if let Some(inode) = ino.and_then(|ino| self.in_snapshot(ino)) {
            let ctime_ns = inode.ctime_ns.unwrap_or(made_ns);
            let mtime_ns = inode.mtime_ns.unwrap_or(ctime_ns);
            return Attributes {
                permissions: inode.mode.map_or(permissions, |mode| mode as u16),
                uid: inode.uid.unwrap_or(0),
                gid: inode.gid.unwrap_or(0),
                generation: inode.generation.unwrap_or(0),
                atime_ns: mtime_ns,
                mtime_ns,
                ctime_ns,
                btime_ns: inode.btime_ns.unwrap_or(ctime_ns),
            };
        }
        let stamp = ino.and_then(|ino| self.stamps?.of(ino));
        let time = |ns: Option<i64>| ns.map_or(made_ns, |ns| ns.saturating_add(self.shift_ns()));
        let mtime_ns = time(stamp.map(|stamp| stamp.mtime_ns));
        Attributes {
            permissions: stamp
                .and_then(|stamp| stamp.mode)
                .map_or(permissions, |mode| mode as u16),
            generation: stamp.map_or(0, |stamp| stamp.generation),
            atime_ns: mtime_ns,
            mtime_ns,
            ctime_ns: time(stamp.map(|stamp| stamp.ctime_ns)),
            btime_ns: time(stamp.map(|stamp| stamp.btime_ns)),
            ..Attributes::default()
        }
    }

    fn target(&self, file: FileId, bytes: u64) -> Vec<u8> {
        symlink_target(Content::of(file), bytes)
    }
}

/// Names of the images in the folder of a target, of the aged file system and of its control; nothing for a target of
/// which there are none.
pub fn names(spec: &TargetSpec) -> Option<[String; 2]> {
    let entry = spec.entry()?;
    (entry.image == Some(Image::Mountable))
        .then(|| [format!("{}.img", entry.name), "control.img".to_owned()])
}

/// Writes the images of a target into its folder.
pub struct Images<'a> {
    spec: &'a TargetSpec,
    folder: &'a Path,
    contents: Contents,
    stamps: Option<&'a Stamps>,
    ui: &'a dyn Watch,
}

impl<'a> Images<'a> {
    /// Those of a target, into this folder.
    pub fn new(
        spec: &'a TargetSpec,
        folder: &'a Path,
        contents: Contents,
        stamps: Option<&'a Stamps>,
        ui: &'a dyn Watch,
    ) -> Images<'a> {
        Images {
            spec,
            folder,
            contents,
            stamps,
            ui,
        }
    }

    /// That of an aged model, if there are such images of it.
    ///
    /// # Errors
    /// As of [`write()`].
    pub fn aged(&self, model: &mut Target) -> crate::Result<()> {
        let beside = Beside {
            stamps: self.stamps,
            ..Beside::default()
        };
        self.write(false, model, beside)
    }

    /// That of its control: files were copied, by their inodes in the aged one, under these ids.
    ///
    /// # Errors
    /// As of [`write()`].
    pub fn control(
        &self,
        control: &mut Target,
        copied: &BTreeMap<u64, FileId>,
    ) -> crate::Result<()> {
        let copied_from = copied_from(control, copied);
        let beside = Beside {
            stamps: self.stamps,
            copied_from: Some(&copied_from),
            snapshot: None,
        };
        self.write(true, control, beside)
    }

    fn write(&self, is_control: bool, model: &mut Target, beside: Beside<'_>) -> crate::Result<()> {
        let (Some(names), Some(fs)) = (names(self.spec), model.as_mountable()) else {
            return Ok(());
        };
        let how = How {
            contents: self.contents,
            force: true,
            beside,
            is_control,
        };
        let name = &names[usize::from(is_control)];
        write(&self.folder.join(name), fs, &how, self.ui)
    }
}

/// Inodes of a control, each with the one that it was copied from.
pub fn copied_from(control: &Target, copied: &BTreeMap<u64, FileId>) -> BTreeMap<u64, u64> {
    let Target::Model(fs) = control else {
        return BTreeMap::new();
    };
    let pairs = copied.iter();
    pairs
        .filter_map(|(&aged, &file)| Some((fs.inode(file)?, aged)))
        .collect()
}

/// Puts together the file system that a snapshot tells of. Keys of the target are for what the snapshot does not say.
/// Gives also the target with the snapshot as its `from`, and the snapshot.
///
/// # Errors
/// The target begins with no snapshot; the snapshot cannot be read, or the model cannot begin with it.
pub fn of_snapshot(
    spec: &TargetSpec,
    path: &Path,
) -> crate::Result<(TargetSpec, Target, (SnapshotInfo, LayoutInMemory))> {
    let from = spec.entry().and_then(|entry| entry.from_snapshot);
    let Some(from) = from else {
        let beginning = fsage_models::MODELS.iter();
        let beginning = beginning.filter(|entry| entry.from_snapshot.is_some());
        let names: Vec<&str> = beginning.map(|entry| entry.name).collect();
        bail!(
            "{spec}: no file system that begins with a snapshot; expected {}",
            names.join(" or ")
        );
    };
    let mut spec = spec.clone();
    let path_text = path.display().to_string();
    spec.options.push((from.key.to_owned(), Some(path_text)));
    let found = fsage_data::snapshot::read_snapshot(path)?;
    let made = (from.make)(&spec.pairs(), &found.1);
    let model = made.map_err(|error| SpecError::new(&spec, error))?;
    Ok((spec, Target::Model(model), found))
}

/// How an image is written.
#[derive(Clone, Copy, Debug, Default)]
pub struct How<'a> {
    /// What blocks of files hold.
    pub contents: Contents,
    /// Over a file that is there, or a block device.
    pub force: bool,
    /// What the model does not know.
    pub beside: Beside<'a>,
    /// It has another identity than the other image of its run.
    pub is_control: bool,
}

/// A file or a block device that an image is written to.
struct Disk<'a> {
    file: &'a File,
    /// It may hold anything at first.
    is_device: bool,
}

impl WriteAt for Disk<'_> {
    fn write_at(&mut self, offset_bytes: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, offset_bytes)
    }

    fn zero(&mut self, offset_bytes: u64, length_bytes: u64) -> io::Result<()> {
        if !self.is_device || length_bytes == 0 {
            return Ok(());
        }
        let flags = FallocateFlags::ZERO_RANGE | FallocateFlags::KEEP_SIZE;
        match fallocate(self.file, flags, offset_bytes, length_bytes) {
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
                let zeros = vec![0; length_bytes.min(1 << 20) as usize];
                for at in (0..length_bytes).step_by(zeros.len()) {
                    let left = (length_bytes - at).min(zeros.len() as u64);
                    self.file
                        .write_all_at(&zeros[..left as usize], offset_bytes + at)?;
                }
                Ok(())
            }
            result => Ok(result?),
        }
    }
}

/// Where `fsage verify` finds what should be in an image.
pub fn tree_beside(image: &Path) -> PathBuf {
    let mut name = OsString::from(image);
    name.push(".tree.parquet");
    name.into()
}

/// Writes an image, after the model was unmounted. A file of that name is replaced only with `force`, and only when all
/// of the new one is there. A block device is written to only with `force`, and while nobody uses it. With noise, what
/// should be in the image is written beside it, unless it is a device.
///
/// # Errors
/// Something is there without `force`; a device is in use or too small; it cannot be written; an interrupt.
pub fn write(
    path: &Path,
    fs: &mut dyn Mountable,
    how: &How<'_>,
    ui: &dyn Watch,
) -> crate::Result<()> {
    let failed = || format!("{}: cannot be written", path.display());
    let bytes = fs.image_bytes();
    let is_device = fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_block_device());
    if is_device {
        if !how.force {
            bail!(
                "{}: a block device; --force writes over all that is on it",
                path.display()
            );
        }
        let file = open_device(path, bytes)?;
        fill(&file, is_device, fs, how, ui).with_context(failed)?;
        return file.sync_all().with_context(failed);
    }
    refuse_existing(path, how.force)?;
    let mut new = PartialFile::create(path, how.force)?;
    let file = new.as_file().with_context(failed)?;
    file.set_len(bytes).with_context(failed)?;
    fill(file, is_device, fs, how, ui).with_context(failed)?;
    if how.contents == Contents::Noise {
        tree_table::write(&tree_beside(path), &expected(fs))?;
    }
    Ok(new.finish()?)
}

/// Opens a block device that nothing is mounted from and nobody else has opened in this way.
fn open_device(path: &Path, bytes: u64) -> crate::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).custom_flags(OFlags::EXCL.bits() as i32);
    let mut file = options.open(path).with_context(|| {
        format!(
            "{}: cannot be opened for it alone; is it mounted?",
            path.display()
        )
    })?;
    let cannot_seek = || format!("{}: its size cannot be found", path.display());
    let room = file.seek(SeekFrom::End(0)).with_context(cannot_seek)?;
    if room < bytes {
        bail!(
            "{}: {room} bytes, and the file system has {bytes}",
            path.display()
        );
    }
    Ok(file)
}

fn fill(
    file: &File,
    is_device: bool,
    fs: &mut dyn Mountable,
    how: &How<'_>,
    ui: &dyn Watch,
) -> crate::Result<()> {
    let beside = how.beside;
    let mut uuid = u128::from_be_bytes(fs.uuid());
    if how.is_control {
        uuid = uuid.wrapping_add(1);
    }
    let options = Options {
        uuid: uuid.to_be_bytes(),
        made_s: beside.made_ns().div_euclid(1_000_000_000),
        written_s: beside.written_ns().div_euclid(1_000_000_000),
        facts: &beside,
    };
    fs.write_image(&options, &mut Disk { file, is_device })?;
    if how.contents != Contents::None {
        write_data(file, fs, how.contents, ui)?;
    }
    Ok(())
}

/// A file as its data is written.
struct Data {
    content: Content,
    size_bytes: u64,
    /// Where it was written to: place in the file, and on the disk.
    written: Vec<(Range<u64>, u64)>,
}

/// Visits every regular file with data, by its inode. Space that was set aside and not written to is none.
fn each_data(fs: &dyn Mountable, visit: &mut dyn FnMut(u64, Data)) {
    let mut contents: BTreeMap<u64, Content> = BTreeMap::new();
    fs.visit_names(&mut |named| {
        if let (Some(file), FileKind::Regular) = (named.file, named.kind) {
            contents.insert(named.ino, Content::of(file));
        }
    });
    fs.visit_files(&mut |file| {
        let Some(&content) = contents.get(&file.ino) else {
            return;
        };
        let extents = file.extents.unwrap_or_default().iter();
        let written = extents.filter(|extent| extent.flags == 0).map(|extent| {
            let start = extent.logical_bytes;
            let end = (start + extent.length_bytes).min(file.size_bytes);
            (start..end, extent.physical_bytes)
        });
        visit(
            file.ino,
            Data {
                content,
                size_bytes: file.size_bytes,
                written: written.filter(|(range, _)| !range.is_empty()).collect(),
            },
        );
    });
}

fn write_data(
    file: &File,
    fs: &dyn Mountable,
    contents: Contents,
    ui: &dyn Watch,
) -> crate::Result<()> {
    let bar = ui.bar_bytes(None, "contents");
    let block_bytes = fs.geometry().block_bytes;
    let (mut result, mut done, mut bytes) = (Ok(()), 0, Vec::new());
    let mut write = |data: &Data| -> crate::Result<()> {
        interrupt::go_on()?;
        for (range, physical) in &data.written {
            let mut at = range.start;
            while at < range.end {
                contents.fill(data.content, at, range.end - at, &mut bytes);
                let next = at + bytes.len() as u64;
                if next == range.end {
                    // Behind the end of a file its last block is zero.
                    bytes.resize(bytes.len().next_multiple_of(block_bytes as usize), 0);
                }
                file.write_all_at(&bytes, physical + (at - range.start))?;
                done += next - at;
                at = next;
            }
            bar.set_position(done);
        }
        Ok(())
    };
    each_data(fs, &mut |_, data| {
        if result.is_ok() {
            result = write(&data);
        }
    });
    result
}

/// What should be in an image with noise.
fn expected(fs: &dyn Mountable) -> Expected {
    let mut files: BTreeMap<u64, What> = BTreeMap::new();
    each_data(fs, &mut |ino, data| {
        let mut zeros: Vec<Range<u64>> = Vec::new();
        let mut end = 0;
        for (range, _) in &data.written {
            if end < range.start {
                zeros.push(end..range.start);
            }
            end = range.end;
        }
        if end < data.size_bytes {
            zeros.push(end..data.size_bytes);
        }
        let (content, size_bytes) = (data.content, data.size_bytes);
        let what = What::File {
            content,
            size_bytes,
            zeros,
        };
        files.insert(ino, what);
    });
    let mut directories: BTreeMap<u64, (u64, Vec<u8>)> = BTreeMap::new();
    let mut names = Vec::new();
    fs.visit_names(&mut |named| match named.file {
        None => {
            directories.insert(named.ino, (named.parent_ino, named.name.to_vec()));
        }
        Some(file) => {
            if named.kind == FileKind::Symlink {
                let bytes = fs.file_size(file).unwrap_or(0);
                let target = symlink_target(Content::of(file), bytes);
                files.insert(named.ino, What::Symlink { target });
            }
            names.push((named.parent_ino, named.name.to_vec(), named.ino));
        }
    });
    let path = |mut parent: u64, name: &[u8]| {
        let mut parts = vec![name];
        while let Some((above, name)) = directories.get(&parent) {
            parts.push(name);
            parent = *above;
        }
        parts.reverse();
        parts.join(&b'/')
    };
    let paths = directories
        .values()
        .map(|(parent, name)| path(*parent, name));
    let mut all = Expected {
        directories: paths.collect(),
        files: Vec::new(),
    };
    all.directories.sort_unstable();
    for (parent, name, inode) in &names {
        if let Some(what) = files.get(inode) {
            all.files.push(ExpectedFile {
                path: path(*parent, name),
                inode: *inode,
                what: what.clone(),
            });
        }
    }
    all.files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsage_real::directory::CHUNK;

    #[test]
    fn contents_depend_on_the_file_and_the_place_alone() {
        for contents in [Contents::Noise, Contents::Compressible] {
            let mut whole = Vec::new();
            contents.fill(Content(3), 0, CHUNK, &mut whole);
            assert_eq!(whole.len() as u64, CHUNK);
            let mut part = Vec::new();
            contents.fill(Content(3), 5000, 3000, &mut part);
            assert_eq!(part, whole[5000..8000]);
        }
    }
}
