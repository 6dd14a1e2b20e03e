#!/usr/bin/env bash
# Runs all tests: those of Rust, documentation examples included, and then those of the Python package.
#
# usage: scripts/test.sh
#
# More tests run at a time than there are cores (RUST_TEST_THREADS): those of real file systems wait for disks and for each
# other. Where the wheel has a profile of its own (PYTHON_PROFILE), it is built meanwhile, from what the tests leave idle.
set -eu
cd "$(dirname "$0")/.."
. scripts/shell.sh

export RUST_TEST_THREADS=${RUST_TEST_THREADS:-$(($(nproc) * 2))}
profile=${PYTHON_PROFILE:-dev}
# shellcheck disable=SC2086 # CARGO_FLAGS are several words
cargo test ${CARGO_FLAGS-} --workspace --no-run
ahead=
if [ "$profile" != dev ]; then
    # What is wrong with it is said below, where it is built again.
    # shellcheck disable=SC2086
    nice -n 19 cargo build ${CARGO_FLAGS-} --quiet --profile "$profile" --package fsage --package fsage-python \
        >/dev/null 2>&1 &
    ahead=$!
    trap 'kill "$ahead" 2>/dev/null || true' EXIT
fi
# shellcheck disable=SC2086
cargo test ${CARGO_FLAGS-} --workspace --no-fail-fast
if [ -n "$ahead" ]; then wait "$ahead" || true; fi
scripts/python.sh
