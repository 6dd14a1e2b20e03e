//! Flash below a host: windows of read-ahead, several requests in flight, flushes.

use crate::common::{INO, TestFile, data, notation, params, recording};
use fsage_core::{Flush, Io};
use fsage_disk::{Device, FlashDevice, FlashDrive, Null, Precondition};
use fsage_host::{HostParams, ReadAhead};

const FILE: TestFile = TestFile {
    block_bytes: 4096,
    size_bytes: 0,
    contiguous: true,
};

fn kb(kb: u64) -> TestFile {
    TestFile {
        size_bytes: kb * 1024,
        ..FILE
    }
}

fn windows() -> HostParams {
    HostParams {
        read_ahead: ReadAhead::Window,
        max_transfer_bytes: 1 << 20,
        tail_alone: false,
        ..params()
    }
}

/// A drive of which the first GB was written.
fn filled(name: &str) -> FlashDevice {
    let drive = FlashDrive::preset(name).expect("a preset");
    let mut device = FlashDevice::new(&drive);
    let all = Precondition::Sequential {
        first: 0,
        sectors: device.sectors().min(1 << 21),
        each: 64,
    };
    device.precondition(&all).expect("on the device");
    device.rest();
    device
}

fn requests(file: TestFile, call_bytes: u64) -> String {
    let mut host = recording(&windows(), Null::new(1 << 24), file.block_bytes);
    for offset in (0..file.size_bytes).step_by(call_bytes as usize) {
        file.read(&mut host, offset, call_bytes);
    }
    notation(host.recorded())
}

#[test]
fn windows_double_and_the_next_one_is_on_its_way() {
    // By hand, from mm/readahead.c: 4 blocks for the first one; the mark is the second block. 8, 16, then 32 at most.
    assert_eq!(
        requests(kb(400), 4096),
        "S[0-3] A@1[4-11] S[indirect] A@4[12-27] A@12[28-59] A@28[60-91] A@60[92-99]"
    );
    // A call of 128 KB is a whole window, and the next one follows at once.
    assert_eq!(
        requests(kb(384), 131_072),
        "S[0-11] S[indirect] A@0[12-31] A@0[32-63] A@32[64-95]"
    );
}

#[test]
fn what_is_read_at_random_is_not_read_ahead() {
    let file = kb(400);
    let mut host = recording(&windows(), Null::new(1 << 24), file.block_bytes);
    for lbn in [70, 20, 50] {
        file.read(&mut host, lbn * 4096, 8192);
    }
    assert_eq!(
        notation(host.recorded()),
        "S[indirect] S[70-71] S[20-21] S[50-51]"
    );
}

#[test]
fn the_block_in_which_a_file_ends_is_read_too() {
    let file = TestFile {
        size_bytes: 3 * 4096 + 100,
        ..FILE
    };
    assert_eq!(requests(file, 1 << 20), "S[0-2] S[3]");
}

/// Time of reading a file of 4 MB in calls of 128 KB, with so many requests at the device.
fn read_ns(queue_depth: u32) -> u64 {
    let params = HostParams {
        queue_depth,
        max_transfer_bytes: 16_384,
        ..windows()
    };
    let mut host = recording(&params, filled("nvme_mlc_p1"), 4096);
    let file = kb(4096);
    for offset in (0..file.size_bytes).step_by(131_072) {
        file.read(&mut host, offset, 131_072);
    }
    host.now_ns()
}

#[test]
fn requests_in_flight_keep_more_dies_at_work() {
    let [one, four, many] = [1, 4, 64].map(read_ns);
    // A request of 16 KB is on one die: with four of them at once, about a quarter of the time.
    assert!(one > 3 * four, "{one} {four}");
    assert!(four > many, "{four} {many}");
}

#[test]
fn a_device_of_one_request_at_a_time_has_no_more() {
    let params = HostParams {
        queue_depth: 64,
        max_transfer_bytes: 16_384,
        ..windows()
    };
    let device = filled("emmc51");
    let before = device.counters().time.total_ns();
    let mut host = recording(&params, device, 4096);
    let file = kb(1024);
    file.read(&mut host, 0, file.size_bytes);
    // Each request came when the one before was done: their times add up to all of it.
    let device = host.device();
    assert!(device.counters().reads >= 64);
    assert_eq!(device.counters().time.total_ns() - before, host.now_ns());
}

#[test]
fn fsync_flushes_the_device_where_there_are_barriers() {
    let params = HostParams {
        barriers: true,
        ..params()
    };
    let mut host = recording(&params, filled("nvme_mlc_p1"), 8192);
    for lbn in 0..4 {
        host.execute(&[Io::Fill(data(INO, lbn), Flush::Delayed)]);
    }
    host.fsync(INO, &[]);
    assert_eq!(host.device().counters().flushes, 1);
    // Eight pages fill a program unit: 185 us at least, which the writes alone do not wait for.
    assert!(host.now_ns() > 185_000, "{}", host.now_ns());
}

#[test]
fn a_commit_waits_for_a_flush_where_there_are_barriers() {
    for (barriers, flushes) in [(false, 0), (true, 2)] {
        let params = HostParams {
            barriers,
            ..params()
        };
        let mut host = recording(&params, filled("nvme_mlc_p1"), 8192);
        host.fsync(INO, &[Io::Flush]);
        assert_eq!(host.device().counters().flushes, flushes);
    }
}

#[test]
fn requests_are_no_longer_than_the_device_takes() {
    let params = HostParams {
        max_transfer_bytes: 1 << 20,
        ..params()
    };
    let mut host = recording(&params, filled("sata_tlc"), 4096);
    let before = host.device().counters().writes;
    host.execute(&[Io::Raw {
        write: true,
        start_bytes: 0,
        bytes: 4 << 20,
        wait: true,
    }]);
    // 256 KB each.
    assert_eq!(host.device().counters().writes - before, 16);
}
