//! Ctrl-C, and what the system sends when it wants us to end.
//!
//! Work that writes ends in order. Work that does not ask whether it shall, or that waits for something, is ended after
//! a moment, for it has nothing that must be finished. A second interrupt ends the program at once.

use super::say;
use fsage_lab::interrupt;
use std::thread;
use std::time::Duration;

/// How long somebody may take to notice that the program shall end.
const PATIENCE: Duration = Duration::from_millis(600);

/// From now on an interrupt ends the work in order, and a second one at once.
pub fn catch_interrupts() {
    fsage_input::stop_when(|| interrupt::go_on().is_err());
    let caught = ctrlc::set_handler(|| {
        if interrupt::stop() {
            std::process::exit(3);
        }
        // Here nothing may wait: the second interrupt comes the same way.
        thread::spawn(|| {
            thread::sleep(PATIENCE);
            if interrupt::may_exit() {
                say("fsage: interrupted");
                std::process::exit(3);
            }
        });
    });
    // Without a handler an interrupt ends the program as it always does.
    drop(caught);
}
