//! Why files are read slower that are about as contiguous as fresh ones: the pieces that they lie in, and their order.

use super::consequences::{following, has_lost, is_on_disks, shortened};
use super::why::broken_share;
use crate::benching::State;
use crate::days::DayRow;
use crate::report::bench::Compared;
use crate::report::names::is_simulated;
use crate::report::subject::{Group, Life, Subject};
use crate::report::words::{list, percent};
use fsage_bench::{GoesOver, Says, benchmarks};
use fsage_metrics::pieces;
use std::fmt::Write as _;

/// Files that lost less of their layout score than this, or of which so few more are in pieces, are nearly whole.
const NEARLY_WHOLE: f64 = 0.05;

/// Why new files are written faster on aged file systems than on fresh copies, where simulated disks say so: as many
/// requests, each of which takes less time. A fresh copy has its free space behind its files, far from the folders.
pub fn why_faster(group: &Group, compared: &Compared) -> Option<String> {
    /// So many times as fast needs a reason; requests as many times as many are as many.
    const MUCH: f64 = 1.1;
    if compared.phase.contains("read") || compared.phase.contains("overwrite") {
        return None;
    }
    let ratios = compared.ratios.iter();
    let faster = ratios.filter(|(_, ratio)| ratio.says == Says::Faster && ratio.mean >= MUCH);
    let texts = faster.filter_map(|(name, _)| {
        let mut subjects = group.subjects.iter();
        let subject = subjects.find(|subject| subject.name == *name)?;
        if !is_on_disks([subject, subject]) {
            return None;
        }
        let of = |state: State| {
            let rows = subject.lives.iter().flat_map(|life| &life.bench);
            let rows = rows
                .filter(|row| row.state == state)
                .map(|row| &row.measurement);
            let (mut requests, mut ns) = (0, 0);
            for of in rows.filter(|of| of.benchmark == compared.suite && of.phase == compared.phase)
            {
                let asked = of.requests?;
                requests += asked.reads + asked.writes;
                ns += of.elapsed_ns;
            }
            (requests > 0).then(|| ns as f64 / requests as f64 / 1e6)
        };
        let (aged, fresh) = (of(State::Aged)?, of(State::Control)?);
        (aged * MUCH < fresh).then(|| format!("{name} {aged:.1} ms (fresh {fresh:.1})"))
    });
    let texts: Vec<String> = texts.collect();
    (!texts.is_empty()).then(|| {
        format!(
            " Faster than fresh, because a request of the disk takes {}: free space of an aged file system lies among \
             the folders, that of a fresh copy behind all files.",
            list(&texts)
        )
    })
}

/// That a directory goes by name on one target and by inode on another, where models stand beside real file systems.
fn by_other_orders(group: &Group) -> &'static str {
    let mut models = group.subjects.iter().map(|of| is_simulated(&of.spec));
    let is_first = models.next();
    if models.all(|is_model| Some(is_model) == is_first) {
        return "";
    }
    " A directory of a model goes by inode there, that of a real file system by name: these shares do not compare, and \
     `fsage verify-model` says whether the layouts are the same."
}

