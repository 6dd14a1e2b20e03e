//! Small files whose directories say nothing of their use, as in the cache of a browser: all are read, written over and
//! deleted at random (section 4.5). There are many times as many as the cache holds, so that of a group that was read
//! little is still there when its other files are asked for.

use super::phases::{Phases, faster, times};
use super::small_files::PHASES;
use super::{AS_USED, Bench, OfEach};
use crate::comparison::Measured;
use crate::figure::{Exhibit, Sheet};
use fsage_bench::benchmarks::Order;

/// The small-file benchmark with files used at random.
#[derive(Debug)]
pub struct RandomNames(OfEach<Phases>);

impl RandomNames {
    /// Runs it on fresh file systems.
    ///
    /// # Errors
    /// The benchmark fails; an interrupt.
    pub fn run(bench: &Bench<'_>) -> anyhow::Result<RandomNames> {
        let directories = bench.plan.small_files.random_directories;
        let each = OfEach::try_new(|name| {
            let state = bench.fresh(name, AS_USED)?;
            bench.small_files_in(Order::AtRandom, &state, directories)
        })?;
        Ok(RandomNames(each))
    }

    /// What the paper expects of it: that grouping reads slightly slower.
    pub fn measure(&self, measured: &mut Measured) {
        let of = &self.0;
        measured.figure("G97.9", faster(of.group(), of.neither(), "read"));
    }

    /// Files a second and requests of each file system.
    pub fn exhibit(&self) -> Exhibit {
        let mut rows = Vec::new();
        for phase in PHASES {
            for (name, phases) in self.0.named() {
                let Some(measured) = phases.get(phase) else {
                    continue;
                };
                rows.push(vec![
                    phase.to_owned(),
                    name.to_owned(),
                    format!("{:.0}", measured.files_per_s.mean),
                    faster(phases, self.0.neither(), phase).map_or("-".to_owned(), times),
                    measured.requests.reads.to_string(),
                    format!("{:.1}", measured.requests.read_bytes as f64 / 1e6),
                ]);
            }
        }
        let header = [
            "phase",
            "file system",
            "files/s",
            "over neither",
            "reads",
            "MB read",
        ];
        Exhibit::Sheet(Sheet {
            slug: "random-names",
            title: "Small files used at random (section 4.5)".to_owned(),
            text: "Directory after directory is filled; then files of all of them are read, written over and deleted \
                   at random. MB are 10^6 bytes."
                .to_owned(),
            header: header.map(str::to_owned).to_vec(),
            rows,
        })
    }
}
