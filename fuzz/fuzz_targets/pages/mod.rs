//! Images in memory, page by page, and damage to them.

use crate::populated::IMAGE;
use fsage_models::image::{Mountable, ReadAt, WriteAt};
use std::collections::BTreeMap;
use std::io;

const PAGE: u64 = 1024;
/// Length of every image.
pub const SIZE: u64 = 24 << 20;

/// The pages of an image that were written.
#[derive(Clone, Default)]
pub struct Pages(pub BTreeMap<u64, Vec<u8>>);

impl WriteAt for Pages {
    fn write_at(&mut self, offset_bytes: u64, bytes: &[u8]) -> io::Result<()> {
        for (at, page) in (offset_bytes / PAGE..).zip(bytes.chunks(PAGE as usize)) {
            let all = self.0.entry(at).or_insert_with(|| vec![0; PAGE as usize]);
            all[..page.len()].copy_from_slice(page);
        }
        Ok(())
    }

    fn zero(&mut self, _: u64, _: u64) -> io::Result<()> {
        Ok(())
    }
}

impl ReadAt for Pages {
    fn read_at(&self, offset_bytes: u64, to: &mut [u8]) -> io::Result<()> {
        if offset_bytes.saturating_add(to.len() as u64) > SIZE {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        for (at, to) in (offset_bytes / PAGE..).zip(to.chunks_mut(PAGE as usize)) {
            match self.0.get(&at) {
                Some(page) => to.copy_from_slice(&page[..to.len()]),
                None => to.fill(0),
            }
        }
        Ok(())
    }
}

/// The image of a file system.
pub fn pages_of(fs: &mut dyn Mountable) -> Pages {
    let mut pages = Pages::default();
    fs.write_image(&IMAGE, &mut pages)
        .expect("memory takes it");
    pages
}

impl Pages {
    /// Each 8 bytes are a place and a value.
    pub fn damage(&mut self, records: &[u8]) {
        let pages: Vec<u64> = self.0.keys().copied().collect();
        for record in records.chunks_exact(8) {
            let (place, value) = record.split_at(4);
            let place = u32::from_le_bytes([place[0], place[1], place[2], place[3]]) as usize;
            if let Some(bytes) = self.0.get_mut(&pages[place / 1024 % pages.len()]) {
                let at = place % 1021;
                bytes[at..at + 4].copy_from_slice(value);
            }
        }
    }
}
