//! Requests of simulated benchmarks: the worked table of write clustering.
//!
//! Expected lists are worked by hand from `cluster_write` of 4.4BSD-Lite2 (`vfs_cluster.c`), whose state is the open
//! cluster of a file: blocks of 8 KB, the first 12 contiguous and the others contiguous elsewhere, one write call, no
//! reallocation. A[i-j] is one request for the blocks i to j that the process does not wait for, S one that it waits
//! for.

use fsage_bench::{DirKey, FileKey, Part, Simulated, Subject};
use fsage_core::io::{BufferId, Hosted};
use fsage_core::{DirId, FileId, FileSystem, Op, Outcome};
use fsage_disk::{Access, Null};
use fsage_host::{FlushClustering, Host, HostParams, IoRequest};
use fsage_models::ffs::{Ffs, Params};

const KB: u64 = 1 << 10;

/// Numbers of the benchmark's own files start here.
const FIRST_OWN: u64 = 1000;

/// A `tiny` file system on which a file in directory 1 has 12 contiguous blocks, and contiguous ones in the next group.
fn tiny() -> Ffs {
    tiny_with(&[("preset", Some("tiny")), ("nrpos", Some("1"))])
}

fn tiny_with(options: &[(&str, Option<&str>)]) -> Ffs {
    let options = options.iter().copied();
    let mut fs = Ffs::new(Params::from_options(options).unwrap()).unwrap();
    // What lies before the metadata of groups 1 to 3 is taken.
    for (dir, blocks) in [(1, 2), (2, 6), (3, 7)] {
        let parent = None;
        apply(
            &mut fs,
            Op::Mkdir {
                dir: DirId(dir),
                parent,
            },
        );
        fill(&mut fs, dir, dir, blocks * 8 * KB);
    }
    fs
}

/// The same, where the next blocks for a file in directory 1 are free in runs of these lengths, one used block between.
fn with_holes(runs: &[u64]) -> Ffs {
    let mut fs = tiny();
    let used = runs.iter().sum::<u64>() + runs.len() as u64;
    for file in 0..used {
        fill(&mut fs, 10 + file, 1, 8 * KB);
    }
    let mut file = 10;
    for run in runs {
        for _ in 0..*run {
            apply(&mut fs, Op::Delete { file: FileId(file) });
            file += 1;
        }
        file += 1;
    }
    fs
}

fn apply(fs: &mut Ffs, op: Op) {
    assert_eq!(fs.apply(&op), Ok(Outcome::Done), "{op:?}");
}

fn fill(fs: &mut Ffs, file: u64, dir: u64, bytes: u64) {
    apply(
        fs,
        Op::Create {
            file: FileId(file),
            dir: DirId(dir),
            bytes,
        },
    );
}

/// A subject that records, on a device that takes no time.
fn recording(fs: Ffs, flush_clustering: FlushClustering) -> Simulated<Ffs, Null> {
    let params = HostParams {
        flush_clustering,
        ..HostParams::preset("pentium-120").unwrap()
    };
    let host = Host::new(&params, Null::new(16_384), 0, 8192);
    Simulated::new(fs, host, FIRST_OWN)
}

/// Requests for blocks of a file, in the notation of the table.
fn of_file(requests: &[IoRequest], ino: u64, access: Access) -> Vec<String> {
    let mut lines = Vec::new();
    for request in requests.iter().filter(|request| request.access == access) {
        let wait = if request.wait { "S" } else { "A" };
        match request.first {
            Some(BufferId::Data { ino: its, lbn }) if its == ino => {
                let last = lbn + request.buffers - 1;
                lines.push(if last > lbn {
                    format!("{wait}[{lbn}-{last}]")
                } else {
                    format!("{wait}[{lbn}]")
                });
            }
            Some(BufferId::Pointers { ino: its, .. }) if its == ino => {
                lines.push(format!("{wait}[indirect]"));
            }
            _ => {}
        }
    }
    lines
}

/// What a step writes of a file, and what the sync after it writes, sorted.
fn written(
    subject: &mut Simulated<Ffs, Null>,
    ino: u64,
    step: impl FnOnce(&mut Simulated<Ffs, Null>),
) -> (String, String) {
    let lines =
        |subject: &Simulated<Ffs, Null>| of_file(subject.host().recorded(), ino, Access::Write);
    subject.host_mut().record(true);
    step(subject);
    let at_once = lines(subject).join(" ");
    subject.host_mut().record(true);
    subject.sync().unwrap();
    let mut delayed = lines(subject);
    delayed.sort_by_key(|line| (line.len(), line.clone()));
    (at_once, delayed.join(" "))
}

