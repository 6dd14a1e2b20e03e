//! What is written when, and in which requests.

use crate::common::{data, device, notation, null_host, params, pointers};
use fsage_core::{Buffer, Flush, Io};
use fsage_disk::Access;
use fsage_host::{FlushClustering, HostParams, Metadata};

fn fill(buffer: Buffer) -> Io {
    Io::Fill(buffer, Flush::Delayed)
}

fn push(ino: u64, first: u32, last: u32) -> Io {
    Io::Push { ino, first, last }
}

/// The requests of a list, then those of the sync that follows.
fn requests(params: &HostParams, io: &[Io]) -> (String, String) {
    let mut host = null_host(params);
    host.execute(io);
    let before = notation(host.recorded());
    host.record(true);
    host.sync();
    host.wait_idle();
    (before, notation(host.recorded()))
}

fn clustering(flush_clustering: FlushClustering) -> HostParams {
    HostParams {
        flush_clustering,
        ..params()
    }
}

#[test]
fn creating_files_leaves_what_the_table_says_to_sync() {
    // docs/spec/host_io.md, section 4.5, creating: what a model tells of it, and the two columns.
    let blocks = |range: std::ops::Range<u32>| range.map(|lbn| fill(data(3, lbn)));
    let tail = |lbn, bytes| {
        fill(Buffer {
            bytes,
            ..data(3, lbn)
        })
    };
    let mut kb30: Vec<Io> = blocks(0..3).collect();
    kb30.push(tail(3, 6144));
    let mut kb64: Vec<Io> = blocks(0..8).collect();
    kb64.push(push(3, 0, 7));
    let mut kb72 = kb64.clone();
    kb72.extend(blocks(8..9));
    let mut kb104 = kb64.clone();
    kb104.extend(blocks(8..12));
    kb104.push(Io::Fill(pointers(3), Flush::Sync));
    kb104.push(push(3, 8, 11));
    kb104.extend(blocks(12..13));
    kb104.push(Io::Modify(pointers(3), Flush::Delayed));
    let table = [
        (blocks(0..1).collect(), "", "A[0]"),
        (blocks(0..2).collect(), "", "A[1] A[0]"),
        (kb30, "", "A[3] A[2] A[1] A[0]"),
        (
            blocks(0..7).collect(),
            "",
            "A[6] A[5] A[4] A[3] A[2] A[1] A[0]",
        ),
        (kb64, "A[0-7]", ""),
        (kb72, "A[0-7]", "A[8]"),
        (kb104, "A[0-7] S[indirect] A[8-11]", "A[indirect] A[12]"),
    ];
    for (io, at_once, delayed) in table {
        let expected = (at_once.to_owned(), delayed.to_owned());
        assert_eq!(requests(&params(), &io), expected, "{io:?}");
    }
}

#[test]
fn a_push_splits_where_blocks_are_not_neighbors_clean_or_too_many() {
    let apart = Buffer {
        start_bytes: 1 << 20,
        ..data(3, 2)
    };
    let mut io: Vec<Io> = (0..2).map(|lbn| fill(data(3, lbn))).collect();
    io.push(fill(apart));
    io.extend((3..6).map(|lbn| fill(data(3, lbn))));
    io.push(Io::Modify(data(3, 4), Flush::Sync));
    io.push(push(3, 0, 9));
    assert_eq!(requests(&params(), &io).0, "S[4] A[0-1] A[2] A[3] A[5]");
    // No request is longer than 64 KB, which are 8 blocks.
    let mut io: Vec<Io> = (0..20).map(|lbn| fill(data(3, lbn))).collect();
    io.push(push(3, 0, 19));
    assert_eq!(requests(&params(), &io).0, "A[0-7] A[8-15] A[16-19]");
}

