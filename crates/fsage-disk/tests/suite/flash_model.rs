//! Flash: the worked examples of docs/spec/flash.md, section 7, the extensions of section 8, one by one, what is said
//! of drives that cannot be, and what holds for commands that nobody thought of.

use crate::common::shared_vectors;
use fsage_disk::replay::keep_in_flight;
use fsage_disk::{
    Access, Device, FlashDevice, FlashDrive, Hint, Precondition, Request, Service, Spared, Spread,
    presets,
};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// A preset with options.
fn device(name: &str, options: &str) -> FlashDevice {
    let drive = FlashDrive::preset(name).expect("a preset");
    let drive = drive
        .with_options(options)
        .unwrap_or_else(|e| panic!("{e}"));
    FlashDevice::new(&drive)
}

/// The same with `sectors` written from the first on, at rest.
fn filled(name: &str, options: &str, sectors: u64) -> FlashDevice {
    let mut device = device(name, options);
    let all = Precondition::Sequential {
        first: 0,
        sectors,
        each: 512,
    };
    device.precondition(&all).expect("on the device");
    device.rest();
    device
}

fn read(lba: u64, sectors: u32) -> Request {
    Request::new(Access::Read, lba, sectors)
}

fn write(lba: u64, sectors: u32) -> Request {
    Request::new(Access::Write, lba, sectors)
}

fn fua(lba: u64, sectors: u32) -> Request {
    Request {
        fua: true,
        ..write(lba, sectors)
    }
}

fn done(device: &FlashDevice, requests: &[Request]) -> Vec<u64> {
    let mut device = device.clone();
    let done = |&request| device.submit(0, request).done_ns;
    requests.iter().map(done).collect()
}

#[test]
fn the_worked_examples_come_out() {
    let device = filled("emu24", "core", 32_768);
    let table: [(&[Request], &[u64]); 9] = [
        (&[read(0, 8)], &[57_276]),
        (&[read(512, 8)], &[69_276]),
        (&[read(0, 64)], &[108_023]),
        (&[read(0, 512)], &[160_023]),
        (&[write(0, 8)], &[5_612]),
        (&[fua(0, 8)], &[5_612]),
        (&[fua(1024, 64)], &[240_808]),
        (
            &[write(0, 512), write(512, 512), write(1024, 512)],
            &[107_168, 183_168, 255_168],
        ),
        (
            &[read(0, 8), read(64, 8), read(512, 8)],
            &[57_276, 57_276, 103_900],
        ),
    ];
    for (requests, expected) in table {
        assert_eq!(done(&device, requests), expected, "{requests:?}");
    }
    // 48 sectors fill a unit that has two pages; the program goes on behind the write.
    let mut device = device.clone();
    device.submit(0, write(0, 16));
    device.rest();
    assert_eq!(done(&device, &[write(16, 48)]), [13_672]);
    let partitions = filled("nvme_mlc", "core", 65_536);
    for (request, expected) in [
        (read(0, 8), 57_276),
        (read(0, 32), 61_276),
        (read(0, 64), 80_535),
        (read(0, 256), 120_023),
        (read(32, 256), 114_007),
    ] {
        assert_eq!(done(&partitions, &[request]), [expected], "{request:?}");
    }
}

#[test]
fn the_parts_of_a_time_are_those_of_the_operation_that_ended_last() {
    let mut device = filled("emu24", "core", 32_768);
    device.submit(0, read(0, 8));
    let second = device.submit(0, read(512, 8)).components;
    let parts = (
        second.overhead_ns,
        second.die_ns,
        second.cell_ns,
        second.channel_ns,
        second.link_ns,
    );
    // The first read holds the die until 56,124.
    assert_eq!(parts, (21_500, 34_624, 41_760, 4_864, 1_152));
    let through = device.submit(1_000_000, fua(1024, 64)).components;
    assert_eq!((through.overhead_ns, through.link_ns), (7_680, 9_216));
    assert_eq!((through.channel_ns, through.cell_ns), (38_912, 185_000));
}

#[test]
fn a_controller_takes_a_command_at_a_time() {
    let mut device = filled("nvme_mlc_p1", "core,command_read_ns=2000", 32_768);
    let starts: Vec<u64> = (0..3)
        .map(|i| device.submit(0, read(64 * i, 8)).components.queue_ns)
        .collect();
    assert_eq!(starts, [0, 2000, 4000]);
}

#[test]
fn the_page_register_saves_sensing_the_same_page_again() {
    let twice = |options| {
        let device = filled("emu24", options, 32_768);
        done(&device, &[read(0, 8), read(8, 8)])[1]
    };
    // 29,760 for the second sense; both wait for the die.
    assert_eq!(twice("core") - twice("core,page_register=true"), 29_760);
    let mut device = filled("emu24", "core,page_register=true", 32_768);
    device.submit(0, read(0, 8));
    // A program of die 0 forgets it.
    device.submit(1_000_000, write(2048, 512));
    let third = device.submit(10_000_000, read(8, 8));
    assert_eq!(third.components.cell_ns, 29_760);
}

