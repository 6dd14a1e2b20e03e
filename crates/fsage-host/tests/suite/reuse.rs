//! What stays in the cache and what is reused; busy buffers; groups.

use crate::common::{INO, TestFile, data, device, notation, null_host, params, recording};
use fsage_core::{BlockMap, Buffer, Flush, Io};
use fsage_disk::{Drive, RotatingDisk};
use fsage_host::{FlushClustering, HostParams, ReadAhead};

/// A cache of 8 buffers of 8 KB.
fn small() -> HostParams {
    HostParams {
        cache_bytes: 65_536,
        ..params()
    }
}

fn need(number: u64) -> Io {
    Io::Need(device(number * 8192))
}

fn misses(params: &HostParams, io: &[Io]) -> u64 {
    let mut host = null_host(params);
    host.execute(io);
    host.counters().misses
}

#[test]
fn the_least_recently_used_buffer_is_reused() {
    let mut io: Vec<Io> = (0..8).map(need).collect();
    io.push(need(0));
    // The ninth takes the place of buffer 1, not of 0.
    io.push(need(8));
    assert_eq!(misses(&small(), &io), 9);
    io.push(need(0));
    assert_eq!(misses(&small(), &io), 9);
    io.push(need(1));
    assert_eq!(misses(&small(), &io), 10);
}

#[test]
fn what_was_read_to_its_end_is_reused_first() {
    let file = TestFile {
        block_bytes: 8192,
        size_bytes: 8192,
        contiguous: true,
    };
    for (bytes, oldest_goes) in [(8192, false), (8191, true)] {
        let mut host = null_host(&small());
        host.execute(&(0..7).map(need).collect::<Vec<_>>());
        file.read(&mut host, 0, bytes);
        host.execute(&[need(7)]);
        // Buffer 0 is the oldest: it went only if the block of the file was to be read further.
        let before = host.counters().misses;
        host.execute(&[need(0)]);
        assert_eq!(host.counters().misses > before, oldest_goes, "{bytes}");
    }
}

#[test]
fn what_was_written_in_full_is_reused_first() {
    for (flush, oldest_goes) in [(Flush::Async, false), (Flush::Delayed, true)] {
        let mut host = null_host(&small());
        host.execute(&(0..7).map(need).collect::<Vec<_>>());
        host.execute(&[Io::Fill(data(3, 0), flush)]);
        host.wait_idle();
        host.execute(&[need(7)]);
        let before = host.counters().misses;
        host.execute(&[need(0)]);
        assert_eq!(host.counters().misses > before, oldest_goes, "{flush:?}");
    }
}

#[test]
fn a_dirty_buffer_is_written_before_it_is_reused() {
    let mut io: Vec<Io> = (0..8)
        .map(|lbn| Io::Fill(data(3, lbn), Flush::Delayed))
        .collect();
    io.extend((0..8).map(need));
    let mut host = null_host(&small());
    host.execute(&io);
    // All eight are due before one of them is clean: each is its own request, the oldest first.
    let writes = "A[0] A[1] A[2] A[3] A[4] A[5] A[6] A[7] S[device 0]";
    assert!(notation(host.recorded()).starts_with(writes));
    assert_eq!(host.counters().reused_dirty, 8);
    assert_eq!(host.counters().reused, 8);
    host.record(true);
    host.sync();
    assert_eq!(notation(host.recorded()), "");
}

#[test]
fn neighbors_go_along_with_a_dirty_buffer_that_is_due() {
    let params = HostParams {
        flush_clustering: FlushClustering::File,
        ..small()
    };
    let mut io: Vec<Io> = (0..8)
        .map(|lbn| Io::Fill(data(3, lbn), Flush::Delayed))
        .collect();
    io.push(need(0));
    let mut host = null_host(&params);
    host.execute(&io);
    assert_eq!(notation(host.recorded()), "A[0-7] S[device 0]");
}

#[test]
fn held_buffers_are_never_reused_and_the_cache_grows() {
    let mut host = null_host(&small());
    let held: Vec<Io> = (0..20)
        .map(|lbn| Io::Fill(data(3, lbn), Flush::Held))
        .collect();
    host.execute(&held);
    assert_eq!(notation(host.recorded()), "");
    let needed: Vec<Io> = (0..20).map(|lbn| Io::Need(data(3, lbn))).collect();
    host.execute(&needed);
    assert_eq!((host.counters().hits, host.counters().misses), (20, 0));
}

