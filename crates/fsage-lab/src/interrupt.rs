//! How work is stopped before its end.
//!
//! Work that writes asks [`go_on`] often, and ends in order: nothing half-written stays. What must be finished holds
//! [`Unfinished`]. A program that was told to end, by Ctrl-C or by the system, calls [`stop`], and may exit after a
//! moment if it [`may_exit`].

use fsage_core::{Event, EventSink, SinkError};
use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Work was asked to stop.
static STOP: AtomicBool = AtomicBool::new(false);
/// Somebody was told so, and ends.
static NOTICED: AtomicBool = AtomicBool::new(false);
/// How many hold [`Unfinished`].
static UNFINISHED: AtomicUsize = AtomicUsize::new(0);

/// Asks all work of this process to end in order, now and later; whether somebody had asked before.
pub fn stop() -> bool {
    STOP.swap(true, Ordering::SeqCst)
}

/// Work may begin again after a [`stop`], in a process that goes on: all that was going on has ended.
pub fn begin_again() {
    NOTICED.store(false, Ordering::SeqCst);
    STOP.store(false, Ordering::SeqCst);
}

/// Whether a process that was asked to stop may simply exit: nobody has noticed, as work does that waits for something,
/// and nobody holds [`Unfinished`].
pub fn may_exit() -> bool {
    !NOTICED.load(Ordering::SeqCst) && UNFINISHED.load(Ordering::SeqCst) == 0
}

/// Fails once an interrupt has come. Long work asks it often.
///
/// # Errors
/// Somebody called [`stop`].
pub fn go_on() -> io::Result<()> {
    if STOP.load(Ordering::SeqCst) {
        NOTICED.store(true, Ordering::SeqCst);
        Err(io::Error::new(
            ErrorKind::Interrupted,
            "interrupted; what was being written is removed",
        ))
    } else {
        Ok(())
    }
}

/// Something that an interrupt does not end in the middle, however long it takes: work on a real file system. Whoever
/// holds it asks [`go_on`].
#[derive(Debug)]
pub struct Unfinished(());

impl Unfinished {
    /// From now until it is dropped.
    pub fn begin() -> Unfinished {
        UNFINISHED.fetch_add(1, Ordering::SeqCst);
        Unfinished(())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        UNFINISHED.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A sink that stops taking events once an interrupt has come.
pub struct Interruptible<'a>(pub &'a mut dyn EventSink);

impl EventSink for Interruptible<'_> {
    fn event(&mut self, event: Event) -> Result<(), SinkError> {
        go_on()?;
        self.0.event(event)
    }
}
