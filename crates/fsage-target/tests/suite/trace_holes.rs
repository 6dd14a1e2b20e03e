//! The microscope counts holes as the original FFS study did, metrics as real file systems are measured.

use fsage_core::{DirId, Event, FileId, FileSystem, Op};
use fsage_metrics::measure;
use fsage_models::ffs::{self, Ffs, Params};
use fsage_models::microscope::WorkloadTrace as _;

/// Blocks 0 and 1, a hole of 6, blocks 8 and 9: the original scores nine blocks, of which two follow their
/// predecessor; without the hole there are three steps.
#[test]
fn a_hole_is_scored_by_the_microscope_only() {
    let mut fs = Ffs::new(Params::preset("tiny").expect("a preset")).expect("a file system");
    let file = FileId(1);
    let ops = [
        Op::Create {
            file,
            dir: DirId::ROOT,
            bytes: 16_384,
        },
        Op::Write {
            file,
            offset: 65_536,
            bytes: 16_384,
        },
    ];
    for op in ops {
        fs.apply(&op).expect("the operation fits");
    }
    let m = measure(&fs);
    assert_eq!((m.layout().scored, m.sums.layout_score.files), (3, 1));
    assert!(m.layout().optimal >= 2);
    let mut out = Vec::new();
    let mut trace = ffs::Trace::new(fs);
    let all = Op::Layout { lo: file, hi: file };
    trace
        .step(&Event::day("1"), b"day 1", &mut out)
        .expect("memory takes it");
    trace
        .step(&Event::new(all), b"", &mut out)
        .expect("memory takes it");
    let out = String::from_utf8(out).expect("text");
    let said = out.lines().filter(|line| line.contains("opt 2 cnt 9"));
    assert_eq!(said.count(), 2, "{out}");
}
