//! A run on disk.
//!
//! ```text
//! RUN/run.json                 the manifest: version, workload, targets, and whether the run is complete
//! RUN/<target>/days.parquet    one row a day
//! RUN/<target>/final.parquet   the layout at the end, as a snapshot
//! RUN/<target>/checkpoint/     what a real target needs to go on after an interruption
//! ```
//!
//! A run stands under its name from the start, with its manifest, and one process at a time works on it. Until it is
//! complete its manifest says so; one that was interrupted stays and can be resumed, one that ended in an error of its
//! input before anything real was changed goes again. What its manifest says is on disk before the manifest says it.
//! Of simulated targets nothing in it depends on the clock, the machine or the number of threads: the same command on
//! the same workload gives the same bytes.

use crate::build::Build;
use crate::error::{Context, bail};
use crate::experiment::manifest as experiment;
use crate::workload::is_there;
use fsage_durable::{
    FileError, FolderLock, LockError, TemporaryFolder, exchange, make_folders, parent_of,
    remove_folder, rename_new, sync_folder,
};
use fsage_target::TargetSpec;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// Name of the manifest.
const MANIFEST: &str = "run.json";
/// What a reproduced paper leaves in its folder.
const REPRODUCTION: &str = "reproduction.json";

/// What was run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Who made the run.
    #[serde(flatten)]
    pub build: Build,
    /// Who began it, where another build than that goes on with real file systems from where they stood.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun_by: Option<Build>,
    /// Version of this form.
    pub schema_version: u32,
    /// How far it came. Older runs, which say nothing, are complete.
    #[serde(default)]
    pub state: State,
    /// The workload.
    pub workload: WorkloadFacts,
    /// Operations that did not fit the state were skipped.
    pub lenient: bool,
    /// The targets, in the order they were named.
    pub targets: Vec<TargetFacts>,
}

/// How far a run came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It goes on, or was interrupted.
    Incomplete,
    /// All of it is there.
    #[default]
    Complete,
}

/// Which workload was replayed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkloadFacts {
    /// Name of its file, without the folder.
    pub file: String,
    /// Where it was, from the folder of the run: the same whatever folder both lie in. None in older runs, for what
    /// came through a pipe, and for a path that is no text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// BLAKE3 hash of its bytes; none for what came through a pipe.
    pub blake3: Option<String>,
    /// Generator and parameters, if it says so.
    pub generator: Option<String>,
    /// Seed, if it says so.
    pub seed: Option<u64>,
    /// Where it comes from, in its own words.
    pub source: Option<String>,
    /// Its operations by where they come from and how well their time is known. Empty in older runs, and until a run
    /// is complete.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<Origins>,
}

/// Operations of one origin whose time is known equally well.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origins {
    /// The word of the formats; none where the workload says nothing.
    pub origin: Option<String>,
    /// The same.
    pub t_quality: Option<String>,
    /// How many there are.
    pub operations: u64,
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
    /// Of a real target: kernel, type of file system, how it was made and mounted.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub facts: serde_json::Map<String, serde_json::Value>,
}

impl WorkloadFacts {
    /// The workload of a run: where the run says it was, or the one that is given because it has moved. It is the one
    /// that was replayed, byte for byte.
    ///
    /// # Errors
    /// It is not there, or no longer what it was.
    pub fn find(&self, run: &Path, given: Option<&Path>) -> crate::Result<PathBuf> {
        let path = match (given, &self.path) {
            (Some(given), _) => {
                is_there(given)?;
                given.to_owned()
            }
            (None, Some(path)) => run.join(path),
            (None, None) => bail!(
                "{}: the run does not say where its workload is; name it: --workload FILE (it was called {})",
                run.display(),
                self.file
            ),
        };
        if given.is_none() && !path.is_file() {
            bail!(
                "{}: the workload of {} is not there any more; where it is now: --workload FILE",
                path.display(),
                run.display()
            );
        }
        let Some(blake3) = &self.blake3 else {
            bail!(
                "{}: its workload came through a pipe, so that nobody can say which it was; age a file",
                run.display()
            );
        };
        if fsage_data::hash_file(&path)? != *blake3 {
            bail!(
                "{}: not the workload of {}: its content is another one; name the right one: --workload FILE",
                path.display(),
                run.display()
            );
        }
        Ok(path)
    }
}

