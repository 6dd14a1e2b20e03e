//! What a page carries of a map, by hand and by the rules that the page decodes it by.

use super::*;
use flate2::read::ZlibDecoder;
use fsage_metrics::block_map::{Cell, decode};
use serde_json::Value;
use std::io::Read as _;

fn grid() -> Grid {
    Grid::cut(64 << 10, 4096, 4096, 64 << 10)
}

/// Frames of noise, which do not compress: 32 bytes each.
fn disk(frames: u32, files: u64) -> Disk {
    let mut rng = fsage_core::Rng::new(1);
    let frames = (0..frames).map(|day| Frame {
        day,
        cells: (0..16).map(|_| Cell(rng.next_u64() as u16 >> 1)).collect(),
    });
    let frames = frames.collect();
    let files = (0..files).map(|ino| File {
        ino,
        size_bytes: 4096 * (1 + ino),
        extents: (0..=ino)
            .map(|n| Piece {
                physical_bytes: rng.below(16) << 12,
                length_bytes: 4096,
                logical_bytes: Some(n << 12),
            })
            .collect(),
        ..File::default()
    });
    Disk {
        target: 3,
        group: "cylinder group",
        is_log: false,
        grid: grid(),
        frames,
        days: Vec::new(),
        last: Some(LastDay {
            free: Some(vec![(0, 4096)]),
            files: files.collect(),
        }),
    }
}

fn json(map: &BlockMap) -> Value {
    serde_json::from_str(&map.json).expect("JSON")
}

fn unpacked(text: &Value) -> Vec<u8> {
    let text = text.as_str().expect("base64");
    let digit = |c| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let bits: Vec<bool> = text
        .bytes()
        .filter(|&c| c != b'=')
        .flat_map(|c| (0..6).rev().map(move |i| digit(c) >> i & 1 == 1))
        .collect();
    let bytes = bits.chunks_exact(8);
    let bytes: Vec<u8> = bytes
        .map(|bits| bits.iter().fold(0, |byte, &bit| byte << 1 | u8::from(bit)))
        .collect();
    let mut out = Vec::new();
    let mut zlib = ZlibDecoder::new(&bytes[..]);
    zlib.read_to_end(&mut out).expect("zlib");
    out
}

/// RFC 4648, section 10.
#[test]
fn base64_is_that_of_the_rfc() {
    let table = [
        ("", ""),
        ("f", "Zg=="),
        ("fo", "Zm8="),
        ("foo", "Zm9v"),
        ("foob", "Zm9vYg=="),
        ("fooba", "Zm9vYmE="),
        ("foobar", "Zm9vYmFy"),
    ];
    for (bytes, text) in table {
        assert_eq!(base64(bytes.as_bytes()), text);
    }
}

/// Units of 1 KiB. Free: 8 at 0. One directory of 1 at 8; a file of two pieces, 16 at 24 and 1 at 9, with pointers of 8
/// at 10. The
/// directory lies before the file.
#[test]
fn the_last_day_is_varints() {
    const K: u64 = 1024;
    let piece = |physical, length, logical: Option<u64>| Piece {
        physical_bytes: physical * K,
        length_bytes: length * K,
        logical_bytes: logical.map(|n| n * K),
    };
    let file = File {
        ino: 300,
        size_bytes: 17_000,
        kind: Kind::Regular,
        path: Some("a".to_owned()),
        extents: vec![
            piece(24, 16, Some(0)),
            piece(9, 1, Some(18)),
            piece(10, 8, None),
        ],
    };
    let directory = File {
        ino: 2,
        size_bytes: 512,
        kind: Kind::Directory,
        path: None,
        extents: vec![piece(8, 1, Some(0))],
    };
    let last = LastDay {
        free: Some(vec![(0, 8 * K), (40 * K, 2 * K)]),
        files: vec![file, directory],
    };
    assert_eq!(last.unit_bytes(), K);
    let expected = [
        [2, 0, 8, 32, 2].as_slice(),
        // Inode 2, 512 bytes, directory, no path, one extent: 8 on, 1 long, no gap.
        &[2, 2, 0x80, 4, 2, 0, 1, 16, 1, 0],
        // Inode 300, 17,000 bytes, file, path; 15 on, 16 long; 31 back, 1 long, gap of 2; pointers right there.
        &[0xac, 2, 0xe8, 0x84, 1, 0, 1, b'a', 3],
        &[30, 16, 0, 61, 1, 4, 0, 8, 1],
    ];
    assert_eq!(last.encode(2, K), expected.concat());
}

