//! Both techniques beside logs on the same disk and host, as section 6 supposes it: small files of directories that are
//! written together, with soft updates, since no log waits for metadata either.

use super::phases::{Phases, faster, times};
use super::small_files::{PHASES, SOFT};
use super::{AS_USED, Bench, FILES_OF_A_DIRECTORY};
use crate::aged::State;
use crate::comparison::Measured;
use crate::figure::{Exhibit, Sheet};
use crate::words;
use anyhow::Context;
use fsage_bench::benchmarks::small_file::SMALL_FILE_1997;
use fsage_bench::benchmarks::{FileCount, Sequential};
use fsage_models::lfs::Lfs;
use fsage_target::{Target, TargetSpec};
use std::borrow::Cow;

/// Phases that write what is in the files.
const WRITING: [&str; 2] = ["create", "overwrite"];

/// Logs, by their targets, and the end of their rows: in whole blocks as the prototype, and with fragments.
const LOGS: [(&str, &str); 2] = [("log", ""), ("log-fragments", ".fragments")];

/// All three file systems.
#[derive(Debug)]
pub struct BesideLog {
    both: Phases,
    logs: [Phases; 2],
}

impl BesideLog {
    /// Runs the small files on both.
    ///
    /// # Errors
    /// A benchmark fails; an interrupt.
    pub fn run(bench: &Bench<'_>) -> anyhow::Result<BesideLog> {
        let plan = bench.plan.small_files;
        let benchmark = Sequential {
            sizes: Cow::Owned(vec![plan.size.0]),
            files: FileCount::Exactly(plan.directories * FILES_OF_A_DIRECTORY),
            files_per_directory: FILES_OF_A_DIRECTORY,
            ..SMALL_FILE_1997
        };
        let repetitions = bench.paper.run.repetitions;
        let both = bench.fresh("both", &format!("{AS_USED}{SOFT}"))?;
        let log = |name: &str| -> anyhow::Result<Phases> {
            let log = Target::make(&TargetSpec::parse(&bench.spec(name, "")?)?)?;
            let log = log.into_model::<Lfs>();
            let log = log.with_context(|| format!("target `{name}`: expected an lfs target"))?;
            let state = State {
                name: name.to_owned(),
                fs: *log,
                hot: Vec::new(),
            };
            Ok(Phases::of(&bench.lab.run(
                &benchmark,
                &state,
                repetitions,
            )?))
        };
        let [(whole, _), (fragments, _)] = LOGS;
        Ok(BesideLog {
            both: Phases::of(&bench.lab.run(&benchmark, &both, repetitions)?),
            logs: [log(whole)?, log(fragments)?],
        })
    }

    /// What the paper supposes: that writing is a match for the log.
    pub fn measure(&self, measured: &mut Measured) {
        for ((_, end), log) in LOGS.iter().zip(&self.logs) {
            let gains = WRITING.map(|phase| Some((phase, faster(&self.both, log, phase)?)));
            let gains: Option<Vec<(&str, f64)>> = gains.into_iter().collect();
            let row = format!("G97.B.lfs.write{end}");
            measured.shape(&row, gains.map(|gains| matches(&gains)));
        }
    }

    /// Files a second and requests of all.
    pub fn exhibit(&self) -> Exhibit {
        let names = ["both"]
            .into_iter()
            .chain(LOGS.iter().map(|(name, _)| *name));
        let all: Vec<(&str, &Phases)> = names
            .zip([&self.both].into_iter().chain(&self.logs))
            .collect();
        let rows = PHASES.iter().flat_map(|phase| {
            all.iter().filter_map(|(name, of)| {
                let measured = of.get(phase)?;
                let gain = faster(&self.both, of, phase);
                Some(vec![
                    (*phase).to_owned(),
                    (*name).to_owned(),
                    format!("{:.0}", measured.files_per_s.mean),
                    measured.requests.all().to_string(),
                    format!("{:.1}", measured.requests.written_bytes as f64 / 1e6),
                    gain.map_or("-".to_owned(), times),
                ])
            })
        });
        let header = [
            "phase",
            "file system",
            "files/s",
            "requests",
            "MB written",
            "both over it",
        ];
        Exhibit::Sheet(Sheet {
            slug: "beside-log",
            title: "Both techniques beside a log (section 6)".to_owned(),
            text: "Small files with soft updates, and on logs of 4.4BSD whose cleaner has nothing to do, in whole \
                   blocks of 4 KB as the prototype, and with fragments of 1 KB; the same disk and host. MB are 10^6 \
                   bytes."
                .to_owned(),
            header: header.map(str::to_owned).to_vec(),
            rows: rows.collect(),
        })
    }
}

/// Whether every phase is comparable or faster.
fn matches(gains: &[(&str, f64)]) -> (bool, String) {
    let holds = gains
        .iter()
        .all(|(_, gain)| *gain >= 1.0 || words::comparable(*gain));
    let text: Vec<String> = gains
        .iter()
        .map(|(phase, gain)| format!("{phase} {gain:.2}"))
        .collect();
    (holds, format!("{} times as fast", text.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_match_is_comparable_or_faster_in_both() {
        assert!(matches(&[("create", 0.86), ("overwrite", 2.0)]).0);
        assert!(!matches(&[("create", 0.8), ("overwrite", 2.0)]).0);
    }
}
