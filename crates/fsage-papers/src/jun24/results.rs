//! What came out, and what the paper says of it.

use super::through::Through;
use crate::comparison::Measured;
use crate::figure::{Curve, Exhibit, Figure, Published, Sheet};
use crate::paper::Paper;
use crate::words;
use fsage_report::svg::Axis;

/// The patterns of the artifact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Nothing else is written.
    Contiguous,
    /// Appended, and all pieces meet on one die.
    AppendWorst,
    /// Appended, with so much of others between as is drawn.
    AppendRandom,
    /// Overwritten, and all pieces meet on one die.
    OverwriteWorst,
    /// Overwritten, with so much of others between as is drawn.
    OverwriteRandom,
}

impl Pattern {
    /// All of them; the contiguous file is the first.
    pub const ALL: [Pattern; 5] = [
        Pattern::Contiguous,
        Pattern::AppendWorst,
        Pattern::AppendRandom,
        Pattern::OverwriteWorst,
        Pattern::OverwriteRandom,
    ];

    /// In words; with a point between, a part of the names of rows.
    pub fn text(self) -> &'static str {
        match self {
            Pattern::Contiguous => "contiguous",
            Pattern::AppendWorst => "append worst",
            Pattern::AppendRandom => "append random",
            Pattern::OverwriteWorst => "overwrite worst",
            Pattern::OverwriteRandom => "overwrite random",
        }
    }

    /// What others get is drawn.
    pub fn is_random(self) -> bool {
        matches!(self, Pattern::AppendRandom | Pattern::OverwriteRandom)
    }

    fn row(self) -> String {
        self.text().replace(' ', ".")
    }
}

/// A pattern on the emulated drive, in MiB/s.
pub struct Rates {
    /// The pattern.
    pub pattern: Pattern,
    /// Bare requests.
    pub plain: f64,
    /// The same with hints.
    pub hinted: f64,
    /// Bare requests, with layouts that were drawn anew.
    pub drawn: Vec<f64>,
    /// Through each file system, by its name.
    pub file_systems: Vec<(String, Through)>,
}

impl Rates {
    /// Mean and standard deviation of the layouts that were drawn anew.
    fn mean(&self) -> Option<(f64, f64)> {
        let count = self.drawn.len() as f64;
        let mean = self.drawn.iter().sum::<f64>() / count;
        let square = self.drawn.iter().map(|rate| (rate - mean).powi(2));
        (count > 0.0).then(|| (mean, (square.sum::<f64>() / count).sqrt()))
    }
}

/// A model of a real drive.
pub struct Drive {
    /// Its preset.
    pub name: String,
    /// Bytes that go to all dies before the first one comes again.
    pub stripe_bytes: u64,
    /// What is left of the contiguous rate in the worst pattern.
    pub left: f64,
    /// Pieces, and MiB/s.
    pub degrees: Vec<(u64, f64)>,
    /// Alignment in bytes, and MB/s.
    pub probes: Vec<(u64, f64)>,
}

impl Drive {
    /// How many times as long so many pieces take as one.
    fn times(&self, pieces: u64) -> Option<f64> {
        let rate = |pieces| {
            let found = self.degrees.iter().find(|(degree, _)| *degree == pieces);
            found.map(|(_, rate)| *rate)
        };
        Some(rate(1)? / rate(pieces)?)
    }

    fn probe(&self, alignment: u64) -> Option<f64> {
        let found = self.probes.iter().find(|(at, _)| *at == alignment);
        found.map(|(_, rate)| *rate)
    }
}

/// Everything that was measured.
pub struct Results {
    /// By pattern, in the order of [`Pattern::ALL`].
    pub rates: Vec<Rates>,
    /// MiB/s of the contiguous file, read in requests of the size of a piece.
    pub split: f64,
    /// MiB/s of the database: written alone, beside another file, the same with hints.
    pub databases: [f64; 3],
    /// Models of real drives.
    pub drives: Vec<Drive>,
}

impl Results {
    fn contiguous(&self) -> &Rates {
        &self.rates[0]
    }

    /// What is left of the contiguous rate.
    fn left(&self, rates: &Rates) -> f64 {
        rates.plain / self.contiguous().plain
    }

