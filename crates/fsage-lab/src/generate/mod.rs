//! Making a workload: from snapshots, a git history, traces, playback text or published statistics.

mod call;
mod copies;
mod described;
mod git;
mod inputs;
mod nfsdump;
mod oplog;
mod output;
mod playback;
mod profile;
mod profile_pool;
mod snapshots;
mod strace;
mod tally;
mod trace;

pub use call::{Args, Question, Request};
pub use described::{DescribedOption, DescribedSource, described};
pub use git::{Git, ViewName};
pub use nfsdump::Nfsdump;
pub use oplog::Oplog;
pub use output::{Beside, Generated, Output, Row, may_write, row};
pub use playback::{GroupOptions, Playback};
pub use profile::{Profile, again, text_of};
pub use profile_pool::{check as pool_may_be_written, read as read_pool, write as write_pool};
pub(crate) use snapshots::GENERATOR as FROM_SNAPSHOTS;
pub use snapshots::{
    DeleteTimesName, DrawsName, GrowthName, IdentityName, ModificationsName, PlacementName,
    Snapshots,
};
pub use strace::Strace;
pub use tally::Tally;
pub use trace::{TraceOptions, WindowName};

use crate::Result;
use crate::error::{self, bail};
use crate::watch::Watch;
use fsage_core::{EventSource, WorkloadHeader};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Where a workload comes from, with everything that its source can be told. The same stands on the command line, in
/// the file of an experiment, and in a program.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// Snapshots of a file system.
    Snapshots(Box<Snapshots>),
    /// The history of a git repository.
    Git(Git),
    /// Logs of strace.
    Strace(Strace),
    /// NFS traces.
    Nfsdump(Nfsdump),
    /// Our own operation log.
    Oplog(Oplog),
    /// The aging workload format of Smith and Seltzer.
    Playback(Playback),
    /// A preset, a TOML file, or a profile of Geriatrix.
    Profile(Profile),
}

impl Source {
    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Source::Snapshots(_) => "snapshots",
            Source::Git(_) => "git",
            Source::Strace(_) => "strace",
            Source::Nfsdump(_) => "nfsdump",
            Source::Oplog(_) => "oplog",
            Source::Playback(_) => "playback",
            Source::Profile(_) => "profile",
        }
    }

    /// Whether its workloads deliver files, as mail is: forced to disk one by one, and moved to their places.
    ///
    /// # Errors
    /// There is no such preset, or it cannot be adapted so.
    pub fn delivers(&self) -> Result<bool> {
        match self {
            Source::Profile(source) => profile::delivers(source),
            _ => Ok(false),
        }
    }

    /// The size in bytes of the file system that its workloads are made for, where that is known before they are made.
    ///
    /// # Errors
    /// There is no such preset, or it cannot be adapted so.
    pub fn capacity(&self) -> Result<Option<u64>> {
        match self {
            Source::Profile(source) => profile::capacity(source),
            _ => Ok(None),
        }
    }

    /// The bytes of all files when there is most of them, where that is known before it is made.
    ///
    /// # Errors
    /// There is no such preset, or it cannot be adapted so.
    pub fn most_bytes(&self) -> Result<Option<u64>> {
        match self {
            Source::Profile(source) => profile::most_bytes(source).map(Some),
            _ => Ok(None),
        }
    }

    /// The seed by which it draws at random, if it does: `None` in it is 1.
    pub fn seed(&mut self) -> Option<&mut Option<u64>> {
        match self {
            Source::Snapshots(source) => Some(&mut source.seed),
            Source::Git(source) => Some(&mut source.seed),
            Source::Profile(source) => Some(&mut source.seed),
            Source::Strace(_) | Source::Nfsdump(_) | Source::Oplog(_) | Source::Playback(_) => None,
        }
    }

    /// That it makes sense, and that there is such a profile; for before long work.
    ///
    /// # Errors
    /// It does not; the message says what was expected.
    pub fn check(&self) -> Result<()> {
        match self {
            Source::Snapshots(source) => snapshots::check(source),
            Source::Git(source) => git::check(source),
            Source::Strace(source) => source.trace.check(),
            Source::Nfsdump(source) => source.trace.check(),
            Source::Oplog(source) => source.trace.check(),
            Source::Playback(_) => Ok(()),
            Source::Profile(source) => profile::check(source),
        }
    }

    /// The pool of profiles that it writes beside the workload.
    fn pool(&self) -> Option<&Path> {
        match self {
            Source::Strace(source) => source.trace.pool(),
            Source::Nfsdump(source) => source.trace.pool(),
            Source::Oplog(source) => source.trace.pool(),
            Source::Snapshots(_) | Source::Git(_) | Source::Playback(_) | Source::Profile(_) => {
                None
            }
        }
    }

    /// That it makes a workload and no other file: another may be there already, be it somebody else's.
    ///
    /// # Errors
    /// It writes a pool of profiles.
    pub fn writes_nothing_else(&self) -> Result<()> {
        match self.pool() {
            None => Ok(()),
            Some(pool) => bail!(
                "--profiles {}: here a call makes a workload and no other file; make the pool first, with `fsage \
                 generate` itself",
                pool.display()
            ),
        }
    }
}

