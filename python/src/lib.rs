//! `fsage._native`: the laboratory in Python.
//!
//! Functions here take paths, specifications and options, the latter as JSON of the structs that the command line and
//! the file of an experiment have, and give JSON or Arrow back. What users see, with names and defaults, is the package
//! in `fsage/`. All work runs without the interpreter's lock, and ends in order at Ctrl-C. Nothing prints.

#![deny(clippy::print_stdout, clippy::print_stderr)]
// The values of arguments come from Python and belong to the call.
#![allow(clippy::needless_pass_by_value)]

mod calls;
mod experiment;
mod fleet;
mod operations;
mod table;
mod work;

use pyo3::prelude::*;

/// The laboratory.
#[pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::calls::{
        age, bench, charts, check, compare, forecast, generate, measure, metrics, report,
        report_several, run_facts, run_says, sources, targets, verify_method, workload_of_batches,
        workload_of_operations, workload_of_table,
    };
    #[pymodule_export]
    use crate::experiment::{Experiment, experiment_facts};
    #[pymodule_export]
    use crate::fleet::{FleetTally, fleet_hosts, fleet_life, fleet_of};
    #[pymodule_export]
    use crate::table::Table;

    /// The version of fsage.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    // What an initializer has to give.
    #[allow(clippy::unnecessary_wraps)]
    #[pymodule_init]
    fn init(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::work::prepare();
        Ok(())
    }
}
