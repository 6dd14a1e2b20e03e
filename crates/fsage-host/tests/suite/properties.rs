//! What holds for any list of wishes: nothing that is dirty is lost, all bytes are accounted for, the clock never
//! goes back, and the same list gives the same requests.

use crate::common::{params, recording};
use fsage_core::{BlockMap, Buffer, BufferId, Flush, Io, Work};
use fsage_disk::{Access, Device, Drive, FlashDevice, FlashDrive, Null, RotatingDisk};
use fsage_host::{Cpu, FlushClustering, Host, HostParams, IoRequest, Metadata, ReadAhead};
use proptest::prelude::*;
use std::collections::BTreeMap;

const FILES: u64 = 4;
const BLOCKS: u32 = 14;
const BLOCK: u64 = 8192;

/// What is done to a host: wishes by what they are about, reads of files, calls.
#[derive(Clone, Copy, Debug)]
enum Step {
    Need(BufferId),
    Modify(BufferId, Flush),
    Fill(BufferId, Flush),
    /// The block moves to the other of its two places.
    Place(BufferId),
    Push(u64, u32, u32),
    Discard(u64, u32),
    Forget(BufferId),
    Copy(u32),
    Assign(BufferId),
    Read(u64, u32, u32),
    Fsync(u64),
    Sync,
    Remount,
}

/// What must be written: since which request, and where. A block that moved while it may have been in the cache
/// must have been written at the old place or at the new one.
#[derive(Clone, Default)]
struct Duty {
    places: Vec<(usize, u64)>,
    held: bool,
}

/// Two places for each buffer, apart from all others. Neighbors in a file are neighbors on the device.
fn place(id: BufferId, second: bool) -> u64 {
    let number = match id {
        BufferId::Data { ino, lbn } => ino * 32 + u64::from(lbn),
        BufferId::Pointers { ino, index } => ino * 32 + 20 + u64::from(index),
        BufferId::Device { start_bytes } => 32 * (FILES + 1) + start_bytes,
    };
    (number + u64::from(second) * 1024) * BLOCK
}

#[derive(Default)]
struct Oracle {
    moved: BTreeMap<BufferId, bool>,
    duties: BTreeMap<BufferId, Duty>,
}

impl Oracle {
    fn buffer(&self, id: BufferId) -> Buffer {
        Buffer {
            id,
            start_bytes: place(id, self.moved.get(&id).copied().unwrap_or(false)),
            bytes: BLOCK as u32,
        }
    }

    fn changed(&mut self, id: BufferId, flush: Flush, requests: usize) {
        let at = self.buffer(id).start_bytes;
        let duty = self.duties.entry(id).or_default();
        duty.places = vec![(requests, at)];
        duty.held = match flush {
            Flush::Held => true,
            Flush::Delayed => duty.held,
            Flush::Sync | Flush::Async => false,
        };
    }

    fn gone(&mut self, gone: impl Fn(BufferId) -> bool) {
        self.duties.retain(|id, _| !gone(*id));
    }

    fn check(&self, requests: &[IoRequest]) {
        for (id, duty) in &self.duties {
            let written = duty.places.iter().any(|&(since, at)| {
                requests[since..].iter().any(|one| {
                    let covered =
                        one.start_bytes <= at && at + BLOCK <= one.start_bytes + one.bytes;
                    one.access == Access::Write && covered
                })
            });
            assert_eq!(written, !duty.held, "{id:?}");
        }
    }
}

