//! Files of one size each: created, read, written over, deleted, on empty file systems (section 3).

use super::rates::{Rates, Unit, over};
use super::{Bench, LOG_8K, Systems};
use crate::comparison::Measured;
use crate::figure::{Curve, Exhibit, Figure, Published};
use crate::paper::Paper;
use crate::sizes::mean;
use crate::words;
use fsage_bench::benchmarks::Sequential;
use fsage_bench::benchmarks::sequential::SEQUENTIAL_1995;
use fsage_disk::Disk;
use fsage_report::svg::Axis;
use std::borrow::Cow;
use std::ops::RangeBounds;

const KB: u64 = 1 << 10;
const MB: u64 = 1 << 20;
/// A block.
const BLOCK: u64 = 8 * KB;
/// An FFS as m8r0 that looks for rotational positions: `cpc` is not zero.
const WITH_CPC: &str = "m8r0-cpc";
/// Files are large from here on in the abstract, and in section 3 where reading approaches the bus.
const LARGE: u64 = MB;
/// And from here on in creating (section 3.1).
const LARGE_CREATES: u64 = 512 * KB;
/// A megabyte of the paper: 57 sectors in 1/90 s are its 2.5 MB/s.
const BINARY: f64 = 1.048_576;

/// The benchmark on all four file systems.
pub struct BySize {
    systems: Systems,
    /// Files of 8 KB on an FFS that looks for rotational positions.
    with_cpc: Rates,
    rotation_ms: Option<f64>,
    bandwidth: f64,
}

impl BySize {
    /// Runs it.
    ///
    /// # Errors
    /// It fails; an interrupt.
    pub fn run(bench: &Bench<'_>) -> anyhow::Result<BySize> {
        let plan = &bench.plan.by_size;
        let benchmark = Sequential {
            sizes: Cow::Owned(plan.sizes.iter().map(|size| size.0).collect()),
            files: Bench::file_count(plan),
            files_per_directory: plan.files_per_directory,
            ..SEQUENTIAL_1995
        };
        let of_one_block = Sequential {
            sizes: Cow::Owned(vec![BLOCK]),
            ..benchmark.clone()
        };
        let rotation_ms = match bench.lab.disk() {
            Disk::Rotating(drive) => Some(drive.revolution_ms()),
            Disk::Flash(_) | Disk::Null => None,
        };
        Ok(BySize {
            with_cpc: bench.on(&bench.lab, &of_one_block, WITH_CPC)?,
            rotation_ms,
            systems: bench.on_all(&benchmark, LOG_8K)?,
            bandwidth: bench.plan.bandwidth_mb_per_s,
        })
    }

