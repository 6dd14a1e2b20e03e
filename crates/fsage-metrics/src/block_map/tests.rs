//! Maps of small disks, cells counted by hand.

use super::*;
use fsage_core::snapshot::Inode;
use fsage_core::{Extent, FileKind, LayoutInMemory, Rng, Run, Space};

/// Counts what lies in each cell.
fn tally(grid: &Grid, layout: &dyn Layout) -> Tallies {
    let mut tallies = Tallies::of_free(grid.clone(), layout);
    layout.visit_files(&mut |file| tallies.count(file, Sign::Add));
    tallies
}

const K: u64 = 1024;

/// Place in the file, place on disk, length, in KiB.
type Piece = (u64, u64, u64);
/// Inode, size in KiB, pieces.
type File<'a> = (u64, u64, &'a [Piece]);

/// Blocks of 4 KiB.
fn geometry(size_bytes: u64, group_bytes: u64) -> Geometry {
    Geometry {
        fs_type: "test".into(),
        size_bytes,
        data_bytes: None,
        reserved_bytes: 0,
        block_bytes: 4096,
        frag_bytes: 1024,
        inodes_total: 0,
        group_count: size_bytes.checked_div(group_bytes).unwrap_or(0) as u32,
        group_bytes,
        inodes_per_group: 0,
        first_ino: 0,
        inode_chunk_bytes: 0,
    }
}

