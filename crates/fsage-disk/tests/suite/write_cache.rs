//! What a drive does that has a write cache.
//!
//! Expected times by hand from the preset `st340016a`: 0.3 ms a command, 7.757576 us a sector on the bus, 8.333 ms a
//! revolution.

use fsage_disk::{Access, Device, Drive, Hit, Request, RotatingDisk};
use proptest::prelude::*;

const OVERHEAD_NS: u64 = 300_000;

fn drive(options: &str) -> Drive {
    let drive = Drive::preset("st340016a").expect("a preset");
    drive.with_options(options).expect("options of a drive")
}

fn at(access: Access, lba: u64, sectors: u32) -> Request {
    Request::new(access, lba, sectors)
}

#[test]
fn a_write_is_complete_when_it_is_in_the_cache_and_can_be_read_from_there() {
    let mut disk = RotatingDisk::new(&drive("write-cache=on"));
    let written = disk.submit(0, at(Access::Write, 40_000_000, 8));
    // 8 sectors on the bus: 62.06 us.
    assert_eq!(written.done_ns, OVERHEAD_NS + 62_060);
    let read = disk.submit(written.done_ns, at(Access::Read, 40_000_002, 4));
    assert_eq!(read.hit, Hit::Old);
    assert_eq!(read.service_ns(), OVERHEAD_NS + 31_030);
    assert_eq!(disk.counters().destages, 0);
    // A second later the media have it, and a read of half of it and more goes there.
    let second = disk.submit(1_000_000_000, at(Access::Read, 40_000_004, 8));
    assert_eq!(second.hit, Hit::No);
    assert_eq!(
        (disk.counters().destages, second.components.queue_ns),
        (1, 0)
    );
}

#[test]
fn a_read_of_what_is_there_in_part_waits_for_the_media() {
    let mut disk = RotatingDisk::new(&drive("write-cache=on"));
    let written = disk.submit(0, at(Access::Write, 40_000_000, 8));
    let read = disk.submit(written.done_ns, at(Access::Read, 40_000_004, 8));
    assert_eq!((read.hit, disk.counters().destages), (Hit::No, 1));
    // The write has gone to the middle of the disk: at least a seek over a third of it, which takes 5 ms.
    assert!(read.components.queue_ns > 5_000_000, "{read:?}");
    assert_eq!(read.components.total_ns(), read.service_ns());
}

#[test]
fn a_full_cache_makes_writes_wait_and_one_that_is_larger_goes_to_the_media() {
    // 64 KB are 128 sectors: 16 writes of 8 sectors.
    let mut disk = RotatingDisk::new(&drive("write-cache=64K"));
    let mut now_ns = 0;
    for i in 0..16 {
        let service = disk.submit(now_ns, at(Access::Write, i * 1_000_000, 8));
        now_ns = service.done_ns;
        assert_eq!(service.components.queue_ns, 0, "write {i}");
    }
    let one_more = disk.submit(now_ns, at(Access::Write, 50_000_000, 8));
    assert_eq!(disk.counters().destages, 1);
    assert_eq!(one_more.components.bus_ns, 62_060);
    // The same place again needs no room.
    let again = disk.submit(one_more.done_ns, at(Access::Write, 50_000_004, 4));
    assert_eq!(
        (again.components.queue_ns, disk.counters().destages),
        (0, 1)
    );
    let large = disk.submit(again.done_ns, at(Access::Write, 0, 256));
    assert!(large.components.media_ns > 0 && large.components.rotation_ns > 0);
}

#[test]
fn sequential_writes_lose_no_rotation() {
    // 64 KB a request over 32 MB: without a cache each waits for most of a revolution, with one the media do not stop.
    let time_ns = |options: &str| {
        let mut disk = RotatingDisk::new(&drive(options));
        let mut now_ns = 0;
        for i in 0..512 {
            now_ns = disk.submit(now_ns, at(Access::Write, i * 128, 128)).done_ns;
        }
        now_ns
    };
    let (through, cached) = (time_ns("write-cache=off"), time_ns("write-cache=on"));
    // 65,536 sectors at 716 a track are 92 revolutions, and as many switches of 198 sectors: 0.98 s in all, of which
    // the last megabyte may still be in the cache.
    assert!((900_000_000..1_000_000_000).contains(&cached), "{cached}");
    assert!(through > 4 * cached, "{through} {cached}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn time_never_runs_back_and_its_parts_sum_up(
        cache_kb in 4_u32..2048,
        wishes in prop::collection::vec((0_u64..20_000_000, any::<bool>(), 0_u64..2000, 1_u32..400), 1..200),
    ) {
        let mut disk = RotatingDisk::new(&drive(&format!("write-cache={cache_kb}K")));
        let (mut at_ns, mut done_ns) = (0, 0);
        for (think_ns, is_read, place, sectors) in wishes {
            at_ns += think_ns;
            let access = if is_read { Access::Read } else { Access::Write };
            // Places that overlap, in two regions.
            let lba = place % 2 * 30_000_000 + place;
            let service = disk.submit(at_ns, at(access, lba, sectors));
            prop_assert!(service.done_ns > at_ns && service.done_ns > done_ns);
            prop_assert_eq!(service.components.total_ns(), service.service_ns());
            prop_assert!(service.components.queue_ns >= done_ns.saturating_sub(at_ns));
            done_ns = service.done_ns;
        }
        // An idle hour empties the cache: what comes then finds the media free.
        let hour_ns = done_ns + 3_600_000_000_000;
        let last = disk.submit(hour_ns, at(Access::Read, 70_000_000, 8));
        prop_assert_eq!(last.components.queue_ns, 0);
    }
}