    /// Every row of the paper that is measured.
    pub fn measured(&self) -> Measured {
        let mut measured = Measured::default();
        for rates in &self.rates {
            let row = rates.pattern.row();
            measured.figure(&format!("J24.{row}"), Some(rates.plain));
            let through = rates.file_systems.iter().find(|(name, _)| name == "ext4");
            measured.figure(&format!("J24.{row}.ext4"), through.map(|(_, t)| t.rate));
            if rates.pattern == Pattern::Contiguous {
                continue;
            }
            measured.figure(&format!("J24.{row}.hint"), Some(rates.hinted));
            measured.figure(&format!("J24.12.{row}"), Some(self.left(rates)));
            let hinted = rates.hinted / self.contiguous().plain;
            measured.figure(&format!("J24.12.{row}.hint"), Some(hinted));
        }
        let [alone, beside, hinted] = self.databases;
        measured.figure("J24.sqlite.contiguous", Some(alone));
        measured.figure("J24.sqlite.fragmented", Some(beside));
        measured.figure("J24.sqlite.hint", Some(hinted));
        measured.figure("J24.sqlite.loss", Some(beside / alone));
        measured.figure("J24.sqlite.loss.hint", Some(hinted / alone));
        self.measure_causes(&mut measured);
        self.measure_drives(&mut measured);
        measured
    }

    /// What splitting costs, and what is left of a file that is one extent.
    fn measure_causes(&self, measured: &mut Measured) {
        let of = |pattern| self.rates.iter().find(|rates| rates.pattern == pattern);
        let time = |rate: f64| 1.0 / rate;
        let whole = time(self.contiguous().plain);
        if let Some(pieces) = of(Pattern::AppendRandom) {
            let loss = time(pieces.plain) - whole;
            let split = (time(self.split) - whole) / loss;
            measured.shape(
                "J24.splitting",
                Some((
                    words::is_nearly_all(1.0 - split),
                    format!("{:.1} % of the loss", 100.0 * split),
                )),
            );
            let spread = (time(pieces.hinted) - whole) / loss;
            measured.shape(
                "J24.collisions",
                Some((
                    words::is_nearly_all(1.0 - spread),
                    format!("{:.1} % of the loss stays with hints", 100.0 * spread),
                )),
            );
        }
        let over: Vec<f64> = [Pattern::OverwriteWorst, Pattern::OverwriteRandom]
            .into_iter()
            .filter_map(|pattern| Some(self.left(of(pattern)?)))
            .collect();
        let text: Vec<String> = over.iter().map(|left| format!("{left:.2}")).collect();
        let holds = over.iter().all(|left| *left < 1.0 - words::AGREEMENT);
        measured.shape("J24.overwritten", Some((holds, text.join(", "))));
    }

    fn measure_drives(&self, measured: &mut Measured) {
        for drive in &self.drives {
            let Some(letter) = drive.name.strip_prefix("nvme_") else {
                continue;
            };
            measured.figure(&format!("J24.11.{letter}"), Some(drive.left));
            for pieces in [128, 256] {
                measured.figure(&format!("J24.3.{letter}.{pieces}"), drive.times(pieces));
            }
            let least = drive.probe(drive.stripe_bytes);
            measured.figure(&format!("J24.8.{letter}.most"), drive.probe(4096));
            measured.figure(&format!("J24.8.{letter}.least"), least);
            if letter == "a" {
                measured.shape("J24.3.a.up-to-8", few_pieces_cost_nothing(drive));
                measured.shape("J24.8.a.falls", falls(drive));
            }
        }
    }

