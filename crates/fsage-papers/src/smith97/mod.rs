//! Smith and Seltzer 1997: what aging shows, and two changes of the allocator on an aged file system.

mod aging_effect;
mod free_space;
mod noswitch;
mod smartfrag;
mod split_files;

use super::aged::Aged;
use super::by_blocks::{Blocks, ByBlocks};
use super::comparison::{Measured, other_reading};
use super::experiments::{AgedSet, Bench};
use super::figure::Exhibit;
use super::hot::{self, Columns, Hot, over};
use super::layout_by_day::{self, Score};
use super::paper::Paper;
use super::remade::Truth;
use super::sizes::change;
use super::words;
use super::{Reproduction, has_fewer_days};
use aging_effect::AgingEffect;
use free_space::FreeSpace;
use noswitch::NoSwitch;
use smartfrag::SmartFrag;
use split_files::{Split, of};

/// What one run may differ from the next: the deviations of the paper are below it.
const NOISE: f64 = 0.01;

/// The targets that are aged.
const AGED: [&str; 8] = [
    "orig",
    "realloc",
    "noswitch",
    "smartfrag",
    "orig-positions",
    "realloc-positions",
    "noswitch-bsd",
    "realloc-strict",
];

/// Everything that is shown of the paper.
///
/// # Errors
/// A benchmark fails; an interrupt.
pub fn reproduce(bench: &Bench<'_>) -> anyhow::Result<Reproduction> {
    let paper = bench.paper;
    let aged = bench.age(&AGED, &["realloc", "noswitch"])?;
    let (orig, realloc) = (&aged["orig"], &aged["realloc"]);
    let (noswitch, smartfrag) = (&aged["noswitch"], &aged["smartfrag"]);
    let mut measured = Measured::default();
    let mut exhibits = Vec::new();

    measured.figure("S97.11", realloc.scores.last().copied());
    measured.figure("S97.11.orig", orig.scores.last().copied());
    Bench::measure_inputs("S97.0", realloc, &mut measured);
    let used = realloc.measures.utilization();
    measured.figure("S97.0.full", used.map(|share| 100.0 * share));
    if let Some(truth) = &bench.truth {
        beside_truth(truth, orig, realloc, &mut measured);
    }
    measured.shape(
        "S97.F3.steady",
        layout_by_day::falls_steadily(&realloc.scores),
    );
    let all = ByBlocks::of(&realloc.state.fs, Blocks::All, |_| true);
    measured.shape("S97.F4.small", small_files_are_fragmented(&all));
    measured.shape("S97.F4.large", large_files_do_not_decline(&all));
    exhibits.push(Exhibit::Figure(layout_by_day::figure(
        "Layout score by day (figure 3)",
        &[orig, realloc, noswitch, smartfrag],
        &[Score {
            target: "realloc",
            day: None,
            value: paper.value("S97.11"),
        }],
        has_fewer_days(paper),
    )));

    let orig_empty = bench.sizes(&bench.empty("orig")?)?;
    let orig_aged = bench.sizes(&orig.state)?;
    let realloc_empty = bench.sizes(&bench.empty("realloc")?)?;
    let realloc_aged = bench.sizes(&realloc.state)?;
    let noswitch_empty = bench.sizes(&bench.empty("noswitch")?)?;
    let noswitch_aged = bench.sizes(&noswitch.state)?;
    let effect = AgingEffect {
        orig_empty: &orig_empty,
        orig_aged: &orig_aged,
        realloc_empty: &realloc_empty,
        realloc_aged: &realloc_aged,
    };
    effect.measure(&mut measured);
    exhibits.extend(effect.exhibits(paper));
    let switch = NoSwitch {
        realloc_empty: &realloc_empty,
        realloc_aged: &realloc_aged,
        noswitch_empty: &noswitch_empty,
        noswitch_aged: &noswitch_aged,
    };
    switch.measure(&mut measured);
    exhibits.extend(switch.exhibits(paper));
    let one_position = [
        &bench.empty("orig-positions")?,
        &aged["orig-positions"].state,
        &bench.empty("realloc-positions")?,
        &aged["realloc-positions"].state,
    ];
    let [orig_empty, orig_aged, realloc_empty, realloc_aged] =
        one_position.map(|state| bench.sizes(state));
    let other_effect = AgingEffect {
        orig_empty: &orig_empty?,
        orig_aged: &orig_aged?,
        realloc_empty: &realloc_empty?,
        realloc_aged: &realloc_aged?,
    };
    let as_bsd = [&bench.empty("noswitch-bsd")?, &aged["noswitch-bsd"].state];
    let [noswitch_empty, noswitch_aged] = as_bsd.map(|state| bench.sizes(state));
    let other_switch = NoSwitch {
        noswitch_empty: &noswitch_empty?,
        noswitch_aged: &noswitch_aged?,
        ..switch
    };
    let strict = [
        &bench.empty("realloc-strict")?,
        &aged["realloc-strict"].state,
    ];
    let [realloc_empty, realloc_aged] = strict.map(|state| bench.sizes(state));
    let strict_switch = NoSwitch {
        realloc_empty: &realloc_empty?,
        realloc_aged: &realloc_aged?,
        ..switch
    };
    exhibits.extend(other_readings(
        paper,
        &other_effect,
        [&other_switch, &strict_switch],
    ));

    on_aged_file_systems(bench, &aged, &mut measured, &mut exhibits)?;
    exhibits.push(bench.file_systems(&[orig, realloc, noswitch, smartfrag]));
    Ok(Reproduction {
        lines: measured.compare(paper),
        exhibits,
        terminal: vec!["layout-by-day", "aging-effect", "noswitch-read"],
    })
}