#[test]
fn frames_come_back_as_they_were() {
    let map = disk(5, 3);
    let value = json(&BlockMap::new(map.clone(), PAGE_BYTES));
    let days = [0, 1, 2, 3, 4];
    assert_eq!(value["days"], serde_json::json!(days));
    let frames = decode(&unpacked(&value["frames"]), 16, &days);
    assert_eq!(frames.expect("frames"), map.frames);
    assert_eq!((&value["target"], &value["cells"]), (&3.into(), &16.into()));
    assert_eq!(value["group"], "cylinder group");
    let last = &value["last"];
    assert_eq!(
        (&last["files"], &last["files_in_all"]),
        (&3.into(), &3.into())
    );
    assert_eq!(last["unit_bytes"], 4096);
    assert_eq!(
        unpacked(&last["data"]),
        map.last
            .map(|mut last| {
                last.sort_by_weight();
                last.encode(3, 4096)
            })
            .expect("a day")
    );
}

#[test]
fn a_map_keeps_to_the_bytes_that_it_is_given() {
    for max_bytes in [0, 1000, 5000, 20_000] {
        let map = BlockMap::new(disk(97, 100), max_bytes);
        let value = json(&map);
        let frames = value["days"].as_array().expect("days");
        assert_eq!(
            (frames[0].as_u64(), value["kept"].as_u64()),
            (Some(0), Some(97))
        );
        assert_eq!(frames.last().and_then(Value::as_u64), Some(96));
        let length = |v: &Value| v.as_str().map_or(0, str::len);
        let data = length(&value["frames"]) + length(&value["last"]["data"]);
        assert!(
            data <= max_bytes || frames.len() == 2,
            "{max_bytes}: {data}"
        );
        assert!(frames.len() > 2 || max_bytes < 5000, "{max_bytes}");
        let files = value["last"]["files"].as_u64().unwrap_or(0);
        assert!(
            (files > 0) == (max_bytes >= 1000) && (files < 100) == (max_bytes < 20_000),
            "{max_bytes}: {files}"
        );
    }
}

/// One disk that needs 100 bytes of frames, and one that needs far more than its half.
#[test]
fn a_map_takes_what_others_leave() {
    let alone = BlockMap::new(disk(97, 100), 5000);
    assert!(alone.is_cut);
    let maps = fit(vec![disk(2, 1), disk(97, 100)], 10_000);
    assert!(!maps[0].is_cut && maps[1].is_cut);
    assert!(maps[1].json.len() > alone.json.len() + 2000);
    assert!(
        fit(vec![disk(2, 1), disk(97, 100)], 80_000)
            .iter()
            .all(|map| !map.is_cut)
    );
    assert!(fit(Vec::new(), 10_000).is_empty());
}

/// Names of a hostile workload, as layouts have them, and as they might come from elsewhere.
#[test]
fn paths_are_harmless() {
    let mut evil = disk(1, 1);
    let path = "a</script><script>alert(1)</script>'\"\n\u{202e}\u{fffd}&\\xff";
    if let Some(last) = &mut evil.last {
        last.files[0].path = Some(path.to_owned());
    }
    evil.days = vec![DayFacts {
        label: path.to_owned(),
        ..DayFacts::default()
    }];
    let map = BlockMap::new(evil, PAGE_BYTES);
    assert!(!map.json.contains(['<', '>', '&', '\n']), "{}", map.json);
    let value = json(&map);
    assert_eq!(value["labels"][0], path);
    let bytes = unpacked(&value["last"]["data"]);
    let text = String::from_utf8_lossy(&bytes);
    let shown = "a</script><script>alert(1)</script>'\"\\u{a}\\u{202e}\u{fffd}&\\xff";
    assert!(text.contains(shown), "{text}");
}

#[test]
fn nonsense_addresses_are_no_panic() {
    let mut disk = disk(0, 1);
    disk.last = Some(LastDay {
        free: Some(vec![(u64::MAX, u64::MAX), (0, 1)]),
        files: vec![File {
            size_bytes: u64::MAX,
            extents: vec![
                Piece {
                    physical_bytes: u64::MAX,
                    length_bytes: u64::MAX,
                    logical_bytes: Some(u64::MAX),
                };
                2
            ],
            ..File::default()
        }],
    });
    assert_eq!(json(&BlockMap::new(disk, PAGE_BYTES))["last"]["files"], 1);
}
