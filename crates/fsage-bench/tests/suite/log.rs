//! Requests of file systems that hold back what they change: an LFS, whose log takes it, and Ext3 with its journal.

use fsage_bench::{FileKey, Part, Simulated, Subject};
use fsage_core::io::{AnyHosted, BufferId};
use fsage_core::{DirId, FileId, FileSystem, Op, Outcome};
use fsage_disk::{Access, Null};
use fsage_host::{Host, HostParams, IoRequest};
use fsage_models::ext3::Ext3;
use fsage_models::lfs::{Lfs, Params, Variant};

const KB: u64 = 1 << 10;
const FILE: FileKey = FileKey(1);
const FIRST_OWN: u64 = 1000;

/// An LFS with one file, all on disk.
fn with_file(bytes: u64) -> Lfs {
    let params = Params {
        segment_bytes: 4 << 20,
        ..Params::of_variant(Variant::Lite2)
    };
    let mut fs = Lfs::new(params).unwrap();
    let create = Op::Create {
        file: FileId(FILE.0),
        dir: DirId::ROOT,
        bytes,
    };
    assert_eq!(fs.apply(&create), Ok(Outcome::Done));
    assert_eq!(fs.apply(&Op::Sync), Ok(Outcome::Done));
    fs
}

/// A subject on a device that takes no time.
fn on_null(fs: Box<dyn AnyHosted>) -> Simulated<dyn AnyHosted, Null> {
    let params = HostParams {
        tail_alone: fs.reads_tail_alone(),
        ..HostParams::preset("sparcstation-2").unwrap()
    };
    let sectors = fs.geometry().size_bytes / 512;
    let host = Host::new(&params, Null::new(sectors), 0, fs.block_bytes());
    Simulated::over(fs, host, FIRST_OWN)
}

fn part(offset: u64, bytes: u64, call_bytes: u64) -> Part {
    Part {
        offset,
        bytes,
        call_bytes,
    }
}

/// Requests of a step.
fn requests(
    subject: &mut Simulated<dyn AnyHosted, Null>,
    step: impl FnOnce(&mut Simulated<dyn AnyHosted, Null>),
) -> Vec<IoRequest> {
    subject.host_mut().record(true);
    step(subject);
    subject.host().recorded().to_vec()
}