/// What section 3.4 says of a simulated and a real file system, with the allocator of our truth and with the baseline.
fn beside_truth(truth: &Truth, orig: &Aged, realloc: &Aged, measured: &mut Measured) {
    for (id, by_size, aged) in [
        ("S97.F3", "S97.F4.alike", orig),
        ("S97.F3.realloc", "S97.F4.alike.realloc", realloc),
    ] {
        truth.measure(id, aged, measured);
        measured.shape(&format!("{id}.half"), truth.first_half(aged));
        let by_blocks = ByBlocks::of(&aged.state.fs, Blocks::All, |_| true);
        measured.shape(by_size, truth.by_size(&by_blocks));
    }
}

/// What is shown of aged file systems alone: `SmartFrag`, split files, hot files.
fn on_aged_file_systems(
    bench: &Bench<'_>,
    aged: &AgedSet,
    measured: &mut Measured,
    exhibits: &mut Vec<Exhibit>,
) -> anyhow::Result<()> {
    let paper = bench.paper;
    let (realloc, noswitch) = (&aged["realloc"], &aged["noswitch"]);
    let smartfrag = &aged["smartfrag"];
    let small_realloc = bench.small_sizes(&realloc.state)?;
    let small_smartfrag = bench.small_sizes(&smartfrag.state)?;
    let [empty_realloc, empty_smartfrag] =
        ["realloc", "smartfrag"].map(|name| bench.small_sizes(&bench.empty(name)?));
    let frag = SmartFrag {
        realloc: &small_realloc,
        smartfrag: &small_smartfrag,
        empty: [&empty_realloc?, &empty_smartfrag?],
    };
    frag.measure(measured);
    exhibits.extend(frag.exhibits());
    let free = FreeSpace { realloc, smartfrag };
    free.measure(measured);
    exhibits.push(free.exhibit(paper));

    let split = Split { realloc, noswitch };
    split.measure(measured);
    exhibits.push(split.exhibit(paper));
    let hot_realloc = Hot::measure(bench, &realloc.state, &aged.unread("realloc").state)?;
    let hot_noswitch = Hot::measure(bench, &noswitch.state, &aged.unread("noswitch").state)?;
    measure_hot(&hot_realloc, &hot_noswitch, realloc, measured);
    exhibits.push(hot_table(paper, &hot_realloc, &hot_noswitch));
    Ok(())
}

