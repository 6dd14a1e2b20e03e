//! The Parquet library panics on some damaged files instead of saying so (found by fuzzing: negative offsets
//! in the footer, lengths of pages that do not fit). A damaged input must never end the program with a panic,
//! so every call into the decoder runs inside [`guard`], which makes an error of it.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    static IN_DECODER: Cell<bool> = const { Cell::new(false) };
}

/// Runs the decoder; `Err` is the message of its panic. What `decode` captured must not be used after that.
pub(crate) fn guard<T>(decode: impl FnOnce() -> T) -> Result<T, String> {
    let outer = IN_DECODER.replace(true);
    let result = panic::catch_unwind(AssertUnwindSafe(decode));
    IN_DECODER.set(outer);
    result.map_err(|payload| {
        let text = payload.downcast_ref::<String>().cloned();
        text.or_else(|| payload.downcast_ref::<&str>().map(ToString::to_string))
            .unwrap_or_else(|| "the decoder gave up".to_owned())
    })
}

/// Keeps panics of the Parquet decoder, which become errors, from being printed as well. For the start of a
/// program: it puts itself before the panic hook that is set then.
pub fn hide_decoder_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let print = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !IN_DECODER.get() {
                print(info);
            }
        }));
    });
}
