//! Models that draw when they write back, as a kernel that is left alone: another seed is another draw.

use fsage_target::TargetSpec;

/// Whether a target draws by itself, with a seed that it does not say.
pub(crate) fn is_drawn(spec: &TargetSpec) -> bool {
    spec.entry().is_some() && spec.value("regime") == Some("default") && !spec.has("seed")
}

/// The target with the clock of this seed, if it draws one. Without a word a model has that of seed 1.
pub(crate) fn with_clock_of(spec: &TargetSpec, seed: u64) -> TargetSpec {
    let mut run_as = spec.clone();
    if seed != 1 && is_drawn(spec) {
        run_as
            .options
            .push(("seed".to_owned(), Some(seed.to_string())));
    }
    run_as
}