/// The way from one folder to a file, both of which need not be there.
pub(crate) fn way(from: &Path, to: &Path) -> crate::Result<PathBuf> {
    let real = |path: &Path| -> crate::Result<PathBuf> {
        let path = std::path::absolute(path)?;
        // What is not there yet lies in a folder that is.
        let known = path.ancestors().find_map(|above| {
            let real = above.canonicalize().ok()?;
            Some(real.join(path.strip_prefix(above).ok()?))
        });
        Ok(known.unwrap_or(path))
    };
    let (from, to) = (real(from)?, real(to)?);
    let alike = from
        .components()
        .zip(to.components())
        .take_while(|(a, b)| a == b)
        .count();
    let up = from.components().skip(alike).map(|_| Component::ParentDir);
    Ok(up.chain(to.components().skip(alike)).collect())
}

/// That a folder which a manifest names lies in the folder of the manifest, under one plain name and in its own right:
/// whoever made the manifest does not say where else is read and written.
pub(crate) fn inside(above: &Path, name: &Path) -> crate::Result<()> {
    let mut parts = name.components();
    let first_and_more = (parts.next(), parts.next());
    let plain =
        matches!(first_and_more, (Some(Component::Normal(only)), None) if only == name.as_os_str());
    if !plain {
        bail!(
            "the folder `{}`: expected one plain name, without `/` and not `..`",
            name.display()
        );
    }
    if above.join(name).is_symlink() {
        bail!(
            "the folder `{}` is a symbolic link, and what lies elsewhere is no part of it",
            name.display()
        );
    }
    Ok(())
}

/// Refuses an experiment where a run is asked for.
///
/// # Errors
/// The folder is one of an experiment; the error names a run of it. Or it is that of a reproduced paper.
pub fn no_experiment(folder: &Path) -> crate::Result<()> {
    no_reproduction(folder)?;
    if !experiment::Manifest::is_experiment(folder) {
        return Ok(());
    }
    let manifest = experiment::Manifest::read(folder)?;
    let run = manifest
        .cells
        .first()
        .map_or("cells/CELL", |cell| cell.run.as_str());
    bail!(
        "{}: an experiment, and a run is asked for; name one of its cells, as {}",
        folder.display(),
        folder.join(run).display()
    );
}

/// That a folder is not that of a reproduced paper.
///
/// # Errors
/// It is one; the error names what it has.
pub fn no_reproduction(folder: &Path) -> crate::Result<()> {
    if folder.join(REPRODUCTION).is_file() {
        bail!(
            "{}: a reproduced paper, which is no run: its page is index.html, and its tables are CSV files beside it, \
             of which comparison.csv has every row",
            folder.display()
        );
    }
    Ok(())
}

impl Manifest {
    /// Whether a folder is a run.
    pub fn is_run(folder: &Path) -> bool {
        folder.join(MANIFEST).is_file()
    }

    /// Reads the manifest of a run.
    ///
    /// # Errors
    /// It is not there, or no manifest of this version.
    pub fn read(run: &Path) -> crate::Result<Manifest> {
        no_experiment(run)?;
        let path = run.join(MANIFEST);
        let text = fsage_input::text(&path, fsage_input::MANIFEST_BYTES).with_context(|| {
            format!(
                "{}: not a run: cannot read {MANIFEST}; `fsage age ... -o RUN` makes a run",
                run.display()
            )
        })?;
        let damaged = || format!("{}: damaged; make the run again", path.display());
        let manifest: Manifest = serde_json::from_str(&text).with_context(damaged)?;
        for target in &manifest.targets {
            inside(run, Path::new(&target.folder)).with_context(damaged)?;
        }
        Ok(manifest)
    }