/// Files, and runs of free space in KiB.
fn layout(geometry: &Geometry, files: &[File<'_>], free: Option<&[(u64, u64)]>) -> LayoutInMemory {
    let inodes = files.iter().map(|&(ino, size, extents)| {
        let extents = extents.iter().map(|&(logical, physical, length)| Extent {
            logical_bytes: logical * K,
            physical_bytes: physical * K,
            length_bytes: length * K,
            flags: 0,
        });
        let mut inode = Inode::new(ino, None, FileKind::Regular, size * K);
        inode.extents = Some(extents.collect());
        inode
    });
    LayoutInMemory {
        geometry: geometry.clone(),
        space: Some(Space::default()),
        inodes: inodes.collect(),
        names: Vec::new(),
        free: free.map(|runs| {
            let runs = runs.iter().map(|&(start, length)| Run {
                start_bytes: start * K,
                length_bytes: length * K,
            });
            runs.collect()
        }),
    }
}

/// (used, metadata, class, contiguity, changed) of every cell of the last frame.
fn cells(recorder: &Recorder) -> Vec<(u16, u16, Option<usize>, u16, bool)> {
    let frame = recorder.recording().and_then(|r| r.frames.last());
    let cells = frame.expect("a frame").cells.iter();
    cells
        .map(|c| {
            (
                c.used(),
                c.metadata(),
                c.size_class(),
                c.contiguity(),
                c.changed(),
            )
        })
        .collect()
}

#[test]
fn a_disk_is_cut_into_cells_that_do_not_cross_groups() {
    // 100 blocks in one band; 7 to a cell at least for 16 cells: 15 cells, the last of 2 blocks.
    let grid = Grid::of(&geometry(400 * K, 0), 16);
    assert_eq!((grid.cell_bytes, grid.cells), (28 * K, 15));
    assert_eq!((grid.groups_per_band, grid.band_bytes), (0, 400 * K));
    assert_eq!(grid.range(14), 392 * K..400 * K);
    // Three groups of 10 blocks and one of 5: cells of 4 blocks are 3 + 3 + 3 + 2.
    let grid = Grid::of(&geometry(140 * K, 40 * K), 11);
    assert_eq!((grid.cell_bytes, grid.cells), (16 * K, 11));
    assert_eq!(
        (0..11)
            .map(|cell| grid.range(cell).start / K)
            .collect::<Vec<_>>(),
        [0, 16, 32, 40, 56, 72, 80, 96, 112, 120, 136]
    );
    assert_eq!(grid.range(2), 32 * K..40 * K);
    // Ten groups and four cells at most: two bands of five groups.
    let grid = Grid::of(&geometry(400 * K, 40 * K), 4);
    assert_eq!((grid.groups_per_band, grid.band_bytes), (5, 200 * K));
    assert_eq!((grid.cell_bytes, grid.cells), (100 * K, 4));
    // A small disk has a cell a block.
    let grid = Grid::of(&geometry(64 * K, 0), Grid::MAX_CELLS);
    assert_eq!((grid.cell_bytes, grid.cells), (4 * K, 16));
    // Nonsense is a map of nothing, or of something that can be drawn.
    assert_eq!(Grid::of(&geometry(0, 0), 16).cells, 0);
    let mut huge = geometry(u64::MAX, 1 << 27);
    huge.group_count = u32::MAX;
    assert!(Grid::of(&huge, Grid::MAX_CELLS).cells <= Grid::MAX_CELLS);
}

/// Cells of 64 KiB, 16 blocks: 256 KiB hold four. The first has 8 KiB of metadata, 16 KiB of a small file and 40 KiB
/// of one of 300 KiB in three pieces; all of the second is the latter's; the third is free but for 1 KiB; the
/// fourth is metadata.
#[test]
fn a_cell_says_what_lies_in_it() {
    let g = Geometry {
        block_bytes: 65536,
        ..geometry(256 * K, 0)
    };
    let grid = Grid::of(&g, 4);
    assert_eq!((grid.cell_bytes, grid.cells), (64 * K, 4));
    let g = Geometry {
        block_bytes: 4096,
        ..g
    };
    let files: &[File<'_>] = &[
        (5, 16, &[(0, 8, 16)]),
        (
            6,
            300,
            &[(0, 24, 12), (12, 40, 24), (36, 64, 64), (100, 36, 4)],
        ),
    ];
    let l = layout(&g, files, Some(&[(128, 63)]));
    let grid = Grid {
        block_bytes: 4096,
        ..grid
    };
    let counted = tally(&grid, &l);
    assert!(counted.free_is_known);
    let tallies = &counted.cells;
    let classes = |at: usize| tallies[at].by_class;
    assert_eq!(classes(0), [32, 0, 0, 80, 0, 0]);
    assert_eq!(classes(1), [0, 0, 0, 128, 0, 0]);
    assert_eq!((tallies[2].free, tallies[3].free), (126, 0));
    // Blocks with a predecessor: 3 of the small file, 2 + 6 + 1 of the large one; pieces at 40 and at 36 break.
    assert_eq!((tallies[0].scored, tallies[0].broken), (12, 2));
    // The piece at 64 follows the one at 40, which ends there.
    assert_eq!((tallies[1].scored, tallies[1].broken), (16, 0));
    let of = |at: usize| tallies[at].cell(128, true).0;
    // 8 of 64 KiB are metadata: 1 + 14 / 8 = 2. 10 of 12 blocks follow: 2 + 5 * 10 / 12 = 6.
    let first = of(0);
    assert_eq!((first.used(), first.metadata()), (15, 2));
    assert_eq!((first.size_class(), first.contiguity()), (Some(3), 6));
    assert_eq!(
        (of(1).used(), of(1).metadata(), of(1).contiguity()),
        (15, 0, 7)
    );
    // 1 of 64 KiB: 1 + 14 / 64 = 1.
    assert_eq!((of(2).used(), of(2).metadata()), (1, 1));
    assert_eq!(of(3), Cell(15 | 15 << 4));
    // Where free space is not known only the data are.
    let unknown = layout(&g, files, None);
    let counted = tally(&grid, &unknown);
    assert!(!counted.free_is_known);
    let tallies = &counted.cells;
    let of = |at: usize| tallies[at].cell(128, false).0;
    assert_eq!((of(0).used(), of(0).metadata()), (1 + 14 * 56 / 64, 0));
    assert_eq!((of(2), of(3)), (Cell(0), Cell(0)));
}

#[test]
fn sizes_fall_into_six_classes() {
    let table = [
        (0, 0),
        (16 << 10, 0),
        ((16 << 10) + 1, 1),
        (64 << 10, 1),
        (104 << 10, 2),
        (1 << 20, 3),
        (16 << 20, 4),
        ((16 << 20) + 1, 5),
        (u64::MAX, 5),
    ];
    for (bytes, class) in table {
        assert_eq!(size_class(bytes), class, "{bytes}");
    }
    let by_size = crate::LayoutBySize::new();
    for max_bytes in SIZE_CLASSES {
        let steps = by_size.classes.iter();
        assert_eq!(steps.filter(|c| c.max_bytes == max_bytes).count(), 1);
    }
}

/// Four cells of a block. A file that grows does not change the cell of its first block; one that goes leaves nothing
/// to have an age; one that comes in its place is another one.
#[test]
fn a_cell_has_changed_when_other_data_lie_in_it() {
    let g = geometry(16 * K, 0);
    let day = |files: &[File<'_>]| layout(&g, files, Some(&[]));
    let mut recorder = Recorder::new();
    let changed = |recorder: &Recorder| cells(recorder).iter().map(|c| c.4).collect::<Vec<_>>();
    recorder.offer(0, &day(&[(7, 4, &[(0, 0, 4)]), (8, 4, &[(0, 12, 4)])]));
    assert_eq!(changed(&recorder), [true, false, false, true]);
    recorder.offer(1, &day(&[(7, 8, &[(0, 0, 8)])]));
    assert_eq!(changed(&recorder), [false, true, false, false]);
    assert_eq!(cells(&recorder)[3].2, None);
    recorder.offer(2, &day(&[(9, 8, &[(0, 0, 8)]), (8, 4, &[(0, 12, 4)])]));
    assert_eq!(changed(&recorder), [true, true, false, true]);
    // The same data cut otherwise.
    recorder.offer(
        3,
        &day(&[(9, 8, &[(0, 0, 3), (3, 3, 5)]), (8, 4, &[(0, 12, 4)])]),
    );
    assert_eq!(changed(&recorder), [false; 4]);
    // Swapped blocks of one file.
    recorder.offer(
        4,
        &day(&[(9, 8, &[(0, 4, 4), (4, 0, 4)]), (8, 4, &[(0, 12, 4)])]),
    );
    assert_eq!(changed(&recorder), [true, true, false, false]);
}

/// At most four: 0 1 2 3, then every second, then every fourth day; the last is day 13.
#[test]
fn frames_thin_out_and_the_first_and_last_day_stay() {
    let g = geometry(16 * K, 0);
    let mut recorder = Recorder::with_frames(4);
    // The file of each of the last four days, in the block of that day.
    let day = |day: u64| {
        let places: Vec<[Piece; 1]> = (0..4).map(|block| [(0, block * 4, 4)]).collect();
        let files =
            (day.saturating_sub(3)..=day).map(|n| (100 + n, 4, &places[n as usize % 4][..]));
        layout(&g, &files.collect::<Vec<_>>(), Some(&[]))
    };
    let mut kept = Vec::new();
    for number in 0..14 {
        if recorder.offer(number, &day(number.into())) {
            kept.push(number);
        }
    }
    assert_eq!(kept, [0, 1, 2, 3, 4, 6, 8, 12]);
    recorder.last(13, &day(13));
    recorder.last(13, &day(13));
    let recording = recorder.into_recording().expect("frames");
    let days: Vec<u32> = recording.frames.iter().map(|f| f.day).collect();
    assert_eq!((days, recording.stride_days), (vec![0, 4, 8, 12, 13], 4));
    let changed = recording
        .frames
        .iter()
        .map(|f| f.cells.iter().map(|c| c.changed()).collect());
    let changed: Vec<Vec<bool>> = changed.collect();
    assert_eq!(changed[0], [true, false, false, false]);
    assert_eq!(changed[1..4], vec![vec![true; 4]; 3]);
    assert_eq!(changed[4], [false, true, false, false]);
}

#[test]
fn what_changed_in_a_frame_that_goes_has_changed_in_the_next() {
    let frame = |day, bits: [u16; 3]| Frame {
        day,
        cells: bits.map(Cell).to_vec(),
    };
    let (data, changed) = (1 << 8, Cell::CHANGED);
    let mut frames = vec![
        frame(0, [data | changed, data, 0]),
        frame(1, [data, data | changed, data | changed]),
        frame(2, [data, data, data]),
        frame(3, [data, data | changed, 0]),
    ];
    thin(&mut frames, |frame| frame.day == 0 || frame.day == 3);
    assert_eq!(
        frames,
        [
            frame(0, [data | changed, data, 0]),
            frame(3, [data, data | changed, 0])
        ]
    );
    thin(&mut frames, |frame| frame.day == 3);
    assert_eq!(frames, [frame(3, [data | changed, data | changed, 0])]);
}

/// With more frames than are kept, so that some go: by the changes of each frame, as bytes.
#[test]
fn a_recording_goes_on_where_it_was() {
    let g = geometry(64 * K, 16 * K);
    let mut rng = Rng::new(3);
    let days: Vec<LayoutInMemory> = (0..250).map(|_| random(&g, &mut rng)).collect();
    for interrupted in [0, 1, 5, 96, 97, 130, 249, 250] {
        let (mut whole, mut first) = (Recorder::new(), Recorder::new());
        let mut kept = Vec::new();
        for (number, day) in (0..).zip(&days) {
            whole.offer(number, day);
            if number < interrupted && first.offer(number, day) {
                kept.push(first.latest().expect("a frame").to_bytes());
            }
        }
        let kept = kept.iter().map(|bytes| FrameChanges::from_bytes(bytes));
        let mut second = Recorder::resume(kept.map(|frame| frame.expect("a frame")));
        assert_eq!(second.recording(), first.recording());
        for (number, day) in (0..).zip(&days) {
            // Days that it knows already are not looked at again.
            second.offer(number, day);
        }
        assert_eq!(whole.recording(), second.recording());
        assert_eq!(whole.latest(), second.latest());
    }
}

/// By hand: a disk of four blocks in cells of one, of which the second is taken by a file.
#[test]
fn what_a_frame_changes_is_in_bytes() {
    let g = geometry(16 * K, 0);
    let day = |files: &[File<'_>], free: &[(u64, u64)]| layout(&g, files, Some(free));
    let mut recorder = Recorder::new();
    recorder.offer(0, &day(&[], &[(0, 16)]));
    let file: &[Piece] = &[(0, 4, 4)];
    recorder.offer(1, &day(&[(7, 4, file)], &[(0, 4), (8, 8)]));
    let changes = recorder.latest().expect("a frame");
    let bytes = changes.to_bytes();
    assert_eq!(bytes.len(), 44 + 10, "one cell is other than before");
    assert_eq!(bytes[..8], (16_u64 << 10).to_le_bytes());
    assert_eq!(bytes[40..48], [1, 0, 0, 0, 1, 0, 0, 0], "day 1, cell 1");
    // All of it is used, by data of the smallest class, and it has changed.
    let bits = 15 | 1 << 8 | Cell::CHANGED;
    assert_eq!(bytes[48..50], bits.to_le_bytes());
    assert_eq!(FrameChanges::from_bytes(&bytes).as_ref(), Some(changes));
    for length in (0..bytes.len()).filter(|&length| length != 44) {
        assert_eq!(FrameChanges::from_bytes(&bytes[..length]), None);
    }
    let mut elsewhere = bytes;
    elsewhere[44] = 4;
    assert_eq!(
        FrameChanges::from_bytes(&elsewhere),
        None,
        "there is no cell 4"
    );
}

/// Blocks dealt out at random to files, free space and metadata.
fn random(geometry: &Geometry, rng: &mut Rng) -> LayoutInMemory {
    let blocks = geometry.size_bytes / 4096;
    let mut files: Vec<(u64, Vec<Piece>)> = (1..6).map(|ino| (ino, vec![])).collect();
    let mut free = Vec::new();
    for block in 0..blocks {
        match rng.below(8) {
            0 => {}
            1..=3 => free.push((block * 4, 4)),
            file => {
                let extents = &mut files[file as usize - 4].1;
                extents.push((extents.len() as u64 * 4, block * 4, 4));
            }
        }
    }
    let files: Vec<File<'_>> = files
        .iter()
        .map(|(ino, extents)| (*ino, extents.len() as u64 * 4, &extents[..]))
        .collect();
    layout(geometry, &files, Some(&free))
}

/// What is free, data and metadata by the cells is what the layout says, whatever the cells and bands are.
#[test]
fn cells_sum_up_to_the_disk() {
    let mut rng = Rng::new(1);
    for round in 0..300 {
        let blocks = 1 + rng.below(500);
        let group = rng.below(64) * 4096;
        let g = geometry(blocks * 4096, group);
        let l = random(&g, &mut rng);
        let grid = Grid::of(&g, 1 + rng.below(600) as usize);
        let tallies = tally(&grid, &l).cells;
        let ranges: Vec<Range<u64>> = (0..grid.cells).map(|cell| grid.range(cell)).collect();
        assert_eq!(ranges.first().map(|r| r.start), Some(0));
        assert_eq!(ranges.last().map(|r| r.end), Some(g.size_bytes), "{round}");
        assert!(ranges.windows(2).all(|w| w[0].end == w[1].start));
        let free: u64 = tallies.iter().map(|t| u64::from(t.free) * SECTOR).sum();
        let data = tallies.iter().flat_map(|t| t.by_class);
        let data: u64 = data.map(|sectors| u64::from(sectors) * SECTOR).sum();
        let scored: u64 = tallies.iter().map(|t| u64::from(t.scored)).sum();
        let broken: u64 = tallies.iter().map(|t| u64::from(t.broken)).sum();
        let runs = l.free.as_ref().expect("runs");
        assert_eq!(free, runs.iter().map(|r| r.length_bytes).sum::<u64>());
        let extents = l
            .inodes
            .iter()
            .flat_map(|i| i.extents.as_deref().expect("extents"));
        assert_eq!(data, extents.map(|e| e.length_bytes).sum::<u64>());
        let mut score = crate::LayoutScore::default();
        l.visit_files(&mut |file| score += crate::LayoutScore::of_file(file, &g));
        assert_eq!((scored - broken, scored), (score.optimal, score.scored));
        for (tally, range) in tallies.iter().zip(&ranges) {
            let sectors = (range.end - range.start) / SECTOR;
            let (cell, _) = tally.cell(sectors, true);
            // A step is a fourteenth.
            let used = (sectors - u64::from(tally.free)) as f64 / sectors as f64;
            let shown = match cell.used() {
                0 => 0.0,
                15 => 1.0,
                step => (f64::from(step) - 0.5) / 14.0,
            };
            assert!((used - shown).abs() <= 0.5 / 14.0 + 1e-9, "{used} {shown}");
        }
    }
}

/// Which frames are kept besides changes nothing but what had changed since.
#[test]
fn a_frame_is_the_same_whatever_else_is_kept() {
    let g = geometry(256 * K, 64 * K);
    let mut rng = Rng::new(2);
    let days: Vec<LayoutInMemory> = (0..40).map(|_| random(&g, &mut rng)).collect();
    let record = |max_frames| {
        let mut recorder = Recorder::with_frames(max_frames);
        for (number, day) in (0..).zip(&days) {
            recorder.offer(number, day);
        }
        recorder.into_recording().expect("frames").frames
    };
    let all = record(100);
    for few in [2, 5, 17] {
        let frames = record(few);
        assert!(frames.len() <= few && frames[0].day == 0);
        for frame in frames {
            let bits = |frame: &Frame| {
                let cells = frame.cells.iter();
                cells.map(|c| c.0 & !Cell::CHANGED).collect::<Vec<_>>()
            };
            assert_eq!(bits(&frame), bits(&all[frame.day as usize]));
        }
    }
}

/// Two frames of three cells: lower bytes, then upper ones; what is the same is 0, the bit of change excepted.
#[test]
fn frames_are_bytes_and_back() {
    let frame = |day, bits: [u16; 3]| Frame {
        day,
        cells: bits.map(Cell).to_vec(),
    };
    let frames = [
        frame(0, [0x4321, 0x0102, 0]),
        frame(7, [0x4320, 0x0102, 0x4001]),
    ];
    let bytes = encode(&frames);
    let expected = [0x21, 0x02, 0, 0x43, 0x01, 0, 0x01, 0, 0x01, 0x40, 0, 0x40];
    assert_eq!(bytes, expected);
    assert_eq!(decode(&bytes, 3, &[0, 7]).expect("frames"), frames);
    assert_eq!(decode(&bytes, 3, &[0]), None);
    assert_eq!(decode(&bytes, usize::MAX, &[0, 7]), None);
}
