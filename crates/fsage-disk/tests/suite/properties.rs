//! What holds for requests that nobody thought of.

use fsage_disk::replay::replay;
use fsage_disk::requests::{Mode, Recorded, RequestFile};
use fsage_disk::scheduler::Site;
use fsage_disk::{Access, Device, Drive, Queue, Request, RotatingDisk, presets, scheduler};
use proptest::prelude::*;

/// Time before a request, its direction, where on the disk it is, sectors.
type Wish = (u64, bool, f64, u32);

fn wishes() -> impl Strategy<Value = Vec<Wish>> {
    let think = prop_oneof![Just(0), 0_u64..50_000_000, 0_u64..100_000_000_000];
    let place = prop_oneof![0.0_f64..1.0, 0.5_f64..0.501, Just(0.0), Just(1.0)];
    let sectors = prop_oneof![1_u32..64, Just(128), 1_u32..2000];
    prop::collection::vec((think, any::<bool>(), place, sectors), 1..60)
}

fn request(disk: &RotatingDisk, (_, is_read, place, sectors): Wish) -> Request {
    let last = disk.sectors() - u64::from(sectors);
    Request::new(
        if is_read { Access::Read } else { Access::Write },
        ((last as f64 * place) as u64).min(last),
        sectors,
    )
}

