#!/usr/bin/env bash
# Runs every fuzz target of fuzz/fuzz_targets for a while, on the stable compiler.
#
# usage: scripts/fuzz.sh SECONDS
#
# No sanitizer: the code has no `unsafe`, and a sanitizer needs a nightly compiler. A finding is left in
# fuzz/artifacts, and the exit status is that of the first target that found something.
set -eu
cd "$(dirname "$0")/.."
. scripts/shell.sh

seconds=${1:-20}
shopt -s nullglob
targets=(fuzz/fuzz_targets/*.rs)
if [ ${#targets[@]} -eq 0 ]; then stop "fuzz: there are no targets in fuzz/fuzz_targets yet"; fi
for target in "${targets[@]}"; do
    name=$(basename "$target" .rs)
    say "fuzz: $name for $seconds seconds"
    cargo fuzz run --sanitizer none "$name" -- -max_total_time="$seconds" -print_final_stats=1
done