fn run<D: Device>(params: &HostParams, device: D, steps: &[Step]) -> (Vec<IoRequest>, u64) {
    let mut host = recording(params, device, BLOCK as u32);
    let mut oracle = Oracle::default();
    let soft = |flush| match (flush, params.metadata) {
        (Flush::Sync, Metadata::SoftUpdates) => Flush::Delayed,
        _ => flush,
    };
    let mut clock_ns = 0;
    for &step in steps {
        // If a call of sync by the system is due, it comes here, not within the step.
        host.call();
        let requests = host.recorded().len();
        match step {
            Step::Need(id) => host.execute(&[Io::Need(oracle.buffer(id))]),
            Step::Modify(id, flush) => {
                host.execute(&[Io::Modify(oracle.buffer(id), flush)]);
                oracle.changed(id, soft(flush), requests);
            }
            Step::Fill(id, flush) => {
                host.execute(&[Io::Fill(oracle.buffer(id), flush)]);
                oracle.changed(id, soft(flush), requests);
            }
            Step::Place(id) => {
                let moved = oracle.moved.entry(id).or_default();
                *moved = !*moved;
                let buffer = oracle.buffer(id);
                host.execute(&[Io::Place(buffer)]);
                if let Some(duty) = oracle.duties.get_mut(&id) {
                    duty.places.push((requests, buffer.start_bytes));
                }
            }
            Step::Push(ino, first, last) => host.execute(&[Io::Push { ino, first, last }]),
            Step::Discard(ino, from) => {
                host.execute(&[Io::Discard { ino, from }]);
                oracle.gone(
                    |id| matches!(id, BufferId::Data { ino: i, lbn } if i == ino && lbn >= from),
                );
            }
            Step::Forget(id) => {
                host.execute(&[Io::Forget(id)]);
                oracle.gone(|gone| gone == id);
            }
            Step::Copy(bytes) => host.execute(&[Io::Copy { bytes }, Io::Work(Work::Create)]),
            Step::Assign(id) => {
                host.execute(&[Io::Assign(oracle.buffer(id))]);
                oracle.gone(|gone| gone == id);
            }
            Step::Read(ino, first, blocks) => read(&mut host, &oracle, ino, first, blocks),
            Step::Fsync(ino) => host.fsync(ino, &[]),
            Step::Sync => host.sync(),
            Step::Remount => {
                host.remount();
                oracle.check(host.recorded());
                oracle.duties.clear();
            }
        }
        assert!(host.now_ns() >= clock_ns, "the clock goes back");
        clock_ns = host.now_ns();
    }
    host.sync();
    host.wait_idle();
    oracle.check(host.recorded());
    accounts(&host);
    (host.recorded().to_vec(), host.now_ns())
}

fn read<D: Device>(host: &mut Host<D>, oracle: &Oracle, ino: u64, first: u32, blocks: u32) {
    let map = |lbn: u32| {
        let id = BufferId::Data { ino, lbn };
        let moved = |lbn| oracle.moved.get(&BufferId::Data { ino, lbn }) == Some(&true);
        let following = (lbn + 1..BLOCKS).take_while(|&next| moved(next) == moved(lbn));
        BlockMap {
            buffer: Some(oracle.buffer(id)),
            following: following.count() as u32,
            ..BlockMap::default()
        }
    };
    let size = u64::from(BLOCKS) * BLOCK;
    host.read(
        &map,
        ino,
        size,
        u64::from(first) * BLOCK,
        u64::from(blocks) * BLOCK,
    );
}

/// Requests, counters and device agree, and requests come in the order of time.
fn accounts<D: Device>(host: &Host<D>) {
    let sum = |access| {
        let of = host.recorded().iter().filter(|one| one.access == access);
        of.fold((0, 0), |(n, bytes), one| (n + 1, bytes + one.bytes))
    };
    let (host_counters, device) = (host.counters(), host.device().counters());
    let reads = host_counters.sync_reads + host_counters.async_reads;
    let writes = host_counters.sync_writes + host_counters.async_writes;
    assert_eq!(sum(Access::Read), (reads, host_counters.read_bytes));
    assert_eq!(sum(Access::Write), (writes, host_counters.written_bytes));
    assert_eq!(sum(Access::Read), (device.reads, device.read_bytes));
    assert_eq!(sum(Access::Write), (device.writes, device.written_bytes));
    assert!(host.recorded().is_sorted_by_key(|one| one.issue_ns));
    assert!(host.recorded().iter().all(|one| one.bytes <= 65_536));
    assert_eq!(host.now_ns(), host.cpu_ns() + host_counters.wait_ns);
}