#[test]
fn clustering_when_flushing_takes_neighbors_of_the_file_along() {
    let mut io: Vec<Io> = (0..11).map(|lbn| fill(data(3, lbn))).collect();
    io.push(fill(Buffer {
        bytes: 3072,
        ..data(3, 11)
    }));
    // From the tail, dirtied last, downward as far as 64 KB go; then the rest.
    let together = requests(&clustering(FlushClustering::File), &io);
    assert_eq!(together.1, "A[4-11] A[0-3]");
    let singly = "A[11] A[10] A[9] A[8] A[7] A[6] A[5] A[4] A[3] A[2] A[1] A[0]";
    assert_eq!(requests(&params(), &io).1, singly);
}

#[test]
fn clustering_by_file_stops_at_other_files_and_by_device_does_not() {
    let at = |buffer: Buffer, start_bytes| Buffer {
        start_bytes,
        ..buffer
    };
    // Four neighbors on the device: two files, and a block of the file system itself.
    let io = [
        fill(at(data(3, 0), 65_536)),
        fill(at(data(3, 1), 73_728)),
        fill(at(data(4, 0), 81_920)),
        fill(device(90_112)),
    ];
    let by_file = requests(&clustering(FlushClustering::File), &io).1;
    assert_eq!(by_file, "A[0] A[0-1] A[device 90112]");
    let mut host = null_host(&clustering(FlushClustering::Device));
    host.execute(&io);
    host.sync();
    let all = host.recorded();
    assert_eq!(all.len(), 1);
    assert_eq!((all[0].start_bytes, all[0].bytes), (65_536, 4 * 8192));
}

/// docs/spec/cffs.md, section 8: up to 64 KB in a forced write, up to 256 KB in a sync of everything.
#[test]
fn a_forced_write_takes_dirty_neighbors_along_and_a_sync_writes_longer_ones() {
    let params = HostParams {
        sync_transfer_bytes: 262_144,
        ..clustering(FlushClustering::DeviceForced)
    };
    let mut host = null_host(&params);
    let mut io: Vec<Io> = (0..40).map(|lbn| fill(data(3, lbn))).collect();
    io.push(Io::Modify(data(3, 4), Flush::Sync));
    host.execute(&io);
    // Upward first: 4 to 11 are 64 KB.
    assert_eq!(notation(host.recorded()), "S[4-11]");
    host.record(true);
    host.sync();
    assert_eq!(notation(host.recorded()), "A[12-39] A[0-3]");
    let mut alone = null_host(&clustering(FlushClustering::Device));
    alone.execute(&io);
    assert_eq!(notation(alone.recorded()), "S[4]");
}

/// The same section: a read grows in its group on both sides until a block is in the cache.
#[test]
fn a_block_that_is_needed_with_its_group_is_read_with_its_neighbors() {
    let mut host = null_host(&params());
    let block = |n: u64| device(65_536 + n * 8192);
    let group = (65_536, 6 * 8192);
    host.execute(&[Io::Need(block(4))]);
    host.record(true);
    host.execute(&[
        Io::NeedGroup(block(2), group),
        Io::NeedGroup(block(3), group),
        Io::Need(block(0)),
        Io::NeedGroup(block(5), group),
    ]);
    let reads: Vec<(u64, u64)> = host
        .recorded()
        .iter()
        .map(|one| ((one.start_bytes - 65_536) / 8192, one.bytes / 8192))
        .collect();
    assert_eq!(reads, [(0, 4), (5, 1)]);
}

#[test]
fn sync_writes_the_newest_file_first_then_the_device_then_the_superblock() {
    let mut host = null_host(&params());
    host.set_superblock(vec![Io::Fill(device(8192), Flush::Async)]);
    host.execute(&[
        Io::Modify(device(65_536), Flush::Delayed),
        fill(data(3, 0)),
        fill(data(4, 0)),
        fill(data(3, 1)),
        fill(data(4, 1)),
        Io::Modify(device(73_728), Flush::Delayed),
    ]);
    host.record(true);
    host.sync();
    let order: Vec<u64> = host.recorded().iter().map(|one| one.start_bytes).collect();
    let expected = [data(4, 1), data(4, 0), data(3, 1), data(3, 0)].map(|one| one.start_bytes);
    assert_eq!(order[..4], expected);
    assert_eq!(order[4..], [73_728, 65_536, 8192]);
    assert!(host.recorded().iter().all(|one| !one.wait));
    // Nothing has changed since.
    host.record(true);
    host.sync();
    assert_eq!(notation(host.recorded()), "");
}

