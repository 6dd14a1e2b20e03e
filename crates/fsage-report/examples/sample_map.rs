//! A page with block maps of made-up disks, to look at and to measure:
//! `cargo run -p fsage-report --example sample_map > map.html`.
//!
//! A first argument is the number of blocks of 4 KiB, a second one that of days. Files come and go at random; they take
//! the first free blocks of a random group, or, on the second disk, all go to the end of a log.

use fsage_core::snapshot::Inode;
use fsage_core::{Extent, FileKind, Geometry, Layout, LayoutInMemory, Rng, Run, Space};
use fsage_metrics::Recorder;
use fsage_report::map::{DayFacts, Disk, File, LastDay, PAGE_BYTES, Piece};
use fsage_report::{BlockMap, Report, Target, render};
use std::io::Write;

const BLOCK: u64 = 4096;
const FREE: u32 = 0;
const METADATA: u32 = 1;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let blocks = arguments
        .next()
        .map_or(Ok(1 << 20), |text| text.parse::<u64>())?;
    let days = arguments
        .next()
        .map_or(Ok(200), |text| text.parse::<u32>())?;
    let names = ["groups", "log <b>&\"'"];
    let maps = names.iter().enumerate();
    let report = Report {
        title: "Block maps".into(),
        targets: names
            .map(|name| Target {
                name: name.into(),
                ..Target::default()
            })
            .to_vec(),
        maps: maps
            .map(|(at, _)| map(at, blocks, days, PAGE_BYTES / 2))
            .collect(),
        ..Report::default()
    };
    std::io::stdout().write_all(render(&report)?.as_bytes())?;
    Ok(())
}

/// A disk: which file each block belongs to, in which order its blocks come.
struct Sample {
    is_log: bool,
    group: u64,
    owner: Vec<u32>,
    files: Vec<(u32, u64, Vec<u64>)>,
    next: u32,
    head: u64,
    rng: Rng,
}

fn map(target: usize, blocks: u64, days: u32, max_bytes: usize) -> BlockMap {
    let is_log = target == 1;
    let group = (blocks / if is_log { 512 } else { 32 }).max(16);
    let mut sample = Sample {
        is_log,
        group,
        owner: vec![FREE; blocks as usize],
        files: Vec::new(),
        next: 2,
        head: 0,
        rng: Rng::new(target as u64),
    };
    for start in (0..blocks).step_by(group as usize) {
        let fixed = (group / 40).max(1);
        sample.owner[start as usize..][..fixed.min(blocks - start) as usize].fill(METADATA);
    }
    let mut recorder = Recorder::new();
    let mut facts = Vec::new();
    let mut used = 0;
    let mut last = None;
    for day in 0..days {
        let wanted = blocks * (30 + 55 * u64::from(day + 1) / u64::from(days)) / 100;
        for _ in 0..blocks / 8000 {
            used -= sample.delete();
        }
        while used < wanted {
            used += sample.create();
        }
        let layout = sample.layout();
        let fragmented = sample.files.iter().flat_map(|(_, _, b)| b.windows(2));
        let (all, near) = fragmented.fold((0_u32, 0_u32), |(all, near), pair| {
            (all + 1, near + u32::from(pair[1] == pair[0] + 1))
        });
        facts.push(DayFacts {
            label: day.to_string(),
            utilization: Some(used as f64 / blocks as f64),
            layout_score: Some(f64::from(near) / f64::from(all)),
        });
        recorder.offer(day, &layout);
        last = Some(layout);
    }
    let last = last.expect("a day");
    recorder.last(days - 1, &last);
    let recording = recorder.into_recording().expect("a day");
    let disk = Disk {
        target,
        group: if is_log { "segment" } else { "cylinder group" },
        is_log,
        grid: recording.grid,
        frames: recording.frames,
        days: facts,
        last: Some(full(&last)),
    };
    BlockMap::new(disk, max_bytes)
}

