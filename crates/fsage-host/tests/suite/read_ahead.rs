//! Read-ahead, against the worked examples of `docs/spec/host_io.md`, which were made by hand from the original's code.

use crate::common::{INO, TestFile, device, notation, null_host, params, recording};
use fsage_core::Io;
use fsage_disk::{Drive, Null, RotatingDisk};
use fsage_host::{HostParams, ReadAhead};

const FFS: TestFile = TestFile {
    block_bytes: 8192,
    size_bytes: 0,
    contiguous: true,
};

fn kb(kb: u64) -> TestFile {
    TestFile {
        size_bytes: kb * 1024,
        ..FFS
    }
}

/// The requests of reading all of a file into an empty cache.
fn requests(params: &HostParams, file: TestFile) -> String {
    let mut host = recording(params, Null::new(1 << 24), file.block_bytes);
    file.read(&mut host, 0, file.size_bytes);
    notation(host.recorded())
}

/// `docs/spec/host_io.md`, section 5.3: contiguous blocks of 8 KB.
const CONTIGUOUS: [(u64, &str); 14] = [
    (8, "S[0]"),
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

#[test]
fn contiguous_files_are_read_as_in_the_table() {
    for (size, expected) in CONTIGUOUS {
        assert_eq!(requests(&params(), kb(size)), expected, "{size} KB");
    }
}

#[test]
fn the_size_of_a_call_does_not_matter() {
    let file = kb(256);
    let mut host = null_host(&params());
    for call in 0..file.size_bytes / 4096 {
        file.read(&mut host, call * 4096, 4096);
    }
    assert_eq!(notation(host.recorded()), CONTIGUOUS[13].1);
}

#[test]
fn a_fragment_is_read_as_long_as_it_is() {
    // 30 KB end with a fragment of 6 KB.
    let file = kb(30);
    let mut host = null_host(&params());
    file.read(&mut host, 0, file.size_bytes);
    let lengths: Vec<u64> = host.recorded().iter().map(|one| one.bytes).collect();
    assert_eq!(lengths, [8192, 16384, 6144]);
}

#[test]
fn files_without_neighbors_are_read_as_in_the_table() {
    let scattered = |size| TestFile {
        contiguous: false,
        ..kb(size)
    };
    assert_eq!(requests(&params(), scattered(16)), "S[0] S[1]");
    assert_eq!(
        requests(&params(), scattered(64)),
        "S[0] S[1] A@1[2] A@2[3] A@3[4] A@4[5] A@5[6] A@6[7]"
    );
}

/// LFS: blocks of 4 KB, and the tail is read as all others are.
fn lfs() -> HostParams {
    HostParams {
        tail_alone: false,
        ..params()
    }
}

#[test]
fn lfs_reads_as_in_the_table() {
    let file = TestFile {
        block_bytes: 4096,
        ..kb(64)
    };
    let expected = "S[0] S[1-2] A@2[3-5] A@4[6-10] A@7[11] S[indirect] A@8[12-15]";
    assert_eq!(requests(&lfs(), file), expected);
}

#[test]
fn random_reads_of_two_blocks_read_one_too_many() {
    // Seltzer et al. 1995, section 2: blocks 100, 101, 200, 201.
    let file = TestFile {
        block_bytes: 4096,
        ..kb(4096)
    };
    let mut host = recording(&lfs(), Null::new(1 << 24), 4096);
    file.read(&mut host, 100 * 4096, 8192);
    file.read(&mut host, 200 * 4096, 8192);
    assert_eq!(
        notation(host.recorded()),
        "S[indirect] S[100] S[101-102] S[200] S[201-202]"
    );
}

#[test]
fn the_window_does_not_grow_while_a_block_is_read_in_pieces() {
    // By the rules of section 5.2: block 5 is not sequential the first time. The second time it is, and the window
    // is left at 0, so that one block is read ahead. At block 6 it opens: 1 further block.
    let file = kb(96);
    let mut host = null_host(&params());
    for piece in 10..13 {
        file.read(&mut host, piece * 4096, 4096);
    }
    assert_eq!(notation(host.recorded()), "S[5] A@5[6] A@6[7-8]");
}

#[test]
fn the_window_shrinks_when_what_was_read_ahead_has_been_reused() {
    // By the rules of section 5.2: after S[0] S[1-2] the window is 1 and block 2 the last. Lost, it is read again
    // with a window of 1. After A@2[3-5] the window is 2, and half of it when block 3 is lost: 1 further block.
    for (blocks, lost) in [(2, "S[2-3]"), (3, "S[3-4]")] {
        let file = kb(96);
        let small = HostParams {
            cache_bytes: 8 * 8192,
            ..params()
        };
        let mut host = null_host(&small);
        file.read(&mut host, 0, blocks * 8192);
        let others: Vec<Io> = (0..8).map(|n| Io::Need(device(n * 8192))).collect();
        host.execute(&others);
        host.record(true);
        file.read(&mut host, blocks * 8192, 8192);
        assert_eq!(notation(host.recorded()), lost);
    }
}

#[test]
fn without_read_ahead_every_block_is_one_request() {
    let params = HostParams {
        read_ahead: ReadAhead::None,
        ..params()
    };
    assert_eq!(requests(&params, kb(32)), "S[0] S[1] S[2] S[3]");
}

#[test]
fn what_was_read_is_not_read_again() {
    let file = kb(256);
    let mut host = null_host(&params());
    file.read(&mut host, 0, file.size_bytes);
    host.record(true);
    file.read(&mut host, 0, file.size_bytes);
    assert_eq!(notation(host.recorded()), "");
    host.remount();
    file.read(&mut host, 0, file.size_bytes);
    assert_eq!(notation(host.recorded()), CONTIGUOUS[13].1);
}

#[test]
fn a_hole_costs_no_request() {
    let file = kb(64);
    let mut host = null_host(&params());
    let nothing = |_| fsage_core::BlockMap::default();
    host.read(&nothing, INO, file.size_bytes, 0, file.size_bytes);
    assert_eq!(notation(host.recorded()), "");
    assert_eq!(host.counters().misses, 0);
}

#[test]
fn the_process_waits_for_a_block_on_its_way() {
    // Block 3 is asked for while it is read ahead: the clock is then that of its completion, and nothing is read
    // twice.
    let file = kb(32);
    let disk = RotatingDisk::new(&Drive::preset("st32430n").expect("a preset"));
    let mut host = recording(&params(), disk, 8192);
    file.read(&mut host, 0, 3 * 8192);
    let before = host.now_ns();
    file.read(&mut host, 3 * 8192, 8192);
    assert_eq!(notation(host.recorded()), "S[0] S[1-2] A@2[3]");
    assert!(host.now_ns() > before);
    assert_eq!(host.now_ns(), host.counters().wait_ns);
    host.wait_idle();
    assert_eq!(host.now_ns(), host.counters().wait_ns);
}