#[test]
fn changing_a_dirty_buffer_again_does_not_move_it() {
    let mut host = null_host(&params());
    host.execute(&[fill(data(3, 0)), fill(data(3, 1)), fill(data(3, 0))]);
    host.sync();
    assert_eq!(notation(host.recorded()), "A[1] A[0]");
}

#[test]
fn fsync_writes_one_file_and_then_its_inode() {
    let mut host = null_host(&params());
    let inode = Io::Modify(device(65_536), Flush::Sync);
    host.execute(&[
        Io::Need(device(65_536)),
        fill(data(3, 0)),
        fill(data(4, 0)),
        fill(pointers(3)),
    ]);
    host.record(true);
    host.fsync(3, &[inode]);
    assert_eq!(
        notation(host.recorded()),
        "A[indirect] A[0] S[device 65536]"
    );
    host.record(true);
    host.sync();
    assert_eq!(notation(host.recorded()), "A[0]");
}

/// With delayed allocation the blocks of a file get their places when it is synced, and not before.
#[test]
fn fsync_writes_what_gets_its_place_only_now() {
    let mut host = null_host(&params());
    let held = |lbn| Io::Fill(data(3, lbn), Flush::Held);
    host.execute(&[held(0), held(1)]);
    let placed = |lbn| {
        let buffer = Buffer {
            start_bytes: 1 << 20 | u64::from(lbn) << 13,
            ..data(3, lbn)
        };
        [Io::Assign(buffer), Io::Modify(buffer, Flush::Delayed)]
    };
    let inode = [
        Io::Need(device(65_536)),
        Io::Modify(device(65_536), Flush::Sync),
    ];
    host.record(true);
    host.fsync(3, &[placed(0), placed(1), inode].concat());
    let written: Vec<u64> = host
        .recorded()
        .iter()
        .map(|one| one.start_bytes)
        .filter(|&start| start >= 1 << 20)
        .collect();
    assert_eq!(written.len(), 2, "{}", notation(host.recorded()));
    host.record(true);
    host.sync();
    assert_eq!(notation(host.recorded()), "", "nothing is left");
}

#[test]
fn soft_updates_delay_what_would_wait() {
    let soft = HostParams {
        metadata: Metadata::SoftUpdates,
        ..params()
    };
    let io = [
        Io::Fill(device(65_536), Flush::Sync),
        Io::Modify(device(65_536), Flush::Sync),
        fill(data(3, 0)),
    ];
    let (before, after) = requests(&soft, &io);
    assert_eq!((&*before, &*after), ("", "A[0] A[device 65536]"));
    let (before, _) = requests(&params(), &io);
    assert_eq!(before, "S[device 65536] S[device 65536]");
}

#[test]
fn a_changed_buffer_is_read_first_and_a_filled_one_is_not() {
    let mut host = null_host(&params());
    host.execute(&[
        Io::Modify(device(65_536), Flush::Async),
        Io::Fill(device(73_728), Flush::Async),
        Io::Need(device(73_728)),
    ]);
    let accesses: Vec<(Access, bool)> = host
        .recorded()
        .iter()
        .map(|one| (one.access, one.wait))
        .collect();
    let expected = [
        (Access::Read, true),
        (Access::Write, false),
        (Access::Write, false),
    ];
    assert_eq!(accesses, expected);
    assert_eq!((host.counters().hits, host.counters().misses), (1, 1));
}

