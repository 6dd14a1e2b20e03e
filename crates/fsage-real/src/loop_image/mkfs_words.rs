//! Which words `mkfs=` may hold: options of the program, none of which names a file or a device.
//!
//! `mkfs` is run by root, and a word too many is a second file that it formats (`mkfs.btrfs`), fills the image from
//! (`-d` of `mke2fs`, `-p` of `mkfs.xfs`) or writes a log to (`-J device=`, `-l logdev=`). What is not listed here is
//! refused: a version that is newer than these tables may know options that nobody has looked at. From the manual
//! pages of e2fsprogs 1.47, xfsprogs 6.1, btrfs-progs 6.2, f2fs-tools 1.15 and nilfs-utils 2.2.

use super::Kind;

/// What follows an option.
#[derive(Clone, Copy, Debug)]
enum Takes {
    /// Nothing.
    Nothing,
    /// A value of any form: no value of this option is a name of a file.
    Value,
    /// A list `key[=value],...` of these keys; the others name files or devices, or make no file system.
    Keys(&'static [&'static str]),
}

use Takes::{Keys, Nothing, Value};

type Table = &'static [(&'static str, Takes)];

const MKE2FS: Table = &[
    ("-b", Value),
    ("-C", Value),
    ("-D", Nothing),
    ("-e", Value),
    ("-E", Value),
    ("-F", Nothing),
    ("-g", Value),
    ("-G", Value),
    ("-i", Value),
    ("-I", Value),
    ("-j", Nothing),
    ("-J", Keys(&["size", "fast_commit_size", "location"])),
    ("-K", Nothing),
    ("-L", Value),
    ("-m", Value),
    // Where it was mounted last: a text in the superblock.
    ("-M", Value),
    ("-N", Value),
    ("-o", Value),
    ("-O", Value),
    ("-q", Nothing),
    ("-r", Value),
    ("-t", Value),
    ("-T", Value),
    ("-U", Value),
    ("-v", Nothing),
];

const MKFS_XFS: Table = &[
    ("-b", Value),
    (
        "-d",
        Keys(&[
            "agcount",
            "agsize",
            "concurrency",
            "cowextsize",
            "daxinherit",
            "extszinherit",
            "noalign",
            "projinherit",
            "rtinherit",
            "sectlog",
            "sectsize",
            "size",
            "su",
            "sunit",
            "sw",
            "swidth",
        ]),
    ),
    ("-f", Nothing),
    ("-i", Value),
    ("-K", Nothing),
    (
        "-l",
        Keys(&[
            "agnum",
            "concurrency",
            "internal",
            "lazy-count",
            "sectlog",
            "sectsize",
            "size",
            "su",
            "sunit",
            "version",
        ]),
    ),
    ("-L", Value),
    ("-m", Value),
    ("-n", Value),
    ("-q", Nothing),
    ("-s", Value),
    ("--unsupported", Nothing),
];

const MKFS_BTRFS: Table = &[
    ("-A", Value),
    ("--alloc-start", Value),
    ("-b", Value),
    ("--byte-count", Value),
    ("--checksum", Value),
    ("--csum", Value),
    ("-d", Value),
    ("--data", Value),
    ("-f", Nothing),
    ("--force", Nothing),
    ("-K", Nothing),
    ("--nodiscard", Nothing),
    ("-l", Value),
    ("--leafsize", Value),
    ("-L", Value),
    ("--label", Value),
    ("-m", Value),
    ("--metadata", Value),
    ("-M", Nothing),
    ("--mixed", Nothing),
    ("-n", Value),
    ("--nodesize", Value),
    ("-O", Value),
    ("--features", Value),
    ("-q", Nothing),
    ("--quiet", Nothing),
    ("-R", Value),
    ("--runtime-features", Value),
    ("-s", Value),
    ("--sectorsize", Value),
    ("-U", Value),
    ("--uuid", Value),
    ("-v", Nothing),
    ("--verbose", Nothing),
];