    /// Writes the manifest of a run, all of it or nothing.
    fn write(&self, run: &Path) -> crate::Result<()> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        Ok(fsage_durable::write(&run.join(MANIFEST), text, true)?)
    }

    /// Specifications of the targets.
    pub fn specs(&self) -> Vec<String> {
        self.targets.iter().map(|t| t.spec.clone()).collect()
    }

    /// That this is the run of a workload, by its hash, on such targets.
    pub(crate) fn is_of(&self, blake3: Option<&str>, specs: &[String]) -> Result<(), String> {
        if self.workload.blake3.as_deref() != blake3 {
            return Err("its workload has other content".to_owned());
        }
        if self.specs() != specs {
            return Err(format!("its targets are {}", self.specs().join(", ")));
        }
        Ok(())
    }
}

/// A target of a complete run.
#[derive(Debug)]
pub struct OneTarget {
    /// The run.
    pub run: PathBuf,
    /// Its manifest.
    pub manifest: Manifest,
    /// What that says of the target.
    pub facts: TargetFacts,
    /// The target.
    pub spec: TargetSpec,
}

impl OneTarget {
    /// Where the layout at the end of `RUN/TARGET` lies, or of `RUN` with a single target; none of what is no run.
    ///
    /// # Errors
    /// The run is not complete; there is no such target, or there are several.
    pub fn layout(path: &Path) -> crate::Result<Option<PathBuf>> {
        let last = path.join("final.parquet");
        if last.is_file() {
            return Ok(Some(last));
        }
        let is_target = path.parent().is_some_and(Manifest::is_run) && !path.is_file();
        if !is_target && !Manifest::is_run(path) {
            return Ok(None);
        }
        let target = OneTarget::find(path, |_| true)?;
        let folder = target.run.join(&target.facts.folder);
        Ok(Some(folder.join("final.parquet")))
    }

    /// The target of `RUN/TARGET`, where the kind alone does for the only one of it; of `RUN` the only one that fits.
    ///
    /// # Errors
    /// It is no run, or not complete; there is no such target, or several fit.
    pub fn find(path: &Path, fits: impl Fn(&TargetSpec) -> bool) -> crate::Result<OneTarget> {
        let above = path.parent().filter(|above| Manifest::is_run(above));
        let (run, folder) = match (Manifest::is_run(path), above, path.file_name()) {
            (false, Some(above), Some(name)) => (above, Some(name.to_string_lossy())),
            _ => (path, None),
        };
        let manifest = Manifest::read(run)?;
        if manifest.state == State::Incomplete {
            bail!(
                "{}: an interrupted run; `fsage age ... --resume` ends it",
                run.display()
            );
        }
        let is_named = |name: &str| manifest.targets.iter().any(|target| target.folder == name);
        let chosen = |target: &&TargetFacts| match &folder {
            Some(folder) if is_named(folder) => target.folder == **folder,
            Some(kind) => target.spec.split(':').next() == Some(kind),
            None => TargetSpec::parse(&target.spec).is_ok_and(|spec| fits(&spec)),
        };
        let targets: Vec<&TargetFacts> = manifest.targets.iter().filter(chosen).collect();
        let [facts] = targets[..] else {
            let folders = manifest.targets.iter().map(|target| target.folder.as_str());
            let folders: Vec<&str> = folders.collect();
            if targets.is_empty() && folder.is_none() {
                bail!(
                    "{}: none of its targets is of the kind that is asked for: {}",
                    path.display(),
                    folders.join(", ")
                );
            }
            bail!(
                "{}: {} of its targets fit; expected RUN/TARGET, with one of {}",
                path.display(),
                targets.len(),
                folders.join(", ")
            );
        };
        Ok(OneTarget {
            run: run.to_owned(),
            facts: facts.clone(),
            spec: TargetSpec::parse(&facts.spec)?,
            manifest,
        })
    }
}

