//! The pictures of `docs/studies/ext4-xfs.md`, of the table that `scripts/ext4-xfs-study.sh` makes.
//!
//! usage: `cargo run -p fsage-report --example ext4_xfs_study -- models.txt FOLDER`

use fsage_report::charts::Bar;
use fsage_report::{Axis, Bars, Chart};
use std::error::Error;
use std::path::PathBuf;

/// Names of the targets, as the table and as the page has them.
const TARGETS: [(&str, &str); 2] = [
    ("ext4:regime=default", "ext4"),
    ("xfs:regime=default", "XFS"),
];
/// Lives, as the table and as the page has them.
const LIVES: [(&str, &str); 5] = [
    ("mail", "mail spool"),
    ("build", "build cache"),
    ("images", "container images"),
    ("database", "databases"),
    ("home", "home directories"),
];

/// A row of the table.
struct Row {
    life: String,
    fill: u32,
    target: usize,
    metric: String,
    mean: f64,
    half: f64,
}

impl Row {
    fn parse(line: &str) -> Option<Row> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [life, fill, target, metric, _, mean, half, ..] = words[..] else {
            return None;
        };
        Some(Row {
            life: life.to_owned(),
            fill: fill.parse().ok()?,
            target: TARGETS.iter().position(|(name, _)| *name == target)?,
            metric: metric.to_owned(),
            mean: mean.parse().ok()?,
            half: half.parse().ok()?,
        })
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(table), Some(folder)) = (arguments.next(), arguments.next()) else {
        return Err("usage: ext4_xfs_study models.txt FOLDER".into());
    };
    let text = std::fs::read_to_string(table)?;
    let rows: Vec<Row> = text.lines().filter_map(Row::parse).collect();
    std::fs::create_dir_all(&folder)?;
    for chart in [
        chart(
            &rows,
            "pieces_per_file",
            "ext4-xfs-pieces",
            "Pieces of a file",
            "pieces a file",
        ),
        chart(
            &rows,
            "placeable_1m",
            "ext4-xfs-room",
            "Room for extents of 1 MiB",
            "extents of 1 MiB that fit into free space",
        ),
    ] {
        let picture = chart.svg().ok_or("nothing to draw")?;
        std::fs::write(folder.join(format!("{}.svg", chart.id)), picture)?;
    }
    Ok(())
}

/// Both file systems in every life, at the emptiest and the fullest.
fn chart(rows: &[Row], metric: &str, id: &str, title: &str, label: &str) -> Chart {
    let fills = rows.iter().map(|row| row.fill);
    let ends = [fills.clone().min(), fills.max()];
    let mut bars = Vec::new();
    for (life, name) in LIVES {
        for fill in ends.into_iter().flatten() {
            let of_life = rows
                .iter()
                .filter(|row| row.life == life && row.metric == metric);
            bars.extend(of_life.filter(|row| row.fill == fill).map(|row| Bar {
                group: format!("{name}, {fill} %"),
                target: row.target,
                state: "model".to_owned(),
                value: row.mean,
                interval: Some(((row.mean - row.half).max(0.0), row.mean + row.half)),
            }));
        }
    }
    Bars {
        id: id.to_owned(),
        title: title.to_owned(),
        description: "Means over the seeds on the models; lines are 95 % intervals. Files take that share of the \
                      partition when they take the most."
            .to_owned(),
        value: Axis {
            label: label.to_owned(),
            from_zero: true,
            ..Axis::default()
        },
        targets: TARGETS.map(|(_, name)| name.to_owned()).to_vec(),
        bars,
    }
    .into_chart()
}
