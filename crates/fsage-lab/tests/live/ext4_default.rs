//! Runs of the model `ext4` in the regime `default` look like runs of this machine's kernel with default mount options.
//!
//! Takes many minutes, root and loop devices:
//! `cargo test -p fsage-lab --test live ext4_default -- --ignored --nocapture --test-threads 1`.

use super::default_runs::{Sides, differing};
use fsage_metrics::{free_space, layout_score, pieces};

/// How files lie, and what free space is left in.
static SIDES: Sides = Sides {
    kernel: "loop:ext4,size=600M",
    model: "ext4:size=600M",
    metrics: &[
        &layout_score::SCORE,
        &pieces::PER_FILE,
        &free_space::RUNS,
        &free_space::BYTES_IN_64K_RUNS,
        &free_space::BYTES_IN_1M_RUNS,
        &free_space::LARGEST_RUN_BYTES,
    ],
};

#[test]
#[ignore = "takes many minutes, and root"]
fn default_runs_that_are_synced_each_day_look_like_those_of_this_kernel() {
    assert_eq!(differing(&SIDES, 20, true), Vec::<&str>::new());
}

/// Longer than 30 seconds, after which the kernel writes back by itself.
#[test]
#[ignore = "takes many minutes, and root"]
fn default_runs_without_syncs_look_like_those_of_this_kernel() {
    assert_eq!(differing(&SIDES, 60, false), Vec::<&str>::new());
}