/// Reads of the file's blocks and pointers: `S` where the process waits, `A@b` where block b is asked for meanwhile.
fn reads(requests: &[IoRequest], ino: u64) -> String {
    let mut lines = Vec::new();
    for request in requests {
        let wait = match (request.wait, request.asked) {
            (false, Some(asked)) => format!("A@{asked}"),
            _ => "S".to_owned(),
        };
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
    lines.join(" ")
}

/// Bytes of the writes past the cache.
fn log_writes(requests: &[IoRequest]) -> Vec<u64> {
    let raw = |r: &&IoRequest| r.access == Access::Write && r.first.is_none();
    requests.iter().filter(raw).map(|r| r.bytes).collect()
}

#[test]
fn a_file_of_64_kb_is_read_as_the_example_says() {
    // host_io.md, 5.3: "64, LFS, 4 KB blocks".
    let fs = with_file(64 * KB);
    let ino = fs.inode(FileId(FILE.0)).unwrap();
    let mut subject = on_null(Box::new(fs));
    let all = requests(&mut subject, |subject| {
        subject.read(FILE, part(0, 64 * KB, 8 * KB)).unwrap();
    });
    assert_eq!(
        reads(&all, ino),
        "S[0] S[1-2] A@2[3-5] A@4[6-10] A@7[11] S[indirect] A@8[12-15]"
    );
    // The inode map, the inode, and the root with its inode come before it; nothing is written.
    let first = all.iter().position(|r| r.asked.is_some()).unwrap();
    assert_eq!(first, 3, "{all:?}");
    assert!(all.iter().all(|r| r.access == Access::Read));
}

#[test]
fn a_random_read_of_two_blocks_reads_one_too_many() {
    // host_io.md, 5.3: blocks 100, 101, 200, 201 give S[100] S[101-102] S[200] S[201-202].
    let fs = with_file(1024 * KB);
    let ino = fs.inode(FileId(FILE.0)).unwrap();
    let mut subject = on_null(Box::new(fs));
    let all = requests(&mut subject, |subject| {
        for block in [100, 200] {
            subject
                .read(FILE, part(block * 4 * KB, 8 * KB, 8 * KB))
                .unwrap();
        }
    });
    assert_eq!(
        reads(&all, ino),
        "S[indirect] S[100] S[101-102] S[200] S[201-202]"
    );
}

#[test]
fn a_flush_goes_out_in_transfers_of_whole_blocks_and_nothing_waits() {
    // lfs.md: the 116th dirty block starts a segment write (2) of 115 data blocks, one indirect block and the inode
    // (8), which fit one summary (3.2). 117 blocks are 61,952 bytes, six transfers of 65,536, and 6 blocks (14).
    let fs = with_file(1024 * KB);
    let mut subject = on_null(Box::new(fs));
    let blocks = |count: u64| part(100 * 4 * KB, count * 4 * KB, 4 * KB);
    let before = requests(&mut subject, |subject| {
        subject.overwrite(FILE, blocks(115)).unwrap();
    });
    assert!(log_writes(&before).is_empty());
    // Whole blocks are not read before they are overwritten; what leads to them is.
    assert!(
        !before
            .iter()
            .any(|r| matches!(r.first, Some(BufferId::Data { ino, .. }) if ino > 2))
    );
    let flush = requests(&mut subject, |subject| {
        subject.overwrite(FILE, blocks(115)).unwrap();
        subject
            .overwrite(FILE, part(220 * 4 * KB, 4 * KB, 4 * KB))
            .unwrap();
    });
    let mut expected = vec![61_952];
    expected.extend([65_536; 6]);
    expected.push(24_576);
    assert_eq!(log_writes(&flush), expected);
    let mut log = flush.iter().filter(|r| r.first.is_none());
    assert!(log.all(|r| !r.wait));
}

#[test]
fn a_writer_waits_for_the_flush_where_too_much_is_dirty() {
    // lfs.md, 2 and 6: from the wait threshold on the process sleeps until the count of dirty blocks falls.
    let waits = |wait_threshold_blocks| {
        let params = Params {
            wait_threshold_blocks,
            ..Params::of_variant(Variant::Lite2)
        };
        let mut subject = on_null(Box::new(Lfs::new(params).unwrap()));
        let flush = requests(&mut subject, |subject| {
            let dir = subject.mkdir().unwrap();
            subject.create(dir, 120 * 4 * KB, 4 * KB).unwrap();
        });
        let log: Vec<bool> = flush
            .iter()
            .filter(|r| r.first.is_none())
            .map(|r| r.wait)
            .collect();
        assert!(log.len() >= 8, "{log:?}");
        log
    };
    assert!(waits(177).iter().all(|&wait| !wait));
    assert!(waits(100).iter().all(|&wait| wait));
}

#[test]
fn after_a_sync_everything_is_where_the_log_put_it() {
    let fs = with_file(1024 * KB);
    let ino = fs.inode(FileId(FILE.0)).unwrap();
    let mut subject = on_null(Box::new(fs));
    subject
        .overwrite(FILE, part(100 * 4 * KB, 80 * KB, 4 * KB))
        .unwrap();
    let sync = requests(&mut subject, |subject| subject.sync().unwrap());
    assert!(!log_writes(&sync).is_empty());
    // In the cache until it is emptied, and then at the new addresses, in one piece.
    let cached = requests(&mut subject, |subject| {
        subject
            .read(FILE, part(100 * 4 * KB, 80 * KB, 80 * KB))
            .unwrap();
    });
    // Only what is read ahead behind them comes from the device.
    let read = cached.iter().filter_map(|r| match r.first {
        Some(BufferId::Data { ino: its, lbn }) if its == ino => Some((r.wait, lbn)),
        _ => None,
    });
    assert!(
        read.clone().all(|(wait, lbn)| !wait && lbn >= 120),
        "{cached:?}"
    );
    assert!(read.count() <= 1);
    subject.drop_caches().unwrap();
    let map = subject.model().block_map(FileId(FILE.0), 100);
    assert_eq!(map.following, 19);
    let start = map.buffer.unwrap().start_bytes;
    let written = sync.iter().filter(|r| r.first.is_none());
    let mut ranges = written.map(|r| r.start_bytes..r.start_bytes + r.bytes);
    assert!(ranges.any(|range| range.contains(&start)));
}

#[test]
fn a_deleted_file_has_its_pointers_read_and_its_data_dropped() {
    // lfs.md, 9.2: indirect blocks are read to free what they point to; no data are written.
    let fs = with_file(1024 * KB);
    let ino = fs.inode(FileId(FILE.0)).unwrap();
    let mut subject = on_null(Box::new(fs));
    let all = requests(&mut subject, |subject| subject.delete(FILE).unwrap());
    assert_eq!(reads(&all, ino), "S[indirect]");
    assert!(all.iter().all(|r| r.access == Access::Read));
}

#[test]
fn a_sync_of_ext3_writes_its_journal() {
    let fs = Ext3::new(fsage_models::ext3::Params::default()).unwrap();
    let mut subject = on_null(Box::new(fs));
    let dir = subject.mkdir().unwrap();
    let made = requests(&mut subject, |subject| {
        subject.create(dir, 4 * KB, 4 * KB).unwrap();
    });
    assert!(made.iter().all(|r| r.access == Access::Read));
    let sync = requests(&mut subject, |subject| subject.sync().unwrap());
    assert!(!log_writes(&sync).is_empty());
    // A second one finds nothing.
    let again = requests(&mut subject, |subject| subject.sync().unwrap());
    assert_eq!(again, []);
}
