//! A command of somebody's own as a benchmark.

use super::{Command, Options, Plan, Wanted};
use crate::error::error;
use fsage_target::TargetSpec;

/// The command, and what is read of it.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Exec {
    /// A command of the shell as a benchmark of real targets: {dir} stands for an empty directory for its files, {mnt}
    /// for the root of the file system. It is timed until all that it wrote is on disk. The suites run too only if
    /// --suite names them.
    #[arg(long = "exec", value_name = "COMMAND")]
    pub line: Option<String>,
    /// Instead of its time, a number in the JSON that the command prints, by its path, as in `jobs.0.read.bw,KiB/s` or
    /// `jobs.0.read.lat_ns.mean,ns,lower`. May be given several times.
    #[arg(
        long = "exec-value",
        value_name = "PATH[,UNIT][,lower|higher]",
        requires = "line"
    )]
    pub values: Vec<Wanted>,
    /// What results of the command are called [default: the name of its program].
    #[arg(long = "exec-name", value_name = "NAME", requires = "line")]
    pub name: Option<String>,
}

impl Exec {
    /// What is measured: the command, and suites where they are named; without a command the suites.
    ///
    /// # Errors
    /// There is no such program; the command has no name for results, or misses what it needs; as for [`Plan::new`].
    pub fn plan(&self, options: &Options, targets: &[TargetSpec]) -> crate::Result<Plan> {
        let Some(line) = &self.line else {
            return Plan::new(options, targets);
        };
        Command::is_found(line).map_err(|why| error!("--exec {why}"))?;
        let name = self.name.as_deref();
        let name = name.unwrap_or_else(|| Command::program(line));
        let command = Command::new(name, line, self.values.clone());
        let command = command.map_err(|why| error!("--exec: {why}"))?;
        Plan::with_command(command, options, targets)
    }
}
