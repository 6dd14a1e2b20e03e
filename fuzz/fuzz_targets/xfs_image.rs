//! Damaged images of XFS, read into the model: no panic, no endless reading, messages of one line; what is read is
//! sound.
//!
//! The first byte chooses the features; then 8 bytes each are a place and a value.

#![no_main]

use fsage_core::FileSystem;
use fsage_models::xfs::{Features, Params, Xfs};
use libfuzzer_sys::fuzz_target;
use pages::{Pages, SIZE, pages_of};
use populated::populate;
use std::sync::LazyLock;

mod pages;
mod populated;

static IMAGES: LazyLock<[Pages; 3]> =
    LazyLock::new(|| [Features::Default, Features::Plain, Features::Rmapbt].map(populated));

fn populated(features: Features) -> Pages {
    let params = Params {
        size_bytes: SIZE,
        features,
        ..Params::default()
    };
    let mut fs = Xfs::new(params).expect("the sizes work");
    populate(&mut fs);
    pages_of(&mut fs)
}

fuzz_target!(|input: &[u8]| {
    let (choice, records) = input.split_first().unwrap_or((&0, &[]));
    let mut image = IMAGES[usize::from(*choice) % 3].clone();
    image.damage(records);
    match Xfs::read_image(None, &image) {
        Ok(mut fs) => {
            assert_eq!(fs.check(), Ok(()));
            let written = pages_of(&mut fs);
            let again = Xfs::read_image(None, &written);
            let mut again = again.unwrap_or_else(|e| panic!("what was written is not read: {e}"));
            assert!(pages_of(&mut again).0 == written.0);
        }
        Err(e) => assert!(!e.to_string().contains('\n'), "{e}"),
    }
});
