#!/usr/bin/env bash
# Runs every property of the workspace on new cases, for a while.
#
# usage: scripts/properties.sh SECONDS [SEED]
#
# `make test` draws the same cases every time (.cargo/config.toml); here each round has a seed of its own, and the first
# one is SEED where it is given. The seed is said before a round and after a failure, with what to type to see it again.
set -eu
cd "$(dirname "$0")/.."
. scripts/shell.sh

seconds=${1:-60}
# A seed of 31 bits, which is read aloud without a mistake.
new_seed() { od -An -N4 -tu4 /dev/urandom | awk '{ print int($1 / 2) }'; }
seed=${2:-$(new_seed)}

mapfile -t files < <(grep -rl --include='*.rs' '^ *proptest! {' crates | sort)
mapfile -t crates < <(printf '%s\n' "${files[@]}" | cut -d/ -f2 | sort -u | sed 's/^/--package=/')
# What stands between `proptest! {` and its brace; a file may have several of these.
mapfile -t names < <(awk '
    /^ *proptest! \{/ { inside = 1; indent = match($0, /[^ ]/) }
    inside && /^ *fn [a-z0-9_]+\(/ { name = $2; sub(/\(.*/, "", name); print name }
    inside && /^ *\}$/ && match($0, /[^ ]/) == indent { inside = 0 }' "${files[@]}" | sort -u)
if [ ${#names[@]} -lt ${#files[@]} ]; then stop "properties: only ${#names[@]} names in ${#files[@]} files with properties"; fi

until=$((SECONDS + seconds))
rounds=0
while
    say "properties: ${#names[@]} of ${#crates[@]} crates, seed $seed"
    # shellcheck disable=SC2086 # CARGO_FLAGS are several words
    PROPTEST_RNG_SEED=$seed cargo test ${CARGO_FLAGS:-} --quiet "${crates[@]}" --lib --tests -- "${names[@]}" \
        >target/properties.log 2>&1 || {
        cat target/properties.log >&2
        stop "properties: failed with the seed $seed. The same again: scripts/properties.sh 0 $seed" \
            "What has failed becomes a test of its own, with its smallest case in it."
    }
    rounds=$((rounds + 1))
    seed=$(new_seed)
    [ $SECONDS -lt $until ]
do :; done
say "properties: $rounds rounds, nothing found"