const MKFS_F2FS: Table = &[
    ("-a", Value),
    ("-C", Value),
    ("-d", Value),
    ("-e", Value),
    ("-E", Value),
    ("-f", Nothing),
    ("-i", Nothing),
    ("-l", Value),
    ("-o", Value),
    ("-O", Value),
    ("-q", Nothing),
    ("-R", Value),
    ("-s", Value),
    ("-t", Value),
    ("-T", Value),
    ("-U", Value),
    ("-w", Value),
    ("-z", Value),
];

const MKFS_NILFS2: Table = &[
    ("-b", Value),
    ("-B", Value),
    ("-f", Nothing),
    ("-K", Nothing),
    ("-L", Value),
    ("-m", Value),
    ("-O", Value),
    ("-q", Nothing),
    ("-v", Nothing),
];

fn table(kind: Kind) -> Table {
    match kind {
        Kind::Ext2 | Kind::Ext3 | Kind::Ext4 => MKE2FS,
        Kind::Xfs => MKFS_XFS,
        Kind::Btrfs => MKFS_BTRFS,
        Kind::F2fs => MKFS_F2FS,
        Kind::Nilfs2 => MKFS_NILFS2,
    }
}

/// Checks the words of a user, as the program itself takes them apart (`getopt`): `-qN 100`, `-N100`, `--label=x`.
///
/// # Errors
/// The word that is refused, why, and what may be there.
pub fn check(kind: Kind, words: &[String]) -> Result<(), String> {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value_of = |option: &str, joined: Option<&str>| {
            let value = joined.or_else(|| words.next().map(String::as_str));
            value
                .map(str::to_owned)
                .ok_or_else(|| format!("`{option}` needs a value behind it"))
        };
        if word.starts_with("--") {
            let (name, joined) = match word.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (word.as_str(), None),
            };
            match takes(kind, name, word)? {
                Nothing if joined.is_some() => return Err(format!("`{name}` takes no value")),
                Nothing => {}
                follows => check_value(kind, name, follows, &value_of(name, joined)?)?,
            }
            continue;
        }
        let letters = word.strip_prefix('-').filter(|rest| !rest.is_empty());
        let Some(mut letters) = letters else {
            return Err(refused(kind, word, "is no option"));
        };
        while let Some(letter) = letters.chars().next() {
            letters = &letters[letter.len_utf8()..];
            let name = format!("-{letter}");
            let follows = takes(kind, &name, word)?;
            if !matches!(follows, Nothing) {
                let joined = Some(letters).filter(|rest| !rest.is_empty());
                check_value(kind, &name, follows, &value_of(&name, joined)?)?;
                break;
            }
        }
    }
    Ok(())
}

fn takes(kind: Kind, name: &str, word: &str) -> Result<Takes, String> {
    let known = table(kind).iter().find(|(known, _)| *known == name);
    known.map(|&(_, takes)| takes).ok_or_else(|| {
        let why = if name == word {
            "is not allowed".to_owned()
        } else {
            format!("holds {name}, which is not allowed")
        };
        refused(kind, word, &why)
    })
}

fn check_value(kind: Kind, option: &str, takes: Takes, value: &str) -> Result<(), String> {
    let Keys(allowed) = takes else { return Ok(()) };
    let key = |part: &str| part.split('=').next().unwrap_or_default().to_owned();
    match value
        .split(',')
        .map(key)
        .find(|key| !allowed.contains(&key.as_str()))
    {
        None => Ok(()),
        Some(key) => Err(format!(
            "`{option} {value}`: {key} is not allowed: nothing but the image may be written or read by {}; \
             expected one of {}",
            kind.mkfs(),
            allowed.join(", ")
        )),
    }
}

