//! Any bytes as a file of requests: no panic, every message one line; and what is read replays, or is refused, and
//! leaves a flash device whose map is sound.

#![no_main]

use fsage_disk::replay::replay;
use fsage_disk::requests::{RequestError, RequestFile, read_measured, read_vector};
use fsage_disk::{Device, Drive, FlashDevice, FlashDrive, RotatingDisk, scheduler};
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static DISK: LazyLock<RotatingDisk> =
    LazyLock::new(|| RotatingDisk::new(&Drive::preset("wren4").expect("a preset")));

static FLASH: LazyLock<FlashDevice> = LazyLock::new(|| {
    let drive = FlashDrive::preset("emmc51").expect("a preset");
    FlashDevice::new(&drive.with_options("size=64M").expect("an option"))
});

fn look(read: Result<RequestFile, RequestError>, which: usize) {
    match read {
        Ok(file) if file.requests.len() <= 1000 => {
            let (mut disk, mut flash) = (DISK.clone(), FLASH.clone());
            for device in [&mut disk as &mut dyn Device, &mut flash] {
                let result = replay(&file, device, scheduler::ALL[which % 4]);
                if let Err(e) = result {
                    assert!(!e.to_string().contains('\n'), "{e}");
                }
            }
            flash.check().expect("a map that is sound");
        }
        Ok(_) => {}
        Err(e) => assert!(!e.to_string().contains('\n'), "{e}"),
    }
}

fuzz_target!(|bytes: &[u8]| {
    let which = bytes.len();
    for mode in [None, Some("open"), Some("closed"), Some("think")] {
        look(read_vector("fuzz", &mut &bytes[..], mode), which);
    }
    // No fuzzer comes upon the header by chance.
    let mut text =
        b"# disk=d set=s mode=open policy=sptf\nidx issue_ms think_ms op lba nsect done_ms\n"
            .to_vec();
    text.extend_from_slice(bytes);
    look(read_vector("fuzz", &mut text.as_slice(), None), which);
    look(
        read_vector("fuzz", &mut text.as_slice(), Some("think")),
        which,
    );
    look(read_measured("fuzz", &mut &bytes[..], 626_130), which);
});