/// Why files are read slower whose blocks are about as contiguous as those of the fresh copy: they lie in more pieces,
/// or in another order than they are read in.
pub fn sentence(group: &Group, compared: &Compared) -> Option<String> {
    // A suite that makes the files that it reads is not slowed down by how older ones lie.
    let is_of_own = benchmarks::by_name(&compared.suite)
        .is_some_and(|suite| suite.goes_over() == GoesOver::Own);
    if !compared.phase.contains("read") || is_of_own {
        return None;
    }
    let (mut broken, mut whole, mut moved, mut shares) = (vec![], vec![], vec![], vec![]);
    // Of all that are whole it is known of the very files that are read.
    let mut knows_read = true;
    for (name, _) in compared.ratios.iter().filter(|(_, ratio)| has_lost(ratio)) {
        let subject = group
            .subjects
            .iter()
            .find(|subject| subject.name == *name)?;
        let scores = subject
            .of_control(DayRow::score)
            .zip(subject.at_end(DayRow::score));
        if scores.is_none_or(|(fresh, aged)| fresh.mean - aged.mean >= NEARLY_WHOLE) {
            continue;
        }
        let pieces = InPieces::of(subject, compared);
        broken.extend(
            pieces
                .as_ref()
                .filter(|of| !of.is_nearly_whole())
                .map(|of| (name, of.said(name))),
        );
        if let Some(share) = following(subject, 0.1) {
            let is_whole = pieces.as_ref().is_some_and(InPieces::is_nearly_whole);
            knows_read &= !is_whole || pieces.is_some_and(|of| of.broken.is_none());
            if is_whole { &mut whole } else { &mut moved }.push(name.clone());
            shares.push(share);
        }
    }
    let mut text = String::new();
    if !broken.is_empty() {
        let (names, said): (Vec<&String>, Vec<String>) = broken.into_iter().unzip();
        let names: Vec<String> = names.into_iter().cloned().collect();
        let (names, said) = (list(&shortened(names)), shortened(said).join("; "));
        let _ = write!(
            text,
            " Blocks of {names} are nearly as contiguous as fresh ones, but files lie in more pieces: {said}."
        );
    }
    if !whole.is_empty() {
        let which = if knows_read { " that are read" } else { "" };
        let names = list(&shortened(whole));
        let _ = write!(
            text,
            " Files of {names}{which} are nearly as whole as fresh ones, and lie in another order than they are read \
             in."
        );
    }
    if !moved.is_empty() {
        let names = list(&shortened(moved));
        let _ = write!(
            text,
            " Files of {names} lie in another order than they are read in."
        );
    }
    if !shares.is_empty() {
        let shares = list(&shortened(shares));
        let _ = write!(
            text,
            " Right behind the one before in their directory lie, of all files: {shares}.{}",
            by_other_orders(group)
        );
    }
    (!text.is_empty()).then_some(text)
}

/// Into how many pieces files are broken, aged and fresh.
struct InPieces {
    per_file: [f64; 2],
    /// Which share of all files is in more than one piece; none where only the files count that a benchmark reads.
    broken: Option<[f64; 2]>,
}

impl InPieces {
    /// Those of the files that a phase goes over, where it says how these lie, else of all.
    fn of(subject: &Subject, compared: &Compared) -> Option<InPieces> {
        let read = |state| {
            Some(
                subject
                    .over(|life| pieces_read(life, compared, state))?
                    .mean,
            )
        };
        if let (Some(aged), Some(fresh)) = (read(State::Aged), read(State::Control)) {
            return Some(InPieces {
                per_file: [aged, fresh],
                broken: None,
            });
        }
        let of_all = |value: fn(&DayRow) -> Option<f64>| {
            Some([subject.at_end(value)?.mean, subject.of_control(value)?.mean])
        };
        Some(InPieces {
            per_file: of_all(|day| day.value(&pieces::PER_FILE))?,
            broken: of_all(broken_share),
        })
    }

    fn is_nearly_whole(&self) -> bool {
        let [aged, fresh] = self.per_file;
        let few_broken = |[aged, fresh]: [f64; 2]| aged - fresh < NEARLY_WHOLE;
        aged < fresh * (1.0 + NEARLY_WHOLE) && self.broken.is_none_or(few_broken)
    }

    /// `xfs 1.38 each (fresh 1.00), 16 % of all files in more than one (fresh 0.1 %)`.
    fn said(&self, name: &str) -> String {
        let [aged, fresh] = self.per_file;
        match self.broken.map(|shares| shares.map(percent)) {
            None => format!("{name} {aged:.2} for each that is read (fresh {fresh:.2})"),
            Some([broken, of_fresh]) => format!(
                "{name} {aged:.2} each (fresh {fresh:.2}), {broken} of all files in more than one (fresh {of_fresh})"
            ),
        }
    }
}