    /// Figures and tables.
    pub fn exhibits(&self, paper: &Paper) -> Vec<Exhibit> {
        let mut exhibits = vec![self.rates_sheet(paper)];
        let published = |slug: &str| -> Vec<(u64, f64)> {
            let points = [128, 256].map(|n| (n, paper.value(&format!("J24.3.{slug}.{n}"))));
            points.to_vec()
        };
        let marks = self.drives.iter().filter_map(|drive| {
            let letter = drive.name.strip_prefix("nvme_")?;
            let points = published(letter).into_iter().map(|(x, y)| Published {
                curve: drive.name.clone(),
                x: x as f64,
                y,
            });
            Some(points.collect::<Vec<Published>>())
        });
        exhibits.push(Exhibit::Figure(Figure {
            slug: "degrees",
            title: "A file of 8 MB by the number of its pieces (figure 3)".to_owned(),
            text: "Each piece lies 8 MB behind the one before; all of it is read with one call, and the host costs \
                   nothing."
                .to_owned(),
            axis: Axis::Linear,
            x_label: "pieces",
            y_label: "times as long as one piece",
            curves: self
                .drives
                .iter()
                .map(|drive| {
                    let points = drive.degrees.iter();
                    let points =
                        points.filter_map(|&(n, _)| Some((n as f64, drive.times(n)?)));
                    Curve::exact(drive.name.clone(), points)
                })
                .collect(),
            published: marks.flatten().collect(),
        }));
        exhibits.push(Exhibit::Figure(Figure {
            slug: "alignment",
            title: "Random reads of 4 KB by their alignment (figure 8)".to_owned(),
            text: "32 at a time, over 2 GB that were written in order: from some alignment on fewer dies are met."
                .to_owned(),
            axis: Axis::Bytes,
            x_label: "alignment",
            y_label: "MB/s",
            curves: self
                .drives
                .iter()
                .map(|drive| {
                    let points = drive.probes.iter().map(|&(at, rate)| (at as f64, rate));
                    Curve::exact(drive.name.clone(), points)
                })
                .collect(),
            published: Vec::new(),
        }));
        exhibits
    }

    fn rates_sheet(&self, paper: &Paper) -> Exhibit {
        let rows = self.rates.iter().map(|rates| {
            let published = paper.value(&format!("J24.{}", rates.pattern.row()));
            let off = |rate: f64| format!("{rate:.1} ({:+.1} %)", 100.0 * (rate / published - 1.0));
            let through: Vec<String> = rates
                .file_systems
                .iter()
                .map(|(name, t)| format!("{name}: {}, {} extents", off(t.rate), t.extents))
                .collect();
            let mean = rates.mean();
            vec![
                rates.pattern.text().to_owned(),
                format!("{published:.1}"),
                off(rates.plain),
                mean.map_or("-".to_owned(), |(mean, deviation)| {
                    format!("{}, deviation {deviation:.0}", off(mean))
                }),
                through.join("; "),
                format!("{:.1}", rates.hinted),
            ]
        });
        Exhibit::Sheet(Sheet {
            slug: "patterns",
            title: "The patterns of the artifact".to_owned(),
            text: "MiB/s of direct reads of 1 MB on the emulated drive. Layouts at random are the one that the \
                   artifact drew: `rand` without a seed, behind 200 MB of contents."
                .to_owned(),
            header: [
                "pattern",
                "published",
                "bare requests",
                "layouts drawn anew",
                "file systems",
                "with hints",
            ]
            .map(str::to_owned)
            .to_vec(),
            rows: rows.collect(),
        })
    }
}

/// Up to 8 pieces take as long as one.
fn few_pieces_cost_nothing(drive: &Drive) -> Option<(bool, String)> {
    let few = drive.degrees.iter().filter(|(pieces, _)| *pieces <= 8);
    let times: Vec<f64> = few.filter_map(|&(pieces, _)| drive.times(pieces)).collect();
    let most = times.iter().copied().max_by(f64::total_cmp)?;
    let holds = times.iter().all(|&times| words::nearly_the_same(times));
    Some((holds, format!("at most {most:.2} times")))
}

/// The rate stays up to 32 KB, and falls with each step from 64 KB on.
fn falls(drive: &Drive) -> Option<(bool, String)> {
    let first = drive.probes.first()?.1;
    let (near, far): (Vec<_>, Vec<_>) = drive.probes.iter().partition(|(at, _)| *at < 64 << 10);
    let stays = near
        .iter()
        .all(|(_, rate)| words::nearly_the_same(rate / first));
    let steps: Vec<f64> = near
        .iter()
        .rev()
        .take(1)
        .chain(&far)
        .map(|probe| probe.1)
        .collect();
    let falls = steps.windows(2).all(|pair| pair[1] < 0.95 * pair[0]);
    let text: Vec<String> = far.iter().map(|(_, rate)| format!("{rate:.0}")).collect();
    (!far.is_empty()).then(|| {
        (
            stays && falls,
            format!("{} MB/s from 64 KB on", text.join(", ")),
        )
    })
}