/// A run that is being written, locked for this process. Dropped early, it leaves nothing, and the run that it would
/// have replaced is back; unless it was told to [`stay`](Self::stay).
///
/// It appears under its name together with its manifest. A run that it replaces stands aside, as `.NAME.replaced`,
/// until it is complete: so at every moment one of the two is there, and where the one under the name is complete,
/// what stands aside is of no use any more.
#[derive(Debug)]
pub struct Run {
    path: PathBuf,
    lock: FolderLock,
    /// The run that this one replaces. That of a process that was killed is locked by nobody.
    replaced: Option<PathBuf>,
    stays: bool,
    begun_by: Option<Build>,
}

/// What stands under the name of a run that begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Nothing,
    Empty,
    Run(State),
    Other,
}

impl Standing {
    fn of(path: &Path) -> Standing {
        if path.symlink_metadata().is_err() {
            return Standing::Nothing;
        }
        if Manifest::is_run(path) {
            // One that cannot be read is good for nothing but being replaced.
            let state = Manifest::read(path).map_or(State::Incomplete, |manifest| manifest.state);
            return Standing::Run(state);
        }
        match fs::read_dir(path).map(|mut entries| entries.next().is_none()) {
            Ok(true) => Standing::Empty,
            _ => Standing::Other,
        }
    }

    /// Refuses what is not to be replaced.
    fn refuse(self, to: &Path, force: bool) -> crate::Result<()> {
        let why = match (self, force) {
            (Standing::Nothing, _) | (Standing::Empty | Standing::Run(_), true) => return Ok(()),
            (Standing::Run(State::Incomplete), false) => {
                "an interrupted run: --resume resumes it, --force starts again"
            }
            (_, false) => "exists already (--force replaces a run)",
            (Standing::Other, true) => {
                "exists and is no run, so it is not replaced; name another folder"
            }
        };
        bail!("{}: {why}", to.display())
    }
}

/// That a run may be begun in a folder, or replace what is there; for before long work.
///
/// # Errors
/// Something is there that is not to be replaced.
pub(crate) fn may_begin(to: &Path, force: bool) -> crate::Result<()> {
    Standing::of(to).refuse(to, force)
}

impl Run {
    /// Starts a run. With `resume` it goes on with an incomplete one of that name, if there is one.
    pub(crate) fn begin(
        to: &Path,
        force: bool,
        resume: bool,
        manifest: &Manifest,
    ) -> crate::Result<Run> {
        let Some(name) = to.file_name() else {
            bail!("{}: expected the name of a folder to make", to.display());
        };
        let mut aside = OsString::from(".");
        aside.push(name);
        aside.push(".replaced");
        let aside = to.with_file_name(aside);
        if Standing::of(to) == Standing::Nothing {
            bring_back(&aside, to)?;
        }
        if Standing::of(to) == Standing::Nothing {
            return Run::publish(to, manifest);
        }
        let lock = match FolderLock::alone(to) {
            Err(LockError::Io { .. }) if !to.is_dir() => None,
            lock => Some(lock?),
        };
        // What is seen now stays so.
        let standing = Standing::of(to);
        match (lock, standing) {
            (Some(lock), Standing::Run(_)) if resume => Run::resume(to, lock, &aside, manifest),
            (lock, _) => {
                standing.refuse(to, force)?;
                let lock = lock.context("it is gone")?;
                Run::replace(to, &lock, standing, aside, manifest)
            }
        }
    }

    fn publish(to: &Path, manifest: &Manifest) -> crate::Result<Run> {
        let folder = TemporaryFolder::create(to)?;
        manifest.write(folder.path())?;
        let lock = folder.publish().or_else(|error| match error {
            // Another process was quicker; it is best to say which one.
            FileError::Exists { .. } => {
                FolderLock::alone(to)?;
                Err(crate::Error::from(error))
            }
            error => Err(error.into()),
        })?;
        Ok(Run::new(to, lock, None))
    }

