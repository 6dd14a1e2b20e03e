//! Work that threads take item by item.

use super::Bench;
use fsage_lab::interrupt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Does something for every item, on the threads of the bench, and gives the results in order of the items.
///
/// # Errors
/// The first one in that order; an interrupt.
pub fn share_out<T: Sync, R: Send>(
    bench: &Bench<'_>,
    what: &str,
    items: &[T],
    work: impl Fn(&T) -> anyhow::Result<R> + Sync,
) -> anyhow::Result<Vec<R>> {
    let bar = bench.ui.bar_count(Some(items.len() as u64), what);
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<anyhow::Result<R>>>> =
        items.iter().map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..bench.threads.clamp(1, items.len().max(1)) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(number) else {
                        return;
                    };
                    let result = interrupt::go_on()
                        .map_err(Into::into)
                        .and_then(|()| work(item));
                    *results[number].lock().expect("no thread panics with it") = Some(result);
                    bar.inc(1);
                }
            });
        }
    });
    drop(bar);
    let results = results.into_iter().map(|slot| {
        let result = slot.into_inner().expect("no thread panics with it");
        result.expect("threads take every item")
    });
    results.collect()
}
