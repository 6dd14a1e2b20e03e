//! Work of the laboratory below Python: without its lock, with its Ctrl-C, progress and warnings.

use fsage_durable::LockError;
use fsage_lab::error::Kind;
use fsage_lab::{Progress, Unit, Watch, interrupt};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How often Python is asked whether Ctrl-C came, and is told of progress.
const TICK: Duration = Duration::from_millis(50);
/// The stack of a thread that works: as much as a program's own.
const STACK_BYTES: usize = 8 << 20;

/// How much work goes on in this process: one that was stopped begins again when all of it has ended.
static AT_WORK: Mutex<usize> = Mutex::new(0);

/// Once, when the module is loaded.
pub fn prepare() {
    fsage_data::hide_decoder_panics();
    fsage_input::stop_when(|| interrupt::go_on().is_err());
}

/// An error of the laboratory as an exception with the same words.
pub fn raised(py: Python<'_>, error: &fsage_lab::Error) -> PyErr {
    let is_held = |cause: &(dyn std::error::Error + 'static)| {
        matches!(cause.downcast_ref(), Some(LockError::Held { .. }))
    };
    let name = match error.kind() {
        _ if error.chain().any(is_held) => "AtWork",
        Kind::Input => "InputError",
        Kind::System | Kind::ClosedPipe => "SystemRefused",
    };
    exception(py, name, format!("{error:#}"))
}

/// Bad input, as an exception.
pub fn refused(py: Python<'_>, problem: String) -> PyErr {
    exception(py, "InputError", problem)
}

fn exception(py: Python<'_>, name: &str, message: String) -> PyErr {
    let made = || -> PyResult<PyErr> {
        let class = py.import("fsage._errors")?.getattr(name)?;
        Ok(PyErr::from_value(class.call1((message,))?))
    };
    made().unwrap_or_else(|failed| failed)
}

/// What the work says to whoever waits for it.
enum Said {
    Warning(String),
    Note(String),
}

/// Tells the thread that waits.
struct Reporter {
    said: Mutex<Sender<Said>>,
    bar: Arc<Mutex<Option<Arc<Bar>>>>,
}

/// How far the work is that goes on now.
struct Bar {
    what: String,
    done: AtomicU64,
    total: Option<u64>,
}

impl Reporter {
    fn say(&self, said: Said) {
        // Nobody listens any more: nothing depends on it.
        let _ = self
            .said
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .send(said);
    }
}

impl Watch for Reporter {
    fn begin(&self, what: &str, total: Option<u64>, _: Unit) -> Box<dyn Progress> {
        let bar = Arc::new(Bar {
            what: what.to_owned(),
            done: AtomicU64::new(0),
            total,
        });
        *self.bar.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&bar));
        let said = self
            .said
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        Box::new(Going {
            bar,
            said: Mutex::new(said),
        })
    }

    fn warn(&self, text: &str) {
        self.say(Said::Warning(text.to_owned()));
    }

    fn note(&self, text: &str) {
        self.say(Said::Note(text.to_owned()));
    }
}

struct Going {
    bar: Arc<Bar>,
    said: Mutex<Sender<Said>>,
}

impl Progress for Going {
    fn set_position(&self, done: u64) {
        self.bar.done.store(done, Ordering::Relaxed);
    }

    fn inc(&self, more: u64) {
        self.bar.done.fetch_add(more, Ordering::Relaxed);
    }

    fn note(&self, text: &str) {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = said.send(Said::Note(text.to_owned()));
    }
}

/// Counts work that goes on.
struct AtWork;

impl AtWork {
    fn begin() -> AtWork {
        *AT_WORK.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        AtWork
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        let mut at_work = AT_WORK.lock().unwrap_or_else(PoisonError::into_inner);
        *at_work -= 1;
        if *at_work == 0 {
            interrupt::begin_again();
        }
    }
}

/// Does work without the interpreter's lock. `listener` has methods `warn(text)`, `note(text)` and
/// `progress(what, done, total)`, which are called in the thread that waits. An exception from a handler of signals
/// stops the work, and is raised when that has ended in order; so is one of the listener.
pub fn run<T: Send>(
    py: Python<'_>,
    listener: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&dyn Watch) -> fsage_lab::Result<T> + Send,
) -> PyResult<T> {
    let _at_work = AtWork::begin();
    let (said, hear) = channel();
    let bar = Arc::new(Mutex::new(None));
    let reporter = Reporter {
        said: Mutex::new(said),
        bar: Arc::clone(&bar),
    };
    let mut stopped = None;
    let mut stop = |failed: PyErr| {
        stopped.get_or_insert(failed);
        interrupt::stop();
    };
    let ended = std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().stack_size(STACK_BYTES);
        // The teller goes with the thread: that nobody can say anything any more is the end.
        let worker = builder.spawn_scoped(scope, move || work(&reporter))?;
        let hear = Mutex::new(hear);
        loop {
            let heard = py.detach(|| {
                hear.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .recv_timeout(TICK)
            });
            let reported = match heard {
                Ok(Said::Warning(text)) => report(listener, "warn", (text,)),
                Ok(Said::Note(text)) => report(listener, "note", (text,)),
                Err(RecvTimeoutError::Timeout) => {
                    let bar = bar.lock().unwrap_or_else(PoisonError::into_inner).clone();
                    match bar {
                        Some(bar) => {
                            let done = bar.done.load(Ordering::Relaxed);
                            report(listener, "progress", (bar.what.as_str(), done, bar.total))
                        }
                        None => Ok(()),
                    }
                }
                Err(RecvTimeoutError::Disconnected) => break,
            };
            if let Err(failed) = reported.and_then(|()| py.check_signals()) {
                stop(failed);
            }
        }
        py.detach(|| worker.join()).map_err(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()));
            PyRuntimeError::new_err(format!("fsage failed: {}", text.unwrap_or_default()))
        })
    });
    match (stopped, ended) {
        (Some(failed), Ok(Err(error))) => {
            // What can be done about it stands in the message; older versions of Python have no place for it.
            let _ = failed
                .value(py)
                .call_method1("add_note", (format!("{error:#}"),));
            Err(failed)
        }
        (Some(failed), _) => Err(failed),
        (None, ended) => ended?.map_err(|error| raised(py, &error)),
    }
}

fn report<'py>(
    listener: Option<&Bound<'py, PyAny>>,
    method: &str,
    arguments: impl pyo3::call::PyCallArgs<'py>,
) -> PyResult<()> {
    match listener {
        Some(listener) => listener.call_method1(method, arguments).map(drop),
        None => Ok(()),
    }
}