    /// Takes the place of what stands there, which is locked.
    fn replace(
        to: &Path,
        _theirs: &FolderLock,
        standing: Standing,
        aside: PathBuf,
        manifest: &Manifest,
    ) -> crate::Result<Run> {
        let is_kept = standing == Standing::Run(State::Incomplete)
            && Standing::of(&aside) == Standing::Run(State::Complete);
        if is_kept {
            // The last attempt to replace it did not end either: what it would have replaced is the one to keep.
            own(&aside)?;
            let folder = TemporaryFolder::create(to)?;
            manifest.write(folder.path())?;
            return Ok(Run::new(to, folder.replace()?, Some(aside)));
        }
        if aside.symlink_metadata().is_ok() {
            own(&aside)?;
            remove_folder(&aside)?;
        }
        let failed = || format!("{}: cannot make the folder of the run", to.display());
        fs::create_dir(&aside).with_context(failed)?;
        let lock = FolderLock::alone(&aside)?;
        manifest.write(&aside)?;
        if !exchange(&aside, to)? {
            drop(lock);
            return Run::replace_in_steps(to, aside, manifest);
        }
        sync_folder(parent_of(to)).with_context(failed)?;
        Ok(Run::new(to, lock, Some(aside)))
    }

    /// On file systems that exchange no names. After a kill between the steps the old run stands aside, complete, and
    /// the next one that begins gives it its name back.
    fn replace_in_steps(to: &Path, aside: PathBuf, manifest: &Manifest) -> crate::Result<Run> {
        let failed = || format!("{}: cannot make the folder of the run", to.display());
        remove_folder(&aside)?;
        fs::rename(to, &aside).with_context(failed)?;
        sync_folder(parent_of(to)).with_context(failed)?;
        match Run::publish(to, manifest) {
            Ok(mut run) => {
                run.replaced = Some(aside);
                Ok(run)
            }
            Err(error) => {
                fs::rename(&aside, to).with_context(failed)?;
                Err(error)
            }
        }
    }

    fn resume(
        to: &Path,
        lock: FolderLock,
        aside: &Path,
        manifest: &Manifest,
    ) -> crate::Result<Run> {
        let begun = Manifest::read(to)?;
        if begun.state == State::Complete {
            bail!(
                "{}: the run is complete; there is nothing to resume",
                to.display()
            );
        }
        let blake3 = manifest.workload.blake3.as_deref();
        if let Err(why) = begun.is_of(blake3, &manifest.specs()) {
            bail!(
                "{}: the interrupted run is another one: {why}; resume it with the command it was begun with",
                to.display()
            );
        }
        let replaced = aside.symlink_metadata().is_ok() && own(aside).is_ok();
        let mut run = Run::new(to, lock, replaced.then(|| aside.to_owned()));
        run.stays = true;
        run.begun_by = Some(begun.build);
        Ok(run)
    }

    fn new(to: &Path, lock: FolderLock, replaced: Option<PathBuf>) -> Run {
        Run {
            path: to.to_owned(),
            lock,
            replaced,
            stays: false,
            begun_by: None,
        }
    }

    /// Whether it goes on with an interrupted run.
    pub fn is_resumed(&self) -> bool {
        self.begun_by.is_some()
    }

    /// Who began the run that it goes on with.
    pub fn begun_by(&self) -> Option<&Build> {
        self.begun_by.as_ref()
    }

    /// From now on an early end leaves the run as it is, so that it can be resumed.
    pub fn stay(&mut self) {
        self.stays = true;
    }

    /// The folder of a target, made if it is not there.
    pub(crate) fn target(&self, folder: &str) -> crate::Result<PathBuf> {
        let path = self.path.join(folder);
        make_folders(&path)?;
        Ok(path)
    }

    /// Writes the manifest of the complete run, whose files are all on disk; the run that it replaces goes.
    pub(crate) fn complete(&mut self, manifest: &Manifest) -> crate::Result<()> {
        manifest.write(&self.path)?;
        self.stays = true;
        if let Some(old) = self.replaced.take() {
            remove_folder(&old).context("cannot remove the run that was replaced")?;
        }
        Ok(())
    }

