//! What the pages of a Parquet file would take in memory, before any of them is decoded.
//!
//! A few kilobytes can say that they are gigabytes: a page that decompresses to anything, a text that a dictionary
//! holds once and a million rows repeat, a list of a billion items of one run length. So the headers of all pages
//! that will be read are looked at first. What no honest writer makes is refused, and rows that are long are read
//! fewer at a time.

mod header;

use crate::decoder_panic::guard;
use crate::error::DataError;
use crate::placed_file::PlacedFile;
use header::{DELTA_BYTE_ARRAY, DELTA_LENGTH_BYTE_ARRAY, PageHeader};
use parquet::basic::Type;
use parquet::column::page::{Page, PageReader};
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::serialized_reader::SerializedPageReader;
use std::path::Path;
use std::sync::Arc;

/// A page may be so large, however small it is in the file; writers make pages of 1 MB.
const PAGE_BYTES: u64 = 16 << 20;
/// A larger page may be so many times as large as in the file.
const PAGE_RATIO: u64 = 100;
/// A column with lists may have so many items in a row group, which may all be those of one row.
const ITEMS: u64 = 8 << 20;
/// More items may be so many to a byte of the file.
const ITEMS_TO_A_BYTE: u64 = 64;
/// The texts of one column that are decoded at a time.
const TEXT_BYTES: u64 = 64 << 20;
/// The longest header of a page; it may hold the least and the greatest value.
const HEADER_BYTES: usize = 1 << 20;

/// The pages of a file.
pub struct Pages<'a> {
    /// Its path.
    pub path: &'a Path,
    /// The file itself.
    pub file: &'a PlacedFile,
}

impl Pages<'_> {
    /// Looks at the pages of these columns, by their places among the leaves of the schema, in a row group. Gives how
    /// many rows may be decoded at a time, at most `rows`.
    pub fn rows_at_a_time(
        &self,
        group: &RowGroupMetaData,
        columns: impl Iterator<Item = usize>,
        rows: usize,
    ) -> Result<usize, DataError> {
        let mut least = rows;
        for column in columns {
            let Some(chunk) = group.columns().get(column) else {
                continue;
            };
            let bytes_a_row = self.bytes_a_row(group, chunk)?.max(1);
            let at_a_time = (TEXT_BYTES / bytes_a_row).max(1);
            least = least.min(usize::try_from(at_a_time).unwrap_or(rows));
        }
        Ok(least)
    }

    /// The most that a text of the column takes, as far as the pages say so; 0 for columns of fixed width.
    fn bytes_a_row(
        &self,
        group: &RowGroupMetaData,
        chunk: &ColumnChunkMetaData,
    ) -> Result<u64, DataError> {
        let wrong = |what: String| {
            let column = chunk.column_path().string();
            let text = format!("column `{column}`: {what}; make the file again");
            DataError::unsuitable(self.path, text)
        };
        let is_text = chunk.column_type() == Type::BYTE_ARRAY;
        let (mut at, length) = guard(|| chunk.byte_range()).map_err(wrong)?;
        let end = at.saturating_add(length);
        let (mut values, mut widest, mut dictionary) = (0_u64, 0, false);
        while at < end {
            let Some(page) = self.header(at, end)? else {
                return Err(wrong(format!("no page at byte {at}")));
            };
            let sizes = [page.uncompressed_bytes, page.compressed_bytes, page.values];
            let [Ok(uncompressed), Ok(compressed), Ok(in_page)] = sizes.map(u64::try_from) else {
                return Err(wrong(format!("a negative size in the page at byte {at}")));
            };
            if uncompressed > PAGE_BYTES.max(compressed.saturating_mul(PAGE_RATIO)) {
                return Err(wrong(format!(
                    "a page of {uncompressed} bytes, of which the file holds {compressed}"
                )));
            }
            if matches!(page.encoding, DELTA_BYTE_ARRAY | DELTA_LENGTH_BYTE_ARRAY) && is_text {
                return Err(wrong(
                    "texts in a delta encoding, which fsage does not read: write them plain or with a dictionary"
                        .to_owned(),
                ));
            }
            if page.is_dictionary {
                // A value takes a bit at least, and one that can be in a dictionary a byte.
                if in_page > uncompressed {
                    return Err(wrong(format!(
                        "a dictionary of {in_page} values in {uncompressed} bytes"
                    )));
                }
                dictionary = true;
            } else {
                values = values.saturating_add(in_page);
                if is_text {
                    widest = widest.max(uncompressed / in_page.max(1));
                }
            }
            at = at
                .saturating_add(page.header_bytes)
                .saturating_add(compressed);
        }
        let repeats = chunk.column_descr().max_rep_level() > 0;
        if repeats && values > ITEMS.max(length.saturating_mul(ITEMS_TO_A_BYTE)) {
            return Err(wrong(format!("{values} items of lists in {length} bytes")));
        }
        if is_text && dictionary {
            let longest = self.longest_in_dictionary(group, chunk);
            widest = widest.max(longest.map_err(wrong)?);
        }
        if !is_text {
            return Ok(0);
        }
        // Of lists, a row may have any part of the items.
        let rows = u64::try_from(group.num_rows()).unwrap_or(0).max(1);
        Ok(widest.saturating_mul(if repeats { values.div_ceil(rows) } else { 1 }))
    }

    /// The header of the page at a place in the file.
    fn header(&self, at: u64, end: u64) -> Result<Option<PageHeader>, DataError> {
        let failed = |e| DataError::io(self.path, "cannot read", e);
        let mut bytes = vec![0; 512];
        loop {
            let most = usize::try_from(end - at)
                .unwrap_or(usize::MAX)
                .min(bytes.len());
            let mut read = 0;
            while read < most {
                let more = self.file.read_at(&mut bytes[read..most], at + read as u64);
                match more.map_err(failed)? {
                    0 => break,
                    more => read += more,
                }
            }
            if let Some(header) = PageHeader::parse(&bytes[..read]) {
                return Ok(Some(header));
            }
            if read < bytes.len() || bytes.len() >= HEADER_BYTES {
                return Ok(None);
            }
            bytes.resize(bytes.len() * 8, 0);
        }
    }

    /// The length of the longest text in the dictionary, which is the first page.
    fn longest_in_dictionary(
        &self,
        group: &RowGroupMetaData,
        chunk: &ColumnChunkMetaData,
    ) -> Result<u64, String> {
        let rows = usize::try_from(group.num_rows()).unwrap_or(0);
        let page = guard(|| {
            SerializedPageReader::new(Arc::new(self.file.clone()), chunk, rows, None)
                .and_then(|mut pages| pages.get_next_page())
        });
        match page?.map_err(|e| e.to_string())? {
            Some(Page::DictionaryPage { buf, .. }) => Ok(longest(&buf)),
            _ => Err("a dictionary that is not its first page".to_owned()),
        }
    }
}

/// The longest of texts that stand one behind the other, each behind its length.
fn longest(mut texts: &[u8]) -> u64 {
    let mut longest = 0;
    while let Some((length, rest)) = texts.split_first_chunk() {
        let length = u32::from_le_bytes(*length) as usize;
        let Some(rest) = rest.get(length..) else {
            break;
        };
        longest = longest.max(length as u64);
        texts = rest;
    }
    longest
}
