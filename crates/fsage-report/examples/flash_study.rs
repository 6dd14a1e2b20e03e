//! The pictures of `docs/studies/flash.md`, of the table that `scripts/flash-study.sh` makes.
//!
//! usage: `cargo run -p fsage-report --example flash_study -- tables.txt FOLDER`

use fsage_report::charts::{Bar, Stack};
use fsage_report::{Axis, Bars, Chart, Format, Stacks};
use std::error::Error;
use std::path::PathBuf;

/// Runs that have a picture of how fast they are, with what stands above it.
const RUNS: [(&str, &str); 2] = [
    ("home", "home directories, 30 days"),
    ("mail", "a mail spool, 30 days"),
];
/// Names of the file systems, as the table and as the page has them.
const TARGETS: [(&str, &str); 3] = [("ext4", "ext4"), ("ffs", "FFS realloc"), ("lfs", "LFS")];
/// Causes of a loss, as the table and as the page has them.
const CAUSES: [(&str, &str); 6] = [
    ("rest_%", "rest"),
    ("splitting_%", "splitting"),
    ("commands_%", "commands"),
    ("gc_%", "collection"),
    ("sharing_%", "page sharing"),
    ("collisions_%", "collisions"),
];
/// Losses below this many percent are not split: shares of almost nothing say nothing.
const LEAST_PERCENT: f64 = 5.0;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(table), Some(folder)) = (arguments.next(), arguments.next()) else {
        return Err("usage: flash_study tables.txt FOLDER".into());
    };
    let table = Table::parse(&std::fs::read_to_string(table)?)?;
    std::fs::create_dir_all(&folder)?;
    let speeds = RUNS.iter().map(|(run, title)| speed(&table, run, title));
    for chart in speeds.chain([causes(&table)]) {
        let picture = chart.svg().ok_or("nothing to draw")?;
        std::fs::write(folder.join(format!("{}.svg", chart.id)), picture)?;
    }
    Ok(())
}

/// The table: names of columns, and rows of words.
struct Table {
    names: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    fn parse(text: &str) -> Result<Table, Box<dyn Error>> {
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect();
        let mut lines = text.lines();
        let names = words(lines.next().ok_or("an empty table")?);
        let rows = lines.map(words).collect();
        Ok(Table { names, rows })
    }

    fn word<'a>(&self, row: &'a [String], name: &str) -> &'a str {
        let place = self.names.iter().position(|known| known == name);
        place
            .and_then(|place| row.get(place))
            .map_or("", String::as_str)
    }

    fn number(&self, row: &[String], name: &str) -> Option<f64> {
        self.word(row, name).parse().ok()
    }
}

/// Aged over control on every device.
fn speed(table: &Table, run: &str, title: &str) -> Chart {
    let rows = table
        .rows
        .iter()
        .filter(|row| table.word(row, "run") == run);
    let bars = rows.filter_map(|row| {
        let target = table.word(row, "target");
        Some(Bar {
            group: table.word(row, "device").to_owned(),
            target: TARGETS.iter().position(|(name, _)| *name == target)?,
            state: "aged".to_owned(),
            value: table.number(row, "ratio")?,
            interval: None,
        })
    });
    let mut bars: Vec<Bar> = bars.collect();
    bars.sort_by_key(|bar| (device_order(&bar.group), bar.target));
    Bars {
        id: format!("flash-speed-{run}"),
        title: format!("Speed of reading, aged over control: {title}"),
        description: "Two disks with an arm and six flash devices; 1 is as fast as the control."
            .to_owned(),
        value: Axis {
            label: "speed of the aged file system, in that of its control".to_owned(),
            from_zero: true,
            ..Axis::default()
        },
        targets: TARGETS.map(|(_, name)| name.to_owned()).to_vec(),
        bars,
    }
    .into_chart()
}

/// Disks first, then flash from large drives to cards.
fn device_order(device: &str) -> usize {
    const ORDER: [&str; 8] = [
        "st32430n",
        "st4000nm0033:scale=4000",
        "nvme_mlc_p1",
        "nvme_tlc",
        "nvme_a",
        "sata_tlc",
        "ufs31",
        "emmc51",
    ];
    let place = ORDER.iter().position(|known| *known == device);
    place.unwrap_or(ORDER.len())
}

/// What losses consist of.
fn causes(table: &Table) -> Chart {
    let stacks = table.rows.iter().filter_map(|row| {
        let loss = table.number(row, "loss_%")?;
        if loss < LEAST_PERCENT || table.word(row, "target") != "ext4" {
            return None;
        }
        let parts = CAUSES.iter().filter_map(|(column, name)| {
            let share = table.number(row, column)?;
            Some(((*name).to_owned(), share))
        });
        Some(Stack {
            name: format!(
                "{}, {}: {loss:.0} %",
                table.word(row, "run"),
                table.word(row, "device")
            ),
            parts: parts.collect(),
        })
    });
    Stacks {
        id: "flash-causes".to_owned(),
        title: "What ext4 loses with age on flash, by cause".to_owned(),
        description: "Shares of the causes that cost time; behind each name the loss in percent of the time of the \
                      control."
            .to_owned(),
        value: Axis {
            label: "share of the loss".to_owned(),
            format: Format::Percent,
            ..Axis::default()
        },
        stacks: stacks.collect(),
    }
    .into_chart()
}