#[test]
fn what_is_in_the_buffer_is_read_from_there() {
    let after_write = |options, sectors| {
        let mut device = filled("emu24", options, 32_768);
        let written = device.submit(0, write(0, sectors)).done_ns;
        device.submit(written, read(0, 8)).service_ns()
    };
    // Eight pages are on their way to flash, one stays in the buffer. Overhead, and the link.
    assert_eq!(after_write("core,buffer_hits=true", 64), 22_652);
    assert_eq!(after_write("core,buffer_hits=true", 8), 22_652);
    assert!(after_write("core", 64) > 185_000);
    let mut device = filled("emu24", "core,buffer_hits=true", 32_768);
    device.submit(0, write(0, 64));
    assert_eq!(device.submit(1_000_000, read(0, 8)).service_ns(), 57_276);
}

#[test]
fn reading_what_was_never_written_takes_controller_and_link() {
    assert_eq!(done(&device("emu24", "core"), &[read(0, 8)]), [0]);
    let cost = device("emu24", "core,unmapped_reads_cost=true");
    assert_eq!(done(&cost, &[read(0, 8)]), [22_652]);
}

#[test]
fn a_part_of_a_page_is_read_before_it_is_written() {
    let options = "core,partial_page_reads=true";
    let device = filled("emu24", options, 32_768);
    // The old page: 4,460 of the controller, 29,760, and 4,864 on the channel.
    assert_eq!(done(&device, &[write(2, 4)]), [39_084]);
    assert_eq!(done(&device, &[write(0, 8)]), [5_612]);
    assert_eq!(done(&device, &[write(40_000, 4)]), [5_612]);
    let plain = filled("emu24", "core", 32_768);
    assert_eq!(done(&plain, &[write(2, 4)]), [5_612]);
}

#[test]
fn a_controller_without_the_whole_map_reads_what_it_lacks() {
    let mut device = filled("emu24", "core,mapping_cache_segments=2", 40_960);
    let misses = |device: &FlashDevice| device.flash_counters().map_misses;
    let before = misses(&device);
    // Segments of 8192 sectors: the last two are held, with changes.
    let hit = device.submit(0, read(32_768, 8));
    assert_eq!((hit.service_ns(), misses(&device)), (57_276, before));
    let miss = device.submit(1_000_000, read(64, 8));
    assert_eq!(misses(&device), before + 1);
    // A sense of 4 KB on the die of the segment goes before: 29,760 or 41,760, and 4,864.
    assert_eq!(miss.service_ns(), 57_276 + 29_760 + 4_864);
}

#[test]
fn pages_can_be_dealt_in_smaller_parts_than_are_programmed() {
    let mut device = device("emu24", "core,deal_bytes=4096");
    let window = |device: &FlashDevice, pages: std::ops::Range<u64>| {
        let mut spread = Spread::default();
        device.add_spread(&mut spread, pages, 256);
        (spread.die_balance(), spread.page_use())
    };
    device.submit(0, write(0, 64));
    // Eight pages are on eight dies, and none of their units is full.
    assert_eq!(window(&device, 0..8).0, Some(1.0));
    assert_eq!(device.flash_counters().host_programs, 0);
    for i in 1..8 {
        device.submit(0, write(64 * i, 64));
    }
    assert_eq!(device.flash_counters().host_programs, 8);
    device.check().expect("a map that fits");
}

#[test]
fn planes_can_be_dies_of_their_own() {
    let together = filled("emu24", "core", 32_768);
    let apart = filled("emu24", "core,independent_planes=2", 32_768);
    // Both halves of what was one flash page, at the same time.
    let requests = [read(0, 8), read(32, 8)];
    assert_eq!(done(&together, &requests)[1], 57_276 + 29_760 + 4_864);
    assert!(done(&apart, &requests)[1] < 57_276 + 29_760);
}

#[test]
fn a_read_suspends_a_program() {
    let first_read = |options| {
        let mut device = filled("emu24", options, 32_768);
        device.submit(0, write(0, 64));
        // The program of 185 us has begun at about 56 us.
        let read = device.submit(70_000, read(512, 8));
        let next = device.submit(70_000, Request::new(Access::Flush, 0, 0));
        (read.components, next.done_ns)
    };
    let (plain, free) = first_read("core");
    let (suspended, later) = first_read("core,suspend_program_ns=20000");
    assert_eq!(plain.die_ns, 240_808 - 91_500);
    assert_eq!(suspended.die_ns, 20_000);
    // The program ends later by the read; without, the read is behind it.
    assert_eq!(later, free);
}

