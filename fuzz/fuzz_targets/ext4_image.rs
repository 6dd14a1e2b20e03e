//! Damaged images of ext4, read into the model: no panic, no endless reading, messages of one line; what is read is
//! sound.
//!
//! The first byte chooses the geometry; then 8 bytes each are a place and a value.

#![no_main]

use fsage_core::FileSystem;
use fsage_models::ext4::{Ext4, Params};
use libfuzzer_sys::fuzz_target;
use pages::{Pages, SIZE, pages_of};
use populated::populate;
use std::sync::LazyLock;

mod pages;
mod populated;

static IMAGES: LazyLock<[(Params, Pages); 2]> = LazyLock::new(|| [1, 16].map(populated));

fn populated(flex_groups: u32) -> (Params, Pages) {
    let params = Params {
        size_bytes: SIZE,
        journal_bytes: Some(1 << 20),
        flex_groups,
        ..Params::default()
    };
    let mut fs = Ext4::new(params.clone()).expect("the sizes work");
    populate(&mut fs);
    (params, pages_of(&mut fs))
}

fuzz_target!(|input: &[u8]| {
    let (choice, records) = input.split_first().unwrap_or((&0, &[]));
    let (params, image) = &IMAGES[usize::from(*choice) % 2];
    let mut image = image.clone();
    image.damage(records);
    match Ext4::read_image(params, &image) {
        Ok(mut fs) => {
            assert_eq!(fs.check(), Ok(()));
            let written = pages_of(&mut fs);
            let again = Ext4::read_image(params, &written);
            let mut again = again.unwrap_or_else(|e| panic!("what was written is not read: {e}"));
            assert!(pages_of(&mut again).0 == written.0);
        }
        Err(e) => assert!(!e.to_string().contains('\n'), "{e}"),
    }
});
