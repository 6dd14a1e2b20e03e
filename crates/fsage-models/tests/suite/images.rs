//! What tests of images share: a sparse file, and facts of files that are always the same.

use fsage_core::snapshot::{FurtherName, Inode};
use fsage_core::{DirId, Extent, FileId, FileKind, FileSystem, LayoutInMemory, Op};
use fsage_models::image::{Attributes, Facts, Mountable, Options, ReadAt, ReadError, WriteAt};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::process::{Command, Output};

/// The first second of 2000.
pub const MADE_S: i64 = 946_684_800;

/// An image in a file.
pub struct Image(pub File);

impl WriteAt for Image {
    fn write_at(&mut self, offset_bytes: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all_at(bytes, offset_bytes)
    }

    fn zero(&mut self, _: u64, _: u64) -> io::Result<()> {
        Ok(())
    }
}

impl ReadAt for Image {
    fn read_at(&self, offset_bytes: u64, to: &mut [u8]) -> io::Result<()> {
        self.0.read_exact_at(to, offset_bytes)
    }
}

struct SomeFacts;

impl Facts for SomeFacts {
    fn attributes(&self, _: u64, kind: FileKind) -> Attributes {
        let made_ns = MADE_S * 1_000_000_000;
        Attributes {
            permissions: if kind == FileKind::Directory {
                0o755
            } else {
                0o644
            },
            atime_ns: made_ns,
            mtime_ns: made_ns,
            ctime_ns: made_ns,
            btime_ns: made_ns,
            ..Attributes::default()
        }
    }

    fn target(&self, _: FileId, bytes: u64) -> Vec<u8> {
        vec![b'/'; bytes as usize]
    }
}

/// Writes the image of a file system to a new file.
pub fn write(fs: &mut dyn Mountable, image: &Path) {
    let file = File::create_new(image).expect("a new file");
    file.set_len(fs.image_bytes()).expect("a sparse file");
    let options = Options {
        uuid: fs.uuid(),
        made_s: MADE_S,
        written_s: MADE_S,
        facts: &SomeFacts,
    };
    fs.write_image(&options, &mut Image(file))
        .expect("the image is written");
}

/// An image in memory.
pub struct Bytes<'a>(pub &'a [u8]);

impl ReadAt for Bytes<'_> {
    fn read_at(&self, offset_bytes: u64, to: &mut [u8]) -> io::Result<()> {
        let from = self.0.get(offset_bytes as usize..).unwrap_or_default();
        let from = from.get(..to.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        to.copy_from_slice(from);
        Ok(())
    }
}

/// What is read from an image is what was written, to the byte, and goes on in the same way.
pub fn comes_back<F: Mountable>(
    fs: &mut F,
    block_bytes: u64,
    read: impl FnOnce(&Image) -> Result<F, ReadError>,
    what: &str,
) {
    let folder = tempfile::tempdir().expect("a folder");
    let [first, second, third, fourth] = ["1", "2", "3", "4"].map(|name| folder.path().join(name));
    write(fs, &first);
    let from = Image(File::open(&first).expect("it is there"));
    let mut again = read(&from).unwrap_or_else(|error| panic!("{what}: {error}"));
    write(&mut again, &second);
    let differs = first_difference(&first, &second, block_bytes);
    assert_eq!(differs, None, "{what}");
    for fs in [&mut *fs, &mut again] {
        goes_on(fs);
    }
    write(fs, &third);
    write(&mut again, &fourth);
    let differs = first_difference(&third, &fourth, block_bytes);
    assert_eq!(differs, None, "{what}, gone on");
}

/// Parent and name of every entry, by inode.
type Names = BTreeMap<u64, Vec<(u64, String)>>;

/// The path of an entry, from the root.
fn path_of<'a>(names: &'a Names, (mut parent, name): (u64, &'a str)) -> String {
    let mut parts = vec![name];
    while let Some((above, name)) = names.get(&parent).and_then(|names| names.first()) {
        parts.push(name);
        parent = *above;
    }
    parts.reverse();
    parts.join("/")
}

