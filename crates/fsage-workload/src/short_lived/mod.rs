//! Short-lived files: made and deleted within a day, so that no nightly snapshot shows them.
//!
//! - [`extract`]: profiles of them, taken from any workload with times.

pub mod extract;

pub use extract::{Extractor, ExtractorOptions, Window};