#[test]
fn a_device_reads_ahead_of_reads_in_a_row() {
    let options = "core,read_ahead_bytes=131072";
    let mut device = filled("emu24", options, 32_768);
    let mut at_ns = 0;
    let mut times = Vec::new();
    for i in 0..4 {
        let service = device.submit(at_ns, read(8 * i, 8));
        times.push(service.service_ns());
        at_ns = service.done_ns + 1_000_000;
    }
    // The first two are sensed; then there is nothing but controller and link.
    assert_eq!(times[2..], [22_652, 22_652]);
    device.submit(at_ns, write(32, 8));
    let written = device.submit(at_ns + 10_000_000, read(32, 8));
    assert!(
        written.service_ns() > 50_000,
        "what was written is read again"
    );
}

#[test]
fn a_flush_pads_what_is_open_or_takes_what_it_takes() {
    let flush = Request::new(Access::Flush, 0, 0);
    let run = |options| {
        let mut device = filled("emu24", options, 32_768);
        device.submit(0, write(0, 8));
        let time_ns = device.submit(10_000, flush).service_ns();
        device.check().expect("a map that fits");
        (time_ns, device.flash_counters().padded_pages)
    };
    assert_eq!(run("core"), (0, 0));
    // A program unit over the channel, and 185 us.
    assert_eq!(run("core,flush_pads=true"), (38_912 + 185_000, 7));
    assert_eq!(run("core,flush_ns=10000"), (10_000, 0));
    let through = |options| done(&filled("emu24", options, 32_768), &[fua(0, 8)])[0];
    assert_eq!(through("core,flush_ns=10000"), 5_612);
    assert!(through("core,flush_pads=true") > 185_000);
}

#[test]
fn a_trim_takes_time_and_unmaps_whole_pages() {
    let mut device = filled("emu24", "core,trim_ns=20000,trim_ns_per_mb=1000", 32_768);
    let trim = Request::new(Access::Trim, 4, 2048);
    assert_eq!(device.submit(0, trim).service_ns(), 21_048);
    assert_eq!(device.flash_counters().trimmed_pages, 255);
    device.check().expect("a map that fits");
}

#[test]
fn a_hint_puts_pages_on_the_next_die() {
    let mut hinted = device("emu24_affinity", "core");
    let mut plain = device("emu24", "core");
    let mut last = None;
    for i in 0..256_u64 {
        let target = write(64 * i, 64);
        let hint = last.map_or(Hint::None, Hint::Append);
        last = Some(target.end() - 8);
        for device in [&mut hinted, &mut plain] {
            device.submit(0, Request { hint, ..target });
            // What others write between is the rest of the stripe.
            device.submit(0, write(1_000_000 + 448 * i, 448));
        }
    }
    let balance = |device: &FlashDevice| {
        let mut spread = Spread::default();
        device.add_spread(&mut spread, 0..2048, 256);
        (spread.die_balance(), spread.page_use())
    };
    // docs/spec/flash.md, section 15: append worst on both.
    assert_eq!(balance(&plain), (Some(0.125), Some(1.0)));
    assert_eq!(balance(&hinted), (Some(1.0), Some(1.0)));
}

#[test]
fn a_collector_can_wait_for_its_reads_and_dies_can_be_dealt_first() {
    for option in [
        "gc_waits_for_reads=true",
        "dies_first=true",
        "suspend_erase_ns=700000",
    ] {
        let mut device = device("sata_tlc", &format!("core,{option},size=64M"));
        let all = device.sectors();
        let fill = Precondition::Sequential {
            first: 0,
            sectors: all,
            each: 64,
        };
        let more = Precondition::Random {
            first: 0,
            sectors: all,
            each: 8,
            writes: 20_000,
            seed: 1,
        };
        device.precondition(&fill).expect("on the device");
        device.precondition(&more).expect("on the device");
        device.check().expect("a map that fits");
        assert!(device.flash_counters().collections > 100, "{option}");
    }
}

/// A preset with its requests a second by requests in flight, reads and writes, and MB/s in a row.
type Row = (
    &'static str,
    &'static [(usize, f64)],
    &'static [(usize, f64)],
    [f64; 2],
);