/// What a reader of the image of a model that was unmounted would tell of it.
pub fn snapshot_of(fs: &dyn Mountable, root: u64) -> LayoutInMemory {
    let mut names = Names::new();
    let mut kinds = BTreeMap::new();
    fs.visit_names(&mut |named| {
        // A symbolic link that is none to a kernel is a file in the image.
        kinds.insert(named.ino, named.kind);
        let name = fsage_core::names::escape(named.name).into_owned();
        let of = names.entry(named.ino).or_default();
        of.push((named.parent_ino, name));
    });
    let (mut inodes, mut further) = (Vec::new(), Vec::new());
    fs.visit_files(&mut |file| {
        let mut of = names.get(&file.ino).cloned().unwrap_or_default();
        // Of several paths a reader keeps the smallest, wherever directories lie and whatever stands in them first.
        of.sort_by_cached_key(|(parent, name)| path_of(&names, (*parent, name)));
        let mut of = of.into_iter();
        let kind = kinds.get(&file.ino).copied().unwrap_or(file.kind);
        let first = of.next().unwrap_or((root, ".".to_owned()));
        inodes.push(Inode {
            alloc_bytes: file.alloc_bytes,
            links: Some(file.links),
            parent_ino: Some(first.0),
            path: Some(first.1.into()),
            extents: file.extents.map(Into::into),
            ..Inode::new(file.ino, None, kind, file.size_bytes)
        });
        further.extend(of.map(|(parent_ino, name)| FurtherName {
            ino: file.ino,
            generation: None,
            parent_ino,
            name: name.into(),
        }));
    });
    inodes.sort_unstable_by_key(|inode| inode.ino);
    further.sort_unstable();
    let mut free = Vec::new();
    fs.visit_free(&mut |run| free.push(run));
    LayoutInMemory {
        geometry: fs.geometry(),
        space: fs.space(),
        inodes,
        names: further,
        free: Some(free),
    }
}

/// Regular files: number, size, and where they lie.
pub fn data(found: &LayoutInMemory) -> Vec<(u64, u64, Vec<Extent>)> {
    let files = found
        .inodes
        .iter()
        .filter(|inode| inode.kind == fsage_core::FileKind::Regular);
    files
        .map(|inode| {
            let extents = inode
                .extents
                .iter()
                .flatten()
                .filter(|extent| !extent.is_pointers());
            (inode.ino, inode.size_bytes, extents.copied().collect())
        })
        .collect()
}

/// As a mounted file system tells of it to who is not root: no blocks of trees, no free space, nothing of where
/// directories lie.
pub fn of_walk(mut found: LayoutInMemory) -> LayoutInMemory {
    found.free = None;
    for inode in &mut found.inodes {
        let extents = inode.extents.take().unwrap_or_default();
        let data = extents.into_iter().filter(|extent| !extent.is_pointers());
        inode.extents = (inode.kind == FileKind::Regular).then(|| data.collect());
    }
    found
}

/// That a snapshot with longer names was refused for them: they need more space, or are too long.
pub fn refused_for_names(error: &ReadError, what: &str) {
    let ReadError::Contradiction(why) = error else {
        panic!("{what}: {error}");
    };
    let full = why.contains("no block is free");
    assert!(
        full || why.contains("a name that none has"),
        "{what}: {why}"
    );
}

/// The first extent of an inode.
pub fn extent(found: &mut LayoutInMemory, at: usize) -> &mut Extent {
    &mut found.inodes[at].extents.as_mut().expect("they are known")[0]
}

/// Files, and places of some that are gone.
pub fn half_kept(fs: &mut dyn FileSystem) {
    let dir = DirId(1);
    fs.apply(&Op::Mkdir { dir, parent: None }).expect("it fits");
    for file in 0..90 {
        let (file, bytes) = (FileId(file), file * 700);
        fs.apply(&Op::Create { file, dir, bytes }).expect("it fits");
        if file.0 % 2 == 1 {
            fs.apply(&Op::Append { file, bytes }).expect("it fits");
            let file = FileId(file.0 - 1);
            fs.apply(&Op::Delete { file }).expect("it fits");
        }
    }
}

