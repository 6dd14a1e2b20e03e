//! `NoSwitch`: a file stays in its cylinder group at the first indirect block.

use super::NOISE;
use crate::comparison::Measured;
use crate::figure::{Exhibit, Figure, Published};
use crate::paper::Paper;
use crate::sizes::{Sizes, What, at, change, largest, mean, ratios};
use crate::words;
use fsage_report::chart::size_text;
use fsage_report::svg::Axis;

const KB: u64 = 1 << 10;
const MB: u64 = 1 << 20;

/// The baseline and `NoSwitch`, empty and aged.
#[derive(Clone, Copy)]
pub struct NoSwitch<'a> {
    /// The baseline on an empty file system.
    pub realloc_empty: &'a Sizes,
    /// The baseline, aged.
    pub realloc_aged: &'a Sizes,
    /// `NoSwitch` on an empty file system.
    pub noswitch_empty: &'a Sizes,
    /// `NoSwitch`, aged.
    pub noswitch_aged: &'a Sizes,
}

impl NoSwitch<'_> {
    /// Charts of reading, creating and layout.
    pub fn exhibits(&self, paper: &Paper) -> Vec<Exhibit> {
        let gain = |curve: &str, base: &Sizes, id: &str| {
            Some(Published {
                curve: curve.to_owned(),
                x: (104 * KB) as f64,
                y: base.at(What::Read, 104 * KB)? * paper.value(id),
            })
        };
        let read = [
            gain("noswitch, empty", self.realloc_empty, "S97.3.empty"),
            gain("noswitch, aged", self.realloc_aged, "S97.3.aged"),
        ];
        let layout =
            [(96 * KB, "S97.1.96"), (104 * KB, "S97.1.104")].map(|(bytes, id)| Published {
                curve: "realloc, aged".to_owned(),
                x: bytes as f64,
                y: paper.value(id),
            });
        vec![
            self.figure(
                What::Read,
                "noswitch-read",
                "NoSwitch, reading (figure 6)",
                "A published point is the gain over our curve of realloc, at 104 KB.",
                read.into_iter().flatten().collect(),
            ),
            self.figure(What::Create, "noswitch-write", "NoSwitch, creating (figure 6)", "", Vec::new()),
            self.figure(
                What::Layout,
                "noswitch-layout",
                "NoSwitch, layout of created files (figure 5)",
                "The score hardly tells the policies apart: what NoSwitch saves is the length of the seek behind \
                 block 12, not the seek.",
                layout.to_vec(),
            ),
        ]
    }

    fn figure(
        &self,
        what: What,
        slug: &'static str,
        title: &str,
        text: &str,
        published: Vec<Published>,
    ) -> Exhibit {
        Exhibit::Figure(Figure {
            slug,
            title: title.to_owned(),
            text: text.to_owned(),
            axis: Axis::Bytes,
            x_label: "size of a file, bytes",
            y_label: match what {
                What::Layout => "layout score",
                _ => "MB/s (10^6)",
            },
            curves: vec![
                self.realloc_empty.curve("realloc, empty", what),
                self.noswitch_empty.curve("noswitch, empty", what),
                self.realloc_aged.curve("realloc, aged", what),
                self.noswitch_aged.curve("noswitch, aged", what),
            ],
            published,
        })
    }

    /// What the paper says of them.
    pub fn measure(&self, measured: &mut Measured) {
        measured.figure("S97.1.96", self.realloc_aged.at(What::Layout, 96 * KB));
        measured.figure("S97.1.104", self.realloc_aged.at(What::Layout, 104 * KB));
        measured.figure(
            "S97.2.read",
            self.realloc_aged.step(What::Read, 96 * KB, 104 * KB),
        );
        measured.figure(
            "S97.2.write",
            self.realloc_aged.step(What::Create, 96 * KB, 104 * KB),
        );
        measured.shape("S97.2.larger", self.reading_drops_more());
        let empty = ratios(self.noswitch_empty, self.realloc_empty, What::Read);
        let aged = ratios(self.noswitch_aged, self.realloc_aged, What::Read);
        let [empty_writes, aged_writes] = [
            (self.noswitch_empty, self.realloc_empty),
            (self.noswitch_aged, self.realloc_aged),
        ]
        .map(|(noswitch, realloc)| ratios(noswitch, realloc, What::Create));
        measured.figure("S97.3.empty", at(&empty, 104 * KB));
        measured.figure("S97.3.aged", at(&aged, 104 * KB));
        measured.shape(
            "S97.4.both",
            always_faster_at_104_kb(&[&empty, &empty_writes, &aged, &aged_writes]),
        );
        let areas = area(self.noswitch_empty, self.realloc_empty)
            .zip(area(self.noswitch_aged, self.realloc_aged));
        measured.shape(
            "S97.4.smaller",
            areas.map(|(empty, aged)| {
                let text = format!("{aged:.2} against {empty:.2} MB/s in the mean of sizes");
                let holds = aged < words::SIGNIFICANTLY_LESS * empty && aged > 0.0;
                (holds, text)
            }),
        );
        // Where files of 104 KB were not measured, another size has to gain most.
        let is_there = at(&empty, 104 * KB).is_some() && at(&aged, 104 * KB).is_some();
        let at = largest(&empty).zip(largest(&aged)).filter(|_| is_there);
        measured.shape(
            "S97.3.at-104",
            at.map(|((empty, _), (aged, _))| {
                let holds = empty == 104 * KB && aged == 104 * KB;
                let text = format!("{} empty, {} aged", size_text(empty), size_text(aged));
                (holds, text)
            }),
        );
        let all: [&[(u64, f64)]; 4] = [&empty, &empty_writes, &aged, &aged_writes];
        measured.shape("S97.4.gain", gains_in_files_of_some_hundred_kb(&all));
        measured.shape("S97.4.large", large_files_gain_little(&all));
        let drops = self
            .noswitch_aged
            .step(What::Read, 96 * KB, 104 * KB)
            .zip(self.realloc_aged.step(What::Read, 96 * KB, 104 * KB));
        measured.shape(
            "S97.4.drop",
            drops.map(|(ours, baseline)| {
                let text = format!("{}, realloc {}", change(ours), change(baseline));
                (ours < 1.0 && ours > baseline, text)
            }),
        );
    }

    fn reading_drops_more(&self) -> Option<(bool, String)> {
        let step = |what| self.realloc_aged.step(what, 96 * KB, 104 * KB);
        let (read, write) = (step(What::Read)?, step(What::Create)?);
        let text = format!("{} against {}", change(read), change(write));
        Some((read < write && read < 1.0, text))
    }
}