/// Requests a second at random places, by requests in flight, reads and writes; MB/s of 128 KB in a row, reads and
/// writes, 32 in flight: as docs/spec/flash.md, section 9.2 has them.
#[test]
fn data_sheets_come_out_as_in_the_specification() {
    let per_s = |device: &FlashDevice, depth, requests: Vec<Request>| {
        let count = requests.len() as f64;
        let services = keep_in_flight(&mut device.clone(), depth, 0, requests);
        let end = services.iter().map(|s| s.done_ns).max().expect("requests");
        count * 1e9 / end as f64
    };
    let random = |device: &FlashDevice, access, depth| {
        let mut rng = fsage_core::Rng::new(7);
        let pages = device.sectors().min(1 << 20) / 8;
        let requests = (0..20_000).map(|_| Request::new(access, 8 * rng.below(pages), 8));
        per_s(device, depth, requests.collect())
    };
    let sequential = |device: &FlashDevice, access| {
        let requests = (0..2048).map(|i| Request::new(access, 256 * i, 256));
        per_s(device, 32, requests.collect()) * 0.131_072
    };
    let rows: [Row; 5] = [
        (
            "nvme_mlc",
            &[(1, 15_775.0), (32, 284_851.0), (128, 368_011.0)],
            &[(1, 178_190.0), (32, 570_061.0)],
            [3518.0, 2344.0],
        ),
        (
            "nvme_tlc",
            &[(1, 12_508.0), (32, 282_344.0), (128, 461_766.0)],
            &[(1, 133_690.0), (32, 773_259.0)],
            [3164.0, 3168.0],
        ),
        (
            "sata_tlc",
            &[(1, 14_982.0), (32, 140_573.0)],
            &[(1, 50_834.0), (32, 131_255.0)],
            [576.0, 536.0],
        ),
        (
            "ufs31",
            &[(1, 13_585.0), (32, 118_178.0)],
            &[(1, 92_661.0), (32, 290_306.0)],
            [2239.0, 1185.0],
        ),
        ("emmc51", &[(1, 10_792.0)], &[(1, 13_912.0)], [256.0, 127.0]),
    ];
    for (name, reads, writes, [read, written]) in rows {
        let device = filled(name, "core", 1 << 20);
        let mut pairs = Vec::new();
        for (access, expected) in [(Access::Read, reads), (Access::Write, writes)] {
            for &(depth, expected) in expected {
                pairs.push((
                    format!("{access:?} {depth}"),
                    random(&device, access, depth),
                    expected,
                ));
            }
        }
        pairs.push((
            "read in a row".to_owned(),
            sequential(&device, Access::Read),
            read,
        ));
        pairs.push((
            "write in a row".to_owned(),
            sequential(&device, Access::Write),
            written,
        ));
        for (what, found, expected) in pairs {
            let off = (found / expected - 1.0_f64).abs();
            assert!(off < 0.02, "{name}, {what}: {found}, expected {expected}");
        }
    }
}

/// The write amplification of first-in-first-out cleaning; greedy cleaning is a little better.
fn amplification_of_fifo(pages: f64, in_use: f64) -> f64 {
    let a = pages / in_use;
    // u = 1 - 1/WA is the share of valid pages of a victim: u = exp(-a (1 - u)).
    let mut u = 0.5_f64;
    for _ in 0..10_000 {
        u = (-a * (1.0 - u)).exp();
    }
    1.0 / (1.0 - u)
}

#[test]
fn write_amplification_is_a_little_below_theory() {
    let toml = presets::flash_toml_of("nvme_mlc").expect("a preset");
    let toml = toml
        .replace("physical_bytes = 4294967296", "physical_bytes = 268435456")
        .replace("partitions = 4", "partitions = 1")
        .replace("channels = 8", "channels = 2")
        .replace("blocks_per_die = 128", "blocks_per_die = 256");
    let drive = FlashDrive::parse("small", &toml).unwrap_or_else(|e| panic!("{e}"));
    let drive = drive.with_options("core").expect("an option");
    for share in [100, 90, 80, 70] {
        let mut device = FlashDevice::new(&drive);
        let sectors = device.sectors() * share / 100 / 8 * 8;
        let random = |writes, seed| Precondition::Random {
            first: 0,
            sectors,
            each: 8,
            writes,
            seed,
        };
        let fill = Precondition::Sequential {
            first: 0,
            sectors,
            each: 8,
        };
        let pages = sectors / 8;
        for step in [fill, random(6 * pages, 1)] {
            device.precondition(&step).expect("on the device");
        }
        let before = device.flash_counters().clone();
        device
            .precondition(&random(2 * pages, 2))
            .expect("on the device");
        let after = device.flash_counters();
        let moved = after.collected_pages - before.collected_pages;
        let found = 1.0 + moved as f64 / (2 * pages) as f64;
        let usable = f64::from(65_536 - 4 * 256);
        let theory = amplification_of_fifo(usable, pages as f64);
        let below = 1.0 - found / theory;
        assert!(
            (0.0..0.1).contains(&below),
            "{share} %: {found}, theory {theory}"
        );
        device.check().expect("a map that fits");
    }
}

#[test]
fn presets_are_those_of_the_vectors() {
    let Some(folder) = shared_vectors("flash") else {
        return;
    };
    let text = std::fs::read_to_string(folder.join("configs.json")).expect("configurations");
    let configs: serde_json::Value = serde_json::from_str(&text).expect("configurations");
    for (name, toml) in presets::FLASH_PRESETS {
        let preset: toml::Table = toml.parse().expect("TOML");
        let mut compared = 0;
        for (key, value) in configs[name].as_object().expect("a configuration") {
            let Some(ours) = preset.get(key) else {
                let implied = [
                    "description",
                    "source",
                    "cell_kinds",
                    "early_completion",
                    "vectors",
                ];
                let others = ["logical_sectors", "die_affinity", "user_defaults"];
                assert!(
                    implied.iter().chain(&others).any(|k| k == key),
                    "{name}: {key}"
                );
                continue;
            };
            if key != "source" {
                assert_eq!(
                    &serde_json::to_value(ours).expect("a value"),
                    value,
                    "{name}: {key}"
                );
                compared += 1;
            }
        }
        assert!(compared >= 20, "{name}");
        let sectors = FlashDrive::preset(name).expect("a preset").sectors();
        assert_eq!(configs[name]["logical_sectors"], sectors, "{name}");
    }
}

