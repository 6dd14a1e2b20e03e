//! Requests of simulated operations, on a cold and on a warm cache.
//!
//! Expected lists follow from 4.4BSD-Lite2 (`ufs_vnops.c`, `ufs_lookup.c`, `ffs_inode.c`: which writes wait;
//! `vfs_cluster.c`: what is read ahead). Addresses, in KB, are those of the worked examples of the allocator on `tiny`:
//! the root's inode is in the block at 32 and its entries at 72; group 1 has its group block at 1064, its inodes at
//! 1072, and the entries of directory 1 at 1032.

use fsage_bench::{DirKey, FileKey, Part, Simulated, Subject};
use fsage_core::io::BufferId;
use fsage_core::{DirId, FileSystem, Op, Outcome};
use fsage_disk::{Access, Null};
use fsage_host::{Host, HostParams, IoRequest};
use fsage_models::ffs::{Ffs, Params};

const KB: u64 = 1 << 10;

const DIR: DirKey = DirKey(1);

/// A subject on `tiny` with directory 1, on a device that takes no time.
fn tiny() -> Simulated<Ffs, Null> {
    let options = [("preset", Some("tiny")), ("nrpos", Some("1"))];
    let mut fs = Ffs::new(Params::from_options(options).unwrap()).unwrap();
    let (dir, parent) = (DirId(DIR.0), None);
    assert_eq!(fs.apply(&Op::Mkdir { dir, parent }), Ok(Outcome::Done));
    let params = HostParams::preset("pentium-120").unwrap();
    Simulated::new(fs, Host::new(&params, Null::new(16_384), 0, 8192), 1000)
}

fn whole(bytes: u64) -> Part {
    Part {
        offset: 0,
        bytes,
        call_bytes: 4096 * KB,
    }
}

/// Requests of a step: R is a read and S a write that the process waits for, r and A are those that it does not.
fn requests(
    subject: &mut Simulated<Ffs, Null>,
    step: impl FnOnce(&mut Simulated<Ffs, Null>),
) -> String {
    subject.host_mut().record(true);
    step(subject);
    let line = |request: &IoRequest| {
        let verb = match (request.access, request.wait) {
            (Access::Write, true) => "S",
            (Access::Write, false) => "A",
            (_, true) => "R",
            (_, false) => "r",
        };
        format!("{verb}{}+{}", request.start_bytes / KB, request.bytes / KB)
    };
    let lines: Vec<String> = subject.host().recorded().iter().map(line).collect();
    lines.join(" ")
}

#[test]
fn a_created_file_reads_what_it_needs_and_waits_twice() {
    let mut subject = tiny();
    let create = |subject: &mut Simulated<Ffs, Null>| {
        subject.create(DIR, 0, KB).unwrap();
    };
    // Root and its entries, directory 1 and its entries, the group block; then the inode and the entry are written.
    assert_eq!(
        requests(&mut subject, create),
        "R32+8 R72+1 R1072+8 R1032+1 R1064+1 S1072+8 S1032+1"
    );
    assert_eq!(requests(&mut subject, create), "S1072+8 S1032+1");
    // What was delayed goes with the next sync: inodes and group block, then the superblock at 8 with its summary.
    let synced = requests(&mut subject, |subject| subject.sync().unwrap());
    let (buffers, superblock) = synced.split_once(" A8+2 ").expect("a superblock");
    let mut buffers: Vec<&str> = buffers.split(' ').collect();
    buffers.sort_unstable();
    assert_eq!(buffers, ["A1064+1", "A1072+8"]);
    assert!(
        superblock.starts_with('A') && !superblock.contains(' '),
        "{superblock}"
    );
    assert_eq!(
        requests(&mut subject, |subject| subject.sync().unwrap()),
        ""
    );
}

#[test]
fn a_removed_file_waits_for_its_entry_and_its_inode() {
    let mut subject = tiny();
    let small = subject.create(DIR, KB, KB).unwrap();
    let other = subject.create(DIR, KB, KB).unwrap();
    let empty = subject.create(DIR, 0, KB).unwrap();
    subject.drop_caches().unwrap();
    let mut delete = |file| requests(&mut subject, |subject| subject.delete(file).unwrap());
    // The group block is needed when the file is truncated, behind the inode that says so.
    assert_eq!(
        delete(small),
        "R32+8 R72+1 R1072+8 R1032+1 S1032+1 S1072+8 R1064+1"
    );
    assert_eq!(delete(other), "S1032+1 S1072+8");
    assert_eq!(delete(empty), "S1032+1");
}