    /// What the paper says of it.
    pub fn measure(&self, measured: &mut Measured) {
        let Systems {
            lfs, m8r0, m8r2, ..
        } = &self.systems;
        for (row, bytes) in [
            ("S95.1.1K", KB),
            ("S95.1.2K", 2 * KB),
            ("S95.1.32K", 32 * KB),
            ("S95.1.512K", 512 * KB),
        ] {
            let ratio = over(create(lfs, bytes), create(m8r0, bytes));
            measured.figure(row, ratio);
        }
        measured.shape("S95.1.range", self.creates_faster(..64 * KB));
        measured.shape("S95.1.range.blocks", self.creates_faster(..3 * BLOCK));
        for (row, rates) in [
            ("S95.2.lfs", lfs),
            ("S95.2.m8r0", m8r0),
            ("S95.2.m8r2", m8r2),
        ] {
            let large = mean_over(rates, "create", LARGE_CREATES..);
            measured.figure(row, large.map(|rate| rate / self.bandwidth));
        }
        measured.shape(
            "S95.1.large",
            comparable(lfs, m8r0, "create", LARGE_CREATES..),
        );
        measured.shape("S95.3.alike", self.reads_are_alike());
        measured.shape("S95.4.large", comparable(lfs, m8r0, "read", 8 * MB..));
        measured.shape("S95.3.shape", self.reads_dip());
        measured.shape("S95.4.lfs", self.log_reads_faster(2 * MB));
        measured.shape("S95.4.lfs.conclusion", self.log_reads_faster(4 * MB));
        measured.shape("S95.4.gaps", self.gaps_read_slower());
        measured.shape("S95.4.drop", self.indirect_blocks_cost_more());
        measured.shape("S95.10", self.cpc_costs_a_rotation());
        for (row, rates) in [("S95.5.lfs", lfs), ("S95.5.m8r0", m8r0)] {
            measured.figure(row, large(rates, "read").map(|rate| rate / BINARY));
        }
        measured.shape("S95.6.lfs", self.log_overwrites_faster());
        measured.shape("S95.6.dip", self.overwriting_dips());
        let above = |rates| mean_over(rates, "overwrite", 512 * KB..);
        measured.figure("S95.6.m8r0", gain(above(m8r2), above(m8r0)));
        measured.figure("S95.6.log", gain(above(m8r2), above(lfs)));
        measured.shape("S95.6.ffs", self.gaps_overwrite_faster());
        measured.shape("S95.6.closer", self.overwriting_is_closer());
        let deletes = |rates: &Rates, bytes| rates.mean(Unit::Files, "delete", bytes);
        measured.figure("S95.7.small", over(deletes(lfs, KB), deletes(m8r0, KB)));
        measured.shape("S95.7.to-64K", self.small_deletes());
        measured.shape("S95.7.drop", self.deletes_drop());
        let ratios = ratios(lfs, m8r0, Unit::Files, "delete", LARGE..);
        measured.figure("S95.7.large", mean(ratios.into_iter().map(|(_, r)| r)));
        measured.shape("S95.8", self.small_writes("create"));
        measured.shape("S95.8.overwrite", self.small_writes("overwrite"));
        self.measure_large(measured);
    }

    /// Large files, of an FFS over the log.
    fn measure_large(&self, measured: &mut Measured) {
        let Systems {
            lfs, m8r0, m8r2, ..
        } = &self.systems;
        for (row, phase) in [("S95.9.write", "overwrite"), ("S95.9.create", "create")] {
            measured.figure(row, gain(large(m8r2, phase), large(lfs, phase)));
        }
        let slightly = |one: Option<f64>, other: Option<f64>| {
            let ratio = over(one, other)?;
            let text = format!("{ratio:.2} times as fast");
            Some((words::slightly_more(ratio), text))
        };
        for (row, phase) in [
            ("S95.9.slightly", "create"),
            ("S95.9.slightly.overwrite", "overwrite"),
        ] {
            measured.shape(row, slightly(large(m8r2, phase), large(lfs, phase)));
        }
        let read = [lfs, m8r0, m8r2].map(|rates| large(rates, "read"));
        measured.shape("S95.9.slightly.read", slightly(read[0], read[1]));
        let loss = gain(read[2], read[0]).map(|gain| -gain);
        measured.figure("S95.9.read", loss);
        for phase in ["read", "create", "overwrite"] {
            let ratio = over(large(m8r0, phase), large(lfs, phase));
            measured.figure(&format!("S95.9.tuned.{phase}"), ratio);
        }
    }

    /// The log creates files 4 to 10 times as fast at every size of a range.
    fn creates_faster(&self, sizes: impl RangeBounds<u64>) -> Option<(bool, String)> {
        let Systems { lfs, m8r0, .. } = &self.systems;
        let (least, most) = range(&ratios(lfs, m8r0, Unit::Megabytes, "create", sizes))?;
        let band = words::round_range(4.0, 10.0);
        let text = format!("{least:.1} to {most:.1} times as fast");
        Some((band.contains(&least) && band.contains(&most), text))
    }

