//! Damage of every kind: an error of one line, or rows; never a panic. And what each format looks like.

use super::{read, vector};
use fsage_import::snapshots::Format;
use proptest::prelude::*;

fn samples() -> Vec<(Format, Vec<u8>)> {
    let series = "snap_id,taken_at,inode,generation,type,size,blocks512,ctime,extents_kib,path\n\
        0,10,2,0,d,1024,2,5,0:20:1,.\n0,10,5,9,f,1024,2,6,0:21:1;1:30:2,\"a,b\"\n\
        1,20,2,0,d,1024,2,5,0:20:1,.\n";
    vec![
        (
            Format::Find,
            vector("find-printf.ext4.tsv0")[..1500].to_vec(),
        ),
        (Format::Csv, series.as_bytes().to_vec()),
        (Format::Csv, vector("ext4.expected.tsv")[..1500].to_vec()),
        (Format::FsHasher, vector("synthetic-v7-variable.hash.anon")),
        (Format::FsHasher, vector("synthetic-v4-variable.hash.anon")),
        (
            Format::Gufi,
            vector("synthetic.gufi.trace")[..1500].to_vec(),
        ),
        (
            Format::GufiOld,
            vector("synthetic.gufi.trace")[..1500].to_vec(),
        ),
    ]
}

/// Reads, and looks at the message if there is one.
fn survives(format: Format, bytes: &[u8]) -> bool {
    match read(format, bytes) {
        Ok(_) => true,
        Err(e) => {
            let message = e.to_string();
            assert!(
                !message.contains('\n') && message.starts_with("in: "),
                "{message}"
            );
            false
        }
    }
}

#[test]
fn inputs_cut_short_anywhere_end_in_an_error_or_in_whole_records() {
    for (format, bytes) in samples() {
        let step = 1 + bytes.len() / 2000;
        let read = (0..bytes.len())
            .step_by(step)
            .filter(|&end| survives(format, &bytes[..end]))
            .count();
        match format {
            // The header says how many records there are.
            Format::FsHasher => assert_eq!(read, 0),
            // A last field that is cut is a shorter field; records end where their delimiter stands.
            Format::Csv => assert!(read > 0),
            _ => assert!(read < 30, "{format:?}: {read}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn garbled_inputs_do_not_panic(
        which in 0_usize..7,
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let (format, mut bytes) = samples().swap_remove(which);
        for (place, value) in changes {
            // Most of a header is padding: look where something stands.
            let range = if bytes.len() > 8000 { 8200..bytes.len() } else { 0..bytes.len() };
            let place = range.start + place.index(range.len());
            bytes[place] = value;
        }
        survives(format, &bytes);
    }

    #[test]
    fn any_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        for format in Format::ALL {
            survives(format, &bytes);
        }
        let _ = Format::recognize(&bytes, "x", 0x1e);
    }
}

#[test]
fn formats_are_recognized_by_their_first_bytes_or_else_by_their_names() {
    for (format, bytes) in samples() {
        let format = if format == Format::GufiOld {
            Format::Gufi
        } else {
            format
        };
        assert_eq!(Format::recognize(&bytes, "x", 0x1e), Some(format));
    }
    let by_name = [
        ("a.tsv0", Format::Find),
        ("a.csv.zst", Format::Csv),
        ("u-2011-09-10.8kb.hash.anon.gz", Format::FsHasher),
        ("a.gufi.trace", Format::Gufi),
    ];
    for (name, format) in by_name {
        assert_eq!(Format::recognize(b"", name, 0x1e), Some(format));
    }
    assert_eq!(Format::recognize(b"hello, world\n", "x", 0x1e), None);
}
