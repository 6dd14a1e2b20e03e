//! Interrupts: Ctrl-C, and what the system sends when it wants us to end.
//!
//! Work that writes asks [`go_on`] often, and ends in order: nothing half-written stays. Work that does not ask, or
//! that waits for something, is ended after a moment, for it has nothing that must be finished; what has, holds
//! [`Unfinished`]. A second interrupt ends the program at once.

use super::tell;
use fsage_core::{Event, EventSink, SinkError};
use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// How long somebody may take to notice that the program shall end.
const PATIENCE: Duration = Duration::from_millis(600);

/// An interrupt came.
static STOP: AtomicBool = AtomicBool::new(false);
/// Somebody was told so, and ends.
static NOTICED: AtomicBool = AtomicBool::new(false);
/// How many hold [`Unfinished`].
static UNFINISHED: AtomicUsize = AtomicUsize::new(0);

/// From now on an interrupt ends the work in order, and a second one at once.
pub fn catch_interrupts() {
    fsage_input::stop_when(|| go_on().is_err());
    let caught = ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::SeqCst) {
            std::process::exit(3);
        }
        // Here nothing may wait: the second interrupt comes the same way.
        thread::spawn(|| {
            thread::sleep(PATIENCE);
            if !NOTICED.load(Ordering::SeqCst) && UNFINISHED.load(Ordering::SeqCst) == 0 {
                tell("fsage: interrupted");
                std::process::exit(3);
            }
        });
    });
    // Without a handler an interrupt ends the program as it always does.
    drop(caught);
}

/// Fails once an interrupt has come. Long work asks it often.
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