/// What comes out where three things are read in another way that the paper leaves open.
fn other_readings(
    paper: &Paper,
    effect: &AgingEffect<'_>,
    [as_bsd, strict]: [&NoSwitch<'_>; 2],
) -> [Exhibit; 3] {
    let sheet = |slug, title: &str, text: &str, measured: Measured| {
        Exhibit::Sheet(other_reading(slug, title, text, &measured.compare(paper)))
    };
    let mut with_positions = Measured::default();
    effect.measure(&mut with_positions);
    let [as_bsd, strict] = [as_bsd, strict].map(|switch| {
        let mut measured = Measured::default();
        switch.measure(&mut measured);
        measured
    });
    [
        sheet(
            "with-rotational-positions",
            "Both allocators with rotational positions",
            "The paper does not say whether the allocator looked for rotational positions (nrpos). With them, both \
             take the block that comes under the head first, not the next free one.",
            with_positions,
        ),
        sheet(
            "noswitch-bsd",
            "NoSwitch with the clusters of 4.4BSD",
            "The paper does not say where in its cylinder group a file goes on. Here the first indirect block goes to \
             the start of the group, and reallocation moves blocks 8 to 12 together, past it; above it follows the \
             last direct block, and clusters end there.",
            as_bsd,
        ),
        sheet(
            "strict-switch",
            "NoSwitch against a baseline that always changes groups",
            "The paper says that a file changes its cylinder group at the first indirect block. The code of 4.4BSD \
             begins its search in the group of the inode, and stays there if that is free enough. Here the baseline \
             always leaves it.",
            strict,
        ),
    ]
}

/// Files of less than 32 KB, which end in a fragment or have a block more than realloc moves, against larger ones.
fn small_files_are_fragmented(all: &ByBlocks) -> Option<(bool, String)> {
    let (small, larger) = (all.over(2..=4)?, all.over(5..=12)?);
    let much_less = small < larger * words::DRAMATICALLY_LESS;
    Some((much_less, format!("{small:.3} against {larger:.3}")))
}

/// Files of 2 to 4 MB against those of 1 to 2 MB.
fn large_files_do_not_decline(all: &ByBlocks) -> Option<(bool, String)> {
    let (large, before) = (all.at(512)?, all.at(256)?);
    let holds = large > before || words::layout_nearly_the_same(large, before);
    Some((holds, format!("{large:.3} against {before:.3}")))
}

fn measure_hot(realloc: &Hot, noswitch: &Hot, aged: &Aged, measured: &mut Measured) {
    realloc.measure_shares("H97.0", aged, measured);
    measured.figure(
        "H97.0.files",
        (realloc.files > 0).then_some(realloc.files as f64),
    );
    measured.figure(
        "H97.0.bytes",
        (realloc.files > 0).then(|| realloc.megabytes()),
    );
    for (name, hot) in [("realloc", realloc), ("noswitch", noswitch)] {
        measured.figure(&format!("H97.1.{name}"), hot.layout.share());
        measured.figure(&format!("H97.2.{name}"), hot.read.map(|s| s.mean));
        measured.figure(&format!("H97.3.{name}"), hot.overwrite.map(|s| s.mean));
        let split = (hot.files > 0).then_some(hot.split.split as f64);
        measured.figure(&format!("H97.4.{name}"), split);
    }
    let reading = over(noswitch.read, realloc.read);
    measured.shape(
        "H97.2",
        reading.map(|ratio| (words::slightly_more(ratio), change(ratio))),
    );
    let writing = over(noswitch.overwrite, realloc.overwrite);
    measured.shape(
        "H97.3",
        writing.map(|ratio| (words::nearly_the_same(ratio), change(ratio))),
    );
    measured.figure("H97.4", of(noswitch.split.split, realloc.split.split));
}

fn hot_table(paper: &Paper, realloc: &Hot, noswitch: &Hot) -> Exhibit {
    let published = ["realloc", "noswitch"].map(|policy| {
        ["H97.1", "H97.2", "H97.3"].map(|row| paper.value(&format!("{row}.{policy}")))
    });
    let columns = Columns {
        hot: &[realloc, noswitch],
        published: &published,
    };
    Exhibit::Sheet(hot::sheet("Hot files (table 3)", &columns))
}