    /// Files of more than 256 KB are written over faster on m8r2 than on the log.
    fn gaps_overwrite_faster(&self) -> Option<(bool, String)> {
        let Systems { lfs, m8r2, .. } = &self.systems;
        let all = ratios(m8r2, lfs, Unit::Megabytes, "overwrite", 512 * KB..);
        let (least, most) = range(&all)?;
        let text = format!("m8r2 at {least:.2} to {most:.2} of the log");
        Some((least > 1.0, text))
    }

    /// How many times the faster of the log and m8r0 is the slower one in the mean of all sizes: less in writing over.
    fn overwriting_is_closer(&self) -> Option<(bool, String)> {
        let Systems { lfs, m8r0, .. } = &self.systems;
        let apart = |phase| {
            let all = ratios(lfs, m8r0, Unit::Megabytes, phase, ..).into_iter();
            mean(all.map(|(_, ratio)| ratio.max(1.0 / ratio)))
        };
        let (create, overwrite) = (apart("create")?, apart("overwrite")?);
        let text = format!("{overwrite:.2} times apart, {create:.2} in creating");
        Some((overwrite < create, text))
    }

    /// With cpc the next new file lies a rotation behind the last one, without not.
    fn cpc_costs_a_rotation(&self) -> Option<(bool, String)> {
        let ms =
            |rates: &Rates| Some(BLOCK as f64 / 1e3 / rates.mean(Unit::Megabytes, "read", BLOCK)?);
        let (with, without) = (ms(&self.with_cpc)?, ms(&self.systems.m8r0)?);
        let rotation = self.rotation_ms?;
        let holds = words::nearly(with / rotation) && without < with;
        let text = format!(
            "a file of 8 KB is read in {with:.1} ms, {without:.1} without; a rotation takes {rotation:.1}"
        );
        Some((holds, text))
    }

    /// Below 64 KB all are comparable in reading.
    fn reads_are_alike(&self) -> Option<(bool, String)> {
        let Systems {
            lfs, m8r0, m8r2, ..
        } = &self.systems;
        let (plain, first) = comparable(lfs, m8r0, "read", ..64 * KB)?;
        let Some((gaps, second)) = comparable(lfs, m8r2, "read", ..64 * KB) else {
            return Some((plain, first));
        };
        Some((plain && gaps, format!("{first}, {second} with a gap")))
    }

    /// From 1 to 8 KB reading gets faster, 16 KB are a dip, 64 KB are faster, and 128 KB slower.
    fn reads_dip(&self) -> Option<(bool, String)> {
        let at = |rates, kb| read(rates, kb * KB);
        let mut parts = Vec::new();
        let mut holds = true;
        for (name, rates) in [("lfs", &self.systems.lfs), ("m8r0", &self.systems.m8r0)] {
            let [one, eight, sixteen] = [at(rates, 1)?, at(rates, 8)?, at(rates, 16)?];
            let [full, behind] = [at(rates, 64)?, at(rates, 128)?];
            holds &= eight > one && sixteen < eight && full > sixteen && behind < full;
            parts.push(format!(
                "{name} {one:.2}, {eight:.2}, {sixteen:.2}, {full:.2}, {behind:.2}"
            ));
        }
        let text = format!("at 1, 8, 16, 64, 128 KB: {} MB/s", parts.join("; "));
        Some((holds, text))
    }

    /// From 64 KB up to a size.
    fn log_reads_faster(&self, to: u64) -> Option<(bool, String)> {
        let all = ratios(
            &self.systems.lfs,
            &self.systems.m8r0,
            Unit::Megabytes,
            "read",
            64 * KB..=to,
        );
        let (least, most) = range(&all)?;
        Some((
            least > 1.0,
            format!("the log at {least:.2} to {most:.2} of m8r0"),
        ))
    }

    fn gaps_read_slower(&self) -> Option<(bool, String)> {
        let all = ratios(
            &self.systems.m8r2,
            &self.systems.m8r0,
            Unit::Megabytes,
            "read",
            128 * KB..,
        );
        let (least, most) = range(&all)?;
        Some((
            most < 1.0,
            format!("m8r2 at {least:.2} to {most:.2} of m8r0"),
        ))
    }