/// Changes a byte of an image that is not zero, each `step` of them: what is read is sound, or refused in one line.
/// How many were refused, and of how many.
pub fn damage<F: Mountable>(
    path: &Path,
    block_bytes: u64,
    step: usize,
    read: impl Fn(&Bytes<'_>) -> Result<F, ReadError>,
) -> (usize, usize) {
    let mut bytes = std::fs::read(path).expect("an image");
    let blocks = data_blocks(&[path, path], block_bytes);
    let places = blocks
        .iter()
        .flat_map(|block| block * block_bytes..(block + 1) * block_bytes);
    let places: Vec<u64> = places.filter(|&at| bytes[at as usize] != 0).collect();
    let some: Vec<u64> = places.into_iter().step_by(step).collect();
    let mut refused = 0;
    for &at in &some {
        bytes[at as usize] ^= 0x55;
        match read(&Bytes(&bytes)) {
            Ok(fs) => assert_eq!(fs.check(), Ok(()), "byte {at}"),
            Err(error) => {
                refused += 1;
                assert!(!error.to_string().contains('\n'), "byte {at}: {error}");
            }
        }
        bytes[at as usize] ^= 0x55;
    }
    (refused, some.len())
}

/// The first block in which two images differ.
pub fn first_difference(a: &Path, b: &Path, block_bytes: u64) -> Option<u64> {
    let files = [a, b].map(|path| File::open(path).expect("it is there"));
    let mut blocks = data_blocks(&[a, b], block_bytes).into_iter();
    blocks.find(|block| {
        let [a, b] = [&files[0], &files[1]].map(|file| {
            let mut bytes = vec![0; block_bytes as usize];
            file.read_exact_at(&mut bytes, block * block_bytes)
                .expect("inside");
            bytes
        });
        a != b
    })
}

/// Blocks of which one of these sparse files holds anything.
pub fn data_blocks(files: &[&Path; 2], block_bytes: u64) -> BTreeSet<u64> {
    let mut blocks = BTreeSet::new();
    for path in files {
        let file = File::open(path).expect("it is there");
        let end = file.metadata().expect("a file").len() / block_bytes;
        let mut at = 0;
        while let Ok(data) = rustix::fs::seek(&file, rustix::fs::SeekFrom::Data(at)) {
            let hole = rustix::fs::seek(&file, rustix::fs::SeekFrom::Hole(data)).expect("a hole");
            blocks.extend(
                (data / block_bytes..hole.div_ceil(block_bytes)).filter(|&block| block < end),
            );
            at = hole;
        }
    }
    blocks
}

/// No script has ids like these.
const OURS: u64 = 1 << 50;

/// Directories and files more.
pub fn goes_on(fs: &mut dyn FileSystem) {
    for number in 0..400 {
        let (dir, parent) = (DirId(OURS + number / 100), None);
        if number % 100 == 0 {
            let _ = fs.apply(&Op::Mkdir { dir, parent });
        }
        let (file, bytes) = (FileId(OURS + number), number * number);
        let _ = fs.apply(&Op::Create { file, dir, bytes });
    }
}

/// Whether a program is there; says so if not.
pub fn has(program: &str) -> bool {
    let has = Command::new(program).arg("-V").output().is_ok();
    if !has {
        let _ = writeln!(io::stderr(), "skipped: there is no {program} here");
    }
    has
}

/// All that a program said.
pub fn text(output: &Output) -> String {
    let both = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8_lossy(&both).into_owned()
}

/// Names that meet, also with what a replay calls files of its own.
const FEW: [&[u8]; 4] = [b"a", b"f1", b"a~f1", b"lost+found"];

/// Files with names of these lengths, which fill directories; then operations, with so many of a few names, which meet.
pub fn live(fs: &mut dyn FileSystem, ops: &[Op], names: Vec<usize>, few: Option<usize>) {
    let dir = DirId(0);
    for (number, length) in (1000..).zip(names) {
        fs.name_next(format!("{number:0>length$}").as_bytes());
        let (file, bytes) = (FileId(number), number % 9);
        let made = fs.apply(&Op::Create { file, dir, bytes });
        assert!(made.is_ok(), "{made:?}");
    }
    let mut few = FEW[..few.unwrap_or(0)].iter().cycle();
    for op in ops {
        if let Some(name) = few.next() {
            fs.name_next(name);
        }
        let _ = fs.apply(op);
    }
}