impl Sample {
    fn create(&mut self) -> u64 {
        let size = 1_u64 << self.rng.below(10).min(self.rng.below(12));
        let blocks = self.owner.len() as u64;
        let mut at = if self.is_log {
            self.head
        } else {
            self.rng.below(blocks / self.group) * self.group
        };
        let mut own = Vec::new();
        for _ in 0..blocks {
            if self.owner[at as usize] == FREE {
                self.owner[at as usize] = self.next;
                own.push(at);
                if own.len() as u64 == size {
                    break;
                }
            }
            at = (at + 1) % blocks;
        }
        self.head = at;
        let took = own.len() as u64;
        self.files.push((self.next, took * BLOCK, own));
        self.next += 1;
        took
    }

    fn delete(&mut self) -> u64 {
        if self.files.is_empty() {
            return 0;
        }
        let at = self.rng.below(self.files.len() as u64) as usize;
        let (_, _, own) = self.files.swap_remove(at);
        for &block in &own {
            self.owner[block as usize] = FREE;
        }
        own.len() as u64
    }

    fn layout(&self) -> LayoutInMemory {
        let size_bytes = self.owner.len() as u64 * BLOCK;
        let inodes = self.files.iter().map(|(ino, size, own)| {
            let mut extents: Vec<Extent> = Vec::new();
            for (at, &block) in (0..).zip(own) {
                match extents.last_mut() {
                    Some(e) if e.physical_bytes + e.length_bytes == block * BLOCK => {
                        e.length_bytes += BLOCK;
                    }
                    _ => extents.push(Extent {
                        logical_bytes: at * BLOCK,
                        physical_bytes: block * BLOCK,
                        length_bytes: BLOCK,
                        flags: 0,
                    }),
                }
            }
            let mut inode = Inode::new((*ino).into(), None, FileKind::Regular, *size);
            inode.path = Some(format!("d{}/<script>alert({ino})</script>", ino % 7).into());
            inode.extents = Some(extents.into());
            inode
        });
        let mut free: Vec<Run> = Vec::new();
        for (at, _) in (0..).zip(&self.owner).filter(|(_, owner)| **owner == FREE) {
            match free.last_mut() {
                Some(run) if run.start_bytes + run.length_bytes == at * BLOCK => {
                    run.length_bytes += BLOCK;
                }
                _ => free.push(Run {
                    start_bytes: at * BLOCK,
                    length_bytes: BLOCK,
                }),
            }
        }
        LayoutInMemory {
            geometry: Geometry {
                fs_type: "sample".into(),
                size_bytes,
                data_bytes: Some(size_bytes),
                reserved_bytes: 0,
                block_bytes: BLOCK as u32,
                frag_bytes: BLOCK as u32,
                inodes_total: 0,
                group_count: size_bytes.div_ceil(self.group * BLOCK) as u32,
                group_bytes: self.group * BLOCK,
                inodes_per_group: 0,
                first_ino: 0,
                inode_chunk_bytes: 0,
            },
            space: Some(Space::default()),
            inodes: inodes.collect(),
            names: Vec::new(),
            free: Some(free),
        }
    }
}

fn full(layout: &LayoutInMemory) -> LastDay {
    let mut free = Vec::new();
    layout.visit_free(&mut |run| free.push((run.start_bytes, run.length_bytes)));
    let files = layout.inodes.iter().map(|inode| File {
        ino: inode.ino,
        size_bytes: inode.size_bytes,
        path: inode.path.as_deref().map(str::to_owned),
        extents: inode
            .extents
            .iter()
            .flatten()
            .map(|e| Piece {
                physical_bytes: e.physical_bytes,
                length_bytes: e.length_bytes,
                logical_bytes: Some(e.logical_bytes),
            })
            .collect(),
        ..File::default()
    });
    LastDay {
        free: Some(free),
        files: files.collect(),
    }
}