fn drives() -> impl Strategy<Value = Drive> {
    let options = (any::<bool>(), any::<bool>(), 0.0_f64..=1.0, 0.0_f64..=1.0);
    (0..presets::PRESETS.len(), options).prop_map(|(preset, options)| {
        let mut drive = Drive::preset(presets::PRESETS[preset].0).expect("a preset");
        (
            drive.buffer.zero_latency_read,
            drive.buffer.zero_latency_write,
            drive.buffer.read_watermark,
            drive.buffer.write_watermark,
        ) = options;
        // With it, a request may also wait for what the disk still writes: `write_cache.rs`.
        drive.buffer.write_cache_sectors = 0;
        drive
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn time_never_runs_back_and_its_parts_sum_up(drive in drives(), wishes in wishes()) {
        let mut disk = RotatingDisk::new(&drive);
        let (mut at_ns, mut done_ns, mut total_ns) = (0, 0, 0);
        for wish in wishes {
            // Sometimes before the request before it was complete.
            at_ns += wish.0;
            let service = disk.submit(at_ns, request(&disk, wish));
            prop_assert_eq!(service.issue_ns, at_ns);
            prop_assert!(service.done_ns > at_ns && service.done_ns > done_ns);
            prop_assert_eq!(service.components.total_ns(), service.service_ns());
            prop_assert_eq!(service.components.queue_ns, done_ns.saturating_sub(at_ns));
            done_ns = service.done_ns;
            total_ns += service.service_ns();
        }
        prop_assert_eq!(disk.counters().time.total_ns(), total_ns);
    }

    #[test]
    fn the_same_requests_take_the_same_time(drive in drives(), wishes in wishes()) {
        let run = || {
            let mut disk = RotatingDisk::new(&drive);
            let mut now_ns = 0;
            for &wish in &wishes {
                now_ns = disk.submit(now_ns + wish.0, request(&disk, wish)).done_ns;
            }
            now_ns
        };
        prop_assert_eq!(run(), run());
    }

    #[test]
    fn every_scheduler_serves_each_request_once(wishes in wishes(), which in 0..scheduler::ALL.len()) {
        let mut disk = RotatingDisk::new(&Drive::preset("st32430n").expect("a preset"));
        let mut queue = Queue::new(scheduler::ALL[which], 1);
        let mut at_ns = 0;
        for (tag, &wish) in wishes.iter().enumerate() {
            at_ns += wish.0 % 20_000_000;
            queue.arrive(at_ns, tag as u64, request(&disk, wish));
        }
        prop_assert_eq!(queue.len(), wishes.len());
        let mut tags = Vec::new();
        let mut done_ns = 0;
        while let Some(served) = queue.serve(&mut disk) {
            prop_assert!(served.service.done_ns > done_ns);
            prop_assert!(served.service.done_ns > served.service.issue_ns);
            let parts = served.service.components.total_ns();
            prop_assert_eq!(parts, served.service.service_ns());
            done_ns = served.service.done_ns;
            tags.push(served.tag);
        }
        if which == 0 {
            prop_assert!(tags.is_sorted(), "fcfs keeps the order");
        }
        tags.sort_unstable();
        prop_assert_eq!(tags, (0..wishes.len() as u64).collect::<Vec<_>>());
    }

    #[test]
    fn a_queue_takes_what_its_scheduler_picks_of_all_that_wait(
        wishes in prop::collection::vec((0_u64..30_000_000, any::<bool>(), 0.0_f64..1.0, 1_u32..64), 1..120),
        which in 0..scheduler::ALL.len(),
        together in 1_u64..8,
    ) {
        let scheduler = scheduler::ALL[which];
        let mut disk = RotatingDisk::new(&Drive::preset("st32430n").expect("a preset"));
        let mut queue = Queue::new(scheduler, 1);
        // The definition: a list in the order of arrival, and the policy looks at all of it.
        let (mut list, mut twin) = (Vec::<(u64, u64, Request)>::new(), disk.clone());
        let (mut last_lba, mut free_ns, mut at_ns) = (0, 0, 0);
        let mut serve = |list: &mut Vec<(u64, u64, Request)>, disk: &mut RotatingDisk| {
            let now_ns = list[0].0.max(free_ns);
            let arrived: Vec<Request> =
                list.iter().take_while(|(at, ..)| *at <= now_ns).map(|&(.., request)| request).collect();
            let site = Site { device: disk, now_ns, last_lba };
            let next = if list[0].0 >= free_ns { 0 } else { scheduler.next(&arrived, site) };
            let (_, tag, request) = list.remove(next);
            last_lba = request.lba;
            free_ns = disk.submit(now_ns, request).done_ns;
            (tag, free_ns)
        };
        let mut wishes = wishes.iter().enumerate().peekable();
        let mut free = 0;
        while wishes.peek().is_some() || !list.is_empty() {
            // Many at once, and then whatever comes before the device is free.
            for (tag, &wish) in wishes.by_ref().take(together as usize) {
                at_ns += if (tag as u64).is_multiple_of(together) { wish.0 } else { 0 };
                let request = request(&disk, wish);
                queue.arrive(at_ns, tag as u64, request);
                list.push((at_ns, tag as u64, request));
            }
            let until = if wishes.peek().is_some() { at_ns } else { u64::MAX };
            while list.first().is_some_and(|first| first.0.max(free) < until) {
                let (tag, done_ns) = serve(&mut list, &mut twin);
                free = done_ns;
                let served = queue.serve(&mut disk).expect("it waits in both");
                prop_assert_eq!((served.tag, served.service.done_ns), (tag, done_ns));
                prop_assert_eq!(queue.len(), list.len());
            }
        }
        prop_assert!(queue.is_empty() && queue.serve(&mut disk).is_none());
    }

    #[test]
    fn a_replay_is_what_the_device_says(wishes in wishes()) {
        let drive = Drive::preset("dec_rz26").expect("a preset");
        let mut disk = RotatingDisk::new(&drive);
        let requests: Vec<Recorded> = wishes
            .iter()
            .enumerate()
            .map(|(idx, &wish)| Recorded {
                idx: idx as u64,
                time_ns: wish.0,
                request: request(&disk, wish),
                service_ns: None,
            })
            .collect();
        let file = RequestFile {
            disk: String::new(),
            set: String::new(),
            mode: Mode::Closed,
            policy: String::new(),
            preconditioning: Vec::new(),
            requests,
        };
        let services = replay(&file, &mut disk.clone(), &scheduler::Fcfs).expect("requests on the disk");
        let mut now_ns = 0;
        for (recorded, service) in file.requests.iter().zip(services) {
            let expected = disk.submit(now_ns + recorded.time_ns, recorded.request);
            prop_assert_eq!(expected, service);
            now_ns = expected.done_ns;
        }
    }
}
