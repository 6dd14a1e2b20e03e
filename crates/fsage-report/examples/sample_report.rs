//! A page with everything on it, to look at: `cargo run -p fsage-report --example sample_report > sample.html`.
//!
//! The numbers are made up. A first argument is the number of days, a second one that of targets.

use fsage_report::charts::{Bar, Point, Published, Series, Stack};
use fsage_report::{
    Axis, Bars, Cell, Chart, Command, DataTable, Exhibit, Fact, Finding, Folded, Format, Lines,
    Report, Scale, Section, Sheet, Stacks, Target, Term, Tone, render,
};
use std::io::Write;

const NAMES: [&str; 10] = [
    "realloc",
    "original",
    "ext4",
    "XFS",
    "btrfs",
    "noswitch",
    "smartfrag",
    "ext3",
    "LFS greedy",
    "LFS cost-benefit",
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let days = arguments.next().map_or(Ok(365), |text| text.parse())?;
    let targets = arguments.next().map_or(Ok(10), |text| text.parse())?;
    let page = render(&sample(days, targets))?;
    std::io::stdout().write_all(page.as_bytes())?;
    Ok(())
}

/// Numbers that look random, the same ones each time: a linear congruential generator of Knuth's.
struct Noise(u64);

impl Noise {
    /// From -1 to 1.
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

fn sample(days: usize, targets: usize) -> Report {
    let names: Vec<String> = (0..targets)
        .map(|i| {
            NAMES
                .get(i)
                .map_or_else(|| format!("target {i}"), |&name| name.into())
        })
        .collect();
    Report {
        title: "Ten ways to place blocks".into(),
        subtitle: format!("home directories, {days} days, 812,411 operations; fsage 0.1.0, 2026-11-22"),
        verdict: verdict(days),
        folded: Folded::default(),
        doubts: vec!["The past is short.".to_owned()],
        missing: vec![
            "btrfs stopped on day 211: the device was full. Type `fsage age --resume RUN` to go on.".into(),
            "LFS was not benchmarked: its host model reads no segments. The other targets were.".into(),
        ],
        targets: names.iter().map(|name| target(name)).collect(),
        facts: facts(days),
        commands: vec![
            Command {
                what: "Make the same workload".into(),
                line: "fsage generate profile home --seed 7 --days 300 -o home.parquet".into(),
            },
            Command {
                what: "Age the same targets, with benchmarks".into(),
                line: "fsage compare home.parquet --on ffs:preset=g502,policy=realloc --on ffs:preset=g502,policy=orig \
                       --on loop:ext4,size=1G -o RUN"
                    .into(),
            },
        ],
        sections: vec![decay(&names, days), sizes(&names), free_space(&names, days), benchmarks(&names), origin()],
        maps: Vec::new(),
        terms: terms(),
    }
}

fn verdict(days: usize) -> Vec<Finding> {
    vec![
        Finding {
            text: format!(
                "After {days} days realloc keeps 90 % of blocks contiguous, original 77 %."
            ),
            tone: Tone::Good,
            section: Some("decay".into()),
        },
        Finding {
            text:
                "original can place no file of 1 MB in one piece since day 214; realloc still can."
                    .into(),
            tone: Tone::Bad,
            section: Some("free-space".into()),
        },
        Finding {
            text: "Reading hot files takes 1.31 times as long as on a fresh disk on original."
                .into(),
            tone: Tone::Neutral,
            section: Some("benchmarks".into()),
        },
    ]
}

fn target(name: &str) -> Target {
    Target {
        name: name.into(),
        spec: format!("ffs:preset=g502,policy={name},nrpos=1,minfree=10"),
        facts: vec![
            Fact {
                label: "Kind".into(),
                value: "model of 4.4BSD FFS".into(),
            },
            Fact {
                label: "Size".into(),
                value: "502 MB, 8 KB blocks".into(),
            },
        ],
    }
}

fn facts(days: usize) -> Vec<Fact> {
    let facts = [
        ("Workload", "home.parquet"),
        (
            "BLAKE3",
            "0b1e9a7c55d2e0c8b7b3a7e6f1f0c2d4a1938475610293847561fedcba987654",
        ),
        ("Operations", "812,411 in 48.6 GB"),
        ("Seed", "7"),
        ("Host", "Linux 6.12, 2 processors, 24 GB"),
        (
            "A name with <script>alert(1)</script>",
            "\"quotes\", a\nnewline, \u{1b}[31m and \u{fffd}",
        ),
    ];
    let facts = facts.map(|(label, value)| Fact {
        label: label.into(),
        value: value.into(),
    });
    facts
        .into_iter()
        .chain([Fact {
            label: "Days".into(),
            value: days.to_string(),
        }])
        .collect()
}

fn curve(target: usize, days: usize, floor: f64, tau: f64, noise: f64) -> Vec<Point> {
    let mut random = Noise(target as u64 + 1);
    let mut walk = 0.0;
    (1..=days)
        .map(|day| {
            walk = 0.95 * walk + noise * random.next();
            let y = floor + (1.0 - floor) * (-(day as f64) / tau).exp() + walk;
            // The fifth target stopped early, and missed some days before.
            let is_known = target != 4 || (day < days * 6 / 10 && !(40..60).contains(&day));
            let y = is_known.then_some(y);
            Point {
                x: day as f64,
                y,
                interval: y.map(|y| (y - 0.012, y + 0.012)),
            }
        })
        .collect()
}

fn days_axis() -> Axis {
    Axis {
        label: "day".into(),
        ..Axis::default()
    }
}

fn decay(names: &[String], days: usize) -> Section {
    let curves = |noise: f64, scale: f64| {
        let series = names.iter().enumerate().map(move |(target, name)| Series {
            name: name.clone(),
            target,
            dashed: false,
            points: curve(
                target,
                days,
                scale - 0.045 * target as f64,
                60.0 + 9.0 * target as f64,
                noise,
            ),
        });
        series.collect::<Vec<Series>>()
    };
    let score = Lines {
        id: "layout-score".into(),
        title: "Layout score".into(),
        description: "The share of blocks that lie right behind the one before them in their file."
            .into(),
        x: days_axis(),
        y: Axis {
            label: "layout score".into(),
            format: Format::Percent,
            ..Axis::default()
        },
        series: curves(0.002, 0.92),
        published: [(60.0, 0.955), (180.0, 0.92), (300.0, 0.9)]
            .map(|(x, y)| Published {
                series: names[0].clone(),
                x,
                y,
            })
            .to_vec(),
    };
    let utilization = Lines {
        id: "utilization".into(),
        title: "Utilization".into(),
        description: "How much of the space for files is in use at the end of a day.".into(),
        x: days_axis(),
        y: Axis {
            label: "utilization".into(),
            format: Format::Percent,
            from_zero: true,
            ..Axis::default()
        },
        series: curves(0.004, 0.88),
        published: Vec::new(),
    };
    Section {
        id: "decay".into(),
        title: "Decay, day by day".into(),
        lead: "Files are laid out worse as a file system ages: free space lies in small pieces."
            .into(),
        exhibits: vec![
            Exhibit::Chart(score.into_chart()),
            Exhibit::Chart(utilization.into_chart()),
            last_day(names),
        ],
    }
}

fn last_day(names: &[String]) -> Exhibit {
    let mut data = DataTable::new(&[
        "target",
        "layout score (%)",
        "split files",
        "largest free piece (bytes)",
        "note",
    ]);
    for (i, name) in names.iter().enumerate() {
        data.rows.push(vec![
            name.as_str().into(),
            (92.0 - 4.5 * i as f64).into(),
            (1200.0 + 137.0 * (i * i) as f64).into(),
            (f64::from(1 << 24) / (1.0 + i as f64)).into(),
            if i == 4 {
                Cell::from("stopped on day 211")
            } else {
                Cell::Null
            },
        ]);
    }
    Exhibit::Table(Sheet {
        id: "last-day".into(),
        title: "The last day".into(),
        description: "What each target came to.".into(),
        data,
    })
}

fn sizes(names: &[String]) -> Section {
    let series = names.iter().take(3).enumerate().flat_map(|(target, name)| {
        [false, true].map(|dashed| Series {
            name: if dashed {
                format!("{name}, control")
            } else {
                name.clone()
            },
            target,
            dashed,
            points: (14..=25)
                .map(|power| {
                    let loss = if dashed {
                        0.01
                    } else {
                        0.05 + 0.06 * target as f64
                    };
                    let y = Some(1.0 - loss * (1.0 + 0.3 * f64::from(power % 4)));
                    Point {
                        x: f64::from(power).exp2(),
                        y,
                        interval: None,
                    }
                })
                .collect(),
        })
    });
    let chart = Lines {
        id: "score-by-size".into(),
        title: "Layout score by file size".into(),
        description: "Small files have few blocks to go astray, large ones are cut into clusters."
            .into(),
        x: Axis {
            label: "file size".into(),
            format: Format::Bytes,
            scale: Scale::Log,
            ..Axis::default()
        },
        y: Axis {
            label: "layout score".into(),
            format: Format::Percent,
            ..Axis::default()
        },
        series: series.collect(),
        published: Vec::new(),
    };
    Section {
        id: "sizes".into(),
        title: "Layout by file size".into(),
        lead: "The last day, by the size of files.".into(),
        exhibits: vec![Exhibit::Chart(chart.into_chart())],
    }
}

fn free_space(names: &[String], days: usize) -> Section {
    let classes = [
        "4M and more",
        "1M to 4M",
        "256K to 1M",
        "64K to 256K",
        "8K to 64K",
        "below 8K",
    ];
    let stacks = Stacks {
        id: "free-classes".into(),
        title: "Free space by the size of its pieces".into(),
        description: "How much of the free space lies in pieces of which size on the last day."
            .into(),
        value: Axis {
            label: "free space".into(),
            format: Format::Bytes,
            ..Axis::default()
        },
        stacks: names
            .iter()
            .enumerate()
            .map(|(i, name)| Stack {
                name: name.clone(),
                parts: classes
                    .iter()
                    .enumerate()
                    .map(|(j, &class)| {
                        let share = 1.0
                            + if j < 3 {
                                30.0 / (1.0 + i as f64)
                            } else {
                                4.0 * i as f64
                            };
                        (class.into(), share * 1e6)
                    })
                    .collect(),
            })
            .collect(),
    };
    let largest = Lines {
        id: "largest-free".into(),
        title: "The largest free piece".into(),
        description: "A file up to this size can still be placed in one piece.".into(),
        x: days_axis(),
        y: Axis {
            label: "bytes".into(),
            format: Format::Bytes,
            scale: Scale::Log,
            ..Axis::default()
        },
        series: names
            .iter()
            .enumerate()
            .map(|(target, name)| Series {
                name: name.clone(),
                target,
                dashed: false,
                points: (1..=days)
                    .map(|day| {
                        let bytes = 2e8 / (1.0 + (day * (target + 1)) as f64 / 20.0).floor();
                        Point {
                            x: day as f64,
                            y: Some(bytes.floor()),
                            interval: None,
                        }
                    })
                    .collect(),
            })
            .collect(),
        published: Vec::new(),
    };
    let empty = Lines {
        id: "empty".into(),
        title: "A chart without data".into(),
        description: "Nothing was measured.".into(),
        ..Lines::default()
    };
    Section {
        id: "free-space".into(),
        title: "Free space".into(),
        lead: "What is free, and in which pieces.".into(),
        exhibits: [
            stacks.into_chart(),
            largest.into_chart(),
            empty.into_chart(),
        ]
        .map(Exhibit::Chart)
        .into(),
    }
}

fn benchmarks(names: &[String]) -> Section {
    let groups = [
        "read the hot files",
        "write them over",
        "sequential, 16K",
        "sequential, 1M",
    ];
    let bars = |count: usize, groups: &[&str], id: &str, title: &str| -> Chart {
        let mut out = Vec::new();
        for (g, group) in groups.iter().enumerate() {
            for target in 0..count {
                for (state, factor) in [("aged", 1.0), ("control", 1.25)] {
                    let value = (5.5 - 0.3 * target as f64 + g as f64) * factor;
                    out.push(Bar {
                        group: (*group).into(),
                        target,
                        state: state.into(),
                        value,
                        interval: Some((value * 0.96, value * 1.05)),
                    });
                }
            }
        }
        let bars = Bars {
            id: id.into(),
            title: title.into(),
            description: "The median of ten repetitions, and their range. Longer is better.".into(),
            value: Axis {
                label: "MB/s".into(),
                from_zero: true,
                ..Axis::default()
            },
            targets: names.to_vec(),
            bars: out,
        };
        bars.into_chart()
    };
    Section {
        id: "benchmarks".into(),
        title: "Benchmarks".into(),
        lead: "Each on the aged file system, and on a fresh one with the same files.".into(),
        exhibits: vec![
            Exhibit::Chart(bars(
                3.min(names.len()),
                &groups,
                "throughput",
                "Throughput",
            )),
            Exhibit::Chart(bars(
                names.len(),
                &groups[..1],
                "throughput-all",
                "Throughput of the hot files",
            )),
        ],
    }
}

fn origin() -> Section {
    let mut data = DataTable::new(&["where operations come from", "operations", "share (%)"]);
    for (origin, count) in [
        ("snapshots", 512_004.0),
        ("short-lived profile", 288_912.0),
        ("guessed", 11_495.0),
    ] {
        data.rows.push(vec![
            origin.into(),
            f64::into(count),
            (count / 8124.11).into(),
        ]);
    }
    Section {
        id: "origin".into(),
        title: "What is exact, and what is guessed".into(),
        lead: "Times of deletion are not in snapshots, and are drawn.".into(),
        exhibits: vec![Exhibit::Table(Sheet {
            id: "origin-shares".into(),
            title: "Operations by origin".into(),
            description: String::new(),
            data,
        })],
    }
}

fn terms() -> Vec<Term> {
    let terms = [
        (
            "layout score",
            "Share of a file's blocks that lie right behind their predecessor. 1 is perfect.",
        ),
        (
            "utilization",
            "Share of the space for files that is in use.",
        ),
        (
            "split files",
            "Files of two blocks or more that lie in more than one piece.",
        ),
        (
            "control",
            "A fresh file system with the files of the aged one, written in one go.",
        ),
        (
            "largest free piece",
            "The largest run of free blocks, in bytes.",
        ),
    ];
    let terms = terms.map(|(name, meaning)| Term {
        name: name.into(),
        meaning: meaning.into(),
    });
    terms.into()
}
