#!/usr/bin/env bash
# Takes the worked example of CONTRIBUTING.md, the model `bump`, through every step: aged, measured, benchmarked,
# reported, checked and listed, by a program that knows of it only what its folder and its line in the list say.
#
# usage: scripts/bump.sh
set -eu
cd "$(dirname "$0")/.."
. scripts/shell.sh

# The Python package is named too, so that crates from outside have the features of the whole workspace and are not built
# again. The models are, and run for a few seconds: without optimization they build in a fraction of the time.
# shellcheck disable=SC2086 # CARGO_FLAGS are several words
cargo build ${CARGO_FLAGS-} --config profile.dev.package.fsage-models.opt-level=0 \
    --package fsage --package fsage-python --features fsage-models/bump
folder=$PWD/target/bump
rm -rf "$folder"
mkdir -p "$folder"
cp target/debug/fsage "$folder/fsage"
cd "$folder"

# has FILE WORDS: the file has these words.
has() { grep -qF -- "$2" "$1" || { cat "$1" >&2; stop "bump: expected in $1: $2"; }; }

./fsage targets >targets
has targets 'takes the next block, and never one again'
./fsage targets bump >keys
has keys 'size='
./fsage age --help >help
has help '  bump'
if ./fsage age - --on bump:sized=1G --output wrong 2>wrong.err </dev/null; then stop "bump: a wrong key was taken"; fi
has wrong.err 'did you mean `size`?'

./fsage generate --quiet profile home-1996 --days 4 --output w.parquet >generated
./fsage age --quiet --check w.parquet --on bump:size=1G --on ffs --output run >aged
./fsage measure --quiet run --json >measured.json
has measured.json '"bump:size=1G"'
./fsage bench --quiet run --suite sequential --size 64K --json >benchmarks.json
has benchmarks.json '"bump:size=1G"'
./fsage report --quiet run >reported
has run/report.html 'bump:size=1G'
cat >rules.toml <<'RULES'
[[rule]]
metric = "layout_score"
min = 0.5
RULES
./fsage check run --rules rules.toml >checked
has checked 'bump:size=1G'
say "bump: aged, measured, benchmarked, reported, checked and listed"
