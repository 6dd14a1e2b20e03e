//! Any text as the description of a flash device: no panic, every message one line; and what is accepted is a device
//! that serves any commands, whose times add up, and whose map fits together.

#![no_main]

use fsage_disk::{Access, Device, FlashDevice, FlashDrive, Hint, Request};
use libfuzzer_sys::fuzz_target;

/// Larger devices are not made: their map is.
const MOST_BYTES: u64 = 64 << 20;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    // The first line is options, the rest the description.
    let (options, text) = text.split_once('\n').unwrap_or(("", text));
    let preset = FlashDrive::preset("nvme_mlc").expect("a preset");
    if let Err(e) = preset.with_options(options) {
        assert!(!e.to_string().contains('\n'), "{e}");
    }
    let drive = match FlashDrive::parse("fuzz.toml", text) {
        Ok(drive) => drive,
        Err(e) => {
            assert!(!e.to_string().contains('\n'), "{e}");
            return;
        }
    };
    if drive.physical_bytes > MOST_BYTES {
        return;
    }
    let mut device = FlashDevice::new(&drive);
    let end = device.sectors();
    let mut at_ns = 0;
    for (i, &byte) in bytes.iter().cycle().take(512).enumerate() {
        at_ns += u64::from(byte) * 1000;
        let access = [
            Access::Read,
            Access::Write,
            Access::Write,
            Access::Flush,
            Access::Trim,
        ];
        let request = Request {
            fua: byte % 7 == 0,
            hint: if byte % 3 == 0 {
                Hint::Append(u64::from(byte))
            } else {
                Hint::Overwrite
            },
            ..Request::new(
                access[i % 5],
                end * u64::from(byte) / 256,
                1 + u32::from(byte) % 200,
            )
        };
        if device.takes(request) {
            let service = device.submit(at_ns, request);
            assert_eq!(service.components.total_ns(), service.service_ns());
        }
    }
    device.check().expect("a map that fits together");
});