#[test]
fn every_preset_says_where_its_values_come_from() {
    for (name, text) in presets::FLASH_PRESETS {
        let drive = FlashDrive::parse(name, text).unwrap_or_else(|e| panic!("{e}"));
        for group in [
            "layout",
            "times",
            "bandwidth",
            "buffer",
            "size",
            "extensions",
        ] {
            let source = drive.source.get(group).map_or("", String::as_str);
            assert!(!source.is_empty(), "{name}: {group}");
        }
    }
}

#[test]
fn a_drive_that_cannot_be_is_refused_with_the_name_of_the_key() {
    let toml = presets::flash_toml_of("nvme_mlc").expect("a preset");
    for (line, by, key) in [
        ("partitions = 4", "partitions = 3", "partitions"),
        ("channels = 8", "channels = 7", "partitions"),
        ("channels = 8", "channels = 0", "channels"),
        (
            "physical_bytes = 4294967296",
            "physical_bytes = 1",
            "physical_bytes",
        ),
        (
            "blocks_per_die = 128",
            "blocks_per_die = 12",
            "gc_free_superblocks",
        ),
        (
            "gc_free_superblocks = 2",
            "gc_free_superblocks = 1",
            "gc_free_superblocks",
        ),
        (
            "gc_free_superblocks = 2",
            "gc_free_superblocks = 200",
            "gc_free_superblocks",
        ),
        (
            "program_bytes = 32768",
            "program_bytes = 40960",
            "program_bytes",
        ),
        (
            "flash_page_bytes = 32768",
            "flash_page_bytes = 512",
            "flash_page_bytes",
        ),
        (
            "read_ns = [30013, 42013]",
            "read_ns = [30013]",
            "read_4k_ns",
        ),
        (
            "program_ns = 185000",
            "program_ns = 2000000000",
            "program_ns",
        ),
        (
            "channel_mib_s = 800",
            "channel_mib_s = 8000",
            "channel_mib_s",
        ),
        ("link_mib_s = 3360", "link_mib_s = 0", "link_mib_s"),
        (
            "buffer_bytes = 1048576",
            "buffer_bytes = 131072",
            "buffer_bytes",
        ),
        (
            "trim_ns = 20000",
            "deal_bytes = 12288",
            "extensions.deal_bytes",
        ),
        (
            "trim_ns = 20000",
            "independent_planes = 0",
            "extensions.independent_planes",
        ),
    ] {
        assert!(toml.contains(line), "{line}");
        let error = FlashDrive::parse("my.toml", &toml.replace(line, by)).expect_err(by);
        let message = error.to_string();
        assert!(
            message.starts_with(&format!("my.toml: {key}: ")),
            "{by}: {message}"
        );
    }
    let unknown = toml.replace("program_ns", "programm_ns"); // typos: ignore
    let message = FlashDrive::parse("my.toml", &unknown)
        .expect_err("unknown")
        .to_string();
    assert!(message.contains("unknown field `programm_ns`"), "{message}"); // typos: ignore
    let drive = FlashDrive::preset("nvme_mlc").expect("a preset");
    for (option, words) in [
        ("size=4K", "expected 1M to 7T"),
        ("size=much", "expected a size"),
        ("page_registers=true", "unknown field `page_registers`"),
        ("page_register=7", "expected a boolean"),
        ("flush_ns=x", "flush_ns=x"),
    ] {
        let error = drive
            .clone()
            .with_options(option)
            .expect_err(option)
            .to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn a_device_shows_a_superblock_at_least() {
    // 32 dies, each of which programs 96 KB at once.
    let drive = || FlashDrive::preset("nvme_tlc").expect("a preset");
    assert!(drive().with_options("size=3M").is_ok());
    let error = drive().with_options("size=3068K").expect_err("too small");
    let words = "physical_bytes: expected a superblock at least, a block of each of the 32 dies, \
                 which is 3145728 bytes";
    assert!(error.to_string().contains(words), "{error}");
}

#[test]
fn requests_that_are_not_on_the_device_are_not_taken() {
    let device = device("nvme_mlc_p1", "core");
    let end = device.sectors();
    assert!(device.takes(read(end - 8, 8)) && device.takes(read(0, 512)));
    for request in [
        read(end - 7, 8),
        read(u64::MAX, 8),
        read(0, 0),
        read(0, 520),
        Request::new(Access::Trim, end, 8),
    ] {
        assert!(!device.takes(request), "{request:?}");
    }
    assert!(device.takes(Request::new(Access::Trim, 0, 1 << 22)));
}

/// A small drive with any layout and any extensions; a prime number of dies is one of them.
fn drives() -> impl Strategy<Value = FlashDrive> {
    let layout = (
        1_u32..=5,
        1_u32..=3,
        0_u32..3,
        1_u32..=3,
        8_u32..20,
        any::<bool>(),
        any::<bool>(),
    );
    let switches = prop::collection::vec(any::<bool>(), 9);
    let numbers = (0_u32..4, 0_usize..3, 0_u64..2, 0_u32..3);
    (layout, switches, numbers).prop_map(|(layout, on, numbers)| {
        let (channels, dies, flash_page, units, blocks, split, affinity) = layout;
        let affinity = affinity && !split;
        let (segments, padding, suspend, ahead) = numbers;
        let flash_page = 4096 << flash_page;
        let program = flash_page * units;
        let partitions = if split { channels } else { 1 };
        let all_dies = u64::from(channels * dies);
        // Two units a block.
        let block = u64::from(program) * 2;
        let physical = (block * all_dies * u64::from(blocks)).max(1 << 20);
        let pages = physical / 4096 / u64::from(blocks) * u64::from(blocks - 4);
        let (flush_pads, flush_ns) = [(false, 0), (true, 0), (false, 10_000)][padding];
        let deal = if on[4] && !affinity { 4096 } else { 0 };
        let text = format!(
            "name = \"any\"\nused_in = \"a test\"\nphysical_bytes = {physical}\nlogical_sectors = {}\n\
             partitions = {partitions}\nchannels = {channels}\ndies_per_channel = {dies}\n\
             flash_page_bytes = {flash_page}\nprogram_bytes = {program}\nblocks_per_die = {blocks}\n\
             read_4k_ns = [30000, 40000]\nread_ns = [35000, 45000]\nprogram_ns = 300000\nerase_ns = 2000000\n\
             channel_mib_s = 400\nchannel_chunk_bytes = 8192\nlink_mib_s = 1000\noverhead_4k_read_ns = 5000\n\
             overhead_read_ns = 8000\nbuffer_fixed_ns = 3000\nbuffer_per_4k_ns = 500\nbuffer_bytes = 4194304\n\
             gc_free_superblocks = 2\ndie_affinity = {affinity}\nearly_completion = {}\n[extensions]\n\
             command_read_ns = {}\npage_register = {}\nbuffer_hits = {}\nunmapped_reads_cost = {}\n\
             partial_page_reads = {}\nmapping_cache_segments = {segments}\ndeal_bytes = {deal}\n\
             suspend_program_ns = {}\nsuspend_erase_ns = {}\nread_ahead_bytes = {}\ngc_waits_for_reads = {}\n\
             gc_candidates = {segments}\ngc_idle_ns = {}\ngc_idle_free_superblocks = {}\n\
             flush_pads = {flush_pads}\nflush_ns = {flush_ns}\ndies_first = {}\n",
            (pages - all_dies) * 8,
            on[8],
            2000 * suspend,
            on[0],
            on[1],
            on[2],
            on[3],
            50_000 * suspend,
            70_000 * suspend,
            ahead * 65_536,
            on[6],
            1_000_000 * suspend,
            blocks / 2,
            on[7],
        );
        FlashDrive::parse("any", &text).unwrap_or_else(|e| panic!("{e}\n{text}"))
    })
}

/// Kind, time before it, place, sectors.
type Wish = (u8, u64, f64, u32);

fn request(device: &FlashDevice, (kind, _, place, sectors): Wish) -> Request {
    let aligned = if kind < 128 { 8 } else { 1 };
    let most = if kind % 8 == 7 {
        1 << 20
    } else {
        device.longest_request()
    };
    let sectors = (sectors * aligned).min(most).min(device.sectors() as u32);
    let last = device.sectors() - u64::from(sectors);
    let lba = (last as f64 * place) as u64 / u64::from(aligned) * u64::from(aligned);
    let access = match kind % 8 {
        0 | 1 => Access::Read,
        7 => Access::Trim,
        6 => Access::Flush,
        _ => Access::Write,
    };
    Request {
        access,
        lba,
        sectors,
        fua: kind % 8 == 5,
        hint: match kind % 5 {
            0 => Hint::Append(lba.saturating_sub(8)),
            1 => Hint::Overwrite,
            _ => Hint::None,
        },
    }
}

fn wishes() -> impl Strategy<Value = Vec<Wish>> {
    let think = prop_oneof![3 => Just(0), 1 => 0_u64..5_000_000];
    let place = prop_oneof![0.0_f64..=1.0, 0.0_f64..0.05];
    let sectors = prop_oneof![4 => 1_u32..9, 1 => 1_u32..600];
    prop::collection::vec((any::<u8>(), think, place, sectors), 1..400)
}

fn served(drive: &FlashDrive, wishes: &[Wish]) -> (FlashDevice, Vec<Service>) {
    let mut device = FlashDevice::new(drive);
    let mut at_ns = 0;
    let services = wishes
        .iter()
        .map(|&wish| {
            at_ns += wish.1;
            device.submit(at_ns, request(&device, wish))
        })
        .collect();
    (device, services)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_page_is_lost_or_in_two_places(drive in drives(), wishes in wishes()) {
        let (device, services) = served(&drive, &wishes);
        prop_assert_eq!(device.check(), Ok(()));
        let mut written = BTreeSet::new();
        let (mut start_ns, mut total_ns) = (0, 0);
        for (&wish, service) in wishes.iter().zip(&services) {
            let request = request(&device, wish);
            match request.access {
                Access::Write => written.extend(request.lba / 8..request.end().div_ceil(8)),
                Access::Trim => {
                    for page in request.lba.div_ceil(8)..request.end() / 8 {
                        written.remove(&page);
                    }
                }
                Access::Read | Access::Flush => {}
            }
            prop_assert!(service.done_ns >= service.issue_ns);
            prop_assert_eq!(service.components.total_ns(), service.service_ns());
            let start = service.issue_ns + service.components.queue_ns;
            prop_assert!(start >= start_ns, "commands are taken in order");
            start_ns = start;
            total_ns += service.service_ns();
        }
        prop_assert_eq!(device.counters().time.total_ns(), total_ns);
        // Every page that was written, and no other, has a place.
        let mut found = Spread::default();
        device.add_spread(&mut found, 0..device.sectors() / 8, 1);
        prop_assert_eq!(found.windows, written.len() as u64);
        let mut all = Spread::default();
        device.add_spread(&mut all, written.iter().copied(), 1);
        prop_assert_eq!(all.windows, found.windows);
        prop_assert_eq!(served(&drive, &wishes).1, services);
    }

    #[test]
    fn a_device_that_is_overwritten_for_long_never_runs_out(drive in drives(), seed in any::<u64>()) {
        let mut device = FlashDevice::new(&drive);
        let sectors = device.sectors();
        let steps = [
            Precondition::Sequential { first: 0, sectors, each: 8 },
            Precondition::Random { first: 0, sectors, each: 8, writes: 5 * sectors / 8, seed },
        ];
        for step in &steps {
            prop_assert_eq!(device.precondition(step), Ok(()));
        }
        // A device that rests now and then collects on its own, if it does so.
        for i in 0..100 {
            let at_ns = 3_000_000 * i;
            device.submit(at_ns, write((i * 104_729) % sectors / 8 * 8, 8));
        }
        prop_assert_eq!(device.check(), Ok(()));
        for i in 0..sectors / 16 {
            device.submit(0, fua((i * 8 * 7919) % sectors / 8 * 8, 8));
            device.submit(0, Request::new(Access::Flush, 0, 0));
        }
        prop_assert_eq!(device.check(), Ok(()));
        device.rest();
        prop_assert_eq!(device.check(), Ok(()));
    }
}

fn spared(mut device: FlashDevice, spared: Spared) -> FlashDevice {
    device.spare(spared);
    device
}

/// Eight pieces all lie on die 0, since others got the rest of each stripe. Without collisions they take as long as the
/// same requests for what was written in order.
#[test]
fn without_collisions_pieces_on_one_die_are_read_as_if_written_in_order() {
    for options in ["core", "core,page_register=true"] {
        let device = filled("emu24", options, 32_768);
        let in_order: Vec<Request> = (0..8).map(|i| read(64 * i, 64)).collect();
        let on_one_die: Vec<Request> = (0..8).map(|i| read(512 * i, 64)).collect();
        let no_collisions = Spared {
            collisions: true,
            ..Spared::default()
        };
        let expected = done(&device, &in_order);
        assert!(done(&device, &on_one_die) > expected);
        let device = spared(device, no_collisions);
        assert_eq!(done(&device, &on_one_die), expected);
        // Flash pages that are shared stay so: half of each, on eight dies.
        let halves = |stride: u64| {
            (0..8)
                .map(move |i| read(stride * i, 32))
                .collect::<Vec<_>>()
        };
        let plain = filled("emu24", options, 32_768);
        assert_eq!(done(&device, &halves(512)), done(&plain, &halves(64)));
    }
}

/// Eight pages of eight flash pages on die 0 take as long as the eight pages of one flash page.
#[test]
fn without_shared_pages_scattered_pages_are_read_from_one_flash_page() {
    let device = filled("emu24", "core,page_register=true", 32_768);
    let together: Vec<Request> = (0..8).map(|i| read(8 * i, 8)).collect();
    let apart: Vec<Request> = (0..8).map(|i| read(512 * i, 8)).collect();
    let expected = done(&device, &together);
    assert!(done(&device, &apart) > expected);
    let no_sharing = Spared {
        shared_pages: true,
        ..Spared::default()
    };
    let device = spared(device, no_sharing);
    assert_eq!(done(&device, &apart), expected);
    // Four flash pages at once begin a new one, whatever was read before.
    let alone = done(&filled("emu24", "core", 32_768), &[read(0, 256)]);
    let neither = Spared {
        collisions: true,
        shared_pages: true,
        ..Spared::default()
    };
    let mut behind = spared(filled("emu24", "core", 32_768), neither);
    behind.submit(0, read(4096, 8));
    let later_ns = 4_000_000;
    let done_ns = behind.submit(later_ns, read(0, 256)).done_ns;
    assert_eq!(done_ns - later_ns, alone[0]);
    // The ninth page is where it is: on another die it waits for nobody.
    let ninth = |lba| {
        let requests: Vec<Request> = apart.iter().copied().chain([read(lba, 8)]).collect();
        *done(&device, &requests).last().expect("nine requests")
    };
    assert!(ninth(64) < ninth(4096));
}

/// By hand: sensing a lower page, 32 units on a channel, 32 on the link; and the data of a write alone.
#[test]
fn without_commands_the_controller_takes_no_time() {
    let no_commands = Spared {
        commands: true,
        ..Spared::default()
    };
    let device = spared(filled("emu24", "core", 32_768), no_commands);
    assert_eq!(done(&device, &[read(0, 8)]), [29_760 + 32 * 152 + 32 * 36]);
    assert_eq!(done(&device, &[write(0, 8)]), [460 + 32 * 36]);
}

#[test]
fn collection_in_no_time_moves_the_same_pages() {
    let used = 200 << 11;
    let full = filled("nvme_mlc_p1", "core,size=256M", used);
    let mut ends = Vec::new();
    for collection in [false, true] {
        let none = Spared {
            collection,
            ..Spared::default()
        };
        let mut device = spared(full.clone(), none);
        let mut at_ns = 0;
        for i in 0..100_000 {
            at_ns = device
                .submit(at_ns, write(i * 7919 * 8 % used, 8))
                .done_ns
                .max(at_ns);
        }
        device.check().expect("a sound map");
        let counters = device.flash_counters();
        assert!(counters.collections > 0);
        ends.push((
            at_ns,
            counters.collections,
            counters.collected_pages,
            counters.collected_programs,
        ));
    }
    assert!(ends[1].0 < ends[0].0, "{ends:?}");
    assert_eq!(
        (ends[0].1, ends[0].2, ends[0].3),
        (ends[1].1, ends[1].2, ends[1].3)
    );
}

/// Full of data and overwritten at random until it must collect, at rest.
fn worn(options: &str) -> FlashDevice {
    let mut device = filled(
        "nvme_mlc_p1",
        &format!("core,size=256M,{options}"),
        200 << 11,
    );
    let more = Precondition::Random {
        first: 0,
        sectors: 200 << 11,
        each: 8,
        writes: 60_000,
        seed: 1,
    };
    device.precondition(&more).expect("on the device");
    device.rest();
    device
}

/// The fewer superblocks a victim is the best of, the more pages are moved; one that is drawn blindly is the worst.
#[test]
fn victims_that_are_drawn_are_worse_than_the_best() {
    let amplification = |options: &str| {
        let device = worn(options);
        device.check().expect("a sound map");
        let counters = device.flash_counters();
        counters.write_amplification().expect("writes")
    };
    let [best, of_four, blind] =
        ["gc_candidates=0", "gc_candidates=4", "gc_candidates=1"].map(amplification);
    assert!(
        best < of_four && of_four < blind,
        "{best} {of_four} {blind}"
    );
}

/// After a rest of ten seconds there is room for a burst, and none of it waits for collection.
#[test]
fn an_idle_device_collects_so_that_a_burst_need_not() {
    let mut bursts = Vec::new();
    for options in [
        "gc_idle_ns=0",
        "gc_idle_ns=100000000,gc_idle_free_superblocks=8",
    ] {
        let mut device = worn(options);
        let mut burst = |begin_ns: u64| {
            let before = device.flash_counters().collections;
            let mut at_ns = begin_ns;
            // 4 MB, less than a superblock.
            for i in 0..1024 {
                let place = i * 7919 % 51_200 * 8;
                at_ns = device.submit(at_ns, write(place, 8)).done_ns;
            }
            device.check().expect("a sound map");
            (
                device.flash_counters().collections - before,
                at_ns - begin_ns,
            )
        };
        burst(0);
        bursts.push(burst(10_000_000_000));
    }
    let [without, with] = bursts[..] else {
        panic!("{bursts:?}");
    };
    // What was collected in the rest is counted with the burst behind it.
    assert!(with.0 > without.0, "{bursts:?}");
    assert!(with.1 <= without.1, "{bursts:?}");
}