fn any_id() -> impl Strategy<Value = BufferId> {
    let ino = 1..=FILES;
    prop_oneof![
        6 => (ino.clone(), 0..BLOCKS).prop_map(|(ino, lbn)| BufferId::Data { ino, lbn }),
        1 => (ino, 0_u32..2).prop_map(|(ino, index)| BufferId::Pointers { ino, index }),
        2 => (0_u64..16).prop_map(|start_bytes| BufferId::Device { start_bytes }),
    ]
}

fn any_flush() -> impl Strategy<Value = Flush> {
    prop_oneof![
        2 => Just(Flush::Sync),
        2 => Just(Flush::Async),
        6 => Just(Flush::Delayed),
        1 => Just(Flush::Held),
    ]
}

fn any_step() -> impl Strategy<Value = Step> {
    let ino = 1..=FILES;
    prop_oneof![
        3 => any_id().prop_map(Step::Need),
        6 => (any_id(), any_flush()).prop_map(|(id, flush)| Step::Modify(id, flush)),
        10 => (any_id(), any_flush()).prop_map(|(id, flush)| Step::Fill(id, flush)),
        2 => any_id().prop_map(Step::Place),
        3 => (ino.clone(), 0..BLOCKS, 0..BLOCKS).prop_map(|(ino, a, b)| Step::Push(ino, a.min(b), a.max(b))),
        1 => (ino.clone(), 0..BLOCKS).prop_map(|(ino, from)| Step::Discard(ino, from)),
        1 => any_id().prop_map(Step::Forget),
        3 => (0_u32..65_536).prop_map(Step::Copy),
        1 => any_id().prop_map(Step::Assign),
        4 => (ino.clone(), 0..BLOCKS, 1..BLOCKS).prop_map(|(ino, first, n)| Step::Read(ino, first, n)),
        1 => ino.prop_map(Step::Fsync),
        1 => Just(Step::Sync),
        1 => Just(Step::Remount),
    ]
}

fn any_params() -> impl Strategy<Value = HostParams> {
    let clustering = prop_oneof![
        Just(FlushClustering::Off),
        Just(FlushClustering::File),
        Just(FlushClustering::Device),
        Just(FlushClustering::DeviceForced),
    ];
    (
        8_u64..64,
        any::<bool>(),
        clustering,
        prop_oneof![
            Just(ReadAhead::Clustered),
            Just(ReadAhead::Window),
            Just(ReadAhead::None)
        ],
        any::<bool>(),
        prop_oneof![Just(1_u32), 2_u32..40],
    )
        .prop_map(
            |(buffers, soft, flush_clustering, read_ahead, computes, queue_depth)| {
                let ns = u64::from(computes) * 3_000_000;
                let cpu = Cpu {
                    copy_ns_per_4k: ns,
                    create_ns: ns,
                    delete_ns: ns,
                    call_ns: ns,
                    request_ns: ns / 10,
                    further_request_ns: ns / 50,
                };
                let metadata = if soft {
                    Metadata::SoftUpdates
                } else {
                    Metadata::Synchronous
                };
                HostParams {
                    cache_bytes: buffers * BLOCK,
                    metadata,
                    flush_clustering,
                    read_ahead,
                    read_ahead_bytes: 8 * BLOCK as u32,
                    queue_depth,
                    barriers: computes,
                    cpu,
                    sync_interval_ns: ns * 30,
                    ..params()
                }
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_dirty_is_lost(params in any_params(), steps in prop::collection::vec(any_step(), 1..200)) {
        let null = run(&params, Null::new(1 << 16), &steps);
        prop_assert_eq!(&null, &run(&params, Null::new(1 << 16), &steps));
        let drive = Drive::preset("dsp3105").expect("a preset");
        let disk = run(&params, RotatingDisk::new(&drive), &steps);
        prop_assert_eq!(disk, run(&params, RotatingDisk::new(&drive), &steps));
        let drive = FlashDrive::preset("nvme_mlc_p1").expect("a preset");
        let flash = run(&params, FlashDevice::new(&drive), &steps);
        prop_assert_eq!(flash, run(&params, FlashDevice::new(&drive), &steps));
    }
}
