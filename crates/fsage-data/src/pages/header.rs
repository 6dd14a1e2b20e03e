//! The header of a Parquet page, as it stands in the file: a struct of Thrift's compact protocol
//! (`PageHeader` in parquet-format's `parquet.thrift`).

/// What the header of a page says of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageHeader {
    /// Bytes of the header itself.
    pub header_bytes: u64,
    /// Bytes of the page once it is decompressed.
    pub uncompressed_bytes: i64,
    /// Bytes of the page behind the header.
    pub compressed_bytes: i64,
    /// Whether it holds the dictionary of the column.
    pub is_dictionary: bool,
    /// How many values it says it has; none for pages without values.
    pub values: i64,
    /// How its values are encoded.
    pub encoding: i64,
}

/// The encodings of `parquet.thrift` in which a few bytes may stand for a long text, or for a number of lengths that
/// are all made room for before one of them is read.
pub const DELTA_LENGTH_BYTE_ARRAY: i64 = 6;
/// See [`DELTA_LENGTH_BYTE_ARRAY`].
pub const DELTA_BYTE_ARRAY: i64 = 7;

impl PageHeader {
    /// Reads a header at the beginning of some bytes; `None` if they are too few, or are no header.
    pub fn parse(bytes: &[u8]) -> Option<PageHeader> {
        let mut input = Compact { bytes, at: 0 };
        let mut header = PageHeader::default();
        input.fields(0, &mut |input, id, kind| {
            match (id, kind) {
                (1, I32) => header.is_dictionary = input.number()? == 2,
                (2, I32) => header.uncompressed_bytes = input.number()?,
                (3, I32) => header.compressed_bytes = input.number()?,
                // Of data, of a dictionary, of data of version 2.
                (5 | 7 | 8, STRUCT) => {
                    let encoding = if id == 8 { 4 } else { 2 };
                    input.fields(1, &mut |input, inner, kind| {
                        match (inner, kind) {
                            (1, I32) => header.values = input.number()?,
                            (inner, I32) if inner == encoding => {
                                header.encoding = input.number()?;
                            }
                            _ => input.skip(kind, 2)?,
                        }
                        Some(())
                    })?;
                }
                _ => input.skip(kind, 1)?,
            }
            Some(())
        })?;
        header.header_bytes = input.at as u64;
        Some(header)
    }
}

const TRUE: u8 = 1;
const FALSE: u8 = 2;
const BYTE: u8 = 3;
const I16: u8 = 4;
const I32: u8 = 5;
const I64: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
const STRUCT: u8 = 12;

/// How deep structs may lie in one another; a header has two levels.
const MAX_DEPTH: u32 = 8;

struct Compact<'a> {
    bytes: &'a [u8],
    at: usize,
}

type Field<'f, 'a> = dyn FnMut(&mut Compact<'a>, i64, u8) -> Option<()> + 'f;

impl<'a> Compact<'a> {
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn number(&mut self) -> Option<i64> {
        let zigzag = self.varint()?;
        Some((zigzag >> 1) as i64 ^ -((zigzag & 1) as i64))
    }

    fn pass(&mut self, bytes: u64) -> Option<()> {
        let at = self.at.checked_add(usize::try_from(bytes).ok()?)?;
        self.at = (at <= self.bytes.len()).then_some(at)?;
        Some(())
    }

    /// Gives every field of a struct to `field`, which reads its value.
    fn fields(&mut self, depth: u32, field: &mut Field<'_, 'a>) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        let mut id = 0_i64;
        loop {
            let start = self.byte()?;
            if start == 0 {
                return Some(());
            }
            id = match start >> 4 {
                0 => self.number()?,
                step => id.checked_add(i64::from(step))?,
            };
            field(self, id, start & 0xf)?;
        }
    }

    fn skip(&mut self, kind: u8, depth: u32) -> Option<()> {
        match kind {
            TRUE | FALSE => Some(()),
            BYTE => self.pass(1),
            I16 | I32 | I64 => self.varint().map(drop),
            DOUBLE => self.pass(8),
            BINARY => {
                let length = self.varint()?;
                self.pass(length)
            }
            LIST | SET => {
                let start = self.byte()?;
                let count = match start >> 4 {
                    15 => self.varint()?,
                    short => u64::from(short),
                };
                self.skip_all(&[start & 0xf], count, depth)
            }
            MAP => match self.varint()? {
                0 => Some(()),
                count => {
                    let kinds = self.byte()?;
                    self.skip_all(&[kinds >> 4, kinds & 0xf], count, depth)
                }
            },
            STRUCT => self.fields(depth, &mut |input, _, kind| input.skip(kind, depth + 1)),
            _ => None,
        }
    }

    fn skip_all(&mut self, kinds: &[u8], count: u64, depth: u32) -> Option<()> {
        if depth > MAX_DEPTH || count > self.bytes.len() as u64 {
            return None;
        }
        for _ in 0..count {
            for &kind in kinds {
                match kind {
                    // In a list a truth takes a byte of its own.
                    TRUE | FALSE => self.pass(1)?,
                    kind => self.skip(kind, depth + 1)?,
                }
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand, from the compact protocol: a data page of 5 values in 300 bytes, 100 compressed, with a checksum and
    /// with statistics of three fields.
    const DATA: &[u8] = &[
        0x15, 0x00, // 1: type, DATA_PAGE
        0x15, 0xd8, 0x04, // 2: 300
        0x15, 0xc8, 0x01, // 3: 100
        0x15, 0x07, // 4: crc
        0x1c, // 5: data_page_header
        0x15, 0x0a, 0x15, 0x10, 0x15, 0x06, 0x15, 0x06, // 5 values, RLE_DICTIONARY, levels
        0x1c, 0x18, 0x02, b'a', b'b', 0x16, 0x02, 0x11, 0x00, // statistics
        0x00, // end of data_page_header
        0x00, // end
        0xff,
    ];

    #[test]
    fn a_header_is_read_whatever_else_stands_in_it() {
        let expected = PageHeader {
            header_bytes: DATA.len() as u64 - 1,
            uncompressed_bytes: 300,
            compressed_bytes: 100,
            is_dictionary: false,
            values: 5,
            encoding: 8,
        };
        assert_eq!(PageHeader::parse(DATA), Some(expected));
        for end in 0..DATA.len() - 1 {
            assert_eq!(PageHeader::parse(&DATA[..end]), None, "{end}");
        }
    }

    #[test]
    fn no_bytes_make_it_go_deep_or_long() {
        assert_eq!(PageHeader::parse(&vec![0x1c; 100_000]), None);
        assert_eq!(PageHeader::parse(&vec![0x19; 100_000]), None);
        let endless = [
            0x99, 0xf9, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01,
        ];
        assert_eq!(PageHeader::parse(&endless), None);
    }
}