/// Makes a workload.
///
/// # Errors
/// The source makes no sense, or cannot be read; the output is there, or cannot be written; an interrupt.
pub fn generate(source: &Source, output: &Output, ui: &dyn Watch) -> Result<Generated> {
    source.check()?;
    match source {
        Source::Snapshots(source) => snapshots::run(source, output, ui),
        Source::Git(source) => git::run(source, output, ui),
        Source::Strace(source) => strace::run(source, output, ui),
        Source::Nfsdump(source) => nfsdump::run(source, output, ui),
        Source::Oplog(source) => oplog::run(source, output, ui),
        Source::Playback(source) => playback::run(source, output, ui),
        Source::Profile(source) => profile::run(source, output, ui),
    }
}

/// Writes a workload whose events come from elsewhere: from a table, or from a generator of one's own. A `header`
/// stands instead of its own.
///
/// # Errors
/// The source fails; the output is there, or cannot be written; an interrupt.
pub fn from_events(
    source: &mut dyn EventSource,
    header: Option<WorkloadHeader>,
    output: &Output,
    ui: &dyn Watch,
) -> Result<Generated> {
    output.check([])?;
    let header = header.unwrap_or_else(|| source.header().clone());
    let ((), tally) = output::write(output, &header, ui, None, |sink| {
        while let Some(event) = source.next_event().map_err(error::boxed)? {
            sink.event(event).map_err(error::boxed)?;
        }
        Ok(())
    })?;
    Ok(Generated::new(Vec::new(), tally))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    /// The same call in words and as a table; what neither names has its default in both.
    #[test]
    fn a_source_is_the_same_in_words_and_as_a_table() {
        let cases = [
            ("git repo", json!({"git": {"repo": "repo"}})),
            (
                "git repo --clones 20 --stagger 365 --view day --seed 7",
                json!({"git": {"repo": "repo", "clones": 20, "stagger": 365, "view": "day", "seed": 7}}),
            ),
            (
                "snapshots a b --delete-times smith96 --scale 2.5",
                json!({"snapshots": {"snapshots": ["a", "b"], "delete_times": "smith96", "scale": 2.5}}),
            ),
            (
                "strace log --root / --only-new --utc-offset -05:30",
                json!({"strace": {"logs": ["log"], "roots": ["/"],
                    "trace": {"only_new": true, "utc_offset": "-5:30"}}}),
            ),
            (
                "nfsdump log --guess",
                json!({"nfsdump": {"logs": ["log"], "guess": true}}),
            ),
            (
                "oplog log.csv --merge-ms 5",
                json!({"oplog": {"log": "log.csv", "trace": {"merge_ms": 5}}}),
            ),
            (
                "playback text --groups 7",
                json!({"playback": {"file": "text", "groups": {"groups": 7}}}),
            ),
            (
                "profile fileserver --capacity 512M --seed 1",
                json!({"profile": {"profile": "fileserver", "capacity": "512M", "seed": 1}}),
            ),
        ];
        for (text, table) in cases {
            let source = call::source(&words(text)).expect(text);
            let same: Source = serde_json::from_value(table).expect(text);
            let [source, same] =
                [source, same].map(|source| serde_json::to_value(source).expect(text));
            assert_eq!(source, same, "{text}");
            let again: Source = serde_json::from_value(source.clone()).expect(text);
            assert_eq!(serde_json::to_value(again).expect(text), source, "{text}");
        }
    }

    #[test]
    fn a_table_that_makes_no_sense_says_what_was_expected() {
        let refused = |table: Value| match serde_json::from_value::<Source>(table) {
            Err(error) => error.to_string(),
            Ok(source) => source.check().expect_err("it makes no sense").to_string(),
        };
        let cases = [
            (json!({"svn": {"repo": "."}}), "unknown variant `svn`"),
            (
                json!({"git": {"repo": ".", "clone": 2}}),
                "unknown field `clone`",
            ),
            (json!({"git": {"clones": 2}}), "missing field `repo`"),
            (
                json!({"git": {"repo": ".", "clones": 0}}),
                "clones: expected 1 to 100000",
            ),
            (json!({"profile": {"profile": "no-such"}}), "no preset"),
            (
                json!({"profile": {"profile": "home-1996", "days": 0}}),
                "days: expected 1",
            ),
            (
                json!({"oplog": {"log": "l", "trace": {"utc_offset": "noon"}}}),
                "expected hours",
            ),
            (
                json!({"oplog": {"log": "l", "trace": {"merge_ms": -1}}}),
                "merge_ms: expected 0",
            ),
            (
                json!({"snapshots": {"snapshots": ["s"], "profiles_a_day": 3}}),
                "no `profiles`",
            ),
        ];
        for (table, expected) in cases {
            let why = refused(table);
            assert!(why.contains(expected), "{why}");
        }
    }
}
