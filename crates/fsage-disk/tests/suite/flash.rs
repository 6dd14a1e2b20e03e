//! Fidelity of flash: start and completion of every request, to the nanosecond, against NVMeVirt's timing code.
//!
//! Some of the vectors are part of the project, in `tests/vectors/flash` of this crate; all of them lie in
//! `../shared/vectors/flash` beside the project, where that folder is present. docs/spec/flash.md, section 12.1.

use crate::common::{say, shared_vectors};
use flate2::read::GzDecoder;
use fsage_disk::replay::replay;
use fsage_disk::requests::read_vector;
use fsage_disk::{Device, FlashDevice, FlashDrive, scheduler};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

fn own_vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/flash")
}

/// The device of a vector, without extensions.
fn device_of(name: &str) -> FlashDevice {
    let drive = FlashDrive::preset(name).unwrap_or_else(|| {
        let file = own_vectors().join(name).with_extension("toml");
        let text = fs::read_to_string(&file).expect("a drive of the vectors");
        FlashDrive::parse(name, &text).unwrap_or_else(|e| panic!("{e}"))
    });
    let core = drive.with_options("core").expect("an option");
    FlashDevice::new(&core)
}

fn text_of(path: &Path) -> String {
    let mut text = String::new();
    let file = File::open(path).expect("a vector");
    GzDecoder::new(file)
        .read_to_string(&mut text)
        .expect("a vector");
    text
}

/// Nanoseconds of a column of milliseconds with six digits.
fn column(text: &str, name: &str) -> Vec<u64> {
    let mut lines = text.lines().filter(|line| !line.starts_with("#pre"));
    lines.next();
    let names: Vec<&str> = lines
        .next()
        .expect("names")
        .trim_start_matches("# ")
        .split_ascii_whitespace()
        .collect();
    let place = names.iter().position(|n| *n == name).expect("the column");
    let value = |line: &str| {
        let field = line.split('\t').nth(place).expect("a field");
        field.replace('.', "").parse().expect("a time")
    };
    lines.map(value).collect()
}

fn header(text: &str, key: &str) -> u64 {
    let mut words = text.lines().next().expect("a header").split(' ');
    let value = words.find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
    value
        .expect("a key of the header")
        .parse()
        .expect("a number")
}

/// Replays a vector; gives its requests, and how many of them differ.
fn compare(path: &Path) -> (usize, usize) {
    let text = text_of(path);
    let name = path.display().to_string();
    let file = read_vector(&name, &mut text.as_bytes(), None).unwrap_or_else(|e| panic!("{e}"));
    let mut device = device_of(&file.disk);
    // Programs of the requests alone: those of the preconditioning happen before.
    let mut prepared = device.clone();
    for step in &file.preconditioning {
        prepared.precondition(step).expect("a step on the device");
    }
    let services = replay(&file, &mut device, &scheduler::Fcfs).unwrap_or_else(|e| panic!("{e}"));
    let starts = column(&text, "start_ms");
    let mut wrong = 0;
    for ((recorded, service), start_ns) in file.requests.iter().zip(&services).zip(starts) {
        assert_eq!(service.components.total_ns(), service.service_ns());
        let same = recorded.service_ns == Some(service.service_ns())
            && service.issue_ns + service.components.queue_ns == start_ns;
        if !same && wrong < 3 {
            say(&format!(
                "{name}: {recorded:?}: {service:?}, expected start {start_ns}"
            ));
        }
        wrong += usize::from(!same);
    }
    device.check().expect("map and counts agree");
    let counters = device.flash_counters();
    assert_eq!(counters.erases, header(&text, "erases"), "{name}");
    let programs = counters.host_programs - prepared.flash_counters().host_programs;
    assert_eq!(programs, header(&text, "host_programs"), "{name}");
    (services.len(), wrong)
}

fn compare_all(folder: &Path) -> usize {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .expect("the folder of vectors")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "gz"))
        .collect();
    files.sort();
    let mut requests = 0;
    let mut wrong = Vec::new();
    for path in &files {
        let (all, differ) = compare(path);
        requests += all;
        if differ > 0 {
            wrong.push((path.file_name(), differ, all));
        }
    }
    say(&format!("{} vectors, {requests} requests", files.len()));
    assert_eq!(wrong, Vec::new());
    files.len()
}

#[test]
fn vectors_of_the_project_are_those_of_the_reference() {
    assert!(compare_all(&own_vectors()) >= 5);
}

#[test]
fn all_vectors_are_those_of_the_reference() {
    let Some(vectors) = shared_vectors("flash") else {
        return;
    };
    assert_eq!(compare_all(&vectors), 151);
}

#[test]
fn every_collection_of_the_tiny_device_is_that_of_the_reference() {
    let text = text_of(&own_vectors().join("tiny.all.tsv.gz"));
    let file = read_vector("tiny.all", &mut text.as_bytes(), None).expect("a vector");
    let mut device = device_of("tiny");
    for step in &file.preconditioning {
        device.precondition(step).expect("a step on the device");
    }
    device.rest();
    device.record_collections(true);
    for recorded in &file.requests {
        device.submit(recorded.time_ns, recorded.request);
    }
    let found: Vec<String> = device
        .collections()
        .iter()
        .map(|c| {
            let (ms, ns) = (c.at_ns / 1_000_000, c.at_ns % 1_000_000);
            let (moved, free) = (c.moved_pages, c.free_superblocks);
            format!("{ms}.{ns:06}\t{}\t{moved}\t{free}", c.superblock)
        })
        .collect();
    let expected = fs::read_to_string(own_vectors().join("tiny.gc.tsv")).expect("the log");
    let expected: Vec<&str> = expected.lines().filter(|l| !l.starts_with('#')).collect();
    assert_eq!(found, expected);
}
