//! The file systems that an image may hold, and how each one is made.

use super::Uuid;
use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// A type of file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The second extended file system.
    Ext2,
    /// ext2 with a journal.
    Ext3,
    /// The fourth extended file system.
    Ext4,
    /// XFS.
    Xfs,
    /// btrfs.
    Btrfs,
    /// The flash-friendly file system.
    F2fs,
    /// The log-structured file system of NTT.
    Nilfs2,
}

/// The reference size of a block of ext2, ext3 and ext4.
const EXT_BLOCK: &str = "4096";

impl Kind {
    /// Every type.
    pub const ALL: [Kind; 7] = [
        Kind::Ext2,
        Kind::Ext3,
        Kind::Ext4,
        Kind::Xfs,
        Kind::Btrfs,
        Kind::F2fs,
        Kind::Nilfs2,
    ];

    /// The name that `mount -t` takes.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Ext2 => "ext2",
            Kind::Ext3 => "ext3",
            Kind::Ext4 => "ext4",
            Kind::Xfs => "xfs",
            Kind::Btrfs => "btrfs",
            Kind::F2fs => "f2fs",
            Kind::Nilfs2 => "nilfs2",
        }
    }

    /// The type of this name.
    pub fn parse(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The program that makes one.
    pub fn mkfs(self) -> String {
        format!("mkfs.{}", self.name())
    }

    /// The program that checks one, and its arguments for "change nothing" before the path of the image; NILFS2 has
    /// none.
    pub fn check(self) -> Option<(&'static str, &'static [&'static str])> {
        match self {
            Kind::Ext2 | Kind::Ext3 | Kind::Ext4 => Some(("e2fsck", &["-f", "-n"])),
            Kind::Xfs => Some(("xfs_repair", &["-n"])),
            Kind::Btrfs => Some(("btrfs", &["check", "--readonly"])),
            Kind::F2fs => Some(("fsck.f2fs", &["--dry-run"])),
            Kind::Nilfs2 => None,
        }
    }

    /// The package of Debian and its descendants that both programs come from.
    pub fn package(self) -> &'static str {
        match self {
            Kind::Ext2 | Kind::Ext3 | Kind::Ext4 => "e2fsprogs",
            Kind::Xfs => "xfsprogs",
            Kind::Btrfs => "btrfs-progs",
            Kind::F2fs => "f2fs-tools",
            Kind::Nilfs2 => "nilfs-tools",
        }
    }

    /// The smallest image that the reference options make a whole file system on, as measured with e2fsprogs 1.47.0
    /// (with a journal where there should be one), xfsprogs 6.1.0 and btrfs-progs 6.2; `None` where it was not
    /// measured.
    pub fn min_bytes(self) -> Option<u64> {
        match self {
            Kind::Ext2 => Some(256 << 10),
            Kind::Ext3 | Kind::Ext4 => Some(8 << 20),
            Kind::Xfs => Some(300 << 20),
            Kind::Btrfs => Some(45 << 20),
            Kind::F2fs | Kind::Nilfs2 => None,
        }
    }

    /// The arguments of [`mkfs`](Self::mkfs) before the path of the image: the reference options, then `extra`.
    pub fn mkfs_words(self, uuid: Uuid, extra: &[String]) -> Vec<String> {
        let mut extra = extra.to_vec();
        let uuid = uuid.to_string();
        let mut words: Vec<String> = Vec::new();
        let mut add = |more: &[&str]| words.extend(more.iter().map(|&word| word.to_owned()));
        match self {
            Kind::Ext2 | Kind::Ext3 | Kind::Ext4 => {
                let mut extended = format!("hash_seed={uuid}");
                if self == Kind::Ext4 {
                    extended.push_str(",lazy_itable_init=0,lazy_journal_init=0");
                }
                for more in take_extended(&mut extra) {
                    extended.push(',');
                    extended.push_str(&more);
                }
                add(&["-q", "-F"]);
                if !extra.iter().any(|word| word.starts_with("-b")) {
                    add(&["-b", EXT_BLOCK]);
                }
                add(&["-U", &uuid, "-E", &extended]);
            }
            Kind::Xfs => add(&["-q", "-f", "-m", &format!("uuid={uuid}")]),
            Kind::Btrfs => add(&["-q", "-f", "-m", "single", "-U", &uuid]),
            Kind::F2fs => add(&["-q", "-f", "-U", &uuid]),
            // It takes no UUID.
            Kind::Nilfs2 => add(&["-q", "-f"]),
        }
        words.append(&mut extra);
        words
    }

    /// Mount options that are always given.
    pub(super) fn mount_options(self) -> &'static [&'static str] {
        match self {
            // Two images of the same UUID may be mounted at a time: aged and control.
            Kind::Xfs => &["nouuid"],
            _ => &[],
        }
    }

    /// What kind of file system an image holds, by its superblock; `None` for none of these.
    ///
    /// # Errors
    /// The image cannot be read.
    pub fn of_image(image: &Path) -> io::Result<Option<Kind>> {
        let file = File::open(image)?;
        let holds = |offset: u64, magic: &[u8]| {
            let mut bytes = vec![0; magic.len()];
            match file.read_exact_at(&mut bytes, offset) {
                Ok(()) => Ok(bytes == magic),
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
                Err(error) => Err(error),
            }
        };
        let kind = if holds(0, b"XFSB")? {
            Kind::Xfs
        } else if holds(0x1_0040, b"_BHRfS_M")? {
            Kind::Btrfs
        } else if holds(0x400, &0xF2F5_2010_u32.to_le_bytes())? {
            Kind::F2fs
        } else if holds(0x406, &0x3434_u16.to_le_bytes())? {
            Kind::Nilfs2
        } else if holds(0x438, &0xEF53_u16.to_le_bytes())? {
            let mut features = [0; 12];
            file.read_exact_at(&mut features, 0x45C)?;
            ext_kind(features)
        } else {
            return Ok(None);
        };
        Ok(Some(kind))
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Takes `-E WORD` and `-EWORD` out: `mke2fs` forgets an earlier `-E` over a later one.
fn take_extended(words: &mut Vec<String>) -> Vec<String> {
    let mut extended = Vec::new();
    let mut rest = Vec::new();
    let mut all = std::mem::take(words).into_iter();
    while let Some(word) = all.next() {
        match word.strip_prefix("-E") {
            Some("") => extended.extend(all.next()),
            Some(value) => extended.push(value.to_owned()),
            None => rest.push(word),
        }
    }
    *words = rest;
    extended
}

/// Which of the three the features `compat`, `incompat` and `ro_compat` of a superblock make: ext4 if there are any
/// that ext3 did not know.
fn ext_kind(features: [u8; 12]) -> Kind {
    const HAS_JOURNAL: u32 = 0x4;
    /// `FILETYPE`, `RECOVER`, `META_BG`.
    const INCOMPAT_EXT3: u32 = 0x2 | 0x4 | 0x10;
    /// `SPARSE_SUPER`, `LARGE_FILE`, `BTREE_DIR`.
    const RO_COMPAT_EXT3: u32 = 0x1 | 0x2 | 0x4;
    let word = |at: usize| {
        let bytes = [
            features[at],
            features[at + 1],
            features[at + 2],
            features[at + 3],
        ];
        u32::from_le_bytes(bytes)
    };
    if word(4) & !INCOMPAT_EXT3 != 0 || word(8) & !RO_COMPAT_EXT3 != 0 {
        Kind::Ext4
    } else if word(0) & HAS_JOURNAL != 0 {
        Kind::Ext3
    } else {
        Kind::Ext2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extended_options_of_the_user_join_ours() {
        let extra = ["-N", "100", "-E", "stride=4", "-Eresize=1G"].map(str::to_owned);
        let words = Kind::Ext2.mkfs_words(Uuid::DEFAULT, &extra);
        let uuid = Uuid::DEFAULT.to_string();
        let extended = format!("hash_seed={uuid},stride=4,resize=1G");
        let expected = [
            "-q", "-F", "-b", "4096", "-U", &uuid, "-E", &extended, "-N", "100",
        ];
        assert_eq!(words, expected);
    }

    #[test]
    fn every_kind_is_found_by_its_name() {
        for kind in Kind::ALL {
            assert_eq!(Kind::parse(kind.name()), Some(kind));
        }
        assert_eq!(Kind::parse("ext5"), None);
    }
}
