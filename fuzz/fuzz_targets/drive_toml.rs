//! Any text as the description of a drive: no panic, every message one line; and what is accepted is a disk that serves
//! requests, whose times add up.

#![no_main]

use fsage_disk::{Access, Device, Drive, Request, RotatingDisk};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let drive = match Drive::parse("fuzz.toml", text) {
        Ok(drive) => drive,
        Err(e) => {
            assert!(!e.to_string().contains('\n'), "{e}");
            return;
        }
    };
    let mut disk = RotatingDisk::new(&drive);
    let end = disk.sectors();
    let mut now_ns = 0;
    for i in 0..64_u64 {
        let request = Request::new(
            if i % 3 == 0 {
                Access::Write
            } else {
                Access::Read
            },
            end * (i % 8) / 8,
            (1 << (i % 9)) as u32,
        );
        if disk.takes(request) {
            let service = disk.submit(now_ns + i * 1_000_000, request);
            assert_eq!(service.components.total_ns(), service.service_ns());
            now_ns = service.done_ns;
        }
    }
});