    /// From 64 to 128 KB, the first size with an indirect block of an FFS.
    fn indirect_blocks_cost_more(&self) -> Option<(bool, String)> {
        let step = |rates| over(read(rates, 128 * KB), read(rates, 64 * KB));
        let (log, ffs) = (step(&self.systems.lfs)?, step(&self.systems.m8r0)?);
        Some((
            ffs < 1.0 && ffs < log,
            format!("from 64 to 128 KB: lfs x {log:.2}, m8r0 x {ffs:.2}"),
        ))
    }

    fn log_overwrites_faster(&self) -> Option<(bool, String)> {
        let Systems {
            lfs, m8r0, m8r2, ..
        } = &self.systems;
        let over = |ffs| ratios(lfs, ffs, Unit::Megabytes, "overwrite", ..=256 * KB);
        let all: Vec<(u64, f64)> = over(m8r0).into_iter().chain(over(m8r2)).collect();
        let (least, most) = range(&all)?;
        Some((
            least > 1.0,
            format!("{least:.2} to {most:.2} times as fast"),
        ))
    }

    fn overwriting_dips(&self) -> Option<(bool, String)> {
        let step = |rates: &Rates| {
            let at = |kb: u64| rates.mean(Unit::Megabytes, "overwrite", kb * KB);
            over(at(64), at(32))
        };
        let (log, ffs) = (step(&self.systems.lfs)?, step(&self.systems.m8r0)?);
        Some((
            log < 1.0 && ffs < 1.0,
            format!("from 32 to 64 KB: lfs x {log:.2}, m8r0 x {ffs:.2}"),
        ))
    }

    /// An order of magnitude at every size up to 64 KB.
    fn small_deletes(&self) -> Option<(bool, String)> {
        let Systems { lfs, m8r0, .. } = &self.systems;
        let (least, most) = range(&ratios(lfs, m8r0, Unit::Files, "delete", ..=64 * KB))?;
        Some((
            words::order_of_magnitude(least) && words::order_of_magnitude(most),
            format!("{least:.1} to {most:.1} times as fast"),
        ))
    }

    /// With blocks of 8 KB both have their first indirect block behind 96 KB.
    fn deletes_drop(&self) -> Option<(bool, String)> {
        let at = |rates: &Rates, kb: u64| rates.mean(Unit::Files, "delete", kb * KB);
        let step = |rates: &Rates| over(at(rates, 128), at(rates, 64));
        let (log, ffs) = (step(&self.systems.lfs)?, step(&self.systems.m8r0)?);
        Some((
            log < 0.75 && ffs < 0.75,
            format!("from 64 to 128 KB: lfs x {log:.2}, m8r0 x {ffs:.2}"),
        ))
    }

    /// 43 to 65 % of the bandwidth at every size below 64 KB.
    fn small_writes(&self, phase: &'static str) -> Option<(bool, String)> {
        let sizes = self.systems.lfs.all(Unit::Megabytes, phase);
        let small = sizes.into_iter().filter(|(bytes, _)| *bytes < 64 * KB);
        let small: Vec<(u64, f64)> = small
            .map(|(bytes, rate)| (bytes, rate / self.bandwidth))
            .collect();
        let (least, most) = range(&small)?;
        let band = words::round_range(0.43, 0.65);
        Some((
            band.contains(&least) && band.contains(&most),
            format!("{:.0} to {:.0} %", 100.0 * least, 100.0 * most),
        ))
    }