/// What creating a file, and then writing over it, writes at once and delayed.
fn create_and_overwrite(
    fs: Ffs,
    bytes: u64,
    flush_clustering: FlushClustering,
) -> (Simulated<Ffs, Null>, [(String, String); 2]) {
    // The inode that comes next: one more than that of a file made on a copy.
    let mut copy = fs.clone();
    fill(&mut copy, FIRST_OWN, 1, 0);
    let ino = copy.inode(FileId(FIRST_OWN)).unwrap();
    let mut subject = recording(fs, flush_clustering);
    let mut file = FileKey(0);
    let created = written(&mut subject, ino, |subject| {
        file = subject.create(DirKey(1), bytes, 4096 * KB).unwrap();
    });
    subject.drop_caches().unwrap();
    let whole = Part {
        offset: 0,
        bytes,
        call_bytes: 4096 * KB,
    };
    let overwritten = written(&mut subject, ino, |subject| {
        subject.overwrite(file, whole).unwrap();
    });
    (subject, [created, overwritten])
}

/// Requests at once and delayed, of creating and of overwriting: a row of the table.
type Row = [(&'static str, &'static str); 2];

fn assert_row(fs: Ffs, kb: u64, flush_clustering: FlushClustering, row: Row) {
    let (subject, seen) = create_and_overwrite(fs, kb * KB, flush_clustering);
    let expected = row.map(|(at_once, delayed)| (at_once.to_owned(), delayed.to_owned()));
    assert_eq!(seen, expected, "{kb} KB at {:?}", addresses(&subject));
}

/// Addresses of the blocks of the first file, in fragments.
fn addresses(subject: &Simulated<Ffs, Null>) -> Vec<u64> {
    let fs = subject.model();
    let file = FileId(FIRST_OWN);
    let blocks = fs.file_size(file).unwrap().div_ceil(8 * KB) as u32;
    let address = |lbn| fs.block_map(file, lbn).buffer.unwrap().start_bytes / KB;
    (0..blocks).map(address).collect()
}

#[test]
fn clusters_of_contiguous_files_are_those_of_the_table() {
    let table: [(u64, Row); 10] = [
        (8, [("", "A[0]"), ("", "A[0]")]),
        (16, [("", "A[0] A[1]"), ("A[0-1]", "")]),
        // A tail of 6 KB, which is not adjacent.
        (30, [("", "A[0] A[1] A[2] A[3]"), ("A[0-2]", "A[3]")]),
        (
            56,
            [("", "A[0] A[1] A[2] A[3] A[4] A[5] A[6]"), ("A[0-6]", "")],
        ),
        (
            60,
            [
                ("", "A[0] A[1] A[2] A[3] A[4] A[5] A[6] A[7]"),
                ("A[0-6]", "A[7]"),
            ],
        ),
        (64, [("A[0-7]", ""), ("A[0-7]", "")]),
        (72, [("A[0-7]", "A[8]"), ("A[0-7]", "A[8]")]),
        (
            96,
            [("A[0-7]", "A[8] A[9] A[10] A[11]"), ("A[0-7] A[8-11]", "")],
        ),
        (
            104,
            [
                ("A[0-7] S[indirect] A[8-11]", "A[12] A[indirect]"),
                ("A[0-7] A[8-11]", "A[12]"),
            ],
        ),
        // The table has no overwriting here; by its rules the last cluster is whole.
        (
            160,
            [
                ("A[0-7] S[indirect] A[8-11] A[12-19]", "A[indirect]"),
                ("A[0-7] A[8-11] A[12-19]", ""),
            ],
        ),
    ];
    for (kb, row) in table {
        assert_row(tiny(), kb, FlushClustering::Off, row);
    }
}

#[test]
fn a_tail_behind_its_predecessor_keeps_a_cluster_from_being_written() {
    // 30 KB whose fragment follows block 2: the run of the overwritten file counts it, and it never comes.
    let options = [
        ("preset", Some("tiny")),
        ("nrpos", Some("1")),
        ("policy", Some("smartfrag")),
    ];
    let row = [("", "A[0] A[1] A[2] A[3]"), ("", "A[0] A[1] A[2] A[3]")];
    assert_row(tiny_with(&options), 30, FlushClustering::Off, row);
}

#[test]
fn clusters_of_scattered_files_are_those_of_the_table() {
    // One block is left free between two used ones; then three in a row and five.
    let scattered = with_holes(&[1; 8]);
    let row = [("A[0] A[1] A[2] A[3] A[4] A[5] A[6]", "A[7]"); 2];
    assert_row(scattered, 64, FlushClustering::Off, row);
    let broken = with_holes(&[3, 5]);
    let row = [
        ("A[0-2]", "A[3] A[4] A[5] A[6] A[7]"),
        ("A[0-2] A[3-7]", ""),
    ];
    assert_row(broken, 64, FlushClustering::Off, row);
}

#[test]
fn with_neighbors_flushed_together_an_unfinished_cluster_is_one_request() {
    let table: [(u64, Row); 3] = [
        (16, [("", "A[0-1]"), ("A[0-1]", "")]),
        (56, [("", "A[0-6]"), ("A[0-6]", "")]),
        (96, [("A[0-7]", "A[8-11]"), ("A[0-7] A[8-11]", "")]),
    ];
    for (kb, row) in table {
        assert_row(tiny(), kb, FlushClustering::File, row);
    }
}