#[test]
fn what_is_gone_is_not_written() {
    let mut io: Vec<Io> = (0..4).map(|lbn| fill(data(3, lbn))).collect();
    io.push(fill(pointers(3)));
    io.push(Io::Discard { ino: 3, from: 1 });
    assert_eq!(requests(&params(), &io).1, "A[indirect] A[0]");
    io.push(Io::Forget(pointers(3).id));
    assert_eq!(requests(&params(), &io).1, "A[0]");
    io.push(Io::Discard { ino: 3, from: 0 });
    assert_eq!(requests(&params(), &io).1, "");
}

#[test]
fn a_buffer_that_moved_is_written_where_it_lies_now() {
    let moved = Buffer {
        start_bytes: 1 << 20,
        bytes: 4096,
        ..data(3, 0)
    };
    let mut host = null_host(&params());
    host.execute(&[Io::Fill(data(3, 0), Flush::Async), Io::Place(moved)]);
    // What is not in the cache is not the host's business.
    host.execute(&[Io::Place(data(3, 1))]);
    host.record(true);
    host.sync();
    let written: Vec<(u64, u64)> = host
        .recorded()
        .iter()
        .map(|one| (one.start_bytes, one.bytes))
        .collect();
    assert_eq!(written, [(1 << 20, 4096)]);
}

#[test]
fn a_held_buffer_is_written_by_its_file_system_only() {
    let mut host = null_host(&params());
    let held = |lbn| Io::Fill(data(3, lbn), Flush::Held);
    host.execute(&[held(0), held(1), push(3, 0, 1), fill(data(3, 1))]);
    host.sync();
    host.fsync(3, &[]);
    assert_eq!(notation(host.recorded()), "");
    let assigned = |lbn| {
        Io::Assign(Buffer {
            start_bytes: 1 << 20 | u64::from(lbn) << 13,
            ..data(3, lbn)
        })
    };
    let segment = Io::Raw {
        write: true,
        start_bytes: 1 << 20,
        bytes: 16_384,
        wait: false,
    };
    host.execute(&[assigned(0), assigned(1), segment]);
    assert_eq!(notation(host.recorded()), "A[1048576 of 16384 bytes]");
    // Clean now: sync has nothing to write; a change without a wish to hold it is written at the place that was
    // assigned.
    host.record(true);
    host.sync();
    assert_eq!(notation(host.recorded()), "");
    host.execute(&[Io::Place(Buffer {
        start_bytes: 1 << 20,
        ..data(3, 0)
    })]);
    host.sync();
    assert_eq!(host.recorded()[0].start_bytes, 1 << 20);
}

#[test]
fn a_transfer_past_the_cache_is_cut() {
    let raw = |write, wait| Io::Raw {
        write,
        start_bytes: 512,
        bytes: 150_000,
        wait,
    };
    let mut host = null_host(&params());
    host.execute(&[raw(true, false), raw(false, true)]);
    // 65,536 + 65,536 + 18,928 = 150,000.
    let expected = "A[512 of 65536 bytes] A[66048 of 65536 bytes] A[131584 of 18928 bytes] \
                    S[512 of 65536 bytes] S[66048 of 65536 bytes] S[131584 of 18928 bytes]";
    assert_eq!(notation(host.recorded()), expected);
}

/// A dirty buffer of a range that has changed places with another is written where it is now, and so is the other's.
#[test]
fn buffers_of_ranges_that_were_swapped_are_written_where_they_are() {
    let mut host = null_host(&params());
    let (one, other) = (data(3, 0), data(4, 0));
    let far = Buffer {
        start_bytes: one.start_bytes + (1 << 20),
        ..other
    };
    host.execute(&[
        fill(one),
        fill(far),
        Io::Swapped {
            places: [one.start_bytes, far.start_bytes],
            bytes: 65_536,
        },
    ]);
    host.record(true);
    host.sync();
    host.wait_idle();
    let mut written: Vec<_> = host
        .recorded()
        .iter()
        .map(|request| (request.first, request.start_bytes))
        .collect();
    written.sort_unstable();
    let expected = [
        (Some(one.id), far.start_bytes),
        (Some(far.id), one.start_bytes),
    ];
    assert_eq!(written, expected);
}