#[test]
fn a_removed_file_with_an_indirect_block_reads_and_rewrites_it() {
    let mut subject = tiny();
    let bytes = 13 * 8 * KB;
    let (cold, warm) = (subject.create(DIR, bytes, bytes).unwrap(), {
        subject.create(DIR, bytes, bytes).unwrap()
    });
    let pointers = |subject: &Simulated<Ffs, Null>| -> Vec<(Access, bool)> {
        let of_pointers =
            |request: &&IoRequest| matches!(request.first, Some(BufferId::Pointers { .. }));
        let recorded = subject.host().recorded().iter();
        recorded
            .filter(of_pointers)
            .map(|request| (request.access, request.wait))
            .collect()
    };
    subject.drop_caches().unwrap();
    requests(&mut subject, |subject| subject.delete(cold).unwrap());
    assert_eq!(
        pointers(&subject),
        [(Access::Read, true), (Access::Write, true)]
    );
    // Reading the last block brings the other one in.
    let last = Part {
        offset: bytes - KB,
        ..whole(KB)
    };
    subject.read(warm, last).unwrap();
    requests(&mut subject, |subject| subject.delete(warm).unwrap());
    assert_eq!(pointers(&subject), [(Access::Write, true)]);
}

#[test]
fn a_directory_waits_five_times() {
    let mut subject = tiny();
    let mkdir = |subject: &mut Simulated<Ffs, Null>| {
        subject.mkdir().unwrap();
    };
    // In group 2: group block at 2104, inodes at 2112, entries at 2056. New inode, parent's inode (the root), the new
    // directory's entries and inode, the entry in the root.
    assert_eq!(
        requests(&mut subject, mkdir),
        "R32+8 R72+1 R2104+1 R2112+8 S2112+8 S32+8 S2056+1 S2112+8 S72+1"
    );
}

#[test]
fn reading_marks_the_inode_and_writes_it_with_the_next_sync() {
    let mut subject = tiny();
    let file = subject.create(DIR, KB, KB).unwrap();
    subject.drop_caches().unwrap();
    let read = |subject: &mut Simulated<Ffs, Null>| subject.read(file, whole(KB)).unwrap();
    // The file's fragment is the one behind the directory's.
    assert_eq!(
        requests(&mut subject, read),
        "R32+8 R72+1 R1072+8 R1032+1 R1033+1"
    );
    assert_eq!(requests(&mut subject, read), "");
    let synced = requests(&mut subject, |subject| subject.sync().unwrap());
    assert!(synced.starts_with("A1072+8"), "{synced}");
}

/// Data and pointers of a file that a read of all of it asks the device for: S[i-j] is waited for, A@b[i-j] is read
/// ahead when block b is asked for.
fn reads(bytes: u64) -> String {
    let mut subject = tiny();
    // Twelve contiguous blocks, and contiguous ones in another group.
    for (dir, blocks) in [
        (DIR, 2),
        (subject.mkdir().unwrap(), 6),
        (subject.mkdir().unwrap(), 7),
    ] {
        subject.create(dir, blocks * 8 * KB, 64 * KB).unwrap();
    }
    let file = subject.create(DIR, bytes, 4096 * KB).unwrap();
    let ino = subject.model().inode(fsage_core::FileId(file.0)).unwrap();
    subject.drop_caches().unwrap();
    requests(&mut subject, |subject| {
        subject.read(FileKey(file.0), whole(bytes)).unwrap();
    });
    let mut lines = Vec::new();
    for request in subject.host().recorded() {
        let what = match request.first {
            Some(BufferId::Data { ino: its, lbn }) if its == ino => {
                let last = lbn + request.buffers - 1;
                if last > lbn {
                    format!("[{lbn}-{last}]")
                } else {
                    format!("[{lbn}]")
                }
            }
            Some(BufferId::Pointers { ino: its, .. }) if its == ino => "[indirect]".to_owned(),
            _ => continue,
        };
        lines.push(match request.asked {
            Some(asked) if !request.wait => format!("A@{asked}{what}"),
            _ => format!("S{what}"),
        });
    }
    lines.join(" ")
}

#[test]
fn files_are_read_as_in_the_table_of_read_ahead() {
    // Worked by hand from `cluster_read` of `vfs_cluster.c`; the block with the end of the file is read on its own.
    let table = [
        (8, "S[0]"),
        // Two requests, and no read-ahead yet: the dip of two-block files.
        (16, "S[0] S[1]"),
        (24, "S[0] S[1-2]"),
        (30, "S[0] S[1-2] S[3]"),
        (32, "S[0] S[1-2] A@2[3]"),
        (40, "S[0] S[1-2] A@2[3-4]"),
        (48, "S[0] S[1-2] A@2[3-5]"),
        (56, "S[0] S[1-2] A@2[3-5] A@4[6]"),
        (64, "S[0] S[1-2] A@2[3-5] A@4[6-7]"),
        (72, "S[0] S[1-2] A@2[3-5] A@4[6-8]"),
        (96, "S[0] S[1-2] A@2[3-5] A@4[6-10] A@7[11]"),
        (
            104,
            "S[0] S[1-2] A@2[3-5] A@4[6-10] A@7[11] S[indirect] A@8[12]",
        ),
        (
            128,
            "S[0] S[1-2] A@2[3-5] A@4[6-10] A@7[11] S[indirect] A@8[12-15]",
        ),
        (
            256,
            "S[0] S[1-2] A@2[3-5] A@4[6-10] A@7[11] S[indirect] A@8[12-19] A@13[20-27] A@21[28-31]",
        ),
    ];
    for (kb, expected) in table {
        assert_eq!(reads(kb * KB), expected, "{kb} KB");
    }
}
