//! Any bytes as the three files of a Geriatrix profile, separated by a byte 0: no panic, every message one line; and
//! what is accepted is a profile, or says why not.

#![no_main]

use fsage_workload::geriatrix::Triple;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut parts = bytes.splitn(3, |&b| b == 0).map(<[u8]>::to_vec);
    let mut next = |name: &str| (name.to_owned(), parts.next().unwrap_or_default());
    let files = [next("age"), next("size"), next("dir")];
    match Triple::parse(files) {
        Ok(triple) => {
            if let Err(e) = triple.profile().check() {
                assert!(!e.to_string().contains('\n'), "{e}");
            }
        }
        Err(e) => assert!(!e.to_string().contains('\n'), "{e}"),
    }
});
