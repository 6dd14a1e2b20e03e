#!/usr/bin/env bash
# The long form of the tests that draw at random: power cuts, kills, failing calls, and every property.
#
# usage: scripts/soak.sh [SEED]
#
# 200 power cuts and 210 kills on real file systems (as root), 1,000 power cuts after any step of a recording, every
# system call of writing failed in every way, and SOAK_SECONDS seconds (default 600) of properties on new cases. SEED
# makes the same choices again; on real file systems what happens depends on the moment too.
set -eu
cd "$(dirname "$0")/.."
. scripts/shell.sh

seed=${1:-$(od -An -N4 -tu4 /dev/urandom | awk '{ print int($1 / 2) }')}
say "soak: seed $seed"
log=$PWD/target/soak.log
mkdir -p target
: >"$log"

# Each is tried, whatever became of those before.
failed=
run() {
    # shellcheck disable=SC2086 # CARGO_FLAGS are several words
    env FSAGE_SEED="$seed" "${@:2}" cargo test ${CARGO_FLAGS:-} --package fsage --test suite "$1::" >>"$log" 2>&1 ||
        failed+=" $1"
}
run power_cuts FSAGE_CUTS=250
# More than there are: all of them.
run faults FSAGE_FAULTS=1000000
run power_cuts_real FSAGE_SHUTDOWNS=20 FSAGE_COPIES=20 FSAGE_KILLS=30
scripts/properties.sh "${SOAK_SECONDS:-600}" "$seed" || failed+=" properties"

grep -aE '^(skipped: |[a-z, ]+: seed [0-9]+: )' "$log" | sort -u >&2 || true
if [ -n "$failed" ]; then
    stop "soak: failed:$failed. What went wrong is in target/soak.log; the same again: scripts/soak.sh $seed"
fi
say "soak: seed $seed: nothing failed"
