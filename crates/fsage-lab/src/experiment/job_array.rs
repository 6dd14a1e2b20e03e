//! An experiment as an array of jobs: a script for schedulers of clusters, on which nothing of ours runs as a daemon.

use crate::error::Context;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Which scheduler runs the jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduler {
    /// Slurm: what it has to know stands at the head of the script.
    Slurm,
    /// Any other: the number of the job comes in a variable of its own, or as an argument.
    Any,
}

/// What a script is to do.
#[derive(Clone, Copy, Debug)]
pub struct JobArray<'a> {
    /// Which scheduler runs it.
    pub scheduler: Scheduler,
    /// How many jobs there are.
    pub jobs: u64,
    /// The program.
    pub program: &'a Path,
    /// The experiment file.
    pub file: &'a Path,
    /// The folder of the experiment.
    pub folder: &'a Path,
    /// Name of the experiment.
    pub name: &'a str,
}

impl JobArray<'_> {
    /// Writes the script into the folder of the experiment; gives its path.
    ///
    /// # Errors
    /// A path is no text, or has a line break in it; the script cannot be written.
    pub fn write(&self) -> crate::Result<PathBuf> {
        let path = self.folder.join(match self.scheduler {
            Scheduler::Slurm => "slurm.sh",
            Scheduler::Any => "array.sh",
        });
        fsage_durable::write(&path, self.script()?, true)?;
        Ok(path)
    }

    fn script(&self) -> crate::Result<String> {
        let JobArray { jobs, name, .. } = self;
        let plain = |path: &Path| {
            let text = path.to_str().filter(|text| !text.contains('\n'));
            let text = text.with_context(|| {
                format!("{}: a script cannot have this path in it", path.display())
            })?;
            Ok::<String, crate::Error>(text.to_owned())
        };
        let mut script = "#!/bin/bash\n".to_owned();
        if self.scheduler == Scheduler::Slurm {
            // A path with a percent sign would be taken for a pattern.
            let log = plain(&self.folder.join("slurm"))?.replace('%', "%%");
            let log = format!("{log}-%a.log");
            // Slurm takes what is in double quotes for one word.
            let log = if log.contains(char::is_whitespace) {
                format!("\"{log}\"")
            } else {
                log
            };
            let _ = write!(
                script,
                "#SBATCH --job-name=fsage-{name}\n#SBATCH --array=1-{jobs}\n#SBATCH --ntasks=1\n\
                 #SBATCH --cpus-per-task=1\n#SBATCH --requeue\n#SBATCH --signal=B:TERM@120\n\
                 #SBATCH --open-mode=append\n#SBATCH --output={log}\n"
            );
        }
        let (program, file, folder) =
            (plain(self.program)?, plain(self.file)?, plain(self.folder)?);
        let _ = write!(
            script,
            r#"# The experiment {name} as {jobs} jobs, each a share of the cells. What is done is not done again:
# submit it as often as you like. The job that ends last writes the tables and the report.
#   Slurm  sbatch SCRIPT
#   PBS    qsub -J 1-{jobs} SCRIPT
#   LSF    bsub -J "fsage[1-{jobs}]" bash SCRIPT
#   SGE    qsub -t 1-{jobs} SCRIPT
set -u
task=${{1:-${{SLURM_ARRAY_TASK_ID:-${{PBS_ARRAY_INDEX:-${{LSB_JOBINDEX:-${{SGE_TASK_ID:-}}}}}}}}}}
if [ -z "$task" ]; then echo "the number of the job is needed: 1 to {jobs}" >&2; exit 2; fi

stopped=no
{program} run {file} --output {folder} --shard "$task/{jobs}" --threads "${{SLURM_CPUS_PER_TASK:-1}}" &
child=$!
trap 'stopped=yes; kill -TERM $child 2>/dev/null' TERM INT
wait $child
status=$?
# A signal ends the wait, not the program.
while kill -0 $child 2>/dev/null; do
    wait $child
    status=$?
done
if [ $stopped = yes ] && [ $status -ne 0 ] && [ -n "${{SLURM_JOB_ID:-}}" ]; then
    # The time of this job is over, and cells are left: it comes again.
    scontrol requeue "$SLURM_JOB_ID" && exit 0
fi
exit $status
"#,
            program = quoted(&program),
            file = quoted(&file),
            folder = quoted(&folder),
        );
        Ok(script)
    }
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(scheduler: Scheduler, folder: &str) -> crate::Result<String> {
        let array = JobArray {
            scheduler,
            jobs: 8,
            program: Path::new("/opt/fsage"),
            file: Path::new("/scratch/it's mine.toml"),
            folder: Path::new(folder),
            name: "policies",
        };
        array.script()
    }

    #[test]
    fn a_script_says_how_many_jobs_there_are_and_quotes_its_paths() {
        let slurm = script(Scheduler::Slurm, "/scratch/100%").expect("a script");
        assert!(slurm.contains("\n#SBATCH --array=1-8\n"), "{slurm}");
        assert!(
            slurm.contains("\n#SBATCH --output=/scratch/100%%/slurm-%a.log\n"),
            "{slurm}"
        );
        let spaced = script(Scheduler::Slurm, "/my data").expect("a script");
        assert!(spaced.contains("\n#SBATCH --output=\"/my data/slurm-%a.log\"\n"));
        assert!(
            slurm.contains(
                r"'/opt/fsage' run '/scratch/it'\''s mine.toml' --output '/scratch/100%'"
            ),
            "{slurm}"
        );
        let any = script(Scheduler::Any, "/scratch").expect("a script");
        assert!(
            !any.contains("#SBATCH") && any.contains("qsub -J 1-8"),
            "{any}"
        );
        assert!(script(Scheduler::Any, "/a\nrm -rf").is_err());
    }
}