/// Pieces per file that a phase goes over: one, and one more for each block that does not follow its predecessor.
fn pieces_read(life: &Life, compared: &Compared, state: State) -> Option<f64> {
    let measured = life.bench.iter().filter(|row| row.state == state);
    let measured = measured.map(|row| &row.measurement);
    let measured =
        measured.filter(|of| of.benchmark == compared.suite && of.phase == compared.phase);
    let scored =
        measured.filter_map(|of| Some((of.files, of.countable?.checked_sub(of.optimal?)?)));
    let (files, breaks) = scored.fold((0, 0), |all, of| (all.0 + of.0, all.1 + of.1));
    (files > 0).then(|| 1.0 + breaks as f64 / files as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::benching::results::Row;
    use crate::report::bench::Ratio;
    use fsage_bench::{Better, Measurement, Requests};
    use fsage_metrics::{directory_order, files, layout_score};

    /// What is said of a target that reads at half the speed of its control, with nearly all blocks contiguous. Aged
    /// and fresh it has so many pieces per file, so many of 1000 files in pieces, and so large a share of them in
    /// order; so many breaks in what is read, where that is known.
    fn said(
        per_file: [f64; 2],
        broken: [u64; 2],
        in_order: [f64; 2],
        read: Option<[u64; 2]>,
    ) -> Option<String> {
        let day = |at: usize| {
            DayRow::default()
                .with(&layout_score::SCORE, [0.97, 0.99][at])
                .with(&layout_score::SCORED, 100_000)
                .with(&files::FILES, 1000)
                .with(&pieces::PER_FILE, per_file[at])
                .with(&pieces::FRAGMENTED_FILES, broken[at])
                .with(&directory_order::ADJACENCY, in_order[at])
        };
        let row = |state, breaks: Option<u64>| Row {
            target: "xfs".to_owned(),
            state,
            device: None,
            host: None,
            measurement: Measurement {
                benchmark: "hot-files".to_owned(),
                phase: "read".to_owned(),
                repetition: 0,
                files: 100,
                bytes: 1,
                elapsed_ns: 1,
                optimal: breaks.map(|breaks| 9000 - breaks),
                countable: breaks.map(|_| 9000),
                ..Measurement::default()
            },
        };
        let subject = Subject {
            name: "xfs".to_owned(),
            lives: vec![Life {
                days: vec![day(0)],
                control: Some(day(1)),
                bench: vec![
                    row(State::Aged, read.map(|read| read[0])),
                    row(State::Control, read.map(|read| read[1])),
                ],
                ..Life::default()
            }],
            ..Subject::default()
        };
        let compared = compared(("hot-files", "read"), "xfs", 0.5);
        let group = Group {
            subjects: vec![subject],
            ..Group::default()
        };
        sentence(&group, &compared)
    }

    /// Of one target, aged so many times as fast as fresh.
    fn compared((suite, phase): (&str, &str), target: &str, mean: f64) -> Compared {
        let ratio = Ratio {
            mean,
            ends: (mean, mean),
            says: if mean > 1.0 {
                Says::Faster
            } else {
                Says::Slower
            },
            is_single: false,
            is_open_by_files: false,
            lives: 1,
            by_life: Vec::new(),
            aged: 50.0,
        };
        Compared {
            suite: suite.to_owned(),
            phase: phase.to_owned(),
            unit: "MB/s".to_owned(),
            better: Better::Higher,
            ratios: vec![(target.to_owned(), ratio)],
            is_mixed: false,
            fastest: None,
        }
    }

    const MOVED: [f64; 2] = [0.2, 0.6];

    /// Models know no names, so that their directories go by inode.
    #[test]
    fn shares_by_other_orders_do_not_compare() {
        let said = |specs: &[&str]| {
            let subject = |spec: &&str| Subject {
                spec: (*spec).to_owned(),
                ..Subject::default()
            };
            by_other_orders(&Group {
                subjects: specs.iter().map(subject).collect(),
                ..Group::default()
            })
        };
        assert_eq!(said(&["ext4", "xfs"]), "");
        assert_eq!(said(&["loop:ext4", "loop:xfs"]), "");
        assert!(said(&["ext4", "loop:ext4"]).contains("these shares do not compare"));
    }

    #[test]
    fn only_files_in_about_as_many_pieces_as_fresh_ones_are_nearly_whole() {
        let order = " Right behind the one before in their directory lie, of all files: xfs 20 % (60 % fresh).";
        let whole = " Files of xfs are nearly as whole as fresh ones, and lie in another order than they are read in.";
        let moved = " Files of xfs lie in another order than they are read in.";
        assert_eq!(
            said([1.03, 1.0], [20, 0], MOVED, None),
            Some(format!("{whole}{order}"))
        );
        let broken = " Blocks of xfs are nearly as contiguous as fresh ones, but files lie in more pieces: xfs 3.30 \
                      each (fresh 1.00), 75 % of all files in more than one (fresh 0.1 %).";
        assert_eq!(
            said([3.3, 1.0], [750, 1], MOVED, None),
            Some(format!("{broken}{moved}{order}"))
        );
        // A sixth of the files in two pieces each is no whole file, though all but few lie in one.
        let few = said([1.04, 1.0], [160, 0], MOVED, None).unwrap();
        assert!(!few.contains("nearly as whole"), "{few}");
        // In order, pieces are the reason alone.
        assert_eq!(
            said([3.3, 1.0], [750, 1], [0.6, 0.6], None).as_deref(),
            Some(broken)
        );
        assert_eq!(said([1.0, 1.0], [0, 0], [0.6, 0.6], None), None);
    }

    /// By hand: 38 breaks of 100 files are 1.38 pieces each.
    #[test]
    fn the_files_that_are_read_count_where_they_are_known() {
        let whole = said([3.3, 1.0], [750, 1], MOVED, Some([2, 1])).unwrap();
        let expected = " Files of xfs that are read are nearly as whole as fresh ones, and";
        assert!(whole.starts_with(expected), "{whole}");
        let broken = said([1.0, 1.0], [0, 0], MOVED, Some([38, 0])).unwrap();
        let expected = "files lie in more pieces: xfs 1.38 for each that is read (fresh 1.00).";
        assert!(broken.contains(expected), "{broken}");
    }

    /// By hand: 100 requests in 0.7 s are 7 ms each, and in 1.2 s 12 ms.
    #[test]
    fn what_is_written_faster_than_fresh_has_its_reason_on_disks() {
        let said = |phase: &str, aged_ms: u64, mean: f64, device: Option<&str>| {
            let row = |state, ms: u64| Row {
                target: "ext4".to_owned(),
                state,
                device: device.map(str::to_owned),
                host: None,
                measurement: Measurement {
                    benchmark: "delivery".to_owned(),
                    phase: phase.to_owned(),
                    elapsed_ns: ms * 1_000_000,
                    requests: Some(Requests {
                        reads: 40,
                        writes: 60,
                        ..Requests::default()
                    }),
                    ..Measurement::default()
                },
            };
            let life = Life {
                bench: vec![row(State::Aged, aged_ms), row(State::Control, 1200)],
                ..Life::default()
            };
            let group = Group {
                subjects: vec![Subject {
                    name: "ext4".to_owned(),
                    lives: vec![life],
                    ..Subject::default()
                }],
                ..Group::default()
            };
            let compared = compared(("delivery", phase), "ext4", mean);
            why_faster(&group, &compared)
        };
        let disk = Some("st4000nm0033");
        let why = said("deliver", 700, 1.7, disk).expect("a reason");
        assert!(
            why.contains("takes ext4 7.0 ms (fresh 12.0): free space"),
            "{why}"
        );
        // Where requests take as long, or nothing is faster, or no disk is known, there is no such reason.
        assert_eq!(said("deliver", 1150, 1.7, disk), None);
        assert_eq!(said("deliver", 700, 0.7, disk), None);
        assert_eq!(said("read", 700, 1.7, disk), None);
        assert_eq!(said("deliver", 700, 1.7, None), None);
    }
}