#[test]
fn a_buffer_that_is_being_written_is_waited_for() {
    let disk = RotatingDisk::new(&Drive::preset("st32430n").expect("a preset"));
    let mut host = recording(&params(), disk, 8192);
    host.execute(&[Io::Fill(data(3, 0), Flush::Async)]);
    assert_eq!(host.now_ns(), 0);
    // Another buffer is none of its business; the same one is.
    host.execute(&[Io::Fill(data(3, 1), Flush::Delayed)]);
    assert_eq!(host.now_ns(), 0);
    host.execute(&[Io::Modify(data(3, 0), Flush::Delayed)]);
    let done = host.now_ns();
    assert!(done > 0);
    host.wait_idle();
    assert_eq!(host.now_ns(), done);
    assert_eq!(host.counters().wait_ns, done);
}

#[test]
fn a_file_that_goes_away_waits_for_its_writes() {
    let disk = RotatingDisk::new(&Drive::preset("st32430n").expect("a preset"));
    let mut host = recording(&params(), disk, 8192);
    host.execute(&[
        Io::Fill(data(3, 0), Flush::Async),
        Io::Discard { ino: 3, from: 0 },
    ]);
    assert!(host.now_ns() > 0);
}

/// A file of blocks of 8 KB that lie in a group of 8 from 1 MB on.
fn grouped(ino: u64, first: u64) -> impl Fn(u32) -> BlockMap {
    move |lbn| BlockMap {
        buffer: Some(Buffer {
            start_bytes: (1 << 20) + (first + u64::from(lbn)) * 8192,
            ..data(ino, lbn)
        }),
        group: Some((1 << 20, 65_536)),
        ..BlockMap::default()
    }
}

/// C-FFS: no read-ahead but by group, and neighbors of whatever file go along.
fn cffs() -> HostParams {
    HostParams {
        read_ahead: ReadAhead::None,
        flush_clustering: FlushClustering::Device,
        ..params()
    }
}

#[test]
fn a_group_is_read_as_a_whole_and_adopted_by_its_files() {
    let mut host = null_host(&cffs());
    host.read(&grouped(3, 2), 3, 8192, 0, 8192);
    host.read(&grouped(4, 5), 4, 8192, 0, 8192);
    let all = host.recorded();
    assert_eq!(all.len(), 1);
    assert_eq!(
        (all[0].start_bytes, all[0].bytes, all[0].wait),
        (1 << 20, 65_536, true)
    );
    assert_eq!((host.counters().misses, host.counters().adopted), (1, 1));
}

#[test]
fn a_group_read_stops_before_what_is_in_the_cache() {
    let mut host = null_host(&cffs());
    // Blocks 1 and 6 of the group are there; block 3 is asked for: 2 to 5 are read.
    for (ino, first) in [(5, 1), (6, 6)] {
        let buffer = grouped(ino, first)(0).buffer.expect("no hole");
        host.execute(&[Io::Need(buffer)]);
    }
    host.record(true);
    host.read(&grouped(3, 3), 3, 8192, 0, 8192);
    let all = host.recorded();
    assert_eq!(all.len(), 1);
    assert_eq!(
        (all[0].start_bytes, all[0].bytes),
        ((1 << 20) + 2 * 8192, 4 * 8192)
    );
}

#[test]
fn blocks_of_a_group_that_were_written_by_several_files_go_out_together() {
    let mut host = null_host(&cffs());
    for place in [4, 2, 3] {
        let buffer = grouped(10 + place, place)(0).buffer.expect("no hole");
        host.execute(&[Io::Fill(buffer, Flush::Delayed)]);
    }
    host.sync();
    let all = host.recorded();
    assert_eq!(all.len(), 1);
    assert_eq!(
        (all[0].start_bytes, all[0].bytes),
        ((1 << 20) + 2 * 8192, 3 * 8192)
    );
}

#[test]
fn a_remount_empties_the_cache_and_loses_nothing() {
    let mut host = null_host(&params());
    host.execute(&[Io::Fill(data(INO, 0), Flush::Delayed), need(0)]);
    host.record(true);
    host.remount();
    assert_eq!(notation(host.recorded()), "A[0]");
    host.record(true);
    host.execute(&[Io::Need(data(INO, 0)), need(0)]);
    assert_eq!(notation(host.recorded()), "S[0] S[device 0]");
}