    /// A chart a phase, and how many times the log is faster.
    pub fn exhibits(&self, paper: &Paper) -> Vec<Exhibit> {
        let mut charts = vec![
            self.figure("create", "Creating files, by size (figure 3)"),
            self.figure("read", "Reading files, by size (figure 4)"),
            self.figure("overwrite", "Writing over files, by size (figure 5)"),
            self.figure("delete", "Deleting files, by size (figure 6)"),
        ];
        let largest = self.systems.lfs.all(Unit::Megabytes, "create");
        if let Some(&(bytes, _)) = largest.last().filter(|(bytes, _)| *bytes >= LARGE) {
            let ring = |curve: &str, y| Published {
                curve: curve.to_owned(),
                x: bytes as f64,
                y,
            };
            let share = |row: &str| paper.value(row) * self.bandwidth;
            charts[0].published = vec![
                ring("lfs", share("S95.2.lfs")),
                ring("m8r0", share("S95.2.m8r0")),
                ring("m8r2", share("S95.2.m8r2")),
            ];
            charts[1].published = vec![ring("lfs", paper.value("S95.5.lfs") * BINARY)];
        }
        charts.push(self.gains(paper));
        charts.into_iter().map(Exhibit::Figure).collect()
    }

    fn figure(&self, phase: &'static str, title: &str) -> Figure {
        let (unit, y_label) = match phase {
            "delete" => (Unit::Files, "files/s"),
            _ => (Unit::Megabytes, "MB/s (10^6)"),
        };
        let curves = self
            .systems
            .named()
            .map(|(name, rates)| rates.curve(name, unit, phase));
        Figure {
            slug: phase,
            title: title.to_owned(),
            text: "32 MB in files of one size, or ten files if that is more, at most 100 in a directory, on an empty \
                   file system. The cleaner of the log has nothing to do."
                .to_owned(),
            axis: Axis::Bytes,
            x_label: "size of a file, bytes",
            y_label,
            curves: curves.to_vec(),
            published: Vec::new(),
        }
    }

    fn gains(&self, paper: &Paper) -> Figure {
        let Systems { lfs, m8r0, .. } = &self.systems;
        let curve = |name: &str, unit, phase| {
            let points = ratios(lfs, m8r0, unit, phase, ..);
            Curve::exact(name, points.into_iter().map(|(x, y)| (x as f64, y)))
        };
        let curves = [
            curve("lfs over m8r0, creating", Unit::Megabytes, "create"),
            curve("lfs over m8r0, deleting", Unit::Files, "delete"),
        ];
        let rings = [(2 * KB, "S95.1.2K"), (32 * KB, "S95.1.32K")];
        let published = rings.map(|(bytes, row)| Published {
            curve: curves[0].name.clone(),
            x: bytes as f64,
            y: paper.value(row),
        });
        Figure {
            slug: "log-over-ffs",
            title: "How many times the log is faster (section 3)".to_owned(),
            text: "Files of one size each: the log over an FFS with clusters and without gaps."
                .to_owned(),
            axis: Axis::Bytes,
            x_label: "size of a file, bytes",
            y_label: "times as fast",
            curves: curves.to_vec(),
            published: published.to_vec(),
        }
    }
}

fn create(rates: &Rates, bytes: u64) -> Option<f64> {
    rates.mean(Unit::Megabytes, "create", bytes)
}

fn read(rates: &Rates, bytes: u64) -> Option<f64> {
    rates.mean(Unit::Megabytes, "read", bytes)
}

/// Mean throughput of large files.
fn large(rates: &Rates, phase: &str) -> Option<f64> {
    mean_over(rates, phase, LARGE..)
}

fn mean_over(rates: &Rates, phase: &str, sizes: impl RangeBounds<u64>) -> Option<f64> {
    let all = rates.all(Unit::Megabytes, phase).into_iter();
    mean(all.filter(|(bytes, _)| sizes.contains(bytes)).map(|p| p.1))
}

/// How much more one figure is than another, as a share of it.
fn gain(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    over(one, other).map(|ratio| ratio - 1.0)
}