fn refused(kind: Kind, word: &str, why: &str) -> String {
    let options: Vec<&str> = table(kind).iter().map(|&(option, _)| option).collect();
    format!(
        "`{word}` {why}: nothing but the image may be written or read by {}; expected options of it that name no \
         file and no device: {}",
        kind.mkfs(),
        options.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsage_core::words::split_command;

    fn checked(kind: Kind, text: &str) -> Result<(), String> {
        check(kind, &split_command(text).unwrap())
    }

    #[test]
    fn options_and_their_values_are_taken_as_the_program_takes_them() {
        for (kind, text) in [
            (
                Kind::Ext4,
                "-O ^has_journal -L 'a b' -qN 100 -N100 -jJ size=4",
            ),
            (Kind::Ext4, "-L -d -M /mnt"),
            (Kind::Ext2, "-E stride=4 -Eresize=1G"),
            (Kind::Xfs, "-m reflink=0 -l size=10m,sunit=8 -d agcount=2"),
            (Kind::Btrfs, "--label=x -O ^no-holes --nodesize 16k -Kn16k"),
            (Kind::F2fs, "-O extra_attr -f"),
            (Kind::Nilfs2, "-B 16"),
            (Kind::Ext4, ""),
        ] {
            assert_eq!(checked(kind, text), Ok(()), "{text}");
        }
    }

    /// What each of the words makes the program write or read, by its manual page.
    #[test]
    fn a_word_that_names_a_file_or_device_is_refused() {
        for (kind, text, named) in [
            (
                Kind::Btrfs,
                "/path/victim.img",
                "`/path/victim.img` is no option",
            ),
            (Kind::Btrfs, "-q victim.img", "`victim.img` is no option"),
            (Kind::Btrfs, "-r /etc", "`-r` is not allowed"),
            (
                Kind::Btrfs,
                "--rootdir=/etc",
                "`--rootdir=/etc` holds --rootdir",
            ),
            (Kind::Btrfs, "--root /etc", "`--root` is not allowed"),
            (Kind::Btrfs, "-qfr/etc", "`-qfr/etc` holds -r"),
            (Kind::Btrfs, "-- /path", "`--` is not allowed"),
            (Kind::Btrfs, "-", "`-` is no option"),
            (Kind::Ext4, "-d /etc", "`-d` is not allowed"),
            (Kind::Ext4, "-Fd/etc", "`-Fd/etc` holds -d"),
            (
                Kind::Ext4,
                "-J size=4,device=/dev/sda",
                "device is not allowed",
            ),
            (Kind::Ext4, "-Jdevice=LABEL=x", "device is not allowed"),
            (Kind::Ext4, "-l bad.txt", "`-l` is not allowed"),
            (Kind::Ext4, "-z undo", "`-z` is not allowed"),
            (Kind::Ext4, "-n", "`-n` is not allowed"),
            (Kind::Ext4, "-N", "`-N` needs a value"),
            (Kind::Xfs, "-d file,name=/x,size=1g", "file is not allowed"),
            (Kind::Xfs, "-d name=/x", "name is not allowed"),
            (Kind::Xfs, "-llogdev=/dev/sda", "logdev is not allowed"),
            (Kind::Xfs, "-r rtdev=/dev/sda", "`-r` is not allowed"),
            (Kind::Xfs, "-p proto", "`-p` is not allowed"),
            (Kind::Xfs, "-c options=/etc/x", "`-c` is not allowed"),
            (Kind::F2fs, "-c /dev/sda", "`-c` is not allowed"),
            (Kind::Nilfs2, "1000", "`1000` is no option"),
        ] {
            let error = checked(kind, text).expect_err(text);
            assert!(error.contains(named), "{text}: {error}");
            assert!(
                error.contains("expected") || text == "-N",
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn no_word_of_ours_is_refused() {
        for kind in Kind::ALL {
            let words = kind.mkfs_words(super::super::Uuid::DEFAULT, &[]);
            assert_eq!(check(kind, &words), Ok(()), "{kind}");
        }
    }
}