/// The mean of what is read faster, over sizes, in MB/s.
fn area(noswitch: &Sizes, realloc: &Sizes) -> Option<f64> {
    let gains = noswitch.all(What::Read).into_iter();
    mean(gains.filter_map(|(bytes, rate)| Some(rate - realloc.at(What::Read, bytes)?)))
}

fn always_faster_at_104_kb(gains: &[&[(u64, f64)]; 4]) -> Option<(bool, String)> {
    let gains: Option<Vec<f64>> = gains.iter().map(|gains| at(gains, 104 * KB)).collect();
    let gains = gains?;
    let text: Vec<String> = gains.iter().map(|gain| change(*gain)).collect();
    let text = format!("read and write, empty, then aged: {}", text.join(", "));
    Some((gains.iter().all(|gain| *gain > 1.0), text))
}

/// The least gain in files of 104 to 512 KB, over all of these curves.
fn gains_in_files_of_some_hundred_kb(gains: &[&[(u64, f64)]; 4]) -> Option<(bool, String)> {
    let all = gains.concat();
    let mut of_them = all
        .into_iter()
        .filter(|p| (104 * KB..=512 * KB).contains(&p.0));
    let first = of_them.next()?;
    let (at, least) = of_them.fold(first, |least, p| if p.1 < least.1 { p } else { least });
    let text = format!("at least {}, at {}", change(least), size_text(at));
    Some((least > 1.0 + NOISE, text))
}

/// The largest gain in files of 1 MB and more, over all of these curves.
fn large_files_gain_little(gains: &[&[(u64, f64)]; 4]) -> Option<(bool, String)> {
    let mut all = gains.concat();
    all.retain(|p| p.0 >= MB);
    let (at, most) = largest(&all)?;
    let text = format!("at most {}, at {}", change(most), size_text(at));
    Some((!words::much_more(most), text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_some_hundred_kb_gain_and_large_ones_little() {
        let as_published: &[(u64, f64)] = &[(104 * KB, 1.43), (512 * KB, 1.08), (MB, 1.05)];
        let hardly: &[(u64, f64)] = &[(104 * KB, 1.43), (512 * KB, 1.01), (MB, 1.25)];
        let holds = |gains: [&[(u64, f64)]; 4]| {
            let both = [
                gains_in_files_of_some_hundred_kb(&gains),
                large_files_gain_little(&gains),
            ];
            both.map(|one| one.map(|(holds, _)| holds))
        };
        assert_eq!(holds([as_published; 4]), [Some(true); 2]);
        let one = [as_published, as_published, as_published, hardly];
        assert_eq!(holds(one), [Some(false); 2]);
        assert_eq!(holds([&[]; 4]), [None; 2]);
    }

    /// By hand: 3 for 2 and 5 for 4 MB/s are 1 more in the mean; one of four that is slower is one too many.
    #[test]
    fn gains_are_added_up_over_sizes_and_must_be_everywhere() {
        let noswitch = crate::sizes::tests::sizes(&[(96, 1.0, 3.0, 1.0), (104, 1.0, 5.0, 1.0)]);
        let realloc = crate::sizes::tests::sizes(&[(96, 1.0, 2.0, 1.0), (104, 1.0, 4.0, 1.0)]);
        assert_eq!(area(&noswitch, &realloc), Some(1.0));
        let (more, less) = ([(104 * KB, 1.2)], [(104 * KB, 0.9)]);
        assert!(always_faster_at_104_kb(&[&more; 4]).unwrap().0);
        assert!(
            !always_faster_at_104_kb(&[&more, &more, &less, &more])
                .unwrap()
                .0
        );
        assert_eq!(always_faster_at_104_kb(&[&more, &more, &[], &more]), None);
    }
}