    /// Takes a run that is going under its name away, and gives the name back to the one that it would have replaced.
    fn undo(&self) -> Result<(), FileError> {
        match &self.replaced {
            Some(old) if exchange(old, &self.path)? => remove_folder(old),
            // Where it stands aside alone it gets its name back, if not now then by the next one.
            Some(old) => {
                remove_folder(&self.path)?;
                rename_new(old, &self.path).map_err(|errno| FileError::Io {
                    path: old.clone(),
                    action: "cannot give it its name back",
                    source: errno.into(),
                })
            }
            None => remove_folder(&self.path),
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // Another folder may have got the name: somebody moved this one away.
        if !self.stays && self.lock.is_of(&self.path) {
            // Nothing better can be done about a folder that cannot be removed.
            let _ = self.undo();
        }
    }
}

/// Gives a run its name back that was about to be replaced by one that is gone.
fn bring_back(aside: &Path, to: &Path) -> crate::Result<()> {
    if Standing::of(aside) != Standing::Run(State::Complete) || own(aside).is_err() {
        return Ok(());
    }
    let _alone = FolderLock::alone(aside)?;
    fs::rename(aside, to)
        .and_then(|()| sync_folder(parent_of(to)))
        .with_context(|| format!("{}: cannot be given its name back", aside.display()))
}

/// Refuses a folder of somebody else under a name that only we use.
fn own(path: &Path) -> crate::Result<()> {
    let meta = path.symlink_metadata()?;
    if meta.uid() != rustix::process::geteuid().as_raw() {
        bail!(
            "{}: belongs to another user; remove it, or choose another folder",
            path.display()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_from_a_run_to_its_workload_does_not_depend_on_where_both_are() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("a/b")).expect("a folder");
        let way = |from: &str, to: &str| way(&at(from), &at(to)).expect("a way");
        assert_eq!(way("run", "w.ops"), Path::new("../w.ops"));
        assert_eq!(way("a/b/run", "w.ops"), Path::new("../../../w.ops"));
        assert_eq!(way("run", "a/b/w.ops"), Path::new("../a/b/w.ops"));
        assert_eq!(way("a/b/run", "a/b/../w.ops"), Path::new("../../w.ops"));
        std::os::unix::fs::symlink(at("a/b"), at("short")).expect("a link");
        assert_eq!(way("short/run", "a/w.ops"), Path::new("../../w.ops"));
    }

    #[test]
    fn a_workload_is_found_where_it_was_or_where_it_is_said_to_be() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("run")).expect("a folder");
        fs::write(at("w.ops"), "mkdir 1\n").expect("a file");
        let mut facts = WorkloadFacts {
            file: "w.ops".to_owned(),
            path: Some("../w.ops".to_owned()),
            blake3: Some(fsage_data::hash_file(at("w.ops")).expect("a hash")),
            generator: None,
            seed: None,
            source: None,
            origins: Vec::new(),
        };
        let find = |facts: &WorkloadFacts, given: Option<&str>| {
            let given = given.map(&at);
            facts
                .find(&at("run"), given.as_deref())
                .map_err(|error| format!("{error:#}"))
        };
        assert_eq!(find(&facts, None), Ok(at("run/../w.ops")));
        fs::rename(at("w.ops"), at("moved.ops")).expect("a move");
        let error = find(&facts, None).expect_err("it has moved");
        assert!(error.contains("--workload FILE"), "{error}");
        assert_eq!(find(&facts, Some("moved.ops")), Ok(at("moved.ops")));
        fs::write(at("moved.ops"), "mkdir 2\n").expect("a file");
        let error = find(&facts, Some("moved.ops")).expect_err("it has changed");
        assert!(error.contains("moved.ops: not the workload"), "{error}");
        facts.path = None;
        let error = find(&facts, None).expect_err("an older run");
        assert!(error.contains("it was called w.ops"), "{error}");
    }
}