/// One file system over another at every size of a range that both have.
fn ratios(
    one: &Rates,
    other: &Rates,
    unit: Unit,
    phase: &str,
    sizes: impl RangeBounds<u64>,
) -> Vec<(u64, f64)> {
    let all = one.all(unit, phase).into_iter();
    all.filter(|(bytes, _)| sizes.contains(bytes))
        .filter_map(|(bytes, rate)| Some((bytes, rate / other.mean(unit, phase, bytes)?)))
        .collect()
}

/// Whether the log is comparable to an FFS at every size of a range.
fn comparable(
    lfs: &Rates,
    ffs: &Rates,
    phase: &str,
    sizes: impl RangeBounds<u64>,
) -> Option<(bool, String)> {
    let (least, most) = range(&ratios(lfs, ffs, Unit::Megabytes, phase, sizes))?;
    Some((
        words::comparable(least) && words::comparable(most),
        format!("the log at {least:.2} to {most:.2} of an FFS"),
    ))
}

/// The least and the most.
fn range(points: &[(u64, f64)]) -> Option<(f64, f64)> {
    let values = points.iter().map(|p| p.1);
    let least = values.clone().min_by(f64::total_cmp)?;
    Some((least, values.max_by(f64::total_cmp)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seltzer95::rates::tests::rates;

    fn by_size() -> BySize {
        let log = [
            ("create", 1, 0.5),
            ("create", 32, 1.25),
            ("read", 1, 0.2),
            ("read", 8, 0.9),
            ("read", 16, 0.8),
            ("read", 64, 1.5),
            ("read", 128, 1.4),
            ("delete", 64, 400.0),
            ("delete", 128, 200.0),
        ];
        let ffs = [
            ("create", 1, 0.05),
            ("read", 1, 0.2),
            ("read", 8, 0.9),
            ("read", 16, 0.7),
            ("read", 64, 1.6),
            ("read", 128, 1.2),
            ("delete", 64, 40.0),
            ("delete", 128, 36.0),
        ];
        BySize {
            systems: Systems {
                lfs: rates(&log),
                m8r0: rates(&ffs),
                ..Systems::default()
            },
            bandwidth: 2.5,
            with_cpc: rates(&[("read", 8, 0.75)]),
            rotation_ms: Some(11.1),
        }
    }

    /// By hand: 0.5 over 0.05 is 10; 0.5 MB/s are 20 % of 2.5, which is not in the range; 1.4 over 1.5 is a smaller
    /// drop than 1.2 over 1.6; 200 over 400 is a sudden drop, 36 over 40 none; 400 over 40 is an order of magnitude; 8
    /// KB at 0.75 MB/s take 10.9 ms, nearly a rotation.
    #[test]
    fn what_the_curves_say_comes_from_the_curves() {
        let by_size = by_size();
        let log = &by_size.systems.lfs;
        let ratio = ratios(log, &by_size.systems.m8r0, Unit::Megabytes, "create", ..);
        assert_eq!(ratio.len(), 1, "sizes that both have");
        assert!((ratio[0].1 - 10.0).abs() < 1e-9);
        let holds = |shape: Option<(bool, String)>| shape.map(|(holds, _)| holds);
        assert_eq!(holds(by_size.reads_dip()), Some(true));
        assert_eq!(holds(by_size.reads_are_alike()), Some(true));
        assert_eq!(holds(by_size.indirect_blocks_cost_more()), Some(true));
        assert_eq!(holds(by_size.log_reads_faster(MB)), Some(false), "64 KB");
        assert_eq!(holds(by_size.deletes_drop()), Some(false));
        assert_eq!(holds(by_size.small_deletes()), Some(true));
        assert_eq!(holds(by_size.cpc_costs_a_rotation()), Some(true));
        let (small, text) = by_size.small_writes("create").unwrap();
        assert!(!small && text == "20 to 50 %", "{text}");
        assert_eq!(by_size.log_overwrites_faster(), None);
        assert_eq!(large(log, "create"), None);
    }
}
