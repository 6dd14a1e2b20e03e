//! Fleets: hosts that are found once, read by whoever has time, and tallied in order.

use crate::calls::to_json;
use crate::work::run;
use fsage_lab::fleet::{self, Host, Life, Request, Tally};
use fsage_lab::interrupt;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// The hosts that paths name: `[(name, tables)]`.
#[pyfunction]
pub fn fleet_hosts(py: Python<'_>, paths: Vec<PathBuf>) -> PyResult<Vec<(String, Vec<PathBuf>)>> {
    let hosts = run(py, None, move |_| fleet::find(&paths))?;
    Ok(hosts
        .into_iter()
        .map(|host| (host.name, host.tables))
        .collect())
}

/// The life of a host, or why there is none, as JSON for a tally.
#[pyfunction]
pub fn fleet_life(py: Python<'_>, name: String, tables: Vec<PathBuf>) -> PyResult<String> {
    run(py, None, move |_| {
        let life = fleet::read(&Host { name, tables });
        interrupt::go_on()?;
        to_json(&life.map_err(|error| format!("{error:#}")))
    })
}

/// Reads all hosts on threads of this process.
#[pyfunction]
#[pyo3(signature = (paths, output, force, threads, alike, listener=None))]
pub fn fleet_of(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    output: PathBuf,
    force: bool,
    threads: usize,
    alike: f64,
    listener: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    run(py, listener, move |ui| {
        let request = Request {
            output: Some(&output),
            force,
            threads,
            alike,
            ..Request::new(&paths)
        };
        fleet::fleet(&request, ui).map(drop)
    })
}

/// Takes lives that others read, in order of their hosts.
#[pyclass(frozen, module = "fsage._native")]
pub struct FleetTally(Mutex<Option<Tally>>);

impl FleetTally {
    fn taken(&self) -> fsage_lab::Result<Tally> {
        let mut tally = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tally
            .take()
            .ok_or_else(|| fsage_lab::Error::new("the tally of the fleet is over"))
    }
}

#[pymethods]
impl FleetTally {
    #[new]
    fn new(py: Python<'_>, output: PathBuf, force: bool) -> PyResult<FleetTally> {
        let tally = run(py, None, move |_| Tally::begin(Some(&output), force))?;
        Ok(FleetTally(Mutex::new(Some(tally))))
    }

    /// Takes what `fleet_life` gave of the next host.
    #[pyo3(signature = (host, life, listener=None))]
    fn add(
        &self,
        py: Python<'_>,
        host: String,
        life: String,
        listener: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        run(py, listener, |ui| {
            let mut tally = self.taken()?;
            let life: Result<Life, String> = serde_json::from_str(&life)?;
            tally.add(&host, life, ui)?;
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(tally);
            Ok(())
        })
    }

    /// Writes everything, and gives the folder its name.
    fn finish(&self, py: Python<'_>, alike: f64) -> PyResult<()> {
        run(py, None, |_| self.taken()?.finish(alike).map(drop))
    }

    /// Nothing is left of it.
    fn give_up(&self) {
        drop(self.taken());
    }
}
