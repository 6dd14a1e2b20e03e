//! The folder of a run: written under a hidden name, renamed when it is complete.
//!
//! ```text
//! RUN/run.json                 what was run: version, workload, targets
//! RUN/<target>/days.parquet    one row a day
//! RUN/<target>/final.parquet   the layout at the end, as a snapshot
//! ```
//!
//! Nothing in it depends on the clock, the machine or the number of threads: the same command on the same
//! workload gives the same bytes.

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// Name of the manifest.
const MANIFEST: &str = "run.json";

/// What was run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of fsage that made the run.
    pub fsage: String,
    /// Version of this form.
    pub schema_version: u32,
    /// The workload.
    pub workload: WorkloadFacts,
    /// Operations that did not fit the state were skipped.
    pub lenient: bool,
    /// The targets, in the order they were named.
    pub targets: Vec<TargetFacts>,
}

/// Which workload was replayed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkloadFacts {
    /// Name of its file, without the folder.
    pub file: String,
    /// BLAKE3 hash of its bytes; none for what came through a pipe.
    pub blake3: Option<String>,
    /// Generator and parameters, if it says so.
    pub generator: Option<String>,
    /// Seed, if it says so.
    pub seed: Option<u64>,
    /// Where it comes from, in its own words.
    pub source: Option<String>,
}

/// One target of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetFacts {
    /// The specification as given.
    pub spec: String,
    /// Its folder.
    pub folder: String,
    /// Days.
    pub days: u64,
    /// Operations, those skipped included.
    pub operations: u64,
    /// Operations that were not done, not counting those that the file system does not know.
    pub skipped: u64,
}

impl Manifest {
    /// Reads the manifest of a run.
    pub fn read(run: &Path) -> anyhow::Result<Manifest> {
        let path = run.join(MANIFEST);
        let text = fs::read_to_string(&path).with_context(|| {
            format!(
                "{}: not a run: cannot read {MANIFEST}; `fsage age ... -o RUN` makes a run",
                run.display()
            )
        })?;
        serde_json::from_str(&text)
            .with_context(|| format!("{}: damaged; make the run again", path.display()))
    }
}

/// A run that is being written. Dropped before [`finish`](Self::finish), it leaves nothing.
#[derive(Debug)]
pub struct NewRun {
    to: PathBuf,
    hidden: PathBuf,
    replaces: bool,
    done: bool,
}

impl NewRun {
    /// Starts a run that will be `to`.
    pub fn create(to: &Path, force: bool) -> anyhow::Result<NewRun> {
        let Some(name) = to.file_name() else {
            bail!("{}: expected the name of a folder to make", to.display());
        };
        let replaces = to.symlink_metadata().is_ok();
        if replaces && !force {
            bail!("{}: exists already (--force replaces a run)", to.display());
        }
        let empty = fs::read_dir(to).is_ok_and(|mut entries| entries.next().is_none());
        if replaces && !empty && !to.join(MANIFEST).is_file() {
            bail!(
                "{}: exists and is no run, so it is not replaced; name another folder",
                to.display()
            );
        }
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".incomplete-{}", std::process::id()));
        let hidden = to.with_file_name(hidden);
        fs::create_dir(&hidden)
            .with_context(|| format!("{}: cannot make the folder of the run", to.display()))?;
        Ok(NewRun {
            to: to.to_owned(),
            hidden,
            replaces,
            done: false,
        })
    }

    /// Makes the folder of a target.
    pub fn target(&self, folder: &str) -> anyhow::Result<PathBuf> {
        let path = self.hidden.join(folder);
        fs::create_dir(&path).with_context(|| format!("{}: cannot make it", path.display()))?;
        Ok(path)
    }

    /// Writes the manifest and gives the run its name.
    pub fn finish(mut self, manifest: &Manifest) -> anyhow::Result<()> {
        let failed = || format!("{}: cannot complete the run", self.to.display());
        let mut text = serde_json::to_string_pretty(manifest)?;
        text.push('\n');
        fs::write(self.hidden.join(MANIFEST), text).with_context(failed)?;
        if self.replaces {
            // The old run is out of the way before the new one takes its name, and goes last.
            let old = self
                .hidden
                .with_extension(format!("old-{}", std::process::id()));
            fs::rename(&self.to, &old).with_context(failed)?;
            fs::rename(&self.hidden, &self.to).with_context(failed)?;
            fs::remove_dir_all(&old).with_context(failed)?;
        } else {
            fs::rename(&self.hidden, &self.to).with_context(failed)?;
        }
        self.done = true;
        Ok(())
    }
}

impl Drop for NewRun {
    fn drop(&mut self) {
        if !self.done {
            // Nothing better can be done about a folder that cannot be removed.
            let _ = fs::remove_dir_all(&self.hidden);
        }
    }
}
